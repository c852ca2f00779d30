"""A NodePool without nodes as the scheduler sees it: types, limits, taints, and the DaemonSets of each type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.fit.ignored import HOSTNAME, requirements_of
from nodelint.fit.pod_terms import TOLERATES_ALL, HostPort, LabelExpression, Toleration
from nodelint.fit.pods import Daemon, Pod, add_requests
from nodelint.karpenter.launch_faults import find_launch_fault
from nodelint.karpenter.resolve import Resolution
from nodelint.karpenter.resolve.limits import limits
from nodelint.karpenter.resolve.node_size import sizes_of
from nodelint.karpenter.resolve.offers import PLACE_KEYS, RESERVATION_KEYS
from nodelint.model.gvk import AUTO_MODE_GROUP, AWS_GROUP
from nodelint.model.keys import CAPACITY_TYPE
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Taint
from nodelint.model.providers import karpenters_key
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known
from nodelint.text import UNKNOWN, Node

if TYPE_CHECKING:
    from nodelint.karpenter.controller import ControllerProblem
    from nodelint.karpenter.resolve.node_size import Resources
    from nodelint.model.manifest import Object
    from nodelint.releases.settings import ControllerFacts

DAEMONS_BY_TYPE = Version(1, 14, 0)
"""The first release that reserves resources for daemons per instance type, and only for types with an offering."""

NODES = "nodes"
_LIMITS_NODES = Version(1, 11, 0)
"""The first release whose scheduler launches nothing once a dynamic pool has reached its limit of nodes."""
_OF_OFFERS = PLACE_KEYS | RESERVATION_KEYS | {CAPACITY_TYPE}


def _holds_placeholder(node: Node) -> bool:
    """Return whether the node is a placeholder, or has a placeholder among its entries or items."""
    if node.value is UNKNOWN or any(entry.name is None for entry in node.entries):
        return True
    return any(item.value is UNKNOWN for item in node.items)


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


class DaemonGroup(NamedTuple):
    """Types on whose nodes the same DaemonSets run, and the total requests of these."""

    types: TypeSet
    requests: Resources
    daemons: tuple[Daemon, ...]

    def port_taken_from(self, pod: Pod) -> tuple[HostPort, Daemon] | None:
        """Return a host port that a DaemonSet uses and the pod needs too, with the DaemonSet; None if there
        is none.
        """
        ports = ((port, daemon) for daemon in self.daemons for port in daemon.pod.ports)
        return next((taken for taken in ports if any(port.clashes(taken[0]) for port in pod.ports)), None)


class EmptyPool:
    """A NodePool without nodes, as the scheduler sees it.

    `template` are the requirements for DaemonSets; `requirements` are those of NodeClaims, with a hostname.
    `candidates` are the types that meet the requirements and have allocatable resources; `allowed` are the candidates
    within the limits. Unknown facts leave both larger than they may be. `beside` are all pools of the run, including
    this one.
    """

    def __init__(self, resolution: Resolution, policies: Policies = DEFAULT_POLICIES) -> None:
        self.resolution = resolution
        self.policies = policies
        self.pool: NodePool = resolution.pool
        self.release = resolution.version
        sizes = sizes_of(resolution.node_class, resolution.images, resolution.catalog)
        self.sizes = sizes.with_overlays(resolution.overlay_capacity, policies.overlays_in_effect is True)
        self.template = self._template()
        self.requirements = self.template.copy()
        self.requirements.add(Requirement.parse(HOSTNAME, "In", ("hostname-placeholder",)))
        self.known = well_known(self.release) | self._open_keys
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
    def any_key(self) -> bool:
        """Return whether nodes may have labels that the file does not show: a key is a placeholder, or the pool is a
        fragment.
        """
        keys = (*(line.key for line in self.pool.requirements), *(label.key for label in self.pool.template_labels))
        if self.pool.partial or UNKNOWN in keys:
            return True
        metadata = self.pool.node.find("spec", "template", "metadata")
        labels = metadata.get("labels") if metadata is not None else None
        holders = (metadata, labels, self.pool.requirements_node)
        return any(node is not None and _holds_placeholder(node) for node in holders)

    @cached_property
    def _open_keys(self) -> frozenset[str]:
        """Return the keys of the pool's labels and requirements whose values are not known."""
        labels = (label.key for label in self.pool.template_labels if not isinstance(label.value, str))
        lines = (line.key for line in self.pool.requirements if not line.known)
        return frozenset(normalize(key) for key in (*labels, *lines) if isinstance(key, str))

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

    def _template(self) -> Requirements:
        found = self.resolution.requirements.copy()
        ref = self.pool.class_ref
        own: dict[str, str] = {}
        if self.is_of_auto_mode:
            own[f"{AUTO_MODE_GROUP}/compute-type"] = "auto"
        if ref is not None and isinstance(ref.name, str):
            own[f"{AUTO_MODE_GROUP}/nodeclass" if self.is_of_auto_mode else f"{AWS_GROUP}/ec2nodeclass"] = ref.name
        if self.release >= DAEMONS_BY_TYPE:
            own |= {"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
        found.add(*Requirements.from_labels(own))
        return found

    def in_karpenters_labels(self, pod: Pod) -> Pod:
        """Return the pod with EKS Auto Mode's label keys replaced by Karpenter's.

        Pods for other pools are unchanged.
        """
        if not self.is_of_auto_mode:
            return pod

        def renamed(expressions: Iterable[LabelExpression]) -> tuple[LabelExpression, ...]:
            return tuple([e._replace(key=karpenters_key(e.key, "auto-mode")) for e in expressions])

        return pod._replace(
            selector=renamed(pod.selector),
            terms=tuple([term._replace(expressions=renamed(term.expressions)) for term in pod.terms]),
            preferred=tuple([term._replace(expressions=renamed(term.expressions)) for term in pod.preferred]),
        )

    @cached_property
    def node_requirements(self) -> Requirements:
        """Return the labels of the pool's nodes after registration and initialization, whatever the release."""
        found = self.requirements.copy()
        found.add(*Requirements.from_labels({"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}))
        return found

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Return the taints of the pool whose key and effect are no placeholders."""
        return tuple(t for t in self.pool.taints if isinstance(t.key, str) and isinstance(t.effect, str))

    @cached_property
    def candidates(self) -> TypeSet:
        """Return the types that meet the pool's requirements and whose allocatable resources are not negative."""
        return self.sizes.holding({}, self.resolution.candidates)

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
        return self.release >= _LIMITS_NODES and self.limits.get(NODES) == 0 and not self.pool.static

    @cached_property
    def allowed(self) -> TypeSet:
        """Return the candidates within the pool's limits."""
        most = {r: amount for r, amount in self.limits.items() if r != NODES}
        return self.candidates if not most or self.pool.static else self.sizes.within(most, self.candidates)

    def untolerated(self, tolerations: Sequence[Toleration], soft: bool) -> Taint | None:
        """Return the first untolerated taint of the pool; None if there is none.

        PreferNoSchedule counts if `soft` is true.
        """
        for taint in self.taints:
            effect, value = str(taint.effect), taint.value if isinstance(taint.value, str) else ""
            if effect == "PreferNoSchedule" and not soft:
                continue
            if taint.value is not None and not isinstance(taint.value, str):
                continue
            if not any(toleration.tolerates(str(taint.key), value, effect) for toleration in tolerations):
                return taint
        return None

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

    def daemon_types(self, pod: Pod) -> TypeSet:
        """Return the types on whose nodes Karpenter certainly counts a DaemonSet's pod.

        `isDaemonPodCompatible` of scheduler.go drops required terms that a type does not meet, also for the types
        that follow. The order of the types is not known, so the last term counts, or one that all types meet.
        """
        if self.untolerated(pod.tolerations, soft=False) is not None:
            return NONE
        if self._any_taint and TOLERATES_ALL not in pod.tolerations:
            return NONE
        found = NONE
        for term in pod.terms or (None,):
            expressions = (*pod.selector, *(term.expressions if term is not None else ()))
            found = self._meeting_daemon(expressions)
            if not self.candidates - found:
                break
        return found

    def _meeting_daemon(self, expressions: Sequence[LabelExpression]) -> TypeSet:
        """Return the types that certainly meet the expressions of one term of a DaemonSet's pod."""
        if any(self._may_have(normalize(expression.key)) for expression in expressions):
            return NONE
        requirements = requirements_of(expressions, self.release)
        if self.clash(self.template, requirements) is not None:
            return NONE
        by_type = self.release >= DAEMONS_BY_TYPE
        return self.meeting(requirements, self.candidates) if by_type else self.candidates

    def _may_have(self, key: str) -> bool:
        """Return whether nodes may have a label with this key that the file does not show, or with an
        unknown value.
        """
        return key in self._open_keys or (self.any_key and key not in well_known(self.release))

    @cached_property
    def _any_taint(self) -> bool:
        """Return whether the pool may have taints that the file does not show."""
        taints = self.pool.find_field("spec", "template", "spec", "taints")
        if self.pool.partial or (taints is not None and _holds_placeholder(taints)):
            return True
        return any(UNKNOWN in (taint.key, taint.value, taint.effect) for taint in self.pool.taints)

    def groups(self, daemons: Iterable[Daemon]) -> list[DaemonGroup]:
        """Return the candidates, grouped by the DaemonSets that run on their nodes."""
        parts: list[tuple[TypeSet, tuple[Daemon, ...]]] = [(self.candidates, ())]
        for daemon in daemons:
            types = self.daemon_types(daemon.pod)
            split = []
            for remaining, before in parts:
                if remaining & types:
                    split.append((remaining & types, (*before, daemon)))
                if remaining - types:
                    split.append((remaining - types, before))
            parts = split
        return [
            DaemonGroup(types, add_requests(daemon.pod.requests for daemon in present), present)
            for types, present in parts
        ]
