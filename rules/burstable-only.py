r"""A NodePool allows only burstable `t` types, whose CPUs run on credits.

A `t3.large` may use 30 % of its two CPUs permanently. More CPU time uses credits. When the credits are used up, AWS
throttles a `t2` to its baseline. `t3`, `t3a` and `t4g` start in unlimited mode: AWS bills the extra time for each CPU
hour. Karpenter does not consider credits. It fills a node by the CPU requests of its pods.

These types suit pods that are idle most of the time. For steady load, `m`, `c` and `r` cost little more, and they
give spot more types to choose from. The strict profile shows this only for NodePools of production, by the name of
the NodePool, of its class, of a label, of the file or of its folder. `--select` and `--extend-select` show it for
every NodePool.

```yaml bad frame=pool
metadata.name: prod
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

import re

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, messages, pool_requirements, rule

WORDS = ("burst", "burstable", "t2", "t3", "t3a", "t4g")
"""Words in the name of a NodePool that show that burstable types are intended."""

PRODUCTION = {"live", "prd", "prod", "production"}


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
        on_request=not _is_of_production(pool),  # test clusters use such types on purpose
        message="the NodePool allows only burstable types "
        f"({messages.short(', '.join(resolution.families(left)), 30)}): "
        "CPU time above the baseline costs credits",
        note="without credits, AWS throttles `t2`, and bills the extra CPU time of `t3`, `t3a` and `t4g`",
        help="for steady load, add families of m, c or r of the same sizes",
    )


def _is_of_production(pool: NodePool) -> bool:
    """Return whether a name says that the nodes are for production."""
    file = "/".join(pool.source.path.replace("\\", "/").split("/")[-2:])
    named = [pool.name, pool.class_ref.name if pool.class_ref is not None else None, file]
    named += [text for label in pool.template_labels for text in (label.key, label.value)]
    words = {word for text in named if isinstance(text, str) for word in re.split(r"[^a-z0-9]+", text.lower())}
    return bool(words & PRODUCTION)
