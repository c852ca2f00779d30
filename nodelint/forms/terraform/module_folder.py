"""Check a Terraform folder as `terraform validate` does: undeclared names, unknown arguments, missing outputs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import find_top
from nodelint.forms.terraform.fill import JSON_ENDS
from nodelint.forms.terraform.public_modules import ModuleVersion, PublicModule, public_module, read_constraint
from nodelint.forms.terraform.references import (
    Declarations,
    TerraformReference,
    list_references,
    local_folder,
)
from nodelint.forms.terraform.template_names import find_missing_names
from nodelint.forms.terraform.terraform_blocks import registry_source
from nodelint.model.finding import Span

if TYPE_CHECKING:
    from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
    from nodelint.forms.terraform.hcltree import HclExpression
    from nodelint.forms.terraform.modules import ModuleFiles
    from nodelint.forms.terraform.template_names import MissingName

ENDS = (".tf", ".tofu")
"""Endings of the files whose references are checked."""
_META = frozenset({"source", "version", "providers", "count", "for_each", "depends_on", "enabled"})
"""Arguments of a module call that Terraform itself reads."""
_MOST_REPEATED = 3
"""The most names that may be declared twice. A folder with more is a collection of examples, not a module."""
_IGNORED = re.compile(r"(?m)^(?!#)[^\n]*\.tf(?:\.json)?[ \t\r]*$")


class ModuleArgument(NamedTuple):
    """An argument of a module call, and the range of its name."""

    name: str
    start: int
    end: int


class ModuleCall:
    """A call of a module whose arguments and outputs are known: a public module, or a local one."""

    def __init__(
        self,
        file: TerraformFile,
        block: TerraformBlock,
        public: tuple[PublicModule, ModuleVersion] | None,
        declared: Declarations | None,
        folder: str,
        written: str,
    ) -> None:
        self.file = file
        self.block = block
        self._public = public
        self._declared = declared
        self._folder = folder
        self._written = written

    @property
    def source_at(self) -> tuple[int, int]:
        """Return the start and end of the value of `source`."""
        source = self.file.attributes(self.block)["source"]
        return source.start, source.end

    @property
    def name(self) -> str:
        """Return the name of the module in messages, with its version."""
        if self._public is None:
            return f"the module in {self._folder}"
        module, version = self._public
        short = module.name.partition("//")[2] or module.name.rpartition("/")[0]
        written = ".".join(map(str, version.at)) if version.is_exact else self._written
        return f"version {written} of {short}" if written else f"the newest version of {short}"

    @property
    def is_missing(self) -> bool:
        """Return whether the submodule no longer exists in the called version."""
        return self._public is not None and self._public[0].is_missing(self._public[1])

    def explain_missing(self) -> str | None:
        """Return a message with the last version that has the submodule. None if it is not known."""
        last = self._public[0].row.get("last") if self._public is not None else None
        return f"the last version with this module is {last}" if last else None

    def find_unknown_arguments(self) -> Iterator[ModuleArgument]:
        """Yield the arguments of the call that the module certainly does not have."""
        for attribute in self.file.every_attribute(self.block):
            if attribute.depth or attribute.name in _META or not self._lacks("arguments", attribute.name):
                continue
            text, end = self.file.source.text, attribute.value.start
            line = text.rfind("\n", 0, end) + 1
            found = re.search(rf"\b{re.escape(attribute.name)}\b", text[line:end])
            start = line + found.start() if found is not None else attribute.value.start
            yield ModuleArgument(attribute.name, start, start + len(attribute.name) if found is not None else end)

    def find_missing_arguments(self) -> list[str]:
        """Return the variables without default that the call of a local module does not set."""
        given = self.file.attributes(self.block)
        found = []
        for address, blocks in self._declared.blocks.items() if self._declared is not None else ():
            file, block = blocks[0]
            name = address.removeprefix("var.")
            body = file.source.text[block.start : block.end]
            if address.startswith("var.") and name not in given and re.search(r"\bdefault\b", body) is None:
                found.append(name)
        return found

    def has_output(self, name: str) -> bool:
        """Return whether the module has, or may have, an output."""
        return not self._lacks("outputs", name)

    def _lacks(self, kind: str, name: str) -> bool:
        if self._public is not None:
            return self._public[0].lacks(kind, name, self._public[1])
        word = "var" if kind == "arguments" else "output"
        return self._declared is not None and not self._declared.is_declared(f"{word}.{name}")

    def other_argument(self, name: str) -> str | None:
        """Return the module's argument that probably replaces an unknown one. None if there is none."""
        return self._find_other_name("arguments", name)

    def other_output(self, name: str) -> str | None:
        """Return the module's output that probably replaces an unknown one. None if there is none."""
        return self._find_other_name("outputs", name)

    def _find_other_name(self, kind: str, name: str) -> str | None:
        if self._public is not None:
            return self._public[0].other_name(kind, name, self._public[1])
        word = "var." if kind == "arguments" else "output."
        known = self._declared.blocks if self._declared is not None else ()
        return closest(name, [address.removeprefix(word) for address in known if address.startswith(word)])

    def explain_argument(self, name: str) -> str | None:
        """Return a message with the first version without an argument. None if no version removed it."""
        return self._explain("arguments", name)

    def suggest_version(self, name: str) -> str | None:
        """Return a version constraint with which the module has an argument. None if there is none."""
        first = self._public[0].first_without("arguments", name) if self._public is not None else None
        return f"~> {int(first.partition('.')[0]) - 1}.0" if first is not None and first.endswith(".0.0") else None

    def explain_output(self, name: str) -> str | None:
        """Return a message with the first version without an output. None if no version removed it."""
        return self._explain("outputs", name)

    def _explain(self, kind: str, name: str) -> str | None:
        first = self._public[0].first_without(kind, name) if self._public is not None else None
        return f"{first} is the first version without it" if first is not None else None


class ModuleFolder:
    """The files of a Terraform folder, which form one module."""

    def __init__(self, folder: str, modules: ModuleFiles) -> None:
        self._folder = folder
        self._modules = modules
        self._files = modules.files(folder)
        self.declared = Declarations(self._files)

    @cached_property
    def is_whole(self) -> bool:
        """Return whether the folder has all files that Terraform reads: none is generated, and git ignores none."""
        if "{{" in self._folder or any(file.source.path.endswith((".tofu", *JSON_ENDS)) for file in self._files):
            return False
        around, top = self._folder, find_top(self._folder)
        while around:
            names = gate.names(around)
            if any(name in names for name in ("terragrunt.hcl", "root.hcl", "cdktf.json", "stack.hcl")):
                return False
            if ".gitignore" in names:
                lines = _IGNORED.findall(gate.load_text(os.path.join(around, ".gitignore"), 1 << 20) or "")
                if any("override" not in line for line in lines):
                    return False
            if around in (top, os.path.dirname(around)) or top is None:
                break
            around = os.path.dirname(around)
        return True

    def find_undeclared(self) -> list[tuple[TerraformFile, TerraformReference]]:
        """Return the references that no file of the folder declares. Empty if files may be missing."""
        return self._undeclared if self.is_whole else []

    @cached_property
    def _undeclared(self) -> list[tuple[TerraformFile, TerraformReference]]:
        texts = [file.source.text for file in self._files]
        named = [(file, found) for file in self._files for found in list_references(file)]
        known = {found.address for _, found in named if self.declared.is_declared(found.address)}
        unknown = {found.address for _, found in named} - known
        unknown = {address for address in unknown if not _may_declare(texts, address)}
        missing = [(file, found) for file, found in named if found.address in unknown]
        # A folder that declares less than it lacks is an excerpt, and so is one without a provider and variables.
        is_excerpt = len({found.address for _, found in missing}) > len(known)
        kinds = {block.kind for file in self._files for block in file.blocks}
        return [] if is_excerpt or kinds.isdisjoint(("provider", "terraform", "variable")) else missing

    def near_name(self, address: str) -> str | None:
        """Return the declared address of the same kind that is most similar to another address.

        None if none is similar.
        """
        kind = address.rpartition(".")[0]
        known = (*self.declared.blocks, *self.declared.locals)
        return closest(address, [other for other in known if other.rpartition(".")[0] == kind])

    @cached_property
    def helm_provider(self) -> ModuleVersion | None:
        """Return the newest Helm provider that the root modules of the folder allow. None if it is not known."""
        from nodelint.forms.terraform.helm_provider import newest_helm_provider

        return newest_helm_provider(self._folder, self._modules) if self.is_whole else None

    def find_missing_outputs(self, path: str) -> Iterator[tuple[TerraformReference, ModuleCall]]:
        """Yield the references of a file to outputs that the called module does not have, each with the call."""
        for file in self._files:
            if file.source.path != path:
                continue
            for found in list_references(file):
                call = self._call(found.address) if found.attribute and found.address.startswith("module.") else None
                if call is not None and not call.is_missing and not call.has_output(found.attribute):
                    yield found, call

    def find_missing_template_names(self, path: str) -> Iterator[MissingName]:
        """Yield the names that templates use and that the calls of `templatefile` in a file do not pass."""
        for file in self._files:
            if file.source.path == path:
                yield from find_missing_names(file, self._folder, self._modules)

    def find_repeated(self, path: str) -> Iterator[tuple[Span, Span]]:
        """Yield (place, place of the first block) for each block that repeats another block of the folder."""
        repeated = [blocks for blocks in self.declared.blocks.values() if len(blocks) > 1]
        if len(repeated) > _MOST_REPEATED or not self.is_whole:
            return
        for blocks in repeated:
            if any("override" in os.path.basename(file.source.path) for file, _ in blocks):
                continue
            (first, before), *others = blocks
            for file, block in others:
                if file.source.path == path:
                    yield _head(file, block), _head(first, before)

    def list_calls(self, path: str) -> Iterator[ModuleCall]:
        """Yield the module calls of a file, if the arguments of the module are known."""
        for file in self._files:
            for block in file.blocks if file.source.path == path else ():
                call = self._read_call(file, block) if block.kind == "module" else None
                if call is not None:
                    yield call

    def _call(self, address: str) -> ModuleCall | None:
        blocks = self.declared.blocks.get(address, ())
        return self._read_call(*blocks[0]) if len(blocks) == 1 else None

    def _read_call(self, file: TerraformFile, block: TerraformBlock) -> ModuleCall | None:
        given = file.attributes(block)
        source = _text(given.get("source"))
        if source is None:
            return None
        if source.startswith("."):
            return self._local_call(file, block, source)
        name, version = registry_source(source)
        module = public_module(name)
        if "version" in given:
            version = _text(given["version"])
        elif name == source:
            version = ""  # a module of the registry without `version`: the newest one
        constraint = read_constraint(version) if module is not None and version is not None else None
        if module is None or constraint is None or version is None:
            return None
        return ModuleCall(file, block, (module, constraint), None, "", version)

    def _local_call(self, file: TerraformFile, block: TerraformBlock, source: str) -> ModuleCall | None:
        folder = local_folder(self._modules, file, block)
        inner = ModuleFolder(folder, self._modules) if folder is not None else None
        if inner is None or not inner.is_whole:
            return None
        return ModuleCall(file, block, None, inner.declared, source, "")


def _head(file: TerraformFile, block: TerraformBlock) -> Span:
    """Return the range of a block before its brace: type and labels."""
    end = file.source.text.find("{", block.start)
    return Span(file.source, block.start, len(file.source.text[: max(end, block.start + 1)].rstrip()))


def closest(name: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most similar to a name. None if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, 1, 0.7)), None)


def _may_declare(texts: Sequence[str], address: str) -> bool:
    """Return whether one of the texts may declare an address in a form that is not parsed."""
    kind, _, name = address.rpartition(".")
    label = re.escape(name)
    written = (
        rf"(?m)^[ \t]*{label}[ \t]*=" if kind == "local" else rf'^[ \t]*\w+[ \t]+(?:"?[\w-]+"?[ \t]+)?"?{label}"?'
    )
    return any(name in text and re.search(written, text, re.M) for text in texts)


def _text(expression: HclExpression | None) -> str | None:
    return expression.value if expression is not None and isinstance(expression.value, str) else None
