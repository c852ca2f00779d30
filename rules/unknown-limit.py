r"""A key of `spec.limits` is not a resource of a node, so it limits nothing.

Karpenter compares each limit with the resource of exactly this name. CPUs are `cpu`, NVIDIA GPUs are
`nvidia.com/gpu`. The API server accepts any name. If no node has the resource, Karpenter never reaches the limit.

```yaml bad frame=pool
spec.limits:
  cores: 500 # a quarter of our quota
  gpu: 4
```
"""

from nodelint.api import (
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    edits,
    messages,
    remedies,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["unknown-field", "invalid-field", "refused-combination", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="pools",
    source="core:pkg/apis/v1/nodepool.go@v1.14.0:190",
)
def check(pool: NodePool, _: Context) -> Findings:
    limits = list(resolve.limits(pool))
    for limit in limits:
        if resolve.known_resource(limit.resource) or limit.at.node.kind != "scalar":
            continue  # the API server refuses a value that is no quantity
        near = resolve.meant_resource(limit.resource)
        changes: list[Edit] = []
        if near is not None and all(other.resource != near for other in limits):
            changes = edits.if_editable(edits.set_key, limit.at.key_node, near)
        meant = f" (did you mean `{near}`?)" if near is not None else ""
        yield Finding(
            at=limit.at.key_node,
            message=f"the limit `{messages.short(limit.resource)}` has no effect: nodes have no such resource{meant}",
            edits=changes,
            suggestions=[] if changes else remedies.list_suggestions(_ways(pool, limit, limits)),
        )


_FIELDS = ("weight", "replicas")
"""Fields of a NodePool that are numbers, like limits."""


def _ways(pool: NodePool, limit: resolve.Limit, limits: list[resolve.Limit]) -> list[tuple[str, list[Edit]]]:
    """Return named edits that remove the limit, or set the field of the pool with its name."""
    spec, name, value = pool.node.get("spec"), limit.resource, limit.at.node
    block = value.parent
    if spec is None or block is None:
        return []
    gone = edits.if_editable(edits.remove, block if len(limits) == 1 else value)
    ways = [(f"remove `{messages.short(name, 30)}`", gone)]
    if name in _FIELDS and spec.get(name) is None and isinstance(value.value, int):
        fields, rest = edits.plain_fields(spec), edits.plain_fields(block)
        del fields["limits"], rest[name]
        moved = fields | ({"limits": rest} if rest else {}) | {name: value.value}
        ways.insert(0, (f"set `{name}` of the pool", edits.if_editable(edits.restructure, spec, moved)))
    return ways
