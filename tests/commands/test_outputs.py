"""Where reports go: several formats at once, files, and what a baseline keeps out of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import by_place
from tests.manifests import nodeclass
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CLASS = nodeclass("detailedMonitorin: true")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    path = tmp_path / "class.yaml"
    path.write_text(CLASS, encoding="utf-8")
    return path


def test_several_formats_at_once(nodelint: Run, manifest: Path) -> None:
    done = nodelint("check", "--format", "text", "--format", "sarif=a.sarif", "--format", "junit=b.xml", "class.yaml")
    assert (done.returncode, done.stderr) == (1, "")
    assert by_place(done.stdout).startswith("class.yaml:10:3: error[unknown-field]")
    sarif = json.loads((manifest.parent / "a.sarif").read_text(encoding="utf-8"))
    assert [r["ruleId"] for r in sarif["runs"][0]["results"]] == ["unknown-field"]
    assert (manifest.parent / "b.xml").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_a_file_holds_what_standard_output_would(nodelint: Run, manifest: Path, form: str) -> None:
    printed = nodelint("check", "--format", form, "class.yaml")
    written = nodelint("check", "--format", form, "--output", "report", "class.yaml")
    assert (written.returncode, written.stdout) == (1, "")
    assert (manifest.parent / "report").read_text(encoding="utf-8") == printed.stdout != ""


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--format", "xml"], "`xml` is not one of text, concise, json, jsonl, sarif"),
        (["--format", "sarif="], "`sarif=` names no file"),
        (["--format", "text", "--format", "json", "--output", "x"], "--output takes one format"),
        (["--format", "json=x", "--format", "sarif=x"], "two formats would go to one file"),
        (["--format", "text", "--format", "json"], "json has to stand alone on standard output"),
        (["--output", "missing/x"], "missing/x: not written: the folder missing does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_written_is_said(nodelint: Run, manifest: Path, flags: list[str], message: str) -> None:
    done = nodelint("check", *flags, "class.yaml")
    assert done.returncode == 2
    assert message in done.stderr


def test_every_format_of_a_run_without_manifests(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("a: 1\n")
    for form in ("sarif", "github", "gitlab", "junit", "markdown"):
        done = nodelint("check", "--format", form, "empty.yaml")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout


def test_a_baseline_keeps_old_findings_out(nodelint: Run, manifest: Path) -> None:
    done = nodelint("baseline", "class.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "nodelint.baseline.json: 1 finding (1 new, 0 gone). Next: nodelint check --baseline nodelint.baseline.json\n"
    )
    known = nodelint("check", "--baseline", "nodelint.baseline.json", "class.yaml")
    assert known.returncode == 0
    assert "All good" in known.stdout and "Baseline: 1 known." in known.stdout
    # Moved by a line, it is the same; another one is new.
    manifest.write_text("# moved\n" + CLASS.replace("role:", "rolle: x\n  role:"), encoding="utf-8")
    (manifest.parent / "nodelint.yaml").write_text("baseline: nodelint.baseline.json\n")
    new = nodelint("check", "class.yaml")
    assert new.returncode == 1
    assert "`rolle`" in new.stdout and "detailedMonitorin" not in new.stdout


def test_what_is_fixed_drops_out_of_the_baseline(nodelint: Run, manifest: Path) -> None:
    nodelint("baseline", "class.yaml")
    manifest.write_text(CLASS.replace("Monitorin:", "Monitoring:"), encoding="utf-8")
    messages = nodelint("check", "--baseline", "nodelint.baseline.json", "class.yaml")
    assert "1 no longer there; `nodelint baseline --prune` removes them" in messages.stdout
    again = nodelint("baseline", "class.yaml")
    assert "0 findings (0 new, 1 gone)" in again.stdout
    data = json.loads((manifest.parent / "nodelint.baseline.json").read_text(encoding="utf-8"))
    assert data["findings"] == []


def test_pruning_drops_what_is_fixed_and_adds_nothing(nodelint: Run, manifest: Path) -> None:
    assert "no baseline to prune" in nodelint("baseline", "--prune", "class.yaml").stderr
    manifest.write_text(CLASS.replace("role:", "rolle: x\n  role:"), encoding="utf-8")
    nodelint("baseline", "class.yaml")
    # One of two is fixed, and another one is new.
    manifest.write_text(CLASS.replace("role:", "rollle: x\n  role:"), encoding="utf-8")
    pruned = nodelint("baseline", "--prune", "class.yaml")
    assert (pruned.returncode, pruned.stderr) == (0, "")
    assert "1 finding (1 gone)" in pruned.stdout
    data = json.loads((manifest.parent / "nodelint.baseline.json").read_text(encoding="utf-8"))
    assert ["detailedMonitorin" in row["message"] for row in data["findings"]] == [True]
    messages = nodelint("check", "--baseline", "nodelint.baseline.json", "class.yaml")
    assert "`rollle`" in messages.stdout and "Baseline: 1 known." in messages.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "line 1 is not JSON"), ("{}", "the key `nodelint-baseline` is missing"), (None, "no such file")],
)
def test_a_baseline_that_cannot_be_read(nodelint: Run, manifest: Path, text: str | None, message: str) -> None:
    if text is not None:
        (manifest.parent / "old.json").write_text(text)
    done = nodelint("check", "--baseline", "old.json", "class.yaml")
    assert done.returncode == 2
    assert message in done.stderr


def test_a_baseline_is_not_written_over_files_that_were_not_read(nodelint: Run, manifest: Path) -> None:
    nodelint("baseline", "class.yaml")
    before = (manifest.parent / "nodelint.baseline.json").read_bytes()
    done = nodelint("baseline", "class.yaml", "missing.yaml")
    assert done.returncode == 2
    assert "nodelint.baseline.json is not changed" in done.stderr
    assert (manifest.parent / "nodelint.baseline.json").read_bytes() == before


def test_scripts_and_markdown_in_folders_are_read_where_included(nodelint: Run, manifest: Path) -> None:
    manifest.unlink()
    (manifest.parent / "README.md").write_text(f"# How\n\n```yaml\n{CLASS}```\n", encoding="utf-8")
    assert "Nothing to check" in nodelint("check").stdout
    done = nodelint("check", "--include", "*.md")
    assert done.returncode == 1
    assert "README.md:13:3: error[unknown-field]" in by_place(done.stdout)


POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  weight: 200
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: [spott]
"""


def _write_overlay(folder: Path) -> None:
    """A base whose weight an overlay puts right."""
    write_files(
        folder,
        {
            "base/kustomization.yaml": "resources: [pool.yaml]\n",
            "base/pool.yaml": POOL,
            "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: weight.yaml}]\n",
            "prod/weight.yaml": "apiVersion: karpenter.sh/v1\nkind: NodePool\n"
            "metadata: {name: default}\nspec: {weight: 10}\n",
        },
    )


def test_overlays_are_judged_as_they_are_built(nodelint: Run, tmp_path: Path) -> None:
    _write_overlay(tmp_path)
    done = nodelint("check", "--format", "json")
    found = {(f["path"], f["start"]["line"]) for f in json.loads(done.stdout)["findings"]}
    assert ("base/pool.yaml", 13) in found
    assert ("base/pool.yaml", 6) not in found, "the overlay puts it right"
    fixed = nodelint("check", "--unsafe-fixes")
    assert fixed.returncode == 0, fixed.stdout
    assert (tmp_path / "base" / "pool.yaml").read_text(encoding="utf-8") == POOL.replace("spott", "spot")


def test_a_baseline_of_overlays_is_that_of_their_check(nodelint: Run, tmp_path: Path) -> None:
    _write_overlay(tmp_path)
    written = nodelint("baseline")
    assert written.returncode == 0, written.stderr
    entries = json.loads((tmp_path / "nodelint.baseline.json").read_text(encoding="utf-8"))["findings"]
    assert [entry["field"] for entry in entries] == [
        "spec.template.spec.requirements[karpenter.sh/capacity-type].values[*]"
    ], "the weight, which the overlay puts right, is none"
    assert nodelint("check", "--baseline", "nodelint.baseline.json").returncode == 0


def test_a_baseline_is_not_written_where_an_overlay_could_not_be_built(nodelint: Run, tmp_path: Path) -> None:
    _write_overlay(tmp_path)
    weight = tmp_path / "prod" / "weight.yaml"
    weight.write_text(weight.read_text(encoding="utf-8").replace("default", "nobody"), encoding="utf-8")
    done = nodelint("baseline")
    assert done.returncode == 2
    assert "nodelint.baseline.json is not changed" in done.stderr
    assert not (tmp_path / "nodelint.baseline.json").exists()


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_reviews_show_places_of_the_repository_and_people_what_they_can_open(
    nodelint: Run, tmp_path: Path, form: str
) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "clusters" / "prod"
    folder.mkdir(parents=True)
    (folder / "pool.yaml").write_text(POOL, encoding="utf-8")
    output = nodelint("check", "--format", form, "pool.yaml", cwd=folder).stdout
    assert ("clusters/prod/pool.yaml" in output) == (form not in ("text", "json"))
