"""`nodelint explain`: what each NodePool can launch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from nodelint.commands import (
    CLEAN,
    UNUSABLE,
    discovered,
    echo,
    echo_json,
    exclude,
    include,
    output_format,
    say_switched_off,
    session_of,
    settings_over_paths,
    stop,
    unread,
    unreadable,
    versions,
)
from nodelint.commands._deadline import timeout_option
from nodelint.commands._facts import facts_for, facts_options
from nodelint.commands._flags import FactFlags
from nodelint.commands._gaps import say_gaps
from nodelint.commands._help import GroupedCommand
from nodelint.commands._refused import say_refused
from nodelint.commands._shell_completion import files, nodepools
from nodelint.commands._terminal import colour_option, look
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import ExplainFlags
    from nodelint.ec2.facts import AwsFacts
    from nodelint.files.discover import Discovery
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import NodePool
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
    "--types", is_flag=True, help="All types that can be launched, by price, and what pods can use of each."
)
@output_format
@colour_option
@include
@exclude
@facts_options
@versions
@timeout_option
def command(
    paths: Sequence[str], nodepool: str | None, types: bool, form: str, **flags: Unpack[ExplainFlags]
) -> None:
    """Show which instance types each NodePool can launch, with which image, and what removed the rest.

    \b
    Examples:
      nodelint explain pool.yaml class.yaml
      nodelint explain clusters/prod --nodepool gpu --karpenter-version 1.3
    """
    fact_flags = FactFlags.read(flags)
    settings = settings_over_paths(flags, paths)
    found = discovered(paths or (".",), settings)
    from nodelint.inventory import read_inventory
    from nodelint.model.documents import objects
    from nodelint.model.manifest import EC2NodeClass, NodeOverlay, NodePool, served
    from nodelint.rule.context import Context

    inventory, session = read_inventory(found), session_of(settings)
    found.unreadable += unread(found, "not explained")
    judged = list(inventory.objects())
    context_objects = [obj for source in session.beside(judged, found.sources) for obj in objects(source)]
    of_auto_mode = list(inventory.auto_mode_objects())
    say_gaps(found, inventory, settings, providers=("auto-mode",))
    say_switched_off(judged, "explained all the same")
    choose = session.choose(found)
    target = session.target(choose=choose)
    # Of several releases the newest: an explanation is of one.
    pools_read = (o for o in (*judged, *of_auto_mode) if isinstance(o, NodePool))
    newest = {o: targets[-1] for o in pools_read if (targets := target.for_object(o))}
    pools = [pool for pool, chosen in newest.items() if served(pool, chosen.karpenter)]
    if nodepool is not None:
        pools = _called(nodepool, pools, found)
    classes = [o for o in (*judged, *context_objects) if isinstance(o, EC2NodeClass)]
    facts, _ = facts_for(fact_flags, session, paths, classes, choose)
    overlays = (o for s in inventory.sources for o in objects(s, more=True) if isinstance(o, NodeOverlay))
    world = [*judged, *context_objects, *overlays]
    contexts = {
        chosen.releases: Context(world, chosen._replace(facts=facts), foreign=of_auto_mode)
        for chosen in newest.values()
    }
    resolutions = [_resolve(pool, contexts[newest[pool].releases]) for pool in pools]
    say_refused(pools, lambda pool: contexts[newest[pool].releases])
    if pools or form == "json":
        _show(resolutions, facts, form, None if types else 5)
    else:
        echo(f"Nothing to explain: no NodePool that Karpenter {settings.karpenter} serves in {_count_files(found)}.")
    unreadable(found)
    sys.exit(UNUSABLE if found.unreadable else CLEAN)


def _show(resolutions: Sequence[Resolution], facts: AwsFacts, form: str, most: int | None) -> None:
    """Print what pools can launch, `most` of the cheapest types of each; None for all of them."""
    from nodelint.report import explain as report

    if form == "json":
        echo_json(report.explain_json(resolutions, facts))
    else:
        shown = look()
        echo(report.explain_text(resolutions, facts, width=shown.width, cheapest=most, style=shown.style))


def _resolve(pool: NodePool, context: Context) -> Resolution:
    """What a pool can launch, by the overlays and the settings of its controller."""
    found = context.resolution_with_overlays(pool)
    return found.with_min_values_relaxed() if context.policies(pool).min_values_relaxed else found


def _called(name: str, pools: Sequence[NodePool], found: Discovery) -> list[NodePool]:
    """The pools of a name; ends the run where there are none."""
    called = [pool for pool in pools if pool.name == name]
    if not called:
        names = sorted({pool.name for pool in pools if isinstance(pool.name, str)})
        present = f"they hold {', '.join(names)}" if names else "they hold none"
        unreadable(found)
        stop(f"no NodePool `{name}` is in the files; {present}")
    return called


def _count_files(found: Discovery) -> str:
    return counted(found.files, "file")
