"""Cron schedules as the controller's parser reads them.

Karpenter 1.0.0 to 1.14.1 passes `TZ=UTC ` and a budget's schedule to the standard parser of robfig/cron v3.0.1: five
fields, or a descriptor. The days of the week run from 0 to 6; 7 is not a Sunday.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple

DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""The descriptors, such as `@daily`, and the five fields that each means."""

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DAYS_IN_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_INTEGER = re.compile(r"[+-]?[0-9]+")


class CronError(ValueError):
    """Raised with the reason for which the parser refuses a schedule.

    `suggestion` is the schedule that was meant, if there is only one candidate. `choices` are schedules between which
    only the author can choose, each with a description.
    """

    def __init__(self, reason: str, suggestion: str | None = None, choices: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(reason)
        self.suggestion = suggestion
        self.choices = tuple(choices)


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: dict[str, int]


_FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field("day of week", 0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


class Schedule(NamedTuple):
    """The values of each field that a schedule matches. `any_day` is true if one of the two day fields is a star."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool

    @property
    def comes_round(self) -> bool:
        """Return whether any date matches the schedule. The controller's parser searches five years, enough for 29
        February.
        """
        if not (self.minutes and self.hours and self.months):
            return False
        dated = any(day <= _DAYS_IN_MONTH[month - 1] for month in self.months for day in self.days)
        # With a star in one of the two day fields both must match; without a star, one of them is enough.
        return dated and bool(self.weekdays) if self.any_day else dated or bool(self.weekdays)


def parse(text: str) -> Schedule | str:
    """Return the fields of a schedule, or the descriptor if the schedule is one. Raise CronError if the controller's
    parser fails.
    """
    spec = text.strip()
    if spec.startswith("@"):
        if spec in DESCRIPTORS or re.fullmatch(r"@every ([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+", spec):
            return spec
        near = next((known for known in DESCRIPTORS if spec.lower().startswith(known)), None)
        raise CronError("unknown descriptor", near)
    fields = spec.split()
    if spec.startswith(("TZ=", "CRON_TZ=")):
        raise CronError("budgets use UTC and have no time zone", None, _in_utc(fields))
    if len(fields) != len(_FIELDS):
        wanted = "it needs 5 fields (minute hour day month weekday)"
        found = _of_five(fields)
        raise CronError(f"{wanted}, not {len(fields)}", found[0][1] if len(found) == 1 else None, found)
    hits: list[frozenset[int]] = []
    stars: list[bool] = []
    for number, (field, written) in enumerate(zip(_FIELDS, fields, strict=True)):
        try:
            values, star = _field(written, field)
        except CronError as error:
            if error.suggestion is not None:
                mended = [*fields[:number], error.suggestion, *fields[number + 1 :]]
                raise CronError(str(error), " ".join(mended)) from None
            raise
        hits.append(values)
        stars.append(star)
    minutes, hours, days, months, weekdays = hits
    return Schedule(minutes, hours, days, months, weekdays, stars[2] or stars[4])


def _of_five(fields: list[str]) -> list[tuple[str, str]]:
    """Return the valid five-field schedules that six fields become without the seconds or without the year, each with
    a description.
    """
    ways = (("without its seconds", fields[1:]), ("without its year", fields[:5])) if len(fields) == 6 else ()
    return [(what, " ".join(five)) for what, five in ways if _parses(five)]


def _parses(fields: Sequence[str]) -> bool:
    try:
        parse(" ".join(fields))
    except CronError:
        return False
    return True


def _in_utc(fields: list[str]) -> list[tuple[str, str]]:
    """Return the UTC schedules that may be meant by a schedule with a time zone, each with a description.

    These are the same hours in UTC, and the hours moved by each offset of the zone this year. The hours are moved
    only if they are plain numbers and no day changes.
    """
    zone, five = fields[0].partition("=")[2], fields[1:]
    if len(five) != len(_FIELDS) or not _parses(five):
        return []
    found = [("the same hours in UTC", " ".join(five))]
    hours = five[1].split(",")
    for hour, when in _offsets(zone) if all(hour.isdecimal() for hour in hours) else ():
        moved = [int(hour_text) - hour for hour_text in hours]
        if all(0 <= hour < 24 for hour in moved):
            shown = ",".join(map(str, moved))
            found.append((f"the hours of {zone} {when}", " ".join([five[0], shown, *five[2:]])))
    return found


def _offsets(zone: str) -> list[tuple[int, str]]:
    """Return the offsets of a time zone from UTC in January and in July, in hours, each with `in January`, `in July`
    or `all year`.

    Empty if the zone is unknown, or if an offset is no whole number of hours.
    """
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    found: dict[int, str] = {}
    for month, when in ((1, "in January"), (7, "in July")):
        try:
            ahead = datetime(2026, month, 1, tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset()
        except (OSError, ValueError, KeyError):
            return []
        if ahead is None or ahead.seconds % 3600:
            return []
        hours = ahead.days * 24 + ahead.seconds // 3600
        found[hours] = "all year" if hours in found else when
    return list(found.items())


def _field(written: str, field: _Field) -> tuple[frozenset[int], bool]:
    values: set[int] = set()
    star = False
    parts = [part for part in written.split(",") if part]
    for number, part in enumerate(parts):
        try:
            hit, starred = _range(part, field)
        except CronError as error:
            if error.suggestion is not None:
                mended = ",".join([*parts[:number], error.suggestion, *parts[number + 1 :]])
                raise CronError(str(error), mended) from None
            raise
        values.update(hit)
        star = star or starred
    return frozenset(values), star


def _range(part: str, field: _Field) -> tuple[range, bool]:
    body, *steps = part.split("/")
    ends = body.split("-")
    star = ends[0] in ("*", "?")
    if star:  # the text after a hyphen is ignored
        low, high = field.low, field.high
    else:
        low = _number(ends[0], field)
        if len(ends) > 2:
            raise CronError(f"`{part}` has too many hyphens")
        high = low if len(ends) == 1 else _number(ends[1], field)
    step = 1
    if len(steps) > 1:
        raise CronError(f"`{part}` has too many slashes")
    if steps:
        step = _number(steps[0], field._replace(names={}))
        if len(ends) == 1:
            high = field.high
        star = star and step <= 1
    if low < field.low or high > field.high:
        outside = low if low < field.low or low > field.high else high
        raise CronError(f"{field.name} {outside} is not {field.low} to {field.high}", _sunday(part, field))
    if low > high:
        raise CronError(f"{field.name} `{part}` runs backwards", _sunday(part, field))
    if step == 0:
        raise CronError(f"`{part}` has a step of 0")
    return range(low, high + 1, step), star


def _sunday(part: str, field: _Field) -> str | None:
    """Return how to write a day of the week or a range that ends on Sunday: the parser knows Sunday only as 0.

    None for any other fault.
    """
    if field.name != "day of week":
        return None
    if part == "7":
        return "0"
    match = re.fullmatch(r"(\w+)-(7|sun)", part, re.IGNORECASE)
    if match is None:
        return None
    low, numeric = match[1].lower(), match[2] == "7"
    if low in ("1", "mon", "0") or (low == "sun" and numeric):
        return "*"
    last, first = ("6", "0") if numeric else ("sat", "sun") if match[1].islower() else ("SAT", "SUN")
    return f"{match[1]}-{last},{first}" if low not in ("6", "sat") else f"{match[1]},{first}"


_DIGITS = 18
"""The most digits of a number: the parser reads 64 bits."""


def _number(text: str, field: _Field) -> int:
    named = field.names.get(text.lower())
    if named is not None:
        return named
    if not _INTEGER.fullmatch(text) or len(text) > _DIGITS:
        raise CronError(f"`{text[:20]}` is not a {field.name}")
    number = int(text)
    if number < 0:
        raise CronError(f"`{text[:20]}` is not a {field.name}")
    return number
