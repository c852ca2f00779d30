"""Which objects lose nodes by a fix: what `plan` says of the files before it and after it."""

from __future__ import annotations

from nodelint.apiserver import Schemas
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.plan.each_release import make_each
from nodelint.plan.matching import written_name
from nodelint.plan.outcome import PlanOptions, PoolPlan
from nodelint.plan.refusals import why_never_stored
from nodelint.plan.sides import Side

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.build import Inventory
    from nodelint.lint.engine import LintRequest, Target
    from nodelint.lint.fix_trials import ChangedObject, Name
    from nodelint.model.manifest import Object


class _Part:
    """Some of the objects of an inventory, as a side of a plan takes them."""

    def __init__(self, objs: Sequence[Object]) -> None:
        self._objects = objs

    def objects(self, foreign: bool = False) -> Iterator[Object]:
        return (obj for obj in self._objects if foreign or not (isinstance(obj, NodePool) and obj.foreign))


def find_moved(
    before: Inventory, after: Inventory, changed: Sequence[ChangedObject], request: LintRequest
) -> set[Name]:
    """The objects of which a node is replaced, or may be, by what `changed` has become since `before`.

    An object that the API server refuses has no nodes: what it becomes replaces none.
    """
    kinds = [one for one in changed if isinstance(one.old or one.new, NodePool | EC2NodeClass)]
    if not kinds:
        return set()
    names = {name for one in kinds for name in _names(one)}
    classes = {name for kind, name in names if kind == "EC2NodeClass"}
    beside = [obj for source in request.context_sources for obj in objects(source)]
    sides = []
    for inventory in (before, after):
        every = [*inventory.objects(foreign=True), *beside]
        own = [o for o in every if (o.kind, written_name(o)) in names or _class_name(o) in classes]
        wanted = {_class_name(obj) for obj in own}
        own += [o for o in every if isinstance(o, EC2NodeClass) and o.name in wanted and o not in own]
        sides.append(Side(_Part(own)))
    target = request.target
    schemas = target.schemas or Schemas.bundled()
    options = PlanOptions(target.karpenter, target.kubernetes, schemas, target.facts, target.facts)
    plan = make_each(*sides, options, lambda old, new: _own_options(options, target, old, new))

    def is_refused(obj: Object | None) -> bool:
        own = _own_options(options, target, obj, obj)
        return obj is not None and why_never_stored(obj, own.release, schemas) is not None

    found = {
        (part.pool.kind, written_name(part.pool) or "")
        for part in plan.pools
        if _loses_nodes(part) and not is_refused(part.pair.old)
    }
    found |= {
        (part.node_class.kind, written_name(part.node_class) or "")
        for part in plan.class_plans
        if not is_refused(part.pair.old)
    }
    unclear = {obj.kind for one in kinds for obj in (one.old, one.new) if obj is not None and written_name(obj) is None}
    if unclear or any(place.changed for place in plan.uncompared):
        found |= {one.name for one in kinds}
    return found


def _loses_nodes(part: PoolPlan) -> bool:
    if part.change == "added" or (part.never_stored is not None and not part.deleted):
        return False  # its class is refused
    return part.grade != "none" or bool(part.refused)


def _names(one: ChangedObject) -> Iterator[tuple[str, str | None]]:
    for obj in (one.old, one.new):
        if obj is not None:
            yield obj.kind, written_name(obj)


def _class_name(obj: Object) -> object:
    return obj.class_ref.name if isinstance(obj, NodePool) and obj.class_ref is not None else None


def _own_options(options: PlanOptions, target: Target, old: Object | None, new: Object | None) -> PlanOptions:
    """The options with the releases that the files beside an object state; of several the newest."""
    for obj in (new, old):
        chosen = target.choose(obj) if target.choose is not None and obj is not None else ""
        if not isinstance(chosen, str) and chosen:
            return options._replace(release=chosen[-1].karpenter.last, kubernetes=chosen[-1].kubernetes)
    return options
