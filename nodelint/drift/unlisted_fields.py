"""Find changed fields that the table of hashes does not list: a release that hashes them may replace nodes."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.apiserver import Schemas
from nodelint.base.types import Any
from nodelint.data import table
from nodelint.drift.hashes import root
from nodelint.drift.hashstructure import Path, Unhashable, fields, render_path
from nodelint.drift.stored_form import left_out, stored_object
from nodelint.model.manifest import Object
from nodelint.model.releases import Version


def raise_for_unknown_fields(old: Object, new: Object, release: Version, schemas: Schemas) -> None:
    """Raise Unhashable if two objects differ in a field that no known release has, or that the table of hashes
    lacks.
    """
    was, now = (_list_unknown(obj, release, schemas) for obj in (old, new))
    changed = [path for path in was | now if was.get(path) != now.get(path)]
    if changed:
        raise Unhashable((), f"not known here: whether Karpenter {release} replaces nodes for {', '.join(changed)}")


def _list_unknown(obj: Object, release: Version, schemas: Schemas) -> dict[str, Any]:
    found = left_out(obj, release, schemas)
    path, struct = root(obj.kind)
    value: Any = stored_object(obj, release, schemas)
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return found | {render_path(at): below for at, below in list_unlisted(struct, value, release, path)}


def list_unlisted(struct: str, value: Any, release: Version, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the fields of a value that the table of hashes lists neither as hashed nor as ignored, with their path
    and value.
    """
    if not isinstance(value, dict):
        return
    known = {field.json: field for field in fields(struct)}
    for name, below in value.items():
        field = known.get(name)
        if field is None:
            yield (*path, name), below
            continue
        kind = field.type.removeprefix("*").removeprefix("[]").removeprefix("*")
        if field.counts(release) and kind in table("hashes")["structs"]:
            items = below if isinstance(below, list) else [below]
            for number, item in enumerate(items):
                at = (*path, name, number) if isinstance(below, list) else (*path, name)
                yield from list_unlisted(kind, item, release, at)
