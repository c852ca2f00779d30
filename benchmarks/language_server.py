"""Time the language server as an editor feels it: from a key to the diagnostics of the text, by the size of the file.

    python benchmarks/language_server.py --pairs 1,100 --findings 0
    python benchmarks/language_server.py --against origin/main

The server runs as a process of its own, over standard input and output. A row gives, for a file of so many NodePools
with their classes: the findings, the first look at the file, the median of some single edits, the CPU seconds of the
server for one edit, a burst of edits and questions that nobody cancels, and the most memory that the server has held.
Times are those of a clock, waiting included: run it on a machine that has little else to do.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from measures import LIMIT, Unable
from trees import Tree, add_against, describe_load, describe_run, lay_out_trees

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: class-%d
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: pool-%d
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: class-%d
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["spot", "on-demand"]
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["c", "m", "r"%s]
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ["4"]
      expireAfter: 720h
  limits:
    cpu: 1000
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 1m
"""
FAULTS = ('"mm"', '"cc"', '"rr"', '"gg"', '"tt"')

_ENDED = -2
"""In the place of a number of findings: the server has ended."""


def make_text(pairs: int, findings: int) -> str:
    faults = "".join(f", {fault}" for fault in FAULTS[:findings])
    return "---\n".join(f"{POOL % (n, n, faults)}---\n{CLASS % n}" for n in range(pairs))


class Client:
    """Speaks to one server, and notes when the diagnostics of each version came."""

    def __init__(self, tree: Tree, folder: str) -> None:
        command = tree.command("lsp")
        self.process = subprocess.Popen(
            command.words, env=command.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self.uri = Path(folder, "pools.yaml").as_uri()
        self.diagnostics: SimpleQueue[tuple[int | None, float, int]] = SimpleQueue()
        self.version = 0
        self._id = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.request("initialize", {"processId": None, "rootUri": Path(folder).as_uri(), "capabilities": {}})
        self.notify("initialized", {})

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while True:
            length = 0
            while (line := out.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                self.diagnostics.put((None, 0.0, _ENDED))
                return
            body = out.read(length)
            now = time.monotonic()
            message = json.loads(body)
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                self.diagnostics.put((params.get("version"), now, len(params["diagnostics"])))

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Unable("the server has ended") from None

    def request(self, method: str, params: object) -> None:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def open_text(self, text: str) -> None:
        document = {"uri": self.uri, "languageId": "yaml", "version": self.version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def replace_text(self, line: int, column: int, width: int, new: str) -> None:
        """Replace some characters of a line."""
        self.version += 1
        place = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + width}}
        self.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"range": place, "text": new}],
            },
        )

    def wait_for_diagnostics(self, limit: float) -> tuple[float, int]:
        """When the diagnostics of the newest version came, and how many; infinity where they did not in time.

        Raises Unable where the server has ended.
        """
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                version, when, count = self.diagnostics.get(timeout=left)
            except Empty:
                break
            if count == _ENDED:
                raise Unable("the server has ended")
            if version == self.version:
                return when, count
        return float("inf"), -1

    def read_cpu(self) -> float:
        """CPU seconds of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def read_memory(self) -> int:
        """The most megabytes that the server has held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024

    def end_server(self) -> None:
        try:
            self.request("shutdown", None)
            self.notify("exit", None)
            self.process.wait(20)
        except (Unable, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def measure_file(tree: Tree, pairs: int, findings: int, edits: int, limit: float) -> str:
    """The row of one file."""
    with tempfile.TemporaryDirectory() as folder:
        client = Client(tree, folder)
        try:
            return measure_session(client, make_text(pairs, findings), edits, limit, pairs)
        finally:
            client.end_server()


def measure_session(client: Client, text: str, edits: int, limit: float, pairs: int) -> str:
    """The row of a server that is opened a text and told of edits."""
    lines = text.split("\n")
    limits = [n for n, line in enumerate(lines) if line == "    cpu: 1000"]
    place = limits[len(limits) // 2]
    start = time.monotonic()
    client.open_text(text)
    came, count = client.wait_for_diagnostics(limit)
    first = came - start
    times, work = [], []
    for n in range(edits if came < float("inf") else 0):
        before, start = client.read_cpu(), time.monotonic()
        # A line more or less, so that all below it moves and its diagnostics are others.
        client.replace_text(place, 0, 0, f"    memory: {n + 1}Gi\n" if n == 0 else f"    # {n}\n")
        times.append(client.wait_for_diagnostics(limit)[0] - start)
        work.append(client.read_cpu() - before)
    start = time.monotonic()
    for n in range(40):
        client.replace_text(place, 0, 0, f"    # burst {n}\n")
        position = {"textDocument": {"uri": client.uri}, "position": {"line": place, "character": 6}}
        client.request("textDocument/hover", position)
        time.sleep(0.03)
    burst = client.wait_for_diagnostics(limit)[0] - start
    edit, cpu = (statistics.median(times), statistics.median(work)) if times else (float("inf"), float("inf"))
    shown = f"{pairs:>6} {count:>9} {first * 1000:>9.0f} {edit * 1000:>9.0f} {cpu:>8.2f}"
    return f"{shown} {burst:>9.1f} {client.read_memory():>8}"


HEAD = " pairs  findings  first ms   edit ms  edit CPU   burst s   peak MB"
PAIRS = (1, 100, 500, 4000)
FINDINGS = (0, 3)


def print_tables(
    trees: Sequence[Tree],
    pairs: Sequence[int] = PAIRS,
    findings: Sequence[int] = FINDINGS,
    edits: int = 5,
    limit: float = LIMIT,
) -> None:
    """Print a table for each tree. Raises SystemExit where the server of now ends in the middle."""
    for tree in trees:
        with contextlib.suppress(Unable):
            measure_file(tree, 1, 0, 1, limit)  # compiles the modules
        print(f"\nlanguage server {tree.name}; load {describe_load()}\n\n{HEAD}", flush=True)
        for faults in findings:
            for count in pairs:
                try:
                    print(measure_file(tree, count, faults, edits, limit), flush=True)
                except Unable as reason:
                    if tree.name == "now":
                        raise SystemExit(f"nodelint lsp: {reason}") from None
                    print(f"{count:>6}  {reason}", flush=True)


def split_numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_against(parser)
    parser.add_argument("--pairs", type=split_numbers, default=PAIRS, metavar="N,...", help="Sizes of the file.")
    parser.add_argument(
        "--findings", type=split_numbers, default=FINDINGS, metavar="N,...", help="Wrong values in each pool."
    )
    parser.add_argument("--edits", type=int, default=5, help="Single edits, of which the median is shown.")
    parser.add_argument("--limit", type=float, default=LIMIT, help="Seconds to wait for an answer.")
    options = parser.parse_args()
    with lay_out_trees(options.against) as trees:
        print(describe_run(trees), flush=True)
        print_tables(trees, options.pairs, options.findings, options.edits, options.limit)


if __name__ == "__main__":
    main()
