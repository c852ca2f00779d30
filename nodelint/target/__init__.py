"""Which releases of Karpenter and Kubernetes a repository runs, as its files state it, and for which objects."""

from __future__ import annotations

import os
from collections.abc import Iterable

from nodelint.model.releases import Version
from nodelint.source import Source, reading
from nodelint.source.reading import repository
from nodelint.target.evidence import About, Evidence

__all__ = ["Evidence", "Stated", "evidence_of"]

_LARGEST = 4 << 20
"""Bytes of a file; those that state a release are small."""

_YAML = (".yaml", ".yml", ".json", ".gotmpl", ".tpl", ".tmpl", ".j2", ".lock")
_FOR_READERS = (".md", ".mdx", ".markdown", ".txt")
_HCL = (".tf", ".tofu", ".tfvars", ".hcl")

_SET_ASIDE = frozenset(
    {
        *(
            "archive",
            "archived",
            "archives",
            "attic",
            "backup",
            "backups",
            "bak",
            "deprecated",
            "disabled",
            "example",
        ),
        *("examples", "fixtures", "legacy", "obsolete", "old", "sample", "samples", "testdata", "tests"),
    }
)
"""Folders that are no part of what runs: what they state is about what they hold, and nothing else. A file of such
a name, `sample.tfvars` say, states nothing.
"""


class Stated:
    """All that was found, asked by path."""

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        unique: dict[tuple[About, str, int, str], Evidence] = {}
        for each in evidence:
            key = (each.about, each.path, each.line, each.version)
            if key not in unique or each.weight < unique[key].weight:
                unique[key] = each
        self.all: tuple[Evidence, ...] = tuple(unique.values())
        self._folders = {each: _folders(each.path) for each in self.all}
        self._found: dict[tuple[About, str, Version | None], tuple[Evidence, ...]] = {}

    def for_path(self, about: About, path: str, least: Version | None = None) -> tuple[Evidence, ...]:
        """The evidence for what a file holds, one piece for each release; several where they disagree.

        The folder that both lie below decides, the deepest first; then what the evidence weighs; then whether
        it lies in that very folder, and not beside the object's. `least` leaves out what is about older releases of
        Karpenter, for objects that none of them serves.
        """
        if path == "-":
            return ()
        key = (about, os.path.dirname(path), least)
        if key not in self._found:
            self._found[key] = self._nearest(about, _folders(path), least)
        return self._found[key]

    def _nearest(self, about: About, folders: tuple[str, ...], least: Version | None) -> tuple[Evidence, ...]:
        ranked: dict[tuple[int, int, bool], list[Evidence]] = {}
        for each in self.all:
            if each.about != about or (least is not None and each.karpenter < least):
                continue
            theirs = self._folders[each]
            shared = _shared(folders, theirs)
            beyond = theirs[shared:]
            name = os.path.basename(each.path).partition(".")[0]
            if not _SET_ASIDE.intersection(part.lower().lstrip("0123456789.-_") for part in (*beyond, name)):
                ranked.setdefault((-shared, each.weight, bool(beyond)), []).append(each)
        best = ranked[min(ranked)] if ranked else []
        return tuple({each.version: each for each in reversed(best)}.values())[::-1]


def _folders(path: str) -> tuple[str, ...]:
    return tuple(os.path.dirname(os.path.abspath(path)).split(os.sep))


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def evidence_of(sources: Iterable[Source]) -> Stated:
    """What files state. Variables and locals of Terraform are looked up in the folders of those that use them."""
    found: list[Evidence] = []
    references = []
    texts: dict[str, str] = {}
    for source in sources:
        if source.path.endswith(_HCL):
            from nodelint.target.terraform import Module

            module = Module(source.path, source.text)
            texts[source.path] = source.text
            found += module.evidence
            references += module.references
        elif source.path.endswith(_YAML):
            from nodelint.target import charts

            found += charts.evidence(source)
        if source.path.endswith(_FOR_READERS):
            continue
        from nodelint.target import lines

        found += lines.evidence(source.path, source.text)
    if references:
        from nodelint.target.terraform import resolved

        found += resolved(references, lambda path: texts.get(path) or _text(path))
    return Stated(found)


def _text(path: str) -> str | None:
    try:
        top = repository(os.path.dirname(os.path.abspath(path)))
        return reading.read(path, _LARGEST, within=top).decode("utf-8", "replace")
    except OSError:
        return None
