"""Time nodelint beside tools that everybody has, and print a table of CPU time and ratios.

    python benchmarks/run.py [--runs 7] [--files 10000] [--only WORD] [--large]

Each command is a whole process, run in turn with those that it is compared with. A row shows the least CPU time of
each (user and system, with its children), and the ratio of these: other work on the machine adds to a time, and takes
nothing away. kubeconform and yamllint are compared with where they are installed.

With `--large` two more tables follow: how time and memory grow with inputs of thousands of findings, values, labels,
comments and globs (`large_inputs.py`), and the language server from a key to the diagnostics (`language_server.py`).
That takes about a quarter of an hour.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import language_server
import large_inputs

from nodelint.data import DATA
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import parse_snapshot, snapshot_text
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST
from nodelint.source import Source

# As for an installed tool, modules are compiled once: the warm-up run writes what later runs load.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
        - key: karpenter.sh/capacity-type
          operator: In
          values: ["spot", "on-demand"]
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["c", "m", "r"]
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ["4"]
      expireAfter: 720h
  limits:
    cpu: 1000
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 1m
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
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

ACCOUNT = """\
subnets:
  - {id: subnet-1, zone: us-east-1a, zoneId: use1-az1, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-2, zone: us-east-1b, zoneId: use1-az2, tags: {karpenter.sh/discovery: main}}
securityGroups: [{id: sg-1, name: nodes, tags: {karpenter.sh/discovery: main}}]
zones: {us-east-1a: use1-az1, us-east-1b: use1-az2, us-east-1c: use1-az4, us-east-1d: use1-az6}
absent: {us-east-1c: ["p*", "g*"], us-east-1d: ["*.metal"]}
roles: [KarpenterNodeRole-main]
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n}
  labels: {{app: app-{n}}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: app-{n}}}
  template:
    metadata:
      labels: {{app: app-{n}}}
    spec:
      containers:
        - name: app
          image: registry.example/app:{n}
          resources:
            requests: {{cpu: 100m, memory: 128Mi}}
"""


class Row(NamedTuple):
    """A piece of work, the command of ours, the one that it is compared with, and the ratio to stay below."""

    work: str
    ours: list[str]
    beside: str
    theirs: list[str]
    aim: float | None = None


def cpu(command: list[str]) -> float:
    """Milliseconds of CPU of one run; raises when the command cannot do its work."""
    program = shutil.which(command[0]) or command[0]
    nowhere = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    child = os.posix_spawn(program, command, ENVIRONMENT, file_actions=nowhere)
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return (used.ru_utime + used.ru_stime) * 1000


def told(row: Row, runs: int) -> str:
    """The row of the table, after `runs` runs of both commands in turn."""
    cpu(row.ours), cpu(row.theirs)
    pairs = [(cpu(row.ours), cpu(row.theirs)) for _ in range(runs)]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    aim = "" if row.aim is None else f"{row.aim:.1f}"
    return f"| {row.work} | {ours:,.0f} ms | {row.beside}: {theirs:,.0f} ms | {ours / theirs:.2f} | {aim} |"


def snapshot(regions: int = 1) -> str:
    """What `refresh` writes for POOL: every instance type, where each is offered, and what the class finds.

    Of several regions, each is a copy of the first under another name.
    """
    classes = [each for each in objects(Source.from_text("pool.yaml", POOL)) if isinstance(each, EC2NodeClass)]
    region = FakeAccount(ACCOUNT).facts(classes, NEWEST).region
    assert region is not None
    more = [region._replace(name=f"eu-north-{n}") for n in range(1, regions)]
    return snapshot_text(parse_snapshot(Path(DATA, "catalog.json").read_bytes())._replace(regions=(region, *more)))


def pair(n: int) -> str:
    """A pool and its class unlike their neighbours: an answer that is kept serves some of the others, not all."""
    text = POOL.replace("name: default", f"name: pool-{n}").replace("cpu: 1000", f"cpu: {500 + n}")
    text = text.replace('["c", "m", "r"]', ('["c", "m", "r"]', '["m"]', '["r", "x"]', '["t", "m"]')[n % 4])
    text = text.replace('["4"]', f'["{2 + n % 5}"]').replace("Role-main", f"Role-{n % 7}")
    return text.replace("discovery: main", f"discovery: cluster-{n % 11}")


def pools(folder: Path, count: int, changed: int = 0) -> None:
    """`count` files with a pool and its class each; `changed` of them expire their nodes earlier."""
    folder.mkdir()
    for n in range(count):
        text = pair(n).replace("720h", "700h") if n < changed else pair(n)
        (folder / f"pool-{n}.yaml").write_text(text, encoding="utf-8")


def tree(folder: Path, files: int) -> None:
    """`files` manifests in folders of 100; one in 33 is a NodePool with its class."""
    for n in range(files):
        place = folder / f"team-{n // 100:03d}"
        place.mkdir(parents=True, exist_ok=True)
        text = pair(n) if n % 33 == 0 else DEPLOYMENT.format(n=n)
        (place / f"app-{n}.yaml").write_text(text, encoding="utf-8")


def cold(folder: Path, nodelint: list[str], python: str) -> Iterator[Row]:
    """Runs over one pair, and over files that hold none."""
    one, facts, many = folder / "pool.yaml", folder / "one.json", folder / "regions.json"
    one.write_text(POOL, encoding="utf-8")
    facts.write_text(snapshot(), encoding="utf-8")
    many.write_text(snapshot(96), encoding="utf-8")
    others = [folder / f"app-{n}.yaml" for n in range(10)]
    for n, other in enumerate(others):
        other.write_text(DEPLOYMENT.format(n=n), encoding="utf-8")
    check, known = [*nodelint, "check", str(one)], [*nodelint, "check", "--snapshot"]
    hook = [*nodelint, "check", "--", *map(str, others)]
    yield Row("ten files that hold nothing, as a hook", hook, "python -c pass", [python, "-c", "pass"], 1.8)
    if find_spec("yamllint") is not None:
        relaxed = [python, "-m", "yamllint", "-d", "relaxed", str(one)]
        yield Row("one pair, cold", check, "yamllint -d relaxed", relaxed, 1.0)
        yield Row("the same with a snapshot", [*known, str(facts), str(one)], "yamllint -d relaxed", relaxed)
    east = [*known, str(many), "--region", "us-east-1", str(one)]
    yield Row("the same with 96 regions", east, "with one", [*known, str(facts), str(one)], 1.2)


def warm(folder: Path, nodelint: list[str], files: int) -> Iterator[Row]:
    """Runs over many files, and over many pairs."""
    many, old, new = folder / "tree", folder / "old", folder / "new"
    tree(many, files)
    pools(old, 300)
    pools(new, 300, changed=30)
    check, found = [*nodelint, "check"], len(range(0, files, 33))
    work = f"{files:,} files, of which {found} hold a pair"
    grep = ["grep", "-rlE", r"karpenter\.(sh|k8s\.aws)", str(many)]
    yield Row(work, [*check, "--jobs", "1", str(many)], "grep -rlE", grep, 14.0)
    if shutil.which("kubeconform"):
        yield Row(
            work, [*check, str(many)], "kubeconform", ["kubeconform", "-ignore-missing-schemas", str(many)], 1.0
        )
    planned = [*nodelint, "plan", "--old", str(old), str(new)]
    yield Row("plan of 300 pairs, 30 changed", planned, "its check", [*check, str(new)], 1.6)
    explained = [*nodelint, "explain", "--format", "json", str(new)]
    fleet, apps = folder / "fleet", folder / "apps"
    pools(fleet, 20)
    apps.mkdir()
    for n in range(200):
        text = DEPLOYMENT.format(n=n).replace("100m", f"{100 + n * 25}m").replace("128Mi", f"{128 + n * 16}Mi")
        (apps / f"app-{n}.yaml").write_text(text, encoding="utf-8")
    both = [str(fleet), str(apps)]
    yield Row("fit of 200 workloads and 20 pairs", [*nodelint, "fit", *both], "its check", [*check, *both], 3.0)
    yield Row("explain of 300 pairs, as JSON", explained, "its check", [*check, str(new)], 1.1)


def long(folder: Path, nodelint: list[str]) -> Iterator[Row]:
    """Runs over one large file."""
    place = folder / "stream"
    place.mkdir()
    large_inputs.stream(place, 200)
    path = str(place / "stream.yaml")
    # Where nobody takes the number, grep stops at the first line.
    beside = ["sh", "-c", 'grep -c karpenter "$0" | cat', path]
    yield Row("a stream of 200 MB with 20 pools", [*nodelint, "check", path], "grep -c", beside, 6.0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--only", default="", help="Rows whose work holds this word.")
    parser.add_argument("--large", action="store_true", help="Print the tables of large inputs, too.")
    options = parser.parse_args()
    nodelint = [sys.executable, "-c", "from nodelint.__main__ import main; main()"]
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        print("| work | nodelint | beside | ratio | at most |\n| --- | --- | --- | --- | --- |", flush=True)
        folder = Path(name)
        rows = (
            cold(folder, nodelint, sys.executable),
            warm(folder, nodelint, options.files),
            long(folder, nodelint),
        )
        for row in chain.from_iterable(rows):
            if options.only in row.work:
                print(told(row, options.runs), flush=True)
    if options.large:
        print_large()


def print_large() -> None:
    """Print the table of large inputs, and that of the language server."""
    print()
    for line in large_inputs.rows(list(large_inputs.CASES)):
        print(line, flush=True)
    print(f"\n{language_server.HEAD}", flush=True)
    for findings in (0, 3):
        for pairs in (1, 100, 500, 4000):
            print(language_server.measure(pairs, findings, edits=5, limit=120), flush=True)


if __name__ == "__main__":
    main()
