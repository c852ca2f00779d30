"""The records of a resolution: how requirements and the class change the choice of instance types."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import TypeSet
from nodelint.model.manifest_terms import Label, RequirementLine
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement
from nodelint.text import Node


class LineEffect(NamedTuple):
    """The effect of one requirement, or of one label of the template, on the choice of instance types.

    `kept` are the types that meet the requirement. `before` and `after` are the types that remain before and after
    it, in the order of the file. `final` are the types that remain in the end, `without` those that would remain in
    the end without this requirement. A requirement can also add types, so that `removed` is negative: if two
    requirements on one key contradict each other, exactly the types without that label remain, as in Karpenter.
    `requirement` is None if a placeholder makes it unknown; it then removes nothing here.
    """

    at: RequirementLine | Label
    key: str
    operator: str
    values: tuple[str, ...]
    min_values: int | None
    requirement: Requirement | None
    kept: TypeSet
    before: TypeSet
    after: TypeSet
    without: TypeSet
    final: TypeSet
    note: str | None = None

    @property
    def node(self) -> Node:
        """Return the node of the whole requirement, or of the label's value."""
        return self.at.node

    @property
    def known(self) -> bool:
        """Return whether the whole requirement is known: no part of it is a placeholder."""
        return self.requirement is not None and (isinstance(self.at, Label) or self.at.known)

    @property
    def is_label(self) -> bool:
        """Return whether this is a label of `spec.template.metadata.labels`."""
        return isinstance(self.at, Label)

    @property
    def removed(self) -> int:
        """Return the number of types that the requirement removes at its place in the order of the file."""
        return len(self.before) - len(self.after)

    @property
    def removed_alone(self) -> int:
        """Return the number of types that remain in addition if only this requirement is dropped."""
        return len(self.without) - len(self.final)


class Unlaunchable(NamedTuple):
    """Instance types that meet the requirements but have no image.

    `kind` is `none` (the class finds no image at all), `arch` (no image of this architecture), `variant` (the
    architecture has images, but none for this kind of GPU or accelerator) or `os` (Windows images in a class whose
    nodes Karpenter takes to run Linux). `variant` is the image variant that the types need. `since` is the first
    release in which the alias has such an image, `aliases` are the alias families that have one in the release in
    question.
    """

    types: TypeSet
    kind: str
    reason: str
    arch: str | None = None
    variant: str | None = None
    since: Version | None = None
    aliases: tuple[str, ...] = ()


class ClassExclusion(NamedTuple):
    """Instance types that meet all requirements of a pool and that its class excludes, the reason, and the field of
    the class that causes it (None if it is no single field).
    """

    types: TypeSet
    reason: str
    at: Node | None


class MinValues(NamedTuple):
    """A minValues: the number of values that it requires, and the number that the remaining types have (None if only
    AWS knows).
    """

    line: LineEffect
    key: str
    wanted: int
    have: int | None

    @property
    def met(self) -> bool:
        """Return whether there are enough values. True if that is not known."""
        return self.have is None or self.have >= self.wanted
