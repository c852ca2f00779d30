"""How many pods of each kind are in which domain: what spreads, and affinity to pods, count.

`Topology` and `TopologyGroup` of pkg/controllers/provisioning/scheduling of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodelint.fit.pods import ANTI_AFFINITY
from nodelint.why.constraints import Constraint
from nodelint.why.pods import ClusterPod
from nodelint.why.state import NodeState


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
