"""Follow a Terraform expression through locals, variables and templates to the block to which it refers."""

from __future__ import annotations

import os
import re
from functools import cached_property

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.safe_read import find_top
from nodelint.forms.terraform.karpenter_roots import TerraformRoot, find_karpenter_roots
from nodelint.forms.terraform.modules import ModuleFiles
from nodelint.forms.terraform.terraform_blocks import (
    ENDINGS,
    BlockText,
    called_folder,
    find_blocks,
    find_locals,
    find_outputs,
    own_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from nodelint.forms.terraform.argument_values import ArgumentValue
    from nodelint.forms.terraform.module_folder import ModuleFolder
    from nodelint.forms.terraform.tagging import TagValue
    from nodelint.forms.terraform.values import Modules
    from nodelint.text import Source

__all__ = ["ENDINGS", "BlockReference", "BlockText", "TerraformBlocks", "find_arguments", "folder_of", "may_be_text"]

STEPS = 5
"""The most references that are followed from an expression to a resource."""

_REFERENCE = re.compile(r"(?:data\.)?([A-Za-z_][\w-]*)\.([\w-]+)(?:\[[^\][]*\])?((?:\.[\w-]++(?:\[[^\][]*\])?)*+)")
_WRAPPED = re.compile(r'"?\$\{([^{}"]++)\}"?|(.+)', re.DOTALL)
_ARGUMENT = r'(?m)(?:^|[{{,(])[ \t]*+"?{}"?[ \t]*+[=:][ \t]*+((?:\$\{{[^{{}}\n]*+\}}|[^\n,{{}}])*+)'
_FIRST_OF = re.compile(r'(?:try|one|nonsensitive)\(\s*([\w.*\[\]-]+)\s*(?:,\s*(?:""|null|\[\])\s*)?\)')
"""A call of a function whose result is its first argument, or empty."""
_NAME = r"(?:local|var)\.[\w-]+|(?:module\.[\w-]+\.cluster|aws_eks_cluster\.[\w-]+(?:\[0\])?)[._](?:name|id)"
"""A reference that often occurs in names: a local, a variable, or the name of a cluster."""
_PIECE = re.compile(rf"\$\{{\s*({_NAME})\s*\}}")
_VALUE_OF_CHART = re.compile(r"\{\{-?\s*\.Values\.([\w.]+)(?:\s*\|\s*(?:quote|trim))?\s*-?\}\}")


_LEVELS_ABOVE = 2
"""The number of folders above a template in which its calls are looked for: `modules/pools/templates`."""


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

    It reads the files of a run, the other files of their folders, and all files of the root modules with Karpenter.

    - `roots`: these root modules.
    - `files_of_roots`: their files, also those that do not name Karpenter.
    """

    def __init__(self, files: Sequence[Source]) -> None:
        found = {os.path.abspath(file.path): file for file in files if file.path.endswith(ENDINGS)}
        self.module_files = ModuleFiles(files)
        self.roots = find_karpenter_roots(found.values(), self.module_files)
        self._roots_of: dict[str, list[TerraformRoot]] = {}
        for root in self.roots:
            for folder in root.folders:
                self._roots_of.setdefault(folder, []).append(root)
        for folder in dict.fromkeys([*map(os.path.dirname, found), *self._roots_of]):
            for file in self.module_files.read_texts(folder):
                found.setdefault(os.path.abspath(file.path), file)
        self._folders: dict[str, ModuleFolder] = {}
        self._evaluated: dict[bool, Modules] = {}
        self._tag_values: dict[tuple[str, bool], list[TagValue]] = {}
        self.files = [file for place, file in sorted(found.items()) if place.endswith(ENDINGS)]
        self.files_of_roots = [file for file in self.files if folder_of(file.path) in self._roots_of]
        self.blocks: list[BlockText] = [block for file in self.files for block in find_blocks(file)]
        self._by_path = {file.path: find_blocks(file) for file in self.files}
        self._by_folder: dict[str, list[BlockText]] = {}
        self._files_in: dict[str, list[Source]] = {}
        self._by_address: dict[tuple[str, str], BlockText] = {}
        self._kept: dict[object, Any] = {}
        for file in self.files:
            folder = folder_of(file.path)
            self._files_in.setdefault(folder, []).append(file)
            self._by_folder.setdefault(folder, []).extend(find_blocks(file))
            self._by_address.update(((folder, block.address), block) for block in find_blocks(file))

    def references_of(self, path: str) -> ModuleFolder | None:
        """Return the Terraform folder of a file. None if the file does not belong to a module."""
        folder = folder_of(path)
        if folder not in self._folders:
            from nodelint.forms.terraform.module_folder import ModuleFolder

            self._folders[folder] = ModuleFolder(folder, self.module_files)
        return self._folders[folder] if path.endswith((".tf", ".tofu")) else None

    def callers_of(self, template: str) -> Iterator[tuple[str, ModuleFolder]]:
        """Yield the files in and above the folder of a template that call it, each with its module."""
        folder, name = folder_of(template), os.path.basename(template)
        for _ in range(_LEVELS_ABOVE + 1):
            for file in self.module_files.read_texts(folder):
                module = self.references_of(file.path) if "templatefile" in file.text and name in file.text else None
                if module is not None:
                    yield file.path, module
            if folder == find_top(folder) or find_top(folder) is None:
                return
            folder = os.path.dirname(folder)

    def tag_values(self, key: str, settled: bool) -> list[TagValue]:
        """Return the values that the files set for a tag.

        With `settled`, defaults that a run may replace are left out.
        """
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
        """Return the values of a block's argument, one for each call of its module and for each instance."""
        from nodelint.forms.terraform.argument_values import list_argument_values

        return list_argument_values(block.source.path, block.address, name, self._modules(settled=False))

    def provider_values(self, path: str, provider: str, name: str) -> list[tuple[str, bool]]:
        """Return the texts that an argument of a provider in a file has, each with whether it is a default that a run
        may replace.
        """
        from nodelint.forms.terraform.argument_values import list_argument_values

        texts: list[set[str]] = []
        for settled in (True, False):
            found = list_argument_values(path, f"provider.{provider}", name, self._modules(settled))
            texts.append({given.value.value for given in found if isinstance(given.value.value, str)})
        return [(text, text not in texts[0]) for text in sorted(set().union(*texts))]

    def _modules(self, settled: bool) -> Modules:
        if settled not in self._evaluated:
            from nodelint.forms.terraform.values import Modules

            self._evaluated[settled] = Modules(self.module_files, settled)
        return self._evaluated[settled]

    def is_of_root(self, path: str) -> bool:
        """Return whether a file belongs to a root module with Karpenter, or to a local module that one calls."""
        return folder_of(path) in self._roots_of

    def may_share_root(self, path: str, other: str) -> bool:
        """Return whether two files may be of the same root module, with the local modules that it calls."""
        folder, other_folder = folder_of(path), folder_of(other)
        roots, other_roots = self._roots_of.get(folder, ()), self._roots_of.get(other_folder, ())
        return folder == other_folder or not (roots or other_roots) or any(root in other_roots for root in roots)

    def list_beside_in_root(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of the root modules with Karpenter to which a file belongs, with their local modules.

        If it belongs to none, return the blocks of its folder.
        """
        folder = folder_of(path)
        found: Sequence[BlockText] = self.once(("root", folder), lambda: self._list_in_roots(folder))
        return found

    def _list_in_roots(self, folder: str) -> Sequence[BlockText]:
        folders = {other for root in self._roots_of.get(folder, ()) for other in root.folders} or {folder}
        return [block for other in sorted(folders) for block in self._by_folder.get(other, ())]

    def list_roots_of(self, path: str) -> Sequence[TerraformRoot]:
        """Return the root modules with Karpenter to which a file belongs."""
        return self._roots_of.get(folder_of(path), ())

    def find_in(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of the file at `path`."""
        return self._by_path.get(path, ())

    def find_beside(self, path: str) -> Sequence[BlockText]:
        """Return the blocks of all files in the folder of a file."""
        return self._by_folder.get(folder_of(path), ())

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        """Return the result of `make`, cached for a key."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def calls_of(self, folder: str) -> Sequence[BlockText]:
        """Return the blocks that call the module in a folder of the repository."""
        return self._calls_of.get(folder, ())

    def folders_below(self, folder: str) -> set[str]:
        """Return a folder and the folders of the local modules that it calls, directly or through others."""
        found, waiting = {folder}, [folder]
        while waiting:
            for block in self._by_folder.get(waiting.pop(), ()):
                called = called_folder(block)
                if called is not None and called not in found:
                    found.add(called)
                    waiting.append(called)
        return found

    def find(self, reference: BlockReference) -> BlockText | None:
        """Return the block to which a reference leads. None if no file has it."""
        return self._by_address.get((reference.folder, reference.address))

    def trace(self, expression: str, path: str, steps: int = STEPS) -> BlockReference | None:
        """Return the block to which an expression in a file leads. None if it is not one plain reference."""
        found: BlockReference | None = self.once(
            (expression, path, steps), lambda: self._trace(expression, path, steps)
        )
        return found

    def _trace(self, expression: str, path: str, steps: int) -> BlockReference | None:
        folder = folder_of(path)
        of_chart = _VALUE_OF_CHART.fullmatch(expression.strip().strip("\"'"))
        if of_chart is not None:
            return self._trace_all(self._given_to_chart(of_chart[1], folder), steps)
        wrapped = _WRAPPED.fullmatch(expression.strip())
        written = ((wrapped[1] or wrapped[2]) if wrapped is not None else "").strip().rstrip(", \t\r\n")
        called = _FIRST_OF.fullmatch(written)
        written = called[1].strip().replace("[*]", "") if called is not None else written
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
        attributes = tuple(re.findall(r"\.([\w-]+)", re.sub(r"\[[^\][]*\]", "", rest)))
        given = self._of_outputs(address, attributes, folder) if kind == "module" else None
        if given is not None:
            return self.trace(*given, steps - 1) if steps > 0 else None
        return BlockReference(address, attributes, folder)

    def literal(self, expression: str, path: str, steps: int = STEPS) -> str | None:
        """Return the text to which an expression in a file leads. None if it is not one plain text."""
        written = expression.strip().rstrip(",").strip()
        if written.startswith('"') and _PIECE.search(written) is not None and steps > 0:
            written = self.fill(written, path, steps)
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

    def fill(self, expression: str, path: str, steps: int = STEPS) -> str:
        """Return an expression as a quoted string in which known references are replaced by their values.

        If it is no string, return it as it is written.
        """
        written = expression.strip().rstrip(",").strip()
        if steps <= 0:
            return written
        if not written.startswith('"'):
            given = self._given_to_name(written, path)
            filled = {self.fill(value, place, steps - 1) for value, place in given}
            text = filled.pop() if len(filled) == 1 else ""
            return text if text.startswith('"') else written

        def put(piece: re.Match[str]) -> str:
            text = self.fill(piece[1], path, steps - 1)
            return text[1:-1] if text.startswith('"') and '"' not in text[1:-1] else piece[0]

        return _PIECE.sub(put, written)

    def _given_to_name(self, written: str, path: str) -> list[tuple[str, str]]:
        """Return the possible values of a reference to a name, each as (expression, path of its file)."""
        if re.fullmatch(_NAME, written) is None:
            return []
        folder = folder_of(path)
        kind, name = re.split(r"[.\[]", written)[:2]
        if kind in ("local", "var"):
            return self._of_locals(name, folder) if kind == "local" else self._of_calls(name, folder)
        address = f"{kind}.{name}"
        made = self._of_outputs(address, (written.rpartition(".")[2],), folder) if kind == "module" else None
        block = self._by_address.get((folder, address)) if made is None else None
        names = () if block is None else [own_arguments(block.text).get(key) for key in ("cluster_name", "name")]
        return [made] if made is not None else [(text, path) for text in names if text][:1]

    def flag(self, expression: str, path: str, steps: int = STEPS) -> bool | None:
        """Return the boolean value of an expression in a file. None if it is not known."""
        written = expression.strip().rstrip(",").strip()
        if written in ("true", "false"):
            return written == "true"
        given = self._given_to_name(written, path) if steps > 0 else []
        values = {self.flag(value, place, steps - 1) for value, place in given}
        return values.pop() if len(values) == 1 else None

    def _of_outputs(self, address: str, attributes: Sequence[str], folder: str) -> tuple[str, str] | None:
        """Return the expression of a local module's output, and the path of its file. None if there is none."""
        call = self._by_address.get((folder, address))
        called = called_folder(call) if call is not None and len(attributes) == 1 else None
        if called is None:
            return None
        outputs = self._outputs_in(called)
        return next(((value, path) for name, value, path in outputs if name == attributes[0]), None)

    def list_outputs_of_folder(self, path: str) -> Sequence[tuple[str, str, str]]:
        """Return (name, expression, path) for each output in the folder of a file."""
        return self._outputs_in(folder_of(path))

    def _outputs_in(self, folder: str) -> list[tuple[str, str, str]]:
        return [
            (name, value, file.path)
            for file in self._files_in.get(folder, ())
            for name, body in find_outputs(file)
            if (value := own_arguments(body).get("value"))
        ]

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
        """Return the calls of modules of the repository, by the folder of the module."""
        found: dict[str, list[BlockText]] = {}
        for block in self.blocks:
            folder = called_folder(block)
            if folder is not None:
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
