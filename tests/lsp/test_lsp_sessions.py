"""Someone edits a chart, an overlay and Terraform: at each rest the editor shows what `check` says of the files."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lsprotocol import types

from tests.lsp.test_lsp import Editor
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

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
        [('"amd64"', '"x86"'), ('"x86"', '"arm64"'), ('"arm64"', '"karpenter'), ('"karpenter', '"amd64"')],
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


def _shown_findings(editor: Editor, uri: str) -> list[tuple[int, int, str, str]]:
    """What the editor shows of a text, with the columns counted in characters."""
    text = editor.texts[uri]
    found = []
    for shown in editor.diagnostics(uri):
        if shown.code == "not-judged":
            continue
        start = shown.range.start
        column = editor.offset(text, start) - editor.offset(text, types.Position(start.line, 0))
        found.append((start.line + 1, column + 1, str(shown.code), shown.message.partition("\n")[0]))
    return sorted(found)


def _checked_findings(nodelint: Nodelint, folder: Path) -> dict[str, list[tuple[int, int, str, str]]]:
    """What `check` says of each file below a folder."""
    answer = json.loads(nodelint("check", "--format", "json", ".", cwd=folder).stdout)
    found: dict[str, list[tuple[int, int, str, str]]] = {}
    for f in answer["findings"]:
        found.setdefault(f["path"], []).append((f["start"]["line"], f["start"]["column"], f["rule"], f["message"]))
    return {path: sorted(findings) for path, findings in found.items()}


@pytest.mark.parametrize("name", SESSIONS)
def test_editor_shows_what_check_says(editor: Editor, nodelint: Nodelint, tmp_path: Path, name: str) -> None:
    """Each change is typed a few characters at a time, and compared when it is whole."""
    files, edited, changes = SESSIONS[name]
    pace = random.Random(name)
    write_files(tmp_path, files)
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
        shown = _shown_findings(editor, uri)
        place.write_text(editor.texts[uri], encoding="utf-8")
        messages = _checked_findings(nodelint, tmp_path).get(edited, [])
        assert shown == messages, editor.texts[uri]
        seen.update(messages)
    assert seen
    editor.close(uri)


WORDS = (
    *(
        "0",
        "101",
        "-5",
        "true",
        "null",
        '""',
        "In",
        "Exists",
        "Gt",
        "arm64",
        "x86",
        "30d",
        "Never",
        "m7i.*",
        "on_demand",
    ),
    *("{{ .Values.x }}", "${var.arch}", "karpenter.sh/v1", "NodePoll", "other", "🦊", "|", "- a", "{}", "&a 1", "*a"),
)
LINES = (
    *("  weight: 3", "---", "weight: 7", "\t", '"', "}", "{{- if .Values.a }}", "{{- end }}"),
    "      taints: [{key: a, effect: NoSchedule}]",
)
TREES = {
    f"{folder}/{path}": text
    for folder, tree in (("chart", CHART), ("overlay", OVERLAY), ("tf", TERRAFORM))
    for path, text in tree.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_whatever_happens_to_files_editor_shows_what_check_says(
    editor: Editor, nodelint: Nodelint, tmp_path: Path, seed: int
) -> None:
    """Texts are edited, undone, saved, deleted and renamed; the one that is compared has them as files."""
    chance = random.Random(seed)
    here, there = tmp_path / "here", tmp_path / "there"
    write_files(here, TREES)
    (here / ".git").mkdir()
    opened = {editor.open(here / path): here / path for path in TREES}
    for _ in range(15):
        for _ in range(chance.randint(1, 5)):
            uri = chance.choice(list(opened))
            path, text = opened[uri], editor.texts[uri]
            step = chance.random()
            if step < 0.45 and (words := list(re.finditer(r"[\w.@/*-]+", text))):
                word = chance.choice(words)
                editor.edit(uri, word.start(), word.end(), chance.choice(WORDS))
            elif step < 0.6:
                at = chance.choice([0, *(found.end() for found in re.finditer("\n", text))])
                editor.edit(uri, at, at, f"{chance.choice(LINES)}\n")
            elif step < 0.85:
                original = TREES[next(name for name in TREES if name.endswith(path.name.removeprefix("new-")))]
                editor.edit(uri, 0, len(text), original)
            elif step < 0.93 or not path.exists():
                path.write_text(text, encoding="utf-8")
                editor.changed_on_disk(path)
            elif step < 0.97 and path.name != "Chart.yaml":
                path.unlink()
                editor.changed_on_disk(path)
            elif not path.name.startswith("new-"):
                editor.close(opened_uri := uri)
                del opened[opened_uri]
                path = path.rename(path.with_name(f"new-{path.name}"))
                editor.changed_on_disk(path)
                opened[editor.open(path, text)] = path
        shutil.rmtree(there, ignore_errors=True)
        shutil.copytree(here, there)
        for uri, path in opened.items():
            (there / path.relative_to(here)).write_bytes(editor.texts[uri].encode())
        messages = _checked_findings(nodelint, there)

        def differ(expected: dict[str, list[tuple[int, int, str, str]]] = messages) -> list[str]:
            names = {str(path.relative_to(here)): uri for uri, path in opened.items()}
            return [name for name, uri in names.items() if _shown_findings(editor, uri) != expected.get(name, [])]

        for _ in range(50):  # what another text or the disk changes is said a moment later
            if not differ():
                break
            editor.runner.run(asyncio.sleep(0.1))
        for name in differ():
            uri = next(uri for uri, path in opened.items() if str(path.relative_to(here)) == name)
            assert _shown_findings(editor, uri) == messages.get(name, []), name
    for uri in opened:
        editor.close(uri)
