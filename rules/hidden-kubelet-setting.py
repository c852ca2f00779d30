r"""User data contains a kubelet setting that changes what fits on a node, but Karpenter does not read it.

Before a launch, Karpenter computes what a node can hold from the instance type and `spec.kubelet`. It does not read
what user data reserves (`kubeReserved`, `systemReserved`, eviction thresholds) or allows (`maxPods` as a flag). So it
launches nodes that are too small for their pods and then launches more, or it treats nodes as full that are not.

For the family `Custom` you need both: the user data configures the node, and Karpenter plans with `spec.kubelet`.

The fix moves a field of NodeConfig to `spec.kubelet`. Karpenter then replaces the nodes of the class.

```yaml bad frame=class
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubelet:
      config:
        shutdownGracePeriod: 30s
        systemReserved:
          cpu: 200m
          memory: 500Mi
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  [settings.kubernetes.kube-reserved]
  cpu = "100m"
  memory = "1Gi"
```

```yaml good frame=bad
spec.kubelet.kubeReserved:
  cpu: 100m
  memory: 1Gi
spec.userData: null
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, edits, releases, rule, userdata

PLANNED = ("kubeReserved", "systemReserved", "evictionHard", "evictionSoft", "podsPerCore")


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    gives_way_to=["overridden-user-data", "removed-api"],
    mentions=["userData"],
    subject="kubelet",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:554",
        "provider:pkg/providers/instancetype/types.go@v1.14.1:522",
        "provider:pkg/providers/amifamily/bottlerocket.go@v1.14.1:208",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    kubelet = node_class.kubelet_node
    if node_class.ami_family == "Custom":
        yield from _of_custom(node_class, context)
    for setting in data.settings() if data is not None else ():
        assert data is not None
        if (setting.how != "flag" and setting.name not in PLANNED) or _is_not_planned(
            setting.name, node_class, context
        ):
            continue
        node = kubelet.key(setting.name) if kubelet is not None else None
        yield Finding(
            at=data.places.locate(setting.start, setting.end),
            message=f"Karpenter does not read `{setting.written}` in userData and plans nodes without it",
            edits=edits.if_editable(data.moved, setting, node_class) if node is None else (),
            also=[Also(node, "Karpenter plans with this value, but the node uses the flag")]
            if node is not None
            else [],
            help=f"set spec.kubelet.{setting.name} instead: Karpenter reads it and passes it to the kubelet",
        )


def _is_not_planned(name: str, node_class: EC2NodeClass, context: Context) -> bool:
    """Return whether Karpenter ignores this setting when it plans nodes, wherever the setting is written."""
    bottlerocket = context.images(node_class).ami_family == "Bottlerocket"
    if name == "evictionSoft":
        return bottlerocket or context.karpenter >= releases.Version(1, 9, 0)
    return name == "podsPerCore" and bottlerocket


def _of_custom(node_class: EC2NodeClass, context: Context) -> Findings:
    """Yield a finding for each setting in user data of the family Custom that `spec.kubelet` lacks or contradicts."""
    if node_class.user_data_node is None:
        return
    data = userdata.read_custom(node_class, context.images(node_class).boots)
    for setting in data.planned() if data is not None else ():
        assert data is not None
        node = node_class.node.find("spec", "kubelet", setting.name)
        if node is not None and (setting.name != "maxPods" or node.value == setting.value):
            continue
        if setting.name == "maxPods" and (
            not isinstance(setting.value, int) or (node is not None and not isinstance(node.value, int))
        ):
            continue
        plans = "without it" if node is None else f"with {node.value}"
        yield Finding(
            at=data.places.locate(setting.start, setting.end),
            message=f"Karpenter does not read `{setting.written}` in userData and plans nodes {plans}",
            also=[Also(node, "Karpenter plans with this value")] if node is not None else [],
            note="for the family Custom, Karpenter plans with spec.kubelet but does not pass it to nodes",
            help=f"set spec.kubelet.{setting.name} to the same value",
        )
