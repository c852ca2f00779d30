r"""An eviction threshold for memory is a large part of the memory of the class's smallest nodes.

The kubelet evicts pods when less memory than the threshold is free. Karpenter's documentation shows `500Mi` for
`evictionSoft`. That is little of 16 GiB, but a quarter of 2 GiB: such a node evicts pods although they use no more
than they request. Releases from 1.9 on do not count `evictionSoft` when they plan a node.

The rule reports a threshold if it is at least a fifth of the memory of a type that a NodePool of the class may
launch.

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
                message=f"{field} `{node.value}` is {share:.0%} of the memory of `{name}`: with less free, the "
                "kubelet "
                "evicts pods",
                note=f"of {len(sizes):,} instance types it is {part:.0%} or more of {len(small):,}",
                help="use a percentage, or exclude such small types",
            )
