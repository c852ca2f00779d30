"""The output of `nodelint hash`, as text and JSON."""

from __future__ import annotations

from collections import Counter

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import find_object_place, label_of, shown_label
from nodelint.model.messages import counted
from nodelint.report.all_clear import PAIR, say_nothing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from nodelint.drift.claim_status import ClaimStatus
    from nodelint.drift.object_hashes import ObjectHash
    from nodelint.model.gap import Gap

VERSION = 1
"""The version of the JSON that `hashes_json` gives."""


def hashes_json(rows: Sequence[ObjectHash]) -> dict[str, Any]:
    """Return the hashes as plain data for JSON; hashes are strings, as in Kubernetes."""
    return {"version": VERSION, "objects": [_row_json(row) for row in rows]}


def _row_json(row: ObjectHash) -> dict[str, Any]:
    record: dict[str, Any] = {
        "kind": row.obj.kind,
        "name": row.obj.name if isinstance(row.obj.name, str) else None,
        "path": find_object_place(row.obj)[0],
        **({"with": label} if (label := label_of(row.obj.source)) else {}),
        "karpenter": str(row.release) if row.release is not None else None,
        "annotation": row.annotation,
        "hash": str(row.hashed.value) if row.hashed is not None else None,
        "hashVersion": row.version,
    }
    if row.reason is not None:
        record["reason"] = row.reason
    if row.hashed is not None and row.hashed.without_ca:
        record["withoutCABundle"] = True
    if row.left_out:
        record["leftOut"] = list(row.left_out)
    if row.kubelet is not None:
        record["kubeletHash"] = str(row.kubelet)
    if row.nodes is not None:
        record["nodeClaims"] = [
            {
                "name": status.claim.name,
                "state": status.state,
                "fields": list(status.fields),
                **({"note": status.note} if status.note else {}),
                "drifted": status.claim.drifted,
            }
            for status in row.nodes
        ]
    return record


def hashes_text(rows: Sequence[ObjectHash], files: int, gaps: Collection[Gap] = ()) -> str:
    """Return the hashes in lines, grouped by file."""
    if not rows:
        where = f"in {counted(files, 'file')}"
        return f"{say_nothing('hash', PAIR, where, gaps)}."
    width = max(len(row.obj.label) for row in rows)
    releases = {row.release: row.stated for row in reversed(rows) if row.release is not None}
    lines: list[str] = []
    path = None
    for row in rows:
        label = shown_label(row.obj.source)
        here = find_object_place(row.obj)[0] + (f" with {label}" if label else "")
        if here != path:
            path = here
            lines += [""] * bool(lines) + [printable(path)]
        lines += _row_text(row, width, len(releases) > 1)
    lines += [""] * bool(releases)
    for release, stated in sorted(releases.items()):
        lines.append(f"Karpenter {release}" + (f", as {printable(stated)} states it" if stated else ""))
    return "\n".join(lines)


def _row_text(row: ObjectHash, width: int, several: bool) -> Iterator[str]:
    label = f"  {printable(row.obj.label):<{width}}"
    if row.hashed is None:
        yield f"{label}  no hash: {row.reason}"
        return
    without = "  without the CA bundle" if row.hashed.without_ca else ""
    without += f"  Karpenter {row.release}" if several else ""
    yield f"{label}  {row.annotation:<35} {row.hashed.value:>20}  {row.version}{without}"
    if row.left_out:
        fields = ", ".join(row.left_out)
        lacking = f"without {printable(fields)}: not known to nodelint, and perhaps part of the hash"
        yield f"  {'':<{width}}  {lacking}"
    if row.kubelet is not None:
        yield f"  {'':<{width}}  {'kubelet, on NodeClaims only':<35} {row.kubelet:>20}"
    if row.nodes is not None:
        yield from _nodes_text(row.nodes, " " * (width + 4))


_STATES = {
    "same": "equal to the hash of this manifest",
    "differs": "another hash",
    "other-version": "a hash of another version, which is not compared",
    "no-hash": "no hash to compare with",
}


def _nodes_text(nodes: Sequence[ClaimStatus], indent: str) -> Iterator[str]:
    if not nodes:
        yield f"{indent}no NodeClaims"
    groups = Counter((status.state, status.fields, status.note) for status in nodes)
    for (state, fields, note), count in groups.most_common():
        by = f", by {', '.join(fields)}" if fields else f"; {note}" if note else ""
        yield f"{indent}{counted(count, 'NodeClaim')}: {_STATES[state]}{printable(by)}"
        if state == "differs":
            yield from (
                f"{indent}  {status.claim.name}"
                for status in nodes
                if (status.state, status.fields, status.note) == (state, fields, note)
            )
