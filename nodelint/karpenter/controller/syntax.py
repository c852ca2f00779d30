"""Small grammars of Kubernetes and Go that several checks read.

The checks of every requirement use no regular expressions: to compile these takes longer than to check one file.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DURATION = r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
_STEP = r"(?<![0-9.])([0-9]*+\.?[0-9]*+)(ns|us|µs|μs|ms|s|m|h)"
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}

LONGEST = 2562047 * 3600.0
"""The longest duration of Go in seconds, in whole hours: Go counts nanoseconds in 63 bits."""


@lru_cache(maxsize=1 << 12)
def label_value_fault(text: str) -> str | None:
    """Return why a text is not a valid label value (at most 63 letters, digits, `-`, `_`, `.`). None if it is
    valid.
    """
    if len(text) > 63:
        return f"is longer than 63 characters ({len(text)})"
    return None if not text or _is_label(text) else "is not a valid label value"


@lru_cache(maxsize=1 << 12)
def qualified_name_fault(text: str) -> str | None:
    """Return why a text is not a qualified name (`name` or `prefix/name`). None if it is one."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return "has more than one slash"
    if slash and not _is_subdomain(prefix):
        return "has no DNS name before its slash"
    if len(prefix) > 253:
        return f"has more than 253 characters before its slash ({len(prefix)})"
    if len(name) > 63:
        return f"has a name longer than 63 characters ({len(name)})"
    if not name:
        return "has nothing behind its slash" if slash else "is empty"
    return None if _is_label(name) else "is not a valid label key"


def is_one_step(text: str) -> bool:
    """Return whether a text is a whole number of hours, minutes or seconds, like most durations: `720h`."""
    return text.endswith(("h", "m", "s")) and text.isascii() and text[:-1].isdigit()


def seconds(text: str) -> float | None:
    """Return a duration in seconds, as Go's time.ParseDuration reads it. None if Go refuses the text."""
    if is_one_step(text):
        length = float(text[:-1]) * _SECONDS[text[-1]]
        return length if length <= LONGEST else None
    if not re.fullmatch(_DURATION, text):
        return None
    total = sum(float(number) * _SECONDS[unit] for number, unit in re.findall(_STEP, text))
    return (-total if text.startswith("-") else total) if total <= LONGEST else None


def _is_label(text: str) -> bool:
    ends = text[0].isalnum() and text[-1].isalnum()
    return ends and text.isascii() and text.replace("-", "").replace(".", "").replace("_", "").isalnum()


@lru_cache(maxsize=1 << 8)
def _is_subdomain(text: str) -> bool:
    """Return whether a text is a DNS subdomain: lower-case names of letters, digits and hyphens, joined by dots."""
    return all(
        part.isascii() and part.replace("-", "").isalnum() and part == part.lower() and part[0] != "-" != part[-1]
        for part in text.split(".")
    )
