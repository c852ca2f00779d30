"""What zones, subnets, offerings and reservations leave of the instance types, where facts from AWS are available."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.ec2.facts import AwsFacts
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import Answer, CapacityReservation, Offering, Question, Region, Snapshot, Subnet
from nodelint.karpenter.resolve import ELSEWHERE, Resolution
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import NEWEST, Version
from nodelint.model.requirement import Requirement, Requirements, well_known
from nodelint.rule.context import Context
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.karpenter.test_resolve import CAPACITY, CATALOG, FAMILY, ZONE, K, line, run

ZONE_ID, REGION = "topology.k8s.aws/zone-id", "topology.kubernetes.io/region"
RESERVATION_ID, RESERVATION_TYPE = K + "capacity-reservation-id", K + "capacity-reservation-type"

TAGS = {"karpenter.sh/discovery": "main"}
SPEC: dict[str, Any] = {
    "amiSelectorTerms": [{"alias": "bottlerocket@latest"}],
    "subnetSelectorTerms": [{"tags": TAGS}],
}
RESERVING: dict[str, Any] = {**SPEC, "capacityReservationSelectorTerms": [{"tags": TAGS}]}

ACCOUNT = """
region: us-east-1
zones: {us-east-1a: use1-az1, us-east-1b: use1-az2, us-east-1c: use1-az3}
absent: {us-east-1a: ["p5.*"], us-east-1b: ["m6g.*"], us-east-1c: ["m7g.*"], "*": ["a1.*"]}
subnets:
  - {id: subnet-1, zone: us-east-1a, zoneId: use1-az1, free: 20, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-2, zone: us-east-1a, zoneId: use1-az1, free: 30, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-3, zone: us-east-1b, zoneId: use1-az2, free: 40, tags: {karpenter.sh/discovery: main}}
  - {id: subnet-4, zone: us-east-1c, zoneId: use1-az3, free: 50, tags: {team: other}}
"""


def families(found: Resolution, *names: str) -> set[str]:
    return {name for name in names if found.candidates & CATALOG.values(FAMILY)[name]}


def zones_of(found: Resolution, name: str) -> tuple[str, ...] | None:
    """The zones that offer an instance type; None where what the region offers is not known."""
    offered = found.places.offered if found.places is not None else None
    single = found.catalog.only(name)
    return None if offered is None else tuple(zone for zone, types in offered.items() if types & single)


def test_what_region_and_zones_lack_is_left_out_first() -> None:
    only_a = ACCOUNT.replace(
        "subnet-3, zone: us-east-1b, zoneId: use1-az2", "subnet-3, zone: us-east-1a, zoneId: use1-az1"
    )
    found = run(spec=SPEC, facts=only_a)
    assert [(reason, bits) for bits, reason in found.class_removed] == [
        ("not offered in us-east-1", CATALOG.values(FAMILY)["a1"]),
        ("not offered in the zones of the class's subnets", CATALOG.values(FAMILY)["p5"]),
    ]
    assert found.candidates == CATALOG.all_types - CATALOG.values(FAMILY)["a1"] - CATALOG.values(FAMILY)["p5"]
    assert found.complete
    assert (found.region, found.zones) == ("us-east-1", {"us-east-1a": "use1-az1"})


def test_zones_of_a_type_are_those_with_a_subnet() -> None:
    found = run(spec=SPEC, facts=ACCOUNT)
    assert found.zones == {"us-east-1a": "use1-az1", "us-east-1b": "use1-az2"}
    assert zones_of(found, "m5.large") == ("us-east-1a", "us-east-1b")
    assert zones_of(found, "p5.48xlarge") == ("us-east-1b",)
    assert zones_of(found, "a1.large") == zones_of(found, "no.such") == ()


@pytest.mark.parametrize(
    ("requirement", "left"),
    [
        (line(ZONE, "In", "us-east-1a"), {"m5", "m6g", "m7g"}),
        (line(ZONE, "In", "us-east-1b"), {"m5", "m7g", "p5"}),
        (line(ZONE, "NotIn", "us-east-1b"), {"m5", "m6g", "m7g"}),
        (line(ZONE, "In", "us-east-1c"), set()),
        (line("topology.ebs.csi.aws.com/zone", "In", "us-east-1b"), {"m5", "m7g", "p5"}),
        (line(ZONE, "DoesNotExist"), set()),
        (line(ZONE_ID, "In", "use1-az2"), {"m5", "m7g", "p5"}),
        (line(ZONE_ID, "In", "use1-az3"), set()),
        (line(REGION, "In", "us-east-1"), {"m5", "m6g", "m7g", "p5"}),
        (line(REGION, "In", "eu-west-3"), set()),
        (line(CAPACITY, "In", "spot"), {"m5", "m6g", "m7g", "p5"}),
        (line(CAPACITY, "In", "reserved"), set()),
    ],
)
def test_what_a_line_keeps(requirement: dict[str, Any], left: set[str]) -> None:
    found = run(requirement, spec=SPEC, facts=ACCOUNT)
    assert families(found, "m5", "m6g", "m7g", "p5", "a1") == left
    assert found.complete


def test_lines_on_zone_and_zone_id_are_met_by_one_offer_or_none() -> None:
    """Each by itself keeps types; no zone has both."""
    found = run(line(ZONE, "In", "us-east-1a"), line(ZONE_ID, "In", "use1-az2"), spec=SPEC, facts=ACCOUNT)
    assert all(line.kept for line in found.lines)
    assert not found.candidates
    assert found.clash is not None
    assert found.left_without(found.lines[0]) == found.lines[0].without


def test_subnets_that_are_not_known_leave_the_region() -> None:
    denied = f"{ACCOUNT}denied: [subnets]\n"
    found = run(line(ZONE, "In", "us-east-1c"), spec=SPEC, facts=denied)
    assert found.zones is None
    assert families(found, "m5", "m6g", "m7g", "p5", "a1") == {"m5", "m6g", "p5"}
    assert zones_of(found, "m7g.large") == ("us-east-1a", "us-east-1b")
    (unknown,) = found.unknown
    assert unknown.fact == "subnets"
    assert "UnauthorizedOperation" in unknown.reason
    # Zone ids are not known, so any that is one may be meant.
    assert run(line(ZONE_ID, "In", "use1-az8"), spec=SPEC, facts=denied).candidates
    assert not run(line(ZONE_ID, "DoesNotExist"), spec=SPEC, facts=denied).candidates


def test_offerings_that_are_not_known_leave_the_zones_of_the_subnets() -> None:
    denied = f"{ACCOUNT}denied: [offerings]\n"
    found = run(line(ZONE, "In", "us-east-1a"), spec=SPEC, facts=denied)
    assert found.candidates == CATALOG.all_types
    assert [item.fact for item in found.unknown if item.fact] == ["offerings"]
    assert zones_of(found, "m5.large") is None
    assert not run(line(ZONE, "In", "us-east-1c"), spec=SPEC, facts=denied).candidates


@pytest.mark.parametrize("what", ["denied: [offerings, subnets]\n", "denied: [subnets]\nabsent: {'*': ['*']}\n"])
def test_nothing_known_is_as_without_facts(what: str) -> None:
    nothing = "\n".join(line for line in ACCOUNT.splitlines() if not line.startswith("absent")) + f"\n{what}"
    for requirement in (
        line(ZONE, "In", "us-east-1x"),
        line(CAPACITY, "In", "spot"),
        line(REGION, "In", "eu-west-3"),
    ):
        with_facts, without = run(requirement, spec=SPEC, facts=nothing), run(requirement, spec=SPEC)
        assert (with_facts.candidates, with_facts.unknown) == (without.candidates, without.unknown)
        assert with_facts.lines[0].note == without.lines[0].note
        assert (with_facts.zones, with_facts.region, zones_of(with_facts, "m5.large")) == (None, None, None)


@pytest.mark.parametrize(
    "terms",
    ["${SUBNETS}", [{"id": "${SUBNET}"}], ["${TERM}", {"tags": TAGS}], [{"tags": {}}], [{"tags": TAGS}, None]],
)
def test_terms_that_cannot_be_read_leave_the_zones_open(terms: Any) -> None:
    found = run(line(ZONE, "In", "us-east-1c"), spec={**SPEC, "subnetSelectorTerms": terms}, facts=ACCOUNT)
    assert found.zones is None
    assert found.candidates
    assert not found.complete


def test_no_subnet_is_said_and_hides_nothing_else() -> None:
    found = run(
        line(ZONE, "In", "us-east-1c"), spec={**SPEC, "subnetSelectorTerms": [{"id": "subnet-9"}]}, facts=ACCOUNT
    )
    assert found.zones == {}
    assert families(found, "m5", "m7g") == {"m5"}
    assert any("finds no subnet" in note for _, note in found.notes)


def test_min_values_count_zones_and_capacity_types_of_the_types_left() -> None:
    def distinct_values(key: str, *lines: dict[str, Any], **kwargs: Any) -> int | None:
        found = run(line(key, "Exists", least=2), *lines, spec=SPEC, **kwargs)
        (least,) = found.min_values
        return least.have

    assert distinct_values(ZONE, facts=ACCOUNT) == distinct_values(ZONE_ID, facts=ACCOUNT) == 2
    assert distinct_values(ZONE, line(FAMILY, "In", "p5"), facts=ACCOUNT) == 1
    # Pooled without narrowing them to what the pool asks.
    assert distinct_values(ZONE, line(ZONE, "In", "us-east-1a"), facts=ACCOUNT) == 2
    assert distinct_values(ZONE, facts=f"{ACCOUNT}denied: [subnets]\n") is None
    assert distinct_values(CAPACITY, facts=ACCOUNT) == 2


RESERVATIONS = """
capacityReservations:
  - {id: cr-1, type: m5.large, zone: us-east-1a, tags: {karpenter.sh/discovery: main}}
  - {id: cr-2, type: m5.xlarge, zone: us-east-1c, tags: {karpenter.sh/discovery: main}}
  - {id: cr-3, type: m5.2xlarge, zone: us-east-1b, state: expired, tags: {karpenter.sh/discovery: main}}
  - {id: cr-4, type: p5.48xlarge, zone: us-east-1b, kind: capacity-block, tags: {karpenter.sh/discovery: main}}
"""


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([line(CAPACITY, "In", "reserved")], ["m5.large", "p5.48xlarge"]),
        ([line(CAPACITY, "In", "reserved"), line(ZONE, "In", "us-east-1b")], ["p5.48xlarge"]),
        ([line(RESERVATION_ID, "In", "cr-1")], ["m5.large"]),
        ([line(RESERVATION_ID, "In", "cr-2")], []),
        ([line(RESERVATION_ID, "In", "cr-1"), line(CAPACITY, "In", "spot")], []),
        ([line(RESERVATION_ID, "Exists"), line(RESERVATION_TYPE, "In", "capacity-block")], ["p5.48xlarge"]),
        ([line(RESERVATION_ID, "NotIn", "cr-1"), line(CAPACITY, "In", "reserved")], ["p5.48xlarge"]),
    ],
)
def test_reserved_capacity_is_where_the_reservations_are(lines: list[dict[str, Any]], left: list[str]) -> None:
    found = run(*lines, spec=RESERVING, facts=ACCOUNT + RESERVATIONS)
    assert found.catalog.names_in(found.candidates) == left
    assert found.complete


def test_a_type_with_reservations_has_to_meet_what_is_asked_of_them_whatever_is_taken() -> None:
    requested = line(RESERVATION_ID, "DoesNotExist")
    found = run(requested, line(FAMILY, "In", "m5"), spec=RESERVING, facts=ACCOUNT + RESERVATIONS)
    assert found.candidates == CATALOG.values(FAMILY)["m5"] - CATALOG.types_of(["m5.large", "m5.xlarge"])
    # Before 1.3.0 the label is one like any other.
    found = run(requested, line(FAMILY, "In", "m5"), spec=RESERVING, facts=ACCOUNT + RESERVATIONS, version="1.2.2")
    assert found.candidates == CATALOG.values(FAMILY)["m5"]


def test_reservations_that_are_not_known_may_be_anywhere() -> None:
    found = run(line(CAPACITY, "In", "reserved"), line(ZONE, "In", "us-east-1b"), spec=RESERVING, facts=ACCOUNT)
    assert families(found, "m5", "m6g", "p5") == {"m5", "p5"}
    assert not found.complete


def test_whether_a_reservation_can_be_interrupted_is_not_known() -> None:
    requested = line(K + "capacity-reservation-interruptible", "In", "true")
    found = run(requested, spec=RESERVING, facts=ACCOUNT + RESERVATIONS)
    assert found.catalog.names_in(found.candidates) == ["m5.large", "p5.48xlarge"]
    assert not found.complete
    assert run(requested, spec=SPEC, facts=ACCOUNT).complete


def test_the_feature_gate_of_reserved_capacity_is_said_where_it_is_off_by_default() -> None:
    def notes(version: str) -> list[str]:
        found = run(line(CAPACITY, "In", "reserved"), spec=RESERVING, facts=ACCOUNT + RESERVATIONS, version=version)
        return [note for _, note in found.notes]

    assert any("ReservedCapacity" in note for note in notes("1.5.0"))
    assert not notes("1.6.0")


def test_reservations_without_capacity_are_named_and_blocks_that_end_soon_are_no_offers() -> None:
    reserved = """
now: 2026-07-11T12:00:00Z
capacityReservations:
  - {id: cr-1, type: m5.large, zone: us-east-1a, free: 0, tags: {karpenter.sh/discovery: main}}
  - {id: cr-4, type: p5.48xlarge, zone: us-east-1b, kind: capacity-block, ends: 2026-07-11T12:39:00Z,
     tags: {karpenter.sh/discovery: main}}
  - {id: cr-5, type: p5.48xlarge, zone: us-east-1b, kind: capacity-block, ends: 2026-07-11T12:41:00Z,
     tags: {karpenter.sh/discovery: main}}
  - {id: cr-6, type: m5.xlarge, zone: us-east-1b, ends: 2026-07-11T12:10:00Z, tags: {karpenter.sh/discovery: main}}
"""

    def resolve_reserved(reservation: str, version: str = "1.7.0") -> Resolution:
        lines = (line(CAPACITY, "In", "reserved"), line(RESERVATION_ID, "In", reservation))
        return run(*lines, spec=RESERVING, facts=ACCOUNT + reserved, version=version)

    assert resolve_reserved("cr-4", "1.6.0").candidates
    assert resolve_reserved("cr-5").candidates
    assert resolve_reserved("cr-6").candidates  # a reservation of another kind is used to its end
    ending = resolve_reserved("cr-4")
    assert not ending.candidates
    assert [note for _, note in ending.notes] == [
        "the reservation `cr-1` (m5.large, us-east-1a) had no free instance: Karpenter launches nothing in it until "
        "one is free",
        "the reservation `cr-4` (p5.48xlarge, us-east-1b) ends at 2026-07-11T12:39:00Z:"
        " Karpenter launches nothing more in it",
    ]
    assert resolve_reserved("cr-1").candidates


def test_types_that_are_sold_in_capacity_blocks_alone_need_a_reservation() -> None:
    facts = known(
        {"p5.48xlarge": (("us-east-1a",), ()), "m5.large": (("us-east-1a",), ("on-demand",))}, ["us-east-1a"]
    )
    found = run(spec=SPEC, facts=facts)
    assert found.catalog.names_in(found.candidates) == ["m5.large"]
    assert found.class_removed[-1] == (CATALOG.only("p5.48xlarge"), "neither on demand nor spot in us-east-1")
    assert not run(line(CAPACITY, "In", "spot"), spec=SPEC, facts=facts).candidates


def test_facts_of_another_region_are_not_used_and_that_is_said() -> None:
    source = Source.from_text(
        "pool.yaml",
        f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: web}}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}}
      requirements:
        - {{key: {ZONE}, operator: In, values: [eu-west-3a]}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: web}}
spec:
  amiSelectorTerms: [{{alias: bottlerocket@latest}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
""",
    )
    pool, node_class = objects(source)
    assert isinstance(pool, NodePool)
    assert isinstance(node_class, EC2NodeClass)
    facts = FakeAccount(ACCOUNT).facts([node_class], NEWEST)
    found = Context([pool, node_class], Target(NEWEST, facts=facts)).resolution(pool)
    assert found.candidates == CATALOG.all_types
    assert found.region is None
    assert any("another region" in note for _, note in found.notes)


# As the controller's own code does it, type by type and offering by offering

ZONES = {"us-east-1a": "use1-az1", "us-east-1b": "use1-az2", "us-east-1c": "use1-az3"}
TYPES = ("m5.large", "m5.xlarge", "m6g.large", "c7i-flex.large", "g5.xlarge", "p5.48xlarge")
KEYS = (ZONE, ZONE_ID, REGION, CAPACITY, RESERVATION_ID, RESERVATION_TYPE, FAMILY)
VALUES = {
    ZONE: (*ZONES, "us-east-1d"),
    ZONE_ID: (*ZONES.values(), "use1-az9"),
    REGION: ("us-east-1", "eu-west-3"),
    CAPACITY: ("on-demand", "spot", "reserved"),
    RESERVATION_ID: ("cr-0", "cr-1", "cr-2"),
    RESERVATION_TYPE: ("default", "capacity-block"),
    FAMILY: ("m5", "m6g", "g5"),
}

Sold = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]


def known(sold: Sold, served: list[str], reservations: tuple[CapacityReservation, ...] = ()) -> AwsFacts:
    """Facts of a region that sells types in zones as capacity types, with a subnet in each of the zones served."""
    now = "2026-11-20T12:00:00Z"
    subnets = {f"subnet-{zone}": Subnet(f"subnet-{zone}", zone, ZONES[zone], "vpc-1", 9) for zone in served}
    tags = [(f"tag:{key}", value) for key, value in TAGS.items()]
    requested = {
        Question("instance-types"): Answer(now),
        Question("offerings"): Answer(now),
        Question.make("subnets", *tags): Answer(now, tuple(subnets), len(subnets)),
        Question.make("capacity-reservations", *tags): Answer(now, tuple(r.id for r in reservations)),
    }
    region = Region(
        "us-east-1",
        None,
        requested,
        subnets=subnets,
        reservations={reservation.id: reservation for reservation in reservations},
        offerings={name: Offering(name, *where) for name, where in sold.items()},
    )
    return AwsFacts(Snapshot("a test", "2026-11-20", regions=(region,)), region)


@st.composite
def offer_lines(draw: st.DrawFn) -> dict[str, Any]:
    key = draw(st.sampled_from(KEYS))
    operator = draw(st.sampled_from(["In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt"]))
    if operator == "Gt":
        return line(key, operator, "1")
    if operator in ("Exists", "DoesNotExist"):
        return line(key, operator)
    return line(key, operator, *draw(st.lists(st.sampled_from(VALUES[key]), min_size=1, max_size=3)))


@st.composite
def markets(draw: st.DrawFn) -> Sold:
    zones, kinds = st.lists(st.sampled_from(sorted(ZONES)), unique=True), ["on-demand", "spot"]
    types = draw(st.lists(st.sampled_from(TYPES), unique=True, min_size=1))
    return {name: (tuple(draw(zones)), tuple(draw(st.lists(st.sampled_from(kinds), unique=True)))) for name in types}


@st.composite
def reserved(draw: st.DrawFn) -> tuple[CapacityReservation, ...]:
    text = st.tuples(
        st.sampled_from(TYPES), st.sampled_from(sorted(ZONES)), st.sampled_from(VALUES[RESERVATION_TYPE])
    )
    found = draw(st.lists(text, max_size=3))
    return tuple(
        CapacityReservation(f"cr-{index}", name, zone, "active", 1, "self", kind)
        for index, (name, zone, kind) in enumerate(found)
    )


def launched(
    name: str,
    sold: Sold,
    served: list[str],
    reservations: tuple[CapacityReservation, ...],
    wanted: Requirements,
    release: Version,
) -> bool:
    """Whether the scheduler keeps a type: `Intersects`, and `Offerings.Available().HasCompatible`."""
    zones, kinds = sold.get(name, ((), ()))
    zones = tuple(zone for zone in zones if zone in served)
    mine = tuple(r for r in reservations if r.type == name and release >= Version(1, 3, 0))
    labels = {key: value for key, value in CATALOG.labels(name).items() if key in VALUES}
    it = Requirements.from_labels(labels)
    it.add(
        Requirement.parse(ZONE, "In", zones),
        Requirement.parse(REGION, "In", ["us-east-1"]),
        Requirement.parse(CAPACITY, "In", [*kinds, *(["reserved"] if mine else [])]),
    )
    if zones:
        it.add(Requirement.parse(ZONE_ID, "In", [ZONES[zone] for zone in zones]))
    if release >= Version(1, 3, 0):
        it.add(Requirement.parse(RESERVATION_ID, "In", [r.id for r in mine]))
    if release >= Version(1, 6, 0):
        it.add(Requirement.parse(RESERVATION_TYPE, "In", [r.kind for r in mine]))
    offerings: list[tuple[str, str, CapacityReservation | None]]
    offerings = [(zone, kind, None) for zone in zones for kind in kinds]
    offerings += [(r.zone, "reserved", r) for r in mine if r.zone in zones]
    available = []
    for zone, kind, reservation in offerings:
        labels = {ZONE: zone, ZONE_ID: ZONES[zone], CAPACITY: kind}
        offering = Requirements.from_labels(labels)
        if release >= Version(1, 3, 0):
            offering.add(Requirement.parse(RESERVATION_ID, "In", [reservation.id] if reservation else []))
        if release >= Version(1, 6, 0):
            offering.add(Requirement.parse(RESERVATION_TYPE, "In", [reservation.kind] if reservation else []))
        available.append(offering)
    fits = it.intersects(wanted) is None
    return fits and any(wanted.compatible(value, well_known(release)) is None for value in available)


@given(
    st.lists(offer_lines(), max_size=5),
    markets(),
    st.lists(st.sampled_from(sorted(ZONES)), unique=True, min_size=1),
    reserved(),
    st.sampled_from(["1.0.3", "1.3.0", "1.6.0", "1.8.2", "1.14.1"]),
)
def test_what_is_left_is_what_the_controllers_own_loop_leaves(
    lines: list[dict[str, Any]],
    sold: Sold,
    served: list[str],
    reservations: tuple[CapacityReservation, ...],
    version: str,
) -> None:
    found = run(*lines, spec=RESERVING, version=version, facts=known(sold, served, reservations))
    release = Version.parse(version)
    wanted = Requirements(
        Requirement.parse(line["key"], line["operator"], line.get("values", ()), release=release) for line in lines
    )
    expected = [name for name in sorted(TYPES) if launched(name, sold, served, reservations, wanted, release)]
    assert found.catalog.names_in(found.candidates) == expected
    # A type that is newer than the catalogue may be what is left, where none of the catalogue is.
    assert found.complete or (not expected and all(ELSEWHERE in fact.reason for fact in found.unknown))


@given(st.lists(offer_lines(), max_size=5), markets(), reserved())
def test_effects_add_up_with_offers(
    lines: list[dict[str, Any]], sold: Sold, reservations: tuple[CapacityReservation, ...]
) -> None:
    facts = known(sold, ["us-east-1a", "us-east-1b"], reservations)
    found = run(*lines, spec=RESERVING, facts=facts)
    left_out = sum(len(bits) for bits, _ in found.class_removed)
    assert len(CATALOG) - left_out - sum(line.removed for line in found.lines) == len(found.candidates)
    for index, entry in enumerate(found.lines):
        rest = run(*lines[:index], *lines[index + 1 :], spec=RESERVING, facts=facts)
        assert rest.candidates == entry.without == found.left_without(entry)


@pytest.mark.parametrize(
    "value", [None, 5, "x", True, [], {}, [5], [{}], [None], [{"id": []}], [{"tags": "x"}], "${X}"]
)
def test_fields_of_the_wrong_type_do_not_raise(value: Any) -> None:
    for spec in (
        {**SPEC, "subnetSelectorTerms": value},
        {**RESERVING, "capacityReservationSelectorTerms": value},
        {**SPEC, "subnetSelectorTerms": [{"id": value, "tags": {"a": value}}]},
    ):
        found = run(line(CAPACITY, "In", "reserved", "spot"), line(ZONE, "Exists", least=1), spec=spec, facts=ACCOUNT)
        assert found.candidates
        assert found.min_values is not None
        assert not found.launchable_in("us-east-1a") - found.launchable


def test_a_line_on_the_region_tells_which_one_it_is() -> None:
    (message,) = run(line(REGION, "In", "eu-west-1"), spec=SPEC, facts=ACCOUNT).lines
    assert message.note == "the region is us-east-1"
