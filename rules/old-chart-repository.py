r"""Karpenter's chart comes from `charts.karpenter.sh`, which has no version after 0.16.3.

Charts since 0.17 are in an OCI registry, `oci://public.ecr.aws/karpenter/karpenter`. If you set no version, the old
repository installs 0.16.3 of 2022. It reads none of today's settings, has neither NodePools nor EC2NodeClasses, and
supports no Kubernetes version that EKS still offers. If you set a newer version, the installation fails.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "https://charts.karpenter.sh"
  chart      = "karpenter"
}
```

```yaml good diff=bad
-  repository = "https://charts.karpenter.sh"
+  repository = "oci://public.ecr.aws/karpenter"
   chart      = "karpenter"
+  version    = "1.14.1"
+  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
```
"""

import re

from nodelint.api import Context, EC2NodeClass, Finding, Findings, NodePool, Source, Span, rule, terraform_blocks

_REPOSITORY = "charts.karpenter.sh"
_VERSION = re.compile(r"""(?:version|targetRevision)["']?[ \t]*+[:=\s][ \t]*+["']?v?(\d+\.\d+|[^\s"'#\\][^\s#]*)""")
_OF_OLD = re.compile(r"0\.(?:\d|1[0-6])")


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="migration",
    mentions=[_REPOSITORY],
    source=[
        "https://karpenter.sh/docs/upgrading/upgrade-guide/#upgrading-to-0170",
        "https://karpenter.sh/docs/upgrading/compatibility/",
    ],
    tags=["installation"],
)
def check(source: Source, context: Context) -> Findings:
    if "{{" in source.text and "helm" not in source.text:
        return
    for match in re.finditer(re.escape(_REPOSITORY), source.text):
        line = source.text[source.text.rfind("\n", 0, match.start()) + 1 : match.start()]
        text = _find_text_around(source, match.start())
        if line.lstrip().startswith(("#", "//")) or "HelmRepository" in text:
            continue
        if "repo add" in line and "public.ecr.aws/karpenter" in text:
            continue  # the repository is added, and the chart comes from the registry
        version = _VERSION.search(text)
        if version is not None and (_OF_OLD.fullmatch(version[1]) or not version[1][0].isdigit()):
            continue
        yield Finding(
            at=Span(source, match.start(), match.end()),
            message=f"`{_REPOSITORY}` has no chart of Karpenter after 0.16.3: "
            + ("it installs 0.16.3" if version is None else f"{version[1]} is not there"),
            severity="error" if version is not None or _has_newer_objects(context) else None,
            help="use `oci://public.ecr.aws/karpenter/karpenter`, with a version",
        )


def _has_newer_objects(context: Context) -> bool:
    """Return whether the run has NodePools or EC2NodeClasses.

    Karpenter 0.16.3 does not have these kinds, so the API server refuses them.
    """
    return any(isinstance(obj, NodePool | EC2NodeClass) for obj in context.objects)


def _find_text_around(source: Source, at: int) -> str:
    """Return the text that installs the chart: the Terraform block, the YAML document, else the whole file."""
    if source.path.endswith(terraform_blocks.ENDINGS):
        blocks = [block for block in terraform_blocks.find_blocks(source) if block.at.start <= at]
        return blocks[-1].text if blocks else source.text
    begin = max(source.text.rfind("\n---", 0, at), 0)
    end = source.text.find("\n---", at)
    return source.text[begin : end if end >= 0 else len(source.text)]
