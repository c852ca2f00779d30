r"""A NodePool allows spot capacity only, and no on-demand NodePool accepts the same pods.

Spot instances are cheaper, but EC2 can reclaim them at any time. If a region runs short, all types run short at once.
Karpenter tries spot first and uses on-demand only if the NodePool, or another NodePool that the pods can use, allows
it. For work that can wait, spot alone is fine.

The strict profile shows nothing if a comment next to the requirement says that spot alone is meant: it contains
"spot only", or "no on-demand". `--select` and `--extend-select` show these NodePools as well.

The rule reports nothing if the same folder holds a NodePool with the same taints and labels that allows on-demand
capacity. If such a NodePool has fewer taints or other labels, only pods without a node selector for the spot pool can
use it. The finding is then information.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot", "on-demand"]
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    Suggestion,
    comments,
    edits,
    keys,
    messages,
    pool_requirements,
    resolve,
    rule,
)

_REASON = (
    r"\bspot[- ]only\b|\bonly spot\b|"
    r"\b(?:no|not|never|without|instead of|than|over|avoid\w*|skip\w*) (?:use |using )?(?:any )?on[- ]demand\b"
)


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["narrow-spot", "no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="spot",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html",
)
def check(pool: NodePool, context: Context) -> Findings:
    spot = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    if spot is None or context.resolution(pool).capacity_types != ("spot",):
        return
    pools = list(context.interchangeable_pools(pool, "on-demand"))
    if any(_labels(pool) <= _labels(other) for other in pools):
        return
    fallback = pools[0] if pools else _fallback(pool, context)
    if fallback is not None:
        name = messages.short(str(fallback.name), 30)
        yield Finding(
            at=pool_requirements.values_at(spot),
            message=f"`spot` is the only capacity type: only pods that may also run in `{name}` get on-demand "
            "capacity",
            severity="info",
            also=[Also(fallback.name_node, "allows on-demand capacity")],
            help="check that no node selector restricts the pods to this pool, or add `on-demand`",
        )
        return
    yield Finding(
        at=pool_requirements.values_at(spot),
        message="`spot` is the only capacity type: nothing starts while spot capacity is short",
        once=True,
        on_request=isinstance(spot.at, RequirementLine) and _has_reason_for_spot_only(spot.at),
        help="add `on-demand` (Karpenter still tries spot first), or an on-demand NodePool of lower weight",
        suggestions=_ways(spot.at) if isinstance(spot.at, RequirementLine) else (),
    )


def _has_reason_for_spot_only(line: RequirementLine) -> bool:
    """Return whether a comment shows that the author decided against on-demand capacity."""
    comment = comments.of_requirement(line).lower()
    return re.search(_REASON, comment) is not None


def _labels(pool: NodePool) -> set[tuple[object, object]]:
    """Return the template labels of a pool, by which pods may select its nodes."""
    return {(label.key, label.value) for label in pool.template_labels}


def _fallback(pool: NodePool, context: Context) -> NodePool | None:
    """Return another pool with on-demand capacity that accepts all pods that tolerate the taints of this pool.

    None if there is none, or this pool has no taints.
    """
    taints = resolve.taints(pool)
    if not taints:
        return None
    for other in context.cluster_pools(pool):
        theirs = resolve.taints(other)
        if theirs is not None and theirs < taints and "on-demand" in context.resolution(other).capacity_types:
            return other
    return None


def _ways(line: RequirementLine) -> list[Suggestion]:
    ways = (("allow on-demand as well", ["spot", "on-demand"]), ("use on-demand only", ["on-demand"]))
    if line.operator != "In" or line.min_values is not None:
        return []
    offers = ((name, edits.if_editable(edits.set_values, line.values_node, values)) for name, values in ways)
    return [Suggestion(name, changes) for name, changes in offers if changes]
