"""A DaemonSet takes room from pods, whatever renders the one and the other: `check` and `fit` agree."""

from __future__ import annotations

import itertools
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


def _write(form: str, folder: str, text: str) -> dict[str, str]:
    """The files of a form that bring an object to the cluster."""
    if form == "plain":
        return {f"{folder}/prod/objects.yaml": text}
    if form == "overlay":
        return {
            f"{folder}/base/kustomization.yaml": "resources: [objects.yaml]\n",
            f"{folder}/base/objects.yaml": text,
            f"{folder}/prod/kustomization.yaml": "resources: [../base]\n",
        }
    files = {
        f"{folder}/Chart.yaml": f"apiVersion: v2\nname: {folder}\nversion: 0.1.0\n",
        f"{folder}/values.yaml": "",
        f"{folder}/templates/objects.yaml": text,
    }
    return (
        files if form == "chart" else {**files, f"clusters/prod/{folder}.yaml": APPLICATION.replace("NAME", folder)}
    )


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME}
spec:
  source: {repoURL: "https://github.com/acme/a.git", path: NAME}
  destination: {server: "https://kubernetes.default.svc", namespace: a}
"""
FORMS = ("plain", "overlay", "chart", "application")
MIXES = [*((form, form, form) for form in FORMS), *itertools.permutations(FORMS, 3)]


@pytest.mark.parametrize(("memory", "has_room"), [("700Mi", False), ("100Mi", True)])
@pytest.mark.parametrize("mix", MIXES, ids="-".join)
def test_a_daemonset_takes_room(
    nodelint: Run, tmp_path: Path, mix: tuple[str, str, str], memory: str, has_room: bool
) -> None:
    """Pools, DaemonSet and workload each come in a form of their own. Where `fit` says that the DaemonSet may be for
    another cluster, neither command counts it, and both say that they do not know it.
    """
    texts = {"a": f"{POOL}---\n{nodeclass()}", "b": DAEMON.replace("MEMORY", memory), "c": CACHE}
    for form, (folder, text) in zip(mix, texts.items(), strict=True):
        write_files(tmp_path, {".git/HEAD": "", **_write(form, folder, text)})
    checked = " ".join(nodelint("check").stdout.split())
    found = "[no-pool-for-workload]" in checked
    shown = nodelint("fit", "--workload", "deployment/cache")
    lacks_room = not has_room and "takes no room" not in shown.stderr
    assert (found, "no pool takes it" in shown.stdout) == (lacks_room, lacks_room), shown
    doubt = "runs on these nodes is not known, and no type has room next to it"
    is_open = not has_room and not lacks_room
    assert (doubt in checked, doubt in " ".join(shown.stdout.split())) == (is_open, is_open), shown
    if len(set(mix)) == 1:
        assert lacks_room is not has_room or mix[0] == "chart"
