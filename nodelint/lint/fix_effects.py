"""Describe what an unsafe fix does to running nodes, from the fields that Karpenter compares for drift."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import EC2NodeClass, NodePool, Retired
from nodelint.model.messages import counted
from nodelint.model.releases import NEWEST, OLDEST

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from nodelint.lint.results import Result
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version

_NOT_DERIVED = "nodelint cannot tell which running nodes it replaces"
"""The effect of edits with placeholders, and of edits that were tried only together with other edits."""

_NODES_STAY = "no running node is replaced"
_ANOTHER_FIX = f"nodelint guessed what you meant; {_NODES_STAY}"
"""The effect of fixes that replace no node and are unsafe, because they guess which of two fields is wrong."""

_CONVERTED = "Karpenter before 1.0 refuses the result"

_NODES_DRIFT_AND_STAY = (
    "all nodes of the NodePool drift (NodePoolDrifted), but none is replaced: a budget lets none of them go"
)

_MOST_EFFECTS = 2
"""The most different effects that are named."""

_SELECTORS = {
    "amiSelectorTerms": "nodes whose image it no longer selects are replaced (AMIDrift)",
    "subnetSelectorTerms": "nodes in subnets that it no longer selects are replaced (SubnetDrift)",
    "securityGroupSelectorTerms": "nodes are replaced if it selects other groups (SecurityGroupDrift)",
    "capacityReservationSelectorTerms": "nodes in reservations that it no longer selects are replaced "
    "(CapacityReservationDrift)",
}


def describe_unsafe_fix(result: Result) -> str:
    """Return what an unsafe fix does to running nodes, such as `all nodes of the NodePool are replaced`."""
    if isinstance(result.object, Retired) or (result.object is not None and result.object.version == "v1beta1"):
        return _CONVERTED
    if result.read_by:
        return f"{result.read_by} reads the value, too, and may not work with the new one"
    if result.replaces_no_node:
        leads_on = f"it brings a new finding, {result.leads_to.partition(':')[0]}; {_NODES_STAY}"
        return leads_on if result.leads_to else _ANOTHER_FIX
    found = _find_edited_object(result) if not result.changed else None
    pairs = result.changed if found is None else (found,)
    releases = {result.holds[0].karpenter.last} if result.holds else {OLDEST, NEWEST}
    names: dict[str, set[str]] = {}
    for old, new in pairs:
        effects = {_compare(old, new, release) for release in releases}
        effect = _find_refused_update(old, new, max(releases)) or (effects.pop() if len(effects) == 1 else None)
        if effect is None:
            return _NOT_DERIVED
        names.setdefault(effect, set()).add(old.label)
    if not 1 <= len(names) <= _MOST_EFFECTS:
        return _NOT_DERIVED
    several = len({name for labels in names.values() for name in labels}) > 1
    return "; ".join(f"{_name_objects(names[effect])}: {effect}" if several else effect for effect in names)


def describe_chosen_edit(result: Result) -> str:
    """Return what an edit that the user chose does to running nodes."""
    effect = describe_unsafe_fix(result)
    stays = result.replaces_no_node or result.safety == "safe" or effect == _ANOTHER_FIX
    return _NODES_STAY if stays else effect


def _name_objects(labels: Collection[str]) -> str:
    """Return the one object of an effect, or how many there are: `2 NodePools`."""
    if len(labels) == 1:
        return next(iter(labels))
    kinds = {label.partition("/")[0] for label in labels}
    return counted(len(labels), kinds.pop()) if len(kinds) == 1 else f"{len(labels)} objects"


def _find_edited_object(result: Result) -> tuple[Object, Object] | None:
    """Return the finding's object before and after the fix. None if the fix edits anything else."""
    from nodelint.edits import reread_edited
    from nodelint.model.documents import objects

    obj, edits = result.object, result.finding.edits
    if not isinstance(obj, (NodePool, EC2NodeClass)):
        return None
    source, node = obj.node.source, obj.node
    if any(edit.source is not source or not node.start <= edit.start <= edit.end <= node.end for edit in edits):
        return None
    found = [new for new in objects(reread_edited(source, edits)) if new.node.start == node.start]
    return (obj, found[0]) if len(found) == 1 and type(found[0]) is type(obj) else None


def _find_refused_update(old: Object, new: Object | None, release: Version) -> str | None:
    """Return that the API server does not let an object become another one. None if it does."""
    if type(new) is not type(old) or new is None:
        return None
    from nodelint.apiserver.transitions import find_broken_transitions

    refused = next(find_broken_transitions(old, new, release), None)
    if refused is None:
        return None
    return f"the API server refuses the update: {refused.message}; delete the object and create it again"


def _compare(old: Object, new: Object | None, release: Version) -> str | None:
    """Return the effect of a changed object on its nodes. None if this depends on unknown values."""
    if type(new) is not type(old) or not isinstance(old, (NodePool, EC2NodeClass)):
        return None
    from nodelint.apiserver import Schemas
    from nodelint.drift import Unhashable, hash_object, stored_object
    from nodelint.drift.budgets import DRIFTED, always_closed
    from nodelint.karpenter.controller import find_launch_blocker

    if find_launch_blocker(old, release) is not None:
        return "it launches nothing today, and may launch nodes after the fix"
    schemas = Schemas.bundled()
    try:
        if hash_object(old, release, schemas).value != hash_object(new, release, schemas).value:
            if isinstance(new, NodePool):
                closed = always_closed(new, DRIFTED)
                return _NODES_DRIFT_AND_STAY if closed else "all nodes of the NodePool are replaced (NodePoolDrifted)"
            return "all nodes of the class's NodePools are replaced (NodeClassDrift)"
        before, after = (stored_object(obj, release, schemas)["spec"] for obj in (old, new))
    except (Unhashable, KeyError):
        return None
    if isinstance(old, NodePool):
        effect = _compare_requirements(_requirements(before), _requirements(after))
        changed = [f"`{field}`" for field in {**before, **after} if before.get(field) != after.get(field)]
        if effect is None and not changed:
            return _ANOTHER_FIX
        return effect or f"changes {' and '.join(changed)}, which takes effect at once; no node drifts"
    changed = [words for field, words in _SELECTORS.items() if before.get(field) != after.get(field)]
    return "; ".join(changed) or "running nodes stay; it changes new nodes only"


def _requirements(spec: dict[str, Any]) -> list[Any]:
    found = spec.get("template", {}).get("spec", {}).get("requirements")
    return found if isinstance(found, list) else []


def _compare_requirements(old: list[Any], new: list[Any]) -> str | None:
    """Return the effect of changed requirements on nodes. None if the requirements are equal."""
    if old == new:
        return None
    if all(requirement in old for requirement in new):
        return "removes requirements; no node drifts, and new nodes can be of more types"
    added = [requirement for requirement in new if requirement not in old]
    if added and all(requirement in new for requirement in old):
        what, them = ("a requirement", "it") if len(added) == 1 else (f"{len(added)} requirements", "them")
        return f"adds {what}, and nodes that do not meet {them} are replaced (RequirementsDrifted)"
    return "nodes that do not meet the new requirements are replaced (RequirementsDrifted)"
