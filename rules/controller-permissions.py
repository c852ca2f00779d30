"""Terraform grants the controller fewer permissions than its release and its classes need.

Version 20 of the submodule `karpenter` of terraform-aws-modules/eks has two policies. With `enable_v1_permissions` it
grants what Karpenter 1.0 and later need. By default it grants what 0.33 to 0.37 need. A controller that serves `v1`
adds a tag to instances that an older release launched, and the old policy refuses that (`not authorized to perform:
ec2:CreateTags`). From 1.7 on the controller also lists instance profiles. Version 21 has only the new policy. The
rule reports modules of version 20 if all NodePools and EC2NodeClasses next to them are `v1`.

```yaml bad
# file: karpenter.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "20.36.0"
  cluster_name = "main"
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
  cluster_name          = "main"
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
state Karpenter 1.7.0 or newer. It counts what files of the run attach to the role of the module. It reports nothing
if that is not known, or if the call adds its own permissions.

```yaml bad karpenter=1.8.3
# file: main.tf
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.1.0"
  cluster_name = "main"
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
  cluster_name = "main"
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

The rule also reads policies that are written out.

Karpenter calls more with each release: capacity reservations from 1.3 on (for a class that selects some), instance
profiles from 1.7 on, placement groups from 1.11 on (for a class that selects one), and the status of instances from
1.12 on. If a class has a `role`, Karpenter creates an instance profile, adds the role to it and reads it again.
Policies from the time of the Provisioner allow none of that: the class never becomes ready, and no node launches. The
message says what happens without the call, and the help names all calls that are not allowed.

The rule reads statements in JSON, YAML (CloudFormation, eksctl), Terraform (`aws_iam_policy_document`, `jsonencode`)
and scripts. It counts what any file of the run allows, and is silent if a statement holds actions that are not known.
A call without which no node is launched is an error. There is no edit: the file that has to grant the action may be
another one.

```yaml bad karpenter=1.8.3
# file: karpenter.tf
data "aws_iam_policy_document" "karpenter" {
  statement {
    actions = [
      "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DeleteLaunchTemplate", "ec2:Describe*",
      "ec2:RunInstances", "ec2:TerminateInstances", "eks:DescribeCluster", "iam:PassRole", "pricing:GetProducts",
      "ssm:GetParameter",
    ]
    resources = ["*"]
    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = ["eu-west-1"]
    }
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

```yaml good karpenter=1.8.3
# file: karpenter.tf
data "aws_iam_policy_document" "karpenter" {
  statement {
    actions = [
      "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:DeleteLaunchTemplate", "ec2:Describe*",
      "ec2:RunInstances", "ec2:TerminateInstances", "eks:DescribeCluster", "iam:PassRole", "pricing:GetProducts",
      "ssm:GetParameter", "iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile",
      "iam:GetInstanceProfile", "iam:ListInstanceProfiles", "iam:RemoveRoleFromInstanceProfile",
      "iam:TagInstanceProfile",
    ]
    resources = ["*"]
    condition {
      test     = "StringEquals"
      variable = "aws:RequestedRegion"
      values   = ["eu-west-1"]
    }
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

A launch is authorized for each resource that takes part in it. If `ec2:CreateFleet` or `ec2:RunInstances` is not
allowed on launch templates, EC2 refuses the launch (`not authorized to perform: ec2:CreateFleet on resource: ...`).

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
      Principal = { Federated = "arn:aws:iam::111122223333:oidc-provider/main" }
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
      Principal = { Federated = "arn:aws:iam::111122223333:oidc-provider/main" }
      Condition = { StringEquals = { "oidc:sub" = "system:serviceaccount:karpenter:karpenter" } }
    }]
  })
}
resource "aws_iam_role_policy_attachment" "karpenter" {
  role       = aws_iam_role.karpenter.name
  policy_arn = "arn:aws:iam::111122223333:policy/karpenter"
}
```
"""

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.api import (
    Context,
    EC2NodeClass,
    Finding,
    Findings,
    NodePool,
    Object,
    Severity,
    Source,
    Span,
    controller_policy,
    controller_settings,
    iam_statements,
    keys,
    releases,
    role_policies,
    rule,
    terraform_blocks,
)

_SOURCE = re.compile(r'(?m)^[ \t]+source\s*=\s*"([^"\n]*)"')
_VERSION = re.compile(r'(?m)^[ \t]+version\s*=\s*("[^"\n]*")')
_EVERYTHING = re.compile(r"(?i)(?:Administrator|PowerUser)Access|(?:IAM|AmazonEC2)FullAccess")
_TAGGED_ALREADY = re.compile(r"(?s)^(?!.*(?:IfExists|\bNull\b|ForAllValues)).*(?:aws|ec2):ResourceTag/")
_OF_CONTROLLER = ("ec2:RunInstances", "ec2:CreateLaunchTemplate", "ec2:TerminateInstances", "iam:PassRole")
"""A policy that grants two of these and `ec2:CreateFleet` is taken for the controller's."""
_MINOR = (controller_policy.HEALTH, controller_policy.PRICES)
_SEVERITIES: "dict[str, Severity]" = {
    controller_policy.HEALTH: "info",
    controller_policy.PRICES: "info",
    controller_policy.START: "error",
    controller_policy.READY: "error",
    controller_policy.LAUNCH: "error",
    controller_policy.SPOT: "error",
}
"""Without a call on which all nodes depend, nothing works: an error, where others are a warning or information."""


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
        "https://karpenter.sh/docs/reference/cloudformation/",
        "https://github.com/kubernetes-sigs/karpenter/issues/2813",
    ],
    mentions=["ec2:CreateFleet", "module", "iam_role_policy_attachment"],
)
def check(source: Source, context: Context) -> Findings:
    yield from _check_written(source, context)
    if not source.path.endswith(terraform_blocks.ENDINGS):
        return
    yield from _check_attached(source, context)
    for call in terraform_blocks.find_blocks(source):
        module = _find_module(call.text) if call.address.startswith("module.") else None
        version = _VERSION.search(call.text)
        most = _find_newest(version[1]) if version is not None else None
        if module is None or version is None or most is None:
            continue
        objects = context.run_files.objects_near(source, Object)
        if any(obj.version != "v1" for obj in objects):
            continue
        place = _VERSION.search(source.text, call.at.end, source.text.find("\n}", call.at.end))
        at = Span(source, *place.span(1)) if place is not None else call.at
        found = _check_module(at, call, module, most, context)
        if found is not None:
            yield found


def _check_module(
    at: Span,
    call: terraform_blocks.BlockText,
    module: controller_policy.PolicyModule,
    most: tuple[float, ...],
    context: Context,
) -> Finding | None:
    """Return the finding about a module with at most this version; None if no missing permission is known."""
    source = call.source
    oldest = _find_oldest(source, context)
    if re.search(rf"\b(?:{module.extra}|iam_role_policies)\s*=", call.text):
        return None
    added = role_policies.list_added_statements(call, context.run_files.terraform)
    if added is None:
        return None
    needed = _list_needed(source, context, oldest)
    lacking = [
        made
        for made in needed
        if module.lacks(made.action, call.text, most) and not any(s.grants(made.action) for s in added)
    ]
    lists = oldest is not None and oldest >= _LISTS_PROFILES
    works = all(made.effect in _MINOR for made in lacking)
    tags = any(s.grants("ec2:CreateTags") for s in added)
    is_old = most < module.v1_always and module.v1_switch is not None and module.v1_switch not in call.text
    if is_old and context.run_files.objects_near(source, Object) and not (works if lists else tags):
        newer = module.version_with([made.action for made in lacking])
        granted = f", or grant {_name([made.action for made in lacking])} to the module's role"
        return Finding(
            at=at,
            message="version 20 of this module grants the permissions for Karpenter 0.33 to 0.37, but the manifests"
            " use API v1",
            note=f"it does not grant {_shorten([made.action for made in lacking])}: {lacking[0].consequence}"
            if lists
            else "EC2 refuses `ec2:CreateTags` for instances that a release before 1.0 launched",
            severity=None if lists else "info",
            help=f"move to version {newer} of the module or newer{granted}"
            if lists
            else f"{_describe_switch(module, most)}, or move to version 21 of the module",
        )
    return None if works else _describe_module(at, module, lacking)


_LISTS_PROFILES = releases.Version(1, 7, 0)
"""The first release that asks for `iam:ListInstanceProfiles`."""


def _find_module(block: str) -> controller_policy.PolicyModule | None:
    """Return the policy module that a module block calls; None if it creates no policy of the controller."""
    called = _SOURCE.search(block)
    module = controller_policy.policy_module(called[1]) if called is not None else None
    return module if module is not None and module.is_in_use(block) else None


def _describe_module(
    at: Span, module: controller_policy.PolicyModule, lacking: "Sequence[controller_policy.Call]"
) -> Finding:
    """Return the finding about a module call that does not grant some actions."""
    actions = [call.action for call in lacking]
    version, switch = module.version_with(actions), module.switch_for(actions)
    switched = set(module.switches.get(switch, ())).intersection(actions)
    ways = [f"move to version {version} of the module or newer"] if version and not switched else []
    ways += [f"set `{switch}`"] if switched == set(actions) else []
    ways += [f"grant {_name(actions)} by `{module.extra}`"]
    return Finding(
        at=at,
        message=f"the module does not grant {_shorten(actions)}: {lacking[0].consequence}",
        note=_since(lacking),
        help=", or ".join(ways),
    )


def _find_oldest(source: Source, context: Context) -> releases.Version | None:
    """Return the oldest Karpenter release that is stated for the objects near a file, or for the installs in its
    folder.

    None if the release of one is not known.
    """
    objects = context.run_files.objects_near(source, Object)
    stated = [context.stated_releases(obj) for obj in objects]
    if not objects:
        folder = os.path.dirname(source.path)
        installs = [i for i in context.run_files.installs if os.path.dirname(i.at.source.path) == folder]
        stated = [(install.release,) if install.release is not None else () for install in installs]
    return min(map(min, stated)) if stated and all(stated) else None


def _list_needed(source: Source, context: Context, oldest: releases.Version | None) -> "list[controller_policy.Call]":
    """Return the AWS calls of the controller for the classes, pools and settings near a file.

    Empty if nothing is known.
    """
    classes = context.run_files.objects_near(source, EC2NodeClass)
    conditions = controller_policy.list_conditions(classes)
    if any(_asks_for_spot(pool) for pool in context.run_files.objects_near(source, NodePool)):
        conditions.add("spot")
    installs = [install for install in context.run_files.installs if not install.at.source.path.endswith(".md")]
    if any(_is_set(setting) for install in installs for setting in install.find("INTERRUPTION_QUEUE")):
        conditions.add("queue")
    if any(install.is_complete and not install.find("CLUSTER_ENDPOINT") for install in installs):
        conditions.add("no-endpoint")
    return controller_policy.calls_of(conditions, oldest) if classes or oldest is not None else []


def _is_set(setting: controller_settings.WrittenSetting) -> bool:
    """Return whether a setting has a value; an expression that may be empty counts as not set."""
    lines = setting.node.source.text[setting.node.start :][:300].split("\n")[:2]
    may_be_empty = r"\{\{" if setting.is_known else r"\{\{|\?|\btry\(|\bcoalesce\("
    return re.search(may_be_empty, "".join(lines)) is None


def _asks_for_spot(pool: NodePool) -> bool:
    return any(
        line.key == keys.CAPACITY_TYPE and "spot" in (line.known_texts or ()) and line.operator == "In"
        for line in pool.requirements
    )


def _name(actions: Sequence[str]) -> str:
    """Return the names of the actions; of many, the first four and the number of others, with a reference to
    Karpenter's policy.
    """
    more = f" and {len(actions) - 4} more, as Karpenter's own policy does" if actions[5:] else ""
    return ", ".join(f"`{action}`" for action in (actions[:4] if more else actions)) + more


def _shorten(actions: Sequence[str]) -> str:
    return f"`{actions[0]}`" + (f" and {len(actions) - 1} more" if actions[1:] else "")


def _since(lacking: "Sequence[controller_policy.Call]") -> str | None:
    """Return the release from which the controller makes the call that is not granted; None if all releases do."""
    return next((f"Karpenter calls it from {call.since} on" for call in lacking[:1] if call.since), None)


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
    """Yield a finding for each role of the controller with only AWS managed policies."""
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
            help="attach the policy of Karpenter's CloudFormation template, or use the module `karpenter` of"
            " terraform-aws-modules/eks",
        )


def _check_written(source: Source, context: Context) -> Findings:
    """Yield the missing permissions of policies in the file, or in files that a Terraform file reads by name."""
    yield from _check_policy(source, iam_statements.list_statements(source), None, context)
    policies = [*iam_statements.named_policies(source)]
    own = {os.path.abspath(file.path) for file in context.run_files.files_of_run} if policies else ()
    for at, policy in policies:
        if os.path.abspath(policy.path) not in own:
            yield from _check_policy(source, iam_statements.list_statements(policy), at, context)


def _check_policy(
    source: Source, written: "Sequence[iam_statements.Statement]", at: Span | None, context: Context
) -> Findings:
    """Yield the missing permissions of a controller policy.

    `at` is the reference; None if the text is in the file itself.
    """
    launching = [statement for statement in written if statement.grants("ec2:CreateFleet")]
    if not launching or any("*" in (statement.actions or ()) for statement in launching):
        return
    statements = [*written, *_list_statements(source, context)]
    marks = sum(any(statement.grants(action) for statement in statements) for action in _OF_CONTROLLER)
    folder = os.path.dirname(source.path)
    wide = (file for file in context.run_files.files_with(_EVERYTHING) if os.path.dirname(file.path) == folder)
    if marks < 2 or any(wide) or _is_module_in_use(context):
        return
    first = launching[0].at
    found = source.text.find("ec2:CreateFleet", first.start, first.end) if at is None else -1
    place = at or (Span(source, found, found + len("ec2:CreateFleet")) if found >= 0 else first)
    needed = _list_needed(source, context, _find_oldest(source, context))
    grants = {call: [s for s in statements if s.grants(call.action) is not False] for call in needed}
    lacking = list({call.action: call for call in reversed(needed) if not grants[call]}.values())[::-1]
    if lacking:
        yield _describe_lacking(place, lacking)
    for call, allowing in grants.items():
        if not allowing or any(s.actions is None for s in allowing):
            continue
        here = allowing[0].at if allowing[0].at.source is source else place
        missing = [kind for kind in call.kinds if not any(s.covers(kind) is not False for s in allowing)]
        if call.action == "ec2:CreateTags" and all(_TAGGED_ALREADY.search(s.text) for s in allowing):
            if not call.when:
                yield Finding(
                    at=here,
                    severity="error",
                    message="`ec2:CreateTags` is allowed only for what has a tag already: no node is launched",
                    note="a launch tags the instance that it makes, which has no tag yet",
                    help="allow it with `ec2:CreateAction` and `aws:RequestTag` in another statement",
                )
        elif missing:
            arns = ", ".join(f"`arn:aws:ec2:*:*:{kind}/*`" for kind in missing)
            yield Finding(
                at=here,
                severity=_SEVERITIES.get(call.effect),
                message=f"`{call.action}` is not allowed on `{missing[0]}/*`: {call.consequence}",
                help=f"add {arns} to the resources of a statement that allows `{call.action}`",
            )


def _describe_lacking(place: Span, lacking: "Sequence[controller_policy.Call]") -> Finding:
    """Return the finding about calls that no policy grants."""
    actions = [call.action for call in lacking]
    only_role = {call.when for call in lacking} == {"role"} and lacking[0].effect != controller_policy.CLEANUP
    return Finding(
        at=place,
        message=f"no policy grants {_shorten(actions)}: {lacking[0].consequence}",
        note=_since(lacking),
        severity=_SEVERITIES.get(lacking[0].effect),
        help=f"grant {_name(actions)}"
        + (", or name an instance profile in the class (`instanceProfile`)" if only_role else ""),
    )


def _list_statements(source: Source, context: Context) -> "Iterator[iam_statements.Statement]":
    """Yield the statements of other files that may count for a file's policy.

    Folders with a controller policy of their own are excluded.
    """
    folder = os.path.dirname(source.path)
    blocks = context.run_files.terraform.files if context.run_files.has_terraform else ()
    files = {file.path: file for file in (*blocks, *context.run_files.files_of_run, source)}
    others = set()
    for path, file in files.items():
        if os.path.dirname(path) != folder and "ec2:CreateFleet" in file.text:
            others.add(os.path.dirname(path))
    for path, file in files.items():
        if os.path.dirname(path) in others:
            continue
        for text in (file, *(policy for at, policy in iam_statements.named_policies(file) if _is_ours(at))):
            for statement in iam_statements.list_statements(text):
                if os.path.dirname(path) == folder or (statement.actions is not None and _is_ours(statement.at)):
                    yield statement


def _is_ours(at: Span) -> bool:
    """Return whether a policy may be the controller's: its block, or a file without blocks, mentions Karpenter."""
    text = at.source.text
    if not at.source.path.endswith(terraform_blocks.ENDINGS):
        return True
    start, end = text.rfind("\n}", 0, at.start), text.find("\n}", at.end)
    return "karpenter" in text[max(start, 0) : end if end >= 0 else len(text)].lower()


def _is_module_in_use(context: Context) -> bool:
    """Return whether a module creates a policy of the controller besides the written one."""
    if not context.run_files.has_terraform:
        return False
    return any(
        block.address.startswith("module.") and _find_module(block.text) is not None
        for block in context.run_files.terraform.blocks
    )


def _describe_switch(module: controller_policy.PolicyModule, most: tuple[float, ...]) -> str:
    """Return how to grant the permissions of v1; older module versions do not have the argument."""
    since = "" if most >= module.v1_since else f" with version {'.'.join(map(str, module.v1_since))} or newer"
    return f"set `{module.v1_switch} = true`{since}"


def _find_newest(constraint: str) -> tuple[float, ...] | None:
    """Return the newest version that a Terraform constraint allows, with infinity for an open number.

    None if the constraint has another form.
    """
    found = re.fullmatch(r'"\s*+(?:(=|~>)\s*+)?v?(\d+(?:\.\d+){0,2})\s*+"', constraint)
    if found is None:
        return None
    numbers: list[float] = [int(number) for number in found[2].split(".")]
    if found[1] == "~>":
        numbers[-1] = float("inf")  # of a single number, too: `~> 20` allows 21
    return tuple(numbers)
