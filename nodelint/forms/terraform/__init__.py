"""Terraform: HCL and its JSON, modules, variables, `templatefile`, Terragrunt, evaluated and not run.

Files: `.tf`, `.tofu`, `.tf.json`, `.tfvars`, Terragrunt's `.hcl`, and templates that a block fills in. It reads
manifests that stand in HCL as objects and in heredocs; renders each text with what its variables come to in each root
module; asks for the chart of each `helm_release`. Not known: data sources, resources of others, functions of
providers, and modules elsewhere.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from nodelint.edits.writer import Dialect
    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import BlockAddress, InstallChart
    from nodelint.forms.terraform.inputs import TerraformInputs
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.text import Node, Source, SourceText
    from nodelint.text.embedded_regions import Reading
    from nodelint.text.syntax_errors import SyntaxProblem

_GIVES_VALUES = r"(?m)^[ \t]*(?:module[ \t]|resource[ \t]+\"?helm_release\b)"
"""The head of a block that gives values to what may be elsewhere."""


_CALLED = r"\bsource\"?\s{0,20}[=:]\s{0,20}\"(\.{1,2}/[^\"$\n]+)\""
"""The folder of a module that a file calls."""


def list_folders_around(path: str, text: str, top: str | None) -> Iterator[str]:
    """Yield the folder above a module and those that it calls; for variables and Terragrunt units the repository."""
    folder = os.path.dirname(path)
    if path.endswith((".tfvars", ".tfvars.json", ".hcl")):
        yield top or os.path.dirname(folder)
        return
    yield os.path.dirname(folder)
    yield from (os.path.normpath(os.path.join(folder, called)) for called in re.findall(_CALLED, text))


def list_read_with(path: str) -> Iterator[str]:
    """Return the files that are read with a named file: its templates, its root module, or the module that
    reads it.
    """
    from nodelint.forms.terraform import named_files

    return named_files.list_read_with(path)


def read_beside(run: FormRun) -> None:
    """Read the variable files that the user names: no other counts for their root module."""
    from nodelint.forms.lib.values import read

    for path in sorted(path for path in run.named if path.endswith((".tfvars", ".tfvars.json"))):
        source = run.by_path.get(os.path.abspath(path)) or read(path)
        if source is not None:
            source.is_named = True
            if all(source is not other for other in run.sources):
                run.sources.append(source)


def may_embed(source: SourceText) -> bool:
    """Whether a text may hold values with pools, or resources that make pods, where these are asked for."""
    from nodelint.forms.terraform import embedded

    return embedded.may_embed(source)


def read_embedded(source: SourceText, start: int, end: int, lenient: bool = False) -> Iterator[Reading]:
    """Return the manifests in a part of a text: objects, heredocs, strings, and values of charts."""
    from nodelint.forms.terraform import embedded

    return embedded.read_embedded(source, start, end, lenient)


def writer_of(style: str) -> Dialect:
    """How an object of HCL is edited. Raise `NotEditable` for one that a resource makes of blocks."""
    from nodelint.edits.collections import NotEditable
    from nodelint.forms.terraform import writer

    if style != "hcl":
        raise NotEditable("an object that Terraform makes of blocks is edited by hand")
    return writer


def may_fill(sources: Sequence[Source]) -> bool:
    """Whether Terraform may fill in one of some texts."""
    from nodelint.forms.terraform.filled_texts import any_filled

    return any_filled(sources)


def render(run: FormRun) -> None:
    """Fill in the texts of Terraform, and tell their sources of which root modules they are."""
    if not (may_fill(run.sources) or any(source.may_be_template for source in run.sources)):
        return
    from nodelint.forms.terraform.rendered import filled_by_terraform

    made = list(filled_by_terraform(run.sources, run.each_release))
    for source in run.sources:
        path = os.path.abspath(source.path)
        source.roots = tuple(dict.fromkeys(built.cluster for built in made if path in built.replaces))
    run.built += made


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
    """Return the releases of charts by `helm_release`."""
    from nodelint.forms.terraform.chart_releases import find_terraform_releases

    return find_terraform_releases(charts, sources)


def note_gaps(sources: Sequence[Source]) -> None:
    """Note manifests that are read from outside of the repository."""
    from nodelint.forms.terraform.outside_files import note_outside_files

    note_outside_files(sources)


def find_remote_values(sources: Sequence[Source]) -> Iterator[Gap]:
    """Pools and classes among the inputs of modules, and the values of charts, that are not in the repository."""
    giving = [s for s in sources if s.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, s.text)]
    if giving:
        from nodelint.forms.terraform.remote_modules import find_remote_inputs

        yield from find_remote_inputs(giving)


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
) -> Iterator[str]:
    """Return the files of the modules that objects stand in, or are built of, and the units that call these."""
    from nodelint.forms.terraform import unread_inputs

    return unread_inputs.list_inputs(sources, builds, paths)


def find_fault(source: Source, known: dict[str, object]) -> SyntaxProblem | None:
    """Return why a file cannot be read."""
    from nodelint.forms.terraform.hclcheck import find_hcl_problem
    from nodelint.text.syntax_errors import SyntaxProblem

    found = find_hcl_problem(source.text)
    return SyntaxProblem(*found) if found is not None else None


def state_releases(source: Source, references: list[object]) -> Iterator[Evidence]:
    """Return what the blocks of a file state; variables are looked up when all files are known."""
    from nodelint.forms.terraform.statements import Module

    module = Module(source.path, source.text)
    references += module.references
    return iter(module.evidence)


def resolve_releases(
    sources: Sequence[Source], references: Sequence[object], known: Sequence[Evidence]
) -> Iterator[Evidence]:
    """Return what variables and locals state in the folders of those that use them, and versions of
    `helm_release`.
    """
    from nodelint.forms.terraform import statements

    return statements.resolve_releases(sources, references, known)


def read_roots(source: Source) -> list[Node]:
    """Return the manifests in heredocs that make Karpenter's chart be installed."""
    from nodelint.forms.terraform import controller

    return controller.read_roots(source)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Return the installations of Karpenter's controller by `helm_release`, and settings that modules are given."""
    from nodelint.forms.terraform import controller

    return controller.find_installs(source, files)


def find_addresses(
    objects: Sequence[Object], sources: Sequence[Source]
) -> Iterator[tuple[Object, BlockAddress, str]]:
    """Return the objects that resources make, and why these have no instance."""
    from nodelint.forms.terraform import switched_off

    return switched_off.find_addresses(objects, sources)


def make_input_finder(sources: Sequence[Source]) -> TerraformInputs:
    """Return what finds the inputs of values that only Terraform knows."""
    from nodelint.forms.terraform.inputs import TerraformInputs

    return TerraformInputs(sources)


def list_remote_uses(sources: Sequence[Source], reported: Collection[tuple[str, int]]) -> Iterator[RemoteUse]:
    """Yield the calls of modules, and releases of charts, that are elsewhere and may make pools."""
    calling = [s for s in sources if s.path.endswith((".tf", ".tofu")) and re.search(_GIVES_VALUES, s.text)]
    units = [s for s in sources if s.path.endswith(".hcl")]
    if calling or units:
        from nodelint.forms.terraform.inputs import TerraformInputs

        inputs = TerraformInputs(sources)
        for source in calling:
            yield from inputs.list_remote_modules(source, reported)
        yield from inputs.list_remote_units(units)


def list_unread_releases(charts: Collection[str], top: str, sources: Sequence[Source]) -> dict[str, list[InputText]]:
    """Return the blocks that may install charts with values that are not read."""
    from nodelint.forms.terraform import unread_releases
    from nodelint.forms.terraform.values import Modules

    modules = Modules(sources)
    return {chart: list(unread_releases.list_unread_releases(chart, top, modules)) for chart in charts}
