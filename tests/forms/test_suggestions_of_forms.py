"""An error whose value stands in a chart's values or in Terraform has the edit there that it has in plain YAML."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.repositories import write_files
from tests.rules.test_posted_mistakes import source_of

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
    write_files(folder, files)
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
    assert finding["message"] in {finding["message"] for finding in plain} and finding["path"] == path
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


STRUCTURAL = (
    "a subnet by its name",
    "alias of another family",
    "an alias and a name",
    "both capacity types, a requirement each",
    "fields of a volume beside it",
    "fields of a volume without it",
    "ids as a list",
    "images without a family",
    "labels for requirements",
    "no class",
    "no role",
    "a setting of the kubelet in the class",
    "two bounds that exclude each other",
    "a taint as kubectl takes it",
    "types as a list",
    "a weight among the limits",
    "minValues",
)
"""Posted mistakes whose edits add, remove or reshape more than a scalar."""


def write_posted(folder: Path, form: str, text: str) -> None:
    """Write two manifests as an overlay's base, as values of a chart, as locals of Terraform, or with a variable."""
    documents = text.split("---\n")
    specs = {f"o{n}": document.partition("spec:\n") for n, document in enumerate(documents)}
    objects = [YAML(typ="safe").load(document) for document in documents]
    files = {
        "yaml": {"pool.yaml": text},
        "overlay": {
            "base/kustomization.yaml": "resources: [pool.yaml]\n",
            "base/pool.yaml": text,
            "prod/kustomization.yaml": "resources: [../base]\ncommonLabels: {team: a}\n",
        },
        "chart": {
            "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
            "values.yaml": "".join(f"{name}:\n  spec:\n{indent(spec, '  ')}" for name, (_, _, spec) in specs.items()),
            "templates/pools.yaml": "---\n".join(
                f"{head}spec:\n  {{{{- toYaml .Values.{name}.spec | nindent 2 }}}}\n"
                for name, (head, _, _) in specs.items()
            ),
        },
        "terraform": {
            "main.tf": "locals {\n  objects = {\n"
            + "".join(f"    o{n} = {json.dumps(value, indent=2)}\n" for n, value in enumerate(objects))
            + '  }\n}\nresource "kubectl_manifest" "all" {\n  for_each  = local.objects\n'
            + "  yaml_body = yamlencode(each.value)\n}\n"
        },
        "flux": {
            "apps/pool.yaml": text.replace("discovery: prod", "discovery: ${cluster}"),
            "cluster.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: a, namespace: flux-system}\nspec:\n  path: ./apps\n  interval: 5m\n  prune: true\n"
            "  sourceRef: {kind: GitRepository, name: a}\n  postBuild: {substitute: {cluster: prod}}\n",
        },
    }
    write_files(folder, files[form])


def outcomes(nodelint: Nodelint, folder: Path) -> dict[str, list[list[str]]]:
    """Each error with what is left after each of its ways out."""
    found: dict[str, list[list[str]]] = {}
    for finding in errors(nodelint, folder):
        for way in edits(finding):
            before = {edit["path"]: (folder / edit["path"]).read_bytes() for edit in way}
            for path, text in before.items():
                # Of two insertions at one place, the first in the list stands first in the text.
                own = [edit for edit in reversed(way) if edit["path"] == path]
                own.sort(key=lambda e: -e["start"]["offset"])
                for edit in own:
                    text = text[: edit["start"]["offset"]] + edit["text"].encode() + text[edit["end"]["offset"] :]
                (folder / path).write_bytes(text)
            left = sorted(other["message"] for other in errors(nodelint, folder))
            found.setdefault(finding["message"], []).append(left)
            for path, text in before.items():
                (folder / path).write_bytes(text)
    return found


@pytest.mark.parametrize("name", STRUCTURAL)
def test_a_way_out_does_the_same_in_every_form(nodelint: Nodelint, tmp_path: Path, name: str) -> None:
    """What adds or removes keys and items is led back to the files, and comes to what it does in plain YAML.

    Two forms for each: what an edit is, the form does not see, and where it goes, the mistake does not.
    """
    text = source_of(name).text
    write_posted(tmp_path / "yaml", "yaml", text)
    plain = outcomes(nodelint, tmp_path / "yaml")
    assert plain
    for form in ("overlay", "chart", "terraform", "flux")[STRUCTURAL.index(name) % 2 :: 2]:
        write_posted(tmp_path / form, form, text)
        found = outcomes(nodelint, tmp_path / form)
        for message, ways in plain.items():
            assert found.get(message, []), (form, message)
            assert all(left in ways for left in found[message]), (form, message)


BOUNDS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
NAMESPACEspec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["8"]}
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}
        - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}
"""


def write_overlay(folder: Path, base: str, patch: str) -> None:
    files = {
        "base/kustomization.yaml": "resources: [pool.yaml]\n",
        "base/pool.yaml": base,
        "prod/kustomization.yaml": f"resources: [../base]\npatches:\n{patch}",
    }
    write_files(folder, files)


def test_an_item_stays_that_a_patch_counts_on(nodelint: Nodelint, tmp_path: Path) -> None:
    """The overlay replaces a value of the second requirement: without the first, it would be that of the third."""
    patch = (
        "  - target: {kind: NodePool}\n    patch: |-\n      - op: replace\n"
        "        path: /spec/template/spec/requirements/1/values/0\n        value: c\n"
    )
    write_overlay(tmp_path, BOUNDS.replace("NAMESPACE", ""), patch)
    [finding] = errors(nodelint, tmp_path)
    names = [way["name"] for way in finding["suggestions"]]
    assert [name.partition(":")[0] for name in names] == ["remove `instance-cpu Lt 9`"]


def test_a_name_stays_by_which_a_patch_finds_its_object(nodelint: Nodelint, tmp_path: Path) -> None:
    base = BOUNDS.replace("NAMESPACE", "  namespace: apps\n")
    patch = (
        "  - target: {kind: NodePool, name: web, namespace: apps}\n"
        "    patch: |-\n      - {op: add, path: /spec/limits, value: {cpu: 10}}\n"
    )
    write_overlay(tmp_path, base, patch)
    nodelint("check", "--fix", "--select", "cluster-scoped-namespace", ".", cwd=tmp_path)
    assert (tmp_path / "base/pool.yaml").read_text(encoding="utf-8") == base
    write_overlay(tmp_path, base, patch.replace(", namespace: apps", ""))
    nodelint("check", "--fix", "--select", "cluster-scoped-namespace", ".", cwd=tmp_path)
    assert "namespace" not in (tmp_path / "base/pool.yaml").read_text(encoding="utf-8")
