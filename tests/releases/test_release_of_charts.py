"""A chart has one release, whatever names its values give to objects."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec:\n"
    "  chart: {spec: {chart: karpenter, version: 1.6.2, sourceRef: {kind: HelmRepository, name: karpenter}}}\n"
)
POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name="web")


def test_all_commands_know_one_release_for_a_chart(nodelint: Run, tmp_path: Path) -> None:
    """Also if a pool of an overlay elsewhere has the name of one of its pools."""
    template = f"{POOL.replace('name: web', 'name: {{ .Values.name }}')}---\n{nodeclass()}"
    write_files(
        tmp_path,
        {
            ".git/HEAD": "",
            "charts/fleet/Chart.yaml": "apiVersion: v2\nname: fleet\nversion: 0.1.0\n",
            "charts/fleet/values.yaml": "name: web\n",
            "charts/fleet/templates/pool.yaml": template,
            "infrastructure/karpenter/base/kustomization.yaml": "resources: [release.yaml, pool.yaml]\n",
            "infrastructure/karpenter/base/release.yaml": RELEASE,
            "infrastructure/karpenter/base/pool.yaml": POOL,
        },
    )
    shown = nodelint("check", "--show-files", "charts").stdout
    assert "1.6.2" in shown and "1.15.1" not in shown
    assert "Karpenter 1.6.2" in nodelint("explain", "charts").stdout
    assert "for Karpenter 1.6.2" in nodelint("check", "charts").stdout


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME-ENV}
spec:
  source: {SOURCE}
  destination: {server: "https://ENV.example.com"}
"""
KARPENTER = "repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: VERSION"
POOLS = 'repoURL: "https://github.com/acme/a.git", path: charts/pools, helm: {valueFiles: [../../envs/ENV.yaml]}'


def with_clusters() -> dict[str, str]:
    """Two clusters with a Karpenter each, which give one chart the values of their environment."""
    files = {
        ".git/HEAD": "",
        "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "charts/pools/values.yaml": "name: web\n",
        "charts/pools/templates/pool.yaml": POOL.replace("name: web", "name: {{ .Values.name }}"),
        "other.yaml": "name: other\n",
    }
    for environment, version in (("dev", "1.6.0"), ("prod", "1.9.0")):
        for name, source in (("karpenter", KARPENTER.replace("VERSION", version)), ("pools", POOLS)):
            text = APPLICATION.replace("SOURCE", source).replace("NAME", name).replace("ENV", environment)
            files[f"clusters/{environment}/{name}.yaml"] = text
        files[f"envs/{environment}.yaml"] = f"name: {environment}\n"
    return files


@pytest.mark.parametrize(
    ("values", "releases"),
    [("envs/prod.yaml", "1.9.0"), ("envs/dev.yaml", "1.6.0"), ("other.yaml", "1.6.0 and 1.9.0")],
)
def test_the_values_that_are_named_choose_the_cluster(
    nodelint: Run, tmp_path: Path, values: str, releases: str
) -> None:
    """What gives the chart these values has its own Karpenter. Other values are of no known cluster."""
    write_files(tmp_path, with_clusters())
    checked = nodelint("check", "-f", values, "charts/pools").stdout
    assert f"for Karpenter {releases}" in checked.splitlines()[-1], checked


def test_the_name_of_an_environment_chooses_the_cluster(nodelint: Run, tmp_path: Path) -> None:
    """Also if the objects that deploy the chart do not name the file."""
    files = with_clusters()
    for environment in ("dev", "prod"):
        path = f"clusters/{environment}/pools.yaml"
        files[path] = files[path].replace(f", helm: {{valueFiles: [../../envs/{environment}.yaml]}}", "")
    write_files(tmp_path, {**files, "envs/prod/values.yaml": "name: a\n", "a/values.yaml": "name: a\n"})
    checked = nodelint("check", "-f", "envs/prod/values.yaml", "charts/pools").stdout
    assert "for Karpenter 1.9.0" in checked.splitlines()[-1], checked
    checked = nodelint("check", "-f", "a/values.yaml", "charts/pools").stdout
    assert "for Karpenter 1.6.0 and 1.9.0" in checked.splitlines()[-1], checked
