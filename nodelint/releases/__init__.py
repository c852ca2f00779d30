"""Which releases of Karpenter and Kubernetes a repository runs, as its files state it, and for which objects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from nodelint.files.file_kinds import is_readme
from nodelint.forms.registry import TABLE, FormRow
from nodelint.model.evidence import FOR_READERS, NO_RELEASE, NOT_KNOWN, OVERRIDDEN, About, Evidence
from nodelint.model.releases import OLDEST, Version, serves_v1
from nodelint.text import Source

__all__ = ["Evidence", "Stated", "evidence_of"]

_FOR_READERS = (".md", ".mdx", ".markdown", ".txt")

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


_VARIABLE = r"`(?:\"?\$\{?)?(?:var\.)?[A-Za-z_]\w*\}?\"?`"
"""A release that one variable states."""


class Stated:
    """All statements of releases that were found in the files, asked for by path."""

    def __init__(self, evidence: Iterable[Evidence]) -> None:
        unique: dict[tuple[About, str, int, str], Evidence] = {}
        for item in evidence:
            key = (item.about, item.path, item.line, item.version)
            if key not in unique or item.weight < unique[key].weight:
                unique[key] = item
        self.all = tuple(evidence for evidence in unique.values() if evidence.weight < NO_RELEASE)
        self._not_known = tuple(evidence for evidence in unique.values() if evidence.weight == NOT_KNOWN)
        self._no_release = tuple(evidence for evidence in unique.values() if evidence.weight == NO_RELEASE)
        self._folders = {evidence: folders_of(evidence.path) for evidence in unique.values()}
        self._found: dict[tuple[About, str, Version | None], tuple[Evidence, ...]] = {}
        self._beside: dict[tuple[str, tuple[Evidence, ...]], tuple[Evidence, ...]] = {}
        self._roots: dict[tuple[str, ...], tuple[str, ...] | None] = {}
        self._too_old: dict[Version | None, tuple[Evidence, ...]] = {}

    def __bool__(self) -> bool:
        """Whether anything was found, be it what cannot be a release of Karpenter."""
        return bool(self.all or self._no_release or self._not_known)

    def for_path(self, about: About, path: str, least: Version | None = None) -> tuple[Evidence, ...]:
        """Return the evidence for what a file holds, one piece for each release; several where they disagree.

        The folder that both lie below decides, the deepest first; then what the evidence weighs; then whether it lies
        in that very folder, and not next to the object's. `least` leaves out what is about older releases of
        Karpenter, for objects that none of them serves.
        """
        if path == "-":
            return ()
        key = (about, os.path.dirname(path), least)
        if key not in self._found:
            self._found[key] = self._nearest(about, folders_of(path), least)
        return self._found[key]

    def of_roots(self, about: About, roots: Sequence[str], least: Version | None = None) -> tuple[Evidence, ...]:
        """Return what root modules of Terraform themselves state: each by its folder, or the variable file of a
        build.

        What a root states is about what it builds, wherever the files of its modules are.
        """
        found: dict[str, Evidence] = {}
        for root in roots:

            def is_own(evidence: Evidence, root: str = root) -> bool:
                path = os.path.abspath(evidence.path)
                return root in (path, os.path.dirname(path))

            for evidence in self._nearest(about, folders_of(os.path.join(root, "")), least, is_own):
                found.setdefault(evidence.version, evidence)
        return tuple(found.values())

    def passed_over(self, path: str, least: Version | None, chosen: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """Return what states a release of Karpenter for what a file holds, nearer than what was chosen, and cannot be
        it.

        That is a version that Karpenter never had, and one that is older than `least`.
        """
        if path == "-":
            return ()
        least_shared = max((_shared(folders_of(path), self._folders[evidence]) for evidence in chosen), default=0)
        found = []
        for evidence in self._refused(least):
            if evidence.weight != FOR_READERS:
                shared = self._shared(folders_of(path), evidence)
                if shared is not None and (not chosen or shared > least_shared):
                    found.append((-shared, evidence.place, evidence))
        return tuple(evidence for *_, evidence in sorted(found)[:1])

    def _refused(self, least: Version | None) -> Sequence[Evidence]:
        """Return what states a version that Karpenter never had, or one that is older than `least`."""
        if least not in self._too_old:
            old = (e for e in self.all if e.about == "karpenter" and not _is_served(e, least))
            self._too_old[least] = (*(e for e in self._no_release if e.about == "karpenter"), *old)
        return self._too_old[least]

    def find_not_known(self, path: str, chosen: Sequence[Evidence]) -> Evidence | None:
        """Return what states a release for what a file holds that cannot be worked out, if that counts there.

        It counts where nothing else states a release but a README, and where it is nearer than all that does. A
        variable may have its value from what lies above, so that it does not count if another release is known.
        """
        known = [evidence for evidence in chosen if evidence.weight != FOR_READERS]
        folders = folders_of(path)
        least = max((_shared(folders, self._folders[evidence]) for evidence in known), default=-1)
        found = []
        for evidence in self._not_known if path != "-" else ():
            shared = self._shared(folders, evidence)
            if shared is not None and shared > least and not (known and re.search(_VARIABLE, evidence.by)):
                found.append((-shared, evidence.path, evidence.line, evidence))
        return min(found)[-1] if found else None

    def kubernetes_beside(self, path: str, karpenter: Evidence | None) -> tuple[Evidence, ...]:
        """Return the Kubernetes statements of the Terraform root that installs the Karpenter used by this file.

        `karpenter` is the evidence that decides there, None if something else does. Another root with a Karpenter of
        its own states the version of another cluster; so does one next to that root, where the root states its own.
        """
        installed = (karpenter,) if karpenter is not None else self.for_path("karpenter", path)
        if path == "-" or not installed:
            return self.for_path("kubernetes", path)
        key = (os.path.dirname(path), installed)
        if key not in self._beside:
            own = [self._folders[evidence] for evidence in installed]

            def same_root(evidence: Evidence) -> bool:
                root = self._root(self._folders[evidence])
                return root is None or any(folders[: len(root)] == root for folders in own)

            self._beside[key] = self._nearest("kubernetes", folders_of(path), None, same_root, own)
        return self._beside[key]

    def _root(self, folders: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the deepest folder around a place in which Karpenter is installed; None if it is nowhere."""
        if folders not in self._roots:
            depths = range(len(folders), -1, -1)
            depth = next((d for d in depths if self._is_installed_at(folders, d)), None)
            self._roots[folders] = None if depth is None else folders[:depth]
        return self._roots[folders]

    def _is_installed_at(self, folders: tuple[str, ...], depth: int) -> bool:
        """Whether a release of Karpenter is stated that shares just so many folders with a place."""
        return any(not self._is_set_aside(evidence, depth) for evidence in self._list_at("karpenter", folders, depth))

    def _shared(self, folders: tuple[str, ...], evidence: Evidence) -> int | None:
        """Return how many folders a place and a piece of evidence share; None if it says nothing about the place."""
        shared = _shared(folders, self._folders[evidence])
        return None if self._is_set_aside(evidence, shared) else shared

    def _is_set_aside(self, evidence: Evidence, shared: int) -> bool:
        """Whether evidence says nothing about a place with which it shares so many folders."""
        name = os.path.basename(evidence.path).partition(".")[0]
        parts = (part.lower().lstrip("0123456789.-_") for part in (*self._folders[evidence][shared:], name))
        return bool(_SET_ASIDE.intersection(parts))

    def _nearest(
        self,
        about: About,
        folders: tuple[str, ...],
        least: Version | None,
        counts: Callable[[Evidence], bool] | None = None,
        roots: Sequence[tuple[str, ...]] = (),
    ) -> tuple[Evidence, ...]:
        for is_for_readers in (False, True):
            for depth in range(len(folders), -1, -1):
                found = [
                    evidence
                    for evidence in self._list_at(about, folders, depth)
                    if (evidence.weight == FOR_READERS) is is_for_readers
                    and _is_served(evidence, least)
                    and not self._is_set_aside(evidence, depth)
                    and (counts is None or counts(evidence))
                ]
                if found:
                    return self._choose(found, depth, roots)
        return ()

    def _choose(
        self, found: Sequence[Evidence], shared: int, roots: Sequence[tuple[str, ...]]
    ) -> tuple[Evidence, ...]:
        """Return what counts most of the evidence that shares as many folders with a place, each release once."""
        ranked: dict[tuple[int, int, bool], list[Evidence]] = {}
        for evidence in found:
            theirs = self._folders[evidence]
            depth = max((_shared(theirs, root) for root in roots), default=0)
            ranked.setdefault((-depth, evidence.weight, len(theirs) > shared), []).append(evidence)
        return tuple({evidence.version: evidence for evidence in reversed(ranked[min(ranked)])}.values())[::-1]

    def _list_at(self, about: About, folders: tuple[str, ...], depth: int) -> Sequence[Evidence]:
        """Return the evidence that shares just so many folders with a place, in the order in which it was found."""
        around = self._below.get((about, folders[:depth]), ())
        deeper = self._below.get((about, folders[: depth + 1]), ()) if depth < len(folders) else ()
        if not around or not deeper:
            return around
        nearer = set(map(id, deeper))
        return [evidence for evidence in around if id(evidence) not in nearer]

    @cached_property
    def _below(self) -> dict[tuple[About, tuple[str, ...]], list[Evidence]]:
        """Return the evidence below each folder."""
        found: dict[tuple[About, tuple[str, ...]], list[Evidence]] = {}
        for evidence in self.all:
            theirs = self._folders[evidence]
            for depth in range(len(theirs) + 1):
                found.setdefault((evidence.about, theirs[:depth]), []).append(evidence)
        return found


def _is_served(evidence: Evidence, least: Version | None) -> bool:
    """Return whether a release serves an API that `least` was the first release to store.

    The last patches of 0.33 to 0.37 serve v1 as well, which they convert to v1beta1.
    """
    return least is None or evidence.karpenter >= least or (least == OLDEST and serves_v1(evidence.karpenter))


def folders_of(path: str) -> tuple[str, ...]:
    """Return the folders around a file, from the root of the file system on."""
    return tuple(os.path.dirname(os.path.abspath(path)).split(os.sep))


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def evidence_of(sources: Iterable[Source]) -> Stated:
    """Return what files state. A statement that refers to others is resolved when all are known."""
    sources = list(sources)
    found: list[Evidence] = []
    references: dict[FormRow, list[object]] = {}
    for source in sources:
        row = TABLE.stating_form(source.path) or TABLE.form_of_texts(source.path)
        if row is not None:
            found += row.load().state_releases(source, references.setdefault(row, []))
        from nodelint.releases import scripts

        if is_readme(source.path):
            found += scripts.readme_evidence(source.path, source.text)
        elif not source.path.endswith(_FOR_READERS):
            found += scripts.evidence(source.path, source.text)
    for row, found_references in references.items():
        found += row.load().resolve_releases(sources, found_references, found)
    overridden = {(item.about, item.place) for item in found if item.weight == OVERRIDDEN}
    return Stated([item for item in found if (item.about, item.place) not in overridden])
