"""Find the blocks that read a value of a Terraform root or a Terragrunt file, besides those with judged objects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top, is_inside
from nodelint.forms.terraform.fill import ENDS
from nodelint.forms.terraform.references import local_folder, references_of
from nodelint.forms.terraform.values import Modules
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from nodelint.forms.requests import JudgedPlaces
    from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
    from nodelint.forms.terraform.references import TerraformReference
    from nodelint.model.finding import Edit
    from nodelint.text import Source

_Definition = tuple[str, str]
"""The address of a variable or local, such as `var.arch`, and the folder of its module."""
_Use = tuple["TerraformFile", "TerraformBlock", "TerraformReference"]
_ASSIGNED = re.compile(r"(?m)^([A-Za-z_][\w-]*)[ \t]*=")
_INPUT = re.compile(r"(?m)^[ \t]+\"?([A-Za-z_][\w-]*)\"?[ \t]*[=:]")
_SOURCE = re.compile(r"(?m)^[ \t]*source[ \t]*=[ \t]*\"([^\"\n]+)\"")
_MANIFESTS = re.compile(r"kubectl_manifest|kubernetes_manifest\w*|kubectl_path_documents")
_JUDGED = re.compile(r"\b(?:NodePool|EC2NodeClass|NodeClass|NodeOverlay)\b")


class BlockReaders:
    """Finds the places that read a value and do not lead to a judged object."""

    def __init__(self, judged: JudgedPlaces, sources: Sequence[Source]) -> None:
        self._judged = judged
        self._modules = Modules(sources)
        self._references: dict[str, dict[str, list[_Use]]] = {}
        self._hcl_files: dict[str, list[Source]] = {}

    def list_places(self, edit: Edit) -> Iterator[Span]:
        """Yield such places for the value that an edit changes."""
        path = os.path.abspath(edit.source.path)
        if path.endswith(ENDS):
            pending = list(self._find_definitions(path, edit.start))
        elif path.endswith((".tfvars", ".tfvars.json")):
            pending = list(self._find_variables(path, edit.source.text, edit.start))
        elif path.endswith(".hcl"):
            pending = []
            for place, folder in self._list_units(path):
                if folder is None:
                    yield place
                else:
                    pending += self._find_inputs(edit, folder)
        else:
            return
        seen: set[_Definition] = set()
        while pending:
            definition = pending.pop()
            if definition in seen:
                continue
            seen.add(definition)
            for file, block, reference in self._list_references(definition):
                following = self._follow(file, block, reference, definition[1])
                if following is None:
                    yield Span(file.source, reference.start, reference.end)
                pending += following or ()

    def _find_definitions(self, path: str, at: int) -> Iterator[_Definition]:
        """Yield the variable or local whose value is at an offset of a file."""
        file, folder = self._modules.file(path), os.path.dirname(path)
        for block in file.blocks if file is not None else ():
            if file is None or not block.start <= at < block.end:
                continue
            names = [name for name, value in file.attributes(block).items() if value.start <= at <= value.end]
            if block.kind == "locals":
                yield from ((f"local.{name}", folder) for name in names)
            elif block.kind == "variable":
                yield f"var.{'.'.join(block.names)}", folder
            elif block.kind == "module" and (called := local_folder(self._modules, file, block)) is not None:
                yield from ((f"var.{name}", called) for name in names)

    def _find_variables(self, path: str, text: str, at: int) -> Iterator[_Definition]:
        """Yield the variable that a variable file sets at an offset, in each module above that declares it."""
        names = [found[1] for found in _ASSIGNED.finditer(text, 0, at)]
        folder, top = os.path.dirname(path), find_top(path) or os.path.dirname(os.path.dirname(path))
        while names and is_inside(folder, top):
            if any(
                block.kind == "variable" and block.names == (names[-1],)
                for file in self._modules.files(folder)
                for block in file.blocks
            ):
                yield f"var.{names[-1]}", folder
            if folder == top:
                return
            folder = os.path.dirname(folder)

    def _find_inputs(self, edit: Edit, folder: str) -> Iterator[_Definition]:
        """Yield the variable of a module that the line of an edit sets."""
        names = [found[1] for found in _INPUT.finditer(edit.source.text, 0, edit.start)]
        if names:
            yield f"var.{names[-1]}", folder

    def _list_units(self, path: str) -> Iterator[tuple[Span, str | None]]:
        """Yield the Terragrunt units that include a file, each with the folder of its module (None if it is remote).

        A unit includes a file if it names the file, or if it includes the file of this name above it.
        """
        name, home = os.path.basename(path), os.path.join(os.path.dirname(path), "")
        for source in self._list_hcl_files(find_top(path) or os.path.dirname(path)):
            unit = os.path.abspath(source.path)
            is_above = "find_in_parent_folders()" in source.text and unit.startswith(home)
            if unit != path and name not in source.text and not is_above:
                continue
            called = _SOURCE.search(source.text)
            if called is None:
                continue
            local = called[1].replace("//", "/") if called[1].startswith(".") else None
            place = Span(source, *called.span(1))
            yield place, None if local is None else os.path.normpath(os.path.join(os.path.dirname(unit), local))

    def _list_hcl_files(self, top: str) -> list[Source]:
        if top not in self._hcl_files:
            paths = (os.path.join(folder, name) for folder, _, names in gate.walk(top) for name in names)
            found = (path for path in paths if path.endswith(".hcl"))
            self._hcl_files[top] = [source for path in found if (source := self._modules.source(path)) is not None]
        return self._hcl_files[top]

    def _list_references(self, definition: _Definition) -> Sequence[_Use]:
        address, folder = definition
        if folder not in self._references:
            found = self._references[folder] = {}
            for file in self._modules.files(folder):
                for block in file.blocks:
                    for reference in references_of(file, block):
                        found.setdefault(reference.address, []).append((file, block, reference))
        return self._references[folder].get(address, ())

    def _follow(
        self, file: TerraformFile, block: TerraformBlock, reference: TerraformReference, folder: str
    ) -> list[_Definition] | None:
        """Return the variables and locals that take a value at a reference: empty if it leads to a judged object.

        None for another reader.
        """
        path = os.path.abspath(file.source.path)
        if self._judged.holds(path, reference.start, reference.end):
            return []
        around = [
            name
            for name, value in file.attributes(block).items()
            if value.start <= reference.start and reference.end <= value.end
        ]
        if block.kind == "locals":
            return [(f"local.{name}", folder) for name in around]
        called = local_folder(self._modules, file, block) if block.kind == "module" else None
        if called is not None:
            return [(f"var.{name}", called) for name in around]
        return [] if block.kind == "resource" and self._makes_judged(file, block) else None

    def _makes_judged(self, file: TerraformFile, block: TerraformBlock) -> bool:
        """Return whether a resource applies manifests of judged kinds, or a chart with judged objects."""
        text = file.source.text[block.start : block.end]
        if block.names[:1] == ("helm_release",):
            chart = file.attributes(block).get("chart")
            written = file.source.text[chart.start : chart.end] if chart is not None else ""
            # `${path.module}` and other code before the first slash lead to a folder of the repository.
            name = re.sub(r"\$\{[^{}]*\}", ".", written.strip('"'))
            folder = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(file.source.path)), name))
            return folder.replace(os.sep, "/") in self._judged.charts
        if _MANIFESTS.fullmatch("".join(block.names[:1])) is None:
            return False
        return _JUDGED.search(text) is not None or "kind" not in text
