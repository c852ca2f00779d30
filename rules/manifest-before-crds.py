"""Terraform's `kubernetes_manifest` makes an object in the same run that installs Karpenter's CRDs.

The resource asks the API server for the kind while Terraform plans. Before the chart is installed there is no such
kind: the first `terraform plan` ends with an error, `depends_on` or not, and so does one that makes the cluster anew.
`kubectl_manifest` asks when it applies. A root module of its own, a chart for the objects, Argo CD and Flux work,
too.

The rule looks at the files of the folder in which Karpenter's chart is installed: Terraform plans them together. It
is silent for a resource with a `count` or a `for_each`, which may be switched on later.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
}

resource "kubernetes_manifest" "pool" {
  depends_on = [helm_release.karpenter]
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "default" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["amd64"] }]
    } } }
  }
}
```

```yaml good
# file: main.tf
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
}

resource "kubectl_manifest" "pool" {
  depends_on = [helm_release.karpenter]
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "default" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["amd64"] }]
    } } }
  })
}
```
"""

import os
import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Source, Span, rule

_RESOURCE = re.compile(r'(?m)^resource[ \t]+("[^"\n]*")[ \t]+"[^"\n]*"[ \t]*\{[ \t]*$')
_CHART = re.compile(r'(?m)^[ \t]+chart\s*=\s*"(?:[^"\n]*/)?karpenter(?:-crd)?"')
_KIND = re.compile(r'(?m)^[ \t]+"?apiVersion"?\s*[=:]\s*"karpenter\.(?:sh|k8s\.aws)/v1(?:beta1)?"')

_COUNT = re.compile(r"(?m)^[ \t]+(?:count|for_each)\s*=")


@rule(
    on=Source,
    group="hazard",
    subject="templates",
    source="https://registry.terraform.io/providers/hashicorp/kubernetes/latest/docs/resources/manifest",
)
def check(source: Source, context: Context) -> Findings:
    if '"kubernetes_manifest"' not in source.text:
        return
    module = _list_module(source, context)
    manifests = [(file, at) for file in module for at in _find_manifests(file)]
    charts = [(file, at) for file in (source, *module) for at in _find_charts(file)]
    if charts and manifests and manifests[0][0] is source:  # the first of the folder says it for all
        (_, at), (file, chart) = manifests[0], charts[0]
        yield Finding(
            at=Span(source, *at),
            message="`kubernetes_manifest` asks for the kind while Terraform plans, before the chart brings its CRDs",
            also=[Also(Span(file, *chart), "the chart that brings them")],
            note="the first plan fails, `depends_on` or not",
            help="use `kubectl_manifest`, or another root module for the objects",
        )


def _list_module(source: Source, context: Context) -> list[Source]:
    """The files that Terraform plans together with one, it among them."""
    folder = os.path.dirname(source.path)
    if not source.path.endswith((".tf", ".tofu")):
        return []
    files = (file for file in context.files or (source,) if os.path.dirname(file.path) == folder)
    return [file for file in files if file.path.endswith((".tf", ".tofu"))]


def _find_manifests(source: Source) -> Iterator[tuple[int, int]]:
    """Where the resources that make Karpenter's objects are named."""
    for begun, block in _find_resources(source.text):
        if begun[1] == '"kubernetes_manifest"' and _KIND.search(block) and not _COUNT.search(block):
            yield begun.span(1)


def _find_charts(source: Source) -> Iterator[tuple[int, int]]:
    """Where the resources that install Karpenter's chart are named."""
    for begun, block in _find_resources(source.text):
        if begun[1] == '"helm_release"' and _CHART.search(block):
            yield begun.span(1)


def _find_resources(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """The blocks of resources: each ends with the first brace that begins a line, as `terraform fmt` writes it."""
    at = 0
    while (begun := _RESOURCE.search(text, at)) is not None and (at := text.find("\n}", begun.end())) >= 0:
        yield begun, text[begun.start() : at]
