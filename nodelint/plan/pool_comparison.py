"""Compare a pool and its class on both sides: the outcome for its nodes, and what it can launch after the change."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.karpenter.controller import find_pool_blocker
from nodelint.karpenter.launch_faults import find_reference_fault
from nodelint.karpenter.resolve import resolve
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.placeholder_names import canonical_code
from nodelint.plan.matching import is_same_spec
from nodelint.plan.pool_details import find_effects, find_never_stored
from nodelint.plan.reasons import NOTHING as UNTOUCHED
from nodelint.plan.reasons import Verdict, keep_static
from nodelint.plan.refusals import find_refusal, refusals
from nodelint.plan.stops import LaunchStop, find_stop
from nodelint.plan.uncompared import may_be_refused
from nodelint.plan.verdict import Sides, verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from nodelint.karpenter.resolve import Resolution
    from nodelint.model.gap import Gap
    from nodelint.model.manifest import Object
    from nodelint.plan.effects import Effect
    from nodelint.plan.matching import Pair
    from nodelint.plan.outcome import PlanOptions
    from nodelint.plan.refusals import Refusal
    from nodelint.rule.context import Context


class PoolComparison(NamedTuple):
    """The outcome for a pool and its nodes, and what it can launch after the change; see `PoolPlan`."""

    found: Verdict
    after: Resolution | None
    effects: Sequence[Effect] = ()
    stopped_before: LaunchStop | None = None
    stopped: LaunchStop | None = None
    never_stored: str | None = None
    lacking_class: str | None = None

    @property
    def could_launch_nothing(self) -> bool:
        """Return whether the pool had no usable class before the change."""
        return self.stopped_before is not None and self.stopped_before.of_class

    @property
    def of_gap(self) -> PoolComparison:
        """Return the comparison of a pool whose class may be in an unread file."""
        return self._replace(lacking_class=None)

    @property
    def replaces(self) -> bool:
        """Return whether a replacement can certainly be launched for a node that drifts."""
        return self.stopped is None and self.lacking_class is None


class PoolComparer:
    """The comparison of pools of both sides. `classes` are the pairs of all classes, `gaps` the ids of the classes
    that cannot be compared.

    `written` are the v1beta1 objects of both sides, by the ids of their converted objects.
    """

    def __init__(
        self,
        options: PlanOptions,
        contexts: tuple[Context, Context],
        classes: Sequence[Pair],
        gaps: Collection[int],
        written: Mapping[int, Object],
    ) -> None:
        self.options = options
        self.written = written
        self.old, self.new = contexts
        self.classes = classes
        self.now = {id(pair.old): pair for pair in classes if pair.change in ("changed", "unchanged")}
        here = {pair.new.name for pair in classes if pair.new is not None}
        # A class in a file that a side cannot read may still exist.
        self.gone = {pair.old.name for pair in classes if pair.old is not None and id(pair.old) not in gaps} - here
        self.faults: dict[int, str | None] = {}
        self.refused: dict[int, list[Refusal]] = {}

    def compare(
        self, sides: Sides, before: Resolution, written: NodePool, is_refused: bool, moved: bool
    ) -> PoolComparison:
        """Return the comparison of a pool and its class. `written` is the pool of the new side, which may be
        refused.
        """
        old, new, old_class, new_class = sides.pool, sides.new_pool, sides.node_class, sides.new_class
        same_class = new_class is old_class or new_class is None
        is_gone = old_class is not None and new_class is None and class_name(new) == class_name(old)
        if new is old and same_class and not moved and not is_gone:
            return PoolComparison(UNTOUCHED, before)
        after: Resolution | None = self._after(written, old if is_refused else written, new_class)
        assert after is not None
        running = self.options.cluster is not None and bool(self.options.cluster.of_pool(str(old.name)))
        found = verdict(sides, before, after if not same_class else None, self.options.schemas, running)
        effects = find_effects(self.options, old, new, found, before, after)
        stopped_before = self.find_stop(old_class, before)
        stopped = self.find_stop(new_class, after, new, is_gone)
        acts = found.replaced != "none" or bool(effects)
        never_stored = find_never_stored(self.options, self.written, old, old_class) if acts else None
        if never_stored is not None and not running:
            found, effects = found.of_no_nodes, []
        if stopped is not None and stopped.of_class:
            after = None
            found = keep_static(found) if stopped.of_images else found
        is_moved = stopped is None and class_name(new) != class_name(old)
        lacking_class = find_lacking_class(self.new, new) if is_moved else None
        return PoolComparison(found, after, effects, stopped_before, stopped, never_stored, lacking_class)

    def find_stop(
        self,
        node_class: EC2NodeClass | None,
        resolution: Resolution,
        pool: NodePool | None = None,
        is_gone: bool = False,
    ) -> LaunchStop | None:
        """Return why a pool can launch nothing with a class. None if it can. `pool` is one of the new side."""
        ref = pool.class_ref if pool is not None else None
        if node_class is None:
            is_gone = is_gone or (ref is not None and ref.name in self.gone)
            if is_gone and ref is not None:
                return LaunchStop(f"its EC2NodeClass `{ref.name}` is gone", of_class=True)
            return self._find_blocker(resolution, None, pool) or find_stop(resolution)
        if node_class.version != "v1" or not may_be_refused(node_class):
            return find_stop(resolution)
        if id(node_class) not in self.faults:
            release = self.options.release if pool is not None else self.options.old_release
            self.faults[id(node_class)] = find_refusal(node_class, release, self.options.schemas)
        fault = self.faults[id(node_class)]
        if fault is not None:
            return LaunchStop(f"the API server refuses its EC2NodeClass `{node_class.name}`: {fault}", of_class=True)
        return find_stop(resolution) or self._find_blocker(resolution, node_class, pool)

    def _find_blocker(
        self, resolution: Resolution, node_class: EC2NodeClass | None, pool: NodePool | None
    ) -> LaunchStop | None:
        """Return the error in a pool or its class for which Karpenter launches nothing. None if there is none.

        `pool` is one of the new side.
        """
        unknown_kind = find_reference_fault(resolution.pool)
        if unknown_kind is not None:
            return LaunchStop(unknown_kind.message)
        release = self.options.release if pool is not None else self.options.old_release
        found = None if self.options.schemas.foreign else find_pool_blocker(resolution.pool, node_class, release)
        if found is None:
            return None
        obj, problem = found
        return LaunchStop(f"nothing is launched with {obj.label}: {problem.message}")

    def is_unchanged(self, pool: Pair, old_class: EC2NodeClass | None, written_class: EC2NodeClass | None) -> bool:
        """Return whether a pool and its class are equal on both sides."""
        node_class = self.now.get(id(old_class))
        changes = pool.change, node_class.change if node_class is not None else None
        return changes == ("unchanged", "unchanged") and node_class is not None and node_class.new is written_class

    def find_class_now(
        self,
        old_pool: NodePool,
        new_pool: NodePool,
        old_class: EC2NodeClass | None,
        pool: NodePool,
        gap: Gap | None,
    ) -> tuple[EC2NodeClass | None, list[Refusal]]:
        """Return the class of the pool after the change, and the reasons why the API server refuses the update of the
        class.
        """
        if gap is not None:
            return None, []
        if old_class is None or class_name(pool) != class_name(old_pool):
            return (None if pool is old_pool else self.new.node_class(new_pool)), []
        pair = self.now.get(id(old_class))
        if pair is None:
            return None, []
        if pair.change == "unchanged" or (pair.new is not None and is_same_spec(old_class, pair.new)):
            return old_class, []
        refused = self.list_refusals(pair)
        assert isinstance(pair.new, EC2NodeClass)
        return (old_class if refused else pair.new), refused

    def _after(self, written: NodePool, pool: NodePool, node_class: EC2NodeClass | None) -> Resolution:
        """Return the types that `pool` can launch with a class after the change. `written` is the pool of the new
        side's file. `pool` is the old one if the API server refuses the update.
        """
        if pool is written and node_class is self.new.node_class(written):
            return self.new.resolution(written)
        return self.resolve(pool, node_class)

    def resolve(self, pool: NodePool, node_class: EC2NodeClass | None) -> Resolution:
        options, facts = self.options, self.new.facts
        images = self.new.images(node_class) if node_class is not None else None
        return resolve(pool, node_class, self.new.catalog, options.release, options.kubernetes, None, facts, images)

    def find_stored_class(self, node_class: EC2NodeClass | None) -> EC2NodeClass | None:
        """Return a class of the new side as the cluster stores it: the old one if its update is refused."""
        pair = next((pair for pair in self.classes if pair.new is node_class and node_class is not None), None)
        if pair is None or pair.change != "changed" or not self.list_refusals(pair):
            return node_class
        return pair.old if isinstance(pair.old, EC2NodeClass) else node_class

    def list_refusals(self, pair: Pair) -> list[Refusal]:
        known = self.refused.get(id(pair.new))
        if known is None:
            assert pair.new is not None
            known = refusals(pair.old, pair.new, self.options.release, self.options.schemas)
            self.refused[id(pair.new)] = known
        return known


def find_lacking_class(context: Context, pool: Object | None) -> str | None:
    """Return the name of a pool's class that no file of a side has, although the files have classes. None otherwise.

    If the files have no class at all, the classes are elsewhere, and the cluster probably has this one.
    """
    if not isinstance(pool, NodePool) or pool.foreign or pool.partial or pool.class_ref is None:
        return None
    name, classes = pool.class_ref.name, context.defined_classes
    if not isinstance(name, str) or not name or name in classes or context.may_be_named_so(pool):
        return None
    return name if any(isinstance(known, str) and not obj.partial for known, obj in classes.items()) else None


def class_name(pool: NodePool) -> object:
    """Return the name by which a pool refers to its class. A name with a placeholder is returned as it is written."""
    ref = pool.class_ref
    if ref is None or isinstance(ref.name, str) or ref.name is None:
        return ref.name if ref is not None else None
    name = ref.node.get("name")
    return canonical_code(name.unquoted) if name is not None else None
