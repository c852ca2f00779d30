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
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from nodelint.forms.input_text import RemoteUse
    from nodelint.forms.interface import FormRun
    from nodelint.forms.lib.controller_install import ControllerFiles
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.model.evidence import Evidence
    from nodelint.text import Source

_INSTALLS = r"(?m)(?:\b(?:chart|dependencies)|\bremoteChart)[\"']?:"
"""A key of an object or file that installs a chart."""

IN_MODULES = {
    "list_inputs": "unread_inputs",
    "find_objects": "values_objects",
    "list_read_with": "named_files",
    "find_kindless_templates": "kindless_templates",
    "find_including_templates": "including_templates",
    "install_known_charts": "command_installs",
    "install_charts": "object_releases",
    "is_required": "unread_inputs",
    "find_lost_inputs": "unread_inputs",
    "find_fault": "unread_inputs",
    "find_root_fault": "unread_inputs",
    "find_plain_values": "plain_values",
    "find_addresses": "disabled_objects",
    "make_input_finder": "chart_inputs.ChartInputs",
    "list_unread_values": "unread_values",
    "list_applied_folders": "subchart_releases.list_used_charts",
    "list_program_values": "program_releases",
    "list_program_charts": "program_releases.list_remote_charts",
    "make_value_readers": "value_readers.ChartValueReaders",
}
"""Functions of the form (see `Form`) in modules of this package, which a run loads only if it needs them."""


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


def find_given_texts(seen: Collection[str], installing: Collection[str]) -> Callable[[str], str | None]:
    """Return a function that returns the texts with values of a chart's template (see `GivenTexts.find`)."""
    from nodelint.forms.helm.values_of_workloads import GivenTexts

    return GivenTexts(seen, installing).find


def may_fill(sources: Sequence[Source]) -> bool:
    """Return whether a source may be a template of a chart."""
    return any(source.may_be_template for source in sources)


def render(run: FormRun) -> None:
    """Render the templates of charts."""
    from nodelint.forms.helm.filled_charts import filled_charts

    filled = list(filled_charts(run.sources, run.built, run.each_release))
    if filled:
        from nodelint.forms.helm.refused_installs import list_possible, note_refusals
        from nodelint.forms.helm.unread_keys import note_unread_keys

        filled = note_unread_keys(note_refusals(filled, run.sources))
        run.unbuilt += dict.fromkeys(list_possible(filled))
    run.built += filled
    run.unbuilt += dict.fromkeys(built.unread for built in run.built if built.unread is not None)


def owns(path: str) -> bool:
    """Return whether a file is a template of a chart."""
    from nodelint.forms.lib.chart_places import chart_of

    return chart_of(path) is not None


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


def list_remote_uses(sources: Sequence[Source]) -> Iterator[RemoteUse]:
    """Yield the installations of remote charts whose names say that they create pools or classes."""
    for source in sources:
        if re.search(_INSTALLS, source.text):
            from nodelint.forms.helm.chart_releases import list_remote_charts

            yield from list_remote_charts(source)


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
