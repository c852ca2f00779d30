"""Which releases of Karpenter and Kubernetes a repository runs, according to its files, and for which objects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial

from nodelint.files.file_kinds import is_readme
from nodelint.forms.registry import TABLE, FormRow
from nodelint.model.evidence import FOR_READERS, NO_RELEASE, NOT_KNOWN, OVERRIDDEN, About, Evidence
from nodelint.model.folders import SET_ASIDE
from nodelint.model.releases import OLDEST, Version, serves_v1
from nodelint.releases.deployers import Deployers, folders_of
from nodelint.text import Source

__all__ = ["Evidence", "Stated", "evidence_of", "folders_of"]

_FOR_READERS = (".md", ".mdx", ".markdown", ".txt")

_SET_ASIDE = SET_ASIDE | {"example", "examples", "fixtures", "sample", "samples", "testdata", "tests"}
"""Folders whose files do not run: the releases that they state concern only objects in the same folder.

A file with such a name, such as `sample.tfvars`, states nothing.
"""


_VARIABLE = r"`(?:\"?\$\{?)?(?:var\.)?[A-Za-z_]\w*\}?\"?`"
"""A description of evidence whose release is a single variable."""


class Stated:
    """All statements of releases in the files, with look-up by path."""

    def __init__(self, evidence: Iterable[Evidence], deployers: Deployers | None = None) -> None:
        unique: dict[tuple[About, str, int, str], Evidence] = {}
        for item in evidence:
            key = (item.about, item.path, item.line, item.version)
            if key not in unique or item.weight < unique[key].weight:
                unique[key] = item
        self.all = tuple(evidence for evidence in unique.values() if evidence.weight < NO_RELEASE)
        not_known = [evidence for evidence in unique.values() if evidence.weight == NOT_KNOWN]
        self._not_known = tuple(evidence for evidence in not_known if evidence.about == "karpenter")
        self.unknown_clusters = tuple(evidence for evidence in not_known if evidence.about == "kubernetes")
        """Statements of Kubernetes versions that are placeholders."""
        self._no_release = tuple(evidence for evidence in unique.values() if evidence.weight == NO_RELEASE)
        self._folders = {evidence: folders_of(evidence.path) for evidence in unique.values()}
        self._found: dict[tuple[About, str, Version | None], tuple[Evidence, ...]] = {}
        self._beside: dict[tuple[str, tuple[Evidence, ...]], tuple[Evidence, ...]] = {}
        self._roots: dict[tuple[str, ...], tuple[str, ...] | None] = {}
        self.deployers = deployers or Deployers()
        self._too_old: dict[Version | None, tuple[Evidence, ...]] = {}

    def __bool__(self) -> bool:
        """Return whether any statement was found, even of a version that Karpenter never had."""
        return bool(self.all or self._no_release or self._not_known)

    def in_folder(
        self, about: About, folder: str, least: Version | None, counts: Callable[[Evidence], bool]
    ) -> tuple[Evidence, ...]:
        """Return the statements in the files of a folder, and in what these deploy. `counts` says which count."""
        folders = tuple(folder.split(os.sep))
        found = [
            evidence
            for evidence in self._inside.get((about, folders), ())
            if evidence.installs and _is_served(evidence, least) and counts(evidence)
        ]
        return self._choose(found, len(folders), ()) if found else ()

    def nearest(
        self,
        about: About,
        paths: Sequence[str],
        least: Version | None,
        counts: Callable[[Evidence], bool],
        installed: Sequence[Evidence] = (),
    ) -> tuple[Evidence, ...]:
        """Return the statements that are nearest to one of some paths, of those that count.

        `installed` are statements of Karpenter releases: of equally near statements, those next to them count.
        """
        roots = [self._folders[evidence] for evidence in installed]
        found: dict[tuple[bool, int, int], tuple[Evidence, ...]] = {}
        for number, path in enumerate(paths):
            folders = folders_of(path)
            nearest = self._nearest(about, folders, least, counts, roots)
            if nearest:
                shared = _shared(folders, self._folders[nearest[0]])
                found[nearest[0].weight == FOR_READERS, -shared, number] = nearest
        return found[min(found)] if found else ()

    def for_path(self, about: About, path: str, least: Version | None = None) -> tuple[Evidence, ...]:
        """Return the statements that apply to a file, one for each release. Several are returned if they contradict
        each other.

        The statement with the deepest common folder counts, then the one with the better weight, then one in that
        folder itself. With `least`, statements of older Karpenter releases are ignored, for objects that no older
        release serves.
        """
        if path == "-":
            return ()
        key = (about, os.path.dirname(path), least)
        if key not in self._found:
            self._found[key] = self._nearest(about, folders_of(path), least)
        return self._found[key]

    def of_roots(self, about: About, roots: Sequence[str], least: Version | None = None) -> tuple[Evidence, ...]:
        """Return the statements in root modules of Terraform. A root is its folder, or the variable file of a
        rendering.

        The statements of a root apply to everything that it renders, wherever the files of its modules are.
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
        """Return at most one statement of a Karpenter release for a file that is nearer than the chosen ones but
        cannot apply.

        It states a version that Karpenter never had, or one older than `least`.
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
        """Return the statements of a version that Karpenter never had, or of one older than `least`."""
        if least not in self._too_old:
            old = (e for e in self.all if e.about == "karpenter" and not _is_served(e, least))
            self._too_old[least] = (*(e for e in self._no_release if e.about == "karpenter"), *old)
        return self._too_old[least]

    def find_not_known(
        self, path: str, chosen: Sequence[Evidence], counts: Callable[[Evidence], bool]
    ) -> Evidence | None:
        """Return the statement for a file whose release cannot be evaluated, if it counts there. None otherwise.

        It counts if only a README states a release, and if it is nearer than all other statements. A variable may
        have its value from files above, so it does not count if another statement gives a release.
        """
        known = [evidence for evidence in chosen if evidence.weight != FOR_READERS]
        folders = folders_of(path)
        least = max((_shared(folders, self._folders[evidence]) for evidence in known), default=-1)
        found = []
        for evidence in self._not_known if path != "-" else ():
            shared = self._shared(folders, evidence)
            if shared is None or shared <= least or (known and re.search(_VARIABLE, evidence.by)):
                continue
            if counts(evidence):
                found.append((-shared, evidence.path, evidence.line, evidence))
        return min(found)[-1] if found else None

    def is_of_root(self, evidence: Evidence, installed: Sequence[Evidence]) -> bool:
        """Return whether a statement is in the Terraform root that installs some Karpenter releases, or in none.

        A different root with its own Karpenter states the Kubernetes version of another cluster.
        """
        root = self._root(self._folders[evidence])
        return root is None or any(self._folders[other][: len(root)] == root for other in installed)

    def list_kubernetes_of_root(self, path: str) -> tuple[Evidence, ...]:
        """Return the Kubernetes statements of the Terraform root that installs the Karpenter used by a file."""
        installed = self.for_path("karpenter", path)
        if path == "-" or not installed:
            return self.for_path("kubernetes", path)
        key = (os.path.dirname(path), installed)
        if key not in self._beside:
            counts = partial(self.is_of_root, installed=installed)
            self._beside[key] = self.nearest("kubernetes", [path], None, counts, installed)
        return self._beside[key]

    def _root(self, folders: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the deepest folder above a file in which Karpenter is installed. None if there is none."""
        if folders not in self._roots:
            depths = range(len(folders), -1, -1)
            depth = next((d for d in depths if self._is_installed_at(folders, d)), None)
            self._roots[folders] = None if depth is None else folders[:depth]
        return self._roots[folders]

    def _is_installed_at(self, folders: tuple[str, ...], depth: int) -> bool:
        """Return whether a statement of a Karpenter release has exactly `depth` folders in common with a place."""
        return any(
            not self._says_nothing_about(evidence, depth) for evidence in self._list_at("karpenter", folders, depth)
        )

    def _shared(self, folders: tuple[str, ...], evidence: Evidence) -> int | None:
        """Return the number of folders that the path of a file and a statement have in common. None if the statement
        does not apply to the file.
        """
        shared = _shared(folders, self._folders[evidence])
        return None if self._says_nothing_about(evidence, shared) else shared

    def _says_nothing_about(self, evidence: Evidence, shared: int) -> bool:
        """Return whether a statement with `shared` folders in common does not apply to a place, because the rest of
        its path is in `_SET_ASIDE`.
        """
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
                    and not self._says_nothing_about(evidence, depth)
                    and (counts is None or counts(evidence))
                ]
                if found:
                    return self._choose(found, depth, roots)
        return ()

    def _choose(
        self, found: Sequence[Evidence], shared: int, roots: Sequence[tuple[str, ...]]
    ) -> tuple[Evidence, ...]:
        """Return the statements that count among those in equally near folders, one for each release: first by the
        number of folders in common with `roots`, then by weight.
        """
        ranked: dict[tuple[int, int, bool], list[Evidence]] = {}
        for evidence in found:
            theirs = self._folders[evidence]
            depth = max((_shared(theirs, root) for root in roots), default=0)
            ranked.setdefault((-depth, evidence.weight, len(theirs) > shared), []).append(evidence)
        return tuple({evidence.version: evidence for evidence in reversed(ranked[min(ranked)])}.values())[::-1]

    def _list_at(self, about: About, folders: tuple[str, ...], depth: int) -> Sequence[Evidence]:
        """Return the statements with exactly `depth` folders in common with a place, in the order in which they were
        found.
        """
        around = self._below.get((about, folders[:depth]), ())
        deeper = self._below.get((about, folders[: depth + 1]), ()) if depth < len(folders) else ()
        if not around or not deeper:
            return around
        nearer = set(map(id, deeper))
        return [evidence for evidence in around if id(evidence) not in nearer]

    @cached_property
    def _inside(self) -> dict[tuple[About, tuple[str, ...]], list[Evidence]]:
        """Return the statements by folder: that of their file, and those of the objects that deploy their file."""
        found: dict[tuple[About, tuple[str, ...]], list[Evidence]] = {}
        for evidence in self.all:
            deploying = (tuple(by.folder.split(os.sep)) for by in self.deployers.of_file(evidence.path))
            for folders in {self._folders[evidence], *deploying}:
                found.setdefault((evidence.about, folders), []).append(evidence)
        return found

    @cached_property
    def _below(self) -> dict[tuple[About, tuple[str, ...]], list[Evidence]]:
        """Return the statements below each folder."""
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


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def evidence_of(sources: Iterable[Source], deployers: Deployers | None = None) -> Stated:
    """Return the statements of releases in files. Statements that refer to others are resolved at the end.

    `deployers` are the objects that deploy the files of the repository.
    """
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
    return Stated([item for item in found if (item.about, item.place) not in overridden], deployers)
