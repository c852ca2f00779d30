"""What the data says of alias families: their releases, versions and images, and for whom each image is.

`data/images.json` holds it, read from the source of every release.
"""

from __future__ import annotations

import re
from functools import cache

from nodelint.data import table
from nodelint.ec2.questions import alias_families, alias_rows
from nodelint.model.keys import ARCH
from nodelint.model.manifest_terms import Alias
from nodelint.model.releases import RELEASES, KubernetesVersion, Version, kubernetes_match, releases_match
from nodelint.model.requirement import Requirement, Requirements


def provenance() -> tuple[str, str]:
    """Return where the image facts are from, and the date of what was read."""
    return table("images")["origin"], table("images")["date"]


def families(release: Version | None = None, kubernetes: KubernetesVersion | None = None) -> tuple[str, ...]:
    """Return the alias families, of one release and with images for one Kubernetes version where these are given."""
    return tuple(
        name
        for name, family in alias_families().items()
        if (release is None or releases_match(family["releases"], release))
        and (kubernetes is None or not family["kubernetes"] or kubernetes_match(family["kubernetes"], kubernetes))
    )


def family_title(family: str) -> str:
    """Return `Amazon Linux 2023` for `al2023`."""
    title: str = alias_families()[family]["title"]
    return title


def ami_family_of(family: str) -> str:
    """Return the amiFamily that goes with an alias family: `AL2023` for `al2023`."""
    field: str = alias_families()[family]["amiFamily"]
    return field


def successor_of(family: str) -> str | None:
    """Return the alias family that takes the place of one that ends: `al2023` for `al2`."""
    successor: str | None = alias_families().get(family, {}).get("successor")
    return successor


def ended(ami_family: str) -> tuple[str, str, str | None] | None:
    """Return, for an amiFamily whose system gets no updates any more, its name, the last day, and the amiFamily after
    it.
    """
    for family in alias_families().values():
        if family["amiFamily"] == ami_family and "ended" in family:
            after = family.get("successor")
            return family["title"], family["ended"], ami_family_of(after) if after else None
    return None


def family_example(family: str, kubernetes: KubernetesVersion | None = None) -> str:
    """Return an alias of the family in a form that its releases take, and with an image for the Kubernetes version.

    That is the newest version that is known, such as `al2023@v20260714`; of a family without one, any.
    """
    version = newest_known(family, kubernetes) or (kubernetes and first_for(family, kubernetes))
    example: str = f"{family}@{version}" if version else alias_families()[family]["example"]
    return example


def newest_known(family: str, kubernetes: KubernetesVersion | None = None) -> str | None:
    """Return the newest alias version that the data knows for a Kubernetes version (any, where that is not known).

    None for no alias family.
    """
    row = alias_families().get(family, {})
    if "newest" not in row or (kubernetes is not None and not kubernetes_match(row["newestFor"], kubernetes)):
        return None
    newest: str = row["newest"]
    return newest


def first_for(family: str, kubernetes: KubernetesVersion) -> str | None:
    """Return the first version of an alias family whose images are for a Kubernetes version.

    None if it is not known.
    """
    found: str | None = alias_families().get(family, {}).get("first", {}).get(str(kubernetes))
    return found


def version_order(version: str) -> tuple[int, ...] | None:
    """Return what sorts pinned versions of one alias family by age; None for `latest`, and where a date is none."""
    bare = version.removeprefix("v").partition("-")[0]
    numbers = tuple(int(part) for part in bare.split(".") if part.isdigit())
    if re.fullmatch(r"\d{8}", bare):
        month, day = int(bare[4:6]), int(bare[6:])
        longest = 29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
        return numbers if 1 <= month <= 12 and 1 <= day <= longest else None
    return numbers if len(numbers) == 3 else None


def published_by(family: str | None, version: str) -> str | None:
    """Return a day by which an image of a version was published, as `2024-08-07`; None if the data does not tell."""
    dated = re.search(r"(?<!\d)v?(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)", version)
    if dated is not None:
        return "-".join(dated.groups())
    days = alias_families().get(family or "", {}).get("dated")
    numbers = re.search(r"(?<![\d.])v?(\d+\.\d+\.\d+)(?![\d.])", version) if days else None
    if numbers is None:
        return None
    return next((day for last, day in days if Version.parse(numbers[1]) <= Version.parse(last)), None)


def alias_version_valid(alias: Alias) -> bool:
    """Whether the version of an alias has a form under which images of the family are published."""
    return re.fullmatch(alias_families()[alias.family]["versions"], alias.version) is not None


def alias_images(family: str, release: Version, alias_version: str = "latest") -> list[tuple[str, tuple[str, ...]]]:
    """Return architecture and variants of each image of an alias in a release. KeyError for no alias family."""
    return [(row["arch"], tuple(row["variants"])) for row in alias_rows(family, release, alias_version)]


def first_published(family: str, arch: str, variant: str) -> str | None:
    """Return the alias version from which an image for an architecture and variant is published; None for all
    versions.
    """
    for image in alias_families()[family]["images"]:
        if image["arch"] == arch and variant in image["variants"] and "published" in image:
            version: str = image["published"]
            return version
    return None


def aliases_with(
    arch: str, variant: str, release: Version, kubernetes: KubernetesVersion | None = None
) -> tuple[str, ...]:
    """Return the Linux alias families that have an image for an architecture and variant."""
    return tuple(
        family
        for family in families(release, kubernetes)
        if any(arch == its_arch and variant in variants for its_arch, variants in alias_images(family, release))
    )


def image_since(family: str, arch: str, variant: str, oldest: Version) -> Version | None:
    """Return the first release from `oldest` on in which an alias has an image for an architecture and variant."""
    for release in RELEASES:
        if release >= oldest and any(a == arch and variant in v for a, v in alias_images(family, release)):
            return release
    return None


def excluded_prefix(ami_family: str | None, release: Version) -> str | None:
    """Return how the names of instance types begin that a family does not boot, where the release knows of it."""
    for family in alias_families().values():
        excludes = family.get("excludes")
        if family["amiFamily"] == ami_family and excludes and releases_match(excludes["releases"], release):
            prefix: str = excludes["prefix"]
            return prefix
    return None


@cache
def variant_requirements(variant: str, release: Version) -> tuple[Requirement, ...]:
    """Return what a variant of an alias's image requires of an instance type in a release, except the architecture.

    Empty for Windows images, which require an operating system and build instead. Raise KeyError for a release whose
    variants are not known.
    """
    for row in table("images")["variants"]:
        if releases_match(row["releases"], release):
            return tuple(Requirement.parse(key, operator) for key, operator in row.get(variant, ()))
    raise KeyError(variant)


def of_arch(arch: str) -> Requirements:
    """Return what an image for an architecture asks of an instance type."""
    return Requirements([Requirement.parse(ARCH, "In", (arch,))])


def devices_of(ami_family: str | None) -> tuple[str, str | None] | None:
    """Return the device of a family's root volume, and that of a volume for images and pods; None for other
    families.
    """
    found = table("volumes")["devices"].get(ami_family)
    return None if found is None else (found["root"], found.get("data"))


def default_gib() -> int:
    """Return the size that Karpenter gives the volume for images and pods where a class maps none."""
    return int(table("volumes")["defaultGiB"])


def system_gib(ami_family: str) -> int:
    """Return the size that Karpenter gives a family's root volume where a class maps none."""
    found = table("volumes")["devices"][ami_family]
    return int(found.get("rootGiB", default_gib()))


def performance_cost(volume_type: str, iops: int, throughput: int) -> float | None:
    """US dollars a month, in us-east-1, for the IOPS and MiB/s of a volume beyond those that its price holds."""
    price = table("volumes")["prices"].get(volume_type)
    if not isinstance(price, dict):
        return None
    cost = max(iops - price["freeIops"], 0) * price["iops"]
    if "throughput" in price:
        cost += max(throughput - price["freeThroughput"], 0) * price["throughput"]
    return float(cost)
