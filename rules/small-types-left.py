r"""Requirements that leave sizes such as `nano` and `micro`, whose nodes have room for four pods.

Daemonsets take most of that room. Karpenter launches the cheapest type on which the waiting pods and the daemonsets
fit: for one small pod that is a small node, and the next pod gets another. A lower bound on CPUs or memory gives
nodes that are worth their daemonsets. Silent where the class sets `maxPods`; sizes that a list names are told by
`tiny-type`.

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
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
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
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [nano, micro, small]}
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, fixes, keys, labels, messages, rule

FEW = 4
"""Pods on a node that are hardly more than the daemonsets of every node."""


@rule(on=NodePool, group="practice", severity="info", gives_way_to=["no-instance-type", "tiny-type", "removed-api"])
def check(pool: NodePool, context: Context) -> Findings:
    if pool.partial or pool.class_ref is None:
        return
    listed = (item for item in labels.asked(pool) if item.key in (keys.SIZE, keys.INSTANCE_TYPE))
    if any(item.operator == "In" for item in listed):
        return
    resolution = context.resolution(pool)
    node_class = resolution.node_class
    if node_class is not None and node_class.node.at("spec", "kubelet", "maxPods") is not None:
        return
    catalog = resolution.catalog
    names = [name for name in catalog.names_in(resolution.candidates) if name.endswith((".nano", ".micro"))]
    small = [name for name in names if int(catalog.resources(name).get("pods", "0")) <= FEW]
    if not small or fixes.doubts(resolution):
        return
    category = labels.last_asking(pool, keys.CATEGORY)
    shown = messages.short(", ".join(sorted(small)), 40)
    yield Finding(
        at=fixes.seen(category.key_node) if category is not None else fixes.place(pool),
        message=f"a node may be a type that runs {FEW} pods, daemonsets included: {shown}",
        help="require `instance-cpu Gt 1` and `instance-memory Gt 3000`, or exclude the sizes nano, micro and small",
    )
