"""What a shell's completion offers where click itself cannot know: paths, and the names of rules."""

from __future__ import annotations

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def files(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files and folders, as the shell itself completes them."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def rule_names(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of rules; where an option takes several, of groups too, and one behind others and a comma."""
    from click.shell_completion import CompletionItem

    from nodelint.rule.definition import GROUPS, bundled

    names = [name.removesuffix(".py") for name in os.listdir(bundled()) if name.endswith(".py")]
    known = sorted([*names, *GROUPS] if parameter.multiple else names)
    before, comma, last = incomplete.rpartition(",") if parameter.multiple else ("", "", incomplete)
    return [CompletionItem(before + comma + name) for name in known if name.startswith(last)]
