"""Make nodelint/data/catalog.json from a clone of the Karpenter AWS provider.

    python tools/make_catalog.py --karpenter-checkout ../karpenter-provider-aws
    python tools/make_catalog.py --described types.json

The second adds types that are newer than the page, as EC2 describes them (`aws ec2 describe-instance-types`).

The clone (bare or not) needs its release tags. Read are: the published page of instance types (labels and
resources of every type), the provider's tables of network limits, network bandwidth and on-demand prices.
The bandwidth table is compiled into each release, so every release's own one is read: where an older
release had another value or none, the snapshot says so under `changes`.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from nodelint.ec2 import instance_types
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.merge import joined
from nodelint.ec2.snapshot import Change, Origin, Row, Snapshot, parse_snapshot, snapshot_text
from nodelint.model.releases import Version

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "nodelint" / "data" / "catalog.json"

BANDWIDTH = "pkg/providers/instancetype/zz_generated.bandwidth.go"
LIMITS = "pkg/providers/instancetype/zz_generated.vpclimits.go"
PRICES = (
    "pkg/providers/pricing/zz_generated.pricing_aws.go",
    "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go",
)

REGIONS = "us-east-1, us-east-2 and us-west-2"
"""The regions that the provider's hack/docs/instancetypes_gen asks for the page."""

ACCELERATOR = "karpenter.k8s.aws/instance-accelerator-"
BANDWIDTH_LABEL = "karpenter.k8s.aws/instance-network-bandwidth"
NEURON_LABELS = Version(1, 1, 0)
"""From this release on accelerator labels come from what EC2 says of Neuron devices (types.go). Before, every
Inferentia and every type whose name starts with `trn1` was `inferentia`, and newer Trainium had no label."""


class Checkout:
    """A clone, read by git at a revision."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], check=True, capture_output=True, encoding="utf-8"
        )
        return done.stdout

    def show(self, revision: str, path: str) -> str:
        return self.git("show", f"{revision}:{path}")

    def releases(self, newest: Version) -> list[Version]:
        """Return the release tags from 1.0.0 to the requested newest one, oldest first."""
        tags = re.findall(r"^v(1\.\d+\.\d+)$", self.git("tag"), re.MULTILINE)
        return sorted(v for v in map(Version.parse, tags) if v <= newest)


def read_page(text: str) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Return labels and resources by instance type, from the Markdown page."""
    types: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    table: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("### `"):
            name = line[5:-1]
            types[name] = ({}, {})
        elif line == "#### Labels":
            table = types[name][0]
        elif line == "#### Resources":
            table = types[name][1]
        elif line.startswith(" |") and name:
            _, key, value, _ = line.split("|")
            if key not in (" Label ", " Resource ", "--"):
                table[key] = value
    return types


def read_bandwidth(text: str) -> dict[str, str]:
    """Return the network bandwidth in Mbit/s by instance type."""
    return dict(re.findall(r'^\s*"([^"]+)":\s*(\d+),', text, re.MULTILINE))


def read_limits(text: str) -> dict[str, list[object]]:
    """Return network limits by instance type: interfaces, addresses on each, trunking, branches, cards."""
    limits: dict[str, list[object]] = {}
    for name, body in re.findall(r'^\t"([^"]+)": \{\n(.*?)^\t\},', text, re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^\t\t(\w+):\s+([^\s{]+),$", body, re.MULTILINE))
        cards = re.findall(r"MaximumNetworkInterfaces:\s*(\d+),\s*NetworkCardIndex:\s*(\d+),", body)
        if fields["DefaultNetworkCardIndex"] != "0" or [int(i) for _, i in cards] != list(range(len(cards))):
            raise ValueError(f"{name}: network cards that the snapshot has no column for")
        limits[name] = [
            int(fields["Interface"]),
            int(fields["IPv4PerInterface"]),
            fields["IsTrunkingCompatible"] == "true",
            int(fields["BranchInterface"]),
            [int(count) for count, _ in cards],
        ]
    return limits


def read_prices(text: str) -> tuple[str, dict[str, dict[str, float]]]:
    """Return the day of the table, and USD per hour by region and instance type."""
    made = re.search(r"generated at (\d{4}-\d{2}-\d{2})", text)
    if made is None:
        raise ValueError("a price table without a date")
    regions: dict[str, dict[str, float]] = {}
    for region, body in re.findall(r'^\t"([a-z-]+\d)": \{\n(.*?)^\t\},', text, re.MULTILINE | re.DOTALL):
        regions[region] = {n: float(p) for n, p in re.findall(r'"([^"]+)": ([\d.]+)', body)}
    return made[1], regions


def bandwidth_changes(checkout: Checkout, newest: Version, labels: dict[str, str | None]) -> list[Change]:
    """Return the bandwidth labels that types had before each release, the newest release first."""
    changes = []
    later = labels
    releases = checkout.releases(newest)
    for release, before in zip(reversed(releases), [*reversed(releases[:-1]), None], strict=True):
        if before is None:
            break
        table = read_bandwidth(checkout.show(f"v{before}", BANDWIDTH))
        earlier = {name: table.get(name) for name in labels}
        differing = {name: earlier[name] for name in sorted(labels) if earlier[name] != later[name]}
        if differing:
            changes.append(Change(release, BANDWIDTH_LABEL, differing))
        later = earlier
    return changes


def accelerator_changes(types: dict[str, dict[str, str]]) -> list[Change]:
    """Return the accelerator labels that Neuron types had before 1.1.0."""
    name_label = f"{ACCELERATOR}name"
    neuron = sorted(n for n, labels in types.items() if labels.get(f"{ACCELERATOR}manufacturer") == "aws")
    nameless = [n for n in neuron if n.startswith("trn") and not n.startswith("trn1")]
    names: dict[str, str | None] = {
        n: None if n in nameless else "inferentia" for n in neuron if types[n][name_label] != "inferentia"
    }
    changes = [Change(NEURON_LABELS, name_label, names)]
    lost = (f"{ACCELERATOR}manufacturer", f"{ACCELERATOR}count")
    return [*changes, *(Change(NEURON_LABELS, label, dict.fromkeys(nameless)) for label in lost)]


def make(checkout: Checkout, revision: str, docs: str, page: str) -> Snapshot:
    newest = Version.parse(revision)
    types = read_page(checkout.show(docs, page))
    labels_of = {name: labels for name, (labels, _) in types.items()}
    limits = read_limits(checkout.show(revision, LIMITS))
    prices: dict[str, dict[str, float]] = {}
    price_days = []
    for path in PRICES:
        day, regions = read_prices(checkout.show(revision, path))
        price_days.append(day)
        prices |= regions

    names = sorted(types)
    label_columns = tuple(sorted({key for labels in labels_of.values() for key in labels}))
    resource_columns = tuple(sorted({key for _, resources in types.values() for key in resources}))
    rows: list[Row] = [
        (
            name,
            [types[name][0].get(key) for key in label_columns],
            [types[name][1].get(key) for key in resource_columns],
            limits.get(name),
            [table.get(name) for table in prices.values()],
        )
        for name in names
    ]
    current = {name: labels_of[name].get(BANDWIDTH_LABEL) for name in names}
    commit = checkout.git("rev-parse", "--short=9", docs).strip()
    page_day = checkout.git("log", "-1", "--format=%cs", docs, "--", page).strip()
    tag_day = checkout.git("log", "-1", "--format=%cs", revision).strip()
    provider = f"Karpenter AWS provider {revision}"
    return Snapshot(
        origin=f"Karpenter {revision}, its instance type page and tables",
        date=page_day,
        sources=(
            Origin("labels and resources", f"{page} at commit {commit}, read in {REGIONS}", page_day),
            Origin("network limits", f"{provider}, {LIMITS}", tag_day),
            Origin("network bandwidth before a release", f"{BANDWIDTH} at each release tag", tag_day),
            *(
                Origin("on-demand prices", f"{provider}, {path}", day)
                for path, day in zip(PRICES, price_days, strict=True)
            ),
        ),
        labels=label_columns,
        resources=resource_columns,
        priced=tuple(prices),
        changes=(*bandwidth_changes(checkout, newest, current), *accelerator_changes(labels_of)),
        rows=rows,
    )


def add_described(snapshot: Snapshot, described: Sequence[Mapping[str, Any]], day: str) -> Snapshot:
    """Add the types that a snapshot lacks, from the items of `InstanceTypes` of `aws ec2 describe-instance-types`.

    Raise ValueError, with type and field, for an item that EC2 cannot have printed.
    """
    known = Catalog(snapshot)
    made = [instance_types.row(item, known) for item in described if item.get("InstanceType") not in known]
    rows = sorted(row for row in made if row is not None)
    new = Snapshot(
        origin="EC2's description of newer types",
        date=day,
        sources=(Origin("newer instance types", "ec2:DescribeInstanceTypes", day),),
        labels=instance_types.LABELS,
        resources=instance_types.RESOURCES,
        priced=instance_types.PRICED,
        changes=instance_types.changes((row[0] for row in rows), known),
        rows=rows,
    )
    return joined(snapshot, new) if rows else snapshot


def add_file(output: Path, described: Path, day: str) -> int:
    """Add the types that a file describes to the existing snapshot. Return how many of them it lacked."""
    old = parse_snapshot(output.read_bytes())
    made = add_described(old, json.loads(described.read_text(encoding="utf-8"))["InstanceTypes"], day)
    output.write_text(snapshot_text(made), encoding="utf-8")
    return len(made.rows) - len(old.rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--karpenter-checkout", type=Path, metavar="DIR")
    source.add_argument(
        "--described", type=Path, metavar="FILE", help="add the types of `aws ec2 describe-instance-types` in a file"
    )
    parser.add_argument("--day", default=date.today().isoformat(), help="the day on which EC2 described the types")
    parser.add_argument("--release", default="v1.14.1", help="release tag whose tables are read")
    parser.add_argument("--docs", default="1d927085d", help="revision that holds the page of instance types")
    parser.add_argument("--page", default="website/content/en/v1.14/reference/instance-types.md")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    if options.described is not None:
        count = add_file(options.output, options.described, options.day)
        print(f"{options.output}: {count} instance types more", file=sys.stderr)
        return 0
    snapshot = make(Checkout(options.karpenter_checkout), options.release, options.docs, options.page)
    options.output.write_text(snapshot_text(snapshot), encoding="utf-8")
    print(
        f"{options.output}: {len(snapshot.rows)} instance types, {len(snapshot.changes)} changes",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
