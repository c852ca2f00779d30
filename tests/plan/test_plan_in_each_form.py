"""A change means the same whatever form holds the pool and its class: exit code, headline, reasons."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.commands.test_cli import Run
from tests.plain_yaml import load_yaml
from tests.plan.test_plan_headline import CASES, Case
from tests.repositories import write_files

Files = dict[str, str]
ROLE = "KarpenterNodeRole-x"
CHART = "apiVersion: v2\nname: nodes\nversion: 0.1.0\n"
KUSTOMIZATION = f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: nodes, namespace: flux-system}}
spec:
  path: ./nodes
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  postBuild: {{substitute: {{role: {ROLE}}}}}
"""
RELEASE = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: nodes, namespace: flux-system}}
spec:
  chart: {{spec: {{chart: ./c, sourceRef: {{kind: GitRepository, name: flux-system}}}}}}
  values: {{role: {ROLE}}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes, namespace: argocd}
spec:
  project: default
  destination: {name: prod}
  source: {repoURL: https://example.com/x.git, SOURCE}
"""


def documents(text: str) -> list[str]:
    return [part for part in text.split("---\n") if part.strip()]


def manifests(text: str, body: Callable[[str], str]) -> str:
    blocks = [
        f'resource "kubectl_manifest" "m{number}" {{\n  yaml_body = {body(part)}\n}}\n'
        for number, part in enumerate(documents(text))
    ]
    return "".join(blocks)


def heredoc(text: str) -> str:
    return f"<<-YAML\n{textwrap.indent(text, '    ')}  YAML"


def encoded(text: str) -> str:
    return f"yamlencode({json.dumps(load_yaml(text))})"


def overlay(text: str) -> Files:
    base = {"base/kustomization.yaml": "resources: [n.yaml]\n", "base/n.yaml": text}
    return {**base, "prod/kustomization.yaml": "resources: [../base]\n"}


def chart(text: str, default: str = ROLE) -> Files:
    template = text.replace(f"role: {ROLE}", "role: {{ .Values.role }}")
    return {"c/Chart.yaml": CHART, "c/values.yaml": f"role: {default}\n", "c/templates/n.yaml": template}


def values_file(text: str) -> Files:
    made = {"c/Chart.yaml": CHART, "c/values.yaml": "objects: ''\n", "c/templates/n.yaml": "{{ .Values.objects }}\n"}
    return {**made, "c/values-prod.yaml": f"objects: |\n{textwrap.indent(text, '  ')}"}


def template(text: str) -> Files:
    parts = {f"t/{number}.yaml.tpl": part for number, part in enumerate(documents(text))}
    calls = [
        f'resource "kubectl_manifest" "m{number}" {{\n'
        f'  yaml_body = templatefile("${{path.module}}/{path}", {{ role = "{ROLE}" }})\n}}\n'
        for number, path in enumerate(parts)
    ]
    return {"main.tf": "".join(calls)} | {path: part.replace(ROLE, "${role}") for path, part in parts.items()}


def module(text: str) -> Files:
    return {"nodes/main.tf": 'variable "role" {}\n' + manifests(text.replace(ROLE, "${var.role}"), heredoc)}


FORMS: dict[str, Callable[[str], Files]] = {
    "overlay": overlay,
    "chart": chart,
    "values file": values_file,
    "heredoc": lambda text: {"main.tf": manifests(text, heredoc)},
    "yamlencode": lambda text: {"main.tf": manifests(text, encoded)},
    "templatefile": template,
    "module": lambda text: {
        **module(text),
        "main.tf": f'module "nodes" {{\n  source = "./nodes"\n  role = "{ROLE}"\n}}\n',
    },
    "Terragrunt": lambda text: {
        **module(text),
        "live/terragrunt.hcl": f'terraform {{\n  source = "../nodes"\n}}\ninputs = {{\n  role = "{ROLE}"\n}}\n',
    },
    "Flux Kustomization": lambda text: {"k.yaml": KUSTOMIZATION, "nodes/n.yaml": text.replace(ROLE, "${role}")},
    "HelmRelease": lambda text: {**chart(text, "other"), "r.yaml": RELEASE},
    "Application of a folder": lambda text: {
        "app.yaml": APPLICATION.replace("SOURCE", "path: nodes"),
        "nodes/n.yaml": text,
    },
    "Application of a chart": lambda text: {
        **chart(text, "other"),
        "app.yaml": APPLICATION.replace("SOURCE", f"path: c, helm: {{valuesObject: {{role: {ROLE}}}}}"),
    },
    "helmfile": lambda text: {
        **chart(text, "other"),
        "helmfile.yaml": f"releases:\n  - name: nodes\n    chart: ./c\n    values: [{{role: {ROLE}}}]\n",
    },
}


def sides(case: Case) -> list[Mapping[str, str]]:
    return [{"a.yaml": side} if isinstance(side, str) else side for side in (case.old, case.new)]


def is_of_one_file(case: Case) -> bool:
    """Whether the pools of each side stand in one file that takes its role from nowhere else."""
    return all(
        sum("kind: NodePool" in text for text in side.values()) <= 1 and not any("{{" in t for t in side.values())
        for side in sides(case)
    ) and not any("role: ''" in text for side in sides(case) for text in side.values())


ROWS = [name for name, case in CASES.items() if is_of_one_file(case)]
_EACH = 3
"""Forms that a row is tried in: each form has some rows, each row some forms."""
CELLS = [
    (row, list(FORMS)[(number + 5 * turn) % len(FORMS)]) for number, row in enumerate(ROWS) for turn in range(_EACH)
]


def plan(nodelint: Run, folder: Path, both: list[Files]) -> tuple[int, set[tuple[Any, ...]]]:
    for name, files in zip(("old", "new"), both, strict=True):
        write_files(folder / name, files)
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=folder)
    pools = json.loads(done.stdout)["nodePools"]
    keys = ("name", "change", "replaced", "launchesNothing", "deletedNodes", "heldBy")
    return done.returncode, {
        (*(pool[key] for key in keys), tuple(sorted({reason["reason"] for reason in pool["reasons"]})))
        for pool in pools
        if pool["change"] != "unchanged" or pool["replaced"] != "none"
    }


@pytest.mark.parametrize(("row", "form"), CELLS)
def test_a_change_means_the_same_in_each_form(nodelint: Run, tmp_path: Path, row: str, form: str) -> None:
    plain = [dict(side) for side in sides(CASES[row])]
    formed = [
        {
            name: text
            for path, text in side.items()
            for name, text in (FORMS[form](text) if "kind: NodePool" in text else {path: text}).items()
        }
        for side in plain
    ]
    assert plan(nodelint, tmp_path / "a", formed) == plan(nodelint, tmp_path / "b", plain)


@pytest.mark.parametrize("form", ["values file", "HelmRelease", "Application of a chart", "helmfile"])
def test_a_template_that_begins_to_take_values_makes_no_new_pool(nodelint: Run, tmp_path: Path, form: str) -> None:
    text = CASES["limit of zero"].old
    assert isinstance(text, str)
    new = FORMS[form](text)
    if form == "values file":
        new = {**chart(text, "a"), "c/values-prod.yaml": f"role: {ROLE}\n"}
    old = {**new, "c/templates/n.yaml": new["c/templates/n.yaml"].replace("{{ .Values.role }}", "a")}
    for number, both in enumerate(([old, new], [new, old])):
        code, pools = plan(nodelint, tmp_path / str(number), both)
        assert code == 1
        assert not any(change in ("added", "removed") for _, change, *_ in pools)
