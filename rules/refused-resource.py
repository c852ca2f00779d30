"""A resource around Karpenter lacks an argument that the AWS provider requires, or sets one that it does not have.

Terraform refuses the whole configuration: "Missing required argument" or "Unsupported argument". The rule knows
access entries and associations of EKS, roles, policies, instance profiles and OIDC providers of IAM, and the policy
of a queue. It looks at all files of the root modules that install Karpenter or create its objects.

There is no fix: the author knows the value that is missing.

```yaml bad
# file: main.tf
resource "aws_eks_access_entry" "karpenter_nodes" {
  cluster_name = "main"
  role_arn     = aws_iam_role.nodes.arn
  type         = "EC2_LINUX"
}
resource "helm_release" "karpenter" {
  name  = "karpenter"
  chart = "karpenter"
}
```

```yaml good diff=bad
-  cluster_name = "main"
-  role_arn     = aws_iam_role.nodes.arn
-  type         = "EC2_LINUX"
+  cluster_name  = "main"
+  principal_arn = aws_iam_role.nodes.arn
+  type          = "EC2_LINUX"
```
"""

from nodelint.api import Also, Context, Finding, Findings, Source, Span, module_folder, resource_arguments, rule


@rule(
    on=Source,
    group="correctness",
    subject="templates",
    mentions=["aws_eks_", "aws_iam_", "aws_sqs_", "aws_ec2_tag", "aws_cloudwatch_event_target"],
    tags=["root-module"],
    source=[
        "https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/eks_access_policy_association",
        "https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/eks_access_entry",
        "https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/eks_pod_identity_association",
        "https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/iam_role_policy_attachment",
    ],
)
def check(source: Source, context: Context) -> Findings:
    if source.built is not None or not source.path.endswith(module_folder.ENDS):
        return
    if not any(f'"{kind}"' in source.text for kind in resource_arguments.TYPES):
        return
    blocks = context.run_files.terraform
    if not blocks.is_of_root(source.path):
        return
    for found in resource_arguments.find_wrong_resources(source.path, blocks):
        unknown = [
            Also(Span(source, start, end), f"`{found.kind}` has no `{name}`") for name, start, end in found.unknown
        ]
        if found.missing:
            names = ", ".join(f"`{name}`" for name in found.missing)
            yield Finding(
                at=Span(source, found.start, found.end),
                message=f"`{found.kind}` needs {names}, which the block does not set: Terraform refuses the plan",
                also=unknown,
                help=f"set {names}",
            )
            continue
        name, start, end = found.unknown[0]
        other = module_folder.closest(name, found.known)
        yield Finding(
            at=Span(source, start, end),
            message=f"`{found.kind}` has no argument `{name}`: Terraform refuses the plan",
            also=unknown[1:],
            note=f"as of version {resource_arguments.NEWEST} of the AWS provider",
            help=f"write `{other}`" if other is not None else "remove the argument, or correct its name",
        )
