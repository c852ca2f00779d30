"""Input that nobody means to write: one line for each, with its place, the rest still checked, nothing lost.

What is checked in a process of its own ends with no traceback and never with code 3, with bounded work.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.ec2.snapshot import snapshot_text
from nodelint.edits import apply
from nodelint.files.discover import discover
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.report.text import finding_text
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.commands.test_cli import CLASS, TYPO
from tests.conftest import by_place
from tests.counting import count_calls
from tests.ec2.test_facts import ACCOUNT, snapshot_of
from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = "apiVersion: karpenter.sh/v1\nkind: NodePool\n"
FOUND = "securityGroupSelectorTerm"

# What is in the file; the line and column of what is said of it, and a part of the sentence.
UNREADABLE: dict[str, tuple[bytes, int, int, str]] = {
    "not UTF-8": (CLASS.replace("Role-", "Rol\xe9-").encode("latin-1"), 6, 25, "byte 0xe9 is not UTF-8"),
    "UTF-16 without a mark": (CLASS.encode("utf-16-le"), 1, 1, "the file is UTF-16 without a byte order mark; write"),
    "UTF-32 without a mark": (CLASS.encode("utf-32-be"), 1, 1, "the file is UTF-32 without a byte order mark; write"),
    "UTF-32 with a mark": (b"\0\0\xfe\xff" + CLASS.encode("utf-32-be"), 1, 1, "the file is UTF-32; write UTF-8"),
    "UTF-32 the other way": (b"\xff\xfe\0\0" + CLASS.encode("utf-32-le"), 1, 1, "the file is UTF-32; write UTF-8"),
    "binary behind a manifest": (CLASS.encode() + b"\x00\x9d\xfe" * 99, 11, 2, "byte 0x9d"),
    "a NUL": (CLASS.replace("main", "ma\0in", 1).encode(), 6, 29, "U+0000"),
    "an escape character": (CLASS.replace("main", "ma\x1bin", 1).encode(), 6, 29, "U+001B"),
    "a byte order mark within": ((CLASS + "---\n\ufeff" + CLASS).encode(), 12, 1, "U+FEFF"),
    "two byte order marks": (("\ufeff\ufeff" + CLASS).encode(), 1, 1, "U+FEFF"),
    "tabs": (CLASS.replace("  role", "\trole").encode(), 6, 1, "tab cannot indent"),
    "half a list": ((HEAD + "spec: [1, 2\n").encode(), 4, 1, "expected `,` or `]`"),
    "half a text": ((HEAD + 'spec: "abc\n').encode(), 3, 7, "end of the quoted text"),
    "a key twice": ((HEAD + "kind: NodePool\n").encode(), 3, 1, "`kind` is set twice"),
    "a key twice in JSON": (b'{"kind": "NodePool", "kind": "karpenter"}', 1, 22, "`kind` is set twice"),
    "a text behind JSON": (b'{"apiVersion": "karpenter.sh/v1"} and', 1, 35, "the end here"),
    "a list as key": ((HEAD + "[a]: b\n").encode(), 3, 1, "a key must be a string"),
    "a merge of a number": ((HEAD + "<<: 5\n").encode(), 3, 5, "`<<` needs a mapping"),
    "a merge of numbers": ((HEAD + "<<: [1, 2]\n").encode(), 3, 5, "`<<` needs a mapping"),
    "an alias without anchor": ((HEAD + "spec: *x\n").encode(), 3, 7, "`*x` has no anchor"),
    "an alias of itself": ((HEAD + "spec: &a [*a]\n").encode(), 3, 11, "refers to a value that contains it"),
    "half a surrogate pair": ((HEAD + 'spec: "\\ud800"\n').encode(), 3, 8, "half a character"),
    "100,000 lists deep": ((HEAD + "spec: " + "[" * 100_000).encode(), 3, 106, "levels deep"),
    "3,000 mappings deep": (
        (HEAD + "".join(" " * n + "a:\n" for n in range(3000))).encode(),
        103,
        101,
        "levels deep",
    ),
    "more than 5 MB in one document": ((HEAD + "spec: " + "x" * 5_000_000).encode(), 1, 1, "more than 5 MB"),
}
for _n, _bomb in enumerate(
    ("b{0}: &b{0} [{1}]\n", "b{0}: &b{0} {{p: {2}, q: {2}}}\n", "b{0}: &b{0} {{<<: [{2}], p{0}: {2}}}\n")
):
    _text = HEAD + "b0: &b0 {x: 1}\n"
    for _i in range(1, 40):
        _text += _bomb.format(_i, ", ".join([f"*b{_i - 1}"] * 9), f"*b{_i - 1}")
    UNREADABLE[f"alias bomb {_n}"] = (_text.encode(), 0, 0, "stand for more than")


MOST_CALLS = 6_000_000
"""Calls of functions, twice those of the largest input below."""


def _source(data: bytes) -> Source:
    return Source.from_bytes("broken.yaml", data)


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_said_once_with_its_place(name: str, rules: dict[str, Rule]) -> None:
    data, line, column, words = UNREADABLE[name]
    work = count_calls(lambda: _hold_unreadable(data, (line, column), words, rules))
    assert work < MOST_CALLS


def _hold_unreadable(data: bytes, place: tuple[int, int], words: str, rules: dict[str, Rule]) -> None:
    line, column = place
    source = _source(data)
    (message,) = [
        r for r in lint([source], LintRequest(Target(NEWEST), rules)).results if r.rule.name == "yaml-syntax"
    ]
    at = source.position(message.span.start)
    assert words in message.finding.message
    assert line == 0 or (at.line, at.column) == (line, column)
    assert by_place(finding_text(message)).startswith(f"broken.yaml:{at.line}:{at.column}: error[yaml-syntax]: ")
    assert fix([source], LintRequest(Target(NEWEST), rules), unsafe=True).sources[0].text == source.text


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("check",), 1),
        (("explain",), 2),
        (("explain", "--nodepool", "none"), 2),
        (("fit",), 2),
        (("hash",), 2),
        (("upgrade", "--from", "1.9.2"), 2),
        (("triage", "../log.txt", "--manifests"), 2),
        (("plan", "--old", "../before"), 1),
        (("snapshot", "diff", "../facts.json", "../facts.json"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
@pytest.mark.parametrize("companion", [True, False], ids=["a good file beside it", "alone"])
def test_every_command_names_a_document_that_it_cannot_read(
    nodelint: Run, tmp_path: Path, command: tuple[str, ...], code: int, companion: bool
) -> None:
    """With its place, and the exit code says that something is left."""
    for folder in ("before", "now"):
        (tmp_path / folder).mkdir()
        if companion:
            (tmp_path / folder / "pool.yaml").write_text(nodepool(), encoding="utf-8")
    (tmp_path / "now" / "broken.yaml").write_text(HEAD + "spec: [1, 2\n", encoding="utf-8")
    (tmp_path / "log.txt").write_text("no instance type met all requirements\n", encoding="utf-8")
    (tmp_path / "facts.json").write_text(snapshot_text(snapshot_of(ACCOUNT)), encoding="utf-8")
    done = nodelint(*command, ".", cwd=tmp_path / "now")
    assert "broken.yaml:4:1: " in by_place(done.stdout) + done.stderr
    assert done.returncode == code, done.stderr


def test_a_path_that_is_not_there_is_named_before_what_is_lacking(nodelint: Run) -> None:
    done = nodelint("fit", "none.yaml")
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["nodelint: none.yaml: no such file or directory"]


def test_no_baseline_is_written_where_an_overlay_cannot_be_read(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(nodepool(), encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("resources: [pool.yaml\n", encoding="utf-8")
    done = nodelint("baseline")
    assert done.returncode == 2
    assert done.stderr.startswith("nodelint: kustomization.yaml:2: cannot be read: ")
    assert not (tmp_path / "nodelint.baseline.json").exists()


@pytest.mark.slow
def test_all_of_it_in_one_folder(nodelint: Run, tmp_path: Path) -> None:
    """One run over everything: each file has its line, and the good file beside is judged as ever.

    The texts that take the most are left out: each is read in a run of its own above.
    """
    unreadable = [data for name, (data, *_) in UNREADABLE.items() if not name.startswith("alias bomb")]
    for number, data in enumerate(unreadable):
        (tmp_path / f"{number:02}.yaml").write_bytes(data)
    (tmp_path / "empty.yaml").write_bytes(b"")
    (tmp_path / "mark.yaml").write_bytes(b"\xef\xbb\xbf")
    (tmp_path / "noise.yaml").write_bytes(bytes(range(256)) * 400)
    (tmp_path / "word.yaml").write_bytes(b"karpenter")
    (tmp_path / "list.yaml").write_bytes(b"apiVersion: v1\nkind: List\nitems: [1, null, [], {}] # karpenter\n")
    (tmp_path / "typo.yaml").write_bytes(TYPO.encode())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = nodelint("check", "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    findings = json.loads(done.stdout)["findings"]
    assert {f["path"] for f in findings if f["rule"] == "yaml-syntax"} == {
        f"{number:02}.yaml" for number in range(len(unreadable))
    }
    messages = {f["rule"] for f in findings if f["path"] == "typo.yaml"}
    assert messages - {"duplicate-name"} == {"unknown-field"}
    done = nodelint("check", "--unsafe-fixes")
    assert done.returncode == 1
    after = {path: path.read_bytes() for path in tmp_path.iterdir()}
    changed = {path.name for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert {name for name in changed if FOUND.encode() not in before[tmp_path / name]} == set()
    assert after[tmp_path / "typo.yaml"] == CLASS.encode()


@pytest.mark.parametrize(
    "text",
    [
        TYPO,
        HEAD + "spec: {template: {metadata: {labels: &x {a: b}}}, limits: *x}\n",
        '{"apiVersion":"karpenter.sh/v1","kind":"NodePool","spec":{"weight":"é"}}',
    ],
)
def test_every_prefix_of_a_file(text: str, rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a document is judged or refused, never a fault; its fix loses nothing of it."""
    monkeypatch.setenv("NODELINT_DEBUG", "1")
    for end in range(0, len(text), 3):
        source = _source(text[:end].encode())
        fixed = fix([source], LintRequest(Target(NEWEST), rules), unsafe=True)
        assert fixed.sources[0].text.replace(FOUND + "s", FOUND) == text[:end]
        assert all(0 <= r.span.start <= r.span.end <= end for r in fixed.report.results)


WIDE = HEAD + (
    "metadata: {name: a}\nspec:\n  template:\n    spec:\n"
    "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}\n"
)
LARGE = {
    "keys": HEAD + "".join(f"k{n}: v\n" for n in range(2000)),
    "suppressions": HEAD + "".join(f"k{n}: v # nodelint: ignore[unknown-field]\n" for n in range(1500)),
    "a row of suppressions": HEAD + "# nodelint: ignore[unknown-field]\n" * 4000 + "k: v\n",
    "blank lines in a text": HEAD + "a: |\n  x\n" + "    \n" * 30_000,
    "unclosed braces": HEAD + "a: " + "{{" * 250_000,
    "unclosed tags": HEAD + "a: " + "<%" * 500_000,
    "digits": HEAD + "a: " + "9" * 1_000_000,
    "a long line": HEAD + "a: " + "x " * 1_000_000 + "\nb: c\n",
    "empty documents": "---\n" * 20_000 + HEAD,
    "documents": ("---\n" + HEAD) * 350,
    "requirements": WIDE + "      requirements:\n" + "        - {key: a, operator: In, values: [x]}\n" * 500,
    "labels": HEAD
    + "spec:\n  template:\n    metadata:\n      labels:\n"
    + "".join(f"        a{n}: b\n" for n in range(600)),
    "wildcards": WIDE
    + "      requirements:\n        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c6i"
    + ", c6*" * 400
    + "]}\n",
    "items": "apiVersion: v1\nkind: List\nitems:\n" + "- {apiVersion: karpenter.sh/v1, kind: NodePool}\n" * 300,
}


@pytest.mark.parametrize("name", LARGE)
def test_large_input_takes_bounded_work(name: str, rules: dict[str, Rule]) -> None:
    """What is quadratic in the file misses the bound by far."""

    def run() -> None:
        report = lint([Source.from_text("large.yaml", LARGE[name])], LintRequest(Target(NEWEST), rules))
        assert report.results
        assert len([finding_text(result) for result in report.results]) < 10_000

    assert count_calls(run) < MOST_CALLS


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path) -> None:
    """50 MB in one document, and as much again that is not one of ours, in less than 300 MB."""
    with (tmp_path / "one.yaml").open("w", encoding="utf-8") as file:
        file.write(HEAD)
        for _ in range(50):
            file.write("a: " + "x" * 1_000_000 + "\n")
    (tmp_path / "other.json").write_bytes(b"x" * 50_000_000)
    (tmp_path / "typo.yaml").write_bytes(TYPO.encode())
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run([sys.executable, '-m', 'nodelint', 'check'])\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "one.yaml:1:1: error[yaml-syntax]: a document of more than 5 MB is not read" in by_place(done.stdout)
    assert "typo.yaml:10:3" in done.stdout
    assert int(done.stderr) < 300 * 1024, "kilobytes at the highest"


def test_what_a_folder_may_hold_besides_files(tmp_path: Path) -> None:
    """A pipe is not waited for, a loop not followed; what leads nowhere is named, the rest read."""
    (tmp_path / "typo.yaml").write_bytes(TYPO.encode())
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "dir.yaml").mkdir()
    (tmp_path / "dir.yaml" / "typo.yaml").write_bytes(TYPO.encode())
    found = discover([str(tmp_path)])
    assert [Path(s.path).relative_to(tmp_path).as_posix() for s in found.sources] == [
        "dir.yaml/typo.yaml",
        "typo.yaml",
    ]
    assert [(Path(path).name, why) for path, why in found.unreadable] == [
        ("loop.yaml", "too many levels of symbolic links")
    ]


def test_a_tree_of_any_depth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(1500):
        os.mkdir("a")
        os.chdir("a")
    Path("typo.yaml").write_bytes(TYPO.encode())
    monkeypatch.chdir(tmp_path)
    found = discover(["."])
    # pytest clears old folders by recursion, and would not come to the end of this one
    os.chdir("a/" * 1500)
    os.unlink("typo.yaml")
    for _ in range(1500):
        os.chdir("..")
        os.rmdir("a")
    assert [s.path.count("/") for s in found.sources] == [1500]


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "missing.yaml", "nowhere.yaml", "\udcff\x1b[31m\n.yaml"])
def test_a_path_that_cannot_be_read_is_one_line(tmp_path: Path, path: str) -> None:
    (tmp_path / "nowhere.yaml").symlink_to("gone.yaml")
    found = discover([path])
    assert [p for p, _ in found.unreadable] == [path]


def test_a_name_can_neither_break_a_line_nor_steer_the_terminal(nodelint: Run, tmp_path: Path) -> None:
    name = "a\n\x1b[31m\udcff.yaml"
    (tmp_path / name).write_bytes(TYPO.encode())
    done = nodelint("check", ".", "gone\n\x1b[31m\udcff.yaml")
    assert by_place(done.stdout).startswith("a\\n\\x1b[31m\\udcff.yaml:10:3: error[unknown-field]")
    shown = "n\\x1b[31m\\udcff.yaml"
    gone = f"nodelint: gone\\{shown}: no such file or directory (did you mean `a\\{shown}`?)\n"
    assert done.stderr == gone
    assert json.loads(nodelint("check", "--format", "json").stdout)["findings"][0]["path"] == name
    assert "+  securityGroupSelectorTerms: [" in nodelint("check", "--diff").stdout
    assert nodelint("check", "--fix").returncode == 0
    assert (tmp_path / name).read_bytes() == CLASS.encode()


STREAMS = {
    "stdout closed": (">&-", 1),
    "both closed": (">&- 2>&-", 1),
    "stdout full": (">/dev/full", 2),
    "reader gone": ("| true", 0),
    "stdin closed": ("- <&-", 2),
    "neither UTF-8 nor ASCII": ("| cat", 0),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_do_not_work(name: str, tmp_path: Path) -> None:
    (tmp_path / "💥.yaml").write_bytes(TYPO.encode())
    redirect, code = STREAMS[name]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1:strict", "PYTHON": sys.executable}
    for form in ("text", "json"):
        done = subprocess.run(
            f'"$PYTHON" -m nodelint check --format {form} 💥.yaml {redirect}',
            shell=True,
            executable="/bin/bash",
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "fault" not in done.stderr
        assert len(done.stderr.splitlines()) <= 1
        if name == "stdout full":
            assert done.stderr == "nodelint: no space left on device\n"
        if name == "neither UTF-8 nor ASCII":
            assert (
                json.loads(done.stdout)
                if form == "json"
                else by_place(done.stdout).startswith("\\U0001f4a5.yaml:10:3")
            )


@pytest.mark.parametrize(
    "data",
    [
        b"kind: ConfigMap\n",
        b"",
        b"\xff\xfe\x00karpenter",
        CLASS.encode("latin-1"),
        CLASS.encode("utf-16"),
        b"a: [karpenter",
    ],
)
def test_a_filter_gives_back_what_it_cannot_fix(data: bytes, tmp_path: Path) -> None:
    """`--fix -` writes standard output, maybe over the file that was read: it must hold all of it."""
    done = subprocess.run(
        [sys.executable, "-m", "nodelint", "check", "--fix", "-"],
        cwd=tmp_path,
        input=data,
        capture_output=True,
        check=False,
    )
    assert done.stdout == data
    assert done.stderr


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    big, small = tmp_path / "big.yaml", tmp_path / "small.yaml"
    big.write_bytes((f"# {'x' * 100_000}\n" + TYPO).encode())
    small.write_bytes(TYPO.encode())
    before = big.read_bytes()
    done = subprocess.run(
        [sys.executable, "-B", "-m", "nodelint", "check", "--fix"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )
    assert done.returncode == 2
    assert done.stderr == "nodelint: big.yaml: not written: file too large\n"
    assert "Fixed 1 finding:" in done.stdout
    assert "big.yaml:11:3: error[unknown-field]" in by_place(done.stdout), "what is not fixed is still said"
    assert big.read_bytes() == before
    assert small.read_bytes() == CLASS.encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.yaml", "small.yaml"]


def test_a_run_that_is_killed_while_it_writes_leaves_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "typo.yaml"
    path.write_bytes(TYPO.encode())
    for step in ("fsync", "fchmod", "unlink"):
        code = (
            "import os, sys\n"
            f"os.{step} = lambda *_: os._exit(9)\n"
            "from nodelint.__main__ import main\n"
            "sys.argv = ['nodelint', 'check', '--fix', 'typo.yaml']\nmain()\n"
        )
        done = subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 9
        assert path.read_bytes() == TYPO.encode()


def test_diff_counts_lines_as_git_does(nodelint: Run, tmp_path: Path) -> None:
    """A line separator and a lone carriage return are line breaks of YAML's, and end no line of a patch."""
    text = TYPO.replace("spec:", "spec: # a\u2029# b\x85# c\u2028# d\r# e")
    (tmp_path / "typo.yaml").write_bytes(text.encode())
    done = nodelint("check", "--diff")
    subprocess.run(["git", "apply", "-"], input=done.stdout, text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "typo.yaml").read_bytes() == text.replace(FOUND, FOUND + "s").encode()


CONFIGURATIONS = {
    "nodelint.yaml": [
        b"\x00",
        b"\xff",
        b"[1]",
        b"5",
        b"select: {a: b}",
        b"ignore: true",
        b"per-path-ignores: [a]",
        b"karpenter-version: 1.4",
        b"fail-on: [error]",
        b"crds: 5",
        b"a: [",
        b"a: &a [*a]",
        b"select: *x",
        b"1: 2",
        b"? [a]\n: b",
        b"select: ${X}",
        b"a: " + b"[" * 5000,
        b"<<: 5",
        b"crds: nowhere",
        b"select: no-such-rule",
    ],
    "pyproject.toml": [
        b"[tool.nodelint",
        b"tool.nodelint = 5",
        b"[tool.nodelint]\nselect = 5",
        b"\xff nodelint",
        b"nodelint = " + b"[" * 5000,
        b"[[tool.nodelint]]\nselect = 5",
        b"[tool.nodelint]\nkarpenter-version = 1.4",
    ],
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_that_cannot_be_used_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from click.testing import CliRunner

    from nodelint.cli import cli

    monkeypatch.chdir(tmp_path)
    (tmp_path / "typo.yaml").write_bytes(TYPO.encode())
    for data in CONFIGURATIONS[name]:
        (tmp_path / name).write_bytes(data)
        done = CliRunner().invoke(cli, ["check", "typo.yaml"])
        assert done.exit_code == 2, (data, done.output)
        assert len(done.output.splitlines()) == 1, (data, done.output)
        assert done.output.startswith("nodelint: ")


CRD = "kind: CustomResourceDefinition\nspec:\n  group: karpenter.sh\n  names: {kind: NodePool}\n  versions: "
SCHEMA = "[{name: v1, schema: {openAPIV3Schema: {type: object, properties: {spec: {%s}}}}}]"
CRDS = [
    CRD + body for body in ("5", "[5]", "[{}]", "[{name: v1, schema: 5}]", "[{schema: {openAPIV3Schema: {}}}]")
] + [
    CRD + SCHEMA % body
    for body in (
        "required: 5",
        "enum: 5",
        "minimum: []",
        "pattern: [1]",
        "anyOf: 5",
        "items: x",
        "properties: 5",
        "type: 5",
        "x-kubernetes-validations: [1]",
        "x-kubernetes-validations: [{rule: 5}]",
        "maxLength: a",
        "a: " + "[" * 3000,
    )
]


@pytest.mark.parametrize("text", CRDS, ids=lambda text: text[len(CRD) :][-60:])
def test_crds_that_cannot_be_used_are_one_line(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from nodelint.cli import cli

    monkeypatch.chdir(tmp_path)
    (tmp_path / "pool.yaml").write_text(HEAD + "metadata: {name: a}\nspec: {weight: 5}\n", encoding="utf-8")
    (tmp_path / "crd.yaml").write_text(text, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", "--crds", "crd.yaml", "pool.yaml"])
    assert done.exit_code == 2, (done.output, done.exception)
    assert done.output.startswith("nodelint: --crds crd.yaml: ")
    assert len(done.output.splitlines()) == 1


CONFLICT = """\
spec:
<<<<<<< HEAD
  weight: 10
{base}=======
  weight: 20
>>>>>>> other
"""


@pytest.mark.parametrize("base", ["", "||||||| 0a1b2c3\n  weight: 5\n"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_each_side_of_a_merge_conflict_is_a_way_out(rules: dict[str, Rule], base: str, ending: str) -> None:
    """One finding for two conflicts of a file, at the first, whatever else of it cannot be read."""
    conflict = CONFLICT.format(base=base)
    text = nodepool(name="a").replace("spec:\n", conflict, 1)
    text += f"---\n{text.replace('name: a', 'name: b')}"
    source = Source.from_text("a.yaml", text.replace("\n", ending))
    [result] = lint([source], LintRequest(Target(NEWEST), rules)).results
    assert result.finding.message == "a merge conflict is not resolved"
    assert source.position(result.span.start).line == text[: text.index("<<<")].count("\n") + 1
    weights = []
    for way in result.finding.suggestions:
        after = Source.from_text("a.yaml", apply(source.text, way.edits))
        assert not after.problems
        weights.append([document.root.find("spec", "weight").value for document in after.documents])
    assert weights == [[10, 10], [20, 20]]


BROKEN = "---\nkind: {kind}\nspec: [\n"


@pytest.mark.parametrize(
    ("kind", "count"),
    [("NodePool", 1), ("EC2NodeClass", 1), ("NodeOverlay", 1), ("ConfigMap", 0), ("Deployment", 0)],
)
def test_a_broken_document_of_a_kind_without_a_group(nodelint: Run, tmp_path: Path, kind: str, count: int) -> None:
    text = nodepool() + BROKEN.format(kind=kind)
    forms = {
        "yaml": {"pools.yaml": text},
        "kustomize": {"pools.yaml": text, "kustomization.yaml": "resources: [pools.yaml]\n"},
        "chart": {
            "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
            "c/values.yaml": "# karpenter\n",
            "c/templates/pools.yaml": text,
        },
    }
    for form, files in forms.items():
        write_files(tmp_path / form, files)
        done = nodelint("check", str(tmp_path / form), "--format", "json", "--select", "yaml-syntax")
        assert len(json.loads(done.stdout)["findings"]) == count, form
