"""Find the objects that lose nodes because of a fix: the result of a plan between the files before and after the
fix.
"""

from __future__ import annotations

from nodelint.apiserver import Schemas
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.documents import objects
from nodelint.model.gvk import CLASS_KIND
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.plan.each_release import make_each
from nodelint.plan.matching import written_name
from nodelint.plan.outcome import ClassPlan, PlanOptions, PoolPlan
from nodelint.plan.refusals import why_never_stored
from nodelint.plan.sides import Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.forms.rendered import Built
    from nodelint.inventory import Inventory
    from nodelint.lint.engine import LintRequest, Target
    from nodelint.lint.fix_trials import ChangedObject, Name
    from nodelint.model.manifest import Object
    from nodelint.plan.sides import Objects
    from nodelint.text import Source


class _Part:
    """Some of the objects of an inventory, in the form of an inventory, for a side of a plan."""

    def __init__(self, objs: Sequence[Object], built: Sequence[Built]) -> None:
        self._objects = objs
        self.built = built

    def objects(self, foreign: bool = False) -> Iterator[Object]:
        return (obj for obj in self._objects if foreign or not (isinstance(obj, NodePool) and obj.foreign))


def find_moved(
    before: Inventory,
    after: Objects,
    changed: Sequence[ChangedObject],
    request: LintRequest,
    context_sources: Sequence[Source] | None = None,
) -> set[Name]:
    """Return the objects of which a node is replaced, or may be, by the changes `changed` since `before`.

    An object that the API server refuses, or with which nothing can be launched, has no nodes, so its change replaces
    none. `context_sources` are the files that are read for context after the change, if they differ.
    """
    target = request.target
    schemas = target.schemas or Schemas.bundled()
    options = PlanOptions(target.karpenter, target.kubernetes, schemas, target.facts, target.facts)
    contexts = request.context_sources, request.context_sources if context_sources is None else context_sources
    context_objects = [[obj for source in sources for obj in objects(source)] for sources in contexts]
    was = [*before.objects(foreign=True), *context_objects[0]]
    names = {name for change in changed for name in _names(change)}
    refused = {_key(obj) for obj in was if _key(obj) in names and _has_no_nodes(obj, options, target)}
    names -= refused
    if not names:
        return set()
    classes = {name for kind, name in names if kind == CLASS_KIND}
    sides = []
    becomes = [*after.objects(foreign=True), *context_objects[1]]
    for every, inventory in ((was, before), (becomes, after)):
        own = [obj for obj in every if _key(obj) not in refused or isinstance(obj, EC2NodeClass)]
        own = [obj for obj in own if _key(obj) in names or _class_name(obj) in classes]
        wanted, have = {_class_name(obj) for obj in own}, set(map(id, own))
        own += [o for o in every if isinstance(o, EC2NodeClass) and o.name in wanted and id(o) not in have]
        sides.append(Side(_Part(own, inventory.built)))
    plan = make_each(sides[0], sides[1], options, lambda old, new: _own_options(options, target, old, new))
    losing = [part.pool for part in plan.pools if _loses_nodes(part)]
    found = {_key(pool) for pool in losing}
    found |= {(CLASS_KIND, str(name)) for name in map(_class_name, losing) if name in classes}
    found |= {_key(part.node_class) for part in plan.class_plans if _changes_nodes(part)}
    if any(name is None for _, name in names) or any(place.decides for place in plan.uncompared):
        found |= {change.name for change in changed if _key(change.old or change.new) in names}
    return {(kind, str(name)) for kind, name in found}


def _has_no_nodes(obj: Object, options: PlanOptions, target: Target) -> bool:
    """Return whether an object certainly has no nodes: the API server refuses it, or Karpenter launches nothing with
    it.

    False for an object of an API before v1, which is stored as its conversion.
    """
    if not isinstance(obj, NodePool | EC2NodeClass) or obj.version != "v1":
        return False
    release = _own_options(options, target, obj, obj).release
    return why_never_stored(obj, release, options.schemas) is not None


def _loses_nodes(part: PoolPlan) -> bool:
    if part.change == "added" or (part.never_stored is not None and not part.deleted):
        return False  # no node was launched: the API server refuses the pool or its class
    before = part.before
    if before is not None and before.complete and not (before.launchable or before.candidates):
        return False  # it has no node
    return part.grade != "none" or bool(part.refused)


def _changes_nodes(part: ClassPlan) -> bool:
    return part.never_stored is None and not part.replaces_none


def _key(obj: Object | None) -> tuple[str, str | None]:
    return ("", None) if obj is None else (obj.kind, written_name(obj))


def _names(change: ChangedObject) -> Iterator[tuple[str, str | None]]:
    yield from (_key(obj) for obj in (change.old, change.new) if isinstance(obj, NodePool | EC2NodeClass))


def _class_name(obj: Object) -> object:
    return obj.class_ref.name if isinstance(obj, NodePool) and obj.class_ref is not None else None


def _own_options(options: PlanOptions, target: Target, old: Object | None, new: Object | None) -> PlanOptions:
    """Return the options with the releases that files near an object state. If there are several, with the newest."""
    for obj in (new, old):
        chosen = target.choose(obj) if target.choose is not None and obj is not None else ""
        if not isinstance(chosen, str) and chosen:
            return options._replace(release=chosen[-1].karpenter.last, kubernetes=chosen[-1].kubernetes)
    return options
