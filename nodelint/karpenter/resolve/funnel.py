"""The effect of every requirement and template label: the types that remain with it, and without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import T
from nodelint.ec2.type_set import TypeSet
from nodelint.karpenter.resolve.effects import LineEffect
from nodelint.karpenter.resolve.offering_view import Supply
from nodelint.karpenter.resolve.offers import PLACE_KEYS, note
from nodelint.karpenter.resolve.zones import place_note
from nodelint.model.manifest import NodePool
from nodelint.model.manifest_terms import Label, RequirementLine
from nodelint.model.providers import Provider, karpenters_key
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements

_OFFERS = "offers"
"""The group of all requirements on offerings, instead of a key."""

_LONG = 50
"""The number of requirements of one key above which `NotIn` values that no type has are dropped."""

_Written = tuple[RequirementLine | Label, Requirement | None]


class _Effects(NamedTuple):
    """The effects of requirements on the instance types, in the order of the file; see `LineEffect`."""

    folded: Requirements
    kept: Sequence[TypeSet]
    steps: Sequence[TypeSet]
    without: Mapping[int, TypeSet]
    notes: Sequence[str | None]


def funnel(pool: NodePool, supply: Supply, alive: TypeSet) -> tuple[Requirements, tuple[LineEffect, ...]]:
    """Return the combined requirements, and the effect of every requirement and label. Requirements with one key are
    combined before instance types are selected, as in Karpenter.

    If the offerings are known, all requirements on offerings are evaluated together, whatever their keys.
    """
    release = supply.view.version
    written: list[_Written] = [(line, _read(line, release, pool.provider)) for line in pool.requirements]
    written += [(label, _read(label, release, pool.provider)) for label in pool.template_labels]
    effects = _share_effects(tuple([requirement for _, requirement in written]), supply, alive)
    final = effects.steps[-1]
    lines = []
    for index, (at, requirement) in enumerate(written):
        key, operator, values, min_values = _requirement_parts(at, pool.provider)
        lines.append(
            LineEffect(
                at=at,
                key=key,
                operator=operator,
                values=values,
                min_values=min_values,
                requirement=requirement,
                kept=effects.kept[index],
                before=effects.steps[index],
                after=effects.steps[index + 1],
                without=effects.without.get(index, final),
                final=final,
                note=effects.notes[index],
            )
        )
    return effects.folded, tuple(lines)


def _share_effects(requirements: tuple[Requirement | None, ...], supply: Supply, alive: TypeSet) -> _Effects:
    """Return the effects of requirements, computed once for all pools with the same requirements and types.

    If the offerings are known, the effects depend on the class and are not shared.
    """

    def make() -> _Effects:
        return _find_effects(requirements, supply, alive)

    if supply.places is not None:
        return make()
    return supply.view.remembered(("effects", requirements, supply.class_traits, alive), make)


def _find_effects(requirements: Sequence[Requirement | None], supply: Supply, alive: TypeSet) -> _Effects:
    supply_of = _remembering(supply)
    folded = Requirements(requirement for requirement in requirements if requirement is not None)
    telling = _telling(requirements, supply)
    by_group, steps = _folding(telling, supply, alive, supply_of)
    without = _types_without_line(telling, supply, by_group, alive, supply_of)
    all_types = supply.view.all_types
    types = [all_types if requirement is None else supply_of(requirement) for requirement in requirements]
    return _Effects(folded, types, steps, without, [_note(item, folded, supply) for item in requirements])


def _remembering(supply: Supply) -> Callable[..., TypeSet]:
    """Return `supply.keeping` with a cache for each set of requirements."""
    known: dict[tuple[Requirement, ...], TypeSet] = {}

    def types_meeting(*requirements: Requirement) -> TypeSet:
        if requirements not in known:
            known[requirements] = supply.keeping(requirements)
        return known[requirements]

    return types_meeting


def _group(requirement: Requirement, supply: Supply) -> str:
    """Return the group with which a requirement is evaluated: its key, or `_OFFERS` for all requirements on
    offerings, and on places if the offerings are not known: the name of a zone has its region.
    """
    return _OFFERS if requirement.key in _keys_of_offers(supply) else requirement.key


def _keys_of_offers(supply: Supply) -> frozenset[str]:
    """Return the keys whose requirements are evaluated together."""
    return PLACE_KEYS if supply.places is None else supply.places.keys


def _telling(requirements: Sequence[Requirement | None], supply: Supply) -> list[Requirement | None]:
    """Return the requirements with fewer values. If many `NotIn` requirements have one key, each keeps only the
    values that some type or zone has, and one other value.

    The removed values exclude no type, and there may be as many as a file can contain.
    """
    requirements = [*requirements]
    by_key: dict[str, list[Requirement]] = {}
    for asked_requirement in requirements:
        if asked_requirement is not None:
            by_key.setdefault(asked_requirement.key, []).append(asked_requirement)
    known: dict[str, frozenset[str]] = {}
    for key, each_of_key in by_key.items():
        offered = supply.places is not None and key in supply.places.keys
        if len(each_of_key) > _LONG and not offered and all(requirement.only_excludes for requirement in each_of_key):
            known[key] = supply.told_apart(key)
    examples: dict[str, str] = {}
    for n, asked_requirement in enumerate(requirements):
        if (
            asked_requirement is not None
            and asked_requirement.key in known
            and not asked_requirement.values <= known[asked_requirement.key]
        ):
            other = examples.setdefault(
                asked_requirement.key, min(asked_requirement.values - known[asked_requirement.key])
            )
            requirements[n] = asked_requirement._replace(
                values=asked_requirement.values & known[asked_requirement.key] | {other}
            )
    return requirements


def _folding(
    telling: Sequence[Requirement | None], supply: Supply, alive: TypeSet, supply_of: Callable[..., TypeSet]
) -> tuple[dict[str, TypeSet], list[TypeSet]]:
    """Return the types that remain for each group in the end, and the types that remain before the first requirement
    and after each.
    """
    together = _keys_of_offers(supply)
    folded = Requirements()
    by_group: dict[str, TypeSet] = {}
    left = alive
    steps = [left]
    for requirement in telling:
        if requirement is not None:
            folded.add(requirement)
            group = _group(requirement, supply)
            keys = (key for key in together if key in folded) if group == _OFFERS else (requirement.key,)
            before = by_group.get(group)
            types = by_group[group] = supply_of(*(folded[key] for key in keys))
            if before is None or not types - before:
                left &= types
            else:  # `Exists` and then `NotIn`: a type without the label is possible again
                left = reduce(TypeSet.__and__, by_group.values(), alive)
        steps.append(left)
    return by_group, steps


def _types_without_line(
    telling: Sequence[Requirement | None],
    supply: Supply,
    by_group: Mapping[str, TypeSet],
    alive: TypeSet,
    supply_of: Callable[..., TypeSet],
) -> dict[int, TypeSet]:
    """Return, for each requirement that has an effect, the instance types that would remain without it.

    The other requirements are combined once and shared, so that long lists take linear time.
    """
    groups: dict[str, list[tuple[int, Requirement]]] = {}
    for index, requirement in enumerate(telling):
        if requirement is not None:
            groups.setdefault(_group(requirement, supply), []).append((index, requirement))
    others = _all_but_one([by_group[group] for group in groups], TypeSet.__and__)
    without: dict[int, TypeSet] = {}
    for (group, members), types in zip(groups.items(), others, strict=True):
        elsewhere = alive if types is None else alive & types
        if len(members) == 1:
            left = [elsewhere]
        elif group != _OFFERS and all(requirement.only_excludes for _, requirement in members):
            rests = _exclusions_but_one([requirement for _, requirement in members])
            left = [elsewhere & (by_group[group] if rest is None else supply.keeping((rest,))) for rest in rests]
        else:
            folds = _all_but_one([Requirements([requirement]) for _, requirement in members], _folded)
            left = [elsewhere if fold is None else elsewhere & supply_of(*fold) for fold in folds]
        without.update(zip((index for index, _ in members), left, strict=True))
    return without


def _exclusions_but_one(requirements: Sequence[Requirement]) -> Iterator[Requirement | None]:
    """Yield for each requirement all the others combined. All requirements only exclude values.

    None if the others exclude as much without it.
    """
    times = Counter(value for requirement in requirements for value in requirement.values)
    for requirement in requirements:
        own = [value for value in requirement.values if times[value] == 1]
        yield Requirement(requirement.key, True, frozenset(times).difference(own)) if own else None


def _folded(first: Requirements, then: Requirements) -> Requirements:
    both = first.copy()
    both.add(*then)
    return both


def _all_but_one(items: Sequence[T], join: Callable[[T, T], T]) -> list[T | None]:
    """Return for each item all the other items joined in their order. None if there is no other item."""

    def joined(first: T | None, then: T | None) -> T | None:
        if first is None or then is None:
            return then if first is None else first
        return join(first, then)

    before: list[T | None] = [*accumulate([None, *items], joined)]
    after: list[T | None] = [*accumulate([None, *reversed(items)], lambda then, first: joined(first, then))]
    return [joined(before[i], after[len(items) - 1 - i]) for i in range(len(items))]


def _note(requirement: Requirement | None, folded: Requirements, supply: Supply) -> str | None:
    if requirement is not None and lost_on_claim(requirement, folded, supply):
        return "lost: a static NodePool passes on only bounds of a key that has any"
    return place_note(requirement, supply.places) or note(
        requirement, supply.view, supply.node_class, supply.view.version
    )


def lost_on_claim(requirement: Requirement, folded: Requirements, supply: Supply) -> bool:
    """Return whether a requirement of a static NodePool is missing on its NodeClaims."""
    if not supply.static:
        return False
    whole = folded[requirement.key]
    sent = whole.on_claim()
    if sent == whole:
        return False
    return bool(requirement.values & whole.values) or (
        requirement.less_equal is not None and requirement.less_equal == whole.less_equal != sent.less_equal
    )


def _read(at: RequirementLine | Label, release: Version, provider: Provider) -> Requirement | None:
    """Return the requirement of a requirement line or label. None if it cannot be judged."""
    if isinstance(at, Label):
        if isinstance(at.key, str) and isinstance(at.value, str):
            return Requirement.parse(karpenters_key(at.key, provider), "In", (at.value,))
        return None
    if not isinstance(at.key, str) or not isinstance(at.operator, str):
        return None
    # The other values of a NotIn with a placeholder stay excluded, whatever the placeholder is.
    if not at.known and at.operator != "NotIn":
        return None
    try:
        return Requirement.parse(karpenters_key(at.key, provider), at.operator, at.texts, at.min_values, release)
    except ValueError:
        return None


def _requirement_parts(
    at: RequirementLine | Label, provider: Provider
) -> tuple[str, str, tuple[str, ...], int | None]:
    """Return the key (for Auto Mode, Karpenter's key of the same name), operator, values and minValues."""
    key = karpenters_key(at.key, provider) if isinstance(at.key, str) else "?"
    if isinstance(at, Label):
        return key, "In", (at.value if isinstance(at.value, str) else "?",), None
    operator = at.operator if isinstance(at.operator, str) else "?"
    values = tuple(value.text if isinstance(value.text, str) else value.node.unquoted for value in at.values)
    return key, operator, values, at.min_values
