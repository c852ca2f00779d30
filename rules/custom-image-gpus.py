"""GPU and other types in one pool whose class picks its images by id, name, tag or SSM parameter.

Of such an image Karpenter knows the architecture alone. A GPU type may get the image without drivers, whose pods
never get `nvidia.com/gpu`, and an ordinary type the image with them. An alias has an image for each kind of
type; with images of your own, give GPU types a class and a pool of theirs.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m, g]}
---
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - id: ami-0a1b2c3d4e5f60718
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
```
"""

from nodelint.api import Also, Context, Finding, Findings, NodePool, fixes, keys, pool_requirements, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["no-instance-type", "image-arch-mismatch", "removed-api"],
    subject="GPUs",
    source=[
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
        "provider:pkg/providers/amifamily/types.go@v1.14.1:67",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    node_class = context.node_class(pool)
    if node_class is None or not node_class.ami_terms or pool.partial:
        return
    if any(term.alias is not None for term in node_class.ami_terms):
        return
    resolution = context.resolution(pool)
    devices = resolution.candidates & resolve.accelerated(resolution.catalog)
    if not devices or devices == resolution.candidates or fixes.doubts(resolution):
        return
    rest = len(resolution.candidates - devices)
    asking = pool_requirements.last_asking(pool, keys.CATEGORY) or pool_requirements.last_asking(pool, keys.FAMILY)
    yield Finding(
        at=fixes.visible_node(asking.key_node) if asking is not None else fixes.place(pool),
        message=f"{len(devices):,} types with GPUs or accelerators get the same image as the {rest:,} others",
        also=[Also(node_class.ami_terms[0].node, "of these images Karpenter knows the architecture alone")],
        help="exclude GPU types, or give them a class with an image for GPUs and a pool of their own",
    )
