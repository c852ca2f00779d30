"""The implementation of `nodelint plan`."""

from __future__ import annotations

import os
import sys

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    discovered,
    misread,
    now,
    say_unknown,
    session_of,
    settings_of,
    stop_where_none_is_there,
    unreadable,
)
from nodelint.commands._console import CLEAN, FOUND, UNUSABLE, echo, say, stop
from nodelint.commands._flags import FactFlags
from nodelint.commands._gaps import say_gaps
from nodelint.commands._lint_setup import judge_of, judging_of
from nodelint.commands._output import Output, outputs_of, write_outputs
from nodelint.commands._terminal import look
from nodelint.files.safe_read import count_as_repositories
from nodelint.plan.read_side import Read, is_lost, read_same_context, read_side, root_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from nodelint.commands._flags import PlanSettingFlags
    from nodelint.config.session import Session
    from nodelint.config.settings import Settings
    from nodelint.drift.cluster import Cluster
    from nodelint.files.folders import Discovery
    from nodelint.plan import Plan
    from nodelint.plan.outcome import Findings

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
    """Read both sides, compare them, print the plan, and end the run.

    `flags` are settings and flags about facts.
    """
    if against is not None and old is not None:
        stop("--against and --old cannot be used together: both name the old side")
    wanted = outputs_of(outputs, output)
    settings = settings_of(flags, paths)
    if old is not None:
        _stop_without_a_side(old, paths)
    _say_sides(against, old, live, paths)
    from nodelint.config.session import Session

    session = Session(settings)
    cluster = None
    if live is not None:
        from nodelint.commands._live import cluster_of

        cluster = cluster_of(live, workloads=True)
    requested = paths or (".",)
    was, new, plan, findings = _compare_paths(requested, against, old, session, cluster)
    bad = write_outputs(
        wanted,
        lambda form: _rendered(form, plan, findings, to_file=True),
        lambda form: echo(_rendered(form, plan, findings, to_file=False), nl=False),
    )
    for path, reason in bad:
        say(f"{path}: {reason}")
    say_gaps(new.found, new.inventory, named_paths={place.path for place in plan.uncompared})
    unreadable(new.found)
    unreadable(was.found, new.found.unreadable)
    unread = new.found.unreadable or was.found.unreadable or misread([*was.found.sources, *new.found.sources])
    named = {*paths, *([old] if old is not None else ())}
    is_missing = any(path in named for path, _ in (*new.found.unreadable, *was.found.unreadable))
    is_missing = is_missing or any(is_lost(read) and any(map(os.path.isfile, read.paths)) for read in (was, new))
    # A file that could not be read hides no verdict about the others; without a side there is no verdict.
    if not is_missing and _fails(plan, findings, gate):
        sys.exit(FOUND)
    sys.exit(UNUSABLE if bad or unread else CLEAN)


def _compare_paths(
    requested: Sequence[str], against: str | None, old: str | None, session: Session, cluster: Cluster | None
) -> tuple[Read, Read, Plan, Findings]:
    """Read both sides and compare them. End the run if git does not know the old revision."""
    from nodelint.config.session import Session

    if old is not None:
        count_as_repositories([root_of([old]), root_of(requested)])
        try:
            settings = _settings_of_old(session.settings, *_pair_paths(old, requested))
            was = _read_old([old], Session(settings), root_of([old]), root_of(requested), whole=True)
            return _compare(was, requested, session, settings, cluster, whole=True)
        finally:
            count_as_repositories(())
    from nodelint.files.git.old_revision import UnreadRevision, revision

    try:
        with revision(against, requested, session.settings.paths_read_too) as (into, inside, above):
            if not inside:  # a path that only the revision has is one that this branch deletes
                _stop_at_a_revision(requested)
                stop_where_none_is_there(*requested)
            # A revision holds what git tracks, and no file that it ignores: neither is asked again.
            session = Session(session.settings._replace(respect_gitignore=True))
            settings = _settings_of_old(session.settings, into, above)._replace(respect_gitignore=False)
            was = _read_old(inside, Session(settings), into, above)._replace(above=above)
            compared = _compare(was, requested, session, settings, cluster)
            _forget_deleted(compared[1], requested, inside, (into, above))
            if against is None:
                _say_equal_sides(was, compared[1])
            return compared
    except UnreadRevision as error:
        stop(str(error))


def _forget_deleted(new: Read, requested: Sequence[str], inside: Sequence[str], roots: tuple[str, str]) -> None:
    """Do not count a requested path as unreadable on the new side if only the revision has it: it is deleted.

    `inside` are the requested paths in the folder of the revision. `roots` are this folder and the top of the
    repository.
    """
    for path in (path for path in requested if not os.path.lexists(path)):
        if os.path.normpath(os.path.join(roots[0], os.path.relpath(os.path.realpath(path), roots[1]))) in inside:
            new.found.unreadable[:] = [
                row for row in new.found.unreadable if os.path.normpath(row[0]) != os.path.normpath(path)
            ]


def _pair_paths(old: str, requested: Sequence[str]) -> tuple[str, str]:
    """Return the old and the new path to compare: two files, or the root folders of both sides."""
    if os.path.isfile(old) and os.path.isfile(requested[0]):
        return old, requested[0]
    return root_of([old]), root_of(requested)


def _settings_of_old(settings: Settings, old: str, new: str) -> Settings:
    """Return the settings of the new side, applied to the paths of the old side."""
    return settings._replace(seen_as=(os.path.abspath(old), os.path.abspath(new)))


def _say_sides(against: str | None, old: str | None, live: str | None, paths: Sequence[str]) -> None:
    """Print which sides are compared, if the command line probably means others."""
    if old is not None and not paths:
        say(f"--old {old} is compared with this folder; to compare another one: `nodelint plan --old {old} FOLDER`")
    is_pair = len(paths) == 2 and all(map(os.path.isdir, paths))
    if is_pair and old is None and against is None and live is None:
        first, second = paths
        text = "each folder is compared with its state in git; to compare the first with the second"
        say(f"{text}: `nodelint plan --old {first} {second}`")


def _say_equal_sides(was: Read, new: Read) -> None:
    """Print which commit was compared with itself, if the branch has no commit of its own, and no file differs."""
    from contextlib import suppress

    from nodelint.files.git.git_revision import base, commit
    from nodelint.files.git.repository import GitError, repository

    # The files of a revision have the paths of the work tree.
    texts = [{source.path: source.text for source in side.found.sources} for side in (was, new)]
    if texts[0] != texts[1]:
        return
    with suppress(GitError):
        where = repository(new.root)
        head = commit(where, "HEAD")
        if base(where) == head:
            text = (
                f"commit {head[:7]} is compared with itself: this branch has no commit of its own, and no file here"
            )
            say(f"{text} differs; to compare another one: `nodelint plan --against REVISION`")


def _stop_without_a_side(old: str, paths: Sequence[str]) -> None:
    """End the run if one side of the comparison does not exist."""
    if old != "-" and not os.path.lexists(old):
        way = "name the file or folder from before the change; `--against REVISION` takes it from git"
        stop(f"--old {old}: no such file or directory; {way}")
    stop_where_none_is_there(*paths)


def _stop_at_a_revision(paths: Sequence[str]) -> None:
    """End the run if all paths are names of git revisions: these belong to `--against`."""
    from nodelint.files.git.repository import GitError, ask, repository

    if not paths or any(os.path.lexists(path) or path.startswith("-") for path in paths):
        return
    try:
        for path in paths:
            ask(repository(os.curdir), "rev-parse", "--verify", "--quiet", f"{path.partition('..')[0]}^{{commit}}")
    except GitError:
        return
    stop(f"{paths[0]} is a revision, not a path: use --against {paths[0].partition('..')[0]}")


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
    was: Read,
    paths: Sequence[str],
    session: Session,
    old_settings: Settings,
    cluster: Cluster | None,
    whole: bool = False,
) -> tuple[Read, Read, Plan, Findings]:
    """Read the new side and compare it with the old one; `whole` is passed to `read_side`."""
    from nodelint.lint.workloads import add_workloads
    from nodelint.plan.compare import PlanRequest, compare

    settings = session.settings
    from nodelint.config.session import Session

    new = _read(paths, session, was.above or root_of(paths), whole, was)
    was, new = read_same_context(was, new, (Session(old_settings), session), whole)
    session = session_of(settings)
    add_workloads(new.found, session.rules, session.selection, new.inventory.objects())
    ready = judging_of(new.inventory, new.found, FactFlags(False, None, None), session, paths)
    request = PlanRequest(
        session,
        old_settings,
        ready.request,
        lambda inventory, memory=None: judge_of(settings.jobs, inventory, memory),
        lambda paths, also: _discover_with_workloads(paths, also, was, (old_settings, settings)),
        now(),
        cluster,
    )
    plan, findings = compare(was, new, request)
    say_unknown(pool.release for pool in plan.pools if pool.release is not None)
    return was, new, plan, findings


def _read(paths: Sequence[str], session: Session, root: str, whole: bool = False, other: Read | None = None) -> Read:
    """Read a side. Files with the same content as on the `other` side are parsed once."""
    from nodelint.files.folders import Discovery

    known = None
    if other is not None:
        known = {source.text.encode(errors="replace"): source for source in other.found.sources}
    found = discovered(paths, session.settings, known=known) if paths else Discovery()
    return read_side(found, session, root, paths, whole)


def _read_old(paths: Sequence[str], session: Session, root: str, new_root: str, whole: bool = False) -> Read:
    """Read the old side. Its values files are at the paths of --values, relative to the root of each side."""
    from nodelint.files.folders import Discovery

    settings, top = session.settings, os.path.realpath(new_root)
    found = discovered(paths, settings._replace(values=())) if paths else Discovery()
    moved = (os.path.join(root, os.path.relpath(os.path.realpath(path), top)) for path in settings.values)
    found.values = [path for path in map(os.path.normpath, moved) if os.path.isfile(path)]
    return read_side(found, session, root, paths, whole)


def _discover_with_workloads(
    paths: Sequence[str], also: str, was: Read, settings: tuple[Settings, Settings]
) -> Discovery:
    """Return the files of a side again, with those that match the pattern `also`."""
    if paths is not was.paths:
        return discovered(paths, settings[1], also)
    found = discovered(paths, settings[0]._replace(values=()), also)
    found.values = was.found.values
    return found


def _fails(plan: Plan, findings: Findings, gate: str) -> bool:
    """Return whether a plan fails the gate. Each gate includes the more severe ones."""
    if gate == "never":
        return False
    wrong = any(result.severity == "error" for result in findings.new) or any(pool.refused for pool in plan.pools)
    wrong = wrong or any(class_plan.refused for class_plan in plan.class_plans)
    empty = any(pool.launches_nothing for pool in plan.pools)
    return wrong or (gate != "error" and empty) or (gate == "drift" and plan.endangers_nodes)
