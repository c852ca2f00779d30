"""The instance types that EKS Auto Mode never launches."""

from __future__ import annotations

from nodelint.base.types import TYPE_CHECKING
from nodelint.data import table
from nodelint.ec2.type_set import TypeSet, union
from nodelint.model.keys import CPU, FAMILY, HYPERVISOR, SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodelint.ec2.catalog import Catalog
    from nodelint.model.manifest import NodePool


def list_left_out_types(view: Catalog) -> list[tuple[TypeSet, str]]:
    """Return the types that EKS Auto Mode does not launch, each set with the reason."""
    return [
        (_not_listed(view), not_listed()),
        (_too_small(view), "EKS Auto Mode launches types with 2 or more CPUs, from `medium` on"),
    ]


def _too_small(view: Catalog) -> TypeSet:
    """Return the types that are too small for EKS Auto Mode."""
    facts = table("auto_mode")
    few = union(types for value, types in view.values(CPU).items() if int(value) < facts["least_cpus"])
    return few | view.having_value(SIZE, *facts["sizes_left_out"])


def not_listed() -> str:
    """Return why EKS Auto Mode launches no type of certain families."""
    return f"AWS's list of types for EKS Auto Mode has no such family ({table('auto_mode')['families_date']})"


def _not_listed(view: Catalog) -> TypeSet:
    """Return the types of families that EKS Auto Mode does not launch: those that AWS lists as such, and those with
    the Xen hypervisor that AWS does not list as launched.

    A family that is newer than the list is not returned.
    """
    facts = table("auto_mode")
    old = view.having_value(HYPERVISOR, "xen") - view.having_value(FAMILY, *facts["families"])
    return old | view.having_value(FAMILY, *facts["families_left_out"])


def sizes_left_out(pool: NodePool) -> Sequence[str]:
    """Return the instance sizes that a pool never launches. Empty except for EKS Auto Mode."""
    sizes: Sequence[str] = table("auto_mode")["sizes_left_out"] if pool.provider == "auto-mode" else ()
    return sizes
