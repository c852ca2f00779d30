"""A Kustomization takes its variables from a ConfigMap of its own cluster, never from that of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.test_plan import CLASS, POOL
from tests.plan.test_plan_missing_references import Run
from tests.repositories import write_files

KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: karpenter, namespace: flux-system}
spec:
  path: ./pools
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: vars}]}
"""
VARIABLES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars}\ndata: {expire: EXPIRE}\n"
EXPIRING = POOL.replace("      taints:", "      expireAfter: ${expire}\n      taints:")
FILES = {"clusters/prod/k.yaml": KUSTOMIZATION, "pools/n.yaml": f"{CLASS}---\n{EXPIRING}"}


@pytest.mark.parametrize(
    ("place", "is_used"),
    [
        ("clusters/prod/vars.yaml", True),
        ("clusters/prod/config/vars.yaml", True),
        ("clusters/vars.yaml", True),
        ("config/vars.yaml", True),
        ("clusters/staging/vars.yaml", False),
        ("clusters/staging/config/vars.yaml", False),
    ],
)
def test_variables_are_those_of_the_cluster(nodelint: Run, tmp_path: Path, place: str, is_used: bool) -> None:
    staging = {"clusters/staging/k.yaml": KUSTOMIZATION.replace("./pools", "./other")}
    other = {"other/x.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"}
    write_files(tmp_path, {**FILES, **staging, **other, place: VARIABLES.replace("EXPIRE", "30d")})
    shown = nodelint("check", ".", cwd=tmp_path).stdout
    assert (f"{place}:4" in shown) is is_used, shown
    assert ("is `${expire}`" in shown) is not is_used, shown
