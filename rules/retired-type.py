"""A NodePool lists an old type or family that us-east-1, us-east-2 and us-west-2 no longer offer.

`p2`, `p3`, `g3` and `f1` were common in the past. us-east-1, us-east-2 and us-west-2 no longer offer them. In a
region without them, such a value matches nothing. A pool that lists nothing else never launches a node. With facts
from AWS (`nodelint refresh`), `not-offered` checks your own region, and this rule reports nothing.

```yaml bad frame=pool
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [p3, g4dn]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6e, g4dn]}
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    fixes,
    keys,
    manifest,
    messages,
    pool_requirements,
    rule,
    type_names,
)


@rule(
    on=NodePool,
    group="hazard",
    severity="info",
    gives_way_to=["not-offered", "no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="instance types",
    source=[
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html",
        "https://aws.amazon.com/ec2/previous-generation/",
    ],
    mentions=["instance-family", "instance-type"],
)
def check(pool: NodePool, context: Context) -> Findings:
    for item in pool_requirements.requirements_of(pool):
        if item.key not in (keys.FAMILY, keys.INSTANCE_TYPE) or item.operator != "In":
            continue
        instead = type_names.retired(item.key, item.texts, context.catalog)
        found = [(value, instead[str(value.text)]) for value in item.values if value.text in instead]
        if found:
            yield _finding(item, found)


def _finding(item: pool_requirements.PoolRequirement, found: list[tuple[manifest.Value, str]]) -> Finding:
    names = [f"`{value.text}`" for value, _ in found]
    shown = messages.short(", ".join(names[:3]), 50) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    alone = ", and the list has no other value" if item.known and len(found) == len(item.values) else ""
    return Finding(
        at=fixes.visible_node(found[0][0].node),
        message=f"us-east-1, us-east-2 and us-west-2 no longer offer {shown}{alone}",
        covers=[value.node for value, _ in found],
        help=f"`{found[0][1]}` is the nearest to `{found[0][0].text}` that most regions offer",
    )
