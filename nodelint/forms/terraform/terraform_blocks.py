"""Read the blocks of a Terraform file as texts, for rules about resources without a manifest."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.text import Source

_TERRAGRUNT = "terragrunt.hcl"
ENDINGS = (".tf", ".tofu", _TERRAGRUNT)
"""Endings of Terraform files, and of Terragrunt files that call a module."""

_REST = r"[ \t]*(?:(?:#|//)[^\n]*)?\r?$"
_BLOCK = re.compile(rf'(?m)^(resource|module|data)[ \t]+("[^"\n]*")(?:[ \t]+"([^"\n]*)")?[ \t]*\{{{_REST}')
_LOCALS = re.compile(rf"(?m)^locals[ \t]*\{{(?:{_REST}|(?P<line>[^\n]*)\}}{_REST})")
_SOURCE = re.compile(r'(?m)^([ \t]*source[ \t]*=[ \t]*)("([^"\n]*)")')
_INPUTS = re.compile(rf"(?m)^inputs[ \t]*=[ \t]*\{{{_REST}")
_GIT = re.compile(
    r"(?:git::)?(?:https://|ssh://)?(?:git@)?github\.com[:/]([\w-]+)/terraform-([a-z]+)-([\w-]+?)(?:\.git)?"
    r"(//[\w./-]*\w)?(?:\?(?:[^\s#]*&)?ref=v?([\w.-]+))?"
)
_REGISTRY = re.compile(r"tfr://[\w.-]*/([\w-]+)/([\w-]+)/([\w-]+)(//[\w./-]*\w)?(?:\?version=([\w.-]+))?")


class BlockText(NamedTuple):
    """The text of a resource, data source or module block."""

    source: Source
    kind: str
    """The type of a resource, such as `helm_release`. Empty for a data source and a module."""
    address: str
    """The address in Terraform: `helm_release.karpenter`, `data.aws_vpc.main`, `module.eks`."""
    at: Span
    """The place of its first label with quotes: the type of a resource."""
    text: str
    """The text between its braces. A module from GitHub has its source and version in the registry instead."""


def find_blocks(source: Source) -> Sequence[BlockText]:
    """Return the blocks of a file.

    As `terraform fmt` writes them, each ends with the first brace at the start of a line.
    """
    return source.once(find_blocks, lambda: tuple(_find_blocks(source)))


def _find_blocks(source: Source) -> Iterator[BlockText]:
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
            text[begun.end() : at] if sort != "module" else _with_registry_source(text[begun.end() : at]),
        )
    called = _SOURCE.search(text) if source.path.endswith(_TERRAGRUNT) else None
    if called is not None:
        inputs = _INPUTS.search(text)
        given = text[inputs.end() : text.find("\n}", inputs.end())] if inputs is not None else ""
        body = _with_registry_source(f"\n{called[0]}{given}")
        yield BlockText(source, "", "module.terragrunt", Span(source, *called.span(2)), body)


def _with_registry_source(body: str) -> str:
    """Return the body of a module call. A source on GitHub is replaced by the source and version in the registry."""
    called = _SOURCE.search(body)
    if called is None:
        return body
    git, registry = _GIT.fullmatch(called[3]), _REGISTRY.fullmatch(called[3])
    if git is not None:
        owner, provider, name, below, version = git.groups()
    elif registry is not None:
        owner, name, provider, below, version = registry.groups()
    else:
        return body
    written = f'{called[1]}"{owner}/{name}/{provider}{below or ""}"'
    pinned = f'\n  version = "{version}"' if version else ""
    return f"{body[: called.start()]}{written}{pinned}{body[called.end() :]}"


def find_locals(source: Source) -> Sequence[str]:
    """Return the text between the braces of each block of locals."""
    return source.once(find_locals, lambda: tuple(_find_locals(source)))


def _find_locals(source: Source) -> Iterator[str]:
    for begun in _LOCALS.finditer(source.text):
        end = max(source.text.find("\n}", begun.end()), begun.end())
        yield source.text[begun.end() : end] if begun["line"] is None else begun["line"]
