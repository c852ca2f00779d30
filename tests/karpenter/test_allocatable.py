"""Types on which family, kubelet settings and volumes leave nothing for pods: Karpenter never launches them."""

from __future__ import annotations

from typing import Any

import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_set import NONE
from nodelint.model.quantities import billionths
from tests.karpenter.test_resolve import Resolution, run

CATALOG = Catalog.bundled()
K = "karpenter.k8s.aws/"
ROOT = {"deviceName": "/dev/xvda"}


def lost(alias: str = "al2023@latest", pool: dict[str, Any] | None = None, **spec: Any) -> set[str]:
    """The types that a class loses besides those that its family does not boot."""
    found = run(spec={"amiSelectorTerms": [{"alias": alias}], **spec}, pool=pool)
    plain = run(spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]})
    return set(CATALOG.names_in(plain.alive - found.alive))


def published(name: str, resource: str) -> int:
    return billionths(CATALOG.resources.amounts(name).get(resource, "0"))


MICRO = {"t1.micro", "t2.micro", "t2.nano", "t3.micro", "t3.nano", "t3a.micro", "t3a.nano", "t4g.micro", "t4g.nano"}


def test_defaults_leave_something_on_every_type_but_windows_needs_more_than_the_smallest_have() -> None:
    assert not lost()
    assert not lost("bottlerocket@latest")
    assert lost("windows2022@latest") == MICRO


@pytest.mark.parametrize("memory", ["300Mi", "2Gi", "64Gi"])
def test_kube_reserved_takes_the_place_of_what_the_kubelet_keeps_by_itself(memory: str) -> None:
    # The published page takes off 255 MiB and 11 MiB for each pod address; the setting counts instead.
    expected = {
        name
        for name in CATALOG
        if published(name, "memory") + (255 + 11 * int(CATALOG.resources.amounts(name)["pods"])) * billionths("1Mi")
        < billionths(memory)
    }
    assert lost(kubelet={"kubeReserved": {"memory": memory}}) == expected - set(CATALOG.names_in(of_family("a1")))


def of_family(family: str) -> int:
    return CATALOG.values(K + "instance-family")[family]


def test_system_reserved_and_eviction_are_taken_off_besides() -> None:
    assert lost(kubelet={"systemReserved": {"memory": "1Gi"}}) == {
        name for name in CATALOG if published(name, "memory") < billionths("1Gi") and not name.startswith("a1.")
    }
    # Without its own memory an eviction threshold of 60 % leaves nothing of the smallest.
    assert lost(kubelet={"evictionHard": {"memory.available": "60%"}}) == {
        *("t1.micro", "t2.nano", "t3.nano", "t3a.nano", "t4g.nano")
    }
    assert not lost(kubelet={"evictionHard": {"memory.available": "100%"}})


def test_max_pods_counts_for_memory_where_the_family_reckons_by_pods() -> None:
    assert not lost(kubelet={"maxPods": 110})
    assert lost("bottlerocket@latest", kubelet={"maxPods": 110}) == MICRO
    assert not lost("windows2022@latest", kubelet={"maxPods": 8, "kubeReserved": {"memory": "100Mi"}}) & {"t3.micro"}
    # podsPerCore lowers it on Windows, and not on Bottlerocket.
    assert lost("windows2022@latest", kubelet={"podsPerCore": 10}) < MICRO
    assert lost("bottlerocket@latest", kubelet={"maxPods": 110, "podsPerCore": 1}) == MICRO


HALF = {"memory.available": "50%", "nodefs.available": "96%"}


@pytest.mark.parametrize(
    ("alias", "kubelet", "like"),
    [
        # Before 1.9.0 the greater of both counts; Bottlerocket has no soft thresholds.
        ("al2023@latest", {"evictionSoft": HALF}, {"evictionHard": HALF}),
        ("windows2022@latest", {"evictionSoft": HALF}, {"evictionHard": HALF}),
        ("al2023@latest", {"evictionSoft": HALF, "evictionHard": {"memory.available": "1%"}}, {"evictionHard": HALF}),
        (
            "al2023@latest",
            {"evictionSoft": {"memory.available": "50Mi"}, "evictionHard": {"memory.available": "2Gi"}},
            {"evictionHard": {"memory.available": "2Gi"}},
        ),
        ("bottlerocket@latest", {"evictionSoft": HALF}, {}),
    ],
)
def test_soft_eviction_counts_before_1_9(alias: str, kubelet: dict[str, Any], like: dict[str, Any]) -> None:
    def alive(version: str, settings: dict[str, Any]) -> set[str]:
        found = run(spec={"amiSelectorTerms": [{"alias": alias}], "kubelet": settings}, version=version)
        return set(found.catalog.names_in(found.alive))

    for version in ("1.0.0", "1.8.6"):
        assert alive(version, kubelet) == alive(version, like)
    without = {key: value for key, value in kubelet.items() if key != "evictionSoft"}
    assert alive("1.9.0", kubelet) == alive("1.9.0", without)


def test_an_interface_for_efa_only_has_no_addresses_for_pods() -> None:
    # Where the kubelet keeps memory by pods, a card less keeps less: the type stays.
    efa = {"networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"}]}
    reserved = {"kubelet": {"systemReserved": {"memory": "112721Mi"}}}
    both = lost(**efa, **reserved)
    assert "c6gn.16xlarge" in lost(**reserved)
    assert "c6gn.16xlarge" not in both
    # How many addresses c9g has is published for no interface: nothing is taken away by what cannot be known.
    assert CATALOG.resources.network("c9g.48xlarge") is None
    assert "c9g.48xlarge" not in both
    # That a smaller one has no EFA interface is.
    assert CATALOG.resources.network("c9g.16xlarge") is None
    assert "c9g.16xlarge" in both


def test_reserved_cpus() -> None:
    first = set(CATALOG.names_in(CATALOG.values(K + "instance-cpu")["1"] - of_family("a1")))
    assert lost(kubelet={"systemReserved": {"cpu": "950m"}}) == first
    assert not lost(kubelet={"systemReserved": {"cpu": "940m"}})
    assert lost(kubelet={"kubeReserved": {"cpu": "500m"}, "systemReserved": {"cpu": "501m"}}) == first


def test_no_pod_no_node_unless_the_pool_is_static() -> None:
    assert len(lost(kubelet={"maxPods": 0})) == len(CATALOG) - 6
    assert not lost(kubelet={"maxPods": 0}, pool={"replicas": 1})


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ({"blockDeviceMappings": [{**ROOT, "ebs": {"volumeSize": "1Gi"}}]}, "all"),
        ({"blockDeviceMappings": [{**ROOT, "ebs": {"volumeSize": "2Gi"}}]}, "none"),
        ({"blockDeviceMappings": [{**ROOT, "ebs": {"volumeSize": "{{ .size }}"}}]}, "none"),
        ({"blockDeviceMappings": [{"deviceName": "/dev/xvdz", "ebs": {"volumeSize": "1Gi"}}]}, "none"),
        (
            {"blockDeviceMappings": [{"deviceName": "/dev/z", "rootVolume": True, "ebs": {"volumeSize": "1Gi"}}]},
            "all",
        ),
        ({"kubelet": {"kubeReserved": {"ephemeral-storage": "19Gi"}}}, "all"),
        ({"kubelet": {"kubeReserved": {"ephemeral-storage": "${RESERVED}"}}}, "none"),
        (
            {
                "kubelet": {"kubeReserved": {"ephemeral-storage": "19Gi"}},
                "blockDeviceMappings": [{**ROOT, "ebs": {"volumeSize": "100Gi"}}],
            },
            "none",
        ),
        ({"kubelet": {"evictionHard": {"nodefs.available": "96%"}}}, "all"),
        (
            {"instanceStorePolicy": "RAID0", "blockDeviceMappings": [{**ROOT, "ebs": {"volumeSize": "1Gi"}}]},
            "diskless",
        ),
    ],
)
def test_storage(spec: dict[str, Any], count: str) -> None:
    with_disks = CATALOG.having(K + "instance-local-nvme")
    expected = {"all": CATALOG.all_types, "none": NONE, "diskless": CATALOG.all_types - with_disks}[
        count
    ] - of_family("a1")
    assert lost(**spec) == set(CATALOG.names_in(expected))


def test_bottlerocket_keeps_pods_on_its_second_volume_and_custom_on_the_last() -> None:
    def sizes(*pairs: tuple[str, str]) -> dict[str, Any]:
        return {"blockDeviceMappings": [{"deviceName": name, "ebs": {"volumeSize": size}} for name, size in pairs]}

    assert not lost("bottlerocket@latest", **sizes(("/dev/xvda", "1Gi")))
    assert lost("bottlerocket@latest", **sizes(("/dev/xvda", "4Gi"), ("/dev/xvdb", "1Gi")))
    custom = {"amiFamily": "Custom", "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}]}

    def left(*pairs: tuple[str, str]) -> Resolution:
        return run(spec={**custom, **sizes(*pairs)})

    assert left(("/dev/xvda", "1Gi"), ("/dev/xvdb", "20Gi")).alive
    assert not left(("/dev/xvda", "20Gi"), ("/dev/xvdb", "1Gi")).alive


def test_the_reason_is_told_in_the_funnel() -> None:
    found = run(spec={"amiSelectorTerms": [{"alias": "windows2022@latest"}]})
    assert [reason for _, reason in found.class_removed] == ["kubelet, system and eviction take all memory"]
