"""Terraform gives private subnets Karpenter's tag, and no route out of the VPC: nodes there never join the cluster.

A node gets its user data, its credentials and its images from endpoints outside of the VPC. The module
`terraform-aws-modules/vpc/aws` creates no NAT gateway, unless `enable_nat_gateway` is true. Its private subnets then
reach only the VPC.

The rule reports nothing if a file creates VPC endpoints, routes, a NAT instance, a transit gateway or the like.

There is no fix: a NAT gateway costs money, and the author may prefer VPC endpoints.

```yaml bad
# file: main.tf
module "vpc" {
  source              = "terraform-aws-modules/vpc/aws"
  version             = "6.6.0"
  name                = "main"
  private_subnets     = ["10.0.1.0/24", "10.0.2.0/24"]
  private_subnet_tags = { "karpenter.sh/discovery" = "main" }
}
```

```yaml good diff=bad
   private_subnet_tags = { "karpenter.sh/discovery" = "main" }
+  enable_nat_gateway  = true
```

The rule also reads `aws_vpc` and `aws_subnet`, if the files create one VPC with a cluster and no route at all.

```yaml bad
# file: main.tf
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "private" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.0.0/20"
  tags       = { "karpenter.sh/discovery" = "main" }
}
resource "aws_eks_cluster" "main" {
  name     = "main"
  role_arn = "arn:aws:iam::111122223333:role/cluster"
  vpc_config {
    subnet_ids = [aws_subnet.private.id]
  }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {aws:eks:cluster-name: main}}]
```

```yaml good
# file: main.tf
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "private" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.0.0/20"
  tags       = { "karpenter.sh/discovery" = "main" }
}
resource "aws_eks_cluster" "main" {
  name     = "main"
  role_arn = "arn:aws:iam::111122223333:role/cluster"
  vpc_config {
    subnet_ids = [aws_subnet.private.id]
  }
}
resource "aws_route_table" "private" {
  vpc_id = aws_vpc.main.id
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {aws:eks:cluster-name: main}}]
```
"""

import re

from nodelint.api import (
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Source,
    module_folder,
    node_roles,
    rule,
    terraform_blocks,
)

_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(?:registry\.terraform\.io/)?terraform-aws-modules/vpc/aws"')
_TAGS = re.compile(r"\bprivate_subnet_tags[ \t]*=[ \t]*\{[^{}]*karpenter\.sh/discovery")
_ROUTES = re.compile(
    r"\baws_(?:default_|main_)?route\w*\b|\baws_(?:internet|customer|vpn|carrier)_gateway_attachment\b"
)
_OTHER_MODULES = re.compile(
    r'(?m)^[ \t]*source[ \t]*=[ \t]*"terraform-aws-modules/(?:eks|iam|ecr|rds|s3-bucket|kms)/'
)
"""The call of a module that creates no routes."""
_OTHER_WAYS = re.compile(
    r"aws_vpc_endpoint|vpc-endpoints|aws_nat_gateway|fck-?nat|nat[-_]instance|\baws_route\b|\baws_instance\b"
    r"|transit_gateway|vpn_gateway|network_firewall|egress_only|vpc_peering|single_nat_gateway"
    r'|\baws_route_table\b|\bmodule[ \t]+"[^"\n]*nat|\bsource[ \t]*=[ \t]*"[^"\n]*\bnat\b'
)


@rule(
    on=Source,
    group="correctness",
    subject="network",
    mentions=["terraform-aws-modules/vpc/aws", "terraform-aws-vpc", "aws_vpc"],
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-vpc/blob/v6.6.0/variables.tf",
        "https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    yield from _check_resources(source, context)
    for block in terraform_blocks.find_blocks(source):
        is_vpc = block.address.startswith("module.") and _MODULE.search(block.text) is not None
        if not is_vpc or _TAGS.search(block.text) is None:
            continue
        blocks = context.run_files.terraform
        values = [found.value.value for found in blocks.argument_values(block, "enable_nat_gateway")]
        if any(value is not False for value in values) or blocks.has_text_near(source.path, _OTHER_WAYS):
            continue
        if not values and "enable_nat_gateway" in block.text:
            continue
        is_written = not values or re.search(r"\benable_nat_gateway[ \t]*=[ \t]*false", block.text) is not None
        yield Finding(
            at=block.at,
            message="the private subnets with Karpenter's tag have no route out of the VPC: nodes never join",
            severity=None if is_written else "warning",
            help="set `enable_nat_gateway = true`, or create VPC endpoints for what nodes call",
        )


def _check_resources(source: Source, context: Context) -> Findings:
    """Yield a finding for a VPC with the cluster's subnets if no file creates a route in it."""
    if '"aws_vpc"' not in source.text:
        return
    blocks = context.run_files.terraform
    made = [block for block in blocks.blocks if block.kind == "aws_vpc"]
    subnets = [block for block in blocks.blocks if block.kind == "aws_subnet"]
    if len(made) != 1 or not subnets or made[0].source.path != source.path or not node_roles.list_clusters(blocks):
        return
    owns = all(
        re.fullmatch(
            rf"{re.escape(made[0].address)}\.id", terraform_blocks.own_arguments(block.text).get("vpc_id", "")
        )
        for block in subnets
    )
    calls = [block for block in blocks.blocks if block.address.startswith("module.")]
    if any(terraform_blocks.called_folder(call) is None and not _OTHER_MODULES.search(call.text) for call in calls):
        return  # a module that is not read may create routes
    texts = [*blocks.files, *blocks.files_near(source.path)]
    if not owns or any(_OTHER_WAYS.search(file.text) or _ROUTES.search(file.text) for file in texts):
        return
    if context.run_files.objects_near(source, EC2NodeClass):
        yield Finding(
            at=made[0].at,
            message="no file creates a route out of this VPC: nodes in its subnets never join the cluster",
            also=[Also(subnets[0].at, "a subnet of the VPC")],
            help="add a NAT gateway with a route table for the private subnets, or VPC endpoints",
        )
