"""Updates that the API server refuses although it accepts the object before and after: rules with `oldSelf`."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.model.releases import releases_match
from nodelint.text import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.text import Node


class BrokenTransition(NamedTuple):
    """A field whose change the API server refuses, with its place in the new object."""

    at: Node
    field: str
    message: str


def find_broken_transitions(old: Object, new: Object, release: Version) -> Iterator[BrokenTransition]:
    """Yield the transition rules (`oldSelf`) of the release that an update violates."""
    for rule in table("transitions")["rules"]:
        if rule["kind"] != new.kind or not releases_match(rule["releases"], release):
            continue
        steps = rule["field"].split(".")
        was, now = _value(old, steps), _value(new, steps)
        if _BROKEN[rule["rule"]](was, now, old, new):
            at = new.node.find(*steps) or _nearest(new, steps)
            yield BrokenTransition(at, rule["field"], rule["message"])


def _nearest(obj: Object, steps: list[str]) -> Node:
    """Return the key of the innermost existing mapping on a path. The object's name if there is none."""
    node = obj.node
    at = obj.name_node
    for step in steps:
        inner = node.get(step)
        if inner is None:
            break
        at, node = node.key(step) or inner, inner
    return at


def _value(obj: Object, steps: list[str]) -> Any:
    node = obj.node.find(*steps)
    return None if node is None else node.plain()


def _changed(was: Any, now: Any, _: Object, __: Object) -> bool:
    # A placeholder may have the same value as before.
    return was is not None and now is not None and UNKNOWN not in (was, now) and was != now


def _set_or_unset(was: Any, now: Any, _: Object, __: Object) -> bool:
    return (was is None) != (now is None)


def _role_or_profile(_: Any, __: Any, old: Object, new: Object) -> bool:
    before, after = ([field for field in _IDENTITY if _value(obj, ["spec", field]) is not None] for obj in (old, new))
    # An object without either was never stored, so that there is no update.
    return bool(before) and not set(before) & set(after)


_IDENTITY = ("role", "instanceProfile")
_BROKEN = {"same": _changed, "set-or-unset": _set_or_unset, "role-or-profile": _role_or_profile}
