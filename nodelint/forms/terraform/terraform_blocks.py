"""Read the blocks of a Terraform file as texts, for rules about resources without a manifest."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TERRAFORM
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.text import Source

_TERRAGRUNT = "terragrunt.hcl"
_TERRAMATE = ".tm.hcl"
_JSON = (".tf.json", ".tofu.json")
ENDINGS = (".tf", ".tofu", _TERRAGRUNT, *_JSON)
"""Endings of Terraform files, also in JSON syntax, and of Terragrunt files that call a module."""

_REST = r"[ \t]*(?:(?:#|//)[^\n]*)?\r?$"
_BLOCK = re.compile(
    r'(?m)^(resource|module|data)[ \t]+("[^"\n]*")(?:[ \t]+"([^"\n]*)")?[ \t]*'
    rf"\{{(?:{_REST}|(?P<line>[^\n]*)\}}{_REST})"
)
_KINDS = ("resource", "module", "data")
_LOCALS = re.compile(rf"(?m)^locals[ \t]*\{{(?:{_REST}|(?P<line>[^\n]*)\}}{_REST})")
_OUTPUT = re.compile(rf'(?m)^output[ \t]+"([^"\n]+)"[ \t]*\{{(?:{_REST}|(?P<line>[^\n]*)\}}{_REST})')
_SOURCE = re.compile(r'(?m)^([ \t]*source[ \t]*=[ \t]*)("([^"\n]*)")')
_INPUTS = re.compile(rf"(?m)^inputs[ \t]*=[ \t]*\{{{_REST}")
_GIT = re.compile(
    r"(?:git::)?(?:https://|ssh://)?(?:git@)?github\.com[:/]([\w-]+)/terraform-([a-z]+)-([\w-]+?)(?:\.git)?"
    r"(//[\w./-]*\w)?(?:\?(?:[^\s#]*&)?ref=v?([\w.-]+))?"
)
_ONE_VERSION = re.compile(r"\s*+(?:(=|~>)\s*+)?v?(\d+(?:\.\d+){0,2})\s*+")
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


def find_syntax_error(source: Source) -> tuple[int, str] | None:
    """Return the offset and the reason of the first place that Terraform refuses in a file. None if it reads the
    file, and for files in JSON and of other tools.
    """
    endings = (*TERRAFORM.endings, *TERRAFORM.inputs, *TERRAFORM.paths.above)
    if source.built is not None or not source.path.endswith(endings) or source.path.endswith(_TERRAMATE):
        return None
    from nodelint.forms.terraform.hclcheck import find_hcl_problem

    return find_hcl_problem(source.text)


def find_blocks(source: Source) -> Sequence[BlockText]:
    """Return the blocks of a file.

    As `terraform fmt` writes them, each ends with the first brace at the start of a line.
    """
    return source.once(find_blocks, lambda: tuple(_find_blocks(source)))


def _find_blocks(source: Source) -> Iterator[BlockText]:
    for kind, labels, offset, body in _list_json_blocks(source):
        if kind in _KINDS and len(labels) == 1 + (kind != "module"):
            address = ".".join(labels)
            place = Span(source, offset, offset + len(labels[-1]) + 2)
            address = f"{kind}.{address}" if kind != "resource" else address
            yield BlockText(
                source,
                labels[0] if kind == "resource" else "",
                address,
                place,
                body if kind != "module" else _with_registry_source(body),
            )
    at, text = 0, source.text
    while (begun := _BLOCK.search(text, at)) is not None:
        at = text.find("\n}", begun.end()) if begun["line"] is None else begun.end()
        if at < 0:
            break
        sort, label, name = begun.groups()[:3]
        body = text[begun.end() : at] if begun["line"] is None else begun["line"]
        kind = label[1:-1]
        address = f"module.{kind}" if sort == "module" else f"{kind}.{name}"
        address = f"data.{address}" if sort == "data" else address
        yield BlockText(
            source,
            kind if sort == "resource" else "",
            address,
            Span(source, *begun.span(2)),
            body if sort != "module" else _with_registry_source(body),
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
    module, version = registry_source(called[3])
    if module == called[3]:
        return body
    pinned = f'\n  version = "{version}"' if version else ""
    return f'{body[: called.start()]}{called[1]}"{module}"{pinned}{body[called.end() :]}'


def registry_source(source: str) -> tuple[str, str | None]:
    """Return the registry's name of a module on GitHub, and the version in its address (None if it has none).

    Any other source is returned unchanged.
    """
    git, registry = _GIT.fullmatch(source), _REGISTRY.fullmatch(source)
    if git is not None:
        owner, provider, name, below, version = git.groups()
    elif registry is not None:
        owner, name, provider, below, version = registry.groups()
    else:
        return source, None
    return f"{owner}/{name}/{provider}{below or ''}", version


def called_folder(block: BlockText) -> str | None:
    """Return the folder of the local module that a block calls. None for any other block."""
    source = _SOURCE.search(block.text) if block.address.startswith("module.") else None
    if source is None or not source[3].startswith("."):
        return None
    around = os.path.dirname(os.path.abspath(block.source.path))
    return os.path.normpath(os.path.join(around, source[3]))


def newest_allowed(constraint: str) -> tuple[float, ...] | None:
    """Return the newest version that a constraint allows. Numbers that it leaves open are infinite: `~> 20` allows
    21.

    None unless the constraint is one version, exact or with `~>`.
    """
    found = _ONE_VERSION.fullmatch(constraint)
    if found is None:
        return None
    numbers: list[float] = [int(number) for number in found[2].split(".")]
    if found[1] == "~>":
        numbers[-1] = float("inf")
    return tuple(numbers)


def find_locals(source: Source) -> Sequence[str]:
    """Return the text between the braces of each block of locals."""
    return source.once(find_locals, lambda: tuple(_find_locals(source)))


def _list_json_blocks(source: Source) -> Sequence[tuple[str, tuple[str, ...], int, str]]:
    """Return the blocks of a file in JSON syntax (see `json_blocks`). Empty for any other file."""
    if not source.path.endswith(_JSON):
        return ()
    from nodelint.forms.terraform.json_blocks import list_json_blocks

    return source.once(_list_json_blocks, lambda: tuple(list_json_blocks(source)))


def _find_locals(source: Source) -> Iterator[str]:
    yield from (body for kind, _, _, body in _list_json_blocks(source) if kind == "locals")
    for begun in _LOCALS.finditer(source.text):
        end = max(source.text.find("\n}", begun.end()), begun.end())
        yield source.text[begun.end() : end] if begun["line"] is None else begun["line"]


def find_outputs(source: Source) -> Sequence[tuple[str, str]]:
    """Return (name, text between the braces) for each output of a file."""
    return source.once(find_outputs, lambda: tuple(_find_outputs(source)))


def _find_outputs(source: Source) -> Iterator[tuple[str, str]]:
    yield from ((labels[0], body) for kind, labels, _, body in _list_json_blocks(source) if kind == "output")
    for begun in _OUTPUT.finditer(source.text):
        end = max(source.text.find("\n}", begun.end()), begun.end())
        yield begun[1], source.text[begun.end() : end] if begun["line"] is None else begun["line"]


_BESIDE_BRACKETS = re.compile(r'"(?:\\.|[^"\\\n])*+"|(?:#|//)[^\n]*')
_OWN = re.compile(r'[ \t]*"?([\w-]+)"?[ \t]*=(?![=>])[ \t]*(.*)')
_HEREDOC = re.compile(r"<<-?[ \t]*(\w+)[ \t]*\r?$")


def own_arguments(text: str) -> dict[str, str]:
    """Return the block's own arguments: name and expression as it is written. Nested blocks are left out."""
    found: dict[str, list[str]] = {}
    depth, current, heredoc = 0, "", ""
    for line in text.split("\n"):
        if heredoc:
            heredoc = "" if line.strip() == heredoc else heredoc
            continue
        given = _OWN.match(line) if depth == 0 else None
        current = given[1] if given is not None else current if depth else ""
        if given is not None:
            found[current] = [given[2]]
        elif current:
            found[current].append(line)
        signs = _BESIDE_BRACKETS.sub("", line)
        depth = max(depth + sum(map(signs.count, "{[(")) - sum(map(signs.count, "}])")), 0)
        begun = _HEREDOC.search(signs)
        heredoc = begun[1] if begun is not None else ""
    return {name: _without_comment("\n".join(lines)) for name, lines in found.items()}


def _without_comment(written: str) -> str:
    """Return an expression without the comment after it, if it is on one line."""
    if "\n" in written:
        return written.strip()
    return re.sub(r'^((?:"(?:\\.|[^"\\])*+"|[^"#/]|/(?!/))*+)(?:#|//).*', r"\1", written).strip()
