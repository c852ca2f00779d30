"""Values at the root of Karpenter's chart that a release does not read, in each form of an installation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

FORMS: dict[str, Callable[[str, str], Mapping[str, str]]] = {
    "flux": lambda version, values: {
        "release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        "metadata: {name: karpenter}\nspec:\n"
        f"  chart: {{spec: {{chart: karpenter, version: {version}}}}}\n"
        f"  values: {{settings: {{clusterName: main}}, {values}}}\n"
    },
    "chart": lambda version, values: {
        "Chart.yaml": "apiVersion: v2\nname: addon\nversion: 0.1.0\ndependencies:\n"
        f"  - {{name: karpenter, version: {version}, repository: 'oci://public.ecr.aws/karpenter'}}\n",
        "values.yaml": f"karpenter: {{settings: {{clusterName: main}}, {values}}}\n",
    },
    "terraform": lambda version, values: {
        "main.tf": 'resource "helm_release" "karpenter" {\n  name = "karpenter"\n  chart = "karpenter"\n'
        f'  repository = "oci://public.ecr.aws/karpenter"\n  version = "{version}"\n'
        f"  values = [<<-YAML\n    {{settings: {{clusterName: main}}, {values}}}\n  YAML\n  ]\n}}\n"
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("version", "values", "advice"),
    [
        ("1.0.6", "containerSecurityContext: {privileged: false}", "the chart sets it: remove the value"),
        ("1.6.2", "securityContext: {privileged: false}", "write it as `controller.securityContext`"),
        ("1.4.0", "controller: {securityContext: {privileged: false}}", "charts from 1.5.0 on read it"),
        ("1.5.0", "controller: {securityContext: {privileged: false}}", None),
        ("1.3.3", "initContainers: []", "charts from 1.4.0 on read it"),
        ("1.4.0", "initContainers: []", None),
        ("1.6.2", "nodeselector: {a: b}", "did you mean `nodeSelector`?"),
        ("1.6.2", "nodeSelector: {a: b}, dnsPolicy: Default, replicas: 2, global: {}", None),
        ("1.6.2", "nodePools: {a: b}", None),
        ("0.37.0", "clusterName: main", "write it as `settings.clusterName`"),
        ("0.16.3", "clusterName: main", None),
    ],
)
def test_a_value_at_the_root(
    nodelint: Run, tmp_path: Path, form: str, version: str, values: str, advice: str | None
) -> None:
    write_files(tmp_path, FORMS[form](version, values))
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "unread-chart-value")
    assert [f["help"] for f in json.loads(done.stdout)["findings"]] == ([advice] if advice else [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("version", "values", "advice"),
    [
        ("0.16.3", "", ["write it as `clusterName`"]),
        ("0.31.1", "", ["write it as `settings.aws.clusterName`"]),
        ("0.31.1", "clusterEndpoint: https://a", ["write it as `settings.aws.clusterEndpoint`"] * 2),
        ("0.32.1", "", []),
        ("0.37.0", "", []),
    ],
)
def test_the_name_of_the_cluster_in_charts_before_v1(
    nodelint: Run, tmp_path: Path, form: str, version: str, values: str, advice: list[str]
) -> None:
    write_files(tmp_path, FORMS[form](version, values))
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "unread-chart-value")
    helps = [f["help"] for f in json.loads(done.stdout)["findings"]]
    assert len(helps) == len(advice) and helps[-1:] == advice[-1:]


@pytest.mark.parametrize(
    ("version", "settings", "paths"),
    [
        ("0.31.1", "{clusterName: main, interruptionQueue: main}", ["clusterName", "interruptionQueue"]),
        ("0.31.1", "{clusterName: main, aws: {clusterName: main, interruptionQueueName: main}}", []),
        ("0.32.1", "{aws: {clusterName: main, interruptionQueueName: main}}", []),
        ("0.33.0", "{aws: {clusterName: main, interruptionQueueName: main}}", ["aws.clusterName", "aws.interrupt"]),
        ("0.33.0", "{clusterName: main, interruptionQueue: main, aws: {clusterName: main}}", []),
        ("0.18.1", "{aws: {clusterName: main}}", ["aws.clusterName"]),
    ],
)
def test_settings_of_charts_before_v1(
    nodelint: Run, tmp_path: Path, version: str, settings: str, paths: list[str]
) -> None:
    text = FORMS["terraform"](version, "")["main.tf"].replace("{clusterName: main}, ", settings)
    write_files(tmp_path, {"main.tf": text})
    done = nodelint("check", str(tmp_path), "--format", "json", "--select", "unread-chart-value")
    found = [f["message"] for f in json.loads(done.stdout)["findings"]]
    assert len(found) == len(paths)
    assert all(f"`settings.{path}" in message for path, message in zip(paths, found, strict=True))
