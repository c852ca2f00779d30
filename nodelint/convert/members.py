"""Objects that change together, and their edits: a field that only moves keeps its text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.convert.entry_comments import keep_entry_comments, list_entry_comments
from nodelint.convert.migrate import (
    Blocked,
    Migration,
    field,
    kubelet_of,
    node_class,
    node_pool,
    plain_with_placeholders,
    same,
)
from nodelint.convert.placeholders import hold_placeholders
from nodelint.convert.relations import is_class, is_old
from nodelint.convert.retired import node_template, provisioner
from nodelint.convert.rewrite import Draft, EntryLines, Path, edits_between
from nodelint.edits import dialect_of
from nodelint.model.finding import Edit
from nodelint.model.manifest import Object
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

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
    """The edits that convert an object to v1, notes for its owner, and the reason if there are no edits.

    The edits change other files as well if kubelet settings move to a class there, or if a Provisioner and its
    AWSNodeTemplate become v1 together. `blocked` names the decision that only the owner can make; then there are no
    edits. `alone` are the edits of an object that could be converted, but whose partner cannot. `shown` are edits of
    an object without the fields that block it: they show the result, and are not applied.
    """

    edits: Sequence[Edit] = ()
    notes: Sequence[str] = ()
    blocked: str | None = None
    alone: Sequence[Edit] = ()
    shown: Sequence[Edit] = ()


class Member:
    """An object of a group that is changed together, and the kubelet settings that it receives.

    `value` is the new value, if it is known already. `moved` are the old and the new path of a field that moves.
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


def together(of_object: Object, members: list[Member]) -> Conversion:
    """Return the edits that change all members, and the notes about `of_object`.

    Raise Blocked if only the owner can decide how to convert a member, NotEditable if the text cannot be edited.
    """
    drafts: dict[tuple[int, int], tuple[Object, str]] = {}
    notes: list[str] = []
    for member in members:
        document = member.obj.document
        if document.templated:
            raise Blocked("lines of template code stand in its document: convert it by hand")
        migration = migration_of(member)
        key = (id(member.obj.source), document.start)
        _, current = drafts.get(key, (member.obj, _alone(member.obj)))
        draft = Draft(_path(member.obj), current, _steps(member.obj.node))
        about = {name: draft.comments(("spec", name)) for name in _SELECTORS} if is_class(member.obj) else {}
        moves_text = dialect_of(member.obj.node).MOVES_TEXT
        entry_comments = list_entry_comments(draft) if not moves_text else []
        _carry(member, draft, migration.value)
        draft.reach(migration.value)
        keep_entry_comments(draft, entry_comments)
        for name, comments in about.items():
            draft.comment(("spec", f"{name}Terms"), comments)
        if not moves_text and _expressions(draft.node) != _expressions(member.obj.node):
            raise Blocked("an expression of HCL would have to move: convert it by hand")
        hold_placeholders([other.obj.node for other in members], draft.node)
        drafts[key] = (member.obj, draft.text)
        if member.obj is of_object:
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
    """Return a file name under which the text of the object's document alone is parsed in its own format."""
    if obj.document.host is None:
        return obj.source.path
    return f"manifest{dialect_of(obj.node).SUFFIX}"


def _expressions(node: Node) -> list[str]:
    """Return the expressions of an object that other code evaluates, sorted."""
    return sorted(descendant.text for descendant in node.walk() if descendant.value is UNKNOWN)


def _alone(obj: Object) -> str:
    """Return the text of the object's document without the common prefix of its lines. Raise Blocked if the lines
    differ.
    """
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


def migration_of(member: Member) -> Migration:
    """Return the value of a member in v1. Raise Blocked if only its owner can decide how to convert it."""
    obj = member.obj
    value = plain_with_placeholders(obj.node) if member.value is None else member.value
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


def _carry(member: Member, draft: Draft, target: dict[str, Any]) -> None:
    """Move the text of fields that only move. If the format does not allow this, `reach` writes them again."""
    kind = member.obj.kind
    if not is_old(member.obj):
        if member.moved is not None:
            source, home = member.moved
            _ = draft.lift(source) if home == source[:-1] else draft.move(source, home)
    elif kind == "NodePool":
        draft.move(("spec", "disruption", "expireAfter"), (*_TEMPLATE, "expireAfter"))
        reference = draft.node.find(*_TEMPLATE, "nodeClassRef")
        if reference is not None and reference.get("group") is None:
            draft.rename((*_TEMPLATE, "nodeClassRef", "apiVersion"), "group")
        _carry_annotations(draft)
    elif kind == "Provisioner":
        _carry_provisioner(draft)
        _carry_annotations(draft)
    elif kind == "AWSNodeTemplate":
        for name in _SELECTORS:
            node = draft.node.find("spec", name)
            terms = field(target, "spec").get(f"{name}Terms")
            if node is None or terms is None:
                continue
            if not same(terms, [{"tags": plain_with_placeholders(node)}]) or not draft.nest(
                ("spec", name), f"{name}Terms", "tags"
            ):
                draft.rename(("spec", name), f"{name}Terms")
    if member.kubelet is not None and member.origin is not None:
        block = _kubelet_lines(member.origin)
        if block is not None:
            draft.paste(block, ("spec", "kubelet"))


def _carry_annotations(draft: Draft) -> None:
    path = ("spec", "template", "metadata", "annotations")
    node = draft.node.find(*path)
    for name in ("karpenter.sh/do-not-consolidate", "karpenter.sh/do-not-evict"):
        if node is not None and node.get("karpenter.sh/do-not-disrupt") is None:
            draft.rename((*path, name), "karpenter.sh/do-not-disrupt")
            node = draft.node.find(*path)


def _carry_provisioner(draft: Draft) -> None:
    spec = draft.node.get("spec")
    order = [entry.name for entry in spec.entries] if spec is not None else []
    moves = [move for move in _PROVISIONER_MOVES if move[0] in order]
    for name, target in sorted(moves, key=lambda move: ("metadata" not in move[1], order.index(move[0]))):
        draft.move(("spec", name), target)
    if draft.node.find("spec", "limits", "resources") is not None:
        draft.lift(("spec", "limits", "resources"))
    if draft.node.find("spec", "consolidation", "enabled") is not None:
        draft.rename(("spec", "consolidation", "enabled"), "consolidationPolicy")
        draft.rename(("spec", "consolidation"), "disruption")
    draft.move(("spec", "ttlSecondsAfterEmpty"), ("spec", "disruption", "consolidateAfter"))


def _kubelet_lines(pool: Object) -> EntryLines | None:
    if not dialect_of(pool.node).MOVES_TEXT:
        return None
    draft = Draft(_path(pool), _alone(pool), _steps(pool.node))
    path = ("spec", "kubeletConfiguration") if pool.kind == "Provisioner" else (*_TEMPLATE, "kubelet")
    return draft.cut(path)


def kubelet_to_move(pool: Object) -> dict[str, Any] | None:
    """Return the kubelet settings of a pool of an old API, which move to its class. None if there are none."""
    return kubelet_of(pool.kind, plain_with_placeholders(pool.node)) if is_old(pool) else None


def kubelet_of_class(cls: Object) -> Any:
    """Return the kubelet settings of a class. None if it has none, or if they are no mapping."""
    node = cls.node.find("spec", "kubelet")
    return plain_with_placeholders(node) if node is not None and node.kind == "mapping" else None


def _steps(node: Node) -> list[str | int]:
    """Return the keys and indexes from the root of a document to an object, which may be in a `List`."""
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
