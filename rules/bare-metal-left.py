r"""Requirements that leave bare-metal types beside virtual ones.

A bare-metal node takes many minutes to boot, where others take one, and is a whole server. It is launched for a pod
that fits no smaller type, or when smaller ones are short, and costs as much as the largest size of its family. A pool
that is to have such nodes lists them. Another asks for the hypervisor `nitro`, which bare metal does not have. Types
that are larger than a limit of the pool do not count: they are never launched.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
        - {key: karpenter.k8s.aws/instance-hypervisor, operator: In, values: [nitro]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, messages, resolve, rule

NAMED = (keys.SIZE, keys.INSTANCE_TYPE, keys.HYPERVISOR)


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "metal-sizes-left", "accelerator-by-accident", "removed-api"],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool.class_ref is None:
        return
    asked = list(labels.asked(pool))
    if any(item.key in NAMED and item.operator == "In" for item in asked):
        return
    if any(item.key == keys.SIZE and "metal" in item.texts for item in asked):
        return  # `metal-sizes-left` says what this leaves
    resolution = context.resolution(pool)
    types = resolve.within(resolution) if pool.node.at("spec", "limits") is not None else resolution.candidates
    metal = types & resolution.catalog.having_value(keys.HYPERVISOR, "")
    if not metal or metal == types or fixes.doubts(resolution):
        return
    found = resolve.dearest(resolution.catalog, metal)
    cost = f", up to ${found[0]:,.2f} an hour" if found else ""
    category = labels.last_asking(pool, keys.CATEGORY)
    yield Finding(
        at=fixes.seen(category.key_node) if category is not None else fixes.place(pool),
        message=f"{messages.counted(len(metal), 'bare-metal type')} of {len(types):,} remain{cost}",
        note="a bare-metal node takes many minutes to boot",
        help="require `instance-hypervisor In [nitro]`",
    )
