r"""A NodePool has no requirement on the architecture, so its nodes can be amd64 or arm64.

Karpenter has no default. Without a requirement on `kubernetes.io/arch` it launches the cheapest type of any
architecture, often Graviton (arm64). A container image that is built only for amd64 then fails with
`exec format error`, and the pod restarts on the same node. If your images are built for both, write
`In [amd64, arm64]`, and the rule reports nothing. It also reports nothing if the other requirements or the class's
images allow only one architecture.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["4"]
```

```yaml good frame=bad
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-generation
    operator: Gt
    values: ["4"]
  - key: kubernetes.io/arch
    operator: In
    values: ["amd64"]
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, pool_requirements, rule


@rule(
    on=NodePool,
    group="practice",
    gives_way_to=["image-arch-mismatch", "gpu-image-gap", "no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="instance types",
    source=[
        "https://karpenter.sh/docs/concepts/scheduling/",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool.class_ref is None or pool_requirements.find_last_requirement(pool, keys.ARCH) is not None:
        return
    resolution = context.resolution(pool)
    if fixes.doubts(resolution):
        return
    if resolution.node_class is not None and any(image.arch is None for image in resolution.images.images):
        return  # the images decide, and are not known
    left = resolution.launchable or resolution.candidates
    arches = resolution.catalog.distinct(keys.ARCH, left)
    if not {"amd64", "arm64"} <= set(arches):
        return
    named = [
        item for item in pool_requirements.requirements_of(pool) if item.key in (keys.FAMILY, keys.INSTANCE_TYPE)
    ]
    if any(item.operator == "In" for item in named):
        return  # whoever lists `m7g` knows what it is
    arm = left & resolution.catalog.values(keys.ARCH)["arm64"]
    yield Finding(
        at=fixes.place(pool),
        message=f"the NodePool sets no architecture: {len(arm):,} of {len(left):,} allowed types are arm64",
        help="add `kubernetes.io/arch In [amd64]`, or `[amd64, arm64]` if all container images are built for both",
    )
