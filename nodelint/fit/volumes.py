"""Where a pod's persistent volumes require its node to be: topologies of volumes and storage classes.

Source: `GetRequirements` of pkg/controllers/provisioning/scheduling/volumetopology.go of Karpenter core. From 1.13.0
on any term may be met; before, only the first one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import HOSTNAME, requirements_of
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import pod_of
from nodelint.model.cluster_objects import ClusterObject, Workload, objects_by_name
from nodelint.model.manifest_terms import text
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirements
from nodelint.text import UNKNOWN, Node
from nodelint.text.missing import items_of

ALTERNATIVES = Version(1, 13, 0)


_NAMESPACE = "default"
"""The namespace of objects that state none."""


class VolumePlace(NamedTuple):
    """A place of the volumes of a pod, and the node of the file that states the place of the last volume.

    `apart` are two volumes that no node can reach both. None if there are no such two.
    """

    requirements: Requirements
    node: Node | None
    apart: tuple[VolumePlace, VolumePlace] | None = None


class Volumes:
    """The claims, volumes and storage classes of a tree."""

    def __init__(self, objects: Iterable[ClusterObject]) -> None:
        cluster_objects = list(objects)
        claims = objects_by_name(cluster_objects, "PersistentVolumeClaim")
        self._claims = {(namespace or _NAMESPACE, name): claim for (namespace, name), claim in claims.items()}
        self._volumes = objects_by_name(cluster_objects, "PersistentVolume")
        self._classes = objects_by_name(cluster_objects, "StorageClass")

    def alternatives(self, workload: Workload, release: Version) -> list[VolumePlace]:
        """Return the combinations of topologies in which the volumes of a workload's pods can be.

        Empty if any place is possible. A volume that is not in the files, or not known, restricts nothing.
        """
        found: list[VolumePlace] = []
        for terms in self._topologies(workload):
            term = [VolumePlace(requirements_of(term, release), term[0].node) for term in terms if term]
            term = term if release >= ALTERNATIVES else term[:1]
            if term:
                pairs = [(a, b) for a in found for b in term] if found else [(None, b) for b in term]
                meeting = [(a, b) for a, b in pairs if a is None or _can_meet(a, b)]
                found = [_joined(a, b) for a, b in meeting or pairs]
        return found

    def _topologies(self, workload: Workload) -> Iterator[list[list[LabelExpression]]]:
        pod = pod_of(workload)
        for name, _ in pod.claims if pod is not None else ():
            claim = self._claims.get((workload.namespace or _NAMESPACE, name))
            if claim is not None:
                yield self._of_claim(claim.node)
        for template in pod.own_claims if pod is not None else ():
            yield self._of_claim(template)
        templates = workload.node.find("spec", "volumeClaimTemplates") if workload.kind == "StatefulSet" else None
        for template in items_of(templates):
            yield self._of_claim(template)

    def _of_claim(self, claim: Node) -> list[list[LabelExpression]]:
        volume = text(claim.find("spec", "volumeName"))
        if volume is not None:
            return _of_volume(self._volumes.get((None, volume))) if isinstance(volume, str) else []
        name = text(claim.find("spec", "storageClassName"))
        return _of_class(self._classes.get((None, name))) if isinstance(name, str) else []


def _joined(first: VolumePlace | None, then: VolumePlace) -> VolumePlace:
    if first is None:
        return VolumePlace(then.requirements.copy(), then.node)
    both = first.requirements.copy()
    both.add(*then.requirements)
    return VolumePlace(both, then.node, first.apart or (None if _can_meet(first, then) else (first, then)))


def _can_meet(first: VolumePlace, then: VolumePlace) -> bool:
    return first.requirements.intersects(then.requirements) is None


def _of_class(storage: ClusterObject | None) -> list[list[LabelExpression]]:
    items = items_of(storage.node.get("allowedTopologies") if storage is not None and not storage.partial else None)
    return _all_or_none([_expressions(item.get("matchLabelExpressions"), "In") for item in items])


def _of_volume(volume: ClusterObject | None) -> list[list[LabelExpression]]:
    if volume is None or volume.partial:
        return []
    terms = volume.node.find("spec", "nodeAffinity", "required", "nodeSelectorTerms")
    found = _all_or_none(
        [_expressions(item.get("matchExpressions"), None) for item in (terms.items if terms else ())]
    )
    if any(volume.node.find("spec", kind) is not None for kind in ("local", "hostPath")):
        found = [[expression for expression in term if expression.key != HOSTNAME] for term in found]
        return [] if any(not term for term in found) else found
    return found


def _all_or_none(terms: Sequence[list[LabelExpression] | None]) -> list[list[LabelExpression]]:
    """Return the terms. Return an empty list (no restriction) if any term is unknown."""
    return [] if any(term is None for term in terms) else [term for term in terms if term is not None]


def _expressions(node: Node | None, operator: str | None) -> list[LabelExpression] | None:
    """Return the expressions of a term; None if one of them is not known."""
    found = []
    for item in items_of(node):
        key, stated, values = text(item.get("key")), text(item.get("operator")), item.get("values")
        listed = [text(node) for node in items_of(values)]
        if UNKNOWN in (key, stated, *listed) or not isinstance(key, str) or (values and values.value is UNKNOWN):
            return None
        texts = tuple(value for value in listed if isinstance(value, str))
        found.append(LabelExpression(item, key, operator or str(stated), texts))
    return found
