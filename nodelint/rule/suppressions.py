"""Comments that suppress a rule: `# nodelint: ignore[rule, other-rule] why`.

At the end of a line, the comment applies to values that begin on that line. On a line of its own, it applies to the
whole value that begins on the next line: a field, an entry of a list, or the object if the comment is above the
object's first line.

In Terraform, a comment may also begin with `//`, or be one of `/* */`. In a Helm template, it may be one of
`{{/* */}}`, which helm does not print.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache

from nodelint.forms.registry import TABLE
from nodelint.model.finding import Finding, Span
from nodelint.text import Document, Node, SourceText

# Compiled when it is first used: few files hold such a comment.
_COMMENT = r"(?m)(?:(?<=[\s\ufeff])|^)#[ \t]*nodelint:[ \t]*ignore\b[ \t]*(?:\[([^\]\n]*)\])?[^\n\r]*"


_NAMES = r"[ \t]{0,40}nodelint:[ \t]{0,40}ignore\b[ \t]{0,40}(?:\[([^\]\n]{0,300})\])?"
_SLASHES = rf"(?m)(?:(?<=\s)|^)//{_NAMES}[^\n\r]*"
_ENCLOSED = rf"(?m)(?:(?<=\s)|^)/\*{_NAMES}(?:(?!\*/)[^\n\r]){{0,300}}\*/"
_OF_TEMPLATE = rf"(?m)\{{\{{-?[ \t]*/\*{_NAMES}(?:(?!\*/)[^\n\r]){{0,300}}\*/[ \t]*-?\}}\}}"

_TEXTS = ("patch", "values")
"""Keys whose block scalar is a text of YAML, with comments of its own: patches, and values of a chart."""

_OTHERS = ("nodelint", "noqa", "disable", "ignore", "skip")
_OTHER_COMMENT = (
    r"(?m)(?:(?<=[\s\ufeff])|^)#[ \t]*(?!nodelint:[ \t]*ignore\b)(?:"
    r"(?P<ours>nodelint)[ \t:_-]{0,4}(?:disable|ignore|noqa|skip|suppress|allow|off)(?:-(?:next-)?line)?\b"
    r"|noqa\b|[\w-]{0,24}[ \t:_-]{0,4}(?:disable|ignore|skip)(?:-(?:next-)?line)?(?=[ \t]*[=:\[(]))"
    r"[ \t]*[=:\[( \t]?[ \t]*(?P<names>[^\])\n\r#]*)[^\n\r]*"
)
"""Comments in the form of other linters, which suppress nothing."""


class Suppression:
    """A comment: the rules that it names, the characters to which it applies, and the rules that it has suppressed.

    `span` is the comment itself. `scope` is None if no value follows to which it could apply. For a comment in the
    form of another linter, `foreign` has its words, which may be names of rules; it suppresses nothing. `ours` is
    then true if it names nodelint, and `near` are the rules that report something at its place.
    """

    foreign: tuple[str, ...] | None = None
    ours = False
    near: tuple[str, ...] = ()

    def __init__(self, span: Span, rules: tuple[str, ...], scope: Span | None, own_line: bool) -> None:
        self.span = span
        self.rules = rules
        self.scope = scope
        self.own_line = own_line
        self.used: set[str] = set()

    @property
    def source(self) -> SourceText:
        """Return the text that contains the comment."""
        return self.span.source

    def matches(self, names: Sequence[str], finding: Finding) -> bool:
        """Return whether the comment applies to a finding of a rule with these current or former names."""
        at = finding.span
        return (
            not set(names).isdisjoint(self.rules)
            and self.scope is not None
            and at.source is self.source
            and self.scope.start <= at.start < max(self.scope.end, self.scope.start + 1)
        )


_LEAST = len("#nodelint:ignore")


class _Page:
    """The nodes of a document in their order, with a cache of the values to which comments apply."""

    def __init__(self, document: Document) -> None:
        assert document.root is not None
        self.end = document.end
        self._root = document.root
        self.nexts: dict[int, Span | None] = {}

    @cached_property
    def nodes(self) -> list[Node]:
        return sorted((node for node in self._root.walk() if not node.shared), key=_start)

    @cached_property
    def starts(self) -> list[int]:
        return [node.start for node in self.nodes]

    @cached_property
    def _ends(self) -> dict[int, int]:
        return {id(entry.key): entry.value.end for node in self.nodes for entry in node.entries}

    def whole(self, node: Node) -> int:
        """Return the end of a node. For a field's name, return the end of its value, which may be a block on the
        lines below.
        """
        return max(node.end, self._ends.get(id(node), 0))


def suppressions(source: SourceText) -> list[Suppression]:
    """Return the suppressing comments of a source in their order, then those in the form of other linters."""
    patterns = _list_patterns(source) if source.holds("nodelint:") else []
    if any(map(source.holds, _OTHERS)):
        patterns.append(_OTHER_COMMENT)
    return [comment for pattern in patterns for comment in _find_comments(source, pattern)]


def _list_patterns(source: SourceText) -> list[str]:
    """Return the patterns of suppressing comments in the language of a source."""
    if source.path.endswith(TABLE.module_files):
        return [_COMMENT, _SLASHES, _ENCLOSED]
    return [_COMMENT, _OF_TEMPLATE] if source.holds("{{") else [_COMMENT]


def _find_comments(source: SourceText, pattern: str) -> list[Suppression]:
    found: list[Suppression] = []
    comment = re.compile(pattern)
    for document in source.documents:
        if document.root is not None:
            scalars = _find_long_scalars(source, document)
            page = _Page(document)
            here = []
            # The last first: the node below several comment lines is then searched for once.
            for match in reversed(list(comment.finditer(source.flat, document.start, document.end))):
                before = bisect_left(scalars, (match.start() + 1,)) - 1
                around = scalars[before] if before >= 0 and match.start() < scalars[before][1] else None
                if around is None or around[2]:
                    here.append(_suppression(source, page if around is None else None, match))
            found += reversed(here)
    # Values outside of the objects are on a line each: defaults of variables, locals, and values of a template that
    # is no YAML before it is rendered.
    if source.path.endswith(TABLE.module_files) or source.masked:
        found += _find_line_comments(source, comment)
    return found


def _find_line_comments(source: SourceText, comment: re.Pattern[str]) -> list[Suppression]:
    """Return the comments outside of parsed objects. Each applies to its line, or to the next one."""
    documents = [(document.start, document.end) for document in source.documents if document.root is not None]
    outside = (
        match
        for match in comment.finditer(source.flat)
        if not any(start <= match.start() < end for start, end in documents)
    )
    return [_suppression(source, None, match) for match in outside]


def _find_long_scalars(source: SourceText, document: Document) -> list[tuple[int, int, bool]]:
    """Return start and end of the scalars that may contain a text like such a comment, and whether they are YAML.

    Plain and short scalars cannot contain one.
    """
    assert document.root is not None
    if not source.masked and all(source.flat.find(mark, document.start, document.end) < 0 for mark in "\"'|>"):
        return []
    return sorted(
        (node.start, node.end, node.style == "literal" and _name_field(node) in _TEXTS)
        for node in document.root.walk()
        if node.kind == "scalar" and not node.shared and node.end - node.start >= _LEAST
    )


def _name_field(node: Node) -> str | None:
    """Return the key of a value; None if it is no value of a mapping."""
    entries = node.parent.entries if node.parent is not None else ()
    return next((entry.name for entry in entries if entry.value is node), None)


def _start(node: Node) -> int:
    return node.start


@lru_cache(maxsize=64)
def _names(listed: str) -> tuple[str, ...]:
    """Return the rules that a comment lists. Cached, because many comments list the same."""
    return tuple([name.strip() for name in listed.split(",") if name.strip()])


def _suppression(source: SourceText, page: _Page | None, match: re.Match[str]) -> Suppression:
    text, is_foreign = source.flat, match.re.pattern == _OTHER_COMMENT
    rules = () if is_foreign else _names(match[1] or "")
    start, end = match.span()
    line_start = text.rfind("\n", 0, start) + 1
    span = Span(source, start, end)
    if not text[line_start:start].strip(" \t\ufeff"):
        scope = _next(source, page, end) if page is not None else _next_line(source, end)
        made = Suppression(span, rules, scope, True)
    else:
        line_end = text.find("\n", end)
        made = Suppression(span, rules, Span(source, line_start, end if line_end < 0 else line_end), False)
    if is_foreign:
        made.foreign = tuple(re.findall(r"[\w-]+", match["names"]))
        made.ours = match["ours"] is not None
    return made


def _next_line(source: SourceText, after: int) -> Span | None:
    """Return the span of the first line after `after` that is neither blank nor a comment. None if there is none."""
    line = re.compile(r"(?m)^[ \t]*(?!//|/\*|\{\{-?[ \t]*/\*)[^\s#][^\n]*").search(source.flat, after)
    return None if line is None else Span(source, line.start(), line.end())


def _next(source: SourceText, page: _Page, after: int) -> Span | None:
    """Return the span of the largest value that begins on the first line after `after` that is neither blank nor a
    comment. None if there is none.
    """
    text = source.flat
    first = at = text.find("\n", after) + 1
    found = None
    while 0 < at < page.end:
        if at in page.nexts:
            found = page.nexts[at]
            break
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if line and not line.startswith(("#", "//", "/*", "{{/*", "{{- /*")):
            here = page.nodes[bisect_left(page.starts, at) : bisect_left(page.starts, end)]
            found = Span(source, at, max((page.whole(n) for n in here if not _under_a_key(n)), default=end))
            break
        at = end + 1
    page.nexts[first] = found
    return found


def _under_a_key(node: Node) -> bool:
    """Return whether a node is a block below a key. The block begins at its first member, so a comment above it
    applies to the member.
    """
    return node.style == "block" and node.parent is not None and node.parent.kind == "mapping"
