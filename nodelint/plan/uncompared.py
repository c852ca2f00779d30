"""Places that a plan could not compare, with the reason: their outcome is not known."""

from __future__ import annotations

import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.lib.gotemplate.surrounding_code import list_codes, list_surrounding_code
from nodelint.model.gap import Gap
from nodelint.model.gvk import GROUPS
from nodelint.model.manifest import EC2NodeClass, NodePool, Retired, served
from nodelint.model.releases import FIRST_SERVING
from nodelint.plan.matching import is_same_spec, written_name
from nodelint.text import UNKNOWN

_QUIET_FIELDS = ("limits", "weight", "disruption")
"""Fields of a NodePool's spec that running nodes do not copy (core: `NodePool.Hash` reads only the template)."""
_WITHOUT_EFFECT = ("weight", "disruption")
NO_NODE = "no node of it is replaced"
"""The end of the reason of a gap for a changed object whose nodes stay."""
_CODE_CHANGES = "the template code that makes this object changes, and what it makes is not known"
_PLAIN_ACTION = re.compile(
    r"\{\{-?+[ \t]*+(?:[\w.$()|'\" \t-](?<!include)(?<!tpl)(?<!toYaml)(?<!indent)(?<!printf)){1,200}+\}\}"
)
"""A template action that prints one value: it assigns no variable, and prints no text of several lines."""
_ALONE = re.compile(r"(?m)^[ \t]*(?:\$\{|\{\{|\{%|%\{|<%)")
"""Code at the beginning of a line: it may print fields."""
_DECIDES = re.compile(r"\W*(?:if|unless|for|range|with|set)\b|\W*\$\w+ :?= ")
_ENDS = re.compile(r"\W*(?:end|else|elif)")

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nodelint.model.finding import Span
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.plan.matching import Pair
    from nodelint.text import Node


def uncompared(at: Node | Span, subject: str, reason: str, changed: bool) -> Gap:
    """Return a gap for a place that is not compared. `changed` is true if the sides differ there."""
    return Gap(at, "object", reason, decides=changed, subject=subject)


def unread_object(pair: Pair, gap: Gap) -> Gap:
    """Return a gap for an object in a file that a side cannot read: it is neither added nor removed, and its outcome
    is not known.
    """
    obj = pair.new or pair.old
    assert obj is not None
    return uncompared(gap.at, _label(obj), gap.reason, True)


def unread_class(pool: NodePool, gap: Gap) -> Gap:
    """Return a gap for a pool whose class is in a file that a side cannot read."""
    return uncompared(gap.at, _label(pool), f"its EC2NodeClass is not compared: {gap.reason}", True)


def nameless(pairs: Iterable[Pair]) -> Iterator[Gap]:
    """Yield a gap for each object whose name holds a placeholder and that has no partner with this name on the other
    side.
    """
    for pair in pairs:
        obj = pair.new or pair.old
        if obj is not None and not isinstance(obj.name, str) and pair.change in ("added", "removed"):
            side = "new" if pair.new is not None else "old"
            reason = f"its name holds a placeholder, and only the {side} side has one that is written so"
            yield uncompared(obj.name_node, _label(obj), reason, True)


def built_on_one_side(obj: Object, values: str, side: int) -> Gap:
    """Return a gap for an object that only one side renders, with a values file that both sides have."""
    reason = (
        f"only the {('old', 'new')[side]} side is built with {values}: what the other side makes of it is not known"
    )
    return uncompared(obj.name_node, _label(obj), reason, True)


def of_templates(pairs: Iterable[Pair]) -> Iterator[Gap]:
    """Yield a gap for each object with equal values but different template code."""
    for pair in pairs:
        if pair.old is None or pair.new is None or not (pair.old.source.masked or pair.new.source.masked):
            continue
        whole = holds_unknown(pair.old) or holds_unknown(pair.new)
        if _deciding_codes(pair.old, whole) != _deciding_codes(pair.new, whole):
            yield uncompared(pair.new.name_node, _label(pair.new), _CODE_CHANGES, True)


def _deciding_codes(obj: Object, whole: bool) -> list[str]:
    """Return the template code of an object that can decide about nodes: without plain actions in fields that nodes
    do not copy.
    """
    text = obj.source.text
    for start, end in _list_quiet_values(obj):
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return _list_codes(obj, text, whole)


def _list_quiet_values(obj: Object) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a NodePool's values that are one plain action, in fields that replace no running node."""
    for field in _QUIET_FIELDS if isinstance(obj, NodePool) else ():
        node = obj.node.find("spec", field)
        for part in node.walk() if node is not None else ():
            if part.kind == "scalar" and _PLAIN_ACTION.fullmatch(obj.source.text, part.start, part.end):
                yield part.start, part.end


def holds_unknown(obj: Object) -> bool:
    """Return whether a value of an object is not known."""
    return obj.once("holds unknown", (), lambda: bool(list_unknown(obj.node)))


def list_unknown(node: Node) -> list[Node]:
    """Return the values at or below a node that are not known, in the order of the text."""
    pending, found = [node], []
    for part in pending:  # it grows: a generator over all nodes takes several times as long
        if part.kind == "mapping":
            pending += [entry.key for entry in part.entries]
            pending += [entry.value for entry in part.entries]
        elif part.kind == "sequence":
            pending += part.items
        elif part.value is UNKNOWN:
            found.append(part)
    return sorted(found, key=lambda part: part.start)


def is_known(obj: Object) -> bool:
    """Return whether an object is known in full. Only then the decision of the API server about the object is
    certain.
    """
    if obj.partial or holds_unknown(obj):
        return False
    # An object in another text, such as a heredoc, is certain if no template code is in or around it.
    return not obj.source.masked or (bool(obj.document.host) and not codes_of(obj, whole=True))


def may_be_refused(obj: Object) -> bool:
    """Return whether a fault of an object may be certain: the object is known in full, or each of its keys is.

    A value that is not known has no fault. A field that a rendering may leave out may be what is at fault: a chart's
    defaults, and variants of a text for unknown values, prove nothing.
    """
    if is_known(obj):
        return True
    if obj.partial or any(entry.name is None for node in obj.node.walk() for entry in node.entries):
        return False
    built = obj.source.built
    if built is not None:
        return not (built.by_default or built.readings)
    if obj.document.host:
        return all(code.startswith("${") for code in codes_of(obj, whole=True))
    return _writes_out_fields(obj)


def _writes_out_fields(obj: Object) -> bool:
    """Return whether no template code adds or removes fields of an object. Code around it may decide whether it
    exists.
    """
    text, document, node = obj.source.text, obj.document, obj.node
    inside = text[node.start : node.end]
    if _ALONE.search(inside) or not all(map(_PLAIN_ACTION.fullmatch, list_codes(inside))):
        return False
    above = [*list_surrounding_code(text[: document.start]), *list_codes(text[document.start : node.start])]
    return all(map(_DECIDES.match, above)) and all(map(_ENDS.match, list_codes(text[node.end : document.end])))


def codes_of(obj: Object, whole: bool = False) -> list[str]:
    """Return the template code in an object, in the order of the file. With `whole`, also the code around it that may
    change it.

    Code above an object may set its values, even above the line that begins its document. Code after its last key is
    the value of that key.
    """
    return _list_codes(obj, obj.source.text, whole)


def _list_codes(obj: Object, text: str, whole: bool) -> list[str]:
    if not whole:
        return list_codes(text[obj.node.start : obj.node.end])
    document = obj.document
    return [*list_surrounding_code(text[: document.start]), *list_codes(text[document.start : document.end])]


def foreign_objects(pairs: Iterable[Pair]) -> Iterator[Gap]:
    """Yield a gap for each pool or class of another provider: nodelint does not know how its controller compares
    nodes.
    """
    for pair in pairs:
        sides = [side for side in (pair.old, pair.new) if side is not None]
        if not sides or not all(side.foreign for side in sides):
            continue
        obj = sides[-1]
        provider = "EKS Auto Mode" if obj.provider == "auto-mode" else f"another provider{_show_kind(obj)}"
        what = "pool" if isinstance(obj, NodePool) else "class"
        harmless = _describe_harmless_change(pair)
        if harmless:
            reason = f"it is a {what} of {provider}, and {harmless}: {NO_NODE}"
        else:
            reason = f"it is a {what} of {provider}, whose controller decides what is replaced"
        yield uncompared(obj.name_node, _label(obj), reason, pair.change != "unchanged" and not harmless)


def _describe_harmless_change(pair: Pair) -> str:
    """Return what changes of a NodePool, if nodes of any provider stay: their hash is one of the template (core:
    `NodePool.Hash`). Empty if nothing changes, or if nodes may be replaced.
    """
    old, new = pair.old, pair.new
    if not isinstance(new, NodePool) or not isinstance(new.name, str) or new.version != "v1":
        return ""
    if old is None:
        return "it is new"
    if (
        pair.change != "changed"
        or old.version != new.version
        or codes_of(old, whole=True)
        or codes_of(new, whole=True)
    ):
        return ""
    specs = [obj.node.get("spec") for obj in (old, new)]
    before, after = ({entry.name: entry.value.plain() for entry in spec.entries} if spec else {} for spec in specs)
    changed = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    if not changed or not set(changed) <= set(_WITHOUT_EFFECT) or any(map(holds_unknown, (old, new))):
        return ""
    return f"only {' and '.join(f'`spec.{name}`' for name in changed)} {'change' if changed[1:] else 'changes'}"


def is_of_change(gap: Gap) -> bool:
    """Return whether a place that was not compared differs between the sides."""
    return gap.decides or gap.reason.endswith(NO_NODE)


def _show_kind(obj: Object) -> str:
    """Return the kind of another provider's class in brackets. Empty if it is not known."""
    kind = obj.class_ref.kind if isinstance(obj, NodePool) and obj.class_ref is not None else obj.kind
    return f" (`{kind}`)" if isinstance(kind, str) else ""


def unclear_class(pool: NodePool, candidates: Sequence[EC2NodeClass], changed: Sequence[EC2NodeClass]) -> Gap | None:
    """Return a gap for a pool whose class cannot be determined, because several classes have its name, or because its
    name is a placeholder.

    `candidates` are the classes that it may mean, `changed` are the classes that the change concerns. None if the
    pool names one class, or one that is not in the files.
    """
    ref = pool.class_ref
    if ref is None or ref.name is None:
        return None
    node = ref.node.get("name") or ref.node
    if isinstance(ref.name, str):
        if len(candidates) < 2:
            return None
        reason = f"several classes are named `{ref.name}`, and none is nearer to the pool than the others"
        moved = any(candidate is node_class for candidate in candidates for node_class in changed)
        return uncompared(node, _label(pool), reason, moved)
    reason = f"its class is chosen by `{node.unquoted}`, which is filled in later"
    return uncompared(node, _label(pool), reason, bool(changed))


def unserved(old: Sequence[Object], new: Sequence[Object], release: Version) -> Iterator[Gap]:
    """Yield a gap for each object of an API that the release does not serve."""
    before, after = (_by_name(objs) for objs in (old, new))
    for key in dict.fromkeys((*after, *before)):
        olds, news = before.get(key, []), after.get(key, [])
        fresh = [obj for obj in news if not any(is_same_spec(other, obj) for other in olds)]
        gone = [obj for obj in olds if not any(is_same_spec(obj, other) for other in news)]
        differ = fresh or gone or olds[len(news) :] or news[len(olds) :]
        for obj in differ or news[-1:]:
            reason = f"Karpenter {release} does not serve `{obj.api_version}`"
            is_refused = bool(olds) and all(map(_is_never_served, olds))
            if is_refused:
                refused = "the API server refuses it, so no node is of it"
                reason = f"no release of Karpenter serves `{obj.api_version}`: {refused}"
            yield uncompared(obj.name_node, _label(obj), reason, bool(differ) and not is_refused)


def _by_name(objs: Sequence[Object]) -> dict[tuple[str, str | None], list[Object]]:
    """Return objects by their kinds and names: several clusters may have one of a name."""
    found: dict[tuple[str, str | None], list[Object]] = {}
    for obj in objs:
        found.setdefault((obj.kind, written_name(obj)), []).append(obj)
    return found


def _is_never_served(obj: Object) -> bool:
    """Return whether no release serves an object's API, so that no cluster can have the object."""
    group = obj.api_version.rpartition("/")[0]
    is_ours = obj.version in FIRST_SERVING and group == GROUPS.get(obj.kind)
    return isinstance(obj, NodePool | EC2NodeClass) and not is_ours


def name_of(pair: Pair) -> tuple[str, str | None]:
    """Return the kind and name of a pair's object."""
    obj = pair.new or pair.old
    assert obj is not None
    return obj.kind, written_name(obj)


def is_unserved(obj: Object, release: Version) -> bool:
    """Return whether a release does not serve the API of an object."""
    return isinstance(obj, NodePool | EC2NodeClass | Retired) and not served(obj, release)


def _label(obj: Object) -> str:
    return f"{obj.kind} {obj.name if isinstance(obj.name, str) else obj.name_node.unquoted}"
