"""The names and SSM parameters under which EKS, Bottlerocket, Windows and Ubuntu images are published.

Such a name contains an image's architecture and variant, and often its pattern does as well. The schemes are in
`data/image_names.json`.
"""

from __future__ import annotations

import re

from nodelint.base.tuples import NamedTuple
from nodelint.data import table

VARIANTS = ("standard", "nvidia", "neuron", "windows")
"""The variants of published images, in the order in which they are listed."""

Match = tuple[str, tuple[str, ...], str | None]


def name_matches(pattern: str) -> list[Match]:
    """Return the published images that a name pattern of `amiSelectorTerms` (`*`, `?`) can find.

    One entry for each architecture: the architecture, the possible variants, and the family (None if several are
    possible). Empty if the pattern begins with no published scheme, so that custom images may fit it.
    """
    literal = re.split(r"[*?]", pattern, maxsplit=1)[0]
    if not literal.startswith(tuple(table("image_names")["prefixes"])):
        return []
    return _matches("names", pattern)


def canonical() -> str:
    """Return the AWS account of Canonical, which publishes Ubuntu's images for EKS."""
    return str(table("image_names")["canonical"])


class Mixture(NamedTuple):
    """The different kinds of published images that one name pattern finds.

    `kubernetes` is true if they are for several Kubernetes versions. `variants` are those of one architecture if it
    has several, else empty.
    """

    kubernetes: bool
    variants: tuple[str, ...]


def mixture(pattern: str, owner: str | None) -> Mixture | None:
    """Return the different kinds of published images that a name pattern finds. None if it finds only one kind.

    None if `owner` publishes no such images: the images are then custom ones, whatever their names.
    """
    facts = table("image_names")
    if (owner is not None and owner not in facts["owners"]) or not any(fact in pattern for fact in facts["prefixes"]):
        return None
    met = [glob for row in facts["names"] for glob in row["patterns"] if globs_meet(pattern, glob)]
    several = any(_minors(pattern, glob) > 1 for glob in met)
    by_arch = {arch: variants for arch, variants, _ in _matches("names", pattern)}
    mixed = next((variants for variants in by_arch.values() if "standard" in variants and len(variants) > 1), ())
    return Mixture(several, mixed) if several or mixed else None


def _minors(pattern: str, published: str) -> int:
    """Return the number of Kubernetes minor versions that a pattern can find in a published scheme: 0, 1, or 2 for
    two and more.
    """
    # The day or commit at the end of a name holds no version: it is what the pattern ends with, or anything else.
    named = published.rstrip("?")
    width = len(published) - len(named)
    tail = re.split(r"[*?]", pattern)[-1][-width:] if width else ""
    named += (tail if tail.isalnum() else "").rjust(width, "0")
    found = 0
    for minor in range(20, 60):
        found += globs_meet(pattern, named.replace("1.??", f"1.{minor}", 1))
        if found > 1:
            break
    return found


def parameter_matches(parameter: str) -> list[Match]:
    """Return the images whose ids AWS or Canonical publish under an SSM parameter with this path or ARN."""
    path = parameter
    if parameter.startswith("arn:"):
        _, found, rest = parameter.partition(":parameter/")
        path = f"/{rest}" if found else parameter
    return _matches("parameters", path)


def _matches(kind: str, pattern: str) -> list[Match]:
    by_arch: dict[str, tuple[list[str], set[str]]] = {}
    for row in table("image_names")[kind]:
        if any(globs_meet(pattern, published) for published in row["patterns"]):
            variants, family = by_arch.setdefault(row["arch"], ([], set()))
            variants += [variant for variant in row["variants"] if variant not in variants]
            family.add(row["family"])
    return [
        (arch, tuple(sorted(variants, key=VARIANTS.index)), min(found) if len(found) == 1 else None)
        for arch, (variants, found) in by_arch.items()
    ]


def globs_meet(glob: str, other: str) -> bool:
    """Return whether some text fits both patterns (`*` any text, `?` any one character).

    >>> globs_meet("amazon-eks-node-*", "amazon-eks-node-1.??-v*")
    True
    >>> globs_meet("amazon-eks-node-1.31-*", "amazon-eks-node-al2023-*")
    False
    """
    # Compare the common beginning first: most pairs differ in it.
    start = 0
    for a, b in zip(glob, other, strict=False):
        if a in "*?" or b in "*?":
            break
        if a != b:
            return False
        start += 1
    glob, other = glob[start:], other[start:]
    # Row by row from the end: row[j] is true if the rest of `glob` from i on can match the rest of `other` from j on.
    width = len(other)
    below: list[bool] = []
    for i in range(len(glob), -1, -1):
        row = [False] * (width + 1)
        for j in range(width, -1, -1):
            a = glob[i] if i < len(glob) else ""
            b = other[j] if j < width else ""
            if not a and not b:
                row[j] = True
            elif a == "*":
                row[j] = below[j] or (j < width and row[j + 1])
            elif b == "*":
                row[j] = row[j + 1] or (i < len(glob) and below[j])
            elif a and b and (a == b or a == "?" or b == "?"):
                row[j] = below[j + 1]
        below = row
    return below[0]
