"""The releases for which an object is judged: those that the user names, else those that nearby files state, else the
newest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from nodelint.config.settings import Settings, Versions
from nodelint.files.globs import Globs
from nodelint.files.safe_read import repository
from nodelint.model.manifest import Object
from nodelint.model.ranges import Releases, only
from nodelint.model.releases import FIRST_SERVING, OLDEST, KubernetesVersion
from nodelint.releases import Evidence, Stated, evidence_of
from nodelint.releases.release_choice import Chosen
from nodelint.releases.siblings import is_about_sibling, objects_in
from nodelint.text import Source

_Names = tuple[str, str]
_Key = tuple[str, str, bool, tuple[str, ...], _Names]
"""Path, API version, whether of another provider, root modules, and the kind and name of an object."""

Choose = Callable[[Object], tuple[Chosen, ...] | str]
"""A function that returns the releases of an object, oldest first, or the reason why there are none."""

_OF_VALUES = "values"
"""Represents the unknown API version of objects that a chart renders from values."""


def chooser(settings: Settings, stating: Iterable[Source]) -> Choose | None:
    """Return the function that chooses the releases of an object. None if all objects have the release of the
    settings.

    `stating` are the files that may state a release. A file in another repository does not count for an object.
    """
    by_repository: dict[str | None, list[Source]] = {}
    for source in stating:
        by_repository.setdefault(_repository(source.path), []).append(source)
    stated = {top: found for top, sources in by_repository.items() if (found := evidence_of(sources))}
    if not stated and not settings.per_path_versions and not settings.karpenter_range:
        return None
    return _Targets(settings, stated).choose


class _Targets:
    def __init__(self, settings: Settings, stated: dict[str | None, Stated]) -> None:
        self.settings = settings
        self.stated = stated
        self.read_folder = cache(objects_in)
        self.globs = [
            (Globs((glob,), settings.root, settings.seen_as), named)
            for glob, named in settings.per_path_versions.items()
        ]
        self.known: dict[_Key, tuple[Chosen, ...] | str] = {}

    def choose(self, obj: Object) -> tuple[Chosen, ...] | str:
        # Which API version a chart prints its values in is not known: any release that has NodePools may serve it.
        version = _OF_VALUES if obj.of_values else obj.version
        foreign = obj.foreign
        name = _find_written_name(obj)
        key = (obj.source.path, version, foreign, _module_roots(obj), (obj.kind, name))
        if key not in self.known:
            self.known[key] = self._choose(*key)
        return self.known[key]

    def _choose(
        self, path: str, api: str, foreign: bool, roots: tuple[str, ...], names: _Names
    ) -> tuple[Chosen, ...] | str:
        if os.path.isdir(path):  # what an overlay or a chart was rendered to
            path = os.path.join(path, "")
        named = [versions for globs, versions in self.globs if globs.match(path)]
        karpenter = self._karpenter(path, api, named, foreign, roots, names)
        if isinstance(karpenter, str):
            return karpenter
        named_too = self.settings.karpenter_named or any(versions.karpenter is not None for versions in named)
        least = FIRST_SERVING["v1beta1"] if api == _OF_VALUES else FIRST_SERVING.get(api)
        by = [k_from for _, k_from in karpenter if k_from is not None]
        passed_over = () if named_too or foreign else self._evidence(path).passed_over(path, least, by)
        evidence = self._evidence(path)
        unclear = None if named_too or foreign else evidence.find_not_known(path, by)
        if unclear is not None:
            served = least is not None and least <= OLDEST
            both = (OLDEST, self.settings.karpenter) if served else (self.settings.karpenter,)
            karpenter = [(only(release), None) for release in both]
        assumed = not named_too and unclear is None
        found = [
            Chosen(k, v, k_from, v_from, assumed and k_from is None, passed_over, unclear)
            for k, k_from in karpenter
            for v, v_from in self._kubernetes(path, named, k_from, roots, names)
        ]
        return tuple(sorted(found, key=lambda choice: choice.order))

    def _karpenter(
        self, path: str, api: str, named: Sequence[Versions], foreign: bool, roots: tuple[str, ...], names: _Names
    ) -> Sequence[tuple[Releases, Evidence | None]] | str:
        releases = next((versions.karpenter for versions in named if versions.karpenter is not None), None)
        if releases is None and self.settings.karpenter_named:
            releases = self.settings.karpenter_range or (only(self.settings.karpenter),)
        if releases is not None:
            return [(release, None) for release in releases]
        if foreign:  # the files state the release of Karpenter for AWS, which another controller does not have
            return [(only(self.settings.karpenter), None)]
        least = FIRST_SERVING["v1beta1"] if api == _OF_VALUES else FIRST_SERVING.get(api)
        stated = self._evidence(path)
        evidence = stated.of_roots("karpenter", roots, least) or stated.for_path("karpenter", path, least)
        evidence = tuple(item for item in evidence if not is_about_sibling(item.path, path, names, self.read_folder))
        if api == _OF_VALUES:
            evidence = tuple(item for item in evidence if item.karpenter >= OLDEST) or evidence
        # An object belongs to the releases that serve it.
        old = next((item for item in evidence if item.karpenter < OLDEST), None)
        if old is not None and (api in FIRST_SERVING or api == _OF_VALUES):
            return [(only(OLDEST), old)]  # which serves the object too, and handles it nearly alike
        # An object that no known release serves is checked for the release to which it must be converted.
        if old is not None:
            return [(only(self.settings.karpenter), old)]
        return [(only(item.karpenter), item) for item in evidence] or [(only(self.settings.karpenter), None)]

    def _kubernetes(
        self, path: str, named: Sequence[Versions], karpenter: Evidence | None, roots: tuple[str, ...], names: _Names
    ) -> Sequence[tuple[KubernetesVersion | None, Evidence | None]]:
        version = next(
            (versions.kubernetes for versions in named if versions.kubernetes is not None), self.settings.kubernetes
        )
        if version is not None:
            return [(version, None)]
        stated = self._evidence(path)
        evidence = stated.of_roots("kubernetes", roots) or stated.list_kubernetes_of_root(path, karpenter)
        evidence = tuple(item for item in evidence if not is_about_sibling(item.path, path, names, self.read_folder))
        return [(item.kubernetes, item) for item in evidence] or [(None, None)]

    def _evidence(self, path: str) -> Stated:
        return self.stated.get(_repository(path) if path != "-" else None) or Stated(())


def _module_roots(obj: Object) -> tuple[str, ...]:
    """Return the root modules or variable files with which Terraform renders an object. If the object is not
    rendered, return those of its file.
    """
    built = obj.source.built
    return (obj.source.cluster,) if built is not None and built.settle is not None else obj.source.roots


def _find_written_name(obj: Object) -> str:
    """Return the name of an object as its file has it. Empty if the name is rendered, and in a chart.

    The objects of a file then have the same release, whether the file or the rendered manifest is judged. A chart is
    not the folder of a cluster, so an object of this name in another folder shows nothing about it.
    """
    built = obj.source.built
    if obj.source.may_be_template or (built is not None and built.by_default):
        return ""
    written = built.written_object(obj) if built is not None and built.settle is not None else obj
    return written.name if written is not None and isinstance(written.name, str) else ""


def _repository(path: str) -> str | None:
    return repository(os.path.dirname(os.path.abspath(path)))
