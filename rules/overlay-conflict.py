r"""Two NodeOverlays of one weight that price the same instance types: Karpenter takes one and rejects the other.

The overlay whose name sorts last is read first. The other one is in conflict with it as soon as one offering of one
NodePool is meant by both: none of it is used, for other types neither, and its status says so. Give one of them a
heavier weight, which wins where both apply, or requirements that keep them apart.

Overlays of one file are compared; those of other files of the folder are mentioned, for they may be alternatives.

```yaml bad
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer-generation-5
spec:
  weight: 10
  requirements:
    - {key: karpenter.k8s.aws/instance-generation, operator: In, values: ["5"]}
  priceAdjustment: "+45%"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer-intel
spec:
  weight: 10
  requirements:
    - {key: karpenter.k8s.aws/instance-cpu-manufacturer, operator: In, values: [intel]}
  priceAdjustment: "+10%"
```

```yaml good
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer-generation-5
spec:
  weight: 20
  requirements:
    - {key: karpenter.k8s.aws/instance-generation, operator: In, values: ["5"]}
  priceAdjustment: "+45%"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: dearer-intel
spec:
  weight: 10
  requirements:
    - {key: karpenter.k8s.aws/instance-cpu-manufacturer, operator: In, values: [intel]}
  priceAdjustment: "+10%"
```
"""

import os

from nodelint.api import Also, Context, Finding, Findings, catalog, manifest, messages, requirement, rule


@rule(
    on=manifest.NodeOverlay,
    group="hazard",
    releases=">=1.7.0",
    gives_way_to=["duplicate-name"],
    subject="pools",
    source=[
        "core:pkg/controllers/nodeoverlay/controller.go@v1.14.0:73",
        "https://karpenter.sh/docs/concepts/nodeoverlays/",
    ],
)
def check(overlay: "manifest.NodeOverlay", context: Context) -> Findings:
    if not _prices(overlay) or not isinstance(overlay.name, str):
        return
    for other in context.objects:
        if not isinstance(other, manifest.NodeOverlay) or not _is_before(other, overlay):
            continue
        shared = _shared(overlay, other, context.catalog)
        if shared:
            name = messages.short(str(other.name), 30)
            types = messages.counted(shared, "instance type")
            yield Finding(
                at=overlay.name_node,
                message=f"rejected beside `{name}`: both have weight {overlay.weight} and price {types}",
                severity=None if other.source is overlay.source else "info",
                also=[Also(other.name_node, "read first, for its name sorts last")],
                note="none of it is used then, for other types neither",
                help="give one of them a heavier weight, or requirements that keep them apart",
            )
            return


def _is_before(other: "manifest.NodeOverlay", overlay: "manifest.NodeOverlay") -> bool:
    """Whether it stands in the same folder, has the same weight, and is read before the other one."""
    folder, own = (os.path.dirname(each.source.path) for each in (other, overlay))
    last = isinstance(other.name, str) and other.name > str(overlay.name)
    return folder == own and last and other.weight == overlay.weight and _prices(other)


def _prices(overlay: "manifest.NodeOverlay") -> bool:
    """Whether its weight is known, and it says what instance types cost."""
    fields = ("price", "priceAdjustment")
    priced = any(overlay.node.at("spec", field) is not None for field in fields)
    return priced and not overlay.partial and overlay.weight is not None


def _shared(one: "manifest.NodeOverlay", two: "manifest.NodeOverlay", known: "catalog.Catalog") -> int:
    """How many instance types both mean; 0 where something else keeps them apart, or is not known."""
    types = known.all
    asked: dict[str, requirement.Requirement] = {}
    for line in (*one.requirements, *two.requirements):
        made = _made(line)
        if made is None:
            return 0
        both = made.intersect(asked.get(made.key, made))
        if not both.length:
            return 0
        asked[made.key] = both
        if made.key in known.keys:
            types &= known.select(made)
    return len(types)


def _made(line: "manifest.RequirementLine") -> "requirement.Requirement | None":
    """What a line asks for; None where that is not known, or refused."""
    if not line.known or not isinstance(line.key, str) or not isinstance(line.operator, str):
        return None
    try:
        return requirement.Requirement.of(line.key, line.operator, line.texts)
    except ValueError:
        return None
