"""What the rules about images say beyond the examples of their pages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nodelint.edits import apply
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Result, Selection, Target, lint
from nodelint.model.finding import Finding
from nodelint.model.releases import NEWEST, KubernetesVersion, target
from nodelint.rule.definition import Rule, bundled, load
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

Check = Callable[..., Report]
Run = Callable[..., subprocess.CompletedProcess[str]]

AMD64 = "amazon-eks-node-al2023-x86_64-standard-1.31-v20250403"
ARM64 = "amazon-eks-node-al2023-arm64-standard-1.31-v20250403"
PARAMETER = "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/x86_64/standard/recommended/image_id"


def line(key: str, *values: str, operator: str = "In") -> str:
    shown = f", values: [{', '.join(values)}]" if values else ""
    return f"{{key: {key}, operator: {operator}{shown}}}"


def pool(*lines: str, name: str = "default", of: str = "default", more: str = "") -> str:
    """A NodePool; `more` is YAML of its template's spec."""
    return nodepool(*(line[1:-1] for line in lines), name=name, node_class=of, template=more)


def node_class(*terms: str, name: str = "default", more: str = "", version: str = "v1") -> str:
    """An EC2NodeClass; without an alias it has amiFamily AL2023. `more` is YAML of its spec."""
    if not any("alias" in term for term in terms) and "amiFamily" not in more:
        more += "  amiFamily: AL2023\n"
    listed = "".join(f"\n    - {term}" for term in terms)
    selected = f"  amiSelectorTerms:{listed}\n" if terms else ""
    return f"""\
apiVersion: karpenter.k8s.aws/{version}
kind: EC2NodeClass
metadata:
  name: {name}
spec:
  role: KarpenterNodeRole-main
{more}{selected}  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
"""


def alias(version: str, **options: str) -> str:
    return node_class(f"alias: {version}", **options)


def files(*documents: str) -> str:
    return "---\n".join(documents)


def only(report: Report) -> Result:
    assert [r.finding.message for r in report.results[1:]] == []
    return report.results[0]


def place(finding: Finding) -> str:
    span = finding.span
    return span.source.text[span.start : span.end]


@pytest.fixture
def fixed(rules: dict[str, Rule]) -> Callable[..., str]:
    """The text that the fixes of a rule make of a text."""

    def run(
        text: str,
        select: str,
        karpenter: str | None = None,
        kubernetes: str | None = None,
        unsafe: bool = True,
        path: str = "a.yaml",
    ) -> str:
        aim = Target(
            target(karpenter) if karpenter else NEWEST,
            KubernetesVersion.parse(kubernetes) if kubernetes else None,
        )
        done = fix(
            [Source.from_text(path, text)], LintRequest(aim, rules, Selection(frozenset({select}))), unsafe=unsafe
        )
        assert not done.refused
        return done.sources[0].text

    return run


Fixed = Callable[..., str]


def added(before: str, after: str) -> list[str]:
    """The lines that are new, where nothing but new lines is."""
    old, new = before.splitlines(), after.splitlines()
    rest = iter(old)
    wanted = next(rest, None)
    extra = []
    for word in new:
        if word == wanted:
            wanted = next(rest, None)
        else:
            extra.append(word.strip())
    assert wanted is None, f"lost: {wanted}"
    return extra


class TestImageArchMismatch:
    rule = "image-arch-mismatch"

    def results_of(self, check: Check, text: str, **target: str) -> Sequence[Result]:
        return check(text, select=[self.rule], **target).results

    def test_it_counts_the_types_that_cannot_launch(self, check: Check) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-family", "m7i", "m7g")), node_class(f"name: {AMD64}"))
        finding = only(check(text, select=[self.rule])).finding
        assert finding.message == "the class has no `arm64` image: 9 of 20 allowed instance types cannot launch"
        assert place(finding) == "requirements"
        assert place_of_also(finding) == [AMD64]

    @pytest.mark.parametrize("release", ["1.0.0", "1.3.3", "1.4.0", "1.14.1"])
    def test_it_is_so_in_every_release(self, check: Check, release: str) -> None:
        text = files(pool(), node_class(f"name: {AMD64}"))
        assert [r.severity for r in self.results_of(check, text, karpenter=release)] == ["error"]

    @pytest.mark.parametrize("family", ["al2", "al2023", "bottlerocket"])
    def test_linux_aliases_serve_both(self, check: Check, family: str) -> None:
        assert not self.results_of(check, files(pool(), alias(f"{family}@latest")))

    def test_two_names_serve_both(self, check: Check) -> None:
        assert not self.results_of(check, files(pool(), node_class(f"name: {AMD64}", f"name: {ARM64}")))

    def test_windows_on_arm(self, check: Check, fixed: Fixed) -> None:
        text = files(pool(), alias("windows2022@latest"))
        assert "`arm64`" in only(check(text, select=[self.rule])).finding.message
        assert added(text, fixed(text, self.rule, unsafe=False).replace("requirements:\n", "requirements: []\n"))

    def test_a_pool_that_asks_for_windows_has_no_arm_types_anyway(self, check: Check) -> None:
        text = files(pool(line("kubernetes.io/os", "windows")), alias("windows2022@latest"))
        assert not self.results_of(check, text)

    def test_windows_images_for_types_that_count_as_linux(self, check: Check) -> None:
        text = files(
            pool(line("kubernetes.io/arch", "amd64")), alias("windows2022@latest", more="  amiFamily: Custom\n")
        )
        finding = only(check(text, select=[self.rule])).finding
        assert "Windows" in finding.message
        assert place_of_also(finding) == ["Custom"]

    def test_the_architecture_of_a_template_label_counts(self, check: Check) -> None:
        text = pool().replace("    spec:\n", "    metadata: {labels: {kubernetes.io/arch: amd64}}\n    spec:\n", 1)
        assert not self.results_of(check, files(text, node_class(f"name: {AMD64}")))

    @pytest.mark.parametrize(
        ("written", "wanted"),
        [
            ("values: [amd64, arm64]", "values: [amd64]"),
            ('values: ["arm64", "amd64"]', 'values: ["amd64"]'),
            ("values: [ 'arm64' , 'amd64' ]", "values: [ 'amd64' ]"),
        ],
    )
    def test_a_listed_architecture_is_taken_out(self, fixed: Fixed, written: str, wanted: str) -> None:
        text = files(pool(f"{{key: kubernetes.io/arch, operator: In, {written}}}"), node_class(f"name: {AMD64}"))
        assert fixed(text, self.rule, unsafe=False) == text.replace(written, wanted)

    def test_it_points_at_the_listed_value(self, check: Check) -> None:
        text = files(pool(line("kubernetes.io/arch", "amd64", "'arm64'")), node_class(f"name: {AMD64}"))
        assert place(only(check(text, select=[self.rule])).finding) == "'arm64'"

    def test_the_old_name_of_the_key_is_understood(self, fixed: Fixed) -> None:
        text = files(pool(line("beta.kubernetes.io/arch", "amd64", "arm64")), node_class(f"name: {AMD64}"))
        assert fixed(text, self.rule) == text.replace("[amd64, arm64]", "[amd64]")

    @pytest.mark.parametrize("other", ["Exists", "NotIn"])
    def test_beside_a_line_that_does_not_list_it_a_line_is_added(self, fixed: Fixed, other: str) -> None:
        values = ("s390x",) if other == "NotIn" else ()
        text = files(pool(line("kubernetes.io/arch", *values, operator=other)), node_class(f"name: {AMD64}"))
        assert added(text, fixed(text, self.rule)) == ["- {key: kubernetes.io/arch, operator: In, values: [amd64]}"]

    def test_a_pool_of_the_other_architecture_alone_is_moved_only_on_demand(self, check: Check, fixed: Fixed) -> None:
        text = files(pool(line("kubernetes.io/arch", "arm64")), node_class(f"name: {AMD64}"))
        result = only(check(text, select=[self.rule]))
        assert result.safety == "unsafe"
        assert fixed(text, self.rule, unsafe=False) == text
        assert fixed(text, self.rule) == text.replace("[arm64]", "[amd64]")

    @pytest.mark.parametrize(
        "lines",
        [
            (line("karpenter.k8s.aws/instance-family", "m7g", "c7g"),),
            (line("kubernetes.io/arch", "arm64"), line("karpenter.k8s.aws/instance-family", "m7g")),
        ],
    )
    def test_a_pool_of_families_of_the_other_architecture_has_no_fix(
        self, check: Check, lines: Sequence[str]
    ) -> None:
        finding = only(check(files(pool(*lines), node_class(f"name: {AMD64}")), select=[self.rule])).finding
        assert not finding.edits
        assert finding.help and "arm64 image" in finding.help

    def test_min_values_that_want_both_have_no_fix(self, check: Check) -> None:
        both = "{key: kubernetes.io/arch, operator: In, values: [amd64, arm64], minValues: 2}"
        finding = only(check(files(pool(both), node_class(f"name: {AMD64}")), select=[self.rule])).finding
        assert not finding.edits

    def test_each_pool_of_a_class_is_told(self, check: Check) -> None:
        text = files(
            pool(name="a"),
            pool(line("kubernetes.io/arch", "amd64"), name="b"),
            pool(line("kubernetes.io/arch", "amd64", "arm64"), name="c"),
            node_class(f"name: {AMD64}"),
        )
        assert [r.object.name for r in self.results_of(check, text) if r.object] == ["a", "c"]

    def test_a_class_in_another_file(self, check: Check) -> None:
        report = check(pool(), node_class(f"name: {AMD64}"), select=[self.rule])
        also = only(report).finding.also[0]
        assert also.span.source.path == "1.yaml"

    @pytest.mark.parametrize(
        ("term", "words"),
        [
            ("id: ami-0123456789abcdef0", "`ami-0123456789abcdef0`"),
            ("{name: golden-*, owner: self}", "`golden-*`"),
            ("tags: {team: platform}", "tags"),
            ("name: ${AMI_NAME}", "placeholder"),
        ],
    )
    def test_an_unknown_image_is_not_judged_and_that_is_said(self, check: Check, term: str, words: str) -> None:
        report = check(files(pool(), node_class(term)), select=[self.rule])
        assert not report.results
        assert [words in skip.reason and "kubernetes.io/arch" in skip.reason for skip in report.skipped] == [True]

    def test_an_unknown_image_beside_a_known_one_may_be_the_missing_one(self, check: Check) -> None:
        report = check(files(pool(), node_class(f"name: {AMD64}", "id: ami-0123456789abcdef0")), select=[self.rule])
        assert not report.results
        assert len(report.skipped) == 1

    def test_an_unknown_image_beside_known_ones_of_every_architecture(self, check: Check) -> None:
        terms = (f"name: {AMD64}", f"name: {ARM64}", "id: ami-0123456789abcdef0")
        report = check(files(pool(), node_class(*terms)), select=[self.rule])
        assert not report.results
        assert not report.skipped

    def test_a_class_that_is_not_there(self, check: Check) -> None:
        report = check(pool(), select=[self.rule])
        assert not report.results
        assert ["not among the files" in skip.reason for skip in report.skipped] == [True]

    def test_a_pool_that_says_its_architecture_is_left_in_peace(self, check: Check) -> None:
        text = files(pool(line("kubernetes.io/arch", "amd64")), node_class("id: ami-0123456789abcdef0"))
        report = check(text, select=[self.rule])
        assert not report.results
        assert not report.skipped

    def test_a_placeholder_that_may_rule_the_architecture_out(self, check: Check) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-family", "${FAMILIES}")), node_class(f"name: {AMD64}"))
        report = check(text, select=[self.rule])
        assert not report.results
        assert "arm64" in report.skipped[0].reason

    def test_a_placeholder_among_zones_changes_nothing(self, check: Check) -> None:
        text = files(pool(line("topology.kubernetes.io/zone", "${ZONE}")), node_class(f"name: {AMD64}"))
        assert len(self.results_of(check, text)) == 1

    def test_a_templated_pool_may_have_more_lines(self, check: Check) -> None:
        text = files(pool(), node_class(f"name: {AMD64}"))
        templated = text.replace("      requirements: []\n", "      {{- toYaml .Values.requirements | nindent 6 }}\n")
        report = check(templated, select=[self.rule])
        assert not report.results
        assert report.skipped

    @pytest.mark.parametrize(
        "written",
        [
            "{}",
            "arm64",
            "[arm64]",
            "[{key: kubernetes.io/arch, operator: in, values: [amd64]}]",
            "[{key: kubernetes.io/arch, operator: In, values: amd64}]",
            "[{key: kubernetes.io/arch, values: [amd64]}]",
        ],
    )
    def test_a_malformed_requirement_may_have_meant_the_architecture(self, check: Check, written: str) -> None:
        text = files(pool(), node_class(f"name: {AMD64}")).replace("requirements: []", f"requirements: {written}")
        report = check(text, select=[self.rule])
        assert not report.results
        assert ["of the form" in skip.reason for skip in report.skipped] == [True]

    @pytest.mark.parametrize(
        ("requirement", "more", "words"),
        [
            (
                line("karpenter.sh/capacity-type", "reserved"),
                "  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]\n",
                "reservations",
            ),
            (
                line("karpenter.k8s.aws/instance-category", "c"),
                "  cpuOptions: {nestedVirtualization: enabled}\n",
                "nest",
            ),
        ],
    )
    def test_types_that_only_aws_can_pick(self, check: Check, requirement: str, more: str, words: str) -> None:
        """Which types are left is decided by reservations, or by what the processors can do."""
        report = check(files(pool(requirement), node_class(f"name: {AMD64}", more=more)), select=[self.rule])
        assert not report.results
        assert [words in skip.reason for skip in report.skipped] == [True]

    def test_reservations_beside_other_capacity_decide_nothing(self, check: Check) -> None:
        more = "  capacityReservationSelectorTerms: [{id: cr-0123456789abcdef0}]\n"
        text = files(
            pool(line("karpenter.sh/capacity-type", "reserved", "spot")), node_class(f"name: {AMD64}", more=more)
        )
        assert len(self.results_of(check, text)) == 1

    def test_no_fix_takes_away_what_min_values_counts_on(self, check: Check) -> None:
        families = "{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7g], minValues: 2}"
        result = only(check(files(pool(families), node_class(f"name: {AMD64}")), select=[self.rule]))
        assert not result.fixable

    def test_the_alias_that_is_named_is_of_the_family_of_the_class(self, check: Check) -> None:
        text = files(
            pool(), node_class("name: bottlerocket-aws-k8s-1.31-x86_64-*", more="  amiFamily: Bottlerocket\n")
        )
        finding = only(check(text, select=[self.rule])).finding
        assert finding.help and "`bottlerocket`" in finding.help

    def test_a_placeholder_names_the_class_that_bears_the_same_one(self, check: Check) -> None:
        """As in charts, where the pool and its class take their name from one value."""
        text = files(pool(of="'{{ .Values.name }}'"), node_class(f"name: {AMD64}", name='"{{ .Values.name }}"'))
        assert len(self.results_of(check, text)) == 1
        report = check(text.replace("name: '{{ .Values.name }}'", "name: '{{ .Values.other }}'"), select=[self.rule])
        assert not report.results
        assert "name of the class is a placeholder" in report.skipped[0].reason

    @pytest.mark.parametrize(
        ("classes", "words"),
        [
            ((node_class(f"name: {AMD64}"), alias("al2023@latest")), "several classes are named `default`"),
            ((node_class(f"name: {AMD64}", version="v1beta1"),), f"Karpenter {NEWEST} does not serve"),
        ],
    )
    def test_why_the_class_of_a_pool_is_open(self, check: Check, classes: tuple[str, ...], words: str) -> None:
        report = check(pool(), *classes, select=[self.rule])
        assert not report.results
        assert [words in skip.reason for skip in report.skipped] == [True]

    def test_a_list_behind_a_yaml_alias(self, check: Check, fixed: Fixed) -> None:
        """The place is the alias, and the list that it stands for stays as it is for others."""
        text = files(pool("{key: kubernetes.io/arch, operator: In, values: *both}"), node_class(f"name: {AMD64}"))
        text = text.replace("  name: default\n", "  name: default\n  labels: {x: &both [amd64, arm64]}\n", 1)
        assert place(only(check(text, select=[self.rule])).finding) == "*both"
        assert fixed(text, self.rule) == text.replace("*both", "[amd64]")

    def test_requirements_shared_by_the_items_of_a_list(self, check: Check) -> None:
        def item(name: str, requirements: str) -> str:
            return f"""
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {{name: {name}}}
    spec:
      template:
        spec:
          nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
          requirements: {requirements}"""

        head = "apiVersion: v1\nkind: List\nitems:"
        known = f"&r [{line('karpenter.sh/capacity-type', 'spot')}]"
        text = files(head + item("a", known) + item("b", "*r") + "\n", node_class(f"name: {AMD64}"))
        assert [r.object.name for r in self.results_of(check, text) if r.object] == ["a", "b"]
        unknown = f"&r [{line('karpenter.k8s.aws/instance-family', '${FAMILY}')}]"
        text = files(head + item("a", unknown) + item("b", "*r") + "\n", node_class(f"name: {AMD64}"))
        report = check(text, select=[self.rule])
        assert not report.results
        assert [skip.object.name for skip in report.skipped if skip.object] == ["a", "b"]

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_block_style_with_comments(self, fixed: Fixed, newline: str) -> None:
        text = f"""\
# general purpose
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
    name: "default"
spec:
    template:
        spec:
            nodeClassRef:
                group: karpenter.k8s.aws
                kind: EC2NodeClass
                name: "default"
            requirements:
                # Graviton too
                - key: "karpenter.k8s.aws/instance-category"
                  operator: In
                  values:
                      - "c"   # compute
                      - "m"
            expireAfter: 720h
---
{node_class(f"name: {AMD64}")}""".replace("\n", newline)
        new = fixed(text, self.rule, unsafe=False)
        assert added(text, new) == ['- key: "kubernetes.io/arch"', "operator: In", "values:", '- "amd64"']
        assert new.count(newline) == new.count("\n")

    def test_json(self, fixed: Fixed) -> None:
        text = files(pool(), node_class(f"name: {AMD64}"))
        items = [d.root.plain() for d in Source.from_text("a", text).documents if d.root]
        written = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2)
        new = json.loads(fixed(written, self.rule, path="a.json"))
        assert new["items"][0]["spec"]["template"]["spec"]["requirements"] == [
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
        ]


def place_of_also(finding: Finding) -> list[str]:
    return [also.span.source.text[also.span.start : also.span.end] for also in finding.also]


class TestGpuImageGap:
    rule = "gpu-image-gap"
    g5g = line("karpenter.k8s.aws/instance-family", "g5g")

    @pytest.mark.parametrize(
        ("release", "version", "found"),
        [
            ("1.3.8", "al2023@latest", True),
            ("1.4.0", "al2023@latest", False),
            ("1.4.0", "al2023@v20250402", True),
            ("1.4.0", "al2023@v20250403", False),
            ("1.0.0", "al2@latest", True),
            ("1.14.1", "al2@latest", True),
            ("1.0.0", "bottlerocket@latest", False),
            ("1.14.1", "bottlerocket@latest", False),
        ],
    )
    def test_arm_gpus(self, check: Check, release: str, version: str, found: bool) -> None:
        report = check(files(pool(self.g5g), alias(version)), karpenter=release, select=[self.rule])
        assert [r.severity for r in report.results] == ["error"] * found

    @pytest.mark.parametrize(
        ("release", "found"), [("1.0.14", False), ("1.1.0", True), ("1.2.1", True), ("1.2.2", False)]
    )
    def test_neuron_on_bottlerocket(self, check: Check, release: str, found: bool) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-family", "inf2")), alias("bottlerocket@latest"))
        report = check(text, karpenter=release, select=[self.rule])
        assert bool(report.results) is found

    @pytest.mark.parametrize(
        ("lines", "more", "where"),
        [
            ((line("node.kubernetes.io/instance-type", "m5.large", "g5g.xlarge"),), "", "g5g.xlarge"),
            (
                (line("karpenter.k8s.aws/instance-gpu-count", "'0'", operator="Gt"),),
                "",
                "karpenter.k8s.aws/instance-gpu-count",
            ),
            (
                (line("karpenter.k8s.aws/instance-generation", "'4'", operator="Gt"),),
                "      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n",
                "nvidia.com/gpu",
            ),
            (
                (line("kubernetes.io/arch", "arm64"), line("karpenter.k8s.aws/instance-category", "g")),
                "",
                "requirements",
            ),
        ],
    )
    def test_a_pool_that_is_meant_for_them(
        self, check: Check, fixed: Fixed, lines: Sequence[str], more: str, where: str
    ) -> None:
        text = files(pool(*lines, more=more), alias("al2@latest"))
        result = only(check(text, select=[self.rule]))
        assert (result.severity, result.safety, place(result.finding)) == ("error", "unsafe", where)
        assert fixed(text, self.rule) == text.replace("al2@latest", "al2023@latest")
        assert fixed(text, self.rule, unsafe=False) == text

    @pytest.mark.parametrize(
        ("release", "version", "meant"),
        [
            ("1.3.3", "al2@latest", "bottlerocket@latest"),
            ("1.3.3", "al2023@v20250403", "al2023@v20250403"),  # a pin is not turned into one that follows
            ("1.4.0", "al2@latest", "al2023@latest"),
            ("1.4.0", "al2@v20240807", "al2@v20240807"),
        ],
    )
    def test_the_alias_is_one_that_the_release_has_the_image_for(
        self, fixed: Fixed, release: str, version: str, meant: str
    ) -> None:
        text = files(pool(self.g5g), alias(version))
        assert fixed(text, self.rule, karpenter=release) == text.replace(version, meant)

    @pytest.mark.parametrize(
        ("version", "more", "kubernetes", "names"),
        [
            ("al2@v20240928", "", None, ["exclude `g5g` from the pool", "use al2023@v20260714, which has the image"]),
            ("al2@v20240928", "  amiFamily: AL2\n", "1.31", ["exclude", "use al2023@v20260714"]),
            ("al2@v20240928", "", "1.29", ["exclude"]),  # no version that is known is for it
            ("al2@v20240928", "  userData: |\n    #!/bin/bash\n    echo hello\n", None, ["exclude", "use al2023@"]),
            ("al2@v20240928", "  userData: |\n    #!/bin/bash\n    /etc/eks/bootstrap.sh main\n", None, ["exclude"]),
            ("al2023@v20250101", "", None, ["exclude", "use al2023@v20260714"]),
            ("al2@latest", "", None, ["exclude", "use bottlerocket@latest"]),
        ],
    )
    def test_each_way_out_is_a_complete_edit(
        self, check: Check, version: str, more: str, kubernetes: str | None, names: list[str]
    ) -> None:
        families = line("karpenter.k8s.aws/instance-family", "g5g", "m7g", "c7g")
        text = files(pool(families), alias(version, more=more))
        finding = only(check(text, kubernetes=kubernetes, select=[self.rule])).finding
        assert len(finding.suggestions) == len(names)
        for suggestion, name in zip(finding.suggestions, names, strict=True):
            assert suggestion.name.startswith(name)
            after = apply(text, suggestion.edits)
            assert [r for r in check(after, kubernetes=kubernetes).results if r.severity == "error"] == []

    @pytest.mark.parametrize(
        ("term", "expected"),
        [
            (f"name: {ARM64}", "alias: al2023@"),
            ("name: amazon-eks-node-al2023-arm64-standard-1.31-v2025*", "alias: al2023@latest"),
            ("name: amazon-eks-node-al2023-arm64-standard-1.31-v20250101", None),
            (
                "ssmParameter: "
                "/aws/service/eks/optimized-ami/1.31/amazon-linux-2023/arm64/standard/recommended/image_id",
                "alias: al2023@latest",
            ),
        ],
    )
    def test_images_by_name_become_an_alias(self, check: Check, term: str, expected: str | None) -> None:
        families = line("karpenter.k8s.aws/instance-family", "g5g", "m7g")
        text = files(pool(families), node_class(term, more="  amiFamily: AL2023\n"))
        finding = only(check(text, select=[self.rule])).finding
        after = [apply(text, suggestion.edits) for suggestion in finding.suggestions]
        assert [line("karpenter.k8s.aws/instance-family", "m7g") in value for value in after][:1] == [True]
        assert [expected in value for value in after[1:] if expected] == ([True] if expected else [])
        assert len(after) == 1 + (expected is not None)
        for value in after:
            assert check(value, select=[self.rule]).results == ()

    def test_a_too_old_image_version(self, fixed: Fixed) -> None:
        """A class that pins stays pinned."""
        text = files(pool(self.g5g), alias("al2023@v20250101"))
        assert fixed(text, self.rule) == text.replace("v20250101", "v20250403")

    def test_the_ami_family_beside_the_alias_moves_along(self, fixed: Fixed) -> None:
        text = files(pool(self.g5g), alias("al2@latest", more="  amiFamily: AL2 # as ever\n"))
        new = fixed(text, self.rule)
        assert new == text.replace("al2@latest", "al2023@latest").replace("AL2 #", "AL2023 #")

    def test_a_custom_ami_family_stays(self, fixed: Fixed) -> None:
        text = files(pool(self.g5g), alias("al2@latest", more="  amiFamily: Custom\n"))
        assert fixed(text, self.rule) == text.replace("al2@latest", "al2023@latest")

    @pytest.mark.parametrize("together", [True, False])
    def test_no_alias_is_changed_at_the_cost_of_others(self, check: Check, together: bool) -> None:
        """Before 1.2.2 Bottlerocket has no image for Neuron, and al2023 none for g5g."""
        inf2 = line("karpenter.k8s.aws/instance-family", "inf2")
        both = [pool(line("karpenter.k8s.aws/instance-family", "g5g", "inf2"))]
        pools = both if together else [pool(self.g5g), pool(inf2, name="other")]
        result = only(check(files(*pools, alias("al2023@latest")), karpenter="1.2.1", select=[self.rule]))
        assert not result.fixable
        assert result.finding.help and "no alias" in result.finding.help

    def test_user_data_is_not_moved(self, check: Check) -> None:
        more = "  userData: |\n    #!/bin/bash\n    echo hello\n"
        finding = only(check(files(pool(self.g5g), alias("al2@latest", more=more)), select=[self.rule])).finding
        assert not finding.edits
        assert finding.help and "userData" in finding.help

    def test_volumes_of_another_family_are_not_moved(self, check: Check) -> None:
        more = "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 20Gi}}]\n"
        text = files(pool(self.g5g), alias("al2@latest", more=more))
        assert only(check(text, karpenter="1.4.0", select=[self.rule])).fixable
        assert not only(check(text, karpenter="1.3.3", select=[self.rule])).fixable

    def test_a_line_that_gpu_types_may_meet_does_not_ask_for_them(self, check: Check) -> None:
        text = files(
            pool(line("karpenter.k8s.aws/instance-gpu-manufacturer", "amd", operator="NotIn")), alias("al2@latest")
        )
        assert only(check(text, select=[self.rule])).severity == "warning"

    def test_many_families_are_kept_out_by_one_line(self, fixed: Fixed) -> None:
        text = files(pool(line("kubernetes.io/arch", "amd64")), alias("bottlerocket@latest"))
        assert added(text, fixed(text, self.rule, karpenter="1.2.1")) == [
            "- {key: karpenter.k8s.aws/instance-accelerator-count, operator: DoesNotExist}"
        ]

    def test_two_families_are_kept_out_by_name(self, fixed: Fixed) -> None:
        lines = (
            line("kubernetes.io/arch", "amd64"),
            line("karpenter.k8s.aws/instance-category", "trn", "dl", operator="NotIn"),
        )
        text = files(pool(*lines), alias("bottlerocket@latest"))
        assert added(text, fixed(text, self.rule, karpenter="1.2.1")) == [
            "- {key: karpenter.k8s.aws/instance-family, operator: NotIn, values: [inf1, inf2]}"
        ]

    def test_a_pool_that_is_not_meant_for_them(self, check: Check, fixed: Fixed) -> None:
        text = files(pool(line("karpenter.sh/capacity-type", "spot")), alias("al2@latest"))
        result = only(check(text, select=[self.rule]))
        assert (result.severity, result.safety) == ("warning", "safe")
        assert added(text, fixed(text, self.rule, unsafe=False)) == [
            "- {key: karpenter.k8s.aws/instance-family, operator: NotIn, values: [g5g]}"
        ]

    def test_no_fix_takes_away_what_min_values_counts_on(self, check: Check) -> None:
        families = "{key: karpenter.k8s.aws/instance-family, operator: Exists, minValues: 9}"
        text = files(pool(line("karpenter.k8s.aws/instance-category", "g"), families), alias("al2@latest"))
        assert not only(check(text, select=[self.rule])).fixable
        assert only(check(text.replace("minValues: 9", "minValues: 8"), select=[self.rule])).fixable

    def test_it_joins_a_line_that_is_there(self, fixed: Fixed) -> None:
        text = files(
            pool(line("karpenter.k8s.aws/instance-family", "t2", "'t3'", operator="NotIn")), alias("al2@latest")
        )
        new = fixed(text, self.rule, unsafe=False)
        assert new in (text.replace("'t3']", "'t3', 'g5g']"), text.replace("'t3']", "'t3', g5g]"))

    def test_a_line_behind_a_yaml_alias_gets_a_list_of_its_own(self, fixed: Fixed) -> None:
        text = files(
            pool("{key: karpenter.k8s.aws/instance-family, operator: NotIn, values: *old}"), alias("al2@latest")
        )
        text = text.replace("  name: default\n", "  name: default\n  labels: {x: &old [t2, t3]}\n", 1)
        assert fixed(text, self.rule, unsafe=False) == text.replace("*old", "[t2, t3, g5g]")

    def test_a_pool_that_keeps_them_out_is_left_in_peace(self, check: Check) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-category", "c", "m", "r")), alias("al2@latest"))
        assert not check(text, select=[self.rule]).results

    def test_a_standard_image_by_name_has_no_driver(self, check: Check, fixed: Fixed) -> None:
        text = files(pool(line("kubernetes.io/arch", "arm64")), node_class(f"name: {ARM64}"))
        result = only(check(text, select=[self.rule]))
        assert (result.severity, result.safety) == ("warning", "unsafe")
        assert "`g5g`" in result.finding.message and "driver" in result.finding.message
        assert not check(fixed(text, self.rule), select=[self.rule]).results

    def test_nor_has_it_one_for_neuron(self, check: Check) -> None:
        neuron = pool(line("karpenter.k8s.aws/instance-family", "inf2"))
        result = only(check(files(neuron, node_class(f"name: {AMD64}")), select=[self.rule]))
        assert (result.severity, place(result.finding)) == ("warning", "inf2")
        assert "Neuron driver" in result.finding.message
        bottlerocket = node_class("name: bottlerocket-aws-k8s-1.31-x86_64-*", more="  amiFamily: Bottlerocket\n")
        assert not check(files(neuron, bottlerocket), select=[self.rule]).results
        anything = pool(line("kubernetes.io/arch", "amd64"))
        assert not check(files(anything, node_class(f"name: {AMD64}")), select=[self.rule]).results

    @pytest.mark.parametrize(
        ("script", "expected"),
        [("dnf install -y nvidia-open", False), ("# dnf install -y nvidia-open", True), ("echo nvidia.com", True)],
    )
    def test_user_data_may_install_the_driver(self, check: Check, script: str, expected: bool) -> None:
        more = f"  amiFamily: AL2023\n  userData: |\n    #!/bin/bash\n    {script}\n"
        gpu = pool(line("karpenter.k8s.aws/instance-family", "g5"))
        report = check(files(gpu, node_class(f"name: {AMD64}", more=more)), select=[self.rule])
        assert bool(report.results) is expected

    def test_a_gpu_image_by_name_is_fine(self, check: Check) -> None:
        text = files(
            pool(line("karpenter.k8s.aws/instance-family", "g5g")),
            node_class(f"name: {ARM64.replace('standard', 'nvidia')}"),
        )
        assert not check(text, select=[self.rule]).results

    def test_a_placeholder_is_not_judged(self, check: Check) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-category", "${CATEGORY}")), alias("al2@latest"))
        report = check(text, select=[self.rule])
        assert not report.results
        assert len(report.skipped) == 1


class TestPendingImage:
    rule = "pending-image"

    @pytest.mark.parametrize(
        ("release", "found"),
        [("1.0.0", True), ("1.0.14", True), ("1.1.10", True), ("1.2.1", True), ("1.2.2", False), ("1.3.0", False)],
    )
    def test_the_borders(self, check: Check, release: str, found: bool) -> None:
        report = check(node_class("{name: golden-*, owner: self}"), karpenter=release, select=[self.rule])
        assert bool(report.results) is found
        assert all("1.2.2" in r.finding.message for r in report.results)

    @pytest.mark.parametrize(
        "term",
        [
            "id: ami-0123456789abcdef0",
            "alias: al2023@latest",
            f"name: {AMD64}",
            "{name: bottlerocket-aws-k8s-1.31-*, owner: amazon}",
            "{name: 'something-*', owner: amazon}",
            "tags: {team: platform, image-status: approved}",
            "{name: golden-*, tags: {Verified: 'true'}}",
            "name: ${NAME}",
        ],
    )
    def test_terms_that_do_not_have_the_trouble(self, check: Check, term: str) -> None:
        assert not check(node_class(term), karpenter="1.2.0", select=[self.rule]).results

    @pytest.mark.parametrize(
        ("tag", "ready"),
        [("ImageStatus", True), ("image_verified", True), ("RELEASED", True), ("delivery", False), ("estate", False)],
    )
    def test_tags_that_say_that_the_image_is_done(self, check: Check, tag: str, ready: bool) -> None:
        text = node_class(f"tags: {{{tag}: x}}")
        assert bool(check(text, karpenter="1.2.0", select=[self.rule]).results) is not ready

    def test_ones_own_build_of_an_eks_image(self, check: Check) -> None:
        text = node_class("{name: amazon-eks-node-1.31-*, owner: self}")
        assert check(text, karpenter="1.2.0", select=[self.rule]).results

    @pytest.mark.parametrize(("owner", "fixable"), [("self", True), ("'123456789012'", False)])
    def test_a_tag_is_not_asked_of_an_account_whose_tags_may_not_be_seen(
        self, check: Check, owner: str, fixable: bool
    ) -> None:
        text = node_class(f"{{name: golden-*, owner: {owner}}}")
        assert only(check(text, karpenter="1.2.0", select=[self.rule])).fixable is fixable

    def test_each_term_has_its_finding(self, check: Check, fixed: Fixed) -> None:
        text = node_class("name: golden-*", "tags: {team: platform}", "id: ami-0123456789abcdef0")
        report = check(text, karpenter="1.2.1", select=[self.rule])
        assert [place(r.finding) for r in report.results] == ["golden-*", "tags"]
        new = fixed(text, self.rule, karpenter="1.2.1")
        assert not check(new, karpenter="1.2.1", select=[self.rule]).results
        assert new.count("image-verified") == 2
        assert fixed(text, self.rule, karpenter="1.2.1", unsafe=False) == text


class TestLooseImageMatch:
    rule = "undiscovered-memory"
    bottlerocket = "bottlerocket@1.32.0-cacc4ce9"

    @pytest.mark.parametrize(
        ("release", "severity"),
        [("1.0.14", None), ("1.1.0", "info"), ("1.3.8", "info"), ("1.4.0", None), ("1.14.1", None)],
    )
    def test_the_borders(self, check: Check, release: str, severity: str | None) -> None:
        report = check(files(pool(), alias(self.bottlerocket)), karpenter=release, select=[self.rule])
        assert [r.severity for r in report.results] == [severity] * (severity is not None)

    def test_it_names_the_images_and_the_release(self, check: Check) -> None:
        report = check(files(pool(), alias(self.bottlerocket)), karpenter="1.3.3", select=[self.rule])
        finding = only(report).finding
        assert "1.4.0" in finding.message
        assert "amd64, arm64, amd64 nvidia, arm64 nvidia" in (finding.note or "")

    def test_the_fix_takes_nothing_from_a_pool_without_gpus(self, check: Check, fixed: Fixed) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-family", "m7i")), alias(self.bottlerocket))
        assert only(check(text, karpenter="1.3.3", select=[self.rule])).safety == "safe"
        new = fixed(text, self.rule, karpenter="1.3.3", unsafe=False)
        assert added(text, new) == [
            "- {key: kubernetes.io/arch, operator: In, values: [amd64]}",
            "- {key: karpenter.k8s.aws/instance-gpu-count, operator: DoesNotExist}",
        ]
        assert not check(new, karpenter="1.3.3", select=[self.rule]).results

    def test_no_type_is_named_where_the_types_are_a_placeholder(self, check: Check) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-category", "${CATEGORY}")), alias(self.bottlerocket))
        result = only(check(text, karpenter="1.3.3", select=[self.rule]))
        assert (result.finding.note or "").startswith("the types of this pool match 4 images (")
        assert result.safety == "unsafe"

    def test_a_pool_that_may_run_gpus_is_narrowed_only_on_demand(self, check: Check) -> None:
        text = files(pool(line("kubernetes.io/arch", "amd64")), alias(self.bottlerocket))
        assert only(check(text, karpenter="1.3.3", select=[self.rule])).safety == "unsafe"

    @pytest.mark.parametrize(
        "both",
        [line("kubernetes.io/arch", "amd64", "arm64"), line("karpenter.k8s.aws/instance-family", "m7i", "m7g")],
    )
    def test_no_fix_takes_the_message_away_and_leaves_two_architectures(self, check: Check, both: str) -> None:
        text = files(pool(both), alias(self.bottlerocket))
        result = only(check(text, karpenter="1.3.3", select=[self.rule]))
        assert not result.fixable
        assert str(result.finding.help).endswith("or use one pool for each architecture")

    def test_a_pool_of_arm_types_can_be_taken_for_the_amd64_image(self, fixed: Fixed) -> None:
        text = files(pool(line("karpenter.k8s.aws/instance-family", "m7g")), alias("al2023@latest"))
        new = fixed(text, self.rule, karpenter="1.3.3", unsafe=False)
        assert added(text, new) == ["- {key: kubernetes.io/arch, operator: In, values: [arm64]}"]

    def test_a_gpu_pool_that_does_not_say_so_by_label(self, check: Check, fixed: Fixed) -> None:
        text = files(
            pool(line("kubernetes.io/arch", "amd64"), line("karpenter.k8s.aws/instance-category", "g", "p")),
            alias(self.bottlerocket),
        )
        new = fixed(text, self.rule, karpenter="1.3.3", unsafe=False)
        assert "{key: karpenter.k8s.aws/instance-gpu-count, operator: Exists}" in new
        assert not check(new, karpenter="1.3.3", select=[self.rule]).results

    def test_gpus_and_accelerators_on_the_one_image_of_al2(self, check: Check) -> None:
        both = line("karpenter.k8s.aws/instance-category", "g", "inf")
        text = files(pool(line("kubernetes.io/arch", "amd64"), both), alias("al2@latest"))
        result = only(check(text, karpenter="1.3.3", select=[self.rule]))
        assert not result.fixable
        assert result.finding.help and "separate pools for GPUs and for accelerators" in result.finding.help

    def test_a_pool_of_accelerators_on_the_one_image_of_al2(self, fixed: Fixed) -> None:
        text = files(
            pool(line("kubernetes.io/arch", "amd64"), line("karpenter.k8s.aws/instance-category", "inf")),
            alias("al2@latest"),
        )
        assert added(text, fixed(text, self.rule, karpenter="1.3.3", unsafe=False)) == [
            "- {key: karpenter.k8s.aws/instance-accelerator-count, operator: Exists}"
        ]

    @pytest.mark.parametrize(
        "expected",
        [
            line("karpenter.k8s.aws/instance-gpu-count", operator="DoesNotExist"),
            line("karpenter.k8s.aws/instance-gpu-manufacturer", "nvidia"),
            line("karpenter.k8s.aws/instance-accelerator-manufacturer", "aws"),
        ],
    )
    def test_a_pool_that_says_whether_it_wants_gpus(self, check: Check, expected: str) -> None:
        report = check(files(pool(expected), alias(self.bottlerocket)), karpenter="1.3.3", select=[self.rule])
        assert not report.results

    @pytest.mark.parametrize("first", [alias("windows2022@latest"), node_class("id: ami-0123456789abcdef0")])
    def test_a_class_of_one_image(self, check: Check, first: str) -> None:
        assert not check(files(pool(), first), karpenter="1.3.3", select=[self.rule]).results

    def test_a_placeholder_for_the_gpu_line(self, check: Check) -> None:
        text = files(pool(line("${KEY}", operator="DoesNotExist")), alias(self.bottlerocket))
        report = check(text, karpenter="1.3.3", select=[self.rule])
        assert not report.results
        assert len(report.skipped) == 1


class TestUnsupportedAlias:
    rule = "unsupported-alias"

    @pytest.mark.parametrize(
        ("version", "kubernetes", "severity"),
        [
            ("al2@latest", "1.32", None),
            ("al2@latest", "1.33", "error"),
            ("al2@latest", None, "warning"),
            ("windows2025@latest", "1.34", "error"),
            ("windows2025@latest", "1.35", None),
            ("windows2025@latest", None, "warning"),
            ("al2023@latest", None, None),
            ("bottlerocket@1.66.0-cacc4ce9", "1.36", None),
        ],
    )
    def test_kubernetes(self, check: Check, version: str, kubernetes: str | None, severity: str | None) -> None:
        report = check(alias(version), kubernetes=kubernetes, select=[self.rule])
        assert [r.severity for r in report.results] == [severity] * (severity is not None)
        assert all(("1.33" if "al2@" in version else "1.35") in r.finding.message for r in report.results)

    @pytest.mark.parametrize(("release", "found"), [("1.8.8", True), ("1.9.0", False)])
    def test_windows_2025(self, check: Check, release: str, found: bool) -> None:
        report = check(alias("windows2025@latest"), karpenter=release, kubernetes="1.35")
        assert [r.rule.name for r in report.results] == [self.rule] * found
        assert all("1.9.0" in r.finding.message and not r.fixable for r in report.results)

    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("al2@lates", "al2@latest"),
            ("al2023@latest/karpenter", "al2023@latest"),
            ("al2023@20250403", "al2023@v20250403"),
            ("AL2023@v20250403", "al2023@v20250403"),
            ("al2023@v2025-04-03", "al2023@v20250403"),
            ("amazon-linux-2023@latest", "al2023@latest"),
            ("botlerocket@v1.46.0", "bottlerocket@v1.46.0"),
            ("bottlerocket@1.32.0-cacc4ce", "bottlerocket@1.32.0"),
            ("windows2016@latest", None),
            ("@latest", None),
            ("windows2022@v1", "windows2022@latest"),
            ("al2023", "al2023@latest"),
            ("al2023@latest@latest", "al2023@latest"),
            ("ubuntu@latest", None),
            ("custom@latest", None),
        ],
    )
    def test_what_is_meant_instead(self, check: Check, fixed: Fixed, written: str, meant: str | None) -> None:
        """One finding, whatever else has something against such an alias."""
        text = alias(f'"{written}" # pinned')
        result = only(check(text, kubernetes="1.31"))
        assert result.rule.name == self.rule
        assert (result.severity, place(result.finding)) == ("error", f'"{written}"')
        new = fixed(text, self.rule, kubernetes="1.31", unsafe=False)
        assert new == (text.replace(written, meant) if meant else text)

    @pytest.mark.parametrize(
        ("written", "meant"),
        [
            ("al2023@2023.0.20230222", "al2023@latest"),
            ("al2023@v2025403", "al2023@latest"),
            ("bottlerocket@v1.46", "bottlerocket@v1.46.0"),
        ],
    )
    def test_another_version_is_a_guess(self, check: Check, fixed: Fixed, written: str, meant: str) -> None:
        text = alias(f'"{written}"')
        assert only(check(text)).safety == "unsafe"
        assert fixed(text, self.rule, unsafe=False) == text
        assert fixed(text, self.rule, unsafe=True) == text.replace(written, meant)

    def test_al2_is_moved_where_it_cannot_work(self, check: Check, fixed: Fixed) -> None:
        text = alias("al2@latest", more="  amiFamily: AL2\n")
        assert only(check(text, kubernetes="1.33")).safety == "safe"
        moved = text.replace("al2@latest", "al2023@latest").replace("AL2\n", "AL2023\n")
        assert fixed(text, self.rule, kubernetes="1.33", unsafe=False) == moved
        assert fixed(text, self.rule, unsafe=False) == text
        assert fixed(text, self.rule) == moved

    def test_a_pin_is_not_turned_into_an_alias_that_follows(self, check: Check) -> None:
        result = only(check(alias("al2@v20241011"), kubernetes="1.33"))
        assert not result.fixable
        assert (result.finding.help or "").endswith("and pin a version that EKS publishes for 1.33")
        result = only(check(alias("al2@v20241011")))
        assert (result.finding.help or "").endswith("EKS publishes for your Kubernetes version")

    def test_an_ami_family_of_no_alias_is_the_same_mistake(self, check: Check) -> None:
        report = check(alias("ubuntu@latest", more="  amiFamily: Ubuntu\n"))
        assert only(report).rule.name == self.rule

    def test_another_mistake_beside_it_is_said_too(self, check: Check) -> None:
        report = check(alias("al2@latest", more="  amiFamily: Al2\n"))
        assert sorted(r.severity for r in report.results) == ["error", "warning"]

    def test_user_data_keeps_it_where_it_is(self, check: Check) -> None:
        text = alias("al2@latest", more="  userData: |\n    #!/bin/bash\n    echo hello\n")
        assert not only(check(text, kubernetes="1.33")).fixable

    def test_an_ami_family_that_stands_for_an_alias(self, check: Check, fixed: Fixed) -> None:
        text = node_class(version="v1beta1", more="  amiFamily: AL2\n")
        result = only(check(text, karpenter="1.0.8", kubernetes="1.33", select=[self.rule]))
        assert place(result.finding) == "AL2"
        assert fixed(text, self.rule, karpenter="1.0.8", kubernetes="1.33") == text.replace("AL2", "AL2023")

    def test_ubuntu_without_images_named(self, check: Check) -> None:
        text = node_class(version="v1beta1", more="  amiFamily: Ubuntu\n")
        result = only(check(text, karpenter="1.0.8", select=[self.rule]))
        assert not result.fixable
        named = node_class("name: ubuntu-eks/*", version="v1beta1", more="  amiFamily: Ubuntu\n")
        assert not check(named, karpenter="1.0.8", select=[self.rule]).results

    @pytest.mark.parametrize("term", ["id: ami-0123456789abcdef0", "name: my-al2-*"])
    def test_images_of_ones_own_are_not_meant(self, check: Check, term: str) -> None:
        text = node_class(term, more="  amiFamily: AL2\n")
        assert not check(text, kubernetes="1.34", select=[self.rule]).results

    def test_a_placeholder_for_the_version(self, check: Check) -> None:
        assert not check(alias("al2023@${VERSION}"), select=[self.rule]).results
        assert not only(check(alias("al2@${VERSION}"), kubernetes="1.33", select=[self.rule])).fixable


class TestUnpinnedImage:
    rule = "unpinned-image"

    @pytest.mark.parametrize(
        ("term", "where"),
        [
            ("alias: bottlerocket@latest", "bottlerocket@latest"),
            ("alias: al2@v20240807", None),
            ("alias: windows2022@latest", None),
            ("alias: al2023@${VERSION}", None),
            ("name: golden-*", "golden-*"),
            ("name: golden-42", None),
            ("id: ami-0123456789abcdef0", None),
            ("tags: {team: platform}", "tags"),
            ("{name: golden-42, tags: {team: platform}}", None),
            (f"ssmParameter: {PARAMETER}", PARAMETER),
            ("ssmParameter: /golden/2025-04-03", None),
        ],
    )
    def test_what_moves_by_itself(self, check: Check, term: str, where: str | None) -> None:
        report = check(node_class(term), kubernetes="1.31", select=[self.rule])
        assert [place(r.finding) for r in report.results] == [where] * (where is not None)
        assert all(r.severity == "info" for r in report.results)

    def test_it_is_off_by_default(self, check: Check) -> None:
        assert not check(alias("al2023@latest")).results


def test_one_finding_for_each_cause_in_a_full_run(check: Check) -> None:
    """The rules about images do not repeat each other."""
    text = files(pool(), node_class(f"name: {AMD64}"))
    assert [r.rule.name for r in check(text).results] == ["image-arch-mismatch"]
    text = files(pool(), node_class(f"name: {ARM64}"))
    assert sorted(r.rule.name for r in check(text).results) == ["gpu-image-gap", "image-arch-mismatch"]


def test_types_that_the_pool_names_are_not_shut_out_by_another_fix(rules: dict[str, Rule], check: Check) -> None:
    """g5g gets its image; the requirement for a unique match must not take it away in the same run."""
    text = files(pool(line("node.kubernetes.io/instance-type", "g5g.xlarge", "m5.large")), alias("al2023@latest"))
    done = fix([Source.from_text("a.yaml", text)], LintRequest(Target(target("1.3.3")), rules), unsafe=True)
    assert done.sources[0].text == text.replace("al2023@latest", "bottlerocket@latest")
    left = only(done.report)
    assert (left.rule.name, left.fixable) == ("undiscovered-memory", False)
    assert left.finding.help and "separate pool" in left.finding.help


def test_the_command_writes_only_what_it_must(nodelint: Run, tmp_path: Path) -> None:
    text = "\ufeff" + files(pool(line("karpenter.sh/capacity-type", "spot")), node_class(f"name: {AMD64}"))
    file = tmp_path / "pool.yaml"
    file.write_text(text, encoding="utf-8", newline="")
    diff = nodelint("check", "--diff", "pool.yaml").stdout.splitlines()
    changed = [value for value in diff if value[:1] in "+-" and value[:3] not in ("+++", "---")]
    assert changed == ["+        - {key: kubernetes.io/arch, operator: In, values: [amd64]}"]
    assert nodelint("check", "--fix", "pool.yaml").returncode == 0
    assert added(text, file.read_text(encoding="utf-8")) == [changed[0][1:].strip()]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("name: '*amazon-eks-node-al2023*'", "finds images of all Kubernetes versions"),
        ("name: 'amazon-eks-node-al2023-x86_64-standard-1.*-v20260714', owner: amazon", "all Kubernetes versions"),
        ("name: 'amazon-eks-node-al2023-*-v*', owner: '602401143452'", "all Kubernetes versions"),
        ("name: 'bottlerocket-aws-k8s-1.3?-x86_64-*'", "all Kubernetes versions"),
        ("name: 'ubuntu-eks/k8s_*/images/*', owner: '099720109477'", "all Kubernetes versions"),
        ("name: 'amazon-eks-node-al2023-x86_64-*-1.33-*'", "finds standard and nvidia images"),
        ("name: 'amazon-eks-node-al2023-x86_64-standard-1.33-*'", None),
        ("name: 'amazon-eks-node-al2023-*-standard-1.33-*'", None),
        ("name: 'amazon-eks-node-al2023-x86_64-nvidia-1.33-v20260714'", None),
        ("name: '*amazon-eks-node-al2023*', owner: self", None),
        ("name: 'amazon-eks-node-*', owner: '123456789012'", None),
        ("name: 'golden-*'", None),
        ("name: 'amazon-eks-node-al2023-*', tags: {tested: 'true'}", None),
    ],
)
def test_a_pattern_that_finds_images_for_different_nodes_is_told(term: str, expected: str | None) -> None:
    source = Source.from_text("a.yaml", nodeclass("amiFamily: AL2023", ami=term))
    report = lint(
        [source],
        LintRequest(Target(NEWEST), load(bundled()), Selection(select=frozenset({"image-of-any-kubernetes"}))),
    )
    assert [expected in r.finding.message for r in report.results if expected] == ([True] if expected else [])
    assert bool(report.results) is (expected is not None)


@pytest.mark.parametrize(
    ("version", "day"),
    [
        ("v1.20.0", "2024-10-24"),
        ("1.30.0", "2025-04-01"),
        ("v1.43.0", "2025-07-26"),
        ("v1.46.0", None),
        ("2.0.0", None),
    ],
)
def test_the_age_of_bottlerockets_versions(version: str, day: str | None) -> None:
    source = Source.from_text("a.yaml", nodeclass(ami=f"alias: bottlerocket@{version}"))
    report = lint([source], LintRequest(Target(NEWEST), load(bundled()), Selection(select=frozenset({"old-image"}))))
    assert [str(day) in r.finding.message for r in report.results] == ([True] if day else [])
