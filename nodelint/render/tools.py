"""kustomize, kubectl and helm as they are found on the path: run for a time, without a network, and heard out."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

SECONDS = 60
"""How long one rendering may take."""

LARGEST = 64 << 20
"""Bytes of what a tool may print; no cluster takes as much."""

_LONGEST = 240
_NOISE = r"WARNING:|walk\.go|# Warning|W[0-9]{4} |level=warn|coalesce\.go"
# How klog, kubectl and helm begin a line that says what is wrong.
_BEFORE = r'^E[0-9]{4} [^\]]*\] (?:"[^"]*" )?(?:err=)?|^(?:[Ee]rror|panic): '


class Failed(Exception):
    """A tool that is not there, gave up or took too long, in one line."""


def kustomize_command() -> list[str] | None:
    """How an overlay is built here; None where neither kustomize nor kubectl is on the path."""
    if shutil.which("kustomize"):
        return ["kustomize", "build"]
    return ["kubectl", "kustomize"] if shutil.which("kubectl") else None


def helm_command() -> list[str] | None:
    """How a chart is rendered here; None where helm is not on the path."""
    return ["helm", "template"] if shutil.which("helm") else None


def run(command: Sequence[str], seconds: float = SECONDS) -> str:
    """What a command prints. Raises Failed with the first line of what it said, else with how it ended."""
    name = command[0]
    try:
        # A group of its own, so that what the tool has started ends with it.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"{name}: {(error.strerror or str(error)).lower()}") from error
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise Failed(f"{name} took longer than {seconds:g} s") from None
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        raise Failed(f"{name}: {_first_line(err.decode('utf-8', 'replace')) or f'exit code {process.returncode}'}")
    if len(out) > LARGEST:
        raise Failed(f"{name} printed more than {LARGEST >> 20} MiB, which no cluster takes")
    try:
        return out.decode()
    except UnicodeDecodeError:
        raise Failed(f"{name} printed what is no UTF-8") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=5)


def _first_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if not re.match(_NOISE, line)] or lines or [""]
    text = re.sub(_BEFORE, "", telling[0])
    if text == "<" and len(telling) > 1:  # klog's way to begin a text of several lines
        text = re.sub(_BEFORE, "", telling[1])
    text = text.replace(os.path.join(os.getcwd(), ""), "")
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = text[1:-1].replace('\\"', '"').partition("\\n")[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
