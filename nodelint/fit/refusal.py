"""Why a NodePool refuses a pod, in the words of Karpenter's scheduler."""

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
"""The first release whose scheduler passes on 600 instance types instead of 60."""

VOLUME_CLASH = "incompatible volume requirements"


class PoolRefusal(NamedTuple):
    """Why a pool refuses a pod: a reason, Karpenter's message, and the nodes in pool and workload that cause it.

    `daemons` are the DaemonSets without which a type could run the pod; `port` is the host port that a DaemonSet uses
    and the pod needs. `for_certain`: existing nodes do not change the refusal. `explain` computes the details; it is
    called only for refusals that are shown.
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
        """Return Karpenter's message in at most 70 characters that include the deciding word."""
        taint = self.message.partition("(taint=")[2].rstrip(")")
        if self.reason == "taint" and taint:
            return f"the taint {short(taint, 50)} is not tolerated"
        text = self.message.removeprefix("incompatible requirements, ").partition(", resources=")[0]
        return short(text.replace("the scheduling requirements", "the requirements"), 70)

    @property
    def explanation(self) -> Explanation | None:
        """Return the details that Karpenter's message lacks; None if there are none."""
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
    """Return a refusal if the types, or the cheapest ones that Karpenter passes on, do not meet minValues.

    None if they meet them.
    """
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
    """Return the refusal for requirements that are incompatible with the existing ones (default: the pool's)."""
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
    """Return the known label that core suggests instead of a key that no pool has (`labelHint`); None if there is
    none.

    It is a label of Karpenter, then of the pool, that contains the key, has the same end, or differs little. Core's
    order is random; this returns the shortest.
    """
    end = key.rpartition("/")[2]
    for known in (pool.labels.known, pool.requirements.keys()):
        found = [
            label
            for label in known
            if key in label or differs_little(key, label) or (known is pool.labels.known and label.endswith(end))
        ]
        if found:
            return min(found, key=lambda label: (label.rpartition("/")[2] != end, len(label), label))
    return None


def differs_little(key: str, label: str) -> bool:
    """Return whether core takes a key for a misspelling of a label, because few characters differ."""
    most = len(label) // 5
    return most > 0 and abs(len(key) - len(label)) < most and distance(key, label, most) < most


def _requirement_text(requirement: Requirement) -> str:
    """Return a requirement as core prints it: key, operator and at most five values."""
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
    """Return resources in the form of a log: `{cpu: 500m, memory: 1Gi, pods: 1}`."""
    return (
        "{"
        + ", ".join(f"{name}: {quantities.format_quantity(name, requests[name])}" for name in sorted(requests))
        + "}"
    )
