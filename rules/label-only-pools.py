r"""NodePools that only a label of their own tells apart: pods that select none of them go where the names decide.

A label of the template is for pods that select it. It keeps no pod away: one without a selector fits each of these
pools. Karpenter tries pools by weight, and those of one weight by their names, the last in the alphabet first, so
that such a pod is started in a pool that nobody chose for it, and fills nodes that were meant for others. A taint
keeps pods out; a higher `weight` says which pool is for the rest. `pool-tie` speaks of pools that nothing tells
apart.

The rule looks at pools of one file or folder.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: apps
spec:
  template:
    metadata:
      labels: {team: apps}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: reports
spec:
  template:
    metadata:
      labels: {team: reports}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: apps
spec:
  template:
    metadata:
      labels: {team: apps}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: reports
spec:
  template:
    metadata:
      labels: {team: reports}
    spec:
      taints: [{key: team, value: reports, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import Also, Context, Finding, Findings, NodePool, messages, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "duplicate-name", "pool-tie", "untainted-weight"],
)
def check(pool: NodePool, context: Context) -> Findings:
    own = resolve.taints(pool)
    others = [
        other
        for other in context.beside(pool)
        if (other.weight or 0) == (pool.weight or 0)
        and str(other.name) > str(pool.name)
        and resolve.taints(other) == own
        and not pool.static
        and not other.static
    ]
    if not others or not resolve.comparable(context.resolution(pool)):
        return
    before = sorted(
        (other for other in others if _labels_alone(pool, other, context)), key=lambda each: str(each.name)
    )
    if not before:
        return
    first = messages.short(str(before[-1].name), 30)
    yield Finding(
        at=pool.name_node,
        message=f"pods that select no label are started in `{first}` rather than here, by the names alone",
        also=[Also(other.name_node, "tried first") for other in reversed(before)],
        help="add a taint to pools that are for chosen pods, and a weight to the one for all others",
    )


def _labels_alone(pool: NodePool, other: NodePool, context: Context) -> bool:
    """Whether nothing but a label of one's own tells the nodes of two pools apart."""
    here, there = context.resolution(pool), context.resolution(other)
    if not resolve.comparable(there) or resolve.shared(here, there):
        return False
    return bool(resolve.shared(here, there, own_labels=False))
