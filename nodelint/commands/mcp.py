"""`nodelint mcp`: the server for agents."""

from __future__ import annotations

import os

import click

from nodelint.commands._console import stop
from nodelint.commands._help import GroupedCommand
from nodelint.commands._shell_completion import files


@click.command(cls=GroupedCommand)
@click.option("--root", default=".", metavar="FOLDER", shell_complete=files, help="The folder that tools may read.")
def command(root: str) -> None:
    """Serve an agent over the Model Context Protocol, on standard input and output.

    Tools: check, explain, fit, plan, rule, hash. None of them writes a file or asks AWS, and none takes a path
    outside of the root, which is this folder by default. It needs the package mcp.
    """
    if not os.path.isdir(root):
        stop(f"--root {root}: no such folder")
    try:
        from nodelint.mcp.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "anyio"):
            raise
        stop("the server for agents needs the package mcp: pip install 'mcp>=2.3', or nodelint with its extra `mcp`")
    serve(os.path.realpath(root))
