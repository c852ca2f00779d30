"""The files of a run, for rules about a file: installations of the controller, Terraform blocks, objects nearby."""

from __future__ import annotations

import os
import re
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import EC2NodeClass, Object
from nodelint.releases.settings import is_match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from nodelint.forms.terraform.terraform_trace import TerraformBlocks
    from nodelint.model.controller_settings import ControllerInstall
    from nodelint.releases.settings import StatedSettings
    from nodelint.rule.classification import Tag
    from nodelint.rule.object_relations import ObjectRelations
    from nodelint.text import Source

    AnyObject = TypeVar("AnyObject", bound=Object)


_TERRAFORM = (".tf", ".tofu", ".hcl", ".tfvars", ".tf.json", ".tofu.json")


class RunFiles:
    """The files of a run, and the files next to them that describe the cluster, for rules about a whole file."""

    def __init__(self, context: ObjectRelations, stated: Callable[[], StatedSettings] | None) -> None:
        self._context = context
        self._stated = stated
        self._around: tuple[Sequence[Source], Sequence[Source]] | None = None
        self._has_terraform: tuple[Sequence[Source], bool] | None = None
        self._terraform: tuple[Sequence[Source], TerraformBlocks] | None = None
        self._matches: dict[tuple[re.Pattern[str] | str, bool], tuple[Sequence[Source], Sequence[Source]]] = {}
        self._classes_of: dict[int, list[EC2NodeClass]] | None = None
        self._below: dict[tuple[type[Object], bool], dict[str, list[Any]]] = {}

    @cached_property
    def installs(self) -> Sequence[ControllerInstall]:
        """Return the installations of the controller in all files of the repository, with the values of the chart."""
        if self._stated is not None:
            return self._stated().installs
        from nodelint.inventory.controller_installs import find_installs

        return find_installs(self._context.files)

    def installs_in(self, source: Source) -> Sequence[ControllerInstall]:
        """Return the installations of which a file has a part."""
        return self._installs_by_path.get(source.path, ())

    @cached_property
    def _installs_by_path(self) -> Mapping[str, list[ControllerInstall]]:
        return _group((path, install) for install in self.installs for path in install.paths)

    @property
    def files_around(self) -> Sequence[Source]:
        """Return the files of the run, the texts rendered from them, and the files that describe the cluster but do
        not name Karpenter.
        """
        stated, judged = self._stated, self._context.files
        if stated is None:
            return judged
        if self._around is None or self._around[0] is not judged:
            ids = {id(file) for file in judged}
            written = (file for file in stated().files if id(file) not in ids)
            self._around = judged, (*judged, *written, *stated().others)
        return self._around[1]

    def objects_near(self, source: Source, kind: type[AnyObject]) -> Sequence[AnyObject]:
        """Return the objects of a class below the nearest folder around a file that has any.

        If there are none, objects in the files count from which overlays and charts render the manifests.
        """
        near = self._find_near(source, kind, self._context.objects)
        if not near and self.files_of_run:
            from nodelint.model.documents import objects

            written = [obj for file in self.files_of_run for obj in objects(file)]
            near = self._find_near(source, kind, written)
        return near

    def _find_near(self, source: Source, kind: type[AnyObject], candidates: Sequence[Object]) -> Sequence[AnyObject]:
        key = kind, candidates is self._context.objects
        if key not in self._below:
            found = (obj for obj in candidates if isinstance(obj, kind))
            self._below[key] = _group((folder, obj) for obj in found for folder in _folders_around(obj.source.path))
        below = self._below[key]
        return next((below[folder] for folder in _folders_around(source.path) if folder in below), ())

    @property
    def files_of_run(self) -> Sequence[Source]:
        """Return the files of the run as they are written, also for a rule about rendered manifests."""
        stated = self._stated
        return self._context.files if stated is None else stated().files

    def is_in_files(self, pattern: re.Pattern[str] | str, around: bool = False) -> bool:
        """Return whether a file of the run contains a text or matches a pattern. With `around`, files next to the run
        count as well.
        """
        return bool(self.files_with(pattern)) or (around and bool(self._list_beside(pattern)))

    def files_with(self, pattern: re.Pattern[str] | str, around: bool = False) -> Sequence[Source]:
        """Return the files of the run that contain a text or match a pattern. With `around`, files next to the run
        count as well.

        Each text is searched once, although many files, and trials of fixes, need the result.
        """
        found = self._matches.get((pattern, around))
        if found is None or found[0] is not self._context.files:
            matching = [file for file in self._context.files if is_match(file, pattern)]
            matching += self._list_beside(pattern) if around else ()
            found = self._matches[pattern, around] = self._context.files, matching
        return found[1]

    def _list_beside(self, pattern: re.Pattern[str] | str) -> Sequence[Source]:
        """Return the files that match a pattern, of `files_around` without those that are judged.

        They are the same for all that is rendered of a run, so that they are searched once for all of it.
        """
        if self._stated is None:
            return ()
        written, others = self._stated().files_with(pattern)
        ids = {id(file) for file in self._context.files} if written else ()
        return [*(file for file in written if id(file) not in ids), *others]

    @property
    def has_unread_text(self) -> bool:
        """Return whether a file of the run has a text about Karpenter that could not be read, and that no rendered
        manifest replaces.
        """
        files = self._context.files
        replaced = {path for source in files if source.built is not None for path in source.built.replaces}
        return any(
            source.concerns_karpenter(aside.offset)
            for source in files
            if source.set_aside and os.path.abspath(source.path) not in replaced
            for aside in source.set_aside
        )

    def classes_of(self, source: Source) -> Sequence[EC2NodeClass]:
        """Return the EC2NodeClasses in a file."""
        if self._classes_of is None:
            self._classes_of = _group(
                (id(obj.source), obj) for obj in self._context.objects if isinstance(obj, EC2NodeClass)
            )
        return self._classes_of.get(id(source), ())

    @property
    def has_terraform(self) -> bool:
        """Return whether the run has Terraform files. If not, no code that reads them is loaded."""
        files = self.files_of_run
        if self._has_terraform is None or self._has_terraform[0] is not files:
            self._has_terraform = files, any(file.path.endswith(_TERRAFORM) for file in files)
        return self._has_terraform[1]

    def lacks_files_for(self, tags: Sequence[Tag]) -> bool:
        """Return whether the run has no files about which a rule with these tags may find anything."""
        return "terraform" in tags and not self.has_terraform

    @property
    def terraform(self) -> TerraformBlocks:
        """Return the Terraform blocks in the files of the run and next to them, also for a rule about rendered
        manifests.
        """
        from nodelint.forms.terraform.terraform_trace import TerraformBlocks

        stated = self._stated() if self._stated is not None else None
        if stated is not None and stated.files:
            return stated.terraform
        if self._terraform is None or self._terraform[0] is not self._context.files:
            self._terraform = self._context.files, TerraformBlocks(self._context.files)
        return self._terraform[1]


def _group(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def _folders_around(path: str) -> Iterator[str]:
    """Yield the folders around a file, from the nearest to the outermost (an empty text for a relative path)."""
    folder = os.path.dirname(path)
    while folder and folder != os.path.dirname(folder):
        yield folder
        folder = os.path.dirname(folder)
    yield folder
