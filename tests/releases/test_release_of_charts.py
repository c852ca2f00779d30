"""A chart has one release, whatever names its values give to objects."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

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
