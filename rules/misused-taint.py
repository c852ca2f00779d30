"""A taint was probably meant as a toleration, or Karpenter or Kubernetes sets and removes the taint itself.

- `Exists` and `Equal` are operators of a pod's toleration. As the value of a taint they are ordinary strings. A
  toleration with `operator: Exists` still matches. A toleration with the intended value does not.
- Karpenter puts `karpenter.sh/unregistered:NoExecute` on each node and removes it after the node has registered. As a
  startup taint of yours it does nothing. With another effect, nobody removes it: the node never counts as
  initialized, so Karpenter never consolidates it.
- Such a key among `taints` excludes all pods that do not tolerate it, so Karpenter launches no node of the pool for
  them.
- A key can be misspelt. System pods tolerate exactly `CriticalAddonsOnly`, and the EBS CSI driver removes exactly
  `ebs.csi.aws.com/agent-not-ready`.
- Nothing removes a startup taint with the domain `example.com`, which is copied from Karpenter's documentation, or
  one with an invented key of `karpenter.sh`. Karpenter never removes startup taints of yours.
- `node.kubernetes.io/not-ready` and `node.kubernetes.io/unreachable` belong to Kubernetes in the same way.

The fix removes the entry. Taints are part of the template, so Karpenter replaces the pool's nodes.

```yaml bad frame=pool
spec.template.spec.taints:
  - key: nvidia.com/gpu
    value: Exists
    effect: NoSchedule
spec.template.spec.startupTaints:
  - key: karpenter.sh/unregistered
    effect: NoExecute
  - key: node.cilium.io/agent-not-ready
    value: "true"
    effect: NoExecute
```

```yaml bad frame=pool
spec.template.spec.startupTaints:
  - key: example.com/another-taint
    effect: NoSchedule
  - key: ebs.csi.aws.com/agent-not-ready
    effect: NoExecute
```
"""

from collections.abc import Iterator

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, edits, manifest, messages, rule, taints


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["controller-check", "invalid-field"],
    providers=EVERY_PROVIDER,
    renamed=("odd-taint",),
    mentions=["aints"],
    subject="pools",
    source=[
        "core:pkg/scheduling/taints.go@v1.14.0:35",
        "core:pkg/apis/v1/taints.go@v1.14.0:27",
        "https://kubernetes.io/docs/reference/labels-annotations-taints/",
    ],
)
def check(pool: NodePool, context: Context) -> Findings:
    for taint in (*pool.taints, *pool.startup_taints):
        node = taint.node.get("value")
        if node is not None and taint.value in ("Exists", "Equal"):
            yield Finding(
                at=node,
                message=f"`{taint.value}` is an operator of tolerations, but this taint has it as its value",
                edits=edits.if_editable(edits.remove, node),
                help="remove the value, or set the one that pods tolerate",
            )
    for startup, listed in ((False, pool.taints), (True, pool.startup_taints)):
        for taint in listed:
            yield from _own(taint, startup, pool, context)


def _own(taint: manifest.Taint, startup: bool, pool: NodePool, context: Context) -> Iterator[Finding]:
    """Yield a finding for a taint whose key belongs to another program, is almost such a key, or is a startup taint
    that no known program removes.
    """
    if not isinstance(taint.key, str) or not isinstance(taint.effect, str):
        return
    meant = taints.meant_taint(taint.key, startup)
    if meant is not None:
        yield _slip(taint, meant, startup)
        return
    owner = taints.owner_of_taint(taint.key)
    if owner is None and startup and taints.of_nobody(taint.key):
        yield _left_on(taint)
    if owner is None or taint.effect == "PreferNoSchedule":
        return
    drop = edits.if_editable(edits.remove, taint.node)
    name = f"`{taint.key}:{taint.effect}`"
    tolerated = owner.name == "Kubernetes" and taint.effect == "NoExecute"  # by what admission gives every pod
    if not startup and not tolerated:
        yield Finding(
            at=taint.node,
            message=f"{owner.name} sets {name} itself: in `taints` it excludes all pods without a toleration",
            edits=drop,
        )
    elif taint.effect in owner.effects:
        late = owner.name == "Karpenter" and _is_custom(pool, context)
        does = "with the family Custom, Karpenter sets it too late" if late else f"{owner.name} sets and removes it"
        yield Finding(
            at=taint.node,
            message=f"{name} has no effect as a startup taint: {does}",
            severity="info",
            edits=drop,
            help="register the node with it in the userData: `--register-with-taints`" if late else None,
        )
    else:
        yield Finding(
            at=taint.node,
            message=f"nothing removes {name}: no node ever becomes initialized",
            severity="error",
            edits=drop,
            help=f"remove the entry: {owner.name} sets and removes the taint with the effect "
            f"{' or '.join(owner.effects)}",
        )


def _is_custom(pool: NodePool, context: Context) -> bool:
    """Return whether the class of a pool has the amiFamily Custom, so that the user data, not Karpenter, joins the
    nodes to the cluster.
    """
    node_class = context.node_class(pool)
    return node_class is not None and node_class.ami_family == "Custom"


def _slip(taint: manifest.Taint, meant: str, startup: bool) -> Finding:
    """Return the finding for a taint key that differs only slightly from a key that programs know."""
    at = taint.node.get("key") or taint.node
    written = messages.short(str(taint.key), 40)
    does = f"{taints.remover_of_taint(meant)} removes" if startup else "pods tolerate"
    return Finding(
        at=at,
        message=f"`{written}` is not the taint that {does} (did you mean `{meant}`?)",
        edits=edits.if_editable(edits.set_value, at, meant),
        note="the taint stays on every node: Karpenter waits for its removal and never consolidates the node"
        if startup
        else "a toleration must contain exactly the same key",
    )


def _left_on(taint: manifest.Taint) -> Finding:
    """Return the finding for a startup taint that no known controller removes."""
    return Finding(
        at=taint.node,
        message=messages.first_fitting(
            f"no known controller removes `{taint.key}:{taint.effect}`: no node ever becomes initialized",
            f"no known controller removes `{messages.short(str(taint.key), 40)}`: no node ever becomes initialized",
        ),
        edits=edits.if_editable(edits.remove, taint.node),
        note="Karpenter does not remove startup taints, and it consolidates no node that still has one",
        help="remove the entry, or use the key that your controller removes",
    )
