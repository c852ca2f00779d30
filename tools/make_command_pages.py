"""Write docs/commands/: one page for each command from its own help, with real output, and the index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import click  # noqa: E402

DAY = "2026-09-20T12:00:00Z"
"""The time of the runs that a page shows: the facts are not old then."""

from nodelint.cli import cli  # noqa: E402

FOLDER = ROOT / "docs" / "commands"

# What each page shows, and the page that says more.
SHOWN = {
    "check": "nodelint check examples/bad/typos.yaml",
    "explain": "nodelint explain examples/bad/custom-image.yaml",
    "hash": "nodelint hash examples/good",
    "rule": "nodelint rule node-class-ref",
}
MORE = {
    "baseline": "[Living with old findings](../baseline.md) says how to work with it.",
    "check": "[Outputs](../outputs.md), [inputs](../inputs.md) and [configuration](../configuration.md) say more.",
    "completion": "[Getting started](../getting-started.md#shell-completion) says where it goes.",
    "explain": "[How Karpenter decides](../how-karpenter-decides.md) says what stands behind it.",
    "hash": "[How Karpenter decides](../how-karpenter-decides.md) says what the hash is compared with.",
    "init": "[Configuration](../configuration.md) says what the settings mean.",
    "mcp": "[Agents](../agents.md) says when to call which tool.",
    "policy": "[Admission policies](../policy.md) says what they need, and which rules have one.",
    "lsp": "[Editors](../editors.md) says how to set it up.",
    "plan": "[Before a change is merged](../plan.md) says what is compared, and how.",
    "refresh": "[Facts from AWS](../facts.md) says what is asked, and how long it is kept.",
    "rule": "All pages: [rules](../rules/index.md).",
    "snapshot": "[Facts from AWS](../facts.md) says more.",
    "test-rules": "[Rules of your own](../policies.md#try-them) says how to read it.",
    "triage": "[Reading a controller's log](../triage.md) says more.",
    "migrate": "[Move to EKS Auto Mode](../migrate.md) says more.",
    "upgrade": "[Upgrades](../upgrade.md) says more.",
    "why": "[Why a node stays](../why.md) says what is looked at, and in which order.",
}


def pages() -> dict[str, str]:
    """Return the content of each page by the name of its file."""
    top = click.Context(cli, info_name="nodelint", **cli.context_settings)
    found = {}
    rows = []
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        assert command is not None
        found[f"{name}.md"] = "\n\n".join(_page(command, click.Context(command, top, name))) + "\n"
        rows.append(f"| [{name}]({name}.md) | {_summary(command)} |")
    table = "\n".join(["| command | |", "| --- | --- |", *rows])
    about = "\n\n".join(part for part in _paragraphs(cli.help or ""))
    found["index.md"] = f"# Commands\n\n{about}\n\n{table}\n"
    return found


def _page(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"# {context.command_path}"
    yield from _about(command, context)
    shown = SHOWN.get(context.info_name or "")
    if shown:
        output = _output(shown)
        fence = "````" if "```" in output else "```"
        yield f"{fence}console\n$ {shown}\n{output}\n{fence}"
    yield from _options(command, context, "##")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            within = click.Context(inner, context, name)
            yield f"## {within.command_path}"
            yield from _about(inner, within)
            yield from _options(inner, within, "###")
    if context.info_name in MORE:
        yield MORE[context.info_name]


def _about(command: click.Command, context: click.Context) -> Iterator[str]:
    first, *rest = _paragraphs(command.help or "")
    yield first
    yield f"```text\n{context.command_path} {' '.join(command.collect_usage_pieces(context))}\n```"
    yield from rest


def _options(command: click.Command, context: click.Context, level: str) -> Iterator[str]:
    rows = [_row(parameter, context) for parameter in command.params if isinstance(parameter, click.Option)]
    if rows:
        yield f"{level} Options"
        yield "\n".join(["| option | |", "| --- | --- |", *rows])
    if command.epilog:
        title, *lines = cleandoc(command.epilog).removeprefix("\b\n").splitlines()
        yield f"{level} {title.removesuffix(':')}"
        codes = [line.split(None, 1) for line in re.sub(r"\n {5,}", " ", "\n".join(lines)).splitlines()]
        rows = [f"| {code} | {_cell(meaning)} |" for code, meaning in codes]
        yield "\n".join(["| code | |", "| --- | --- |", *rows])


def _row(option: click.Option, context: click.Context) -> str:
    cells = [option.help or ""]
    names = ", ".join(option.opts)
    if isinstance(option.type, click.Choice):
        cells.insert(0, f"{', '.join(f'`{choice}`' for choice in option.type.choices)}.")
    elif not option.is_flag:
        names += f" {option.make_metavar(context)}"
    if option.show_default:
        cells.append(f"Default: `{option.default}`.")
    return f"| `{names}` | {_cell(' '.join(filter(None, cells)))} |"


def _cell(text: str) -> str:
    return re.sub(r"(?<![`\w])(--[a-z][a-z-]*)(?![`\w])", r"`\1`", " ".join(text.split())).replace("|", "\\|")


def _summary(command: click.Command) -> str:
    return _cell(next(_paragraphs(command.help or "")).split(". ")[0].rstrip("."))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a command's help. Those that click must not wrap become code blocks."""
    for paragraph in re.split(r"\n\s*\n", cleandoc(text)):
        if paragraph.startswith("\b\n"):
            title, _, code = paragraph.removeprefix("\b\n").partition("\n")
            yield f"{title}\n\n```{'sh' if title.startswith('Example') else 'text'}\n{cleandoc(code)}\n```"
        else:
            yield _cell(" ".join(paragraph.split()))


def _output(shown: str) -> str:
    """Return what the command prints for the examples, without cached facts of the person who runs this."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder, "examples"))
        environment = {**os.environ, "NODELINT_CACHE_DIR": folder, "NO_COLOR": "1", "NODELINT_NOW": DAY}
        environment["PYTHONPATH"] = str(ROOT)
        environment.pop("COLUMNS", None)  # a page is as wide wherever it is made
        arguments = [sys.executable, "-m", *shown.split()]
        done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.rstrip()


def main() -> None:
    """Write the page of each command, and delete the pages of commands that no longer exist."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for page in FOLDER.glob("*.md"):
        page.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
