"""Compare the findings of `check` for the same manifests in two releases: which are new, which disappear, and where.

The rules run for the old release, the new release, and those between for which a result can change: all releases that
the facts, the schemas and the rules name.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache, cached_property

from nodelint.base.budget import RUN
from nodelint.base.tuples import NamedTuple
from nodelint.data import DATA, shipped
from nodelint.edits import apply
from nodelint.forms.rendered import Built
from nodelint.inventory import build
from nodelint.lint.engine import LintRequest, Report, Result, lint
from nodelint.model.finding import Edit, Severity
from nodelint.model.manifest import served
from nodelint.model.releases import RELEASES, Version
from nodelint.rule.definition import Rule
from nodelint.text import Source, reread

_FACTS = ("catalog", "images", "labels", "tables", "versions")
_SCHEMAS = ("ec2nodeclass-v1", "ec2nodeclass-v1beta1", "nodepool-v1", "nodepool-v1beta1")

_MOST_TRIED = 50
"""The most fixes that are tried in the old release: each one is a run of the rules."""


class FindingChange(NamedTuple):
    """A finding that is new or disappears, and the release from which on it does.

    `early` is true if its fix can be made before the upgrade: the fixed manifests have no new error in the old
    release. None if there is no fix, or if it was not tried.
    """

    result: Result
    release: Version
    appears: bool
    early: bool | None = None


class Judged(NamedTuple):
    """The report for the new release, and the findings that differ. `stay` is the number of findings in both
    releases.
    """

    after: Report
    finding_changes: tuple[FindingChange, ...]
    stay: int
    faults: tuple[str, ...]


class Runs:
    """Runs of the rules on the same manifests in several releases."""

    def __init__(self, sources: Sequence[Source], request: LintRequest) -> None:
        self._sources = sources
        self._request = request

    def report_for(self, release: Version, sources: Sequence[Source] | None = None) -> Report:
        """Return the report of the rules for a release, on `sources` if they are given."""
        request = self._request._replace(target=self._request.target._replace(karpenter=release))
        files = sources or self._sources
        return lint(files, request, built=self._built if files is self._sources else build(files).built)

    @cached_property
    def _built(self) -> Sequence[Built]:
        """Return the rendered manifests, which are the same for every release."""
        return build(self._sources).built

    def compare(self, old: Version, new: Version) -> Judged:
        """Return the differences between the findings of two releases."""
        steps = [*turns(self._request.rules, old, new)]
        reports: dict[Version, Report] = {}
        for release in dict.fromkeys((old, new, *steps)):
            reports[release] = self.report_for(release)
            if RUN.is_over():  # a missing finding may not have been searched for in time
                return Judged(reports[release], (), 0, ())
        reports = {release: reports[release] for release in dict.fromkeys((old, *steps, new))}
        identities = {release: _by_identity(report) for release, report in reports.items()}
        first, last = identities[old], identities[new]
        new_ones = [(identity, result) for identity, result in last.items() if identity not in first]
        finding_changes = [
            FindingChange(result, _since(identities, identity, True), True) for identity, result in new_ones
        ]
        anywhere = {release: {identity[:4] for identity in of} for release, of in identities.items()}
        places = anywhere[new]
        for identity, result in first.items():
            # An object that is no longer served is not judged; a finding with another message is still the same.
            judged = result.object is None or served(result.object, new)
            if identity[:4] not in places and judged:
                finding_changes.append(FindingChange(result, _since(anywhere, identity[:4], False), False))
        faults = dict.fromkeys(fault for report in reports.values() for fault in report.faults)
        stay = sum(identity in last for identity in first)
        tried = tuple(self._tried(finding_changes, reports[old]))
        return Judged(reports[new], tried, stay, tuple(faults))

    def _tried(self, finding_changes: Sequence[FindingChange], before: Report) -> Iterator[FindingChange]:
        known = _count_findings(before)
        tried = 0
        for change in finding_changes:
            if change.appears and change.result.fixable and tried < _MOST_TRIED:
                tried += 1
                after = self.report_for(before.target.karpenter, self._fixed(change.result))
                # Only a new error prevents an early fix. A new warning only shows a hazard that existed before.
                worse = any(severity == "error" for _, _, severity in _count_findings(after) - known)
                change = change._replace(early=not worse)
            yield change

    def _fixed(self, result: Result) -> list[Source]:
        edits: dict[int, list[Edit]] = {}
        for edit in result.finding.edits:
            edits.setdefault(id(edit.source), []).append(edit)
        return [reread(s, apply(s.text, edits[id(s)])) if id(s) in edits else s for s in self._sources]


def turns(rules: Mapping[str, Rule], old: Version, new: Version) -> list[Version]:
    """Return the releases after `old`, up to `new`, for which a result can change."""
    named = {text for text in _known_releases() if text.count(".") == 2}
    for rule in rules.values():
        named.update(re.findall(r"(?<!\d)\d++\.\d++\.\d+", rule.releases))
    return [release for release in RELEASES if old < release <= new and str(release) in named]


@cache
def _known_releases() -> frozenset[str]:
    """Return every release that facts and schemas name."""
    files = [os.path.join(DATA, f"{name}.json") for name in _FACTS]
    files += [os.path.join(shipped("schemas"), f"{name}.schema.json") for name in _SCHEMAS]
    found: set[str] = set()
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith("versions.json"):  # less the list of all
            before, _, after = text.partition('"releases": [')
            text = before + after.partition("]")[2]
        found.update(re.findall(r"(?<![\w.@v])1\.\d+\.\d+(?![\w.])", text))
    return frozenset(found)


_Identity = tuple[str, str, int, int, Severity, int]


def _by_identity(report: Report) -> dict[_Identity, Result]:
    """Return the findings by rule, place and severity. Equal ones in one place are numbered."""
    seen: Counter[tuple[str, str, int, int, Severity]] = Counter()
    marked: dict[_Identity, Result] = {}
    for result in report.results:
        span = result.span
        identity = (result.rule.name, span.source.path, span.start, span.end, result.severity)
        seen[identity] += 1
        marked[(*identity, seen[identity])] = result
    return marked


def _since(identities: Mapping[Version, Container[object]], identity: object, there: bool) -> Version:
    """Return the release from which on a finding is present (or absent, if not `there`) up to the last release."""
    since = None
    for release in sorted(identities):
        since = since or release if (identity in identities[release]) == there else None
    assert since is not None
    return since


def _count_findings(report: Report) -> Counter[tuple[str, str, Severity]]:
    """Return the number of findings by rule, file and severity, without their lines: a fix moves lines."""
    return Counter((r.rule.name, r.span.source.path, r.severity) for r in report.results)
