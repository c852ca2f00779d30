r"""A limit that keeps out a quarter or more of the instance types which the requirements allow, or a listed one.

A type that has more of a resource than the limit can never be launched, however empty the pool is. That may be meant;
then a requirement says it better, for it shows in events and in `nodelint explain`. Where it is not meant, larger
pods stay Pending. Karpenter also reckons with the largest type that still fits when it plans several nodes at once,
so that a limit of about that size lets it start nodes one by one.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["c", "m", "r"]
  limits:
    cpu: 64
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["c", "m", "r"]
        - key: karpenter.k8s.aws/instance-cpu
          operator: Lt
          values: ["17"]
  limits:
    cpu: 64
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["limit-too-small", "value-beyond-limit", "no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    limits = [limit for limit in resolve.limits(pool) if limit.resource in ("cpu", "memory") and limit.amount]
    if not limits or pool.partial:
        return
    resolution = context.resolution(pool)
    if fixes.doubts(resolution):
        return
    all = resolution.candidates
    limit, out = max(((limit, resolve.beyond(limit, resolution)) for limit in limits), key=lambda each: len(each[1]))
    # The few largest types of a broad pool are out of most limits, and nobody means them unless they are named.
    if out == all or not out or (len(out) * 4 < len(all) and not _named(pool)):
        return
    name, amount = resolve.largest(limit.resource, all, resolution)
    key = labels.name_of(keys.CPU if limit.resource == "cpu" else keys.MEMORY)
    yield Finding(
        at=fixes.seen(limit.at.node),
        message=f"the {limit.resource} limit `{limit.at.node.value}` excludes {len(out):,} of "
        f"{len(all):,} instance types: `{name}` has {amount}",
        help=f"raise the limit, or restrict the instance types by {key}",
    )


def _named(pool: NodePool) -> bool:
    """Whether the pool lists its instance types by their names, or by families and sizes."""
    lists = {item.key for item in labels.asked(pool) if item.operator == "In"}
    return keys.INSTANCE_TYPE in lists or {keys.FAMILY, keys.SIZE} <= lists
