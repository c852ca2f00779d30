"""Pods of a cluster as the disruption controller sees them: which are evicted, and which are rescheduled.

Source: pkg/utils/pod/scheduling.go and pkg/utils/disruption/disruption.go of Karpenter core, 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.cluster_pods import DO_NOT_DISRUPT, is_protected
from nodelint.drift.plain_values import Plain, mapping, mappings, moment, text, texts
from nodelint.fit.pod_terms import Toleration
from nodelint.karpenter.controller.syntax import seconds
from nodelint.model.releases import Version
from nodelint.why.times import later

if TYPE_CHECKING:
    from nodelint.why.shapes import Shape

DISRUPTED = ("karpenter.sh/disrupted", "", "NoSchedule")
"""The taint of a node that is being removed."""

_STUCK_AFTER = timedelta(minutes=1)
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class ClusterPod:
    """A pod. `shape` contains its scheduling constraints, shared by pods with equal constraints."""

    __slots__ = (
        *("annotations", "created", "deletion", "labels", "meta", "name", "namespace", "node", "obj"),
        *(
            "is_of_daemon",
            "is_of_stateful_set",
            "is_static",
            "owners",
            "phase",
            "priority",
            "shape",
            "spec",
            "started",
        ),
    )

    def __init__(self, namespace: str, name: str, obj: Plain) -> None:
        self.namespace, self.name, self.obj = namespace, name, obj
        meta, spec, status = mapping(obj.get("metadata")), mapping(obj.get("spec")), mapping(obj.get("status"))
        self.meta, self.spec = meta, spec
        self.node = text(spec.get("nodeName"))
        self.labels, self.annotations = texts(meta.get("labels")), texts(meta.get("annotations"))
        self.owners = [
            (text(owner.get("apiVersion")), text(owner.get("kind")), text(owner.get("name")))
            for owner in mappings(meta.get("ownerReferences"))
        ]
        kinds = {owner[:2] for owner in self.owners}
        self.is_of_daemon = ("apps/v1", "DaemonSet") in kinds
        self.is_of_stateful_set = ("apps/v1", "StatefulSet") in kinds
        self.is_static = ("v1", "Node") in kinds  # the kubelet of its node made it, from a file there
        self.phase = text(status.get("phase"))
        self.started = moment(status.get("startTime"))
        self.created = moment(meta.get("creationTimestamp"))
        self.deletion = moment(meta.get("deletionTimestamp"))
        priority = spec.get("priority")
        self.priority = priority if isinstance(priority, int) and not isinstance(priority, bool) else 0
        self.shape: Shape | None = None

    @property
    def label(self) -> str:
        """Return the pod's namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_over(self) -> bool:
        """Return whether the pod has ended."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        """Return whether the pod has not ended and is not being deleted."""
        return not self.is_over and self.deletion is None

    @property
    def is_reschedulable(self) -> bool:
        """Return whether the pod has to be scheduled on another node if its node is removed."""
        waits = self.deletion is not None and not self.is_over and self.is_of_stateful_set
        return (self.is_active or waits) and not self.is_of_daemon and not self.is_static

    @property
    def is_pending(self) -> bool:
        """Return whether the pod waits for a node that Karpenter is to launch."""
        conditions = mappings(mapping(self.obj, "status").get("conditions"))
        failed = any(c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable" for c in conditions)
        nominated = text(mapping(self.obj, "status").get("nominatedNodeName"))
        return failed and not self.node and not nominated and not self.is_of_daemon and not self.is_static

    def is_protected(self, now: datetime, release: Version) -> bool:
        """Return whether the pod's annotation blocks disruption of its node: `true`, or a duration that has not
        passed.
        """
        return is_protected(self.annotations, self.started, now, release)

    def protected_until(self) -> datetime | None:
        """Return when the annotation's duration ends. None without a duration, and if the start is not known."""
        number = seconds(self.annotations.get(DO_NOT_DISRUPT, ""))
        return later(self.started, timedelta(seconds=number)) if number is not None and 0 < number < 10**9 else None

    @property
    def tolerates_disruption(self) -> bool:
        """Return whether the pod tolerates the taint of nodes that are being removed, and so is not evicted."""
        stated = (_read_toleration(item) for item in mappings(self.spec.get("tolerations")))
        return any(toleration.tolerates(*DISRUPTED) for toleration in stated)

    def is_evictable(self, now: datetime, release: Version) -> bool:
        """Return whether Karpenter evicts the pod."""
        evicted = self.is_active and not self.is_static and not self.tolerates_disruption
        return evicted and not self.is_protected(now, release)

    def is_waiting_eviction(self, now: datetime) -> bool:
        """Return whether the drain of the node waits for the pod."""
        stuck = self.deletion is not None and now - self.deletion > _STUCK_AFTER
        return not self.is_over and not self.is_static and not stuck and not self.tolerates_disruption

    @property
    def is_unready(self) -> bool:
        """Return whether the pod's condition Ready is False."""
        conditions = mappings(mapping(self.obj, "status").get("conditions"))
        return any(c.get("type") == "Ready" and c.get("status") == "False" for c in conditions)

    @property
    def eviction_cost(self) -> float:
        """Return the eviction cost of the pod: 1, changed by its deletion cost and priority, between -10 and 10."""
        cost = 1.0
        with suppress(ValueError):  # the controller logs it, and counts the pod as any other
            cost += float(self.annotations.get(_DELETION_COST, "0")) / 2**27
        return min(max(cost + self.priority / 2**25, -10.0), 10.0)

    @property
    def drain_group(self) -> int:
        """Return the position of the pod in the drain (0 is first): critical pods and DaemonSet pods come later."""
        critical = text(self.spec.get("priorityClassName")) in ("system-cluster-critical", "system-node-critical")
        return 2 * critical + self.is_of_daemon

    @property
    def claims(self) -> list[str]:
        """Return the names of the pod's persistent volume claims."""
        volumes = mappings(self.spec.get("volumes"))
        named = [text(mapping(volume, "persistentVolumeClaim").get("claimName")) for volume in volumes]
        made = [f"{self.name}-{text(v.get('name'))}" for v in volumes if isinstance(v.get("ephemeral"), dict)]
        return [name for name in (*named, *made) if name]


def _read_toleration(item: Plain) -> Toleration:
    key, effect = text(item.get("key")) or None, text(item.get("effect")) or None
    return Toleration(key, text(item.get("operator")), text(item.get("value")), effect)
