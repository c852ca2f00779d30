"""EKS Auto Mode: its NodeClass, the families that it launches, and what the commands say of its pools."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nodelint.karpenter.resolve import not_listed
from nodelint.lint.engine import Report
from tests.manifests import nodeclass
from tests.repositories import write_files

Check = Callable[..., Report]
Run = Callable[..., subprocess.CompletedProcess[str]]

ROLE = "role: AutoNode"
SUBNETS = "subnetSelectorTerms: [{tags: {Name: private}}]"
GROUPS = "securityGroupSelectorTerms: [{tags: {Name: eks-cluster-sg}}]"
REF = "{group: eks.amazonaws.com, kind: NodeClass, name: web}"
ARN = "arn:aws:kms:us-east-1:111122223333:key/00000000-0000-0000-0000-000000000000"


def node_class(*more: str, lines: Sequence[str] = (ROLE, SUBNETS, GROUPS), name: str = "web") -> str:
    head = f"apiVersion: eks.amazonaws.com/v1\nkind: NodeClass\nmetadata: {{name: {name}}}\nspec:\n"
    return head + "".join(f"  {line}\n" for line in (*lines, *more))


def pool(*requirements: str, ref: str = REF, more: str = "", name: str = "web") -> str:
    lines = "".join(f"        - {{{line}}}\n" for line in requirements or ("key: a.example/b, operator: Exists",))
    return (
        f"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: {name}}}\nspec:\n  template:\n    spec:\n"
        f"      nodeClassRef: {ref}\n{more}      requirements:\n{lines}"
    )


def rules_of(report: Report) -> list[tuple[str, str]]:
    return [(r.rule.name, r.finding.severity or r.rule.severity) for r in report.results]


class TestNodeClass:
    @pytest.mark.parametrize(
        "text",
        [
            node_class(),
            node_class(lines=("instanceProfile: eks-auto", SUBNETS, GROUPS)),
            node_class("snatPolicy: Disabled", "networkPolicy: DefaultDeny", "networkPolicyEventLogs: Enabled"),
            node_class(f"ephemeralStorage: {{size: 80Gi, iops: 3000, throughput: 125, kmsKeyID: '{ARN}'}}"),
            node_class("ephemeralStorage: {size: 64T, iops: 16000, throughput: 1000}"),
            node_class("advancedNetworking: {associatePublicIPAddress: false, ipv4PrefixSize: '32'}"),
            node_class("advancedNetworking: {httpsProxy: 'http://192.0.2.4:3128', noProxy: [localhost, .internal]}"),
            node_class(
                "advancedSecurity: {fips: true, kernelLockdown: Integrity}", "placementGroupSelector: {name: pg}"
            ),
            node_class("certificateBundles: [{name: corporate, data: TFMwdExTMHRMUzA9}]"),
            node_class(
                "podSubnetSelectorTerms: [{tags: {a: b}}]", "podSecurityGroupSelectorTerms: [{id: sg-0a1b2c3d}]"
            ),
            node_class(
                "capacityReservationSelectorTerms: [{id: cr-0a1b2c3d}, {tags: {a: b}, owner: '012345678901'}]"
            ),
            node_class("tags: {team: a}"),
            node_class("role: '{{ .Values.role }}'", lines=(SUBNETS, GROUPS)),
            node_class(
                "advancedNetworking: {networkInterfaces: [{deviceIndex: 0, networkCardIndex: 0,"
                " interfaceType: interface, secondaryIPv4PrefixCount: 1},"
                " {deviceIndex: 1, networkCardIndex: 0, interfaceType: efa-only}]}"
            ),
        ],
    )
    def test_a_valid_one_is_judged_and_is_silent(self, check: Check, text: str) -> None:
        report = check(text)
        assert (rules_of(report), len(report.objects), report.unjudged) == ([], 1, 0)
        assert [skip.reason for skip in report.skipped if skip.rule is None] == []

    @pytest.mark.parametrize(
        ("text", "rule", "message"),
        [
            (node_class("amiSelectorTerms: [{alias: al2023@latest}]"), "unknown-field", "AWS chooses the images"),
            (
                node_class("userData: a"),
                "unknown-field",
                "EKS Auto Mode runs no user data; prepare nodes with a DaemonSet",
            ),
            (node_class("blockDeviceMappings: []"), "unknown-field", "has ephemeralStorage in its place"),
            (node_class("kubelet: {maxPods: 20}"), "unknown-field", "AWS configures the kubelet"),
            (node_class("associatePublicIPAddress: false"), "unknown-field", "it belongs in spec.advancedNetworking"),
            (node_class("snatPolcy: Random"), "unknown-field", "did you mean `snatPolicy`?"),
            (
                node_class("instanceProfile: a"),
                "refused-combination",
                "`role` and `instanceProfile` cannot go together",
            ),
            (node_class(lines=(SUBNETS, GROUPS)), "refused-combination", "one of `role` and `instanceProfile`"),
            (node_class(lines=(ROLE, GROUPS)), "invalid-field", "`subnetSelectorTerms` is missing"),
            (node_class(lines=(ROLE, SUBNETS)), "invalid-field", "`securityGroupSelectorTerms` is missing"),
            (node_class("networkPolicy: DenyAll"), "invalid-field", "use one of DefaultAllow, DefaultDeny"),
            (node_class("ephemeralStorage: {iops: 100}"), "invalid-field", "the minimum is 3000"),
            (node_class("ephemeralStorage: {throughput: 5000}"), "invalid-field", "the maximum is 1000"),
            (node_class("ephemeralStorage: {size: 100000Gi}"), "invalid-field", "is not a size such as 80Gi"),
            (node_class("advancedNetworking: {ipv4PrefixSize: 32}"), "invalid-field", "must be a string"),
            (
                node_class("podSubnetSelectorTerms: [{id: subnet-0a1b2c3d}]"),
                "refused-combination",
                "needs podSecurityGroup",
            ),
            (node_class("tags: {karpenter.sh/nodepool: a}"), "refused-combination", "EKS Auto Mode does so itself"),
            (node_class().replace("com/v1\n", "com/v1beta1\n"), "invalid-field", "it is in eks.amazonaws.com/v1"),
        ],
    )
    def test_what_its_api_server_refuses(self, check: Check, text: str, rule: str, message: str) -> None:
        [result] = check(text).results
        assert (result.rule.name, result.finding.severity or result.rule.severity) == (rule, "error")
        assert message in result.finding.message
        assert not any("Name" in way.name for way in result.finding.suggestions)

    def test_a_field_that_aws_may_have_added_is_no_error(self, check: Check) -> None:
        [result] = check(node_class("warmThroughput: 3")).results
        assert (result.rule.name, result.finding.severity) == ("unknown-field", "warning")
        assert result.finding.help == "remove the field, unless AWS added it after 2026-08-12"

    def test_in_terraform_and_beside_the_crds_of_karpenter(self, nodelint: Run, tmp_path: Path) -> None:
        attributes = (
            '    apiVersion = "eks.amazonaws.com/v1"\n    kind = "NodeClass"\n    metadata = {{ name = "{}" }}\n'
            '    spec = {{\n      role = "r"\n      {} = "x"\n'
            "      subnetSelectorTerms = [{{ tags = {{ a = var.a }} }}]\n"
            '      securityGroupSelectorTerms = [{{ id = "sg-0a1b2c3d" }}]\n    }}\n'
        )
        text = (
            f'resource "kubernetes_manifest" "a" {{\n  manifest = {{\n{attributes.format("a", "userData")}  }}\n}}\n'
            f'resource "kubectl_manifest" "b" {{\n  yaml_body = yamlencode({{\n{attributes.format("b", "snatPolicy")}'
            '  })\n}\nresource "kubectl_manifest" "c" {\n  yaml_body = <<-Y\n'
            + "".join(f"    {line}\n" for line in node_class("networkPolicy: Deny", name="c").splitlines())
            + "  Y\n}\n"
        )
        write_files(tmp_path, {"main.tf": text})
        found = json.loads(nodelint("check", ".", "--format", "json").stdout)
        assert [f["rule"] for f in found["findings"]] == ["unknown-field", "invalid-field", "invalid-field"]
        assert (found["summary"]["objects"], found["summary"]["unjudged"]) == (3, 0)


class TestReference:
    def test_to_a_class_that_is_not_there(self, check: Check) -> None:
        [result] = check(pool(ref=REF.replace("web", "wbe")) + "---\n" + node_class()).results
        assert (result.rule.name, result.rule.severity) == ("unknown-node-class", "warning")
        assert result.finding.message == "there is no NodeClass `wbe` (did you mean `web`?)"
        [result] = check(pool(ref=REF.replace("web", "storage")) + "---\n" + node_class()).results
        assert result.finding.message == "the files of this run define no NodeClass `storage`"
        assert [way.name for way in result.finding.suggestions] == ["use `web`"]

    @pytest.mark.parametrize(
        ("name", "classes"),
        [
            ("default", node_class()),
            ("other", ""),
            ("other", node_class(name="'{{ .Values.name }}'")),
            ("other", "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: x}\nspec: {role: r}\n"),
        ],
    )
    def test_to_one_that_may_be_there(self, check: Check, name: str, classes: str) -> None:
        text = pool(ref=REF.replace("web", name)) + ("---\n" + classes if classes else "")
        assert "unknown-node-class" not in [rule for rule, _ in rules_of(check(text))]

    def test_to_a_kind_that_the_group_has_not(self, check: Check) -> None:
        ref = REF.replace("NodeClass", "EC2NodeClass")
        label = "key: eks.amazonaws.com/instance-category, operator: In, values: [c, m]"
        [result] = check(pool(label, ref=ref) + "---\n" + node_class()).results
        assert result.finding.message == "`eks.amazonaws.com` has no kind `EC2NodeClass`, only `NodeClass`"
        assert [edit.text for edit in result.finding.edits] == ["NodeClass"]
        [result] = check(pool(ref=ref)).results  # nothing tells which of the two is wrong
        assert (result.rule.name, list(result.finding.edits)) == ("node-class-ref", [])
        assert len(result.finding.suggestions) == 2


@pytest.mark.parametrize(
    ("families", "found"),
    [
        ("hpc7a, a1", [("no-instance-type", "warning")]),
        ("hpc7a, f2", [("no-instance-type", "warning")]),
        ("u7i-12tb", [("no-instance-type", "warning")]),
        ("m7i, hpc7a", [("unmatchable-value", "warning")]),
        ("i8g", []),
        ("m9g", []),
    ],
)
def test_families_that_it_launches(check: Check, families: str, found: list[tuple[str, str]]) -> None:
    """`m9g` is newer than the list of AWS: it is not known, and not refused."""
    report = check(pool(f"key: eks.amazonaws.com/instance-family, operator: In, values: [{families}]"))
    assert rules_of(report) == found
    if found == [("no-instance-type", "warning")]:
        assert report.results[0].finding.help == not_listed()


def deployment(selector: str, cpu: str = "2", more: str = "") -> str:
    return (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\nspec:\n  selector: {matchLabels: {a: b}}\n"
        f"  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      nodeSelector: {{{selector}}}\n{more}"
        f"      containers: [{{name: a, image: x, resources: {{requests: {{cpu: '{cpu}'}}}}}}]\n"
    )


ON_PURPOSE = "=> no pool, on purpose: written for the nodes of"
AUTO = "eks.amazonaws.com/compute-type: auto"
OWN = "eks.amazonaws.com/instance-category"
ON_C = f"key: {OWN}, operator: In, values: [c, m]"
EC2 = pool(f"key: {OWN.replace('eks.amazonaws.com', 'karpenter.k8s.aws')}, operator: In, values: [c]", name="ec2",
           ref="{group: karpenter.k8s.aws, kind: EC2NodeClass, name: ec2}")  # fmt: skip
TAINTED = pool(ON_C, more="      taints: [{key: gpu, effect: NoSchedule}]\n")


class TestFit:
    @pytest.mark.parametrize(
        ("pools", "pod", "fits"),
        [
            (pool(ON_C), deployment(AUTO), {"web": True}),
            (pool(ON_C), deployment(f"{AUTO}, {OWN}: c"), {"web": True}),
            (pool(ON_C), deployment(f"{AUTO}, {OWN}: r"), {"web": False}),
            (pool(ON_C), deployment("eks.amazonaws.com/nodeclass: web"), {"web": True}),
            (pool(ON_C), deployment("eks.amazonaws.com/nodeclass: other"), {"web": False}),
            (pool(ON_C), deployment("eks.amazonaws.com/nodegroup: a"), {"web": False}),
            (pool(ON_C), deployment("", cpu="5000"), {"web": False}),
            (f"{pool(ON_C)}---\n{EC2}", deployment(AUTO), {"web": True, "ec2": False}),
            (EC2, deployment(AUTO), {"ec2": False}),
        ],
    )
    def test_its_labels_select_its_pools(
        self, nodelint: Run, tmp_path: Path, pools: str, pod: str, fits: dict[str, bool]
    ) -> None:
        write_files(tmp_path, {"pools.yaml": pools, "pod.yaml": pod})
        found = json.loads(nodelint("fit", ".", "--format", "json").stdout)
        [api] = [*found["workloads"], *found["skipped"]]
        if "pools" in api:
            assert {entry["name"]: entry["fits"] for entry in api["pools"]} == fits

    @pytest.mark.parametrize(
        ("pools", "pod", "line"),
        [
            (pool(ON_C), deployment(AUTO), "=> `web`"),
            (EC2, deployment(AUTO), f"{ON_PURPOSE} EKS Auto Mode"),
            (EC2, deployment("eks.amazonaws.com/nodegroup: a"), f"{ON_PURPOSE} a node group"),
            (pool(ON_C), deployment(f"{AUTO}, {OWN}: g"), "=> no pool takes it"),
            (TAINTED, deployment(AUTO), "=> no pool that could be read takes it"),
            (TAINTED, deployment(f"{AUTO}, karpenter.sh/nodepool: web"), "=> no pool takes it"),
        ],
    )
    def test_what_is_said(self, nodelint: Run, tmp_path: Path, pools: str, pod: str, line: str) -> None:
        write_files(tmp_path, {"pools.yaml": pools, "pod.yaml": pod})
        shown = nodelint("fit", ".").stdout
        assert line in shown.splitlines()
        assert ("NodePool/general-purpose, built into EKS Auto Mode" in shown) == ("could be read" in line)

    def test_the_built_in_pool_for_add_ons_is_tainted(self, nodelint: Run, tmp_path: Path) -> None:
        pod = deployment("karpenter.sh/nodepool: system")
        tolerated = deployment(
            "karpenter.sh/nodepool: system", more="      tolerations: [{key: CriticalAddonsOnly}]\n"
        )
        for text, decided in ((pod, True), (tolerated.replace("Only}", "Only, operator: Exists}"), False)):
            write_files(tmp_path, {"pools.yaml": pool(ON_C), "pod.yaml": text})
            assert ("=> no pool takes it" in nodelint("fit", ".").stdout.splitlines()) == decided


class TestOtherCommands:
    def test_explain_counts_types_and_says_what_is_hidden(self, nodelint: Run, tmp_path: Path) -> None:
        write_files(tmp_path, {"pools.yaml": f"{pool(ON_C)}---\n{node_class()}"})
        done = nodelint("explain", ".")
        assert "AWS chooses the images of EKS Auto Mode" in done.stdout
        assert f"{OWN} In c, m" in done.stdout and "karpenter.k8s.aws" not in done.stdout
        assert "left out" not in done.stderr
        [entry] = json.loads(nodelint("explain", ".", "--format", "json").stdout)["nodePools"]
        assert {line["name"].partition(".")[0] for line in entry["instanceTypes"]} >= {"c7i", "m7g"}
        assert not {"hpc7a", "a1"} & {line["name"].partition(".")[0] for line in entry["instanceTypes"]}

    def test_plan_says_that_nothing_is_compared(self, nodelint: Run, tmp_path: Path) -> None:
        new = pool(ON_C.replace("c, m", "r")) + "---\n" + node_class().replace("AutoNode", "Other")
        write_files(tmp_path, {"a/m.yaml": f"{pool(ON_C)}---\n{node_class()}", "b/m.yaml": new})
        shown = nodelint("plan", "--old", "a", "b").stdout
        assert "it is a pool of EKS Auto Mode" in shown and "it is a class of EKS Auto Mode" in shown
        assert "Not compared: 2 places, 2 of which changed." in shown

    def test_hash_guesses_none(self, nodelint: Run, tmp_path: Path) -> None:
        write_files(tmp_path, {"m.yaml": f"{pool(ON_C)}---\n{node_class()}"})
        done = nodelint("hash", ".")
        assert done.stdout.startswith("Nothing to hash")


@pytest.mark.parametrize(("name", "count"), [("default", 1), ("defaults", 0)])
def test_a_class_has_a_name_of_its_own(check: Check, name: str, count: int) -> None:
    report = check(node_class(name=name))
    assert rules_of(report) == [("class-of-auto-mode", "info")] * count


def test_an_ec2nodeclass_may_be_called_default(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"class.yaml": nodeclass(), "auto.yaml": pool(ref=REF.replace("web", "default"))})
    assert "class-of-auto-mode" not in nodelint("check").stdout
