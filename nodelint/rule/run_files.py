"""What a rule about a file may ask of the other files of a run: installations, Terraform's blocks, what they hold."""

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
    from nodelint.rule.object_relations import ObjectRelations
    from nodelint.text import Source

    AnyObject = TypeVar("AnyObject", bound=Object)


class RunFiles:
    """The files of a run, and those that tell of the cluster next to them, for rules about a file as a whole."""

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
        """How the files of the repository install the controller, in every form, with the values of its chart."""
        if self._stated is not None:
            return self._stated().installs
        from nodelint.inventory.controller_installs import find_installs

        return find_installs(self._context.files)

    def installs_in(self, source: Source) -> Sequence[ControllerInstall]:
        """Return the installations of which a file holds a part."""
        return self._installs_by_path.get(source.path, ())

    @cached_property
    def _installs_by_path(self) -> Mapping[str, list[ControllerInstall]]:
        return _group((path, install) for install in self.installs for path in install.paths)

    @property
    def files_around(self) -> Sequence[Source]:
        """The files of the run, what is judged of them, and those that tell of the cluster but name no Karpenter."""
        stated, judged = self._stated, self._context.files
        if stated is None:
            return judged
        if self._around is None or self._around[0] is not judged:
            ids = {id(file) for file in judged}
            written = (file for file in stated().files if id(file) not in ids)
            self._around = judged, (*judged, *written, *stated().others)
        return self._around[1]

    def objects_near(self, source: Source, kind: type[AnyObject]) -> Sequence[AnyObject]:
        """Return the objects of a class below the nearest folder around a file that holds any.

        If there are none, those of the files count of which overlays and charts make what the clusters get.
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
        """The files of the run as they are written, also for a rule about what is rendered of them."""
        stated = self._stated
        return self._context.files if stated is None else stated().files

    def is_in_files(self, pattern: re.Pattern[str] | str, around: bool = False) -> bool:
        """Return whether a file of the run holds a text or matches a pattern; with `around`, those next to it count.

        Rules about a file ask it of all the others.
        """
        judged, beside = self._context.files, self._list_beside(pattern) if around else ()
        return any(is_match(file, pattern) for file in judged) or bool(beside)

    def files_with(self, pattern: re.Pattern[str] | str, around: bool = False) -> Sequence[Source]:
        """Return the files of the run that hold a text or match a pattern; with `around`, also those next to it.

        Each text is searched once, however many files, and trials of fixes, ask for it.
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
        """Whether a file of the run has a text about Karpenter that could not be read, and that no form renders."""
        files = self._context.files
        replaced = {path for source in files if source.built is not None for path in source.built.replaces}
        return any(
            source.concerns_karpenter(aside.offset)
            for source in files
            if source.set_aside and os.path.abspath(source.path) not in replaced
            for aside in source.set_aside
        )

    def classes_of(self, source: Source) -> Sequence[EC2NodeClass]:
        """Return the EC2NodeClasses that a file holds."""
        if self._classes_of is None:
            self._classes_of = _group(
                (id(obj.source), obj) for obj in self._context.objects if isinstance(obj, EC2NodeClass)
            )
        return self._classes_of.get(id(source), ())

    @property
    def has_terraform(self) -> bool:
        """Whether the run has Terraform files; without any, nothing that reads them is loaded."""
        files = self.files_of_run
        if self._has_terraform is None or self._has_terraform[0] is not files:
            self._has_terraform = files, any(file.path.endswith((".tf", ".tofu", ".hcl")) for file in files)
        return self._has_terraform[1]

    @property
    def terraform(self) -> TerraformBlocks:
        """The blocks of Terraform in the files of the run and next to them, also for what is rendered of them."""
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
    """Yield the folders around a file, the nearest first, the one that holds all last: empty for relative paths."""
    folder = os.path.dirname(path)
    while folder and folder != os.path.dirname(folder):
        yield folder
        folder = os.path.dirname(folder)
    yield folder
