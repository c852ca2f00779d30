"""What requirements and the class do to the choice of instance types: the values that a resolution holds."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.ec2.type_set import TypeSet
from nodelint.model.manifest_terms import Label, RequirementLine
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement
from nodelint.text import Node


class LineEffect(NamedTuple):
    """What one requirement line, or one label of the template, does to the choice of instance types.

    `kept` are the types that meet it by itself. `before` and `after` are the types left before and after it, in the
    order written. `without` are those that would be left in the end if only this line were dropped, `final` those
    that are left. Types can also come back through a line (`removed` is below zero then): two lines on one key that
    contradict each other leave exactly the types without that label, and so does Karpenter. `requirement` is None if
    a placeholder keeps the line from being judged; it then removes nothing here.
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
        """Return where it stands: the whole entry of a requirement, the value of a label."""
        return self.at.node

    @property
    def known(self) -> bool:
        """Whether the whole line could be judged: nothing of it is a placeholder."""
        return self.requirement is not None and (isinstance(self.at, Label) or self.at.known)

    @property
    def is_label(self) -> bool:
        """Whether it is a label of `spec.template.metadata.labels`."""
        return isinstance(self.at, Label)

    @property
    def removed(self) -> int:
        """Return how many types it takes away where it stands."""
        return len(self.before) - len(self.after)

    @property
    def removed_alone(self) -> int:
        """Return how many types come back in the end if only this line is dropped."""
        return len(self.without) - len(self.final)


class Unlaunchable(NamedTuple):
    """Instance types that meet the requirements and have no image.

    `kind` is `none` (the class finds no image at all), `arch` (none of this architecture),
    `variant` (the architecture has images, but none for a GPU or accelerator of this kind) or `os`
    (Windows images in a class that the controller takes for Linux). `variant` is what the types
    would need. `since` is the release in which the alias has the image, `aliases` are the alias
    families that have it in the release asked about.
    """

    types: TypeSet
    kind: str
    reason: str
    arch: str | None = None
    variant: str | None = None
    since: Version | None = None
    aliases: tuple[str, ...] = ()


class MinValues(NamedTuple):
    """A minValues, how many values it wants, and how many the types left have (None: known to AWS only)."""

    line: LineEffect
    key: str
    wanted: int
    have: int | None

    @property
    def met(self) -> bool:
        """Whether there are enough values, as far as can be said."""
        return self.have is None or self.have >= self.wanted
