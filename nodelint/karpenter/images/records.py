"""The images of a class: the images, what each term finds, what is unknown and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.facts import Missing
from nodelint.ec2.questions import alias_families
from nodelint.ec2.snapshot import MachineImage, Question
from nodelint.karpenter.images.choice import Passed
from nodelint.model.gap import Gap, Skip
from nodelint.model.manifest_terms import Alias, SelectorTerm
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.model.requirement import Requirements
from nodelint.text import Node

if TYPE_CHECKING:
    from typing import Literal

    ProblemKind = Literal["family", "version", "kubernetes", "release", "missing", "unpublished"]


def unknown_fact(at: Node, reason: str, missing: Missing | None = None) -> Gap:
    """Return what leaves open what a pool can launch: why, and the fact that is `missing` where that is why."""
    if missing is None:
        return Gap(at, "fact", reason)
    return Gap(at, "fact", reason, fact=missing.kind, transient=missing.transient)


class Image(NamedTuple):
    """An image that a class's terms find.

    `arch` is None if the image is not known. `variants` says for whom it is published. An instance type takes the
    image where it meets one of `choices`; images found by name, tag, id or parameter ask for their architecture
    alone, whatever their variant. `alias`, `id`, `name` and `parameter` say how it was asked for. `found` is the
    image in EC2, where facts are available.
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
    found: MachineImage | None = None

    @property
    def known(self) -> bool:
        """Whether it can be said which instance types take it."""
        return self.arch is not None

    @property
    def label(self) -> str:
        """Return what the class calls it: alias, id, name pattern or parameter."""
        requested = self.alias or self.id or self.name or self.parameter
        return requested or ("images chosen by tag" if self.at.kind == "mapping" else "images that are not known")


class TermImages(NamedTuple):
    """What a term finds in EC2, for rules that explain it.

    `node` is where the term says what it asks (its id, name, tags, parameter or alias), `term` None for an
    alias that a v1beta1 class only implies, `question` None for an alias. `parameters` are SSM parameters
    that were looked up, with their values (None: there is none). `images` are all that match, newest
    first and in every state, `total` how many there are (the oldest are not kept). Of these Karpenter
    takes `used`, in its order, and has a reason not to take those `passed`. Where a fact was `missing`,
    nothing can be concluded from what is absent here.
    """

    term: SelectorTerm | None
    node: Node
    question: Question | None = None
    parameters: tuple[tuple[str, str | None], ...] = ()
    images: tuple[MachineImage, ...] = ()
    total: int = 0
    used: tuple[MachineImage, ...] = ()
    passed: tuple[Passed, ...] = ()
    missing: Missing | None = None

    def skips(self) -> Iterator[Skip]:
        """Yield what is not available, at its place; nothing if all is known."""
        if self.missing is not None:
            yield Skip(self.node, self.missing.reason, self.missing.transient, self.missing.kind)


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
    """The images of a class: those found in EC2 as the controller tries them, then the others as written.

    `unknown` names the terms whose images only AWS knows, `notes` what else the files leave open,
    `terms` what each term finds. `ami_family` is what the controller takes for the class's family: it
    decides the operating system (`os`, `build`) of every instance type, whatever the images are.
    """

    images: tuple[Image, ...]
    unknown: tuple[Gap, ...] = ()
    problems: tuple[ImageProblem, ...] = ()
    notes: tuple[tuple[Node, str], ...] = ()
    ami_family: str | None = None
    alias: Alias | None = None
    alias_node: Node | None = None
    terms: tuple[TermImages, ...] = ()

    @property
    def known(self) -> tuple[Image, ...]:
        """Return the images of which it can be said who takes them."""
        return tuple(image for image in self.images if image.known)

    @property
    def complete(self) -> bool:
        """Whether nothing about the images is unknown."""
        return not self.unknown

    @property
    def boots(self) -> str | None:
        """Return the amiFamily that the images are built as, by alias or published names; None if that is not known.

        Ubuntu's images take AL2's user data, and count as `AL2`.
        """
        families = alias_families()
        if self.alias is not None:
            row = families.get(self.alias.family)
            return None if row is None else str(row["amiFamily"])
        named = {image.family for image in self.images}
        name = named.pop() if len(named) == 1 and self.complete else None
        return "AL2" if name == "ubuntu" else str(families[name]["amiFamily"]) if name in families else None

    @property
    def os(self) -> str | None:
        """`linux` or `windows`; None if the family is not known."""
        if self.ami_family is None:
            return None
        return "windows" if self.build is not None else "linux"

    @property
    def build(self) -> str | None:
        """Return the Windows build that the controller gives to every instance type of the class."""
        for family in alias_families().values():
            if family["amiFamily"] == self.ami_family:
                build: str | None = family.get("build")
                return build
        return None
