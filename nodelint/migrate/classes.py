"""Convert an EC2NodeClass to a NodeClass of EKS Auto Mode, and the other way round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodelint.convert.migrate import field, plain_with_placeholders
from nodelint.data import table
from nodelint.migrate.steps import (
    MoveNote,
    Path,
    Step,
    add_field,
    move_into,
    note,
    remove_field,
    rename_field,
    replace_field,
    written_value,
)
from nodelint.model.manifest import Object
from nodelint.text import Node

_NETWORK = ("associatePublicIPAddress", "networkInterfaces")
"""Fields of an EC2NodeClass that belong to `advancedNetworking` in a NodeClass."""

_DATA_VOLUME = "/dev/xvdb"
"""The device of the Bottlerocket volume for images and data of pods. `/dev/xvda` is the system volume."""

_ACCESS = (
    "give the node role an EKS access entry of type EC2 with the policy AmazonEKSAutoNodePolicy; without it, nodes do"
    " not join"
)


def plan_class(obj: Object, target: str) -> Iterator[Step]:
    """Yield the steps that turn the fields of an EC2NodeClass into those of a NodeClass of Auto Mode, or the reverse.

    `target` names the kind of the result. The steps do not change apiVersion and kind.
    """
    spec = obj.node.get("spec")
    if spec is not None and spec.kind == "mapping":
        yield from _to_auto_mode(obj, spec) if target == "auto-mode" else _to_karpenter(obj, spec)


def class_notes(obj: Object, target: str) -> Iterator[MoveNote]:
    """Yield notes on changes that a class needs besides its own fields."""
    if target != "auto-mode" or obj.partial:
        return
    if obj.name == "default":
        message = "EKS Auto Mode has a class `default` of its own: rename this one, and the nodeClassRef of its pools"
        yield note("by-hand", obj, obj.node.find("metadata", "name"), message)
    if (images := _find_windows(obj)) is not None:
        message = "EKS Auto Mode has no Windows nodes: keep this class, and the pools that use it, with Karpenter"
        yield note("by-hand", obj, images, message)
    role = obj.node.find("spec", "role") or obj.node.find("spec", "instanceProfile")
    if role is not None:
        yield note("differs", obj, role, _ACCESS)
    if all(obj.node.find("spec", name) is None for name in ("blockDeviceMappings", "ephemeralStorage")):
        size = table("migrate")["storage_size"]
        message = f"nodes get a volume of {size} in place of the default of the image: set ephemeralStorage.size"
        yield note("differs", obj, None, message, "spec.ephemeralStorage")


def _find_windows(obj: Object) -> Node | None:
    """Return the alias or the `amiFamily` by which a class has Windows images. None if it has none."""
    terms = obj.node.find("spec", "amiSelectorTerms")
    aliases = [item.get("alias") for item in terms.items if item.kind == "mapping"] if terms is not None else []
    named = [*aliases, obj.node.find("spec", "amiFamily")]
    return next((node for node in named if node is not None and str(node.value).lower().startswith("windows")), None)


def _to_auto_mode(obj: Object, spec: Node) -> Iterator[Step]:
    facts: Mapping[str, str] = table("migrate")["auto-mode"]
    moved = spec.get("advancedNetworking") is not None
    for entry in spec.entries:
        name, node = entry.name, entry.value
        if name is None or entry.merged:
            continue
        if name in _NETWORK:
            yield _move_network(obj, name, node, moved)
            moved = True
        elif name == "blockDeviceMappings":
            yield _move_volumes(obj, node)
        elif name in facts:
            yield _drop(obj, node, ("spec", name), facts[name])


def _drop(obj: Object, node: Node, path: Path, message: str) -> Step:
    notes = (note("dropped", obj, node, message),)
    return Step(remove_field(path), notes, note("by-hand", obj, node, f"remove `{path[-1]}`: {message}"))


def _move_network(obj: Object, name: str, node: Node, moved: bool) -> Step:
    path, value = ("spec", name), written_value(node)
    by_hand = note("by-hand", obj, node, f"move it to `advancedNetworking.{name}`")
    if moved:
        return Step(move_into(path, ("spec", "advancedNetworking"), value), (), by_hand)
    return Step(replace_field(path, "advancedNetworking", {name: value}), (), by_hand)


def _move_volumes(obj: Object, node: Node) -> Step:
    """Return the step that converts the pods' volume to `ephemeralStorage`.

    Without such a volume, `blockDeviceMappings` is removed.
    """
    message = str(table("migrate")["auto-mode"]["blockDeviceMappings"])
    chosen = _pod_volume(obj, node)
    if chosen is None:
        return _drop(obj, node, ("spec", "blockDeviceMappings"), f"{message}; no entry is the volume of pods")
    ebs = chosen.get("ebs")
    storage, notes = _storage(obj, ebs) if ebs is not None else ({}, [])
    for item in node.items:
        if item is not chosen:
            notes.append(note("dropped", obj, item, message))
    by_hand = note("by-hand", obj, node, f"write it as `ephemeralStorage`: {message}")
    if not storage:
        notes.append(note("dropped", obj, node, message))
        return Step(remove_field(("spec", "blockDeviceMappings")), tuple(notes), by_hand)
    make = replace_field(("spec", "blockDeviceMappings"), "ephemeralStorage", storage)
    return Step(make, tuple(notes), by_hand)


def _pod_volume(obj: Object, node: Node) -> Node | None:
    """Return the volume for images and pod data: Bottlerocket's second volume, else the root volume.

    None if there is no such volume.
    """
    items = [item for item in node.items if item.kind == "mapping"]
    names = {str(plain_with_placeholders(found)): item for item in items if (found := item.get("deviceName"))}
    if _is_bottlerocket(obj) or (len(items) > 1 and _DATA_VOLUME in names and _family_is_open(obj)):
        return names.get(_DATA_VOLUME)
    root = next((item for item in items if (flag := item.get("rootVolume")) and flag.value is True), None)
    return root or names.get("/dev/xvda") or names.get("/dev/sda1") or (items[0] if items else None)


def _is_bottlerocket(obj: Object) -> bool:
    spec = field(plain_with_placeholders(obj.node), "spec")
    terms = spec.get("amiSelectorTerms")
    aliases = [str(field({"term": term}, "term").get("alias")) for term in terms] if isinstance(terms, list) else []
    return spec.get("amiFamily") == "Bottlerocket" or any(alias.startswith("bottlerocket@") for alias in aliases)


def _family_is_open(obj: Object) -> bool:
    return obj.node.find("spec", "amiSelectorTerms") is None and obj.node.find("spec", "amiFamily") is None


_KEPT = {"volumeSize": "size", "iops": "iops", "throughput": "throughput", "kmsKeyID": "kmsKeyID"}


def _storage(obj: Object, ebs: Node) -> tuple[dict[str, Any], list[MoveNote]]:
    """Return the `ephemeralStorage` for an EBS volume, and notes on the fields that it cannot express."""
    bounds = table("migrate")["storage_bounds"]
    storage: dict[str, Any] = {}
    notes: list[MoveNote] = []
    for entry in ebs.entries:
        name, node = entry.name, entry.value
        value = plain_with_placeholders(node)
        if name in _KEPT:
            low, high = bounds.get(name, (None, None))
            if low is not None and isinstance(value, int) and not low <= value <= high:
                allowed = min(max(value, low), high)
                message = f"EKS Auto Mode takes {low} to {high}: it is {allowed}"
                notes.append(note("differs", obj, node, message))
                storage[_KEPT[name]] = allowed
            else:
                storage[_KEPT[name]] = written_value(node)
        elif name == "volumeType" and value != "gp3":
            notes.append(note("differs", obj, node, "volumes of EKS Auto Mode are gp3"))
        elif name == "encrypted" and value is not True:
            notes.append(note("differs", obj, node, "EKS Auto Mode encrypts all volumes"))
        elif name == "deleteOnTermination" and value is not True:
            notes.append(note("differs", obj, node, "EKS Auto Mode deletes the volumes of a node with the node"))
        elif name in ("snapshotID", "volumeInitializationRate"):
            notes.append(note("dropped", obj, node, "volumes of EKS Auto Mode begin empty: pull images by pods"))
    return {name: storage[name] for name in ("size", "iops", "throughput", "kmsKeyID") if name in storage}, notes


def _to_karpenter(obj: Object, spec: Node) -> Iterator[Step]:
    facts: Mapping[str, str] = table("migrate")["karpenter"]
    for entry in spec.entries:
        name, node = entry.name, entry.value
        if name is None or entry.merged:
            continue
        if name == "ephemeralStorage":
            by_hand = note("by-hand", obj, node, "write it as `blockDeviceMappings` of the device /dev/xvdb")
            mapping = _mapping_of(written_value(node), obj.partial)
            yield Step(replace_field(("spec", name), "blockDeviceMappings", [mapping]), (), by_hand)
        elif name in ("advancedNetworking", "advancedSecurity"):
            yield from _spread(obj, name, node, facts)
        elif name == "capacityReservationSelectorTerms":
            for index, term in enumerate(node.items):
                if term.get("owner") is not None and term.get("ownerID") is None:
                    path = ("spec", name, index, "owner")
                    by_hand = note("by-hand", obj, term, "write `owner` as `ownerID`")
                    yield Step(rename_field(path, "ownerID"), (), by_hand)
        elif name in facts:
            yield _drop(obj, node, ("spec", name), facts[name])
    if not obj.partial:
        yield from _add_required(obj, spec)


def _mapping_of(storage: Any, partial: bool) -> dict[str, Any]:
    """Return the block device mapping of Bottlerocket that corresponds to `ephemeralStorage`."""
    storage = storage if isinstance(storage, dict) else {}
    ebs: dict[str, Any] = {}
    size = storage.get("size") or (None if partial else table("migrate")["storage_size"])
    if size is not None:
        ebs["volumeSize"] = size
    ebs["volumeType"] = "gp3"
    ebs.update({name: storage[name] for name in ("iops", "throughput") if name in storage})
    ebs["encrypted"] = True
    if "kmsKeyID" in storage:
        ebs["kmsKeyID"] = storage["kmsKeyID"]
    return {"deviceName": _DATA_VOLUME, "ebs": ebs}


def _spread(obj: Object, name: str, node: Node, facts: Mapping[str, str]) -> Iterator[Step]:
    """Yield steps that move the fields of a mapping to the spec of an EC2NodeClass, or remove those without a
    counterpart.
    """
    moving = [entry.value for entry in node.entries if entry.name in _NETWORK]
    for entry in node.entries:
        if entry.name in _NETWORK or entry.name is None or entry.merged:
            continue
        message = facts.get(f"{name}.{entry.name}", "an EC2NodeClass has no such field")
        if not moving and len(node.entries) == 1:
            yield _drop(obj, entry.value, ("spec", name), message)
        else:
            yield _drop(obj, entry.value, ("spec", name, entry.name), message)
    for key in _NETWORK:
        entry_node = node.get(key)
        if entry_node is None:
            continue
        by_hand = note("by-hand", obj, entry_node, f"move it to `spec.{key}`")
        value = _interfaces(entry_node) if key == "networkInterfaces" else written_value(entry_node)
        if entry_node is moving[-1]:
            yield Step(replace_field(("spec", name), key, value), (), by_hand)
        else:
            yield Step(move_into(("spec", name, key), ("spec",), value), (), by_hand)
    if not moving and len(node.entries) > 1:
        yield Step(remove_field(("spec", name)), (), note("by-hand", obj, node, f"remove `{name}`"))


def _interfaces(node: Node) -> Any:
    """Return network interfaces with only the fields that an EC2NodeClass has."""
    found = written_value(node)
    wanted = ("networkCardIndex", "deviceIndex", "interfaceType")
    if not isinstance(found, list):
        return found
    return [{name: item[name] for name in wanted if name in item} for item in found if isinstance(item, dict)]


def _add_required(obj: Object, spec: Node) -> Iterator[Step]:
    """Yield the steps that add fields which an EC2NodeClass needs and a NodeClass leaves to AWS."""
    after = ("amiFamily", "role", "instanceProfile")
    if spec.get("amiSelectorTerms") is None:
        value = [{"alias": "bottlerocket@latest"}]
        message = "Bottlerocket as in EKS Auto Mode; pin a version, for `latest` replaces nodes with each new image"
        added = note("added", obj, None, message, "spec.amiSelectorTerms")
        by_hand = note("by-hand", obj, None, "add amiSelectorTerms such as `alias: bottlerocket@latest`")
        yield Step(add_field(("spec",), "amiSelectorTerms", value, after), (added,), by_hand)
    if spec.get("ephemeralStorage") is None and spec.get("blockDeviceMappings") is None:
        size = table("migrate")["storage_size"]
        added = note("added", obj, None, f"{size} as in EKS Auto Mode", "spec.blockDeviceMappings")
        by_hand = note("by-hand", obj, None, f"add blockDeviceMappings: EKS Auto Mode gave nodes {size}")
        home = ("amiSelectorTerms", *after)
        yield Step(add_field(("spec",), "blockDeviceMappings", [_mapping_of({}, False)], home), (added,), by_hand)
