"""The hashes with which Karpenter detects drift, computed from manifests.

An object is converted to the form that the API server of the release stores (`stored_object`), read as Go reads it
(`go_values`) and hashed as in Karpenter (`hashstructure`, `hashes`). `data/hashes.json` lists the fields that each
release hashes.
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
    """Return the hash that Karpenter writes on a NodePool or an EC2NodeClass after the manifest is applied.

    `ca` is the hash of the cluster's CA bundle, for the releases that include it. Raise Unhashable if the hash cannot
    be known: because of a placeholder, a partial object, a value of the wrong type, or an API version that is not
    served.
    """
    return hash_stored(obj.kind, stored_object(obj, release, schemas), release, ca)
