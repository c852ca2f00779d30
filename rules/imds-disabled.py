r"""`httpEndpoint: disabled` turns off the instance metadata service, so nodes cannot join the cluster.

A node gets its user data, its instance id, its zone and the credentials of its role from the instance metadata
service. Without it cloud-init and Bottlerocket find no user data, nodeadm stops, and the kubelet gets no credentials.
EC2 starts the instance, and Karpenter deletes it after 15 minutes because it never registered. To hide the service
from pods, set `httpPutResponseHopLimit: 1` and `httpTokens: required`.

The rule ignores the family `Custom`, because nodelint does not know what such images need.

```yaml bad frame=class
spec.metadataOptions: {httpEndpoint: disabled, httpTokens: required}
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, rule


@rule(
    on=EC2NodeClass,
    group="correctness",
    fix="unsafe",
    gives_way_to=["invalid-field", "removed-api"],
    mentions=["httpEndpoint"],
    subject="network",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:344",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html",
        "core:pkg/controllers/nodeclaim/lifecycle/liveness.go@v1.14.0:48",
    ],
    cel=(
        "!has(object.spec.metadataOptions) || !has(object.spec.metadataOptions.httpEndpoint) || "
        "object.spec.metadataOptions.httpEndpoint != 'disabled' || (has(object.spec.amiFamily) && "
        "object.spec.amiFamily == 'Custom')"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    node = node_class.node.find("spec", "metadataOptions", "httpEndpoint")
    family = context.images(node_class).ami_family
    if node is None or node.value != "disabled" or family in (None, "Custom"):
        return
    yield Finding(
        at=node,
        message="`httpEndpoint: disabled`: the node cannot read its user data and never joins the cluster",
        edits=edits.if_editable(edits.set_value, node, "enabled"),
        note="Karpenter deletes an instance that does not register within 15 minutes",
        help="to hide IMDS from pods, set `httpPutResponseHopLimit: 1`",
    )
