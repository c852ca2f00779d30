"""Read the blocks of a Terraform file and their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.hcl import Text, Token
from nodelint.forms.terraform.hclexpr import ExpressionReader
from nodelint.forms.terraform.hcltree import BadExpression, HclExpression

if TYPE_CHECKING:
    from nodelint.text.source import Source


class TerraformBlock(NamedTuple):
    """A block of a file.

    - `kind`: its first word; `names`: its labels.
    - `tokens`: the tokens of its body.
    - `start`, `end`: its range. In JSON, it is the range of its body.
    - `body`: in JSON, the object.
    """

    kind: str
    names: tuple[str, ...]
    tokens: tuple[Token, ...]
    start: int
    end: int
    body: HclExpression | None = None


def blocks_of(words: Text) -> Iterator[TerraformBlock]:
    """Yield the outermost blocks of a file."""
    tokens = words.tokens
    index = 0
    while index < len(tokens):
        first = index
        names = []
        while index < len(tokens) and tokens[index].kind in ("id", "str"):
            names.append(words.text[tokens[index].start : tokens[index].end].strip('"'))
            index += 1
        if not names or index >= len(tokens) or tokens[index].kind != "{":
            index = max(index, first + 1)
            continue
        depth, begin = 0, index + 1
        while index < len(tokens):
            depth += (tokens[index].kind in "{[(") - (tokens[index].kind in "}])")
            index += 1
            if not depth:
                break
        body = tuple(tokens[begin : index - 1])
        yield TerraformBlock(names[0], tuple(names[1:]), body, tokens[first].start, tokens[index - 1].end)


class BlockAttribute(NamedTuple):
    """An attribute `name = value` of a block (`depth` 0), or of a nested block."""

    name: str
    value: HclExpression
    depth: int


def attributes_of(words: Text, block: TerraformBlock) -> Iterator[BlockAttribute]:
    """Yield the attributes of a block and of its nested blocks. A value that cannot be parsed is left out."""
    if block.body is not None:
        for key, value in zip(block.body.parts[::2], block.body.parts[1::2], strict=True):
            if isinstance(key.value, str):
                yield BlockAttribute(key.value, value, 0)
    tokens = block.tokens
    index = depth = 0
    while index < len(tokens):
        kind = tokens[index].kind
        follows = tokens[index + 1].kind if index + 1 < len(tokens) else "end"
        if kind in ("id", "str") and follows == "=":
            reader = ExpressionReader(words.text, tokens, words.heredocs, index + 2)
            name = words.text[tokens[index].start : tokens[index].end].strip('"')
            try:
                yield BlockAttribute(name, reader.expression(0), depth)
                index = reader.at
                continue
            except BadExpression:
                index = _behind_value(tokens, index + 2)
                continue
        depth += (kind == "{") - (kind == "}")
        index += 1


def _behind_value(tokens: Sequence[Token], index: int) -> int:
    """Return the index of the token after a value that cannot be parsed: at the end of its line."""
    depth = 0
    while index < len(tokens) and (depth > 0 or tokens[index].kind not in ("nl", "}")):
        depth += (tokens[index].kind in "{[(") - (tokens[index].kind in "}])")
        index += 1
    return index


class TerraformFile:
    """A file of a module, with its tokens and its blocks."""

    def __init__(
        self,
        source: Source,
        words: Text,
        blocks: tuple[TerraformBlock, ...],
        attributes: dict[int, tuple[BlockAttribute, ...]] | None = None,
    ) -> None:
        self.source = source
        self.words = words
        self.blocks = blocks
        self._attributes = {} if attributes is None else attributes

    def every_attribute(self, block: TerraformBlock) -> tuple[BlockAttribute, ...]:
        """Return the attributes of a block and of its nested blocks.

        They are parsed once, however often they are rendered.
        """
        if block.start not in self._attributes:
            self._attributes[block.start] = tuple(attributes_of(self.words, block))
        return self._attributes[block.start]

    def chart_releases(self) -> Iterator[tuple[TerraformBlock, tuple[BlockAttribute, ...], dict[str, HclExpression]]]:
        """Yield the `helm_release` blocks with a chart: the block, all attributes, and its own attributes by name."""
        for block in self.blocks:
            if block.kind == "resource" and block.names[:1] == ("helm_release",):
                given = self.every_attribute(block)
                outer = {attribute.name: attribute.value for attribute in given if not attribute.depth}
                if "chart" in outer:
                    yield block, given, outer

    def attributes(self, block: TerraformBlock) -> dict[str, HclExpression]:
        """Return the outermost attributes of a block by name."""
        return {attribute.name: attribute.value for attribute in self.every_attribute(block) if not attribute.depth}
