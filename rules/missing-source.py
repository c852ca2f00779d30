"""An object of Argo CD, Flux, helmfile or kustomize names a file, folder or parameter that does not exist.

The tool refuses the object. It applies nothing of it, or keeps what is installed, so the cluster does not get the
controller, the NodePool or the EC2NodeClass of the files.

Paths in Flux objects and their `valuesFiles` are relative to the top of the repository. In Argo CD, `valueFiles` are
relative to the folder of the chart. Argo CD reads the manifests in a folder. It reads those in its subfolders only if
`directory.recurse` is true. If an Application has values of Helm, its folder has to hold a Chart.yaml. A missing
values file is no mistake with `ignoreMissingValuesFiles` (Flux), `ignoreMissingValueFiles` (Argo CD) or
`missingFileHandler` (helmfile).

If an ApplicationSet uses a parameter that its generators do not give, Argo CD writes `<no value>` in its place. With
`goTemplateOptions: [missingkey=error]`, it creates no Application.

The rule looks at objects that concern Karpenter: their text, their chart or their folder names it. It needs evidence
that the object means the repository of these files: the same source with an existing path, or an existing path with a
similar name. It ignores paths with patterns and placeholders.

There is no fix: only the author knows whether the path is wrong or a file is missing.

```yaml bad
# file: apps/karpenter.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter-pools, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://github.com/acme/platform, path: pools/prod, targetRevision: main}
  destination: {server: https://kubernetes.default.svc}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: apps, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://github.com/acme/platform, path: apps, targetRevision: main}
  destination: {server: https://kubernetes.default.svc}
```

```yaml good
# file: apps/karpenter.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter-pools, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://github.com/acme/platform, path: apps, targetRevision: main}
  destination: {server: https://kubernetes.default.svc}
```
"""

import re

from nodelint.api import Context, Finding, Findings, Source, Span, missing_sources, rule

_WORDS = ("argoproj.io/", "toolkit.fluxcd.io/", "releases:", "helmCharts")
_PATHS = ('"./', '"../', "file(", "resources", "components", "enerator", "patches", "include")
"""Words of Terraform, Terragrunt and kustomize before or in a path."""
_OBJECTS = re.compile("argoproj[.]io/|toolkit[.]fluxcd[.]io/")


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source=[
        "https://argo-cd.readthedocs.io/en/stable/user-guide/directory/",
        "https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files",
        "https://fluxcd.io/flux/components/source/helmcharts/#values-files",
    ],
    mentions=[*_WORDS, *_PATHS],
    tags=["syntax"],
)
def check(source: Source, context: Context) -> Findings:
    run_files = context.run_files
    # The folder of an unsaved file exists in the run alone.
    others = list(dict.fromkeys((*run_files.files_with(_OBJECTS, around=True), *run_files.files_of_run)))
    found = {(m.node.start, m.reason): m for m in missing_sources.list_missing(source, others)}
    for missing in found.values():
        if missing.is_certain:
            yield Finding(
                at=Span(source, missing.node.start, missing.node.end),
                message=missing.reason,
                note=missing.effect,
                help="correct the name, or add what is missing",
            )
