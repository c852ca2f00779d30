"""Find the references in the expressions of Terraform files, and the declarations of a module."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.hcltree import ForLoop, HclExpression, TemplatePiece

if TYPE_CHECKING:
    from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
    from nodelint.forms.terraform.modules import ModuleFiles

_REFERRING = ("resource", "module", "data", "locals", "output")
"""Blocks whose references are read.

References in a provider are skipped: an installation may add their declarations.
"""
_NOT_REFERENCES = frozenset({"provider", "providers", "ignore_changes", "replace_triggered_by", "iterator", "type"})
"""Attributes whose names are no references, or that Terraform evaluates differently."""
_PROVIDERS = r"aws|helm|kubectl|kubernetes|null|random|tls|time|local|http|cloudinit"
_RESOURCE = re.compile(rf"(?:{_PROVIDERS})_[a-z0-9_]+")
_LOCAL_NAMES = re.compile(r'\bdynamic[ \t]+"([\w-]+)"|\biterator[ \t]*=[ \t]*"?([\w-]+)')


class TerraformReference(NamedTuple):
    """A reference in an expression, from `start` to `end`."""

    address: str
    """The address of the target: `local.name`, `var.region`, `module.eks`, `aws_vpc.main`, `data.aws_vpc.main`."""
    attribute: str
    """The attribute of the target. Empty if there is none."""
    start: int
    end: int


class Declarations:
    """The declarations in all files of a module.

    - `blocks`: the blocks by address.
    - `locals`: the addresses of locals.
    """

    def __init__(self, files: Sequence[TerraformFile]) -> None:
        self.blocks: dict[str, list[tuple[TerraformFile, TerraformBlock]]] = {}
        self.locals: set[str] = set()
        for file in files:
            for block in file.blocks:
                if block.kind == "locals":
                    self.locals.update(f"local.{name}" for name in file.attributes(block))
                elif (address := address_of(block)) is not None:
                    self.blocks.setdefault(address, []).append((file, block))

    def is_declared(self, address: str) -> bool:
        """Return whether a file declares an address."""
        return address in self.blocks or address in self.locals


def address_of(block: TerraformBlock) -> str | None:
    """Return the address by which references name a block. None if a block of its kind has no address."""
    names = ".".join(block.names)
    if block.kind == "resource":
        return names if len(block.names) == 2 else None
    word = {"variable": "var", "module": "module", "data": "data", "output": "output"}.get(block.kind)
    return f"{word}.{names}" if word is not None and names else None


def list_references(file: TerraformFile) -> Iterator[TerraformReference]:
    """Yield the references in the blocks of a file. Expressions that cannot be parsed are skipped."""
    for block in file.blocks:
        if block.kind in _REFERRING:
            yield from references_of(file, block)


def references_of(file: TerraformFile, block: TerraformBlock) -> Iterator[TerraformReference]:
    """Yield the references in a block."""
    text = file.source.text
    own = {name for found in _LOCAL_NAMES.findall(text, block.start, block.end) for name in found if name}
    for attribute in file.every_attribute(block):
        if attribute.name not in _NOT_REFERENCES:
            # A module in `depends_on` must exist; its outputs do not matter.
            is_order = attribute.name == "depends_on"
            for found in _walk(attribute.value, frozenset(own)):
                yield found._replace(attribute="") if is_order else found


def _walk(expression: HclExpression, names: frozenset[str]) -> Iterator[TerraformReference]:
    """Yield the references in an expression, except to loop variables (`names`, and those of inner loops).

    It does not recurse: a sum of thousands of terms is as deep as it is long.
    """
    pending = [(expression, names)]
    while pending:
        expression, names = pending.pop()
        if expression.kind == "attribute":
            found, inner = _read_path(expression, names)
            if found is not None:
                yield found
            pending += [(part, names) for part in inner]
            continue
        value = expression.value
        parts = [(part, names) for part in expression.parts]
        if isinstance(value, ForLoop):
            of_loop = names | set(value.names)
            parts += [(value.over, names)]
            parts += [(part, of_loop) for part in (value.key, value.item, value.test) if part is not None]
        elif expression.kind == "template" and isinstance(value, tuple):
            parts += list_template_parts(value[1], names)
        pending += reversed(parts)


def _read_path(
    expression: HclExpression, names: frozenset[str]
) -> tuple[TerraformReference | None, list[HclExpression]]:
    """Return the reference of a path such as `module.eks.name`, and the expressions inside: indices, or its start."""
    steps, inner, of = [str(expression.value)], [], expression.parts[0]
    while of.kind in ("attribute", "index"):
        if of.kind == "attribute":
            steps.append(str(of.value))
        else:
            inner.append(of.parts[1])
            steps.append("[]")
        of = of.parts[0]
    if of.kind != "name":
        return None, [*inner, of]
    found = _reference([str(of.value), *reversed(steps)], expression) if of.value not in names else None
    return found, inner


def list_template_parts(
    pieces: Sequence[TemplatePiece], names: frozenset[str]
) -> list[tuple[HclExpression, frozenset[str]]]:
    """Return the expressions in a template, each with the loop variables around it."""
    found, around = [], [names]
    for piece in pieces:
        if piece.expression is not None:
            found.append((piece.expression, around[-1]))
        if piece.word == "for":
            around.append(around[-1] | set(piece.names))
        elif piece.word == "endfor" and len(around) > 1:
            around.pop()
    return found


def _reference(steps: list[str], at: HclExpression) -> TerraformReference | None:
    """Return the reference of a name and its attributes.

    None for `each`, `path` and other names without declaration.
    """
    word = steps[0]
    length = 3 if word == "data" else 2
    if len(steps) < length or "[]" in steps[:length]:
        return None
    if word not in ("var", "local", "module", "data") and _RESOURCE.fullmatch(word) is None:
        return None
    after = [step for step in steps[length:] if step != "[]"]
    return TerraformReference(".".join(steps[:length]), after[0] if after else "", at.start, at.end)


def local_folder(files: ModuleFiles, file: TerraformFile, block: TerraformBlock) -> str | None:
    """Return the folder of the local module that a call names.

    None if its source is not a local path, or if the folder has no files.
    """
    source = file.attributes(block).get("source")
    path = source.value if source is not None else None
    if not isinstance(path, str) or not path.startswith("."):
        return None
    folder = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(file.source.path)), path))
    return folder if files.files(folder) else None
