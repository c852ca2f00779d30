"""What Karpenter would ask AWS for a class, by release: the questions, and the rounds in which they are asked."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from nodelint.ec2.facts import AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.questions import (
    EVERYWHERE,
    alias_parameters,
    gather,
    placement_question,
    profile_question,
    questions,
    reservation_questions,
    role_question,
)
from nodelint.ec2.snapshot import Question, Region, Reply
from nodelint.karpenter.images import alias_version_behind
from nodelint.model.fact_kinds import FactKind
from nodelint.model.manifest import EC2NodeClass
from nodelint.model.manifest_terms import Alias
from nodelint.model.releases import NEWEST, KubernetesVersion, Version
from tests.karpenter.test_images import node_class, v

K133 = KubernetesVersion(1, 33)


def questions_of(
    spec: str, version: Version = NEWEST, kubernetes: KubernetesVersion | None = K133, api: str = "v1"
) -> list[Question]:
    """What is asked of a region at first, when nothing is known."""
    found = list(questions([node_class(spec, api)], version, kubernetes, AwsFacts(region=Region("r", None, {}))))
    assert tuple(found[:2]) == EVERYWHERE
    return found[2:]


def q(kind: FactKind, *owners: str, **filters: str) -> Question:
    return Question.make(kind, *((name.replace("_", "-"), value) for name, value in filters.items()), owners=owners)


def test_terms_of_images() -> None:
    terms = (
        "[{id: ami-1, name: not-asked}, {name: golden-*}, {name: theirs, owner: '123456789012'},"
        " {tags: {a: b, c: '*'}}, {tags: {a: b}, owner: self}]"
    )
    assert questions_of(f"{{amiFamily: AL2, amiSelectorTerms: {terms}}}") == [
        q("images", image_id="ami-1"),
        q("images", "self", "amazon", name="golden-*"),
        q("images", "123456789012", name="theirs"),
        Question.make("images", ("tag:a", "b"), ("tag-key", "c")),
        Question.make("images", ("tag:a", "b"), owners=["self"]),
    ]


@pytest.mark.parametrize(
    "term",
    [
        "{id: '${AMI}'}",
        "{name: '${N}'}",
        "{tags: {a: '${V}'}}",
        "{name: n, owner: '${O}'}",
        "{tags: {}}",
        "{owner: amazon}",
    ],
)
def test_placeholders_and_terms_without_filter_ask_nothing(term: str) -> None:
    assert questions_of(f"{{amiFamily: AL2, amiSelectorTerms: [{term}]}}") == []


def test_custom_parameters_are_asked_from_the_release_on_that_takes_them() -> None:
    spec = "{amiFamily: AL2, amiSelectorTerms: [{ssmParameter: /golden/amd64}]}"
    assert questions_of(spec, v("1.4.0")) == [q("parameters", name="/golden/amd64")]
    assert questions_of(spec, v("1.3.0")) == []


RESERVATIONS = (
    "{capacityReservationSelectorTerms: [{id: cr-1}, {tags: {team: ml, x: '*'}, ownerID: '123456789012'},"
    " {instanceMatchCriteria: open}, {tags: {team: '${TEAM}'}}]}"
)


def test_capacity_reservations() -> None:
    found = reservation_questions(node_class(RESERVATIONS))
    tagged = Question.make(
        "capacity-reservations", ("tag:team", "ml"), ("tag-key", "x"), ("owner-id", "123456789012")
    )
    by_id = q("capacity-reservations", capacity_reservation_id="cr-1")
    by_match = q("capacity-reservations", instance_match_criteria="open")
    assert [item.question for item in found] == [by_id, tagged, by_match, None]
    assert found[1].node.text.startswith("{tags: {team: ml")
    assert questions_of(RESERVATIONS) == [by_id, tagged, by_match]
    assert questions_of(RESERVATIONS, v("1.7.6")) == [by_id, tagged]
    assert questions_of(RESERVATIONS, v("1.2.8")) == []


def test_placement_group_profile_and_role() -> None:
    named = node_class("{placementGroupSelector: {name: hpc}, instanceProfile: nodes}")
    found = placement_question(named), profile_question(named)
    assert [item and (item.node.text, item.question) for item in found] == [
        ("hpc", q("placement-groups", group_name="hpc")),
        ("nodes", q("instance-profiles", name="nodes")),
    ]
    assert role_question(named) is None
    spec = "{placementGroupSelector: {id: pg-1}, role: KarpenterNodeRole}"
    group, role = q("placement-groups", group_id="pg-1"), q("roles", name="KarpenterNodeRole")
    assert questions_of(spec, v("1.11.0")) == [group, role]
    assert questions_of(spec, v("1.10.2")) == [role]
    unknown = role_question(node_class("{role: 'Karpenter-${CLUSTER}'}"))
    assert unknown is not None
    assert unknown.question is None


EKS = "/aws/service/eks/optimized-ami/1.33"


@pytest.mark.parametrize(
    ("alias", "version", "paths"),
    [
        (
            "al2@v20240807",
            "1.0.0",
            [
                "amazon-linux-2/amazon-eks-node-1.30-v20240807",
                "amazon-linux-2-arm64/amazon-eks-arm64-node-1.30-v20240807",
                "amazon-linux-2-gpu/amazon-eks-gpu-node-1.30-v20240807",
            ],
        ),
        (
            "al2023@latest",
            "1.4.0",
            [
                "amazon-linux-2023/x86_64/standard/recommended",
                "amazon-linux-2023/x86_64/nvidia/recommended",
                "amazon-linux-2023/x86_64/neuron/recommended",
                "amazon-linux-2023/arm64/standard/recommended",
                "amazon-linux-2023/arm64/nvidia/recommended",
            ],
        ),
        (
            "al2023@v20250807",
            "1.3.0",
            [
                "amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.30-v20250807",
                "amazon-linux-2023/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.30-v20250807",
                "amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.30-v20250807",
                "amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.30-v20250807",
            ],
        ),
    ],
)
def test_parameters_of_eks_aliases(alias: str, version: str, paths: list[str]) -> None:
    family, _, wanted = alias.partition("@")
    found = alias_parameters(Alias(family, wanted), v(version), KubernetesVersion(1, 30))
    assert [row.parameter for row in found] == [f"/aws/service/eks/optimized-ami/1.30/{p}/image_id" for p in paths]


@pytest.mark.parametrize(
    ("written", "part"), [("latest", "latest"), ("v1.46.0", "1.46.0"), ("1.32.0-cacc4ce9", "1.32.0-cacc4ce9")]
)
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "1.2.2", "1.14.1"])
def test_parameters_of_bottlerocket_have_no_v(version: str, written: str, part: str) -> None:
    found = alias_parameters(Alias("bottlerocket", written), v(version), K133)
    assert [row.parameter for row in found] == [
        f"/aws/service/bottlerocket/aws-k8s-1.33{kind}/{arch}/{part}/image_id"
        for kind in ("", "-nvidia")
        for arch in ("x86_64", "arm64")
    ]


def test_parameters_of_windows() -> None:
    (found,) = alias_parameters(Alias("windows2022", "latest"), NEWEST, K133)
    expected = "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.33/image_id"
    assert found.parameter == expected


@pytest.mark.parametrize(
    ("alias", "version", "kubernetes"),
    [
        (Alias("al2", "latest"), NEWEST, K133),
        (Alias("windows2025", "latest"), NEWEST, K133),
        (Alias("windows2025", "latest"), Version(1, 8, 0), KubernetesVersion(1, 35)),
        (Alias("al2023", "1.33-x; DROP"), NEWEST, K133),
        (Alias("ubuntu", "latest"), NEWEST, K133),
    ],
)
def test_what_is_no_alias_asks_nothing(alias: Alias, version: Version, kubernetes: KubernetesVersion) -> None:
    assert alias_parameters(alias, version, kubernetes) == []


def test_an_alias_is_asked_at_its_version_and_at_latest() -> None:
    found = questions_of("{amiSelectorTerms: [{alias: bottlerocket@v1.46.0}]}")
    names = [item.value("name") or "" for item in found]
    assert {item.kind for item in found} == {"parameters"}
    assert len(names) == 8
    assert [("/1.46.0/" in name, "/latest/" in name) for name in names] == [(True, False)] * 4 + [(False, True)] * 4


def test_without_a_kubernetes_version_no_alias_is_asked() -> None:
    assert questions_of("{amiSelectorTerms: [{alias: al2023@latest}]}", kubernetes=None) == []


def test_a_placeholder_as_alias_version_asks_nothing() -> None:
    assert questions_of("{amiSelectorTerms: [{alias: 'al2023@${VERSION}'}]}") == []


def test_a_v1beta1_class_without_terms_asks_as_its_alias_at_latest() -> None:
    implied = questions_of("{amiFamily: AL2023}", v("1.0.0"), api="v1beta1")
    assert implied == questions_of("{amiSelectorTerms: [{alias: al2023@latest}]}", v("1.0.0"))
    assert implied
    assert questions_of("{amiFamily: AL2023}", v("1.0.0")) == []


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("amazon-eks-node-1.30-v20240807", "v20240807"),
        ("amazon-eks-arm64-node-1.30-v20240807", "v20240807"),
        ("amazon-eks-gpu-node-1.30-v20240807", "v20240807"),
        ("amazon-eks-node-al2023-x86_64-standard-1.33-v20250807", "v20250807"),
        ("amazon-eks-node-al2023-arm64-nvidia-1.33-v20250807", "v20250807"),
        ("bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a", "v1.46.0"),
        ("bottlerocket-aws-k8s-1.33-nvidia-aarch64-v1.46.0-431fe75a", "v1.46.0"),
        ("bottlerocket-aws-k8s-1.33-fips-x86_64-v1.46.0-431fe75a", None),
        ("Windows_Server-2022-English-Core-EKS_Optimized-1.33-2025.08.15", None),
        ("golden-v20250807", None),
    ],
)
def test_version_behind_a_published_name(name: str, version: str | None) -> None:
    assert alias_version_behind(name) == version


NAME = "amazon-eks-node-al2023-x86_64-standard-1.33"
FOLDER = f"{EKS}/amazon-linux-2023/x86_64/standard"
ACCOUNT = FakeAccount(
    f"""
    images:
      - {{id: ami-old, name: {NAME}-v20250101, owner: amazon, created: 2025-01-01}}
      - {{id: ami-new, name: {NAME}-v20250807, owner: amazon, created: 2025-08-07}}
      - {{id: ami-own, name: golden, created: 2025-08-07}}
    parameters:
      {FOLDER}/recommended/image_id: ami-new
      {FOLDER}/{NAME}-v20250807/image_id: ami-new
      {FOLDER}/{NAME}-v20250101/image_id: ami-old
      /golden/amd64: ami-own
      /golden/broken: none
    """
)


def run(*classes: EC2NodeClass) -> tuple[Reply, list[Sequence[Question]]]:
    rounds: list[Sequence[Question]] = []

    def ask(new: Sequence[Question]) -> Reply:
        rounds.append(new)
        return ACCOUNT.ask(new)

    return gather(ask, "us-east-1", classes, NEWEST, K133), rounds


def test_rounds_go_from_parameters_to_images_to_the_version_behind_latest() -> None:
    terms = "[{ssmParameter: /golden/amd64}, {ssmParameter: /golden/broken}]"
    latest = node_class("{amiSelectorTerms: [{alias: al2023@latest}]}")
    reply, rounds = run(latest, node_class(f"{{amiFamily: AL2, amiSelectorTerms: {terms}}}"), latest)
    every = [question for value in rounds for question in value]
    assert len(every) == len(set(every))
    assert [len(value) for value in rounds] == [2 + 5 + 2, 2, 5]
    assert set(rounds[1]) == {q("images", image_id="ami-new"), q("images", image_id="ami-own")}
    assert q("parameters", name=f"{FOLDER}/{NAME}-v20250807/image_id") in rounds[2]
    assert set(reply.region.images) == {"ami-new", "ami-own"}


def test_a_class_that_is_pinned_later_is_judged_from_the_same_snapshot() -> None:
    reply, _ = run(node_class("{amiSelectorTerms: [{alias: al2023@latest}]}"))
    pinned = node_class("{amiSelectorTerms: [{alias: al2023@v20250807}]}")
    wanted = set(questions([pinned], NEWEST, K133, AwsFacts(region=reply.region)))
    assert wanted <= set(reply.region.answers)


def test_what_is_known_is_not_asked_again() -> None:
    first = node_class("{amiSelectorTerms: [{alias: al2023@v20250101}]}")
    reply, _ = run(first)
    again = gather(lambda _: pytest.fail("asked again"), "us-east-1", [first], NEWEST, K133, reply.region)
    assert again.region == reply.region
