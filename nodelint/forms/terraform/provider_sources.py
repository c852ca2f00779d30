"""Find the address from which a Terraform module gets a provider: `required_providers`, or the default namespace."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.terraform.terraform_blocks import find_blocks, own_arguments
from nodelint.forms.terraform.terraform_trace import folder_of
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.text import Source

__all__ = ["ProviderSource", "find_default_providers", "find_written_providers"]

_REQUIRED = re.compile(r"(?m)^[ \t]*required_providers[ \t]*\{")
_ENTRY = re.compile(r'(?m)(?:^|\{)[ \t]*([\w-]+)[ \t]*=[ \t]*(?:\{([^{}]*)\}|"([^"\n]*)")')
_SOURCE = re.compile(r'\bsource[ \t]*=[ \t]*"([^"\n]*)"')
_COMMENT = re.compile(r"(?m)^([ \t]*)(#|//)([^\n]*)$")
_COMPLETE = re.compile(r'(?m)^(?:[ \t]*required_providers[ \t]*\{|provider[ \t]+"(?:kubectl|aws)")')
"""A pattern of files that belong to a whole module."""
_LOCK = ".terraform.lock.hcl"
_DEFAULT = "hashicorp"
_REGISTRIES = ("registry.terraform.io/", "registry.opentofu.org/")
_ENDINGS = (".tf", ".tofu")


class ProviderSource(NamedTuple):
    """The address of a provider.

    - `name`: its local name in the module.
    - `address`: namespace and type, such as `hashicorp/aws`.
    - `at`: where it is written, or the first resource that needs it.
    """

    name: str
    address: str
    at: Span


def find_written_providers(source: Source) -> Iterator[ProviderSource]:
    """Yield the providers of the public registry that a file requires.

    A requirement without `source` means the namespace `hashicorp`.
    """
    if "required_providers" not in source.text or not source.path.endswith(_ENDINGS):
        return
    text = _COMMENT.sub(lambda line: " " * len(line[0]), source.text)
    for begun in _REQUIRED.finditer(text):
        body, start = text[begun.end() : _find_end(text, begun.end())], begun.end()
        for entry in _ENTRY.finditer(body):
            given = _SOURCE.search(entry[2]) if entry[2] is not None else None
            if given is None:
                at = Span(source, start + entry.start(1), start + entry.end(1))
                yield ProviderSource(entry[1], f"{_DEFAULT}/{entry[1]}", at)
                continue
            begin = start + entry.start(2) + given.start(1)
            address = given[1]
            for registry in _REGISTRIES:
                address = address.removeprefix(registry)
            if address.count("/") == 1:
                yield ProviderSource(entry[1], address, Span(source, begin, begin + len(given[1])))


def _find_end(text: str, at: int) -> int:
    """Return the offset of the brace that closes a block."""
    depth = 1
    for place in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return place
    return len(text)


def find_default_providers(path: str, names: tuple[str, ...], blocks: TerraformBlocks) -> Iterator[ProviderSource]:
    """Yield the providers of these names that a file uses and that no file of its folder requires.

    Terraform gets them from the namespace `hashicorp`. Nothing is yielded if a file in JSON syntax may require them,
    or if the folder may be an excerpt: nothing calls it, and it has no provider. Only the first file of the folder
    that uses a provider counts.
    """
    folder = folder_of(path)
    files = blocks.module_files.read_texts(folder)
    if any(not file.path.endswith(_ENDINGS) and "required_providers" in file.text for file in files):
        return
    if _may_be_generated(folder):
        return
    is_module = bool(blocks.calls_of(folder)) or any(_COMPLETE.search(file.text) for file in files)
    if not is_module:
        return
    required = {found.name for file in files for found in find_written_providers(file)}
    for name in names:
        if name in required:
            continue
        using = sorted(file.path for file in files if _find_use(file, name) is not None)
        own = next((file for file in files if os.path.abspath(file.path) == os.path.abspath(path)), None)
        at = _find_use(own, name) if own is not None and using and using[0] == own.path else None
        if at is not None:
            yield ProviderSource(name, f"{_DEFAULT}/{name}", at)


def _may_be_generated(folder: str) -> bool:
    """Return whether Terragrunt may write files into a folder: there is a file of Terragrunt in it or above."""
    top = find_top(folder)
    while top is not None and folder.startswith(top):
        if any(name.endswith(".hcl") and name != _LOCK for name in gate.names(folder)):
            return True
        folder = os.path.dirname(folder)
    return False


def _find_use(file: Source, name: str) -> Span | None:
    """Return the place of the first resource of a file that needs a provider by its own name."""
    if f'"{name}_' not in file.text:
        return None
    for block in find_blocks(file):
        kind = block.address.removeprefix("data.")
        if kind.startswith(f"{name}_") and own_arguments(block.text).get("provider", name).startswith(name):
            return block.at
    return None
