"""State how long releases of Karpenter, and versions of Kubernetes on EKS, are supported.

The facts are in `data/support.json`. Days are counted from 1970-01-01 without loading datetime, because imports take
most of the time of a check of one file.
"""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.model.releases import KubernetesVersion, Version

_MONTHS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


class EksSupport(NamedTuple):
    """The last days of EKS's standard and extended support for a Kubernetes version, such as `2026-12-02`."""

    standard: str
    extended: str


def day_number(day: str) -> int:
    """Return the number of days from 1970-01-01 to a day such as `2026-10-23`.

    A month such as `2027-07` means its last day.
    """
    year, month, *rest = (int(part) for part in day.split("-"))
    if not rest:
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        return day_number(f"{year}-{month}-1") - 1
    leaps = (year if month > 2 else year - 1) // 4 - (1969 // 4)
    return (year - 1970) * 365 + leaps + _MONTHS[month - 1] + rest[0] - 1


def karpenter_support(release: Version) -> str | None:
    """Return the end of support of a release's minor version: a day or a month. None if it is not known."""
    minor = f"{release.major}.{release.minor}"
    found = [row["until"] for row in table("support")["releases"] if row["minor"] == minor]
    return found[0] or None if found else None


def supported_minors(today: int) -> list[str]:
    """Return the minor versions of Karpenter that are supported on a day, oldest first.

    Long-term ones end in `(LTS)`.
    """
    rows = table("support")["releases"]
    return [
        row["minor"] + (" (LTS)" if row["lts"] else "")
        for row in rows
        if not row["until"] or day_number(row["until"]) >= today
    ]


def eks_support(kubernetes: KubernetesVersion) -> EksSupport | None:
    """Return how long EKS supports a version of Kubernetes. None if it is not known."""
    for row in table("support")["eks"]:
        if KubernetesVersion.parse(row["minor"]) == kubernetes:
            return EksSupport(row["standard"], row["extended"])
    return None
