"""The class selects subnets or security groups by a tag that Terraform, which creates them, does not set.

Karpenter finds nothing by such a selector, so the EC2NodeClass is never ready, and no node is launched. The modules
for VPCs and clusters set no tag for Karpenter: `private_subnet_tags` and `node_security_group_tags` have to contain
it. The security group that EKS creates does not get the tags of the cluster: `aws_ec2_tag` can give it a tag. If it
is the only group, the finding has the severity info, because somebody may add the tag by hand.

The rule looks at subnets and groups only if Terraform creates them, all their tags are known, and no other file
contains the tag: a script or another tool may set it.

```yaml bad
# file: main.tf
module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "6.6.0"
  name               = "main"
  private_subnets    = ["10.0.0.0/20"]
  enable_nat_gateway = true
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{id: sg-0f3a91c2b7d45e608}]
```

```yaml good diff=bad
-  source             = "terraform-aws-modules/vpc/aws"
-  version            = "6.6.0"
-  name               = "main"
-  private_subnets    = ["10.0.0.0/20"]
-  enable_nat_gateway = true
+  source              = "terraform-aws-modules/vpc/aws"
+  version             = "6.6.0"
+  name                = "main"
+  private_subnets     = ["10.0.0.0/20"]
+  enable_nat_gateway  = true
+  private_subnet_tags = { "karpenter.sh/discovery" = "main" }
```
"""

import re
from collections.abc import Sequence

from nodelint.api import (
    UNKNOWN,
    Also,
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Node,
    Source,
    manifest,
    messages,
    rule,
    terraform_blocks,
    terraform_trace,
)

_KEY = re.compile(r"(?i)karpenter|discovery|^eks:cluster-name$")
_CREATES = {
    "subnets": (("aws_subnet",), "terraform-aws-modules/vpc/aws"),
    "security groups": (("aws_security_group", "aws_eks_cluster"), "terraform-aws-modules/eks/aws"),
}
"""The resources, and the public module, that create what a class selects."""
_LOOKS_UP = {
    "subnets": re.compile(r"data\.aws_(?:vpcs?|subnets?|subnet_ids)\."),
    "security groups": re.compile(r"data\.aws_security_groups?\."),
}
_TAGS = {
    "subnets": ("tags", "private_subnet_tags", "public_subnet_tags", "intra_subnet_tags"),
    "security groups": ("tags", "node_security_group_tags", "security_group_tags", "cluster_security_group_tags"),
}
_SOURCE = re.compile(r'(?m)^[ \t]*source[ \t]*=[ \t]*"([^"\n]*)"')
_PUBLIC = ("terraform-aws-modules/", "aws-ia/eks-blueprints-addon")
_MAY_CREATE = re.compile(r"(?i)vpc|subnet|net|eks|kube|k8s|cluster|security|karpenter|infra|platform|tag|label")
_MAY_TAG = re.compile(
    r'aws_ec2_tag|aws_subnet|aws_security_group|aws_cloudformation|(?m:^[ \t]*"?module"?[ \t]*[":])'
)
"""A pattern of modules that may create networks or tags, or call another module."""
_TO_CHANGE = re.compile(r"(?i)#.{0,40}?\b(?:change|replace|your)\b")
_OUT_OF_USE = re.compile(r"(?i)(?:^|[/_.-])(?:archived?|backups?|deprecated|disabled|examples?|legacy|old)(?:[/_.-])")
_SELECTS = re.compile(r"EC2NodeClass|AWSNodeTemplate|SelectorTerms|[sS]ubnetSelector")


@rule(
    on=EC2NodeClass,
    group="correctness",
    severity="warning",
    subject="network",
    gives_way_to=["placeholder-left", "removed-api"],
    mentions=["discovery", "karpenter", "eks:cluster-name"],
    source=[
        "provider:pkg/controllers/nodeclass/subnet.go@v1.14.1:45",
        "provider:pkg/controllers/nodeclass/securitygroup.go@v1.14.1:45",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/tree/master/modules/karpenter",
    ],
    tags=["terraform"],
)
def check(node_class: EC2NodeClass, context: Context) -> Findings:
    if _OUT_OF_USE.search(node_class.source.path):
        return
    for what, terms in (
        ("subnets", node_class.subnet_terms),
        ("security groups", node_class.security_group_terms),
    ):
        key = _find_key(terms)
        if key is None:
            continue
        blocks = _list_blocks(node_class.source.path, context)
        makers = [block for block in blocks if _creates(block, what)]
        folders = {terraform_trace.folder_of(block.source.path) for block in makers}
        if (
            len(folders) != 1
            or _is_of_other_cluster(node_class, blocks, context)
            or _TO_CHANGE.search(_line_of(key))
            or _may_have_tag(what, key.unquoted, blocks, makers, context)
        ):
            continue
        maker = next((block for block in makers if block.address.startswith("module.")), makers[0])
        yield Finding(
            at=key,
            message=f"the {what} that Terraform creates lack the tag `{messages.short(key.unquoted, 40)}`",
            also=[Also(maker.at, f"creates the {what}")],
            severity="info" if maker.kind == "aws_eks_cluster" else None,
            note="the class is not ready before somebody adds the tag"
            if maker.kind == "aws_eks_cluster"
            else "the class is never ready, and the next apply removes tags that somebody adds by hand",
            help=_find_help(what, key.unquoted, maker),
        )


def _line_of(node: Node) -> str:
    return node.source.text[node.start :].partition("\n")[0]


def _find_help(what: str, key: str, maker: "terraform_trace.BlockText") -> str:
    if what == "security groups" and key == "eks:cluster-name":
        return "the group that EKS creates has the tag `aws:eks:cluster-name`"
    if maker.kind == "aws_eks_cluster":
        return "give the tag to the group of the cluster with `aws_ec2_tag`: it does not get the tags of the cluster"
    if maker.kind:
        return f"add the tag to `{maker.address}`"
    return f"set `{'private_subnet_tags' if what == 'subnets' else 'node_security_group_tags'}` of `{maker.address}`"


def _find_key(terms: Sequence[manifest.SelectorTerm]) -> Node | None:
    """Return the key of the discovery tag by which all terms select. None if a term selects by other means."""
    keys = [term.tags[0].key_node for term in terms if len(term.tags) == 1 and not term.id and not term.name]
    names = {key.unquoted for key in keys}
    name = names.pop() if len(keys) == len(terms) and len(names) == 1 else ""
    is_plain = _KEY.search(name) is not None and "kubernetes.io" not in name and not re.search(r"[${}]", name)
    return keys[0] if is_plain else None


def _list_blocks(path: str, context: Context) -> "Sequence[terraform_trace.BlockText]":
    """Return the blocks that may create what a class of a file selects: those of its root, else all."""
    terraform = context.run_files.terraform
    is_terraform = path.endswith(terraform_trace.ENDINGS)
    return terraform.list_beside_in_root(path) if is_terraform else terraform.blocks


def _is_of_other_cluster(
    node_class: EC2NodeClass, blocks: "Sequence[terraform_trace.BlockText]", context: Context
) -> bool:
    """Return whether a class outside of Terraform selects only by other names than those of Terraform's clusters."""
    if node_class.source.path.endswith(terraform_trace.ENDINGS):
        return False
    clusters = [
        block for block in blocks if _creates(block, "security groups") and block.kind != "aws_security_group"
    ]
    names = [
        value.value.value
        for block in clusters
        for argument in ("cluster_name", "name")
        for value in context.run_files.terraform.argument_values(block, argument)
    ]
    known = {name for name in names if isinstance(name, str)}
    terms = (*node_class.subnet_terms, *node_class.security_group_terms)
    return bool(known) and known.isdisjoint(str(tag.value) for term in terms for tag in term.tags)


def _creates(block: "terraform_trace.BlockText", what: str) -> bool:
    kinds, module = _CREATES[what]
    return block.kind in kinds or f'"{module}"' in block.text


def _may_have_tag(
    what: str,
    key: str,
    blocks: "Sequence[terraform_trace.BlockText]",
    makers: "Sequence[terraform_trace.BlockText]",
    context: Context,
) -> bool:
    """Return whether something may give the tag to a subnet or group, or the class may select others."""
    terraform = context.run_files.terraform
    if any(what in tag.on for tag in terraform.tag_values(key, settled=False)):
        return True
    if any(_LOOKS_UP[what].match(block.address) or _is_unread_module(block, context) for block in blocks):
        return True
    if any(
        _may_set(file, key) for file in context.run_files.files_with(re.compile(r"karpenter\.sh/|discovery"), True)
    ):
        return True
    return any(
        value.value.value is UNKNOWN or any(entry.key.value is UNKNOWN for entry in value.value.entries)
        for block in makers
        for name in _TAGS[what]
        for value in terraform.argument_values(block, name)
    )


def _is_unread_module(block: "terraform_trace.BlockText", context: Context) -> bool:
    """Return whether a block calls a module that nodelint does not read, and that may create networks or tags."""
    source = _SOURCE.search(block.text) if block.address.startswith("module.") else None
    if source is None:
        return block.address.startswith("module.")
    folder = terraform_blocks.called_folder(block)
    if folder is not None:
        if any(terraform_trace.folder_of(file.path) == folder for file in context.run_files.terraform.files):
            return False
        texts = context.run_files.terraform.module_files.read_texts(folder)
        return not texts or any(_MAY_TAG.search(file.text) is not None for file in texts)
    return not source[1].startswith(_PUBLIC) and _MAY_CREATE.search(f"{block.address} {source[1]}") is not None


def _may_set(file: Source, key: str) -> bool:
    """Return whether a file contains the tag's key, or makes it from parts, outside of a selector."""
    if file.path.endswith(terraform_trace.ENDINGS):
        return f"tag:{key}" in file.text or "karpenter.sh/${" in file.text
    is_for_selection = _SELECTS.search(file.text) is not None and "create-tags" not in file.text
    return key in file.text and file.built is None and not is_for_selection
