r"""The capacity types are listed as `[on-demand, spot]`, but the order is no preference: Karpenter tries spot first.

A requirement is a set, so the order of its values does not count. Karpenter tries reserved capacity, then spot, then
on-demand. EC2 reclaims spot nodes with two minutes' notice.

If you want on-demand, and spot only as a fallback, you need two NodePools: one for on-demand capacity with the higher
weight, and one for spot. If nodes must stay, use `[on-demand]` alone. For GPU and accelerator nodes the rule also
reports `[spot, on-demand]`, because a job that runs for hours does not survive a reclaimed node.

Most people who write `[on-demand, spot]` mean no order. The strict profile shows the finding only if a comment next
to the values says that on-demand comes first, or that spot is the fallback. `--select` and `--extend-select` show it
for every NodePool.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand, spot]} # spot as fallback
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```
"""

import re

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    Suggestion,
    comments,
    edits,
    fixes,
    keys,
    pool_requirements,
    resolve,
    rule,
)

ON_DEMAND_FIRST = (
    r"\bon[- ]demand\b[^.;]{0,12}\b(first|preferred|primary|by default|default)\b"
    r"|\b(prefers?|preferably|mainly|mostly|primarily)\s+on[- ]demand\b"
    r"|\bspot\b[^.;]{0,20}\b(fallback|second|secondary|backup|overflow|last)\b"
    r"|\bfall(s|ing)?[- ]?back to spot\b"
)
"""What a comment says of capacity types whose order is meant."""


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "unmatchable-value", "misleading-name", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="spot",
    source=[
        "provider:pkg/providers/instance/instance.go@v1.14.1:149",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    item = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    if item is None or item.operator != "In" or not {"spot", "on-demand"} <= set(item.texts):
        return
    at = item.at
    if not isinstance(at, RequirementLine):
        return
    if item.texts.index("on-demand") < item.texts.index("spot"):
        message = "values are a set, not an order: Karpenter tries spot before on-demand"
    elif _of_devices(pool, context):
        message = (
            "Karpenter tries spot first: EC2 can reclaim these GPU and accelerator nodes with two minutes' notice"
        )
    else:
        return
    yield Finding(
        at=fixes.visible_node(at.values_node),
        message=message,
        once=True,
        on_request=re.search(ON_DEMAND_FIRST, comments.of_requirement(at).lower()) is None,
        help="use `on-demand` alone, or give spot a NodePool of its own with a lower weight",
        suggestions=_ways(at),
    )


def _of_devices(pool: NodePool, context: Context) -> bool:
    """Return whether every allowed type has a GPU or an accelerator."""
    resolution = context.resolution(pool)
    left = resolution.candidates
    return bool(left) and not left - resolve.accelerated(resolution.catalog)


def _ways(line: RequirementLine) -> list[Suggestion]:
    if line.min_values is not None or not line.known:
        return []
    first = [text for text in line.texts if text != "on-demand"]
    ways = (("launch on-demand capacity only", ["on-demand"]), ("write spot first", [*first, "on-demand"]))
    offers = ((name, edits.if_editable(edits.set_values, line.values_node, values)) for name, values in ways)
    return [Suggestion(name, changes) for name, changes in offers if changes]
