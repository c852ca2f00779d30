"""Name the kinds of facts that only AWS knows."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    FactKind = Literal[
        "instance-types",
        "offerings",
        "images",
        "parameters",
        "subnets",
        "security-groups",
        "capacity-reservations",
        "placement-groups",
        "instance-profiles",
        "roles",
        "volume-encryption",
        "prices",
        "spot-prices",
    ]
    """A kind of fact. Each kind needs a separate request to AWS, with a separate permission."""
else:
    FactKind = str

PRICE_KINDS: tuple[FactKind, ...] = ("prices", "spot-prices")
"""Kinds that no rule needs: without them, the prices bundled with nodelint are used."""

FACT_KINDS: tuple[FactKind, ...] = (
    "instance-types",
    "offerings",
    "images",
    "parameters",
    "subnets",
    "security-groups",
    "capacity-reservations",
    "placement-groups",
    "instance-profiles",
    "roles",
    "volume-encryption",
    "prices",
    "spot-prices",
)
