"""`nodelint plan`: what a change does to the fleet, before it is merged."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nodelint.commands import (
    CLEAN,
    FOUND,
    UNUSABLE,
    echo,
    echo_json,
    now,
    settings_of,
    stop,
    unreadable,
    versions,
)
from nodelint.commands._completing import files
from nodelint.commands._facts import Asked
from nodelint.commands._judging import judging_options
from nodelint.commands._live import cluster_of, live_option
from nodelint.commands._sides import Read, read_side, renamed, revision
from nodelint.commands.hash import misread

if TYPE_CHECKING:
    from nodelint.commands._judging import Judging
    from nodelint.drift.cluster import Cluster
    from nodelint.lint.config import Settings
    from nodelint.lint.engine import Report
    from nodelint.plan import Plan, Side
    from nodelint.report.plan_json import Findings

_EXIT = """
\b
Exit codes:
  0  nothing at or above --fail-on
  1  something: for `drift` nodes are replaced, or may be; for `launch` a pool can launch nothing any more;
     for `error` a new finding of `check`, or an update that the API server refuses
  2  wrong usage, or a path, document or revision that could not be read
"""

GATES = ("drift", "launch", "error", "never")


@click.command(epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", shell_complete=files)
@click.option(
    "--against",
    metavar="REVISION",
    help="The git revision to compare with, read without touching the work tree. Default: where the branch left the"
    " default branch.",
)
@click.option("--old", metavar="DIR", shell_complete=files, help="A folder to compare with, in place of a revision.")
@live_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--fail-on", "gate", type=click.Choice(GATES), default="drift", show_default=True)
@judging_options
@click.option(
    "--snapshot",
    metavar="FILE",
    shell_complete=files,
    help="Facts that `nodelint refresh` wrote. Default: those it has cached for this repository. `bundled` for none.",
)
@click.option("--region", metavar="NAME", help="The AWS region. Default: the snapshot's only one.")
@versions
def command(
    paths: Sequence[str],
    against: str | None,
    old: str | None,
    live: str | None,
    form: str,
    gate: str,
    kustomize: bool,
    helm: bool,
    **flags: Any,
) -> None:
    """Say what a change of manifests does to the fleet: which nodes are replaced, by which line, and why.

    The old side is taken for what the cluster holds, with no node drifted yet; the new side is applied as a whole,
    and what it lacks is deleted.

    \b
    Examples:
      nodelint plan                                    since the branch left the default branch
      nodelint plan clusters/prod --against origin/main
      nodelint plan --old before/ after/ --karpenter-version 1.14.1 --format json
    """
    if against is not None and old is not None:
        stop("--against and --old name two old sides: one of them")
    settings = settings_of(flags)
    cluster = cluster_of(live)
    asked = paths or (".",)
    new = read_side(asked, settings, kustomize, helm, _root(asked) if old is not None else "")
    was = _old_side(asked, settings, kustomize, helm, against, old)
    plan, findings = _planned(was, new, settings, asked, cluster)
    if form == "json":
        from nodelint.report.plan_json import plan_json

        echo_json(plan_json(plan, findings))
    else:
        from nodelint.report.plan_text import plan_text

        echo(plan_text(plan, findings, click.style))
    unreadable(new.found)
    unreadable(was.found)
    if new.found.unreadable or was.found.unreadable or misread([*was.found.sources, *new.found.sources]):
        sys.exit(UNUSABLE)
    sys.exit(FOUND if _fails(plan, findings, gate) else CLEAN)


def _old_side(
    paths: Sequence[str], settings: Settings, kustomize: bool, helm: bool, against: str | None, old: str | None
) -> Read:
    if old is not None:
        return read_side([old], settings, kustomize, helm, _root([old]))
    with revision(against, paths) as (into, inside, above):
        read = read_side(inside, settings, kustomize, helm)
        renamed(read, into, above)
        return read


def _root(paths: Sequence[str]) -> str:
    """The folder from which the files of a side are compared with those of the other."""
    first = os.path.normpath(paths[0])
    folder = first if os.path.isdir(first) else os.path.dirname(first)
    return "" if folder in ("", os.curdir) else folder.replace(os.sep, "/")


def _planned(
    was: Read, new: Read, settings: Settings, paths: Sequence[str], cluster: Cluster | None
) -> tuple[Plan, Findings]:
    from nodelint.apiserver import Schemas
    from nodelint.commands._judging import judge_of, judging
    from nodelint.plan import Aim, make

    ready = judging(new.found, Asked(False, None, None), settings, paths)
    region = ready.facts.region.name if ready.facts.region is not None else "us-east-1"
    schemas = ready.target.schemas or Schemas.bundled()
    aim = Aim(settings.karpenter, settings.kubernetes, schemas, ready.facts, ready.facts, region, now(), cluster)
    plan = make(_side(was), _side(new), aim)
    before = judge_of(was.built)(was.found.sources, ready.target, ready.rules, ready.selection, was.beside)
    after = judge_of(new.built)(new.found.sources, *ready.how)
    return plan, _compared(before, after, was.root, new.root, ready)


def _side(read: Read) -> Side:
    from nodelint.plan import Side

    return Side(read.results, read.beside, read.root, read.origin)


def _compared(before: Report, after: Report, old_root: str, new_root: str, ready: Judging) -> Findings:
    """The findings that one side alone has."""
    from nodelint.lint.fingerprints import fingerprints
    from nodelint.report.plan_json import Findings

    old = dict(zip(fingerprints(before.results, old_root), before.results, strict=True))
    new = dict(zip(fingerprints(after.results, new_root), after.results, strict=True))
    return Findings(
        tuple(result for mark, result in new.items() if mark not in old),
        tuple(result for mark, result in old.items() if mark not in new),
    )


def _fails(plan: Plan, findings: Findings, gate: str) -> bool:
    """Whether a plan is stopped by a gate; each gate is stopped by what the graver ones are, too."""
    if gate == "never":
        return False
    wrong = any(result.severity == "error" for result in findings.new) or any(each.refused for each in plan.pools)
    empty = any(each.launch.before and each.change == "changed" and not each.launch.after for each in plan.pools)
    replaced = any(each.verdict.replaced != "none" for each in plan.pools)
    return wrong or (gate != "error" and empty) or (gate == "drift" and replaced)
