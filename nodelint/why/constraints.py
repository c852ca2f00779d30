"""Topology spreads and pod affinities, as pods define them.

Source: `Topology` and `TopologyGroup` of pkg/controllers/provisioning/scheduling of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodelint.base.tuples import NamedTuple
from nodelint.drift.plain_values import Plain, listed, mapping, mappings, meets, text, whole
from nodelint.fit.ignored import HOSTNAME
from nodelint.fit.pod_terms import AFFINITY, ANTI_AFFINITY, SPREAD
from nodelint.model.requirement import normalize


class Constraint(NamedTuple):
    """A topology spread, pod affinity or anti-affinity: the label key, the pods that count, and the bound.

    `group` is equal for constraints that count the same pods. `pair` is a label that all counted pods have; None if
    there is no certain one. `unknown` names the unknown part; empty if all is known.
    """

    what: str
    key: str
    preferred: bool
    namespaces: frozenset[str] | None
    selector: object
    group: str
    pair: tuple[str, str] | None
    skew: int = 1
    min_domains: int = 0
    honors_taints: bool = False
    honors_affinity: bool = True
    unknown: str = ""

    @property
    def is_filtered(self) -> bool:
        """Return whether only pods on some nodes count."""
        return self.what == SPREAD and (self.honors_affinity or self.honors_taints)

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod with these labels counts. A spread without a selector counts none."""
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return meets(dict(labels), self.selector) is True

    @property
    def description(self) -> str:
        """Return the constraint in a few words."""
        name = self.key.rpartition("/")[2]
        if self.what == SPREAD:
            return f"topologySpreadConstraints over {name} (maxSkew {self.skew})"
        return f"{'podAntiAffinity' if self.what == ANTI_AFFINITY else 'podAffinity'} by {name}"


def read_constraints(spec: Plain, namespace: str, labels: Mapping[str, str]) -> tuple[Constraint, ...]:
    """Return the spreads and affinities of a pod; preferred affinities are sorted by weight."""
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
    placed = [spec.get("nodeSelector"), mapping(spec, "affinity", "nodeAffinity")]
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
            repr(about),
            _certain_label(selector),
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
    group = repr(about)
    pair = _certain_label(selector)
    yield Constraint(what, normalize(key), preferred, spaces, selector, group, pair, unknown=unknown)


def _certain_label(selector: object) -> tuple[str, str] | None:
    """Return a label (key, value) that all selected pods have. None if the selector requires none."""
    stated = mapping(selector, "matchLabels")
    found = next(((str(k), v) for k, v in stated.items() if isinstance(v, str)), None)
    if found is not None:
        return found
    for item in mappings(mapping(selector).get("matchExpressions")):
        values = listed(item.get("values"))
        if item.get("operator") == "In" and len(values) == 1 and isinstance(values[0], str) and text(item.get("key")):
            return text(item.get("key")), values[0]
    return None


def _with_label_keys(selector: object, keys: object, labels: Mapping[str, str]) -> object:
    """Return the selector with the pod's own values of `matchLabelKeys` added."""
    own = [key for key in listed(keys) if isinstance(key, str) and key in labels]
    if not own or not isinstance(selector, dict):
        return selector
    more = [{"key": key, "operator": "In", "values": [labels[key]]} for key in own]
    return {**selector, "matchExpressions": [*mappings(selector.get("matchExpressions")), *more]}


def is_hostname(constraint: Constraint) -> bool:
    """Return whether each node is a domain of its own."""
    return constraint.key == HOSTNAME
