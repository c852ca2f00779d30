"""Releases, Kubernetes versions, and the specs that facts are given in."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint.data import table
from nodelint.model.releases import (
    NEWEST,
    OLDEST,
    RELEASES,
    KubernetesVersion,
    Version,
    behaves,
    fixed_for,
    has_defect,
    kubernetes_match,
    releases_match,
    target,
)

RELEASE = st.sampled_from(RELEASES)


def v(text: str) -> Version:
    return Version.parse(text)


def test_releases_are_sorted_numerically_and_without_gaps() -> None:
    assert list(RELEASES) == sorted(set(RELEASES))
    assert Version(1, 0, 0) == OLDEST
    assert RELEASES[-1] == NEWEST
    for before, after in pairwise(RELEASES):
        assert after in (
            (before.major, before.minor, before.patch + 1),
            (before.major, before.minor + 1, 0),
        )


@pytest.mark.parametrize("text", ["1.2.3", "v1.2.3", " 1.2.3 "])
def test_version_is_read(text: str) -> None:
    assert Version.parse(text) == Version(1, 2, 3)
    assert str(Version.parse(text)) == "1.2.3"


@pytest.mark.parametrize("text", ["", "1.2", "1.2.3.4", "1.2.x", "1.2.-3", "1.2.٣", "latest", "1.2.3-rc.1"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="is not a version"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1.2", "1.2.8"),
        ("v1.10", "1.10.2"),
        ("1", str(NEWEST)),
        ("1.4.0", "1.4.0"),
        ("1.15", "1.15.1"),
        ("1.99", "1.99.0"),
        ("2", "2.0.0"),
    ],
)
def test_target(text: str, meant: str) -> None:
    assert target(text) == v(meant)


@pytest.mark.parametrize("text", ["0.37", "0", "0.37.8"])
def test_target_before_one_says_that_it_is_too_old(text: str) -> None:
    with pytest.raises(ValueError, match=rf"{text} is too old"):
        target(text)


@pytest.mark.parametrize("text", ["", "latest", "1.x", "1.2.3.4"])
def test_target_that_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="not a Karpenter version"):
        target(text)


def test_kubernetes_version_drops_its_patch() -> None:
    for text in ("1.33", "v1.33", "1.33.2"):
        assert KubernetesVersion.parse(text) == KubernetesVersion(1, 33)
    assert str(KubernetesVersion(1, 33)) == "1.33"
    with pytest.raises(ValueError, match="such as"):
        KubernetesVersion.parse("33")


def test_specs() -> None:
    spec = ">=1.0.0,<1.2.2||>=1.3.0"
    assert [releases_match(spec, v(t)) for t in ("1.0.0", "1.2.1", "1.2.2", "1.2.8", "1.3.0", "1.14.1")] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
    assert releases_match("", NEWEST)
    assert releases_match("<1.4", v("1.3.8"))
    assert not releases_match("<1.4", v("1.4.0"))
    assert releases_match("=1.4.0", v("1.4.0"))
    assert releases_match("<=1.4.0,>1.3", v("1.4.0"))
    assert kubernetes_match(">=1.33", KubernetesVersion(1, 33))
    assert not kubernetes_match("<1.33", KubernetesVersion(1, 33))
    for bad in ("1.4.0", "~1.4", ">=x"):
        with pytest.raises(ValueError, match="release spec"):
            releases_match(bad, NEWEST)


@given(RELEASE, RELEASE)
def test_a_border_splits_all_releases(border: Version, release: Version) -> None:
    assert releases_match(f">={border}", release) != releases_match(f"<{border}", release)
    assert releases_match(f">{border}", release) != releases_match(f"<={border}", release)
    assert releases_match(f">={border}", release) == (release >= border)


def test_every_spec_of_the_facts_can_be_read() -> None:
    for name in table("versions")["behaviour"]:
        assert behaves(name, OLDEST) != behaves(name, NEWEST)
    for name in table("versions")["defects"]:
        first = next(release for release in RELEASES if has_defect(name, release))
        assert not has_defect(name, NEWEST)
        assert not has_defect(name, fixed_for(name, first))


@pytest.mark.parametrize(
    ("release", "fix"), [("1.2.1", "1.2.2"), ("1.2.0", "1.2.2"), ("1.1.10", "1.2.2"), ("1.0.14", "1.2.2")]
)
def test_way_out_of_pending_images(release: str, fix: str) -> None:
    assert has_defect("pending-images", v(release))
    assert fixed_for("pending-images", v(release)) == v(fix)


def test_loose_matches_end_with_1_4() -> None:
    assert has_defect("undiscovered-memory", v("1.3.8"))
    assert not has_defect("undiscovered-memory", v("1.4.0"))
    assert fixed_for("undiscovered-memory", v("1.3.8")) == v("1.4.0")
