r"""A class selects capacity reservations, but no NodePool of the class may use them.

Karpenter launches a node into a selected reservation only with the capacity type `reserved`. If a NodePool allows
only `on-demand` or `spot`, Karpenter launches nodes outside of every reservation, and you pay for the nodes and for
the reservation. If you add `reserved`, Karpenter uses the reservation first. If the reservation is full, it uses
the other capacity types. The same is true for EKS Auto Mode, which does not use open reservations once a class
selects some.

The rule reports nothing if another NodePool of the class may use reserved capacity. Before 1.6.0 it also reports
nothing: the feature gate ReservedCapacity is off by default, Karpenter does not read the terms, and nodes use open
reservations by themselves.

```yaml bad frame=pool+class
metadata.name: training
spec.template.spec.nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: training}
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [p5]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
spec.template.spec.taints:
  - {key: nvidia.com/gpu, effect: NoSchedule}
---
metadata.name: training
spec.capacityReservationSelectorTerms: [{tags: {purpose: training}}]
```
"""

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    Object,
    RequirementLine,
    edits,
    keys,
    pool_requirements,
    rule,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    releases=">=1.6.0",
    gives_way_to=["no-instance-type", "unknown-value"],
    providers=["aws", "auto-mode"],
    subject="spot",
    source=[
        "provider:pkg/providers/launchtemplate/types.go@v1.6.0:144",
        "provider:pkg/providers/instancetype/offering/offering.go@v1.5.0:145",
    ],
    mentions=["capacity-type"],
)
def check(pool: NodePool, context: Context) -> Findings:
    requirement = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    if requirement is None or pool.partial or pool.class_ref is None or "reserved" in requirement.texts:
        return
    cls, pools = _group(pool, context)
    terms = cls.node.find("spec", "capacityReservationSelectorTerms") if cls is not None else None
    if cls is None or terms is None or not terms.items or pools[:1] != [pool]:
        return
    if any("reserved" in context.resolution(other_pool).capacity_types for other_pool in pools):
        return
    others = [
        found
        for other_pool in pools[1:]
        if (found := pool_requirements.find_last_requirement(other_pool, keys.CAPACITY_TYPE)) is not None
    ]
    yield Finding(
        at=pool_requirements.values_at(requirement),
        message="the requirements exclude `reserved`: Karpenter never uses the class's capacity reservations",
        edits=edits.if_editable(_allow, requirement.at) if len(pools) == 1 else (),
        note="Karpenter launches other nodes, and you pay for both",
        help="add `reserved`: Karpenter tries it first, and uses the other values when the reservations are full",
        also=[
            Also(terms, "selects them"),
            *(Also(requirement.node, "does not allow it either") for requirement in others),
        ],
    )


def _group(pool: NodePool, context: Context) -> tuple[Object | None, list[NodePool]]:
    """Return the class of a pool, or None, and all pools of this class."""
    if pool.foreign:
        found = context.foreign_group(pool)
        return (found[0] if found else None), [obj for obj in found if isinstance(obj, NodePool)]
    cls = context.node_class(pool)
    return cls, context.pools(cls) if cls is not None else []


def _allow(at: object) -> list[Edit]:
    if not isinstance(at, RequirementLine) or at.operator != "In" or not at.known:
        raise edits.NotEditable("it is no list of values")
    return edits.set_values(at.values_node, ["reserved", *at.texts])
