"""A NodePool with a suggested change, so that the suggestion can be checked before it is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from nodelint.base.tuples import NamedTuple
from nodelint.fit.attempt import Surroundings
from nodelint.fit.daemon_groups import DaemonGroup
from nodelint.fit.pod_terms import LabelExpression, Toleration
from nodelint.fit.pods import Pod
from nodelint.fit.pools import EmptyPool
from nodelint.fit.verdict import judge_mended
from nodelint.karpenter.resolve import resolve_as
from nodelint.karpenter.resolve.effects import LineEffect
from nodelint.model.manifest_terms import Label, RequirementLine, Taint, Value

_NO_LINES: Mapping[int, RequirementLine | None] = MappingProxyType({})


class LineChange(NamedTuple):
    """A change of a requirement in words, and the changed requirement; None if it is removed."""

    text: str
    line: RequirementLine | None


def with_value(line: LineEffect, value: str) -> RequirementLine | None:
    """Return a requirement with one more value; None for a template label."""
    at = line.at
    return None if isinstance(at, Label) else at._replace(values=(*at.values, Value(value, at.node)))


def without_value(line: LineEffect, value: str) -> RequirementLine | None:
    """Return a requirement without a value; None if it has no other value."""
    at = line.at
    left = () if isinstance(at, Label) else tuple(item for item in at.values if item.text != value)
    return at._replace(values=left) if isinstance(at, RequirementLine) and left else None


def with_bound(line: LineEffect, bound: int) -> RequirementLine | None:
    """Return a requirement with another bound; None for a template label."""
    at = line.at
    return None if isinstance(at, Label) else at._replace(values=(Value(str(bound), at.node),))


def change_pool(
    pool: EmptyPool,
    lines: Mapping[int, RequirementLine | None] = _NO_LINES,
    labels: Iterable[LabelExpression] = (),
) -> EmptyPool:
    """Return a pool with changed requirements and more labels. `lines` are by the ids of the requirements' nodes."""
    from copy import copy

    twin = copy(pool.pool)
    twin._known = {}
    requirements = (lines.get(id(line.node), line) for line in pool.pool.requirements)
    twin.requirements = tuple(line for line in requirements if line is not None)
    at = pool.pool.name_node
    more = (Label(at, at, expression.key, expression.values[0]) for expression in labels)
    twin.template_labels = (*pool.pool.template_labels, *more)
    changed = EmptyPool(resolve_as(pool.resolution, twin), pool.policies)
    changed.beside = pool.beside
    return changed


def without_limits(pool: EmptyPool) -> EmptyPool:
    """Return a pool without its limits."""
    changed = EmptyPool(pool.resolution, pool.policies)
    changed.beside, changed.limits = pool.beside, {}
    return changed


def tolerate(pod: Pod, taints: Iterable[Taint]) -> Pod:
    """Return a pod that also tolerates these taints."""
    more = (Toleration(str(taint.key), "Exists", "", str(taint.effect)) for taint in taints)
    return pod._replace(tolerations=(*pod.tolerations, *more))


def list_untolerated(pod: Pod, pool: EmptyPool) -> list[Taint]:
    """Return the taints of a pool that a pod does not tolerate."""
    found: list[Taint] = []
    while (taint := pool.taints.untolerated(tolerate(pod, found).tolerations, soft=False)) is not None:
        found.append(taint)
    return found


def most_of_daemons(surroundings: Surroundings) -> dict[str, int]:
    """Return the most of each resource that DaemonSets request on any type, in billionths (1e-9).

    It is used for types whose DaemonSets are not known.
    """
    most: dict[str, int] = {}
    for group in surroundings.daemons:
        for resource, amount in group.requests.items():
            most[resource] = max(amount, most.get(resource, 0))
    return most


def takes(pod: Pod, pool: EmptyPool, surroundings: Surroundings, resource: str | None = None) -> bool:
    """Return whether the pool accepts the pod, with all known DaemonSets on each type, if it could launch nodes.

    Requests for `resource` do not count: the suggested change provides enough.
    """
    most = most_of_daemons(surroundings)
    daemons = {id(daemon): daemon for group in surroundings.daemons for daemon in group.daemons}
    if resource is not None:
        most.pop(resource, None)
        pod = pod._replace(requests={name: n for name, n in pod.requests.items() if name != resource})
    group = DaemonGroup(pool.candidates, most, tuple(daemons.values()))
    return judge_mended(pod, pool, [group], volumes=surroundings.volumes).fits


def say_blocker(pool: EmptyPool) -> str:
    """Return the other change that the pool needs before it launches nodes, as the end of a sentence; else ""."""
    if pool.blocker is None:
        return ""
    obj, problem = pool.blocker
    return f" once nodes can be launched with {obj.label}: {problem.message}"
