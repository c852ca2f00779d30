"""Updates that transition rules of the API server forbid, and objects that are not valid."""

from __future__ import annotations

from nodelint.apiserver import find_faults
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.karpenter.controller import find_launch_blocker
from nodelint.model.releases import releases_match
from nodelint.text import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nodelint.apiserver import Schemas
    from nodelint.model.finding import Span
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.text import Node


class Refusal(NamedTuple):
    """A reason for which the API server does not store an object of a kind."""

    at: Node | Span
    field: str
    message: str
    kind: str


def refusals(old: Object | None, new: Object, release: Version, schemas: Schemas) -> list[Refusal]:
    """Return why the API server refuses an object, or its update from an older one. Empty if it accepts the object.

    A fault that the older object has as well is no reason: the cluster accepted it.
    """
    known = (
        {(problem.path, problem.message) for problem in find_faults(old, release, schemas)}
        if old is not None
        else set()
    )
    found = [
        Refusal(problem.node, problem.path, problem.message, new.kind)
        for problem in find_faults(new, release, schemas)
        if (problem.path, problem.message) not in known
    ]
    if old is not None and not schemas.foreign:
        found += _transitions(old, new, release)
    return found


def why_never_stored(obj: Object, release: Version, schemas: Schemas) -> str | None:
    """Return why no node of an object can run: the API server refuses the object, or Karpenter launches nothing with
    it.

    None if nodes can run.
    """
    name = obj.name if isinstance(obj.name, str) else obj.name_node.unquoted
    fault = find_refusal(obj, release, schemas)
    if fault is not None:
        reason = f"the API server refuses {obj.kind} {name} as it was: {fault}"
    elif not schemas.foreign and (blocker := find_launch_blocker(obj, release)) is not None:
        reason = f"{obj.kind} {name} launched nothing as it was: {blocker.message}"
    else:
        return None
    return f"{reason}; no node of it runs. If the cluster holds an older one, compare with that: `--against REVISION`"


def find_refusal(obj: Object, release: Version, schemas: Schemas) -> str | None:
    """Return the first fault for which the API server refuses an object. None if it accepts the object."""
    fault = next(find_faults(obj, release, schemas), None)
    return fault.message if fault is not None else None


def _transitions(old: Object, new: Object, release: Version) -> Iterator[Refusal]:
    """Yield the transition rules (`oldSelf`) of the release that an update violates."""
    for rule in table("transitions")["rules"]:
        if rule["kind"] != new.kind or not releases_match(rule["releases"], release):
            continue
        steps = rule["field"].split(".")
        was, now = _value(old, steps), _value(new, steps)
        if _BROKEN[rule["rule"]](was, now, old, new):
            at = new.node.find(*steps) or _nearest(new, steps)
            yield Refusal(at, rule["field"], rule["message"], new.kind)


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
