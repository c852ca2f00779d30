"""Whatever a client sends, the server answers in the terms of its protocol, and reads nothing outside of its root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.manifests import nodepool
from tests.repositories import write_files

pytest.importorskip("mcp")

SECRET = "CANARYVALUE"
PATHS: tuple[Any, ...] = (
    *(
        "../secret.yaml",
        "link.yaml",
        "folder/secret.yaml",
        "folder",
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/zero",
    ),
    *("a\0b", "-", "", "\ud800", "../" * 300, "/proc/self/root/etc/passwd", "/proc/self/cwd/../secret.yaml"),
    *(None, 1, True, 1e308, [], {}, [[]], "x" * 5000),
)
ARGUMENTS: tuple[Any, ...] = (
    *({"paths": value} for value in (None, 1, "x", {}, ["x"] * 101)),
    *({"karpenter_version": value} for value in ("--fix", "-h", "", "9" * 301, None, 1, [])),
    *({"profile": "x"}, {"live": True}, {"config": "/etc/passwd"}, {"paths": ["."], "format": "html"}),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"secret.yaml": nodepool(name=SECRET, inline=True)})
    write_files(tmp_path / "root", {".git/config": SECRET, "pool.yaml": nodepool(inline=True)})
    (tmp_path / "root" / "link.yaml").symlink_to("../secret.yaml")
    (tmp_path / "root" / "folder").symlink_to("..")
    return tmp_path / "root"


def test_no_run_begins_for_what_is_wrong(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nodelint.mcp import server

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a run has begun")

    monkeypatch.setattr(subprocess, "run", fail)
    calls = [("check", {"paths": [path]}) for path in PATHS] + [("check", given) for given in ARGUMENTS]
    calls += [(name, {}) for name in ("nope", "", "__class__", "check\0", "rule")]
    for tool, given in calls:
        answer = server.call(tool, given, str(root))
        assert answer.is_error, (tool, given)
        assert answer.content[0].text.startswith("nodelint: ")
        assert SECRET not in str(answer.content)


@pytest.mark.slow
def test_lines_that_are_no_message_do_not_end_the_server(root: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    lines: list[bytes | dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *(
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b'{"id":1e999}',
            b"[" * 5000 + b"]" * 5000,
            b"Content-Length: 5\r\n\r\nx",
        ),
        {"id": 1, "method": "nope"},
        {"id": 2, "method": "tools/call", "params": {"name": "nope", "arguments": {}}},
        {"id": 3, "method": "tools/call", "params": {"name": "check", "arguments": {"paths": ["link.yaml"]}}},
        {"id": 4, "method": "tools/call", "params": {"name": "rule", "arguments": {"name": "../../secret"}}},
        *({"id": 5 + n, "method": "tools/call", "params": {"name": "check", "arguments": {}}} for n in range(3)),
        {"id": 8, "method": "tools/list"},
    ]
    sent = [line if isinstance(line, bytes) else json.dumps({"jsonrpc": "2.0", **line}).encode() for line in lines]
    with subprocess.Popen(
        [sys.executable, "-m", "nodelint", "mcp"],
        cwd=root,
        env=dict(os.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None and server.stdout is not None and server.stderr is not None
        server.stdin.write(b"\n".join(sent) + b"\n")
        server.stdin.flush()
        answers: dict[int, Any] = {}
        while not answers.keys() >= {*range(9)}:
            answer = json.loads(server.stdout.readline())
            answers[answer["id"]] = answer
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 9, "me')
        server.stdin.close()
        errors = server.stderr.read().decode()
        assert server.wait() == 0
    assert "error" in answers[1]
    refused = [answers[n].get("result", {"isError": "error" in answers[n]}) for n in (2, 3, 4)]
    assert [answer["isError"] for answer in refused] == [True] * 3, refused
    assert all(answers[n]["result"]["structuredContent"]["exitCode"] == 2 for n in (5, 6, 7))
    # The link that leads out is said to be one.
    assert len(answers[8]["result"]["tools"]) == 6
    assert "Traceback" not in errors
    assert SECRET not in json.dumps(answers)
