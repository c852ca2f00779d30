"""The requirements of a NodePool, including the labels of its template, which count as requirements."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Label, RequirementLine, Value
from nodelint.model.providers import karpenters_key, providers_key
from nodelint.model.requirement import normalize
from nodelint.text import Node


class PoolRequirement(NamedTuple):
    """A requirement of a NodePool, or a label of its template, which counts as a requirement.

    `key` is the key as Karpenter normalises it (for a pool of Auto Mode, Karpenter's label of that name), `written`
    the key in the file. `values` are all values in the file, including those that hold a placeholder.
    """

    at: RequirementLine | Label
    key: str
    written: str
    operator: str
    values: tuple[Value, ...]

    @property
    def node(self) -> Node:
        """Return the node of the requirement, or of the label's value."""
        return self.at.node

    @property
    def key_node(self) -> Node:
        """Return the node of the key."""
        return self.at.key_node

    @property
    def is_label(self) -> bool:
        """Return whether this is a label of `spec.template.metadata.labels`."""
        return isinstance(self.at, Label)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the values without those that hold a placeholder."""
        return tuple([value.text for value in self.values if isinstance(value.text, str)])

    @property
    def known(self) -> bool:
        """Return whether all values of the requirement are known: none holds a placeholder."""
        return all(isinstance(value.text, str) for value in self.values)


def requirements_of(pool: NodePool) -> tuple[PoolRequirement, ...]:
    """Return the requirements and template labels of a pool in the order of the file, if their key and operator are
    known.
    """
    return pool.once("asked", (), lambda: tuple(_iterate_requirements(pool)))


def _iterate_requirements(pool: NodePool) -> Iterator[PoolRequirement]:
    for line in pool.requirements:
        if isinstance(line.key, str) and isinstance(line.operator, str):
            yield PoolRequirement(line, asks(pool, line.key), line.key, line.operator, line.values)
    for label in pool.template_labels:
        if isinstance(label.key, str):
            yield PoolRequirement(label, asks(pool, label.key), label.key, "In", (Value(label.value, label.node),))


def asks(pool: NodePool, written: str) -> str:
    """Return the normalised label of a key that a pool writes.

    For a pool of EKS Auto Mode it is Karpenter's label of the same name.
    """
    return normalize(karpenters_key(written, pool.provider))


def key_in_domain(pool: NodePool, key: str) -> str:
    """Return a label key as a pool must write it: Auto Mode has the labels of instance types in its own domain."""
    return providers_key(key, pool.provider)


def find_last_requirement(pool: NodePool, key: str) -> PoolRequirement | None:
    """Return the last requirement or label of a pool for a key.

    None if there is none.
    """
    return next((item for item in reversed(requirements_of(pool)) if item.key == key), None)


def values_at(item: PoolRequirement) -> Node:
    """Return the node of a requirement's values, or of the whole requirement if it has none."""
    return item.node if isinstance(item.at, Label) else item.at.values_node
