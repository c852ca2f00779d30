"""What a plan could not compare, and why: an answer of its own, for nothing is known of it."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.model.manifest import EC2NodeClass, NodePool, Retired, served
from nodelint.plan.matching import is_same, written_name
from nodelint.text import UNKNOWN

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nodelint.model.finding import Span
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.plan.matching import Pair
    from nodelint.plan.unread import UnreadFile
    from nodelint.text import Node

_OPENED = r"\{\{|\{%|<%|%\{"
_CLOSED = {"{{": "}}", "{%": "%}", "<%": "%>", "%{": "}"}
_OPENERS = ("if", "range", "with", "define", "block", "for", "macro")
_SETS = r"\$\w+ :?= |\b(?:set|unset|mergeOverwrite|merge) "
"""What changes a variable, or the values, for all that follows."""


class Uncompared(NamedTuple):
    """A place that was not compared. `changed` says that the sides differ there, so that nodes may be replaced."""

    at: Node | Span
    what: str
    reason: str
    changed: bool


def unread_object(pair: Pair, gap: UnreadFile) -> Uncompared:
    """An object of a file that a side cannot read: it is neither new nor gone, and nothing is known of it."""
    obj = pair.new or pair.old
    assert obj is not None
    return Uncompared(gap.at, _label(obj), gap.sentence, True)


def unread_class(pool: NodePool, gap: UnreadFile) -> Uncompared:
    """A pool whose class stands in a file that a side cannot read."""
    return Uncompared(gap.at, _label(pool), f"its EC2NodeClass is not compared: {gap.sentence}", True)


def nameless(pairs: Iterable[Pair]) -> Iterator[Uncompared]:
    """Objects whose names hold placeholders and that have no partner of the same name on the other side."""
    for pair in pairs:
        obj = pair.new or pair.old
        if obj is not None and not isinstance(obj.name, str) and pair.change in ("added", "removed"):
            side = "new" if pair.new is not None else "old"
            reason = f"its name holds a placeholder, and only the {side} side has one that is written so"
            yield Uncompared(obj.name_node, _label(obj), reason, True)


def of_templates(pairs: Iterable[Pair]) -> Iterator[Uncompared]:
    """Objects whose values are the same while the template code around them is not."""
    for pair in pairs:
        if pair.old is None or pair.new is None or not (pair.old.source.masked or pair.new.source.masked):
            continue
        whole = holds_unknown(pair.old) or holds_unknown(pair.new)
        if codes_of(pair.old, whole) != codes_of(pair.new, whole):
            yield Uncompared(pair.new.name_node, _label(pair.new), "template code in it changes", True)


def holds_unknown(obj: Object) -> bool:
    """Whether a value of an object is not known."""
    return any(node.value is UNKNOWN for node in obj.node.walk())


def codes_of(obj: Object, whole: bool = False) -> list[str]:
    """The template code inside of an object, in the order of the text; if asked for, all that it is made by.

    Code above an object may set what its values are, also above the line that begins its document, and code behind
    its last key is the value of that.
    """
    text = obj.source.text
    if not whole:
        return _list_codes(text[obj.node.start : obj.node.end])
    document = obj.document
    return [*_list_codes_around(text[: document.start]), *_list_codes(text[document.start : document.end])]


def _list_codes_around(above: str) -> list[str]:
    """The code above a document that acts in it: what sets a variable, and what opens a block that is not closed."""
    opened: list[tuple[int, str]] = []
    found: list[tuple[int, str]] = []
    for number, code in enumerate(_list_codes(above)):
        word = re.match(r"\W*(\w+)", code)
        first = word[1] if word is not None and "/*" not in word[0] else ""
        if first in _OPENERS:
            opened.append((number, code))
        elif first.startswith("end") and opened:
            opened.pop()
        elif first and re.search(_SETS, code):
            found.append((number, code))
    return [code for _, code in sorted([*found, *opened])]


def _list_codes(text: str) -> list[str]:
    opened = re.compile(_OPENED)
    codes: list[str] = []
    unclosed: set[str] = set()  # looked for once, not from each place again
    found = opened.search(text)
    while found is not None:
        mark = found[0]
        end = -1 if mark in unclosed else text.find(_CLOSED[mark], found.end())
        if end < 0:
            unclosed.add(mark)
            found = opened.search(text, found.start() + 1)
            continue
        end += len(_CLOSED[mark])
        codes.append(" ".join(text[found.start() : end].split()))
        found = opened.search(text, end)
    return codes


def foreign_pools(pairs: Iterable[Pair]) -> Iterator[Uncompared]:
    """Pools of another provider: how their controller compares nodes is not known here."""
    for pair in pairs:
        pool = pair.new or pair.old
        sides = [side for side in (pair.old, pair.new) if isinstance(side, NodePool)]
        if pool is None or not sides or not all(side.foreign for side in sides):
            continue
        provider = {"auto-mode": "EKS Auto Mode"}.get(sides[-1].provider, sides[-1].provider)
        reason = f"it is a pool of {provider}, whose controller decides what is replaced"
        yield Uncompared(pool.name_node, _label(pool), reason, pair.change != "unchanged")


def unclear_class(
    pool: NodePool, candidates: Sequence[EC2NodeClass], changed: Sequence[EC2NodeClass]
) -> Uncompared | None:
    """A pool that names a class which cannot be told apart from others, or whose name is filled in later.

    `candidates` are the classes that it may mean, `changed` are the classes that the change is about. None where the
    pool names one class, or one that is not in the files and that the change is not about.
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
        return Uncompared(node, _label(pool), reason, moved)
    reason = f"its class is chosen by `{node.unquoted}`, which is filled in later"
    return Uncompared(node, _label(pool), reason, bool(changed))


def unserved(old: Sequence[Object], new: Sequence[Object], release: Version) -> Iterator[Uncompared]:
    """What is told of objects of an API that the release does not serve, and that become none which it serves."""
    before = {(obj.kind, written_name(obj)): obj for obj in old}
    after = {(obj.kind, written_name(obj)): obj for obj in new}
    for key in dict.fromkeys((*after, *before)):
        was, now = before.get(key), after.get(key)
        obj = now or was
        assert obj is not None
        changed = was is None or now is None or not is_same(was, now)
        reason = f"Karpenter {release} does not serve `{obj.api_version}`"
        yield Uncompared(obj.name_node, _label(obj), reason, changed)


def name_of(pair: Pair) -> tuple[str, str | None]:
    """Kind and name of an object that is on one side alone."""
    obj = pair.new or pair.old
    assert obj is not None
    return obj.kind, written_name(obj)


def is_unserved(obj: Object, release: Version) -> bool:
    """Whether an object is of an API that a release does not serve."""
    return isinstance(obj, NodePool | EC2NodeClass | Retired) and not served(obj, release)


def _label(obj: Object) -> str:
    return f"{obj.kind} {obj.name if isinstance(obj.name, str) else obj.name_node.unquoted}"
