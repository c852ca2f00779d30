"""Overlays of a run as nodelint builds them itself, without kustomize."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from nodelint.build.built import Built, Unbuilt
from nodelint.build.kustomize import BuiltOverlay, UnbuiltOverlay, build_overlays
from nodelint.source import Node, Source
from nodelint.source.discover import Discovery
from nodelint.source.reading import MARKS, read

_LARGEST = 16 << 20
_MOST_NAMED, _MOST_LETTERS = 5, 40


def build_native(
    files: Sequence[Source], kustomizations: Sequence[str], done: Collection[str]
) -> tuple[list[Built], list[UnbuiltOverlay]]:
    """The overlays that are built, and those that cannot be; `done` are folders that a tool has rendered.

    A patch that meets no object, and one that takes entries of a list away, are among the problems of what is built.
    """
    at_hand = {os.path.abspath(source.path): source for source in files}
    outcomes = build_overlays(kustomizations, at_hand, _Marked(at_hand))
    built = [_with_remarks(o) for o in outcomes if isinstance(o, BuiltOverlay) and o.built.cluster not in done]
    unbuilt = [each for each in outcomes if isinstance(each, UnbuiltOverlay) and each.folder not in done]
    return [each for each in built if any(document.root for document in each.source.documents)], unbuilt


def _with_remarks(outcome: BuiltOverlay) -> Built:
    """What is built, with what its patches do that their author may not have meant."""
    nothing = "the patch changes nothing: no object has"
    remarks = [_remark(each.at, f"{nothing} {each.wanted}") for each in outcome.unmatched]
    for lost in outcome.lost:
        names = ", ".join(f"`{_name_of(item)}`" for item in lost.items[:_MOST_NAMED])
        more = f" and {len(lost.items) - _MOST_NAMED} more" if len(lost.items) > _MOST_NAMED else ""
        place = f"{lost.old.source.path}:{lost.old.source.position(lost.old.start).line}"
        field = ".".join(lost.path)
        what = f"`{field}` of {lost.kind}/{lost.name} replaces the list at {place} whole"
        remarks.append(_remark(lost.new, f"{what}, which takes {names}{more} away"))
    return outcome.built._replace(problems=(*outcome.built.problems, *remarks))


def _remark(at: Node, reason: str) -> Unbuilt:
    return Unbuilt(at.source.path, at.source.position(at.start).line, reason)


def _name_of(item: Node) -> str:
    """What tells an entry of a list from the others, else its text."""
    for field in ("key", "alias", "name", "id", "deviceName"):
        value = item.get(field)
        if value is not None and isinstance(value.value, str):
            return value.value
    text = " ".join(item.text.split())
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 3] + "..."


def find_parts(built: Sequence[Built], found: Discovery) -> Iterator[Source]:
    """The files of overlays that were asked for and are not among the sources: a value of an object is written there.

    They are the very sources of these values, so that a fix may be theirs.
    """
    have = {id(source) for source in found.sources}
    names = {os.path.abspath(source.path) for source in found.sources}
    seen = {os.path.abspath(path) for path in found.seen}
    for each in built:
        for document in each.source.documents if not each.by_default else ():
            for node in document.root.walk() if document.root is not None else ():
                origin = each.find_origin(node)
                source = origin.at.source if origin is not None else None
                if not isinstance(source, Source) or id(source) in have:
                    continue
                have.add(id(source))
                path = os.path.abspath(source.path)
                if path in seen and path not in names:
                    names.add(path)
                    yield source


class _Marked(Collection[str]):
    """The absolute paths of files with a word of Karpenter's: those at hand, and others that are looked into."""

    def __init__(self, at_hand: Collection[str]) -> None:
        self._at_hand = at_hand
        self._known: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, str):
            return False
        if path not in self._known:
            self._known[path] = path in self._at_hand or _is_marked(path)
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._at_hand)

    def __len__(self) -> int:
        return len(self._at_hand)


def _is_marked(path: str) -> bool:
    try:
        data = read(path, _LARGEST)
    except (OSError, ValueError):
        return False
    return any(mark.encode() in data for mark in MARKS)
