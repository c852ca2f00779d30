"""What an editor shows in a text without objects: values that are not YAML, and the releases that a file states."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from lsprotocol import types

from nodelint.lsp.actions import actions
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.diagnostics import diagnostics
from nodelint.lsp.hover import hover
from nodelint.lsp.project import Project
from nodelint.lsp.summary import count_text
from nodelint.model.manifest import NodePool
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

NUMBERS = count(1)
ERROR = types.DiagnosticSeverity.Error
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.4.0, sourceRef: {kind: HelmRepository, name: karpenter}}}
"""
CLUSTER = """\
module "eks" {
  source          = "terraform-aws-modules/eks/aws"
  version         = "20.37.0"
  cluster_name    = "prod"
  cluster_version = "1.34"
}
"""
FILES = {
    ".git/HEAD": "",
    "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "chart/values.yaml": "arch: [amd64]\n",
    "chart/templates/pool.yaml": nodepool("key: kubernetes.io/arch, operator: In, values: ARCH").replace(
        "ARCH", "{{ toJson .Values.arch }}"
    ),
    "other/Chart.yaml": "apiVersion: v2\nname: other\nversion: 0.1.0\n",
    "other/templates/a.yaml": "kind: ConfigMap\n",
    "app.yaml": "kind: Application\nmetadata: {name: karpenter}\nspec: {helm: {valueFiles: [named.yaml]}}\n",
}


def list_shown(home: Path, path: str, text: str) -> list[tuple[int, types.DiagnosticSeverity | None, str, str]]:
    """Return line, severity, code and message of the diagnostics of an open text."""
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(*opened(home, path, text))
    assert found is not None
    return [(d.range.start.line + 1, d.severity, str(d.code), d.message) for d in diagnostics(*found)]


def opened(home: Path, path: str, text: str) -> tuple[State, str]:
    buffer = Buffer((home / path).as_uri(), 1, text, "utf-16")
    return State({buffer.uri: buffer}, (os.fspath(home),), next(NUMBERS)), buffer.uri


@pytest.mark.parametrize("path", ["chart/values.yaml", "chart/values-prod.yaml", "named.yaml"])
def test_values_that_are_not_yaml_are_an_error_at_their_place(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, FILES)
    assert list_shown(tmp_path, path, "arch: [amd64]\n") == []
    message = (
        "not judged: expected `,` or `]` here, in a list that began above: the values of this file are not known"
    )
    assert list_shown(tmp_path, path, "arch: [amd64\nother: 1\n") == [(2, ERROR, "not-judged", message)]
    assert list_shown(tmp_path, path, "arch: [amd64]\narch: [arm64]\n") == []  # helm uses the last one


@pytest.mark.parametrize("path", ["other/values.yaml", "docker-compose.yaml"])
def test_a_broken_file_of_another_tool_is_none_of_our_business(tmp_path: Path, path: str) -> None:
    write_files(tmp_path, FILES)
    assert list_shown(tmp_path, path, "arch: [amd64\nother: 1\n") == []


def test_a_release_is_judged_where_a_file_states_it(tmp_path: Path) -> None:
    write_files(tmp_path, {".git/HEAD": "", "karpenter.yaml": RELEASE})
    [(line, _, code, message)] = list_shown(tmp_path, "karpenter.yaml", RELEASE)
    assert (line, code) == (5, "out-of-support") and "Karpenter 1.4.0 is out of support" in message
    supported = RELEASE.replace("1.4.0", "1.15.0")
    write_files(tmp_path, {"karpenter.yaml": supported})
    assert list_shown(tmp_path, "karpenter.yaml", supported) == []
    commented = RELEASE.replace("  chart:", "  # nodelint: ignore[out-of-support] planned\n  chart:")
    write_files(tmp_path, {"karpenter.yaml": commented})
    assert list_shown(tmp_path, "karpenter.yaml", commented) == []


@pytest.mark.parametrize(("above", "line"), [("", 5), ("# Karpenter 1.4.0 is what we run\n", 6)])
def test_a_stated_release_is_marked_from_its_first_character(tmp_path: Path, above: str, line: int) -> None:
    """And not where a comment above names the same release."""
    text = above + RELEASE
    write_files(tmp_path, {".git/HEAD": "", "karpenter.yaml": text})
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(*opened(tmp_path, "karpenter.yaml", text))
    assert found is not None
    (shown,) = diagnostics(*found)
    assert (shown.range.start.line + 1, shown.range.start.character) == (line, 2)
    written = text.splitlines()[line - 1]
    assert (shown.range.end.line + 1, shown.range.end.character) == (line, len(written))


def test_a_pair_of_releases_that_is_not_supported_is_shown_where_karpenter_is_stated(tmp_path: Path) -> None:
    pools = f"{nodepool()}---\n{nodeclass()}"
    files = {".git/HEAD": "", "karpenter.yaml": RELEASE, "pools.yaml": pools, "eks.tf": CLUSTER}
    write_files(tmp_path, files)
    [(line, _, code, message)] = list_shown(tmp_path, "karpenter.yaml", RELEASE)
    assert (line, code) == (5, "unsupported-kubernetes") and "the cluster runs 1.34" in message
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(*opened(tmp_path, "karpenter.yaml", RELEASE))
    assert found is not None
    offered = [action.title for action in actions(*found, 0, len(RELEASE), None, True)]
    assert offered == ["Ignore unsupported-kubernetes here"]
    write_files(tmp_path, {"eks.tf": CLUSTER.replace("1.34", "1.32")})
    assert [code for _, _, code, _ in list_shown(tmp_path, "karpenter.yaml", RELEASE)] == ["out-of-support"]


@pytest.mark.parametrize(("limits", "number"), [("{cpu: 16}", 12), ("{cpu: 1000}", 33), ("{cpu: 0}", 0)])
def test_hover_and_lens_count_the_same_types(tmp_path: Path, limits: str, number: int) -> None:
    families = "key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, c7i, r7i]"
    text = nodepool(families, spec=f"  limits: {limits}\n") + "---\n" + nodeclass()
    write_files(tmp_path, {".git/HEAD": ""})
    found = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC)).view_of(*opened(tmp_path, "pool.yaml", text))
    assert found is not None
    view, buffer = found
    [pool] = [obj for obj in view.objects(buffer) if isinstance(obj, NodePool)]
    hovered = hover(view, buffer, text.index("m7i, c7i"))
    lens = count_text(view, pool)
    assert hovered is not None and lens is not None
    if number:
        assert lens.startswith(f"{number} types") and f"can launch **{number}** instance types" in hovered.markdown
    else:
        assert lens == "no instance type" and "nothing is launched: this excludes the last" in hovered.markdown
    more = "21 more meet the requirements, but exceed the limits (`spec.limits, cpu: 16`)"
    assert (more in hovered.markdown) == (number == 12)
