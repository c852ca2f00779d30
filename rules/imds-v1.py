r"""`httpTokens: optional` lets every process on a node read the node's credentials with a plain GET request.

The instance metadata service returns the credentials of the node's role. With version 2 (`required`), a caller must
first request a token with a PUT request. A server that is tricked into fetching a URL (SSRF) does not do that. With
`optional`, version 1 stays open, also for pods if the hop limit allows it. Karpenter's default is `required`.

All AWS SDKs support version 2 since 2019. If you change the setting, Karpenter replaces the nodes of the class.

```yaml bad frame=class
spec.metadataOptions:
  httpEndpoint: enabled
  httpPutResponseHopLimit: 1
  httpTokens: optional
```
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, edits, rule


@rule(
    on=EC2NodeClass,
    group="hazard",
    fix="unsafe",
    mentions=["httpTokens"],
    subject="security",
    source=[
        "provider:pkg/apis/v1/ec2nodeclass.go@v1.14.1:344",
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html",
    ],
    cel=(
        "!has(object.spec.metadataOptions) || !has(object.spec.metadataOptions.httpTokens) || "
        "object.spec.metadataOptions.httpTokens != 'optional' || "
        "(has(object.spec.metadataOptions.httpEndpoint) && object.spec.metadataOptions.httpEndpoint == "
        "'disabled')"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    options = node_class.metadata_options_node
    node = options.get("httpTokens") if options is not None else None
    if options is None or node is None or node.value != "optional":
        return
    endpoint, hops = options.get("httpEndpoint"), options.get("httpPutResponseHopLimit")
    if endpoint is not None and endpoint.value == "disabled":
        return
    far = hops is not None and isinstance(hops.value, int) and hops.value > 1
    yield Finding(
        at=node,
        message="`optional` allows IMDSv1: a forged request can read the credentials of the node's role",
        edits=edits.if_editable(edits.set_value, node, "required"),
        also=[Also(hops, "pods can reach the metadata service as well")] if far and hops is not None else [],
        help="set `required`, unless software on the node still needs IMDSv1",
    )
