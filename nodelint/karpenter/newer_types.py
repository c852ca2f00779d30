"""Values of requirements that no known instance type has, and that AWS may have added after the date of the facts."""

from __future__ import annotations

from collections.abc import Iterator

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.type_names import may_be_new
from nodelint.karpenter.images import unknown_fact
from nodelint.karpenter.labels import nearest_value, slips_of
from nodelint.karpenter.resolve.resolution import OLD_FACTS
from nodelint.model.gap import Gap
from nodelint.model.keys import FAMILY, INSTANCE_TYPE, SIZE
from nodelint.model.manifest import NodePool
from nodelint.model.messages import short


def list_perhaps_new(pool: NodePool, catalog: Catalog) -> Iterator[Gap]:
    """Yield a gap for each value of a NodePool that has the form of a new instance type, family or size, and is no
    misspelled known one.
    """
    for item, slips in slips_of(pool, catalog):
        if item.operator == "In" and item.key in (INSTANCE_TYPE, FAMILY, SIZE):
            for value in item.values:
                text = value.text if isinstance(value.text, str) else ""
                may_be = text in slips and may_be_new(item.key, text, catalog)
                if may_be and nearest_value(item.key, text, catalog) is None:
                    yield unknown_fact(value.node, f"`{short(text)}` {OLD_FACTS}")
