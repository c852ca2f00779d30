"""The conditions of `data/upgrade.json`: the places in manifests that a change concerns.

A condition is a mapping. `on` is the kind of thing that it searches:

- a kind (`NodePool`, `EC2NodeClass`, `NodeOverlay`, `CapacityBuffer`, `CustomResourceDefinition`, `Pod`): the value
  at `path`, in which `[]` means every item of a list, `*` every key and `[x]` the key x. A value is found if it
  exists and passes the tests `is`, `not` (patterns for a whole scalar), `key` (of the key), `more_than` (items),
  `doubles` (in a list), `longer_than` (characters), `entry` (patterns for the values of a mapping's keys, null for a
  missing key). With `absent`, an object is found if it lacks the value. `version`, `family`, `without` (a path that
  is missing), `below` (a path that exists), `alias_before`, `alias_from`, `named` (the name) and `pools` restrict the
  objects.
- `requirement`: requirements with one of `keys`, in objects of the kinds `of`, with `operator`, with a value that
  matches `is`, with `only` these values. For pods these are the node selector and the required node affinity.
- `launches`: pools that can launch `types` (a prefix of their names) with a class of a `family`; with `imageless`,
  pools whose requirements allow these types although the class has no image for them.
- `chart`, `setting`, `gate`: see `settings`. `policy`: IAM policies, `text`: patterns in any file, see `resources`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from nodelint.karpenter.images.families import ami_family_of, families
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.manifest_terms import parse_alias, requirement_line, text
from nodelint.rule.context import Context
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.missing import items_of
from nodelint.upgrade import resources
from nodelint.upgrade.resources import ClusterResource, Location
from nodelint.upgrade.settings import ControllerSettings

Condition = dict[str, Any]

_OBJECTS = ("NodePool", "EC2NodeClass", "NodeOverlay", "CapacityBuffer", "CustomResourceDefinition", "Pod")


class Matcher:
    """A search for the places at which conditions apply in some manifests. `context` is that of the old release."""

    def __init__(self, sources: Sequence[Source], context: Context, settings: ControllerSettings) -> None:
        self._asked = sources
        self._context = context
        self._settings = settings
        paths = {source.path for source in sources}
        self._held = [obj for obj in context.objects if obj.source.path in paths]

    def find_places(self, condition: Condition) -> list[Location]:
        """Return the places that a condition finds, in the order of the files. Raise KeyError for an unknown
        condition.
        """
        on = condition["on"]
        if on in _OBJECTS:
            return [place for thing in self._narrowed(condition) for place in _values(thing, condition)]
        finders = {
            "requirement": self._requirements,
            "launches": self._launches,
            "policy": self._policies,
            "text": lambda condition: resources.texts(self._asked, condition),
            "chart": self._settings.charts_with,
            "setting": self._settings.find_variable,
            "gate": self._settings.gates,
        }
        return list(finders[on](condition))

    def unallowed(self, condition: Condition) -> list[Location] | None:
        """Return the places of IAM policies that lack a permission. None if one of them has it."""
        return resources.lacking(self._asked, condition["lacks"])

    @cached_property
    def _by_node(self) -> dict[int, Object]:
        return {id(obj.node): obj for obj in self._held}

    @cached_property
    def _things(self) -> list[ClusterResource]:
        return [*map(resources.of_object, self._held), *resources.other_resources(self._asked)]

    def _narrowed(self, condition: Condition) -> Iterator[ClusterResource]:
        for thing in self._things:
            if thing.kind != condition["on"]:
                continue
            if "kind" in condition and thing.label.partition("/")[0] != condition["kind"]:
                continue
            if "named" in condition and not re.fullmatch(condition["named"], thing.label.partition("/")[2]):
                continue
            if "version" in condition and _version(thing) != condition["version"]:
                continue
            if "without" in condition and _nodes_at_path(thing.node, condition["without"]):
                continue
            if "below" in condition and not _nodes_at_path(thing.node, condition["below"]):
                continue
            if thing.kind == "EC2NodeClass" and not self._class_fits(thing, condition):
                continue
            yield thing

    def _class_fits(self, thing: ClusterResource, condition: Condition) -> bool:
        node_class = self._by_node[id(thing.node)]
        if not isinstance(node_class, EC2NodeClass):
            return False
        if "family" in condition and _family(node_class) not in condition["family"]:
            return False
        if "alias_before" in condition and not _alias_below(node_class, condition["alias_before"]):
            return False
        if "alias_from" in condition and _alias_below(node_class, condition["alias_from"]):
            return False
        if "pools" in condition:
            pools = self._context.pools(node_class)
            return any(_lines(resources.of_object(pool), condition["pools"]) for pool in pools)
        return True

    def _requirements(self, condition: Condition) -> Iterator[Location]:
        kinds = condition.get("of", ("NodePool", "NodeOverlay", "Pod"))
        for thing in self._things:
            if thing.kind in kinds:
                yield from _lines(thing, condition)

    def _launches(self, condition: Condition) -> Iterator[Location]:
        """Yield the pools that can launch certain types in the old release: such nodes may be running."""
        for obj in self._held:
            node_class = self._context.node_class(obj) if isinstance(obj, NodePool) else None
            if not isinstance(obj, NodePool) or node_class is None or obj.partial:
                continue
            if _family(node_class) != condition["family"]:
                continue
            resolution = self._context.resolution(obj)
            if not resolution.complete:
                continue
            bits = (
                resolution.candidates - resolution.launchable if condition.get("imageless") else resolution.launchable
            )
            names = self._context.catalog.names_in(bits)
            if any(name.startswith(condition["types"]) for name in names):
                yield Location(obj.requirements_node or obj.name_node, obj.label)

    def _policies(self, condition: Condition) -> Iterator[Location]:
        return resources.mentions(self._asked, condition["mentions"])


def _version(thing: ClusterResource) -> str:
    version = text(thing.node.get("apiVersion"))
    return version.rpartition("/")[2] if isinstance(version, str) else ""


def _family(node_class: EC2NodeClass) -> str | None:
    """Return the amiFamily of a class, or that of its alias. None if it is not known."""
    if isinstance(node_class.ami_family, str):
        return node_class.ami_family
    for term in node_class.ami_terms:
        if isinstance(term.alias, str):
            family = parse_alias(term.alias).family
            return ami_family_of(family) if family in families() else None
    return None


def _alias_below(node_class: EC2NodeClass, version: str) -> bool:
    """Return whether an alias of the class is pinned to an image version below one such as 1.22.0."""
    for term in node_class.ami_terms:
        pinned = parse_alias(term.alias).version.removeprefix("v") if isinstance(term.alias, str) else ""
        if re.fullmatch(r"\d+\.\d+\.\d+", pinned) and _numbers(pinned) < _numbers(version):
            return True
    return False


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


# -- values at a path


def _values(thing: ClusterResource, condition: Condition) -> Iterator[Location]:
    found = _nodes_at_path(thing.node, condition["path"])
    if condition.get("absent"):
        if _may_lack(thing, condition["path"], found):
            where = _nodes_at_path(thing.node, condition["below"]) if "below" in condition else None
            yield Location(where[0][0] if where else _name(thing.node), thing.label)
        return
    for key, value in found:
        if _passes(key, value, condition):
            yield Location(key, thing.label)


def _may_lack(thing: ClusterResource, path: str, found: Sequence[tuple[Node, Node]]) -> bool:
    """Return whether an object lacks a value, or has it only if a condition of its template is true. An empty list
    counts as missing.

    False if a template prints whole mappings: the object may then have the value.
    """
    if not thing.partial:
        return all(value.value is UNKNOWN or (value.kind == "sequence" and not value.items) for _, value in found)
    text_ = thing.node.source.text
    if found:
        return any(_depth_of_conditions(text_[thing.node.start : key.start]) > 0 for key, _ in found)
    within = text_[thing.node.start : thing.node.end]
    return path.rpartition(".")[2] not in within and re.search(_PRINTS_MAPPING, within) is None


_PRINTS_MAPPING = r"(?m)(?:^|\bspec:)[ \t]*\{\{-?[ \t]*(?:toYaml|include|template|tpl|range|\.Values|\$)"


def _depth_of_conditions(code: str) -> int:
    """Return the number of template blocks that are open at the end of a text."""
    words = re.findall(r"\{\{-?\s*(if|with|range|end)\b", code)
    return sum(-1 if word == "end" else 1 for word in words)


def _nodes_at_path(top: Node, path: str) -> list[tuple[Node, Node]]:
    """Return the values at a path, each with the node of its key (in a list, the item itself)."""
    here = [(top, top)]
    for step in re.findall(r"\[[^\]]*+\]?|[^.\[]+", path):
        here = [found for _, node in here for found in _step(node, step)]
    return here


def _step(node: Node, step: str) -> Iterator[tuple[Node, Node]]:
    if step == "[]":
        yield from ((item, item) for item in node.items)
        return
    name = step.strip("[]")
    for entry in node.entries:
        if (step == "*" or entry.name == name) and not (entry.value.kind == "scalar" and entry.value.value is None):
            yield entry.key, entry.value


def _passes(key: Node, value: Node, condition: Condition) -> bool:
    if "key" in condition and not re.fullmatch(condition["key"], str(key.value)):
        return False
    if "more_than" in condition and len(value.items) <= condition["more_than"]:
        return False
    if condition.get("doubles"):
        items = [text(item) for item in value.items]
        return len(set(items)) < len(items)
    if "longer_than" in condition:
        written = text(value)
        return isinstance(written, str) and len(written) > condition["longer_than"]
    if "entry" in condition:
        return all(_entry_passes(value.get(name), wanted) for name, wanted in condition["entry"].items())
    if "is" in condition or "not" in condition:
        written = text(value)
        if not isinstance(written, str):
            return False
        if "is" in condition and not re.fullmatch(condition["is"], written):
            return False
        return "not" not in condition or not re.fullmatch(condition["not"], written)
    return True


def _entry_passes(value: Node | None, wanted: str | None) -> bool:
    if value is None or wanted is None:
        return value is None and wanted is None
    written = text(value)
    return isinstance(written, str) and re.fullmatch(wanted, written) is not None


def _name(node: Node) -> Node:
    return node.find("metadata", "name") or node.get("kind") or node


# -- requirements


def _lines(thing: ClusterResource, condition: Condition) -> list[Location]:
    field_requests = _list_pod_demands(thing) if thing.kind == "Pod" else _asks(thing)
    return [
        Location(at, thing.label)
        for at, key, operator, values in field_requests
        if _requirement_matches(key, operator, values, condition)
    ]


def _requirement_matches(key: str, operator: str, values: Sequence[str], condition: Condition) -> bool:
    if "keys" in condition and key not in condition["keys"]:
        return False
    if "operator" in condition and not re.fullmatch(condition["operator"], operator):
        return False
    if "is" in condition and not any(re.fullmatch(condition["is"], value) for value in values):
        return False
    return "only" not in condition or (operator == "In" and set(values) == set(condition["only"]))


_Ask = tuple[Node, str, str, Sequence[str]]


def _asks(thing: ClusterResource) -> Iterator[_Ask]:
    """Yield the requirements of a NodePool or a NodeOverlay."""
    path = ("spec", "template", "spec", "requirements") if thing.kind == "NodePool" else ("spec", "requirements")
    yield from _expressions(thing.node.find(*path))


def _list_pod_demands(thing: ClusterResource) -> Iterator[_Ask]:
    """Yield the requirements of a pod on its node: its node selector and its required affinity."""
    selector = thing.node.find("spec", "nodeSelector")
    for entry in selector.entries if selector is not None else ():
        value = text(entry.value)
        if entry.name is not None and isinstance(value, str):
            yield entry.key, entry.name, "In", (value,)
    affinity = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for term in items_of(thing.node.find(*affinity, "nodeSelectorTerms")):
        yield from _expressions(term.get("matchExpressions"))


def _expressions(listed: Node | None) -> Iterator[_Ask]:
    for item in items_of(listed):
        line = requirement_line(item)
        if isinstance(line.key, str) and isinstance(line.operator, str):
            yield line.node, line.key, line.operator, line.texts
