"""Capacity that may accept pods besides the NodePools of a run: node groups, unjudged pools and unread files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.fit.ignored import OWN_DOMAINS
from nodelint.fit.pods import Pod
from nodelint.fit.pools import EmptyPool
from nodelint.fit.unjudged import may_take
from nodelint.karpenter.images import unknown_fact
from nodelint.model.gap import Gap
from nodelint.model.manifest import NodePool
from nodelint.model.releases import Version
from nodelint.model.requirement import well_known


class OtherCapacity(NamedTuple):
    """Capacity that may accept pods besides the pools of a run.

    `node_groups` are texts that define node groups. `unread` is a text that could not be read and may define a pool.
    `unjudged` are pools of which only a part is known. `built_in` are the pools that EKS Auto Mode creates.
    """

    node_groups: Sequence[str] = ()
    unread: Gap | None = None
    unjudged: Sequence[NodePool] = ()
    built_in: Sequence[EmptyPool] = ()

    def find_pool(self, pod: Pod, release: Version, takes: Callable[[EmptyPool], bool]) -> Gap | None:
        """Return a reason why a pool besides those of the run may accept a pod. None if there is no such pool.

        `takes` decides whether a built-in pool accepts the pod.
        """
        if self.unread is not None:
            return unknown_fact(
                pod.node,
                f"a pool may stand in what cannot be read: {self.unread.file_place}: {self.unread.sentence}",
            )
        other = next((pool for pool in self.unjudged if may_take(pool, pod, release)), None)
        if other is not None:
            return unknown_fact(other.name_node, f"{other.label} is not judged, and may take it")
        for pool in self.built_in:
            if takes(pool):
                what = f"NodePool/{pool.name}, built into EKS Auto Mode, takes it unless the cluster turns it off"
                return unknown_fact(pod.node, what)
        return None

    def may_have_group_for(self, pod: Pod, release: Version) -> bool:
        """Return whether a node group's text contains all labels that a required term of the pod selects.

        Labels of Karpenter are only on Karpenter's nodes. Labels that every node has are skipped.
        """
        for text in self.node_groups:
            for term in pod.terms or (None,):
                expressions = (*pod.selector, *(term.expressions if term is not None else ()))
                own = [expression for expression in expressions if expression.key.partition("/")[0] in OWN_DOMAINS]
                if not any(expression.operator not in ("NotIn", "DoesNotExist") for expression in own) and all(
                    expression.key in well_known(release)
                    or expression.operator in ("NotIn", "DoesNotExist")
                    or expression.key in text
                    for expression in expressions
                ):
                    return True
        return False


NO_OTHER_CAPACITY = OtherCapacity()
