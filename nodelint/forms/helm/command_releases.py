"""Find releases of charts by `helm` commands in scripts, Makefiles, workflows and Terraform provisioners."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.helm.commands import HelmCommand
from nodelint.forms.lib.chart_commands import is_trial, join_lines
from nodelint.forms.lib.chart_values import RepositoryTree
from nodelint.forms.lib.script_variables import expand_path
from nodelint.forms.lib.variable_inputs import walk_scripts
from nodelint.forms.registry import TABLE
from nodelint.forms.requests import InstallChart
from nodelint.text import Source

COMMAND = re.compile(
    r"(?i:(?<![\w./-])helm|\$[({]helm[)}])(?:[ \t]+-[^\n;&|]{0,200}?|[ \t]+secrets|[ \t]+diff)?"
    r"[ \t]+(?:upgrade|install|template)\b[^\n;&|]{0,4000}"
)
_FOLDER = re.compile(
    r"(?:\b(?:cd|pushd)[ \t]+|\b(?:working-directory|working_directory|workingDirectory):[ \t]*)(\S+)"
)
_VARIABLE_BEFORE = re.compile(r"\A(?:\$\{\{[^{}]*\}\}|\$[({][^(){}]*[)}]|\$\w+)/")
_LARGEST = 1 << 20


def find_scripts_top(folder: str) -> str:
    """Return the folder below which scripts may install a chart: its repository, or the outermost readable folder."""
    top = find_top(folder)
    if top is not None:
        return top
    while gate.is_folder(os.path.dirname(folder)) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def list_scripts(top: str) -> Iterator[Source]:
    """Yield the scripts, Makefiles, workflows and provisioners below a folder that mention helm."""
    for path, below in walk_scripts(top, TABLE.endings):
        try:
            data = gate.read(path, _LARGEST, within=top)
        except OSError:
            continue
        if (b"helm" in data or b"HELM" in data) and (not below.endswith(TABLE.endings) or b"local-exec" in data):
            yield Source(os.path.relpath(path).replace(os.sep, "/"), data.decode(errors="replace"))


def read_script(source: Source, charts: Sequence[str], tree: RepositoryTree) -> Iterator[InstallChart]:
    """Yield the releases of charts by the commands in a text."""
    text = join_folded(join_lines(source.text))
    around = os.path.dirname(os.path.abspath(source.path))
    for found in COMMAND.finditer(text):
        if not is_of_command(text, found) or is_trial(text[found.start() :].partition("\n")[0]):
            continue
        named = [match[1].strip("\"'") for match in _FOLDER.finditer(text, 0, found.start())]
        inner = [_VARIABLE_BEFORE.sub("", named[-1])] if named else []
        folders = [os.path.normpath(os.path.join(base, name)) for name in inner for base in (around, tree.home)]
        command = HelmCommand(source, text, found.start(), find_end(text, found), tree, folders)
        layers = command.read()
        for chart in _find_charts(command.words, text, charts, [*folders, around, tree.home]):
            by = os.path.abspath(source.path), " ".join(command.words)
            yield InstallChart(chart, layers, command.unread, by)


def is_of_command(text: str, found: re.Match[str]) -> bool:
    """Return whether a match of `COMMAND` is run: it is in no comment, and is not printed."""
    begins = text.rfind("\n", 0, found.start()) + 1
    return re.match(r"[ \t]*(?:-[ \t]+)?(?:#|//|echo\b)", text[begins : found.start()]) is None


def find_end(text: str, found: re.Match[str]) -> int:
    """Return the offset at which a command ends: before the closing quote if the command is quoted."""
    before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    for quote in ('"', "'", "`"):
        if before.count(quote) % 2 and (end := text.find(quote, found.start(), found.end())) >= 0:
            return end
    return found.end()


def _find_charts(words: Sequence[str], text: str, charts: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Return the charts that a command of a text names: by a path relative to one of `folders`, else by the end of
    the path.

    A variable stands for each value that the text gives it.
    """
    for word in words:
        found = [chart for path in expand_path(word, text) for chart in _match_path(path, charts, folders)]
        if found:
            return list(dict.fromkeys(found))
    return []


def _match_path(path: str, charts: Sequence[str], folders: Sequence[str]) -> list[str]:
    if "://" in path or not path or path in ("helm", "upgrade", "install", "template"):
        return []
    exact = {os.path.normpath(os.path.join(folder, path)) for folder in folders}
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    found = [chart for chart in charts if chart in exact]
    if not found and parts and "/" in path:
        found = [chart for chart in charts if chart.split(os.sep)[-len(parts) :] == parts]
    return found


_FOLDED = re.compile(r"(?m)^([ ]*)(?:- +|(?:- +)?[\w-]+:[ \t]*)>[-+\d]*[ \t]*\n((?:\1[ ]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)")


def join_folded(text: str) -> str:
    """Return a text with each folded YAML block (`>`) on one line.

    Spaces replace the line breaks, so that positions stay the same.
    """
    if ">" not in text:
        return text
    return _FOLDED.sub(lambda found: found[0][: -len(found[2])] + found[2][:-1].replace("\n", " ") + "\n", text)
