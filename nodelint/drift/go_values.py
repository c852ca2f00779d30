"""Durations, quantities and times as Go reads them from JSON. Each function raises ValueError if Go would refuse the
text.
"""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, the micro sign
    "μs": 10**3,  # U+03BC, the Greek letter
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = r"([0-9]*)(\.[0-9]*)?([^0-9.]+)"
_LONGEST = 2**63


def duration(text: str) -> int:
    """Return the nanoseconds of a duration such as `1h30m`, as time.ParseDuration counts them."""
    rest = text[1:] if text[:1] in ("-", "+") else text
    sign = -1 if text.startswith("-") else 1
    if rest == "0":
        return 0
    total = position = 0
    part = re.compile(_PART)
    while position < len(rest):
        match = part.match(rest, position)
        if match is None:
            raise ValueError(f"`{text}` is not a duration such as 1h30m")
        whole, fraction, unit = match[1], match[2] or "", match[3]
        if unit not in _UNITS or (not whole and len(fraction) < 2):
            raise ValueError(f"`{text}` is not a duration such as 1h30m")
        total += int(whole or 0) * _UNITS[unit] + _part_of(fraction[1:], _UNITS[unit])
        position = match.end()
    if not rest or total > _LONGEST or (total == _LONGEST and sign > 0):
        raise ValueError(f"`{text}` is not a duration such as 1h30m")
    return sign * total


def _part_of(digits: str, unit: int) -> int:
    """Return the value of a decimal fraction of a unit. Like Go, ignore digits beyond 63 bits, and compute with
    floats.
    """
    digits_left = digits
    while digits_left and int(digits_left) >= _LONGEST:
        digits_left = digits_left[:-1]
    return int(float(int(digits_left)) * (float(unit) / 10.0 ** len(digits_left))) if digits_left else 0


_QUANTITY = r"([+-]?)([0-9]*)(?:\.([0-9]*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)"
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_GREATEST, _NANOS = 2**63 - 1, 10**9


def quantity(text: str) -> str:
    """Return a Kubernetes quantity in its canonical form: `1024Gi` is `1Ti`, `1000G` is `1T`."""
    match = re.fullmatch(_QUANTITY, text.strip())
    if match is None or not text.strip(" +-."):
        raise ValueError(f"`{text}` is not a quantity such as 20Gi")
    sign, whole, fraction, suffix = match[1], match[2], match[3] or "", match[4]
    digits, power = int(whole + fraction or "0"), -len(fraction)
    if suffix in _BINARY:
        return _quantity_text(sign, _count_nanos(digits * 1024 ** _BINARY[suffix], power), binary=True)
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return _exponent(sign, _count_nanos(digits, power + int(suffix[1:])))
    return _quantity_text(sign, _count_nanos(digits, power + _DECIMAL[suffix]), binary=False)


def _count_nanos(digits: int, power: int) -> int:
    """Return digits * 10**power in nano units, rounded up and capped at int64."""
    power += 9
    nanos = digits * int(10**power) if power >= 0 else -(-digits // int(10**-power))
    return min(nanos, _GREATEST * _NANOS)


def _quantity_text(sign: str, nanos: int, binary: bool) -> str:
    if nanos == 0:
        return "0"
    minus = "-" if sign == "-" else ""
    if binary and nanos >= 1024 * _NANOS and nanos % _NANOS == 0:
        power, rest = 0, nanos // _NANOS
        while rest % 1024 == 0 and power < len(_BINARY):
            power, rest = power + 1, rest // 1024
        return f"{minus}{rest}{['', *_BINARY][power]}"
    mantissa, power = _scale(nanos)
    return f"{minus}{mantissa}{next(s for s, p in _DECIMAL.items() if p == power)}"


def _exponent(sign: str, nanos: int) -> str:
    if nanos == 0:
        return "0"
    mantissa, power = _scale(nanos)
    return f"{'-' if sign == '-' else ''}{mantissa}" + (f"e{power}" if power else "")


def _scale(nanos: int) -> tuple[int, int]:
    """Return a whole number and a power of ten, a multiple of three, whose product is `nanos` billionths."""
    power, rest = -9, nanos
    while rest % 1000 == 0 and power < 18:
        power, rest = power + 3, rest // 1000
    return rest, power


_TIME = r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(Z|[+-][0-9]{2}:[0-9]{2})"


def time_bytes(text: str) -> bytes:
    """Return a time of RFC 3339 as Go marshals it in a controller whose local time is UTC.

    The bytes are a version, the seconds since the year 1, the nanoseconds, and the offset from UTC in minutes, which
    is 0.
    """
    from datetime import UTC, datetime

    match = re.fullmatch(_TIME, text)
    if match is None:
        raise ValueError(f"`{text}` is not a time such as 2025-01-31T12:00:00Z")
    zone = "+00:00" if match[8] == "Z" else match[8]
    moment = datetime.fromisoformat(f"{text[:19]}{zone}")
    # The difference, and no conversion to UTC: that would leave the years 1 to 9999 for the times at their ends.
    seconds = int((moment - datetime(1, 1, 1, tzinfo=UTC)).total_seconds())
    if seconds < 0:
        raise ValueError(f"`{text}` is before the year 1")
    nanoseconds = int((match[7] or "0")[:9].ljust(9, "0"))
    return b"\x01" + seconds.to_bytes(8, "big") + nanoseconds.to_bytes(4, "big") + b"\0\0"
