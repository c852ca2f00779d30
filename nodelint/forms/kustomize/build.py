"""Render kustomize overlays from the files of a repository: the objects, and the position of each value.

An overlay for which kustomize must fetch or run something is reported and not rendered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from nodelint.base.budget import BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.files.gate import OUTSIDE, gate
from nodelint.forms.kustomize.configuration import OF_NO_NODES, Kustomization, read_kustomization
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.files import Files, is_wanted
from nodelint.forms.kustomize.overlay import Overlay
from nodelint.forms.kustomize.text import PrintedObjects, differing, is_printed, is_value_of, print_objects
from nodelint.forms.kustomize.values import YamlTree
from nodelint.forms.rendered import Built, LostItems, UnmatchedPatch, ValueOrigin, show_folder
from nodelint.model.finding import Also, Span
from nodelint.model.gap import Gap, line_of
from nodelint.text import Node, Source
from nodelint.text.limits import BROKE_DOWN, note_fault, note_limit

_MOST_FOLDERS = 2000
"""The most kustomizations that one overlay may include."""
_ENVIRONMENTS = frozenset(
    {
        *("prod", "prd", "production", "live", "preprod", "stage", "staging", "stg", "uat", "qa"),
        *("test", "testing", "tst", "int", "integration", "dev", "development", "sandbox", "demo"),
    }
)
"""Names of folders with the overlay of one environment."""


class BuiltOverlay(NamedTuple):
    """A rendered overlay, with effects of its patches that may not be intended.

    - `lost`: list items that a patch removes.
    - `unmatched`: patches without a target.
    """

    built: Built
    lost: tuple[LostItems, ...]
    unmatched: tuple[UnmatchedPatch, ...]


Outcome = BuiltOverlay | Gap


def build_overlays(
    kustomizations: Iterable[str],
    at_hand: Mapping[str, Source] | None = None,
    of_karpenter: Collection[str] | None = None,
    workloads: Collection[str] | None = None,
    list_applied: Callable[[], Collection[str]] = tuple,
) -> list[Outcome]:
    """Render the overlays that concern Karpenter and that no other overlay includes, or that are applied themselves.

    - `at_hand`: sources that were already read, by absolute path. Origins are nodes of these.
    - `of_karpenter`: the absolute paths of all files that mention Karpenter. If None, the files are searched.
    - `workloads`: the absolute paths of files with workloads that are also read.
    - `list_applied`: returns the absolute paths of the folders that an object or a command applies.
    """
    files = Files(at_hand or {})
    graph = _Graph(files)
    for path in kustomizations:
        graph.add(os.path.dirname(os.path.abspath(path)))
    tops = graph.find_tops()
    tops += graph.find_applied(tops, of_karpenter, list_applied)
    concerned = [folder for folder in tops if graph.concerns_karpenter(folder, of_karpenter)]
    found = [build_overlay(files, folder) for folder in concerned]
    graph.note_outside([folder for folder in tops if folder not in concerned])
    if workloads is not None:
        more = [folder for folder in tops if folder not in concerned]
        more = [folder for folder in more if graph.concerns_karpenter(folder, workloads)]
        found += [_with_workloads_alone(build_overlay(files, folder)) for folder in more]
    return found


def _with_workloads_alone(outcome: Outcome) -> Outcome:
    """Return the outcome for an overlay without Karpenter objects: its workloads stay, problems are not reported."""
    if isinstance(outcome, Gap):
        return outcome._replace(fails=False, decides=False)
    built = outcome.built._replace(problems=(), lost=(), unmatched=())
    return outcome._replace(built=built, lost=(), unmatched=())


def build_overlay(files: Files, folder: str) -> Outcome:
    """Render the overlay of a folder (an absolute path)."""
    return make_outcome(Overlay(files, folder))


def make_outcome(overlay: Overlay) -> Outcome:
    """Return the rendered text of an overlay, or a gap with the reason why it is not rendered."""
    files, folder = overlay.files, overlay.folder
    shown = show_folder(folder)
    try:
        values, also = _build_for_karpenter(overlay)
        printed = print_objects(values, shown, also)
        _check(printed)
    except BuildError as error:
        return _describe_failure(overlay, shown, error)
    except BudgetSpent as limit:
        return _describe_failure(overlay, shown, BuildError(None, str(limit), fails=False))
    except Exception as error:  # an internal error for one overlay must not prevent the others
        note_fault(shown, error)
        return _describe_failure(overlay, shown, BuildError(None, BROKE_DOWN, fails=False))
    own = next(iter(overlay.parts))
    built = Built(
        source=printed.source,
        find_origin=_Origins(printed, files.read(own)).find,
        parts=tuple(overlay.parts),
        replaces=tuple(overlay.parts),
        cluster=folder,
        label=shown,
        problems=tuple(
            Gap(line_of(at), "overlay", f"built without {what}", what not in OF_NO_NODES)
            for at, what in overlay.notes
        ),
        lost=tuple(overlay.lost),
        unmatched=tuple(overlay.unmatched),
        # The folder depends on the controller's object, whose fields were already read.
        comes_to=partial(_comes_to, overlay) if type(overlay) is Overlay else None,
    )
    return BuiltOverlay(built, tuple(overlay.lost), tuple(overlay.unmatched))


def _build_for_karpenter(overlay: Overlay) -> tuple[list[YamlTree], str | None]:
    """Render the overlay. Return its objects that come from files naming Karpenter, and a pattern.

    The pattern finds the extra keywords of these files. It is None if no file has extra keywords. Raise `BuildError`
    if the overlay cannot be rendered.
    """
    overlay.build()
    concerned_resources = [resource for resource in overlay.resources if resource.is_of_karpenter]
    patterns = dict.fromkeys(resource.home.also for resource in concerned_resources if resource.home.also is not None)
    return [resource.value for resource in concerned_resources], "|".join(patterns) or None


def _comes_to(overlay: Overlay, sources: Mapping[str, Source], text: Source) -> bool:
    """Return whether an overlay gives the objects of a text if some files (by absolute path) have other sources."""
    try:
        values, also = _build_for_karpenter(
            Overlay(overlay.files.with_sources(sources), overlay.folder, overlay.home)
        )
    except BuildError:
        return False
    found = [value for value in values if is_printed(value, also)]
    roots = [document.root for document in text.documents if document.host is None and document.root is not None]
    return len(roots) == len(found) and all(map(is_value_of, roots, found))


def _check(printed: PrintedObjects) -> None:
    """Raise `BuildError` if the printed text does not represent the objects exactly."""
    source = printed.source
    roots = [document.root for document in source.documents if document.host is None]
    if len(roots) != len(printed.objects) or None in roots:
        raise BuildError(None, "what it comes to cannot be written as YAML", fails=False)
    for root, value in zip(roots, printed.objects, strict=True):
        wrong = next(differing(root, value), None) if root is not None else None
        if wrong is not None:
            raise BuildError(wrong[1].at, "a value of it cannot be written as YAML", fails=False)


def _describe_failure(overlay: Overlay, shown: str, error: BuildError) -> Gap:
    at: Node | Span | None = error.at
    if at is None and overlay.parts:
        at = Span(overlay.files.read(next(iter(overlay.parts))), 0, 0)
    if at is None:
        at = Span(Source(shown, ""), 0, 0)
    return Gap(at, "overlay", error.reason, fails=error.fails, subject=overlay.folder)


class _Origins:
    """The source map of a rendered overlay. `own` is the overlay's kustomization."""

    def __init__(self, printed: PrintedObjects, own: Source) -> None:
        self._printed = printed
        self._own = own

    def find(self, at: Node | Span) -> ValueOrigin | None:
        """Return the place of a value. If no file contains it, return the place of the value around it."""
        node: Node | None = at if isinstance(at, Node) else self._deepest(at)
        exact = True
        while node is not None:
            place = self._printed.places.get(id(node))
            if place is not None and place.at is not None:
                found: Node | Span = place.at
                if isinstance(at, Span) and (at.start, at.end) != (node.start, node.end):
                    found, exact = _within(at, node, place.at) if place.exact else found, False
                return ValueOrigin(found, exact and place.exact, self._through(found))
            node, exact = node.parent, False
        return ValueOrigin(Span(self._own, 0, 0), False)

    def _through(self, found: Node | Span) -> tuple[Also, ...]:
        if found.source is self._own:
            return ()
        return (Also(Span(self._own, 0, 0), "in what this overlay builds"),)

    def _deepest(self, span: Span) -> Node | None:
        best = None
        for document in self._printed.source.documents:
            if document.root is None or not document.start <= span.start < max(document.end, document.start + 1):
                continue
            for node in document.root.walk():
                if node.start <= span.start and span.end <= node.end and not node.shared:
                    best = node
        return best


def _within(span: Span, node: Node, written: Node) -> Node | Span:
    """Return the characters in a file for a range of a multi-line text. If unsure, return the whole node."""
    if node.style not in ("literal", "folded") or written.style != "literal":
        return written
    text = node.source.text
    line = text.count("\n", node.start, span.start)
    lines = written.text.split("\n")
    begin = text.rfind("\n", node.start, span.start) + 1
    end = text.find("\n", span.start)
    here = text[begin : end if end >= 0 else len(text)]
    if not line or line >= len(lines) or lines[line].strip() != here.strip() or "\n" in text[span.start : span.end]:
        return written
    start = written.start + sum(len(text_line) + 1 for text_line in lines[:line])
    shift = (len(lines[line]) - len(lines[line].lstrip())) - (len(here) - len(here.lstrip()))
    return Span(written.source, start + span.start - begin + shift, start + span.end - begin + shift)


class _Graph:
    """A graph of which kustomizations include which, and their files."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._below: dict[str, tuple[list[str], list[str]]] = {}
        self._components: set[str] = set()
        self._asked: dict[str, None] = {}

    def add(self, folder: str) -> None:
        """Add the overlay of a folder to the requested overlays."""
        if self._read(folder) is not None:
            self._asked.setdefault(folder)

    def find_tops(self) -> list[str]:
        """Return the requested folders that no other overlay includes, except Components.

        If folders include each other, return one of them.
        """
        inner = {below for folder in list(self._below) for below in self._below[folder][0]}
        requested = [folder for folder in self._asked if folder not in self._components]
        tops = [folder for folder in requested if folder not in inner]
        reached = {below for folder in tops for below in self._reach(folder)}
        for folder in requested:
            if folder not in reached:
                tops.append(folder)
                reached |= self._reach(folder)
        return tops

    def find_applied(
        self,
        tops: Collection[str],
        of_karpenter: Collection[str] | None,
        list_applied: Callable[[], Collection[str]],
    ) -> list[str]:
        """Return the requested folders about Karpenter that other overlays include, and that are applied themselves.

        An environment that another one includes is applied: `stage` on `prod`. One that only its parts include may be
        their base: `prod-eu` on `prod`.
        """
        inner = [folder for folder in self._asked if folder not in tops and folder not in self._components]
        inner = [folder for folder in inner if self.concerns_karpenter(folder, of_karpenter)]
        applied = frozenset(list_applied()) if inner else frozenset()
        return [folder for folder in inner if folder in applied or self._is_environment(folder)]

    def _is_environment(self, folder: str) -> bool:
        """Return whether a folder has the name of an environment, and the overlay of another one includes it."""
        around, name = os.path.split(folder)
        users = (os.path.split(user) for user, (below, _) in self._below.items() if folder in below)
        return name in _ENVIRONMENTS and any(place == around and user in _ENVIRONMENTS for place, user in users)

    def _reach(self, folder: str) -> set[str]:
        """Return a folder and all folders that it includes."""
        pending, seen = [folder], {folder}
        while pending and len(seen) < _MOST_FOLDERS:
            found = self._read(pending.pop())
            fresh = [below for below in (found[0] if found is not None else []) if below not in seen]
            seen |= set(fresh)
            pending += fresh
        if pending:
            note_limit(folder, _MOST_FOLDERS, "kustomizations that take in each other", 0)
        return seen

    def concerns_karpenter(self, folder: str, of_karpenter: Collection[str] | None) -> bool:
        """Return whether a file of an overlay mentions Karpenter."""
        for directory in sorted(self._reach(folder)):
            found = self._read(directory)
            paths = found[1] if found is not None else []
            if any(
                path in of_karpenter if of_karpenter is not None else self._is_of_karpenter(path) for path in paths
            ):
                return True
        return False

    def note_outside(self, folders: Iterable[str]) -> None:
        """Record gaps for files outside of the repository that overlays include: these may hold Karpenter objects."""
        for directory in dict.fromkeys(below for folder in folders for below in sorted(self._reach(folder))):
            try:
                kustomization = read_kustomization(self._files, directory)
            except (OSError, BuildError):
                continue  # reported where the overlay is rendered
            for path, at in kustomization.taken() if kustomization is not None else ():
                whole = os.path.normpath(os.path.join(directory, path))
                if at is not None and "://" not in path and gate.refusal(whole) == OUTSIDE:
                    gate.notes_refusal(whole, path, at.source, at.start)

    def _is_of_karpenter(self, path: str) -> bool:
        try:
            source = self._files.read(path)
        except OSError:
            return False
        return is_wanted(source.text, source.also)

    def _read(self, folder: str) -> tuple[list[str], list[str]] | None:
        """Return the folders and the files that a kustomization names. None if it cannot be read."""
        if folder in self._below:
            return self._below[folder]
        try:
            kustomization = read_kustomization(self._files, folder)
        except OSError:
            return None
        except BuildError:
            path = self._files.find_kustomization(folder)
            self._below[folder] = ([], [path] if path is not None else [])
            return self._below[folder]
        if kustomization is None:
            return None
        if kustomization.is_component:
            self._components.add(folder)
        self._below[folder] = _list_parts(self._files, kustomization)
        for below in self._below[folder][0]:
            self._read(below)
        return self._below[folder]


def _list_parts(files: Files, kustomization: Kustomization) -> tuple[list[str], list[str]]:
    named = [path for path, _ in (*kustomization.taken(), *kustomization.texts("components"))]
    for field in ("patches", "patchesJson6902", "replacements"):
        named += [item.text("path") for item in kustomization.items(field) if item.text("path")]
    named += [text for text, _ in kustomization.texts("patchesStrategicMerge") if "\n" not in text]
    paths = [os.path.normpath(os.path.join(kustomization.folder, name)) for name in named if "://" not in name]
    folders = [path for path in paths if files.is_folder(path)]
    return folders, [kustomization.path, *(path for path in paths if files.is_file(path))]


__all__ = [
    "BuiltOverlay",
    "LostItems",
    "Outcome",
    "UnmatchedPatch",
    "build_overlay",
    "build_overlays",
]
