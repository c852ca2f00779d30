"""A NodePool allows one availability zone only, so nothing starts if the zone fails or has no capacity.

Most zones sometimes run out of one instance type or another, and often of spot capacity. A pool of one zone waits
until the zone has capacity again. One zone can be right: for volumes in one zone, for a placement group, to save
traffic between zones, or if each of several pools has its own zone. The rule does not report those. If a class
selects a single subnet by its id, its pools launch only in the zone of that subnet.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b, eu-west-1c]}
```

```yaml bad frame=class
spec.subnetSelectorTerms:
  - id: subnet-0a1b2c3d4e5f60718
```

```yaml good frame=bad
spec.subnetSelectorTerms:
  - id: subnet-0a1b2c3d4e5f60718
  - id: subnet-0b1c2d3e4f5061728
```
"""

import os

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    NodePool,
    Object,
    keys,
    pool_requirements,
    rule,
)


@rule(
    on=Object,
    group="practice",
    severity="info",
    gives_way_to=["unknown-value", "value-of-another-key"],
    providers=["aws", "auto-mode"],
    subject="instance types",
    source="https://docs.aws.amazon.com/eks/latest/best-practices/reliability.html",
)
def check(obj: Object, context: Context) -> Findings:
    if isinstance(obj, NodePool):
        yield from _of_pool(obj, context)
    elif isinstance(obj, EC2NodeClass):
        yield from _of_class(obj, context)


def _of_pool(pool: NodePool, context: Context) -> Findings:
    zone, item = _zone(pool)
    if zone is None or item is None or pool.partial:
        return
    others = {_zone(other)[0] for other in context.cluster_pools(pool)}
    if others - {None, zone}:
        return
    node_class = context.node_class(pool)
    if node_class is not None and node_class.node.find("spec", "placementGroupSelector") is not None:
        return
    yield Finding(
        at=pool_requirements.values_at(item),
        message=f"`{zone}` is the only zone: nothing starts while it fails or has no capacity",
        help="allow the other zones of the subnets, or use one NodePool for each zone",
    )


def _zone(pool: NodePool) -> tuple[str | None, pool_requirements.PoolRequirement | None]:
    """Return the one zone that a pool allows, and its requirement. (None, None) if the pool allows several zones, or
    the zones are not known.
    """
    for item in pool_requirements.requirements_of(pool):
        if item.key in (keys.ZONE, keys.ZONE_ID) and item.operator == "In" and item.known and len(item.texts) == 1:
            return str(item.texts[0]), item
    return None, None


def _of_class(node_class: EC2NodeClass, context: Context) -> Findings:
    subnet = _subnet(node_class)
    if subnet is None or node_class.node.find("spec", "placementGroupSelector") is not None:
        return
    folder = os.path.dirname(node_class.source.path)
    for other in context.classes:
        theirs = _subnet(other) if os.path.dirname(other.source.path) == folder else None
        if theirs is not None and theirs.unquoted != subnet.unquoted and _alike(node_class, other, context):
            return
    yield Finding(
        at=subnet,
        message="the class has one subnet in one zone: nothing starts while the zone fails or has no capacity",
        help="select subnets of several zones, or use one class and one NodePool for each zone",
    )


def _subnet(node_class: EC2NodeClass) -> Node | None:
    """Return the node of the subnet ID of a class that selects exactly one subnet by ID, else None."""
    terms = node_class.subnet_terms_node
    if terms is None or len(terms.items) != 1 or not (node_class.of_values or not node_class.partial):
        return None
    subnet = terms.items[0].get("id")
    if subnet is None or subnet.kind != "scalar":
        return None
    written = isinstance(subnet.value, str) and subnet.value.startswith("subnet-")
    return subnet if written or (node_class.of_values and subnet.unquoted.endswith("]}")) else None


def _alike(node_class: EC2NodeClass, other: EC2NodeClass, context: Context) -> bool:
    """Return whether NodePools of two classes may launch the same instance types.

    True if the NodePools of a class are not known.
    """
    ours, theirs = (context.pools(node_class) or context.chart_pair(node_class) for node_class in (node_class, other))
    if not ours or not theirs:
        return True
    return any(context.resolution(a).candidates & context.resolution(b).candidates for a in ours for b in theirs)
