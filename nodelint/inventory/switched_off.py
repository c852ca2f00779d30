"""The objects of resources of which Terraform makes none."""

from __future__ import annotations

import os

from nodelint.files.gate import gate
from nodelint.model.finding import span_of, written_place

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.model.manifest import Object
    from nodelint.text import SourceText


def list_switched_off(objects: Sequence[Object]) -> Iterator[tuple[Object, str]]:
    """The objects of resources of which Terraform makes none, and why."""
    folders = {os.path.dirname(_source(obj).path) for obj in objects}
    if not _is_terraform_near(set(map(os.path.abspath, folders))):
        return
    from nodelint.forms.terraform.switched_off import find_addresses
    from nodelint.text import Source

    sources = {id(source): source for obj in objects if isinstance(source := _source(obj), Source)}
    for obj, _, reason in find_addresses(objects, list(sources.values())):
        if reason:
            yield obj, reason


def _is_terraform_near(folders: set[str]) -> bool:
    """Whether a file of Terraform stands in one of some folders, or a little above: nearly no repository has any."""
    for _ in range(_LEVELS):
        for folder in folders:
            if any(name.endswith(_TERRAFORM) for name in gate.names(folder)):
                return True
        folders = {os.path.dirname(folder) for folder in folders}
    return False


_LEVELS = 3
_TERRAFORM = (".tf", ".tofu", ".tf.json", ".tofu.json")


def _source(obj: Object) -> SourceText:
    return span_of(written_place(obj.node)).source
