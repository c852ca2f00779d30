"""AMI families, aliases and selector terms -> the images that Karpenter would find, said offline.

The facts lie in `data/images.json`: which images each alias family has in which release, and for whom
each is. An image that is named by a published scheme tells its architecture (`images.names`); an id, a
tag or a name of one's own does not, and stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, NamedTuple

from nodelint.catalog import ARCH, OS, WINDOWS_BUILD
from nodelint.finding import short
from nodelint.images.names import name_matches, parameter_matches
from nodelint.manifest import Alias, EC2NodeClass, SelectorTerm, Text, parse_alias
from nodelint.requirement import Requirement, Requirements
from nodelint.source import UNKNOWN, Node
from nodelint.versions import (
    RELEASES,
    KubernetesVersion,
    Version,
    behaves,
    facts,
    kubernetes_match,
    releases_match,
)

ProblemKind = Literal["family", "version", "kubernetes", "release", "missing"]


class Image(NamedTuple):
    """An image that a class's terms find.

    `arch` is None where the image is not known offline. `variants` says for whom it is published.
    An instance type takes the image where it meets one of `choices`; images found by name, tag, id
    or parameter ask for their architecture alone, whatever their variant. `alias`, `id`, `name` and
    `parameter` say how it was asked for.
    """

    at: Node
    arch: str | None
    variants: tuple[str, ...] = ()
    choices: tuple[Requirements, ...] = ()
    family: str | None = None
    alias: str | None = None
    id: str | None = None
    name: str | None = None
    parameter: str | None = None

    @property
    def known(self) -> bool:
        """Whether it can be said offline which instance types take it."""
        return self.arch is not None

    @property
    def label(self) -> str:
        """What the class calls it: alias, id, name pattern or parameter."""
        asked = self.alias or self.id or self.name or self.parameter
        return asked or ("images chosen by tag" if self.at.kind == "mapping" else "images that are not known")


class ImageProblem(NamedTuple):
    """Why terms find no image, or will find none.

    `active` says that it is so for the versions asked about; else it will be from `kubernetes` on
    (the target Kubernetes version is not known). `since` is the first release of Karpenter without
    the problem, if one has it.
    """

    kind: ProblemKind
    at: Node
    message: str
    active: bool = True
    kubernetes: KubernetesVersion | None = None
    since: Version | None = None


class ImageSet(NamedTuple):
    """The images of a class. Their order is the one written; the controller tries the newest first.

    `unknown` names the terms whose images only AWS knows, `notes` what else the files leave open.
    `ami_family` is what the controller takes for the class's family: it decides the operating
    system (`os`, `build`) of every instance type, whatever the images are.
    """

    images: tuple[Image, ...]
    unknown: tuple[tuple[Node, str], ...] = ()
    problems: tuple[ImageProblem, ...] = ()
    notes: tuple[tuple[Node, str], ...] = ()
    ami_family: str | None = None
    alias: Alias | None = None
    alias_node: Node | None = None

    @property
    def known(self) -> tuple[Image, ...]:
        """The images of which it can be said offline who takes them."""
        return tuple(image for image in self.images if image.known)

    @property
    def complete(self) -> bool:
        """Whether nothing about the images is unknown."""
        return not self.unknown

    @property
    def os(self) -> str | None:
        """`linux` or `windows`; None where the family is not known."""
        if self.ami_family is None:
            return None
        return "windows" if self.build is not None else "linux"

    @property
    def build(self) -> str | None:
        """The Windows build that the controller gives to every instance type of the class."""
        for family in _families().values():
            if family["amiFamily"] == self.ami_family:
                build: str | None = family.get("build")
                return build
        return None


def _families() -> dict[str, Any]:
    found: dict[str, Any] = facts("images")["families"]
    return found


def provenance() -> tuple[str, str]:
    """Where the image facts are from, and the date of what was read."""
    return facts("images")["origin"], facts("images")["date"]


def families(version: Version | None = None, kubernetes: KubernetesVersion | None = None) -> tuple[str, ...]:
    """The alias families, of one release and with images for one Kubernetes version where these are given."""
    return tuple(
        name
        for name, family in _families().items()
        if (version is None or releases_match(family["releases"], version))
        and (kubernetes is None or not family["kubernetes"] or kubernetes_match(family["kubernetes"], kubernetes))
    )


def family_title(family: str) -> str:
    """`Amazon Linux 2023` for `al2023`."""
    title: str = _families()[family]["title"]
    return title


def ami_family_of(family: str) -> str:
    """The amiFamily that goes with an alias family: `AL2023` for `al2023`."""
    field: str = _families()[family]["amiFamily"]
    return field


def successor_of(family: str) -> str | None:
    """The alias family that takes the place of one that ends: `al2023` for `al2`."""
    successor: str | None = _families().get(family, {}).get("successor")
    return successor


def family_example(family: str) -> str:
    """An alias of the family in a form that its releases take, such as `al2023@v20250403`."""
    example: str = _families()[family]["example"]
    return example


def alias_version_valid(alias: Alias) -> bool:
    """Whether the version of an alias has a form under which images of the family are published."""
    return re.fullmatch(_families()[alias.family]["versions"], alias.version) is not None


def alias_images(family: str, version: Version, alias_version: str = "latest") -> list[tuple[str, tuple[str, ...]]]:
    """Architecture and variants of each image of an alias in a release. KeyError for no alias family."""
    return [
        (image["arch"], tuple(image["variants"]))
        for image in _families()[family]["images"]
        if releases_match(image.get("releases", ""), version)
        and not (re.fullmatch(r"v\d{8}", alias_version) and alias_version < image.get("published", ""))
    ]


def first_published(family: str, arch: str, variant: str) -> str | None:
    """The alias version from which an image for an architecture and variant is published; None for all versions."""
    for image in _families()[family]["images"]:
        if image["arch"] == arch and variant in image["variants"] and "published" in image:
            version: str = image["published"]
            return version
    return None


def aliases_with(
    arch: str, variant: str, version: Version, kubernetes: KubernetesVersion | None = None
) -> tuple[str, ...]:
    """The Linux alias families that have an image for an architecture and variant."""
    return tuple(
        family
        for family in families(version, kubernetes)
        if any(arch == its_arch and variant in variants for its_arch, variants in alias_images(family, version))
    )


def image_since(family: str, arch: str, variant: str, version: Version) -> Version | None:
    """The first release from `version` on in which an alias has an image for an architecture and variant."""
    for release in RELEASES:
        if release >= version and any(a == arch and variant in v for a, v in alias_images(family, release)):
            return release
    return None


def excluded_prefix(ami_family: str | None, version: Version) -> str | None:
    """How the names of instance types begin that a family does not boot, where the release knows of it."""
    for family in _families().values():
        excludes = family.get("excludes")
        if family["amiFamily"] == ami_family and excludes and releases_match(excludes["releases"], version):
            prefix: str = excludes["prefix"]
            return prefix
    return None


@cache
def variant_requirements(variant: str, version: Version) -> tuple[Requirement, ...]:
    """What an alias image of a variant asks of an instance type in a release, next to its architecture.

    Windows images ask for their operating system and build instead, and have nothing here.
    """
    for row in facts("images")["variants"]:
        if releases_match(row["releases"], version):
            return tuple(Requirement.of(key, operator) for key, operator in row.get(variant, ()))
    raise KeyError(variant)


def images_of(node_class: EC2NodeClass, version: Version, kubernetes: KubernetesVersion | None = None) -> ImageSet:
    """The images that a class's terms find in a release, with what is unknown and what is wrong about
    them.

    Without a Kubernetes version nothing that depends on it removes an image: it is a problem that
    is not `active`.
    """
    family = node_class.ami_family
    field = node_class.node.at("spec", "amiSelectorTerms")
    if field is None or (field.kind == "sequence" and not field.items):
        return _without_terms(node_class, version, kubernetes, family)
    if field.kind == "scalar" and field.value is UNKNOWN:
        return _unknown(field, "the image terms are a placeholder", family)
    terms = node_class.ami_terms
    aliased = next((term for term in terms if term.alias), None)
    if aliased is not None:
        return _of_alias(aliased, version, kubernetes, family)
    return _of_terms(field, terms, version, _text(family))


def _unknown(at: Node, reason: str, family: Text | None) -> ImageSet:
    return ImageSet((Image(at, None),), ((at, reason),), ami_family=_text(family))


def _text(value: Text | None) -> str | None:
    return value if isinstance(value, str) else None


def _without_terms(
    node_class: EC2NodeClass, version: Version, kubernetes: KubernetesVersion | None, family: Text | None
) -> ImageSet:
    at = node_class.node.at("spec", "amiFamily") or node_class.name_node
    if node_class.partial:
        return _unknown(at, "the image terms are not in this part of the class", family)
    if node_class.version == "v1beta1" and isinstance(family, str):
        # The conversion to v1 turns a family without terms into its alias at latest.
        for name, row in _families().items():
            if row["amiFamily"] == family:
                return _alias_set(Alias(name, "latest"), f"{name}@latest", at, version, kubernetes, family)
        if family == "Ubuntu":
            # The conversion marks the class as incompatible, and provisioning passes it over.
            message = "Karpenter 1.0 finds no images for amiFamily `Ubuntu`: amiSelectorTerms has to name them"
            found = ImageProblem("family", at, message)
            return ImageSet((), problems=(found,), ami_family="AL2", alias=Alias("ubuntu", "latest"), alias_node=at)
    if family is UNKNOWN:
        return _unknown(at, "the AMI family is a placeholder", family)
    problem = ImageProblem("missing", at, "the class has no amiSelectorTerms, so it finds no image")
    return ImageSet((), problems=(problem,), ami_family=_text(family))


def _of_alias(
    term: SelectorTerm, version: Version, kubernetes: KubernetesVersion | None, family: Text | None
) -> ImageSet:
    node = term.node.get("alias") or term.node
    if isinstance(term.alias, str):
        return _alias_set(parse_alias(term.alias), term.alias, node, version, kubernetes, family)
    # The family stands before the `@`; a placeholder behind it leaves the version open and no more.
    written = re.match(r"[\"']?([a-zA-Z0-9]+)@", node.text)
    if written is None:
        return _unknown(node, "the alias is a placeholder", family)
    return _alias_set(Alias(written[1], "latest"), node.written, node, version, kubernetes, family, pinned=False)


def _alias_set(
    alias: Alias,
    shown: str,
    node: Node,
    version: Version,
    kubernetes: KubernetesVersion | None,
    family: Text | None,
    *,
    pinned: bool = True,
) -> ImageSet:
    row = _families().get(alias.family)
    problems = tuple(alias_problems(alias, node, version, kubernetes))
    if row is None or alias.version.count("@"):
        return ImageSet((), problems=problems, ami_family=_text(family), alias=alias, alias_node=node)
    ami_family = None if family is UNKNOWN else (_text(family) or row["amiFamily"])
    notes: tuple[tuple[Node, str], ...] = ()
    if not pinned:
        notes = ((node, "the alias version is a placeholder; taken for a current one"),)
    elif alias.version != "latest" and not behaves("deprecated-found", version):
        notes = ((node, f"Karpenter {version} finds no image that is deprecated, as old ones are by now"),)
    images: tuple[Image, ...] = ()
    if not any(problem.active for problem in problems):
        images = tuple(
            Image(
                at=node,
                arch=arch,
                variants=variants,
                choices=tuple(_choice(arch, variant, row.get("build"), version) for variant in variants),
                family=alias.family,
                alias=shown,
            )
            for arch, variants in alias_images(alias.family, version, alias.version)
        )
    return ImageSet(images, (), problems, notes, ami_family, alias, node)


def _choice(arch: str, variant: str, build: str | None, version: Version) -> Requirements:
    requirements = Requirements([Requirement.of(ARCH, "In", (arch,))])
    if build is not None:
        requirements.add(Requirement.of(OS, "In", ("windows",)), Requirement.of(WINDOWS_BUILD, "In", (build,)))
    requirements.add(*variant_requirements(variant, version))
    return requirements


def alias_problems(
    alias: Alias, node: Node, version: Version, kubernetes: KubernetesVersion | None = None
) -> Iterable[ImageProblem]:
    """Why an alias finds no image: family, release, version form or Kubernetes; one reason at most."""
    shown = short(f"{alias.family}@{alias.version}", 48)
    row = _families().get(alias.family)
    if row is None:
        yield ImageProblem("family", node, f"`{short(alias.family, 48)}` is no alias family")
        return
    if not releases_match(row["releases"], version):
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


def _of_terms(field: Node, terms: tuple[SelectorTerm, ...], version: Version, ami_family: str | None) -> ImageSet:
    images: list[Image] = []
    unknown: list[tuple[Node, str]] = []
    problems: list[ImageProblem] = []
    notes: list[tuple[Node, str]] = []
    for item in field.items:
        if item.kind == "scalar" and item.value is UNKNOWN:
            images.append(Image(item, None))
            unknown.append((item, "an image term is a placeholder"))
    for term in terms:
        if term.ssm_parameter is not None and not behaves("ssm-parameter-terms", version):
            node = term.node.get("ssmParameter") or term.node
            message = "`ssmParameter` came with Karpenter 1.4.0"
            problems.append(ImageProblem("release", node, message, since=Version(1, 4, 0)))
            continue
        found, reason = _of_term(term)
        images += found
        if reason is not None:
            unknown.append((found[0].at if found else term.node, reason))
    for arch in ("amd64", "arm64"):
        same = [image for image in images if image.arch == arch]
        if len({id(image.at) for image in same}) > 1:
            notes.append((same[1].at, f"several terms find {arch} images; the newest one is taken"))
        elif same and len(same[0].variants) > 1 and same[0].family is None:
            variants = ", ".join(same[0].variants)
            notes.append((same[0].at, f"the name fits {arch} images of several kinds ({variants}); the newest wins"))
    return ImageSet(tuple(images), tuple(unknown), tuple(problems), tuple(notes), ami_family)


def _of_term(term: SelectorTerm) -> tuple[list[Image], str | None]:
    """The images of one term without alias, and why they are unknown if they are."""
    for key, value in (("id", term.id), ("ssmParameter", term.ssm_parameter), ("name", term.name)):
        node = term.node.get(key)
        if value is None or value == "" or node is None:
            continue
        if not isinstance(value, str):
            return [Image(node, None)], f"the image's {key} is a placeholder"
        if key == "id":
            return [Image(node, None, id=value)], f"`{short(value, 48)}` does not tell its architecture"
        name, parameter = (value, None) if key == "name" else (None, value)
        found = name_matches(value) if key == "name" else parameter_matches(value)
        if found:
            return [
                Image(
                    node,
                    arch,
                    variants,
                    (Requirements([Requirement.of(ARCH, "In", (arch,))]),),
                    family=family,
                    name=name,
                    parameter=parameter,
                )
                for arch, variants, family in found
            ], None
        if key == "name":
            reason = f"the image name `{short(value, 48)}` does not tell its architecture"
        else:
            reason = f"the parameter `{short(value, 48)}` does not tell its image's architecture"
        return [Image(node, None, name=name, parameter=parameter)], reason
    node = term.node.get("tags") or term.node
    return [Image(node, None)], "which images have these tags is known to AWS only"
