"""Represent the text of a file, and its YAML values with their exact positions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.types import TYPE_CHECKING
from nodelint.text.lines import Lines, Position
from nodelint.text.unknown_value import UnknownValue

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any, ClassVar, Literal, TypeVar

    from nodelint.text.syntax_errors import SyntaxProblem

    _T = TypeVar("_T")
    Kind = Literal["scalar", "mapping", "sequence"]
    Style = Literal["plain", "single", "double", "literal", "folded", "flow", "block", "hcl", "hcl-blocks"]
else:
    Kind = Style = str


Scalar = str | int | float | bool | None | UnknownValue


class MappingEntry:
    """A key of a mapping with its value.

    - `name`: the key as JSON writes it (`true` for `on`), None if the key is a placeholder.
    - `merged`: the key comes from a `<<` merge.
    """

    __slots__ = ("key", "merged", "name", "value")

    def __init__(self, key: Node, value: Node, name: str | None, merged: bool = False) -> None:
        self.key = key
        self.value = value
        self.name = name
        self.merged = merged

    def __repr__(self) -> str:
        return f"MappingEntry({self.name!r}, {self.value!r})"


class Node:
    """A YAML value, and its range `start` to `end` in the source.

    The range is tight: no anchor, tag, comment, or line break at the end. A block scalar begins at its `|` or `>`. A
    scalar without characters (`key:`) is an empty range after its `:` or `-`. Nodes are compared by identity.
    """

    __slots__ = (
        "alias",
        "end",
        "entries",
        "items",
        "kind",
        "marks",
        "merges",
        "parent",
        "raw",
        "source",
        "start",
        "style",
        "tag",
        "value",
    )

    source: SourceText
    start: int
    end: int
    raw: int
    """The offset of the anchor or tag; equal to `start` if there is none."""
    kind: Kind
    style: Style
    value: Scalar
    entries: list[MappingEntry]
    """The keys of a mapping: first the keys that are written in it, in order, then the merged keys."""
    items: list[Node]
    parent: Node | None
    """The collection that contains the node, also for a key. None for the root of a document."""
    alias: bool
    """The node is written as an alias (`*x`): an edit may replace it as a whole, but nothing inside it."""
    marks: int
    """The bits of `shared` (1), `aliased` (2) and `encoded` (4), in one field to save memory in large files."""
    tag: str | None
    """The tag of the node, such as `tag:yaml.org,2002:str`."""
    merges: list[MappingEntry]
    """Entries of a mapping that are not part of its value: `<<`, and keys that a later `<<` replaces.

    For a list, the items that a template writes as alternatives to other items.
    """

    def __init__(
        self, source: SourceText, start: int, end: int, kind: Kind, style: Style, value: Scalar = None
    ) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.raw = start
        self.kind = kind
        self.style = style
        self.value = value
        self.entries = _NO_ENTRIES if kind != "mapping" else []
        self.items = _NO_ITEMS if kind != "sequence" else []
        self.merges = _NO_ENTRIES
        self.parent = None
        self.alias = False
        self.marks = 0
        self.tag = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.start}-{self.end} {self.text[:40]!r}>"

    @property
    def shared(self) -> bool:
        """Return whether the node is part of an alias or a merge, and is written elsewhere: no edit may change it."""
        return self.marks & 1 > 0

    @shared.setter
    def shared(self, value: bool) -> None:
        self.marks = self.marks & 6 | value

    @property
    def encoded(self) -> bool:
        """Return whether a quoted text contains the node. An encoded node is also `shared`."""
        return self.marks & 4 > 0

    @encoded.setter
    def encoded(self, value: bool) -> None:
        self.marks = self.marks & 2 | 5 * value

    @property
    def aliased(self) -> bool:
        """Return whether an alias or a merge refers to the node: an edit changes the other place as well."""
        return self.marks & 2 > 0

    @aliased.setter
    def aliased(self, value: bool) -> None:
        self.marks = self.marks & 5 | 2 * value

    def entry(self, key: str) -> MappingEntry | None:
        """Return the entry of a key. None if there is no such key, or if the node is not a mapping."""
        for entry in self.entries:
            if entry.name == key:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        """Return the value of a key. None if there is no such key, or if the node is not a mapping.

        `find` takes a path.
        """
        for entry in self.entries:
            if entry.name == key:
                return entry.value
        return None

    def key(self, key: str) -> Node | None:
        """Return the node of a key itself, not of its value. None if there is no such key."""
        for entry in self.entries:
            if entry.name == key:
                return entry.key
        return None

    def find(self, *path: str | int) -> Node | None:
        """Return the node at the end of a path of keys and indices. None if there is no such path.

        `get` takes one key.
        """
        node = self
        for step in path:
            for entry in node.entries:
                if entry.name == step:
                    node = entry.value
                    break
            else:
                if isinstance(step, str) or not -len(node.items) <= step < len(node.items):
                    return None
                node = node.items[step]
        return node

    def plain(self) -> object:
        """Return the value as JSON types: dict, list and scalars. Placeholders stay `UNKNOWN`."""
        if self.kind == "mapping":
            return {_key_text(entry): entry.value.plain() for entry in self.entries}
        if self.kind == "sequence":
            return [item.plain() for item in self.items]
        value = self.value
        if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
            return int(value)
        return value

    @property
    def own_entry(self) -> MappingEntry | None:
        """Return the mapping entry whose value is this node. None for an item of a list, and for a root."""
        around = self.parent
        return None if around is None else next((entry for entry in around.entries if entry.value is self), None)

    @property
    def own_name(self) -> str | None:
        """Return the name of the key whose value is this node.

        None if there is no key, or if the key is a placeholder.
        """
        entry = self.own_entry
        return None if entry is None else entry.name

    @property
    def text(self) -> str:
        """Return the source text of the node."""
        return self.source.text[self.start : self.end]

    @property
    def unquoted(self) -> str:
        """Return the source text of the node without quotes, for example to print a placeholder."""
        return self.text[1:-1] if self.style in ("single", "double") else self.text

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, keys as well, in the order of the text. Merged nodes come last."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            if node.kind == "mapping":
                for entry in reversed(node.entries):
                    pending.append(entry.value)
                    pending.append(entry.key)
            elif node.kind == "sequence":
                pending.extend(reversed(node.items))

    @property
    def path(self) -> str:
        """Return the path of the node in its document, such as `spec.requirements[0].key`. Empty for the root."""
        from json import dumps

        steps: list[str] = []
        node = self
        while node.parent is not None:
            parent = node.parent
            if parent.kind == "sequence":
                steps.append(f"[{next(i for i, item in enumerate(parent.items) if item is node)}]")
            else:
                entry = next(e for e in (*parent.entries, *parent.merges) if e.value is node or e.key is node)
                name = _key_text(entry)
                steps.append(f".{name}" if re.fullmatch(_BARE, name) else f"[{dumps(name)}]")
            node = parent
        return "".join(reversed(steps)).removeprefix(".")


def _key_text(entry: MappingEntry) -> str:
    """Return the name of a key. For a placeholder, return its source text without quotes."""
    return entry.key.unquoted if entry.name is None else entry.name


_NO_ENTRIES: list[MappingEntry] = []
_NO_ITEMS: list[Node] = []
_BARE = r"[A-Za-z0-9_-]+"


class Document:
    """One document of a source: its range `start` to `end`, with its `---` line.

    - `root`: None if the document is empty, cannot be parsed, or was not parsed because it does not mention
      Karpenter.
    - `templated`: whole lines of it are template code: fields that are missing may be there after rendering.
    - `host`: the kind of text that contains the document: `terraform` (a heredoc), `hcl` (an HCL object), `shell`,
      `markdown`, or `block` (a block scalar of another document). None for plain YAML.
    - `prefix`: the characters with which each line begins.
    - `part`: as in `SourceText`.
    - `target`: the node with the kind of the object that a JSON6902 patch changes.
    - `nodes`: all nodes, a cache of `text.incremental`.
    """

    __slots__ = ("end", "host", "index", "nodes", "part", "prefix", "root", "start", "target", "templated")

    def __init__(self, root: Node | None, start: int, end: int, index: int, templated: bool = False) -> None:
        self.root = root
        self.start = start
        self.end = end
        self.index = index
        self.templated = templated
        self.host: str | None = None
        self.prefix = ""
        self.part: bool | None = False
        self.target: Node | None = None
        self.nodes: Sequence[Node] | None = None


class SourceText:
    """The text of a file, its documents, and its syntax errors.

    - `part`: True if its objects are parts of other objects, such as a Kustomize patch; None if they may be. The
      caller who knows the folder sets it.
    - `tabbed`: lines of a document begin with tabs.
    - `masked`: template code may be masked in a document, so that a key may occur more than once.
    - `also`: a pattern of further texts for which the source is parsed, although it does not mention Karpenter.
    - `node_groups`: with `also`, the texts of the files that declare nodes of other tools than Karpenter.
    - `unread_keys`: with `also`, the taint keys that pods in unread files may tolerate. None if workloads were not
      searched.
    - `noted`: the one document that differs from another source, which is looked up most often.
    - `derived`: the cache of `once`.
    - `held`: the cache of `model.manifest`, which reads the objects of a source once.
    - `cluster`, `built`: for a rendered text, the environment and the rendered manifest (see `forms.rendered`).
    - `built_in`: for a file, the manifests that are rendered from it.
    - `roots`: the Terraform root modules, or the variable files, with which a file is rendered.
    - `is_named`: the command line names the file.
    - `values_order`: its number among the files of `--values`.
    - `is_editable`: False for a file that is read only because a requested file needs it: `--fix` does not change it.
    """

    __slots__ = (
        "_lines",
        "_roots",
        "also",
        "built",
        "built_in",
        "cluster",
        "derived",
        "documents",
        "encoding",
        "held",
        "is_editable",
        "is_named",
        "masked",
        "newline",
        "node_groups",
        "noted",
        "part",
        "path",
        "problems",
        "roots",
        "set_aside",
        "tabbed",
        "text",
        "unread_keys",
        "values_order",
        "words",
    )

    whole: ClassVar[bool] = True
    """Whether the text is the whole file."""
    path: str
    text: str
    newline: str
    documents: list[Document]
    problems: list[SyntaxProblem]
    set_aside: list[SyntaxProblem]

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.encoding = "utf-8"
        first = text.find("\n")
        self.newline = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
        if first < 0 and "\r" in text:
            self.newline = "\r"
        self.documents = []
        self.problems = []
        self.set_aside = []
        self.part: bool | None = False
        self.is_named = False
        self.is_editable = True
        self.values_order = 0
        self.tabbed = False
        self.masked = False
        self.also: str | None = None
        self.node_groups: Sequence[str] = ()
        self.unread_keys: frozenset[str] | None = None
        self.cluster = ""
        self.roots: tuple[str, ...] = ()
        self.built_in: tuple[Any, ...] = ()
        self.built: Any = None
        self.held: tuple[object, Any] | None = None
        self._lines: Lines | None = None
        self._roots: dict[int, Document] = {}
        self.words: dict[str, bool] = {}
        self.derived: dict[Hashable, Any] = {}
        self.noted: Document | None = None

    def holds(self, word: str) -> bool:
        """Return whether the text contains a word. The answer is cached: many rules ask for each object of a file."""
        found = self.words.get(word)
        if found is None:
            found = self.words[word] = word in self.text
        return found

    def once(self, key: Hashable, work: Callable[[], _T]) -> _T:
        """Return the result of `work`, cached for `key` while the text does not change."""
        if key not in self.derived:
            self.derived[key] = work()
        made: _T = self.derived[key]
        return made

    @property
    def may_be_template(self) -> bool:
        """Return whether the file may be a template of a Helm chart."""
        return "templates" in self.path and "{{" in self.text

    def replace_text(self, text: str) -> None:
        """Replace the text. The caller has already put the new documents in place (see `text.incremental`)."""
        self.text = text
        self._lines = None
        self._roots, self.derived, self.noted = {}, {}, None
        if self.held is not None:  # objects of unchanged documents stay the same
            self.held = None, self.held[1]

    @property
    def data(self) -> bytes:
        """Return the text as bytes, in the encoding of its file."""
        return self.text.encode(self.encoding)

    @property
    def lines(self) -> Lines:
        """Return the lines of the text."""
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines

    @property
    def flat(self) -> str:
        """Return the text with a line feed for each line break of YAML. Offsets do not change (see `Lines.flat`)."""
        return self.lines.flat

    def position(self, offset: int) -> Position:
        """Return the line and the column of the character at an offset."""
        return self.lines.position(offset)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its line break; empty if there is none."""
        return self.lines.line(number)

    def start_of_line(self, number: int) -> int:
        """Return the offset at which a line begins, counted from 1.

        For a number beyond the end, use the last line.
        """
        return self.lines.start_of_line(number)

    def document_of(self, root: Node) -> Document | None:
        """Return the document with a given root node. None if there is none."""
        if self.noted is not None and self.noted.root is root:
            return self.noted
        if not self._roots:
            self._roots = {id(document.root): document for document in reversed(self.documents)}
        return self._roots.get(id(root))
