"""What a rule finds in a manifest it finds where the values of the manifest are written elsewhere: in the values of a
chart, in locals of Terraform, in a patch of an overlay."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from nodelint.laws.rule_laws import ExamplePair, cases
from tests.laws.test_rules import RULES, TEXT_RULES, representatives
from tests.repositories import write_files

Nodelint = Callable[..., subprocess.CompletedProcess[str]]
Manifests = list[dict[str, Any]]

# What these say is about what the forms do not carry over: comments, and what stands in the place of a value.
_ABOUT_TEXT = {
    "comment-against-value",
    "placeholder-left",
    "terraform-reference",
    "unset-variable",
    "unused-suppression",
    "flex-preference",  # by a comment above the list
    "ignored-pod-annotation",  # by the pools of the run, which its examples do not show
    *TEXT_RULES,
}
# These say nothing where a list of patches, of which not each is an object, may change what they ask about.
_SILENT_BESIDE_PATCHES = {"untolerated-taint"}
# In a chart these are not said of default values, which are there to be replaced.
_NOT_OF_DEFAULTS = {"unknown-node-class"}


class _Loader(yaml.CSafeLoader):
    """YAML without dates, as the API server reads it."""


_Loader.yaml_implicit_resolvers = {
    key: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class Code(str):
    """Template code, which is written without quotes."""

    __slots__ = ()


def moved_out(value: Any, take: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: moved_out(item, take) for key, item in value.items()}
    if isinstance(value, list):
        return [moved_out(item, take) for item in value]
    return value if value is None else take(value)


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return str(value) if isinstance(value, Code) else json.dumps(value)


def document(manifest: dict[str, Any]) -> str:
    """A manifest whose outer fields have a line each."""
    lines = []
    for key, value in manifest.items():
        below = isinstance(value, dict) and bool(value)
        lines += [f"{key}:"] if below else [f"{key}: {flow(value)}"]
        lines += [f"  {json.dumps(str(name))}: {flow(item)}" for name, item in value.items()] if below else []
    return "\n".join(lines) + "\n"


def hcl(value: Any) -> str:
    if isinstance(value, dict):
        return "{\n" + "".join(f"{hcl(str(key))} = {hcl(item)}\n" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(hcl, value)) + "]"
    return str(value) if isinstance(value, Code) else json.dumps(value).replace("${", "$${").replace("%{", "%%{")


def chart(manifests: Manifests) -> dict[str, str]:
    values: dict[str, Any] = {}

    def take(value: Any) -> Code:
        values[f"value{len(values)}"] = value
        return Code(f"{{{{ .Values.value{len(values) - 1} | toJson }}}}")

    made = [{**manifest, "spec": moved_out(manifest.get("spec"), take)} for manifest in manifests]
    return {
        "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
        "templates/pools.yaml": "---\n".join(map(document, made)),
        "values.yaml": "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items()) or "{}\n",
    }


def module(manifests: Manifests) -> dict[str, str]:
    values: list[Any] = []

    def take(value: Any) -> Code:
        values.append(value)
        return Code(f"local.value{len(values) - 1}")

    made = [{**manifest, "spec": moved_out(manifest.get("spec"), take)} for manifest in manifests]
    resources = (
        f'resource "kubectl_manifest" "m{n}" {{\n  yaml_body = yamlencode({hcl(manifest)})\n}}\n'
        for n, manifest in enumerate(made)
    )
    return {
        "main.tf": "".join(resources),
        "locals.tf": "locals {\n" + "".join(f"value{n} = {hcl(value)}\n" for n, value in enumerate(values)) + "}\n",
    }


def overlay(manifests: Manifests) -> dict[str, str]:
    files = {
        f"base/m{n}.yaml": document({key: value for key, value in manifest.items() if key != "spec"})
        for n, manifest in enumerate(manifests)
    }
    patches = [
        {
            "target": {"kind": manifest["kind"], "name": manifest["metadata"]["name"]},
            "patch": json.dumps([{"op": "add", "path": "/spec", "value": manifest["spec"]}]),
        }
        for manifest in manifests
        if "spec" in manifest
    ]
    files["base/kustomization.yaml"] = document({"resources": [path.removeprefix("base/") for path in files]})
    files["prod/kustomization.yaml"] = document({"resources": ["../base"], "patches": patches})
    return files


def manifests_of(case: ExamplePair) -> Manifests | None:
    """The manifests of a bad example; None where it needs facts, a day, or several files, or has two of one name."""
    example = case.bad
    if example.facts or example.today or example.files or "{{" in example.text:
        return None
    found = [manifest for manifest in yaml.load_all(example.text, _Loader) if manifest]
    if not all(
        isinstance(m, dict) and isinstance(m.get("metadata"), dict) and m["metadata"].get("name") for m in found
    ):
        return None
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in found]
    return found if len(set(names)) == len(names) else None


FORMS = {"chart": chart, "module": module, "overlay": overlay}
CASES = [
    pytest.param(case, manifests, id=str(case))
    for name in representatives()
    if name not in _ABOUT_TEXT
    for case in cases(RULES[name])[:1]
    if (manifests := manifests_of(case)) is not None
]


@pytest.mark.parametrize(("case", "manifests"), CASES)
def test_a_rule_finds_the_same_in_every_form(
    nodelint: Nodelint, tmp_path: Path, case: ExamplePair, manifests: Manifests
) -> None:
    options = ["--select", case.rule.name, "--format", "json"]
    if case.bad.karpenter:
        options += ["--karpenter-version", case.bad.karpenter]
    if case.bad.kubernetes:
        options += ["--kubernetes-version", case.bad.kubernetes]

    def findings_in(name: str, files: dict[str, str]) -> set[tuple[str, str]]:
        write_files(tmp_path / name, files)
        report = json.loads(nodelint("check", ".", *options, cwd=tmp_path / name).stdout)
        return {(finding["object"]["kind"], finding["severity"]) for finding in report["findings"]}

    expected = findings_in("plain", {"manifests.yaml": case.bad.text})
    assert expected
    left = {"chart"} if case.rule.name in _NOT_OF_DEFAULTS else set[str]()
    left |= {"overlay"} if case.rule.name in _SILENT_BESIDE_PATCHES else set()
    lacking = {name for name, form in FORMS.items() if not expected <= findings_in(name, form(manifests))} - left
    assert lacking == set()
