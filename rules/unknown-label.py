r"""A key looks like one of Karpenter's labels but is not one, so no instance type has it.

In the domain `karpenter.k8s.aws`, the API server refuses the key. In other domains, Karpenter silently treats it as a
custom label: `node.kubernetes.io/instance-category In [m]` excludes nothing, it only puts the label on every node.
Labels of EKS Auto Mode (`eks.amazonaws.com/instance-category`) mean nothing to self-managed Karpenter. The rule
ignores keys in your own domain. It ignores keys without a domain, unless their values are those of a well-known
label. A key in `spec.template.metadata.labels` is a warning, because it may be intended. If the pool also has a
requirement on the well-known label, there is no finding.

EKS puts `eks.amazonaws.com/capacityType` on the nodes of its node groups. Karpenter accepts it as a custom label and
writes it on nodes whatever it launches. It is useful for pods that select it, but it is correct only if
`karpenter.sh/capacity-type` allows no other value.

```yaml bad frame=pool
spec.template.spec.requirements:
  - key: node.kubernetes.io/instance-category
    operator: In
    values: ["c", "m", "r"]
  - key: karpenter.k8s.aws/instance-famly # no t
    operator: NotIn
    values: ["t3"]
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: "eks.amazonaws.com/instance-generation", operator: Gt, values: ["4"]}
  - {key: "capacity-type", operator: In, values: ["spot"]}
```

```yaml bad frame=pool
spec.template.spec.requirements:
  - {key: eks.amazonaws.com/capacityType, operator: In, values: [SPOT]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
```

```yaml good frame=bad
spec.template.spec.requirements:
  - {key: eks.amazonaws.com/capacityType, operator: In, values: [SPOT]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
```
"""

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    Suggestion,
    edits,
    fixes,
    keys,
    labels,
    messages,
    pool_requirements,
    remedies,
    rule,
)

NODE_GROUP_LABEL = "eks.amazonaws.com/capacityType"
CAPACITY = {"SPOT": "spot", "ON_DEMAND": "on-demand"}
"""The values of the node group label, each with the capacity type of Karpenter."""


@rule(
    on=NodePool,
    group="correctness",
    fix="unsafe",
    gives_way_to=["removed-api"],
    subject="requirements",
    source=[
        "core:pkg/apis/v1/labels.go@v1.14.0:75",
        "provider:pkg/apis/v1/labels.go@v1.14.1:39",
        "core:pkg/scheduling/requirements.go@v1.14.0:181",
        "https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html",
    ],
    tags=["admission", "release-dependent"],
)
def check(pool: NodePool, context: Context) -> Findings:
    items = list(pool_requirements.requirements_of(pool))
    for item in items:
        near = labels.nearest_key(item, context.catalog)
        if near is None:
            continue
        other = next((requirement for requirement in items if requirement.key == near.key), None)
        refused = _refused(pool, item, context)
        if item.is_label and other is not None and not refused:
            continue  # another requirement restricts the pool: this label is only for readers
        if item.is_label and not refused and not _a_value_of(item, near.key, context):
            continue  # `instance-category: local-disks` is a word of one's own, not a slip in Karpenter's
        renamed = edits.if_editable(edits.set_key if item.is_label else edits.set_value, item.key_node, near.key)
        fixed = near.sure and other is None
        yield Finding(
            at=item.key_node,
            message=_message(item.written, near.key),
            severity="warning" if item.is_label and not refused else None,
            edits=renamed if fixed else [],
            safety="safe" if refused else "unsafe",
            also=[Also(other.key_node, f"a requirement on `{other.key}`")] if other is not None else (),
            note="the API server refuses this key"
            if refused
            else "Karpenter treats it as a custom label, which excludes no instance type",
            suggestions=[] if fixed else _ways(item, near.key, renamed, other is not None),
        )
    yield from _check_node_group_label(pool, items, context)


def _check_node_group_label(
    pool: NodePool, items: list[pool_requirements.PoolRequirement], context: Context
) -> Findings:
    """Yield a finding for a capacity type in the label of EKS node groups if Karpenter may launch another capacity
    type.
    """
    labelled = [item for item in items if item.key == NODE_GROUP_LABEL and item.operator == "In" and item.known]
    if not labelled or pool.partial or any(not isinstance(line.key, str) for line in pool.requirements):
        return
    if fixes.doubts(context.resolution(pool), (keys.CAPACITY_TYPE,)):
        return
    left = set(context.resolution(pool).capacity_types) & set(CAPACITY.values())
    for item in labelled:
        others = sorted(left - {CAPACITY.get(text) for text in item.texts})
        if others:
            written = ", ".join(item.texts)
            yield Finding(
                at=item.key_node,
                message=f"Karpenter only copies this label of EKS node groups: nodes labelled `{written}` can "
                f"be {others[0]}",
                severity="warning",
                help=f"require `{keys.CAPACITY_TYPE}`: only this label decides what Karpenter launches",
            )


def _ways(item: pool_requirements.PoolRequirement, key: str, renamed: list[Edit], repeats: bool) -> list[Suggestion]:
    """Return suggestions to write the key that was probably meant, or to remove the requirement.

    If `repeats`, the pool already uses this key, and only the removal is suggested.
    """
    gone = edits.if_editable(edits.remove, item.key_node if item.is_label else item.node)
    return remedies.list_suggestions(
        [
            ("" if repeats else f"write `{key}`", [] if repeats else renamed),
            (f"remove `{messages.short(item.key, 50)}`", gone),
        ]
    )


def _a_value_of(item: pool_requirements.PoolRequirement, key: str, context: Context) -> bool:
    """Return whether a well-known key can have the values of a label. True for a placeholder."""
    return all(labels.can_have(key, value, context.catalog) is not False for value in item.texts)


def _message(written: str, near: str) -> str:
    if written.startswith("eks.amazonaws.com/"):
        return messages.first_fitting(
            f"`{written}` belongs to EKS Auto Mode; Karpenter's label is `{near}`",
            f"`{messages.short(written, 40)}`: use `{near}`, the domain belongs to EKS Auto Mode",
            f"the domain belongs to EKS Auto Mode; Karpenter's label is `{near}`",
        )
    return messages.first_fitting(
        f"`{written}` is not a label of instance types (did you mean `{near}`?)",
        f"`{written}` does not exist, use `{near}`",
        f"`{messages.short(written, 36)}` does not exist, use `{near}`",
    )


def _refused(pool: NodePool, item: pool_requirements.PoolRequirement, context: Context) -> bool:
    """Return whether the API server refuses the pool because of this key. Such a pool has no nodes."""
    if item.key.startswith(("karpenter.k8s.aws/", "karpenter.sh/")):
        return True  # it admits none but those it knows, though it may name another fault first
    return any(
        problem.node.start <= item.key_node.start and item.key_node.end <= problem.node.end
        for problem in context.problems(pool)
    )
