r"""A well-known label has a value that no instance type and no offering has, so it never matches.

Karpenter compares values as text: `on_demand` is not `on-demand`, `x86_64` is not `amd64`. If a list also has values
that exist, such a value has no effect. This is a warning, because the value may be for a future or a retired type. If
a list has only such values, the NodePool has no instance type. This is an error. For a family of the newest
generation, or a size of the last two generations, it is a warning, because nodelint may not know it yet. If the
catalogue is older than 60 days, a size such as `112xlarge` and a family of an unknown category are warnings as well.
A `NotIn` of such a value excludes nothing. A text that is not a valid label value, such as `c7i flex`, is always an
error: the NodePool never becomes ready.

Families, sizes and types come from the bundled catalogue. The message names its date. Zones and their ids come from a
table of the regions. Of a region that is not in the table, and of Local Zones, nodelint checks only the form. A zone
of the next letters or numbers is a warning, because AWS may have added it.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot", "on_demand"]
  - key: kubernetes.io/arch
    operator: In
    values: ["x86_64"] # as uname says
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i.flex, 'm7i-flex']}
  - {key: node.kubernetes.io/instance-type, operator: NotIn, values: [m7i-flex.lage]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: topology.kubernetes.io/zone, operator: In, values: [us-east1-a, us-east-1b, US-EAST-1C]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values:
      - m5.huge
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values:
      - m5.24xlarge
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    Suggestion,
    controller,
    edits,
    fixes,
    keys,
    labels,
    manifest,
    messages,
    pool_requirements,
    rule,
    type_names,
)

MOST_SHOWN = 20

MOST_VALUES = 8
"""The most values of a key that a message lists."""


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=[
        "wildcard-value",
        "value-of-another-key",
        "field-of-another-release",
        "invalid-field",
        "removed-api",
    ],
    providers=["aws", "auto-mode"],
    subject="requirements",
    source=[
        "core:pkg/controllers/provisioning/scheduling/nodeclaim.go@v1.14.0:541",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:163",
    ],
    tags=["admission"],
)
def check(pool: NodePool, context: Context) -> Findings:
    for item, slips in labels.slips_of(pool, context.catalog):
        dead = [value for value in item.values if value.text in slips]
        wholly = item.operator == "In" and item.known and len(dead) == len(item.values)
        plain = [value for value in dead if slips[str(value.text)].plain]
        told_with = {id(value) for value in plain[1:]}
        for value in dead:
            if id(value) not in told_with:
                yield _finding(item, value, wholly, context, plain[1:] if plain and value is plain[0] else ())
    for item in pool_requirements.requirements_of(pool):
        for value in item.values if item.operator == "In" else ():
            if labels.is_newer_zone(item.key, str(value.text)):
                yield _find_newer_zone(item, value)


def _find_newer_zone(item: pool_requirements.PoolRequirement, value: manifest.Value) -> Finding:
    return Finding(
        at=value.node,
        message=f"no known zone is `{value.text}`: AWS has to have added it for it to have an effect",
        severity="warning",
        help=labels.form_of(item.key, str(value.text)),
        suggestions=_drop_values(item, [value]),
    )


def _finding(
    item: pool_requirements.PoolRequirement,
    value: manifest.Value,
    wholly: bool,
    context: Context,
    others: Sequence[manifest.Value] = (),
) -> Finding:
    text = value.text if isinstance(value.text, str) else ""
    near = None if text.startswith(type_names.MAC) else labels.nearest_value(item.key, text, context.catalog)
    first = labels.since(item.key, text)
    unit = labels.unit_of(item.key)
    refused = controller.label_value_fault(text) is not None
    mac = item.key in (keys.INSTANCE_TYPE, keys.FAMILY) and text.startswith(type_names.MAC)
    growing = item.key in (keys.INSTANCE_TYPE, keys.FAMILY, keys.SIZE) and near is None and bool(text) and not mac
    newer = growing and item.key != keys.SIZE and type_names.is_newer_name(text, context.catalog)
    is_open = growing and context.has_old_types and type_names.may_be_new(item.key, text, context.catalog)
    newer |= is_open
    hint = None
    if mac:
        hint = "Karpenter never launches mac instances: it asks EC2 for x86_64 and arm64 only"
    elif refused and not wholly:
        hint = "the value is not a valid label value: the NodePool never becomes ready"
    elif first is not None:
        hint = f"it needs Karpenter {first}"
    elif near is None and (form := labels.form_of(item.key, text)) is not None:
        hint = form
    elif near is None and not item.is_label and (few := _few_values(item, context)):
        hint = few
    elif unit is not None:
        hint = f"{labels.name_of(item.key)} is in {unit}"
    elif near is None and not (wholly or is_open or item.is_label):
        hint = "remove the values: they have no effect" if others else "remove the value: it has no effect"
    ways = _suggest_removal(item) if wholly else _drop_values(item, [value, *others])
    shown = text if text.strip() == near else messages.short(text, 20)
    changes = _edits(item, value, near) if near is not None else _split(item, text, context)
    return Finding(
        at=value.node,
        message=_say_known(_message(item, shown, near, others), is_open),
        severity="error" if (wholly and not newer) or refused else "warning" if _matters(item, near) else "info",
        once=not _matters(item, near) and not refused,
        edits=changes,
        also=[Also(value.node, "this value does not exist either") for value in others[:MOST_SHOWN]],
        covers=[value.node for value in others],
        safety="safe" if item.operator == "In" or not any(edit.text for edit in changes) else "unsafe",
        note=_tell_date(context, is_open) if growing else None,
        help=hint,
        suggestions=[] if changes or is_open else ways,
    )


def _matters(item: pool_requirements.PoolRequirement, near: str | None) -> bool:
    """Return whether the value changes what the pool launches. An old name in a list to exclude does not."""
    return item.operator != "NotIn" or near is not None or item.key not in (keys.INSTANCE_TYPE, keys.FAMILY)


def _say_known(message: str, is_open: bool) -> str:
    """Return the message with "no known instance type" instead of "no instance type" if AWS may have added
    the value.
    """
    return message.replace("no instance type has", "no known instance type has", 1) if is_open else message


def _few_values(item: pool_requirements.PoolRequirement, context: Context) -> str | None:
    """Return a text with all values of a key. None if the key has many values, or these are not known."""
    known = labels.known_values(item.key, context.catalog) or ()
    if not 0 < len(known) <= MOST_VALUES:
        return None
    shown = ", ".join(f"`{value}`" for value in sorted(known, key=labels.natural))
    return f"the values of {labels.name_of(item.key)} are {shown}"


def _tell_date(context: Context, is_open: bool) -> str:
    """Return a text with the day of nodelint's instance types, and with how to update these."""
    open_end = "nodelint does not know whether AWS has added it since: " if is_open else ""
    known = (
        f"nodelint knows the types of {context.catalog.date}; `nodelint refresh --catalog` asks AWS for newer ones"
    )
    return f"{open_end}{known}"


def _drop_values(item: pool_requirements.PoolRequirement, values: Sequence[manifest.Value]) -> list[Suggestion]:
    """Return a suggestion to remove the values that no instance type has. Empty for a label."""
    if item.is_label:
        return []
    if len(values) == len(item.values):
        return _suggest_removal(item)
    gone = edits.if_editable(edits.remove_all, [value.node for value in values])
    named = f"remove `{values[0].text}`" if len(values) == 1 else f"remove the {len(values)} values"
    return [Suggestion(named, gone)] if gone else []


def _suggest_removal(item: pool_requirements.PoolRequirement) -> list[Suggestion]:
    """Return a suggestion to remove a requirement that no instance type meets. Empty for a label."""
    line = item.at.node if not item.is_label else None
    changes = edits.if_editable(edits.remove, line) if line is not None else []
    return [Suggestion("remove the requirement", changes)] if changes else []


def _message(
    item: pool_requirements.PoolRequirement,
    text: str,
    near: str | None,
    others: Sequence[manifest.Value],
) -> str:
    """Return the message that no instance type has a value, with the value that was probably meant."""
    name = labels.name_of(item.key)
    meant = f" (did you mean `{near}`?)" if near is not None else ""
    if near is not None and text.strip() == near and text != near:
        return f"`{text}` has a blank at its {'start' if text[:1].isspace() else 'end'}: {name} is `{near}`"
    end = " to exclude" if item.operator == "NotIn" else ""
    shown = f"`{text}`" if text else "an empty value"
    message = f"no instance type has {name} {shown}"
    if others:
        listed = ", ".join(f"`{value.text}`" for value in others[:MOST_SHOWN])
        few = f"or {len(others)} other values of this list"
        whole = [f"{message}, {listed}{end}"] if len(others) <= MOST_SHOWN else []
        return messages.first_fitting(*whole, f"{message} {few}{end}", f"{message} {few}")
    return messages.first_fitting(
        f"{message}{end}{meant}", f"{message}{meant}", f"{message}{end}", f"no {name} is {shown}{meant}"
    )


def _split(item: pool_requirements.PoolRequirement, text: str, context: Context) -> list[Edit]:
    """Return edits that split a text such as `c,m,r` into separate values.

    Empty unless instance types may have each value.
    """
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 or not all(parts) or labels.slips_among(item.key, parts, context.catalog):
        return []
    values = item.values[0].node.parent
    return fixes.split_values(values) if values is not None and values.kind == "sequence" else []


def _edits(item: pool_requirements.PoolRequirement, value: manifest.Value, near: str) -> list[Edit]:
    """Return edits that replace a wrong value by the similar right one.

    If the list already has the right value, remove the wrong one.
    """
    if near in item.texts:
        return edits.if_editable(edits.remove, value.node)
    return edits.if_editable(edits.set_value, value.node, near)
