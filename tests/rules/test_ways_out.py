"""Mistakes whose cure follows from the file: each has a fix, or ways out by name, and each of these is complete."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.edits import apply
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Selection, Target
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source

Check = Callable[..., Report]

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-main
"""
AMI = "  amiSelectorTerms: [{alias: al2023@v20250403}]\n"
SUBNETS = "  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]\n"
GROUPS = "  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]\n"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
"""


def pool(*lines: str, values: str = "[c, m, r]") -> str:
    return POOL.replace("[c, m, r]", values) + "".join(f"  {line}\n" for line in lines)


def budget(fields: str) -> str:
    return pool(f"disruption: {{consolidateAfter: 1m, budgets: [{{nodes: '0', {fields}}}]}}")


def left(check: Check, text: str) -> list[str]:
    return [result.finding.message for result in check(text).results if result.severity == "error"]


# A mistake, and a part of each text that its fix makes of it.
FIXED = {
    "a mapping of terms": (
        CLASS + AMI + GROUPS + "  subnetSelectorTerms:\n    # main\n    tags:\n      a: b # c\n\n      d: e\n",
        "  subnetSelectorTerms:\n    # main\n    - tags:\n        a: b # c\n\n        d: e\n",
    ),
    "a flow mapping of terms": (
        CLASS + AMI + GROUPS + "  subnetSelectorTerms: {tags: {a: b}, id: null}\n",
        "  subnetSelectorTerms: [{tags: {a: b}, id: null}]\n",
    ),
    "tags in place of terms": (
        CLASS + AMI + GROUPS + "  subnetSelectorTerms: {karpenter.sh/discovery: main}\n",
        "tags: {karpenter.sh/discovery: main}",
    ),
    "one requirement": (
        POOL.replace("        - {key", "        {key"),
        "        [{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}]\n",
    ),
    "a list of ids": (
        CLASS
        + AMI
        + GROUPS
        + "  subnetSelectorTerms:\n    - ids: [subnet-0a1b2c3d4e5f60718, subnet-0b1b2c3d4e5f60718]\n",
        "    - id: subnet-0a1b2c3d4e5f60718\n    - id: subnet-0b1b2c3d4e5f60718\n",
    ),
    "an id that is a list": (
        CLASS
        + AMI
        + SUBNETS
        + "  securityGroupSelectorTerms: [{id: [sg-0a1b2c3d4e5f60718, sg-0b1b2c3d4e5f60718]}]\n",
        "[{id: sg-0a1b2c3d4e5f60718}, {id: sg-0b1b2c3d4e5f60718}]",
    ),
    "values as one": (pool(values='["c,m,r"]'), 'values: ["c", "m", "r"]'),
    "values as one, with blanks": (pool(values="['c, m', r]"), "values: ['c', 'm', r]"),
    "values as a text": (pool(values='"c,m,r"'), "values: [c, m, r]"),
    "zones as one": (
        pool(values="[us-east-1a,us-east-1b]")
        .replace("[us-east-1a,us-east-1b]", '["us-east-1a,us-east-1b"]')
        .replace("karpenter.k8s.aws/instance-category", "topology.kubernetes.io/zone"),
        'values: ["us-east-1a", "us-east-1b"]',
    ),
    "no line between objects": (
        POOL + CLASS + AMI + SUBNETS + GROUPS,
        "values: [c, m, r]}\n---\napiVersion: karpenter.k8s.aws/v1\n",
    ),
    "a version of Windows": (
        CLASS + AMI.replace("al2023@v20250403", "windows2022@v20250403") + SUBNETS + GROUPS,
        "alias: windows2022@latest",
    ),
    "an id in place of a term": (
        CLASS + AMI + SUBNETS + "  securityGroupSelectorTerms: [sg-0a1b2c3d4e5f60718]\n",
        "securityGroupSelectorTerms: [{id: sg-0a1b2c3d4e5f60718}]",
    ),
    "an alias in place of a term": (
        CLASS + "  amiSelectorTerms:\n    - al2023@v20250403\n" + SUBNETS + GROUPS,
        "    - alias: al2023@v20250403\n",
    ),
    "taints of the command line": (
        POOL.replace("      requirements:", "      taints:\n        team: ml:NoSchedule\n      requirements:"),
        "        - key: team\n          value: ml\n          effect: NoSchedule\n",
    ),
    "a selector of an AWSNodeTemplate": (
        CLASS + AMI + GROUPS + "  subnetSelector: {Name: 'a,b', tier: private}\n",
        "subnetSelectorTerms:\n    - tags: {Name: a, tier: private}\n    - tags: {Name: b, tier: private}\n",
    ),
    "no time": (
        pool("disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 0}"),
        "consolidateAfter: 0s}",
    ),
    "bytes": (pool("limits: {memory: 1600}"), "limits: {memory: 1600Gi}"),
}


@pytest.mark.parametrize("name", FIXED)
def test_what_was_meant_is_written(check: Check, rules: dict[str, Rule], name: str) -> None:
    text, expected = FIXED[name]
    assert left(check, text)
    fixed = fix([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), rules, Selection()), unsafe=True)
    assert not fixed.refused
    done = fixed.sources[0].text
    assert expected in done
    assert left(check, done) == []


# A mistake, and a part of each text that a way out by name makes of it.
CHOICES = {
    "an alias beside another family": (
        CLASS + "  amiFamily: AL2023\n" + AMI.replace("al2023@v20250403", "bottlerocket@latest") + SUBNETS + GROUPS,
        [
            "-main\n  amiSelectorTerms: [{alias: bottlerocket@latest}]",
            "AL2023\n  amiSelectorTerms: [{alias: al2023@latest}]",
        ],
    ),
    "a pinned alias beside another family": (
        CLASS + "  amiFamily: AL2023\n" + AMI.replace("al2023@v20250403", "bottlerocket@v1.40.0") + SUBNETS + GROUPS,
        ["-main\n  amiSelectorTerms", "AL2023\n  amiSelectorTerms: [{alias: al2023@v20260714}]"],
    ),
    "a Windows without a year": (
        CLASS + AMI.replace("al2023@v20250403", "windows@latest") + SUBNETS + GROUPS,
        ["windows2019@latest", "windows2022@latest", "windows2025@latest"],
    ),
    "an alias that has ended, pinned": (
        CLASS + AMI.replace("al2023@v20250403", "al2@v20240928") + SUBNETS + GROUPS,
        ["al2023@v20260714"],
    ),
    "an alias that has ended, with a script": (
        CLASS
        + AMI.replace("al2023@v20250403", "al2@latest")
        + SUBNETS
        + GROUPS
        + "  userData: |\n    #!/bin/sh\n    ls\n",
        ["al2023@latest"],
    ),
    "images of one architecture by name": (
        POOL.replace("instance-category", "instance-family").replace("[c, m, r]", "[m7g]")
        + "---\n"
        + CLASS
        + "  amiFamily: AL2023\n"
        + AMI.replace("alias: al2023@v20250403", "name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250403")
        + SUBNETS
        + GROUPS,
        ["amiSelectorTerms: [{alias: al2023@v20250403}]"],
    ),
    "families without the architecture": (
        POOL.replace("instance-category", "instance-family").replace("[c, m, r]", "[m5, c6i]")
        + "        - {key: kubernetes.io/arch, operator: In, values: [arm64]}\n",
        [
            "values: [m6g, c6g]",
            "values: [amd64]",
            "[m5, c6i]}\n",
            "requirements:\n        - {key: kubernetes.io/arch",
        ],
    ),
    "families of Graviton, one a letter from another": (
        POOL.replace("instance-category", "instance-family").replace("[c, m, r]", "[c7g, r6gd]")
        + "        - {key: kubernetes.io/arch, operator: In, values: [amd64]}\n",
        ["values: [c7i, r6i]", "values: [arm64]", "r6gd]}\n", "requirements:\n        - {key: kubernetes.io/arch"],
    ),
    "an unknown family": (
        CLASS + AMI.replace("al2023@v20250403", "flatcar@v20250403") + SUBNETS + GROUPS,
        ["al2023@v20250403", "bottlerocket@latest"],
    ),
    "six fields": (budget("schedule: '0 0 9 * * *', duration: 8h"), ["'0 9 * * *'", "'0 0 9 * *'"]),
    "a time zone": (
        budget("schedule: 'CRON_TZ=Europe/Berlin 0 9,17 * * mon-fri', duration: 8h"),
        ["'0 9,17 * * mon-fri'", "'0 8,16 * * mon-fri'", "'0 7,15 * * mon-fri'"],
    ),
    "a time zone of one offset": (
        budget("schedule: 'TZ=Asia/Tokyo 30 9 * * *', duration: 8h"),
        ["'30 9 * * *'", "'30 0 * * *'"],
    ),
    "a time zone on another day": (
        budget("schedule: 'TZ=Asia/Tokyo 30 8 * * *', duration: 8h"),
        ["'30 8 * * *'"],
    ),
    "user data in base64": (
        CLASS + AMI + SUBNETS + GROUPS + "  userData: IyEvYmluL2Jhc2gKZWNobyBoaQo=\n",
        ["  userData: |\n    #!/bin/bash\n    echo hi\n"],
    ),
    "a schedule alone": (
        budget("schedule: 0 9 * * *"),
        ["schedule: 0 9 * * *, duration: 1h}", "schedule: 0 9 * * *, duration: 8h}", "[{nodes: '0'}]"],
    ),
    "a duration alone": (budget("duration: 8h"), ["duration: 8h, schedule:", "[{nodes: '0'}]"]),
    "weight 0": (pool("weight: 0"), ["r]}\n", "weight: 1\n"]),
    "weight 101": (pool("weight: 101"), ["weight: 100\n"]),
    "two limits": (
        pool("limits: {cpu: 1, memory: 1Gi}").replace(
            "- {key", "- {key: karpenter.k8s.aws/instance-size, operator: In, values: [2xlarge]}\n        - {key"
        ),
        ["limits: {cpu: 4, memory: 32Gi}"],
    ),
    "a key that is twice": (
        CLASS + "  role: Other\n" + AMI + SUBNETS + GROUPS,
        ["spec:\n  role: Other", "-main\n  amiSel"],
    ),
    "a block that is twice": (
        CLASS + "  tags:\n    a: b\n    c: d\n" + AMI + SUBNETS + "  tags:\n    e: f\n" + GROUPS,
        ["-main\n  amiSel", "a: b\n    c: d\n  amiSel"],
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_each_way_out_is_complete(check: Check, name: str) -> None:
    text, expected = CHOICES[name]
    kubernetes = "1.33" if name.startswith("an alias that has ended") else None
    found = [result.finding for result in check(text, kubernetes=kubernetes).results if result.severity == "error"]
    ways = [way for finding in found for way in finding.suggestions]
    assert len(ways) == len(expected), [way.name for way in ways]
    for way, part in zip(ways, expected, strict=True):
        done = apply(text, way.edits)
        assert part in done, way.name
        assert left(check, done) == [], way.name
