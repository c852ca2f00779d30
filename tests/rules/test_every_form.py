"""Each mistake in every form in which repositories write objects, charts of Karpenter and its roles; and its twin."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodeclass, nodepool
from tests.plain_yaml import dump_yaml, load_all_yaml, load_yaml
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
Values = Mapping[str, object]
Files = dict[str, str]

OBJECTS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  weight: 10
  limits: {nvidia.com/gpu: GPUS}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 5m
    budgets: [{nodes: "10%"}, {nodes: "SHARE", schedule: "0 9 * * 1-5", duration: 8h}]
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: EXPIRY
      terminationGracePeriod: GRACE
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [FAMILY]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [ZONE]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  weight: 20
  limits: {cpu: 100}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 720h
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, TYPE]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64], minValues: MINIMUM}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: ROLE
  amiSelectorTerms: [{alias: al2023@v20260714}]
  instanceStorePolicy: RAID0
  metadataOptions: {httpPutResponseHopLimit: HOPS}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  userData: |
    #!/bin/bash
    SCRIPT
    SETUP
"""
ROWS: dict[str, tuple[str, object, object]] = {
    "FAMILY": ("driver-older-than-gpu", "g7", "g6"),
    "GPUS": ("limit-out-of-proportion", 1, 64),
    "SHARE": ("budget-without-effect", "50%", "0"),
    "EXPIRY": ("node-churn", "1m", "720h"),
    "GRACE": ("short-grace-period", "30s", "24h"),
    "ZONE": ("zone-of-another-region", "us-east-1a", "eu-west-1b"),
    "TYPE": ("unknown-value", "mac2.metal", "m6i.large"),
    "MINIMUM": ("refused-combination", 3, 1),
    "ROLE": ("controller-check", "arn:aws:iam::111122223333:role/nodes", "nodes"),
    "HOPS": ("vpc-from-metadata", 1, 2),
    "SCRIPT": ("user-data-family", "amazon-linux-extras install epel", "dnf install jq"),
    "SETUP": ("local-disks-set-up-twice", "setup-local-disks raid0", "dnf install tmux"),
}
"""Each word of the objects, with the rule that reports its first value and not the second."""
GOOD: Values = {word: good for word, (_, _, good) in ROWS.items()}
BAD: Values = {word: bad for word, (_, bad, _) in ROWS.items()}
CLUSTER = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: karpenter, region: eu-west-1}\n"
BALANCER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: balancer, namespace: kube-system}
spec:
  chart: {spec: {chart: aws-load-balancer-controller, version: 1.8.1}}
  values: {clusterName: main}
"""
AROUND = {"cluster.yaml": CLUSTER, "balancer.yaml": BALANCER}


def fill(values: Values, text: str = OBJECTS) -> str:
    for word, value in values.items():
        text = text.replace(word, str(value))
    return text


def indented(text: str, width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in text.splitlines())


def hcl(value: object) -> str:
    """A value as Terraform writes it; the words are references to variables."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {hcl(item)}' for key, item in value.items())} }}"
    return f"[{', '.join(map(hcl, value))}]" if isinstance(value, list) else json.dumps(value)


def referring(value: object) -> str:
    """The same with references in the place of words."""
    words = "|".join(ROWS)
    return re.sub(
        rf'"({words})"|({words})', lambda found: f"var.{found[1]}" if found[1] else f"${{var.{found[2]}}}", hcl(value)
    )


def documents() -> Iterator[tuple[int, object]]:
    return enumerate(load_all_yaml(re.sub(rf"(?<=[ \[])({'|'.join(ROWS)})(?=[\],}}\n])", r'"\1"', OBJECTS)))


def variables(values: Values, given: bool = True) -> str:
    return "".join(
        f'variable "{word}" {{\n{f"  default = {json.dumps(value)}" if given else ""}\n}}\n'
        for word, value in values.items()
    )


def resources(template: str, parts: Iterator[str]) -> str:
    return "".join(template.format(n=n, value=part) for n, part in enumerate(parts))


HEREDOC = 'resource "kubectl_manifest" "o{n}" {{\n  yaml_body = <<-YAML\n{value}  YAML\n}}\n'
BODY = 'resource "kubectl_manifest" "o{n}" {{\n  yaml_body = {value}\n}}\n'
MANIFEST = 'resource "kubernetes_manifest" "o{n}" {{\n  manifest = {value}\n}}\n'


def heredocs(text: str) -> str:
    return resources(HEREDOC, (indented(part, 4) for part in text.split("---\n")))


def as_chart(values: Values) -> Files:
    return {
        "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "pools/values.yaml": f"# karpenter\n{json.dumps(values)}\n",
        "pools/templates/objects.yaml": fill({word: f"{{{{ .Values.{word} }}}}" for word in values}),
    }


def as_module(values: Values) -> Files:
    arguments = "".join(f"  {word} = {json.dumps(value)}\n" for word, value in values.items())
    called = heredocs(fill({word: f"${{var.{word}}}" for word in values}))
    return {
        "main.tf": f'module "pools" {{\n  source = "./karpenter"\n{arguments}}}\n',
        "karpenter/main.tf": variables(values, given=False) + called,
    }


def as_template_files(values: Values) -> Files:
    arguments = ", ".join(f"{word} = var.{word}" for word in values)
    parts = fill({word: f"${{{word}}}" for word in values}).split("---\n")
    calls = (f'templatefile("${{path.module}}/o{n}.tftpl", {{ {arguments} }})' for n in range(len(parts)))
    return {
        "main.tf": variables(values) + resources(BODY, calls),
        **{f"o{n}.tftpl": part for n, part in enumerate(parts)},
    }


def as_overlay(values: Values) -> Files:
    parts = fill(values).split("---\n")
    names = [f"patch{n}.yaml" for n in range(len(parts))]
    return {
        "base/objects.yaml": fill(GOOD),
        "base/kustomization.yaml": "resources: [objects.yaml]\n",
        "overlay/kustomization.yaml": "resources: [../base]\npatches:\n"
        + "".join(f"- path: {name}\n" for name in names),
        **{f"overlay/{name}": part for name, part in zip(names, parts, strict=True)},
    }


AS_OBJECT = "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: pools, namespace: karpenter}}\nspec:\n"
FLUX = AS_OBJECT.format(version="helm.toolkit.fluxcd.io/v2", kind="HelmRelease") + (
    "  chart: {spec: {chart: ./pools, sourceRef: {kind: GitRepository, name: flux-system}}}\n  values: "
)
ARGO = AS_OBJECT.format(version="argoproj.io/v1alpha1", kind="Application") + (
    "  destination: {name: main}\n  source:\n    path: pools\n    helm:\n      valuesObject: "
)
HELMFILE = "# karpenter\nreleases:\n- name: pools\n  chart: ./pools\n  values:\n  - "
RELEASE = 'resource "helm_release" "pools" {{\n  name = "karpenter-pools"\n  chart = "${{path.module}}/pools"\n{}}}\n'
FORMS: dict[str, Callable[[Values], Files]] = {
    "yaml": lambda values: {"objects.yaml": fill(values)},
    "kustomize": as_overlay,
    "chart": as_chart,
    "flux": lambda values: {**as_chart(GOOD), "flux.yaml": FLUX + json.dumps(values)},
    "argo": lambda values: {**as_chart(GOOD), "argo.yaml": ARGO + json.dumps(values)},
    "helmfile": lambda values: {**as_chart(GOOD), "helmfile.yaml": HELMFILE + json.dumps(values)},
    "helm_release": lambda values: {
        **as_chart(GOOD),
        "main.tf": RELEASE.format(f"  values = [yamlencode({hcl(values)})]\n"),
    },
    "heredoc": lambda values: {"main.tf": heredocs(fill(values))},
    "module": as_module,
    "yamlencode": lambda values: {
        "main.tf": variables(values) + resources(BODY, (f"yamlencode({referring(d)})" for _, d in documents()))
    },
    "kubernetes_manifest": lambda values: {
        "main.tf": variables(values) + resources(MANIFEST, (referring(d) for _, d in documents()))
    },
    "templatefile": as_template_files,
    "script": lambda values: {"apply.sh": f"#!/bin/sh\nkubectl apply -f - <<EOF\n{fill(values)}EOF\n"},
}


def rules_found(nodelint: Run, folder: Path, files: Files, rules: str, *flags: str) -> set[str]:
    write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **files})
    done = nodelint("check", str(folder), "--format", "json", "--include", "**/*.sh", "--select", rules, *flags)
    return {found["rule"] for found in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("form", FORMS)
def test_a_mistake_of_an_object_and_its_twin(nodelint: Run, tmp_path: Path, form: str) -> None:
    rules = ",".join(rule for rule, _, _ in ROWS.values())
    flags = ("--profile", "strict")
    bad = rules_found(nodelint, tmp_path / "bad", {**AROUND, **FORMS[form](BAD)}, rules, *flags)
    assert set(rules.split(",")) - bad == set()
    assert rules_found(nodelint, tmp_path / "good", {**AROUND, **FORMS[form](GOOD)}, rules, *flags) == set()


SPOT = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [spot]") + "---\n" + nodeclass()
CONTROLLER = (
    'resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  namespace = "{space}"\n'
    '  repository = "oci://public.ecr.aws/karpenter"\n  chart = "karpenter"\n  version = "1.14.1"\n{more}}}\n'
)
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: karpenter, namespace: argocd}}
spec:
  destination: {{namespace: {space}, server: https://kubernetes.default.svc}}
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.14.1
    helm:
{more}"""
HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter, namespace: {space}}}
spec:
  chart: {{spec: {{chart: karpenter, version: 1.14.1, sourceRef: {{kind: HelmRepository, name: karpenter}}}}}}
  values: {more}
"""
INFLATED = """\
resources: [objects.yaml]
helmCharts:
- name: karpenter
  repo: oci://public.ecr.aws/karpenter
  namespace: {space}
  version: 1.14.1
  valuesInline: {more}
"""
RELEASES = (
    "releases:\n- name: karpenter\n  namespace: {space}\n  chart: oci://public.ecr.aws/karpenter/karpenter\n"
    "  version: 1.14.1\n  values:\n  - {more}\n"
)
COMMAND = (
    "#!/bin/sh\nhelm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter \\\n"
    "  --version 1.14.1 --namespace {space} {more}\n"
)


def settings_of(values: Values) -> list[tuple[str, object]]:
    return [(f"settings.{name}", value) for name, value in values.items()]


def in_terraform(more: Callable[[Values], str], **files: Callable[[Values], str]) -> Callable[[str, Values], Files]:
    return lambda space, values: {
        "chart.tf": CONTROLLER.format(space=space, more=more(values)),
        **{name.replace("_", "."): text(values) for name, text in files.items()},
    }


def as_json(values: Values) -> str:
    return json.dumps({"settings": values})


CHARTS: dict[str, Callable[[str, Values], Files]] = {
    "yamlencode": in_terraform(lambda values: f"  values = [yamlencode({hcl({'settings': values})})]\n"),
    "heredoc": in_terraform(lambda values: f"  values = [<<-EOT\n    {as_json(values)}\n  EOT\n  ]\n"),
    "set": in_terraform(
        lambda values: "".join(
            f'  set {{\n    name  = "{name}"\n    value = "{value}"\n  }}\n' for name, value in settings_of(values)
        )
    ),
    "list of set": in_terraform(
        lambda values: f"  set = {hcl([{'name': name, 'value': value} for name, value in settings_of(values)])}\n"
    ),
    "file": in_terraform(lambda _: '  values = [file("${path.module}/values.yaml")]\n', values_yaml=as_json),
    "templatefile": in_terraform(
        lambda _: '  values = [templatefile("${path.module}/values.tftpl", { a = 1 })]\n', values_tftpl=as_json
    ),
    "module": lambda space, values: {
        "main.tf": f'module "k" {{\n  source = "./k"\n  given = {hcl({"settings": values})}\n}}\n',
        "k/chart.tf": 'variable "given" {}\n'
        + CONTROLLER.format(space=space, more="  values = [yamlencode(var.given)]\n"),
    },
    "argo valuesObject": lambda space, values: {
        "a.yaml": APPLICATION.format(space=space, more=f"      valuesObject: {as_json(values)}\n")
    },
    "argo values": lambda space, values: {
        "a.yaml": APPLICATION.format(space=space, more=f"      values: |\n        {as_json(values)}\n")
    },
    "argo parameters": lambda space, values: {
        "a.yaml": APPLICATION.format(
            space=space,
            more="      parameters:\n"
            + "".join(
                f"      - {{name: {name}, value: {json.dumps(value)}}}\n" for name, value in settings_of(values)
            ),
        )
    },
    "flux": lambda space, values: {"f.yaml": HELM_RELEASE.format(space=space, more=as_json(values))},
    "helmfile": lambda space, values: {"helmfile.yaml": RELEASES.format(space=space, more=as_json(values))},
    "kustomize": lambda space, values: {"kustomization.yaml": INFLATED.format(space=space, more=as_json(values))},
    "flux in a kustomization": lambda space, values: {
        "kustomization.yaml": "resources: [objects.yaml, f.yaml]\n",
        "f.yaml": HELM_RELEASE.format(space=space, more=as_json(values)),
    },
    "script --set": lambda space, values: {
        "install.sh": COMMAND.format(
            space=space, more=" ".join(f"--set {name}={value}" for name, value in settings_of(values))
        )
    },
    "script -f": lambda space, values: {
        "install.sh": COMMAND.format(space=space, more="-f karpenter-values.yaml"),
        "karpenter-values.yaml": as_json(values),
    },
    "dependency": lambda _, values: {
        "k/Chart.yaml": "apiVersion: v2\nname: k\nversion: 0.1.0\n"
        "dependencies: [{name: karpenter, version: 1.14.1, repository: 'oci://public.ecr.aws/karpenter'}]\n",
        "k/values.yaml": dump_yaml({"karpenter": {"settings": values}}),
    },
}
WRONG_CHART = {
    "clusterName": "main",
    "clusterEndpoint": "https://kubernetes.default.svc",
    "defaultInstanceProfile": "x",
}
RIGHT_CHART = {"clusterName": "main", "interruptionQueue": "main"}


@pytest.mark.parametrize("form", CHARTS)
def test_a_value_of_the_chart_and_its_twin(nodelint: Run, tmp_path: Path, form: str) -> None:
    rules = "endpoint-inside-cluster,no-interruption-queue,unread-chart-value"
    for values, found in ((WRONG_CHART, set(rules.split(","))), (RIGHT_CHART, set())):
        files = {"objects.yaml": SPOT, **CHARTS[form]("karpenter", values)}
        assert rules_found(nodelint, tmp_path / str(len(found)), files, rules) == found


MODULE = (
    'module "karpenter" {{\n  source = "terraform-aws-modules/eks/aws//modules/karpenter"\n  version = "{version}"\n'
    '  count = 1\n  create_iam_role = true\n  cluster_name = "main"\n{more}}}\n'
)
IAM_MODULE = """\
module "irsa" {
  source                             = "terraform-aws-modules/iam/aws//modules/iam-role-for-service-accounts-eks"
  version                            = "5.44.0"
  attach_karpenter_controller_policy = true
  oidc_providers                     = { main = { namespace_service_accounts = ["SPACE:karpenter"] } }
}
"""
ASSOCIATION = """\
resource "aws_eks_pod_identity_association" "karpenter" {
  cluster_name    = "main"
  namespace       = "SPACE"
  service_account = "karpenter"
  role_arn        = "arn:aws:iam::111122223333:role/karpenter"
}
"""
TRUST = """\
resource "aws_iam_role" "karpenter" {
  name               = "karpenter"
  assume_role_policy = jsonencode({
    Statement = [{ Condition = { StringEquals = { "oidc:sub" = "system:serviceaccount:SPACE:karpenter" } } }]
  })
}
"""
DOCUMENT = """\
data "aws_iam_policy_document" "karpenter" {
  statement {
    condition {
      test     = "StringEquals"
      variable = "oidc:sub"
      values   = ["system:serviceaccount:SPACE:karpenter"]
    }
  }
}
"""
CLOUDFORMATION = """\
Resources:
  Karpenter:
    Type: AWS::EKS::PodIdentityAssociation
    Properties: {ClusterName: main, Namespace: SPACE, ServiceAccount: karpenter}
"""
PULUMI = """\
name: karpenter
runtime: yaml
resources:
  association:
    type: aws:eks:PodIdentityAssociation
    properties: {clusterName: main, namespace: SPACE, serviceAccount: karpenter}
"""
EKSCTL = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: main, region: eu-west-1}\niam:\n"
OF_21 = '  namespace = "SPACE"\n'
WITH_IRSA = '  enable_irsa = true\n  irsa_namespace_service_accounts = ["SPACE:karpenter"]\n'
GRANTS = {
    "module 21": ("m.tf", MODULE.format(version="~> 21.9", more=OF_21)),
    "module 20": (
        "m.tf",
        MODULE.format(version="20.36.0", more=OF_21 + "  create_pod_identity_association = true\n"),
    ),
    "module 20 with IRSA": ("m.tf", MODULE.format(version="20.36.0", more=WITH_IRSA)),
    "module 19": ("m.tf", MODULE.format(version="19.21.0", more=WITH_IRSA)),
    "module of IAM": ("m.tf", IAM_MODULE),
    "association": ("m.tf", ASSOCIATION),
    "trust": ("m.tf", TRUST),
    "document": ("m.tf", DOCUMENT),
    "cloudformation": ("roles.yaml", CLOUDFORMATION),
    "pulumi": ("Pulumi.yaml", PULUMI),
    "eksctl": (
        "cluster.yaml",
        f"{EKSCTL}  podIdentityAssociations:\n  - {{namespace: SPACE, serviceAccountName: karpenter}}\n",
    ),
    "eksctl with IRSA": (
        "cluster.yaml",
        f"{EKSCTL}  serviceAccounts:\n  - metadata: {{name: karpenter, namespace: SPACE}}\n",
    ),
}
INSTALLED = ("yamlencode", "argo values", "flux", "helmfile", "kustomize", "script --set")


@pytest.mark.parametrize("grant", GRANTS)
def test_a_role_for_another_namespace_and_its_twin(nodelint: Run, tmp_path: Path, grant: str) -> None:
    path, text = GRANTS[grant]
    for form in INSTALLED:
        for space, found in (("kube-system", {"service-account-elsewhere"}), ("karpenter", set())):
            files = {
                "objects.yaml": SPOT,
                path: text.replace("SPACE", space),
                **CHARTS[form]("karpenter", RIGHT_CHART),
            }
            folder = tmp_path / f"{form} {space}"
            assert rules_found(nodelint, folder, files, "service-account-elsewhere") == found, form


ROLE = """\
resource "aws_eks_cluster" "main" {
  name = "main"
  access_config {
    authentication_mode = "API"
  }
}
resource "aws_iam_role" "karpenter_node" {
  name               = "NAME"
  assume_role_policy = jsonencode({ Statement = [{ Principal = { Service = "ec2.amazonaws.com" } }] })
}
"""
ENTRY = """\
resource "aws_eks_access_entry" "node" {
  cluster_name  = "main"
  principal_arn = aws_iam_role.karpenter_node.arn
  type          = "EC2_LINUX"
}
"""
NODES = {
    "yaml": {"class.yaml": nodeclass()},
    "kustomize": {"class.yaml": nodeclass(), "kustomization.yaml": "resources: [class.yaml]\n"},
    "chart": {
        "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
        "c/values.yaml": "# karpenter\nrole: KarpenterNodeRole-main\n",
        "c/templates/class.yaml": nodeclass(role="{{ .Values.role }}"),
    },
    "heredoc": {"class.tf": heredocs(nodeclass())},
    "yamlencode": {"class.tf": resources(BODY, iter([f"yamlencode({hcl(load_yaml(nodeclass()))})"]))},
}


@pytest.mark.parametrize("form", NODES)
def test_a_role_of_nodes_and_its_twin(nodelint: Run, tmp_path: Path, form: str) -> None:
    rules = "node-role-without-access,role-of-another-name"
    for name, more, found in (
        ("KarpenterNodeRole", ENTRY, {"role-of-another-name"}),
        ("KarpenterNodeRole-main", "", {"node-role-without-access"}),
        ("KarpenterNodeRole-main", ENTRY, set()),
    ):
        files = {**NODES[form], "roles.tf": ROLE.replace("NAME", name) + more}
        assert rules_found(nodelint, tmp_path / "-".join(found or ["right"]), files, rules) == found
