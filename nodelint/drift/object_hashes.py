"""The hashes of a run's objects, in each release for which they are judged."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.ranges import only
from nodelint.releases.release_choice import Chosen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nodelint.drift.claim_status import ClaimStatus
    from nodelint.drift.cluster import Cluster
    from nodelint.drift.hashes import Hash
    from nodelint.model.manifest import Object
    from nodelint.model.releases import Version
    from nodelint.rule.target import Target


class ObjectHash(NamedTuple):
    """An object with its hash in a release, or the `reason` why it has none.

    `stated` is the place that states the release. `nodes` has, for each NodeClaim of a cluster, whether it still
    matches the object. `left_out` are fields that only a newer release knows: they are not part of the hash.
    """

    obj: Object
    release: Version | None = None
    annotation: str = ""
    version: str = ""
    hashed: Hash | None = None
    kubelet: int | None = None
    reason: str | None = None
    nodes: list[ClaimStatus] | None = None
    stated: str | None = None
    left_out: tuple[str, ...] = ()


def list_hashes(objects: Iterable[Object], target: Target, cluster: Cluster | None) -> list[ObjectHash]:
    """Return the hashes of each object in every release for which it is judged. Releases with equal hashes share one
    row.
    """
    from nodelint.drift.claim_status import ca_of

    rows: list[ObjectHash] = []
    bundles: dict[Version, int | None] = {}
    for obj in objects:
        if not isinstance(obj, (NodePool, EC2NodeClass)):
            continue
        chosen = target.choose(obj) if target.choose is not None else (Chosen(only(target.karpenter)),)
        if isinstance(chosen, str):
            rows.append(ObjectHash(obj, reason=chosen))
            continue
        row_of: dict[tuple[object, ...], ObjectHash] = {}
        for choice in reversed(chosen):
            chosen_target = target.for_choice(choice)
            if chosen_target.karpenter not in bundles:
                bundles[chosen_target.karpenter] = (
                    ca_of(cluster, chosen_target.karpenter) if cluster is not None else None
                )
            stated = choice.karpenter_from.place if choice.karpenter_from is not None else None
            row = _hash_object(obj, chosen_target, bundles[chosen_target.karpenter], cluster)._replace(stated=stated)
            row_of.setdefault((row.version, row.hashed, row.kubelet, row.reason), row)
        rows += reversed(row_of.values())
    return rows


def _hash_object(obj: Object, target: Target, ca: int | None, cluster: Cluster | None) -> ObjectHash:
    from nodelint.apiserver import Schemas
    from nodelint.drift import Unhashable, hash_stored, stored_object
    from nodelint.drift.claim_status import standings
    from nodelint.drift.hashes import annotation, kubelet_hash, version
    from nodelint.drift.stored_form import left_out

    release = target.karpenter
    row = ObjectHash(obj, release, annotation(obj.kind), version(obj.kind, release))
    try:
        stored = stored_object(obj, release, target.schemas or Schemas.bundled())
        hashed = hash_stored(obj.kind, stored, release, ca)
        kubelet = kubelet_hash(stored, release) if obj.kind == "EC2NodeClass" else None
    except Unhashable as error:
        return row._replace(reason=str(error))
    unknown = tuple(left_out(obj, release, target.schemas or Schemas.bundled()))
    nodes = None
    if cluster is not None and isinstance(obj.name, str) and not unknown:
        nodes = standings(obj.kind, obj.name, stored, hashed, cluster, release)
    return row._replace(hashed=hashed, kubelet=kubelet, nodes=nodes, left_out=unknown)
