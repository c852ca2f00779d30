"""The objects of a cluster, for the commands that compare manifests with a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import say, stop
from nodelint.commands._shell_completion import files
from nodelint.files.safe_read import error_reason

if TYPE_CHECKING:
    from nodelint.drift.cluster import Cluster

_F = TypeVar("_F", bound=Callable[..., Any])

_KUBECTL = "kubectl"
_SECONDS = 120
_TAKES = f"; `--live {_KUBECTL}` asks the cluster that kubectl is set to"


def live_option(command: _F) -> _F:
    """Add the option `--live` to a command."""
    return click.option(
        "--live",
        metavar="FILE|kubectl",
        shell_complete=files,
        help="What the cluster holds: a file with the output of `kubectl get nodepools,ec2nodeclasses,nodeclaims -o"
        " yaml`, or a folder of such files; `kubectl` to run that command; - for standard input. `plan` also reads"
        " nodes, pods and poddisruptionbudgets of all namespaces.",
    )(command)


def cluster_of(live: str | None, workloads: bool = False) -> Cluster | None:
    """Return the cluster that --live names; None without it. End the run if it cannot be read.

    With `workloads`, kubectl is also asked for pods and PodDisruptionBudgets; the cluster may deny that.
    """
    if live is None:
        return None
    from nodelint.drift.cluster import read

    texts = _ask_kubectl(workloads) if live == _KUBECTL else _texts(live)
    try:
        return read(*texts)
    except ValueError as error:
        stop(f"--live {live}: {error}")


def _texts(path: str) -> list[str]:
    """Return the text of a file, or of each YAML and JSON file in a folder."""
    if not os.path.isdir(path):
        return [_text(path)]
    try:
        names = sorted(name for name in os.listdir(path) if name.endswith((".yaml", ".yml", ".json")))
    except OSError as error:
        stop(f"--live {path}: {error_reason(error)}")
    if not names:
        stop(f"--live {path}: no YAML or JSON file in this folder")
    return [_text(os.path.join(path, name)) for name in names]


def _text(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        from nodelint.model.messages import did_you_mean

        stop(f"--live {path}: {error_reason(error)}{did_you_mean(path, [_KUBECTL]) or _TAKES}")
    except UnicodeDecodeError:
        stop(f"--live {path}: the file is not UTF-8")


def _ask_kubectl(workloads: bool) -> list[str]:
    """Return the output of kubectl with its current context."""
    from nodelint.drift import cluster_pods
    from nodelint.drift.cluster import KINDS
    from nodelint.files import programs

    path = programs.program(_KUBECTL)
    if path is None:
        stop("--live kubectl: there is no kubectl on the PATH")
    texts = [_answer(path, [",".join(KINDS)])]
    if workloads:
        # Each kind by itself: who may not list pods still learns of budgets.
        more = [_answer(path, [kind, "--all-namespaces"], needed=False) for kind in cluster_pods.KINDS]
        texts += [text for text in more if text]
    return texts


def _answer(path: str, arguments: list[str], needed: bool = True) -> str:
    import subprocess

    try:
        done = subprocess.run(
            [path, "get", *arguments, "-o", "json"], capture_output=True, timeout=_SECONDS, check=False
        )
    except OSError as error:
        stop(f"--live kubectl: {error_reason(error)}")
    except subprocess.TimeoutExpired:
        stop(f"--live kubectl: no answer within {_SECONDS} seconds")
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = f"--live kubectl: {lines[-1] if lines else f'kubectl ended with {done.returncode}'}"
        if needed:
            stop(reason)
        say(reason)
        return ""
    return done.stdout.decode("utf-8", "replace")
