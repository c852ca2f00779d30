"""Terraform grants the controller fewer permissions than its release and its classes need.

Version 20 of the submodule `karpenter` of terraform-aws-modules/eks has two policies. With `enable_v1_permissions` it
grants what Karpenter 1.0 and later need. By default it grants what 0.33 to 0.37 need. A controller that serves `v1`
tags instances after their launch, and the old policy refuses that (`not authorized to perform: ec2:CreateTags`).
Version 21 has only the new policy. The rule reports modules of version 20 if all NodePools and EC2NodeClasses next to
them are `v1`.

```yaml bad
# file: karpenter.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "20.36.0"
  cluster_name = module.eks.cluster_name
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good
# file: karpenter.tf
module "karpenter" {
  source                = "terraform-aws-modules/eks/aws//modules/karpenter"
  version               = "20.36.0"
  cluster_name          = module.eks.cluster_name
  enable_v1_permissions = true
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

From 1.7.0 on, the controller also lists instance profiles. Version 21.2.0 of the submodule grants
`iam:ListInstanceProfiles`, and so does version 1.23.0 of aws-ia/eks-blueprints-addons. Older versions do not. Without
the permission nodes launch, but a deleted EC2NodeClass is never removed, because its finalizer lists the profiles
first. Unused profiles stay as well. The rule reports modules with a known version next to objects for which files
state Karpenter 1.7.0 or newer. It reports nothing if the call adds its own permissions.

```yaml bad karpenter=1.8.3
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.1.0"
  cluster_name = module.eks.cluster_name
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

```yaml good karpenter=1.8.3
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.2.0"
  cluster_name = module.eks.cluster_name
}
# file: pool.yaml
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
```

The rule also reads policies that are written out in Terraform.

If a class has a `role`, Karpenter creates an instance profile, adds the role to it and reads it again. Policies from
the time of the Provisioner allow none of that, because nodes used an existing instance profile. The class then never
becomes ready (`InstanceProfileReady`), and no node launches. Karpenter looks up images with `ec2:DescribeImages`,
also for an alias. The rule reads policies that grant `ec2:CreateFleet` and `iam:PassRole` in one Terraform file. It
counts what all files of the run grant, including wildcards. It reports nothing next to a class with `instanceProfile`
or next to a module that creates the policy.

```yaml bad
# file: karpenter.tf
data "aws_iam_policy_document" "karpenter" {
  statement {
    actions = [
      "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DeleteLaunchTemplate",
      "ec2:DescribeImages", "ec2:DescribeInstances", "ec2:DescribeInstanceTypeOfferings",
      "ec2:DescribeInstanceTypes", "ec2:DescribeLaunchTemplates", "ec2:DescribeSecurityGroups",
      "ec2:DescribeSubnets", "ec2:RunInstances", "ec2:TerminateInstances", "iam:PassRole", "ssm:GetParameter",
    ]
    resources = ["*"]
  }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiSelectorTerms: [{alias: al2023@v20260714}]
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

```yaml good
# file: karpenter.tf
data "aws_iam_policy_document" "karpenter" {
  statement {
    actions = [
      "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DeleteLaunchTemplate",
      "ec2:Describe*", "ec2:RunInstances", "ec2:TerminateInstances", "iam:PassRole", "ssm:GetParameter",
      "iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile",
      "iam:GetInstanceProfile", "iam:ListInstanceProfiles", "iam:RemoveRoleFromInstanceProfile",
      "iam:TagInstanceProfile",
    ]
    resources = ["*"]
  }
}
# file: class.yaml
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiSelectorTerms: [{alias: al2023@v20260714}]
  role: nodes
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
```

The managed policies of AWS alone do not grant the controller enough. None of the policies for nodes, nor
`AmazonEC2FullAccess`, grants `iam:PassRole`, and without it EC2 launches no instance with a role. The rule reports
such a role if its trust policy names Karpenter's service account.

```yaml bad
# file: iam.tf
resource "aws_iam_role" "karpenter" {
  name = "karpenter"
  assume_role_policy = jsonencode({
    Statement = [{
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = { Federated = aws_iam_openid_connect_provider.main.arn }
      Condition = { StringEquals = { "oidc:sub" = "system:serviceaccount:karpenter:karpenter" } }
    }]
  })
}
resource "aws_iam_role_policy_attachment" "karpenter" {
  role       = aws_iam_role.karpenter.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2FullAccess"
}
```

```yaml good
# file: iam.tf
resource "aws_iam_role" "karpenter" {
  name = "karpenter"
  assume_role_policy = jsonencode({
    Statement = [{
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = { Federated = aws_iam_openid_connect_provider.main.arn }
      Condition = { StringEquals = { "oidc:sub" = "system:serviceaccount:karpenter:karpenter" } }
    }]
  })
}
resource "aws_iam_role_policy_attachment" "karpenter" {
  role       = aws_iam_role.karpenter.name
  policy_arn = aws_iam_policy.karpenter.arn
}
```
"""

import os
import re
from functools import partial

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    Object,
    Source,
    Span,
    releases,
    rule,
    support,
    terraform_blocks,
)

_SOURCE = re.compile(r'(?m)^[ \t]+source\s*=\s*"([^"\n]*)"')
_VERSION = re.compile(r'(?m)^[ \t]+version\s*=\s*("[^"\n]*")')

LISTS_PROFILES = releases.Version(1, 7, 0)
"""The first release that asks for `iam:ListInstanceProfiles`."""

_ACTION = re.compile(r"""["']((?:ec2|iam):[A-Za-z*?]+)["']""")
_EVERYTHING = re.compile(
    r"""(?i)\bactions?["']?\s*+[=:]\s*+\[?\s*+["']\*["']|(?:Administrator|PowerUser)Access|(?:IAM|AmazonEC2)FullAccess"""
    r"|\battach_karpenter"
)
_ALWAYS = (
    "ec2:DescribeImages",
    "ec2:DescribeSubnets",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstanceTypeOfferings",
    "ec2:CreateLaunchTemplate",
    "ec2:CreateTags",
    "ec2:RunInstances",
)
"""What the controller calls before it launches a first node, whatever the class says."""
_FOR_ROLE = (
    "iam:CreateInstanceProfile",
    "iam:AddRoleToInstanceProfile",
    "iam:GetInstanceProfile",
    "iam:TagInstanceProfile",
)


@rule(
    on=Source,
    group="hazard",
    subject="migration",
    source=[
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3305",
        "https://github.com/terraform-aws-modules/terraform-aws-eks/issues/3134",
        "https://karpenter.sh/v1.0/upgrading/v1-migration/",
        "provider:pkg/controllers/nodeclass/controller.go@v1.8.1:169",
        "https://karpenter.sh/docs/upgrading/upgrade-guide/#upgrading-to-170",
        "provider:pkg/controllers/nodeclass/instanceprofile.go@v1.14.1:59",
        "provider:pkg/providers/amifamily/ami.go@v1.14.1:83",
    ],
    mentions=["ec2:CreateFleet", "module", "iam_role_policy_attachment"],
)
def check(source: Source, context: Context) -> Findings:
    if not source.path.endswith(terraform_blocks.ENDINGS):
        return
    yield from _check_written(source, context)
    yield from _check_attached(source, context)
    for call in terraform_blocks.find_blocks(source):
        block = call.text if call.address.startswith("module.") else ""
        called, version = _SOURCE.search(block), _VERSION.search(block)
        module = support.policy_module(called[1]) if called is not None else None
        most = _find_newest(version[1]) if version is not None else None
        if module is None or version is None or most is None or not _is_granting(block, module):
            continue
        objects = context.run_files.objects_near(source, Object)
        stated = [context.stated_releases(obj) for obj in objects] or _releases_beside(source, context)
        lists = bool(stated) and all(found and min(found) >= LISTS_PROFILES for found in stated)
        if (not objects and not lists) or any(obj.version != "v1" for obj in objects):
            continue
        place = _VERSION.search(source.text, call.at.end, source.text.find("\n}", call.at.end))
        at = Span(source, *place.span(1)) if place is not None else call.at
        ways = [f"move to version {'.'.join(map(str, module.lists_profiles))} of the module or newer"]
        if most < module.v1_always and module.v1_switch and not re.search(rf"\b{module.v1_switch}\s*=", block):
            if not lists:
                ways = [_describe_switch(module, most), "move to version 21 of the module"]
            yield Finding(
                at=at,
                message="version 20 of this module grants what Karpenter 0.33 to 0.37 needs, but the objects are v1",
                note="EC2 refuses `ec2:CreateTags` when the controller tags instances",
                help=", or ".join(ways),
            )
        elif lists and most < module.lists_profiles and not re.search(rf"\b{module.extra}\s*=", block):
            yield Finding(
                at=at,
                message="Karpenter 1.7 and newer needs `iam:ListInstanceProfiles`, which this version does not grant",
                note="nodes launch, but a deleted EC2NodeClass is never removed, and unused instance profiles stay",
                help=f"{ways[0]}, or grant it by `{module.extra}`",
            )


def _releases_beside(source: Source, context: Context) -> "list[list[releases.Version]]":
    """The releases of the charts that the folder of a file installs; empty if one is not known."""
    folder = os.path.dirname(source.path)
    installs = [
        install for install in context.run_files.installs if os.path.dirname(install.at.source.path) == folder
    ]
    known = [install.release for install in installs if install.release is not None]
    return [[release] for release in known] if len(known) == len(installs) else []


_OF_AWS = re.compile(r'"arn:[^:"]*:iam::aws:policy/(?:[\w-]+/)*(\w+)"')
_WITHOUT_PASS_ROLE = frozenset(
    {
        *(
            "AmazonEKSWorkerNodePolicy",
            "AmazonEKSWorkerNodeMinimalPolicy",
            "AmazonEKS_CNI_Policy",
            "AmazonEKSClusterPolicy",
        ),
        *("AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly", "AmazonSSMManagedInstanceCore"),
        *("AmazonEC2FullAccess", "AmazonEC2ReadOnlyAccess", "AmazonSQSFullAccess", "AmazonSSMReadOnlyAccess"),
        *("AmazonEKSVPCResourceController", "AmazonEKSServicePolicy", "CloudWatchAgentServerPolicy"),
    }
)
"""Policies of AWS that do not grant `iam:PassRole`, of those that are attached to Karpenter's roles."""
_ACCOUNT = re.compile(r"system:serviceaccount:[^\"\n]{0,300}karpenter")


def _check_attached(source: Source, context: Context) -> Findings:
    """Roles of the controller to which only policies of AWS are attached."""
    blocks = context.run_files.terraform
    for block in blocks.find_in(source.path):
        if not _ACCOUNT.search(block.text):
            continue
        if block.address.startswith("module.") and "role_policy_arns" in block.text:
            given = re.search(r"\brole_policy_arns\s*+=\s*+\[([^\][]*)\]", block.text)
            texts = [] if given is None or "policy_statements" in block.text else [given[1]]
        elif block.kind == "aws_iam_role" and "inline_policy" not in block.text:
            near = [other for other in blocks.find_beside(source.path) if "policy" in other.kind]
            texts = [other.text for other in near if f"{block.address}." in other.text]
        else:
            continue
        refers = any(re.search(r"aws_iam_policy|policy\s*=|each\.|var\.|local\.|module\.", text) for text in texts)
        names = [name for text in texts for name in _OF_AWS.findall(text)]
        if not names or refers or not _WITHOUT_PASS_ROLE.issuperset(names):
            continue
        yield Finding(
            at=block.at,
            message="the controller's role has only AWS managed policies, and none grants `iam:PassRole`:"
            " no node is launched",
            also=[],
            help="attach the policy of Karpenter's CloudFormation template, or use the module `karpenter` of"
            " terraform-aws-modules/eks",
        )


def _check_written(source: Source, context: Context) -> Findings:
    """A policy that is written out in a file, beside classes for which it lacks actions."""
    at = source.text.find("ec2:CreateFleet")
    if at < 0 or "iam:PassRole" not in source.text:
        return
    classes = [obj for obj in context.run_files.objects_near(source, Object) if isinstance(obj, EC2NodeClass)]
    if not classes:
        return
    files = context.files or (source,)
    called = {
        name for file in files if file.holds("module") for name in file.once(_find_calls, partial(_find_calls, file))
    }
    if context.run_files.is_in_files(_EVERYTHING) or any(map(support.policy_module, called)):
        return
    patterns = {pattern for file in files for pattern in file.once(_find_actions, partial(_find_actions, file))}
    if "ec2:createfleet" not in patterns:
        return  # the actions are written in a form that is not read
    by_role = all(obj.node.find("spec", "role") and not obj.node.find("spec", "instanceProfile") for obj in classes)
    required = (*_ALWAYS, *(_FOR_ROLE if by_role else ()))
    lacking = [name for name in required if not any(_matches(pattern, name) for pattern in patterns)]
    if not lacking:
        return
    for_role = all(name in _FOR_ROLE for name in lacking)
    more = f" and {len(lacking) - 1} more" if lacking[1:] else ""
    yield Finding(
        at=Span(source, at, at + len("ec2:CreateFleet")),
        message=f"no policy grants `{lacking[0]}`{more}, which "
        + ("a class with `role` needs: it is never ready" if for_role else "Karpenter needs: no node is launched"),
        help="grant "
        + ", ".join(f"`{name}`" for name in lacking)
        + (", or name an instance profile in the class (`instanceProfile`)" if for_role else ""),
    )


def _find_calls(file: Source) -> set[str]:
    return set(_SOURCE.findall(file.text))


def _find_actions(file: Source) -> set[str]:
    return {pattern.lower() for pattern in _ACTION.findall(file.text)}


def _matches(pattern: str, action: str) -> bool:
    """Whether a pattern of a policy, in small letters, stands for an action."""
    written = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(written, action.lower()) is not None


def _is_granting(block: str, module: support.PolicyModule) -> bool:
    """Whether the call makes the controller's policy, as far as it says."""
    if re.search(r"(?m)^[ \t]+create(?:_iam_role)?\s*=\s*false", block):
        return False
    return module.only is None or re.search(rf"(?m)^[ \t]+{module.only}\s*=\s*true", block) is not None


def _describe_switch(module: support.PolicyModule, most: tuple[float, ...]) -> str:
    """How to grant what v1 asks for: the switch is an unknown argument before its version."""
    since = "" if most >= module.v1_since else f" with version {'.'.join(map(str, module.v1_since))} or newer"
    return f"set `{module.v1_switch} = true`{since}"


def _find_newest(constraint: str) -> tuple[float, ...] | None:
    """The newest version that a constraint of Terraform's allows, endless where it leaves a number open."""
    found = re.fullmatch(r'"\s*+(?:(=|~>)\s*+)?v?(\d+(?:\.\d+){0,2})\s*+"', constraint)
    if found is None:
        return None
    numbers: list[float] = [int(number) for number in found[2].split(".")]
    if found[1] == "~>":
        numbers[-1] = float("inf")  # of a single number, too: `~> 20` allows 21
    return tuple(numbers)
