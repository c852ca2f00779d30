r"""The requirements allow only one or two instance types, so nothing starts if AWS has no capacity for them.

Sometimes EC2 has no capacity for one type in a zone, also on-demand. Karpenter then marks the type as unavailable for
three minutes and tries the next one, if there is one. If two types belong to one family, both often run out together.
A second and a third family of the same shape are enough. The rule `narrow-spot` reports spot capacity. This rule does
not report reserved capacity, which is bound to a type. For GPUs and accelerators there is little choice, so two types
are enough.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["m7i.xlarge"]
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["on-demand"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["m7i.xlarge", "m7a.xlarge", "m6i.xlarge"]
  - key: karpenter.sh/capacity-type
    operator: In
    values: ["on-demand"]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["narrow-spot", "no-instance-type", "unmatchable-value", "removed-api"],
    providers=["aws", "auto-mode"],
    options={"most": "the most instance types that count as too few"},
    subject="instance types",
    source=[
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html",
        "https://docs.aws.amazon.com/eks/latest/best-practices/karpenter.html",
    ],
)
def check(pool: NodePool, context: Context, *, most: int = 2) -> Findings:
    resolution = context.resolution(pool)
    left = resolution.launchable
    if not 0 < len(left) <= most or ("reserved" in resolution.capacity_types and resolution.node_class):
        return
    if resolution.capacity_types == ("spot",) or (len(left) == 2 and left & resolve.special(resolution.catalog)):
        return
    narrow = [line for line in resolution.lines if line.known and line.removed_alone > 0]
    best = max(narrow, key=lambda line: line.removed_alone, default=None)
    names = resolution.catalog.names_in(left)
    price = resolution.catalog.prices.on_demand(names[0]) if len(names) == 1 else None
    cost = f" (${price:,.3f} an hour)" if price is not None else ""
    is_single = len(names) == 1
    shown = ", ".join(f"`{name}`" for name in names[:-1]) + (" and " if names[1:] else "") + f"`{names[-1]}`"
    yield Finding(
        at=fixes.visible_node(best.at.key_node) if best is not None else fixes.place(pool),
        message=f"the NodePool allows only {shown}{cost}: nothing starts while EC2 has "
        f"no capacity for {'either' if len(names) == 2 else 'it'}",
        severity=None if is_single else "info",
        help="allow another family of the same size" if is_single else "allow more families of the same sizes",
    )
