"""Find the releases of charts that programs install: a Tiltfile, programs for the CDK, Pulumi or cdktf.

Nothing is run: calls are compared as they are written, with the values that they name in the same file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText, RemoteUse
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.chart_values import MAKES_POOLS
from nodelint.forms.lib.controller_install import is_controller
from nodelint.model.finding import Span
from nodelint.text import Source, SourceText

_CALL = re.compile(
    r"\b(?:helm_remote|helm_resource|helm|[aA]ddHelmChart|add_helm_chart|(?:New)?HelmChart|(?:New)?(?:Helm)?Release"
    r"|(?:New)?Chart|LocalChartOpts|ChartOpts|Helm)\s*\("
)
"""A call of a library that installs a chart, or prints what it comes to."""
_COMMENT = re.compile(r"(?m)^[ \t]*(?://|#(?!\{))[^\n]*$")
_NAME = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*\b(?!\s*\()")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_REMOTE = re.compile(
    r"\b(?:helm_remote\s*\(\s*|helm_resource\s*\([^()]*?,\s*|(?i:chart)(?:_?[nN]ame)?[\"']?\s*[:=]\s*(?:jsii\.String\()?)"
    r"[\"'`]([^\"'`\n]{1,200})[\"'`]"
)
"""The name of the chart in a call."""
_IMPORT = re.compile(
    r"(?m)^[ \t]*(?:import\b[^\n;]*?\bfrom[ \t]+[\"'](\.[^\"'\n]*)[\"']|from[ \t]+\.?([\w.]+)[ \t]+import\b)"
)
_SETS = r"\bNAME(?:[ \t]{0,9}:[^=\n]{1,200})?[ \t]{0,9}:?=(?![=>])"
"""The beginning of a statement that gives a value to a name."""
_ENDS = ("", ".ts", ".js", ".mjs", ".tsx", ".json", ".yaml", "/index.ts", ".py")
_OPEN, _CLOSE = "([{", ")]}"
_LONGEST = 20_000
_MOST_NAMES = 200
_LARGEST = 1 << 20
_REASON = "how the chart {} is installed changes, and no template of it is here"


def list_program_values(source: Source, charts: Sequence[str]) -> Iterator[tuple[str, InputText]]:
    """Yield (chart, input) for each call that may install one of some charts, with the values that it names.

    `charts` are absolute paths. If no call names a chart whose folder the program names, all of it is the input.
    """
    calls = list(_list_calls(source))
    for chart in charts:
        if os.path.basename(chart) not in source.text or not names_chart(source.text, chart):
            continue
        own = [span for span in calls if names_chart(source.text[span.start : span.end], chart)]
        for span in own or (Span(source, 0, len(source.text)),) if calls else ():
            yield chart, _read(span)


def list_remote_charts(source: Source) -> Iterator[RemoteUse]:
    """Yield each call that installs a remote chart whose name says that it creates pools or classes."""
    for span in _list_calls(source):
        call = source.text[span.start : span.end]
        for name in _REMOTE.findall(call):
            short = name.rstrip("/").rpartition("/")[2]
            if not name.startswith((".", "/")) and MAKES_POOLS.search(name) and not is_controller(short):
                yield RemoteUse(source.path, short, (_read(span)._replace(name=short),), _REASON)
                break


def _list_calls(source: Source) -> Iterator[Span]:
    end = 0
    for found in _CALL.finditer(source.text):
        if found.start() >= end:
            end = _find_end(source.text, found.end() - 1)
            yield Span(source, found.start(), end)


def _find_end(text: str, start: int) -> int:
    """Return the offset behind the bracket that closes the one at an offset. Brackets in strings do not count."""
    depth, quote, at = 0, "", start
    while at < min(len(text), start + _LONGEST):
        sign = text[at]
        if quote:
            at += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'`":
            quote = sign
        elif sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth -= 1
            if depth <= 0:
                return at + 1
        at += 1
    return min(len(text), start + _LONGEST)


def _read(span: Span) -> InputText:
    """Return a call as an input, with the statements and files that give values to its names."""
    source = span.source
    text = source.text
    parts = [text[span.start : span.end]]
    pending = _list_names(parts[0])
    known = set(pending)
    while pending and len(known) < _MOST_NAMES:
        name = pending.pop()
        for found in re.finditer(_SETS.replace("NAME", name), text):
            statement = text[found.start() : _find_statement_end(text, found.end())]
            parts.append(statement)
            fresh = [other for other in _list_names(statement) if other not in known]
            known.update(fresh)
            pending += fresh
    for found in _IMPORT.finditer(text):
        if not known.isdisjoint(_list_names(found[0])):
            parts += _read_import(source, found[1] or found[2].replace(".", "/"))
    if span.end - span.start >= _LONGEST or len(known) >= _MOST_NAMES:
        parts.append(text)  # any of it may matter
    written = (" ".join(_COMMENT.sub("", part).split()) for part in parts)
    return InputText(os.path.basename(source.path), "\n".join(written), span)


def _list_names(text: str) -> list[str]:
    """Return the names in a piece of code, without those in strings."""
    return list(dict.fromkeys(_NAME.findall(_STRING.sub('""', text))))


def _find_statement_end(text: str, start: int) -> int:
    """Return the offset of the end of a statement: the end of a line outside of all brackets."""
    at = start
    while at < len(text) and text[at] not in "\n;":
        at = _find_end(text, at) if text[at] in _OPEN else at + 1
    return at


def _read_import(source: SourceText, name: str) -> Iterator[str]:
    folder = os.path.dirname(os.path.abspath(source.path))
    for end in _ENDS:
        path = os.path.normpath(os.path.join(folder, name + end))
        try:
            if gate.is_file(path):
                yield gate.read(path, _LARGEST).decode(errors="replace")
                return
        except OSError:
            return
