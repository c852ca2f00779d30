"""The template has a label with a well-known key, which is also a requirement and excludes all other values.

Karpenter adds the template's labels to the pool's requirements. The label `karpenter.sh/capacity-type: spot` means
`karpenter.sh/capacity-type In [spot]`, whatever the requirements allow. The label `kubernetes.io/arch: amd64`
excludes all arm64 types. Karpenter sets these labels on each node anyway, with the node's real values. Readers look
for them under `requirements`. Unlike a requirement, a label is part of the hash, so a change replaces nodes that
would still fit.

If the label excludes values that a requirement of the same key lists, the finding is a warning. Otherwise it is
information. If a requirement has only this value, the label changes nothing but the hash, and only `--select` or
`--extend-select` shows it. The fix moves the label to the
requirements.

```yaml bad frame=pool
spec.template.metadata.labels:
  example.com/team: payments
  karpenter.sh/capacity-type: spot
```
"""

from nodelint.api import (
    Also,
    Context,
    Edit,
    Finding,
    Findings,
    NodePool,
    Severity,
    edits,
    fixes,
    manifest,
    messages,
    requirement,
    rule,
)

OWN = "karpenter.sh/nodepool"
"""The label of Karpenter that this rule leaves to another rule, which reports it as refused."""


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["no-instance-type", "refused-combination", "controller-check", "unknown-value", "unknown-label"],
    mentions=["labels"],
    subject="requirements",
    source="core:pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go@v1.14.0:66",
)
def check(pool: NodePool, context: Context) -> Findings:
    known = requirement.well_known(context.karpenter)
    for label in pool.template_labels:
        if not isinstance(label.key, str) or not isinstance(label.value, str):
            continue
        key = requirement.normalize(label.key)
        if key not in known or key == OWN:
            continue
        lines = [
            line
            for line in pool.requirements
            if isinstance(line.key, str) and requirement.normalize(line.key) == key and line.operator == "In"
        ]
        lost = sorted({value for line in lines for value in line.texts} - {label.value})
        shown = f"`{messages.short(label.key)}: {messages.short(label.value, 20)}`"
        message = f"the label {shown} is also a requirement: Karpenter launches only nodes with this value"
        if lost:
            names = messages.short(", ".join(lost), 24)
            message = f"the label {shown} excludes {names}, which a requirement allows"
        severity: Severity | None = None if lost else "info"
        written = any(line.known_texts == (label.value,) for line in lines)
        yield Finding(
            at=label.key_node,
            message=messages.first_fitting(message, f"the label {shown} is also a requirement"),
            severity=severity,
            edits=[] if lost else edits.if_editable(_moved, pool, label, key, bool(lines)),
            also=[Also(line.node, "this requirement has the same key") for line in lines],
            help="remove the label: Karpenter sets it itself" if lines else "write it as a requirement",
            # Beside a requirement of this value alone the label changes nothing but the hash.
            on_request=written and not lost,
        )


def _moved(pool: NodePool, label: manifest.Label, key: str, there: bool) -> list[Edit]:
    """Return edits that remove a label from the template and add a requirement with its value.

    If `there`, the NodePool has this requirement, and the edits only remove the label.
    """
    assert isinstance(label.value, str)
    gone = edits.remove(label.key_node)
    if there:
        return gone
    added = fixes.require(pool, [(key, "In", (label.value,))])
    return [*gone, *edits.with_comments(added, key, gone, label.node)]
