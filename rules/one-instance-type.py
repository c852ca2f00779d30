r"""Requirements that leave a single instance type: when AWS has none of it, nothing starts.

EC2 runs short of a single type in a zone now and then, on-demand too; Karpenter then marks it unavailable for three
minutes and takes the next, if there is one. A second family of the same shape is enough. Reserved capacity is bound
to a type, and is left alone here.

```yaml bad
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
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ["m7i.xlarge"]
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["on-demand"]
```

```yaml good
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
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ["m7i.xlarge", "m7a.xlarge", "m6i.xlarge"]
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["on-demand"]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, rule


@rule(on=NodePool, group="practice", gives_way_to=["narrow-spot", "no-instance-type", "dead-value", "removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    resolution = context.resolution(pool)
    if len(resolution.launchable) != 1 or ("reserved" in resolution.capacity_types and resolution.node_class):
        return
    narrow = [line for line in resolution.lines if line.known and line.removed_alone > 0]
    best = max(narrow, key=lambda line: line.removed_alone, default=None)
    [name] = resolution.catalog.names_in(resolution.launchable)
    price = resolution.catalog.price(name)
    cost = f" (${price:,.3f} an hour)" if price is not None else ""
    yield Finding(
        at=fixes.seen(best.at.key_node) if best is not None else fixes.place(pool),
        message=f"only `{name}`{cost} remains: nothing starts while EC2 has none",
        help="allow another family of the same size",
    )
