"""The blocks of a Terraform file as texts: for what a rule asks of resources that make no manifest."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.model.finding import Span

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.text import Source

ENDINGS = (".tf", ".tofu")
"""How the names of Terraform's files end."""

_BLOCK = re.compile(r'(?m)^(resource|module|data)[ \t]+("[^"\n]*")(?:[ \t]+"([^"\n]*)")?[ \t]*\{[ \t]*$')
_LOCALS = re.compile(r"(?m)^locals[ \t]*\{(?:[ \t]*$|(?P<line>[^\n]*)\}[ \t]*$)")


class BlockText(NamedTuple):
    """A resource, data source or module."""

    source: Source
    kind: str
    """The type of a resource, `helm_release`; "" for a data source and a module."""
    address: str
    """As Terraform names it: `helm_release.karpenter`, `data.aws_vpc.main`, `module.eks`."""
    at: Span
    """Its first label, with the quotes: the type of a resource."""
    text: str
    """What stands between its braces."""


def find_blocks(source: Source) -> Iterator[BlockText]:
    """The blocks of a file: each ends with the first brace that begins a line, as `terraform fmt` writes it."""
    at, text = 0, source.text
    while (begun := _BLOCK.search(text, at)) is not None and (at := text.find("\n}", begun.end())) >= 0:
        sort, label, name = begun.groups()
        kind = label[1:-1]
        address = f"module.{kind}" if sort == "module" else f"{kind}.{name}"
        address = f"data.{address}" if sort == "data" else address
        yield BlockText(
            source,
            kind if sort == "resource" else "",
            address,
            Span(source, *begun.span(2)),
            text[begun.end() : at],
        )


def find_locals(source: Source) -> Iterator[str]:
    """What stands between the braces of each block of locals."""
    for begun in _LOCALS.finditer(source.text):
        end = max(source.text.find("\n}", begun.end()), begun.end())
        yield source.text[begun.end() : end] if begun["line"] is None else begun["line"]
