"""`podsPerCore` and `maxPods` are both set, and one of them has no effect on any instance type of the pools.

The kubelet uses the smaller of `maxPods` and `podsPerCore` times the number of vCPUs. If the same one is smaller for
every type that the pools can launch, the other one has no effect and misleads readers. Bottlerocket does not support
`podsPerCore`.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.4xlarge, m6i.4xlarge]}
---
spec.kubelet:
  maxPods: 58
  podsPerCore: 20
```

```yaml good frame=bad
---
spec.kubelet.podsPerCore: null
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, fixes, keys, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["invalid-field", "removed-api"],
    mentions=["podsPerCore"],
    subject="kubelet",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:576",
        "https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    kubelet = node_class.kubelet_node
    most = kubelet.get("maxPods") if kubelet is not None else None
    node = kubelet.get("podsPerCore") if kubelet is not None else None
    if kubelet is None or most is None or node is None:
        return
    if not (isinstance(most.value, int) and isinstance(node.value, int)) or node.value <= 0:
        return
    vcpus: set[int] = set()
    for pool in context.pools(node_class):
        resolution = context.resolution(pool)
        if pool.partial or fixes.doubts(resolution):
            return
        found = resolution.catalog.distinct(keys.CPU, resolution.candidates)
        vcpus |= {int(value) for value in found if value.isdigit()}
    if not vcpus:
        return
    if node.value * min(vcpus) >= most.value:
        at, other = kubelet.key("podsPerCore") or node, kubelet.key("maxPods") or most
        message = (
            f"has no effect: types have {min(vcpus)} or more vCPUs, so `maxPods: {most.value}` is always smaller"
        )
        name = f"podsPerCore: {node.value}"
        ways = "remove `podsPerCore`, or set it below `maxPods` divided by the number of vCPUs"
    elif node.value * max(vcpus) <= most.value:
        at, other = kubelet.key("maxPods") or most, kubelet.key("podsPerCore") or node
        message = f"has no effect: types have at most {max(vcpus)} vCPUs, so `podsPerCore: {node.value}` is smaller"
        name = f"maxPods: {most.value}"
        ways = "remove `maxPods`, or set it below `podsPerCore` multiplied by the number of vCPUs"
    else:
        return
    yield Finding(
        at=at, message=f"`{name}` {message}", also=[Also(other, "the kubelet uses the smaller number")], help=ways
    )
