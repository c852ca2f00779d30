"""Terraform in its JSON syntax is read as its twin in HCL: the same findings, at the values of the JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Run = Callable[..., CompletedProcess[str]]
Root = dict[str, dict[str, Any]]


def make_pool(types: object, name: str = "default") -> dict[str, Any]:
    line = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"nodeClassRef": reference, "requirements": [line]}}},
    }


def make_resource(manifest: object, **more: object) -> dict[str, Any]:
    return {"resource": {"kubernetes_manifest": {"pool": {**more, "manifest": manifest}}}}


def make_text(types: str) -> dict[str, Any]:
    """A resource of a text of several lines, in which a name and types are filled in."""
    text = json.dumps(make_pool(["TYPES"], "x-${lower(var.given)}"), indent=1).replace('"TYPES"', types)
    return {"resource": {"kubectl_manifest": {"pool": {"yaml_body": text}}}}


def variable(default: object, **more: object) -> dict[str, Any]:
    return {"variable": {"given": {**more, "default": default}}}


CALL = {"module": {"pools": {"source": "./pools", "given": ["m5.xlrge"]}}}

# by name: files, each with what its root holds; `m5.xlrge` is no instance type
ROOTS: dict[str, Root] = {
    "a variable": {"main": make_resource(make_pool("${var.given}")) | variable(["m5.xlrge"])},
    "a variable of another file": {
        "main": make_resource(make_pool("${var.given}")),
        "variables": variable(["m5.xlrge"], type="list(string)"),
    },
    "a local": {"main": make_resource(make_pool(["${local.x}"])) | {"locals": {"x": "m5.xlrge"}}},
    "a local of a variable": {
        "main": make_resource(make_pool("${local.x}"))
        | {"locals": {"x": '${concat(var.given, ["m5.large"])}'}}
        | variable(["m5.xlrge"])
    },
    "an object of a local": {"main": make_resource("${local.x}") | {"locals": {"x": make_pool(["m5.xlrge"])}}},
    "a set": {
        "main": make_resource(make_pool(["m5.xlrge"], "${each.key}"), for_each='${toset(["a", "b"])}'),
    },
    "a map": {
        "main": make_resource(make_pool("${each.value.types}", "${each.key}"), for_each="${local.x}")
        | {"locals": {"x": {"a": {"types": ["m5.xlrge"]}, "b": {"types": ["m5.large", "m5.huge"]}}}},
    },
    "a module": {"main": CALL, "pools/main": make_resource(make_pool("${var.given}")) | variable(["m5.large"])},
    "a text of several parts, with quotes": {
        "main": make_resource(make_pool(['${lookup({ a = "m5.xlrge" }, "a")}${""}', '"${var.given}"']))
        | variable("é")
    },
    "a text of lines": {"main": make_text('"${lookup({ a = "m5.xlrge" }, "a")}"') | variable("pool")},
    "a text of lines with a loop": {
        "main": make_text('%{ for x in ["m5.xlrge", "m5.large"] }"${x}",%{ endfor }') | variable("pool")
    },
    "a list of which a part is not known": {
        "main": make_resource(make_pool('${concat(var.given, ["m5.xlrge", "m5.large"])}', "${lower(var.name)}"))
        | {"variable": {"given": {}, "name": {"default": "a"}}}
    },
    "what is not known": {
        "main": make_resource(make_pool(["${var.given}", "m5.xlrge"])) | {"variable": {"given": {}}}
    },
}


def write_hcl(value: object) -> str:
    """A value of JSON as an expression of HCL."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {write_hcl(member)}" for key, member in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write_hcl, value)) + "]"
    if isinstance(value, str) and (code := re.fullmatch(r"\$\{([^$]*)\}", value)) is not None:
        return code[1]
    if isinstance(value, str):
        parts = re.split(r"([$%]\{(?:[^{}]|\{[^{}]*\})*\})", value)
        return '"' + "".join(part if n % 2 else json.dumps(part)[1:-1] for n, part in enumerate(parts)) + '"'
    return json.dumps(value)


def write_body(body: dict[str, Any]) -> str:
    lines = (f"  {name} = {value if name == 'type' else write_hcl(value)}\n" for name, value in body.items())
    return "{\n" + "".join(lines) + "}\n"


def write_blocks(root: dict[str, Any]) -> str:
    text = ""
    for kind, value in root.items():
        if kind == "locals":
            text += f"locals {write_body(value)}"
        for name, below in value.items() if kind != "locals" else ():
            bodies = {f'"{name}"': below}
            if kind == "resource":
                bodies = {f'"{name}" "{label}"': body for label, body in below.items()}
            text += "".join(f"{kind} {names} {write_body(body)}" for names, body in bodies.items())
    return text


def check(nodelint: Run, folder: Path, files: dict[str, str]) -> list[dict[str, Any]]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(nodelint("check", "--format", "json", ".", cwd=folder).stdout)[
        "findings"
    ]
    return found


@pytest.mark.parametrize("name", ROOTS)
def test_both_syntaxes_give_the_same_findings(nodelint: Run, tmp_path: Path, name: str) -> None:
    root = ROOTS[name]
    hcl = check(nodelint, tmp_path / "hcl", {f"{path}.tf": write_blocks(blocks) for path, blocks in root.items()})
    files = {f"{path}.tf.json": json.dumps(blocks, indent=2) for path, blocks in root.items()}
    found = check(nodelint, tmp_path / "json", files)
    messages = [sorted({(f["rule"], f["message"]) for f in side}) for side in (hcl, found)]
    assert messages[0] == messages[1]
    places = [(f["path"], f["start"]["line"]) for f in found if "m5.xlrge" in f["message"]]
    assert places
    for path, line in places:
        assert "m5.xlrge" in files[path].splitlines()[line - 1]


CHART = {"name": "karpenter", "chart": "karpenter", "repository": "oci://public.ecr.aws/karpenter"}

# by name: files that state Karpenter 1.2.1 and Kubernetes 1.31
STATEMENTS: dict[str, Root] = {
    "a chart and a cluster": {
        "main": {
            "resource": {
                "helm_release": {"karpenter": {**CHART, "version": "1.2.1"}},
                "aws_eks_cluster": {"this": {"version": "1.31"}},
            }
        }
    },
    "variables and locals of other files": {
        "main": {
            "resource": {"helm_release": {"karpenter": {**CHART, "version": "${local.chart}"}}},
            "module": {"eks": {"source": "./eks", "cluster_version": "${var.kubernetes}"}},
        },
        "locals": {"locals": {"chart": "${var.given}"}},
        "variables": {"variable": {"given": {"default": "1.2.1"}, "kubernetes": {"default": "1.31"}}},
    },
    "an entry of an object": {
        "main": {"locals": {"karpenter": {"chart_version": "1.2.1"}, "cluster_version": "1.31"}},
    },
}


@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("syntax", ["tf", "tf.json"])
def test_both_syntaxes_state_the_same_releases(nodelint: Run, tmp_path: Path, name: str, syntax: str) -> None:
    for path, root in STATEMENTS[name].items():
        text = write_blocks(root) if syntax == "tf" else json.dumps(root)
        (tmp_path / f"{path}.{syntax}").write_text(text, encoding="utf-8")
    (tmp_path / "pool.json").write_text(json.dumps(make_pool(["m5.large"])), encoding="utf-8")
    last = nodelint("check", ".", cwd=tmp_path).stdout.splitlines()[-1]
    assert "for Karpenter 1.2.1, Kubernetes 1.31" in last


IN_CODE = (
    '${yamlencode({apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = {name = NAME}, '
    'spec = {template = {spec = {nodeClassRef = {group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "a{b"}, '
    "requirements = ["
    '{key = "node.kubernetes.io/instance-type", operator = "In", values = ["TYPE"]}]}}}})}'
)
ENCODED = """\
"apiVersion": "karpenter.sh/v1"
"kind": "NodePool"
"metadata":
  "name": "default"
"spec":
  "template":
    "spec":
      "nodeClassRef":
        "group": "karpenter.k8s.aws"
        "kind": "EC2NodeClass"
        "name": "default"
      "requirements":
      - "key": "node.kubernetes.io/instance-type"
        "operator": "In"
        "values":
        - "TYPE"
        - "m5.large"
"""
PLAIN_KEYS = ENCODED.replace(
    '"values":\n        - "TYPE"\n        - "m5.large"', 'values:\n        - "TYPE"\n        - m5.large'
)
STRINGS = {
    "code": IN_CODE.replace("NAME", '"default"'),
    "code with a variable": IN_CODE.replace("NAME", "var.given"),
    "what yamlencode writes": ENCODED,
    "keys without quotes": re.sub(r'(?m)^( *(?:- )?)"(\w+)":', r"\1\2:", PLAIN_KEYS),
}


@pytest.mark.parametrize("way", STRINGS)
def test_a_string_with_a_whole_object(nodelint: Run, tmp_path: Path, way: str) -> None:
    """Braces within braces, and keys in quotes above a list that is not indented."""
    for type_, rules in (("m5.xlrge", ["unknown-value"]), ("m5.xlarge", [])):
        text = STRINGS[way].replace("TYPE", type_)
        root = {"resource": {"kubectl_manifest": {"pool": {"yaml_body": text}}}, **variable("default")}
        files = {"main.tf.json": json.dumps(root, indent=2)}
        found = check(nodelint, tmp_path / type_, files)
        assert [f["rule"] for f in found if f["rule"] in ("unknown-value", "yaml-syntax", "invalid-field")] == rules
        assert found or type_ == "m5.xlarge"
