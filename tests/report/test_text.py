"""The text of findings as people read it: underlines, widths, one entry for each cause, colours and links."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.base import project
from nodelint.base.printable import screened
from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.lint.results import Result
from nodelint.model.finding import Also, Edit, Finding, Span
from nodelint.model.releases import NEWEST
from nodelint.report.grouping import entries
from nodelint.report.snippet import Underline, excerpt
from nodelint.report.style import PLAIN, TextStyle, cells, wrap
from nodelint.report.text import concise_text, finding_text, findings_text, statistics_lines
from nodelint.rule.definition import bundled, load
from nodelint.text import Source
from tests.conftest import by_place
from tests.manifests import nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]
RULES = load(bundled())
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfterr: 720h
"""


def result(source: Source, start: int, end: int, message: str = "is wrong", **more: object) -> Result:
    found = Finding(Span(source, start, end), message, **more)  # type: ignore[arg-type]
    return Result(RULES["unknown-field"], found, None)


def marked(text: str) -> list[str]:
    """What of each line of code stands above a mark, column by column."""
    rows = [line.partition("|")[2][1:] for line in text.split("\n")[1:] if re.match(r" *\d* \|", line)]
    found: list[str] = []
    for code, underlines in pairwise(rows):
        found += [code[match.start() : match.end()] for match in re.finditer(r"\^+", underlines)]
    return found


@given(
    st.text("ab ,-[]{}", min_size=1, max_size=400),
    st.integers(0, 400),
    st.integers(0, 60),
    st.integers(40, 160),
)
def test_a_window_scrolls_to_its_mark_and_is_never_wider_than_the_terminal(
    line: str, start: int, length: int, width: int
) -> None:
    source = Source.from_text("a.txt", f"{line}\nnext\n")
    start = min(start, len(line))
    look = PLAIN._replace(width=width)
    text = "\n".join(
        excerpt(source, [Underline(Span(source, start, min(start + length, len(line))), own=True)], look)
    )
    assert all(cells(row) <= width for row in text.split("\n"))
    if line.strip():
        (above,) = marked(f"\n{text}") or [""]
        wanted = line[start : max(start + 1, min(start + length, len(line.rstrip())))]
        assert above.rstrip() == wanted[: len(above)].rstrip()


def test_carets_stand_under_wide_characters() -> None:
    source = Source.from_text("a.txt", "名前: [値, b]\n")
    at = source.text.index("b")
    _, code, underlines = finding_text(result(source, at, at + 1)).split("\n")[2:]
    assert cells(code[: code.index("b")]) == underlines.index("^")


def test_places_of_one_file_are_in_one_excerpt_and_those_of_others_in_their_own() -> None:
    left, two = Source.from_text("one.yaml", "a: 1\nb: 2\nc: 3\nd: 4\n"), Source.from_text("two.yaml", "x: [y, z]\n")
    also = (
        Also(Span(left, 15, 19), "the fourth"),
        Also(Span(left, 3, 4), "the value"),
        Also(Span(two, 4, 5), "there"),
    )
    assert finding_text(result(left, 0, 1, also=also, note="it hurts", help="mend it")).split("\n") == [
        "error[unknown-field]: is wrong",
        " --> one.yaml:1:1",
        "  |",
        "1 | a: 1",
        "  | ^  - the value",
        "...",
        "4 | d: 4",
        "  | ---- the fourth",
        "  --> two.yaml:1:5",
        "  |",
        "1 | x: [y, z]",
        "  |     - there",
        "  note: it hurts",
        "  help: mend it",
    ]


def test_one_cause_in_many_places_is_one_entry_with_all_of_them() -> None:
    sources = [Source.from_text(f"pools/{name}.yaml", POOL) for name in "abcdefghijklmnop"]
    found = [r for r in lint(sources, LintRequest(Target(NEWEST), RULES)).results if r.rule.name == "unknown-field"]
    assert len(found) == 16 and len(entries(found)) == 1
    (text,) = findings_text(found)
    assert by_place(text).startswith("pools/a.yaml:8:7: error[unknown-field]: `expireAfterr` is not a known field")
    assert text.split("\n")[0].endswith("(in 16 objects of 16 files)")
    assert text.count("expireAfter: 720h") == 1 and "fix (the same in each place):" in text
    assert "    pools/b.yaml:8:7\n" in text and "… and 5 more places; --format concise lists every place" in text


def test_findings_of_one_line_share_their_excerpt() -> None:
    source = Source.from_text("a.yaml", "values: [one, two, three]\n")
    (text,) = findings_text([result(source, 9, 12, "`one` is wrong"), result(source, 14, 17, "`two` is wrong")])
    assert text.split("\n") == [
        "error[unknown-field]: `one` is wrong",
        "error[unknown-field]: `two` is wrong",
        " --> a.yaml:1:10",
        " --> a.yaml:1:15",
        "  |",
        "1 | values: [one, two, three]",
        "  |          ^^^  ^^^",
    ]


def test_a_terminal_gets_whole_words_a_program_gets_one_line() -> None:
    source = Source.from_text("a.yaml", POOL)
    message = "word " * 40 + "end"
    assert finding_text(result(source, 0, 3, message)).split("\n")[0].endswith(" end")
    text = finding_text(result(source, 0, 3, message), TextStyle(width=60, terminal=True))
    assert all(len(line) <= 60 for line in text.split("\n")) and text.count("word") == 40


def test_a_link_goes_to_the_page_of_the_rule_and_nothing_else_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "HOME", "https://github.com/somebody/nodelint")
    source = Source.from_text("a.yaml", POOL)
    text = concise_text(result(source, 0, 3), TextStyle(click.style, links=True))
    page = "https://github.com/somebody/nodelint/blob/main/docs/rules/unknown-field.md"
    assert f"\x1b]8;;{page}\x1b\\unknown-field\x1b]8;;\x1b\\" in screened(text, colours=True)
    assert "\x1b" not in screened(text)
    for address in ("https://example.com/", f"{page}?x", "file:///etc/passwd"):
        assert screened(f"\x1b]8;;{address}\x1b\\name", colours=True).startswith("\\x1b]8;;")
    hostile = result(source, 0, 3, f"\x1b]8;;{page}\x1b\\click\x1b[31m")
    assert "\x1b" not in concise_text(hostile)


@pytest.mark.parametrize(
    ("flags", "env", "coloured"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "0"}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "always"), {"TERM": "dumb"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "auto"), {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colours_are_as_asked(
    nodelint: Run, tmp_path: Path, flags: tuple[str, ...], env: dict[str, str], coloured: bool
) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    done = nodelint("check", *flags, env=env)
    assert done.returncode == 1 and ("\x1b[" in done.stdout) == coloured
    assert "\x1b]8" not in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("check", "--diff"),
        ("explain",),
        ("plan", "--old", "old", "."),
        ("upgrade", "--from", "1.0.6", "--to", "1.14.1"),
        ("triage", "log.txt"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_prints_text_takes_color(nodelint: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    (tmp_path / "old").mkdir()
    (tmp_path / "log.txt").write_text("no instance type satisfied resources and requirements\n", encoding="utf-8")
    always, never = (nodelint(*command, "--color", when).stdout for when in ("always", "never"))
    assert "\x1b[" in always and "\x1b" not in never
    assert re.sub(r"\x1b\[[0-9;]*m", "", always) == never


def test_concise_and_quiet(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    lines = nodelint("check", "--format", "concise", "--select", "unknown-field").stdout.splitlines()
    assert lines[0].endswith(
        ": error[unknown-field]: `expireAfterr` is not a known field (did you mean `expireAfter`?) [fix]"
    )
    assert len(lines) == 2 and lines[1].startswith("Found 1 error in 1 object in 1 file, for Karpenter ")
    quiet = nodelint("check", "--format", "concise", "--quiet", "--select", "unknown-field")
    assert quiet.stdout.splitlines() == lines[:1] and quiet.returncode == 1
    (tmp_path / "empty").mkdir()
    assert nodelint("check", "--quiet", "empty").stdout == ""


def test_a_fix_in_another_file_names_it() -> None:
    left, two = Source.from_text("one.yaml", "a: 1\n"), Source.from_text("two.yaml", "x: y\n")
    for edits, files in (
        ([Edit(left, 3, 4, "2")], []),
        ([Edit(two, 3, 4, "z")], ["two.yaml"]),
        ([Edit(two, 3, 4, "z"), Edit(left, 3, 4, "2")], ["one.yaml", "two.yaml"]),
    ):
        (shown,) = findings_text([result(left, 0, 1, edits=edits)])
        assert re.findall(r"(?m)^    in (.*):$", shown) == files, shown


@given(st.text("ab 日́", max_size=300), st.integers(30, 90))
def test_wrapped_lines_fit_the_terminal_and_lose_no_word(words: str, width: int) -> None:
    lines = wrap(words, width, "> ", "  ")
    assert " ".join(lines).split()[1:] == words.split() or not words.split()
    assert all(cells(line) <= width or " " not in line[2:] for line in lines)


def test_the_message_comes_first_and_a_long_place_has_a_line_of_its_own() -> None:
    source = Source.from_text("a/" * 40 + "pool.yaml", POOL)
    text = finding_text(result(source, 0, 3, "it is said first"), TextStyle(width=60, terminal=True))
    first, second, *_ = text.split("\n")
    assert (first, second) == ("error[unknown-field]: it is said first", f" --> {source.path}:1:1")


def test_errors_come_first_and_the_command_that_explains_a_rule_once() -> None:
    source = Source.from_text("a.yaml", "a: 1\nb: 2\nc: 3\n")
    found = [
        result(source, 0, 1, "first", severity="warning"),
        result(source, 5, 6, "second"),
        result(source, 10, 11, "third"),
    ]
    texts = findings_text(found, hints=True)
    assert [text.split("\n")[0].partition(": ")[2] for text in texts] == ["second", "third", "first"]
    assert ["nodelint rule" in text for text in texts] == [True, False, False]


@pytest.mark.parametrize(("number", "whole", "short"), [(10, 10, 0), (11, 5, 6), (40, 5, 35)])
def test_causes_that_differ_in_names_only_are_a_line_each(number: int, whole: int, short: int) -> None:
    """Of more than ten, five are whole and ten a line each; the rest is counted. Another cause stays whole."""
    source = Source.from_text("a.yaml", "".join(f"name{n:02}\n" for n in range(number)) + "other\n")
    found = [result(source, 7 * n, 7 * n + 6, f"`name{n:02}` is there {n + 2} times") for n in range(number)]
    text = "\n\n".join(findings_text([*found, result(source, 7 * number, 7 * number + 5, "the other is wrong")]))
    assert text.count(" --> a.yaml:") == whole + 1
    lines = len(re.findall(r"(?m)^  a\.yaml:\d+:1: error\[", text))
    assert lines == min(short, 10)
    assert (f"… and {short - lines} more places" in text) == (short > lines)
    assert (f"{short} more of " in text) == (short > 0)
    named = {n for n in range(number + 1) if n < whole + lines or n == number}
    assert {f"a.yaml:{n + 1}:1" for n in named} == set(re.findall(r"a\.yaml:\d+:\d+", text))


@pytest.mark.parametrize("files", [1, 20])
def test_ten_further_places_of_one_cause_are_listed(files: int) -> None:
    """Of 360 findings of one cause, in one file or in twenty, no more than ten places stand below the first."""
    sources = [Source.from_text(f"{n}.yaml", "wrong\n" * (360 // files)) for n in range(files)]
    found = [result(source, 6 * n, 6 * n + 5) for source in sources for n in range(360 // files)]
    (text,) = findings_text(found)
    assert len(re.findall(r"\b\d+:\d+\b", text)) == 11 and "… and 349 more places;" in text
    assert text.count("\n") < 30


def test_statistics_count_findings_by_rule() -> None:
    source = Source.from_text("a.yaml", "a: 1\nb: 2\n")
    edits = [Edit(source, 3, 4, "2")]
    found = [result(source, 0, 1, edits=edits), result(source, 5, 6)]
    assert statistics_lines(found) == ["2  error    unknown-field  1 with a fix"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("triage", "tests/triage/controller-1.14.1.log"),
        ("upgrade", "--from", "1.0.6", "--to", "1.14.1", "examples"),
        ("plan", "--old", "examples/bad", "examples/good"),
        ("explain", "examples/good"),
    ],
    ids=lambda command: command[0],
)
def test_reports_follow_the_terminal(command: tuple[str, ...]) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 64))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-m", "nodelint", *command], cwd=Path(__file__).parents[2], env=env, stdout=theirs
    ):
        os.close(theirs)
        printed = b""
        while part := _read(ours):
            printed += part
    os.close(ours)
    lines = re.sub(r"\x1b(\[[\d;]*m|\]8;.*?\x1b\\\\)", "", printed.decode()).splitlines()
    assert len(lines) > 10
    # what is longer is one word with its sign, such as a path
    assert [line for line in lines if cells(line) > 64 and len(line.split()) > 3] == []


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


@pytest.mark.parametrize(
    ("files", "shown", "more"), [(2, 2, ""), (3, 3, ""), (4, 3, "1 more file"), (300, 3, "297 more files")]
)
def test_a_suggestion_for_many_files_is_shown_in_few(
    tmp_path: Path, nodelint: Run, files: int, shown: int, more: str
) -> None:
    for number in range(files):
        text = POOL.replace("web", f"web-{number}").replace("expireAfterr: 720h", "requirements: []")
        (tmp_path / f"{number:03d}.yaml").write_text(text, encoding="utf-8")
    printed = nodelint("check", "--select", "default-disruption", ".", cwd=tmp_path).stdout
    suggestion = re.split(r"suggestion: ", printed)[1]
    assert len(re.findall(r"    in \S+\.yaml:", suggestion)) == shown
    rest = re.findall(r"    … and in (.*), shown by --format json", suggestion)
    assert rest == ([more] if more else [])
    data = json.loads(
        nodelint("check", "--select", "default-disruption", "--format", "json", ".", cwd=tmp_path).stdout
    )
    edits = [edit for finding in data["findings"] for edit in finding["suggestions"][0]["edits"]]
    assert len({edit["path"] for edit in edits}) == files


@pytest.mark.parametrize(
    ("kinds", "counted"),
    [(("EC2NodeClass",), "1 class"), (("EC2NodeClass",) * 2, "2 classes"), (("NodePool",) * 2, "2 pools")],
)
def test_the_last_line_counts_objects_that_are_not_judged_in_full(
    nodelint: Run, tmp_path: Path, kinds: tuple[str, ...], counted: str
) -> None:
    groups = {"EC2NodeClass": "karpenter.k8s.aws/v1", "NodePool": "karpenter.sh/v1"}
    objects = [
        f"apiVersion: {groups[kind]}\nkind: {kind}\nmetadata: {{name: n{number}}}\nspec: ${{SPEC}}\n"
        for number, kind in enumerate(kinds)
    ]
    (tmp_path / "a.yaml").write_text("---\n".join(objects), encoding="utf-8")
    assert f"; {counted} not judged in full: " in nodelint("check").stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("pools", "lists", "extent"),
    [
        (1, 1, ""),
        (1, 3, " (in 3 places)"),
        (2, 1, " (in 2 objects of 2 files)"),
        (2, 2, " (in 2 objects of 2 files)"),
    ],
)
def test_a_cause_says_in_how_many_objects_it_is_or_places_of_one(
    nodelint: Run, tmp_path: Path, pools: int, lists: int, extent: str
) -> None:
    keys = ("karpenter.k8s.aws/instance-family", "kubernetes.io/arch", "topology.kubernetes.io/zone")
    lines = [f'key: {key}, operator: In, values: ["*"]' for key in keys[:lists]]
    for number in range(pools):
        text = nodepool(*lines).replace("name: default", f"name: pool{number}", 1)
        (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
    shown = nodelint("check", "--select", "wildcard-value").stdout.splitlines()[0]
    assert shown == f"error[wildcard-value]: `*` is not a valid label value: Karpenter has no wildcards{extent}"
