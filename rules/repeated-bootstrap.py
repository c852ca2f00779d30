r"""User data calls the bootstrap script that joins the node, but Karpenter's own part calls it as well.

For AL2, Ubuntu and Windows, Karpenter appends a call of the bootstrap script with the labels, taints and kubelet
settings of the NodePool. User data runs first, and its call starts the kubelet. The second call changes the
configuration but does not restart the kubelet. The node joins without the taint `karpenter.sh/unregistered` and
without the taints of the NodePool, so pods can start on it before Karpenter adds labels and taints.

If `spec.kubelet` has settings, the finding is an error, because the settings have no effect. It is also an error in
releases before 1.0.9, 1.1.4 and 1.2.2, which never register such a node and replace it. Otherwise the node works, and
the finding is a warning.

On AL2023 nodeadm joins the node after cloud-init. A script that calls `nodeadm init` with a file of its own starts
the kubelet with that file, and the later call for Karpenter's NodeConfig does not restart it. The rule does not
report a call that also reads `imds://user-data`, where Karpenter's NodeConfig stands.

The fix removes a call without options of its own. Write other options into `spec.kubelet` and the template of the
NodePool. The rule does not judge the family `Custom`, whose user data must join the node.

```yaml bad frame=class kubernetes=1.30
spec.amiSelectorTerms:
  - alias: al2@v20250123
spec.userData: |
  #!/bin/bash
  sysctl -w vm.max_map_count=262144
  /etc/eks/bootstrap.sh main \
    --b64-cluster-ca LS0tLS1CRUdJTg== \
    --apiserver-endpoint https://example.com
```

```yaml bad frame=class
spec.userData: |
  #!/bin/bash
  /usr/bin/nodeadm init --config-source file:///etc/eks/nodeadm.yaml
```

```yaml good frame=bad
spec.userData: |
  #!/bin/bash
  sysctl -w vm.max_map_count=262144
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, edits, releases, remedies, rule

_TAINT = "karpenter.sh/unregistered"


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    gives_way_to=["removed-api"],
    mentions=["userData"],
    subject="user data",
    source=[
        "provider:pkg/providers/amifamily/bootstrap/nodeadm.go@v1.14.1:40",
        "provider:pkg/providers/amifamily/bootstrap/eksbootstrap.go@v1.14.1:47",
        "https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/internal/kubelet/daemon.go",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    data = context.user_data(node_class)
    if data is None:
        return
    for call in data.calls():
        # AL2023 has no bootstrap.sh, AL2 no nodeadm.
        own = call.program == "nodeadm" and _has_own_config(data.text[call.start : call.end])
        family = {"nodeadm": "AL2023", "bootstrap.sh": "AL2"}.get(call.program, data.family)
        if data.family != family or (call.program == "nodeadm" and not own):
            continue
        first = data.text.find("\n", call.start)
        endpoint = data.text.find("--apiserver-endpoint", call.start, call.end)
        comes, fails = _outcome(node_class, data.text[call.start : call.end], context)
        yield Finding(
            at=data.places.locate(call.start, call.end if first < 0 else min(first, call.end)),
            message=f"{call.program} runs twice: this call starts the kubelet, so Karpenter's call is too late",
            severity=None if fails else "warning",
            edits=edits.if_editable(data.places.replace, *call.lines, "") if call.plain else (),
            suggestions=[]
            if call.plain
            else remedies.list_suggestions(remedies.move_kubelet_flags(node_class, data, call.start, call.end)),
            also=[
                Also(
                    data.places.locate(endpoint, endpoint + 20),
                    "the call contains the endpoint of one cluster: Karpenter knows the endpoint itself",
                )
            ]
            if endpoint >= 0
            else [],
            note=comes,
            help="remove the call, and set its options in spec.kubelet and the NodePool's template",
        )


def _has_own_config(call: str) -> bool:
    """Return whether nodeadm reads a file, and not the user data in which Karpenter's NodeConfig stands."""
    return "file:" in call and "imds:" not in call and "--skip run" not in call


def _outcome(node_class: EC2NodeClass, call: str, context: Context) -> tuple[str, bool]:
    """Return what happens to the node, as the text of a note, and whether this is an error."""
    tainted = _TAINT in call
    if not tainted and not releases.behaves("registers-without-taint", context.karpenter):
        return f"Karpenter {context.karpenter} never registers a node that joins without its taint", True
    kubelet = node_class.kubelet_node
    if kubelet is not None and kubelet.entries:
        return "the settings of spec.kubelet have no effect", True
    if tainted:
        return "the node uses the options of this call", False
    return "pods may land on the node before Karpenter adds its taints", False
