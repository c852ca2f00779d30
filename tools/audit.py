"""Ask pip-audit whether a package of requirements/nodelint.txt has a known vulnerability.

    python tools/audit.py

The exit code is 1 if one has. If pip-audit cannot get advisories, for example offline, the exit code is 0, and a
line says that nothing was checked. `pip install -e '.[supply]'` installs pip-audit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parent.parent / "requirements" / "nodelint.txt"


def verdict(report: dict[str, Any] | None) -> tuple[int, list[str]]:
    """Return the exit code, and the lines to print, for a report of pip-audit. None means that it ended without a
    report.
    """
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
    """Run pip-audit on the lock file."""
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
