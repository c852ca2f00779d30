"""A placeholder that another tool fills in: the lines of pipelines, playbooks and scripts that set its variable."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_missing_references import BOTH, Run, change, plan

APPLY = "envsubst < n.yaml | kubectl apply -f -"
SETTERS: dict[str, tuple[str, str, str, str]] = {
    "small letters": ("n.yaml", "${cost}", "deploy.sh", f"cost=@\nexport cost\n{APPLY}\n"),
    "before a command": ("n.yaml", "${cost}", "Makefile", f"deploy:\n\tcost=@ {APPLY}\n"),
    "another variable": ("n.yaml", "${cost}", "deploy.sh", f"TEAM=@\nexport cost=x-$TEAM\n{APPLY}\n"),
    "environment of a workflow": (
        "n.yaml",
        "${cost}",
        ".github/workflows/d.yml",
        f'env: {{cost: "@"}}\njobs: {{d: {{steps: [{{run: "{APPLY}"}}]}}}}\n',
    ),
    "environment of a program": ("n.yaml", "${COST}", "d.py", 'import os\nos.environ["COST"] = "@"\n'),
    "vars of a play": (
        "n.yaml.j2",
        "{{ cost }}",
        "site.yml",
        "- hosts: localhost\n  vars: {cost: @}\n  tasks: [{kubernetes.core.k8s: {template: n.yaml.j2}}]\n",
    ),
    "parameter of a role": ("n.yaml.j2", "{{ cost }}", "p.yml", "- hosts: all\n  roles:\n    - {role: n, cost: @}\n"),
    "extra variable": ("n.yaml.j2", "{{ cost }}", "run.sh", "ansible-playbook site.yml -e cost=@\n"),
    "extra variable of a pipeline": (
        "n.yaml.j2",
        "{{ vars.cost }}",
        ".gitlab-ci.yml",
        'd:\n  script:\n    - ansible-playbook site.yml --extra-vars "cost=@"\n',
    ),
    "context of gomplate": ("n.yaml.tmpl", "{{ .cost }}", "Makefile", "d:\n\tgomplate -f n.yaml.tmpl -c cost=@\n"),
}


def compare(nodelint: Run, folder: Path, name: str, marks: tuple[str, str], more: str = "") -> tuple[int, str]:
    manifest, placeholder, path, text = SETTERS[name]
    files = {manifest: BOTH.replace("cost: web", f'cost: "{placeholder}"'), path: text.replace("@", "team-a") + more}
    done = plan(nodelint, folder, files, change(files, (path, *marks)))
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", SETTERS)
def test_a_line_that_sets_the_variable_is_an_input(nodelint: Run, tmp_path: Path, name: str) -> None:
    code, shown = compare(nodelint, tmp_path, name, ("team-a", "team-b"))
    assert code == 1 and "No node is replaced" not in shown, shown


@pytest.mark.parametrize("name", SETTERS)
def test_a_line_that_sets_another_variable_is_no_input(nodelint: Run, tmp_path: Path, name: str) -> None:
    more = {"Makefile": "OTHER = note-1\n", ".py": 'OTHER = "note-1"\n', ".sh": "OTHER=note-1\necho note-1\n"}
    line = next((text for end, text in more.items() if SETTERS[name][2].endswith(end)), "# note-1\n")
    code, shown = compare(nodelint, tmp_path, name, ("note-1", "note-2"), line)
    assert code == 0, shown


def test_a_keyword_of_a_pipeline_sets_no_variable(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "n.yaml": BOTH.replace("cost: web", "cost: ${image}"),
        ".github/workflows/d.yml": f"jobs: {{d: {{container: {{image: alpine:1}}, steps: [{{run: '{APPLY}'}}]}}}}\n",
    }
    done = plan(nodelint, tmp_path, files, change(files, (".github/workflows/d.yml", "alpine:1", "alpine:2")))
    assert done.returncode == 0, done.stdout
