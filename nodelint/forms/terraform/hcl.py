"""Find manifests in HCL of Terraform and OpenTofu, as nodes with exact positions.

This is not a full parser: it knows strings, heredocs, comments and brackets, reads objects, lists and literals, and
treats any other expression as an unknown value. No function raises on a text that is not HCL. Objects that cannot be
read raise `HclError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nodelint.base.budget import RUN
from nodelint.base.kept import kept_by_text
from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.hclstrings import string_end, unescape
from nodelint.model.compared import COMPARED
from nodelint.text.nodes import MappingEntry, Node, Scalar, SourceText
from nodelint.text.unknown_value import UNKNOWN

DEEPEST = 60
"""The deepest nesting of objects and lists. Deeper values are unknown."""

_TOKEN = (
    r"(?P<blank>[ \t\r\ufeff]+|\#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"
    r"|(?P<nl>\n)"
    r"|(?P<id>[^\W\d][\w-]*)"
    r"|(?P<num>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<heredoc><<-?[^\W\d][\w-]*[ \t]*\r?\n)"
    r"|(?P<op>=>|==|!=|<=|>=|&&|\|\||\.\.\.|[\s\S])"
)
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_BEFORE_OBJECT = ("=", ":", "(", ",", "[", "?", "=>")
_CLOSERS = ("}", "]", ")")
_ENCODERS = ("yamlencode", "jsonencode")


class HclError(Exception):
    """Raised for an object in a form that is not supported. `offset` is the place, `message` the reason."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset
        self.message = message


class Token(NamedTuple):
    """A token of HCL. `kind` is `id`, `num`, `str`, `heredoc`, `nl`, or the sign itself."""

    kind: str
    start: int
    end: int


class Heredoc(NamedTuple):
    """The lines of a heredoc (`start` to `end`), without its delimiters. `mark` is the offset of its `<<`."""

    start: int
    end: int
    mark: int


class HclManifest(NamedTuple):
    """A manifest written as an object: the index of its `{`, and whether something is merged into it."""

    at: int
    merged: bool


_GROUPS = r"(?:karpenter\.(?:sh|k8s\.aws)|eks\.amazonaws\.com)/"


class Text:
    """The tokens of a range of a text, to search heredocs and objects.

    With `bracketed`, the range ends at the bracket that closes the first one.
    """

    def __init__(
        self,
        text: str,
        start: int,
        end: int,
        bracketed: bool = False,
        groups: str = _GROUPS,
    ) -> None:
        self.text = text
        self._groups = groups
        self.heredocs: list[Heredoc] = []
        tokens = RUN.in_time(self._tokens(start, end))
        self.tokens = list(_to_close(tokens) if bracketed else tokens)

    def _tokens(self, at: int, end: int) -> Iterator[Token]:
        text = self.text
        token = re.compile(_TOKEN)
        unclosed: set[str] = set()
        while at < end:
            if text[at] == '"':
                close = string_end(text, at, end)
                yield Token("str", at, close)
                at = close
                continue
            match = token.match(text, at, end)
            assert match is not None and match.lastgroup is not None
            kind, begin, at = match.lastgroup, at, match.end()
            if kind == "heredoc":
                mark = match.group().lstrip("<-").strip()
                ending = re.compile(rf"(?m)^[ \t]*{re.escape(mark)}[ \t]*\r?$")
                last = None if mark in unclosed else ending.search(text, at, end)
                if last is None:
                    unclosed.add(mark)
                    yield Token("op", begin, at)
                    continue
                self.heredocs.append(Heredoc(at, last.start(), begin))
                at = last.end()
                yield Token("heredoc", begin, at)
            elif kind != "blank":
                yield Token(match.group() if kind == "op" else kind, begin, at)

    def manifests(self) -> list[HclManifest]:
        """Return the objects with an `apiVersion` of `groups` that is written as a literal.

        What is only compared with objects is not included.
        """
        found: dict[int, HclManifest] = {}
        open_: list[int] = []
        outermost: int | None = None  # the number of brackets around what is compared
        compares = any(key in self.text for key in COMPARED)
        tokens = self.tokens
        for index, token in enumerate(tokens):
            if token.kind in _PAIRS:
                if compares and outermost is None and self._is_compared(index):
                    outermost = len(open_)
                open_.append(index)
            elif token.kind in _CLOSERS:
                if open_:
                    open_.pop()
                if outermost == len(open_):
                    outermost = None
            elif token.kind in ("id", "str") and outermost is None and self._says_group(index) and open_:
                brace = open_[-1]
                if tokens[brace].kind == "{" and self._begins_value(brace) and brace not in found:
                    found[brace] = HclManifest(brace, self._is_merged(open_[:-1]))
        return list(found.values())

    def object(self, source: SourceText, found: HclManifest) -> Node:
        """Return the node of a manifest. Raise `HclError`."""
        node, _ = HclReader(source, self.tokens).object(found.at, 0)
        return node

    def end_of(self, index: int) -> int:
        """Return the offset after the bracket that closes the one at `index`.

        If it is not closed, return the end of the text.
        """
        behind = _behind(self.tokens, index)
        return len(self.text) if behind is None else self.tokens[behind - 1].end

    def _says_group(self, index: int) -> bool:
        following = self.tokens[index + 1 : index + 3]
        return (
            len(following) == 2
            and self._word(index) == "apiVersion"
            and following[0].kind in ("=", ":")
            and following[1].kind == "str"
            and re.match(f'"{self._groups}', self.text[following[1].start : following[1].end]) is not None
        )

    def _is_compared(self, bracket: int) -> bool:
        """Return whether a bracket begins the value of a key such as `pattern`."""
        sign = self._before(bracket)
        return sign > 0 and self.tokens[sign].kind in ("=", ":") and self._word(sign - 1) in COMPARED

    def _word(self, index: int) -> str:
        token = self.tokens[index]
        return self.text[token.start : token.end].strip('"')

    def _before(self, index: int) -> int:
        index -= 1
        while index >= 0 and self.tokens[index].kind == "nl":
            index -= 1
        return index

    def _begins_value(self, brace: int) -> bool:
        before = self._before(brace)
        return before >= 0 and self.tokens[before].kind in _BEFORE_OBJECT

    def _is_merged(self, around: list[int]) -> bool:
        """Return whether the nearest bracket around an object is that of a function that may change the object."""
        if not around or self.tokens[around[-1]].kind != "(":
            return False
        return around[-1] == 0 or self._word(around[-1] - 1) not in _ENCODERS


@kept_by_text
def words_of(text: str) -> Text:
    """Return the tokens of a whole text. The result is cached and must not be changed."""
    return Text(text, 0, len(text))


def read_literal(source: SourceText, start: int, end: int) -> Node | None:
    """Return the literal, list or object that begins at `start`.

    None if there is none, if it is a loop, if a value in it is not known, or if it ends elsewhere than at `end`.
    """
    text = source.text
    if start >= end or not (text[start].isalnum() or text[start] in '"[{-'):
        return None
    bracketed = text[start] in "[{"
    words = Text(text, start, end, bracketed)
    reader = HclReader(source, words.tokens)
    try:
        if bracketed and reader.is_loop(0):
            return None
        found = reader.list(0, 0) if text[start] == "[" else reader.object(0, 0) if bracketed else reader.literal(0)
    except HclError:
        return None
    if found is None or found[1] != len(words.tokens):
        return None
    return None if any(node.value is UNKNOWN for node in found[0].walk()) else found[0]


class HclReader:
    """Reads objects, lists and literals from tokens."""

    def __init__(self, source: SourceText, tokens: list[Token]) -> None:
        self.source = source
        self.text = source.text
        self.tokens = tokens

    def kind(self, index: int) -> str:
        return self.tokens[index].kind if index < len(self.tokens) else "end"

    def past_lines(self, index: int) -> int:
        while self.kind(index) == "nl":
            index += 1
        return index

    def node(self, first: int, last: int, kind: str = "scalar", value: Scalar = UNKNOWN) -> Node:
        start, end = self.tokens[first].start, self.tokens[last].end
        if kind == "mapping":
            return Node(self.source, start, end, "mapping", "hcl")
        if kind == "sequence":
            return Node(self.source, start, end, "sequence", "hcl")
        style = "double" if first == last and self.tokens[first].kind == "str" else "plain"
        return Node(self.source, start, end, "scalar", "double" if style == "double" else "plain", value)

    def object(self, index: int, depth: int) -> tuple[Node, int]:
        """Return the object whose `{` is at `index`, and the index after its `}`."""
        first = index
        index = self.past_lines(index + 1)
        members: list[tuple[Node, Node]] = []
        while self.kind(index) != "}":
            key, index = self.key(index)
            value, index = self.value(index, ("nl", ",", "}"), depth + 1)
            members.append((key, value))
            after = self.past_lines(index)
            if self.kind(after) == ",":
                after = self.past_lines(after + 1)
            elif after == index and self.kind(index) != "}":
                raise self.odd(index)
            index = after
        node = self.node(first, index, "mapping")
        for key, value in members:
            key.parent = value.parent = node
            node.entries.append(MappingEntry(key, value, key.value if isinstance(key.value, str) else None))
        return node, index + 1

    def list(self, index: int, depth: int) -> tuple[Node, int]:
        """Return the list whose `[` is at `index`, and the index after its `]`."""
        first = index
        index = self.past_lines(index + 1)
        items: list[Node] = []
        while self.kind(index) != "]":
            item, index = self.value(index, (",", "]"), depth + 1)
            items.append(item)
            index = self.past_lines(index)
            if self.kind(index) == ",":
                index = self.past_lines(index + 1)
            elif self.kind(index) != "]":
                raise self.odd(index)
        node = self.node(first, index, "sequence")
        for item in items:
            item.parent = node
            node.items.append(item)
        return node, index + 1

    def key(self, index: int) -> tuple[Node, int]:
        """Return the node of a key, and the index of the token after its `=` or `:`. A computed key is UNKNOWN."""
        kind = self.kind(index)
        if kind in ("id", "num", "str") and self.kind(index + 1) in ("=", ":"):
            token = self.tokens[index]
            value = self.string(token) if kind == "str" else self.text[token.start : token.end]
            return self.node(index, index, value=value), index + 2
        last = self.expression(index, ("=", ":", "nl", ",", "}"))
        if last < index or self.kind(last + 1) not in ("=", ":"):
            raise self.odd(last + 1)
        return self.node(index, last), last + 2

    def value(self, index: int, enders: tuple[str, ...], depth: int) -> tuple[Node, int]:
        """Return the value that begins at an index, and the index after it.

        It ends at one of `enders`, or at a line break before one.
        """
        begin = index
        kind = self.kind(index)
        found: tuple[Node, int] | None = None
        if depth > DEEPEST:
            pass
        elif kind == "{" and not self.is_loop(index):
            found = self.object(index, depth)
        elif kind == "[" and not self.is_loop(index):
            found = self.list(index, depth)
        else:
            found = self.literal(index)
        if found is not None:
            after = found[1] if "nl" in enders else self.past_lines(found[1])
            if self.kind(after) in enders:
                return found
        last = self.expression(begin, enders)
        if last < begin:
            raise self.odd(begin)
        return self.node(begin, last), last + 1

    def literal(self, index: int) -> tuple[Node, int] | None:
        """Return the node of the literal at token `index`, and the index after it.

        None if there is something else.
        """
        kind = self.kind(index)
        if kind == "str":
            return self.node(index, index, value=self.string(self.tokens[index])), index + 1
        if kind == "heredoc":
            return self.heredoc(self.tokens[index]), index + 1
        if kind == "num":
            return self.node(index, index, value=self.number(index, index)), index + 1
        if kind == "-" and self.kind(index + 1) == "num":
            return self.node(index, index + 1, value=self.number(index, index + 1)), index + 2
        if kind == "id":
            words: dict[str, Scalar] = {"true": True, "false": False, "null": None}
            word = self.text[self.tokens[index].start : self.tokens[index].end]
            if word in words:
                return self.node(index, index, value=words[word]), index + 1
        return None

    def expression(self, index: int, enders: tuple[str, ...]) -> int:
        """Return the index of the last token of the expression that begins at `index`.

        `index - 1` if there is none.
        """
        open_: list[str] = []
        last = index - 1
        while index < len(self.tokens):
            kind = self.tokens[index].kind
            if not open_ and kind in enders:
                break
            if kind in _PAIRS:
                open_.append(_PAIRS[kind])
            elif kind in _CLOSERS and (not open_ or open_.pop() != kind):
                break
            if kind != "nl":
                last = index
            index += 1
        return last

    def is_loop(self, index: int) -> bool:
        """Return whether a bracket opens a `for` expression."""
        index = self.past_lines(index + 1)
        if self.kind(index) != "id" or self.kind(index + 1) != "id":
            return False
        return self.text[self.tokens[index].start : self.tokens[index].end] == "for"

    def string(self, token: Token) -> Scalar:
        written = self.text[token.start : token.end]
        body = written[1:-1]
        if len(written) < 2 or not written.endswith('"'):
            raise HclError(token.start, "could not find the end of the quoted text that starts here")
        if re.search(r"(?<!\$)\$\{|(?<!%)%\{", body):
            return UNKNOWN
        return unescape(body)

    def heredoc(self, token: Token) -> Node:
        """Return the text of a heredoc. Template code stays in it as a placeholder."""
        first = self.text.find("\n", token.start) + 1
        last = self.text.rfind("\n", first, token.end) + 1
        lines = self.text[first:last].replace("\r\n", "\n").splitlines(keepends=True)
        if self.text.startswith("<<-", token.start):
            indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
            lines = [line[min(indents, default=0) :] if line.strip() else line for line in lines]
        value: Scalar = re.sub(r"\$(?=\$\{)|%(?=%\{)", "", "".join(lines))
        if len(lines) < 2 and re.search(r"[$%]\{", str(value)):
            value = UNKNOWN
        return Node(self.source, token.start, max(token.start, last - 1), "scalar", "literal", value)

    def number(self, first: int, last: int) -> Scalar:
        written = self.text[self.tokens[first].start : self.tokens[last].end].replace(" ", "")
        try:
            return int(written)
        except ValueError:
            pass
        try:
            value = float(written)
        except ValueError:
            return UNKNOWN
        return UNKNOWN if value in (float("inf"), float("-inf")) else value

    def odd(self, index: int) -> HclError:
        at = self.tokens[min(index, len(self.tokens) - 1)].start
        return HclError(at, "an object of a form that is not read")


def _behind(tokens: list[Token], index: int) -> int | None:
    """Return the index after the bracket that closes the one at `index`. None if it is not closed."""
    depth = 0
    for n in range(index, len(tokens)):
        depth += _step(tokens[n])
        if depth == 0:
            return n + 1
    return None


def _to_close(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens up to the bracket that closes the first one."""
    depth = 0
    for token in tokens:
        yield token
        depth += _step(token)
        if depth == 0:
            return


def _step(token: Token) -> int:
    return (token.kind in _PAIRS) - (token.kind in _CLOSERS)
