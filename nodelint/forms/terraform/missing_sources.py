"""Find the modules and files of the repository that Terraform and Terragrunt read and that do not exist.

Terraform stops there, and applies nothing of the root module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from nodelint.base.budget import BudgetSpent
from nodelint.files.gate import gate
from nodelint.forms.lib.missing_sources import PLAIN_PATH, MissingSource, RepositoryNames
from nodelint.forms.terraform.block_instances import explain_no_instance
from nodelint.forms.terraform.file_blocks import TerraformBlock, TerraformFile
from nodelint.forms.terraform.fill import ENDS
from nodelint.forms.terraform.hcltree import HclExpression, list_parts
from nodelint.forms.terraform.switched_off import list_paths_read
from nodelint.forms.terraform.template import Evaluator
from nodelint.forms.terraform.terragrunt import NAME, TerragruntFile
from nodelint.forms.terraform.values import Modules
from nodelint.text import Node, Source

STOPS = "Terraform stops there, and applies nothing of the root module"
_STOPS_UNIT = "Terragrunt stops there, and applies nothing of the unit"
_READS = {
    "file": (1,),
    "templatefile": (2,),
    "filebase64": (1,),
    "read_terragrunt_config": (1,),
    "find_in_parent_folders": (1,),
}
"""Functions that read a file, and how many arguments they have if they need it."""
_FILES = (".hcl", ".yaml", ".yml", ".json", ".tftpl", ".tpl")
_TRIES = frozenset(("try", "can", "fileexists"))
"""Functions with which an expression survives a missing file."""
_MAY_MISS = re.compile(
    r"\"\.{1,2}/|\bfile(?:base64)?\(|\btemplatefile\(|\bread_terragrunt_config\(|\binclude\b|\bsource\b"
)
_NAMED = re.compile(
    r"\b(?:source|chart|path)\"?\s{0,20}[=:]\s{0,20}\"(?:\$\{path\.\w{1,9}\}/)?(\.{0,2}/?[^\"$:\n]{1,200})\""
    r"|\b(?:file\w{0,9}|templatefile|read_terragrunt_config)\(\s{0,20}\"(?:\$\{path\.\w{1,9}\}/)?([^\"$\n]{1,200})\""
)
"""A path that a file names as a literal: a module, a chart, an included file, or one that a function reads."""
_DEEPEST = 10
_MOST_MODULES = 200


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the modules and files that a file with a relation to Karpenter names and that do not exist.

    A file that is read is certain to be missing if one with a similar name exists: a pipeline may write any other.
    """
    if not source.path.endswith((*ENDS, NAME)) or not _names_missing_path(source, of_any):
        return
    modules = Modules(sources)
    tree = RepositoryNames(source, sources, of_any)
    path = os.path.abspath(source.path)
    if source.path.endswith(NAME):
        yield from _list_missing_of_unit(_read_unit(source, modules, tree), modules, tree)
        return
    file = modules.file(path)
    for block, missing in _list_missing_in(file, modules, tree) if file is not None else ():
        if tree.concerns(source.text[block.start : block.end]) or tree.holds_karpenter(_find_near(missing, tree)):
            yield missing


def _names_missing_path(source: Source, of_any: bool) -> bool:
    """Return whether a file names a path as a literal that does not exist, before other files are read."""
    if of_any:
        return _MAY_MISS.search(source.text) is not None
    folder = os.path.dirname(os.path.abspath(source.path))
    paths = (found[1] or found[2] for found in _NAMED.finditer(source.text))
    return any(not gate.exists(os.path.join(folder, path.partition("?")[0])) for path in paths)


def _find_near(missing: MissingSource, tree: RepositoryNames) -> str:
    """Return the folder of the existing path that a missing one probably means, or the folder of the file."""
    written = os.path.relpath(_whole(missing), tree.top)
    near = tree.suggest(written) or os.path.dirname(written)
    return near if gate.is_folder(os.path.join(tree.top, near)) else os.path.dirname(near)


def _whole(missing: MissingSource) -> str:
    return os.path.join(os.path.dirname(missing.by[0]), str(missing.node.value))


def list_missing_below(roots: Sequence[str], sources: Sequence[Source]) -> Iterator[tuple[str, MissingSource]]:
    """Yield (root, missing) for the modules and files that do not exist, and that a root module or unit, or a module
    that it calls, names.
    """
    modules = Modules(sources)
    for root in roots:
        yield from ((root, missing) for missing in _list_missing_below(root, modules))


def _list_missing_below(root: str, modules: Modules) -> Iterator[MissingSource]:
    path = os.path.join(root, NAME)
    source = modules.source(path)
    pending, known = [(root, 0)], {root}
    if source is not None:
        tree = RepositoryNames(source, ())
        unit = _read_unit(source, modules, tree)
        yield from _list_missing_of_unit(unit, modules, tree)
        pending += [(folder, 0) for folder in [unit.module()] if folder is not None]
    while pending:
        around, depth = pending.pop()
        for file in modules.files(around):
            tree = RepositoryNames(file.source, ())
            yield from (missing for _, missing in _list_missing_in(file, modules, tree))
            for called, _, _ in modules.local_calls(os.path.abspath(file.source.path)):
                if called not in known and depth < _DEEPEST and len(known) < _MOST_MODULES:
                    known.add(called)
                    pending.append((called, depth + 1))


def _list_missing_in(
    file: TerraformFile, modules: Modules, tree: RepositoryNames
) -> Iterator[tuple[TerraformBlock, MissingSource]]:
    if not _MAY_MISS.search(file.source.text):
        return
    path = os.path.abspath(file.source.path)
    for called, _, block in modules.local_calls(path):
        at, name = file.attributes(block)["source"], f"module {'.'.join(block.names)}"
        if not modules.files(called) and gate.refusal(called) is None and PLAIN_PATH.fullmatch(str(at.value)):
            yield block, _miss(_node_of(file.source, at, str(at.value)), called, tree, name)
    for block, _, given in file.chart_releases():
        node = _find_missing_chart(file, block, given["chart"], modules)
        if node is not None:
            whole = os.path.normpath(os.path.join(os.path.dirname(path), str(node.value)))
            yield block, _miss(node, whole, tree, ".".join(block.names))
    for block in file.blocks:
        if _MAY_MISS.search(file.source.text, block.start, block.end):
            yield from ((block, missing) for missing in _list_missing_files(file, block, modules, tree))


def _find_missing_chart(
    file: TerraformFile, block: TerraformBlock, chart: HclExpression, modules: Modules
) -> Node | None:
    """Return the path of the local chart of a release that does not exist in an instance of its module."""
    folder = os.path.dirname(os.path.abspath(file.source.path))
    try:
        for module in modules.variants(folder):
            evaluator = module.evaluator(file.source)
            written = evaluator.value(chart).value
            if not isinstance(written, str) or not written.startswith((".", "/")):
                continue
            whole = os.path.normpath(os.path.join(folder, written))
            is_off = module.is_off or explain_no_instance(file.attributes(block), evaluator)
            if not is_off and _is_missing(whole):
                return _node_of(file.source, chart, os.path.relpath(whole, folder).replace(os.sep, "/"))
    except BudgetSpent:
        pass
    return None


def _list_missing_files(
    file: TerraformFile, block: TerraformBlock, modules: Modules, tree: RepositoryNames
) -> Iterator[MissingSource]:
    """Yield the files that functions in a block read and that do not exist in an instance of its module."""
    values = [attribute.value for attribute in file.every_attribute(block)]
    folder = os.path.dirname(os.path.abspath(file.source.path))
    name = ".".join(block.names) or block.kind
    try:
        for module in modules.variants(folder):
            evaluator = module.evaluator(file.source)
            if module.is_off or explain_no_instance(file.attributes(block), evaluator):
                continue
            for call in (call for value in values for call in _list_reads(value, evaluator)):
                for whole in list_paths_read(call, file, block, evaluator):
                    if _is_missing(whole) and modules.source(whole) is None:
                        shown = os.path.relpath(whole, folder).replace(os.sep, "/")
                        yield _miss(_node_of(file.source, call.parts[0], shown), whole, tree, name, is_read=True)
    except BudgetSpent:
        return


def _find_path(call: HclExpression, evaluator: Evaluator, folder: str) -> str:
    """Return the path that a function reads. Empty if it is not known."""
    written = evaluator.value(call.parts[0]).value
    return os.path.normpath(os.path.join(folder, written)) if isinstance(written, str) else ""


def _is_missing(path: str) -> bool:
    return not gate.exists(path) and gate.refusal(path) is None


def _node_of(source: Source, at: HclExpression, written: str) -> Node:
    return Node(source, at.start, at.end, "scalar", "double", written)


def _miss(node: Node, whole: str, tree: RepositoryNames, name: str, is_read: bool = False) -> MissingSource:
    below = os.path.relpath(whole, tree.top).replace(os.sep, "/")
    is_certain = not tree.is_not_checked_out(below) and (not is_read or tree.suggest(below) != "")
    reason = tree.explain_path(below, below)
    if not is_read and tree.names(below) and name.startswith(("module", "Terragrunt")):
        reason = f"the folder `{below}` has no file of Terraform"
    by = os.path.abspath(node.source.path), name
    return MissingSource(node, reason, STOPS, is_certain, by, name, is_values=is_read and is_certain)


def _list_reads(expression: HclExpression, evaluator: Evaluator) -> Iterator[HclExpression]:
    """Yield the calls in an expression that read a file, if Terraform stops at a missing one."""
    pending = [expression]
    found: list[HclExpression] = []
    while pending:
        part = pending.pop()
        if part.kind == "call" and part.value in _TRIES:
            return
        if part.kind == "call" and part.value in _READS and len(part.parts) in _READS[str(part.value)]:
            found.append(part)
        if part.kind == "condition":  # Terraform evaluates one of the two results
            test = evaluator.value(part.parts[0]).value
            pending += part.parts[:1] if not isinstance(test, bool) else part.parts[1:2] if test else part.parts[2:]
            continue
        pending += list_parts(part)
    yield from found


def _read_unit(source: Source, modules: Modules, tree: RepositoryNames) -> TerragruntFile:
    folder = os.path.dirname(os.path.abspath(source.path))
    return TerragruntFile(source, folder, tree.top, modules.source, modules.budget)


def _list_missing_of_unit(unit: TerragruntFile, modules: Modules, tree: RepositoryNames) -> Iterator[MissingSource]:
    """Yield the local module and the files of a Terragrunt unit that do not exist."""
    name = f"Terragrunt unit {os.path.relpath(unit.folder, tree.top)}".replace(os.sep, "/")
    try:
        for at, whole in _list_missing_in_unit(unit, modules):
            missing = _miss(_node_of(unit.source, at, whole), whole, tree, name, is_read=whole.endswith(_FILES))
            yield missing._replace(effect=_STOPS_UNIT, is_values=False)
    except BudgetSpent:
        return


def _list_missing_in_unit(unit: TerragruntFile, modules: Modules) -> Iterator[tuple[HclExpression, str]]:
    folder, at = unit.module(), unit.source_of_module
    if at is not None and folder is not None and gate.refusal(folder) is None and not modules.files(folder):
        yield at, folder
    for value in unit.expressions():
        for call in _list_reads(value, unit.evaluator):
            whole = _find_path(call, unit.evaluator, unit.folder)
            if call.value == "find_in_parent_folders":
                is_found = isinstance(unit.evaluator.value(call).value, str)
                whole = "" if is_found else whole
            if whole and _is_missing(whole):
                yield call.parts[0], whole
    for value in unit.included():
        written = unit.evaluator.value(value).value
        whole = os.path.normpath(os.path.join(unit.folder, written)) if isinstance(written, str) else ""
        if whole and _is_missing(whole):
            yield value, whole
