r"""Two NodeOverlays with the same weight set the price of the same offer, or add the same resource to the same type.

Karpenter processes overlays by weight, the highest first. If several have the same weight, the name that is last in
the alphabet is first. Karpenter accepts or rejects an overlay as a whole. An overlay is rejected if an accepted
overlay of the same weight already sets the price of one offer of one NodePool, or already adds the resource to one
instance type. Karpenter then ignores it for all types. The status says so, but does not name the other overlay. A
rejected overlay blocks no other one. The NodePools of the cluster count with their names, their template labels and
the offers of their classes. Their requirements do not count.

Give one overlay a higher weight, which wins if both apply, or add requirements that separate them.

The rule compares overlays of one file or of one cluster. For other files of a folder, the severity is info,
because they may be alternatives.

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
            f"Karpenter rejects this overlay: `{name}` also has weight {overlay.weight}, and both {what} {types}",
            f"Karpenter rejects this overlay: `{name}` also has weight {overlay.weight}, and both add one resource",
        ),
        severity=None if together else "info",
        also=[Also(other.name_node, "accepted first, because its name sorts last")],
        note="Karpenter then ignores this overlay for all instance types",
        help="give one of them a higher weight, or requirements that separate them",
    )
