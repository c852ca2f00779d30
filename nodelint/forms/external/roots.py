"""What can be rendered: the overlays and charts that paths stand for, and the files that each is made of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from nodelint.base.tuples import NamedTuple
from nodelint.files.gate import OUTSIDE, gate
from nodelint.files.gitignore import Ignored, entered
from nodelint.files.globs import READ_ALL, Excluded
from nodelint.files.safe_read import is_inside, repository
from nodelint.forms.lib.chart_places import CHART, OTHER_VALUES, TRIAL_VALUES
from nodelint.forms.lib.values import content_of, nodes_of, read
from nodelint.forms.registry import KUSTOMIZE
from nodelint.text import Node
from nodelint.text.limits import note_limit
from nodelint.text.missing import items_of

_MARK = b"karpenter"
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})
_TEXTS = (".yaml", ".yml", ".json", ".tpl", ".txt")
_MOST_FILES = 5000
"""Files of one overlay or chart: a guard against bases that name one another in a tangle."""

Tool = Literal["kustomize", "helm"]


class Root(NamedTuple):
    """An overlay or a chart.

    `file` is its own file, `parts` are all that it is made of, that file first, and what is applied last before
    what it is applied to. `values` are the files of values that a chart is rendered with, each beside its
    values.yaml. `missing` names what is not on this disk, as far as that can be seen. `refused` says why no
    tool is run: what it would read stands elsewhere.
    `asked` are the paths whose findings are reported, None for all.
    """

    tool: Tool
    folder: str
    file: str
    parts: tuple[str, ...]
    values: tuple[str, ...] = ()
    missing: str | None = None
    refused: str | None = None
    asked: frozenset[str] | None = None


def roots(paths: Sequence[str], exclude: Excluded = READ_ALL, *, kustomize: bool, helm: bool) -> list[Root]:
    """The overlays and charts in folders, and those that named files are parts of; those that mention Karpenter.

    What another of them is built on is rendered within that one, and not alone.
    """
    named = list(dict.fromkeys(map(os.path.normpath, filter(None, paths))))
    for path in named:
        gate.admit(path if path != "-" else os.curdir)
    folders = [path for path in named if os.path.isdir(path)]
    files = [path for path in named if path != "-" and path not in folders]
    chosen = _tops(folders, kustomize, helm, exclude)
    if files:
        have = {os.path.abspath(root.folder) for root in chosen}
        chosen += [r for r in _of_files(files, kustomize, helm, exclude) if os.path.abspath(r.folder) not in have]
    return [root for root in chosen if _mentions_karpenter(root.parts)]


def _of_files(files: list[str], kustomize: bool, helm: bool, exclude: Excluded) -> Iterator[Root]:
    """What some files are parts of, anywhere in their repositories."""
    requested = frozenset(map(os.path.abspath, files))
    folders = {os.path.dirname(path) for path in requested}
    places = sorted({os.path.relpath(repository(folder) or folder) for folder in folders})
    for root in _tops(places, kustomize, helm, exclude):
        if requested & set(map(os.path.abspath, root.parts)):
            whole = os.path.abspath(root.file) in requested
            yield root if whole else root._replace(asked=requested)


def _tops(folders: Sequence[str], kustomize: bool, helm: bool, exclude: Excluded) -> list[Root]:
    """The overlays and charts in folders that are not parts of others there."""
    found = {os.path.abspath(r.file): r for folder in folders for r in _below(folder, kustomize, helm, exclude)}
    inner = {os.path.abspath(part) for root in found.values() for part in root.parts[1:]}
    return [root for file, root in found.items() if file not in inner]


def _below(top: str, kustomize: bool, helm: bool, exclude: Excluded) -> Iterator[Root]:
    ignored = {top: Ignored.around(top) if exclude.gitignore else None}
    for folder, folders, files in gate.walk(top):
        shown = "" if folder == os.curdir else os.path.normpath(folder)
        here = ignored.pop(folder, None)
        if exclude.gitignore:
            here = entered(here, folder, (*folders, *files))
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _PASSED_OVER
            and not (exclude and exclude.match(os.path.join(shown, name)))
            and not (here and here.ignores(name, folder=True))
        )
        if here:
            ignored |= {os.path.join(folder, name): here.below(name) for name in folders}
            files = [name for name in files if not here.ignores(name, folder=False)]
        own = next((name for name in KUSTOMIZE.names if name in files), None)
        if kustomize and own is not None:
            overlay = _overlay(shown or os.curdir, own)
            if overlay is not None:
                yield overlay
        if CHART in files:
            if helm:
                chart = _chart(shown or os.curdir, files)
                if chart is not None:
                    yield chart
            folders[:] = [name for name in folders if name not in ("charts", "templates")]


# -- Kustomize


def _overlay(folder: str, own: str) -> Root | None:
    """None for a Component, which is nothing without the overlay that takes it in."""
    source = read(os.path.join(folder, own))
    if source is None or any(_read_text(node, "kind") == "Component" for node in nodes_of(source)):
        return None
    parts: dict[str, None] = {}
    missing: list[str] = []
    outside: list[str] = []
    _follow(folder, parts, missing, outside)
    return Root(
        "kustomize",
        folder,
        os.path.normpath(os.path.join(folder, own)),
        tuple(parts),
        missing=next(iter(missing), None),
        refused=f"`{outside[0]}` is {OUTSIDE}" if outside else None,
    )


def _follow(folder: str, parts: dict[str, None], missing: list[str], outside: list[str]) -> None:
    """Add the files of a kustomization: itself, its patches, its components, then what it is built on."""
    home = repository(os.path.abspath(folder))
    pending = [folder]
    while pending and len(parts) < _MOST_FILES:
        folder = pending.pop(0)
        name = next((n for n in KUSTOMIZE.names if gate.is_file(os.path.join(folder, n))), None)
        if name is None:
            continue
        path = os.path.normpath(os.path.join(folder, name))
        source = None if path in parts else read(path)
        if source is None:
            continue
        parts[path] = None
        for root in nodes_of(source):
            for patch in patch_files(root):
                parts.setdefault(os.path.normpath(os.path.join(folder, patch)))
            outside += [n for n in _loaded(root) if not gate.holds(os.path.join(folder, n))]
            missing += [n for n in _loaded(root) if not gate.exists(os.path.join(folder, n))]
            for field in ("components", "resources", "bases"):
                for named in _texts(root.get(field)):
                    below = os.path.normpath(os.path.join(folder, named))
                    if not gate.holds(below) or (
                        gate.exists(below) and home is not None and not is_inside(below, home)
                    ):
                        outside.append(named)
                    elif gate.is_folder(below):
                        pending.append(below)
                    elif gate.is_file(below):
                        parts.setdefault(below)
                    else:
                        missing.append(named)


def patch_files(root: Node) -> Iterator[str]:
    """The files that a kustomization names as patches."""
    for field in ("patches", "patchesJson6902"):
        for item in items_of(root.get(field)):
            path = _read_text(item, "path")
            if path is not None:
                yield path
    for text in _texts(root.get("patchesStrategicMerge")):
        if "\n" not in text:
            yield text


def _loaded(root: Node) -> Iterator[str]:
    """What else a kustomization loads, each of which may be an address: patches, plugins, files of generators."""
    yield from patch_files(root)
    for field in ("generators", "transformers", "validators", "crds", "configurations"):
        yield from (text for text in _texts(root.get(field)) if "\n" not in text)
    for item in (*items_of(root.get("replacements")), *([o] if (o := root.get("openapi")) is not None else [])):
        path = _read_text(item, "path")
        if path is not None:
            yield path
    for field in ("configMapGenerator", "secretGenerator"):
        for item in items_of(root.get(field)):
            for name in ("files", "envs"):
                yield from (text.partition("=")[2] or text for text in _texts(item.get(name)))


# -- Helm


def _chart(folder: str, files: list[str]) -> Root | None:
    """None for a library, which has nothing of its own to install."""
    source = read(os.path.join(folder, CHART))
    about = nodes_of(source)[:1] if source is not None else []
    if any(_read_text(node, "type") == "library" for node in about):
        return None
    values = [os.path.join(folder, n) for n in sorted(files) if re.fullmatch(OTHER_VALUES, n)]
    trial = os.path.join(folder, "ci")
    if gate.is_folder(trial):
        values += [os.path.join(trial, n) for n in gate.names(trial) if re.fullmatch(TRIAL_VALUES, n)]
    values = [os.path.normpath(path) for path in values]
    parts = [os.path.join(folder, CHART), *values]
    parts += [os.path.join(folder, n) for n in ("values.yaml",) if n in files]
    for place in ("templates", "charts"):
        for where, folders, names in gate.walk(os.path.join(folder, place)):
            folders.sort()
            parts += [os.path.join(where, name) for name in sorted(names) if name.endswith(_TEXTS)]
            if len(parts) > _MOST_FILES:
                note_limit(folder, _MOST_FILES, "files of this chart", 0)
                break
    file, *rest = map(os.path.normpath, parts)
    refused = next(_astray(folder), None)
    if refused is not None:
        rest = [part for part in rest if is_inside(part, folder)]
    return Root("helm", folder, file, (file, *rest), tuple(values), refused=refused)


def _astray(folder: str) -> Iterator[str]:
    """What helm would read with a chart and is not one of it: it follows every link, and takes each file it finds."""
    for where, folders, names in gate.walk(folder):
        if os.path.lexists(os.path.join(where, ".git")) and not _ignores_git(folder):
            yield "`.git` is among the chart's files; exclude it by a line `.git/` in its .helmignore"
        for name in sorted((*folders, *names)):
            path = os.path.join(where, name)
            shown = os.path.relpath(path, folder).replace(os.sep, "/")
            if os.path.islink(path):
                if not is_inside(path, folder):
                    yield f"`{shown}` is a link out of the chart"
            elif name in names and not gate.is_file(path):
                yield f"`{shown}` is neither a file nor a folder"


def _ignores_git(chart: str) -> bool:
    """Whether helm leaves out what is of git, by the chart's .helmignore."""
    try:
        lines = gate.read(os.path.join(chart, ".helmignore"), 1 << 16).decode(errors="replace").splitlines()
    except OSError:
        return False
    return any(line.strip() in (".git", ".git/") for line in lines) and not any(
        line.startswith("!") for line in lines
    )


# -- what both ask


def _mentions_karpenter(paths: Sequence[str]) -> bool:
    for path in paths:
        try:
            if _MARK in content_of(path):
                return True
        except OSError:
            continue
    return False


def _texts(node: Node | None) -> list[str]:
    return [item.value for item in items_of(node) if isinstance(item.value, str)]


def _read_text(node: Node, key: str) -> str | None:
    value = node.get(key)
    return value.value if value is not None and isinstance(value.value, str) else None
