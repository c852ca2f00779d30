"""The `role` of a class is the role of Karpenter's controller, or not a role at all, so nodes never join.

Terraform modules have outputs for both roles, and their names are similar. In
`terraform-aws-modules/eks/aws//modules/karpenter`, `node_iam_role_name` is the role of the nodes, and `iam_role_name`
is the role of the controller. The controller's role trusts its service account, not `ec2.amazonaws.com`. So EC2
refuses to give it to an instance, or the node may not register. The name of an instance profile or of a service
account is not a role.

An `instanceProfile` has a role of its own, which must be one for nodes as well. The name of a role is not an instance
profile, unless somebody creates a profile with this name.

The rule follows an output through locals, module variables, `templatefile` and the values of a chart. It also
compares the class with the annotation `eks.amazonaws.com/role-arn` in the values of Karpenter's chart, and reads the
trust policy of a role in the same folder.

There is no fix: only the author knows which role is for nodes.

```yaml bad
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.9.0"
  cluster_name = "main"
}
resource "kubectl_manifest" "class" {
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata:
      name: default
    spec:
      role: ${module.karpenter.iam_role_name}
      amiSelectorTerms: [{alias: al2023@v20260714}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  YAML
}
```

```yaml good diff=bad
-      role: ${module.karpenter.iam_role_name}
+      role: ${module.karpenter.node_iam_role_name}
```

```yaml bad
# file: karpenter.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: karpenter
spec:
  chart: {spec: {chart: karpenter, version: 1.14.1}}
  values:
    serviceAccount:
      annotations:
        eks.amazonaws.com/role-arn: arn:aws:iam::640318552907:role/karpenter-controller
    settings: {clusterName: main, interruptionQueue: main}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: karpenter-controller
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good diff=bad
-  role: karpenter-controller
+  role: karpenter-nodes
```

```yaml bad
# file: main.tf
resource "aws_iam_role" "nodes" {
  name = "karpenter-nodes"
  assume_role_policy = jsonencode({
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
# file: main.tf
resource "aws_iam_role" "nodes" {
  name = "karpenter-nodes"
  assume_role_policy = jsonencode({
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
resource "aws_iam_instance_profile" "nodes" {
  name = "karpenter-nodes"
  role = aws_iam_role.nodes.name
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    Finding,
    Findings,
    Node,
    Source,
    messages,
    node_roles,
    rule,
    terraform_trace,
)

_MODULE = r'(?m)^[ \t]*source\s*=\s*"[^"\n]*(?:eks(?:/aws)?(?:\.git)?//modules/karpenter\b|eks-blueprints-addons?\b)'
_OUTPUTS = {
    "the controller's role": ("iam_role_name", "iam_role_arn", "iam_role_unique_id", "irsa_name", "irsa_arn"),
    "an instance profile": ("instance_profile_name", "instance_profile_id", "node_instance_profile_name"),
    "a service account": ("service_account", "service_account_name"),
    "a queue": ("queue_name", "queue_arn", "queue_url"),
}
_TRUSTS_PODS = ("pods.eks.amazonaws.com", "sts:AssumeRoleWithWebIdentity")
_SERVICE = r'"([a-z][\w-]*\.amazonaws\.com)"'
_MORE_TRUST = r"\b(?:var|local|module|each)\.|\bfile\w*\(|source_policy_documents"
"""A pattern of expressions that may add principals to a trust policy."""
_OTHER_PROFILES = r"create-instance-profile|AWS::IAM::InstanceProfile|\bInstanceProfile\(|create_instance_profile"
"""A pattern of texts that create instance profiles in another way."""
_ROLE_ARN = "eks.amazonaws.com/role-arn"


@rule(
    on=Source,
    group="correctness",
    severity="warning",
    subject="security",
    mentions=["karpenter.k8s.aws/v1"],
    source=[
        "https://github.com/aws/karpenter-provider-aws/issues/6659",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/tree/master/modules/karpenter#outputs",
    ],
)
def check(source: Source, context: Context) -> Findings:
    specs = [spec for obj in context.run_files.classes_of(source) if (spec := obj.node.get("spec")) is not None]
    roles = [role for spec in specs if (role := spec.get("role")) is not None]
    of_controller = _controller_roles(context) if roles else set()
    for role in roles:
        if role.value is UNKNOWN:
            yield from _referred(role, context.run_files.terraform)
        elif isinstance(role.value, str) and role.value in of_controller:
            yield Finding(
                at=role,
                message=f"`{role.value}` is the controller's role (`role-arn` in the chart's values): nodes never "
                "join",
                help="use a role for nodes: it trusts `ec2.amazonaws.com` and has the policies of EKS nodes",
            )
        elif isinstance(role.value, str) and context.run_files.has_terraform:
            made = node_roles.find_made_role(role, context.run_files.terraform)
            if made is not None and made.block.kind == "aws_iam_role":
                yield from _trusting(role, made.block, context.run_files.terraform)
    profiles = [profile for spec in specs if (profile := spec.get("instanceProfile")) is not None]
    for profile in profiles if context.run_files.has_terraform else ():
        yield from _check_profile(profile, context)


def _check_profile(profile: Node, context: Context) -> Findings:
    """Yield a finding for an instance profile with a role that is not for nodes, and for an `instanceProfile` that
    is the name of a role.
    """
    blocks = context.run_files.terraform
    made = node_roles.find_made_role(profile, blocks)
    if node_roles.find_profile(profile, blocks) is not None:
        if made is not None and made.block.kind == "aws_iam_role":
            yield from _trusting(profile, made.block, blocks)
        return
    role = _find_role_of_name(profile, blocks)
    if role is None or context.run_files.is_in_files(re.compile(_OTHER_PROFILES), around=True):
        return
    shown = str(profile.value) if isinstance(profile.value, str) else role.address
    names = [name for _, name in node_roles.list_profiles(blocks)]
    if any(not name or terraform_trace.may_be_text(name, shown) or "$" in name for name in names):
        return
    yield Finding(
        at=profile,
        message=f"`{messages.short(shown, 40)}` is a role, not an instance profile: EC2 refuses each launch",
        severity="error",
        also=[Also(role.at, "creates the role")],
        help="write the field `role`, or create an `aws_iam_instance_profile` with the role and name it here",
    )


def _find_role_of_name(
    profile: Node, blocks: "terraform_trace.TerraformBlocks"
) -> "terraform_trace.BlockText | None":
    """Return the `aws_iam_role` to which an instance profile refers, or that has its name. None if there is none."""
    if profile.value is UNKNOWN:
        found = blocks.trace(profile.source.text[profile.start : profile.end], profile.source.path)
        block = blocks.find(found) if found is not None else None
        return block if block is not None and block.kind == "aws_iam_role" else None
    roles = (block for block in blocks.blocks if block.kind == "aws_iam_role")
    named = [block for block in roles if node_roles.MadeRole(block).find_name(blocks) == f'"{profile.value}"']
    return named[0] if len(named) == 1 else None


def _referred(role: Node, blocks: "terraform_trace.TerraformBlocks") -> Findings:
    """Yield a finding for a role that comes from Terraform: a module output, or a role resource."""
    found = blocks.trace(role.source.text[role.start : role.end], role.source.path)
    block = blocks.find(found) if found is not None else None
    if found is None or block is None or not found.attributes:
        return
    output = found.attributes[-1]
    if block.address.startswith("module.") and re.search(_MODULE, block.text):
        what = next((what for what, outputs in _OUTPUTS.items() if output in outputs), None)
        if what is None or (what == "an instance profile" and "use_name_prefix" in block.text):
            return  # without a prefix, the instance profile has the name of the role
        nodes = "node_iam_role_name" if not output.startswith("irsa") else "role_name"
        yield Finding(
            at=role,
            message=f"`{output}` is {what}, not the role of the nodes: nodes never join the cluster",
            help=f"use `{'.'.join((found.address, *found.attributes[:-1], nodes))}`",
        )
    elif block.kind == "aws_iam_role":
        yield from _trusting(role, block, blocks)


def _trusting(role: Node, block: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> Findings:
    """Yield a finding for a role whose trust policy does not name EC2."""
    trust = [block.text]
    for name in re.findall(r"\bdata\.aws_iam_policy_document\.[\w-]+", block.text):
        document = blocks.find(terraform_trace.BlockReference(name, (), terraform_trace.folder_of(block.source.path)))
        if document is None:
            return
        trust.append(document.text)
    services = [name for text in trust for name in re.findall(_SERVICE, text)]
    if any(word in text for text in trust for word in _TRUSTS_PODS):
        whom = "pods"
    elif services and not any(re.search(_MORE_TRUST, text) for text in trust):
        whom = f"`{services[0]}`"
    else:
        return
    if not any("ec2." in text for text in trust):
        yield Finding(
            at=role,
            message=f"`{block.address}` trusts {whom}, not `ec2.amazonaws.com`: EC2 cannot give it to a node",
            also=[Also(block.at, "creates the role")],
            help="use the role of the nodes",
        )


def _controller_roles(context: Context) -> set[str]:
    """Return the names of the roles that the chart's values give the controller's service account."""
    if not context.run_files.is_in_files(_ROLE_ARN):
        return set()
    stated = [install.values for install in context.run_files.installs if install.values is not None]
    notes = [values.find("serviceAccount", "annotations", "eks.amazonaws.com/role-arn") for values in stated]
    return {node.value.rpartition("/")[2] for node in notes if node is not None and isinstance(node.value, str)}
