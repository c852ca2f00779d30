r"""A NodePool lists values that exist, but that never match together with its other requirements.

An instance type must meet every requirement. `t` in `instance-category` together with
`instance-generation In 5, 6, 7` matches nothing, because `t` types have the generations 1 to 4 and 8. `c7g` is arm64
and matches nothing together with `kubernetes.io/arch In [amd64]`. The pool works with the other values, but seems to
have more choice than it has. `reserved` matches nothing if the class selects no capacity reservation.

The finding names the requirement that excludes the values. If nodelint knows a type only from AWS and not from its
catalogue, it does not report a value that the type may have. If another rule reports a requirement that no type meets
(`c5` in `instance-category`), this rule compares only the others. The fix removes the values from the list. It is
unsafe, because the other requirement may be the wrong one.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r", "t"]
  - key: karpenter.k8s.aws/instance-generation
    operator: In
    values: ["5", "6", "7"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7g, c7i, m7g, m7i]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [large, 2xlarge, 3xlarge]}
```

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [reserved, on-demand]}
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    TypeSet,
    edits,
    fixes,
    keys,
    labels,
    manifest,
    messages,
    pool_requirements,
    releases,
    requirement,
    resolve,
    rule,
    type_names,
)

_EXAMPLES = 3
"""The most instance families that a help names."""


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=[
        "no-instance-type",
        "unknown-value",
        "value-of-another-key",
        "wildcard-value",
        "not-offered",
        "too-few-values",
        "invalid-field",
        "refused-combination",
        "removed-api",
    ],
    providers=["aws", "auto-mode"],
    renamed=("dead-value",),
    subject="requirements",
    source="core:pkg/controllers/provisioning/scheduling/nodeclaim.go@v1.14.0:541",
)
def check(pool: NodePool, context: Context) -> Findings:
    if not any(line.operator == "In" and len(line.values) > 1 for line in pool.requirements):
        return
    resolution = context.resolution(pool)
    misspelt = _misspelt(pool, context)
    if not resolution.candidates and not misspelt:
        return
    if resolution.candidates and not resolution.launchable:
        return  # no image: the values that nothing matches may be those that the class has images for
    effects = [line for line in resolution.lines if requirement.normalize(line.key) not in misspelt]
    perhaps = fixes.conditional(pool)  # a value that such a line rules out lives where the line is not written
    sound = [line for line in effects if id(line.node) not in perhaps]
    for line in effects:
        if line.operator != "In" or not line.known or not isinstance(line.at, RequirementLine):
            continue
        key = requirement.normalize(line.key)
        if key == keys.CAPACITY_TYPE:
            yield from _reserved(line.at, resolution)
        elif key in resolution.catalog.keys:
            dead = _dead(line, line.at, sound if misspelt or perhaps else None, resolution)
            if dead and len(dead) < len(line.values):
                yield _finding(line, line.at, dead, sound, resolution)


def _dead(
    line: resolve.LineEffect,
    at: RequirementLine,
    sound: Sequence[resolve.LineEffect] | None,
    resolution: resolve.Resolution,
) -> list[manifest.Value]:
    """Return the values of a list that match no instance type.

    With `sound` lines, return only values that a single one of these excludes.
    """
    known = resolution.catalog.values(requirement.normalize(line.key))
    dead = [
        value
        for value in at.values
        if not known.get(str(value.text), line.without) & line.without and not _may_be_newer(line, value, resolution)
    ]
    if sound is None:
        return dead
    others = [other.kept for other in sound if other is not line and other.requirement is not None]
    return [
        value
        for value in dead
        if any(not resolution.catalog.having_value(line.key, str(value.text)) & types for types in others)
    ]


def _may_be_newer(line: resolve.LineEffect, value: manifest.Value, resolution: resolve.Resolution) -> bool:
    """Return whether an instance type that is newer than the catalog may have a value."""
    key = requirement.normalize(line.key)
    others = [requirement for requirement in resolution.folded if requirement.key != key]
    alone = requirement.Requirement.parse(key, "In", (str(value.text),), release=resolution.version)
    return (
        type_names.newer_type((*others, alone), resolution.catalog, resolve.sizes_left_out(resolution.pool))
        is not None
    )


def _misspelt(pool: NodePool, context: Context) -> set[str]:
    """Return the keys whose list contains a misspelled value. Such a list excludes more types than intended."""
    lists = [item for item in pool_requirements.requirements_of(pool) if item.operator == "In"]
    patterned = {item.key for item in lists if labels.patterns_among(item.texts)}
    mistaken = {
        item.key
        for item, slips in labels.slips_of(pool, context.catalog)
        if item.operator == "In" and any(slip.impossible and (slip.near or slip.home) for slip in slips.values())
    }
    return set(map(requirement.normalize, patterned | mistaken))


def _advice(
    dead: Sequence[manifest.Value], reason: resolve.LineEffect | None, types: TypeSet, resolution: resolve.Resolution
) -> str:
    """Return the help: the values to remove, or the families to add instead, which have these values."""
    values = " and ".join(f"`{value.text}`" for value in dead) if len(dead) < 3 else "them"
    if reason is None:
        return f"remove {values}, or change the other requirements"
    if requirement.normalize(reason.key) != keys.FAMILY or reason.operator != "In":
        return f"remove {values}, or change the requirement on {labels.name_of(reason.key)}"
    siblings = labels.find_sibling_families(reason.values, types, resolution.catalog)[:_EXAMPLES]
    examples = f" ({', '.join(siblings)})" if siblings else ""
    return f"remove {values}, or add an instance family that has {'it' if len(dead) == 1 else 'them'}{examples}"


def _reserved(line: RequirementLine, resolution: resolve.Resolution) -> Findings:
    reserved = [value for value in line.values if value.text == "reserved"]
    if not reserved or len(line.values) == 1:
        return
    node_class, release = resolution.node_class, resolution.version
    if node_class is None or "reserved" in resolve.capacity_types(node_class, release):
        return
    if releases.behaves("reservation-terms", release):
        yield Finding(
            at=reserved[0].node,
            message="`reserved` matches nothing: the class selects no capacity reservation",
            edits=edits.if_editable(fixes.take_out, line, ("reserved",)),
            also=[Also(node_class.name_node, "no capacityReservationSelectorTerms")],
            help="add capacityReservationSelectorTerms to the class, or remove the value",
        )


def _finding(
    line: resolve.LineEffect,
    at: RequirementLine,
    dead: Sequence[manifest.Value],
    sound: Sequence[resolve.LineEffect],
    resolution: resolve.Resolution,
) -> Finding:
    types = resolution.catalog.having_value(line.key, *(str(value.text) for value in dead))
    others = [other for other in sound if other is not line and other.requirement is not None]
    reason = next((other for other in others if not other.kept & types), None)
    name = labels.name_of(line.key)
    verb = "matches" if len(dead) == 1 else "match"
    company = " together with the other requirements"
    if reason is not None:
        shown = f"{labels.name_of(reason.key)} {reason.operator} {', '.join(reason.values)}".strip()
        company = f" together with `{messages.short(shown, 40)}`"
    elif not types & resolution.alive:
        company = " in EKS Auto Mode" if resolution.pool.provider == "auto-mode" else " with this class"
    names = [f"`{value.text}`" for value in dead]
    few, subject = messages.list_first(names, 3), messages.list_first(names, 1)
    return Finding(
        at=fixes.visible_node(dead[0].node),
        message=messages.first_fitting(
            f"{few} of {name} {verb} nothing{company}", f"{subject} {verb} nothing{company}"
        ),
        edits=edits.if_editable(fixes.take_out, at, [str(value.text) for value in dead]),
        also=[Also(reason.at.key_node, f"`{messages.short(shown, 60)}`")] if reason is not None else (),
        covers=[value.node for value in dead],
        help=_advice(dead, reason, types, resolution),
    )
