"""The manifests that the benchmarks run over, and what writes them into a folder."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

from nodelint.data import DATA
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import parse_snapshot, snapshot_text
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST
from nodelint.text import Source

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

OVERLAY = """\
resources:
  - ../base
labels:
  - pairs: {team: platform}
patches:
  - target: {kind: NodePool}
    patch: |-
      - op: replace
        path: /spec/limits/cpu
        value: 100
  - patch: |-
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: pool-0}
      spec:
        disruption: {consolidateAfter: 5m}
"""

TERRAFORM = """\
resource "kubectl_manifest" "{kind}_{n}" {{
  yaml_body = <<-YAML
{text}  YAML
}}

"""


def make_snapshot(regions: int = 1) -> str:
    """What `refresh` writes for POOL: every instance type, where each is offered, and what the class finds.

    Of several regions, each is a copy of the first under another name.
    """
    classes = [found for found in objects(Source.from_text("pool.yaml", POOL)) if isinstance(found, EC2NodeClass)]
    region = FakeAccount(ACCOUNT).facts(classes, NEWEST).region
    assert region is not None
    copies = [region._replace(name=f"eu-north-{n}") for n in range(1, regions)]
    return snapshot_text(parse_snapshot(Path(DATA, "catalog.json").read_bytes())._replace(regions=(region, *copies)))


def make_pair(n: int) -> str:
    """A pool and its class unlike their neighbours: an answer that is kept serves some of the others, not all."""
    text = POOL.replace("name: default", f"name: pool-{n}").replace("cpu: 1000", f"cpu: {500 + n}")
    text = text.replace('["c", "m", "r"]', ('["c", "m", "r"]', '["m"]', '["r", "x"]', '["t", "m"]')[n % 4])
    text = text.replace('["4"]', f'["{2 + n % 5}"]').replace("Role-main", f"Role-{n % 7}")
    return text.replace("discovery: main", f"discovery: cluster-{n % 11}")


def write_text(path: Path, text: str) -> None:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_pairs(folder: Path, count: int, changed: int = 0) -> None:
    """`count` files with a pool and its class each; `changed` of them expire their nodes earlier."""
    for n in range(count):
        write_text(folder / f"pool-{n}.yaml", make_pair(n).replace("720h", "700h") if n < changed else make_pair(n))


def write_stream_of_pairs(path: Path, count: int) -> None:
    """One file with `count` pools and their classes."""
    write_text(path, "---\n".join(map(make_pair, range(count))))


def write_deployments(folder: Path, count: int) -> list[str]:
    """`count` files of which none holds an object of Karpenter's; their paths."""
    paths = [folder / f"app-{n}.yaml" for n in range(count)]
    for n, path in enumerate(paths):
        write_text(path, DEPLOYMENT.format(n=n))
    return [str(path) for path in paths]


def write_workloads(folder: Path, count: int) -> None:
    """`count` Deployments of which no two ask for the same."""
    for n in range(count):
        text = DEPLOYMENT.format(n=n).replace("100m", f"{100 + n * 25}m").replace("128Mi", f"{128 + n * 16}Mi")
        write_text(folder / f"app-{n}.yaml", text)


PAIR_EVERY = 33
"""Of so many files of a tree, one holds a pair."""


def write_tree(folder: Path, files: int) -> None:
    """`files` manifests in folders of 100; one in PAIR_EVERY is a NodePool with its class."""
    for n in range(files):
        text = DEPLOYMENT.format(n=n) if n % PAIR_EVERY else make_pair(n)
        write_text(folder / f"team-{n // 100:03d}" / f"app-{n}.yaml", text)


def count_pairs(files: int) -> int:
    """The pairs in a tree of so many files."""
    return len(range(0, files, PAIR_EVERY))


def write_overlay(folder: Path, pairs: int) -> None:
    """A base with `pairs` pools, and an overlay that changes all of them and one alone."""
    write_pairs(folder / "base", pairs)
    names = "".join(f"  - pool-{n}.yaml\n" for n in range(pairs))
    write_text(folder / "base" / "kustomization.yaml", f"resources:\n{names}")
    write_text(folder / "overlay" / "kustomization.yaml", OVERLAY)


def write_chart(folder: Path, pairs: int) -> None:
    """A chart whose templates make `pairs` pools of its default values."""
    write_text(folder / "Chart.yaml", "apiVersion: v2\nname: pools\nversion: 1.0.0\n")
    write_text(folder / "values.yaml", 'generation: "4"\narchitectures: [amd64]\nlabels: {}\n')
    for n in range(pairs):
        text = make_pair(n).replace('["amd64"]', "{{ toYaml .Values.architectures | nindent 12 }}")
        text = re.sub(r'\["\d"\]', "[{{ .Values.generation | quote }}]", text)
        write_text(folder / "templates" / f"pool-{n}.yaml", text)


def write_terraform(folder: Path, pairs: int) -> None:
    """A root module with `pairs` pools and classes, whose limits and generations are locals."""
    resources = []
    for n in range(pairs):
        pool, _, node_class = make_pair(n).partition("---\n")
        pool = pool.replace(f"cpu: {500 + n}", f'cpu: ${{local.pools["pool-{n}"].cpu}}')
        pool = re.sub(r'\["\d"\]', f'["${{local.pools["pool-{n}"].generation}}"]', pool)
        for kind, text in (("pool", pool), ("class", node_class)):
            resources.append(TERRAFORM.format(kind=kind, n=n, text=indent(text, "    ")))
    pools = "".join(f'    pool-{n} = {{ cpu = {500 + n}, generation = "{2 + n % 5}" }}\n' for n in range(pairs))
    write_text(folder / "main.tf", f"locals {{\n  pools = {{\n{pools}  }}\n}}\n\n{''.join(resources)}")
