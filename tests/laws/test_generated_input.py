"""Manifests with anything anywhere: no fault, a fix is a fix point, and what is said lies in the text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.documents import objects
from nodelint.model.manifest import NodePool, served
from nodelint.model.releases import KubernetesVersion, target
from nodelint.report import explain
from nodelint.report.explain_json import explain_json
from nodelint.report.json import check_json
from nodelint.report.run_info import Run
from nodelint.report.summary import summary_text
from nodelint.report.text import finding_text
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, bundled, load
from nodelint.text import Node, Source

RULES: Mapping[str, Rule] = load(bundled())
EVERY = Selection(frozenset(RULES))

V1 = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  weight: 10
  replicas: 1
  limits: {cpu: "1000", memory: 1000Gi}
  disruption:
    consolidationPolicy: WhenEmptyOrUnderutilized
    consolidateAfter: 1m
    budgets:
      - nodes: "20%"
        reasons: [Empty, Drifted]
      - {nodes: "5", schedule: "@daily", duration: 10m}
  template:
    metadata:
      labels:
        example.com/team: a # whose
        node.kubernetes.io/instance-category: c
      annotations: {example.com/x: y}
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
      expireAfter: 720h
      terminationGracePeriod: 48h
      taints:
        - key: example.com/special
          value: "true"
          effect: NoSchedule
      startupTaints: [{key: example.com/start, effect: NoExecute}]
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64, arm64]
        - key: karpenter.k8s.aws/instance-category
          operator: In
          values: ["c*", m, g] # what runs best
          minValues: 2
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values:
            - c7i-flex
            - "m5.*"
            - g5g
        - {key: karpenter.sh/capacity-type, operator: NotIn, values: [on_demand]}
        - key: karpenter.k8s.aws/instance-cpu
          operator: Gt
          values: ["2"]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2
  role: KarpenterNodeRole-main
  userData: |
    #!/bin/bash
    echo ${HOME}
  amiSelectorTerms:
    - alias: al2@latest
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
    - id: subnet-0123456789abcdef0
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: main
    - name: my-group
  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]
  associatePublicIPAddress: false
  instanceStorePolicy: RAID0
  tags: {team: a}
  metadataOptions: {httpEndpoint: enabled, httpPutResponseHopLimit: 1, httpTokens: required}
  blockDeviceMappings:
    - deviceName: /dev/xvda
      rootVolume: true
      ebs: {volumeSize: 100Gi, volumeType: gp3, iops: 3000, encrypted: true, throughput: 125}
  kubelet:
    clusterDNS: ["10.0.1.100"]
    maxPods: 20
    systemReserved: {cpu: 100m, memory: 100Mi}
    evictionSoft: {memory.available: 500Mi}
    evictionSoftGracePeriod: {memory.available: 1m}
    imageGCHighThresholdPercent: 85
    imageGCLowThresholdPercent: 80
"""
BETA = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      nodeClassRef:
        apiVersion: karpenter.k8s.aws/v1beta1
        kind: EC2NodeClass
        name: default
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
      taints: [{key: a, effect: NoSchedule}]
      kubelet:
        maxPods: 110 # by the network
        clusterDNS: [10.0.0.1]
  limits: {cpu: 10}
  disruption:
    consolidationPolicy: WhenUnderutilized
    expireAfter: 720h
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: default
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{name: my-ami, owner: self}]
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
---
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
spec:
  consolidation: {enabled: true}
  ttlSecondsUntilExpired: 2592000
  labels: {a: b}
  requirements:
    - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  kubeletConfiguration: {maxPods: 20}
  limits:
    resources: {cpu: "1000"}
  providerRef: {name: old}
---
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: old}
spec:
  amiFamily: AL2
  subnetSelector: {karpenter.sh/discovery: main, aws-ids: "subnet-1,subnet-2"}
  securityGroupSelector: {"aws::ids": "sg-1"}
  amiSelector: {"aws::name": a, "aws::owners": "self,amazon"}
  instanceProfile: profile
"""
MANIFESTS = {name: Source.from_text(name, text) for name, text in (("v1", V1), ("beta", BETA))}
RELEASES = ("1.0.0", "1.1.0", "1.2.1", "1.3.3", "1.6.2", "1.14.1")


def _nodes(source: Source) -> Iterator[Node]:
    for document in source.documents:
        if document.root is not None:
            yield from document.root.walk()


NODES = {name: list(_nodes(source)) for name, source in MANIFESTS.items()}

SCALARS = [
    "",
    "null",
    "~",
    "7",
    "-1",
    "0",
    "1.5",
    "1e400",
    "9" * 30,
    "0x1F",
    "0o17",
    "1_0",
    "true",
    "off",
    "2024-01-01",
    "abc",
    '""',
    '"5"',
    "' '",
    "'*'",
    "m5.*",
    "'c7*'",
    "In",
    "Exists",
    "NotIn",
    "Gt",
    "amd64",
    "arm64",
    "spot",
    "c7i-flex",
    "${X}",
    "'{{ x }}'",
    "<name>",
    "$(X)",
    "!!str 5",
    "!Ref x",
    "!!binary aGk=",
    "&x 1",
    "al2023@latest",
    "a@b@c",
    '"\\u0000"',
    '"\\ud83d\\ude00"',
    "'é\u2028x'",
    "x" * 300,
    "1m",
    "-1h",
    "100%",
    "a/b/c",
    "karpenter.sh/nodepool",
    "karpenter.k8s.aws/instance-family",
    "kubernetes.io/arch",
    "|\n          some\n           text",
    "? a",
]
COLLECTIONS = ["[]", "{}", "[null]", "[[]]", "[{}]", "[1, 2]", "[a, a]", "[a, ${X}]", "['*']", "[&b b, *b]"]
COLLECTIONS += [
    "{a: b}",
    "{a: null}",
    "{a: [b]}",
    "{key: a}",
    "[{key: a, operator: In, values: [b]}]",
    "{<<: {a: b}}",
]
SPOILT = st.one_of(st.sampled_from(SCALARS), st.sampled_from(COLLECTIONS), st.text(max_size=6))


@st.composite
def manifests(draw: st.DrawFn) -> str:
    """A valid file in which one to three values, keys or whole fields are something else."""
    name = draw(st.sampled_from(sorted(MANIFESTS)))
    text = MANIFESTS[name].text
    chosen = draw(st.lists(st.sampled_from(NODES[name]), min_size=1, max_size=3))
    limit = len(text)
    for node in sorted(chosen, key=lambda n: n.start, reverse=True):
        if node.end <= limit:
            text = text[: node.start] + draw(SPOILT) + text[node.end :]
            limit = node.start
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text


@st.composite
def torn(draw: st.DrawFn) -> str:
    """A valid file with a stretch cut out, doubled, or written over."""
    text = MANIFESTS[draw(st.sampled_from(sorted(MANIFESTS)))].text
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.integers(0, 40)))
    middle = draw(
        st.sampled_from(
            ["", text[start:end] * 2, "\n", "\t", "---\n", "{{ x }}", "\r", "\ufeff", "# nodelint: ignore[x]"]
        )
    )
    return text[:start] + middle + text[end:]


def _hold(text: str, release: str, kubernetes: str | None, unsafe: bool) -> None:
    source = Source.from_text("made.yaml", text)
    aim = Target(target(release), KubernetesVersion.parse(kubernetes) if kubernetes else None)
    report = lint([source], LintRequest(aim, RULES, EVERY))
    _prints(report)
    fixed = fix([source], LintRequest(aim, RULES, EVERY), unsafe=unsafe)
    (new,) = fixed.sources
    _prints(fixed.report)
    assert len(new.problems) <= len(source.problems)
    assert len(new.set_aside) <= len(source.set_aside)
    again = fix([new], LintRequest(aim, RULES, EVERY), unsafe=unsafe)
    assert again.sources[0].text == new.text
    assert not again.applied
    summary_text(fixed.report, Run(1, applied=fixed.applied, refused=fixed.refused), fixing=True)
    contents = list(objects(source))
    context = Context(contents, aim)
    pools = [o for o in contents if isinstance(o, NodePool) and served(o, aim.karpenter)]
    resolutions = [context.resolution(pool) for pool in pools]
    explain.explain_text(resolutions)
    json.dumps(explain_json(resolutions))


def _prints(report: Report) -> None:
    for result in report.results:
        finding = result.finding
        spans = [finding.span, *(also.span for also in finding.also), *(edit.span for edit in finding.edits)]
        assert all(0 <= span.start <= span.end <= len(span.source.text) for span in spans), result
        assert finding.message and "\n" not in finding_text(result).partition("\n  ")[0].splitlines()[0]
    summary_text(report, Run(1))
    json.dumps(check_json(report, Run(1))).encode()


RELEASE = st.sampled_from(RELEASES)
KUBERNETES = st.sampled_from([None, "1.30", "1.35"])


@pytest.fixture(autouse=True)
def _faults_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODELINT_DEBUG", "1")


HALF = settings(max_examples=settings().max_examples // 2)
"""Each example is judged and fixed several times."""


@pytest.mark.slow
@HALF
@given(text=manifests(), release=RELEASE, kubernetes=KUBERNETES, unsafe=st.booleans())
@example(V1, "1.0.0", None, True)
@example(V1, "1.14.1", "1.35", True)
@example(BETA, "1.0.0", None, True)
@example(BETA, "1.14.1", "1.30", True)
def test_anything_in_the_place_of_a_value(text: str, release: str, kubernetes: str | None, unsafe: bool) -> None:
    _hold(text, release, kubernetes, unsafe)


@HALF
@given(text=torn(), release=RELEASE, kubernetes=KUBERNETES, unsafe=st.booleans())
def test_a_file_that_was_torn(text: str, release: str, kubernetes: str | None, unsafe: bool) -> None:
    _hold(text, release, kubernetes, unsafe)


@given(data=st.binary(max_size=80), at=st.integers(0, len(V1)))
def test_bytes_within_a_file(data: bytes, at: int) -> None:
    """What is not UTF-8 is refused once, with its place, and never changed."""
    source = Source.from_bytes("made.yaml", V1[:at].encode() + data + b"\xff" + V1[at:].encode())
    report = lint([source], LintRequest(Target(target("1.14")), RULES))
    _prints(report)
    assert [r.rule.name for r in report.results] == ["yaml-syntax"]
    assert fix([source], LintRequest(Target(target("1.14")), RULES), unsafe=True).sources[0] is source
