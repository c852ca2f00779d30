"""The implementation of `nodelint fit`."""

from __future__ import annotations

import os
import sys

from nodelint.base.budget import RUN
from nodelint.base.printable import escaped_json
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    describe_unread,
    discovered,
    read_settings_for,
    say_stated_for_files,
    say_switched_off,
    session_of,
)
from nodelint.commands._console import CLEAN, FOUND, UNUSABLE, echo, echo_json, say, stop
from nodelint.commands._facts import facts_for
from nodelint.commands._flags import FactFlags
from nodelint.commands._gaps import say_gaps
from nodelint.commands._output import give_out, outputs_of
from nodelint.commands._refused import say_refused
from nodelint.commands._terminal import look

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set
    from typing import Any, Unpack

    from nodelint.commands._flags import ExplainFlags
    from nodelint.commands._output import Output
    from nodelint.config.settings import Settings
    from nodelint.ec2.facts import AwsFacts
    from nodelint.files.folders import Discovery
    from nodelint.fit.cost import FleetCost
    from nodelint.fit.pools import EmptyPool
    from nodelint.fit.tree import Tree, WorkloadFit
    from nodelint.inventory import Inventory
    from nodelint.lint.engine import Target
    from nodelint.model.cluster_objects import Workload
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import NodePool, Object
    from nodelint.report.style import TextStyle
    from nodelint.rule.context import Context


def fit_workloads(
    paths: Sequence[str],
    workload: str | None,
    outputs: Sequence[Output],
    output: str | None,
    cost: bool = False,
    **flags: Unpack[ExplainFlags],
) -> None:
    """Read the paths, compare workloads with NodePools, print the result, and end the run.

    `flags` are settings and flags about facts.
    """
    wanted = outputs_of(outputs, output)
    fact_flags = FactFlags.read(flags)
    settings = read_settings_for(flags, paths)
    from nodelint.model.cluster_objects import PATTERN, PATTERN_WITH_SCALERS

    found = discovered(paths or (".",), settings, PATTERN_WITH_SCALERS if cost else PATTERN)
    say_stated_for_files(found, settings)
    tree, say_faults = _tree(found, settings, fact_flags, paths)
    chosen = _chosen(tree, workload)
    say_faults()
    fits = [tree.fit(style) for style in chosen if not RUN.is_over()]
    places = _list_unread(found)
    _give_out(wanted, tree, fits, cost_of_fits(tree, fits) if cost else None, (found.files, places))
    left_out = tree.daemons.left_out()
    if fits and left_out:
        say(_say_left_out(left_out))
    around = tree.daemons.list_around() if fits else []
    if around:
        say(_say_around(around))
    for place in places:
        say(place)
    if places:
        sys.exit(UNUSABLE)
    sys.exit(FOUND if any(_lacks_a_pool(fit) for fit in fits) else CLEAN)


def cost_of_fits(tree: Tree, fits: Sequence[WorkloadFit]) -> FleetCost:
    """Return the cost of the workloads."""
    from nodelint.fit.cost import cost_of

    return cost_of(tree, fits)


def _give_out(
    wanted: Sequence[Output],
    tree: Tree,
    fits: Sequence[WorkloadFit],
    cost: FleetCost | None,
    read: tuple[int, Sequence[str]],
) -> None:
    """Print or write which NodePool accepts which workload, and the cost if it is requested.

    `read` is the number of files, and the places that cannot be read.
    """

    def render(form: str) -> str:
        from nodelint.report.style import PLAIN

        return _rendered(form, tree, fits, cost, PLAIN) + "\n"

    def show(form: str) -> None:
        if form == "json":
            echo_json(_json(fits, cost))
        elif not fits and form != "html":
            from nodelint.model.messages import counted
            from nodelint.report.all_clear import say_nothing

            where = f"in {counted(read[0], 'file')}"
            echo(f"{say_nothing('fit', 'no workload', where, read[1])}.")
        else:
            echo(_rendered(form, tree, fits, cost, look()))

    give_out(wanted, render, show)


def _json(fits: Sequence[WorkloadFit], cost: FleetCost | None) -> dict[str, Any]:
    from nodelint.report.fit import fit_json

    if cost is None:
        return fit_json(fits)
    from nodelint.report.cost import cost_json

    return {**fit_json(fits), "cost": cost_json(cost)}


def _rendered(form: str, tree: Tree, fits: Sequence[WorkloadFit], cost: FleetCost | None, style: TextStyle) -> str:
    """Return a report as text, without the final line break."""
    if form == "json":
        import json

        return escaped_json(json.dumps(_json(fits, cost), indent=2, ensure_ascii=False))
    if form == "html":
        from nodelint.report.pools_html import pools_html

        return pools_html("nodelint fit", [pool.resolution for pool in tree.pools], fits, cost).rstrip("\n")
    from nodelint.report import cost as of_cost
    from nodelint.report import fit as report

    if form == "markdown":
        parts = [report.fit_markdown(fits), *([of_cost.cost_markdown(cost)] if cost is not None else [])]
    else:
        parts = [report.fit_text(fits, width=style.width, style=style.style)]
        parts += [of_cost.cost_text(cost, style.width)] if cost is not None else []
    return "\n\n".join(parts)


def _say_left_out(daemons: Sequence[Workload]) -> str:
    """Return which DaemonSets are not counted on any node."""
    from nodelint.model.messages import counted, list_first

    shown = list_first([f"{daemon.label} ({daemon.source.path})" for daemon in daemons], 3)
    verb = "takes" if len(daemons) == 1 else "take"
    return (
        f"{counted(len(daemons), 'DaemonSet')} {verb} no room on nodes here: another cluster or another example may "
        f"have {'it' if len(daemons) == 1 else 'them'}: {shown}"
    )


def _say_around(daemons: Sequence[Workload]) -> str:
    """Return which DaemonSets of other files than the requested ones are counted."""
    from nodelint.model.messages import counted, list_first

    shown = list_first([f"{daemon.label} ({daemon.source.path})" for daemon in daemons], 3)
    verb = "takes" if len(daemons) == 1 else "take"
    return f"{counted(len(daemons), 'DaemonSet')} of the repository's other files {verb} room on nodes, too: {shown}"


def _list_unread(found: Discovery) -> list[str]:
    """Return the paths and documents that cannot be read, each with the reason."""
    places = [describe_unread(path, why) for path, why in found.unreadable]
    for source in found.sources:
        for problem in source.problems:
            at = source.position(problem.offset)
            places.append(f"{source.path}:{at.line}:{at.column}: not read: {problem.message}")
    return places


def _find_unread(gaps: Sequence[Gap]) -> Gap | None:
    """Return the first unread place that may contain a NodePool; None if there is none."""
    return next((gap for gap in gaps if gap.decides and gap.object is None), None)


def _lacks_a_pool(fit: WorkloadFit) -> bool:
    """Return whether no NodePool accepts all pods of a workload, unless the workload avoids Karpenter's nodes on
    purpose.
    """
    on_purpose = fit.ignored is not None and fit.ignored.on_purpose
    if fit.crowding is not None and fit.decided:
        return True
    return bool(fit.verdicts) and not fit.possible and not on_purpose


def _say_why_no_pool(there: Sequence[NodePool], newest: Mapping[NodePool, Target]) -> str:
    """Return why no NodePool of the files can accept workloads."""
    if RUN.has_left_out:
        from nodelint.model.messages import NOT_IN_TIME

        return NOT_IN_TIME
    if not there:
        return "no NodePool among the files: name the folder that holds the pools, too"
    for pool in there:
        if pool in newest:
            what = f"{pool.label} is {pool.api_version}, see --karpenter-version"
            return f"no NodePool that Karpenter {newest[pool].karpenter} serves: {what}"
    return f"no whole NodePool among the files: {there[0].label} is a part of one, such as a patch"


def _tree(
    found: Discovery, settings: Settings, fact_flags: FactFlags, paths: Sequence[str]
) -> tuple[Tree, Callable[[], None]]:
    """Return the NodePools and the other objects of the run, and a function that prints which pools the API server
    refuses.
    """
    from nodelint.fit.daemons_around import find_daemons_around
    from nodelint.fit.other_capacity import OtherCapacity
    from nodelint.fit.tree import Tree
    from nodelint.inventory import read_inventory
    from nodelint.lint.workloads import read_texts
    from nodelint.model.cluster_objects import ClusterObject
    from nodelint.model.documents import objects
    from nodelint.model.manifest import EC2NodeClass, NodeOverlay, NodePool, served

    session = session_of(settings, runs_rules=False)
    inventory = session.keep_requested(read_inventory(found), found)
    judged, of_auto_mode = list(inventory.objects()), list(inventory.auto_mode_objects())
    written = [o for o in (*judged, *of_auto_mode) if isinstance(o, NodePool)]
    context_objects = [obj for source in session.beside(judged, found) for obj in objects(source)]
    choose = session.choose(found)
    target = session.target(choose=choose)
    newest = {o: targets[-1] for o in written if not o.partial and (targets := target.for_object(o))}
    pools = [pool for pool, chosen_target in newest.items() if served(pool, chosen_target.karpenter)]
    gaps = say_gaps(found, inventory, providers=("auto-mode",))
    others = [o for source in inventory.sources for o in objects(source, more=True)]
    absent = {id(o) for o in say_switched_off([*judged, *of_auto_mode, *others], "left out")}
    if not pools:
        stop(*_list_unread(found), _say_why_no_pool(written, newest))
    pools = [pool for pool in pools if id(pool) not in absent] or stop("no NodePool that Terraform creates")
    classes = [o for o in (*judged, *context_objects) if isinstance(o, EC2NodeClass)]
    facts, _ = facts_for(fact_flags, session, paths, classes, choose)
    overlays = [o for o in others if isinstance(o, NodeOverlay) and id(o) not in absent]
    every = [*judged, *context_objects, *overlays]
    context_of = _find_contexts(newest, facts, every, of_auto_mode)
    resolutions = [context_of(pool).resolution_with_overlays(pool) for pool in pools]
    tree = Tree(
        resolutions,
        [o for o in others if isinstance(o, ClusterObject) and id(o) not in absent],
        overlays,
        lambda pool: context_of(pool).policies(pool),
        OtherCapacity(
            read_texts(found.node_groups),
            _find_unread(gaps),
            _list_unjudged(inventory, pools, absent),
            _resolve_built_in(pools, context_of),
        ),
        find_daemons_around(found, settings.paths_left_out, settings.paths_read_too),
    )
    return tree, lambda: say_refused(pools, context_of)


def _find_contexts(
    newest: Mapping[NodePool, Target], facts: AwsFacts, every: Sequence[Object], of_auto_mode: Sequence[Object]
) -> Callable[[NodePool], Context]:
    """Return a function that returns the context of a pool. Pools of one release share a context."""
    from nodelint.rule.context import Context

    of_releases = {own.releases: own._replace(facts=facts) for own in newest.values()}
    contexts = {key: Context(every, own, foreign=of_auto_mode) for key, own in of_releases.items()}
    return lambda pool: contexts[newest[pool].releases]


def _resolve_built_in(pools: Sequence[NodePool], context_of: Callable[[NodePool], Context]) -> list[EmptyPool]:
    """Return the built-in NodePools of EKS Auto Mode, if the files have NodePools of EKS Auto Mode."""
    ours = next((pool for pool in pools if pool.provider == "auto-mode"), None)
    if ours is None:
        return []
    from nodelint.fit.built_in import built_in_pools
    from nodelint.fit.pools import EmptyPool

    named = {pool.name for pool in pools}
    built_in = [pool for pool in built_in_pools() if pool.name not in named]
    return [EmptyPool(context_of(ours).resolution(pool)) for pool in built_in]


def _list_unjudged(inventory: Inventory, pools: Sequence[NodePool], absent: Set[int]) -> list[NodePool]:
    """Return the NodePools that are not compared with pods, without those that Terraform does not create."""
    from nodelint.fit.unjudged import list_unjudged
    from nodelint.model.documents import objects

    written = (o for source in inventory.sources for o in objects(source, foreign=True, more=True))
    rendered = inventory.rendered_inputs
    left = (o for o in written if not (o.of_values and os.path.abspath(o.source.path) in rendered))
    return list_unjudged((o for o in left if id(o) not in absent), pools)


def _chosen(tree: Tree, wanted: str | None) -> list[Any]:
    """Return the requested workloads; end the run if there is none with this name."""
    if wanted is None:
        return tree.workloads
    kind, _, name = wanted.rpartition("/")
    chosen = [w for w in tree.workloads if w.name == name and kind.lower() in ("", w.kind.lower())]
    if not chosen:
        there = sorted({w.label for w in tree.workloads if isinstance(w.name, str)})
        from nodelint.model.messages import list_first

        present = f"they contain {list_first(there, 10)}" if there else "they contain no workloads"
        stop(f"the files contain no workload `{wanted}`; {present}")
    return chosen
