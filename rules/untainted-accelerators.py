r"""A NodePool of GPU or accelerator nodes has no taint, so any pod can run there.

Pods that need no GPU fit such nodes as well. They run there if there is room, and they keep Karpenter from removing
the node. If the pool is the first that fits, Karpenter starts a GPU node for them. Add a taint, usually
`nvidia.com/gpu` or `aws.amazon.com/neuron`, and a toleration to pods that need the device. There is no fix: taints
are part of the template, so Karpenter replaces nodes, and pods without a toleration then stay out.

```yaml bad frame=pool
metadata.name: gpu
spec.template.spec.requirements:
  - key: karpenter.k8s.aws/instance-family
    operator: In
    values: ["g5", "g6"]
```

```yaml good frame=bad
spec.template.spec.taints:
  - key: nvidia.com/gpu
    effect: NoSchedule
```
"""

from nodelint.api import UNKNOWN, Context, Finding, Findings, NodePool, fixes, keys, resolve, rule, type_names


@rule(
    on=NodePool,
    group="hazard",
    gives_way_to=["no-instance-type", "removed-api"],
    providers=["aws", "auto-mode"],
    subject="GPUs",
    source=[
        "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
        "https://karpenter.sh/docs/concepts/scheduling/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    taints = pool.taints_node
    if pool.partial or pool.taints or (taints is not None and (taints.value is UNKNOWN or taints.items)):
        return
    resolution = context.resolution(pool)
    left = resolution.candidates
    if not left or left - resolve.accelerated(resolution.catalog) or _doubts(resolution):
        return
    gpus = left & resolution.catalog.having(keys.GPU_COUNT)
    what, key = ("GPU", "nvidia.com/gpu") if gpus else ("accelerator", "aws.amazon.com/neuron")
    found = resolve.cheapest(resolution.catalog, left)
    cost = f", from ${found[0]:,.2f} an hour (`{found[1]}`)" if found else ""
    yield Finding(
        at=pool.name_node,
        message=f"the {what} nodes have no taint, so they also run pods that need no {what}{cost}",
        help=f"add `taints: [{{key: {key}, effect: NoSchedule}}]`, and the toleration to pods that need one",
    )


def _doubts(resolution: resolve.Resolution) -> bool:
    """Return whether the NodePool may allow types without a device. Retired families of GPUs do not count."""
    old = {
        id(line.node)
        for line in resolution.lines
        if line.values
        and all(
            type_names.accelerated_once(value) or value in resolution.catalog.values(line.key)
            for value in line.values
        )
    }
    return any(id(fact.at) not in old for fact in fixes.doubts(resolution))
