r"""A hop limit above 1 lets pods reach the node's metadata service, and with it the credentials of the node's role.

A pod's packet makes one hop more than the node's own. With a limit of 1 the answer does not reach it; with 2 or more
every pod that does not use the host's network can act as the node: pull images, attach network interfaces, join the
cluster. Pods with a role of their own (Pod Identity, IRSA) do not need it.

2 is common, for some add-ons learn their region from the metadata service; that is why this is a matter of practice.
The change replaces the nodes of the class.

```yaml bad frame=class
spec.metadataOptions:
  httpPutResponseHopLimit: 2
  httpTokens: required
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, edits, rule


@rule(
    on=EC2NodeClass,
    group="practice",
    fix="unsafe",
    mentions=["httpPutResponseHopLimit"],
    subject="security",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:344",
        "https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html",
    ],
    cel=(
        "!has(object.spec.metadataOptions) || !has(object.spec.metadataOptions.httpPutResponseHopLimit) "
        "|| object.spec.metadataOptions.httpPutResponseHopLimit <= 1 || "
        "(has(object.spec.metadataOptions.httpEndpoint) && object.spec.metadataOptions.httpEndpoint == "
        "'disabled')"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    options = node_class.metadata_options_node
    node = options.get("httpPutResponseHopLimit") if options is not None else None
    if options is None or node is None or isinstance(node.value, bool) or not isinstance(node.value, int):
        return
    endpoint = options.get("httpEndpoint")
    if node.value > 1 and not (endpoint is not None and endpoint.value == "disabled"):
        yield Finding(
            at=node,
            message=f"a hop limit of {node.value} lets every pod use the credentials of the node's role",
            edits=edits.if_editable(edits.set_value, node, 1),
            help="give pods that call AWS a role of their own (Pod Identity, IRSA), then set 1",
        )
