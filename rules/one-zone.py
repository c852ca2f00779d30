"""A NodePool that allows a single availability zone: when it fails or is out of capacity, nothing starts.

Most zones run out of one instance type or another now and then, of spot capacity often. A pool of one zone waits
until it is back. It may be meant: for volumes that live in one zone, for a placement group, to save traffic between
zones, or as one of several pools, each with a zone of its own; of these the rule says nothing.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b, eu-west-1c]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, keys, labels, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["unknown-value", "value-of-another-key"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    zone, item = _zone(pool)
    if zone is None or item is None or pool.partial:
        return
    others = {_zone(other)[0] for other in context.beside(pool)}
    if others - {None, zone}:
        return
    node_class = context.node_class(pool)
    if node_class is not None and node_class.node.at("spec", "placementGroupSelector") is not None:
        return
    yield Finding(
        at=labels.values_at(item),
        message=f"`{zone}` is the only zone: nothing starts while it fails or has no capacity",
        help="allow the other zones of the subnets, or give each zone a NodePool of its own",
    )


def _zone(pool: NodePool) -> tuple[str | None, labels.PoolRequirement | None]:
    """The one zone that a pool allows."""
    for item in labels.asked(pool):
        if item.key in (keys.ZONE, keys.ZONE_ID) and item.operator == "In" and item.known and len(item.texts) == 1:
            return str(item.texts[0]), item
    return None, None
