"""The nodes that Terraform creates are not enough for the replicas of the controller.

The chart lets the controller run on no node that Karpenter launches, and lets each replica run on another node. It
starts two replicas, unless `replicas` is set. If the cluster has one node, the second replica stays pending, and
while the node is replaced, nothing launches nodes. If it has none, nor Fargate, the controller never starts.

The chart tolerates the taint `CriticalAddonsOnly`, and no other one. If all node groups have other taints, and the
values set no `tolerations`, the controller never starts either. Nor does it start if no group has a label of the
chart's `nodeSelector`, if the cluster has only Fargate profiles for other namespaces, or if Argo CD or Flux installs
the chart and does not tolerate the taint of all nodes.

Only the strict profile shows that the second replica has no node.

The rule reads the node groups of a call of `terraform-aws-modules/eks`, and clusters for which nothing creates nodes.
It reports nothing if something else in the files may create nodes.

```yaml bad
# file: main.tf
module "eks" {
  source                  = "terraform-aws-modules/eks/aws"
  version                 = "21.9.0"
  name                    = "main"
  kubernetes_version      = "1.33"
  eks_managed_node_groups = { system = { min_size = 1, max_size = 2, desired_size = 1 } }
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml good diff=bad
-  eks_managed_node_groups = { system = { min_size = 1, max_size = 2, desired_size = 1 } }
+  eks_managed_node_groups = { system = { min_size = 2, max_size = 3, desired_size = 2 } }
```
"""

import fnmatch
import re
from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Source,
    Span,
    controller_settings,
    first_nodes,
    messages,
    node_roles,
    rule,
    terraform_blocks,
    terraform_trace,
)

_REPLICAS = 2
"""The replicas of the chart's default."""
_TOLERATED = {"CriticalAddonsOnly"}
_WELL_KNOWN = re.compile(r"(?:^|[./])(?:kubernetes\.io|k8s\.io|eks\.amazonaws\.com|karpenter\.sh|k8s\.aws)/")
_LABELS_NODES = re.compile(r"\bkubectl\s+label\s+(?:node|no\b)|--node-labels")
"""A pattern of commands that give labels to nodes."""
_NODES = re.compile(r"(?i)node[-_]?group|fargate|autoscalinggroup|compute_config")
_INSTALLERS = {"argo-cd": "the chart of Argo CD", "flux2": "the chart of Flux", "flux-operator": "the chart of Flux"}
_BY_OBJECTS = ("the Application", "the ApplicationSet", "the HelmRelease")
_OTHER_SCALER = re.compile(r"(?i)cluster[-_]?autoscaler")


@rule(
    on=Source,
    group="hazard",
    severity="info",
    subject="objects",
    mentions=controller_settings.MENTIONS,
    tags=["root-module"],
    source="provider:charts/karpenter/values.yaml@v1.14.1:92",
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not context.run_files.has_terraform:
        return
    yield from _check_installer(source, context)
    for install in context.run_files.installs_in(source):
        if install.at.source.path != source.path or install.values is None or install.has_gaps:
            continue
        path = _find_path_of_cluster(source, context)
        if path is not None:
            yield from _check_groups(path, source, install, context)
            yield from _check_bare_cluster(path, source, install, context)
            yield from _check_fargate(path, source, install, context)
        if not source.path.endswith(terraform_trace.ENDINGS):
            continue
        replicas, affinity = install.values.get("replicas"), install.values.get("affinity")
        wanted = int(str(replicas.value)) if replicas is not None and str(replicas.value).isdigit() else _REPLICAS
        if affinity is not None or (replicas is not None and not str(replicas.value).isdigit()):
            continue
        blocks = context.run_files.terraform
        nodes = first_nodes.find_first_nodes(source.path, blocks)
        if nodes is None or nodes.has_fargate or nodes.total >= wanted or not nodes.states_groups:
            continue
        if any(_OTHER_SCALER.search(block.text) for block in blocks.list_beside_in_root(source.path)):
            continue
        at = controller_settings.place_in(source, context.files, install, replicas)
        if at is not None:
            created = "one node" if nodes.total else "no node"
            yield Finding(
                at=at,
                message=f"the controller has {wanted} replica{'s' * (wanted > 1)}, but Terraform creates {created}",
                severity=None if nodes.total else "warning",
                strict=nodes.total > 0,
                also=[Also(nodes.at, "the nodes of the controller")],
                note="each replica needs a node that Karpenter did not launch",
                help=f"create {wanted} nodes" if nodes.total else "create a node group or a Fargate profile",
            )


def _check_installer(source: Source, context: Context) -> Findings:
    """Yield a finding for a release of Argo CD or Flux that installs Karpenter and fits no node group."""
    blocks, installs = context.run_files.terraform, context.run_files.installs
    if not installs or any(install.by not in _BY_OBJECTS for install in installs):
        return
    for block in blocks.find_in(source.path):
        given = terraform_blocks.own_arguments(block.text) if block.kind == "helm_release" else {}
        chart = _INSTALLERS.get(given.get("chart", "").strip('"').rpartition("/")[2])
        if chart is None or re.search(r"(?i)toleration|\bfile\(|templatefile|\bvar\.|\blocal\.", block.text):
            continue
        groups = first_nodes.list_group_taints(source.path, blocks)
        if groups and all(group.keys for group in groups):
            yield Finding(
                at=block.at,
                message=f"{chart} does not tolerate the taint `{messages.short(groups[0].keys[0], 40)}` of all nodes,"
                " and it installs Karpenter",
                severity="warning",
                note=f"{chart} waits for a node, and nothing launches one",
                also=[Also(group.at, "creates nodes with a taint") for group in groups[:2]],
                help="add tolerations to the values of the chart, or a group without the taint",
            )


def _find_path_of_cluster(source: Source, context: Context) -> str | None:
    """Return the path of a Terraform file in the root module of the cluster into which a file installs the chart.

    None if no file, or more than one, may be of the cluster.
    """
    if source.path.endswith(terraform_trace.ENDINGS):
        return source.path
    clusters = node_roles.list_clusters(context.run_files.terraform)
    return clusters[0].source.path if len(clusters) == 1 else None


def _check_bare_cluster(
    path: str, source: Source, install: controller_settings.ControllerInstall, context: Context
) -> Findings:
    """Yield a finding if the root module creates a cluster for the chart, and no file creates a node."""
    blocks = context.run_files.terraform
    cluster = first_nodes.find_bare_cluster(path, blocks)
    at = controller_settings.place_in(source, context.files, install) if cluster is not None else None
    if cluster is None or context.run_files.is_in_files(_NODES, around=True):
        return
    if not cluster.kind and not context.run_files.objects_near(source, EC2NodeClass):
        return  # the module call may be an excerpt
    if at is not None and not blocks.has_text_near(path, _NODES):
        yield Finding(
            at=at,
            message="Terraform creates the cluster without a node: the controller never starts",
            severity="warning",
            also=[Also(cluster.at, "has no node group and no Fargate profile")],
            note="Karpenter launches no node for itself",
            help="create a node group or a Fargate profile",
        )


def _check_fargate(
    path: str, source: Source, install: controller_settings.ControllerInstall, context: Context
) -> Findings:
    """Yield a finding if the cluster has only Fargate, and no profile selects the namespace of the chart."""
    blocks = context.run_files.terraform
    nodes = first_nodes.find_first_nodes(path, blocks)
    if nodes is None or nodes.total or not nodes.has_fargate:
        return
    selected = first_nodes.list_fargate_namespaces(path, blocks)
    namespace = controller_settings.namespace_of(install, blocks)
    at = controller_settings.place_in(source, context.files, install)
    if selected is None or namespace is None or at is None:
        return
    if not any(fnmatch.fnmatchcase(namespace, pattern) for pattern in selected):
        yield Finding(
            at=at,
            message=f"no Fargate profile selects the namespace `{messages.short(namespace, 40)}`, and the cluster "
            "has no node: the controller never starts",
            severity="warning",
            also=[Also(nodes.at, "has no node group")],
            note="Karpenter launches no node for itself",
            help="add a Fargate profile for the namespace, or a node group",
        )


def _check_groups(
    path: str, source: Source, install: controller_settings.ControllerInstall, context: Context
) -> Findings:
    """Yield a finding if the controller fits no node group: by their taints, or by the chart's node selector."""
    groups, values = first_nodes.list_group_taints(path, context.run_files.terraform), install.values
    if not groups or values is None:
        return
    at = controller_settings.place_in(source, context.files, install)
    if at is not None and values.get("tolerations") is None and values.get("affinity") is None:
        yield from _check_taints(at, groups)
    selector = values.get("nodeSelector")
    for entry in selector.entries if selector is not None else ():
        name, value = entry.name, entry.value.value
        if name is None or not isinstance(value, str) or _WELL_KNOWN.search(name):
            continue
        if any(group.labels is None or group.labels.get(name) == value for group in groups):
            continue
        place = controller_settings.place_in(source, context.files, install, entry.key)
        if place is not None and not context.run_files.is_in_files(_LABELS_NODES, around=True):
            yield Finding(
                at=place,
                message=f"no node group has the label `{messages.short(f'{name}: {value}', 50)}`: the controller "
                "never starts",
                severity="warning",
                also=[Also(group.at, "creates nodes without the label") for group in groups[:2]],
                help="add the label to a node group, or remove it from `nodeSelector` of the chart",
            )


def _check_taints(at: Span, groups: "Sequence[first_nodes.GroupTaints]") -> Findings:
    """Yield a finding if each node group has a taint that the controller does not tolerate."""
    if all(set(group.keys) - _TOLERATED for group in groups):
        key = next(key for key in groups[0].keys if key not in _TOLERATED)
        yield Finding(
            at=at,
            message=f"the controller does not tolerate the taint `{messages.short(key, 40)}` of its nodes: it never "
            "starts",
            severity="warning",
            also=[Also(group.at, "creates nodes with a taint") for group in groups[:2]],
            help="add a toleration to `tolerations` of the chart, or a group without the taint",
        )
