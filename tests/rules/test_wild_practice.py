"""Habits met in public repositories, each once wrong here: the manifests below are of our own writing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nodelint.lint.autofix import Fixed, fix
from nodelint.lint.engine import LintRequest, Report, Target
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source

Check = Callable[..., Report]
Repair = Callable[..., Fixed]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: apps
spec:
  template:
    metadata:
      labels: {labels}
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: apps}}
      requirements:
        - {{key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}}
"""

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: apps
spec:
  amiSelectorTerms:
    - alias: {alias}
  subnetSelectorTerms:
    - tags: {{karpenter.sh/discovery: shop}}
  securityGroupSelectorTerms:
    - tags: {{karpenter.sh/discovery: shop}}
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: cart
spec:
  template:
    metadata:
      labels:
        app: cart
        RELEASE_LABEL
    spec:
      nodeSelector:
        karpenter.sh/capacity-type: spot
"""


@pytest.fixture
def repair(rules: dict[str, Rule]) -> Repair:
    def run(*texts: str) -> Fixed:
        sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
        return fix(sources, LintRequest(Target(NEWEST), rules), unsafe=True)

    return run


def finding_lines(report: Report) -> list[tuple[str, str, int]]:
    return [(r.rule.name, r.finding.message, r.span.source.position(r.span.start).line) for r in report.results]


def names(report: Report) -> list[str]:
    return [r.rule.name for r in report.results]


class TestOtherPeoplesFiles:
    """A file that mentions Karpenter and holds none of its objects is nobody's business here."""

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(DEPLOYMENT, id="a text that a script of one's own replaces"),
            pytest.param(DEPLOYMENT.replace("        RELEASE_LABEL\n", "        app: cart\n"), id="a key twice"),
            pytest.param(
                "site_name: our karpenter\nplugins:\n  - fences: {format: !!python/name:a.b.c}\n", id="mkdocs"
            ),
            pytest.param('{"karpenter.k8s.aws/instance-cpu": [1,', id="half of a JSON file of labels"),
            pytest.param(
                DEPLOYMENT.replace(
                    "        RELEASE_LABEL", "        {{- if .x }}\n        app: a\n        {{- end }}"
                ),
                id="a chart's Deployment",
            ),
        ],
    )
    def test_neither_a_finding_nor_a_skip(self, check: Check, text: str) -> None:
        report = check(text)
        assert finding_lines(report) == []
        assert report.skipped == ()

    @pytest.mark.parametrize(
        "text",
        [
            'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: "apps\n',
            "# karpenter\nkind: NodePool\nkind: NodePool\n",
            '{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",',
            "items:\n- apiVersion: 'karpenter.sh/v1'\n  kind: NodePool\n   metadata: {}\n",
        ],
    )
    def test_a_broken_object_of_ours_is_still_told(self, check: Check, text: str) -> None:
        assert names(check(text)) == ["yaml-syntax"]

    def test_the_broken_neighbour_does_not_hide_the_object_beside_it(self, check: Check) -> None:
        report = check(DEPLOYMENT + "---\n" + CLASS.format(alias="al2023@v20250403"))
        assert [r.finding.message for r in report.results] == ["one of `role` and `instanceProfile` must be given"]


def test_a_merge_key_with_its_tag_spelled_out_is_a_merge_key(check: Check) -> None:
    """Some tools write `!!merge <<` where people write `<<`."""
    text = POOL.format(labels="{team: shop}").replace(
        "        - {key", "        - !!merge <<: {operator: In, values: [m]}\n          key"
    )
    text = text.replace(", operator: In, values: [m]}", "")
    assert "!!merge" in text
    assert finding_lines(check(text)) == []


class TestWholeOfAClass:
    BOTH = CLASS.format(alias="al2@latest") + "  role: KarpenterNode\n  instanceProfile: KarpenterNode\n"

    def test_a_warning_within_does_not_silence_an_error_about_the_whole(self, check: Check) -> None:
        assert sorted(names(check(self.BOTH))) == ["refused-combination", "unsupported-alias"]

    def test_the_place_is_the_field_too_many(self, check: Check) -> None:
        lines = {name: line for name, _, line in finding_lines(check(self.BOTH))}
        assert self.BOTH.splitlines()[lines["refused-combination"] - 1] == "  instanceProfile: KarpenterNode"

    def test_where_something_lacks_the_place_is_the_head(self, check: Check) -> None:
        [(rule, _, line)] = finding_lines(check(CLASS.format(alias="al2023@v20250403")))
        assert (rule, line) == ("refused-combination", 5)


class TestLabelsOfOnesOwn:
    def test_a_label_whose_value_karpenters_key_never_has_is_ones_own(self, check: Check) -> None:
        text = POOL.format(labels="{node.kubernetes.io/instance-generation: local-disks}")
        assert finding_lines(check(text)) == []

    def test_one_whose_value_fits_is_told(self, check: Check) -> None:
        text = POOL.format(labels="{node.kubernetes.io/instance-generation: '5'}")
        assert names(check(text)) == ["unknown-label"]


def test_a_policy_that_is_filled_in_later_is_named_when_the_pool_moves_to_v1(check: Check) -> None:
    text = POOL.format(labels="{}").replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
    text = text.replace("group: karpenter.k8s.aws, kind: EC2NodeClass, ", "")
    text += "  disruption:\n    consolidationPolicy: ${policy}\n    expireAfter: 720h\n"
    [result] = check(text).results
    assert result.rule.name == "removed-api"
    assert result.finding.edits
    assert "WhenEmptyOrUnderutilized" in str(result.finding.help)


def test_one_is_counted_as_one(check: Check) -> None:
    text = POOL.format(labels="{}").replace(
        "        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}",
        "        - {key: node.kubernetes.io/instance-type, operator: In, values: [t3.small]}\n"
        "        - {key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [micro, small]}",
    )
    [result] = check(text).results
    assert result.rule.name == "no-instance-type"
    names = [way.name for way in result.finding.suggestions]
    assert "remove `instance-size NotIn micro, small`: 1 instance type can launch" in names


@pytest.mark.parametrize(
    ("version", "words"),
    [("v1", "since v1 it is `kubelet`, in spec of the EC2NodeClass"), ("v1beta1", "it is `kubelet` here")],
)
def test_kubelet_settings_under_the_name_that_a_provisioner_had(check: Check, version: str, words: str) -> None:
    text = POOL.format(labels="{}") + "      kubeletConfiguration: {maxPods: 58}\n"
    if version == "v1beta1":
        text = text.replace("karpenter.sh/v1", "karpenter.sh/v1beta1")
        text = text.replace("group: karpenter.k8s.aws, kind: EC2NodeClass, ", "")
    report = check(text, karpenter="1.0.8")
    errors = [r.finding.message for r in report.results if r.severity == "error"]
    assert errors == [f"`kubeletConfiguration` is not a known field: {words}"]


def test_settings_that_move_into_a_class_replace_its_nodes(check: Check) -> None:
    pool = POOL.format(labels="{}") + "      kubelet: {maxPods: 58}\n"
    [result] = check(pool, CLASS.format(alias="al2023@v20250403") + "  role: KarpenterNode\n").results
    assert result.finding.edits
    assert result.safety == "unsafe"


class TestFieldsThatLookLikeAnother:
    """A key is put right only where its value fits the field that was meant; and told once."""

    GRACE = POOL.format(labels="{}") + "      terminationGracePeriodSeconds: 30\n"
    CONSOLIDATION = (
        POOL.format(labels="{}") + "  disruption:\n    consolidateAfter: 30s\n    consolidation: {enabled: true}\n"
    )
    WEIGHT = POOL.format(labels="{}") + "  weigth: VALUE\n"

    def test_seconds_as_pods_have_them_become_a_duration(self, check: Check, repair: Repair) -> None:
        report = check(self.GRACE)
        assert names(report) == ["unknown-field"]
        assert "did you mean" in report.results[0].finding.message
        [source] = repair(self.GRACE).sources
        assert source.text == self.GRACE.replace("terminationGracePeriodSeconds: 30", "terminationGracePeriod: 30s")

    def test_consolidation_of_a_provisioner_becomes_a_policy(self, check: Check, repair: Repair) -> None:
        assert "use consolidationPolicy" in check(self.CONSOLIDATION).results[0].finding.message
        old, new = "consolidation: {enabled: true}", "consolidationPolicy: WhenEmptyOrUnderutilized"
        assert repair(self.CONSOLIDATION).sources[0].text == self.CONSOLIDATION.replace(old, new)
        contents = self.CONSOLIDATION.replace("enabled: true", "enabled: '${CONSOLIDATE}'")
        assert repair(contents).sources[0].text == contents

    @pytest.mark.parametrize("value", ["10", '"10"'])
    def test_a_value_that_fits_or_can_be_made_to_fit(self, repair: Repair, value: str) -> None:
        fixed = repair(self.WEIGHT.replace("VALUE", value))
        assert "  weight: 10\n" in fixed.sources[0].text
        assert finding_lines(fixed.report) == []
