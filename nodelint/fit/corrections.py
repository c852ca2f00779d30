"""The correction of a pool's own mistake with which the pool accepts a pod: what `check` offers as a fix."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.fit.trial import LineChange, change_pool, say_blocker, takes
from nodelint.karpenter.labels import slips_among, slips_of
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.messages import short
from nodelint.model.requirement import normalize

if TYPE_CHECKING:
    from nodelint.fit.attempt import Surroundings
    from nodelint.fit.pods import Pod
    from nodelint.fit.pools import EmptyPool
    from nodelint.karpenter.resolve.effects import LineEffect
    from nodelint.text import Node


def find_correction(pod: Pod, pool: EmptyPool, surroundings: Surroundings) -> tuple[str, Node] | None:
    """Return the change of the one requirement whose values no node can have, with its node.

    None if there is no such requirement, if nobody knows what is meant, or if the pool would still refuse the pod.
    """
    if not slips_of(pool.pool, pool.resolution.catalog):  # kept for the next workload
        return None
    for line in pool.resolution.lines:
        change = _correct(line, pool)
        changed = change_pool(pool, {id(line.node): change.line}) if change is not None else None
        if change is not None and changed is not None and takes(pod, changed, surroundings):
            return f"{change.text} of pool `{short(pool.name)}`{say_blocker(changed)}", line.node
    return None


def _correct(line: LineEffect, pool: EmptyPool) -> LineChange | None:
    at = line.at
    if line.operator != "In" or not isinstance(at, RequirementLine) or not at.known or not at.texts:
        return None
    slips = slips_among(normalize(line.key), at.texts, pool.resolution.catalog)
    if len(slips) < len(set(at.texts)) or not all(slip.impossible for slip in slips.values()):
        return None
    near = {text: slip.near for text, slip in slips.items() if slip.near is not None}
    homes = {slip.home for slip in slips.values()}
    if len(near) == len(slips):
        values = tuple(value._replace(text=near[str(value.text)]) for value in at.values)
        written = ", ".join(f"`{short(text)}`" for text in near.values())
        return LineChange(f"write {written} in `{short(line.key)}`", at._replace(values=values))
    home = homes.pop() if len(homes) == 1 else None
    if home is None:
        return None
    shown = ", ".join(f"`{short(text)}`" for text in slips)
    return LineChange(
        f"require {shown} of `{home}`, not of `{short(line.key)}`, in the template", at._replace(key=home)
    )
