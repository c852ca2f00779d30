"""The effect of a Karpenter upgrade on manifests.

The package has rows of changes (`changes`) with conditions that find the affected places (`conditions`), settings of
the controller (`settings`), the differences between the findings of `check` in both releases (`findings`), and the
route (`route`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.inventory import Inventory
from nodelint.lint.engine import LintRequest, Target
from nodelint.model.documents import objects
from nodelint.model.finding import SEVERITIES, Severity, Span, written_place
from nodelint.model.manifest import Object
from nodelint.model.releases import OLDEST, RELEASES, Version
from nodelint.rule.context import Context
from nodelint.text import Node
from nodelint.upgrade.changes import Drift, ReleaseChange, When, met
from nodelint.upgrade.conditions import Matcher
from nodelint.upgrade.findings import FindingChange, Runs
from nodelint.upgrade.resources import Location
from nodelint.upgrade.route import Route, route
from nodelint.upgrade.settings import ControllerSettings, SettingChange

__all__ = ["Drift", "FindingChange", "Location", "Note", "Upgrade", "When", "upgrade"]


class Note(NamedTuple):
    """A change that is reported: its places, and the findings of `check` with the same meaning.

    `release` is None for a change that is not released yet. `places` is empty if the change concerns every cluster.
    """

    change: ReleaseChange
    release: Version | None
    places: tuple[Location, ...]
    findings: tuple[FindingChange, ...] = ()

    @property
    def change_time(self) -> When | None:
        return self.change.when

    @property
    def severity(self) -> Severity:
        return self.change.level


class Upgrade(NamedTuple):
    """The report about an upgrade. `unseen` are changes that no manifest can show, with their releases."""

    old: Target
    new: Target
    objects: tuple[Object, ...]
    route: Route
    notes: tuple[Note, ...]
    finding_changes: tuple[FindingChange, ...]
    settings: tuple[SettingChange, ...]
    unseen: tuple[tuple[ReleaseChange, Version | None], ...]
    stay: int
    faults: tuple[str, ...]

    def number_of(self, severity: Severity) -> int:
        """Return the number of notes, new findings and setting changes of a severity. A removed flag is an error."""
        count = sum(note.severity == severity for note in self.notes)
        count += sum(change.appears and change.result.severity == severity for change in self.finding_changes)
        count += sum(severity_of(shift) == severity for shift in self.settings)
        return count + (len(self.route.trouble) if severity == "error" else 0)

    def at_or_above(self, severity: Severity) -> bool:
        """Return whether anything has `severity` or a higher severity."""
        return any(self.number_of(severity_above) for severity_above in SEVERITIES[: SEVERITIES.index(severity) + 1])


def severity_of(shift: SettingChange) -> Severity:
    """Return the severity of a setting that is added or removed: the controller does not start with an unknown
    flag.
    """
    return "error" if shift.setting.kind == "flag" and not shift.begins else "info"


def upgrade(inventory: Inventory, old: Version, request: LintRequest) -> Upgrade:
    """Return the effect of an upgrade from `old` to the release of the request, which must be newer.

    `old` can be before 1.0.0 (`model.releases.early`). The findings of `check` begin at the oldest known release.
    """
    return _Move(inventory, old, request).summarize()


class _Move:
    def __init__(self, inventory: Inventory, old: Version, request: LintRequest) -> None:
        self._inventory = inventory
        self._start, self._old = old, max(old, OLDEST)
        self._target = request.target
        self._rules = request.rules
        self._settings = ControllerSettings([*inventory.files, *request.context_sources])
        self._runs = Runs(inventory.files, request)
        results = inventory.sources
        judged = [obj for source in (*results, *request.context_sources) for obj in objects(source)]
        context = Context(judged, request.target._replace(karpenter=self._old), rule_names=tuple(request.rules))
        self._places = Matcher(results, context, self._settings)

    def summarize(self) -> Upgrade:
        judged = self._runs.compare(self._old, self._target.karpenter)
        left = list(judged.finding_changes)
        notes: list[Note] = []
        for change, release in self._met:
            note = self._note(change, release, left)
            if note is not None:
                notes.append(note)
                noted = {id(change) for change in note.findings}
                left = [change for change in left if id(change) not in noted]
        return Upgrade(
            self._target._replace(karpenter=self._start),
            self._target,
            judged.after.objects,
            route(self._start, self._target.karpenter, self._target.kubernetes),
            tuple(notes),
            tuple(left),
            tuple(self._settings.shifts(self._old, self._target.karpenter)),
            tuple((change, release) for change, release in self._met if change.tell == "unseen"),
            judged.stay,
            judged.faults,
        )

    @cached_property
    def _met(self) -> list[tuple[ReleaseChange, Version | None]]:
        order = {release: n for n, release in enumerate(RELEASES)}
        found = list(met(self._start, self._target.karpenter))
        return sorted(found, key=lambda pair: order.get(pair[1], len(order)) if pair[1] else len(order) + 1)

    def _note(
        self, change: ReleaseChange, release: Version | None, finding_changes: Sequence[FindingChange]
    ) -> Note | None:
        """Return the note about a change. None if the change concerns none of the manifests."""
        if change.unless is not None and self._places.find_places(change.unless):
            return None
        if change.also is not None and not self._places.find_places(change.also):
            return None
        if change.tell == "always":
            return Note(change, release, ())
        if change.tell == "policy" and "lacks" in change.where[0]:
            policies = self._places.unallowed(change.where[0])
            return None if policies is None else Note(change, release, tuple(self._in_files(policies)))
        if change.tell not in ("found", "policy"):
            return None
        places = self._in_files(
            [place for condition in change.where for place in self._places.find_places(condition)]
        )
        if not places:
            return None
        findings = [finding for finding in finding_changes if _same(finding, change, release, places)]
        return Note(change, release, tuple(places), tuple(findings))

    def _in_files(self, places: Sequence[Location]) -> list[Location]:
        """Return places in the source files, without duplicates. A place in a rendered manifest is mapped to its
        source.
        """
        if not self._inventory.built:
            return _unique(places)
        nodes = [(place, _node_of(place)) for place in places]
        return _unique([p if n is None else p._replace(at=written_place(n)) for p, n in nodes])


def _node_of(place: Location) -> Node | None:
    """Return the smallest node that contains a place."""
    if not isinstance(place.at, Span):
        return place.at
    span = place.at
    roots = [document.root for document in span.source.documents if document.root is not None]
    around = [n for root in roots for n in root.walk() if n.start <= span.start and span.end <= n.end]
    return min(around, key=lambda node: node.end - node.start, default=None)


def _unique(places: Sequence[Location]) -> list[Location]:
    found: dict[tuple[int, int, int], Location] = {}
    for place in places:
        found.setdefault((id(place.span.source), place.span.start, place.span.end), place)
    return list(found.values())


def _same(finding: FindingChange, change: ReleaseChange, release: Version | None, places: Sequence[Location]) -> bool:
    """Return whether a finding has the meaning of a change: it is from one of the change's rules, new in its release,
    in the same object.
    """
    result = finding.result
    if result.rule.name not in change.rules or finding.release != release or result.object is None:
        return False
    node = result.object.node
    return any(
        place.span.source is node.source and node.start <= place.span.start and place.span.end <= node.end
        for place in places
    )
