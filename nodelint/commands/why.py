"""`nodelint why`: why a node stays."""

from __future__ import annotations

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import exclude, versions
from nodelint.commands._deadline import timeout_option
from nodelint.commands._facts import facts_options
from nodelint.commands._help import GroupedCommand
from nodelint.commands._output import WHY_FORMATS, options_for
from nodelint.commands._shell_completion import files
from nodelint.commands._terminal import colour_option
from nodelint.commands._why_run import explain_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from nodelint.commands._flags import WhyFlags
    from nodelint.commands._output import Output


_EXIT = """
\b
Exit codes:
  0  done
  1  --timeout left nodes out
  2  wrong usage or configuration, or a file that could not be read
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("dumps", nargs=-1, metavar="[DUMP]...", shell_complete=files)
@click.option("--from-cluster", is_flag=True, help="Run kubectl with its current context; it only reads.")
@click.option(
    "--manifests",
    multiple=True,
    metavar="PATH",
    shell_complete=files,
    help="The files of the NodePools, so that edits name file and line. Repeatable.",
)
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Only this node or NodeClaim. Repeatable.")
@click.option("--nodepool", "pools", multiple=True, metavar="NAME", help="Only nodes of this NodePool. Repeatable.")
@click.option("--reason", "reasons", multiple=True, metavar="WORD", help="Only nodes with this reason: pdb, budget.")
@options_for(WHY_FORMATS)
@colour_option
@exclude
@facts_options
@versions
@timeout_option
def command(
    dumps: Sequence[str],
    from_cluster: bool,
    manifests: Sequence[str],
    nodes: Sequence[str],
    pools: Sequence[str],
    reasons: Sequence[str],
    outputs: Sequence[Output],
    output: str | None,
    **flags: Unpack[WhyFlags],
) -> None:
    """Show why each node stays: the first reason for which Karpenter does not remove it, and how to change
    that.

    DUMP is the output of kubectl as YAML or JSON: a file, a folder of files, or - for standard input. The
    checks are those of Karpenter's disruption controller, in the order of the cluster's release, at the time
    of the run; NODELINT_NOW sets another time. The report names unknown values. If one decides
    about a node, the report says that the node may stay.

    \b
    Examples:
      kubectl get nodes,nodeclaims,nodepools,ec2nodeclasses,pods,pdb,daemonsets,
        deployments,pvc,pv,events -A -o yaml | nodelint why -
      nodelint why cluster.yaml --nodepool default --manifests clusters/prod
      nodelint why --from-cluster --reason pdb
    """
    wanted = (frozenset(nodes), frozenset(pools), tuple(reasons))
    explain_nodes(dumps, from_cluster, manifests, wanted, outputs, output, **flags)
