"""What a run over folders leaves aside: texts and programs that hold manifests, overlays and charts not rendered."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from nodelint.report.skipped import Unread
from nodelint.source.files.discover import CHART, ENDINGS, SET_ASIDE
from nodelint.source.files.kustomizations import KUSTOMIZATIONS, patched_in
from nodelint.source.files.safe_read import read, read_in_place, repository

if TYPE_CHECKING:
    from nodelint.lint.config import Settings
    from nodelint.model.manifest import Object
    from nodelint.source.files.discover import Discovery

_TEXTS = {
    "script": (".sh", ".bash", ".zsh"),
    "Markdown file": (".md", ".mdx", ".markdown"),
}
_PROGRAMS = {
    "TypeScript": (".ts", ".tsx"),
    "JavaScript": (".js", ".mjs"),
    "Python": (".py",),
    "Go": (".go",),
    "CUE": (".cue",),
    "Java": (".java",),
    "Kotlin": (".kt",),
    "C#": (".cs",),
    "Jsonnet": (".jsonnet", ".libsonnet"),
    "Ruby": (".rb",),
}
_TOOLS = frozenset(
    {".git", ".hg", ".svn", ".terraform", ".terragrunt-cache", ".venv", ".cache", ".tox", ".idea", ".vscode"}
)
"""Hidden folders in which tools keep what is theirs."""
_MOST_HIDDEN = 2000
"""Files of hidden folders that are looked into."""
_LARGEST = 4 << 20
"""Bytes of a text or program that somebody wrote."""

# An object as YAML or as a literal of a language; a reference of v1beta1 to a class goes on with its name.
_OBJECT = rb"""(?x)
    apiVersion ["'`]? \s* [:=] \s* ["'`]? karpenter\.(?:sh|k8s\.aws)/v\w+ ["'`]? ,? \s*+ (?: \# [^\n]*+ \s*+ )*+
    ["'`]? kind ["'`]? \s* [:=] \s* ["'`]? (?:NodePool|EC2NodeClass|Provisioner|AWSNodeTemplate|NodeOverlay)\b
    ["'`]?+ ,?+ (?! \s* ["'`]?+ name\b)
"""


def unread(
    found: Discovery, settings: Settings, objects: Sequence[Object] = (), told: Collection[str] = ()
) -> list[Unread]:
    """What a run has not read, or not rendered; `objects` are those that it has read.

    `told` are the absolute paths of folders of which it is said elsewhere that they are not built.
    """
    if not found.folders:
        return [*_missed(found)]
    said = [*_missed(found), *_hidden(found), *_texts(found), *_programs(found)]
    if not settings.kustomize:
        said += _overlays(objects, told)
    if not settings.helm:
        said += _charts(objects)
    return said


def _missed(found: Discovery) -> Iterator[Unread]:
    """The files that hold an object in a form in which none is found."""
    from nodelint.model.documents import left_out, objects

    held = {}
    for source in found.sources:
        known = source.problems or source.set_aside or source.path == "-" or "kind" not in source.text
        if (
            known
            or any(True for _ in objects(source, foreign=True, more=True))
            or any(True for _ in left_out(source))
        ):
            continue
        if number := len(re.findall(_OBJECT, source.text.encode())):
            held[source.path] = number
    if held:
        yield Unread("file", tuple(held), sum(held.values()), None)


def _hidden(found: Discovery) -> Iterator[Unread]:
    """The hidden folders with objects, each by itself, for it is read where it is named."""
    looked = 0
    for top in found.hidden:
        held: dict[str, int] = {}
        for folder, folders, names in os.walk(top) if os.path.basename(top) not in _TOOLS else ():
            folders[:] = sorted(name for name in folders if name not in _TOOLS)
            for path in (os.path.join(folder, name) for name in sorted(names) if name.endswith(ENDINGS)):
                looked += 1
                if looked <= _MOST_HIDDEN and (data := _with_objects(path)) is not None:
                    held[_slashes(path)] = len(re.findall(_OBJECT, data))
        if held:
            way = f"nodelint check {_slashes(top)}"
            yield Unread("file in a hidden folder", tuple(held), sum(held.values()), way)


def _texts(found: Discovery) -> Iterator[Unread]:
    from nodelint.model.documents import left_out, objects
    from nodelint.source import Source

    candidates = sorted({*found.unread, *found.glanced})
    for kind, endings in _TEXTS.items():
        held: dict[str, int] = {}
        odd: dict[str, int] = {}
        for path in candidates:
            if not path.lower().endswith(endings) or (data := _with_objects(path)) is None:
                continue
            source = Source.from_bytes(path, data)
            number = sum(1 for _ in (*objects(source, foreign=True, more=True), *left_out(source, foreign=True)))
            (held if number else odd)[_slashes(path)] = number or len(re.findall(_OBJECT, data))
        if held:
            globs = ",".join(sorted({f"**/*{os.path.splitext(path)[1]}" for path in held}))
            yield Unread(kind, tuple(held), sum(held.values()), f"--include '{globs}'")
        if odd:
            yield Unread(kind, tuple(odd), sum(odd.values()), None)


def _programs(found: Discovery) -> Iterator[Unread]:
    for kind, endings in {**_PROGRAMS, "set-aside": SET_ASIDE}.items():
        held = {}
        for path in found.unread:
            if path.endswith(endings) and (data := _with_objects(path)) is not None:
                held[_slashes(path)] = len(re.findall(_OBJECT, data))
        if held:
            yield Unread(f"{kind} file", tuple(held), sum(held.values()), None)


def _with_objects(path: str) -> bytes | None:
    """The content of a file that holds an object; what cannot be read was not asked for."""
    try:
        if os.path.islink(path):
            data = read(path, _LARGEST, within=repository(os.path.dirname(os.path.abspath(path))))
        else:
            data = read_in_place(path, _LARGEST)
    except (OSError, ValueError):
        return None
    return data if b"karpenter." in data and re.search(_OBJECT, data) else None


def _overlays(objects: Sequence[Object], told: Collection[str]) -> Iterator[Unread]:
    """The kustomizations that patch what was judged by itself."""
    held: dict[str, int] = {}
    for obj in objects:
        path = obj.source.path
        if obj.partial:
            own = os.path.basename(path) in KUSTOMIZATIONS
            folder = os.path.dirname(path) if own else patched_in(path)
            if folder is not None and os.path.abspath(folder) not in told:
                held[_display_folder(folder)] = held.get(_display_folder(folder), 0) + 1
    if held:
        yield Unread("overlay", tuple(held), sum(held.values()), "--kustomize")


def _charts(objects: Sequence[Object]) -> Iterator[Unread]:
    """The charts whose templates were judged before they are rendered."""
    held: dict[str, int] = {}
    for obj in objects:
        chart, templates, _ = obj.source.path.rpartition("templates/")
        if templates and "{{" in obj.source.text and os.path.isfile(os.path.join(chart, CHART)):
            held[_display_folder(chart)] = held.get(_display_folder(chart), 0) + 1
    if held:
        yield Unread("chart", tuple(held), sum(held.values()), "--helm")


def _display_folder(folder: str) -> str:
    return _slashes(os.path.normpath(os.path.relpath(folder or os.curdir)))


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")
