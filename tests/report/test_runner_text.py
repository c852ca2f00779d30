"""What a runner of CI takes for a command begins no line out of a repository's text, in any command and format."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nodelint.base.printable import escaped_json, screened
from nodelint.report.unified_diff import unified
from nodelint.text import Source
from tests.repositories import write_files
from tests.why import clusters

Run = Callable[..., subprocess.CompletedProcess[str]]

_LONG = "word " * 60
_EVIL = f"{_LONG}::set-output name=x::PWN {_LONG}##[set-env name=x]PWN {_LONG}::add-mask::PWN"
_LINES = '"a\\n::set-output name=x::PWN\\n  ##[error]PWN\\n\\u00a0::PWN"'


def _pool(name: str, arch: str) -> str:
    return f"""apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {name}
  annotations:
    note: |
      ::set-output name=x::PWN
      ##[error]PWN
spec:
  template:
    metadata:
      labels:
        ::label: "{_EVIL}"
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {name}}}
      requirements:
      - {{key: kubernetes.io/arch, operator: In, values: [{arch}, arm64]}}
      - {{key: {_LINES}, operator: In, values: [{_LINES}]}}
      - {{key: "::key", operator: In, values: ["{_EVIL}"]}}
      - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m5x]}}
"""


def _files(arch: str) -> dict[str, str]:
    class_of = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: %s}\nspec:\n  role: %s\n"
    return {
        "pool.yaml": _pool("web", arch) + "---\n" + class_of % ("web", _LINES),
        "names.yaml": _pool(_LINES, arch) + "---\n" + _pool('"::set-output name=x::PWN"', arch),
        "::set-output name=x::PWN/##[error]PWN.yaml": _pool("other", arch),
        "broken.yaml": "apiVersion: karpenter.sh/v1\n::set-output name=x::PWN\n  - : [\n",
        "kustomization.yaml": 'resources: [pool.yaml, "::set-output name=x::PWN"]\n',
        "main.tf": 'resource "kubectl_manifest" "p" {\n yaml_body = file("../::set-output") # karpenter.sh\n}\n',
        "nodelint.yaml": 'ignore: ["::set-output name=x::PWN"]\n',
    }


_ALL_FORMATS = {
    ("check", "."): ("text", "concise", "json", "jsonl", "sarif", "gitlab", "junit", "markdown", "html", "github"),
    ("explain", "."): ("text", "json", "html"),
    ("fit", "."): ("text", "json", "markdown", "html"),
    ("plan", "--old", "../old", "."): ("text", "markdown", "html", "json"),
    ("why", "--manifests", ".", "../cluster.json"): ("text", "markdown", "html", "json"),
}
"""Commands with formats that one run prints: the first to the terminal and the others to files."""


def _cluster() -> str:
    """A cluster as kubectl prints it, in which names, messages and taints hold what a runner obeys."""
    evil = "::set-output name=x::PWN"
    events = [clusters.event(text, name=evil) for text in (_EVIL, "a\n::PWN\n ##[error]PWN", evil)]
    annotations = {"karpenter.sh/do-not-disrupt": "true", "a": f"\n{evil}"}
    tainted = clusters.node(evil, evil, taints=[{"key": evil, "value": _EVIL, "effect": "NoSchedule"}])
    pods = [clusters.pod(evil, evil, annotations=annotations), clusters.pod("b\n::PWN", evil, namespace=evil)]
    pool = clusters.nodepool(evil)
    return clusters.kubectl_list(clusters.cluster(tainted, *pods, pool, clusters.pdb(evil), *events))


_PLAIN = ("--config", "../none.yaml")
COMMANDS = [
    ("check", "."),
    ("check", *_PLAIN, "--select", "all", "--unsafe-fixes", "--diff", "."),
    ("check", *_PLAIN, "--select", "all", "--verbose", "."),
    ("check", *_PLAIN, "--statistics", "."),
    ("check", *_PLAIN, "--fix", "."),
    ("baseline", *_PLAIN, "."),
    ("init", "--dry-run"),
    *(("hash", *_PLAIN, "--format", form, ".") for form in ("text", "json")),
    *(("upgrade", *_PLAIN, "--format", form, ".") for form in ("text", "json", "markdown")),
    *(("migrate", "--to", way, *_PLAIN, "--format", "text", ".") for way in ("auto-mode", "karpenter")),
    ("migrate", "--to", "auto-mode", *_PLAIN, "--format", "json", "."),
    ("policy", *_PLAIN),
    ("policy",),
    ("rule", "::set-output name=x::PWN"),
    ("test-rules", "."),
    *(("triage", "--format", form, "--manifests", ".", *_PLAIN, "-") for form in ("text", "json")),
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    write_files(tmp_path, {"none.yaml": "", "cluster.json": _cluster()})
    write_files(tmp_path / "old", _files("amd64"))
    write_files(tmp_path / "new", _files("x86"))
    return tmp_path / "new"


def run_command(nodelint: Run, repository: Path, command: Sequence[str]) -> str:
    given = "::set-output name=x::PWN\n" + json.dumps({"level": "ERROR", "message": "\n::PWN", "error": _EVIL}) + "\n"
    done = nodelint(*command, cwd=repository, stdin=given, env={"COLUMNS": "80"})
    assert done.returncode in (0, 1, 2), done.stderr
    return f"{done.stdout}\n{done.stderr}"


def list_obeyed(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.lstrip().startswith(("::", "##["))]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_line_begins_with_a_command_of_the_repository(
    command: tuple[str, ...], repository: Path, nodelint: Run
) -> None:
    assert list_obeyed(run_command(nodelint, repository, command)) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", _ALL_FORMATS, ids=" ".join)
def test_no_line_of_a_format_begins_with_a_command(
    command: tuple[str, ...], repository: Path, nodelint: Run, tmp_path: Path
) -> None:
    first, *more = _ALL_FORMATS[command]
    formats = ["--format", first, *(word for form in more for word in ("--format", f"{form}={tmp_path / form}"))]
    printed = run_command(nodelint, repository, [command[0], *_PLAIN, *formats, *command[1:]])
    assert list_obeyed(printed) == []
    for form in more:
        obeyed = list_obeyed((tmp_path / form).read_text(encoding="utf-8"))
        assert bool(obeyed) == (form == "github")
        assert all(re.match(r"::(?:error|warning|notice)\b", line) for line in obeyed)


def test_a_diff_with_such_a_line_applies(tmp_path: Path) -> None:
    text = "a: 1\n  ::set-output name=x::PWN\n##[error]\nb: 2\nc: 3"
    old, new = Source.from_text("a.txt", text), Source.from_text("a.txt", text.replace("b: 2", "b: 3"))
    diff = "".join(unified(old, new))
    assert not any(line.lstrip().startswith(("::", "##[")) for line in diff.splitlines())
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == new.text


@pytest.mark.parametrize("space", ["", " ", "\t", "\u00a0", "\u2003", "x\n ", "\x1b[1m", "x\r\n"])
@pytest.mark.parametrize("command", ["::set-output name=x::PWN", "##[error]PWN"])
def test_a_whole_output_is_screened(space: str, command: str) -> None:
    shown = screened(f"{space}{command}", colours=True)
    assert not any(
        re.sub(r"\x1b\[[0-9;]*m", "", line).lstrip().startswith(("::", "##[")) for line in shown.split("\n")
    )
    assert screened("a::b: c") == "a::b: c"
    assert json.loads(escaped_json(json.dumps([command]))) == [command]
