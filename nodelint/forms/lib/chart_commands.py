"""Find shell commands that install Karpenter's chart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_FLAGS = r"(?:--?[\w-]++(?:=\S++)?[ \t]+(?:(?!upgrade|install|template|pull)[^\s-]\S*+[ \t]+)?){0,5}"
"""Flags before the verb: `--kube-context main`, `-n karpenter`, `--debug`."""

INSTALLS = rf"helm[ \t]+{_FLAGS}(?:upgrade|install|template)\b"
"""The beginning of a command that installs a chart, or prints it in order to apply it."""

_HELM = rf"helm[ \t]+{_FLAGS}(?:upgrade|install|template|pull)\b[^\n;&|]{{0,2000}}"


_CHART = r"(?!\.{0,2}/)\S+/karpenter"


_TAKES_A_PATH = r"-f|--values|--set[\w-]*|--repo|--kube[\w-]+"


_WRITTEN = (
    r"--version[ =](\"[^\"\n]{0,200}\"|\$\{\{[^}\n]{0,200}\}\}|\$\([^)\n]{0,200}\)|\$[^\s\"']+|\{\{[^}\n]{0,200}\}\})"
)
"""A version in quotes, or an expression of a shell or a template."""

INSTALLS_CONTROLLER = rf"\b{INSTALLS}[^;|&]{{0,2000}}karpenter"
"""A command that may install Karpenter's controller."""

_CONTINUED = r"\\\r?\n"


HELM_COMMAND = "a helm command"
"""The name of an installation by a command in reports."""

_TRIAL = r"[ \t]template[ \t][^\n]{0,500}?(?<!2)>[ \t]{0,9}/dev/null"
"""A command that renders a chart and discards the result: a test of the chart, not an installation."""

_NAMESPACE = r"""(?:^|[ \t])(?:-n|--namespace)(?:[ \t]+|=)["']?([\w.${}-]+)"""


def namespace_of_command(text: str, start: int) -> str | None:
    """Return the namespace of the command at an offset. None if it is not known.

    A variable counts if the text sets it to one plain value.
    """
    command = re.compile(r"[^\n;&|]*").match(join_lines(text[start : start + 4000]))
    found = re.search(_NAMESPACE, command[0]) if command is not None else None
    if found is None:
        return None
    variable = re.fullmatch(r"\$\{?(\w+)\}?", found[1])
    if variable is None:
        return found[1] if "$" not in found[1] else None
    given = set(re.findall(rf"""(?m)^[ \t]*(?:export[ \t]+)?{variable[1]}=["']?([^"'\s]*)""", text))
    name = given.pop() if len(given) == 1 else "$"
    return name if "$" not in name else None


def join_lines(text: str) -> str:
    """Return a text with each command on one line. The offsets of characters do not change."""
    return text if "helm" not in text else re.sub(_CONTINUED, lambda broken: " " * len(broken[0]), text)


def find_commands(text: str) -> Iterator[re.Match[str]]:
    """Yield the `helm` commands for Karpenter's own chart, not for a chart whose name only begins like it."""
    for command in re.finditer(_HELM, text) if "helm" in text else ():
        words = [word.strip("\"'`") for word in command[0].split()]
        paths = [word for before, word in pairwise(words) if _is_path(before, word)]
        if any(re.fullmatch(_CHART, path) for path in paths) or (not paths and "karpenter" in words):
            yield command


def find_version(text: str, command: re.Match[str], release: str) -> re.Match[str] | None:
    """Return a match for the version of a command; group 1 is the release. `release` is the pattern of a release."""
    return re.compile(rf"--version[ =][\"']?{release}").search(text, *command.span())


def find_variable(text: str, command: re.Match[str]) -> re.Match[str] | None:
    """Return a match for the variable with the version of a command; group 1 is its name. None if there is none."""
    return re.compile(r"--version[ =][\"']?\$\{?([A-Za-z_]\w*)").search(text, *command.span())


def find_written_version(text: str, command: re.Match[str]) -> re.Match[str] | None:
    """Return a match for a version in quotes or with an expression; group 1 is its text. None if there is none."""
    return re.compile(_WRITTEN).search(text, *command.span())


def _is_path(before: str, word: str) -> bool:
    return "/" in word and not word.startswith("-") and re.fullmatch(_TAKES_A_PATH, before) is None


def is_trial(command: str) -> bool:
    """Return whether a command only tests whether a chart can be rendered."""
    return re.search(_TRIAL, command) is not None
