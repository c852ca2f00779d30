"""Repositories that create the whole cluster and install the chart: what is missing around Karpenter is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.rules.test_around_repositories import APPLICATION, CHART, CLASS, CLUSTER, IRSA, MODULE, check

Run = Callable[..., CompletedProcess[str]]

INSTALLED = CHART.replace("QUEUE", '"main"')
ROLE = """\
resource "aws_iam_role" "nodes" {
  name               = "KarpenterNodeRole-main"
  assume_role_policy = jsonencode({
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
"""
ASSOCIATION = 'resource "aws_eks_pod_identity_association" "karpenter" {\n  service_account = "karpenter"\n}\n'
ON_NODES = 'resource "aws_iam_policy" "a" {\n  policy = jsonencode({ Action = ["ec2:CreateFleet"] })\n}\n'
FROM_FILE = 'resource "aws_iam_policy" "a" {\n  policy = file("${path.module}/policy.json")\n}\n'


class TestNoRoleOfTheController:
    @pytest.mark.parametrize(
        ("more", "count"),
        [
            ("", 1),
            (ROLE, 1),
            (MODULE, 0),
            (IRSA, 0),
            (ASSOCIATION, 0),
            (ON_NODES, 0),
            (FROM_FILE, 0),
            ('module "irsa" {\n  source = "example/irsa/aws"\n}\n', 0),
            ('module "pods" {\n  source = "terraform-aws-modules/eks-pod-identity/aws"\n}\n', 0),
            ('module "b" {\n  source = "aws-ia/eks-blueprints-addons/aws"\n  enable_karpenter = true\n}\n', 0),
            (CLUSTER.replace('"eks"', '"second"').replace('"vpc"', '"other"'), 0),
        ],
    )
    def test_in_terraform(self, nodelint: Run, tmp_path: Path, more: str, count: int) -> None:
        files = {"main.tf": CLUSTER + INSTALLED + more, "class.yaml": CLASS}
        found = check(nodelint, tmp_path, files, "controller-without-credentials")
        assert sum("gives it no role" in message for message in found) == count

    @pytest.mark.parametrize(
        ("values", "count"),
        [
            ("settings", 1),
            ('serviceAccount = { name = "karpenter" }, settings', 1),
            ("serviceAccount = { create = false }, settings", 0),
            ('serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = "a" } }, settings', 0),
            ('controller = { env = [{ name = "AWS_PROFILE", value = "a" }] }, settings', 0),
        ],
    )
    def test_values_that_may_give_credentials(self, nodelint: Run, tmp_path: Path, values: str, count: int) -> None:
        text = CLUSTER + INSTALLED.replace("settings", values, 1)
        files = {"main.tf": text, "class.yaml": CLASS}
        found = check(nodelint, tmp_path, files, "controller-without-credentials")
        assert sum("gives it no role" in message for message in found) == count

    def test_an_excerpt_without_a_class(self, nodelint: Run, tmp_path: Path) -> None:
        assert check(nodelint, tmp_path, {"main.tf": CLUSTER + INSTALLED}, "controller-without-credentials") == []

    def test_a_chart_that_another_tool_installs_may_have_a_role_by_hand(self, nodelint: Run, tmp_path: Path) -> None:
        files = {".git/HEAD": "", "main.tf": CLUSTER, "app.yaml": APPLICATION, "class.yaml": CLASS}
        assert check(nodelint, tmp_path, files, "controller-without-credentials") == []


NAME, FARGATE = "system:node:{{EC2PrivateDNSName}}", "system:node:{{SessionName}}"
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: aws-auth, namespace: kube-system}}
data:
  mapRoles: |
    - groups:
      - system:masters
      rolearn: arn:aws:iam::111122223333:role/admin
      username: admin
    - groups:
{groups}
      rolearn: {arn}
      username: {username}
"""
HCL = """\
resource "kubernetes_config_map_v1_data" "auth" {{
  data = {{ mapRoles = yamlencode([
    {{ rolearn = "arn:aws:iam::111122223333:role/admin", username = "admin", groups = ["system:masters"] }},
    {{ rolearn = {arn}, username = "{username}", groups = [{groups}] }},
  ]) }}
}}
"""
ROWS: dict[str, Callable[[str, str, list[str]], dict[str, str]]] = {
    "yaml": lambda arn, username, groups: {
        "auth.yaml": MAP.format(
            arn=f"arn:aws:iam::111122223333:role/{arn}",
            username=username,
            groups="\n".join(f"      - {group}" for group in groups),
        )
    },
    "terraform": lambda arn, username, groups: {
        "auth.tf": HCL.format(
            arn=f'"arn:aws:iam::111122223333:role/{arn}"',
            username=username,
            groups=str(groups)[1:-1].replace("'", '"'),
        )
    },
    "list": lambda arn, username, groups: {
        "auth.tf": 'module "auth" {\n  source = "terraform-aws-modules/eks/aws//modules/aws-auth"\n'
        f'  aws_auth_roles = [\n    {{\n      rolearn  = "arn:aws:iam::111122223333:role/{arn}"\n'
        f'      username = "{username}"\n      groups   = {groups!s}\n    }},\n  ]\n}}\n'.replace("'", '"')
    },
}
NODES = ["system:bootstrappers", "system:nodes"]


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize(
    ("arn", "username", "groups", "words"),
    [
        ("karpenter-nodes", NAME, NODES, ""),
        ("karpenter-nodes", FARGATE, NODES, "user name"),
        ("karpenter-nodes", "karpenter", NODES, "user name"),
        ("karpenter-nodes", "system:node:{{EC2PrivateDnsName}}", NODES, "user name"),
        ("karpenter-others", "system:node:{{EC2PrivateDnsName}}", NODES, "user name"),
        ("karpenter-others", FARGATE, NODES, ""),
        ("karpenter-nodes", NAME, ["system:bootstrappers"], "lacks the group"),
        ("karpenter-nodes", NAME, ["viewers"], "lacks the group"),
        ("karpenter-others", "deploy", ["viewers"], ""),
        ("karpenter-nodes", NAME, ["system:masters"], ""),
    ],
)
def test_a_row_with_the_identity_of_a_node(
    nodelint: Run, tmp_path: Path, form: str, arn: str, username: str, groups: list[str], words: str
) -> None:
    files = {**ROWS[form](arn, username, groups), "class.yaml": CLASS, "main.tf": CLUSTER}
    found = check(nodelint, tmp_path, files, "unmatched-aws-auth-row")
    assert len(found) == bool(words) and all(words in message for message in found)


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ('"arn:aws:iam::111122223333:role/karpenter-nodes"', "aws_iam_role.nodes.arn", 1),
        ('"arn:aws:iam::111122223333:role/karpenter-nodes"', "aws_iam_role.others.arn", 0),
        ('"system:bootstrappers"', "var.group", 0),
        ("main.tf", "main.tf", 1),
    ],
)
def test_a_row_of_a_reference_or_of_a_variable(nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
    text = ROWS["terraform"]("karpenter-nodes", NAME, ["system:bootstrappers"])["auth.tf"].replace(old, new)
    named = ROLE.replace("KarpenterNodeRole-main", "karpenter-nodes")
    files = {"class.yaml": CLASS, "main.tf": CLUSTER + named + text}
    assert len(check(nodelint, tmp_path, files, "unmatched-aws-auth-row")) == count


@pytest.mark.parametrize(("attribute", "count"), [("id", 1), ("name", 1), ("arn", 0)])
def test_a_row_with_the_name_of_a_role(nodelint: Run, tmp_path: Path, attribute: str, count: int) -> None:
    text = ROWS["terraform"]("x", NAME, NODES)["auth.tf"]
    text = text.replace('"arn:aws:iam::111122223333:role/x"', f"aws_iam_role.nodes.{attribute}")
    found = check(nodelint, tmp_path, {"main.tf": CLUSTER + ROLE + text}, "unmatched-aws-auth-row")
    assert len(found) == count


POLICY = """\
{{"Statement": [
  {{"Sid": "karpenter", "Effect": "Allow", "Action": "iam:PassRole", "Resource": "{role}"}},
  {{"Effect": "Allow", "Action": ["ec2:CreateFleet", "ec2:RunInstances"{more}], "Resource": "*"}}
]}}
"""


@pytest.mark.parametrize(
    ("path", "role", "more", "count"),
    [
        ("policy.json", "arn:aws:iam::111122223333:role/other-nodes", "", 1),
        ("policy.json", "arn:aws:iam::111122223333:role/karpenter-nodes", "", 0),
        ("policy.json", "arn:aws:iam::111122223333:role/other-*", "", 0),
        ("policy.json", "arn:aws:iam::111122223333:role/${ROLE}", "", 0),
        ("policy.json", "*", "", 0),
        ("policy.json", "arn:aws:iam::111122223333:role/other-nodes", ', "iam:*"', 0),
        ("iam/policy.json", "arn:aws:iam::111122223333:role/other-nodes", "", 0),
    ],
)
def test_a_policy_in_json_for_another_role(
    nodelint: Run, tmp_path: Path, path: str, role: str, more: str, count: int
) -> None:
    files = {path: POLICY.format(role=role, more=more), "class.yaml": CLASS}
    assert len(check(nodelint, tmp_path, files, "passed-role")) == count


STACK = """\
Resources:
  KarpenterInterruptionQueue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: {name}
"""


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({"stack.yaml": STACK.format(name="main-karpenter-events")}, 1),
        ({"stack.yaml": STACK.format(name="Karpenter-main")}, 0),
        ({"stack.yaml": STACK.format(name='!Sub "${ClusterName}"')}, 0),
        ({"stack.yaml": STACK.format(name="!Ref Name")}, 0),
        ({"stack.yaml": STACK.format(name="karpenter").replace("      QueueName: karpenter\n", "")}, 0),
        ({"stack.yaml": STACK.format(name="a"), "more.yaml": STACK.format(name="b")}, 0),
    ],
)
def test_a_queue_of_a_stack_with_another_name(
    nodelint: Run, tmp_path: Path, files: dict[str, str], count: int
) -> None:
    found = check(nodelint, tmp_path, {"app.yaml": APPLICATION, **files}, "queue-of-another-name")
    assert len(found) == count and all("CloudFormation" in message for message in found)


OCI = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {{name: {name}}}
spec: {{url: "oci://public.ecr.aws/karpenter/{name}", ref: {{tag: {version}}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {name}}}
spec: {{chartRef: {{kind: OCIRepository, name: {name}}}, values: {{settings: {{clusterName: main}}}}}}
"""
CRDS: dict[str, Callable[[str], dict[str, str]]] = {
    "oci": lambda version: {
        "release.yaml": OCI.format(name="karpenter", version="1.14.1")
        + "---\n"
        + OCI.format(name="karpenter-crd", version=version)
    },
    "umbrella": lambda version: {
        "Chart.yaml": "apiVersion: v2\nname: platform\nversion: 0.1.0\ndependencies:\n"
        "  - {name: karpenter, version: 1.14.1, repository: oci://public.ecr.aws/karpenter}\n"
        f"  - {{name: karpenter-crd, version: {version}, repository: oci://public.ecr.aws/karpenter}}\n",
        "values.yaml": "karpenter: {settings: {clusterName: main}}\n",
    },
    "helmfile": lambda version: {
        "helmfile.yaml": "repositories:\n  - {name: karpenter, url: public.ecr.aws/karpenter, oci: true}\nreleases:\n"
        f"  - {{name: karpenter-crd, chart: karpenter/karpenter-crd, version: {version}}}\n"
        "  - {name: karpenter, chart: karpenter/karpenter, version: 1.14.1,"
        " values: [{settings: {clusterName: main}}]}\n"
    },
}


@pytest.mark.parametrize("form", CRDS)
@pytest.mark.parametrize(("version", "count"), [("1.9.0", 1), ("1.14.3", 0), ("1.14.1", 0), ('"*"', 0)])
def test_crds_of_another_release(nodelint: Run, tmp_path: Path, form: str, version: str, count: int) -> None:
    assert len(check(nodelint, tmp_path, CRDS[form](version), "crd-chart-of-another-release")) == count


@pytest.mark.parametrize(
    ("arn", "groups", "count"),
    [
        ("role/karpenter-nodes", "system:bootstrappers", 1),
        ("role/karpenter-nodes", "system:nodes", 0),
        ("role/karpenter-nodes", "system:masters", 0),
        ("role/eks/karpenter-nodes", "system:nodes", 1),
        ("role/others", "system:bootstrappers", 0),
    ],
)
def test_a_row_in_a_file_without_the_word(nodelint: Run, tmp_path: Path, arn: str, groups: str, count: int) -> None:
    """A file without the word Karpenter has no findings: the class has them."""
    text = CLASS.replace("karpenter-nodes", "workers")
    row = MAP.format(arn=f"arn:aws:iam::1:{arn}", username=NAME, groups=f"      - {groups}").replace(
        "karpenter-nodes", "workers"
    )
    files = {"auth.yaml": row, "class.yaml": text}
    found = check(nodelint, tmp_path, files, "node-role-without-access")
    assert sum("the row of this role" in message for message in found) == count


KEY = 'resource "aws_kms_key" "volumes" {{\n  description = "volumes"\n{0}}}\n'
ROOT = '"arn:aws:iam::${data.aws_caller_identity.current.account_id}:root"'
OF_ACCOUNT = f"""\
  policy = jsonencode({{
    Statement = [{{ Effect = "Allow", Principal = {{ AWS = {ROOT} }}, Action = "kms:*", Resource = "*" }}]
  }})
"""
DOCUMENT = """\
data "aws_iam_policy_document" "key" {{
  statement {{
    actions = ["kms:*"]
    principals {{
      type        = "AWS"
      identifiers = [{0}]
    }}
  }}
}}
"""
BY_DOCUMENT = "  policy = data.aws_iam_policy_document.key.json\n"
ALIAS = """\
resource "aws_kms_alias" "volumes" {
  name          = "alias/volumes"
  target_key_id = aws_kms_key.volumes.id
}
"""
ENCRYPTED = (
    CLASS.replace("{", "{{").replace("}", "}}") + "  blockDeviceMappings:\n    - deviceName: /dev/xvda\n"
    "      ebs: {{volumeSize: 50Gi, encrypted: true, kmsKeyID: {0}}}\n"
)


def heredoc(text: str) -> str:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return f'resource "kubectl_manifest" "class" {{\n  yaml_body = <<-YAML\n{lines}  YAML\n}}\n'


VOLUMES: dict[str, Callable[[str], dict[str, str]]] = {
    "reference": lambda text: {"main.tf": CLUSTER + text + heredoc(ENCRYPTED.format('"${aws_kms_key.volumes.arn}"'))},
    "alias": lambda text: {"main.tf": CLUSTER + ALIAS + text, "class.yaml": ENCRYPTED.format("alias/volumes")},
    "template": lambda text: {
        "main.tf": CLUSTER
        + text
        + 'resource "kubectl_manifest" "class" {\n'
        + '  yaml_body = templatefile("${path.module}/class.tpl", { key = aws_kms_key.volumes.arn })\n}\n',
        "class.tpl": ENCRYPTED.format('"${key}"'),
    },
    "chart": lambda text: {
        "main.tf": CLUSTER
        + text
        + 'resource "helm_release" "pools" {\n  name = "pools"\n  chart = "${path.module}/pools"\n'
        + '  set {\n    name  = "key"\n    value = aws_kms_key.volumes.arn\n  }\n}\n',
        "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "pools/values.yaml": "key: ''\n",
        "pools/templates/class.yaml": ENCRYPTED.format("{{ .Values.key }}"),
    },
}


@pytest.mark.parametrize("form", VOLUMES)
@pytest.mark.parametrize(
    ("key", "more", "count"),
    [
        ("", MODULE, 1),
        (OF_ACCOUNT, MODULE, 1),
        (BY_DOCUMENT, MODULE + DOCUMENT.format(ROOT), 1),
        ("", ON_NODES, 1),
        ("", "", 0),
        ("", MODULE.replace("}\n", '  iam_policy_statements = [{ actions = ["kms:CreateGrant"] }]\n}\n'), 0),
        ("", MODULE + 'resource "aws_kms_grant" "a" {\n  key_id = aws_kms_key.volumes.id\n}\n', 0),
        (OF_ACCOUNT.replace(ROOT, "module.karpenter.iam_role_arn"), MODULE, 0),
        (OF_ACCOUNT.replace(ROOT, '"*"'), MODULE, 0),
        (OF_ACCOUNT.replace(ROOT, f"[{ROOT}, var.admin]"), MODULE, 0),
        (BY_DOCUMENT, MODULE + DOCUMENT.format(f'{ROOT}, "arn:aws:iam::1:role/karpenter"'), 0),
        (BY_DOCUMENT, MODULE, 0),
    ],
)
def test_a_key_that_the_controller_may_not_use(
    nodelint: Run, tmp_path: Path, form: str, key: str, more: str, count: int
) -> None:
    files = VOLUMES[form](KEY.format(key) + more)
    assert len(check(nodelint, tmp_path, files, "volume-key-without-grant")) == count


@pytest.mark.parametrize(
    ("account", "values", "count"),
    [
        ("karpenter", "settings", 0),
        ("karpenter", 'serviceAccount = { name = "karpenter-controller" }, settings', 1),
        ("karpenter-controller", 'serviceAccount = { name = "karpenter-controller" }, settings', 0),
        ("karpenter-controller", "settings", 1),
        ("karpenter-*", 'serviceAccount = { name = "karpenter-controller" }, settings', 0),
        ("${var.name}", 'serviceAccount = { name = "karpenter-controller" }, settings', 0),
        ("karpenter", "serviceAccount = { name = var.name }, settings", 0),
        ("karpenter-controller", 'fullnameOverride = "karpenter-controller", settings', 0),
    ],
)
@pytest.mark.parametrize("by_trust", [False, True])
def test_a_service_account_of_another_name(
    nodelint: Run, tmp_path: Path, by_trust: bool, account: str, values: str, count: int
) -> None:
    grant = (
        IRSA.replace("kube-system:karpenter", f"kube-system:{account}")
        if by_trust
        else 'resource "aws_eks_pod_identity_association" "karpenter" {\n  namespace = "kube-system"\n'
        f'  service_account = "{account}"\n}}\n'
    )
    text = CLUSTER + grant + INSTALLED.replace("settings", values, 1)
    found = check(nodelint, tmp_path, {"main.tf": text}, "service-account-elsewhere")
    assert len(found) == count and all("service account" in message for message in found)


def test_another_service_account_without_the_word(nodelint: Run, tmp_path: Path) -> None:
    grants = "".join(
        f'resource "aws_eks_pod_identity_association" "{name}" {{\n  namespace = "kube-system"\n'
        f'  service_account = "{name}"\n}}\n'
        for name in ("karpenter", "autoscaler")
    )
    text = CLUSTER + grants + INSTALLED.replace("settings", 'serviceAccount = { name = "autoscaler" }, settings', 1)
    assert check(nodelint, tmp_path, {"main.tf": text}, "service-account-elsewhere") == []
