"""Law of fixes in every form: safe ones move no node, none makes a finding that it does not name, files stay whole.

`python -m tests.laws.test_fixes_in_every_form 5000` tries as many trees, `100-200` those of these numbers, and
`--show 117` prints one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from nodelint.apiserver import Schemas
from nodelint.commands._check_run import FactFlags
from nodelint.commands._lint_setup import Judging, judge_of, judging, prover_of
from nodelint.config.settings import Settings
from nodelint.files.discover import discover
from nodelint.files.gate import gate
from nodelint.laws.rule_laws import cases
from nodelint.lint.autofix import Fixed, fix
from nodelint.lint.engine import Report
from nodelint.lint.fix_trials import FindingKey, Name, count_reported, name_of
from nodelint.lint.results import OccupiedSpans, Result
from nodelint.model.documents import objects
from nodelint.model.releases import Version
from nodelint.plan import PlanOptions, Side
from nodelint.plan.each_release import make_each
from nodelint.plan.fix_drift import _own_options
from nodelint.plan.refusals import why_never_stored
from nodelint.rule.definition import bundled, load
from tests.forms.test_rules_in_forms import Manifests, manifests_of
from tests.laws.fix_forms import FORMS, Files, mixed
from tests.laws.test_fix_laws import worlds
from tests.laws.test_fix_makes_nothing_new import pairs
from tests.plain_yaml import load_all_yaml
from tests.repositories import write_files

EXAMPLES: list[Manifests] = [
    manifests
    for rule in load(bundled()).values()
    for case in cases(rule) * (1 if rule.fix is None else 3)
    if (manifests := manifests_of(case)) is not None and all("spec" in m for m in manifests)
]
PAIRS: list[Manifests] = [
    list(load_all_yaml(text))
    for text, _ in (*worlds(), *pairs())
    if text.startswith("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name")
]
RELEASES = ("", "", "", "", "1.2.1", "1.8.0")


class Tried(NamedTuple):
    """What came of a run of fixes."""

    form: str
    fixes: int
    breaks: list[str]


def read(folder: Path, release: str) -> Judging:
    """What is judged of the files below a folder, for a release or for what they state."""
    os.chdir(folder)
    gate.admit(".")
    found = discover(["."])
    settings = Settings(Version.parse(release), True) if release else Settings()
    return judging(found, FactFlags(False, None, None), settings, ["."])


def make_tree(seed: int) -> tuple[str, Files]:
    """The form and the files of a number."""
    random = Random(seed)
    form = list(FORMS)[seed % len(FORMS)]
    return form, FORMS[form](mixed(EXAMPLES if random.random() < 0.6 else PAIRS, random), random)


def try_tree(folder: Path, files: Files, unsafe: bool, release: str = "") -> tuple[int, list[str]]:
    """How many fixes a run makes of a tree, and which laws do not hold."""
    write_files(folder, files)
    ready = read(folder, release)
    judge = judge_of(1, ready.inventory)
    sources = ready.inventory.files
    before = judge(sources, ready.request)
    prover = prover_of(ready)
    if not any(result.fixable for result in before.results):
        return 0, []
    shown = prover_of(ready).offered(sources, before)
    done = fix(sources, ready.request, unsafe=unsafe, judge=judge, report=before, prove=prover)
    if not done.applied:
        return 0, list(list_lost(shown, done, unsafe))
    write_files(folder, {source.path: source.text for source in done.sources})
    again = read(folder, release)
    after = judge_of(1, again.inventory)(again.inventory.files, again.request)
    breaks = [*list_lost(shown, done, unsafe), *list_unread(ready, again)]
    known, now = count_reported(before), count_reported(after)
    here = {name_of(obj) for source in ready.inventory.sources for obj in objects(source, foreign=True, more=True)}
    following: set[FindingKey] = prover.following if unsafe else set()
    new = {m for m, count in now.items() if count > known[m] and m[1] in here} - following
    breaks += [f"new: {mark} after {sorted({r.rule.name for r in done.applied})}" for mark in sorted(new)]
    breaks += list_staying(before, done, after)
    if not unsafe:
        breaks += [
            f"replaced: {name} after {sorted({r.rule.name for r in done.applied})}"
            for name in find_replaced(ready, again)
        ]
    return len(done.applied), breaks


def list_lost(shown: Report, done: Fixed, unsafe: bool) -> Iterator[str]:
    """The fixes that a check shows as safe, and that a run of fixes does not keep.

    A fix of text that another fix has changed is judged anew: what the check says is about the text that it shows.
    """
    left = Counter(map(key_of_text, done.report.places))
    made = OccupiedSpans()
    for result in done.applied:
        made.add(edit.span for edit in result.finding.edits)
    for result in shown.places:
        if unsafe or not result.fixable or result.safety != "safe" or not left[key_of_text(result)]:
            continue
        if not any(made.touches(edit.span) for edit in result.finding.edits):
            yield f"shown as safe and not made: {key_of_text(result)}"


def key_of_text(result: Result) -> tuple[str, Name, str]:
    """What a finding says, wherever it says so."""
    return result.rule.name, name_of(result.built or result.object), result.finding.message


def list_unread(before: Judging, after: Judging) -> Iterator[str]:
    def faults(ready: Judging) -> int:
        sources = ready.inventory.files
        return sum(len(source.problems) + len(source.set_aside) for source in sources)

    if faults(after) > faults(before):
        yield f"unreadable: {[(s.path, p.message) for s in after.inventory.files for p in s.problems]}"
    if len(after.inventory.gaps) > len(before.inventory.gaps):
        yield f"more gaps: {[gap.sentence for gap in after.inventory.gaps]}"


def list_staying(before: Report, done: Fixed, after: Report) -> Iterator[str]:
    """The findings of safe fixes that were made and are still there."""
    known, now = (Counter(map(key_of_text, report.places)) for report in (before, after))
    for result in done.applied:
        for place in result.alike or (result,):
            if result.safety == "safe" and now[key_of_text(place)] >= known[key_of_text(place)] > 0:
                yield f"stays: {key_of_text(place)}"


def find_replaced(before: Judging, after: Judging) -> list[str]:
    """The pools and classes that lose nodes by what the files have become, as `plan` compares them whole."""
    target = before.target
    options = PlanOptions(target.karpenter, target.kubernetes, Schemas.bundled(), target.facts, target.facts)
    sides = [Side(ready.inventory) for ready in (before, after)]
    plan = make_each(*sides, options, lambda old, new: _own_options(options, target, old, new))
    found = []
    for part in plan.pools:
        old = part.pair.old
        if old is None or part.replaced == "none" or part.never_stored:
            continue
        if why_never_stored(old, options.release, options.schemas) is None:
            found.append(f"{part.name}: {part.replaced}")
    classes = [part for part in plan.class_plans if part.never_stored is None and not part.replaces_none]
    return found + [part.node_class.label for part in classes]


def try_seeds(seeds: Sequence[int]) -> Iterator[tuple[int, Tried]]:
    here = os.getcwd()
    for seed in seeds:
        form, files = make_tree(seed)
        with tempfile.TemporaryDirectory() as folder:
            try:
                fixes, breaks = try_tree(
                    Path(folder), files, unsafe=bool(seed // len(FORMS) % 2), release=Random(seed).choice(RELEASES)
                )
            finally:
                os.chdir(here)
        yield seed, Tried(form, fixes, breaks)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(FORMS)), ids=list(FORMS))
def test_fixes_hold_in_every_form(seed: int) -> None:
    """Safe fixes and unsafe ones, form by form in turn."""
    tried = [tried for _, tried in try_seeds([seed + len(FORMS) * (seed % 2)])]
    assert [line for result in tried for line in result.breaks] == []


@pytest.mark.parametrize("seed", [2056, 2324, 2561, 3205, 3409, 4826, 4874])
def test_trees_that_did_not_hold_once_do(seed: int) -> None:
    assert [line for _, tried in try_seeds([seed]) for line in tried.breaks] == []


def main() -> None:
    """Try many trees and print the counts."""
    if sys.argv[1] == "--show":
        form, files = make_tree(int(sys.argv[2]))
        print(
            form,
            Random(int(sys.argv[2])).choice(RELEASES),
            *(f"--- {path}\n{text}" for path, text in files.items()),
            sep="\n",
        )
        return
    first, _, last = sys.argv[1].rpartition("-")
    runs, fixed, fixes = Counter[str](), Counter[str](), Counter[str]()
    broken = 0
    for seed, tried in try_seeds(range(int(first or 0), int(last))):
        runs[tried.form] += 1
        fixed[tried.form] += bool(tried.fixes)
        fixes[tried.form] += tried.fixes
        broken += bool(tried.breaks)
        for line in tried.breaks:
            print(f"{seed} {tried.form}: {line[:400]}", flush=True)
    for form, number in runs.items():
        print(f"| {form} | {number} | {fixed[form]} | {fixes[form]} |")
    print(f"{sum(runs.values())} runs, {sum(fixed.values())} with {sum(fixes.values())} fixes, {broken} do not hold")


if __name__ == "__main__":
    main()
