"""Resources that NodeOverlays add to nodes, if it is not known whether these overlays are in effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.fit.pods import Pod
from nodelint.fit.pools import EmptyPool
from nodelint.model.manifest import NodeOverlay


class BroughtResources:
    """The resources that the NodeOverlays of a run add to nodes, each with its overlays."""

    def __init__(self, overlays: Iterable[NodeOverlay]) -> None:
        self._bringing: dict[str, list[NodeOverlay]] = {}
        for overlay in overlays:
            for resource in _brings(overlay):
                self._bringing.setdefault(resource, []).append(overlay)

    def __bool__(self) -> bool:
        return bool(self._bringing)

    def without_unsure(self, pod: Pod, pool: EmptyPool) -> Pod:
        """Return the pod without requests for resources that an overlay may add to the pool's nodes."""
        pod = pool.labels.translate(pod)
        if not self._bringing:
            return pod
        requests = {
            resource: amount for resource, amount in pod.requests.items() if self._find_unsure(resource, pool) is None
        }
        return pod._replace(requests=requests)

    def list_unsure(self, pod: Pod, pools: Sequence[EmptyPool]) -> dict[str, NodeOverlay]:
        """Return the resources that a pod requests and an overlay may add, each with such an overlay."""
        unsure: dict[str, NodeOverlay] = {}
        brought = [request for request in pod.requests if request in self._bringing]
        for pool in pools if brought else ():
            unsure |= {resource: overlay for resource in brought if (overlay := self._find_unsure(resource, pool))}
            if pool.policies.overlays_in_effect is None:
                unsure |= {resource: self._bringing[resource][0] for resource in brought}
        return unsure

    def _find_unsure(self, resource: str, pool: EmptyPool) -> NodeOverlay | None:
        """Return an overlay that may add a resource to a pool's nodes.

        None if each such overlay certainly applies or does not apply, or if NodeOverlays are off.
        """
        settled = pool.resolution.settled_overlays
        if pool.policies.overlays_in_effect is False:
            return None
        return next((overlay for overlay in self._bringing.get(resource, ()) if overlay.name not in settled), None)


def _brings(overlay: NodeOverlay) -> list[str]:
    """Return the resources in `spec.capacity` of an overlay."""
    capacity = overlay.node.find("spec", "capacity")
    return [entry.name for entry in capacity.entries if entry.name] if capacity is not None else []
