"""Find the members of lists and mappings, and create the edits that add or remove members."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache

from nodelint.edits.formatting import (
    Manner,
    Plain,
    Writer,
    children,
    column,
    is_broken,
    leading,
    line_end,
    line_start,
)
from nodelint.model.finding import Edit
from nodelint.text import Document, SourceText
from nodelint.text.nodes import MappingEntry, Node
from nodelint.text.placeholders import CODE
from nodelint.text.program_output import is_program_output


class NotEditable(Exception):
    """Raised if no edit can make the change and nothing else. `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# -- places


def edit_of(node: Node, start: int, end: int, text: str) -> Edit:
    """Return an edit of the source of a node.

    If the lines of its document begin with tabs, its new lines do as well.
    """
    if node.source.tabbed:
        prefix = document_of(node).prefix
        if "\t" in prefix:
            whole = start == 0 or node.source.text[start - 1] == "\n"
            text = re.sub(rf"(?<=\n) {{{len(prefix)}}}", prefix, text)
            if whole and text.startswith(" " * len(prefix)):
                text = prefix + text[len(prefix) :]
    return Edit(node.source, start, end, text)


def root_of(node: Node) -> Node:
    """Return the root node of the document of a node."""
    while node.parent is not None:
        node = node.parent
    return node


@lru_cache(maxsize=4)
def manner_of(root: Node) -> Manner:
    """Return the style of the document of a root node: indent, quotes, flow or block."""
    return Manner(root)


def document_of(node: Node) -> Document:
    """Return the document of a node. Raise NotEditable if the object was composed from the operations of a patch."""
    found = node.source.document_of(root_of(node))
    if found is None:
        raise NotEditable("operations of a JSON patch make the value: edit it by hand")
    return found


class _Layout:
    """The members of a collection, computed once for all fixes of its members."""

    def __init__(self, node: Node) -> None:
        self.members = sorted(children(node), key=lambda pair: pair[0].raw)
        self.index: dict[int, int] = {}
        for number, pair in enumerate(self.members):
            for part in pair:
                self.index.setdefault(id(part), number)
        self.entries: dict[int, MappingEntry] = {}
        for entry in (*node.entries, *node.merges):
            self.entries.setdefault(id(entry.key), entry)
            self.entries.setdefault(id(entry.value), entry)

    @cached_property
    def explicit(self) -> bool:
        """Return whether a key is written with `?`."""
        return any(is_explicit(first) for first, _ in self.members)


@lru_cache(maxsize=2)
def _layout(node: Node) -> _Layout:
    return _Layout(node)


def members_of(node: Node) -> list[tuple[Node, Node]]:
    """Return the first and the last node of each member, in the order of the text."""
    return _layout(node).members


def index_of(node: Node) -> int | None:
    """Return the index of the member whose first or last node this is. None if the node comes from a merge."""
    return None if node.parent is None else _layout(node.parent).index.get(id(node))


def entry_of(node: Node) -> MappingEntry | None:
    """Return the mapping entry whose key or value is this node. None for an item of a list and for a root."""
    return None if node.parent is None else _layout(node.parent).entries.get(id(node))


def key_column(entry: MappingEntry) -> int:
    text = entry.key.source.text
    return entry.key.raw - line_start(text, entry.key.raw)


def behind_colon(entry: MappingEntry) -> int | None:
    """Return the offset after the `:` of a key. None if the key has no `:`."""
    text = entry.key.source.text
    match = re.compile(r"[ \t]*:").match(text, entry.key.end)
    return None if match is None else match.end()


def is_explicit(node: Node) -> bool:
    """Return whether a node is a key of a block mapping that is written as `? key`, with its value below."""
    if node.parent is None or node.parent.kind != "mapping" or node.parent.style != "block":
        return False
    return re.compile(r"[ \t]*:").match(node.source.text, node.end) is None


def after_key(line: str, writer: Writer, entry: MappingEntry) -> str:
    """Return the text after the key in a line that was written as a mapping entry."""
    return line.removeprefix(writer.key(entry.name or "", False) + ": ")


def model_for(model: Node | None, value: Plain) -> Node | None:
    """Return the model if its kind fits the value: a mapping, a list or a scalar. None otherwise."""
    if model is None:
        return None
    if isinstance(value, Mapping):
        return model if model.kind == "mapping" else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return model if model.kind == "sequence" else None
    return model


def opens_block(line: str, value: Plain) -> bool:
    """Return whether a line is a block collection with one member, which cannot be on the line of a key."""
    return isinstance(value, Mapping | list | tuple) and bool(value) and line[0] not in "[{"


def in_block(node: Node) -> bool:
    return node.parent is None or node.parent.style == "block"


def later_indent(indent: int, later: bool) -> str:
    return " " * indent if later else ""


def behind_mark(node: Node, written: str) -> str:
    """Return the text to write after the `:` or `-` of a value without characters."""
    text = node.source.text
    before = text[node.start - 1 : node.start]
    after = text[node.start : node.start + 1]
    if before in (":", "-", ",", "[", "{", "?") or before.isspace():
        lead = "" if before.isspace() else " "
        return lead + written + (" " if after == "#" else "")
    return ": " + written


def as_text(item: Node) -> str:
    """Return a text to compare an item by. An item that is not a string is equal to no string."""
    value = item.value
    return value if item.kind == "scalar" and isinstance(value, str) else "\0" + item.text


def text_model(models: Sequence[Node], items: Sequence[Plain]) -> Node | None:
    """Return the last string among the items, as the model for new strings. None if other items are added."""
    if not all(isinstance(item, str) for item in items):
        return None
    for model in reversed(models):
        if model.kind == "scalar" and isinstance(model.value, str) and model.style in ("plain", "single", "double"):
            return model
    return None


def last_line_end(text: str, node: Node) -> int:
    """Return the end of the last line of a block node, with the blank lines that belong to a `|+` scalar."""
    last = node
    while last.kind != "scalar" and not last.alias and last.style == "block":
        last = members_of(last)[-1][1]
    end = line_end(text, node.end)
    if last.style in ("literal", "folded") and "+" in last.text.split("\n", 1)[0]:
        blank = re.compile(r"(?:\r?\n[ \t]*(?=\r?\n))*").match(text, end)
        if blank is not None:
            end = blank.end()
    return end


def is_json(source: SourceText) -> bool:
    """Return whether a text begins as JSON: with a brace or a bracket."""
    return source.text.lstrip("\ufeff \t\r\n").startswith(("{", "["))


def guard(node: Node, *, structure: bool = False, whole: bool = False) -> None:
    """Raise NotEditable if an edit of the node would change more than intended.

    `structure`: the edit adds or removes members. `whole`: the edit replaces or removes the node as a whole.
    """
    if node.encoded or is_program_output(node.source):
        raise NotEditable("the value is in a quoted text, or in the output of a program: change what writes it")
    if node.shared:
        raise NotEditable("a YAML alias or merge stands for the value: edit the anchor by hand")
    if node.alias and structure and not whole:
        structure = False  # the caller replaces it as a whole, or refuses
    at: Node | None = node
    while at is not None:
        if at.aliased:
            raise NotEditable("a YAML alias elsewhere stands for the same value: edit it by hand")
        at = at.parent
    if not structure:
        return
    hold_to_line_feeds(node.source)
    if node.style == "block" and _layout(node).explicit:
        raise NotEditable("a key is written with `?`, and nodelint does not edit such mappings")
    document = document_of(node)
    if document.templated and _is_among_code(node, document):
        raise NotEditable("template code stands between the lines of the edit: edit it by hand")


@lru_cache(maxsize=2)
def _is_among_code(node: Node, document: Document) -> bool:
    """Return whether lines of template code are in a collection, or directly below it."""
    text = node.source.text
    entry = entry_of(node)
    begin = entry.key.end if entry is not None else node.parent.start if node.parent is not None else document.start
    following = re.compile(r"[^\n]*\n?(?:[ \t]*\r?\n)*[^\n]*").match(text, node.end)
    region = text[begin : following.end() if following is not None else node.end]
    return any(_is_code_line(line) for line in region.split("\n"))


def hold_to_line_feeds(source: SourceText) -> None:
    """Raise NotEditable if a line ends with neither `\\n` nor `\\r\\n`, because edits of whole lines need these."""
    if source.flat is not source.text:
        raise NotEditable("some lines of the file end in neither a line feed nor a carriage return with one")


def _is_code_line(line: str) -> bool:
    return line.lstrip().startswith(CODE)


# -- add members


def insert_member(
    node: Node,
    index: int,
    block: Callable[[int], list[str]],
    flow: Callable[[str | None], list[str]],
    writer: Writer,
) -> list[Edit]:
    """Return edits that insert members before the member at `index`. Raise NotEditable.

    `block` and `flow` return the lines of the members for an indent (for `flow`, None means on one line).
    """
    if node.alias:
        raise NotEditable("a YAML alias stands for the value: edit the anchor by hand")
    members = members_of(node)
    text, newline = node.source.text, node.source.newline
    if node.style == "block":
        indent = column(node)
        lines = newline.join(block(indent))
        if index <= 0:
            return [edit_of(node, node.start, node.start, lines + newline + " " * indent)]
        at = last_line_end(text, members[min(index, len(members)) - 1][1])
        return [edit_of(node, at, at, newline + " " * indent + lines)]
    if not members:
        return _fill(node, flow, writer)
    return _insert_flow(node, members, index, flow, writer)


def _fill(node: Node, flow: Callable[[str | None], list[str]], writer: Writer) -> list[Edit]:
    """Return edits that fill an empty flow collection with its first members."""
    text, newline = node.source.text, node.source.newline
    inner = text[node.start + 1 : node.end - 1]
    comma = "," if writer.manner.usual.compact else ", "
    if inner.strip():
        return [edit_of(node, node.end - 1, node.end - 1, comma.join(flow(None)))]
    if is_broken(writer.manner.root):
        outer = leading(node)
        indent = outer + writer.unit()
        written = f",{newline}{indent}".join(flow(indent))
        return [edit_of(node, node.start + 1, node.end - 1, newline + indent + written + newline + outer)]
    pad = " " if inner == " " else ""
    return [edit_of(node, node.start + 1, node.end - 1, pad + comma.join(flow(None)) + pad)]


def _insert_flow(
    node: Node,
    members: list[tuple[Node, Node]],
    index: int,
    flow: Callable[[str | None], list[str]],
    writer: Writer,
) -> list[Edit]:
    text, newline = node.source.text, node.source.newline
    neighbour = members[max(0, min(index, len(members)) - 1)]
    begins_line = not text[line_start(text, neighbour[0].raw) : neighbour[0].raw].strip()
    if begins_line:
        indent = leading(neighbour[0])
        separator = "," + newline + indent
        written = separator.join(flow(indent))
    else:
        separator = _separator(node, members, writer)
        written = separator.join(flow(None))
    if index <= 0:
        first = members[0][0].raw
        return [edit_of(node, first, first, written + separator)]
    end = neighbour[1].end
    rest = re.compile(r"([ \t]*,)?[ \t]*(#[^\r\n]*)?").match(text, end)
    assert rest is not None
    if not begins_line or rest.group(2) is None:
        return [edit_of(node, end, end, separator + written)]
    if rest.group(1) is not None:
        return [edit_of(node, rest.end(), rest.end(), newline + leading(neighbour[0]) + written + ",")]
    return [edit_of(node, end, end, ","), edit_of(node, rest.end(), rest.end(), separator[1:] + written)]


def _separator(node: Node, members: list[tuple[Node, Node]], writer: Writer) -> str:
    if len(members) > 1:
        between = node.source.text[members[0][1].end : members[1][0].raw]
        if re.fullmatch(r",[ ]*", between):
            return between
    return "," if writer.manner.usual.compact else ", "


# -- remove members


def remove_from_flow(parent: Node, members: list[tuple[Node, Node]], index: int) -> list[Edit]:
    """Return edits that remove a member of a flow collection with its comma. It is not the only member.

    If the member has a line of its own, the line is removed.
    """
    text = parent.source.text
    first, last = members[index]
    start, end = first.raw, last.end
    line = line_start(text, start)
    tail = re.compile(r"[ \t]*+,?[ \t]*+(?:#[^\r\n]*+)?(?=\r?\n)").match(text, end)
    own_line = not text[line:start].strip() and tail is not None
    if index + 1 < len(members):
        following = members[index + 1][0].raw
        if own_line and tail is not None and "," in text[end : tail.end()]:
            return [edit_of(parent, line, text.index("\n", tail.end()) + 1, "")]
        return [edit_of(parent, start, following, "")]
    before = members[index - 1][1].end
    if not own_line or tail is None:
        return [edit_of(parent, before, end, "")]
    edits = [edit_of(parent, line, text.index("\n", tail.end()) + 1, "")]
    comma = re.compile(r"\s*,").match(text, before)
    if comma is not None and "," not in text[end : tail.end()].split("#")[0]:
        edits.insert(0, edit_of(parent, before, comma.end(), ""))
    return edits


def remove_from_block(parent: Node, members: list[tuple[Node, Node]], index: int) -> list[Edit]:
    """Return edits that remove a member of a block collection, with its lines and the comments directly above."""
    text = parent.source.text
    begin = _beginning(parent, members, index)
    top = line_start(text, begin)
    bottom = last_line_end(text, members[index][1])
    if text[top:begin].strip():
        # `- key: value`: the next key moves up to its place
        following = bottom
        while following < len(text) and text[following] in " \t\r\n":
            following += 1
        return [edit_of(parent, begin, following, "")]
    if index > 0:
        top = _above_comments(text, top, members[index - 1][1].end, column(parent))
    elif parent.parent is not None:  # comments above the first key of a document are about the document
        top = _above_comments(text, top, 0, column(parent))
    if bottom >= len(text):
        # the file has no final line break: remove the one before, so that it has none again
        return [edit_of(parent, len(text[:top].rstrip("\r\n")), len(text), "")]
    bottom = text.index("\n", bottom) + 1
    if top == 0 or not text[line_start(text, top - 1) : top].strip():
        blank = re.compile(r"[ \t]*\r?\n").match(text, bottom)
        bottom = bottom if blank is None else blank.end()  # no two blank lines in a row
    return [edit_of(parent, top, bottom, "")]


def _beginning(parent: Node, members: list[tuple[Node, Node]], index: int) -> int:
    """Return the offset at which a member of a block collection begins: its key, or the dash of an item."""
    first, last = members[index]
    if parent.kind != "sequence":
        if behind_colon(MappingEntry(first, last, None)) is None:
            raise NotEditable("nodelint does not edit a key in this form: edit it by hand")
        return first.raw
    if index == 0:
        return parent.start
    # the tabs that `<<-` of a shell removes
    dash = re.compile(rf"(?m)^\ufeff?[ \t]{{{column(parent)}}}-(?=[ \t\r\n]|\Z)")
    found = dash.search(parent.source.text, members[index - 1][1].end)
    if found is None:
        raise NotEditable("nodelint does not edit an item in this form: edit it by hand")
    return found.end() - 1


def _above_comments(text: str, top: int, floor: int, indent: int) -> int:
    """Return the offset of the comments directly above a line, with the same indent. Stop at `floor`."""
    while top > floor:
        above = line_start(text, max(top - 1, 0)) if top > 0 else 0
        line = text[above:top]
        comment = line.lstrip(" ")
        if above < floor or above == top or len(line) - len(comment) != indent or comment[:1] != "#":
            break
        top = above
    return top
