"""The instance types of each NodePool before and after a migration between Karpenter and EKS Auto Mode."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.migrate import is_of_other_side
from nodelint.model.manifest import NodePool

if TYPE_CHECKING:
    from nodelint.inventory import Inventory
    from nodelint.migrate import MoveTarget
    from nodelint.model.releases import Version


class PoolTypes(NamedTuple):
    """The instance types of a pool before and after a migration.

    The types are None if they are not known; `reason` says why.
    """

    pool: str
    before: frozenset[str] | None
    after: frozenset[str] | None
    reason: str = ""

    @property
    def lost(self) -> list[str]:
        """Return the types that the pool can launch only before the migration; empty if the types are not known."""
        return sorted((self.before or frozenset()) - (self.after or frozenset())) if self.is_known else []

    @property
    def gained(self) -> list[str]:
        """Return the types that the pool can launch only after the migration; empty if the types are not known."""
        return sorted((self.after or frozenset()) - (self.before or frozenset())) if self.is_known else []

    @property
    def is_known(self) -> bool:
        """Return whether the types before and after the migration are known."""
        return self.before is not None and self.after is not None


def list_types(before: Inventory, after: Inventory, release: Version, target: MoveTarget) -> list[PoolTypes]:
    """Return the instance types of each migrated pool, before and after the migration."""

    def pools_of(inventory: Inventory) -> list[NodePool]:
        return [obj for obj in inventory.objects(foreign=True) if isinstance(obj, NodePool)]

    old, new = pools_of(before), pools_of(after)
    if len(old) != len(new):
        return []
    found = []
    for a, b in zip(old, new, strict=True):
        if is_of_other_side(a, target) and not a.partial:
            reason = _why_unknown(a)
            types = None if reason else _types(a, release)
            found.append(PoolTypes(a.label, types, None if reason else _types(b, release), reason))
    return found


def _why_unknown(pool: NodePool) -> str:
    """Return why the instance types of a pool are not known; empty if they are known."""
    if any(not line.known for line in pool.requirements):
        return "a requirement holds a value that is not known"
    where = pool.requirements_node
    if where is not None and any(item.kind != "mapping" for item in where.items):
        return "a requirement is not known"
    return ""


def _types(pool: NodePool, release: Version) -> frozenset[str]:
    """Return the instance types that meet a pool's requirements; images are not considered."""
    from nodelint.ec2.catalog import Catalog
    from nodelint.karpenter.resolve import resolve

    catalog = Catalog.bundled()
    found = resolve(pool, None, catalog, release)
    return frozenset(catalog.for_release(release).names_in(found.candidates))
