"""Read the files of overlays safely, and the objects and patches in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy

from nodelint.files.gate import gate
from nodelint.files.safe_read import repository
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.kustomizations import KUSTOMIZATIONS
from nodelint.forms.kustomize.resources import Resource
from nodelint.forms.kustomize.values import YamlTree, read_json, read_object, written_text
from nodelint.text import Document, Node, Source
from nodelint.text.keywords import holds_keyword
from nodelint.text.source import chunks
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

_LARGEST = 16 << 20
_CHARACTERS_OF_STEP = 4
MOST_FILES = 5000
"""The most files that are read for the overlays of a run."""


class Files:
    """The texts of a repository, each read once. `at_hand` are sources that were already read, by absolute path."""

    def __init__(self, at_hand: Mapping[str, Source]) -> None:
        self._sources: dict[str, Source] = dict(at_hand)
        self._roots: dict[str, list[tuple[Node, bool]]] = {}
        self._homes: dict[str, str | None] = {}
        self._folders = {above for path in at_hand for above in _folders_above(path)}

    def with_sources(self, sources: Mapping[str, Source]) -> Files:
        """Return a copy with other sources at some absolute paths."""
        other = copy(self)
        other._sources = {**self._sources, **sources}
        other._roots = {path: roots for path, roots in self._roots.items() if path not in sources}
        other._homes = dict(self._homes)
        other._folders = self._folders.union(*map(_folders_above, sources))
        return other

    def is_file(self, path: str) -> bool:
        """Return whether a file was already read, or exists on the disk."""
        return path in self._sources or gate.is_file(path)

    def is_folder(self, path: str) -> bool:
        """Return whether a folder exists on the disk, or contains a file that was already read."""
        return path in self._folders or gate.is_folder(path)

    def find_kustomization(self, folder: str) -> str | None:
        """Return the path of the kustomization of a folder. None if it has none, or more than one."""
        found = [path for name in KUSTOMIZATIONS if self.is_file(path := os.path.join(folder, name))]
        return found[0] if len(found) == 1 else None

    def read(self, path: str) -> Source:
        """Return a file as a source.

        Raise OSError, for example if it is too large or a link out of its repository.
        """
        if path not in self._sources:
            if len(self._sources) > MOST_FILES:
                raise OSError(f"more than {MOST_FILES} files")
            folder = os.path.dirname(path)
            if folder not in self._homes:
                self._homes[folder] = repository(folder)
            data = gate.read(path, _LARGEST)
            shown = os.path.relpath(path)
            source = Source.from_bytes((path if shown.startswith("..") else shown).replace(os.sep, "/"), data)
            if not source.problems and "\ufffd" in source.text:
                from nodelint.forms.syntax_check import find_undecodable

                # kustomize refuses the file whatever its content is
                source.problems += filter(None, [find_undecodable(source, data)])
            self._sources[path] = source
        return self._sources[path]

    def read_roots(self, path: str) -> list[tuple[Node, bool]]:
        """Return all documents of a file, each with whether it mentions Karpenter.

        Raise OSError, and `BuildError` if kustomize cannot read the file either.
        """
        if path not in self._roots:
            self._roots[path] = list(_read_roots(self.read(path)))
        return self._roots[path]

    def read_resources(self, path: str) -> list[Resource]:
        """Return the objects of a file, and the items of its lists. Raise as `read_roots` does."""
        source = self.read(path)
        found: list[Resource] = []
        roots = self.read_roots(path)
        for root, is_of_karpenter in roots:
            value = read_object(root)
            if value.kind == "scalar" and value.value is None:
                continue
            as_read = len(roots) == 1 and value.text("kind") == "List"
            found += (Resource(tree, source, is_of_karpenter) for tree in _unfold(value, root, as_read))
        return found


def is_wanted(text: str, also: str | None) -> bool:
    """Return whether a text mentions Karpenter, or matches the pattern of further texts for which it is read."""
    return holds_keyword(text) or (also is not None and re.search(also, text) is not None)


def _folders_above(path: str) -> Iterator[str]:
    folder = os.path.dirname(path)
    while folder != path:
        yield folder
        folder, path = os.path.dirname(folder), folder


def _read_roots(source: Source) -> Iterator[tuple[Node, bool]]:
    if source.path.endswith((".yaml", ".yml", ".json")) and source.problems:
        raise BuildError(
            _first_node(source, source.problems[0].offset), f"it cannot be read: {source.problems[0].message}"
        )
    if source.masked and source.text and any(d.host is None and d.templated for d in source.documents):
        raise BuildError(_first_node(source, 0), "it holds template code, which someone fills in before", fails=False)
    spans = list(chunks(source.text, 1 if source.text.startswith("\ufeff") else 0))
    # By order: if a part of the text was parsed again, the other documents have their old offsets.
    known = [document.root for document in source.documents if document.host is None]
    for number, (begin, end) in enumerate(spans):
        text = source.text[begin:end]
        is_of_karpenter = is_wanted(text, source.also)
        root = known[number] if len(known) == len(spans) else None
        if root is not None:
            yield root, is_of_karpenter
            continue
        try:
            roots = compose(source, text, begin, masked=False)
        except Unreadable as error:
            at = _first_node(source, error.offset)
            raise BuildError(at, f"it cannot be read: {error.message}", fails="{{" not in text) from None
        yield from ((root, is_of_karpenter) for root in roots if root is not None)


def _first_node(source: Source, offset: int) -> Node:
    """Return an empty node at an offset, to report a file as a whole."""
    return Node(source, offset, offset, "scalar", "plain")


def _unfold(value: YamlTree, root: Node, as_read: bool = False) -> Iterator[YamlTree]:
    """Yield an object, or the items of a list of objects.

    Raise `BuildError` if kustomize does not accept it as an object.

    Items are converted as through JSON, except those of a List that is alone in its file (`as_read`).
    """
    if value.kind != "mapping":
        raise BuildError(root, "it is no object")
    items = value.get("items")
    if value.text("kind").endswith("List") and items is not None:
        if items.kind == "sequence":
            for item in items.items:
                if not as_read:
                    item.become_json(whole=True)
                yield from _unfold(item, item.at or root)
        return
    for path in (("kind",), ("metadata", "name")):
        if not value.text(*path) and not _has_name(value, path):
            raise BuildError(root, f"an object without `{'.'.join(path)}`")
    yield value


def _has_name(value: YamlTree, path: Sequence[str]) -> bool:
    found = value.get(*path)
    return found is not None and found.kind == "scalar" and bool(found.as_text()) and found.value is not None


class PatchText:
    """The text of a patch: a separate file, or a scalar of a kustomization."""

    def __init__(self, source: Source, roots: list[tuple[Node, bool]], within: Node | None, at: Node | None) -> None:
        self.source = source
        self.roots = roots
        self.within = within
        self.at = at

    @property
    def is_of_karpenter(self) -> bool:
        return any(is_of_karpenter for _, is_of_karpenter in self.roots)

    @property
    def steps(self) -> int:
        """Return the budget steps to read the text, or to apply it to an object."""
        return 1 + sum(root.end - root.start for root, _ in self.roots) // _CHARACTERS_OF_STEP

    def read_objects(self) -> list[YamlTree]:
        """Return the strategic merge patches. Raise `BuildError` if the text has none."""
        found: list[YamlTree] = []
        for root, _ in self.roots:
            found += _unfold(read_object(root, self.within), self.at or root)
        return found

    def read_json(self) -> YamlTree | None:
        """Return the first document as JSON. None if there is none."""
        return read_json(self.roots[0][0], self.within) if self.roots else None


def read_inline(scalar: Node) -> PatchText:
    """Return the patch in a scalar of a kustomization. In a literal block scalar, nodes have positions in the file.

    Raise `BuildError`.
    """
    source = scalar.source
    assert isinstance(source, Source)
    if scalar.style == "literal" and not (scalar.shared or scalar.alias):
        try:
            return PatchText(source, list(_block_roots(source, scalar)), None, scalar)
        except Unreadable:
            pass
    text = written_text(scalar)
    aside = Source(source.path, text)
    try:
        roots = [r for b, e in chunks(text, 0) for r in compose(aside, text[b:e], b, masked=False) if r is not None]
    except Unreadable as error:
        raise BuildError(scalar, f"the patch cannot be read: {error.message}") from None
    is_of_karpenter = is_wanted(text, source.also)
    return PatchText(source, [(root, is_of_karpenter) for root in roots], scalar, scalar)


def _block_roots(source: Source, scalar: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the documents in a block scalar, with their positions in the file."""
    start = source.text.find("\n", scalar.start, scalar.end) + 1
    if not start:
        return
    borders = [start]
    for line in re.compile(r"^[ \t]*---[ \t]*\r?$", re.MULTILINE).finditer(source.text, start, scalar.end):
        borders += [line.start(), min(line.end() + 1, scalar.end)]
    borders.append(scalar.end)
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        text = source.text[begin:end]
        is_of_karpenter = is_wanted(text, source.also)
        yield from (
            (root, is_of_karpenter) for root in compose(source, text, begin, masked=False) if root is not None
        )


def as_documents(source: Source, roots: Sequence[Node]) -> None:
    """Add nodes that were read from a text without Karpenter's name to its documents, so that they can be edited."""
    if not any(document.root is not None for document in source.documents):
        source.documents = [Document(root, 0, len(source.text), n) for n, root in enumerate(roots)]
