r"""User data makes the node join another cluster system, such as k3s, RKE2, MicroK8s or kubeadm.

Karpenter waits for a node whose `spec.providerID` is that of the instance, `aws:///<zone>/<instance>`. A k3s or RKE2
agent sets `k3s://<node>` or `rke2://<node>`, and other systems set none. The NodeClaim never registers: Karpenter
deletes the instance after 15 minutes and launches another one. If the class uses an image family of EKS, two kubelets
start on the node, and the second one fails because its port is in use.

For kubeadm the finding is a warning, because a cloud provider can set the providerID. The rule reports nothing if the
user data mentions a cloud provider or a providerID.

There is no fix: only the author knows which part of the script joins the node and what else the script does.

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  curl -sfL https://get.k3s.io | K3S_URL=https://k3s.example.com:6443 sh -s - agent
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  sysctl -w vm.max_map_count=262144
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, remedies, rule


@rule(
    on=EC2NodeClass,
    group="correctness",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="user data",
    source=[
        "provider:pkg/providers/amifamily/bootstrap/custom.go@v1.14.1:28",
        "core:pkg/controllers/nodeclaim/lifecycle/liveness.go@v1.14.0:62",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    script = context.script(node_class)
    found = script.joins() if script is not None else None
    if script is None or found is None:
        return
    given = f"{found.name} gives its nodes the providerID `{found.provider_id}`" if found.provider_id else ""
    waits = "Karpenter waits for the providerID `aws:///...`, and deletes the node after 15 minutes"
    yield Finding(
        at=script.places.locate(found.start, found.end),
        message=f"the node joins {found.name}: it never registers with Karpenter",
        severity="warning" if found.own else None,
        note=f"{given}; {waits}" if given else waits,
        help="run the cloud provider of AWS, which sets the providerID, with `--cloud-provider=external`"
        if found.own
        else "remove the command: Karpenter's own part of the user data joins the node to the cluster",
        suggestions=[]
        if found.own
        else remedies.list_suggestions(
            [("remove the line", remedies.without_line(script.places, found.start, found.end))]
        ),
    )
