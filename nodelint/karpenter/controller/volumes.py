"""Volumes of an EC2NodeClass that EC2 refuses: duplicate devices, sizes, and settings that a volume type does not
accept.

The limits are those of the EBS User Guide (`data/volumes.json`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from math import ceil

from nodelint.base.types import Any
from nodelint.data import table
from nodelint.ec2.questions import alias_families, alias_of
from nodelint.karpenter.controller.problem import NO_LAUNCH, Choice, ControllerProblem
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import text
from nodelint.model.messages import short
from nodelint.text import Node
from nodelint.text.missing import items_of

_NO_TEMPLATE = "the controller reads the field without a check and crashes"
_NO_IOPS = ("gp2", "st1", "sc1", "standard")
_GIB = {"Gi": 1.0, "G": 1e9 / 2**30, "Ti": 1024.0, "T": 1e12 / 2**30}


def volumes(obj: EC2NodeClass) -> Iterator[ControllerProblem]:
    """Yield the problems of the class's `blockDeviceMappings`, in the order of the file."""
    devices: set[str] = set()
    for mapping in items_of(obj.node.find("spec", "blockDeviceMappings")):
        node = mapping.get("deviceName")
        name = text(node)
        if node is not None and isinstance(name, str):
            if name in devices:
                yield _unlaunchable(node, f"the device `{short(name)}` is mapped twice", "device-twice")
            devices.add(name)
        ebs = mapping.get("ebs")
        if ebs is not None and ebs.kind == "mapping":
            yield from _ebs(ebs, obj.partial)
            yield from _below_snapshot(obj, name, ebs)
        if mapping.kind == "mapping" and not obj.partial and not obj.document.templated:
            yield from _incomplete(mapping)


def _below_snapshot(obj: EC2NodeClass, device: object, ebs: Node) -> Iterator[ControllerProblem]:
    """Yield a root volume that is smaller than the snapshot of the AWS image that the class's alias selects."""
    alias = alias_of(obj)
    row = alias_families().get(alias.alias.family) if alias is not None else None
    facts = table("volumes")["devices"].get(row["amiFamily"]) if row is not None else None
    node, size = ebs.get("volumeSize"), _gib(ebs)
    if facts is None or node is None or size is None or device != facts["root"] or ebs.get("snapshotID") is not None:
        return
    least = facts.get("snapshotGiB", 0)
    if ceil(size) < least:
        message = f"a volume of `{short(str(node.value))}` is too small for the image, whose snapshot has {least} GiB"
        yield _unlaunchable(node, message, "volume-snapshot", Choice("the size of the snapshot", f"{least}Gi"))


def _incomplete(mapping: Node) -> Iterator[ControllerProblem]:
    """Yield a mapping without `deviceName` or `ebs`. The API server accepts it, and the controller reads the field
    without a check.
    """
    if any(entry.name not in ("deviceName", "ebs", "rootVolume") for entry in mapping.entries):
        return  # the unknown field may be a misspelt one: the schema reports this
    for field in ("deviceName", "ebs"):
        node = mapping.get(field)
        if node is None or (node.kind == "scalar" and node.value is None):
            other = mapping.get("deviceName") or mapping.get("ebs") or mapping
            message = f"the mapping has no `{field}`: Karpenter launches no node with this class"
            yield ControllerProblem(other if node is None else node, message, "mapping", "error", _NO_TEMPLATE)


def _ebs(ebs: Node, partial: bool) -> Iterator[ControllerProblem]:
    node = ebs.get("volumeSize")
    size = text(node)
    if node is not None and size in ("T", "Ti"):
        yield _unlaunchable(node, f"the volume size `{size}` has no number and counts as 0", "volume-size")
    kind = text(ebs.get("volumeType"))
    if not isinstance(kind, str):
        return
    iops, throughput = ebs.key("iops"), ebs.key("throughput")
    if iops is not None and kind in _NO_IOPS:
        yield _unlaunchable(iops, f"a `{kind}` volume does not accept iops", "volume-type", *_to_gp3(ebs))
    if throughput is not None and kind in ("gp2", "io1", "io2", "st1", "sc1", "standard"):
        yield _unlaunchable(
            throughput, f"a `{kind}` volume does not accept throughput: only gp3 does", "volume-type", *_to_gp3(ebs)
        )
    if iops is None and kind in ("io1", "io2") and not partial:
        yield _unlaunchable(
            ebs.get("volumeType") or ebs, f"an `{kind}` volume needs iops", "volume-type", *_to_gp3(ebs)
        )
    limits = table("volumes")["limits"].get(kind)
    if limits is not None:
        yield from _performance(ebs, kind, limits)


def _to_gp3(ebs: Node) -> Iterator[Choice]:
    """Yield gp3 as another volume type if gp3 accepts the written iops and throughput."""
    limits = table("volumes")["limits"]["gp3"]
    for field in ("iops", "throughput"):
        node = ebs.get(field)
        if node is None:
            continue
        least, most = limits[field]
        if not isinstance(node.value, int) or not least <= node.value <= most:
            return
    node = ebs.get("volumeType")
    if node is not None:
        yield Choice("another type", "gp3", node)


def _performance(ebs: Node, kind: str, limits: Mapping[str, Any]) -> Iterator[ControllerProblem]:
    """Yield iops and throughput that are outside the range of a volume type, or too large for the volume's size or
    iops.
    """
    requested: dict[str, int] = {}
    for field, unit in (("iops", "IOPS"), ("throughput", "MiB/s")):
        node = ebs.get(field)
        if node is None or field not in limits or isinstance(node.value, bool) or not isinstance(node.value, int):
            continue
        least, most = limits[field]
        if least <= node.value <= most:
            requested[field] = node.value
            continue
        message = f"a `{kind}` volume has {least:,} to {most:,} {unit}, not {node.value:,}"
        nearest = Choice("the least", least) if node.value < least else Choice("the most", most)
        yield _unlaunchable(node, message, "volume-range", nearest)
    iops, size = ebs.get("iops"), _gib(ebs)
    if iops is not None and "iops" in requested and size is not None:
        most = max(limits["iopsPerGiB"] * size, limits["iops"][0])
        if requested["iops"] > most:
            message = f"a `{kind}` volume of {size:,.4g} GiB has at most {most:,.0f} IOPS, not {requested['iops']:,}"
            larger = f"{math.ceil(requested['iops'] / limits['iopsPerGiB'])}Gi"
            ways = (
                Choice("the most for this size", int(most)),
                Choice("a larger volume", larger, ebs.get("volumeSize")),
            )
            yield _unlaunchable(iops, message, "volume-range", *ways)
    throughput = ebs.get("throughput")
    if throughput is not None and "throughput" in requested and (iops is None or "iops" in requested):
        have = requested.get("iops", limits["iops"][0])
        most = limits["throughputPerIops"] * have
        if requested["throughput"] > most:
            message = (
                f"a `{kind}` volume with {have:,} IOPS has at most {most:,.0f} MiB/s, not {requested['throughput']:,}"
            )
            choices = [Choice("the most for these IOPS", int(most))]
            if iops is not None:
                enough = math.ceil(requested["throughput"] / limits["throughputPerIops"])
                choices.append(Choice("more IOPS", enough, iops))
            yield _unlaunchable(throughput, message, "volume-range", *choices)


def _gib(ebs: Node) -> float | None:
    """Return the volume's size in GiB, as EC2 gets it. None if it is not known."""
    size = text(ebs.get("volumeSize"))
    found = re.fullmatch(r"(\d+)(Gi|G|Ti|T)", size) if isinstance(size, str) else None
    return None if found is None else int(found[1]) * _GIB[found[2]]


def _unlaunchable(node: Node, message: str, kind: str, *choices: Choice) -> ControllerProblem:
    return ControllerProblem(node, message, kind, "error", NO_LAUNCH, choices=choices)
