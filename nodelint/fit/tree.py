"""The workloads of a tree compared with its NodePools."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.fit import admission
from nodelint.fit.attempt import PoolVerdict, Surroundings
from nodelint.fit.crowding import Crowding, find_beyond_limits, find_beyond_node_limits, find_crowding
from nodelint.fit.daemon_groups import DaemonGroup, group_by_daemons
from nodelint.fit.daemons import Daemons
from nodelint.fit.daemons_around import NO_DAEMONS_AROUND, DaemonsAround
from nodelint.fit.ignored import IgnoredPod, ignored_because, wanted_elsewhere
from nodelint.fit.newer import find_newer
from nodelint.fit.other_capacity import NO_OTHER_CAPACITY, OtherCapacity
from nodelint.fit.overlay_resources import BroughtResources
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Daemon, Pod, add_requests, pod_of, unknown_of
from nodelint.fit.pools import DEFAULT_POLICIES, EmptyPool, Policies
from nodelint.fit.verdict import judge_daemon, judge_pod
from nodelint.fit.volumes import VolumePlace, Volumes
from nodelint.karpenter.images import unknown_fact
from nodelint.karpenter.resolve import Resolution
from nodelint.karpenter.resolve.node_size import NodeSizes, Resources
from nodelint.model.cluster_objects import ClusterObject, Workload
from nodelint.model.folders import nearness
from nodelint.model.gap import Gap
from nodelint.model.manifest import NodeOverlay, NodePool, Object
from nodelint.model.messages import list_first
from nodelint.model.releases import NEWEST, Version


class WorkloadFit(NamedTuple):
    """The verdicts of the pools on a workload's pods, in the order in which Karpenter tries the pools.

    `unknown`: unknown facts for which a pool that accepts the pods may refuse them; a refusal by all pools stays
    certain. `ignored`: why Karpenter ignores the pods. `elsewhere`: nodes that Karpenter does not launch may accept
    them. `admission`: an addition of the API server with which a pool accepts them. `unread_pool`: a pool that was
    not read may accept them. `crowding`: the pools accept only some of them. `newer_types`: a type that the catalogue
    lacks may run them.
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
        """Return whether a pool or another node may accept the pods."""
        known = self.elsewhere or self.admission is not None or any(verdict.fits for verdict in self.verdicts)
        unread = self.unread_pool is not None or self.newer_types is not None
        return known or unread or bool(self.static_pools)

    @property
    def static_pools(self) -> tuple[EmptyPool, ...]:
        """Return the static pools whose existing nodes may have room; they launch no node for the pods."""
        return tuple(v.pool for v in self.verdicts if v.refusal is not None and v.refusal.reason == "static")

    @property
    def ruled_out(self) -> bool:
        """Return whether neither new nor existing nodes can accept the pods."""
        refusals = (verdict.refusal for verdict in self.verdicts)
        return not self.possible and all(refusal is None or refusal.for_certain for refusal in refusals)

    @property
    def decided(self) -> bool:
        """Return whether unknown facts cannot change the answer."""
        return not self.unknown or not self.possible


class Tree:
    """The NodePools of a run as `resolutions`, and the other objects of their clusters."""

    def __init__(
        self,
        resolutions: Iterable[Resolution],
        objects: Iterable[ClusterObject],
        overlays: Iterable[NodeOverlay] = (),
        policies: Callable[[NodePool], Policies] = lambda _: DEFAULT_POLICIES,
        other_capacity: OtherCapacity = NO_OTHER_CAPACITY,
        around: DaemonsAround = NO_DAEMONS_AROUND,
    ) -> None:
        self._other_capacity = other_capacity
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
        self._additions = admission.Additions(self.objects)
        self.daemons = Daemons(self.workloads, self.pools, around)
        self._overlay_resources = BroughtResources(overlays)
        self._groups: dict[tuple[int, tuple[str | None, object] | None], list[DaemonGroup]] = {}
        self._fits: dict[int, WorkloadFit] = {}
        self._taken: dict[object, bool] = {}
        self._taking: dict[object, dict[int, PoolVerdict]] = {}
        self._sizes: dict[int, list[tuple[NodeSizes, Resources]]] = {}
        self._pools_near: dict[tuple[str, tuple[str, str] | None], list[EmptyPool]] = {}
        self._pool_lists: dict[tuple[int, ...], list[EmptyPool]] = {}

    def fit(self, workload: Workload) -> WorkloadFit:
        """Return the verdict of each pool of the workload's cluster on its pods."""
        found = self._fits.get(id(workload))
        if found is None:
            found = self._fits[id(workload)] = self._fit(workload)
        return found

    def is_possible(self, workload: Workload) -> bool:
        """Return whether a pool or another node may accept all pods of the workload. Equal pods are judged once."""
        pod = pod_of(workload)
        if pod is None or pod.claims or pod.own_claims or workload.kind == "StatefulSet" or workload.is_daemon:
            return self._is_taken(workload)
        if any(topology.min_domains for topology in pod.topologies) or _is_given_other_values(workload):
            return self._is_taken(workload)
        replicas = workload.node.find("spec", "replicas")
        count = replicas.value if replicas is not None else None
        key = (id(self.pools_for(workload)), frozenset(pod.requests.items()), _shape_of(pod), str(count))
        found = self._taken.get(key)
        if found is None:
            found = self._taken[key] = self._is_taken_at_once(workload, pod) or self._is_taken(workload)
        return found

    def _is_taken_at_once(self, workload: Workload, pod: Pod) -> bool:
        """Return whether one pool alone accepts all pods of a workload, so that the others need no check."""
        if pod.topologies or self._overlay_resources:
            return False
        for pool in self.pools_for(workload):
            if ignored_because(pod, pool.release, pool.policies.claims_ignored) is not None:
                return False
            verdict = judge_pod(pool.labels.translate(pod), pool, self.daemon_groups(pool, workload))
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
        if taking and not workload.is_daemon:
            unknown = (*unknown, *filter(None, [self._find_open_daemons(workload, pod, taking)]))
        unknown = (*unknown, *filter(None, [self._find_additions(workload, pod, taking)]))
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
        elsewhere = self._other_capacity.may_have_group_for(pod, release)
        admitted_to = None if taken else admitted_to
        crowding = None
        if not (elsewhere or unread is not None or workload.is_daemon):
            crowding = find_crowding(workload, pod, [verdict.pool for verdict in taking])
            crowding = crowding or find_beyond_limits(workload, pod, taking)
            if crowding is None:
                unknown = (*unknown, *filter(None, [find_beyond_node_limits(workload, pod, taking)]))
        return WorkloadFit(
            workload, tuple(verdicts), unknown, ignored, elsewhere, admitted_to, unread, crowding, newer
        )

    def _ask_pools(
        self, workload: Workload, pod: Pod, pools: Sequence[EmptyPool]
    ) -> tuple[list[PoolVerdict], IgnoredPod | None, Gap | None]:
        """Return the verdict of each pool, why Karpenter ignores the pod, and an addition of the API server that
        helps.

        Pods with equal constraints and room on the same types share the verdicts of accepting pools. Refusals are not
        shared: they name nodes of the pod's own file.
        """
        if workload.is_daemon:
            return [self._judge_daemon(workload, pod, pool) for pool in pools], None, None
        added = admission.tolerations_for(pod)
        admitted = pod._replace(tolerations=(*pod.tolerations, *added)) if added else None
        ignored, admitted_to, asked_of, volumes = None, None, None, list[VolumePlace]()
        verdicts: list[PoolVerdict] = []
        known = {} if self._overlay_resources else self._list_known(pod, pools)
        for pool in pools:
            if pool.release != asked_of:
                asked_of = pool.release
                ignored = ignored or ignored_because(pod, asked_of, pool.policies.claims_ignored)
                volumes = self.volumes.alternatives(workload, asked_of)
            shared = known if not (ignored or volumes) else {}
            verdict = shared.get(id(pool))
            if verdict is None:
                groups = self.daemon_groups(pool, workload)
                sure_pod = self._overlay_resources.without_unsure(pod, pool)
                verdict = judge_pod(sure_pod, pool, groups, ignored, volumes).in_own_labels()
                if verdict.fits:
                    shared[id(pool)] = verdict
                else:
                    verdict = verdict._replace(surroundings=Surroundings(tuple(groups), tuple(volumes)))
                if not verdict.fits and admitted is not None and admitted_to is None:
                    sure_pod = self._overlay_resources.without_unsure(admitted, pool)
                    if judge_pod(sure_pod, pool, groups, ignored, volumes).fits:
                        admitted_to = admission.say_what_is_added(pod, pool.name)
            verdicts.append(verdict)
        return verdicts, ignored, admitted_to

    def _judge_daemon(self, workload: Workload, pod: Pod, pool: EmptyPool) -> PoolVerdict:
        groups = self.daemon_groups(pool, workload)
        verdict = judge_daemon(self._overlay_resources.without_unsure(pod, pool), pool, groups)
        return verdict if verdict.fits else verdict._replace(surroundings=Surroundings(tuple(groups)))

    def _list_known(self, pod: Pod, pools: Sequence[EmptyPool]) -> dict[int, PoolVerdict]:
        """Return the cached verdicts of accepting pools, by pool id, for pods with equal constraints and room."""
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

    def _find_other_pool(self, pod: Pod, release: Version) -> Gap | None:
        """Return a reason why a pool besides those of the run may accept a pod. None if there is no such pool."""

        def takes(pool: EmptyPool) -> bool:
            sure_pod = self._overlay_resources.without_unsure(pod, pool)
            return judge_pod(sure_pod, pool, self.daemon_groups(pool, None)).fits

        return self._other_capacity.find_pool(pod, release, takes)

    @staticmethod
    def _find_other_values(workload: Workload) -> Gap | None:
        """Return a gap if the workload's chart is installed with values other than its defaults; else None."""
        if not _is_given_other_values(workload):
            return None
        return unknown_fact(workload.name_node, "the chart is installed with other values than its defaults")

    def pools_for(self, workload: Workload) -> list[EmptyPool]:
        """Return the pools of the workload's cluster.

        Of several with one name, those with the most common folders count. Of these, the ones that are rendered with
        the same values as the workload.
        """
        place = os.path.dirname(workload.source.path), _values_of(workload)
        found = self._pools_near.get(place)
        if found is None:
            near = [nearness(workload.source.path, pool.pool.source.path) for pool in self.pools]
            nearest: dict[str, int] = {}
            for pool, common in zip(self.pools, near, strict=True):
                nearest[pool.name] = max(common, nearest.get(pool.name, 0))
            found = [p for p, common in zip(self.pools, near, strict=True) if common == nearest[p.name]]
            if place[1] is not None:
                own = {pool.name for pool in found if _values_of(pool.pool) == place[1]}
                found = [p for p in found if p.name not in own or _values_of(p.pool) == place[1]]
            # Folders that are near to the same pools share one list, and the facts that are cached for the list.
            found = self._pools_near[place] = self._pool_lists.setdefault(tuple(map(id, found)), found)
        return found

    def find_doubt(self, workload: Workload) -> Gap | None:
        """Return a gap if pools accept a workload's pods only without DaemonSets that may run on their nodes. None if
        they accept them in any case, or in none.
        """
        pod = pod_of(workload)
        pools = self.pools_for(workload) if pod is not None and not workload.is_daemon else ()
        if pod is None or not any(self.daemons.list_possible(workload, pool) for pool in pools):
            return None
        return self._find_open_daemons(workload, pod, [v for v in self.fit(workload).verdicts if v.fits])

    def _find_open_daemons(self, workload: Workload, pod: Pod, taking: Sequence[PoolVerdict]) -> Gap | None:
        """Return a gap if none of the accepting pools accepts the pods beside the DaemonSets that may run there."""
        first: list[Daemon] = []
        for verdict in taking:
            pool = verdict.pool
            possible = self.daemons.list_possible(workload, pool)
            if not possible:
                return None
            groups = group_by_daemons(pool, (*self.daemons.beside(workload, pool), *possible))
            volumes = self.volumes.alternatives(workload, pool.release)
            if judge_pod(self._overlay_resources.without_unsure(pod, pool), pool, groups, None, volumes).fits:
                return None
            first = first or possible
        if not first:
            return None
        names = list_first([f"{daemon.workload.label} ({daemon.workload.source.path})" for daemon in first], 3)
        text = f"whether {names} runs on these nodes is not known, and no type has room next to it"
        return unknown_fact(pod.node, text)

    def _find_additions(self, workload: Workload, pod: Pod, taking: Sequence[PoolVerdict]) -> Gap | None:
        """Return a gap if none of the accepting pools accepts the pods with what the API server adds to them. None if
        one does, or if nothing is added.
        """
        found = self._additions.add_to(workload, pod) if taking else None
        if found is None:
            return None
        refusal = None
        for verdict in taking:
            pool, groups = verdict.pool, self.daemon_groups(verdict.pool, workload)
            admitted = self._overlay_resources.without_unsure(found[0], pool)
            if workload.is_daemon:
                accepts = judge_daemon(admitted, pool, groups)
            else:
                volumes = self.volumes.alternatives(workload, pool.release)
                accepts = judge_pod(admitted, pool, groups, None, volumes)
            if accepts.refusal is None:
                return None
            refusal = refusal or accepts.refusal
        explanation = refusal.explanation if refusal is not None else None
        reason = f": {explanation.text}" if explanation else f": {refusal.brief}" if refusal is not None else ""
        text = f"{admission.say_addition(found[1])}, and with that no pool takes them{reason}"
        return unknown_fact(found[1].name_node, text)

    def _left_open(self, workload: Workload, pod: Pod, pools: Sequence[EmptyPool]) -> Iterator[Gap]:
        """Yield unknown facts about a workload for which an accepting pool may refuse its pods."""
        yield from unknown_of(workload)
        if pod.dynamic_resources:
            at = pod.node.get("resourceClaims") or pod.node
            yield unknown_fact(at, "which devices its resource claims need is not known")
        for resource, overlay in self._overlay_resources.list_unsure(pod, pools).items():
            text = f"whether the NodeOverlay that brings {resource} is in effect is not known"
            yield unknown_fact(overlay.name_node, text)

    def daemon_groups(self, pool: EmptyPool, workload: Workload | None) -> list[DaemonGroup]:
        """Return the types of a pool, grouped by their DaemonSets, without the workload itself."""
        key = id(pool), (workload.namespace, workload.name) if workload is not None and workload.is_daemon else None
        found = self._groups.get(key)
        if found is None:
            daemons = (
                daemon._replace(pod=self._overlay_resources.without_unsure(daemon.pod, pool))
                for daemon in self.daemons.beside(workload, pool)
            )
            found = self._groups[key] = group_by_daemons(pool, daemons)
        return found


_PREFERENCES = "whether Karpenter ignores the pod's preferences is not known (settings.preferencePolicy of the chart)"


def _find_unknown_room(pod: Pod, verdicts: Sequence[PoolVerdict]) -> Iterator[Gap]:
    """Yield a gap for a resource whose amount is unknown on all types that count as able to run the pod.

    No gap if the amount is not known for any type of the pool.
    """
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
        at = pod.node.get("containers") or pod.node
        yield unknown_fact(at, f"how much {resource} pods can use is not known of {list_first(names, 3)}")


def _shape_of(pod: Pod) -> object:
    """Return the facts that decide whether a pool accepts a pod, as a key without requests and places in files."""

    def plain(expressions: Iterable[LabelExpression]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        return tuple((expression.key, expression.operator, expression.values) for expression in expressions)

    return (
        (pod.tolerations, plain(pod.selector), pod.ports, pod.dynamic_resources, bool(pod.unknown)),
        (pod.runtime_class is not None, tuple((t.key, t.what, t.preferred, t.honors_taints) for t in pod.topologies)),
        tuple((plain(term.expressions), term.fields) for term in pod.terms),
        tuple(plain(term.expressions) for term in pod.preferred),
    )


def _is_given_other_values(obj: Object) -> bool:
    """Return whether an object is rendered from a chart's defaults, and each installation has other values."""
    built = obj.source.built
    return built is not None and built.is_installed


def _unread_values(pool: EmptyPool) -> Gap | None:
    """Return a gap if the pool's chart takes values that cannot be read. None if they can be read."""
    built = pool.pool.source.built
    unread = built.unread if built is not None else None
    if built is None or unread is None:
        return None
    return unknown_fact(pool.pool.name_node, f"{unread.reason} ({unread.file_place})")


def _added_to(pool: EmptyPool) -> Gap | None:
    """Return a gap if the pool is written in a values file: the chart may add fields. None for other pools."""
    if not pool.pool.of_values:
        return None
    return unknown_fact(pool.pool.name_node, f"{pool.pool.label} stands in values, and the chart may add to it")


def _values_of(obj: Object) -> tuple[str, str] | None:
    """Return the cluster of a rendered object and the values that it is rendered with. None if it is not rendered."""
    built = obj.source.built
    return None if built is None else (built.cluster, built.label)
