"""NodeConfig, the part of AL2023's user data that nodeadm reads: its YAML, its fields, and its faults."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.budget import BudgetSpent
from nodelint.base.types import Any
from nodelint.data import table
from nodelint.karpenter.userdata.parts import Part, UserDataProblem
from nodelint.model.messages import did_you_mean, nearest_name, short
from nodelint.text import UNKNOWN, Document, Node, Source
from nodelint.text.syntax_errors import NotInTime, Unreadable

_NO_JOIN = "nodeadm cannot read it: the node never joins the cluster"
_DROPPED = "nodeadm silently drops what it does not know"


def compose(text: str, path: str) -> Node | None:
    """Return the root of the first YAML document of a text. None if the text is empty.

    Raise Unreadable, with an offset in the text, if it is no YAML.
    """
    from nodelint.text.yaml.compose import compose as roots_of

    source = Source(path, text)
    roots = roots_of(source, text, 0, masked=False)
    root = roots[0] if roots else None
    source.documents.append(Document(root, 0, len(text), 0))
    return root


def is_read_as_nodeconfig(text: str) -> bool:
    """Return whether Karpenter reads user data without a MIME header as a NodeConfig: it is a YAML mapping, empty or
    only comments.

    Raise BudgetSpent if the time of the run is used up.
    """
    try:
        root = compose(text, "")
    except NotInTime as late:
        raise BudgetSpent(late.message) from None
    except Unreadable:
        return False
    return root is None or root.kind == "mapping" or (root.kind == "scalar" and root.value is None)


def troubles(root: Node | None, part: Part) -> Iterator[UserDataProblem]:
    """Yield the fields of a NodeConfig that nodeadm refuses or drops."""
    facts = table("nodeconfig")
    if root is None or root.kind != "mapping":
        yield UserDataProblem(part.start, part.end, "a NodeConfig must be a mapping", _NO_JOIN)
        return
    for key, wanted in (("apiVersion", facts["apiVersion"]), ("kind", facts["kind"])):
        node = root.get(key)
        if node is None:
            at = root.entries[0].key if root.entries else root
            line = f"{key}: {wanted}\n{root.source.text[at.start : at.end]}"
            in_front = line if at.kind == "scalar" and root.style != "flow" and not _column(at) else None
            message = f"a NodeConfig begins with `{key}: {wanted}`"
            yield UserDataProblem(part.start + at.start, part.start + at.end, message, _NO_JOIN, in_front)
            return
        if node.value is not UNKNOWN and node.value != wanted:
            message = f"nodeadm does not know the {key} `{short(str(node.value), 30)}`: use `{wanted}`"
            yield UserDataProblem(part.start + node.start, part.start + node.end, message, _NO_JOIN, wanted)
            return
    yield from _fields(root, facts["fields"], "", part.start)


def _column(node: Node) -> int:
    return node.start - node.source.text.rfind("\n", 0, node.start) - 1


def _fields(node: Node, known: dict[str, Any], path: str, base: int) -> Iterator[UserDataProblem]:
    for entry in node.entries:
        if entry.name is None:
            continue
        shape = known.get(entry.name)
        if shape is None:
            where = f" in {path}" if path else ""
            meant = nearest_name(entry.name, known)
            message = f"a NodeConfig has no field `{short(entry.name, 25)}`{where}{did_you_mean(entry.name, known)}"
            fits = meant is not None and not any(_value(entry.value, known[meant], meant, base))
            ways = (meant,) if fits and meant is not None and node.key(meant) is None else ()
            yield UserDataProblem(base + entry.key.start, base + entry.key.end, message, _DROPPED, choices=ways)
        else:
            yield from _value(entry.value, shape, f"{path}.{entry.name}" if path else entry.name, base)


def _value(node: Node, shape: Any, path: str, base: int) -> Iterator[UserDataProblem]:
    if node.kind == "scalar" and (node.value is None or node.value is UNKNOWN):
        return
    if isinstance(shape, dict) and "one of" in shape:
        if node.value not in shape["one of"]:
            choice = ", ".join(shape["one of"])
            message = f"`{short(str(node.value), 25)}` is not a value of {path.rpartition('.')[2]}: use {choice}"
            yield UserDataProblem(base + node.start, base + node.end, message, _NO_JOIN)
        return
    wanted = "object" if isinstance(shape, dict) else "strings" if isinstance(shape, list) else shape
    fits = {
        "object": node.kind == "mapping",
        "booleans": node.kind == "mapping" and all(isinstance(e.value.value, bool) for e in node.entries),
        "strings": node.kind == "sequence" and all(_is_text(item) for item in node.items),
        "string": _is_text(node),
        "boolean": node.kind == "scalar" and isinstance(node.value, bool),
    }
    if not fits[wanted]:
        words = {"object": "a mapping", "booleans": "a mapping of true and false", "strings": "a list of texts"}
        words |= {"string": "a text", "boolean": "true or false"}
        end = node.end if node.kind == "scalar" else node.start + 1
        yield UserDataProblem(base + node.start, base + end, f"{path} must be {words[wanted]}", _NO_JOIN)
    elif isinstance(shape, dict):
        yield from _fields(node, shape, path, base)


def _is_text(node: Node) -> bool:
    return node.kind == "scalar" and (isinstance(node.value, str) or node.value is UNKNOWN)
