"""The nodes that Terraform creates are not enough for the replicas of the controller.

The chart lets the controller run on no node that Karpenter launches, and lets each replica run on another node. It
starts two replicas, unless `replicas` is set. If the cluster has one node, the second replica stays pending, and
while the node is replaced, nothing launches nodes. If it has none, nor Fargate, the controller never starts.

The chart tolerates the taint `CriticalAddonsOnly`, and no other one. If all node groups have other taints, and the
values set no `tolerations`, the controller never starts either.

Only the strict profile shows that the second replica has no node.

The rule reads the node groups of a call of `terraform-aws-modules/eks`. It reports nothing if something else in the
files may create nodes.

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

import re

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    controller_settings,
    first_nodes,
    messages,
    rule,
    terraform_trace,
)

_REPLICAS = 2
"""The replicas of the chart's default."""
_TOLERATED = {"CriticalAddonsOnly"}
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
    if source.built is not None or not source.path.endswith(terraform_trace.ENDINGS):
        return
    for install in context.run_files.installs_in(source):
        if install.at.source.path != source.path or install.values is None or install.has_gaps:
            continue
        replicas, affinity = install.values.get("replicas"), install.values.get("affinity")
        wanted = int(str(replicas.value)) if replicas is not None and str(replicas.value).isdigit() else _REPLICAS
        if affinity is not None or (replicas is not None and not str(replicas.value).isdigit()):
            continue
        blocks = context.run_files.terraform
        yield from _check_taints(source, install, context)
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


def _check_taints(source: Source, install: controller_settings.ControllerInstall, context: Context) -> Findings:
    """Yield a finding if each node group has a taint that the controller does not tolerate."""
    groups = first_nodes.list_group_taints(source.path, context.run_files.terraform)
    at = controller_settings.place_in(source, context.files, install)
    if not groups or at is None or install.values is None or install.values.get("tolerations") is not None:
        return
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
