"""Evaluate the parts of Terraform that are known before an apply: variables, locals, manifests, module calls.

The value of a module's variable comes from its caller, else from `terraform.tfvars` and `*.auto.tfvars`, else from
its default. An empty default is meant to be replaced: it is unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from nodelint.files import safe_read
from nodelint.files.gate import gate
from nodelint.forms.terraform.block_instances import explain_no_instance, instances
from nodelint.forms.terraform.constraints import assumed, converted, without_gaps
from nodelint.forms.terraform.declared_values import DeclaredValues, read_declared_values
from nodelint.forms.terraform.evaluate import EvaluationBudget, NameScope
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.file_functions import FileFunctions
from nodelint.forms.terraform.files import may_name
from nodelint.forms.terraform.hcltree import HclExpression
from nodelint.forms.terraform.modules import KeptUnits, ModuleFiles
from nodelint.forms.terraform.nodes import empty_default, is_empty, unknown
from nodelint.forms.terraform.resources import MANIFESTS, manifest_resource
from nodelint.forms.terraform.template import Evaluator
from nodelint.forms.terraform.template_arguments import list_template_arguments
from nodelint.forms.terraform.terragrunt import TerragruntCall, list_units, terragrunt_calls
from nodelint.forms.terraform.variables import environment_files, read_variables
from nodelint.text.limits import note_limit
from nodelint.text.nodes import Node
from nodelint.text.source import Source

_MOST_CALLS = 400
"""The most calls of a module, or of a template, that are rendered."""
_MOST_COMPARED = 1_000
"""The most calls of a module that are compared with each other."""
_MOST_PARTS = 100
"""The most parts of an argument that are compared between calls."""
_DEEPEST = 10
"""The deepest nesting of module calls whose arguments are followed."""


class TerraformModule:
    """A Terraform module as one of its callers calls it, or as a root module."""

    def __init__(
        self,
        modules: Modules,
        folder: str,
        given: Mapping[str, Node] | None,
        root: str,
        label: str,
        own: Source | None = None,
        is_off: str = "",
    ) -> None:
        self.modules = modules
        self.own = own
        self.is_off = is_off
        """Why the call has no instance. Empty if it has one.

        Its objects are still rendered, because it is meant to be enabled.
        """
        self.needs_values = False
        """Whether it lacks a value for which variable files are there: it is applied with one of them alone."""
        self.unit: TerragruntCall | None = None
        self.folder = folder
        self.root = root
        self.label = label
        self.budget = modules.budget
        self.given = given
        self.functions = FileFunctions(modules, folder, root)
        self._values: dict[tuple[str, str], Node | None] = {}
        self._children: dict[str, TerraformModule | None] = {}

    def evaluator(self, source: Source, names: Mapping[str, Node] | None = None) -> Evaluator:
        """Return an evaluator for expressions of a file of the module."""
        return Evaluator(NameScope(source, names or {}, self.lookup, self.functions.call, self.root), self.budget)

    def lookup(self, word: str, name: str) -> Node | None:
        """Return the value of `var.x`, `local.x`, `path.x`, and of `module.x.y` as `x.y`. None if it is unknown."""
        if word == "path":
            return self._path(name)
        found = {"var": self._variable, "local": self._local, "module": self._output}.get(word)
        if found is None and word not in MANIFESTS:
            return None
        if (word, name) not in self._values:
            self._values[word, name] = None  # a value that depends on itself is unknown
            self._values[word, name] = found(name) if found is not None else self._resource(word, name)
        return self._values[word, name]

    def _resource(self, kind: str, name: str) -> Node | None:
        """Return the manifest of a resource. None if it has none."""
        for file in self.modules.files(self.folder):
            for block in file.blocks:
                if block.kind == "resource" and block.names == (kind, name):
                    return manifest_resource(file.attributes(block), self.evaluator(file.source))
        return None

    def _output(self, path: str) -> Node | None:
        """Return the value of a module's output, by a path such as `network.subnets`. None if it is not known."""
        call, _, name = path.partition(".")
        if not name:
            return None
        if call not in self._children:
            self._children[call] = self._child(call)
        child = self._children[call]
        for file in self.modules.files(child.folder) if child is not None else ():
            for block in file.blocks:
                if block.kind == "output" and block.names == (name,) and child is not None:
                    found = file.attributes(block).get("value")
                    return child.evaluator(file.source).value(found) if found is not None else None
        return None

    def _child(self, call: str) -> TerraformModule | None:
        for file in self.modules.files(self.folder):
            for block in file.blocks:
                given = file.attributes(block) if block.kind == "module" and block.names == (call,) else {}
                source = given.pop("source", None)
                path = source.value if source is not None else None
                if isinstance(path, str) and path.startswith(".") and not {"count", "for_each"} & given.keys():
                    args = {name: self.evaluator(file.source).value(value) for name, value in given.items()}
                    folder = os.path.normpath(os.path.join(self.folder, path))
                    gate.notes_refusal(folder, path, file.source, block.start)
                    return TerraformModule(self.modules, folder, args, self.root, self.label, self.own)
        return None

    def _path(self, name: str) -> Node | None:
        files = self.modules.files(self.folder)
        folder = {"module": self.folder, "root": self.root, "cwd": self.root}.get(name)
        if folder is None or not files:
            return None
        return Node(files[0].source, 0, 0, "scalar", "plain", folder)

    def find_missing_variables(self) -> Iterator[str]:
        """Yield the variables that have no default, and no value in the files that Terraform reads by itself."""
        declared, given = self._declared, self.modules.variable_files(self.folder)
        return (name for name in declared.variables if name not in declared.defaults and name not in given)

    @property
    def _declared(self) -> DeclaredValues:
        return self.modules.declared(self.folder)

    def _local(self, name: str) -> Node | None:
        found = self._declared.locals.get(name)
        return None if found is None else self.evaluator(found[0].source).value(found[1])

    def _variable(self, name: str) -> Node | None:
        declared = self._declared.defaults.get(name)
        value = self._given_value(name)
        if value is None:
            if declared is None:
                return self._assumed(name)
            value = self.evaluator(declared[0].source).value(declared[1])
            if self.given is None and self.modules.settled:
                value = unknown(value)
            if is_empty(value):
                return empty_default(self._typed(name, value))
            value = without_gaps(value)
        return self._typed(name, value)

    def _typed(self, name: str, value: Node) -> Node:
        """Return a value converted to the type of a variable."""
        found = self._declared.types.get(name)
        return value if found is None else converted(value, found[1], self.evaluator(found[0].source))

    def _given_value(self, name: str) -> Node | None:
        """Return the value that the caller passes for a variable, None if it passes none.

        For a root module, return its value from the variable file of this rendering, else from `terraform.tfvars` and
        `*.auto.tfvars`.
        """
        if self.given is not None:
            return self.given.get(name)
        own = self.modules.variables_of(self.own).get(name) if self.own is not None else None
        return own or self.modules.variable_files(self.folder).get(name)

    def _assumed(self, name: str) -> Node | None:
        """Return the value that a variable's type implies if nothing sets it. None if there is none."""
        found = self._declared.types.get(name)
        if found is None or self.modules.settled:
            return None
        value = assumed(found[1], self.evaluator(found[0].source))
        return None if value is None else without_gaps(value)


class Modules(ModuleFiles):
    """Terraform modules, each in one folder, read at first use.

    `sources` are files that are already parsed. With `settled`, the default of a variable is unknown if a caller may
    replace it, because no file calls the module.
    """

    def __init__(self, sources: Sequence[Source] | ModuleFiles = (), settled: bool = False) -> None:
        super().__init__(sources)
        self.settled = settled
        self._variants: dict[tuple[str, int], list[TerraformModule]] = {}
        self._given: dict[str, dict[str, Node]] = {}
        self._declared: dict[str, DeclaredValues] = {}
        self._unit_folders: dict[str, dict[str, list[str]]] = {}
        self.budget = EvaluationBudget()

    def variants(self, folder: str, depth: int = 0) -> list[TerraformModule]:
        """Return a module once for each of its callers.

        A module without callers is returned once, as a root module.
        """
        if (folder, depth) not in self._variants:
            self._variants[folder, depth] = [TerraformModule(self, folder, None, folder, "")]
            called = (
                list(islice(_unrepeated(self._called(folder, depth)), _MOST_CALLS + 1)) if depth < _DEEPEST else []
            )
            if len(called) > _MOST_CALLS:
                note_limit(folder, _MOST_CALLS, "calls of this module", 0)
            if depth >= _DEEPEST and any(self.list_calls(folder)):
                note_limit(folder, _DEEPEST, "modules that call each other down to this one", 0)
            self._variants[folder, depth] = called[:_MOST_CALLS] or self._roots(folder)
        return self._variants[folder, depth]

    def _roots(self, folder: str) -> list[TerraformModule]:
        """Return a root module once for each Terragrunt unit that calls it.

        Without units, return it by itself, and once for the variable files of each environment. If the command line
        names variable files, only these are used.
        """
        units = []
        for call in self.find_terragrunt_calls(folder):
            label = os.path.relpath(call.folder, folder).replace(os.sep, "/")
            units.append(TerraformModule(self, folder, call.given, call.folder, label))
            units[-1].unit = call
        if units:
            return units
        found = [TerraformModule(self, folder, None, folder, "")]
        declared = {*self.declared(folder).variables}
        for source in environment_files(folder, self.source):
            given = self.variables_of(source)
            shared = declared & given.keys()
            # Terraform only warns of variables that the module lacks. In an unnamed file elsewhere, half of the
            # variables must be the module's. A file that gives none of them yet is an environment as well.
            is_beside = os.path.dirname(os.path.abspath(source.path)) == os.path.abspath(folder)
            if is_beside or 2 * len(shared) >= len(given):
                label = os.path.relpath(os.path.abspath(source.path), folder).replace(os.sep, "/")
                found.append(TerraformModule(self, folder, None, folder, label, source))
        found[0].needs_values = len(found) > 1 and any(found[0].find_missing_variables())
        named = [module for module in found if module.own is not None and module.own.is_named]
        return named or found

    def declared(self, folder: str) -> DeclaredValues:
        """Return the locals and variables of the module in a folder."""
        if folder not in self._declared:
            self._declared[folder] = read_declared_values(self.files(folder))
        return self._declared[folder]

    def find_terragrunt_calls(self, folder: str) -> Sequence[TerragruntCall]:
        """Return the calls of a module by Terragrunt in the repository around it."""
        home = safe_read.find_top(folder)
        if home is None:
            return ()
        if home not in self._units:
            paths: set[str] = set()

            def read(path: str) -> Source | None:
                paths.add(path)
                return self.source(path)

            self._units[home] = KeptUnits(terragrunt_calls(home, read, self.budget), paths)
        return self._units[home].calls.get(folder, ())

    def list_units(self, folder: str) -> Sequence[str]:
        """Return the folders of the Terragrunt units that call a module. Their inputs are not read."""
        home = safe_read.find_top(folder)
        if home is None:
            return ()
        if home in self._units:
            return [call.folder for call in self._units[home].calls.get(folder, ())]
        if home not in self._unit_folders:
            self._unit_folders[home] = list_units(home, self.source, self.budget)
        return self._unit_folders[home].get(folder, ())

    def variables_of(self, source: Source) -> dict[str, Node]:
        """Return the values of variables in a variable file, by name."""
        if source.path not in self._given:
            self._given[source.path] = dict(read_variables(source, self.budget))
        return self._given[source.path]

    def _called(self, folder: str, depth: int) -> Iterator[TerraformModule]:
        for file, block in self.list_calls(folder):
            given = file.attributes(block)
            del given["source"]
            yield from self._instances(file, block, given, folder, depth)

    def list_calls(self, folder: str) -> Iterator[tuple[TerraformFile, TerraformBlock]]:
        """Yield the blocks that call a module."""
        for path in self.callers(folder):
            around = os.path.dirname(path)
            for called, file, block in self.local_calls(path) if around != folder else ():
                if called == folder:
                    yield file, block

    def _instances(
        self, file: TerraformFile, block: TerraformBlock, given: dict[str, HclExpression], folder: str, depth: int
    ) -> Iterator[TerraformModule]:
        home = os.path.dirname(os.path.abspath(file.source.path))
        around = os.path.relpath(home, folder).replace(os.sep, "/")
        name = f"module.{'.'.join(block.names)}"
        for caller in self.variants(home, depth + 1):
            evaluator = caller.evaluator(file.source)
            own = f", {os.path.relpath(caller.own.path, caller.root)}" if caller.own is not None else ""
            is_off = caller.is_off or explain_no_instance(given, evaluator)
            for names in instances(given, evaluator):
                inside = evaluator.inside(names)
                args = {name: inside.value(value) for name, value in given.items()}
                label = f"{_name_outer(caller.label)}{name}{_name_instance(names)} of {around}{own}"
                made = TerraformModule(self, folder, args, caller.root, label, caller.own, is_off)
                made.needs_values, made.unit = caller.needs_values, caller.unit
                yield made

    def variable_files(self, folder: str) -> dict[str, Node]:
        """Return the variable values, by name, from the files of a folder that Terraform reads without `-var-file`.

        These are terraform.tfvars and `*.auto.tfvars`.
        """
        if folder not in self._given:
            names = sorted({*gate.names(folder), *map(os.path.basename, self._handed_in.get(folder, ()))})
            auto = [name for name in names if name.endswith((".auto.tfvars", ".auto.tfvars.json"))]
            found: dict[str, Node] = {}
            for name in ("terraform.tfvars", "terraform.tfvars.json", *auto):
                source = self.source(os.path.join(folder, name)) if name in names else None
                if source is not None:
                    found.update(read_variables(source, self.budget))
            self._given[folder] = found
        return self._given[folder]

    def template_calls(self, path: str) -> list[tuple[Evaluator, TerraformModule]]:
        """Return an evaluator with the arguments of each `templatefile` call for a file, and the call's module."""
        whole = os.path.abspath(path)
        source, name = self.source(whole), os.path.basename(path)
        if source is None:
            return []
        found: list[tuple[Evaluator, TerraformModule]] = []
        for near in self.near(os.path.dirname(whole)):
            caller = self.source(near)
            if caller is None or not may_name(caller.text, name):
                continue
            file = self.file(near)
            assert file is not None
            for module in self.variants(os.path.dirname(near)):
                module.budget = self.budget
                functions = module.functions
                functions.renders = []
                given = [*list_template_arguments(file, module.evaluator(file.source), module.folder, whole)]
                given += [values for rendered, values in functions.renders if rendered == whole]
                functions.renders = None
                for values in given:
                    names = {entry.name: entry.value for entry in values.entries if entry.name is not None}
                    if len(found) >= _MOST_CALLS:
                        note_limit(path, _MOST_CALLS, "calls of this template")
                        return found
                    found.append((functions.template(source, names, self.budget), module))
        return found


def _name_instance(names: Mapping[str, Node]) -> str:
    """Return the key of an instance of a call with `for_each` in brackets. Empty if it has none that is known."""
    instance = names.get("each")
    key = instance.get("key") if instance is not None else None
    text = key.value if key is not None else None
    return f'["{text}"]' if isinstance(text, str) and re.fullmatch(r"[\w.:/-]+", text) else ""


def _name_outer(label: str) -> str:
    """Return the beginning of an address inside of an instance of a call. Empty without such an instance."""
    outer, bracket, _ = label.partition(" of ")[0].rpartition("]")
    return f"{outer}]." if bracket else ""


def _unrepeated(called: Iterator[TerraformModule]) -> Iterator[TerraformModule]:
    """Yield the calls of a module without those with the same arguments as another one.

    If modules call each other several times, the number of ways multiplies. After many comparisons the remaining
    calls are yielded unchanged, and `_MOST_CALLS` limits them.
    """
    seen: set[object] = set()
    left = _MOST_COMPARED
    for module in called:
        mark = _mark_call(module) if left > 0 else None
        left -= 1
        if mark is None or mark not in seen:
            seen.add(mark)
            yield module


def _mark_call(module: TerraformModule) -> object:
    """Return a hashable form of a call's arguments with their places. None if they are too large to compare."""
    marks: list[object] = [module.root, module.label, module.is_off, id(module.own)]
    for name, value in (module.given or {}).items():
        parts = list(islice(value.walk(), _MOST_PARTS + 1))
        if len(parts) > _MOST_PARTS or any(type(part) is not Node for part in parts):
            return None
        marks.append(name)
        marks += [(id(p.source), p.start, p.end, p.kind, p.style, type(p.value), p.value) for p in parts]
    return tuple(marks)
