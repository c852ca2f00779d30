"""Compute the objects of an overlay as kustomize does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from nodelint.base.budget import RUN, BudgetSpent
from nodelint.files.gate import gate
from nodelint.files.gitignore import Ignored
from nodelint.files.safe_read import error_reason
from nodelint.forms.kustomize import patches, replacements, transform
from nodelint.forms.kustomize.configuration import Kustomization, read_kustomization
from nodelint.forms.kustomize.errors import BuildError
from nodelint.forms.kustomize.files import Files, read_inline
from nodelint.forms.kustomize.generated import generate_config_map, list_named_files
from nodelint.forms.kustomize.resources import Resource, read_selector
from nodelint.forms.kustomize.run import OverlayRun
from nodelint.forms.kustomize.values import YamlTree, read_json
from nodelint.model.messages import did_you_mean
from nodelint.text import Node

_DEEPEST = 40
"""The deepest nesting of kustomizations."""
_FOR_FOLDER, _FOR_OBJECT, _FOR_NAME = 250, 10, 5
"""The budget steps for a kustomization, for an included object, and for an object to which a name may refer."""
_HOSTS = r"(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)[/:]"
_REMOTE = rf"(?:https?|ssh|git|file|oci|s3)::?//|git@|git::|{_HOSTS}|.*[?&]ref="
_ALIKE = 0.8
"""How similar a missing file's name and an existing one are, as a ratio of difflib, if the name is spelled wrong."""
_LOCAL_ONLY = "config.kubernetes.io/local-config"
_SCALED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
_KNOWN_SETTINGS = ("nameReference",)


class Overlay(OverlayRun):
    """The state of rendering an overlay. After `build`, `resources` are its objects."""

    def __init__(self, files: Files, folder: str, root: str | None = None) -> None:
        super().__init__(files, folder, root)
        self.resources: list[Resource] = []
        self._references: list[tuple[YamlTree, YamlTree]] = []
        self._generated: set[tuple[str, str]] = set()

    def build(self) -> None:
        """Compute the objects. Raise `BuildError` if that is not possible."""
        if RUN.is_over():
            raise BuildError(None, RUN.late_reason, fails=False)
        kustomization = self._read(self.folder)
        if kustomization is None:
            raise BuildError(None, "there is no kustomization, or more than one")
        self._accumulate(kustomization, self.resources, (os.path.realpath(self.folder),))
        try:
            self._follow_names()
        except BudgetSpent as limit:
            raise BuildError(kustomization.start, str(limit), fails=False) from None
        for resource in self.resources:
            patches.make_texts(_drop_null_annotations(resource))
        self.resources = [resource for resource in self.resources if not _is_local(resource)]
        patches.check_unique(self.resources)

    def _read(self, folder: str) -> Kustomization | None:
        try:
            kustomization = read_kustomization(self.files, folder)
        except OSError as error:
            raise BuildError(
                None, f"the kustomization of `{folder}` is not read: {error_reason(error)}", fails=False
            ) from None
        if kustomization is not None:
            self.take(kustomization.path, [kustomization.start] if kustomization.value.at is not None else [])
            kustomization.check()
        return kustomization

    def _accumulate(self, kustomization: Kustomization, resources: list[Resource], above: tuple[str, ...]) -> None:
        """Add the objects of a kustomization to those of others, and apply its transformers to all of them."""
        try:
            self.budget.spend(_FOR_FOLDER)
            for path, at in kustomization.taken():
                self._take_in(kustomization, path, at, resources, above)
            self._check_named_files(kustomization)
            self._check_generators(kustomization)
            for place, what in kustomization.unbuilt():
                self.is_incomplete = True
                self.notes.append((place or kustomization.start, what))
            for path, at in kustomization.texts("components"):
                self._take_folder(kustomization, path, at, resources, above, component=True)
            self._read_settings(kustomization)
            self._transform(kustomization, resources)
            self._check_replicas(kustomization, resources)
        except OSError as error:
            raise BuildError(
                kustomization.start, f"a file of it is not read: {error_reason(error)}", fails=False
            ) from None
        except BudgetSpent as limit:
            raise BuildError(kustomization.start, str(limit), fails=False) from None
        except BuildError as error:
            if error.at is None:
                raise BuildError(kustomization.start, error.reason, error.fails) from None
            raise

    def _take_in(
        self,
        kustomization: Kustomization,
        path: str,
        at: Node | None,
        resources: list[Resource],
        above: tuple[str, ...],
    ) -> None:
        if re.match(_REMOTE, path):
            self.is_incomplete = True
            self.notes.append((at or kustomization.start, f"`{path}`, which is not fetched"))
            return
        full = self.resolve(kustomization, path, at)
        if self.files.is_folder(full):
            self._take_folder(kustomization, path, at, resources, above, component=False)
            return
        if not self.files.is_file(full):
            error = self._explain_missing(kustomization, path, full, at)
            raise BuildError(at, error.reason, fails=error.fails or not _may_be_made(full))
        added = self.files.read_resources(full)
        self.take(full, [root for root, _ in self.files.read_roots(full)])
        self._append(resources, added)

    def _explain_missing(self, kustomization: Kustomization, path: str, full: str, at: Node | None) -> BuildError:
        """Return the error for a file that does not exist. kustomize fails if its name is only spelled wrong."""
        folder, name = os.path.split(full)
        listed = {os.path.basename(other) for other, _ in kustomization.texts("resources")}
        near = did_you_mean(name, set(gate.names(folder)) - listed if gate.is_folder(folder) else (), _ALIKE)
        return BuildError(at, f"`{path}` is not on this disk{near}", fails=near != "")

    def _take_folder(
        self,
        kustomization: Kustomization,
        path: str,
        at: Node | None,
        resources: list[Resource],
        above: tuple[str, ...],
        component: bool,
    ) -> None:
        if re.match(_REMOTE, path):
            raise BuildError(at, f"`{path}` is not fetched", fails=False)
        full = self.resolve(kustomization, path, at)
        real = os.path.realpath(full)
        if real in above or any(folder.startswith(real + os.sep) for folder in above):
            raise BuildError(at, f"`{path}` takes this kustomization in again")
        if len(above) > _DEEPEST:
            raise BuildError(at, f"more than {_DEEPEST} kustomizations within one another", fails=False)
        below = self._read(full)
        if below is None:
            raise BuildError(at, f"`{path}` has no kustomization", fails=self.files.is_folder(full))
        if below.is_component != component:
            what = "no Component" if component else "a Component, which goes under `components`"
            raise BuildError(at, f"`{path}` is {what}")
        if component:
            self._accumulate(below, resources, (*above, real))
            return
        own: list[Resource] = []
        self._accumulate(below, own, (*above, real))
        self._append(resources, own)

    def _check_named_files(self, kustomization: Kustomization) -> None:
        """Raise `BuildError` if the name of a file of a generator or validator is spelled wrong.

        Its objects are not rendered, but kustomize stops there.
        """
        for path, at in list_named_files(kustomization):
            full = os.path.normpath(os.path.join(kustomization.folder, path))
            if "\n" in path or gate.refusal(full) is not None or gate.exists(full):
                continue
            error = self._explain_missing(kustomization, path, full, at)
            if error.fails:
                raise error

    def _check_generators(self, kustomization: Kustomization) -> None:
        """Raise `BuildError` if a generator may find nothing to merge with, or another generator of its name."""
        for field in ("configMapGenerator", "secretGenerator"):
            for item in kustomization.items(field):
                made = field, item.text("name")
                joins = item.text("behavior") in ("merge", "replace")
                if joins != (made in self._generated) or (joins and kustomization.value.text("namespace")):
                    raise BuildError(item.at, f"whether `{made[1]}` is there to be merged is not known", fails=False)
                self._generated.add(made)
                if field == "configMapGenerator" and kustomization.items("replacements"):
                    generate_config_map(self, kustomization, item)

    def _check_replicas(self, kustomization: Kustomization, resources: list[Resource]) -> None:
        """Raise `BuildError` if `replicas` name no object that has replicas."""
        for item in kustomization.items("replicas"):
            scaled = (resource for resource in resources if resource.id.kind in _SCALED)
            names = {identity.name for resource in scaled for identity in resource.ids()}
            name = item.text("name")
            if name not in names:
                reason = f"`replicas` are for `{name}`, and nothing of this name has any"
                raise BuildError(item.at, reason, fails=not self.is_incomplete)

    def _append(self, resources: list[Resource], added: Iterable[Resource]) -> None:
        known = {resource.id for resource in resources}
        for resource in added:
            now = resource.id
            if now in known:
                name = resource.value.get("metadata", "name")
                raise BuildError(name.at if name is not None else None, f"there are two of {now.kind} `{now.name}`")
            self.budget.spend(_FOR_OBJECT)
            known.add(now)
            resources.append(resource)

    def _transform(self, kustomization: Kustomization, resources: list[Resource]) -> None:
        """Apply the transformers of a kustomization to resources, in kustomize's order."""
        self.budget.spend(len(resources))
        for text, at in kustomization.texts("patchesStrategicMerge"):
            place = at or kustomization.start
            inline = "\n" in text or text.lstrip().startswith("{")
            patch = read_inline(place) if inline else patches.read_patch_file(self, kustomization, text, place)
            for value in patch.read_objects():
                entry = patches.Patch(place, patch, None, None)
                patches.apply_by_name(self, resources, value, entry, as_texts=True)
        for entry in list(patches.read_patches(self, kustomization)):
            patches.apply_patch(self, resources, entry)
        self._end_json(resources)
        transform.set_namespace(resources, kustomization)
        transform.set_affixes(self, resources, kustomization)
        transform.set_labels(self, resources, kustomization)
        transform.set_annotations(self, resources, kustomization)
        for item in kustomization.items("patchesJson6902"):
            self._apply_json(kustomization, resources, item)
        self._end_json(resources)
        replacements.apply_replacements(self, resources, kustomization)

    def _end_json(self, resources: list[Resource]) -> None:
        """Record that other steps than JSON6902 patches may change the objects from now on.

        The next such patch then copies a value before it changes it.
        """
        for resource in resources:
            resource.is_json = False

    def _apply_json(self, kustomization: Kustomization, resources: list[Resource], item: YamlTree) -> None:
        at = item.at or kustomization.start
        target, inline, path = item.get("target"), item.get("patch"), item.text("path")
        if target is None or not target.text("name"):
            raise BuildError(at, "the target of the patch needs a `name`")
        if (inline is not None and inline.at is not None) == bool(path):
            raise BuildError(at, "a patch has one of `patch` and `path`")
        text = read_inline(inline.at) if inline is not None and inline.at is not None else None
        text = text or patches.read_patch_file(self, kustomization, path, at)
        entry = patches.Patch(at, text, read_selector(target), target.at)
        patches.apply_json(self, resources, entry, keeps_id=False)

    def _read_settings(self, kustomization: Kustomization) -> None:
        """Read from `configurations` which fields refer to objects by name. Other settings are not supported."""
        for path, at in kustomization.texts("configurations"):
            full = self.resolve(kustomization, path, at)
            if not self.files.is_file(full):
                raise BuildError(at, f"there is no file `{path}`")
            roots = [root for root, _ in self.files.read_roots(full)]
            self.take(full, roots)
            for value in map(read_json, roots):
                for name, field in value.fields.items():
                    if name not in _KNOWN_SETTINGS and (field.value.items or field.value.fields):
                        raise BuildError(field.key, f"`{name}` of a configuration is not read", fails=False)
                named = value.get("nameReference")
                for entry in named.items if named is not None else []:
                    specs = entry.get("fieldSpecs")
                    self._references += [(entry, spec) for spec in (specs.items if specs is not None else [])]

    def _follow_names(self) -> None:
        """Replace names that refer to objects by the current names of the objects."""
        for referred, spec in self._references:
            self.budget.spend(len(self.resources))
            for resource in self.resources:
                now = resource.id
                if all(spec.text(field) in ("", getattr(now, field)) for field in ("group", "version", "kind")):
                    self._follow_name(resource, spec.text("path").split("/"), referred)

    def _follow_name(self, resource: Resource, path: list[str], referred: YamlTree) -> None:
        holder = resource.value.get(*path[:-1])
        named = holder.get(path[-1]) if holder is not None else None
        if holder is None or named is None or not isinstance(named.value, str):
            return
        self.budget.spend(_FOR_NAME * len(self.resources))
        found = [
            other
            for other in self.resources
            if other.previous
            and all(referred.text(field) in ("", getattr(other.id, field)) for field in ("group", "version", "kind"))
            and any(identity.name == named.value for identity in other.ids())
        ]
        names = {other.id.name for other in found}
        if len(names) > 1:
            raise BuildError(named.at, f"more than one object was named `{named.value}`", fails=False)
        for name in names - {named.value}:
            changed = YamlTree("scalar", named.at, False, name)
            holder.put(path[-1], changed)


def _drop_null_annotations(resource: Resource) -> YamlTree | None:
    """Return the annotations of an object. Null or empty ones are removed, as in kustomize."""
    metadata = resource.value.get("metadata")
    found = metadata.get("annotations") if metadata is not None else None
    if (
        metadata is not None
        and found is not None
        and (found.is_null or (found.kind == "mapping" and not found.fields))
    ):
        del metadata.fields["annotations"]
        return None
    return found


def _may_be_made(path: str) -> bool:
    """Return whether a path that does not exist may be made later: git ignores it, or its folder is a submodule."""
    folder, name = os.path.split(path)
    while not gate.is_folder(folder) and folder != os.path.dirname(folder):
        folder, name = os.path.split(folder)
    if not gate.names(folder):
        return True  # git has no empty folder, except for a submodule that is not checked out
    ignored = Ignored.around(folder)
    ignored = ignored.with_file(folder) if ignored is not None else None
    is_folder = os.path.join(folder, name) != path
    return ignored is not None and ignored.ignores(name, folder=is_folder)


def _is_local(resource: Resource) -> bool:
    found = resource.value.get("metadata", "annotations", _LOCAL_ONLY)
    return found is not None and found.as_text() != "false"
