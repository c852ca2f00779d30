"""The time limit of a run: the option `--timeout`."""

from __future__ import annotations

from nodelint.base.budget import RUN
from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import stop

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

_SECONDS = {"s": 1, "m": 60, "h": 3600}


def start_deadline(timeout: str | None) -> None:
    """Set the time limit of the run, such as `90`, `90s` or `5m`. End the run if the text is not valid.

    None sets no limit.
    """
    if timeout is None:
        return
    number, unit = (timeout[:-1], timeout[-1]) if timeout[-1:] in _SECONDS else (timeout, "s")
    if not (number.isascii() and number.isdecimal() and len(number) < 8 and int(number)):
        stop(f"--timeout: `{timeout}` is not a time such as 90, 90s or 5m")
    RUN.begin(int(number) * _SECONDS[unit], timeout)


def timeout_option(command: _F) -> _F:
    """Add the option `--timeout` to a command."""
    import click

    def take(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if not context.resilient_parsing:
            start_deadline(value)

    text = "Stop after this time, such as 90s or 5m: list what was not judged, and exit with 1."
    return click.option("--timeout", metavar="TIME", help=text, expose_value=False, callback=take)(command)
