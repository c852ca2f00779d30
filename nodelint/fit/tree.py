"""The workloads of a tree against its NodePools."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.fit import admission
from nodelint.fit.crowding import Crowding, find_beyond_limits, find_crowding
from nodelint.fit.daemons import Daemons
from nodelint.fit.ignored import OWN_DOMAINS, IgnoredPod, ignored_because, wanted_elsewhere
from nodelint.fit.newer import find_newer
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod, add_requests, pod_of, unknown_of
from nodelint.fit.pools import DEFAULT_POLICIES, DaemonGroup, EmptyPool, Policies
from nodelint.fit.unjudged import may_take
from nodelint.fit.verdict import PoolVerdict, Surroundings, judge_daemon, judge_pod
from nodelint.fit.volumes import VolumePlace, Volumes
from nodelint.karpenter.images import unknown_fact
from nodelint.karpenter.resolve import Resolution
from nodelint.model.cluster_objects import ClusterObject, Workload
from nodelint.model.gap import Gap
from nodelint.model.manifest import NodeOverlay, NodePool
from nodelint.model.releases import NEWEST, Version
from nodelint.model.requirement import normalize, well_known

if TYPE_CHECKING:
    from nodelint.karpenter.resolve.node_size import NodeSizes, Resources


class WorkloadFit(NamedTuple):
    """What the pools make of the pods of a workload, in the order in which Karpenter tries them.

    `unknown` is what was left open where that may change the answer: a pool that takes the pods may not, once it is
    known. That no pool takes them is certain all the same. `ignored` says why Karpenter launches nothing for them.
    `elsewhere`: nodes that others than Karpenter launch may take them. `admission`: what the API server may add for
    which a pool would take them, though none takes them as they are written. `unread_pool`: none that was read
    takes them, and one more may stand here. `crowding`: pools take only some of them. `newer_types`: no known type
    holds them, and one that the catalogue lacks may.
    """

    workload: Workload
    verdicts: tuple[PoolVerdict, ...]
    unknown: tuple[Gap, ...] = ()
    ignored: IgnoredPod | None = None
    elsewhere: bool = False
    admission: Gap | None = None
    unread_pool: Gap | None = None
    crowding: Crowding | None = None
    newer_types: Gap | None = None

    @property
    def possible(self) -> bool:
        """Whether some pool, or a node of others, takes the pods, as far as is known."""
        known = self.elsewhere or self.admission is not None or any(verdict.fits for verdict in self.verdicts)
        unread = self.unread_pool is not None or self.newer_types is not None
        return known or unread or bool(self.static_pools)

    @property
    def static_pools(self) -> tuple[EmptyPool, ...]:
        """The static pools whose nodes may have room for the pods, though none is launched for them."""
        return tuple(v.pool for v in self.verdicts if v.refusal is not None and v.refusal.reason == "static")

    @property
    def ruled_out(self) -> bool:
        """Whether nothing takes the pods, whatever nodes are there already."""
        refusals = (verdict.refusal for verdict in self.verdicts)
        return not self.possible and all(refusal is None or refusal.for_certain for refusal in refusals)

    @property
    def decided(self) -> bool:
        """Whether the answer stands, whatever is not known."""
        return not self.unknown or not self.possible


class Tree:
    """The NodePools of a run as `resolutions`, and the other objects of the clusters that they go to.

    `unread` is what could not be read and may hold another pool, `unjudged` are pools that may take pods, too,
    and `built_in` those that EKS Auto Mode has where nobody turns them off.
    """

    def __init__(
        self,
        resolutions: Iterable[Resolution],
        objects: Iterable[ClusterObject],
        overlays: Iterable[NodeOverlay] = (),
        node_groups: Sequence[str] = (),
        policies: Callable[[NodePool], Policies] = lambda _: DEFAULT_POLICIES,
        unread: Gap | None = None,
        unjudged: Sequence[NodePool] = (),
        built_in: Iterable[Resolution] = (),
    ) -> None:
        self._unread = unread
        self._built_in = [EmptyPool(resolution) for resolution in built_in]
        self._unjudged = unjudged
        pools = (
            EmptyPool(resolution, policies(resolution.pool))
            for resolution in resolutions
            if not _is_given_other_values(resolution.pool)
        )
        self.pools = sorted(pools, key=lambda pool: pool.order)
        for pool in self.pools:
            pool.beside = self.pools
        self.objects = list(objects)
        self.workloads = [obj for obj in self.objects if isinstance(obj, Workload)]
        self.volumes = Volumes(self.objects)
        self.daemons = Daemons(self.workloads, self.pools)
        self._node_groups = node_groups
        self._bringing: dict[str, list[NodeOverlay]] = {}
        for overlay in overlays:
            for resource in _brings(overlay):
                self._bringing.setdefault(resource, []).append(overlay)
        self._groups: dict[tuple[int, tuple[str | None, object] | None], list[DaemonGroup]] = {}
        self._fits: dict[int, WorkloadFit] = {}
        self._taken: dict[object, bool] = {}
        self._taking: dict[object, dict[int, PoolVerdict]] = {}
        self._sizes: dict[int, list[tuple[NodeSizes, Resources]]] = {}
        self._pools_near: dict[str, list[EmptyPool]] = {}
        self._pool_lists: dict[tuple[int, ...], list[EmptyPool]] = {}

    def fit(self, workload: Workload) -> WorkloadFit:
        """What each pool of the workload's cluster makes of its pods."""
        found = self._fits.get(id(workload))
        if found is None:
            found = self._fits[id(workload)] = self._fit(workload)
        return found

    def is_possible(self, workload: Workload) -> bool:
        """Whether some pool, or a node of others, may take its pods; asked once for pods that ask the same."""
        pod = pod_of(workload)
        if pod is None or pod.claims or pod.own_claims or workload.kind == "StatefulSet" or workload.is_daemon:
            return self._is_taken(workload)
        if any(topology.min_domains for topology in pod.topologies):
            return self._is_taken(workload)
        replicas = workload.node.find("spec", "replicas")
        count = replicas.value if replicas is not None else None
        key = (id(self.pools_for(workload)), frozenset(pod.requests.items()), _shape_of(pod), str(count))
        found = self._taken.get(key)
        if found is None:
            found = self._taken[key] = self._is_taken_at_once(workload, pod) or self._is_taken(workload)
        return found

    def _is_taken_at_once(self, workload: Workload, pod: Pod) -> bool:
        """Whether one pool alone takes all pods of a workload: the others are then not asked."""
        if pod.topologies or self._bringing:
            return False
        for pool in self.pools_for(workload):
            if ignored_because(pod, pool.release, pool.policies.claims_ignored) is not None:
                return False
            verdict = judge_pod(pool.in_karpenters_labels(pod), pool, self.daemon_groups(pool, workload))
            if verdict.fits:
                return find_beyond_limits(workload, pod, [verdict]) is None
        return False

    def _is_taken(self, workload: Workload) -> bool:
        found = self.fit(workload)
        return found.possible and found.crowding is None

    def _fit(self, workload: Workload) -> WorkloadFit:
        pod = pod_of(workload)
        if pod is None:
            return WorkloadFit(workload, (), unknown_of(workload))
        pools = self.pools_for(workload)
        release = self.pools[0].release if self.pools else NEWEST
        verdicts, ignored, admitted_to = self._ask_pools(workload, pod, pools)
        taken = any(verdict.fits for verdict in verdicts)
        other = wanted_elsewhere(pod)
        is_here = other is not None and other.for_auto_mode and any(pool.is_of_auto_mode for pool in pools)
        if ignored is None and other is not None and not (taken or is_here):
            ignored = other
        unknown = (*self._left_open(workload, pod, pools), *_find_unknown_room(pod, verdicts))
        taking = [verdict for verdict in verdicts if verdict.fits]
        if taking and all(_unread_values(verdict.pool) is not None for verdict in taking):
            unknown = (*unknown, *filter(None, [_unread_values(taking[0].pool)]))
        if taking and all(verdict.takes_if_ignored for verdict in taking):
            unknown = (*unknown, unknown_fact(pod.node, _PREFERENCES))
        is_open = not taken and ignored is None
        unread = (self._find_other_values(workload) or self._find_other_pool(pod, release)) if is_open else None
        unread = unread or (next(filter(None, map(_unread_values, pools)), None) if is_open else None)
        unread = unread or (next(filter(None, map(_added_to, pools)), None) if is_open else None)
        newer = None
        if is_open and unread is None:
            newer = next(filter(None, (find_newer(pod, verdict) for verdict in verdicts)), None)
        unknown = (*unknown, *filter(None, (unread, newer)))
        elsewhere = self._may_run_elsewhere(pod, release)
        admitted_to = None if taken else admitted_to
        crowding = None
        if not (elsewhere or unread is not None or workload.is_daemon):
            crowding = find_crowding(workload, pod, [verdict.pool for verdict in taking])
            crowding = crowding or find_beyond_limits(workload, pod, taking)
        return WorkloadFit(
            workload, tuple(verdicts), unknown, ignored, elsewhere, admitted_to, unread, crowding, newer
        )

    def _ask_pools(
        self, workload: Workload, pod: Pod, pools: Sequence[EmptyPool]
    ) -> tuple[list[PoolVerdict], IgnoredPod | None, Gap | None]:
        """What each pool makes of a pod, why Karpenter ignores it, and what the API server may add so that one fits.

        Pods that ask alike and find room on the same types share the verdicts of the pools that take them: a refusal
        names places of its own pod.
        """
        if workload.is_daemon:
            return [self._judge_daemon(workload, pod, pool) for pool in pools], None, None
        added = admission.tolerations_for(pod)
        admitted = pod._replace(tolerations=(*pod.tolerations, *added)) if added else None
        ignored, admitted_to, asked_of, volumes = None, None, None, list[VolumePlace]()
        verdicts: list[PoolVerdict] = []
        known = {} if self._bringing else self._list_known(pod, pools)
        for pool in pools:
            if pool.release != asked_of:
                asked_of = pool.release
                ignored = ignored or ignored_because(pod, asked_of, pool.policies.claims_ignored)
                volumes = self.volumes.alternatives(workload, asked_of)
            shared = known if not (ignored or volumes) else {}
            verdict = shared.get(id(pool))
            if verdict is None:
                groups = self.daemon_groups(pool, workload)
                sure_pod = self.without_unsure(pod, pool)
                verdict = judge_pod(sure_pod, pool, groups, ignored, volumes).in_own_labels()
                if verdict.fits:
                    shared[id(pool)] = verdict
                else:
                    verdict = verdict._replace(surroundings=Surroundings(tuple(groups), tuple(volumes)))
                if not verdict.fits and admitted is not None and admitted_to is None:
                    sure_pod = self.without_unsure(admitted, pool)
                    if judge_pod(sure_pod, pool, groups, ignored, volumes).fits:
                        admitted_to = admission.say_what_is_added(pod, pool.name)
            verdicts.append(verdict)
        return verdicts, ignored, admitted_to

    def _judge_daemon(self, workload: Workload, pod: Pod, pool: EmptyPool) -> PoolVerdict:
        groups = self.daemon_groups(pool, workload)
        verdict = judge_daemon(self.without_unsure(pod, pool), pool, groups)
        return verdict if verdict.fits else verdict._replace(surroundings=Surroundings(tuple(groups)))

    def _list_known(self, pod: Pod, pools: Sequence[EmptyPool]) -> dict[int, PoolVerdict]:
        """The verdicts of pools, by their ids, that take pods which ask alike and find room on the same types."""
        sizes = self._sizes.get(id(pools))
        if sizes is None:
            found: dict[object, tuple[NodeSizes, Resources]] = {}
            for pool in pools:
                for group in self.daemon_groups(pool, None):
                    found.setdefault(
                        (id(pool.sizes), frozenset(group.requests.items())), (pool.sizes, group.requests)
                    )
            sizes = self._sizes[id(pools)] = [*found.values()]
        room = tuple([size.room_for(add_requests((pod.requests, requests))) for size, requests in sizes])
        return self._taking.setdefault((id(pools), _shape_of(pod), room), {})

    @staticmethod
    def _find_other_values(workload: Workload) -> Gap | None:
        """Return that the chart of a workload is installed with other values than its defaults. None if it is not."""
        built = workload.source.built
        if built is None or not built.is_installed:
            return None
        return unknown_fact(workload.name_node, "the chart is installed with other values than its defaults")

    def _find_other_pool(self, pod: Pod, release: Version) -> Gap | None:
        """Return a reason why an unread or unjudged NodePool may still accept the pod. None if none may."""
        if self._unread is not None:
            return unknown_fact(
                pod.node,
                f"a pool may stand in what cannot be read: {self._unread.file_place}: {self._unread.sentence}",
            )
        other = next((pool for pool in self._unjudged if may_take(pool, pod, release)), None)
        if other is not None:
            return unknown_fact(other.name_node, f"{other.label} is not judged, and may take it")
        for pool in self._built_in:
            if judge_pod(self.without_unsure(pod, pool), pool, self.daemon_groups(pool, None)).fits:
                what = f"NodePool/{pool.name}, built into EKS Auto Mode, takes it unless the cluster turns it off"
                return unknown_fact(pod.node, what)
        return None

    def _unsure_overlay(self, resource: str, pool: EmptyPool) -> NodeOverlay | None:
        """An overlay that brings a resource, perhaps to a pool's nodes: none where each is known to be applied."""
        settled = pool.resolution.settled_overlays
        if pool.policies.overlays_in_effect is False:
            return None
        return next((overlay for overlay in self._bringing.get(resource, ()) if overlay.name not in settled), None)

    def without_unsure(self, pod: Pod, pool: EmptyPool) -> Pod:
        """A pod without the requests of which overlays may bring more than is known."""
        pod = pool.in_karpenters_labels(pod)
        if not self._bringing:
            return pod
        requests = {
            resource: amount
            for resource, amount in pod.requests.items()
            if self._unsure_overlay(resource, pool) is None
        }
        return pod._replace(requests=requests)

    def pools_for(self, workload: Workload) -> list[EmptyPool]:
        """The pools of the workload's cluster: of several with one name, those that are nearest to it."""
        folder = os.path.dirname(workload.source.path)
        found = self._pools_near.get(folder)
        if found is None:
            near = [nearness(workload.source.path, pool.pool.source.path) for pool in self.pools]
            nearest: dict[str, int] = {}
            for pool, common in zip(self.pools, near, strict=True):
                nearest[pool.name] = max(common, nearest.get(pool.name, 0))
            found = [p for p, common in zip(self.pools, near, strict=True) if common == nearest[p.name]]
            # Of folders that are near to the same pools the very same list: what is known of it serves them all.
            found = self._pools_near[folder] = self._pool_lists.setdefault(tuple(map(id, found)), found)
        return found

    def _may_run_elsewhere(self, pod: Pod, release: Version) -> bool:
        """Whether a text that states node groups names all labels that a pod selects, for some required term.

        Keys of Karpenter's own are on its nodes alone; those that every node has say nothing.
        """
        for text in self._node_groups:
            for term in pod.terms or (None,):
                expressions = (*pod.selector, *(term.expressions if term is not None else ()))
                own = [expression for expression in expressions if expression.key.partition("/")[0] in OWN_DOMAINS]
                if not any(expression.operator not in ("NotIn", "DoesNotExist") for expression in own) and all(
                    expression.key in well_known(release)
                    or expression.operator in ("NotIn", "DoesNotExist")
                    or expression.key in text
                    for expression in expressions
                ):
                    return True
        return False

    def _left_open(self, workload: Workload, pod: Pod, pools: Sequence[EmptyPool]) -> Iterator[Gap]:
        """What of a workload may keep its pods from a pool that takes them as far as is known."""
        yield from unknown_of(workload)
        if pod.dynamic_resources:
            at = pod.node.get("resourceClaims") or pod.node
            yield unknown_fact(at, "which devices its resource claims need is not known")
        for resource, overlay in self._list_unsure(pod, pools).items():
            text = f"whether the NodeOverlay that brings {resource} is in effect is not known"
            yield unknown_fact(overlay.name_node, text)

    def _list_unsure(self, pod: Pod, pools: Sequence[EmptyPool]) -> dict[str, NodeOverlay]:
        """The resources that a pod requests and overlays may bring, each with one of these."""
        unsure: dict[str, NodeOverlay] = {}
        brought = [request for request in pod.requests if request in self._bringing]
        for pool in pools if brought else ():
            unsure |= {resource: overlay for resource in brought if (overlay := self._unsure_overlay(resource, pool))}
            if pool.policies.overlays_in_effect is None:
                unsure |= {resource: self._bringing[resource][0] for resource in brought}
        return unsure

    def daemon_groups(self, pool: EmptyPool, workload: Workload | None) -> list[DaemonGroup]:
        """The types of a pool by the daemons on their nodes, less the workload itself."""
        key = id(pool), (workload.namespace, workload.name) if workload is not None and workload.is_daemon else None
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = pool.groups(
                daemon._replace(pod=self.without_unsure(daemon.pod, pool))
                for daemon in self.daemons.beside(workload, pool)
            )
        return found


_PREFERENCES = "whether Karpenter ignores the pod's preferences is not known (settings.preferencePolicy of the chart)"


def _find_unknown_room(pod: Pod, verdicts: Sequence[PoolVerdict]) -> Iterator[Gap]:
    """What is not known of the room on all types that are taken to hold a pod, though it is known of other types."""
    first = None
    for verdict in verdicts:
        if not verdict.fits:
            continue
        pool, sure, at_fault = verdict.pool, verdict.types, None
        for resource in pod.requests if pool.sizes.exact else ():
            left = sure - pool.sizes.unknown_of(resource)
            at_fault = at_fault if left or not sure else resource
            sure = left
        if at_fault is None:
            return
        first = first or (at_fault, verdict)
    if first is not None:
        resource, verdict = first
        names = verdict.pool.resolution.catalog.names_in(verdict.types)
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        at = pod.node.get("containers") or pod.node
        yield unknown_fact(at, f"how much {resource} pods can use is not known of {shown}")


def _shape_of(pod: Pod) -> object:
    """What decides whether a pool takes a pod, beside its requests, and without the places where it is written."""

    def plain(expressions: Iterable[LabelExpression]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        return tuple((expression.key, expression.operator, expression.values) for expression in expressions)

    return (
        (pod.tolerations, plain(pod.selector), pod.ports, pod.dynamic_resources, bool(pod.unknown)),
        (pod.runtime_class is not None, tuple((t.key, t.what, t.preferred, t.honors_taints) for t in pod.topologies)),
        tuple((plain(term.expressions), term.fields) for term in pod.terms),
        tuple(plain(term.expressions) for term in pod.preferred),
    )


def _is_given_other_values(pool: NodePool) -> bool:
    """Whether a pool is what the defaults of a chart make, and each release of the chart gives other values."""
    built = pool.source.built
    return built is not None and built.is_installed


def _unread_values(pool: EmptyPool) -> Gap | None:
    """Why it is not known what a pool is: the chart that makes it takes values that cannot be read."""
    built = pool.pool.source.built
    unread = built.unread if built is not None else None
    if built is None or unread is None:
        return None
    return unknown_fact(pool.pool.name_node, f"{unread.reason} ({unread.file_place})")


def _added_to(pool: EmptyPool) -> Gap | None:
    """Why it is not known what a pool is: values of a chart hold it, and the chart may add to it."""
    if not pool.pool.of_values:
        return None
    return unknown_fact(pool.pool.name_node, f"{pool.pool.label} stands in values, and the chart may add to it")


def nearness(path: str, other: str) -> int:
    """How many folders two files have in common."""
    common = 0
    for ours, theirs in zip(
        *(os.path.normpath(os.path.dirname(p)).split(os.sep) for p in (path, other)), strict=False
    ):
        if ours != theirs:
            break
        common += 1
    return common


def is_intended_for(workload: Workload, pools: Sequence[EmptyPool]) -> bool:
    """Whether a workload is written for nodes of some pools, as far as its file tells.

    It selects a label of Karpenter's own, or one that a pool brings, or tolerates a pool's taint by its key.
    """
    pod = pod_of(workload)
    if pod is None:
        return False
    brought = {key for pool in pools for key in pool.requirements.keys() - well_known(pool.release)}
    taints = {taint.key for pool in pools for taint in pool.taints}
    expressions = (*pod.selector, *(expression for term in pod.terms for expression in term.expressions))
    selects = any(
        (normalize(expression.key) in brought or expression.key.partition("/")[0] in OWN_DOMAINS)
        and expression.operator not in ("NotIn", "DoesNotExist")
        for expression in expressions
    )
    return selects or any(toleration.key in taints for toleration in pod.tolerations if toleration.key)


def may_be_for_others(workload: Workload, pools: Sequence[EmptyPool]) -> bool:
    """Whether what a workload selects may be of nodes that others than Karpenter launch, and that are not known here.

    A label of Karpenter's own is on no other node; one with a value that a pool gives speaks of that pool.
    """
    pod = pod_of(workload)
    terms = pod.terms if pod is not None else ()
    expressions = (*(pod.selector if pod else ()), *(expression for term in terms for expression in term.expressions))
    for expression in expressions:
        if expression.operator in ("NotIn", "DoesNotExist"):
            continue
        if expression.key.partition("/")[0] in OWN_DOMAINS:
            return False
        key = normalize(expression.key)
        own = [pool.requirements[key] for pool in pools if key in pool.requirements and key not in pool.known]
        if any(own) if expression.operator == "Exists" else any(o.admits(v) for o in own for v in expression.values):
            return False
    return True


def _brings(overlay: NodeOverlay) -> list[str]:
    """The resources that an overlay gives to nodes."""
    capacity = overlay.node.find("spec", "capacity")
    return [entry.name for entry in capacity.entries if entry.name] if capacity is not None else []
