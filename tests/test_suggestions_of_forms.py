"""An error whose value stands in a chart's values or in Terraform has the edit there that it has in plain YAML."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

MISTAKES = {
    "weight": ("200", "200"),
    "expireAfter": ("30d", '"30d"'),
    "volumeSize": ("100", "100"),
    "effect": ("NoSchedul", '"NoSchedul"'),
    "arch": ("x86", '"x86"'),
    "memory": ("100GB", '"100GB"'),
    "hops": ("0", "0"),
}
"""The value as YAML and as HCL write it."""
RIGHT = {
    "weight": ("10", "10"),
    "expireAfter": ("720h", '"720h"'),
    "volumeSize": ("100Gi", '"100Gi"'),
    "effect": ("NoSchedule", '"NoSchedule"'),
    "arch": ("amd64", '"amd64"'),
    "memory": ("100Gi", '"100Gi"'),
    "hops": ("1", "1"),
}
MANIFEST = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  weight: <weight>
  limits:
    memory: <memory>
  template:
    spec:
      expireAfter: <expireAfter>
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      taints:
        - key: team
          effect: <effect>
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values:
            - <arch>
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values:
            - m5
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: node
  amiSelectorTerms:
    - alias: al2023@latest
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
  metadataOptions:
    httpPutResponseHopLimit: <hops>
  blockDeviceMappings:
    - deviceName: /dev/xvda
      ebs:
        encrypted: true
        volumeSize: <volumeSize>
"""


def fill(pattern: str) -> str:
    text = MANIFEST
    for name in RIGHT:
        text = text.replace(f"<{name}>", pattern.format(name=name))
    return text


def write(folder: Path, form: str, mistake: str) -> str:
    """Write the manifest in a form; the path of the file in which its values stand."""
    values = {**RIGHT, mistake: MISTAKES[mistake]}
    if form == "yaml":
        text = MANIFEST
        for name, (written, _) in values.items():
            text = text.replace(f"<{name}>", written)
        files = {"pool.yaml": text}
    elif form == "chart":
        files = {
            "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
            "values.yaml": "".join(f"{name}: {written}\n" for name, (written, _) in values.items()),
            "templates/pools.yaml": fill("{{{{ .Values.{name} }}}}"),
        }
    else:
        pool, node_class = fill("${{local.{name}}}").split("---\n")
        files = {
            "pools.tf": "".join(
                f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<YAML\n{text}YAML\n}}\n'
                for name, text in (("pool", pool), ("class", node_class))
            ),
            "locals.tf": "locals {\n" + "".join(f"  {name} = {code}\n" for name, (_, code) in values.items()) + "}\n",
        }
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return {"yaml": "pool.yaml", "chart": "values.yaml", "terraform": "locals.tf"}[form]


def errors(nodelint: Nodelint, folder: Path) -> list[dict[str, Any]]:
    answer = json.loads(nodelint("check", "--format", "json", ".", cwd=folder).stdout)
    return [finding for finding in answer["findings"] if finding["severity"] == "error"]


def edits(finding: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The ways out of a finding, each by its edits."""
    return [way["edits"] for way in (finding["fix"], *finding["suggestions"]) if way]


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("form", ["chart", "terraform"])
def test_edit_stands_where_the_value_does(nodelint: Nodelint, tmp_path: Path, form: str, mistake: str) -> None:
    for folder in ("yaml", form):
        (tmp_path / folder).mkdir()
    write(tmp_path / "yaml", "yaml", mistake)
    path = write(tmp_path / form, form, mistake)
    plain = errors(nodelint, tmp_path / "yaml")
    [finding] = errors(nodelint, tmp_path / form)
    assert finding["message"] in {each["message"] for each in plain} and finding["path"] == path
    wanted = {edit["text"].strip('"') for way in edits(plain[0]) for edit in way if len(way) == 1 and edit["text"]}
    found = [way for way in edits(finding) if len(way) == 1 and way[0]["path"] == path]
    assert wanted and wanted <= {way[0]["text"].strip('"') for way in found}
    for way in found:
        file = tmp_path / form / path
        before = file.read_bytes()
        start, end = way[0]["start"]["offset"], way[0]["end"]["offset"]
        file.write_bytes(before[:start] + way[0]["text"].encode() + before[end:])
        assert not errors(nodelint, tmp_path / form)
        file.write_bytes(before)
