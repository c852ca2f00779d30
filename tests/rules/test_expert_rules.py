"""What an expert sees: units, categories, startup taints, the metadata service, volumes, static pools."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.engine import Report
from tests.manifests import nodeclass, nodepool

Check = Callable[..., Report]

AMD = "key: kubernetes.io/arch, operator: In, values: [amd64]"


def severities_of(report: Report, rule: str) -> list[str]:
    return [r.severity for r in report.results if r.rule.name == rule]


def bound(label: str, operator: str, value: str) -> str:
    return nodepool(AMD, f"key: karpenter.k8s.aws/instance-{label}, operator: {operator}, values: ['{value}']")


@pytest.mark.parametrize(
    ("label", "operator", "value", "expected"),
    [
        ("memory", "Gt", "32", True),
        ("memory", "Gt", "511", True),
        ("memory", "Gt", "512", False),
        ("memory", "Gt", "0", False),
        ("memory", "Gt", "32768", False),
        ("memory", "Lt", "32", False),  # it leaves nothing, which no-instance-type says
        ("memory", "In", "32", False),
        ("network-bandwidth", "Gt", "10", True),
        ("network-bandwidth", "Gt", "10000", False),
        ("gpu-memory", "Gt", "16", True),
        ("gpu-memory", "Gt", "16383", False),
        ("cpu", "Gt", "4", False),
        ("memory", "Gt", "${MEMORY}", False),
    ],
)
def test_bounds_in_gib_and_gbits(check: Check, label: str, operator: str, value: str, expected: bool) -> None:
    assert bool(severities_of(check(bound(label, operator, value)), "bound-in-another-unit")) is expected


def categories(values: str, *more: str, taint: str = "") -> str:
    text = nodepool(AMD, f"key: karpenter.k8s.aws/instance-category, operator: In, values: {values}", *more)
    return text.replace("      requirements:", f"      taints: [{taint}]\n      requirements:") if taint else text


GENERATION = "key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ['4']"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (categories("[c, g]"), True),
        (categories("[m, r, inf]"), True),
        (categories("[c, m]"), False),
        (categories("[g, p]"), False),  # nothing but accelerators: untainted-accelerators speaks
        (categories("[c, g]", taint="{key: nvidia.com/gpu, effect: NoSchedule}"), False),
        (categories("[c, g]", taint="'${TAINT}'"), False),
        (categories("[c, '${MORE}']"), False),
        (categories("[c, g]", "key: karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist"), False),
    ],
)
def test_accelerators_among_cpu_types(check: Check, text: str, expected: bool) -> None:
    assert bool(severities_of(check(text), "accelerators-beside-cpus")) is expected


@pytest.mark.parametrize(
    ("field", "key", "expected"),
    [
        ("taints", "node.cilium.io/agent-not-ready", True),
        ("taints", "ebs.csi.aws.com/agent-not-ready", True),
        ("taints", "efs.csi.aws.com/agent-not-ready", True),
        ("startupTaints", "node.cilium.io/agent-not-ready", False),
        ("taints", "example.com/agent-not-ready", False),
        ("taints", "nvidia.com/gpu", False),
    ],
)
def test_taints_that_agents_remove(check: Check, field: str, key: str, expected: bool) -> None:
    text = nodepool(AMD).replace(
        "      requirements:", f"      {field}: [{{key: {key}, effect: NoExecute}}]\n      requirements:"
    )
    assert bool(severities_of(check(text), "startup-taint-as-taint")) is expected


@pytest.mark.parametrize(
    ("lines", "ami", "expected"),
    [
        (["metadataOptions: {httpEndpoint: disabled}"], "alias: al2023@v20250403", True),
        (["metadataOptions: {httpEndpoint: disabled}"], "alias: bottlerocket@v1.46.0", True),
        (["metadataOptions: {httpEndpoint: enabled}"], "alias: al2023@v20250403", False),
        (["metadataOptions: {httpEndpoint: '${ENDPOINT}'}"], "alias: al2023@v20250403", False),
        (["metadataOptions: {httpEndpoint: disabled}", "amiFamily: Custom"], "id: ami-0a1b2c3d4e5f60718", False),
    ],
)
def test_no_metadata_service(check: Check, lines: list[str], ami: str, expected: bool) -> None:
    assert severities_of(check(nodeclass(*lines, ami=ami)), "imds-disabled") == ["error"] * expected


@pytest.mark.parametrize(
    ("ami", "device", "kind", "expected"),
    [
        ("alias: al2023@v20250403", "/dev/xvda", "st1", True),
        ("alias: al2023@v20250403", "/dev/xvda", "sc1", True),
        ("alias: al2023@v20250403", "/dev/xvda", "gp3", False),
        ("alias: al2023@v20250403", "/dev/sdf", "st1", False),
        ("alias: bottlerocket@v1.46.0", "/dev/xvdb", "st1", False),
    ],
)
def test_volumes_that_do_not_boot(check: Check, ami: str, device: str, kind: str, expected: bool) -> None:
    volume = f"{{deviceName: {device}, ebs: {{volumeSize: 500Gi, volumeType: {kind}, encrypted: true}}}}"
    found = severities_of(check(nodeclass(f"blockDeviceMappings: [{volume}]", ami=ami)), "unbootable-volume-type")
    assert found == ["error"] * expected


@pytest.mark.parametrize(
    ("replicas", "limit", "release", "expected"),
    [
        ("5", "4", "1.14.1", ["warning"]),
        ("5", "4", "1.15.0", ["warning"]),
        ("5", "5", "1.14.1", ["info"]),
        ("5", "5", "1.15.0", ["info"]),
        ("5", "6", "1.14.1", []),
        ("0", "0", "1.14.1", []),
        ("5", "'${NODES}'", "1.14.1", []),
    ],
)
def test_static_pools_and_their_limit(
    check: Check, replicas: str, limit: str, release: str, expected: list[str]
) -> None:
    text = nodepool(AMD).replace(
        "  template:", f"  replicas: {replicas}\n  limits: {{nodes: {limit}}}\n  template:", 1
    )
    assert severities_of(check(text, karpenter=release), "replicas-beyond-limit") == expected


def commented(expire: str = "720h", nodes: str = "10%", capacity: str = "spot, on-demand") -> str:
    return (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec:\n  disruption:\n"
        f"    consolidateAfter: 5m\n    budgets:\n      - nodes: {nodes}\n  template:\n    spec:\n"
        f"      expireAfter: {expire}\n"
        "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n      requirements:\n"
        f"        - {{key: karpenter.sh/capacity-type, operator: In, values: [{capacity.partition(' #')[0]}]}}"
        f"{' #' if '#' in capacity else ''}{capacity.partition(' #')[2]}\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (commented("72h # = 720h"), True),
        (commented("72h # 30 days"), True),
        (commented("72h # 30 * 24h = 720h"), True),
        (commented("720h # 30 * 24h = 720h"), False),
        (commented("168h # nodes live 7 days"), False),
        (commented("720h # 30 * 24h"), False),
        (commented("72h # was 720h"), False),
        (commented("72h # the default is 720h"), False),
        (commented("72h # raise to 168h once jobs are short"), False),
        (commented("72h # ticket 720 asks for it"), False),
        (commented("${EXPIRE} # 30 days"), False),
        (commented(nodes='"1" # nodes: 0'), True),
        (commented(nodes='"1" # at most 1 node at a time'), False),
        (commented(nodes="10% # 10 percent"), False),
        (commented(nodes='"10" # 10%'), True),
        (commented(nodes='"2" # see PLAT-17'), False),
        (commented(capacity="on-demand # prefer spot"), True),
        (commented(capacity="spot, on-demand # prefer spot"), False),
        (commented(capacity="spot, on-demand # on-demand only"), True),
        (commented(capacity="on-demand # on-demand only"), False),
        (commented(capacity="spot, on-demand # not spot only"), False),
    ],
)
def test_comments_that_say_another_value(check: Check, text: str, expected: bool) -> None:
    assert bool(severities_of(check(text), "comment-against-value")) is expected


@pytest.mark.parametrize(
    ("role", "release", "expected"),
    [
        ("arn:aws:iam::111122223333:role/KarpenterNodeRole-main", "1.6.2", []),
        ("arn:aws:iam::111122223333:role/KarpenterNodeRole-main", "1.7.0", ["warning"]),
        ("nodes/KarpenterNodeRole-main", "1.14.1", ["warning"]),
        ("nodes/KarpenterNodeRole-main", "1.1.0", ["error"]),
        ("KarpenterNodeRole-main", "1.14.1", []),
        ("'${ROLE_ARN}'", "1.14.1", ["warning"]),
        ("'${ROLE_NAME}'", "1.14.1", []),
    ],
)
def test_roles_with_a_path(check: Check, role: str, release: str, expected: list[str]) -> None:
    assert severities_of(check(nodeclass(role=role), karpenter=release), "controller-check") == expected


@pytest.mark.parametrize(
    ("setting", "ami", "release", "expected"),
    [
        ("podsPerCore: 10", "alias: bottlerocket@v1.46.0", "1.14.1", ["warning"]),
        ("podsPerCore: 10", "alias: bottlerocket@v1.46.0", "1.15.0", ["error"]),
        ("podsPerCore: 10", "alias: al2023@v20250403", "1.14.1", []),
        ("podsPerCore: null", "alias: bottlerocket@v1.46.0", "1.14.1", []),
        ("clusterDNS: [10.0.0.10, 10.0.0.11]", "alias: bottlerocket@v1.46.0", "1.14.1", ["warning"]),
        ("clusterDNS: [10.0.0.10]", "alias: bottlerocket@v1.46.0", "1.14.1", []),
        ("clusterDNS: [10.0.0.10, 10.0.0.11]", "alias: al2023@v20250403", "1.14.1", []),
    ],
)
def test_kubelet_settings_that_a_family_does_not_get(
    check: Check, setting: str, ami: str, release: str, expected: list[str]
) -> None:
    text = nodeclass(f"kubelet: {{{setting}}}", ami=ami)
    assert severities_of(check(text, karpenter=release), "controller-check") == expected


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("name: '*', owner: self", ["warning"]),
        ("name: '*'", ["warning"]),
        ("name: golden-*, owner: self", []),
        ("name: '*', owner: self, tags: {team: platform}", []),
    ],
)
def test_a_name_that_every_image_has(check: Check, term: str, expected: list[str]) -> None:
    assert severities_of(check(nodeclass("amiFamily: AL2023", ami=term)), "controller-check") == expected


EKS = "/aws/service/eks/optimized-ami/1.33"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{EKS}/amazon-linux-2023/amd64/standard/recommended/image_id", True),
        (f"{EKS}/amazon-linux-2023/aarch64/nvidia/recommended/image_id", True),
        (f"{EKS}/amazon-linux-2023/x86_64/standard/recommended", True),
        (f"{EKS}/amazon-linux-2023/x86_64/standard/recommended/", True),
        ("/aws/service/bottlerocket/aws-k8s-1.33/amd64/latest/image_id", True),
        ("/aws/service/bottlerocket/aws-k8s-1.33/arm64/latest", True),
        (f"{EKS}/amazon-linux-2023/x86_64/standard/recommended/image_id", False),
        ("/aws/service/bottlerocket/aws-k8s-1.33/arm64/latest/image_id", False),
        ("/aws/service/canonical/ubuntu/eks/22.04/1.33/stable/current/amd64/hvm/ebs-gp3/ami-id", False),
        ("/platform/images/amd64/latest", False),
        ("'${PARAMETER}'", False),
    ],
)
def test_paths_of_published_images(check: Check, path: str, expected: bool) -> None:
    text = nodeclass("amiFamily: AL2023", ami=f"ssmParameter: {path}")
    assert bool(severities_of(check(text), "unpublished-parameter")) is expected


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        ("200Mi", "500Mi", True),
        ("500Mi", "500Mi", True),
        ("501Mi", "500Mi", False),
        ("1Gi", "500Mi", False),
        ("5%", "10%", True),
        ("15%", "10%", False),
        ("5%", "500Mi", False),
        ("'${SOFT}'", "500Mi", False),
    ],
)
def test_soft_eviction(check: Check, soft: str, hard: str, expected: bool) -> None:
    settings = (
        f"evictionHard: {{memory.available: {hard}}}, evictionSoft: {{memory.available: {soft}}}, "
        "evictionSoftGracePeriod: {memory.available: 1m}"
    )
    found = severities_of(check(nodeclass(f"kubelet: {{{settings}}}")), "soft-eviction-below-hard")
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("spec", "reasons", "expected"),
    [
        ("consolidationPolicy: WhenEmpty, consolidateAfter: 5m", "[Underutilized]", True),
        ("consolidationPolicy: WhenEmpty, consolidateAfter: 5m", "[Underutilized, Empty]", False),
        ("consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5m", "[Underutilized]", False),
        ("consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: Never", "[Underutilized, Empty]", True),
        ("consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: Never", "[Empty, Drifted]", False),
        ("consolidationPolicy: '${POLICY}', consolidateAfter: 5m", "[Underutilized]", False),
    ],
)
def test_budgets_for_reasons_that_never_come_up(check: Check, spec: str, reasons: str, expected: bool) -> None:
    budgets = f"budgets: [{{nodes: '20%'}}, {{nodes: '0', reasons: {reasons}}}]"
    text = nodepool(AMD).replace("  template:", f"  disruption: {{{spec}, {budgets}}}\n  template:", 1)
    assert severities_of(check(text), "budget-without-effect") == ["info"] * expected


def test_a_static_pool_is_not_consolidated(check: Check) -> None:
    policy = "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}\n  template:"
    moving = nodepool(AMD).replace("  template:", policy, 1)
    still = moving.replace("  disruption:", "  replicas: 3\n  disruption:", 1)
    rule = "consolidation-of-static-pool"
    assert severities_of(check(still, select=[rule]), rule) == ["info"]
    assert not severities_of(check(moving, select=[rule]), rule)


@pytest.mark.parametrize(
    ("kubernetes", "expected"), [("1.25", ["warning"]), ("1.26", []), ("1.33", []), ("1.34", ["warning"])]
)
def test_kubernetes_outside_the_range_of_a_release(check: Check, kubernetes: str, expected: list[str]) -> None:
    report = check(nodepool(AMD), karpenter="1.5.0", kubernetes=kubernetes)
    assert severities_of(report, "unsupported-kubernetes") == expected


@pytest.mark.parametrize(
    ("ami", "device", "more", "expected"),
    [
        ("alias: al2023@v20250403", "/dev/sda1", (), True),
        ("alias: al2023@v20250403", "/dev/xvda", (), False),
        ("alias: al2023@v20250403", "/dev/sdf", (), False),
        ("alias: windows2022@latest", "/dev/sda1", (), False),
        ("alias: al2023@v20250403", "/dev/sda1", ("userData: 'mkfs /dev/sda1'",), False),
        ("id: ami-0a1b2c3d4e5f60718", "/dev/sda1", ("amiFamily: AL2023",), False),
    ],
)
def test_a_second_disk_that_is_marked_as_the_root(
    check: Check, ami: str, device: str, more: tuple[str, ...], expected: bool
) -> None:
    volume = f"{{deviceName: {device}, rootVolume: true, ebs: {{volumeSize: 50Gi, encrypted: true}}}}"
    text = nodeclass(f"blockDeviceMappings: [{volume}]", *more, ami=ami)
    assert bool(severities_of(check(text), "root-volume-device")) is expected


@pytest.mark.parametrize(
    ("subnets", "groups", "expected"),
    [
        ("{kubernetes.io/cluster/blue: owned, tier: a}", "{kubernetes.io/cluster/green: owned}", True),
        ("{kubernetes.io/cluster/green: shared, tier: a}", "{kubernetes.io/cluster/green: owned}", False),
        ("{karpenter.sh/discovery: blue}", "{kubernetes.io/cluster/green: owned}", False),
        ("{karpenter.sh/discovery: blue}", "{karpenter.sh/discovery: green}", True),
        ("{karpenter.sh/discovery: blue}", "{karpenter.sh/discovery: blue, tier: a}", False),
        ("{karpenter.sh/discovery: blue}", "{karpenter.sh/discovery: 'true'}", False),
        ("{karpenter.sh/discovery: '${NAME}'}", "{karpenter.sh/discovery: green}", False),
        ("{kubernetes.io/cluster/blue: owned, kubernetes.io/cluster/green: owned}",
         "{kubernetes.io/cluster/green: owned}", False),
        ("{'kubernetes.io/cluster/${NAME}': owned}", "{kubernetes.io/cluster/green: owned}", False),
    ],
)  # fmt: skip
def test_tags_of_two_clusters(check: Check, subnets: str, groups: str, expected: bool) -> None:
    text = nodeclass(net=f"tags: {subnets}").replace(
        f"securityGroupSelectorTerms: [{{tags: {subnets}", f"securityGroupSelectorTerms: [{{tags: {groups}"
    )
    assert any("are selected by the tag of" in r.finding.message for r in check(text).results) is expected


@pytest.mark.parametrize(
    ("ami", "expected"),
    [
        ("alias: windows2022@latest", ["warning"]),
        ("alias: al2023@v20250403", []),
        ("alias: bottlerocket@v1.46.0", []),
    ],
)
def test_local_disks_of_windows(check: Check, ami: str, expected: list[str]) -> None:
    assert (
        severities_of(check(nodeclass("instanceStorePolicy: RAID0", ami=ami)), "instance-store-without-disks")
        == expected
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("curl -s https://example.com/a.pub >> ~/.ssh/authorized_keys", True),
        ("aws s3 cp s3://keys/team ~ec2-user/.ssh/authorized_keys", True),
        ("echo 'deploy ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/deploy", True),
        ("echo 'deploy ALL=(ALL:ALL) NOPASSWD:ALL' >> /etc/sudoers", True),
        ("# echo 'deploy ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/deploy", False),
        ("echo 'deploy ALL=(ALL) ALL' > /etc/sudoers.d/deploy", False),
        ("echo 'monitor ALL=(ALL) NOPASSWD: /usr/bin/df' > /etc/sudoers.d/monitor", False),
        ("curl -s https://example.com/app.tar.gz | tar xz", False),
        ("chmod 600 ~/.ssh/authorized_keys", False),
    ],
)
def test_logins_that_user_data_opens(check: Check, line: str, expected: bool) -> None:
    text = nodeclass("userData: |", "  #!/bin/bash", f"  {line}")
    assert severities_of(check(text, select=["login-in-user-data"]), "login-in-user-data") == ["info"] * expected


@pytest.mark.parametrize(
    ("values", "more", "expected"),
    [
        ("[g, p]", (), True),
        ("[g, p]", (GENERATION,), False),
        ("[g, p]", ("key: karpenter.k8s.aws/instance-gpu-name, operator: In, values: [l4]",), False),
        ("[g, p]", ("key: karpenter.k8s.aws/instance-gpu-count, operator: Gt, values: ['0']",), True),
        ("[g, p, c]", (), False),
        ("[g, '${MORE}']", (), False),
    ],
)
def test_gpus_of_any_generation(check: Check, values: str, more: tuple[str, ...], expected: bool) -> None:
    text = categories(values, *more, taint="{key: nvidia.com/gpu, effect: NoSchedule}")
    assert severities_of(check(text, select=["any-gpu-generation"]), "any-gpu-generation") == ["info"] * expected


@pytest.mark.parametrize(
    ("owner", "expected"), [("'123456789012'", True), ("'602401143452'", False), ("self", False)]
)
def test_the_account_of_examples(check: Check, owner: str, expected: bool) -> None:
    text = nodeclass("amiFamily: AL2023", ami=f"name: golden-*, owner: {owner}")
    assert bool(severities_of(check(text), "placeholder-left")) is expected


@pytest.mark.parametrize(
    ("bound", "lines", "expected"),
    [
        ("Gt, values: ['100']", (), True),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Lt, values: ['100']", ("instanceStorePolicy: RAID0",), False),
        ("Gt, values: ['100']", ("instanceStorePolicy: RAID0",), False),
        ("Gt, values: ['100']", ("userData: 'echo disks'",), False),
    ],
)
def test_local_disks_that_nothing_uses(check: Check, bound: str, lines: tuple[str, ...], expected: bool) -> None:
    pool = nodepool(f"key: karpenter.k8s.aws/instance-local-nvme, operator: {bound}")
    report = check(f"{pool}---\n{nodeclass(*lines)}", select=["instance-store-without-disks"])
    assert any("nothing on the node uses them" in r.finding.message for r in report.results) is expected
