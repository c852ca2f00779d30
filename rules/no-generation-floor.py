r"""Categories without a generation, or with one that is too low: old types on the Xen hypervisor are left.

`instance-category In [c, m, r]` allows `m1`, `c3` and `r4` as well as what is newest. They are slower for their
price, have disks and networks of another kind (no NVMe, older drivers), some lack ENA, and AWS retires them.
Karpenter goes by price alone, and on spot the old ones are often cheapest.

`instance-generation Gt 2`, as many examples have it, keeps most of them out and leaves `c3`, `c4`, `m3`, `m4`, `r3`
and `r4`. It is only mentioned. Every type of generation 5 and newer is on Nitro.

EKS Auto Mode supports `c4`, `i3`, `m4`, `r4` and `t2` of the types on Xen, so its pools need a generation, too.

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
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ["4"]
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: low
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["2"]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: low
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, messages, rule


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
)
def check(pool: NodePool, context: Context) -> Findings:
    if not pool.of_values and (pool.partial or pool.class_ref is None):
        return
    asked = [item for item in labels.asked(pool) if item.key in (keys.FAMILY, keys.INSTANCE_TYPE, keys.GENERATION)]
    named = [item for item in asked if item.operator != "NotIn"]
    if any(item.key != keys.GENERATION for item in named):
        return
    resolution = context.resolution(pool)
    old = resolution.candidates & resolution.catalog.having_value(keys.HYPERVISOR, "xen")
    if not old or fixes.doubts(resolution):
        return
    families = messages.short(", ".join(resolution.families(old)), 48)
    counts = f"{len(old):,} of {len(resolution.candidates):,} instance types"
    if named:
        last = named[-1]
        floor = f"`instance-generation {last.operator} {', '.join(last.texts)}`"
        yield Finding(
            at=fixes.seen(labels.values_at(last)),
            message=f"{floor} leaves {counts} on Xen: {families}",
            severity="info",
            help="`instance-generation Gt 4` excludes all of them",
        )
        return
    category = labels.last_asking(pool, keys.CATEGORY)
    if pool.of_values and category is None:
        return
    yield Finding(
        at=fixes.seen(category.key_node) if category is not None else fixes.place(pool),
        message=f"{counts} run on Xen: {families}",
        severity="info" if pool.of_values else None,
        help="require `instance-generation Gt 4`, which excludes all of them, or `Gt 2`, which leaves few",
    )
