"""NodePools of one weight that pods fit alike: their names decide which of them launches the node.

Karpenter tries NodePools by weight, the highest first; no weight counts as 0. Of those of one weight it tries the
one whose name sorts last in the alphabet, and a pod goes to the first pool that it fits. Where two pools of one
weight have the same taints and instance types in common, nobody has chosen, and a new name turns the order round:
`spot` comes before `on-demand`, `general` before `arm`.

The rule looks at pools of one file or folder. It is silent where a label, a zone, an architecture or a taint tells
the nodes apart, for then pods choose. Give the pool that is to be tried first a `weight`, or part the pools by a
taint or a label that pods ask for.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: on-demand
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: spot
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: on-demand
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: spot
spec:
  weight: 10
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
```

Where one pool launches flex types alone and the other lists them first, the order that is meant is known, and the fix
gives the flex pool the higher weight.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: flex
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex, c7i, m7i]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: flex
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex]}
  weight: 10
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex, c7i, m7i]}
```
"""

from nodelint.api import Also, Context, Edit, Finding, Findings, NodePool, edits, messages, resolve, rule

_STEP = 10
_HEAVIEST = 100


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "duplicate-name"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    own = resolve.taints(pool)
    others = [
        other
        for other in context.beside(pool)
        if (other.weight or 0) == (pool.weight or 0)
        and str(other.name) > str(pool.name)
        and resolve.taints(other) == own
        and pool.node.at("spec", "replicas") is None is other.node.at("spec", "replicas")
    ]
    if not others or not resolve.comparable(context.resolution(pool)):
        return
    common = [(other, _common(pool, other, context)) for other in others]
    before = sorted(((other, number) for other, number in common if number), key=lambda each: str(each[0].name))
    if not before:
        return
    first, number = before[-1]
    # The pool that is tried first of all is named, the others are marked.
    weights = f"both have weight {pool.weight}" if pool.weight else "neither has a weight"
    types = messages.counted(number, "instance type")
    name, mine = messages.short(str(first.name), 20), messages.short(str(pool.name), 20)
    flex = _flex(pool, first, context)
    yield Finding(
        at=pool.name_node,
        message=f"`{name}` is tried before `{mine}` only because of its name: {weights}, {types} in common",
        also=[Also(other.name_node, "tried first") for other, _ in reversed(before)],
        edits=_heavier(flex) if flex is not None else [],
        help="set `spec.weight` on the pool to try first, or tell them apart by a taint or a label that pods select",
    )


def _common(pool: NodePool, other: NodePool, context: Context) -> int:
    """How many instance types both can launch, where nothing tells their nodes apart."""
    there = context.resolution(other)
    if not resolve.comparable(there):
        return 0
    return len(resolve.shared(context.resolution(pool), there))


def _flex(pool: NodePool, other: NodePool, context: Context) -> NodePool | None:
    """The pool of flex types, where the other one lists them first and so is its fallback."""
    one, two = context.resolution(pool), context.resolution(other)
    if resolve.flex_before(one, two):
        return pool
    return other if resolve.flex_before(two, one) else None


def _heavier(pool: NodePool) -> list[Edit]:
    spec, weight = pool.node.get("spec"), pool.node.at("spec", "weight")
    if spec is None or (pool.weight or 0) >= _HEAVIEST:
        return []
    try:
        if weight is None:
            return edits.add_key(spec, "weight", _STEP)
        return edits.set_value(weight, min((pool.weight or 0) + _STEP, _HEAVIEST))
    except edits.NotEditable:
        return []
