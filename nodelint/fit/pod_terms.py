"""What pods ask of nodes: tolerations, labels, host ports and topologies."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.text import Node

if TYPE_CHECKING:
    pass


SPREAD, AFFINITY, ANTI_AFFINITY = "topology spread", "pod affinity", "pod anti-affinity"


class Toleration(NamedTuple):
    """An entry of `tolerations`; None if a field is not written."""

    key: str | None
    operator: str
    value: str
    effect: str | None

    def tolerates(self, key: str, value: str, effect: str) -> bool:
        """Whether it tolerates a taint: `ToleratesTaint` of Kubernetes' core/v1, comparisons included."""
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
        """`Lt` and `Gt` of Kubernetes 1.35: the taint's number against the toleration's."""
        if self.operator not in ("Lt", "Gt"):
            return False
        try:
            theirs, ours = int(value), int(self.value)
        except ValueError:
            return False
        return theirs < ours if self.operator == "Lt" else theirs > ours


TOLERATES_ALL = Toleration(None, "Exists", "", None)


class LabelExpression(NamedTuple):
    """What is asked of one label: an entry of `matchExpressions` or of `nodeSelector`, and where it stands."""

    node: Node
    key: str
    operator: str
    values: tuple[str, ...]


class Term(NamedTuple):
    """A term of node affinity: its expressions, and whether it also matches fields."""

    node: Node
    expressions: tuple[LabelExpression, ...]
    fields: bool = False


class HostPort(NamedTuple):
    """A port of the node that a container takes."""

    ip: str
    port: int
    protocol: str

    def __str__(self) -> str:
        return f"{self.port}/{self.protocol}"

    def clashes(self, other: HostPort) -> bool:
        """Whether one node cannot give both."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        return self.ip == other.ip or self.ip in _ANY_ADDRESS or other.ip in _ANY_ADDRESS


_ANY_ADDRESS = ("0.0.0.0", "::")


class TopologyKey(NamedTuple):
    """A label over whose values pods are to be spread, or to be near to other pods or away from them.

    `what` is core's name of the constraint. `preferred`: the scheduler gives it up where nothing meets it.
    `honors_taints`: domains of nodes that the pod does not tolerate are none. `constraint` is the whole entry.
    """

    node: Node
    key: str
    what: str
    preferred: bool
    honors_taints: bool = True
    constraint: Node | None = None

    @property
    def min_domains(self) -> int:
        """The domains that there have to be, before one of them may have more pods than `maxSkew`; 0 for any."""
        return _whole_number(self.constraint, "minDomains") or 0

    @property
    def max_skew(self) -> int | None:
        """Return how many more pods one domain may have than another. None if that is not known."""
        return _whole_number(self.constraint, "maxSkew")

    @property
    def is_spread(self) -> bool:
        """Whether pods are to be spread, not near to pods or away from them."""
        return self.what == SPREAD


def _whole_number(constraint: Node | None, field: str) -> int | None:
    node = constraint.get(field) if constraint is not None else None
    return node.value if node is not None and isinstance(node.value, int) else None
