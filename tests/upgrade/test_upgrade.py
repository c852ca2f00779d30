"""What a move between releases means: every row finds what it concerns, the steps, the settings, the findings."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.inventory import build
from nodelint.lint.engine import LintRequest, Selection, Target
from nodelint.model.documents import objects
from nodelint.model.ranges import runs
from nodelint.model.releases import (
    NEWEST,
    RELEASES,
    KubernetesRange,
    KubernetesVersion,
    Version,
    ahead,
    releases_match,
    supported,
    target,
)
from nodelint.report.upgrade import upgrade_json, upgrade_markdown, upgrade_text
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule
from nodelint.text import Source
from nodelint.upgrade import Upgrade, upgrade
from nodelint.upgrade.changes import ReleaseChange, changes, met
from nodelint.upgrade.conditions import Matcher
from nodelint.upgrade.findings import turns
from nodelint.upgrade.resources import mentions
from nodelint.upgrade.route import route
from nodelint.upgrade.settings import ControllerSettings
from tests.conftest import ROOT
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "schemas" / "upgrade.schema.json").read_text(encoding="utf-8"))
)
BY_ID = {change.id: change for change in changes()}


def pool(spec: str = "", template: str = "", requirements: str = "", api: str = "karpenter.sh/v1") -> str:
    """A NodePool; `spec` and `template` are lines of the two specs, `requirements` the list in flow style."""
    lines = [f"apiVersion: {api}", "kind: NodePool", "metadata: {name: default}", "spec:"]
    lines += [f"  {line}" for line in spec.splitlines()]
    if "disruption" not in spec:
        lines.append("  disruption: {consolidateAfter: 0s}")
    lines += ["  template:", "    spec:", *(f"      {line}" for line in template.splitlines())]
    if "nodeClassRef" not in template:
        lines.append("      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}")
    return "\n".join([*lines, f"      requirements: [{requirements}]", ""])


def node_class(spec: str = "", alias: str = "al2023@latest", terms: bool = False, api: str = "v1") -> str:
    """An EC2NodeClass with lines of its spec; with or without selector terms for reservations."""
    lines = [f"apiVersion: karpenter.k8s.aws/{api}", "kind: EC2NodeClass", "metadata: {name: default}", "spec:"]
    lines += [f"  {line}" for line in spec.splitlines()]
    if "amiSelectorTerms" not in spec:
        lines.append(f"  amiSelectorTerms: [{{alias: {alias}}}]")
    if terms:
        lines.append("  capacityReservationSelectorTerms: [{id: cr-123}]")
    return "\n".join([*lines, ""])


SHARED_GPUS = "karpenter.k8s.aws/nvidia-consumable-capacity"


def pod(spec: str = "", annotations: str = "", kind: str = "Deployment") -> str:
    """A workload whose file mentions Karpenter."""
    lines = "".join(f"      {line}\n" for line in spec.splitlines())
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  template:\n"
        f"    metadata: {{annotations: {{karpenter.sh/x: y, {annotations}}}}}\n"
        f"    spec:\n      containers: [{{name: web}}]\n{lines}"
    )


def values(text: str) -> str:
    """A HelmRelease of Karpenter's chart."""
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec:\n"
        f"  chart: {{spec: {{chart: karpenter, version: 1.0.6}}}}\n  values:\n{body}"
    )


def requirement(key: str, value: str, operator: str = "In") -> str:
    return f'{{key: {key}, operator: {operator}, values: ["{value}"]}}'


def asks(key: str, value: str = "x", operator: str = "In") -> str:
    return pool(requirements=requirement(key, value, operator))


OVERLAY = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: x}\nspec:\n  requirements: []\n"
BUFFER = "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: karpenter}\n"
POLICY = '# karpenter\ndata: {Action: ["ec2:CreateFleet", "iam:PassRole"]}\n'
AWS = "karpenter.k8s.aws"

REPAIRS = "settings: {featureGates: {nodeRepair: true}}"


def blocked(reasons: str = "") -> str:
    """A pool with a budget of no nodes."""
    return pool(f'disruption: {{consolidateAfter: 0s, budgets: [{{nodes: "0", {reasons}}}]}}')


# By the id of a row: texts that it concerns together, how its first place is written, and texts that it leaves alone.
CASES: dict[str, tuple[list[str], str, list[str]]] = {
    "virtualization-offerings": (
        [node_class("cpuOptions: {nestedVirtualization: enabled}")],
        "nestedVirtualization",
        [node_class()],
    ),
    "graceful-repair": (
        [values(REPAIRS)],
        "nodeRepair",
        [values("settings: {featureGates: {nodeRepair: false}}"), values("settings: {clusterName: main}")],
    ),
    "repair-blocked": (
        [values(REPAIRS), blocked()],
        '{nodes: "0"',
        [
            blocked(),
            values(REPAIRS) + "---\n" + blocked("reasons: [Drifted]"),
            values(REPAIRS) + "---\n" + blocked().replace('"0"', '"1"'),
            values("settings: {legacyNodeRepair: true, featureGates: {nodeRepair: true}}") + "---\n" + blocked(),
        ],
    ),
    "pod-deletion-cost": (
        [pod(annotations='controller.kubernetes.io/pod-deletion-cost: "100"')],
        "controller.kubernetes.io/pod-deletion-cost",
        [pod(annotations='karpenter.sh/disruption-cost: "100"')],
    ),
    "enable-dra-alone": (
        [values("settings: {enableDRA: true, ignoreDRARequests: false}")],
        "ignoreDRARequests",
        [
            values("settings: {enableDRA: true}"),
            values("settings: {enableDRA: true, awsFeatureGates: {draEFA: null}}"),
            values("settings: {enableDRA: false, awsFeatureGates: {draEFA: true}}"),
        ],
    ),
    "legacy-repair-alone": (
        [values("settings: {legacyNodeRepair: true, featureGates: {terminateFirstRepair: true}}")],
        "terminateFirstRepair",
        [
            values("settings: {legacyNodeRepair: false, featureGates: {terminateFirstRepair: true}}"),
            values("settings: {legacyNodeRepair: true}"),
        ],
    ),
    "nvidia-consumable-capacity": (
        [node_class().replace("{name: default}", f"{{name: default, annotations: {{{SHARED_GPUS}: memory}}}}")],
        SHARED_GPUS,
        [node_class()],
    ),
    "efa-claims": (
        [values("settings: {awsFeatureGates: {draEFA: true}}"), node_class("networkInterfaces: [{deviceIndex: 0}]")],
        "networkInterfaces",
        [node_class("networkInterfaces: [{deviceIndex: 0}]")],
    ),
    "full-reservations": ([node_class(terms=True)], "capacityReservationSelectorTerms", [node_class()]),
    "pool-without-disruption": ([pool().replace("  disruption: {consolidateAfter: 0s}\n", "")], "default", [pool()]),
    "v1beta1-gone": ([pool(api="karpenter.sh/v1beta1")], "apiVersion", [pool()]),
    "class-ref-required": (
        [pool(template='nodeClassRef: {group: "", kind: EC2NodeClass, name: x}')],
        "group",
        [pool()],
    ),
    "compatibility-annotations": (
        [
            pool().replace(
                "default}", "default, annotations: {compatibility.karpenter.sh/v1beta1-kubelet-conversion: x}}", 1
            )
        ],
        "compatibility.karpenter.sh/v1beta1-kubelet-conversion",
        [pool()],
    ),
    "requirement-keys-1.1": ([asks(f"{AWS}/ec2nodeclass")], "{key:", [asks("kubernetes.io/arch")]),
    "accelerator-names": ([asks(f"{AWS}/instance-accelerator-name", "inferentia")], "{key:", [pool()]),
    "bottlerocket-raid0": (
        [node_class("instanceStorePolicy: RAID0", "bottlerocket@v1.21.1")],
        "instanceStorePolicy",
        [
            node_class("instanceStorePolicy: RAID0", "bottlerocket@v1.22.0"),
            node_class("instanceStorePolicy: RAID0", "bottlerocket@latest"),
            node_class("instanceStorePolicy: RAID0"),
        ],
    ),
    "bottlerocket-raid0-works": (
        [node_class("instanceStorePolicy: RAID0", "bottlerocket@latest")],
        "instanceStorePolicy",
        [
            node_class("instanceStorePolicy: RAID0", "bottlerocket@v1.21.1"),
            node_class("instanceStorePolicy: RAID0", "bottlerocket@v1.9.2"),
            node_class("instanceStorePolicy: RAID0"),
        ],
    ),
    "cluster-tag": (
        [POLICY + 'x: {"aws:RequestTag/karpenter.k8s.aws/cluster": a}\n'],
        "karpenter.k8s.aws/cluster",
        [POLICY, "karpenter.k8s.aws/cluster: a\n"],
    ),
    "reservation-terms": ([node_class(terms=True)], "capacityReservationSelectorTerms", [node_class()]),
    "capacity-type-reserved": (
        [pod("nodeSelector: {karpenter.sh/capacity-type: on-demand}"), node_class(terms=True)],
        "karpenter.sh/capacity-type",
        [
            pod("nodeSelector: {karpenter.sh/capacity-type: spot}") + "---\n" + node_class(terms=True),
            pod("nodeSelector: {karpenter.sh/capacity-type: on-demand}") + "---\n" + node_class(),
        ],
    ),
    "spread-policies": (
        [pod("topologySpreadConstraints: [{nodeTaintsPolicy: Honor}]")],
        "nodeTaintsPolicy",
        [pod("topologySpreadConstraints: [{maxSkew: 1}]")],
    ),
    "duration-pattern": (
        [pool(template="expireAfter: 1hr")],
        "expireAfter",
        [pool(template="expireAfter: 1h30m"), pool(template="expireAfter: Never")],
    ),
    "ssm-parameter": ([node_class("amiSelectorTerms: [{ssmParameter: /x}]")], "ssmParameter", [node_class()]),
    "al2023-arm-gpu": (
        [asks(f"{AWS}/instance-family", "g5g"), node_class()],
        "[{key:",
        [asks(f"{AWS}/instance-family", "m5") + "---\n" + node_class()],
    ),
    "volume-rate": (
        [node_class("blockDeviceMappings: [{ebs: {volumeInitializationRate: 100}}]")],
        "volumeInitializationRate",
        [node_class("blockDeviceMappings: [{ebs: {iops: 100}}]")],
    ),
    "chart-cluster-name": (
        [values("controller: {env: [{name: CLUSTER_NAME, value: x}]}")],
        "{name: CLUSTER_NAME, value: x}",
        [values("settings: {clusterName: x}\ncontroller: {env: [{name: CLUSTER_NAME, value: x}]}")],
    ),
    "chart-security-context": (
        [values("podSecurityContext: {fsGroup: 1}")],
        "fsGroup",
        [values("settings: {clusterName: x}")],
    ),
    "bottlerocket-eviction": (
        [node_class("kubelet: {evictionSoft: {memory.available: 5%}}", "bottlerocket@latest")],
        "evictionSoft",
        [node_class("kubelet: {evictionSoft: {memory.available: 5%}}")],
    ),
    "open-reservations": (
        [node_class()],
        "default",
        [
            node_class(terms=True),
            node_class() + "---\n" + values("settings: {featureGates: {reservedCapacity: false}}"),
            node_class()
            + "---\n"
            + values("controller: {env: [{name: FEATURE_GATES, value: 'ReservedCapacity=False'}]}"),
        ],
    ),
    "reservation-type": ([asks(f"{AWS}/capacity-reservation-type")], "{key:", [pool()]),
    "mutable-role": ([node_class("role: x")], "role", [node_class("instanceProfile: x")]),
    "node-overlay": ([OVERLAY], "kind", [pool()]),
    "flex-label": ([asks(f"{AWS}/instance-capability-flex", "true")], "{key:", [pool()]),
    "dra-pods": ([pod("resourceClaims: [{name: gpu}]")], "resourceClaims", [pod()]),
    "drift-of-empty-nodes": (
        [pool("disruption: {consolidateAfter: Never}")],
        "consolidateAfter",
        [pool("disruption: {consolidateAfter: 1h}")],
    ),
    "replicas": ([pool("replicas: 3")], "replicas", [pool("weight: 3")]),
    "budget-reasons-50": (
        [pool(f"disruption: {{budgets: [{{reasons: [{', '.join(['Drifted'] * 51)}]}}]}}")],
        "reasons",
        [pool(f"disruption: {{budgets: [{{reasons: [{', '.join(['Drifted'] * 50)}]}}]}}")],
    ),
    "class-fields-1.8": ([node_class("ipPrefixCount: 1")], "ipPrefixCount", [node_class()]),
    "chart-static-capacity": (
        [values("settings: {clusterName: x}")],
        "settings",
        [values("settings: {featureGates: {staticCapacity: false}}")],
    ),
    "pod-resources": ([pod("resources: {limits: {cpu: 1}}")], "resources", [pod()]),
    "bounds": ([asks(f"{AWS}/instance-cpu", "4", "Gte")], "{key:", [asks(f"{AWS}/instance-cpu", "4", "Gt")]),
    "instance-tenancy": ([asks(f"{AWS}/instance-tenancy")], "{key:", [pool()]),
    "windows-2025": ([node_class(alias="windows2025@latest")], "alias", [node_class(alias="windows2022@latest")]),
    "allocatable": ([node_class("kubelet: {evictionSoft: {memory.available: 5%}}")], "evictionSoft", [node_class()]),
    "five-policies": ([POLICY + "KarpenterControllerPolicy: x\n"], "KarpenterControllerPolicy", [POLICY]),
    "interruptible-reservations": ([asks(f"{AWS}/capacity-reservation-interruptible")], "{key:", [pool()]),
    "network-interfaces": ([node_class("networkInterfaces: [{}]")], "networkInterfaces", [node_class()]),
    "placement-groups": (
        [node_class("placementGroupSelector: {id: pg-1}")],
        "placementGroupSelector",
        [node_class()],
    ),
    "placement-labels": ([asks(f"{AWS}/placement-group-id")], "{key:", [pool()]),
    "node-limits": (
        [pool("limits: {nodes: 5}")],
        "nodes",
        [pool("limits: {cpu: 5}"), pool("replicas: 3\nlimits: {nodes: 5}")],
    ),
    "a1-on-al2023": (
        [asks("kubernetes.io/arch", "arm64"), node_class()],
        "[{key:",
        [
            asks("kubernetes.io/arch", "amd64") + "---\n" + node_class(),
            asks("kubernetes.io/arch", "arm64") + "---\n" + node_class(alias="bottlerocket@latest"),
            asks("kubernetes.io/arch", "${arch}") + "---\n" + node_class(),
        ],
    ),
    "ca-bundle": (
        [values("settings: {clusterCABundle: abc}")],
        "clusterCABundle",
        [values('settings: {clusterCABundle: ""}')],
    ),
    "do-not-disrupt": (
        [pod(annotations="karpenter.sh/do-not-disrupt: 30m")],
        "karpenter.sh/do-not-disrupt",
        [pod(annotations='karpenter.sh/do-not-disrupt: "true"')],
    ),
    "class-fields-1.13": ([node_class("cpuOptions: {}")], "cpuOptions", [node_class()]),
    "budget-reasons-set": (
        [pool("disruption: {budgets: [{reasons: [Drifted, Empty, Drifted]}]}")],
        "reasons",
        [pool("disruption: {budgets: [{reasons: [Drifted, Empty]}]}")],
    ),
    "capacity-buffer": ([BUFFER], "kind", [OVERLAY]),
    "balanced": (
        [pool("disruption: {consolidationPolicy: Balanced}")],
        "consolidationPolicy",
        [pool("disruption: {consolidationPolicy: WhenEmpty}")],
    ),
    "consolidate-after": (
        [pool("disruption: {consolidateAfter: 10m}")],
        "consolidateAfter",
        [pool(f"disruption: {{consolidateAfter: {after}}}") for after in ("0s", "9m", "Never")],
    ),
    "consolidate-after-short": (
        [pool("disruption: {consolidateAfter: 30s}")],
        "consolidateAfter",
        [pool(f"disruption: {{consolidateAfter: {after}}}") for after in ("0s", "1h", "Never")],
    ),
    "daemonset-overhead": (
        [pod("nodeSelector: {karpenter.sh/nodepool: x}", kind="DaemonSet")],
        "nodeSelector",
        [pod("nodeSelector: {karpenter.sh/nodepool: x}"), pod(kind="DaemonSet")],
    ),
    "preview-types": ([OVERLAY + "  price: '1.0'\n"], "price", [OVERLAY]),
    "user-data-size": ([node_class(f"userData: {'x' * 12001}")], "userData", [node_class("userData: x")]),
    "kubelet-free-form": ([node_class("kubelet: {maxPods: 1}")], "kubelet", [node_class()]),
    "nitro-sandbox": ([asks(f"{AWS}/nitro-sandbox")], "{key:", [pool()]),
    "consolidate-after-optional": ([pool("disruption: {budgets: []}")], "disruption", [pool()]),
    "overlay-overrides": ([OVERLAY + "  capacity: {x: 1}\n"], "capacity", [OVERLAY]),
    "profile-not-found": ([node_class("instanceProfile: x")], "instanceProfile", [node_class("role: x")]),
}

BETA = "karpenter.sh/v1beta1"


def crd(name: str = "nodepools.karpenter.sh", strategy: str = "Webhook") -> str:
    """A CRD with a way of conversion."""
    return (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        f"metadata: {{name: {name}}}\nspec:\n  conversion: {{strategy: {strategy}}}\n  x: karpenter.sh\n"
    )


def expression(query: str) -> str:
    """A rule of Prometheus beside one about Karpenter."""
    return (
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: karpenter}\n"
        f"spec:\n  groups: [{{rules: [{{expr: '{query}'}}]}}]\n"
    )


CASES |= {
    "v1-consolidation-policy": (
        [pool("disruption: {consolidationPolicy: WhenUnderutilized}", api=BETA)],
        "consolidationPolicy",
        [pool("disruption: {consolidationPolicy: WhenEmpty}", api=BETA)],
    ),
    "v1-consolidate-after": ([pool("disruption: {budgets: []}", api=BETA)], "disruption", [pool(api=BETA), pool()]),
    "v1-expire-after": (
        [pool("disruption: {expireAfter: 720h}", api=BETA)],
        "expireAfter",
        [pool("disruption: {expireAfter: Never}", api=BETA), pool(api=BETA)],
    ),
    "v1-expire-after-default": (
        [pool(api=BETA)],
        "default",
        [pool("disruption: {expireAfter: 720h}", api=BETA), pool()],
    ),
    "v1-kubelet": ([pool(template="kubelet: {maxPods: 5}", api=BETA)], "kubelet", [pool(api=BETA)]),
    "v1-class-ref": (
        [pool(template="nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, name: x}", api=BETA)],
        "apiVersion",
        [pool(api=BETA)],
    ),
    "v1-image-terms": (
        [node_class("amiFamily: AL2\n#amiSelectorTerms", api="v1beta1")],
        "default",
        [node_class(api="v1beta1"), node_class()],
    ),
    "v1-ubuntu": ([node_class("amiFamily: Ubuntu")], "amiFamily", [node_class("amiFamily: AL2")]),
    "v1-hop-limit": (
        [node_class()],
        "default",
        [node_class("metadataOptions: {httpPutResponseHopLimit: 1}")],
    ),
    "v1-registration-taint": (
        [node_class("amiFamily: Custom\nuserData: echo")],
        "userData",
        [
            node_class("amiFamily: Custom\nuserData: 'a\n\n    karpenter.sh/unregistered:NoExecute'"),
            node_class("userData: echo"),
        ],
    ),
    "v1-al2023-user-data": ([node_class("userData: x")], "userData", [node_class()]),
    "v1-old-annotations": (
        [pod(annotations="karpenter.sh/do-not-evict: 'true'")],
        "karpenter.sh/do-not-evict",
        [pod(annotations="karpenter.sh/do-not-disrupt: 'true'")],
    ),
    "v1-managed-by": (
        [POLICY + 'x: {"aws:ResourceTag/karpenter.sh/managed-by": a}\n'],
        "karpenter.sh/managed-by",
        [POLICY],
    ),
    "v1-disruption-taint": (
        [pod("tolerations: [{key: karpenter.sh/disruption}]")],
        "karpenter.sh/disruption",
        [pod("tolerations: [{key: karpenter.sh/disrupted}]"), pod(annotations="karpenter.sh/disruption-cost: '1'")],
    ),
    "v1-dropped-settings": (
        [values("controller: {env: [{name: LEADER_ELECT, value: 'false'}]}")],
        "LEADER_ELECT",
        [values("controller: {env: [{name: DISABLE_LEADER_ELECTION, value: 'false'}]}")],
    ),
    "v1-gate-drift": (
        [values("settings: {featureGates: {drift: false}}")],
        "drift",
        [values("settings: {featureGates: {drift: true}}")],
    ),
    "metric-reason-liveness": (
        [expression('karpenter_nodeclaims_disrupted_total{reason="liveness"}')],
        "karpenter_nodeclaims_disrupted_total",
        [expression('karpenter_nodeclaims_disrupted_total{reason="expired"}')],
    ),
    "metric-reason-case": (
        [expression('karpenter_nodeclaims_disrupted_total{a="b", reason=~"Empty|Drifted"}')],
        "karpenter_nodeclaims_disrupted_total",
        [expression('karpenter_nodeclaims_disrupted_total{reason=~"empty|drifted"}')],
    ),
    "controller-nodeclass": (
        [expression('controller_runtime_reconcile_total{controller="nodeclass.status"}')],
        "nodeclass.status",
        [expression('controller_runtime_reconcile_total{controller="nodeclass"}')],
    ),
    "conversion-left": (
        [crd()],
        "strategy",
        [crd(strategy="None"), crd("certificates.cert-manager.io")],
    ),
    "conversion-patched": (
        ["patches: [{target: {name: nodepools.karpenter.sh}, patch: '[{path: /spec/conversion/webhook}]'}]\n"],
        "/spec/conversion",
        ["patches: [{target: {name: nodepools.karpenter.sh}, patch: '[{path: /spec/versions}]'}]\n"],
    ),
    "reservation-events": (
        ["karpenter: {detail-type: [EC2 Spot Instance Interruption Warning]}\n", node_class(terms=True)],
        "EC2 Spot Instance",
        [
            "karpenter: {detail-type: [EC2 Spot Instance Interruption Warning]}\n---\n" + node_class(),
            "karpenter: {detail-type: [EC2 Spot Instance Interruption Warning, EC2 Capacity Reservation Instance "
            "Interruption Warning]}\n---\n" + node_class(terms=True),
        ],
    ),
    **{
        change.id: (
            [expression(f"sum(rate({change.subject}[5m]))")],
            change.subject,
            [expression(f"sum({change.subject}_other)"), expression(f"sum(x_{change.subject})")],
        )
        for change in changes()
        if change.area == "metric" and change.subject.startswith("karpenter_") and change.where
    },
}


def marked_texts(change: ReleaseChange, text: str) -> list[str]:
    """What the places of a row are written as; nothing where the row as a whole concerns nobody."""
    source = Source.from_text("a.yaml", text)
    places = Matcher(
        [source], Context(list(objects(source)), Target(before(change.releases))), ControllerSettings([source])
    )
    if change.unless and places.find_places(change.unless):
        return []
    if change.also and not places.find_places(change.also):
        return []
    found = [place for condition in change.where for place in places.find_places(condition)]
    return [place.span.source.text[place.span.start : place.span.end] for place in found]


def before(releases: str) -> Version:
    """The release before the first one of a row."""
    if releases == "main":
        return NEWEST
    first = next(release for release in RELEASES if releases_match(releases, release))
    return RELEASES[max(0, RELEASES.index(first) - 1)]


def move(rules: Mapping[str, Rule], *texts: str, old: str = "1.0.6", new: str = "1.14.1", **more: str) -> Upgrade:
    """What a move means for some texts."""
    sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
    kubernetes = KubernetesVersion.parse(more["kubernetes"]) if "kubernetes" in more else None
    request = LintRequest(Target(Version.parse(new), kubernetes), rules, Selection())
    return upgrade(build(sources), Version.parse(old), request)


class TestRows:
    @pytest.mark.parametrize("name", [c.id for c in changes() if c.tell == "found" or "mentions" in str(c.where)])
    def test_finds_what_it_concerns_and_nothing_else(self, name: str) -> None:
        concerned, written, others = CASES[name]
        found = marked_texts(BY_ID[name], "---\n".join(concerned))
        assert found and found[0].startswith(written), found
        for other in others:
            assert marked_texts(BY_ID[name], other) == [], other

    def test_are_whole(self) -> None:
        assert len({change.id for change in changes()}) == len(changes())
        for change in changes():
            assert change.source and change.text.endswith("."), change.id
            assert (change.do is None) == (change.when is None), change.id
            assert bool(change.where) == (change.tell in ("found", "policy")), change.id
            if change.releases != "main":
                assert any(releases_match(change.releases, release) for release in RELEASES), change.id

    def test_name_rules_that_there_are(self, rules: dict[str, Rule]) -> None:
        assert {name for change in changes() for name in change.rules} <= set(rules)

    def test_are_met_once_on_the_way_and_never_where_the_end_takes_them_back(self) -> None:
        met_by_steps = [c.id for a, b in pairwise([Version(0, 37, 8), *RELEASES]) for c, _ in met(a, b)]
        assert sorted(met_by_steps) == sorted(c.id for c in changes() if c.releases != "main")
        assert "avoid-1.8.4" not in {c.id for c, _ in met(Version(1, 8, 0), Version(1, 8, 5))}
        assert "avoid-1.8.4" in {c.id for c, _ in met(Version(1, 8, 0), Version(1, 8, 4))}

    def test_of_no_release_yet_are_met_only_beyond_the_newest(self) -> None:
        following = ahead()
        patch = Version(NEWEST.major, NEWEST.minor, NEWEST.patch + 1)
        assert list(met(NEWEST, patch)) == []
        beyond = {release for _, release in met(NEWEST, target("next"))}
        assert beyond == ({None} if following is not None else set())
        assert None not in {release for _, release in met(RELEASES[0], NEWEST)}


class TestPolicies:
    ROW = BY_ID["list-instance-profiles"]

    def note_paths(self, rules: Mapping[str, Rule], *texts: str) -> list[str] | None:
        notes = {note.change.id: note for note in move(rules, node_class(), *texts, old="1.6.8", new="1.7.0").notes}
        note = notes.get(self.ROW.id)
        return None if note is None else [place.span.source.path for place in note.places]

    def test_a_permission_is_missed_in_the_policies_that_are_there(self, rules: dict[str, Rule]) -> None:
        assert self.note_paths(rules, POLICY, POLICY) == ["1.yaml", "2.yaml"]

    def test_every_cluster_is_told_where_no_policy_is_there(self, rules: dict[str, Rule]) -> None:
        assert self.note_paths(rules) == []

    @pytest.mark.parametrize(
        "granted",
        ["iam:ListInstanceProfiles", "iam:List*", "iam:*", "iam:listinstanceprofiles", "IAM:listinstanceprofiles"],
    )
    def test_nothing_is_missed_that_one_policy_allows(self, rules: dict[str, Rule], granted: str) -> None:
        messages = self.note_paths(rules, POLICY, POLICY + f'x: ["{granted}"]\n')
        assert messages is None or granted.startswith("IAM"), granted


def test_a_name_is_mentioned_where_it_is_not_the_beginning_of_another() -> None:
    text = f"{POLICY}x: [iam:PassRole, 'iam:PassRole', iam:PassRoles, iam:PassRole-all, iam:PassRole_all]\n"
    source = Source.from_text("policy.json", text)
    found = [place.span.start for place in mentions([source], "iam:PassRole")]
    assert found == [match.start() for match in re.finditer(r"iam:PassRole(?=[,'\"])", text)]
    assert len(found) == 3


class TestTheWay:
    def test_1_0_before_its_sixth_patch_is_left_from_its_last(self) -> None:
        assert [str(stop.release) for stop in route(Version(1, 0, 2), NEWEST, None).stops] == ["1.0.14"]
        assert route(Version(1, 0, 6), NEWEST, None).stops == ()
        assert route(Version(1, 0, 2), Version(1, 0, 9), None).stops == ()

    def test_a_cluster_that_the_end_no_longer_supports_is_upgraded_on_the_way(self) -> None:
        found = route(Version(1, 0, 6), NEWEST, KubernetesVersion(1, 25))
        assert [str(stop.release) for stop in found.stops] == ["1.4.4"]
        assert "bring the cluster to 1.26 to 1.32 here" in found.stops[0].why

    def test_a_cluster_that_is_too_new_is_told(self) -> None:
        found = route(Version(1, 0, 6), Version(1, 6, 0), KubernetesVersion(1, 35))
        assert len(found.trouble) == 2 and "1.35 is too new for it" in found.trouble[1]

    def test_a_cluster_of_the_newest_version_that_the_end_supports_is_not_too_new(self) -> None:
        for release in (Version(1, 6, 0), NEWEST):
            newest = supported(release).most
            assert route(release, release, newest).trouble == ()
            newer = newest._replace(minor=newest.minor + 1)
            assert any("is too new for it" in text for text in route(release, release, newer).trouble)

    def test_one_version_in_common_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No two releases have a single one today."""
        ends = ((26, 30), (30, 34), (31, 35))
        old, new, gone = (KubernetesRange(KubernetesVersion(1, a), KubernetesVersion(1, b)) for a, b in ends)
        for reached, common in ((new, "1.30 to 1.30"), (gone, "None")):
            ranges = {Version(1, 0, 6): old, Version(1, 6, 0): reached}
            monkeypatch.setattr(import_module("nodelint.upgrade.route"), "supported", ranges.__getitem__)
            assert str(route(*ranges, None).common) == common

    def test_both_ends_are_told(self) -> None:
        found = route(Version(1, 0, 6), NEWEST, KubernetesVersion(1, 31))
        assert (str(found.common), found.trouble, found.stops) == ("1.26 to 1.31", (), ())

    def test_ranges_only_grow_at_the_top_and_shrink_at_the_bottom(self) -> None:
        ranges = [supported(release) for release in RELEASES]
        assert all(a.least <= b.least and a.most <= b.most for a, b in pairwise(ranges))


class TestSettings:
    DEPLOYMENT = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: karpenter}\nspec: {template: {spec: {containers: [\n"
        "  {image: 'public.ecr.aws/karpenter/controller:1.0.6', args: [--webhook-port=8443, --log-level=info],\n"
        "   env: [{name: WEBHOOK_PORT, value: '1'}, {name: MIN_VALUES_POLICY, value: Strict},\n"
        "         {name: FEATURE_GATES, value: 'NodeRepair=true,SpotToSpotConsolidation=true'}]}]}}}\n"
    )

    def shifts(self, *texts: str, old: str = "1.0.6", new: str = "1.14.1") -> list[tuple[str, str, str, bool]]:
        sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
        found = ControllerSettings(sources).shifts(Version.parse(old), Version.parse(new))
        return sorted((s.setting.kind, s.setting.name, str(s.release), s.begins) for s in found)

    def test_of_a_deployment(self) -> None:
        assert self.shifts(self.DEPLOYMENT) == [
            ("flag", "webhook-port", "1.1.0", False),
            ("gate", "NodeRepair", "1.1.0", True),
            ("variable", "MIN_VALUES_POLICY", "1.6.0", True),
            ("variable", "WEBHOOK_PORT", "1.1.0", False),
        ]

    def test_of_a_deployment_that_is_another_program(self) -> None:
        assert self.shifts(self.DEPLOYMENT.replace("karpenter/controller", "karpenter/exporter")) == []

    CHART = (
        "settings: {clusterName: x, minValuesPolicy: Strict, featureGates: {nodeRepair: true}}\nwebhook: {port: 1}"
    )

    @pytest.mark.parametrize("style", ["flux", "argo", "argo-text", "kustomize", "plain", "umbrella"])
    def test_of_a_chart(self, style: str) -> None:
        indented = "".join(f"\n          {line}" for line in self.CHART.splitlines())
        argo = (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    chart: karpenter\n    helm:\n"
        )
        text = {
            "flux": values(self.CHART),
            "argo": f"{argo}      valuesObject:{indented}\n",
            "argo-text": f"{argo}      values: |{indented}\n",
            "kustomize": f"helmCharts:\n  - name: karpenter\n    valuesInline:{indented}\n",
            "plain": f"# karpenter\n{self.CHART}\n",
            "umbrella": f"karpenter:{indented}\n",
        }[style]
        assert self.shifts(text) == [
            ("value", "settings.featureGates.nodeRepair", "1.1.0", True),
            ("value", "settings.minValuesPolicy", "1.6.0", True),
            ("value", "webhook.port", "1.1.0", False),
        ]

    def test_of_another_chart(self) -> None:
        assert self.shifts(values(self.CHART).replace("chart: karpenter,", "chart: other,")) == []

    def test_a_flag_that_ends_is_an_error(self, rules: dict[str, Rule]) -> None:
        messages = move(rules, self.DEPLOYMENT, new="1.1.0")
        assert messages.number_of("error") == 1 and messages.at_or_above("error")


class TestFindings:
    def test_are_asked_for_wherever_something_changes(self, rules: dict[str, Rule]) -> None:
        """That nothing changes elsewhere is shown by `test_nothing_changes_within_a_run_of_releases`."""
        changing = {run.first for run in runs(RELEASES)} - {RELEASES[0]}
        assert len(changing) > 10
        assert changing <= set(turns(rules, RELEASES[0], NEWEST))

    def test_appear_with_their_release_and_whether_their_fix_can_be_early(self, rules: dict[str, Rule]) -> None:
        old = node_class(api="v1beta1")
        note = next(n for n in move(rules, old).notes if n.change.id == "v1beta1-gone")
        assert [(str(f.release), f.appears, f.early) for f in note.findings] == [("1.1.0", True, True)]

    def test_go_away_with_their_release(self, rules: dict[str, Rule]) -> None:
        messages = move(rules, asks("k8s.io/team", "a"), node_class(terms=False))
        gone = [(f.result.rule.name, str(f.release)) for f in messages.finding_changes if not f.appears]
        assert ("field-of-another-release", "1.9.0") in gone

    def test_are_told_once_where_a_row_says_the_same(self, rules: dict[str, Rule]) -> None:
        messages = move(rules, pool("replicas: 2"), node_class())
        note = next(n for n in messages.notes if n.change.id == "replicas")
        assert [f.result.rule.name for f in note.findings] == ["field-of-another-release"]
        assert "field-of-another-release" not in {f.result.rule.name for f in messages.finding_changes}


class TestCommand:
    @pytest.mark.slow
    def test_what_it_prints(self, nodelint: Run, snapshot: SnapshotAssertion) -> None:
        done = nodelint("upgrade", "--from", "1.0.6", "--to", "1.14.1", "examples", cwd=ROOT)
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout == snapshot

    def test_markdown_and_everything(self, rules: dict[str, Rule], snapshot: SnapshotAssertion) -> None:
        messages = move(rules, pool("replicas: 2\ndisruption: {consolidateAfter: 1h}"), node_class(), old="1.7.0")
        assert upgrade_markdown(messages, everything=True) == snapshot
        assert "Further changes" in upgrade_text(messages, everything=True)

    def test_json_is_as_the_schema_says(self, rules: dict[str, Rule]) -> None:
        messages = move(rules, pool("replicas: 2", api="karpenter.sh/v1beta1"), node_class(), TestSettings.DEPLOYMENT)
        read = upgrade_json(messages)
        SCHEMA.validate(read)
        assert read["changes"] and read["settings"] and read["unseen"]
        assert [c["release"] for c in read["changes"]] == sorted(
            (c["release"] for c in read["changes"]), key=Version.parse
        )

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            ([], "the release to upgrade from is not known: set --from, or `karpenter-version`"),
            (["--from", str(NEWEST)], f"--to {NEWEST} is not newer than {NEWEST}"),
            (["--from", "1.9", "--to", "1.2"], "--to 1.2.8 is not newer than 1.9.3"),
            (["--from", "x"], "`x` is not a Karpenter version"),
            (["--from", "14"], "`14` is not a Karpenter version: did you mean 1.14?"),
            (["--from", "1.0.6", "--to", "0.37"], "--to: Karpenter 0.37 is too old"),
        ],
    )
    def test_what_cannot_be_told(self, nodelint: Run, flags: list[str], message: str) -> None:
        done = nodelint("upgrade", *flags)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr

    def test_the_configuration_names_the_release_to_come_from(self, nodelint: Run, tmp_path: Path) -> None:
        (tmp_path / "nodelint.yaml").write_text('karpenter-version: "1.13.1"\nfail-on: never\n')
        (tmp_path / "class.yaml").write_text(node_class())
        done = nodelint("upgrade", "--to", "1.14.1")
        assert done.returncode == 0
        assert done.stdout.startswith("Karpenter 1.13.1 to 1.14.1: 1 object in 1 file\n")

    def test_a_release_before_1_is_none_to_come_from(self, nodelint: Run, tmp_path: Path) -> None:
        old = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {}\n"
        (tmp_path / "pool.yaml").write_text(old)
        (tmp_path / "release.yaml").write_text(values("replicas: 1").replace("1.0.6", "0.29.0"))
        done = nodelint("upgrade", "--to", "1.4")
        assert (done.returncode, done.stdout) == (2, "")
        assert "the release to upgrade from is not known" in done.stderr

    def test_files_state_the_release_to_come_from(self, nodelint: Run, tmp_path: Path) -> None:
        for name, release in (("a", "1.13.1"), ("b", "1.12.0")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "class.yaml").write_text(node_class())
            (tmp_path / name / "release.yaml").write_text(values("replicas: 1").replace("1.0.6", release))
        done = nodelint("upgrade", "a")
        assert done.stderr == "nodelint: Karpenter 1.13.1 as a/release.yaml:5 states it (the HelmRelease)\n"
        assert done.stdout.startswith(f"Karpenter 1.13.1 to {NEWEST}: 1 object in 1 file\n")
        both = nodelint("upgrade")
        assert both.returncode == 2
        assert "several releases to upgrade from: 1.12.0 (b/release.yaml:5), 1.13.1 (a/release.yaml:5)" in both.stderr

    def test_terraform_states_the_release_and_the_cluster(self, nodelint: Run, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        (tmp_path / "class.yaml").write_text(node_class())
        (tmp_path / "eks.tf").write_text(
            'module "eks" {\n  cluster_version = "1.31"\n}\n'
            'resource "helm_release" "k" {\n  name = "k"\n  chart = "karpenter"\n  version = "1.3.0"\n}\n'
        )
        done = nodelint("upgrade", "--format", "json", "--fail-on", "never")
        assert "Karpenter 1.3.0 as eks.tf:7 states it" in done.stderr
        report = json.loads(done.stdout)
        assert (report["from"], report["route"]["kubernetes"]["cluster"]) == ("1.3.0", "1.31")

    def test_an_overlay_is_looked_at_as_it_is_built(self, nodelint: Run, tmp_path: Path) -> None:
        """What an overlay replaces is told there, and what it takes away is not told."""
        files = {
            "base/kustomization.yaml": "resources: [class.yaml]\n",
            "base/class.yaml": node_class(),
            "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: class.yaml}]\n",
            "prod/class.yaml": "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\n"
            "spec:\n  capacityReservationSelectorTerms: [{tags: {team: a}}]\n",
        }
        write_files(tmp_path, files)
        flags = ("upgrade", "--from", "1.3.0", "--to", "1.14.1", "--format", "json", "--fail-on", "never")
        whole, of_base = (json.loads(nodelint(*flags, *paths).stdout) for paths in ([], ["base/class.yaml"]))
        assert "open-reservations" not in [note["id"] for note in whole["changes"]]
        assert "open-reservations" not in [note["id"] for note in of_base["changes"]], "the same as for the whole"
        (tmp_path / "prod" / "class.yaml").write_text(node_class(), encoding="utf-8")
        assert "open-reservations" in [note["id"] for note in json.loads(nodelint(*flags).stdout)["changes"]]

    def test_a_field_that_may_be_left_out_from_a_release_on(self, nodelint: Run, tmp_path: Path) -> None:
        (tmp_path / "pool.yaml").write_text(pool("disruption: {budgets: []}"))
        done = nodelint("upgrade", "--from", "1.14.1", "--to", "1.15.1", "pool.yaml")
        assert "Kubernetes: 1.14.1 supports 1.26 to 1.36, 1.15.1 supports 1.26 to 1.37" in done.stdout
        assert "Support: 1.14 until 2027-07 (long-term), 1.15 until the next minor version is out." in done.stdout
        assert "info NodePool spec.disruption.consolidateAfter (1.15.0)" in done.stdout

    def test_exit_codes(self, nodelint: Run, tmp_path: Path) -> None:
        (tmp_path / "class.yaml").write_text(node_class())
        flags = ("upgrade", "--from", "1.5.0", "--to", "1.6.0", "class.yaml")
        assert nodelint(*flags).returncode == 0
        assert nodelint(*flags, "--fail-on", "warning").returncode == 1
        assert nodelint(*flags, "missing.yaml").returncode == 2
        (tmp_path / "broken.yaml").write_text("kind: NodePool\nspec: [karpenter\n")
        broken = nodelint(*flags, "broken.yaml")
        assert broken.returncode == 2
        assert "class.yaml:3:18  EC2NodeClass/default" in broken.stdout
        assert broken.stderr.startswith("nodelint: broken.yaml:3:1: not looked at: expected")


class TestFromBeforeOne:
    def test_each_minor_has_its_stops(self) -> None:
        stops = {
            old: [str(stop.release) for stop in route(Version.parse(old), NEWEST, None).stops]
            for old in ("0.32.0", "0.33.12", "0.37.0", "0.37.8")
        }
        assert stops == {
            "0.32.0": ["0.33.12", "1.0.14"],
            "0.33.12": ["1.0.14"],
            "0.37.0": ["0.37.8", "1.0.14"],
            "0.37.8": ["1.0.14"],
        }

    def test_what_v1_changed_is_told_with_its_places(self, rules: dict[str, Rule]) -> None:
        beta = pool("disruption: {consolidationPolicy: WhenUnderutilized, expireAfter: 720h}", api=BETA)
        found = move(rules, beta, node_class(), expression("karpenter_nodes_created > 5"), old="0.36.2", new="1.0.14")
        messages = {note.change.id for note in found.notes}
        assert {
            "v1-crds",
            "v1-consolidation-policy",
            "v1-expire-after",
            "v1-hop-limit",
            "metric-nodes-created",
        } <= messages
        assert "v1beta1-gone" not in messages
        assert str(found.old.karpenter) == "0.36.2"
        SCHEMA.validate(upgrade_json(found))
        assert upgrade_text(found, False).startswith("Karpenter 0.36.2 to 1.0.14")

    def test_a_move_within_v1_tells_nothing_of_it(self, rules: dict[str, Rule]) -> None:
        found = move(rules, pool(api=BETA), node_class(), expression("karpenter_nodes_created > 5"))
        assert not any(note.change.id.startswith("v1-") for note in found.notes)
        assert "metric-nodes-created" not in {note.change.id for note in found.notes}
