"""The labels of a NodePool's nodes, as far as its file shows them, compared with what pods require."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod
from nodelint.model.manifest import NodePool
from nodelint.model.providers import karpenters_key
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements, normalize, well_known
from nodelint.text import UNKNOWN, Node


class PoolLabels:
    """The labels of a pool's nodes.

    `known` are the well-known keys of the release, and the keys whose values are not known.
    """

    def __init__(self, pool: NodePool, release: Version) -> None:
        self._pool = pool
        self._release = release
        labels = (label.key for label in pool.template_labels if not isinstance(label.value, str))
        lines = (line.key for line in pool.requirements if not line.known)
        self._open_keys = frozenset(normalize(key) for key in (*labels, *lines) if isinstance(key, str))
        self.known = well_known(release) | self._open_keys

    @cached_property
    def any_key(self) -> bool:
        """Return whether nodes may have labels that the file does not show: a key is a placeholder, or the pool is a
        fragment.
        """
        keys = (*(line.key for line in self._pool.requirements), *(label.key for label in self._pool.template_labels))
        if self._pool.partial or UNKNOWN in keys:
            return True
        metadata = self._pool.node.find("spec", "template", "metadata")
        labels = metadata.get("labels") if metadata is not None else None
        holders = (metadata, labels, self._pool.requirements_node)
        return any(node is not None and holds_placeholder(node) for node in holders)

    def clash(self, existing: Requirements, requirements: Requirements) -> str | None:
        """Return the first key on which the requirements are certainly incompatible with the existing ones
        (`Compatible`).

        None if they may be compatible.
        """
        return existing.compatible(requirements, self.known | requirements.keys() if self.any_key else self.known)

    def lacks(self, key: str, requirements: Requirements) -> bool:
        """Return whether nodes that meet the requirements certainly have no label with this key."""
        key = normalize(key)
        return not self.any_key and key not in requirements and key not in self.known

    def may_have(self, key: str) -> bool:
        """Return whether nodes may have a label with this key that the file does not show, or with an
        unknown value.
        """
        return key in self._open_keys or (self.any_key and key not in well_known(self._release))

    def translate(self, pod: Pod) -> Pod:
        """Return the pod with EKS Auto Mode's label keys replaced by Karpenter's.

        Pods for other pools are unchanged.
        """
        if self._pool.provider != "auto-mode":
            return pod

        def renamed(expressions: Iterable[LabelExpression]) -> tuple[LabelExpression, ...]:
            return tuple([e._replace(key=karpenters_key(e.key, "auto-mode")) for e in expressions])

        return pod._replace(
            selector=renamed(pod.selector),
            terms=tuple([term._replace(expressions=renamed(term.expressions)) for term in pod.terms]),
            preferred=tuple([term._replace(expressions=renamed(term.expressions)) for term in pod.preferred]),
        )


def holds_placeholder(node: Node) -> bool:
    """Return whether the node is a placeholder, or has a placeholder among its entries or items."""
    if node.value is UNKNOWN or any(entry.name is None for entry in node.entries):
        return True
    return any(item.value is UNKNOWN for item in node.items)
