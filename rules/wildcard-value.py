r"""A requirement has a value with a wildcard, such as `*` or `c7*`, but Karpenter has no wildcards.

Karpenter compares values as text, and `*` is not a valid label value. The API server accepts the NodePool, but
Karpenter's controller rejects it: the pool never becomes ready and launches nothing. This is true for every release
and every operator.

`In ["*"]` means `operator: Exists`. The fix converts patterns of instance types to the right label: `m5.*` becomes
`instance-family In ["m5"]`, `*.large` becomes `instance-size In ["large"]`. It replaces any other pattern by the
matching values of the instance types that the pool's other requirements allow. nodelint does not know the values of
zones and custom labels offline, so for those it replaces only `*`.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["*"]
  - key: kubernetes.io/arch
    operator: In
    values: ["amd64"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c7*]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values:
      - "m5.*"
      - "m6i.4xlarge" # reserved until spring
  - key: karpenter.k8s.aws/instance-cpu
    operator: Lt
    values:
      - "33"
```
"""

from collections.abc import Collection

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    TypeSet,
    catalog,
    edits,
    keys,
    labels,
    messages,
    pool_requirements,
    requirement,
    resolve,
    rule,
)

_MOST_LISTED = 6
"""The most values that replace `*`. If there are more, the requirement becomes `Exists`."""


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["removed-api", "flex-preference"],
    providers=["aws", "auto-mode"],
    subject="requirements",
    source=[
        "core:pkg/scheduling/requirement.go@v1.14.0:275",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
    cel=(
        "object.spec.template.spec.requirements.all(r, !has(r.values) || r.operator in ['Gt', 'Lt', "
        "'Gte', 'Lte'] || r.values.all(v, !v.contains('*') && !v.contains('?') && (!v.contains('[') || "
        "!v.contains(']'))))"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    for line in pool.requirements:
        patterns = _patterns(line)
        if not patterns or not isinstance(line.operator, str) or line.operator in ("Gt", "Lt", "Gte", "Lte"):
            continue
        shown = messages.short(patterns[0], 20)
        first, *more = [value.node for value in line.values if value.text in patterns]
        changes, hint = _fix(pool, line, context)
        yield Finding(
            at=first,
            message=f"`{shown}` is not a valid label value: Karpenter has no wildcards",
            edits=changes,
            also=[Also(node, "this is also a wildcard") for node in more],
            covers=more,
            note="the NodePool never becomes ready and launches nothing",
            help=hint,
        )


def _meant_key(pool: NodePool, line: RequirementLine, context: Context) -> str | None:
    """Return the known key that a misspelled key of a line means. None if the key may be a custom label."""
    own = [item for item in pool_requirements.requirements_of(pool) if item.node is line.node]
    near = labels.nearest_key(own[0], context.catalog) if own else None
    return None if near is None else near.key


def _patterns(line: RequirementLine) -> list[str]:
    return labels.patterns_among(line.texts)


def _fix(pool: NodePool, line: RequirementLine, context: Context) -> tuple[list[Edit], str | None]:
    """Return the edits that replace the patterns, and a help.

    Without edits, the help says what the author has to decide.
    """
    values, operator = line.node.get("values"), line.node.get("operator")
    if values is None or operator is None or not isinstance(line.key, str) or not line.known:
        return [], None
    key = pool_requirements.asks(pool, line.key)
    everything = any(text in labels.EVERYTHING for text in line.texts)
    try:
        if line.operator in ("Exists", "DoesNotExist"):
            return edits.remove(values), f"`{line.operator}` takes no values"
        if everything and line.operator == "NotIn":
            return [], "this excludes every value: list the values to exclude"
        known = labels.known_values(key, context.catalog)
        if everything and (len(line.texts) == 1 or known is None or len(known) > _MOST_LISTED):
            return [*edits.set_value(operator, "Exists"), *edits.remove(values)], None
        new = _written_out(pool, line, key, context)
        if new is None and known is None and (meant := _meant_key(pool, line, context)) is not None:
            return [], f"correct the key first: nodelint knows the values of `{meant}`"
        if new is None and known is None:
            return [], f"nodelint does not know the values of {labels.name_of(key)} offline: list them"
        if new is None and not _allowed(pool, line, key, context):
            return [], _why_none(line, key, context.resolution(pool))
        if new is None:
            return (
                [],
                f"the other requirements exclude each {labels.name_of(key)} that matches: list the values you need",
            )
        broader = _broader(line, key, context)
        if broader is not None:
            wanted = pool_requirements.key_in_domain(pool, broader[0])
            return [*edits.set_value(line.key_node, wanted), *edits.set_values(values, broader[1])], None
        return edits.set_values(values, new), None
    except edits.NotEditable as why:
        return [], f"fix it by hand: {why.reason}"


def _why_none(line: RequirementLine, key: str, resolution: resolve.Resolution) -> str:
    """Return what to fix first if no value can replace a wildcard: the class, or the other requirements."""
    if resolution.alive:
        return f"no {labels.name_of(key).replace('-', ' ')} meets the other requirements: correct those first"
    first = "the class allows no instance type: fix its errors first"
    meant = line.texts[0].removesuffix(".*")
    known = meant in (labels.known_values(key, resolution.catalog) or ())
    return f"{first}; `{messages.short(line.texts[0], 20)}` probably means `{meant}`" if known else first


def _written_out(pool: NodePool, line: RequirementLine, key: str, context: Context) -> list[str] | None:
    """Return the values of a line with each pattern replaced by its matches. None if a pattern matches nothing."""
    allowed = _allowed(pool, line, key, context)
    known = labels.known_values(key, context.catalog) or ()
    new: list[str] = []
    for text in line.texts:
        found = [text]
        if labels.is_pattern(text):
            found = _one_family(text, key, known) or labels.standing_for(text, allowed)
            if not found and line.operator == "NotIn":
                found = labels.standing_for(text, known)
            if not found:
                return None
        new += [value for value in found if value not in new]
    return new


def _one_family(text: str, key: str, known: Collection[str]) -> list[str]:
    """Return the family that a pattern such as `m5.*` means in a list of families. Empty for other patterns."""
    name, dot, rest = text.removeprefix("^").replace("\\.", ".").partition(".")
    return [name] if key == keys.FAMILY and dot and rest in ("*", "+", "") and name in known else []


def _broader(line: RequirementLine, key: str, context: Context) -> tuple[str, list[str]] | None:
    """Return the label and the values to use instead of patterns of instance types: `m5.*` is the family m5,
    `*.large` the size large.

    None if a value is a single instance type, or the list has a minValues.
    """
    if key != keys.INSTANCE_TYPE or line.min_values is not None:
        return None
    parts = [text.removeprefix("^").replace("\\.", ".").partition(".") for text in line.texts]
    ends = ("*", ".*", ".+")
    if all(right in ends for _, _, right in parts):
        wanted, found = keys.FAMILY, [left for left, _, _ in parts]
    elif all(left == "*" for left, _, _ in parts):
        wanted, found = keys.SIZE, [right for _, _, right in parts]
    else:
        return None
    known = context.catalog.values(wanted)
    return (wanted, found) if all(value in known for value in found) else None


def _allowed(pool: NodePool, line: RequirementLine, key: str, context: Context) -> list[str]:
    """Return the values of the line's key that the pool's other requirements allow, with patterns of these replaced
    by their matches.
    """
    resolution = context.resolution(pool)
    known = resolution.catalog
    if key == keys.CAPACITY_TYPE:
        return list(resolve.capacity_types(resolution.node_class, context.karpenter))
    if key not in known.keys:
        return list(labels.known_values(key, known) or ())
    left = resolution.left_without(*_with_patterns(resolution))
    node_class = context.node_class(pool)
    if not left and node_class is not None and context.problems(node_class):
        left = _left_of_any_class(resolution)
    for other in pool.requirements:
        meant = None if other is line else _expand_patterns(pool, other, known)
        if meant is not None:
            left &= known.select(meant)
    return [value for value, types in known.values(key).items() if types & left]


def _left_of_any_class(resolution: resolve.Resolution) -> TypeSet:
    """Return the instance types that the requirements without patterns allow, without regard to the class."""
    patterns = _with_patterns(resolution)
    rest = [line.requirement for line in resolution.lines if line.requirement and line not in patterns]
    return resolution.supply.keeping(requirement.Requirements(rest))


def _expand_patterns(pool: NodePool, line: RequirementLine, types: catalog.Catalog) -> requirement.Requirement | None:
    """Return a requirement with its patterns replaced by their matches. None if the requirement has no patterns."""
    if not _patterns(line) or not isinstance(line.key, str) or line.operator not in ("In", "NotIn"):
        return None
    key = pool_requirements.asks(pool, line.key)
    known = labels.known_values(key, types)
    if known is None or not line.known:
        return None
    meant = [value for text in line.texts for value in (labels.standing_for(text, known) or [text])]
    return requirement.Requirement.parse(key, line.operator, meant)


def _with_patterns(resolution: resolve.Resolution) -> list[resolve.LineEffect]:
    return [effect for effect in resolution.lines if any(map(labels.is_pattern, effect.values))]
