"""The implementation of `nodelint check`."""

from __future__ import annotations

import os
import sys

from nodelint.base.printable import printable
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import discovered, now, say_stated_for_files, say_unknown, settings_of, unreadable
from nodelint.commands._check_fixes import print_diff, read_chosen, write_fixed
from nodelint.commands._console import CLEAN, FAULT, FOUND, LACKING, TRY_AGAIN, UNUSABLE, echo, say, stop
from nodelint.commands._flags import FactFlags
from nodelint.commands._lint_setup import judge_of, judging, known, prover_of
from nodelint.commands._output import Output, OutputOptions, outputs_of, printed
from nodelint.commands._terminal import look
from nodelint.model.messages import PAIR, counted, say_nothing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn, Unpack

    from nodelint.commands._flags import CheckSettingFlags
    from nodelint.commands._lint_setup import Judging
    from nodelint.config.settings import Settings
    from nodelint.files.folders import Discovery
    from nodelint.forms.rendered import Built
    from nodelint.inventory.unread_forms import UnreadGroup
    from nodelint.lint.autofix import Fixed
    from nodelint.lint.baseline import KnownFinding
    from nodelint.lint.chosen_edits import ChosenEdits
    from nodelint.lint.engine import Report, Result
    from nodelint.lint.proven_fixes import ListShown
    from nodelint.text import Source


class _Run(NamedTuple):
    """The settings and findings of a run, for its report.

    `unbuilt` are folders of overlays that are not rendered, `built` are the rendered manifests.
    """

    found: Discovery
    settings: Settings
    require_facts: bool
    all_judged: bool
    outputs: list[Output]
    words: OutputOptions
    unbuilt: frozenset[str] = frozenset()
    built: Sequence[Built] = ()


def check(
    paths: Sequence[str],
    fixing: bool,
    unsafe_fixes: bool,
    chosen: Sequence[str],
    diff: bool,
    outputs: Sequence[Output],
    output: str | None,
    quiet: bool,
    verbose: bool,
    statistics: bool,
    require_facts: bool,
    fail_on_unjudged: bool,
    show: str | None = None,
    show_fixes: bool = False,
    stdin_filename: str | None = None,
    **flags: Unpack[CheckSettingFlags],
) -> None:
    """Read and judge the paths, write fixes, print the report or what `show` names, and end the run."""
    fact_flags, wanted = FactFlags.read(flags), outputs_of(outputs, output)
    if show == "settings":
        _show_settings(flags)
    paths = _with_stdin(paths, stdin_filename)
    settings = settings_of(flags, paths)
    writing = _is_writing(fixing or unsafe_fixes, chosen, diff)
    found = discovered(paths or (".",), settings, named=stdin_filename, filtering=writing)
    words = _with_streams(_read_words(quiet, verbose), settings, writing, paths)
    words = words._replace(statistics=statistics, show_fixes=show_fixes)
    run = _Run(found, settings, require_facts, fail_on_unjudged, wanted, words)
    if not found.sources and not _takes_from_elsewhere(found):
        _nothing(run)
    ready = judging(found, fact_flags, settings, paths)
    say_stated_for_files(found, settings)
    if show == "files":
        _show_files(run, ready)
    run = _with_inventory(run, ready)
    entries = known(ready.session)
    chosen_edits = read_chosen(chosen, ready)
    applied: Sequence[Result] = ()
    refused: Sequence[tuple[Result, str]] = ()
    if diff:
        report, run = _compared(run, ready, unsafe_fixes, chosen_edits)
    elif writing:
        report, applied, refused = _write_fixes(run, ready, _fixed(run, ready, unsafe_fixes, chosen_edits))
    else:
        report, run = _judged(run, ready)
    if entries is not None:
        report, run = _less_known(report, run, entries, paths, ready)
    _tell(run, report, ready, applied, refused)
    _end(run, report)


def _is_writing(all_fixes: bool, chosen: Sequence[str], diff: bool) -> bool:
    """Return whether the run writes fixes. End the run if it would write both all fixes and chosen ones."""
    if chosen and all_fixes:
        stop("--apply writes only what it names: leave out --fix and --unsafe-fixes, or run twice")
    return (all_fixes or bool(chosen)) and not diff


def _with_stdin(paths: Sequence[str], name: str | None) -> Sequence[str]:
    """Return the paths of a run; if standard input has a name, it is one of them.

    End the run if there are other paths without `-`.
    """
    if name is None or "-" in paths:
        return paths
    if paths or not name:
        stop("--stdin-filename is the name of standard input: give `-` as a path too")
    return ("-",)


def _read_words(quiet: bool, verbose: bool) -> OutputOptions:
    """Return the options for the amount of text. End the run if the flags contradict each other."""
    if quiet and verbose:
        stop("--quiet and --verbose cannot be used together")
    return OutputOptions(quiet=quiet, verbose=verbose)


def _with_streams(words: OutputOptions, settings: Settings, writing: bool, paths: Sequence[str]) -> OutputOptions:
    """Return the output options with the stream for the report.

    With `--fix`, standard output carries the fixed text of standard input.
    """
    to_stderr = writing and "-" in paths
    return words._replace(karpenter_named=settings.karpenter_named, writing=writing, to_stderr=to_stderr)


def _with_inventory(run: _Run, ready: Judging) -> _Run:
    """Return the run with its rendered manifests."""
    unbuilt = frozenset(overlay.subject for overlay in ready.inventory.unbuilt)
    return run._replace(unbuilt=unbuilt, built=ready.inventory.built)


_NO_SETTINGS = ("live", "aws_profile", "max_age", "isolated")
"""Flags that have no setting in the configuration."""


def _show_settings(flags: CheckSettingFlags) -> NoReturn:
    """Print the settings from flags and configuration, and end the run."""
    from nodelint.config.settings import find
    from nodelint.report.run_setup import setting_lines

    given = [
        name.replace("_", "-")
        for name, value in flags.items()
        if name not in _NO_SETTINGS and value not in (None, (), "")
    ]
    path = flags.get("config")
    settings = settings_of(flags)
    path = path or (None if flags.get("isolated") else find(os.getcwd()))
    shown = os.path.relpath(path) if path else None
    echo("\n".join(setting_lines(settings, shown, given, look())))
    sys.exit(CLEAN)


def _show_files(run: _Run, ready: Judging) -> NoReturn:
    """Print how each file is read, and for which release its objects are judged; end the run."""
    from nodelint.model.finding import Span
    from nodelint.report.run_setup import file_lines
    from nodelint.report.skipped import unread_lines
    from nodelint.report.text import place

    objects = [obj for obj in ready.inventory.objects() if obj.counted]
    broken = [
        f"{place(Span(source, problem.offset, problem.offset))}: from here on: {printable(problem.message)}"
        for source in run.found.sources
        for problem in source.problems[:1]
        if source.concerns_karpenter(problem.offset)
    ]
    left = [*(f"{path}: {why}" for path, why in run.found.unreadable), *broken, *unread_lines(_unread(run))]
    echo("\n".join(file_lines(objects, ready.target, run.words.karpenter_named, ready.context_sources, left, look())))
    sys.exit(UNUSABLE if run.found.unreadable else CLEAN)


def _takes_from_elsewhere(found: Discovery) -> bool:
    """Return whether the files include an overlay whose base is elsewhere, or a module that prints its inputs."""
    from nodelint.forms.registry import TABLE

    if found.applying:
        from nodelint.inventory import holds_objects_as_inputs

        if holds_objects_as_inputs(found):
            return True
    if not any(path.endswith(TABLE.names) for path in found.seen):
        return False
    from nodelint.inventory import list_folder_files

    return bool(list_folder_files(found))


_MANY = 2000
"""The number of objects above which the cached results of objects are dropped after the run has judged all."""


def _judged(run: _Run, ready: Judging) -> tuple[Report, _Run]:
    """Return the report with the fixes that work, and the run with the findings of an older release."""
    report = judge_of(run.settings.jobs, ready.inventory)(run.found.sources, ready.request)
    for obj in report.seen if len(report.seen) > _MANY else ():
        obj.forget()
    if any(result.fixable or result.finding.suggestions for result in report.results):
        report = prover_of(ready).offered(run.found.sources, report, _find_suggesting(run))
    if not run.settings.karpenter_named:
        from nodelint.lint.older_release import older

        found = older(report, ready.request, run.found.sources)
        run = run._replace(words=run.words._replace(older=found))
    return report, run


def _find_suggesting(run: _Run) -> ListShown | None:
    """Return the function that selects the results whose suggestions are printed. None if all of them may be
    printed.
    """
    forms = {output.form for output in run.outputs}
    if run.settings.baseline is not None or not forms <= {"text", "concise"}:
        return None
    from nodelint.report.text import list_suggesting

    return list_suggesting if "text" in forms else lambda results: ()


def _compared(run: _Run, ready: Judging, unsafe: bool, chosen: ChosenEdits | None) -> tuple[Report, _Run]:
    """Print the diff of the fixes. Return the report, and the run with only those outputs that are
    written to files.
    """
    report = judge_of(run.settings.jobs, ready.inventory)(run.found.sources, ready.request)
    fixed = _fixed(run, ready, unsafe, chosen, report)
    print_diff(run.found.sources, fixed, report, chosen is not None)
    if run.words.show_fixes:
        from nodelint.report.summary import fixed_lines

        for line in fixed_lines(fixed.applied, None):
            echo(line, err=True)
    return report, run._replace(outputs=[output for output in run.outputs if output.path is not None])


def _fixed(
    run: _Run, ready: Judging, unsafe: bool, chosen: ChosenEdits | None, report: Report | None = None
) -> Fixed:
    """Return the files with the fixes: the safe ones, with `unsafe` all, or those of `chosen`."""
    from nodelint.lint.autofix import fix
    from nodelint.lint.chosen_edits import ChoiceError

    try:
        return fix(
            run.found.sources,
            ready.request,
            unsafe=unsafe or chosen is not None,
            judge=judge_of(run.settings.jobs, ready.inventory),
            report=report,
            prove=prover_of(ready),
            chosen_edits=chosen,
        )
    except ChoiceError as error:
        stop(f"--apply: {error}")


def _write_fixes(run: _Run, ready: Judging, fixed: Fixed) -> tuple[Report, list[Result], list[tuple[Result, str]]]:
    """Write the fixes. Return the report after them, the findings whose fixes are in the files, and those whose fixes
    are refused.
    """
    left = write_fixed(run.found, fixed)
    applied = [result for result in fixed.applied if result.span.source.path not in left]
    if not left:
        return fixed.report, applied, [*fixed.refused]
    sources = [o if o.path in left else n for o, n in zip(run.found.sources, fixed.sources, strict=True)]
    return judge_of(run.settings.jobs)(sources, ready.request), applied, [*fixed.refused]


def _less_known(
    report: Report, run: _Run, entries: Sequence[KnownFinding], paths: Sequence[str], ready: Judging
) -> tuple[Report, _Run]:
    """Return the report of new findings, and the run with its comparison to the baseline."""
    from nodelint.lint.baseline import split

    root = os.path.dirname(os.path.abspath(str(run.settings.baseline)))
    comparing = ready.list_comparing({entry.rule for entry in entries})
    parts = split(report, entries, root, paths or (os.curdir,), ready.reported, comparing)
    return parts.new, run._replace(words=run.words._replace(split=parts))


def _hint_at_chart(found: Discovery) -> str | None:
    """Return how to judge the one named file if it may be a values file; else None."""
    path = next(iter(found.named), "")
    if len(found.named) != 1 or found.folders or not path.endswith((".yaml", ".yml")):
        return None
    if os.path.exists(path) and not os.path.getsize(path):
        return f"{path} is empty"
    from nodelint.commands._values import hint_at_chart

    return hint_at_chart(path)


def _nothing(run: _Run) -> NoReturn:
    """End a run without Karpenter objects, without loading the modules that judge."""
    if run.words.to_stderr:
        write_fixed(run.found, None)
    if run.outputs == [Output("text")]:
        if run.words.quiet:
            unreadable(run.found)
            sys.exit(UNUSABLE if run.found.unreadable else CLEAN)
        only_stdin = run.found.stdin is not None and run.found.files == 1
        where = f"in {'standard input' if only_stdin else counted(run.found.files, 'file')}"
        # A path that is not there holds nothing that could be checked, and the error says so.
        read = run.found.files > len(run.found.unreadable) or not run.found.unreadable
        aside = _unread(run)
        lines = [f"{say_nothing('check', PAIR, where, (*aside, *run.found.unreadable))}."] if read else []
        if aside:
            from nodelint.report.skipped import unread_lines

            lines += unread_lines(aside)
        if (hint := _hint_at_chart(run.found)) and not run.found.unreadable:
            lines.append(f"{hint}.")
        if lines:
            echo("\n".join(lines), err=run.words.to_stderr)
    else:
        from nodelint.lint.engine import Report, Target
        from nodelint.report.run_info import Run

        report = Report((), (), (), Target(run.settings.karpenter, run.settings.kubernetes))
        about = Run(run.found.files, None, run.found.unreadable, unread=_unread(run))
        run.found.unreadable += printed(run.outputs, report, about, run.words)
    unreadable(run.found)
    if run.found.unreadable:
        sys.exit(UNUSABLE)
    left = run.all_judged and any(place.kind != "chart" for place in _unread(run))
    sys.exit(FOUND if left else CLEAN)


def _unread(run: _Run, report: Report | None = None) -> list[UnreadGroup]:
    """Return groups of files that were not read and may contain objects, each with the reason."""
    broken = [path for path, _ in run.found.unreadable]
    more = _list_unread_forms(run, report)
    if not broken:
        return more
    from nodelint.inventory.unread_forms import UnreadGroup
    from nodelint.report.skipped import UNREADABLE

    return [UnreadGroup(UNREADABLE, tuple(broken), 0, None), *more]


def _list_unread_forms(run: _Run, report: Report | None) -> list[UnreadGroup]:
    if not (run.found.folders or run.found.unread) and all(_holds_objects(source) for source in run.found.sources):
        return []
    from nodelint.inventory.unread_forms import unread

    objects = report.objects if report is not None else ()
    return unread(run.found, objects, run.unbuilt, run.built)


def _holds_objects(source: Source) -> bool:
    from nodelint.model.documents import objects

    return next(objects(source, foreign=True, more=True), None) is not None


def _tell(
    run: _Run, report: Report, ready: Judging, applied: Sequence[Result], refused: Sequence[tuple[Result, str]]
) -> None:
    from nodelint.commands._facts import basis
    from nodelint.lint.workloads import find_repository_around
    from nodelint.report.run_info import Run

    say_unknown(choice.karpenter.last for chosen in report.chosen.values() for choice in chosen)
    rests_on = basis(ready.target.facts, ready.file) if report.objects else None
    reported = _list_reported(run, report)
    left = [entry for entry in run.found.unreadable if entry not in reported]
    about = Run(run.found.files, rests_on, left, applied, refused)
    around = find_repository_around(run.found, ready.session.rules, ready.session.selection, report.objects)
    about = about._replace(older=run.words.older, unread=_unread(run, report))
    about = about._replace(repository=os.path.relpath(around).replace(os.sep, "/") if around is not None else "")
    forms = {output.form for output in run.outputs}
    if forms & {"html", "json"}:
        from nodelint.report.decisions import Decisions

        known_findings = run.words.split.known if run.words.split is not None else None
        about = about._replace(decisions=Decisions(run.settings, known_findings, run.found.sources))
    if "html" in forms:
        about = about._replace(time=f"{now():%Y-%m-%d %H:%M} UTC", commit=_find_commit(run.found))
    run.found.unreadable += printed(run.outputs, report, about, run.words)


def _list_reported(run: _Run, report: Report) -> list[tuple[str, str]]:
    """Return the unreadable files whose syntax error is a finding. They decide the exit code, and are not printed."""
    from nodelint.report.locations import place_column

    syntax = {place_column(result.span) for result in report.results if "syntax" in result.rule.tags}
    return [entry for entry in run.found.unreadable if entry[0] in syntax] if syntax else []


def _find_commit(found: Discovery) -> str:
    """Return the commit of the run's repository; empty if git does not know it."""
    from nodelint.files.git.repository import GitError, ask, repository

    try:
        return ask(repository([*found.folders, os.curdir][0]), "rev-parse", "--short", "HEAD").strip()
    except GitError:
        return ""


def _end(run: _Run, report: Report) -> NoReturn:
    """Print the remaining messages on standard error, and end the run with the exit code of the report."""
    unreadable(run.found, _list_reported(run, report))
    broken = [gap.fault for gap in report.skipped if gap.fault]
    for fault in (*report.faults, *broken):
        say(fault)
    missing = [skip for skip in report.skipped if skip.fact] if run.require_facts else []
    if missing:
        from nodelint.report.summary import missing_lines

        for line in missing_lines(missing):
            say(line)
    is_own_fault = bool(report.faults) and _has_broken_own_rule(report)
    if broken or (report.faults and not is_own_fault and os.environ.get("NODELINT_FAIL_ON_FAULT")):
        sys.exit(FAULT)
    if run.found.unreadable or is_own_fault:
        sys.exit(UNUSABLE)
    if missing:
        sys.exit(TRY_AGAIN if all(skip.transient for skip in missing) else LACKING)
    if run.all_judged and _unjudged(run, report):
        sys.exit(FOUND)
    fail_on = run.settings.fail_on
    sys.exit(FOUND if fail_on != "never" and report.at_or_above(fail_on) else CLEAN)


def _has_broken_own_rule(report: Report) -> bool:
    """Return whether a rule of the user raised an error, so that its findings are not known."""
    from nodelint.lint.rule_gaps import OWN_BROKE_DOWN

    return any(skip.reason == OWN_BROKE_DOWN for skip in report.skipped)


def _unjudged(run: _Run, report: Report) -> bool:
    """Print what was not judged, for `--fail-on-unjudged`. Return whether there is anything."""
    from nodelint.report.skipped import gaps_text

    text = gaps_text(report, _unread(run, report))
    if text:
        say(f"not everything was judged: {text}")
    return bool(text)
