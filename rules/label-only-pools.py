r"""NodePools that only a label or their types tell apart: pods that select none of them go where the names decide.

A label of the template is for pods that select it. It keeps no pod away: one without a selector fits each of these
pools. Karpenter tries pools by weight, and those of one weight by their names, the last in the alphabet first, so
that such a pod is started in a pool that nobody chose for it, and fills nodes that were meant for others. A taint
keeps pods out; a higher `weight` says which pool is for the rest. `pool-tie` speaks of pools that nothing tells
apart.

The same holds for pools of different instance types, such as one of `c7i` and one of `r7i`: a pod that selects no
type fits both. Pools of accelerators, and those of another architecture, zone or operating system, are let alone.

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
    apart = {other: what for other in others if (what := _apart(pool, other, context)) is not None}
    if not apart:
        return
    before = sorted(apart, key=resolve.turn)
    first = messages.short(str(before[-1].name), 30)
    yield Finding(
        at=pool.name_node,
        message=f"pods that select no {apart[before[-1]]} start in `{first}` rather than here, by the names alone",
        also=[Also(other.name_node, "tried before this one") for other in reversed(before)],
        help="add a taint to pools that are for chosen pods, and a weight to the one for all others",
    )


def _apart(pool: NodePool, other: NodePool, context: Context) -> str | None:
    """What alone tells the nodes of two pools apart: labels of one's own, or the instance types; None for others."""
    here, there = context.resolution(pool), context.resolution(other)
    if not resolve.comparable(there) or resolve.shared(here, there):
        return None
    if resolve.shared(here, there, own_labels=False):
        return "label"
    devices = resolve.special(here.catalog)
    plain = here.launchable - devices and there.launchable - devices and not here.launchable & there.launchable
    alike = plain and resolve.same_pods(here, there) and tuple(here.arches) == tuple(there.arches)
    return "label or instance type" if alike else None
