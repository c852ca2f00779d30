"""The addresses of the blocks that make objects, and the blocks that say that something has moved to another one.

Terraform destroys what stood at an address that is gone, and creates what stands at a new one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.forms.requests import AddressMove, ObjectOwner
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.switched_off import list_blocks
from nodelint.forms.terraform.values import Modules, TerraformModule
from nodelint.model.finding import Span
from nodelint.model.manifest import Object
from nodelint.text import Source

_DEEPEST = 10
_MOST = 400
"""Addresses of one block."""
_RELEASE = "helm_release"
_OF_RELEASE = ("name", "namespace")
"""What makes another release of the same block."""


def list_owners(objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, ObjectOwner]]:
    """Yield the objects that resources make, each with the addresses of these."""
    modules = Modules(sources)
    known: dict[tuple[str, int], list[ObjectOwner]] = {}
    for obj in objects:
        try:
            for file, block in list_blocks(obj, modules):
                if block.kind != "resource":
                    continue
                key = file.source.path, block.start
                if key not in known:
                    known[key] = list(_list_of_block(file, block, modules))
                yield from ((obj, owner) for owner in known[key])
        except BudgetSpent:
            continue


def _list_of_block(file: TerraformFile, block: TerraformBlock, modules: Modules) -> Iterator[ObjectOwner]:
    folder = os.path.dirname(os.path.abspath(file.source.path))
    step = f"{'.'.join(block.names)}{_find_keys(file, block)}"
    state = _find_state(file, block, modules) if block.names[0] == _RELEASE else ""
    at = Span(file.source, block.start, file.source.text.find("\n", block.start))
    for count, (chain, folders) in enumerate(_list_chains(folder, modules, ())):
        if count < _MOST:
            yield ObjectOwner(".".join((*chain, step)), state, at, (folder, *folders))


def _list_chains(
    folder: str, modules: Modules, inner: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the steps by which root modules call a module, and the folders on the way."""
    called = False
    for file, block in modules.list_calls(folder) if len(inner) < _DEEPEST and folder not in inner else ():
        called = True
        around = os.path.dirname(os.path.abspath(file.source.path))
        step = f"module.{'.'.join(block.names)}{_find_keys(file, block)}"
        for chain, folders in _list_chains(around, modules, (*inner, folder)):
            yield (*chain, step), (around, *folders)
    if not called:
        yield (), ()


def _find_keys(file: TerraformFile, block: TerraformBlock) -> str:
    """Return what stands for the keys of instances; the first one with `count` is the same as one without it."""
    return "[each.key]" if "for_each" in file.attributes(block) else ""


def _find_state(file: TerraformFile, block: TerraformBlock, modules: Modules) -> str:
    """Return the name and the namespace of a release of helm."""
    outer = file.attributes(block)
    callers = modules.variants(os.path.dirname(os.path.abspath(file.source.path)))
    return ", ".join(_write(file, outer[name], callers) for name in _OF_RELEASE if name in outer)


def _write(file: TerraformFile, value: HclExpression, callers: Sequence[TerraformModule]) -> str:
    known = callers[0].evaluator(file.source).value(value).value if len(callers) == 1 else None
    return known if isinstance(known, str) else " ".join(file.source.text[value.start : value.end].split())


def list_moves(folders: Iterable[str], sources: Sequence[Source]) -> Iterator[AddressMove]:
    """Yield what blocks in some folders say of addresses: where they have moved, and what is not destroyed."""
    modules = Modules(sources)
    for folder in dict.fromkeys(folders):
        for file in modules.files(folder):
            for block in file.blocks:
                outer = file.attributes(block) if block.kind in ("moved", "removed") else {}
                if "from" in outer and "to" in outer:
                    yield AddressMove(_read(file, outer["from"]), _read(file, outer["to"]))
                elif "from" in outer and _keeps(file, block):
                    yield AddressMove(_read(file, outer["from"]), None)


def _keeps(file: TerraformFile, block: TerraformBlock) -> bool:
    """Whether a `removed` block leaves what it names where it is."""
    given = {attribute.name: attribute.value for attribute in file.every_attribute(block)}
    destroy = given.get("destroy")
    return destroy is not None and file.source.text[destroy.start : destroy.end] == "false"


def _read(file: TerraformFile, expression: HclExpression) -> str:
    return file.source.text[expression.start : expression.end]
