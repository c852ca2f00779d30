"""What stands around the objects in a Terraform root module: versions, access, roles, subnets and node groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CHART = 'resource "helm_release" "karpenter" {\n  name  = "karpenter"\n  chart = "karpenter"\n}\n'
HELM = 'provider "helm" {\n  kubernetes = {\n    host = module.eks.cluster_endpoint\n  }\n}\n'
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {TAGS}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""
DISCOVERY = "karpenter.sh/discovery: main"


def find(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[tuple[str, str]]:
    """Return (file, message) for each finding of a rule over some files of a repository."""
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)["findings"]
    return [(Path(item["path"]).name, item["message"]) for item in found]


def eks(more: str = "", version: str = "~> 21.0") -> str:
    return (
        'module "eks" {\n  source  = "terraform-aws-modules/eks/aws"\n'
        f'  version = "{version}"\n  name    = "main"\n{more}}}\n'
    )


ROOTS = {
    "file": lambda text: {"main.tf": CHART, "other.tf": text},
    "called": lambda text: {"main.tf": CHART + 'module "more" {\n  source = "./more"\n}\n', "more/other.tf": text},
    "calling": lambda text: {
        "other.tf": text + 'module "nodes" {\n  source = "./nodes"\n}\n',
        "nodes/main.tf": CHART,
    },
    "neighbour": lambda text: {
        "main.tf": 'module "nodes" {\n  source = "./nodes"\n}\nmodule "more" {\n  source = "./more"\n}\n',
        "nodes/main.tf": CHART,
        "more/other.tf": text,
    },
}
ENTRY = 'resource "aws_eks_access_entry" "nodes" {\n  cluster_name = "main"\n%s}\n'


@pytest.mark.parametrize("form", ROOTS)
def test_files_of_a_root_module_that_do_not_name_karpenter_are_judged(
    nodelint: Run, tmp_path: Path, form: str
) -> None:
    found = find(nodelint, tmp_path / "bad", ROOTS[form](ENTRY % ""), "refused-resource")
    assert [name for name, _ in found] == ["other.tf"] and "`principal_arn`" in found[0][1]
    good = ENTRY % '  principal_arn = "arn:aws:iam::111122223333:role/nodes"\n'
    assert find(nodelint, tmp_path / "good", ROOTS[form](good), "refused-resource") == []


def test_a_root_module_without_karpenter_is_not_judged(nodelint: Run, tmp_path: Path) -> None:
    files = {"a/main.tf": CHART, "b/main.tf": ENTRY % ""}
    assert find(nodelint, tmp_path, files, "refused-resource") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'resource "aws_eks_access_policy_association" "a" {\n  cluster_name = "m"\n  security_group_id = 1\n}\n',
            "needs",
        ),
        ('resource "aws_iam_instance_profile" "a" {\n  roles = ["nodes"]\n}\n', "has no argument `roles`"),
        ('resource "aws_iam_instance_profile" "a" {\n  role = "nodes"\n}\n', ""),
        ('resource "aws_iam_role_policy_attachment" "a" {\n  role = "nodes"\n}\n', "needs `policy_arn`"),
        (
            'resource "aws_iam_role_policy_attachment" "a" {\n  for_each = toset(["b"])\n  role = "nodes"\n'
            "  policy_arn = each.value\n  depends_on = [aws_iam_role.a]\n}\n",
            "",
        ),
        (
            'resource "aws_eks_node_group" "a" {\n  cluster_name = "m"\n  node_role_arn = "a"\n  subnet_ids = []\n'
            '  dynamic "scaling_config" {\n    for_each = [1]\n    content {}\n  }\n  anything = 1\n}\n',
            "",
        ),
        ('resource "aws_s3_bucket" "a" {\n  anything = 1\n}\n', ""),
    ],
)
def test_arguments_that_a_resource_lacks_or_does_not_have(
    nodelint: Run, tmp_path: Path, text: str, message: str
) -> None:
    found = find(nodelint, tmp_path, {"main.tf": CHART + text}, "refused-resource")
    assert [message in text for _, text in found] == [True] * bool(message)


VERSIONS = {
    "default": {"main.tf": eks("  kubernetes_version = var.v\n"), "v.tf": 'variable "v" {\n  default = NUMBER\n}\n'},
    "typed": {
        "main.tf": eks("  kubernetes_version = var.v\n"),
        "v.tf": 'variable "v" {\n  type = string\n  default = NUMBER\n}\n',
    },
    "literal": {"v.tf": eks("  kubernetes_version = NUMBER\n")},
    "local": {"main.tf": eks("  kubernetes_version = local.v\n"), "v.tf": "locals {\n  v = NUMBER\n}\n"},
    "tfvars": {
        "main.tf": eks("  kubernetes_version = var.v\n") + 'variable "v" {}\n',
        "v.tfvars": "v = NUMBER\n",
    },
    "call": {
        "v.tf": 'module "cluster" {\n  source = "./cluster"\n  v = NUMBER\n}\n',
        "cluster/main.tf": 'variable "v" {}\nresource "aws_eks_cluster" "m" {\n  version = var.v\n}\n',
    },
}


@pytest.mark.parametrize("form", VERSIONS)
def test_a_version_of_kubernetes_that_is_a_number(nodelint: Run, tmp_path: Path, form: str) -> None:
    def files(version: str) -> dict[str, str]:
        written = {name: text.replace("NUMBER", version) for name, text in VERSIONS[form].items()}
        return {"chart.tf": CHART, **written}

    found = find(nodelint, tmp_path / "bad", files("1.30"), "version-as-number")
    assert [(name.partition(".")[0], "becomes `1.3`" in message) for name, message in found] == [("v", True)]
    for n, version in enumerate(('"1.30"', "1.31")):
        assert find(nodelint, tmp_path / str(n), files(version), "version-as-number") == []


TEXTS = {
    "eksctl": "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: karpenter, version: VALUE}\n",
    "flux": (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\n"
        "spec: {chart: {spec: {chart: karpenter, version: VALUE}}}\n"
    ),
    "argocd": (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: karpenter}\n"
        "spec: {source: {chart: karpenter, targetRevision: VALUE}}\n"
    ),
}


@pytest.mark.parametrize("form", TEXTS)
def test_a_version_that_is_a_number_in_yaml(nodelint: Run, tmp_path: Path, form: str) -> None:
    for value, count in (("1.10", 1), ("1.8", 1), ('"1.10"', 0), ("1.8.1", 0)):
        folder = tmp_path / value.strip('"').replace(".", "") / str(count)
        files = {"a.yaml": TEXTS[form].replace("VALUE", value)}
        assert len(find(nodelint, folder, files, "version-as-number")) == count


def test_the_inputs_of_a_unit_of_terragrunt(nodelint: Run, tmp_path: Path) -> None:
    unit = (
        'terraform {\n  source = "tfr:///terraform-aws-modules/eks/aws?version=20.0.0"\n}\n'
        'inputs = {\n  cluster_name = "karpenter"\n  cluster_version = %s\n}\n'
    )
    for name, value, count in (("bad", "1.30", 1), ("text", '"1.30"', 0), ("exact", "1.31", 0)):
        files = {"terragrunt.hcl": unit % value}
        assert len(find(nodelint, tmp_path / name, files, "version-as-number")) == count


def test_the_target_is_not_read_from_a_number_that_ends_with_zero(nodelint: Run, tmp_path: Path) -> None:
    for version, known in (("1.30", ""), ('"1.30"', "1.30"), ("1.31", "1.31")):
        folder = tmp_path / version.strip('"').replace(".", "") / ("text" if '"' in version else "number")
        write_files(
            folder,
            {
                "v.tf": f'variable "cluster_version" {{\n  default = {version}\n}}\n',
                "class.yaml": CLASS.replace("TAGS", DISCOVERY),
            },
        )
        assert (f"Kubernetes {known}," in nodelint("check", str(folder)).stdout) == bool(known)


CREATOR = "  enable_cluster_creator_admin_permissions = true\n"
RESOURCE = (
    'resource "aws_eks_cluster" "m" {\n  name = "m"\n  access_config {\n    authentication_mode = "API"\n%s  }\n}\n'
)
OWN_HELM = 'provider "helm" {\n  kubernetes = {\n    host = aws_eks_cluster.m.endpoint\n  }\n}\n'
PERSON = (
    'resource "aws_eks_access_policy_association" "admin" {\n  cluster_name = "main"\n  principal_arn = var.admin\n'
    '  policy_arn = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"\n}\n'
)
OLD = 'terraform {\n  required_providers {\n    aws = {\n      version = "5.52.0"\n    }\n  }\n}\n'
NOBODY = "    bootstrap_cluster_creator_admin_permissions = false\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (HELM + eks(), 1),
        (HELM + eks(version="~> 20.0"), 1),
        (HELM + eks(version="~> 19.0"), 0),
        (HELM + eks(version=">= 19.0"), 0),
        (HELM + eks(CREATOR), 0),
        (HELM + eks("  access_entries = var.entries\n"), 0),
        (HELM + eks() + PERSON, 0),
        (HELM + eks() + ENTRY % '  type = "EC2_LINUX"\n', 1),
        (HELM + eks() + ENTRY % "", 0),
        (eks(), 0),
        (OWN_HELM + RESOURCE % NOBODY, 1),
        (OWN_HELM + RESOURCE % "", 0),
        (OLD + OWN_HELM + RESOURCE % "", 1),
        (OLD.replace("5.52.0", "~> 5.52") + OWN_HELM + RESOURCE % "", 0),
        (OLD + OWN_HELM + RESOURCE % NOBODY.replace("false", "true"), 0),
        (OLD + OWN_HELM + 'resource "aws_eks_cluster" "m" {\n  name = "m"\n}\n', 0),
    ],
)
def test_a_cluster_that_gives_nobody_access(nodelint: Run, tmp_path: Path, text: str, count: int) -> None:
    found = find(nodelint, tmp_path, {"main.tf": text + CHART}, "creator-without-access")
    assert [("Unauthorized" in message) for _, message in found] == [True] * count


PROVIDER = (
    'resource "aws_iam_openid_connect_provider" "p" {\n  url = aws_eks_cluster.m.identity[0].oidc[0].issuer\n}\n'
)
IRSA = (
    'module "karpenter" {\n  source = "terraform-aws-modules/eks/aws//modules/karpenter"\n'
    "  irsa_oidc_provider_arn = %s\n}\n"
)
TRUST = (
    'resource "aws_iam_role" "c" {\n  assume_role_policy = jsonencode({\n    Statement = [{\n'
    '      Principal = { Federated = %s }\n      Condition = { StringEquals = { "%s:sub" = "a" } }\n    }]\n  })\n}\n'
)
DOCUMENT = (
    'data "aws_iam_policy_document" "c" {\n  statement {\n    principals {\n      type = "Federated"\n'
    "      identifiers = [%s]\n    }\n  }\n}\n"
)
ISSUER, ARN = "aws_eks_cluster.m.identity[0].oidc[0].issuer", "aws_iam_openid_connect_provider.p.arn"
KEY = '${replace(aws_iam_openid_connect_provider.p.url, "https://", "")}'


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (eks() + IRSA % "module.eks.cluster_oidc_issuer_url", ["not the ARN"]),
        (eks() + IRSA % "module.eks.oidc_provider_arn", []),
        (IRSA % "local.p" + f"locals {{\n  p = {ISSUER}\n}}\n", ["not the ARN"]),
        (PROVIDER + IRSA % ARN, []),
        (PROVIDER + TRUST % (ISSUER, KEY), ["not the ARN"]),
        (PROVIDER + TRUST % ("aws_iam_openid_connect_provider.p.url", KEY), ["not the ARN"]),
        (PROVIDER + TRUST % (ARN, KEY), []),
        (PROVIDER + TRUST % (ARN, f"${{{ARN}}}"), ["begins with an ARN"]),
        (PROVIDER + TRUST % (ARN, f"${{{ISSUER}}}"), ["begins with the URL"]),
        (eks() + TRUST % ("module.eks.oidc_provider_arn", "${module.eks.oidc_provider}"), []),
        (PROVIDER + DOCUMENT % ISSUER, ["not the ARN"]),
        (PROVIDER + DOCUMENT % ARN, []),
        (
            DOCUMENT
            % '"arn:aws:iam::1:oidc-provider/${replace(aws_eks_cluster.m.identity[0].oidc[0].issuer, "a", "")}"',
            [],
        ),
    ],
)
def test_an_issuer_in_the_place_of_its_provider(
    nodelint: Run, tmp_path: Path, text: str, messages: list[str]
) -> None:
    found = find(nodelint, tmp_path, {"main.tf": CHART + text}, "issuer-instead-of-provider")
    assert [part in text for part, (_, text) in zip(messages, found, strict=True)] == [True] * len(messages)


OTHER = 'resource "helm_release" "other" {\n  name  = "other"\n  chart = "other"\n  set {\n    name = "a"\n  }\n}\n'
OLD_PROVIDER = 'provider "helm" {\n  kubernetes {\n    host = "a"\n  }\n}\n'


def test_blocks_of_other_charts_and_of_the_provider(nodelint: Run, tmp_path: Path) -> None:
    files = {"main.tf": CHART, "providers.tf": OLD_PROVIDER, "other.tf": OTHER}
    found = find(nodelint, tmp_path / "bad", files, "helm-provider-blocks")
    assert [name for name, _ in found] == ["providers.tf"]  # one finding for the root module
    pinned = {**files, "versions.tf": OLD.replace("aws", "helm").replace("5.52.0", "~> 2.17")}
    assert find(nodelint, tmp_path / "pinned", pinned, "helm-provider-blocks") == []
    new = {**pinned, "providers.tf": OLD_PROVIDER.replace("kubernetes {", "kubernetes = {")}
    assert [name for name, _ in find(nodelint, tmp_path / "new", new, "helm-provider-blocks")] == ["providers.tf"]
    elsewhere = {"a/main.tf": CHART, "b/providers.tf": OLD_PROVIDER, "b/other.tf": OTHER}
    assert find(nodelint, tmp_path / "elsewhere", elsewhere, "helm-provider-blocks") == []


def test_a_module_that_is_gone_in_a_file_that_does_not_name_karpenter(nodelint: Run, tmp_path: Path) -> None:
    source = "terraform-aws-modules/iam/aws//modules/iam-role-for-service-accounts-eks"
    call = f'module "lb" {{\n  source = "{source}"\n}}\n'
    found = find(nodelint, tmp_path / "bad", ROOTS["neighbour"](call), "unknown-module-argument")
    assert [name for name, _ in found] == ["other.tf"]
    pinned = call.replace("}\n", '  version = "~> 5.0"\n}\n')
    assert find(nodelint, tmp_path / "good", ROOTS["neighbour"](pinned), "unknown-module-argument") == []


POLICY = (
    'resource "aws_iam_policy" "%s" {\n  policy = jsonencode({\n'
    '    Statement = [{ Effect = "Allow", %s = %s, Resource = "*" }]\n  })\n}\n'
)
ADMINISTRATOR = "arn:aws:iam::aws:policy/AdministratorAccess"
ROLE = 'resource "aws_iam_role" "%s" {\n  name = "%s"\n}\n'
ATTACHED = (
    'resource "aws_iam_role_policy_attachment" "a" {\n  role = aws_iam_role.%s.name\n'
    f'  policy_arn = "{ADMINISTRATOR}"\n}}\n'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (POLICY % ("karpenter", "Action", '"*"'), "the controller may do everything"),
        (POLICY % ("karpenter", "Action", '["*"]'), "the controller may do everything"),
        (POLICY % ("karpenter", "NotAction", '["iam:CreateUser"]'), "the controller may do everything"),
        (POLICY % ("ci", "Action", '"*"'), ""),
        (POLICY % ("karpenter", "Action", '["ec2:*", "iam:*"]'), "`iam:PassRole` is allowed"),
        (POLICY % ("karpenter", "Action", '"ec2:DescribeInstances"'), ""),
        (ROLE % ("karpenter", "karpenter") + ATTACHED % "karpenter", "the controller may do everything"),
        (ROLE % ("karpenter_node", "nodes") + ATTACHED % "karpenter_node", "every pod"),
        (ROLE % ("ci", "ci") + ATTACHED % "ci", ""),
        (
            'module "karpenter" {\n  source = "terraform-aws-modules/eks/aws//modules/karpenter"\n'
            f'  node_iam_role_additional_policies = {{\n    a = "{ADMINISTRATOR}"\n  }}\n}}\n',
            "every pod",
        ),
    ],
)
def test_roles_of_karpenter_that_may_do_everything(nodelint: Run, tmp_path: Path, text: str, message: str) -> None:
    found = find(nodelint, tmp_path, {"main.tf": CHART + text}, "wide-controller-policy")
    assert [message in text for _, text in found] == [True] * bool(message)


SUBNET = (
    'resource "aws_subnet" "%s" {\n  vpc_id = aws_vpc.m.id\n%s'
    '  tags = {\n    "karpenter.sh/discovery" = "main"\n  }\n}\n'
)
GIVES = "  map_public_ip_on_launch = true\n"
ROUTE = (
    'resource "aws_route_table_association" "a" {\n  subnet_id = aws_subnet.a.id\n'
    "  route_table_id = aws_route_table.r.id\n}\n"
    'resource "aws_route_table" "r" {\n  route {\n    gateway_id = aws_internet_gateway.g.id\n  }\n}\n'
)
TAG = (
    'resource "aws_ec2_tag" "t" {\n  for_each = toset(%s)\n  resource_id = each.value\n'
    '  key = "karpenter.sh/discovery"\n  value = "main"\n}\n'
)
VPC = (
    'module "vpc" {\n  source = "terraform-aws-modules/vpc/aws"\n  public_subnets = ["10.0.0.0/20"]\n'
    '%s  %s_subnet_tags = { "karpenter.sh/discovery" = "main" }\n}\n'
)
PRIVATE = '  private_subnets = ["10.0.128.0/20"]\n'


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (SUBNET % ("a", GIVES) + SUBNET % ("b", ""), 1),
        (SUBNET % ("a", "") + SUBNET % ("b", "") + ROUTE, 1),
        (SUBNET % ("a", "") + SUBNET % ("b", ""), 0),
        (SUBNET % ("a", GIVES), 0),
        (VPC % (PRIVATE, "public"), 0),
        (VPC % (f'{PRIVATE}  private_subnet_tags = {{ "karpenter.sh/discovery" = "main" }}\n', "public"), 1),
        (VPC % (PRIVATE, "private"), 0),
        (VPC % ("", "public"), 0),
        (VPC % (f'{PRIVATE}  private_subnet_tags = {{ "karpenter.sh/discovery" = "other" }}\n', "public"), 0),
        (VPC % (PRIVATE, "private") + TAG % "module.vpc.public_subnets", 1),
        (VPC % (PRIVATE, "private") + TAG % "module.vpc.private_subnets", 0),
    ],
)
def test_the_discovery_tag_on_public_subnets(nodelint: Run, tmp_path: Path, text: str, count: int) -> None:
    for name, tags, expected in (
        ("alone", DISCOVERY, count),
        ("narrow", f'{DISCOVERY}, kubernetes.io/role/internal-elb: "1"', 0),
    ):
        files = {"main.tf": text, "class.yaml": CLASS.replace("TAGS", tags)}
        assert len(find(nodelint, tmp_path / name, files, "public-subnet-tag")) == expected


GROUP = 'resource "aws_eks_node_group" "%s" {\n  cluster_name = "main"\n%s}\n'
SPOT = '  capacity_type = "SPOT"\n'


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (GROUP % ("a", SPOT), 1),
        (GROUP % ("a", SPOT) + GROUP % ("b", ""), 0),
        (GROUP % ("a", SPOT) + 'resource "aws_eks_fargate_profile" "f" {\n}\n', 0),
        (GROUP % ("a", "  capacity_type = var.c\n") + 'variable "c" {\n  default = "SPOT"\n}\n', 1),
        (GROUP % ("a", "  capacity_type = var.c\n") + 'variable "c" {}\n', 0),
        (eks('  eks_managed_node_groups = {\n    a = { capacity_type = "SPOT" }\n  }\n'), 1),
        (eks('  eks_managed_node_groups = {\n    a = { capacity_type = "SPOT" }\n    b = {}\n  }\n'), 0),
        (eks("  eks_managed_node_groups = var.groups\n"), 0),
    ],
)
def test_a_controller_with_spot_nodes_alone(nodelint: Run, tmp_path: Path, text: str, count: int) -> None:
    assert len(find(nodelint, tmp_path, {"main.tf": CHART + text}, "controller-on-spot")) == count


FORMER = {
    "set": 'resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  chart = "karpenter"\n'
    '  version = "1.8.1"\n  set = [{{\n    name = "settings.{0}"\n    value = "q"\n  }}]\n}}\n',
    "values": 'resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  chart = "karpenter"\n'
    '  version = "1.8.1"\n  values = [<<-YAML\n    settings:\n      {0}: q\n  YAML\n  ]\n}}\n',
}


@pytest.mark.parametrize("form", FORMER)
def test_a_queue_below_the_key_of_old_charts(nodelint: Run, tmp_path: Path, form: str) -> None:
    written = "aws.interruptionQueueName" if form == "set" else "aws:\n        interruptionQueueName"
    write_files(tmp_path, {"main.tf": FORMER[form].format(written)})
    done = nodelint("check", str(tmp_path), "--select", "unread-chart-value,no-interruption-queue").stdout
    assert "`settings.aws.interruptionQueueName`" in done and "write `settings.interruptionQueue`" in done
    assert done.count("warning[") == 1
    write_files(tmp_path, {"main.tf": FORMER[form].format("interruptionQueue")})
    assert "warning[" not in nodelint("check", str(tmp_path), "--select", "unread-chart-value").stdout


PASSING = (
    'resource "aws_iam_role" "nodes" {\n  name = "main-nodes"\n}\n'
    'resource "aws_iam_role" "other" {\n  name = "o"\n}\n'
    'resource "aws_iam_policy" "karpenter" {\n  policy = jsonencode({\n    Statement = [\n'
    '      { Effect = "Allow", Action = "ec2:CreateFleet", Resource = "*" },\n'
    '      { Effect = "Allow", Action = "iam:PassRole", Resource = %s },\n    ]\n  })\n}\n'
)


@pytest.mark.parametrize(
    ("resource", "count"),
    [
        ("aws_iam_role.other.arn", 1),
        ("[aws_iam_role.other.arn]", 1),
        ('"arn:aws:iam::111122223333:role/KarpenterNodeRole-main"', 1),
        ("aws_iam_role.nodes.arn", 0),
        ("[aws_iam_role.other.arn, aws_iam_role.nodes.arn]", 0),
        ('"arn:aws:iam::111122223333:role/main-nodes"', 0),
        ('"arn:aws:iam::111122223333:role/main-*"', 0),
        ('"arn:aws:iam::${var.account}:role/${var.name}"', 0),
        ("var.role", 0),
        ('"*"', 0),
    ],
)
def test_a_role_that_the_controller_may_not_pass(nodelint: Run, tmp_path: Path, resource: str, count: int) -> None:
    for name, role in (("name", "main-nodes"), ("unknown", "of-another-repository")):
        node_class = CLASS.replace("TAGS", DISCOVERY).replace("karpenter-nodes", role)
        files = {"main.tf": PASSING % resource, "class.yaml": node_class}
        found = find(nodelint, tmp_path / name, files, "passed-role")
        assert len(found) == (count if name == "name" else 0)


QUEUE = 'resource "aws_sqs_queue" "%s" {\n  name = "q"\n%s}\n'
TARGET = (
    'resource "aws_cloudwatch_event_target" "spot" {\n  rule = aws_cloudwatch_event_rule.spot.name\n'
    "  arn = %s\n}\n"
    'resource "aws_cloudwatch_event_rule" "spot" {\n'
    '  event_pattern = "{\\"detail-type\\": [\\"EC2 Spot Instance Interruption Warning\\"]}"\n}\n'
)
QUEUE_POLICY = 'resource "aws_sqs_queue_policy" "q" {\n  queue_url = %s\n  policy = "{}"\n}\n'
OWN = "aws_sqs_queue.karpenter.arn"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (QUEUE % ("karpenter", ""), "no EventBridge rule"),
        (QUEUE % ("karpenter", "") + QUEUE_POLICY % "aws_sqs_queue.karpenter.id", "no EventBridge rule"),
        (QUEUE % ("karpenter", "") + TARGET % OWN, "has no policy"),
        (QUEUE % ("karpenter", "") + TARGET % OWN + QUEUE_POLICY % "aws_sqs_queue.karpenter.url", ""),
        (QUEUE % ("karpenter", '  policy = "{}"\n') + TARGET % OWN, ""),
        (QUEUE % ("karpenter", "") + TARGET % OWN + QUEUE_POLICY % "var.queue", ""),
        (QUEUE % ("karpenter", "") + TARGET % "var.queue" + QUEUE_POLICY % "aws_sqs_queue.karpenter.id", ""),
        (QUEUE % ("karpenter_dlq", ""), ""),
        (QUEUE % ("orders", ""), ""),
        (QUEUE % ("karpenter", "") + f'output "queue" {{\n  value = {OWN}\n}}\n', ""),
        (QUEUE % ("karpenter", "") + f'module "events" {{\n  source = "./x"\n  queue  = {OWN}\n}}\n', ""),
        (
            QUEUE % ("karpenter", "") + 'output "queue" {\n  value = aws_sqs_queue.karpenter.name\n}\n',
            "no EventBridge rule",
        ),
    ],
)
def test_a_queue_that_gets_no_events(nodelint: Run, tmp_path: Path, text: str, message: str) -> None:
    found = find(nodelint, tmp_path, {"main.tf": CHART + text}, "queue-without-events")
    assert [message in text for _, text in found] == [True] * bool(message)


AUTO_MODE = {
    "main.tf": """\
variable "cluster" {}
resource "kubectl_manifest" "class" {
  yaml_body = yamlencode({
    apiVersion = "eks.amazonaws.com/v1"
    kind       = "NodeClass"
    metadata   = { name = "dev" }
    spec       = { role = "nodes-${var.cluster}" }
  })
}
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", { class = "dev" })
}
""",
    "prod.tfvars": 'cluster = "prod"\n',
    "pool.yaml.tftpl": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: system}
spec:
  template:
    spec:
      nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: "${class}"}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
""",
    "other/class.yaml": """\
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
metadata: {name: gpu}
spec: {role: nodes}
""",
}


def test_a_class_beside_a_call_of_a_template_is_found_without_the_defaults_too(
    nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **AUTO_MODE})
    assert "unknown-node-class" not in nodelint("check", "--format", "concise").stdout
