"""List the instances of modules and resources, by the calls of the modules, with `count` and `for_each`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice

from nodelint.base.budget import BudgetSpent
from nodelint.forms.input_text import INSTANCE, InputText
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.nodes import is_unknown
from nodelint.forms.terraform.values import Modules
from nodelint.model.finding import Span

Callers = Callable[[str, str], Iterator[tuple[TerraformFile, TerraformBlock]]]
_DEEPEST = 8
_MOST = 200
"""The most instances that are listed."""


Instance = tuple[str, TerraformFile, TerraformBlock]
"""The name of an instance, with the file and the block of its call."""


def list_instances(modules: Modules, callers: Callers, folder: str, call: str) -> list[Instance]:
    """Return the instances of the module in a folder.

    `call` is the label of the only call that counts; empty for all.
    """
    return list(islice(_list_instances(modules, callers, folder, call, 0), _MOST))


def _list_instances(modules: Modules, callers: Callers, folder: str, call: str, depth: int) -> Iterator[Instance]:
    for file, block in callers(folder, call) if depth < _DEEPEST else ():
        around = os.path.dirname(os.path.abspath(file.source.path))
        outer = [name for name, *_ in _list_instances(modules, callers, around, "", depth + 1)] or [
            os.path.relpath(around, folder)
        ]
        for key in _list_keys(modules, file, block):
            yield from ((f"{name} {'.'.join(block.names)}{key}", file, block) for name in outer)


def _list_keys(modules: Modules, file: TerraformFile, block: TerraformBlock) -> list[str]:
    """Return the keys of the instances of a call. One empty key if it has one instance, or if they are not known."""
    given = file.attributes(block)
    written = given.get("for_each") or given.get("count")
    if written is None:
        return [""]
    found: dict[str, None] = {}
    try:
        for module in modules.variants(os.path.dirname(os.path.abspath(file.source.path))):
            value = module.evaluator(file.source).value(written)
            if any(map(is_unknown, (value, *value.items, *(entry.key for entry in value.entries)))):
                return [""]
            if isinstance(value.value, int) and "for_each" not in given:
                found.update(dict.fromkeys(f"[{number}]" for number in range(min(value.value, _MOST))))
            found.update(dict.fromkeys(f"[{item.value}]" for item in value.items))
            found.update(dict.fromkeys(f"[{entry.name}]" for entry in value.entries))
    except BudgetSpent:
        return [""]
    return list(found)


def list_environments(modules: Modules, file: TerraformFile, block: TerraformBlock) -> list[InputText]:
    """Return the environments of a module in which a resource has an instance: variable files, units of Terragrunt
    and calls of the module.

    Empty for a resource without `count` and `for_each`.
    """
    given = file.attributes(block)
    written = given.get("for_each") or given.get("count")
    if written is None:
        return []
    name = ".".join(block.names)
    found = []
    for module in modules.variants(os.path.dirname(os.path.abspath(file.source.path))):
        if module.needs_values:
            continue
        try:
            value = module.evaluator(file.source).value(written)
        except BudgetSpent:
            return []
        if is_unknown(value) or value.items or value.entries or (value.kind == "scalar" and value.value != 0):
            label = f"{name} in {module.label or os.curdir}"
            found.append(InputText(label, INSTANCE, Span(file.source, block.start, block.start), label, True))
    return found


def list_environments_of_file(modules: Modules, path: str) -> list[InputText]:
    """Return the environments in which a resource that reads a file has an instance."""
    found: list[InputText] = []
    name = os.path.basename(path)
    for near in modules.near(os.path.dirname(path)):
        source = modules.source(near)
        file = modules.file(near) if source is not None and name in source.text else None
        if file is None:
            continue
        for block in file.blocks:
            if block.kind == "resource" and name in file.source.text[block.start : block.end]:
                found += list_environments(modules, file, block)
    return found
