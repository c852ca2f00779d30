"""Blocks of Terraform that name a chart of the repository and may install it with values that are not read.

An input of a module whose files are elsewhere, an Application of Argo CD that Terraform makes, a `helm_release` with
values that only Terraform knows: the objects of the chart change with them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.files import safe_read
from nodelint.files.safe_read import is_inside
from nodelint.forms.terraform.chart_releases import releases_in
from nodelint.forms.terraform.evaluate import EvaluationLimit
from nodelint.forms.terraform.fill import TerraformBlock, TerraformFile, attributes_of
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.values import Modules
from nodelint.model.finding import Span

_REFERENCE = r"\b(local|var)\.([\w-]+)"
_FILE = r"\$\{path\.(?:module|root)\}/([\w./-]+)"
_LARGEST = 1 << 20
_LONGEST = 200
"""Characters of a path that are looked at."""
_OF_PATHS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/"
_GIVEN = r"\b(?:path|chart)\s{0,40}[=:]\s{0,40}[\"']?\Z"
"""What stands before the name of a chart in the folder of the file."""
_NO_VALUES = ("source", "version", "name", "namespace", "create_namespace", "timeout", "wait", "atomic", "depends_on")
"""What a module or a release is set up with, and no template is filled with."""


class UnreadRelease(NamedTuple):
    """A block that may install a chart: how it is called, where it stands, and all that is written of its values."""

    label: str
    span: Span
    texts: frozenset[str]


def find_unread_releases(chart: str, home: str, modules: Modules) -> Iterator[UnreadRelease]:
    """The blocks that name a chart and whose values for it are not read.

    `chart` is the absolute path of its folder, and `home` that of the folder in which files count.
    """
    for path in modules.near(chart):
        if not is_inside(path, home):
            continue
        source = modules.source(path)
        if source is None or os.path.basename(chart) not in source.text:
            continue
        file = modules.file(path)
        assert file is not None
        naming = [block for block in file.blocks if _names_chart(source.text[block.start : block.end], chart)]
        read = _list_read(file, modules, chart) if naming else set()
        for block in naming:
            if block.start not in read and block.kind in ("resource", "module"):
                label = ".".join((*((block.kind,) if block.kind != "resource" else ()), *block.names))
                texts = frozenset(_list_texts(file, block, chart, modules))
                yield UnreadRelease(label, Span(source, block.start, block.end), texts)


def _list_read(file: TerraformFile, modules: Modules, chart: str) -> set[int]:
    """Where the blocks begin of which all values are known."""
    try:
        found = list(releases_in(file, modules, chart))
    except EvaluationLimit:
        return set()
    return {block.start for block, layers in found if layers is not None}


def _names_chart(text: str, chart: str) -> bool:
    """Whether a text holds the path of a chart, or its end."""
    folder, name = os.path.split(chart)
    for found in re.finditer(rf"(?<![\w.-]){re.escape(name)}/?(?![\w./-])", text):
        before = text[max(0, found.start() - _LONGEST) : found.start()]
        path = before[len(before.rstrip(_OF_PATHS)) :]
        named = [part for part in path.split("/") if part not in ("", ".", "..")]
        is_given = path.endswith("/") or re.search(_GIVEN, before) is not None
        if is_given and folder.split(os.sep)[len(folder.split(os.sep)) - len(named) :] == named:
            return True
    return False


def _list_texts(file: TerraformFile, block: TerraformBlock, chart: str, modules: Modules) -> Iterator[str]:
    """What a block gives to a chart, the locals and variables that it refers to, and the files that it reads."""
    folder = os.path.dirname(os.path.abspath(file.source.path))
    parts = _list_parts(folder, modules)
    pending, seen = [_written_values(file, block, chart)], set()
    while pending:
        text = pending.pop()
        yield " ".join(text.split())
        for reference in re.findall(_REFERENCE, text):
            if reference in parts and reference not in seen:
                seen.add(reference)
                pending.append(parts[reference])
        for path in re.findall(_FILE, text):
            if path not in seen:
                seen.add(path)
                try:
                    yield safe_read.read(os.path.join(folder, path), _LARGEST).decode(errors="replace")
                except OSError:
                    continue


def _written_values(file: TerraformFile, block: TerraformBlock, chart: str) -> str:
    """What a block says of a chart: the innermost object that names it, else all that the block sets."""
    text = file.source.text
    for value in file.attributes(block).values():
        around = None
        named: HclExpression | None = value
        while named is not None and named.kind == "object":
            around = named
            named = next(
                (part for part in named.parts[1::2] if _names_chart(text[part.start : part.end], chart)), None
            )
        if around is not None and named is not None:
            return text[around.start : around.end]
    given = [part for part in attributes_of(file.words, block) if part.depth or part.name not in _NO_VALUES]
    return "\n".join(f"{part.name} = {text[part.value.start : part.value.end]}" for part in given)


def _list_parts(folder: str, modules: Modules) -> dict[tuple[str, str], str]:
    """The texts of a module's locals and variables."""
    found = {}
    for file in modules.files(folder):
        for block in file.blocks:
            if block.kind == "locals":
                for name, value in file.attributes(block).items():
                    found["local", name] = file.source.text[value.start : value.end]
            elif block.kind == "variable" and block.names:
                found["var", block.names[0]] = file.source.text[block.start : block.end]
    return found
