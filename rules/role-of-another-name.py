"""The class names a role that nothing creates, while Terraform creates the nodes' role with another name.

If no role has the name in the class, Karpenter cannot add it to an instance profile, and the class never becomes
ready. Getting-started guides call the role `KarpenterNodeRole-<cluster>`. Roles from Terraform often have a name
without the cluster.

The rule looks at repositories in which Terraform creates exactly one role for Karpenter's nodes, with a name that
begins with a literal text, and nothing else may create roles for nodes (CloudFormation, modules with roles for
Karpenter). It reports nothing if another file, or a row of `aws-auth`, contains the name of the class's role.

```yaml bad
# file: main.tf
resource "aws_iam_role" "karpenter_node" {
  name = "KarpenterNodeRole"
  assume_role_policy = jsonencode({
    Statement = [{ Action = "sts:AssumeRole", Effect = "Allow", Principal = { Service = "ec2.amazonaws.com" } }]
  })
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
resource "aws_iam_role" "karpenter_node" {
  name = "KarpenterNodeRole"
  assume_role_policy = jsonencode({
    Statement = [{ Action = "sts:AssumeRole", Effect = "Allow", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re

from nodelint.api import Also, Context, Finding, Findings, Source, rule, terraform_trace

_OTHER_MAKERS = r"AWS::IAM::Role|modules/karpenter\b|eks-blueprints|iam create-role|iamserviceaccount"
_MANIFESTS = (".yaml", ".yml", ".json", ".tpl")
_OF_NODES = r"(?i)karpenter[-_]?node"


def _may_make_node_roles(text: str) -> bool:
    """Whether a text in which another maker of roles stands may make one for nodes: they trust EC2."""
    return "AWS::IAM::Role" not in text or re.search(r"\bec2\.(?:amazonaws|\$\{)", text) is not None


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=["karpenter.k8s.aws/v1"],
    source=[
        "provider:pkg/controllers/nodeclass/instanceprofile.go@v1.14.1:59",
        "https://karpenter.sh/docs/getting-started/getting-started-with-karpenter/",
    ],
)
def check(source: Source, context: Context) -> Findings:
    roles = [
        role for obj in context.run_files.classes_of(source) if (role := obj.node.find("spec", "role")) is not None
    ]
    plain = [role for role in roles if isinstance(role.value, str) and "karpenter" in role.value.lower()]
    if not plain or not context.run_files.has_terraform:
        return
    makers = context.run_files.files_with(re.compile(_OTHER_MAKERS), around=True)
    if any(_may_make_node_roles(file.text) for file in makers):
        return
    made = [block for block in context.run_files.terraform.blocks if block.kind == "aws_iam_role"]
    names = [terraform_trace.find_arguments(block.text, "name")[:1] for block in made]
    ours = [(b, n[0]) for b, n in zip(made, names, strict=True) if n and re.search(_OF_NODES, f"{b.address} {n[0]}")]
    if len(ours) != 1 or re.fullmatch(r'"[^"$]{4,}+[^"]*+"', ours[0][1]) is None:
        return
    block, literal = ours[0][0], ours[0][1].strip('"')
    for role in plain:
        name = str(role.value)
        elsewhere = any(
            f"role/{name}" in file.text
            or (name in file.text and "EC2NodeClass" not in file.text and not file.path.endswith(_MANIFESTS))
            for file in context.run_files.files_of_run
        )
        if (
            name == literal
            or name.startswith("arn:")
            or elsewhere
            or any(not n or terraform_trace.may_be_text(n[0], name) for n in names)
        ):
            continue
        yield Finding(
            at=role,
            message=f"no file creates the role `{name}`: Terraform creates the nodes' role as `{literal}`",
            also=[Also(block.at, "the role of the nodes")],
            help=f"write `{literal}`, or rename the role",
        )
