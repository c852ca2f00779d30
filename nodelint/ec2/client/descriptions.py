"""Convert EC2's descriptions to records: images, subnets, security groups, reservations and placement groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.snapshot import CapacityReservation, MachineImage, PlacementGroup, SecurityGroup, Subnet
from nodelint.model.fact_kinds import FactKind


class OwnedRecord(NamedTuple):
    """A record, and the account that owns it. The account is empty if the description names no owner."""

    record: Any
    account: str = ""


_ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}


def _image(item: Mapping[str, Any]) -> OwnedRecord:
    account = item.get("OwnerId", "")
    platform, architecture = item.get("Platform"), item.get("Architecture", "")
    record = MachineImage(
        item["ImageId"],
        item.get("Name", ""),
        _ARCHITECTURES.get(architecture, architecture),
        item["State"],
        _second(item.get("CreationDate") or _NEVER),
        item.get("ImageOwnerAlias") or account,
        _second(item["DeprecationTime"]) if item.get("DeprecationTime") else None,
        bool(item.get("Public")),
        platform.lower() if platform else None,
    )
    return OwnedRecord(record, account)


_NEVER = "1970-01-01T00:00:00Z"
"""The creation time of an image for which EC2 states none. The controller treats such an image as the oldest."""


def _second(text: str) -> str:
    """Return a time of EC2 to the second, as the controller compares times. Raise ValueError if the text is not a
    time.
    """
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z", text)
    if match is None:
        raise ValueError(f"`{text}` is not a time")
    datetime.fromisoformat(match[1])  # a month that is not one would make a snapshot that nobody can read
    return match[1] + "Z"


def _tags(item: Mapping[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag.get("Value", "") for tag in item.get("Tags", ())}


def _subnet(item: Mapping[str, Any]) -> OwnedRecord:
    zone, zone_id = item["AvailabilityZone"], item.get("AvailabilityZoneId", "")
    free, name = item["AvailableIpAddressCount"], _tags(item).get("Name")
    return OwnedRecord(Subnet(item["SubnetId"], zone, zone_id, item.get("VpcId", ""), free, name))


_CLUSTER = "kubernetes.io/cluster/"


def _group(item: Mapping[str, Any]) -> OwnedRecord:
    clusters = tuple(sorted(key.removeprefix(_CLUSTER) for key in _tags(item) if key.startswith(_CLUSTER)))
    return OwnedRecord(SecurityGroup(item["GroupId"], item["GroupName"], item.get("VpcId", ""), clusters))


def _reservation(item: Mapping[str, Any]) -> OwnedRecord:
    ends = item.get("EndDate")
    record = CapacityReservation(
        item["CapacityReservationId"],
        item["InstanceType"],
        item.get("AvailabilityZone", ""),
        item["State"],
        item["AvailableInstanceCount"],
        item.get("OwnerId", ""),
        item.get("ReservationType", "default"),
        item.get("InstanceMatchCriteria"),
        f"{ends - ends.utcoffset():%Y-%m-%dT%H:%M:%SZ}" if ends is not None else None,
    )
    return OwnedRecord(record, record.owner)


def _placement(item: Mapping[str, Any]) -> OwnedRecord:
    return OwnedRecord(
        PlacementGroup(
            item["GroupId"], item["GroupName"], item["Strategy"], item["State"], item.get("PartitionCount", 0)
        )
    )


NEVER_BLANK: dict[FactKind, tuple[str, ...]] = {
    "images": ("ImageId", "State", "Architecture", "OwnerId"),
    "subnets": ("SubnetId", "AvailabilityZone", "AvailabilityZoneId", "VpcId"),
    "security-groups": ("GroupId", "GroupName", "VpcId"),
    "capacity-reservations": ("CapacityReservationId", "InstanceType", "AvailabilityZone", "State", "OwnerId"),
    "placement-groups": ("GroupId", "GroupName", "Strategy", "State"),
}
"""Fields that AWS never leaves blank. A blank text would become a wrong fact: a subnet without zone, an image without
architecture.
"""


def refuse_blank(item: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise ValueError if a field that the item has is blank, or not a text."""
    for key in keys:
        if key in item and (not isinstance(item[key], str) or not item[key].strip()):
            raise ValueError(f"`{key}` is blank")


READERS: dict[FactKind, tuple[str, Callable[[Mapping[str, Any]], OwnedRecord]]] = {
    "images": ("Images", _image),
    "subnets": ("Subnets", _subnet),
    "security-groups": ("SecurityGroups", _group),
    "capacity-reservations": ("CapacityReservations", _reservation),
    "placement-groups": ("PlacementGroups", _placement),
}
"""The key of an answer's list, and the function that reads one of its items, for each kind."""
