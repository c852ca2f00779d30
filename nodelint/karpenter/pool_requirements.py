"""What a NodePool asks of nodes: its requirements, and the labels of its template, which count as such."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Label, RequirementLine, Value
from nodelint.model.providers import karpenters_key, providers_key
from nodelint.model.requirement import normalize
from nodelint.text import Node


class PoolRequirement(NamedTuple):
    """What a requirement or a label of the template asks: both count as requirements.

    `key` is the key as Karpenter normalises it (of a pool of Auto Mode: Karpenter's label of that name), `written`
    the one that stands there. `values` are all
    that are written, those that hold a placeholder too.
    """

    at: RequirementLine | Label
    key: str
    written: str
    operator: str
    values: tuple[Value, ...]

    @property
    def node(self) -> Node:
        """Return the requirement's entry, or the label's value."""
        return self.at.node

    @property
    def key_node(self) -> Node:
        """Return where the key stands."""
        return self.at.key_node

    @property
    def is_label(self) -> bool:
        """Whether it is a label of `spec.template.metadata.labels`."""
        return isinstance(self.at, Label)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the values that are known texts."""
        return tuple([value.text for value in self.values if isinstance(value.text, str)])

    @property
    def known(self) -> bool:
        """Whether every value is a known text."""
        return all(isinstance(value.text, str) for value in self.values)


def requirements_of(pool: NodePool) -> tuple[PoolRequirement, ...]:
    """Return what a pool asks in the order written, as far as key and operator are known."""
    return pool.once("asked", (), lambda: tuple(_iterate_requirements(pool)))


def _iterate_requirements(pool: NodePool) -> Iterator[PoolRequirement]:
    for line in pool.requirements:
        if isinstance(line.key, str) and isinstance(line.operator, str):
            yield PoolRequirement(line, asks(pool, line.key), line.key, line.operator, line.values)
    for label in pool.template_labels:
        if isinstance(label.key, str):
            yield PoolRequirement(label, asks(pool, label.key), label.key, "In", (Value(label.value, label.node),))


def asks(pool: NodePool, written: str) -> str:
    """Return the normalised label that a key of a pool stands for.

    For a pool of EKS Auto Mode it is Karpenter's label of the same name.
    """
    return normalize(karpenters_key(written, pool.provider))


def key_in_domain(pool: NodePool, key: str) -> str:
    """Return a label key as a pool writes it: Auto Mode has those of instance types in its own domain."""
    return providers_key(key, pool.provider)


def find_last_requirement(pool: NodePool, key: str) -> PoolRequirement | None:
    """Return the last requirement or label of a pool on a key, which is the one that narrows.

    None if there is none.
    """
    return next((item for item in reversed(requirements_of(pool)) if item.key == key), None)


def values_at(item: PoolRequirement) -> Node:
    """Return where the values of what is asked stand; the whole entry where there are none."""
    return item.node if isinstance(item.at, Label) else item.at.values_node
