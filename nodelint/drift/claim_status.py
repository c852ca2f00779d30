"""Compare the NodeClaims of a cluster with manifests: which have the same hash, and in which fields the others
differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.drift.hashes import Hash, annotation, family, hash_stored, root, version, version_annotation
from nodelint.drift.hashstructure import Unhashable, render_path, text_hash
from nodelint.drift.plain_values import mapping, texts
from nodelint.drift.struct_diff import differences
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.releases import Version, behaves

if TYPE_CHECKING:
    from typing import Any, Literal

    from nodelint.drift.cluster import Claim, Cluster

    State = Literal["same", "differs", "other-version", "no-hash"]


class ClaimStatus(NamedTuple):
    """The comparison of a NodeClaim with an object of a manifest. `fields` are the fields that differ.

    If they cannot be determined, `fields` is empty, and `note` gives the reason and what is known.
    """

    claim: Claim
    state: State
    fields: tuple[str, ...] = ()
    note: str = ""


def ca_of(cluster: Cluster, release: Version) -> int | None:
    """Return the hash of the cluster's CA bundle, computed from a live class. None if no class shows it.

    The hash of a class is the XOR of the hashes of its spec, its AMI family and the bundle.
    """
    if not behaves("hashes-ca-bundle", release):
        return None
    terms = set()
    for obj in cluster.classes.values():
        noted = _noted(obj)
        if noted.get(version_annotation(CLASS_KIND)) != version(CLASS_KIND, release):
            continue
        try:
            own = hash_stored(CLASS_KIND, obj, release).value
            terms.add(int(noted.get(annotation(CLASS_KIND), "")) ^ own)
        except (Unhashable, ValueError):
            continue
    return terms.pop() if len(terms) == 1 else None


class _Manifest(NamedTuple):
    """An object of a manifest: `stored` is the form that the API server would store, `hashed` its hash."""

    kind: str
    name: str
    stored: dict[str, Any]
    hashed: Hash
    release: Version


def standings(
    kind: str, name: str, stored: dict[str, Any], hashed: Hash, cluster: Cluster, release: Version
) -> list[ClaimStatus]:
    """Return, for each NodeClaim of a pool or class, whether it matches the object in a manifest."""
    claims = cluster.of_class(name) if kind == CLASS_KIND else cluster.of_pool(name)
    return [_standing(_Manifest(kind, name, stored, hashed, release), cluster, claim) for claim in claims]


def _standing(manifest: _Manifest, cluster: Cluster, claim: Claim) -> ClaimStatus:
    hashed = manifest.hashed
    noted = claim.annotations.get(hashed.annotation)
    noted_version = claim.annotations.get(version_annotation(manifest.kind))
    if noted is None or noted_version is None or hashed.without_ca:
        return ClaimStatus(claim, "no-hash")
    if noted_version != hashed.version:
        return ClaimStatus(claim, "other-version")
    if noted == str(hashed.value):
        return ClaimStatus(claim, "same")
    fields = tuple(_list_differing_fields(manifest, cluster, claim, noted))
    return ClaimStatus(claim, "differs", fields, "" if fields else _say_what_is_known(manifest, cluster))


def _say_what_is_known(manifest: _Manifest, cluster: Cluster) -> str:
    """Return what is known about a difference in unknown fields: a NodeClaim has only the hash of its class."""
    kind, name, stored, _, release = manifest
    if kind != CLASS_KIND:
        return "by no field that a NodeClaim shows: a label or an annotation that was removed, for example"
    live = cluster.classes.get(name)
    if live is None:
        return (
            f"the fields are not known: EC2NodeClass `{name}` of the cluster is not in the input of --live. Add"
            " `ec2nodeclasses` to what kubectl prints"
        )
    try:
        fields = list(changed(kind, live, stored, release))
    except Unhashable as error:
        return f"the fields are not known: {error}"
    since = f"EC2NodeClass `{name}` of the cluster has changed since these nodes were launched"
    if not fields:
        return f"{since}, and is equal to this manifest: what was changed is in the history of the files"
    return f"{since}, and differs from this manifest by {', '.join(fields)}"


def _list_differing_fields(manifest: _Manifest, cluster: Cluster, claim: Claim, noted: str) -> Iterator[str]:
    """Yield the fields that differ: by the live object if the claim has its hash, else by the claim."""
    kind, _, stored, _, release = manifest
    live = (cluster.classes if kind == CLASS_KIND else cluster.pools).get(manifest.name)
    try:
        if live is not None and _noted(live).get(annotation(kind)) == noted:
            yield from changed(kind, live, stored, release)
        elif kind != CLASS_KIND:
            yield from _by_claim(stored, claim, release)
    except Unhashable:
        return


def changed(kind: str, old: dict[str, Any], new: dict[str, Any], release: Version) -> Iterator[str]:
    """Yield the fields in which two stored objects differ, without fields that their hashes do not include."""
    path, struct = root(kind)
    for difference in differences(struct, mapping(old, *path), mapping(new, *path), release, path):
        yield render_path(difference.path)
    if kind == CLASS_KIND and text_hash(family(old)) != text_hash(family(new)):
        yield "spec.amiFamily"


def _by_claim(stored: dict[str, Any], claim: Claim, release: Version) -> Iterator[str]:
    """Yield the fields of a pool's template that differ from a claim. Labels that were removed from the template are
    not found.
    """
    template = mapping(stored, "spec", "template")
    spec, path = mapping(template, "spec"), ("spec", "template", "spec")
    for field, kind in (
        ("taints", "[]Taint"),
        ("startupTaints", "[]Taint"),
        ("nodeClassRef", "*NodeClassReference"),
    ):
        for difference in differences(
            kind, claim.spec.get(field, _EMPTY[kind]), spec.get(field, _EMPTY[kind]), release, (*path, field)
        ):
            yield render_path(difference.path)
    for field, kind in (("terminationGracePeriod", "*Duration"), ("expireAfter", "NillableDuration")):
        old, new = claim.spec.get(field), spec.get(field)
        if (old is None) != (new is None) and "Never" not in (old, new):
            yield render_path((*path, field))
        elif old is not None and new is not None:
            yield from (
                render_path(difference.path) for difference in differences(kind, old, new, release, (*path, field))
            )
    for field, claimed in (("labels", claim.labels), ("annotations", claim.annotations)):
        for key, value in mapping(template, "metadata", field).items():
            if claimed.get(key) != value:
                yield render_path(("spec", "template", "metadata", field, key))


_EMPTY: dict[str, Any] = {"[]Taint": [], "*NodeClassReference": {}}


def _noted(obj: dict[str, Any]) -> dict[str, str]:
    return texts(mapping(obj, "metadata", "annotations"))
