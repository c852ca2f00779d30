"""Ask whether a known vulnerability is in what nodelint runs with (requirements/nodelint.txt).

    python tools/audit.py

Exit code 1 where there is one. Where no advisories can be had, offline say, it says that nothing was asked, and ends
with 0. `pip-audit` asks (`pip install -e '.[supply]'` brings it).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parent.parent / "requirements" / "nodelint.txt"


def verdict(report: dict[str, Any] | None) -> tuple[int, list[str]]:
    """Return the exit code, and the lines to print, of what pip-audit found; None if it ended without a report."""
    packages = [] if report is None else report["dependencies"]
    tried = [package for package in packages if "skip_reason" not in package]
    if not tried:
        return 0, ["audit skipped: no advisories can be had here"]
    lines = [
        f"{package['name']} {package['version']}: {found['id']}, fixed in {' '.join(found['fix_versions']) or 'none'}"
        for package in tried
        for found in package["vulns"]
    ]
    lines += [
        f"{package['name']} was not asked about: {package['skip_reason']}"
        for package in packages
        if package not in tried
    ]
    bad = any(package["vulns"] for package in tried)
    return int(bad), lines if bad else [*lines, f"no known vulnerability in {len(tried)} packages"]


def main() -> int:
    """Run pip-audit on the lock."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--format", "json"]
    done = subprocess.run([*command, "--requirement", str(LOCK)], capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        report = None
        print(done.stderr.strip()[-300:], file=sys.stderr)
    code, lines = verdict(report)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
