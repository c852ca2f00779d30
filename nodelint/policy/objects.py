"""A ValidatingAdmissionPolicy and its binding for each rule that has a CEL expression."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodelint.base.types import TYPE_CHECKING
from nodelint.model.manifest import NodePool
from nodelint.model.providers import EVERY
from nodelint.rule.definition import Rule

if TYPE_CHECKING:
    from typing import Any, Literal

    Action = Literal["audit", "deny"]

ACTIONS = {"audit": ["Audit", "Warn"], "deny": ["Deny"]}
"""The actions of the API server for an object that violates a policy, by the value of `--action`."""

_GROUPS = {"aws": "karpenter.k8s.aws", "auto-mode": "eks.amazonaws.com"}
"""The API group of the class that a NodePool of each provider refers to."""
_CLASS_GROUP = "object.spec.template.spec.nodeClassRef.group"


def expression_of(rule: Rule, values: Mapping[str, object] | None = None) -> str:
    """Return the CEL expression of a rule with the thresholds of `values`, else with their defaults."""
    found = rule.cel
    for option in rule.options:
        value = (values or {}).get(option.name, option.default)
        found = re.sub(rf"\${option.name}(?=\b|m')", str(value), found)
    return found


def make_policy(rule: Rule, action: Action, values: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
    """Return the policy of a rule and its binding, as manifests.

    With `deny`, an object is refused if the policy cannot be evaluated; with `audit`, the object is accepted.
    """
    name = f"nodelint-{rule.name}"
    is_pool = rule.on is NodePool
    group, resource = ("karpenter.sh", "nodepools") if is_pool else ("karpenter.k8s.aws", "ec2nodeclasses")
    matched = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"]}
    message = " ".join(rule.summary.split())
    spec: dict[str, Any] = {
        "failurePolicy": "Fail" if action == "deny" else "Ignore",
        "matchConstraints": {"resourceRules": [{**matched, "resources": [resource]}]},
    }
    if is_pool and tuple(rule.providers) != tuple(EVERY):
        groups = ", ".join(f"'{_GROUPS[provider]}'" for provider in rule.providers if provider in _GROUPS)
        spec["matchConditions"] = [{"name": "provider", "expression": f"{_CLASS_GROUP} in [{groups}]"}]
    spec["validations"] = [{"expression": expression_of(rule, values), "message": f"{rule.name}: {message}"}]
    kind, api = "ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1"
    binding = {"policyName": name, "validationActions": ACTIONS[action]}
    return [
        {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec},
        {"apiVersion": api, "kind": f"{kind}Binding", "metadata": {"name": name}, "spec": binding},
    ]
