"""What cannot be judged is named by every command: for each form a tree with one gap of each kind."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.files.discover import discover
from nodelint.inventory import read_inventory
from nodelint.inventory.gaps import list_gaps
from nodelint.lsp.diagnostics import diagnostics
from nodelint.lsp.project import Buffer, Project, State
from nodelint.lsp.view import View
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Files = dict[str, str]
Run = Callable[..., CompletedProcess[str]]

PAIR = f"{nodepool()}---\n{nodeclass()}"
CLASS_OF_OTHERS = "apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: other}\nspec: {}\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {kubernetes.io/arch: riscv}
      containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]
"""
HELM_RELEASE = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes}
spec:
  chart: {spec: {chart: karpenter-nodes, sourceRef: {kind: HelmRepository, name: there}}}
  values:
    nodePools: [{name: a, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}]
"""
APPLICATION = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes}
spec:
  source:
    repoURL: https://charts.example.com
    chart: karpenter-nodes
    helm:
      valuesObject:
        nodePools: [{name: a, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}]
"""
RELEASES = """releases:
  - name: nodes
    chart: there/karpenter-nodes
    values:
      - nodePools: [{name: a, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}]
"""
HELM_RELEASE_OF_TERRAFORM = """resource "helm_release" "nodes" {
  name  = "nodes"
  chart = "oci://example.com/karpenter-nodes"
  values = [yamlencode({
    nodePools = [{ name = "a", requirements = [{ key = "karpenter.sh/capacity-type", operator = "In" }] }]
  })]
}
"""
MODULE = """module "nodes" {
  source = "git::https://example.com/karpenter-nodes.git"
  node_pools = { a = { requirements = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] }] } }
}
"""
PROGRAM = 'new Pool({apiVersion: "karpenter.sh/v1", kind: "NodePool", metadata: {name: "a"}});\n'
SCRIPT = f"cat <<EOF | kubectl apply -f -\n{nodepool(name='b')}EOF\n"

CHART = {"chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "chart/values.yaml": "weight: 10\n"}
TEMPLATE = nodepool(name="a").replace("spec:\n", "spec:\n  weight: {{ .Values.weight }}\n", 1)
OWN_CHART = {**CHART, "chart/templates/pool.yaml": TEMPLATE}
FLUX_WITH_SECRET = """apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes, namespace: karpenter}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: here}}}
  valuesFrom: [{kind: Secret, name: weights}]
"""
APPLICATION_OF_CHART = """apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes}
spec:
  source:
    repoURL: https://git.example/here.git
    path: chart
    helm: {valueFiles: [gone.yaml]}
"""
RELEASE_OF_CHART = "releases:\n  - name: nodes\n    chart: ./chart\n    values: [gone.yaml]\n"
TERRAFORM_OF_CHART = """resource "helm_release" "nodes" {
  name   = "nodes"
  chart  = "${path.module}/chart"
  values = [file(var.secret)]
}
"""
KUSTOMIZE_CHART = """helmCharts:
  - name: karpenter-nodes
    repo: https://charts.example.com
    releaseName: nodes
    valuesInline:
      nodePools: [{name: a, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}]
"""

OF_OTHERS = "plain YAML, of another provider"
GAPS: dict[str, tuple[Files, str]] = {
    "plain YAML, broken": ({"broken.yaml": nodepool(name="a").replace("spec:", "spec: [", 1)}, "broken.yaml"),
    OF_OTHERS: ({"other.yaml": CLASS_OF_OTHERS}, "other.yaml"),
    "a program": ({"pools.ts": PROGRAM}, "pools.ts"),
    "a script": ({"apply.sh": SCRIPT}, "apply.sh"),
    "Kustomize, a base elsewhere": (
        {
            "over/kustomization.yaml": "resources: [own.yaml, https://example.com/base]\n",
            "over/own.yaml": nodepool(name="a"),
        },
        "over/kustomization.yaml",
    ),
    "Kustomize, what is not read": (
        {
            "over/kustomization.yaml": "resources: [own.yaml]\ntransformers: [more.yaml]\n",
            "over/own.yaml": nodepool(name="a"),
            "over/more.yaml": "a: b\n",
        },
        "over/kustomization.yaml",
    ),
    "Kustomize, broken": (
        {"over/kustomization.yaml": "resources: [own.yaml, gone.yaml]\n", "over/own.yaml": nodepool(name="a")},
        "over/kustomization.yaml",
    ),
    "Helm, a template that is no YAML": (
        {
            "chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
            "chart/values.yaml": "a: 1\n",
            "chart/templates/pool.yaml": nodepool(name="a").replace("spec:", "{{ if .Values.a }}\nspec:", 1),
        },
        "chart/templates/pool.yaml",
    ),
    "Flux, a chart elsewhere": ({"release.yaml": HELM_RELEASE}, "release.yaml"),
    "Argo CD, a chart elsewhere": ({"application.yaml": APPLICATION}, "application.yaml"),
    "helmfile, a chart elsewhere": ({"helmfile.yaml": RELEASES}, "helmfile.yaml"),
    "Terraform, a chart elsewhere": ({"main.tf": HELM_RELEASE_OF_TERRAFORM}, "main.tf"),
    "Terraform, a module elsewhere": ({"main.tf": MODULE}, "main.tf"),
    "Kustomize, a chart elsewhere": ({"over/kustomization.yaml": KUSTOMIZE_CHART}, "over/kustomization.yaml"),
    "Kustomize, no YAML": (
        {"over/kustomization.yaml": "resources: [own.yaml\n", "over/own.yaml": nodepool(name="a")},
        "over/kustomization.yaml",
    ),
    "Helm, values that are no YAML": ({**OWN_CHART, "chart/values.yaml": "weight: [\n"}, "chart/values.yaml"),
    "Flux, values of a Secret": ({**OWN_CHART, "release.yaml": FLUX_WITH_SECRET}, "release.yaml"),
    "Flux, broken": ({**OWN_CHART, "release.yaml": f"{FLUX_WITH_SECRET}  values: [\n"}, "release.yaml"),
    "Argo CD, a values file that is not there": (
        {**OWN_CHART, "application.yaml": APPLICATION_OF_CHART},
        "application.yaml",
    ),
    "Argo CD, broken": ({**OWN_CHART, "application.yaml": f"{APPLICATION_OF_CHART}  a: [\n"}, "application.yaml"),
    "helmfile, a values file that is not there": ({**OWN_CHART, "helmfile.yaml": RELEASE_OF_CHART}, "helmfile.yaml"),
    "helmfile, broken": ({**OWN_CHART, "helmfile.yaml": f"{RELEASE_OF_CHART}  - [\n"}, "helmfile.yaml"),
    "Terraform, values that are not known": ({**OWN_CHART, "main.tf": TERRAFORM_OF_CHART}, "main.tf"),
    "Terraform, broken": ({"main.tf": 'resource "kubectl_manifest" "karpenter" {\n  a = 100 +\n}\n'}, "main.tf"),
}
COMMANDS = {
    "check": ("check", "new"),
    "plan": ("plan", "--old", "old", "new"),
    "plan of the same": ("plan", "--old", "new", "new"),
    "fit": ("fit", "new"),
    "explain": ("explain", "new"),
    "hash": ("hash", "new"),
    "upgrade": ("upgrade", "--from", "1.13", "new"),
}
ALL_CLEAR = r"All good|No node is replaced\.|=> no pool takes it$"
"""What may be output of a tree without a gap alone."""


def tree(folder: Path, name: str) -> str:
    files, path = GAPS[name]
    write_files(folder / "old", {"all.yaml": PAIR, "web.yaml": DEPLOYMENT})
    write_files(folder / "new", {"all.yaml": PAIR, "web.yaml": DEPLOYMENT, **files})
    for side in ("old", "new"):
        (folder / side / ".git").mkdir()
    return path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", GAPS)
def test_every_command_names_the_gap_and_gives_no_all_clear(
    nodelint: Run, tmp_path: Path, name: str, command: str
) -> None:
    path = tree(tmp_path, name)
    done = nodelint(*COMMANDS[command])
    output = done.stdout + done.stderr
    assert f"new/{path}" in output or (name == OF_OTHERS and "AKSNodeClass/other" in output), output
    # What is the same on both sides replaces nothing, whatever it is; and a class of others takes no pods.
    is_apart = command == "plan of the same" or (name, command) == (OF_OTHERS, "fit")
    assert is_apart or not re.search(f"(?m){ALL_CLEAR}", output), output


NUMBERS = count(1)


def open_views(folder: Path, number: int) -> dict[str, tuple[View, Buffer]]:
    """The files of a folder as an editor has them open, by path."""
    (folder / ".git").mkdir(exist_ok=True)
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts]
    buffers = [Buffer(path.as_uri(), 1, path.read_text(encoding="utf-8"), "utf-16") for path in paths]
    state = State({buffer.uri: buffer for buffer in buffers}, (str(folder),), number)
    views = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).views(state)
    return {os.path.relpath(buffer.path, folder): (view, buffer) for view in views for buffer in view.buffers}


def open_texts(folder: Path, number: int) -> dict[str, list[str]]:
    """What an editor shows of each file of a folder that it has open: the messages by path."""
    opened = open_views(folder, number)
    return {path: [found.message for found in diagnostics(*text)] for path, text in opened.items()}


@pytest.mark.parametrize("name", [name for name in GAPS if name != "a script"])
def test_the_editor_names_the_gap_in_its_file(tmp_path: Path, name: str) -> None:
    """A script is judged where it is open."""
    path = tree(tmp_path, name)
    messages = open_texts(tmp_path / "new", next(NUMBERS))[path]
    assert any(message.startswith("not judged: ") for message in messages) or name == "plain YAML, broken", messages
    assert len(set(messages)) == len(messages) > 0


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "tests" / "trees").iterdir()))
def test_the_editor_names_gaps_where_commands_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "repository"
    shutil.copytree(ROOT / "tests" / "trees" / name, folder)
    shown = open_texts(folder, next(NUMBERS))
    monkeypatch.chdir(folder)
    found = discover(["."])
    gaps = list_gaps(found, read_inventory(found))
    named = {os.path.normpath(gap.path) for gap in gaps if not gap.path.endswith((".sh", ".md"))}
    in_editor = {
        path for path, messages in shown.items() if any(text.startswith("not judged: ") for text in messages)
    }
    assert in_editor == named
