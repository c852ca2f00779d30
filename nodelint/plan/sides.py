"""A side of a change: its objects, also in the form that the API server stores."""

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
        """The objects of a side: an inventory, or a part of one."""

        @property
        def built(self) -> Sequence[Built]: ...

        def objects(self, foreign: bool = False) -> Iterator[Object]: ...


_VALUES = (".yaml", ".yml", ".tfvars", ".tfvars.json")
_OBJECT = re.compile(r"(?m)^apiVersion\s*:")


class Side(NamedTuple):
    """The objects of one side. `beside` are sources read for context. Paths are compared relative to `root`.

    `switched_off` are the ids of objects whose block creates them only on the other side.
    """

    inventory: Objects
    beside: Sequence[Source] = ()
    root: str = ""
    switched_off: frozenset[int] = frozenset()

    @property
    def objects(self) -> list[Object]:
        """Return the Karpenter objects of the side, including pools of other providers: a pool may move from one
        provider to another.
        """
        return [obj for obj in self.inventory.objects(foreign=True) if id(obj) not in self.switched_off]

    def place(self, obj: Object) -> str:
        """Return the path of an object's file below the root, with the file and the name of the application that
        renders it.
        """
        return place_below(obj, self.root)

    def below(self, path: str) -> str:
        """Return `path` relative to the root folder of this side of the plan."""
        return _below(path, self.root)

    def values_file(self, obj: Object) -> str:
        """Return the path below the root of the values file with which an object is rendered. Empty if there is
        none.
        """
        built = obj.source.built
        given = built.given[0].path if built is not None and built.given else ""
        return self.below(given) if given.endswith(_VALUES) else ""

    def values_of(self, obj: Object) -> str:
        """Return the path of an object's file and of its values file. Empty if it has no values file."""
        values = self.values_file(obj)
        return f"{self.below(obj.source.path)} {values}" if values else ""

    def gives_values(self, given: SourceText, values: str, template: str) -> bool:
        """Return whether the values file `values` may give values to a template on this side, as on the other side,
        where its text is `given`.

        A file with objects does if it has all objects of the other side's file, and if the template here uses no
        values.
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
        """Return whether a chart, overlay or module is rendered with a values file. `place` is its path below the
        root.
        """
        return any(self.below(given.path) == place for built in self.inventory.built for given in built.given)

    def has_file(self, place: str) -> bool:
        """Return whether the side has a file with this path below the root."""
        return gate.is_file(os.path.join(self.root, place))

    @property
    def all_objects(self) -> list[Object]:
        """Return the objects of the side, and those read for context."""
        return [*self.objects, *(obj for source in self.beside for obj in objects(source))]


def _names_in(text: str) -> set[tuple[str, str]]:
    """Return the kinds and names of the objects in a text."""
    from nodelint.text import Source

    roots = [document.root for document in Source.from_text("", text).documents]
    return {(text_of(root.get("kind")), text_of(root.find("metadata", "name"))) for root in roots if root is not None}


def place_below(obj: Object, root: str) -> str:
    """Return the path of an object's file below a root, with the file and the name of the application that renders
    it.
    """
    built = obj.source.built
    path, name = built.applied_by if built is not None else ("", "")
    path = path or (str(built.cluster) if built is not None else "")
    return f"{_below(obj.source.path, root)} {_below(path, root) if path else label_of(obj.source)} {name}"


def _below(path: str, root: str) -> str:
    return path_below(path, root) if root else path


class StoredObjects(NamedTuple):
    """The objects of a side in v1, and a function that maps a node of a converted object to the file.

    `written` has the v1beta1 object by the id of its converted object.
    """

    objects: list[Object]
    find_origin: Callable[[Node | Span], Node | Span]
    written: Mapping[int, Object] = {}


def as_stored(side: Side, options: PlanOptions) -> StoredObjects:
    """Return the objects of a side as the API server stores them: v1beta1 objects as the conversion webhook converts
    them to v1.

    Objects of older kinds are not converted: a NodePool does not take over the nodes of a Provisioner.
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
    for now, was in both:
        if now is not was:
            _keep_rendering(now.source, was.source, converted.find_origin)
    return StoredObjects(stored, converted.find_origin, written)


def _keep_rendering(
    converted: SourceText, written: SourceText, find_origin: Callable[[Node | Span], Node | Span]
) -> None:
    """Record the environment and the rendering of a text for its converted text: a pool uses the class of its own
    environment, and is paired with the pool of the same environment.
    """
    built = written.built
    converted.cluster = written.cluster
    if built is not None:
        converted.built = built._replace(find_origin=lambda at: built.find_origin(find_origin(at)))


_HOP_LIMIT = ("spec", "metadataOptions", "httpPutResponseHopLimit")


def keeps_hop_limit(old: EC2NodeClass | None, new: EC2NodeClass | None, written: Mapping[int, Object]) -> bool:
    """Return whether a class changes between v1beta1 and v1, and sets no hop limit on either side.

    The default differs between the two. The API server has stored the old default, and applying a manifest does not
    change a field that no manifest sets.
    """
    both = [written.get(id(obj), obj) for obj in (old, new) if obj is not None]
    return {obj.version for obj in both} == {"v1", "v1beta1"} and not any(obj.node.find(*_HOP_LIMIT) for obj in both)


def keep_hop_limit(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the stored class `new` with the hop limit of `old`."""
    section, group, name = _HOP_LIMIT
    options = {**new[section].get(group, {}), name: old[section].get(group, {}).get(name)}
    return {**new, section: {**new[section], group: options}}
