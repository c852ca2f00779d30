"""The objects of a cluster, for the commands that compare manifests with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodelint.commands import stop, why
from nodelint.commands._completing import files

if TYPE_CHECKING:
    from nodelint.drift.cluster import Cluster

_F = TypeVar("_F", bound=Callable[..., Any])

_KUBECTL = "kubectl"
_SECONDS = 120


def live_option(command: _F) -> _F:
    """The option that names what a cluster holds."""
    return click.option(
        "--live",
        metavar="FILE|kubectl",
        shell_complete=files,
        help="What the cluster holds: a file with the output of `kubectl get nodepools,ec2nodeclasses,nodeclaims -o"
        " yaml`; `kubectl` to run that; - for standard input.",
    )(command)


def cluster_of(live: str | None) -> Cluster | None:
    """The cluster that --live names; None without it. Ends the run where it cannot be read."""
    if live is None:
        return None
    from nodelint.drift.cluster import read

    text = _asked() if live == _KUBECTL else _text(live)
    try:
        return read(text)
    except ValueError as error:
        stop(f"--live {live}: {error}")


def _text(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        stop(f"--live {path}: {why(error)}")
    except UnicodeDecodeError:
        stop(f"--live {path}: the file is not UTF-8")


def _asked() -> str:
    """What kubectl answers, with the context that it has now."""
    import subprocess

    from nodelint import programs
    from nodelint.drift.cluster import KINDS

    path = programs.program(_KUBECTL)
    if path is None:
        stop("--live kubectl: there is no kubectl on the PATH")
    try:
        done = subprocess.run(
            [path, "get", ",".join(KINDS), "-o", "json"], capture_output=True, timeout=_SECONDS, check=False
        )
    except OSError as error:
        stop(f"--live kubectl: {why(error)}")
    except subprocess.TimeoutExpired:
        stop(f"--live kubectl: no answer within {_SECONDS} seconds")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        stop(f"--live kubectl: {lines[-1] if lines else f'kubectl ended with {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")
