"""kustomize, kubectl and helm as they are found on the path: run for a time in a sandbox, and heard out.

Every argument is written here. What a repository has chosen, a name or a path, is not an argument of any tool:
the folder is the one that the tool runs in, a file of values is its standard input.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from nodelint.files import programs
from nodelint.forms.external import sandbox
from nodelint.model.releases import KubernetesVersion

SECONDS = 60
"""How long one rendering may take."""

ALL_SECONDS = 300
"""How long all renderings of a run may take together: a chart can have hundreds of files of values."""

_LONGEST = 240
_NOISE = r"WARNING:|walk\.go|# Warning|W[0-9]{4} |level=warn|coalesce\.go"
# How klog, kubectl and helm begin a line that says what is wrong.
_BEFORE = r'^E[0-9]{4} [^\]]*\] (?:"[^"]*" )?(?:err=)?|^(?:[Ee]rror|panic): '


_RELEASE = "release-name"  # helm's own, where none is given

# What charts ask of a cluster before they hand out Karpenter's objects.
_SERVED = ("karpenter.sh/v1", "karpenter.sh/v1/NodePool", "karpenter.k8s.aws/v1", "karpenter.k8s.aws/v1/EC2NodeClass")

# Bytes of what a tool says that are looked at for what is wrong.
_HEARD = 1 << 16


class ToolError(Exception):
    """A tool that is not there, gave up or took too long, in one line."""


def kustomize_command() -> list[str] | None:
    """How the overlay in the current folder is built; None where neither kustomize nor kubectl is on the path."""
    if kustomize := programs.program("kustomize"):
        return [kustomize, "build", os.curdir]
    kubectl = programs.program("kubectl")
    return [kubectl, "kustomize", os.curdir] if kubectl else None


def helm_command(kubernetes: KubernetesVersion | None, values: bool) -> list[str] | None:
    """How the chart in the current folder is rendered; None where helm is not on the path.

    `values`: with the file of values on standard input, whose name could hold what helm takes for another.
    """
    helm = programs.program("helm")
    if helm is None:
        return None
    served = [f"--api-versions={name}" for name in _SERVED]
    version = [f"--kube-version={kubernetes}.0"] if kubernetes is not None else []
    return [helm, "template", *served, *version, *(["--values=-"] if values else []), "--", _RELEASE, os.curdir]


def run(command: Sequence[str], folder: str, values: str | None = None, seconds: float = SECONDS) -> str:
    """What a command prints that runs in a folder. `values` is a file for its standard input.

    Raises Failed with the first line of what it said, else with how it ended.
    """
    name = os.path.splitext(os.path.basename(command[0]))[0]
    # Files, not pipes: the sandbox limits their size, and a tool that says much is not held up.
    with (
        tempfile.TemporaryDirectory(prefix="nodelint-", ignore_cleanup_errors=True) as home,
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryFile() as stream,
    ):
        try:
            with open(values or os.devnull, "rb") as given:
                # A group of its own, so that what the tool has started ends with it.
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=sandbox.environment(home),
                    stdin=given,
                    stdout=printed,
                    stderr=stream,
                    start_new_session=True,
                    preexec_fn=sandbox.enter if os.name == "posix" else None,
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise ToolError(f"{name}: {(getattr(error, 'strerror', None) or str(error)).lower()}") from error
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(f"{name} took longer than {seconds:g} s") from None
        finally:
            _end(process)
        if os.fstat(printed.fileno()).st_size >= sandbox.LARGEST:
            raise ToolError(f"{name} printed more than {sandbox.LARGEST >> 20} MiB, which no cluster takes")
        printed.seek(0)
        stream.seek(0)
        if code:
            words = stream.read(_HEARD).decode("utf-8", "replace")
            raise ToolError(f"{name}: {_first_line(words) or f'exit code {code}'}")
        try:
            return printed.read().decode()
        except UnicodeDecodeError:
            raise ToolError(f"{name} printed what is not UTF-8") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)


def _first_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if not re.match(_NOISE, line)] or lines or [""]
    text = re.sub(_BEFORE, "", telling[0])
    if text == "<" and len(telling) > 1:  # klog's way to begin a text of several lines
        text = re.sub(_BEFORE, "", telling[1])
    text = text.replace(os.path.join(os.getcwd(), ""), "")
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = text[1:-1].replace('\\"', '"').partition("\\n")[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
