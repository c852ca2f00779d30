"""Read, write and compare the baseline: a file with the known findings of a repository.

Each finding is one line, and the lines are sorted, so that a diff of the file shows which findings appeared or
vanished. `schemas/baseline.schema.json` describes the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from itertools import product

from nodelint.base.tuples import NamedTuple
from nodelint.files.safe_read import is_below
from nodelint.lint.engine import Report, Result
from nodelint.lint.fingerprints import field, fingerprints, relative
from nodelint.lint.results import each_place, once_in_a_run
from nodelint.model.finding import SEVERITIES

FORMAT = 1
"""The version of the file format. A reader refuses any other."""

_WRITTEN_BY = "`nodelint baseline` writes one"
_KEY = "nodelint-baseline"


class BaselineError(ValueError):
    """Raised for a file that is not a baseline, or has an unsupported format version.

    It names the file and the fault.
    """


class KnownFinding(NamedTuple):
    """A finding of a baseline. Only `fingerprint` is compared; the other fields are for readers of the file.

    `path` is relative to the baseline's folder; `object` is empty if the finding is not about an object.
    """

    path: str
    object: str
    field: str
    rule: str
    message: str
    fingerprint: str


class Split(NamedTuple):
    """A report compared with a baseline.

    `new` is the report with only the findings that are not in the baseline, `known` are the others. `gone` are
    entries that were judged and not found: they are fixed. `unjudged` are entries that the run did not judge, `kept`
    all entries that are not gone. `is_part`: the run covers a part of the baseline's folder. It may report a known
    finding at another place, so that the entry stays as it is.
    """

    new: Report
    known: tuple[Result, ...]
    gone: tuple[KnownFinding, ...]
    unjudged: tuple[KnownFinding, ...]
    kept: tuple[KnownFinding, ...]
    is_part: bool = False

    def without_gone(self, gone: Sequence[KnownFinding]) -> Split:
        """Return the comparison with entries that another run, over more files, found to be gone as well."""
        more = tuple(entry for entry in self.unjudged if entry in gone)
        return self._replace(
            gone=(*self.gone, *more),
            unjudged=tuple(entry for entry in self.unjudged if entry not in more),
            kept=tuple(entry for entry in self.kept if entry not in more),
        )


def write(report: Report, root: str = "", keep: Iterable[KnownFinding] = ()) -> str:
    """Return the text of the baseline for a report; `root` is the folder of the baseline file.

    `keep` are entries of an older baseline that the run did not judge (`Split.unjudged`).
    """
    entries = {entry.fingerprint: entry for entry in keep}
    for result, fingerprint in zip(report.places, fingerprints(report.places, root), strict=True):
        label = result.object.label if result.object else ""
        path = relative(result.span.source.path, root)
        entries[fingerprint] = KnownFinding(
            path, label, field(result), result.rule.name, result.finding.message, fingerprint
        )
    lines = ",\n".join(f"    {_line(entry)}" for entry in sorted(entries.values()))
    listed = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "{_KEY}": {FORMAT},\n  "findings": {listed}\n}}\n'


def read(text: str | bytes, path: str) -> tuple[KnownFinding, ...]:
    """Return the entries of a baseline file. Raise BaselineError, with `path` as the name of the file."""
    try:
        value = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text.removeprefix("\ufeff"))
    except UnicodeDecodeError:
        raise BaselineError(f"{path}: not a baseline: the file is not UTF-8; {_WRITTEN_BY}") from None
    except json.JSONDecodeError as error:
        raise BaselineError(
            f"{path}: not a baseline: line {error.lineno} is not JSON ({error.msg.lower()}); {_WRITTEN_BY}"
        ) from None
    except RecursionError:
        raise BaselineError(f"{path}: not a baseline: it is nested too deeply; {_WRITTEN_BY}") from None
    if not isinstance(value, dict) or _KEY not in value:
        raise BaselineError(f"{path}: not a baseline: the key `{_KEY}` is missing; {_WRITTEN_BY}")
    if value[_KEY] != FORMAT:
        raise BaselineError(f"{path}: format {value[_KEY]} is not {FORMAT}, the one that this release reads")
    rows = value.get("findings")
    if not isinstance(rows, list):
        raise BaselineError(f"{path}: `findings` must be a list")
    return tuple(_entry(row, f"{path}: finding {number}") for number, row in enumerate(rows, 1))


def split(
    report: Report,
    baseline: Sequence[KnownFinding],
    root: str = "",
    paths: Sequence[str] = (),
    rules: Collection[str] | None = None,
    comparing: Collection[str] = (),
) -> Split:
    """Return the report split into new and known findings.

    `root` is the folder of the baseline file, `paths` the files and folders of the run (empty: all), `rules` the
    rules that reported (None: all). An entry counts as fixed only if it was judged: its path is in the run, its rule
    ran, and its file can be parsed. `comparing` are rules that read other files than that of the finding: a run
    over a part of the repository does not judge their findings.
    """
    have = {entry.fingerprint for entry in baseline}
    places = report.places
    chosen_fingerprints = _choose_fingerprints(places, root, have)
    top = os.path.abspath(root or os.curdir)
    is_part = bool(paths) and not any(is_below(top, os.path.abspath(path)) for path in paths)
    chosen_fingerprints = _find_other_places(places, chosen_fingerprints, root, baseline, is_part)
    compared = list(zip(places, chosen_fingerprints, strict=True))
    new = once_in_a_run(result for result, fingerprint in compared if fingerprint not in have)
    known = tuple(result for result, fingerprint in compared if fingerprint in have)
    reported_once = {(result.rule.name, result.finding.message) for result in known if result.finding.once}

    skipped = {(skip.rule, skip.path and relative(skip.path, root)) for skip in report.skipped}
    broken = {r.span.source.path for r in report.results if r.span.source.problems}
    skipped |= {(None, relative(path, root)) for path in broken}

    def judged(entry: KnownFinding) -> bool:
        if rules is not None and entry.rule not in rules:
            return False
        if not _is_within(entry.path, top, paths) or (
            is_part and (entry.rule in comparing or (entry.rule, entry.message) in reported_once)
        ):
            return False
        return skipped.isdisjoint([(entry.rule, entry.path), (entry.rule, ""), (None, entry.path)])

    found = set(chosen_fingerprints)
    missing = [entry for entry in baseline if entry.fingerprint not in found]
    gone = tuple(entry for entry in missing if judged(entry))
    unjudged = tuple(entry for entry in missing if not judged(entry))
    known_findings = tuple(entry for entry in baseline if entry not in gone)
    return Split(report._replace(results=tuple(new)), known, gone, unjudged, known_findings, is_part)


def keep_part(whole: Split, root: str, paths: Sequence[str]) -> Split:
    """Return the comparison of a run over all files, with only the new and fixed findings of some of the paths.

    `root` is the folder of the baseline file. A finding with several places counts if one of them is in the paths.
    """
    top = os.path.abspath(root or os.curdir)
    new = [
        result
        for result in whole.new.places
        if any(_is_within(relative(at.span.source.path, root), top, paths) for at in each_place((result,)))
    ]
    gone = tuple(entry for entry in whole.gone if _is_within(entry.path, top, paths))
    others = tuple(entry for entry in whole.gone if entry not in gone)
    return whole._replace(
        new=whole.new._replace(results=tuple(once_in_a_run(new))),
        gone=gone,
        unjudged=(*whole.unjudged, *others),
        kept=(*whole.kept, *others),
        is_part=True,
    )


def _choose_fingerprints(results: Sequence[Result], root: str, have: Collection[str]) -> list[str]:
    """Return the fingerprint of each result.

    If the baseline does not have it, but has one under a former name of the rule, return the latter.
    """
    chosen_fingerprints = fingerprints(results, root)
    for name in sorted(
        {
            old
            for r, fingerprint in zip(results, chosen_fingerprints, strict=True)
            if fingerprint not in have
            for old in r.rule.renamed
        }
    ):
        renamed_results = [n for n, r in enumerate(results) if name in r.rule.renamed]
        before = fingerprints(
            [results[n]._replace(rule=results[n].rule._replace(name=name)) for n in renamed_results], root
        )
        for n, fingerprint in zip(renamed_results, before, strict=True):
            if fingerprint in have and chosen_fingerprints[n] not in have:
                chosen_fingerprints[n] = fingerprint
    return chosen_fingerprints


def _find_other_places(
    places: Sequence[Result], chosen: Sequence[str], root: str, baseline: Sequence[KnownFinding], is_part: bool
) -> list[str]:
    """Return the fingerprint of each result at the place where the baseline has the finding, or a worse one.

    A finding that has become worse is new, one that has become milder is still known. A run over a part of the
    repository may report a finding at the template, and a run over all files at the values file. A finding that is
    reported once may have another place in a part of the repository.
    """
    have = {entry.fingerprint for entry in baseline}
    once = {(entry.rule, entry.message): entry.fingerprint for entry in baseline}
    found = list(chosen)
    for number, result in enumerate(places):
        if found[number] in have:
            continue
        moved = [result._replace(finding=result.finding._replace(at=also.at)) for also in result.finding.also]
        once_worse = [other for place in (result, *moved) for other in _list_worse(place)]
        known = [mark for other in (*moved, *once_worse) for mark in fingerprints([other], root) if mark in have]
        if is_part and result.finding.once and (result.rule.name, result.finding.message) in once:
            known.append(once[result.rule.name, result.finding.message])
        found[number] = known[0] if known else found[number]
    return found


def _list_worse(result: Result) -> list[Result]:
    """Return the result as it would be if it were worse: with `Finding.worse`, or with a graver severity."""
    severities = SEVERITIES[: SEVERITIES.index(result.severity) + 1]
    return [
        result._replace(finding=result.finding._replace(severity=severity, worse=worse))
        for severity, worse in product(severities, {result.finding.worse, True})
        if (severity, worse) != (result.severity, result.finding.worse)
    ]


def _is_within(path: str, top: str, paths: Sequence[str]) -> bool:
    """Return whether a path of a baseline, relative to the folder `top`, is one of `paths` or below one.

    True if `paths` is empty.
    """
    whole = os.path.normpath(os.path.join(top, path))
    return not paths or path in paths or any(is_below(whole, os.path.abspath(named)) for named in paths)


def _line(entry: KnownFinding) -> str:
    text = json.dumps(entry._asdict(), ensure_ascii=False)
    # A path that is not UTF-8 could not be written as it is.
    return json.dumps(entry._asdict()) if re.search("[\ud800-\udfff]", text) else text


def _entry(row: object, where: str) -> KnownFinding:
    if not isinstance(row, dict):
        raise BaselineError(f"{where} must be an object")
    for name in KnownFinding._fields:
        if not isinstance(row.get(name), str):
            raise BaselineError(f"{where}: `{name}` {'must be a text' if name in row else 'is missing'}")
    return KnownFinding(*(row[name] for name in KnownFinding._fields))
