r"""A NodePool lists or allows sizes such as `nano` and `micro`, whose nodes have room for four pods.

The network interfaces of these types have few pod addresses, and little memory is free (74 MiB on a `t3.nano`). The
VPC CNI, kube-proxy and the CSI driver already need three pods on every node. Karpenter counts the DaemonSets and
skips a type without room for more, so the value has no effect. If one pod fits, Karpenter starts a node for it alone.
The rule reports nothing if the class sets `maxPods`.

The fix removes the values. It is unsafe because Karpenter replaces running nodes of these sizes.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-type
    operator: In
    values: ["t3.micro", "t3.medium", "t3.large"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [nano, micro, medium, large]}
```

In the strict profile, the rule also reports a NodePool that names the category `t` and restricts no sizes. With
`--select` or `--extend-select`, it also reports other requirements that allow such sizes without listing them.

Karpenter launches the cheapest type on which the waiting pods and the DaemonSets fit. For one small pod that is a
small node, and the next pod gets another one. With a lower bound on CPUs or memory, a node has enough room for its
DaemonSets and pods.

It also reports listed sizes and types with 2 GiB of memory, such as `small` of the `t` types, because system and
kubelet use a third of it.

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [nano, micro, small]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [small, medium]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
  - {key: karpenter.k8s.aws/instance-size, operator: In, values: [medium]}
```
"""

from collections.abc import Sequence
from functools import partial

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    RuleCheck,
    edits,
    fixes,
    keys,
    manifest,
    messages,
    pool_requirements,
    quantities,
    resolve,
    rule,
    run_checks,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "unmatchable-value", "removed-api"],
    renamed=("tiny-type", "small-types-left"),
    options={
        "pods": "the most pods of a node that are hardly more than its daemonsets",
        "mib": "MiB of memory for pods: types with 2 GiB have less, and daemonsets take much of it",
    },
    subject="instance types",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:576",
        "https://docs.aws.amazon.com/eks/latest/userguide/choosing-instance-type.html",
    ],
)
def check(pool: NodePool, context: Context, *, pods: int = 4, mib: int = 1536) -> Findings:
    yield from run_checks(
        pool,
        context,
        RuleCheck(partial(_check_listed, few=pods)),
        RuleCheck(partial(_check_left, few=pods, little=mib), severity="info", strict=True),
    )


def _check_listed(pool: NodePool, context: Context, few: int) -> Findings:
    for item in pool_requirements.requirements_of(pool):
        if item.key not in (keys.SIZE, keys.INSTANCE_TYPE) or item.operator != "In":
            continue
        if not any(str(text).endswith(("nano", "micro")) for text in item.texts):
            continue
        resolution = context.resolution(pool)
        node_class = resolution.node_class
        if node_class is not None and node_class.max_pods_node is not None:
            return
        tiny = [value for value in item.values if _tiny(item.key, value, resolution, few)]
        if tiny:
            yield _finding(item, tiny, resolution)


def _tiny(key: str, value: manifest.Value, resolution: resolve.Resolution, few: int) -> bool:
    """Return whether all allowed instance types of a value run at most `few` pods."""
    types = resolution.catalog.having_value(key, str(value.text)) & resolution.candidates
    names = resolution.catalog.names_in(types)
    return bool(names) and all(
        int(resolution.catalog.resources.amounts(name).get("pods", "0")) <= few for name in names
    )


def _most_pods(key: str, texts: Sequence[str], resolution: resolve.Resolution) -> int:
    """Return the most pods that a node of the instance types of some values runs."""
    types = resolution.catalog.having_value(key, *texts) & resolution.candidates
    return max(
        int(resolution.catalog.resources.amounts(name).get("pods", "0"))
        for name in resolution.catalog.names_in(types)
    )


def _finding(
    item: pool_requirements.PoolRequirement, tiny: Sequence[manifest.Value], resolution: resolve.Resolution
) -> Finding:
    texts = [str(value.text) for value in tiny]
    most = _most_pods(item.key, texts, resolution)
    all = len(texts) == len(item.values) or not isinstance(item.at, RequirementLine)
    return Finding(
        at=fixes.visible_node(tiny[0].node),
        message=f"{', '.join(f'`{text}`' for text in texts[:3])}: a node runs {most} pods, DaemonSets included",
        worse=all,
        edits=edits.if_editable(fixes.take_out, item.at, texts)
        if isinstance(item.at, RequirementLine) and not all
        else [],
        covers=[value.node for value in tiny],
        help="use `medium` or larger" if not all else "use larger types: DaemonSets need room as well",
    )


def _check_left(pool: NodePool, context: Context, few: int, little: int) -> Findings:
    if pool.partial or pool.class_ref is None:
        return
    resolution = context.resolution(pool)
    node_class = resolution.node_class
    if node_class is not None and node_class.max_pods_node is not None:
        return
    listed = [item for item in pool_requirements.requirements_of(pool) if item.key in (keys.SIZE, keys.INSTANCE_TYPE)]
    if any(item.operator == "In" for item in listed):
        yield from _listed([item for item in listed if item.operator == "In"], resolution, few, little)
    else:
        yield from _let_in(pool, resolution, few)


def _listed(
    items: Sequence[pool_requirements.PoolRequirement], resolution: resolve.Resolution, few: int, little: int
) -> Findings:
    """Yield a finding for listed values whose instance types all have little memory for pods."""
    for item in items:
        small = [
            value
            for value in item.values
            if isinstance(value.text, str) and _memory(item.key, value.text, resolution, few, little)
        ]
        if small:
            texts = [str(value.text) for value in small]
            most = max(_memory(item.key, text, resolution, few, little) for text in texts)
            names = messages.list_first([f"`{text}`" for text in texts], 3)
            yield Finding(
                at=fixes.visible_node(small[0].node),
                on_request=True,
                message=f"{names}: a node has {most / 1024:.1f} GiB of memory for pods, DaemonSets included",
                covers=[value.node for value in small],
                help="use larger types: DaemonSets need the same room on each node",
            )


def _memory(key: str, text: str, resolution: resolve.Resolution, few: int, little: int) -> int:
    """Return the MiB for pods on the largest instance type of a value if this is less than `little`, else 0."""
    catalog = resolution.catalog
    names = catalog.names_in(catalog.having_value(key, text) & resolution.candidates)
    resources = [catalog.resources.amounts(name) for name in names]
    if all(int(resource.get("pods", "0")) <= few for resource in resources):
        return 0  # `_check_listed` says so
    most = max(quantities.billionths(resource.get("memory", "0")) // quantities.ONE >> 20 for resource in resources)
    return most if most < little else 0


def _let_in(pool: NodePool, resolution: resolve.Resolution, few: int) -> Findings:
    """Yield a finding for allowed instance types that run at most `few` pods, if no requirement lists types."""
    catalog = resolution.catalog
    names = catalog.names_in(resolution.candidates & catalog.having_value(keys.SIZE, "nano", "micro"))
    pods = {name: int(catalog.resources.amounts(name).get("pods", "0")) for name in names}
    small = [name for name in names if pods[name] <= few]
    if not small or fixes.doubts(resolution):
        return
    category = pool_requirements.find_last_requirement(pool, keys.CATEGORY)
    shown, most = messages.short(", ".join(sorted(small)), 40), max(pods[name] for name in small)
    names_burstable = category is not None and category.operator == "In" and "t" in category.texts
    yield Finding(
        at=fixes.visible_node(category.key_node) if category is not None else fixes.place(pool),
        on_request=not names_burstable,  # of other categories, only old generations have such sizes
        once=True,
        message=f"the NodePool allows types that run only {most} pods, DaemonSets included: {shown}",
        help="require `instance-cpu Gt 1` and `instance-memory Gt 3000`, or exclude the sizes nano, micro and small",
    )
