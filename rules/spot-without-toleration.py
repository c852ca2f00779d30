r"""A NodePool without a taint allows spot capacity, while another NodePool has a taint on its spot nodes.

If a spot pool has a taint such as `spot=true:NoSchedule`, pods should opt in to spot capacity. If another pool
without a taint also allows spot, all other pods get spot nodes as well, because Karpenter tries spot first in each
pool that allows it. Let that pool use only on-demand capacity, or remove the taint from the spot pool.

```yaml bad frame=pool+pool
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
---
metadata.name: spot
spec.template.spec.taints:
  - {key: example.com/spot, effect: NoSchedule}
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```
"""

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    fixes,
    keys,
    messages,
    pool_requirements,
    resolve,
    rule,
)


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-capacity-type"],
    providers=["aws", "auto-mode"],
    subject="spot",
    source="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
)
def check(pool: NodePool, context: Context) -> Findings:
    asking = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    if asking is None or resolve.taints(pool) != frozenset():
        return
    for other in context.cluster_pools(pool):
        taint = next((taint for taint in other.taints if _names_spot(taint.key) or _names_spot(taint.value)), None)
        if (
            taint is None
            or taint.effect == "PreferNoSchedule"
            or context.resolution(other).capacity_types != ("spot",)
        ):
            continue
        own = context.resolution(pool)
        if "spot" in own.capacity_types and not fixes.doubts(own, (keys.CAPACITY_TYPE,)):
            name = messages.short(str(other.name), 30)
            yield Finding(
                at=pool_requirements.values_at(asking),
                message=f"any pod can start on spot in this NodePool, but the NodePool `{name}` requires a "
                "toleration",
                also=[Also(taint.node, "this taint means that pods opt in to spot capacity")],
                help="allow only on-demand capacity, or remove the other pool's taint",
            )
        return


def _names_spot(word: object) -> bool:
    return isinstance(word, str) and "spot" in word.lower()
