"""A DaemonSet in a plain file takes room from the pods that an overlay renders: `check` and `fit` agree."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = nodepool('key: node.kubernetes.io/instance-type, operator: In, values: ["m6i.2xlarge"]', name="general")
CACHE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache}
spec:
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: general}
      containers: [{name: c, image: x, resources: {requests: {cpu: "2", memory: 28Gi}}}]
"""
DAEMON = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: a, image: x, resources: {requests: {memory: MEMORY}}}]
"""
OVERLAY = {
    "c/base/kustomization.yaml": "resources: [cache.yaml]\n",
    "c/base/cache.yaml": CACHE,
    "c/overlays/prod/kustomization.yaml": "resources: [../../base]\n",
}
FORMS = {"plain": {"c/cache.yaml": CACHE}, "overlay": OVERLAY}


@pytest.mark.parametrize(("memory", "has_room"), [("700Mi", False), ("100Mi", True)])
@pytest.mark.parametrize("form", FORMS)
def test_a_daemonset_takes_room(nodelint: Run, tmp_path: Path, form: str, memory: str, has_room: bool) -> None:
    files = {"a/pool.yaml": f"{POOL}---\n{nodeclass()}", "b/ds.yaml": DAEMON.replace("MEMORY", memory)}
    write_files(tmp_path, {".git/HEAD": "", **files, **FORMS[form]})
    assert ("no-pool-for-workload" in nodelint("check").stdout) is not has_room
    assert ("no pool takes it" in nodelint("fit").stdout) is not has_room
