r"""A NodePool requires a zone in which its class has no subnet, so no node can launch there.

Karpenter launches nodes in the zones of the subnets that the class finds. If only some zones of a requirement have no
subnet, they have no effect. This is a warning. If no zone has a subnet, the NodePool launches nothing. This is an
error. Pods that need such a zone, because of a volume or a spread over zones, stay Pending.

`topology.kubernetes.io/zone` takes names such as `us-east-1a`, and `topology.k8s.aws/zone-id` takes ids such as
`use1-az1`. The id of a name differs between accounts. nodelint uses the id of the class's own subnets.

The rule does not judge a NodePool that lists only zones of another region.

The fixes are safe: Karpenter launches no node of this class in a zone without a subnet.

There is no fix for a zone that a label sets, because a label has one value and the subnets may be in several zones.
There is no fix either if several requirements set zones, because it is not clear which one is meant.

```yaml facts
subnets:
  - {id: subnet-0a, zone: us-east-1a, zoneId: use1-az4, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-0b, zone: us-east-1b, zoneId: use1-az6, tags: {karpenter.sh/discovery: main}}
```

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - key: topology.kubernetes.io/zone
    operator: In
    values: ["us-east-1a", "us-east-1b", "us-east-1e"]
```

The next pool has a zone id where a zone name is required. Infrastructure code often returns ids:

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: topology.kubernetes.io/zone, operator: In, values: [use1-az4, use1-az6]}
```

The next pool can launch nothing, and only you know which zone was meant:

```yaml bad frame=pool+class
metadata.name: database
spec.template.metadata.labels:
  topology.kubernetes.io/zone: us-east-1c
spec.template.spec.requirements:
  - {key: topology.k8s.aws/zone-id, operator: In, values: [use1-az1, use1-az2]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}
spec.template.metadata: null
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    Skip,
    Suggestion,
    edits,
    fixes,
    keys,
    labels,
    manifest,
    messages,
    pool_requirements,
    rule,
    selectors,
    snapshot,
)


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    needs=("subnets",),
    gives_way_to=["wildcard-value"],
    subject="network",
    source="provider:pkg/providers/subnet/subnet.go@v1.14.1:130",
)
def check(pool: NodePool, context: Context) -> Findings:
    lines = [
        item
        for item in pool_requirements.requirements_of(pool)
        if item.key in (keys.ZONE, keys.ZONE_ID) and item.operator == "In" and item.texts
    ]
    if not lines:
        return
    at, node_class = lines[0].node, context.node_class(pool)
    selectors.check_region([pool], context.facts, "subnets")
    if node_class is None:
        yield Skip(at, "no file contains the class of the NodePool, so its subnets are not known")
        return
    subnets = selectors.subnets_of(node_class, context.facts).everything()
    if subnets is None:
        yield Skip(at, "a term for the subnets of the class contains a placeholder")
    elif subnets:
        for line in lines:
            yield from _line(line, subnets, context, alone=len(lines) == 1)


def _line(
    line: pool_requirements.PoolRequirement, subnets: Sequence[snapshot.Subnet], context: Context, *, alone: bool
) -> Findings:
    """Yield findings for a zone requirement: zone IDs instead of names, names instead of IDs, and zones without a
    subnet.
    """
    names = {subnet.zoneId: subnet.zone for subnet in subnets}
    ids = {subnet.zone: subnet.zoneId for subnet in subnets}
    here, meant = (ids, names) if line.key == keys.ZONE else (names, ids)
    if line.key == keys.ZONE_ID and not {_area(id) for id in line.texts} & {
        _area(id) for id in (*names, *names.values())
    }:
        yield Skip(line.node, "the zones are in another region than the facts")
        return
    dead = [value for value in line.values if isinstance(value.text, str) and value.text not in here]
    wholly = line.known and len(dead) == len(line.values)
    strays = [value for value in dead if labels.can_have(line.key, str(value.text), context.catalog) is False]
    if all(value.text in meant for value in strays):
        for value in strays:
            yield _stray(line, value, meant[str(value.text)], wholly)
    plain = [
        value
        for value in dead
        if value not in strays and not _is_reported_elsewhere(line.key, str(value.text), context)
    ]
    if wholly and len(plain) == len(line.values):
        yield _nowhere(line, sorted(here), alone)
        return
    for value in plain:
        if line.key == keys.ZONE and selectors.region_of(str(value.text)) not in (
            None,
            *map(selectors.region_of, here),
        ):
            yield Skip(value.node, f"`{value.text}` is a zone in another region than the facts")
        else:
            yield _idle(line, value, sorted(here), wholly)


def _area(zone_id: str) -> str:
    """Return the prefix of a zone ID for its region: `use1` of `use1-az1`."""
    return zone_id.partition("-")[0]


def _is_reported_elsewhere(key: str, text: str, context: Context) -> bool:
    """Return whether another rule reports this value as a pattern or a misspelling."""
    return labels.is_pattern(text) or labels.nearest_value(key, text, context.catalog) not in (None, text)


def _stray(line: pool_requirements.PoolRequirement, value: manifest.Value, meant: str, wholly: bool) -> Finding:
    kind, due = ("a zone id", "name") if line.key == keys.ZONE else ("a name", "id")
    return Finding(
        at=value.node,
        message=f"`{value.text}` is {kind}: the {due} of the zone is `{meant}`",
        severity="error" if wholly else "warning",
        edits=_remove_zone(line, value)
        if meant in line.texts
        else edits.if_editable(edits.set_value, value.node, meant),
    )


def _nowhere(line: pool_requirements.PoolRequirement, served: Sequence[str], alone: bool) -> Finding:
    zones = messages.short(", ".join(line.texts), 50)
    several = len(line.values) > 1 and isinstance(line.at, RequirementLine)
    return Finding(
        at=line.at.values_node if several and isinstance(line.at, RequirementLine) else line.values[0].node,
        message=f"the class has no subnet in {'any of ' if several else ''}`{zones}`",
        covers=[line.node, *(value.node for value in line.values)],
        note="no node launches in this zone",
        help=f"its subnets are in {_listed(served)}",
        suggestions=_suggest_served_zones(line, served) if alone else [],
    )


def _suggest_served_zones(line: pool_requirements.PoolRequirement, served: Sequence[str]) -> list[Suggestion]:
    """Return a suggestion to require the zones in which the class has subnets. Empty if the requirement is
    a label.
    """
    if not isinstance(line.at, RequirementLine):
        return []
    changes = edits.if_editable(edits.set_values, line.at.values_node, list(served))
    return [Suggestion(f"launch in {messages.short(', '.join(served), 60)}", changes)] if changes else []


def _idle(
    line: pool_requirements.PoolRequirement, value: manifest.Value, served: Sequence[str], wholly: bool
) -> Finding:
    return Finding(
        at=value.node,
        message=f"the class has no subnet in `{messages.short(str(value.text), 40)}`",
        severity="error" if wholly else "warning",
        edits=_remove_zone(line, value),
        note="no node launches in this zone",
        help=f"its subnets are in {_listed(served)}",
    )


def _remove_zone(line: pool_requirements.PoolRequirement, value: manifest.Value) -> list[Edit]:
    return edits.if_editable(fixes.drop, line.at, value) if isinstance(line.at, RequirementLine) else []


def _listed(zones: Sequence[str]) -> str:
    return messages.short(", ".join(zones), 60)
