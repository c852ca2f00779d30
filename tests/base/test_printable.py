"""Nothing that a repository, a log or AWS says sends codes to a terminal, whatever prints it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from nodelint.base.printable import escaped_json, flat, has_codes, printable, screened
from nodelint.cli import cli
from nodelint.ec2.snapshot import parse_snapshot, snapshot_text
from tests.code import called_name, nodes
from tests.conftest import ROOT
from tests.ec2.test_facts import ACCOUNT, snapshot_of

CODES = "\x1b[31m\x1b]0;title\x07\x9b31m\u202eevil\u2066\u200f\x7f"
"""A colour, a window's title (OSC), C1, bidirectional formatting, DEL."""

RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

QUOTED = '"x\\e[31m\\e]0;title\\a\\x9b31m\\u202eevil\\u2066\\u200f\\x7f"'
"""The same codes as YAML's escapes."""

MANIFESTS = f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {QUOTED}, {QUOTED}: 1}}
spec:
  # \u202eevil\u2066
  weight: {QUOTED}
  template:
    metadata: {{labels: {{team: {QUOTED}}}}}
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {QUOTED}}}
      requirements:
        - {{key: node.kubernetes.io/instance-type, operator: In, values: ["*"]}}  # \u202eevil\u2066
        - {{key: {QUOTED}, operator: In, values: [{QUOTED}]}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: {QUOTED}}}
spec:
  role: {QUOTED}
  amiSelectorTerms: [{{alias: {QUOTED}}}, {{name: {QUOTED}}}]
  subnetSelectorTerms: [{{tags: {{{QUOTED}: {QUOTED}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  {QUOTED}: 1
"""

LOG = [
    {
        "level": "ERROR",
        "time": "2025-08-21T10:00:00.000Z",
        "logger": "controller",
        "message": message,
        "commit": "abcdef1",
        "controller": "nodeclass",
        "NodePool": {"name": f"x{CODES}"},
        "EC2NodeClass": {"name": f"x{CODES}"},
        "error": f"x{CODES}",
    }
    for message in ("Reconciler error", f"unheard of {CODES}")
]

FORMATS = ("text", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose names, values and facts are full of codes; the working folder."""
    folder = tmp_path / f"d{CODES.replace('/', '')}"
    folder.mkdir()
    (folder / f"x{CODES}.yaml").write_text(MANIFESTS, encoding="utf-8")
    (folder / f"{CODES}.md").write_text(f"# {CODES}\n```yaml\n{MANIFESTS}```\n", encoding="utf-8")
    (folder / f"broken{CODES}.yaml").write_text(f"apiVersion: karpenter.sh/v1\nx: [{CODES}\n", encoding="utf-8")
    (folder / "old").mkdir()
    (folder / "old" / f"x{CODES}.yaml").write_text(MANIFESTS.replace("role: ", "role: a"), encoding="utf-8")
    (folder / "log.json").write_text("\n".join(map(json.dumps, LOG)) + "\n", encoding="utf-8")
    snapshot = snapshot_of(ACCOUNT)
    texts = snapshot_text(snapshot).replace("subnet-", f"subnet-{json.dumps(CODES)[1:-1]}")
    (folder / f"facts{CODES}.json").write_text(texts, encoding="utf-8")
    (folder / "facts.json").write_text(snapshot_text(snapshot), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NODELINT_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def printed(*args: str) -> str:
    """What a run prints on both streams, with the colours that it has on a terminal."""
    done = CliRunner().invoke(cli, list(args), color=True, prog_name="nodelint")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert done.exit_code != 3
    assert done.output
    return done.output


def only_colours(text: str) -> str:
    """The text without the codes that click's own colours are."""
    return re.sub(r"\x1b\[(?:0|1|2|22|3[1-6])m", "", text)


SNAPSHOT = f"facts{CODES}.json"
RUNS = [
    *(("check", ".", "--include", "*.md", "--format", form) for form in FORMATS),
    ("check", ".", "--snapshot", SNAPSHOT, "--region", "us-east-1"),
    ("check", ".", "--unsafe-fixes", "--diff", "--include", "*.md"),
    ("check", ".", "--unsafe-fixes"),
    ("explain", "."),
    ("explain", ".", "--format", "json"),
    ("explain", ".", "--nodepool", CODES),
    ("hash", "."),
    ("hash", ".", "--format", "json"),
    *(("upgrade", ".", "--from", "1.0.6", "--format", form) for form in ("text", "json", "markdown")),
    ("plan", ".", "--old", "old"),
    ("plan", ".", "--old", "old", "--format", "json"),
    ("triage", "log.json", "--manifests", "."),
    ("triage", "log.json", "--manifests", ".", "--format", "json"),
    ("snapshot", "show", SNAPSHOT),
    ("snapshot", "show", SNAPSHOT, "--format", "json"),
    ("snapshot", "diff", "facts.json", SNAPSHOT),
    ("snapshot", "diff", "facts.json", SNAPSHOT, "--format", "json"),
    ("baseline", f"x{CODES}.yaml", "--baseline", f"base{CODES}.json"),
    ("rule", CODES),
    ("check", f"missing{CODES}.yaml"),
    ("check", "--config", f"missing{CODES}.yaml"),
    ("check", "--snapshot", f"x{CODES}.yaml", "."),
    ("check", "--crds", f"missing{CODES}", "."),
    ("check", "--select", CODES, "."),
    ("check", "--format", CODES),
    ("check", f"--{CODES}"),
    (f"--{CODES}",),
    (CODES,),
]


def _readable_args(run: tuple[str, ...]) -> str:
    return " ".join(arg for arg in run if arg.isprintable())


@pytest.mark.parametrize("run", RUNS, ids=_readable_args)
def test_no_output_holds_a_code(run: tuple[str, ...], hostile: Path) -> None:
    text = printed(*run)
    found = RAW.search(only_colours(text))
    assert found is None, repr(text[max(0, found.start() - 80) : found.end() + 20])
    if "text" in run or run[0] in ("explain", "triage", "rule"):
        # A colour of the manifest's own is not a colour: what is said in red has said so.
        assert text.count("\x1b[31m") <= text.count("\x1b[0m")
        assert "x1b[31m" in text or "u001b[31m" in text


def test_no_file_of_a_report_holds_a_code(hostile: Path) -> None:
    """One run writes all formats."""
    outputs = [word for form in FORMATS for word in ("--format", f"{form}=../out.{form}")]
    CliRunner().invoke(cli, ["check", ".", "--include", "*.md", *outputs])
    texts = {form: (hostile.parent / f"out.{form}").read_text(encoding="utf-8") for form in FORMATS}
    assert all(texts.values())
    assert [form for form, text in texts.items() if RAW.search(text)] == []


def test_json_carries_what_it_escapes(hostile: Path) -> None:
    report = json.loads(printed("check", f"x{CODES}.yaml", "--format", "json"))
    assert {finding["path"] for finding in report["findings"]} == {f"x{CODES}.yaml"}
    assert f"x{CODES}" in {finding["object"]["name"] for finding in report["findings"] if finding["object"]}


def test_a_diff_with_codes_in_the_path_is_one_that_git_applies(hostile: Path) -> None:
    (hostile / f"x{CODES}.yaml").write_text(MANIFESTS.replace("\u202eevil\u2066", "x"), encoding="utf-8")
    before = (hostile / f"x{CODES}.yaml").read_text(encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", f"x{CODES}.yaml", "--unsafe-fixes", "--diff"])
    assert '--- "a/x\\033[31m' in done.stdout
    assert "does not apply" not in done.stderr
    subprocess.run(["git", "apply", "-"], input=done.stdout.encode(), cwd=hostile, check=True)
    assert (hostile / f"x{CODES}.yaml").read_text(encoding="utf-8") != before


def test_a_diff_that_shows_escapes_says_that_it_does_not_apply(hostile: Path) -> None:
    done = CliRunner().invoke(cli, ["check", f"x{CODES}.yaml", "--unsafe-fixes", "--diff"])
    assert "  # \\u202eevil\\u2066\n" in done.stdout
    assert "does not apply" in done.stderr


def test_a_path_adds_nothing_to_the_configuration_that_init_writes(
    tmp_path: Path, nodelint: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """A line break in the name of a file would end the comment that names it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a\nfail-on: never\n.sh").write_text("export KARPENTER_VERSION=1.4.0\n", encoding="utf-8")
    assert nodelint("init").returncode == 0
    lines = (tmp_path / "nodelint.yaml").read_text(encoding="utf-8").splitlines()
    assert "fail-on: never" not in lines
    assert sum('karpenter-version: "1.4.0"' in line for line in lines) == 1


@pytest.mark.slow
def test_only_one_module_prints() -> None:
    """Every other one hands what it has to say to functions that take the codes out."""
    allowed = {ROOT / "nodelint" / "commands" / "_console.py", ROOT / "nodelint" / "__main__.py"}
    calls = {"print", "click.echo", "click.secho", "click.echo_via_pager", "sys.stdout.write", "sys.stderr.write"}
    last_words = {name.split(".")[-1] for name in calls}
    for path in [*(ROOT / "nodelint").rglob("*.py"), *(ROOT / "rules").glob("*.py")]:
        functions = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
        found = {ast.unparse(function) for function in functions if called_name(function) in last_words} & calls
        assert path in allowed or not found, path


@given(st.text())
def test_text_for_people_is_printable_and_marks_stand_below_what_they_mark(text: str) -> None:
    assert printable(text).isprintable()
    assert flat(text).isprintable() and len(flat(text)) == len(text)
    assert RAW.search(screened(text).replace("\r\n", "\n")) is None
    assert has_codes(text) == (screened(text) != text)


@given(st.recursive(st.text() | st.integers(), lambda below: st.lists(below) | st.dictionaries(st.text(), below)))
def test_json_keeps_its_values(value: object) -> None:
    text = escaped_json(json.dumps(value, indent=2, ensure_ascii=False))
    assert json.loads(text) == value
    assert all(line.isprintable() for line in text.split("\n"))


def test_a_snapshot_with_codes_is_one(hostile: Path) -> None:
    assert parse_snapshot((hostile / SNAPSHOT).read_text(encoding="utf-8")).regions
