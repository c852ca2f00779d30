"""Which images a class has by the facts of an account: those that the controller of each release takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.ec2.facts import AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import Answer, MachineImage, Question, Region
from nodelint.karpenter.images import ImageSet, images_of, is_deprecated
from nodelint.lint.engine import LintRequest, Report, Target, lint
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.releases import NEWEST, KubernetesVersion, Version
from nodelint.rule.definition import Rule
from nodelint.text import Source
from tests.karpenter.test_images import node_class, v

K133 = KubernetesVersion(1, 33)
GOLDEN = "{amiFamily: AL2023, amiSelectorTerms: [{tags: {pipeline: golden}}]}"


def judge(
    account: str, spec: str, version: str = "1.14.1", kubernetes: KubernetesVersion | None = K133, api: str = "v1"
) -> ImageSet:
    """The images of a class in an account, asked and judged for one release."""
    judged = node_class(spec, api)
    facts = FakeAccount(account).facts([judged], v(version), kubernetes)
    return images_of(judged, v(version), kubernetes, facts)


def ids(images: ImageSet) -> list[str | None]:
    return [image.found.id if image.found else None for image in images.images]


def reasons(images: ImageSet) -> dict[str, tuple[str, str | None]]:
    """Why each image is passed over, and for which other."""
    passed = [value for term in images.terms for value in term.passed]
    return {item.image.id: (item.why, item.by.id if item.by else None) for item in passed}


PIPELINE = """
images:
  - {id: ami-3, name: golden-3, created: 2026-11-03, tags: &tags {pipeline: golden}}
  - {id: ami-2, name: golden-2, created: 2026-11-02, tags: *tags}
  - {id: ami-4, name: golden-4, created: 2026-11-04, state: pending, tags: *tags}
  - {id: ami-5, name: golden-5, created: 2026-11-05, state: failed, tags: *tags}
  - {id: ami-6, name: golden-6, created: 2026-11-06, state: disabled, tags: *tags}
  - {id: ami-7, name: golden-7, created: 2026-11-01, arch: i386, tags: *tags}
  - {id: ami-8, name: golden-8, created: 2026-10-01, arch: arm64, tags: *tags}
"""


@pytest.mark.parametrize("version", ["1.0.0", "1.0.7", "1.1.0", "1.2.1"])
def test_before_1_2_2_the_newest_image_is_taken_in_whatever_state(version: str) -> None:
    found = judge(PIPELINE, GOLDEN, version)
    assert ids(found) == ["ami-5", "ami-8"]
    assert reasons(found) == {
        "ami-6": ("state", None),
        "ami-4": ("older", "ami-5"),
        "ami-3": ("older", "ami-5"),
        "ami-2": ("older", "ami-5"),
        "ami-7": ("architecture", None),
    }


@pytest.mark.parametrize("version", ["1.2.2", "1.2.8", "1.3.0", "1.4.0", "1.14.1"])
def test_from_1_2_2_on_only_available_images_are_taken(version: str) -> None:
    found = judge(PIPELINE, GOLDEN, version)
    assert ids(found) == ["ami-3", "ami-8"]
    assert {image: why for image, (why, _) in reasons(found).items()} == {
        "ami-6": "state",
        "ami-5": "state",
        "ami-4": "state",
        "ami-2": "older",
        "ami-7": "architecture",
    }
    assert found.complete
    (term,) = found.terms
    assert [image.id for image in term.images] == ["ami-6", "ami-5", "ami-4", "ami-3", "ami-2", "ami-7", "ami-8"]
    assert (term.total, [image.id for image in term.used]) == (7, ["ami-3", "ami-8"])
    assert term.node.text == "{pipeline: golden}"


DEPRECATED = """
now: 2026-11-20T12:00:00Z
images:
  - {id: ami-own, name: golden-2, created: 2026-11-02, deprecated: "2026-11-20T12:00:00Z"}
  - {id: ami-old, name: golden-1, created: 2026-11-01}
  - {id: ami-coming, name: silver-1, created: 2026-10-01, arch: arm64, deprecated: "2026-11-20T12:00:01Z"}
  - {id: ami-theirs, name: theirs-2, created: 2026-11-02, owner: amazon, deprecated: 2026-11-03}
"""


@pytest.mark.parametrize(
    ("version", "taken"), [("1.0.0", "ami-own"), ("1.0.7", "ami-own"), ("1.1.0", "ami-old"), ("1.14.1", "ami-old")]
)
def test_a_deprecated_image_of_ones_own_is_found_always_and_ranked_last_since_1_1_0(version: str, taken: str) -> None:
    found = judge(DEPRECATED, "{amiFamily: AL2023, amiSelectorTerms: [{name: '*-*', owner: self}]}", version)
    assert ids(found) == [taken, "ami-coming"]
    passed = {"ami-own": ("deprecated", "ami-old")} if taken == "ami-old" else {"ami-old": ("older", "ami-own")}
    assert reasons(found) == passed


@pytest.mark.parametrize(("version", "found"), [("1.0.0", []), ("1.0.14", []), ("1.1.0", ["ami-theirs"])])
def test_a_deprecated_image_of_another_is_found_since_1_1_0(version: str, found: list[str]) -> None:
    images = judge(DEPRECATED, "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-theirs}]}", version)
    assert ids(images) == found
    assert reasons(images) == ({} if found else {"ami-theirs": ("deprecated", None)})
    assert images.complete


def test_deprecation_is_judged_at_the_time_of_the_run() -> None:
    image = MachineImage(
        "ami-1", "a", "amd64", "available", "2026-01-01T00:00:00Z", "self", "2026-06-01T00:00:00.000Z"
    )
    day = datetime(2026, 6, 1, tzinfo=UTC)
    assert [is_deprecated(image, day + timedelta(seconds=n)) for n in (-1, 0, 1)] == [False, True, True]
    assert not is_deprecated(image, None)
    assert not is_deprecated(image._replace(deprecated=None), day)


def test_of_two_terms_that_find_one_architecture_only_the_newest_image_stays() -> None:
    account = """
    images:
      - {id: ami-1, name: one, created: 2026-11-01}
      - {id: ami-2, name: two, created: 2026-11-02}
    """
    found = judge(account, "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}, {name: two}]}")
    assert ids(found) == ["ami-2"]
    assert found.images[0].name == "two"
    assert [[image.id for image in term.used] for term in found.terms] == [[], ["ami-2"]]
    assert reasons(found) == {"ami-1": ("older", "ami-2")}
    assert found.notes == ()


def test_images_of_one_day_are_told_apart_by_name_and_tried_by_id() -> None:
    account = """
    images:
      - {id: ami-b, name: a}
      - {id: ami-c, name: b}
      - {id: ami-a, name: c, arch: arm64}
    """
    terms = "[{id: ami-b}, {id: ami-c}, {id: ami-a}]"
    assert ids(judge(account, f"{{amiFamily: AL2023, amiSelectorTerms: {terms}}}")) == ["ami-a", "ami-c"]


def test_a_term_that_finds_nothing_is_known_to() -> None:
    found = judge("images: []", GOLDEN)
    assert (found.images, found.unknown, found.complete) == ((), (), True)
    assert [(term.images, term.total, term.missing) for term in found.terms] == [((), 0, None)]


def test_what_the_account_says_wins_over_what_a_name_tells() -> None:
    account = "images: [{id: ami-1, name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250807, owner: amazon}]"
    spec = "{amiFamily: AL2023, amiSelectorTerms: [{name: 'amazon-eks-node-al2023-*'}]}"
    assert {image.arch for image in judge("{}", spec).images} == {"amd64", "arm64"}
    (image,) = judge(account, spec).images
    assert (image.arch, image.variants, image.family) == ("amd64", ("standard",), "al2023")


def test_only_amazons_own_names_tell_for_whom_an_image_is() -> None:
    account = "images: [{id: ami-1, name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250807, owner: self}]"
    (image,) = judge(account, "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}]}").images
    assert (image.arch, image.variants, image.family) == ("amd64", (), None)


# Facts that are missing


def test_without_facts_an_id_stays_unknown_and_says_what_is_missing() -> None:
    found = images_of(node_class("{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}]}"), NEWEST)
    (unknown,) = found.unknown
    assert unknown.reason == "`ami-1` does not show its architecture"
    assert unknown.fact == "images"
    skip = unknown.skip("whether: ")
    assert (skip.reason, skip.transient, skip.fact) == (f"whether: {unknown.reason}", False, "images")


def test_a_refused_answer_leaves_its_term_unknown_and_says_so() -> None:
    account = """
    images: [{id: ami-1, name: a}]
    denied: [parameters]
    """
    spec = "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}, {ssmParameter: /golden}]}"
    found = judge(account, spec)
    assert [(image.label, image.arch) for image in found.images] == [("ami-1", "amd64"), ("/golden", None)]
    (unknown,) = found.unknown
    assert unknown.reason == "AWS was asked about SSM parameters: UnauthorizedOperation"
    assert unknown.skip().fact == "parameters"
    assert [term.missing is None for term in found.terms] == [True, False]


def test_an_answer_that_is_too_old_is_missing_for_now() -> None:
    question = Question.make("images", ("image-id", "ami-1"))
    image = MachineImage("ami-1", "a", "amd64", "available", "2026-01-01T00:00:00Z", "self")
    region = Region("r", None, {question: Answer("2026-11-20T12:00:00Z", ("ami-1",), 1)}, {"ami-1": image})
    judged = node_class("{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}]}")
    limits = {"images": timedelta(minutes=5)}
    found = []
    for minutes in (5, 6):
        now = datetime(2026, 11, 20, 12, minutes, tzinfo=UTC)
        facts = AwsFacts(region=region, now=now, limits=limits)  # type: ignore[arg-type]
        found.append(images_of(judged, NEWEST, K133, facts))
    assert [images.complete for images in found] == [True, False]
    assert found[1].unknown[0].skip().transient


def test_a_placeholder_beside_a_name_is_not_looked_up() -> None:
    terms = "[{name: golden, tags: {a: '${A}'}}, {name: amazon-eks-arm64-node-1.30-v20240807, owner: '${OWNER}'}]"
    found = judge("images: []", f"{{amiFamily: AL2, amiSelectorTerms: {terms}}}")
    assert [(image.label, image.arch) for image in found.images] == [
        ("golden", None),
        ("amazon-eks-arm64-node-1.30-v20240807", "arm64"),
    ]
    assert [unknown.fact for unknown in found.unknown] == [None]
    assert found.terms == ()


# Parameters


@pytest.mark.parametrize(
    ("value", "expected"), [("ami-1", ["ami-1"]), ("ami-gone", []), ("not-an-image", []), (None, [])]
)
def test_custom_parameters(value: str | None, expected: list[str]) -> None:
    parameters = "{}" if value is None else f"{{/golden: {value}}}"
    account = f"images: [{{id: ami-1, name: a, arch: arm64}}]\nparameters: {parameters}"
    found = judge(account, "{amiFamily: AL2023, amiSelectorTerms: [{ssmParameter: /golden}]}")
    assert ids(found) == expected
    assert found.complete
    assert found.terms[0].parameters == (("/golden", value),)


# Aliases

FOLDER = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023"
KINDS = ("x86_64/standard", "x86_64/nvidia", "x86_64/neuron", "arm64/standard", "arm64/nvidia")


def eks(*, deprecated: bool = False, denied: str = "") -> str:
    """An account in which al2023 has images of two days: all kinds on the later, arm64/nvidia not on the earlier."""
    images, parameters = [], []
    for day, kinds in (("20250101", KINDS[:4]), ("20250807", KINDS)):
        for n, kind in enumerate(kinds):
            arch, variant = kind.split("/")
            name = f"amazon-eks-node-al2023-{arch}-{variant}-1.33-v{day}"
            id = f"ami-{day[4:]}{n}"
            created = f"{day[:4]}-{day[4:6]}-{day[6:]}"
            fields = f"id: {id}, name: {name}, owner: amazon, created: {created}"
            fields += f", arch: {'amd64' if arch == 'x86_64' else arch}"
            images.append(f"  - {{{fields}{', deprecated: 2026-01-01' if deprecated else ''}}}")
            which = ["recommended"] if day == "20250807" else []
            parameters += [f"  {FOLDER}/{kind}/{value}/image_id: {id}" for value in [*which, name]]
    return "\n".join(["images:", *images, "parameters:", *parameters, f"denied: [{denied}]"])


def al2023(version: str) -> str:
    return f"{{amiSelectorTerms: [{{alias: al2023@{version}}}]}}"


@pytest.mark.parametrize(("version", "expected"), [("1.3.0", 4), ("1.4.0", 5), ("1.14.1", 5)])
def test_an_alias_at_latest(version: str, expected: int) -> None:
    found = judge(eks(), al2023("latest"), version)
    assert ids(found) == [f"ami-0807{n}" for n in range(expected)]
    shapes = {(image.arch, image.variants) for image in found.images}
    assert (("arm64", ("nvidia",)) in shapes) == (expected == 5)
    assert found.images[1].choices == images_of(node_class(al2023("latest")), v(version)).images[1].choices
    assert (found.problems, found.unknown) == ((), ())


def test_an_image_without_parameter_is_one_that_the_alias_lacks() -> None:
    found = judge(eks(), al2023("v20250101"))
    assert [(image.arch, image.variants) for image in found.images] == [
        ("amd64", ("standard",)),
        ("amd64", ("nvidia",)),
        ("amd64", ("neuron",)),
        ("arm64", ("standard",)),
    ]
    assert found.complete
    assert found.problems == ()


def test_without_facts_a_version_lacks_what_was_published_later() -> None:
    found = images_of(node_class(al2023("v20250101")), NEWEST, K133)
    assert [(image.arch, image.variants) for image in found.images] == [
        ("amd64", ("standard",)),
        ("amd64", ("nvidia",)),
        ("amd64", ("neuron",)),
        ("arm64", ("standard",)),
    ]


def test_an_alias_version_that_is_not_published() -> None:
    found = judge(eks(), al2023("v20250606"))
    assert found.images == ()
    (problem,) = found.problems
    assert (problem.kind, problem.active) == ("unpublished", True)
    assert problem.message == "`al2023@v20250606` has no image on Kubernetes 1.33"


@pytest.mark.parametrize(
    ("version", "alias", "count"),
    [
        ("1.0.0", "latest", 0),
        ("1.0.6", "latest", 0),
        ("1.0.7", "latest", 4),
        ("1.0.7", "v20250807", 0),
        ("1.1.0", "v20250807", 4),
        ("1.14.1", "v20250807", 5),
    ],
)
def test_deprecated_images_of_an_alias(version: str, alias: str, count: int) -> None:
    found = judge(eks(deprecated=True), al2023(alias), version)
    assert len(found.images) == count
    assert {why for why, _ in reasons(found).values()} == (set() if count else {"deprecated"})
    assert found.problems == ()


@pytest.mark.parametrize("denied", ["parameters", "images"])
def test_a_refused_answer_leaves_an_alias_as_it_is_published(denied: str) -> None:
    offline = images_of(node_class(al2023("latest")), NEWEST, K133)
    found = judge(eks(denied=denied), al2023("latest"))
    assert [(i.arch, i.variants, i.found) for i in found.images] == [
        (i.arch, i.variants, None) for i in offline.images
    ]
    assert found.complete
    missing = found.terms[0].missing
    assert missing is not None
    assert missing.kind == denied


def test_without_a_kubernetes_version_an_alias_stays_as_it_is_published() -> None:
    found = judge(eks(), al2023("latest"), kubernetes=None)
    assert ids(found) == [None] * 5
    missing = found.terms[0].missing
    assert missing is not None
    assert (missing.kind, missing.transient) == ("parameters", False)
    assert "--kubernetes-version" in missing.reason


def test_a_v1beta1_class_without_terms_has_the_images_of_its_alias() -> None:
    found = judge(eks(), "{amiFamily: AL2023}", "1.0.0", api="v1beta1")
    assert ids(found) == [f"ami-0807{n}" for n in range(4)]
    assert found.terms[0].term is None


@pytest.mark.parametrize(
    ("version", "amd64", "arm64"),
    [
        ("1.0.0", [("standard",), ("nvidia", "neuron")], [("standard",), ("nvidia", "neuron")]),
        ("1.1.0", [("standard",), ("nvidia",)], [("standard",), ("nvidia",)]),
        ("1.2.2", [("standard", "neuron"), ("nvidia",)], [("standard",), ("nvidia",)]),
    ],
)
def test_variants_of_bottlerocket(version: str, amd64: list[tuple[str, ...]], arm64: list[tuple[str, ...]]) -> None:
    kinds = [(kind, arch) for arch in ("x86_64", "arm64") for kind in ("", "-nvidia")]
    names = {"x86_64": "amd64", "arm64": "arm64"}
    images = [f"  - {{id: ami-{n}, name: b{n}, arch: {names[arch]}}}" for n, (_, arch) in enumerate(kinds)]
    parameters = [
        f"  /aws/service/bottlerocket/aws-k8s-1.33{kind}/{arch}/latest/image_id: ami-{n}"
        for n, (kind, arch) in enumerate(kinds)
    ]
    account = "\n".join(["images:", *images, "parameters:", *parameters])
    found = judge(account, "{amiSelectorTerms: [{alias: bottlerocket@latest}]}", version)
    assert ids(found) == ["ami-0", "ami-1", "ami-2", "ami-3"]
    assert [image.variants for image in found.images] == [*amd64, *arm64]
    assert all(len(image.choices) == len(image.variants) for image in found.images)


# The controller's loop, written again as its source has it


def restated(images: list[MachineImage], version: Version, now: datetime) -> list[str]:
    """What amis() and Sort() of the AMI provider leave of images that one query finds, one after the other."""
    remaining: dict[str, MachineImage] = {}

    def time(image: MachineImage) -> int:
        return int(datetime.fromisoformat(image.created).timestamp())

    def old(image: MachineImage) -> bool:
        return image.deprecated is not None and int(datetime.fromisoformat(image.deprecated).timestamp()) <= int(
            now.timestamp()
        )

    for image in images:
        if image.state == "disabled" or (image.state != "available" and version >= (1, 2, 2)):
            continue
        if old(image) and image.owner != "self" and version < (1, 1, 0):
            continue
        if image.arch not in ("amd64", "arm64"):
            continue
        existing = remaining.get(image.arch)
        if existing is not None and version < (1, 1, 0):
            if time(existing) == time(image) and image.name < existing.name:
                continue
            if time(image) < time(existing):
                continue
        elif existing is not None:
            if old(existing) != old(image):
                better = old(existing)
            elif time(existing) != time(image):
                better = time(image) > time(existing)
            else:
                better = image.name > existing.name
            if not better:
                continue
        remaining[image.arch] = image
    return [image.id for image in sorted(remaining.values(), key=lambda value: (-time(value), value.id))]


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TIMES = ["2026-11-18T00:00:00.000Z", "2026-11-19T00:00:00Z", "2026-11-20T12:00:00.000Z", "2026-11-21T00:00:00Z"]
IMAGES = st.lists(
    st.builds(
        MachineImage,
        id=st.just(""),
        name=st.just(""),
        arch=st.sampled_from(["amd64", "arm64", "i386"]),
        state=st.sampled_from(["available", "available", "pending", "failed", "disabled", "deregistered"]),
        created=st.sampled_from(TIMES),
        owner=st.sampled_from(["self", "amazon", "123456789012"]),
        deprecated=st.none() | st.sampled_from(TIMES),
    ),
    max_size=8,
)


@given(
    images=IMAGES,
    found_by=st.lists(st.sampled_from([(1,), (2,), (1, 2)]), min_size=8, max_size=8),
    order=st.permutations(range(8)),
    version=st.sampled_from(["1.0.0", "1.0.7", "1.1.0", "1.2.1", "1.2.2", "1.3.0", "1.4.0", "1.14.1"]),
)
def test_the_images_are_those_of_the_controllers_loop(
    images: list[MachineImage], found_by: list[tuple[int, ...]], order: list[int], version: str
) -> None:
    # Names are unlike, for of two with the same time and name the controller keeps what EC2 tells first.
    every = [image._replace(id=f"ami-{n}", name=f"n{order[n]}") for n, image in enumerate(images)]
    lists = {n: [image for image, by in zip(every, found_by, strict=False) if n in by] for n in (1, 2)}
    answers = {
        Question.make("images", ("tag:part", str(n))): Answer(
            "2026-11-20T12:00:00Z", tuple(i.id for i in part), len(part)
        )
        for n, part in lists.items()
    }
    facts = AwsFacts(region=Region("r", None, answers, {image.id: image for image in every}), now=NOW)
    terms = "[{tags: {part: '1'}}, {tags: {part: '2'}}]"
    found = images_of(node_class(f"{{amiFamily: AL2023, amiSelectorTerms: {terms}}}"), v(version), None, facts)
    assert ids(found) == restated([*lists[1], *lists[2]], v(version), NOW)
    for term, part in zip(found.terms, lists.values(), strict=True):
        used, passed = {image.id for image in term.used}, {item.image.id for item in term.passed}
        assert used == {image.id for image in part} & set(ids(found))
        assert used | passed == {image.id for image in part}
        assert not used & passed


# The rules on it

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [%s]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: a}
spec: %s
"""


def report(rules: dict[str, Rule], name: str, account: str, families: str, spec: str) -> Report:
    source = Source.from_text("a.yaml", POOL % (families, spec))
    classes = [obj for obj in objects(source) if isinstance(obj, EC2NodeClass)]
    facts = FakeAccount(account).facts(classes, NEWEST, K133)
    return lint([source], LintRequest(Target(NEWEST, K133, facts=facts), {name: rules[name]}))


OWN = """
images: [{id: ami-1, name: golden-1, tags: {pipeline: golden}}]
parameters: {/golden: ami-1}
"""


@pytest.mark.parametrize(
    "term", ["{id: ami-1}", "{name: golden-*}", "{tags: {pipeline: golden}}", "{ssmParameter: /golden}"]
)
def test_an_architecture_without_image_is_told_however_the_image_is_chosen(rules: dict[str, Rule], term: str) -> None:
    spec = f"{{amiFamily: AL2023, amiSelectorTerms: [{term}]}}"
    found = report(rules, "image-arch-mismatch", OWN, "m5, m6g", spec)
    (result,) = found.results
    assert "`arm64` image" in result.finding.message
    assert "amd64 only" in result.finding.also[0].message
    assert result.finding.edits
    assert not report(rules, "image-arch-mismatch", OWN, "m5, m6i", spec).results


def test_an_architecture_is_not_judged_where_the_answer_was_refused(rules: dict[str, Rule]) -> None:
    spec = "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}]}"
    found = report(rules, "image-arch-mismatch", "denied: [images]", "m5, m6g", spec)
    assert not found.results
    (skipped,) = found.skipped
    assert skipped.reason.startswith("AWS was asked about images: UnauthorizedOperation")
    assert (skipped.transient, skipped.fact) == (False, "images")


@pytest.mark.parametrize(("owner", "count"), [("amazon", 1), ("self", 0)])
def test_a_standard_image_for_gpus_is_told_by_its_published_name(
    rules: dict[str, Rule], owner: str, count: int
) -> None:
    name = "amazon-eks-node-al2023-arm64-standard-1.33-v20250807"
    account = f"images: [{{id: ami-1, name: {name}, arch: arm64, owner: {owner}}}]"
    found = report(rules, "gpu-image-gap", account, "g5g", "{amiFamily: AL2023, amiSelectorTerms: [{id: ami-1}]}")
    assert len(found.results) == count
    assert all(name in result.finding.also[0].message for result in found.results)


def test_a_version_that_is_not_published_is_told_once(rules: dict[str, Rule]) -> None:
    (result,) = report(rules, "unsupported-alias", eks(), "m5", al2023("v20250606")).results
    assert result.finding.message == "`al2023@v20250606` has no image on Kubernetes 1.33"
    assert [edit.text for edit in result.finding.edits] == ["al2023@v20250807"]
    assert not report(rules, "unsupported-alias", eks(), "m5", al2023("v20250807")).results
