r"""A list names flex families first, as if the order were a preference: Karpenter ignores the order.

The values of a requirement are a set. Karpenter launches the cheapest instance type that fits, wherever it is in the
list. For spot, EC2 considers price and capacity. `"*"` is not a wildcard but an invalid value: with it the pool never
becomes ready. To state a preference, use two NodePools of different `weight`: Karpenter tries the higher weight
first. The rule reports nothing if a NodePool with flex types alone is next to the one with the list.

The fix copies the pool, with the same taints, labels, limits and disruption. Since Karpenter 1.7.0 the label
`karpenter.k8s.aws/instance-capability-flex` separates the two pools. Before, the names of the families do. Limits
apply to each pool by itself. If the pool works today, the fix is unsafe: Karpenter replaces nodes that do not have
the label yet, or that now belong to the other pool.

```yaml bad frame=pool
spec.template.metadata.labels.team: web
spec.template.spec.nodeClassRef:
  group: karpenter.k8s.aws
  kind: EC2NodeClass
  name: default
spec.template.spec.requirements:
  # cheap first, anything else after
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["c7i-flex", "*"]
  - key: kubernetes.io/arch
    operator: In
    values: ["amd64"]
spec.limits.cpu: 1000
```

```yaml bad karpenter=1.6.0
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  weight: 20
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex, m7i-flex, c7i, m7i]}
```

```yaml bad frame=pool
metadata.name: web
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values:
      - c7i-flex.large # preferred
      - c7i.large
```
"""

from collections.abc import Callable

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    Source,
    Suggestion,
    edits,
    keys,
    labels,
    messages,
    objects,
    pool_requirements,
    requirement,
    resolve,
    rule,
)

_HEAVIEST = 100
_STEP = 10
_LONGEST_NAME = 63


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["removed-api"],
    subject="instance types",
    source=[
        "core:pkg/cloudprovider/types.go@v1.14.0:336",
        "core:pkg/utils/nodepool/nodepool.go@v1.14.0:161",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    for index, line in enumerate(pool.requirements):
        count = resolve.leading_flex(line, context.catalog)
        if not count:
            continue
        stars = [value.node for value in line.values if value.text in labels.EVERYTHING]
        if any(_is_fallback_of(pool, other, context) for other in context.cluster_pools(pool)):
            return
        broken = any(labels.is_pattern(text) for other_line in pool.requirements for text in other_line.texts)
        first = messages.short(line.texts[0], 24)
        changes = _two_pools(pool, index, count, context)
        if stars and not changes:
            continue  # the pattern alone is what can be mended
        yield Finding(
            at=line.values[0].node,
            message=f"values are a set: Karpenter does not try `{first}` first",
            severity="error" if stars else "info",
            edits=changes,
            safety="safe" if broken else "unsafe",
            also=[Also(node, f"`{node.value}` is not a wildcard: it matches nothing") for node in stars],
            covers=stars,
            note="with `*` the NodePool never becomes ready and launches nothing" if stars else None,
            suggestions=_any_family(line) if stars else (),
            help=_hint(pool, bool(changes), bool(stars) and keys.FLEX in requirement.well_known(context.karpenter)),
        )


def _is_fallback_of(pool: NodePool, other: NodePool, context: Context) -> bool:
    """Return whether another pool already prefers the flex types.

    Another rule checks the weights of the two pools.
    """
    return other is not pool and resolve.flex_before(context.resolution(other), context.resolution(pool))


def _any_family(line: RequirementLine) -> list[Suggestion]:
    """Return a suggestion for a list with `*`: allow every value, without a preference."""
    operator, values = line.node.get("operator"), line.node.get("values")
    if operator is None or values is None:
        return []
    try:
        changes = [*edits.set_value(operator, "Exists"), *edits.remove(values)]
    except edits.NotEditable:
        return []
    return [Suggestion("allow every value, without a preference", changes)]


def _hint(pool: NodePool, fixed: bool, parted: bool) -> str:
    ways = ["use two NodePools of different weight: the one with the higher weight is tried first"]
    if fixed and parted:
        ways.append("flex families that are not listed are in neither pool")
    if fixed and pool.limits_node is not None:
        ways.append("limits apply to each pool")
    return "; ".join(ways)


def _two_pools(pool: NodePool, index: int, count: int, context: Context) -> list[Edit]:
    """Return edits that restrict the pool to the other types, and add a copy with a higher weight for flex types.

    Empty if this is not possible.
    """
    line = pool.requirements[index]
    weighed = pool.weight_node
    rest = line.texts[count:]
    unfit = (
        pool.partial
        or not isinstance(pool.name, str)
        or (weighed is not None and pool.weight is None)
        or line.min_values is not None
        or pool.static
        or any(labels.is_pattern(text) and text not in labels.EVERYTHING for text in rest)
        or not any(
            text in labels.EVERYTHING or labels.can_have(requirement.normalize(str(line.key)), text, context.catalog)
            for text in rest
        )
        or any(requirement.key == keys.FLEX for requirement in pool_requirements.requirements_of(pool))
        or (pool.node.parent is not None and any(node.aliased for node in pool.node.walk()))
    )
    if unfit:
        return []
    weight = pool.weight or 0
    try:
        changes = _narrowed(pool, index, list(rest), "false", context)
        if weight >= _HEAVIEST and weighed is not None:
            changes += edits.set_value(weighed, _HEAVIEST - _STEP)
        copy = _copy(pool, index, line.texts[:count], min(weight + _STEP, _HEAVIEST), context)
        return [*changes, *edits.add_object(pool.node, copy)]
    except edits.NotEditable:
        return []


def _copy(pool: NodePool, index: int, flex: tuple[str, ...], weight: int, context: Context) -> str:
    """Return the text of the pool as a pool for flex types."""

    def renamed(twin: NodePool) -> list[Edit]:
        return edits.set_value(twin.name_node, _free_name(pool, context))

    def weighted(twin: NodePool) -> list[Edit]:
        node = twin.node.find("spec", "weight")
        spec = twin.node.get("spec")
        if node is not None:
            return edits.set_value(node, weight)
        return edits.add_key(spec, "weight", weight) if spec is not None else []

    def listed(twin: NodePool) -> list[Edit]:
        return edits.set_values(twin.requirements[index].values_node, flex)

    def told_apart(twin: NodePool) -> list[Edit]:
        return _with_label(twin, index, "true") if keys.FLEX in requirement.well_known(context.karpenter) else []

    text = edits.copy_document(pool.node)
    for step in (renamed, weighted, listed, told_apart):
        text = _done(text, step)
    return text


def _done(text: str, step: Callable[[NodePool], list[Edit]]) -> str:
    """Return the text of a pool after a step; steps are applied one at a time, because their edits may touch."""
    twin = next((obj for obj in objects(Source.from_text("", text)) if isinstance(obj, NodePool)), None)
    if twin is None:
        raise edits.NotEditable("the copy of the pool could not be read")
    return edits.apply(text, step(twin))


def _narrowed(pool: NodePool, index: int, rest: list[str], flex: str, context: Context) -> list[Edit]:
    """Return edits that restrict a requirement of the pool to the types in `rest`.

    Raise NotEditable if the requirement has no key or no operator.
    """
    line = pool.requirements[index]
    everything = any(text in labels.EVERYTHING for text in rest)
    key, operator = line.node.get("key"), line.node.get("operator")
    if key is None or operator is None:
        raise edits.NotEditable("the requirement lacks a field")
    if keys.FLEX in requirement.well_known(context.karpenter):
        if everything:
            return [*edits.set_value(key, keys.FLEX), *edits.set_values(line.values_node, [flex])]
        return [*edits.set_values(line.values_node, rest), *_with_label(pool, index, flex)]
    if everything:
        named = [text for text in line.texts if text not in rest]
        return [*edits.set_value(operator, "NotIn"), *edits.set_values(line.values_node, named)]
    return edits.set_values(line.values_node, rest)


def _with_label(pool: NodePool, index: int, flex: str) -> list[Edit]:
    where = pool.requirements_node
    if where is None:
        raise edits.NotEditable("there is no list of requirements")
    position = next(i for i, item in enumerate(where.items) if item is pool.requirements[index].node)
    return edits.insert_item(where, position + 1, {"key": keys.FLEX, "operator": "In", "values": [flex]})


def _free_name(pool: NodePool, context: Context) -> str:
    """Return `<name>-flex`, with a number if another pool of the run has this name."""
    taken = {obj.name for obj in context.objects if isinstance(obj, NodePool)}
    number = 1
    while True:
        tail = "-flex" if number == 1 else f"-flex-{number}"
        name = str(pool.name)[: _LONGEST_NAME - len(tail)] + tail
        if name not in taken:
            return name
        number += 1
