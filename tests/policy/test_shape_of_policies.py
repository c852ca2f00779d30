"""What `nodelint policy` prints has the shape of admissionregistration.k8s.io/v1, field by field."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from tests.plain_yaml import load_all_yaml

Run = Callable[..., subprocess.CompletedProcess[str]]


def closed(**fields: object) -> dict[str, object]:
    """An object that has these fields and no other."""
    return {"type": "object", "additionalProperties": False, "required": list(fields), "properties": fields}


def several(items: object) -> dict[str, object]:
    return {"type": "array", "minItems": 1, "items": items}


TEXT = {"type": "string", "minLength": 1}
LINE = {**TEXT, "pattern": r"^[^\n]*$"}
NAME = {"type": "string", "maxLength": 253, "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
META = closed(name=NAME)
API = {"const": "admissionregistration.k8s.io/v1"}
RULE = closed(
    apiGroups=several({"enum": ["karpenter.sh", "karpenter.k8s.aws"]}),
    apiVersions=several({"const": "v1"}),
    operations=several({"enum": ["CREATE", "UPDATE"]}),
    resources=several({"enum": ["nodepools", "ec2nodeclasses"]}),
)
SPEC = closed(
    failurePolicy={"enum": ["Fail", "Ignore"]},
    matchConstraints=closed(resourceRules=several(RULE)),
    validations=several(closed(expression=TEXT, message=LINE)),
)
SPEC["properties"]["matchConditions"] = {**several(closed(name=NAME, expression=TEXT)), "maxItems": 64}  # type: ignore[index]
POLICY = closed(apiVersion=API, kind={"const": "ValidatingAdmissionPolicy"}, metadata=META, spec=SPEC)
ACTIONS = {**several({"enum": ["Deny", "Warn", "Audit"]}), "uniqueItems": True, "not": {"enum": [["Deny", "Warn"]]}}
BINDING = closed(
    apiVersion=API,
    kind={"const": "ValidatingAdmissionPolicyBinding"},
    metadata=META,
    spec=closed(policyName=NAME, validationActions=ACTIONS),
)
SHAPE = {"anyOf": [POLICY, BINDING]}


@pytest.mark.parametrize("action", ["audit", "deny"])
def test_policies_and_bindings_have_the_shape_of_the_api(nodelint: Run, action: str) -> None:
    done = nodelint("policy", "--profile", "strict", "--action", action)
    assert done.returncode == 0, done.stderr
    objects: list[dict[str, Any]] = list(load_all_yaml(done.stdout))
    for manifest in objects:
        jsonschema.validate(manifest, SHAPE)
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in objects]
    assert len(set(names)) == len(names)
    policies = {name for kind, name in names if kind == "ValidatingAdmissionPolicy"}
    assert policies == {m["spec"]["policyName"] for m in objects if m["kind"] == "ValidatingAdmissionPolicyBinding"}
    assert len(policies) >= 25  # the other rules with CEL are about older releases
    deny = {tuple(m["spec"]["validationActions"]) for m in objects if "policyName" in m["spec"]}
    assert deny == ({("Deny",)} if action == "deny" else {("Audit", "Warn")})


def test_the_shape_refuses_what_the_api_server_would(nodelint: Run) -> None:
    policy, binding = load_all_yaml(nodelint("policy", "--select", "imds-v1").stdout)
    assert [policy["kind"], binding["kind"]] == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    wrong = [copy.deepcopy(policy) for _ in range(3)] + [copy.deepcopy(binding)]
    wrong[0]["spec"]["validations"] = []
    wrong[1]["spec"]["failurePolicy"] = "fail"
    wrong[2]["spec"]["matchConstraints"]["resourceRules"][0]["resource"] = ["nodepools"]
    wrong[3]["spec"]["validationActions"] = ["Deny", "Warn"]
    for manifest in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(manifest, SHAPE)
