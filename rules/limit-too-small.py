r"""A limit that is less than the smallest instance type left has, so that the NodePool never launches anything.

Karpenter passes over each instance type whose capacity is more than what is left of a limit. Where that is all of
them, pods stay Pending, with "all available instance types exceed limits for nodepool" in the controller's log. How
many `pods` and how much `ephemeral-storage` a node has depends on the class: `maxPods`, `podsPerCore`, its volumes.
A limit of `0` that every type exceeds is taken for what it is often meant as: a pool that is switched off.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ["m7i.2xlarge", "m7i.4xlarge"]
  limits:
    cpu: 4
    memory: 1000Gi
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ["m7i.2xlarge", "m7i.4xlarge"]
  limits:
    cpu: 400
    memory: 1000Gi
```

A number without a unit counts bytes:

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7i-flex]}
  limits: {cpu: 400, memory: 1600}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: batch
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7i-flex]}
  limits: {cpu: 400, memory: 1600Gi}
```
"""

from nodelint.api import Also, Context, Finding, Findings, NodePool, fixes, messages, resolve, rule, type_set


@rule(
    on=NodePool,
    group="correctness",
    gives_way_to=["no-instance-type", "invalid-field", "refused-combination", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    limits = [limit for limit in resolve.limits(pool) if limit.amount is not None]
    if not limits or pool.static:
        return
    resolution = context.resolution(pool)
    if not resolution.candidates or resolve.some_fits(limits, resolution) or resolve.switched_off(limits, resolution):
        return
    beyond = [(limit, resolve.beyond(limit, resolution)) for limit in limits]
    for limit, types in beyond:
        if types == resolution.candidates:
            yield _alone(limit, resolution)
            return
    if type_set.union(types for _, types in beyond) == resolution.candidates:
        *others, (last, _) = [each for each in beyond if each[1]]
        yield Finding(
            at=last.at.node,
            message=f"each of the {len(resolution.candidates):,} instance types exceeds one of the limits",
            also=[Also(each.at.node, f"the {each.resource} limit") for each, _ in others],
        )


def _alone(limit: resolve.Limit, resolution: resolve.Resolution) -> Finding:
    name, amount = resolve.smallest(limit.resource, resolution.candidates, resolution)
    value = messages.short(str(limit.at.node.value), 20)
    bare = limit.resource in ("memory", "ephemeral-storage") and value.isdigit()
    return Finding(
        at=fixes.seen(limit.at.node),
        message=f"the {limit.resource} limit `{value}` excludes every instance type: `{name}` has {amount}",
        note="the NodePool launches nothing",
        help=f"without a unit it counts bytes: did you mean `{value}Gi`?" if bare else None,
    )
