"""Karpenter never uses a NodePool because another has more weight, or a pool that is named a fallback is tried first.

Karpenter tries NodePools by weight, the highest first, and a pod goes to the first one that it fits. If the pool with
the higher weight has no extra taint, no limits, and offers everything that the other one offers, no pod reaches the
other one.

Weights are often read as ranks. So the rule also reports a pool that is named a fallback but has more weight than the
main pool. It also reports an on-demand pool without limits that has more weight than a spot pool with the same types:
Karpenter then starts spot nodes only for pods that require them.

Swap the weights, restrict the pool with the higher weight, or give it `limits`: beyond them Karpenter uses the other
one. The rule compares pools of one file or folder.

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
                help=f"swap the weights, restrict `{other.name}`, or give it `limits`, beyond which Karpenter uses "
                "this pool",
            )
            return


def _explain_shadow(mine: resolve.Resolution, theirs: resolve.Resolution, number: int) -> str | None:
    """Return why the order of a pool and a heavier one is probably a mistake. None if it may be intended."""
    pool, other = mine.pool, theirs.pool
    name = messages.short(str(other.name), 24)
    weight = f"`{name}` (weight {other.weight} against {pool.weight or 0})"
    limited = bool(other.node.find("spec", "limits"))
    types = messages.counted(number, "type")
    if not limited and resolve.covers(theirs, mine):
        return f"Karpenter never uses this pool: {weight} has all its {types} and no limits"
    if resolve.taints(pool) != resolve.taints(other):
        return None
    words, others = (set(re.split(r"[^a-z0-9]+", str(shadowing.name).lower())) for shadowing in (pool, other))
    fallback = labels.fallback_words()
    if others & fallback and not words & fallback:
        return f"{weight} is named a fallback, but Karpenter tries it first, with {types} in common"
    if not limited and (mine.capacity_types, theirs.capacity_types) == (("spot",), ("on-demand",)):
        return f"spot nodes start only for pods that require spot: {weight} has {types} of this pool and no limits"
    return None
