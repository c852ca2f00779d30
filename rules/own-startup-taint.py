"""No known controller removes a startup taint, so it stays on each node until a program of yours removes it.

Karpenter puts startup taints on a node and never removes them. Pods that do not tolerate the taint wait until
something removes it. Until then the node does not count as initialized, so Karpenter does not consolidate it. The
rule knows the taints that Cilium, Istio, the AWS CSI drivers, the cloud controller manager, the Node Readiness
Controller and Nidhogg remove. For any other taint, check that the program that removes it runs on this pool's nodes
and tolerates their taints.

```yaml bad frame=pool
spec.template.spec.startupTaints:
  - {key: agent-not-ready, effect: NoSchedule}
```

```yaml good frame=bad
spec.template.spec.startupTaints:
  - {key: node.cilium.io/agent-not-ready, effect: NoSchedule}
```
"""

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, messages, rule, taints


@rule(
    on=NodePool,
    group="practice",
    severity="info",
    gives_way_to=["misused-taint", "controller-check", "invalid-field"],
    providers=EVERY_PROVIDER,
    mentions=["startupTaints"],
    subject="pools",
    source=[
        "core:pkg/controllers/nodeclaim/lifecycle/initialization.go@v1.14.0:116",
        "https://karpenter.sh/docs/concepts/nodepools/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    for taint in pool.startup_taints:
        key = taint.key
        if not isinstance(key, str) or not key or not isinstance(taint.effect, str):
            continue
        known = taints.remover_of_taint(key) or taints.owner_of_taint(key) or taints.meant_taint(key, startup=True)
        if known is None:
            yield Finding(
                at=taint.node,
                message=f"no known controller removes `{messages.short(key, 40)}`: it stays on each node until you "
                "remove it",
                note="Karpenter does not remove startup taints: pods wait, and Karpenter does not consolidate the "
                "node",
                help="check that the program that removes it runs on these nodes and tolerates their taints",
            )
