r"""A NodePool allows the GPU categories `g` and `p` without choosing a GPU, so Karpenter can launch any generation.

The categories contain GPUs of many years, at very different prices. Karpenter launches the cheapest type that has
enough devices. If that type is out of capacity, it takes the next one, up to the most expensive. A model that needs a
newer GPU or more GPU memory then fails on some nodes.

Add a requirement on `instance-generation`, `instance-gpu-name`, `instance-gpu-memory` or `instance-family`. If pods
choose the GPU themselves with `nodeSelector`, you can ignore this finding.

```yaml bad frame=pool
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [g, p]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [g, p]}
  - {key: karpenter.k8s.aws/instance-gpu-name, operator: In, values: [a10g, h100]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, pool_requirements, resolve, rule


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=[
        "no-instance-type",
        "unmatchable-value",
        "gpu-image-gap",
        "removed-api",
        "accelerators-beside-cpus",
    ],
    providers=["aws", "auto-mode"],
    options={"kinds": "the largest number of kinds of GPU that the rule does not report"},
    subject="GPUs",
    source=["https://karpenter.sh/docs/concepts/scheduling/", "https://aws.amazon.com/ec2/instance-types/"],
)
def check(pool: NodePool, context: Context, *, kinds: int = 4) -> Findings:
    item = pool_requirements.find_last_requirement(pool, keys.CATEGORY)
    if pool.partial or item is None or item.operator != "In" or not item.known:
        return
    if not item.texts or any(text not in ("g", "p") for text in item.texts):
        return
    telling = {keys.GENERATION, keys.FAMILY, keys.INSTANCE_TYPE, *keys.GPUS} - {keys.GPU_COUNT}
    if any(requirement.key in telling for requirement in pool_requirements.requirements_of(pool)):
        return
    resolution = context.resolution(pool)
    catalog, types = resolution.catalog, resolution.candidates
    left = catalog.distinct(GPU_NAME, types)
    if fixes.doubts(resolution) or len(left) <= kinds:
        return
    least, most = resolve.cheapest(catalog, types), resolve.dearest(catalog, types)
    prices = f": `{least[1]}` to `{most[1]}`, ${least[0]:,.2f} to ${most[0]:,.2f} an hour" if least and most else ""
    yield Finding(
        at=pool_requirements.values_at(item),
        message=f"the NodePool allows {len(left)} kinds of GPU{prices}",
        once=True,
        help="restrict `instance-generation`, `instance-gpu-name` or `instance-gpu-memory`",
    )


GPU_NAME = "karpenter.k8s.aws/instance-gpu-name"
