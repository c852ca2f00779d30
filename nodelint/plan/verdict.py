"""The verdict on the nodes of a pool: how many are replaced, the reason, and the line that causes it.

Karpenter checks a node in this order and records the first reason that it finds: the hash of the NodePool
(NodePoolDrifted), its requirements (RequirementsDrifted), from 1.1.0 on the instance type and its offering
(InstanceTypeNotFound), the hash of the EC2NodeClass (NodeClassDrift), the image (AMIDrift), then security groups,
subnet and reservation. Karpenter 1.0 compares the class's kubelet last. If an earlier reason covers all nodes, a
later one is never recorded. The plan reports it anyway, because undoing only the first does not help. Source:
karpenter pkg/controllers/nodeclaim/disruption/drift.go@v1.14.1:84-121, provider
pkg/cloudprovider/drift.go@v1.14.1:44-81.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift import Unhashable, stored_object
from nodelint.drift.hashes import family, kubelet_text, root
from nodelint.drift.hashstructure import hash_of, render_path
from nodelint.drift.struct_diff import ValueDifference, differences
from nodelint.drift.unlisted_fields import raise_for_unknown_fields
from nodelint.ec2.facts import NOTHING as NO_FACTS
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.releases import behaves
from nodelint.plan.alias_images import moved_aliases, other_images
from nodelint.plan.coverage import joined
from nodelint.plan.reasons import Reason, Verdict, absorbs, find_why_absorbed, mark_recorded
from nodelint.plan.requirements import requirement_drift
from nodelint.plan.selection import dynamic_drift
from nodelint.plan.selector_drift import by_facts
from nodelint.plan.sides import keep_hop_limit
from nodelint.plan.values import ValueChange, change_between, change_of, text_of
from nodelint.text import UnknownValue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from nodelint.apiserver import Schemas
    from nodelint.drift.hashstructure import Path
    from nodelint.ec2.facts import AwsFacts
    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.manifest import EC2NodeClass, NodePool, Object
    from nodelint.model.releases import Version
    from nodelint.plan.coverage import Covered
    from nodelint.text import Node

_KUBELET = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"
"""The annotation of a NodePool that in 1.0 replaces the class's kubelet."""


class Sides(NamedTuple):
    """A pool and its class before and after. `new_pool` and `new_class` are those that the API server stores in the
    end.

    A class is None if it is not in the files. `moved` are the Kubernetes versions before and after, if the cluster
    gets another one. `written_class` is the class as the new side writes it, even if it is equal. `upgraded` are the
    Karpenter releases before and after, if the files of both sides state different ones. `keeps_hop_limit` is that of
    `Classes`.
    """

    pool: NodePool
    new_pool: NodePool
    node_class: EC2NodeClass | None
    new_class: EC2NodeClass | None
    facts: AwsFacts = NO_FACTS
    moved: tuple[str, str] | None = None
    written_class: EC2NodeClass | None = None
    upgraded: tuple[Version, Version] | None = None
    keeps_hop_limit: bool = False

    @property
    def class_is_same(self) -> bool:
        """Return whether there is nothing to compare: the class is the same object, or one of the two is not
        known.
        """
        return self.node_class is None or self.new_class is None or self.node_class is self.new_class

    @property
    def old_class(self) -> EC2NodeClass:
        """Return the class before the change. It must exist."""
        assert self.node_class is not None
        return self.node_class

    @property
    def now_class(self) -> EC2NodeClass:
        """Return the class after the change. It must exist."""
        assert self.new_class is not None
        return self.new_class


class Classes(NamedTuple):
    """A class before and after. `keeps_hop_limit` is true if it keeps the default hop limit of another API
    version.
    """

    old: EC2NodeClass
    new: EC2NodeClass
    keeps_hop_limit: bool = False

    def stored(self, release: Version, schemas: Schemas) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return both classes as the API server stores them. Raise Unhashable for a placeholder."""
        old, new = (stored_object(node_class, release, schemas) for node_class in (self.old, self.new))
        return old, keep_hop_limit(old, new) if self.keeps_hop_limit else new


def verdict(sides: Sides, before: Resolution, after: Resolution | None, schemas: Schemas, running: bool) -> Verdict:
    """Return the outcome for the nodes that the old side can have.

    `before` is what the old pool can launch. `after` is what it can launch with the new class, None if the class is
    the same. `running` is true if the cluster has nodes of the pool.
    """
    # Old nodes may still run although no such node can be launched now, for example because their image is
    # deprecated.
    nodes = before.launchable or before.candidates
    has_none = (not nodes or _never_boots(before)) and not running and before.complete
    found: list[Reason] = []
    gone = NONE
    unread: Unhashable | None = None
    for step in (_template, _requirements, _static, _types, _kubernetes, _dynamic, _unknown_fields):
        try:
            reasons, types = step(sides, before, after, schemas, nodes)
        except Unhashable as error:
            unread = unread or error
            continue
        found += reasons
        gone |= types
    covered = joined(reason.covered for reason in found)
    if nodes and gone == nodes:
        covered = "all"
    if unread is not None and covered != "all":
        covered = "unknown"
    unknown = str(unread) if unread is not None and covered == "unknown" else None
    result = Verdict(
        covered, tuple(mark_recorded(found)), unknown or find_why_absorbed(covered, found, sides.upgraded)
    )
    return result.of_no_nodes if has_none else result


def _never_boots(before: Resolution) -> bool:
    """Return whether no node of a pool ever ran: the class selects images without an alias, all of them are known,
    and none suits a type of the pool. The images of an alias change with time.
    """
    images = before.images
    return not before.launchable and bool(images.images) and images.alias is None and not images.unknown


_Step = tuple[list[Reason], TypeSet]


def _unknown_fields(sides: Sides, before: Resolution, _: Resolution | None, schemas: Schemas, __: TypeSet) -> _Step:
    """Return no reasons, or raise Unhashable for differing fields that nodelint does not know, of a newer release."""
    for old, new in ((sides.pool, sides.new_pool), (sides.node_class, sides.new_class)):
        if old is not None and new is not None and old is not new:
            raise_for_unknown_fields(old, new, before.version, schemas)
    return [], NONE


def _template(sides: Sides, before: Resolution, _: Resolution | None, schemas: Schemas, alive: TypeSet) -> _Step:
    if sides.pool is sides.new_pool:
        return [], NONE
    old, new = (
        stored_object(sides.pool, before.version, schemas),
        stored_object(sides.new_pool, before.version, schemas),
    )
    path, struct = root("NodePool")
    found = differences(struct, _value_at_path(old, path), _value_at_path(new, path), before.version, path)
    return [_reason("NodePoolDrifted", difference, sides.pool, sides.new_pool) for difference in found], NONE


def _requirements(sides: Sides, before: Resolution, _: Resolution | None, __: Schemas, alive: TypeSet) -> _Step:
    if sides.pool is sides.new_pool:
        return [], NONE
    drift = requirement_drift(before, sides.new_pool, alive)
    if drift.covered == "none":
        return [], NONE
    reasons = [
        Reason(
            "RequirementsDrifted", _new_value(sides, node), node.path, drift.covered, change, of_files=drift.of_files
        )
        for node in drift.lines
        if (change := _requirement_change(sides, node))
    ]
    return reasons, drift.types


def _new_value(sides: Sides, node: Node) -> Node:
    """Return the first value of a list that no requirement had before. The list itself if there is none."""
    before = {value.text for line in sides.pool.requirements for value in line.node.walk()}
    return next((item for item in node.items if item.text not in before), node) if node.kind == "sequence" else node


def _requirement_change(sides: Sides, node: Node) -> ValueChange:
    """Return the requirement that contains a node, before and after."""
    line = next((line for line in sides.new_pool.requirements if node in (line.values_node, line.node)), None)
    old = [
        requirement.node
        for requirement in sides.pool.requirements
        if line is not None and requirement.key == line.key
    ]
    new = line.node if line is not None else node
    change = change_between(old[0], new) if len(old) == 1 else None
    return change or ValueChange(" ".join(map(text_of, old)) or None, text_of(new))


def _types(sides: Sides, before: Resolution, after: Resolution | None, _: Schemas, alive: TypeSet) -> _Step:
    """Return the reason for types that are not offered in the zones of the new subnets. Other reasons to exclude a
    type are in the class's hash.
    """
    if after is None or sides.class_is_same or not behaves("type-drift", before.version):
        return [], NONE
    terms = [side.node.find("spec", "subnetSelectorTerms") for side in (sides.old_class, sides.now_class)]
    if change_between(*terms) is None:
        return [], NONE  # other causes have their own reasons
    gone = alive - after.alive
    if not gone:
        return [], NONE
    at = sides.now_class.node.find("spec", "subnetSelectorTerms") or sides.now_class.name_node
    return [Reason("InstanceTypeNotFound", at, at.path, "all" if gone == alive else "some")], gone


def _static(sides: Sides, before: Resolution, _: Resolution | None, schemas: Schemas, alive: TypeSet) -> _Step:
    """Return the changed fields of the class that its hash includes.

    This step comes before the types that the class excludes: since 1.6 Karpenter checks those only every half hour.
    """
    if sides.class_is_same:
        return [], NONE
    release = before.version
    old, new = Classes(sides.old_class, sides.now_class, sides.keeps_hop_limit).stored(release, schemas)
    found: list[ValueDifference] = []
    unread: Unhashable | None = None
    for part in (_hashed, _open_kubelet, _family):
        try:
            found += part(old, new, release)
        except Unhashable as error:
            unread = unread or error
    if unread is not None and not found:
        raise unread
    covered: Covered = "unknown" if absorbs(CLASS_KIND, sides.upgraded) else "all"
    old_class, new_class = sides.old_class, sides.now_class
    return [_reason("NodeClassDrift", difference, old_class, new_class, covered) for difference in found], NONE


def _hashed(old: dict[str, Any], new: dict[str, Any], release: Version) -> Iterator[ValueDifference]:
    path, struct = root(CLASS_KIND)
    yield from differences(struct, _value_at_path(old, path), _value_at_path(new, path), release, path)


def _open_kubelet(old: dict[str, Any], new: dict[str, Any], release: Version) -> Iterator[ValueDifference]:
    path: Path = ("spec", "kubelet")
    if not behaves("open-kubelet", release) or _value_at_path(old, path) == _value_at_path(new, path):
        return
    if kubelet_text(old) != kubelet_text(new):
        yield ValueDifference(path, path)


def _family(old: dict[str, Any], new: dict[str, Any], _: Version) -> Iterator[ValueDifference]:
    if _images_of(old) != _images_of(new) and family(old) != family(new):
        fields: tuple[Path, ...] = (("spec", "amiFamily"), ("spec", "amiSelectorTerms"))
        path = next((path for path in fields if _value_at_path(new, path)), ("spec",))
        yield ValueDifference(path, path)


def _kubernetes(sides: Sides, before: Resolution, _: Resolution | None, schemas: Schemas, alive: TypeSet) -> _Step:
    """Return the reasons for drift if the cluster gets another Kubernetes version: aliases then resolve to other
    images.
    """
    node_class = sides.new_class if sides.new_class is not sides.node_class else sides.written_class
    if sides.moved is None or sides.node_class is None or node_class is None:
        return [], NONE
    return other_images(sides.node_class, node_class, sides.moved), NONE


def class_verdict(
    classes: Classes,
    release: Version,
    schemas: Schemas,
    moved: tuple[str, str] | None,
    upgraded: tuple[Version, Version] | None = None,
    same_images: bool = False,
) -> Verdict:
    """Return the outcome of a change of a class for nodes of pools that are not in the files.

    `same_images` is true if both sides select the same images according to AWS facts.
    """
    old, new, _ = classes
    reasons: list[Reason] = []
    unread: Unhashable | None = None
    try:
        both = classes.stored(release, schemas)
        for part in (_hashed, _open_kubelet, _family):
            try:
                covered: Covered = "unknown" if absorbs(CLASS_KIND, upgraded) else "all"
                reasons += [_reason("NodeClassDrift", place, old, new, covered) for place in part(*both, release)]
            except Unhashable as error:
                unread = unread or error
        for drift in dynamic_drift(*both, "some"):
            if same_images and drift.reason == "AMIDrift":
                continue
            place = ValueDifference(drift.path, drift.path)
            reasons.append(_reason(drift.reason, place, old, new, drift.covered))
        raise_for_unknown_fields(old, new, release, schemas)
    except Unhashable as error:
        unread = unread or error
        reasons += moved_aliases(old, new)
    if moved is not None:
        reasons += other_images(old, new, moved)
    covered = joined(reason.covered for reason in reasons)
    if unread is not None and covered != "all":
        return Verdict("unknown", tuple(mark_recorded(reasons)), str(unread))
    return Verdict(covered, tuple(mark_recorded(reasons)), find_why_absorbed(covered, reasons, upgraded))


def _dynamic(sides: Sides, before: Resolution, after: Resolution | None, schemas: Schemas, alive: TypeSet) -> _Step:
    """Return the reasons of changed selectors of the class, and in 1.0 of the hash of its kubelet, which is compared
    last.
    """
    if sides.class_is_same:
        return [], NONE
    old_class, new_class = sides.old_class, sides.now_class
    try:
        old, new = (stored_object(node_class, before.version, schemas) for node_class in (old_class, new_class))
    except Unhashable:
        if aliases := moved_aliases(old_class, new_class):
            return aliases, NONE
        raise
    reasons = []
    for drifted in dynamic_drift(old, new, _reservable(before)):
        known = by_facts(drifted.reason, old_class, new_class, before, after, sides.facts)
        covered = drifted.covered if known is None else known
        if covered != "none":
            reasons.append(
                _reason(drifted.reason, ValueDifference(drifted.path, drifted.path), old_class, new_class, covered)
            )
    kubelet = _kubelet(sides, before, old, new)
    reasons += [_reason("NodeClassDrift", difference, old_class, new_class) for difference in kubelet]
    return reasons, NONE


def _images_of(stored_class: dict[str, Any]) -> tuple[Any, Any]:
    """Return the fields of a class that decide its AMI family."""
    return _value_at_path(stored_class, ("spec", "amiFamily")), _value_at_path(
        stored_class, ("spec", "amiSelectorTerms")
    )


def _reservable(before: Resolution) -> Covered:
    kinds = before.capacity_types
    if "reserved" not in kinds:
        return "none"
    return "all" if len(kinds) == 1 else "some"


def _kubelet(sides: Sides, before: Resolution, old: dict[str, Any], new: dict[str, Any]) -> Iterator[ValueDifference]:
    """Yield the differences of the kubelet, which 1.0 compares by a separate hash: that of the class, or of a
    NodePool's annotation.
    """
    release = before.version
    if not behaves("kubelet-hash", release):
        return
    was, now = (_kubelet_of(pool, spec) for pool, spec in ((sides.pool, old), (sides.new_pool, new)))
    path: Path = ("spec", "kubelet")
    if hash_of("KubeletConfiguration", was, release, path) != hash_of("KubeletConfiguration", now, release, path):
        yield from differences("KubeletConfiguration", was, now, release, path)


def _kubelet_of(pool: NodePool, stored_class: dict[str, Any]) -> Any:
    noted = pool.node.find("metadata", "annotations", _KUBELET)
    if noted is not None and isinstance(noted.value, str):
        import json

        try:
            return json.loads(noted.value)
        except (ValueError, RecursionError):
            return {}
    return _value_at_path(stored_class, ("spec", "kubelet"))


def _reason(reason: str, difference: ValueDifference, old: Object, new: Object, covered: Covered = "all") -> Reason:
    return Reason(
        reason, _place(new, difference), render_path(difference.path), covered, change_of(old, new, difference)
    )


def _place(new: Object, difference: ValueDifference) -> Node:
    """Return the node of a difference in the new object. For a removed value, return the key that contained it."""
    path = difference.path
    node = new.node.find(*path) if difference.new is not None else None
    if node is not None:
        return _announced(new, path, node)
    for length in range(len(path) - 1, 0, -1):
        holder = new.node.find(*path[:length])
        if holder is not None:
            return _announced(new, path[:length], holder)
    return new.name_node


def _announced(obj: Object, path: Path, node: Node) -> Node:
    """Return the node to report for a value: the scalar itself, or the key of a list or mapping. A mapping with a
    single entry counts as the value of that entry.
    """
    while node.kind == "mapping" and len(node.entries) == 1:
        node = node.entries[0].value
    if node.kind == "scalar" or not path or not isinstance(path[-1], str):
        return node
    holder = obj.node.find(*path[:-1])
    key = holder.key(path[-1]) if holder is not None else None
    return key if key is not None else node


def _value_at_path(value: Any, path: Path) -> Any:
    """Return the value at the end of a path.

    An empty mapping if there is none. Raise Unhashable for a placeholder on the path.
    """
    for number, step in enumerate(path):
        if isinstance(value, UnknownValue):
            raise Unhashable(path[:number], "a placeholder with an unknown value")
        value = value.get(step, {}) if isinstance(value, dict) else {}
    return value
