"""The one security group that the class finds by its tag has no rule for incoming traffic.

Nodes get only the security groups that the class selects. If the group admits nothing, the control plane does not
reach the kubelet and pods do not reach pods on other nodes, DNS among them. The security group of the cluster admits
only its own members. So if the private endpoint of the API server is on, the node does not reach it and never joins.

Usually the tag is on the group that the cluster gets by `vpc_config.security_group_ids`. EKS attaches that group to
the control plane and not to nodes. Select the group that EKS creates (`aws:eks:cluster-name`), or a group for nodes
that admits the cluster.

A group that admits only its own members (`self = true`) is closed to the control plane as well, unless the cluster
has the group, too: `kubectl logs` and webhooks fail, and pods do not reach CoreDNS on nodes of another group. The
rule reports such a group if the files create the cluster.

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

```yaml good diff=bad
-  tags   = { "karpenter.sh/discovery" = "main" }
@@
-  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
+  securityGroupSelectorTerms: [{tags: {aws:eks:cluster-name: main}}]
```

```yaml bad
# file: main.tf
resource "aws_eks_cluster" "main" {
  name     = "main"
  role_arn = "arn:aws:iam::111122223333:role/cluster"
  vpc_config {
    subnet_ids = ["subnet-0f3a91c2b7d45e608", "subnet-0a3a91c2b7d45e608"]
  }
}
resource "aws_security_group" "nodes" {
  name   = "nodes"
  vpc_id = "vpc-0f3a91c2b7d45e608"
  tags   = { "karpenter.sh/discovery" = "main" }
  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
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
resource "aws_eks_cluster" "main" {
  name     = "main"
  role_arn = "arn:aws:iam::111122223333:role/cluster"
  vpc_config {
    subnet_ids = ["subnet-0f3a91c2b7d45e608", "subnet-0a3a91c2b7d45e608"]
  }
}
resource "aws_security_group" "nodes" {
  name   = "nodes"
  vpc_id = "vpc-0f3a91c2b7d45e608"
  tags   = { "karpenter.sh/discovery" = "main" }
  ingress {
    from_port       = 0
    to_port         = 0
    protocol        = "-1"
    self            = true
    security_groups = [aws_eks_cluster.main.vpc_config[0].cluster_security_group_id]
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
"""

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, closed_groups, rule


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
    if not isinstance(tag.key, str) or "karpenter" not in tag.key:
        return
    found = closed_groups.find_closed_group(tag, tag.key, context.run_files.terraform)
    if found is None:
        return
    if found.admits_members:
        yield Finding(
            at=tag.node,
            message="the one security group with this tag admits only its own members: the control plane is shut out",
            severity="warning",
            also=[Also(found.block.at, "admits its own members only")],
            note="logs and webhooks fail, and pods there do not reach CoreDNS on other nodes",
            help="select the group that EKS creates, by the tag `aws:eks:cluster-name`, or admit its members, too",
        )
        return
    yield Finding(
        at=tag.node,
        message="the one security group with this tag admits no traffic: nothing reaches the nodes and their pods",
        also=[Also(found.block.at, "has no rule for incoming traffic")],
        note="nodes get no other group; if the private endpoint of the API server is on, they never join",
        help="select the group that EKS creates, by the tag `aws:eks:cluster-name`, or tag a group for nodes",
    )
