"""An Application of Argo CD names a file or folder that the repository does not have.

Argo CD cannot render the Application, or applies nothing of it, so the cluster gets no controller, no NodePool or no
EC2NodeClass. Argo CD reads the manifests in a folder. It reads those in its subfolders only if `directory.recurse` is
true. If an Application has values of Helm, its folder has to hold a Chart.yaml.

The rule looks at Applications that concern Karpenter, if another Application shows that the address and the revision
are those of these files. It ignores paths with patterns and placeholders.

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

from nodelint.api import Context, Finding, Findings, Source, Span, missing_sources, rule


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    source=[
        "https://argo-cd.readthedocs.io/en/stable/user-guide/directory/",
        "https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#values-files",
    ],
    mentions=["argoproj.io/"],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None:
        return
    others = context.run_files.files_with("argoproj.io/", around=True)
    for missing in missing_sources.list_missing(source, others):
        yield Finding(
            at=Span(source, missing.node.start, missing.node.end),
            message=missing.reason,
            note="the Application is not rendered, or applies nothing",
            help="correct the path, or add what is missing",
        )
