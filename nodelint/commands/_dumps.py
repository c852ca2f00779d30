"""What a cluster holds, as files, standard input or kubectl give it."""

from __future__ import annotations

import os
import sys

from nodelint.commands import say, stop
from nodelint.files.safe_read import error_reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LARGEST = 1 << 30
"""Bytes of a file of which more are not read: a dump of a large fleet has a tenth of them."""

_SECONDS = 60
"""How long kubectl may take for one kind, and all kinds together three times as long."""

_NAMES = (".yaml", ".yml", ".json")


def read_texts_of(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Return the texts of files, of YAML and JSON files in folders, and of standard input. Ends the run without."""
    return [(path, _text(path)) for named in paths for path in _files_of(named)]


def _files_of(path: str) -> Iterator[str]:
    if path == "-" or not os.path.isdir(path):
        yield path
        return
    try:
        files = sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(_NAMES))
    except OSError as error:
        stop(f"{path}: {error_reason(error)}")
    # A pipe or a device is read only where it is named itself: nobody may ever write into one of a folder.
    files = [file for file in files if not os.path.exists(file) or os.path.isfile(file)]
    if not files:
        stop(f"{path}: no YAML or JSON file in this folder")
    yield from files


def _text(path: str) -> str:
    try:
        if path == "-":
            if sys.stdin is None:
                stop("standard input is closed")
            if sys.stdin.isatty():
                say("reading a dump from standard input; end it with Ctrl-D")
            data = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(_LARGEST + 1)
    except OSError as error:
        stop(f"{path}: {error_reason(error)}")
    if len(data) > _LARGEST:
        stop(f"{path}: larger than {_LARGEST >> 30} GiB; name fewer kinds")
    if not data.strip():
        stop(f"{'standard input' if path == '-' else path} is empty: run the command in front of the pipe alone")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        stop(f"{path}: the file is not UTF-8")


def ask_cluster() -> tuple[list[tuple[str, str]], frozenset[str]]:
    """Return what kubectl says of a cluster, kind by kind, and the kinds that it has listed in full."""
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
    """Return what kubectl prints of a kind, or why it prints nothing."""
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
