"""What stands around NodePools and classes: roles, access entries, service accounts and policies, in forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: {role}
  amiSelectorTerms: [{{alias: al2023@v20260714}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
"""
MODULE = """\
module "karpenter" {
  source       = "terraform-aws-modules/eks/aws//modules/karpenter"
  version      = "~> 21.0"
  cluster_name = "main"
}
"""
NODES, CONTROLLER = "module.karpenter.node_iam_role_name", "module.karpenter.iam_role_name"
HEREDOC = 'resource "kubectl_manifest" "class" {{\n  yaml_body = <<-YAML\n{text}  YAML\n}}\n'


def check(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[str]:
    """Return the messages of a rule over some files."""
    write_files(folder, files)
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)
    return [finding["message"] for finding in found["findings"]]


def heredoc(role: str) -> str:
    text = "".join(f"    {line}\n" for line in CLASS.format(role=role).splitlines())
    return HEREDOC.format(text=text)


ROLES = {
    "local": lambda role: {"main.tf": f"{MODULE}locals {{\n  role = {role}\n}}\n" + heredoc("${local.role}")},
    "module": lambda role: {
        "main.tf": f'{MODULE}module "pools" {{\n  source = "./pools"\n  role   = {role}\n}}\n',
        "pools/main.tf": 'variable "role" {}\n' + heredoc("${var.role}"),
    },
    "templatefile": lambda role: {
        "main.tf": f'{MODULE}resource "kubectl_manifest" "class" {{\n'
        f'  yaml_body = templatefile("${{path.module}}/class.yaml.tpl", {{ role = {role} }})\n}}\n',
        "class.yaml.tpl": CLASS.format(role="${role}"),
    },
    "chart": lambda role: {
        "main.tf": f'{MODULE}resource "helm_release" "pools" {{\n  name  = "pools"\n'
        f'  chart = "${{path.module}}/pools"\n  set {{\n    name  = "role"\n    value = {role}\n  }}\n}}\n',
        "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "pools/values.yaml": "role: ''\n",
        "pools/templates/class.yaml": CLASS.format(role="{{ .Values.role }}"),
    },
}


@pytest.mark.parametrize("form", ROLES)
def test_an_output_that_is_no_role_of_nodes_is_followed_to_the_class(
    nodelint: Run, tmp_path: Path, form: str
) -> None:
    for role in (CONTROLLER, "module.karpenter.service_account"):
        found = check(nodelint, tmp_path / role, ROLES[form](role), "controller-role-on-nodes")
        assert len(found) == 1 and role.rpartition(".")[2] in found[0]
    assert check(nodelint, tmp_path / "good", ROLES[form](NODES), "controller-role-on-nodes") == []


TRUST = '{{ Statement = [{{ Principal = {{ Service = "{service}" }}, Action = "sts:AssumeRole" }}] }}'


@pytest.mark.parametrize(("service", "count"), [("pods.eks.amazonaws.com", 1), ("ec2.amazonaws.com", 0)])
def test_a_role_that_trusts_pods_alone_is_none_of_nodes(
    nodelint: Run, tmp_path: Path, service: str, count: int
) -> None:
    role = (
        f'resource "aws_iam_role" "own" {{\n  assume_role_policy = jsonencode({TRUST.format(service=service)})\n}}\n'
    )
    files = {"main.tf": role + heredoc("${aws_iam_role.own.name}")}
    assert len(check(nodelint, tmp_path, files, "controller-role-on-nodes")) == count


CLUSTER = 'resource "aws_eks_cluster" "this" {\n  access_config { authentication_mode = "API" }\n}\n'
OWN_ROLE = 'resource "aws_iam_role" "node" {\n  name = "karpenter-nodes"\n}\n'
ENTRY = 'resource "aws_eks_access_entry" "node" {\n  principal_arn = %s\n  type = "EC2_LINUX"\n}\n'


@pytest.mark.parametrize(
    ("more", "count"),
    [
        ("", 1),
        (ENTRY % "aws_iam_role.other.arn", 1),
        (ENTRY % "aws_iam_role.node.arn", 0),
        (ENTRY % "each.value", 0),
        (MODULE, 1),
        (
            MODULE.replace("}\n", "  create_node_iam_role = false\n  node_iam_role_arn = aws_iam_role.node.arn\n}\n"),
            0,
        ),
        ('resource "aws_eks_node_group" "first" {\n  node_role_arn = aws_iam_role.node.arn\n}\n', 0),
    ],
)
def test_a_role_without_an_access_entry(nodelint: Run, tmp_path: Path, more: str, count: int) -> None:
    for name, files in {
        "reference": {"main.tf": CLUSTER + OWN_ROLE + more + heredoc("${aws_iam_role.node.name}")},
        "name": {"main.tf": CLUSTER + OWN_ROLE + more, "class.yaml": CLASS.format(role="karpenter-nodes")},
    }.items():
        assert len(check(nodelint, tmp_path / name, files, "node-role-without-access")) == count


RELEASE = 'resource "helm_release" "karpenter" {{\n  chart = "karpenter"\n  name = "karpenter"\n{more}}}\n'
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter, namespace: {namespace}}}
spec: {{chart: {{spec: {{chart: karpenter, version: 1.14.1}}}}, values: {{settings: {{clusterName: main}}}}}}
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: karpenter, namespace: argocd}}
spec:
  source: {{chart: karpenter, targetRevision: 1.14.1, helm: {{valuesObject: {{settings: {{clusterName: main}}}}}}}}
  destination: {{namespace: {namespace}}}
"""
ASSOCIATION = """\
resource "aws_eks_pod_identity_association" "karpenter" {
  namespace       = "kube-system"
  service_account = "karpenter"
}
"""
TRUST_OF_IRSA = (
    'data "aws_iam_policy_document" "trust" {\n  values = ["system:serviceaccount:kube-system:karpenter"]\n}\n'
)


@pytest.mark.parametrize("grant", [MODULE, ASSOCIATION, TRUST_OF_IRSA])
def test_a_role_for_the_service_account_of_another_namespace(nodelint: Run, tmp_path: Path, grant: str) -> None:
    local = 'locals {\n  namespace = "karpenter"\n}\n' + RELEASE.format(more="  namespace = local.namespace\n")
    bad = [
        {"main.tf": grant + local},
        *({"main.tf": grant, "app.yaml": text.format(namespace="karpenter")} for text in (FLUX, ARGO)),
    ]
    for n, files in enumerate(bad):
        assert len(check(nodelint, tmp_path / f"bad-{n}", files, "service-account-elsewhere")) == 1
    silent = [
        {"main.tf": grant + RELEASE.format(more='  namespace = "kube-system"\n')},
        {"main.tf": grant + RELEASE.format(more="  namespace = var.namespace\n")},
        {"main.tf": grant, "app.yaml": FLUX.format(namespace="kube-system")},
        {
            "main.tf": grant + ASSOCIATION.replace("kube-system", "karpenter"),
            "app.yaml": ARGO.format(namespace="karpenter"),
        },
        {"main.tf": TRUST_OF_IRSA.replace("  values", "# values") + local},
    ]
    for n, files in enumerate(silent):
        assert check(nodelint, tmp_path / f"silent-{n}", files, "service-account-elsewhere") == []


STATEMENT = {
    "json": """{
  "Statement": [{"Sid": "karpenter", "Effect": "Allow", "Resource": "*",
    "Action": ["ec2:CreateFleet", "ec2:TerminateInstances"],
    "Condition": {"%s": {"aws:RequestTag/karpenter.sh/nodepool": "*x"}}}%s]
}
""",
    "tf": """resource "aws_iam_policy" "karpenter" {
  policy = jsonencode({
    Statement = [{ Effect = "Allow", Resource = "*", Action = ["ec2:CreateFleet", "ec2:TerminateInstances"],
      Condition = { %s = { "aws:RequestTag/karpenter.sh/nodepool" = "*x" } } }%s]
  })
}
""",
}
OTHER = {
    "json": ', {"Effect": "Allow", "Action": "ec2:Terminate*", "Resource": "*"}',
    "tf": ', { Effect = "Allow", Action = "ec2:Terminate*", Resource = "*" }',
}


@pytest.mark.parametrize("form", STATEMENT)
def test_a_condition_about_tags_that_no_request_carries(nodelint: Run, tmp_path: Path, form: str) -> None:
    for n, (operator, more, count) in enumerate(
        [("StringLike", "", 1), ("StringLike", OTHER[form], 0), ("StringLikeIfExists", "", 0)]
    ):
        files = {f"policy.{form}": STATEMENT[form] % (operator, more)}
        assert len(check(nodelint, tmp_path / str(n), files, "tag-condition-never-met")) == count


LAUNCH = {
    "json": """{{
  "Statement": [
    {{"Effect": "Allow", "Action": ["ec2:RunInstances", "ec2:CreateFleet"],
     "Resource": ["arn:aws:ec2:*:*:image/*", "arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:*:*:security-group/*"]}},
    {{"Sid": "karpenter", "Effect": "Allow", "Action": ["ec2:RunInstances", "ec2:CreateFleet"],
     "Resource": "arn:aws:ec2:*:*:{0}/*",
     "Condition": {{"StringEquals": {{"aws:{1}/kubernetes.io/cluster/main": "owned"}}}}}}
  ]
}}
""",
    "tf": """data "aws_iam_policy_document" "karpenter" {{
  statement {{
    actions   = ["ec2:RunInstances", "ec2:CreateFleet"]
    resources = ["arn:aws:ec2:*:*:image/*", "arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:*:*:security-group/*"]
  }}
  statement {{
    actions   = ["ec2:RunInstances", "ec2:CreateFleet"]
    resources = ["arn:aws:ec2:*:*:{0}/*"]
    condition {{
      test     = "StringEquals"
      variable = "aws:{1}/kubernetes.io/cluster/${{var.name}}"
      values   = ["owned"]
    }}
  }}
}}
""",
    "yaml": """PolicyDocument:
  Statement:
    - Effect: Allow  # karpenter
      Action: [ec2:RunInstances, ec2:CreateFleet]
      Resource: ["arn:aws:ec2:*:*:image/*", "arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:*:*:security-group/*"]
    - Effect: Allow
      Action: [ec2:RunInstances, ec2:CreateFleet]
      Resource: "arn:aws:ec2:*:*:{0}/*"
      Condition:
        StringEquals:
          aws:{1}/kubernetes.io/cluster/main: owned
""",
}


@pytest.mark.parametrize("form", LAUNCH)
@pytest.mark.parametrize(
    ("kind", "key", "count"),
    [
        ("launch-template", "RequestTag", 1),
        ("launch-template", "ResourceTag", 0),
        ("instance", "RequestTag", 0),
        ("*", "RequestTag", 1),
    ],
)
def test_a_request_tag_for_what_exists(
    nodelint: Run, tmp_path: Path, form: str, kind: str, key: str, count: int
) -> None:
    files = {f"policy.{form}": LAUNCH[form].format(kind, key)}
    assert len(check(nodelint, tmp_path, files, "tag-condition-never-met")) == count


CRDS = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter-crd}}
spec: {{chart: {{spec: {{chart: karpenter-crd, version: {version}}}}}}}
"""


@pytest.mark.parametrize(("version", "count"), [("1.5.0", 1), ("1.14.0", 0), ("1.15.0", 1), ("1.x", 0)])
def test_crds_of_another_release_than_the_controller(nodelint: Run, tmp_path: Path, version: str, count: int) -> None:
    files = {"crds.yaml": CRDS.format(version=version), "app.yaml": FLUX.format(namespace="karpenter")}
    assert len(check(nodelint, tmp_path, files, "crd-chart-of-another-release")) == count


HELM_RELEASE = """\
resource "helm_release" "{at}" {{
  chart     = "karpenter"
  name      = "karpenter"
  namespace = "{at}"{more}
  values    = [yamlencode({{ settings = {{ clusterName = "{cluster}" }} }})]
}}
"""
CONTROLLERS = {
    "flux": ("yaml", lambda at, cluster: FLUX.format(namespace=at).replace("main", cluster)),
    "argo": ("yaml", lambda at, cluster: ARGO.format(namespace=at).replace("main", cluster)),
    "terraform": ("tf", lambda at, cluster: HELM_RELEASE.format(at=at, cluster=cluster, more="")),
}


@pytest.mark.parametrize("form", CONTROLLERS)
def test_two_controllers_for_one_cluster(nodelint: Run, tmp_path: Path, form: str) -> None:
    ending, make = CONTROLLERS[form]
    twins = [("karpenter", "main"), ("kube-system", "main")]
    for n, (placed, folder, count) in enumerate(
        [
            (twins, "", 1),
            (twins, "{at}/", 1),
            (twins, "example-{at}/", 0),
            ([twins[0], ("kube-system", "other")], "", 0),
            ([twins[0], twins[0]], "", 0),
        ]
    ):
        files = {f"{folder.format(at=at)}{i}.{ending}": make(at, cluster) for i, (at, cluster) in enumerate(placed)}
        assert len(check(nodelint, tmp_path / str(n), files, "second-controller")) == count


def test_a_controller_that_stands_still_or_goes_elsewhere_is_no_second_one(nodelint: Run, tmp_path: Path) -> None:
    first = FLUX.format(namespace="karpenter")
    server = ARGO.replace("destination: {{", "destination: {{server: https://{server}.example.com, ")
    either = [HELM_RELEASE.format(at=at, cluster="main", more="\n  count = 1") for at in ("karpenter", "kube-system")]
    overlay = {
        "kustomization.yaml": "resources: [a.yaml]\n",
        "a.yaml": first,
        "prod/kustomization.yaml": "namespace: kube-system\nresources: [..]\n",
    }
    silent = [
        {
            "a.yaml": first,
            "b.yaml": FLUX.format(namespace="kube-system").replace("{settings", "{replicas: 0, settings"),
        },
        {f"{at}.yaml": server.format(namespace=at, server=at) for at in ("karpenter", "kube-system")},
        {f"{n}.tf": text for n, text in enumerate(either)},
        {f"{n}.tf": text.replace("count = 1", f"provider = helm.c{n}") for n, text in enumerate(either)},
        overlay,
    ]
    for n, files in enumerate(silent):
        assert check(nodelint, tmp_path / str(n), files, "second-controller") == []


AWS_AUTH = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: aws-auth, namespace: kube-system}}
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:role/{role}
      username: system:node:{{{{EC2PrivateDNSName}}}}
      groups: [system:bootstrappers, system:nodes]
"""
AUTH_OF_TERRAFORM = """\
resource "kubernetes_config_map_v1_data" "auth" {{
  metadata {{ name = "aws-auth" }}
  data = {{
    mapRoles = yamlencode([
      {{ rolearn = {arn}, username = "system:node:{{{{EC2PrivateDNSName}}}}", groups = ["system:nodes"] }},
    ])
  }}
}}
resource "aws_iam_role" "first" {{
  name = "first"
}}
"""
CONFIG_MAP_ONLY = CLUSTER.replace('"API"', '"CONFIG_MAP"')


@pytest.mark.parametrize("form", ["yaml", "chart", "kustomize", "terraform"])
def test_a_role_that_aws_auth_does_not_name(nodelint: Run, tmp_path: Path, form: str) -> None:
    def write(role: str) -> dict[str, str]:
        if form == "terraform":
            text = AUTH_OF_TERRAFORM.format(arn=f"aws_iam_role.{role}.arn") + OWN_ROLE + CONFIG_MAP_ONLY
            return {"auth.tf": text, "main.tf": heredoc("${aws_iam_role.node.name}")}
        auth = {"auth/aws-auth.yaml": AWS_AUTH.format(role="nodes" if role == "node" else role)}
        if form == "chart":
            return auth | {
                "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
                "pools/values.yaml": "role: nodes\n",
                "pools/templates/class.yaml": CLASS.format(role="{{ .Values.role }}"),
            }
        if form == "kustomize":
            patch = '- {target: {kind: EC2NodeClass}, patch: "[{op: replace, path: /spec/role, value: nodes}]"}'
            return auth | {
                "base/kustomization.yaml": "resources: [class.yaml]\n",
                "base/class.yaml": CLASS.format(role="nodes"),
                "prod/kustomization.yaml": f"resources: [../base]\npatches:\n{patch}\n",
            }
        return auth | {"class.yaml": CLASS.format(role="nodes")}

    assert len(check(nodelint, tmp_path / "bad", write("first"), "node-role-without-access")) >= 1
    assert check(nodelint, tmp_path / "good", write("node"), "node-role-without-access") == []


@pytest.mark.parametrize(
    "more",
    [
        {"entry.tf": ENTRY % "each.value"},
        {"karpenter.tf": MODULE},
        {"auth-2.yaml": AWS_AUTH.format(role="nodes")},
        {"auth-2.yaml": AWS_AUTH.format(role="{{ .Values.role }}")},
        {"eksctl.yaml": "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\niamIdentityMappings: []\n"},
    ],
)
def test_a_role_that_may_have_access_by_other_means(nodelint: Run, tmp_path: Path, more: Mapping[str, str]) -> None:
    files = {"auth.yaml": AWS_AUTH.format(role="first"), "class.yaml": CLASS.format(role="nodes"), **more}
    assert check(nodelint, tmp_path, files, "node-role-without-access") == []


LOAD_BALANCERS = {
    "flux": (
        "lbc.yaml",
        FLUX.replace("chart: karpenter,", "chart: aws-load-balancer-controller,")
        .replace("name: karpenter", "name: lbc")
        .replace("settings: {{clusterName: main}}", "clusterName: main{more}")
        .replace("{namespace}", "kube-system"),
    ),
    "argo": (
        "lbc.yaml",
        ARGO.replace("chart: karpenter,", "chart: aws-load-balancer-controller,")
        .replace("name: karpenter", "name: lbc")
        .replace("settings: {{clusterName: main}}", "clusterName: main{more}")
        .replace("{namespace}", "kube-system"),
    ),
    "terraform": (
        "lbc.tf",
        'resource "helm_release" "lbc" {{\n  chart = "aws-load-balancer-controller"\n'
        "  values = [yamlencode({{ clusterName = var.name{more} }})]\n}}\n",
    ),
}


@pytest.mark.parametrize("form", LOAD_BALANCERS)
def test_a_load_balancer_controller_that_asks_for_its_vpc(nodelint: Run, tmp_path: Path, form: str) -> None:
    name, text = LOAD_BALANCERS[form]
    sign = " =" if form == "terraform" else ":"
    vpc = f', vpcId{sign} "vpc-0123456789abcdef0"'
    hops = "  metadataOptions: {{httpPutResponseHopLimit: {n}}}\n"
    for n, (more, limit, count) in enumerate(
        [("", "", 1), ("", hops.format(n=1), 1), ("", hops.format(n=2), 0), (vpc, "", 0)]
    ):
        limit = limit.replace("{{", "{").replace("}}", "}")
        plain = {"class.yaml": CLASS.format(role="nodes") + limit, name: text.format(more=more)}
        chart = {
            "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
            "pools/values.yaml": "role: nodes\n",
            "pools/templates/class.yaml": CLASS.format(role="{{ .Values.role }}") + limit,
            name: text.format(more=more),
        }
        inside = {
            "main.tf": HEREDOC.format(text="".join(f"    {line}\n" for line in plain["class.yaml"].splitlines()))
        }
        for where, files in {"plain": plain, "chart": chart, "tf": inside | {name: plain[name]}}.items():
            assert len(check(nodelint, tmp_path / f"{n}-{where}", files, "vpc-from-metadata")) == count, where


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: training}}
spec:
  activeDeadlineSeconds: {deadline}
  template:
    metadata: {{annotations: {{karpenter.sh/do-not-disrupt: "{protection}"}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: training, image: training, resources: {{requests: {{cpu: 500m}}}}}}]
"""


@pytest.mark.parametrize("form", ["yaml", "chart", "terraform"])
def test_protected_pods_in_a_pool_that_ends_drains(nodelint: Run, tmp_path: Path, form: str) -> None:
    def write(grace: str, job: str) -> dict[str, str]:
        pool = nodepool(template=f"      terminationGracePeriod: {grace}\n" if grace else "")
        if form == "chart":
            # What a value gives is not known where workloads are judged.
            return {
                "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
                "pools/templates/pool.yaml": pool,
                "job.yaml": job,
            }
        if form == "terraform":
            text = "".join(f"    {line}\n" for line in pool.splitlines())
            return {"main.tf": HEREDOC.format(text=text), "job.yaml": job}
        return {"pool.yaml": pool, "job.yaml": job}

    for n, (grace, deadline, protection, count) in enumerate(
        [
            ("20m", 600, "true", 1),
            ("2h", 14400, "true", 1),
            ("2h", 3600, "true", 0),
            ("20m", 600, "false", 0),
            ("", 600, "true", 0),
        ]
    ):
        files = write(grace, JOB.format(deadline=deadline, protection=protection))
        assert len(check(nodelint, tmp_path / str(n), files, "protection-cut-short")) == count, (grace, deadline)


ROLE_OF_NODES = """\
locals {
  node_role = "${var.cluster}-karpenter-node"
}
resource "aws_iam_role" "karpenter_node" {
  name               = NAME
  assume_role_policy = data.aws_iam_policy_document.ec2.json
}
resource "aws_iam_instance_profile" "karpenter_node" {
  name = local.node_role
  role = aws_iam_role.karpenter_node.name
}
output "node_role_arn" {
  value = aws_iam_role.karpenter_node.arn
}
"""
EKS = (
    'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n'
    '  tags = { "karpenter.sh/discovery" = "main" }\n%s}\n'
)
API = '  authentication_mode = "API"\n  access_entries = { admin = { principal_arn = var.admin } }\n'


@pytest.mark.parametrize(
    ("mode", "name", "field", "severity"),
    [
        (API, '"${var.cluster}-karpenter-node"', "role", "warning"),
        (API, "local.node_role", "role", "warning"),
        (API, "local.node_role", "instanceProfile", "warning"),
        ("", "local.node_role", "role", "info"),
        (API, '"other-${var.cluster}-karpenter-node"', "role", None),
        (API, "var.name", "role", None),
        (API.replace("{ admin", "merge(var.entries, { admin") + ")\n", "local.node_role", "role", "warning"),
        (API.replace("{ admin = { principal_arn = var.admin } }", "var.entries"), "local.node_role", "role", None),
        (f"{API}  # EC2_LINUX\n", "local.node_role", "role", None),
        (f"{API}  roles = [module.iam.node_role_arn]\n", "local.node_role", "role", None),
    ],
)
def test_a_role_to_which_nothing_in_the_files_gives_access(
    nodelint: Run, tmp_path: Path, mode: str, name: str, field: str, severity: str | None
) -> None:
    node_class = CLASS.format(role="main-karpenter-node").replace("  role:", f"  {field}:")
    files = {
        "infra/modules/eks/main.tf": EKS % mode,
        "infra/modules/iam/main.tf": ROLE_OF_NODES.replace("NAME", name),
        "README.md": "There is no aws-auth: karpenter's nodes have access entries.\n",
        "gitops/karpenter/class.yaml": node_class,
    }
    for form, more in {
        "yaml": {},
        "chart": {
            "gitops/karpenter/class.yaml": "",
            "gitops/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
            "gitops/pools/values.yaml": "name: main-karpenter-node\n",
            "gitops/pools/templates/class.yaml": node_class.replace("main-karpenter-node", "{{ .Values.name }}"),
        },
        "terraform": {
            "gitops/karpenter/class.yaml": "",
            "infra/pools.tf": HEREDOC.format(text="".join(f"    {line}\n" for line in node_class.splitlines())),
        },
    }.items():
        write_files(tmp_path / form, {**files, **more})
        done = nodelint("check", str(tmp_path / form), "--format", "json", "--select", "node-role-without-access")
        found = [finding["severity"] for finding in json.loads(done.stdout)["findings"]]
        assert found == ([severity] if severity else []), form
