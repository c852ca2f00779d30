"""Why a pool does not take a pod, in the words of Karpenter's scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING
from nodelint.ec2.type_set import TypeSet
from nodelint.fit.pod_terms import HostPort, LabelExpression
from nodelint.fit.pods import Daemon, Pod
from nodelint.fit.pools import EmptyPool
from nodelint.karpenter.spelling import distance
from nodelint.model import quantities
from nodelint.model.manifest_terms import Taint
from nodelint.model.messages import short
from nodelint.model.releases import Version
from nodelint.model.requirement import Requirement, Requirements, normalize
from nodelint.text import Node

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from nodelint.fit.lacking import Explanation
    from nodelint.karpenter.resolve.node_size import Resources

    Reason = Literal["taint", "requirements", "resources", "limits", "offering", "minValues", "static", "not-ready"]


MORE_TYPES = Version(1, 7, 0)
"""The first release whose scheduler hands on 600 types, not 60."""

VOLUME_CLASH = "incompatible volume requirements"


class PoolRefusal(NamedTuple):
    """Why a pool does not take a pod: one word, Karpenter's text, and where pool and workload say so, if they do.

    `daemons` are the DaemonSets without which some type of the pool would take it, `port` the port of the node that
    the pod needs and one of them has taken. `for_certain`: nodes that are there already change nothing about it.
    `explain` works out what exactly lacks or clashes: few refusals are shown.
    """

    reason: Reason
    message: str
    at_pool: Node | None = None
    at_workload: Node | None = None
    daemons: tuple[Daemon, ...] = ()
    port: HostPort | None = None
    for_certain: bool = True
    explain: Callable[[], Explanation | None] | None = None

    @property
    def brief(self) -> str:
        """Karpenter's text in at most 70 characters, the deciding word in it."""
        taint = self.message.partition("(taint=")[2].rstrip(")")
        if self.reason == "taint" and taint:
            return f"the taint {short(taint, 50)} is not tolerated"
        text = self.message.removeprefix("incompatible requirements, ").partition(", resources=")[0]
        return short(text, 70)

    @property
    def explanation(self) -> Explanation | None:
        """What exactly lacks or clashes, where Karpenter's text does not say it."""
        return self.explain() if self.explain is not None else None


FILTERED_OUT = "nodepool requirements filtered out all available instance types"


def limits_refusal(pool: EmptyPool) -> PoolRefusal | None:
    if pool.allowed and not pool.exhausted:
        return None
    at = pool.pool.find_field("spec", "limits") or pool.pool.name_node
    if pool.exhausted:
        return PoolRefusal("limits", "node limits have been exhausted for nodepool", at)
    return PoolRefusal("limits", "all available instance types exceed limits for nodepool", at)


def too_few_types(pool: EmptyPool, types: TypeSet) -> PoolRefusal | None:
    """Whether minValues are not met by the types left, or by the cheapest of them that are handed on."""
    resolution = pool.resolution
    if not resolution.min_values:
        return None
    key = pool.unmet_among(types)
    if key is None:
        most = 600 if pool.release >= MORE_TYPES else resolution.most_launched
        key = pool.unmet_among(resolution.prices.cheapest(types, most)) if len(types) > most else None
    if key is None:
        return None
    text = f"minValues requirement is not met for label(s) (label(s)={key})"
    return PoolRefusal("minValues", text, pool.pool.requirements_node)


def taint_refusal(taint: Taint, pod: Pod) -> PoolRefusal:
    value = f"={taint.value}" if isinstance(taint.value, str) and taint.value else ""
    shown = f"{taint.key}{value}:{taint.effect}"
    return PoolRefusal("taint", f"did not tolerate taint (taint={shown})", taint.node, pod.node.get("tolerations"))


def clash_refusal(
    key: str,
    requirements: Requirements,
    pool: EmptyPool,
    expressions: Sequence[LabelExpression],
    existing: Requirements | None = None,
) -> PoolRefusal:
    """Return the refusal of requirements that exclude existing ones: the pool's, or those of pool and pod."""
    at = next((expression.node for expression in expressions if normalize(expression.key) == key), None)
    existing = existing if existing is not None else pool.requirements
    if key not in existing:
        near = label_hint(key, pool)
        hint = f' (typo of "{near}"?)' if near is not None else ""
        text = f'incompatible requirements, label "{key}" does not have known values{hint}'
        return PoolRefusal("requirements", text, None, at)

    def explain() -> Explanation | None:
        from nodelint.fit.lacking import explain_label_clash

        return explain_label_clash(expressions, key, pool)

    line = next((effect for effect in pool.resolution.lines if normalize(effect.key) == key), None)
    text = f"key {key}, {_requirement_text(requirements[key])} not in {_requirement_text(existing[key])}"
    return PoolRefusal(
        "requirements", f"incompatible requirements, {text}", line.node if line else None, at, explain=explain
    )


def label_hint(key: str, pool: EmptyPool) -> str | None:
    """Return the label that is taken for the one meant where a pool has none of a key: `labelHint` of core.

    The first of Karpenter's own labels, then of the pool's, that holds the key, ends alike, or differs little. Core
    goes through them in no order; of several the shortest is named.
    """
    end = key.rpartition("/")[2]
    for known in (pool.known, pool.requirements.keys()):
        found = [
            label
            for label in known
            if key in label or _differs_little(key, label) or (known is pool.known and label.endswith(end))
        ]
        if found:
            return min(found, key=lambda label: (label.rpartition("/")[2] != end, len(label), label))
    return None


def _differs_little(key: str, label: str) -> bool:
    most = len(label) // 5
    return most > 0 and abs(len(key) - len(label)) < most and distance(key, label, most) < most


def _requirement_text(requirement: Requirement) -> str:
    """Return a requirement as core prints it: the key, the operator and at most five values."""
    words = [requirement.key, requirement.operator]
    values = sorted(requirement.values)
    if values:
        more = f" and {len(values) - 5:,} others" if len(values) > 5 else ""
        words.append(f"[{' '.join(values[:5])}{more}]")
    if requirement.greater_equal is not None:
        words.append(f">={requirement.greater_equal}")
    if requirement.less_equal is not None:
        words.append(f"<={requirement.less_equal}")
    return " ".join(words)


def shown_requests(requests: Resources) -> str:
    """Amounts of resources in the form of a log: `{cpu: 500m, memory: 1Gi, pods: 1}`."""
    return (
        "{"
        + ", ".join(f"{name}: {quantities.format_quantity(name, requests[name])}" for name in sorted(requests))
        + "}"
    )
