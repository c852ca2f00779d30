"""A Kustomization of Flux applies NodePools together with the HelmRelease that installs their CRDs.

Flux applies Namespaces and CRDs of a Kustomization first. Then it sends all other objects to the API server as a dry
run, before it applies any of them. In a new cluster the kinds NodePool and EC2NodeClass do not exist yet, so the dry
run fails ("no matches for kind"). Flux then does not apply the HelmRelease either, and the next try fails in the same
way. A running cluster hides this until it is built again.

Put the NodePools into a Kustomization of their own, and name the one with the HelmRelease in its `dependsOn`, with
`wait: true` there. The rule reports nothing if a file installs the CRDs in another way: the chart `karpenter-crd`,
the CRDs themselves, or Terraform.

```yaml bad
# file: clusters/prod/karpenter.yaml
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: karpenter, namespace: flux-system}
spec:
  interval: 10m
  path: ./infrastructure/karpenter
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
# file: infrastructure/karpenter/release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter, namespace: kube-system}
spec:
  interval: 10m
  chart: {spec: {chart: karpenter, version: 1.14.3, sourceRef: {kind: HelmRepository, name: karpenter}}}
  values: {settings: {clusterName: main, interruptionQueue: main}}
# file: infrastructure/karpenter/pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 100}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml good diff=bad
   path: ./infrastructure/karpenter
+  prune: true
+  wait: true
+  sourceRef: {kind: GitRepository, name: flux-system}
+---
+apiVersion: kustomize.toolkit.fluxcd.io/v1
+kind: Kustomization
+metadata: {name: pools, namespace: flux-system}
+spec:
+  interval: 10m
+  dependsOn: [{name: karpenter}]
+  path: ./infrastructure/pools
@@
-# file: infrastructure/karpenter/pool.yaml
+# file: infrastructure/pools/pool.yaml
```
"""

import os
import re

from nodelint.api import Context, EC2NodeClass, Finding, Findings, NodePool, Object, Source, rule

_PATH = re.compile(r"(?m)^[ \t]+path:[ \t]*[\"']?(?:\./)?([\w./-]+)")
_OTHER_CRDS = re.compile(r"karpenter-crd|karpenter\.sh_nodepools|nodepools\.karpenter\.sh|crds: *Skip")
_FLUX = "kustomize.toolkit.fluxcd.io"


@rule(
    on=Source,
    group="hazard",
    subject="templates",
    source=[
        "https://fluxcd.io/flux/components/kustomize/kustomizations/#dependencies",
        "https://fluxcd.io/flux/components/kustomize/kustomizations/#wait",
        "https://github.com/fluxcd/pkg/blob/main/ssa/manager_apply.go",
    ],
    mentions=["helm.toolkit.fluxcd.io"],
)
def check(source: Source, context: Context) -> Findings:
    installs = context.run_files.installs
    if not installs or any(install.by != "the HelmRelease" for install in installs):
        return
    made = [obj for obj in context.objects if isinstance(obj, (NodePool, EC2NodeClass))]
    own = [obj for obj in made if obj.source is source] if source.built is not None else made
    releases = [
        install.at for install in installs if source.built is not None or install.at.source.path == source.path
    ]
    if not own or not releases or context.run_files.is_in_files(_OTHER_CRDS, around=True):
        return
    paths = {
        path.rstrip("/")
        for file in context.run_files.files_with(_FLUX, around=True)
        for path in _PATH.findall(file.text)
    }
    for release in releases:
        together = [o for o in own if any(_applies(path, release.source.path, o) for path in paths)]
        if together:
            yield Finding(
                at=together[0].name_node if source.built is not None else release,
                message="this object is applied together with the HelmRelease that installs its CRDs"
                if source.built is not None
                else "this HelmRelease is applied together with NodePools, whose CRDs it installs",
                note="in a new cluster the kind does not exist yet: the dry run fails, and Flux applies neither",
                help="move the objects to a Kustomization of their own, with `dependsOn`",
                once=True,
            )
            return


def _applies(path: str, release: str, obj: Object) -> bool:
    """Return whether a Flux Kustomization for the folder `path` applies both the object and the file of the
    HelmRelease.
    """
    built = obj.source.built
    if built is not None:
        return built.cluster.endswith(f"/{path}") and os.path.abspath(release) in built.parts
    before, found, _ = os.path.abspath(obj.source.path).partition(f"/{path}/")
    return bool(found) and os.path.abspath(release).startswith(f"{before}/{path}/")
