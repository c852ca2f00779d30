"""The chart names an interruption queue that no file creates, so the controller finds no queue.

When Karpenter starts, it looks up the SQS queue with the name in `settings.interruptionQueue`. If no queue has that
name, or if Karpenter's policy does not include it, Karpenter never gets notice of spot interruptions. The module
`terraform-aws-modules/eks/aws//modules/karpenter` names its queue `Karpenter-<cluster>`, unless `queue_name` is set.
The CloudFormation template of Karpenter's guide uses the name of the cluster.

The rule compares the names, with known references filled in, if the files (Terraform, or templates of CloudFormation)
contain one queue for Karpenter and one installation.

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

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    Source,
    Span,
    controller_settings,
    messages,
    rule,
    stack_queues,
    terraform_trace,
)

_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"[^"\n]*eks(?:/aws)?(?:\.git)?//modules/karpenter\b')
_VALUE = re.compile(
    r'["\']?+\s*+(?:[=:,]\s*+)?+(?:value\s*+[=:]\s*+)?+'
    r'(["\']?+\{\{[^{}\n]{0,300}\}\}["\']?|"[^"\n]{0,300}"|(?:[\w.-]|\[[^\]\n]{0,100}\]){1,300}+)'
)
_OF_KARPENTER = re.compile(r"(?i)karpenter|interruption|terminat")
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
    if len(context.run_files.installs) != 1 or not (
        any("karpenter" in file.text for file in _terraform_files(context))
        or context.run_files.is_in_files("AWS::SQS::Queue", around=True)
    ):
        return
    install = context.run_files.installs[0]
    named = install.find("INTERRUPTION_QUEUE")
    text = _find_text(named[0], context) if len(named) == 1 else ""
    is_cluster = len(named) == 1 and not text and _is_named_for_cluster(named[0], install)
    queues = list(_find_queues(context)) if text or is_cluster else []
    name = queues[0][0] if len(queues) == 1 else None
    if name is None or (not name.startswith('"Karpenter-') if is_cluster else _may_be_equal(name, text)):
        return
    at = controller_settings.place_in(source, context.files, install, named[0].node)
    if at is None:
        return
    shown, text = name.strip('"'), text or "<cluster>"
    maker = "Terraform" if queues[0][1].source.path.endswith(terraform_trace.ENDINGS) else "CloudFormation"
    yield Finding(
        at=at,
        message=messages.first_fitting(
            f"the chart names the queue `{text}`, but {maker} names it `{shown}`: the controller finds none",
            f"the chart names the queue `{messages.short(text, 30)}`, but {maker} gives it another name",
        ),
        also=[Also(queues[0][1], "creates the queue")],
        help=f"write `{shown}`" if "${" not in shown else f"write the name that {maker} gives the queue",
    )


def _find_text(setting: "controller_settings.WrittenSetting", context: Context) -> str:
    """Return the name of the queue in the chart's values, with its known references filled in. Empty if it is no
    text.
    """
    if setting.value and setting.is_known:
        return setting.value
    node = setting.node
    if node.source.path.endswith((".tf", ".tofu")):
        filled = context.run_files.terraform.fill(_find_written(setting), node.source.path)
        return filled.strip('"') if filled.startswith('"') else ""
    return ""


def _find_written(setting: "controller_settings.WrittenSetting") -> str:
    """Return the value of a setting as it is written, such as an expression. Empty if it has another form."""
    found = _VALUE.match(setting.node.source.text, setting.node.end)
    return found[1].strip() if found is not None else ""


def _is_named_for_cluster(
    setting: "controller_settings.WrittenSetting", install: "controller_settings.ControllerInstall"
) -> bool:
    """Return whether template code gives the queue the name of the cluster."""
    clusters = install.find("CLUSTER_NAME")
    written = _find_written(setting)
    return len(clusters) == 1 and "{{" in written and written == _find_written(clusters[0])


def _may_be_equal(name: str, text: str) -> bool:
    """Return whether two names may be equal. References to the same values are equal."""
    ours, theirs = name.strip('"'), text
    if "${" not in theirs:
        return terraform_trace.may_be_text(name, theirs)
    same = re.findall(r"\$\{[^{}]*\}", ours) == re.findall(r"\$\{[^{}]*\}", theirs)
    return ours == theirs or not same


def _terraform_files(context: Context) -> Iterator[Source]:
    return (file for file in context.files if file.path.endswith(terraform_trace.ENDINGS))


def _find_queues(context: Context) -> "Iterator[tuple[str | None, Span]]":
    """Yield the name and the place of each interruption queue that Terraform or CloudFormation creates.

    The name is a quoted string, possibly with references. It is None if it is not known.
    """
    for file in context.run_files.files_with("AWS::SQS::Queue", around=True):
        yield from stack_queues.list_queue_names(file)
    for block in context.run_files.terraform.blocks if context.run_files.has_terraform else ():
        blocks, path = context.run_files.terraform, block.source.path
        if block.kind == "aws_sqs_queue":
            if not _OF_KARPENTER.search(f"{block.address} {block.text} {path}"):
                continue
            written = terraform_trace.find_arguments(block.text, "name")
            yield (_quoted(blocks.fill(written[0], path)) if written else None), block.at
        elif block.address.startswith("module.") and _MODULE.search(block.text) and not _OFF.search(block.text):
            written = terraform_trace.find_arguments(block.text, "queue_name")
            cluster = terraform_trace.find_arguments(block.text, "cluster_name")
            if written:
                yield _quoted(blocks.fill(written[0], path)), block.at
            else:
                inner = f"${{{cluster[0]}}}" if cluster and not cluster[0].startswith('"') else ""
                inner = inner or (cluster[0].strip('"') if cluster else "")
                yield (_quoted(blocks.fill(f'"Karpenter-{inner}"', path)) if inner else None), block.at


def _quoted(filled: str) -> str | None:
    """Return a filled-in expression if it is a string; None if it is not."""
    return filled if filled.startswith('"') else None
