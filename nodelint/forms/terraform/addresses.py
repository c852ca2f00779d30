"""Find the Terraform addresses of blocks that create objects, and blocks that change addresses (`moved`, `removed`).

Terraform destroys the object of an address that is removed, and creates one for a new address.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.files.gate import gate
from nodelint.forms.requests import AddressMove, ObjectOwner
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.switched_off import list_blocks
from nodelint.forms.terraform.terragrunt import NAME
from nodelint.forms.terraform.values import Modules, TerraformModule
from nodelint.model.finding import Span
from nodelint.model.manifest import Object
from nodelint.text import Source

_DEEPEST = 10
_MOST = 400
"""The most addresses of one block."""
_RELEASE = "helm_release"
_TEXTS = {"kubectl_manifest": "yaml_body", "kubernetes_manifest": "manifest"}
"""The argument with the object, by the type of a resource."""
_OF_RELEASE = ("name", "namespace")
"""Attributes that identify a release. If one changes, the same block installs another release."""


def list_owners(objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, ObjectOwner]]:
    """Yield (object, owner) for each address of a resource that creates the object."""
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


def list_roots(objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, str]]:
    """Yield (object, folder) for each root module, or Terragrunt unit, that creates the object."""
    modules = Modules(sources)
    known: dict[str, list[str]] = {}
    for obj in objects:
        built = obj.source.built
        if built is not None and gate.is_file(os.path.join(built.cluster, NAME)):
            yield obj, built.cluster
            continue
        try:
            folders = {os.path.dirname(os.path.abspath(file.source.path)) for file, _ in list_blocks(obj, modules)}
            for folder in folders:
                if folder not in known:
                    known[folder] = list(_list_roots_of(folder, modules))
            roots = {root for folder in folders for root in known[folder]}
        except BudgetSpent:
            continue
        if built is not None and built.cluster in roots:
            roots = {built.cluster}
        yield from ((obj, root) for root in sorted(roots))


def _list_roots_of(folder: str, modules: Modules) -> Iterator[str]:
    for _, folders in _list_chains(folder, modules, ()):
        root = folders[-1] if folders else folder
        yield from modules.list_units(root) or [root]


def _list_of_block(file: TerraformFile, block: TerraformBlock, modules: Modules) -> Iterator[ObjectOwner]:
    folder = os.path.dirname(os.path.abspath(file.source.path))
    step = f"{'.'.join(block.names)}{_find_keys(file, block)}"
    state = _find_state(file, block, modules) if block.names[0] == _RELEASE else ""
    at = Span(file.source, block.start, file.source.text.find("\n", block.start))
    ignores = _ignores_changes(file, block)
    for count, (chain, folders) in enumerate(_list_chains(folder, modules, ())):
        if count < _MOST:
            yield ObjectOwner(".".join((*chain, step)), state, at, (folder, *folders), ignores)


def _ignores_changes(file: TerraformFile, block: TerraformBlock) -> bool:
    """Return whether `ignore_changes` of a resource names the whole object, or all arguments."""
    for attribute in file.every_attribute(block):
        if attribute.name == "ignore_changes" and attribute.depth:
            text = file.source.text[attribute.value.start : attribute.value.end]
            named = {name.strip().strip('"') for name in text.strip("[] \n").split(",")}
            return "all" in named or _TEXTS.get(block.names[0], "") in named
    return False


def _list_chains(
    folder: str, modules: Modules, inner: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the module calls from a root module to a module, and the folders of the callers."""
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
    """Return the text for the instance keys in an address: `[each.key]` with `for_each`, else empty.

    With `count` it is empty, because Terraform moves an object between no `count` and the first instance.
    """
    return "[each.key]" if "for_each" in file.attributes(block) else ""


def _find_state(file: TerraformFile, block: TerraformBlock, modules: Modules) -> str:
    """Return name and namespace of a `helm_release`, joined by a comma."""
    outer = file.attributes(block)
    callers = modules.variants(os.path.dirname(os.path.abspath(file.source.path)))
    return ", ".join(_write(file, outer[name], callers) for name in _OF_RELEASE if name in outer)


def _write(file: TerraformFile, value: HclExpression, callers: Sequence[TerraformModule]) -> str:
    known = callers[0].evaluator(file.source).value(value).value if len(callers) == 1 else None
    return known if isinstance(known, str) else " ".join(file.source.text[value.start : value.end].split())


def list_moves(folders: Iterable[str], sources: Sequence[Source]) -> Iterator[AddressMove]:
    """Yield the changes of addresses by `moved` and `removed` blocks in some folders."""
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
    """Return whether a `removed` block has `destroy = false`, so that the object stays."""
    given = {attribute.name: attribute.value for attribute in file.every_attribute(block)}
    destroy = given.get("destroy")
    return destroy is not None and file.source.text[destroy.start : destroy.end] == "false"


def _read(file: TerraformFile, expression: HclExpression) -> str:
    return file.source.text[expression.start : expression.end]
