"""Find objects that Terraform leaves in the cluster as they are: it forgets them, or ignores their changes.

Source: https://developer.hashicorp.com/terraform/language/block/removed, and `ignore_changes` in
https://developer.hashicorp.com/terraform/language/meta-arguments/lifecycle.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.matching import is_same_spec
from nodelint.plan.recreated_objects import has_moved, label_of, list_moves
from nodelint.plan.uncompared import NO_NODE, uncompared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.forms.registry import FormRow
    from nodelint.forms.requests import ObjectOwner
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan.read_side import Read
    from nodelint.plan.recreated_objects import Owners

_WORDS = (b"ignore_changes", b"removed")
_FORGOTTEN = f"a `removed` block with `destroy = false` keeps it in the cluster: Terraform forgets it, and {NO_NODE}"
_IGNORED = f"it changes, but `ignore_changes` names it: Terraform does not apply the change, and {NO_NODE}"
_RESUMED = "`ignore_changes` no longer names it: Terraform applies now what has changed since it was created"

_OwnedObject = tuple["Object", "list[ObjectOwner]"]
"""An object and the blocks that create it."""


def find_kept(was: Read, new: Read) -> tuple[frozenset[int], list[Gap]]:
    """Return the ids of the objects of both sides that Terraform leaves as they are, and a gap for each of them.

    Objects that something else than Terraform also creates are not among them.
    """
    rows = TABLE.of_languages((*was.found.seen, *new.found.seen))
    if not rows or not (_may_keep(was) or _may_keep(new)):
        return frozenset(), []
    before, after = (_list_owned(side, rows) for side in (was, new))
    sides = _list_owners(before), _list_owners(after)
    left_alone: set[int] = set()
    gaps: list[Gap] = []
    for label, old in before.items():
        now = after.get(label, [])
        if not all(owners for _, owners in (*old, *now)):
            continue
        if now:
            reason = _explain_ignored(old, now, sides[0][label], sides[1][label])
        else:
            is_kept = all(_is_forgotten(owner, was, new, rows) for owner in sides[0][label])
            reason = _FORGOTTEN if is_kept else ""
        if reason:
            at = show_place(new, sides[1][label][0].at) if now else show_place(was, sides[0][label][0].at)
            gaps.append(uncompared(at, label, reason, reason == _RESUMED))
            left_alone |= set() if reason == _RESUMED else {id(obj) for obj, _ in (*old, *now)}
    return frozenset(left_alone), gaps


def _is_forgotten(owner: ObjectOwner, was: Read, new: Read, rows: Sequence[FormRow]) -> bool:
    """Return whether a `removed` block in the block's folder, or in a folder of its callers, keeps its object."""
    return has_moved(owner, (), list_moves(was, new, ({owner.address: [owner]}, {}), rows))


def _explain_ignored(
    old: Sequence[_OwnedObject],
    now: Sequence[_OwnedObject],
    before: Sequence[ObjectOwner],
    after: Sequence[ObjectOwner],
) -> str:
    """Return what `ignore_changes` does to objects of one kind and name. Empty if it does nothing."""
    if all(owner.ignores for owner in after):
        is_same = all(any(is_same_spec(was, obj) for obj, _ in now) for was, _ in old)
        return "" if is_same and len(old) == len(now) else _IGNORED
    is_resumed = any(owner.ignores for owner in before) and not any(owner.ignores for owner in after)
    return _RESUMED if is_resumed else ""


def _may_keep(side: Read) -> bool:
    for path in side.found.seen:
        try:
            if path.endswith(TABLE.endings) and any(word in gate.read_listed(path) for word in _WORDS):
                return True
        except OSError:
            continue
    return False


def _list_owned(side: Read, rows: Sequence[FormRow]) -> dict[str, list[_OwnedObject]]:
    """Return the objects of a side with the blocks that create each, by kind and name."""
    objects = list(side.inventory.objects(foreign=True))
    owners: dict[int, list[ObjectOwner]] = {}
    for row in rows:
        for obj, owner in row.load().list_owners(objects, side.found.sources):
            owners.setdefault(id(obj), []).append(owner)
    found: dict[str, list[_OwnedObject]] = {}
    for obj in objects:
        found.setdefault(label_of(obj), []).append((obj, owners.get(id(obj), [])))
    return found


def _list_owners(owned: dict[str, list[_OwnedObject]]) -> Owners:
    return {label: [owner for _, owners in found for owner in owners] for label, found in owned.items()}
