"""The bundled schemas against the CRDs of each release.

What the CRDs of some releases say of a thousand spoilt objects is written down in `crd_verdicts.json`, and compared
in every run. `NODELINT_CRDS` names a folder that holds the two CRDs of any number of releases, each in a folder of
the release's name: `v1.4.0/karpenter.sh_nodepools.yaml` and the like, as Karpenter's repository has them in
`pkg/apis/crds`; `next` is what is not released. With it `NODELINT_CRDS_ROUNDS` objects for each release and kind are
judged by both; both sides must agree on each.
"""

import copy
import json
import os
from pathlib import Path

import pytest

from nodelint.apiserver import Schemas, check
from nodelint.model.releases import RELEASES, target
from tests.crd_objects import (
    EACH,
    RECORDED,
    SPECS,
    VERDICTS,
    Chance,
    digest,
    places,
    read,
    spoil,
    spoilt_objects,
    verdict,
)

CRDS = os.environ.get("NODELINT_CRDS")
FOLDERS = [
    folder
    for folder in (sorted(Path(CRDS).iterdir()) if CRDS else [])
    if folder.name == "next" or folder.name.removeprefix("v") in {str(release) for release in RELEASES}
]
ROUNDS = int(os.environ.get("NODELINT_CRDS_ROUNDS", "60"))
"""Objects for each release and kind."""

with_crds = pytest.mark.skipif(not FOLDERS, reason="NODELINT_CRDS names no folder with CRDs of known releases")


@pytest.mark.parametrize("release", RECORDED)
def test_the_verdict_is_that_which_the_crds_gave(release):
    recorded = json.loads(VERDICTS.read_text(encoding="utf-8"))[release]
    assert digest(release) == recorded["objects"], "other objects: python -m tests.crd_objects FOLDER-OF-CRDS"
    letters = recorded["verdicts"]
    assert min(map(letters.count, ".ux")) > 10
    ours = Schemas.bundled()
    for whole, letter in zip(spoilt_objects(release, EACH), letters, strict=True):
        obj = read(whole)
        problems = [] if obj is None else check(obj, target(release), ours)
        # A value of a newer release is told as such, whether it is refused or not.
        near = "ux" if any(problem.layer == "release" for problem in problems) else letter
        assert verdict(obj, release, ours) in near, (whole, letter, [problem.message for problem in problems])


@with_crds
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_the_verdict_is_that_of_the_crds(folder):
    release, theirs, ours = target(folder.name), Schemas.from_crds(folder), Schemas.bundled()
    assert theirs.skipped == ()
    chance = Chance(folder.name)
    taken = refused = 0
    for version, kind, spec in SPECS:
        for _ in range(ROUNDS):
            whole = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spoil(spec, chance)}
            obj = read(whole)
            if obj is None:
                continue
            here, there = check(obj, release, ours), check(obj, release, theirs)
            assert bool(here) == bool(there), (whole, [p.message for p in here], [p.message for p in there])
            taken += not here
            refused += bool(here)
    assert taken
    assert refused


@with_crds
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_what_is_taken_is_taken_with_placeholders_and_in_parts(folder):
    release = target(folder.name)
    chance = Chance(folder.name)
    for schemas in (Schemas.bundled(), Schemas.from_crds(folder)):
        for version, kind, spec in SPECS:
            for _ in range(ROUNDS // 4):
                whole = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spoil(spec, chance)}
                obj = read(whole)
                if obj is None or check(obj, release, schemas):
                    continue
                masked, part = copy.deepcopy(whole), copy.deepcopy(whole)
                for holder, key in list(places(masked["spec"])):
                    if isinstance(holder[key], (str, int)) and chance.chance_of(10):
                        holder[key] = "${ANY}"
                obj = read(masked)
                assert obj is None or not check(obj, release, schemas), masked
                holder, key = chance.choice([place for place in places(part["spec"]) if isinstance(place[0], dict)])
                del holder[key]
                obj = read(part)
                assert obj is not None
                obj.partial = True
                assert not check(obj, release, schemas), part
