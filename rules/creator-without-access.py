"""Terraform creates a cluster that gives nobody access, and applies Karpenter to it in the same run.

The release of Karpenter and every other object then fail: "Unauthorized", or "the server has asked for the client to
provide credentials". With access entries, a cluster admits nobody by default:

- `terraform-aws-modules/eks` from version 20 on sets `bootstrap_cluster_creator_admin_permissions` to false, and
  creates an entry for its caller only with `enable_cluster_creator_admin_permissions = true`.
- An `aws_eks_cluster` with `access_config` admits its creator unless that argument is false. The AWS provider before
  5.58 sent false if the argument was absent.

The rule reports nothing if the root module has an access entry for a person or role, or something that may give
access in another way. A cluster that exists already may have got its entries by hand or in another repository.

There is no fix: `bootstrap_cluster_creator_admin_permissions` cannot be changed later, Terraform would replace the
cluster.

```yaml bad
# file: main.tf
provider "helm" {
  kubernetes = {
    host = module.eks.cluster_endpoint
  }
}
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "~> 21.0"
  name               = "main"
  kubernetes_version = "1.34"
}
resource "helm_release" "karpenter" {
  name    = "karpenter"
  chart   = "oci://public.ecr.aws/karpenter/karpenter"
  version = "1.14.1"
}
```

```yaml good
# file: main.tf
provider "helm" {
  kubernetes = {
    host = module.eks.cluster_endpoint
  }
}
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "~> 21.0"
  name               = "main"
  kubernetes_version = "1.34"

  enable_cluster_creator_admin_permissions = true
}
resource "helm_release" "karpenter" {
  name    = "karpenter"
  chart   = "oci://public.ecr.aws/karpenter/karpenter"
  version = "1.14.1"
}
```
"""

from nodelint.api import Also, Context, Finding, Findings, Source, cluster_access, rule, terraform_trace


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=["aws_eks_cluster", "terraform-aws-modules/eks/aws"],
    tags=["root-module"],
    source=[
        "https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/v21.18.0/main.tf",
        "https://github.com/hashicorp/terraform-provider-aws/pull/38295",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(terraform_trace.ENDINGS):
        return
    for found in cluster_access.find_closed_clusters(source.path, context.run_files.terraform):
        yield Finding(
            at=found.block.at,
            message=f"the new cluster gives nobody access: `{found.user.address}` fails with `Unauthorized`",
            also=[Also(found.user.at, "is applied to the cluster in the same run")],
            note="a cluster that has access entries from elsewhere is not concerned",
            help="set `enable_cluster_creator_admin_permissions = true`"
            if found.is_module
            else "add an `aws_eks_access_entry` with an `aws_eks_access_policy_association` for the role that runs "
            "Terraform",
        )
