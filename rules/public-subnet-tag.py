"""Terraform gives the discovery tag to public subnets as well as private ones: Karpenter launches nodes in both.

Karpenter takes all subnets that a term selects, and of each zone the one with the most free addresses. A node in a
public subnet either gets a public address, and only its security groups protect it, or it gets none and has no route
out: the subnet's default route goes to an internet gateway. Such a node never joins the cluster.

The rule looks at subnets with `map_public_ip_on_launch` or with a route to an internet gateway, and at the module
`terraform-aws-modules/vpc/aws`. It reports nothing if no EC2NodeClass selects subnets by this tag alone, or if no
private subnets have the tag with this value: then public nodes are meant. But if neither these subnets nor the class
give nodes a public address, no node joins, and the rule reports an error.

There is no fix: somebody may need the tag for other things.

```yaml bad
# file: main.tf
module "vpc" {
  source              = "terraform-aws-modules/vpc/aws"
  version             = "6.5.0"
  public_subnets      = ["10.0.0.0/20"]
  private_subnets     = ["10.0.128.0/20"]
  enable_nat_gateway  = true
  public_subnet_tags  = { "karpenter.sh/discovery" = "main" }
  private_subnet_tags = { "karpenter.sh/discovery" = "main" }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
-  public_subnet_tags  = { "karpenter.sh/discovery" = "main" }
```

```yaml bad
# file: main.tf
module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "6.5.0"
  public_subnets     = ["10.0.0.0/20"]
  private_subnets    = ["10.0.128.0/20"]
  enable_nat_gateway = true
  public_subnet_tags = { "karpenter.sh/discovery" = "main" }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
# file: main.tf
module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "6.5.0"
  public_subnets     = ["10.0.0.0/20"]
  private_subnets    = ["10.0.128.0/20"]
  enable_nat_gateway = true
  public_subnet_tags = { "karpenter.sh/discovery" = "main" }
  map_public_ip_on_launch = true
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

from collections.abc import Sequence

from nodelint.api import Also, Context, EC2NodeClass, Finding, Findings, Source, public_subnets, rule, terraform_trace

_KEY = "karpenter.sh/discovery"


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="network",
    mentions=["aws_subnet", "public_subnet"],
    source=[
        "https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms",
        "https://docs.aws.amazon.com/eks/latest/best-practices/subnets.html",
        "provider:pkg/providers/subnet/subnet.go@v1.14.1:130",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(terraform_trace.ENDINGS):
        return
    blocks = context.run_files.terraform
    found = list(public_subnets.find_tagged_subnets(source.path, _KEY, blocks))
    if not found:
        return
    tagged = [
        subnets
        for subnets in found
        if public_subnets.has_tagged_private_subnets(source.path, _KEY, subnets.value, blocks)
    ]
    classes = context.run_files.objects_near(source, EC2NodeClass)
    selecting = [term for cls in classes for term in cls.subnet_terms if [tag.key for tag in term.tags] == [_KEY]]
    if not selecting:
        return
    if not tagged:
        is_closed = all(subnets.gives_address is False for subnets in found) and not _give_addresses(classes)
        if is_closed and not context.run_files.is_in_files("create-tags", around=True):
            yield from _of_public_alone(found, Also(selecting[0].node, "selects them"), blocks)
        return
    first, *others = tagged
    yield Finding(
        at=first.at,
        message="public subnets have the discovery tag, too: nodes there get a public address"
        if first.gives_address
        else "public subnets have the discovery tag, too: nodes there have no route out without a public address",
        also=[*(Also(other.at, "public subnets, too") for other in others), Also(selecting[0].node, "selects them")],
        note="Karpenter takes the subnet of a zone with the most free addresses",
        help="give the tag to private subnets only",
        once=True,
    )


def _give_addresses(classes: Sequence[EC2NodeClass]) -> bool:
    """Return whether a class gives its nodes public addresses, or may do so."""
    return any(found.node.find("spec", "associatePublicIPAddress") is not None for found in classes)


def _of_public_alone(
    found: "Sequence[public_subnets.TaggedSubnets]", selecting: Also, blocks: "terraform_trace.TerraformBlocks"
) -> Findings:
    """Yield a finding if only public subnets have the tag, and nodes there get no public address."""
    if public_subnets.are_only_tagged(found, _KEY, blocks):
        yield Finding(
            at=found[0].at,
            message="only public subnets have the discovery tag: nodes there have no public address and no route out",
            severity="error",
            note="such a node never joins the cluster",
            also=[selecting],
            help="give the tag to the private subnets",
        )
