"""Code that the commands share. Each command is a module of this package, imported when the command is called.

A module whose name begins with an underscore is not a command. Functions that declare options import click when they
are called: `nodelint check PATHS` runs without click (see `commands._fast_argv`).
"""

from __future__ import annotations

import os
import sys

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import (
    CLEAN,
    FOUND,
    INTERRUPTED,
    UNHEARD,
    say,
    stop,
    unusable,
    watch_progress,
)
from nodelint.files.kept_contents import file_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any, TypeVar

    from nodelint.config.session import Session
    from nodelint.config.settings import Settings
    from nodelint.files.folders import Discovery
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.text import Source

    _F = TypeVar("_F", bound=Callable[..., Any])


def versions(command: _F) -> _F:
    """Add `--kubernetes-version`, `--karpenter-version` and the configuration options to a command."""
    import click

    command = config_options(command)
    for option in (
        click.option(
            "--kubernetes-version",
            metavar="1.MINOR",
            help="The cluster's version. Default: what the files state. If it is unknown, findings that depend on it"
            " are at most warnings.",
        ),
        click.option(
            "--karpenter-version",
            metavar="VERSION",
            help="The release that the manifests are for: 1.4.0, 1.4 for its newest patch, a range ('>=1.0 <=1.14'),"
            " or next for the unreleased one. Default: what the files state, else the newest.",
        ),
    ):
        command = option(command)
    return command


def config_options(command: _F) -> _F:
    """Add the options `--config` and `--isolated` to a command."""
    import click

    from nodelint.commands._shell_completion import files

    text = "The configuration. Default: the nearest nodelint.yaml or pyproject.toml."
    command = click.option("--isolated", is_flag=True, help="Read no configuration file.")(command)
    return click.option("--config", metavar="FILE", shell_complete=files, help=text)(command)


def exclude(command: _F) -> _F:
    """Add the options for paths that are not read."""
    import click

    command = click.option(
        "--no-ignore",
        "respect_gitignore",
        flag_value=False,
        default=None,
        help="Also read files that git ignores.",
    )(command)
    return click.option("--exclude", multiple=True, metavar="GLOB,...", help="Do not read these paths.")(command)


def include(command: _F) -> _F:
    """Add the option for scripts and Markdown files that are read as well."""
    import click

    text = "In folders, also read the scripts and Markdown files that match."
    return click.option("--include", multiple=True, metavar="GLOB,...", help=text)(command)


def values(command: _F) -> _F:
    """Add the option for the values files of the chart that is judged."""
    import click

    from nodelint.commands._shell_completion import files

    text = (
        "Judge the Helm chart with this values file instead of the files that nodelint finds. May be repeated: a"
        " later file wins, as with `helm -f`."
    )
    return click.option("-f", "--values", multiple=True, metavar="FILE", shell_complete=files, help=text)(command)


def output_format(command: _F) -> _F:
    """Add the option for the format of a command's own output."""
    import click

    from nodelint.commands._help import WordChoice

    kinds = WordChoice(["text", "json"])
    return click.option("--format", "form", type=kinds, default="text", show_default=True)(command)


class ending:
    """A context manager that ends an interrupted run, or a run with a closed pipe, with the exit code that shells
    use. click would use 1 for both, which is the exit code for findings.
    """

    def __enter__(self) -> None:
        RUN.begin()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        file_contents.end()
        if isinstance(error, KeyboardInterrupt):
            stop("interrupted", code=INTERRUPTED)
        if isinstance(error, BudgetSpent):  # the rest of the run has no answer
            stop(f"not everything was judged: {error}", code=FOUND)
        if isinstance(error, BrokenPipeError):
            # What is still to be flushed goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(UNHEARD)
        if RUN.has_left_out and (error is None or isinstance(error, SystemExit)):
            say(f"not everything was judged: {RUN.late_reason}")
            if error is None or error.code in (None, CLEAN):
                sys.exit(FOUND)


def settings_of(flags: Mapping[str, object], paths: Sequence[str] = ()) -> Settings:
    """Return the configuration with a command's flags applied; end the run if it is not valid.

    `paths` are the paths under test: rules in their repositories do not run unless the user allows this.
    """
    from nodelint.config import settings as config
    from nodelint.config.file import ConfigError
    from nodelint.files.gate import gate

    if list(paths).count("-") > 1:
        stop("`-` is named twice: standard input can be read once")
    gate.reset()
    for named in paths or (os.curdir,):
        gate.admit(named if named != "-" else os.curdir)

    over = {key.replace("_", "-"): value for key, value in flags.items()}
    over["jobs"] = over.get("jobs") or os.environ.get("NODELINT_JOBS") or None
    path, isolated = over.pop("config", None), over.pop("isolated", False)
    assert path is None or isinstance(path, str)
    if isolated and path is not None:
        stop("--isolated and --config cannot be used together: one reads no configuration")
    is_named = path is not None
    trusted = path is not None and not gate.surrounds(path)
    try:
        if path is None and not isolated:
            passed_over: list[str] = []
            path = config.find(os.getcwd(), passed_over)
            path = path and os.path.relpath(path)
            for message in passed_over:
                say(message)
    except FileNotFoundError:
        stop("the working folder no longer exists")
    except ConfigError as error:
        unusable(error)
    try:
        settings = config.load(path, over, trusted)
    except ConfigError as error:
        unusable(error)
    if path is not None and not is_named:  # a named file may be for several repositories
        from nodelint.config.unmatched_globs import list_unmatched

        for message in list_unmatched(settings):
            say(message)
    return settings


def read_settings_for(flags: Mapping[str, object], paths: Sequence[str]) -> Settings:
    """Return the settings for some paths. End the run if none of the paths exists."""
    stop_where_none_is_there(*paths)
    return settings_of(flags, paths)


def discovered(
    paths: Sequence[str],
    settings: Settings,
    also: str | None = None,
    known: Mapping[bytes, Source] | None = None,
    named: str | None = None,
    filtering: bool = False,
) -> Discovery:
    """Return the sources of the paths, with progress on a terminal if there are many.

    Files that match the pattern `also` are included, even without the word karpenter. `known` is passed to
    `discover`, `named` is the file name for standard input. With `filtering`, standard output must get the text of
    standard input even if the run ends here.
    """
    from nodelint.files.discover import discover
    from nodelint.files.safe_read import count_requested

    file_contents.begin()
    count_requested(paths)
    exclude, include = settings.paths_left_out, settings.paths_read_too
    if "-" in paths and sys.stdin is not None and sys.stdin.isatty():
        say("reading manifests from standard input; end it with Ctrl-D")
    line = watch_progress()

    def tell(count: int) -> None:
        if count % 100 == 0 and line is not None:
            line.tell(f"read {count:,} files …")

    on_file = tell if line is not None else None
    found = discover(paths, exclude, on_file=on_file, include=include, also=also, known=known)
    if line is not None:
        line.clear()
    if settings.exclude and settings.seen_as is None:  # the old side of a change has the paths of the new one
        from nodelint.config.unmatched_globs import list_excluded

        # A hook names every changed file, also those that the configuration leaves out on purpose.
        for message in list_excluded([path for path in paths if not found.files or os.path.isdir(path)], settings):
            say(message)
    if settings.values:
        from nodelint.commands._values import take_values

        take_values(found, settings.values, paths)
    if found.stdin is None:
        return found
    from nodelint.commands._stdin import take_stdin

    return take_stdin(found, named, filtering)


def stop_where_none_is_there(*paths: str) -> None:
    """End the run if none of the named paths exists."""
    missing = [path for path in paths if path != "-" and not os.path.lexists(path)]
    if missing and len(missing) == len(paths):
        from nodelint.commands._missing_paths import describe_missing_path

        stop(*map(describe_missing_path, missing))


def say_unknown(releases: Iterable[Version]) -> None:
    """Print how unknown releases are judged, and the age of the facts; once for each release in a run."""
    from nodelint.commands._run_facts import say_unknown_release

    for release in releases:
        say_unknown_release(release, today())


def say_stated_for_files(found: Discovery, settings: Settings) -> None:
    """Print that standard input is not judged for the release that the surrounding repository states."""
    if found.stdin is not None and found.stdin_path == "-":
        from nodelint.commands._run_facts import say_release_of_repository

        say_release_of_repository(found, settings)


def session_of(settings: Settings, runs_rules: bool = True) -> Session:
    """Return the session of the settings; end the run if they are not valid.

    A command that runs no rules does not need the packages of rules that the configuration names.
    """
    from nodelint.config.file import ConfigError, PackageMissing
    from nodelint.config.session import Session

    session = Session(settings)
    session.today = today()
    say_unknown([settings.karpenter])
    if settings.kubernetes is not None:
        from nodelint.commands._run_facts import say_unknown_kubernetes

        say_unknown_kubernetes(settings.kubernetes)
    if settings.region is not None:
        from nodelint.ec2.region_names import find_unknown_region_note

        note = find_unknown_region_note(settings.region)
        if note is not None and settings.snapshot in (None, "bundled"):
            say(note)
    try:
        _ = session.schemas
    except ConfigError as error:
        stop(f"--crds {error}")
    try:
        _ = session.selection
    except PackageMissing as error:
        if runs_rules:
            unusable(error)
        return session
    except ConfigError as error:
        unusable(error)
    _tell_new_names(session)
    for rule in session.schemas.skipped if session.schemas is not None else ():
        say(f"--crds {settings.crds}: a validation rule is left out: {rule}")
    return session


def _tell_new_names(session: Session) -> None:
    """Print which rule names of the configuration have been renamed."""
    from nodelint.config.rule_selection import named_rules

    named = named_rules(session.settings)
    if not named and session.settings.baseline is None:
        return
    from nodelint.rule.definition import former_names

    former = former_names(session.rules)
    for name in sorted(former.keys() & set(named)):
        say(f"the rule `{name}` has the new name `{former[name]}`; the old name still works")


def now() -> datetime:
    """Return the time of the run in UTC, to the second; the same for all calls.

    NODELINT_NOW (ISO 8601) overrides the time, for tests and reproducible output.
    """
    from nodelint.commands._run_facts import read_time

    return read_time(os.environ.get("NODELINT_NOW"))


def today() -> int:
    """Return the date of the run in days since 1970-01-01, without loading datetime."""
    given = os.environ.get("NODELINT_NOW")
    if given:
        return int(now().timestamp()) // 86400
    from time import time

    return int(time()) // 86400


def unreadable(found: Discovery, printed: Collection[tuple[str, str]] = ()) -> None:
    """Print which paths could not be read, except those that are `printed` already."""
    for path, reason in found.unreadable:
        if (path, reason) in printed:
            continue
        say(describe_unread(path, reason))


def describe_unread(path: str, reason: str) -> str:
    """Return the message about a path that could not be read; if nothing is there, with what was probably meant."""
    if reason == "no such file or directory" or not path:
        from nodelint.commands._missing_paths import describe_missing_path

        return describe_missing_path(path)
    return f"{path}: {reason}"


def say_switched_off(objects: Sequence[Object], done: str) -> list[Object]:
    """Print which objects Terraform does not create, and why; `done` says how they are treated.

    Return these objects.
    """
    from nodelint.inventory.switched_off import list_switched_off
    from nodelint.report.coverage import switched_off_lines

    switched_off = list(list_switched_off(objects))
    for line in switched_off_lines(switched_off, 5, done):
        say(line.removesuffix("."))
    return [obj for obj, _ in switched_off]


def unread(found: Discovery, what: str) -> list[tuple[str, str]]:
    """Return the places of syntax errors in documents about Karpenter, each with a sentence that begins
    with `what`.
    """
    places = []
    for source in found.sources:
        for problem in source.problems:
            if source.concerns_karpenter(problem.offset):
                at = source.position(problem.offset)
                places.append((f"{source.path}:{at.line}:{at.column}", f"{what}: {problem.message}"))
    return places


def misread(sources: Sequence[Source]) -> bool:
    """Print which documents about Karpenter could not be parsed. Return whether there were any."""
    bad = False
    for source in sources:
        for problem in source.problems:
            if source.concerns_karpenter(problem.offset):
                at = source.position(problem.offset)
                say(f"{source.path}:{at.line}:{at.column}: {problem.message}")
                bad = True
    return bad
