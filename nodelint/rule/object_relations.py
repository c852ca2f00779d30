"""The relations of a run's objects: pools and their classes, pools of one cluster, objects of one name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.folders import folder_of, nearness
from nodelint.model.manifest import AutoModeClass, EC2NodeClass, NodePool, Object, served
from nodelint.model.manifest_terms import Text
from nodelint.model.placeholder_names import by_code, namesakes_of
from nodelint.text import UNKNOWN

if TYPE_CHECKING:
    from nodelint.rule.clusters import NamelessClasses
    from nodelint.rule.target import Target
    from nodelint.text import Source


class ObjectRelations(ABC):
    """The objects of a run and their relations."""

    def __init__(
        self, objects: Sequence[Object], target: Target, foreign: Sequence[Object], context_count: int
    ) -> None:
        self._run_objects = objects
        self._foreign = foreign
        self._judged = len(objects) - context_count
        self._target = target
        self.karpenter = target.karpenter
        self.files: Sequence[Source] = ()
        self._class_of: dict[int, EC2NodeClass | None] = {}
        self._launching: dict[tuple[tuple[object, ...], str], list[NodePool]] = {}

    @property
    def objects(self) -> Sequence[Object]:
        """Return every object of the run, including those that are read but not judged."""
        return self._run_objects

    @cached_property
    def classes(self) -> list[EC2NodeClass]:
        """Return every EC2NodeClass of the run that the target release serves."""
        return [o for o in self.objects if isinstance(o, EC2NodeClass) and served(o, self.karpenter)]

    @cached_property
    def _classes_by_name(self) -> dict[str, list[EC2NodeClass]]:
        found: dict[str, list[EC2NodeClass]] = {}
        for node_class in self.classes:
            if isinstance(node_class.name, str):
                found.setdefault(node_class.name, []).append(node_class)
        return found

    def node_class(self, pool: NodePool) -> EC2NodeClass | None:
        """Return the EC2NodeClass of a pool. None if it is not in the run or cannot be determined.

        If several files define a class of this name (an overlay for each environment), the nearest one counts: that
        of the same file, else that with the longest common path. None if two are equally near. If the name is a
        placeholder, the class with the same placeholder counts, if both are filled in together.
        """
        if id(pool) not in self._class_of:
            self._class_of[id(pool)] = self._nearest_class(pool)
        return self._class_of[id(pool)]

    def _nearest_class(self, pool: NodePool) -> EC2NodeClass | None:
        same = self.possible_classes(pool)
        if len(same) == 1:
            return same[0]
        same = [c for c in same if not c.partial] or same
        same = [c for c in same if c.source.path == pool.source.path] or same
        if len(same) < 2:
            return same[0] if same else None
        ranked = sorted(same, key=lambda c: nearness(pool.source.path, c.source.path), reverse=True)
        first, second = (nearness(pool.source.path, c.source.path) for c in ranked[:2])
        return ranked[0] if first > second else None

    def possible_classes(self, pool: NodePool) -> list[EC2NodeClass]:
        """Return the classes that a pool may mean by its nodeClassRef. `node_class` returns the one that it means."""
        ref = pool.class_ref
        if ref is None or ref.name is None or pool.foreign:
            return []
        if isinstance(ref.name, str):
            called = self._classes_by_name.get(ref.name, [])
            if len(called) < 2:
                return called
            # A pool that is rendered for one cluster uses the class that is rendered with it.
            own = [c for c in called if c.source.cluster == pool.source.cluster]
            alike = [c for c in own if _build_of(c) == _build_of(pool)]
            return alike or own or self._without_own_pool(pool, called) or called
        node = ref.node.get("name")
        return namesakes_of(node, self._classes_by_code) if node is not None else []

    @cached_property
    def _classes_by_code(self) -> dict[str, list[EC2NodeClass]]:
        return by_code(self.classes)

    def _why_no_class(self, pool: NodePool) -> str | None:
        """Return why the class of a pool cannot be determined although the run has one of that name. None if it has
        none.
        """
        name = pool.class_ref.name if pool.class_ref else None
        if not isinstance(name, str):
            return None
        if len(self.possible_classes(pool)) > 1:
            return f"several classes are named `{name}`, and none is nearer than the others"
        same = self.defined_classes.get(name)
        if isinstance(same, EC2NodeClass):
            return f"the class `{name}` is {same.version}, which Karpenter {self.karpenter} does not serve"
        return None

    def _without_own_pool(self, pool: NodePool, classes: Sequence[EC2NodeClass]) -> list[EC2NodeClass]:
        """Return the classes of the environments in which the pool is not rendered by itself.

        A pool that uses no variable of an environment is rendered once for all such environments.
        """
        if not pool.source.cluster:
            return []
        own = {o.source.cluster for o in self.objects if isinstance(o, NodePool) and o.name == pool.name}
        return [c for c in classes if c.source.cluster not in own]

    @cached_property
    def defined_classes(self) -> dict[Text | None, Object]:
        """Return one class of each name in the run, including AWSNodeTemplates, whether the target release serves it
        or not.
        """
        found: dict[Text | None, Object] = {}
        for o in self.objects:
            if isinstance(o, EC2NodeClass) or o.kind == "AWSNodeTemplate":
                found.setdefault(o.name, o)
        return found

    @cached_property
    def auto_mode_classes(self) -> list[AutoModeClass]:
        """Return the NodeClasses of EKS Auto Mode in the run."""
        return [o for o in self._foreign if isinstance(o, AutoModeClass)]

    def may_be_named_so(self, pool: NodePool) -> bool:
        """Return whether a class whose name is a placeholder may be the class of a pool (see `rule.clusters`)."""
        return self._nameless_classes.may_be_meant(pool)

    @cached_property
    def _nameless_classes(self) -> NamelessClasses:
        from nodelint.rule.clusters import NamelessClasses

        return NamelessClasses((*self.objects, *self._foreign))

    def pools(self, node_class: EC2NodeClass) -> list[NodePool]:
        """Return the NodePools of the run whose nodeClassRef names a class."""
        return self._pools_of.get(id(node_class), [])

    def chart_pair(self, node_class: EC2NodeClass) -> list[NodePool]:
        """Return the only NodePool next to a class in the values of a chart. Empty for all other classes."""
        holder = node_class.node.parent
        if not node_class.of_values or holder is None or holder.kind != "mapping":
            return []
        near = [o for o in self.objects if o.of_values and o.node.parent is holder]
        pools = [o for o in near if isinstance(o, NodePool)]
        return pools if len(pools) == 1 and len(near) == 2 else []

    def foreign_group(self, pool: NodePool) -> list[Object]:
        """Return the class of another provider that a pool names, then the NodePools of the pool's file that name it.

        Empty if the file does not define the class.
        """
        from nodelint.model.documents import objects

        if not pool.foreign:
            return []
        around = list(objects(pool.source, foreign=True))
        found = [obj for obj in around if isinstance(obj, AutoModeClass) and _names(pool, obj)][:1]
        pools = (obj for obj in around if isinstance(obj, NodePool))
        return [*found, *(other for other in pools if _names(other, found[0]))] if found else []

    def interchangeable_pools(self, pool: NodePool, launching: str | None = None) -> Iterator[NodePool]:
        """Yield the other NodePools of the same folder with the same taints: pods that fit one can use the others.

        With `launching`, only those that can launch nodes of an architecture or capacity type, such as `arm64`.
        Scripts and Markdown files have no such pools in other files. An object of the same name is another version,
        not another pool.
        """
        from nodelint.rule.clusters import APPLIED

        alone = pool.document.host not in APPLIED
        place = _place(pool)
        among = self._pools_by_place.get(place, ())
        if launching is not None:
            # A folder may have many pools: check each pool once, not once for each of the others.
            if (place, launching) not in self._launching:
                self._launching[place, launching] = [o for o in among if self._can_launch(o, launching)]
            among = self._launching[place, launching]
        return (
            o
            for o in among
            if o is not pool
            and (o.source is pool.source or (not alone and o.document.host in APPLIED and _differ_in_name(o, pool)))
        )

    @abstractmethod
    def _can_launch(self, pool: NodePool, value: str) -> bool:
        """Return whether a pool can launch nodes of an architecture or a capacity type."""

    @cached_property
    def _pools_by_place(self) -> dict[tuple[object, ...], list[NodePool]]:
        """Return the NodePools that the release serves, by provider, folder and taints."""
        found: dict[tuple[object, ...], list[NodePool]] = {}
        for o in (*self.objects, *self._foreign):
            if isinstance(o, NodePool) and served(o, self.karpenter):
                found.setdefault(_place(o), []).append(o)
        return found

    @cached_property
    def _pools_of(self) -> dict[int, list[NodePool]]:
        found: dict[int, list[NodePool]] = {}
        for o in self.objects:
            if isinstance(o, NodePool) and served(o, self.karpenter):
                found.setdefault(id(self.node_class(o)), []).append(o)
        return found

    def cluster_pools(self, pool: NodePool) -> list[NodePool]:
        """Return the other NodePools of the same cluster, as far as the paths of the files show (see
        `rule.clusters`).
        """
        return [other for other in self._beside.get(id(pool), ()) if other is not pool]

    def duplicates(self, obj: Object) -> list[Object]:
        """Return the objects of the same kind and name that are applied together. Empty for the first of them (see
        `rule.clusters`).
        """
        return self._namesakes_of.get(id(obj), [])

    def definition_elsewhere(self, obj: Object) -> Object | None:
        """Return the object of the same kind and name that Terraform or another folder defines, with another spec
        (see `rule.clusters`). None if there is none.
        """
        return self._definitions_elsewhere.get(id(obj))

    @cached_property
    def _asked_last(self) -> Sequence[Object]:
        """Return all objects, those that are not judged first: the first of several duplicates is not reported."""
        return (*self.objects[self._judged :], *self.objects[: self._judged])

    @cached_property
    def _definitions_elsewhere(self) -> dict[int, Object]:
        from nodelint.rule.clusters import definitions_elsewhere

        return definitions_elsewhere(self._asked_last)

    @cached_property
    def _namesakes_of(self) -> dict[int, list[Object]]:
        from nodelint.rule.clusters import namesakes

        return namesakes(self._asked_last)

    @cached_property
    def _beside(self) -> dict[int, list[NodePool]]:
        from nodelint.rule.clusters import pools_by_cluster

        return pools_by_cluster(self.objects, self.node_class) | pools_by_cluster(self._foreign, self.node_class)


def _place(pool: NodePool) -> tuple[object, ...]:
    """Return the provider, the folder and the taints of a pool. Pools with equal ones can run the same pods."""
    taints = frozenset((taint.key, taint.value, taint.effect) for taint in pool.taints)
    return pool.provider, folder_of(pool.source.path), taints


def _names(pool: NodePool, obj: Object) -> bool:
    """Return whether a pool's nodeClassRef names an object."""
    ref = pool.class_ref
    name = ref.name if ref is not None else None
    return (
        ref is not None and isinstance(name, str) and (ref.group, ref.kind, name) == (obj.group, obj.kind, obj.name)
    )


def _build_of(obj: Object) -> tuple[object, ...]:
    """Return the chart release or module call that renders an object, by its number and label. Empty if the object is
    not rendered.
    """
    built = obj.source.built
    return (built.release, built.label) if built is not None else ()


def _differ_in_name(pool: NodePool, other: NodePool) -> bool:
    """Return whether two pools have different names, or names from different placeholders."""
    if pool.name is UNKNOWN and other.name is UNKNOWN:
        return pool.name_node.text != other.name_node.text
    return pool.name != other.name
