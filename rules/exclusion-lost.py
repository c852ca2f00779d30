r"""A requirement of a static NodePool that its nodes do not get, because the same key has a bound.

A NodePool with `replicas` launches from its requirements alone: its NodeClaims carry no list of instance types, as
those for pods do. Of a key with `Gt`, `Lt`, `Gte` or `Lte` a NodeClaim holds the bounds and nothing else, so that
what `NotIn` excludes is launched all the same. Before 1.9.0 `Lt` is lost beside `Gt`, too.

Say with `In` which values are wanted, or exclude by another key.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: base
spec:
  replicas: 3
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["m"]
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ["5"]
        - key: karpenter.k8s.aws/instance-generation
          operator: NotIn
          values: ["7"]
  limits:
    nodes: 5
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: base
spec:
  replicas: 3
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["m"]
        - key: karpenter.k8s.aws/instance-generation
          operator: In
          values: ["6", "8"]
  limits:
    nodes: 5
```

```yaml bad karpenter=1.8.0
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: base
spec:
  replicas: 3
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["3"]}
        - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}
  limits: {nodes: 5}
```

```yaml good karpenter=1.8.0
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: base
spec:
  replicas: 3
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4", "8", "16"]}
  limits: {nodes: 5}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, RequirementLine, labels, messages, resolve, rule


@rule(
    on=NodePool,
    group="correctness",
    releases=">=1.8.0",
    gives_way_to=["no-instance-type", "invalid-field", "refused-combination", "removed-api"],
)
def check(pool: NodePool, context: Context) -> Findings:
    if not pool.static or pool.partial or len(pool.requirements) < 2:
        return
    resolution = context.resolution(pool)
    more = resolution.candidates - resolution.wanted
    for line in resolution.lines if more else ():
        at, requirement = line.at, line.requirement
        if requirement is None or not isinstance(at, RequirementLine):
            continue
        if resolve.lost_on_claim(requirement, resolution.folded, resolution.supply):
            asked = messages.short(f"{line.operator} {', '.join(line.values)}", 30)
            types = messages.counted(len(more), "type")
            yield Finding(
                at=at.values_node,
                message=f"`{asked}` of {labels.name_of(line.key)} is lost next to a bound: {types} too many",
                note="of a key that has bounds, a static NodePool passes on only the bounds",
                help="list the values with `In` instead",
            )
