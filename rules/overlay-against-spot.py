"""A NodeOverlay makes on-demand cheaper than spot, so a pool that allows both launches no spot capacity.

Before a launch, Karpenter removes spot offers that cost more than the cheapest on-demand offer of the same request.
It compares prices after NodeOverlays have changed them. If an overlay reduces the price of on-demand capacity by half
or more (for example for a savings plan), or doubles the price of spot, the order changes. An overlay that should only
prefer some on-demand types then ends spot capacity in the pool.

Spot prices change every hour, and nodelint does not know them, so the finding is only a hint. Usually spot costs 30
to 70 % less than on-demand.

```yaml bad
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: savings-plan
spec:
  requirements:
    - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  priceAdjustment: "-68%"
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
```

```yaml good diff=bad
-  priceAdjustment: "-68%"
+  priceAdjustment: "-10%"
```
"""

import re

from nodelint.api import Also, Context, Finding, Findings, Node, NodePool, keys, manifest, requirement, rule

HALF, DOUBLE = 0.5, 2.0


@rule(
    on=manifest.NodeOverlay,
    group="hazard",
    severity="info",
    releases=">=1.7.0",
    gives_way_to=["controller-check", "invalid-field", "unmatched-overlay", "overlay-conflict", "removed-api"],
    subject="spot",
    source=[
        "https://github.com/aws/karpenter-provider-aws/issues/8704",
        "https://karpenter.sh/docs/concepts/nodeoverlays/",
    ],
)
def check(overlay: "manifest.NodeOverlay", context: Context) -> Findings:
    only = _only_capacity_type(overlay)
    at = overlay.node.find("spec", "priceAdjustment") or overlay.node.find("spec", "price")
    if only not in ("spot", "on-demand") or at is None:
        return
    group = context.overlays.group(overlay)
    types = group.verdict(overlay).types
    for pool in group.pools:
        resolution = context.resolution(pool)
        allowed = resolution.folded.get(keys.CAPACITY_TYPE)
        if not (allowed.admits("spot") and allowed.admits("on-demand")) or not types & resolution.candidates:
            continue
        prices = [
            price for price in (types & resolution.candidates).select(resolution.catalog.prices.column()) if price
        ]
        factor = _factor(at, min(prices, default=None))
        if factor is None or not (factor <= HALF if only == "on-demand" else factor >= DOUBLE):
            continue
        side = "on-demand cheaper than most spot" if only == "on-demand" else "spot more expensive than on-demand"
        yield Finding(
            at=at,
            message=f"the overlay makes {side}: Karpenter then does not launch spot nodes",
            also=[Also(_place(pool), "allows both capacity types")],
            help="change the price of spot by the same percentage, or give on-demand a NodePool of its own",
        )
        return


def _only_capacity_type(overlay: "manifest.NodeOverlay") -> str | None:
    """Return the only capacity type that the requirements of an overlay allow.

    None if they allow several, or the value is not known.
    """
    for line in overlay.requirements:
        if requirement.normalize(str(line.key)) == keys.CAPACITY_TYPE:
            texts = line.known_texts or ()
            return texts[0] if line.operator == "In" and len(texts) == 1 else None
    return None


def _factor(at: Node, cheapest: float | None) -> float | None:
    """Return the price of the cheapest instance type with the overlay, divided by its price without the overlay.

    None if the price is not known.
    """
    written = str(at.value)
    percent = re.fullmatch(r"([+-]\d+(?:\.\d+)?)%", written)
    if percent is not None:
        return 1 + float(percent[1]) / 100
    number = re.fullmatch(r"([+-]?)(\d+(?:\.\d+)?)", written)
    if number is None or not cheapest:
        return None
    amount = float(number[2])
    return (cheapest + float(f"{number[1]}{amount}") if number[1] else amount) / cheapest


def _place(pool: NodePool) -> Node:
    line = next((line for line in pool.requirements if line.key == keys.CAPACITY_TYPE), None)
    return line.values_node if line is not None else pool.name_node
