"""Time the language server as an editor feels it: from a key to the diagnostics of the text, by the size of the file.

    python benchmarks/language_server.py [--pairs 1,100,500,4000] [--findings 0,3] [--edits 5]

The server runs as a process of its own, over standard input and output. A row gives, for a file of so many NodePools
with their classes: the findings, the first look at the file, the median of some single edits, the CPU seconds of the
server for one edit, a burst of edits and questions that nobody cancels, and the most memory that the server has held.
Times are those of a clock, waiting included: run it on a machine that has little else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

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


def text_of(pairs: int, findings: int) -> str:
    faults = "".join(f", {fault}" for fault in FAULTS[:findings])
    return "---\n".join(f"{POOL % (n, n, faults)}---\n{CLASS % n}" for n in range(pairs))


class Client:
    """Speaks to one server, and notes when the diagnostics of each version came."""

    def __init__(self, folder: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nodelint", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self.uri = Path(folder, "pools.yaml").as_uri()
        self.seen: SimpleQueue[tuple[int | None, float, int]] = SimpleQueue()
        self.version = 0
        self._id = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.ask("initialize", {"processId": None, "rootUri": Path(folder).as_uri(), "capabilities": {}})
        self.tell("initialized", {})

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while True:
            length = 0
            while (line := out.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            if not length:
                return
            body = out.read(length)
            now = time.monotonic()
            message = json.loads(body)
            if message.get("method") == "textDocument/publishDiagnostics":
                params = message["params"]
                self.seen.put((params.get("version"), now, len(params["diagnostics"])))

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def ask(self, method: str, params: object) -> None:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})

    def tell(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def open(self, text: str) -> None:
        document = {"uri": self.uri, "languageId": "yaml", "version": self.version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def type(self, line: int, column: int, width: int, new: str) -> None:
        """Replace some characters of a line."""
        self.version += 1
        place = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + width}}
        self.tell(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.uri, "version": self.version},
                "contentChanges": [{"range": place, "text": new}],
            },
        )

    def wait(self, limit: float) -> tuple[float, int]:
        """When the diagnostics of the newest version came, and how many; infinity where they did not in time."""
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0:
            try:
                version, when, count = self.seen.get(timeout=left)
            except Empty:
                break
            if version == self.version:
                return when, count
        return float("inf"), -1

    def cpu(self) -> float:
        """CPU seconds of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """The most megabytes that the server has held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) // 1024

    def end(self) -> None:
        self.ask("shutdown", None)
        self.tell("exit", None)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def measure(pairs: int, findings: int, edits: int, limit: float) -> str:
    with tempfile.TemporaryDirectory() as folder:
        client = Client(folder)
        text = text_of(pairs, findings)
        lines = text.split("\n")
        limits = [n for n, line in enumerate(lines) if line == "    cpu: 1000"]
        place = limits[len(limits) // 2]
        start = time.monotonic()
        client.open(text)
        came, count = client.wait(limit)
        first = came - start
        times, work = [], []
        for n in range(edits if came < float("inf") else 0):
            before, start = client.cpu(), time.monotonic()
            # A line more or less, so that all below it moves and its diagnostics are others.
            client.type(place, 0, 0, f"    memory: {n + 1}Gi\n" if n == 0 else f"    # {n}\n")
            times.append(client.wait(limit)[0] - start)
            work.append(client.cpu() - before)
        start = time.monotonic()
        for n in range(40):
            client.type(place, 0, 0, f"    # burst {n}\n")
            position = {"textDocument": {"uri": client.uri}, "position": {"line": place, "character": 6}}
            client.ask("textDocument/hover", position)
            time.sleep(0.03)
        burst = client.wait(limit)[0] - start
        memory = client.memory()
        client.end()
    edit, cpu = (statistics.median(times), statistics.median(work)) if times else (float("inf"), float("inf"))
    shown = f"{pairs:>6} {count:>9} {first * 1000:>9.0f} {edit * 1000:>9.0f} {cpu:>8.2f}"
    return f"{shown} {burst:>9.1f} {memory:>8}"


HEAD = " pairs  findings  first ms   edit ms  edit CPU   burst s   peak MB"


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the language server.")
    parser.add_argument("--pairs", default="1,100,500,4000")
    parser.add_argument("--findings", default="0,3", help="wrong values in each pool")
    parser.add_argument("--edits", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds to wait for an answer")
    asked = parser.parse_args()
    print(HEAD, flush=True)
    for findings in map(int, asked.findings.split(",")):
        for pairs in map(int, asked.pairs.split(",")):
            print(measure(pairs, findings, asked.edits, asked.limit), flush=True)


if __name__ == "__main__":
    main()
