"""Images that an alias of a class resolves to: they differ on another Kubernetes version, or with another alias
version.
"""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import EC2NodeClass
from nodelint.plan.reasons import Reason
from nodelint.plan.values import ValueChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nodelint.plan.matching import Pair
    from nodelint.text import Node


def other_images(old: EC2NodeClass, new: EC2NodeClass, moved: tuple[str, str]) -> list[Reason]:
    """Return the reasons why a class has other images on another Kubernetes version: one for each alias that does not
    change.

    An alias that is added or removed is a change of the class itself. Source: provider
    pkg/providers/amifamily/ami.go@v1.14.1 (the parameters of an alias contain the cluster's version).
    """
    before = {alias.unquoted for alias in _aliases(old)}
    return [
        Reason(
            "AMIDrift",
            alias,
            alias.path,
            "all",
            ValueChange(f"{alias.unquoted} on Kubernetes {moved[0]}", f"{alias.unquoted} on Kubernetes {moved[1]}"),
            of_cluster=True,
        )
        for alias in _aliases(new)
        if alias.unquoted in before
    ]


def has_alias(pairs: Iterable[Pair]) -> bool:
    """Return whether one of the classes selects images by the cluster's version, on one side."""
    classes = (obj for pair in pairs for obj in (pair.old, pair.new) if isinstance(obj, EC2NodeClass))
    return any(map(_aliases, classes))


def _aliases(node_class: EC2NodeClass) -> list[Node]:
    """Return the nodes that select images by the cluster's version: aliases, or the family of a class without
    terms.
    """
    terms = node_class.node.find("spec", "amiSelectorTerms")
    if terms is not None and terms.items:
        return [alias for term in terms.items if (alias := term.get("alias")) is not None]
    family = node_class.node.find("spec", "amiFamily")
    return [family] if family is not None and family.value != "Custom" else []


def moved_aliases(old: EC2NodeClass, new: EC2NodeClass) -> list[Reason]:
    """Return the reason for drift if a pinned alias replaces another one of its family: their images differ.

    Empty if the class has other terms as well, or if an alias is at `latest`, which may be the same version.
    """
    before, after = _pinned_aliases(old), _pinned_aliases(new)
    if (
        before is None
        or after is None
        or before[0] == after[0]
        or before[0].partition("@")[0] != after[0].partition("@")[0]
    ):
        return []
    alias = after[1]
    change = ValueChange(before[0], after[0])
    return [Reason("AMIDrift", alias, alias.path, "all", change)]


def _pinned_aliases(node_class: EC2NodeClass) -> tuple[str, Node] | None:
    terms = node_class.node.find("spec", "amiSelectorTerms")
    alias = terms.items[0].get("alias") if terms is not None and len(terms.items) == 1 else None
    text = alias.value if alias is not None else None
    return (text, alias) if alias is not None and isinstance(text, str) and not text.endswith("@latest") else None
