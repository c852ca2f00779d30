"""Read what the files of a module declare: its locals and variables, with their expressions, defaults and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.forms.terraform.file_blocks import TerraformFile
from nodelint.forms.terraform.hcltree import HclExpression


class DeclaredValues(NamedTuple):
    """The declarations of a module, which are the same for each of its callers.

    - `variables`: the names of the variables, in the order of the files.
    - `locals`, `defaults`, `types`: the expression for a name, with its file. A variable may have no default or type.
    """

    variables: Sequence[str]
    locals: Mapping[str, tuple[TerraformFile, HclExpression]]
    defaults: Mapping[str, tuple[TerraformFile, HclExpression]]
    types: Mapping[str, tuple[TerraformFile, HclExpression]]


def read_declared_values(files: Sequence[TerraformFile]) -> DeclaredValues:
    """Return the declarations in the files of a module. If files declare a name twice, the last one counts."""
    variables: list[str] = []
    found: dict[str, dict[str, tuple[TerraformFile, HclExpression]]] = {"locals": {}, "default": {}, "type": {}}
    for file in files:
        for block in file.blocks:
            if block.kind == "locals":
                found["locals"].update((name, (file, value)) for name, value in file.attributes(block).items())
            elif block.kind == "variable" and block.names:
                variables.append(block.names[0])
                for word, value in file.attributes(block).items():
                    if word in ("default", "type"):
                        found[word][block.names[0]] = file, value
    return DeclaredValues(variables, found["locals"], found["default"], found["type"])
