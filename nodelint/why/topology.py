"""Spreads, and affinity to pods, of pods that run: how many pods of each kind are in which domain.

`Topology` and `TopologyGroup` of pkg/controllers/provisioning/scheduling of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import HOSTNAME
from nodelint.fit.pods import AFFINITY, ANTI_AFFINITY, SPREAD
from nodelint.model.requirement import normalize
from nodelint.why.values import Plain, listed, mapping, mappings, meets, text, whole

TYPE_CHECKING = False

if TYPE_CHECKING:
    from nodelint.why.pods import ClusterPod
    from nodelint.why.state import NodeState


class Constraint(NamedTuple):
    """A spread, or affinity to pods or against them: the label, the pods that count, and what is allowed.

    `group` names constraints that count alike. `unknown` says what of it is not known; empty where all is.
    """

    what: str
    key: str
    preferred: bool
    namespaces: frozenset[str] | None
    selector: object
    group: str
    skew: int = 1
    min_domains: int = 0
    honors_taints: bool = False
    honors_affinity: bool = True
    unknown: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether it counts pods on some nodes alone."""
        return self.what == SPREAD and (self.honors_affinity or self.honors_taints)

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it counts a pod with these labels. A spread without a selector counts none."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return meets(dict(labels), self.selector) is True

    @property
    def description(self) -> str:
        """Return it in a few words."""
        name = self.key.rpartition("/")[2]
        if self.what == SPREAD:
            return f"topologySpreadConstraints over {name} (maxSkew {self.skew})"
        return f"{'podAntiAffinity' if self.what == ANTI_AFFINITY else 'podAffinity'} by {name}"


def read_constraints(spec: Plain, namespace: str, labels: Mapping[str, str]) -> tuple[Constraint, ...]:
    """Return the spreads and affinities of a pod, preferred ones by their weight."""
    found = list(_read_spreads(spec, namespace, labels))
    for field, what in (("podAffinity", AFFINITY), ("podAntiAffinity", ANTI_AFFINITY)):
        stated = mapping(spec, "affinity", field)
        for term in mappings(stated.get("requiredDuringSchedulingIgnoredDuringExecution")):
            found += _read_term(term, what, False, namespace, labels)
        weighted = mappings(stated.get("preferredDuringSchedulingIgnoredDuringExecution"))
        for item in sorted(weighted, key=lambda item: -(whole(item.get("weight")) or 0)):
            found += _read_term(mapping(item.get("podAffinityTerm")), what, True, namespace, labels)
    return tuple(found)


def _read_spreads(spec: Plain, namespace: str, labels: Mapping[str, str]) -> Iterator[Constraint]:
    placed = json.dumps(
        [spec.get("nodeSelector"), mapping(spec, "affinity", "nodeAffinity")], sort_keys=True, default=str
    )
    for item in mappings(spec.get("topologySpreadConstraints")):
        key, stated = text(item.get("topologyKey")), item.get("whenUnsatisfiable")
        if not key or stated not in ("DoNotSchedule", "ScheduleAnyway"):
            continue
        selector = _with_label_keys(item.get("labelSelector"), item.get("matchLabelKeys"), labels)
        taints = item.get("nodeTaintsPolicy") == "Honor"
        affinity = item.get("nodeAffinityPolicy") != "Ignore"
        about = [SPREAD, key, namespace, selector, taints, affinity, placed, taints and spec.get("tolerations")]
        yield Constraint(
            SPREAD,
            normalize(key),
            stated == "ScheduleAnyway",
            frozenset({namespace}),
            selector,
            json.dumps(about, sort_keys=True, default=str),
            max(whole(item.get("maxSkew")) or 1, 1),
            whole(item.get("minDomains")) or 0,
            taints,
            affinity,
        )


def _read_term(
    term: Plain, what: str, preferred: bool, namespace: str, labels: Mapping[str, str]
) -> Iterator[Constraint]:
    key = text(term.get("topologyKey"))
    if not key:
        return
    named = [text(name) for name in listed(term.get("namespaces"))]
    wide = term.get("namespaceSelector")
    unknown = "which namespaces the namespaceSelector of its pod affinity selects" if mapping(wide) else ""
    spaces = None if isinstance(wide, dict) and not wide else frozenset(named or [namespace])
    selector = _with_label_keys(term.get("labelSelector"), term.get("matchLabelKeys"), labels)
    about = [what, key, sorted(spaces) if spaces is not None else None, selector]
    group = json.dumps(about, sort_keys=True, default=str)
    yield Constraint(what, normalize(key), preferred, spaces, selector, group, unknown=unknown)


def _with_label_keys(selector: object, keys: object, labels: Mapping[str, str]) -> object:
    """Return a selector with the pod's own values of `matchLabelKeys`."""
    own = [key for key in listed(keys) if isinstance(key, str) and key in labels]
    if not own or not isinstance(selector, dict):
        return selector
    more = [{"key": key, "operator": "In", "values": [labels[key]]} for key in own]
    return {**selector, "matchExpressions": [*mappings(selector.get("matchExpressions")), *more]}


class PodCounts:
    """Counts of the pods of a cluster, by constraint, each worked out once. Pods with like labels count together."""

    def __init__(self, nodes: Iterable[NodeState], zones: frozenset[str] | None) -> None:
        self._nodes = list(nodes)
        self._counts: dict[str, dict[str, int]] = {}
        self._by_labels: dict[tuple[str, frozenset[tuple[str, str]]], list[NodeState]] | None = None
        self._repelling: list[tuple[Constraint, list[NodeState]]] | None = None
        self._domains_of_repelling: dict[str, dict[str, int]] = {}
        self._against: dict[tuple[str, frozenset[tuple[str, str]]], list[Constraint]] = {}
        self.zones = zones
        self.work = 0

    def _grouped(self) -> dict[tuple[str, frozenset[tuple[str, str]]], list[NodeState]]:
        if self._by_labels is None:
            found: dict[tuple[str, frozenset[tuple[str, str]]], list[NodeState]] = {}
            for node in self._nodes:
                for pod in node.pods:
                    if pod.is_active:
                        found.setdefault((pod.namespace, frozenset(pod.labels.items())), []).append(node)
            self._by_labels = found
        return self._by_labels

    def count_pods(self, constraint: Constraint, counts_node: Mapping[int, bool] | None = None) -> dict[str, int]:
        """Return the number of pods that a constraint selects, by domain."""
        found = self._counts.get(constraint.group)
        if found is not None:
            return found
        found = {}
        for (namespace, labels), nodes in self._grouped().items():
            self.work += 1
            if not constraint.selects(namespace, dict(labels)):
                continue
            for node in nodes:
                self.work += 1
                domain = node.labels.get(constraint.key)
                if domain is not None and (counts_node is None or counts_node.get(id(node), True)):
                    found[domain] = found.get(domain, 0) + 1
        self._counts[constraint.group] = found
        return found

    def repelling(self) -> list[tuple[Constraint, list[NodeState]]]:
        """Return the required anti-affinity of running pods, each with the nodes of the pods that have it."""
        if self._repelling is None:
            found: dict[str, tuple[Constraint, list[NodeState]]] = {}
            for node in self._nodes:
                for pod in node.pods:
                    shape = pod.shape
                    if shape is None or not pod.is_active:
                        continue
                    for constraint in shape.constraints:
                        if constraint.what == ANTI_AFFINITY and not constraint.preferred:
                            found.setdefault(constraint.group, (constraint, []))[1].append(node)
            self._repelling = list(found.values())
        return self._repelling

    def repelling_for(self, pod: ClusterPod) -> list[Constraint]:
        """Return the required anti-affinity of running pods that is against a pod."""
        key = pod.namespace, frozenset(pod.labels.items())
        found = self._against.get(key)
        if found is None:
            found = [c for c, _ in self.repelling() if c.selects(pod.namespace, pod.labels)]
            self._against[key] = found
        return found

    def repelled_domains(self, constraint: Constraint, without: NodeState) -> Mapping[str, int]:
        """Return the domains in which pods with a required anti-affinity are, once a node is gone."""
        own = self._domains_of_repelling.get(constraint.group)
        if own is None:
            own = {}
            nodes = next((nodes for c, nodes in self.repelling() if c.group == constraint.group), [])
            for node in nodes:
                domain = node.labels.get(constraint.key)
                if domain is not None:
                    own[domain] = own.get(domain, 0) + 1
            self._domains_of_repelling[constraint.group] = own
        here = without.labels.get(constraint.key)
        gone = sum(
            pod.is_active
            and pod.is_reschedulable
            and pod.shape is not None
            and any(c.group == constraint.group for c in pod.shape.constraints)
            for pod in without.pods
        )
        if not gone or here is None:
            return own
        left = {**own, here: own.get(here, 0) - gone}
        return {domain: count for domain, count in left.items() if count > 0}


def is_hostname(constraint: Constraint) -> bool:
    """Whether each node is a domain of its own."""
    return constraint.key == HOSTNAME
