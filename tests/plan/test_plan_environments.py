"""What applies a chart, a root module or an overlay is the same on both sides, whatever it gives.

Each file of variables and of values, each release and each call of a module is compared with itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.repositories import write_files

Files = Mapping[str, str]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ci}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: ci}
      expireAfter: 720h
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: FAMILIES}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ci}
spec:
  role: ROLE
  amiSelectorTerms: [{alias: al2023@v20250807}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


def manifest(name: str, text: str) -> str:
    return f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<-YAML\n{indented(text, 4)}  YAML\n}}\n'


VARIABLES = """\
variable "cluster" {
  type = string
}
variable "families" {
  type    = list(string)
  default = ["m6i"]
}
"""
TEMPLATE = POOL.replace("FAMILIES", "${jsonencode(families)}")
FILLED = """\
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/pool.yaml.tftpl", { families = var.families })
}
"""
OWN_CLASS = manifest("class", CLASS.replace("ROLE", "role-${var.cluster}"))
OWN_POOL = manifest("pool", POOL.replace("FAMILIES", "[m6i]"))
READ_POOL = 'resource "kubectl_manifest" "pool" {\n  yaml_body = file("${path.module}/pool.yaml")\n}\n'
ROOT = {
    "main.tf": VARIABLES + FILLED + OWN_CLASS,
    "pool.yaml.tftpl": TEMPLATE,
    "envs/prod.tfvars": 'cluster = "prod"\nfamilies = ["r6i"]\n',
}
DEFAULTED = {**ROOT, "main.tf": ROOT["main.tf"].replace("type = string", 'default = "acme"')}
MODULE = {f"modules/nodes/{path}": text for path, text in ROOT.items() if "/" not in path}


def call(name: str, families: str = "", cluster: str = "") -> str:
    given = f'  cluster = "{cluster or name}"\n' + (f"  families = {families}\n" if families else "")
    return f'module "{name}" {{\n  source = "../modules/nodes"\n{given}}}\n'


PASSED_ON = VARIABLES + (
    'module "nodes" {\n  source = "../modules/nodes"\n  cluster = var.cluster\n  families = var.families\n}\n'
)

CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\n",
    "chart/values.yaml": "families: [m6i]\ncluster: acme\nnote: x\n",
    "chart/templates/pool.yaml": POOL.replace("FAMILIES", "{{ toJson .Values.families }}"),
    "chart/templates/class.yaml": CLASS.replace("ROLE", "role-{{ .Values.cluster }}"),
}
VALUES = {**CHART, "chart/values-prod.yaml": "families: [r6i]\n"}


def application(name: str, helm: str = "") -> str:
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n"
        "spec:\n  project: default\n  source:\n    repoURL: https://example.com/x.git\n    path: chart\n"
        f"{f'    helm: {helm}' if helm else ''}\n  destination: {{name: {name}, namespace: kube-system}}\n"
    )


ARGO = {**CHART, "apps/prod.yaml": application("prod", "{valuesObject: {families: [r6i]}}")}


def release(values: str = "") -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: nodes, namespace: kube-system}\n"
        "spec:\n  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}\n"
        f"{f'  values: {values}' if values else ''}\n"
    )


FLUX = {**CHART, "prod/release.yaml": release("{families: [r6i]}")}


def helmfile(values: str = "") -> str:
    own = f"  values: [{values}]\n" if values else ""
    of_prod = "- name: prod\n  chart: ./chart\n  values: [{families: [r6i]}]\n"
    return f"releases:\n- name: dev\n  chart: ./chart\n{own}{of_prod}"


def terraform_release(values: str = "") -> str:
    own = f"  values = [yamlencode({values})]\n" if values else ""
    return f'resource "helm_release" "dev" {{\n  name = "dev"\n  chart = "./chart"\n{own}}}\n' + (
        'resource "helm_release" "prod" {\n  name = "prod"\n  chart = "./chart"\n'
        '  values = [yamlencode({ families = ["r6i"] })]\n}\n'
    )


BASE = "resources: [../base]\n"
OVERLAYS = {
    "base/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "base/pool.yaml": POOL.replace("FAMILIES", "[m6i]"),
    "base/class.yaml": CLASS.replace("ROLE", "role"),
    "prod/kustomization.yaml": BASE,
}


def patch(kind: str, path: str, value: str) -> str:
    return f"patches:\n- target: {{kind: {kind}}}\n  patch: |-\n    - {{op: replace, path: {path}, value: {value}}}\n"


OTHER_FAMILIES = patch("NodePool", "/spec/template/spec/requirements/0/values", "[c7i]")
OTHER_ROLE = patch("EC2NodeClass", "/spec/role", "other")

Case = tuple[Files, str, str, str]
"""The files that stay, the one that changes, and its text before and after."""

REPLACED: dict[str, Case] = {
    "tfvars, a first variable of the pool": (
        ROOT,
        "envs/dev.tfvars",
        'cluster = "dev"\n',
        'cluster = "dev"\nfamilies = ["c7i"]\n',
    ),
    "tfvars, the default before": (
        DEFAULTED,
        "envs/dev.tfvars",
        'families = ["m6i"]\n',
        'families = ["c7i"]\n',
    ),
    "tfvars, empty before": (DEFAULTED, "envs/dev.tfvars", "", 'families = ["c7i"]\n'),
    "tfvars, no variable of the root before": (DEFAULTED, "dev.tfvars", "x = 1\n", 'x = 1\nfamilies = ["c7i"]\n'),
    "tfvars, the class alone": (
        ROOT,
        "envs/prod.tfvars",
        ROOT["envs/prod.tfvars"],
        'cluster = "new"\nfamilies = ["r6i"]\n',
    ),
    "tfvars of a root that calls a module": (
        {**MODULE, "live/main.tf": PASSED_ON, "live/prod.tfvars": ROOT["envs/prod.tfvars"]},
        "live/dev.tfvars",
        'cluster = "dev"\n',
        'cluster = "dev"\nfamilies = ["c7i"]\n',
    ),
    "a pool without variables in a root with environments": (
        {"main.tf": VARIABLES + OWN_CLASS, "dev.tfvars": 'cluster = "dev"\n', "pool.tf": OWN_POOL},
        "prod.tfvars",
        'cluster = "prod"\n',
        'cluster = "new"\n',
    ),
    "a pool in a file that such a root reads": (
        {
            "main.tf": VARIABLES + OWN_CLASS + READ_POOL,
            "dev.tfvars": 'cluster = "dev"\n',
            "pool.yaml": POOL.replace("FAMILIES", "[m6i]"),
        },
        "prod.tfvars",
        'cluster = "prod"\n',
        'cluster = "new"\n',
    ),
    "a module called twice": (MODULE, "live/main.tf", call("a") + call("b"), call("a") + call("b", '["c7i"]')),
    "a module called twice, the class alone": (
        MODULE,
        "live/main.tf",
        call("a") + call("b"),
        call("a") + call("b", cluster="c"),
    ),
    "values, the first that the pool prints": (
        VALUES,
        "chart/values-dev.yaml",
        "note: y\n",
        "note: y\nfamilies: [c7i]\n",
    ),
    "values, the class alone": (VALUES, "chart/values-dev.yaml", "note: y\n", "cluster: dev\n"),
    "an Application without values": (
        ARGO,
        "apps/dev.yaml",
        application("dev"),
        application("dev", "{valuesObject: {families: [c7i]}}"),
    ),
    "an Application with a parameter more": (
        ARGO,
        "apps/dev.yaml",
        application("dev", "{parameters: [{name: note, value: y}]}"),
        application("dev", "{parameters: [{name: note, value: y}, {name: cluster, value: z}]}"),
    ),
    "an Application that takes a values file": (
        {**ARGO, "chart/values-dev.yaml": "families: [c7i]\n"},
        "apps/dev.yaml",
        application("dev"),
        application("dev", "{valueFiles: [values-dev.yaml]}"),
    ),
    "a HelmRelease without values": (FLUX, "dev/release.yaml", release(), release("{families: [c7i]}")),
    "a release of a helmfile without values": (CHART, "helmfile.yaml", helmfile(), helmfile("{families: [c7i]}")),
    "a helm_release without values": (
        CHART,
        "main.tf",
        terraform_release(),
        terraform_release('{ families = ["c7i"] }'),
    ),
    "an overlay without a patch": (OVERLAYS, "dev/kustomization.yaml", BASE, BASE + OTHER_FAMILIES),
    "an overlay without a patch, the class alone": (OVERLAYS, "dev/kustomization.yaml", BASE, BASE + OTHER_ROLE),
}
HELMFILE = {
    **CHART,
    "helmfile.yaml": "environments:\n  dev: {}\n  prod: {}\n---\nreleases:\n- name: nodes\n  chart: ./chart\n"
    "  values: ['envs/{{ .Environment.Name }}.yaml']\n",
    "envs/dev.yaml": "families: [m6i]\n",
    "envs/prod.yaml": "families: [r6i]\n",
}
"""A release whose values file the name of an environment chooses."""
REPLACED["an environment of a helmfile"] = (HELMFILE, "envs/dev.yaml", "families: [m6i]\n", "families: [c7i]\n")
REPLACED["a values file without a value"] = (
    CHART,
    "chart/values-dev.yaml",
    "# families: [c7i]\n",
    "families: [c7i]\n",
)
UNCHANGED: dict[str, Case] = {
    "an environment of a helmfile, a value that nothing prints": (
        HELMFILE,
        "envs/dev.yaml",
        "families: [m6i]\n",
        "families: [m6i]\nnote: y\n",
    ),
    "a helmfile whose environments give each other values than the chart": (
        HELMFILE,
        "chart/values.yaml",
        CHART["chart/values.yaml"],
        CHART["chart/values.yaml"].replace("m6i", "c7i"),
    ),
    "tfvars, the default": (ROOT, "envs/dev.tfvars", 'cluster = "dev"\n', 'cluster = "dev"\nfamilies = ["m6i"]\n'),
    "tfvars, a variable of nothing": (ROOT, "envs/dev.tfvars", 'cluster = "dev"\n', 'cluster = "dev"\nx = 1\n'),
    "a value that nothing prints": (VALUES, "chart/values-dev.yaml", "note: y\n", "note: z\n"),
    "an Application with such a value": (
        ARGO,
        "apps/dev.yaml",
        application("dev"),
        application("dev", "{valuesObject: {note: y}}"),
    ),
    "a HelmRelease with such a value": (FLUX, "dev/release.yaml", release(), release("{note: y}")),
    "a release of a helmfile with such a value": (CHART, "helmfile.yaml", helmfile(), helmfile("{note: y}")),
    "a defaults that each environment gives otherwise": (
        {**ROOT, "envs/dev.tfvars": 'cluster = "dev"\nfamilies = ["c7i"]\n'},
        "main.tf",
        ROOT["main.tf"],
        ROOT["main.tf"].replace("m6i", "m7i"),
    ),
}


def plan(nodelint: Run, folder: Path, case: Case, back: bool) -> tuple[int, list[dict[str, str]], str]:
    files, path, before, after = case
    texts = (after, before) if back else (before, after)
    for name, text in zip(("old", "new"), texts, strict=True):
        write_files(folder / name, {**files, path: text})
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    report = json.loads(done.stdout)
    return done.returncode, report["nodePools"], done.stdout


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("name", REPLACED)
def test_the_nodes_of_one_environment_are_replaced(nodelint: Run, tmp_path: Path, name: str, back: bool) -> None:
    code, pools, text = plan(nodelint, tmp_path, REPLACED[name], back)
    changes = sorted(pool["change"] for pool in pools)
    verdicts = [pool["replaced"] for pool in pools]
    assert code == 1
    assert set(changes) <= {"unchanged", "changed"}, changes
    assert "several classes" not in text
    assert [verdict for verdict in verdicts if verdict != "none"] == ["all"], verdicts


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("name", UNCHANGED)
def test_nothing_changes_in_any_environment(nodelint: Run, tmp_path: Path, name: str, back: bool) -> None:
    code, pools, text = plan(nodelint, tmp_path, UNCHANGED[name], back)
    assert {pool["change"] for pool in pools} == {"unchanged"}, text
    assert (code, "several classes" in text) == (0, False)
