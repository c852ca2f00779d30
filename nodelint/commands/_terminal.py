"""The abilities of the output: colours, columns and hyperlinks."""

from __future__ import annotations

import os
import sys

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeVar

    import click

    from nodelint.report.style import TextStyle

    _F = TypeVar("_F", bound=Callable[..., Any])


# Programs that take hyperlinks (OSC 8), by what they set in the environment.
_LINKING = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM", "WEZTERM_EXECUTABLE")
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
_LINKING_TERMS = ("xterm-kitty", "alacritty", "foot", "xterm-ghostty", "contour")


def preferred() -> bool | None:
    """Return whether the environment wants colours; None if the stream decides.

    The variables are described at https://no-color.org and https://force-color.org; a `dumb` terminal has no colours.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


def _chosen(context: click.Context, _: click.Parameter, value: Literal["auto", "always", "never"] | None) -> None:
    if value is not None:
        context.color = {"always": True, "never": False}.get(value)
        if value == "auto":
            context.color = preferred()


def colour_option(command: _F) -> _F:
    """Add the option `--color` to a command."""
    import click

    from nodelint.commands._help import WordChoice

    return click.option(
        "--color",
        type=WordChoice(["auto", "always", "never"]),
        callback=_chosen,
        expose_value=False,
        help="Colours in the output. Default: auto, on a terminal unless NO_COLOR is set or TERM is dumb;"
        " FORCE_COLOR means always.",
    )(command)


def look(err: bool = False, page: bool = False) -> TextStyle:
    """Return the abilities of standard output, or of standard error; `page` gives files the width of a page."""
    from nodelint.report.style import PAGE, PLAIN, TextStyle

    stream = sys.stderr if err else sys.stdout
    terminal = stream is not None and stream.isatty()
    chosen = _preference()
    coloured = terminal if chosen is None else chosen
    style = PLAIN.style
    if coloured:
        import click

        style = click.style
    columns = _columns(stream, terminal, (PAGE if page else PLAIN).width)
    return TextStyle(style, columns, terminal, coloured and terminal and _links())


def _preference() -> bool | None:
    if "click" in sys.modules:
        import click

        context = click.get_current_context(silent=True)
        if context is not None:
            return context.color
    return preferred()


def _columns(stream: object, terminal: bool, otherwise: int) -> int:
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(int(given), 40)
    if not terminal:
        return otherwise
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or otherwise, 40)  # type: ignore[attr-defined]
    except OSError:
        return otherwise


def _links() -> bool:
    environ = os.environ
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if environ.get("TERM") == "dumb" or environ.get("CI"):
        return False
    return (
        any(name in environ for name in _LINKING)
        or environ.get("TERM_PROGRAM") in _LINKING_PROGRAMS
        or environ.get("TERM", "").startswith(_LINKING_TERMS)
        or environ.get("VTE_VERSION", "0").rjust(4, "0") >= "5000"
    )
