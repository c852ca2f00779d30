"""The images of a class, what each selector term finds, and what is unknown or wrong."""

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
    """Return a gap: the reason why nodelint does not know what a NodePool can launch, and the `missing` AWS fact if
    that is the reason.
    """
    if missing is None:
        return Gap(at, "fact", reason)
    return Gap(at, "fact", reason, fact=missing.kind, transient=missing.transient)


class Image(NamedTuple):
    """An image that the terms of a class find.

    `arch` is None if the image is not known. `variants` are the device variants for which it is published. An
    instance type can use the image if it meets one of `choices`. Images selected by name, tag, id or parameter
    require only their architecture, whatever their variant. `alias`, `id`, `name` and `parameter` say how the class
    selects it. `found` is the image in EC2, if AWS facts are available.
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
        """Return whether nodelint knows which instance types can use the image."""
        return self.arch is not None

    @property
    def label(self) -> str:
        """Return the alias, id, name pattern or parameter by which the class selects the image, or a description."""
        requested = self.alias or self.id or self.name or self.parameter
        return requested or ("images chosen by tag" if self.at.kind == "mapping" else "images that are not known")


class TermImages(NamedTuple):
    """The images that one selector term finds in EC2, for rules that explain it.

    `node` is the value of the term (its id, name, tags, parameter or alias). `term` is None for an alias that a
    v1beta1 class only implies, `question` is None for an alias. `parameters` are the SSM parameters that were looked
    up, with their values (None if the parameter does not exist). `images` are all that match, newest first and in
    every state; `total` is their number in EC2 (the oldest are not listed). Karpenter uses `used`, in its order, and
    does not use `passed`, each with a reason. If a fact is `missing`, an image may exist that is not listed.
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
        """Yield the AWS fact that is missing, at the node of the term. Nothing if all are known."""
        if self.missing is not None:
            yield Skip(self.node, self.missing.reason, self.missing.transient, self.missing.kind)


class ImageProblem(NamedTuple):
    """A reason why the terms of a class find no image, now or with a later Kubernetes.

    `active` is true if the terms find none with the given versions. If it is false, the Kubernetes version is not
    known, and the terms find none from `kubernetes` on. `since` is the first Karpenter release without the problem;
    None if there is none.
    """

    kind: ProblemKind
    at: Node
    message: str
    active: bool = True
    kubernetes: KubernetesVersion | None = None
    since: Version | None = None


class ImageSet(NamedTuple):
    """The images of a class: first those found in EC2, in the controller's order, then the others as written.

    `unknown` lists the terms whose images only AWS knows, `notes` other open questions, `terms` the images of each
    term. `ami_family` is the family that the controller uses: it decides the operating system (`os`, `build`) of
    every instance type, whatever the images are.
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
        """Return the images for which it is known which instance types can use them."""
        return tuple(image for image in self.images if image.known)

    @property
    def complete(self) -> bool:
        """Return whether every image of the class is known."""
        return not self.unknown

    @property
    def boots(self) -> str | None:
        """Return the amiFamily as which the images were built, by their alias or published names. None if it is not
        known.

        Ubuntu's images use AL2's user data, so their family is `AL2`.
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
        """Return `linux` or `windows`; None if the AMI family is not known."""
        if self.ami_family is None:
            return None
        return "windows" if self.build is not None else "linux"

    @property
    def build(self) -> str | None:
        """Return the Windows build that the controller gives to every instance type of the class. None if it is not
        Windows.
        """
        for family in alias_families().values():
            if family["amiFamily"] == self.ami_family:
                build: str | None = family.get("build")
                return build
        return None
