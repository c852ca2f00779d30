r"""Sizes such as `nano` and `micro` in a list: a node has room for four pods, and daemonsets take most of it.

The network interfaces of these types carry two pod addresses and little memory is left (74 MiB on a `t3.nano`). The
VPC CNI, kube-proxy and the CSI driver are three pods on every node. Karpenter counts the daemonsets and passes over
a type that has no room left, so that the value does nothing; where one pod fits, a node is started for it alone.
Silent where the class sets `maxPods`.

The fix takes the values out. It is unsafe, for nodes of that size that run are replaced.

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ["t3.micro", "t3.medium", "t3.large"]
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: ["t3.medium", "t3.large"]
```

```yaml bad
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: small
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [nano, micro, small, medium]}
```

```yaml good
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: small
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [t]}
        - {key: karpenter.k8s.aws/instance-size, operator: In, values: [small, medium]}
```
"""

from collections.abc import Sequence

from nodelint.api import (
    Context,
    Finding,
    Findings,
    NodePool,
    RequirementLine,
    edits,
    fixes,
    keys,
    labels,
    manifest,
    resolve,
    rule,
)

FEW = 4
"""Pods on a node that are hardly more than the daemonsets of every node."""


@rule(
    on=NodePool, group="hazard", fix="unsafe", gives_way_to=["no-instance-type", "unmatchable-value", "removed-api"]
)
def check(pool: NodePool, context: Context) -> Findings:
    for item in labels.asked(pool):
        if item.key not in (keys.SIZE, keys.INSTANCE_TYPE) or item.operator != "In":
            continue
        if not any(str(text).endswith(("nano", "micro")) for text in item.texts):
            continue
        resolution = context.resolution(pool)
        node_class = resolution.node_class
        if node_class is not None and node_class.node.at("spec", "kubelet", "maxPods") is not None:
            return
        tiny = [value for value in item.values if _tiny(item.key, value, resolution)]
        if tiny:
            yield _finding(item, tiny, resolution)


def _tiny(key: str, value: manifest.Value, resolution: resolve.Resolution) -> bool:
    """Whether all types of a value that are left hold so few pods."""
    types = resolution.catalog.having_value(key, str(value.text)) & resolution.candidates
    names = resolution.catalog.names_in(types)
    return bool(names) and all(int(resolution.catalog.resources(name).get("pods", "0")) <= FEW for name in names)


def _finding(item: labels.PoolRequirement, tiny: Sequence[manifest.Value], resolution: resolve.Resolution) -> Finding:
    texts = [str(value.text) for value in tiny]
    all = len(texts) == len(item.values) or not isinstance(item.at, RequirementLine)
    return Finding(
        at=fixes.seen(tiny[0].node),
        message=f"{', '.join(f'`{text}`' for text in texts[:3])}: a node runs {FEW} pods, daemonsets included",
        edits=edits.if_editable(fixes.take_out, item.at, texts)
        if isinstance(item.at, RequirementLine) and not all
        else [],
        covers=[value.node for value in tiny],
        help="start at `medium`" if not all else "use larger types: daemonsets need room as well",
    )
