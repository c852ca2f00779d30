"""The values of Karpenter's chart are written for another major version of the Helm provider than Terraform takes.

Since version 3 of the provider, `set`, `set_list` and `set_sensitive` of a `helm_release` are lists of objects:
`set = [{ name = ..., value = ... }]`. Before, each was a block. Terraform refuses the form of the other version, so
the chart is never installed. If `required_providers` does not hold the provider below 3 and the repository has no
`.terraform.lock.hcl`, `terraform init` takes the newest version.

The rule reports nothing if the version is not known: the root module is not in the repository, or it calls a public
module that may ask for another version.

There is no edit: the author chooses between another form of the values and another version of the provider.

```yaml bad
# file: main.tf
provider "helm" {
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  set {
    name  = "settings.clusterName"
    value = "main"
  }
}
```

```yaml good
# file: main.tf
provider "helm" {
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  set = [{
    name  = "settings.clusterName"
    value = "main"
  }]
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

_BLOCK = re.compile(r'(?m)^[ \t]*(?:dynamic[ \t]+")?(set|set_list|set_sensitive)"?[ \t]*\{')
_LIST = re.compile(r"(?m)^[ \t]*(set|set_list|set_sensitive)[ \t]*=")
_FIRST_WITH_LISTS = (3,)


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source=[
        "https://registry.terraform.io/providers/hashicorp/helm/latest/docs/guides/v3-upgrade-guide",
        "https://developer.hashicorp.com/terraform/language/providers/requirements",
    ],
    mentions=["helm_release"],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    for block in terraform_blocks.find_blocks(source):
        chart = terraform_trace.find_arguments(block.text, "chart") if block.kind == "helm_release" else []
        if not chart or "karpenter" not in f"{chart[0]} {block.address}":
            continue
        folder = context.run_files.terraform.references_of(source.path)
        version = folder.helm_provider if folder is not None else None
        if version is None:
            return
        is_new = not version.is_before(_FIRST_WITH_LISTS)
        begin = source.text.find(block.text, block.at.end)
        found = (_BLOCK if is_new else _LIST).search(source.text, begin, begin + len(block.text))
        if found is None:
            continue
        shown = ".".join(map(str, version.at)) if version.is_exact else "the newest version"
        yield Finding(
            at=Span(source, *found.span(1)),
            message=f"a new `terraform init` takes {shown} of the Helm provider, which refuses blocks of `{found[1]}`"
            if is_new
            else f"`terraform init` takes version 2 of the Helm provider, which refuses a list for `{found[1]}`",
            help=f'write `{found[1]} = [{{ name = ..., value = ... }}]`, or require version "~> 2.17" of the provider'
            if is_new
            else f"write `{found[1]} {{ ... }}` for each value, or require version 3 of the provider",
        )
        return
