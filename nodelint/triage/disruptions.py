"""The nodes that Karpenter disrupts voluntarily, from the lines of a log."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple

MOST = 1000
"""The most nodes that are kept. The counts include all nodes."""

_LINE = re.compile(
    rb"disrupting (?:node\(s\)|nodeclaim\(s\)|via (\w{1,30}))(?:.{0,4000}?\"reason\":\s?\"(\w{1,30})\")?"
)
"""The log line about a disruption. Since 1.1 it has a field `reason`; before, the reason is after `via`."""

_EXPIRY = b"deleting expired nodeclaim"
"""The log line about a NodeClaim that has reached its `expireAfter`."""

_NODE = re.compile(rb'"Node":\s?\{"name":\s?"([\w.-]{1,253})"')
_CLAIM = re.compile(rb'"NodeClaim":\s?\{"name":\s?"([\w.-]{1,253})"')
_TYPE = re.compile(rb'"instance-type":\s?"([\w.-]{1,40})"')
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")


_OF_POOL = re.compile(r"(.{1,56})-[a-z0-9]{5}")
"""The name of a NodeClaim: that of its NodePool and five random characters. A longer name may be cut."""


class Disrupted(NamedTuple):
    """A disrupted node: the reason in lower case, and the data of its line; empty if the line lacks them."""

    reason: str
    time: str
    node: str
    claim: str
    instance_type: str

    @property
    def pool(self) -> str:
        """Return the NodePool after which the NodeClaim is named. Empty if that is not known."""
        named = _OF_POOL.fullmatch(self.claim)
        return named[1] if named is not None else ""


def read_disruption(raw: bytes) -> tuple[str, list[Disrupted]] | None:
    """Return the reason of a disruption line, and the nodes that it names. None for any other line."""
    found = _LINE.search(raw) if b"disrupting " in raw else None
    if found is None and _EXPIRY not in raw:
        return None
    reason = (found[1] or found[2] or b"").decode().lower() if found is not None else "expired"
    stamp = _TIME.search(raw)
    time = stamp[0].decode() if stamp is not None else ""
    columns = [[name.decode() for name in pattern.findall(raw)] for pattern in (_NODE, _CLAIM, _TYPE)]
    count = max(map(len, columns))
    # A line of another form may lack one of the columns: then it is not known which node has which value.
    nodes, claims, types = (column if len(column) == count else [""] * count for column in columns)
    return reason, [
        Disrupted(reason, time, *names) for names in zip(nodes[:MOST], claims[:MOST], types[:MOST], strict=True)
    ]
