"""Find pools and classes that Terraform passes to remote modules and charts, so that they are not judged."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.lib.remote_values import FIELD, HOLDER, NOT_HERE
from nodelint.forms.terraform.file_blocks import TerraformBlock
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.json_syntax import read_file
from nodelint.model.finding import Span
from nodelint.model.gap import Gap
from nodelint.text import Source

_ENDS = (".tf", ".tofu")
_NAMES_HOLDER = rf"(?<![\w.-]){HOLDER}\"?[ \t]*[=:]"
_NAMES_FIELD = rf"(?<![\w.-])\"?(?=([\w.-]+)\"?[ \t]*[=:]){FIELD}".replace("$", r"(?![\w.-])")
_LOCAL = r"\.{0,2}/|\$\{"
_READS = ("name", "attribute", "index", "call", "for", "condition", "splat")
"""Expressions whose value is written elsewhere."""


class _Maker(NamedTuple):
    """The remote module or chart to which a block passes values.

    - `reason`: the text for a message.
    - `for_karpenter`: its name says that it is for Karpenter.
    """

    reason: str
    for_karpenter: bool


def find_remote_inputs(files: Sequence[Source]) -> Iterator[Gap]:
    """Yield a gap for each input of a remote module or chart that holds pools or classes which nodelint cannot judge.

    A block that does not name Karpenter may configure pools of another cloud, and is skipped.
    """
    for source in files:
        if not source.path.endswith(_ENDS) or re.search(_NAMES_HOLDER, source.text) is None:
            continue
        file = read_file(source)
        for block in file.blocks:
            if "karpenter" not in source.text[block.start : block.end].lower():
                continue
            given = file.attributes(block)
            maker = _find_maker(source, block, given)
            if maker is None:
                continue
            for start, name in _find_holders(source, given, maker):
                yield Gap(Span(source, start, start), "module", f"`{name}` {maker.reason}")


def _find_maker(source: Source, block: TerraformBlock, given: Mapping[str, HclExpression]) -> _Maker | None:
    """Return the remote module or chart to which a block passes values.

    None if there is none, or if it is not known.
    """
    if block.kind == "module":
        where = _literal(source, given.get("source"))
        if not where or re.match(_LOCAL, where):
            return None
        reason = f"goes to the module {where}, no file of which is here: what it makes of it is not judged"
        return _Maker(reason, "karpenter" in (where + "".join(block.names)).lower())
    if block.kind == "resource" and block.names[:1] == ("helm_release",):
        chart = _literal(source, given.get("chart"))
        if chart and not re.match(_LOCAL, chart):
            return _Maker(f"are values of the chart {chart}, {NOT_HERE}", True)
    return None


def _literal(source: Source, expression: HclExpression | None) -> str:
    """Return the text of a quoted literal. Empty for anything else."""
    text = source.text[expression.start : expression.end] if expression is not None else ""
    found = re.fullmatch(r'"((?:(?!\$\{)[^"\\\n])*)"', text)
    return found[1] if found is not None else ""


def _find_holders(source: Source, given: Mapping[str, HclExpression], maker: _Maker) -> Iterator[tuple[int, str]]:
    """Yield (offset, name) for each key under which pools or classes are passed."""
    pending = list(given.items())[::-1]
    while pending:
        name, expression = pending.pop()
        if re.fullmatch(HOLDER, name) is not None and _holds_parts(source, expression, maker):
            yield expression.start, name
        elif expression.kind == "template":
            yield from _find_text_holders(source, expression)
        elif expression.kind == "object":
            keys, values = expression.parts[::2], expression.parts[1::2]
            named = [(source.text[key.start : key.end].strip('"'), of) for key, of in zip(keys, values, strict=True)]
            pending += reversed(named)
        else:
            pending += [("", part) for part in reversed(expression.parts)]


def _find_text_holders(source: Source, expression: HclExpression) -> Iterator[tuple[int, str]]:
    """Yield the keys of a YAML text in HCL that hold pools or classes for a module outside the repository."""
    for found in re.compile(rf"(?m)^([ \t]*)({HOLDER}):[ \t]*$").finditer(
        source.text, expression.start, expression.end
    ):
        after = re.compile(rf"(?m)^[ \t]{{0,{len(found[1])}}}\S").search(source.text, found.end(), expression.end)
        end = after.start() if after is not None else expression.end
        if re.compile(_NAMES_FIELD).search(source.text, found.end(), end) is not None:
            yield found.start(2), found[2]


def _holds_parts(source: Source, expression: HclExpression, maker: _Maker) -> bool:
    """Return whether a value has, or may have, fields of pools or classes. A value that is written elsewhere may."""
    if maker.for_karpenter and any(part.kind in _READS for part in (expression, *expression.parts[1::2])):
        return True
    return re.search(_NAMES_FIELD, source.text[expression.start : expression.end]) is not None
