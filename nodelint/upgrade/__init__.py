"""The effect of an upgrade of Karpenter on manifests.

Rows of changes (`changes`) with conditions that find what they concern (`conditions`), settings of the controller
(`settings`), the findings of `check` in both releases and those between (`findings`), and the way (`route`).
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
    """A change that is reported: where it shows, and the findings of `check` that say the same.

    `release` is None for a change that no release has yet; `places` are empty if it concerns every cluster.
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
    """The report on a move. `unseen` are changes that no manifest can show, with their releases."""

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
        """Return how many notes and findings that appear have a severity; a flag that ends is an error."""
        count = sum(note.severity == severity for note in self.notes)
        count += sum(change.appears and change.result.severity == severity for change in self.finding_changes)
        count += sum(severity_of(shift) == severity for shift in self.settings)
        return count + (len(self.route.trouble) if severity == "error" else 0)

    def at_or_above(self, severity: Severity) -> bool:
        """Whether anything is as grave as `severity` or graver."""
        return any(self.number_of(severity_above) for severity_above in SEVERITIES[: SEVERITIES.index(severity) + 1])


def severity_of(shift: SettingChange) -> Severity:
    """Return how grave it is that a setting begins or ends: the controller does not start with a flag that it
    lacks.
    """
    return "error" if shift.setting.kind == "flag" and not shift.begins else "info"


def upgrade(inventory: Inventory, old: Version, request: LintRequest) -> Upgrade:
    """Return what it means to go from `old` to the release of the request, which must be the newer one.

    `old` can be one before 1.0.0 (`model.releases.early`); what `check` says begins at the oldest release known.
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
        """Return a change as it is reported; None if it concerns nothing that is there."""
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
        """Return the places in the files, each once, where what was found stands in what was rendered of them."""
        if not self._inventory.built:
            return _unique(places)
        nodes = [(place, _node_of(place)) for place in places]
        return _unique([p if n is None else p._replace(at=written_place(n)) for p, n in nodes])


def _node_of(place: Location) -> Node | None:
    """Return the smallest node that holds a place."""
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
    """Whether a finding says what a change does: by one of its rules, in its release, in the same object."""
    result = finding.result
    if result.rule.name not in change.rules or finding.release != release or result.object is None:
        return False
    node = result.object.node
    return any(
        place.span.source is node.source and node.start <= place.span.start and place.span.end <= node.end
        for place in places
    )
