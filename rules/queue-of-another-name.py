"""The chart names an interruption queue that Terraform does not create, so the controller finds no queue.

When Karpenter starts, it looks up the SQS queue with the name in `settings.interruptionQueue`. If no queue has that
name, or if Karpenter's policy does not include it, Karpenter never gets notice of spot interruptions. The module
`terraform-aws-modules/eks/aws//modules/karpenter` names its queue `Karpenter-<cluster>`, unless `queue_name` is set.
The CloudFormation template of Karpenter's guide uses the name of the cluster.

The rule compares names that are written out, if the files contain one queue for Karpenter and one installation.

```yaml bad
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.9.0"
  cluster_name = "main"
}
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: karpenter
  namespace: kube-system
spec:
  chart: {spec: {chart: karpenter, version: 1.14.1}}
  values:
    settings: {clusterName: main, interruptionQueue: main}
```

```yaml good diff=bad
-    settings: {clusterName: main, interruptionQueue: main}
+    settings: {clusterName: main, interruptionQueue: Karpenter-main}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Source, Span, controller_settings, rule, terraform_trace

_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"[^"\n]*eks(?:/aws)?(?:\.git)?//modules/karpenter\b')
_OFF = re.compile(r"(?m)^[ \t]*(?:create|enable_spot_termination)\s*=\s*false")


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="spot",
    mentions=controller_settings.MENTIONS,
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/master/modules/karpenter/main.tf",
        "https://karpenter.sh/docs/reference/settings/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if len(context.run_files.installs) != 1 or not any(
        "karpenter" in file.text for file in _terraform_files(context)
    ):
        return
    install = context.run_files.installs[0]
    named = install.find("INTERRUPTION_QUEUE")
    if len(named) != 1 or not named[0].value or not named[0].is_known:
        return
    queues = list(_find_queues(context))
    name = queues[0][0] if len(queues) == 1 else None
    if name is None or name == named[0].value:
        return
    at = controller_settings.place_in(source, context.files, install, named[0].node)
    if at is None:
        return
    yield Finding(
        at=at,
        message=f"the chart names the queue `{named[0].value}`, but Terraform names it `{name}`: the controller "
        "finds none",
        also=[Also(queues[0][1], "creates the queue")],
        help=f"write `{name}`",
    )


def _terraform_files(context: Context) -> Iterator[Source]:
    return (file for file in context.files if file.path.endswith((".tf", ".tofu")))


def _find_queues(context: Context) -> "Iterator[tuple[str | None, Span]]":
    """Yield the name and the place of each interruption queue that Terraform creates.

    The name is None if it is not known.
    """
    blocks = context.run_files.terraform
    for block in blocks.blocks:
        path = block.source.path
        if block.kind == "aws_sqs_queue":
            written = terraform_trace.find_arguments(block.text, "name")
            yield (blocks.literal(written[0], path) if written else None), block.at
        elif block.address.startswith("module.") and _MODULE.search(block.text) and not _OFF.search(block.text):
            written = terraform_trace.find_arguments(block.text, "queue_name")
            cluster = terraform_trace.find_arguments(block.text, "cluster_name")
            if written:
                yield blocks.literal(written[0], path), block.at
            else:
                text = blocks.literal(cluster[0], path) if cluster else None
                yield (None if text is None else f"Karpenter-{text}"), block.at
