"""Pods that Karpenter launches nothing for, whatever the pools: `Validate` of the provisioner of Karpenter core.

pkg/controllers/provisioning/provisioner.go and `ValidateRequirement` of pkg/apis/v1/nodeclaim_validation.go, 1.0.0 to
1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.fit.pods import LabelExpression, Pod
from nodelint.karpenter.controller.syntax import label_value_fault, qualified_name_fault
from nodelint.model.messages import short
from nodelint.model.releases import Version
from nodelint.model.requirement import OPERATORS, Requirement, Requirements, integer, normalize, well_known
from nodelint.text import Node

NODE_POOL = "karpenter.sh/nodepool"
HOSTNAME = "kubernetes.io/hostname"
OWN_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
"""The domains of labels that only Karpenter sets."""

_ONCE_RESTRICTED = ("kubernetes.io", "k8s.io")
_ALLOWED_BELOW = ("kops.k8s.io", "node.kubernetes.io", "node-restriction.kubernetes.io")
_FEWER_RESTRICTED = Version(1, 9, 0)
_BOUNDS = ("Gt", "Lt", "Gte", "Lte")


class IgnoredPod(NamedTuple):
    """Why Karpenter ignores a pod, and where that is written. `on_purpose`: the pod is to stay off its nodes."""

    at: Node
    message: str
    on_purpose: bool = False


_OF_NODE_GROUPS = ("eks.amazonaws.com", "alpha.eksctl.io")
"""Domains of labels that EKS and eksctl set on the nodes of their groups, and on no others."""


def requirements_of(expressions: Iterable[LabelExpression], release: Version) -> Requirements:
    """What expressions ask, folded. What no release reads, such as a bound without a value, is left out."""
    found = Requirements()
    for expression in expressions:
        try:
            found.add(Requirement.parse(expression.key, expression.operator, expression.values, release=release))
        except ValueError:
            continue
    return found


def ignored_because(pod: Pod, release: Version) -> IgnoredPod | None:
    """The first reason for which Karpenter ignores a pod; None where it tries to place it.

    A pod with a node is none that waits for one (`IsProvisionable` of pkg/utils/pod/scheduling.go).
    """
    if pod.node_name is not None:
        return IgnoredPod(pod.node_name, "`nodeName` binds the pod to a node, and no scheduler places it", True)
    first = [*pod.selector, *(pod.preferred[0].expressions if pod.preferred else ())]
    first += pod.terms[0].expressions if pod.terms else ()
    requirements = requirements_of(first, release)
    if NODE_POOL in requirements and requirements[NODE_POOL].operator == "DoesNotExist":
        at = next(expression.node for expression in first if expression.key == NODE_POOL)
        return IgnoredPod(at, "configured to not run on a Karpenter provisioned node", True)
    return next(_refused(pod, release), None)


def wanted_elsewhere(pod: Pod) -> LabelExpression | None:
    """What asks for the nodes of a node group, or of Fargate; None where the pod does not, in each required term."""
    for term in pod.terms or (None,):
        expressions = (*pod.selector, *(term.expressions if term is not None else ()))
        found = [expression for expression in expressions if expression.key.partition("/")[0] in _OF_NODE_GROUPS]
        if not any(expression.operator not in ("NotIn", "DoesNotExist") for expression in found):
            return None
    expressions = (*pod.selector, *(expression for term in pod.terms for expression in term.expressions))
    return next(expression for expression in expressions if expression.key.partition("/")[0] in _OF_NODE_GROUPS)


def _refused(pod: Pod, release: Version) -> Iterator[IgnoredPod]:
    for term in pod.terms:
        if term.fields:
            at = term.node.get("matchFields") or term.node
            yield IgnoredPod(at, "node selector term with matchFields is not supported")
    for expression in (*pod.selector, *(expression for term in pod.terms for expression in term.expressions)):
        for fault in _faults(expression, release):
            yield IgnoredPod(expression.node, fault)


def _faults(expression: LabelExpression, release: Version) -> Iterator[str]:
    key = normalize(expression.key)
    if expression.operator not in OPERATORS:
        yield f"key {key} has an unsupported operator {short(expression.operator)}"
    if is_restricted(key, release):
        yield f"using label {short(key)} is not allowed as it might interfere with the internal provisioning logic"
    known = table("labels")["known_values"].get(key)
    checked = known is not None and expression.operator == "In" and release >= Version.parse(known["since"])
    if checked and not set(expression.values) & set(known["values"]):
        shown = ", ".join(map(short, expression.values))
        yield f"no valid values found in [{shown}] for {key}, expected one of: {', '.join(known['values'])}"
    if (fault := qualified_name_fault(key)) is not None:
        yield f"key {short(key)} is not a qualified name: it {fault}"
    for value in expression.values:
        if (fault := label_value_fault(value)) is not None:
            yield f"invalid value {short(value)} for key {key}: it {fault}"
    if expression.operator == "In" and not expression.values:
        yield f"key {key} with operator In must have a value defined"
    # a negative number is no value of a label, which has been said above
    is_bound = len(expression.values) == 1 and integer(expression.values[0]) is not None
    if expression.operator in _BOUNDS and not is_bound:
        yield f"key {key} with operator {expression.operator} must have a single positive integer value"


def is_restricted(key: str, release: Version) -> bool:
    """Whether pods may not ask for a label: those of Karpenter's domains that it does not know, and the hostname."""
    if key in well_known(release):
        return False
    domain = key.partition("/")[0] if "/" in key else ""
    if key == HOSTNAME or any(domain == own or domain.endswith(f".{own}") for own in OWN_DOMAINS):
        return True
    if release >= _FEWER_RESTRICTED or domain.endswith(_ALLOWED_BELOW):
        return False
    return domain.endswith(_ONCE_RESTRICTED)
