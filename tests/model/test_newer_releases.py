"""Releases that are not known: newer than all known ones, in ranges beyond them, patches that never were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.model.ranges import releases_in, runs
from nodelint.model.releases import NEWEST, RELEASES, Version, is_newer, target
from nodelint.upgrade.route import route
from tests.conftest import ROOT

Run = Callable[..., CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: 720h
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  disruption: {consolidateAfter: 5m, budgets: [{nodes: "10%"}]}
  limits: {cpu: 1000}
"""
CLASS = """\
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260610}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: main}}]
"""
PAIR = POOL + CLASS
WRONG = {
    "field": PAIR.replace("  limits:", "  pace: 3\n  limits:"),
    "value": PAIR.replace('"10%"}', '"10%", reasons: [Tired]}'),
    "type": PAIR.replace("cpu: 1000}", "cpu: [1000]}"),
    "rule": PAIR.replace("  role: nodes", "  role: nodes\n  instanceProfile: nodes"),
    "label": PAIR.replace("kubernetes.io/arch", "karpenter.k8s.aws/instance-mood"),
}
AFTER = str(target("next"))


def severities(nodelint: Run, folder: Path, text: str, karpenter: str) -> tuple[list[str], str]:
    (folder / "pair.yaml").write_text(text, encoding="utf-8")
    done = nodelint("check", "--karpenter-version", karpenter, "--format", "json", "pair.yaml")
    return [finding["severity"] for finding in json.loads(done.stdout)["findings"]], done.stderr


@pytest.mark.parametrize("karpenter", [AFTER, "2.0.0", f">={AFTER}", "next"])
def test_of_a_newer_release_nothing_is_refused_for_certain(nodelint: Run, tmp_path: Path, karpenter: str) -> None:
    found, message = severities(nodelint, tmp_path, PAIR, karpenter)
    assert found == []
    first, *more = message.splitlines()
    assert f"is newer than the releases that nodelint knows (to {NEWEST}, of " in first
    assert "day" in first and " A newer nodelint may know " in first
    assert more == []
    for text in WRONG.values():
        assert severities(nodelint, tmp_path, text, karpenter)[0] == ["warning"]
        assert severities(nodelint, tmp_path, text, str(NEWEST))[0] == ["error"]


def test_what_is_not_about_admission_stays_as_grave(nodelint: Run, tmp_path: Path) -> None:
    nothing = PAIR.replace("values: [amd64]}", "values: [amd64]}\n        - {key: kubernetes.io/arch, operator: In, "
                           "values: [arm64]}")  # fmt: skip
    assert "error" in severities(nodelint, tmp_path, nothing, AFTER)[0]


def test_a_range_that_reaches_beyond_what_is_known(nodelint: Run, tmp_path: Path) -> None:
    over = f">={NEWEST.major}.{NEWEST.minor - 1} <={AFTER.removesuffix('.0')}"
    assert severities(nodelint, tmp_path, PAIR, over)[0] == []
    assert f"Karpenter {AFTER} is newer than" in severities(nodelint, tmp_path, PAIR, over)[1]
    # Known releases are in the range as well, and refuse it.
    assert severities(nodelint, tmp_path, WRONG["field"], over)[0] == ["error"]
    open_end = f">={NEWEST.major}.{NEWEST.minor}"
    assert severities(nodelint, tmp_path, PAIR, open_end) == ([], "")


@given(st.sampled_from([">=", ">", "<=", "<", "="]), st.integers(1, 3), st.integers(0, 40), st.integers(0, 3))
def test_a_range_holds_known_releases_or_newer_ones_and_no_others(sign: str, a: int, b: int, c: int) -> None:
    bound = Version(a, b, c)
    try:
        found = releases_in(f"{sign}{bound}")
    except ValueError:
        assert not is_newer(bound)
        return
    assert found and all(release in RELEASES or is_newer(release) for release in found)
    for release in found:
        within = {">=": release >= bound, ">": release > bound, "<=": release <= bound, "<": release < bound}
        assert within.get(sign, release == bound)
    assert all(is_newer(run.first) == is_newer(run.last) for run in runs(found))


def test_a_patch_that_never_was_is_said_not_to_be_known(nodelint: Run, tmp_path: Path) -> None:
    found, message = severities(nodelint, tmp_path, PAIR, "1.13.7")
    assert (found, message) == (
        [],
        "nodelint: Karpenter 1.13.7 is not a release that nodelint knows; it is judged as 1.13.1, the nearest "
        "older release"
        " known here\n",
    )
    assert severities(nodelint, tmp_path, WRONG["field"], "1.13.7")[0] == ["error"]


def test_a_chart_that_states_a_newer_release_is_said_too(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(PAIR, encoding="utf-8")
    (tmp_path / "release.yaml").write_text(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\n"
        f"spec: {{chart: {{spec: {{chart: karpenter, version: {AFTER}}}}}}}\n",
        encoding="utf-8",
    )
    for command in (("check",), ("hash",)):
        done = nodelint(*command, ".")
        assert done.returncode == 0
        assert done.stderr.startswith(f"nodelint: Karpenter {AFTER} is newer than the releases that nodelint knows")


def test_no_range_of_kubernetes_is_claimed(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text(PAIR, encoding="utf-8")
    judged = ("check", "--kubernetes-version", "1.37", "--select", "unsupported-kubernetes", "pair.yaml")
    assert "Kubernetes up to" in nodelint(*judged, "--karpenter-version", "1.14.3").stdout
    assert "Kubernetes up to" not in nodelint(*judged, "--karpenter-version", AFTER).stdout
    assert route(NEWEST, target("next"), None).new is None
    flags = ("upgrade", "--from", "1.14.1", "--to", AFTER, "pair.yaml")
    assert f"what {AFTER} supports is not known" in " ".join(nodelint(*flags).stdout.split())
    report = json.loads(nodelint(*flags, "--format", "json", "--fail-on", "never").stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "upgrade.schema.json").read_text(encoding="utf-8")))
    assert report["route"]["kubernetes"]["to"] is None


def test_a_field_that_is_not_known_is_left_out_of_the_hash_and_said(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "pool.yaml").write_text(POOL.replace("      expireAfter", "      mood: 3\n      expireAfter"))
    done = nodelint("hash", "pool.yaml", "--karpenter-version", AFTER)
    assert "without spec.template.spec.mood: not known to nodelint" in done.stdout
    report = json.loads(nodelint("hash", "pool.yaml", "--karpenter-version", AFTER, "--format", "json").stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "hash.schema.json").read_text(encoding="utf-8")))
    assert report["objects"][0]["leftOut"] == ["spec.template.spec.mood"]
    assert "leftOut" not in nodelint("hash", "pool.yaml", "--format", "json").stdout


@pytest.mark.parametrize(
    ("old", "new", "karpenter", "verdict"),
    [
        ("", "      mood: 3\n", AFTER, "unknown"),
        ("      mood: 3\n", "      mood: 4\n", AFTER, "unknown"),
        ("      mood: 3\n", "      mood: 3\n", AFTER, "none"),
        ("", "      mood: 3\n", str(NEWEST), "none"),
    ],
)
def test_a_plan_does_not_say_that_no_node_goes_for_a_field_that_is_not_known(
    nodelint: Run, tmp_path: Path, old: str, new: str, karpenter: str, verdict: str
) -> None:
    for side, line, weight in (("old", old, 1), ("new", new, 2)):
        (tmp_path / side).mkdir()
        text = PAIR.replace("      expireAfter", f"{line}      expireAfter")
        text = text.replace("  limits:", f"  weight: {weight}\n  limits:")
        (tmp_path / side / "pair.yaml").write_text(text, encoding="utf-8")
    done = nodelint("plan", "--old", "old", "new", "--karpenter-version", karpenter, "--format", "json")
    (pool,) = json.loads(done.stdout)["nodePools"]
    assert pool["replaced"] == verdict
