"""Nothing lets the controller use the KMS key of a class's volumes, so EC2 ends each node right after its start.

EC2 encrypts a volume with a key of your own on behalf of whoever launches the instance, here Karpenter's controller.
The policy of the key, or a policy of the controller's role, has to allow `kms:CreateGrant`, `kms:Decrypt`,
`kms:DescribeKey`, `kms:GenerateDataKey*` and `kms:ReEncrypt*`. Neither the policies of Karpenter's guide nor those of
`terraform-aws-modules/eks/aws//modules/karpenter` allow them. Karpenter launches the node, EC2 ends it with
`Client.InternalError`, and the pods stay pending.

A key policy for the whole account (`:root`, the default) is not enough: it leaves the decision to the policies of the
role.

The rule reads a key that Terraform creates with an `aws_kms_key` next to the policy of the controller. It reports
nothing if the policy of the key names anybody else than the account, or if a file allows a call of KMS elsewhere.

There is no fix: the author chooses between the policy of the key and that of the role.

```yaml bad
# file: main.tf
resource "aws_kms_key" "volumes" {
  description = "volumes of nodes"
}
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
      role: ${module.karpenter.node_iam_role_name}
      amiSelectorTerms: [{alias: al2023@v20260714}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
      blockDeviceMappings:
        - deviceName: /dev/xvda
          ebs:
            volumeSize: 50Gi
            volumeType: gp3
            encrypted: true
            kmsKeyID: ${aws_kms_key.volumes.arn}
  YAML
}
```

```yaml good
# file: main.tf
resource "aws_kms_key" "volumes" {
  description = "volumes of nodes"
}
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.9.0"
  cluster_name = "main"
  iam_policy_statements = [{
    actions   = ["kms:CreateGrant", "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
    resources = [aws_kms_key.volumes.arn]
  }]
}
resource "kubectl_manifest" "class" {
  yaml_body = <<-YAML
    apiVersion: karpenter.k8s.aws/v1
    kind: EC2NodeClass
    metadata:
      name: default
    spec:
      role: ${module.karpenter.node_iam_role_name}
      amiSelectorTerms: [{alias: al2023@v20260714}]
      subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
      securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
      blockDeviceMappings:
        - deviceName: /dev/xvda
          ebs:
            volumeSize: 50Gi
            volumeType: gp3
            encrypted: true
            kmsKeyID: ${aws_kms_key.volumes.arn}
  YAML
}
```
"""

import re

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    karpenter_calls,
    messages,
    rule,
    terraform_blocks,
    terraform_trace,
)

_GRANTS = re.compile(
    r"(?i)kms:(?:\*|create|decrypt|describe|encrypt|generate|re\*?enc)|aws_kms_(?:grant|key_policy)\b|AdministratorAccess|PowerUserAccess|KeyManagementService"
    r"|\bactions?\b\W{1,9}\*\W|create-grant|put-key-policy"
)
"""What a file contains that may let the controller use a key."""
_OTHERS = re.compile(r"(?i)ViaService|kms:CallerAccount|\b(?:aws_iam_(?:role|user)|module|var|local|each)\.[\w-]")
"""What the policy of a key contains if it may name others than the account."""
_ACCOUNT_ALONE = re.compile(r'"arn:[^"\n]*:root"')
_PRINCIPALS = re.compile(r'\b(?:AWS|identifiers)\b"?\s*[=:]\s*(\[[^\]]*\]|[^\n,}]*)')


@rule(
    on=EC2NodeClass,
    group="correctness",
    severity="warning",
    subject="disks",
    gives_way_to=["placeholder-left", "removed-api"],
    mentions=["kmsKeyID"],
    tags=["terraform"],
    source=[
        "https://karpenter.sh/docs/troubleshooting/",
        "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html",
    ],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    mappings = node_class.block_devices_node
    for mapping in mappings.items if mappings is not None else ():
        key = mapping.find("ebs", "kmsKeyID")
        made = _find_key(key, context) if key is not None else None
        if key is not None and made is not None and not _may_be_allowed(made, context):
            yield Finding(
                at=key,
                message=f"nothing lets the controller use `{messages.short(made.address, 40)}`: EC2 ends each "
                "node right after its start",
                also=[Also(made.at, "the policy of the key names nobody but the account")],
                help="allow `kms:CreateGrant` and the calls for data keys in the policy of the controller, or in the "
                "policy of the key with the condition `kms:ViaService`",
                once=True,
            )


def _find_key(key: Node, context: Context) -> "terraform_trace.BlockText | None":
    """Return the `aws_kms_key` that a `kmsKeyID` names, by a reference or by its alias. None if it is not known."""
    blocks = context.run_files.terraform
    if key.value is UNKNOWN:
        found = blocks.trace(key.source.text[key.start : key.end], key.source.path)
        block = blocks.find(found) if found is not None else None
    else:
        aliases = (block for block in blocks.blocks if block.kind == "aws_kms_alias")
        named = [block for block in aliases if _find_name(block, blocks) == f'"{key.value}"']
        block = named[0] if len(named) == 1 else None
    if block is not None and block.kind == "aws_kms_alias":
        target = terraform_blocks.own_arguments(block.text).get("target_key_id", "")
        found = blocks.trace(target, block.source.path)
        block = blocks.find(found) if found is not None else None
    return block if block is not None and block.kind == "aws_kms_key" else None


def _find_name(alias: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> str:
    return blocks.fill(terraform_blocks.own_arguments(alias.text).get("name", ""), alias.source.path)


def _may_be_allowed(key: "terraform_trace.BlockText", context: Context) -> bool:
    """Return whether the policy of a key, or another policy of the files, may let the controller use the key."""
    blocks, files = context.run_files.terraform, context.run_files
    near = blocks.list_beside_in_root(key.source.path)
    writes_policy = any("ec2:CreateFleet" in block.text for block in near)
    calls = [call for call in karpenter_calls.list_karpenter_calls(blocks) if call.block in near]
    if not writes_policy and not calls:
        return True  # the policy of the controller is elsewhere
    policy = terraform_blocks.own_arguments(key.text).get("policy", "")
    documents = [block for block in near if block.address in policy and block.address.startswith("data.")]
    own = "\n".join([policy, *(document.text for document in documents)])
    if policy and (not _names_account_alone(own) or not (documents or policy.startswith(("jsonencode(", "<<")))):
        return True
    texts = [file.text for file in (*blocks.files, *files.files_with(_GRANTS, around=True))]
    for text in texts:
        for part in (key.text, *(document.text for document in documents)):
            text = text.replace(part, "")
        if _GRANTS.search(text) is not None:
            return True
    return False


def _names_account_alone(policy: str) -> bool:
    """Return whether a key policy names no principal but the account."""
    known = re.sub(r"\$\{data\.aws_(?:caller_identity|partition)\.[^{}]*\}", "", policy)
    rest = [_ACCOUNT_ALONE.sub("", found) for found in _PRINCIPALS.findall(known)]
    return bool(rest) and not any('"' in text for text in rest) and _OTHERS.search(known) is None
