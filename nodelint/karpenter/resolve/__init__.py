"""The instance types that a NodePool can launch, the image of each, and the reason why others are excluded.

nodelint follows the Karpenter release in question. Requirements with the same key are combined first, and labels of
the template count as requirements. An instance type fits if its requirements intersect (`Intersects`). The class
excludes types that it cannot launch, and each remaining type uses the first image whose requirements it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import NOTHING, AwsFacts, Missing
from nodelint.ec2.snapshot import Question
from nodelint.ec2.type_names import NAME_KEYS, is_newer_name, named_elsewhere, newer_type
from nodelint.ec2.type_set import NONE, TypeSet, union
from nodelint.karpenter.images import Image, ImageSet, aliases_with, image_since, images_of, unknown_fact
from nodelint.karpenter.resolve.accelerators import (
    CheaperEquivalent,
    accelerated,
    cheapest,
    dearest,
    device_of,
    devices,
    find_cheaper_pair,
    first_neuron,
    having_device,
    image_vendors,
    special,
)
from nodelint.karpenter.resolve.allocatable import NoCapacity, lacking, least_scant
from nodelint.karpenter.resolve.auto_mode_types import list_left_out_types, not_listed, sizes_left_out
from nodelint.karpenter.resolve.effects import LineEffect, MinValues, Unlaunchable
from nodelint.karpenter.resolve.funnel import funnel, lost_on_claim
from nodelint.karpenter.resolve.limits import (
    Growth,
    Limit,
    Reach,
    beyond,
    crowding,
    growth,
    known_resource,
    largest,
    limits,
    meant_resource,
    memory_for_cpu,
    most_for_cpu,
    smallest,
    some_fits,
    switched_off,
    unmet_within,
    within,
)
from nodelint.karpenter.resolve.offering_view import Supply
from nodelint.karpenter.resolve.offers import (
    PLACE_KEYS,
    RESERVATION_KEYS,
    RESERVED,
    capacity_types,
    class_rules,
    reserved_only,
)
from nodelint.karpenter.resolve.pool_overlap import (
    comparable,
    covers,
    flex_before,
    leading_flex,
    same_pods,
    shared,
    taints,
    turn,
)
from nodelint.karpenter.resolve.resolution import ELSEWHERE, PERHAPS_NEWER, Resolution
from nodelint.karpenter.resolve.zones import INTERRUPTIBLE, places_of
from nodelint.model.gap import Gap
from nodelint.model.keys import (
    ACCELERATOR_COUNT,
    ARCH,
    CAPACITY_TYPE,
    FAMILY,
    GPU_COUNT,
    INSTANCE_TYPE,
    NITRO_SANDBOX,
    OS,
    WINDOWS_BUILD,
)
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.manifest_terms import RequirementLine
from nodelint.model.messages import short
from nodelint.model.releases import KubernetesVersion, Version, behaves
from nodelint.model.requirement import Requirements, normalize, well_known
from nodelint.text import UNKNOWN, Node

__all__ = [
    "ELSEWHERE",
    "PERHAPS_NEWER",
    "CheaperEquivalent",
    "Growth",
    "Limit",
    "LineEffect",
    "MinValues",
    "NoCapacity",
    "Reach",
    "Resolution",
    "Unlaunchable",
    "accelerated",
    "beyond",
    "capacity_types",
    "cheapest",
    "comparable",
    "covers",
    "crowding",
    "dearest",
    "device_of",
    "devices",
    "find_cheaper_pair",
    "find_with_image",
    "first_neuron",
    "flex_before",
    "growth",
    "having_device",
    "image_vendors",
    "known_resource",
    "lacking",
    "largest",
    "leading_flex",
    "least_scant",
    "limits",
    "lost_on_claim",
    "meant_resource",
    "memory_for_cpu",
    "most_for_cpu",
    "not_listed",
    "resolve",
    "resolve_as",
    "same_pods",
    "shared",
    "sizes_left_out",
    "smallest",
    "some_fits",
    "special",
    "switched_off",
    "taints",
    "turn",
    "unmet_within",
    "within",
]

ENCLAVES = "only AWS knows which types support Nitro Enclaves"

_MALFORMED = "a requirement is not of the form that Karpenter reads"


def resolve(
    pool: NodePool,
    node_class: EC2NodeClass | None,
    catalog: Catalog,
    release: Version,
    kubernetes: KubernetesVersion | None = None,
    no_class: str | None = None,
    facts: AwsFacts = NOTHING,
    images: ImageSet | None = None,
) -> Resolution:
    """Return the instance types that a NodePool can launch in a release, as a Resolution. Raise nothing, whatever the
    manifests contain.

    Without a class, or if the class is known in part, the images are unknown and every type may have one. `no_class`
    is the reason why there is no class, if it is not simply absent from the files. `facts` have the zones and their
    offerings. `images` replace the images of the class if the caller knows them.
    """
    if node_class is None:
        images = _no_class(pool, no_class)
    elif images is None:
        images = images_of(node_class, release, kubernetes)
    view = _view(catalog, release, images.build)
    places = places_of(node_class, view, facts)
    supply = Supply(view, node_class, images, places, pool.static)
    return _resolve_on(supply, pool, kubernetes, facts)


def resolve_as(resolution: Resolution, pool: NodePool) -> Resolution:
    """Return the instance types that a pool can launch, as a Resolution. The pool may differ from the pool of
    `resolution` only in its requirements and labels.
    """
    return _resolve_on(resolution.supply, pool, resolution.kubernetes, NOTHING).with_overlays_of(resolution)


def find_with_image(resolution: Resolution, types: TypeSet) -> TypeSet:
    """Return the instance types among `types` that the class does not exclude and for which it has an image, or may
    have one.
    """
    left = types - union(removed for removed, _ in resolution.class_removed)
    return union(_match(resolution.images, resolution.supply.view, left))


def _resolve_on(supply: Supply, pool: NodePool, kubernetes: KubernetesVersion | None, facts: AwsFacts) -> Resolution:
    images, view, places = supply.images, supply.view, supply.places
    class_removed, open_questions = _left_out(supply, pool)
    alive = view.all_types - union(types for types, _ in class_removed)
    folded, lines = funnel(pool, supply, alive)
    candidates = lines[-1].final if lines else alive
    types_by_image = _match(images, view, candidates)
    left = candidates - union(types_by_image)
    return Resolution(
        pool=pool,
        kubernetes=kubernetes,
        supply=supply,
        folded=folded,
        lines=lines,
        class_removed=class_removed,
        candidates=candidates,
        types_by_image=types_by_image,
        unlaunchable=tuple(_gaps(images, view, left, view.version, kubernetes)) if left else (),
        unknown=(
            *_unknown_lines(pool),
            *images.unknown,
            *(places.unknown if places is not None else ()),
            *open_questions,
            *_unknown_effects(lines, folded, supply),
            *(_newer_than_catalog(pool, lines, folded, supply) if not candidates and alive else ()),
        ),
        notes=(*images.notes, *(places.notes if places is not None else _unused(pool, facts))),
    )


def _left_out(supply: Supply, pool: NodePool) -> tuple[tuple[tuple[TypeSet, str], ...], list[Gap]]:
    """Return the types that no pool of the class can launch, each set with its first reason, and the gaps in this
    knowledge.
    """
    reasons = list(supply.places.removed) if supply.places is not None else []
    if pool.provider == "auto-mode":
        reasons += list_left_out_types(supply.view)
    unknown: list[Gap] = []
    if supply.node_class is not None:
        unfit, unknown = class_rules(supply.node_class, supply.images, supply.view, supply.static)
        reasons += unfit
    removed = []
    alive = supply.view.all_types
    for types, reason in reasons:
        if types & alive:
            removed.append((types & alive, reason))
            alive -= types
    return tuple(removed), unknown


def _unknown_effects(lines: Sequence[LineEffect], folded: Requirements, supply: Supply) -> Iterable[Gap]:
    """Yield a gap for each requirement whose effect nodelint does not know."""
    known = [line for line in lines if line.known]
    places = supply.places
    if supply.images.os is None:
        on_os = (line for line in known if normalize(line.key) in (OS, WINDOWS_BUILD))
        yield from (unknown_fact(line.node, "the class's operating system is not known") for line in on_os)
    if places is None or not places.reservations_known:
        reserved = (line for line in known if reserved_only(folded, line.key, supply.node_class, supply.view))
        yield from (unknown_fact(line.node, RESERVED) for line in reserved)
    elif places.reserved:
        asking = (line for line in known if normalize(line.key) == INTERRUPTIBLE in places.keys)
        yield from (unknown_fact(line.node, "which reservations can be interrupted is not known") for line in asking)
    yield from _on_enclaves(lines, supply.node_class, supply.view.version)
    for line in lines:
        values = line.values if line.operator == "In" else ()
        if named := named_elsewhere(normalize(line.key), values, supply.view):
            yield unknown_fact(line.node, f"`{short(named[0])}` {ELSEWHERE}")
    for line in lines:
        if line.requirement is None and isinstance(line.at, RequirementLine) and line.at.known:
            yield unknown_fact(line.node, _MALFORMED)


def _newer_than_catalog(
    pool: NodePool, lines: Sequence[LineEffect], folded: Requirements, supply: Supply
) -> Iterable[Gap]:
    """Yield a gap if the requirements may allow a type that is newer than the catalogue.

    If they allow no place and no capacity type that the class may have, they allow no type at all.
    """
    of_offers = [folded[key] for key in (CAPACITY_TYPE, *PLACE_KEYS, *RESERVATION_KEYS) if key in folded]
    if not supply._replace(places=None).keeping(of_offers):
        return
    for line in lines:
        key = normalize(line.key)
        named = line.values if line.operator == "In" and key in (FAMILY, INSTANCE_TYPE) else ()
        new = [value for value in named if is_newer_name(value, supply.view) and value not in supply.view.values(key)]
        if new and not named_elsewhere(key, new, supply.view):
            yield unknown_fact(line.node, f"`{short(new[0])}` {PERHAPS_NEWER}")
            return
    if any(named_elsewhere(normalize(o.key), o.values if o.operator == "In" else (), supply.view) for o in lines):
        return  # already reported
    name = newer_type(folded, supply.view, sizes_left_out(pool))
    at = next((line for line in reversed(lines) if line.known and normalize(line.key) in NAME_KEYS), None)
    if name is not None and at is not None:
        yield unknown_fact(at.node, f"`{name.partition('.')[0]}` {ELSEWHERE}")


def _unused(pool: NodePool, facts: AwsFacts) -> Iterable[tuple[Node, str]]:
    """Yield a note with the reason why the given AWS facts are not used."""
    if facts is not NOTHING and not facts:
        try:
            facts.answer(Question("offerings"))
        except Missing as missing:
            yield pool.name_node, f"no facts from AWS are used: {missing.reason}"


@lru_cache(maxsize=16)
def _view(catalog: Catalog, release: Version, build: str | None) -> Catalog:
    view = catalog.for_release(release)
    return view.on_windows(build) if build is not None else view


def _no_class(pool: NodePool, why: str | None) -> ImageSet:
    ref = pool.class_ref
    if pool.provider == "auto-mode":
        at, reason = ref.node if ref is not None else pool.name_node, "AWS chooses the images of EKS Auto Mode"
    elif ref is None or ref.name is None:
        at, reason = pool.name_node, "the NodePool names no class"
    elif ref.name is UNKNOWN:
        at, reason = ref.node.get("name") or ref.node, "the name of the class is a placeholder"
    else:
        at, reason = ref.node.get("name") or ref.node, why or f"the class `{ref.name}` is not among the files"
    return ImageSet((Image(at, None),), (unknown_fact(at, reason),))


def _unknown_lines(pool: NodePool) -> Iterable[Gap]:
    where = pool.requirements_node
    if pool.partial and not pool.of_values:
        yield unknown_fact(pool.name_node, "the NodePool is a part; the rest of its requirements is elsewhere")
    if where is not None:
        for node in (where, *where.items):
            if node.kind == "scalar" and node.value is UNKNOWN:
                yield unknown_fact(node, "a placeholder stands for requirements")
            elif node.kind == "scalar" and node.value is None:
                continue
            elif node.kind != ("sequence" if node is where else "mapping"):
                yield unknown_fact(node, _MALFORMED)
    for line in pool.requirements:
        if not line.known:
            yield unknown_fact(line.node, _why_unknown(line))
    for label in pool.template_labels:
        if label.key is UNKNOWN or label.value is UNKNOWN:
            yield unknown_fact(label.node, "a label of the template is a placeholder")


def _on_enclaves(lines: Sequence[LineEffect], node_class: EC2NodeClass | None, release: Version) -> Iterable[Gap]:
    """Yield a gap for a class with enclaves, and for each requirement on the enclave label.

    No published table lists the instance types that support enclaves.
    """
    enabled = node_class.node.find("spec", "enclaveOptions", "enabled") if node_class is not None else None
    if enabled is not None and enabled.value is True and behaves("checks-enclaves", release):
        yield unknown_fact(enabled, ENCLAVES)
    for line in lines if NITRO_SANDBOX in well_known(release) else ():
        requirement = line.requirement
        if (
            requirement is not None
            and requirement.key == NITRO_SANDBOX
            and requirement.admits("true") != requirement.admits("false")
        ):
            yield unknown_fact(line.node, ENCLAVES)


def _why_unknown(line: RequirementLine) -> str:
    if line.key is UNKNOWN or line.operator is UNKNOWN or any(v.text is UNKNOWN for v in line.values):
        shown = f" on `{line.key}`" if isinstance(line.key, str) else ""
        return f"a requirement{shown} holds a placeholder"
    return _MALFORMED


def _match(images: ImageSet, view: Catalog, candidates: TypeSet) -> tuple[TypeSet, ...]:
    """Return, for each image, the candidates that use it: the first image that fits. Candidates that fit no known
    image may use the first unknown one.
    """
    left = candidates
    found = []
    for image in images.images:
        types = NONE
        for choice in image.choices:
            fits = left
            for requirement in choice:
                if not (requirement.key in (OS, WINDOWS_BUILD) and images.os is None):
                    fits &= view.select(requirement)
            types |= fits
        found.append(types)
        left -= types
    for index, image in enumerate(images.images):
        if not image.known:
            found[index] = left
            break
    return tuple(found)


def _gaps(
    images: ImageSet, view: Catalog, left: TypeSet, release: Version, kubernetes: KubernetesVersion | None
) -> Iterable[Unlaunchable]:
    """Yield the types that have no image, by architecture and by the variant that they need."""
    what = f"`{images.alias.family}`" if images.alias is not None else "the class"
    family = images.alias.family if images.alias is not None else None
    if not images.images:
        active = [problem.message for problem in images.problems if problem.active]
        yield Unlaunchable(left, "none", active[0] if active else "the class finds no image")
        return
    gpu, accelerator = view.having(GPU_COUNT), view.having(ACCELERATOR_COUNT)
    needs = (
        ("standard", view.all_types - gpu - accelerator, "types without GPU"),
        ("nvidia", gpu, "types with a GPU"),
        ("neuron", accelerator, "types with an accelerator"),
    )
    for arch, of_arch in sorted(view.values(ARCH).items()):
        types = left & of_arch
        if not types:
            continue
        if not any(image.arch == arch for image in images.images):
            aliases = () if images.os == "windows" else aliases_with(arch, "standard", release, kubernetes)
            yield Unlaunchable(types, "arch", f"{what} has no {arch} image", arch, "standard", None, aliases)
            continue
        if images.os == "linux" and any("windows" in image.variants for image in images.images):
            reason = "under amiFamily Custom types count as Linux, which Windows images refuse"
            yield Unlaunchable(types, "os", reason, arch, "windows")
            continue
        for variant, kind, words in needs:
            if types & kind:
                since = image_since(family, arch, variant, release) if family is not None else None
                aliases = aliases_with(arch, variant, release, kubernetes)
                reason = f"{what} has no image for {arch} {words}"
                yield Unlaunchable(types & kind, "variant", reason, arch, variant, since, aliases)
