r"""Two NodeOverlays of one weight that price the same offer, or bring the same resource to the same instance type.

Karpenter takes overlays one by one, the heaviest first, and of one weight those first whose names sort last. It
accepts each as a whole or rejects it: an overlay is in conflict as soon as one offer of one NodePool has a price from
an accepted overlay of the same weight already, or one instance type has the resource from it. None of it is used
then, for other types neither, and its status says so, but not with which other one. An overlay that only a rejected
one would be in the way of is accepted. The NodePools of the same cluster decide: their names, the labels of their
templates and what their classes offer; their requirements do not count.
Give one of the two a higher weight, which wins where both apply, or requirements that keep them apart.

Overlays of one file, or built for one cluster, are compared; conflicts among other files of a folder are mentioned,
for they may be alternatives.

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

```yaml good frame=bad
spec.weight: 20
```
"""

from nodelint.api import Also, Context, Finding, Findings, manifest, messages, rule


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
    fellows = (other for other in context.objects if isinstance(other, manifest.NodeOverlay) and other is not overlay)
    if overlay.partial or not any(other.weight == overlay.weight for other in fellows):
        return
    verdict = context.overlays.group(overlay).verdict(overlay)
    other = verdict.other
    if verdict.standing != "conflict" or other is None:
        return
    name = messages.short(str(other.name), 30)
    types = messages.counted(len(verdict.shared), "instance type")
    what = "set the price of" if verdict.over == "price" else f"add {messages.short(verdict.over, 30)} to"
    together = other.source is overlay.source or bool(overlay.source.cluster)
    yield Finding(
        at=overlay.name_node,
        message=messages.first_fitting(
            f"Karpenter rejects it: `{name}` also has weight {overlay.weight}, and both {what} {types}",
            f"Karpenter rejects it: `{name}` also has weight {overlay.weight}, and both add one resource",
        ),
        severity=None if together else "info",
        also=[Also(other.name_node, "accepted first, because its name sorts last")],
        note="Karpenter then ignores this overlay on all instance types",
        help="give one of them a higher weight, or requirements that keep them apart",
    )
