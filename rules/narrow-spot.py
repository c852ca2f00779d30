r"""A spot-only NodePool allows five instance types or fewer, so EC2 may have no replacement for reclaimed nodes.

For EC2, each instance type in each zone has its own spot capacity, and it runs out type by type. EC2 reclaims an
instance with two minutes' notice. With few allowed types, Karpenter often finds no capacity for the replacement, and
pods stay Pending. More families, sizes and generations of the same shape cost nothing. The rule reports nothing if
the same folder holds a NodePool with the same taints that allows on-demand capacity, because that is the fallback.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["m5.large", "m5.xlarge"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["spot"]
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-cpu
    operator: In
    values: ["2", "4"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
  - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.medium]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, messages, pool_requirements, rule


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    options={"most": "the most instance types that count as few"},
    subject="spot",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html",
    mentions=["capacity-type"],
)
def check(pool: NodePool, context: Context, *, most: int = 5) -> Findings:
    spot = pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE)
    if spot is None:
        return
    resolution = context.resolution(pool)
    count = len(resolution.launchable)
    if resolution.capacity_types != ("spot",) or not 0 < count <= most:
        return
    if any(context.interchangeable_pools(pool, "on-demand")):
        return
    names = ", ".join(f"`{name}`" for name in resolution.catalog.names_in(resolution.launchable))
    types = "1 instance type" if count == 1 else f"{count} instance types"
    yield Finding(
        at=pool_requirements.values_at(spot),
        message=messages.first_fitting(
            f"the NodePool allows only spot capacity of {types}: {names}",
            f"the NodePool allows only spot capacity of {types}",
        ),
        covers=[fixes.place(pool), *(fixes.visible_node(line.at.key_node) for line in resolution.lines)],
        note="nothing starts while EC2 has no spot capacity for these types",
        help="allow more families and sizes, or on-demand capacity",
    )
