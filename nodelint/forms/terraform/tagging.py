"""Find the values that Terraform sets for a tag of subnets and security groups."""

from __future__ import annotations

import os
import re

from nodelint.base.budget import BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.block_instances import instances
from nodelint.forms.terraform.hcltree import ForLoop, HclExpression
from nodelint.forms.terraform.nodes import text_of
from nodelint.forms.terraform.references import address_of
from nodelint.forms.terraform.terraform_blocks import find_blocks, own_arguments
from nodelint.forms.terraform.values import Modules
from nodelint.model.finding import Span
from nodelint.text.unknown_value import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
    from nodelint.forms.terraform.template import Evaluator
    from nodelint.text import Source

SUBNETS, GROUPS = "subnets", "security groups"
_RESOURCES = {
    "aws_subnet": (SUBNETS,),
    "aws_default_subnet": (SUBNETS,),
    "aws_security_group": (GROUPS,),
    "aws_default_security_group": (GROUPS,),
    "aws_ec2_tag": (SUBNETS, GROUPS),
}
_SELECTING = re.compile(r"(?i)selector|matchLabels|labels")
_OF_ARGUMENT = {
    "public_subnet_tags": (SUBNETS,),
    "private_subnet_tags": (SUBNETS,),
    "intra_subnet_tags": (SUBNETS,),
    "subnet_tags": (SUBNETS,),
    "node_security_group_tags": (GROUPS,),
    "cluster_security_group_tags": (GROUPS,),
    "security_group_tags": (GROUPS,),
}
_TERRAGRUNT = ".hcl"
_MOST = 200
"""The most values of one tag."""


class TagValue(NamedTuple):
    """A value that Terraform sets for a tag.

    - `value`: its text, None if it is not known.
    - `at`: its place.
    - `on`: what may have the tag: SUBNETS, GROUPS or both.
    - `address`: the block that sets it.
    """

    value: str | None
    at: Span
    on: tuple[str, ...]
    address: str = ""
    """The address of the resource or module call that sets the tag. Empty for a local or a variable."""


def list_tag_values(key: str, sources: Sequence[Source], modules: Modules) -> list[TagValue]:
    """Return the values of a tag in some files.

    If a limit or the budget is reached, a value of None represents the rest.
    """
    found: list[TagValue] = []
    for source in sources:
        if source.path.endswith(_TERRAGRUNT):
            found += _values_of_unit(key, source) if key in source.text else ()
            continue
        file = modules.file(os.path.abspath(source.path)) if key in source.text else None
        for block in file.blocks if file is not None else ():
            if file is not None and key in source.text[block.start : block.end]:
                try:
                    found += _values_of_block(key, file, block, modules)
                except BudgetSpent:
                    found.append(TagValue(None, Span(source, block.start, block.start), (SUBNETS, GROUPS)))
            if len(found) > _MOST:
                return [*found, TagValue(None, Span(source, 0, 0), (SUBNETS, GROUPS))]
    return found


def _values_of_unit(key: str, source: Source) -> Iterator[TagValue]:
    """Yield the values that the inputs of a Terragrunt unit give a tag. A value with a reference is not known."""
    written = re.compile(rf'"?{re.escape(key)}"?[ \t]*[=:][ \t]*(?:"([^"$\n]*)")?')
    for name, expression in ((n, e) for block in find_blocks(source) for n, e in own_arguments(block.text).items()):
        begin = source.text.find(expression) if key in expression else -1
        for found in written.finditer(source.text, begin, begin + len(expression)) if begin >= 0 else ():
            place = Span(source, found.end() if found[1] is None else found.start(1), found.end())
            yield TagValue(found[1], place, _OF_ARGUMENT.get(name, (SUBNETS, GROUPS)), "module.terragrunt")


def _values_of_block(key: str, file: TerraformFile, block: TerraformBlock, modules: Modules) -> Iterator[TagValue]:
    if block.kind == "resource":
        kind = block.names[0] if block.names else ""
        if kind not in _RESOURCES:
            return
        on = _RESOURCES[kind]
    elif block.kind in ("module", "locals", "variable", "provider"):
        on = (SUBNETS, GROUPS)
    else:
        return
    outer = file.attributes(block)
    variants = modules.variants(os.path.dirname(os.path.abspath(file.source.path)))
    named = [module for module in variants if module.own is not None]
    # If there are variable files for environments, the module is never run with its defaults alone.
    for module in (named or variants) if modules.settled else variants:
        evaluator = module.evaluator(file.source)
        for names in instances(outer, evaluator):
            inside = evaluator.inside(names)
            if block.kind == "resource" and block.names[0] == "aws_ec2_tag":
                for tag in _value_of_ec2_tag(key, outer, inside):
                    yield tag._replace(address=".".join(block.names))
                continue
            for name, expression in outer.items():
                if _SELECTING.search(name) is None:
                    for value, at in _walk(key, expression, inside):
                        kinds = _OF_ARGUMENT.get(name, on) if block.kind == "module" else on
                        yield TagValue(value, at, kinds, address_of(block) or "")


def _value_of_ec2_tag(key: str, outer: dict[str, HclExpression], evaluator: Evaluator) -> Iterator[TagValue]:
    if not {"key", "value"} <= outer.keys() or evaluator.value(outer["key"]).value != key:
        return
    at = Span(evaluator.scope.source, outer["value"].start, outer["value"].end)
    target = outer.get("resource_id")
    text = evaluator.scope.source.text[target.start : target.end] if target is not None else ""
    over = outer.get("for_each")
    text += evaluator.scope.source.text[over.start : over.end] if over is not None else ""
    on = (GROUPS,) if re.search(r"security_?group|\bsg\b|_sg\b", text) else (SUBNETS,) if "subnet" in text else None
    yield TagValue(_text(outer["value"], evaluator), at, on or (SUBNETS, GROUPS))


def _walk(key: str, expression: HclExpression, evaluator: Evaluator) -> Iterator[tuple[str | None, Span]]:
    """Yield (value, place) for a key in the objects of an expression.

    The value is None if it is not known, and if the key occurs as a string of its own.
    """
    value = expression.value
    if expression.kind == "object":
        for name, inner in zip(expression.parts[::2], expression.parts[1::2], strict=True):
            if name.kind == "literal" and name.value == key:
                yield _text(inner, evaluator), Span(evaluator.scope.source, inner.start, inner.end)
            elif not (isinstance(name.value, str) and _SELECTING.search(name.value)):
                yield from _walk(key, inner, evaluator)
        return
    if value == key:
        yield None, Span(evaluator.scope.source, expression.start, expression.end)
    if isinstance(value, ForLoop):
        for part in (value.over, value.key, value.item, value.test):
            if part is not None:
                yield from _walk(key, part, evaluator)
    for part in expression.parts:
        yield from _walk(key, part, evaluator)


def _text(expression: HclExpression, evaluator: Evaluator) -> str | None:
    value = evaluator.value(expression).value
    return text_of(value) if value is not UNKNOWN and isinstance(value, str | int | float) else None
