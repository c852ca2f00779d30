"""What pods can use of each type, under the settings of a class."""

from __future__ import annotations

from typing import Any

import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.resolve.node_size import NodeSizes, sizes_of
from nodelint.model.quantities import ONE, billionths, format_quantity

from .test_resolve import run

CATALOG = Catalog.bundled()
GIB = 1024**3 * ONE


def sizes(alias: str = "al2023@v20250403", karpenter: str = "1.14.1", **spec: Any) -> NodeSizes:
    found = run(version=karpenter, spec={"amiSelectorTerms": [{"alias": alias}], **spec})
    return sizes_of(found.node_class, found.images, found.catalog)


def test_by_default_it_is_what_the_controller_published_for_every_type() -> None:
    found = sizes()
    for name in CATALOG.names:
        published = {resource: billionths(amount) for resource, amount in CATALOG.resources(name).items()}
        left = found.of_type(name).allocatable
        assert {r: left[r] for r in published} == published, name


@pytest.mark.parametrize(
    ("spec", "name", "resource", "amount"),
    [
        ({"kubelet": {"maxPods": 20}}, "m5.large", "pods", "20"),
        ({"kubelet": {"podsPerCore": 4}}, "m5.large", "pods", "8"),
        ({"kubelet": {"systemReserved": {"memory": "1Gi"}}}, "m5.large", "memory", "5879Mi"),
        ({"kubelet": {"kubeReserved": {"memory": "1Gi"}}}, "m5.large", "memory", "6453Mi"),
        ({"kubelet": {"evictionHard": {"memory.available": "500Mi"}}}, "m5.large", "memory", "6503Mi"),
        ({"kubelet": {"kubeReserved": {"cpu": "500m"}}}, "m5.large", "cpu", "1500m"),
        ({"instanceStorePolicy": "RAID0"}, "m5.large", "ephemeral-storage", "17Gi"),
        (
            {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi"}}]},
            "m5.large",
            "ephemeral-storage",
            "89Gi",
        ),
        (
            {"blockDeviceMappings": [{"deviceName": "/dev/xvdb", "ebs": {"volumeSize": "100Gi"}}]},
            "m5.large",
            "ephemeral-storage",
            "17Gi",
        ),
    ],
)
def test_settings_of_the_class_count(spec: dict[str, Any], name: str, resource: str, amount: str) -> None:
    assert sizes(**spec).of_type(name).allocatable[resource] == billionths(amount)


def test_local_disks_of_raid0_are_the_storage() -> None:
    left = sizes(instanceStorePolicy="RAID0").of_type("i4i.large").allocatable["ephemeral-storage"]
    assert left == 468 * 10**9 * ONE - GIB - 46_800_000_000 * ONE


def test_soft_eviction_counts_before_1_9() -> None:
    kubelet = {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}
    old, new = (sizes(karpenter=release, kubelet=kubelet).of_type("m5.large") for release in ("1.8.0", "1.9.0"))
    assert new.allocatable["memory"] - old.allocatable["memory"] == (1024 - 100) * 1024**2 * ONE


@pytest.mark.parametrize(
    ("resource", "amount", "shown"),
    [
        ("cpu", "1930m", "1930m"),
        ("cpu", "2", "2"),
        ("memory", "6903Mi", "6903Mi"),
        ("memory", "8Gi", "8Gi"),
        ("pods", "29", "29"),
    ],
)
def test_amounts_are_shown_as_people_write_them(resource: str, amount: str, shown: str) -> None:
    assert format_quantity(resource, billionths(amount)) == shown
