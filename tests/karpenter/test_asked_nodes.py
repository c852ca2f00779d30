"""What NodePools ask of nodes: startup taints, names against requirements, kinds and generations of types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.engine import Report
from tests.manifests import nodeclass, nodepool

Check = Callable[..., Report]

AUTO = "{group: eks.amazonaws.com, kind: NodeClass, name: default}"


def pool(*lines: str, name: str = "apps", more: str = "", spec: str = "", ref: str | None = None) -> str:
    """A NodePool with these requirements (`key operator value,value`), fields of the template and of the spec."""
    requirements = (line.split() for line in lines)
    requested = [f"key: {key}, operator: {how}, values: [{values}]" for key, how, values in requirements]
    return nodepool(*requested, name=name, template=more, spec=spec, ref=ref)


def rule_messages(report: Report) -> list[tuple[str, str]]:
    return [(result.rule.name, result.finding.message) for result in report.results]


ANY = "kubernetes.io/arch In amd64"


class TestStartupTaints:
    RULES = ("misused-taint", "own-startup-taint")

    @pytest.mark.parametrize(
        ("key", "rule"),
        [
            ("node.cilium.io/agent-not-ready", None),
            ("ebs.csi.aws.com/agent-not-ready", None),
            ("cni.istio.io/not-ready", None),
            ("readiness.k8s.io/network", None),
            ("node.cloudprovider.kubernetes.io/uninitialized", None),
            ("example.com/another-taint", "misused-taint"),
            ("team.example.org/wait", "misused-taint"),
            ("node.karpenter.sh/initializing", "misused-taint"),
            ("karpenter.sh/startup", "misused-taint"),
            ("startup", "own-startup-taint"),
            ("katacontainers.io/runtime-not-ready", "own-startup-taint"),
            ("notexample.com/x", "own-startup-taint"),
            ("node.cilium.io/agent-notready", "misused-taint"),
            ("ebs.csi.aws.com/not-ready", "misused-taint"),
            ("node.cilium.io/other", "own-startup-taint"),
        ],
    )
    def test_who_removes_it(self, check: Check, key: str, rule: str | None) -> None:
        taint = f"      startupTaints: [{{key: {key}, effect: NoSchedule}}]\n"
        for ref in (None, AUTO):
            found = rule_messages(check(pool(ANY, more=taint, ref=ref), select=list(self.RULES)))
            assert [name for name, _ in found] == ([rule] if rule else [])

    @pytest.mark.parametrize(
        ("key", "meant"),
        [
            ("CriticalAddOnsOnly", "CriticalAddonsOnly"),
            ("criticaladdonsonly", "CriticalAddonsOnly"),
            ("CriticalAddonOnly", "CriticalAddonsOnly"),
            ("nvidia.com/gpus", "nvidia.com/gpu"),
            ("CriticalAddonsOnly", None),
            ("nvidia.com/gpu", None),
            ("nvidia.com/gpu-a", None),
            ("dedicated", None),
        ],
    )
    def test_taints_that_programs_tolerate(self, check: Check, key: str, meant: str | None) -> None:
        report = check(pool(ANY, more=TAINT.format(key)), select=["misused-taint"])
        assert [result.finding.edits[0].text for result in report.results] == ([meant] if meant else [])

    @pytest.mark.parametrize(
        ("key", "expected"),
        [
            ("karpenter.sh/spot", 1),
            ("node.karpenter.sh/pool", 1),
            ("karpenter.k8s.aws/x", 1),
            ("spot", 0),
            ("mykarpenter.sh/x", 0),
            ("karpenter.sh/disrupted", 0),
        ],
    )
    def test_karpenters_domain(self, check: Check, key: str, expected: int) -> None:
        assert (
            len(rule_messages(check(pool(ANY, more=TAINT.format(key)), select=["taint-in-karpenters-domain"])))
            == expected
        )

    def test_a_taint_that_stays_is_none_of_it(self, check: Check) -> None:
        taint = "      taints: [{key: example.com/special, effect: NoSchedule}]\n"
        assert rule_messages(check(pool(ANY, more=taint), select=list(self.RULES))) == []


FAMILY = "karpenter.k8s.aws/instance-family"
TAINT = "      taints: [{{key: {}, effect: NoSchedule}}]\n"


class TestDeviceOfAnotherVendor:
    RULE = "device-of-another-vendor"

    @pytest.mark.parametrize(
        ("families", "taint", "limit", "wrong"),
        [
            ("g4ad,g5", "nvidia.com/gpu", None, "`g4ad` has `amd.com/gpu`"),
            ("g4ad,g5", "team", "nvidia.com/gpu: 4", "`g4ad` has `amd.com/gpu`"),
            ("inf2,g5", "nvidia.com/gpu", None, "`inf2` has `aws.amazon.com/neuron`"),
            ("inf2,g5", "aws.amazon.com/neuroncore", None, "`g5` has `nvidia.com/gpu`"),
            ("g5,g6", "nvidia.com/gpu", None, None),
            ("g4ad,g5", "gpu", None, None),
            ("g4ad,g5", "team", "nvidia.com/gpu: 0", None),
            ("g4ad,g5", "nvidia.com/gpu", "amd.com/gpu: 8", None),
            ("m5,g5", "nvidia.com/gpu", None, None),
            ("m5,m6i", "nvidia.com/gpu", None, "no allowed instance type has `nvidia.com/gpu`"),
            ("m5,m6i", "team", "nvidia.com/gpu: 1", "the limit of `nvidia.com/gpu` has no effect"),
            ("m5,m6i", "team", "nvidia.com/gpu: 0", None),
            ("g4ad", "team", "nvidia.com/gpu: 1", "the limit of `nvidia.com/gpu` has no effect"),
            ("g6f", "nvidia.com/gpu", None, None),
        ],
    )
    def test_listed(self, check: Check, families: str, taint: str, limit: str | None, wrong: str | None) -> None:
        spec = f"  limits: {{cpu: 1000, {limit}}}\n" if limit else ""
        text = pool(f"{FAMILY} In {families}", more=TAINT.format(taint), spec=spec)
        found = rule_messages(check(text, select=[self.RULE]))
        assert [message.startswith(wrong or "-") for _, message in found] == ([True] if wrong else [])

    def test_a_category_that_holds_other_vendors_types_too_is_let_be(self, check: Check) -> None:
        text = pool("karpenter.k8s.aws/instance-category In g", more=TAINT.format("nvidia.com/gpu"))
        assert rule_messages(check(text, select=[self.RULE])) == []

    def test_in_auto_mode_and_by_name(self, check: Check) -> None:
        text = pool("eks.amazonaws.com/instance-family In g4ad,g5", name="nvidia-apps", ref=AUTO)
        assert len(rule_messages(check(text, select=[self.RULE]))) == 1


CAPACITY = "karpenter.sh/capacity-type"
CATEGORY = "karpenter.k8s.aws/instance-category"
SIZE = "karpenter.k8s.aws/instance-size"
TYPE = "node.kubernetes.io/instance-type"
ARCH = "kubernetes.io/arch"


class TestCapacityOrder:
    @pytest.mark.parametrize(
        ("values", "kind", "words"),
        [
            ("on-demand,spot", "m", "a set, not an order"),
            ("on-demand,reserved,spot", "m", "a set, not an order"),
            ("spot,on-demand", "m", None),
            ("spot", "m", None),
            ("on-demand", "m", None),
            ("spot,on-demand", "p", "can reclaim"),
        ],
    )
    def test_order(self, check: Check, values: str, kind: str, words: str | None) -> None:
        found = rule_messages(
            check(pool(f"{CAPACITY} In {values}", f"{CATEGORY} In {kind}"), select=["capacity-order"])
        )
        assert [str(words) in message for _, message in found] == ([True] if words else [])

    def test_suggestions(self, check: Check) -> None:
        [result] = check(pool(f"{CAPACITY} In on-demand,spot"), select=["capacity-order"]).results
        offered = {suggestion.name: suggestion.edits[0].text for suggestion in result.finding.suggestions}
        assert [*offered] == ["launch on-demand capacity only", "write spot first"]


class TestMisleadingName:
    @pytest.mark.parametrize(
        ("name", "lines", "words"),
        [
            ("spot-medium", [f"{CAPACITY} In spot,on-demand"], "says spot, but the requirements allow on-demand"),
            ("spot", [f"{CAPACITY} In on-demand"], "but the requirements allow only on-demand"),
            ("spot", [f"{CAPACITY} In spot"], None),
            ("spot", [f"{CAPACITY} NotIn on-demand"], None),
            ("web-on-demand", [ANY], "says on-demand, but the requirements allow spot, which is tried first"),
            ("od.web", [f"{CAPACITY} In spot"], "but the requirements allow only spot"),
            ("spot-od", [f"{CAPACITY} In spot,on-demand"], None),
            ("spotless", [f"{CAPACITY} In on-demand"], None),
            ("arm64", [f"{CATEGORY} In m"], "says arm64, but"),
            ("graviton", [f"{ARCH} In arm64"], None),
            ("x86", [f"{CATEGORY} In m"], "says amd64, but"),
            ("x86-arm64", [f"{CATEGORY} In m"], None),
            ("gpu", [f"{CATEGORY} In m"], "says GPUs, but none"),
            ("gpu", [f"{CATEGORY} In g"], None),
            ("trainium", [f"{CATEGORY} In m"], "says Neuron devices, but none"),
        ],
    )
    def test_names(self, check: Check, name: str, lines: list[str], words: str | None) -> None:
        found = rule_messages(check(pool(*lines, name=name), select=["misleading-name"]))
        assert [str(words) in message for _, message in found] == ([True] if words else [])

    @pytest.mark.parametrize(
        ("term", "expected"),
        [
            ("alias: al2023@v20250715", True),
            ("id: ami-0123456789abcdef0", False),  # it may be for arm64
            ("name: golden-arm64", False),
        ],
    )
    def test_images_may_decide_the_architecture(self, check: Check, term: str, expected: bool) -> None:
        text = pool(f"{CATEGORY} In m", name="web-arm64") + "---\n" + nodeclass("amiFamily: AL2023", ami=term)
        assert bool(check(text, select=["misleading-name"]).results) == expected

    @pytest.mark.parametrize(
        ("label", "lines", "words"),
        [
            (
                "lifecycle: spot",
                [f"{CAPACITY} In spot,on-demand"],
                "labelled `lifecycle: spot`, but the requirements allow on-demand",
            ),
            ("lifecycle: spot", [f"{CAPACITY} In spot"], None),
            ("lifecycle: on-demand", [ANY], "but the requirements allow spot, which is tried first"),
            ("arch: arm64", [f"{CATEGORY} In m"], "nodes are labelled `arch: arm64`, but"),
            ("type: gpu", [f"{CATEGORY} In m"], "nodes are labelled `type: gpu`, but none"),
            ("team: spot-and-on-demand", [f"{CAPACITY} In spot"], None),
        ],
    )  # fmt: skip
    def test_labels(self, check: Check, label: str, lines: list[str], words: str | None) -> None:
        text = pool(*lines).replace("  template:\n", f"  template:\n    metadata: {{labels: {{{label}}}}}\n")
        found = rule_messages(check(text, select=["misleading-name"]))
        assert [str(words) in message for _, message in found] == ([True] if words else [])


class TestKindsOfTypes:
    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            ([f"{FAMILY} In t3,t3a"], True),
            ([f"{CATEGORY} In t"], True),
            ([f"{FAMILY} In t3,m5"], False),
            ([ANY], False),
        ],
    )
    def test_burstable(self, check: Check, lines: list[str], expected: bool) -> None:
        assert bool(rule_messages(check(pool(*lines), select=["burstable-only"]))) is expected
        assert rule_messages(check(pool(*lines, name="burst"), select=["burstable-only"])) == []

    @pytest.mark.parametrize(
        ("families", "words"),
        [
            ("m5,c5", "costs 10% less than `"),
            ("m5,t3", "`m5` is at least 3 generations behind the newest"),
            ("m5,m7i", None),
            ("m6i", None),
            ("m6g", None),  # its successors cost more
            ("t3", None),
            ("g4dn", None),
            ("m4", None),
            ("r5d,i3", None),
        ],
    )
    def test_older(self, check: Check, families: str, words: str | None) -> None:
        text = pool(f"{FAMILY} In {families}", f"{SIZE} In large,xlarge,2xlarge")
        found = rule_messages(check(text, select=["older-families"]))
        assert [str(words) in message for _, message in found] == ([True] if words else [])

    def test_older_names_what_to_add(self, check: Check) -> None:
        [result] = check(pool(f"{FAMILY} In c5,m6g", f"{SIZE} In large,xlarge"), select=["older-families"]).results
        named = [word.strip("`,") for word in (result.finding.help or "").split() if word.startswith("`")]
        assert {"c6i", "c6a"} <= set(named)  # c7i and c7a cost more than c5
        assert all(name[:1] in "cm" and name not in ("c5", "m6g") for name in named)

    @pytest.mark.parametrize(
        ("lines", "policy", "expected"),
        [
            ([f"{FAMILY} In m5,c5", f"{SIZE} In large,xlarge"], "WhenEmpty", True),
            ([f"{FAMILY} In m5,c5", f"{SIZE} In large,xlarge"], "WhenEmptyOrUnderutilized", True),
            ([f"{FAMILY} In m5,c5", f"{CAPACITY} In on-demand", f"{SIZE} In large,xlarge"], "WhenEmpty", False),
            ([f"{FAMILY} In m5,c5,m6i,c6i"], "WhenEmpty", False),
            ([f"{FAMILY} In p4d,p5"], "WhenEmpty", False),
        ],
    )
    def test_few_for_spot(self, check: Check, lines: list[str], policy: str, expected: bool) -> None:
        text = pool(*lines, spec=f"  disruption: {{consolidationPolicy: {policy}, consolidateAfter: 1m}}\n")
        assert bool(rule_messages(check(text, select=["few-spot-types"]))) is expected


class TestArmBesideAmd:
    RULE = "untainted-arm64"

    def test_order_by_name_and_weight(self, check: Check) -> None:
        def message(first: str, other: str, spec: str = "") -> str:
            arm, amd = pool(f"{ARCH} In arm64", name=first, spec=spec), pool(f"{ARCH} In amd64", name=other)
            [(_, text)] = rule_messages(check(f"{arm}---\n{amd}", select=[self.RULE]))
            return text

        assert "start on these arm64 nodes before those of `a`" in message("b", "a")
        assert "can start on these arm64 nodes or on those of `b`" in message("a", "b")
        assert "start on these arm64 nodes before those of `b`" in message("a", "b", "  weight: 3\n")

    def test_amd64_pools_before_and_after_it(self, check: Check) -> None:
        texts = [
            pool(f"{ARCH} In {arch}", name=name) for arch, name in (("amd64", "a"), ("arm64", "b"), ("amd64", "c"))
        ]
        [result] = check("---\n".join(texts), select=[self.RULE]).results
        assert "can start on these arm64 nodes or on those of `c`" in result.finding.message
        assert [place.message.rpartition(": ")[2] for place in result.finding.also] == [
            "Karpenter tries this amd64 pool before the arm64 one",
            "Karpenter tries this amd64 pool after the arm64 one",
        ]

    @pytest.mark.parametrize(
        ("arm", "amd"),
        [
            (pool(f"{ARCH} In arm64", name="b", more=TAINT.format("arm")), pool(f"{ARCH} In amd64", name="a")),
            (pool(f"{ARCH} In arm64,amd64", name="b"), pool(f"{ARCH} In amd64", name="a")),
            (pool(f"{ARCH} In arm64", name="b"), pool(f"{ARCH} In arm64", name="a")),
            (
                pool(f"{ARCH} In arm64", "topology.kubernetes.io/zone In us-east-1a", name="b"),
                pool(f"{ARCH} In amd64", "topology.kubernetes.io/zone In us-east-1b", name="a"),
            ),
        ],
    )
    def test_pools_that_are_told_apart(self, check: Check, arm: str, amd: str) -> None:
        assert not any(
            "`a`" in message for _, message in rule_messages(check(f"{arm}---\n{amd}", select=[self.RULE]))
        )


class TestSmallTypes:
    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ([f"{CATEGORY} In t", f"{SIZE} In small,medium"], "`small`: a node has 1.4 GiB"),
            ([f"{TYPE} In t3.small,c7g.medium,t3.large"], "`t3.small`, `c7g.medium`: a node has"),
            ([f"{CATEGORY} In m", f"{SIZE} In medium"], None),
            ([f"{FAMILY} In c7g,m7g", f"{SIZE} In medium"], None),
            ([f"{FAMILY} In t3", f"{SIZE} In micro"], "`micro`: a node runs 4 pods"),
            ([f"{FAMILY} In t3"], "run only 4 pods"),
        ],
    )
    def test_sizes(self, check: Check, lines: list[str], words: str | None) -> None:
        found = rule_messages(check(pool(*lines), select=["tiny-types"]))
        assert [str(words) in message for _, message in found] == ([True] if words else [])


class TestNeuron:
    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            ([f"{FAMILY} In inf1,trn1"], True),
            ([f"{CATEGORY} In inf"], True),
            ([f"{TYPE} In inf1.xlarge,inf2.xlarge"], True),
            ([f"{CATEGORY} In inf", "karpenter.k8s.aws/instance-generation Gt '1'"], False),
            ([f"{FAMILY} In inf1"], False),
            ([f"{FAMILY} In inf2,trn1"], False),
        ],
    )
    def test_generations(self, check: Check, lines: list[str], expected: bool) -> None:
        assert bool(rule_messages(check(pool(*lines), select=["neuron-generations"]))) is expected

    @pytest.mark.parametrize(
        ("limits", "words"),
        [
            ("cpu: 100", "no limit covers accelerators: `100` CPUs of"),
            ("memory: 100Gi", "no limit covers accelerators"),
            ("cpu: 100, aws.amazon.com/neuron: 4", None),
            ("cpu: 100, aws.amazon.com/neuroncore: 4", None),
            ("cpu: 100, nodes: 4", None),
        ],
    )
    def test_limits_count_devices(self, check: Check, limits: str, words: str | None) -> None:
        text = pool(f"{FAMILY} In inf2", spec=f"  limits: {{{limits}}}\n")
        found = rule_messages(check(text, select=["no-limits"]))
        assert [str(words) in message for _, message in found] == ([True] if words else [])


class TestBoundAgainstComment:
    @pytest.mark.parametrize(
        ("comment", "bound", "words"),
        [
            ("(4+ for arm64)", "Gt 4", "the comment says `4+`, but `Gt 4` begins at 5"),
            ("generation >= 4", "Gt 4", "`>= 4`"),
            ("at least 4", "Gt 4", "`at least 4`"),
            ("4 or newer", "Gt 4", "`4 or newer`"),
            ("up to 8", "Lt 8", "the comment says `up to 8`, but `Lt 8` ends at 7"),
            ("5 and newer", "Gt 4", None),
            (">= 2 vCPU", "Gt 1", None),
            ("newer than 4", "Gt 4", None),
            ("> 4", "Gt 4", None),
            ("c4+ or m4", "Gt 4", None),
            ("14+", "Gt 4", None),
            ("4.5+", "Gt 5", None),
        ],
    )
    def test_comments(self, check: Check, comment: str, bound: str, words: str | None) -> None:
        how, value = bound.split()
        key = "karpenter.k8s.aws/instance-generation"
        plain = pool(f"{key} {how} '{value}'")
        above = plain.replace("        - {key", f"        # {comment}\n        - {{key")
        behind = plain.replace("]}\n", f"]}} # {comment}\n")
        for text in (above, behind):
            found = rule_messages(check(text, select=["comment-against-value"]))
            assert [str(words) in message for _, message in found] == ([True] if words else [])

    def test_a_comment_above_another_requirement_is_not_about_this_one(self, check: Check) -> None:
        text = pool(f"{ARCH} In amd64", "karpenter.k8s.aws/instance-generation Gt '4'")
        text = text.replace("        - {key: kubernetes", "        # 4+\n        - {key: kubernetes")
        assert rule_messages(check(text, select=["comment-against-value"])) == []


def test_arm64_alone(check: Check) -> None:
    rule = ["untainted-arm64"]
    [(_, message)] = rule_messages(check(pool(f"{ARCH} In arm64"), select=rule))
    assert message.startswith("the arm64 nodes have no taint")
    assert rule_messages(check(pool(f"{ARCH} In arm64", more=TAINT.format("arm")), select=rule)) == []
    assert rule_messages(check(pool(f"{FAMILY} In m7g,m6i"), select=rule)) == []
    assert len(rule_messages(check(pool(f"{FAMILY} In m7g,c7g"), select=rule))) == 1


CPU = "karpenter.k8s.aws/instance-cpu"
MEMORY = "karpenter.k8s.aws/instance-memory"
GENERATION = "karpenter.k8s.aws/instance-generation"


class TestBoundWithoutEffect:
    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ([f"{CPU} In '4'", f"{MEMORY} Gt '1500'"], "`instance-memory Gt 1500` excludes nothing that"),
            ([f"{CPU} In '4'", f"{MEMORY} Gt '16000'"], None),
            ([f"{FAMILY} In m6i,m7i", f"{GENERATION} Gt '2'"], None),
            ([f"{FAMILY} In m6i,m7i", f"{GENERATION} Gt '6'"], None),
            ([f"{CATEGORY} In c,m", f"{GENERATION} Gt '2'"], None),
            ([f"{CATEGORY} In dl", f"{GENERATION} Gt '1'"], None),
            ([f"{MEMORY} Gt '1'"], None),
        ],
    )
    def test_bounds(self, check: Check, lines: list[str], words: str | None) -> None:
        found = rule_messages(check(pool(*lines), select=["bound-without-effect"]))
        assert [str(words) in message for _, message in found] == ([True] if words else [])


def test_a_name_that_says_priority(check: Check) -> None:
    for name, spec, expected in (("a-priority", "", 1), ("a-priority", "  weight: 5\n", 0), ("prior", "", 0)):
        assert len(rule_messages(check(pool(ANY, name=name, spec=spec), select=["misleading-name"]))) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("team: a", "team: b", True),
        ("team: a", "team: a", False),  # nothing parts them: another look at the same cause
        ("team: a", "'topology.kubernetes.io/zone': us-east-1a", False),
    ],
)
def test_pools_that_labels_alone_part(check: Check, first: str, second: str, expected: bool) -> None:
    def labelled(name: str, labels: str, taint: str = "") -> str:
        text = pool(
            ANY, "topology.kubernetes.io/zone In us-east-1b" if "zone" in second else ANY, name=name, more=taint
        )
        return text.replace("  template:\n", f"  template:\n    metadata: {{labels: {{{labels}}}}}\n")

    rule = ["overlapping-pools"]
    report = check(labelled("a", first) + "---\n" + labelled("b", second), select=rule)
    assert any(r.finding.strict for r in report.results) is expected
    parted = labelled("a", first) + "---\n" + labelled("b", second, TAINT.format("b"))
    assert rule_messages(check(parted, select=rule)) == []


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([f"{FAMILY} In c7i"], [f"{FAMILY} In r7i"], True),
        ([f"{FAMILY} In c7i"], [f"{FAMILY} In r7g"], False),
        ([f"{FAMILY} In c7i"], [f"{FAMILY} In g6"], False),
        ([f"{FAMILY} In c7i"], [f"{FAMILY} In c7i,r7i"], False),
        (
            [f"{FAMILY} In c7i", "topology.kubernetes.io/zone In us-east-1a"],
            [f"{FAMILY} In r7i", "topology.kubernetes.io/zone In us-east-1b"],
            False,
        ),
    ],
)
def test_pools_that_types_alone_part(check: Check, first: list[str], second: list[str], expected: bool) -> None:
    def strict_messages(weight: str = "", more: str = "") -> list[str]:
        text = pool(*first, name="a", spec=weight) + "---\n" + pool(*second, name="b", more=more)
        return [r.finding.message for r in check(text, select=["overlapping-pools"]).results if r.finding.strict]

    rest = "pods that select no label or instance type start in `b`, which Karpenter tries first because of its name"
    assert strict_messages() == ([rest] if expected else [])
    assert strict_messages("  weight: 5\n") == strict_messages(more=TAINT.format("b")) == []


ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"


@pytest.mark.parametrize(
    ("zones", "region", "expected"),
    [
        ("In us-east-1a,us-west-2b", "In eu-west-1", True),
        ("In us-east-1a", "NotIn us-east-1", True),
        ("In us-east-1a,eu-west-1b", "In eu-west-1", False),
        ("In us-east-1-bos-1a", "In us-east-1", False),
        ("NotIn us-east-1a", "In eu-west-1", False),
        ("In somewhere", "In eu-west-1", False),
    ],
)
def test_zones_of_another_region(check: Check, zones: str, region: str, expected: bool) -> None:
    for lines in ((f"{ZONE} {zones}", f"{REGION} {region}"), (f"{REGION} {region}", f"{ZONE} {zones}")):
        found = rule_messages(check(pool(*lines), select=["no-instance-type"]))
        assert [message.endswith("no zone is in the region") for _, message in found] == ([True] if expected else [])
