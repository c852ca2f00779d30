"""A NodePool uses spot capacity, but Karpenter's chart has no interruption queue, so reclaimed nodes are not drained.

EC2 announces two minutes before it reclaims a spot instance. Karpenter reads this from an SQS queue: it starts
another node at once and drains the old one. Without `settings.interruptionQueue` Karpenter gets no notice, and pods
end together with the instance. The queue also announces scheduled maintenance and instances that stop.

The rule reads the values of the chart in every form: `helm_release`, HelmReleases, Applications, helmfiles, `helm`
commands, and Deployments. It reports nothing if some values are not known, if no NodePool next to the installation
uses spot, or if aws-node-termination-handler is installed.

```yaml bad
# file: karpenter.tf
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values = [yamlencode({ settings = { clusterName = "main" } })]
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
```

```yaml good diff=bad
-  values = [yamlencode({ settings = { clusterName = "main" } })]
+  values = [yamlencode({ settings = { clusterName = "main", interruptionQueue = module.karpenter.queue_name } })]
```

The module `karpenter` of terraform-aws-modules/eks makes a queue. The rule also reports a chart next to it that does
not get the queue, if nothing else reads it and no NodePool is near.

```yaml bad
# file: karpenter.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.19.0"
  cluster_name = "main"
}
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values = [yamlencode({ settings = { clusterName = "main" } })]
}
```

```yaml good diff=bad
-  values = [yamlencode({ settings = { clusterName = "main" } })]
+  values = [yamlencode({ settings = { clusterName = "main", interruptionQueue = module.karpenter.queue_name } })]
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    Source,
    controller_settings,
    keys,
    rule,
    terraform_blocks,
)

_QUEUE_MODULE = re.compile(r'(?m)^[ \t]+source\s*=\s*"[^"\n]*terraform-aws-modules/eks/aws//modules/karpenter"')
_QUEUE = re.compile(r"(?i)interruption_?-?queue")


@rule(
    on=Source,
    group="hazard",
    subject="spot",
    source=[
        "https://karpenter.sh/docs/concepts/disruption/#interruption",
        "https://karpenter.sh/docs/reference/settings/",
    ],
    mentions=controller_settings.MENTIONS,
    tags=["installation"],
)
def check(source: Source, context: Context) -> Findings:
    places = set()
    for install in context.run_files.installs_in(source):
        at = controller_settings.place_in(source, context.files, install)
        if at is None or at.start in places or not install.is_complete or _names_queue(install):
            continue
        lines = list(_find_spot(source, context))
        is_made = not lines and _makes_queue(source, context)
        if (lines or is_made) and not any("node-termination-handler" in file.text for file in context.files):
            places.add(at.start)
            yield Finding(
                at=at,
                message="the module makes an interruption queue that the chart does not get: Karpenter gets no notice"
                if is_made
                else "the chart has no interruption queue: EC2 reclaims spot nodes before Karpenter drains them",
                also=[Also(line.values_node, "allows spot capacity") for line in lines[:2]],
                help="set `settings.interruptionQueue` to the `queue_name` of the module"
                if is_made
                else "set `settings.interruptionQueue` to an SQS queue that receives EC2's events",
                once=True,
            )
    for block in _list_unread_charts(source, context):
        yield Finding(
            at=block.at,
            message="the module makes an interruption queue that the chart does not get: Karpenter gets no notice",
            help="set `settings.interruptionQueue` to the `queue_name` of the module",
            once=True,
        )


_CHART = re.compile(r'(?m)^[ \t]+chart\s*=\s*"(?:[^"\n]*/)?karpenter"')


def _list_unread_charts(source: Source, context: Context) -> "Iterator[terraform_blocks.BlockText]":
    """Yield each `helm_release` block of Karpenter whose settings are all written in the block and name no
    interruption queue.
    """
    if not source.path.endswith(terraform_blocks.ENDINGS) or "settings." not in source.text:
        return
    if any(install.is_complete or install.has_gaps for install in context.run_files.installs_in(source)):
        return
    for block in terraform_blocks.find_blocks(source):
        if block.kind != "helm_release" or _CHART.search(block.text) is None or _QUEUE.search(block.text):
            continue
        is_written = "settings.clusterName" in block.text and re.search(r"\bvalues\s*=|dynamic\s", block.text) is None
        if is_written and _makes_queue(source, context):
            yield block


def _makes_queue(source: Source, context: Context) -> bool:
    """Return whether a Terraform module near a chart creates an interruption queue that no file reads.

    False if there are NodePools near the file: these show whether spot is used.
    """
    pools = context.run_files.objects_near(source, NodePool)
    if any(not pool.source.path.endswith(".md") for pool in pools) or not context.run_files.has_terraform:
        return False
    blocks = context.run_files.terraform
    calls = [block for block in blocks.find_beside(source.path) if _QUEUE_MODULE.search(block.text)]
    texts = [file.text for file in blocks.files]
    return any(
        not re.search(r"(?m)^[ \t]+(?:enable_spot_termination|create)\s*=\s*+(?!true)", call.text)
        and not any(re.search(rf"\b{re.escape(call.address)}(?:\[[^\]]*\])?\.queue_", text) for text in texts)
        for call in calls
    )


def _names_queue(install: controller_settings.ControllerInstall) -> bool:
    """Return whether an installation has a setting for the interruption queue, under any name.

    An empty value does not count.
    """
    if install.find("INTERRUPTION_QUEUE"):
        return True
    others = (setting for setting in install.settings if setting.variable != "INTERRUPTION_QUEUE")
    return any(_QUEUE.search(setting.name) and (setting.value or not setting.is_known) for setting in others)


def _find_spot(source: Source, context: Context) -> Iterator[RequirementLine]:
    """Yield the requirements that allow spot, of the NodePools in the nearest folder around a file that has any."""
    for pool in context.run_files.objects_near(source, NodePool):
        for line in pool.requirements:
            if line.key == keys.CAPACITY_TYPE and line.operator == "In" and "spot" in (line.known_texts or ()):
                yield line
