r"""The region, or the zones of the NodePool, do not offer an instance type, family, size or category.

EC2 does not offer every type in every region or in every zone. Karpenter launches nodes in the zones in which the
class has a subnet and that the NodePool allows. If some values of a list are not offered, they have no effect. This
is a warning. If no value of the list is offered, the NodePool has no instance type. This is an error.

If another zone of the region offers the type, the note names that zone. You can then add a subnet there.

The fix removes the value from the list. It is safe, because Karpenter cannot launch such a type.

There is no fix for a type that other zones offer: add a subnet in one of them, or choose another type.

```yaml facts
zones: {us-east-1a: use1-az4, us-east-1b: use1-az6, us-east-1c: use1-az1}
absent: {us-east-1a: ["p5.*"], us-east-1b: ["p5.*"], "*": ["a1.*"]}
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az4, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az6, tags: {karpenter.sh/discovery: main}}
```

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values:
      - a1
      - m7g
      - c7g
```

The region offers the next type, but not in a zone in which the class has a subnet:

```yaml bad frame=pool+class
metadata.name: gpu
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: ["p5.48xlarge"]}
```

```yaml good frame=pool+class
metadata.name: gpu
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: ["p4d.24xlarge"]}
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    Missing,
    Node,
    NodePool,
    RequirementLine,
    Severity,
    Skip,
    TypeSet,
    edits,
    fixes,
    keys,
    manifest,
    messages,
    pool_requirements,
    rule,
    selectors,
)

CATEGORY = "karpenter.k8s.aws/instance-category"
WORDS = {keys.INSTANCE_TYPE: "", keys.FAMILY: "family ", keys.SIZE: "size ", CATEGORY: "category "}


class Place:
    """The zones in which a NodePool can launch nodes: the instance types offered in these zones, a phrase for the
    zones, and the nodes of the lines that restrict them.
    """

    def __init__(self, types: TypeSet, where: str, lines: list[Node]) -> None:
        self.types = types
        self.where = where
        self.lines = lines


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    needs=("offerings", "instance-types"),
    subject="instance types",
    source=[
        "provider:pkg/providers/instancetype/instancetype.go@v1.14.1:302",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-discovery.html",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    lines = [
        item
        for item in pool_requirements.requirements_of(pool)
        if item.key in WORDS and item.operator == "In" and item.texts
    ]
    if not lines:
        return
    selectors.check_region([pool], context.facts, "offerings")
    offers, node_class, subnets = context.facts.offerings, context.node_class(pool), None
    try:
        subnets = selectors.subnets_of(node_class, context.facts).everything() if node_class is not None else None
    except Missing as missing:
        yield Skip(lines[0].node, missing.reason, missing.transient, missing.kind)
    left = selectors.zones_left(pool, subnets or ())
    narrowed = len(left) < len({subnet.zone for subnet in subnets or ()})
    # If no zone is known, all zones of the region count: a type that none of them offers is offered nowhere.
    here = {name for name, offer in offers.items() if not left or not left.keys().isdisjoint(offer.zones)}
    place = Place(
        context.catalog.types_of(here),
        f"in the zones {'left' if narrowed else 'of the subnets'} ({', '.join(left)})",
        [item.node for item in pool_requirements.requirements_of(pool) if item.key in (keys.ZONE, keys.ZONE_ID)]
        if narrowed
        else [],
    )
    for line in lines:
        yield from _line(line, place, context)


def _line(line: pool_requirements.PoolRequirement, place: Place, context: Context) -> Findings:
    """Yield a finding for each value of a requirement of which no instance type is offered.

    If all values are such, yield one finding for all.
    """
    types = context.catalog.values(line.key)
    dead = [value for value in line.values if value.text in types and not types[str(value.text)] & place.types]
    living = any(
        not isinstance(value.text, str) or (value.text in types and value not in dead) for value in line.values
    )
    if not living and len(dead) == len(line.values) > 1:
        yield _finding(line, dead, place, "error", context)
        return
    for value in dead:
        yield _finding(line, [value], place, "warning" if living else "error", context)


def _finding(
    line: pool_requirements.PoolRequirement,
    dead: list[manifest.Value],
    place: Place,
    severity: Severity,
    context: Context,
) -> Finding:
    facts = context.facts
    texts = [str(value.text) for value in dead]
    names = context.catalog.names_in(context.catalog.having_value(line.key, *texts))
    sold = sorted({zone for name in names if name in facts.offerings for zone in facts.offerings[name].zones})
    region = facts.region.name if facts.region is not None else "the region"
    where = place.where if sold else f"in {region}"
    what = f"`{messages.short(', '.join(texts), 40)}`"
    sentence = f"{WORDS[line.key]}{what} is not offered" if len(dead) == 1 else f"none of {what} is offered"
    at = line.at if isinstance(line.at, RequirementLine) else None
    return Finding(
        at=at.values_node if at is not None and len(dead) > 1 else dead[0].node,
        message=messages.first_fitting(f"{sentence} {where}", f"{sentence} {where.partition(' (')[0]}"),
        severity=severity,
        edits=edits.if_editable(fixes.drop, at, dead[0]) if at is not None and severity == "warning" else (),
        covers=[line.node, *(value.node for value in dead), *(place.lines if sold else ())]
        if severity == "error"
        else (),
        help=f"EC2 offers it in {messages.short(', '.join(sold), 60)}" if sold else None,
    )
