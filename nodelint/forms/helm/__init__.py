"""Render the Helm charts of a repository with their values, without running helm.

Files: templates of charts, their `Chart.yaml` and values. Renders each template with the chart's default values, with
each other values file, and with the values of each release that another form installs. Reads the Karpenter release
from installations of its chart, and from `helm` commands. Not known: charts and values that are fetched, lookups in
the cluster, and Secrets.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from nodelint.forms.helm.chart_inputs import ChartInputs
    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import BlockAddress, FolderUse, InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.model.manifest import Object
    from nodelint.text import Document, Node, Source
    from nodelint.text.syntax_errors import SyntaxProblem

_INSTALLS = r"(?m)(?:\b(?:chart|dependencies)|\bremoteChart)[\"']?:"
"""A key of an object or file that installs a chart."""


def find_objects(values: Node, document: Document) -> Iterator[Object]:
    """Yield the pools and classes that charts create from values in a document."""
    from nodelint.forms.helm import values_objects

    return values_objects.find_objects(values, document)


def read_needed_files(run: FormRun) -> None:
    """Read values, releases and templates that are needed to render a run and do not name Karpenter."""
    from nodelint.forms.helm.filled_charts import (
        find_values_of_charts,
        read_releases,
        read_values_in_order,
        values_elsewhere,
    )
    from nodelint.forms.helm.including_templates import find_including_templates

    run.sources += find_including_templates(run.sources, run.seen)
    run.sources += read_releases(run.sources, run.installing, run.also, run.each_release)
    run.sources += find_values_of_charts(run.sources, run.seen, run.each_release)
    run.sources += values_elsewhere(run.sources, run.seen, run.named, run.each_release)
    run.sources += read_values_in_order(run.sources, run.values)
    for source in run.sources if run.named else ():
        source.is_named = source.path in run.named


def list_read_with(path: str) -> Iterator[str]:
    """Yield the files of the charts that are needed with a requested file.

    The file belongs to the chart, passes values to it, or installs it.
    """
    from nodelint.forms.helm import named_files

    return named_files.list_read_with(path)


def find_kindless_templates(sources: Sequence[Source], seen: Collection[str]) -> Iterable[Source]:
    """Return the chart templates outside of `sources` whose objects take apiVersion and kind from values."""
    from nodelint.forms.helm import kindless_templates

    return kindless_templates.find_kindless_templates(sources, seen)


def find_given_texts(seen: Collection[str], installing: Collection[str]) -> Callable[[str], str | None]:
    """Return a function that returns the texts with values of a chart's template (see `GivenTexts.find`)."""
    from nodelint.forms.helm.values_of_workloads import GivenTexts

    return GivenTexts(seen, installing).find


def find_including_templates(sources: Sequence[Source], seen: Collection[str]) -> Iterable[Source]:
    """Return the templates that include a named template with Karpenter objects.

    The named template is in one of `sources`; the returned templates are not among them.
    """
    from nodelint.forms.helm import including_templates

    return including_templates.find_including_templates(sources, seen)


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
    """Yield the releases of charts by `helm` commands."""
    from nodelint.forms.helm import command_releases

    return command_releases.install_known_charts(charts, sources)


def may_fill(sources: Sequence[Source]) -> bool:
    """Return whether a source may be a template of a chart."""
    return any(source.may_be_template for source in sources)


def render(run: FormRun) -> None:
    """Render the templates of charts."""
    from nodelint.forms.helm.filled_charts import filled_charts

    run.built += filled_charts(run.sources, run.built, run.each_release)
    run.unbuilt += dict.fromkeys(built.unread for built in run.built if built.unread is not None)


def owns(path: str) -> bool:
    """Return whether a file is a template of a chart."""
    from nodelint.forms.lib.chart_places import chart_of

    return chart_of(path) is not None


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
) -> Iterator[str]:
    """Yield the files of the charts that contain objects or are inputs of rendered manifests."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.list_inputs(sources, builds)


def is_required(path: str) -> bool:
    """Return whether helm always reads a file of a chart, or an installation uses it."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.is_required(path)


def find_lost_inputs(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """Yield the first template of each vendored chart without Chart.yaml, with a reason."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.find_lost_inputs(sources)


def find_fault(source: Source, known: dict[str, object]) -> SyntaxProblem | None:
    """Return the syntax error that stops helm from reading a template. None if there is none."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.find_fault(source, known)


def find_root_fault(roots: Sequence[Node | None]) -> SyntaxProblem | None:
    """Return the error that stops helm from loading a Chart.yaml. None if there is none."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.find_root_fault(roots)


def state_releases(source: Source, references: list[object]) -> Iterator[Evidence]:
    """Yield the Karpenter releases that a manifest or values file states when it installs Karpenter's chart."""
    from nodelint.forms.helm import statements

    return statements.evidence(source)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by `helm` commands, deploy tools and HelmChart objects."""
    from nodelint.forms.helm import commands, controller_objects, deploy_tools

    yield from commands.find_installs(source, files)
    yield from controller_objects.find_installs(source, files)
    yield from deploy_tools.find_installs(source, files)


def find_plain_values(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the values of Karpenter's chart in a file that no installation names."""
    from nodelint.forms.helm import plain_values

    return plain_values.find_plain_values(source, files)


def find_addresses(
    objects: Sequence[Object], sources: Sequence[Source]
) -> Iterator[tuple[Object, BlockAddress, str]]:
    """Yield the objects of chart templates: the object, its address, and why helm does not create it (else empty)."""
    from nodelint.forms.helm import disabled_objects

    return disabled_objects.find_addresses(objects, sources)


def make_input_finder(sources: Sequence[Source]) -> ChartInputs:
    """Return a finder of the inputs of values that only a release of a chart defines."""
    from nodelint.forms.helm.chart_inputs import ChartInputs

    return ChartInputs(sources)


def list_remote_uses(sources: Sequence[Source], reported: Collection[tuple[str, int]]) -> Iterator[RemoteUse]:
    """Yield the installations of remote charts whose names say that they create pools or classes."""
    for source in sources:
        if re.search(_INSTALLS, source.text):
            from nodelint.forms.helm.chart_releases import list_remote_charts

            yield from list_remote_charts(source)


def list_program_values(source: Source, charts: Sequence[str]) -> Iterator[tuple[str, InputText]]:
    """Yield (chart, input) for each call in a program that may install one of some charts."""
    from nodelint.forms.helm import program_releases

    return program_releases.list_program_values(source, charts)


def list_program_charts(source: Source) -> Iterator[RemoteUse]:
    """Yield the remote charts that a program installs and whose names say that they create pools or classes."""
    from nodelint.forms.helm import program_releases

    return program_releases.list_remote_charts(source)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Yield helm commands with values for a chart, and values files that nothing names."""
    from nodelint.forms.helm import unread_values

    return unread_values.list_unread_values(chart, files)


def list_applied_folders(files: UnreadInputs) -> Iterator[FolderUse]:
    """Yield the charts on which other charts depend by a path."""
    from nodelint.forms.helm import subchart_releases

    return subchart_releases.list_used_charts(files)


def read_files_taken(path: str, codes: Sequence[str]) -> tuple[str, Mapping[str, bytes]] | None:
    """Return the folder of a template's chart, and the chart files that its code may include.

    None if the code includes no files.
    """
    from nodelint.forms.lib.chart_places import chart_of

    chart = chart_of(path)
    if chart is None:
        return None
    from nodelint.forms.helm.chart_inputs import ChartInputs
    from nodelint.forms.helm.other_files import read_taken_files

    codes = [*codes, *(found.text for found in ChartInputs([]).list_definitions(path, codes))]
    if not any(".Files" in code for code in codes):
        return None
    chart = os.path.abspath(chart)
    return chart, read_taken_files(chart, codes)
