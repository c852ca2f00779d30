"""The class names a role that nothing creates, while Terraform creates the nodes' role with another name.

If no role has the name in the class, Karpenter cannot add it to an instance profile, and the class never becomes
ready. Getting-started guides call the role `KarpenterNodeRole-<cluster>`. Roles from Terraform often have a name
without the cluster.

Modules have names of their own. `terraform-aws-modules/eks/aws//modules/karpenter` calls the role
`Karpenter-<cluster>` followed by a suffix that nobody can guess, unless `node_iam_role_name` is set and
`node_iam_role_use_name_prefix` is `false`. `aws-ia/eks-blueprints-addons` calls it `karpenter-<cluster>` with such a
suffix. Use the output of the module, or turn the suffix off. `name_prefix` of an `aws_iam_role` adds such a suffix as
well, and so does `iam_role_name` of a node group in `terraform-aws-modules/eks`, unless
`iam_role_use_name_prefix` is `false`.

The rule looks at a repository only if Terraform creates exactly one role for Karpenter's nodes, or modules create
all of them, and no other file may create such a role (CloudFormation, a script). It follows names through locals,
arguments of modules and the name of the cluster. It reports nothing if another file, or a row of `aws-auth`, contains
the name of the role of the class.

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

```yaml good diff=bad
-  role: KarpenterNodeRole-main
+  role: KarpenterNodeRole
```

```yaml bad
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.9.0"
  cluster_name = "main"
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
-  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
-  version      = "21.9.0"
-  cluster_name = "main"
+  source                        = "terraform-aws-modules/eks/aws//modules/karpenter"
+  version                       = "21.9.0"
+  cluster_name                  = "main"
+  node_iam_role_name            = "KarpenterNodeRole-main"
+  node_iam_role_use_name_prefix = false
```

An `instanceProfile` is compared as well, if Terraform creates one instance profile for Karpenter.

```yaml bad
# file: main.tf
resource "aws_iam_instance_profile" "karpenter" {
  name = "main-karpenter-nodes"
  role = "main-karpenter-nodes"
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: KarpenterNodeInstanceProfile-main
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
# file: main.tf
resource "aws_iam_instance_profile" "karpenter" {
  name = "main-karpenter-nodes"
  role = "main-karpenter-nodes"
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: main-karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```
"""

import re
from collections.abc import Sequence

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    Finding,
    Findings,
    Node,
    Source,
    karpenter_calls,
    messages,
    node_roles,
    rule,
    terraform_trace,
)

_OTHER_MAKERS = r"AWS::IAM::Role|iam create-role|iamserviceaccount|aws-cdk|@pulumi|aws_cdk"
_OTHER_PROFILES = r"create-instance-profile|AWS::IAM::InstanceProfile|\bInstanceProfile\("
"""A pattern of texts that create instance profiles in another way than Terraform."""
_MAY_MAKE_PROFILES = r"modules/karpenter\b|eks-blueprints|create_instance_profile"
_PUBLIC = r"modules/karpenter\b|eks-blueprints"
_MANIFESTS = (".yaml", ".yml", ".json", ".tpl")
_OF_NODES = r"(?i)karpenter[-_]?node"
_MAY_HOLD_SUFFIX = r"(?i)role|iam|node|karpenter|suffix|random|\bid\b"
_ROLE_NAME = r"[\w+=,.@-]+"
_SUFFIX = r"-\d{18,26}"
_FIXED = re.compile(r"[a-zA-Z]{4}")
"""The part of a name without references that is enough to recognize the name."""


def _may_make_node_roles(text: str) -> bool:
    """Return whether a file that creates roles may create the role of nodes, which trusts EC2.

    True if the file is no CloudFormation.
    """
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
        "https://github.com/terraform-aws-modules/terraform-aws-eks/blob/v21.18.0/modules/karpenter/main.tf",
        "https://github.com/aws-ia/terraform-aws-eks-blueprints-addons/blob/v1.23.0/main.tf",
    ],
    tags=["terraform"],
)
def check(source: Source, context: Context) -> Findings:
    specs = [spec for obj in context.run_files.classes_of(source) if (spec := obj.node.get("spec")) is not None]
    if not specs or not context.run_files.has_terraform:
        return
    yield from _of_profiles([found for spec in specs if (found := spec.get("instanceProfile")) is not None], context)
    roles = [role for spec in specs if (role := spec.get("role")) is not None]
    if not roles:
        return
    makers = context.run_files.files_with(re.compile(_OTHER_MAKERS), around=True)
    if any(_may_make_node_roles(file.text) for file in makers):
        return
    blocks = context.run_files.terraform
    calls = karpenter_calls.list_karpenter_calls(blocks)
    prefixed = {id(role): _find_prefixed(role, calls, blocks, context) for role in roles}
    for role in roles:
        block = prefixed[id(role)]
        if block is not None:
            yield Finding(
                at=role,
                severity="error",
                message=f"no file creates the role `{role.value}`: Terraform adds a random suffix to the name",
                note="IAM adds the instance profile no role that does not exist: the EC2NodeClass is never ready",
                also=[Also(block.at, "creates the role")],
                help="use the name from Terraform's output, or give the role a full `name`",
            )
    roles = [role for role in roles if prefixed[id(role)] is None]
    plain = [role for role in roles if isinstance(role.value, str) and "karpenter" in role.value.lower()]
    plain = [role for role in plain if not _TO_CHANGE.search(role.source.text, role.end, _find_line_end(role))]
    if calls:
        texts = [role for role in roles if role.value is UNKNOWN and _is_text_with_names(role)]
        yield from _of_modules([*plain, *texts], calls, blocks, context)
    elif plain and not context.run_files.is_in_files(re.compile(_PUBLIC), around=True):
        yield from _of_resource(plain, blocks, context)


def _of_profiles(profiles: Sequence[Node], context: Context) -> Findings:
    """Yield a finding for each instance profile that no file creates, if Terraform creates one for Karpenter."""
    named = [node for node in profiles if isinstance(node.value, str) and "karpenter" in node.value.lower()]
    if not named or context.run_files.is_in_files(re.compile(_OTHER_PROFILES), around=True):
        return
    blocks = context.run_files.terraform
    made = node_roles.list_profiles(blocks)
    ours = [(block, name) for block, name in made if re.search(r"(?i)karpenter", f"{block.address} {name}")]
    if len(ours) != 1 or any(re.search(_MAY_MAKE_PROFILES, block.text) for block in blocks.blocks):
        return
    block, name = ours[0]
    for node in named:
        written = str(node.value)
        if any(not other or terraform_trace.may_be_text(other, written) for _, other in made):
            continue
        if _is_elsewhere(written, context) or _TO_CHANGE.search(node.source.text, node.end, _find_line_end(node)):
            continue
        shown = name.strip('"')
        yield Finding(
            at=node,
            message=messages.first_fitting(
                f"no file creates the instance profile `{written}`: Terraform names it `{shown}`",
                f"no file creates the instance profile `{messages.short(written, 50)}`",
            ),
            also=[Also(block.at, f"creates `{messages.short(shown, 50)}`")],
            help=f"write `{messages.short(shown, 60)}`" if "${" not in shown else "write the name of this profile",
        )


_TO_CHANGE = re.compile(r"(?i)#.{0,40}?\b(?:change|replace|your)\b")
"""A comment after a role that tells the reader of the file to replace the role."""


def _find_line_end(node: Node) -> int:
    end = node.source.text.find("\n", node.end)
    return end if end >= 0 else len(node.source.text)


def _of_resource(plain: Sequence[Node], blocks: "terraform_trace.TerraformBlocks", context: Context) -> Findings:
    """Yield a finding for each role whose name differs from the only node role that the files create."""
    made = [block for block in blocks.blocks if block.kind == "aws_iam_role"]
    names = [_filled_name(block, blocks) for block in made]
    ours = [(b, n) for b, n in zip(made, names, strict=True) if n and re.search(_OF_NODES, f"{b.address} {n}")]
    if len(ours) != 1 or re.fullmatch(r'"[^"$]{4,}+[^"]*+"', ours[0][1]) is None:
        return
    block, literal = ours[0][0], ours[0][1].strip('"')
    for role in plain:
        name = str(role.value)
        if (
            name == literal
            or name.startswith("arn:")
            or _is_elsewhere(name, context)
            or any(not n or terraform_trace.may_be_text(n, name) for n in names)
        ):
            continue
        yield Finding(
            at=role,
            message=f"no file creates the role `{name}`: Terraform creates the nodes' role as `{literal}`",
            also=[Also(block.at, "the nodes have this role")],
            help=f"write `{literal}`, or rename the role",
        )


def _of_modules(
    roles: Sequence[Node],
    calls: "Sequence[karpenter_calls.KarpenterCall]",
    blocks: "terraform_trace.TerraformBlocks",
    context: Context,
) -> Findings:
    """Yield a finding for each role that no module creates.

    The rule reports nothing if the files may create further roles.
    """
    made = [call.node_role_name for call in calls]
    others = [
        name for block in blocks.blocks if block.kind == "aws_iam_role" for name in [_filled_name(block, blocks)]
    ]
    if any(may_make_role(block) for block in blocks.blocks):
        return
    for role in roles:
        text = _text_of(role, blocks)
        shown = text.strip('"')
        lacks_suffix = (text, True) in made
        if not re.fullmatch(_ROLE_NAME, re.sub(r"\$\{[^{}]*\}", "", shown)):
            continue
        if not lacks_suffix and _is_elsewhere(shown, context):
            continue
        if any(not name or _may_be(name, text) for name in others):
            continue
        if any(name is None or _may_be(name[0], text, name[1]) for name in made):
            continue
        call, (name, has_suffix) = calls[0], made[0] or ("", False)
        inner = name.strip('"') + ("-<suffix>" if has_suffix else "")
        way = "karpenter.node_iam_role_name" if call.is_addons else "node_iam_role_name"
        yield Finding(
            at=role,
            severity="error" if lacks_suffix else None,
            message=messages.first_fitting(
                f"no file creates the role `{shown}`: the module creates `{inner}`",
                f"no file creates the role `{messages.short(shown, 40)}`: the module's has another name",
            ),
            note="IAM adds the instance profile no role that does not exist: the EC2NodeClass is never ready",
            also=[Also(call.block.at, "creates the role of the nodes")],
            help=f"use `{call.block.address}.{way}`" + (_without_suffix(call) if has_suffix else ""),
        )


def _find_prefixed(
    role: Node,
    calls: "Sequence[karpenter_calls.KarpenterCall]",
    blocks: "terraform_trace.TerraformBlocks",
    context: Context,
) -> "terraform_trace.BlockText | None":
    """Return the block that creates a role whose name is the one in the class with a random suffix.

    None if there is none, or if a file may create a role with the name in the class.
    """
    name = role.value
    if not isinstance(name, str):
        return None
    found = [
        block
        for block in blocks.blocks
        for prefix in _list_prefixes(block, blocks)
        if _FIXED.search(re.sub(r"\$\{[^{}]*\}", "", prefix)) and terraform_trace.may_be_text(f'"{prefix}"', name)
    ]
    names = [_filled_name(block, blocks) for block in blocks.blocks if block.kind == "aws_iam_role"] if found else []
    made = [call.node_role_name for call in calls]
    is_made = (
        any(other and terraform_trace.may_be_text(other, name) for other in names)
        or any(other is None or _may_be(other[0], name, other[1]) for other in made)
        or any(may_make_role(block) for block in blocks.blocks)
    )
    own = [block.source.path for block in found]
    return found[0] if found and not is_made and not _is_elsewhere(name, context, own) else None


def _list_prefixes(block: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> list[str]:
    """Return the names, with known references filled in, of the roles to which a block adds a random suffix."""
    if block.kind == "aws_iam_role":
        written = terraform_trace.find_arguments(block.text, "name_prefix")[:1]
    elif "/eks/aws" in block.text and "use_name_prefix" not in block.text and block.address.startswith("module."):
        written = terraform_trace.find_arguments(block.text, "iam_role_name")
    else:
        return []
    texts = (blocks.fill(text, block.source.path) for text in written)
    return [text.strip('"').rstrip("-_.") for text in texts if text.startswith('"')]


def _without_suffix(call: "karpenter_calls.KarpenterCall") -> str:
    if call.is_addons:
        return ", or set `iam_role_name`, and `iam_role_use_name_prefix` to `false`, in `karpenter_node`"
    key = "iam_role" if call.allows_majors(18, 19) else "node_iam_role"
    return f", or set `{key}_name`, and `{key}_use_name_prefix` to `false`"


def may_make_role(block: "terraform_trace.BlockText") -> bool:
    """Return whether a block may create the role of Karpenter's nodes: a call of a module that nodelint does not
    read.
    """
    if not block.address.startswith("module."):
        return False
    source = re.search(r'(?m)^[ \t]*source[ \t]*=[ \t]*"([^"\n]*)"', block.text)
    if source is None or source[1].startswith(".") or re.search(_PUBLIC, source[1]):
        return False
    return re.search(r"(?i)karpenter", f"{block.address} {source[1]}") is not None or (
        re.search(r"(?i)iam.{0,200}?role", source[1]) is not None and "ec2.amazonaws.com" in block.text
    )


def _filled_name(block: "terraform_trace.BlockText", blocks: "terraform_trace.TerraformBlocks") -> str:
    """Return the name of a role as a quoted text, with its known references filled in. "" if the role has no name."""
    written = terraform_trace.find_arguments(block.text, "name")[:1]
    return blocks.fill(written[0], block.source.path) if written else ""


def _is_text_with_names(role: Node) -> bool:
    """Return whether a role is a text with references in it, and not a single reference."""
    written = role.source.text[role.start : role.end].strip("\"' ")
    plain_text = re.sub(r"\$\{[^{}]*\}", "", written)
    return plain_text != written and "karpenter" in plain_text.lower()


def _text_of(role: Node, blocks: "terraform_trace.TerraformBlocks") -> str:
    """Return a role as a quoted text. References that are not known stay as written."""
    if isinstance(role.value, str):
        return f'"{role.value}"'
    written = role.source.text[role.start : role.end].strip("\"' ")
    return blocks.fill(f'"{written}"', role.source.path)


def _may_be(name: str, text: str, has_suffix: bool = False) -> bool:
    """Return whether the name of a role, with the suffix that Terraform may add, can be a text.

    Both may contain references.
    """
    if "${" in text:
        split = re.compile(r"(\$\{[^{}]*\})").split
        ours, theirs = split(text.strip('"')), split(name.strip('"'))
        if has_suffix:  # only the module knows it
            return any(re.search(_MAY_HOLD_SUFFIX, reference) for reference in ours[1::2])
        return ours[1::2] != theirs[1::2] or ours == theirs  # of different references nothing is known
    plain = text.strip('"')
    if not has_suffix:
        return terraform_trace.may_be_text(name, plain)
    found = re.search(_SUFFIX + "$", plain)
    return found is not None and terraform_trace.may_be_text(name, plain[: found.start()])


def _is_elsewhere(name: str, context: Context, own: Sequence[str] = ()) -> bool:
    """Return whether a file that is no manifest, or a role ARN in any file, names a role.

    The files at the paths `own` do not count.
    """
    return any(
        f"role/{name}" in file.text
        or (name in file.text and "EC2NodeClass" not in file.text and not file.path.endswith(_MANIFESTS))
        for file in context.run_files.files_of_run
        if file.path not in own
    )
