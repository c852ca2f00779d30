"""The command line: arguments in, exit code out.

What a command needs is imported when the command runs: most runs of a hook find nothing to do, and
should end before anything slow has been loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from nodelint import __version__

if TYPE_CHECKING:
    from nodelint.config import Settings
    from nodelint.discover import Discovery
    from nodelint.engine import Fixed, Report, Result, Selection, Target
    from nodelint.report.text import Facts
    from nodelint.rule import Rule
    from nodelint.source import Source

CLEAN, FOUND, UNUSABLE, FAULT = 0, 1, 2, 3

_F = TypeVar("_F", bound=Callable[..., Any])

_EXIT = """
\b
Exit codes:
  0  nothing at or above --fail-on
  1  something at or above --fail-on
  2  wrong usage or configuration, or a path that could not be read
  3  a fault of nodelint itself
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="nodelint %(version)s")
def cli() -> None:
    """Check Karpenter's NodePool and EC2NodeClass manifests before they are merged.

    nodelint works out what Karpenter would launch from them, says what is wrong, where and why, and
    writes the edit that puts it right. It needs no AWS account: facts about EC2 come with it.

    \b
    Start here:
      nodelint check                     every manifest below this folder
      nodelint check --fix pool.yaml     and put right what can be put right safely
      nodelint explain pool.yaml         which instance types are left, with which image
      nodelint rule                      what is looked for
    """


def _versions(command: _F) -> _F:
    for option in (
        click.option(
            "--kubernetes-version",
            metavar="1.MINOR",
            help="The cluster's version. Without it, what depends on it is at most a warning.",
        ),
        click.option(
            "--karpenter-version",
            metavar="VERSION",
            help="The release that the manifests are for: 1.4.0, or 1.4 for its newest patch."
            " Default: the newest known.",
        ),
        click.option("--config", metavar="FILE", help="Default: the nearest nodelint.yaml or pyproject.toml."),
    ):
        command = option(command)
    return command


@cli.command(epilog=_EXIT)
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--fix", "fixing", is_flag=True, help="Write the safe fixes: they replace no running node.")
@click.option("--unsafe-fixes", is_flag=True, help="Write the unsafe fixes too (implies --fix).")
@click.option("--diff", is_flag=True, help="Write nothing; print what --fix would change as a unified diff.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--select", multiple=True, metavar="RULE,...", help="Only these rules; `all` for every one.")
@click.option("--ignore", multiple=True, metavar="RULE,...", help="All but these rules.")
@click.option("--exclude", multiple=True, metavar="GLOB,...", help="Paths that are not read.")
@click.option("--fail-on", type=click.Choice(["error", "warning", "never"]), help="Default: error.")
@click.option("--crds", metavar="PATH", help="CRDs of your own cluster (file or folder), for the bundled schemas.")
@_versions
def check(paths: Sequence[str], fixing: bool, unsafe_fixes: bool, diff: bool, form: str, **flags: Any) -> None:
    """Find what is wrong in manifests, and fix it.

    PATHS are files, folders (read with all below them) or - for standard input; default: this folder.

    \b
    Examples:
      nodelint check clusters/ --karpenter-version 1.4 --kubernetes-version 1.32
      nodelint check --diff --unsafe-fixes pool.yaml
      kubectl get nodepools,ec2nodeclasses -o yaml | nodelint check -

    A comment silences a rule: `# nodelint: ignore[rule] why`, at the end of a line, or on the line
    above a field or an object.
    """
    settings = _settings(flags)
    found = _discover(paths or (".",), settings)
    writing = (fixing or unsafe_fixes) and not diff
    # Standard output then carries what standard input brought, fixed.
    to_stderr = writing and "-" in paths
    if not found.sources:
        if to_stderr:
            _write(found, None)
        _nothing(found, form, settings, to_stderr)
    from nodelint import engine, rule
    from nodelint.manifest import objects

    rules = rule.load(rule.bundled())
    selection, target = _selection(settings, rules), _target(settings)
    held = [obj for source in found.sources for obj in objects(source)]
    beside = _context(held, found.sources, settings)
    applied: Sequence[Result] = ()
    refused: Sequence[tuple[Result, str]] = ()
    if fixing or unsafe_fixes or diff:
        fixed = engine.fix(found.sources, target, rules, selection, beside, unsafe=unsafe_fixes)
        if diff:
            report = engine.lint(found.sources, target, rules, selection, beside)
            _print_diff(found.sources, fixed)
            _finish(report, found, settings, None)
        applied, refused, report = fixed.applied, fixed.refused, fixed.report
        left = _write(found, fixed)
        if left:
            applied = [r for r in applied if r.span.source.path not in left]
            sources = [o if o.path in left else n for o, n in zip(found.sources, fixed.sources, strict=True)]
            report = engine.lint(sources, target, rules, selection, beside)
    else:
        report = engine.lint(found.sources, target, rules, selection, beside)
    _finish(report, found, settings, form, applied, refused, writing, to_stderr)


@cli.command()
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option("--nodepool", metavar="NAME", help="Only this NodePool.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--exclude", multiple=True, metavar="GLOB,...", help="Paths that are not read.")
@_versions
def explain(paths: Sequence[str], nodepool: str | None, form: str, **flags: Any) -> None:
    """Say which instance types each NodePool can launch, with which image, and what removed the rest.

    \b
    Examples:
      nodelint explain pool.yaml class.yaml
      nodelint explain clusters/prod --nodepool gpu --karpenter-version 1.3
    """
    settings = _settings(flags)
    found = _discover(paths or (".",), settings)
    from nodelint.manifest import NodePool, objects, served
    from nodelint.rule import Context

    held = [obj for source in found.sources for obj in objects(source)]
    beside = [obj for source in _context(held, found.sources, settings) for obj in objects(source)]
    context = Context([*held, *beside], settings.karpenter, settings.kubernetes)
    pools = [o for o in held if isinstance(o, NodePool) and served(o, settings.karpenter)]
    if nodepool is not None:
        names = sorted({p.name for p in pools if isinstance(p.name, str)})
        pools = [p for p in pools if p.name == nodepool]
        if not pools:
            _stop(f"no NodePool `{nodepool}` here; there are: {', '.join(names) or 'none'}")
    from nodelint.report import explain as report

    resolutions = [context.resolution(pool) for pool in pools]
    if form == "json":
        _echo_json(report.explain_json(resolutions))
    elif not pools:
        files = _counted(found.files, "file")
        click.echo(f"Nothing to explain: no NodePool in {files} that Karpenter {settings.karpenter} serves.")
    else:
        click.echo(report.explain_text(resolutions))
    _unreadable(found)
    sys.exit(UNUSABLE if found.unreadable else CLEAN)


@cli.command(name="rule")
@click.argument("name", required=False)
def rule_command(name: str | None) -> None:
    """List the rules, or print one rule's page."""
    from nodelint import rule

    rules = rule.load(rule.bundled())
    if name is None:
        width = max(map(len, rules))
        for each in rules.values():
            fix = f"{each.fix} fix" if each.fix else ""
            on = "" if each.default else " (off by default)"
            click.echo(f"{each.name:<{width}}  {each.severity:<7}  {fix:<10}  {each.summary}{on}")
        return
    if name not in rules:
        _no_rule(name, rules)
    click.echo(_page(rules[name]))


def _page(rule: Rule) -> str:
    from nodelint.report.page import header

    return f"{click.style(rule.name, bold=True)}\n{header(rule)}\n\n{rule.page.strip()}"


def _settings(flags: dict[str, Any]) -> Settings:
    from nodelint import config

    path = flags.pop("config", None)
    try:
        if path is None:
            path = config.find(os.getcwd())
            path = path and os.path.relpath(path)
    except FileNotFoundError:
        _stop("the working folder is no longer there")
    except config.ConfigError as error:
        _stop(str(error))
    try:
        return config.load(path, {key.replace("_", "-"): value for key, value in flags.items()})
    except config.ConfigError as error:
        _stop(str(error))


def _discover(paths: Sequence[str], settings: Settings) -> Discovery:
    from nodelint.discover import discover
    from nodelint.globs import Globs

    exclude = Globs(settings.exclude, settings.exclude_root)

    if sys.stderr is None or not sys.stderr.isatty():
        return discover(paths, exclude)

    def tell(count: int) -> None:
        if count % 2000 == 0:
            click.echo(f"\rread {count:,} files …", nl=False, err=True)

    found = discover(paths, exclude, on_file=tell)
    if found.files >= 2000:
        click.echo("\r\033[K", nl=False, err=True)
    return found


def _context(held: Sequence[Any], sources: Sequence[Source], settings: Settings) -> list[Source]:
    """Other manifests of the repository, read only when a pool points to a class that is not at hand."""
    from nodelint.manifest import EC2NodeClass, NodePool

    classes = {o.name for o in held if isinstance(o, EC2NodeClass)}
    wanted = {o.class_ref.name for o in held if isinstance(o, NodePool) and o.class_ref}
    if wanted <= classes:
        return []
    from nodelint.discover import context
    from nodelint.globs import Globs

    return context(sources, Globs(settings.exclude, settings.exclude_root))


def _selection(settings: Settings, rules: dict[str, Rule]) -> Selection:
    from nodelint.engine import Selection

    per_path = [name for names in settings.per_path.values() for name in names]
    for name in [*(settings.select or ()), *settings.ignore, *per_path]:
        if name not in rules and name != "all":
            _no_rule(name, rules)

    def named(names: frozenset[str]) -> frozenset[str]:
        return frozenset(rules) if "all" in names else names

    select = None if settings.select is None else named(settings.select)
    by_glob = {glob: named(names) for glob, names in settings.per_path.items()}
    return Selection(select, named(settings.ignore), by_glob, settings.root)


def _target(settings: Settings) -> Target:
    from nodelint.engine import Target
    from nodelint.versions import NEWEST

    if settings.karpenter > NEWEST:
        click.echo(
            f"nodelint: Karpenter {settings.karpenter} is newer than {NEWEST}, the newest release known here;"
            " what changed since is not",
            err=True,
        )
    if settings.crds is None:
        return Target(settings.karpenter, settings.kubernetes)
    from nodelint.schema import Schemas

    try:
        schemas = Schemas.from_crds(settings.crds)
    except OSError as error:
        _stop(f"--crds {settings.crds}: {(error.strerror or str(error)).lower()}")
    except ValueError as error:
        _stop(f"--crds {settings.crds}: {error}")
    for rule in schemas.skipped:
        _say(f"--crds {settings.crds}: a validation rule is left out: {rule}")
    return Target(settings.karpenter, settings.kubernetes, schemas)


def _nothing(found: Discovery, form: str, settings: Settings, to_stderr: bool) -> NoReturn:
    """End a run that met nothing of Karpenter's, without loading what judges it."""
    _unreadable(found)
    if form == "json":
        from nodelint.engine import Report, Target
        from nodelint.report.json import check_json

        report = Report((), (), (), Target(settings.karpenter, settings.kubernetes))
        _echo_json(check_json(report, found.files, None, found.unreadable), to_stderr)
    else:
        files = _counted(found.files, "file")
        click.echo(f"Nothing to check: no NodePool or EC2NodeClass in {files}.", err=to_stderr)
    sys.exit(UNUSABLE if found.unreadable else CLEAN)


def _finish(
    report: Report,
    found: Discovery,
    settings: Settings,
    form: str | None,
    applied: Sequence[Result] = (),
    refused: Sequence[tuple[Result, str]] = (),
    fixing: bool = False,
    to_stderr: bool = False,
) -> NoReturn:
    """Print a report in a format (None: not at all) and end with the exit code that it asks for."""
    facts = _facts(report)
    if form == "json":
        from nodelint.report.json import check_json

        result = check_json(report, found.files, facts, found.unreadable, applied, refused)
        _echo_json(result, to_stderr)
    elif form == "text":
        from nodelint.report.text import finding_text, summary_text

        for each in report.results:
            click.echo(finding_text(each, click.style) + "\n", err=to_stderr)
        click.echo(
            summary_text(report, found.files, facts, settings.karpenter_named, applied, refused, fixing),
            err=to_stderr,
        )
    _unreadable(found)
    for fault in report.faults:
        _say(f"a fault of ours, please report it: {fault}")
    if report.faults:
        sys.exit(FAULT)
    if found.unreadable:
        sys.exit(UNUSABLE)
    failed = settings.fail_on != "never" and report.at_or_above(settings.fail_on)
    sys.exit(FOUND if failed else CLEAN)


def _facts(report: Report) -> Facts | None:
    if not report.objects:
        return None
    from nodelint.catalog import Catalog
    from nodelint.report.text import Facts

    catalog = Catalog.bundled()
    return Facts(catalog.origin, catalog.date, len(catalog.names))


def _print_diff(sources: Sequence[Source], fixed: Fixed) -> None:
    from nodelint.report.diff import unified

    for old, new in zip(sources, fixed.sources, strict=True):
        for line in unified(old, new):
            click.echo(line, nl=False)
    click.echo(f"Would fix {_counted(len(fixed.applied), 'finding')}.", err=True)


def _write(found: Discovery, fixed: Fixed | None) -> set[str]:
    """Write what has changed; the paths that could not be written, whose files are as they were."""
    from nodelint.files import replace

    stdin, left = found.stdin, set()
    for old, new in zip(list(found.sources), fixed.sources if fixed else (), strict=True):
        if old.text == new.text:
            continue
        if new.path == "-":
            stdin = new.text.encode()
            continue
        try:
            replace(new.path, new.text.encode())
        except OSError as error:
            left.add(new.path)
            found.unreadable.append((new.path, f"not written: {(error.strerror or str(error)).lower()}"))
    if stdin is not None:
        click.echo(stdin, nl=False)
    return left


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _unreadable(found: Discovery) -> None:
    for path, reason in found.unreadable:
        _say(f"{path}: {reason}")


def _say(message: str) -> None:
    """A line on standard error; a file's name can neither break it nor steer the terminal."""
    from nodelint.report.text import printable

    click.echo(f"nodelint: {printable(message)}", err=True)


def _echo_json(value: object, err: bool = False) -> None:
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode((sys.stderr if err else sys.stdout).encoding)
    except (AttributeError, UnicodeEncodeError):  # a path that is no UTF-8, or a terminal that is none
        text = json.dumps(value, indent=2)
    click.echo(text, err=err)


def _no_rule(name: str, rules: dict[str, Rule]) -> NoReturn:
    from nodelint.finding import did_you_mean

    _stop(f"there is no rule `{name}`{did_you_mean(name, rules)}; `nodelint rule` lists them")


def _stop(message: str) -> NoReturn:
    _say(message)
    sys.exit(UNUSABLE)
