"""The command as a process of its own for each call, without the start of Python.

A server imports nodelint once and forks for each call: a call has a working directory, an environment, streams,
an exit code and a state of its own, like any process, and costs some milliseconds. What a start of Python itself
decides (encodings, flags, an empty state) needs a real process: `Command` starts one where the environment of a call
has a variable of its own that Python reads.
"""

from __future__ import annotations

import gc
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, BinaryIO

import pytest

from tests.own_home import hold

ROOT = Path(__file__).parent.parent
PATIENCE = 120
"""Seconds after which a call is ended."""

WARM = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
"""


_PRINTED = WARM.replace("[spot, on-demand]", "[{{ .Values.kind }}, on-demand]")
_POOL_TEXT = (
    WARM.partition("---\n")[0].replace("[spot, on-demand]", '["${var.kind}"]').replace("\n", "\n    ").rstrip(" ")
)
FILES = {
    "a.yaml": WARM
    + """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      nodeSelector: {karpenter.sh/capacity-type: spot}
      containers: [{name: a, resources: {requests: {cpu: 1}}}]
""",
    "broken/a.yaml": f"{WARM}a: [\n",
    "wrong/a.yaml": WARM.replace("[spot, on-demand]", "[a, spt]").replace("  role:", "  rol:"),
    "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "chart/values.yaml": "kind: spot\n",
    "chart/templates/a.yaml": f"{{{{- if .Values.kind }}}}\n{_PRINTED}{{{{- end }}}}\n",
    "overlay/kustomization.yaml": (
        "resources: [a.yaml]\npatches:\n  - target: {kind: NodePool}\n"
        "    patch: |-\n      - {op: add, path: /spec/weight, value: 3}\n"
    ),
    "overlay/a.yaml": WARM,
    "module/main.tf": (
        'variable "kind" {\n  default = "spot"\n}\n\n'
        f'resource "kubectl_manifest" "a" {{\n  yaml_body = <<-YAML\n    {_POOL_TEXT}  YAML\n}}\n'
    ),
}
"""What the first runs of the commands are made over: each form once."""

FIRST_RUNS = (
    ["check"],
    ["check", "--format", "json"],
    ["check", "--profile", "strict", "--diff", "--fix", "--unsafe-fixes"],
    ["check", "--format", "sarif", "a.yaml"],
    ["explain"],
    ["plan", "overlay", "--old", "broken"],
    ["plan", "module", "--old", "chart", "--format", "json"],
    ["hash"],
    ["fit"],
    ["upgrade", "--from", "1.0.8", "--to", "1.14.1"],
    ["rule"],
    ["rule", "no-image"],
    ["triage", "a.yaml"],
)


class Command:
    """Runs the command, each call in a process of its own."""

    def __init__(self) -> None:
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(
        self,
        args: tuple[str, ...],
        cwd: Path,
        env: Mapping[str, str],
        stdin: str | None = None,
        memory: int | None = None,
    ) -> CompletedProcess[str]:
        """Like `subprocess.run` of `python -m nodelint` with these arguments, and with so many bytes of memory."""
        if not hasattr(os, "fork") or decided_by_a_start(env):
            assert memory is None
            return start(args, cwd, env, stdin)
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write((stdin or "").encode())
            given.seek(0)
            number = self._fork(args, cwd, env, [given.fileno(), out.fileno(), err.fileno()], memory)
            code = self.wait(number)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(io.TextIOWrapper(file).read())
        return CompletedProcess(["nodelint", *args], code, *texts)

    def start(self, args: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Process:
        """Like `subprocess.Popen` of `python -m nodelint` with pipes to its standard streams."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        number = self._fork(args, cwd, env, theirs)
        for file in theirs:
            os.close(file)
        return Process(self, number, (open(pipes[0][1], "wb"), open(pipes[1][0], "rb"), open(pipes[2][0], "rb")))

    def wait(self, number: int) -> int:
        """The exit code of a call, when it has ended."""
        _send(self._connected(), number, [])
        code: int = _receive(self._connected())[0]
        return code

    def _fork(
        self, args: Sequence[str], cwd: Path, env: Mapping[str, str], files: list[int], memory: int | None = None
    ) -> int:
        hold(env)
        _send(self._connected(), [list(args), str(cwd), dict(env), memory], files)
        number: int = _receive(self._connected())[0]
        return number

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair()
            code = f"from tests.forked import serve; serve({theirs.fileno()})"
            nothing = subprocess.DEVNULL
            self._server = subprocess.Popen(
                [sys.executable, "-c", code], cwd=ROOT, stdin=nothing, stdout=nothing, pass_fds=[theirs.fileno()]
            )
            theirs.close()
        return self._socket

    def close(self) -> None:
        """End the server."""
        if self._socket is not None and self._server is not None:
            self._socket.close()
            self._server.wait(timeout=30)


class Process:
    """A call that goes on: its standard streams and its end."""

    def __init__(self, command: Command, number: int, streams: tuple[BinaryIO, BinaryIO, BinaryIO]) -> None:
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        self._command = command
        self._number = number

    def communicate(self) -> tuple[bytes, bytes]:
        """Close its input, and wait for its end: what is left of its output, and of its standard error."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        with ThreadPoolExecutor(1) as pool:
            err = pool.submit(self.stderr.read)
            found = self.stdout.read(), err.result()
        self.returncode = self._command.wait(self._number)
        return found

    def end(self) -> None:
        """Kill it, unless it has ended."""
        if self.returncode is None:
            os.kill(self._number, signal.SIGKILL)
            self.communicate()


def _send(connection: socket.socket, value: object, files: list[int]) -> None:
    data = json.dumps(value).encode()
    socket.send_fds(connection, [len(data).to_bytes(4, "big")], files)
    connection.sendall(data)


def _receive(connection: socket.socket) -> tuple[Any, list[int]]:
    """A value and the files that come with it. EOFError where the other end is closed."""
    head, files, _, _ = socket.recv_fds(connection, 4, 3)
    if not head:
        raise EOFError("the server of forks has ended")
    return json.loads(connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)), files


def decided_by_a_start(env: Mapping[str, str]) -> bool:
    """Does a call have a variable of its own that Python reads when it starts?"""
    own = (name for name, value in env.items() if os.environ.get(name) != value)
    return any(name.startswith(("PYTHON", "LC_", "LANG")) for name in own)


def start(args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: str | None) -> CompletedProcess[str]:
    """Run the command by a Python of its own."""
    return subprocess.run(
        [sys.executable, "-m", "nodelint", *args],
        cwd=cwd,
        env=dict(env),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def serve(number: int) -> None:
    """Fork for each call that comes through a socket, until its other end is closed."""
    for name in ("_MAXCACHE", "_MAXCACHE2"):  # a run compiles some hundred patterns, and calls have them all
        setattr(re, name, 10_000)
    _load()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=number) as connection, suppress(EOFError):
        while True:
            call, files = _receive(connection)
            if isinstance(call, int):
                _send(connection, os.waitstatus_to_exitcode(os.waitpid(call, 0)[1]), [])
                continue
            child = os.fork()
            if not child:
                connection.close()
                _call(files, *call)
            for file in files:
                os.close(file)
            _send(connection, child, [])


def _load() -> None:
    """Import what calls import, and read the tables that nearly all of them read."""
    import importlib

    import boto3
    import jsonschema  # noqa: F401

    from tests.ec2_front import quick

    for path in (ROOT / "nodelint").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] not in ("__init__", "__main__"):
            importlib.import_module(".".join(parts))
    quick(setattr)
    _warmed()
    for service in ("ec2", "iam", "ssm", "sts"):  # reads the model of the service
        boto3.client(service, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    assert len(os.listdir("/proc/self/task")) == 1


def _warmed() -> None:
    """Make the first runs here, in a folder that no call sees: what they load and compile, calls have."""
    from nodelint.__main__ import _call as called

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NODELINT_CACHE_DIR", f"{folder}/cache")
        Path(".git").mkdir()
        for name, written in FILES.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(written, encoding="utf-8")
        for args in FIRST_RUNS[:2]:
            patch.setattr(sys, "argv", ["nodelint", *args])
            text = io.TextIOWrapper(io.BytesIO())
            with redirect_stdout(text), redirect_stderr(text), suppress(SystemExit):
                called()
    forget()


READING = ("commands", "text", "files", "forms", "releases", "inventory")
"""The rooms that keep what they have read of files."""


def forget() -> None:
    """Drop what was read of files, and when: it is not the next call's."""
    for cached in _caches_of_reading(len(sys.modules)):
        cached.cache_clear()


_READING = tuple(f"nodelint.{room}" for room in READING)


@cache
def _caches_of_reading(_: int) -> list[Any]:
    """The caches of all modules of these rooms that are loaded; looked for again where more are loaded."""
    return [cached for name in list(sys.modules) if name.startswith(_READING) for cached in _caches(name)]


@cache
def _caches(module: str) -> list[Any]:
    """The caches of a module's own functions: what it imports, such as the reader of the tables, knows no file."""
    values = vars(sys.modules[module]).values()
    return [value for value in values if hasattr(value, "cache_clear") and value.__module__ == module]


def _call(files: list[int], args: list[str], cwd: str, env: dict[str, str], memory: int | None) -> None:
    """In the child: become the call."""
    from nodelint.__main__ import main

    signal.alarm(PATIENCE)
    if memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = (open(n, mode, closefd=False) for n, mode in enumerate("rww"))  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["nodelint", *args]
    main()
