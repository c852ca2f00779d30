r"""A class selects security groups by the tag `kubernetes.io/cluster/<name>`, which several groups can have.

EKS puts the tag on the group that it creates for the cluster. The Terraform module `terraform-aws-modules/eks` also
puts it on the group that it creates for nodes, so a term on the tag finds both. The AWS Load Balancer Controller
needs exactly one group of a node with the tag. If a node has two, it reports "expected exactly one securityGroup
tagged", and targets get no traffic.

If facts from AWS are available, `broad-selector` reports classes that really find several groups. Without facts,
select by id, by `aws:eks:cluster-name`, or by a tag that one group has, such as `karpenter.sh/discovery`.

```yaml bad frame=class
spec.securityGroupSelectorTerms:
  - tags:
      kubernetes.io/cluster/main: owned
```

```yaml good frame=class
```
"""

from nodelint.api import Context, EC2NodeClass, Finding, Findings, Missing, messages, rule, selectors

PREFIX = "kubernetes.io/cluster/"


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["broad-selector", "removed-api"],
    mentions=["kubernetes.io/cluster/"],
    subject="network",
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html",
        "https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/deploy/security_groups/",
    ],
    cel=(
        "!has(object.spec.securityGroupSelectorTerms) || object.spec.securityGroupSelectorTerms.all(t, "
        "has(t.name) || has(t.id) || !has(t.tags) || size(t.tags) != 1 || !t.tags.exists(k, "
        "k.startsWith('kubernetes.io/cluster/')))"
    ),
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    for term in node_class.security_group_terms:
        tag = term.tags[0] if len(term.tags) == 1 else None
        # The part behind the prefix may be a placeholder: any cluster's groups are alike in this.
        key = tag.key_node.unquoted if tag is not None else ""
        if tag is None or not key.startswith(PREFIX) or term.name or term.id:
            continue
        if context.facts:
            try:
                selectors.check_region(context.pools(node_class), context.facts, "security-groups")
                found = selectors.groups_of(node_class, context.facts).terms
            except Missing:
                found = ()
            if any(finds.found is not None and len(finds.found) < 2 for finds in found):
                continue
        yield Finding(
            at=tag.key_node,
            message=f"several security groups can carry the tag `{messages.short(key, 40)}`",
            severity="info",
            note="the AWS Load Balancer Controller fails if a node has more than one such group",
            help="select the cluster's security group by id, or by a tag that no other group has",
        )
