"""Terraform gets a provider from an address that does not exist, so `terraform init` fails.

Without an entry in `required_providers`, Terraform looks for a provider in the namespace `hashicorp`. There is no
`hashicorp/kubectl`: the provider is `alekc/kubectl` or `gavinbunney/kubectl`. Each module that has a resource of the
provider needs an entry, also a module that the root module calls: an entry in the root module does not count for it.

The rule reads the entries of each folder. It reports nothing if a generated file may have them.

There is no fix: the author chooses the provider and its version.

```yaml bad
# file: main.tf
terraform {
  required_providers {
    kubectl = {
      source  = "hashicorp/kubectl"
      version = "~> 2.0"
    }
  }
}
resource "kubectl_manifest" "pool" {
  yaml_body = file("${path.module}/karpenter.yaml")
}
```

```yaml good
# file: main.tf
terraform {
  required_providers {
    kubectl = {
      source  = "alekc/kubectl"
      version = "~> 2.0"
    }
  }
}
resource "kubectl_manifest" "pool" {
  yaml_body = file("${path.module}/karpenter.yaml")
}
```

```yaml bad
# file: main.tf
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}
resource "kubectl_manifest" "pool" {
  yaml_body = file("${path.module}/karpenter.yaml")
}
```

```yaml good
# file: main.tf
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
    kubectl = {
      source  = "gavinbunney/kubectl"
      version = "~> 1.19"
    }
  }
}
resource "kubectl_manifest" "pool" {
  yaml_body = file("${path.module}/karpenter.yaml")
}
```
"""

import re

from nodelint.api import Context, Finding, Findings, Source, module_folder, provider_sources, rule, spelling

_ELSEWHERE = {"kubectl": ("alekc", "gavinbunney"), "flux": ("fluxcd",), "argocd": ("argoproj-labs", "oboukili")}
"""Providers that the namespace `hashicorp` does not have, each with the namespaces that have it."""
_OF_HASHICORP = ("aws", "helm", "kubernetes", "tls", "http", "null", "random", "time", "local")
_GENERATES = re.compile(r"required_providers|generate\s*\"")


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    mentions=["required_providers", "kubectl_", "flux_", "argocd_"],
    tags=["root-module"],
    source=[
        "https://developer.hashicorp.com/terraform/language/providers/requirements",
        "https://registry.terraform.io/providers/alekc/kubectl/latest/docs",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    for found in provider_sources.find_written_providers(source):
        owner, _, kind = found.address.partition("/")
        meant = _find_namespace(owner, kind)
        if meant is not None:
            yield Finding(
                at=found.at,
                message=f"the registry has no provider `{found.address}`: `terraform init` fails",
                help=f'write `source = "{meant}/{kind}"`',
            )
    names = tuple(name for name in _ELSEWHERE if f'"{name}_' in source.text)
    if not names or any(
        file.path.endswith(".hcl") and _GENERATES.search(file.text) for file in context.run_files.files_of_run
    ):
        return
    for found in provider_sources.find_default_providers(source.path, names, context.run_files.terraform):
        yield Finding(
            at=found.at,
            message=f"this module requires no provider `{found.name}`: Terraform looks for `{found.address}`, and"
            " `init` fails",
            note="an entry in `required_providers` of another module does not count",
            help=f'add `{found.name} = {{ source = "{_ELSEWHERE[found.name][0]}/{found.name}" }}` to'
            " `required_providers`",
        )


def _find_namespace(owner: str, kind: str) -> str | None:
    """Return the namespace that was meant. None if the written one may have the provider."""
    known = _ELSEWHERE.get(kind, ("hashicorp",) if kind in _OF_HASHICORP else ())
    if not known or owner in known:
        return None
    near = next((name for name in known if spelling.one_slip(owner, name)), None)
    return known[0] if near is None and owner == "hashicorp" and kind in _ELSEWHERE else near
