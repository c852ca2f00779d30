"""The kinds of facts that only AWS knows."""

from __future__ import annotations

from typing import Literal, get_args

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
]
"""What can be asked about. Each is a question of its own to AWS, and a permission of its own."""

FACT_KINDS: tuple[FactKind, ...] = get_args(FactKind)
