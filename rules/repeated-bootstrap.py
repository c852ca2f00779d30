r"""User data that lets the node join the cluster, which Karpenter's own part does as well.

For AL2, Ubuntu and Windows Karpenter appends a call of the bootstrap script with the labels, taints and kubelet
settings of the NodePool. The first call wins: the kubelet runs by then, and the second one does not start it again.
The node joins without its labels and the taint `karpenter.sh/unregistered`, pods land on it too early, and
`spec.kubelet` does nothing.

The fix takes out a call that says nothing of its own. What others set belongs to `spec.kubelet` and to the NodePool's
template. User data of the family `Custom` has to make the node join, and is not judged.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2@v20240807
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  userData: |
    #!/bin/bash
    sysctl -w vm.max_map_count=262144
    /etc/eks/bootstrap.sh main \
      --b64-cluster-ca LS0tLS1CRUdJTg== \
      --apiserver-endpoint https://example.com
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2@v20240807
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  userData: |
    #!/bin/bash
    sysctl -w vm.max_map_count=262144
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, rule


@rule(on=EC2NodeClass, group="correctness", fix="unsafe", gives_way_to=["removed-api"])
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    if data is None:
        return
    for call in data.calls():
        # AL2023 has no bootstrap.sh, AL2 no nodeadm; AL2023's nodeadm may be run again on purpose.
        if call.program == "nodeadm" or (call.program == "bootstrap.sh" and data.family != "AL2"):
            continue
        first = data.text.find("\n", call.start)
        yield Finding(
            at=data.places.at(call.start, call.end if first < 0 else min(first, call.end)),
            message=f"{call.program} runs twice: Karpenter calls it as well",
            edits=edits.if_editable(data.places.replace, *call.lines, "") if call.plain else (),
            note="the first call wins",
            help="remove the call, and set its options in spec.kubelet and the NodePool's template",
        )
