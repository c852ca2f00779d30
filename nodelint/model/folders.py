"""Read clusters and environments from the folder and file names of a repository."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache

from nodelint.data import table
from nodelint.files.safe_read import repository
from nodelint.text.placeholders import holds_any

REGION = r"[a-z]{2}-[a-z]+-\d"
"""An AWS region in a path."""


@cache
def folder_of(path: str) -> str:
    """Return the folder of a file.

    The result is cached, because the folder of a file is looked up many times.
    """
    return os.path.dirname(path)


def path_in_repository(path: str) -> str:
    """Return a path without the folders around its repository: their names say nothing about the content."""
    whole = os.path.abspath(path)
    root = repository(os.path.dirname(whole))
    return path if root is None else os.path.relpath(whole, root).replace(os.sep, "/")


def path_below(path: str, root: str) -> str:
    """Return a path relative to a folder, as `os.path.relpath` does. It is fast for a path below the folder."""
    beginning = os.path.join(root, "")
    rest = path[len(beginning) :]
    steps = rest.split(os.sep)
    is_plain = path.startswith(beginning) and not any(step in ("", os.curdir, os.pardir) for step in steps)
    return rest if is_plain else os.path.relpath(path, root)


def is_of_examples(path: str) -> bool:
    """Return whether a file is in a folder of examples of its repository: `examples/v1`, `blueprints/spot`."""
    words = table("vocabulary")["example_folders"]
    folder = os.path.dirname(path_in_repository(path))
    return any(part in words for part in folder.lower().split("/"))


SET_ASIDE = frozenset(
    {
        *("archive", "archived", "archives", "attic", "backup", "backups", "bak"),
        *("deprecated", "disabled", "legacy", "obsolete", "old"),
    }
)
"""Folders for files that nobody applies any more."""


def is_set_aside(path: str) -> bool:
    """Return whether a file is below such a folder, in its repository: `old`, `archive` and the like."""
    return not SET_ASIDE.isdisjoint(os.path.dirname(path_in_repository(path)).lower().split("/"))


def is_named_for_environment(path: str) -> bool:
    """Return whether a file name contains an environment: `prod.yaml`, `nodepool-dev.yaml`."""
    words = table("vocabulary")["environments"]
    name = os.path.basename(path).lower()
    return holds_any(name, words) and any(word in words for word in re.split(r"[^a-z0-9]+", name))


def list_environments(parts: Iterable[str]) -> set[str]:
    """Return the environments and regions that the parts of a path name."""
    text = "/".join(parts).lower()
    words = set(re.split(r"[^a-z0-9]+", text))
    return words.intersection(table("vocabulary")["environments"]).union(re.findall(REGION, text))


def nearness(path: str, other: str) -> int:
    """Return the number of leading folders that two paths have in common."""
    common = 0
    for ours, theirs in zip(
        *(os.path.normpath(os.path.dirname(p)).split(os.sep) for p in (path, other)), strict=False
    ):
        if ours != theirs:
            break
        common += 1
    return common
