"""Find the components of Terraform Stacks that create pools or classes. Their files are not evaluated.

Source: https://developer.hashicorp.com/terraform/language/stacks (components in `.tfcomponent.hcl`, formerly
`.tfstack.hcl`; deployments with their inputs in `.tfdeploy.hcl`).
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText, RemoteUse
from nodelint.forms.lib.chart_values import MAKES_POOLS
from nodelint.forms.lib.values import read
from nodelint.forms.terraform.input_places import COMMENT
from nodelint.forms.terraform.parsed import parse_text
from nodelint.model.documents import objects
from nodelint.model.finding import Span
from nodelint.model.gap import Gap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nodelint.forms.terraform.file_blocks import TerraformBlock
    from nodelint.forms.terraform.hcltree import HclExpression
    from nodelint.forms.terraform.modules import ModuleFiles
    from nodelint.text import Source

COMPONENTS = (".tfcomponent.hcl", ".tfstack.hcl")
_ENDINGS = (*COMPONENTS, ".tfdeploy.hcl")
_NAME = re.compile(r"\b(?:(var|local|component|upstream_input)|store\.\w+)\.(\w+)")
_KINDS = {"variable": "var", "component": "component", "upstream_input": "upstream_input", "store": "store"}
_OF_ORDER = ("depends_on", "providers")
"""Arguments that decide when and where a component is applied, not what."""
_GAP = "a Terraform stack is not read: the values that its component `{}` passes to its module are not known"
_REASON = "`{}` changes, and Terraform stacks are not read: its pools and classes may change"


def find_unread_components(paths: Sequence[str], modules: ModuleFiles, sources: Sequence[Source]) -> Iterator[Gap]:
    """Yield a gap for each component of a stack whose module creates pools or classes."""
    stacks = [source for path in sorted(paths) if path.endswith(COMPONENTS) and (source := read(path)) is not None]
    for source, block in _list_components(stacks, modules, sources):
        yield Gap(Span(source, block.start, block.start), "module", _GAP.format(block.names[0]))


def list_component_uses(
    stacks: Sequence[Source], modules: ModuleFiles, sources: Sequence[Source]
) -> Iterator[RemoteUse]:
    """Yield the components whose modules create pools or classes, with all texts on which their inputs depend."""
    for source, block in _list_components(stacks, modules, sources):
        inputs = list(_Stack(os.path.dirname(source.path)).follow(source, block))
        yield RemoteUse(os.path.dirname(source.path), f"component.{block.names[0]}", inputs, _REASON)


def _list_components(
    stacks: Sequence[Source], modules: ModuleFiles, sources: Sequence[Source]
) -> Iterator[tuple[Source, TerraformBlock]]:
    """Yield the components whose modules create pools or classes."""
    if not stacks:
        return
    making = {os.path.dirname(os.path.abspath(s.path)) for s in sources if any(objects(s, foreign=True, more=True))}
    for source in stacks:
        file = parse_text(source.text)
        for block in file.blocks:
            at = file.body(block).get("source") if block.kind == "component" and block.names else None
            module = source.text[at.start : at.end].strip('"') if at is not None else ""
            folder = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(source.path)), module))
            if module.startswith("."):
                makes_pools = not making.isdisjoint(_list_called(folder, modules))
            else:
                makes_pools = MAKES_POOLS.search(module) is not None
            if makes_pools:
                yield source, block


def _list_called(folder: str, modules: ModuleFiles) -> list[str]:
    """Return the folders of a module and of all local modules that it calls."""
    found = [folder]
    seen = {folder}
    for called in found:
        for name in gate.names(called):
            if name.endswith((".tf", ".tofu")):
                inner = {place for place, _, _ in modules.local_calls(os.path.join(called, name))}
                found += sorted(inner - seen)
                seen |= inner
    return found


class _Stack:
    """The files of a stack, which are all in one folder.

    `_meanings` are the texts for which a name stands: for a variable, its default and its value in each deployment.
    """

    def __init__(self, folder: str) -> None:
        self._meanings: dict[tuple[str, str], list[InputText]] = {}
        self._deployments: list[InputText] = []
        for name in sorted(gate.names(folder or os.curdir)):
            source = read(os.path.join(folder, name)) if name.endswith(_ENDINGS) else None
            file = parse_text(source.text) if source is not None else None
            for block in file.blocks if file is not None else ():
                if source is not None and file is not None:
                    self._add(source, block, file.body(block))

    def follow(self, source: Source, block: TerraformBlock) -> Iterator[InputText]:
        """Yield the arguments of a component, and the texts for which their names stand, and so on."""
        given = parse_text(source.text).body(block).items()
        label = f"component.{block.names[0]}"
        found = [_make(f"{label}: {name}", source, value) for name, value in given if name not in _OF_ORDER]
        seen = {("component", block.names[0])}
        for place in found:
            yield place
            for match in _NAME.finditer(place.text):
                if (key := (match[1] or "store", match[2])) not in seen:
                    seen.add(key)
                    found += self._meanings.get(key, ())
        yield from self._deployments

    def _add(self, source: Source, block: TerraformBlock, body: Mapping[str, HclExpression]) -> None:
        if block.kind == "locals":
            for name, value in body.items():
                self._note(("local", name), _make(f"local.{name}", source, value))
        elif block.kind == "deployment" and block.names:
            label = f"deployment.{block.names[0]}"
            self._deployments.append(
                InputText(label, "", Span(source, block.start, block.start), label, is_call=True)
            )
            inputs = body.get("inputs")
            parts = inputs.parts if inputs is not None and inputs.kind == "object" else ()
            for key, value in zip(parts[::2], parts[1::2], strict=True):
                name = source.text[key.start : key.end].strip('"')
                self._note(("var", name), _make(f"{label}: {name}", source, value)._replace(caller=label))
            if inputs is not None and not parts:
                self._deployments.append(_make(f"{label}: inputs", source, inputs)._replace(caller=label))
        elif block.kind in _KINDS and block.names:
            kind = _KINDS[block.kind]
            for argument, value in body.items():
                name = f"{kind}.{block.names[-1]}: {argument}"
                self._note((kind, block.names[-1]), _make(name, source, value))

    def _note(self, key: tuple[str, str], place: InputText) -> None:
        self._meanings.setdefault(key, []).append(place)


def _make(name: str, source: Source, value: HclExpression) -> InputText:
    text = " ".join(COMMENT.sub("", source.text[value.start : value.end]).split())
    return InputText(name, text, Span(source, value.start, value.end))
