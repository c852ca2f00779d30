r"""A NodePool allows only burstable `t` types, whose CPUs run on credits.

A `t3.large` may use 30 % of its two CPUs permanently. More CPU time uses credits. When the credits are used up, AWS
throttles a `t2` to its baseline. `t3`, `t3a` and `t4g` start in unlimited mode: AWS bills the extra time for each CPU
hour. Karpenter does not consider credits. It fills a node by the CPU requests of its pods.

These types suit pods that are idle most of the time. For steady load, `m`, `c` and `r` cost little more, and they
give spot more types to choose from. Where all types are `nano`, `micro` or `small`, only `--select` or
`--extend-select` shows this.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [t3, t3a]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [t3, t3a, m6a, m7i]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, messages, pool_requirements, rule

WORDS = ("burst", "burstable", "t2", "t3", "t3a", "t4g")
"""Words in the name of a NodePool that show that burstable types are intended."""

TINY = {"nano", "micro", "small"}


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="instance types",
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances.html",
)
def check(pool: NodePool, context: Context) -> Findings:
    telling = [
        item
        for item in pool_requirements.requirements_of(pool)
        if item.key in (keys.CATEGORY, keys.FAMILY, keys.INSTANCE_TYPE)
    ]
    if pool.partial or not any(item.operator == "In" for item in telling):
        return
    if any(word in WORDS for word in labels.words_of(pool.name)):
        return
    resolution = context.resolution(pool)
    left = resolution.candidates
    if not left or left - resolution.catalog.having_value(keys.CATEGORY, "t"):
        return
    sizes = resolution.catalog.distinct(keys.SIZE, left)
    at = next(item for item in telling if item.operator == "In")
    yield Finding(
        at=fixes.visible_node(at.key_node),
        on_request=set(sizes) <= TINY,  # `tiny-types` says what such nodes lack first
        message="the NodePool allows only burstable types "
        f"({messages.short(', '.join(resolution.families(left)), 30)}): "
        "CPU time above the baseline costs credits",
        note="without credits, AWS throttles `t2`, and bills the extra CPU time of `t3`, `t3a` and `t4g`",
        help="for steady load, add families of m, c or r of the same sizes",
    )
