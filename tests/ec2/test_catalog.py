"""The bundled catalogue holds together, and is asked as Karpenter asks its instance types."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import NOTHING, AwsFacts
from nodelint.ec2.snapshot import Change, Origin, Row, Snapshot
from nodelint.ec2.type_set import NONE, union
from nodelint.model.keys import ARCH, INSTANCE_TYPE, OS, WINDOWS_BUILD
from nodelint.model.releases import RELEASES, Version
from nodelint.model.requirement import Requirement, Requirements, well_known

AWS = "karpenter.k8s.aws"
FAMILY = f"{AWS}/instance-family"
BANDWIDTH = f"{AWS}/instance-network-bandwidth"
GPUS = f"{AWS}/instance-gpu-count"
HYPERVISOR = f"{AWS}/instance-hypervisor"
FLEX = f"{AWS}/instance-capability-flex"
CPU = f"{AWS}/instance-cpu"

CATALOG = Catalog.bundled()


def selected(key: str, operator: str, *values: str, catalog: Catalog = CATALOG) -> set[str]:
    return set(catalog.names_in(catalog.select(Requirement.parse(key, operator, values, None, catalog.version))))


class TestNetworkLimitsOfARelease:
    """Pod ENIs and addresses come from a table of the controller's own, which grew from release to release."""

    @pytest.mark.parametrize(
        ("name", "release", "pod_enis", "addresses"),
        [
            ("c8i.large", "1.14.1", "9", 20),
            ("c8i.large", "1.8.4", "9", 20),
            ("c8i.large", "1.8.3", None, None),
            ("m5.large", "1.0.0", "9", 10),
        ],
    )
    def test_they_are_those_of_its_own_table(
        self, name: str, release: str, pod_enis: str | None, addresses: int | None
    ) -> None:
        catalog = CATALOG.for_release(Version.parse(release))
        assert catalog.resources.amounts(name).get("vpc.amazonaws.com/pod-eni") == pod_enis
        assert catalog.resources.column("vpc.amazonaws.com/pod-eni")[catalog.names.index(name)] == pod_enis
        assert catalog.resources.addresses_per_interface(name) == addresses

    def test_older_tables_have_fewer_types(self) -> None:
        releases = [Version.parse(release) for release in ("1.0.8", "1.6.8", "1.9.2", "1.14.1")]
        having = [len(CATALOG.for_release(r).resources.having("vpc.amazonaws.com/pod-eni")) for r in releases]
        assert having == sorted(set(having))

    def test_what_ec2_says_is_the_same_in_every_release(self) -> None:
        old = CATALOG.for_release(Version(1, 0, 8))
        assert old.resources.network("c8i.large") == CATALOG.resources.network("c8i.large")
        assert old.resources.amounts("c8i.large")["pods"] == CATALOG.resources.amounts("c8i.large")["pods"]


class TestWhatIsInIt:
    def test_the_types_are_sorted_and_there_once(self) -> None:
        assert len(CATALOG) == 1363
        assert list(CATALOG.names) == sorted(set(CATALOG.names))
        assert list(CATALOG) == list(CATALOG.names)

    def test_it_is_read_once(self) -> None:
        assert Catalog.bundled() is CATALOG

    def test_it_says_where_it_comes_from(self) -> None:
        assert "Karpenter v1.14.1" in CATALOG.origin
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", CATALOG.date)
        assert {source.facts for source in CATALOG.snapshot.sources} >= {"labels and resources", "on-demand prices"}

    def test_labels_that_the_name_tells_agree_with_it(self) -> None:
        scheme = re.compile(r"([a-z]+)(-[0-9]+tb)?([0-9]+)")
        for name in CATALOG:
            family, size = name.split(".")
            parts = scheme.match(family)
            assert parts is not None
            labels = CATALOG.labels(name)
            assert labels[INSTANCE_TYPE] == name
            assert labels[FAMILY] == family
            assert labels[f"{AWS}/instance-size"] == size
            assert labels[f"{AWS}/instance-category"] == parts[1]
            assert labels[f"{AWS}/instance-generation"] == parts[3]
            assert labels[FLEX] == ("true" if "-flex" in family else "false")

    def test_every_label_is_well_known_and_the_others_are_no_property_of_a_type(self) -> None:
        assert CATALOG.keys <= well_known()
        assert well_known() - CATALOG.keys == {
            "karpenter.k8s.aws/capacity-reservation-id",
            "karpenter.k8s.aws/capacity-reservation-interruptible",
            "karpenter.k8s.aws/capacity-reservation-type",
            "karpenter.k8s.aws/instance-tenancy",
            "karpenter.k8s.aws/nitro-sandbox",
            "karpenter.k8s.aws/placement-group-id",
            "karpenter.k8s.aws/placement-group-partition",
            "karpenter.sh/capacity-type",
            "karpenter.sh/nodepool",
            "topology.k8s.aws/zone-id",
            "topology.kubernetes.io/region",
            "topology.kubernetes.io/zone",
        }

    def test_labels_that_every_type_has(self) -> None:
        for key in (ARCH, OS, INSTANCE_TYPE, FAMILY, HYPERVISOR, CPU, f"{AWS}/instance-memory"):
            assert CATALOG.having(key) == CATALOG.all_types
        assert set(CATALOG.values(ARCH)) == {"amd64", "arm64"}
        assert set(CATALOG.values(OS)) == {"linux"}

    def test_gpu_and_accelerator_labels_come_as_groups_and_never_together(self) -> None:
        gpus, accelerators = CATALOG.having(GPUS), CATALOG.having(f"{AWS}/instance-accelerator-count")
        assert gpus
        assert accelerators
        assert not gpus & accelerators
        for part in ("name", "manufacturer", "memory"):
            assert CATALOG.having(f"{AWS}/instance-gpu-{part}") == gpus
        for part in ("name", "manufacturer"):
            assert CATALOG.having(f"{AWS}/instance-accelerator-{part}") == accelerators

    def test_fractions_of_a_gpu_count_as_none_but_have_the_label(self) -> None:
        assert {name.split(".")[0] for name in selected(GPUS, "In", "0")} == {"g6f", "gr6f"}

    def test_makers_of_accelerators(self) -> None:
        assert CATALOG.label("g4ad.xlarge", f"{AWS}/instance-gpu-manufacturer") == "amd"
        assert CATALOG.label("dl2q.24xlarge", f"{AWS}/instance-accelerator-manufacturer") == "qualcomm"

    def test_metal_types_have_an_empty_hypervisor_which_is_a_value(self) -> None:
        metal = selected(HYPERVISOR, "In", "")
        assert len(metal) == 143
        assert metal == {name for name in CATALOG if ".metal" in name}
        assert metal <= selected(HYPERVISOR, "Exists")
        assert not metal & selected(HYPERVISOR, "NotIn", "")

    def test_resources_are_kubernetes_quantities(self) -> None:
        for name in CATALOG:
            resources = CATALOG.resources.amounts(name)
            assert {"cpu", "memory", "pods", "ephemeral-storage"} <= resources.keys()
            assert all(re.fullmatch(r"[1-9][0-9]*(m|Ki|Mi|Gi|Ti)?", q) for q in resources.values())
        assert CATALOG.resources.amounts("c5.large")["cpu"] == "1930m"

    def test_network_limits(self) -> None:
        known = [limits for limits in map(CATALOG.resources.network, CATALOG) if limits is not None]
        assert len(known) == 1300
        assert all(limits.trunking or not limits.branches for limits in known)
        assert all(limits.interfaces == limits.cards[0] or len(limits.cards) > 1 for limits in known)
        large = CATALOG.resources.network("c5.large")
        assert large is not None
        assert (large.interfaces, large.ipv4_per_interface, large.cards) == (3, 10, (3,))

    def test_prices(self) -> None:
        assert CATALOG.prices.on_demand("c5.large") == CATALOG.prices.on_demand("c5.large", "eu-west-1") == 0.085
        assert CATALOG.prices.on_demand("c5.large", "us-gov-west-1") == 0.102
        assert CATALOG.prices.on_demand("a1.large", "us-gov-east-1") is None
        assert CATALOG.prices.on_demand("c5.large", "cn-north-1") is None
        assert all(price is None or price > 0 for price in map(CATALOG.prices.on_demand, CATALOG))

    def test_what_is_not_in_it(self) -> None:
        assert "c5.huge" not in CATALOG
        assert not CATALOG.only("c5.huge")
        assert CATALOG.label("c5.huge", CPU) is None
        assert CATALOG.labels("c5.huge") == CATALOG.resources.amounts("c5.huge") == {}
        assert CATALOG.resources.network("c5.huge") is None
        assert CATALOG.prices.on_demand("c5.huge") is None


class TestSets:
    @given(st.sets(st.sampled_from(CATALOG.names)), st.sets(st.sampled_from(CATALOG.names)))
    def test_a_set_of_types_is_the_set_of_its_names(self, chosen: set[str], others: set[str]) -> None:
        first, other = CATALOG.types_of(chosen), CATALOG.types_of(others)
        assert CATALOG.names_in(first) == list(CATALOG.iterate_names(first)) == sorted(chosen)
        assert (len(first), bool(first)) == (len(chosen), bool(chosen))
        assert CATALOG.names_in(first & other) == sorted(chosen & others)
        assert CATALOG.names_in(first | other) == CATALOG.names_in(union([first, other])) == sorted(chosen | others)
        assert CATALOG.names_in(first - other) == sorted(chosen - others)
        assert (first == other) is (chosen == others)
        assert hash(first) == hash(CATALOG.types_of(chosen | set()))
        assert not CATALOG.all_types - CATALOG.types_of(CATALOG.names)

    def test_values_part_the_types_that_have_the_label(self) -> None:
        for key in CATALOG.keys:
            seen = NONE
            for types in CATALOG.values(key).values():
                assert types
                assert not types & seen
                seen |= types
            assert seen == CATALOG.having(key)

    def test_what_min_values_counts(self) -> None:
        sample = CATALOG.types_of(["c5.large", "c5.xlarge", "m5.large"])
        assert CATALOG.distinct(FAMILY, sample) == {"c5", "m5"}
        assert CATALOG.distinct(GPUS, sample) == frozenset()
        assert CATALOG.distinct("example.com/team", sample) == frozenset()


KEYS = sorted(CATALOG.keys | {"example.com/team"})
VALUES = [
    "0",
    "1",
    "4",
    "8",
    "100",
    "-1",
    "c5",
    "m7i-flex",
    "amd64",
    "arm64",
    "linux",
    "windows",
    "",
    "true",
    "t4",
]
written = st.one_of(
    st.tuples(st.sampled_from(["In", "NotIn"]), st.lists(st.sampled_from(VALUES), max_size=3)),
    st.tuples(st.sampled_from(["Exists", "DoesNotExist"]), st.just([])),
    st.tuples(st.sampled_from(["Gt", "Lt", "Gte", "Lte"]), st.sampled_from(["0", "4", "16"]).map(lambda n: [n])),
)
RELEASES_TRIED = st.sampled_from([Version(1, 0, 0), Version(1, 6, 0), Version(1, 8, 8), Version(1, 14, 1)])
OF_EACH_KIND = [*CATALOG.names[::40], "c5.metal", "g5g.xlarge", "g6f.large", "inf2.xlarge", "trn2.48xlarge"]


class TestSelect:
    @given(st.sampled_from(KEYS), st.lists(written, min_size=1, max_size=3), RELEASES_TRIED, st.booleans())
    def test_it_keeps_the_types_whose_own_requirements_intersect(
        self, key: str, lines: list[tuple[str, list[str]]], version: Version, windows: bool
    ) -> None:
        catalog = CATALOG.for_release(version).on_windows("10.0.20348") if windows else CATALOG.for_release(version)
        pool = Requirements(Requirement.parse(key, o, values, None, version) for o, values in lines)
        remaining = set(catalog.names_in(catalog.fitting(pool)))
        for name in OF_EACH_KIND:
            labels = catalog.labels(name)
            own = Requirements.from_labels(labels)
            own.add(*(Requirement.parse(k, "DoesNotExist") for k in catalog.keys - labels.keys()))
            assert (name in remaining) == (own.intersects(pool) is None)

    def test_a_type_without_the_label_is_kept_by_not_in_and_does_not_exist_alone(self) -> None:
        assert "c5.large" in selected(GPUS, "NotIn", "1")
        assert "c5.large" in selected(GPUS, "DoesNotExist")
        assert "c5.large" not in selected(GPUS, "Exists")
        assert "c5.large" not in selected(GPUS, "Lt", "8")
        assert "c5.large" not in selected(GPUS, "In", "0")

    def test_a_contradiction_keeps_the_types_without_the_label(self) -> None:
        crossed = Requirement.parse(GPUS, "Gt", ("3",)).intersect(Requirement.parse(GPUS, "Lt", ("4",)))
        assert CATALOG.select(crossed) == CATALOG.all_types - CATALOG.having(GPUS)
        older = CATALOG.for_release(Version(1, 8, 3))
        exclusive = Requirement.parse(GPUS, "Gt", ("3",), None, older.version).intersect(
            Requirement.parse(GPUS, "Lt", ("4",), None, older.version)
        )
        assert not older.select(exclusive)

    def test_a_custom_label_is_ignored(self) -> None:
        assert CATALOG.select(Requirement.parse("example.com/team", "In", ("a",))) == CATALOG.all_types

    def test_an_alias_of_a_key_is_the_key(self) -> None:
        assert selected("beta.kubernetes.io/arch", "In", "arm64") == selected(ARCH, "In", "arm64") != set()

    def test_values_that_no_offering_has(self) -> None:
        capacity, tenancy = "karpenter.sh/capacity-type", f"{AWS}/instance-tenancy"
        assert not CATALOG.select(Requirement.parse(capacity, "In", ("on_demand",)))
        assert CATALOG.select(Requirement.parse(capacity, "In", ("on_demand", "spot"))) == CATALOG.all_types
        assert CATALOG.select(Requirement.parse(tenancy, "In", ("host",))) == NONE
        assert CATALOG.select(Requirement.parse(tenancy, "In", ("dedicated",))) == CATALOG.all_types
        reserved = Requirement.parse(capacity, "In", ("reserved",))
        assert CATALOG.for_release(Version(1, 2, 0)).select(reserved) == NONE
        assert CATALOG.for_release(Version(1, 3, 0)).select(reserved) == CATALOG.all_types
        zone = "topology.kubernetes.io/zone"
        assert CATALOG.select(Requirement.parse(zone, "In", ("us-east-1a",))) == CATALOG.all_types
        assert CATALOG.select(Requirement.parse(zone, "DoesNotExist")) == NONE


class TestAtARelease:
    def test_the_newest_release_is_the_catalogue_itself(self) -> None:
        assert CATALOG.for_release(RELEASES[-1]) is CATALOG

    @pytest.mark.parametrize(
        ("label", "since"),
        [
            ("instance-cpu-sustained-clock-speed-mhz", Version(1, 1, 0)),
            ("instance-capability-flex", Version(1, 7, 0)),
        ],
    )
    def test_a_label_is_missing_before_the_release_that_brought_it(self, label: str, since: Version) -> None:
        key = f"{AWS}/{label}"
        for release in RELEASES:
            catalog = CATALOG.for_release(release)
            assert (key in catalog.keys) == (release >= since)
            assert catalog.having(key) == (catalog.all_types if release >= since else NONE)
            # No type has the key, so nothing is asked of it.
            assert (catalog.select(Requirement.parse(key, "DoesNotExist")) == NONE) == (release >= since)

    def test_names_of_neuron_devices(self) -> None:
        name, count = f"{AWS}/instance-accelerator-name", f"{AWS}/instance-accelerator-count"
        before, after = CATALOG.for_release(Version(1, 0, 14)), CATALOG.for_release(Version(1, 1, 0))
        for catalog, names in (
            (before, ["inferentia", "inferentia", "inferentia", "qualcomm-ai100", None]),
            (after, ["inferentia", "inferentia2", "trainium", "qualcomm-ai100", "trainium2"]),
        ):
            types = ["inf1.xlarge", "inf2.xlarge", "trn1.32xlarge", "dl2q.24xlarge", "trn2.48xlarge"]
            assert [catalog.label(t, name) for t in types] == names
        assert before.label("trn2.48xlarge", count) is None
        assert before.label("trn1.32xlarge", count) == after.label("trn1.32xlarge", count) == "16"

    def test_bandwidth_is_that_of_the_table_in_the_release(self) -> None:
        def bandwidth(name: str, *release: int) -> str | None:
            return CATALOG.for_release(Version(*release)).label(name, BANDWIDTH)

        assert [bandwidth("i7i.8xlarge", 1, m, 0) for m in (4, 5, 7, 8, 9)] == [
            None,
            "12500",
            "12500",
            "15000",
            "25000",
        ]
        assert bandwidth("i7i.8xlarge", 1, 8, 3) == "15000"
        assert bandwidth("i7i.8xlarge", 1, 8, 4) == "25000"
        assert bandwidth("c8g.xlarge", 1, 1, 1) == "1876"
        assert bandwidth("c8g.xlarge", 1, 2, 0) == "1875"
        assert bandwidth("c9g.large", 1, 13, 1) is None
        assert bandwidth("c9g.large", 1, 14, 0) is not None

    def test_newer_tables_never_know_fewer_types(self) -> None:
        known = [CATALOG.for_release(release).having(BANDWIDTH) for release in RELEASES]
        assert all(not earlier - later for earlier, later in pairwise(known))
        assert (len(known[0]), len(known[-1])) == (739, 1320)


class TestWindows:
    def test_amd64_types_run_windows_and_arm64_types_nothing(self) -> None:
        windows = CATALOG.on_windows("10.0.20348")
        assert windows.values(OS) == {"windows": CATALOG.values(ARCH)["amd64"]}
        assert selected(OS, "In", "linux", catalog=windows) == set()
        assert selected(OS, "NotIn", "linux", catalog=windows) == set(CATALOG.names)
        assert selected(WINDOWS_BUILD, "In", "10.0.20348", catalog=windows) == set(CATALOG.names)
        assert selected(WINDOWS_BUILD, "In", "10.0.17763", catalog=windows) == set()

    def test_linux_has_no_windows_build(self) -> None:
        assert selected(WINDOWS_BUILD, "Exists") == set()
        assert selected(WINDOWS_BUILD, "DoesNotExist") == set(CATALOG.names)


def own(name: str) -> Row:
    """The bundled row of a type, its columns in the order of LABELS, with nothing that EC2 does not tell."""
    return (
        name,
        [CATALOG.label(name, label) for label in LABELS],
        [CATALOG.resources.amounts(name).get(resource) for resource in RESOURCES],
        None,
        [None],
    )


LABELS = tuple(sorted(CATALOG.keys - {WINDOWS_BUILD}, reverse=True))
RESOURCES = ("pods", "habana.ai/gaudi", "memory", "cpu")


def brought(*rows: Row, changes: tuple[Change, ...] = ()) -> Snapshot:
    """A snapshot as `refresh` brings one: other columns, in another order."""
    return Snapshot(
        "EC2 in eu-west-3",
        "2026-11-20",
        (Origin("instance types", "DescribeInstanceTypes", "2026-11-20"),),
        LABELS,
        RESOURCES,
        ("eu-west-3",),
        changes,
        sorted(rows),
    )


class TestTogetherWithASnapshot:
    def test_what_the_snapshot_says_again_changes_nothing(self) -> None:
        both = CATALOG.extended(brought(*map(own, CATALOG.names[::7])))
        assert both.names == CATALOG.names
        for name in CATALOG.names[::7]:
            assert both.labels(name) == CATALOG.labels(name)
            assert both.resources.amounts(name) == CATALOG.resources.amounts(name)
            assert both.resources.network(name) == CATALOG.resources.network(name)
            assert both.prices.on_demand(name) == CATALOG.prices.on_demand(name)
            assert both.prices.on_demand(name, "us-gov-west-1") == CATALOG.prices.on_demand(name, "us-gov-west-1")
        for name in CATALOG.names[1::7]:
            assert both.labels(name) == CATALOG.labels(name)
            assert both.resources.amounts(name) == CATALOG.resources.amounts(name)

    def test_its_row_counts_and_its_prices_and_limits_where_it_has_them(self) -> None:
        name, labels, resources, _, _ = own("m5.large")
        labels[LABELS.index(HYPERVISOR)] = "xen"
        resources[RESOURCES.index("memory")] = "1Gi"
        both = CATALOG.extended(brought((name, labels, resources, [9, 8, False, 0, [9]], [0.5])))
        assert both.label(name, HYPERVISOR) == "xen"
        assert both.resources.amounts(name)["memory"] == "1Gi"
        network = both.resources.network(name)
        assert network is not None
        assert (network.interfaces, network.cards) == (9, (9,))
        assert (both.prices.on_demand(name, "eu-west-3"), both.prices.on_demand(name)) == (
            0.5,
            CATALOG.prices.on_demand(name),
        )
        assert both.label("m5.xlarge", HYPERVISOR) == "nitro"

    def test_a_type_that_only_it_has_is_selected_like_others(self) -> None:
        _, labels, resources, _, prices = own("m5.large")
        labels = [value.replace("m5", "m99") if value else None for value in labels]
        both = CATALOG.extended(brought(("m99.large", labels, resources, None, prices)))
        assert len(both) == len(CATALOG) + 1
        assert selected(FAMILY, "In", "m99", catalog=both) == {"m99.large"}
        assert (both.resources.network("m99.large"), both.prices.on_demand("m99.large")) == (None, None)
        assert list(both.names) == sorted(both.names)
        assert "m99.large" not in CATALOG

    def test_what_labels_were_before_a_release_is_kept(self) -> None:
        name = next(
            name for change in CATALOG.snapshot.changes for name in change.values if change.label == BANDWIDTH
        )
        (label,) = {change.label for change in CATALOG.snapshot.changes if name in change.values}
        stale = own(name)
        stale[1][LABELS.index(label)] = "1"
        changes = (Change(Version(1, 9, 0), label, {name: "2", "m99.large": "3", "no.such": "4"}),)
        both = CATALOG.extended(brought(stale, ("m99.large", *own("m5.large")[1:]), changes=changes))
        for release in RELEASES:
            assert both.for_release(release).label(name, label) == CATALOG.for_release(release).label(name, label)
        assert both.for_release(Version(1, 8, 0)).label("m99.large", label) == "3"
        assert both.for_release(Version(1, 9, 0)).label("m99.large", label) == CATALOG.label("m5.large", label)

    def test_columns_that_only_one_has(self) -> None:
        name, labels, resources, _, prices = own("m5.large")
        fewer = brought((name, labels[1:], resources, None, prices))._replace(labels=LABELS[1:])
        assert CATALOG.extended(fewer).labels(name) == CATALOG.labels(name)
        more = brought((name, [*labels, "yes"], resources, None, prices))._replace(labels=(*LABELS, f"{AWS}/new"))
        both = CATALOG.extended(more)
        assert (both.label(name, f"{AWS}/new"), both.label("m5.xlarge", f"{AWS}/new")) == ("yes", None)

    def test_it_says_both_origins(self) -> None:
        both = CATALOG.extended(brought(own("m5.large")))
        assert both.origin == f"{CATALOG.origin}, {CATALOG.date}; EC2 in eu-west-3"
        assert both.date == "2026-11-20"
        assert [source.facts for source in both.snapshot.sources][:2] == [
            "instance types",
            CATALOG.snapshot.sources[0].facts,
        ]

    def test_without_rows_it_is_the_same_catalogue(self) -> None:
        assert CATALOG.extended(Snapshot("EC2", "2026-11-20")) is CATALOG
        assert NOTHING.catalog is CATALOG
        facts = AwsFacts(brought(own("m5.large")))
        assert facts.catalog is facts.catalog
        assert "eu-west-3" in facts.catalog.origin
