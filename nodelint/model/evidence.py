"""Describe evidence of a release, and read which release a version text pins.

A range (`~1.4`, `1.4.x`, `>=1.6.0 <1.8.0`) is weaker evidence: it counts as the newest known release in it, and only
if no other evidence is equally near. A version with a suffix is no evidence. A stated release that cannot be
determined, such as a variable without a value, is unknown.
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
"""The weight of evidence, strongest first.

- STATED: the version that is installed.
- DEFAULT: it may be overridden (the default of a variable, a script, the chart of the CRDs alone).
- LOOSE: a range, or the default of a module that others call.
- FOR_READERS: a README tells people to run it. It counts only without other evidence, however near.
- NO_RELEASE: a version that Karpenter never had, such as 2.1.0 of somebody's own chart. It is reported, but not used.
- NOT_KNOWN: a release that cannot be determined.
- OVERRIDDEN: a default that each call of its module overrides. It states nothing.
"""

_CHART = r"(?<![\w.:@/-])(?!\.{0,2}/)(?:[\w.:@/-]+/)?karpenter(-crd)?"
"""Karpenter's chart by its name, in a repository, or by its registry address.

A chart in a local folder is another one.
"""

_EXACT = r"=?\s*v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})"
_MINOR = r"(?:~>?\s*|=\s*)?v?(\d{1,3})\.(\d{1,3})(?:\.[x*])?"
_TILDE = r"~>?\s*v?(\d{1,3})\.(\d{1,3})\.\d{1,3}"
_COMPARISON = r"(>=|<=|>|<|\^)\s*v?(\d{1,3}(?:\.\d{1,3}){0,2})"
_LONGEST_TEXT = 60
_OF_KUBERNETES = r"v?1\.(\d\d)(?:\.\d{1,3})?"

_LAST_BEFORE_1 = 37
_FURTHER = 20
"""The number of minor versions after the newest known one that still count as Karpenter's."""


class Evidence(NamedTuple):
    """A release that a line of a file states.

    - `about`: `karpenter` or `kubernetes`.
    - `version`: `1.4.0`, or `1.4` if any patch may run; for Kubernetes `1.33`. Empty if NOT_KNOWN.
    - `path`, `line`: such as `clusters/prod/karpenter.yaml` and 12.
    - `by`: what states it, such as `the HelmRelease`.
    - `weight`: STATED to OVERRIDDEN.
    - `of_image`: it is the tag of the controller's image, not of a chart.
    - `clusters`: the names or addresses of the clusters in which an Argo CD Application or Flux object installs it.
      Empty if that is the cluster of the object itself.
    """

    about: About
    version: str
    path: str
    line: int
    by: str
    weight: int = STATED
    of_image: bool = False
    clusters: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """Return `path:line`."""
        return f"{self.path}:{self.line}"

    @property
    def installs(self) -> bool:
        """Return whether the line says what is installed.

        An image in values says so only if another file uses the values.
        """
        return not self.of_image and self.weight <= DEFAULT

    @property
    def karpenter(self) -> Version:
        """Return the release of Karpenter.

        A release before 1.0.0 is returned unchanged: nodelint has no facts about it.
        """
        numbers = tuple(int(part) for part in self.version.split("."))
        return target(self.version) if (1,) <= numbers < (2,) else Version(*(*numbers, 0)[:3])

    @property
    def kubernetes(self) -> KubernetesVersion:
        """Return the version of Kubernetes."""
        return KubernetesVersion.parse(self.version)


def match_chart(name: str) -> re.Match[str] | None:
    """Return a match if a name is that of Karpenter's chart; its first group is set for the chart of the CRDs.

    Else None.
    """
    return re.fullmatch(_CHART, name)


def stated(about: About, text: str, path: str, line: int, by: str, weight: int = STATED) -> Evidence | None:
    """Return the evidence of a version text. None if it pins no release."""
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
    """Return evidence for a file that states a Karpenter release which cannot be determined.

    `written` is its text.
    """
    short = " ".join(written.split())
    shown = short if len(short) <= _LONGEST_TEXT else f"{short[:_LONGEST_TEXT]}..."
    return Evidence("karpenter", "", path, line, f"{by}, `{shown}`", NOT_KNOWN)


def _newest_within(text: str) -> Version | None:
    """Return the newest known release in a range with comparisons. None if it is not a range, or contains none."""
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
