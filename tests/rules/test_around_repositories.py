"""Repositories that make a whole cluster: one slip around Karpenter's objects is found, and its twin is not."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import ClassVar

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

VERSIONS = """\
terraform {
  required_providers {
    aws     = { source = "hashicorp/aws", version = "~> 6.0" }
    kubectl = { source = "alekc/kubectl", version = "~> 2.0" }
  }
}
"""
CLUSTER = """\
module "vpc" {
  source             = "terraform-aws-modules/vpc/aws"
  version            = "6.6.0"
  name               = "main"
  private_subnets    = ["10.0.0.0/20", "10.0.16.0/20"]
  public_subnets     = ["10.0.48.0/24", "10.0.49.0/24"]
  enable_nat_gateway = true
  private_subnet_tags = { "karpenter.sh/discovery" = "main" }
}
module "eks" {
  source             = "terraform-aws-modules/eks/aws"
  version            = "21.9.0"
  name               = "main"
  vpc_id             = module.vpc.vpc_id
  subnet_ids         = module.vpc.private_subnets
  addons = { coredns = {}, kube-proxy = {}, vpc-cni = {}, eks-pod-identity-agent = {} }
  eks_managed_node_groups = { system = { min_size = 2, max_size = 3, desired_size = 2 } }
  node_security_group_tags = { "karpenter.sh/discovery" = "main" }
}
"""
MODULE = """\
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "21.9.0"
  cluster_name = module.eks.cluster_name
}
"""
CHART = """\
resource "helm_release" "karpenter" {
  namespace  = "kube-system"
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.3"
  values     = [yamlencode({ settings = { clusterName = module.eks.cluster_name, interruptionQueue = QUEUE } })]
}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: karpenter-nodes
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter, namespace: argocd}
spec:
  project: default
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.14.3
    helm:
      valuesObject:
        settings: {clusterName: main, interruptionQueue: Karpenter-main}
  destination: {server: https://kubernetes.default.svc, namespace: kube-system}
"""
ROLE = """\
resource "aws_iam_role" "nodes" {
  name = "karpenter-nodes"
  assume_role_policy = jsonencode({
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
resource "aws_iam_role_policy_attachment" "nodes" {
  for_each   = toset(["AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryPullOnly"])
  role       = aws_iam_role.nodes.name
  policy_arn = "arn:aws:iam::aws:policy/${each.value}"
}
"""
PROFILE = 'resource "aws_iam_instance_profile" "karpenter" {\n  name = "%s"\n  role = aws_iam_role.nodes.name\n}\n'
IRSA = """\
resource "aws_iam_role" "karpenter" {
  name = "karpenter"
  assume_role_policy = jsonencode({
    Statement = [{
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = { Federated = module.eks.oidc_provider_arn }
      Condition = {
        StringEquals = { "${module.eks.oidc_provider}:sub" = "system:serviceaccount:kube-system:karpenter" }
      }
    }]
  })
}
"""
GROUP = """\
resource "aws_security_group" "nodes" {
  vpc_id = module.vpc.vpc_id
  tags   = { "karpenter.sh/discovery" = "main" }
  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
  }
}
"""
AUTH = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: aws-auth, namespace: kube-system}
data:
  mapRoles: |
    - rolearn: ARN
      username: system:node:{{EC2PrivateDNSName}}
      groups: [system:bootstrappers, system:nodes]
"""
QUEUE = """\
resource "aws_sqs_queue" "karpenter" { name = "karpenter-main" }
resource "aws_sqs_queue_policy" "karpenter" {
  queue_url = aws_sqs_queue.karpenter.url
  policy = jsonencode({ Statement = [{
    Effect = "Allow", Action = "sqs:SendMessage", Resource = aws_sqs_queue.karpenter.arn
    Principal = { Service = ["events.amazonaws.com"] }
  }] })
}
resource "aws_cloudwatch_event_rule" "spot" {
  event_pattern = jsonencode({ source = ["aws.ec2"], detail-type = ["EC2 Spot Instance Interruption Warning"] })
}
"""
TARGET = """\
resource "aws_cloudwatch_event_target" "spot" {
  rule = aws_cloudwatch_event_rule.spot.name
  arn  = aws_sqs_queue.karpenter.arn
}
"""
RELEASES = {
    "terraform": ("karpenter.tf", CHART, 'version    = "1.14.3"', ('version    = ">= 1.14.0"', "wait       = true")),
    "argocd": ("app.yaml", APPLICATION, "targetRevision: 1.14.3", ('targetRevision: "*"', 'targetRevision: "1.x"')),
    "flux": (
        "release.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: karpenter, namespace: kube-system}\nspec:\n  chart:\n    spec:\n"
        "      chart: karpenter\n      version: 1.14.3\n"
        "      sourceRef: {kind: HelmRepository, name: karpenter}\n  values: {settings: {clusterName: main}}\n",
        "version: 1.14.3",
        ('version: "^1.14.0"', "interval: 1h"),
    ),
    "helmfile": (
        "helmfile.yaml",
        "releases:\n  - name: karpenter\n    namespace: kube-system\n"
        "    chart: oci://public.ecr.aws/karpenter/karpenter\n    version: 1.14.3\n"
        "    values: [{settings: {clusterName: main}}]\n",
        "version: 1.14.3",
        ("wait: true",),
    ),
}
"""For each form: a file that installs the chart, its version, and texts in place of the version that pin nothing."""


def check(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[str]:
    """Return the messages of a rule over the files of a repository, each after its severity."""
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)
    return [f"{finding['severity']}: {finding['message']}" for finding in found["findings"]]


def chart(queue: str = "module.karpenter.queue_name") -> str:
    return CHART.replace("QUEUE", queue)


class TestProviders:
    """An address that the registry does not have, in the root module and in a module that it calls."""

    MANIFEST = 'resource "kubectl_manifest" "karpenter" {\n  yaml_body = file("karpenter.yaml")\n}\n'

    @pytest.mark.parametrize(
        ("address", "count"),
        [("alekc/kubectl", 0), ("ourcompany/kubectl", 0), ("hashicorp/kubectl", 1), ("gavinbunny/kubectl", 1)],
    )
    def test_address(self, nodelint: Run, tmp_path: Path, address: str, count: int) -> None:
        files = {"versions.tf": VERSIONS.replace("alekc/kubectl", address), "main.tf": self.MANIFEST}
        assert len(check(nodelint, tmp_path, {**files, "karpenter.yaml": CLASS}, "missing-provider")) == count

    @pytest.mark.parametrize("requires", [True, False])
    def test_a_called_module_needs_an_entry_of_its_own(self, nodelint: Run, tmp_path: Path, requires: bool) -> None:
        files = {
            "main.tf": VERSIONS + 'module "pools" {\n  source = "./karpenter"\n}\n',
            "karpenter/main.tf": (VERSIONS if requires else "") + self.MANIFEST,
            "karpenter/karpenter.yaml": CLASS,
        }
        found = check(nodelint, tmp_path, files, "missing-provider")
        assert len(found) == (0 if requires else 1)

    @pytest.mark.parametrize("generated", ["versions.tf.json", "terragrunt.hcl"])
    def test_a_generated_entry_may_be_there(self, nodelint: Run, tmp_path: Path, generated: str) -> None:
        files = {
            "main.tf": self.MANIFEST + 'provider "kubectl" {\n}\n',
            "class.yaml": CLASS,
            generated: '{"terraform": {"required_providers": {"kubectl": {"source": "alekc/kubectl"}}}}'
            if generated.endswith("json")
            else 'generate "versions" {\n  path = "versions.tf"\n}\n',
        }
        assert check(nodelint, tmp_path, files, "missing-provider") == []


class TestChartVersions:
    @pytest.mark.parametrize("form", RELEASES)
    def test_a_range_and_no_version(self, nodelint: Run, tmp_path: Path, form: str) -> None:
        path, text, pinned, others = RELEASES[form]
        text = text.replace("QUEUE", '"main"')
        for n, other in enumerate(others):
            found = check(nodelint, tmp_path / str(n), {path: text.replace(pinned, other)}, "unpinned-chart")
            assert len(found) == 1, other
        for n, same in enumerate((pinned, pinned.replace("1.14.3", "1.14.x"), pinned.replace("1.14.3", "~1.14.0"))):
            assert check(nodelint, tmp_path / f"good{n}", {path: text.replace(pinned, same)}, "unpinned-chart") == []

    @pytest.mark.parametrize(
        ("written", "count"),
        [
            ("public.ecr.aws/karpenter", 0),
            ("oci://public.ecr.aws/karpenter/karpenter", 0),
            ("oci://public.ecr.aws/karpenter", 1),
        ],
    )
    def test_the_address_that_argocd_takes(self, nodelint: Run, tmp_path: Path, written: str, count: int) -> None:
        text = APPLICATION.replace("repoURL: public.ecr.aws/karpenter", f"repoURL: {written}")
        files = {"app.yaml": text, "chart.tf": chart('"main"')}  # a helm_release needs the prefix
        assert len(check(nodelint, tmp_path, files, "chart-not-found")) == count


@pytest.mark.parametrize(
    ("queue", "count"),
    [("module.karpenter.queue_name", 0), ('"Karpenter-main"', 0), ('"main"', 1), ("module.eks.cluster_name", 1)],
)
def test_a_queue_of_another_name(nodelint: Run, tmp_path: Path, queue: str, count: int) -> None:
    files = {"main.tf": CLUSTER + MODULE, "karpenter.tf": chart(queue)}
    assert len(check(nodelint, tmp_path, files, "queue-of-another-name")) == count


@pytest.mark.parametrize(
    ("queue", "count"), [('"q-${var.env}"', 0), ('"p-${var.env}"', 1), ('"p-${var.other}"', 0), ('"p-main"', 1)]
)
def test_a_queue_whose_name_has_a_variable_without_a_value(
    nodelint: Run, tmp_path: Path, queue: str, count: int
) -> None:
    module = MODULE.replace("cluster_name =", 'queue_name = "q-${var.env}"\n  cluster_name =')
    files = {"main.tf": CLUSTER + module, "karpenter.tf": chart(queue)}
    assert len(check(nodelint, tmp_path, files, "queue-of-another-name")) == count


@pytest.mark.parametrize(("name", "count"), [("Karpenter-main", 0), ("main", 1)])
def test_a_queue_of_another_name_in_argocd(nodelint: Run, tmp_path: Path, name: str, count: int) -> None:
    files = {"main.tf": CLUSTER + MODULE, "app.yaml": APPLICATION.replace("Karpenter-main", name)}
    assert len(check(nodelint, tmp_path, files, "queue-of-another-name")) == count


class TestProfiles:
    def test_the_name_of_a_role(self, nodelint: Run, tmp_path: Path) -> None:
        files = {"main.tf": CLUSTER + ROLE, "class.yaml": CLASS.replace("role:", "instanceProfile:")}
        assert len(check(nodelint, tmp_path, files, "controller-role-on-nodes")) == 1
        files["main.tf"] += PROFILE % "karpenter-nodes"
        assert check(nodelint, tmp_path, files, "controller-role-on-nodes") == []

    @pytest.mark.parametrize(
        ("name", "count"), [("KarpenterProfile", 0), ("${var.name}Profile", 0), ("main-nodes", 1)]
    )
    def test_another_name(self, nodelint: Run, tmp_path: Path, name: str, count: int) -> None:
        files = {
            "main.tf": CLUSTER + ROLE + PROFILE % name,
            "class.yaml": CLASS.replace("role: karpenter-nodes", "instanceProfile: KarpenterProfile"),
        }
        assert len(check(nodelint, tmp_path, files, "role-of-another-name")) == count

    @pytest.mark.parametrize(("role", "count"), [("nodes", 0), ("karpenter", 1)])
    def test_of_the_controller(self, nodelint: Run, tmp_path: Path, role: str, count: int) -> None:
        profile = (PROFILE % "karpenter-nodes").replace("aws_iam_role.nodes", f"aws_iam_role.{role}")
        files = {
            "main.tf": CLUSTER + ROLE + IRSA + profile,
            "class.yaml": CLASS.replace("role:", "instanceProfile:"),
        }
        assert len(check(nodelint, tmp_path, files, "controller-role-on-nodes")) == count


@pytest.mark.parametrize(
    ("lacking", "count"), [("", 0), ('"AmazonEKS_CNI_Policy", ', 1), ('"AmazonEKSWorkerNodePolicy", ', 1)]
)
def test_policies_by_their_names(nodelint: Run, tmp_path: Path, lacking: str, count: int) -> None:
    """The ARN holds `${each.value}`, and the items are names of policies."""
    files = {"main.tf": CLUSTER + ROLE.replace(lacking, ""), "class.yaml": CLASS}
    assert len(check(nodelint, tmp_path, files, "node-role-policies")) == count


class TestIrsa:
    @pytest.mark.parametrize("annotated", [True, False])
    def test_the_annotation(self, nodelint: Run, tmp_path: Path, annotated: bool) -> None:
        account = 'serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = aws_iam_role.karpenter.arn } }'
        text = chart('"main"').replace("settings =", f"{account}\n  settings =" if annotated else "settings =")
        found = check(nodelint, tmp_path, {"main.tf": CLUSTER + IRSA + text}, "controller-without-credentials")
        assert len(found) == (0 if annotated else 1)

    EC2 = 'Principal = { Service = "ec2.amazonaws.com" }'
    DOCUMENT = """\
data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com"]
    }
  }
}
resource "aws_iam_role" "karpenter" { assume_role_policy = data.aws_iam_policy_document.trust.json }
"""

    ARN = "aws_iam_role.karpenter.arn"
    ESCAPED = "serviceAccount.annotations.eks\\\\.amazonaws\\\\.com/role-arn"
    GIVEN: ClassVar[dict[str, str]] = {
        "set": f'set {{\n    name  = "{ESCAPED}"\n    value = {ARN}\n  }}',
        "values": "values = [yamlencode({ serviceAccount = { annotations = {"
        f' "eks.amazonaws.com/role-arn" = {ARN} }} }} }})]',
        "heredoc": "values = [<<-E\n    serviceAccount:\n      annotations:\n"
        f"        eks.amazonaws.com/role-arn: ${{{ARN}}}\n  E\n  ]",
    }

    @pytest.mark.parametrize("form", GIVEN)
    @pytest.mark.parametrize(
        ("role", "count"),
        [
            (ROLE.replace('"nodes"', '"karpenter"'), 1),
            (ROLE.replace('"nodes"', '"karpenter"').replace('name = "', 'name = "${var.name}-'), 1),
            (DOCUMENT, 1),
            (IRSA, 0),
            (IRSA.replace("Statement = [{", f"Statement = [{{ {EC2} }}, {{"), 0),
            (DOCUMENT.replace('"ec2.amazonaws.com"', "var.service"), 0),
        ],
    )
    def test_the_trust(self, nodelint: Run, tmp_path: Path, form: str, role: str, count: int) -> None:
        given = self.GIVEN[form]
        text = CHART[: CHART.index("  values")] + f"  {given}\n}}\n"
        files = {"main.tf": CLUSTER + role + text}
        assert len(check(nodelint, tmp_path, files, "controller-without-credentials")) == count

    @pytest.mark.parametrize(
        ("old", "new", "count"),
        [
            ("", "", 1),
            ("policy_arn", "policy_arn = aws_iam_policy.karpenter.arn #", 0),
            (f"value = {ARN}", "value = var.role_arn", 0),
            ("AmazonEKSWorkerNodePolicy", "AdministratorAccess", 0),
        ],
    )
    def test_the_policies(self, nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
        attachment = (
            'resource "aws_iam_role_policy_attachment" "a" {\n  role       = aws_iam_role.karpenter.name\n'
            '  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"\n}\n'
        )
        text = CHART[: CHART.index("  values")] + f"  {self.GIVEN['set']}\n}}\n"
        files = {"main.tf": CLUSTER, "karpenter.tf": (self.DOCUMENT + attachment + text).replace(old, new)}
        assert len(check(nodelint, tmp_path, files, "controller-permissions")) == count

    @pytest.mark.parametrize(
        "other",
        [
            'resource "aws_eks_pod_identity_association" "a" {\n  service_account = "karpenter"\n}\n',
            'resource "kubernetes_annotations" "a" {\n  annotations = { "eks.amazonaws.com/role-arn" = "x" }\n}\n',
        ],
    )
    def test_another_way(self, nodelint: Run, tmp_path: Path, other: str) -> None:
        files = {"main.tf": CLUSTER + IRSA + chart('"main"') + other}
        assert not any(
            "annotation" in text for text in check(nodelint, tmp_path, files, "controller-without-credentials")
        )


class TestGroups:
    """A security group for nodes that admits only its own members."""

    UNTAGGED = CLUSTER.replace('  node_security_group_tags = { "karpenter.sh/discovery" = "main" }\n', "")

    @pytest.mark.parametrize(
        ("old", "new", "count"),
        [
            ("", "", 1),
            ("self      = true", "self      = true\n    cidr_blocks = []", 1),
            ("self      = true", 'cidr_blocks = ["10.0.0.0/16"]', 0),
            ("self      = true", "self = true\n    security_groups = [module.eks.cluster_security_group_id]", 0),
        ],
    )
    def test_rules(self, nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
        files = {"main.tf": self.UNTAGGED, "group.tf": GROUP.replace(old, new), "class.yaml": CLASS}
        assert len(check(nodelint, tmp_path, files, "closed-security-group")) == count

    @pytest.mark.parametrize(
        "more",
        [
            'resource "aws_vpc_security_group_ingress_rule" "a" {\n  security_group_id = "sg-1"\n}\n',
            'resource "aws_eks_cluster" "b" {\n  vpc_config {\n    security_group_ids = ["sg-1"]\n  }\n}\n',
        ],
    )
    def test_further_rules_and_a_group_of_the_cluster(self, nodelint: Run, tmp_path: Path, more: str) -> None:
        files = {"main.tf": self.UNTAGGED, "group.tf": GROUP + more, "class.yaml": CLASS}
        assert check(nodelint, tmp_path, files, "closed-security-group") == []


@pytest.mark.parametrize(
    ("arn", "count"),
    [
        ("arn:aws:iam::111122223333:role/karpenter-nodes", 0),
        ("arn:aws:iam::111122223333:role/platform/karpenter-nodes", 1),
        ("arn:aws:iam::111122223333:instance-profile/karpenter-nodes", 1),
        (
            "arn:aws:iam::111122223333:role/platform/karpenter-nodes\n"
            "    - rolearn: arn:aws:iam::111122223333:role/karpenter-nodes",
            0,
        ),
    ],
)
def test_rows_of_aws_auth(nodelint: Run, tmp_path: Path, arn: str, count: int) -> None:
    found = check(nodelint, tmp_path, {"auth.yaml": AUTH.replace("ARN", arn)}, "unmatched-aws-auth-row")
    assert len(found) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("", "", 0),
        (TARGET, "", 1),
        ("events.amazonaws.com", "sqs.amazonaws.com", 1),
        ('["events', '["health.amazonaws.com", "events', 0),
    ],
)
def test_queue_without_events(nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
    files = {"main.tf": CLUSTER + QUEUE + TARGET, "class.yaml": CLASS}
    files["main.tf"] = files["main.tf"].replace(old, new)
    assert len(check(nodelint, tmp_path, files, "queue-without-events")) == count


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("", "", 0),
        ("private_subnet_tags", "public_subnet_tags", 1),
        ("private_subnet_tags", "map_public_ip_on_launch = true\n  public_subnet_tags", 0),
        ('"6.6.0"', '"3.0.0"', 0),
    ],
)
def test_public_subnets_alone(nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
    text = CLUSTER.replace(old, new)
    if old == '"6.6.0"':
        text = text.replace("private_subnet_tags", "public_subnet_tags")
    assert len(check(nodelint, tmp_path, {"main.tf": text, "class.yaml": CLASS}, "public-subnet-tag")) == count


def test_a_folder_without_the_word_karpenter(nodelint: Run, tmp_path: Path) -> None:
    """The VPC and the cluster are in a folder of their own, which names neither Karpenter nor a version."""
    text = CLUSTER.replace('  private_subnet_tags = { "karpenter.sh/discovery" = "main" }\n', "")
    text = text.replace('  node_security_group_tags = { "karpenter.sh/discovery" = "main" }\n', "")
    files = {"infra/main.tf": text, "k8s/class.yaml": CLASS}
    assert len(check(nodelint, tmp_path, files, "missing-discovery-tag")) == 2


class TestJsonSyntax:
    """Rules about blocks read `.tf.json` as well."""

    MODULES: ClassVar[dict[str, dict[str, object]]] = {
        "vpc": {
            "source": "terraform-aws-modules/vpc/aws",
            "version": "6.6.0",
            "private_subnets": ["10.0.0.0/20"],
            "enable_nat_gateway": True,
            "private_subnet_tags": {"karpenter.sh/discovery": "main"},
        },
        "eks": {
            "source": "terraform-aws-modules/eks/aws",
            "version": "21.9.0",
            "name": "main",
            "node_security_group_tags": {"karpenter.sh/discovery": "main"},
        },
        "karpenter": {
            "source": "terraform-aws-modules/eks/aws//modules/karpenter",
            "version": "21.9.0",
            "cluster_name": "${module.eks.cluster_name}",
            "node_iam_role_name": "karpenter-nodes",
            "node_iam_role_use_name_prefix": False,
        },
    }

    def check(self, nodelint: Run, folder: Path, rule: str, **changes: Mapping[str, object]) -> list[str]:
        modules = {name: {**given, **changes.get(name, {})} for name, given in self.MODULES.items()}
        files = {"main.tf.json": json.dumps({"module": modules}, indent=2), "class.yaml": CLASS}
        return check(nodelint, folder, files, rule)

    def test_tags(self, nodelint: Run, tmp_path: Path) -> None:
        assert self.check(nodelint, tmp_path, "missing-discovery-tag") == []
        assert len(self.check(nodelint, tmp_path, "missing-discovery-tag", vpc={"private_subnet_tags": {}})) == 1

    def test_names_of_roles(self, nodelint: Run, tmp_path: Path) -> None:
        assert self.check(nodelint, tmp_path, "role-of-another-name") == []
        assert len(self.check(nodelint, tmp_path, "role-of-another-name", karpenter={"node_iam_role_name": "x"})) == 1

    @pytest.mark.parametrize(("kind", "count"), [("EC2_LINUX", 0), ("STANDARD", 1)])
    def test_access_entries(self, nodelint: Run, tmp_path: Path, kind: str, count: int) -> None:
        resources = {
            "aws_iam_role": {"nodes": {"name": "karpenter-nodes"}},
            "aws_eks_access_entry": {
                "nodes": {"cluster_name": "main", "principal_arn": "${aws_iam_role.nodes.arn}", "type": kind}
            },
        }
        text = json.dumps({"module": {"eks": self.MODULES["eks"]}, "resource": resources}, indent=2)
        files = {"main.tf.json": text, "class.yaml": CLASS}
        assert len(check(nodelint, tmp_path, files, "node-role-without-access")) == count

    @pytest.mark.parametrize("text", ["{", "[]", '{"resource": []}', '{"module": {"a": 1}, "resource": {"a": "b"}}'])
    def test_other_contents(self, nodelint: Run, tmp_path: Path, text: str) -> None:
        """A file that is no configuration says nothing."""
        assert (
            check(nodelint, tmp_path, {"main.tf.json": text, "class.yaml": CLASS}, "node-role-without-access") == []
        )


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("", "", 1),
        ("desired_size = 2", 'desired_size = 2, labels = { role = "general" }', 0),
        ("role =", '"kubernetes.io/os" =', 0),
    ],
)
def test_a_node_selector_that_no_group_meets(nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
    text = chart('"main"').replace("settings =", 'nodeSelector = { role = "general" }\n  settings =')
    files = {"main.tf": (CLUSTER + text).replace(old, new)}
    assert len(check(nodelint, tmp_path, files, "controller-without-node")) == count


@pytest.mark.parametrize(("quote", "count"), [('"', 0), ("'", 1)])
def test_escaped_dots_in_a_script(nodelint: Run, tmp_path: Path, quote: str, count: int) -> None:
    r"""Between double quotes, the shell turns `\\.` into `\.`."""
    text = (
        "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.3 "
        rf"--set {quote}serviceAccount.annotations.eks\\.amazonaws\\.com/role-arn=arn:aws:iam::1:role/x{quote}"
    )
    files = {"install.sh": f"#!/bin/sh\n{text}\n", "class.yaml": CLASS}
    assert len(check(nodelint, tmp_path, files, "unread-chart-value")) == count


VPC = """\
resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "private" {
  vpc_id     = aws_vpc.main.id
  cidr_block = "10.0.0.0/20"
}
"""


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 1),
        ('resource "aws_route_table" "private" {\n  vpc_id = aws_vpc.main.id\n}\n', 0),
        ('resource "aws_vpc_endpoint" "s3" {\n  vpc_id = aws_vpc.main.id\n}\n', 0),
        ('module "routes" {\n  source = "example/routes/aws"\n}\n', 0),
        ('resource "aws_vpc" "other" {\n  cidr_block = "10.1.0.0/16"\n}\n', 0),
    ],
)
def test_a_vpc_without_routes(nodelint: Run, tmp_path: Path, more: str, count: int) -> None:
    cluster = CLUSTER[CLUSTER.index('module "eks"') :]
    files = {"main.tf": VPC + cluster + more, "class.yaml": CLASS}
    assert len(check(nodelint, tmp_path, files, "subnets-without-route")) == count


@pytest.mark.parametrize(("name", "count"), [("main", 1), ("other", 0)])
def test_a_class_that_names_the_cluster_in_one_term(nodelint: Run, tmp_path: Path, name: str, count: int) -> None:
    """The subnets are selected by the name of the project, and no subnet has the tag."""
    text = CLUSTER.replace('  private_subnet_tags = { "karpenter.sh/discovery" = "main" }\n', "")
    pair = CLASS.replace("main}}]\n  securityGroup", "project}}]\n  securityGroup").replace(": main", f": {name}")
    helper = 'module "tools" {\n  source = "./tools"\n}\n'
    files = {"infra/main.tf": text + helper, "infra/tools/main.tf": 'resource "aws_ecr_repository" "a" {\n}\n'}
    found = check(nodelint, tmp_path, {**files, "k8s/class.yaml": pair}, "missing-discovery-tag")
    assert len(found) == count


@pytest.mark.parametrize(
    ("taints", "values", "count"),
    [
        ('taints = { a = { key = "CriticalAddonsOnly", effect = "NO_SCHEDULE" } }', "{}", 1),
        ('taints = { a = { key = "CriticalAddonsOnly", effect = "PREFER_NO_SCHEDULE" } }', "{}", 0),
        ('taints = { a = { key = "CriticalAddonsOnly", effect = "NO_SCHEDULE" } }', "{ tolerations = [] }", 0),
        ("labels = {}", "{}", 0),
    ],
)
def test_argocd_that_installs_karpenter(nodelint: Run, tmp_path: Path, taints: str, values: str, count: int) -> None:
    """If Argo CD has no node, nothing installs Karpenter, which would launch one."""
    release = 'resource "helm_release" "argocd" {\n  chart  = "argo-cd"\n  values = [yamlencode(VALUES)]\n}\n'
    cluster = CLUSTER.replace("desired_size = 2", f"desired_size = 2, {taints}")
    text = cluster + MODULE + release.replace("VALUES", values)
    files = {"main.tf": text, "app.yaml": APPLICATION}
    assert len(check(nodelint, tmp_path, files, "controller-without-node")) == count
    # The chart of Karpenter, which Terraform installs, tolerates the taint.
    del files["app.yaml"]
    files["main.tf"] += chart()
    assert check(nodelint, tmp_path, files, "controller-without-node") == []


class TestTrust:
    """The OIDC provider of another cluster, in each place where a role names it."""

    OTHER = CLUSTER[CLUSTER.index('module "eks"') :].replace('module "eks"', 'module "other"')

    @pytest.mark.parametrize(
        ("old", "new", "count"),
        [
            ("", "", 0),
            ("module.eks.oidc", "module.other.oidc", 1),  # both places
            ("module.eks.oidc_provider_arn", "module.other.oidc_provider_arn", 1),
            ("module.eks.oidc_provider_arn", "var.provider_arn", 0),
            ("module.eks.oidc_provider_arn", "[module.eks.oidc_provider_arn, module.other.oidc_provider_arn]", 0),
        ],
    )
    def test_references(self, nodelint: Run, tmp_path: Path, old: str, new: str, count: int) -> None:
        files = {"main.tf": CLUSTER + self.OTHER, "karpenter.tf": IRSA.replace(old, new) + chart('"main"')}
        assert len(check(nodelint, tmp_path, files, "trust-of-another-cluster")) == count

    @pytest.mark.parametrize(("version", "count"), [("module.eks", 0), ("module.other", 1)])
    def test_a_call_of_the_module(self, nodelint: Run, tmp_path: Path, version: str, count: int) -> None:
        more = f'"20.37.0"\n  enable_irsa = true\n  irsa_oidc_provider_arn = {version}.oidc_provider_arn'
        text = CLUSTER + self.OTHER + MODULE.replace('"21.9.0"', more)
        assert len(check(nodelint, tmp_path, {"main.tf": text}, "trust-of-another-cluster")) == count

    @pytest.mark.parametrize(("end", "count"), [("0", 0), ("1", 1)])
    @pytest.mark.parametrize("form", ["script", "terraform"])
    def test_ids(self, nodelint: Run, tmp_path: Path, form: str, end: str, count: int) -> None:
        issuer = "oidc.eks.eu-west-1.amazonaws.com/id/" + "A" * 31
        account = "system:serviceaccount:kube-system:karpenter"
        sub, provider = f"{issuer}{end}:sub", f"arn:aws:iam::111122223333:oidc-provider/{issuer}0"
        install = "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.3"
        statement = f'{{"Federated": "{provider}", "StringEquals": {{"{sub}": "{account}"}}}}'
        texts = {
            "script": f"cat > trust.json <<E\n{statement}\nE\n{install}\n",
            "terraform": f"locals {{\n  trust = {statement}\n}}\n",
        }
        path = "trust.sh" if form == "script" else "trust.tf"
        found = check(nodelint, tmp_path, {path: texts[form], "class.yaml": CLASS}, "trust-of-another-cluster")
        assert len(found) == count


class TestTerragrunt:
    """The inputs of units give tags and names, as arguments of modules do."""

    UNIT = 'terraform {\n  source = "tfr:///terraform-aws-modules/%s"\n}\ninputs = {\n%s\n}\n'
    TAG = '{ "karpenter.sh/discovery" = "main" }'

    @pytest.mark.parametrize(
        ("old", "new", "rule"),
        [
            ("", "", None),
            (
                'private_subnet_tags = { "karpenter.sh/discovery"',
                'private_subnet_tags = { "a"',
                "missing-discovery-tag",
            ),
            ("private_subnet_tags", "public_subnet_tags", "public-subnet-tag"),
            ('"main" }\n  enable', '"other" }\n  enable', "tag-of-another-value"),
            ("Karpenter-main", "main", "queue-of-another-name"),
        ],
    )
    def test_units(self, nodelint: Run, tmp_path: Path, old: str, new: str, rule: str | None) -> None:
        vpc = (
            f'  private_subnets = ["10.0.0.0/20"]\n  public_subnets = ["10.0.48.0/24"]\n'
            f"  private_subnet_tags = {self.TAG}\n  enable_nat_gateway = true"
        )
        queue = "  cluster_name = dependency.eks.outputs.cluster_name"
        texts = {
            "live/vpc/terragrunt.hcl": self.UNIT % ("vpc/aws?version=6.6.0", vpc),
            "live/eks/terragrunt.hcl": self.UNIT
            % ("eks/aws?version=21.9.0", f'  name = "main"\n  node_security_group_tags = {self.TAG}'),
            "live/karpenter/terragrunt.hcl": self.UNIT % ("eks/aws//modules/karpenter?version=21.9.0", queue),
            "k8s/class.yaml": CLASS,
            "k8s/app.yaml": APPLICATION,
        }
        files = {path: text.replace(old, new) if old else text for path, text in texts.items()}
        rules = "missing-discovery-tag,public-subnet-tag,tag-of-another-value,queue-of-another-name"
        write_files(tmp_path, {".git/HEAD": "ref: refs/heads/main\n", **files})
        done = nodelint("check", str(tmp_path), "--format", "json", "--select", rules)
        found = {finding["rule"] for finding in json.loads(done.stdout)["findings"]}
        assert found == ({rule} if rule is not None else set())
