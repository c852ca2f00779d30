"""The registry has no chart of Karpenter at this address or with this version, so nothing is installed.

The charts are `oci://public.ecr.aws/karpenter/karpenter` and `karpenter-crd`. Terraform appends the name of the chart
to the repository `oci://public.ecr.aws/karpenter`, Argo CD to `public.ecr.aws/karpenter`. Since 0.35, versions have
no `v`: Helm looks for the tag `v1.6.0` as it is written and does not find it.

For Argo CD, `oci://` begins the address of one artifact: it ignores `chart` and looks for a chart that is named like
the repository. Releases before 3.1 refuse the address. A chart has versions, not branches: there is no `HEAD`.

There is no fix: the value is often written elsewhere, such as in the default of a variable.

```yaml bad
# file: main.tf
resource "helm_release" "karpenter" {
  name       = "karpenter"
  namespace  = "kube-system"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "v1.14.3"
  values     = [yamlencode({ settings = { clusterName = "main", interruptionQueue = "main" } })]
}
```

```yaml good diff=bad
-  version    = "v1.14.3"
+  version    = "1.14.3"
```

```yaml bad
# file: karpenter.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter, namespace: argocd}
spec:
  project: default
  source:
    repoURL: oci://public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.14.3
    helm: {valuesObject: {settings: {clusterName: main, interruptionQueue: main}}}
  destination: {server: https://kubernetes.default.svc, namespace: kube-system}
```

```yaml good
# file: karpenter.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter, namespace: argocd}
spec:
  project: default
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.14.3
    helm: {valuesObject: {settings: {clusterName: main, interruptionQueue: main}}}
  destination: {server: https://kubernetes.default.svc, namespace: kube-system}
```
"""

import re
from collections.abc import Iterator

from nodelint.api import Context, Finding, Findings, Node, Source, Span, rule, terraform_blocks, terraform_trace

_REGISTRY = re.compile(r"(?:oci://)?public\.ecr\.aws/karpenter(?P<twice>/karpenter(?:-crd)?)?/?")
_NAMES = ("karpenter", "karpenter-crd")
_BRANCHES = ("HEAD", "main", "master")
_WITH_V = re.compile(r"v(?:0\.(?:3[5-9])|[1-9]\d*\.\d+)\.\d+")


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    mentions=["public.ecr.aws/karpenter"],
    source=[
        "https://karpenter.sh/docs/upgrading/upgrade-guide/#upgrading-to-0350",
        "https://github.com/aws/karpenter-provider-aws/issues/8718",
        "https://github.com/argoproj/argo-cd/issues/10823",
        "https://argo-cd.readthedocs.io/en/stable/user-guide/oci/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    listed = [(False, chart) for chart in _list_releases(source, context)]
    listed += [(True, chart) for chart in _list_sources(source)]
    for is_argocd, (repository, chart, version, at) in listed:
        found = _REGISTRY.fullmatch(repository)
        if found is None or chart not in _NAMES:
            continue
        is_prefixed = is_argocd and repository.startswith("oci://")
        if is_prefixed and not found["twice"]:
            yield Finding(
                at=at[0],
                message="with `oci://`, Argo CD ignores `chart`, and it finds no chart at this address",
                help=f"write `{repository.removeprefix('oci://').rstrip('/')}`",
            )
        elif is_prefixed:
            continue  # newer releases of Argo CD take the address as it is
        elif found["twice"]:
            yield Finding(
                at=at[0],
                message=f"the registry has no chart `{repository.removeprefix('oci://').rstrip('/')}/{chart}`",
                note="the name of the chart is appended to the repository",
                help=f"write `{repository.rstrip('/').removesuffix(found['twice'])}`",
            )
        elif _WITH_V.fullmatch(version):
            yield Finding(
                at=at[1],
                message=f"the registry has no version `{version}` of the chart: since 0.35 they have no `v`",
                help=f"write `{version[1:]}`",
            )
        elif is_argocd and version in _BRANCHES:
            yield Finding(
                at=at[1],
                message=f"the chart has no version `{version}`: Argo CD takes a version, or a range of versions",
                help="write a version of the chart, such as `1.14.3`",
            )


_Chart = tuple[str, str, str, tuple[Span, Span]]
"""A repository, a chart, its version, and the places of the repository and the version."""


def _list_releases(source: Source, context: Context) -> Iterator[_Chart]:
    """Yield the Karpenter charts of `helm_release` blocks whose repository is known."""
    for block in terraform_blocks.find_blocks(source) if source.path.endswith((".tf", ".tofu")) else ():
        chart = terraform_trace.find_arguments(block.text, "chart") if block.kind == "helm_release" else []
        name = chart[0].strip('"') if chart else ""
        if name not in _NAMES:
            continue
        blocks = context.run_files.terraform
        repositories, versions = (blocks.argument_values(block, of) for of in ("repository", "version"))
        if not repositories or not isinstance(repositories[0].value.value, str):
            continue
        # Without a version, and with one that is not known, the repository is still read.
        version = versions[0] if versions and isinstance(versions[0].value.value, str) else None
        number = str(version.value.value) if version is not None else ""
        at = repositories[0].at
        yield repositories[0].value.value, name, number, (at, version.at if version is not None else at)


def _list_sources(source: Source) -> Iterator[_Chart]:
    """Yield the charts of the sources of Argo CD Applications, also in ApplicationSets and templates of Helm."""
    for document in source.documents if "argoproj.io/" in source.text else ():
        root = document.root
        spec = root.find("spec", "template", "spec") or root.get("spec") if root is not None else None
        listed = spec.get("sources") if spec is not None else None
        single = spec.get("source") if spec is not None else None
        for part in (*(listed.items if listed is not None else ()), *((single,) if single is not None else ())):
            found = [part.get(name) for name in ("repoURL", "chart", "targetRevision")]
            texts = [node.value for node in found if node is not None and isinstance(node.value, str)]
            if len(texts) == len(found):
                places = [Span(source, node.start, node.end) for node in found if isinstance(node, Node)]
                yield str(texts[0]), str(texts[1]), str(texts[2]), (places[0], places[2])
