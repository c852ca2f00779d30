"""Print the releases of Karpenter and the versions of Kubernetes that the page offers, as JSON, the newest first."""

from __future__ import annotations

import json

from nodelint.data import table
from nodelint.model.releases import supported, target


def main() -> None:
    """Print both lists: of Karpenter the last patch of each minor release."""
    newest: dict[str, str] = {}
    for release in table("versions")["releases"]:
        newest[release.rpartition(".")[0]] = release
    ranges = [supported(target(release)) for release in newest.values()]
    last = max(found.most.minor for found in ranges)
    first = min(found.least.minor for found in ranges)
    kubernetes = [f"1.{minor}" for minor in range(last, first - 1, -1)]
    print(json.dumps({"karpenter": list(newest.values())[::-1], "kubernetes": kubernetes}))


if __name__ == "__main__":
    main()
