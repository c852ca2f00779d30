r"""A selector that asks for a tag that most subnets or security groups have, with any value: `Name: "*"`.

Such a term finds everything of its kind in the region that bears the tag: subnets of other VPCs, public ones, those
of databases, security groups of load balancers. Karpenter hands EC2 all of them. Nodes start in any of these subnets,
and where subnets and groups are of different VPCs launches fail.

```yaml bad
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        Name: "*"
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```

```yaml good
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, labels, messages, rule


@rule(on=EC2NodeClass, group="hazard", gives_way_to=["broad-selector", "empty-selector", "removed-api"])
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for what, terms in (
        ("subnets", node_class.subnet_terms),
        ("security groups", node_class.security_group_terms),
    ):
        for term in terms:
            if not term.tags or term.id or term.name:
                continue
            if all(tag.value == "*" and isinstance(tag.key, str) and _is_common(tag.key) for tag in term.tags):
                tag = term.tags[0]
                yield Finding(
                    at=tag.key_node,
                    message=f"`{messages.short(str(tag.key), 30)}: *` finds all {what} of the region with this tag",
                    note="those of other VPCs and other clusters too",
                    help="select by a tag that only this cluster's have: `karpenter.sh/discovery: <cluster>`",
                )


def _is_common(key: str) -> bool:
    """Whether many resources of an account have the tag, whatever they are for."""
    return key == "Name" or labels.is_shared_tag(key)
