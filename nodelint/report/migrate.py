"""The changes of a migration to or from EKS Auto Mode, as text and as JSON (schemas/migrate.schema.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nodelint.base.printable import printable, printable_path
from nodelint.migrate import MovedFiles, MoveNote, MoveTarget
from nodelint.migrate.types import PoolTypes
from nodelint.model.messages import counted
from nodelint.report.all_clear import say_all_clear, say_nothing
from nodelint.report.style import TextStyle, wrap
from nodelint.report.unified_diff import unified

_TITLES = (
    ("by-hand", "To change by hand"),
    ("dropped", "Dropped, because the new kind has no such field"),
    ("added", "Added"),
    ("differs", "Works differently afterwards"),
)
_NAMES = {"auto-mode": "EKS Auto Mode", "karpenter": "Karpenter"}


def migrate_text(
    made: MovedFiles, target: MoveTarget, types: Sequence[PoolTypes], written: bool, look: TextStyle
) -> str:
    """Return the notes by kind, the pools whose instance types change, and a summary."""
    lines: list[str] = []
    for kind, title in _TITLES:
        notes = [note for note in made.notes if note.kind == kind]
        if notes:
            lines += [look.style(title, bold=True), ""]
            lines += [row for same in _group_notes(notes) for row in wrap(_sentence(same), look.width, "  ", "    ")]
            lines.append("")
    changed = list(dict.fromkeys(_type_lines(types)))
    if changed:
        lines += [look.style("Instance types", bold=True), ""]
        lines += [row for line in changed for row in wrap(line, look.width, "  ", "    ")]
        lines.append("")
    elif types:
        lines += ["Each NodePool can launch the same instance types as before.", ""]
    return "\n".join([*lines, _sum(made, target, written)])


def _group_notes(notes: Sequence[MoveNote]) -> Iterable[list[MoveNote]]:
    """Return the notes in groups that differ only in their place: a class is rendered for several clusters."""
    groups: dict[tuple[str, str, str], list[MoveNote]] = {}
    for note in notes:
        groups.setdefault((note.object, note.field, note.message), []).append(note)
    return groups.values()


def _sentence(same: Sequence[MoveNote]) -> str:
    """Return what notes that differ only in their place say, with the places."""
    note = same[0]
    places = list(dict.fromkeys(f"{printable_path(other.path)}:{other.line}" for other in same))
    more = f" and {counted(len(places) - _MOST_PLACES, 'more place')}" if len(places) > _MOST_PLACES else ""
    place = ", ".join(places[:_MOST_PLACES]) + more
    about = " ".join(part for part in (note.object, note.field) if part)
    return f"{place} {printable(about)}: {note.message}" if about else f"{place} {note.message}"


def _type_lines(types: Iterable[PoolTypes]) -> Iterator[str]:
    for pool in types:
        if not pool.is_known:
            yield f"{pool.pool}: not known: {pool.reason}"
        elif pool.before is not None and pool.after is not None and (pool.lost or pool.gained):
            numbers = f"{len(pool.before):,} before, {len(pool.after):,} after"
            parts = [f"{name} {_families(names)}" for name, names in _changes(pool) if names]
            none = "" if pool.after else "; nothing is launched for it after the move: leave this pool as it is"
            yield f"{pool.pool}: {numbers}; {'; '.join(parts)}{none if pool.before else ''}"


def _changes(pool: PoolTypes) -> tuple[tuple[str, list[str]], ...]:
    return ("no longer possible:", pool.lost), ("new:", pool.gained)


_MOST_FAMILIES = 8
_MOST_PLACES = 4


def _families(names: Sequence[str]) -> str:
    """Return the number of instance types of the first families, and how many families more there are."""
    counts = Counter(name.partition(".")[0] for name in names)
    shown = [f"{counted(number, 'type')} of {family}" for family, number in sorted(counts.items())]
    more = f" and {len(shown) - _MOST_FAMILIES} more families" if len(shown) > _MOST_FAMILIES else ""
    return ", ".join(shown[:_MOST_FAMILIES]) + more


def _sum(made: MovedFiles, target: MoveTarget, written: bool) -> str:
    if not made.moved and not made.changed:
        other = "EKS Auto Mode" if target == "karpenter" else "Karpenter"
        return f"{say_nothing('move', f'no NodePool or class of {other}', 'among the files', made.gaps)}."
    counts = Counter(note.kind for note in made.notes)
    verb = "Moved" if written else "Would move"
    objects, files = counted(len(made.moved), "object"), counted(len(made.changed), "file")
    left = [counted(counts["by-hand"], "change") + " left to you"] if counts["by-hand"] else []
    left += [counted(counts["dropped"], "field") + " dropped"] if counts["dropped"] else []
    rest = f"; {', '.join(left)}" if left else f"; {say_all_clear('migrate', made.gaps)}"
    if not made.moved:
        verb = "Changed" if written else "Would change"
        return f"{verb} names in {files} to those of {_NAMES[target]}; no NodePool or class is among the files{rest}."
    return f"{verb} {objects} to {_NAMES[target]} in {files}{rest}."


def migrate_json(made: MovedFiles, target: MoveTarget, types: Sequence[PoolTypes], written: bool) -> dict[str, Any]:
    """Return the migration as plain data: files with diffs, objects, notes, and the instance types of pools."""
    return {
        "version": 1,
        "target": target,
        "written": written,
        "files": [{"path": new.path, "diff": "".join(unified(old, new))} for old, new in made.changed],
        "objects": [
            {"object": obj.label, "path": obj.source.path, "line": obj.source.position(obj.name_node.start).line}
            for obj in made.moved
        ],
        "notes": [
            {name: getattr(note, name) for name in ("kind", "object", "field", "path", "line", "message", "value")}
            for note in made.notes
        ],
        "pools": [
            {
                "pool": pool.pool,
                "before": None if pool.before is None else len(pool.before),
                "after": None if pool.after is None else len(pool.after),
                "lost": pool.lost if pool.is_known else None,
                "gained": pool.gained if pool.is_known else None,
                "reason": pool.reason or None,
            }
            for pool in types
        ],
    }
