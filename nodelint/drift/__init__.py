"""What replaces running nodes: the hashes that Karpenter compares, worked out from manifests.

An object is taken as the API server of the release stores it (`stored_object`), read as Go does (`go_values`) and
hashed as Karpenter does (`hashstructure`, `hashes`). `data/hashes.json` says which fields count in which release.
"""

from __future__ import annotations

from nodelint.apiserver import Schemas
from nodelint.drift.hashes import Hash, hash_stored
from nodelint.drift.hashstructure import Unhashable
from nodelint.drift.stored_form import stored_object
from nodelint.model.manifest import Object
from nodelint.model.releases import Version

__all__ = ["Hash", "Unhashable", "hash_object", "hash_stored", "stored_object"]


def hash_object(obj: Object, release: Version, schemas: Schemas, ca: int | None = None) -> Hash:
    """Return the hash that Karpenter writes on a NodePool or an EC2NodeClass once the manifest is applied.

    `ca` is the hash of the cluster's CA bundle, for the releases that hash it. Raise Unhashable where the hash cannot
    be known: a placeholder, a part of an object, a value of the wrong type, an API version not served.
    """
    return hash_stored(obj.kind, stored_object(obj, release, schemas), release, ca)
