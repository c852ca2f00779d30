"""Types for a pod's scheduling fields: tolerations, label expressions, host ports and topologies."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.text import Node

if TYPE_CHECKING:
    pass


SPREAD, AFFINITY, ANTI_AFFINITY = "topology spread", "pod affinity", "pod anti-affinity"


class Toleration(NamedTuple):
    """An entry of `tolerations`. `key` and `effect` are None if the field is not written."""

    key: str | None
    operator: str
    value: str
    effect: str | None

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """Return whether the toleration covers a taint, as `ToleratesTaint` of Kubernetes' core/v1 does, with `Lt`
        and `Gt`.
        """
        if self.effect and self.effect != effect:
            return False
        if self.key and self.key != key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == value
        if self.operator == "Exists":
            return True
        return self._compares(value)

    def _compares(self, value: str) -> bool:
        """Return whether the taint's number is below (`Lt`) or above (`Gt`) the toleration's (Kubernetes 1.35)."""
        if self.operator not in ("Lt", "Gt"):
            return False
        try:
            theirs, ours = int(value), int(self.value)
        except ValueError:
            return False
        return theirs < ours if self.operator == "Lt" else theirs > ours


TOLERATES_ALL = Toleration(None, "Exists", "", None)


class LabelExpression(NamedTuple):
    """A condition on one label: an entry of `matchExpressions` or of `nodeSelector`, and its node in the file."""

    node: Node
    key: str
    operator: str
    values: tuple[str, ...]


class Term(NamedTuple):
    """A term of node affinity: its expressions, and whether it has `matchFields`."""

    node: Node
    expressions: tuple[LabelExpression, ...]
    fields: bool = False


class HostPort(NamedTuple):
    """A port of the node that a container uses."""

    ip: str
    port: int
    protocol: str

    def __str__(self) -> str:
        return f"{self.port}/{self.protocol}"

    def clashes(self, other: HostPort) -> bool:
        """Return whether one node cannot provide both ports."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or self.ip in _ANY_ADDRESS or other.ip in _ANY_ADDRESS


_ANY_ADDRESS = ("0.0.0.0", "::")


class TopologyKey(NamedTuple):
    """A label key over whose values pods are spread, or near other pods, or apart from them.

    `what` is core's name of the constraint. `preferred`: the scheduler may drop the constraint. `honors_taints`:
    domains of nodes with untolerated taints do not count. `constraint` is the whole entry.
    """

    node: Node
    key: str
    what: str
    preferred: bool
    honors_taints: bool = True
    constraint: Node | None = None

    @property
    def min_domains(self) -> int:
        """Return `minDomains` of the constraint; 0 if it is not set or not known."""
        return _whole_number(self.constraint, "minDomains") or 0

    @property
    def max_skew(self) -> int | None:
        """Return `maxSkew` of the constraint. None if it is not set or not known."""
        return _whole_number(self.constraint, "maxSkew")

    @property
    def is_spread(self) -> bool:
        """Return whether the constraint is a topology spread, not an affinity or anti-affinity."""
        return self.what == SPREAD


def _whole_number(constraint: Node | None, field: str) -> int | None:
    node = constraint.get(field) if constraint is not None else None
    return node.value if node is not None and isinstance(node.value, int) else None
