"""The laws of edits, over generated documents in every style.

A document is made together with the value it stands for, written in a random manner: indents, flow
or block, quotes, comments, line breaks. Then one operation is done, and the text has to stand for the
value that the operation means, with everything else left where it was.
"""

from __future__ import annotations

import copy
import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nodelint.edits import (
    NotEditable,
    add_document,
    add_item,
    add_key,
    apply,
    difference,
    find_steps,
    insert_item,
    member_at,
    remove,
    remove_all,
    replace,
    restructure,
    set_key,
    set_value,
    set_values,
)
from nodelint.text import Node, Source


def quoted(value: object) -> str:
    """The value as JSON writes it, but for surrogate escapes, which kubectl reads in JSON alone."""
    return re.sub(r"\\ud[89ab]..\\ud[c-f]..", lambda pair: str(json.loads(f'"{pair[0]}"')), json.dumps(value))


WORDS = [
    "In",
    "amd64",
    "c7i-flex",
    "karpenter.sh/capacity-type",
    "a b",
    "x.large",
    "é",
    "m5",
    "*",
    "true",
    "5",
    "1e3",
    "",
]
HARD = [
    "- a",
    "a: b",
    "a #b",
    "it's",
    'say "x"',
    "#",
    "@x",
    "a,b",
    "[x",
    "{",
    " lead",
    "trail ",
    "~",
    "a\\b",
    "0x1f",
    "2020-01-01",
    "1:30",
    "a:",
    ":a",
    "?",
    "-",
    "yes",
    "null",
    "<<",
    "=",
    "%",
    "`",
    "|",
    ">",
    "!x",
    "&a",
    "\u2028",
]
RESERVED = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")
texts = st.one_of(
    st.sampled_from(WORDS), st.sampled_from(HARD), st.text(max_size=6).filter(lambda t: "\x00" not in t)
)
texts = texts.filter(lambda t: not re.search(r"[$<{\ue000]", t) and not any(0xD800 <= ord(c) < 0xE000 for c in t))
keys = st.sampled_from(["key", "values", "operator", "name", "kind", "tags", "x/y", "on", "5", "a b", "weight"])
scalars = st.one_of(texts, st.integers(-5, 100), st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)
roots = st.dictionaries(keys, values, min_size=1, max_size=4)


class Scribe:
    """Writes a value as YAML in a manner drawn at random; not the writing under test."""

    def __init__(self, draw) -> None:
        self.draw = draw
        self.step = draw(st.sampled_from([1, 2, 4]))
        self.hang = draw(st.booleans())
        self.comments = draw(st.booleans())
        self.flowing = draw(st.sampled_from([0, 1, 3]))
        self.count = 0

    def comment(self) -> str:
        if not self.comments or self.draw(st.integers(0, 2)):
            return ""
        self.count += 1
        return f"  # note {self.count} - a: [b"

    def scalar(self, value, flow: bool) -> str:
        if not isinstance(value, str):
            return "null" if value is None else quoted(value)
        plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9./-]*", value) and value.lower() not in RESERVED
        style = self.draw(st.sampled_from(["plain", "single", "double"]))
        if style == "plain" and plain:
            return value
        if style == "single" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        return quoted(value)

    def key(self, key: str) -> str:
        return key if re.fullmatch("[a-z]{3,}", key) else self.draw(st.sampled_from(['"{}"', "'{}'"])).format(key)

    def flow(self, value) -> str:
        pad = self.draw(st.sampled_from(["", " "]))
        comma = self.draw(st.sampled_from([", ", ","]))
        if isinstance(value, dict):
            inner = comma.join(f"{self.key(k)}: {self.flow(v)}" for k, v in value.items())
            return "{" + pad + inner + pad + "}"
        if isinstance(value, list):
            return "[" + pad + comma.join(self.flow(v) for v in value) + pad + "]"
        return self.scalar(value, True)

    def lines(self, value, indent: int) -> list[str]:
        """Lines of a value that is not empty, in block style, each with its indent."""
        pad, out = " " * indent, []
        if isinstance(value, dict):
            for key, item in value.items():
                if self.comments and not self.draw(st.integers(0, 4)):
                    self.count += 1
                    out += [pad + f"# above {self.count}"]
                out += self.member(pad + self.key(key) + ":", item, indent, isinstance(item, list))
            return out
        for item in value:
            if isinstance(item, dict | list) and item and not self.is_flow():
                inner = self.lines(item, indent + 2)
                if inner[0].lstrip().startswith("#"):
                    out += [pad + "-", *inner]
                else:
                    out += [pad + "- " + inner[0][indent + 2 :], *inner[1:]]
            else:
                out += [pad + "- " + self.flow(item) + self.comment()]
        return out

    def is_flow(self) -> bool:
        return bool(self.flowing) and not self.draw(st.integers(0, 3 // self.flowing))

    def member(self, head: str, item, indent: int, is_list: bool) -> list[str]:
        if isinstance(item, dict | list) and item and not self.is_flow():
            shift = 0 if is_list and self.hang else self.step
            return [head + self.comment(), *self.lines(item, indent + shift)]
        if item is None and self.draw(st.booleans()):
            return [head + self.comment()]
        return [head + " " + self.flow(item) + self.comment()]


@st.composite
def documents(draw, root=roots) -> tuple[str, object]:
    value = draw(root)
    kind = draw(st.sampled_from(["block", "block", "block", "json2", "json4", "compact", "spaced"]))
    if kind == "block":
        scribe = Scribe(draw)
        lines = ["# karpenter", *scribe.lines(value, 0)]
        if draw(st.booleans()):
            lines.insert(draw(st.integers(1, len(lines))), "")
        if draw(st.booleans()):
            lines = ["---", *lines]
        if draw(st.booleans()):
            lines += ["---", "kind: Other # karpenter"]
        text = "\n".join(lines)
    elif kind == "compact":
        text = json.dumps({"karpenter": 1, **value}, separators=(",", ":"))
        value = {"karpenter": 1, **value}
    else:
        text = json.dumps({"karpenter": 1, **value}, indent={"json2": 2, "json4": 4}.get(kind))
        value = {"karpenter": 1, **value}
    if draw(st.booleans()):
        text += "\n"
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):
        text = "\ufeff" + text
    return text, value


def read(text: str) -> Source:
    source = Source.from_text("x.yaml", text)
    assert not source.problems, (source.problems, text)
    return source


def members(node: Node) -> list:
    """A mapping's entries, less the one without which the document would be passed over."""
    return [entry for entry in node.entries if entry.name != "karpenter"]


def nodes(source: Source, kind: str | None = None) -> list[tuple[Node, tuple]]:
    """Values below the first root with their paths, keys left out."""
    found = []

    def visit(node: Node, path: tuple) -> None:
        if kind is None or node.kind == kind:
            found.append((node, path))
        for index, item in enumerate(node.items):
            visit(item, (*path, index))
        for entry in members(node):
            visit(entry.value, (*path, entry.name))

    visit(source.documents[0].root, ())
    return found


def value_at(value, path):
    for step in path:
        value = value[step]
    return value


def changed(value, path, do):
    """A copy of a value with what is at a path replaced by `do` of it."""
    value = copy.deepcopy(value)
    if not path:
        return do(value)
    container = value_at(value, path[:-1])
    container[path[-1]] = do(container[path[-1]])
    return value


def notes(text: str) -> list[str]:
    return re.findall(r"# (?:note|above) \d+", text)


def check(source: Source, edits, expected) -> str:
    text = apply(source.text, edits)
    again = read(text)
    assert again.documents[0].root is not None
    assert again.documents[0].root.plain() == expected, (source.text, text)
    assert len(again.documents) == len(source.documents)
    assert [d.root and d.root.plain() for d in again.documents[1:]] == [
        d.root and d.root.plain() for d in source.documents[1:]
    ]
    if "\t" not in source.text:
        assert "\t" not in text
    if "\r" in source.text:
        assert re.search(r"(?<!\r)\n", text) is None
    else:
        assert "\r" not in text
    assert text.startswith("\ufeff") == source.text.startswith("\ufeff")
    if "\n" in source.text:
        assert text.endswith("\n") == source.text.endswith("\n")
    return text


def nothing_lost(source: Source, edits) -> None:
    for edit in edits:
        assert not source.text[edit.start : edit.end].strip(), source.text[edit.start : edit.end]


@given(documents())
def test_what_is_written_is_what_is_read(document) -> None:
    text, value = document
    assert read(text).documents[0].root.plain() == value


@given(documents(), st.data())
def test_spans_hold_exactly_their_value(document, data) -> None:
    source = read(document[0])
    for node, _ in nodes(source):
        # Escapes of half a character are read in JSON alone.
        if node.kind == "scalar" and node.text and "\\ud" not in node.text:
            again = Source.from_text("x.yaml", f"karpenter: [{node.text}]")
            assert again.documents[0].root.get("karpenter").items[0].plain() == node.plain()
        assert node.text == node.text.strip()


@given(documents(), st.data())
def test_set_value(document, data) -> None:
    text, value = document
    source = read(text)
    found = nodes(source, "scalar")
    assume(found)
    node, path = data.draw(st.sampled_from(found))
    new = data.draw(st.one_of(texts, st.integers(-3, 70), st.booleans()))
    edits = set_value(node, new)
    assert all(node.start <= edit.start and edit.end <= node.end for edit in edits)
    after = check(source, edits, changed(value, path, lambda _: new))
    again = read(after)
    assert set_value(again.documents[0].root.find(*path), new) == []


@given(documents(), st.data())
def test_replace(document, data) -> None:
    text, value = document
    source = read(text)
    found = [pair for pair in nodes(source) if pair[1]]
    assume(found)
    node, path = data.draw(st.sampled_from(found))
    new = data.draw(values)
    check(source, replace(node, new), changed(value, path, lambda _: new))


@given(documents(), st.data())
def test_set_key(document, data) -> None:
    text, value = document
    source = read(text)
    found = [pair for pair in nodes(source, "mapping") if members(pair[0])]
    assume(found)
    node, path = data.draw(st.sampled_from(found))
    entry = data.draw(st.sampled_from(members(node)))
    new = data.draw(texts.filter(lambda t: node.get(t) is None))
    edits = set_key(entry.key, new)
    check(
        source,
        edits,
        changed(value, path, lambda m: {new if k == entry.name else k: v for k, v in m.items()}),
    )


@given(documents(), values, st.data())
def test_add_and_insert_item(document, item, data) -> None:
    text, value = document
    source = read(text)
    found = nodes(source, "sequence")
    assume(found)
    node, path = data.draw(st.sampled_from(found))
    edits = add_item(node, item)
    if node.items:
        nothing_lost(source, edits)
    assert notes(check(source, edits, changed(value, path, lambda s: [*s, item]))) == notes(text)
    index = data.draw(st.integers(0, len(node.items)))
    edits = insert_item(node, index, item)
    after = check(source, edits, changed(value, path, lambda s: [*s[:index], item, *s[index:]]))
    assert notes(after) == notes(text)


@given(documents(), keys, values, st.data())
def test_add_key(document, key, item, data) -> None:
    text, value = document
    source = read(text)
    found = [pair for pair in nodes(source, "mapping") if pair[0].get(key) is None]
    assume(found)
    node, path = data.draw(st.sampled_from(found))
    after = data.draw(st.sampled_from([None, *[entry.name for entry in node.entries]]))
    edits = add_key(node, key, item, after)
    if node.entries:
        nothing_lost(source, edits)
    assert notes(check(source, edits, changed(value, path, lambda m: {**m, key: item}))) == notes(text)
    order = list(value_at(read(apply(text, edits)).documents[0].root.plain(), path))
    assert order.index(key) == (order.index(after) + 1 if after is not None else len(order) - 1)


@given(documents(), st.data())
def test_remove(document, data) -> None:
    text, value = document
    source = read(text)
    found = [pair for pair in nodes(source) if pair[1]]
    assume(found)
    node, path = data.draw(st.sampled_from(found))

    def without_item(container):
        if isinstance(container, dict):
            return {k: v for k, v in container.items() if k != path[-1]}
        return [v for i, v in enumerate(container) if i != path[-1]]

    check(source, remove(node), changed(value, path[:-1], without_item))


@given(documents(), st.data())
def test_remove_all(document, data) -> None:
    """Any members of a collection, neighbours and all of them too."""
    text, value = document
    source = read(text)
    found = [(node, path) for node, path in nodes(source) if len(node.items) > 1 or len(members(node)) > 1]
    assume(found)
    node, path = data.draw(st.sampled_from(found))
    places = [*range(len(node.items)), *(entry.name for entry in members(node))]
    gone = data.draw(st.lists(st.sampled_from(places), min_size=1, unique=True))

    def without_members(container):
        if isinstance(container, dict):
            return {k: v for k, v in container.items() if k not in gone}
        return [v for i, v in enumerate(container) if i not in gone]

    removed = [node.items[place] if isinstance(place, int) else node.get(place) for place in gone]
    check(source, remove_all(removed), changed(value, path, without_members))


@given(documents(st.fixed_dictionaries({"values": st.lists(texts, max_size=5), "name": scalars})), st.data())
def test_set_values(document, data) -> None:
    text, value = document
    source = read(text)
    node = source.documents[0].root.get("values")
    old = value["values"]
    new = data.draw(st.lists(st.one_of(st.sampled_from(old) if old else texts, texts), max_size=6))
    edits = set_values(node, new)
    after = check(source, edits, {**value, "values": new})
    assert set_values(read(after).documents[0].root.get("values"), new) == []


@given(documents(), values, keys, st.data())
def test_restructure(document, item, key, data) -> None:
    """Any mapping or list becomes another by steps: what goes, what changes and what is new."""
    text, _ = document
    source = read(text)
    found = [node for node, _ in nodes(source) if node.kind != "scalar"]
    assume(found)
    place = data.draw(st.sampled_from(found))
    wanted = place.plain()
    for _ in range(data.draw(st.integers(1, 3))):
        if isinstance(wanted, dict):
            gone = data.draw(st.sampled_from([None, *wanted]))
            wanted = {name: value for name, value in wanted.items() if name != gone} | {key: item}
        else:
            number = data.draw(st.integers(0, len(wanted)))
            wanted = [*wanted[:number], item, *wanted[number + data.draw(st.integers(0, 1)) :]]
    try:
        edits = restructure(place, wanted)
    except NotEditable:
        return
    steps = find_steps(place)
    again = read(apply(text, edits)).documents[0].root
    for step in steps:
        again = member_at(again, step)
    assert again.plain() == wanted


@given(documents())
def test_add_document(document) -> None:
    text, _ = document
    source = read(text)
    try:
        edits = add_document(source.documents[0], "# karpenter\nkind: New\n")
    except NotEditable:
        assert text.lstrip("\ufeff").startswith("{")
        return
    again = read(apply(text, edits))
    roots = [d.root.plain() for d in source.documents]
    assert [d.root.plain() for d in again.documents] == [roots[0], {"kind": "New"}, *roots[1:]]


def test_edits_that_overlap_are_refused() -> None:
    source = read("karpenter: 1\n")
    node = source.documents[0].root.get("karpenter")
    with pytest.raises(ValueError, match="overlaps"):
        apply(source.text, [*set_value(node, 2), *set_value(node, 3)])


@given(st.text("ab", max_size=200), st.text("ab", max_size=200), st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_the_difference_is_the_same_where_a_part_is_known_to_be(head: str, tail: str, old: str, new: str) -> None:
    before, after = head + old + tail, head + new + tail
    source = Source.from_text("a.yaml", before)
    plain = difference(source, 0, before, after)
    assert difference(source, 0, before, after, (len(head), len(tail))) == plain
    assert apply(before, [plain]) == after
    same = [n for n in range(min(len(before), len(after))) if before[: n + 1] == after[: n + 1]]
    assert plain.start == len(same)
