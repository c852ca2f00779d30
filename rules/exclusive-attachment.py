"""Terraform takes a policy of AWS away from all other roles of the account, such as those of other node groups.

`aws_iam_policy_attachment` manages all attachments of a policy. At each apply it detaches the policy from every role,
user and group that it does not list, also from roles that other tools made. If the policy is one for nodes, for
example `AmazonEKSWorkerNodePolicy`, the nodes of other node groups and clusters stop working.
`aws_iam_role_policy_attachment` attaches the policy to one role, and leaves the others alone.

```yaml bad
# file: karpenter.tf
resource "aws_iam_role" "karpenter_nodes" {
  name = "karpenter-nodes"
}
resource "aws_iam_policy_attachment" "worker" {
  name       = "karpenter-worker"
  roles      = [aws_iam_role.karpenter_nodes.name]
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
}
```

```yaml good
# file: karpenter.tf
resource "aws_iam_role" "karpenter_nodes" {
  name = "karpenter-nodes"
}
resource "aws_iam_role_policy_attachment" "worker" {
  role       = aws_iam_role.karpenter_nodes.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
}
```
"""

from nodelint.api import Also, Context, Finding, Findings, Source, rule, terraform_blocks


@rule(
    on=Source,
    group="hazard",
    severity="warning",
    subject="security",
    mentions=["aws_iam_policy_attachment"],
    source="https://registry.terraform.io/providers/hashicorp/aws/latest/docs/resources/iam_policy_attachment",
)
def check(source: Source, context: Context) -> Findings:
    blocks = terraform_blocks.find_blocks(source) if source.path.endswith(terraform_blocks.ENDINGS) else ()
    found = [
        block for block in blocks if block.kind == "aws_iam_policy_attachment" and ":iam::aws:policy/" in block.text
    ]
    if found:
        yield Finding(
            at=found[0].at,
            message="`aws_iam_policy_attachment` detaches this policy of AWS from all other roles of the account",
            also=[Also(block.at, "this attachment is exclusive as well") for block in found[1:]],
            help="use `aws_iam_role_policy_attachment`",
        )
