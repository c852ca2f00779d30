"""`settings.clusterEndpoint` is a name that resolves only inside the cluster, so nodes never join.

Karpenter writes the endpoint into the user data of each node. The node needs the endpoint before it is part of the
cluster, and there `kubernetes.default.svc` does not resolve. Instances start but never join. The name is often copied
from `destination.server` of Argo CD.

```yaml bad
# file: karpenter.yaml
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: karpenter
spec:
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.14.1
    helm:
      parameters:
        - {name: settings.clusterName, value: main}
        - {name: settings.clusterEndpoint, value: "https://kubernetes.default.svc"}
```

```yaml good diff=bad
-        - {name: settings.clusterEndpoint, value: "https://kubernetes.default.svc"}
```
"""

import re

from nodelint.api import Context, Finding, Findings, Source, controller_settings, messages, rule

_INSIDE = re.compile(
    r"(?i)(?:https?://)?(?:kubernetes(?:\.default(?:\.svc)?)?|[\w.-]+\.svc|[\w.-]+\.cluster\.local|localhost|127\.0\.0\.1)"
    r"(?::\d+)?/?"
)


@rule(
    on=Source,
    group="correctness",
    subject="objects",
    severity="warning",
    source=[
        "provider:pkg/operator/options/options.go@v1.14.0:55",
        "https://karpenter.sh/docs/reference/settings/",
    ],
    mentions=controller_settings.MENTIONS,
    tags=["installation"],
)
def check(source: Source, context: Context) -> Findings:
    places = set()
    for install in context.run_files.installs_in(source):
        for setting in install.find("CLUSTER_ENDPOINT"):
            at = controller_settings.place_in(source, context.files, install, setting.node)
            if at is None or at.start in places or not _INSIDE.fullmatch(setting.value):
                continue
            places.add(at.start)
            yield Finding(
                at=at,
                message=f"`{messages.short(setting.value, 60)}` resolves only in the cluster: nodes never join",
                help="write the endpoint of the EKS API server, or remove the setting: Karpenter then asks EKS "
                "for it",
            )
