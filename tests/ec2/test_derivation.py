"""What EC2 says of an instance type becomes the labels and resources that Karpenter's own page shows.

moto answers DescribeInstanceTypes with what EC2 itself once said. What that does not hold is written by hand.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.data import DATA
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.instance_types import LABELS, PRICED, RESOURCES, changes, row, usage
from nodelint.ec2.snapshot import Change, Row, Snapshot, parse_snapshot, snapshot_text
from nodelint.model.keys import ARCH, FLEX, GPU_COUNT, HYPERVISOR, INSTANCE_TYPE, OS
from nodelint.model.releases import NEWEST, RELEASES, Version
from tests.conftest import ROOT

AWS = "karpenter.k8s.aws/instance-"
BANDWIDTH = f"{AWS}network-bandwidth"
CLOCK = f"{AWS}cpu-sustained-clock-speed-mhz"

CATALOG = Catalog.bundled()
SCHEMA = json.loads((ROOT / "schemas" / "snapshot.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# EC2 has changed its mind between the day of Karpenter's page (2026-07-11) and moto's data, which has types that
# are newer than the page (r9g, t8i). A row holds what EC2 says now.
CLOCK_SINCE = {
    **dict.fromkeys(("c9g", "c9gd", "m9g", "m9gd"), ("2800", "3300")),  # Graviton5
    "i7i": ("2400", "3200"),
    "i7ie": ("3600", "3200"),
}
"""Family -> MHz on the page, and in EC2's later answer."""

CARDS_SINCE = {
    **dict.fromkeys(("i7ie.48xlarge", "i7ie.metal-48xl"), (15, [8, 7])),
    **dict.fromkeys(("i8ge.48xlarge", "i8ge.metal-48xl"), (24, [12, 12])),
}
"""Type -> interfaces on the one network card it had, and those on the two that EC2 tells of since. The VPC CNI
uses the first card, so that fewer pods fit, and less memory is kept for them."""


def info(name: str, vcpus: int = 4, mib: int = 16384, **parts: Any) -> dict[str, Any]:
    """An item of EC2's answer: an x86_64 type without disks and devices, with `parts` changed."""
    interfaces, addresses = parts.pop("interfaces", 4), parts.pop("addresses", 15)
    return {
        "InstanceType": name,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        "BareMetal": False,
        "Hypervisor": "nitro",
        "ProcessorInfo": {
            "SupportedArchitectures": ["x86_64"],
            "SustainedClockSpeedInGhz": 3.0,
            "Manufacturer": "AMD",
        },
        "VCpuInfo": {"DefaultVCpus": vcpus},
        "MemoryInfo": {"SizeInMiB": mib},
        "EbsInfo": {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 3170}},
        "NetworkInfo": {
            "MaximumNetworkInterfaces": interfaces,
            "DefaultNetworkCardIndex": 0,
            "NetworkCards": [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": interfaces}],
            "Ipv4AddressesPerInterface": addresses,
            "EncryptionInTransitSupported": True,
        },
        **parts,
    }


def gpu(name: str, maker: str, count: int, mib: int) -> dict[str, Any]:
    return {"Name": name, "Manufacturer": maker, "Count": count, "MemoryInfo": {"SizeInMiB": mib}}


def disks(gigabytes: int, nvme: str = "required") -> dict[str, Any]:
    return {"TotalSizeInGB": gigabytes, "NvmeSupport": nvme}


def derived(item: Mapping[str, Any]) -> Row:
    found = row(item, CATALOG)
    assert found is not None
    return found


def labels(item: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in zip(LABELS, derived(item)[1], strict=True) if value is not None}


def resources(item: Mapping[str, Any]) -> dict[str, str]:
    return {key: value for key, value in zip(RESOURCES, derived(item)[2], strict=True) if value is not None}


def snapshot(rows: list[Row], older: tuple[Change, ...] = ()) -> Snapshot:
    return Snapshot("a test", "2026-11-21", (), LABELS, RESOURCES, PRICED, older, sorted(rows))


@pytest.fixture(scope="module")
def answer() -> list[dict[str, Any]]:
    """Every instance type that moto knows; `test_aws` shows that boto3 gives them as they are."""
    return list(pytest.importorskip("moto.ec2.models.instance_types").INSTANCE_TYPES.values())


@pytest.fixture(scope="module")
def rows(answer: list[dict[str, Any]]) -> list[Row]:
    return [found for item in answer if (found := row(item, CATALOG)) is not None]


class TestAsOnKarpentersPage:
    def test_the_columns_are_the_catalogues(self) -> None:
        with open(f"{DATA}/catalog.json", "rb") as file:
            bundled = parse_snapshot(file.read())
        assert bundled.labels == LABELS
        assert set(RESOURCES) - set(bundled.resources) == {"habana.ai/gaudi"}
        assert set(bundled.resources) < set(RESOURCES)
        assert bundled.priced == PRICED

    def test_nearly_all_types_are_compared(self, rows: list[Row]) -> None:
        assert sum(found[0] in CATALOG for found in rows) >= 1350

    def test_labels(self, rows: list[Row]) -> None:
        compared, changed = 0, set()
        for name, values, *_ in rows:
            for key, value in zip(LABELS, values, strict=True):
                if name not in CATALOG:
                    continue
                compared += 1
                published = CATALOG.label(name, key)
                if value != published:
                    family = name.partition(".")[0]
                    assert (key, published, value) == (CLOCK, *CLOCK_SINCE.get(family, ())), name
                    changed.add(family)
        assert compared >= 32_000
        assert changed <= set(CLOCK_SINCE)

    def test_resources(self, rows: list[Row]) -> None:
        for name, _, quantities, _, _ in rows:
            if name not in CATALOG:
                continue
            published = CATALOG.resources.amounts(name)
            found = {k: q for k, q in zip(RESOURCES, quantities, strict=True) if q is not None}
            if name in CARDS_SINCE:
                _, cards = CARDS_SINCE[name]
                assert found["pods"] == str(cards[0] * 49 + 2)
                fewer = int(published["pods"]) - int(found["pods"])
                more = int(found["memory"][:-2]) - int(published["memory"][:-2])
                assert more == 11 * fewer
                found |= {key: published[key] for key in ("pods", "memory")}
            assert found == published, name

    def test_network_limits_and_prices(self, rows: list[Row]) -> None:
        for name, _, _, limits, prices in rows:
            if name not in CATALOG:
                continue
            assert prices == [CATALOG.prices.on_demand(name, region) for region in PRICED]
            assert limits is not None
            published = CATALOG.resources.network(name)
            if published is None:
                assert limits[2:4] == [False, 0]
                continue
            if name in CARDS_SINCE:
                first, cards = CARDS_SINCE[name]
                assert (published.cards, limits[4]) == ((first,), cards)
                limits = [*limits[:4], [first]]
            assert limits == [*published[:4], list(published.cards)], name

    def test_macs_are_no_rows(self, answer: list[dict[str, Any]], rows: list[Row]) -> None:
        left_out = {item["InstanceType"] for item in answer} - {found[0] for found in rows}
        assert left_out
        assert all(name.startswith("mac") for name in left_out)

    def test_they_make_a_snapshot_that_older_releases_read_as_the_catalogue(self, rows: list[Row]) -> None:
        names = [found[0] for found in rows]
        text = snapshot_text(snapshot(rows, changes(names, CATALOG)))
        VALIDATOR.validate(json.loads(text))
        refreshed = Catalog(parse_snapshot(text))
        for release in (RELEASES[0], Version(1, 1, 0), Version(1, 6, 0), NEWEST):
            then, bundled = refreshed.for_release(release), CATALOG.for_release(release)
            for name in set(names) & set(CATALOG.names):
                old, new = bundled.labels(name), then.labels(name)
                assert {k: v for k, v in old.items() if k != CLOCK} == {k: v for k, v in new.items() if k != CLOCK}


class TestWhatMotoLacks:
    @pytest.mark.parametrize(
        ("size", "vcpus", "mib", "gpus", "storage", "ebs", "interfaces", "addresses"),
        [
            ("xlarge", 4, 16384, 1, 150, 3170, 2, 4),
            ("2xlarge", 8, 32768, 1, 300, 3170, 2, 4),
            ("4xlarge", 16, 65536, 1, 600, 3170, 3, 10),
            ("8xlarge", 32, 131072, 2, 1200, 3170, 4, 15),
            ("16xlarge", 64, 262144, 4, 2400, 6300, 8, 30),
        ],
    )
    def test_amd_gpus_as_on_the_page(
        self, size: str, vcpus: int, mib: int, gpus: int, storage: int, ebs: int, interfaces: int, addresses: int
    ) -> None:
        item = info(
            f"g4ad.{size}",
            vcpus,
            mib,
            interfaces=interfaces,
            addresses=addresses,
            GpuInfo={"Gpus": [gpu("Radeon Pro V520", "AMD", gpus, 8192)]},
            InstanceStorageInfo=disks(storage),
            EbsInfo={"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"MaximumBandwidthInMbps": ebs}},
        )
        assert labels(item) == CATALOG.labels(f"g4ad.{size}")
        assert resources(item) == CATALOG.resources.amounts(f"g4ad.{size}")

    def test_gaudi_is_a_gpu_and_a_resource_of_its_own(self) -> None:
        item = info(
            "dl1.24xlarge", 96, 786432, interfaces=60, GpuInfo={"Gpus": [gpu("Gaudi HL-205", "Habana", 8, 32768)]}
        )
        found = labels(item)
        assert found[f"{AWS}gpu-name"] == "gaudi-hl-205"
        assert (found[GPU_COUNT], found[f"{AWS}gpu-manufacturer"]) == ("8", "habana")
        assert resources(item)["habana.ai/gaudi"] == "8"
        assert "nvidia.com/gpu" not in resources(item)

    def test_bandwidth_branches_and_price_of_a_type_that_the_page_lacks_come_from_the_tables(self) -> None:
        _, values, _, limits, prices = derived(info("dl1.24xlarge", interfaces=60))
        assert "dl1.24xlarge" not in CATALOG
        assert dict(zip(LABELS, values, strict=True))[BANDWIDTH] == "400000"
        assert limits is not None
        assert limits[2:4] == [True, 62]
        assert resources(info("dl1.24xlarge", interfaces=60))["vpc.amazonaws.com/pod-eni"] == "62"
        assert prices == [13.10904, None, None]

    def test_a_type_in_no_table_has_neither_bandwidth_nor_branches_nor_price(self) -> None:
        item = info("m99.large", interfaces=3, addresses=10)
        assert BANDWIDTH not in labels(item)
        assert "vpc.amazonaws.com/pod-eni" not in resources(item)
        assert derived(item)[3] == [3, 10, False, 0, [3]]
        assert derived(item)[4] == [None, None, None]

    def test_neuron_speaks_for_itself_and_no_inference_accelerator_beside_it(self) -> None:
        devices = [{"Count": 2, "Name": "Inferentia 9", "CoreInfo": {"Count": 4}}]
        accelerators = [{"Count": 7, "Name": "Old Name", "Manufacturer": "AWS"}]
        item = info(
            "inf9.large",
            NeuronInfo={"NeuronDevices": devices},
            InferenceAcceleratorInfo={"Accelerators": accelerators},
        )
        found = labels(item)
        assert found[f"{AWS}accelerator-name"] == "inferentia-9"
        assert (found[f"{AWS}accelerator-manufacturer"], found[f"{AWS}accelerator-count"]) == ("aws", "2")
        assert (resources(item)["aws.amazon.com/neuron"], resources(item)["aws.amazon.com/neuroncore"]) == ("2", "8")

    def test_other_accelerators_are_labels_and_no_resource(self) -> None:
        accelerators = [{"Count": 8, "Name": "Qualcomm AI100", "Manufacturer": "Qualcomm"}]
        item = info("dl9q.24xlarge", InferenceAcceleratorInfo={"Accelerators": accelerators})
        assert labels(item)[f"{AWS}accelerator-name"] == "qualcomm-ai100"
        assert labels(item)[f"{AWS}accelerator-manufacturer"] == "qualcomm"
        assert not [name for name in resources(item) if "aws.amazon.com" in name]

    def test_two_kinds_of_gpu_count_as_resources_but_have_no_label(self) -> None:
        item = info("g99.large", GpuInfo={"Gpus": [gpu("L4", "NVIDIA", 1, 1), gpu("T4", "NVIDIA", 2, 1)]})
        assert GPU_COUNT not in labels(item)
        assert resources(item)["nvidia.com/gpu"] == "3"

    def test_a_part_of_a_gpu_is_a_label_of_none_and_no_resource(self) -> None:
        item = info("g99f.large", GpuInfo={"Gpus": [gpu("L4", "NVIDIA", 0, 2861)]})
        assert (labels(item)[GPU_COUNT], labels(item)[f"{AWS}gpu-memory"]) == ("0", "2861")
        assert "nvidia.com/gpu" not in resources(item)

    def test_bare_metal_has_an_empty_hypervisor(self) -> None:
        item = info("m99.metal", BareMetal=True)
        del item["Hypervisor"]
        assert labels(item)[HYPERVISOR] == ""

    def test_an_unknown_clock_speed_is_zero(self) -> None:
        item = info("m99.large")
        del item["ProcessorInfo"]["SustainedClockSpeedInGhz"]
        assert labels(item)[CLOCK] == "0"

    @pytest.mark.parametrize(
        ("speed", "label"), [(2.5, "2500"), (3.1, "3100"), (2.8994, "2899"), (2.8995, "2900"), (3, "3000")]
    )
    def test_clock_speeds_are_rounded(self, speed: float, label: str) -> None:
        item = info("m99.large")
        item["ProcessorInfo"]["SustainedClockSpeedInGhz"] = speed
        assert labels(item)[CLOCK] == label

    def test_disks_without_nvme_are_no_label(self) -> None:
        nvme = f"{AWS}local-nvme"
        assert labels(info("d9.large", InstanceStorageInfo=disks(100)))[nvme] == "100"
        assert nvme not in labels(info("d9.large", InstanceStorageInfo=disks(100, "unsupported")))
        assert nvme not in labels(info("d9.large", InstanceStorageInfo={"NvmeSupport": "required"}))

    def test_ebs_bandwidth_only_where_it_is_the_default(self) -> None:
        key = f"{AWS}ebs-bandwidth"
        assert key not in labels(
            info(
                "m99.large",
                EbsInfo={"EbsOptimizedSupport": "supported", "EbsOptimizedInfo": {"MaximumBandwidthInMbps": 1}},
            )
        )
        assert key not in labels(info("m99.large", EbsInfo={"EbsOptimizedSupport": "default"}))

    def test_flex_high_memory_and_names_without_generation(self) -> None:
        assert labels(info("c9i-flex.large"))[FLEX] == "true"
        high = labels(info("u-18tb1.112xlarge"))
        assert (high[f"{AWS}category"], high[f"{AWS}generation"], high[FLEX]) == ("u", "1", "false")
        assert high[f"{AWS}family"] == "u-18tb1"
        nameless = labels(info("new-m4.large"))
        assert f"{AWS}category" not in nameless
        assert f"{AWS}generation" not in nameless
        assert nameless[f"{AWS}size"] == "large"

    def test_pods_come_from_the_default_card_alone_and_efa_from_all(self) -> None:
        item = info("p99.48xlarge", 192, 2097152, addresses=50)
        item["NetworkInfo"] |= {
            "MaximumNetworkInterfaces": 9,
            "DefaultNetworkCardIndex": 1,
            "EfaInfo": {"MaximumEfaInterfaces": 2},
            "NetworkCards": [
                {"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 7},
                {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 2},
            ],
        }
        assert resources(item)["pods"] == str(2 * 49 + 2)
        assert resources(item)["vpc.amazonaws.com/efa"] == "2"
        assert derived(item)[3] == [9, 50, False, 0, [7, 2]]

    def test_a_default_card_for_efa_alone_has_no_pods(self) -> None:
        item = info("p99.large", interfaces=0)
        assert "pods" not in resources(item)
        # 16384 MiB less 7.5 % (1229), 255 for the kubelet, 100 below which pods are evicted.
        assert resources(item)["memory"] == "14800Mi"

    @pytest.mark.parametrize(
        ("architectures", "arch", "memory"),
        [
            (["i386", "x86_64"], "amd64", 14800),
            (["x86_64", "arm64"], "amd64", 14800),
            (["arm64"], "arm64", 14741),  # 64 MiB of a Graviton cannot be used: 5 of them the hypervisor's anyway
        ],
    )
    def test_architectures(self, architectures: list[str], arch: str, memory: int) -> None:
        item = info("t99.large", interfaces=0)
        item["ProcessorInfo"]["SupportedArchitectures"] = architectures
        assert (labels(item)[ARCH], labels(item)[OS]) == (arch, "linux")
        assert resources(item)["memory"] == f"{memory}Mi"

    @pytest.mark.parametrize("architectures", [["i386"], ["x86_64_mac"], ["arm64_mac"], []])
    def test_what_the_controller_does_not_ask_for_is_no_row(self, architectures: list[str]) -> None:
        item = info("t99.large")
        item["ProcessorInfo"]["SupportedArchitectures"] = architectures
        assert row(item, CATALOG) is None

    def test_paravirtual_types_are_no_row(self) -> None:
        assert row(info("t99.large", SupportedVirtualizationTypes=["paravirtual"]), CATALOG) is None
        assert row(info("t99.large", SupportedVirtualizationTypes=["paravirtual", "hvm"]), CATALOG) is not None

    @pytest.mark.parametrize(
        ("mib", "memory"),
        # Less 7.5 %, 11 MiB for each of 18 pods, 255 and 100.
        [(4096, "3235Mi"), (1705, "1Gi"), (2812, "2Gi"), (1134194, "1Ti"), (512, "-80Mi"), (598, None)],
    )
    def test_quantities_read_as_kubernetes_prints_them(self, mib: int, memory: str | None) -> None:
        item = info("t99.large", mib=mib, interfaces=1, addresses=17)
        assert resources(item)["pods"] == "18"
        assert resources(item).get("memory") == memory


class TestUsage:
    def test_capacity_blocks_are_no_capacity_type(self) -> None:
        assert usage(info("m99.large")) == ("on-demand", "spot")
        assert usage(info("p4d.24xlarge", SupportedUsageClasses=["capacity-block", "spot", "on-demand"])) == (
            "on-demand",
            "spot",
        )
        assert usage(info("p6.48xlarge", SupportedUsageClasses=["capacity-block"])) == ()
        assert usage({}) == ()

    def test_a_malformed_list_is_refused(self) -> None:
        with pytest.raises(ValueError, match="SupportedUsageClasses"):
            usage({"SupportedUsageClasses": "spot"})


class TestChanges:
    def test_a_neuron_type_that_the_catalogue_lacks_had_the_labels_of_its_name(self) -> None:
        trainium = info(
            "trn2u.48xlarge",
            NeuronInfo={"NeuronDevices": [{"Count": 16, "Name": "Trainium2", "CoreInfo": {"Count": 8}}]},
        )
        assert "trn2u.48xlarge" not in CATALOG
        catalogue = Catalog(snapshot([derived(trainium)], changes(["trn2u.48xlarge"], CATALOG)))
        before = catalogue.for_release(Version(1, 0, 8))
        for part in ("name", "manufacturer", "count"):
            assert before.label("trn2u.48xlarge", f"{AWS}accelerator-{part}") is None
            assert catalogue.label("trn2u.48xlarge", f"{AWS}accelerator-{part}") is not None
        assert catalogue.for_release(Version(1, 1, 1)).label("trn2u.48xlarge", BANDWIDTH) == "3200000"
        assert before.label("trn2u.48xlarge", BANDWIDTH) is None

    def test_only_types_that_are_asked_for_are_named(self) -> None:
        found = changes(["m8azn.large"], CATALOG)
        assert found
        assert {name for change in found for name in change.values} == {"m8azn.large"}
        assert changes([], CATALOG) == ()


def test_the_tables_hold_what_the_catalogue_lacks_and_no_macs() -> None:
    with open(f"{DATA}/tables.json", "rb") as file:
        text = file.read()
    VALIDATOR.validate(json.loads(text))
    tables = parse_snapshot(text)
    assert (tables.labels, tables.priced) == ((BANDWIDTH,), PRICED)
    assert snapshot_text(tables).encode() == text
    for name, values, _, limits, prices in tables.rows:
        assert name not in CATALOG
        assert not name.startswith("mac")
        assert any(fact is not None for fact in (*values, limits, *prices))


FULL = info(
    "p99.large",
    GpuInfo={"Gpus": [gpu("L4", "NVIDIA", 1, 1)]},
    InstanceStorageInfo=disks(100),
    InferenceAcceleratorInfo={"Accelerators": [{"Count": 1, "Name": "X", "Manufacturer": "Y"}]},
    NeuronInfo={"NeuronDevices": [{"Count": 1, "Name": "Z", "CoreInfo": {"Count": 2}}]},
)
FULL["NetworkInfo"]["EfaInfo"] = {"MaximumEfaInterfaces": 1}

OPTIONAL = [
    ("SupportedUsageClasses",),
    ("BareMetal",),
    ("Hypervisor",),
    ("SupportedVirtualizationTypes",),
    ("ProcessorInfo",),
    ("ProcessorInfo", "SupportedArchitectures"),
    ("ProcessorInfo", "SustainedClockSpeedInGhz"),
    ("ProcessorInfo", "Manufacturer"),
    ("EbsInfo",),
    ("EbsInfo", "EbsOptimizedSupport"),
    ("EbsInfo", "EbsOptimizedInfo"),
    ("EbsInfo", "EbsOptimizedInfo", "MaximumBandwidthInMbps"),
    ("NetworkInfo", "MaximumNetworkInterfaces"),
    ("NetworkInfo", "NetworkCards", 0, "NetworkCardIndex"),
    ("NetworkInfo", "EncryptionInTransitSupported"),
    ("NetworkInfo", "EfaInfo"),
    ("NetworkInfo", "EfaInfo", "MaximumEfaInterfaces"),
    ("GpuInfo",),
    ("GpuInfo", "Gpus"),
    ("GpuInfo", "Gpus", 0, "Name"),
    ("InstanceStorageInfo",),
    ("InstanceStorageInfo", "TotalSizeInGB"),
    ("InstanceStorageInfo", "NvmeSupport"),
    ("InferenceAcceleratorInfo",),
    ("InferenceAcceleratorInfo", "Accelerators"),
    ("InferenceAcceleratorInfo", "Accelerators", 0, "Count"),
    ("InferenceAcceleratorInfo", "Accelerators", 0, "Name"),
    ("NeuronInfo",),
    ("NeuronInfo", "NeuronDevices", 0, "Name"),
]

REQUIRED = [
    ("VCpuInfo",),
    ("VCpuInfo", "DefaultVCpus"),
    ("MemoryInfo", "SizeInMiB"),
    ("NetworkInfo",),
    ("NetworkInfo", "NetworkCards"),
    ("NetworkInfo", "DefaultNetworkCardIndex"),
    ("NetworkInfo", "NetworkCards", 0, "MaximumNetworkInterfaces"),
    ("NetworkInfo", "Ipv4AddressesPerInterface"),
    ("GpuInfo", "Gpus", 0, "Manufacturer"),
    ("GpuInfo", "Gpus", 0, "Count"),
    ("GpuInfo", "Gpus", 0, "MemoryInfo"),
    ("NeuronInfo", "NeuronDevices"),
    ("NeuronInfo", "NeuronDevices", 0, "CoreInfo"),
]

Path = tuple[str | int, ...]


def paths(value: object, path: Path = ()) -> Iterator[Path]:
    """Every place in an answer."""
    children: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from paths(child, (*path, key))


def drop_path(item: Any, path: Path) -> None:
    """Take out what stands at a path, where that is there yet."""
    for key in path[:-1]:
        if isinstance(item, dict) and key not in item:
            return
        item = item[key]
    item.pop(path[-1], None)


def fits(found: Row) -> None:
    """A row is one line of a snapshot, for the reader and for the schema."""
    text = snapshot_text(snapshot([found]))
    VALIDATOR.validate(json.loads(text))
    assert parse_snapshot(text).rows == [json.loads(json.dumps(found))]


@given(st.sets(st.sampled_from(OPTIONAL)))
def test_optional_parts_may_be_missing(dropped: set[Path]) -> None:
    item = copy.deepcopy(FULL)
    for path in sorted(dropped, key=lambda p: (-len(p), str(p))):
        drop_path(item, path)
    found = row(item, CATALOG)
    unlisted = {("SupportedVirtualizationTypes",), ("ProcessorInfo",), ("ProcessorInfo", "SupportedArchitectures")}
    assert (found is None) == bool(dropped & unlisted)
    if found is not None:
        fits(found)
        assert dict(zip(LABELS, found[1], strict=True))[INSTANCE_TYPE] == "p99.large"


@pytest.mark.parametrize("path", REQUIRED, ids=lambda path: ".".join(map(str, path)))
def test_what_the_controller_cannot_do_without_is_asked_for_by_name(path: Path) -> None:
    item = copy.deepcopy(FULL)
    drop_path(item, path)
    with pytest.raises(ValueError, match=r"^`p99.large`: (no|a GPU without) "):
        row(item, CATALOG)


@pytest.mark.parametrize("name", [None, "", "large", "a.b.c", "M5.large", 5, "m5.large\n"])
def test_a_name_that_is_none_is_refused(name: object) -> None:
    with pytest.raises(ValueError, match="not a name of an instance type"):
        row({**FULL, "InstanceType": name}, CATALOG)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.one_of(st.none(), st.integers(), st.text(max_size=3)), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(st.sampled_from(list(paths(FULL))), JUNK)
def test_a_malformed_part_is_refused_by_name_or_changes_nothing_else(path: Path, junk: object) -> None:
    item: Any = copy.deepcopy(FULL)
    part = item
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = junk
    try:
        found = row(item, CATALOG)
    except ValueError as error:
        assert str(error).startswith(("`p99.large`: ", f"`{junk}` is not a name"))
        return
    if found is not None:
        fits(found)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("VCpuInfo", "DefaultVCpus"), "4"),
        (("VCpuInfo", "DefaultVCpus"), True),
        (("VCpuInfo", "DefaultVCpus"), -4),
        (("MemoryInfo", "SizeInMiB"), 16384.0),
        (("ProcessorInfo", "SustainedClockSpeedInGhz"), float("nan")),
        (("ProcessorInfo", "SustainedClockSpeedInGhz"), "3.0"),
        (("ProcessorInfo", "SupportedArchitectures"), "x86_64"),
        (("ProcessorInfo",), "x86_64"),
        (("NetworkInfo", "EncryptionInTransitSupported"), "true"),
        (("NetworkInfo", "DefaultNetworkCardIndex"), 3),
        (("NetworkInfo", "NetworkCards"), [1]),
        (("GpuInfo",), ["L4"]),
        (("GpuInfo", "Gpus", 0, "Name"), 4),
        (("Hypervisor",), 4),
    ],
)
def test_malformed_values_are_refused(path: Path, value: object) -> None:
    item: Any = copy.deepcopy(FULL)
    part = item
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(ValueError, match=r"^`p99.large`: "):
        row(item, CATALOG)
