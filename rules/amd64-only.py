r"""A NodePool allows amd64 only, although its class has arm64 images: similar Graviton types cost less.

An alias has images for both architectures. If your container images are built for both, allow both in the NodePool.
Karpenter can then choose the cheaper type, and spot has twice as many types to choose from. The prices are on-demand
prices in us-east-1.

Compared with the cheapest amd64 types (`m5a`, `t3a`), Graviton saves about 10 %. The rule does not report so small a
saving. It also reports nothing if the name of the NodePool names the processor (`intel`), or if the same folder holds
a NodePool with the same taints that allows arm64.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["6"]
  - key: kubernetes.io/arch
    operator: In
    values: ["amd64"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["6"]
  - key: kubernetes.io/arch
    operator: In
    values: ["amd64", "arm64"]
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    fixes,
    keys,
    labels,
    pool_requirements,
    requirement,
    resolve,
    rule,
)

VENDORS = {"amd", "amd64", "intel", "x86"}
"""Words of a NodePool's name that say that other processors are not meant."""


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["image-arch-mismatch", "no-instance-type", "unmatchable-value", "removed-api"],
    options={"saved": "the part of the price that the cheaper type must save"},
    subject="instance types",
    source=[
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-types.html",
        "https://docs.aws.amazon.com/whitepapers/latest/aws-graviton-performance-testing/what-is-aws-graviton.html",
    ],
)
def check(pool: NodePool, context: Context, *, saved: float = 0.12) -> Findings:
    item = pool_requirements.find_last_requirement(pool, keys.ARCH)
    if item is None or pool.partial or VENDORS.intersection(labels.words_of(pool.name)):
        return
    resolution = context.resolution(pool)
    line = next(
        (line for line in resolution.lines if line.known and requirement.normalize(line.key) == keys.ARCH), None
    )
    arm = resolution.catalog.having_value(keys.ARCH, "arm64")
    plain = resolution.catalog.all_types - resolve.special(resolution.catalog)
    if line is None or not resolution.candidates or resolution.candidates & arm or fixes.doubts(resolution):
        return
    if any(context.interchangeable_pools(pool, "arm64")):
        return
    images = resolution.images
    if images.alias is None or all(image.arch != "arm64" for image in images.images):
        return
    # A burstable type is no replacement for one of another category.
    plain -= resolution.catalog.having_value(keys.CATEGORY, "t")
    found = resolve.find_cheaper_pair(resolution.candidates & plain, line.without & arm & plain, resolution.catalog)
    if found is None or found.saved < saved:
        return
    yield Finding(
        at=pool_requirements.values_at(item),
        message=f"the NodePool excludes arm64: `{found.other}` costs {found.saved:.0%} less than `{found.own}`",
        once=True,
        help="add `arm64` if your container images are built for it",
    )
