r"""An eviction threshold for memory that is a large part of the smallest nodes of the class.

The kubelet evicts pods while less memory than the threshold is free. `500Mi`, as Karpenter's documentation has it for
`evictionSoft`, is little of 16 GiB and a quarter of 2 GiB: pods are evicted from such nodes while they use no more
than they asked for. Releases from 1.9 on do not count `evictionSoft` when they plan a node.

The rule speaks of thresholds of a fifth and more of the memory of a type that a NodePool of the class may launch.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.small, t3.medium, t3.large]}
---
spec.kubelet:
  evictionSoft: {memory.available: 500Mi}
  evictionSoftGracePeriod: {memory.available: 1m}
```

```yaml good frame=bad
---
spec.kubelet.evictionSoft: {memory.available: 8%}
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, fixes, keys, quantities, rule, type_set

_MIB = 1024**2 * 10**9


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["invalid-field", "controller-check", "removed-api"],
    options={"part": "the part of a node's memory from which on a threshold is high"},
    mentions=["memory.available"],
    subject="kubelet",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:554",
        "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/",
    ],
)
def check(node_class: EC2NodeClass, context: Context, *, part: float = 0.2) -> Findings:
    for field in ("evictionSoft", "evictionHard"):
        node = node_class.node.find("spec", "kubelet", field, "memory.available")
        amount = quantities.quantity_of(node) if node is not None else None
        if node is None or not amount:
            continue
        types = type_set.union(context.resolution(pool).launchable for pool in context.pools(node_class))
        sizes = sorted(
            (int(context.catalog.label(name, keys.MEMORY) or "0"), name) for name in context.catalog.names_in(types)
        )
        small = [size for size in sizes if amount >= part * size[0] * _MIB > 0]
        if small:
            size, name = small[0]
            share = amount / (size * _MIB)
            yield Finding(
                at=fixes.visible_node(node),
                message=f"{field} `{node.value}` is {share:.0%} of the memory of `{name}`: with less free, pods are "
                "evicted",
                note=f"of {len(sizes):,} instance types it is {part:.0%} or more of {len(small):,}",
                help="use a percentage, or allow no types as small",
            )
