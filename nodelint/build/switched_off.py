"""Objects of Terraform of which a block makes none: its `count` is 0, or its `for_each` is empty."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.model.finding import span_of, written_place
from nodelint.model.manifest import Object
from nodelint.source import Source
from nodelint.source.terraform.tfeval import EvaluationLimit
from nodelint.source.terraform.tffill import TerraformBlock, TerraformFile, has_no_instance
from nodelint.source.terraform.tfvalues import Modules

_ENDS = (".tf", ".tofu")

Address = tuple[str, str, str]
"""The absolute path of a file, and the type and name of a resource in it."""


def find_addresses(objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, Address, bool]]:
    """The objects that stand in resources of Terraform, and whether these have no instance.

    A default of a variable counts as its value.
    """
    modules = Modules(sources)
    for obj in objects:
        at = span_of(written_place(obj.node))
        path = os.path.abspath(at.source.path)
        file = modules.file(path) if path.endswith(_ENDS) else None
        block = _find_block(file, at.start) if file is not None else None
        if file is None or block is None:
            continue
        try:
            yield obj, (path, block.names[0], block.names[1]), _makes_none(file, block, modules)
        except EvaluationLimit:
            continue


def _find_block(file: TerraformFile, offset: int) -> TerraformBlock | None:
    """The resource around a place."""
    for block in file.blocks:
        if block.kind == "resource" and len(block.names) == 2 and block.start <= offset < block.end:
            return block
    return None


def _makes_none(file: TerraformFile, block: TerraformBlock, modules: Modules) -> bool:
    """Whether each caller of the module leaves a block without an instance."""
    outer = file.attributes(block)
    callers = modules.variants(os.path.dirname(os.path.abspath(file.source.path)))
    return all(caller.is_off or has_no_instance(outer, caller.evaluator(file.source)) for caller in callers)
