"""Resources that NodeOverlays bring to nodes, where it is not known whether they are in effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodelint.fit.pods import Pod
from nodelint.fit.pools import EmptyPool
from nodelint.model.manifest import NodeOverlay


class BroughtResources:
    """The resources that the NodeOverlays of a run bring, each with its overlays."""

    def __init__(self, overlays: Iterable[NodeOverlay]) -> None:
        self._bringing: dict[str, list[NodeOverlay]] = {}
        for overlay in overlays:
            for resource in _brings(overlay):
                self._bringing.setdefault(resource, []).append(overlay)

    def __bool__(self) -> bool:
        return bool(self._bringing)

    def without_unsure(self, pod: Pod, pool: EmptyPool) -> Pod:
        """Return a pod without the requests of which overlays may bring more to a pool's nodes than is known."""
        pod = pool.in_karpenters_labels(pod)
        if not self._bringing:
            return pod
        requests = {
            resource: amount for resource, amount in pod.requests.items() if self._find_unsure(resource, pool) is None
        }
        return pod._replace(requests=requests)

    def list_unsure(self, pod: Pod, pools: Sequence[EmptyPool]) -> dict[str, NodeOverlay]:
        """Return the resources that a pod requests and overlays may bring, each with an overlay that brings it."""
        unsure: dict[str, NodeOverlay] = {}
        brought = [request for request in pod.requests if request in self._bringing]
        for pool in pools if brought else ():
            unsure |= {resource: overlay for resource in brought if (overlay := self._find_unsure(resource, pool))}
            if pool.policies.overlays_in_effect is None:
                unsure |= {resource: self._bringing[resource][0] for resource in brought}
        return unsure

    def _find_unsure(self, resource: str, pool: EmptyPool) -> NodeOverlay | None:
        """Return an overlay that may bring a resource to a pool's nodes. None if each is known to be applied."""
        settled = pool.resolution.settled_overlays
        if pool.policies.overlays_in_effect is False:
            return None
        return next((overlay for overlay in self._bringing.get(resource, ()) if overlay.name not in settled), None)


def _brings(overlay: NodeOverlay) -> list[str]:
    """Return the resources that an overlay gives to nodes."""
    capacity = overlay.node.find("spec", "capacity")
    return [entry.name for entry in capacity.entries if entry.name] if capacity is not None else []
