"""The `role` of a class is the role of Karpenter's controller, or not a role at all, so nodes never join.

Terraform modules have outputs for both roles, and their names are similar. In
`terraform-aws-modules/eks/aws//modules/karpenter`, `node_iam_role_name` is the role of the nodes, and `iam_role_name`
is the role of the controller. The controller's role trusts its service account, not `ec2.amazonaws.com`. So EC2
refuses to give it to an instance, or the node may not register. The name of an instance profile or of a service
account is not a role.

The rule follows an output through locals, module variables, `templatefile` and the values of a chart. It also
compares the class with the annotation `eks.amazonaws.com/role-arn` in the values of Karpenter's chart, and reads the
trust policy of a role in the same folder.

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
"""

import re

from nodelint.api import UNKNOWN, Also, Context, Finding, Findings, Node, Source, node_roles, rule, terraform_trace

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
    roles = [
        role for obj in context.run_files.classes_of(source) if (role := obj.node.find("spec", "role")) is not None
    ]
    if not roles:
        return
    of_controller = _controller_roles(context)
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
