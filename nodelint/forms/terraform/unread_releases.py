"""Find Terraform blocks that name a local chart and may install it with values that are not read.

Such a block is a call of a remote module, an Argo CD Application that Terraform creates, or a `helm_release` with
values that only Terraform knows. The objects of the chart change with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nodelint.base.budget import BudgetSpent
from nodelint.files.safe_read import is_inside
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.chart_places import names_chart
from nodelint.forms.lib.chart_values import holds_unknown
from nodelint.forms.terraform.chart_releases import releases_in
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.inputs import TerraformInputs
from nodelint.forms.terraform.values import Modules
from nodelint.model.finding import Span
from nodelint.text import UNKNOWN, SourceText
from nodelint.text.missing import text_of

_NO_VALUES = ("source", "version", "name", "namespace", "create_namespace", "timeout", "wait", "atomic", "depends_on")
"""Attributes of a module or a release that are not values of a template."""
_INSTALLS = ("argoproj.io/", "helm.toolkit.fluxcd.io/")
"""The API groups of objects that install charts."""


def list_unread_releases(chart: str, home: str, modules: Modules) -> Iterator[InputText]:
    """Yield the blocks that name a chart and whose values for it are not read, with the text of these values.

    `chart` is the absolute path of its folder, `home` the folder in which files count.
    """
    inputs = TerraformInputs(modules)
    for path in modules.near(chart):
        if not is_inside(path, home):
            continue
        source = modules.source(path)
        if source is None or os.path.basename(chart) not in source.text:
            continue
        file = modules.file(path)
        assert file is not None
        naming = [block for block in file.blocks if names_chart(source.text[block.start : block.end], chart)]
        read = _list_read(file, modules, chart) if naming else set()
        for block in naming:
            if block.start not in read and block.kind in ("resource", "module") and not _is_manifest(block, source):
                label = ".".join((*((block.kind,) if block.kind != "resource" else ()), *block.names))
                written = inputs.list_expression_inputs(file, block, _written_values(file, block, chart))
                for text in sorted({f"{found.name} {found.text}" for found in written}):
                    yield InputText(label, text, Span(source, block.start, block.end))


def _is_manifest(block: TerraformBlock, source: SourceText) -> bool:
    """Return whether a block holds an object that installs a chart, and whose values are all known."""
    roots = [document.root for document in getattr(source, "documents", ()) if document.root is not None]
    return any(
        block.start <= root.start < block.end
        and text_of(root.get("apiVersion")).startswith(_INSTALLS)
        and all(node.value is not UNKNOWN for node in root.walk())
        for root in roots
    )


def _list_read(file: TerraformFile, modules: Modules, chart: str) -> set[int]:
    """Return the offsets of the blocks whose values are all known."""
    try:
        found = list(releases_in(file, modules, chart))
    except BudgetSpent:
        return set()
    return {block.start for block, layers, is_known, _ in found if is_known and not holds_unknown(layers)}


def _written_values(file: TerraformFile, block: TerraformBlock, chart: str) -> list[HclExpression]:
    """Return the expressions of a block that concern a chart.

    It is the innermost object that names the chart, else all attributes of the block.
    """
    text = file.source.text
    for value in file.attributes(block).values():
        around = None
        named: HclExpression | None = value
        while named is not None and named.kind == "object":
            around = named
            named = next(
                (part for part in named.parts[1::2] if names_chart(text[part.start : part.end], chart)), None
            )
        if around is not None and named is not None:
            return [around]
    return [part.value for part in file.every_attribute(block) if part.depth or part.name not in _NO_VALUES]
