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
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from nodelint.edits.writer import Dialect
    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.missing_sources import MissingSource
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import AddressMove, BlockAddress, FolderUse, InstallChart, ObjectOwner
    from nodelint.forms.terraform.inputs import TerraformInputs
    from nodelint.forms.terraform.variables_elsewhere import VariablesElsewhere
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.text import Node, Source, SourceText
    from nodelint.text.embedded_regions import Reading
    from nodelint.text.syntax_errors import SyntaxProblem

_GIVES_VALUES = r"(?m)^[ \t]*(?:module[ \t]|resource[ \t]+\"?helm_release\b)"
"""The head of a block that passes values to a module or chart, which may be remote."""


_CALLED = r"\bsource\"?\s{0,20}[=:]\s{0,20}\"(\.{1,2}/[^\"$\n]+)\""
"""The folder of a module that a file calls."""


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


def list_read_with(path: str) -> Iterator[str]:
    """Yield the files that are needed with a requested file: its templates, or the module around it."""
    from nodelint.forms.terraform import named_files

    return named_files.list_read_with(path)


def read_needed_files(run: FormRun) -> None:
    """Read the variable files that the user names. Their root module then uses no other variable files."""
    from nodelint.forms.lib.values import read

    for path in sorted(path for path in run.named if path.endswith((".tfvars", ".tfvars.json"))):
        source = run.by_path.get(os.path.abspath(path)) or read(path)
        if source is not None:
            source.is_named = True
            if all(source is not other for other in run.sources):
                run.sources.append(source)


def may_embed(source: SourceText) -> bool:
    """Return whether a text may contain values with pools, or (if read for workloads) resources that create pods."""
    from nodelint.forms.terraform import embedded

    return embedded.may_embed(source)


def read_embedded(source: SourceText, start: int, end: int, lenient: bool = False) -> Iterator[Reading]:
    """Yield the manifests in a range of a text: objects, heredocs, strings, and values of charts."""
    from nodelint.forms.terraform import embedded

    return embedded.read_embedded(source, start, end, lenient)


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


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
    """Yield the releases of charts by `helm_release`."""
    from nodelint.forms.terraform.chart_releases import find_terraform_releases

    return find_terraform_releases(charts, sources)


def note_gaps(sources: Sequence[Source]) -> None:
    """Record gaps for manifests that are read from outside of the repository."""
    from nodelint.forms.terraform.outside_files import note_outside_files

    note_outside_files(sources)


def find_remote_values(sources: Sequence[Source]) -> Iterator[Gap]:
    """Yield a gap for pools and classes in inputs of remote modules, and in values of remote charts."""
    giving = [s for s in sources if s.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, s.text)]
    if giving:
        from nodelint.forms.terraform.remote_modules import find_remote_inputs

        yield from find_remote_inputs(giving)


def list_missing(source: Source, sources: Sequence[Source], of_any: bool = False) -> Iterator[MissingSource]:
    """Yield the modules and files that a file names and that the repository does not have."""
    from nodelint.forms.terraform import missing_sources

    return missing_sources.list_missing(source, sources, of_any)


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
) -> Iterator[str]:
    """Yield the module files with objects or inputs of rendered manifests, and the units that call the modules."""
    from nodelint.forms.terraform import unread_inputs

    return unread_inputs.list_inputs(sources, builds, paths)


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


def resolve_releases(
    sources: Sequence[Source], references: Sequence[object], known: Sequence[Evidence]
) -> Iterator[Evidence]:
    """Yield the releases in variables and locals of the folders that use them, and in versions of `helm_release`."""
    from nodelint.forms.terraform import statements

    return statements.resolve_releases(sources, references, known)


def read_roots(source: Source) -> list[Node]:
    """Return the manifests in heredocs and objects that install Karpenter's chart."""
    from nodelint.forms.terraform import controller

    return controller.read_roots(source)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by `helm_release`, and settings passed to modules."""
    from nodelint.forms.terraform import controller

    return controller.find_installs(source, files)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the modules that Terragrunt units apply."""
    if not any(path.endswith("terragrunt.hcl") for path in files.paths):
        return iter(())
    from nodelint.forms.terraform import terragrunt

    return terragrunt.list_applied_folders(files)


def find_addresses(
    objects: Sequence[Object], sources: Sequence[Source]
) -> Iterator[tuple[Object, BlockAddress, str]]:
    """Yield the objects that resources create: the object, the resource's address, and a reason.

    The reason says why the resource creates no instance. It is empty if it creates one.
    """
    from nodelint.forms.terraform import switched_off

    return switched_off.find_addresses(objects, sources)


def list_owners(objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, ObjectOwner]]:
    """Return (object, owner) for each address of a resource that creates the object."""
    from nodelint.forms.terraform import addresses

    return addresses.list_owners(objects, sources)


def list_roots(objects: Sequence[Object], sources: Sequence[Source]) -> Iterator[tuple[Object, str]]:
    """Yield (object, folder) for each root module, or Terragrunt unit, that creates the object."""
    from nodelint.forms.terraform import addresses

    return addresses.list_roots(objects, sources)


def list_missing_below(roots: Sequence[str], sources: Sequence[Source]) -> Iterator[tuple[str, MissingSource]]:
    """Yield (root, missing) for each module and file that a root module or unit names and that does not exist."""
    from nodelint.forms.terraform import missing_sources

    return missing_sources.list_missing_below(roots, sources)


def list_moves(folders: Iterable[str], sources: Sequence[Source]) -> Iterator[AddressMove]:
    """Return the changes of addresses by `moved` and `removed` blocks in some folders."""
    from nodelint.forms.terraform import addresses

    return addresses.list_moves(folders, sources)


def make_input_finder(sources: Sequence[Source]) -> TerraformInputs:
    """Return a finder of the inputs of values that only Terraform knows."""
    from nodelint.forms.terraform.inputs import TerraformInputs

    return TerraformInputs(sources)


def find_variables_elsewhere(sources: Sequence[Source], top: str) -> VariablesElsewhere:
    """Return a finder of what files of variables may give that no root module is rendered with."""
    from nodelint.forms.terraform.variables_elsewhere import VariablesElsewhere

    return VariablesElsewhere(sources, top)


def list_remote_uses(sources: Sequence[Source], reported: Collection[tuple[str, int]]) -> Iterator[RemoteUse]:
    """Yield the calls of remote modules, and releases of remote charts, that may create pools."""
    calling = [s for s in sources if s.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, s.text)]
    units = [s for s in sources if s.path.endswith(".hcl")]
    if calling or units:
        from nodelint.forms.terraform.inputs import TerraformInputs
        from nodelint.forms.terraform.remote_uses import list_remote_modules, list_remote_units

        inputs = TerraformInputs(sources)
        for source in calling:
            yield from list_remote_modules(inputs, source, reported)
        yield from list_remote_units(inputs, units)


def list_unread_releases(charts: Collection[str], top: str, sources: Sequence[Source]) -> dict[str, list[InputText]]:
    """Return by chart the blocks that may install it with values that are not read."""
    from nodelint.forms.terraform import unread_releases
    from nodelint.forms.terraform.values import Modules

    modules = Modules(sources)
    return {chart: list(unread_releases.list_unread_releases(chart, top, modules)) for chart in charts}
