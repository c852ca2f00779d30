"""The hash annotations with which Karpenter detects that a node differs from its NodePool or EC2NodeClass."""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.drift.hashstructure import Unhashable, fields, hash_of, text_hash
from nodelint.ec2.questions import alias_families
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.manifest_terms import parse_alias
from nodelint.model.releases import Version, behaves, releases_match
from nodelint.text import UnknownValue

if TYPE_CHECKING:
    from typing import Any

    from nodelint.drift.hashstructure import Path


class Hash(NamedTuple):
    """The value of a hash annotation, and the version in the annotation next to it.

    `without_ca` is true if the release includes the cluster's CA bundle, whose hash was not known.
    """

    annotation: str
    value: int
    version: str
    without_ca: bool = False


def annotation(kind: str) -> str:
    """Return the annotation that contains the hash of a kind. Raise KeyError for a kind without one."""
    name: str = table("hashes")["annotations"][kind]["annotation"]
    return name


def version_annotation(kind: str) -> str:
    """Return the annotation that contains the version of a kind's hash."""
    name: str = table("hashes")["annotations"][kind]["versionAnnotation"]
    return name


def version(kind: str, release: Version) -> str:
    """Return the version of a kind's hash in a release, such as `v4`."""
    rows = table("hashes")["annotations"][kind]["versions"]
    return next(str(row["version"]) for row in reversed(rows) if releases_match(row["releases"], release))


def root(kind: str) -> tuple[Path, str]:
    """Return the path of the hashed part of a kind, and its Go type."""
    row = table("hashes")["annotations"][kind]
    return tuple(row["root"]), row["type"]


def moves_nodes(kind: str, path: str, release: Version) -> bool:
    """Return whether running nodes drift if a missing field is added to their object.

    `path` is that of the field, such as `spec.template.spec.expireAfter`. True for fields that are hashed, for the
    requirements of a pool, and for the selectors of a class.
    """
    steps = [part for part in re.split(r"\.|\[[^]]*+\]?", path) if part]
    top, struct = root(kind) if kind in table("hashes")["annotations"] else ((), "")
    if not struct or tuple(steps[: len(top)]) != top:
        return False
    for step in steps[len(top) :]:
        field = next((field for field in fields(struct) if field.json == step), None)
        if field is None or field.json == "requirements" or field.json.endswith(("Terms", "Selector")):
            return field is not None
        if not field.counts(release):
            return False
        struct = field.type.removeprefix("*").removeprefix("[]").removeprefix("*")
        if struct not in table("hashes")["structs"]:
            return True
    return True


def hash_stored(kind: str, stored: dict[str, Any], release: Version, ca: int | None = None) -> Hash:
    """Return the hash of an object in the form that the API server stores. Raise Unhashable for a value that Go
    cannot read.

    `ca` is the `text_hash` of the cluster's CA bundle as the controller has it, base64 of PEM, for the releases that
    include it.
    """
    path, struct = root(kind)
    value: Any = stored
    for step in path:
        value = value.get(step, {}) if isinstance(value, dict) else value
    total = hash_of(struct, value, release, path)
    without_ca = False
    if kind == CLASS_KIND:
        total ^= text_hash(family(stored))
        if behaves("hashes-ca-bundle", release):
            without_ca = ca is None
            total ^= ca or 0
        if behaves("open-kubelet", release):
            total ^= text_hash(kubelet_text(stored))
    return Hash(annotation(kind), total, version(kind, release), without_ca)


def family(stored: dict[str, Any]) -> str:
    """Return the AMI family of a class: amiFamily, else that of its alias, else `Custom`.

    Raise Unhashable for a placeholder, and for an alias of an unknown family.
    """
    spec = stored.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    written = spec.get("amiFamily")
    if written is not None:
        return _known(written, ("spec", "amiFamily"))
    terms = spec.get("amiSelectorTerms")
    for index, term in enumerate(terms if isinstance(terms, list) else []):
        path = ("spec", "amiSelectorTerms", index, "alias")
        alias = _known(term.get("alias") or "", path) if isinstance(term, dict) else ""
        if alias:
            row = alias_families().get(parse_alias(alias).family)
            if row is None:
                raise Unhashable(path, f"`{alias}` has no family that Karpenter knows")
            return str(row["amiFamily"])
    return "Custom"


def kubelet_text(stored: dict[str, Any]) -> str:
    """Return a class's kubelet as Go's JSON. This text is hashed in releases in which kubelet is an open map. `null`
    if there is none.

    Raise Unhashable for a placeholder.
    """
    spec = stored.get("spec")
    kubelet = spec.get("kubelet") if isinstance(spec, dict) else None
    if not isinstance(kubelet, dict) or not kubelet:
        return "null"

    import json  # here: most classes have no kubelet settings

    def refuse(value: Any) -> Any:
        raise Unhashable(("spec", "kubelet"), "a placeholder with an unknown value")

    text = json.dumps(kubelet, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=refuse)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _known(value: Any, path: Path) -> str:
    if isinstance(value, UnknownValue):
        raise Unhashable(path, "a placeholder with an unknown value")
    if not isinstance(value, str):
        raise Unhashable(path, "not a string, which the API server asks for")
    return value


def kubelet_hash(stored: dict[str, Any], release: Version) -> int | None:
    """Return the hash of a class's kubelet, which 1.0 stores separately on its NodeClaims. None from 1.1.0 on.

    An empty `kubelet` has the same hash as no `kubelet`.
    """
    if not behaves("kubelet-hash", release):
        return None
    spec = stored.get("spec")
    value = spec.get("kubelet", {}) if isinstance(spec, dict) else {}
    return hash_of("KubeletConfiguration", value, release, ("spec", "kubelet"))
