"""Facts about the alias families: their releases, versions and images, and which instance types each image suits.

The facts are in `data/images.json`, which was read from the source of every release.
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
    """Return the origin of the image facts, and the date on which they were read."""
    return table("images")["origin"], table("images")["date"]


def families(release: Version | None = None, kubernetes: KubernetesVersion | None = None) -> tuple[str, ...]:
    """Return the alias families. With a release, only those of the release; with a Kubernetes version, only those
    with images for that version.
    """
    return tuple(
        name
        for name, family in alias_families().items()
        if (release is None or releases_match(family["releases"], release))
        and (kubernetes is None or not family["kubernetes"] or kubernetes_match(family["kubernetes"], kubernetes))
    )


def family_title(family: str) -> str:
    """Return the title of an alias family: `Amazon Linux 2023` for `al2023`."""
    title: str = alias_families()[family]["title"]
    return title


def ami_family_of(family: str) -> str:
    """Return the amiFamily of an alias family: `AL2023` for `al2023`."""
    field: str = alias_families()[family]["amiFamily"]
    return field


def successor_of(family: str) -> str | None:
    """Return the alias family that replaces another: `al2023` for `al2`. None if there is none."""
    successor: str | None = alias_families().get(family, {}).get("successor")
    return successor


def ended(ami_family: str) -> tuple[str, str, str | None] | None:
    """Return the name of an amiFamily's operating system, the last day of its updates, and the amiFamily of its
    successor.

    None if the operating system still gets updates. The successor is None if there is none.
    """
    for family in alias_families().values():
        if family["amiFamily"] == ami_family and "ended" in family:
            after = family.get("successor")
            return family["title"], family["ended"], ami_family_of(after) if after else None
    return None


def family_example(family: str, kubernetes: KubernetesVersion | None = None) -> str:
    """Return an example of an alias of a family: with its newest known version, such as `al2023@v20260714`, else with
    the first version that has an image for the Kubernetes version, else the example of the data.
    """
    version = newest_known(family, kubernetes) or (kubernetes and first_for(family, kubernetes))
    example: str = f"{family}@{version}" if version else alias_families()[family]["example"]
    return example


def newest_known(family: str, kubernetes: KubernetesVersion | None = None) -> str | None:
    """Return the newest alias version in the data that has an image for a Kubernetes version, or for any if that is
    None.

    None if the data has none, or if `family` is not an alias family.
    """
    row = alias_families().get(family, {})
    if "newest" not in row or (kubernetes is not None and not kubernetes_match(row["newestFor"], kubernetes)):
        return None
    newest: str = row["newest"]
    return newest


def first_for(family: str, kubernetes: KubernetesVersion) -> str | None:
    """Return the first version of an alias family that has images for a Kubernetes version.

    None if it is not known.
    """
    found: str | None = alias_families().get(family, {}).get("first", {}).get(str(kubernetes))
    return found


def version_order(version: str) -> tuple[int, ...] | None:
    """Return a sort key that orders pinned versions of one alias family by age. None for `latest` and for an invalid
    date.
    """
    bare = version.removeprefix("v").partition("-")[0]
    numbers = tuple(int(part) for part in bare.split(".") if part.isdigit())
    if re.fullmatch(r"\d{8}", bare):
        month, day = int(bare[4:6]), int(bare[6:])
        longest = 29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31
        return numbers if 1 <= month <= 12 and 1 <= day <= longest else None
    return numbers if len(numbers) == 3 else None


def published_by(family: str | None, version: str) -> str | None:
    """Return a day, such as `2024-08-07`, on which or before which an image of a version was published. None if it is
    not known.
    """
    dated = re.search(r"(?<!\d)v?(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)", version)
    if dated is not None:
        return "-".join(dated.groups())
    days = alias_families().get(family or "", {}).get("dated")
    numbers = re.search(r"(?<![\d.])v?(\d+\.\d+\.\d+)(?![\d.])", version) if days else None
    if numbers is None:
        return None
    return next((day for last, day in days if Version.parse(numbers[1]) <= Version.parse(last)), None)


def alias_version_valid(alias: Alias) -> bool:
    """Return whether the version of an alias has a form that published images of the family have."""
    return re.fullmatch(alias_families()[alias.family]["versions"], alias.version) is not None


def alias_images(family: str, release: Version, alias_version: str = "latest") -> list[tuple[str, tuple[str, ...]]]:
    """Return the architecture and the variants of each image of an alias in a release. Raise KeyError if `family` is
    not an alias family.
    """
    return [(row["arch"], tuple(row["variants"])) for row in alias_rows(family, release, alias_version)]


def first_published(family: str, arch: str, variant: str) -> str | None:
    """Return the first alias version that has an image for an architecture and variant. None if every version has
    one, or if none has.
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
    """Return the first release, from `oldest` on, in which an alias has an image for an architecture and variant.
    None if no release has.
    """
    for release in RELEASES:
        if release >= oldest and any(a == arch and variant in v for a, v in alias_images(family, release)):
            return release
    return None


def excluded_prefix(ami_family: str | None, release: Version) -> str | None:
    """Return the prefix of the instance types that the controller of a release excludes for an AMI family. None if it
    excludes none.
    """
    for family in alias_families().values():
        excludes = family.get("excludes")
        if family["amiFamily"] == ami_family and excludes and releases_match(excludes["releases"], release):
            prefix: str = excludes["prefix"]
            return prefix
    return None


@cache
def variant_requirements(variant: str, release: Version) -> tuple[Requirement, ...]:
    """Return the requirements of a variant of an alias's image on instance types in a release, except the
    architecture.

    Empty for Windows images, which require an operating system and build instead. Raise KeyError if the data has no
    variants for the release.
    """
    for row in table("images")["variants"]:
        if releases_match(row["releases"], release):
            return tuple(Requirement.parse(key, operator) for key, operator in row.get(variant, ()))
    raise KeyError(variant)


def of_arch(arch: str) -> Requirements:
    """Return the requirements of an image for an architecture on instance types."""
    return Requirements([Requirement.parse(ARCH, "In", (arch,))])


def devices_of(ami_family: str | None) -> tuple[str, str | None] | None:
    """Return the device name of an AMI family's root volume, and that of its data volume (images and pods; None if it
    has none).

    None for a family that is not in the data.
    """
    found = table("volumes")["devices"].get(ami_family)
    return None if found is None else (found["root"], found.get("data"))


def default_gib() -> int:
    """Return the size in GiB that Karpenter gives the data volume if the class has no block device mappings."""
    return int(table("volumes")["defaultGiB"])


def system_gib(ami_family: str) -> int:
    """Return the size in GiB that Karpenter gives the root volume of an AMI family if the class has no block device
    mappings.
    """
    found = table("volumes")["devices"][ami_family]
    return int(found.get("rootGiB", default_gib()))


def performance_cost(volume_type: str, iops: int, throughput: int) -> float | None:
    """Return the US dollars a month, in us-east-1, for the IOPS and MiB/s of a volume that its price does not
    include.

    None if the volume type has no price for IOPS.
    """
    price = table("volumes")["prices"].get(volume_type)
    if not isinstance(price, dict):
        return None
    cost = max(iops - price["freeIops"], 0) * price["iops"]
    if "throughput" in price:
        cost += max(throughput - price["freeThroughput"], 0) * price["throughput"]
    return float(cost)
