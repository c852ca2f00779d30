"""The chart of the CRDs and the chart of the controller have different minor releases.

The chart `karpenter-crd` contains the schemas of NodePool, EC2NodeClass and NodeClaim. If the schemas are older than
the controller, the API server drops or refuses fields that the controller uses. If they are newer, it accepts fields
that the controller ignores. Upgrade both charts together, the CRDs first.

The rule compares versions that are written out in the same folder, in HelmReleases of Flux, Applications of Argo CD
and `helm_release` resources of Terraform.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter_crd" {
  name       = "karpenter-crd"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter-crd"
  version    = "1.5.0"
}
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml good diff=bad
-  version    = "1.5.0"
+  version    = "1.14.1"
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Also, Context, Finding, Findings, Node, Source, Span, rule, terraform_trace

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.\d+(?:[-+].*)?")


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="migration",
    mentions=["karpenter-crd"],
    source=["https://karpenter.sh/docs/upgrading/upgrade-guide/#crd-upgrades"],
)
def check(source: Source, context: Context) -> Findings:
    folder = terraform_trace.folder_of(source.path)
    blocks = context.run_files.terraform
    installs = [
        install
        for install in context.run_files.installs
        if terraform_trace.folder_of(install.at.source.path) == folder
    ]
    stated = [(install.at, install.version) for install in installs if install.version]
    if installs and not stated:
        files = [file for file in context.files if terraform_trace.folder_of(file.path) == folder]
        stated = [found for file in files for found in _list_versions(file, "/karpenter") if "oci://" in file.text]
    if not stated or len({version for _, version in stated}) != 1:
        return
    place, version_of_controller = stated[0]
    own = _VERSION.fullmatch(version_of_controller)
    for at, version in _crd_charts(source, blocks):
        crds = _VERSION.fullmatch(version)
        if own is None or crds is None or own.groups() == crds.groups():
            continue
        older = tuple(map(int, crds.groups())) < tuple(map(int, own.groups()))
        what = "the API server drops or refuses new fields" if older else "new fields have no effect"
        yield Finding(
            at=at,
            message=f"the CRDs are from {version}, but the controller is {version_of_controller}: {what}",
            also=[Also(place, f"the controller's chart is {version_of_controller}")]
            if isinstance(place.source, Source)
            else [],
            help=f"install karpenter-crd {version_of_controller}",
        )


def _crd_charts(source: Source, blocks: "terraform_trace.TerraformBlocks") -> Iterator[tuple[Span, str]]:
    """Yield the place and version of each CRD chart that a file installs."""
    for block in blocks.find_in(source.path):
        chart = terraform_trace.find_arguments(block.text, "chart") if block.kind == "helm_release" else []
        written = terraform_trace.find_arguments(block.text, "version")
        if block.source is source and chart and chart[0].strip('"').endswith("karpenter-crd") and written:
            version = blocks.literal(written[0], source.path)
            if version is not None:
                yield block.at, version
    yield from _list_versions(source, "karpenter-crd")


def _list_versions(source: Source, ending: str) -> Iterator[tuple[Span, str]]:
    """Yield the place and version of each chart in the documents of a file whose name or address ends with a text."""
    for document in source.documents:
        for chart in _list_charts(document.root) if document.root is not None else ():
            names = [chart.get(key) for key in ("chart", "name", "url")]
            versions = [chart.get("version"), chart.get("targetRevision"), chart.find("ref", "tag")]
            version = next((node for node in versions if node is not None), None)
            if version is not None and any(str(name.value).endswith(ending) for name in names if name):
                yield Span(source, version.start, version.end), str(version.value)


def _list_charts(root: Node) -> Iterator[Node]:
    """Yield the objects in a document that name a chart with its version, in a HelmRelease, an OCIRepository, an
    Application, a Chart.yaml, a helmfile or a kustomization.
    """
    if root.kind != "mapping":
        return
    spec, kind = root.get("spec"), root.get("kind")
    if spec is not None:
        listed = spec.get("sources")
        is_repository = kind is not None and kind.value == "OCIRepository"
        places = [spec.find("chart", "spec"), spec.get("source"), spec if is_repository else None]
        yield from (place for place in (*places, *(listed.items if listed is not None else ())) if place is not None)
    for key in ("dependencies", "releases", "helmCharts"):
        listed = root.get(key)
        yield from listed.items if listed is not None else ()
