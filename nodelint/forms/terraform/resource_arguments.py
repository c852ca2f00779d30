"""Find arguments of a Terraform resource that the provider lacks or requires, for the resources around Karpenter."""

from __future__ import annotations

import os
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
    from nodelint.forms.terraform.terraform_trace import TerraformBlocks

__all__ = ["NEWEST", "TYPES", "WrongResource", "find_wrong_resources"]

NEWEST: str = table("terraform_resources")["newest"]
"""The newest major version of the provider whose arguments are known."""
TYPES: tuple[str, ...] = tuple(row["type"] for row in table("terraform_resources")["resources"])


class WrongResource(NamedTuple):
    """A resource that the provider refuses.

    - `kind`: its type; `start`, `end`: the range of its labels.
    - `missing`: the required arguments that it does not set.
    - `unknown`: the arguments that the provider does not have, each with the range of its name.
    - `known`: the names of all arguments.
    """

    kind: str
    start: int
    end: int
    missing: tuple[str, ...]
    unknown: tuple[tuple[str, int, int], ...]
    known: tuple[str, ...]


def find_wrong_resources(path: str, blocks: TerraformBlocks) -> Iterator[WrongResource]:
    """Yield the resources of a file that the provider refuses. Blocks of override files are left out."""
    file = blocks.module_files.file(os.path.abspath(path))
    if file is None or "override" in os.path.basename(path) or not path.endswith((".tf", ".tofu")):
        return
    for block in file.blocks:
        row = _rows().get(block.names[0]) if block.kind == "resource" and len(block.names) == 2 else None
        if row is None:
            continue
        given = dict(_list_arguments(file, block))
        known = (*row["required"], *row.get("optional", ()))
        missing = tuple(name for name in row["required"] if name not in given)
        always = table("terraform_resources")["always"]
        names = () if row.get("open") else (name for name in given if name not in known and name not in always)
        unknown = tuple((name, *given[name]) for name in names)
        if missing or unknown:
            end = file.source.text.find("{", block.start)
            start = file.source.text.find(block.names[0], block.start, end) - 1
            yield WrongResource(
                block.names[0], start, start + len(block.names[0]) + 2, missing, unknown, tuple(sorted(known))
            )


def _list_arguments(file: TerraformFile, block: TerraformBlock) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the names of a block's arguments and of its nested blocks, each with its range.

    A `dynamic` block counts as the block that it makes.
    """
    text, depth, is_begin = file.source.text, 0, True
    for index, token in enumerate(block.tokens):
        if depth == 0 and is_begin and token.kind in ("id", "str"):
            follows = block.tokens[index + 1].kind if index + 1 < len(block.tokens) else ""
            name = text[token.start : token.end].strip('"')
            if name == "dynamic" and follows == "str":
                label = block.tokens[index + 1]
                yield text[label.start : label.end].strip('"'), (label.start, label.end)
            elif follows in ("=", "{", "str"):
                yield name, (token.start, token.end)
        depth += (token.kind in "{[(") - (token.kind in "}])")
        is_begin = token.kind == "nl"


@cache
def _rows() -> dict[str, dict[str, Any]]:
    return {row["type"]: row for row in table("terraform_resources")["resources"]}
