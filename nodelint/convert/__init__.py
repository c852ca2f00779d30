"""Convert objects of removed and old APIs to v1, with edits that leave comments and all other text unchanged.

`convert` converts one object. Kubelet settings move from a NodePool to its class. The pools and the class that must
change together are then changed by the same edits, whichever of them is converted.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from nodelint.apiserver.value_suggestions import duration_meant
from nodelint.convert.members import Conversion, Member, kubelet_of_class, kubelet_to_move, migration_of, together
from nodelint.convert.migrate import Blocked, field, kubelet_of, plain_with_placeholders, rename_field, same
from nodelint.convert.relations import Relations, is_class, is_old, is_pool, reference_path
from nodelint.convert.retired import selector_terms, settle
from nodelint.convert.rewrite import Path
from nodelint.edits import NotEditable
from nodelint.model.finding import Edit
from nodelint.model.manifest import Object
from nodelint.model.manifest_terms import text

__all__ = [
    "Conversion",
    "conversions",
    "convert",
    "settled",
    "settled_kubelet",
    "settled_of_provisioner",
    "settled_selector",
]


def convert(obj: Object, run_objects: Sequence[Object]) -> Conversion:
    """Return the conversion of an object to v1. `run_objects` are the objects that it may refer to, or that may refer
    to it.

    An object that is v1 already, or of an API that never existed, has no edits. Nothing is raised.
    """
    return conversions(obj, Relations([obj, *(other for other in run_objects if not _same_object(other, obj))]))[
        id(obj)
    ]


def conversions(obj: Object, relations: Relations) -> dict[int, Conversion]:
    """Return the conversions, by `id`, of an object and of all objects that must become v1 together with it."""
    if not is_old(obj):
        return {id(obj): Conversion()}
    pair = relations.pair(obj)
    found = {id(obj): _single(obj, relations) for obj in pair}
    stuck = next((obj for obj in pair if found[id(obj)].blocked is not None), None)
    if stuck is not None:
        for pair_object in pair:
            own = found[id(pair_object)]
            if own.blocked is None:
                why = f"it has to become v1 together with {stuck.label}, which cannot: {found[id(stuck)].blocked}"
                found[id(pair_object)] = Conversion(blocked=why, alone=own.edits)
    elif len(pair) > 1:
        edits = _joined(pair, [found[id(obj)].edits for obj in pair], relations)
        found = {key: own._replace(edits=edits) for key, own in found.items()}
    elif obj.kind == "Provisioner" and not obj.partial and not relations.classes_of(obj):
        name = plain_with_placeholders(obj.node.find(*reference_path(obj), "name") or obj.node)
        named = f"the AWSNodeTemplate {name}" if isinstance(name, str) else "the AWSNodeTemplate"
        why = f"{named} that it names is not among the files: both become v1 together, or neither"
        found[id(obj)] = Conversion(blocked=found[id(obj)].blocked or why, alone=found[id(obj)].edits)
    return found


def _single(obj: Object, relations: Relations) -> Conversion:
    try:
        return _converted(obj, relations)
    except Blocked as reason:
        return Conversion(blocked=str(reason), shown=_shown_together(obj, relations) or _partial_edits(obj))
    except NotEditable as error:
        return Conversion(blocked=error.reason)


def _shown_together(obj: Object, relations: Relations) -> Sequence[Edit]:
    """Return the edits of a class whose only problem is a missing role, together with those of the pools whose
    kubelet settings become settings of the class. Empty for any other class.
    """
    cls = obj if is_class(obj) else relations.class_of(obj)
    pools = [pool for pool in relations.pools_of(cls) if kubelet_to_move(pool)] if cls is not None else []
    unblocked = _unblocked(cls) if cls is not None else None
    if cls is None or unblocked is None or all(pool is not obj for pool in (cls, *pools)):
        return ()
    try:
        return together(obj, _shared(pools[0], cls, relations, unblocked)).edits if pools else ()
    except (Blocked, NotEditable):
        return ()


def _partial_edits(obj: Object) -> Sequence[Edit]:
    """Return the edits of an object without the fields that block it, if the rest can be judged alone. Empty
    otherwise.
    """
    value = _unblocked(obj)
    if value is None:
        return ()
    try:
        return together(obj, [Member(obj, value=value)]).edits
    except (Blocked, NotEditable):
        return ()


def _unblocked(obj: Object) -> dict[str, Any] | None:
    """Return the value of an object without the fields that may block its conversion. None if it has no such fields.

    These are kubelet settings that no class accepts, an inline provider, a missing class, and a missing role.
    """
    value = plain_with_placeholders(obj.node)
    spec = value.get("spec")
    if obj.partial or not isinstance(spec, dict):
        return None
    before = copy.deepcopy(spec)
    if obj.kind == "Provisioner":
        spec.pop("kubeletConfiguration", None)
        if spec.pop("provider", None) or "providerRef" not in spec:
            spec["providerRef"] = {"name": "default"}
    elif obj.kind == "AWSNodeTemplate":
        if not spec.get("role") and not spec.get("instanceProfile"):
            spec["instanceProfile"] = "default"
    elif is_pool(obj):
        field(field(spec, "template"), "spec").pop("kubelet", None)
    return None if spec == before else value


def _joined(pair: Sequence[Object], edits: Sequence[Sequence[Edit]], relations: Relations) -> Sequence[Edit]:
    """Return the edits of objects that change together: the edits of each, if they are in different documents."""
    if len({(id(obj.source), obj.document.start) for obj in pair}) == len(pair):
        return tuple(dict.fromkeys(edit for edits_of_pair in edits for edit in edits_of_pair))
    pool = next((obj for obj in pair if is_pool(obj) and kubelet_to_move(obj)), None)
    cls = relations.class_of(pool) if pool is not None else None
    shared = _shared(pool, cls, relations) if pool is not None and cls is not None else []
    known = {id(member.obj) for member in shared}
    return together(pair[0], [*shared, *(Member(obj) for obj in pair if id(obj) not in known)]).edits


def settled(obj: Object, source: Path, target: Path) -> list[Edit]:
    """Return the edits that move a field of a v1 object from the path `source` to the path `target`.

    If `target` is the parent of `source`, the content of the field replaces the field. Empty if the target is in use,
    or if the text cannot be moved.
    """
    value = plain_with_placeholders(obj.node)
    parents = [value]
    for name in source[:-1]:
        parents.append(field(parents[-1], name))
    if source[-1] not in parents[-1]:
        return []
    home: Any = value
    moved = parents[-1].pop(source[-1])
    if target == source[:-1]:
        if not isinstance(moved, dict) or moved.keys() & parents[-1].keys():
            return []
        parents[-1].update(moved)
    else:
        for name in target[:-1]:
            home = home.setdefault(name, {}) if isinstance(home, dict) else None
        if not isinstance(home, dict) or target[-1] in home:
            return []
        home[target[-1]] = (isinstance(moved, str) and duration_meant(moved)) or moved
        for depth in range(len(source) - 1, 1, -1):
            if not parents[depth]:
                del parents[depth - 1][source[depth - 1]]
    return _settled(obj, [Member(obj, value=value, moved=(source, target))])


def settled_of_provisioner(obj: Object, path: Path) -> list[Edit]:
    """Return the edits that replace a field of a Provisioner in a v1 NodePool by its v1 equivalent. Empty if v1 has
    none.
    """
    value = plain_with_placeholders(obj.node)
    try:
        settle(value, path)
    except Blocked:
        return []
    return _settled(obj, [Member(obj, value=value)])


def settled_selector(obj: Object, selector: str) -> list[Edit]:
    """Return the edits that replace a selector of an AWSNodeTemplate in an EC2NodeClass by the selector terms of v1.

    Empty if the terms exist already, or if the class has no such selector.
    """
    value = plain_with_placeholders(obj.node)
    spec = field(value, "spec")
    try:
        if f"{selector}Terms" in spec or selector not in spec:
            return []
        rename_field(spec, selector, f"{selector}Terms", selector_terms(spec[selector], selector))
    except Blocked:
        return []
    return _settled(obj, [Member(obj, value=value)])


def settled_kubelet(pool: Object, run_objects: Sequence[Object]) -> list[Edit]:
    """Return the edits that move the kubelet settings of a v1 NodePool to its class.

    Empty if the class has kubelet settings, is shared with other pools, or is not known.
    """
    value = plain_with_placeholders(pool.node)
    known = Relations([pool, *(other for other in run_objects if not _same_object(other, pool))])
    cls, settings = known.class_of(pool), kubelet_of(pool.kind, value)
    if cls is None or settings is None or kubelet_of_class(cls) is not None or len(known.pools_of(cls)) > 1:
        return []
    del field(field(field(value, "spec"), "template"), "spec")["kubelet"]
    return _settled(pool, [Member(pool, value=value), Member(cls, settings, pool)])


def _settled(obj: Object, members: list[Member]) -> list[Edit]:
    try:
        return list(together(obj, members).edits)
    except (Blocked, NotEditable):
        return []


def _converted(obj: Object, relations: Relations) -> Conversion:
    if is_class(obj):
        pools = [p for p in relations.pools_of(obj) if kubelet_to_move(p)]
        if not pools:
            return together(obj, [Member(obj)])
        try:
            return together(obj, _shared(pools[0], obj, relations))
        except (Blocked, NotEditable):
            # The pools get this note and are not converted. The class can be converted without them.
            return together(obj, [Member(obj)])
    if not kubelet_to_move(obj):
        return together(obj, [Member(obj)])
    cls = relations.class_of(obj)
    if cls is None:
        raise Blocked(f"its kubelet settings belong in its EC2NodeClass, {_why_no_class(obj, relations)}")
    return together(obj, _shared(obj, cls, relations))


def _why_no_class(pool: Object, relations: Relations) -> str:
    """Return why the class of a pool is not known."""
    name = text(pool.node.find(*reference_path(pool), "name"))
    if not isinstance(name, str) or not name:
        return "and it names none" if not name else "whose name is a placeholder"
    several = len(relations.classes_of(pool))
    return f"and {several} define `{name}`" if several else f"and no file that was read defines `{name}`"


def _shared(pool: Object, cls: Object, relations: Relations, unblocked: dict[str, Any] | None = None) -> list[Member]:
    """Return the pools with kubelet settings for a class, and the class. Raise Blocked if the settings differ.

    `unblocked` replaces the value of the class.
    """
    settings = kubelet_to_move(pool)
    present = kubelet_of_class(cls)
    members = []
    for other in relations.pools_of(cls):
        if not same(kubelet_to_move(other) if is_old(other) else present, settings):
            raise Blocked(f"the NodePools of {cls.label} differ in kubelet settings: give each a class of its own")
        if is_old(other):
            members.append(Member(other))
    if present is not None and not same(present, settings):
        raise Blocked(f"{cls.label} has other kubelet settings than the pool: give the pool a class of its own")
    try:
        migration_of(Member(cls, value=copy.deepcopy(unblocked)))
    except Blocked:
        raise Blocked(f"its kubelet settings go to {cls.label}, which cannot be converted") from None
    members.append(Member(cls, settings, pool, unblocked))
    return members


def _same_object(obj: Object, other: Object) -> bool:
    return obj is other or (obj.source is other.source and obj.node.start == other.node.start)
