"""`nodelint completion`: print the completion script of a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from nodelint.commands._console import echo
from nodelint.commands._help import GroupedCommand, WordChoice


@click.command(cls=GroupedCommand)
@click.argument("shell", type=WordChoice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, options, rules and paths in a shell.

    \b
    To have it in every new shell:
      bash  echo 'eval "$(nodelint completion bash)"' >> ~/.bashrc
      zsh   echo 'eval "$(nodelint completion zsh)"' >> ~/.zshrc  (after compinit)
      fish  nodelint completion fish > ~/.config/fish/completions/nodelint.fish
    """
    script = get_completion_class(shell)
    assert script is not None  # click has all three
    echo(script(context.find_root().command, {}, "nodelint", "_NODELINT_COMPLETE").source())
