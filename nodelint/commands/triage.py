"""`nodelint triage`: a controller's log, or a cluster's events and conditions, sorted by cause."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import BinaryIO

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import (
    discovered,
    exclude,
    output_format,
    settings_of,
    unread,
    unreadable,
    versions,
)
from nodelint.commands._console import CLEAN, FAULT, FOUND, UNUSABLE, echo, echo_json, say, stop
from nodelint.commands._facts import facts_options
from nodelint.commands._flags import FactFlags
from nodelint.commands._help import GroupedCommand
from nodelint.commands._shell_completion import files
from nodelint.commands._terminal import colour_option, look
from nodelint.files.safe_read import error_reason
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from typing import Unpack

    from nodelint.commands._flags import TriageFlags
    from nodelint.config.settings import Settings
    from nodelint.lint.engine import Report
    from nodelint.triage import Triage

_EXIT = """
\b
Exit codes:
  0  no error that stays until you act
  1  an error that stays
  2  wrong usage, a path that could not be read, or text without a line of
     Karpenter's
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.argument("file", default="-", metavar="[FILE|-]", shell_complete=files)
@click.option(
    "--manifests",
    multiple=True,
    metavar="PATH",
    shell_complete=files,
    help="Also check these manifests, and show findings that explain an error. Repeatable.",
)
@output_format
@exclude
@facts_options
@colour_option
@versions
def command(file: str, manifests: Sequence[str], form: str, **flags: Unpack[TriageFlags]) -> None:
    """Group the errors of a Karpenter controller by cause: errors that stay, and errors that pass by
    themselves.

    FILE is a log of one or more controllers, from kubectl, stern, a container runtime or a log collector; the
    output of `kubectl get events` or `kubectl describe`; NodeClaims, NodePools and EC2NodeClasses with their
    status; or a single message. Without FILE, or with -, triage reads standard input. A log states its
    release; for other inputs name it with --karpenter-version.

    \b
    Examples:
      kubectl logs -n kube-system deploy/karpenter | nodelint triage
      nodelint triage controller.log --manifests clusters/prod
      kubectl get events -A | nodelint triage --karpenter-version 1.6
    """
    fact_flags = FactFlags.read(flags)
    if fact_flags.live and not manifests:
        stop("--live asks AWS about manifests: name them with --manifests")
    settings = settings_of(flags, manifests)
    read = _read(file, settings)
    faults: tuple[str, ...] = ()
    bad_path = False
    if manifests:
        from nodelint.triage import with_findings

        report, bad_path = _findings(manifests, fact_flags, settings, read)
        read = with_findings(read, report)
        faults = report.faults
    if form == "json":
        from nodelint.report.triage import triage_json

        echo_json(triage_json(read, file))
    else:
        from nodelint.report.triage import triage_text

        echo(triage_text(read, file, look(page=True)))
    for fault in faults:
        say(fault)
    if faults:
        sys.exit(FAULT)
    if bad_path:
        sys.exit(UNUSABLE)
    sys.exit(FOUND if read.stays else CLEAN)


def _read(file: str, settings: Settings) -> Triage:
    from nodelint.triage import NoLog, bounded, triage

    release = settings.karpenter if settings.karpenter_named else None
    name = "standard input" if file == "-" else file
    try:
        with _opened(file) as stream:
            return triage(bounded(stream), release)
    except OSError as error:
        stop(f"{name}: {error_reason(error)}")
    except NoLog as error:
        stop(f"{name} {error}")


def _opened(file: str) -> BinaryIO:
    if file != "-":
        return open(file, "rb")
    if sys.stdin is None:
        stop("standard input is closed")
    if sys.stdin.isatty():
        say("reading a log or events from standard input; end it with Ctrl-D")
    return sys.stdin.buffer


def _findings(paths: Sequence[str], fact_flags: FactFlags, settings: Settings, read: Triage) -> tuple[Report, bool]:
    """Return the report on the manifests for the release of the log, and whether a path is unreadable.

    The fixes are those that `check` offers.
    """
    from nodelint.commands._lint_setup import judge_of, judging, prover_of
    from nodelint.model.releases import OLDEST

    found = discovered(paths, settings)
    if read.newest_release is not None:
        settings = settings._replace(release=max(read.newest_release, OLDEST))
    ready = judging(found, fact_flags, settings, paths)
    report = judge_of(settings.jobs, ready.inventory)(found.sources, ready.request)
    report = prover_of(ready).offered(found.sources, report)
    found.unreadable += unread(found, "not judged")
    unreadable(found)
    if not report.objects and not found.unreadable:
        say(f"no NodePool or EC2NodeClass in {counted(found.files, 'file')} of --manifests")
    return report, bool(found.unreadable)
