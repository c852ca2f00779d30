r"""A NodeOverlay selects no instance type of any NodePool, or has a value that no instance type has.

Karpenter accepts such an overlay and marks it as valid, but it changes no price and no capacity. Of a NodePool, an
overlay sees the name (`karpenter.sh/nodepool`) and the labels of `spec.template.metadata.labels`. It does not see a
label that is only in the pool's requirements, nor a label that a node gets in another way. All other keys are labels
of instance types and their offerings.

The rule considers NodePools of the same cluster, otherwise those of the nearest folder around the file. If there is
no pool, or one is only partly known, the rule does not judge names and labels of pools. Without facts it does not
know zones.

```yaml bad
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer-graviton
spec:
  requirements:
    - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m8h, m8g]}
    - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  priceAdjustment: "+10%"
```

```yaml good frame=bad
spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m8g]}
  - {key: kubernetes.io/arch, operator: In, values: [arm64]}
```
"""

from nodelint.api import (
    Context,
    Finding,
    Findings,
    RequirementLine,
    labels,
    manifest,
    messages,
    node_overlays,
    requirement,
    rule,
)


@rule(
    on=manifest.NodeOverlay,
    group="correctness",
    severity="warning",
    releases=">=1.7.0",
    gives_way_to=["controller-check", "invalid-field", "removed-api"],
    subject="pools",
    source=[
        "core:pkg/controllers/nodeoverlay/controller.go@v1.14.0:231",
        "https://karpenter.sh/docs/concepts/nodeoverlays/",
    ],
)
def check(overlay: "manifest.NodeOverlay", context: Context) -> Findings:
    if overlay.partial:
        return
    dead = [finding for line in overlay.requirements for finding in _find_dead_values(line, context)]
    yield from (finding for _, finding in dead)
    group = context.overlays.group(overlay)
    verdict = group.verdict(overlay)
    if verdict.reach is None or verdict.types or any(wholly for wholly, _ in dead):
        return
    if group.pools and not group.is_whole:
        return
    line = _find_unmet_line(overlay, group.views, context)
    where = f"of {messages.counted(len(group.views), 'NodePool')}" if group.pools else "of the catalogue"
    if line is None:
        yield Finding(
            at=overlay.name_node,
            message=f"the overlay has no effect: no instance type {where} meets all of its requirements",
            help="compare the requirements with `nodelint explain`, which lists the types of each NodePool",
        )
        return
    key = messages.short(str(line.key), 40)
    is_of_type = requirement.normalize(str(line.key)) in requirement.well_known(context.karpenter) - {
        node_overlays.POOL_KEY
    }
    named = "has this name" if line.key == node_overlays.POOL_KEY else f"has this value of the label `{key}`"
    yield Finding(
        at=line.node,
        message=messages.first_fitting(
            f"the overlay has no effect: no instance type {where} has this value of `{key}`"
            if is_of_type
            else f"the overlay has no effect: no NodePool {named}",
            "the overlay has no effect: no instance type meets this requirement",
        ),
        note=None if is_of_type else "an overlay sees only the name of a NodePool and the labels of its template",
        help="correct the value, or compare it with `nodelint explain`" if is_of_type else "correct the value",
    )


def _find_dead_values(line: RequirementLine, context: Context) -> list[tuple[bool, Finding]]:
    """Return a finding for each value that no instance type has, with whether all values of the line are such."""
    if line.operator != "In" or not isinstance(line.key, str) or not line.known:
        return []
    key = requirement.normalize(line.key)
    dead = [v for v in line.values if labels.can_have(key, str(v.text), context.catalog) is False]
    found = []
    for value in dead:
        near = labels.nearest_value(key, str(value.text), context.catalog)
        wholly = len(dead) == len(line.values)
        shown = messages.short(str(value.text), 20)
        message = f"no instance type has {labels.name_of(key)} `{shown}`"
        meant = f" (did you mean `{near}`?)" if near is not None else ""
        note = "the overlay has no effect" if wholly else "the overlay applies to the other values only"
        help_text = "correct the value, or remove it from the list"
        found.append((wholly, Finding(at=value.node, message=f"{message}{meant}", note=note, help=help_text)))
    return found


def _find_unmet_line(
    overlay: "manifest.NodeOverlay", views: "tuple[node_overlays.OverlaidPool, ...]", context: Context
) -> RequirementLine | None:
    """Return the first requirement that no instance type of a NodePool meets, even without the others.

    None if each is met.
    """
    for line in overlay.requirements:
        requirements = node_overlays.read_requirements([line], context.karpenter)
        reach = (
            [pool.find_offers(requirements, context.karpenter) for pool in views] if requirements is not None else []
        )
        if reach and not any(types for offers in reach for types in offers or ()):
            return line
    return None
