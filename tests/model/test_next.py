"""Karpenter's next minor version, which is not released, and releases that nodelint does not know."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.lint.engine import Report
from nodelint.model.releases import NEWEST, RELEASES, Version, ahead, judged_as, target
from tests.manifests import nodepool

SANDBOX = "karpenter.k8s.aws/nitro-sandbox"


def pool(key: str = "kubernetes.io/arch", values: str = "[amd64]", disruption: str = "{consolidateAfter: 5m}") -> str:
    return nodepool(f"key: {key}, operator: In, values: {values}") + f"  disruption: {disruption}\n"


def graded_messages(report: Report) -> list[tuple[str, str]]:
    return [(result.severity, result.finding.message) for result in report.results]


def test_next_is_the_minor_after_the_newest_release() -> None:
    assert target("next") == Version(NEWEST.major, NEWEST.minor + 1, 0)
    following = ahead()
    assert following is None or following.version == target("next")


def test_a_release_that_is_not_known_is_judged_as_the_nearest_older_one() -> None:
    assert all(judged_as(release) is None for release in RELEASES)
    newest = str(NEWEST)
    assert judged_as(NEWEST._replace(patch=99)) == newest
    if ahead() is None:
        assert {judged_as(version) for version in (target("next"), Version(1, 99, 0), Version(2, 0, 0))} == {newest}
    assert judged_as(Version(1, 13, 7)) == "1.13.1, the nearest older release known here"


@pytest.mark.parametrize("release", ["1.15.0", "1.15.1", "next", "1.99.0"])
def test_consolidate_after_may_be_left_out(check: Callable[..., Report], release: str) -> None:
    text = pool(disruption="{consolidationPolicy: WhenEmpty}")
    assert graded_messages(check(text, karpenter=release)) == []
    message = "required field `consolidateAfter` is missing in spec.disruption"
    assert graded_messages(check(text, karpenter="1.14.3")) == [("error", message)]


def test_the_label_is_known_from_then_on(check: Callable[..., Report]) -> None:
    text = pool(SANDBOX, '["true"]')
    assert graded_messages(check(text)) == []
    message = f"`{SANDBOX}` needs Karpenter 1.15.0 or newer, the target is 1.14.3"
    assert graded_messages(check(text, karpenter="1.14.3")) == [("error", message)]


def test_what_the_label_leaves_is_known_to_aws(
    nodelint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "pool.yaml").write_text(pool(SANDBOX, '["true"]'), encoding="utf-8")
    done = nodelint("explain", "pool.yaml")
    assert "only AWS knows which types support Nitro Enclaves" in " ".join(done.stdout.split())
    (tmp_path / "pool.yaml").write_text(pool(SANDBOX, '["true", "false"]'), encoding="utf-8")
    assert "Nitro Enclaves" not in nodelint("explain", "pool.yaml").stdout


def test_a_value_that_the_label_never_has_is_told(check: Callable[..., Report]) -> None:
    found = graded_messages(check(pool(SANDBOX, '["yes"]')))
    assert [severity for severity, _ in found] == ["error"] and "yes" in found[0][1]


@pytest.mark.parametrize(
    ("release", "severity"), [(str(NEWEST), "error"), ("1.14.9", "error"), ("1.15.9", "warning"), ("next", "warning")]
)
def test_unknown_fields_are_warnings_where_the_release_is_not_known(
    check: Callable[..., Report], release: str, severity: str
) -> None:
    text = pool(disruption="{consolidateAfter: 5m, pace: 3}")
    assert graded_messages(check(text, karpenter=release)) == [
        (severity, "`pace` is not a known field of spec.disruption")
    ]


def test_that_it_is_not_known_is_said(
    nodelint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "pool.yaml").write_text(pool(), encoding="utf-8")
    for release in ("next", str(target("next"))):
        done = nodelint("check", "--karpenter-version", release, "--format", "json")
        assert done.returncode == 0
        assert done.stderr.startswith(f"nodelint: Karpenter {target('next')} is ")
        assert json.loads(done.stdout)["summary"]["karpenter"] == str(target("next"))
