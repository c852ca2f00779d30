r"""A hop limit above 1 lets pods reach the metadata service of the node and use the credentials of the node's role.

A packet from a pod needs one hop more than a packet from the node. With a limit of 1, the answer does not reach the
pod. With 2 or more, it reaches every pod, and the pod can act as the node: pull images, attach network interfaces,
join the cluster. Pods with a role of their own (Pod Identity, IRSA) do not need the metadata service. Pods that use
the host's network reach it with any limit.

A limit of 2 is common, because some add-ons read their region from the metadata service. So the rule belongs to the
group practice. If you change the limit, Karpenter replaces the nodes of the class.

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
            message=f"a hop limit of {node.value} lets pods without host network use the credentials of the node's "
            "role",
            edits=edits.if_editable(edits.set_value, node, 1),
            help="give pods that call AWS their own role (Pod Identity, IRSA), then set the hop limit to 1",
        )
