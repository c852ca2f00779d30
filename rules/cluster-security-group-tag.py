r"""A class selects security groups by the tag `kubernetes.io/cluster/<name>`, which several groups can have.

EKS puts the tag on the group that it creates for the cluster. The Terraform module `terraform-aws-modules/eks` also
puts it on the group that it creates for nodes, so a term on the tag finds both. The AWS Load Balancer Controller
needs exactly one group of a node with the tag. If a node has two, it reports "expected exactly one securityGroup
tagged", and targets get no traffic.

`tags` of this module are on the group of the nodes, on the group that the module creates for the cluster, and on the
group that EKS creates. If `tags` contains the tag by which a class selects, nodes get all three, and two of them have
`kubernetes.io/cluster/<name>`. Put the tag into `node_security_group_tags` instead. This is a warning if the files
install the AWS Load Balancer Controller.

If facts from AWS are available, `broad-selector` reports classes that really find several groups. Without facts,
select by id, by `aws:eks:cluster-name`, or by a tag that one group has, such as `karpenter.sh/discovery`.

```yaml bad frame=class
spec.securityGroupSelectorTerms:
  - tags:
      kubernetes.io/cluster/main: owned
```

```yaml good frame=class
```

```yaml bad
# file: main.tf
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "21.9.0"
  name               = "main"
  kubernetes_version = "1.33"
  tags               = { "karpenter.sh/discovery" = "main" }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{id: subnet-0f3a91c2b7d45e608}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
-  source             = "terraform-aws-modules/eks/aws"
-  version            = "21.9.0"
-  name               = "main"
-  kubernetes_version = "1.33"
-  tags               = { "karpenter.sh/discovery" = "main" }
+  source                   = "terraform-aws-modules/eks/aws"
+  version                  = "21.9.0"
+  name                     = "main"
+  kubernetes_version       = "1.33"
+  node_security_group_tags = { "karpenter.sh/discovery" = "main" }
```
"""

import re
from collections.abc import Iterator

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Missing,
    karpenter_calls,
    messages,
    rule,
    selectors,
    terraform_blocks,
    terraform_trace,
)

PREFIX = "kubernetes.io/cluster/"
_CONTROLLER = r"(?i)aws-load-balancer-controller|load_balancer_controller"
_FIRST = 18
"""The first major version of the module whose `tags` are on all three groups."""
_NOTE = "the AWS Load Balancer Controller fails if a node has more than one such group"
_SWITCHES = (
    "create",
    "create_node_security_group",
    "create_primary_security_group_tags",
    "create_cluster_primary_security_group_tags",
)


@rule(
    on=EC2NodeClass,
    group="hazard",
    gives_way_to=["broad-selector", "removed-api"],
    mentions=["kubernetes.io/cluster/", "discovery", "karpenter"],
    subject="network",
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/v21.18.0/main.tf",
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
        if (
            tag is not None
            and not term.name
            and not term.id
            and context.run_files.has_terraform
            and not context.facts
        ):
            controller = re.compile(_CONTROLLER)
            for block in _list_tagged_clusters(tag.key_node.unquoted, node_class.source.path, context):
                yield Finding(
                    at=tag.key_node,
                    message=f"`tags` of `{block.address}` put `{messages.short(tag.key_node.unquoted, 40)}` on three "
                    "security groups: nodes get all of them",
                    severity="warning" if context.run_files.is_in_files(controller, around=True) else "info",
                    also=[Also(block.at, "creates the groups")],
                    note=f"two of them have `{PREFIX}<name>`: {_NOTE}",
                    help="move the tag to `node_security_group_tags`",
                )
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
            note=_NOTE,
            help="select the cluster's security group by id, or by a tag that no other group has",
        )


def _list_tagged_clusters(key: str, path: str, context: Context) -> "Iterator[terraform_trace.BlockText]":
    """Yield the calls of the EKS module whose `tags` contain a key, and which tag all groups of the cluster.

    Those that cannot be the cluster of a file are left out.
    """
    blocks = context.run_files.terraform
    calls = [block for block in blocks.blocks if '"terraform-aws-modules/eks/aws"' in block.text]
    is_terraform = path.endswith(terraform_trace.ENDINGS)
    for block in calls if len(calls) == 1 or is_terraform else ():
        majors = karpenter_calls.majors_of(block)
        given = terraform_blocks.own_arguments(block.text)
        if majors is None or majors[0] < _FIRST or "tags" not in given:
            continue
        is_cluster_tag_off = PREFIX in given.get("node_security_group_tags", "")
        if is_cluster_tag_off or any(given.get(name, "true") != "true" for name in _SWITCHES):
            continue
        is_tagged = key in given["tags"] or any(
            key in tags
            for file in {other.source.path: other.source for other in blocks.find_beside(block.source.path)}.values()
            for text in terraform_blocks.find_locals(file)
            for name, tags in terraform_blocks.own_arguments(text).items()
            if re.search(rf"\blocal\.{re.escape(name)}\b", given["tags"])
        )
        if is_tagged and (not is_terraform or blocks.may_share_root(block.source.path, path)):
            yield block
