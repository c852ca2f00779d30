"""Parse HCL texts to tokens, blocks and attributes. Each text is parsed once in a run."""

from __future__ import annotations

from nodelint.base.kept import kept_by_text
from nodelint.forms.terraform.file_blocks import BlockAttribute, TerraformBlock, attributes_of, blocks_of
from nodelint.forms.terraform.hcl import words_of
from nodelint.forms.terraform.hcltree import HclExpression


class ParsedText:
    """A parsed HCL text: its tokens, its blocks, and `whole`, the whole text as the body of one block."""

    def __init__(self, text: str) -> None:
        self.words = words_of(text)
        self.blocks = tuple(blocks_of(self.words))
        self.whole = TerraformBlock("", (), tuple(self.words.tokens), 0, len(text))
        self.attributes: dict[int, tuple[BlockAttribute, ...]] = {}
        """The parsed attributes of blocks and of nested blocks, by the start of the block."""
        self._outer: tuple[BlockAttribute, ...] | None = None

    def body(self, block: TerraformBlock) -> dict[str, HclExpression]:
        """Return the expressions of a block's own attributes by name."""
        if block.start not in self.attributes:
            self.attributes[block.start] = tuple(attributes_of(self.words, block))
        return {a.name: a.value for a in self.attributes[block.start] if not a.depth}

    @property
    def outer(self) -> dict[str, HclExpression]:
        """Return the expressions of the attributes outside of all blocks by name."""
        if self._outer is None:
            self._outer = tuple(attributes_of(self.words, self.whole))
        return {a.name: a.value for a in self._outer if not a.depth}


parse_text = kept_by_text(ParsedText)
