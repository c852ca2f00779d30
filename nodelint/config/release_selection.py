"""The releases for which an object is judged: those that the user names, else those that nearby files state, else the
newest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.config.settings import Settings, Versions
from nodelint.files.globs import Globs
from nodelint.files.safe_read import repository
from nodelint.forms.registry import TABLE
from nodelint.model.evidence import About
from nodelint.model.folders import list_environments, path_in_repository
from nodelint.model.manifest import Object
from nodelint.model.ranges import Releases, only
from nodelint.model.releases import FIRST_SERVING, OLDEST, KubernetesVersion, Version
from nodelint.releases import Evidence, Stated, evidence_of
from nodelint.releases.deployers import Deployer, Deployers, is_for_another, is_for_destination
from nodelint.releases.release_choice import Chosen
from nodelint.releases.siblings import is_about_sibling, objects_in
from nodelint.text import Source

if TYPE_CHECKING:
    from nodelint.forms.rendered import Built

_Names = tuple[str, str]


class _Place(NamedTuple):
    """The place of an object that decides which releases it has.

    - `path`: that of its file.
    - `roots`: the root modules of Terraform that render it.
    - `deployer`: what deploys it. None if it is not known.
    - `values`: the path of the values file with which a chart renders it. Empty if there is none.
    """

    path: str
    roots: tuple[str, ...] = ()
    deployer: Deployer | None = None
    values: str = ""

    @property
    def of_cluster(self) -> str:
        """Return the path that shows the cluster of the object, apart from its deployer."""
        if len(self.roots) != 1:
            return self.values or self.path
        root = self.roots[0]
        return root if root.endswith(TABLE.stating) else os.path.join(root, "")


_Key = tuple[str, str, bool, _Names, "tuple[_Place, ...]"]
"""Path, API version, whether of another provider, the kind and name of an object, and its places."""

Choose = Callable[[Object], tuple[Chosen, ...] | str]
"""A function that returns the releases of an object, oldest first, or the reason why there are none."""

_OF_VALUES = "values"
"""Represents the unknown API version of objects that a chart renders from values."""


def chooser(settings: Settings, stating: Iterable[Source], deployers: Deployers | None = None) -> Choose | None:
    """Return the function that chooses the releases of an object. None if all objects have the release of the
    settings.

    `stating` are the files that may state a release. A file in another repository does not count for an object.
    `deployers` are the objects that deploy files of the repositories.
    """
    deployers = deployers or Deployers()
    by_repository: dict[str | None, list[Source]] = {}
    for source in stating:
        by_repository.setdefault(_repository(source.path), []).append(source)
    stated = {top: found for top, sources in by_repository.items() if (found := evidence_of(sources, deployers))}
    if not stated and not settings.per_path_versions and not settings.karpenter_range:
        return None
    return _Targets(settings, stated, deployers).choose


class _Targets:
    def __init__(self, settings: Settings, stated: dict[str | None, Stated], deployers: Deployers) -> None:
        self.settings = settings
        self.stated = stated
        self.deployers = deployers
        self.read_folder, self.close_folder = cache(objects_in), cache(_close_folder)
        self.globs = [
            (Globs((glob,), settings.root, settings.seen_as), named)
            for glob, named in settings.per_path_versions.items()
        ]
        self.known: dict[_Key, tuple[Chosen, ...] | str] = {}
        self.found: dict[tuple[object, ...], tuple[Evidence, ...]] = {}

    def choose(self, obj: Object) -> tuple[Chosen, ...] | str:
        # Which API version a chart prints its values in is not known: any release that has NodePools may serve it.
        version = _OF_VALUES if obj.of_values else obj.version
        foreign = obj.foreign
        name = _find_written_name(obj)
        key = (obj.source.path, version, foreign, (obj.kind, name), self._list_places(obj, foreign))
        if key not in self.known:
            self.known[key] = self._choose_for_each(*key)
        return self.known[key]

    def _list_places(self, obj: Object, foreign: bool) -> tuple[_Place, ...]:
        """Return the places of an object, one for each deployer.

        A file that overlays and charts render has the places of what they render: an object in it has their releases.
        """
        source = obj.source
        roots = _module_roots(obj)
        if roots or foreign or not self.stated:
            return (_Place(self.close_folder(source.path) if source.built is not None else source.path, roots),)
        if source.built is not None:
            builds: Sequence[Built] = (source.built,)
        else:
            builds = [built for built in source.built_in if not built.by_default] or source.built_in
        if not builds:
            return tuple(_Place(source.path, (), by) for by in self.deployers.of_file(source.path) or (None,))
        found = (
            _Place(self.close_folder(built.source.path), (), deployer, _find_own_values(built))
            for built in builds
            for deployer in self.deployers.of_built(built) or (None,)
        )
        return tuple(dict.fromkeys(found))

    def _choose_for_each(
        self, path: str, api: str, foreign: bool, names: _Names, places: tuple[_Place, ...]
    ) -> tuple[Chosen, ...] | str:
        """Return the releases of all clusters to which an object is deployed."""
        path = self.close_folder(path)
        named = [versions for globs, versions in self.globs if globs.match(path)]
        found: dict[Chosen, Chosen] = {}
        for place in places:
            chosen = self._choose(place, api, named, foreign, names)
            if isinstance(chosen, str):
                return chosen
            for choice in chosen:
                found.setdefault(choice.bare, choice)
        return tuple(sorted(found.values(), key=lambda choice: choice.order))

    def _choose(
        self, place: _Place, api: str, named: Sequence[Versions], foreign: bool, names: _Names
    ) -> list[Chosen] | str:
        path = place.path
        karpenter = self._karpenter(place, api, named, foreign, names)
        if isinstance(karpenter, str):
            return karpenter
        named_too = self.settings.karpenter_named or any(versions.karpenter is not None for versions in named)
        least = FIRST_SERVING["v1beta1"] if api == _OF_VALUES else FIRST_SERVING.get(api)
        by = [k_from for _, k_from in karpenter if k_from is not None]
        evidence = self._evidence(path)
        seen_from = path if place.deployer is None else place.deployer.path
        passed_over = () if named_too or foreign else evidence.passed_over(seen_from, least, by)
        unclear = None if named_too or foreign else evidence.find_not_known(seen_from, by, self._counts_for(place))
        if unclear is not None:
            served = least is not None and least <= OLDEST
            both = (OLDEST, self.settings.karpenter) if served else (self.settings.karpenter,)
            karpenter = [(only(release), None) for release in both]
        assumed = not named_too and unclear is None
        is_contested = len(karpenter) > 1 and len(place.roots) < 2
        return [
            Chosen(k, v, k_from, v_from, assumed and k_from is None, passed_over, unclear, is_contested)
            for k, k_from in karpenter
            for v, v_from in self._kubernetes(place, named, k_from, names)
        ]

    def _karpenter(
        self, place: _Place, api: str, named: Sequence[Versions], foreign: bool, names: _Names
    ) -> Sequence[tuple[Releases, Evidence | None]] | str:
        releases = next((versions.karpenter for versions in named if versions.karpenter is not None), None)
        if releases is None and self.settings.karpenter_named:
            releases = self.settings.karpenter_range or (only(self.settings.karpenter),)
        if releases is not None:
            return [(release, None) for release in releases]
        if foreign:  # the files state the release of Karpenter for AWS, which another controller does not have
            return [(only(self.settings.karpenter), None)]
        least = FIRST_SERVING["v1beta1"] if api == _OF_VALUES else FIRST_SERVING.get(api)
        evidence = self._find("karpenter", place, names, least)
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
        self, place: _Place, named: Sequence[Versions], karpenter: Evidence | None, names: _Names
    ) -> Sequence[tuple[KubernetesVersion | None, Evidence | None]]:
        version = next(
            (versions.kubernetes for versions in named if versions.kubernetes is not None), self.settings.kubernetes
        )
        if version is not None:
            return [(version, None)]
        installed = (karpenter,) if karpenter is not None else self._find("karpenter", place, names)
        evidence = self._find("kubernetes", place, names, None, installed)
        return [(item.kubernetes, item) for item in evidence] or [(None, None)]

    def _find(
        self,
        about: About,
        place: _Place,
        names: _Names,
        least: Version | None = None,
        installed: tuple[Evidence, ...] = (),
    ) -> tuple[Evidence, ...]:
        """Return the statements for an object, one for each release.

        Those next to what deploys it count, then those next to its file, then the nearest.
        """
        path, deployer = place.path, place.deployer
        if path == "-":
            return ()
        stated = self._evidence(path)
        found = stated.of_roots(about, place.roots, least)
        if not found and deployer is not None:
            found = self._find_beside(about, place, deployer, least, installed)
        if not found:
            found = self._find_near(about, place, least, installed)
            found = tuple(item for item in found if not is_about_sibling(item.path, path, names, self.read_folder))
        return found

    def _find_beside(
        self, about: About, place: _Place, deployer: Deployer, least: Version | None, installed: tuple[Evidence, ...]
    ) -> tuple[Evidence, ...]:
        """Return the statements for the cluster of a deployer, or next to it."""
        key = (about, deployer, least, installed)
        if key not in self.found:
            stated, counts = self._evidence(place.path), self._counts_for(place, installed)

            def has_destination(evidence: Evidence) -> bool:
                return counts(evidence) and is_for_destination(evidence, deployer) is True

            self.found[key] = (
                stated.nearest(about, [deployer.path], least, has_destination) if deployer.clusters else ()
            ) or stated.in_folder(about, deployer.folder, least, counts)
        return self.found[key]

    def _find_near(
        self, about: About, place: _Place, least: Version | None, installed: tuple[Evidence, ...]
    ) -> tuple[Evidence, ...]:
        """Return the statements next to the file of an object, else those nearest to it or to what deploys it."""
        folder = os.path.abspath(os.path.dirname(place.path))
        key = (about, folder, place.of_cluster, place.deployer, least, installed)
        if key not in self.found:
            stated, counts = self._evidence(place.path), self._counts_for(place, installed)
            paths = [place.values] if place.values else []
            paths += [place.path] if place.deployer is None else [place.path, place.deployer.path]
            folders = dict.fromkeys([*(os.path.dirname(path) for path in paths[:1]), folder])
            found = next(filter(None, (stated.in_folder(about, place_, least, counts) for place_ in folders)), ())
            if not found:
                found = stated.nearest(about, paths, least, counts, installed)
                found = found if installed else self._drop_other_roots(found, place)
            self.found[key] = found
        return self.found[key]

    def _counts_for(self, place: _Place, installed: tuple[Evidence, ...] = ()) -> Callable[[Evidence], bool]:
        """Return a function that returns whether a statement is not for another cluster than an object."""
        stated = self._evidence(place.path)

        def counts(evidence: Evidence) -> bool:
            if installed and not stated.is_of_root(evidence, installed):
                return False
            by = self.deployers.of_file(evidence.path)
            return not is_for_another(evidence, by, place.of_cluster, place.deployer)

        return counts

    def _drop_other_roots(self, found: tuple[Evidence, ...], place: _Place) -> tuple[Evidence, ...]:
        """Return statements without those of Terraform roots with their own Karpenter, if the object is not of
        Terraform.

        They are kept if the repository states a release for one cluster only.
        """
        if place.roots or place.path.endswith(TABLE.stating) or not any(TABLE.stating_form(e.path) for e in found):
            return found
        counts = self._counts_for(place)
        stated = self._evidence(place.path)
        if all(counts(evidence) for evidence in stated.all if evidence.about == "karpenter"):
            return found
        own = place.path if place.deployer is None else place.deployer.path
        words = list_environments(path_in_repository(own).split("/"))
        return tuple(
            evidence
            for evidence in found
            if TABLE.stating_form(evidence.path) is None
            or (evidence.about == "kubernetes" and stated.is_of_root(evidence, ()))
            or words & list_environments(path_in_repository(evidence.path).split("/"))
        )

    def _evidence(self, path: str) -> Stated:
        return self.stated.get(_repository(path) if path != "-" else None) or Stated(())


def _find_own_values(built: Built) -> str:
    """Return the path of the values file that a rendered chart has for itself. Empty if there is none."""
    paths = (os.path.abspath(source.path) for source in built.given if built.by_default)
    return next((path for path in paths if path != built.applied_by[0]), "")


def _close_folder(path: str) -> str:
    """Return a path; that of a folder, to which an overlay or a chart was rendered, with `/` at its end."""
    return os.path.join(path, "") if os.path.isdir(path) else path


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
