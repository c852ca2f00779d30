"""What pods can use of each type, under the settings of a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.resolve.capacity import NodeCapacity
from nodelint.karpenter.resolve.node_size import NodeSizes, sizes_of
from nodelint.model.quantities import ONE, billionths, format_quantity
from tests.karpenter.test_resolve import run

CATALOG = Catalog.bundled()
GIB = 1024**3 * ONE


def sizes(alias: str = "al2023@v20250403", karpenter: str = "1.14.1", **spec: Any) -> NodeSizes:
    found = run(version=karpenter, spec={"amiSelectorTerms": [{"alias": alias}], **spec})
    return sizes_of(found.node_class, found.images, found.catalog)


def test_by_default_it_is_what_the_controller_published_for_every_type() -> None:
    found = sizes()
    for name in CATALOG.names:
        published = {resource: billionths(amount) for resource, amount in CATALOG.resources.amounts(name).items()}
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


SIZES: dict[str, Callable[[], NodeSizes]] = {
    "no class": lambda: NodeSizes(None, run().images, CATALOG),
    "usual": sizes,
    "settings": lambda: sizes(kubelet={"maxPods": 20, "evictionHard": {"memory.available": "5%"}}),
    "pods by CPUs": lambda: sizes(kubelet={"podsPerCore": 4}),
    "all kept": lambda: sizes(kubelet={"kubeReserved": {"memory": "4Gi"}}),
    "local disks": lambda: sizes(instanceStorePolicy="RAID0"),
    "EFA": lambda: sizes(networkInterfaces=[{"networkCardIndex": 0, "interfaceType": "efa-only"}]),
    "Windows": lambda: sizes("windows2022@v1.0.0"),
    "overlays": lambda: sizes().with_overlays({"m5.large": {"hugepages-2Mi": "2Gi", "a.b/c": "2"}}, True),
    "overlays that may be off": lambda: sizes().with_overlays({"m5.large": {"cpu": "64", "a.b/c": "2"}}, False),
}
REQUESTS: list[dict[str, int]] = [
    {},
    {"cpu": 0, "absent": 0},
    {"absent": 1},
    {"pods": 9 * ONE, "memory": 5 * GIB},
    {"cpu": 60 * ONE, "ephemeral-storage": 30 * GIB},
    {"a.b/c": ONE},
    {"vpc.amazonaws.com/efa": ONE},
    {"vpc.amazonaws.com/PrivateIPv4Address": 9 * ONE},
    {"memory": 1 << 90},
]


@pytest.mark.parametrize("name", SIZES)
def test_what_is_said_of_all_types_is_what_is_said_of_each(name: str) -> None:
    found = SIZES[name]()
    of_each = {name: found.of_type(name) for name in CATALOG.names}
    for requests in REQUESTS:
        holding = {name for name, size in of_each.items() if size.holds(requests)}
        assert {*CATALOG.names_in(found.room_for(requests))} == holding
        within = {
            name
            for name, size in of_each.items()
            if all((size.capacity.get(r, 0) or 0) <= most for r, most in requests.items())
        }
        assert {*CATALOG.names_in(found.within(requests, CATALOG.all_types))} == within


def test_types_that_are_alike_are_sized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    amount = NodeCapacity.amount

    def note(capacity: NodeCapacity, resource: str, name: str) -> int | None:
        names.append(name)
        return amount(capacity, resource, name)

    monkeypatch.setattr(NodeCapacity, "amount", note)
    resolution = run(spec={"amiSelectorTerms": [{"alias": "al2023@v20250403"}]})
    found = NodeSizes(resolution.node_class, resolution.images, CATALOG)
    for most in range(1, 40):
        assert found.within({"cpu": 4 * most * ONE}, CATALOG.all_types) != found.room_for({"memory": most * GIB})
    assert 0 < len(names) < len(CATALOG.names)


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
