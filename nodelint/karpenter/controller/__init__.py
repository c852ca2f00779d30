"""Checks that Karpenter's controller makes after the API server has accepted an object.

The facts are those of the Karpenter core from which the AWS provider 1.0.0 to 1.14.1 is built: its `RuntimeValidate`
of a NodePool, the restricted labels, how it reads budgets and limits, and how it decodes JSON into Go values. Objects
that the API server refuses get no second report. Values with a placeholder are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nodelint.data import table
from nodelint.karpenter.controller.auto_mode import auto_mode_label, every_type_has, lifetime
from nodelint.karpenter.controller.kubelet import NOT_READY
from nodelint.karpenter.controller.launching import node_class
from nodelint.karpenter.controller.problem import NO_LAUNCH, Choice, ControllerProblem
from nodelint.karpenter.controller.syntax import is_one_step, label_value_fault, qualified_name_fault, seconds
from nodelint.model.manifest import EC2NodeClass, NodeOverlay, NodePool, Object, served
from nodelint.model.manifest_terms import Label, RequirementLine, Taint, text
from nodelint.model.messages import short
from nodelint.model.releases import Version
from nodelint.model.requirement import normalize
from nodelint.text import Node
from nodelint.text.missing import items_of

__all__ = [
    "ControllerProblem",
    "auto_mode_label",
    "check",
    "every_type_has",
    "find_launch_blocker",
    "find_pool_blocker",
    "label_value_fault",
    "lifetime",
    "seconds",
]

_NEVER_READY = "the API server accepts the NodePool, but it never becomes ready and launches nothing"
_OVERLAY_REFUSED = (
    "the API server accepts the NodeOverlay, but the controller rejects it and ignores the whole overlay"
)
_UNREADABLE = "the API server accepts the object, but the controller cannot read it, nor any list that includes it"
_NO_DISRUPTION = "the controller never disrupts a node of the pool, neither for consolidation nor for drift"
_NO_CLAIM = "the API server refuses every NodeClaim of the pool: the name becomes a label"
_NO_ANNOTATED_CLAIM = "the API server refuses every NodeClaim of the pool: they get its annotations"

_KUBELET_EXPRESSIONS = Version(1, 15, 0)
"""The first Karpenter release that reads kubelet settings as expressions."""
_NO_NODES = frozenset([_NEVER_READY, _UNREADABLE, _NO_CLAIM, _NO_ANNOTATED_CLAIM, NOT_READY, NO_LAUNCH])

_NODE_CLASS_LABEL = "karpenter.k8s.aws/ec2nodeclass"

# A step that ends at the first possible white space leaves the most text for the next steps.
_SCHEDULE_ADMITTED = r"\A@(?:annually|yearly|monthly|weekly|daily|midnight|hourly)|(?m:^)(?>.+?\s){4}.+$"
_UNANCHORED_DURATION = r"^(([0-9]+(s|m|h))+)|(Never)$"
_ANCHORED_DURATION = r"(?:(?<![0-9])[0-9]++[smh])+|Never"
_BUDGET_DURATION = r"(([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?"
_NEGATIVE = r"-[0-9.]*[1-9].*"


def check(obj: Object, release: Version) -> list[ControllerProblem]:
    """Return the parts of an object that the controller of a release refuses or cannot use, in the controller's
    order.

    Objects of an apiVersion that the release does not serve, and objects of removed kinds (Provisioner), are not
    judged.
    """
    if not served(obj, release):
        return []
    if isinstance(obj, NodePool):
        return list(_node_pool(obj, release))
    if isinstance(obj, EC2NodeClass):
        return [*_name(obj, release), *node_class(obj, release)]
    if isinstance(obj, NodeOverlay):
        return list(_overlay(obj, release))
    return []


def find_launch_blocker(obj: Object, release: Version) -> ControllerProblem | None:
    """Return the first error in an object that prevents Karpenter from launching nodes with it. None if there is
    none.
    """
    for problem in check(obj, release):
        ends = problem.consequence.endswith("never becomes ready")
        if problem.severity == "error" and (ends or problem.consequence in _NO_NODES):
            return problem
    if isinstance(obj, EC2NodeClass) and release >= _KUBELET_EXPRESSIONS and obj.node.find("spec", "kubelet"):
        from nodelint.karpenter.controller.expressions import find_expression_fault

        return find_expression_fault(obj)
    return None


def find_pool_blocker(
    pool: NodePool, node_class: EC2NodeClass | None, release: Version
) -> tuple[Object, ControllerProblem] | None:
    """Return the pool or class that prevents Karpenter from launching nodes, and its problem. The pool is checked
    first.

    None if neither the pool nor the class has such a problem.
    """
    for obj in (pool, node_class):
        problem = find_launch_blocker(obj, release) if obj is not None else None
        if obj is not None and problem is not None:
            return obj, problem
    return None


def _overlay(overlay: NodeOverlay, release: Version) -> Iterator[ControllerProblem]:
    """Yield the problems in the requirements of a NodeOverlay: the controller checks them as it checks those of
    NodePools (`RuntimeValidate` of nodeoverlay_validation.go).
    """
    for line in overlay.requirements:
        for problem in _requirement(line, release):
            refused = problem.consequence == _NEVER_READY
            yield problem._replace(consequence=_OVERLAY_REFUSED) if refused else problem


def _node_pool(pool: NodePool, release: Version) -> Iterator[ControllerProblem]:
    yield from _name(pool, release)
    for label in pool.template_labels:
        yield from _template_label(label, release)
    yield from _annotations(pool)
    yield from _taints((*pool.taints, *pool.startup_taints))
    for line in pool.requirements:
        yield from _requirement(line, release)
    yield from _durations(pool, release)
    yield from _budgets(pool)
    yield from _limits(pool)


def _name(obj: Object, release: Version) -> Iterator[ControllerProblem]:
    # NodeClaims carry the pool's name as a label, and the class's since 1.1.0.
    if obj.kind == "EC2NodeClass" and release < Version(1, 1, 0):
        return
    name = obj.name
    if isinstance(name, str) and len(name) > 63:
        yield ControllerProblem(
            obj.name_node,
            f"the name `{short(name)}` is longer than 63 characters ({len(name)})",
            "name-length",
            "error",
            _NO_CLAIM,
        )


def _template_label(label: Label, release: Version) -> Iterator[ControllerProblem]:
    key = label.key
    if not isinstance(key, str):
        return
    fault = qualified_name_fault(key)
    if fault is not None:
        yield _refused(label.key_node, f"the label key `{short(key)}` {fault}", "label-key")
    elif key == _NODE_CLASS_LABEL and release >= Version(1, 1, 0):
        yield _refused(
            label.key_node,
            f"the label `{key}` belongs to Karpenter: it sets the label from nodeClassRef",
            "restricted-label",
        )
    # Of a requirement the key is normalised before it is judged, of a label it is not.
    elif release < Version(1, 9, 0) and normalize(key) != key and key.partition("/")[0].endswith("kubernetes.io"):
        yield _refused(
            label.key_node,
            f"the label `{key}` is restricted under that name",
            "restricted-label",
            normalize(key),
        )


def _annotations(pool: NodePool) -> Iterator[ControllerProblem]:
    annotations = pool.node.find("spec", "template", "metadata", "annotations")
    for entry in annotations.entries if annotations is not None else ():
        key = text(entry.key)
        # Of annotations the API server does not mind capitals in front of the slash.
        fault = qualified_name_fault(key.lower()) if isinstance(key, str) else None
        if isinstance(key, str) and fault is not None:
            message = f"the annotation `{short(key, 30)}` {fault.replace('label', 'annotation')}"
            yield ControllerProblem(entry.key, message, "annotation-key", "error", _NO_ANNOTATED_CLAIM)


def _taints(taints: Sequence[Taint]) -> Iterator[ControllerProblem]:
    seen: set[tuple[str, str]] = set()
    for taint in taints:
        if isinstance(taint.key, str) and taint.key:
            yield from _taint_part(taint, "key", taint.key)
        if isinstance(taint.value, str) and taint.value:
            yield from _taint_part(taint, "value", taint.value)
        if not isinstance(taint.key, str) or not isinstance(taint.effect, str):
            continue
        # One set for taints and startupTaints, as in the controller.
        if (taint.key, taint.effect) in seen:
            yield _refused(
                taint.node, f"the taint `{short(taint.key)}:{taint.effect}` is listed twice", "taint-twice"
            )
        seen.add((taint.key, taint.effect))


def _taint_part(taint: Taint, part: str, written: str) -> Iterator[ControllerProblem]:
    fault = qualified_name_fault(written)
    # Admission holds keys and values to the characters of a qualified name, not to its lengths.
    if fault is not None and "characters" in fault:
        node = taint.node.get(part) or taint.node
        yield _refused(node, f"the taint's {part} `{short(written, 30)}` {fault}", f"taint-{part}")


def _requirement(line: RequirementLine, release: Version) -> Iterator[ControllerProblem]:
    key = line.key
    if isinstance(key, str):
        fault = qualified_name_fault(key)
        if fault is not None and "characters" in fault:
            yield _refused(line.key_node, f"the key `{short(key, 30)}` {fault}", "label-key")
        if key == _NODE_CLASS_LABEL and release >= Version(1, 1, 0):
            yield _refused(
                line.key_node,
                f"the key `{key}` belongs to Karpenter: it sets the label from nodeClassRef",
                "restricted-label",
            )
        yield from _known_values(line, key, release)
    for value in line.values:
        if isinstance(value.text, str):
            fault = label_value_fault(value.text)
            if fault is not None:
                yield _refused(value.node, f"the value `{short(value.text)}` {fault}", "label-value")
    if line.operator in ("Exists", "DoesNotExist") and line.values:
        yield ControllerProblem(
            line.values_node,
            f"`{line.operator}` takes no values: they are ignored",
            "ignored-values",
            "warning",
            "the requirement is about the key alone",
        )
    elif line.operator == "NotIn" and not line.values and line.values_node.kind == "sequence":
        yield ControllerProblem(
            line.values_node,
            "`NotIn` without a value excludes nothing and only requires the label",
            "ignored-values",
            "warning",
            "it acts as `Exists`",
        )


def _known_values(line: RequirementLine, key: str, release: Version) -> Iterator[ControllerProblem]:
    if line.operator != "In" or not line.values or not line.known:
        return
    fact = table("labels")["known_values"].get(key)
    if fact is None or release < Version.parse(fact["since"]):
        return
    known = fact["values"]
    good = [value for value in line.texts if value in known]
    name = key.rpartition("/")[2]
    if not good:
        wanted = line.texts[0].strip().lower().replace("_", "-").replace("ondemand", "on-demand")
        meant = wanted if len(line.values) == 1 and wanted in known else None
        where = line.values[0].node if len(line.values) == 1 else line.values_node
        choice = ", ".join(known)
        yield _refused(
            where, f"`{short(line.texts[0], 25)}` is not a value of {name}: use {choice}", "known-values", meant
        )
    elif line.min_values is not None and len(good) < line.min_values:
        yield _refused(
            line.node.get("minValues") or line.node,
            f"minValues {line.min_values} of {name} cannot be met: only {len(good)} of the values exist",
            "known-values",
        )


def _durations(pool: NodePool, release: Version) -> Iterator[ControllerProblem]:
    anchored = release >= Version(1, 4, 0)
    nillable = [("spec", "disruption", "consolidateAfter"), ("spec", "template", "spec", "expireAfter")]
    if pool.version == "v1beta1":
        nillable[1] = ("spec", "disruption", "expireAfter")
    for path in nillable:
        node = pool.node.find(*path)
        written = text(node)
        if node is None or not isinstance(written, str) or written == "Never":
            continue
        form = re.fullmatch if anchored else re.search
        if is_one_step(written) or form(_ANCHORED_DURATION if anchored else _UNANCHORED_DURATION, written):
            yield from _readable(node, written)
    node = pool.node.find("spec", "template", "spec", "terminationGracePeriod")
    written = text(node)
    if node is not None and isinstance(written, str) and re.fullmatch(r"([0-9]+(s|m|h))+", written):
        yield from _readable(node, written)


def _readable(node: Node, written: str) -> Iterator[ControllerProblem]:
    if seconds(written) is None:
        yield ControllerProblem(
            node,
            f"`{short(written)}` is not a duration that the controller can read",
            "unreadable",
            "error",
            _UNREADABLE,
        )


def _budgets(pool: NodePool) -> Iterator[ControllerProblem]:
    for budget in items_of(pool.node.find("spec", "disruption", "budgets")):
        node = budget.get("schedule")
        schedule = text(node)
        if node is not None and isinstance(schedule, str) and re.search(_SCHEDULE_ADMITTED, schedule):
            yield from _schedule(node, schedule)
        node = budget.get("duration")
        duration = text(node)
        if node is not None and isinstance(duration, str) and re.fullmatch(_BUDGET_DURATION, duration):
            yield from _readable(node, duration)
            if seconds(duration) == 0:
                yield _useless_budget(node, f"a budget that lasts `{duration}` is never active")
        node = budget.get("reasons")
        if node is not None and node.kind == "sequence" and not node.items:
            yield _useless_budget(node, "a budget with an empty list of reasons never applies")


def _useless_budget(node: Node, message: str) -> ControllerProblem:
    return ControllerProblem(node, message, "budget-unused", "warning", "the budget has no effect")


def _schedule(node: Node, written: str) -> Iterator[ControllerProblem]:
    from nodelint.karpenter.controller import cron

    try:
        schedule = cron.parse(written)
    except cron.CronError as error:
        yield ControllerProblem(
            node,
            f"`{short(written, 30)}` is not a schedule: {error}",
            "schedule",
            "error",
            _NO_DISRUPTION,
            error.suggestion,
            tuple(Choice(*choice) for choice in error.choices),
        )
        return
    if isinstance(schedule, cron.Schedule) and not schedule.comes_round:
        yield ControllerProblem(
            node,
            f"the schedule `{short(written, 30)}` never occurs: the budget is always active",
            "schedule",
            "error",
            "the controller finds no next date and treats the budget as always active",
        )


def _limits(pool: NodePool) -> Iterator[ControllerProblem]:
    limits = pool.node.find("spec", "limits")
    for entry in limits.entries if limits is not None else ():
        node = entry.value
        value = node.value if node.kind == "scalar" else None
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            continue
        if str(value).startswith("-") and re.fullmatch(_NEGATIVE, str(value)):
            yield ControllerProblem(
                node,
                f"the limit `{short(str(value))}` is negative: no node fits",
                "negative-limit",
                "error",
                "the NodePool launches nothing",
            )


def _refused(node: Node, message: str, kind: str, suggestion: str | None = None) -> ControllerProblem:
    return ControllerProblem(node, message, kind, "error", _NEVER_READY, suggestion)
