"""A helm command in a script, a Makefile or a pipeline: its chart by variables, and the lines that set its values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_missing_references import CHART, Run, change, plan
from tests.repositories import write_files

HELM = "helm upgrade --install nodes"
PROGRAMS: dict[str, tuple[str, str]] = {
    "variable of a script": ("deploy.sh", f"COST=@\n{HELM} ./c --set cost=$COST\n"),
    "default of a variable": ("deploy.sh", f'COST=${{COST:-@}}\n{HELM} c --set "cost=${{COST}}"\n'),
    "branch of a case": ("bin/deploy", f'case $1 in\nprod) COST=@ ;;\nesac\n{HELM} ./c --set "cost=$COST"\n'),
    "variable of another variable": ("deploy.sh", f"TEAM=@\nCOST=x-$TEAM\n{HELM} ./c --set cost=$COST\n"),
    "array": ("deploy.sh", 'args=(--install nodes ./c --set cost=@)\nhelm upgrade "${args[*]}"\n'),
    "argument of a function": ("deploy.sh", 'up() {\n  helm upgrade "$1" "./$1" --set "cost=$2"\n}\nup c @\n'),
    "make": ("Makefile", f"COST ?= @\ndeploy:\n\t{HELM} ./c --set cost=$(COST)\n"),
    "matrix of a workflow": (
        ".github/workflows/d.yml",
        f"jobs:\n  d:\n    strategy:\n      matrix:\n        include:\n          - {{cluster: prod, cost: @}}\n"
        f"    steps:\n      - run: {HELM} ./c --set cost=${{{{ matrix.cost }}}}\n",
    ),
    "environment of a workflow": (
        ".github/workflows/d.yml",
        f"env: {{COST: @}}\njobs: {{d: {{steps: [{{run: {HELM} ./c --set cost=$COST}}]}}}}\n",
    ),
    "azure": ("azure-pipelines.yml", f"variables:\n  cost: @\nsteps:\n- script: {HELM} ./c --set cost=$(cost)\n"),
    "Jenkins": ("Jenkinsfile", f"environment {{ COST = '@' }}\nsh \"{HELM} ./c --set cost=${{COST}}\"\n"),
    "task": ("Taskfile.yml", f"vars:\n  COST: @\ntasks:\n  d: {{cmds: ['{HELM} ./c --set cost={{{{.COST}}}}']}}\n"),
    "just": ("justfile", f'deploy cost="@":\n    {HELM} ./c --set cost={{{{cost}}}}\n'),
    "Ansible": ("d.yml", f"- vars: {{cost: @}}\n  tasks:\n    - command: {HELM} ./c --set cost={{{{ cost }}}}\n"),
    "Tekton": (
        "task.yaml",
        'kind: Task\nspec:\n  params: [{name: cost, default: "@"}]\n'
        f"  steps:\n    - script: |\n        {HELM} ./c --set cost=$(params.cost)\n",
    ),
    "Python": ("d.py", 'COST = "@"\nrun(["helm", "upgrade", "nodes", "./c", "--set", f"cost={COST}"])\n'),
}
READ: dict[str, tuple[str, str]] = {
    "chart in a variable": ("deploy.sh", f'CHART="$(dirname "$0")/c"\n{HELM} "$CHART" --set cost=@\n'),
    "chart below the folder of a script": (
        "bin/deploy.sh",
        'D="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nCHART="${D}/../c"\n'
        f'{HELM} "${{CHART}}" --set cost=@ \\\n  --wait\n',
    ),
    "chart of make": ("Makefile", f"CHART := ./c\ndeploy:\n\t{HELM} $(CHART) \\\n\t  --set cost=@\n"),
    "loop": ("deploy.sh", f"for x in c d; do\n  {HELM} ./$x --set cost=@\ndone\n"),
}
ELSEWHERE = "helm upgrade --install ingress ingress/nginx --version 4.0.@ --set cost=@\n"
OTHER_LINES = {
    "deploy.sh": f'echo "release @"\nOTHER=@\n{ELSEWHERE}',
    "Makefile": f"OTHER = @\nother:\n\techo @\n\t{ELSEWHERE}",
    "d.py": 'print("@")\nOTHER = "@"\n',
}


def compare(nodelint: Run, folder: Path, path: str, old: str, new: str) -> tuple[int, Any]:
    files = {**CHART, path: old}
    done = plan(nodelint, folder, files, change(files, (path, old, new)))
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_line_that_sets_the_value_of_a_command_is_an_input(nodelint: Run, tmp_path: Path, name: str) -> None:
    path, text = PROGRAMS[name]
    code, shown = compare(nodelint, tmp_path, path, text.replace("@", "team-a"), text.replace("@", "team-b"))
    assert code == 1 and "No node is replaced" not in shown["headline"], shown
    assert {place["path"] for place in shown["notCompared"]} == {f"new/{path}"}, shown


@pytest.mark.parametrize("name", READ)
def test_the_chart_of_a_command_is_found_by_its_variables(nodelint: Run, tmp_path: Path, name: str) -> None:
    path, text = READ[name]
    code, shown = compare(nodelint, tmp_path, path, text.replace("@", "a"), text.replace("@", "b"))
    pool = shown["nodePools"][0]
    assert code == 1 and (pool["replaced"], pool["reasons"][0]["path"]) == ("all", f"new/{path}"), shown


@pytest.mark.parametrize("name", [*PROGRAMS, *READ])
def test_another_line_of_the_program_is_no_input(nodelint: Run, tmp_path: Path, name: str) -> None:
    path, text = {**PROGRAMS, **READ}[name]
    other = OTHER_LINES.get(path, "# a note @\n")
    unchanged = text.replace("@", "team-a")
    code, shown = compare(
        nodelint, tmp_path, path, unchanged + other.replace("@", "1"), unchanged + other.replace("@", "2")
    )
    assert code == 0, shown


def test_a_script_that_passes_arguments_counts_with_its_callers(nodelint: Run, tmp_path: Path) -> None:
    deploy = {"bin/deploy.sh": 'helm upgrade "$1" "./$1" --set "cost=$2"\n'}
    for name, edit, expected in (
        ("call", ("Makefile", "deploy.sh c a", "deploy.sh c b"), 1),
        ("other call", ("Makefile", "lint.sh a", "lint.sh b"), 0),
    ):
        files = {**CHART, **deploy, "Makefile": "d:\n\tbin/deploy.sh c a\n\tbin/lint.sh a\n"}
        done = plan(nodelint, tmp_path / name, files, change(files, edit))
        assert done.returncode == expected, done.stdout


def test_a_template_whose_only_value_is_not_known_keeps_its_objects(nodelint: Run, tmp_path: Path) -> None:
    """The pool is listed although the script sets the only value that its template uses to a variable."""
    for path, text in {**CHART, "deploy.sh": f"{HELM} ./c --set cost=$COST\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    shown = nodelint("explain", ".", cwd=tmp_path).stdout
    assert "NodePool web" in shown and "deploy.sh" in shown, shown


def test_a_makefile_is_not_parsed_as_values(nodelint: Run, tmp_path: Path) -> None:
    text = f"deploy:\n\t{HELM} ./c --set cost=@\n"
    code, shown = compare(nodelint, tmp_path, "Makefile", text.replace("@", "a"), text.replace("@", "b"))
    assert code == 1 and shown["nodePools"][0]["replaced"] == "all" and not shown["notCompared"], shown


def test_check_names_a_command_whose_chart_is_an_argument(nodelint: Run, tmp_path: Path) -> None:
    for text, expected in (('helm upgrade "$1" "./$1" --set "cost=$2"', 1), ("helm upgrade x acme/x --set a=$1", 0)):
        folder = tmp_path / str(expected)
        write_files(folder, {**CHART, "deploy.sh": f"{text}\n# installs c\n"})
        done = nodelint("check", ".", "--fail-on-unjudged", cwd=folder)
        assert done.returncode == expected and ("deploy.sh:1" in done.stdout) is bool(expected), done.stdout


TEMPLATE_PATCH = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes}
spec:
  goTemplate: true
  generators: [{list: {elements: [{cluster: prod, cost: one}]}}]
  template:
    metadata: {name: '{{.cluster}}'}
    spec: {source: {repoURL: https://example.com/x.git, path: c}, destination: {name: '{{.cluster}}'}}
  templatePatch: |
    spec: PATCH
"""


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        ("{source: {helm: {parameters: [{name: cost, value: '{{ .cost }}'}]}}}", 1),
        ("{syncPolicy: {automated: {}}}", 0),
    ],
)
def test_a_template_patch_that_changes_values_is_not_read(
    nodelint: Run, tmp_path: Path, patch: str, code: int
) -> None:
    files = {**CHART, "set.yaml": TEMPLATE_PATCH.replace("PATCH", patch)}
    done = plan(nodelint, tmp_path / "a", files, change(files, ("set.yaml", "cost: one", "cost: two")))
    assert done.returncode == code, done.stdout
    write_files(tmp_path / "b", files)
    assert nodelint("check", ".", "--fail-on-unjudged", cwd=tmp_path / "b").returncode == code


CLOUDFORMATION = """\
AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  Cost: {Type: String, Default: one}
  Other: {Type: String, Default: one}
Resources:
  Class:
    Type: AWSQS::Kubernetes::Resource
    Properties:
      Manifest: !Sub |
"""
REGISTRY = 'module "nodes" {\n  source = "app.terraform.io/acme/karpenter-nodes/aws"\n  nodepools = VALUE\n}\n'
BEHIND: dict[str, tuple[dict[str, str], tuple[str, str, str], tuple[str, str, str]]] = {
    "parameter of CloudFormation": (
        {
            "cfn.yaml": CLOUDFORMATION
            + "".join(f"        {line}\n" for line in CLASS.replace("cost: web", 'cost: "${Cost}"').splitlines()),
            "pool.yaml": POOL,
        },
        ("cfn.yaml", "Cost: {Type: String, Default: one", "Cost: {Type: String, Default: two"),
        ("cfn.yaml", "Other: {Type: String, Default: one", "Other: {Type: String, Default: two"),
    ),
    "file for a remote module": (
        {
            "main.tf": REGISTRY.replace("VALUE", 'yamldecode(file("${path.module}/pools.yaml"))'),
            "pools.yaml": "web: {taints: []}\n",
            "other.yaml": "a: 1\n",
        },
        ("pools.yaml", "taints: []", "taints: [x]"),
        ("other.yaml", "a: 1", "a: 2"),
    ),
}


@pytest.mark.parametrize("name", BEHIND)
def test_what_a_value_refers_to_is_an_input(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, edit, other = BEHIND[name]
    assert plan(nodelint, tmp_path / "a", files, change(files, edit)).returncode == 1
    assert plan(nodelint, tmp_path / "b", files, change(files, other)).returncode == 0
