"""Roles of nodes as Terraform makes them, by resources and by modules; and the twin of each mistake."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

EKS = (
    'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "~> 20.0"\n  cluster_name = "main"\n}\n'
)
CALLS = {
    "eks": 'module "karpenter" {\n  source = "terraform-aws-modules/eks/aws//modules/karpenter"\n'
    '  version = "~> 20.31"\n'
    "  cluster_name = module.eks.cluster_name\n%s}\n",
    "addons": 'module "addons" {\n  source = "aws-ia/eks-blueprints-addons/aws"\n  version = "~> 1.16"\n'
    "  cluster_name = module.eks.cluster_name\n  enable_karpenter = true\n%s}\n",
}
NAMED = {
    "eks": '  node_iam_role_name = "{}"\n  node_iam_role_use_name_prefix = {}\n',
    "addons": '  karpenter_node = {{\n    iam_role_name = "{}"\n    iam_role_use_name_prefix = {}\n  }}\n',
}


def forms(role: str) -> dict[str, Mapping[str, str]]:
    """Return files with a class that has a role, in each form."""
    lines = "".join(f"    {line}\n" for line in nodeclass(role=role).splitlines())
    return {
        "yaml": {"class.yaml": nodeclass(role=role)},
        "chart": {
            "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
            "c/values.yaml": f"# karpenter\nrole: {role}\n",
            "c/templates/class.yaml": nodeclass(role="{{ .Values.role }}"),
        },
        "terraform": {"c.tf": f'resource "kubectl_manifest" "class" {{\n  yaml_body = <<-YAML\n{lines}  YAML\n}}\n'},
    }


def list_severities(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[str]:
    write_files(folder, files)
    done = nodelint("check", str(folder), "--format", "json", "--select", rule)
    return [finding["severity"] for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("name", "has_suffix", "role", "count"),
    [
        (None, None, "KarpenterNodeRole-main", 1),
        (None, None, "Karpenter-main", 1),
        ("karpenter-nodes", "true", "karpenter-nodes", 1),
        ("karpenter-nodes", "false", "karpenter-nodes", 0),
        ("karpenter-nodes", "var.prefixed", "karpenter-nodes", 0),
        ("karpenter-${module.eks.cluster_name}", "false", "karpenter-main", 0),
        ("karpenter-${module.eks.cluster_name}", "false", "karpenter-other", 1),
        ("karpenter-${var.environment}", "false", "karpenter-main", 0),
    ],
)
def test_the_name_that_a_module_gives_the_role(
    nodelint: Run, tmp_path: Path, call: str, name: str | None, has_suffix: str | None, role: str, count: int
) -> None:
    text = EKS + CALLS[call] % ("" if name is None else NAMED[call].format(name, has_suffix))
    for form, files in forms(role).items():
        found = list_severities(nodelint, tmp_path / form, {"main.tf": text, **files}, "role-of-another-name")
        assert len(found) == count, form


@pytest.mark.parametrize(
    ("role", "count"),
    [
        ("Karpenter-${module.eks.cluster_name}", 1),
        ("${module.karpenter.node_iam_role_name}", 0),
        ("${local.karpenter_role}", 0),
    ],
)
def test_a_role_that_terraform_fills_in(nodelint: Run, tmp_path: Path, role: str, count: int) -> None:
    files = {"main.tf": EKS + CALLS["eks"] % "", **forms(role)["terraform"]}
    assert len(list_severities(nodelint, tmp_path, files, "role-of-another-name")) == count


NODE_GROUP = (
    'module "eks" {{\n  source = "terraform-aws-modules/eks/aws"\n  eks_managed_node_groups = {{\n    system = {{\n'
    '      iam_role_name = "{0}"\n{1}    }}\n  }}\n}}\n'
)


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ('resource "aws_iam_role" "node" {\n  name_prefix = "main-node-"\n}\n', 1),
        ('resource "aws_iam_role" "node" {\n  name_prefix = "${var.cluster}-node-"\n}\n', 1),
        ('resource "aws_iam_role" "node" {\n  name_prefix = "${var.cluster}-"\n}\n', 0),
        ('resource "aws_iam_role" "node" {\n  name_prefix = "other-node-"\n}\n', 0),
        ('resource "aws_iam_role" "node" {\n  name = "main-node"\n}\n', 0),
        (
            'resource "aws_iam_role" "a" {\n  name_prefix = "main-node-"\n}\n'
            'resource "aws_iam_role" "b" {\n  name = var.node_role\n}\n',
            0,
        ),
        (NODE_GROUP.format("main-node", ""), 1),
        (NODE_GROUP.format("main-node", "      iam_role_use_name_prefix = false\n"), 0),
    ],
)
def test_a_role_whose_name_has_a_random_suffix(nodelint: Run, tmp_path: Path, made: str, count: int) -> None:
    for form, files in forms("main-node").items():
        found = list_severities(
            nodelint, tmp_path / form, {"iam.tf": f"# karpenter\n{made}", **files}, "role-of-another-name"
        )
        assert found == ["error"] * count, form


def test_a_role_that_a_comment_asks_to_change(nodelint: Run, tmp_path: Path) -> None:
    written = nodeclass(role="KarpenterNodeRole-main")
    for comment, count in (("# <- change this", 0), ("# of the nodes", 1)):
        class_text = written.replace("KarpenterNodeRole-main", f"KarpenterNodeRole-main  {comment}")
        assert comment in class_text
        files = {"main.tf": EKS + CALLS["eks"] % "", "class.yaml": class_text}
        found = list_severities(nodelint, tmp_path / str(count), files, "role-of-another-name")
        assert len(found) == count, comment


ROLE = 'resource "aws_iam_role" "nodes" {\n  name = "karpenter-nodes"\n}\n'
OUTPUT = 'output "role_arn" {\n  value = try(aws_iam_role.nodes[0].arn, "")\n}\n'
ENTRY = 'resource "aws_eks_access_entry" "nodes" {\n  principal_arn = %s\n  type = "EC2_LINUX"\n}\n'
GROUP = 'resource "aws_eks_node_group" "system" {\n  node_role_arn = %s\n}\n'
API = '  access_config {\n    authentication_mode = "API_AND_CONFIG_MAP"\n  }\n'
CLUSTER = 'resource "aws_eks_cluster" "main" {\n  name = "main"\n%s}\n'


def modules(role: str, access: str) -> dict[str, str]:
    """Return a root whose module `iam` creates the role, and whose module `access` gets it."""
    given = "  role_arn = module.iam.role_arn\n" if access else ""
    call = f'module "iam" {{\n  source = "./iam"\n}}\nmodule "access" {{\n  source = "./access"\n{given}}}\n'
    return {
        "main.tf": call + 'module "eks" {\n  source = "./eks"\n}\n',
        "eks/main.tf": CLUSTER % API,
        "iam/main.tf": role + OUTPUT,
        "access/main.tf": f"# karpenter\n{access}",
    }


@pytest.mark.parametrize(
    ("access", "found"),
    [
        ("", ["warning"]),
        (ENTRY % "var.role_arn", []),
        (ENTRY % "var.other", []),
        (GROUP % "var.role_arn", []),
        (ENTRY % "aws_iam_role.admin.arn", ["warning"]),
    ],
)
def test_access_of_a_role_of_a_local_module(nodelint: Run, tmp_path: Path, access: str, found: list[str]) -> None:
    for form in ("yaml", "chart"):
        files = {**modules(ROLE, access), **forms("karpenter-nodes")[form]}
        assert list_severities(nodelint, tmp_path / form, files, "node-role-without-access") == found, form


@pytest.mark.parametrize(
    ("call", "more", "count"),
    [
        ("addons", "", 1),
        ("addons", ENTRY % "module.addons.karpenter.node_iam_role_arn", 0),
        ("addons", "# aws-auth\n", 0),
        ("eks", "", 0),
    ],
)
def test_access_of_the_role_of_a_module(nodelint: Run, tmp_path: Path, call: str, more: str, count: int) -> None:
    text = EKS + CALLS[call] % "" + more
    output = {"addons": "module.addons.karpenter.node_iam_role_name", "eks": "module.karpenter.node_iam_role_name"}
    files = {"main.tf": text, **forms(f"${{{output[call]}}}")["terraform"]}
    assert len(list_severities(nodelint, tmp_path, files, "node-role-without-access")) == count


AUTH = 'module "auth" {\n  source = "./modules/aws-auth"\n%s}\n'
AUTH_MODULE = (
    'resource "kubernetes_config_map" "aws_auth" {\n  data = { mapRoles = yamlencode([for r in var.roles : r]) }\n}\n'
)


@pytest.mark.parametrize(("given", "count"), [("  map_users = []\n", 1), ("  node_roles = [var.nodes]\n", 0)])
def test_a_module_for_aws_auth_that_gets_no_role(nodelint: Run, tmp_path: Path, given: str, count: int) -> None:
    files = {
        "main.tf": CLUSTER % "" + ROLE + AUTH % given,
        "modules/aws-auth/main.tf": f"# karpenter\n{AUTH_MODULE}",
        **forms("karpenter-nodes")["yaml"],
    }
    assert len(list_severities(nodelint, tmp_path, files, "node-role-without-access")) == count


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"main.tf": ROLE + GROUP % "aws_iam_role.nodes.arn" + ENTRY % "aws_iam_role.nodes.arn"}, ["warning"]),
        (
            {
                "main.tf": ROLE
                + ENTRY % "aws_iam_role.nodes.arn"
                + GROUP % "aws_iam_role.nodes.arn\n  depends_on = [aws_eks_access_entry.nodes]"
            },
            [],
        ),
        ({"main.tf": ROLE + GROUP % "aws_iam_role.system.arn" + ENTRY % "aws_iam_role.nodes.arn"}, []),
        (modules(ROLE + GROUP % "aws_iam_role.nodes.arn", ENTRY % "var.role_arn"), ["warning"]),
        (
            {
                k: v.replace(
                    "role_arn = module.iam.role_arn\n", "role_arn = module.iam.role_arn\ndepends_on = [module.iam]\n"
                )
                for k, v in modules(ROLE + GROUP % "aws_iam_role.nodes.arn", ENTRY % "var.role_arn").items()
            },
            ["error"],
        ),
        ({"main.tf": EKS + CALLS["eks"] % "" + ENTRY % "module.karpenter.node_iam_role_arn"}, ["error"]),
        (
            {
                "main.tf": EKS
                + CALLS["eks"] % "  create_access_entry = false\n"
                + ENTRY % "module.karpenter.node_iam_role_arn"
            },
            [],
        ),
        ({"main.tf": CLUSTER % "" + ROLE + ENTRY % "aws_iam_role.nodes.arn"}, ["warning"]),
        ({"main.tf": CLUSTER % API.replace("API_AND_", "") + ROLE + ENTRY % "aws_iam_role.nodes.arn"}, ["error"]),
        ({"main.tf": CLUSTER % API + ROLE + ENTRY % "aws_iam_role.nodes.arn"}, []),
        (
            {
                "main.tf": CLUSTER % API.replace("API_AND_", "")
                + ROLE
                + GROUP % "aws_iam_role.nodes.arn"
                + ENTRY % "aws_iam_role.nodes.arn"
            },
            ["error"],
        ),
    ],
)
def test_an_access_entry_that_eks_refuses(
    nodelint: Run, tmp_path: Path, files: Mapping[str, str], found: list[str]
) -> None:
    files = {path: f"# karpenter\n{text}" for path, text in files.items()}
    assert list_severities(nodelint, tmp_path, files, "refused-access-entry") == found


CALLER = 'data "aws_caller_identity" "current" {\n}\nlocals {\n  me = data.aws_caller_identity.current.arn\n}\n'
BOOTSTRAP = API.replace("}", "  bootstrap_cluster_creator_admin_permissions = %s\n  }")
CREATOR = "  enable_cluster_creator_admin_permissions = %s\n}\n"


@pytest.mark.parametrize(
    ("cluster", "principal", "count"),
    [
        (CLUSTER % API, "data.aws_caller_identity.current.arn", 1),
        (CLUSTER % API, "local.me", 1),
        (CLUSTER % BOOTSTRAP % "true", "local.me", 1),
        (CLUSTER % BOOTSTRAP % "false", "local.me", 0),
        (CLUSTER % BOOTSTRAP % "var.bootstrap", "local.me", 0),
        (CLUSTER % API, "data.aws_caller_identity.current.account_id", 0),
        (CLUSTER % API, "data.aws_iam_role.admin.arn", 0),
        (EKS[:-2] + CREATOR % "true", "local.me", 1),
        (EKS, "local.me", 0),
    ],
)
def test_an_entry_for_the_creator_of_the_cluster(
    nodelint: Run, tmp_path: Path, cluster: str, principal: str, count: int
) -> None:
    entry = (ENTRY % principal).replace("EC2_LINUX", "STANDARD")
    files = {"main.tf": cluster + CALLER, "access.tf": f"# karpenter\n{entry}"}
    assert len(list_severities(nodelint, tmp_path, files, "refused-access-entry")) == count


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("< 20", ["warning"]),
        ("< 20.0", ["warning"]),
        ("< 20.5", []),
        ("<= 20.0", []),
        ("< 21", []),
        ("~> 19", []),
        ("~> 19.0", ["warning"]),
        ("~> 19.0.0", ["warning"]),
    ],
)
def test_versions_of_the_module_whose_cluster_refuses_entries(
    nodelint: Run, tmp_path: Path, version: str, found: list[str]
) -> None:
    files = {"main.tf": "# karpenter\n" + EKS.replace("~> 20.0", version) + ROLE + ENTRY % "aws_iam_role.nodes.arn"}
    assert list_severities(nodelint, tmp_path, files, "refused-access-entry") == found


GROUP_ROLE = 'module.eks.eks_managed_node_groups["system"].iam_role_arn'


@pytest.mark.parametrize(("principal", "count"), [("aws_iam_role.nodes.arn", 1), ("aws_iam_role.admin.arn", 0)])
def test_an_entry_of_the_cluster_beside_that_of_the_module(
    nodelint: Run, tmp_path: Path, principal: str, count: int
) -> None:
    entries = f"  access_entries = {{\n    nodes = {{ principal_arn = {principal} }}\n  }}\n}}\n"
    given = "  create_node_iam_role = false\n  node_iam_role_arn = aws_iam_role.nodes.arn\n"
    files = {"main.tf": EKS[:-2] + entries + ROLE + CALLS["eks"] % given}
    assert len(list_severities(nodelint, tmp_path, files, "refused-access-entry")) == count


@pytest.mark.parametrize(("more", "count"), [("", 1), ("  create_access_entry = false\n", 0)])
def test_the_role_of_a_node_group_given_to_the_module(nodelint: Run, tmp_path: Path, more: str, count: int) -> None:
    given = f"  create_node_iam_role = false\n  node_iam_role_arn = {GROUP_ROLE}\n{more}"
    files = {"main.tf": EKS + CALLS["eks"] % given}
    assert len(list_severities(nodelint, tmp_path, files, "refused-access-entry")) == count


@pytest.mark.parametrize(("output", "count"), [("iam_role_name", 1), ("node_group_id", 0)])
def test_an_entry_for_the_role_of_a_node_group_that_is_looked_up(
    nodelint: Run, tmp_path: Path, output: str, count: int
) -> None:
    name = GROUP_ROLE.replace("iam_role_arn", output)
    data = f'data "aws_iam_role" "group" {{\n  name = {name}\n}}\n'
    files = {"main.tf": "# karpenter\n" + EKS + data + ENTRY % "data.aws_iam_role.group.arn"}
    assert len(list_severities(nodelint, tmp_path, files, "refused-access-entry")) == count


def install(version: str, given: str, values: str = "") -> str:
    """Return the chart with the module's roles, beside a call of a version of the module."""
    call = CALLS["eks"].replace("~> 20.31", version) % given
    return (
        f'{call}resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  namespace = "kube-system"\n'
        '  chart = "karpenter"\n  repository = "oci://public.ecr.aws/karpenter"\n'
        f'  values = [yamlencode({{ settings = {{ clusterName = "main" }}{values} }})]\n}}\n'
    )


ANNOTATED = ', serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = module.karpenter.iam_role_arn } }'
ASSOCIATION = 'resource "aws_eks_pod_identity_association" "karpenter" {\n  service_account = "karpenter"\n}\n'
ADDONS = EKS.replace("}\n", "  cluster_addons = { coredns = {}, %s = {} }\n}\n")
AGENT = "eks-pod-identity-agent"
FARGATE = '  fargate_profiles = { karpenter = { selectors = [{ namespace = "%s" }] } }\n}\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (install("~> 20.31", "", ANNOTATED), ["error"]),
        (install("~> 20.31", ""), ["warning"]),
        (install("~> 20.31", "", ANNOTATED) + ASSOCIATION, []),
        (install("~> 20.31", "  enable_irsa = true\n", ANNOTATED), []),
        (install("~> 20.31", "  enable_irsa = var.irsa\n", ANNOTATED), []),
        (install("~> 19.0", "", ANNOTATED), []),
        (install(">= 19.0", "", ANNOTATED), []),
        (install("~> 21.0", "  create_pod_identity_association = false\n"), ["warning"]),
        (install("~> 21.0", "") + ADDONS % "vpc-cni", ["warning"]),
        (install("~> 21.0", "") + ADDONS % AGENT, []),
        (install("~> 21.0", "") + EKS, []),
        (install("~> 21.0", "") + ADDONS % AGENT.replace("}\n", FARGATE), []),
        (install("~> 21.0", "") + (ADDONS % AGENT)[:-2] + FARGATE % "kube-system", ["warning"]),
        (install("~> 21.0", "") + (ADDONS % AGENT)[:-2] + FARGATE % "default", []),
    ],
)
def test_a_controller_without_credentials(nodelint: Run, tmp_path: Path, text: str, found: list[str]) -> None:
    assert list_severities(nodelint, tmp_path, {"main.tf": text}, "controller-without-credentials") == found


def test_the_chart_of_another_tool_and_its_annotation(nodelint: Run, tmp_path: Path) -> None:
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: karpenter, namespace: kube-system}\n"
        "spec:\n  chart: {spec: {chart: karpenter, version: 1.9.1}}\n  values:\n    serviceAccount:\n"
        "      annotations: {eks.amazonaws.com/role-arn: 'arn:aws:iam::111122223333:role/karpenter'}\n"
    )
    for more, found in (("", ["error"]), ("  create_pod_identity_association = true\n", [])):
        files = {"tf/main.tf": EKS + CALLS["eks"] % more, "flux/release.yaml": release}
        assert list_severities(nodelint, tmp_path / str(len(found)), files, "controller-without-credentials") == found


AWS = "arn:aws:iam::aws:policy/"
WORKER, CNI, ECR = "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"
ATTACHED = (
    'resource "aws_iam_role_policy_attachment" "{0}" {{\n  role = aws_iam_role.nodes.name\n  policy_arn = {1}\n}}\n'
)


def attached_one_by_one(names: list[str]) -> str:
    return ROLE + "".join(ATTACHED.format(name, f'"{AWS}{name}"') for name in names)


def attached_for_each(names: list[str]) -> str:
    listed = ", ".join(f'"arn:${{data.aws_partition.current.partition}}:iam::aws:policy/{name}"' for name in names)
    return ROLE + ATTACHED.format("all", f"each.value\n  for_each = toset([{listed}])")


def managed_by_role(names: list[str]) -> str:
    listed = ", ".join(f'"{AWS}{name}"' for name in names)
    return ROLE.replace("}\n", f"  managed_policy_arns = [{listed}]\n}}\n")


def of_module(names: list[str]) -> str:
    listed = ", ".join(f'"{AWS}{name}"' for name in names)
    return (
        'module "nodes" {\n  source = "git::https://github.com/a/terraform-aws-iam.git//modules/iam-role"\n'
        f'  name = "karpenter-nodes"\n  services = ["ec2.amazonaws.com"]\n  policies = [{listed}]\n}}\n'
    )


@pytest.mark.parametrize("way", [attached_one_by_one, attached_for_each, managed_by_role, of_module])
@pytest.mark.parametrize(
    ("names", "more", "count"),
    [
        ([WORKER, CNI, ECR], "", 0),
        ([WORKER, CNI], "", 1),
        ([CNI, ECR], "", 1),
        ([WORKER, ECR], "", 1),
        ([WORKER, ECR], "# the CNI has a role: kube-system:aws-node\n", 0),
        ([], "", 0),
    ],
)
def test_the_policies_of_the_role_of_nodes(
    nodelint: Run, tmp_path: Path, way: Callable[[list[str]], str], names: list[str], more: str, count: int
) -> None:
    for form, files in forms("karpenter-nodes").items():
        found = list_severities(
            nodelint, tmp_path / form, {"main.tf": way(names) + more, **files}, "node-role-policies"
        )
        assert found == ["error"] * count, form


@pytest.mark.parametrize("policy", ["aws_iam_policy.own.arn", "var.policy", "each.value"])
def test_a_policy_that_may_grant_the_rest(nodelint: Run, tmp_path: Path, policy: str) -> None:
    text = attached_one_by_one([WORKER]) + ATTACHED.format("own", policy)
    files = {"main.tf": text, **forms("karpenter-nodes")["yaml"]}
    assert list_severities(nodelint, tmp_path, files, "node-role-policies") == []


@pytest.mark.parametrize(("kind", "count"), [('"EC2_LINUX"', 0), ('"STANDARD"', 1), ("var.type", 0)])
def test_the_type_of_the_entry_of_nodes(nodelint: Run, tmp_path: Path, kind: str, count: int) -> None:
    entry = (ENTRY % "aws_iam_role.nodes.arn").replace('"EC2_LINUX"', kind)
    for form, files in forms("karpenter-nodes").items():
        text = CLUSTER % API + ROLE + entry
        assert (
            len(list_severities(nodelint, tmp_path / form, {"main.tf": text, **files}, "node-role-without-access"))
            == count
        )


def test_a_policy_for_the_role_of_nodes_may_give_what_an_entry_does_not(nodelint: Run, tmp_path: Path) -> None:
    entry = (ENTRY % "aws_iam_role.nodes.arn").replace('"EC2_LINUX"', '"STANDARD"')
    policy = 'resource "aws_eks_access_policy_association" "nodes" {\n  principal_arn = %s\n}\n'
    for principal, count in (("aws_iam_role.nodes.arn", 0), ("aws_iam_role.admin.arn", 1)):
        text = CLUSTER % API + ROLE + 'resource "aws_iam_role" "admin" {\n  name = "admin"\n}\n' + entry
        files = {"main.tf": text + policy % principal, **forms("karpenter-nodes")["yaml"]}
        assert len(list_severities(nodelint, tmp_path / str(count), files, "node-role-without-access")) == count


@pytest.mark.parametrize(
    ("access", "count"),
    [
        ("", 1),
        (ENTRY % '"arn:aws:iam::111122223333:role/${module.eks.name}-nodes"', 0),
        (ENTRY % '"arn:aws:iam::111122223333:role/admin"', 1),
    ],
)
def test_an_entry_in_the_folder_that_calls_the_module_with_the_role(
    nodelint: Run, tmp_path: Path, access: str, count: int
) -> None:
    output = 'output "role" {\n  value = aws_iam_role.nodes.name\n}\n'
    files = {
        "main.tf": 'module "eks" {\n  source = "./eks"\n}\n' + access,
        "eks/main.tf": CLUSTER % API + ROLE.replace("karpenter-nodes", "${var.name}-nodes") + output,
        **forms("${module.eks.role}")["terraform"],
    }
    assert len(list_severities(nodelint, tmp_path, files, "node-role-without-access")) == count


def test_the_places_in_terraform_of_a_class_that_an_overlay_builds(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "main.tf": CLUSTER % API + ROLE,
        "class.yaml": nodeclass(role="karpenter-nodes"),
        "kustomization.yaml": "resources: [class.yaml]\n",
    }
    write_files(tmp_path, files)
    done = nodelint("check", ".", "--format", "json", "--select", "node-role-without-access", cwd=tmp_path)
    (found,) = json.loads(done.stdout)["findings"]
    assert [place["path"] for place in found["related"]][:2] == ["main.tf", "main.tf"]


TRUST = '  assume_role_policy = jsonencode({ Statement = [{ Principal = { Service = "%s.amazonaws.com" } }] })\n}\n'


@pytest.mark.parametrize(("service", "count"), [("ec2", 0), ("eks", 1), ("pods.eks", 1)])
def test_the_services_that_the_role_of_nodes_trusts(nodelint: Run, tmp_path: Path, service: str, count: int) -> None:
    role = ROLE[:-2] + TRUST % service
    for form, files in (
        *forms("karpenter-nodes").items(),
        ("reference", forms("${aws_iam_role.nodes.name}")["terraform"]),
    ):
        found = list_severities(nodelint, tmp_path / form, {"main.tf": role, **files}, "controller-role-on-nodes")
        assert len(found) == count, form
