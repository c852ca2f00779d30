"""Find objects that stay in the files, but that no Kustomization, Application or release applies any more, or with
other terms.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from fnmatch import fnmatch

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.lib.variable_inputs import may_be_script
from nodelint.forms.registry import TABLE
from nodelint.model.finding import Span
from nodelint.model.folders import path_below
from nodelint.model.gap import Gap
from nodelint.plan.matching import is_applied, is_same
from nodelint.plan.uncompared import uncompared
from nodelint.text import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

    from nodelint.model.manifest import Object
    from nodelint.plan.read_side import Read

_MOST_NAMED = 3
_UNIT = "terragrunt.hcl"
_LONGEST_SHOWN = 40
_KIND = re.compile(rb"(?m)^kind:[ \t]*[\"']?(?:Application|ApplicationSet|Kustomization|HelmRelease)\b")
_COMMAND = re.compile(rb"\bkubectl\b|\bkustomize[ \t]+build\b")
_OF_RELEASE = re.compile(r"\.Release\b|\binclude\b|\btpl\b")
_PLACEHOLDER = re.compile(r"\{\{[^{}\n]*\}\}")
_PATH = re.compile(r"\bpath[\"']?:[ \t]*[\"']?([^\s\"'{},]+)")
_Terms = tuple[tuple[str, str], ...]


class _Applier(NamedTuple):
    """An object or a kustomization that applies a folder or files: its name, and the path of the folder or file below
    the root.

    `terms`, `release_terms`, `deletes`, `is_suspended`, `keeps` and `skips` are those of `FolderUse`.
    """

    name: str
    place: str
    at: Span
    terms: _Terms = ()
    release_terms: _Terms = ()
    deletes: str = ""
    is_suspended: bool = False
    keeps: bool = False
    skips: Callable[[str], bool] | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.place

    @property
    def is_kustomization(self) -> bool:
        return os.path.basename(self.place) in TABLE.names

    @property
    def release(self) -> str:
        """Return the name of the release. Empty if it depends on the name of the applier."""
        return next((text for field, text in self.release_terms if field.endswith("releaseName")), "")

    def takes(self, places: _Places) -> bool:
        """Return whether the applier applies an object: its folder contains the object's files, or it is the object's
        outermost kustomization.
        """
        if self.is_kustomization:
            return (os.path.dirname(self.place) or os.curdir) == places.overlay
        if "{{" in self.place:
            parts = _PLACEHOLDER.split(f"{self.place}{os.sep}")
            return any(_begins_with(at, parts) for at in places.files)
        if self.place in places.files:
            return True
        return any(self.applies(path) for path in map(self.find_path, places.files) if path is not None)

    def find_path(self, path: str) -> str | None:
        """Return the path of a file below the folder of the applier. None if it is elsewhere."""
        if self.place == os.curdir:
            return path
        return path.removeprefix(f"{self.place}{os.sep}") if path.startswith(f"{self.place}{os.sep}") else None

    def applies(self, path: str) -> bool:
        """Return whether the applier does not leave out a file, by its path below the folder."""
        return self.skips is None or not self.skips(path.replace(os.sep, "/"))


def _begins_with(path: str, parts: Sequence[str]) -> bool:
    """Return whether a path begins with some texts, with at least one character for each placeholder between them."""
    if not path.startswith(parts[0]):
        return False
    end = len(parts[0])
    for part in parts[1:]:
        found = path.find(part, end + 1)
        if found < 0:
            return False
        end = found + len(part)
    return True


class _Places(NamedTuple):
    """The files from which an object is rendered, and the folder of the overlay that applies it.

    `is_of_release` is true if a value of the object may be the name or namespace of a Helm release.
    """

    files: frozenset[str]
    overlay: str | None
    is_of_release: bool
    object: Object


_Objects = dict[str, list[_Places]]
"""The files of all pools and classes, relative to the root, by kind and name."""


def find_gone_appliers(
    was: Read, new: Read, refused: Set[str] = frozenset(), deleted: Sequence[str] = ()
) -> Iterator[Gap]:
    """Yield the appliers that are removed or change, for objects on both sides: the cluster may lose these
    objects.

    `refused` are names of appliers, and folders, that a side refuses or cannot render, `deleted` kinds and names of
    objects that the plan deletes: the plan reports them already.
    """
    every = [list_appliers(side) if _may_apply(was) else [] for side in (was, new)]
    # An applier with a generator's file that cannot be read may apply other folders, and under other names.
    unknown = {applier.name for side in every for applier in side if _names_any(applier, refused)} | refused
    before, after = (
        [applier for applier in side if unknown.isdisjoint((applier.name, applier.place))] for side in every
    )
    if not before:
        return
    gone = _list_gone(before, after, (was.root, new.root))
    places = [list_places(side) for side in (was, new)]
    for label, count in Counter(deleted).items():
        if sum(any(map(applier.takes, places[0].get(label, ()))) for applier in gone) <= count:
            places = [{key: found for key, found in side.items() if key != label} for side in places]
    sides = (before, places[0]), (after, places[1])
    yield from _find_gone(gone, *sides)
    yield from _find_moved(gone, *sides)
    yield from _find_renamed(gone, *sides)
    yield from _find_changed(*sides)


def _names_any(applier: _Applier, files: Set[str]) -> bool:
    """Return whether the object of an applier names one of some files, also by a pattern."""
    text = applier.at.source.text[applier.at.start : applier.at.end]
    patterns = _PATH.findall(text) if files else ()
    return any(fnmatch(path.replace(os.sep, "/"), pattern) for pattern in patterns for path in files)


def _list_gone(before: Sequence[_Applier], after: Sequence[_Applier], roots: tuple[str, str]) -> list[_Applier]:
    """Return one removed applier for each name and folder that fewer appliers have on the new side.

    Each cluster may have one of the same name and folder in a file of its own.
    """
    left = Counter(applier.key for applier in before)
    left.subtract(Counter(applier.key for applier in after))
    there = {(applier.key, path_below(applier.at.source.path, roots[1])) for applier in after}
    gone: dict[tuple[str, str], _Applier] = {}
    for applier in before:
        is_there = (applier.key, path_below(applier.at.source.path, roots[0])) in there
        if left[applier.key] > 0 and not (is_there and applier.key in gone):
            gone[applier.key] = applier
    return list(gone.values())


_Side = tuple["list[_Applier]", _Objects]


def _find_gone(gone: Sequence[_Applier], old: _Side, new: _Side) -> Iterator[Gap]:
    keys = {applier.key for applier in old[0]}
    # A path that begins with a placeholder is not known, so it may or may not contain the objects that another
    # applier applied.
    come = [applier for applier in new[0] if applier.key not in keys and not applier.place.startswith("{{")]
    named: set[str] = set()
    for applier in gone:
        if applier.is_suspended or applier.keeps:
            continue  # nothing is deleted with it
        lost = [
            label
            for label, places in old[1].items()
            if label in new[1]
            and label not in named
            and any(map(applier.takes, places))
            # Only a new applier can replace the removed one: an old one applied its own objects already.
            and not any(other.takes(now) for other in come for now in new[1][label])
            and not (applier.is_kustomization and _is_applied_still(places, new[1][label], new[0]))
        ]
        if lost:
            named.update(lost)
            still = [other.key for other in new[0] if other.name == applier.name]
            what = f"it no longer applies `{applier.place}`" if still else "it is gone"
            what = f"one that applies `{applier.place}` is gone" if applier.key in still else what
            reason = (
                f"{what}: unless something else applies them, the cluster no longer gets {_join_labels(lost)},"
                " and their nodes may be deleted"
            )
            yield uncompared(applier.at, applier.name, reason, True)


def _find_moved(gone: Sequence[_Applier], old: _Side, new: _Side) -> Iterator[Gap]:
    """Yield the appliers that apply another folder on the new side, if objects of a name differ in the two folders.

    A folder that is only renamed is left out: its objects are compared.
    """
    keys = {applier.key for applier in old[0]}
    for applier in gone:
        come = [other for other in new[0] if other.name == applier.name and other.key not in keys]
        changed = []
        for label, places in old[1].items() if come else ():
            now = new[1].get(label, ())
            before = [place.object for place in places if applier.takes(place)]
            after = [place.object for place in now if any(other.takes(place) for other in come)]
            if any(map(is_applied, (*before, *after))):
                continue  # objects that a release renders are paired by their release
            is_compared = not any(map(applier.takes, now)) and not any(o.takes(p) for o in come for p in places)
            if after and not is_compared and not all(any(is_same(was, obj) for obj in after) for was in before):
                changed.append(label)
        if changed:
            place = " and ".join(f"`{other.place}`" for other in come)
            reason = (
                f"it applies {place} now, not `{applier.place}`: what the cluster gets of {_join_labels(changed)}"
            )
            yield uncompared(come[0].at, applier.name, f"{reason} changes, and is not compared", True)


def _find_renamed(gone: Sequence[_Applier], old: _Side, new: _Side) -> Iterator[Gap]:
    """Yield the removed appliers whose objects another one applies now, if they delete these objects, or if the
    objects take the name of their release.
    """
    names = {applier.name for applier in old[0]}
    come = [applier for applier in new[0] if applier.name not in names and not applier.is_kustomization]
    still = {applier.name for applier in new[0]}
    for applier in gone:
        if applier.name in still:
            continue
        if not applier.deletes:
            yield from _find_other_release(applier, come, old[1], new[1])
            continue
        taken = {
            label: other
            for label, places in old[1].items()
            if label in new[1] and any(map(applier.takes, places))
            for other in come
            if any(map(other.takes, new[1][label]))
        }
        if taken:
            other = next(iter(taken.values()))
            now = f"{applier.name} is gone, and {other.name} applies {_join_labels(list(taken))} now"
            reason = f"{now}. {applier.deletes}: they may be deleted with their nodes and created again"
            yield uncompared(other.at, other.name, reason, True)


def _find_other_release(
    applier: _Applier, come: Sequence[_Applier], before: _Objects, after: _Objects
) -> Iterator[Gap]:
    """Yield a removed applier if another one of the same chart gives the release of some objects a new name."""
    named = [
        label
        for label, places in before.items()
        if any(found.is_of_release for found in after.get(label, ())) and any(map(applier.takes, places))
    ]
    other = next((other for other in come if other.place == applier.place), None)
    if named and other is not None and not (applier.release == other.release != ""):
        reason = f"it was {applier.name}: what {_join_labels(named)} takes of the name of its release is not known"
        yield uncompared(other.at, other.name, reason, True)


def _find_changed(old: _Side, new: _Side) -> Iterator[Gap]:
    """Yield the appliers on both sides whose terms change, that are resumed, or whose folder has lost an object."""
    before, after = (_group(side[0]) for side in (old, new))
    named: set[str] = set()
    for key in before.keys() & after.keys():
        applier = after[key][0]
        counts = [_count_taken(before[key][0], old[1]), _count_taken(applier, new[1])]
        same = [label for label in counts[0] if len(old[1][label]) <= len(new[1].get(label, ()))]
        is_of_release = any(places.is_of_release for label in same for places in new[1][label])
        terms = _find_changed_term(before[key], after[key], is_of_release) if same else None
        if terms is not None and applier.name not in named:
            named.add(applier.name)
            reason = f"its {terms} changes: what the cluster gets of {_join_labels(same)} is not known"
            yield uncompared(applier.at, applier.name, reason, True)
        if same and before[key][0].is_suspended and not applier.is_suspended:
            reason = f"it is resumed: what has changed of {_join_labels(same)} since it was suspended is applied now"
            yield uncompared(applier.at, applier.name, reason, True)
        moved = [label for label in same if counts[1][label] < counts[0][label]]
        moved = [label for label in moved if not _has_more_appliers(label, applier, old, new)]
        if moved and not applier.is_kustomization and not applier.keeps:
            reason = (
                f"{_join_labels(moved)} moves out of the folder that it applies: unless something else applies"
                " it, the cluster no longer gets it, and its nodes may be deleted"
            )
            yield uncompared(applier.at, applier.name, reason, True)


def _has_more_appliers(label: str, applier: _Applier, old: _Side, new: _Side) -> bool:
    """Return whether appliers of other names apply an object on the new side, but not on the old one."""
    names = [
        {other.name for other in side[0] if other.key != applier.key and any(map(other.takes, side[1][label]))}
        for side in (old, new)
    ]
    return bool(names[1] - names[0]) or any(
        other.name == applier.name and other.key != applier.key and any(map(other.takes, new[1][label]))
        for other in new[0]
    )


def _group(appliers: Iterable[_Applier]) -> dict[tuple[str, str], list[_Applier]]:
    found: dict[tuple[str, str], list[_Applier]] = {}
    for applier in appliers:
        found.setdefault(applier.key, []).append(applier)
    return found


def _count_taken(applier: _Applier, objects: Mapping[str, Sequence[_Places]]) -> Counter[str]:
    """Return the number of objects of each kind and name that an applier applies."""
    counts = {label: sum(map(applier.takes, places)) for label, places in objects.items()}
    return Counter({label: count for label, count in counts.items() if count})


def _find_changed_term(old: Sequence[_Applier], new: Sequence[_Applier], is_of_release: bool) -> str | None:
    """Return a description of the first term that changes. None if no term changes."""
    before, after = (
        [applier.terms + (applier.release_terms if is_of_release else ()) for applier in side] for side in (old, new)
    )
    for terms in Counter(before) - Counter(after):
        nearest = max(after, key=lambda other: len(set(other) & set(terms)))
        for field in dict.fromkeys(name for name, _ in (*terms, *nearest)):
            was, now = ([text for name, text in side if name == field] for side in (terms, nearest))
            if was != now:
                return f"`{field}`{_show_move(', '.join(was), ', '.join(now))}"
    return None


def _show_move(was: str, now: str) -> str:
    shown = f" ({was or 'none'} -> {now or 'none'})"
    return shown if len(shown) <= _LONGEST_SHOWN else ""


def _join_labels(labels: Sequence[str]) -> str:
    ordered = sorted(labels, reverse=True)  # pools first
    more = [f"{len(ordered) - _MOST_NAMED} more"] if len(ordered) > _MOST_NAMED else []
    return ", ".join([*ordered[:_MOST_NAMED], *more])


def _is_applied_still(before: Sequence[_Places], after: Sequence[_Places], appliers: Iterable[_Applier]) -> bool:
    """Return whether another kustomization or a controller still applies an object of a removed kustomization."""
    overlays = [{places.overlay for places in side} - {None} for side in (before, after)]
    return bool(overlays[0] & overlays[1]) or any(
        any(map(applier.takes, after)) for applier in appliers if not applier.is_kustomization
    )


def _may_apply(side: Read) -> bool:
    """Return whether a file of a side may contain an applier. Most sides have none, and then no form is loaded."""
    names = {*TABLE.names, *(name for row in TABLE.rows if row.folders for name in row.heads)}
    for path in side.found.seen:
        if os.path.basename(path) in names or "helmfile" in path or path.endswith(_UNIT):
            return True
        try:
            if path.endswith((".yaml", ".yml")) and _KIND.search(gate.read_listed(path)):
                return True
        except OSError:
            continue
    return any(map(_may_command, (*side.found.glanced, *side.found.seen)))


def _may_command(path: str) -> bool:
    try:
        return may_be_script(path) and _COMMAND.search(gate.read_listed(path)) is not None
    except OSError:
        return False


def list_appliers(side: Read) -> list[_Applier]:
    """Return the appliers of a side: everything that applies its folders or files."""
    from nodelint.forms.lib.unread_inputs import UnreadInputs

    files = UnreadInputs(side.found.sources, side.found.seen, side.root)
    found = [
        _Applier(
            use.name,
            path_below(use.folder, side.root),
            show_place(side, use.at),
            use.terms,
            use.release_terms,
            use.deletes,
            use.is_suspended,
            use.keeps,
            use.skips,
        )
        for row in TABLE.rows
        for use in row.load().list_applied_folders(files)
    ]
    for path in sorted(side.found.seen):
        if os.path.basename(path) in TABLE.names:
            place = path_below(path, side.root)
            found.append(_Applier(place.replace(os.sep, "/"), place, show_place(side, Span(Source(path, ""), 0, 0))))
    return found


def list_left_out(side: Read) -> frozenset[int]:
    """Return the ids of the objects in files that an applier of their folder leaves out, if nothing else applies
    them.
    """
    appliers = list_appliers(side) if _may_apply(side) else []
    if not any(applier.skips for applier in appliers):
        return frozenset()
    return frozenset(
        id(place.object)
        for places in list_places(side).values()
        for place in places
        if any(applier.skips and any(map(applier.find_path, place.files)) for applier in appliers)
        and not any(applier.takes(place) for applier in appliers)
    )


def show_place(side: Read, at: Span) -> Span:
    """Return a place with its path in the repository, instead of that in the temporary folder of a revision."""
    if side.above is None:
        return at
    path = os.path.join(side.above, path_below(at.source.path, side.root))
    return Span(Source(os.path.relpath(path).replace(os.sep, "/"), at.source.text), at.start, at.end)


def list_places(side: Read) -> _Objects:
    """Return the files of a side's pools and classes, by kind and name."""
    found: _Objects = {}
    for obj in side.inventory.objects():
        built = obj.source.built
        name = obj.name if isinstance(obj.name, str) else obj.name_node.unquoted
        paths = [obj.source.path, *(built.parts if built is not None else ())]
        overlay = path_below(built.cluster, side.root) if built is not None else None
        spec = obj.node.get("spec")
        code = obj.source.text[spec.start : spec.end] if spec is not None else ""
        is_of_release = _OF_RELEASE.search(code) is not None
        places = _Places(frozenset(path_below(path, side.root) for path in paths), overlay, is_of_release, obj)
        found.setdefault(f"{obj.kind} {name}", []).append(places)
    return found
