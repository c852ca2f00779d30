"""A pattern in the tags that find subnets or security groups: what is created later may match as well.

`Name: prod-private-*` finds today's subnets, and tomorrow those that another team or another cluster's stack creates
under such a name. Karpenter takes them at once: nodes start there, and a change of security groups replaces the
running ones. A tag that is made for it, such as `karpenter.sh/discovery: <cluster>`, is put on what is meant and
nothing else. `*` as the whole value asks for the tag alone and says that it may have any value.

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
        Name: prod-private-*
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

from nodelint.api import Context, EC2NodeClass, Finding, Findings, messages, rule


@rule(
    on=EC2NodeClass, group="practice", severity="info", gives_way_to=["any-value", "broad-selector", "empty-selector"]
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for what, terms in (
        ("subnets", node_class.subnet_terms),
        ("security groups", node_class.security_group_terms),
    ):
        for term in terms:
            # `${CLUSTER}-private-*` is a pattern whatever the placeholder stands for.
            patterns = [tag for tag in term.tags if tag.node.written.endswith("*")]
            if patterns and len(patterns) == len(term.tags):
                key, value = str(patterns[0].key), messages.short(patterns[0].node.written, 30)
                yield Finding(
                    at=patterns[0].key_node,
                    message=f"`{messages.short(key, 24)}: {value}` is a pattern: later {what} may match it too",
                    help="tag what is meant, with `karpenter.sh/discovery: <cluster>` for instance, and ask for that",
                )
