r"""An on-demand NodePool allows burstable `t` types together with others, and Karpenter launches them first.

Karpenter launches the cheapest type that fits the pods. A `t` type costs less than an `m`, `c` or `r` type with as
many CPUs and as much memory. But the price includes only part of its CPUs: a `t3.large` may use 30 % of them
permanently. More CPU time uses credits. Without credits, AWS bills it by the CPU hour or throttles it. Karpenter does
not consider credits.

If pods use their CPUs most of the time, exclude `t` or give it a NodePool of its own. If you want burstable types
first, ignore this rule with a comment. nodelint shows this only if `--select` or `--extend-select` asks for the rule.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t, c, m]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, pool_requirements, resolve, rule

TELLING = (keys.CATEGORY, keys.FAMILY, keys.INSTANCE_TYPE)


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["no-instance-type", "unmatchable-value", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="instance types",
    source=[
        "core:pkg/cloudprovider/types.go@v1.14.0:336",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-performance-instances.html",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool_requirements.find_last_requirement(pool, keys.CAPACITY_TYPE) is None:
        return
    resolution = context.resolution(pool)
    if resolution.capacity_types != ("on-demand",) or fixes.doubts(resolution):
        return  # the prices of spot capacity are not known
    catalog = resolution.catalog
    burstable = resolution.candidates & catalog.having_value(keys.CATEGORY, "t")
    steady = resolution.candidates - burstable - resolve.special(catalog)
    twin = resolve.find_cheaper_pair(steady, burstable, catalog) if burstable and steady else None
    if twin is None or twin.saved <= 0:
        return
    at = next(
        (item for item in pool_requirements.requirements_of(pool) if item.key in TELLING and item.operator == "In"),
        None,
    )
    yield Finding(
        at=pool_requirements.values_at(at) if at is not None else fixes.place(pool),
        on_request=True,
        message=f"Karpenter launches burstable `{twin.other}` before `{twin.own}`, because it costs "
        f"{twin.saved:.0%} less",
        note="CPU time above the baseline costs credits, which Karpenter does not count",
        help="unless most pods are idle, exclude the category t or give it a NodePool of its own",
    )
