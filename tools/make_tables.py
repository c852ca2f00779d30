"""Make nodelint/data/tables.json from a clone of the Karpenter AWS provider.

    python tools/make_tables.py --karpenter-checkout ../karpenter-provider-aws

The page of instance types shows what three regions of the US offer. The provider's compiled-in tables know
more types: network bandwidth (by release, as in make_catalog.py), network limits and on-demand prices of those
that the catalogue lacks are kept here, for the day when EC2 names one. Macs are left out, Karpenter does not
launch them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from make_catalog import (
    BANDWIDTH,
    BANDWIDTH_LABEL,
    LIMITS,
    OUTPUT,
    PRICES,
    Checkout,
    bandwidth_changes,
    read_bandwidth,
    read_limits,
    read_prices,
)

from nodelint.ec2.snapshot import Origin, Row, Snapshot, parse_snapshot, snapshot_text
from nodelint.model.releases import Version


def make(checkout: Checkout, revision: str, catalogue: Snapshot) -> Snapshot:
    bandwidth = read_bandwidth(checkout.show(revision, BANDWIDTH))
    limits = read_limits(checkout.show(revision, LIMITS))
    prices: dict[str, dict[str, float]] = {}
    days = []
    for path in PRICES:
        made, regions = read_prices(checkout.show(revision, path))
        days.append(made)
        prices |= regions
    tabled = {*bandwidth, *limits, *(name for table in prices.values() for name in table)}
    there = {row[0] for row in catalogue.rows}
    names = sorted(name for name in tabled - there if not name.startswith("mac"))
    rows: list[Row] = [
        (name, [bandwidth.get(name)], [], limits.get(name), [table.get(name) for table in prices.values()])
        for name in names
    ]
    day = checkout.git("log", "-1", "--format=%cs", revision).strip()
    provider = f"Karpenter AWS provider {revision}"
    return Snapshot(
        origin=f"Karpenter {revision}, its tables",
        date=day,
        sources=(
            Origin("network limits", f"{provider}, {LIMITS}", day),
            Origin("network bandwidth", f"{BANDWIDTH} at each release tag", day),
            *(
                Origin("on-demand prices", f"{provider}, {path}", made)
                for path, made in zip(PRICES, days, strict=True)
            ),
        ),
        labels=(BANDWIDTH_LABEL,),
        priced=tuple(prices),
        changes=tuple(
            bandwidth_changes(checkout, Version.parse(revision), {name: bandwidth.get(name) for name in names})
        ),
        rows=rows,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--karpenter-checkout", type=Path, required=True, metavar="DIR")
    parser.add_argument("--release", default="v1.14.1", help="release tag whose tables are read")
    parser.add_argument("--output", type=Path, default=OUTPUT.with_name("tables.json"))
    options = parser.parse_args()
    catalogue = parse_snapshot(OUTPUT.read_bytes())
    snapshot = make(Checkout(options.karpenter_checkout), options.release, catalogue)
    options.output.write_text(snapshot_text(snapshot), encoding="utf-8")
    print(f"{options.output}: {len(snapshot.rows)} instance types", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
