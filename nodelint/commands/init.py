"""`nodelint init`: write a configuration and a pre-commit hook for the repository of the working folder."""

from __future__ import annotations

import os
import sys

import click

from nodelint.base import project
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import CLEAN, UNUSABLE, echo, say, stop, unusable
from nodelint.commands._help import GroupedCommand, WordChoice
from nodelint.files.gate import read_bounded
from nodelint.files.safe_read import error_reason, repository
from nodelint.forms.registry import TABLE
from nodelint.model.messages import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nodelint.commands._detect_setup import Survey
    from nodelint.edits.formatting import Plain
    from nodelint.releases import Evidence
    from nodelint.text import Source

_CONFIG = "nodelint.yaml"
_HOOKS = ".pre-commit-config.yaml"

_PROFILES = {
    "minimal": "what is refused, cannot launch or is silently dropped",
    "default": "also what costs too much, causes an outage or is a security risk",
    "strict": "also advice that a team decides on once",
}

_EXIT = """
\b
Exit codes:
  0  done, or there was nothing to do
  2  wrong usage, or a file that could not be read or written
  3  an error in nodelint itself
"""


@click.command(cls=GroupedCommand, epilog=_EXIT)
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would be written.")
@click.option("--force", is_flag=True, help="Replace an existing configuration.")
@click.option(
    "--profile",
    type=WordChoice(list(_PROFILES)),
    help="The groups of rules that run. Default: ask on a terminal, else `default`.",
)
def command(dry_run: bool, force: bool, profile: str | None) -> None:
    """Write a configuration and the pre-commit hook for this repository.

    nodelint looks at how the manifests are kept, and which releases of Karpenter and Kubernetes the files
    name. Comments in the new file say what it found and where. Existing files are not replaced.
    """
    from nodelint.commands._detect_setup import survey

    try:
        here = os.getcwd()
    except FileNotFoundError:
        stop("the working folder no longer exists")
    top = os.path.relpath(repository(here) or here)
    seen = survey(top)
    failed = _configuration(top, seen, dry_run, force, profile)
    failed = _hook(top, dry_run) or failed
    echo("\n" + "\n".join(_next(seen)))
    sys.exit(UNUSABLE if failed else CLEAN)


def _configuration(top: str, seen: Survey, dry_run: bool, force: bool, profile: str | None) -> bool:
    """Write nodelint.yaml. Return whether this failed."""
    from nodelint.config.file import ConfigError
    from nodelint.config.settings import find

    path = os.path.normpath(os.path.join(top, _CONFIG))
    try:
        there = find(os.path.abspath(top))
    except ConfigError as error:
        unusable(error)
    if there is not None and not force:
        echo(f"{os.path.relpath(there)} already exists and was not changed; --force writes {_CONFIG} again.")
        return False
    text = configuration(seen, profile or _asked_profile())
    if dry_run:
        echo(f"Would write {path}:\n\n{_indented(text)}")
        return False
    return _write_file(path, text)


def _asked_profile() -> str:
    """Return the profile that the user chooses on a terminal; `default` if there is no terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "default"
    for name, about in _PROFILES.items():
        echo(f"  {name:<8}  {about}")
    chosen: str = click.prompt("Which rules should run?", type=WordChoice(list(_PROFILES)), default="default")
    return chosen


def configuration(seen: Survey, profile: str = "default") -> str:
    """Return the text of a nodelint.yaml with the results of the survey."""
    schema = project.raw_file("schemas/config.schema.json")
    lines = [f"# yaml-language-server: $schema={schema}"] if schema else []
    lines.append(f"# {_describe_survey(seen)}")
    if seen.styles:
        from textwrap import wrap

        lines += wrap(f"They are kept as {', '.join(seen.styles)}.", 98, initial_indent="# ", subsequent_indent="# ")
    lines.append("")
    lines += _setting("karpenter-version", "Karpenter", seen.karpenter, "the newest release known is assumed")
    lines += _setting("kubernetes-version", "Kubernetes", seen.kubernetes, "what depends on it is at most a warning")
    lines += [f"# The rules that run. {profile}: {_PROFILES[profile]}", f"profile: {profile}", ""]
    if seen.snapshot:
        lines += ["# Facts from AWS: which images, zones, subnets and roles there are.", f"snapshot: {seen.snapshot}"]
    else:
        lines += [
            "# Facts from AWS: which images, zones, subnets and roles there are. Made by",
            "# `nodelint refresh --output nodelint.snapshot.json`, and used offline from then on.",
            "# snapshot: nodelint.snapshot.json",
        ]
    lines += ["", "# What makes a check fail: error, warning or never.", "fail-on: error"]
    return "\n".join(lines) + "\n"


def _describe_survey(seen: Survey) -> str:
    if not seen.files:
        return "No NodePool or EC2NodeClass was found."
    what = [counted(seen.pools, "NodePool")] if seen.pools else []
    if seen.classes:
        what.append("1 EC2NodeClass" if seen.classes == 1 else f"{seen.classes:,} EC2NodeClasses")
    return f"Found {' and '.join(what) or 'objects of old APIs'} in {counted(seen.files, 'file')}."


def _setting(key: str, name: str, stated: Sequence[Evidence], otherwise: str) -> list[str]:
    """Return the lines of one setting, commented out.

    The files of the repository state the release. With the setting, checks would not follow an upgrade.
    """
    if not stated:
        example = "1.4" if key.startswith("karpenter") else "1.33"
        return [f"# No file states the release of {name}: {otherwise}.", f'# {key}: "{example}"', ""]
    if len({evidence.version for evidence in stated}) == 1:
        lines = [f"# The release of {name} is the one that {stated[0].by} states. To override it:"]
    else:
        lines = [f"# Files state several releases of {name}; for each object the nearest counts. To override:"]
    for version in dict.fromkeys(evidence.version for evidence in stated):
        first = next(evidence for evidence in stated if evidence.version == version)
        lines.append(f'# {key}: "{version}"  # {first.by}, {first.place}')
    return [*lines, ""]


def _hook(top: str, dry_run: bool) -> bool:
    """Add the hook to the pre-commit configuration, or create one. Return whether this failed."""
    from nodelint.commands._hook import hook, hook_lines
    from nodelint.text import Source

    item = hook()
    path = os.path.normpath(os.path.join(top, _HOOKS))
    if not os.path.exists(path):
        text = "\n".join(["repos:", *(f"  {line}" for line in hook_lines(item))]) + "\n"
        if dry_run:
            echo(f"Would write {path}:\n\n{_indented(text)}")
            return False
        return _write_file(path, text)
    try:
        before = read_bounded(path, top)
        old = Source(path.replace(os.sep, "/"), before.decode())
    except OSError as error:
        say(f"{path}: {error_reason(error)}")
        return True
    except UnicodeDecodeError:
        say(f"{path}: the file is not UTF-8")
        return True
    if "nodelint" in old.text:
        echo(f"{path} already contains nodelint and was not changed.")
        return False
    new = _with_hook(old, item)
    if new is None:
        say(f"{path}: the hook could not be added; add it under `repos`:")
        echo(f"\n{_indented(chr(10).join(hook_lines(item)))}", err=True)
        return True
    if dry_run:
        from nodelint.report.unified_diff import unified

        echo(f"Would change {path}:\n")
        echo(_indented("".join(unified(old, new))))
        return False
    return _write_file(path, new.text, "changed", before)


def _with_hook(old: Source, item: Mapping[str, Plain]) -> Source | None:
    """Return the pre-commit configuration with one more repository.

    None if it has no list `repos` that can be edited.
    """
    from nodelint.edits import NotEditable, add_item, apply
    from nodelint.text import Source
    from nodelint.text.reading import nodes_of

    roots = nodes_of(old)
    listed = roots[0].get("repos") if len(roots) == 1 else None
    if listed is None or listed.kind != "sequence":
        return None
    try:
        new = Source(old.path, apply(old.text, add_item(listed, item)))
    except NotEditable:
        return None
    read = [root.get("repos") for root in nodes_of(new)]
    if len(read) != 1 or read[0] is None or read[0].plain() != [*(other.plain() for other in listed.items), item]:
        return None
    return new


def _write_file(path: str, text: str, done: str = "written", before: bytes | None = None) -> bool:
    from nodelint.files.atomic_write import replace

    try:
        replace(path, text.encode(), before)
    except OSError as error:
        say(f"{path}: not written: {error_reason(error)}")
        return True
    echo(f"{path}: {done}.")
    return False


def _next(seen: Survey) -> list[str]:
    lines = [_describe_survey(seen), "", "Next:", "  nodelint check                  what is wrong today"]
    if seen.files:
        lines.append("  nodelint baseline               hide today's findings, and report only new ones")
    lines += [
        "  pre-commit install              check each commit",
        "  nodelint refresh --output nodelint.snapshot.json --region REGION",
        "                                  facts from AWS, to be committed",
    ]
    for ci, page in (("GitHub Actions", "docs/ci/github.md"), ("GitLab CI", "docs/ci/gitlab-ci.yml")):
        if ci in seen.ci:
            lines.append(f"  {ci}: {_address(page)}")
    for row in TABLE.rows:
        if row.guide is not None and row.style in seen.styles:
            lines.append(f"  {row.guide[0]}: {_address(row.guide[1])}")
    return lines


def _address(page: str) -> str:
    return project.page(page) or f"{page} in the repository of nodelint"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line.strip() else "\n" for line in text.splitlines())
