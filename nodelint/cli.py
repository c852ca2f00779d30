"""The command line: finds the module of each command and loads nothing that is slow.

A command is a module in `commands/`, imported when it is called, or when the help names it. Most runs of a hook find
nothing to do, and should end before slow modules are loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from nodelint import __version__
from nodelint.base.printable import printable_lines
from nodelint.commands import ending, today
from nodelint.commands._console import echo
from nodelint.commands._help import WholeHelp


@contextmanager
def _printable_messages() -> Iterator[None]:
    """A context manager that escapes control characters in click's messages, which may quote file names."""
    try:
        yield
    except click.ClickException as error:
        vars(error)["message"] = printable_lines(error.message)
        raise


_MEANT_COMMANDS = {
    "lint": "check",
    "validate": "check",
    "test": "check",
    "scan": "check",
    "fix": "check --fix",
    "format": "check --fix",
    "fmt": "check --fix",
    "diff": "plan --against REVISION",
    "drift": "plan",
    "list": "rule",
    "version": "--version",
    "config": "check --show-settings",
    "update": "refresh",
    "schedule": "fit",
    "cost": "explain",
    "server": "lsp",
}
"""Commands of other tools, each with the nodelint command that does the same."""


def _suggest_command(word: str, commands: list[str]) -> str:
    """Return the end of a message about an unknown command: the command that is probably meant."""
    from nodelint.data import table
    from nodelint.model.messages import did_you_mean

    lower = word.lower()
    if lower in _MEANT_COMMANDS:
        return f"; write `nodelint {_MEANT_COMMANDS[lower]}`"
    if lower in commands or lower.removesuffix("s") in commands:
        return f" (did you mean `{lower if lower in commands else lower.removesuffix('s')}`?)"
    if os.path.lexists(word):
        return f"; to check the manifests there: `nodelint check {word}`"
    if word in table("rules")["rules"]:
        return f"; to read the page of that rule: `nodelint rule {word}`"
    return (
        did_you_mean(word, commands) or "; `nodelint --help` lists the commands, `nodelint rule WORD` rules about it"
    )


class _Commands(WholeHelp):
    def list_commands(self, _: click.Context) -> list[str]:
        folder = os.path.join(os.path.dirname(__file__), "commands")
        names = [name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py")]
        return sorted(name.replace("_", "-") for name in names if not name.startswith("_"))

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] == ["help"]:
            args = [*args[1:2], "--help"]
        with _printable_messages():
            return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from difflib import get_close_matches

            near = next(iter(get_close_matches(error.option_name, ["--version", "--help"], 1, 0.8)), None)
            hint = f" (did you mean `{near}`?)" if near else None
            hint = hint or f"; options stand after the command, as in `nodelint check {error.option_name}`"
            vars(error)["message"] = error.message.rstrip(".") + hint
            vars(error)["possibilities"] = None
            raise

    def invoke(self, context: click.Context) -> object:
        with ending(), _printable_messages():
            return super().invoke(context)

    def suggest(self, word: str, commands: list[str]) -> str:
        return _suggest_command(word, commands)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        from importlib import import_module

        command = import_module(f"nodelint.commands.{name.replace('-', '_')}").command
        command.name = name
        assert isinstance(command, click.Command)
        return command


def _tell_version(context: click.Context) -> None:
    from nodelint.ec2.catalog import Catalog
    from nodelint.report.age import old_facts_text, version_text

    types = Catalog.bundled().date
    echo(f"nodelint {__version__}")
    echo(version_text(types))
    old = old_facts_text(types, today())
    if old is not None:
        echo(old)
    context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, options: (
        _tell_version(context) if options and not context.resilient_parsing else None
    ),
    help="Show the version and exit.",
)
def cli() -> None:
    """Check Karpenter's NodePool and EC2NodeClass manifests before they are merged.

    nodelint computes what Karpenter would launch. It reports each mistake with its place, the reason and the
    fix, and can write the fix. It needs no AWS account: it ships with facts about EC2, and asks AWS only if you
    tell it to.

    \b
    Start here:
      nodelint check                  find mistakes in this folder
      nodelint check --fix pool.yaml  also write the safe fixes
      nodelint plan                   see which nodes this branch replaces
      nodelint fit                    see which NodePool accepts a workload
      nodelint explain pool.yaml      see which types a NodePool can launch
      nodelint rule                   list the rules
    """
