"""What the controller is allowed in AWS, in each form in which policies are written; and the twin of each mistake."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.plain_yaml import dump_yaml
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
Statements = Sequence[Mapping[str, object]]

READS = ["ec2:DescribeImages", "ec2:DescribeInstances", "ec2:DescribeInstanceStatus", "ec2:DescribeInstanceTypes",
         "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeLaunchTemplates", "ec2:DescribeSecurityGroups",
         "ec2:DescribeSpotPriceHistory", "ec2:DescribeSubnets", "pricing:GetProducts", "ssm:GetParameter",
         "eks:DescribeCluster"]  # fmt: skip
PROFILES = ["iam:AddRoleToInstanceProfile", "iam:CreateInstanceProfile", "iam:DeleteInstanceProfile",
            "iam:GetInstanceProfile", "iam:ListInstanceProfiles", "iam:RemoveRoleFromInstanceProfile",
            "iam:TagInstanceProfile"]  # fmt: skip
READ_KINDS = ("image", "snapshot", "security-group", "subnet")
MADE_KINDS = ("fleet", "instance", "volume", "network-interface", "launch-template", "spot-instances-request")


def arns(*kinds: str) -> list[str]:
    return [f"arn:aws:ec2:eu-west-1:*:{kind}/*" for kind in kinds]


def policy(lacking: str = "", kind: str = "", untagged: str = "") -> Statements:
    """Karpenter's own policy, without an action, or without a kind of resources in launches or their tags."""
    read, made = (tuple(k for k in kinds if k != kind) for kinds in (READ_KINDS, MADE_KINDS))
    rows = [
        (["ec2:RunInstances", "ec2:CreateFleet"], arns(*read)),
        (["ec2:RunInstances", "ec2:CreateFleet"], arns(*made)),
        (["ec2:CreateLaunchTemplate"], arns("launch-template")),
        (["ec2:CreateTags"], arns(*(k for k in MADE_KINDS if k != untagged))),
        (["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"], arns("instance", "launch-template")),
        ([*READS, *PROFILES], ["*"]),
        (["iam:PassRole"], ["arn:aws:iam::111122223333:role/nodes"]),
        (["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"], ["arn:aws:sqs:eu-west-1:1:main"]),
    ]
    without = [([action for action in actions if action != lacking], resources) for actions, resources in rows]
    return [{"Effect": "Allow", "Action": actions, "Resource": on} for actions, on in without if actions]


def as_documents(statements: Statements) -> str:
    row = "  statement {{\n    actions   = {}\n    resources = {}\n  }}\n"
    rows = "".join(row.format(json.dumps(s["Action"]), json.dumps(s["Resource"])) for s in statements)
    return f'data "aws_iam_policy_document" "karpenter" {{\n{rows}}}\n'


def as_jsonencode(statements: Statements) -> str:
    rows = "".join(
        f'      {{ Effect = "Allow", Action = {json.dumps(s["Action"])}, Resource = {json.dumps(s["Resource"])} }},\n'
        for s in statements
    )
    return (
        'resource "aws_iam_policy" "karpenter" {\n  name = "karpenter"\n'
        f"  policy = jsonencode({{\n    Statement = [\n{rows}    ]\n  }})\n}}\n"
    )


def as_template(statements: Statements) -> str:
    """A template of CloudFormation in YAML's block style, with lists that begin at the indent of their key."""
    made = {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Statement": list(statements)}}}
    return dump_yaml({"Description": "roles of karpenter", "Resources": {"KarpenterControllerPolicy": made}})


CLUSTER = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: main, region: eu-west-1}\n"
FROM_FILE = 'resource "aws_iam_policy" "karpenter" {\n  policy = file("${path.module}/karpenter.json")\n}\n'
SCRIPT = "#!/bin/sh\n# karpenter\ncat <<'EOF' > policy.json\n"
FORMS: dict[str, Callable[[Statements], dict[str, str]]] = {
    "json": lambda s: {"karpenter-policy.json": json.dumps({"Id": "karpenter", "Statement": list(s)}, indent=2)},
    "cloudformation": lambda s: {"template.yaml": as_template(s)},
    "cloudformation with Sub": lambda s: {
        "template.yaml": "Description: roles of karpenter\nResources:\n  KarpenterControllerPolicy:\n"
        "    Type: AWS::IAM::ManagedPolicy\n    Properties:\n      PolicyDocument: !Sub |\n"
        + "".join(f"        {line}\n" for line in json.dumps({"Statement": list(s)}, indent=1).splitlines())
    },
    "eksctl": lambda s: {
        "cluster.yaml": CLUSTER
        + dump_yaml(
            {
                "iam": {
                    "serviceAccounts": [{"metadata": {"name": "karpenter"}, "attachPolicy": {"Statement": list(s)}}]
                }
            }
        )
    },
    "document": lambda s: {"karpenter.tf": as_documents(s)},
    "jsonencode": lambda s: {"karpenter.tf": as_jsonencode(s)},
    "heredoc": lambda s: {
        "karpenter.tf": 'resource "aws_iam_policy" "karpenter" {\n  policy = <<-JSON\n'
        + json.dumps({"Statement": list(s)}, indent=2)
        + "\n  JSON\n}\n"
    },
    "file": lambda s: {
        "karpenter.tf": FROM_FILE,
        "karpenter.json": json.dumps({"Id": "karpenter", "Statement": list(s)}),
    },
    "script": lambda s: {
        "setup.sh": "#!/bin/sh\n# karpenter\ncat <<'EOF' > policy.json\n"
        + json.dumps({"Statement": list(s)})
        + "\nEOF\n"
    },
}
CLASS = nodeclass() + "---\n" + nodepool("key: karpenter.sh/capacity-type, operator: In, values: [spot]")
RESERVED = nodeclass("capacityReservationSelectorTerms: [{tags: {team: web}}]")
MISTAKES: list[tuple[dict[str, str], str, str, str]] = [
    ({"lacking": "iam:ListInstanceProfiles"}, "1.7.0", "1.6.0", "no policy grants `iam:ListInstanceProfiles`"),
    ({"lacking": "ec2:DescribeInstanceStatus"}, "1.12.0", "1.11.0", "no policy grants `ec2:DescribeInstanceStatus`"),
    ({"lacking": "eks:DescribeCluster"}, "1.14.1", "", "no policy grants `eks:DescribeCluster`"),
    ({"lacking": "iam:PassRole"}, "1.14.1", "", "no policy grants `iam:PassRole`"),
    ({"lacking": "ec2:TerminateInstances"}, "1.14.1", "", "no policy grants `ec2:TerminateInstances`"),
    ({"kind": "launch-template"}, "1.14.1", "", "`ec2:CreateFleet` is not allowed on `launch-template/*`"),
    ({"kind": "subnet"}, "1.14.1", "", "`ec2:RunInstances` is not allowed on `subnet/*`"),
    ({"untagged": "fleet"}, "1.14.1", "", "`ec2:CreateTags` is not allowed on `fleet/*`"),
    ({"untagged": "spot-instances-request"}, "1.14.1", "", "`ec2:CreateTags` is not allowed on `spot-"),
]


def check(nodelint: Run, folder: Path, files: Mapping[str, str], release: str = "1.14.1") -> list[str]:
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    flags = ("--select", "controller-permissions", "--include", "**/*.sh", "--karpenter-version", release)
    done = nodelint("check", str(folder), "--format", "json", *flags)
    return [found["message"] for found in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("form", FORMS)
def test_a_policy_that_lacks_something_and_its_twin(nodelint: Run, tmp_path: Path, form: str) -> None:
    make = FORMS[form]
    assert check(nodelint, tmp_path / "twin", {**make(policy()), "class.yaml": CLASS}) == []
    for n, (mistake, release, before, message) in enumerate(MISTAKES):
        files = {**make(policy(**mistake)), "class.yaml": CLASS}
        found = check(nodelint, tmp_path / str(n), files, release)
        assert any(text.startswith(message) for text in found), (mistake, found)
        if before:
            assert check(nodelint, tmp_path / f"{n}-before", files, before) == []


def test_what_only_spot_needs_stops_only_spot(nodelint: Run, tmp_path: Path) -> None:
    files = {"karpenter.tf": as_jsonencode(policy(untagged="spot-instances-request")), "class.yaml": CLASS}
    assert [text.partition(": ")[2] for text in check(nodelint, tmp_path, files)] == ["no Spot node is launched"]


TAGS = """\
data "aws_iam_policy_document" "more" {{
  statement {{
    actions   = ["ec2:CreateTags"]
    resources = ["*"]
    condition {{
      test     = "{test}"
      variable = "{variable}/kubernetes.io/cluster/main"
      values   = ["owned"]
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("test", "variable", "found"),
    [
        ("StringEquals", "aws:ResourceTag", True),
        ("StringEqualsIfExists", "aws:ResourceTag", False),
        ("StringEquals", "aws:RequestTag", False),
    ],
)
def test_tags_that_only_tagged_resources_take(
    nodelint: Run, tmp_path: Path, test: str, variable: str, found: bool
) -> None:
    text = as_documents(policy("ec2:CreateTags")) + TAGS.format(test=test, variable=variable)
    messages = check(nodelint, tmp_path, {"karpenter.tf": text, "class.yaml": CLASS})
    assert ["has a tag already" in message for message in messages] == [True] * found


@pytest.mark.parametrize(
    ("field", "action"),
    [
        ("capacityReservationSelectorTerms: [{tags: {team: web}}]", "ec2:DescribeCapacityReservations"),
        ("placementGroupSelector: {name: web}", "ec2:DescribePlacementGroups"),
    ],
)
def test_a_class_that_selects_what_the_controller_may_not_list(
    nodelint: Run, tmp_path: Path, field: str, action: str
) -> None:
    for n, (lines, more, count) in enumerate([((field,), [], 1), ((), [], 0), ((field,), [action], 0)]):
        statements = [*policy(), *({"Effect": "Allow", "Action": [name], "Resource": ["*"]} for name in more)]
        files = {"karpenter.tf": as_jsonencode(statements), "class.yaml": nodeclass(*lines)}
        found = check(nodelint, tmp_path / str(n), files)
        assert [action in message for message in found] == [True] * count


def test_what_other_controllers_are_allowed_is_not_counted(nodelint: Run, tmp_path: Path) -> None:
    other = as_documents([{"Action": ["iam:PassRole"], "Resource": ["*"]}]).replace("karpenter", "balancer")
    karpenter = {"a/karpenter.tf": as_documents(policy("iam:PassRole")), "class.yaml": CLASS}
    for n, (more, count) in enumerate([({"b/iam.tf": other}, 1), ({"a/iam.tf": other}, 0)]):
        with_word = {path: f'{text}locals {{\n  of = "karpenter"\n}}\n' for path, text in more.items()}
        assert len(check(nodelint, tmp_path / str(n), {**karpenter, **with_word})) == count


IRSA = """\
module "irsa" {
  source                             = "terraform-aws-modules/iam/aws//modules/iam-role-for-service-accounts-eks"
  version                            = "5.44.0"
  attach_karpenter_controller_policy = true
%s}
"""


@pytest.mark.parametrize(
    ("more", "release", "message"),
    [
        ("", "1.6.0", "`iam:GetInstanceProfile` and 5 more: the EC2NodeClass is never ready"),
        ("  enable_karpenter_instance_profile_creation = true\n", "1.6.0", ""),
        ("  enable_karpenter_instance_profile_creation = true\n", "1.8.0", "`iam:ListInstanceProfiles`"),
        ("  role_policy_arns = { more = aws_iam_policy.more.arn }\n", "1.8.0", ""),
    ],
)
def test_the_module_of_iam_grants_profiles_on_request(
    nodelint: Run, tmp_path: Path, more: str, release: str, message: str
) -> None:
    found = check(nodelint, tmp_path, {"main.tf": IRSA % more, "class.yaml": CLASS}, release)
    assert [message in text for text in found] == [True] * bool(message)


CHART = """\
resource "helm_release" "karpenter" {{
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values     = [yamlencode({{ settings = {{ clusterName = "main", interruptionQueue = {queue} }} }})]
}}
"""


@pytest.mark.parametrize(
    ("queue", "count"),
    [('"main"', 1), ("aws_sqs_queue.main.name", 1), ('try(aws_sqs_queue.main[0].name, "")', 0), ('""', 0)],
)
def test_a_queue_that_the_controller_may_not_read(nodelint: Run, tmp_path: Path, queue: str, count: int) -> None:
    without = [row for row in policy() if "sqs:GetQueueUrl" not in str(row["Action"])]
    files = {"iam.tf": as_jsonencode(without), "main.tf": CHART.format(queue=queue), "class.yaml": CLASS}
    found = check(nodelint, tmp_path, files)
    assert ["`sqs:GetQueueUrl` and 2 more" in message for message in found] == [True] * count


MODULE = """\
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "%s"
  cluster_name = "main"
%s}
"""
INLINE = """\
resource "aws_iam_role_policy" "more" {
  role   = %s
  policy = jsonencode({ Statement = [{ Effect = "Allow", Action = "%s", Resource = "*" }] })
}
"""
ATTACHED = """\
resource "aws_iam_role_policy_attachment" "more" {
  role       = module.karpenter.iam_role_name
  policy_arn = aws_iam_policy.more.arn
}
resource "aws_iam_policy" "more" {
  policy = data.aws_iam_policy_document.more.json
}
data "aws_iam_policy_document" "more" {
  statement {
    actions   = [%s]
    resources = ["*"]
  }
}
"""
ROLE, LIST = "module.karpenter.iam_role_name", "iam:ListInstanceProfiles"


@pytest.mark.parametrize(
    ("files", "is_granted"),
    [
        ({}, False),
        ({"k/more.tf": INLINE % (ROLE, LIST)}, True),
        ({"k/more.tf": INLINE % ("module.karpenter[0].iam_role_name", LIST)}, True),
        ({"k/more.tf": INLINE % (ROLE, "iam:GetInstanceProfile")}, False),
        ({"k/more.tf": INLINE % ("module.karpenter.node_iam_role_name", LIST)}, False),
        ({"k/more.tf": ATTACHED % f'"{LIST}"'}, True),
        ({"k/more.tf": ATTACHED % '"iam:GetInstanceProfile"'}, False),
        ({"k/more.tf": ATTACHED % "var.actions"}, True),  # not known
        ({"k/more.tf": ATTACHED.replace("aws_iam_policy.more.arn", "var.arn") % f'"{LIST}"'}, True),
        ({"root/main.tf": 'module "karpenter" {\n  source = "../k"\n}\n' + INLINE % (ROLE, LIST)}, True),
        (
            {"k/more.tf": 'module "more" {\n  source = "../more"\n  role   = module.karpenter.iam_role_name\n}\n'},
            True,
        ),
    ],
)
@pytest.mark.parametrize("version", ["~> 20.24", "21.1.0"])
def test_what_files_add_to_the_role_of_a_module(
    nodelint: Run, tmp_path: Path, files: dict[str, str], version: str, is_granted: bool
) -> None:
    objects = {"k/main.tf": MODULE % (version, ""), "k/class.yaml": nodeclass() + "---\n" + nodepool()}
    found = check(nodelint, tmp_path, {**objects, **files}, "1.8.3")
    assert len(found) == (not is_granted)


@pytest.mark.parametrize(("spec", "release", "newer"), [("", "1.8.3", "21.2.0"), ("", "1.12.0", "21.19.0")])
def test_the_advised_version_of_a_module_grants_all_that_lacks(
    nodelint: Run, tmp_path: Path, spec: str, release: str, newer: str
) -> None:
    write_files(
        tmp_path, {"main.tf": MODULE % ("~> 20.24", ""), "class.yaml": nodeclass(spec) + "---\n" + nodepool()}
    )
    flags = ("--select", "controller-permissions", "--karpenter-version", release)
    assert f"move to version {newer} of the module" in nodelint("check", str(tmp_path), *flags).stdout


@pytest.mark.parametrize("form", ["json", "cloudformation", "document", "jsonencode"])
@pytest.mark.parametrize(
    ("action", "resource", "count"),
    [
        ("iam:PassRole", "*", 1),
        ("iam:PassRole", "arn:aws:iam::111122223333:role/nodes", 0),
        ("ec2:TerminateInstances", "*", 1),
        ("ec2:DescribeInstances", "*", 0),
    ],
)
def test_what_the_controller_may_do_to_the_whole_account(
    nodelint: Run, tmp_path: Path, form: str, action: str, resource: str, count: int
) -> None:
    statements = [
        {"Effect": "Allow", "Action": actions, "Resource": [on]}
        for actions, on in ((["ec2:CreateFleet"], "*"), ([action], resource))
    ]
    made = {"document": lambda s: {"a.tf": as_documents(s)}, "jsonencode": lambda s: {"a.tf": as_jsonencode(s)}}
    write_files(tmp_path, (made.get(form) or FORMS[form])(statements))
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "wide-controller-policy")
    assert len(json.loads(done.stdout)["findings"]) == count


def test_a_condition_makes_a_policy_narrow(nodelint: Run, tmp_path: Path) -> None:
    condition = {"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/main": "owned"}}
    for name, more in (("wide", {}), ("narrow", {"Condition": condition})):
        statements: list[Mapping[str, object]] = [
            {"Effect": "Allow", "Action": ["ec2:CreateFleet"], "Resource": ["*"]},
            {"Effect": "Allow", "Action": ["ec2:TerminateInstances"], "Resource": ["*"], **more},
        ]
        write_files(tmp_path / name, FORMS["json"](statements))
        done = nodelint("check", str(tmp_path / name), "--format", "json", "--select", "wide-controller-policy")
        assert len(json.loads(done.stdout)["findings"]) == (not more)
