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

```yaml good diff=bad
-  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
-  version      = "20.36.0"
-  cluster_name = "main"
+  source                = "terraform-aws-modules/eks/aws//modules/karpenter"
+  version               = "20.36.0"
+  cluster_name          = "main"
+  enable_v1_permissions = true
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

```yaml good karpenter=1.8.3 diff=bad
-  version      = "21.1.0"
+  version      = "21.2.0"
```

The rule also reads policies that are written out.

Karpenter calls more with each release: capacity reservations from 1.3 on (for a class that selects some), instance
profiles from 1.7 on, placement groups from 1.11 on (for a class that selects one), and the status of instances from
1.12 on. If a class has a `role`, Karpenter creates an instance profile, adds the role to it and reads it again.
Policies from the time of the Provisioner allow none of that: the class never becomes ready, and no node launches. The
message says what happens without the call, and the help names all calls that are not allowed.

The rule reads statements in JSON, YAML (CloudFormation, eksctl), Terraform (`aws_iam_policy_document`, `jsonencode`)
and scripts. It counts what any file of the run allows, and is silent if a statement holds actions that are not known.
A call without which no node is launched is an error. There is no fix: the file that has to grant the action may be
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

```yaml good karpenter=1.8.3 diff=bad
-      "ssm:GetParameter",
+      "ssm:GetParameter", "iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile",
+      "iam:GetInstanceProfile", "iam:ListInstanceProfiles", "iam:RemoveRoleFromInstanceProfile",
+      "iam:TagInstanceProfile",
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

```yaml good diff=bad
-  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2FullAccess"
+  policy_arn = "arn:aws:iam::111122223333:policy/karpenter"
```
"""

import os
import re
from collections.abc import Sequence

from nodelint.api import (
    Context,
    Finding,
    Findings,
    Object,
    Source,
    Span,
    controller_permissions,
    controller_policy,
    iam_statements,
    releases,
    role_policies,
    rule,
    terraform_blocks,
)

_VERSION = re.compile(r'(?m)^[ \t]+version\s*=\s*("[^"\n]*")')
_EVERYTHING = re.compile(r"(?i)(?:Administrator|PowerUser)Access|(?:IAM|AmazonEC2)FullAccess")
_TAGGED_ALREADY = re.compile(r"(?s)^(?!.*(?:IfExists|\bNull\b|ForAllValues)).*(?:aws|ec2):ResourceTag/")
_OF_CONTROLLER = ("ec2:RunInstances", "ec2:CreateLaunchTemplate", "ec2:TerminateInstances", "iam:PassRole")
"""A policy is the controller's if it grants `ec2:CreateFleet` and two of these."""


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
        module = controller_permissions.find_policy_module(call.text) if call.address.startswith("module.") else None
        version = _VERSION.search(call.text)
        most = terraform_blocks.newest_allowed(version[1][1:-1]) if version is not None else None
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
    oldest = controller_permissions.find_oldest_release(source, context)
    if re.search(rf"\b(?:{module.extra}|iam_role_policies)\s*=", call.text):
        return None
    added = role_policies.list_added_statements(call, context.run_files.terraform)
    if added is None:
        return None
    needed = controller_permissions.list_needed_calls(source, context, oldest)
    lacking = [
        made
        for made in needed
        if module.lacks(made.action, call.text, most) and not any(s.grants(made.action) for s in added)
    ]
    lists = oldest is not None and oldest >= _LISTS_PROFILES
    works = all(made.severity == "info" for made in lacking)
    tags = any(s.grants("ec2:CreateTags") for s in added)
    is_old = most < module.v1_always and module.v1_switch is not None and module.v1_switch not in call.text
    if is_old and context.run_files.objects_near(source, Object) and not (works if lists else tags):
        newer = module.version_with([made.action for made in lacking])
        granted = f", or {module.v1_advice(most)} and grant {_name([made.action for made in lacking])}"
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
            else f"{module.v1_advice(most)}, or move to version 21 of the module",
        )
    return None if works else _describe_module(at, module, lacking)


_LISTS_PROFILES = releases.Version(1, 7, 0)
"""The first release that calls `iam:ListInstanceProfiles`."""


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


def _check_attached(source: Source, context: Context) -> Findings:
    """Yield a finding for each role of the controller with only AWS managed policies."""
    blocks = context.run_files.terraform
    for block in blocks.find_in(source.path):
        names = role_policies.find_controllers_policies(block, blocks)
        if not names or not controller_policy.without_pass_role().issuperset(names):
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

    `at` is the node that refers to the policy's file; None if the text of the policy is in the file itself.
    """
    launching = [statement for statement in written if statement.grants("ec2:CreateFleet")]
    if not launching or any("*" in (statement.actions or ()) for statement in launching):
        return
    statements = [*written, *controller_permissions.list_statements_near(source, context)]
    marks = sum(any(statement.grants(action) for statement in statements) for action in _OF_CONTROLLER)
    folder = os.path.dirname(source.path)
    wide = (file for file in context.run_files.files_with(_EVERYTHING) if os.path.dirname(file.path) == folder)
    if marks < 2 or any(wide) or controller_permissions.is_policy_module_in_use(context):
        return
    first = launching[0].at
    found = source.text.find("ec2:CreateFleet", first.start, first.end) if at is None else -1
    place = at or (Span(source, found, found + len("ec2:CreateFleet")) if found >= 0 else first)
    needed = controller_permissions.list_needed_calls(
        source, context, controller_permissions.find_oldest_release(source, context)
    )
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
                severity=call.severity,
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
        severity=lacking[0].severity,
        help=f"grant {_name(actions)}"
        + (", or name an instance profile in the class (`instanceProfile`)" if only_role else ""),
    )
