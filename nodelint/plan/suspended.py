"""Changes of objects that only a suspended Flux or Argo CD object applies: they take effect when it is resumed."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.plan.gone_appliers import list_appliers, list_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.model.manifest import Object
    from nodelint.plan import Plan
    from nodelint.plan.read_side import Read

_MARK = b"suspend:"


def note_suspended(new: Read, plan: Plan) -> Plan:
    """Return the plan with the reasons why changes of its pools and classes are not applied for now."""
    changed = [pool for pool in plan.pools if pool.change != "unchanged" or pool.verdict.reasons]
    if not (changed or plan.class_plans) or not _may_suspend(new):
        return plan
    appliers, places = list_appliers(new), list_places(new)

    def explain(objects: Sequence[Object | None]) -> str | None:
        for obj in objects:
            label = f"{obj.kind} {obj.name}" if obj is not None else ""
            takers = [a for a in appliers if any(map(a.takes, places.get(label, ()))) and not a.is_kustomization]
            if takers and all(applier.is_suspended for applier in takers):
                names = " and ".join(dict.fromkeys(f"`{applier.name}`" for applier in takers))
                return f"suspended: {names} applies nothing for now, and all of this once it is resumed"
        return None

    reasons = {id(pool): explain([pool.pair.new, pool.after.node_class if pool.after else None]) for pool in changed}
    pools = tuple(pool._replace(held_back=reasons.get(id(pool))) for pool in plan.pools)
    classes = tuple(part._replace(held_back=explain([part.pair.new])) for part in plan.class_plans)
    return plan._replace(pools=pools, class_plans=classes)


def _may_suspend(side: Read) -> bool:
    for path in side.found.seen:
        try:
            if path.endswith((".yaml", ".yml")) and _MARK in gate.read_listed(path):
                return True
        except OSError:
            continue
    return False
