"""Find the helm commands that may install a chart, and the lines of scripts on which their values depend."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.helm.command_releases import COMMAND, find_end, is_of_command, join_folded
from nodelint.forms.helm.commands import HelmCommand
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_commands import is_trial, join_lines
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.script_variables import VARIABLE, expand_path, list_names, list_setting_lines
from nodelint.model.finding import Span
from nodelint.text import Source

_CALL = re.compile(
    r"[\"']helm[\"']\s{0,20},\s{0,20}(?:\[\s{0,20})?[\"'](?:upgrade|install|template)[\"'][^\])]{0,2000}"
)
"""A call of a program that starts helm with a list of words."""
_ARGUMENTS = re.compile(r"\$(?:[1-9@*]|\{[1-9@*])")
"""An argument of a script or a function."""
_VERB = re.compile(r"(?i:helm)|\$[({](?i:helm)[)}]|upgrade|install|template")
_STRING = re.compile(r"""\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'""")
_FUNCTION = re.compile(r"(?m)^[ \t]*+(?:function[ \t]++)?([A-Za-z_][\w-]*+)[ \t]*+(?:\(\)[ \t]*+)?\{")


class ChartCommand(NamedTuple):
    """A command that may install a chart: a text from `start` to `end`, without line breaks that the shell ignores.

    `is_call` means that a program starts helm with a list of words.
    """

    source: Source
    start: int
    end: int
    text: str
    is_call: bool = False


def list_chart_commands(source: Source, chart: str, scripts: Sequence[Source]) -> Iterator[ChartCommand]:
    """Yield the commands of a script that name a chart, or that may name it by variables or arguments.

    A command with such words may name the chart only if the script, or another script that calls it, has the name of
    the chart's folder. `chart` is the absolute path of the folder.
    """
    text = join_folded(join_lines(source.text))
    word = re.compile(rf"(?<![\w-]){re.escape(os.path.basename(chart))}(?![\w-])")
    may_be_given = word.search(text) is not None or any(
        word.search(line) is not None for other in scripts for line, _, _ in _list_lines_with(other, source.path)
    )
    for found in COMMAND.finditer(text):
        if is_of_command(text, found) and not is_trial(text[found.start() :].partition("\n")[0]):
            end = find_end(text, found)
            command = ChartCommand(source, found.start(), end, text[found.start() : end])
            if _may_name(command, text, chart, may_be_given):
                yield command
    for found in _CALL.finditer(text) if may_be_given else ():
        yield ChartCommand(source, found.start(), found.end(), found[0], True)


def _may_name(command: ChartCommand, text: str, chart: str, may_be_given: bool) -> bool:
    if names_chart(command.text, chart):
        return True
    read = HelmCommand(command.source, text, command.start, command.end, None)
    read.read()
    words = [word for word in read.words if _VERB.fullmatch(word) is None]
    named = words[1:2] or words[:1]
    paths = [path for word in named for path in expand_path(word, text)]
    if any(names_chart(f"path: {path}" if "/" not in path else path, chart) for path in paths):
        return True
    return may_be_given and (not words or any(VARIABLE.search(path) or _ARGUMENTS.search(path) for path in paths))


def list_inputs(command: ChartCommand, scripts: Sequence[Source]) -> Iterator[InputText]:
    """Yield a command, and the lines that set its variables: in its script, and in scripts that call this script."""
    source, text = command.source, command.source.text
    yield InputText("helm command", " ".join(command.text.split()), Span(source, command.start, command.end))
    names = list_names(command.text)
    if command.is_call:
        names |= set(re.findall(r"[A-Za-z_]\w*", _STRING.sub("", command.text)))
    lines = list(list_setting_lines(text, names))
    for name, start, end in lines:
        yield InputText(name, _name_line(source, text[start:end]), Span(source, start, end))
    whole = " ".join([command.text, *(text[start:end] for _, start, end in lines)])
    if _ARGUMENTS.search(whole) is None:
        return
    function = next(reversed([*_FUNCTION.finditer(text, 0, command.start)]), None)
    if function is not None:
        for line, start, end in _list_lines_with(source, function[1]):
            if not start <= function.start(1) < end:
                yield InputText(function[1], _name_line(source, line), Span(source, start, end))
    for other in scripts:
        for line, start, end in _list_lines_with(other, source.path) if other is not source else ():
            yield InputText(os.path.basename(source.path), _name_line(other, line), Span(other, start, end))


def _name_line(source: Source, line: str) -> str:
    """Return a line with the name of its file: the same line elsewhere is another input."""
    return f"{os.path.basename(source.path)}: {' '.join(line.split())}"


def _list_lines_with(source: Source, path: str) -> Iterator[tuple[str, int, int]]:
    """Yield the lines of a script that contain a word, or the last part of a path, with start and end."""
    word = re.escape(os.path.basename(path))
    for found in re.finditer(rf"(?m)^[^\n]*(?<![\w-]){word}(?![\w-])[^\n]*", source.text):
        yield found[0], found.start(), found.end()
