"""Objects on both sides that a different Terraform block creates: they are destroyed and created again."""

from __future__ import annotations

import os
import re
from collections import Counter

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.registry import TABLE
from nodelint.model.folders import path_below
from nodelint.plan.gone_appliers import show_place
from nodelint.plan.matching import written_name
from nodelint.plan.uncompared import uncompared

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nodelint.forms.registry import FormRow
    from nodelint.forms.requests import AddressMove, ObjectOwner
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan.read_side import Read

_KEY = re.compile(r"\[[^\[\]]*\]")
_MOST_MOVES = 20
Owners = dict[str, list["ObjectOwner"]]
"""The blocks that create the objects of a side, by kind and name of the object."""


def find_recreated(was: Read, new: Read, stopped: Collection[str] = ()) -> Iterator[Gap]:
    """Yield the objects of both sides whose Terraform address changes without a `moved` block.

    `stopped` are the paths of root modules that Terraform refuses on one side.
    """
    rows = TABLE.of_languages((*was.found.seen, *new.found.seen))
    before = _list_owners(was, rows) if rows else {}
    if not before:
        return
    after = _list_owners(new, rows)
    counts = [Counter(map(label_of, side.inventory.objects(foreign=True))) for side in (was, new)]
    moves: list[AddressMove] | None = None
    for label, owners in before.items():
        now = after.get(label, [])
        gone = Counter(map(_key_of, owners)) - Counter(map(_key_of, now))
        if not gone or counts[1][label] < counts[0][label]:
            continue
        come = [owner for owner in now if _key_of(owner) not in set(map(_key_of, owners))]
        moves = list_moves(was, new, (before, after), rows) if moves is None else moves
        lost = [o for o in owners if gone[_key_of(o)] and not has_moved(o, come, moves)]
        lost = [o for o in lost if path_below(o.folders[-1], was.root) not in stopped]
        if lost and (come or not now) and not _is_unread(lost[0], was, new):
            owner = come[0] if come else None
            place = show_place(new, owner.at) if owner is not None else show_place(was, lost[0].at)
            same = (obj for obj in new.inventory.objects(foreign=True) if label_of(obj) == label)
            yield uncompared(place, label, _explain(lost[0], owner, label), True)._replace(object=next(same, None))


def _is_unread(owner: ObjectOwner, was: Read, new: Read) -> bool:
    """Return whether the new side has an unreadable file in a folder of the block that created an object."""
    unread = {os.path.dirname(os.path.abspath(path)) for path, _ in new.found.unreadable}
    folders = (os.path.join(new.root, path_below(folder, was.root)) for folder in owner.folders)
    return any(os.path.abspath(folder) in unread for folder in folders)


def _explain(old: ObjectOwner, new: ObjectOwner | None, label: str) -> str:
    what = "deletes it with its nodes"
    if label.startswith("EC2NodeClass"):
        what = "deletes it, which waits until no node uses it, and pools that use it launch nothing until it is back"
    if new is not None and new.address == old.address:
        move = f"{old.state} -> {new.state}"
        return f"`{old.address}` becomes another release ({move}): Terraform uninstalls the first and {what}"
    if new is None:
        keep = "a `removed` block or `terraform state rm` keeps it"
        return f"`{old.address}`, which made it, is gone: unless {keep}, Terraform {what}"
    keep = "a `moved` block or `terraform state mv` says that both are the same"
    return f"`{old.address}` made it, and `{new.address}` makes it now: unless {keep}, Terraform {what}"


def label_of(obj: Object) -> str:
    """Return the kind and the name of an object as it is written."""
    return f"{obj.kind} {written_name(obj)}"


def _key_of(owner: ObjectOwner) -> tuple[str, str]:
    return owner.address, owner.state


def _list_owners(side: Read, rows: Sequence[FormRow]) -> Owners:
    found: Owners = {}
    objects = list(side.inventory.objects(foreign=True))
    for row in rows:
        for obj, owner in row.load().list_owners(objects, side.found.sources):
            owners = found.setdefault(label_of(obj), [])
            if owner not in owners:
                owners.append(owner)
    return found


def list_moves(was: Read, new: Read, sides: tuple[Owners, Owners], rows: Sequence[FormRow]) -> list[AddressMove]:
    """Return the moves that the new side states, in the folders of blocks that create objects on either side."""
    folders = [
        os.path.abspath(os.path.join(new.root, path_below(folder, side.root)))
        for side, owners in zip((was, new), sides, strict=True)
        for found in owners.values()
        for owner in found
        for folder in owner.folders
    ]
    there = [folder for folder in dict.fromkeys(folders) if gate.is_folder(folder)]
    return [move for row in rows for move in row.load().list_moves(there, new.found.sources)]


def has_moved(old: ObjectOwner, come: Sequence[ObjectOwner], moves: Sequence[AddressMove]) -> bool:
    """Return whether moves lead from an address to a new one, or keep the object. Instance keys do not count."""
    wanted = {_KEY.sub("", owner.address) for owner in come}
    first = _KEY.sub("", old.address)
    pending, known = [first], set[str]()
    while pending and len(known) < _MOST_MOVES:
        address = pending.pop()
        for move in moves:
            was = _KEY.sub("", move.old)
            start = _find_steps(address, was)
            if start is None:
                continue
            if move.new is None:
                return True
            moved = address[:start] + _KEY.sub("", move.new) + address[start + len(was) :]
            if moved in wanted:
                return True
            if moved not in known:
                known.add(moved)
                pending.append(moved)
    return False


def _find_steps(address: str, steps: str) -> int | None:
    """Return the offset of whole steps in an address. None if the address does not contain them."""
    found = re.search(rf"(?<![\w-]){re.escape(steps)}(?![\w-])", address)
    return found.start() if found is not None else None
