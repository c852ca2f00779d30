"""Commands of scripts and pipelines that change a manifest before it is applied: they are not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan_missing_references import BOTH, Run, change, plan

EDITS: dict[str, tuple[str, str]] = {
    "yq in place": ("deploy.sh", "yq -i '.spec.tags.cost = \"@\"' k8s/n.yaml\nkubectl apply -f k8s/n.yaml\n"),
    "sed that is applied": ("deploy.sh", 'sed "s|web|@|" k8s/n.yaml | kubectl apply -f -\n'),
    "sed with a variable": ("deploy.sh", 'COST=@\nsed -i "s|cost: web|cost: $COST|" k8s/n.yaml\n'),
    "variable of yq": (
        ".github/workflows/d.yml",
        "env:\n  COST: @\njobs:\n  d:\n    steps:\n"
        "      - run: yq -i '.spec.tags.cost = strenv(COST)' ./k8s/n.yaml\n",
    ),
    "sed with another delimiter": ("deploy.sh", "sed -i 's#web#@#' k8s/n.yaml # a note\n"),
    "command on two lines": ("deploy.sh", "yq -i '.spec.tags.cost = \"@\"' \\\n  k8s/n.yaml\n"),
    "folder of the script": ("k8s/deploy.sh", "sed -i 's|web|@|' n.yaml\n"),
    "kubectl patch": ("Makefile", "d:\n\tkubectl patch ec2nodeclass web --type merge -p '{spec: {role: @}}'\n"),
}
OTHERS: dict[str, tuple[str, str]] = {
    "another file": ("deploy.sh", "yq -i '.image.tag = \"@\"' app/values.yaml\n"),
    "another file of that name": ("app/deploy.sh", "sed -i 's|web|@|' n.yaml\n"),
    "a file that is only read": ("deploy.sh", "yq '.metadata.name' k8s/n.yaml # @\n"),
    "a comment": ("deploy.sh", "# sed -i 's|web|@|' k8s/n.yaml\n"),
    "patch of another kind": ("deploy.sh", "kubectl patch deployment web -p '{spec: {replicas: @}}'\n"),
}


def compare(nodelint: Run, folder: Path, path: str, text: str) -> tuple[int, str]:
    files = {"k8s/n.yaml": BOTH, path: text.replace("@", "one")}
    done = plan(nodelint, folder, files, change(files, (path, text.replace("@", "one"), text.replace("@", "two"))))
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", EDITS)
def test_a_command_that_changes_a_manifest_is_not_compared(nodelint: Run, tmp_path: Path, name: str) -> None:
    code, shown = compare(nodelint, tmp_path, *EDITS[name])
    assert code == 1 and "No node is replaced" not in shown and EDITS[name][0] in shown, shown


@pytest.mark.parametrize("name", OTHERS)
def test_a_command_that_changes_something_else_is_no_alarm(nodelint: Run, tmp_path: Path, name: str) -> None:
    code, shown = compare(nodelint, tmp_path, *OTHERS[name])
    assert code == 0, shown
