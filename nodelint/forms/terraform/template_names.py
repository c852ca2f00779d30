"""Find names in a template that the call of `templatefile` does not pass: Terraform refuses such a call."""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.hclexpr import read_file_template
from nodelint.forms.terraform.hcltree import BadExpression, ForLoop, HclExpression
from nodelint.forms.terraform.references import list_template_parts
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from nodelint.forms.terraform.file_blocks import TerraformFile
    from nodelint.forms.terraform.modules import ModuleFiles

_CATCHING = ("try", "can")
"""Functions that catch the error of a call."""
_MODULE = "${path.module}"


class MissingName(NamedTuple):
    """A name that a template uses and a call does not pass.

    `call` is the word `templatefile`, `uses` are the places in the template, `passed` the names that the call passes.
    """

    name: str
    call: Span
    uses: tuple[Span, ...]
    passed: tuple[str, ...]

    @property
    def message(self) -> str:
        """Return the message of the finding."""
        template = self.uses[0].source.path
        return f"the call passes no `{self.name}`, which {template} uses: Terraform refuses the plan"

    @property
    def help(self) -> str:
        """Return the name that is probably meant, or what to pass."""
        from difflib import get_close_matches

        near = next(iter(get_close_matches(self.name, self.passed, 1, 0.7)), None)
        return f"did you mean `{near}`?" if near is not None else f"pass `{self.name} = ...`"


def find_missing_names(file: TerraformFile, folder: str, modules: ModuleFiles) -> Iterator[MissingName]:
    """Yield the names that templates use and that the calls in a file do not pass.

    A call is skipped if its names or its file are computed, or if the template cannot be parsed.
    """
    if "templatefile" not in file.source.text:
        return
    for block in file.blocks:
        if block.kind not in ("resource", "module", "data", "locals", "output"):
            continue
        for attribute in file.every_attribute(block):
            for call in _list_calls(attribute.value):
                yield from _check_call(file, call, folder, modules)


def _list_calls(expression: HclExpression) -> Iterator[HclExpression]:
    """Yield the calls of `templatefile` in an expression, except in functions that catch their errors."""
    for part, _ in _walk(expression, _CATCHING):
        if part.kind == "call" and part.value == "templatefile" and len(part.parts) == 2:
            yield part


def _check_call(file: TerraformFile, call: HclExpression, folder: str, modules: ModuleFiles) -> Iterator[MissingName]:
    path, names = _read_path(file.source.text, call.parts[0]), _read_names(call.parts[1])
    source = modules.source(os.path.normpath(os.path.join(folder, path))) if path and names is not None else None
    if source is None or names is None:
        return
    uses: dict[str, list[Span]] = {}
    try:
        whole = HclExpression("template", 0, len(source.text), ("heredoc", read_file_template(source.text)))
    except BadExpression:
        return
    for part, local in _walk(whole):
        name = str(part.value)
        if part.kind == "name" and name != "*" and name not in local and name not in names:
            uses.setdefault(name, []).append(Span(source, part.start, part.end))
    at = Span(file.source, call.start, call.start + len("templatefile"))
    for name, spans in uses.items():
        yield MissingName(name, at, tuple(spans), names)


def _read_path(text: str, expression: HclExpression) -> str | None:
    """Return the path of a template relative to the module. None if it is computed."""
    if isinstance(expression.value, str) and expression.kind == "literal":
        return expression.value
    written = text[expression.start : expression.end].strip('"').removeprefix(_MODULE)
    is_plain = expression.kind == "template" and "${" not in written and "%{" not in written
    return written.lstrip("/") if is_plain else None


def _read_names(expression: HclExpression) -> tuple[str, ...] | None:
    """Return the keys of an object. None if the expression is no object or has a computed key."""
    keys = expression.parts[::2]
    if expression.kind != "object" or any(key.kind != "literal" for key in keys):
        return None
    return tuple(str(key.value) for key in keys)


def _walk(
    expression: HclExpression, passed_over: tuple[str, ...] = ()
) -> Iterator[tuple[HclExpression, frozenset[str]]]:
    """Yield the parts of an expression, each with the loop variables around it.

    Calls of the functions `passed_over` are left out, with all of their parts.
    """
    pending: list[tuple[HclExpression, frozenset[str]]] = [(expression, frozenset())]
    while pending:
        part, names = pending.pop()
        if part.kind == "call" and part.value in passed_over:
            continue
        yield part, names
        value = part.value
        inner = [(child, names) for child in part.parts]
        if isinstance(value, ForLoop):
            of_loop = names | set(value.names)
            inner.append((value.over, names))
            inner += [(child, of_loop) for child in (value.key, value.item, value.test) if child is not None]
        elif part.kind == "template" and isinstance(value, tuple):
            inner += list_template_parts(value[1], names)
        pending += reversed(inner)
