"""What the API server says about an object: unknown fields, structure, then CEL rules.

The bundled schemas (`schemas/*.schema.json`) represent the CRDs of every Karpenter release from 1.0.0 on.
`Schemas.from_crds` reads those of a cluster instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

from nodelint.apiserver.problems import Layer, SchemaProblem, fit
from nodelint.apiserver.schema_node import Raw, SchemaNode, load
from nodelint.model.gvk import AUTO_MODE_GROUP, AUTO_MODE_KIND, BUFFER_KIND, GROUPS, OVERLAY_KIND
from nodelint.model.manifest import Object, Retired
from nodelint.model.releases import Version
from nodelint.text import Node

__all__ = ["Layer", "SchemaNode", "SchemaProblem", "Schemas", "check", "check_part", "load", "refuses"]


_SERVED = {
    **dict.fromkeys(GROUPS, ("v1", "v1beta1")),
    OVERLAY_KIND: ("v1alpha1",),
    AUTO_MODE_KIND: ("v1",),
    BUFFER_KIND: ("v1beta1",),
}
"""The API versions of each kind for which there is a bundled schema."""


class Schemas:
    """The schemas of NodePool and EC2NodeClass, by API version.

    `foreign` is true for the user's own CRDs. `skipped` lists the CEL rules of such CRDs that do not compile and are
    not checked.
    """

    def __init__(self, roots: dict[tuple[str, str], Raw], *, foreign: bool, skipped: tuple[str, ...] = ()) -> None:
        self._roots = roots
        self._shapes: dict[tuple[str, str, Version | None], SchemaNode] = {}
        self.foreign = foreign
        self.skipped = skipped

    @classmethod
    def bundled(cls) -> Schemas:
        """Return the bundled schemas. Each is read when the first object of its kind is checked."""
        return _bundled()

    @classmethod
    def from_crds(cls, path: str | os.PathLike[str], within: str | None = None) -> Schemas:
        """Return the schemas of the CRDs in a YAML or JSON file, or in a folder of such files. A `List` of CRDs is
        read as well.

        Symlinks must not leave the folder `within`; None allows any place. Raise OSError if nothing can be read, and
        ValueError if there is no CRD of Karpenter or a file is not YAML.
        """
        from nodelint.apiserver.crds import read

        roots, skipped = read(os.fspath(path), within)
        return cls(roots, foreign=True, skipped=skipped)

    def versions(self, kind: str) -> list[str]:
        """Return the API versions of a kind that are served."""
        if self.foreign and kind != AUTO_MODE_KIND:
            return sorted(version for k, version in self._roots if k == kind)
        return list(_SERVED.get(kind, ()))

    def shape(self, kind: str, version: str, release: Version) -> SchemaNode | None:
        """Return the schema of a kind and API version in a release. None if there is no such schema."""
        key = (kind, version, None if self.foreign else release)
        found = self._shapes.get(key)
        if found is None:
            raw = self._raw(kind, version)
            if raw is None:
                return None
            found = self._shapes[key] = SchemaNode(raw, raw, key[2])
        return found

    def _raw(self, kind: str, version: str) -> Raw | None:
        # A folder with Karpenter's CRDs does not contain those of EKS Auto Mode, so the bundled ones are used.
        bundled = not self.foreign or kind == AUTO_MODE_KIND
        if bundled and (kind, version) not in self._roots:
            if version not in _SERVED.get(kind, ()):
                return None
            self._roots[kind, version] = load(f"{kind.lower()}-{version}")
        return self._roots.get((kind, version))


@cache
def _bundled() -> Schemas:
    return Schemas({}, foreign=False)


def check(obj: Object, release: Version, schemas: Schemas, partial: bool = False) -> list[SchemaProblem]:
    """Return the problems for which the API server of a cluster with this Karpenter release refuses an object.

    Empty if it accepts the object. Unknown fields are problems, as under `kubectl apply`. Objects of removed kinds
    are not checked. A missing required field is no problem in a patch, nor, with `partial`, in an object that an
    overlay completes.
    """
    if isinstance(obj, Retired) or obj.of_values:
        return []
    return obj.once(("problems", release, partial), (schemas,), lambda: _check(obj, release, schemas, partial))


def _check(obj: Object, release: Version, schemas: Schemas, partial: bool) -> list[SchemaProblem]:
    not_served = _not_served(obj, release, schemas)
    if not_served is not None:
        return [not_served]
    shape = schemas.shape(obj.kind, obj.version, release)
    if shape is None:
        return []
    from nodelint.apiserver.walk import Walk

    return list(_sort_problems(Walk(obj, shape, release, partial=partial).run()))


def refuses(obj: Object, release: Version, schemas: Schemas) -> bool:
    """Return whether the API server refuses an object even if it drops unknown fields, so that no cluster can have
    the object.
    """
    shape = schemas.shape(obj.kind, obj.version, release)
    if shape is None:
        return True
    return any(problem.layer in ("structure", "validation") for problem in _check_dropping(obj, shape, release))


def check_as_stored(obj: Object, release: Version, schemas: Schemas) -> list[SchemaProblem]:
    """Return the problems of an object for an API server that drops unknown fields.

    A required field with a misspelled name is then missing, while `check` reports only its name.
    """
    found = check(obj, release, schemas)
    shape = schemas.shape(obj.kind, obj.version, release)
    if shape is None or all(problem.layer != "unknown" for problem in found):
        return found
    return _check_dropping(obj, shape, release)


def find_faults(obj: Object, release: Version, schemas: Schemas) -> Iterator[SchemaProblem]:
    """Yield the problems for which the API server refuses an object. Fields that it drops, because this release or
    all releases lack them, are left out.
    """
    for problem in check_as_stored(obj, release, schemas):
        if problem.layer != "unjudged" and not (problem.layer == "release" and _is_field(problem)):
            yield problem


def _is_field(problem: SchemaProblem) -> bool:
    """Return whether a problem concerns the key of a field, and not the key of a map such as labels."""
    node = problem.node
    is_key = node.parent is not None and any(entry.key is node for entry in node.parent.entries)
    return is_key and not problem.path.endswith("]")


def _check_dropping(obj: Object, shape: SchemaNode, release: Version) -> list[SchemaProblem]:
    from nodelint.apiserver.walk import Walk

    return list(_sort_problems(Walk(obj, shape, release, loose=True).run()))


def check_part(obj: Object, node: Node, path: str, shape: SchemaNode, release: Version) -> list[SchemaProblem]:
    """Return the problems of a part of an object according to a schema that no API server uses."""
    from nodelint.apiserver.walk import Walk

    return list(_sort_problems(Walk(obj, shape, release).run(node, path)))


def _not_served(obj: Object, release: Version, schemas: Schemas) -> SchemaProblem | None:
    served = [v for v in schemas.versions(obj.kind) if _is_served(schemas.shape(obj.kind, v, release), release)]
    group = AUTO_MODE_GROUP if obj.kind == AUTO_MODE_KIND else GROUPS.get(obj.kind)
    if obj.kind == OVERLAY_KIND:
        return _not_yet(obj, release, schemas)
    if group is None or not served:
        return None
    if obj.group == group and obj.version in served:
        return None
    at = obj.node.get("apiVersion") or obj.node
    shape = schemas.shape(obj.kind, obj.version, release) if obj.group == group else None
    until = shape.window.until if shape is not None else None
    if until is not None:
        message = f"`{obj.api_version}` was removed in Karpenter {until}, the target is {release}"
    else:
        meant = " or ".join(f"{group}/{v}" for v in served)
        message = f"there is no {obj.kind} in `{obj.api_version}`; it is in {meant}"
    layer: Layer = "release" if until is not None else "structure"
    return SchemaProblem(layer, at, "apiVersion", fit(message), suggestion=f"{group}/{served[0]}", until=until)


def _not_yet(obj: Object, release: Version, schemas: Schemas) -> SchemaProblem | None:
    """Return the problem of an object whose kind a release does not have yet. None if it has the kind."""
    shape = schemas.shape(obj.kind, obj.version, release)
    if shape is None or release in shape.window:
        return None
    message = f"{obj.kind} needs Karpenter {shape.window.since} or newer, the target is {release}"
    return SchemaProblem("release", obj.node.get("kind") or obj.node, "kind", message)


def _is_served(shape: SchemaNode | None, release: Version) -> bool:
    return shape is not None and release in shape.window


def _sort_problems(found: list[SchemaProblem]) -> Iterator[SchemaProblem]:
    """Yield the problems in the order of the file, without duplicates."""
    seen = set()
    for problem in sorted(found, key=lambda p: (p.node.start, p.path)):
        key = (problem.layer, problem.node.start, problem.message)
        if key not in seen:
            seen.add(key)
            yield problem
