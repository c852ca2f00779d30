"""Charts of the repository that Terraform installs: judged with what each `helm_release` gives them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "chart/values.yaml": "name: a\ntypes: [m5.large]\n",
    "chart/templates/pool.yaml": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: {{ toJson .Values.types }}}
""",
}
WAYS = {
    "yamlencode": ('values = [yamlencode({ name = module.x.name, types = ["m5.xlrge", "m5.large"] })]', {}, "m.tf:5"),
    "file": ('values = [file("${path.module}/v.yaml")]', {"v.yaml": "types:\n  - m5.xlrge\n"}, "v.yaml:2"),
    "templatefile": (
        'values = [templatefile("${path.module}/v.tftpl", { size = "xlrge" })]',
        {"v.tftpl": "name: ${x}\ntypes:\n  - m5.${size}\n".replace("${x}", "b")},
        "v.tftpl:3",
    ),
    "heredoc": (
        "values = [<<-EOT\n    name: ${module.x.name}\n    types:\n      - m5.xlrge\n  EOT\n  ]",
        {},
        "m.tf:8",
    ),
    "set": ('set {\n    name  = "types[0]"\n    value = "m5.xlrge"\n  }', {}, "m.tf:7"),
    "set as a list": ('set = [{ name = "types[0]", value = "m5.xlrge" }]', {}, "m.tf:5"),
    "set_list": ('set_list {\n    name  = "types"\n    value = ["m5.xlrge", "m5.large"]\n  }', {}, "m.tf:7"),
    "a variable's default in another file": (
        "values = [yamlencode({ types = [var.type] })]",
        {"variables.tf": 'variable "type" {\n  default = "m5.xlrge"\n}\n'},
        "variables.tf:2",
    ),
    "a value of tfvars": (
        "values = [yamlencode({ types = var.types })]",
        {"variables.tf": 'variable "types" {}\n', "terraform.tfvars": 'types = ["m5.xlrge"]\n'},
        "terraform.tfvars:1",
    ),
    "a local in another file": (
        'set = [{ name = "types[0]", value = local.type }]',
        {"locals.tf": 'locals {\n  type = "m5.xlrge"\n}\n'},
        "locals.tf:2",
    ),
    "a local in a text": (
        "values = [<<-EOT\n    types:\n      - ${local.type}\n  EOT\n  ]",
        {"locals.tf": 'locals {\n  type = "m5.xlrge"\n}\n'},
        "locals.tf:2",
    ),
    "dynamic": (
        'dynamic "set" {\n    for_each = local.given\n    content {\n      name  = set.key\n      value = set.value\n'
        '    }\n  }\n  dynamic "postrender" {\n    for_each = []\n    content {}\n  }',
        {"locals.tf": 'locals {\n  given = { "types[0]" = "m5.xlrge" }\n}\n'},
        "locals.tf:2",
    ),
    "dynamic, over a list of objects": (
        'dynamic "set_list" {\n    for_each = [{ n = "types", v = ["m5.xlrge"] }]\n    content {\n'
        "      name  = set_list.value.n\n      value = set_list.value.v\n    }\n  }",
        {},
        "m.tf:6",
    ),
    "a later one over an earlier one": (
        'values = [yamlencode({ types = ["m5.xxlarge"] }), yamlencode({ types = ["m5.xlrge"] })]',
        {},
        "m.tf:5",
    ),
}


def release_files(body: str, files: Mapping[str, str]) -> dict[str, str]:
    """A chart, and a module that installs it."""
    release = f'\nresource "helm_release" "pools" {{\n  name  = "pools"\n  chart = "./chart"\n  {body}\n}}\n'
    return {**CHART, **files, "m.tf": release}


def install(folder: Path, body: str, files: Mapping[str, str]) -> None:
    for path, text in release_files(body, files).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("way", WAYS)
def test_a_chart_is_judged_with_what_terraform_gives_it(nodelint: Run, tmp_path: Path, way: str) -> None:
    body, files, place = WAYS[way]
    install(tmp_path, body, files)
    shown = nodelint("check", ".", "--format", "concise", "--select", "unknown-value,invalid-field").stdout
    lines = [line for line in shown.splitlines() if "unknown-value" in line or "invalid-field" in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith(place + ":") and "m5.xlrge" in lines[0]


@pytest.mark.parametrize(
    "body",
    [
        "values = [var.values]",
        "values = concat([], var.values)",
        'dynamic "set" {\n    for_each = var.given\n    content {\n      name = set.key\n    }\n  }',
        'dynamic "set" {\n    for_each = { "types[0]" = "m5.xlrge" }\n    iterator = one\n    content {\n'
        "      name = one.key\n      value = one.value\n    }\n  }",
        "set = var.given",
    ],
)
def test_values_that_are_not_known_are_named(nodelint: Run, tmp_path: Path, body: str) -> None:
    install(tmp_path, body, {})
    report = json.loads(nodelint("check", ".", "--format", "json", "--select", "unknown-value,invalid-field").stdout)
    assert not report["findings"]
    assert [place["path"] for place in report["coverage"]["notJudged"]] == ["m.tf"]


def test_a_release_with_values_of_several_files_is_one(nodelint: Run, tmp_path: Path) -> None:
    files = {"locals.tf": 'locals {\n  type = "m5.large"\n}\n'}
    install(tmp_path, "values = [yamlencode({ types = [local.type], name = var.name })]", files)
    (tmp_path / "variables.tf").write_text('variable "name" {\n  default = "b"\n}\n')
    rows = json.loads(nodelint("hash", ".", "--format", "json", cwd=tmp_path).stdout)["objects"]
    assert sorted(row["name"] for row in rows) == ["a", "b"]


PRINTED = {
    "chart/Chart.yaml": CHART["chart/Chart.yaml"],
    "chart/values.yaml": "labels: {}\nrequirements: []\n",
    "chart/templates/pool.yaml": """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
spec:
  template:
    metadata:
      labels: {{- toYaml .Values.labels | nindent 8 }}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: {{- toYaml .Values.requirements | nindent 8 }}
""",
}
SETTINGS = """\
  set {
    name  = "labels.example\\\\.com/team"
    value = "TEAM"
  }
  set {
    name  = "requirements[0].key"
    value = "karpenter.k8s.aws/instance-cpu"
  }
  set {
    name  = "requirements[0].operator"
    value = "OPERATOR"
  }
  set {
    name  = "requirements[0].values[0]"
    value = "4"
    type  = "TYPE"
  }
"""


@pytest.mark.parametrize(
    ("team", "operator", "kind", "found"),
    [
        ("web", "In", "string", []),
        ("web", "in", "string", [("invalid-field", 15)]),
        ("web", "In", "auto", [("invalid-field", 19)]),
        ("True", "In", "string", [("invalid-field", 7)]),
    ],
)
def test_settings_are_printed_by_the_last_name_of_their_paths(
    nodelint: Run, tmp_path: Path, team: str, operator: str, kind: str, found: list[tuple[str, int]]
) -> None:
    """A dot behind a backslash is one of the key, and `type` says whether a number is text."""
    text = SETTINGS.replace("TEAM", team).replace("OPERATOR", operator).replace("TYPE", kind)
    install(tmp_path, text.lstrip(), PRINTED)
    findings = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    errors = [finding for finding in findings if finding["severity"] == "error"]
    assert [(finding["rule"], finding["start"]["line"]) for finding in errors] == found
