"""What could be read before the edits of a trial, and cannot be read once they are made: the fix is withheld."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodelint.commands._check_run import FactFlags
from nodelint.commands._lint_setup import Judging, judging
from nodelint.config.settings import Settings
from nodelint.files.discover import discover
from nodelint.files.gate import gate
from nodelint.inventory import build
from nodelint.lint.broken_fixes import EditedTexts
from nodelint.lint.fix_trials import Trials
from nodelint.model.finding import Edit
from tests.repositories import write_files

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      expireAfter: AGE
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
"""
HEREDOC = 'resource "kubectl_manifest" "web" {\n  yaml_body = <<YAML\n' + POOL + "YAML\n}\n"
VARIABLE = 'variable "age" {\n  default = "168h"\n}\n'
CHART = {"Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n", "values.yaml": "enabled: true\nage: 168h\n"}
TERRAFORM = {"main.tf": HEREDOC.replace("AGE", "${jsonencode(var.age)}"), "variables.tf": VARIABLE}
TEMPLATE = {
    "templates/a.yaml": "{{ if .Values.enabled }}\n"
    + POOL.replace("AGE", "{{ .Values.age | toJson }}")
    + "{{ end }}\n"
}
FILE = {
    "main.tf": 'resource "kubectl_manifest" "web" {\n'
    '  yaml_body = templatefile("${path.module}/web.yaml", { age = var.age })\n}\n',
    "variables.tf": VARIABLE,
    "web.yaml": POOL.replace("AGE", "${jsonencode(age)}"),
}
CASES = {
    "heredoc": (
        TERRAFORM,
        "main.tf",
        "${jsonencode(var.age)}",
        '"${jsonencode(var.age)}"',
        "could no longer be read",
    ),
    "variable": (
        {**TERRAFORM, "main.tf": HEREDOC.replace("AGE", '"${var.age}"')},
        "variables.tf",
        '"168h"',
        '"a\\"b"',
        "could no longer be read",
    ),
    "template file": (FILE, "web.yaml", "${jsonencode(age)}", '"${jsonencode(age)}"', ""),
    "chart": (
        CHART | TEMPLATE,
        "templates/a.yaml",
        "{{ .Values.age | toJson }}",
        '"{{ .Values.age | toJson }}"',
        "",
    ),
    "object": (
        {"a.yaml": POOL.replace("AGE", "168h")},
        "a.yaml",
        "apiVersion: karpenter.sh/v1\n",
        "apiVersion: v1\n",
        "NodePool/web would be gone",
    ),
}


def read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Judging:
    monkeypatch.chdir(folder)
    gate.admit(".")
    return judging(discover(["."]), FactFlags(False, None, None), Settings(), ["."])


@pytest.mark.parametrize("name", CASES)
def test_a_trial_says_what_can_no_longer_be_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, path, old, new, reason = CASES[name]
    write_files(tmp_path, files)
    ready = read(tmp_path, monkeypatch)
    inventory = ready.inventory
    sources = inventory.files
    source = next(source for source in sources if source.path == path)
    trials = Trials(
        sources, ready.request, inventory, lambda again, _: build(again, inventory.folder_files), EditedTexts()
    )
    at = source.text.index(old)
    set_aside = [len(source.set_aside) for source in sources]
    assert trials.run([Edit(source, at, at, "")]).unread == []
    unread = trials.run([Edit(source, at, at + len(old), new)]).unread
    assert unread, name
    assert reason in unread[0]
    assert [len(source.set_aside) for source in sources] == set_aside
    assert trials.run([Edit(source, at, at, "")]).unread == []
