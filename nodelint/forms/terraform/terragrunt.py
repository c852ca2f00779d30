"""Read the inputs that Terragrunt passes to modules of the same repository, from each `terragrunt.hcl`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from nodelint.base.budget import BudgetSpent
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.forms.lib.made_nodes import mapping, scalar
from nodelint.forms.registry import TERRAFORM
from nodelint.forms.requests import FolderUse
from nodelint.forms.terraform.evaluate import EvaluationBudget, ExpressionEvaluator, NameScope
from nodelint.forms.terraform.file_blocks import TerraformBlock
from nodelint.forms.terraform.functions.table import call_function
from nodelint.forms.terraform.hclcheck import find_hcl_problem
from nodelint.forms.terraform.nodes import unknown
from nodelint.forms.terraform.parsed import parse_text
from nodelint.forms.terraform.template import Evaluator
from nodelint.model.finding import Span
from nodelint.text.limits import note_limit, note_more
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

if TYPE_CHECKING:
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.terraform.hcltree import HclExpression
    from nodelint.text.source import Source

NAME = "terragrunt.hcl"
STACK = "terragrunt.stack.hcl"
_MOST_FOLDERS = 20_000
"""The most folders of a repository that are searched."""
_MOST_CALLS = 400
"""The most Terragrunt files that call one module."""
_SOURCE = r'(?m)^[ \t]*source[ \t]*=[ \t]*"(?:\$\{get_(repo_root|terragrunt_dir)\(\)\}/+|(?=\.))([^"$?:\n]+)'
_DEEPEST = 10
"""The most nested files that include or read each other."""

Reader = Callable[[str], "Source | None"]


class TerragruntCall(NamedTuple):
    """A Terragrunt unit that calls a module: its file, its folder, and the inputs that it passes.

    `files` are the Terragrunt files that it reads, by absolute path, with its own. If Terragrunt cannot parse one of
    them, every input is unknown.
    """

    source: Source
    folder: str
    given: Mapping[str, Node]
    files: Mapping[str, Source]

    @property
    def is_unread(self) -> bool:
        """Return whether Terragrunt cannot parse one of its files."""
        return isinstance(self.given, _UnknownInputs)


class _UnknownInputs(Mapping[str, Node]):
    """The inputs of a unit that Terragrunt cannot read: it may pass any of them. `at` is the reason's place."""

    def __init__(self, at: Node) -> None:
        self._at = at

    def __getitem__(self, name: str) -> Node:
        return self._at

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def find_unit_problem(files: Iterable[Source]) -> tuple[Source, int, str] | None:
    """Return the first file of a unit that Terragrunt cannot parse, with the offset and the reason. None if it can
    parse all of them.
    """
    for source in files:
        found = find_hcl_problem(source.text)
        if found is not None:
            return source, *found
    return None


def terragrunt_calls(home: str, read: Reader, budget: EvaluationBudget) -> dict[str, list[TerragruntCall]]:
    """Return the calls in a repository by the folder of the module, in order of path. Raise `BudgetSpent`."""
    found: dict[str, list[TerragruntCall]] = {}
    beyond: dict[str, list[str]] = {}
    paths = sorted(_find_files(home))
    of_stacks = [unit for path in paths for unit in _list_units_of_stack(path, home, read, budget)]
    in_stacks = {unit.path for unit in of_stacks}
    alone = (_Unit(path, os.path.dirname(path), None) for path in paths if path.endswith(f"{os.sep}{NAME}"))
    for unit in (*(unit for unit in alone if unit.path not in in_stacks), *of_stacks):
        source = read(unit.path)
        if source is None:
            continue
        files = {**unit.stack, unit.path: source}
        file = TerragruntFile(source, os.path.dirname(unit.path), home, _note_files(read, files), budget)
        file.values_of_stack = unit.values
        module = file.module()
        if module is None:
            continue
        if len(found.setdefault(module, [])) < _MOST_CALLS:
            given: Mapping[str, Node] = file.inputs()
            problem = find_unit_problem(files.values())
            if problem is not None:
                broken, offset, _ = problem
                given = _UnknownInputs(Node(broken, offset, offset, "scalar", "plain", UNKNOWN))
            found[module].append(TerragruntCall(source, unit.folder, given, files))
        else:
            beyond.setdefault(module, []).append(unit.path)
    for paths in beyond.values():
        note_more(paths[0], _MOST_CALLS + len(paths), _MOST_CALLS, "Terragrunt units of one module")
    return found


class _Unit(NamedTuple):
    """A unit: the path of its file, its folder, the `values` of its stack, and the stack's file by absolute path."""

    path: str
    folder: str
    values: Node | None
    stack: Mapping[str, Source] = {}


def _list_units_of_stack(path: str, home: str, read: Reader, budget: EvaluationBudget) -> Iterator[_Unit]:
    """Yield the units of this repository that a stack makes, each in the folder into which Terragrunt writes it."""
    source = read(path) if path.endswith(STACK) else None
    if source is None:
        return
    stack = TerragruntFile(source, os.path.dirname(path), home, read, budget)
    for block in (block for block in stack.blocks if block.kind == "unit"):
        body = parse_text(source.text).body(block)
        template, name = stack.text_in(block, "source"), stack.text_in(block, "path") or ".".join(block.names)
        if template is not None and template.startswith((".", "/")):
            folder = os.path.normpath(os.path.join(stack.folder, template.replace("//", "/")))
            values = stack.evaluator.value(body["values"]) if "values" in body else None
            written = os.path.join(stack.folder, ".terragrunt-stack", name)
            yield _Unit(os.path.join(folder, NAME), os.path.normpath(written), values, {path: source})


def _note_files(read: Reader, files: dict[str, Source]) -> Reader:
    """Return `read` so that it notes in `files` the Terragrunt files that it reads."""

    def note(path: str) -> Source | None:
        source = read(path)
        if source is not None and path.endswith(TERRAFORM.paths.above):
            files[path] = source
        return source

    return note


def list_units(home: str, read: Reader, budget: EvaluationBudget) -> dict[str, list[str]]:
    """Return the folders of the units in a repository by the folder of their module. Raise `BudgetSpent`."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for path in _find_files(home) if path.endswith(f"{os.sep}{NAME}")):
        source, folder = read(path), os.path.dirname(path)
        module = TerragruntFile(source, folder, home, read, budget).module() if source is not None else None
        if module is not None:
            found.setdefault(module, []).append(folder)
    return found


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the modules that Terragrunt units apply."""
    try:
        calls = terragrunt_calls(files.top, files.read, EvaluationBudget())
    except BudgetSpent:
        return
    for module, units in calls.items():
        for unit in units:
            name = f"Terragrunt unit {os.path.relpath(unit.folder, files.top)}".replace(os.sep, "/")
            yield FolderUse(name, module, Span(unit.source, 0, 0))


def _find_files(home: str) -> Iterator[str]:
    left = _MOST_FOLDERS
    for folder, folders, names in gate.walk(home):
        left -= 1
        if left < 0:
            note_limit(home, _MOST_FOLDERS, "folders in this repository, which may hold Terragrunt units", 0)
            return
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        yield from (os.path.join(folder, name) for name in (NAME, STACK) if name in names)


class TerragruntFile:
    """A Terragrunt file, as it is read by the unit in `folder`."""

    def __init__(
        self,
        source: Source,
        folder: str,
        home: str,
        read: Reader,
        budget: EvaluationBudget,
        depth: int = 0,
    ) -> None:
        self.source = source
        self.folder = folder
        self.home = home
        self.read = read
        self.budget = budget
        self.depth = depth
        file = parse_text(source.text)
        self.blocks = file.blocks
        self._body = file.body
        self.outer = file.outer
        self.values_of_stack: Node | None = None
        """The `values` that a stack passes to the unit. None without a stack."""
        self._locals: dict[str, Node | None] = {}
        scope = NameScope(source, {}, self._lookup, self._call, folder)
        self.evaluator = Evaluator(scope, budget)

    def module(self) -> str | None:
        """Return the folder of the module that it calls. None if the module is remote, or if there is none."""
        for block in self.blocks:
            if block.kind == "terraform":
                found = self._text(self._body(block).get("source"))
                if found is None:
                    return None
                path = found.partition("?")[0].replace("//", "/")
                if not path.startswith((".", "/")):
                    return None
                return os.path.normpath(os.path.join(self.folder, path))
        found = next(filter(None, (file.module() for file in self._included())), None)
        return found or (self._module_as_written() if find_unit_problem([self.source]) is not None else None)

    def _module_as_written(self) -> str | None:
        """Return the folder of the module that the text of a file names that cannot be parsed. None if it names
        none.
        """
        found = re.search(_SOURCE, self.source.text)
        if found is None:
            return None
        folder = self.home if found[1] == "repo_root" else self.folder
        return os.path.normpath(os.path.join(folder, found[2].replace("//", "/")))

    @property
    def source_of_module(self) -> HclExpression | None:
        """Return the `source` of the module of this file. None if only an included file has one."""
        return next((self._body(block).get("source") for block in self.blocks if block.kind == "terraform"), None)

    def expressions(self) -> Iterator[HclExpression]:
        """Yield the values of the file's attributes, outside and inside of blocks."""
        yield from self.outer.values()
        for block in self.blocks:
            yield from self._body(block).values()

    def included(self) -> Iterator[HclExpression]:
        """Yield the paths of the files that it includes."""
        paths = (self._body(block).get("path") for block in self.blocks if block.kind == "include")
        yield from (path for path in paths if path is not None)

    def inputs(self) -> dict[str, Node]:
        """Return the inputs that this Terragrunt file passes to its module.

        Inputs of included files are merged below its own.
        """
        given: dict[str, Node] = {}
        for file in self._included():
            given.update(file.inputs())
        if "inputs" in self.outer:
            value = self.evaluator.value(self.outer["inputs"])
            given.update({entry.name: entry.value for entry in value.entries if entry.name is not None})
        return given

    def blocks_of(self, kind: str, name: str) -> Iterator[TerraformBlock]:
        """Yield the blocks of a kind with one label, such as `dependency "vpc"`."""
        yield from (block for block in self.blocks if block.kind == kind and block.names == (name,))

    def text_in(self, block: TerraformBlock, name: str) -> str | None:
        """Return the text of an attribute of a block. None if it is not known."""
        return self._text(self._body(block).get(name))

    def _text(self, expression: HclExpression | None) -> str | None:
        value = self.evaluator.value(expression).value if expression is not None else None
        return value if isinstance(value, str) else None

    def _included(self) -> Iterator[TerragruntFile]:
        for block in self.blocks:
            path = self._text(self._body(block).get("path")) if block.kind == "include" else None
            file = self._open(path, block.start) if path is not None else None
            if file is not None:
                yield file

    def _open(self, path: str, start: int) -> TerragruntFile | None:
        if self.depth >= _DEEPEST:
            note_limit(self.source.path, _DEEPEST, "files of Terragrunt that include or read each other")
            return None
        whole = os.path.normpath(os.path.join(self.folder, path))
        source = self.read(whole)
        if source is None:
            gate.notes_refusal(whole, path, self.source, start)
            return None
        made = TerragruntFile(source, self.folder, self.home, self.read, self.budget, self.depth + 1)
        made.values_of_stack = self.values_of_stack
        return made

    def _lookup(self, word: str, name: str) -> Node | None:
        if word == "include":
            return self._exposed(name)
        if word == "values":
            return self.values_of_stack.get(name) if self.values_of_stack is not None else None
        if word != "local":
            return None
        if name not in self._locals:
            self._locals[name] = None  # a value that depends on itself is unknown
            for block in self.blocks:
                found = self._body(block).get(name) if block.kind == "locals" else None
                if found is not None:
                    self._locals[name] = self.evaluator.value(found)
        return self._locals[name]

    def _exposed(self, name: str) -> Node | None:
        """Return the locals and inputs of the file that an `include` block with a label exposes. None without one."""
        for block in self.blocks_of("include", name):
            path = self.text_in(block, "path")
            file = self._open(path, block.start) if path is not None else None
            if file is not None:
                return file.values(Node(self.source, block.start, block.start, "scalar", "plain", UNKNOWN))
        return None

    def _call(self, evaluator: ExpressionEvaluator, name: str, args: list[Node], at: Node) -> Node:
        given = args[0].value if args else None
        if name == "get_terragrunt_dir":
            return scalar(at, self.folder)
        if name == "get_repo_root":
            return scalar(at, self.home)
        if name == "find_in_parent_folders" and (not args or isinstance(given, str)):
            found = self._above(given if isinstance(given, str) else NAME)
            return unknown(at) if found is None else scalar(at, found)
        if name == "dirname" and isinstance(given, str):
            return scalar(at, os.path.dirname(given))
        if name == "file" and isinstance(given, str):
            path = os.path.normpath(os.path.join(self.folder, given))
            source = self.read(path)
            if source is not None:
                return Node(source, 0, len(source.text), "scalar", "plain", source.text)
            gate.notes_refusal(path, given, at.source, at.start)
            return unknown(at)
        if name == "read_terragrunt_config" and isinstance(given, str):
            file = self._open(given, at.start)
            return unknown(at) if file is None else file.values(at)
        return call_function(name, args, at)

    def _above(self, name: str) -> str | None:
        folder = os.path.dirname(self.folder)
        while folder.startswith(self.home):
            path = os.path.join(folder, name)
            if gate.is_file(path):
                return path
            if folder == os.path.dirname(folder):
                break
            folder = os.path.dirname(folder)
        return None

    def values(self, at: Node) -> Node:
        """Return the locals and inputs of the unit, as another file reads them."""
        names = [name for block in self.blocks if block.kind == "locals" for name in self._body(block)]
        own = ((name, at, value) for name in names if (value := self._lookup("local", name)) is not None)
        inputs = ((name, at, value) for name, value in self.inputs().items())
        return mapping(at, [("locals", at, mapping(at, own)), ("inputs", at, mapping(at, inputs))])
