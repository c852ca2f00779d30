r"""A NodePool that allows only burstable `t` types: their CPUs run on credits.

A `t3.large` may use 30 % of its two CPUs without end. What goes beyond is paid with credits; when they are gone, a
`t2` is throttled to its baseline, and `t3`, `t3a` and `t4g`, which start in unlimited mode, cost extra for each CPU
and hour. Karpenter does not know of credits: it fills a node by the CPUs that pods request. The types suit pods that
idle most of the time. For steady load `m`, `c` and `r` cost little more, and give spot more types to choose from.

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
"""Words of a NodePool's name that say that such types are meant."""


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
    at = next(item for item in telling if item.operator == "In")
    yield Finding(
        at=fixes.visible_node(at.key_node),
        message=f"only burstable types remain ({messages.short(', '.join(resolution.families(left)), 30)}): "
        "beyond their baseline, CPU time costs credits",
        note="without credits `t2` is throttled; `t3`, `t3a` and `t4g` are charged for what they use beyond",
        help="for steady load, add families of m, c or r of the same sizes",
    )
