"""What a piece of evidence is, and which versions, as they are written, pin a release.

A range (`~1.4`, `1.4.x`, `>=1.6.0 <1.8.0`) is weaker evidence: it is read as the newest release known within it, and
counts where nothing else that is as near does. A version with a suffix states nothing. A release that a file states
and that cannot be worked out, such as a variable without a value, is not known.
"""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.releases import NEWEST, RELEASES, KubernetesVersion, Version, target

if TYPE_CHECKING:
    from typing import Literal

    About = Literal["karpenter", "kubernetes"]
else:
    About = str


STATED, DEFAULT, LOOSE, FOR_READERS, NO_RELEASE, NOT_KNOWN, OVERRIDDEN = 0, 1, 2, 3, 4, 5, 6
"""How much a piece of evidence weighs, the weightiest first: what is installed; what may be overridden (the default
of a variable, a script, the chart of the CRDs alone); a range, or the default of a module that others call; what a
README tells people to run, which counts where nothing else does, however near. A version that Karpenter never had,
such as 2.1.0 of somebody's own chart, counts nowhere, and is only named. So does a release that is not known. A
default that each call of its module overrides states nothing, wherever it was read."""

_CHART = r"(?<![\w.:@/-])(?!\.{0,2}/)(?:[\w.:@/-]+/)?karpenter(-crd)?"
"""A chart by its name, in a repository, or by the address of a registry; not one of the user's own in a folder."""

_EXACT = r"=?\s*v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})"
_MINOR = r"(?:~>?\s*|=\s*)?v?(\d{1,3})\.(\d{1,3})(?:\.[x*])?"
_TILDE = r"~>?\s*v?(\d{1,3})\.(\d{1,3})\.\d{1,3}"
_COMPARISON = r"(>=|<=|>|<|\^)\s*v?(\d{1,3}(?:\.\d{1,3}){0,2})"
_LONGEST_TEXT = 60
_OF_KUBERNETES = r"v?1\.(\d\d)(?:\.\d{1,3})?"

_LAST_BEFORE_1 = 37
_FURTHER = 20
"""Minor versions beyond the newest one known that are still taken for Karpenter's."""


class Evidence(NamedTuple):
    """A release that a line of a file states, by what: `clusters/prod/karpenter.yaml:12`, `the HelmRelease`.

    `version` is `1.4.0`, or `1.4` where any patch may run; for Kubernetes `1.33`. `weight` is STATED, DEFAULT,
    LOOSE, FOR_READERS, NO_RELEASE, NOT_KNOWN, which has no version, or OVERRIDDEN. `of_image` says that it is the tag
    of the controller's image, not of a chart.
    """

    about: About
    version: str
    path: str
    line: int
    by: str
    weight: int = STATED
    of_image: bool = False

    @property
    def place(self) -> str:
        """Return `path:line`."""
        return f"{self.path}:{self.line}"

    @property
    def installs(self) -> bool:
        """Whether the line says what is installed. An image in values says it only where somebody uses the file."""
        return not self.of_image and self.weight <= DEFAULT

    @property
    def karpenter(self) -> Version:
        """Return the release of Karpenter. One before 1.0.0 is given as it is: nothing is known of it."""
        numbers = tuple(int(part) for part in self.version.split("."))
        return target(self.version) if (1,) <= numbers < (2,) else Version(*(*numbers, 0)[:3])

    @property
    def kubernetes(self) -> KubernetesVersion:
        """Return the version of Kubernetes."""
        return KubernetesVersion.parse(self.version)


def match_chart(name: str) -> re.Match[str] | None:
    """Return how Karpenter's chart is named, its first group for the chart of the CRDs; None for any other chart."""
    return re.fullmatch(_CHART, name)


def stated(about: About, text: str, path: str, line: int, by: str, weight: int = STATED) -> Evidence | None:
    """Return the evidence that a version, as it is written, makes; None if it pins no release."""
    text = text.strip()
    if about == "kubernetes":
        minor = re.fullmatch(_OF_KUBERNETES, text)
        return Evidence(about, f"1.{minor[1]}", path, line, by, weight) if minor else None
    exact = re.fullmatch(_EXACT, text)
    if exact is not None:
        numbers = [int(number) for number in exact.groups()]
    else:
        found = re.fullmatch(_MINOR, text) or re.fullmatch(_TILDE, text)
        newest = _newest_within(text) if found is None else None
        if found is None and newest is None:
            return None
        written = found.groups() if found is not None else str(newest).split(".")
        numbers, weight = [int(number) for number in written], LOOSE
    likely = 0 < numbers[1] <= _LAST_BEFORE_1 if numbers[0] == 0 else numbers[1] <= NEWEST.minor + _FURTHER
    if numbers[0] > 1 or not likely:
        weight = NO_RELEASE
    return Evidence(about, ".".join(map(str, numbers)), path, line, by, weight)


def not_known(path: str, line: int, by: str, written: str) -> Evidence:
    """Return the evidence of a file that states a release of Karpenter which cannot be worked out; `written` is its
    text.
    """
    short = " ".join(written.split())
    shown = short if len(short) <= _LONGEST_TEXT else f"{short[:_LONGEST_TEXT]}..."
    return Evidence("karpenter", "", path, line, f"{by}, `{shown}`", NOT_KNOWN)


def _newest_within(text: str) -> Version | None:
    """Return the newest release known that a range with comparisons allows.

    None if it is no range, or allows none.
    """
    parts = re.findall(rf"{_COMPARISON}[\s,]*", text)
    if not parts or not re.fullmatch(rf"(?:{_COMPARISON}[\s,]*)+", text):
        return None
    bounds = [(sign, tuple(map(int, numbers.split(".")))) for sign, numbers in parts]
    return max((release for release in RELEASES if all(_meets(release, *bound) for bound in bounds)), default=None)


def _meets(release: Version, sign: str, numbers: tuple[int, ...]) -> bool:
    bound = (*numbers, 0, 0)[:3]
    own = tuple(release[:3])
    if sign == "^":
        return bound <= own < (numbers[0] + 1, 0, 0)
    return {">=": own >= bound, ">": own > bound, "<": own < bound, "<=": own[: len(numbers)] <= numbers}[sign]
