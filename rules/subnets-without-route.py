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
"""

import re

from nodelint.api import Context, Finding, Findings, Source, module_folder, rule, terraform_blocks

_MODULE = re.compile(r'(?m)^[ \t]*source\s*=\s*"(?:registry\.terraform\.io/)?terraform-aws-modules/vpc/aws"')
_TAGS = re.compile(r"\bprivate_subnet_tags[ \t]*=[ \t]*\{[^{}]*karpenter\.sh/discovery")
_OTHER_WAYS = re.compile(
    r"aws_vpc_endpoint|vpc-endpoints|aws_nat_gateway|fck-?nat|nat[-_]instance|\baws_route\b|\baws_instance\b"
    r"|transit_gateway|vpn_gateway|network_firewall|egress_only|vpc_peering|single_nat_gateway"
    r'|\baws_route_table\b|\bmodule[ \t]+"[^"\n]*nat|\bsource[ \t]*=[ \t]*"[^"\n]*\bnat\b'
)


@rule(
    on=Source,
    group="correctness",
    subject="network",
    mentions=["terraform-aws-modules/vpc/aws", "terraform-aws-vpc"],
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-vpc/blob/v6.6.0/variables.tf",
        "https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
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
