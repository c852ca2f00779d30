"""Evaluate Terraform without running it: HCL and its JSON, modules, variables, `templatefile`, Terragrunt.

Files: `.tf`, `.tofu`, `.tf.json`, `.tfvars`, Terragrunt's `.hcl`, and templates that a block renders. Reads manifests
in HCL objects and in heredocs, renders each text with its variables in each root module, and requests rendering of
the chart of each `helm_release`. Not known: data sources, attributes of other resources, functions of providers, and
remote modules.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from nodelint.edits.writer import Dialect
    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.requests import FolderUse
    from nodelint.model.evidence import Evidence
    from nodelint.model.gap import Gap
    from nodelint.text import Source
    from nodelint.text.syntax_errors import SyntaxProblem

_GIVES_VALUES = r"(?m)^[ \t]*(?:module[ \t]|resource[ \t]+\"?helm_release\b)"
"""The head of a block that passes values to a module or chart, which may be remote."""


_CALLED = r"\bsource\"?\s{0,20}[=:]\s{0,20}\"(\.{1,2}/[^\"$\n]+)\""
"""The folder of a module that a file calls."""

IN_MODULES = {
    "list_inputs": "unread_inputs",
    "list_read_with": "named_files",
    "may_embed": "embedded",
    "read_embedded": "embedded",
    "install_known_charts": "chart_releases.find_terraform_releases",
    "note_gaps": "outside_files.note_outside_files",
    "resolve_releases": "statements",
    "read_roots": "controller",
    "find_installs": "controller",
    "find_addresses": "switched_off",
    "list_owners": "addresses",
    "list_moves": "addresses",
    "make_input_finder": "inputs.TerraformInputs",
    "find_variables_elsewhere": "variables_elsewhere.VariablesElsewhere",
    "list_missing": "missing_sources",
    "list_missing_below": "missing_sources",
    "list_roots": "addresses",
    "make_value_readers": "value_readers.BlockReaders",
}
"""Functions of the form (see `Form`) in modules of this package, which a run loads only if it needs them."""


def list_related_folders(path: str, text: str, top: str | None) -> Iterator[str]:
    """Yield the folder above a module and the modules that it calls.

    For variables and Terragrunt units, yield the repository.
    """
    folder = os.path.dirname(path)
    if path.endswith((".tfvars", ".tfvars.json", ".hcl")):
        yield top or os.path.dirname(folder)
        return
    yield os.path.dirname(folder)
    yield from (os.path.normpath(os.path.join(folder, called)) for called in re.findall(_CALLED, text))


def read_needed_files(run: FormRun) -> None:
    """Read the variable files that the user names. Their root module then uses no other variable files."""
    from nodelint.forms.lib.values import read

    for path in sorted(path for path in run.named if path.endswith((".tfvars", ".tfvars.json"))):
        source = run.by_path.get(os.path.abspath(path)) or read(path)
        if source is not None:
            source.is_named = True
            if all(source is not other for other in run.sources):
                run.sources.append(source)


def writer_of(style: str) -> Dialect:
    """Return the editor for HCL objects. Raise `NotEditable` for objects that a resource creates from blocks."""
    from nodelint.edits.collections import NotEditable
    from nodelint.forms.terraform import writer

    if style != "hcl":
        raise NotEditable("an object that Terraform makes of blocks is edited by hand")
    return writer


def may_fill(sources: Sequence[Source]) -> bool:
    """Return whether Terraform may render one of the texts."""
    from nodelint.forms.terraform.filled_texts import any_filled

    return any_filled(sources)


def render(run: FormRun) -> None:
    """Render the texts of Terraform, and record on each source the root modules that use it."""
    if not (may_fill(run.sources) or any(source.may_be_template for source in run.sources)):
        return
    from nodelint.forms.terraform.rendered import filled_by_terraform

    made = list(filled_by_terraform(run.sources, run.each_release))
    for source in run.sources:
        path = os.path.abspath(source.path)
        source.roots = tuple(dict.fromkeys(built.cluster for built in made if path in built.replaces))
    run.built += made
    if any(part.endswith(".hcl") for built in made for part in built.parts):
        from nodelint.forms.terraform.broken_units import find_broken_units

        run.unbuilt += find_broken_units(made, run.read)


_STACK = "a Terragrunt stack is not read: run `terragrunt stack generate`, and check its folder `.terragrunt-stack`"


def find_remote_values(sources: Sequence[Source]) -> Iterator[Gap]:
    """Yield a gap for pools and classes in inputs of remote modules, in values of remote charts, and for stack files
    of Terragrunt, which pass values to units that are generated.
    """
    for stack in sources:
        if stack.path.endswith("terragrunt.stack.hcl"):
            from nodelint.model.finding import Span
            from nodelint.model.gap import Gap

            unit = re.search(r"(?m)^[ \t]*(?:unit|stack)[ \t]+\"", stack.text)
            at = unit.end() - 1 if unit is not None else 0
            yield Gap(Span(stack, at, at), "module", _STACK)
    giving = [s for s in sources if s.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, s.text)]
    if giving:
        from nodelint.forms.terraform.remote_modules import find_remote_inputs

        yield from find_remote_inputs(giving)


def find_fault(source: Source, known: dict[str, object]) -> SyntaxProblem | None:
    """Return the syntax error of a file. None if it is valid."""
    from nodelint.forms.terraform.hclcheck import find_hcl_problem
    from nodelint.text.syntax_errors import SyntaxProblem

    found = find_hcl_problem(source.text)
    return SyntaxProblem(*found) if found is not None else None


def state_releases(source: Source, references: list[object]) -> Iterator[Evidence]:
    """Yield the releases that the blocks of a file state.

    References to variables are looked up when all files are known.
    """
    from nodelint.forms.terraform.statements import Module

    module = Module(source.path, source.text)
    references += module.references
    return iter(module.evidence)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the modules that Terragrunt units apply."""
    if not any(path.endswith("terragrunt.hcl") for path in files.paths):
        return iter(())
    from nodelint.forms.terraform import terragrunt

    return terragrunt.list_applied_folders(files)


def list_remote_uses(sources: Sequence[Source]) -> Iterator[RemoteUse]:
    """Yield the calls of remote modules, and releases of remote charts, that may create pools."""
    calling = [s for s in sources if s.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, s.text)]
    units = [s for s in sources if s.path.endswith(".hcl")]
    if any('component "' in unit.text for unit in units):
        from nodelint.forms.terraform.modules import ModuleFiles
        from nodelint.forms.terraform.stack_components import COMPONENTS, list_component_uses

        stacks = [unit for unit in units if unit.path.endswith(COMPONENTS)]
        yield from list_component_uses(stacks, ModuleFiles(sources), sources)
    if calling or units:
        from nodelint.forms.terraform.inputs import TerraformInputs
        from nodelint.forms.terraform.remote_uses import list_remote_modules, list_remote_units

        inputs = TerraformInputs(sources)
        for source in calling:
            yield from list_remote_modules(inputs, source)
        yield from list_remote_units(inputs, units)


def find_unread_callers(paths: Sequence[str], sources: Sequence[Source]) -> Iterator[Gap]:
    """Yield a gap for each component of a Terraform stack whose module creates pools or classes."""
    from nodelint.forms.terraform.modules import ModuleFiles
    from nodelint.forms.terraform.stack_components import find_unread_components

    return find_unread_components(paths, ModuleFiles(sources), sources)


def list_unread_releases(charts: Collection[str], top: str, sources: Sequence[Source]) -> dict[str, list[InputText]]:
    """Return by chart the blocks that may install it with values that are not read."""
    from nodelint.forms.terraform import unread_releases
    from nodelint.forms.terraform.values import Modules

    modules = Modules(sources)
    return {chart: list(unread_releases.list_unread_releases(chart, top, modules)) for chart in charts}
