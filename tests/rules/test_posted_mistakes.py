"""Mistakes as people post them about Karpenter: each is told so that its author knows what to do."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.edits import apply
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.report.style import TextStyle
from nodelint.report.text import findings_text
from nodelint.rule.definition import bundled, load
from nodelint.text import Source

RULES = load(bundled())
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: ["amd64"]
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
  limits:
    cpu: 1000
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-prod
  amiSelectorTerms:
    - alias: al2023@v20250807
  subnetSelectorTerms:
    - tags:
        karpenter.sh/discovery: prod
  securityGroupSelectorTerms:
    - tags:
        karpenter.sh/discovery: prod
"""
DEEP = "      disruption:\n        consolidationPolicy: WhenEmpty\n        consolidateAfter: 1m\n  limits:\n"
ARCH = '        - key: kubernetes.io/arch\n          operator: In\n          values: ["amd64"]\n'
MEMORY = "        - key: karpenter.k8s.aws/instance-memory\n          operator: Lt\n          values: "
FAMILIES = (
    '        - key: karpenter.k8s.aws/instance-family\n          operator: In\n          values: ["m7g", "c7g"]\n'
)
MISTAKES = {
    "a field a level too deep": [("  limits:\n", DEEP)],
    "labels below spec": [("  limits:\n", "      labels:\n        team: a\n  limits:\n")],
    "the spec of the spec": [
        ("      requirements:\n" + ARCH, "      spec:\n        requirements: []\n"),
        ("      nodeClassRef:\n", "        nodeClassRef:\n"),
        ("        group:", "          group:"),
        ("        kind: EC2NodeClass\n        name", "          kind: EC2NodeClass\n          name"),
    ],
    "limits of a Provisioner": [("  limits:\n    cpu", "  limits:\n    resources:\n      cpu")],
    "expireAfter where v1beta1 had it": [
        ("  limits:", "  disruption:\n    consolidateAfter: 1m\n    expireAfter: 30d\n  limits:")
    ],
    "expireAfter twice": [
        (
            "  limits:",
            "      expireAfter: Never\n  disruption:\n    consolidateAfter: 1m\n    expireAfter: 30d\n  limits:",
        )
    ],
    "no unit": [("  limits:", "  disruption:\n    consolidateAfter: 30\n  limits:")],
    "no consolidation": [
        ("  limits:", "  disruption:\n    consolidationPolicy: Never\n    consolidateAfter: Never\n  limits:")
    ],
    "units of limits": [("cpu: 1000", "cpu: 1000 cores\n    memory: 1000GB")],
    "a schedule of six fields": [
        (
            "  limits:",
            "  disruption:\n    consolidateAfter: 1m\n    budgets:\n      - nodes: 10 %\n"
            '        schedule: "0 9 * * mon-fri *"\n        duration: 8h\n  limits:',
        )
    ],
    "a taint without an effect": [("  limits:", "      taints:\n        - key: dedicated\n  limits:")],
    "one value and no list": [('["amd64"]', "amd64")],
    "minValues": [('["amd64"]', '["amd64"]\n          minValues: 2')],
    "memory in GiB": [(ARCH, MEMORY + '["64Gi"]\n')],
    "a label of Karpenter's": [("kubernetes.io/arch", "karpenter.sh/nodepool")],
    "another architecture": [(ARCH, FAMILIES + ARCH)],
    "a blank behind a value": [('"amd64"', '"amd64 "')],
    "a key twice": [("  limits:", "  weight: 10\n  limits:\n    memory: 1Ti\n  limits:")],
    "a key in the wrong column": [("          values:", "         values:")],
    "a key in a column too far": [("  limits:", "  weight: 10\n   limits:")],
    "no role": [("  role: KarpenterNodeRole-prod\n", "")],
    "role and instance profile": [("  role:", "  instanceProfile: nodes\n  role:")],
    "no terms": [(CLASS[CLASS.index("  subnet") :], "  subnetSelectorTerms: []\n")],
    "no images": [("  amiSelectorTerms:\n    - alias: al2023@v20250807\n", "")],
    "images without a family": [("alias: al2023@v20250807", "name: golden")],
    "id and tags": [
        (
            "  subnetSelectorTerms:\n    - tags",
            "  subnetSelectorTerms:\n    - id: subnet-0123456789abcdef0\n      tags",
        )
    ],
    "an alias and a name": [("alias: al2023@v20250807", "alias: al2023@v20250807\n      name: golden")],
    "an alias and another term": [("alias: al2023@v20250807", "alias: al2023@v20250807\n    - name: golden")],
    "the size of a volume": [
        (
            "  role:",
            "  blockDeviceMappings:\n    - deviceName: /dev/xvda\n"
            "      ebs: {volumeSize: 100GB, encrypted: true}\n  role:",
        )
    ],
    "a size without a unit": [
        (
            "  role:",
            "  blockDeviceMappings:\n    - deviceName: /dev/xvda\n"
            "      ebs: {volumeSize: 100, encrypted: true}\n  role:",
        )
    ],
    "a switch": [("  role:", "  metadataOptions:\n    httpTokens: required\n    httpEndpoint: true\n  role:")],
    "a tag of Karpenter's": [("  role:", "  tags:\n    karpenter.sh/nodepool: default\n  role:")],
    "signals of the kubelet": [
        (
            "  role:",
            "  kubelet:\n    evictionSoft:\n      memory.available: 5%\n    evictionHard:\n      memory: 1%\n  role:",
        )
    ],
}
BUDGET = "  disruption:\n    consolidateAfter: 1m\n    budgets:\n      - nodes: {}\n  limits:"
"""A budget in front of the limits, by its number of nodes and what stands below it."""


def _line(key: str, operator: str, values: str) -> list[tuple[str, str]]:
    """Another requirement behind the one on architectures."""
    line = f"        - key: karpenter.k8s.aws/{key}\n          operator: {operator}\n"
    return [(ARCH, ARCH + line + (f"          values: {values}\n" if values else ""))]


SUBNETS = "  subnetSelectorTerms:\n    - tags:\n        karpenter"
GROUPS = "  securityGroupSelectorTerms:\n    - tags:"
MISTAKES |= {
    "alias of another family": [("  amiSel", "  amiFamily: AL2\n  amiSel")],
    "a mapping for terms": [(SUBNETS, "  subnetSelectorTerms:\n    tags:\n      karpenter")],
    "tags as a list": [(SUBNETS, "  subnetSelectorTerms:\n    - tags:\n        - karpenter")],
    "an alias of Windows": [("al2023@v20250807", "windows@latest")],
    "an alias that is pinned on Windows": [("al2023@v20250807", "windows2022@v20250807")],
    "ids as a list": [
        (
            "    - tags:\n        karpenter.sh/discovery: prod\n  security",
            "    - ids: [subnet-0a1b2c3d4e5f60718, subnet-0a1b2c3d4e5f60719]\n  security",
        )
    ],
    "a time zone in a schedule": [
        (
            "  limits:",
            BUDGET.format('"0"\n        schedule: "CRON_TZ=Europe/Berlin 0 9 * * mon-fri"\n        duration: 8h'),
        )
    ],
    "a schedule alone": [("  limits:", BUDGET.format('"0"\n        schedule: "0 9 * * mon-fri"'))],
    "seconds in a duration": [
        ("  limits:", BUDGET.format('"0"\n        schedule: "0 9 * * *"\n        duration: 90s'))
    ],
    "more than all nodes": [("  limits:", BUDGET.format("150%"))],
    "a reason that there is not": [("  limits:", BUDGET.format("10%\n        reasons: [Expired]"))],
    "no weight": [("  limits:", "  weight: 0\n  limits:")],
    "several values in one": _line("instance-category", "In", '["c,m,r"]'),
    "no separator": [("---\n", "")],
    "arm64 GPUs with a pinned AL2": [
        (ARCH, FAMILIES.replace('"m7g", "c7g"', '"g5g", "g5", "g6"')),
        ("al2023@v20250807", "al2@v20240928"),
    ],
    "an operator of another language": _line("instance-category", "Equals", '["m"]'),
    "two numbers": _line("instance-cpu", "Gt", '["4", "8"]'),
    "a number with its unit": _line("instance-cpu", "Gt", '["4 vCPU"]'),
    "no values": _line("instance-category", "In", ""),
    "an empty list": _line("instance-category", "In", "[]"),
    "a key that is far off": [("kubernetes.io/arch", "karpenter.k8s.aws/instanckube-family"), ('"amd64"', '"m5"')],
    "either of two durations": [("      nodeClassRef:", '      expireAfter: "720h | Never"\n      nodeClassRef:')],
    "Ubuntu": [("al2023@v20250807", "ubuntu@latest")],
    "v1alpha5": [("karpenter.sh/v1\n", "karpenter.sh/v1alpha5\n")],
    "limits as a number": [("  limits:\n    cpu: 1000", "  limits: 1000")],
    "labels for requirements": [(f"requirements:\n{ARCH}", "requirements:\n        kubernetes.io/arch: amd64\n")],
    "labels as a list": [
        ("    spec:\n      req", "    metadata:\n      labels:\n        - team: a\n    spec:\n      req")
    ],
    "a tab": [("    cpu: 1000", "\tcpu: 1000")],
    "TOML for AL2023": [("  role:", "  userData: |\n    [settings.kubernetes]\n    max-pods = 50\n  role:")],
    "replicas and a limit on cpu": [("  limits:", "  replicas: 3\n  limits:")],
    "a name and tags": [(GROUPS, "  securityGroupSelectorTerms:\n    - name: nodes\n      tags:")],
}

REF = "        group: karpenter.k8s.aws\n        kind: EC2NodeClass\n"
BOTTLEROCKET = ("al2023@v20250807", "bottlerocket@v1.44.0")
ROOT = "  blockDeviceMappings:\n    - {deviceName: /dev/xvda, ebs: {volumeSize: 2Gi, encrypted: true}}\n"
# Each name has its issue: core is kubernetes-sigs/karpenter, aws is aws/karpenter-provider-aws.
MISTAKES |= {
    "a capacity type that there is not (core 2164)": [
        (
            ARCH,
            ARCH + "        - key: karpenter.sh/capacity-type\n          operator: In\n          values: [xspot]\n",
        )
    ],
    "a label of the application on nodes (aws 6618)": [
        (
            "    spec:\n      req",
            "    metadata:\n      labels:\n        app.kubernetes.io/managed-by: Helm\n    spec:\n      req",
        )
    ],
    "a label in Karpenter's domain (aws 7534)": [
        (
            "    spec:\n      req",
            "    metadata:\n      labels:\n        karpenter.k8s.aws/team: a\n    spec:\n      req",
        )
    ],
    "a class that is named only (aws 7562)": [(REF, "")],
    "a class by its apiVersion (aws 6769)": [
        (REF, REF.replace("group: karpenter.k8s.aws", "apiVersion: karpenter.k8s.aws/v1"))
    ],
    "a class in the group of pools (aws-eks-base 358)": [("karpenter.k8s.aws/v1\n", "karpenter.sh/v1\n")],
    "Bottlerocket without terms (eksdemo 249)": [
        ("  amiSelectorTerms:\n    - alias: al2023@v20250807\n", "  amiFamily: Bottlerocket\n")
    ],
    "the selector of an AWSNodeTemplate (aws 4841)": [
        (
            "  amiSelectorTerms:\n    - alias: al2023@v20250807\n",
            "  amiFamily: AL2023\n  amiSelector:\n    - id: ami-0a1b2c3d4e5f60718\n",
        )
    ],
    "a kubelet in a pool (aws 7562)": [
        ("  limits:", "      kubelet:\n        systemReserved:\n          cpu: 100m\n  limits:")
    ],
    "a seventh day (aws 7562)": [
        ("  limits:", BUDGET.format('"0"\n        schedule: "30 10 * * 1-7"\n        duration: 22h'))
    ],
    "from Saturday to Sunday (core 1866)": [
        ("  limits:", BUDGET.format('"0"\n        schedule: 0 0 * * sat-sun\n        duration: 24h'))
    ],
    "a number of nodes (core 1066)": [
        ("  limits:", BUDGET.format('0\n        schedule: "0 * * * mon-fri"\n        duration: 1h'))
    ],
    "the policy of v1beta1 (cdk-eks-blueprints 1148)": [
        (
            "  limits:",
            "  disruption:\n    consolidationPolicy: WhenUnderutilized\n    consolidateAfter: 1m\n  limits:",
        )
    ],
    "capitals in a policy (aws 5154)": [
        (
            "  limits:",
            "  disruption:\n    consolidationPolicy: WhenUnderUtilized\n    consolidateAfter: 1m\n  limits:",
        )
    ],
    "a root volume below its snapshot (aws 7928)": [("  role:", ROOT + "  role:"), BOTTLEROCKET],
    "an image of AL2 for AL2023 (aws 7660)": [
        ("    - alias: al2023@v20250807\n", '    - name: "amazon-eks-node-1.31-v20250123"\n  amiFamily: AL2023\n')
    ],
    "a label of managed node groups (aws 6401)": [
        (
            ARCH,
            ARCH
            + "        - key: eks.amazonaws.com/capacityType\n          operator: In\n          values: [SPOT]\n",
        )
    ],
    "a quote that stays open in TOML (aws 4814)": [
        ("  role:", '  userData: |\n    [settings.container-registry.mirrors]\n    "registry" = "docker.io\n  role:'),
        BOTTLEROCKET,
    ],
    "a number where Bottlerocket wants a text (aws 2423)": [
        ("  role:", '  userData: |\n    [settings.kernel.sysctl]\n    "vm.max_map_count" = 1048576\n  role:'),
        BOTTLEROCKET,
    ],
    "a selector of pods": [("  limits:\n", "      nodeSelector:\n        team: a\n  limits:\n")],
    "tolerations in a pool": [
        ("  limits:\n", "      tolerations:\n        - key: gpu\n          operator: Exists\n  limits:\n")
    ],
    "seconds as pods have them": [("  limits:\n", "      terminationGracePeriodSeconds: 7200\n  limits:\n")],
    "limits as a list": [("    cpu: 1000\n", "    - cpu: 1000\n    - memory: 100Gi\n")],
    "subnets by name": [("    - tags:\n        karpenter.sh/discovery: prod\n  sec", "    - name: private-*\n  sec")],
    "a number where a list is wanted": [
        (ARCH, ARCH + "        - key: karpenter.k8s.aws/instance-cpu\n          operator: Gt\n          values: 2\n")
    ],
    "a taint as kubectl takes it": [
        ("  limits:\n", "      taints:\n        - nvidia.com/gpu=true:NoSchedule\n  limits:\n")
    ],
    "a class of another kind": [("        kind: EC2NodeClass\n", "        kind: NodeClass\n")],
    "a reason that budgets do not have": [
        (
            "  limits:",
            "  disruption:\n    consolidateAfter: 1m\n    budgets:\n"
            "      - nodes: 10%\n        reasons: [Empty, Expired]\n  limits:",
        )
    ],
    "an address where a list is wanted": [("  role:", "  kubelet:\n    clusterDNS: 10.0.0.10\n  role:")],
    "a role without a name": [("  role: KarpenterNodeRole-prod\n", "  role:\n")],
    "a family by its full name": [("  role:", "  amiFamily: AmazonLinux2023\n  role:")],
    "a pool without a spec (aws 5689)": [(POOL[POOL.index("spec:") :], "")],
}

EBS = "  blockDeviceMappings:\n    - deviceName: /dev/xvda\n"
VOLUME = "      ebs:\n        volumeSize: 20Gi\n        encrypted: true\n        volumeType: gp3\n"
TERM = "    - tags:\n        karpenter.sh/discovery: prod\n  sec"
CAPACITY = "karpenter.sh/capacity-type\n          operator: In\n          values:"
MISTAKES |= {
    "a setting of the kubelet in the class": [("  role:", "  maxPods: 110\n  role:")],
    "fields of a volume beside it": [("  role:", f"{EBS}{VOLUME}      iops: 4000\n  role:")],
    "fields of a volume without it": [
        ("  role:", f"{EBS}      volumeSize: 50Gi\n      volumeType: gp3\n      encrypted: true\n  role:")
    ],
    "more IOPS than the size allows": [("  role:", f"{EBS}{VOLUME}        iops: 20000\n  role:")],
    "more throughput than the IOPS allow": [
        ("  role:", f"{EBS}{VOLUME}        iops: 3000\n        throughput: 2000\n  role:")
    ],
    "fewer IOPS than there are": [("  role:", f"{EBS}{VOLUME}        iops: 300\n  role:")],
    "two bounds that exclude each other": [
        (ARCH, _line("instance-cpu", "Gt", '["8"]')[0][1] + _line("instance-cpu", "Lt", '["9"]')[0][1][len(ARCH) :])
    ],
    "both capacity types, a requirement each": [
        (ARCH, f"{ARCH}        - key: {CAPACITY} [on-demand]\n        - key: {CAPACITY} [spot]\n")
    ],
    "a type of another category": [
        (ARCH, ARCH + _line("instance-category", "In", "[c, a]")[0][1][len(ARCH) :]),
        (
            "      nodeClassRef",
            "        - key: node.kubernetes.io/instance-type\n          operator: In\n"
            "          values: [t3.medium]\n      nodeClassRef",
        ),
    ],
    "a name with an underscore": [("  name: default\nspec:\n  template", "  name: My_pool\nspec:\n  template")],
    "no class": [("      nodeClassRef:\n" + REF + "        name: default\n", "")],
    "a subnet by its name": [(TERM, "    - id: private-subnet-1\n  sec")],
    "an image by its name": [("    - alias: al2023@v20250807\n", "    - id: golden-image\n  amiFamily: AL2023\n")],
    "a tag without a value": [(TERM, "    - tags:\n        karpenter.sh/discovery: ''\n  sec")],
    "a tag with several values": [
        (TERM, "    - tags:\n        karpenter.sh/discovery: prod\n        Name: [private-a, private-b]\n  sec")
    ],
    "types as a list": [
        ("      requirements:\n", "      instanceTypes: [m5.large, m5.xlarge]\n      requirements:\n")
    ],
    "a weight among the limits": [("    cpu: 1000\n", "    cpu: 1000\n    weight: 50\n")],
    "one limit that is none": [("    cpu: 1000\n", "    pod-eni: 50\n")],
    "a script of AL2 on AL2023": [
        (
            "  role:",
            "  userData: |\n    #!/bin/bash\n    sysctl -w vm.max_map_count=262144\n"
            "    /etc/eks/bootstrap.sh prod --kubelet-extra-args '--max-pods=50'\n  role:",
        )
    ],
    "a call of bootstrap.sh that sets something": [
        (
            "  role:",
            "  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh prod --use-max-pods false \\\n"
            "      --kubelet-extra-args '--max-pods=58'\n  role:",
        ),
        ("al2023@v20250807", "al2@v20240928"),
    ],
    "a NodeConfig without its apiVersion": [
        (
            "  role:",
            "  userData: |\n    kind: NodeConfig\n    spec:\n      featureGates: {FastImagePull: true}\n  role:",
        )
    ],
    "a setting of Bottlerocket by half its name": [
        (
            "  role:",
            '  userData: |\n    [settings.kubernetes]\n    allowed-unsafe-sysctl = ["net.core.somaxconn"]\n  role:',
        ),
        BOTTLEROCKET,
    ],
}

DISK = f"{EBS}{VOLUME}"
TAG = "    - tags:\n        karpenter.sh/discovery: prod\n"
MISTAKES |= {
    "one alias as a list": [("alias: al2023@v20250807", "alias: [al2023@v20250807]")],
    "several aliases as a list": [("alias: al2023@v20250807", "alias: [al2023@v20250807, al2@v20240928]")],
    "groups by a list of names": [
        (f"  securityGroupSelectorTerms:\n{TAG}", "  securityGroupSelectorTerms:\n    - name: [a, b]\n")
    ],
    "values of Exists": _line("instance-category", "Exists", "[m]"),
    "values of DoesNotExist": _line("instance-gpu-name", "DoesNotExist", "[t4]"),
    "NotIn of nothing": _line("instance-category", "NotIn", "[]"),
    "neighbours that no type has": _line("instance-category", "In", "[c, gpu, fpga]"),
    "nothing but what no type has, to exclude": _line("instance-category", "NotIn", "[gpu, fpga]"),
    "no address": [("  role:", "  kubelet:\n    clusterDNS: [10.0.0, 010.100.0.10, fd00::10]\n  role:")],
    "each hour": [("  limits:", BUDGET.format('"0"\n        schedule: "@every 1h"\n        duration: 10m'))],
    "each second day": [("  limits:", BUDGET.format('"0"\n        schedule: "@every 48h"\n        duration: 10m'))],
    "thresholds the wrong way round": [
        (
            "  role:",
            "  kubelet:\n    imageGCHighThresholdPercent: 70\n    imageGCLowThresholdPercent: 80\n  role:",
        )
    ],
    "a percentage where a number is wanted": [
        ("  role:", "  kubelet:\n    imageGCHighThresholdPercent: 85%\n  role:")
    ],
    "seconds where a number is wanted": [("  role:", "  kubelet:\n    evictionMaxPodGracePeriod: 60s\n  role:")],
    "true where a word is wanted": [("  role:", "  metadataOptions:\n    httpTokens: true\n  role:")],
    "a type that there is not beside one": [
        (ARCH, ARCH + _line("instance-family", "In", "[m5, m5x]")[0][1][len(ARCH) :])
    ],
    "io1 without IOPS": [("  role:", DISK.replace("gp3", "io1") + "  role:")],
    "gp2 with IOPS": [("  role:", DISK.replace("gp3", "gp2") + "        iops: 4000\n  role:")],
    "gp2 with too few IOPS for gp3": [("  role:", DISK.replace("gp3", "gp2") + "        iops: 100\n  role:")],
    "a group of nobody's": [("karpenter.k8s.aws/v1\n", "karpenter.aws/v1\n")],
    "a name for a key": [(ARCH, ARCH.replace("key:", "name:"))],
    "one field in the wrong place, another not there": [
        ("  limits:", "  disruption:\n    consolidationPolicy: WhenEmpty\n    expireAfter: 720h\n  limits:")
    ],
    "a class as a text": [
        ("      nodeClassRef:\n" + REF + "        name: default\n", "      nodeClassRef: default\n")
    ],
    "a boundary that is not named": [
        (
            "  role:",
            "  userData: |\n    MIME-Version: 1.0\n    Content-Type: multipart/mixed\n\n    --PART\n"
            "    Content-Type: text/x-shellscript\n\n    #!/bin/bash\n    echo\n    --PART--\n  role:",
        )
    ],
}


def source_of(name: str) -> Source:
    text = f"{POOL}---\n{CLASS}"
    for old, new in MISTAKES[name]:
        assert old in text
        text = text.replace(old, new, 1)
    return Source.from_text("pool.yaml", text)


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_said_and_what_is_offered(name: str, snapshot: SnapshotAssertion) -> None:
    request = LintRequest(Target(NEWEST), RULES)
    source = source_of(name)
    report = lint([source], request)
    assert "\n\n".join(findings_text(report.results, TextStyle(width=100))) == snapshot
    fail_for_errors_without_an_edit(report)
    try_fixes(source, request, report)
    try_suggestions(source, request, report)


def fail_for_errors_without_an_edit(report: Report) -> None:
    errors = [result for result in report.results if result.severity == "error"]
    bare = [result for result in errors if not result.fixable and not result.finding.suggestions]
    assert not [result.finding.message for result in bare if "There is no fix" not in result.rule.page]


def try_fixes(source: Source, request: LintRequest, report: Report) -> None:
    """Fail where the fixes leave another mistake."""
    if not any(result.fixable for result in report.results):
        return
    left = fix([source], request, unsafe=True, report=report).report.results
    expected = [result.finding.message for result in report.results if not result.fixable]
    # What is left may say of the family that the image is of that it has ended.
    assert [result.finding.message for result in left if result.rule.name != "ended-family"] == expected


def try_suggestions(source: Source, request: LintRequest, report: Report) -> None:
    """Fail where a suggestion leaves what it is offered for, or brings another error."""
    errors = {result.finding.message for result in report.results if result.severity == "error"}
    for result in report.results:
        for suggestion in result.finding.suggestions:
            changed = Source.from_text("pool.yaml", apply(source.text, suggestion.edits))
            left = lint([changed], request).results
            assert result.finding.message not in {other.finding.message for other in left}, suggestion.name
            assert {other.finding.message for other in left if other.severity == "error"} <= errors, suggestion.name


def test_of_two_numbers_for_one_comparison_either_is_offered() -> None:
    line = ARCH + "        - key: karpenter.k8s.aws/instance-cpu\n          operator: Gt\n          values: [4, 8]\n"
    source = Source.from_text("pool.yaml", POOL.replace(ARCH, line))
    results = lint([source], LintRequest(Target(NEWEST), RULES)).results
    (found,) = [result for result in results if result.rule.name == "refused-combination"]
    assert [suggestion.name for suggestion in found.finding.suggestions] == ["keep `4`", "keep `8`"]
    assert 'values: ["8"]' in apply(source.text, found.finding.suggestions[1].edits)


def test_two_lists_in_block_style_become_one() -> None:
    """What joins the first list stands right where the second requirement goes."""
    lists = "".join(f"        - key: {CAPACITY}\n            - {value}\n" for value in ("on-demand", "spot"))
    text = POOL.replace(ARCH, lists)
    (finding,) = [
        result.finding
        for result in lint([Source.from_text("pool.yaml", text)], LintRequest(Target(NEWEST), RULES)).results
        if result.rule.name == "no-instance-type"
    ]
    joined = lists[: lists.index("        - key", 9)] + "            - spot\n"
    assert apply(text, finding.suggestions[0].edits) == POOL.replace(ARCH, joined)
