"""Commands of a shell that install Karpenter's chart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

_HELM = r"helm[ \t]+(?:upgrade|install|template|pull)\b[^\n;&|]{0,2000}"


_CHART = r"(?!\.{0,2}/)\S+/karpenter"


_TAKES_A_PATH = r"-f|--values|--set[\w-]*|--repo|--kube[\w-]+"


_CONTINUED = r"\\\r?\n"


def join_lines(text: str) -> str:
    """Return a text with each command on one line; all characters stay in their places."""
    return re.sub(_CONTINUED, lambda broken: " " * len(broken[0]), text)


def helm_commands(text: str) -> Iterator[re.Match[str]]:
    """The commands of helm that are about Karpenter's own chart, and not one whose name begins like it."""
    for command in re.finditer(_HELM, text):
        words = [word.strip("\"'`") for word in command[0].split()]
        paths = [word for before, word in pairwise(words) if _is_path(before, word)]
        if any(re.fullmatch(_CHART, path) for path in paths) or (not paths and "karpenter" in words):
            yield command


def _is_path(before: str, word: str) -> bool:
    return "/" in word and not word.startswith("-") and re.fullmatch(_TAKES_A_PATH, before) is None
