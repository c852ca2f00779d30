"""`nodelint lsp`: the language server."""

from __future__ import annotations

import gc
import sys

import click

from nodelint.commands import now
from nodelint.commands._console import stop
from nodelint.commands._help import GroupedCommand
from nodelint.files.safe_read import error_reason


def _address(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"`{value}` is not an address such as 127.0.0.1:2087")
    return host.strip("[]") or "127.0.0.1", int(port)


@click.command(cls=GroupedCommand)
@click.option("--stdio", is_flag=True, help="Speak over standard input and output (the default).")
@click.option(
    "--tcp", "address", callback=_address, metavar="HOST:PORT", help="Listen on this address for one editor."
)
def command(stdio: bool, address: tuple[str, int] | None) -> None:
    """Serve an editor: findings as you type, fixes, hover, completion.

    The editor starts it; docs/editors.md describes the setup.
    """
    if stdio and address is not None:
        stop("--stdio and --tcp cannot be used together")
    now()  # an invalid time is reported before anything starts
    try:
        from nodelint.lsp import serve

        gc.set_threshold(100_000, 20, 20)  # edited texts leave cycles, and the process is long-lived
        code = serve(now, address)
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        stop("the language server needs pygls: pip install pygls, or nodelint with its extra `lsp`")
    except OSError as error:
        stop(f"--tcp: {error_reason(error)}" if address is not None else error_reason(error))
    sys.exit(code)
