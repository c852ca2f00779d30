"""A class that a chart or an overlay makes needs the same changes by hand as a plain one, each of them once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOLS = "---\n".join(nodepool(name=name, template="      expireAfter: AFTER\n") for name in ("a", "b"))
TEMPLATED = nodeclass(
    'tags: {{- include "pools.tags" . | nindent 4 }}', role="{{ .Values.role }}", ami="alias: {{ .Values.alias }}"
)


def _chart(name: str) -> dict[str, str]:
    return {
        "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "chart/values.yaml": f"role: nodes\nalias: al2023@latest\nname: {name}\nafter: 720h\n",
        "chart/templates/_helpers.tpl": '{{- define "pools.tags" -}}\nteam: a\n{{- end -}}\n',
        "chart/templates/class.yaml": TEMPLATED.replace("name: default", "name: {{ .Values.name }}"),
        "chart/templates/pools.yaml": POOLS.replace("AFTER", "{{ .Values.after }}"),
    }


def _overlay(name: str) -> dict[str, str]:
    patch = f"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: {name}\nspec:\n  role: nodes\n"
    base = nodeclass(name=name).replace("  role: KarpenterNodeRole-main\n", "")
    return {
        "base/kustomization.yaml": "resources: [all.yaml]\n",
        "base/all.yaml": "---\n".join([base, POOLS.replace("AFTER", "720h")]),
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: role.yaml}]\n",
        "prod/role.yaml": patch,
    }


def _plain(name: str) -> dict[str, str]:
    return {"all.yaml": "---\n".join([nodeclass(name=name), POOLS.replace("AFTER", "720h")])}


@pytest.mark.parametrize("form", [_plain, _chart, _overlay])
def test_what_a_class_needs_is_said_once_in_each_form(
    nodelint: Run, tmp_path: Path, form: Callable[[str], dict[str, str]]
) -> None:
    write_files(tmp_path, form("default"))
    shown = " ".join(nodelint("migrate", "--to", "auto-mode").stderr.split())
    assert shown.count("EKS Auto Mode has a class `default` of its own") == 1, shown
    assert shown.count("an EKS access entry of type EC2") == 1
    assert shown.count("AWS chooses the images") == 1
    assert shown.count("get a volume of") == 1


@pytest.mark.parametrize("form", [_plain, _chart, _overlay])
def test_a_class_of_another_name_keeps_it(
    nodelint: Run, tmp_path: Path, form: Callable[[str], dict[str, str]]
) -> None:
    write_files(tmp_path, form("own"))
    shown = " ".join(nodelint("migrate", "--to", "auto-mode").stderr.split())
    assert "of its own" not in shown and "an EKS access entry of type EC2" in shown


def test_a_value_of_two_pools_is_named_once(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, _chart("own"))
    shown = " ".join(nodelint("migrate", "--to", "auto-mode").stderr.split())
    assert shown.count("EKS Auto Mode allows 21 days") == 1 and "values.yaml:4 NodePool spec" in shown


def test_a_class_that_was_of_auto_mode_before_is_left_alone(nodelint: Run, tmp_path: Path) -> None:
    own = "apiVersion: eks.amazonaws.com/v1\nkind: NodeClass\nmetadata: {name: old}\nspec: {role: nodes}\n"
    files = _overlay("own")
    write_files(tmp_path, {**files, "other/kustomization.yaml": "resources: [class.yaml]\n", "other/class.yaml": own})
    shown = nodelint("migrate", "--to", "auto-mode").stderr
    assert "NodeClass/old" not in shown
