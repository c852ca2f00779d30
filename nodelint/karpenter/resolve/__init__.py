"""What a NodePool can launch with which image, and what removed the rest.

Everything is Karpenter's own way for the release asked about: requirements of one key are folded
first, labels of the template count as requirements, an instance type fits where both sides do not
clash (`Intersects`), the class leaves out types that do not go with it, and what is left takes the
first image whose requirements it meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

from nodelint.ec2.catalog import Catalog, union
from nodelint.ec2.facts import NOTHING, Facts, Missing
from nodelint.ec2.snapshot import Question
from nodelint.karpenter.images import Image, ImageSet, Unknown, aliases_with, image_since, images_of
from nodelint.karpenter.resolve.devices import (
    Twin,
    accelerated,
    cheaper_twin,
    cheapest,
    dearest,
    devices,
    image_vendors,
    special,
)
from nodelint.karpenter.resolve.limits import (
    Limit,
    beyond,
    known_resource,
    largest,
    limits,
    meant_resource,
    most_for_cpu,
    smallest,
)
from nodelint.karpenter.resolve.offers import RESERVED, capacity_types, class_rules, note, reserved_only
from nodelint.karpenter.resolve.places import INTERRUPTIBLE, Places, keeping, place_note, places_of
from nodelint.karpenter.resolve.relation import comparable, covers, shared, taints
from nodelint.karpenter.resolve.resolution import LineEffect, MinValues, Resolution, Unlaunchable
from nodelint.model.keys import ACCELERATOR_COUNT, ARCH, GPU_COUNT, NITRO_SANDBOX, OS, WINDOWS_BUILD
from nodelint.model.manifest import EC2NodeClass, Label, NodePool, RequirementLine
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.model.requirement import Requirement, Requirements, normalize, well_known
from nodelint.source import UNKNOWN, Node

_T = TypeVar("_T")

__all__ = [
    "Limit",
    "LineEffect",
    "MinValues",
    "Resolution",
    "Twin",
    "Unlaunchable",
    "accelerated",
    "beyond",
    "capacity_types",
    "cheaper_twin",
    "cheapest",
    "comparable",
    "covers",
    "dearest",
    "devices",
    "image_vendors",
    "known_resource",
    "largest",
    "limits",
    "meant_resource",
    "most_for_cpu",
    "resolve",
    "shared",
    "smallest",
    "special",
    "taints",
]

_OFFERS = "offers"
"""In place of a key: all that is asked of the offers of a type."""

_MALFORMED = "a requirement is not of the form that Karpenter reads"


def resolve(
    pool: NodePool,
    node_class: EC2NodeClass | None,
    catalog: Catalog,
    version: Version,
    kubernetes: KubernetesVersion | None = None,
    no_class: str | None = None,
    facts: Facts = NOTHING,
    images: ImageSet | None = None,
) -> Resolution:
    """Work out what a NodePool can launch in a release. Never raises for what a manifest holds.

    Without a class, or with one that is known in part, the images are unknown and every type may have one.
    `no_class` says why there is none, where that is more than that it is not among the files. `facts` tell
    the zones and what they offer; `images` are those of the class where the caller knows them better.
    """
    if node_class is None:
        images = _no_class(pool, no_class)
    elif images is None:
        images = images_of(node_class, version, kubernetes)
    view = _view(catalog, version, images.build)
    unknown = [*_unknown_lines(pool), *images.unknown]
    places = places_of(node_class, view, facts)
    left_out = list(places.removed) if places is not None else []
    unknown += places.unknown if places is not None else ()
    if node_class is not None:
        unfit, open_questions = class_rules(node_class, images, view, version)
        left_out += unfit
        unknown += open_questions
    class_removed = []
    alive = view.all
    for bits, reason in left_out:
        if bits & alive:
            class_removed.append((bits & alive, reason))
            alive &= ~bits
    folded, lines = _funnel(pool, node_class, images, view, places, alive)
    candidates = lines[-1].final if lines else alive
    if images.os is None:
        on_os = (line for line in lines if line.known and normalize(line.key) in (OS, WINDOWS_BUILD))
        unknown += [Unknown(line.node, "the class's operating system is not known") for line in on_os]
    if places is None or not places.reservations_known:
        reserved = (line for line in lines if line.known and reserved_only(folded, line.key, node_class, view))
        unknown += [Unknown(line.node, RESERVED) for line in reserved]
    elif places.reserved:
        asking = (line for line in lines if line.known and normalize(line.key) == INTERRUPTIBLE in places.keys)
        unknown += [Unknown(line.node, "which reservations can be interrupted is not known") for line in asking]
    unknown += _on_enclaves(lines, version)
    unknown += [
        Unknown(line.node, _MALFORMED)
        for line in lines
        if line.requirement is None and isinstance(line.at, RequirementLine) and line.at.known
    ]
    image_bits = _match(images, view, candidates)
    left = candidates & ~union(image_bits)
    return Resolution(
        pool=pool,
        node_class=node_class,
        catalog=view,
        version=version,
        kubernetes=kubernetes,
        images=images,
        folded=folded,
        lines=lines,
        class_removed=tuple(class_removed),
        candidates=candidates,
        image_bits=image_bits,
        unlaunchable=tuple(_gaps(images, view, left, version, kubernetes)) if left else (),
        unknown=tuple(unknown),
        notes=(*images.notes, *(places.notes if places is not None else _unused(pool, facts))),
        places=places,
    )


def _unused(pool: NodePool, facts: Facts) -> Iterable[tuple[Node, str]]:
    """Why facts from AWS that there are say nothing here."""
    if facts is not NOTHING and not facts:
        try:
            facts.answer(Question("offerings"))
        except Missing as missing:
            yield pool.name_node, f"no facts from AWS are used: {missing.reason}"


@lru_cache(maxsize=16)
def _view(catalog: Catalog, version: Version, build: str | None) -> Catalog:
    view = catalog.at(version)
    return view.on_windows(build) if build is not None else view


def _no_class(pool: NodePool, why: str | None) -> ImageSet:
    ref = pool.class_ref
    if ref is None or ref.name is None:
        at, reason = pool.name_node, "the NodePool names no class"
    elif ref.name is UNKNOWN:
        at, reason = ref.node.get("name") or ref.node, "the name of the class is a placeholder"
    else:
        at, reason = ref.node.get("name") or ref.node, why or f"the class `{ref.name}` is not among the files"
    return ImageSet((Image(at, None),), (Unknown(at, reason),))


def _unknown_lines(pool: NodePool) -> Iterable[Unknown]:
    where = pool.requirements_node
    if pool.partial:
        yield Unknown(pool.name_node, "the NodePool is a part; the rest of its requirements is elsewhere")
    if where is not None:
        for node in (where, *where.items):
            if node.kind == "scalar" and node.value is UNKNOWN:
                yield Unknown(node, "a placeholder stands for requirements")
            elif node.kind == "scalar" and node.value is None:
                continue
            elif node.kind != ("sequence" if node is where else "mapping"):
                yield Unknown(node, _MALFORMED)
    for line in pool.requirements:
        if not line.known:
            yield Unknown(line.node, _why_unknown(line))
    for label in pool.template_labels:
        if label.key is UNKNOWN or label.value is UNKNOWN:
            yield Unknown(label.node, "a label of the template is a placeholder")


def _on_enclaves(lines: Sequence[LineEffect], version: Version) -> Iterable[Unknown]:
    """Lines that ask for one value of a label whose value of each type no published table has."""
    for line in lines if NITRO_SANDBOX in well_known(version) else ():
        asked = line.requirement
        if asked is not None and asked.key == NITRO_SANDBOX and asked.has("true") != asked.has("false"):
            yield Unknown(line.node, "which types support Nitro Enclaves is known to AWS only")


def _why_unknown(line: RequirementLine) -> str:
    if line.key is UNKNOWN or line.operator is UNKNOWN or any(v.text is UNKNOWN for v in line.values):
        shown = f" on `{line.key}`" if isinstance(line.key, str) else ""
        return f"a requirement{shown} holds a placeholder"
    return _MALFORMED


def _funnel(
    pool: NodePool,
    node_class: EC2NodeClass | None,
    images: ImageSet,
    view: Catalog,
    places: Places | None,
    alive: int,
) -> tuple[Requirements, tuple[LineEffect, ...]]:
    """Every line's effect. Lines of one key are folded before instance types are asked, as Karpenter does.

    What is asked of offers is asked together, whatever its keys, where offers are known.
    """
    written: list[tuple[RequirementLine | Label, Requirement | None]] = []
    written += [(line, _read(line, view.version)) for line in pool.requirements]
    written += [(label, _read(label, view.version)) for label in pool.template_labels]
    together = places.keys if places is not None else frozenset()
    kept_by: dict[tuple[Requirement, ...], int] = {}

    def kept(*requirements: Requirement) -> int:
        if requirements not in kept_by:
            kept_by[requirements] = keeping(requirements, view, node_class, images, places)
        return kept_by[requirements]

    folded = Requirements()
    by_group: dict[str, int] = {}
    steps = [alive]
    for _, requirement in written:
        left = alive
        if requirement is not None:
            folded.add(requirement)
            key = requirement.key
            if key in together:
                by_group[_OFFERS] = kept(*(folded[each] for each in together if each in folded))
            else:
                by_group[key] = kept(folded[key])
        for bits in by_group.values():
            left &= bits
        steps.append(left)
    final = steps[-1]
    groups: dict[str, list[int]] = {}
    for index, (_, requirement) in enumerate(written):
        if requirement is not None:
            groups.setdefault(_OFFERS if requirement.key in together else requirement.key, []).append(index)
    without = _without([requirement for _, requirement in written], groups, by_group, alive, kept)

    lines = []
    for index, (at, requirement) in enumerate(written):
        key, operator, values, min_values = _written(at)
        lines.append(
            LineEffect(
                at=at,
                key=key,
                operator=operator,
                values=values,
                min_values=min_values,
                requirement=requirement,
                kept=view.all if requirement is None else kept(requirement),
                before=steps[index],
                after=steps[index + 1],
                without=without.get(index, final),
                final=final,
                note=place_note(requirement, places) or note(requirement, view, node_class, view.version),
            )
        )
    return folded, tuple(lines)


def _without(
    written: Sequence[Requirement | None],
    groups: Mapping[str, Sequence[int]],
    by_group: Mapping[str, int],
    alive: int,
    kept: Callable[..., int],
) -> dict[int, int]:
    """For each line that counts, the types that are left where it is taken out.

    What comes before and after a line is folded once and shared, so that long lists take linear time.
    """
    others = _all_but_one([by_group[group] for group in groups], int.__and__)
    without = {}
    for indices, bits in zip(groups.values(), others, strict=True):
        elsewhere = alive if bits is None else alive & bits
        lines = [Requirements([requirement]) for i in indices if (requirement := written[i]) is not None]
        rests = _all_but_one(lines, _folded)
        for index, rest in zip(indices, rests, strict=True):
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


def _written(at: RequirementLine | Label) -> tuple[str, str, tuple[str, ...], int | None]:
    if isinstance(at, Label):
        key = at.key if isinstance(at.key, str) else "?"
        return key, "In", (at.value if isinstance(at.value, str) else "?",), None
    key = at.key if isinstance(at.key, str) else "?"
    operator = at.operator if isinstance(at.operator, str) else "?"
    values = tuple(value.text if isinstance(value.text, str) else value.node.written for value in at.values)
    return key, operator, values, at.min_values


def _match(images: ImageSet, view: Catalog, candidates: int) -> tuple[int, ...]:
    """Per image the candidates that take it: the first that fits; what fits none may take an unknown one."""
    left = candidates
    found = []
    for image in images.images:
        bits = 0
        for choice in image.choices:
            fits = left
            for requirement in choice:
                if not (requirement.key in (OS, WINDOWS_BUILD) and images.os is None):
                    fits &= view.select(requirement)
            bits |= fits
        found.append(bits)
        left &= ~bits
    for index, image in enumerate(images.images):
        if not image.known:
            found[index] = left
            break
    return tuple(found)


def _gaps(
    images: ImageSet, view: Catalog, left: int, version: Version, kubernetes: KubernetesVersion | None
) -> Iterable[Unlaunchable]:
    """The types left without image, by architecture and by what they would need."""
    what = f"`{images.alias.family}`" if images.alias is not None else "the class"
    family = images.alias.family if images.alias is not None else None
    if not images.images:
        active = [problem.message for problem in images.problems if problem.active]
        yield Unlaunchable(left, "none", active[0] if active else "the class finds no image")
        return
    gpu, accelerator = view.having(GPU_COUNT), view.having(ACCELERATOR_COUNT)
    needs = (
        ("standard", ~(gpu | accelerator), "types without GPU"),
        ("nvidia", gpu, "types with a GPU"),
        ("neuron", accelerator, "types with an accelerator"),
    )
    for arch, of_arch in sorted(view.values(ARCH).items()):
        bits = left & of_arch
        if not bits:
            continue
        if not any(image.arch == arch for image in images.images):
            aliases = () if images.os == "windows" else aliases_with(arch, "standard", version, kubernetes)
            yield Unlaunchable(bits, "arch", f"{what} has no {arch} image", arch, "standard", None, aliases)
            continue
        if images.os == "linux" and any("windows" in image.variants for image in images.images):
            reason = "under amiFamily Custom types count as Linux, which Windows images refuse"
            yield Unlaunchable(bits, "os", reason, arch, "windows")
            continue
        for variant, kind, words in needs:
            if bits & kind:
                since = image_since(family, arch, variant, version) if family is not None else None
                aliases = aliases_with(arch, variant, version, kubernetes)
                reason = f"{what} has no image for {arch} {words}"
                yield Unlaunchable(bits & kind, "variant", reason, arch, variant, since, aliases)
