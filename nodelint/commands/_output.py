"""The formats of a report, and the destination of each: standard output or a file."""

from __future__ import annotations

import os

from nodelint.base.printable import escaped_json, screened
from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands import today
from nodelint.commands._console import echo, echo_json, stop
from nodelint.commands._terminal import look
from nodelint.files.safe_read import error_reason, repository

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    import click
    from click.shell_completion import CompletionItem

    from nodelint.lint.baseline import Split
    from nodelint.lint.engine import Report
    from nodelint.lint.older_release import Older
    from nodelint.report.run_info import Run
    from nodelint.report.style import TextStyle

    _F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("text", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "html")
PLAN_FORMATS = ("text", "markdown", "html", "json")
FIT_FORMATS = ("text", "json", "markdown", "html")
EXPLAIN_FORMATS = ("text", "json", "html")
WHY_FORMATS = ("text", "markdown", "html", "json")

_WHOLE = ("json", "sarif", "gitlab", "junit", "html")
"""Output formats that are one document, so that standard output must contain nothing else."""


class Output(NamedTuple):
    """A format and its file; None for standard output."""

    form: str
    path: str | None = None


def output_options(command: _F) -> _F:
    """Add the options for the output of findings to a command."""
    return options_for(FORMATS)(command)


def options_for(formats: Sequence[str]) -> Callable[[_F], _F]:
    """Return a decorator that adds options for these output formats; the first is the default."""

    def read(_: click.Context, __: click.Parameter, values: Sequence[str]) -> list[Output]:
        import click

        from nodelint.commands._help import refuse_word

        outputs = []
        for value in values:
            written, equals, path = value.partition("=")
            form = written.lower()
            if form not in formats:
                raise click.BadParameter(refuse_word(written, formats))
            if equals and not path:
                raise click.BadParameter(f"`{value}` names no file")
            outputs.append(Output(form, path or None))
        return outputs

    def completed(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(form) for form in formats if form.startswith(incomplete)]

    def decorated(command: _F) -> _F:
        for option in _options(formats, read, completed):
            command = option(command)
        return command

    return decorated


def _options(formats: Sequence[str], read: Any, completed: Any) -> tuple[Callable[[_F], _F], ...]:
    import click

    from nodelint.commands._shell_completion import files

    return (
        click.option(
            "--output",
            metavar="FILE",
            shell_complete=files,
            help="Write the report to this file instead of standard output.",
        ),
        click.option(
            "--format",
            "--output-format",
            "outputs",
            callback=read,
            shell_complete=completed,
            multiple=True,
            metavar="FORMAT[=FILE]",
            help=f"{', '.join(formats)}. FORMAT=FILE writes to a file. May be repeated.  [default: text]",
        ),
    )


def outputs_of(outputs: Sequence[Output], output: str | None) -> list[Output]:
    """Return each format with its destination. End the run if two formats have the same destination."""
    wanted = list(outputs) or [Output("text")]
    if output is not None:
        form = output.partition(":")[0]
        if form in FORMATS and not os.path.exists(output):
            to_file = f" --output {output.partition(':')[2]}" if ":" in output else ""
            stop(f"--output names a file, and `{form}` is a format: write --format {form}{to_file}")
        loose = [wanted_output for wanted_output in wanted if wanted_output.path is None]
        if len(loose) != 1:
            stop("--output takes one format; write others as --format FORMAT=FILE")
        wanted = [
            wanted_output if wanted_output.path else Output(wanted_output.form, output) for wanted_output in wanted
        ]
    bare = [output.form for output in wanted if output.path is None]
    whole = next((form for form in bare if form in _WHOLE), None)
    if whole is not None and len(bare) > 1:
        stop(f"{whole} has to stand alone on standard output; write it as --format {whole}=FILE")
    files = [os.path.realpath(output.path) for output in wanted if output.path is not None]
    if len(set(files)) < len(files):
        stop("two formats would go to one file")
    return wanted


class OutputOptions(NamedTuple):
    """Options for the text of a run around its report."""

    karpenter_named: bool = True
    writing: bool = False
    to_stderr: bool = False
    quiet: bool = False
    verbose: bool = False
    split: Split | None = None
    older: Older | None = None
    statistics: bool = False
    show_fixes: bool = False


def printed(outputs: Sequence[Output], report: Report, run: Run, words: OutputOptions) -> list[tuple[str, str]]:
    """Print or write a report in all formats. Return the paths that could not be written, with the reason."""
    return write_outputs(
        outputs,
        lambda form: _rendered(form, report, run, words),
        lambda form: _print(form, report, run, words),
    )


def give_out(outputs: Sequence[Output], render: Callable[[str], str], show: Callable[[str], None]) -> None:
    """Print each format with `show`, or write the result of `render` to its file; end the run if this fails."""
    for path, reason in write_outputs(outputs, lambda form: screened(render(form)), show):
        stop(f"{path}: {reason}")


def write_outputs(
    outputs: Sequence[Output], render: Callable[[str], str], show: Callable[[str], None]
) -> list[tuple[str, str]]:
    """Print each format with `show`, or write the result of `render` to its file.

    Return the files that could not be written, with the reason.
    """
    bad = []
    for form, path in outputs:
        if path is None:
            show(form)
            continue
        from nodelint.files.atomic_write import replace

        try:
            replace(path, render(form).encode("utf-8", "replace"))
        except OSError as error:
            folder = os.path.dirname(path)
            missing = f"the folder {folder} does not exist" if folder and not os.path.isdir(folder) else None
            bad.append((path, f"not written: {missing or error_reason(error)}"))
    return bad


def _print(form: str, report: Report, run: Run, words: OutputOptions) -> None:
    if form in ("text", "concise"):
        text = _text(form, report, run, words, look(words.to_stderr))
        if text:
            echo(text, err=words.to_stderr)
    elif form == "json":
        echo_json(_json(report, run), words.to_stderr)
    else:
        echo(_rendered(form, report, run, words), nl=False, err=words.to_stderr, commands=form == "github")


def _rendered(form: str, report: Report, run: Run, words: OutputOptions) -> str:
    """Return a report as the text of a file, ending in a line break.

    Formats for code review name files relative to the repository; formats for people and scripts name paths relative
    to the working folder.
    """
    if form in ("text", "concise"):
        from nodelint.report.style import PLAIN

        text = _text(form, report, run, words, PLAIN)
        return screened(f"{text}\n") if text else ""
    if form == "json":
        import json

        return escaped_json(json.dumps(_json(report, run), indent=2, ensure_ascii=False) + "\n")
    from importlib import import_module

    run = run._replace(root=repository(os.getcwd()) or "")
    rendered: str = import_module(f"nodelint.report.{form}").render(report, run)
    return rendered


def _json(report: Report, run: Run) -> object:
    from nodelint.report.json import check_json

    return check_json(report, run)


def _text(form: str, report: Report, run: Run, words: OutputOptions, look: TextStyle) -> str:
    if not report.objects and not report.results and not report.skipped and run.facts is None:
        from nodelint.model.messages import counted
        from nodelint.report.all_clear import PAIR, say_nothing

        where = f"in {counted(run.files, 'file')}"
        nothing = [f"{say_nothing('check', PAIR, where, (*run.unread, *run.unreadable))}."]
        if run.unread:
            from nodelint.report.skipped import unread_lines

            nothing += unread_lines(run.unread)
        return "" if words.quiet else "\n".join(nothing)
    from nodelint.report.age import NEWER_TYPES, old_facts_text
    from nodelint.report.style import fitted
    from nodelint.report.summary import MOST_FIXES, summary_text

    parts = _findings(form, report, look, words.statistics) if report.results else []
    if words.quiet:
        return "\n".join(parts).rstrip("\n")
    summary = summary_text(
        report,
        run,
        karpenter_named=words.karpenter_named,
        fixing=words.writing,
        verbose=words.verbose,
        most_fixes=None if words.show_fixes else MOST_FIXES,
    )
    *last, verdict = summary.split("\n")
    depends = run.facts is not None and any(skip.reason.endswith(NEWER_TYPES) for skip in report.skipped)
    aged = old_facts_text(run.facts.date if run.facts is not None and depends else None, today())
    if aged is not None:
        last.append(aged)
    if words.split is not None:
        last.append(_about_baseline(words.split))
    if run.older is not None:
        last.append(_about_older(run.older))
    last.append(verdict)
    return "\n".join([*parts, *(row for line in last for row in fitted(line, look))])


def _findings(form: str, report: Report, look: TextStyle, statistics: bool) -> list[str]:
    from nodelint.report.text import concise_text, findings_text, statistics_lines

    if statistics:
        return [*statistics_lines(report.results), ""]
    if form == "concise":
        return [concise_text(result, look) for result in report.results]
    return [text + "\n" for text in findings_text(report.results, look, hints=True)]


def _about_older(older: Older) -> str:
    from nodelint.model.messages import counted
    from nodelint.model.releases import target

    minor = f"{older.release.major}.{older.release.minor}"
    release = minor if target(minor) == older.release else str(older.release)
    more = counted(older.findings, "more finding")
    least = "at least " if older.least else ""
    return f"On Karpenter {release} and older: {least}{more}; `--karpenter-version {release}` shows details."


def _about_baseline(split: Split) -> str:
    text = f"Baseline: {len(split.known):,} known"
    if split.gone:
        text += f", {len(split.gone):,} no longer there; `nodelint baseline --prune` removes them"
    return text + "."
