"""Karpenter's chart has no fixed version, so an unrelated deployment can install another release of Karpenter.

Without a version, or with a range such as `*` or `>=1.6.0`, Terraform, Argo CD and Flux take the newest chart that
exists when they run. A minor release of Karpenter can refuse fields, need new permissions, or drift nodes for another
reason. Helm does not upgrade the CRDs in the chart with it. No commit shows the change, and no
revert undoes it.

Pin a version, and let Renovate or a similar tool open a pull request for the next one. A range of one minor release,
such as `1.14.x`, brings fixes only: the rule does not report it. It does not report a command in a script either,
which runs once.

There is no fix: the author chooses the release.

```yaml bad
# file: karpenter.tf
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml good
# file: karpenter.tf
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml bad
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, version: ">=1.14.0", sourceRef: {kind: HelmRepository, name: karpenter}}}
  values: {settings: {clusterName: main, interruptionQueue: main}}
```

```yaml good
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  chart: {spec: {chart: karpenter, version: 1.14.x, sourceRef: {kind: HelmRepository, name: karpenter}}}
  values: {settings: {clusterName: main, interruptionQueue: main}}
```
"""

import re

from nodelint.api import Context, Finding, Findings, Source, Span, controller_settings, rule, terraform_blocks

_WILD = re.compile(r"\*|v?[\dxX*]+\.[xX*](?:\.[xX*])?|[xX]")
_LOWER = re.compile(r"(?:>=?|\^)\s*v?\d")
_UPPER = re.compile(r"<=?\s*v?\d+\.(?P<minor>[1-9]\d*)")
"""An upper bound within a major release."""
_MINOR = re.compile(r"v?\d+\.\d+\.[xX*]")


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="migration",
    mentions=controller_settings.MENTIONS,
    source=[
        "https://karpenter.sh/docs/upgrading/upgrade-guide/",
        "https://registry.terraform.io/providers/hashicorp/helm/latest/docs/resources/release#version-1",
        "https://helm.sh/docs/chart_best_practices/custom_resource_definitions/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    for install in context.run_files.installs_in(source):
        at = controller_settings.place_in(source, context.files, install)
        if at is None or "charts.karpenter.sh" in source.text:
            continue
        version = install.version
        if version is None and _has_no_version(install, context):
            yield Finding(
                at=at,
                message="the chart has no version: the next deployment can install another release of Karpenter",
                help="pin the version of the chart that runs",
                once=True,
            )
        elif version is not None and _is_open(version):
            start = source.text.find(version, at.start)
            yield Finding(
                at=Span(source, start, start + len(version)) if start >= 0 else at,
                message=f"`{version}` allows further minor releases: the next deployment can install another one",
                help="pin the version of the chart that runs, or allow one minor release, such as `1.14.x`",
                once=True,
            )


def _has_no_version(install: "controller_settings.ControllerInstall", context: Context) -> bool:
    """Return whether an installation sets no version. False if its version is only not known."""
    block = controller_settings.helm_release_of(install, context.run_files.terraform)
    if block is not None:
        given = terraform_blocks.own_arguments(block.text)
        return "public.ecr.aws" in given.get("repository", "") + given.get("chart", "") and "version" not in given
    for document in install.at.source.documents if install.by in ("the HelmRelease", "the helmfile") else ():
        root = document.root
        if root is None or not root.start <= install.at.start < root.end:
            continue
        chart = root.find("spec", "chart", "spec")
        listed = root.get("releases")
        release = next(
            (
                node
                for node in (listed.items if listed is not None else ())
                if node.start <= install.at.start < node.end
            ),
            chart,
        )
        return release is not None and release.get("version") is None and "{{" not in install.at.source.text
    return False


def _is_open(version: str) -> bool:
    """Return whether a range of versions allows more than the fixes of one minor release."""
    written = version.strip()
    if _MINOR.fullmatch(written):
        return False
    return _WILD.fullmatch(written) is not None or (
        _LOWER.search(written) is not None and _UPPER.search(written) is None
    )
