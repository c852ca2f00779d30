"""The image rules with the facts of an account: what each says, once, for which release, and what its fix leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.questions import latest_version
from nodelint.ec2.snapshot import pruned_owners
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import KubernetesVersion, target
from nodelint.rule.definition import Rule
from nodelint.text import Source

K133 = KubernetesVersion(1, 33)
RULES = (
    "deprecated-image",
    "untrusted-image-owner",
    "image-arch-mismatch",
    "no-image",
    "pending-image",
    "unpinned-image",
    "unsupported-alias",
    "unsupported-alias",
)
OTHERS = tuple(rule for rule in RULES if rule != "unpinned-image")
"""Those that do not speak of every term with tags."""
STRANGER = "999988887777"


class Row(NamedTuple):
    """A finding, less its place."""

    rule: str
    severity: str
    message: str


class Judge:
    """A manifest as it is judged in an account, and as the fixes leave it."""

    def __init__(
        self, rules: dict[str, Rule], account: str | None, text: str, version: str, select: tuple[str, ...]
    ) -> None:
        self._rules, self._account, self._version = rules, account, target(version)
        self._selection = Selection(frozenset(select))
        self.report = self._judged(text)
        self.text = text

    def _target(self, source: Source) -> Target:
        if self._account is None:
            return Target(self._version, K133)
        classes = [obj for obj in objects(source) if isinstance(obj, EC2NodeClass)]
        facts = FakeAccount(self._account).facts(classes, self._version, K133)
        return Target(self._version, K133, facts=facts)

    def _judged(self, text: str) -> Report:
        source = Source.from_text("c.yaml", text)
        report = lint([source], LintRequest(self._target(source), self._rules, self._selection))
        assert not report.faults
        # As in the default profile.
        return report._replace(results=tuple(r for r in report.results if not r.finding.strict))

    @property
    def findings(self) -> list[Row]:
        return [Row(r.rule.name, r.severity, r.finding.message) for r in self.report.results]

    @property
    def hints(self) -> list[str | None]:
        return [result.finding.help for result in self.report.results]

    @property
    def skips(self) -> set[tuple[str | None, str]]:
        return {(skip.rule, skip.reason) for skip in self.report.skipped if skip.object is not None}

    def fixed(self, *, unsafe: bool = False) -> Judge:
        """The same after its fixes, asked anew; what is fixed twice stays as it is."""
        source = Source.from_text("c.yaml", self.text)
        text = (
            fix([source], LintRequest(self._target(source), self._rules, self._selection), unsafe=unsafe)
            .sources[0]
            .text
        )
        after = Judge.__new__(Judge)
        after.__dict__.update(self.__dict__, text=text)
        after.report = after._judged(text)
        again = fix(
            [Source.from_text("c.yaml", text)], LintRequest(after.report.target, self._rules, self._selection)
        )
        assert again.sources[0].text == text
        return after

    @property
    def terms(self) -> str:
        """What is written behind `amiSelectorTerms`, in one line."""
        return next(line for line in self.text.splitlines() if "amiSelectorTerms" in line).partition(": ")[2]


@pytest.fixture
def judge(rules: dict[str, Rule]) -> Callable[..., Judge]:
    """Judge amiSelectorTerms: `judge("images: []", "[{id: ami-1}]", "1.1.0")`."""

    def run(
        account: str | None,
        terms: str,
        version: str = "1.14.1",
        *,
        family: str | None = "AL2023",
        select: tuple[str, ...] = OTHERS,
        more: str = "",
    ) -> Judge:
        named = f"  amiFamily: {family}\n" if family else ""
        text = (
            "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: c, generation: 4}\nspec:\n"
            f"{named}  role: r\n  amiSelectorTerms: {terms}\n"
            "  subnetSelectorTerms: [{tags: {a: b}}]\n  securityGroupSelectorTerms: [{tags: {a: b}}]\n"
        )
        return Judge(rules, account, text + more, version, select)

    return run


def images(*rows: str) -> str:
    return "images:\n" + "".join(f"  - {{{row}}}\n" for row in rows)


POOL = """\
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7g]}]
"""

PENDING = images("id: ami-1, name: g-1, state: pending, created: 2026-11-19", "id: ami-2, name: g-2")


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "1.2.1"])
def test_an_id_that_is_pending_is_taken_before_1_2_2(judge: Callable[..., Judge], version: str) -> None:
    found = judge(PENDING, "[{id: ami-1}, {id: ami-2}]", version)
    assert found.findings == [
        Row("pending-image", "error", f"`g-1` (ami-1) is pending: Karpenter {version} uses it"),
    ]
    # There is nothing that the term could be pinned to.
    assert not found.report.results[0].fixable
    assert found.hints == ["choose an available image"]


@pytest.mark.parametrize("version", ["1.2.2", "1.3.0", "1.14.1"])
def test_an_id_that_is_pending_is_not_found_since_1_2_2(judge: Callable[..., Judge], version: str) -> None:
    expected = "`g-1` (ami-1) is pending: the term finds nothing to launch"
    neighbours = judge(PENDING, "[{id: ami-1}, {id: ami-2}]", version)
    assert neighbours.findings == [Row("no-image", "warning", expected)]
    alone = judge(PENDING, "[{id: ami-1}]", version)
    assert alone.findings == [Row("no-image", "error", expected)]
    assert alone.hints == ["wait until it is available, or choose another image"]


OVERLAP = images(
    "id: ami-1, name: gold-1, created: 2026-11-01, tags: {t: a}",
    "id: ami-2, name: gold-2, created: 2026-11-02, tags: {t: b}",
    "id: ami-3, name: gold-3, created: 2026-11-03, state: failed, tags: {t: c}",
    "id: ami-4, name: gold-4, created: 2026-11-04, arch: arm64, tags: {t: b}",
)


def test_an_image_that_two_terms_find_is_told_of_once_and_pinning_one_would_not_do(
    judge: Callable[..., Judge],
) -> None:
    found = judge(OVERLAP, "[{name: 'gold-*'}, {tags: {t: c}}]", "1.1.0", select=("pending-image",))
    assert found.findings == [Row("pending-image", "error", "`gold-3` (ami-3) has failed: Karpenter 1.1.0 uses it")]
    assert [also.message for also in found.report.results[0].finding.also][-1] == "also matches it"
    assert not found.report.results[0].fixable
    now = judge(OVERLAP, "[{name: 'gold-*'}, {name: gold-3}, {name: '*-3'}]", select=("pending-image",))
    assert now.findings == [Row("pending-image", "info", "`gold-3` (ami-3) has failed: `gold-2` is used instead")]


def test_older_images_of_another_term_are_no_finding(judge: Callable[..., Judge]) -> None:
    assert judge(OVERLAP, "[{tags: {t: a}}, {tags: {t: b}}]").findings == []


def test_a_term_with_nothing_but_a_failed_image_is_told_of_beside_others(judge: Callable[..., Judge]) -> None:
    found = judge(OVERLAP, "[{tags: {t: c}}, {tags: {t: b}}]")
    assert found.findings == [
        Row("no-image", "warning", "`t: c` finds no image that can launch: `gold-3` has failed")
    ]


def test_the_pin_is_to_images_that_the_release_finds(judge: Callable[..., Judge]) -> None:
    account = images(
        "id: ami-1, name: g-1, created: 2026-11-19, state: pending, owner: '999988887777', tags: {t: a}",
        "id: ami-2, name: g-2, created: 2026-11-02, deprecated: 2026-11-10, owner: '999988887777', tags: {t: a}",
        "id: ami-3, name: g-3, created: 2026-11-01, owner: '999988887777', tags: {t: a}",
    )
    terms = f"[{{tags: {{t: a}}, owner: '{STRANGER}'}}]"
    for version in ("1.0.8", "1.1.0"):
        after = judge(account, terms, version).fixed()
        assert (after.terms, after.findings) == ("[{id: ami-3}]", [])
    # Nothing is left for 1.0, which does not find deprecated images of others.
    account = account.rpartition("  - ")[0]
    assert not judge(account, terms, "1.0.8").report.results[0].fixable
    assert judge(account, terms, "1.1.0").fixed().terms == "[{id: ami-2}]"


def test_a_term_by_name_is_pinned_by_name_for_each_architecture(judge: Callable[..., Judge]) -> None:
    rows = [
        f"id: ami-{n}, name: golden-{arch}-{n}, arch: {arch}, created: 2026-11-0{n}, owner: '{STRANGER}'"
        for n, arch in enumerate(("amd64", "arm64", "amd64", "arm64"), 1)
    ]
    terms = f"[{{name: golden-*, owner: '{STRANGER}'}}]"
    after = judge(images(*rows), terms, select=("unpinned-image",)).fixed(unsafe=True)
    owner = f"owner: '{STRANGER}'"
    assert after.terms == f"[{{name: golden-arm64-4, {owner}}}, {{name: golden-amd64-3, {owner}}}]"
    assert after.findings == []


def test_an_architecture_whose_only_image_failed_is_told(judge: Callable[..., Judge]) -> None:
    account = images(
        "id: ami-1, name: w-1, tags: {t: a}", "id: ami-2, name: w-2, tags: {t: a}, arch: arm64, state: failed"
    )
    found = judge(account, "[{tags: {t: a}}]", select=("pending-image",))
    assert found.findings == [Row("pending-image", "info", "`w-2` (ami-2) has failed: no arm64 image is found")]
    # Another term has one.
    more = account + "  - {id: ami-3, name: v-3, arch: arm64}\n"
    assert judge(more, "[{tags: {t: a}}, {id: ami-3}]", select=("pending-image",)).findings == []


def test_no_tag_is_added_that_no_image_is_known_to_have(judge: Callable[..., Judge]) -> None:
    account = images("id: ami-1, name: w-1, tags: {t: a}")
    after = judge(account, "[{tags: {t: a}}]", "1.1.0").fixed(unsafe=True)
    assert after.terms == "[{tags: {t: a}}]"
    assert [finding.rule for finding in after.findings] == ["pending-image"]


def test_parameters_that_hold_no_image(judge: Callable[..., Judge]) -> None:
    account = OVERLAP + "parameters: {/good: ami-2, /failed: ami-3, /bad: hello, /gone: ami-99}\n"
    for alone, expected in {
        "/failed": "the parameter `/failed` holds `ami-3`, which has failed",
        "/bad": "the parameter `/bad` does not hold an image id",
        "/gone": "the parameter `/gone` holds `ami-99`, which does not exist",
        "/none": "the parameter `/none` does not exist",
    }.items():
        assert judge(account, f"[{{ssmParameter: {alone}}}]").findings == [Row("no-image", "error", expected)]
        neighbours = judge(account, f"[{{ssmParameter: /good}}, {{ssmParameter: {alone}}}, {{id: ami-4}}]")
        assert neighbours.findings == [Row("no-image", "warning", expected)]
    assert judge(account, "[{ssmParameter: /good}, {id: ami-4}, {tags: {t: a}}]").findings == []
    # A release without them refuses the field, which another rule says.
    assert judge(account, "[{ssmParameter: /none}]", "1.3.0").findings == []


def test_what_was_refused_costs_its_own_term_only(judge: Callable[..., Judge]) -> None:
    found = judge(OVERLAP + "denied: [parameters]\n", "[{ssmParameter: /good}, {tags: {t: zz}}]")
    assert found.findings == [Row("no-image", "warning", "`t: zz` matches no image")]
    reason = "AWS was asked about SSM parameters: UnauthorizedOperation"
    assert found.skips >= {("no-image", reason), ("deprecated-image", reason)}
    alone = judge(OVERLAP + "denied: [parameters]\n", "[{ssmParameter: /good}]")
    assert alone.findings == []


def test_a_placeholder_keeps_the_class_from_being_told_empty(judge: Callable[..., Judge]) -> None:
    found = judge(OVERLAP, "[{tags: {t: '${X}'}}, {name: none}, {id: ami-9}]", select=("no-image",))
    assert found.findings == [
        Row("no-image", "warning", "`none` matches no image"),
        Row("no-image", "warning", "the image `ami-9` does not exist"),
    ]


def test_an_owner_that_is_asked_for_is_no_stranger(judge: Callable[..., Judge]) -> None:
    account = images(f"id: ami-1, name: g-1, owner: '{STRANGER}', tags: {{t: a}}, public: true")
    assert judge(account, f"[{{tags: {{t: a}}, owner: '{STRANGER}'}}]").findings == []
    assert judge(account, "[{id: ami-1}]").findings == []
    # A name finds one's own images and Amazon's; somebody else's are not looked at.
    (expected,) = judge(account, "[{name: g-1}]").findings
    assert (expected.rule, expected.severity) == ("no-image", "error")


@pytest.mark.parametrize(("public", "severity"), [("false", "info"), ("true", "warning")])
def test_images_of_one_other_account_are_likely_meant(
    judge: Callable[..., Judge], public: str, severity: str
) -> None:
    account = images(f"id: ami-1, name: g-1, owner: '{STRANGER}', tags: {{t: a}}, public: {public}")
    found = judge(account, "[{tags: {t: a}}]")
    expected = f"without `owner` the term selects `g-1` (ami-1) of account {STRANGER}"
    assert found.findings == [Row("untrusted-image-owner", severity, expected)]
    # Whom to trust is for the user to say.
    assert not found.report.results[0].fixable
    assert found.hints == [f'set the owner that you mean: `owner: self` or `owner: "{STRANGER}"`']


def test_images_of_ones_own_beside_anothers(judge: Callable[..., Judge]) -> None:
    own = "id: ami-3, name: g-3, tags: {t: a}"
    newer = f"id: ami-1, name: g-1, owner: '{STRANGER}', tags: {{t: a}}, created: 2026-11-10"
    found = judge(images(own, newer), "[{tags: {t: a}}]")
    expected = f"without `owner` the term selects `g-1` (ami-1) of account {STRANGER}"
    assert found.findings == [Row("untrusted-image-owner", "warning", expected)]
    assert found.report.results[0].safety == "unsafe"
    after = found.fixed(unsafe=True)
    assert (after.terms, after.findings) == ("[{tags: {t: a}, owner: self}]", [])
    # One's own image is pending: naming oneself would leave none.
    pending = judge(images(own + ", state: pending", newer), "[{tags: {t: a}}]", select=("untrusted-image-owner",))
    assert not pending.report.results[0].fixable
    # Of two strangers' images the one that nodes take is named.
    older = newer.replace("ami-1", "ami-2").replace("g-1", "g-2").replace("11-10", "11-01")
    for rows in ((older, newer), (newer, older)):
        (row,) = judge(images(*rows), "[{tags: {t: a}}]").findings
        assert "`g-1` (ami-1)" in row.message
    # What no node boots is not a danger.
    assert judge(images(own, newer + ", arch: i386"), "[{tags: {t: a}}]").findings == []


def test_a_strangers_pending_image_is_told_of_once(judge: Callable[..., Judge]) -> None:
    account = images(
        f"id: ami-1, name: g-1, owner: '{STRANGER}', tags: {{t: a}}, created: 2026-11-10, state: pending",
        "id: ami-3, name: g-3, tags: {t: a}",
    )
    found = judge(account, "[{tags: {t: a}}]")
    assert [finding.rule for finding in found.findings] == ["untrusted-image-owner"]
    assert found.report.results[0].finding.also[0].message.endswith(f"of {STRANGER}, 2026-11-10, pending")
    assert found.fixed().terms == "[{tags: {t: a}, owner: self}]"


def test_a_name_that_fits_ones_own_and_amazons_keeps_what_is_taken(judge: Callable[..., Judge]) -> None:
    amazon = "id: ami-1, name: amazon-eks-node-al2023-x86_64-standard-1.33-v20261101, owner: amazon"
    own = "id: ami-3, name: amazon-eks-node-al2023-x86_64-standard-1.33-v1-mine, created: {}"
    terms = "[{name: 'amazon-eks-node-al2023-*'}]"
    for day, owner in (("2026-10-01", "amazon"), ("2026-11-19", "self")):
        found = judge(images(amazon, own.format(day)), terms, select=("untrusted-image-owner",))
        (result,) = found.report.results
        assert (result.severity, result.safety) == ("warning", "safe")
        assert found.fixed().terms == terms.replace("}]", f", owner: {owner}}}]")
    assert judge(images(amazon), terms, select=("untrusted-image-owner",)).findings == []


def test_images_of_no_architecture_that_karpenter_launches(judge: Callable[..., Judge]) -> None:
    account = images(
        "id: ami-1, name: g-1, arch: x86_64_mac, tags: {t: a}", "id: ami-2, name: g-2, arch: i386, tags: {t: a}"
    )
    found = judge(account, "[{tags: {t: a}}]")
    expected = "`t: a` finds 2 images, none that can launch: `g-2` is for i386"
    assert found.findings == [Row("no-image", "error", expected)]
    assert found.hints == ["choose an image for amd64 or arm64"]


DEPRECATED = images(
    "id: ami-1, name: w-1, deprecated: 2026-01-01, created: 2026-01-01, tags: {t: a}",
    "id: ami-2, name: w-2, created: 2025-01-01, tags: {t: a}",
    "id: ami-4, name: x-4, owner: amazon, deprecated: 2026-01-01, created: 2025-01-01",
    "id: ami-5, name: v-5, deprecated: 2027-01-01",
)


def test_deprecated_images_by_release(judge: Callable[..., Judge]) -> None:
    own = "[{tags: {t: a}, owner: self}]"
    select = ("deprecated-image", "no-image")
    for version in ("1.0.0", "1.0.8"):
        assert judge(DEPRECATED, own, version, select=select).findings == [
            Row("deprecated-image", "warning", "`w-1` (ami-1) has been deprecated since 2026-01-01")
        ]
        others = f"`x-4` (ami-4) is deprecated, which Karpenter {version} ignores: the term finds nothing to launch"
        assert judge(DEPRECATED, "[{id: ami-4}]", version).findings == [Row("no-image", "error", others)]
        assert judge(DEPRECATED, "[{id: ami-4}, {id: ami-2}]", version).findings == [
            Row("no-image", "warning", others)
        ]
    for version in ("1.1.0", "1.14.1"):
        assert judge(DEPRECATED, own, version, select=select).findings == []
        assert judge(DEPRECATED, "[{id: ami-4}, {name: 'x-*'}]", version, select=select).findings == [
            Row("deprecated-image", "warning", "`x-4` (ami-4) has been deprecated since 2026-01-01")
        ]
    # Its time has not come.
    assert judge(DEPRECATED, "[{id: ami-5}]").findings == []


@pytest.mark.parametrize(
    ("state", "reported"), [("available", ["deprecated-image"]), ("failed", []), ("pending", [])]
)
def test_an_image_from_which_nothing_launches_is_not_also_deprecated(
    judge: Callable[..., Judge], state: str, reported: list[str]
) -> None:
    account = images(f"id: ami-1, name: w-1, state: {state}, deprecated: 2026-01-01, tags: {{t: a}}")
    found = judge(account, "[{tags: {t: a}, owner: self}]", "1.0.0", select=("deprecated-image",)).findings
    assert [finding.rule for finding in found] == reported


BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-1.33/x86_64"
ALIAS = f"""\
parameters:
  {BOTTLEROCKET}/latest/image_id: ami-b2
  {BOTTLEROCKET}/1.50.0/image_id: ami-b2
  {BOTTLEROCKET}/1.30.0/image_id: ami-b1
images:
  - {{id: ami-b2, name: bottlerocket-aws-k8s-1.33-x86_64-v1.50.0-5d2f1c3a, owner: amazon}}
  - id: ami-b1
    name: bottlerocket-aws-k8s-1.33-x86_64-v1.30.0-a1b2c3d4
    owner: amazon
    created: 2024-11-01
    deprecated: 2026-11-01
"""


def test_an_alias_whose_images_the_release_does_not_find(judge: Callable[..., Judge]) -> None:
    old = judge(ALIAS, "[{alias: bottlerocket@v1.30.0}]", "1.0.14", family=None)
    assert old.findings == [
        Row(
            "no-image",
            "error",
            "it finds no image that can launch: `ami-b1` is deprecated, which Karpenter 1.0.14 ignores",
        )
    ]
    new = judge(ALIAS, "[{alias: bottlerocket@v1.30.0}]", "1.1.0", family=None)
    assert [finding.rule for finding in new.findings] == ["deprecated-image"]
    after = new.fixed(unsafe=True)
    assert (after.terms, after.findings) == ("[{alias: bottlerocket@v1.50.0}]", [])


def test_an_alias_whose_parameters_hold_images_that_are_gone(judge: Callable[..., Judge]) -> None:
    account = ALIAS.partition("images:")[0] + "images: []\n"
    found = judge(account, "[{alias: bottlerocket@latest}]", family=None, select=("no-image", "unsupported-alias"))
    assert found.findings == [
        Row("no-image", "error", "`bottlerocket@latest` resolves to `ami-b2`, which does not exist")
    ]
    # Refused is not gone.
    hidden = account.replace("images: []", "denied: [images]")
    refused = judge(hidden, "[{alias: bottlerocket@latest}]", family=None, select=RULES)
    assert [finding.rule for finding in refused.findings] == ["unpinned-image"]


def test_no_version_is_named_that_is_known_not_to_be_published(
    judge: Callable[..., Judge], rules: dict[str, Rule]
) -> None:
    account = ALIAS.replace(f"  {BOTTLEROCKET}/1.50.0/image_id: ami-b2\n", "")
    found = judge(account, "[{alias: bottlerocket@v1.2.3}]", family=None)
    assert found.findings == [
        Row("unsupported-alias", "error", "`bottlerocket@v1.2.3` has no image on Kubernetes 1.33")
    ]
    assert not found.report.results[0].fixable
    whole = judge(ALIAS, "[{alias: bottlerocket@v1.2.3}]", family=None)
    assert whole.fixed().terms == "[{alias: bottlerocket@v1.50.0}]"
    classes = [obj for obj in found.report.objects if isinstance(obj, EC2NodeClass)]
    for text, version in ((account, None), (ALIAS, "v1.50.0")):
        facts = FakeAccount(text).facts(classes, target("1.14.1"), K133)
        assert latest_version("bottlerocket", target("1.14.1"), K133, facts) == version


def test_an_alias_that_a_family_stands_for_is_not_written_into_it(judge: Callable[..., Judge]) -> None:
    text = judge(ALIAS, "[]", "1.0.8", family="Bottlerocket").text
    text = text.replace("/v1\n", "/v1beta1\n").replace("  amiSelectorTerms: []\n", "")
    found = Judge(judge(ALIAS, "[]")._rules, ALIAS, text, "1.0.8", RULES)
    assert [finding.rule for finding in found.findings] == ["unpinned-image"]
    assert not found.report.results[0].fixable


def test_anchors_are_left_whole(judge: Callable[..., Judge]) -> None:
    account = images(
        "id: ami-1, name: g-1, tags: {t: a}",
        "id: ami-2, name: g-2, tags: {t: a}, state: pending, created: 2026-11-19",
    )
    twice = judge(account, "[&one {tags: {t: a}}, *one]", "1.1.0", select=("pending-image",))
    assert [finding.message for finding in twice.findings] == ["`g-2` (ami-2) is pending: Karpenter 1.1.0 uses it"]
    assert twice.fixed().terms == "[&one {tags: {t: a}}, *one]"
    once = judge(account, '[{"name": "g-*", "tags": {"t": "a"}}]', "1.1.0", select=("pending-image",)).fixed()
    assert (once.terms, once.findings) == ('[{"name": "g-1", "tags": {"t": "a"}}]', [])


def test_many_images_are_answered_by_those_that_are_kept(judge: Callable[..., Judge], rules: dict[str, Rule]) -> None:
    """Of forty images ten are kept; the name that the fix writes is known by the answer to the pattern."""
    account = images(*(f"id: ami-{n}, name: gold-{n}, created: 2026-10-{n}" for n in range(10, 31)))
    found = judge(account, "[{name: 'gold-*'}]", select=("unpinned-image", "no-image"))
    source = Source.from_text("c.yaml", found.text)
    done = fix(
        [source], LintRequest(found.report.target, rules, Selection(frozenset({"unpinned-image", "no-image"})))
    )
    assert "[{name: 'gold-30'}]" in done.sources[0].text
    assert (done.report.results, [s for s in done.report.skipped if s.object is not None]) == ((), [])
    region = found.report.target.facts.region
    assert region is not None
    assert len(region.images) == 10
    assert pruned_owners(region.images.values(), "2026-11-20T12:00:00Z") == {"self"}
    # An older name is not one of those that are kept: that it exists cannot be ruled out.
    older = Source.from_text("c.yaml", found.text.replace("gold-*", "gold-12"))
    report = lint([older], LintRequest(found.report.target, rules, Selection(frozenset({"no-image"}))))
    assert report.results == ()
    assert len([skip for skip in report.skipped if skip.object is not None]) == 1


def test_the_account_behind_a_number_is_not_guessed(judge: Callable[..., Judge], rules: dict[str, Rule]) -> None:
    """Amazon's images bear its name, not the number of the account that a term may give."""
    account = images("id: ami-1, name: g-1, owner: amazon, tags: {t: a}")
    found = judge(account, "[{tags: {t: a}}]", select=("no-image",))
    assert found.findings == []
    requested = Source.from_text("c.yaml", found.text.replace("{t: a}", "{t: a}, owner: '602401143452'"))
    report = lint([requested], LintRequest(found.report.target, rules, Selection(frozenset({"no-image"}))))
    assert report.results == ()
    assert len([skip for skip in report.skipped if skip.object is not None]) == 1


STATUS = """\
status:
  conditions: [{type: AMIsReady, status: "True", observedGeneration: 4}]
  amis:
    - {id: ami-1, name: golden, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
"""


def test_the_status_of_an_object_tells_its_images_where_nothing_else_does(judge: Callable[..., Judge]) -> None:
    select = ("image-arch-mismatch",)
    found = judge(None, "[{tags: {t: a}}]", more=STATUS + POOL, select=select)
    (finding,) = found.findings
    assert finding.message == "the class has no `arm64` image: 9 of 20 allowed instance types cannot launch"
    # Of an older spec it tells nothing, and facts know better.
    stale = judge(None, "[{tags: {t: a}}]", more=STATUS.replace("n: 4", "n: 3") + POOL, select=select)
    assert (stale.findings, len(stale.skips)) == ([], 1)
    both = images("id: ami-2, name: g, tags: {t: a}", "id: ami-3, name: h, tags: {t: a}, arch: arm64")
    assert judge(both, "[{tags: {t: a}}]", more=STATUS + POOL, select=select).findings == []


def test_a_class_without_an_image_is_told_of_once(judge: Callable[..., Judge]) -> None:
    found = judge(OVERLAP, "[{tags: {t: zz}}]", more=POOL)
    assert found.findings == [Row("no-image", "error", "`t: zz` matches no image")]


def test_each_pending_image_is_told_though_one_of_them_was(judge: Callable[..., Judge]) -> None:
    account = images(
        "id: ami-1, name: g-1, state: pending, tags: {t: a}",
        "id: ami-2, name: g-2, state: failed, arch: arm64, tags: {u: a}",
    )
    found = judge(account, "[{id: ami-1}, {name: 'g-*'}, {tags: {u: a}}]", "1.1.0", select=("pending-image",))
    assert [finding.message for finding in found.findings] == [
        "`g-1` (ami-1) is pending: Karpenter 1.1.0 uses it",
        "`g-2` (ami-2) has failed: Karpenter 1.1.0 uses it",
    ]
