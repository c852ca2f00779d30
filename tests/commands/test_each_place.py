"""A reminder is one line of a report for people; whatever works by places has each of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from nodelint.cli import cli as main
from nodelint.lint.engine import LintRequest, Report, Selection, lint
from nodelint.lint.results import each_place, once_in_a_run
from nodelint.model.releases import NEWEST, Version
from nodelint.rule.classification import GROUPS
from nodelint.rule.definition import Rule
from nodelint.rule.target import Target
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

NAMES = [f"p{number}" for number in range(14)]
REMINDERS = ("default-disruption", "no-limits", "unencrypted-volume")
VOLUMES = (
    "blockDeviceMappings:",
    "  - {deviceName: /dev/xvda, ebs: {volumeSize: 50Gi, volumeType: gp3}}",
    "  - {deviceName: /dev/xvdb, ebs: {volumeSize: 50Gi, volumeType: gp3}}",
)


def texts(names: list[str]) -> dict[str, str]:
    """A pool and a class in a file for each name; the class has two volumes that are not encrypted."""
    classes = {name: nodeclass(*VOLUMES).replace("name: default", f"name: {name}", 1) for name in names}
    return {f"{name}.yaml": f"{nodepool(name=name)}---\n{classes[name]}" for name in names}


def report_of(rules: dict[str, Rule], names: list[str], select: tuple[str, ...] = REMINDERS) -> Report:
    sources = [Source.from_text(path, text) for path, text in texts(names).items()]
    return lint(sources, LintRequest(Target(NEWEST), rules, Selection(frozenset(select))))


def test_one_line_has_all_places(rules: dict[str, Rule]) -> None:
    report = report_of(rules, NAMES)
    assert sorted(result.rule.name for result in report.results) == sorted(REMINDERS)
    for result in report.results:
        places = 28 if result.rule.name == "unencrypted-volume" else 14
        assert len(result.alike) == places
        assert {place.span for place in result.alike} == {result.span, *(also.span for also in result.finding.also)}
    assert once_in_a_run(each_place(report.results)) == list(report.results)


def test_what_is_merged_is_what_each_object_has_alone(rules: dict[str, Rule]) -> None:
    together = {
        (r.rule.name, r.span.source.path, r.span.start, r.finding.message) for r in report_of(rules, NAMES).places
    }
    alone = {
        (r.rule.name, r.span.source.path, r.span.start, r.finding.message)
        for name in NAMES
        for r in report_of(rules, [name]).places
    }
    assert together == alone


def write_reminders(names: list[str], folder: Path) -> None:
    write_files(folder, texts(names))


def check(*args: str) -> str:
    return CliRunner().invoke(main, ["check", "--select", ",".join(REMINDERS), "--color", "never", *args]).stdout


@pytest.mark.parametrize(
    ("form", "mark"),
    [
        ("github", "title=nodelint no-limits"),
        ("gitlab", '"check_name": "no-limits"'),
        ("sarif", '"ruleId": "no-limits"'),
        ("jsonl", '"rule": "no-limits"'),
        ("junit", '<testcase name="no-limits '),
    ],
)
def test_a_format_of_places_names_each(here: Path, form: str, mark: str) -> None:
    write_reminders(NAMES[:12], here)
    assert check("--format", form).count(mark) == 12


def test_json_lists_each_place(here: Path) -> None:
    write_reminders(NAMES, here)
    for finding in json.loads(check("--format", "json"))["findings"]:
        assert {finding["path"], *(place["path"] for place in finding["related"])} == {f"{n}.yaml" for n in NAMES}


def test_a_baseline_knows_places_and_not_lines(here: Path) -> None:
    write_reminders(NAMES[:2], here)
    baseline = ["baseline", "--select", ",".join(REMINDERS)]
    assert CliRunner().invoke(main, baseline).exit_code == 0
    assert "All good" in check("--baseline", "nodelint.baseline.json")
    write_reminders(["aa", "zz"], here)
    messages = check("--baseline", "nodelint.baseline.json", "--format", "json")
    findings = json.loads(messages)["findings"]
    assert sorted(finding["rule"] for finding in findings) == sorted(REMINDERS)
    for finding in findings:
        assert {finding["path"], *(place["path"] for place in finding["related"])} == {"aa.yaml", "zz.yaml"}
    (here / "p0.yaml").unlink()
    assert "p1.yaml" not in check("--baseline", "nodelint.baseline.json")


def test_a_plan_has_what_a_new_object_adds(here: Path) -> None:
    write_reminders(NAMES[:1], here)
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *command], check=True, cwd=here)
    write_reminders(NAMES[:2], here)
    output = CliRunner().invoke(main, ["plan", "--against", "HEAD", "--format", "json", "--profile", "strict"]).stdout
    new = [finding["rule"] for finding in json.loads(output)["findings"]["new"]]
    assert {"no-limits", "unencrypted-volume"} <= set(new)
    assert "default-disruption" not in new  # it is shown on request


def test_a_comment_silences_its_own_place(here: Path) -> None:
    write_reminders(NAMES[:2], here)
    quiet = texts(NAMES[:1])["p0.yaml"].replace("metadata:", "# nodelint: ignore[no-limits] a test\nmetadata:", 1)
    (here / "p0.yaml").write_text(quiet)
    found = [f for f in json.loads(check("--format", "json"))["findings"] if f["rule"] == "no-limits"]
    assert [(finding["path"], finding["related"]) for finding in found] == [("p1.yaml", [])]


def test_an_info_of_a_hazard_is_one_line_too(rules: dict[str, Rule]) -> None:
    report = report_of(rules, NAMES, ("cluster-scoped-namespace",))
    assert report.results == ()
    spaced = {path: text.replace("metadata:", "metadata:\n  namespace: a", 1) for path, text in texts(NAMES).items()}
    sources = [Source.from_text(path, text) for path, text in spaced.items()]
    request = LintRequest(Target(NEWEST), rules, Selection(frozenset({"cluster-scoped-namespace"})))
    [result] = lint(sources, request).results
    assert result.severity == "info"
    assert len(result.alike) == len(NAMES)
    assert "(and 13 more NodePools)" in result.message


OLD = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: NAME}
spec:
  template:
    spec:
      nodeClassRef: {name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
"""


def old_report(rules: dict[str, Rule], release: str, selection: Selection) -> Report:
    sources = [Source.from_text(f"{name}.yaml", OLD.replace("NAME", name)) for name in NAMES[:3]]
    return lint(sources, LintRequest(Target(Version.parse(release)), rules, selection))


def test_reminders_about_an_object_that_is_refused_wait(rules: dict[str, Rule]) -> None:
    strict = Selection(groups=frozenset(GROUPS))
    contents = old_report(rules, "1.14.1", strict)
    assert {r.rule.group for r in contents.results} & {"practice"} == set()
    errors = [r for r in contents.results if r.rule.name == "removed-api"]
    assert [r.severity for r in errors] == ["error"] * 3
    reminders = old_report(rules, "1.14.1", practice(rules)).results
    named = sum(len(r.alike) or 1 for r in reminders if not r.finding.on_request)
    assert f"{named} reminders about 3 objects of an old API left out" in str(errors[0].finding.note)
    assert all("left out" not in str(r.finding.note) for r in errors[1:])
    # A release that serves the object has no reason to wait.
    served = old_report(rules, "1.0.8", strict)
    assert "spot-only" in {r.rule.name for r in served.results}
    assert "left out" not in str([r.finding.note for r in served.results])


def practice(rules: dict[str, Rule]) -> Selection:
    """All rules of practice by name, and what they give way to."""
    return Selection(frozenset(name for name, rule in rules.items() if rule.group == "practice"))


@pytest.mark.parametrize(
    ("release", "severity", "text"),
    [
        ("0.37.0", "info", OLD),
        (
            "0.31.0",
            "warning",
            "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: NAME}\nspec: {}\n",
        ),
    ],
)
def test_what_the_stated_release_still_serves_is_one_line(here: Path, release: str, severity: str, text: str) -> None:
    (here / "main.tf").write_text(
        f'resource "helm_release" "karpenter" {{\n  name = "karpenter"\n  version = "{release}"\n'
        '  chart = "karpenter"\n  repository = "oci://public.ecr.aws/karpenter"\n}\n'
    )
    for name in NAMES[:3]:
        (here / f"{name}.yaml").write_text(text.replace("NAME", name))
    run = CliRunner().invoke(main, ["check", "--select", "removed-api", "--format", "json"])
    [finding] = json.loads(run.stdout)["findings"]
    assert finding["severity"] == severity
    assert {finding["path"], *(place["path"] for place in finding["related"])} == {f"{n}.yaml" for n in NAMES[:3]}
    assert f"Karpenter {release}, which main.tf" in finding["note"]
