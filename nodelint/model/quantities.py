"""Convert Kubernetes quantities to integers, to compare them: `100m`, `1.5Gi`, `1e3`."""

from __future__ import annotations

import re

from nodelint.text import Node

_FORM = r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?"
_POWERS = {"n": 0, "u": 3, "m": 6, "k": 12, "M": 15, "G": 18, "T": 21, "P": 24, "E": 27}
_BINARY: dict[str | None, int] = {
    suffix: 1024**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}
_ONE = 9  # the power of ten between one and a billionth

ONE: int = 10**_ONE
"""The number of billionths in one. A billionth is the smallest step of a quantity."""

_MOST = (2**63 - 1) * ONE  # apimachinery pkg/api/resource/amount.go, maxAllowed
_DIGITS = 1000


def billionths(text: str) -> int:
    """Return a quantity in billionths, rounded up and clamped as in the API server.

    Raise ValueError if it is invalid.
    """
    return max(-_MOST, min(_billionths(text), _MOST))


def billionths_or_zero(text: str) -> int:
    """Return a quantity in billionths, or 0 if it is invalid."""
    try:
        return billionths(text)
    except ValueError:
        return 0


def _billionths(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text) * ONE if len(text) < _DIGITS else _MOST
    number, scale = text[:-2], _BINARY.get(text[-2:])
    if scale is not None and number.isascii() and number.isdigit() and len(number) < _DIGITS:
        return int(number) * scale * ONE  # most amounts of memory; it needs no regular expression
    match = re.fullmatch(_FORM, text)
    if match is None or not (match[2] or match[3]):
        raise ValueError(f"`{text}` is not a quantity such as 20Gi")
    sign, whole, fraction, suffix, exponent = match.groups()
    fraction = fraction or ""
    if len(whole) + len(fraction) > _DIGITS:
        whole, fraction = whole.lstrip("0"), fraction[:_DIGITS]
        whole = whole if len(whole) < _DIGITS else "9" * _DIGITS
    amount = int(whole + fraction or "0") * (-1 if sign == "-" else 1) * _BINARY.get(suffix, 1)
    power = _POWERS.get(suffix, _ONE) + int(exponent or 0) - len(fraction)
    return int(amount * 10**power) if power >= 0 else -(-amount // int(10**-power))


def quantity_of(node: Node) -> int | None:
    """Return a scalar's quantity in billionths. None for a placeholder, and if it is not a quantity."""
    value = node.value if node.kind == "scalar" else None
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    try:
        return billionths(str(value))
    except ValueError:
        return None


def format_quantity(resource: str, amount: int) -> str:
    """Return an amount in billionths as people write it: `500m` of CPUs, `6903Mi` of memory, `2`."""
    if resource == "cpu":
        millis = -(-amount * 1000 // ONE)
        return f"{millis}m" if millis % 1000 else str(millis // 1000)
    whole = -(-amount // ONE)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        for power, suffix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
            if whole and whole % 1024**power == 0:
                return f"{whole // 1024**power}{suffix}"
        return f"{whole // 1024**2}Mi" if whole > 1024**2 else str(whole)
    return str(whole)
