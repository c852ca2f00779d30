"""Someone edits a chart, an overlay and Terraform: at each rest the editor shows what `check` says of the files."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .manifests import nodeclass, nodepool
from .test_lsp import Editor

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

ARCH = "key: kubernetes.io/arch, operator: In, values: [amd64]"
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "values.yaml": "pools:\n  web:\n    weight: 10\n    arch: amd64\n    expireAfter: 720h\nvolume: 100Gi\n",
    "templates/pools.yaml": """\
{{- range $name, $pool := .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}
spec:
  weight: {{ $pool.weight }}
  template:
    spec:
      expireAfter: {{ $pool.expireAfter }}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [{{ $pool.arch | quote }}]
{{- end }}
""",
    "templates/class.yaml": nodeclass("blockDeviceMappings:", "  - deviceName: /dev/xvda")
    + "      ebs: {volumeSize: {{ .Values.volume }}, encrypted: true}\n",
}
OVERLAY = {
    "base/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "base/pool.yaml": nodepool(ARCH),
    "base/class.yaml": nodeclass(),
    "prod/kustomization.yaml": "resources: [../base]\npatches:\n  - path: patch.yaml\n",
    "prod/patch.yaml": nodepool(ARCH).partition("  template:")[0] + "  weight: 10\n  limits: {cpu: 100}\n",
}
TERRAFORM = {
    "pools.tf": 'resource "kubectl_manifest" "pool" {\n  yaml_body = <<-YAML\n'
    + "".join(f"    {line}\n" for line in nodepool(ARCH).replace("amd64", "${var.arch}").splitlines())
    + "    YAML\n}\n",
    "variables.tf": 'variable "arch" {\n  default = "arm64"\n}\n',
    "prod.auto.tfvars": 'arch = "amd64"\n',
    "class.yaml": nodeclass(),
}
SESSIONS = {
    "values": (
        CHART,
        "values.yaml",
        [
            ("weight: 10", "weight: 101"),
            ("arch: amd64", "arch: x86"),
            ("weight: 101", "weight: 50"),
            ("volume: 100Gi", "volume: 100"),
            ("arch: x86", "arch: arm64"),
            (
                "expireAfter: 720h\n",
                "expireAfter: 720h\n  batch:\n    weight: 0\n    arch: arm\n    expireAfter: 30d\n",
            ),
            ("volume: 100\n", "volume: 100Gi\n"),
        ],
    ),
    "template": (
        CHART,
        "templates/pools.yaml",
        [
            ("operator: In", "operator: in"),
            ("  weight: {{ $pool.weight }}\n", ""),
            ("{{ $pool.arch | quote }}", "{{ $pool.arch"),
            ("{{ $pool.arch", "{{ $pool.arch }}"),
            ("operator: in", "operator: In"),
        ],
    ),
    "patch": (
        OVERLAY,
        "prod/patch.yaml",
        [
            ("weight: 10", "weight: 1000"),
            ("limits: {cpu: 100}", "limits: {cpu: 100 cores}"),
            ("weight: 1000", "weight: 1"),
            ("kind: NodePool", "kind: NodePoll"),
            ("kind: NodePoll", "kind: NodePool"),
        ],
    ),
    "variables": (
        TERRAFORM,
        "prod.auto.tfvars",
        [('"amd64"', '"x86"'), ('"x86"', '"arm64"'), ('"arm64"', '"'), ('"', '"amd64"')],
    ),
    "heredoc": (
        TERRAFORM,
        "pools.tf",
        [("operator: In", "operator: im"), ("    YAML\n}", "    YAM\n}"), ("YAM\n}", "YAML\n}"), ("im,", "In,")],
    ),
}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    editor = Editor(tmp_path_factory.mktemp("home"))
    yield editor
    assert editor.leave() == (0, "")


@pytest.mark.parametrize("name", SESSIONS)
def test_editor_shows_what_check_says(editor: Editor, nodelint: Nodelint, tmp_path: Path, name: str) -> None:
    """Each change is typed a few characters at a time, and compared when it is whole."""
    files, edited, changes = SESSIONS[name]
    pace = random.Random(name)
    for path, text in files.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    place = tmp_path / edited
    uri = editor.open(place)
    seen = set()
    for old, new in changes:
        at = editor.texts[uri].index(old)
        editor.edit(uri, at, at + len(old), "")
        while new:
            size = pace.randint(1, 4)
            editor.edit(uri, at, at, new[:size])
            at, new = at + size, new[size:]
        shown = [
            (d.range.start.line + 1, d.range.start.character + 1, str(d.code), d.message.partition("\n")[0])
            for d in editor.diagnostics(uri)
        ]
        place.write_text(editor.texts[uri], encoding="utf-8")
        answer = json.loads(nodelint("check", "--format", "json", ".", cwd=tmp_path).stdout)
        said = [
            (f["start"]["line"], f["start"]["column"], f["rule"], f["message"])
            for f in answer["findings"]
            if f["path"] == edited
        ]
        assert sorted(shown) == sorted(said), editor.texts[uri]
        seen.update(said)
    assert seen
    editor.close(uri)
