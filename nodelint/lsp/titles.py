"""Describe edits in a few words, such as `Set `expireAfter` to `720h``, by comparing values before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from nodelint.model.finding import Edit
from nodelint.model.messages import counted, list_first, short
from nodelint.text import Node, SourceText

_NAMED = 2
"""The most changes that a title names. The title counts the others."""

_WIDTH = 60
"""The most characters of a value in a title."""


def describe_edits(edits: Sequence[Edit], before: Sequence[SourceText], after: Sequence[SourceText]) -> str:
    """Return a title for edits. `before` are the texts that they change, `after` the texts with the edits."""
    changes = [change for old, new in zip(before, after, strict=True) for change in _changes_of_text(old, new)]
    changes = _merge_moves(list(dict.fromkeys(changes))) or [_describe_characters(edit) for edit in edits]
    named = changes[:_NAMED]
    if len(changes) > len(named):
        named.append(counted(len(changes) - len(named), "more change"))
    words = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"{words[:1].upper()}{words[1:]}"


def _merge_moves(changes: list[str]) -> list[str]:
    """Return the changes, with the removal and addition of one key merged to a move."""
    for change in changes:
        name = change.removeprefix("remove ").rstrip("`")
        added = next((other for other in changes if other.startswith((f"add {name}: ", f"add {name}`"))), None)
        if change.startswith("remove ") and added is not None:
            return _merge_moves([f"move {name}`", *(c for c in changes if c not in (change, added))])
    return changes


def _changes_of_text(before: SourceText, after: SourceText) -> Iterator[str]:
    if before.problems or len(after.documents) < len(before.documents):
        return
    for old, new in zip_longest(before.documents, after.documents):
        root = new.root
        if old is not None and old.root is not None and root is not None:
            yield from _changes(old.root, root)
        elif root is not None and (kind := root.get("kind")) is not None:
            metadata = root.get("metadata")
            name = metadata.get("name") if metadata is not None else None
            yield f"add the {kind.value}" + (f" `{name.value}`" if name is not None else "")


def _changes(old: Node, new: Node) -> Iterator[str]:
    """Yield the changes between two values."""
    if old.text == new.text or (old.kind == new.kind == "scalar" and old.tag == new.tag and _is_same(old, new)):
        return
    if old.kind == new.kind == "mapping":
        yield from _changes_of_mapping(old, new)
    elif old.kind == new.kind == "sequence":
        yield from _changes_of_list(old, new)
    else:
        name = old.own_name
        if name is None and _value(old) == _value(new):  # a text in quotes, and one without
            yield f"replace `{short(old.text, _WIDTH)}` with `{short(new.text, _WIDTH)}`"
        elif name is None:
            yield f"replace {_value(old)} with {_value(new)}"
        elif new.kind == "scalar" and "\n" in str(new.value):
            yield f"change `{name}`"
        else:
            value = _value(new)
            yield f"set `{name}` to {value if value != _value(old) else f'`{short(new.text, _WIDTH)}`'}"


def _is_same(old: Node, new: Node) -> bool:
    return old.style == new.style and old.value == new.value and type(old.value) is type(new.value)


def _changes_of_mapping(old: Node, new: Node) -> Iterator[str]:
    before = {entry.name: entry for entry in old.entries if entry.name is not None and not entry.merged}
    after = {entry.name: entry for entry in new.entries if entry.name is not None and not entry.merged}
    gone = [name for name in before if name not in after]
    added = [name for name in after if name not in before]
    for name in gone[:]:
        # The same value under another name: a key that was misspelt, say.
        other = next((n for n in added if " ".join(after[n].value.text.split()) == _flat(before[name].value)), None)
        if other is not None:
            gone.remove(name)
            added.remove(other)
            yield f"rename `{name}` to `{other}`"
    for name in gone:
        yield f"remove `{name}`"
    for name in added:
        value = after[name].value
        yield f"add `{short(f'{name}: {value.text}', _WIDTH)}`" if value.kind == "scalar" else f"add `{name}`"
    for name in before:
        if name in after:
            yield from _changes(before[name].value, after[name].value)


def _changes_of_list(old: Node, new: Node) -> Iterator[str]:
    before, after = [_flat(item) for item in old.items], [_flat(item) for item in new.items]
    gone = [item for item in old.items if _flat(item) not in after]
    added = [item for item in new.items if _flat(item) not in before]
    alike = len(gone) == len(added)
    for item in gone[:]:
        other = next((other for other in added if alike or _shows_same(item, other)), None)
        if other is not None:
            yield from _changes(item, other)
            gone.remove(item)
            added.remove(other)
    for verb, items in (("remove", gone), ("add", added)):
        if items:
            yield f"{verb} {list_first([_value(item) for item in items], 3)}"


def _shows_same(item: Node, other: Node) -> bool:
    """Return whether two entries of a list concern the same thing, judged by their first fields."""
    return all(node.kind == "mapping" and node.entries for node in (item, other)) and (
        item.entries[0].name == other.entries[0].name
        and _flat(item.entries[0].value) == _flat(other.entries[0].value)
    )


def _value(node: Node) -> str:
    """Return a value for a title: a requirement or taint by its values, another mapping by its first field."""
    if node.kind == "mapping" and node.entries:
        first = node.entries[0]
        words = f"{first.name}: {_flat(first.value)}"
        if first.name == "key":
            words = " ".join(_in_brackets(entry.value) for entry in node.entries)
        return f"`{short(words, _WIDTH)}`"
    if node.kind == "scalar" and isinstance(node.value, str) and node.style in ("double", "single", "plain"):
        return f"`{short(node.value, _WIDTH)}`" if node.value else '`""`'
    return f"`{short(node.text, _WIDTH)}`"


def _in_brackets(node: Node) -> str:
    return f"[{', '.join(map(_flat, node.items))}]" if node.kind == "sequence" else _flat(node)


def _flat(node: Node) -> str:
    return " ".join(node.text.split())


def _describe_characters(edit: Edit) -> str:
    """Return the change of characters by an edit that changes no value, such as an edit of template code."""
    old, new = edit.source.text[edit.start : edit.end].strip(), edit.text.strip()
    if not new:
        return f"remove `{short(old)}`"
    return f"write `{short(new)}`" if not old else f"replace `{short(old)}` with `{short(new)}`"
