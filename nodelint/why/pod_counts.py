"""The number of running pods in each domain that a topology spread or pod affinity counts.

Source: `Topology` and `TopologyGroup` of pkg/controllers/provisioning/scheduling of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from nodelint.fit.pod_terms import ANTI_AFFINITY
from nodelint.why.constraints import Constraint
from nodelint.why.label_index import ConstraintIndex, PodIndex
from nodelint.why.pods import ClusterPod
from nodelint.why.state import NodeState, node_label


class PodCounts:
    """Counts of the pods of a cluster, cached by constraint. Pods with equal labels are counted together."""

    def __init__(self, nodes: Iterable[NodeState]) -> None:
        self._nodes = list(nodes)
        self._counts: dict[str, dict[str, int]] = {}
        self._domains_of_repelling: dict[str, dict[str, int]] = {}
        self._against: dict[tuple[str, frozenset[tuple[str, str]]], list[Constraint]] = {}
        self._work = 0

    @property
    def work(self) -> int:
        """Return the number of pods and constraints that were examined (a measure for growth tests)."""
        return self._work + self._pods.work + self._repelling.work

    @cached_property
    def _pods(self) -> PodIndex[list[NodeState]]:
        """Return an index from namespace and labels to the nodes that run active pods with these labels."""
        alike: dict[tuple[str, frozenset[tuple[str, str]]], list[NodeState]] = {}
        found: PodIndex[list[NodeState]] = PodIndex()
        for node in self._nodes:
            for pod in node.pods:
                if not pod.is_active:
                    continue
                key = pod.namespace, frozenset(pod.labels.items())
                if key not in alike:
                    alike[key] = []
                    found.add(pod.namespace, pod.labels, alike[key])
                alike[key].append(node)
        return found

    def count_pods(self, constraint: Constraint, counts_node: Mapping[int, bool] | None = None) -> dict[str, int]:
        """Return the number of pods that a constraint selects, by domain."""
        found = self._counts.get(constraint.group)
        if found is not None:
            return found
        found = {}
        for nodes in self._pods.selected(constraint):
            for node in nodes:
                self._work += 1
                domain = node_label(node, constraint.key)
                if domain is not None and (counts_node is None or counts_node.get(id(node), True)):
                    found[domain] = found.get(domain, 0) + 1
        self._counts[constraint.group] = found
        return found

    @cached_property
    def _nodes_of_repelling(self) -> dict[str, tuple[Constraint, list[NodeState]]]:
        """Return each required anti-affinity of running pods, with the nodes of the pods that have it."""
        found: dict[str, tuple[Constraint, list[NodeState]]] = {}
        for node in self._nodes:
            for pod in node.pods:
                if pod.shape is None or not pod.is_active:
                    continue
                for constraint in required_anti_affinity(pod):
                    found.setdefault(constraint.group, (constraint, []))[1].append(node)
        return found

    @cached_property
    def _repelling(self) -> ConstraintIndex[str]:
        found: ConstraintIndex[str] = ConstraintIndex()
        for group, (constraint, _) in self._nodes_of_repelling.items():
            found.add(constraint, group)
        return found

    def repelling_for(self, pod: ClusterPod) -> list[Constraint]:
        """Return the required anti-affinities of running pods that exclude the pod."""
        key = pod.namespace, frozenset(pod.labels.items())
        found = self._against.get(key)
        if found is None:
            found = self._against[key] = [c for c, _ in self._repelling.selecting(pod.namespace, pod.labels)]
        return found

    def repelled_domains(self, constraint: Constraint) -> Mapping[str, int]:
        """Return the number of pods with this required anti-affinity, by domain."""
        own = self._domains_of_repelling.get(constraint.group)
        if own is None:
            own = {}
            for node in self._nodes_of_repelling.get(constraint.group, (constraint, ()))[1]:
                self._work += 1
                domain = node_label(node, constraint.key)
                if domain is not None:
                    own[domain] = own.get(domain, 0) + 1
            self._domains_of_repelling[constraint.group] = own
        return own


def required_anti_affinity(pod: ClusterPod) -> list[Constraint]:
    """Return the required anti-affinities of a pod."""
    constraints = pod.shape.constraints if pod.shape is not None else ()
    return [c for c in constraints if c.what == ANTI_AFFINITY and not c.preferred]
