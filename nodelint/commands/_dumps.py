"""Read the objects of a cluster from files, standard input or kubectl."""

from __future__ import annotations

import os
import sys

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import say, stop
from nodelint.files.contents import explain_unreadable
from nodelint.files.gate import gate
from nodelint.files.safe_read import error_reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LARGEST = 1 << 30
"""The most bytes that are read of a file. The dump of a large fleet has a tenth of this size."""

_SECONDS = 60
"""The time limit, in seconds, of kubectl for one kind. The limit for all kinds is three times as long."""

_NAMES = (".yaml", ".yml", ".json")


def read_texts_of(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return path and text of files, of YAML and JSON files in folders, and of standard input.

    End the run if one cannot be read. A symlink that leads out of its folder is reported and not read.
    """
    found: list[tuple[str, str]] = []
    for path in paths:
        is_folder = path != "-" and os.path.isdir(path)
        found += _texts_in(path) if is_folder else [(path, _decoded(path, _read_named(path)))]
    return found


def _texts_in(folder: str) -> Iterator[tuple[str, str]]:
    gate.admit(folder)
    try:
        names = [name for name, _ in gate.entries(folder) if name.endswith(_NAMES)]
    except OSError as error:
        stop(f"{folder}: {error_reason(error)}")
    is_empty = True
    for path in (os.path.join(folder, name) for name in names):
        if (reason := gate.refusal(path)) is not None:
            say(f"{path}: not read: it is {reason}")
        # A pipe or a device is read only where it is named itself: nobody may ever write into one of a folder.
        elif not os.path.exists(path) or os.path.isfile(path):
            is_empty = False
            try:
                content = gate.read(path, _LARGEST)
            except OSError as error:
                stop(f"{path}: {error_reason(error)}")
            yield path, _decoded(path, content)
    if is_empty:
        stop(f"{folder}: no YAML or JSON file in this folder")


def _read_named(path: str) -> bytes:
    """Return the content of a file named on the command line, or of standard input for `-`."""
    try:
        if path == "-":
            if sys.stdin is None:
                stop("standard input is closed")
            if sys.stdin.isatty():
                say("reading a dump from standard input; end it with Ctrl-D")
            content = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        stop(f"{path}: no such file; `kubectl get nodes,nodeclaims,nodepools,pods -A -o yaml` prints a dump")
    except OSError as error:
        stop(f"{path}: {error_reason(error)}")
    if len(content) > _LARGEST:
        stop(f"{path}: larger than {_LARGEST >> 30} GiB; name fewer kinds")
    return content


def _decoded(path: str, content: bytes) -> str:
    """Return the text of a dump. End the run if it is empty or is not UTF-8."""
    if not content.strip():
        if path == "-":
            stop("standard input is empty: run the command in front of the pipe alone to see why it prints nothing")
        stop(f"{path} is empty: `kubectl get nodes,nodeclaims,nodepools,pods -A -o yaml` prints a dump")
    if (packed := explain_unreadable(content)) is not None:
        stop(f"{path}: {packed}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        stop(f"{path}: the file is not UTF-8")


def ask_cluster() -> tuple[list[tuple[str, str]], frozenset[str]]:
    """Return the output of kubectl for each kind, and the kinds that were listed completely.

    End the run if a required kind cannot be listed.
    """
    from time import monotonic

    from nodelint.files import programs
    from nodelint.why.dump import KINDS, NEEDED

    path = programs.program("kubectl")
    if path is None:
        stop("--from-cluster: there is no kubectl on the PATH")
    end = monotonic() + 3 * _SECONDS
    texts, listed = [], set[str]()
    for number, kind in enumerate(KINDS):
        left = min(_SECONDS, end - monotonic())
        answer = _answer(path, kind, left) if left > 0 else f"the {3 * _SECONDS} seconds for kubectl are over"
        if isinstance(answer, str):
            if number < NEEDED:
                stop(f"--from-cluster: kubectl get {kind}: {answer}")
            say(f"--from-cluster: kubectl get {kind}: {answer}; what depends on it is not known")
            continue
        texts.append((f"kubectl get {kind}", answer[0]))
        listed.add(kind)
    complete_kinds = {"PodDisruptionBudget"} if "poddisruptionbudgets.policy" in listed else set()
    return texts, frozenset(complete_kinds)


def _answer(path: str, kind: str, seconds: float) -> tuple[str] | str:
    """Return the output of kubectl for a kind as a one-element tuple, or the reason for a failure as a string."""
    import subprocess

    try:
        done = subprocess.run(
            [path, "get", kind, "--all-namespaces", "--output=json"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        return error_reason(error)
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:.0f} seconds"
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"kubectl ended with {done.returncode}"
    return (done.stdout.decode("utf-8", "replace"),)
