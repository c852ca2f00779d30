"""What `nodelint plan` does with its flags and configuration."""

from __future__ import annotations

import os
import sys

from nodelint.commands import (
    CLEAN,
    FOUND,
    UNUSABLE,
    echo,
    misread,
    now,
    say,
    say_unknown,
    settings_of,
    stop,
    stop_where_none_is_there,
    unreadable,
)
from nodelint.commands._flags import FactFlags
from nodelint.commands._lint_setup import judge_of, judging
from nodelint.commands._output import Output, outputs_of
from nodelint.commands._revisions import Read, applied, read_side, renamed
from nodelint.commands._terminal import look
from nodelint.files.safe_read import count_as_repositories, error_reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Unpack

    from nodelint.commands._flags import PlanSettingFlags
    from nodelint.config.release_selection import Choose
    from nodelint.config.session import Session
    from nodelint.config.settings import Settings
    from nodelint.drift.cluster import Cluster
    from nodelint.forms.terraform.switched_off import Address
    from nodelint.lint.engine import LintRequest, Report
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan import Absorbed, Plan, PlanOptions, ReleaseMove, Side, UnreadFiles
    from nodelint.releases.release_choice import Chosen
    from nodelint.report.plan_blocks import Findings

GATES = ("drift", "launch", "error", "never")


def plan_change(
    paths: Sequence[str],
    against: str | None,
    old: str | None,
    live: str | None,
    outputs: Sequence[Output],
    output: str | None,
    gate: str,
    **flags: Unpack[PlanSettingFlags],
) -> None:
    """Read both sides, compare them, and tell; ends the run. `flags` are settings, and which facts are used."""
    if against is not None and old is not None:
        stop("--against and --old exclude each other: both name the old side")
    wanted = outputs_of(outputs, output)
    settings = settings_of(flags, paths)
    if old is not None:
        _stop_without_a_side(old, paths)
    cluster = None
    if live is not None:
        from nodelint.commands._live import cluster_of

        cluster = cluster_of(live, workloads=True)
    requested = paths or (".",)
    if old is not None:
        count_as_repositories([_root([old]), _root(requested)])
        try:
            was = read_side([old], settings, _root([old]), whole=True)
            new, plan, findings = _compare(was, requested, settings, cluster, whole=True)
        finally:
            count_as_repositories(())
    else:
        from nodelint.commands._old_revision import revision

        with revision(against, requested, settings) as (into, inside, above):
            if not inside:  # a path that only the revision has is one that this branch deletes
                stop_where_none_is_there(*paths)
            was = read_side(inside, settings, into)._replace(above=above)
            new, plan, findings = _compare(was, requested, settings, cluster)
    bad = _write_outputs(wanted, plan, findings)
    for path, reason in bad:
        say(f"{path}: {reason}")
    unreadable(new.found)
    unreadable(was.found)
    unread = new.found.unreadable or was.found.unreadable or misread([*was.found.sources, *new.found.sources])
    named = {*paths, *([old] if old is not None else ())}
    is_missing = any(path in named for path, _ in (*new.found.unreadable, *was.found.unreadable))
    # A file that could not be read hides no verdict about the others; without a side there is no verdict.
    if not is_missing and _fails(plan, findings, gate):
        sys.exit(FOUND)
    sys.exit(UNUSABLE if bad or unread else CLEAN)


def _stop_without_a_side(old: str, paths: Sequence[str]) -> None:
    """End the run where a side of the comparison is not there: without it there is no plan."""
    if old != "-" and not os.path.lexists(old):
        stop(f"--old {old}: no such file or directory")
    stop_where_none_is_there(*paths)


def _write_outputs(wanted: Sequence[Output], plan: Plan, findings: Findings) -> list[tuple[str, str]]:
    """Give out the plan in all formats; the files that could not be written, with the reason."""
    bad = []
    for form, path in wanted:
        text = _rendered(form, plan, findings, to_file=path is not None)
        if path is None:
            echo(text, nl=False)
            continue
        from nodelint.files.atomic_write import replace

        try:
            replace(path, text.encode("utf-8", "replace"))
        except OSError as error:
            bad.append((path, f"not written: {error_reason(error)}"))
    return bad


def _rendered(form: str, plan: Plan, findings: Findings, to_file: bool) -> str:
    if form == "json":
        import json

        from nodelint.report.plan_json import plan_json

        return json.dumps(plan_json(plan, findings), indent=2) + "\n"
    if form == "markdown":
        from nodelint.report.plan_markdown import plan_markdown

        return plan_markdown(plan, findings, os.environ.get("NODELINT_LINKS"))
    if form == "html":
        from nodelint.report.plan_html import plan_html

        return plan_html(plan, findings)
    from nodelint.report.plan_text import plan_text
    from nodelint.report.style import PAGE

    return plan_text(plan, findings, PAGE if to_file else look(page=True)) + "\n"


def _compare(
    was: Read, paths: Sequence[str], settings: Settings, cluster: Cluster | None, whole: bool = False
) -> tuple[Read, Plan, Findings]:
    """Read the new side and compare it with the old one; `whole` is that of `read_side`."""
    new = read_side(paths, settings, was.above or _root(paths), whole=whole, other=was)
    plan, findings = _planned(was, new, settings, paths, cluster)
    renamed(was, plan, findings)
    return new, plan, findings


def _root(paths: Sequence[str]) -> str:
    """The folder from which the files of a side are compared with those of the other."""
    first = os.path.normpath(paths[0])
    folder = first if os.path.isdir(first) else os.path.dirname(first)
    return folder or os.curdir


def _planned(
    was: Read, new: Read, settings: Settings, paths: Sequence[str], cluster: Cluster | None
) -> tuple[Plan, Findings]:
    from nodelint.apiserver import Schemas
    from nodelint.commands._not_compared import unread_places
    from nodelint.commands._planned_workloads import workload_changes
    from nodelint.commands._unread_files import find_unread_files
    from nodelint.commands._workloads import add_workloads
    from nodelint.plan import PlanOptions, make_each

    ready = judging(new.found, FactFlags(False, None, None), settings, paths, new.built)
    facts = ready.target.facts
    region = facts.region.name if facts.region is not None else "us-east-1"
    schemas = ready.target.schemas or Schemas.bundled()
    options = PlanOptions(
        settings.karpenter,
        settings.kubernetes,
        schemas,
        ready.target.facts,
        ready.target.facts,
        region,
        now(),
        cluster,
    )
    chosen = ready.session.choose(was.found), ready.target.choose
    named = settings.karpenter_named, settings.kubernetes is not None
    unread = find_unread_files(was, new)
    plan = make_each(
        _side(was, new),
        _side(new, was),
        options,
        lambda old, new: _own_options(options, (old, new), chosen, named),
        unread,
    )
    say_unknown(pool.release for pool in plan.pools if pool.release is not None)
    plan = plan._replace(absorbed=_absorbed(plan, *chosen, ready.session))
    if not named[0]:
        plan = plan._replace(moves=(*plan.moves, *_karpenter_moves(plan, (was, new), chosen)))
    if not unread.files:
        absent = _list_switched_off(was, new) | _list_switched_off(new, was)
        plan = plan._replace(workloads=workload_changes((was, new), absent, plan.options, settings))
    add_workloads(was.found, ready.session, was.inventory.objects())
    then = ready.request._replace(target=ready.target._replace(choose=chosen[0]), context_sources=was.beside)
    before, after = _judge_sides(was, new, (then, ready.request), settings)
    unread_now = unread_places((before, after), (was, new), plan.uncompared, unread)
    places = (*unread_now, *_find_gaps(was, new, settings, plan, unread))
    return plan.with_places(places), _compared((before, after), (was, new), unread)


def _find_gaps(was: Read, new: Read, settings: Settings, plan: Plan, unread: UnreadFiles) -> Iterator[Gap]:
    """Yield what differs between the sides and may change pools and classes in a way that is not known."""
    from nodelint.commands._changed_gaps import find_changed_gaps
    from nodelint.commands._changed_inputs import find_changed_inputs
    from nodelint.commands._values_elsewhere import find_changes_elsewhere

    yield from find_changes_elsewhere(was, new)
    yield from find_changed_inputs(was, new, plan)
    yield from find_changed_gaps(was, new, settings, plan, unread)


def _judge_sides(
    was: Read, new: Read, requests: tuple[LintRequest, LintRequest], settings: Settings
) -> tuple[Report, Report]:
    """What `check` says of both sides. What is the same on both is judged once, where that can be told."""
    from nodelint.plan.twins import match_twins

    then, request = requests
    twins = None
    if not (request.target.facts or request.target.choose or then.target.choose):
        # With the files of workloads, which are found once the pools are known.
        sides = ((read.inventory._replace(files=read.found.sources), read.beside, read.root) for read in (was, new))
        twins = match_twins(*sides)
    old_side, new_side = was.found.sources, new.found.sources
    if twins is None:
        before = judge_of(was.built, settings.jobs, was.inventory)(old_side, then)
        return before, judge_of(new.built, settings.jobs, new.inventory)(new_side, request)
    from nodelint.lint.incremental import ResultCaches

    memory = ResultCaches()
    after = judge_of(new.built, settings.jobs, new.inventory, memory)(new_side, request)
    return judge_of(was.built, settings.jobs, was.inventory, memory.carry_over(twins))(old_side, then), after


def _own_options(
    options: PlanOptions,
    pair: tuple[Object | None, Object | None],
    choose: tuple[Choose | None, Choose | None],
    named: tuple[bool, bool],
) -> PlanOptions:
    """The options with the releases that the files beside an object state; of several the newest.

    `named` says whether a flag or the configuration names the releases of Karpenter and of Kubernetes.
    """
    before, after = (_chosen(by, obj) for by, obj in zip(choose, pair, strict=True))
    chosen = after or before
    if chosen is None:
        return options
    from nodelint.plan.releases import kubernetes_move

    moved = kubernetes_move(before, after) if before and after and not named[1] else None
    upgraded = None
    is_stated = not any(choice is None or choice.assumed or choice.not_known for choice in (before, after))
    if before and after and is_stated and not named[0]:
        releases = before.karpenter.last, after.karpenter.last
        upgraded = releases if releases[0] < releases[1] else None
    return options._replace(
        release=chosen.karpenter.last, kubernetes=chosen.kubernetes, moved=moved, upgraded=upgraded
    )


def _chosen(choose: Choose | None, obj: Object | None) -> Chosen | None:
    """The newest releases that an object is judged for; None where the files state none."""
    found = choose(obj) if choose is not None and obj is not None else ""
    return None if isinstance(found, str) else found[-1]


def _karpenter_moves(
    plan: Plan, sides: tuple[Read, Read], choose: tuple[Choose | None, Choose | None]
) -> list[ReleaseMove]:
    from nodelint.plan.releases import karpenter_moves

    pairs = [(pool.pair.old, pool.pair.new) for pool in plan.pools]
    pairs += [(pair.old, pair.new) for pair in plan.classes]
    pairs += _pair_old_apis(sides)
    both = ((_chosen(choose[0], old), _chosen(choose[1], new)) for old, new in pairs)
    return list(
        dict.fromkeys(karpenter_moves((old, new) for old, new in both if old is not None and new is not None))
    )


def _pair_old_apis(sides: tuple[Read, Read]) -> list[tuple[Object | None, Object | None]]:
    """The objects of v1beta1 as they are written, of which each side has one: a plan compares what they become."""
    found: list[dict[tuple[str, object], list[Object]]] = [{}, {}]
    for by_name, side in zip(found, sides, strict=True):
        for obj in side.inventory.objects():
            by_name.setdefault((obj.kind, obj.name), []).append(obj)
    alone = [{name: objs[0] for name, objs in by_name.items() if len(objs) == 1} for by_name in found]
    return [(old, alone[1].get(name)) for name, old in alone[0].items() if old.version == "v1beta1"]


def _absorbed(plan: Plan, old_of: Choose | None, new_of: Choose | None, session: Session) -> tuple[Absorbed, ...]:
    """The changed classes for which the files state releases before and after that hash in other ways."""
    from nodelint.plan import Absorbed
    from nodelint.plan.reasons import absorbs

    found = []
    for pair in plan.classes if not session.settings.karpenter_named else ():
        if pair.change != "changed" or pair.old is None or pair.new is None:
            continue
        upgraded = _own_options(plan.options, (pair.old, pair.new), (old_of, new_of), (False, True)).upgraded
        if upgraded is not None and absorbs(pair.new.kind, upgraded):
            found.append(Absorbed(str(pair.new.name), *upgraded))
    return tuple(found)


def _side(read: Read, other: Read) -> Side:
    from nodelint.plan import Side

    return Side(applied(read, other), read.beside, read.root, _list_switched_off(read, other))


def _list_switched_off(read: Read, other: Read) -> frozenset[int]:
    """The ids of objects that a block of Terraform makes on the other side, and not on this one.

    What is switched off on both sides is compared: whoever applies it may switch it on.
    """
    if not any(
        path.endswith((".tf", ".tofu", ".tf.json", ".tofu.json")) for path in (*read.found.seen, *other.found.seen)
    ):
        return frozenset()
    from nodelint.forms.terraform.switched_off import find_addresses

    def place(side: Read, address: Address) -> Address:
        return os.path.relpath(address[0], side.root) if side.root else address[0], *address[1:]

    ours, others = (
        [
            (obj, place(side, address), is_off)
            for obj, address, is_off in find_addresses(list(side.inventory.objects(foreign=True)), side.found.sources)
        ]
        for side in (read, other)
    )
    made = {address for _, address, is_off in others if not is_off}
    return frozenset(id(obj) for obj, address, is_off in ours if is_off and address in made)


def _compared(reports: tuple[Report, Report], sides: tuple[Read, Read], unread: UnreadFiles) -> Findings:
    """The findings that one side alone has."""
    from nodelint.commands._not_compared import comparable_results
    from nodelint.lint.fingerprints import identities
    from nodelint.lint.results import once_in_a_run
    from nodelint.report.plan_blocks import Findings

    results = [comparable_results(report, side, unread) for report, side in zip(reports, sides, strict=True)]
    old, new = (
        dict(zip(identities(found, side.root), found, strict=True))
        for found, side in zip(results, sides, strict=True)
    )
    come = [result for mark, result in new.items() if mark not in old]
    gone = [result for mark, result in old.items() if mark not in new]
    # An object that has moved to another file takes its findings with it.
    come_marks, gone_marks = (identities(results, located=False) for results in (come, gone))
    new_places, old_places = (
        [result for mark, result in zip(marks, found, strict=True) if mark not in others]
        for marks, found, others in ((come_marks, come, gone_marks), (gone_marks, gone, come_marks))
    )
    return Findings(tuple(once_in_a_run(new_places)), tuple(once_in_a_run(old_places)))


def _fails(plan: Plan, findings: Findings, gate: str) -> bool:
    """Whether a plan is stopped by a gate; each gate is stopped by what the graver ones are, too."""
    if gate == "never":
        return False
    wrong = any(result.severity == "error" for result in findings.new) or any(pool.refused for pool in plan.pools)
    wrong = wrong or any(class_plan.refused for class_plan in plan.class_plans)
    empty = any(pool.launches_nothing for pool in plan.pools)
    return wrong or (gate != "error" and empty) or (gate == "drift" and plan.endangers_nodes)
