"""Taint keys: which programs set, remove and tolerate them, and the probable meaning of misspelled ones."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import Any
from nodelint.data import table
from nodelint.karpenter.spelling import distance, squash
from nodelint.model.gvk import AWS_GROUP, CORE_GROUP


class TaintOwner(NamedTuple):
    """The program that sets and removes a taint, and the effects with which it sets the taint."""

    name: str
    effects: tuple[str, ...]


def owner_of_taint(key: str) -> TaintOwner | None:
    """Return the program that itself sets and removes the taint of a key on nodes. None for other taints."""
    fact = _facts()["owned_taints"].get(key)
    return None if fact is None else TaintOwner(fact["owner"], tuple(fact["effects"]))


def remover_of_taint(key: str) -> str | None:
    """Return the known program that removes a startup taint of a key from nodes. None if none is known."""
    facts = _facts()["startup_taints"]
    found = facts["removed"].get(key)
    if found is None:
        found = next((name for prefix, name in facts["prefixes"].items() if key.startswith(prefix)), None)
    return None if found is None else str(found)


def meant_taint(key: str, startup: bool) -> str | None:
    """Return the taint that was probably meant by a key: one that programs remove (`startup`) or tolerate. None if
    the key is one, or resembles none.
    """
    known = _facts()["startup_taints"]["removed"] if startup else _facts()["tolerated_taints"]["keys"]
    if key in known or (startup and remover_of_taint(key) is not None):
        return None
    return next((known_taint for known_taint in known if _key_matches_agent(key, known_taint, startup)), None)


def _key_matches_agent(key: str, known: str, startup: bool) -> bool:
    domain = known.partition("/")[0]
    if startup and domain.endswith(".csi.aws.com") and key.partition("/")[0] == domain:
        return True
    return squash(key) == squash(known) or key == f"{known}s" or (len(known) > 15 and distance(key, known, 2) <= 2)


def of_nobody(key: str) -> bool:
    """Return whether no program can be expected to remove a taint: its domain is used in documentation, or belongs to
    Karpenter.
    """
    domain = key.partition("/")[0] if "/" in key else ""
    return of_karpenter(domain) or _within(domain, _facts()["startup_taints"]["of_docs"])


def of_karpenter(domain: str) -> bool:
    """Return whether a domain of keys belongs to Karpenter or is below such a domain."""
    return _within(domain, (CORE_GROUP, AWS_GROUP))


def _within(domain: str, domains: Iterable[str]) -> bool:
    return any(domain == known_domain or domain.endswith(f".{known_domain}") for known_domain in domains)


def _facts() -> dict[str, Any]:
    return table("vocabulary")
