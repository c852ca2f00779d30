"""Compare both sides of a change: the effect on pools and classes, what is not known, and the findings of `check`."""

from __future__ import annotations

import os

from nodelint.apiserver import Schemas
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.forms.registry import TABLE
from nodelint.forms.requests import IS_ALWAYS
from nodelint.model.finding import span_of
from nodelint.plan.each_release import make_each
from nodelint.plan.outcome import Absorbed, Findings, PlanOptions
from nodelint.plan.read_side import Read, applied, renamed
from nodelint.plan.reasons import absorbs
from nodelint.plan.releases import StatedLines, karpenter_moves, kubernetes_move
from nodelint.plan.sides import Side
from nodelint.plan.uncompared import uncompared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from nodelint.config.release_selection import Choose
    from nodelint.config.session import Session
    from nodelint.config.settings import Settings
    from nodelint.drift.cluster import Cluster
    from nodelint.files.folders import Discovery
    from nodelint.forms.requests import BlockAddress
    from nodelint.lint.autofix import Judge
    from nodelint.lint.engine import LintRequest, Report
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan.outcome import Plan, ReleaseMove
    from nodelint.plan.unread import UnreadFiles
    from nodelint.releases.release_choice import Chosen


class PlanRequest(NamedTuple):
    """The request for a plan: the configuration, the request of `check` for the new side, and the functions that
    judge sides.

    `old_settings` are the settings of the session for the paths of the old side. `judge_of` returns the function that
    judges a side, for its inventory. `discover` returns the files in some paths that a pattern matches. `cluster` is
    the state of the running cluster.
    """

    session: Session
    old_settings: Settings
    lint: LintRequest
    judge_of: Callable[..., Judge]
    discover: Callable[[Sequence[str], str], Discovery]
    now: datetime
    cluster: Cluster | None = None


def compare(was: Read, new: Read, request: PlanRequest) -> tuple[Plan, Findings]:
    """Return the effect of a change on a fleet, and the findings that only one side has."""
    from nodelint.lint.workloads import add_workloads
    from nodelint.plan.changed_clusters import find_changed_clusters
    from nodelint.plan.changed_places import move_reasons
    from nodelint.plan.gone_instances import delete_gone
    from nodelint.plan.not_compared import list_one_sided, unread_places
    from nodelint.plan.suspended import note_suspended
    from nodelint.plan.unread_files import find_unread_files
    from nodelint.plan.workload_trees import list_never_used, plan_with_cost, trees_of, workload_changes

    session, lint, settings = request.session, request.lint, request.session.settings
    options = _options(request)
    old_session = session.for_old_side(request.old_settings)
    chosen = old_session.choose(was.found), lint.target.choose
    named = settings.karpenter_named, settings.kubernetes is not None
    unread = find_unread_files(was, new)
    switched_off, never_created = _list_absent(was, new)
    lines = StatedLines(was, new)
    plan = make_each(
        _side(was, new, switched_off[0]),
        _side(new, was, switched_off[1]),
        options,
        lambda old, new: _own_options(options, (old, new), chosen, named, lines),
        unread,
    )
    plan = plan._replace(absorbed=_absorbed(plan, chosen, session, lines))
    if not named[0]:
        plan = plan._replace(moves=(*plan.moves, *_karpenter_moves(plan, (was, new), chosen, lines)))
    if not unread.files:
        absent = switched_off[0] | switched_off[1] | list_never_used(plan)
        trees = trees_of((was, new), absent, plan.options, request.discover)
        plan = plan_with_cost(plan._replace(workloads=workload_changes((was, new), trees, plan)), trees)
    add_workloads(was.found, lint.rules, old_session.selection, was.inventory.objects())
    old_target = old_session.target(lint.target.facts, chosen[0])
    then = lint._replace(target=old_target, selection=old_session.selection, context_sources=was.beside)
    before, after = _judge_sides(was, new, (then, lint), request.judge_of)
    unread_gaps = list(unread_places((before, after), (was, new), plan.uncompared, unread))
    changed_clusters = () if named[1] else find_changed_clusters(was, new, plan)
    plan, gaps = delete_gone(plan, (*_find_gaps(was, new, plan, unread), *changed_clusters))
    plan = move_reasons(was, new, plan)
    places = (*never_created, *unread_gaps, *gaps)
    named_places = [*plan.uncompared, *places]
    places = (*places, *list_one_sided((was, new), named_places))
    plan, findings = note_suspended(new, plan.with_places(places)), _compared((before, after), (was, new), unread)
    renamed(was, plan, findings)
    return plan, findings


def _options(request: PlanRequest) -> PlanOptions:
    target, settings = request.lint.target, request.session.settings
    region = target.facts.region.name if target.facts.region is not None else "us-east-1"
    schemas = target.schemas or Schemas.bundled()
    return PlanOptions(
        settings.karpenter,
        settings.kubernetes,
        schemas,
        target.facts,
        target.facts,
        region,
        request.now,
        request.cluster,
        stated=target.stated,
    )


def _find_gaps(was: Read, new: Read, plan: Plan, unread: UnreadFiles) -> Iterator[Gap]:
    """Yield the differences between the sides that may change pools and classes in an unknown way."""
    from nodelint.plan.changed_gaps import find_changed_gaps
    from nodelint.plan.changed_inputs import find_changed_inputs
    from nodelint.plan.changed_variables import find_changed_variables
    from nodelint.plan.edited_manifests import find_changed_edits
    from nodelint.plan.gone_appliers import find_gone_appliers
    from nodelint.plan.recreated_objects import find_recreated
    from nodelint.plan.values_elsewhere import find_changes_elsewhere

    yield from find_changes_elsewhere(was, new)
    yield from find_changed_edits(was, new)
    yield from find_changed_inputs(was, new, plan, unread.stopped)
    yield from find_changed_variables(was, new, plan, unread)
    yield from find_changed_gaps(was, new, plan, unread)
    pairs = (*(pool.pair for pool in plan.pools), *plan.classes)
    deleted = [f"{p.old.kind} {p.old.name}" for p in pairs if p.old is not None and p.change == "removed"]
    yield from find_gone_appliers(was, new, {gap.subject for gap in unread.files}, deleted)
    # A block in a file that one side cannot read may still exist.
    lost = {os.path.normpath(os.path.join(side.root, gap.subject)) for side in (was, new) for gap in unread.files}
    for gap in find_recreated(was, new, unread.stopped):
        if os.path.normpath(span_of(gap.at).source.path) not in lost:
            yield gap


def _judge_sides(
    was: Read, new: Read, requests: tuple[LintRequest, LintRequest], judge_of: Callable[..., Judge]
) -> tuple[Report, Report]:
    """Return the reports of `check` for both sides. Objects that are equal on both sides are judged once, if
    possible.
    """
    from nodelint.plan.unchanged_objects import match_unchanged

    then, request = requests
    unchanged = None
    if not (request.target.facts or request.target.choose or then.target.choose):
        # The files include those of workloads, which are found after the pools.
        sides = ((read.inventory._replace(files=read.found.sources), read.beside, read.root) for read in (was, new))
        unchanged = match_unchanged(*sides)
    old_side, new_side = was.found.sources, new.found.sources
    if unchanged is None:
        before = judge_of(was.inventory)(old_side, then)
        return before, judge_of(new.inventory)(new_side, request)
    from nodelint.lint.incremental import ResultCaches

    memory = ResultCaches()
    after = judge_of(new.inventory, memory)(new_side, request)
    return judge_of(was.inventory, memory.carry_over(unchanged))(old_side, then), after


def _own_options(
    options: PlanOptions,
    pair: tuple[Object | None, Object | None],
    choose: tuple[Choose | None, Choose | None],
    named: tuple[bool, bool],
    lines: StatedLines,
) -> PlanOptions:
    """Return the options with the releases that files near an object state. If there are several, with the newest.

    `named` says whether an option or the configuration names the releases of Karpenter and of Kubernetes.
    """
    before, after = (_chosen(by, obj) for by, obj in zip(choose, pair, strict=True))
    chosen = after or before
    if chosen is None:
        return options
    moved = kubernetes_move(before, after, lines) if before and after and not named[1] else None
    upgraded = None
    is_stated = not any(choice is None or choice.assumed or choice.not_known for choice in (before, after))
    if before and after and is_stated and not named[0]:
        releases = before.karpenter.last, after.karpenter.last
        is_moved = releases[0] < releases[1] and not lines.is_reassigned(before.karpenter_from, after.karpenter_from)
        upgraded = releases if is_moved else None
    return options._replace(
        release=chosen.karpenter.last, kubernetes=chosen.kubernetes, moved=moved, upgraded=upgraded
    )


def _chosen(choose: Choose | None, obj: Object | None) -> Chosen | None:
    """Return the newest Karpenter and Kubernetes release for which an object is judged.

    None if there is no object, or if no release is known for it.
    """
    found = choose(obj) if choose is not None and obj is not None else ""
    return None if isinstance(found, str) else found[-1]


def _karpenter_moves(
    plan: Plan, sides: tuple[Read, Read], choose: tuple[Choose | None, Choose | None], lines: StatedLines
) -> list[ReleaseMove]:
    pairs = [(pool.pair.old, pool.pair.new) for pool in plan.pools]
    pairs += [(pair.old, pair.new) for pair in plan.classes]
    pairs += _pair_old_apis(sides)
    both = ((_chosen(choose[0], old), _chosen(choose[1], new)) for old, new in pairs)
    return list(
        dict.fromkeys(
            karpenter_moves(((old, new) for old, new in both if old is not None and new is not None), lines)
        )
    )


def _pair_old_apis(sides: tuple[Read, Read]) -> list[tuple[Object | None, Object | None]]:
    """Return the v1beta1 objects as written that each side has once. A plan itself compares the objects after
    conversion to v1.
    """
    found: list[dict[tuple[str, object], list[Object]]] = [{}, {}]
    for by_name, side in zip(found, sides, strict=True):
        for obj in side.inventory.objects():
            by_name.setdefault((obj.kind, obj.name), []).append(obj)
    alone = [{name: objs[0] for name, objs in by_name.items() if len(objs) == 1} for by_name in found]
    return [(old, alone[1].get(name)) for name, old in alone[0].items() if old.version == "v1beta1"]


def _absorbed(
    plan: Plan, choose: tuple[Choose | None, Choose | None], session: Session, lines: StatedLines
) -> tuple[Absorbed, ...]:
    """Return the changed classes for which the files state an upgrade to a release with another hash version."""
    found = []
    for pair in plan.classes if not session.settings.karpenter_named else ():
        if pair.change != "changed" or pair.old is None or pair.new is None:
            continue
        upgraded = _own_options(plan.options, (pair.old, pair.new), choose, (False, True), lines).upgraded
        if upgraded is not None and absorbs(pair.new.kind, upgraded):
            found.append(Absorbed(str(pair.new.name), *upgraded))
    return tuple(found)


def _side(read: Read, other: Read, switched_off: frozenset[int]) -> Side:
    return Side(applied(read, other), read.beside, read.root, switched_off)


def _list_absent(was: Read, new: Read) -> tuple[list[frozenset[int]], list[Gap]]:
    """Return the ids of the objects of each side that are not compared, because nothing creates them or Terraform
    leaves them as they are. Return also gaps for them.
    """
    from nodelint.plan.gone_appliers import list_left_out
    from nodelint.plan.kept_objects import find_kept

    *switched_off, never_created = _list_switched_off(was, new)
    left_alone, gaps = find_kept(was, new)
    absent = [off | list_left_out(side) | left_alone for off, side in zip(switched_off, (was, new), strict=True)]
    return absent, [*never_created, *gaps]


def _list_switched_off(was: Read, new: Read) -> tuple[frozenset[int], frozenset[int], list[Gap]]:
    """Return, for each side, the ids of objects that a Terraform block or a chart creates on the other side, and not
    there, and of objects of blocks with a literal `count` of 0. Return also gaps for the latter.

    Other objects that are disabled on both sides are compared: whoever applies the files may enable them.
    """
    rows = TABLE.of_languages((*was.found.seen, *new.found.seen))
    if any(built.values is not None for side in (was, new) for built in side.inventory.built):
        rows += [row for row in TABLE.rows if row.folders and row not in rows]
    if not rows:
        return frozenset(), frozenset(), []

    def place(side: Read, address: BlockAddress) -> BlockAddress:
        return address._replace(path=os.path.relpath(address.path, side.root)) if side.root else address

    sides = [
        [
            (obj, place(side, address), is_off)
            for objects in (list(side.inventory.objects(foreign=True)),)
            for row in rows
            for obj, address, is_off in row.load().find_addresses(objects, side.found.sources)
        ]
        for side in (was, new)
    ]
    made = [{address for _, address, is_off in found if not is_off} for found in sides]
    before, after = (
        frozenset(id(obj) for obj, address, is_off in ours if is_off and (address in others or IS_ALWAYS in is_off))
        for ours, others in zip(sides, reversed(made), strict=True)
    )
    never = {obj.label: (obj, is_off) for found in sides for obj, _, is_off in found if IS_ALWAYS in is_off}
    gaps = [
        uncompared(obj.name_node, label, f"Terraform does not create it: {reason}", False)
        for label, (obj, reason) in never.items()
    ]
    return before, after, gaps


def _compared(reports: tuple[Report, Report], sides: tuple[Read, Read], unread: UnreadFiles) -> Findings:
    """Return the findings that only one side has."""
    from nodelint.lint.fingerprints import identities
    from nodelint.lint.results import once_in_a_run
    from nodelint.plan.not_compared import comparable_results

    results = [comparable_results(report, side, unread) for report, side in zip(reports, sides, strict=True)]
    old, new = (
        dict(zip(identities(found, side.root), found, strict=True))
        for found, side in zip(results, sides, strict=True)
    )
    come = [result for fingerprint, result in new.items() if fingerprint not in old]
    gone = [result for fingerprint, result in old.items() if fingerprint not in new]
    # The message of the same finding may name another object; an object in another file takes its findings with it.
    for located in (True, False):
        prints = [
            identities(found, side.root, located=located, quoting=not located)
            for found, side in zip((gone, come), sides, strict=True)
        ]
        gone, come = (
            [result for own, result in zip(prints[n], found, strict=True) if own not in prints[1 - n]]
            for n, found in enumerate((gone, come))
        )
    return Findings(tuple(once_in_a_run(come)), tuple(once_in_a_run(gone)))
