"""Terraform installs Karpenter's chart into a namespace that nothing creates, so the installation fails.

`helm_release` does not create its namespace, unless `create_namespace` is true: "namespaces "karpenter" not found".
A Fargate profile, a Pod Identity association and a trust policy only name a namespace.

The rule reports nothing if a file creates the namespace in another way, or may do so: the root module is not in the
repository, or it calls public modules.

There is no fix: the author chooses whether the release or another resource creates the namespace.

```yaml bad
# file: main.tf
provider "helm" {
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml good
# file: main.tf
provider "helm" {
}
resource "helm_release" "karpenter" {
  name             = "karpenter"
  namespace        = "karpenter"
  create_namespace = true
  repository       = "oci://public.ecr.aws/karpenter"
  chart            = "karpenter"
  version          = "1.14.3"
  values           = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```
"""

import re

from nodelint.api import (
    Context,
    Finding,
    Findings,
    Source,
    Span,
    module_folder,
    rule,
    terraform_blocks,
    terraform_trace,
)

_OF_KUBERNETES = ("kube-system", "kube-public", "kube-node-lease", "default")
_CHART = re.compile(r'"(?:[^"\n]*/)?karpenter(?:-crd)?"')
_MAKES = re.compile(
    r"kubernetes_namespace|\bkind\"?[ \t]*[:=][ \t]*\"?Namespace\b"
    r"|create[ \t]+(?:namespace|ns)\b|CreateNamespace|--create-namespace|createNamespace"
)
_ASKS = re.compile(r"create_namespace[ \t]*=[ \t]*(?!false)")


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    mentions=["helm_release"],
    source=["https://registry.terraform.io/providers/hashicorp/helm/latest/docs/resources/release"],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    for block in terraform_blocks.find_blocks(source):
        chart = terraform_trace.find_arguments(block.text, "chart") if block.kind == "helm_release" else []
        if not chart or not _CHART.fullmatch(chart[0]) or "create_namespace" in block.text:
            continue
        names = context.run_files.terraform.argument_values(block, "namespace")
        texts = {name.value.value for name in names}
        name = texts.pop() if len(texts) == 1 else None
        if not isinstance(name, str) or name in _OF_KUBERNETES:
            continue
        folder = context.run_files.terraform.references_of(source.path)
        if folder is None or folder.helm_provider is None or _may_be_created(name, source, context):
            return  # a root that is not here, or a module of others, may create it
        at: Span = names[0].at
        yield Finding(
            at=at,
            message=f"nothing creates the namespace `{name}`: the chart is not installed",
            help="add `create_namespace = true`",
            once=True,
        )


def _may_be_created(name: str, source: Source, context: Context) -> bool:
    """Return whether a file near the source may create a namespace: the file names the namespace, or its name is an
    expression.
    """
    files = [*context.run_files.terraform.files_near(source.path), *context.run_files.files_around]
    if any(_MAKES.search(file.text) and (name in file.text or "for_each" in file.text) for file in files):
        return True
    for file in files:
        for block in terraform_blocks.find_blocks(file) if _ASKS.search(file.text) else ():
            namespace = terraform_trace.find_arguments(block.text, "namespace") if _ASKS.search(block.text) else []
            if any(text == f'"{name}"' or not text.startswith('"') or "$" in text for text in namespace):
                return True
            if _ASKS.search(block.text) and not namespace:
                return True
    return False
