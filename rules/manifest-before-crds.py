"""Terraform makes an object of Karpenter before, or while, it installs the CRDs: the first run fails.

Terraform's `kubernetes_manifest` makes an object in the same run that installs Karpenter's CRDs.

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

A `kubectl_manifest` that waits for nothing that waits for the chart.

Terraform makes what does not refer to each other side by side. The kind is not there before the chart has brought
its CRDs, so that the first run ends with an error (`isn't valid for cluster, check the APIVersion and Kind fields`),
and a second one works. `depends_on` with the module for Karpenter's roles is not enough: it installs no chart. A
reference or a `depends_on` that leads to the chart's `helm_release` is, by way of other resources too. The rule is
silent where `apply_retry_count` makes the provider try again, and where the chart leaves out the CRDs.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
}

resource "kubectl_manifest" "pool" {
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

```yaml good
# file: main.tf
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  name       = "karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
}

resource "time_sleep" "started" {
  depends_on      = [helm_release.karpenter]
  create_duration = "30s"
}

resource "kubectl_manifest" "pool" {
  depends_on = [time_sleep.started]
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
from collections.abc import Iterator, Sequence

from nodelint.api import Also, Context, Finding, Findings, Source, rule, terraform_blocks

_CHART = re.compile(r'(?m)^[ \t]+chart\s*=\s*"(?:[^"\n]*/)?karpenter(?:-crd)?"')
_KIND = re.compile(r"""(?m)^[ \t]*"?apiVersion"?\s*[=:]\s*["']?karpenter\.(?:sh|k8s\.aws)/v1(?:beta1)?\b""")
_TEMPLATE = re.compile(r'\b(?:templatefile|file)\("\$\{path\.module\}/([^"\n$]+)"')
_REFERENCE = re.compile(r"\b(?:local|module|(?:data\.)?[a-z]+_\w+)\.\w+")
_COUNT = re.compile(r"(?m)^[ \t]+(?:count|for_each)\s*=")
_WITHOUT_CRDS = re.compile(r"(?m)^[ \t]+skip_crds\s*=\s*true|apply_retry_count")


@rule(
    on=Source,
    group="hazard",
    subject="templates",
    source=[
        "https://registry.terraform.io/providers/hashicorp/kubernetes/latest/docs/resources/manifest",
        "https://developer.hashicorp.com/terraform/language/meta-arguments/depends_on",
    ],
    mentions=['"kubernetes_manifest"', '"kubectl_manifest"'],
)
def check(source: Source, context: Context) -> Findings:
    module = _list_module(source, context)
    blocks = [block for file in module for block in terraform_blocks.find_blocks(file)]
    charts = [b for b in blocks if b.kind == "helm_release" and _CHART.search(b.text)]
    if not charts:
        return
    texts = {file.path: file.text for file in context.files or (source,)}
    planned = [b for b in blocks if b.kind == "kubernetes_manifest" and _makes_object(b, texts)]
    if planned and planned[0].source is source:  # the first of the folder says it for all
        yield Finding(
            at=planned[0].at,
            message="`kubernetes_manifest` asks for the kind while Terraform plans, before the chart brings its CRDs",
            also=[Also(charts[0].at, "the chart that brings them")],
            note="the first plan fails, `depends_on` or not",
            help="use `kubectl_manifest`, or another root module for the objects",
        )
    early = list(_find_early(blocks, charts, texts))
    if early and early[0].source is source and not any(_WITHOUT_CRDS.search(file.text) for file in module):
        yield Finding(
            at=early[0].at,
            message="this `kubectl_manifest` does not wait for the chart: the kind does not exist in the first run",
            also=[
                *(Also(block.at, "nor this one") for block in early[1:]),
                Also(charts[0].at, "the chart that brings its CRDs"),
            ],
            help=f"add `depends_on = [{charts[0].address}]`",
        )


def _list_module(source: Source, context: Context) -> list[Source]:
    """The files that Terraform plans together with one, it among them."""
    folder = os.path.dirname(source.path)
    if not source.path.endswith(terraform_blocks.ENDINGS):
        return []
    files = (file for file in context.files or (source,) if os.path.dirname(file.path) == folder)
    return [file for file in files if file.path.endswith(terraform_blocks.ENDINGS)]


def _makes_object(block: terraform_blocks.BlockText, texts: dict[str, str]) -> bool:
    """Whether a resource that is always made holds an object of Karpenter's, or takes it from a file beside it."""
    if _COUNT.search(block.text):
        return False
    folder = os.path.dirname(block.source.path)
    files = (os.path.join(folder, found[1]) for found in _TEMPLATE.finditer(block.text))
    return any(_KIND.search(text) for text in (block.text, *(texts.get(path, "") for path in files)))


def _find_early(
    blocks: Sequence[terraform_blocks.BlockText],
    charts: Sequence[terraform_blocks.BlockText],
    texts: dict[str, str],
) -> Iterator[terraform_blocks.BlockText]:
    """Each `kubectl_manifest` of an object from which no reference leads to a chart; none where that is not known."""
    known = {block.address: block.text for block in blocks}
    files = {block.source.path: block.source for block in blocks}.values()
    known["local"] = "".join(text for file in files for text in terraform_blocks.find_locals(file))
    ends = {chart.address for chart in charts}
    # What a chart waits for cannot wait for it, wherever it is written.
    before = set[str]().union(*(_reach(chart.text, known) for chart in charts))
    for block in blocks:
        if block.kind != "kubectl_manifest" or not _makes_object(block, texts):
            continue
        reached = _reach(block.text, known) - before
        if not reached & ends and reached <= known.keys():
            yield block


def _reach(text: str, known: dict[str, str]) -> set[str]:
    """The addresses to which the references of a text lead, by way of the blocks that are known."""
    reached, left = set[str](), [text]
    while left:
        for found in _REFERENCE.findall(left.pop()):
            address = "local" if found.startswith("local.") else found
            if address not in reached:
                reached.add(address)
                left.append(known.get(address, ""))
    return reached
