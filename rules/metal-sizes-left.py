r"""`NotIn` of `metal` that leaves `metal-24xl`, `metal-48xl` and the other bare-metal sizes.

A value of a requirement is compared whole. Since the sixth generation most bare-metal types have a size with a
number: `m7i.metal-24xl`. Karpenter takes bare metal only where nothing else fits, and such a node takes many minutes
to start and costs dollars an hour. `instance-hypervisor In [nitro]` leaves all of it out, and Xen with it. The fix
adds the sizes that are left; it is unsafe, for nodes of that size that run are replaced.

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
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: ["c7i", "c7g", "c8i"]
        - key: karpenter.k8s.aws/instance-size
          operator: NotIn
          values: ["nano", "micro", "small", "metal"]
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
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: ["c7i", "c7g", "c8i"]
        - key: karpenter.k8s.aws/instance-size
          operator: NotIn
          values: ["nano", "micro", "small", "metal", "metal-24xl", "metal-48xl", "metal-96xl"]
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: intel
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, r7i]}
        - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [metal]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: intel
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, r7i]}
        - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [metal, metal-24xl, metal-48xl]}
```
"""

from nodelint.api import (
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    TypeSet,
    edits,
    fixes,
    keys,
    labels,
    messages,
    resolve,
    rule,
)

METAL = "metal"


@rule(on=NodePool, group="hazard", fix="unsafe", gives_way_to=["no-instance-type", "removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    for item in labels.asked(pool):
        metal = next((value for value in item.values if value.text == METAL), None)
        if item.key != keys.SIZE or item.operator != "NotIn" or metal is None:
            continue
        resolution = context.resolution(pool)
        sizes = [size for size in resolution.catalog.values(keys.SIZE) if size.startswith(METAL)]
        left = resolution.catalog.having_value(keys.SIZE, *sizes) & resolution.candidates
        if left and not fixes.doubts(resolution):
            yield _finding(pool, fixes.seen(metal.node), left, resolution)
        return


def _finding(pool: NodePool, at: Node, left: TypeSet, resolution: resolve.Resolution) -> Finding:
    sizes = sorted(resolution.catalog.distinct(keys.SIZE, left), key=labels.natural)
    found = resolve.dearest(resolution.catalog, left)
    cost = f", up to ${found[0]:,.2f} an hour" if found else ""
    changes: list[Edit] = []
    if resolution.varied_enough(resolution.candidates - left):
        changes = edits.if_editable(fixes.keep_out, pool, keys.SIZE, sizes)
    types = messages.counted(len(left), "bare-metal type")
    return Finding(
        at=at,
        message=f"`{METAL}` does not exclude `{sizes[0]}`: {types} remain{cost}",
        edits=changes,
        help=f"exclude each size ({', '.join(sizes)}), or require `instance-hypervisor In [nitro]`",
    )
