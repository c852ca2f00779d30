r"""A NodePool launches reserved capacity only, and no reservation of its class has a free instance.

Karpenter uses a capacity reservation as long as it has free instances. A NodePool with only
`karpenter.sh/capacity-type In [reserved]` can use nothing else: while its reservations are full, its pods stay
Pending. If you also allow `on-demand`, Karpenter still tries the reservation first.

The count is EC2's count at the time of the facts. Nodes of the NodePool itself also fill a reservation. If the pool
should stop when the reservation is full, suppress the finding. The rule ignores reservations that end so soon that
Karpenter launches nothing in them.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az1, tags: {karpenter.sh/discovery: main}}
capacityReservations:
  - {id: cr-0a1b2c3d4e5f60718, type: p5.48xlarge, zone: us-east-1a, free: 0, tags: {team: ml}}
```

```yaml bad frame=pool+class
metadata.name: ml
spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: ml}
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [reserved]}
---
metadata.name: ml
spec.capacityReservationSelectorTerms: [{tags: {team: ml}}]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [reserved, on-demand]}
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    Skip,
    keys,
    messages,
    pool_requirements,
    rule,
    selectors,
)


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "not-offered"],
    mentions=["reserved"],
    subject="spot",
    source=[
        "provider:pkg/providers/instancetype/offering/reserved_capacity_resolver.go@v1.14.1:48",
        "https://karpenter.sh/docs/concepts/nodeclasses/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    requirement = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    if requirement is None or "reserved" not in requirement.texts:
        return
    resolution = context.resolution(pool)
    node_class = resolution.node_class
    if node_class is None or resolution.capacity_types != ("reserved",):
        return
    finds = selectors.reservations_of(node_class, context.facts, context.karpenter)
    found = finds.everything()
    if finds.at is None or not found:
        if found is None:
            yield Skip(
                pool_requirements.values_at(requirement), "a term for capacity reservations contains a placeholder"
            )
        return
    takes = [
        reservation for reservation in found if resolution.catalog.only(reservation.type) & resolution.candidates
    ]
    if takes and not any(reservation.free for reservation in takes):
        ids = messages.short(", ".join(reservation.id for reservation in takes), 48)
        yield Finding(
            at=pool_requirements.values_at(requirement),
            message=f"the NodePool allows only reserved capacity, and `{ids}` had no free instance",
            note="while the reservation is full, no node launches and pods stay Pending",
            help="add `on-demand`, which Karpenter uses when the reservation is full, or reserve more instances",
            also=[Also(finds.at, f"finds `{ids}`")],
        )
