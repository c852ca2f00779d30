"""Follow a Terraform expression through locals, variables and templates to the block to which it refers."""

from __future__ import annotations

import os
import re
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.terraform_blocks import ENDINGS, BlockText, find_blocks, find_locals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.text import Source

__all__ = ["ENDINGS", "BlockReference", "BlockText", "TerraformBlocks", "find_arguments", "folder_of", "may_be_text"]

STEPS = 5
"""The most references that are followed from an expression to a resource."""

_REFERENCE = re.compile(r"(?:data\.)?([A-Za-z_][\w-]*)\.([\w-]+)(?:\[[^\][]*\])?((?:\.[\w-]++(?:\[[^\][]*\])?)*+)")
_WRAPPED = re.compile(r'"?\$\{([^{}"]++)\}"?|(.+)', re.DOTALL)
_ARGUMENT = r'(?m)(?:^|[{{,(])[ \t]*+"?{}"?[ \t]*+[=:][ \t]*+((?:\$\{{[^{{}}\n]*+\}}|[^\n,{{}}])*+)'
_VALUE_OF_CHART = re.compile(r"\{\{-?\s*\.Values\.([\w.]+)(?:\s*\|\s*(?:quote|trim))?\s*-?\}\}")
_SOURCE = re.compile(r'(?m)^[ \t]*source\s*=\s*"([^"\n]*)"')


class BlockReference(NamedTuple):
    """A reference to a block.

    - `address`: the address of the block.
    - `attributes`: the attributes after it.
    - `folder`: the folder of its module.
    """

    address: str
    attributes: tuple[str, ...]
    folder: str


class TerraformBlocks:
    """The blocks of Terraform files, by folder and address.

    It reads the files of a run and the other files of their folders.
    """

    def __init__(self, files: Sequence[Source]) -> None:
        found = {os.path.abspath(file.path): file for file in files if file.path.endswith(ENDINGS)}
        reader = ModuleFiles(files)
        for folder in dict.fromkeys(map(os.path.dirname, found)):
            for file in reader.read_texts(folder):
                found.setdefault(os.path.abspath(file.path), file)
        self.files = [file for place, file in sorted(found.items()) if place.endswith(ENDINGS)]
        self.blocks: list[BlockText] = [block for file in self.files for block in find_blocks(file)]
        self._by_path = {file.path: find_blocks(file) for file in self.files}
        self._by_folder: dict[str, list[BlockText]] = {}
        self._files_in: dict[str, list[Source]] = {}
        self._by_address: dict[tuple[str, str], BlockText] = {}
        for file in self.files:
            folder = folder_of(file.path)
            self._files_in.setdefault(folder, []).append(file)
            self._by_folder.setdefault(folder, []).extend(find_blocks(file))
            self._by_address.update(((folder, block.address), block) for block in find_blocks(file))

    def find_in(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of the file at `path`."""
        return self._by_path.get(path, ())

    def find_beside(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of all files in the folder of a file."""
        return self._by_folder.get(folder_of(path), ())

    def find(self, reference: BlockReference) -> BlockText | None:
        """Return the block to which a reference leads. None if no file has it."""
        return self._by_address.get((reference.folder, reference.address))

    def trace(self, expression: str, path: str, steps: int = STEPS) -> BlockReference | None:
        """Return the block to which an expression in a file leads. None if it is not one plain reference."""
        folder = folder_of(path)
        of_chart = _VALUE_OF_CHART.fullmatch(expression.strip().strip("\"'"))
        if of_chart is not None:
            return self._trace_all(self._given_to_chart(of_chart[1], folder), steps)
        wrapped = _WRAPPED.fullmatch(expression.strip())
        written = ((wrapped[1] or wrapped[2]) if wrapped is not None else "").strip().rstrip(", \t\r\n")
        if re.fullmatch(r"[A-Za-z_]\w*", written) and not path.endswith(ENDINGS):
            return self._trace_all(self._given_to_template(written, os.path.basename(path)), steps)
        found = _REFERENCE.fullmatch(written)
        if found is None:
            return None
        kind, name, rest = found.groups()
        if kind == "local":
            return self._trace_all(self._of_locals(name, folder), steps)
        if kind == "var":
            return self._trace_all(self._of_calls(name, folder), steps)
        address = f"{'data.' if written.startswith('data.') else ''}{kind}.{name}"
        return BlockReference(address, tuple(re.findall(r"\.([\w-]+)", re.sub(r"\[[^\][]*\]", "", rest))), folder)

    def literal(self, expression: str, path: str, steps: int = STEPS) -> str | None:
        """Return the text to which an expression in a file leads. None if it is not one plain text."""
        written = expression.strip().rstrip(",").strip()
        plain = re.fullmatch(r'"([^"$%\n]*)"', written)
        if plain is not None:
            return plain[1]
        found = re.fullmatch(r'(?:"\$\{)?\s*(local|var)\.([\w-]+)\s*(?:\}")?', written)
        if found is None or steps <= 0:
            return None
        folder = folder_of(path)
        given = self._of_locals(found[2], folder) if found[1] == "local" else self._of_calls(found[2], folder)
        if found[1] == "var" and not given:
            # A root's variable may be set by variable files: its default is no fact.
            return None
        texts = {self.literal(value, place, steps - 1) for value, place in given}
        return texts.pop() if len(texts) == 1 else None

    def _trace_all(self, written: Sequence[tuple[str, str]], steps: int) -> BlockReference | None:
        """Return the block to which all of some expressions lead.

        None if they differ, or if there are too many steps.
        """
        if not written or steps <= 0:
            return None
        found = {self.trace(expression, path, steps - 1) for expression, path in written}
        return found.pop() if len(found) == 1 else None

    def _of_locals(self, name: str, folder: str) -> list[tuple[str, str]]:
        return [
            (value, file.path)
            for file in self._files_in.get(folder, ())
            for text in find_locals(file)
            for value in find_arguments(text, name)
        ]

    def _of_calls(self, name: str, folder: str) -> list[tuple[str, str]]:
        """Return the expressions that calls of a folder's module pass to one of its variables."""
        return [
            (value, block.source.path)
            for block in self._calls_of.get(folder, ())
            for value in find_arguments(block.text, name)[:1]
        ]

    @cached_property
    def _calls_of(self) -> dict[str, list[BlockText]]:
        """The calls of modules of the repository, by the folder of the module."""
        found: dict[str, list[BlockText]] = {}
        for block in self.blocks:
            source = _SOURCE.search(block.text) if block.address.startswith("module.") else None
            if source is not None and source[1].startswith("."):
                folder = os.path.normpath(os.path.join(folder_of(block.source.path), source[1]))
                found.setdefault(folder, []).append(block)
        return found

    def _given_to_template(self, name: str, template: str) -> list[tuple[str, str]]:
        """Return the expressions that `templatefile` passes to a name in a template."""
        call = re.compile(
            rf'templatefile\s*+\(\s*+"[^"\n]{{0,300}}\b{re.escape(template)}"\s*+,(.{{0,1000}}?)\)[ \t]*+$',
            re.DOTALL | re.M,
        )
        return [
            (value, file.path)
            for file in self.files
            for given in call.findall(file.text)
            for value in find_arguments(given, name)
        ]

    def _given_to_chart(self, value: str, folder: str) -> list[tuple[str, str]]:
        """Return the expressions that a helm_release passes to a chart value. `folder` has the chart's templates."""
        found = []
        for block in self.blocks if os.path.basename(folder) == "templates" else ():
            chart = find_arguments(block.text, "chart") if block.kind == "helm_release" else []
            if not chart or os.path.basename(chart[0].strip('" ')) != os.path.basename(os.path.dirname(folder)):
                continue
            by_set = re.compile(rf'name\s*=\s*"{re.escape(value)}"[\s,]*value\s*=\s*([^\n}}]*(?:\}}"?)?)')
            written = by_set.findall(block.text) or find_arguments(block.text, value.rpartition(".")[2])
            found += [(expression, block.source.path) for expression in written[:1]]
        return found


def folder_of(path: str) -> str:
    """Return the absolute path of the folder of a file."""
    return os.path.dirname(os.path.abspath(path))


def find_arguments(text: str, name: str) -> list[str]:
    """Return the values of an argument or key in a text, as they are written, in order."""
    return [value.strip() for value in re.findall(_ARGUMENT.format(re.escape(name)), text)]


def may_be_text(written: str, text: str) -> bool:
    """Return whether an expression, possibly with references, can be equal to a text."""
    if not written.startswith('"'):
        return True
    first, *others = re.split(r"\$\{[^{}]*\}", written.strip('"'))
    if not others or not text.startswith(first) or not text.endswith(others[-1]):
        return not others and text == first
    at, end = len(first), len(text) - len(others[-1])
    for part in others[:-1]:
        at = text.find(part, at, end) + len(part)
        if at < len(part):
            return False
    return at <= end
