r"""User data has a setting that Karpenter overwrites, so the setting has no effect.

Karpenter puts its own NodeConfig after yours, and overwrites values in Bottlerocket's TOML. It always writes the
number of pods that it plans with (`maxPods`), the address of the cluster's DNS, and the taints of the NodePool. It
also writes everything from the class's `spec.kubelet`. Your values for these settings are lost. Your values for the
cluster (name, endpoint, certificate) are lost as well, which is harmless if nobody relies on them.

For `maxPods` and `clusterDNS`, the fix writes the value to `spec.kubelet`, where Karpenter uses it. Karpenter then
replaces the nodes of the class.

```yaml bad frame=class
spec.userData: |
  apiVersion: node.eks.aws/v1alpha1
  kind: NodeConfig
  spec:
    kubelet:
      config:
        maxPods: 58
        shutdownGracePeriod: 30s
```

```yaml bad frame=class
spec.amiSelectorTerms:
  - alias: bottlerocket@v1.46.0
spec.userData: |
  [settings.kubernetes.node-taints]
  "example.com/batch" = ["true:NoSchedule"]
```

```yaml good frame=bad
spec.userData: |
  [settings.kubernetes]
  event-qps = 10
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Edit, Finding, Findings, edits, rule

ALWAYS = {
    "maxPods": "the number of pods that it plans with",
    "clusterDNS": "the cluster's DNS address",
    "registerWithTaints": "the NodePool's taints",
}


@rule(
    on=EC2NodeClass,
    group="correctness",
    severity="warning",
    fix="unsafe",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="user data",
    source=[
        "provider:pkg/providers/amifamily/bootstrap/bottlerocket.go@v1.14.1:37",
        "provider:pkg/providers/amifamily/bootstrap/nodeadm.go@v1.14.1:40",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    kubelet = node_class.kubelet_node
    for setting in data.settings() if data is not None else ():
        assert data is not None
        node = kubelet.key(setting.name) if kubelet is not None else None
        if setting.how == "flag" or (setting.name not in ALWAYS and node is None):
            continue
        changes: list[Edit] = []
        if node is None and setting.name != "registerWithTaints":
            changes = edits.if_editable(data.moved, setting, node_class)
        value = ALWAYS.get(setting.name) if node is None else "the value in spec.kubelet"
        yield Finding(
            at=data.places.locate(setting.start, setting.end),
            message=f"Karpenter replaces `{setting.written}` in userData by {value}",
            edits=changes,
            also=[Also(node, "this value is used")] if node is not None else [],
            help="set taints in the NodePool's template"
            if setting.name == "registerWithTaints"
            else f"set spec.kubelet.{setting.name} instead",
        )
    cluster = data.cluster() if data is not None else None
    if data is not None and cluster is not None:
        yield Finding(
            at=data.places.locate(*cluster),
            message="Karpenter replaces name, endpoint and certificate of the cluster in userData by its own",
            severity="info",
            help="remove these settings",
        )
