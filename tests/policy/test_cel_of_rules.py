"""A rule and the CEL that it states agree about each object that the API server takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from nodelint.apiserver import Schemas, cel
from nodelint.drift.hashstructure import Unhashable
from nodelint.drift.stored_form import stored_object
from nodelint.model.finding import Finding
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.policy.objects import expression_of
from nodelint.report.page import read_example, target_of
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, bundled, load
from nodelint.rule.examples import Example, examples
from nodelint.text import UnknownValue
from tests.plain_yaml import dump_yaml
from tests.policy.cel_cost import LIMIT, estimate_cost

RULES = load(bundled())
STATED = {name: rule for name, rule in RULES.items() if rule.cel}


def is_known(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(is_known, value.values()))
    if isinstance(value, list):
        return all(map(is_known, value))
    return not isinstance(value, UnknownValue)


POOL = {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}
REQUIREMENT = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
DISCOVERY = [{"tags": {"karpenter.sh/discovery": "a"}}]
CLASS = {
    "role": "Node",
    "amiSelectorTerms": [{"alias": "al2023@v20250920"}],
    "subnetSelectorTerms": DISCOVERY,
    "securityGroupSelectorTerms": DISCOVERY,
}
IMAGE = {"id": "ami-0123456789abcdef0"}


def ebs(**fields: object) -> dict[str, object]:
    return {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", **fields}}


CLASSES: list[dict[str, object]] = [
    {},
    {"blockDeviceMappings": []},
    {"blockDeviceMappings": [{"deviceName": "/dev/xvdb"}]},
    {"blockDeviceMappings": [ebs(volumeType="gp2", encrypted=True), ebs(encrypted=False)]},
    {"blockDeviceMappings": [ebs(volumeType="st1", deleteOnTermination=False)]},
    {"blockDeviceMappings": [ebs(volumeType="sc1", snapshotID="snap-0123456789abcdef0")]},
    {"blockDeviceMappings": [ebs(volumeType="gp3", iops=9000, throughput=125)]},
    {"blockDeviceMappings": [ebs(volumeType="gp3", iops=8999, throughput=124)]},
    {"blockDeviceMappings": [ebs(volumeType="io2", iops=461), ebs(volumeType="io1", iops=462)]},
    {"metadataOptions": {"httpTokens": "optional"}},
    {"metadataOptions": {"httpTokens": "optional", "httpEndpoint": "disabled", "httpPutResponseHopLimit": 2}},
    {"metadataOptions": {"httpPutResponseHopLimit": 2}},
    {"amiFamily": "AL2023", "amiSelectorTerms": [IMAGE, {"name": "mine", "owner": "self"}]},
    {"amiFamily": "AL2023", "amiSelectorTerms": [{"name": "mine-*", "owner": "*"}]},
    {"amiFamily": "AL2023", "amiSelectorTerms": [{"name": "mine", "owner": "self"}, {"name": "b", "owner": "12*"}]},
    {"amiFamily": "Custom", "amiSelectorTerms": [IMAGE]},
    {"amiFamily": "Custom", "amiSelectorTerms": [IMAGE], "metadataOptions": {"httpEndpoint": "disabled"}},
    {"amiFamily": "AL2", "amiSelectorTerms": [{"name": "Ubuntu-eks", "owner": "099720109477"}]},
    {"amiFamily": "AL2", "amiSelectorTerms": [IMAGE]},
    {"amiFamily": "AL2", "amiSelectorTerms": [{"alias": "al2@latest"}]},
    {"amiSelectorTerms": [{"alias": "windows2022@latest"}], "blockDeviceMappings": [ebs(volumeType="st1")]},
    {"amiFamily": "AL2023", "amiSelectorTerms": [{"tags": {"karpenter.sh/discovery": "a"}}]},
    {"amiFamily": "AL2023", "amiSelectorTerms": [{"tags": {"karpenter.sh/discovery": "b", "team": "a"}}]},
    {"amiFamily": "AL2023", "amiSelectorTerms": [{"ssmParameter": "/a/latest/image_id"}]},
    {"amiFamily": "AL2023", "amiSelectorTerms": [{"ssmParameter": "/a/v1/latestish"}]},
    {"securityGroupSelectorTerms": [{"tags": {"kubernetes.io/cluster/a": "owned"}}]},
    {"securityGroupSelectorTerms": [{"tags": {"kubernetes.io/cluster/a": "owned", "team": "a"}}]},
    *(
        {"role": name}
        for name in ("app-20240102030405060700000001", "app-ABCDEFGHIJ12", "app-ABCDEFGHIJKL", "a-123456789012")
    ),
    *(
        {"role": name}
        for name in ("eksctl-main-NodeRole-a1b2c3d4e5f6", "eksctl-a1b2c3d4e5f6", "a-a1b2c3d4e5f6", "-A1B2C3D4E5F6")
    ),
    {"role": None, "instanceProfile": "eks-12345678-1234-1234-1234-1234567890ab"},
    {"role": None, "instanceProfile": "eks-12345678-1234-1234-1234-1234567890AB"},
]
POOLS: list[dict[str, object]] = [
    {},
    *({"expireAfter": text} for text in ("Never", "720h")),
    *({"terminationGracePeriod": text} for text in ("10m", "10m1s", "0s", "1h")),
    *({"requirements": [{**REQUIREMENT, "values": [text]}]} for text in ("a[b", "[a]", "a?", "a]b[")),
    {"requirements": [{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["4"]}]},
    {"requirements": [{"key": "kubernetes.io/os", "operator": "Exists"}]},
    *(
        {"taints": [{"key": key, "effect": "NoSchedule"}]}
        for key in (
            *(
                "karpenter.sh/spot",
                "a.karpenter.k8s.aws/b",
                "notkarpenter.sh/a",
                "karpenter.sh",
                "karpenter.sh/disrupted",
            ),
            *("ebs.csi.aws.com/agent-not-ready", "readiness.k8s.io/agent-not-ready", "mine.io/agent-not-ready"),
        )
    ),
    {
        "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"},
        "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux", "windows"]}],
    },
    {
        "nodeClassRef": {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"},
        "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
    },
]
SPECS: list[dict[str, object]] = [
    *(
        {"disruption": {"consolidateAfter": "1m", "budgets": budgets}}
        for budgets in (
            [{"nodes": "0"}],
            [{"nodes": "0%", "reasons": ["Drifted"]}],
            [{"nodes": "0", "reasons": ["Empty"]}, {"nodes": "10%"}],
            [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "5", "schedule": "0 1 * * *", "duration": "1h"}],
            [{"nodes": "0", "schedule": "0 1 * * *", "duration": "1h"}],
        )
    ),
    *({"replicas": n, "limits": {"nodes": m}} for n, m in ((3, 2), (3, 3), (3, "4"), (0, 0), (3, "2k"))),
    {"limits": {"cpu": "10"}},
]


def held_out() -> Iterator[Example]:
    """Objects that stand in no rule's page."""
    for fields in CLASSES:
        spec = {key: value for key, value in {**CLASS, **fields}.items() if value is not None}
        yield _example("karpenter.k8s.aws/v1", "EC2NodeClass", spec)
    for template in POOLS:
        yield _example(
            "karpenter.sh/v1", "NodePool", {"template": {"spec": {**POOL, "requirements": [REQUIREMENT], **template}}}
        )
    for fields in SPECS:
        yield _example(
            "karpenter.sh/v1", "NodePool", {"template": {"spec": {**POOL, "requirements": [REQUIREMENT]}}, **fields}
        )


def _example(api: str, kind: str, spec: dict[str, object]) -> Example:
    manifest = {"apiVersion": api, "kind": kind, "metadata": {"name": "default"}, "spec": spec}
    return Example(True, dump_yaml(manifest, sort_keys=False))


@cache
def population() -> list[tuple[Object, Context, dict[str, object]]]:
    """The objects of all rules' examples that the API server takes: most were written for another rule."""
    pages = [example for rule in RULES.values() for example in examples(rule.page)]
    return [found for example in [*pages, *held_out()] for found in _objects(example)]


def _objects(example: object) -> Iterator[tuple[Object, Context, dict[str, object]]]:
    target = target_of(example)._replace(facts=target_of(example).facts)  # type: ignore[arg-type]
    if target.facts:
        return
    inventory = read_example(example.text)  # type: ignore[attr-defined]
    world = [*inventory.objects(), *inventory.auto_mode_objects()]
    context = Context(world, target)
    for obj in world:
        if not isinstance(obj, (NodePool, EC2NodeClass)) or obj.of_values:
            continue
        try:
            stored = stored_object(obj, target.karpenter, Schemas.bundled())
        except Unhashable:
            continue
        if is_known(stored) and not list(context.problems(obj)):
            yield obj, context, stored


def test_there_are_policies() -> None:
    assert len(STATED) >= 26


@pytest.mark.parametrize("rule", STATED.values(), ids=lambda rule: rule.name)
def test_rule_and_cel_agree(rule: Rule) -> None:
    pytest.importorskip("cel_expr_python")
    program = cel.compile(expression_of(rule), ("object",))
    verdicts = {True: 0, False: 0}
    wrong = []
    for obj, context, stored in population():
        if not rule.applies_to(obj) or not rule.applies_to_release(context.karpenter):
            continue
        found = [f for f in rule.check(obj, context) if isinstance(f, Finding) and not f.strict]
        holds = program.evaluate({"object": stored})
        verdicts[not found] += 1
        if holds is not (not found):
            wrong.append((obj.source.text, holds, [f.message for f in found]))
    assert not wrong, f"{len(wrong)} of {sum(verdicts.values())}: {wrong[0]}"
    assert verdicts[False], "no object that the API server takes is refused"
    assert verdicts[True]


@pytest.mark.parametrize("rule", STATED.values(), ids=lambda rule: rule.name)
def test_the_api_server_can_pay_for_it(rule: Rule) -> None:
    assert estimate_cost(expression_of(rule)) < LIMIT
