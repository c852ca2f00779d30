"""Read standard input; a run over paths does not load this module."""

from __future__ import annotations

import sys
from functools import cache

_LARGEST = 64 << 20
"""Bytes: a guard against reading a dump whole."""


@cache
def read_standard_input() -> bytes:
    """Return what standard input brought; the same where a command asks again.

    Raises OSError where it is closed, and for more than 64 MiB.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed")
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise OSError(f"larger than {_LARGEST >> 20} MiB, which is too large for a pipe; save it as a `.yaml` file")
    return data
