"""Taints by their keys: who sets, removes and tolerates them, and which of them a slip was meant to be."""

from __future__ import annotations

from collections.abc import Iterable

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.karpenter.spelling import distance, squash
from nodelint.model.gvk import AWS_GROUP, CORE_GROUP

if TYPE_CHECKING:
    from typing import Any


class TaintOwner(NamedTuple):
    """Who sets and removes a taint, and the effects that it has then."""

    name: str
    effects: tuple[str, ...]


def owner_of_taint(key: str) -> TaintOwner | None:
    """Who sets and removes the taint of a key on nodes itself; None for taints of one's own."""
    fact = _facts()["owned_taints"].get(key)
    return None if fact is None else TaintOwner(fact["owner"], tuple(fact["effects"]))


def remover_of_taint(key: str) -> str | None:
    """Return the known program that takes a startup taint of a key off nodes; None if none is known."""
    facts = _facts()["startup_taints"]
    found = facts["removed"].get(key)
    if found is None:
        found = next((name for prefix, name in facts["prefixes"].items() if key.startswith(prefix)), None)
    return None if found is None else str(found)


def meant_taint(key: str, startup: bool) -> str | None:
    """Return the taint that programs remove (`startup`) or tolerate, and that a key was meant to be; else None."""
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
    """Whether no program can be expected to remove a taint: it is of a docs' domain, or of Karpenter's own."""
    domain = key.partition("/")[0] if "/" in key else ""
    return of_karpenter(domain) or _within(domain, _facts()["startup_taints"]["of_docs"])


def of_karpenter(domain: str) -> bool:
    """Whether a domain of keys is Karpenter's own, or below it."""
    return _within(domain, (CORE_GROUP, AWS_GROUP))


def _within(domain: str, domains: Iterable[str]) -> bool:
    return any(domain == known_domain or domain.endswith(f".{known_domain}") for known_domain in domains)


def _facts() -> dict[str, Any]:
    return table("vocabulary")
