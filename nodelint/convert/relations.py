"""Which pool names which class, as far as the files show, and which objects are converted together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.manifest_terms import text
from nodelint.text.nodes import Node
from nodelint.text.unknown_value import UNKNOWN

_TEMPLATE = ("spec", "template", "spec")


class Relations:
    """The pools and classes of a run, indexed by the names that connect them."""

    def __init__(self, run_objects: Sequence[Object]) -> None:
        self._classes: dict[str, list[Object]] = {}
        self._pools: dict[str, list[Object]] = {}
        for obj in run_objects:
            if is_class(obj) and (key := _key(obj.node.find("metadata", "name"))) is not None:
                self._classes.setdefault(key, []).append(obj)
            elif is_pool(obj) and (key := _reference(obj)) is not None:
                self._pools.setdefault(key, []).append(obj)

    def classes_of(self, pool: Object) -> list[Object]:
        """Return the classes that a pool may mean: those of its file, else of its folder, else of any folder.

        A placeholder means a class with the same placeholder in the file or the folder.
        """
        key = _reference(pool)
        named = self._classes.get(key, []) if key is not None else []
        named = [cls for cls in named if not cls.partial] or named
        folder = PurePath(pool.source.path).parent
        in_file = [cls for cls in named if cls.source is pool.source]
        in_folder = [cls for cls in named if PurePath(cls.source.path).parent == folder]
        return in_file or in_folder or ([] if key is not None and key.startswith(_HELD) else named)

    def class_of(self, pool: Object) -> Object | None:
        """Return the class that a pool names. None if there is none, or more than one."""
        found = self.classes_of(pool)
        return found[0] if len(found) == 1 else None

    def pools_of(self, cls: Object) -> list[Object]:
        """Return the pools for which this class is the one that they name."""
        return [pool for pool in self._naming(cls) if self.class_of(pool) is cls]

    def pair(self, obj: Object) -> list[Object]:
        """Return the objects of old APIs that must be converted together with one, including this one, in the order
        of files.

        A Provisioner names an AWSNodeTemplate, and a NodePool names an EC2NodeClass: if only one of the two is
        converted, the pool names a class that does not exist. Partial objects are converted alone.
        """
        found = {id(obj): obj}
        pending = [] if obj.partial else [obj]
        while pending:
            for other in self._beside(pending.pop()):
                if id(other) not in found and is_old(other) and not other.partial:
                    found[id(other)] = other
                    pending.append(other)
        return sorted(found.values(), key=lambda obj: (obj.source.path, obj.node.start))

    def _beside(self, obj: Object) -> Iterator[Object]:
        """Yield the classes that a pool names, or the pools that name a class, if one of the two is of a removed
        kind.
        """
        others = self._naming(obj) if is_class(obj) else self.classes_of(obj)
        for other in others:
            if (is_retired(obj) or is_retired(other)) and (is_pool(obj) or obj in self.classes_of(other)):
                yield other

    def _naming(self, cls: Object) -> list[Object]:
        key = _key(cls.node.find("metadata", "name"))
        return self._pools.get(key, []) if key is not None else []


_HELD = "\0"
"""The prefix of keys for names that contain a placeholder."""


def _key(node: Node | None) -> str | None:
    """Return a key for a name: the name itself, or a prefix and the text of a placeholder. None if there is no
    name.
    """
    name = text(node)
    if node is not None and name is UNKNOWN:
        return _HELD + node.unquoted
    return name if isinstance(name, str) else None


def _reference(pool: Object) -> str | None:
    return _key(pool.node.find(*reference_path(pool), "name"))


def reference_path(pool: Object) -> tuple[str, ...]:
    """Return the path of the field in which a pool names its class."""
    return ("spec", "providerRef") if pool.kind == "Provisioner" else (*_TEMPLATE, "nodeClassRef")


def is_retired(obj: Object) -> bool:
    """Return whether an object has a removed kind: Provisioner or AWSNodeTemplate."""
    return obj.kind in ("Provisioner", "AWSNodeTemplate")


def is_old(obj: Object) -> bool:
    """Return whether an object must be converted to be v1."""
    return is_retired(obj) or obj.version == "v1beta1"


def is_pool(obj: Object) -> bool:
    """Return whether an object is a NodePool or a Provisioner."""
    return isinstance(obj, NodePool) or obj.kind == "Provisioner"


def is_class(obj: Object) -> bool:
    """Return whether an object is an EC2NodeClass or an AWSNodeTemplate."""
    return isinstance(obj, EC2NodeClass) or obj.kind == "AWSNodeTemplate"
