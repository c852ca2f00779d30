"""Read standard input. A run over paths does not load this module."""

from __future__ import annotations

import sys
from functools import cache

_LARGEST = 64 << 20
"""The most bytes: it protects against reading a whole dump."""


@cache
def read_standard_input() -> bytes:
    """Return the content of standard input. The result is cached for further calls.

    Raise OSError if it is closed, or if it is larger than 64 MiB.
    """
    if sys.stdin is None:
        raise OSError("standard input is closed")
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise OSError(f"larger than {_LARGEST >> 20} MiB, which is too large for a pipe; save it as a `.yaml` file")
    return data
