"""Charts of a repository that its commands install: fit, check, explain and plan go by the values of these."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]
Files = dict[str, str]

CHART: Files = {
    ".git/HEAD": "ref: refs/heads/main\n",
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "pool:\n  archs: [amd64, arm64]\n  weight: 1\n",
    "charts/pools/templates/pool.yaml": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  weight: {{ .Values.pool.weight }}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: {{ toJson .Values.pool.archs }}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260101}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
""",
    "app.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/arch: arm64}
      containers: [{name: web, image: web, resources: {requests: {cpu: 1}}}]
""",
}
AMD64 = "pool: {archs: [amd64]}\n"
CONFIG_MAP_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: a}
spec:
  chart: {spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: this}}}
  valuesFrom: [{kind: ConfigMap, name: pools-values}]
"""
UPGRADE = "helm upgrade --install pools"
SET = "--set 'pool.archs={amd64}'"

KNOWN: dict[str, Files] = {
    "set in a script": {"install.sh": f"#!/bin/sh\n{UPGRADE} ./charts/pools {SET}\n"},
    "set over several lines": {"bin/install": f"#!/bin/sh\n{UPGRADE} \\\n  charts/pools \\\n  {SET}\n"},
    "flags before the command": {"install.sh": f"helm -n karpenter upgrade -i pools charts/pools {SET}\n"},
    "set as JSON": {"install.sh": f"{UPGRADE} charts/pools --set-json 'pool.archs=[\"amd64\"]'\n"},
    "set of one item": {
        "install.sh": f"{UPGRADE} charts/pools --set pool.archs[0]=amd64 --set pool.archs[1]=amd64\n"
    },
    "file": {"install.sh": f"{UPGRADE} charts/pools -f env/prod.yaml\n", "env/prod.yaml": AMD64},
    "files, the last one wins": {
        "install.sh": f"{UPGRADE} charts/pools -f env/a.yaml --values=env/b.yaml\n",
        "env/a.yaml": "pool: {archs: [arm64]}\n",
        "env/b.yaml": AMD64,
    },
    "heredoc": {"install.sh": f"{UPGRADE} charts/pools -f - <<EOF\n{AMD64}EOF\n"},
    "from another folder": {"scripts/install.sh": f"cd ..\n{UPGRADE} ../charts/pools {SET}\n"},
    "in the folder of the chart": {"install.sh": f"cd charts/pools\n{UPGRADE} . {SET}\n"},
    "path behind a variable": {"install.sh": f'{UPGRADE} "$ROOT/charts/pools" {SET}\n'},
    "Makefile": {"Makefile": f"HELM ?= helm\nup:\n\t$(HELM) upgrade -i pools ./charts/pools {SET}\n"},
    "workflow": {
        ".github/workflows/up.yaml": f"jobs:\n  a:\n    steps:\n      - run: {UPGRADE} charts/pools {SET}\n"
    },
    "folded lines of a workflow": {
        ".gitlab-ci.yml": f"up:\n  script:\n    - >-\n      {UPGRADE}\n      charts/pools\n      {SET}\n"
    },
    "folder of a workflow": {
        ".github/workflows/up.yml": "jobs:\n  a:\n    steps:\n      - working-directory: charts\n"
        f"        run: {UPGRADE} ./pools {SET}\n"
    },
    "provisioner": {
        "main.tf": 'resource "null_resource" "pools" {\n  provisioner "local-exec" {\n'
        f'    command = "{UPGRADE} charts/pools {SET}"\n  }}\n}}\n'
    },
    "generated ConfigMap": {
        "release.yaml": CONFIG_MAP_RELEASE,
        "kustomization.yaml": "resources: [release.yaml]\nnamespace: a\n"
        "configMapGenerator:\n  - {name: pools-values, files: [values.yaml=values/prod.yaml]}\n",
        "values/prod.yaml": AMD64,
    },
    "ConfigMap generated of a text": {
        "release.yaml": CONFIG_MAP_RELEASE,
        "kustomization.yaml": "resources: [release.yaml]\nnamespace: a\nconfigMapGenerator:\n"
        "  - name: pools-values\n    literals:\n      - 'values.yaml=pool: {archs: [amd64]}'\n",
    },
}
NOT_KNOWN: dict[str, tuple[Files, str]] = {
    "value of a variable": ({"install.sh": f"{UPGRADE} charts/pools --set pool.archs=$ARCHS\n"}, ""),
    "file of a variable": ({"install.sh": f"{UPGRADE} charts/pools -f env/$ENV.yaml\n"}, "install.sh:1"),
    "file that is not there": ({"install.sh": f"{UPGRADE} charts/pools -f env/prod.yaml\n"}, "install.sh:1"),
    "flags of a variable": ({"install.sh": f"{UPGRADE} charts/pools $FLAGS\n"}, "install.sh:1"),
    "all arguments": ({"install.sh": f'{UPGRADE} charts/pools "$@"\n'}, "install.sh:1"),
    "file beside known values": (
        {"install.sh": f"{UPGRADE} charts/pools --set pool.weight=2 -f $FILE\n"},
        "install.sh:1",
    ),
    "ConfigMap that is not there": ({"release.yaml": CONFIG_MAP_RELEASE}, "release.yaml:6"),
}


def lay_out(tmp_path: Path, files: Files) -> None:
    for name, text in {**CHART, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("way", KNOWN)
def test_values_of_a_command_are_those_of_the_pools(nodelint: Run, tmp_path: Path, way: str) -> None:
    lay_out(tmp_path, KNOWN[way])
    fit = nodelint("fit", "--format", "json")
    assert fit.returncode == 1, fit.stdout
    found = json.loads(nodelint("check", "--select", "no-pool-for-workload", "--format", "json").stdout)
    assert [finding["rule"] for finding in found["findings"]] == ["no-pool-for-workload"]


@pytest.mark.parametrize("way", NOT_KNOWN)
def test_values_that_cannot_be_read_make_no_answer(nodelint: Run, tmp_path: Path, way: str) -> None:
    files, place = NOT_KNOWN[way]
    lay_out(tmp_path, files)
    fit = nodelint("fit")
    assert fit.returncode == 0
    assert "not known" in fit.stdout or "as far as is known" in fit.stdout
    assert place in fit.stdout + fit.stderr
    assert not json.loads(nodelint("check", "--select", "no-pool-for-workload", "--format", "json").stdout)[
        "findings"
    ]
