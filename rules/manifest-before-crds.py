"""Terraform creates a Karpenter object before or while it installs the CRDs, so the first run fails.

`kubernetes_manifest` asks the API server for the kind while Terraform plans. Before the chart is installed, the kind
does not exist. The first `terraform plan` fails, with or without `depends_on`, and so does a plan that creates the
cluster again. `kubectl_manifest` asks at apply time. A separate root module, a chart for the objects, Argo CD and
Flux work as well.

The rule looks at what Terraform plans together: a root module and the modules of the repository that it calls. It
ignores a resource or a call with a `count` or a `for_each`, because it may be turned on later. It does not ignore the
`count` of the chart itself, nor a `for_each` over a variable whose default has entries.

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

```yaml good diff=bad
-resource "kubernetes_manifest" "pool" {
+resource "kubectl_manifest" "pool" {
   depends_on = [helm_release.karpenter]
-  manifest = {
+  yaml_body = yamlencode({
@@
-  }
+  })
```

The rule also reports a `kubectl_manifest` that does not wait for the chart.

Terraform creates resources in parallel if they do not refer to each other. Before the chart has installed its CRDs,
the kind does not exist. The first run fails (`isn't valid for cluster, check the APIVersion and Kind fields`), and a
second run works. A `depends_on` with the module for Karpenter's roles is not enough, because it installs no chart. A
reference or a `depends_on` to the chart's `helm_release` is enough, also through other resources. The rule reports
nothing if `apply_retry_count` makes the provider try again, or if the chart skips the CRDs.

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
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from nodelint.api import Also, Context, Finding, Findings, Source, rule, terraform_blocks, terraform_trace

_CHART = re.compile(r'(?m)^[ \t]+chart\s*=\s*"(?:[^"\n]*/)?karpenter(?:-crd)?"')
_KIND = re.compile(r"""(?m)^[ \t]*"?apiVersion"?\s*[=:]\s*["']?karpenter\.(?:sh|k8s\.aws)/v1(?:alpha\d|beta1)?\b""")
_TEMPLATE = re.compile(r'\b(?:templatefile|file)\("(?:\$\{path\.(?:module|root)\}/)?([^"\n$]+)"')
_REFERENCE = re.compile(r"\b(?:local|module|(?:data\.)?[a-z]+_\w+)\.\w+")
_COUNT = re.compile(r"(?m)^[ \t]+(?:count|for_each)[ \t]*=[ \t]*(?:var\.(\w+)[ \t]*\r?$)?")
_SOURCE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(\.[^"\n]*)"')
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
    charts = [b for file in module for b in file.once(_list_charts, partial(_list_charts, file))]
    terraform = context.run_files.terraform
    written = terraform.once("texts by path", lambda: {file.path: file.text for file in terraform.files})
    texts = ChainMap({file.path: file.text for file in context.files or (source,)}, written)
    together = {count for chart in charts if (count := _count_of(chart)) is not None}
    resources = (b for b in blocks if b.kind == "kubernetes_manifest")
    documents = {b.address: b for b in blocks if b.address.startswith("data.template_file.")}
    planned = next((b for b in resources if _makes_any(b, documents, texts, together)), None)
    if planned is not None and planned.source is source:  # the first of the folder says it for all
        chart = next(iter(charts), None) or _find_chart_planned_with(source, context.run_files.terraform)
        if chart is None:
            return
        yield Finding(
            at=planned.at,
            message="`kubernetes_manifest` needs the CRDs at plan time, before the chart installs them",
            also=[Also(chart.at, "this chart installs the CRDs")],
            note="the first plan fails, with or without `depends_on`",
            help="use `kubectl_manifest`, or another root module for the objects",
        )
    early = _find_early(blocks, charts, texts) if charts else iter(())
    first = next(early, None)
    if first is not None and first.source is source and not any(_WITHOUT_CRDS.search(file.text) for file in module):
        yield Finding(
            at=first.at,
            message="this `kubectl_manifest` does not wait for the chart: the kind does not exist in the first run",
            also=[
                *(Also(block.at, "this one does not wait either") for block in early),
                Also(charts[0].at, "this chart installs the CRDs"),
            ],
            help=f"add `depends_on = [{charts[0].address}]`",
        )


def _list_module(source: Source, context: Context) -> list[Source]:
    """Return the Terraform files of the folder of a file, with the file: Terraform plans them together.

    Empty if the file is no Terraform file.
    """
    folder = os.path.dirname(source.path)
    if not source.path.endswith(terraform_blocks.ENDINGS):
        return []
    files = (file for file in context.files or (source,) if os.path.dirname(file.path) == folder)
    return [file for file in files if file.path.endswith(terraform_blocks.ENDINGS)]


def _list_charts(file: Source) -> list[terraform_blocks.BlockText]:
    return [block for block in terraform_blocks.find_blocks(file) if _installs_chart(block)]


def _installs_chart(block: terraform_blocks.BlockText) -> bool:
    return block.kind == "helm_release" and _CHART.search(block.text) is not None


def _find_chart_planned_with(
    source: Source, blocks: terraform_trace.TerraformBlocks
) -> "terraform_trace.BlockText | None":
    """Return the block of the chart that a root module installs together with the objects of a file.

    None if no root module does.
    """
    calls: dict[str, set[str]] = {}
    for block in blocks.blocks:
        called = _SOURCE.search(block.text) if block.address.startswith("module.") else None
        if called is not None and not _COUNT.search(block.text):
            folder = terraform_trace.folder_of(block.source.path)
            calls.setdefault(folder, set()).add(os.path.normpath(os.path.join(folder, called[1])))
    found = (b for file in blocks.files for b in file.once(_list_charts, partial(_list_charts, file)))
    charts = [b for b in found if not _COUNT.search(b.text)]
    for root in sorted(calls.keys() - set().union(*calls.values())):
        folders, left = {root}, [root]
        while left:
            new = calls.get(left.pop(), set()) - folders
            folders |= new
            left += new
        if terraform_trace.folder_of(source.path) in folders:
            chart = next((b for b in charts if terraform_trace.folder_of(b.source.path) in folders), None)
            if chart is not None:
                return chart
    return None


def _makes_any(
    block: terraform_blocks.BlockText,
    documents: Mapping[str, terraform_blocks.BlockText],
    texts: Mapping[str, str],
    together: Collection[str] = frozenset(),
) -> bool:
    """Return whether a resource always creates an object of Karpenter, also by a data source for a template."""
    if _makes_object(block, texts, together):
        return True
    named = _REFERENCE.findall(block.text) if documents and _COUNT.search(block.text) is None else ()
    return any(_makes_object(documents[name], texts) for name in named if name in documents)


def _count_of(block: terraform_blocks.BlockText) -> str | None:
    """Return the expression of the `count` of a block, without blanks. None if the block has no `count`."""
    found = re.search(r"(?m)^[ \t]+count[ \t]*=[ \t]*([^\n#]+)", block.text)
    return None if found is None else "".join(found[1].split())


def _makes_object(
    block: terraform_blocks.BlockText, texts: Mapping[str, str], together: Collection[str] = frozenset()
) -> bool:
    """Return whether a resource always creates an object of Karpenter, inline or from a template file.

    `together` are the `count` expressions of the charts: a resource with one of these is created together with the
    chart.
    """
    repeated = _COUNT.search(block.text)
    if (
        repeated is not None
        and _count_of(block) not in together
        and not (repeated[1] and _has_entries(repeated[1], block, texts))
    ):
        return False
    folder = os.path.dirname(block.source.path)
    files = (os.path.normpath(os.path.join(folder, found[1])) for found in _TEMPLATE.finditer(block.text))
    return any(_KIND.search(text) for text in (block.text, *(texts.get(path, "") for path in files)))


def _has_entries(name: str, block: terraform_blocks.BlockText, texts: Mapping[str, str]) -> bool:
    """Return whether the default of a variable is a map or list with entries.

    The variable is one of the module of the block.
    """
    entries = r"default[ \t]*=[ \t]*[{\[]\s*(?:#[^\n]*\s*)*[^\s}\]#]"
    filled = re.compile(rf'(?ms)^variable[ \t]+"{name}"[ \t]*\{{(?:(?!^\}}).){{0,5000}}?^[ \t]*{entries}')
    folder = terraform_trace.folder_of(block.source.path)
    return any(filled.search(text) for path, text in texts.items() if terraform_trace.folder_of(path) == folder)


def _find_early(
    blocks: Sequence[terraform_blocks.BlockText],
    charts: Sequence[terraform_blocks.BlockText],
    texts: Mapping[str, str],
) -> Iterator[terraform_blocks.BlockText]:
    """Yield each `kubectl_manifest` of a Karpenter object whose references lead to no chart.

    A manifest with an unknown reference is skipped.
    """
    known = {block.address: block.text for block in blocks}
    files = {block.source.path: block.source for block in blocks}.values()
    known["local"] = "".join(text for file in files for text in terraform_blocks.find_locals(file))
    ends = {chart.address for chart in charts}
    documents = {b.address: b for b in blocks if b.address.startswith("data.template_file.")}
    # What a chart waits for cannot wait for it, wherever it is written.
    before = set[str]().union(*(_reach(chart.text, known) for chart in charts))
    for block in blocks:
        if block.kind != "kubectl_manifest" or not _makes_any(block, documents, texts):
            continue
        reached = _reach(block.text, known) - before
        if not reached & ends and reached <= known.keys():
            yield block


def _reach(text: str, known: dict[str, str]) -> set[str]:
    """Return the addresses to which the references of a text lead, directly or through the blocks in `known`."""
    reached, left = set[str](), [text]
    while left:
        for found in _REFERENCE.findall(left.pop()):
            address = "local" if found.startswith("local.") else found
            if address not in reached:
                reached.add(address)
                left.append(known.get(address, ""))
    return reached
