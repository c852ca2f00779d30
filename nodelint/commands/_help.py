"""The help of commands: options stand in groups, and nothing is cut off at 80 columns."""

from __future__ import annotations

import click

_READ, _JUDGED, _FACTS = "What is read", "What it is judged for, and by which rules", "Facts from AWS, or the cluster"
_WRITTEN, _OUTPUT, _END = "What is written", "Output", "Exit code"

_GROUPS: dict[str, tuple[str, ...]] = {
    _WRITTEN: ("--fix", "--unsafe-fixes", "--diff"),
    _READ: ("--include", "--exclude", "--no-ignore", "--kustomize", "--helm", "--config", "--workloads", "--cluster"),
    _JUDGED: (
        *(
            "--karpenter-version",
            "--kubernetes-version",
            "--profile",
            "--select",
            "--ignore",
            "--rules",
            "--repository-rules",
            "--crds",
        ),
        *("--baseline", "--jobs"),
    ),
    _FACTS: ("--snapshot", "--live", "--region", "--aws-profile", "--max-age"),
    _OUTPUT: (
        *(
            "--format",
            "--output",
            "--statistics",
            "--quiet",
            "--verbose",
            "--color",
            "--show-files",
            "--show-settings",
        ),
    ),
    _END: ("--fail-on", "--fail-on-unjudged", "--require-facts"),
}
"""The groups by their titles, in the order in which a help shows them; all other options come first."""

_FEWEST = 9
"""A command with fewer options shows them in one list."""


class GroupedCommand(click.Command):
    """A command whose help has its options by what they are about."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each group under its title."""
        params = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        options = [(option, record) for option in params if (record := option.get_help_record(ctx))]
        if len(options) < _FEWEST:
            super().format_options(ctx, formatter)
            return
        titles = {name: title for title, names in _GROUPS.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in _GROUPS}}
        for option, record in options:
            title = next((titles[name] for name in option.opts if name in titles), "Options")
            found[title].append(record)
        # --help alone is no group of its own.
        last = found.pop("Options")
        own, rest = (
            [option for option in last if "--help" not in option[0]],
            [option for option in last if "--help" in option[0]],
        )
        for title, records in (("Options", own), *found.items(), ("Help", rest)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class WholeHelp(click.Group):
    """Commands whose help says in whole sentences what each does: click cuts them off at the width."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands, and what each does."""
        commands = [(name, command) for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in commands])
