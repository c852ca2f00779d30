"""What could not be judged, where, and why: a third answer beside "wrong" and "not wrong"."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple


class Gap(NamedTuple):
    """Something that was not judged: a file or folder, the line (from 1; 0 for a folder), and why.

    `reason` is a sentence without its full stop. `fault` is the error of nodelint itself that is to blame, if one is.
    `decides`: it may change a verdict; else it is a remark.
    """

    path: str
    line: int
    reason: str
    fault: str = ""
    decides: bool = True
