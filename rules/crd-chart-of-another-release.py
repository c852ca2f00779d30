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

from nodelint.api import Also, Context, Finding, Findings, Source, Span, rule, terraform_trace

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
    versions = {install.version for install in installs if install.version}
    install = next((install for install in installs if install.version), None)
    if install is None or len(versions) != 1:
        return
    own = _VERSION.fullmatch(str(install.version))
    for at, version in _crd_charts(source, blocks):
        crds = _VERSION.fullmatch(version)
        if own is None or crds is None or own.groups() == crds.groups():
            continue
        older = tuple(map(int, crds.groups())) < tuple(map(int, own.groups()))
        what = "the API server drops or refuses new fields" if older else "new fields have no effect"
        yield Finding(
            at=at,
            message=f"the CRDs are from {version}, but the controller is {install.version}: {what}",
            also=[Also(install.at, f"the controller's chart is {install.version}")]
            if isinstance(install.at.source, Source)
            else [],
            help=f"install karpenter-crd {install.version}",
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
    for document in source.documents:
        root = document.root
        if root is None or root.kind != "mapping":
            continue
        listed = root.find("spec", "sources")
        places = [root.find("spec", "chart", "spec"), root.find("spec", "source")]
        for chart in (*places, *(listed.items if listed is not None else ())):
            name = chart.get("chart") if chart is not None else None
            version_node = (chart.get("version") or chart.get("targetRevision")) if chart is not None else None
            if name is not None and version_node is not None and str(name.value).endswith("karpenter-crd"):
                yield Span(source, version_node.start, version_node.end), str(version_node.value)
