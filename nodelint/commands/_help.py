"""The help of commands: options in groups, and sentences that are not cut at 80 columns."""

from __future__ import annotations

import re

import click

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_READ, _JUDGED, _FACTS = "Input", "Releases and rules", "Facts from AWS and the cluster"
_WRITTEN, _OUTPUT, _END = "Fixes", "Output", "Exit code"

_GROUPS: dict[str, tuple[str, ...]] = {
    _WRITTEN: ("--fix", "--unsafe-fixes", "--apply", "--diff"),
    _READ: (
        "--values",
        "--include",
        "--exclude",
        "--no-ignore",
        "--config",
        "--isolated",
        "--stdin-filename",
        "--workloads",
        "--cluster",
    ),
    _JUDGED: (
        *(
            "--karpenter-version",
            "--kubernetes-version",
            "--profile",
            "--select",
            "--extend-select",
            "--preview",
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
            "--show-fixes",
            "--quiet",
            "--verbose",
            "--color",
            "--show-files",
            "--show-settings",
            "--watch",
        ),
    ),
    _END: ("--timeout", "--fail-on", "--fail-on-unjudged", "--require-facts"),
}
"""The groups of options by their titles, in the order of the help. All other options come first."""

_FEWEST = 9
"""The fewest options for which a help shows groups. A command with fewer shows one list."""

_WHOLE_FOLDER = "a folder is read with everything below it"
_FROM_CLUSTER = (
    "nodelint reads files, and standard input: `kubectl get nodepools,ec2nodeclasses -o yaml | nodelint check -`"
)

_MEANT = {
    "--helm": "charts are rendered without it; to judge helm's own result,"
    " `helm template NAME CHART | nodelint check -`",
    "--kustomize": "overlays are built without it; to judge kustomize's own result,"
    " `kustomize build FOLDER | nodelint check -`",
    "--json": "write `--format json`",
    "--sarif": "write `--format sarif`",
    "--dry-run": "write `--diff`, which prints the edits and writes nothing",
    "--check": "`nodelint check` writes nothing without `--fix`",
    **dict.fromkeys(("--namespace", "-n"), "NodePools and EC2NodeClasses are in no namespace"),
    **dict.fromkeys(("--all-namespaces", "-A", "--recursive", "-r", "-R"), _WHOLE_FOLDER),
    **dict.fromkeys(("--path", "--file", "--filename", "--dir", "-d", "-p"), "write the path without an option"),
    **dict.fromkeys(("--exit-zero", "--soft-fail", "--no-fail", "--warn-only"), "write `--fail-on never`"),
    **dict.fromkeys(("--max-warnings", "--warnings-as-errors", "--error-on-warning"), "write `--fail-on warning`"),
    **dict.fromkeys(("--reporter", "--report", "-o"), "write `--format`"),
    **dict.fromkeys(("--base", "--since", "--ref", "--from", "--from-ref", "--compare"), "write `--against`"),
    **dict.fromkeys(("--context", "--kubeconfig"), _FROM_CLUSTER),
    **dict.fromkeys(("--autofix", "--write", "--in-place", "-i"), "write `--fix`"),
    **dict.fromkeys(("--unsafe", "--force"), "write `--unsafe-fixes`"),
    **dict.fromkeys(("--pod", "--deployment", "--job"), "write `--workload`, such as `--workload deployment/web`"),
    **dict.fromkeys(("--cpu", "--memory"), "write a Pod with these requests into a file, and name the file"),
    **dict.fromkeys(("--release", "--version-of-karpenter", "--target-version"), "write `--karpenter-version`"),
    "--profile": "write `--aws-profile`",
    "--facts": "write `--snapshot`",
    "--output": "write `--baseline`",
    **dict.fromkeys(("--severity", "--min-severity", "--severity-threshold", "--level"), "write `--fail-on`"),
    **dict.fromkeys(("--update", "--update-baseline"), "`nodelint baseline` writes the baseline again"),
    "--list": "`nodelint rule` without a name lists the rules",
    "--all": "everything is included without an option",
    "--rule": "write `--select`",
    "--only": "write `--select`",
    "--suggestion": "write `--apply`",
    "--apply-suggestion": "write `--apply`",
    "--skip": "write `--ignore`",
    "--strict": "write `--profile strict`",
    "--offline": "nodelint asks AWS only with `--live`",
    "--no-color": "write `--color never`",
    "--debug": "write `--verbose`",
    "--stdin": "name `-` as a path",
    "--env": "write `--karpenter-version` and `--kubernetes-version`",
}
"""Options of other tools, each with what to use instead."""


_EXTRA = {
    "triage": "one log is read; join logs with `cat`, and name manifests by `--manifests PATH`",
    "init": "it sets up the folder that you are in: change into the repository first",
    "clean": "it removes the cache of this user, and takes no path",
    "rule": "one rule is shown; `nodelint rule WORD` lists those about a word",
    "policy": "it prints the policies of the rules, and reads no manifest; choose rules by `--select RULE`",
    "lsp": "the editor names the files",
    "mcp": "the client names the files",
    "completion": "name one shell",
}
"""Hints for a command that gets too many arguments."""


class WordChoice(click.Choice[str]):
    """A choice of words in any case. The message about another word names the nearest choice."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices, case_sensitive=False)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word of the list. Raise BadParameter if it is not in the list."""
        word = next((choice for choice in self.choices if choice == value.lower()), None)
        if word is None:
            self.fail(refuse_word(value, self.choices), param, ctx)
        return word


def refuse_word(value: str, choices: Sequence[str]) -> str:
    """Return the message about a word that is not in a list, with the nearest word of the list."""
    from nodelint.model.messages import did_you_mean

    return f"`{value}` is not one of {', '.join(choices)}{did_you_mean(value.lower(), choices, 0.65)}"


class GroupedCommand(click.Command):
    """A command whose help groups its options, and whose message about an unknown option suggests one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Raise NoSuchOption, with a suggestion, for an unknown option."""
        try:
            return super().parse_args(ctx, args)
        except click.BadOptionUsage as error:
            param = next((param for param in self.get_params(ctx) if error.option_name in param.opts), None)
            if param is not None and error.message.endswith("requires an argument."):
                vars(error)["message"] = f"write a value: {error.option_name} {param.make_metavar(ctx)}"
            raise
        except click.NoSuchOption as error:
            own = {name for param in self.get_params(ctx) for name in param.opts if name.startswith("--")}
            hint = _find_meant_option(error.option_name, own, ctx)
            vars(error)["message"] = error.message.rstrip(".") + hint
            vars(error)["possibilities"] = None
            raise
        except click.MissingParameter as error:
            if error.param is not None and isinstance(error.param.type, click.Choice):
                raise click.UsageError(_ask_for_choice(error.param, error.param.type.choices), ctx) from None
            if isinstance(error.param, click.Argument):
                wanted = " ".join(param.make_metavar(ctx) for param in ctx.command.params if param.required)
                raise click.UsageError(f"too few arguments: `{ctx.command_path} {wanted}`", ctx) from None
            raise
        except click.UsageError as error:
            extra = _EXTRA.get(str(ctx.info_name))
            if extra is not None and error.message.startswith("Got unexpected extra argument"):
                vars(error)["message"] = f"{error.message}: {extra}"
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each group below its title."""
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


def _ask_for_choice(param: click.Parameter, choices: Sequence[str]) -> str:
    """Return the message about an option or argument that is missing: the values that it may have."""
    option = f"{param.opts[0]} " if isinstance(param, click.Option) else ""
    words = [f"`{option}{choice}`" for choice in choices]
    return f"write {', '.join(words[:-1])} or {words[-1]}"


def _find_meant_option(name: str, own: Collection[str], ctx: click.Context) -> str:
    """Return the end of a message about an unknown option: the option that is meant, or the command that has it.

    If there is neither, it names the command's help.
    """
    from nodelint.model.messages import nearest_name

    words = _MEANT.get(name)
    if words is not None and all(word in own for word in _OPTION.findall(words)):
        return f"; {words}"
    root = ctx.find_root().command
    there = []
    for other in root.list_commands(ctx) if isinstance(root, click.Group) else ():
        command = root.get_command(ctx, other) if isinstance(root, click.Group) else None
        if command is not None and any(name in param.opts for param in command.params):
            there.append(f"`nodelint {other}`")
    if there:
        few = there if len(there) <= 3 else [*there[:2], "others"]
        listed = " and ".join(filter(None, [", ".join(few[:-1]), few[-1]]))
        return f"; {listed} {'has' if len(there) == 1 else 'have'} it"
    longer = [option for option in sorted(own) if option.startswith(name) and len(name) > len("--ab")]
    near = longer[0] if longer else nearest_name(name, sorted(own), 0.75)
    return f" (did you mean `{near}`?)" if near is not None else f"; `{ctx.command_path} --help` lists the options"


_OPTION = re.compile(r"(?<=`)--[a-z-]+")


class WholeHelp(click.Group):
    """A group of commands whose help shows whole sentences, which click would cut."""

    def suggest(self, word: str, commands: list[str]) -> str:
        """Return the end of a message about an unknown command."""
        from nodelint.model.messages import did_you_mean

        return did_you_mean(word, commands) or f"; there are {' and '.join(commands)}"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. Raise UsageError, with a suggestion, if there is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            vars(error)["message"] = error.message.rstrip(".") + self.suggest(args[0], self.list_commands(ctx))
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of the commands with their descriptions."""
        commands = [(name, command) for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))]
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.get_short_help_str(limit=1000)) for name, command in commands])
