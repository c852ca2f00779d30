"""Compute the values of a block's argument, one for each call of its module."""

from __future__ import annotations

import os

from nodelint.base.budget import BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.block_instances import instances
from nodelint.forms.terraform.references import address_of
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from nodelint.forms.terraform.values import Modules
    from nodelint.text import Node


class ArgumentValue(NamedTuple):
    """A value of an argument.

    - `at`: the place of the argument.
    - `value`: the node of the value, at its source.
    - `label`: the call or file that sets it.
    """

    at: Span
    value: Node
    label: str
    """The variable file or the module call that sets the value. Empty for the module itself."""


def list_argument_values(path: str, address: str, name: str, modules: Modules) -> list[ArgumentValue]:
    """Return the values of a block's argument, one for each call of its module and for each instance.

    Empty if the block does not set the argument, or if the budget is spent.
    """
    file = modules.file(os.path.abspath(path))
    found: list[ArgumentValue] = []
    for block in file.blocks if file is not None else ():
        own = address_of(block) or ".".join([block.kind, *block.names])
        outer = file.attributes(block) if file is not None and own == address else {}
        if name not in outer or file is None:
            continue
        written = Span(file.source, outer[name].start, outer[name].end)
        try:
            for module in modules.variants(os.path.dirname(os.path.abspath(path))):
                evaluator = module.evaluator(file.source)
                found += [
                    ArgumentValue(written, evaluator.inside(names).value(outer[name]), module.label)
                    for names in instances(outer, evaluator)
                ]
        except BudgetSpent:
            return []
    return found
