"""A run over a part of a repository says of the objects of the part what a run over all of it says."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    metadata: {labels: {team: web}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: ["ARCH"]}
"""
RIGHT, WRONG = "amd64", "spot"


def _pool(arch: str) -> str:
    return POOL.replace("ARCH", arch)


PROVIDER = 'terraform {\n  required_providers {\n    kubectl = { source = "gavinbunney/kubectl" }\n  }\n}\n'
BLOCK = PROVIDER + 'resource "kubectl_manifest" "p" {\n  yaml_body = BODY\n}\n'
MODULE = {
    "modules/pool/main.tf": BLOCK.replace("BODY", f"<<EOF\n{_pool('${var.arch}')}EOF"),
    "modules/pool/variables.tf": 'variable "arch" { type = string }\n',
}
CALL = '# nodes of karpenter\nmodule "m" {\n  source = "../../modules/pool"\n  arch = "ARCH"\n}\n'
NESTED = {
    **MODULE,
    "modules/pools/main.tf": 'variable "arch" {}\nmodule "m" {\n  source = "../pool"\n  arch = var.arch\n}\n',
}
CHART = {
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
    "charts/pools/values.yaml": "arch: amd64\n",
    "charts/pools/templates/pool.yaml": _pool("{{ .Values.arch }}"),
}
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: pools, namespace: flux-system}
spec:
  path: ./apps/pools
  sourceRef: {kind: GitRepository, name: all}
  postBuild: {substitute: {arch: ARCH}}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: kube-system}
spec:
  chart: {spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: all}}}
  values: {arch: ARCH}
"""
RELEASE_WITH_VALUES_FROM = RELEASE.replace(
    "  values: {arch: ARCH}\n", "  valuesFrom: [{kind: ConfigMap, name: values-of-pools}]\n"
)
VALUES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: values-of-pools, namespace: kube-system}
data:
  values.yaml: |
    arch: ARCH
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools, namespace: argocd}
spec:
  source:
    repoURL: https://example.com/all
    path: charts/pools
    helm: {VALUES}
  destination: {server: https://example.com}
"""
APPLICATION_SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: pools, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [{env: eu}]}}]
  template:
    metadata: {name: "pools-{{ .env }}"}
    spec:
      source:
        repoURL: https://example.com/all
        path: charts/pools
        helm: {valueFiles: ["values-{{ .env }}.yaml"]}
      destination: {server: https://example.com}
"""
PATCHED = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools, namespace: argocd}
spec:
  source:
    repoURL: https://example.com/all
    path: apps/pools
    kustomize:
      patches:
        - target: {kind: NodePool}
          patch: |-
            - {op: replace, path: /spec/template/spec/requirements/0/values/0, value: ARCH}
  destination: {server: https://example.com}
"""
HELMFILE = "releases:\n  - name: pools\n    chart: ../charts/pools\n    values: [{arch: ARCH}]\n"
OVERLAY = """\
resources: [../../base]
patches:
  - target: {kind: NodePool}
    patch: |-
      - {op: replace, path: /spec/template/spec/requirements/0/values/0, value: ARCH}
"""
BASE = {"base/kustomization.yaml": "resources: [pool.yaml]\n", "base/pool.yaml": _pool(RIGHT)}

FLUX_WITH_CONFIG_MAP = FLUX.replace(
    "substitute: {arch: ARCH}", "substituteFrom: [{kind: ConfigMap, name: variables}]"
)
VARIABLES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: variables}\ndata: {arch: ARCH}\n"
INCLUDE = 'include "NAME" {\n  path = "${dirname(find_in_parent_folders("root.hcl"))}/NAME"\n}\n'
COMMON = INCLUDE.replace("NAME", "_envcommon/pools.hcl")
UNITS = {
    **MODULE,
    "live/root.hcl": "inputs = {}\n",
    "live/_envcommon/pools.hcl": "terraform {\n"
    '  source = "${dirname(find_in_parent_folders("root.hcl"))}/..//modules/pool"\n}\n',
    "live/dev/pools/terragrunt.hcl": f'{COMMON}inputs = {{ arch = "{RIGHT}" }}\n',
}
UNIT_OF_MODULE = 'terraform {\n  source = "../../../modules/pool"\n}\n'
OF_YAML = (
    f'{UNIT_OF_MODULE}locals {{ env = yamldecode(file(find_in_parent_folders("env.yaml"))) }}\n'
    "inputs = { arch = local.env.arch }\n"
)
OF_HCL = (
    f'{UNIT_OF_MODULE}locals {{ env = read_terragrunt_config(find_in_parent_folders("env.hcl")) }}\n'
    "inputs = { arch = local.env.locals.arch }\n"
)
OF_ROOT = {
    "live/root.hcl": OF_HCL.replace(UNIT_OF_MODULE, ""),
    "live/prod/pools/terragrunt.hcl": 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\n'
    + UNIT_OF_MODULE,
}
OF_DEFAULT = {
    "live/terragrunt.hcl": OF_HCL.replace(UNIT_OF_MODULE, ""),
    "live/prod/pools/terragrunt.hcl": f"include {{\n  path = find_in_parent_folders()\n}}\n{UNIT_OF_MODULE}",
}

FORMS: dict[str, tuple[dict[str, str], str, str]] = {
    "call of a module": (MODULE, "live/prod/main.tf", CALL),
    "call of a module in the folder above": (
        {path.replace("modules/pool/", "pools/"): text for path, text in MODULE.items()},
        "pools/live/main.tf",
        CALL.replace("../../modules/pool", ".."),
    ),
    "call of a nested module": (NESTED, "live/prod/main.tf", CALL.replace("/pool", "/pools")),
    "variables of a module": (
        {"live/main.tf": f"# karpenter\n{MODULE['modules/pool/main.tf']}"},
        "live/variables.tf",
        'variable "arch" {\n  # of karpenter\n  default = "ARCH"\n}\n',
    ),
    "Terragrunt": (
        MODULE,
        "live/prod/terragrunt.hcl",
        'terraform {\n  source = "../../modules//pool"\n}\ninputs = {\n  arch = "ARCH"\n}\n',
    ),
    "Terragrunt unit with a module of an included file": (
        UNITS,
        "live/prod/pools/terragrunt.hcl",
        f'{COMMON}inputs = {{ arch = "ARCH" }}\n',
    ),
    "YAML file above Terragrunt units": (
        MODULE
        | {"live/dev/env.yaml": f"arch: {RIGHT}\n"}
        | {f"live/{env}/pools/terragrunt.hcl": OF_YAML for env in ("dev", "prod")},
        "live/prod/env.yaml",
        "arch: ARCH\n",
    ),
    "HCL file above a Terragrunt unit": (
        MODULE | {"live/prod/pools/terragrunt.hcl": OF_HCL},
        "live/prod/env.hcl",
        'locals { arch = "ARCH" }\n',
    ),
    "HCL file that an included file finds": (MODULE | OF_ROOT, "live/prod/env.hcl", 'locals { arch = "ARCH" }\n'),
    "HCL file that terragrunt.hcl above finds": (
        MODULE | OF_DEFAULT,
        "live/prod/env.hcl",
        'locals { arch = "ARCH" }\n',
    ),
    "text of a module": (
        {"tf/main.tf": BLOCK.replace("BODY", 'file("${path.module}/../texts/pool.yaml")')},
        "texts/pool.yaml",
        POOL,
    ),
    "helm_release": (
        CHART,
        "tf/main.tf",
        'resource "helm_release" "p" {\n  name = "p"\n  chart = "${path.module}/../charts/pools"\n'
        '  values = [yamlencode({ arch = "ARCH" })]\n}\n',
    ),
    "Flux Kustomization": (
        {"apps/pools/pool.yaml": _pool("${arch}")},
        "clusters/eu/pools.yaml",
        FLUX,
    ),
    "ConfigMap of a Flux Kustomization": (
        {"apps/pools/pool.yaml": _pool("${arch}"), "clusters/eu/pools.yaml": FLUX_WITH_CONFIG_MAP},
        "clusters/eu/variables.yaml",
        VARIABLES,
    ),
    "HelmRelease": (CHART, "apps/eu/pools.yaml", RELEASE),
    "ConfigMap of a HelmRelease": (
        CHART | {"apps/eu/pools.yaml": RELEASE_WITH_VALUES_FROM},
        "values/eu.yaml",
        VALUES,
    ),
    "values file in a script": (
        CHART | {"deploy.sh": "helm upgrade --install pools ./charts/pools -f envs/eu/pools.yaml\n"},
        "envs/eu/pools.yaml",
        "arch: ARCH\n",
    ),
    "Application with values": (CHART, "apps/eu/pools.yaml", APPLICATION.replace("VALUES", 'values: "arch: ARCH"')),
    "values file of an Application": (
        CHART | {"apps/pools.yaml": APPLICATION.replace("VALUES", "valueFiles: [../../envs/eu.yaml]")},
        "envs/eu.yaml",
        "arch: ARCH\n",
    ),
    "values files of an ApplicationSet": (
        CHART | {"gitops/pools.yaml": APPLICATION_SET},
        "charts/pools/values-eu.yaml",
        "arch: ARCH\n",
    ),
    "variables file": (
        {
            "live/main.tf": f"# karpenter\n{MODULE['modules/pool/main.tf']}",
            "live/variables.tf": 'variable "arch" {}\n',
        },
        "live/eu.tfvars",
        'arch = "ARCH"\n',
    ),
    "Application with patches": (
        {"apps/pools/kustomization.yaml": "resources: [pool.yaml]\n", "apps/pools/pool.yaml": _pool(RIGHT)},
        "clusters/eu/pools.yaml",
        PATCHED,
    ),
    "helmfile": (CHART, "deploy/helmfile.yaml", HELMFILE),
    "overlay": (BASE, "overlays/prod/kustomization.yaml", OVERLAY),
}


def _write(form: str, arch: str) -> None:
    files, path, text = FORMS[form]
    write_files(Path(), {**files, path: text.replace("ARCH", arch)})


def _list_errors(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, int]]:
    findings = json.loads(done.stdout)["findings"]
    return sorted((f["rule"], f["path"], f["start"]["line"]) for f in findings if f["severity"] == "error")


def _parts(form: str) -> list[str]:
    files, path, _ = FORMS[form]
    other = sorted(files)[-1]
    return list(dict.fromkeys((path, str(Path(path).parent), other, str(Path(other).parent))))


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], check=True)


@pytest.fixture(autouse=True)
def _top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _git("init", "-q")


@pytest.mark.parametrize("form", FORMS)
def test_a_part_has_the_errors_of_the_whole(nodelint: Run, form: str) -> None:
    for arch in (RIGHT, WRONG):
        _write(form, arch)
        whole = _list_errors(nodelint("check", "--format", "json"))
        assert bool(whole) == (arch == WRONG), form
        for part in _parts(form):
            assert _list_errors(nodelint("check", "--format", "json", part)) == whole, part


@pytest.mark.parametrize("form", FORMS)
def test_a_plan_of_a_part_replaces_the_nodes_of_the_plan_of_the_whole(nodelint: Run, form: str) -> None:
    _write(form, RIGHT)
    _git("add", "-A")
    _git("commit", "-qm", "a")
    for arch in (RIGHT, "arm64"):
        _write(form, arch)
        whole = _list_replaced(nodelint("plan", "--against", "HEAD", "--format", "json"))
        replaced = [replaced for _, _, replaced in whole[1]]
        assert replaced
        assert replaced.count("all") == (arch != RIGHT)
        for part in _parts(form):
            assert _list_replaced(nodelint("plan", "--against", "HEAD", "--format", "json", part)) == whole, part


def _list_replaced(done: subprocess.CompletedProcess[str]) -> tuple[int, list[tuple[str, str, str]]]:
    pools = json.loads(done.stdout)["nodePools"]
    return done.returncode, sorted((pool["name"], pool["path"], pool["replaced"]) for pool in pools)


def test_a_variables_file_that_a_script_names_is_not_said_to_concern_nothing(nodelint: Run) -> None:
    files, _, text = FORMS["variables file"]
    script = "apply:\n\tcd live && terraform apply -var-file=../envs/eu.tfvars\n"
    write_files(Path(), {**files, "Makefile": script, "envs/eu.tfvars": text.replace("ARCH", WRONG)})
    for part in (".", "envs", "envs/eu.tfvars", "Makefile"):
        assert "1 pool not judged in full" in nodelint("check", part).stdout, part


def test_files_that_are_not_searched_outside_of_a_repository_are_named(
    nodelint: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(".git")
    write_files(Path(), {"pool.yaml": _pool(RIGHT), **{f"apps/{n}.yaml": "a: 1\n" for n in range(4)}})
    assert "searched for paths" not in nodelint("check", "pool.yaml").stdout
    monkeypatch.setattr("nodelint.files.related._MOST_OUTSIDE", 3)
    assert "more than 3 files below this folder, searched for paths" in nodelint("check", "pool.yaml").stdout
