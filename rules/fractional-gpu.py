r"""A NodePool allows `g6f` or `gr6f`, which have a fraction of a GPU, and Karpenter counts no GPU on them.

EC2 reports 0 GPUs for these types, so Karpenter gives them no `nvidia.com/gpu`. A pod that requests one never gets
such a node. If the NodePool allows nothing else, the pod stays Pending. Requirements such as
`instance-gpu-count Exists`, or a requirement on the name or manufacturer of the GPU, still allow these types, because
their count is `0`. Pods that select by label, or that only tolerate the taint, run there. Limits on GPUs do not count
them. This is true for every release up to 1.14.1 (aws/karpenter-provider-aws#8368).

With a NodeOverlay with `capacity: {nvidia.com/gpu: 1}` Karpenter counts these GPUs. The rule reports nothing if there
is one in the same file. The fix excludes the families. It is unsafe because Karpenter replaces running nodes.

```yaml bad frame=pool
spec.template.spec.taints:
  - key: nvidia.com/gpu
    effect: NoSchedule
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-gpu-count
    operator: Exists
  - key: karpenter.k8s.aws/instance-gpu-manufacturer
    operator: In
    values: ["nvidia"]
```

```yaml bad frame=pool
spec.template.spec.taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6f]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]}
```
"""

from nodelint.api import (
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    edits,
    fixes,
    keys,
    labels,
    messages,
    pool_requirements,
    rule,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "removed-api"],
    subject="GPUs",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:416",
        "https://github.com/aws/karpenter-provider-aws/issues/8368",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    resolution = context.resolution(pool)
    none = resolution.candidates & resolution.catalog.having_value(keys.GPU_COUNT, "0")
    if not none or pool.source.holds("NodeOverlay") or fixes.doubts(resolution):
        return
    families = resolution.families(none)
    names = ", ".join(f"`{family}`" for family in families)
    if none == resolution.candidates:
        yield Finding(
            at=fixes.place(pool),
            message=f"Karpenter counts no GPU on {names}: pods that request `nvidia.com/gpu` stay Pending",
            help="choose types with whole GPUs, or add `nvidia.com/gpu` to these with a NodeOverlay",
        )
        return
    asking = next(
        (
            item
            for item in pool_requirements.requirements_of(pool)
            if item.key in keys.GPUS and item.operator != "NotIn"
        ),
        None,
    )
    if asking is None or resolution.candidates - resolution.catalog.having(keys.GPU_COUNT):
        return
    changes: list[Edit] = []
    if resolution.varied_enough(resolution.candidates - none):
        changes = edits.if_editable(fixes.keep_out, pool, keys.FAMILY, families)
    values = f" {', '.join(str(value.text) for value in asking.values)}" if asking.values else ""
    shown = messages.short(f"{labels.name_of(asking.key)} {asking.operator}{values}", 44)
    yield Finding(
        at=fixes.visible_node(asking.key_node),
        message=f"`{shown}` allows {names}, on which Karpenter counts 0 GPUs",
        severity="info",
        edits=changes,
        note="pods that request `nvidia.com/gpu` run on the other types only",
        help=f"exclude {names}, or require `instance-gpu-count Gt 0`",
    )
