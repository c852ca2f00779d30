"""What an expression of a Terraform file refers to in the end, followed through locals, variables and templates."""

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

    from nodelint.forms.terraform.argument_values import ArgumentValue
    from nodelint.forms.terraform.module_folder import ModuleFolder
    from nodelint.forms.terraform.tagging import TagValue
    from nodelint.forms.terraform.values import Modules
    from nodelint.text import Source

__all__ = ["ENDINGS", "BlockReference", "BlockText", "TerraformBlocks", "find_arguments", "folder_of", "may_be_text"]

STEPS = 5
"""More steps from an expression to a resource are not followed."""

_REFERENCE = re.compile(r"(?:data\.)?([A-Za-z_][\w-]*)\.([\w-]+)(?:\[[^\][]*\])?((?:\.[\w-]++(?:\[[^\][]*\])?)*+)")
_WRAPPED = re.compile(r'"?\$\{([^{}"]++)\}"?|(.+)', re.DOTALL)
_ARGUMENT = r'(?m)(?:^|[{{,(])[ \t]*+"?{}"?[ \t]*+[=:][ \t]*+((?:\$\{{[^{{}}\n]*+\}}|[^\n,{{}}])*+)'
_VALUE_OF_CHART = re.compile(r"\{\{-?\s*\.Values\.([\w.]+)(?:\s*\|\s*(?:quote|trim))?\s*-?\}\}")
_SOURCE = re.compile(r'(?m)^[ \t]*source\s*=\s*"([^"\n]*)"')


class BlockReference(NamedTuple):
    """What an expression names: the address of a block, the attributes asked of it, and the folder that has it."""

    address: str
    attributes: tuple[str, ...]
    folder: str


class TerraformBlocks:
    """The blocks of Terraform files, by folder and address.

    Read are the files of a run, and what stands next to them in their folders without naming Karpenter.
    """

    def __init__(self, files: Sequence[Source]) -> None:
        found = {os.path.abspath(file.path): file for file in files if file.path.endswith(ENDINGS)}
        self.module_files = ModuleFiles(files)
        for folder in dict.fromkeys(map(os.path.dirname, found)):
            for file in self.module_files.read_texts(folder):
                found.setdefault(os.path.abspath(file.path), file)
        self._folders: dict[str, ModuleFolder] = {}
        self._evaluated: dict[bool, Modules] = {}
        self._tag_values: dict[tuple[str, bool], list[TagValue]] = {}
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

    def references_of(self, path: str) -> ModuleFolder | None:
        """Return the folder of a file as Terraform reads it; None for a file that is no part of a module."""
        folder = folder_of(path)
        if folder not in self._folders:
            from nodelint.forms.terraform.module_folder import ModuleFolder

            self._folders[folder] = ModuleFolder(folder, self.module_files)
        return self._folders[folder] if path.endswith((".tf", ".tofu")) else None

    def tag_values(self, key: str, settled: bool) -> list[TagValue]:
        """Return the values that the files give a tag; with `settled` no default counts that a run may replace."""
        if (key, settled) not in self._tag_values:
            from nodelint.forms.terraform.tagging import list_tag_values

            self._tag_values[key, settled] = list_tag_values(key, self.files, self._modules(settled))
        return self._tag_values[key, settled]

    def has_text_near(self, path: str, pattern: re.Pattern[str]) -> bool:
        """Return whether a Terraform file around a file matches a pattern, also one that does not name Karpenter."""
        return any(pattern.search(file.text) is not None for file in self.files_near(path))

    def files_near(self, path: str) -> list[Source]:
        """Return the Terraform files around a file, also those that do not name Karpenter."""
        near = map(self.module_files.source, self.module_files.near(folder_of(path)))
        return [file for file in near if file is not None]

    def argument_values(self, block: BlockText, name: str) -> list[ArgumentValue]:
        """Return what an argument of a block comes to, in each way in which its module is called."""
        from nodelint.forms.terraform.argument_values import list_argument_values

        return list_argument_values(block.source.path, block.address, name, self._modules(settled=False))

    def _modules(self, settled: bool) -> Modules:
        if settled not in self._evaluated:
            from nodelint.forms.terraform.values import Modules

            self._evaluated[settled] = Modules(self.module_files, settled)
        return self._evaluated[settled]

    def find_in(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of a file."""
        return self._by_path.get(path, ())

    def find_beside(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of a file and of those in its folder."""
        return self._by_folder.get(folder_of(path), ())

    def find(self, reference: BlockReference) -> BlockText | None:
        """Return the block that a reference names; None if no file has it."""
        return self._by_address.get((reference.folder, reference.address))

    def trace(self, expression: str, path: str, steps: int = STEPS) -> BlockReference | None:
        """Return the block that an expression in a file comes from; None if it is not one plain reference."""
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
        """Return the text that an expression in a file comes to; None if it is not one plain text."""
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
            # A root's own variable may come from files of values: its default is no fact.
            return None
        texts = {self.literal(value, place, steps - 1) for value, place in given}
        return texts.pop() if len(texts) == 1 else None

    def _trace_all(self, written: Sequence[tuple[str, str]], steps: int) -> BlockReference | None:
        """Return what all of some expressions come from; None if that differs, or there are too many steps."""
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
        """Return the values that calls of a folder's module give one of its variables."""
        return [
            (value, block.source.path)
            for block in self._calls_of.get(folder, ())
            for value in find_arguments(block.text, name)[:1]
        ]

    @cached_property
    def _calls_of(self) -> dict[str, list[BlockText]]:
        """The calls of modules of the repository, by the folder that they name."""
        found: dict[str, list[BlockText]] = {}
        for block in self.blocks:
            source = _SOURCE.search(block.text) if block.address.startswith("module.") else None
            if source is not None and source[1].startswith("."):
                folder = os.path.normpath(os.path.join(folder_of(block.source.path), source[1]))
                found.setdefault(folder, []).append(block)
        return found

    def _given_to_template(self, name: str, template: str) -> list[tuple[str, str]]:
        """Return the values that `templatefile` gives a name of a template."""
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
        """Return the expressions that a helm_release gives a value of the chart whose templates a folder holds."""
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
    """Return the absolute path of the folder that a file is in."""
    return os.path.dirname(os.path.abspath(path))


def find_arguments(text: str, name: str) -> list[str]:
    """Return what a text gives an argument or key, as it is written, in the order of the text."""
    return [value.strip() for value in re.findall(_ARGUMENT.format(re.escape(name)), text)]


def may_be_text(written: str, text: str) -> bool:
    """Return whether an expression, in which references may stand, can come to a text."""
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
