"""Which types of an empty NodePool cannot be launched although they meet its requirements: because of room for a pod,
limits or minValues.

`filterByRemainingResources` of the scheduler of Karpenter core for limits; `Truncate` of pkg/providers/instance of
the AWS provider, which tries the cheapest types, for minValues; both 1.0.0 to 1.14.1.
"""

from __future__ import annotations

from functools import lru_cache

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.resolve.effects import MinValues
from nodelint.karpenter.resolve.limits import beyond, limits
from nodelint.karpenter.resolve.node_size import sizes_of
from nodelint.karpenter.resolve.resolution import Resolution
from nodelint.model.manifest_terms import text
from nodelint.model.quantities import ONE
from nodelint.model.releases import Version

_LIMITS_NODES = Version(1, 11, 0)
"""The first Karpenter release that can limit the number of nodes."""


class LaterStep(NamedTuple):
    """A step after the requirements that removes instance types: the removed types, and those that remain.

    `words` name the step. `why` is the predicate of a sentence about the removed types: `exceed the limits`.
    """

    words: str
    why: str
    removed: TypeSet
    left: TypeSet


@lru_cache(maxsize=64)
def later_steps(resolution: Resolution) -> tuple[LaterStep, ...]:
    """Return the steps that remove candidates before the first pod's node is launched: full reservations, no room for
    a pod, then each limit, then minValues.

    A step that removes nothing is left out. Empty for a static pool.
    """
    left, found = resolution.candidates, []
    if resolution.pool.static:
        return ()
    sizes = sizes_of(resolution.node_class, resolution.images, resolution.catalog)
    steps = [
        ("reservations without a free instance", "have no free reserved instance", _types_of_full(resolution)),
        ("no room for a pod", "have no room", left - sizes.holding({"pods": ONE}, left)),
    ]
    for limit in limits(resolution.pool):
        amount = text(limit.at.node) if isinstance(limit.at.node.value, str) else limit.at.node.unquoted
        none = limit.resource == "nodes" and limit.amount == 0 and resolution.version >= _LIMITS_NODES
        beyond_it = resolution.candidates if none else beyond(limit, resolution)
        steps.append((f"spec.limits, {limit.resource}: {amount}", "exceed the limits", beyond_it))
    for words, why, types in steps:
        removed = types & left
        left -= removed
        if removed:
            found.append(LaterStep(words, why, removed, left))
    least = next((least for least in resolution.min_values if least.met and not resolution.meets(least, left)), None)
    if found and left and least is not None and not resolution.min_values_relaxed:
        words = f"minValues of {least.key} among the allowed types"
        found.append(LaterStep(words, "lack variety", left, NONE))
    return tuple(found)


def launch_steps(resolution: Resolution) -> tuple[LaterStep, ...]:
    """Return the steps from the types that meet the requirements to those that an empty pool can launch: first the
    types without an image, then `later_steps` among the types with an image.

    The numbers of every report are those of these steps, so that they add up.
    """
    left, found = resolution.launchable, []
    without = resolution.candidates - left
    if without:
        found.append(LaterStep("the class has no image for them", "have no image", without, left))
    for step in later_steps(resolution):
        removed, remaining = left - step.left, left & step.left
        left = remaining
        if removed:
            found.append(LaterStep(step.words, step.why, removed, remaining))
    return tuple(found)


def find_launched_types(resolution: Resolution) -> TypeSet:
    """Return the types that remain after `launch_steps`. A report counts and lists these."""
    return resolution.launchable & ready(resolution)


def _types_of_full(resolution: Resolution) -> TypeSet:
    """Return the candidates whose only offerings are reservations without a free instance at the time of the AWS
    facts.
    """
    places = resolution.places
    if places is None or not places.full:
        return NONE
    requirements = [requirement for requirement in resolution.folded if requirement.key in places.keys]
    return resolution.candidates - places.types_meeting(requirements, only_free=True)


def ready(resolution: Resolution) -> TypeSet:
    """Return the instance types that an empty pool can launch for its first pod."""
    steps = later_steps(resolution)
    return steps[-1].left if steps else resolution.candidates


def unmet_by_cheapest(resolution: Resolution) -> list[tuple[MinValues, int]]:
    """Return each minValues that the candidates meet but the cheapest types do not, with the number of values that
    the cheapest types have.

    Empty unless the pool launches only on-demand capacity: reservations come before the price, and spot prices are
    not known.
    """
    most = resolution.most_launched
    if resolution.capacity_types != ("on-demand",) or len(resolution.candidates) <= most:
        return []
    cheapest = resolution.cheapest(most)
    counted = [
        (min_values, resolution.distinct(min_values.key, cheapest))
        for min_values in resolution.min_values
        if min_values.met
    ]
    return [
        (min_values, len(values))
        for min_values, values in counted
        if values is not None and len(values) < min_values.wanted
    ]


def why_none_launched(resolution: Resolution) -> str | None:
    """Return why an empty pool can launch no node for its first pod although types meet its requirements. None if it
    can.
    """
    if resolution.zones is not None and not resolution.zones:
        return "the class finds no subnet"
    if not resolution.min_values_relaxed:
        if any(not least.met for least in resolution.min_values):
            return "minValues requires more different values than the allowed types have"
        if unmet_by_cheapest(resolution):
            most = resolution.most_launched
            return f"minValues requires more different values than the cheapest {most} types have"
    steps = later_steps(resolution)
    return f"this excludes the last of its types: {steps[-1].words}" if steps and not steps[-1].left else None


def launched(resolution: Resolution) -> TypeSet:
    """Return the types that an empty pool can launch for its first pod: what `explain` and `plan` count."""
    return NONE if why_none_launched(resolution) is not None else find_launched_types(resolution)
