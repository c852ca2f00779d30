"""Find the inputs of a variable in Terragrunt: expressions of its files, and outputs of other units."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence

from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.terraform.input_places import (
    InputPlace,
    list_steps,
    narrow,
    narrow_node,
    write_lookups_as_indexes,
)
from nodelint.forms.terraform.parsed import parse_text
from nodelint.forms.terraform.terragrunt import NAME, TerragruntFile
from nodelint.forms.terraform.values import Modules
from nodelint.text import Source, SourceText

_REFERENCE = re.compile(r"(?<![\w.-])(local|dependency|include)\.([A-Za-z_][\w-]*)((?:\.[\w-]+|\[[^\[\]\n]*\])*)")
_READ = re.compile(r"\b(?:read_terragrunt_config|file|sops_decrypt_file|templatefile|read_tfvars_file)\s*\(([^\n]*)")
_LITERAL = re.compile(r'"([^"\n]*)"')

ListOutputs = Callable[[str, str, Sequence[str]], Iterator[InputPlace]]
"""A function that yields the outputs of a module.

Its arguments are the folder, the label of the only call that counts, and the steps from the output's name on.
"""


class TerragruntInputs:
    """Finds the values that references in Terragrunt files stand for."""

    def __init__(self, modules: Modules, list_outputs: ListOutputs) -> None:
        self._modules = modules
        self._list_outputs = list_outputs

    def list_given(self, folder: str, name: str, steps: Sequence[str], label: str) -> Iterator[InputPlace]:
        """Yield the values that units pass to a variable of a module. `label` names the only unit that counts."""
        calls = self._modules.find_terragrunt_calls(folder)
        named = [
            call for call in calls if label and os.path.relpath(call.folder, folder).replace(os.sep, "/") == label
        ]
        for call in named or calls:
            if name in call.given:
                for node in narrow_node(call.given[name], steps):
                    yield InputPlace(f"inputs: {name}", call.folder, node.source, node.start, node.end)
            for source in self._list_files(call.folder):
                yield from self._list_input(source, call.folder, name, steps)

    def _list_input(self, source: Source, folder: str, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the values that one file passes to a variable, by `inputs` and by variable files that it names."""
        file = parse_text(source.text)
        given = file.outer.get("inputs")
        if given is not None:
            for part, left in narrow(given, [name, *steps], source.text):
                yield InputPlace(f"inputs: {name}", folder, source, part.start, part.end, steps=tuple(left))
        for block in file.blocks:
            text = source.text[block.start : block.end]
            if block.kind == "generate" and re.search(rf"\b{re.escape(name)}\b", text):
                yield InputPlace("generate", folder, source, block.start, block.end)
            for named in _name_variables(text) if block.kind == "terraform" else ():
                for found in self._find_above(folder, named):
                    values = self._modules.variables_of(found)
                    if name in values:
                        for node in narrow_node(values[name], steps):
                            yield InputPlace(f"var.{name}", folder, node.source, node.start, node.end)

    def list_references(self, place: InputPlace) -> Iterator[InputPlace]:
        """Yield the places to which an expression of a Terragrunt file refers."""
        source = place.source
        text = write_lookups_as_indexes(source.text[place.start : place.end])
        if not isinstance(source, Source):
            return
        for word, name, after in dict.fromkeys(_REFERENCE.findall(text)):
            steps = list_steps(after)
            if f"{word}.{name}{after}" == text.strip():
                steps += place.steps
            if word == "local":
                yield from self._list_locals(place, source, name, steps)
            elif word == "dependency":
                yield from self._list_dependency(place, name, steps)
            else:
                yield from self._list_included(place, name, steps)
        for arguments in _READ.findall(text):
            yield from self._list_read(place, arguments, text)

    def _list_locals(
        self, place: InputPlace, source: Source, name: str, steps: Sequence[str]
    ) -> Iterator[InputPlace]:
        file = parse_text(source.text)
        for block in file.blocks:
            value = file.body(block).get(name) if block.kind == "locals" else None
            for part, left in narrow(value, steps, source.text) if value is not None else ():
                yield InputPlace(f"local.{name}", place.folder, source, part.start, part.end, steps=tuple(left))

    def _list_dependency(self, place: InputPlace, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        """Yield the output of another unit: of its module if that is local, else all inputs of the unit."""
        for source in (place.source, *self._list_files(place.folder)):
            file = self._open(source, place.folder)
            path = next((file.text_in(block, "config_path") for block in file.blocks_of("dependency", name)), None)
            if path is None:
                continue
            folder = os.path.normpath(os.path.join(place.folder, path))
            unit = self._modules.source(os.path.join(folder, NAME))
            if unit is None:
                return
            module = self._open(unit, folder).module()
            if module is not None and self._modules.files(module):
                label = os.path.relpath(folder, module).replace(os.sep, "/")
                yield from self._list_outputs(module, label, steps[1:])
                return
            parsed = parse_text(unit.text)
            yield from (
                InputPlace(f"unit {name}: source", folder, unit, block.start, block.end)
                for block in parsed.blocks
                if block.kind == "terraform"
            )
            given = parsed.outer.get("inputs")
            if given is not None:
                yield InputPlace(f"unit {name}: inputs", folder, unit, given.start, given.end)
            return

    def _list_included(self, place: InputPlace, name: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        file = self._open(place.source, place.folder)
        for block in file.blocks_of("include", name):
            path = file.text_in(block, "path")
            if path is not None:
                yield from self._list_part(place, os.path.join(place.folder, path), steps)

    def _list_read(self, place: InputPlace, arguments: str, text: str) -> Iterator[InputPlace]:
        """Yield the files that Terragrunt's read functions name.

        For `read_terragrunt_config`, only the used part of the file is yielded.
        """
        is_whole = text.strip().startswith("read_terragrunt_config") and len(place.steps) > 1
        for name in _LITERAL.findall(arguments):
            last = re.sub(r"\$\{[^{}]*\}", "", name).lstrip("/.")
            for source in self._find_above(place.folder, last) if last else ():
                if is_whole:
                    yield from self._list_part(place, os.path.abspath(source.path), place.steps)
                else:
                    yield InputPlace(os.path.basename(source.path), place.folder, source, 0, len(source.text))

    def _list_part(self, place: InputPlace, path: str, steps: Sequence[str]) -> Iterator[InputPlace]:
        source = self._modules.source(os.path.normpath(path))
        if source is None:
            return
        if len(steps) > 1 and steps[0] == "locals":
            yield from self._list_locals(place, source, steps[1], steps[2:])
        elif len(steps) > 1 and steps[0] == "inputs":
            yield from self._list_input(source, place.folder, steps[1], steps[2:])
        else:
            yield InputPlace(os.path.basename(path), place.folder, source, 0, len(source.text))

    def _open(self, source: SourceText, folder: str) -> TerragruntFile:
        assert isinstance(source, Source)  # every Terragrunt file is a Source
        home = find_top(folder) or folder
        return TerragruntFile(source, folder, home, self._modules.source, self._modules.budget)

    def _list_files(self, folder: str) -> Iterator[Source]:
        """Yield the Terragrunt files in a folder and above it, which a unit in it may include."""
        for around in _list_folders(folder):
            for name in (name for name in gate.names(around) if name.endswith(".hcl")):
                source = self._modules.source(os.path.join(around, name))
                if source is not None:
                    yield source

    def _find_above(self, folder: str, name: str) -> Iterator[Source]:
        """Yield the files with a relative path in a folder or above it."""
        for around in _list_folders(folder):
            path = os.path.normpath(os.path.join(around, name))
            source = self._modules.source(path) if gate.is_file(path) else None
            if source is not None:
                yield source


def _name_variables(text: str) -> Iterator[str]:
    """Yield the names of the variable files in a text, without their folders."""
    for literal in _LITERAL.findall(text):
        if literal.endswith((".tfvars", ".tfvars.json")):
            yield re.split(r"[^\w.-]", literal)[-1]


def _list_folders(folder: str) -> Iterator[str]:
    home = find_top(folder) or folder
    while True:
        yield folder
        if folder in (home, os.path.dirname(folder)):
            return
        folder = os.path.dirname(folder)
