"""Print on standard output and standard error, and the exit codes of the commands."""

from __future__ import annotations

import os
import sys

from nodelint.base.printable import escaped_json, printable, screened, without_commands
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

    from nodelint.commands._progress import ProgressLine
    from nodelint.config.file import ConfigError

CLEAN, FOUND, UNUSABLE, FAULT, TRY_AGAIN, LACKING = 0, 1, 2, 3, 4, 5

INTERRUPTED = 130
"""The exit code of a program that was ended by Ctrl-C, as shells report it."""

UNHEARD = 141
"""The exit code of a program whose output is closed, as shells report it, for example by `head`."""


def on_terminal() -> bool:
    """Return whether standard error is a terminal that can show progress."""
    return sys.stderr is not None and sys.stderr.isatty()


def echo(text: str, *, err: bool = False, nl: bool = True, commands: bool = False) -> None:
    """Print text on standard output or standard error; of terminal codes only colours and nodelint's own links stay.

    Every command prints with this function or the ones below. `commands` is passed to `screened`.
    """
    _write(screened(text, True, commands), err, nl)


def echo_fitted(text: str) -> None:
    """Print a report on standard output, with lines wrapped to the width of a terminal."""
    from nodelint.commands._terminal import look
    from nodelint.report.style import fitted

    style = look()
    echo("\n".join(part for line in text.split("\n") for part in fitted(line, style)))


def echo_file(content: bytes) -> None:
    """Print the content of a file unchanged, byte for byte."""
    import click

    click.echo(content, nl=False)


def clear_screen() -> None:
    """Clear the terminal and its scrollback."""
    _write("\033[2J\033[3J\033[H", err=False, nl=False)


def progress(text: str) -> None:
    """Print the progress of a run over the previous one, on a terminal."""
    _write(f"\r\033[K{printable(text)}", err=True, nl=False)


def watch_progress() -> ProgressLine | None:
    """Return the progress line of this run.

    None if there is no terminal that can show it: a pipe, CI, or a dumb terminal.
    """
    if not on_terminal() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    from nodelint.commands._progress import start_line

    return start_line(progress)


def say(message: str) -> None:
    """Print a line on standard error.

    Control characters, such as those of file names, are escaped.
    """
    _write(f"nodelint: {without_commands(printable(message))}", err=True)


def echo_json(value: object, err: bool = False) -> None:
    """Print a value as JSON, in parts if it is long; characters that the stream cannot encode are escaped."""
    from nodelint.report.json_text import json_parts

    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None)
    parts = json_parts(value, ascii_only=not _carries_all(encoding))
    pending: list[str] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size > _PRINTED_AT_ONCE:
            _write(escaped_json("".join(pending)), err, nl=False)
            pending, size = [], 0
    _write(escaped_json("".join(pending)) + "\n", err, nl=False)


_PRINTED_AT_ONCE = 1 << 16
"""The number of characters of JSON that are written in one call."""


def _carries_all(encoding: str | None) -> bool:
    """Return whether a stream can encode every character.

    File names that are not UTF-8 are escaped before.
    """
    return encoding is not None and encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def _write(text: str, err: bool, nl: bool = True) -> None:
    """Print as click's `echo` does, without loading click unless there are terminal codes or the stream is
    unusual.
    """
    stream = sys.stderr if err else sys.stdout
    if "click" not in sys.modules and "\033" not in text and getattr(stream, "encoding", None) == "utf-8":
        stream.write(f"{text}\n" if nl else text)
        stream.flush()
        return
    import click

    from nodelint.commands._terminal import preferred

    outside = click.get_current_context(silent=True) is None
    click.echo(text, err=err, nl=nl, color=preferred() if outside else None)


def unusable(error: ConfigError) -> NoReturn:
    """Print the faults of a configuration, or of a file that it names, and end the run."""
    for message in error.messages:
        say(message)
    sys.exit(UNUSABLE)


def stop(*messages: str, code: int = UNUSABLE) -> NoReturn:
    """Print messages and end the run with an exit code."""
    for message in messages:
        say(message)
    sys.exit(code)
