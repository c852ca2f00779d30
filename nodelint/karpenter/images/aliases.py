"""The images of a class with an alias: those of its SSM parameters if AWS facts have them, else those of the data."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from nodelint.ec2.facts import AwsFacts, Missing
from nodelint.ec2.questions import AliasImage, AskedAlias, alias_families, alias_parameters, id_question
from nodelint.ec2.snapshot import MachineImage
from nodelint.karpenter.images.choice import Candidate, choose, in_order, passed_over, why_unseen
from nodelint.karpenter.images.families import alias_images, alias_version_valid, of_arch, variant_requirements
from nodelint.karpenter.images.records import Image, ImageProblem, ImageSet, TermImages
from nodelint.model.keys import OS, WINDOWS_BUILD
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import Alias, SelectorTerm
from nodelint.model.messages import short
from nodelint.model.releases import KubernetesVersion, Version, behaves, kubernetes_match, releases_match
from nodelint.model.requirement import Requirement, Requirements
from nodelint.text import UNKNOWN, Node


def of_alias(
    asked_alias: AskedAlias,
    node_class: EC2NodeClass,
    release: Version,
    kubernetes: KubernetesVersion | None,
    facts: AwsFacts,
) -> ImageSet:
    alias, node, family = asked_alias.alias, asked_alias.node, node_class.ami_family
    named = family if isinstance(family, str) else None
    row = alias_families().get(alias.family)
    problems = tuple(alias_problems(alias, node, release, kubernetes))
    if row is None or alias.version.count("@"):
        return ImageSet((), problems=problems, ami_family=named, alias=alias, alias_node=node)
    ami_family = None if family is UNKNOWN else (named or row["amiFamily"])
    found = ImageSet((), (), problems, ami_family=ami_family, alias=alias, alias_node=node)
    if any(problem.active for problem in problems):
        return found
    if not asked_alias.known:
        notes = ((node, "the alias version is a placeholder; taken for a current one"),)
        return found._replace(images=_offline(asked_alias, release), notes=notes)
    term = next((term for term in node_class.ami_terms if term.alias), None)
    images, looked_up = _looked_up(asked_alias, term, release, kubernetes, facts)
    if not images and looked_up.missing is None and not any(value for _, value in looked_up.parameters):
        found = found._replace(problems=(*problems, _unpublished(alias, node, kubernetes)))
    elif looked_up.missing is not None and alias.version != "latest" and not behaves("deprecated-found", release):
        found = found._replace(
            notes=((node, f"Karpenter {release} finds no image that is deprecated, as old ones are by now"),)
        )
    return found._replace(images=images, terms=(looked_up,))


def alias_problems(
    alias: Alias, node: Node, release: Version, kubernetes: KubernetesVersion | None = None
) -> Iterable[ImageProblem]:
    """Yield the reason why an alias selects no image: its family, the release, its version or Kubernetes. At most one
    is yielded.
    """
    shown = short(f"{alias.family}@{alias.version}", 48)
    row = alias_families().get(alias.family)
    if row is None:
        yield ImageProblem("family", node, f"`{short(alias.family, 48)}` is not an alias family")
        return
    if not releases_match(row["releases"], release):
        since = Version.parse(row["releases"].removeprefix(">="))
        message = f"the alias `{alias.family}` came with Karpenter {since}"
        yield ImageProblem("release", node, message, since=since)
        return
    if not alias_version_valid(alias):
        yield ImageProblem("version", node, f"`{shown}` names no version under which images are published")
        return
    spec: str = row["kubernetes"]
    if not spec or (kubernetes is not None and kubernetes_match(spec, kubernetes)):
        return
    border = KubernetesVersion.parse(spec.lstrip("<>="))
    if spec.startswith("<"):
        message = f"`{alias.family}` has no image on Kubernetes {border} and newer"
    else:
        message = f"`{alias.family}` has no image before Kubernetes {border}"
    yield ImageProblem("kubernetes", node, message, kubernetes is not None, border)


def _offline(asked_alias: AskedAlias, release: Version) -> tuple[Image, ...]:
    alias = asked_alias.alias
    return tuple(
        _of_row(asked_alias, arch, variants, release)
        for arch, variants in alias_images(alias.family, release, alias.version)
    )


def _of_row(alias: AskedAlias, arch: str, variants: tuple[str, ...], release: Version) -> Image:
    """Return an image of an alias as the data lists it, without an id."""
    family = alias.alias.family
    choices = _choices(family, arch, variants, release)
    return Image(alias.node, arch, variants, choices, family=family, alias=alias.shown)


@cache
def _choices(family: str, arch: str, variants: tuple[str, ...], release: Version) -> tuple[Requirements, ...]:
    """Return the requirements of each variant of a family's image on instance types."""
    build = alias_families()[family].get("build")
    return tuple(_choice(arch, variant, build, release) for variant in variants)


def _unpublished(alias: Alias, node: Node, kubernetes: KubernetesVersion | None) -> ImageProblem:
    shown = short(f"{alias.family}@{alias.version}", 48)
    return ImageProblem("unpublished", node, f"`{shown}` has no image on Kubernetes {kubernetes}")


def _looked_up(
    asked_alias: AskedAlias,
    term: SelectorTerm | None,
    release: Version,
    kubernetes: KubernetesVersion | None,
    facts: AwsFacts,
) -> tuple[tuple[Image, ...], TermImages]:
    """Return the images of an alias's SSM parameters, and what was found for each parameter.

    If a parameter is not known, the image of the data takes its place. A parameter that does not exist, or that
    Karpenter may not read, costs Karpenter only one image.
    """
    alias, node = asked_alias.alias, asked_alias.node
    if kubernetes is None:
        why = f"which images `{short(alias.family)}` has depends on the Kubernetes version; pass --kubernetes-version"
        return _offline(asked_alias, release), TermImages(term, node, missing=Missing("parameters", why))
    behind: dict[str, tuple[MachineImage, AliasImage]] = {}
    rest, missing = [], None
    parameters: list[tuple[str, str | None]] = []
    for row in alias_parameters(alias, release, kubernetes):
        try:
            id = facts.parameter(row.parameter)
            parameters.append((row.parameter, id))
            # Where two parameters hold one id, Karpenter keeps the variants of either.
            behind |= {i.id: (i, row) for i in (facts.images(id_question(id)).images if id else ())}
        except Missing as error:
            missing = missing or error
            rest.append(_of_row(asked_alias, row.arch, row.variants, release))
    build, latest = alias_families()[alias.family].get("build"), alias.version == "latest"
    candidates = [
        (variant, Candidate(image, _choice(image.arch, variant, build, release)))
        for image, row in behind.values()
        for variant in row.variants
        if why_unseen(image, release, facts.now, latest=latest) is None
    ]
    best = choose((candidate for _, candidate in candidates), release, facts.now)
    images = []
    used = in_order({candidate.image.id: candidate.image for candidate in best}.values())
    for image in used:
        won = [
            (variant, candidate.requirements)
            for variant, candidate in candidates
            if candidate in best and candidate.image == image
        ]
        variants, choices = zip(*won, strict=True)
        images.append(Image(node, image.arch, variants, choices, alias.family, asked_alias.shown, found=image))
    every = in_order(image for image, _ in behind.values())
    passed = passed_over(every, used, release, facts.now, latest=latest)
    looked_at = tuple(parameters), tuple(every), len(every)
    return (*images, *rest), TermImages(term, node, None, *looked_at, tuple(used), passed, missing)


def _choice(arch: str, variant: str, build: str | None, release: Version) -> Requirements:
    requirements = of_arch(arch)
    if build is not None:
        requirements.add(Requirement.parse(OS, "In", ("windows",)), Requirement.parse(WINDOWS_BUILD, "In", (build,)))
    requirements.add(*variant_requirements(variant, release))
    return requirements
