"""The help of `fit` names the pool that is meant for the pods and costs least, never a pool for devices
that the pods do not ask for.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

TYPE = "key: node.kubernetes.io/instance-type, operator: In, values: "
GENERAL = nodepool(f"{TYPE}[m6i.large, m6i.2xlarge]", name="general")
GPU = nodepool(
    "key: karpenter.k8s.aws/instance-family, operator: In, values: [g5, g6]",
    name="gpu",
    labels="{example.com/pool: gpu}",
    template="      taints: [{key: nvidia.com/gpu, value: 'true', effect: NoSchedule}]\n",
)
BATCH = nodepool(
    f"{TYPE}[m6i.8xlarge]",
    name="batch",
    template="      taints: [{key: example.com/batch, value: 'true', effect: NoSchedule}]\n",
)
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: cache}
spec:
  containers: [{name: c, image: x, resources: {requests: {cpu: "2", memory: 50Gi}}}]
"""
OTHER_DEVICES = {
    "neuron": GPU.replace("g5, g6", "inf2").replace("nvidia.com/gpu", "aws.amazon.com/neuron"),
    "no taint of the device": GPU.replace("key: nvidia.com/gpu", "key: example.com/ml"),
    "a taint of the device": GPU.replace("g5, g6", "g5, m6i"),
}


def _help(nodelint: Run, folder: Path, *objects: str) -> str:
    write_files(folder, {"a.yaml": "---\n".join([*objects, nodeclass()])})
    shown = " ".join(nodelint("fit").stdout.split())
    return shown.partition("help: ")[2]


@pytest.mark.parametrize("devices", [GPU, *OTHER_DEVICES.values()], ids=["nvidia", *OTHER_DEVICES])
def test_pods_without_devices_are_not_sent_to_devices(nodelint: Run, tmp_path: Path, devices: str) -> None:
    text = _help(nodelint, tmp_path, GENERAL, devices, POD)
    assert text.startswith("add a type that holds it, such as `m6i.4xlarge`") and "tolerate" not in text
    text = _help(nodelint, tmp_path, devices, POD)
    assert "tolerate" not in text


@pytest.mark.parametrize(
    "own",
    [
        "  nodeSelector: {karpenter.sh/nodepool: gpu}\n",
        "  nodeSelector: {example.com/pool: gpu}\n",
        "  nodeSelector: {karpenter.k8s.aws/instance-gpu-name: a10g}\n",
        "  tolerations: [{key: nvidia.com/gpu, operator: Equal, value: 'yes', effect: NoSchedule}]\n",
    ],
)
def test_pods_that_are_for_the_devices_are_sent_there(nodelint: Run, tmp_path: Path, own: str) -> None:
    assert "tolerate `nvidia.com/gpu=true:NoSchedule`" in _help(nodelint, tmp_path, GENERAL, GPU, POD + own)


def test_the_pool_without_a_foreign_taint_comes_first(nodelint: Run, tmp_path: Path) -> None:
    text = _help(nodelint, tmp_path, BATCH, GENERAL, POD)
    assert text.startswith("add a type that holds it, such as `m6i.4xlarge`")
    assert "tolerate `example.com/batch=true:NoSchedule`, and pool `batch` takes it" in text
    tolerating = "  tolerations: [{key: example.com/batch, operator: Equal, value: 'yes'}]\n"
    assert _help(nodelint, tmp_path, BATCH, GENERAL, POD + tolerating).startswith("tolerate `example.com/batch")
