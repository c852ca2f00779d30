r"""A taint that a network or storage agent removes from new nodes is in `taints` instead of `startupTaints`.

Cilium and the CSI drivers of EBS, EFS and FSx remove a taint when they are ready, so that no pod starts before.
Karpenter assumes that a startup taint disappears, and plans the node for pods that do not tolerate it. It assumes
that a taint in `taints` stays. A pod without a toleration then fits no node of the pool and stays Pending, although
it could run a minute later.

The fix moves the taint. It is unsafe, because the hash of the template changes and Karpenter replaces nodes.

```yaml bad frame=pool
spec.template.spec.taints:
  - {key: node.cilium.io/agent-not-ready, value: "true", effect: NoExecute}
```
"""

from nodelint.api import (
    EVERY_PROVIDER,
    Context,
    Edit,
    Finding,
    Findings,
    Node,
    NodePool,
    edits,
    messages,
    rule,
    taints,
)


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["controller-check", "invalid-field", "removed-api"],
    providers=EVERY_PROVIDER,
    mentions=["aints"],
    subject="pools",
    source=[
        "core:pkg/controllers/nodeclaim/lifecycle/initialization.go@v1.14.0:116",
        "https://docs.cilium.io/en/stable/installation/taints/",
    ],
    cel=(
        "!has(object.spec.template.spec.taints) || object.spec.template.spec.taints.all(t, "
        "!t.key.endsWith('/agent-not-ready') || !(t.key.startsWith('nidhogg.uswitch.com/') || "
        "t.key.startsWith('readiness.k8s.io/') || t.key in ['ebs.csi.aws.com/agent-not-ready', "
        "'efs.csi.aws.com/agent-not-ready', 'fsx.csi.aws.com/agent-not-ready', "
        "'node.cilium.io/agent-not-ready', 's3.csi.aws.com/agent-not-ready']))"
    ),
)
def check(pool: NodePool, context: Context) -> Findings:
    spec = pool.node.find("spec", "template", "spec")
    for taint in pool.taints:
        remover = taints.remover_of_taint(taint.key) if isinstance(taint.key, str) else None
        if remover is None or spec is None or not str(taint.key).endswith("/agent-not-ready"):
            continue
        yield Finding(
            at=taint.node,
            message=f"`{messages.short(str(taint.key), 40)}` belongs in `startupTaints`: {remover} removes it",
            edits=edits.if_editable(_moved, spec, taint.node),
            note="in `taints` it excludes every pod that does not tolerate it: such pods stay Pending",
        )


def _moved(spec: Node, taint: Node) -> list[Edit]:
    """Return edits that rename `taints` to `startupTaints`.

    Raise NotEditable if the NodePool has other taints or startup taints.
    """
    taints, key = spec.get("taints"), spec.key("taints")
    if taints is None or key is None or len(taints.items) != 1 or spec.get("startupTaints") is not None:
        raise edits.NotEditable("there are other taints or startup taints")
    return edits.set_value(key, "startupTaints")
