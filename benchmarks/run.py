"""Time nodelint beside tools that everybody has, and print the ratios.

    python benchmarks/run.py [--runs 15] [--files 10000]

Each command is a whole process, run in turn with the one it is compared with, so that a machine whose
speed drifts slows both. What counts is the ratio of the medians, not the seconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nodelint.data import DATA
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import parse_snapshot, snapshot_text
from nodelint.model.manifest import EC2NodeClass, objects
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


def timed(command: list[str]) -> float:
    """Seconds of wall clock of one run; raises when the command cannot do its work."""
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False, env=ENVIRONMENT, cwd=tempfile.gettempdir())
    seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()}")
    return seconds


def compare(title: str, ours: list[str], theirs: list[str], runs: int) -> None:
    """Run both in turn and print the medians and their ratio."""
    for command in (ours, theirs):
        timed(command)
    mine, other = [], []
    for _ in range(runs):
        mine.append(timed(ours))
        other.append(timed(theirs))
    a, b = statistics.median(mine), statistics.median(other)
    pairs = [x / y for x, y in zip(mine, other, strict=True)]
    print(
        f"{title}\n  nodelint {a * 1000:7.1f} ms   other {b * 1000:7.1f} ms   ratio {a / b:.2f}"
        f"   (pair by pair: median {statistics.median(pairs):.2f}, {min(pairs):.2f} to {max(pairs):.2f})"
    )


def snapshot() -> str:
    """What `refresh` writes for POOL: every instance type, where each is offered, and what the class finds."""
    classes = [each for each in objects(Source.from_text("pool.yaml", POOL)) if isinstance(each, EC2NodeClass)]
    region = FakeAccount(ACCOUNT).facts(classes, NEWEST).region
    assert region is not None
    return snapshot_text(parse_snapshot(Path(DATA, "catalog.json").read_bytes())._replace(regions=(region,)))


def tree(folder: Path, files: int) -> None:
    """`files` manifests in folders of 100; one in 200 is a NodePool with its class."""
    for n in range(files):
        place = folder / f"team-{n // 100:03d}"
        place.mkdir(parents=True, exist_ok=True)
        text = POOL.replace("name: default", f"name: pool-{n}") if n % 200 == 0 else DEPLOYMENT.format(n=n)
        (place / f"app-{n}.yaml").write_text(text, encoding="utf-8")


def main() -> None:
    """The comparisons of the project's aims: one file against yamllint, also with facts, a tree against grep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--files", type=int, default=10_000)
    options = parser.parse_args()
    scripts = Path(sys.executable).parent
    nodelint, yamllint = str(scripts / "nodelint"), str(scripts / "yamllint")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = folder / "pool.yaml"
        one.write_text(POOL, encoding="utf-8")
        facts = folder / "nodelint.snapshot.json"
        facts.write_text(snapshot(), encoding="utf-8")
        if shutil.which(yamllint):
            theirs = [yamllint, "-d", "relaxed", str(one)]
            title = "one pool and its class, cold, against yamllint -d relaxed"
            compare(f"{title} (aim: 1.0)", [nodelint, "check", str(one)], theirs, options.runs)
            known = [nodelint, "check", "--snapshot", str(facts), str(one)]
            compare(f"{title}, with a snapshot of {facts.stat().st_size // 1000} kB", known, theirs, options.runs)
        else:
            print("yamllint is not installed beside nodelint: pip install -e '.[dev]'")
        many = folder / "tree"
        tree(many, options.files)
        compare(
            f"a tree of {options.files:,} files, against grep -rlE (aim: 8)",
            [nodelint, "check", str(many)],
            ["grep", "-rlE", r"karpenter\.(sh|k8s\.aws)", str(many)],
            options.runs,
        )


if __name__ == "__main__":
    main()
