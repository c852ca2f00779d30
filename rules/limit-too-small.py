r"""A limit is smaller than the smallest instance type that the pool allows, so the NodePool never launches a node.

Karpenter skips each instance type that is larger than the rest of a limit. If it skips all types, pods stay Pending,
and the controller logs "all available instance types exceed limits for nodepool". The class decides how many `pods`
and how much `ephemeral-storage` a node has: `maxPods`, `podsPerCore`, its volumes. A limit of `0` usually means that
the pool is switched off: it is info.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["m7i.2xlarge", "m7i.4xlarge"]
spec.limits:
  cpu: 4
  memory: 1000Gi
```

```yaml good frame=bad
spec.limits.cpu: 400
```

A number without a unit counts bytes:

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7i-flex]}
spec.limits: {cpu: 400, memory: 1600}
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    Suggestion,
    TypeSet,
    edits,
    fixes,
    messages,
    quantities,
    resolve,
    rule,
    type_set,
)


@rule(
    on=NodePool,
    group="correctness",
    fix="unsafe",
    gives_way_to=["no-instance-type", "invalid-field", "refused-combination", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="pools",
    source=[
        "core:pkg/controllers/provisioning/scheduling/scheduler.go@v1.14.0:1069",
        "core:pkg/apis/v1/nodepool.go@v1.14.0:190",
    ],
    mentions=["limits"],
)
def check(pool: NodePool, context: Context) -> Findings:
    limits = [limit for limit in resolve.limits(pool) if limit.amount is not None]
    if not limits or pool.static:
        return
    resolution = context.resolution(pool)
    zero = next((limit for limit in limits if resolve.switched_off([limit], resolution)), None)
    if zero is not None and resolution.candidates:
        message = f"the {zero.resource} limit `{zero.at.node.value}` switches the NodePool off: it launches nothing"
        yield Finding(at=zero.at.node, message=message, severity="info")
    if not resolution.candidates or zero is not None or resolve.some_fits(limits, resolution):
        return
    beyond = [(limit, resolve.beyond(limit, resolution)) for limit in limits]
    ways = _raised(beyond, resolution)
    alone = [limit for limit, types in beyond if types == resolution.candidates]
    for number, limit in enumerate(alone):
        found = _alone(limit, resolution)
        yield found._replace(suggestions=[] if found.edits else ways) if number == 0 else found
    if alone:
        return
    if type_set.union(types for _, types in beyond) == resolution.candidates:
        *others, (last, _) = [exceeded for exceeded in beyond if exceeded[1]]
        yield Finding(
            at=last.at.node,
            message=f"each of the {len(resolution.candidates):,} instance types exceeds one of the limits",
            also=[Also(limit.at.node, f"this is the {limit.resource} limit") for limit, _ in others],
            suggestions=ways,
        )


def _raised(beyond: list[tuple[resolve.Limit, TypeSet]], resolution: resolve.Resolution) -> list[Suggestion]:
    """Return a suggestion to raise the limits to the capacity of one node of the smallest instance type.

    Empty if the limits cannot be edited.
    """
    capacity, blocking = resolution.capacity, [limit for limit, types in beyond if types]
    names = resolution.catalog.names_in(resolution.candidates)
    sizes = {name: (capacity.amount("cpu", name) or 0, capacity.amount("memory", name) or 0, name) for name in names}
    name = min(names, key=lambda name: sizes[name])
    changes, shown = [], []
    for limit in blocking:
        if (capacity.amount(limit.resource, name) or 0) > (limit.amount or 0):
            text = capacity.rounded_up(limit.resource, name)
            changes += edits.if_editable(edits.set_value, limit.at.node, int(text) if text.isdigit() else text)
            shown.append(f"{limit.resource} {text}")
    if len(changes) < len(shown) or not shown:
        return []
    return [Suggestion(f"allow at least one `{name}`: {', '.join(shown)}", changes)]


def _alone(limit: resolve.Limit, resolution: resolve.Resolution) -> Finding:
    name, amount = resolve.smallest(limit.resource, resolution.candidates, resolution)
    value = messages.short(str(limit.at.node.value), 20)
    bare = limit.resource in ("memory", "ephemeral-storage") and value.isdigit()
    meant = f"{value}Gi" if bare else None
    enough = resolution.capacity.amount(limit.resource, name) or 0
    changes = (
        edits.if_editable(edits.set_value, limit.at.node, meant)
        if meant is not None and quantities.billionths(meant) >= enough
        else []
    )
    return Finding(
        at=fixes.visible_node(limit.at.node),
        message=f"the {limit.resource} limit `{value}` excludes every instance type: `{name}` has {amount}",
        note="the NodePool launches nothing",
        edits=changes,
        help=f"without a unit it counts bytes: did you mean `{value}Gi`?" if bare else None,
    )
