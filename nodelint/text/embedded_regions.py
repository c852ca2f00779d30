"""Read the YAML documents in regions of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from nodelint.base.tuples import NamedTuple
from nodelint.forms.registry import TABLE
from nodelint.text.embedded_text import find_expansions
from nodelint.text.nodes import Node, SourceText
from nodelint.text.placeholders import MASK, holds_code, mask
from nodelint.text.syntax_errors import NotInTime, Unreadable
from nodelint.text.yaml.compose import compose

GROUPS = r"(?:karpenter\.(?:sh|k8s\.aws)|eks\.amazonaws\.com)/v[0-9]"
"""Pattern of the apiVersion of each Karpenter and EKS Auto Mode manifest."""

_MORE_GROUPS = rf"(?:{GROUPS}|(?:apps|batch)/v1|argoproj\.io/v1|autoscaling\.x-k8s\.io/v1|v1\b)"
"""`GROUPS` and the API versions of objects that create pods, for sources that are also searched for workloads."""

VALUES = r"""(?m)^[ \t]*(?:-[ \t]+)?["']?(?:requirements|(?:ami|subnet|securityGroup)SelectorTerms)["']?[ \t]*:"""
_ELLIPSIS = r"(?m)^[ \t]*(?:(?:\.{3}|…|\[\.{3}\]|<snip>)[ \t]*|#[ \t]*(?:\.{3}|…)[^\r\n]*)\r?$"


class EmbeddedYaml(NamedTuple):
    """Lines of a text that hold YAML.

    - `start`, `end`: the range in the text.
    - `host`: the kind of text around the region, such as `shell`.
    - `literal`: a `$` is an ordinary character: nothing is substituted.
    - `shell`: a shell expands the region.
    - `lenient`: a syntax error is not reported, because the region may not be YAML.
    - `part`: as in `SourceText`.
    """

    start: int
    end: int
    host: str
    literal: bool = False
    shell: bool = False
    lenient: bool = False
    part: bool | None = False
    target: Node | None = None
    """The node with the kind of the object that a JSON6902 patch changes."""


class Reading(NamedTuple):
    """One document of a region.

    - `root`: its root node, None if it is empty or cannot be parsed.
    - `start`, `end`: its range in the text.
    - `templated`: whole lines of it are template code, so that fields may be missing.
    - `problem`, `at`: why it cannot be parsed, and the offset.
    - `aside`: the problem is a gap, not a syntax error.
    """

    root: Node | None
    start: int
    end: int
    region: EmbeddedYaml
    templated: bool
    prefix: str
    """The characters with which each line of the document begins."""
    problem: str | None = None
    at: int = 0
    aside: bool = False


def groups_of(source: SourceText) -> str:
    """Return a pattern of the API groups for which a source is searched, as they occur in an `apiVersion`."""
    return GROUPS if source.also is None else _MORE_GROUPS


def may_hold_object(source: SourceText, text: str, start: int, end: int) -> bool:
    """Return whether a text has an `apiVersion` for which its source is searched, so that it may be a manifest."""
    written = re.compile(rf"apiVersion[\"']?[ \t]*:[ \t]*[\"']?{groups_of(source)}")
    return written.search(text, start, end) is not None


def may_hold_chart_values(text: str, start: int, end: int) -> bool:
    """Return whether a text may be the values of a chart that renders NodePools or EC2NodeClasses."""
    return text.find("karpenter", start, end) >= 0 and re.compile(VALUES).search(text, start, end) is not None


def may_hold_values(text: str, region: EmbeddedYaml) -> bool:
    return (region.host == "block" or region.host in TABLE.embedding) and may_hold_chart_values(
        text, region.start, region.end
    )


def read_region(source: SourceText, region: EmbeddedYaml, body: str | None = None) -> Iterator[Reading]:
    """Yield the documents of a region that hold a Karpenter object.

    `body` is parsed in place of the text of the region. It has the same length.
    """
    text = source.text
    body = text[region.start : region.end] if body is None else body
    shown = list(body)
    if region.shell:
        for begin, end in find_expansions(body):
            shown[begin:end] = MASK * (end - begin)
    skipped = [region.start + m.start() for m in re.finditer(_ELLIPSIS, body)] if region.host == "markdown" else []
    for start in skipped:
        for at in range(start - region.start, body.find("\n", start - region.start)):
            shown[at] = "\n"
    masked = "".join(shown)
    prefix = _prefix(masked)
    # a shell removes the tabs, and YAML allows no tab before a line
    masked = re.sub(r"(?m)^\t+", lambda match: " " * len(match.group()), masked)
    for begin, end in _documents(masked, prefix):
        at, stop = region.start + begin, region.start + end
        part = region._replace(start=at, end=stop)
        if region.target is not None or may_hold_object(source, masked, begin, end) or may_hold_values(text, part):
            yield _document(source, region, masked[begin:end], region.start + begin, prefix, skipped)


def _document(
    source: SourceText, region: EmbeddedYaml, text: str, start: int, prefix: str, skipped: list[int]
) -> Reading:
    """Return one document of a region.

    It is parsed as written. If that fails, its template code is masked. If that fails too, lines of template code are
    removed.
    """
    end = start + len(text)
    marked = re.match(rf"[ ]*---(?=\s|$)|{' ' * len(prefix)}\.\.\.(?=\s|$)", text)
    if marked is not None:  # YAML allows no indented marker
        text = " " * marked.end() + text[marked.end() :]
    first: Unreadable | None = None
    hidden = any(start <= line < end for line in skipped)
    for attempt in _attempts(text, region):
        shown, lines = attempt
        try:
            roots = compose(source, shown, start, masked=MASK in shown or bool(lines), literal=region.literal)
        except NotInTime as late:
            return Reading(None, start, end, region, False, prefix, late.message, start, True)
        except Unreadable as error:
            first = first or error
            continue
        root = roots[0] if len(roots) == 1 else None
        return Reading(root, start, end, region, hidden or bool(lines), prefix)
    assert first is not None
    if region.lenient or hidden:
        reason = f"not read as a manifest: {first.message}"
        return Reading(None, start, end, region, False, prefix, reason, first.offset, True)
    if (holds_code(text) or MASK in text) and not _interpolated(text, region):
        reason = f"a template that is not YAML before it is rendered: {first.message}"
        return Reading(None, start, end, region, False, prefix, reason, first.offset, True)
    return Reading(None, start, end, region, False, prefix, first.message, first.offset)


def _interpolated(text: str, region: EmbeddedYaml) -> bool:
    """Return whether the only template code is `${}` of Terraform after other text on its line.

    It inserts no lines.
    """
    if region.host not in TABLE.embedding or "%{" in text or "{{" in text:
        return False
    return all(line.split("${", 1)[0].strip(" \t-") for line in text.splitlines() if "${" in line)


def _attempts(text: str, region: EmbeddedYaml) -> Iterator[tuple[str, list[int]]]:
    yield text, []
    if holds_code(text):
        hcl = region.host in TABLE.embedding
        yield mask(text, hcl=hcl)
        if "${" in text:
            yield mask(text, whole_lines=True, hcl=hcl)


def _prefix(text: str) -> str:
    """Return the white space with which the least indented line begins."""
    indents = re.findall(r"(?m)^([ \t]*)(?![ \t]|\r?$|\r?\n|#|%\{|\{\{|\{%|<%|\$\{)", text)
    return min(indents, key=len, default="")


def _documents(text: str, prefix: str) -> list[tuple[int, int]]:
    """Return start and end of each document of a region. Only markers at the indent of the region divide it."""
    borders = [0]
    for match in re.finditer(rf"(?m)^[ ]{{{len(prefix)}}}(---|\.\.\.)(?=[ \t\r\n]|\Z)", text):
        border = match.start() if match[1] == "---" else text.find("\n", match.end()) + 1 or len(text)
        if border > borders[-1] and text[borders[-1] : border].strip():
            borders.append(border)
    borders.append(len(text))
    return [(a, b) for a, b in pairwise(borders) if a < b]


def line_after(text: str, at: int) -> int:
    return text.find("\n", at) + 1 or len(text)
