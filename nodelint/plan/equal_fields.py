"""Find changed fields of an object that replace no node, because Karpenter computes the same from both values."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.plan.effects import Effect
from nodelint.plan.uncompared import list_unknown
from nodelint.plan.values import change_between, json_value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nodelint.drift.hashstructure import Path
    from nodelint.model.manifest import Object
    from nodelint.text import Node

_TERMS = ("amiSelectorTerms", "capacityReservationSelectorTerms", "securityGroupSelectorTerms", "subnetSelectorTerms")
_SETTINGS = ("disruption", "limits", "replicas", "weight")
"""Fields of a NodePool that no node copies (karpenter pkg/apis/v1/nodepool.go@v1.14.1: `hash:"ignore"`)."""
_REQUIREMENTS = "spec.template.spec.requirements"
_KUBELET = "compatibility.karpenter.sh/"
"""The group of annotations that Karpenter 1.0 reads."""


def list_equal_fields(old: Object, new: Object, reported: Collection[str] = ()) -> list[Effect]:
    """Return the fields of an object that differ between two sides on which no node drifts.

    `reported` are the paths that the plan names already. Fields with an unknown value are left out.
    """
    found = []
    for part in ("metadata", "spec"):
        before, after = old.node.get(part), new.node.get(part)
        for path, was, now in _list_differences(before, after, (part,)):
            name = ".".join(path)
            if any(_overlap(name, _find_path(field)) for field in reported) or path[-1].startswith(_KUBELET):
                continue
            if any(node is not None and list_unknown(node) for node in (was, now)):
                continue
            change = change_between(was, now)
            if change is not None:
                at = _find_place(new, path) if now is None else now
                found.append(Effect(name, at, change, _explain(path, new), same=True))
    return found


def _list_differences(
    old: Node | None, new: Node | None, path: Path
) -> Iterator[tuple[tuple[str, ...], Node | None, Node | None]]:
    """Yield the innermost fields with different values. A list is one value."""
    if old is None or new is None or old.kind != "mapping" or new.kind != "mapping":
        is_equal = old is new or (old is not None and new is not None and json_value(old) == json_value(new))
        if not is_equal:
            yield tuple(map(str, path)), old, new
        return
    names = [entry.name for node in (new, old) for entry in node.entries]
    for name in dict.fromkeys(name for name in names if isinstance(name, str)):
        yield from _list_differences(old.get(name), new.get(name), (*path, name))


def _find_path(field: str) -> str:
    """Return the path of an effect. The effect of a requirement that is removed is named by its key."""
    return _REQUIREMENTS if field.startswith("requirement ") else field


def _overlap(mine: str, other: str) -> bool:
    """Return whether one of two paths is at or below the other."""
    short, long = sorted((mine, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))


def _find_place(obj: Object, path: tuple[str, ...]) -> Node:
    """Return the key of the innermost mapping on a path, from which a field is removed."""
    for length in range(len(path) - 1, 0, -1):
        holder = obj.node.find(*path[: length - 1]) if length > 1 else obj.node
        key = holder.key(path[length - 1]) if holder is not None else None
        if key is not None:
            return key
    return obj.name_node


def _explain(path: tuple[str, ...], obj: Object) -> str:
    """Return why a changed field replaces no node."""
    if path[0] == "metadata":
        return "replaces no node: nodes do not copy it"
    if ".".join(path) == _REQUIREMENTS:
        return "replaces no node: all nodes that run meet them"
    field = path[1] if len(path) > 1 else ""
    if field in _TERMS:
        return "replaces no node: both select the same"
    if field in _SETTINGS and obj.kind == "NodePool":
        return "replaces no node: the field is no reason for drift"
    if path[:2] == ("spec", "ipPrefixCount"):
        return "replaces no node: the hash does not count the field; new nodes get the new value"
    return "replaces no node: Karpenter computes the same hash from both values"
