"""Find the value that was probably meant by a value that a field does not accept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodelint.data import table

_STEP = r"([0-9]{1,6}) ?(weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)"
_HOURS = {"w": 168, "d": 24, "h": 1}
_BYTES = r"([0-9]+(?:\.[0-9]+)?)([kmgtp]i?)b?"
_CORES = r"([0-9]+(?:\.[0-9]+)?)v?(?:cores?|cpus?)"


def candidates(text: str, form: str | None) -> Sequence[str]:
    """Return the values that were probably meant by a text. `form` is the schema's description of the field's values.

    One value if it is obvious, several if only the author knows. They may violate the field's own pattern.
    """
    bare = "".join(text.split())
    form = form or ""
    if "schedule" in form and (meant := _every(bare.lower())) is not None:
        return [meant]
    if "duration" in form:
        if re.fullmatch("0+", bare):
            return ["0s"]
        if re.fullmatch(r"[1-9][0-9]{0,8}", bare):
            return [bare + unit for unit in "smh"]
        if "hours and minutes" in form and (minutes := _whole_minutes(text)):
            return minutes
        if len(parts := re.split(r"[|,/]|\bor\b", text)) > 1:
            return [meant for part in parts if (meant := duration_meant(part)) is not None]
        meant = duration_meant(text)
        return [bare] if meant is None else [meant]
    if "percentage" in form and (percent := re.fullmatch(r"([0-9]{1,6})(?:\.[0-9]+)?(%|percent|pct)", bare.lower())):
        return [f"{min(int(percent[1]), 100)}%"]
    if form.startswith("a size") and bare.isdigit():
        return [f"{bare}Gi"]
    if "quantity" in form or form.startswith("a size"):
        return _quantities(bare.lower()) or [bare]
    return [bare]


def duration_meant(value: str) -> str | None:
    """Return the duration that was meant by a text such as `7d`, `24H` or `5min`, in Go's units h, m and s. None if
    the text is no duration.
    """
    text = value.strip().lower()
    if text == "never":
        return "Never"
    if not re.fullmatch(rf"(?:{_STEP}[ ,]*)+", text):
        return None
    parts: dict[str, int] = {}
    for number, unit in re.findall(_STEP, text):
        in_hours = unit[0] in _HOURS
        name = "h" if in_hours else unit[0]
        parts[name] = parts.get(name, 0) + int(number) * (_HOURS[unit[0]] if in_hours else 1)
    return "".join(f"{parts[unit]}{unit}" for unit in "hms" if unit in parts)


def _whole_minutes(value: str) -> list[str]:
    """Return a duration with seconds rounded to minutes: down, if that is not 0, and up. Empty if it has no
    seconds.
    """
    meant = duration_meant(value)
    parts = {unit: int(number) for number, unit in re.findall(r"(?<![0-9])([0-9]{1,18})([hms])", meant or "")}
    if not parts.get("s"):
        return []
    below = parts.get("h", 0) * 60 + parts.get("m", 0) + parts["s"] // 60
    rest = parts["s"] % 60
    return [f"{minutes}m" for minutes in ((below, below + 1) if rest else (below,)) if minutes]


def _every(text: str) -> str | None:
    """Return the cron schedule for `@every 30m`, if a whole number of such steps makes an hour or a day. None
    otherwise.
    """
    step = re.fullmatch(r"@every([1-9][0-9]{0,3})([mh])", text)
    if step is None:
        return None
    minutes = int(step[1]) * (60 if step[2] == "h" else 1)
    if minutes < 60:
        return f"*/{minutes} * * * *" if 60 % minutes == 0 else None
    hours, rest = divmod(minutes, 60)
    if rest or 24 % hours:
        return None
    return {1: "@hourly", 24: "@daily"}.get(hours, f"0 */{hours} * * *")


def number_without_unit(value: object) -> str | None:
    """Return the number of a text such as `85%` or `60s`, for fields that count percent or seconds. None for other
    values.
    """
    found = re.fullmatch(r"([0-9]{1,9}) ?(?:%|s|sec|seconds?)", value) if isinstance(value, str) else None
    return None if found is None else found[1]


def other_word(value: object, choices: Sequence[object]) -> str | None:
    """Return the choice for which other tools use this word: `In` for `Equals`. None if there is none."""
    word = (
        table("vocabulary")["operators"].get(re.sub(r"[\s_-]", "", value).lower()) if isinstance(value, str) else None
    )
    return word if word in choices else None


def _quantities(text: str) -> list[str]:
    """Return the Kubernetes quantities for a number of cores, or of bytes with another unit such as `100GB`: with
    powers of 1024, as most people mean it, then of 1000.
    """
    if cores := re.fullmatch(_CORES, text):
        return [cores[1]]
    if not (written := re.fullmatch(_BYTES, text)):
        return []
    number, unit = written[1], written[2][0].upper()
    binary = f"{number}{unit}i"
    return [binary] if written[2].endswith("i") else [binary, f"{number}{'k' if unit == 'K' else unit}"]


def switch(value: object, choices: Sequence[object] | None) -> str | None:
    """Return `enabled` or `disabled` for true or false, if a field has these values. None otherwise."""
    if isinstance(value, bool) and choices is not None and {"enabled", "disabled"} <= set(map(str, choices)):
        return "enabled" if value else "disabled"
    return None
