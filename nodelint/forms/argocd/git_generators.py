"""Read the parameters that an ApplicationSet's git generator takes from files and folders of the repository.

https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/Generators-Git/
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator

from nodelint.base.budget import WorkBudget
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.lib.file_patterns import match_files
from nodelint.forms.lib.made_nodes import mapping, scalar, sequence
from nodelint.forms.lib.missing_sources import RepositoryNames
from nodelint.forms.lib.values import read_broken
from nodelint.text import Node, Source
from nodelint.text.limits import note_broken, note_more
from nodelint.text.missing import items_of, text_of
from nodelint.text.reading import nodes_of

ReadFile = Callable[[str], Source | None]
"""A function that returns a file of the repository by its absolute path. None if it cannot be read."""

_MOST_FOLDERS = 5000
"""The most folders that match one pattern of a generator."""
_FOR_FILE, _CHARACTERS_OF_STEP = 20, 20
"""The steps to inspect a file or folder, and the characters that are read in one step."""


def list_git_parameters(git: Node, read_file: ReadFile, budget: WorkBudget) -> Iterator[dict[str, Node]]:
    """Yield the parameters of each file, or folder, that a git generator names.

    Nothing if the generator is for another repository.
    """
    home = find_top(os.path.dirname(os.path.abspath(git.source.path)))
    if home is None or git.get("pathParamPrefix") is not None:
        return
    for item in (*items_of(git.get("files")), *items_of(git.get("directories"))):
        named = text_of(item.get("path"))
        gate.notes_refusal(
            os.path.join(home, re.split(r"[*?{\[]", named.lstrip("/"))[0]), named, item.source, item.start
        )
    broken: list[Source] = []
    for item in items_of(git.get("files")):
        for name in match_files(home, text_of(item.get("path")).lstrip("/"), budget) or ():
            source = read_file(os.path.join(home, name))
            budget.spend(_FOR_FILE + (len(source.text) // _CHARACTERS_OF_STEP if source is not None else 0))
            broken += _find_broken(source, git) if source is not None else ()
            for root in nodes_of(source) if source is not None else ():
                for part in root.items if root.kind == "sequence" else (root,):
                    given = {entry.name: entry.value for entry in part.entries if entry.name is not None}
                    yield given | {"path": _path_node(item, os.path.dirname(name), os.path.basename(name))}
    if broken and _concerns_karpenter(git):
        note_broken(broken)
    for folder, item in _list_folders(items_of(git.get("directories")), home, budget).items():
        yield {"path": _path_node(item, folder, "")}


def _find_broken(source: Source, git: Node) -> Iterator[Source]:
    """Yield a generator's file as a whole if it has a syntax error: Argo CD creates no Application then."""
    if all(document.root is not None for document in source.documents):
        return  # to parse the file again takes time
    path = source.path if os.path.isabs(git.source.path) else os.path.relpath(source.path).replace(os.sep, "/")
    again = Source.from_text(path, source.text)
    if read_broken(again) is not None:
        yield again


def _concerns_karpenter(generator: Node) -> bool:
    """Return whether the ApplicationSet of a generator, or a folder that it applies, names Karpenter."""
    source = generator.source
    if not isinstance(source, Source):
        return True
    root = next((root for root in nodes_of(source) if root.start <= generator.start < root.end), None)
    names = RepositoryNames(source, [source])
    if root is None or names.concerns(read_text_about(root)):
        return True
    spec = root.find("spec", "template", "spec")
    parts = [*items_of(spec.get("sources")), spec.get("source")] if spec is not None else []
    for path in (part.get("path") for part in parts if part is not None):
        start, code, _ = path.unquoted.partition("{{") if path is not None else ("", "", "")
        folder = start.rpartition("/")[0] if code else start  # the least that is known of a path with parameters
        if folder and names.holds_karpenter(folder):
            return True
    return False


def read_text_about(root: Node) -> str:
    """Return the text of an object without the addresses of repositories: these say nothing about it."""
    text = root.source.text[root.start : root.end]
    for node in root.walk():
        for entry in node.entries:
            if entry.name == "repoURL" and node.get("chart") is None:
                text = text.replace(text_of(entry.value) or "\0", "")
    return text


def _list_folders(items: list[Node], home: str, budget: WorkBudget) -> dict[str, Node]:
    """Return the folders that a generator names, each with the item that names it. Excluded folders are left out."""
    found: dict[str, Node] = {}
    for item in items:
        below = [""]
        for part in text_of(item.get("path")).strip("/").split("/"):
            budget.spend(_FOR_FILE * len(below))
            below = [os.path.join(folder, name) for folder in below for name in _list_names(home, folder, part)]
        excluded = item.get("exclude")
        line = item.source.position(item.start).line
        note_more(item.source.path, len(below), _MOST_FOLDERS, "folders of this generator", line)
        for folder in below[:_MOST_FOLDERS]:
            if excluded is not None and excluded.value is True:
                found.pop(folder, None)
            else:
                found[folder] = item
    return found


def _list_names(home: str, folder: str, pattern: str) -> list[str]:
    around = os.path.join(home, folder)
    names = [name for name in gate.names(around) if not name.startswith(".") and fnmatch.fnmatchcase(name, pattern)]
    return [name for name in names if gate.is_folder(os.path.join(around, name))]


def _path_node(item: Node, folder: str, name: str) -> Node:
    """Return the parameter `path` of an ApplicationSet. For a file, it is the folder of the file."""
    at = item.get("path") or item
    folder = folder.replace(os.sep, "/")
    texts = {"path": folder, "basename": os.path.basename(folder), "filename": name}
    texts |= {f"{key}Normalized": _normalize(texts[key]) for key in ("basename", "filename")}
    members = [(key, at, scalar(at, text)) for key, text in texts.items()]
    segments = sequence(at, [scalar(at, part) for part in folder.split("/")])
    return mapping(at, [*members, ("segments", at, segments)])


def _normalize(text: str) -> str:
    """Return a text as Argo CD normalizes it to a Kubernetes name: lower case, with `-` for forbidden characters."""
    return re.sub(r"[^a-z0-9-.]", "-", text.lower()).strip("-.")
