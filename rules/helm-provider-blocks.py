"""A `helm_release` or the Helm provider is written for another major version than Terraform installs.

Since version 3 of the provider, `set`, `set_list` and `set_sensitive` of a `helm_release` are lists of objects:
`set = [{ name = ..., value = ... }]`, and `kubernetes` of the provider is an object: `kubernetes = { host = ... }`.
Before, each was a block. Terraform refuses the form of the other version, so nothing is installed. The rule looks at
all charts of the root modules that install Karpenter, because a mistake in any chart stops the plan. If
`required_providers` allows version 3 and the repository has no `.terraform.lock.hcl`,
`terraform init` installs the newest version.

The rule reports nothing if the version is not known: the root module is not in the repository, or it calls a public
module that may ask for another version.

There is no fix, because the author chooses the version of the provider.

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

```yaml good diff=bad
-  set {
+  set = [{
@@
-  }
+  }]
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
    module_folder,
    rule,
    terraform_blocks,
    terraform_trace,
)

_BLOCK = re.compile(r'(?m)^[ \t]*(?:dynamic[ \t]+")?(set|set_list|set_sensitive)"?[ \t]*\{')
_LIST = re.compile(r"(?m)^[ \t]*(set|set_list|set_sensitive)[ \t]*=")
_PROVIDER = re.compile(r'(?m)^provider[ \t]+"helm"[ \t]*\{[ \t]*\r?$')
_PROVIDER_BLOCK = re.compile(r"(?m)^[ \t]*(kubernetes|registry|experiments)[ \t]*\{")
_PROVIDER_LIST = re.compile(r"(?m)^[ \t]*(kubernetes|registries|experiments)[ \t]*=")
_OF_VERSION_3 = {"registry": "registries = [{ ... }]"}
_OF_VERSION_2 = {"registries": "registry { ... }"}
_FIRST_WITH_LISTS = (3,)
_MOST = 10
"""The most further places that are listed."""


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source=[
        "https://registry.terraform.io/providers/hashicorp/helm/latest/docs/guides/v3-upgrade-guide",
        "https://developer.hashicorp.com/terraform/language/files/dependency-lock",
    ],
    mentions=["helm_release", 'provider "helm"'],
    tags=["root-module"],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    blocks = context.run_files.terraform
    is_whole_root = blocks.is_of_root(source.path)
    texts = list(_list_texts(source, is_whole_root))
    folder = blocks.references_of(source.path) if texts else None
    version = folder.helm_provider if folder is not None else None
    if version is None:
        return
    is_new = not version.is_before(_FIRST_WITH_LISTS)
    refused = []
    for text, at, is_provider in texts:
        patterns = (_PROVIDER_BLOCK, _PROVIDER_LIST) if is_provider else (_BLOCK, _LIST)
        found = patterns[0 if is_new else 1].search(source.text, at, at + len(text))
        if found is not None:
            refused.append((found, is_provider))
    if not refused:
        return
    (found, is_provider), *others = refused
    shown = ".".join(map(str, version.at)) if version.is_exact else "the newest version"
    yield Finding(
        at=Span(source, *found.span(1)),
        message=f"a new `terraform init` installs {shown} of the Helm provider, which refuses `{found[1]}` blocks"
        if is_new
        else f"`terraform init` installs version 2 of the Helm provider, which refuses "
        f"{'an argument' if is_provider else 'a list for'} `{found[1]}`",
        also=[Also(Span(source, *other.span(1)), "refused, too") for other, _ in others[:_MOST]],
        help=_advise(found[1], is_new, is_provider),
        once=", ".join(root.folder for root in blocks.list_roots_of(source.path)) or False,
    )


def _list_texts(source: Source, is_whole_root: bool) -> Iterator[tuple[str, int, bool]]:
    """Yield (text, its offset, whether it is of the provider) for each chart and provider that counts."""
    for found in _PROVIDER.finditer(source.text) if is_whole_root else ():
        end = source.text.find("\n}", found.end())
        yield source.text[found.end() : max(end, found.end())], found.end(), True
    for block in terraform_blocks.find_blocks(source):
        chart = terraform_trace.find_arguments(block.text, "chart") if block.kind == "helm_release" else []
        if chart and (is_whole_root or "karpenter" in f"{chart[0]} {block.address}"):
            yield block.text, source.text.find(block.text, block.at.end), False


def _advise(name: str, is_new: bool, is_provider: bool) -> str:
    if is_new:
        written = f"{name} = {{ ... }}" if is_provider else f"{name} = [{{ name = ..., value = ... }}]"
        return f"write `{_OF_VERSION_3.get(name, written)}`, or require version `~>2.17` of the provider"
    written = _OF_VERSION_2.get(name, f"{name} {{ ... }}")
    return f"write `{written}`{'' if is_provider else ' for each value'}, or require version 3 of the provider"
