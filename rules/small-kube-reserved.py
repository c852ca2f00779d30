r"""`kubeReserved` reserves less memory for the kubelet than EKS's own formula.

Without settings, 255 MiB plus 11 MiB for each pod are reserved for the kubelet and the container runtime.
`kubeReserved` replaces that. Many examples use `100Mi`, less than half of what the smallest node needs. Pods then get
memory that the kubelet uses, and a full node kills processes or becomes NotReady. The rule also counts
`systemReserved`.

```yaml bad frame=pool+class
spec.template.spec.requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}
---
spec.kubelet.kubeReserved:
  cpu: 100m
  memory: 100Mi
```

```yaml good frame=bad
---
spec.kubelet.kubeReserved.memory: null
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, fixes, resolve, rule, type_set


@rule(
    on=EC2NodeClass,
    group="practice",
    severity="info",
    gives_way_to=["invalid-field", "unknown-field", "removed-api"],
    options={"times": "how many times as much memory EKS's formula has to reserve"},
    mentions=["kubeReserved"],
    subject="kubelet",
    source=[
        "provider:pkg/providers/instancetype/types.go@v1.14.1:522",
        "https://github.com/awslabs/amazon-eks-ami",
    ],
)
def check(node_class: EC2NodeClass, context: Context, *, times: int = 2) -> Findings:
    node = node_class.node.find("spec", "kubelet", "kubeReserved", "memory")
    if node is None:
        return
    types = type_set.union(context.resolution(pool).launchable for pool in context.pools(node_class))
    found = resolve.least_scant(node_class, context.images(node_class).ami_family, context.catalog, types)
    if found is not None and found.reserved * times < found.default:
        yield Finding(
            at=fixes.visible_node(node),
            message=f"the class reserves {found.reserved} MiB for kubelet and system:"
            f" `{found.name}` needs {found.default} MiB",
            note="a node full of pods runs out of memory: the kernel kills processes, or the node becomes NotReady",
            help="remove memory from kubeReserved: the default grows with the pods that an instance type allows",
        )
