"""A NodePool of EKS Auto Mode lets nodes live longer than the 21 days that Auto Mode allows.

Auto Mode replaces every node after 21 days at the latest. Its API server refuses a NodePool if `expireAfter` plus
`terminationGracePeriod` (24h if it is not set) is more than 504h. A GitOps tool then fails to sync the whole folder.
Karpenter's own default of `720h`, which is often copied from its documentation, is too long. So is `Never`.

The rule treats a NodePool as one of Auto Mode if its `nodeClassRef` names the group `eks.amazonaws.com`.

```yaml bad frame=pool
spec.template.spec.expireAfter: 720h
spec.template.spec.nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, controller, edits, rule


@rule(
    on=NodePool,
    group="correctness",
    fix="safe",
    gives_way_to=["invalid-field"],
    providers=["auto-mode"],
    subject="disruption",
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html",
        "https://docs.aws.amazon.com/eks/latest/userguide/auto-reference.html",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    found = controller.lifetime(pool)
    if found is None or not found.too_long:
        return
    life = f"plus a grace period of {found.grace:g}h is {found.expire + found.grace:g}h" if found.expire else ""
    yield Finding(
        at=found.node,
        message=f"`{found.node.value}` {life or 'sets no limit'}: EKS Auto Mode allows at most {found.longest}h",
        edits=edits.if_editable(edits.set_value, found.node, f"{found.offer}h") if found.offer is not None else [],
        note="the API server refuses the NodePool if expireAfter plus terminationGracePeriod is more than 21 days",
    )
