"""A NodePool without nodes as the scheduler sees it: its requirements, types, limits and offerings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import TypeSet
from nodelint.fit.ignored import HOSTNAME
from nodelint.fit.pool_labels import PoolLabels
from nodelint.fit.pool_taints import PoolTaints
from nodelint.karpenter.launch_faults import find_launch_fault
from nodelint.karpenter.resolve import Resolution
from nodelint.karpenter.resolve.limits import limits
from nodelint.karpenter.resolve.node_size import sizes_of
from nodelint.karpenter.resolve.offers import PLACE_KEYS, RESERVATION_KEYS
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.model.manifest import NodePool
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements

if TYPE_CHECKING:
    from nodelint.karpenter.controller import ControllerProblem
    from nodelint.model.manifest import Object
    from nodelint.releases.settings import ControllerFacts
    from nodelint.text import Node

DAEMONS_BY_TYPE = Version(1, 14, 0)
"""The first release that reserves resources for daemons per instance type, and only for types with an offering."""

REGISTERED = {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
"""The labels that a node gets when it is registered and initialized."""

NODES = "nodes"
LIMITS_NODES = Version(1, 11, 0)
"""The first release whose scheduler launches nothing once a dynamic pool has reached its limit of nodes."""
_OF_OFFERS = PLACE_KEYS | RESERVATION_KEYS | {CAPACITY_TYPE}


class Policies(NamedTuple):
    """The controller settings that affect scheduling; a setting that no file states has Karpenter's default.

    `preferences_ignored`: pods are scheduled without their preferences; None if this is not known.
    `overlays_in_effect`: the feature gate NodeOverlay is on; None if no file sets it. `claims_ignored`: pods with
    resource claims are ignored (the default since 1.7.0).
    """

    min_values_relaxed: bool = False
    preferences_ignored: bool | None = False
    overlays_in_effect: bool | None = None
    claims_ignored: bool = True


@lru_cache(maxsize=64)
def read_policies(settings: ControllerFacts) -> Policies:
    """Return the policies of the settings.

    A value that could not be read counts as the setting that accepts more pods.
    """
    return Policies(
        settings.setting("MIN_VALUES_POLICY") == "BestEffort" or settings.is_open("MIN_VALUES_POLICY"),
        None if settings.is_open("PREFERENCE_POLICY") else settings.setting("PREFERENCE_POLICY") == "Ignore",
        settings.gate("NodeOverlay"),
        settings.setting("IGNORE_DRA_REQUESTS") != "false"
        and not settings.is_open("IGNORE_DRA_REQUESTS")
        and not any(settings.gate(gate) for gate in ("DRANVIDIAGPU", "DRAEFA")),
    )


DEFAULT_POLICIES = Policies()


class EmptyPool:
    """A NodePool without nodes, as the scheduler sees it.

    `template` are the requirements for DaemonSets; `requirements` are those of NodeClaims, with a hostname.
    `candidates` are the types that meet the requirements and have allocatable resources; `allowed` are the candidates
    within the limits. Unknown facts leave both larger than they may be. `labels` and `taints` are those of its nodes.
    `beside` are all pools of the run, including this one.
    """

    def __init__(self, resolution: Resolution, policies: Policies = DEFAULT_POLICIES) -> None:
        self.resolution = resolution
        self.policies = policies
        self.pool: NodePool = resolution.pool
        self.release = resolution.version
        sizes = sizes_of(resolution.node_class, resolution.images, resolution.catalog)
        self.sizes = sizes.with_overlays(resolution.overlay_capacity, policies.overlays_in_effect is True)
        self.labels = PoolLabels(self.pool, self.release)
        self.taints = PoolTaints(self.pool)
        self.template = _template(resolution)
        self.requirements = self.template.copy()
        self.requirements.add(Requirement.parse(HOSTNAME, "In", ("hostname-placeholder",)))
        self.beside: Sequence[EmptyPool] = (self,)

    @property
    def name(self) -> str:
        """Return the name of the pool, or the placeholder that replaces it."""
        return self.pool.name if isinstance(self.pool.name, str) else self.pool.name_node.unquoted

    @cached_property
    def blocker(self) -> tuple[Object, ControllerProblem] | None:
        """Return the NodePool or class that keeps Karpenter from launching nodes, and the problem; None if nothing
        does.
        """
        return find_launch_fault(self.pool, self.resolution.node_class, self.release)

    @property
    def is_of_auto_mode(self) -> bool:
        """Return whether EKS Auto Mode launches the pool's nodes."""
        return self.pool.provider == "auto-mode"

    @property
    def order(self) -> tuple[int, list[int]]:
        """Return a sort key in the order in which Karpenter tries pools: highest weight first, then names in reverse
        order.
        """
        return -(self.pool.weight or 0), [*(-ord(character) for character in self.name), 1]

    @property
    def exact(self) -> bool:
        """Return whether the pool's types and their allocatable resources are fully known."""
        return self.resolution.complete and self.sizes.exact

    @cached_property
    def candidates(self) -> TypeSet:
        """Return the types that meet the pool's requirements and whose allocatable resources are not negative."""
        return self.sizes.holding({}, self.resolution.candidates)

    @property
    def at_cause(self) -> Node:
        """Return the node in which a pool without candidates excludes the last types: a field of its class, a
        requirement, or all requirements.
        """
        excluded, clash = self.resolution.class_exclusion, self.resolution.clash
        if excluded is not None and excluded.at is not None:
            return excluded.at
        excluding = self.resolution.dead_lines[:1] or (clash or ())[1:]
        return excluding[0].node if excluding else self.pool.requirements_node or self.pool.name_node

    @cached_property
    def unmet(self) -> str | None:
        """Return the first key whose minValues the pool's own types do not meet; None if they meet all."""
        return self.unmet_among(self.candidates)

    def unmet_among(self, types: TypeSet) -> str | None:
        """Return the first key whose minValues the types do not meet; None if they do or the controller relaxes
        minValues.
        """
        for least in self.resolution.min_values if types and not self.policies.min_values_relaxed else ():
            if not self.resolution.meets(least, types):
                return least.key
        return None

    @cached_property
    def limits(self) -> dict[str, int]:
        """Return the known limits of the pool in billionths (1e-9) of the unit, by resource."""
        return {limit.resource: limit.amount for limit in limits(self.pool) if limit.amount is not None}

    @property
    def exhausted(self) -> bool:
        """Return whether `limits.nodes` is 0, so that the pool may launch no node.

        False for a static pool, which keeps its number of nodes whatever the limit.
        """
        return self.release >= LIMITS_NODES and self.limits.get(NODES) == 0 and not self.pool.static

    @cached_property
    def allowed(self) -> TypeSet:
        """Return the candidates within the pool's limits."""
        most = {r: amount for r, amount in self.limits.items() if r != NODES}
        return self.candidates if not most or self.pool.static else self.sizes.within(most, self.candidates)

    @cached_property
    def own_types(self) -> tuple[TypeSet, TypeSet]:
        """Return the types that meet the pool's own requirements, and the types with an offering that meets them."""
        return self.meeting(self.requirements, self.allowed), self.offered(self.requirements, self.allowed)

    def meeting(self, requirements: Iterable[Requirement], types: TypeSet) -> TypeSet:
        """Return the instance types compatible with the requirements (core's `Intersects`)."""
        supply = self.resolution.supply
        places = self.resolution.places
        for requirement in requirements:
            by_offers = places is not None and requirement.key in places.keys
            types &= (
                places.types_meeting([requirement])
                if by_offers and places is not None
                else supply.select(requirement)
            )
        return types

    def offered(self, requirements: Iterable[Requirement], types: TypeSet) -> TypeSet:
        """Return the types with one offering that meets all requirements on zone, capacity type and reservation."""
        supply, places = self.resolution.supply, self.resolution.places
        of_offers = [
            requirement
            for requirement in requirements
            if requirement.key in (_OF_OFFERS if places is None else places.keys)
        ]
        if places is not None:
            return types & places.types_meeting(of_offers) if of_offers else types
        for requirement in of_offers:
            types &= supply.select(requirement)
        return types


def _template(resolution: Resolution) -> Requirements:
    """Return the requirements that the scheduler compares with DaemonSets."""
    found = resolution.requirements.copy()
    of_auto_mode, ref = resolution.pool.provider == "auto-mode", resolution.pool.class_ref
    own: dict[str, str] = {}
    if of_auto_mode:
        own[f"{AUTO_MODE_GROUP}/compute-type"] = "auto"
    if ref is not None and isinstance(ref.name, str):
        own[f"{AUTO_MODE_GROUP}/nodeclass" if of_auto_mode else f"{AWS_GROUP}/ec2nodeclass"] = ref.name
    if resolution.version >= DAEMONS_BY_TYPE:
        own |= REGISTERED
    found.add(*Requirements.from_labels(own))
    return found
