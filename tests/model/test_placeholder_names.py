"""A pool and a class whose names are filled in later are a pair where both are filled with the same, for certain."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.model.placeholder_names import canonical_code
from tests.manifests import nodeclass, nodepool

Nodelint = Callable[..., subprocess.CompletedProcess[str]]

PAIRS = {
    "spelling": ("templates/a.yaml", "{{ .Release.Name }}-x", "templates/b.yaml", "{{- $.Release.Name -}}-x", True),
    "include": ("templates/a.yaml", '{{ include "n" $ }}', "templates/sub/b.yaml", '{{include "n" .}}', True),
    "quotes": ("templates/a.yaml", "{{ .Release.Name | quote }}", "templates/b.yaml", "{{ .Release.Name }}", True),
    "another text": ("templates/a.yaml", "{{ .Release.Name }}-x", "templates/b.yaml", "{{ .Release.Name }}-y", False),
    "another include": ("templates/a.yaml", '{{ include "n" . }}', "templates/b.yaml", '{{ include "m" . }}', False),
    "field of an item": ("templates/a.yaml", "{{ .name }}", "templates/b.yaml", "{{ .name }}", False),
    "variable": ("templates/a.yaml", "{{ $name }}", "templates/b.yaml", "{{ $name }}", False),
    "another chart": (
        "a/templates/a.yaml",
        "{{ .Release.Name }}",
        "b/templates/b.yaml",
        "{{ .Release.Name }}",
        False,
    ),
    "one folder": ("a.yaml", "${CLUSTER}-x", "b.yaml", "${CLUSTER}-x", True),
    "two folders": ("a/a.yaml", "${CLUSTER}-x", "b/b.yaml", "${CLUSTER}-x", False),
    "another variable": ("a.yaml", "${CLUSTER}-x", "b.yaml", "${NAME}-x", False),
}


@pytest.mark.parametrize("case", PAIRS)
def test_pair(case: str, tmp_path: Path, nodelint: Nodelint) -> None:
    """No A1 instance boots AL2023, which shows where the class of the pool is known."""
    pool_path, pool_name, class_path, class_name, is_pair = PAIRS[case]
    family = "key: karpenter.k8s.aws/instance-family, operator: In, values: [a1]"
    for path, text in (
        (pool_path, nodepool(family, node_class="PLACE").replace("PLACE", f"'{pool_name}'")),
        (class_path, nodeclass(name="PLACE").replace("PLACE", f"'{class_name}'")),
    ):
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if "templates" in path:
            chart = tmp_path / path.partition("templates")[0]
            (chart / "Chart.yaml").write_text("apiVersion: v2\nname: pools\nversion: 0.1.0\n")
            (chart / "values.yaml").write_text("some: value\n")
    answer = json.loads(nodelint("check", "--format", "json", ".").stdout)
    found = {finding["rule"] for finding in answer["findings"]}
    unknown = [entry["field"] for entry in answer["coverage"]["unknown"] if entry["decides"]]
    assert ("image-arch-mismatch" in found or "no-instance-type" in found) == is_pair, found
    assert ("spec.template.spec.nodeClassRef.name" in unknown) != is_pair


@pytest.mark.parametrize("code", ["${var.cluster}", "var.cluster", '"${ var.cluster }"'])
def test_reference_of_terraform_has_one_spelling(code: str) -> None:
    assert canonical_code(code) == "var.cluster"
