"""`nodelint fit`: the NodePool that accepts the pods of each workload."""

from __future__ import annotations

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import exclude, include, values, versions
from nodelint.commands._deadline import timeout_option
from nodelint.commands._facts import facts_options
from nodelint.commands._fit_run import fit_workloads
from nodelint.commands._help import GroupedCommand
from nodelint.commands._output import FIT_FORMATS, options_for
from nodelint.commands._shell_completion import files, workloads
from nodelint.commands._terminal import colour_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from nodelint.commands._flags import ExplainFlags
    from nodelint.commands._output import Output


_EXIT = """
\b
Exit codes:
  0  every workload has a pool, or is meant for other nodes
  1  a workload has no pool, or some of its pods have none
  2  wrong usage or configuration, no pool to try, or a path or document that
     could not be read
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--workload", metavar="KIND/NAME", shell_complete=workloads, help="Only this workload, such as deployment/web."
)
@click.option("--cost", is_flag=True, help="Pack all pods onto nodes; print the number of nodes and their cost.")
@options_for(FIT_FORMATS)
@colour_option
@values
@include
@exclude
@facts_options
@versions
@timeout_option
def command(
    paths: Sequence[str],
    workload: str | None,
    cost: bool,
    outputs: Sequence[Output],
    output: str | None,
    **flags: Unpack[ExplainFlags],
) -> None:
    """Show which NodePool takes the pods of each workload, on which instance type, and why the others refuse
    them.

    Each pod template is compared with each NodePool, as Karpenter does for one pod and a NodePool without
    nodes: limits, taints, node selector, affinity, and requests together with those of DaemonSets in the
    files. What depends on a running cluster is not judged: other pods, webhooks that change pods, existing
    nodes.

    \b
    Examples:
      nodelint fit manifests/
      nodelint fit clusters/prod --workload deployment/web
      nodelint fit clusters/prod --cost --format text --format html=fit.html
      kubectl get pod web-0 -o yaml | nodelint fit - pools/
    """
    fit_workloads(paths, workload, outputs, output, cost, **flags)
