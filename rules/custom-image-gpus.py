"""A pool allows GPU types and other types, and its class selects images by id, name, tag or SSM parameter.

Karpenter knows only the architecture of such an image. A GPU type can get an image without drivers, and its pods
never get `nvidia.com/gpu`. An ordinary type can get the image with drivers. An alias has an image for each kind of
type. If you use your own images, give GPU types a class and a NodePool of their own.

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

from nodelint.api import (
    Also,
    Context,
    Finding,
    Findings,
    NodePool,
    fixes,
    keys,
    messages,
    pool_requirements,
    resolve,
    rule,
)


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
    asking = pool_requirements.find_last_requirement(pool, keys.CATEGORY) or pool_requirements.find_last_requirement(
        pool, keys.FAMILY
    )
    types = messages.counted(len(devices), "type")
    yield Finding(
        at=fixes.visible_node(asking.key_node) if asking is not None else fixes.place(pool),
        message=f"{types} with GPUs or accelerators get the same image as the {rest:,} others",
        also=[Also(node_class.ami_terms[0].node, "Karpenter knows only the architecture of these images")],
        help="exclude GPU types, or give them a NodePool and a class with an image for GPUs",
    )
