"""A side of a change: what the clusters get on it, and the objects of it as the API server stores them."""

from __future__ import annotations

import os
import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.model.documents import objects
from nodelint.model.finding import label_of
from nodelint.model.folders import path_below
from nodelint.model.manifest import EC2NodeClass, NodePool, Retired
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text.missing import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from nodelint.forms.rendered import Built
    from nodelint.model.finding import Span
    from nodelint.model.manifest import Object
    from nodelint.plan.outcome import PlanOptions
    from nodelint.text import Node, Source, SourceText

    class Objects(Protocol):
        """What holds the objects of a side: an inventory, or a part of one."""

        @property
        def built(self) -> Sequence[Built]: ...

        def objects(self, foreign: bool = False) -> Iterator[Object]: ...


_VALUES = (".yaml", ".yml", ".tfvars", ".tfvars.json")
_OBJECT = re.compile(r"(?m)^apiVersion\s*:")


class Side(NamedTuple):
    """What the clusters get on one side; `beside` are sources read for context. Paths are compared from `root` on.

    `switched_off` are the ids of objects that are written on this side and made on the other alone.
    """

    inventory: Objects
    beside: Sequence[Source] = ()
    root: str = ""
    switched_off: frozenset[int] = frozenset()

    @property
    def objects(self) -> list[Object]:
        """Objects of Karpenter's, pools of another provider too: a pool may go from one to the other."""
        return [obj for obj in self.inventory.objects(foreign=True) if id(obj) not in self.switched_off]

    def place(self, obj: Object) -> str:
        """Where an object's file stands below the root, and what it is built with."""
        return place_below(obj, self.root)

    def below(self, path: str) -> str:
        """Return a path relative to the root of the side."""
        return _below(path, self.root)

    def values_file(self, obj: Object) -> str:
        """Return the place, from the root on, of the file whose values an object is built with; empty for none."""
        built = obj.source.built
        given = built.given[0].path if built is not None and built.given else ""
        return self.below(given) if given.endswith(_VALUES) else ""

    def values_of(self, obj: Object) -> str:
        """Return the place of an object's file, and of that of its values; empty if it has none."""
        values = self.values_file(obj)
        return f"{self.below(obj.source.path)} {values}" if values else ""

    def gives_values(self, given: SourceText, values: str, template: str) -> bool:
        """Return whether a file gives values on this side as on the other, whose text is `given`, to a template.

        One with objects does if it has all the objects of the other side's, and the template takes no values here.
        """
        if not self.has_file(values) or not self.has_file(template):
            return False
        if not _OBJECT.search(given.text):
            return True
        return _names_in(given.text) <= _names_in(self._read(values)) and ".Values" not in self._read(template)

    def _read(self, place: str) -> str:
        try:
            return gate.read(os.path.join(self.root, place)).decode(errors="replace")
        except OSError:
            return ""

    def builds_with(self, place: str) -> bool:
        """Return whether something is built with a values file, by its place from the root on."""
        return any(self.below(given.path) == place for built in self.inventory.built for given in built.given)

    def has_file(self, place: str) -> bool:
        """Return whether the side has a file at a place."""
        return gate.is_file(os.path.join(self.root, place))

    @property
    def all_objects(self) -> list[Object]:
        """The objects, and those that are read for context."""
        return [*self.objects, *(obj for source in self.beside for obj in objects(source))]


def _names_in(text: str) -> set[tuple[str, str]]:
    """Return the kinds and names of the objects of a text."""
    from nodelint.text import Source

    roots = [document.root for document in Source.from_text("", text).documents]
    return {(text_of(root.get("kind")), text_of(root.find("metadata", "name"))) for root in roots if root is not None}


def place_below(obj: Object, root: str) -> str:
    """Return where an object's file stands below a root, and what it is built with."""
    built = obj.source.built
    path, name = built.applied_by if built is not None else ("", "")
    path = path or (str(built.cluster) if built is not None else "")
    return f"{_below(obj.source.path, root)} {_below(path, root) if path else label_of(obj.source)} {name}"


def _below(path: str, root: str) -> str:
    return path_below(path, root) if root else path


class StoredObjects(NamedTuple):
    """The objects of a side, those of v1beta1 as what they become, and the way back to what is written.

    `written` holds the object of v1beta1 by the id of what it becomes.
    """

    objects: list[Object]
    find_origin: Callable[[Node | Span], Node | Span]
    written: Mapping[int, Object] = {}


def as_stored(side: Side, options: PlanOptions) -> StoredObjects:
    """Return the objects of a side as the API server stores them: a conversion webhook makes v1 of v1beta1.

    What older kinds have made, no webhook converts: a NodePool does not take over the nodes of a Provisioner.
    """
    requested = side.objects
    old = [obj for obj in requested if isinstance(obj, NodePool | EC2NodeClass) and obj.version == "v1beta1"]
    if not old:
        return StoredObjects(requested, lambda at: at)
    from nodelint.lint.converted_objects import Converted

    context_objects = [obj for source in side.beside for obj in objects(source)]
    context = Context([*requested, *context_objects], Target(options.release, options.kubernetes, options.schemas))
    converted = Converted(old, context)
    both = list(zip(converted.objects[: len(requested)], requested, strict=True))
    stored = [was if isinstance(was, Retired) else now for now, was in both]
    written = {id(now): was for now, was in both if now is not was and was.version == "v1beta1"}
    return StoredObjects(stored, converted.find_origin, written)


_HOP_LIMIT = ("spec", "metadataOptions", "httpPutResponseHopLimit")


def keeps_hop_limit(old: EC2NodeClass | None, new: EC2NodeClass | None, written: Mapping[int, Object]) -> bool:
    """Return whether a class goes from one of v1beta1 and v1 to the other and writes no hop limit in either.

    The default changed. The API server has filled in the one of the time, and whatever applies a manifest leaves a
    field that no manifest has set.
    """
    both = [written.get(id(obj), obj) for obj in (old, new) if obj is not None]
    return {obj.version for obj in both} == {"v1", "v1beta1"} and not any(obj.node.find(*_HOP_LIMIT) for obj in both)


def keep_hop_limit(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a stored class with the hop limit of what it was."""
    section, group, name = _HOP_LIMIT
    options = {**new[section].get(group, {}), name: old[section].get(group, {}).get(name)}
    return {**new, section: {**new[section], group: options}}
