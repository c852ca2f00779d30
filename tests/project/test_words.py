"""Messages, help texts and pages use the field's own words: some words may not occur in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.code import nodes
from tests.conftest import ROOT

FORBIDDEN = {
    "all the same": "anyway",
    "but for": "except",
    "for want of": "because ... is missing",
    "for lack of": "because ... is missing",
    "beside": "next to, in addition to, or the name of the place",
    "told": "reported, known",
    "spoken of": "named",
    "gives way": "is superseded by",
    "leads back": "points to",
    "ahead of": "before",
    "heartless": "without its required fields",
    "gravest": "most severe",
    "of the world": "public, or nothing",
    "put right": "correct",
    "as it is to be": "the name of the value",
    "is to be": "will be, must be",
    "mends": "fixes",
    "mended": "fixed",
    "hears nothing": "gets no error",
    "set aside": "skipped",
    "twins": "unchanged objects",
    "dummy values": "placeholders",
    "foreign": "of another provider",
    "reminder": "practice finding",
    "fate": "what becomes of a node",
    "ways out": "suggestions",
    "remedy": "suggestion",
    "rope": "text",
    "settled": "without defaults",
    "types left": "allowed types",
    "are left to you": "you have to make",
    "shuts out": "excludes",
    "puts it right": "fixes it",
    "puts right": "corrects",
    "take it out": "remove it",
    "of one's own": "custom",
    "stands beside": "is next to",
    "for its name": "because of its name",
    "let be": "not reported, ignored",
    "let alone": "not reported, ignored",
    "left alone": "not reported, not changed",
    "left in peace": "ignored",
    "letter by letter": "exactly",
    "by heart": "nothing: leave it out",
    "anew": "again",
    "dearer": "more expensive",
    "dearest": "most expensive",
    "in force": "active",
    "one's own": "your own, self-managed",
    "hears of": "gets",
    "says nothing of": "does not set, does not mention",
    "counts nothing": "has no effect",
    "passes over": "skips",
    "takes away": "excludes, removes",
    "tell apart": "separate",
    "tells apart": "separates",
    "runs dry": "runs out",
    "for good": "forever",
    "worked out": "computed, evaluated",
    "works out": "computes, evaluates",
    "comes too late": "is too late",
    "never acts": "has no effect",
    "has to be": "must be",
    "have to be": "must be",
}
"""Each word with the plain one."""

PATTERNS = {
    r", did you mean": "put the question in parentheses: (did you mean `x`?)",
    r"^(?:remove|correct|exclude|set|do|print|disable|keep|declare) (?:it|them)\b": "name the thing",
    r"; (?:remove|correct|exclude|set|disable|keep|rename) (?:it|them)\b": "name the thing",
    r"\bif (?:that|it) is meant\b|\bis meant for (?:it|them)\b": "say what the reader may want",
}
"""Patterns of texts that are not clear away from their place, such as in a comment, each with what to write."""

ALLOWED = {
    ("docs/choices.md", "mended"),
    ("docs/choices.md", "set aside"),
    ("docs/choices.md", "beside"),
    ("docs/modules.md", ""),  # first lines of the modules
    ("docs/audit.md", ""),  # a record of readings
    ("docs/changelog.md", ""),
}
"""Pages, each with the word that it may have; an empty word allows all."""

_CODE = re.compile(r"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)", re.S)


_ANY = re.compile("|".join(map(re.escape, FORBIDDEN)), re.I)


def used(text: str) -> list[str]:
    """Return the forbidden words of a text."""
    if not _ANY.search(text):
        return []
    return [word for word in FORBIDDEN if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.I)]


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string of a module that a user can read: none of its docstrings."""
    silent = {
        id(node.value) for node in nodes(path) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            if " " in node.value.strip():
                yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef) and node.name in ("command", "cli"):  # help texts
            yield node.lineno, " ".join((ast.get_docstring(node) or "").split())


MODULES = sorted([*(ROOT / "nodelint").rglob("*.py"), *(ROOT / "rules").glob("*.py")])
PAGES = sorted(
    [path for folder in ("", "ci", "commands", "rules") for path in (ROOT / "docs" / folder).glob("*.md")]
    + [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")]
)


@pytest.mark.slow
def test_messages_and_help_use_plain_words() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: write `{FORBIDDEN[word]}`, not `{word}`"
        for path in MODULES
        for line, text in texts_of(path)
        for word in used(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_messages_name_their_things() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}: {advice}"
        for path in MODULES
        for line, text in texts_of(path)
        for pattern, advice in PATTERNS.items()
        if re.search(pattern, text)
    ]
    assert not found, "\n".join(found)


def list_fragments(tree: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the helps that begin with `or`, and the labels of further places that are no sentences."""
    for node in tree:
        if not isinstance(node, ast.Call):
            continue
        helps = [word.value for word in node.keywords if word.arg == "help"]
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        labels = node.args[1:2] if name == "Also" else []
        for text, pattern in [*((text, r"or ") for text in helps), *((text, _NOUN) for text in labels)]:
            for part in ast.walk(text):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and re.match(pattern, part.value):
                    yield node.lineno, part.value
                    break


_NOUN = r"(?:the|another|one|its) [\w-]+(?: [\w-]+)?$"


@pytest.mark.slow
def test_helps_and_labels_are_sentences() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text!r} is no sentence"
        for path in MODULES
        for line, text in list_fragments(nodes(path))
    ]
    assert not found, "\n".join(found)


def test_a_fragment_is_found() -> None:
    text = 'f(help="or rename it"), Also(a, "the tag"), Also(a, "the tag is here"), f(help="rename it, or not")'
    assert [found for _, found in list_fragments(ast.walk(ast.parse(text)))] == ["or rename it", "the tag"]


def test_pages_use_plain_words() -> None:
    found = []
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        prose = _CODE.sub(" ", page.read_text(encoding="utf-8"))
        words = [word for word in used(" ".join(prose.split())) if not {(name, word), (name, "")} & ALLOWED]
        found += [f"{name}: write `{FORBIDDEN[word]}`, not `{word}`" for word in words]
    assert len(PAGES) > 200
    assert not found, "\n".join(found)


def test_a_forbidden_word_is_found() -> None:
    assert used("The gate is judged all the same, beside others") == ["all the same", "beside"]
    assert used("besides, a retold story") == []


def list_stray_strings(text: str, found: Iterable[ast.AST]) -> list[int]:
    """Return the lines of strings that are statements, and no docstrings in triple quotes: a cut-off message."""
    lines = text.splitlines()
    return [
        node.lineno
        for node in found
        if isinstance(node, ast.Expr)
        and (isinstance(node.value, ast.JoinedStr) or isinstance(getattr(node.value, "value", None), str))
        and '"""' not in lines[node.lineno - 1]
    ]


@pytest.mark.slow
def test_no_message_loses_its_second_line() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        for line in list_stray_strings(path.read_text(encoding="utf-8"), nodes(path))
    ]
    assert not found, "a string stands alone as a statement: " + "; ".join(found)


def test_a_lost_line_is_found() -> None:
    text = 'def f():\n    """Return it."""\n    x = "shows why it "\n    "fails"\n    return x\n'
    assert list_stray_strings(text, ast.walk(ast.parse(text))) == [4]
