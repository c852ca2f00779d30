r"""The kubelet settings or volumes of a class leave no room for pods on any instance type, so no node ever launches.

Before a launch, Karpenter computes what a node has for pods: the capacity of its instance type, minus `kubeReserved`
and `systemReserved`, minus the eviction thresholds. If CPUs, memory or storage are below zero, or if `maxPods` is 0,
it skips the type. It reports only that no instance type had enough resources.

Of the volume that holds pods, the kubelet keeps 1Gi and a tenth, unless the settings say otherwise. If only some
types have no room, `nodelint explain` shows them.

```yaml bad frame=class
spec.amiFamily: AL2023
spec.amiSelectorTerms:
  - id: ami-0a1b2c3d4e5f60718
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 1Gi
      volumeType: gp3
      encrypted: true
```

```yaml good frame=bad
spec.blockDeviceMappings:
  - deviceName: /dev/xvda
    ebs:
      volumeSize: 100Gi
      volumeType: gp3
      encrypted: true
```

```yaml bad frame=class
spec.kubelet.maxPods: 0
```

```yaml good frame=bad
spec.kubelet.maxPods: 110
```
"""

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Suggestion,
    edits,
    fixes,
    images,
    resolve,
    rule,
)


@rule(
    on=EC2NodeClass,
    group="correctness",
    gives_way_to=["invalid-field", "refused-combination", "controller-check"],
    mentions=["kubelet", "blockDeviceMappings"],
    subject="kubelet",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:332",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:369",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    spec = node_class.node.get("spec")
    if spec is None or not any(spec.get(field) for field in ("kubelet", "blockDeviceMappings")):
        return
    pools = context.pools(node_class)
    static = bool(pools) and all(pool.static for pool in pools)
    family = context.images(node_class).ami_family
    for lack in resolve.lacking(node_class, family, context.catalog, static):
        if lack.types == context.catalog.all_types and lack.at is not None:
            yield Finding(
                at=fixes.visible_node(lack.at),
                message=f"no instance type can run a pod: {lack.reason}",
                note="Karpenter never launches a node with this class",
                suggestions=_ways(lack.at),
            )


def _ways(node: Node) -> list[Suggestion]:
    """Return a suggestion that gives pods enough resources: remove a kubelet setting, or set the volume to the
    default size. Empty if the node cannot be edited.
    """
    size = node.kind == "scalar" and isinstance(node.value, str)
    names = {"kubelet": "the kubelet's settings"}
    name = next((e.name for e in node.parent.entries if e.value is node), None) if node.parent is not None else None
    if size and name == "volumeSize":
        default = f"{images.default_gib()}Gi"
        changes = edits.if_editable(edits.set_value, node, default)
        return [Suggestion(f"make it {default}, the default", changes)] if changes else []
    changes = edits.if_editable(edits.remove, node)
    return (
        [Suggestion(f"remove {names.get(str(name), f'`{name}`')}: the default leaves enough room", changes)]
        if changes
        else []
    )
