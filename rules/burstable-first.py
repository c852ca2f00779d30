r"""An on-demand NodePool that allows burstable `t` types with others: Karpenter launches the burstable types first.

Of the types that fit the pods Karpenter takes the cheapest, and a `t` type costs less than one of `m`, `c` or `r`
with as many CPUs and as much memory. Its price is for a part of its CPUs: a `t3.large` may use 30 % of them without
end. What goes beyond is paid with credits, and then billed by the CPU and hour, or throttled. Karpenter does not know
of credits. Where pods do more than idle, leave `t` out, or give it a NodePool of its own. Where it is meant,
ignore this rule in a comment.

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
    if pool.partial or pool_requirements.last_asking(pool, keys.CAPACITY_TYPE) is None:
        return
    resolution = context.resolution(pool)
    if resolution.capacity_types != ("on-demand",) or fixes.doubts(resolution):
        return  # the prices of spot capacity are not known
    catalog = resolution.catalog
    burstable = resolution.candidates & catalog.having_value(keys.CATEGORY, "t")
    steady = resolution.candidates - burstable - resolve.special(catalog)
    twin = resolve.cheaper_twin(steady, burstable, catalog) if burstable and steady else None
    if twin is None or twin.saved <= 0:
        return
    at = next(
        (item for item in pool_requirements.requirements_of(pool) if item.key in TELLING and item.operator == "In"),
        None,
    )
    yield Finding(
        at=pool_requirements.values_at(at) if at is not None else fixes.place(pool),
        message=f"burstable `{twin.other}` is launched before `{twin.own}`, because it costs {twin.saved:.0%} less",
        note="beyond its baseline, CPU time costs credits, which Karpenter does not count",
        help="unless most pods idle, exclude t, or give it a NodePool of its own",
    )
