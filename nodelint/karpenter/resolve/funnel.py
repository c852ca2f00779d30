"""The effect of every requirement line and label: what it keeps, and what comes back without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from nodelint.ec2.catalog import TypeSet
from nodelint.karpenter.resolve.offers import note
from nodelint.karpenter.resolve.places import place_note
from nodelint.karpenter.resolve.resolution import LineEffect
from nodelint.karpenter.resolve.supply import Supply
from nodelint.model.manifest import Label, NodePool, RequirementLine
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements

_T = TypeVar("_T")

_OFFERS = "offers"
"""In place of a key: all that is asked of the offers of a type."""

_Written = tuple[RequirementLine | Label, Requirement | None]


def funnel(pool: NodePool, supply: Supply, alive: TypeSet) -> tuple[Requirements, tuple[LineEffect, ...]]:
    """Every line's effect. Lines of one key are folded before instance types are asked, as Karpenter does.

    What is asked of offers is asked together, whatever its keys, where offers are known.
    """
    version = supply.view.version
    written: list[_Written] = [(line, _read(line, version)) for line in pool.requirements]
    written += [(label, _read(label, version)) for label in pool.template_labels]
    kept = _remembering(supply)
    folded, by_group, steps = _folding(written, supply, alive, kept)
    without = _without(written, supply, by_group, alive, kept)
    final = steps[-1]
    lines = []
    for index, (at, requirement) in enumerate(written):
        key, operator, values, min_values = _shown(at)
        lines.append(
            LineEffect(
                at=at,
                key=key,
                operator=operator,
                values=values,
                min_values=min_values,
                requirement=requirement,
                kept=supply.view.all if requirement is None else kept(requirement),
                before=steps[index],
                after=steps[index + 1],
                without=without.get(index, final),
                final=final,
                note=_note(requirement, folded, supply),
            )
        )
    return folded, tuple(lines)


def _remembering(supply: Supply) -> Callable[..., TypeSet]:
    """`keeping` of a supply, worked out once for each set of requirements."""
    known: dict[tuple[Requirement, ...], TypeSet] = {}

    def kept(*requirements: Requirement) -> TypeSet:
        if requirements not in known:
            known[requirements] = supply.keeping(requirements)
        return known[requirements]

    return kept


def _group(requirement: Requirement, supply: Supply) -> str:
    """What is asked together with a requirement: all of its key, or all of the offers."""
    return _OFFERS if supply.places is not None and requirement.key in supply.places.keys else requirement.key


def _folding(
    written: Sequence[_Written], supply: Supply, alive: TypeSet, kept: Callable[..., TypeSet]
) -> tuple[Requirements, dict[str, TypeSet], list[TypeSet]]:
    """The requirements folded, what each group keeps in the end, and what is left before the first and after each."""
    together = supply.places.keys if supply.places is not None else frozenset()
    folded = Requirements()
    by_group: dict[str, TypeSet] = {}
    steps = [alive]
    for _, requirement in written:
        left = alive
        if requirement is not None:
            folded.add(requirement)
            group = _group(requirement, supply)
            keys = (each for each in together if each in folded) if group == _OFFERS else (requirement.key,)
            by_group[group] = kept(*(folded[each] for each in keys))
        for bits in by_group.values():
            left &= bits
        steps.append(left)
    return folded, by_group, steps


def _without(
    written: Sequence[_Written],
    supply: Supply,
    by_group: Mapping[str, TypeSet],
    alive: TypeSet,
    kept: Callable[..., TypeSet],
) -> dict[int, TypeSet]:
    """For each line that counts, the types that are left where it is taken out.

    What comes before and after a line is folded once and shared, so that long lists take linear time.
    """
    groups: dict[str, list[tuple[int, Requirement]]] = {}
    for index, (_, requirement) in enumerate(written):
        if requirement is not None:
            groups.setdefault(_group(requirement, supply), []).append((index, requirement))
    others = _all_but_one([by_group[group] for group in groups], int.__and__)
    without = {}
    for members, bits in zip(groups.values(), others, strict=True):
        elsewhere = alive if bits is None else alive & bits
        rests = _all_but_one([Requirements([requirement]) for _, requirement in members], _folded)
        for (index, _), rest in zip(members, rests, strict=True):
            without[index] = elsewhere if rest is None else elsewhere & kept(*rest)
    return without


def _folded(first: Requirements, then: Requirements) -> Requirements:
    both = first.copy()
    both.add(*then)
    return both


def _all_but_one(items: Sequence[_T], join: Callable[[_T, _T], _T]) -> list[_T | None]:
    """For each item all others joined in their order; None where there is no other."""

    def joined(first: _T | None, then: _T | None) -> _T | None:
        if first is None or then is None:
            return then if first is None else first
        return join(first, then)

    before: list[_T | None] = [*accumulate([None, *items], joined)]
    after: list[_T | None] = [*accumulate([None, *reversed(items)], lambda then, first: joined(first, then))]
    return [joined(before[i], after[len(items) - 1 - i]) for i in range(len(items))]


def _note(requirement: Requirement | None, folded: Requirements, supply: Supply) -> str | None:
    if requirement is not None and lost_on_claim(requirement, folded, supply):
        return "lost: a static NodePool passes on only bounds of a key that has any"
    return place_note(requirement, supply.places) or note(
        requirement, supply.view, supply.node_class, supply.view.version
    )


def lost_on_claim(requirement: Requirement, folded: Requirements, supply: Supply) -> bool:
    """Whether the NodeClaims of a static NodePool lack what one of its lines asks."""
    whole = folded[requirement.key]
    sent = whole.on_claim()
    if not supply.static or sent == whole:
        return False
    return bool(requirement.values & whole.values) or (
        requirement.less_equal is not None and requirement.less_equal == whole.less_equal != sent.less_equal
    )


def _read(at: RequirementLine | Label, version: Version) -> Requirement | None:
    """The requirement that a line or label is; None where it cannot be judged."""
    if isinstance(at, Label):
        if isinstance(at.key, str) and isinstance(at.value, str):
            return Requirement.of(at.key, "In", (at.value,))
        return None
    if not isinstance(at.key, str) or not isinstance(at.operator, str):
        return None
    # What NotIn excludes besides a placeholder stays excluded, whatever the placeholder is.
    if not at.known and at.operator != "NotIn":
        return None
    try:
        return Requirement.of(at.key, at.operator, at.texts, at.min_values, version)
    except ValueError:
        return None


def _shown(at: RequirementLine | Label) -> tuple[str, str, tuple[str, ...], int | None]:
    """Key, operator, values and minValues as written."""
    key = at.key if isinstance(at.key, str) else "?"
    if isinstance(at, Label):
        return key, "In", (at.value if isinstance(at.value, str) else "?",), None
    operator = at.operator if isinstance(at.operator, str) else "?"
    values = tuple(value.text if isinstance(value.text, str) else value.node.written for value in at.values)
    return key, operator, values, at.min_values
