"""What rules claim, held to Karpenter's code and AWS's answers at the borders; each with a twin that is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import CliRunner

from nodelint.cli import cli as main
from nodelint.ec2.questions import alias_families
from nodelint.karpenter.images import family_example
from nodelint.lint.engine import Report
from nodelint.model.releases import KubernetesVersion, Version, behaves
from tests.manifests import nodeclass, nodepool

Check = Callable[..., Report]

FAMILY = "key: karpenter.k8s.aws/instance-family, operator: In, values: "
BOTTLEROCKET = "alias: bottlerocket@v1.46.0"


def findings_of(report: Report, rule: str) -> list[tuple[str, str]]:
    return [(r.severity, r.finding.message) for r in report.results if r.rule.name == rule]


def volume(*lines: str) -> str:
    return nodeclass(
        "blockDeviceMappings:", f"  - {{deviceName: /dev/xvda, ebs: {{volumeSize: 50Gi, {', '.join(lines)}}}}}"
    )


@pytest.mark.parametrize(
    ("lines", "severity"),
    [
        (["kmsKeyID: arn:aws:kms:us-east-1:111122223333:key/a"], "error"),
        (["kmsKeyID: arn:aws:kms:us-east-1:111122223333:key/a", "encrypted: false"], "error"),
        (["encrypted: false"], "warning"),
        (["volumeType: gp3"], "info"),
        (["encrypted: true", "kmsKeyID: arn:aws:kms:us-east-1:111122223333:key/a"], None),
        (["encrypted: '${ENCRYPTED}'", "kmsKeyID: arn:aws:kms:us-east-1:111122223333:key/a"], None),
    ],
)
def test_a_key_is_taken_for_encrypted_volumes_only(check: Check, lines: list[str], severity: str | None) -> None:
    answer = findings_of(check(volume(*lines)), "unencrypted-volume")
    assert [value for value, _ in answer] == ([severity] if severity else [])
    assert all("EC2 refuses the launch" in message for value, message in answer if value == "error")


@pytest.mark.parametrize(("release", "expected"), [("1.8.6", True), ("1.9.0", False), ("1.14.1", False)])
def test_soft_thresholds_count_before_1_9_only(check: Check, release: str, expected: bool) -> None:
    config = "apiVersion: node.eks.aws/v1alpha1\n    kind: NodeConfig\n    spec: {kubelet: {config: {SETTING}}}\n"
    data = config.replace("SETTING", "evictionSoft: {memory.available: 1Gi}")
    text = nodeclass("userData: |", f"  {data}")
    assert bool(findings_of(check(text, karpenter=release), "hidden-kubelet-setting")) is expected


def test_soft_thresholds_never_count_on_bottlerocket(check: Check) -> None:
    data = '[settings.kubernetes.NAME]\n    "memory.available" = "10%"\n'
    for name, expected in (("eviction-soft", False), ("eviction-hard", True)):
        text = nodeclass("userData: |", f"  {data.replace('NAME', name)}", ami=BOTTLEROCKET)
        assert bool(findings_of(check(text, karpenter="1.8.6"), "hidden-kubelet-setting")) is expected


@pytest.mark.parametrize(
    ("release", "expected"), [("1.3.3", False), ("1.5.5", False), ("1.6.0", True), ("1.14.1", True)]
)
def test_reservations_are_read_from_1_6_on(check: Check, release: str, expected: bool) -> None:
    pool = nodepool(f"{FAMILY}[p5]", "key: karpenter.sh/capacity-type, operator: In, values: [on-demand]")
    text = f"{pool}---\n{nodeclass('capacityReservationSelectorTerms: [{tags: {purpose: training}}]')}"
    assert bool(findings_of(check(text, karpenter=release), "unused-reservation")) is expected


def bounds(*bounds: str) -> str:
    lines = (f"key: example.com/tier, operator: {b.split()[0]}, values: ['{b.split()[1]}']" for b in bounds)
    return nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", *lines)


@pytest.mark.parametrize("release", ["1.0.0", "1.4.0", "1.8.0", "1.9.0", "1.14.1"])
@pytest.mark.parametrize(
    ("lines", "expected"), [(["Lt 0"], True), (["Lt 1"], False), (["Gt 3", "Lt 5"], False), (["Gt 3", "Lt 6"], False)]
)
def test_no_number_to_draw(check: Check, lines: list[str], expected: bool, release: str) -> None:
    messages = [m for _, m in findings_of(check(bounds(*lines), karpenter=release), "controller-check")]
    assert any("the controller crashes" in message for message in messages) is expected


@pytest.mark.parametrize("release", ["1.0.0", "1.4.0", "1.8.0"])
def test_before_1_9_bounds_may_meet_without_a_number(check: Check, release: str) -> None:
    assert findings_of(check(bounds("Gt 3", "Lt 4"), karpenter=release), "controller-check")


@pytest.mark.parametrize(
    ("field", "expected"),
    [("managedFields: [{manager: kubectl}]", True), ("managedFields: []", False), ("generation: 4", False)],
)
def test_managed_fields_are_refused_by_server_side_apply(check: Check, field: str, expected: bool) -> None:
    text = nodepool(name="a").replace("  name: a\n", f"  name: a\n  {field}\n")
    messages = [m for _, m in findings_of(check(text), "exported-metadata")]
    assert any("server-side apply" in message for message in messages) is expected
    assert bool(messages) is expected


def test_ending_blocks_are_left_alone_from_1_6_2_on() -> None:
    fact = "no-launch-in-ending-blocks"
    assert [behaves(fact, Version(1, 6, patch)) for patch in (1, 2)] == [False, True]


GPUS = "taints: [{key: nvidia.com/gpu, effect: NoSchedule}]"


def gpu_pool(families: str, *more: str) -> str:
    pool = nodepool(f"{FAMILY}{families}", *more).replace("      requirements:", f"      {GPUS}\n      requirements:")
    return f"{pool}---\n{nodeclass()}"


@pytest.mark.parametrize(
    ("families", "severity"), [("[g4ad, g5]", "info"), ("[g4ad]", "warning"), ("[g5, g6]", None)]
)
def test_another_vendors_image(check: Check, families: str, severity: str | None) -> None:
    answer = findings_of(check(gpu_pool(families)), "wrong-vendor-image")
    assert [value for value, _ in answer] == ([severity] if severity else [])


@pytest.mark.parametrize(("families", "severity"), [("[g6f, g6]", "info"), ("[g6f]", "warning"), ("[g6, p5]", None)])
def test_fractions_of_gpus(check: Check, families: str, severity: str | None) -> None:
    text = gpu_pool(families, "key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]")
    answer = findings_of(check(text), "fractional-gpu")
    assert [value for value, _ in answer] == ([severity] if severity else [])


def disrupted(budgets: str, after: str = "10s") -> str:
    block = f"  disruption:\n    consolidationPolicy: WhenEmptyOrUnderutilized\n    consolidateAfter: {after}\n"
    return nodepool().replace("  template:", f"{block}    budgets: {budgets}\n  template:", 1)


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ("[{nodes: 0%, reasons: [Underutilized]}, {nodes: 10%}]", False),
        ('[{nodes: "0"}]', False),
        ("[{nodes: 0%, reasons: [Empty]}, {nodes: 10%}]", True),
        ('[{nodes: "0", schedule: "0 9 * * *", duration: 8h}]', True),
        ("[{nodes: 10%}]", True),
    ],
)
def test_churn_reads_budgets(check: Check, budgets: str, expected: bool) -> None:
    results = findings_of(check(disrupted(budgets), select=["default-disruption"]), "default-disruption")
    assert any("underutilized nodes are consolidated" in message for _, message in results) is expected


@pytest.mark.parametrize(
    ("term", "help"),
    [
        ("name: golden-*", "add `owner: self`"),
        ("name: amazon-eks-node-al2023-x86_64-standard-1.33-*", "add `owner: amazon`"),
        ("tags: {team: platform}", None),
        ("id: ami-0a1b2c3d4e5f60718", None),
        ("name: golden-*, owner: self", None),
    ],
)
def test_names_need_an_owner_and_tags_do_not(check: Check, term: str, help: str | None) -> None:
    report = check(nodeclass("amiFamily: AL2023", ami=term), select=["untrusted-image-owner"])
    helps = [str(r.finding.help) for r in report.results]
    assert [text.startswith(str(help)) for text in helps] == ([True] if help else [])


def test_budgets_with_a_schedule_are_meant(check: Check) -> None:
    day = '[{nodes: "0", schedule: "0 0 * * *", duration: 12h}, {nodes: "0", schedule: "0 12 * * *", duration: 12h}]'
    assert not findings_of(check(disrupted(day)), "blocking-budget")
    assert findings_of(check(disrupted(day), select=["blocking-budget"]), "blocking-budget")
    assert findings_of(check(disrupted('[{nodes: "0"}]')), "blocking-budget")


def test_a_budget_of_zero_that_names_drift_is_meant(check: Check) -> None:
    frozen = '{nodes: "0", reasons: [Underutilized, Drifted]}'
    assert not findings_of(check(disrupted(f"[{frozen}]")), "blocking-budget")
    [result] = check(disrupted(f"[{frozen}]"), select=["blocking-budget"]).results
    assert result.severity == "info"
    # A window for drift beside it never opens: whoever wrote it waits for it.
    night = '{nodes: "5", reasons: [Drifted], schedule: "0 1 * * *", duration: 2h}'
    assert findings_of(check(disrupted(f"[{frozen}, {night}]")), "blocking-budget")
    [result] = check(disrupted(f"[{frozen}, {night}]")).results
    assert [place.message for place in result.finding.also] == ["has no effect: the smallest active budget counts"]
    # A window for another reason is none for drift.
    other = '{nodes: "5", reasons: [Empty], schedule: "0 1 * * *", duration: 2h}'
    assert not findings_of(check(disrupted(f"[{frozen}, {other}]")), "blocking-budget")
    # A window for all reasons still opens for empty nodes.
    any_reason = '{nodes: "5", schedule: "0 1 * * *", duration: 2h}'
    [result] = check(disrupted(f"[{frozen}, {any_reason}]"), select=["blocking-budget"]).results
    assert [place.message for place in result.finding.also] == [
        "has no effect on drift: the smallest active budget counts"
    ]


@pytest.mark.parametrize("value", ["Never", "5m", "48h"])
@pytest.mark.parametrize("api", ["v1", "v1beta1"])
def test_a_field_that_the_api_server_drops_acts_on_no_node(check: Check, api: str, value: str) -> None:
    text = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]").replace(
        "karpenter.sh/v1\n", f"karpenter.sh/{api}\n"
    )
    text = f"{text}  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 30s, expireAfter: {value}}}\n"
    acting = {r.rule.name for r in check(text, karpenter="1.0.0", select=["never-expires", "node-churn"]).results}
    assert acting == (set() if api == "v1" else {"never-expires"} if value == "Never" else {"node-churn"})


def test_a_name_in_the_metadata_of_a_template_is_no_other_objects(check: Check) -> None:
    text = nodepool().replace("  template:\n", "  template:\n    metadata: {name: a}\n")
    assert [m for _, m in findings_of(check(text), "unknown-field")] == [
        "`name` is not a known field of spec.template.metadata"
    ]


def test_a_release_that_nobody_states_supports_nothing(
    nodelint: Callable[..., CompletedProcess[str]], here: Path
) -> None:
    (here / "main.tf").write_text('module "eks" {\n  cluster_version = "1.21"\n}\n')
    (here / "pool.yaml").write_text(nodepool())
    args = ("check", ".", "--select", "unsupported-kubernetes")
    assert "unsupported-kubernetes" not in nodelint(*args).stdout
    assert "from 1.26 on, but the cluster runs 1.21" in nodelint(*args, "--karpenter-version", "1.15.1").stdout


PROVISIONER = """\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  providerRef: {name: default}
  ttlSecondsAfterEmpty: 30
  ttlSecondsUntilExpired: 600
  limits: {resources: {cpu: 100}}
"""


def test_old_objects_are_spoken_of_in_their_own_words(check: Check) -> None:
    report = check(
        PROVISIONER, select=["default-disruption", "node-churn", "no-limits", "never-expires", "no-budgets"]
    )
    answer = {r.rule.name: r for r in report.results}
    assert {"default-disruption", "node-churn"} <= answer.keys()
    for result in answer.values():
        words = " ".join(filter(None, (result.finding.message, result.finding.note, result.finding.help)))
        for word in ("WhenEmpty", "WhenEmptyOrUnderutilized", "NodePool", "expireAfter", "spec.template.spec"):
            assert word not in words, words
    lines = {name: PROVISIONER[r.span.start : r.span.end] for name, r in answer.items()}
    assert lines["default-disruption"] == "ttlSecondsAfterEmpty"
    assert lines["node-churn"] == "600"


def test_a_policy_of_v1beta1_has_its_own_name(check: Check) -> None:
    text = nodepool().replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n")
    text += "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s}\n"
    (result,) = check(text, karpenter="1.9.0", select=["default-disruption"]).results
    assert result.finding.help is not None and "WhenEmptyOrUnderutilized" not in result.finding.help


IRSA_MODULE = "terraform-aws-modules/iam/aws//modules/iam-role-for-service-accounts-eks"
IRSA = f'module "x" {{\n  source = "{IRSA_MODULE}"\n  attach_karpenter_controller_policy = true\n}}\n'
EKS_MODULE, ADD_ONS = "terraform-aws-modules/eks/aws//modules/karpenter", "aws-ia/eks-blueprints-addons/aws"


@pytest.mark.parametrize(
    ("module", "lines", "chart", "expected"),
    [
        (EKS_MODULE, ['version = "21.1.5"'], "1.7.0", "move to version 21.2.0"),
        (EKS_MODULE, ['version = "~> 21.1.0"'], "1.8.3", "move to version 21.2.0"),
        (EKS_MODULE, ['version = "20.37.2"', "enable_v1_permissions = true"], "1.8.3", "move to version 21.2.0"),
        (EKS_MODULE, ['version = "~> 20.8"'], "1.8.3", "move to version 21.2.0 of the module or newer"),
        (EKS_MODULE, ['version = "~> 20.8"'], "1.6.5", "set `enable_v1_permissions = true`, or move to version 21"),
        (EKS_MODULE, ['version = "~> 20.23.0"'], "1.6.5", "= true` with version 20.24.0 or newer, or"),
        (EKS_MODULE, ['version = "20.8.4"'], "1.6.5", "= true` with version 20.24.0 or newer, or"),
        (ADD_ONS, ['version = "1.22.0"', "enable_karpenter = true"], "1.7.0", "move to version 1.23.0"),
        (EKS_MODULE, ['version = "21.1.5"'], "1.6.5", None),
        (EKS_MODULE, ['version = "21.2.0"'], "1.7.0", None),
        (EKS_MODULE, ['version = "~> 21.1"'], "1.7.0", None),
        (EKS_MODULE, ['version = "~> 20"'], "1.7.0", None),
        (EKS_MODULE, ['version = ">= 20.0"'], "1.7.0", None),
        (EKS_MODULE, ['version = "21.1.5"', "iam_policy_statements = local.more"], "1.7.0", None),
        (EKS_MODULE, ['version = "21.1.5"', "create_iam_role = false"], "1.7.0", None),
        (ADD_ONS, ['version = "1.22.0"'], "1.7.0", None),
        (ADD_ONS, ['version = "~> 1.16"', "enable_karpenter = true"], "1.7.0", None),
    ],
)
def test_a_module_grants_what_its_version_grants(
    here: Path, module: str, lines: list[str], chart: str, expected: str | None
) -> None:
    body = "\n".join(f"  {line}" for line in [f'source = "{module}"', *lines])
    release = (
        f'resource "helm_release" "k" {{\n  name = "karpenter"\n  chart = "karpenter"\n  version = "{chart}"\n}}\n'
    )
    (here / "main.tf").write_text(f'module "karpenter" {{\n{body}\n}}\n{release}')
    (here / "pool.yaml").write_text(nodepool())
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "controller-permissions"])
    helps = [finding["help"] for finding in json.loads(run.stdout)["findings"]]
    assert [expected in text for text in helps] == [True] if expected else helps == []


def test_a_module_for_which_nobody_states_a_release_lists_profiles_or_not(here: Path) -> None:
    (here / "main.tf").write_text(f'module "karpenter" {{\n  source = "{EKS_MODULE}"\n  version = "21.1.5"\n}}\n')
    (here / "pool.yaml").write_text(nodepool())
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "controller-permissions"])
    assert json.loads(run.stdout)["findings"] == []


@pytest.mark.parametrize("kubernetes", [None, *alias_families()["al2023"]["first"]])
def test_an_alias_that_is_named_as_an_example_has_an_image(kubernetes: str | None) -> None:
    version = KubernetesVersion.parse(kubernetes) if kubernetes else None
    newest = alias_families()["al2023"]["first"][kubernetes or "1.36"]
    assert family_example("al2023", version).partition("@")[2] >= newest


@pytest.mark.parametrize(("values", "expected"), [("[spot]", None), ("[spot, on-demand]", "warning"), (None, "info")])
def test_a_label_beside_a_requirement_of_the_same_value_changes_nothing(
    check: Check, values: str | None, expected: str | None
) -> None:
    text = nodepool(f"key: karpenter.sh/capacity-type, operator: In, values: {values}" if values else "")
    text = text.replace("  template:\n", "  template:\n    metadata: {labels: {karpenter.sh/capacity-type: spot}}\n")
    report = check(text)
    assert [severity for severity, _ in findings_of(report, "label-as-requirement")] == (
        [expected] if expected else []
    )
    assert findings_of(check(text, select=["label-as-requirement"]), "label-as-requirement")


@pytest.mark.parametrize(
    ("script", "release", "expected"),
    [
        ("/etc/eks/bootstrap.sh main", "1.0.8", "error"),
        ("/etc/eks/bootstrap.sh main", "1.2.1", "error"),
        ("/etc/eks/bootstrap.sh main", "1.2.2", "info"),
        ("/etc/eks/bootstrap.sh main --kubelet-extra-args '--node-labels=a=b'", "1.14.3", "info"),
        ("T=karpenter.sh/unregistered\n    /etc/eks/bootstrap.sh main", "1.0.8", None),
        ('/etc/eks/bootstrap.sh main --kubelet-extra-args "$ARGS"', "1.0.8", None),
        ("/opt/join.sh main", "1.0.8", None),
    ],
)
def test_a_node_has_to_join_with_the_taint_that_karpenter_asks_for(
    check: Check, script: str, release: str, expected: str | None
) -> None:
    text = nodeclass(
        "amiFamily: Custom", "userData: |", "  #!/bin/bash", f"  {script}", ami="id: ami-0a1b2c3d4e5f60718"
    )
    report = check(text, karpenter=release, select=["custom-user-data"])
    assert [severity for severity, _ in findings_of(report, "custom-user-data")] == ([expected] if expected else [])
    own = text.replace("amiFamily: Custom", "amiFamily: AL2")
    assert not findings_of(check(own, karpenter=release, select=["custom-user-data"]), "custom-user-data")


@pytest.mark.parametrize(
    ("folder", "switch", "expected"),
    [("", "", ["a.tf"]), ("pools/", "", []), ("", "count = 1", []), ("", "for_each = local.pools", [])],
)
def test_a_root_module_is_planned_as_a_whole(here: Path, folder: str, switch: str, expected: list[str]) -> None:
    (here / "pools").mkdir()
    (here / "chart.tf").write_text('resource "helm_release" "k" {\n  chart = "karpenter"\n  name = "karpenter"\n}\n')
    for name, version in (("a", "v1"), ("b", "v1")):
        (here / f"{folder}{name}.tf").write_text(
            f'resource "kubernetes_manifest" "{name}" {{\n  {switch}\n  manifest = {{\n'
            f'    apiVersion = "karpenter.sh/{version}"\n    kind = "NodePool"\n  }}\n}}\n'
        )
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "manifest-before-crds"])
    found = json.loads(run.stdout)["findings"]
    assert [finding["path"] for finding in found] == expected
    assert all(finding["related"][0]["path"] == "chart.tf" for finding in found)


CHART = 'resource "helm_release" "karpenter" {\n  name  = "karpenter"\n  chart = "karpenter"\n}\n'
OBJECT = """\
resource "kubectl_manifest" "pool" {
  WAITS
  yaml_body = <<-YAML
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: default}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
          requirements:
            - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  YAML
}
"""


@pytest.mark.parametrize(
    ("waits", "more", "expected"),
    [
        ("", "", True),
        ("depends_on = [helm_release.karpenter]", "", False),
        (
            "depends_on = [time_sleep.a]",
            'resource "time_sleep" "a" {\n  depends_on = [helm_release.karpenter]\n}\n',
            False,
        ),
        ("depends_on = [data.x_y.a]", 'data "x_y" "a" {\n  depends_on = [helm_release.karpenter]\n}\n', False),
        ("depends_on = [local.a]", "locals {\n  a = helm_release.karpenter.id\n}\n", False),
        ("depends_on = [module.roles]", 'module "roles" {\n  source = "karpenter"\n}\n', True),
        ("depends_on = [module.elsewhere]", "", False),  # what it waits for is not known
        ("count = var.on ? 1 : 0", "", False),
        ("", 'provider "kubectl" {\n  apply_retry_count = 5\n}\n', False),
    ],
)
def test_a_manifest_waits_for_the_chart(here: Path, waits: str, more: str, expected: bool) -> None:
    assert bool(early(here, CHART + more, OBJECT.replace("WAITS", waits))) == expected


def test_what_the_chart_waits_for_does_not_wait_for_it(here: Path) -> None:
    """A module that is written elsewhere, and that the chart itself refers to, installs no CRDs."""
    roles = "depends_on = [module.roles]"
    chart = CHART.replace('chart = "karpenter"', f'chart = "karpenter"\n  {roles}')
    assert early(here, chart, OBJECT.replace("WAITS", roles))


def early(folder: Path, chart: str, pool: str) -> list[object]:
    (folder / "main.tf").write_text(chart)
    (folder / "pool.tf").write_text(pool)
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "manifest-before-crds"])
    found: list[object] = json.loads(run.stdout)["findings"]
    return found


POLICY = """\
resource "aws_iam_policy" "karpenter" {
  policy = jsonencode({ Statement = [{ Effect = "Allow", Resource = "*", Action = [
    "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:Describe*", "ec2:RunInstances",
    "ec2:TerminateInstances", "ec2:DeleteLaunchTemplate", "eks:DescribeCluster", "pricing:GetProducts",
    "ssm:GetParameter", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile", "iam:PassRole",
  ] }] })
}
"""
PROFILES = ("CreateInstanceProfile", "AddRoleToInstanceProfile", "GetInstanceProfile", "TagInstanceProfile")


@pytest.mark.parametrize(
    ("change", "more", "profile", "expected"),
    [
        ("", "", False, "`iam:GetInstanceProfile` and 3 more: the EC2NodeClass is never ready"),
        ('"iam:CreateInstanceProfile", "iam:*InstanceProfile", ', "", False, None),
        ('"iam:GetInstanceProfile", "iam:Tag*", ', "", False, "`iam:CreateInstanceProfile` and 1 more"),
        ("", f"x = [{{ actions = {json.dumps([f'iam:{name}' for name in PROFILES])} }}]  # karpenter", False, None),
        ("", 'x = [{ actions = concat(["s3:*"], var.more) }]  # karpenter', False, None),
        ("", "# karpenter arn:aws:iam::aws:policy/AdministratorAccess", False, None),
        ("", '# karpenter\nx = [{ actions = ["*"] }]', False, None),
        (
            "",
            IRSA,
            False,
            None,
        ),
        ("", f'module "karpenter" {{\n  source = "{EKS_MODULE}"\n}}\n', False, None),
        ("", "", True, None),
    ],
)
def test_a_policy_that_is_written_out_grants_what_a_role_asks_for(
    here: Path, change: str, more: str, profile: bool, expected: str | None
) -> None:
    (here / "policy.tf").write_text(POLICY.replace('"iam:PassRole"', f'{change}"iam:PassRole"'))
    (here / "more.tf").write_text(more)
    text = nodeclass()
    assert "  role: " in text
    (here / "class.yaml").write_text(text.replace("  role: ", "  instanceProfile: ") if profile else text)
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "controller-permissions"])
    messages = [finding["message"] for finding in json.loads(run.stdout)["findings"]]
    assert [expected in message for message in messages] == [True] if expected else messages == []


def test_a_policy_without_images_launches_nothing(here: Path) -> None:
    (here / "policy.tf").write_text(POLICY.replace("ec2:Describe*", "ec2:DescribeInst*"))
    (here / "class.yaml").write_text(nodeclass().replace("  role: ", "  instanceProfile: "))
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "controller-permissions"])
    [finding] = json.loads(run.stdout)["findings"]
    assert finding["message"].startswith(
        "no policy grants `ec2:DescribeImages` and 3 more: the EC2NodeClass is never"
    )


@pytest.mark.parametrize(
    ("script", "expected"),
    [("", True), ("mkdir /data", True), ("mdadm --create /dev/md0 /dev/nvme1n1", False), ("${SCRIPT}", False)],
)
def test_raid0_does_not_reach_a_node_of_family_custom(check: Check, script: str, expected: bool) -> None:
    lines = ("userData: |", f"  #!/bin/bash\n    {script}") if script and script[0] != "$" else ()
    lines = (f"userData: {script}",) if script.startswith("$") else lines
    text = nodeclass("amiFamily: Custom", "instanceStorePolicy: RAID0", *lines, ami="id: ami-0a1b2c3d4e5f60718")
    answer = findings_of(check(text), "instance-store-without-disks")
    assert [severity for severity, _ in answer] == (["info"] if expected else [])


@pytest.mark.parametrize(
    ("release", "image", "expected"),
    [("1.0.8", "1.32", True), ("1.0.8", "1.31", False), ("1.2.1", "1.32", False), (None, "1.32", False)],
)
def test_an_image_says_how_new_the_cluster_is(here: Path, release: str | None, image: str, expected: bool) -> None:
    (here / "class.yaml").write_text(
        nodeclass("amiFamily: AL2023", ami=f"name: amazon-eks-node-al2023-x86_64-standard-{image}-*")
    )
    if release is not None:
        (here / "main.tf").write_text(
            f'resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  chart = "karpenter"\n'
            f'  repository = "oci://public.ecr.aws/karpenter"\n  version = "{release}"\n}}\n'
        )
    run = CliRunner().invoke(main, ["check", "--format", "json"])
    reported = [f for f in json.loads(run.stdout)["findings"] if f["rule"] == "image-for-one-kubernetes"]
    assert [(f["severity"], "supports none above 1.31" in f["message"]) for f in reported] == (
        [("warning", True)] if expected else []
    )


RELEASE = """\
resource "helm_release" "karpenter" {
  name    = "karpenter"
  chart   = "karpenter"
  version = "1.14.3"
  VALUES
}
"""


@pytest.mark.parametrize(
    ("values", "more", "capacity", "expected"),
    [
        ("", "", "[spot, on-demand]", True),
        ('set = [{ name = "settings.clusterName", value = var.name }]', "", "[spot]", True),
        ('set = [{ name = "settings.interruptionQueue", value = var.queue }]', "", "[spot]", False),
        ('values = [file("values.yaml")]', "", "[spot]", False),
        ("values = var.values", "", "[spot]", False),
        ("values = [local.values]", "", "[spot]", False),
        ("", "", "[on-demand]", False),
        ("", "# karpenter beside aws-node-termination-handler", "[spot]", False),
    ],
)
def test_a_chart_without_an_interruption_queue(
    here: Path, values: str, more: str, capacity: str, expected: bool
) -> None:
    (here / "main.tf").write_text(RELEASE.replace("VALUES", values))
    (here / "more.tf").write_text(more)
    (here / "pool.yaml").write_text(nodepool(f"key: karpenter.sh/capacity-type, operator: In, values: {capacity}"))
    run = CliRunner().invoke(main, ["check", "--format", "json", "--select", "no-interruption-queue"])
    assert [finding["path"] for finding in json.loads(run.stdout)["findings"]] == (["main.tf"] if expected else [])


@pytest.mark.parametrize(
    ("generation", "limits", "expected"),
    [
        ("Gt, values: ['2']", "", {"old-generations"}),
        ("Gt, values: ['2']", "  limits: {cpu: 32}\n", {"old-generations"}),
        ("Gt, values: ['4']", "", {"bare-metal-left"}),
    ],
)
def test_old_and_bare_metal_types_that_nothing_excludes_are_one_finding(
    check: Check, generation: str, limits: str, expected: set[str]
) -> None:
    text = nodepool(
        "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]",
        f"key: karpenter.k8s.aws/instance-generation, operator: {generation}",
        spec=limits,
    )
    both = ["old-generations", "bare-metal-left"]
    results = check(text, select=both).results
    assert {result.rule.name for result in results} == expected
    answer = [result.finding.note for result in results if "allowed as well" in str(result.finding.note)]
    assert bool(answer) == ("old-generations" in expected and not limits)
    assert bool(check(text, select=["bare-metal-left"]).results) == (not limits)  # asked for by its name
