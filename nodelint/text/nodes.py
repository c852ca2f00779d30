"""A file's text, and the YAML values in it with the exact place where each is written."""

from __future__ import annotations

import re
from bisect import bisect_right
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
    """A key of a mapping with its value. `merged`: it came through `<<`.

    `name` is the key as it stands in JSON (`true` for `on`), None if it is a placeholder.
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
    """A YAML value and the characters `start` to `end` of its source that it is written in.

    The span is tight: no anchor, no tag, no comment, no line break after the last character. A block
    scalar begins at its `|` or `>`. A scalar without characters (`key:`) is an empty span behind its
    `:` or `-`. Nodes are compared by identity.
    """

    __slots__ = (
        "alias",
        "aliased",
        "end",
        "entries",
        "items",
        "kind",
        "merges",
        "parent",
        "raw",
        "shared",
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
    """Where its anchor or tag begins; `start` where it has none."""
    kind: Kind
    style: Style
    value: Scalar
    entries: list[MappingEntry]
    """A mapping's keys: those written, in order, then those merged in."""
    items: list[Node]
    parent: Node | None
    """The collection around it, also for a key; None for the root of a document."""
    alias: bool
    """It is written as `*x`: it may be replaced whole, but nothing inside it."""
    shared: bool
    """It lies inside an alias or a merge and is written elsewhere: no edit may touch it."""
    aliased: bool
    """An alias or a merge refers to it: an edit here changes another place too."""
    tag: str | None
    """The tag it carries, as in `tag:yaml.org,2002:str`."""
    merges: list[MappingEntry]
    """What a mapping holds that is not a key of its value: `<<`, and keys that a `<<` below them replaces.

    Of a list, the items that a template writes in the place of others.
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
        self.shared = False
        self.aliased = False
        self.tag = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.start}-{self.end} {self.text[:40]!r}>"

    def entry(self, key: str) -> MappingEntry | None:
        """Return a mapping's key with its value; None if there is no such key or no mapping."""
        for entry in self.entries:
            if entry.name == key:
                return entry
        return None

    def get(self, key: str) -> Node | None:
        """Return the value of a mapping's key; None if there is no such key or no mapping. `find` takes a path."""
        for entry in self.entries:
            if entry.name == key:
                return entry.value
        return None

    def key(self, key: str) -> Node | None:
        """Return the node of a mapping's key itself."""
        for entry in self.entries:
            if entry.name == key:
                return entry.key
        return None

    def find(self, *path: str | int) -> Node | None:
        """Return the node at the end of a path of keys and indices, None if the path ends early.

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
        """Return the value as JSON would carry it: dict, list and scalars; placeholders stay `UNKNOWN`."""
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
        """Return the entry of a mapping of which it is the value. None for an item of a list, and for a root."""
        around = self.parent
        return None if around is None else next((entry for entry in around.entries if entry.value is self), None)

    @property
    def own_name(self) -> str | None:
        """Return the key of which it is the value. None if there is none, and where a placeholder is the key."""
        entry = self.own_entry
        return None if entry is None else entry.name

    @property
    def text(self) -> str:
        """Return the characters it is written in."""
        return self.source.text[self.start : self.end]

    @property
    def unquoted(self) -> str:
        """Return the characters that the value is written in, without quotes: a placeholder is shown so."""
        return self.text[1:-1] if self.style in ("single", "double") else self.text

    def walk(self) -> Iterator[Node]:
        """Yield the node and all below it, keys too, in the order of the text (what was merged in comes last)."""
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
        """Return where it is in its document: `spec.template.spec.requirements[0].key`, empty for the root."""
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
    """Return the name of a key; of a placeholder its characters without quotes."""
    return entry.key.unquoted if entry.name is None else entry.name


_NO_ENTRIES: list[MappingEntry] = []
_NO_ITEMS: list[Node] = []
_BARE = r"[A-Za-z0-9_-]+"


class Document:
    """One document of a source: the characters `start` to `end`, its `---` line included.

    `root` is None if the document is empty, cannot be read, or was passed over because the word karpenter is not in
    it. `templated` says that whole lines of it were template code: what a reader misses may be there after rendering.

    A document that stands in a text of another kind has a `host`: `terraform` (a heredoc), `hcl` (an object of HCL's
    own), `shell`, `markdown`, or `block` for a block scalar of another document. Every line of it begins with
    `prefix`. `part` is as in `Source`. `target` is the kind that a JSON6902 patch is for. `nodes` is for
    `text.incremental`, which lists them once.
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

    @property
    def origin(self) -> str | None:
        """Return the file that a `# Source:` comment above the first key names, as `helm template` writes it."""
        if self.root is None:
            return None
        above = self.root.source.text[self.start : self.root.start]
        named = re.search(r"(?m)^# Source: ([^\s:]+/(?:templates|crds)/[^\r\n]+)", above)
        return None if named is None else named[1].rstrip()


class SourceText:
    """A file's text, its documents, and what could not be read.

    `part` is set by whoever knows the file's surroundings: True where its objects are parts of others, such as a
    Kustomize patch, None if they may be. `tabbed` says that tabs begin the lines of a document, `masked` that
    template code may have been set aside in one, so that a key may be there more than once. `also` is the pattern of
    what is read although the word karpenter is not in it; `node_groups` are then the texts of the files that state
    nodes of others than Karpenter, and `unread_keys` the keys of taints that may be tolerated in files of which not
    all is read; None if nobody has looked for workloads. `noted` is the one document that differs from those of
    another source, which is asked for most. `derived` is what `once` keeps. `held` is for `model.manifest`, which
    reads the objects of a source once. `cluster` and `built` are set for a text that is built of files (see
    `forms.rendered`): what is built for one cluster belongs together. `roots` are the root modules of Terraform, or
    the variable files, with which a file is filled in. `is_named` says that the command line names the file,
    `values_order` is its number among the files of --values. `is_editable` is false for a file that is read only
    because a named file belongs to it: `--fix` changes only what the user names.
    """

    __slots__ = (
        "_lines",
        "_origins",
        "_roots",
        "also",
        "built",
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
    """Whether the text is all of its file."""
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
        self.built: Any = None
        self.held: tuple[object, Any] | None = None
        self._lines: Lines | None = None
        self._origins: list[tuple[int, int, str | None]] | None = None
        self._roots: dict[int, Document] = {}
        self.words: dict[str, bool] = {}
        self.derived: dict[Hashable, Any] = {}
        self.noted: Document | None = None

    def holds(self, word: str) -> bool:
        """Whether the text holds a word anywhere, looked up once: many rules ask it of every object of a file."""
        found = self.words.get(word)
        if found is None:
            found = self.words[word] = word in self.text
        return found

    def once(self, key: Hashable, work: Callable[[], _T]) -> _T:
        """Return what `work` makes of the text, made once for a key: trials of fixes share what stays."""
        if key not in self.derived:
            self.derived[key] = work()
        made: _T = self.derived[key]
        return made

    @property
    def may_be_template(self) -> bool:
        """Whether this may be a template of a chart."""
        return "templates" in self.path and "{{" in self.text

    def replace_text(self, text: str) -> None:
        """Take another text, whose documents have been put in place already (see `text.incremental`)."""
        self.text = text
        self._lines = self._origins = None
        self._roots, self.derived, self.noted = {}, {}, None
        if self.held is not None:  # objects of documents that stay are the same
            self.held = None, self.held[1]

    @property
    def data(self) -> bytes:
        """Return the text as the bytes of its file, in the encoding in which that was read."""
        return self.text.encode(self.encoding)

    @property
    def lines(self) -> Lines:
        """Return the lines of the text."""
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines

    @property
    def flat(self) -> str:
        """Return the text with a line feed for each line break of YAML; places stay (see `Lines.flat`)."""
        return self.lines.flat

    def position(self, offset: int) -> Position:
        """Return the line and the column of a character."""
        return self.lines.position(offset)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its line break; empty if there is none."""
        return self.lines.line(number)

    def start_of_line(self, number: int) -> int:
        """Return where a line begins, counted from 1; the last line where there are fewer."""
        return self.lines.start_of_line(number)

    def origin(self, offset: int) -> str | None:
        """Return the chart's file from which the document at a place was rendered, where a comment of Helm's names
        one.
        """
        if self._origins is None:
            self._origins = list(self._origins_read()) if "# Source: " in self.text else []
        at = bisect_right(self._origins, offset, key=_start) - 1
        if at < 0:
            return None
        _, end, origin = self._origins[at]
        return origin if offset < end else None

    def _origins_read(self) -> Iterator[tuple[int, int, str | None]]:
        """Yield where each document begins and ends, and its origin; a document within another has that one's."""
        last = -1
        for document in sorted(self.documents, key=lambda d: d.start):
            if document.start >= last and document.end > document.start:
                last = document.end
                yield document.start, document.end, document.origin

    def document_of(self, root: Node) -> Document | None:
        """Return the document of which a node is the root."""
        if self.noted is not None and self.noted.root is root:
            return self.noted
        if not self._roots:
            self._roots = {id(document.root): document for document in reversed(self.documents)}
        return self._roots.get(id(root))


def _start(part: tuple[int, int, str | None]) -> int:
    return part[0]
