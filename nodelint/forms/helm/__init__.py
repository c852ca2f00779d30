"""Helm: charts of the repository, filled in with their values as helm fills them in, without running it.

Files: templates of charts, their `Chart.yaml` and values. Renders each template with the chart's default values, with
each further values file, and with the values of each release that another form installs. Reads the Karpenter release
from what installs its chart, and from `helm` commands. Not known: charts and values that are fetched, what the
cluster says, and Secrets.
"""

from __future__ import annotations

import os
import re

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from nodelint.forms.helm.chart_inputs import ChartInputs
    from nodelint.forms.input_text import InputText, RemoteUse
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.forms.lib.unread_inputs import UnreadInputs
    from nodelint.forms.rendered import Built
    from nodelint.forms.requests import InstallChart
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.model.manifest import Object
    from nodelint.text import Document, Node, Source
    from nodelint.text.syntax_errors import SyntaxProblem

_INSTALLS = r"(?m)\b(?:chart|dependencies)[\"']?:"
"""A key of what installs a chart."""


def find_objects(values: Node, document: Document) -> Iterator[Object]:
    """Return what charts make pools and classes of, in values that a document holds."""
    from nodelint.forms.helm import values_objects

    return values_objects.find_objects(values, document)


def read_beside(run: FormRun) -> None:
    """Read values, releases and templates that have a part in the templates of a run and do not name Karpenter."""
    from nodelint.forms.helm.filled_charts import read_releases, read_values_in_order, values_beside, values_elsewhere
    from nodelint.forms.helm.including_templates import find_including_templates

    run.sources += find_including_templates(run.sources, run.seen)
    run.sources += read_releases(run.sources, run.installing, run.also)
    run.sources += values_beside(run.sources, run.seen)
    run.sources += values_elsewhere(run.sources, run.seen, run.named)
    run.sources += read_values_in_order(run.sources, run.values)
    for source in run.sources if run.named else ():
        source.is_named = source.path in run.named


def list_read_with(path: str) -> Iterator[str]:
    """Return the files of the charts that a named file is of, gives values to, or installs."""
    from nodelint.forms.helm import named_files

    return named_files.list_read_with(path)


def find_kindless_templates(sources: Sequence[Source], seen: Collection[str]) -> Iterable[Source]:
    """Return the templates that make objects of the API and kind that values name, and are no sources by
    themselves.
    """
    from nodelint.forms.helm import kindless_templates

    return kindless_templates.find_kindless_templates(sources, seen)


def find_including_templates(sources: Sequence[Source], seen: Collection[str]) -> Iterable[Source]:
    """Return the templates that include what a named template among the sources makes, and are no sources by
    themselves.
    """
    from nodelint.forms.helm import including_templates

    return including_templates.find_including_templates(sources, seen)


def install_known_charts(charts: Mapping[str, Source], sources: Sequence[Source]) -> Iterator[InstallChart]:
    """Return the releases of charts by `helm` commands."""
    from nodelint.forms.helm import command_releases

    return command_releases.install_known_charts(charts, sources)


def may_fill(sources: Sequence[Source]) -> bool:
    """Whether a template of a chart may be among sources."""
    return any(source.may_be_template for source in sources)


def render(run: FormRun) -> None:
    """Fill in the templates of charts."""
    from nodelint.forms.helm.filled_charts import filled_charts

    run.built += filled_charts(run.sources, run.built, run.each_release)
    run.unbuilt += dict.fromkeys(built.unread for built in run.built if built.unread is not None)


def owns(path: str) -> bool:
    """Whether a file is a template of a chart."""
    from nodelint.forms.lib.chart_places import chart_of

    return chart_of(path) is not None


def list_inputs(
    sources: Sequence[Source], builds: Sequence[Built], folder_files: Sequence[str], paths: Collection[str]
) -> Iterator[str]:
    """Return the files of the charts that objects stand in, or are built of."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.list_inputs(sources, builds)


def is_required(path: str) -> bool:
    """Whether helm reads a file of a chart in any case, or somebody installs the chart with it."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.is_required(path)


def find_lost_inputs(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    """Return the first template of each vendored chart that has lost its Chart.yaml."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.find_lost_inputs(sources)


def find_fault(source: Source, known: dict[str, object]) -> SyntaxProblem | None:
    """Return why helm cannot read a template."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.find_fault(source, known)


def find_root_fault(roots: Sequence[Node | None]) -> SyntaxProblem | None:
    """Return why helm loads no chart with a Chart.yaml."""
    from nodelint.forms.helm import unread_inputs

    return unread_inputs.find_root_fault(roots)


def state_releases(source: Source, references: list[object]) -> Iterator[Evidence]:
    """Yield the Karpenter releases that a manifest or values file states where it installs Karpenter's chart."""
    from nodelint.forms.helm import statements

    return statements.evidence(source)


def find_installs(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Yield the installations of Karpenter's controller by `helm` commands, and by objects that stand for these."""
    from nodelint.forms.helm import commands, controller_objects, deploy_tools

    yield from commands.find_installs(source, files)
    yield from controller_objects.find_installs(source, files)
    yield from deploy_tools.find_installs(source, files)


def find_plain_values(source: Source, files: ControllerFiles) -> Iterator[ControllerInstall]:
    """Return the values of Karpenter's chart in a file that no installation names."""
    from nodelint.forms.helm import plain_values

    return plain_values.find_plain_values(source, files)


def make_input_finder(sources: Sequence[Source]) -> ChartInputs:
    """Return what finds the inputs of values that only a release of a chart has."""
    from nodelint.forms.helm.chart_inputs import ChartInputs

    return ChartInputs(sources)


def list_remote_uses(sources: Sequence[Source], reported: Collection[tuple[str, int]]) -> Iterator[RemoteUse]:
    """Yield what installs charts elsewhere whose names say that they make pools or classes."""
    for source in sources:
        if re.search(_INSTALLS, source.text):
            from nodelint.forms.helm.chart_releases import list_remote_charts

            yield from list_remote_charts(source)


def list_unread_values(chart: str, files: UnreadInputs) -> Iterator[InputText]:
    """Return the commands that give values to a chart, and values files that nobody names."""
    from nodelint.forms.helm import unread_values

    return unread_values.list_unread_values(chart, files)


def read_files_taken(path: str, codes: Sequence[str]) -> tuple[str, Mapping[str, bytes]] | None:
    """Return the folder of the chart of a template whose code takes in files of it, and the files that it may
    take.
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
