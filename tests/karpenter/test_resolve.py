"""What a NodePool can launch, with which image, and what removed the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.type_set import NONE, TypeSet
from nodelint.karpenter.resolve import Resolution, resolve
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import NEWEST, RELEASES, KubernetesVersion, Version
from nodelint.model.requirement import Requirement, Requirements
from nodelint.text import Source

CATALOG = Catalog.bundled()
K = "karpenter.k8s.aws/"
ARCH, FAMILY, GPU = "kubernetes.io/arch", K + "instance-family", K + "instance-gpu-count"
ACCELERATOR = K + "instance-accelerator-count"
CAPACITY, ZONE = "karpenter.sh/capacity-type", "topology.kubernetes.io/zone"


def line(key: str, operator: str, *values: str, least: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"key": key, "operator": operator}
    if values:
        found["values"] = list(values)
    if least is not None:
        found["minValues"] = least
    return found


def run(
    *lines: dict[str, Any],
    alias: str = "al2023@latest",
    spec: dict[str, Any] | None = None,
    labels: dict[str, str] | None = None,
    version: str = str(NEWEST),
    kubernetes: str | None = None,
    with_class: bool = True,
    partial: bool = False,
    facts: str | AwsFacts = NOTHING,
    pool: dict[str, Any] | None = None,
) -> Resolution:
    """Resolve a pool of these requirement lines with a class of this alias (or of this spec).

    `pool` is what else stands in the pool's spec. `facts` are known of AWS, or the text of an imagined account.
    """
    written = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "web"},
        "spec": {
            **(pool or {}),
            "template": {
                "metadata": {"labels": labels or {}},
                "spec": {"requirements": list(lines), "nodeClassRef": {"name": "web"}},
            },
        },
    }
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "web"},
        "spec": spec if spec is not None else {"amiSelectorTerms": [{"alias": alias}]},
    }
    text = f"{json.dumps(written, indent=1)}\n---\n{json.dumps(node_class, indent=1)}\n"
    source = Source.from_text("pool.yaml", text)
    assert not source.problems
    found, its_class = objects(source)
    assert isinstance(found, NodePool)
    assert isinstance(its_class, EC2NodeClass)
    found.partial = partial
    wanted = KubernetesVersion.parse(kubernetes) if kubernetes else None
    release = Version.parse(version)
    if isinstance(facts, str):
        facts = FakeAccount(facts).facts([its_class], release, wanted)
    return resolve(found, its_class if with_class else None, CATALOG, release, wanted, facts=facts)


def names(resolution: Resolution, types: TypeSet) -> list[str]:
    return resolution.catalog.names_in(types)


def image(resolution: Resolution, name: str) -> tuple[str | None, tuple[str, ...]] | None:
    index = resolution.image_of.get(name)
    if index is None:
        return None
    found = resolution.images.images[index]
    return found.arch, found.variants


# Images of instance types, by release


@pytest.mark.parametrize(
    ("alias", "version", "name", "expected"),
    [
        ("al2@latest", "1.14.1", "m5.large", ("amd64", ("standard",))),
        ("al2@latest", "1.14.1", "m6g.large", ("arm64", ("standard",))),
        ("al2@latest", "1.14.1", "g5.xlarge", ("amd64", ("nvidia", "neuron"))),
        ("al2@latest", "1.14.1", "inf2.xlarge", ("amd64", ("nvidia", "neuron"))),
        ("al2@latest", "1.14.1", "g5g.xlarge", None),
        ("al2023@latest", "1.3.8", "g5g.xlarge", None),
        ("al2023@latest", "1.4.0", "g5g.xlarge", ("arm64", ("nvidia",))),
        ("al2023@v20250301", "1.4.0", "g5g.xlarge", None),
        ("al2023@latest", "1.14.1", "g4ad.xlarge", ("amd64", ("nvidia",))),
        ("al2023@latest", "1.14.1", "g6f.large", ("amd64", ("nvidia",))),
        ("al2023@latest", "1.14.1", "dl2q.24xlarge", ("amd64", ("neuron",))),
        ("al2023@latest", "1.0.2", "g5.xlarge", ("amd64", ("neuron",))),
        ("al2023@latest", "1.0.3", "g5.xlarge", ("amd64", ("nvidia",))),
        ("al2023@latest", "1.10.2", "a1.large", ("arm64", ("standard",))),
        ("al2023@latest", "1.11.0", "a1.large", None),
        ("bottlerocket@latest", "1.0.14", "inf2.xlarge", ("amd64", ("nvidia", "neuron"))),
        ("bottlerocket@latest", "1.1.0", "inf2.xlarge", None),
        ("bottlerocket@latest", "1.2.1", "inf2.xlarge", None),
        ("bottlerocket@latest", "1.2.2", "inf2.xlarge", ("amd64", ("standard", "neuron"))),
        ("bottlerocket@latest", "1.14.1", "g5g.xlarge", ("arm64", ("nvidia",))),
        ("bottlerocket@latest", "1.14.1", "a1.large", ("arm64", ("standard",))),
        ("windows2022@latest", "1.14.1", "g5.xlarge", ("amd64", ("windows",))),
        ("windows2022@latest", "1.14.1", "m6g.large", None),
    ],
)
def test_image_of_a_type(alias: str, version: str, name: str, expected: tuple[str, tuple[str, ...]] | None) -> None:
    assert image(run(alias=alias, version=version), name) == expected


@pytest.mark.parametrize("alias", ["al2@latest", "al2023@latest", "bottlerocket@latest", "windows2022@latest"])
def test_every_type_is_accounted_for_once_in_every_release(alias: str) -> None:
    for release in RELEASES:
        found = run(alias=alias, version=str(release))
        parts = [*found.types_by_image, *(gap.types for gap in found.unlaunchable)]
        parts += [types for types, _ in found.class_removed]
        assert sum(len(part) for part in parts) == len(CATALOG), release
        union = NONE
        for part in parts:
            union |= part
        assert union == CATALOG.all_types
        assert found.complete


def test_gap_names_what_is_missing_and_where_it_is() -> None:
    (gap,) = run(alias="al2@latest").unlaunchable
    assert (gap.kind, gap.arch, gap.variant, gap.since) == ("variant", "arm64", "nvidia", None)
    assert gap.aliases == ("al2023", "bottlerocket")
    assert "`al2`" in gap.reason
    (gap,) = run(alias="al2023@latest", version="1.3.0").unlaunchable
    assert gap.since == Version(1, 4, 0)
    (gap,) = run(alias="bottlerocket@latest", version="1.1.0").unlaunchable
    assert (gap.arch, gap.variant, gap.since) == ("amd64", "neuron", Version(1, 2, 2))
    (gap,) = run(alias="windows2022@latest").unlaunchable
    assert (gap.kind, gap.arch, gap.aliases) == ("arch", "arm64", ())


def test_class_without_image_of_an_architecture() -> None:
    terms = [{"name": "amazon-eks-node-al2023-x86_64-standard-1.31-*"}]
    found = run(spec={"amiFamily": "AL2023", "amiSelectorTerms": terms})
    assert found.complete
    assert [(gap.kind, gap.arch) for gap in found.unlaunchable] == [("arch", "arm64")]
    assert image(found, "g5.xlarge") == ("amd64", ("standard",))
    assert found.launchable == CATALOG.values(ARCH)["amd64"]


def test_kubernetes_without_images() -> None:
    found = run(alias="al2@latest", kubernetes="1.33")
    assert not found.launchable
    assert found.candidates == CATALOG.all_types
    assert [gap.kind for gap in found.unlaunchable] == ["none"]
    assert "1.33" in found.unlaunchable[0].reason
    assert run(alias="al2@latest", kubernetes="1.32").launchable
    assert run(alias="al2@latest").launchable


def test_custom_family_makes_windows_types_linux() -> None:
    spec = {"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "windows2022@latest"}]}
    found = run(spec=spec)
    assert not found.launchable
    assert {gap.kind for gap in found.unlaunchable} == {"os", "arch"}


def test_os_is_what_the_class_makes_it() -> None:
    linux = line("kubernetes.io/os", "In", "linux")
    windows = line("kubernetes.io/os", "In", "windows")
    assert run(linux, alias="al2@latest").candidates == CATALOG.all_types
    assert not run(windows, alias="al2@latest").candidates
    assert not run(linux, alias="windows2022@latest").candidates
    found = run(windows, alias="windows2022@latest")
    assert found.candidates == CATALOG.values(ARCH)["amd64"] & found.alive
    build = line("node.kubernetes.io/windows-build", "In", "10.0.20348")
    assert run(build, alias="windows2022@latest").candidates == found.alive
    assert not run(build, alias="windows2019@latest").candidates


# Requirements


def test_funnel() -> None:
    found = run(
        line(FAMILY, "In", "m5", "m6g"),
        line(ARCH, "In", "arm64"),
        line(K + "instance-size", "NotIn", "metal"),
        alias="bottlerocket@latest",
    )
    m5 = len(CATALOG.values(FAMILY)["m5"])
    m6g = len(CATALOG.values(FAMILY)["m6g"])
    assert [line.removed for line in found.lines] == [len(CATALOG) - m5 - m6g, m5, 1]
    # Without the second line m5.metal would still be kept out.
    assert [line.removed_alone for line in found.lines][1:] == [m5 - 1, 1]
    assert len(found.candidates) == m6g - 1
    for item in found.lines:
        assert len(found.left_without(item)) - len(found.candidates) == item.removed_alone
    assert found.families(found.candidates) == ("m6g",)


def test_lines_of_one_key_are_folded() -> None:
    once = run(line(FAMILY, "In", "m5"), line(FAMILY, "NotIn", "m5"))
    # Nothing is left of the key, and every type has one.
    assert not once.candidates
    bounds = run(line(K + "instance-cpu", "Gt", "3"), line(K + "instance-cpu", "Lt", "5"))
    assert set(CATALOG.distinct(K + "instance-cpu", bounds.candidates)) == {"4"}


def test_contradicting_lines_leave_the_types_without_the_label() -> None:
    found = run(line(GPU, "In", "1"), line(GPU, "In", "2"), alias="bottlerocket@latest")
    assert found.candidates == CATALOG.all_types - CATALOG.having(GPU)
    assert found.lines[1].removed < 0


def test_labels_of_the_template_are_requirements() -> None:
    found = run(labels={ARCH: "arm64", "team": "web"}, alias="bottlerocket@latest")
    assert found.candidates == CATALOG.values(ARCH)["arm64"]
    assert [(line.key, line.operator, line.values, line.is_label) for line in found.lines] == [
        (ARCH, "In", ("arm64",), True),
        ("team", "In", ("web",), True),
    ]
    assert found.lines[1].removed == 0


def test_aliases_of_keys() -> None:
    assert run(line("beta.kubernetes.io/arch", "In", "arm64")).candidates == (
        run(line(ARCH, "In", "arm64")).candidates
    )


@pytest.mark.parametrize(
    ("requirement", "left"),
    [
        (line(ZONE, "In", "us-east-1a"), True),
        (line(ZONE, "NotIn", "us-east-1a"), True),
        (line(ZONE, "DoesNotExist"), False),
        (line(ZONE, "Gt", "1"), False),
        (line(CAPACITY, "In", "spot"), True),
        (line(CAPACITY, "In", "on_demand"), False),
        (line(CAPACITY, "In", "reserved"), False),
        (line(CAPACITY, "NotIn", "spot", "on-demand"), False),
        (line(K + "capacity-reservation-id", "In", "cr-1"), False),
        (line(K + "capacity-reservation-id", "DoesNotExist"), True),
        (line(K + "instance-tenancy", "In", "dedicated"), True),
        (line(K + "instance-tenancy", "In", "host"), False),
        (line("team", "In", "web"), True),
    ],
)
def test_what_offers_can_have(requirement: dict[str, Any], left: bool) -> None:
    found = run(requirement)
    assert bool(found.candidates) is left
    assert found.complete


def test_reserved_capacity_needs_a_class_that_selects_it() -> None:
    terms = {"amiSelectorTerms": [{"alias": "al2023@latest"}]}
    spec = {**terms, "capacityReservationSelectorTerms": [{"id": "cr-1"}]}
    assert run(line(CAPACITY, "In", "reserved"), spec=spec).capacity_types == ("reserved",)
    assert run(line(CAPACITY, "In", "reserved"), spec=spec).candidates
    assert not run(line(CAPACITY, "In", "reserved"), spec=spec, version="1.2.8").candidates
    assert run().capacity_types == ("on-demand", "spot")


def test_reserved_capacity_alone_makes_an_upper_bound() -> None:
    terms = {"amiSelectorTerms": [{"alias": "al2023@latest"}]}
    spec = {**terms, "capacityReservationSelectorTerms": [{"id": "cr-1"}]}
    assert not run(line(CAPACITY, "In", "reserved"), spec=spec).complete
    assert not run(line(K + "capacity-reservation-id", "Exists"), spec=spec).complete
    assert run(line(CAPACITY, "In", "reserved", "spot"), spec=spec).complete
    assert run(line(K + "capacity-reservation-id", "DoesNotExist"), spec=spec).complete


def test_labels_of_later_releases_are_ignored() -> None:
    flex = line(K + "instance-capability-flex", "In", "true")
    assert run(flex, version="1.6.8", alias="al2@latest").candidates == CATALOG.all_types
    found = run(flex, version="1.7.0", alias="al2@latest")
    assert 0 < len(found.candidates) < 200
    assert "1.7.0" in (run(flex, version="1.6.8").lines[0].note or "")


KEYS = [ARCH, FAMILY, GPU, ACCELERATOR, K + "instance-cpu", K + "instance-size", K + "instance-hypervisor"]


@st.composite
def requirement_lines(draw: st.DrawFn) -> dict[str, Any]:
    key = draw(st.sampled_from(KEYS))
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    if operator in ("Gt", "Lt"):
        return line(key, operator, str(draw(st.integers(0, 40))))
    if operator in ("Exists", "DoesNotExist"):
        return line(key, operator)
    values = sorted(CATALOG.values(key))
    return line(key, operator, *draw(st.lists(st.sampled_from(values), min_size=1, max_size=5)))


@given(st.lists(requirement_lines(), max_size=5), st.sampled_from(["1.0.3", "1.8.0", "1.14.1"]))
def test_candidates_are_those_that_the_algebra_keeps_type_by_type(lines: list[dict[str, Any]], version: str) -> None:
    found = run(*lines, alias="bottlerocket@latest", version=version)
    release = Version.parse(version)
    wanted = Requirements(
        Requirement.parse(line["key"], line["operator"], line.get("values", ()), release=release) for line in lines
    )
    for name in found.catalog.names[::9]:
        labels = found.catalog.labels(name)
        mine = Requirements.from_labels(labels)
        mine.add(*(Requirement.parse(key, "DoesNotExist") for key in KEYS if key not in labels))
        assert bool(found.candidates & found.catalog.only(name)) == (mine.intersects(wanted) is None)


@given(st.lists(requirement_lines(), max_size=5))
def test_effects_add_up(lines: list[dict[str, Any]]) -> None:
    found = run(*lines, alias="bottlerocket@latest")
    assert len(CATALOG) - sum(line.removed for line in found.lines) == len(found.candidates)
    for index, value in enumerate(found.lines):
        rest = run(*lines[:index], *lines[index + 1 :], alias="bottlerocket@latest")
        assert rest.candidates == value.without
    assert not found.launchable - found.candidates


# What leaves nothing


def test_clash_names_both_lines() -> None:
    found = run(line(FAMILY, "In", "m5"), line(K + "instance-cpu", "Gt", "3"), line(ARCH, "In", "arm64"))
    assert found.clash is not None
    assert [line.key for line in found.clash] == [FAMILY, ARCH]
    assert run(line(FAMILY, "In", "m5")).clash is None


def test_dead_line() -> None:
    found = run(line(FAMILY, "In", "m5"), line(K + "instance-category", "In", "m5"))
    assert [line.key for line in found.dead_lines] == [K + "instance-category"]
    assert found.clash is None
    assert found.lines[1].removed_alone == len(CATALOG.values(FAMILY)["m5"])


# minValues


def test_min_values_pool_the_values_of_the_types_left() -> None:
    found = run(line(K + "instance-cpu", "In", "4", "8", least=3))
    (least,) = found.min_values
    assert (least.wanted, least.have, least.met) == (3, 2, False)
    assert least.line is found.lines[0]
    (least,) = run(line(FAMILY, "Exists", least=5)).min_values
    assert least.met


def test_larger_min_values_of_one_key_counts() -> None:
    found = run(line(FAMILY, "In", "m5", "c5", least=1), line(FAMILY, "Exists", least=3))
    (least,) = found.min_values
    assert (least.wanted, least.have, least.line) == (3, 2, found.lines[1])


def test_min_values_of_offers() -> None:
    def distinct_values(key: str) -> int | None:
        return run(line(key, "Exists", least=2)).min_values[0].have

    assert distinct_values(CAPACITY) == 2
    assert distinct_values(ZONE) is None
    assert distinct_values("topology.kubernetes.io/region") == 1
    assert distinct_values(K + "instance-tenancy") == 2
    assert distinct_values("team") == 0
    # The values are not narrowed to those that the pool lists.
    assert run(line(CAPACITY, "In", "spot", least=2)).min_values[0].met


# Classes that leave types out


def test_connection_tracking_needs_nitro() -> None:
    spec = {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}], "connectionTracking": {}}
    found = run(spec=spec)
    assert found.candidates == CATALOG.values(K + "instance-hypervisor")["nitro"]
    assert run(spec=spec, version="1.12.2").candidates == CATALOG.all_types


def test_network_interfaces() -> None:
    def left(*wanted: tuple[int, int, str]) -> Resolution:
        keys = ("networkCardIndex", "deviceIndex", "interfaceType")
        interfaces = [dict(zip(keys, value, strict=True)) for value in wanted]
        terms = [{"alias": "bottlerocket@latest"}]
        return run(spec={"amiSelectorTerms": terms, "networkInterfaces": interfaces})

    first = left((0, 0, "interface"))
    assert first.candidates == CATALOG.all_types
    assert not first.complete
    two_cards = left((0, 0, "interface"), (1, 0, "interface"))
    for name in names(two_cards, two_cards.candidates):
        network = CATALOG.resources.network(name)
        assert network is None or len(network.cards) > 1
    assert "m5.large" not in names(two_cards, two_cards.candidates)
    assert "p5.48xlarge" in names(two_cards, two_cards.candidates)
    four = left(*((0, device, "interface") for device in range(4)))
    assert "m5.large" not in names(four, four.candidates)  # it takes three
    assert "m5.xlarge" in names(four, four.candidates)
    efa = left((0, 0, "interface"), (0, 1, "efa-only"))
    assert "m5.large" not in names(efa, efa.candidates)
    assert "p5.48xlarge" in names(efa, efa.candidates)


def test_what_only_aws_knows_of_a_class_is_said() -> None:
    terms = {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}]}
    nested = {**terms, "cpuOptions": {"nestedVirtualization": "enabled"}}
    assert not run(spec=nested).complete
    assert run(spec=nested, version="1.12.2").complete
    assert run(spec={**terms, "cpuOptions": {"nestedVirtualization": "disabled"}}).complete
    assert not run(spec={**terms, "placementGroupSelector": {"name": "a"}}).complete


# What is unknown


def test_placeholder_makes_an_upper_bound() -> None:
    found = run(line(FAMILY, "In", "m5", "${FAMILY}"), line(ARCH, "In", "arm64"))
    assert not found.complete
    assert [node.get("key") is not None for node, *_ in found.unknown] == [True]
    assert found.candidates == run(line(ARCH, "In", "arm64")).candidates
    assert [line.known for line in found.lines] == [False, True]
    assert found.lines[0].removed == 0


def test_known_part_of_not_in_still_excludes() -> None:
    found = run(line(FAMILY, "NotIn", "m5", "${FAMILY}"))
    assert not found.complete
    assert not found.candidates & CATALOG.values(FAMILY)["m5"]


def test_without_class_every_candidate_may_have_an_image() -> None:
    found = run(line(ARCH, "In", "arm64"), with_class=False)
    assert not found.complete
    assert found.launchable == found.candidates == CATALOG.values(ARCH)["arm64"]
    assert not found.unlaunchable
    assert "`web`" in found.unknown[0].reason


def test_unknown_image_may_take_what_known_images_leave() -> None:
    terms = [{"id": "ami-0123"}, {"name": "amazon-eks-arm64-node-1.29-*"}]
    found = run(spec={"amiFamily": "AL2", "amiSelectorTerms": terms})
    assert found.launchable == CATALOG.all_types
    assert image(found, "m6g.large") == ("arm64", ("standard",))
    assert image(found, "m5.large") == (None, ())
    assert not found.unlaunchable
    assert not found.complete


def test_part_of_a_pool_is_incomplete() -> None:
    assert not run(partial=True).complete


def test_malformed_lines_do_not_raise() -> None:
    found = run(
        {"key": "a", "operator": "Like", "values": ["b"]},
        {"operator": "In"},
        {"key": ARCH, "operator": "Gt"},
        {"key": ARCH, "operator": "In", "values": [5, None]},
        {"key": None, "operator": 3, "values": {}},
        alias="bottlerocket@latest",
    )
    assert found.candidates == CATALOG.all_types
    assert not found.complete
    assert not any(line.known for line in found.lines)


# Before 1.4.0


def test_loose_match_takes_images_whose_labels_the_pool_leaves_open() -> None:
    found = run(alias="bottlerocket@latest", version="1.3.8")
    assert found.image_mixups.possible == (0, 1, 2, 3)
    assert found.image_mixups.types == found.launchable
    assert run(alias="bottlerocket@latest", version="1.4.0").image_mixups.possible == ()
    assert not run(alias="bottlerocket@latest", version="1.4.0").image_mixups.types


def test_requirements_that_make_the_match_unique() -> None:
    lines = [line(ARCH, "In", "amd64"), line(GPU, "DoesNotExist")]
    found = run(*lines, alias="bottlerocket@latest", version="1.3.8")
    assert len(found.image_mixups.possible) == 1
    assert not found.image_mixups.types
    # AL2023 has an image for Neuron besides.
    found = run(*lines, alias="al2023@latest", version="1.3.8")
    assert len(found.image_mixups.possible) == 2
    assert found.image_mixups.requirements_for(found.image_of["m5.large"]) == [(ACCELERATOR, "DoesNotExist", ())]


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("al2023@latest", "m5.large"),
        ("al2023@latest", "g5.xlarge"),
        ("al2023@latest", "inf2.xlarge"),
        ("al2023@latest", "m6g.large"),
        ("al2@latest", "m5.large"),
        ("bottlerocket@latest", "m6g.large"),
        ("bottlerocket@latest", "inf2.xlarge"),
        ("bottlerocket@latest", "g5g.xlarge"),
    ],
)
def test_what_is_asked_for_besides_leaves_one_image(alias: str, name: str) -> None:
    found = run(alias=alias, version="1.3.8")
    requested = found.image_mixups.requirements_for(found.image_of[name])
    assert requested
    again = run(*(line(*value[:2], *value[2]) for value in requested), alias=alias, version="1.3.8")
    assert again.image_mixups.possible == (found.image_of[name],)
    assert image(again, name) == image(found, name)


@pytest.mark.parametrize(
    ("categories", "requested"),
    [(["g"], [(GPU, "Exists", ())]), (["inf"], [(ACCELERATOR, "Exists", ())]), (["g", "inf"], None)],
)
def test_the_one_image_of_al2_for_gpus_and_accelerators(
    categories: list[str], requested: list[tuple[str, str, tuple[str, ...]]] | None
) -> None:
    """What is asked for besides shuts out none of the types that take the image."""
    found = run(
        line(ARCH, "In", "amd64"),
        line(K + "instance-category", "In", *categories),
        alias="al2@latest",
        version="1.3.8",
    )
    assert found.image_mixups.requirements_for(2) == requested


WEIRD: list[Any] = [None, 5, "x", True, [], {}, [5], ["x"], [{}], [None], {"a": 1}, "${X}", [["x"]]]


@pytest.mark.parametrize("value", WEIRD, ids=repr)
def test_fields_of_the_wrong_type_do_not_raise(value: Any) -> None:
    alias = [{"alias": "al2023@latest"}]
    for spec in (
        value,
        {"amiSelectorTerms": value},
        {"amiSelectorTerms": [{"alias": value}]},
        {"amiSelectorTerms": [{"id": value, "name": value, "tags": value, "ssmParameter": value}]},
        {"amiFamily": value, "amiSelectorTerms": alias},
        {"amiSelectorTerms": alias, "networkInterfaces": value},
        {"amiSelectorTerms": alias, "networkInterfaces": [{"networkCardIndex": value, "deviceIndex": value}]},
        {"amiSelectorTerms": alias, "connectionTracking": value, "cpuOptions": value},
        {"amiSelectorTerms": alias, "capacityReservationSelectorTerms": value},
        {"amiSelectorTerms": alias, "placementGroupSelector": value},
    ):
        found = run(line(CAPACITY, "In", "reserved"), line(ARCH, "Exists", least=1), spec=spec or {})
        assert not found.launchable - found.candidates
        assert found.min_values is not None
        assert found.clash is None or not found.candidates
    found = run({"key": value, "operator": value, "values": value, "minValues": value}, labels=value)
    assert found.candidates | CATALOG.all_types == CATALOG.all_types


def test_the_first_unknown_image_may_take_all_and_the_next_nothing() -> None:
    found = run(spec={"amiFamily": "AL2", "amiSelectorTerms": [{"id": "ami-0123"}, {"id": "ami-0456"}]})
    assert found.types_by_image == (CATALOG.all_types, NONE)
    assert set(found.image_of.values()) == {0}


SHARED_LINES = (
    line(ARCH, "In", "amd64"),
    line(ARCH, "In", "arm64"),
    line("kubernetes.io/os", "In", "windows"),
    line(CAPACITY, "In", "reserved"),
    line(CAPACITY, "In", "spot", "reserved"),
    line(K + "capacity-reservation-id", "Exists"),
    line(K + "instance-cpu", "Gt", "4"),
    line(K + "instance-cpu", "NotIn", "8"),
    line(GPU, "Exists"),
    line(FAMILY, "NotIn", "m5"),
    line("team", "Exists"),
)
RESERVED_TERMS = [{"id": "cr-0123456789abcdef0"}]
KINDS_OF_CLASS: tuple[dict[str, Any], ...] = (
    {"spec": None},
    {"with_class": False},
    {"alias": "windows2022@latest"},
    {"spec": {"amiSelectorTerms": [{"tags": {"name": "own"}}]}},
    {"spec": {"amiFamily": "Custom", "amiSelectorTerms": [{"tags": {"name": "own"}}]}},
    {"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}], "capacityReservationSelectorTerms": RESERVED_TERMS}},
    {"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}], "kubelet": {"maxPods": 0}}},
    {"pool": {"replicas": 2}},
    {"version": "1.2.0"},
    {"facts": "subnets: [{id: s, zone: us-east-1a, zoneId: use1-az1}]\nzones: {us-east-1a: use1-az1}\n"},
)


@pytest.mark.slow
@given(st.lists(st.sampled_from(SHARED_LINES), min_size=1, max_size=3, unique_by=repr))
def test_pools_that_ask_the_same_of_other_classes_are_no_less_their_own(lines: list[dict[str, Any]]) -> None:
    """What one pool's requirements do is shared with pools that ask the same: each comes out as it does alone."""

    def effects(kind: dict[str, Any]) -> object:
        resolution = run(*lines, **kind)
        steps = [(e.kept, e.before, e.after, e.without, e.final, e.note) for e in resolution.lines]
        return steps, resolution.candidates, resolution.folded

    alone = []
    for kind in KINDS_OF_CLASS:
        for release in RELEASES:
            CATALOG.for_release(release)._notes.clear()
        alone.append(effects(kind))
    assert [effects(kind) for kind in KINDS_OF_CLASS] == alone
    assert [effects(kind) for kind in reversed(KINDS_OF_CLASS)] == alone[::-1]


def test_deprecated_names_of_a_resolution_lead_to_its_parts() -> None:
    found = run(alias="bottlerocket@latest", version="1.3.0")
    former = {name: getattr(found, name) for name in ("price_region", "loose", "ambiguous")}
    assert former == {
        "price_region": found.prices.region,
        "loose": found.image_mixups.possible,
        "ambiguous": found.image_mixups.types,
    }
    with pytest.raises(AttributeError, match="a resolution has no `prizes`"):
        _ = found.prizes  # type: ignore[attr-defined]
