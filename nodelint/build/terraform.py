"""Texts that Terraform fills in, with what variables have by default: files of `templatefile`, and heredocs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nodelint.source import UNKNOWN
from nodelint.source.gotemplate import BadTemplate
from nodelint.source.tfvalues import Modules

if TYPE_CHECKING:
    from nodelint.source import Node, Source
    from nodelint.source.gotemplate import Part

_ENDS = (".tf", ".tofu")


def any_filled(sources: Sequence[Source]) -> bool:
    """Whether Terraform may fill in one of some texts."""
    modules = Modules()
    return any(_may_fill(source, modules) for source in sources)


def _may_fill(source: Source, modules: Modules) -> bool:
    """Whether Terraform may fill in a text: a file of its own with heredocs, or one that has Terraform beside it."""
    if source.path.endswith(_ENDS):
        return "var." in source.text or "local." in source.text
    return (
        "${" in source.text
        and "{{" not in source.text
        and bool(modules.near(os.path.dirname(os.path.abspath(source.path))))
    )


def templates(sources: Sequence[Source]) -> Iterator[tuple[Source, tuple[Part, ...], Node]]:
    """The texts among the sources that Terraform fills in, with their parts and values."""
    from nodelint.source.tftemplate import parse

    modules = Modules()
    for source in sources:
        if not _may_fill(source, modules):
            continue
        if source.path.endswith(_ENDS):
            known = [each for each in source.documents if each.host in ("terraform", "hcl") and each.root is not None]
            places = [(each.start, each.end) for each in known]
            bare = [span for each in known if each.host == "hcl" and each.root for span in _bare(each.root)]
            values = modules.known(source) if places else None
        else:
            places, bare = [(0, len(source.text))], []
            values = modules.given(source.path)
        if values is None:
            continue
        try:
            yield source, parse(source.text, places, bare), values
        except BadTemplate:
            continue


def _bare(root: Node) -> Iterator[tuple[int, int]]:
    """Where an object of Terraform has the name of a variable or local for a value."""
    for node in root.walk():
        if node.value is UNKNOWN and node.style == "plain" and node.text.startswith(("var.", "local.")):
            yield node.start, node.end
