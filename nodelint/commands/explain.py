"""`nodelint explain`: the instance types that each NodePool can launch."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from nodelint.base.printable import escaped_json
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    discovered,
    exclude,
    include,
    read_settings_for,
    say_stated_for_files,
    say_switched_off,
    session_of,
    unread,
    unreadable,
    values,
    versions,
)
from nodelint.commands._console import CLEAN, UNUSABLE, echo, echo_json, stop
from nodelint.commands._deadline import timeout_option
from nodelint.commands._facts import facts_for, facts_options
from nodelint.commands._flags import FactFlags
from nodelint.commands._gaps import say_gaps
from nodelint.commands._help import GroupedCommand
from nodelint.commands._output import EXPLAIN_FORMATS, give_out, options_for, outputs_of
from nodelint.commands._refused import say_refused
from nodelint.commands._shell_completion import files, nodepools
from nodelint.commands._terminal import colour_option, look
from nodelint.model.messages import counted, did_you_mean

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import ExplainFlags
    from nodelint.commands._output import Output
    from nodelint.ec2.facts import AwsFacts
    from nodelint.files.folders import Discovery
    from nodelint.inventory import Inventory
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import NodeOverlay, NodePool
    from nodelint.model.releases import Version
    from nodelint.report.style import TextStyle
    from nodelint.rule.context import Context

_EXIT = """
\b
Exit codes:
  0  done, or there was nothing to explain
  2  wrong usage or configuration, or a path or document that could not be
     read
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option("--nodepool", metavar="NAME", shell_complete=nodepools, help="Only this NodePool.")
@click.option(
    "--types", is_flag=True, help="List all types that can be launched, by price, with the resources for pods."
)
@options_for(EXPLAIN_FORMATS)
@colour_option
@values
@include
@exclude
@facts_options
@versions
@timeout_option
def command(
    paths: Sequence[str],
    nodepool: str | None,
    types: bool,
    outputs: Sequence[Output],
    output: str | None,
    **flags: Unpack[ExplainFlags],
) -> None:
    """Show which instance types each NodePool can launch, with which image, and which requirements exclude
    the others.

    \b
    Examples:
      nodelint explain pool.yaml class.yaml
      nodelint explain clusters/prod --nodepool gpu --karpenter-version 1.3
    """
    wanted, fact_flags = outputs_of(outputs, output), FactFlags.read(flags)
    settings = read_settings_for(flags, paths)
    found = discovered(paths or (".",), settings)
    say_stated_for_files(found, settings)
    from nodelint.inventory import read_inventory
    from nodelint.model.documents import objects
    from nodelint.model.manifest import EC2NodeClass, NodePool, served
    from nodelint.rule.context import Context

    session = session_of(settings, runs_rules=False)
    inventory = session.keep_requested(read_inventory(found), found)
    found.unreadable += unread(found, "not explained")
    judged = list(inventory.objects())
    context_objects = [obj for source in session.beside(judged, found) for obj in objects(source)]
    of_auto_mode = list(inventory.auto_mode_objects())
    gaps = say_gaps(found, inventory, providers=("auto-mode",))
    say_switched_off(judged, "explained anyway")
    target = session.target(choose=(choose := session.choose(found)))
    pools_read = (o for o in (*judged, *of_auto_mode) if isinstance(o, NodePool) and not _is_input(o))
    newest = {o: targets[-1] for o in pools_read if (targets := target.for_object(o))}  # an explanation is of one
    pools = [pool for pool, chosen in newest.items() if served(pool, chosen.karpenter)]
    pools = pools if nodepool is None else _called(nodepool, pools, found)
    run_objects = [*judged, *context_objects, *_list_overlays(inventory)]
    classes = [o for o in run_objects if isinstance(o, EC2NodeClass)]
    facts, _ = facts_for(fact_flags, session, paths, classes, choose)
    releases = {chosen.releases: chosen._replace(facts=facts) for chosen in newest.values()}
    contexts = {name: Context(run_objects, chosen, foreign=of_auto_mode) for name, chosen in releases.items()}
    resolutions = [_resolve(pool, contexts[newest[pool].releases]) for pool in pools]
    say_refused(pools, lambda pool: contexts[newest[pool].releases])
    if pools or all(form == "json" for form, _ in wanted):
        _give_out(wanted, resolutions, facts, None if types else 5)
    elif not found.unreadable:
        echo(_say_nothing(settings.karpenter if newest else None, found, gaps))
    _end(found)


def _is_input(pool: NodePool) -> bool:
    """Return whether no cluster gets the pool as it is: each installation of the chart has other values, or the
    object is a patch.
    """
    from nodelint.model.partial_objects import is_patch

    built = pool.source.built
    return is_patch(pool.node, pool.document) or (built is not None and built.is_installed)


def _list_overlays(inventory: Inventory) -> list[NodeOverlay]:
    from nodelint.model.documents import objects
    from nodelint.model.manifest import NodeOverlay

    return [o for source in inventory.sources for o in objects(source, more=True) if isinstance(o, NodeOverlay)]


def _end(found: Discovery) -> None:
    unreadable(found)
    sys.exit(UNUSABLE if found.unreadable else CLEAN)


def _give_out(wanted: Sequence[Output], resolutions: Sequence[Resolution], facts: AwsFacts, most: int | None) -> None:
    """Print or write the instance types that the pools can launch, with the `most` cheapest types of each pool.

    None means all types.
    """
    from nodelint.report import explain as report
    from nodelint.report.explain_json import explain_json
    from nodelint.report.style import PLAIN

    def text(style: TextStyle) -> str:
        return report.explain_text(resolutions, facts, width=style.width, cheapest=most, style=style.style)

    def page() -> str:
        from nodelint.report.pools_html import pools_html

        return pools_html("nodelint explain", resolutions)

    def render(form: str) -> str:
        if form == "json":
            import json

            return escaped_json(json.dumps(explain_json(resolutions, facts), indent=2, ensure_ascii=False) + "\n")
        return page() if form == "html" else f"{text(PLAIN)}\n"

    def show(form: str) -> None:
        if form == "json":
            echo_json(explain_json(resolutions, facts))
        else:
            echo(page().rstrip("\n") if form == "html" else text(look()))

    give_out(wanted, render, show)


def _resolve(pool: NodePool, context: Context) -> Resolution:
    """Return the resolution of a pool with its NodeOverlays and the settings of its controller."""
    found = context.resolution_with_overlays(pool)
    return found.with_min_values_relaxed() if context.policies(pool).min_values_relaxed else found


def _called(name: str, pools: Sequence[NodePool], found: Discovery) -> list[NodePool]:
    """Return the pools with this name; end the run if there are none."""
    called = [pool for pool in pools if pool.name == name]
    if not called:
        names = sorted({pool.name for pool in pools if isinstance(pool.name, str)})
        present = f"they hold {', '.join(names)}" if names else "they hold none"
        unreadable(found)
        stop(f"no NodePool `{name}` is in the files{did_you_mean(name, names)}; {present}")
    return called


def _say_nothing(release: Version | None, found: Discovery, gaps: Sequence[Gap]) -> str:
    from nodelint.report.all_clear import say_nothing

    missing = f"no NodePool that Karpenter {release} serves" if release is not None else "no NodePool"
    return f"{say_nothing('explain', missing, f'in {_count_files(found)}', gaps)}."


def _count_files(found: Discovery) -> str:
    return counted(found.files, "file")
