"""Find Terragrunt units with remote modules that may create pools."""

from __future__ import annotations

import re

from nodelint.forms.lib.chart_values import MAKES_POOLS
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.parsed import parse_text
from nodelint.text import Source

KNOWN_PUBLISHERS = re.compile(
    r"(?:registry\.terraform\.io/|(?:git::)?(?:https://|ssh://git@|git@)?github\.com[/:])?"
    r"(?:terraform-aws-modules|aws-ia|cloudposse)/"
)
"""Publishers whose modules are known: their names say whether they create pools."""
_COMMENT = re.compile(r"(?m)^[ \t]*(?:#|//)[^\n]*$")
_IN_REPOSITORY = re.compile(r"\.{0,2}/|\$\{(?:get_|find_in_|path_relative_|dirname\()")
"""The beginning of a unit's source if its module is in the repository."""


def find_remote_module(source: Source) -> HclExpression | None:
    """Return the source of the remote module that a Terragrunt file calls.

    None if it is local, or creates no pools.
    """
    file = parse_text(source.text)
    blocks = (file.body(block) for block in file.blocks if block.kind == "terraform")
    where = next((body["source"] for body in blocks if "source" in body), None)
    address = source.text[where.start : where.end].strip('"') if where is not None else ""
    if where is None or _IN_REPOSITORY.match(address):
        return None
    is_known = KNOWN_PUBLISHERS.match(address.removeprefix("tfr:///"))
    return where if MAKES_POOLS.search(address if is_known else _COMMENT.sub("", source.text)) else None
