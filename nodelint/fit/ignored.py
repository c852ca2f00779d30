"""Pods that Karpenter ignores, whatever the NodePools: `Validate` of the provisioner of Karpenter core.

Sources: pkg/controllers/provisioning/provisioner.go and `ValidateRequirement` of pkg/apis/v1/nodeclaim_validation.go,
1.0.0 to 1.14.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.data import table
from nodelint.fit.pod_terms import LabelExpression
from nodelint.fit.pods import Pod
from nodelint.karpenter.controller.syntax import label_value_fault, qualified_name_fault
from nodelint.model.gvk import AUTO_MODE_GROUP
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
    """The reason why Karpenter ignores a pod, and the node of the file that causes it.

    `on_purpose`: the pod's author keeps it off Karpenter's nodes. `for_auto_mode`: the pod selects nodes of EKS Auto
    Mode.
    """

    at: Node
    message: str
    on_purpose: bool = False
    for_auto_mode: bool = False
    summary: str | None = None

    @property
    def brief(self) -> str:
        """Return the reason in at most 70 characters."""
        return self.summary or short(self.message, 70)


_OF_NODE_GROUPS = ("eks.amazonaws.com", "alpha.eksctl.io")
"""Domains of labels that EKS and eksctl set on nodes of node groups, and EKS on nodes of Auto Mode."""


def requirements_of(expressions: Iterable[LabelExpression], release: Version) -> Requirements:
    """Return label expressions folded into requirements.

    Expressions that no release accepts, such as a bound without a value, are skipped.
    """
    found = Requirements()
    for expression in expressions:
        try:
            found.add(Requirement.parse(expression.key, expression.operator, expression.values, release=release))
        except ValueError:
            continue
    return found


_IGNORES_CLAIMS = Version(1, 7, 0)
"""The first release that ignores pods with resource claims, unless IGNORE_DRA_REQUESTS is off."""


def ignored_because(pod: Pod, release: Version, claims_ignored: bool = True) -> IgnoredPod | None:
    """Return the first reason for which Karpenter ignores a pod; None if Karpenter tries to schedule the pod.

    A pod with `nodeName` is not pending (`IsProvisionable` of pkg/utils/pod/scheduling.go).
    """
    if pod.node_name is not None:
        return IgnoredPod(pod.node_name, "`nodeName` binds the pod to a node, and no scheduler places it", True)
    first = [*pod.selector, *(pod.preferred[0].expressions if pod.preferred else ())]
    first += pod.terms[0].expressions if pod.terms else ()
    requirements = requirements_of(first, release)
    if NODE_POOL in requirements and requirements[NODE_POOL].operator == "DoesNotExist":
        at = next(expression.node for expression in first if expression.key == NODE_POOL)
        return IgnoredPod(at, "configured to not run on a Karpenter provisioned node", True)
    refused = next(_refused(pod, release), None)
    if refused is None and pod.dynamic_resources and claims_ignored and release >= _IGNORES_CLAIMS:
        text = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
        return IgnoredPod(pod.node.get("resourceClaims") or pod.node, f"{text} (IGNORE_DRA_REQUESTS is true)")
    return refused


def wanted_elsewhere(pod: Pod) -> IgnoredPod | None:
    """Return the expression with which a pod selects nodes of EKS Auto Mode, a node group or Fargate.

    None if a required term of the pod has no such expression.
    """
    for term in pod.terms or (None,):
        expressions = (*pod.selector, *(term.expressions if term is not None else ()))
        found = [expression for expression in expressions if expression.key.partition("/")[0] in _OF_NODE_GROUPS]
        if not any(expression.operator not in ("NotIn", "DoesNotExist") for expression in found):
            return None
    expressions = (*pod.selector, *(expression for term in pod.terms for expression in term.expressions))
    found = [expression for expression in expressions if expression.key.partition("/")[0] in _OF_NODE_GROUPS]
    of_groups = [expression for expression in found if not _is_of_auto_mode(expression)]
    if of_groups:
        return IgnoredPod(of_groups[0].node, "written for the nodes of a node group", True)
    return IgnoredPod(found[0].node, "written for the nodes of EKS Auto Mode", True, True)


def _is_of_auto_mode(expression: LabelExpression) -> bool:
    """Return whether an expression selects a label that nodes of EKS Auto Mode have, with a value that they have."""
    start, _, name = expression.key.partition("/")
    facts = table("auto_mode")
    if start != AUTO_MODE_GROUP or name not in (*facts["labels_of_every_type"], *facts["labels_of_some_types"]):
        return False
    return name != "compute-type" or expression.operator != "In" or "auto" in expression.values


def _refused(pod: Pod, release: Version) -> Iterator[IgnoredPod]:
    for term in pod.terms:
        if term.fields:
            at = term.node.get("matchFields") or term.node
            yield IgnoredPod(at, "node selector term with matchFields is not supported")
    for expression in (*pod.selector, *(expression for term in pod.terms for expression in term.expressions)):
        for fault, summary in _faults(expression, release):
            yield IgnoredPod(expression.node, fault, summary=summary)


def _faults(expression: LabelExpression, release: Version) -> Iterator[tuple[str, str]]:
    """Yield each reason for which Karpenter rejects an expression: Karpenter's own message, and a short text."""
    key, name = normalize(expression.key), short(expression.key, 36)
    if expression.operator not in OPERATORS:
        fault = f"key {key} has an unsupported operator {short(expression.operator)}"
        yield fault, f"`{short(expression.operator, 20)}` is no operator"
    if is_restricted(key, release):
        use = f"; use {NODE_POOL}, which names the pool" if key in _OF_ONE_NODE else ""
        fault = f"using label {short(key)} is not allowed as it might interfere with the internal provisioning logic"
        yield f"{fault}{use}", f"`{name}` may not be selected"
    known = table("labels")["known_values"].get(key)
    checked = known is not None and expression.operator == "In" and release >= Version.parse(known["since"])
    if checked and not set(expression.values) & set(known["values"]):
        shown = ", ".join(map(short, expression.values))
        fault = f"no valid values found in [{shown}] for {key}, expected one of: {', '.join(known['values'])}"
        yield fault, f"`{short(shown, 24)}` is no value of `{name}`"
    if (fault_of_name := qualified_name_fault(key)) is not None:
        yield f"key {short(key)} is not a qualified name: it {fault_of_name}", f"`{name}` is no name of a label"
    for value in expression.values:
        if (fault_of_value := label_value_fault(value)) is not None:
            fault = f"invalid value {short(value)} for key {key}: it {fault_of_value}"
            yield fault, f"`{short(value, 24)}` is no value of a label"
    if expression.operator == "In" and not expression.values:
        yield f"key {key} with operator In must have a value defined", f"`{name} In` has no value"
    # a negative number is no value of a label, which is reported above
    is_bound = len(expression.values) == 1 and integer(expression.values[0]) is not None
    if expression.operator in _BOUNDS and not is_bound:
        fault = f"key {key} with operator {expression.operator} must have a single positive integer value"
        yield fault, f"`{name} {expression.operator}` needs one positive integer"


_OF_ONE_NODE = ("karpenter.sh/registered", "karpenter.sh/initialized", "karpenter.k8s.aws/ec2nodeclass")
"""Labels of single nodes of Karpenter, which people use by mistake to select a NodePool."""


def is_restricted(key: str, release: Version) -> bool:
    """Return whether pods may not select a label: unknown labels of Karpenter's domains, and the hostname."""
    if key in well_known(release):
        return False
    domain = key.partition("/")[0] if "/" in key else ""
    if key == HOSTNAME or any(domain == own or domain.endswith(f".{own}") for own in OWN_DOMAINS):
        return True
    if release >= _FEWER_RESTRICTED or domain.endswith(_ALLOWED_BELOW):
        return False
    return domain.endswith(_ONCE_RESTRICTED)
