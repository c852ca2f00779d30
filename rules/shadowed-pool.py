"""A NodePool that is never used because of one with more weight, or a fallback that is tried first.

Karpenter tries NodePools by weight, the highest first, and a pod goes to the first one that it fits. Where a heavier
pool has no taint that the lighter one lacks, no limits, and offers all that the lighter one offers, no pod is left
for the lighter one.

The numbers are easily read the wrong way round, as ranks. So the rule also finds a pool that is named a fallback and
weighs more than the pool it is to stand in for, and a pool of on-demand nodes without limits that weighs more than
one of spot nodes with the same types: spot nodes then start only for pods that ask for them.

Swap the weights, narrow the heavier pool, or give it `limits`, beyond which the lighter one takes over. The rule
looks at pools of one file or folder.

```yaml bad frame=pool+pool
metadata.name: general
spec.weight: 50
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
---
metadata.name: memory
spec.weight: 10
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [r]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
```

```yaml bad frame=pool+pool
metadata.name: spot
spec.weight: 10
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
---
metadata.name: fallback
spec.weight: 20
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
```

```yaml good frame=bad
spec.weight: 20
---
spec.weight: 10
```
"""

import re

from nodelint.api import Also, Context, Finding, Findings, NodePool, labels, messages, resolve, rule


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "duplicate-name"],
    providers=["aws", "auto-mode"],
    subject="pools",
    source=[
        "core:pkg/utils/nodepool/nodepool.go@v1.14.0:161",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    heavier = [other for other in context.cluster_pools(pool) if (other.weight or 0) > (pool.weight or 0)]
    if not heavier or pool.replicas_node is not None:
        return
    mine = context.resolution(pool)
    if not resolve.comparable(mine):
        return
    for other in sorted(heavier, key=lambda pool: (-(pool.weight or 0), str(pool.name))):
        theirs = context.resolution(other)
        if not resolve.comparable(theirs) or not (number := len(resolve.shared(mine, theirs))):
            continue
        why = _explain_shadow(mine, theirs, number)
        if why is not None:
            yield Finding(
                at=pool.name_node,
                message=why,
                also=[
                    Also(other.node.find("spec", "weight") or other.name_node, "the highest weight is tried first")
                ],
                help=f"swap the weights, narrow `{other.name}`, or give it `limits`, beyond which this pool is used",
            )
            return


def _explain_shadow(mine: resolve.Resolution, theirs: resolve.Resolution, number: int) -> str | None:
    """What is wrong with a pool that is tried after a heavier one; None where the order can be meant."""
    pool, other = mine.pool, theirs.pool
    name = messages.short(str(other.name), 24)
    weight = f"`{name}` (weight {other.weight} against {pool.weight or 0})"
    limited = bool(other.node.find("spec", "limits"))
    types = messages.counted(number, "type")
    if not limited and resolve.covers(theirs, mine):
        return f"this pool is never used: {weight} has all its {types} and no limits"
    if resolve.taints(pool) != resolve.taints(other):
        return None
    words, others = (set(re.split(r"[^a-z0-9]+", str(shadowing.name).lower())) for shadowing in (pool, other))
    fallback = labels.fallback_words()
    if others & fallback and not words & fallback:
        return f"{weight} is named a fallback but is tried first, with {types} in common"
    if not limited and (mine.capacity_types, theirs.capacity_types) == (("spot",), ("on-demand",)):
        return f"spot nodes start only for pods that ask: {weight} has {types} of it and no limits"
    return None
