"""Fingerprints: they identify a finding over time and do not change when lines move.

A fingerprint depends on the rule, the file, the object, the field, the wrong value, and how bad the finding is: its
severity if it is not the rule's, and `Finding.worse`. It does not depend on lines, columns, positions in a list or
wording, so comments, reordered requirements, indent and better messages keep it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence

from nodelint.lint.engine import Result
from nodelint.model.finding import Span
from nodelint.model.manifest import Object
from nodelint.text import UNKNOWN, Node

NAME = "nodelint/v1"
"""The name of the fingerprints in files of other tools.

Its number changes if the same finding gets another fingerprint.
"""

_NAMED_BY = ("key", "name", "deviceName", "id", "alias")
"""Fields that identify the entries of a list. Entries without one are identified by the part that is wrong."""

_BARE = r"[A-Za-z0-9_-]+"


Known = dict[tuple[object, ...], tuple[Node, Object | None, str]]
"""Fingerprints of a previous run, with the node and the object of each.

If these are unchanged, so is the fingerprint.
"""


def fingerprints(results: Sequence[Result], root: str = "", known: Known | None = None) -> list[str]:
    """Return a fingerprint of 32 hexadecimal digits for each result, in their order, all different.

    Paths are relative to the folder `root` (default: the working folder). Equal findings are numbered, so that their
    order does not matter. `known` holds the fingerprints of the last run and is updated.
    """
    if known is None:
        return [_digest_numbered(*identity) for identity in identities(results, root)]
    seen: Counter[str] = Counter()
    known_fingerprints = []
    now: Known = {}
    for result in results:
        at = result.finding.at
        if isinstance(at, Span):
            fingerprint = _digest(*_parts(result, relative(result.span.source.path, root)))
        else:
            message = result.finding.message, *_extent(result)
            key = id(at), id(result.object), result.rule.name, message, root
            parts = () if key in known else _parts(result, relative(result.span.source.path, root))
            now[key] = known.get(key) or (at, result.object, _digest(*parts))
            fingerprint = now[key][2]
        seen[fingerprint] += 1
        known_fingerprints.append(
            fingerprint if seen[fingerprint] == 1 else _digest(fingerprint, str(seen[fingerprint]))
        )
    known.clear()
    known.update(now)
    return known_fingerprints


def identities(
    results: Sequence[Result], root: str = "", *, located: bool = True, quoting: bool = True
) -> list[tuple[tuple[str, ...], int]]:
    """Return for each result the parts of its fingerprint and its number among equal ones; no two are alike.

    Without `located` the path is ignored, so that the same object in another file has the same identity.
    Without `quoting`, the beginning of the message replaces the quoted parts: the same finding may name another
    object. A message that begins with a quotation keeps all quoted parts.
    """
    seen: Counter[tuple[str, ...]] = Counter()
    paths: dict[str, str] = {}
    found = []
    for result in results:
        path = result.span.source.path
        if path not in paths:
            paths[path] = relative(path, root) if located else ""
        parts = _parts(result, paths[path])
        beginning = result.finding.message.partition("`")[0]
        if not quoting and beginning:
            parts = (*parts[:_QUOTES], *_extent(result), beginning)
        seen[parts] += 1
        found.append((parts, seen[parts]))
    return found


def relative(path: str, root: str = "") -> str:
    """Return a path relative to a folder (default: the working folder), with forward slashes; `-` is unchanged."""
    if path == "-":
        return path
    try:
        return os.path.relpath(path, root or os.curdir).replace(os.sep, "/")
    except ValueError:  # on another drive
        return os.path.abspath(path).replace(os.sep, "/")


def field(result: Result) -> str:
    """Return the path of a finding in its object: `spec.template.spec.requirements[kubernetes.io/arch].values[*]`.

    Entries of lists are given by name, or as `*` without a name. Empty for the object as a whole and for a place that
    is no value, such as a comment.
    """
    at = result.finding.at
    if isinstance(at, Span):
        return ""
    top = result.object.node if result.object else None
    steps: list[str] = []
    node = at
    while node is not top and node.parent is not None:
        steps.append(_step(node, node.parent))
        node = node.parent
    return "".join(reversed(steps)).removeprefix(".")


def _parts(result: Result, path: str) -> tuple[str, ...]:
    obj, at = result.object, result.finding.at
    name = _text(obj.name_node) if obj else ""
    what = _characters(at) if isinstance(at, Span) else _text(at)
    # What is suggested hangs on what else there is; the value itself is what was written.
    message = result.finding.message.partition("did you mean")[0].rstrip(" ,(")
    quoted = re.findall(r"`([^`]*)`", message)
    return result.rule.name, path, obj.kind if obj else "", name, field(result), what, *quoted, *_extent(result)


def _extent(result: Result) -> tuple[str, ...]:
    """Return how bad a finding is, as far as it differs from other findings of its rule."""
    severity = () if result.severity == result.rule.severity else (f"severity {result.severity}",)
    return (*severity, "worse") if result.finding.worse else severity


_QUOTES = 6
"""The number of parts of a fingerprint before the quotes of the message."""


def _step(node: Node, parent: Node) -> str:
    if parent.kind == "sequence":
        return f"[{_name(node)}]"
    entry = next(e for e in (*parent.entries, *parent.merges) if e.value is node or e.key is node)
    name = entry.key.unquoted if entry.name is None else entry.name
    return f".{name}" if re.fullmatch(_BARE, name) else f'["{name}"]'


def _name(item: Node) -> str:
    named = (item.get(name) for name in _NAMED_BY)
    return next((_text(node) for node in named if node is not None and node.kind == "scalar"), "*")


def _text(node: Node) -> str:
    """Return the value of a scalar without quotes, a placeholder as written; empty for a collection."""
    if node.kind != "scalar":
        return ""
    return node.unquoted if node.value is UNKNOWN else str(node.value)


def _characters(span: Span) -> str:
    """Return the text of a span, such as a comment, with single spaces.

    If it is blank or cannot be parsed, return its whole line.
    """
    source = span.source
    text = source.text[span.start : span.end]
    if not text.strip() or any(problem.offset == span.start for problem in source.problems):
        text = source.line(source.position(span.start).line)
    return " ".join(text.split())


def _digest_numbered(parts: tuple[str, ...], number: int) -> str:
    fingerprint = _digest(*parts)
    return fingerprint if number == 1 else _digest(fingerprint, str(number))


def _digest(*parts: str) -> str:
    from hashlib import sha256  # here: a comparison of two sides needs no digest

    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
