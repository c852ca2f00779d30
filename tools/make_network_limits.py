"""Make nodelint/data/network_limits.json from a clone of the Karpenter AWS provider.

    python tools/make_network_limits.py --karpenter-checkout ../karpenter-provider-aws

The provider's table of network limits is compiled into each release: a type that the table of a release lacks has no
branch interfaces (`vpc.amazonaws.com/pod-eni`) there, and no addresses for the pods of Windows nodes. The data says
how the table was before a release, for the types of data/catalog.json and data/tables.json: IPv4 addresses of an
interface and branch interfaces, null for a type without a row.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from make_catalog import LIMITS, OUTPUT, Checkout, read_limits

from nodelint.ec2.snapshot import parse_snapshot
from nodelint.model.releases import Version


def read_counts(text: str) -> dict[str, list[int]]:
    """Return the IPv4 addresses of an interface, and the number of branch interfaces, by instance type."""
    return {
        name: [int(str(addresses)), int(str(branches)) if trunking else 0]
        for name, (_, addresses, trunking, branches, _) in read_limits(text).items()
    }


def list_changes(checkout: Checkout, newest: Version, names: set[str]) -> list[dict[str, object]]:
    """Return, for each release that changed the network limits of types in `names`, the limits before it.

    The newest release comes first.
    """
    changes: list[dict[str, object]] = []
    releases = checkout.releases(newest)
    later = read_counts(checkout.show(f"v{newest}", LIMITS))
    for release, before in zip(reversed(releases[1:]), reversed(releases[:-1]), strict=True):
        earlier = read_counts(checkout.show(f"v{before}", LIMITS))
        differing = {name: earlier.get(name) for name in sorted(names) if earlier.get(name) != later.get(name)}
        if differing:
            changes.append({"before": str(release), "limits": differing})
        later = earlier
    return changes


def make(checkout: Checkout, revision: str, names: set[str]) -> str:
    """Return the text of the file, for the types of these names."""
    changes = list_changes(checkout, Version.parse(revision), names)
    source = f"{LIMITS} of the Karpenter AWS provider at each release tag, the newest {revision}"
    body = ",\n".join(json.dumps(change, separators=(",", ":")) for change in changes)
    return f'{json.dumps({"source": source})[:-1]},\n"changes": [\n{body}\n]}}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--karpenter-checkout", type=Path, required=True, metavar="DIR")
    parser.add_argument("--release", default="v1.14.1", help="newest release tag whose table is read")
    parser.add_argument("--output", type=Path, default=OUTPUT.with_name("network_limits.json"))
    options = parser.parse_args()
    files = (OUTPUT, OUTPUT.with_name("tables.json"))
    names = {row[0] for file in files for row in parse_snapshot(file.read_bytes()).rows}
    options.output.write_text(make(Checkout(options.karpenter_checkout), options.release, names), encoding="utf-8")
    print(f"{options.output}: the limits of {len(names)} types", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
