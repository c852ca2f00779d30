"""Objects of retired and old APIs become v1, by edits that leave comments and everything else as they are.

`convert` is about one object. Kubelet settings move from a NodePool to the class it names; then the pools and
the class that have to change together are changed by the same edits, whichever of them is asked about.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from nodelint.apiserver.meant import duration_meant
from nodelint.edits import NotEditable, dialect_of
from nodelint.karpenter.convert.migrate import (
    Blocked,
    Migration,
    field,
    held,
    kubelet_of,
    node_class,
    node_pool,
    same,
)
from nodelint.karpenter.convert.relations import Relations, is_class, is_old, is_pool, reference_path
from nodelint.karpenter.convert.retired import node_template, provisioner, settle
from nodelint.karpenter.convert.rewrite import Draft, EntryLines, Path, edits_between
from nodelint.model.finding import Edit
from nodelint.model.manifest import Object, text
from nodelint.source.nodes import UNKNOWN, Node
from nodelint.tuples import NamedTuple

_TEMPLATE = ("spec", "template", "spec")

_SELECTORS = ("subnetSelector", "securityGroupSelector", "amiSelector")

_PROVISIONER_MOVES: tuple[tuple[str, Path], ...] = (
    ("labels", ("spec", "template", "metadata", "labels")),
    ("annotations", ("spec", "template", "metadata", "annotations")),
    ("requirements", (*_TEMPLATE, "requirements")),
    ("taints", (*_TEMPLATE, "taints")),
    ("startupTaints", (*_TEMPLATE, "startupTaints")),
    ("providerRef", (*_TEMPLATE, "nodeClassRef")),
    ("ttlSecondsUntilExpired", (*_TEMPLATE, "expireAfter")),
)


class Conversion(NamedTuple):
    """The edits that make an object v1, what its owner should know of them, and why there are none.

    The edits reach into other sources where kubelet settings move to a class there, and where a Provisioner and its
    AWSNodeTemplate become v1 together. `blocked` names the decision that only the owner can take; then there are no
    edits. `alone` are those of an object that could be converted, and is not because what it stands with cannot.
    `shown` are edits for reading on, and for no file: of an object without what blocks it.
    """

    edits: Sequence[Edit] = ()
    notes: Sequence[str] = ()
    blocked: str | None = None
    alone: Sequence[Edit] = ()
    shown: Sequence[Edit] = ()


def convert(obj: Object, world: Sequence[Object]) -> Conversion:
    """Make an object v1, in a world of objects that it may refer to or be referred to by.

    An object that is v1 already, or of an API that never was, has no edits. Nothing is raised.
    """
    return conversions(obj, Relations([obj, *(other for other in world if not _is(other, obj))]))[id(obj)]


def conversions(obj: Object, relations: Relations) -> dict[int, Conversion]:
    """What `convert` makes of an object, and of all that become v1 together with it, by their ids."""
    if not is_old(obj):
        return {id(obj): Conversion()}
    pair = relations.pair(obj)
    found = {id(each): _single(each, relations) for each in pair}
    stuck = next((each for each in pair if found[id(each)].blocked is not None), None)
    if stuck is not None:
        for each in pair:
            own = found[id(each)]
            if own.blocked is None:
                why = f"it has to become v1 together with {stuck.label}, which cannot: {found[id(stuck)].blocked}"
                found[id(each)] = Conversion(blocked=why, alone=own.edits)
    elif len(pair) > 1:
        edits = _joined(pair, [found[id(each)].edits for each in pair], relations)
        found = {key: own._replace(edits=edits) for key, own in found.items()}
    elif obj.kind == "Provisioner" and not obj.partial and not relations.classes_of(obj):
        name = held(obj.node.at(*reference_path(obj), "name") or obj.node)
        named = f"the AWSNodeTemplate {name}" if isinstance(name, str) else "the AWSNodeTemplate"
        why = f"{named} that it names is not among the files: both become v1 together, or neither"
        found[id(obj)] = Conversion(blocked=found[id(obj)].blocked or why, alone=found[id(obj)].edits)
    return found


def _single(obj: Object, relations: Relations) -> Conversion:
    try:
        return _converted(obj, relations)
    except Blocked as reason:
        return Conversion(blocked=str(reason), shown=_shown_together(obj, relations) or _shown(obj))
    except NotEditable as error:
        return Conversion(blocked=error.reason)


def _shown_together(obj: Object, relations: Relations) -> Sequence[Edit]:
    """The edits of a class that only lacks a role, and of the pools whose kubelet settings go to it; else none."""
    cls = obj if is_class(obj) else relations.class_of(obj)
    pools = [pool for pool in relations.pools_of(cls) if _kubelet(pool)] if cls is not None else []
    unblocked = _unblocked(cls) if cls is not None else None
    if cls is None or unblocked is None or all(pool is not obj for pool in (cls, *pools)):
        return ()
    try:
        return _together(obj, _shared(pools[0], cls, relations, unblocked)).edits if pools else ()
    except (Blocked, NotEditable):
        return ()


def _shown(obj: Object) -> Sequence[Edit]:
    """The edits of an object without what blocks it, where the rest can be judged alone; else none."""
    value = _unblocked(obj)
    if value is None:
        return ()
    try:
        return _together(obj, [_Member(obj, value=value)]).edits
    except (Blocked, NotEditable):
        return ()


def _unblocked(obj: Object) -> dict[str, Any] | None:
    """An object without what may block it; None where it has nothing of that.

    That is kubelet settings that no class takes; an inline provider, or no class at all; no role.
    """
    value = held(obj.node)
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
    """The edits of objects that change together: those of each, where they stand in documents of their own."""
    if len({(id(obj.source), obj.document.start) for obj in pair}) == len(pair):
        return tuple(dict.fromkeys(edit for some in edits for edit in some))
    pool = next((obj for obj in pair if is_pool(obj) and _kubelet(obj)), None)
    cls = relations.class_of(pool) if pool is not None else None
    shared = _shared(pool, cls, relations) if pool is not None and cls is not None else []
    known = {id(member.obj) for member in shared}
    return _together(pair[0], [*shared, *(_Member(obj) for obj in pair if id(obj) not in known)]).edits


def settled(obj: Object, source: Path, target: Path) -> list[Edit]:
    """The edits that move a field of a v1 object from the path `source` to the path `target`.

    Where `target` is the parent of `source`, what the field holds takes its place. None where its new home is taken,
    or its text cannot move.
    """
    value = held(obj.node)
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
    return _settled(obj, [_Member(obj, value=value, moved=(source, target))])


def settled_of_provisioner(obj: Object, path: Path) -> list[Edit]:
    """The edits that make a field of a Provisioner in a v1 NodePool what v1 has for it; none where it has nothing."""
    value = held(obj.node)
    try:
        settle(value, path)
    except Blocked:
        return []
    return _settled(obj, [_Member(obj, value=value)])


def settled_kubelet(pool: Object, world: Sequence[Object]) -> list[Edit]:
    """The edits that move the kubelet settings of a v1 NodePool to the class it names.

    None where the class has some, is shared with other pools, or is not available.
    """
    value = held(pool.node)
    known = Relations([pool, *(other for other in world if not _is(other, pool))])
    cls, settings = known.class_of(pool), kubelet_of(pool.kind, value)
    if cls is None or settings is None or _kubelet_of_class(cls) is not None or len(known.pools_of(cls)) > 1:
        return []
    del field(field(field(value, "spec"), "template"), "spec")["kubelet"]
    return _settled(pool, [_Member(pool, value=value), _Member(cls, settings, pool)])


def _settled(obj: Object, members: list[_Member]) -> list[Edit]:
    try:
        return list(_together(obj, members).edits)
    except (Blocked, NotEditable):
        return []


class _Member:
    """An object of a group that is changed together, and the kubelet settings that come to it.

    `value` is what it is to say, where that is known already; `moved` the path of a field of it, and where it goes.
    """

    def __init__(
        self,
        obj: Object,
        kubelet: dict[str, Any] | None = None,
        origin: Object | None = None,
        value: dict[str, Any] | None = None,
        moved: tuple[Path, Path] | None = None,
    ) -> None:
        self.obj = obj
        self.kubelet = kubelet
        self.origin = origin
        self.value = value
        self.moved = moved


def _converted(obj: Object, relations: Relations) -> Conversion:
    if is_class(obj):
        pools = [p for p in relations.pools_of(obj) if _kubelet(p)]
        if not pools:
            return _together(obj, [_Member(obj)])
        try:
            return _together(obj, _shared(pools[0], obj, relations))
        except (Blocked, NotEditable):
            # The pools get this note and stay as they are; the class loses nothing without them.
            return _together(obj, [_Member(obj)])
    if not _kubelet(obj):
        return _together(obj, [_Member(obj)])
    cls = relations.class_of(obj)
    if cls is None:
        raise Blocked(f"its kubelet settings belong in its EC2NodeClass, {_why_no_class(obj, relations)}")
    return _together(obj, _shared(obj, cls, relations))


def _why_no_class(pool: Object, relations: Relations) -> str:
    """Why the class of a pool is not known."""
    name = text(pool.node.at(*reference_path(pool), "name"))
    if not isinstance(name, str) or not name:
        return "and it names none" if not name else "whose name is a placeholder"
    several = len(relations.classes_of(pool))
    return f"and {several} define `{name}`" if several else f"and no file that was read defines `{name}`"


def _shared(
    pool: Object, cls: Object, relations: Relations, unblocked: dict[str, Any] | None = None
) -> list[_Member]:
    """The pools that hold kubelet settings for a class, and the class; all of them have to hold the same.

    `unblocked` is what the class is to say in place of what it says.
    """
    settings = _kubelet(pool)
    present = _kubelet_of_class(cls)
    members = []
    for other in relations.pools_of(cls):
        if not same(_kubelet(other) if is_old(other) else present, settings):
            raise Blocked(f"the NodePools of {cls.label} differ in kubelet settings: each needs a class of its own")
        if is_old(other):
            members.append(_Member(other))
    if present is not None and not same(present, settings):
        raise Blocked(f"{cls.label} holds kubelet settings that differ from its own: each needs a class")
    try:
        _migration(_Member(cls, value=copy.deepcopy(unblocked)))
    except Blocked:
        raise Blocked(f"its kubelet settings go to {cls.label}, which cannot be converted") from None
    members.append(_Member(cls, settings, pool, unblocked))
    return members


def _together(asked: Object, members: list[_Member]) -> Conversion:
    drafts: dict[tuple[int, int], tuple[Object, str]] = {}
    notes: list[str] = []
    for member in members:
        document = member.obj.document
        if document.templated:
            raise Blocked("lines of template code stand in its document: convert it by hand")
        migration = _migration(member)
        key = (id(member.obj.source), document.start)
        _, current = drafts.get(key, (member.obj, _alone(member.obj)))
        draft = Draft(_path(member.obj), current, _steps(member.obj.node))
        about = {name: draft.comments(("spec", name)) for name in _SELECTORS} if is_class(member.obj) else {}
        _carry(member, draft, migration.value)
        draft.reach(migration.value)
        for name, comments in about.items():
            draft.comment(("spec", f"{name}Terms"), comments)
        if not dialect_of(member.obj.node).MOVES_TEXT and _expressions(draft.node) != _expressions(member.obj.node):
            raise Blocked("an expression of HCL would have to move: convert it by hand")
        drafts[key] = (member.obj, draft.text)
        if member.obj is asked:
            notes += [note for note in migration.notes if note not in notes]
    edits: list[Edit] = []
    before = after = ""
    for obj, new in drafts.values():
        start, end = obj.document.start, obj.document.end
        old, new = obj.source.text[start:end], _back(obj, new)
        edits += edits_between(obj.source, start, old, new)
        before, after = before + old, after + new
    notes += [f"a comment went with what it was about: {lost}" for lost in _lost_comments(before, after)]
    return Conversion(edits, notes)


def _path(obj: Object) -> str:
    """A path by which the text of the object's document alone is read as what it is."""
    if obj.document.host is None:
        return obj.source.path
    return f"manifest{dialect_of(obj.node).SUFFIX}"


def _expressions(node: Node) -> list[str]:
    """What is worked out elsewhere, in some order that its place does not change."""
    return sorted(each.text for each in node.walk() if each.value is UNKNOWN)


def _alone(obj: Object) -> str:
    """The text of the object's document, less what each of its lines begins with in the text around it."""
    document, prefix = obj.document, obj.document.prefix
    if obj.source.flat is not obj.source.text:
        raise Blocked("some lines of the file end in neither `\\n` nor `\\r\\n`: convert it by hand")
    text = obj.source.text[document.start : document.end]
    if not prefix:
        return text
    lines = text.splitlines(keepends=True)
    if any(line.strip() and not line.startswith(prefix) for line in lines):
        raise Blocked("its lines begin in different ways: convert it by hand")
    return "".join(line.removeprefix(prefix) for line in lines)


def _back(obj: Object, text: str) -> str:
    prefix = obj.document.prefix
    return "".join(prefix + line if line.strip() else line for line in text.splitlines(keepends=True))


def _migration(member: _Member) -> Migration:
    obj = member.obj
    value = held(obj.node) if member.value is None else member.value
    if not is_old(obj):
        migration = Migration(value)
    elif obj.kind == "Provisioner":
        migration = provisioner(value, obj.partial)
    elif obj.kind == "AWSNodeTemplate":
        migration = node_template(value, obj.partial)
    else:
        migration = (node_pool if obj.kind == "NodePool" else node_class)(value, obj.partial)
    if member.kubelet is not None and isinstance(migration.value.get("spec"), dict):
        migration.value["spec"].setdefault("kubelet", member.kubelet)
    return migration


def _carry(member: _Member, draft: Draft, target: dict[str, Any]) -> None:
    """Move as text what only moves. Where the style does not allow it, `reach` writes it anew."""
    kind = member.obj.kind
    if not is_old(member.obj):
        if member.moved is not None:
            source, home = member.moved
            _ = draft.lift(source) if home == source[:-1] else draft.move(source, home)
    elif kind == "NodePool":
        draft.move(("spec", "disruption", "expireAfter"), (*_TEMPLATE, "expireAfter"))
        reference = draft.node.at(*_TEMPLATE, "nodeClassRef")
        if reference is not None and reference.get("group") is None:
            draft.rename((*_TEMPLATE, "nodeClassRef", "apiVersion"), "group")
        _carry_annotations(draft)
    elif kind == "Provisioner":
        _carry_provisioner(draft)
        _carry_annotations(draft)
    elif kind == "AWSNodeTemplate":
        for name in _SELECTORS:
            node = draft.node.at("spec", name)
            terms = field(target, "spec").get(f"{name}Terms")
            if node is None or terms is None:
                continue
            if not same(terms, [{"tags": held(node)}]) or not draft.nest(("spec", name), f"{name}Terms", "tags"):
                draft.rename(("spec", name), f"{name}Terms")
    if member.kubelet is not None and member.origin is not None:
        block = _kubelet_lines(member.origin)
        if block is not None:
            draft.paste(block, ("spec", "kubelet"))


def _carry_annotations(draft: Draft) -> None:
    path = ("spec", "template", "metadata", "annotations")
    node = draft.node.at(*path)
    for name in ("karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-evict"):
        if node is not None and node.get("karpenter.sh/do-not-disrupt") is None:
            draft.rename((*path, name), "karpenter.sh/do-not-disrupt")
            node = draft.node.at(*path)


def _carry_provisioner(draft: Draft) -> None:
    spec = draft.node.get("spec")
    order = [entry.name for entry in spec.entries] if spec is not None else []
    moves = [move for move in _PROVISIONER_MOVES if move[0] in order]
    for name, target in sorted(moves, key=lambda move: ("metadata" not in move[1], order.index(move[0]))):
        draft.move(("spec", name), target)
    if draft.node.at("spec", "limits", "resources") is not None:
        draft.lift(("spec", "limits", "resources"))
    if draft.node.at("spec", "consolidation", "enabled") is not None:
        draft.rename(("spec", "consolidation", "enabled"), "consolidationPolicy")
        draft.rename(("spec", "consolidation"), "disruption")
    draft.move(("spec", "ttlSecondsAfterEmpty"), ("spec", "disruption", "consolidateAfter"))


def _kubelet_lines(pool: Object) -> EntryLines | None:
    if not dialect_of(pool.node).MOVES_TEXT:
        return None
    draft = Draft(_path(pool), _alone(pool), _steps(pool.node))
    path = ("spec", "kubeletConfiguration") if pool.kind == "Provisioner" else (*_TEMPLATE, "kubelet")
    return draft.cut(path)


def _kubelet(pool: Object) -> dict[str, Any] | None:
    return kubelet_of(pool.kind, held(pool.node)) if is_old(pool) else None


def _kubelet_of_class(cls: Object) -> Any:
    node = cls.node.at("spec", "kubelet")
    return held(node) if node is not None and node.kind == "mapping" else None


def _is(one: Object, other: Object) -> bool:
    return one is other or (one.source is other.source and one.node.start == other.node.start)


def _steps(node: Node) -> list[str | int]:
    """The way from a document's root to an object in it, which a `List` holds."""
    steps: list[str | int] = []
    while node.parent is not None:
        parent = node.parent
        if parent.kind == "sequence":
            steps.append(next(number for number, item in enumerate(parent.items) if item is node))
        else:
            steps.append(next(entry.name or "" for entry in parent.entries if entry.value is node))
        node = parent
    return steps[::-1]


def _lost_comments(before: str, after: str) -> list[str]:
    comments = re.compile(r"(?:^|(?<=\s))#.*")
    old, new = (Counter(line.strip() for line in comments.findall(side)) for side in (before, after))
    return list(old - new)
