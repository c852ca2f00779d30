"""Find variable files that no root module is rendered with, and that may give values to its objects.

Terraform reads such a file only if a command names it. The file may be anywhere in the repository, and may hold
variables of other modules as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, partial

from nodelint.files.gate import gate
from nodelint.forms.input_text import InputText
from nodelint.forms.lib.unread_inputs import in_one_line
from nodelint.forms.terraform.command_variables import CommandVariables
from nodelint.forms.terraform.fill import ENDS
from nodelint.forms.terraform.inputs import TerraformInputs
from nodelint.forms.terraform.nodes import unknown
from nodelint.forms.terraform.variables import list_variable_files
from nodelint.model.finding import Span, span_of
from nodelint.model.manifest import NodePool, Object
from nodelint.text import Node, Source

_VARIABLE = re.compile(r"\bvar\s*\.\s*([A-Za-z_][\w-]*)")
_REPETITIONS = ("count", "for_each")


class VariablesElsewhere:
    """The files of variables of one side of a plan with which no root module is rendered. `top` is its folder."""

    def __init__(self, sources: Sequence[Source], top: str) -> None:
        self._inputs = TerraformInputs(sources)
        self._modules = self._inputs.modules
        self._top = os.path.abspath(top)
        self._is_named = any(source.is_named for source in sources)
        self._commands = CommandVariables(self._top)
        self._applied: dict[str, set[str]] = {}
        self._used: dict[tuple[str, int, int], dict[str, set[str]]] = {}

    @cached_property
    def _files(self) -> list[Source]:
        """Return the files of variables of the repository; none if the user names the ones that count."""
        paths = () if self._is_named else list_variable_files(self._top)
        return [source for path in paths if (source := self._modules.source(path)) is not None]

    def list_values(self, obj: Object) -> Iterator[InputText]:
        """Yield the values in variable files that no rendering uses, for variables that decide about an object, or
        about one of its values that Karpenter compares for drift.
        """
        for root, names in self._list_used(obj).items():
            if not self._is_named:
                yield from self._commands.list_values(names, partial(self._may_give, names))
            for source in self._files:
                values = self._modules.variables_of(source)
                shared = sorted(names & values.keys())
                if not shared or self._is_applied(root, source):
                    continue
                place = os.path.relpath(os.path.abspath(source.path), self._top).replace(os.sep, "/")
                for name in shared:
                    if not self._is_for_another_root(root, source, name, values):
                        yield InputText(name, in_one_line(values[name]), span_of(values[name]), place)

    def _may_give(self, names: Set[str], path: str) -> bool:
        """Return whether the variable file that a command names may give one of some variables."""
        written = re.sub(r"^(?:\.{1,2}/|\$\{?[\w.-]+\}?/|\$\([^)]*\)/)+", "", path)
        named = [source for source in self._files if f"/{os.path.abspath(source.path)}".endswith(f"/{written}")]
        return not named or any(names & self._modules.variables_of(source).keys() for source in named)

    def _is_applied(self, root: str, source: Source) -> bool:
        """Return whether a root module is rendered with a file."""
        if root not in self._applied:
            made = self._modules.variants(root)
            self._applied[root] = {os.path.abspath(module.own.path) for module in made if module.own is not None}
        path = os.path.abspath(source.path)
        return path in self._applied[root] or os.path.dirname(path) == root

    def _is_for_another_root(self, root: str, source: Source, name: str, values: Mapping[str, Node]) -> bool:
        """Return whether a file plainly gives a variable to another root module.

        It stands in or below the folder of one that declares the variable. Or it stands in no such folder, and
        another one declares all its variables while this one does not.
        """
        around = os.path.dirname(os.path.abspath(source.path))
        while around != root:
            if around in self._roots and name in self._declared(around):
                return True
            if around == self._top or not around.startswith(self._top):
                break
            around = os.path.dirname(around)
        if around == root or not values.keys() - self._declared(root):
            return False
        return any(not values.keys() - self._declared(other) for other in self._roots if other != root)

    @cached_property
    def _roots(self) -> set[str]:
        """Return the folders of all modules that no other one calls."""
        folders = {around for around, _, names in gate.walk(self._top) if any(n.endswith(ENDS) for n in names)}
        return {folder for folder in folders if not any(self._modules.list_calls(folder))}

    def _declared(self, folder: str) -> set[str]:
        blocks = (block for file in self._modules.files(folder) for block in file.blocks)
        return {block.names[0] for block in blocks if block.kind == "variable" and block.names}

    # -- the variables of an object

    def _list_used(self, obj: Object) -> dict[str, set[str]]:
        """Return, by root module, the variables on which an object depends with values that Karpenter compares for
        drift.
        """
        built = obj.source.built
        written = (built.written_object(obj) if built is not None else None) or obj
        spec = written.node.get("spec")
        template = spec.get("template") if isinstance(obj, NodePool) and spec is not None else None
        parts = [written.name_node, template or spec or written.node]
        key = (written.source.path, parts[-1].start, parts[-1].end)
        if key not in self._used:
            self._used[key] = self._follow(parts)
        return self._used[key]

    def _follow(self, parts: Sequence[Node]) -> dict[str, set[str]]:
        pending = [text for part in parts for text in self._inputs.list_inputs(unknown(part))]
        seen: set[tuple[str, int]] = set()
        used: dict[str, set[str]] = {}
        while pending:
            found = pending.pop()
            path = os.path.abspath(found.at.source.path)
            if not path.endswith(ENDS):
                continue
            used.setdefault(os.path.dirname(path), set()).update(_VARIABLE.findall(f"{found.name} {found.text}"))
            pending += self._list_repetitions(path, found.at.start, seen)
        return {folder: names for folder, names in used.items() if names and folder in self._roots}

    def _list_repetitions(self, path: str, offset: int, seen: set[tuple[str, int]]) -> Iterator[InputText]:
        """Yield the inputs that decide how often the block at a place is there, and the calls of its module."""
        file = self._modules.file(path)
        if file is None:
            return
        blocks = [(file, block) for block in file.blocks if block.start <= offset < block.end]
        blocks += self._modules.list_calls(os.path.dirname(path))
        for around, block in blocks:
            key = (around.source.path, block.start)
            if key not in seen and block.kind in ("resource", "module"):
                seen.add(key)
                given = around.attributes(block)
                yield InputText("", "", Span(around.source, block.start, block.start))
                yield from self._inputs.list_expression_inputs(
                    around, block, [given[name] for name in _REPETITIONS if name in given]
                )
