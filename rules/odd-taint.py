"""A taint that was meant as a toleration, or one that Karpenter or Kubernetes sets and removes itself.

- The value `Exists` or `Equal` is an operator of a pod's toleration. As a taint's value it is a text like any other:
  a toleration with `operator: Exists` still matches, one with the value that was meant does not.
- `karpenter.sh/unregistered:NoExecute` is put on each node by Karpenter and removed once the node has registered. As
  a startup taint it does nothing. With another effect nobody removes it: the node never counts as initialized, so
  that it takes no pods and is never consolidated.
- Among `taints` such a key keeps away all pods that do not tolerate it. Karpenter launches no node of the pool for
  them.
- `node.kubernetes.io/not-ready` and `node.kubernetes.io/unreachable` belong to Kubernetes in the same way.

The fix takes the entry out. Taints are part of the template, so that the pool's nodes are replaced.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      taints:
        - key: nvidia.com/gpu
          value: Exists
          effect: NoSchedule
      startupTaints:
        - key: karpenter.sh/unregistered
          effect: NoExecute
        - key: node.cilium.io/agent-not-ready
          value: "true"
          effect: NoExecute
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
      taints:
        - key: nvidia.com/gpu
          effect: NoSchedule
      startupTaints:
        - key: node.cilium.io/agent-not-ready
          value: "true"
          effect: NoExecute
```
"""

from collections.abc import Iterator

from nodelint.api import EVERY_PROVIDER, Context, Finding, Findings, NodePool, edits, labels, manifest, rule


@rule(
    on=NodePool,
    group="hazard",
    fix="unsafe",
    gives_way_to=["controller-check", "invalid-field"],
    providers=EVERY_PROVIDER,
)
def check(pool: NodePool, context: Context) -> Findings:
    for taint in (*pool.taints, *pool.startup_taints):
        node = taint.node.get("value")
        if node is not None and taint.value in ("Exists", "Equal"):
            yield Finding(
                at=node,
                message=f"`{taint.value}` is an operator of tolerations, but acts as the taint's value here",
                edits=edits.if_editable(edits.remove, node),
                help="remove it, or set the value that pods tolerate",
            )
    for startup, taints in ((False, pool.taints), (True, pool.startup_taints)):
        for taint in taints:
            yield from _own(taint, startup)


def _own(taint: manifest.Taint, startup: bool) -> Iterator[Finding]:
    """The finding for a taint that somebody else sets and removes."""
    owner = labels.owner_of_taint(taint.key) if isinstance(taint.key, str) else None
    if owner is None or not isinstance(taint.effect, str) or taint.effect == "PreferNoSchedule":
        return
    drop = edits.if_editable(edits.remove, taint.node)
    name = f"`{taint.key}:{taint.effect}`"
    tolerated = owner.name == "Kubernetes" and taint.effect == "NoExecute"  # by what admission gives every pod
    if not startup and not tolerated:
        yield Finding(
            at=taint.node,
            message=f"{name} is set by {owner.name}: only pods with a toleration run on this pool",
            edits=drop,
        )
    elif taint.effect in owner.effects:
        yield Finding(
            at=taint.node,
            message=f"{name} has no effect here: {owner.name} sets and removes it",
            severity="info",
            edits=drop,
        )
    else:
        yield Finding(
            at=taint.node,
            message=f"nothing removes {name}: no node is ever initialized",
            severity="error",
            edits=drop,
            help=f"{owner.name} sets and removes it with the effect {' or '.join(owner.effects)}: remove the entry",
        )
