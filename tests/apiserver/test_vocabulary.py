"""Which keys and values a release has, and what a slip was meant to be."""

from __future__ import annotations

import re
from difflib import get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.apiserver.near_names import NearNames
from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.labels import (
    can_have,
    distance,
    flex_families,
    flex_types,
    is_pattern,
    known_values,
    natural,
    nearest_key,
    nearest_value,
    since,
    slips_among,
    standing_for,
    unit_of,
)
from nodelint.karpenter.pool_requirements import requirements_of
from nodelint.karpenter.spelling import Words, one_slip
from nodelint.model.close_names import CloseNames
from nodelint.model.documents import objects
from nodelint.model.keys import ARCH, FAMILY, FLEX, INSTANCE_TYPE, OS, SIZE
from nodelint.model.manifest import NodePool
from nodelint.model.releases import Version
from nodelint.model.requirement import well_known
from nodelint.text import Source

CATALOG = Catalog.bundled()
CAPACITY = "karpenter.sh/capacity-type"
CATEGORY = "karpenter.k8s.aws/instance-category"
CPU = "karpenter.k8s.aws/instance-cpu"
MEMORY = "karpenter.k8s.aws/instance-memory"
ZONE = "topology.kubernetes.io/zone"
ZONE_ID = "topology.k8s.aws/zone-id"
REGION = "topology.kubernetes.io/region"


def pool(key: str, operator: str = "In", values: str = '["m"]', labels: str = "{}") -> NodePool:
    text = f"""apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: a}}
spec:
  template:
    metadata: {{labels: {labels}}}
    spec:
      requirements:
        - {{key: "{key}", operator: {operator}, values: {values}}}
"""
    found = next(objects(Source.from_text("a.yaml", text)))
    assert isinstance(found, NodePool)
    return found


def near_key(key: str, operator: str = "In", values: str = '["m"]', catalog: Catalog = CATALOG) -> str | None:
    near = nearest_key(requirements_of(pool(key, operator, values))[0], catalog)
    return near.key if near is not None else None


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        (CAPACITY, "on_demand", "on-demand"),
        (CAPACITY, "OnDemand", "on-demand"),
        (CAPACITY, "SPOT", "spot"),
        (CAPACITY, "sopt", "spot"),
        (CAPACITY, "preemptible", None),
        (FAMILY, "c7i.flex", "c7i-flex"),
        (FAMILY, "c7i-felx", "c7i-flex"),
        (FAMILY, "C5", "c5"),
        (INSTANCE_TYPE, "m5.4xlage", "m5.4xlarge"),
        (INSTANCE_TYPE, "t3.meduim", "t3.medium"),
        (INSTANCE_TYPE, "m5.2xl", "m5.2xlarge"),
        (INSTANCE_TYPE, "c7i.flex.large", "c7i-flex.large"),
        (ARCH, "x86_64", "amd64"),
        (ARCH, "aarch64", "arm64"),
        (ARCH, "AMD64", "amd64"),
        (ARCH, "arm46", "arm64"),
        (OS, "Linux", "linux"),
        (SIZE, "4xl", "4xlarge"),
        (CATEGORY, "M", "m"),
        ("karpenter.k8s.aws/instance-gpu-name", "A10G", "a10g"),
        (ZONE, "us-east-1A", "us-east-1a"),
    ],
)
def test_a_slip_is_told(key: str, value: str, meant: str | None) -> None:
    assert nearest_value(key, value, CATALOG) == meant


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (FAMILY, "c7id"),  # one letter from c7i, c7gd, c6id and more
        (FAMILY, "m9"),
        (INSTANCE_TYPE, "m5.huge"),
        (INSTANCE_TYPE, "m5.3xlarge"),  # as near to 2xlarge as to 4xlarge
        (INSTANCE_TYPE, "x8g.nano"),  # a size that other families have
        (INSTANCE_TYPE, "p99.2xlarge"),
        (ARCH, "amd"),
        (CATEGORY, "gpu"),
        (CPU, "3"),
        (CPU, "1.6"),
        (ZONE, "eu-west-9z"),
        ("example.com/team", "wbe"),
    ],
)
def test_where_several_are_near_nothing_is_guessed(key: str, value: str) -> None:
    assert nearest_value(key, value, CATALOG) is None


def test_gibibytes_are_told_from_mebibytes() -> None:
    assert unit_of(MEMORY) == "MiB"
    assert nearest_value(MEMORY, "16", CATALOG) == "16384"
    assert nearest_value(MEMORY, "17", CATALOG) is None
    assert unit_of(CPU) is None


@pytest.mark.parametrize(
    ("value", "key", "home"),
    [
        ("m5", CATEGORY, FAMILY),
        ("m5.large", FAMILY, INSTANCE_TYPE),
        ("m5", INSTANCE_TYPE, FAMILY),
        ("nano", INSTANCE_TYPE, SIZE),
        ("spot", ARCH, CAPACITY),
        ("x86_64", CAPACITY, ARCH),
        ("windows", ARCH, OS),
        ("us-east-1", ZONE, REGION),
        ("us-east-1a", REGION, ZONE),
        ("use1-az1", ZONE, ZONE_ID),
        ("us-west-2-lax-1a", ZONE_ID, ZONE),
        ("cn-north-1", ZONE, REGION),
        ("us-gov-west-1b", REGION, ZONE),
    ],
)
def test_values_of_another_key_are_told(value: str, key: str, home: str) -> None:
    assert slips_among(key, [value], CATALOG)[value].home == home
    assert can_have(key, value, CATALOG) is False


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("m", CATEGORY),
        ("4", CATEGORY),  # a number may be anything
        ("true", FAMILY),
        ("nvidia", "karpenter.k8s.aws/instance-gpu-manufacturer"),
        ("amd", ARCH),  # of processors and of GPUs
        ("aws", "karpenter.k8s.aws/instance-cpu-manufacturer"),
        ("m5", "example.com/family"),
        ("us-east-1a", ZONE),
        ("us-west-2-lax-1a", ZONE),
        ("us-east-1-wl1-bos-wlz-1", ZONE),
        ("rack-7", ZONE),
        ("", CATEGORY),
    ],
)
def test_no_home_is_named_where_it_is_not_certain(value: str, key: str) -> None:
    slip = slips_among(key, [value], CATALOG).get(value)
    assert slip is None or slip.home is None


def test_what_is_not_known_offline_is_not_judged() -> None:
    for key in (ZONE, REGION, "example.com/team", "karpenter.k8s.aws/capacity-reservation-id"):
        assert known_values(key, CATALOG) is None
    assert can_have(ZONE, "eu-west-9z", CATALOG) is None
    assert can_have("example.com/team", "x", CATALOG) is None
    assert can_have("karpenter.k8s.aws/instance-hypervisor", "", CATALOG) is True


def test_values_come_with_their_release() -> None:
    assert can_have(CAPACITY, "reserved", CATALOG) is True
    assert can_have(CAPACITY, "reserved", CATALOG.for_release(Version(1, 2, 2))) is False
    assert since(CAPACITY, "reserved") == Version(1, 3, 0)
    assert known_values(FLEX, CATALOG.for_release(Version(1, 6, 8))) is None
    accelerator = "karpenter.k8s.aws/instance-accelerator-name"
    assert can_have(accelerator, "trainium", CATALOG) is True
    assert can_have(accelerator, "trainium", CATALOG.for_release(Version(1, 0, 0))) is False


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("node.kubernetes.io/instance-category", CATEGORY),
        ("karpenter.k8s.aws/instance-famly", FAMILY),
        ("karpenter.k8s.aws/instanckube-family", FAMILY),
        ("karpenter.k8s.aws/Instance-Family", FAMILY),
        ("karpenter.k8s.aws/instance_family", FAMILY),
        ("karpenter.k8s.aws/instance-type", INSTANCE_TYPE),
        ("karpenter.k8s.aws/capacity-type", CAPACITY),
        ("karpenter.sh/instance-category", CATEGORY),
        ("karpenter.sh/capacity-tpye", CAPACITY),
        ("eks.amazonaws.com/instance-category", CATEGORY),
        ("node.k8s.aws/instance-type", INSTANCE_TYPE),
        ("kubernetes.io/instance-type", INSTANCE_TYPE),
        ("node.kubernetes.io/arch", ARCH),
        ("karpenter.k8s.was/instance-family", FAMILY),
        ("karpenter.k8s.aws/instance-gen", "karpenter.k8s.aws/instance-generation"),
        ("topology.kubernetes.io/zones", ZONE),
        ("topology.kubernetes.io/zone-id", ZONE_ID),
    ],
)
def test_a_key_that_is_meant_as_one_of_karpenters_is_told(written: str, meant: str) -> None:
    assert near_key(written) == meant


def test_a_far_slip_is_named_but_not_written() -> None:
    near = nearest_key(requirements_of(pool("karpenter.k8s.aws/instance-memory-gib"))[0], CATALOG)
    assert near is not None
    assert (near.key, near.sure) == (MEMORY, False)


@pytest.mark.parametrize(
    "written",
    [
        "team",
        "example.com/team",
        "example.com/instance-type",
        "mycompany.io/capacity-type",
        "eks.amazonaws.com/capacityType",
        "eks.amazonaws.com/nodegroup",
        "node.kubernetes.io/lifecycle",
        "node-role.kubernetes.io/worker",
        "karpenter.sh/registered",
        "topology.kubernetes.io/subzone",
        "karpenter.k8s.aws/ec2nodeclass",
        "kubernetes.io/hostname",
        "beta.kubernetes.io/instance-type",
        "topology.ebs.csi.aws.com/zone",
        "k8s.amazonaws.com/accelerator",
        "nvidia.com/gpu.product",
        "kops.k8s.io/instancegroup",
        INSTANCE_TYPE,
        FAMILY,
        FLEX,
    ],
)
def test_keys_of_ones_own_and_those_of_karpenter_are_left_in_peace(written: str) -> None:
    assert near_key(written) is None


def test_a_bare_name_counts_by_its_values() -> None:
    assert near_key("instance-family", values="[m5, c5]") == FAMILY
    assert near_key("capacity-type", values="[spot]") == CAPACITY
    assert near_key("zone", values="[us-east-1a]") == ZONE
    assert near_key("instance-cpu", "Gt", '["4"]') == CPU
    assert near_key("zone", values="[blue]") is None
    assert near_key("instance-type", values="[gpu-heavy]") is None
    assert near_key("arch", "Exists", "[]") is None
    label = list(requirements_of(pool("team", labels="{capacity-type: spot}")))[1]
    assert label.is_label
    assert nearest_key(label, CATALOG) is None


def test_a_key_of_another_release_is_no_slip() -> None:
    assert near_key(FLEX, catalog=CATALOG.for_release(Version(1, 0, 0))) is None


def test_patterns_stand_for_values_in_a_natural_order() -> None:
    assert is_pattern("*") and is_pattern("c7?") and is_pattern("m[56]i")
    assert not is_pattern("c7i-flex")
    types = CATALOG.values(INSTANCE_TYPE)
    assert standing_for("c7i.?xlarge", types) == ["c7i.2xlarge", "c7i.4xlarge", "c7i.8xlarge"]
    found = standing_for("m5.*", types)
    assert found.index("m5.2xlarge") < found.index("m5.12xlarge")
    assert standing_for("zz*", types) == []
    # as a regular expression has it, since no family has a dot
    assert standing_for("c7.*", CATALOG.values(FAMILY))[:2] == ["c7a", "c7g"]


def test_flex_types_are_known_to_every_release() -> None:
    assert "c7i-flex" in flex_families(CATALOG.for_release(Version(1, 0, 0)))
    assert flex_families(CATALOG) == flex_families(CATALOG.for_release(Version(1, 0, 0)))
    names = CATALOG.names_in(flex_types(CATALOG))
    assert all("-flex." in name for name in names)


def test_asked_gives_labels_and_normalised_keys() -> None:
    first, label = requirements_of(pool("beta.kubernetes.io/arch", values="[amd64]", labels="{a: b}"))
    assert (first.key, first.written, first.texts) == (ARCH, "beta.kubernetes.io/arch", ("amd64",))
    assert (label.key, label.operator, label.texts, label.known) == ("a", "In", ("b",), True)
    assert list(requirements_of(pool("${KEY}"))) == []
    assert not requirements_of(pool("a", values='["${X}"]'))[0].known


words = st.text("abc-1", max_size=6)


@given(words, words)
def test_distance_is_symmetric_and_bounded(a: str, b: str) -> None:
    far = distance(a, b, 9)
    assert far == distance(b, a, 9)
    assert (far == 0) == (a == b)
    assert abs(len(a) - len(b)) <= far <= max(len(a), len(b))
    for most in range(4):
        assert distance(a, b, most) == min(far, most + 1)


def test_a_slip_keeps_the_digits() -> None:
    assert one_slip("m5.xlarge", "m5.large")
    assert not one_slip("m5.large", "m6.large")
    assert not one_slip("m5", "c5")
    assert natural("m5.2xlarge") < natural("m5.12xlarge")


NAMES = sorted({key.rpartition("/")[2] for key in well_known(Version.parse("1.14.1"))})
SLIPS = st.tuples(
    st.sampled_from(NAMES), st.integers(0, 30), st.integers(0, 3), st.text("aceg-n\xe9", max_size=4)
).map(lambda slip: slip[0][: slip[1]] + slip[3] + slip[0][slip[1] + slip[2] :])


@given(SLIPS, st.sampled_from([0.5, 0.6, 0.8]))
def test_the_closest_name_is_the_one_that_difflib_finds_among_all(text: str, cutoff: float) -> None:
    found = get_close_matches(text, NAMES, 1, cutoff)
    assert CloseNames(NAMES).closest(text, cutoff) == (found[0] if found else None)


def nearest_of_all(value: str, texts: list[str]) -> str | None:
    """What NearNames finds, by a comparison with each."""

    def plain(text: str) -> str:
        return re.sub("[-_ ]", "", text).lower()

    same = [text for text in texts if plain(text) == plain(value)]
    begun = [text for text in texts if text.lower().startswith(f"{value.lower()}.")]
    close = get_close_matches(plain(value), [text.lower() for text in texts], 1, 0.8)
    near = [text for text in texts if [text.lower()] == close]
    swapped = [text for text in texts if len(plain(value)) > 3 and sorted(text.lower()) == sorted(plain(value))]
    for found, several in ((same, True), (begun, False), (near, True), (swapped, False)):
        if found and (several or len(found) == 1):
            return found[0]
    return None


NEAR = ["expireAfter", "imageId", "nodefs.available", "nodefs.inodesFree", "gr\xf6\xdfe", "amiFamily", "spot"]


@given(st.permutations(NEAR), st.sampled_from([*NEAR, "imageID"]), st.integers(0, 12), st.integers(0, 7))
def test_the_nearest_name_is_the_one_that_a_look_at_each_finds(
    names: list[str], name: str, at: int, way: int
) -> None:
    head, tail = name[:at], name[at:]
    slip = [head, f"{head}-{tail}", head + tail[2:], tail + head, name.upper(), name[::-1], f"{name}5", ""][way]
    assert NearNames(names).nearest(slip) == (nearest_of_all(slip, names) if slip else None)


@pytest.mark.parametrize("words", [("large", "xlarge", "xl"), ("metal", "metal-24xl", "metal-48xl"), ("a", "ab")])
def test_an_abbreviation_stands_for_the_one_word_that_it_begins(words: tuple[str, ...]) -> None:
    for head in {word[:end] for word in words for end in range(2, len(word) + 2)}:
        begun = [word for word in words if word.startswith(head)]
        near = Words(words).nearest(head, abbreviated=True)
        assert near == (begun[0] if len(begun) == 1 else Words(words).nearest(head, abbreviated=False))
