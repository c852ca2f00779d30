"""Read plain scalars as the Go library behind kubectl does: YAML 1.1 without timestamps.

The rules are those of go-yaml v2 as sigs.k8s.io/yaml uses it: `yes` and `on` are booleans, `0o17` and `017` are
octal, `1_000` is a number, a date stays text.
"""

from __future__ import annotations

import re

from nodelint.text.nodes import Scalar
from nodelint.text.unknown_value import UNKNOWN

Resolved = str | int | float | bool | None

_WORDS: dict[str, Resolved] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
for _word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"):
    _WORDS[_word] = True
for _word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"):
    _WORDS[_word] = False
for _word in (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"):
    _WORDS[_word] = float("inf")
for _word in ("-.inf", "-.Inf", "-.INF"):
    _WORDS[_word] = float("-inf")
for _word in (".nan", ".NaN", ".NAN"):
    _WORDS[_word] = float("nan")

_NUMBER_STARTS = frozenset("-+.0123456789")
_NUMBER_ENDS = frozenset("0123456789abcdefABCDEF_.")
_INT = r"[-+]?(?:0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|[0-9][0-9_]*)"
_FLOAT = r"[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
_OCTAL = r"0[0-7]+"

LARGEST_INTEGER = 2**64 - 1
"""The largest uint64 of Go. A larger number becomes a float."""


def resolve(text: str) -> Resolved:
    """Return the value of a plain scalar without a tag."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS or text[-1] not in _NUMBER_ENDS:
        return text
    if text.isascii() and text.isdecimal() and text[0] != "0" and len(text) < 19:
        return int(text)
    if re.fullmatch(_INT, text):
        return _integer(text)
    if re.fullmatch(_FLOAT, text):
        return _float(text)
    return text


def reads_as_text(text: str) -> bool:
    """Return whether a plain scalar is read as text, and not as a number, a boolean or null."""
    return isinstance(resolve(text), str)


def _integer(text: str) -> Resolved:
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    try:
        value = sign * (int(digits, 8) if re.fullmatch(_OCTAL, digits) else int(digits, 0))
    except ValueError:  # 089, a lone 0x_, or more digits than Python converts
        return _float(text)
    return value if -(2**63) <= value <= LARGEST_INTEGER else _float(text)


def _float(text: str) -> Resolved:
    try:
        value = float(text.replace("_", ""))
    except ValueError:
        return text
    return text if value in (float("inf"), float("-inf")) else value


def float_as_key(value: float) -> str:
    """Return a float as sigs.k8s.io/yaml writes it as a key: the shortest text with the same 32-bit value."""
    if value != value:
        return ".nan"
    short = _in_32_bits(value)
    if short in (float("inf"), float("-inf")):
        return ".inf" if short > 0 else "-.inf"
    texts = (f"{short:.{digits}e}" for digits in range(9))
    mantissa, _, exponent = next(t for t in texts if _in_32_bits(float(t)) == short).partition("e")
    if not -4 <= int(exponent) < 6:
        return f"{mantissa}e{exponent}"
    decimals = len(mantissa.partition(".")[2]) - int(exponent)
    return f"{short:.{max(decimals, 0)}f}"


def _in_32_bits(value: float) -> float:
    from struct import pack, unpack

    try:
        return float(unpack("f", pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def key_name(value: Scalar) -> str | None:
    """Return a key as JSON writes it. None for a placeholder and for null, which JSON has not as a key."""
    if isinstance(value, str):
        return value
    if value is UNKNOWN or value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_as_key(value) if isinstance(value, float) else str(value)


def finite(value: float) -> bool:
    """Return whether a float is a number in JSON: neither infinite nor NaN."""
    return value - value == 0
