"""What a page for an audit lists of what somebody decided not to report."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path

from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_page_lists_comments_rules_and_known_findings(nodelint: Run, tmp_path: Path) -> None:
    wrong = nodepool("key: kubernetes.io/arch, operator: In, values: [x86_64, amd64]", name="%s")
    ignored = re.sub("(.*x86_64.*)", r"\1  # nodelint: ignore[unknown-value] accepted by Ann", wrong)
    write_files(tmp_path, {"known.yaml": wrong % "known"})
    nodelint("baseline", "known.yaml")
    write_files(tmp_path, {"accepted.yaml": ignored % "accepted", "new.yaml": wrong % "new"})
    configuration = "profile: strict\nignore: [no-limits]\nper-path-ignores: {'dev/**': [tiny-types]}\n"
    write_files(tmp_path, {"nodelint.yaml": f"{configuration}exclude: [vendor]\nbaseline: nodelint.baseline.json\n"})
    nodelint("check", "--format", "html=page.html")
    page = unescape(re.sub(r"<[^>]+>", "\n", (tmp_path / "page.html").read_text(encoding="utf-8")))
    decided = " ".join(page[page.index("Decided, and not reported") : page.index("Not judged, and basis")].split())
    for line in (
        "Profile: strict",
        "Rules that are ignored: no-limits",
        "Rules that are ignored in dev/** : tiny-types",
        "Paths that are not read: vendor",
        "Baseline nodelint.baseline.json: ",
        "Known: known.yaml:10: warning unknown-value :",
        "# nodelint: ignore[unknown-value] accepted by Ann",
        "Suppressed by it: accepted.yaml:10: warning unknown-value : no instance type has arch x86_64",
    ):
        assert line in decided, decided
    assert "Instance types: " in page


def test_json_lists_what_is_not_reported_and_who_decided_it(nodelint: Run, tmp_path: Path) -> None:
    wrong = nodepool("key: kubernetes.io/arch, operator: In, values: [x86_64, amd64]", name="%s")
    ignored = re.sub("(.*x86_64.*)", r"\1  # nodelint: ignore[unknown-value] accepted by Ann", wrong)
    write_files(tmp_path, {"known.yaml": wrong % "known"})
    nodelint("baseline", "known.yaml")
    write_files(tmp_path, {"accepted.yaml": ignored % "accepted", "old/pool.yaml": wrong % "old"})
    settings = (
        "ignore: [no-limits]\nper-path-ignores: {'old/**': [unknown-value]}\nbaseline: nodelint.baseline.json\n"
    )
    write_files(tmp_path, {"nodelint.yaml": settings})
    report = json.loads(nodelint("check", "--format", "json").stdout)
    found = {(entry["by"], entry["path"], entry["rule"]) for entry in report["suppressed"]}
    assert {
        ("baseline", "known.yaml", "unknown-value"),
        ("comment", "accepted.yaml", "unknown-value"),
        ("per-path-ignores", "old/pool.yaml", "unknown-value"),
    } <= found
    assert not any(finding["rule"] == "unknown-value" for finding in report["findings"])
    texts = {entry["comment"]["text"] for entry in report["suppressed"] if entry["comment"]}
    assert texts == {"# nodelint: ignore[unknown-value] accepted by Ann"}
    assert report["summary"]["settings"] == {
        "profile": "default",
        "select": None,
        "extendSelect": [],
        "ignore": ["no-limits"],
        "perPathIgnores": {"old/**": ["unknown-value"]},
        "exclude": [],
        "baseline": "nodelint.baseline.json",
    }
