"""Dynamic drift: the effect of changed selector terms of a class on nodes, as far as the terms themselves show it.

Karpenter compares a node's image, subnet, security groups and reservation with those that the selectors find now.
Terms with ids show what they find; for tags, names and parameters only AWS knows. Source: provider
pkg/cloudprovider/drift.go@v1.14.1:84-165.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest_terms import parse_alias
from nodelint.text import UnknownValue

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nodelint.drift.hashstructure import Path
    from nodelint.plan.coverage import Covered

    Terms = list[dict[str, Any]]


class Dynamic(NamedTuple):
    """A selector, the drift reason that Karpenter records for it, and the function that judges a change of its
    terms.
    """

    field: str
    reason: str
    judge: Callable[[Terms, Terms], Covered]


class DynamicDrift(NamedTuple):
    """The part of the nodes that drifts because of changed terms, and the path of the first difference. `reason` is
    Karpenter's reason.
    """

    reason: str
    covered: Covered
    path: Path


def dynamic_drift(old: dict[str, Any], new: dict[str, Any], reservable: Covered) -> list[DynamicDrift]:
    """Return the dynamic drift between two stored classes, in the order in which Karpenter checks.

    `reservable` is how many of the pool's nodes can be in a capacity reservation.
    """
    found = []
    for dynamic in _DYNAMIC:
        before, after = _terms(old, dynamic.field), _terms(new, dynamic.field)
        if before is None or after is None:
            if _selector_value(old, dynamic.field) != _selector_value(new, dynamic.field):
                found.append(DynamicDrift(dynamic.reason, "unknown", ("spec", dynamic.field)))
            continue
        covered = dynamic.judge(before, after)
        if dynamic.reason == "CapacityReservationDrift" and covered != "none":
            covered = _limited(covered, reservable)
        if covered != "none":
            found.append(DynamicDrift(dynamic.reason, covered, ("spec", dynamic.field, *_first(before, after))))
    return found


def _limited(covered: Covered, reservable: Covered) -> Covered:
    if reservable == "none" or covered == "unknown":
        return "none" if reservable == "none" else "unknown"
    return covered if reservable == "all" else "some"


def _first(old: Terms, new: Terms) -> Path:
    """Return the index of the first new term that the old terms lack, as a path. Empty if there is none."""
    return next(((index,) for index, term in enumerate(new) if term not in old), ())


def _selector_value(stored: dict[str, Any], field: str) -> Any:
    spec = stored.get("spec")
    return spec.get(field) if isinstance(spec, dict) else spec


def _terms(stored: dict[str, Any], field: str) -> Terms | None:
    """Return the terms of a selector. None if one or all of them are placeholders."""
    terms = _selector_value(stored, field)
    term_list = terms if isinstance(terms, list) else []
    if isinstance(terms, UnknownValue) or any(isinstance(term, UnknownValue) for term in term_list):
        return None
    return [term for term in term_list if isinstance(term, dict)]


def _ids(terms: Terms) -> set[str] | None:
    """Return the ids of terms that have only an id. None if a term has other fields."""
    if all(set(term) == {"id"} and isinstance(term["id"], str) for term in terms):
        return {term["id"] for term in terms}
    return None


def _same(old: Terms, new: Terms) -> bool:
    return all(term in new for term in old) and all(term in old for term in new)


def _one_of_several(old: Terms, new: Terms) -> Covered:
    """Return how many nodes drift if a node's subnet or reservation must be among those found: more terms cause no
    drift.
    """
    if all(term in new for term in old):
        return "none"
    before, after = _ids(old), _ids(new)
    if before is None or after is None:
        return "unknown"
    gone = before - after
    return "all" if gone == before else "some"


def _groups(old: Terms, new: Terms) -> Covered:
    """Return how many nodes drift if a node must have exactly the security groups that are found."""
    if _same(old, new):
        return "none"
    before, after = _ids(old), _ids(new)
    if before is None or after is None:
        return "unknown"
    return "none" if before == after else "all"


def _images(old: Terms, new: Terms) -> Covered:
    """Return how many nodes drift if a node must have the newest image for its type."""
    if _same(old, new):
        return "none"
    before, after = _ids(old), _ids(new)
    if before is not None and after is not None:
        return "all" if not before & after else "unknown"
    was, now = _pinned(old), _pinned(new)
    if was is not None and now is not None and was != now:
        return "all"
    return "unknown"


def _pinned(terms: Terms) -> tuple[str, str] | None:
    """Return the family and version of an alias that is pinned to one version. None for other terms."""
    alias = terms[0].get("alias") if len(terms) == 1 else None
    if not isinstance(alias, str) or set(terms[0]) != {"alias"}:
        return None
    family, version = parse_alias(alias)
    version = version.removeprefix("v") if family == "bottlerocket" else version
    return (family, version) if version and version != "latest" else None


_DYNAMIC = (
    Dynamic("amiSelectorTerms", "AMIDrift", _images),
    Dynamic("securityGroupSelectorTerms", "SecurityGroupDrift", _groups),
    Dynamic("subnetSelectorTerms", "SubnetDrift", _one_of_several),
    Dynamic("capacityReservationSelectorTerms", "CapacityReservationDrift", _one_of_several),
)
