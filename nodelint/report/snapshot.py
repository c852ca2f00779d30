"""Snapshots of AWS facts as text and JSON: the result of a refresh, the content of a file, and differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.ec2.facts import WORDS, moment, span
from nodelint.ec2.snapshot import TABLE_OF, Answer, MachineImage, Question, Region, Snapshot, Subnet
from nodelint.model.fact_kinds import FACT_KINDS, PRICE_KINDS, FactKind
from nodelint.model.messages import counted
from nodelint.report.summary import utc

# Lines of one answer, or of one change, that are shown before the rest is counted.
_SHOWN = 12


class Asking(NamedTuple):
    """The result of refreshing a region: all its known answers, the `new` answers, the calls and the seconds.

    `refusal` is why the next regions could not be asked, and whether a retry may help.
    """

    region: Region
    new: Mapping[Question, Answer]
    calls: int
    seconds: float
    refusal: tuple[str, bool] | None = None


def refresh_text(asking: Asking, needs: Mapping[str, Sequence[FactKind]]) -> str:
    """Return the answers of a refresh by kind, and the failed questions with the rules that need them."""
    region, new = asking.region, asking.new
    known = sum(question not in new for question in region.answers)
    lines = [
        f"{region.name}{_account(region)}: {counted(len(new), 'question')} in {counted(asking.calls, 'call')},"
        f" {asking.seconds:.1f} s" + (f"; {known} known already" if known else "")
    ]
    for kind, answers in _by_kind(region).items():
        good = [(q, a) for q, a in answers if a.failed is None]
        if good:
            lines.append(f"  {WORDS[kind]:<24} {_count_found(region, kind, good)}")
    refused: dict[tuple[FactKind, str], list[Question]] = {}
    for question, answer in new.items():
        if answer.failed is not None:
            refused.setdefault((question.kind, answer.failed), []).append(question)
    for (kind, why), questions in refused.items():
        passes = new[questions[0]].transient
        rules = [name for name, kinds in needs.items() if kind in kinds]
        costs = f"; will be skipped: {', '.join(rules)}" if rules else ""
        costs = "; costs are computed without them" if kind in PRICE_KINDS else costs
        many = f" ({len(questions):,} questions)" if len(questions) > 1 else ""
        lines.append(f"  not answered: {WORDS[kind]}{many}: {why}{', which may pass' if passes else ''}{costs}")
    return "\n".join(map(printable, lines))


def show_text(snapshot: Snapshot, file: str, now: datetime, limits: Mapping[FactKind, timedelta]) -> str:
    """Return the content of a snapshot and its age. `limits` are the maximum ages by kind (missing: no limit)."""
    by = f" by nodelint {snapshot.nodelint}" if snapshot.nodelint else ""
    lines = [f"{file}: {counted(len(snapshot.regions), 'region')}, written{by}"]
    if snapshot.rows:
        read = [region.name for region in snapshot.regions if _reads_types(region)]
        where = f", read in {', '.join(read)}" if read else ""
        lines.append(
            f"  {counted(len(snapshot.rows), 'instance type')} of {snapshot.date} ({snapshot.origin}){where}"
        )
    for region in snapshot.regions:
        lines += ["", f"{region.name}{_account(region)}"]
        for question, answer in _ordered(region):
            lines.append(f"  {_question_text(question)}: {_outcome(region, question, answer)}")
            lines.append(f"      {_age(question, answer, now, limits)}")
            things = [f"      {line}" for line in _things(region, question, answer, now)]
            lines += things[:_SHOWN]
            if len(things) > _SHOWN:
                lines.append(f"      … {len(things) - _SHOWN:,} more")
    return "\n".join(map(printable, lines))


def _reads_types(region: Region) -> bool:
    """Return whether the region has an answer for its instance types."""
    answer = region.answers.get(Question("instance-types"))
    return answer is not None and answer.failed is None


def show_json(snapshot: Snapshot, file: str, now: datetime, limits: Mapping[FactKind, timedelta]) -> dict[str, Any]:
    """Return the content of a snapshot as plain values for JSON; ages are in seconds."""
    return {
        "version": 1,
        "file": file,
        "nodelint": snapshot.nodelint,
        "origin": snapshot.origin,
        "date": snapshot.date,
        "instanceTypes": len(snapshot.rows),
        "regions": [
            {
                "region": region.name,
                "account": region.account,
                "asked": [
                    {
                        "ask": question.kind,
                        "filters": [list(pair) for pair in question.filters],
                        "owners": list(question.owners),
                        "at": answer.at,
                        "age": max(0, int((now - moment(answer.at)).total_seconds())),
                        "expired": _expired(question, answer, now, limits),
                        "failed": answer.failed,
                        "transient": answer.transient,
                        "total": _total(region, question, answer),
                        "found": [_record(region, question.kind, id) for id in answer.found],
                    }
                    for question, answer in _ordered(region)
                ],
                "offerings": [offering._asdict() for _, offering in sorted(region.offerings.items())],
            }
            for region in snapshot.regions
        ],
    }


class SnapshotDifference(NamedTuple):
    """A difference of the newer snapshot: `new`, `gone` or `changed`; `unknown` if it may be one.

    `what` is the kind of thing, `name` its name or id, `fields` the changed fields with old and new value.
    """

    region: str
    what: str
    how: str
    name: str
    fields: tuple[tuple[str, Any, Any], ...] = ()
    says: str = ""


def differences(a: Snapshot, b: Snapshot) -> list[SnapshotDifference]:
    """Return the differences of snapshot `b` from snapshot `a`.

    The times of the questions are not compared.
    """
    found: list[SnapshotDifference] = []
    for name in sorted({region.name for region in (*a.regions, *b.regions)}):
        old, new = a.region(name), b.region(name)
        if old is None or new is None:
            found.append(SnapshotDifference(name, "region", "new" if old is None else "gone", name))
            continue
        if old.account != new.account:
            change = (("account", old.account, new.account),)
            found.append(SnapshotDifference(name, "account", "changed", new.account or "unknown", change))
        for field, what, describe in _TABLES:
            found += _of_tables(name, what, getattr(old, field), getattr(new, field), describe)
        found += _of_answers(name, old, new)
    columns = (*a.labels, *a.resources), (*b.labels, *b.resources)
    types = [{row[0]: (*row[1], *row[2]) for row in s.rows} for s in (a, b)]
    for name in sorted({*types[0], *types[1]}):
        before, after = (
            dict(zip(keys, row[name], strict=True)) if name in row else None
            for keys, row in zip(columns, types, strict=True)
        )
        if before is None or after is None:
            found.append(SnapshotDifference("", "instance type", "new" if before is None else "gone", name))
        elif before != after:
            found.append(SnapshotDifference("", "instance type", "changed", name, _fields(before, after)))
    return found


def diff_text(found: Sequence[SnapshotDifference]) -> str:
    """Return the differences by region and kind: + new, - gone, ~ changed."""
    lines: list[str] = []
    groups: dict[tuple[str, str], list[SnapshotDifference]] = {}
    for difference in found:
        groups.setdefault((difference.region, difference.what), []).append(difference)
    last = None
    for (region, what), its in groups.items():
        if region != last:
            lines.append(region or "everywhere")
            last = region
        lines.append(f"  {what}")
        for difference in its:
            fields = ", ".join(
                f"{name} {_value_text(old)} -> {_value_text(new)}" for name, old, new in difference.fields
            )
            sign = {"new": "+", "gone": "-", "unknown": "?"}.get(difference.how, "~")
            remark = f"  {difference.says}" if difference.says else ""
            lines.append(f"    {sign} {difference.name}{remark}{': ' + fields if fields else ''}")
    return "\n".join(map(printable, lines)) if lines else "The facts are the same."


def diff_json(found: Sequence[SnapshotDifference]) -> dict[str, Any]:
    """Return the differences as plain values for JSON."""
    return {
        "version": 1,
        "differences": [
            {
                "region": difference.region or None,
                "what": difference.what,
                "how": difference.how,
                "name": difference.name,
                "fields": [{"name": name, "old": old, "new": new} for name, old, new in difference.fields],
            }
            for difference in found
        ],
    }


def _account(region: Region) -> str:
    return f" (account {region.account.removeprefix('sha256:')[:12]})" if region.account else ""


def _by_kind(region: Region) -> dict[FactKind, list[tuple[Question, Answer]]]:
    kinds: dict[FactKind, list[tuple[Question, Answer]]] = {}
    for question, answer in _ordered(region):
        kinds.setdefault(question.kind, []).append((question, answer))
    return kinds


def _ordered(region: Region) -> list[tuple[Question, Answer]]:
    return sorted(region.answers.items(), key=lambda pair: (FACT_KINDS.index(pair[0].kind), pair[0]))


def _count_found(region: Region, kind: FactKind, good: Sequence[tuple[Question, Answer]]) -> str:
    if kind in ("instance-types", "offerings"):
        return _outcome(region, *good[0])
    things = len({id for _, answer in good for id in answer.found})
    left = sum(answer.total - len(answer.found) for _, answer in good)
    nothing = sum(not answer.found for _, answer in good)
    if not things:
        return f"none found ({_queries(good)})"
    none = f", {nothing:,} of which found none" if nothing else ""
    older = f", {left:,} older ones left out" if left else ""
    return f"{things:,} found{older} ({_queries(good)}{none})"


def _queries(answers: Sequence[object]) -> str:
    """Return a text such as `1 query` or `3 queries`."""
    return "1 query" if len(answers) == 1 else f"{len(answers):,} queries"


def _question_text(question: Question) -> str:
    fields = " ".join(f"{name}={value}" for name, value in question.filters)
    owners = f" of {', '.join(question.owners)}" if question.owners else ""
    return f"{WORDS[question.kind]}{' ' + fields if fields else ''}{owners}"


def _outcome(region: Region, question: Question, answer: Answer) -> str:
    if answer.failed is not None:
        return f"not known: {answer.failed or 'never answered'}"
    if question.kind == "instance-types":
        return f"{len(region.offerings):,} offered"
    if question.kind == "offerings":
        zones = sorted({zone for offering in region.offerings.values() for zone in offering.zones})
        return f"in {', '.join(zones)}" if zones else "of no use without the instance types"
    if not answer.found:
        return "none found"
    return f"{answer.total} found" + (f", {len(answer.found):,} kept" if answer.total > len(answer.found) else "")


def _total(region: Region, question: Question, answer: Answer) -> int:
    return len(region.offerings) if question.kind in ("instance-types", "offerings") else answer.total


def _age(question: Question, answer: Answer, now: datetime, limits: Mapping[FactKind, timedelta]) -> str:
    age = now - moment(answer.at)
    text = f"asked {utc(answer.at)}, {span(age)} ago"
    limit = limits.get(question.kind)
    if answer.failed is not None or limit is None:
        return text
    return f"{text}, expired" if age > limit else f"{text}, good for {span(limit - age)}"


def _expired(question: Question, answer: Answer, now: datetime, limits: Mapping[FactKind, timedelta]) -> bool:
    limit = limits.get(question.kind)
    return limit is not None and now - moment(answer.at) > limit


def _things(region: Region, question: Question, answer: Answer, now: datetime) -> Iterator[str]:
    for id in answer.found:
        table = TABLE_OF.get(question.kind)
        if table is None:
            yield id
            continue
        record = getattr(region, table)[id]
        line: Callable[[Any], str] = next(describe for field, _, describe in _TABLES if field == table)
        age = ""
        if isinstance(record, MachineImage):
            age = f"  {span(now - moment(record.created))} old"
            if record.deprecated is not None and moment(record.deprecated) <= now:
                age += ", deprecated"
        yield f"{id}  {line(record)}{age}"


def _image(image: MachineImage) -> str:
    public = "  public" if image.public else ""
    return f"{image.name}  {image.arch}  {image.state}  of {image.owner}{public}"


def _subnet(subnet: Subnet) -> str:
    name = f"{subnet.name}  " if subnet.name else ""
    return f"{name}{subnet.zone} ({subnet.zoneId})  {subnet.vpc}  {subnet.free:,} free"


_TABLES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("images", "images", _image),
    ("subnets", "subnets", _subnet),
    ("groups", "security groups", lambda group: f"{group.name}  {group.vpc}"),
    ("reservations", "capacity reservations", lambda r: f"{r.type}  {r.zone}  {r.state}  {r.free} free"),
    ("placements", "placement groups", lambda group: f"{group.name}  {group.strategy}  {group.state}"),
    ("prices", "prices on demand", lambda price: f"{price.usd} USD an hour"),
    ("spot_prices", "spot prices", lambda price: f"{price.usd} USD an hour"),
    ("offerings", "offered instance types", lambda o: f"{', '.join(o.zones)}  {', '.join(o.capacity)}"),
)
"""The field of Region, its title, and the function that formats one entry without its ID."""


def _record(region: Region, kind: FactKind, id: str) -> Any:
    table = TABLE_OF.get(kind)
    return getattr(region, table)[id]._asdict() if table else id


def _of_tables(
    region: str, what: str, old: Mapping[str, Any], new: Mapping[str, Any], describe: Callable[[Any], str]
) -> Iterator[SnapshotDifference]:
    for id in sorted({*old, *new}):
        if id not in old:
            yield SnapshotDifference(region, what, "new", id, says=describe(new[id]))
        elif id not in new:
            yield SnapshotDifference(region, what, "gone", id, says=describe(old[id]))
        elif old[id] != new[id]:
            fields = _fields(old[id]._asdict(), new[id]._asdict())
            yield SnapshotDifference(region, what, "changed", id, fields, getattr(new[id], "name", None) or "")


def _of_answers(region: str, old: Region, new: Region) -> Iterator[SnapshotDifference]:
    for question in sorted({*old.answers, *new.answers}):
        before, after = old.answers.get(question), new.answers.get(question)
        name = _question_text(question)
        if before is None or after is None:
            yield SnapshotDifference(region, "questions", "new" if before is None else "gone", name)
            continue
        fields = _fields(_answer_record(before), _answer_record(after))
        if fields:
            yield SnapshotDifference(region, "answers", "changed", name, fields)


def _answer_record(answer: Answer) -> dict[str, Any]:
    # Order is that of time, which the images themselves tell.
    return {"failed": answer.failed, "found": sorted(answer.found), "total": answer.total}


def _fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[tuple[str, Any, Any], ...]:
    keys = dict.fromkeys((*old, *new))
    return tuple((key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))


def _value_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value)
