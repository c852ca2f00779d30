"""What rules claim, each with a twin of which nothing is said: in a YAML file, in a text of Terraform, in a chart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.releases import NEWEST, KubernetesVersion, target
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

ARCH = "key: kubernetes.io/arch, operator: In, values: [amd64]"
OS = "key: kubernetes.io/os, operator: In, values: [windows]"
FAMILY = "key: karpenter.k8s.aws/instance-family, operator: In, values: "
CATEGORY = "key: karpenter.k8s.aws/instance-category, operator: In, values: "
CAPACITY = "key: karpenter.sh/capacity-type, operator: In, values: "
NODE_GROUP = "key: eks.amazonaws.com/capacityType, operator: In, values: "
BOTTLEROCKET = "alias: bottlerocket@v1.46.0"
WINDOWS = "alias: windows2022@latest"
PARAMETER = "ssmParameter: /aws/service/eks/optimized-ami/1.33/amazon-linux-2023/{}/standard/recommended/image_id"


class Claim(NamedTuple):
    """A rule, a text of which it says a thing that holds `words`, and a twin of which it does not."""

    rule: str
    words: str
    bad: str
    good: str
    karpenter: str | None = None
    kubernetes: str | None = None


def pool(*lines: str, requirements: tuple[str, ...] = (ARCH,), of_template: str = "") -> str:
    """A NodePool with further lines of its spec, and one of its template's."""
    text = nodepool(*requirements).replace("spec:\n", "spec:\n" + "".join(f"  {line}\n" for line in lines), 1)
    return text.replace("    spec:\n", f"    spec:\n      {of_template}\n", 1) if of_template else text


def pair(requirement: str, *lines: str, ami: str = "alias: al2023@v20250403", of_template: str = "") -> str:
    """A NodePool and its class."""
    return f"{pool(requirements=(requirement,), of_template=of_template)}---\n{nodeclass(*lines, ami=ami)}"


def volume(ebs: str) -> str:
    """A class with one volume."""
    return nodeclass(f"blockDeviceMappings: [{{deviceName: /dev/xvda, ebs: {{{ebs}}}}}]")


def config(setting: str) -> str:
    """A class whose NodeConfig has a setting of the kubelet."""
    text = f"spec: {{kubelet: {{config: {{{setting}: {{memory.available: 2Gi, memory: 2Gi}}}}}}}}"
    return nodeclass("userData: |", "  apiVersion: node.eks.aws/v1alpha1", "  kind: NodeConfig", f"  {text}")


def script(line: str) -> str:
    """A class with a script."""
    return nodeclass("userData: |", "  #!/bin/bash", f"  {line}")


def disruption(budgets: str) -> str:
    """A pool that consolidates empty nodes, with budgets."""
    policy = "consolidationPolicy: WhenEmpty, consolidateAfter: 5m"
    return pool(f"disruption: {{{policy}, budgets: [{budgets}]}}")


def bound(key: str, operator: str, value: str) -> str:
    return pool(requirements=(ARCH, f"key: {key}, operator: {operator}, values: ['{value}']"))


OWN = ("amiFamily: AL2023",)
SOFT = "kubelet: {{evictionHard: {{memory.available: {}}}, evictionSoft: {{memory.available: {}}}, {}}}"
GRACE = "evictionSoftGracePeriod: {memory.available: 1m}"
RESERVED = "capacityReservationSelectorTerms: [{tags: {for: ml}}]"
NVME = "key: karpenter.k8s.aws/instance-local-nvme, operator: Gt, values: ['100']"
GPU_TAINT = "taints: [{key: nvidia.com/gpu, effect: NoSchedule}]"
EBS_TAINT = "{}: [{{key: ebs.csi.aws.com/agent-not-ready, effect: NoExecute}}]"
SECOND = "blockDeviceMappings: [{{deviceName: {}, rootVolume: true, ebs: {{volumeSize: 50Gi, encrypted: true}}}}]"
KEY = "volumeSize: 60Gi, kmsKeyID: alias/nodes"

OVERLAYS = """\
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: a
spec:
  weight: 10
  requirements: [{{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}}]
  price: "1"
---
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata:
  name: b
spec:
  weight: {weight}
  requirements: [{{key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}}]
  price: "2"
---
"""
AUTO_MODE = "{group: eks.amazonaws.com, kind: NodeClass, name: default}"
M5, C5 = (nodepool(f"{FAMILY}[{family}]", name=family) for family in ("m5", "c5"))
SECOND_M5 = nodepool(f"{FAMILY}[m5, m6i]", name="web")
HEAVY_M5 = nodepool(f"{FAMILY}[m5, m6i]", name="web", spec="  weight: 10\n")
G6 = nodepool(f"{FAMILY}[g6]", f"{CAPACITY}[on-demand]", template=f"      {GPU_TAINT}\n")

CLAIMS = [
    Claim(
        "overlay-conflict",
        "Karpenter rejects this overlay",
        OVERLAYS.format(weight=10) + f"{M5}---\n{nodeclass()}",
        OVERLAYS.format(weight=20) + f"{M5}---\n{nodeclass()}",
    ),
    Claim(
        "overlapping-pools",
        "share",
        f"{M5}---\n{SECOND_M5}---\n{nodeclass()}",
        f"{M5}---\n{C5}---\n{nodeclass()}",
    ),
    Claim(
        "overlapping-pools",
        "because of its name",
        f"{M5}---\n{SECOND_M5}---\n{nodeclass()}",
        f"{M5}---\n{HEAVY_M5}---\n{nodeclass()}",
    ),
    Claim(
        "cluster-security-group-tag",
        "several security groups can carry",
        nodeclass(net="tags: {kubernetes.io/cluster/main: owned}"),
        nodeclass(net="tags: {'aws:eks:cluster-name': main}"),
    ),
    Claim("flex-preference", "values are a set", pair(f"{FAMILY}[c7i-flex, c7i]"), pair(f"{FAMILY}[c7i, c7i-flex]")),
    Claim("retired-type", "no longer offer", pair(f"{FAMILY}[p3]"), pair(f"{FAMILY}[g6]")),
    Claim(
        "auto-mode-label",
        "is not a label of EKS Auto Mode",
        nodepool("key: karpenter.k8s.aws/instance-category, operator: In, values: [m]", ref=AUTO_MODE),
        nodepool("key: eks.amazonaws.com/instance-category, operator: In, values: [m]", ref=AUTO_MODE),
    ),
    Claim(
        "undiscovered-memory",
        "Karpenter before 1.4.0",
        pair(f"{FAMILY}[g5]"),
        pair(f"{FAMILY}[g5]", *OWN, ami="id: ami-0123456789abcdef0"),
        "1.3.3",
    ),
    Claim(
        "unused-reservation",
        "exclude `reserved`",
        f"{G6}---\n{nodeclass(RESERVED)}",
        f"{G6.replace('[on-demand]', '[reserved, on-demand]')}---\n{nodeclass(RESERVED)}",
        "1.6.0",
    ),
    Claim("duplicate-name", "twice", f"{M5}---\n{M5.replace('m5]', 'm6i]')}", f"{M5}---\n{C5}"),
    Claim("unencrypted-volume", "EC2 refuses the launch", volume(KEY), volume(f"{KEY}, encrypted: true")),
    Claim(
        "unencrypted-volume", "does not set", volume("volumeSize: 60Gi"), volume("snapshotID: snap-0123456789abcdef0")
    ),
    Claim(
        "ended-family",
        "images of `AL2` get no more patches",
        nodeclass("amiFamily: AL2", ami="tags: {team: a}"),
        nodeclass("amiFamily: AL2", ami="name: ubuntu-eks/k8s_1.30/images/*, owner: '099720109477'"),
    ),
    Claim(
        "hidden-kubelet-setting", "Karpenter does not read", config("kubeReserved"), config("evictionSoft"), "1.9.1"
    ),
    Claim(
        "unused-reservation",
        "exclude `reserved`",
        f"{pool(requirements=(f'{FAMILY}[g6]', f'{CAPACITY}[spot]'))}---\n{nodeclass(RESERVED)}",
        f"{pool(requirements=(f'{FAMILY}[g6]', f'{CAPACITY}[reserved, spot]'))}---\n{nodeclass(RESERVED)}",
    ),
    Claim("controller-check", "crashes", bound("acme.io/rank", "Lt", "0"), bound("acme.io/rank", "Lt", "9"), "1.4.0"),
    Claim("controller-check", "20 GiB", volume("volumeSize: 10Gi"), volume("volumeSize: 80Gi")),
    Claim("wrong-vendor-image", "devices of nvidia", pair(f"{FAMILY}[g4ad]"), pair(f"{FAMILY}[g4dn]")),
    Claim("fractional-gpu", "counts no GPU", pair(f"{FAMILY}[g6f]"), pair(f"{FAMILY}[g6]")),
    Claim(
        "node-churn", "expires within", pool(of_template="expireAfter: 10m"), pool(of_template="expireAfter: 336h")
    ),
    Claim(
        "untrusted-image-owner",
        "is not an account",
        nodeclass(*OWN, ami="name: golden-*, owner: '*'"),
        nodeclass(*OWN, ami="tags: {golden: 'true'}"),
    ),
    Claim(
        "blocking-budget",
        "applies at all times",
        disruption("{nodes: '0'}"),
        disruption("{nodes: '0', schedule: '0 9 * * 1-5', duration: 8h}"),
    ),
    Claim(
        "budget-without-effect",
        "never happens in this NodePool",
        disruption("{nodes: 20%}, {nodes: '2', reasons: [Underutilized]}"),
        disruption("{nodes: 20%}, {nodes: '2', reasons: [Empty]}"),
    ),
    Claim(
        "comment-against-value",
        "720h",
        pool(of_template="expireAfter: 72h # 30 * 24h = 720h"),
        pool(of_template="expireAfter: 720h # 30 * 24h = 720h"),
    ),
    Claim(
        "unsupported-alias",
        "no image on Kubernetes",
        nodeclass(ami="alias: al2@latest"),
        nodeclass(ami="alias: al2023@latest"),
        kubernetes="1.34",
    ),
    Claim(
        "bound-in-another-unit",
        "is in MiB",
        bound("karpenter.k8s.aws/instance-memory", "Gt", "16"),
        bound("karpenter.k8s.aws/instance-memory", "Gt", "16383"),
    ),
    Claim(
        "bound-in-another-unit",
        "is in Mbit/s",
        bound("karpenter.k8s.aws/instance-network-bandwidth", "Gt", "25"),
        bound("karpenter.k8s.aws/instance-network-bandwidth", "Gt", "24999"),
    ),
    Claim(
        "accelerators-beside-cpus",
        "without a taint",
        pair(f"{CATEGORY}[m, g]"),
        pair(f"{CATEGORY}[m, g]", of_template=GPU_TAINT),
    ),
    Claim(
        "startup-taint-as-taint",
        "EBS CSI driver",
        pool(of_template=EBS_TAINT.format("taints")),
        pool(of_template=EBS_TAINT.format("startupTaints")),
    ),
    Claim("controller-check", "with its path", nodeclass(role="nodes/Nodes"), nodeclass(role="Nodes"), "1.7.0"),
    Claim("controller-check", "role must be a name", nodeclass(role="nodes/Nodes"), nodeclass(role="Nodes"), "1.1.0"),
    Claim(
        "controller-check",
        "is an ARN",
        nodeclass(role="${module.karpenter.node_iam_role_arn}"),
        nodeclass(role="${module.karpenter.node_iam_role_name}"),
    ),
    Claim(
        "replicas-beyond-limit",
        "is below `replicas: 9`",
        pool("replicas: 9", "limits: {nodes: 8}"),
        pool("replicas: 9", "limits: {nodes: 12}"),
    ),
    Claim(
        "instance-store-without-disks",
        "does not pass `RAID0` to Windows nodes",
        pair(f"{FAMILY}[m5d]", "instanceStorePolicy: RAID0", ami=WINDOWS),
        pair(f"{FAMILY}[m5d]", "instanceStorePolicy: RAID0"),
    ),
    Claim(
        "instance-store-without-disks",
        "does not pass `RAID0` to nodes of family Custom",
        pair(f"{FAMILY}[m5d]", "amiFamily: Custom", "instanceStorePolicy: RAID0", ami="id: ami-0123456789abcdef0"),
        pair(f"{FAMILY}[m5d]", *OWN, "instanceStorePolicy: RAID0", ami="id: ami-0123456789abcdef0"),
    ),
    Claim(
        "broad-selector",
        "by the tag of `green`, and subnets by the tag of `blue`",
        nodeclass(net="tags: {karpenter.sh/discovery: blue}")
        .replace("blue}", "green}")
        .replace("green}", "blue}", 1),
        nodeclass(net="tags: {karpenter.sh/discovery: blue}"),
    ),
    Claim(
        "bound-in-another-unit",
        "instance-gpu-memory is in MiB",
        bound("karpenter.k8s.aws/instance-gpu-memory", "Gt", "16"),
        bound("karpenter.k8s.aws/instance-gpu-memory", "Gt", "16000"),
    ),
    Claim(
        "startup-taint-as-taint",
        "Cilium",
        pool(of_template="taints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]"),
        pool(of_template="startupTaints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]"),
    ),
    Claim(
        "comment-against-value",
        "`prefer spot`",
        pool(requirements=(ARCH, f"{CAPACITY}[on-demand]")).replace("[on-demand]}", "[on-demand]} # prefer spot"),
        pool(requirements=(ARCH, f"{CAPACITY}[spot, on-demand]")).replace("d]}", "d]} # prefer spot"),
    ),
    Claim(
        "blocking-budget",
        "and consolidates only empty nodes",
        pool("disruption: {consolidateAfter: 5m, budgets: [{nodes: '0', reasons: [Drifted, Underutilized]}]}"),
        pool("disruption: {consolidateAfter: 5m, budgets: [{nodes: '0', reasons: [Underutilized]}]}"),
    ),
    Claim(
        "instance-store-without-disks", "nothing on the node", pair(NVME), pair(NVME, "instanceStorePolicy: RAID0")
    ),
    Claim(
        "controller-check",
        "`podsPerCore`",
        nodeclass("kubelet: {podsPerCore: 10}", ami=BOTTLEROCKET),
        nodeclass("kubelet: {podsPerCore: 10}"),
    ),
    Claim(
        "controller-check",
        "one address in `clusterDNS`",
        nodeclass("kubelet: {clusterDNS: [10.0.0.10, 10.0.0.11]}", ami=BOTTLEROCKET),
        nodeclass("kubelet: {clusterDNS: [10.0.0.10]}", ami=BOTTLEROCKET),
    ),
    Claim(
        "soft-eviction-below-hard",
        "reaches evictionHard",
        nodeclass(SOFT.format("500Mi", "200Mi", GRACE)),
        nodeclass(SOFT.format("200Mi", "500Mi", GRACE)),
    ),
    Claim(
        "imds-disabled",
        "never joins",
        nodeclass("metadataOptions: {httpEndpoint: disabled}"),
        nodeclass("metadataOptions: {httpEndpoint: enabled}"),
    ),
    Claim(
        "unbootable-volume-type",
        "EC2 cannot boot",
        volume("volumeSize: 500Gi, volumeType: sc1"),
        volume("volumeSize: 500Gi, volumeType: gp3"),
    ),
    Claim(
        "consolidation-of-static-pool",
        "static pools are not consolidated",
        pool("replicas: 3", "disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}"),
        pool("replicas: 3"),
    ),
    Claim(
        "controller-check",
        "selects every image",
        nodeclass(*OWN, ami="name: '*', owner: self"),
        nodeclass(*OWN, ami="name: 'nodes-2026-*', owner: self"),
    ),
    Claim(
        "controller-check",
        "a term without a tag or name selects every",
        nodeclass(net="tags: {eksctl.io/cluster: }"),
        nodeclass(net="tags: {eksctl.io/cluster: main}"),
    ),
    Claim(
        "controller-check",
        "`eksctl.io/cluster` has no value",
        nodeclass(net="tags: {eksctl.io/cluster: , tier: private}"),
        nodeclass(net="tags: {eksctl.io/cluster: main, tier: private}"),
    ),
    Claim(
        "user-data-syntax",
        "settings.kernel.sysctl.vm.swappiness must be a string",
        nodeclass("userData: |", "  [settings.kernel.sysctl]", '  "vm.swappiness" = 10', ami=BOTTLEROCKET),
        nodeclass("userData: |", "  [settings.kernel.sysctl]", '  "vm.swappiness" = "10"', ami=BOTTLEROCKET),
    ),
    Claim(
        "unpublished-parameter",
        "AWS publishes no SSM parameter",
        nodeclass(*OWN, ami=PARAMETER.format("amd64")),
        nodeclass(*OWN, ami=PARAMETER.format("x86_64")),
    ),
    Claim(
        "root-volume-device",
        "adds a second disk",
        nodeclass(SECOND.format("/dev/sda1")),
        nodeclass(SECOND.format("/dev/xvda")),
    ),
    Claim(
        "login-in-user-data",
        "fetches SSH keys",
        script("curl https://github.com/alice.keys >> ~ec2-user/.ssh/authorized_keys"),
        script("curl -fsSL https://example.org/agent.rpm -o /opt/agent.rpm"),
    ),
    Claim(
        "login-in-user-data",
        "root rights without a password",
        script("echo 'ops ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers.d/ops"),
        script("visudo -c"),
    ),
    Claim(
        "untainted-windows",
        "have no taint",
        pair(OS, ami=WINDOWS),
        pair(OS, ami=WINDOWS, of_template="taints: [{key: os, value: windows, effect: NoSchedule}]"),
    ),
    Claim(
        "short-grace-period",
        "after a drain of `3m`",
        pool(of_template="terminationGracePeriod: 3m"),
        pool(of_template="terminationGracePeriod: 24h"),
    ),
    Claim(
        "exported-metadata",
        "server-side apply refuses",
        nodepool().replace("metadata:\n", "metadata:\n  managedFields: [{manager: kubectl, operation: Update}]\n"),
        nodepool().replace("metadata:\n", "metadata:\n  annotations: {team: a}\n"),
    ),
    Claim(
        "unknown-label",
        "can be on-demand",
        pool(requirements=(f"{NODE_GROUP}[SPOT]",)),
        pool(requirements=(f"{NODE_GROUP}[SPOT]", f"{CAPACITY}[spot]")),
    ),
    Claim(
        "comment-against-value",
        "`100`, but the value is `16`",
        pool("limits: {cpu: 16} # limit to 100 CPU cores"),
        pool("limits: {cpu: 100} # limit to 100 CPU cores"),
    ),
]


ROLE_ARN = nodeclass().replace("role: ", "role: arn:aws:iam::111122223333:role/")
STATIC = pool("replicas: 3", "limits: {nodes: 3}")


@pytest.mark.parametrize(
    ("rule", "words", "text", "expected", "silent"),
    [
        ("controller-check", "role must be a name", ROLE_ARN, "1.1.2", "1.2.0"),
        ("controller-check", "keeps creating instance profiles", ROLE_ARN, "1.7.0", "1.6.5"),
        ("field-of-another-release", "`replicas`", STATIC, "1.7.1", "1.8.1"),
        ("undiscovered-memory", "Karpenter before 1.4.0", pair(f"{FAMILY}[m7i, m7g]"), "1.3.3", "1.4.0"),
    ],
)
def test_a_claim_is_silent_on_the_releases_that_it_is_not_about(
    rules: dict[str, Rule], rule: str, words: str, text: str, expected: str, silent: str
) -> None:
    def messages(release: str) -> str:
        request = LintRequest(Target(target(release), None), rules, Selection(frozenset({rule})))
        return "\n".join(r.finding.message for r in lint([Source.from_text("a.yaml", text)], request).results)

    assert words in messages(expected)
    assert words not in messages(silent)


def in_terraform(text: str) -> str:
    """Each document in a resource of its own."""
    bodies = ["\n".join(f"    {line}" for line in part.splitlines()) for part in text.split("---\n")]
    return "\n".join(
        f'resource "kubectl_manifest" "m{n}" {{\n  yaml_body = <<-YAML\n{body}\n  YAML\n}}\n'
        for n, body in enumerate(bodies)
    )


@pytest.mark.parametrize("form", ["a.yaml", "main.tf"])
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.rule}: {claim.words}")
def test_a_claim_and_its_twin(rules: dict[str, Rule], claim: Claim, form: str) -> None:
    kubernetes = KubernetesVersion.parse(claim.kubernetes) if claim.kubernetes else None
    aim = Target(target(claim.karpenter) if claim.karpenter else NEWEST, kubernetes)

    def messages(text: str) -> list[str]:
        source = Source.from_text(form, in_terraform(text) if form.endswith(".tf") else text)
        report = lint([source], LintRequest(aim, rules, Selection(frozenset({claim.rule}))))
        assert not report.faults
        return [result.finding.message for result in report.results]

    assert any(claim.words in message for message in messages(claim.bad))
    assert not any(claim.words in message for message in messages(claim.good))


CHART = "apiVersion: v2\nname: pools\nversion: 1.0.0\n"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.rule}: {claim.words}")
def test_a_claim_and_its_twin_in_a_chart(nodelint: Run, tmp_path: Path, claim: Claim) -> None:
    options = ["--karpenter-version", claim.karpenter or str(NEWEST)]
    options += ["--kubernetes-version", claim.kubernetes] if claim.kubernetes else []

    def messages(text: str) -> list[str]:
        chart = tmp_path / "chart"
        (chart / "templates").mkdir(parents=True, exist_ok=True)
        (chart / "Chart.yaml").write_text(CHART, encoding="utf-8")
        (chart / "values.yaml").write_text("enabled: true\n", encoding="utf-8")
        template = f"{{{{- if .Values.enabled }}}}\n{text}{{{{- end }}}}\n"
        (chart / "templates" / "pools.yaml").write_text(template, encoding="utf-8")
        done = nodelint("check", "--select", claim.rule, "--format", "json", *options, "chart", cwd=tmp_path)
        return [finding["message"] for finding in json.loads(done.stdout)["findings"]]

    assert any(claim.words in message for message in messages(claim.bad))
    assert not any(claim.words in message for message in messages(claim.good))
