"""The language server and a client that breaks the protocol: each request is answered, and the end is a clean one."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.forked import Command

pytest.importorskip("pygls")

BAD_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: main}
spec: {rool: x}
"""


class Wire:
    """A server as a process, spoken to message by message."""

    def __init__(self, home: Path, command: Command) -> None:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NODELINT_"))}
        env["NODELINT_CACHE_DIR"] = str(home / ".cache")
        self.process = command.start(["lsp"], home, env)
        self.ids = count(1)

    def send(self, message: object) -> None:
        self.raw(json.dumps(message).encode())

    def raw(self, body: bytes) -> None:
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()
        except BrokenPipeError:
            output = self.process.stderr.read()
            raise AssertionError(f"the server has ended: {output.decode()[-4000:]}") from None

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: object = None) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        number = next(self.ids)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.until(lambda message: message.get("id") == number and "method" not in message)

    def until(self, wanted: Any) -> dict[str, Any]:
        while True:
            message = self.next()
            if wanted(message):
                return message

    def next(self) -> dict[str, Any]:
        out = self.process.stdout
        length = 0
        while line := out.readline():
            if line == b"\r\n":
                message: dict[str, Any] = json.loads(out.read(length))
                return message
            if line.startswith(b"Content-Length: "):
                length = int(line.split()[1])
        raise AssertionError("the server has ended")

    def begin(self, root: Path | None = None, **more: object) -> None:
        params = {"processId": None, "rootUri": root and root.as_uri(), "capabilities": {}, **more}
        assert "result" in self.ask("initialize", params)
        self.notify("initialized", {})

    def open(self, uri: str, text: str) -> None:
        self.notify(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}},
        )

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.until(
            lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
        )["params"]["diagnostics"]
        return found

    def end(self) -> tuple[int, str]:
        """Close the server's input; its exit code, and what it has said on standard error."""
        _, output = self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, output.decode()


@pytest.fixture
def wire(tmp_path: Path, forked: Command) -> Iterator[Wire]:
    (tmp_path / ".git").mkdir()
    wire = Wire(tmp_path, forked)
    yield wire
    wire.process.end()


def test_requests_with_bad_params_are_answered_with_an_error(wire: Wire) -> None:
    wire.begin()
    hover = "textDocument/hover"
    for params in ({"x": 1}, [1], 7, {"textDocument": {"uri": 1}, "position": {"line": -1, "character": "a"}}):
        error = wire.ask(hover, params)["error"]
        assert error["code"] == -32602 and error["message"].startswith(f"{hover}: ")
    assert wire.ask(hover, {})["error"]["message"] == (
        "textDocument/hover: required field missing @ $.params.textDocument;"
        " required field missing @ $.params.position"
    )
    assert wire.ask("no/such", {})["error"]["code"] == -32601
    wire.send({"jsonrpc": "2.0", "id": 80, "method": "$/no-params"})
    assert wire.next()["error"]["code"] == -32601
    assert wire.ask("initialize", {"capabilities": {}})["error"]["code"] == -32600
    wire.notify("textDocument/didOpen", {"textDocument": {}})
    assert wire.ask("shutdown")["result"] is None
    code, expected = wire.end()
    assert code == 0
    assert (
        expected.startswith("nodelint lsp: textDocument/didOpen: required field missing")
        and expected.count("\n") == 1
    )


def test_what_is_no_request_is_answered_as_such(wire: Wire) -> None:
    for body, id, code in [
        (b"hello", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"[" * 100_000, None, -32700),
        (b"[]", None, -32600),
        (b"7", None, -32600),
        (b'{"id": 4, "method": "shutdown"}', 4, -32600),
        (b'{"jsonrpc": "2.0", "id": 4, "method": 7}', 4, -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown"}', None, -32600),
        (b'{"jsonrpc": "2.0", "id": 4}', 4, -32600),
        (b'{"jsonrpc": "2.0", "id": 4, "method": "textDocument/hover", "params": {}}', 4, -32002),
    ]:
        wire.raw(body)
        answer = wire.next()
        assert (answer["id"], answer["error"]["code"]) == (id, code), body[:80]
    wire.begin()  # and the next message counts
    assert "Traceback" not in wire.end()[1]


def test_requests_after_shutdown_are_refused(wire: Wire) -> None:
    wire.begin()
    assert wire.ask("shutdown")["result"] is None
    for method in ("shutdown", "textDocument/hover", "no/such"):
        assert wire.ask(method, {})["error"]["code"] == -32600
    wire.notify("exit", None)
    assert wire.end() == (0, "")


def test_the_answer_of_a_client_is_no_request(wire: Wire) -> None:
    """An error in the client's answer is not answered, or both would never end."""
    wire.begin()
    wire.send({"jsonrpc": "2.0", "id": "x", "result": 1})
    wire.send({"jsonrpc": "2.0", "id": "x", "error": 1})
    assert wire.ask("shutdown") == {"jsonrpc": "2.0", "id": 2, "result": None}


@pytest.mark.parametrize("begun", [True, False])
def test_the_end_of_input_without_shutdown_is_code_1_and_no_traceback(wire: Wire, begun: bool) -> None:
    if begun:
        wire.begin()
    assert wire.end() == (1, "")


@pytest.mark.parametrize("begun", [True, False])
def test_exit_without_shutdown_is_code_1_and_no_traceback(wire: Wire, begun: bool) -> None:
    if begun:
        wire.begin()
    wire.notify("exit", None)
    assert wire.end() == (1, "")


def test_the_end_of_input_while_an_answer_is_made(wire: Wire, tmp_path: Path) -> None:
    wire.begin(tmp_path)
    uri = (tmp_path / "a.yaml").as_uri()
    wire.open(uri, BAD_CLASS)
    for number in range(100, 120):
        params = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 8}}
        wire.send({"jsonrpc": "2.0", "id": number, "method": "textDocument/hover", "params": params})
    wire.process.stdin.write(b"Content-Length: 500\r\n\r\n{")
    code, expected = wire.end()
    assert code == 1
    assert "Traceback" not in expected


def test_an_address_that_no_file_has_leaves_the_others_judged(wire: Wire, tmp_path: Path) -> None:
    wire.begin(tmp_path)
    for n, uri in enumerate(["file:///%00.yaml", "file:///a%00b/x.yaml", "file://[", "file:///" + "a" * 5000]):
        good = (tmp_path / f"{n}.yaml").as_uri()
        wire.open(uri, BAD_CLASS)
        wire.open(good, BAD_CLASS)
        assert [diagnostic["code"] for diagnostic in wire.diagnostics(good)]
        assert wire.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    wire.ask("shutdown")
    code, expected = wire.end()
    assert code == 0
    assert "Traceback" not in expected


def test_a_folder_that_no_file_system_has_is_none(wire: Wire, tmp_path: Path) -> None:
    wire.begin(None, workspaceFolders=[{"uri": "file:///%00", "name": "x"}, {"uri": "file://[", "name": "y"}])
    good = (tmp_path / "a.yaml").as_uri()
    wire.open("untitled:x", BAD_CLASS)
    wire.open(good, BAD_CLASS)
    assert wire.diagnostics(good)
    wire.ask("shutdown")
    assert wire.end() == (0, "")


def test_what_is_wrong_with_crds_names_the_file_as_it_is_called(wire: Wire, tmp_path: Path) -> None:
    (tmp_path / "CRDs.yaml").write_text("kind: CustomResourceDefinition\nkarpenter: [\n", encoding="utf-8")
    (tmp_path / "nodelint.yaml").write_text("crds: CRDs.yaml\n", encoding="utf-8")
    wire.begin(tmp_path)
    wire.open((tmp_path / "a.yaml").as_uri(), BAD_CLASS)
    (expected,) = wire.diagnostics((tmp_path / "nodelint.yaml").as_uri())
    assert "CRDs.yaml is not YAML" in expected["message"]


@pytest.mark.parametrize("key", ["snapshot", "baseline", "crds"])
def test_a_path_that_no_file_has_is_told_beside_the_configuration(wire: Wire, tmp_path: Path, key: str) -> None:
    (tmp_path / "nodelint.yaml").write_text(f'{key}: "\\0"\n', encoding="utf-8")
    wire.begin(tmp_path)
    wire.open((tmp_path / "a.yaml").as_uri(), BAD_CLASS)
    (expected,) = wire.diagnostics((tmp_path / "nodelint.yaml").as_uri())
    assert "is not a path" in expected["message"]


def test_a_socket_that_closes_in_the_middle_of_a_message_ends_the_server(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nodelint", "lsp", "--tcp", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            try:
                client = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                assert server.poll() is None
                time.sleep(0.05)
        client.sendall(b"Content-Length: 500\r\n\r\n{")
        client.close()
        _, output = server.communicate(timeout=60)
    finally:
        server.kill()
    assert server.returncode == 1
    assert "Traceback" not in output


def test_a_burst_of_changes_is_judged_at_its_end(wire: Wire, tmp_path: Path) -> None:
    """Each change comes with a question, as editors ask; none waits for the answer to the one before."""
    uri = (tmp_path / "classes.yaml").as_uri()
    text = "---\n".join(BAD_CLASS.replace("main", f"c{n}") for n in range(40))
    wire.begin(tmp_path)
    wire.open(uri, text)
    at = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 8}}
    changes = 40
    numbers = {version: next(wire.ids) for version in range(2, changes + 2)}
    requested = list(numbers.values())

    def burst() -> None:
        for version, number in numbers.items():
            changed = [{"text": text + f"# {version}\n"}]
            params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": changed}
            wire.notify("textDocument/didChange", params)
            request = {"textDocument": {"uri": uri}, "range": {"start": at["position"], "end": at["position"]}}
            params = {**request, "context": {"diagnostics": []}}
            wire.send({"jsonrpc": "2.0", "id": number, "method": "textDocument/codeAction", "params": params})

    # an editor reads while it writes: with both pipes full each would wait for the other
    writer = Thread(target=burst)
    writer.start()
    answers: dict[int, dict[str, Any]] = {}
    published: dict[int, list[object]] = {}
    while len(answers) < len(requested) or changes + 1 not in published:
        message = wire.next()
        if message.get("id") in requested:
            answers[message["id"]] = message
        elif message.get("method") == "textDocument/publishDiagnostics":
            published[message["params"]["version"]] = message["params"]["diagnostics"]
    given_up = [number for number in requested if "error" in answers[number]]
    assert {answers[number]["error"]["code"] for number in given_up} == {-32801}  # ContentModified
    assert len(given_up) > changes / 2
    assert answers[requested[-1]]["result"]
    assert len(published[changes + 1]) >= 40
