"""All nodes on which Karpenter's controller can run are spot instances of a managed node group.

EC2 may reclaim the instance of the controller at any time, with two minutes' notice, and often it reclaims several at
once. Until the group has a new instance, nobody replaces the nodes of all other pods. If spot capacity of the group's
types has run out, Karpenter cannot help: it does not run. Karpenter does not run on nodes that it launches itself.

Give the group `capacity_type = "ON_DEMAND"`, or run the controller on Fargate. Two small instances are enough. The
rule reports nothing if a root module has any other nodes, or if the capacity of a group is not known.

There is no fix: Terraform replaces the group.

```yaml bad
# file: main.tf
resource "aws_eks_node_group" "system" {
  cluster_name  = "main"
  node_role_arn = "arn:aws:iam::111122223333:role/nodes"
  subnet_ids    = ["subnet-0abc1230000000000"]
  capacity_type = "SPOT"
  scaling_config {
    desired_size = 2
    max_size     = 2
    min_size     = 2
  }
}
resource "helm_release" "karpenter" {
  name  = "karpenter"
  chart = "oci://public.ecr.aws/karpenter/karpenter"
}
```

```yaml good diff=bad
-  capacity_type = "SPOT"
+  capacity_type = "ON_DEMAND"
```
"""

from nodelint.api import Also, Context, Finding, Findings, Source, rule, spot_groups, terraform_trace


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="spot",
    mentions=["aws_eks_node_group", "eks_managed_node_groups"],
    tags=["root-module"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/best-practices/karpenter.html",
        "https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(terraform_trace.ENDINGS):
        return
    blocks = context.run_files.terraform
    if not blocks.is_of_root(source.path):
        return
    found = list(spot_groups.find_spot_groups(source.path, blocks))
    if found and found[0].at.source.path == source.path:
        yield Finding(
            at=found[0].at,
            message="all nodes for Karpenter's controller are spot instances: if EC2 reclaims them, nothing launches "
            "nodes",
            also=[Also(other.at, "spot, too") for other in found[1:] if other != found[0]],
            help='set `capacity_type = "ON_DEMAND"` for the group of the controller',
        )
