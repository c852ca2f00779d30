"""Before Karpenter 1.7.0 the controller logs `no instance types found` for a while after each start.

These releases ask EC2 for the instance types after the controllers have started. Until the answer is there,
NodePools count as not ready and the log holds errors, for seconds to minutes. It passes by itself and says nothing
about the manifests. It matters where a pipeline waits for a NodePool to be ready right after an upgrade or a
restart, or where an alert counts errors in the log: let them wait for a few minutes. 1.7.0 fills the list before the
controllers start; no older line got the change.

It is a fact about the release, so it is reported once in a run, at the first NodePool. `nodelint triage` tells the
message in a log from others of its kind.

```yaml bad karpenter=1.6.8
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
```

```yaml good karpenter=1.7.0
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, manifest, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    releases="<1.7.0",
    subject="migration",
    source="https://karpenter.sh/docs/upgrading/upgrade-guide/",
)
def check(pool: NodePool, context: Context) -> Findings:
    pools = (o for o in context.objects if isinstance(o, NodePool) and manifest.served(o, context.karpenter))
    if next(pools, None) is pool:
        yield Finding(
            at=pool.name_node,
            message=f"after each start, Karpenter {context.karpenter} logs `no instance types found` for a while",
            note="the error passes by itself",
            help="delay readiness checks and alerts, or upgrade to 1.7.0",
        )
