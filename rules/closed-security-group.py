"""The one security group that the class finds by its tag has no rule for incoming traffic.

Nodes get only the security groups that the class selects. If the group admits nothing, the control plane does not
reach the kubelet and pods do not reach pods on other nodes, DNS among them. The security group of the cluster admits
only its own members. So if the private endpoint of the API server is on, the node does not reach it and never joins.

Usually the tag is on the group that the cluster gets by `vpc_config.security_group_ids`. EKS attaches that group to
the control plane and not to nodes. Select the group that EKS creates (`aws:eks:cluster-name`), or a group for nodes
that admits the cluster.

The rule reports nothing if a file has rules for security groups that may be for this one.

There is no fix: only the author knows which group is for the nodes.

```yaml bad
# file: main.tf
resource "aws_security_group" "cluster" {
  name   = "main-cluster"
  vpc_id = "vpc-0f3a91c2b7d45e608"
  tags   = { "karpenter.sh/discovery" = "main" }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {Name: main-private}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
# file: main.tf
resource "aws_security_group" "cluster" {
  name   = "main-cluster"
  vpc_id = "vpc-0f3a91c2b7d45e608"
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {Name: main-private}}]
  securityGroupSelectorTerms: [{tags: {aws:eks:cluster-name: main}}]
```
"""

import re

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, rule

_ADMITS = re.compile(r'(?m)^[ \t]*(?:dynamic[ \t]+"ingress"|ingress[ \t]*[={])')
_RULES = re.compile(r"\baws_security_group_rule\b|\baws_vpc_security_group_ingress_rule\b|\bsecurity-group/aws\b")


@rule(
    on=EC2NodeClass,
    group="correctness",
    subject="network",
    gives_way_to=["placeholder-left", "removed-api"],
    mentions=["securityGroupSelectorTerms"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html",
        "https://karpenter.sh/docs/concepts/nodeclasses/#specsecuritygroupselectorterms",
    ],
    tags=["terraform"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    terms = node_class.security_group_terms
    tag = terms[0].tags[0] if len(terms) == 1 and len(terms[0].tags) == 1 else None
    if tag is None or terms[0].id or terms[0].name:
        return
    key, value = tag.key, tag.value
    if not isinstance(key, str) or not isinstance(value, str) or "karpenter" not in key:
        return
    blocks = context.run_files.terraform
    made = [found for found in blocks.tag_values(key, settled=False) if "security groups" in found.on]
    same = {found.address for found in made if found.value == value}
    if len(same) != 1 or any(found.value is None for found in made):
        return
    group = [block for block in blocks.blocks if block.kind == "aws_security_group" and block.address in same]
    if len(group) != 1 or _ADMITS.search(group[0].text) or blocks.has_text_near(group[0].source.path, _RULES):
        return
    if any(f"tag:{key}" in file.text for file in blocks.files):
        return
    yield Finding(
        at=tag.node,
        message="the one security group with this tag admits no traffic: nothing reaches the nodes and their pods",
        also=[Also(group[0].at, "has no rule for incoming traffic")],
        note="nodes get no other group; if the private endpoint of the API server is on, they never join",
        help="select the group that EKS creates, by the tag `aws:eks:cluster-name`, or tag a group for nodes",
    )
