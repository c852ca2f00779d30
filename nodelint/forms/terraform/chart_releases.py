"""Read the values that Terraform passes to charts: `values`, `set` and `set_list` of each `helm_release`."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from copy import copy

from nodelint.base.budget import BudgetSpent
from nodelint.forms.lib.chart_values import MOST_RELEASES, ValuesLayer, merge_layer, read_mapping, read_setting
from nodelint.forms.lib.made_nodes import mapping
from nodelint.forms.lib.values import note_broken_text, values_root
from nodelint.forms.requests import InstallChart
from nodelint.forms.terraform.block_instances import instances
from nodelint.forms.terraform.file_blocks import BlockAttribute, TerraformBlock, TerraformFile, blocks_of
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.nodes import TextNode, is_unknown, items_of
from nodelint.forms.terraform.template import Evaluator
from nodelint.forms.terraform.values import Modules, TerraformModule
from nodelint.model.finding import Span
from nodelint.text import Node, Source
from nodelint.text.limits import note_left_out, note_more
from nodelint.text.placeholders import holds_code, mask
from nodelint.text.syntax_errors import Unreadable
from nodelint.text.yaml.compose import compose

ENCODERS = ("yamlencode", "jsonencode")
_SETTERS = ("set", "set_list", "set_sensitive")
_PARTS_OF_A_SETTING = ("name", "value", "type")


def find_terraform_releases(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
    """Yield the releases of charts in Terraform files.

    `charts` are the default values of charts by absolute path.
    """
    modules = Modules(sources)
    for path, defaults in charts.items():
        folder, whole = os.path.dirname(path), values_root(defaults)
        count = 0
        for near in modules.near(folder) if whole is not None else ():
            source = modules.source(near)
            if source is None or "helm_release" not in source.text or os.path.basename(folder) not in source.text:
                continue
            file = modules.file(near)
            assert file is not None
            try:
                for block, layers, is_known, caller in releases_in(file, modules, folder):
                    count += 1
                    if count <= MOST_RELEASES:
                        by = os.path.abspath(source.path), " ".join((*block.names, caller))
                        yield InstallChart(folder, layers, None if is_known else _place_values(file, block), by)
            except BudgetSpent as limit:
                note_left_out(
                    source.path, f"what it gives to the chart {os.path.relpath(folder)} is not judged: {limit}"
                )
                continue
        note_more(path, count, MOST_RELEASES, "releases of one chart by Terraform")


def releases_in(
    file: TerraformFile, modules: Modules, chart: str
) -> Iterator[tuple[TerraformBlock, list[ValuesLayer], bool, str]]:
    """Yield the blocks that install a chart, each with its known values, and whether they are complete.

    The last is the call of its module, and its file of variables. Raise `BudgetSpent`.
    """
    around = os.path.dirname(os.path.abspath(file.source.path))
    for block, given, outer in file.chart_releases():
        for module in modules.variants(around):
            for names in instances(outer, module.evaluator(file.source)):
                evaluator = module.evaluator(file.source).inside(names)
                if _installs(evaluator.value(outer["chart"]), module, chart):
                    own = os.path.relpath(os.path.abspath(module.own.path), module.root) if module.own else ""
                    yield block, *known_layers(file, block, given, evaluator), f"{module.label} {own}"


def _installs(value: Node, module: TerraformModule, chart: str) -> bool:
    """Return whether a value is the path of a chart, relative to the root module or to the module."""
    if not isinstance(value.value, str) or not value.value.startswith((".", "/")):
        return False
    return chart in {os.path.normpath(os.path.join(folder, value.value)) for folder in (module.root, module.folder)}


def _place_values(file: TerraformFile, block: TerraformBlock) -> Span:
    """Return the place of a release's values: its attribute `values`, else the whole block."""
    values = file.attributes(block).get("values")
    start, end = (block.start, block.end) if values is None else (values.start, values.end)
    return Span(file.source, start, end)


def known_layers(
    file: TerraformFile, block: TerraformBlock, given: Sequence[BlockAttribute], evaluator: Evaluator
) -> tuple[list[ValuesLayer], bool]:
    """Return the known values of a release, the weakest first, and whether they are complete."""
    outer = {attribute.name: attribute.value for attribute in given if not attribute.depth}
    repeated = _read_repeated(file, block, evaluator)
    layers: list[ValuesLayer] = []
    is_complete = repeated is not None
    values = outer.get("values")
    if values is not None and values.kind == "list":
        roots = [read_values(part, evaluator) for part in values.parts]
    elif values is not None:
        listed = evaluator.value(values)
        is_complete &= not is_unknown(listed) and listed.kind == "sequence"
        roots = [_read_value(item) for item in listed.items]
    else:
        roots = []
    for root in roots:
        if root is None:
            is_complete = False
        else:
            layers.append(merge_layer(root))
    for name, value, kind in (*_list_settings(outer, given, evaluator), *((*pair, None) for pair in repeated or ())):
        layer = None
        if name is not None and value is not None and isinstance(name.value, str):
            layer = read_setting(name.value, name, value, kind is None or kind.value != "string")
        if layer is None:
            is_complete = False
        else:
            layers.append(layer)
    return layers, is_complete


def _list_settings(
    outer: Mapping[str, HclExpression], given: Sequence[BlockAttribute], evaluator: Evaluator
) -> Iterator[tuple[Node | None, Node | None, Node | None]]:
    """Yield the name, value and type of each setting, in lists and in blocks.

    For an unknown list, yield three None.
    """
    for setting in (evaluator.value(outer[name]) for name in _SETTERS if name in outer):
        if is_unknown(setting):
            yield None, None, None
        yield from ((item.get("name"), item.get("value"), item.get("type")) for item in setting.items)
    blocks: list[dict[str, Node]] = []
    for attribute in given:
        if attribute.depth == 1 and attribute.name in _PARTS_OF_A_SETTING:
            if not blocks or attribute.name in blocks[-1]:
                blocks.append({})
            blocks[-1][attribute.name] = evaluator.value(attribute.value)
    yield from ((setting.get("name"), setting.get("value"), setting.get("type")) for setting in blocks)


def _read_repeated(
    file: TerraformFile, block: TerraformBlock, evaluator: Evaluator
) -> list[tuple[Node | None, Node | None]] | None:
    """Return the names and values that `dynamic` blocks set.

    None if their number is not known, or if they set anything else.
    """
    found: list[tuple[Node | None, Node | None]] = []
    words = copy(file.words)
    words.tokens = list(block.tokens)
    for inner in blocks_of(words):
        if inner.kind != "dynamic" or inner.names not in [(name,) for name in _SETTERS]:
            continue
        given = file.every_attribute(inner)
        outer = {attribute.name: attribute.value for attribute in given if not attribute.depth}
        content = {attribute.name: attribute.value for attribute in given if attribute.depth == 1}
        if set(outer) != {"for_each"}:
            return None
        over = evaluator.value(outer["for_each"])
        pairs = items_of(over)
        if pairs is None or is_unknown(over) or not {"name", "value"} <= content.keys():
            return None
        for key, item in pairs:
            at = evaluator.place(outer["for_each"])
            inside = evaluator.inside({inner.names[0]: mapping(at, (("key", at, key), ("value", at, item)))})
            found.append((inside.value(content["name"]), inside.value(content["value"])))
    return found


def read_values(part: HclExpression, evaluator: Evaluator) -> Node | None:
    """Return the values of an item of `values`: of an encoded object or a text. None if they are not known."""
    if part.kind == "call" and part.value in ENCODERS and len(part.parts) == 1:
        found = evaluator.value(part.parts[0])
        return found if found.kind == "mapping" else None
    return _read_value(evaluator.value(part))


def _read_value(value: Node) -> Node | None:
    """Return the chart values that a string contains as YAML. None if they are not known."""
    if isinstance(value, TextNode):
        return _read_pieces(value)
    if not isinstance(value.value, str) or value.source.text != value.value:
        return None  # a text that is only a part of its file
    found = read_mapping(value.source, value.value, value.start)
    if found is None:
        note_broken_text(value)
    return found


def _read_pieces(value: TextNode) -> Node | None:
    """Return the values in a text that is composed of pieces. Each value has the place of its piece."""
    text = "".join(piece for piece, _ in value.pieces)
    source = Source(value.source.path, text)
    shown = mask(text, hcl=True)[0] if holds_code(text) else text
    try:
        roots = compose(source, shown, 0, masked=shown is not text)
    except Unreadable:
        return None
    if len(roots) != 1 or roots[0] is None or roots[0].kind != "mapping":
        return None
    starts, at = [], 0
    for piece, _ in value.pieces:
        starts.append(at)
        at += len(piece)
    for node in roots[0].walk():
        number = bisect_right(starts, node.start) - 1
        origin = value.pieces[number][1] or value
        own = origin.source.text[origin.start : origin.end] == value.pieces[number][0]
        begin = origin.start + (node.start - starts[number] if own else 0)
        length = node.end - node.start
        node.source, node.start = origin.source, begin
        node.end = min(begin + length, origin.end) if own else origin.end
    return roots[0]
