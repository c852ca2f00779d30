"""Convert EC2's description of an instance type to the labels and resources that Karpenter gives it.

Follows the controller at 1.14.1: `computeRequirements` and `computeCapacity` of the provider's
pkg/providers/instancetype/types.go, and the overhead that the published instance type page subtracts: family AL2023,
no block device mappings, no kubelet settings, 7.5 % of memory for the hypervisor. Two facts are not in EC2's answers
but in tables compiled into the controller: network bandwidth, and which types can have branch interfaces. These
facts, and prices, come from the catalogue, and for other types from `data/tables.json`. A type in neither has no
bandwidth label and no branch interfaces, as in the controller; its prices are unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodelint.ec2 import overhead
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.snapshot import Change, Network, Row
from nodelint.ec2.type_names import tables_alone
from nodelint.model.keys import (
    ACCELERATOR_COUNT,
    ARCH,
    FAMILY,
    FLEX,
    GPU_COUNT,
    HYPERVISOR,
    INSTANCE_TYPE,
    OS,
    POD_ENI,
    SIZE,
)
from nodelint.model.releases import Version

TYPES_QUERY: Mapping[str, Any] = {
    "Filters": [
        {"Name": "supported-virtualization-type", "Values": ["hvm"]},
        {"Name": "processor-info.supported-architecture", "Values": ["x86_64", "arm64"]},
    ],
    "MaxResults": 100,
}
"""The arguments of the controller's call of DescribeInstanceTypes, in every release. 100 is the largest page of
EC2.
"""

OFFERINGS_QUERY: Mapping[str, Any] = {"LocationType": "availability-zone", "MaxResults": 1000}
"""The arguments of the controller's call of DescribeInstanceTypeOfferings (before 1.1.0 without a page size)."""

_ACCELERATOR_MANUFACTURER = "karpenter.k8s.aws/instance-accelerator-manufacturer"
_ACCELERATOR_NAME = "karpenter.k8s.aws/instance-accelerator-name"
_BANDWIDTH = "karpenter.k8s.aws/instance-network-bandwidth"
_CATEGORY = "karpenter.k8s.aws/instance-category"
_CLOCK = "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz"
_CPU = "karpenter.k8s.aws/instance-cpu"
_CPU_MANUFACTURER = "karpenter.k8s.aws/instance-cpu-manufacturer"
_EBS_BANDWIDTH = "karpenter.k8s.aws/instance-ebs-bandwidth"
_ENCRYPTION = "karpenter.k8s.aws/instance-encryption-in-transit-supported"
_GENERATION = "karpenter.k8s.aws/instance-generation"
_GPU_MANUFACTURER = "karpenter.k8s.aws/instance-gpu-manufacturer"
_GPU_MEMORY = "karpenter.k8s.aws/instance-gpu-memory"
_GPU_NAME = "karpenter.k8s.aws/instance-gpu-name"
_LOCAL_NVME = "karpenter.k8s.aws/instance-local-nvme"
_MEMORY = "karpenter.k8s.aws/instance-memory"

LABELS: tuple[str, ...] = (
    ACCELERATOR_COUNT,
    _ACCELERATOR_MANUFACTURER,
    _ACCELERATOR_NAME,
    FLEX,
    _CATEGORY,
    _CPU,
    _CPU_MANUFACTURER,
    _CLOCK,
    _EBS_BANDWIDTH,
    _ENCRYPTION,
    FAMILY,
    _GENERATION,
    GPU_COUNT,
    _GPU_MANUFACTURER,
    _GPU_MEMORY,
    _GPU_NAME,
    HYPERVISOR,
    _LOCAL_NVME,
    _MEMORY,
    _BANDWIDTH,
    SIZE,
    ARCH,
    OS,
    INSTANCE_TYPE,
)
"""The label keys of a row's label values, sorted: those of the bundled catalogue."""

_DEVICES = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Habana": "habana.ai/gaudi"}
_EFA = "vpc.amazonaws.com/efa"
_NEURON = "aws.amazon.com/neuron"
_NEURON_CORE = "aws.amazon.com/neuroncore"

RESOURCES: tuple[str, ...] = tuple(
    sorted((*_DEVICES.values(), _EFA, _NEURON, _NEURON_CORE, POD_ENI, "cpu", "ephemeral-storage", "memory", "pods"))
)
"""The resource names of a row's quantities. The bundled catalogue has no Gaudi: no type of its source has one."""

PRICED: tuple[str, ...] = ("us-east-1", "us-gov-east-1", "us-gov-west-1")
"""The regions of a row's prices: those with a price table in the controller."""

_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}
_NAME = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)")
_SCHEME = re.compile(r"([a-z]+)(?:-[0-9]+tb)?([0-9]+)")
"""The category and the generation in a family's name. `mac-m4` has neither; `u-6tb1` has category u and
generation 1.
"""

_EPHEMERAL_STORAGE = "17Gi"
"""A root volume of 20 GiB without 1 GiB for the kubelet and the tenth below which pods are evicted."""

_NEURON_LABELS = Version(1, 1, 0)
"""From this release on accelerator labels come from NeuronInfo. Before, every Inferentia and every type whose
name starts with `trn1` was `inferentia`, and newer Trainium had no label."""


def row(info: Mapping[str, Any], known: Catalog) -> Row | None:
    """Return the row of an instance type for a snapshot, as the newest release sees the type. `info` is an item of
    `InstanceTypes` in boto3's answer.

    The columns are LABELS, RESOURCES and PRICED; `changes` has the values of older releases. `known` is the catalogue
    as the newest release sees it. None for a type that the controller does not request (`TYPES_QUERY`): Macs, types
    with only i386, paravirtual ones. A missing part of EC2's answer is read as in the controller: the hypervisor is
    empty, the clock speed 0 MHz. Raise ValueError, naming type and field, for a field of the wrong type, and for a
    missing field without which the controller would crash.
    """
    name = info.get("InstanceType")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"`{name}` is not a name of an instance type")
    try:
        return _row(name, info, known)
    except ValueError as error:
        raise ValueError(f"`{name}`: {error}") from error


def usage(info: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the capacity types as which an instance type is offered: `on-demand`, `spot`.

    Empty for a type that is only offered in capacity blocks: a capacity reservation of the class makes it `reserved`,
    which is no property of the type. Raise ValueError for a field of the wrong type.
    """
    classes = _texts(info, "SupportedUsageClasses")
    return tuple(kind for kind in ("on-demand", "spot") if kind in classes)


def changes(names: Iterable[str], known: Catalog) -> tuple[Change, ...]:
    """Return the label values of some types that differed before a Karpenter release, for a snapshot with rows of
    these types.

    For a Neuron type that the catalogue lacks, the labels before 1.1.0 follow from its name, as in Karpenter. A type
    that is neither in the catalogue nor in `data/tables.json` had no bandwidth label in any release.
    """
    wanted = set(names)
    found = []
    for change in (
        *known.snapshot.changes,
        *tables_alone().snapshot.changes,
        *_neuron_changes(n for n in wanted if n not in known),
    ):
        values = {name: value for name, value in change.values.items() if name in wanted}
        if values:
            found.append(change._replace(values=values))
    return tuple(found)


def _row(name: str, info: Mapping[str, Any], known: Catalog) -> Row | None:
    architectures = _texts(info, "ProcessorInfo", "SupportedArchitectures")
    arch = next(
        (_ARCHITECTURES[architecture] for architecture in architectures if architecture in _ARCHITECTURES), None
    )
    if arch is None or "hvm" not in _texts(info, "SupportedVirtualizationTypes"):
        return None
    tables = known if name in known else tables_alone()
    limits = tables.resources.network(name)
    network = _network(info, limits)
    labels = {
        INSTANCE_TYPE: name,
        ARCH: arch,
        OS: "linux",
        _BANDWIDTH: tables.label(name, _BANDWIDTH),
        **_name_labels(name),
        **_machine_labels(info),
        **_device_labels(info),
    }
    cpus = _needed(info, "VCpuInfo", "DefaultVCpus")
    pods = _pods(info)
    memory = overhead.memory(_needed(info, "MemoryInfo", "SizeInMiB"), architectures[0] == "arm64")
    counts = {
        "pods": pods,
        _EFA: _whole(info, "NetworkInfo", "EfaInfo", "MaximumEfaInterfaces") or 0,
        POD_ENI: limits.branches if limits is not None and limits.trunking else 0,
        **_devices(info),
    }
    quantities = {
        "cpu": _decimal(1000 * cpus - overhead.cpu_reserved(1000 * cpus)),
        "memory": _binary(memory - overhead.memory_reserved(pods) - overhead.EVICTION_MEMORY),
        "ephemeral-storage": _EPHEMERAL_STORAGE,
        **{resource: _decimal(1000 * count) for resource, count in counts.items()},
    }
    # An amount of 0 is left out, as on the documentation page: the type does not have the resource.
    resources = {resource: quantity for resource, quantity in quantities.items() if quantity != "0"}
    return (
        name,
        [labels.get(label) for label in LABELS],
        [resources.get(resource) for resource in RESOURCES],
        network,
        [tables.prices.on_demand(name, region) for region in PRICED],
    )


def _name_labels(name: str) -> dict[str, str]:
    family, size = name.split(".")
    labels = {FAMILY: family, SIZE: size, FLEX: "true" if "-flex" in family else "false"}
    scheme = _SCHEME.match(family)
    return {**labels, _CATEGORY: scheme[1], _GENERATION: scheme[2]} if scheme else labels


def _machine_labels(info: Mapping[str, Any]) -> dict[str, str | None]:
    labels: dict[str, str | None] = {
        _CPU: str(_needed(info, "VCpuInfo", "DefaultVCpus")),
        _CPU_MANUFACTURER: _kebab(_text(info, "ProcessorInfo", "Manufacturer")),
        _CLOCK: str(_megahertz(info)),
        _MEMORY: str(_needed(info, "MemoryInfo", "SizeInMiB")),
        HYPERVISOR: _text(info, "Hypervisor"),
        _ENCRYPTION: "true" if _flag(info, "NetworkInfo", "EncryptionInTransitSupported") else "false",
    }
    disks = _whole(info, "InstanceStorageInfo", "TotalSizeInGB")
    if disks is not None and _text(info, "InstanceStorageInfo", "NvmeSupport") != "unsupported":
        labels[_LOCAL_NVME] = str(disks)
    ebs = _part(info, "EbsInfo", "EbsOptimizedInfo")
    if ebs is not None and _text(info, "EbsInfo", "EbsOptimizedSupport") == "default":
        labels[_EBS_BANDWIDTH] = str(_whole(ebs, "MaximumBandwidthInMbps") or 0)
    return labels


def _device_labels(info: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of GPUs and accelerators. A type with two kinds of GPU, or of accelerator, has no such
    label.
    """
    labels = {}
    gpus = _items(info, "GpuInfo", "Gpus")
    if len(gpus) == 1:
        labels[_GPU_NAME] = _kebab(_text(gpus[0], "Name"))
        labels[_GPU_MANUFACTURER] = _kebab(_maker(gpus[0]))
        labels[GPU_COUNT] = str(_needed(gpus[0], "Count"))
        labels[_GPU_MEMORY] = str(_needed(gpus[0], "MemoryInfo", "SizeInMiB"))
    neuron = _part(info, "NeuronInfo")
    path = ("InferenceAcceleratorInfo", "Accelerators") if neuron is None else ("NeuronInfo", "NeuronDevices")
    accelerators = _items(info, *path)
    if len(accelerators) == 1:
        maker = _text(accelerators[0], "Manufacturer") if neuron is None else "aws"
        labels[_ACCELERATOR_NAME] = _kebab(_text(accelerators[0], "Name"))
        labels[_ACCELERATOR_MANUFACTURER] = _kebab(maker)
        labels[ACCELERATOR_COUNT] = str(_whole(accelerators[0], "Count") or 0)
    return labels


def _devices(info: Mapping[str, Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for gpu in _items(info, "GpuInfo", "Gpus"):
        resource = _DEVICES.get(_maker(gpu))
        if resource is not None:
            counts[resource] = counts.get(resource, 0) + _needed(gpu, "Count")
    if _part(info, "NeuronInfo") is not None:
        devices = _items(info, "NeuronInfo", "NeuronDevices")
        if not devices:
            raise ValueError("no `NeuronInfo.NeuronDevices`")
        counts[_NEURON] = sum(_needed(device, "Count") for device in devices)
        # The controller counts the cores of the first kind alone.
        counts[_NEURON_CORE] = _needed(devices[0], "Count") * _needed(devices[0], "CoreInfo", "Count")
    return counts


def _maker(gpu: Mapping[str, Any]) -> str:
    maker = _text(gpu, "Manufacturer")
    if not maker:
        raise ValueError("a GPU without `Manufacturer`")
    return maker


def _network(info: Mapping[str, Any], limits: Network | None) -> list[Any] | None:
    """Return the VPC limits: the counts of EC2's answer, and the branch interfaces of the controller's table.

    None if EC2 does not state the number of interfaces, or numbers the network cards differently from 0, 1, 2.
    """
    cards = _items(info, "NetworkInfo", "NetworkCards")
    counts = {_whole(card, "NetworkCardIndex"): _whole(card, "MaximumNetworkInterfaces") or 0 for card in cards}
    interfaces = _whole(info, "NetworkInfo", "MaximumNetworkInterfaces")
    if set(counts) != set(range(len(cards))) or interfaces is None:
        return None
    return [
        interfaces,
        _needed(info, "NetworkInfo", "Ipv4AddressesPerInterface"),
        limits is not None and limits.trunking,
        0 if limits is None else limits.branches,
        [counts[index] for index in range(len(cards))],
    ]


def _pods(info: Mapping[str, Any]) -> int:
    """Return the default number of pods of a type: those for which the VPC CNI has addresses on the default network
    card.
    """
    cards = _items(info, "NetworkInfo", "NetworkCards")
    index = _needed(info, "NetworkInfo", "DefaultNetworkCardIndex")
    if index >= len(cards):
        raise ValueError(f"no network card `{index}`")
    interfaces = _needed(cards[index], "MaximumNetworkInterfaces")
    return interfaces * (_needed(info, "NetworkInfo", "Ipv4AddressesPerInterface") - 1) + 2 if interfaces else 0


def _megahertz(info: Mapping[str, Any]) -> int:
    path = ("ProcessorInfo", "SustainedClockSpeedInGhz")
    speed = _value(info, *path)
    if speed is None:
        return 0
    if isinstance(speed, bool) or not isinstance(speed, int | float) or not 0 <= speed < 1000:
        raise _wrong(path, speed, "clock speed in GHz")
    return math.floor(speed * 1000 + 0.5)


def _decimal(milli: int) -> str:
    """Return a quantity as Kubernetes prints it. `milli` is in thousandths."""
    return _quantity(milli, 1000, ("m", "", "k", "M", "G"))


def _binary(count: int) -> str:
    """Return a quantity as Kubernetes prints it in powers of 1024, or without a suffix if 1024 does not divide it."""
    return _quantity(count, 1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi"))


def _quantity(number: int, base: int, suffixes: Sequence[str]) -> str:
    step = 0
    while number and number % base == 0 and step < len(suffixes) - 1:
        number //= base
        step += 1
    return f"{number}{suffixes[step]}" if number else "0"


def _kebab(text: str) -> str:
    return text.replace(" ", "-").lower()


def _neuron_changes(names: Iterable[str]) -> list[Change]:
    """Return the accelerator labels of Neuron types before Karpenter 1.1.0, derived from the type names."""
    neuron = sorted(name for name in names if name.startswith(("inf", "trn")))
    nameless = [name for name in neuron if name.startswith("trn") and not name.startswith("trn1")]
    older: dict[str, str | None] = {n: None if n in nameless else "inferentia" for n in neuron}
    lost: dict[str, str | None] = dict.fromkeys(nameless)
    return [
        Change(_NEURON_LABELS, _ACCELERATOR_NAME, older),
        Change(_NEURON_LABELS, _ACCELERATOR_MANUFACTURER, lost),
        Change(_NEURON_LABELS, ACCELERATOR_COUNT, lost),
    ]


def _value(info: Mapping[str, Any], *path: str) -> Any:
    """Return the value at a path. None if the path ends early. Raise ValueError if a step is not a mapping."""
    value: Any = info
    for index, key in enumerate(path):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise _wrong(path[:index], value, "part of an answer")
        value = value.get(key)
    return value


def _part(info: Mapping[str, Any], *path: str) -> Mapping[str, Any] | None:
    value = _value(info, *path)
    if value is not None and not isinstance(value, Mapping):
        raise _wrong(path, value, "part of an answer")
    return value


def _items(info: Mapping[str, Any], *path: str) -> Sequence[Mapping[str, Any]]:
    value = _value(info, *path)
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
        raise _wrong(path, value, "list of parts")
    return value


def _texts(info: Mapping[str, Any], *path: str) -> Sequence[str]:
    value = _value(info, *path)
    if value is None:
        return ()
    # A blank word would be an architecture or a capacity type that nobody sells.
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item.strip() for item in value):
        raise _wrong(path, value, "list of texts")
    return value


def _text(info: Mapping[str, Any], *path: str) -> str:
    value = _value(info, *path)
    if value is not None and not isinstance(value, str):
        raise _wrong(path, value, "text")
    return value or ""


def _flag(info: Mapping[str, Any], *path: str) -> bool:
    value = _value(info, *path)
    if value is not None and not isinstance(value, bool):
        raise _wrong(path, value, "truth value")
    return value is True


def _whole(info: Mapping[str, Any], *path: str) -> int | None:
    value = _value(info, *path)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise _wrong(path, value, "count")
    return value


def _needed(info: Mapping[str, Any], *path: str) -> int:
    value = _whole(info, *path)
    if value is None:
        raise ValueError(f"no `{'.'.join(path)}`")
    return value


def _wrong(path: Sequence[str], value: object, wanted: str) -> ValueError:
    return ValueError(f"`{'.'.join(path)}` is `{value!r:.40}`, no {wanted}")
