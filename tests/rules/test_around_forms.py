"""What stands around NodePools and classes, as repositories have it: GitHub, Terragrunt, modules, scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.manifests import nodepool
from tests.plain_yaml import load_all_yaml
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

MODULE = "terraform-aws-modules/eks/aws//modules/karpenter"
GITHUB = "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git//modules/karpenter?ref=v"
CALL = 'module "karpenter" {{\n  source       = "{source}"\n  cluster_name = "main"\n{more}}}\n'
TERRAGRUNT = 'terraform {{\n  source = "{source}"\n}}\ninputs = {{\n  cluster_name = dependency.eks.name\n{more}}}\n'
WAYS: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "plain": ("main.tf", CALL, lambda version: f'{MODULE}"\n  version      = "{version}'),
    "github": ("main.tf", CALL, lambda version: f"{GITHUB}{version}"),
    "terragrunt-github": ("karpenter/terragrunt.hcl", TERRAGRUNT, lambda version: f"{GITHUB}{version}"),
    "terragrunt-registry": ("karpenter/terragrunt.hcl", TERRAGRUNT, lambda v: f"tfr:///{MODULE}?version={v}"),
}


def findings_of(nodelint: Run, folder: Path, files: Mapping[str, str], rule: str) -> list[tuple[str, int, str]]:
    """Return the file, the line and the message of each finding of a rule."""
    write_files(folder, files)
    found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rule).stdout)["findings"]
    return [(f["path"].rpartition("/")[2], f["start"]["line"], f["message"]) for f in found]


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("way", WAYS)
def test_the_permissions_of_a_module_however_it_is_called(nodelint: Run, tmp_path: Path, way: str, ends: str) -> None:
    path, frame, source = WAYS[way]
    for name, version, more, count in (
        ("old", "20.36.0", "", 1),
        ("switched", "20.36.0", "  enable_v1_permissions = true\n", 0),
        ("new", "21.9.0", "", 0),
    ):
        text = frame.format(source=source(version), more=more).replace("\n", ends)
        found = findings_of(
            nodelint, tmp_path / name, {path: text, "pool.yaml": nodepool()}, "controller-permissions"
        )
        assert [place for place, _, _ in found] == [path.rpartition("/")[2]] * count, name


CHART = 'resource "helm_release" "karpenter" {\n  name = "karpenter"\n  chart = "karpenter"\n}\n'
OBJECT = 'resource "kubernetes_manifest" "pool" {{\n{more}  manifest = {value}\n}}\n'
IN_HCL = (
    '{\n    apiVersion = "karpenter.sh/v1"\n    kind       = "NodePool"\n    metadata   = { name = "default" }\n  }'
)
POOL = OBJECT.format(more="", value=IN_HCL)
BOTH = 'module "karpenter" {{\n  source = "./chart"\n}}\nmodule "pools" {{\n  source = "./pools"\n{more}}}\n'
EACH = OBJECT.format(more="  for_each = var.pools\n", value=IN_HCL)
MAP = 'variable "pools" {{\n  type = any\n  default = {{\n{rows}  }}\n}}\n'
TEMPLATE = 'data "template_file" "pool" {{\n  template = file("${{path.module}}/{path}")\n}}\n'
PLANS = {
    "file": (
        {
            "main.tf": CHART + OBJECT.format(more="", value='yamldecode(file("./manifests/pool.yaml"))'),
            "manifests/pool.yaml": nodepool(),
        },
        1,
    ),
    "template": (
        {
            "main.tf": CHART
            + TEMPLATE.format(path="pool.tpl")
            + OBJECT.format(more="", value="yamldecode(data.template_file.pool.rendered)"),
            "pool.tpl": nodepool(),
        },
        1,
    ),
    "other template": (
        {
            "main.tf": CHART
            + TEMPLATE.format(path="map.tpl")
            + OBJECT.format(more="", value="yamldecode(data.template_file.pool.rendered)"),
            "map.tpl": "apiVersion: v1\nkind: ConfigMap\n# karpenter\n",
            "pool.tpl": nodepool(),
        },
        0,
    ),
    "modules": ({"main.tf": BOTH.format(more=""), "chart/main.tf": CHART, "pools/main.tf": POOL}, 1),
    "switch": ({"main.tf": BOTH.format(more="  count = 0\n"), "chart/main.tf": CHART, "pools/main.tf": POOL}, 0),
    "two roots": ({"chart/main.tf": CHART, "pools/main.tf": POOL}, 0),
    "filled map": ({"main.tf": CHART + EACH, "variables.tf": MAP.format(rows="    web = {}\n")}, 1),
    "empty map": ({"main.tf": CHART + EACH, "variables.tf": MAP.format(rows="")}, 0),
}


@pytest.mark.parametrize("plan", PLANS)
def test_objects_that_terraform_plans_together_with_the_chart(nodelint: Run, tmp_path: Path, plan: str) -> None:
    files, count = PLANS[plan]
    assert len(findings_of(nodelint, tmp_path, files, "manifest-before-crds")) == count


SCRIPT = """\
#!/bin/sh
NAMESPACE="{namespace}"
cat > trust.json <<END
{{"Condition": {{"StringEquals": {{"$OIDC:sub": "system:serviceaccount:kube-system:karpenter"}}}}}}
END
helm --kube-context main upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter \\
  --namespace "$NAMESPACE" --version 1.14.1 --set settings.clusterName=main{more}
"""


def test_a_script_that_makes_the_role_and_installs_the_chart(nodelint: Run, tmp_path: Path) -> None:
    for namespace, lines in (("karpenter", [4]), ("kube-system", [])):
        files = {"install.sh": SCRIPT.format(namespace=namespace, more=""), "pool.yaml": nodepool()}
        found = findings_of(nodelint, tmp_path / namespace, files, "service-account-elsewhere")
        assert [line for _, line, _ in found] == lines


def test_a_value_that_the_chart_of_a_command_with_flags_does_not_read(nodelint: Run, tmp_path: Path) -> None:
    unread = SCRIPT.format(namespace="karpenter", more=" --set settings.defaultInstanceProfile=nodes")
    found = findings_of(nodelint, tmp_path, {"install.sh": unread, "pool.yaml": nodepool()}, "unread-chart-value")
    assert [(line, "1.14.1" in message) for _, line, message in found] == [(7, True)]


VALUES_OF_MODULE = """\
variable "cluster" {}
resource "helm_release" "karpenter" {
  name    = "karpenter"
  chart   = "karpenter"
  version = "1.9.0"
  values = [jsonencode({
    settings  = { clusterName = var.cluster }
    resources = { limits = { cpu = "1" } }
  })]
}
"""


def test_a_value_of_a_module_is_found_once_where_it_is_written(nodelint: Run, tmp_path: Path) -> None:
    callers = {
        f"{name}/main.tf": f'module "k" {{\n  source  = "../module"\n  cluster = "{name}"\n}}\n'
        for name in ("x", "a-long-name", "another-name-of-a-cluster")
    }
    found = findings_of(nodelint, tmp_path, {"module/main.tf": VALUES_OF_MODULE, **callers}, "unread-chart-value")
    assert [(path, line) for path, line, _ in found] == [("main.tf", 8)]


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: {role}
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
"""
IMAGES = "  amiSelectorTerms: [{alias: al2023@v20260714}]\n"


@pytest.mark.parametrize(
    ("role", "count"),
    [
        ("${node_role_arn}", 1),
        ("$NODE_ROLE_ARN", 1),
        ("'{{ .Values.nodeRoleArn }}'", 1),
        ("${node_role_name}", 0),
        ("'{{ .Values.nodeRole }}'", 0),
    ],
)
def test_a_role_by_a_variable_that_is_called_an_arn(nodelint: Run, tmp_path: Path, role: str, count: int) -> None:
    files = {"class.yaml": CLASS.format(role=role) + IMAGES}
    assert len(findings_of(nodelint, tmp_path, files, "controller-check")) == count


WORKFLOW = """\
on: push
jobs:
  deploy:
    steps:
      - run: |
          cat <<-END | kubectl apply -f -
{text}          END
          echo done
"""


def test_a_heredoc_with_a_dash_in_a_block_scalar(nodelint: Run, tmp_path: Path) -> None:
    text = "".join(f"          {line}\n" for line in CLASS.format(role="nodes").splitlines())
    files = {".github/workflows/deploy.yaml": WORKFLOW.format(text=text)}
    found = findings_of(nodelint, tmp_path, files, "invalid-field,refused-combination")
    assert any("amiSelectorTerms" in message for _, _, message in found)


@pytest.mark.parametrize(("path", "count"), [("patch-class.yaml", 0), ("patches/class.yaml", 0), ("class.yaml", 1)])
def test_a_file_that_is_called_a_patch_lacks_what_it_does_not_change(
    nodelint: Run, tmp_path: Path, path: str, count: int
) -> None:
    found = findings_of(nodelint, tmp_path, {path: CLASS.format(role="nodes")}, "invalid-field,refused-combination")
    assert len(found) == count


BOUND = """\
      requirements:
        # Generation 5+ ({more})
        - {{key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["5"]}}
"""


@pytest.mark.parametrize(("more", "count"), [("for modern performance", 1), ("Graviton starts at gen 6", 0)])
def test_a_comment_that_names_where_the_bound_begins(nodelint: Run, tmp_path: Path, more: str, count: int) -> None:
    text = nodepool().replace("      requirements: []\n", BOUND.format(more=more), 1)
    assert "Generation 5+" in text
    assert len(findings_of(nodelint, tmp_path, {"pool.yaml": text}, "comment-against-value")) == count


ZONES = "      requirements:\n        - {{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}\n"
PROVIDER = 'provider "aws" {\n  region = "eu-west-1"\n}\n# karpenter\n'
EKSCTL = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata:\n  name: karpenter\n  region: eu-west-1\n"


def zoned(zone: str) -> str:
    return nodepool().replace("      requirements: []\n", ZONES.format(zone=zone), 1)


def in_terraform(zone: str) -> dict[str, str]:
    text = "".join(f"    {line}\n" for line in zoned("${var.zone}").splitlines())
    pool = f'variable "zone" {{}}\nresource "kubectl_manifest" "pool" {{\n  yaml_body = <<-YAML\n{text}  YAML\n}}\n'
    call = f'module "pools" {{\n  source = "./karpenter"\n  zone   = "{zone}"\n}}\n'
    return {"main.tf": PROVIDER + call, "karpenter/main.tf": pool}


REGIONS: dict[str, Callable[[str], dict[str, str]]] = {
    "yaml": lambda zone: {"cluster.yaml": EKSCTL, "pool.yaml": zoned(zone)},
    "chart": lambda zone: {
        "main.tf": PROVIDER,
        "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "pools/values.yaml": f"zone: {zone}\n",
        "pools/templates/pool.yaml": zoned("{{ .Values.zone }}"),
    },
    "terraform": in_terraform,
}


@pytest.mark.parametrize("form", REGIONS)
def test_zones_of_another_region_than_the_cluster(nodelint: Run, tmp_path: Path, form: str) -> None:
    for zone, count in (("us-east-1a", 1), ("eu-west-1b", 0)):
        found = findings_of(nodelint, tmp_path / zone[:2], REGIONS[form](zone), "zone-of-another-region")
        assert len(found) == count, zone


VARIABLE = (
    'variable "region" {\n  default = "eu-west-1"\n}\nprovider "aws" {\n  region = var.region\n}\n# karpenter\n'
)
INSTALL = "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.3"
ADDRESS = "https://0123ABCD.gr7.eu-west-1.eks.amazonaws.com"
STATED = {
    "provider": ({"main.tf": PROVIDER}, ["warning"]),
    "default": ({"main.tf": VARIABLE}, ["info"]),
    "tfvars": ({"main.tf": VARIABLE, "terraform.tfvars": 'region = "eu-west-1"\n'}, ["warning"]),
    "subnets": ({"main.tf": 'module "vpc" {\n  azs = ["eu-west-1a", "eu-west-1b"]\n}\n# karpenter\n'}, ["warning"]),
    "script": ({"install.sh": f"export AWS_REGION=eu-west-1\n{INSTALL}\n"}, ["warning"]),
    "endpoint": ({"install.sh": f"{INSTALL} --set settings.clusterEndpoint={ADDRESS}\n"}, ["warning"]),
    "other script": ({"backup.sh": "export AWS_REGION=eu-west-1\n# karpenter\n"}, []),
    "two clusters": ({"main.tf": PROVIDER + "# another cluster is in us-east-1\n"}, []),
}


@pytest.mark.parametrize("way", STATED)
def test_what_states_the_region(nodelint: Run, tmp_path: Path, way: str) -> None:
    files, severities = STATED[way]
    for zone, expected in (("us-east-1a", severities), ("eu-west-1b", [])):
        folder = tmp_path / zone[:2]
        write_files(folder, {".git/HEAD": "", **files, "pool.yaml": zoned(zone)})
        done = nodelint("check", str(folder), "--format", "json", "--select", "zone-of-another-region")
        assert [finding["severity"] for finding in json.loads(done.stdout)["findings"]] == expected


@pytest.mark.parametrize(("folder", "count"), [("us-east-1", 0), ("east", 1)])
def test_a_region_in_the_path_of_a_pool(nodelint: Run, tmp_path: Path, folder: str, count: int) -> None:
    files = {"main.tf": PROVIDER, f"{folder}/pool.yaml": zoned("us-east-1a")}
    assert len(findings_of(nodelint, tmp_path, files, "zone-of-another-region")) == count


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ("", "no-instance-type"),
        (PROVIDER, "zone-of-another-region"),
        (PROVIDER + "# us-east-1\n", "no-instance-type"),
    ],
)
def test_two_pools_of_which_one_is_in_the_region_of_the_cluster(
    nodelint: Run, tmp_path: Path, more: str, rule: str
) -> None:
    """One finding, at the pool that is wrong if that is known."""
    pools = {f"{name}.yaml": zoned(zone) for name, zone in (("a", "eu-west-1b"), ("b", "us-east-1a"))}
    pools["b.yaml"] = pools["b.yaml"].replace("name: default", "name: other", 1)
    files = {**pools, "class.yaml": CLASS.format(role="nodes") + IMAGES, "main.tf": f"# karpenter\n{more}"}
    write_files(tmp_path, {".git/HEAD": "", **files})
    rules = "no-instance-type,zone-of-another-region"
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", rules)
    assert [finding["rule"] for finding in json.loads(done.stdout)["findings"]] == [rule]


def test_a_region_of_an_alias_is_not_that_of_the_cluster(nodelint: Run, tmp_path: Path) -> None:
    alias = 'provider "aws" {\n  alias  = "karpenter"\n  region = "us-east-1"\n}\n'
    assert (
        findings_of(
            nodelint, tmp_path, {"main.tf": alias, "pool.yaml": zoned("eu-west-1b")}, "zone-of-another-region"
        )
        == []
    )


OBJECTS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 720h
      terminationGracePeriod: GRACE
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [FAMILY]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: ROLE
  amiSelectorTerms: [{alias: al2023@v20260714}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  userData: |
    #!/bin/bash
    SCRIPT
"""
WRONG = {
    "FAMILY": ("driver-older-than-gpu", "g7", "g6"),
    "GRACE": ("short-grace-period", "30s", "24h"),
    "ROLE": ("controller-check", "arn:aws:iam::111122223333:role/nodes", "nodes"),
    "SCRIPT": ("user-data-family", "amazon-linux-extras install epel", "dnf install jq"),
}
"""Each word of the objects, with the rule that reports its first value and not the second."""


def fill(values: Mapping[str, str], text: str = OBJECTS) -> str:
    for word, value in values.items():
        text = text.replace(word, value)
    return text


def as_chart(values: Mapping[str, str]) -> dict[str, str]:
    return {
        "pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "pools/values.yaml": f"# karpenter\n{json.dumps(values)}\n",
        "pools/templates/objects.yaml": fill({word: f"{{{{ .Values.{word} }}}}" for word in values}),
    }


def as_manifests(text: str) -> str:
    """Two objects as `kubectl_manifest`, each in a heredoc."""
    blocks = []
    for n, document in enumerate(text.split("---\n")):
        lines = "".join(f"    {line}\n" for line in document.splitlines())
        blocks.append(f'resource "kubectl_manifest" "o{n}" {{\n  yaml_body = <<-YAML\n{lines}  YAML\n}}\n')
    return "".join(blocks)


def as_module(values: Mapping[str, str]) -> dict[str, str]:
    variables = "".join(f'variable "{word}" {{}}\n' for word in values)
    arguments = "".join(f"  {word} = {json.dumps(value)}\n" for word, value in values.items())
    called = as_manifests(fill({word: f"${{var.{word}}}" for word in values}))
    return {
        "main.tf": f'module "pools" {{\n  source = "./karpenter"\n{arguments}}}\n',
        "karpenter/main.tf": variables + called,
    }


def as_encoded(values: Mapping[str, str]) -> dict[str, str]:
    variables = "".join(f'variable "{w}" {{\n  default = {json.dumps(value)}\n}}\n' for w, value in values.items())
    blocks = []
    for n, document in enumerate(load_all_yaml(OBJECTS)):
        text = fill({word: f"${{var.{word}}}" for word in values}, json.dumps(document))
        blocks.append(f'resource "kubectl_manifest" "o{n}" {{\n  yaml_body = yamlencode({text})\n}}\n')
    return {"main.tf": variables + "".join(blocks)}


RELEASE = "spec:\n  chart: {spec: {chart: ./pools, sourceRef: {kind: GitRepository, name: flux-system}}}\n  values: "
APPLICATION = "spec:\n  destination: {name: main}\n  source:\n    path: pools\n    helm:\n      valuesObject: "
AS_OBJECT = "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: pools, namespace: karpenter}}\n"
FLUX = AS_OBJECT.format(version="helm.toolkit.fluxcd.io/v2", kind="HelmRelease") + RELEASE
ARGO = AS_OBJECT.format(version="argoproj.io/v1alpha1", kind="Application") + APPLICATION
GOOD = {word: good for word, (_, _, good) in WRONG.items()}
FORMS: dict[str, Callable[[Mapping[str, str]], dict[str, str]]] = {
    "yaml": lambda values: {"objects.yaml": fill(values)},
    "chart": as_chart,
    "flux": lambda values: {**as_chart(GOOD), "flux.yaml": FLUX + json.dumps(values)},
    "argo": lambda values: {**as_chart(GOOD), "argo.yaml": ARGO + json.dumps(values)},
    "heredoc": lambda values: {"main.tf": as_manifests(fill(values))},
    "module": as_module,
    "yamlencode": as_encoded,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_mistake_is_found_in_every_form_and_its_twin_is_not(nodelint: Run, tmp_path: Path, form: str) -> None:
    rules = ",".join(rule for rule, _, _ in WRONG.values())
    for name, values in (("bad", {word: bad for word, (_, bad, _) in WRONG.items()}), ("good", GOOD)):
        folder = tmp_path / name
        write_files(folder, {".git/HEAD": "ref: refs/heads/main\n", **FORMS[form](values)})
        found = json.loads(nodelint("check", str(folder), "--format", "json", "--select", rules).stdout)["findings"]
        assert {f["rule"] for f in found} == (set(rules.split(",")) if name == "bad" else set())


MAP_OF_ROLES = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: aws-auth, namespace: kube-system}}
data:
  mapRoles: |
    - rolearn: arn:aws:iam::111122223333:role/{role}
      groups: [system:bootstrappers, system:nodes]
"""


@pytest.mark.parametrize(
    ("in_a", "in_b", "lacking"),
    [
        ("nodes-a", "nodes-b", []),
        ("nodes-a", "managed", ["b"]),
        ("nodes-b", "nodes-a", ["a", "b"]),
        ("nodes-a", None, []),
        ("managed", None, ["a"]),
    ],
)
def test_each_cluster_has_its_own_list_of_roles(
    nodelint: Run, tmp_path: Path, in_a: str, in_b: str | None, lacking: list[str]
) -> None:
    files = {f"{name}/class.yaml": CLASS.format(role=f"nodes-{name}") + IMAGES for name in "ab"}
    files |= {f"{n}/auth.yaml": MAP_OF_ROLES.format(role=role) for n, role in (("a", in_a), ("b", in_b)) if role}
    write_files(tmp_path, files)
    found = json.loads(
        nodelint("check", str(tmp_path), "--format", "json", "--select", "node-role-without-access").stdout
    )["findings"]
    assert [Path(f["path"]).parent.name for f in found] == lacking


@pytest.mark.parametrize(("name", "severity"), [("pool.yaml", "warning"), ("spot-backup.yaml", "info")])
def test_an_exported_object_in_a_backup_is_a_hint(nodelint: Run, tmp_path: Path, name: str, severity: str) -> None:
    exported = nodepool().replace("metadata:\n", 'metadata:\n  resourceVersion: "1"\n', 1)
    write_files(tmp_path, {name: exported})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "exported-metadata")
    assert [found["severity"] for found in json.loads(done.stdout)["findings"]] == [severity]
