r"""Types with a fraction of a GPU, of which Karpenter counts none: `g6f` and `gr6f`.

EC2 says of them that they have 0 GPUs. Karpenter therefore gives them no `nvidia.com/gpu`: a pod that asks for one
never gets such a node, and a NodePool of nothing else leaves it Pending. `instance-gpu-count Exists`, like a
requirement on the GPU's name or maker, allows them anyway (their count is `0`), for pods that ask by label or
merely tolerate the taint; limits on GPUs do not count them. So it is in every release, 1.14.1 included
(aws/karpenter-provider-aws#8368).

A NodeOverlay with `capacity: {nvidia.com/gpu: 1}` makes Karpenter count them; where one stands in the same file,
this rule reports nothing. The fix leaves the families out; it is unsafe, because it replaces running nodes.

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
        help="exclude them, or require `instance-gpu-count Gt 0`",
    )
