"""The NodePools that get other images with newer AWS facts: their nodes drift."""

from __future__ import annotations

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import NodePool, served
from nodelint.plan.selector_drift import moved_images
from nodelint.rule.context import Context

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nodelint.ec2.facts import AwsFacts
    from nodelint.model.manifest import Object
    from nodelint.rule.target import Target


class ImageMove(NamedTuple):
    """A NodePool whose nodes may get other images, with the name of its class.

    `moves` counts the instance types by their old and new image; the new one is empty if there is none. None if not
    every image is known.
    """

    pool: NodePool
    node_class: str
    moves: Mapping[tuple[str, str], int] | None


def find_image_moves(
    pools: Sequence[Object], around: Sequence[Object], facts: tuple[AwsFacts, AwsFacts], target: Target
) -> Iterator[ImageMove]:
    """Yield the NodePools that get other images with the second of two AWS facts.

    `around` are all objects to which pools may refer.
    """
    contexts: dict[object, list[Context]] = {}
    for pool in pools:
        if not isinstance(pool, NodePool) or not (releases := target.for_object(pool)):
            continue
        latest = releases[-1]  # of several releases the newest: nodes run under one
        if not served(pool, latest.karpenter):
            continue
        if latest.releases not in contexts:
            contexts[latest.releases] = [Context(around, latest._replace(facts=known)) for known in facts]
        before, after = (context.resolution(pool) for context in contexts[latest.releases])
        if before.node_class is None:
            continue
        moves = moved_images(before, after)
        if moves is None or moves:
            yield ImageMove(pool, str(before.node_class.name), moves)
