"""Law: what a run of fixes leaves has no finding that was not there, unless the offer of a fix named it.

`python -m tests.laws.test_fix_makes_nothing_new 5000` tries as many texts: the examples of all rules and pairs of
pools and classes, with entries taken away, doubled, or moved to another place.
"""

from __future__ import annotations

import sys
from random import Random

import pytest

from nodelint.lint import autofix
from nodelint.lint.engine import LintRequest, lint
from nodelint.lint.fix_trials import Mark, count_said
from nodelint.lint.proven_fixes import Prover
from nodelint.plan.fix_drift import find_moved
from nodelint.report.page import build_example, read_example
from nodelint.rule.target import Target
from tests.laws.test_fix_laws import RULES, worlds

WORLDS = list(worlds())


def mutated(text: str, random: Random) -> str:
    """A text with up to three of its lines taken away, doubled, or exchanged with those of another text."""
    lines = text.splitlines(keepends=True)
    for _ in range(random.randrange(4)):
        at = random.randrange(len(lines))
        match random.randrange(3):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case _:
                lines[at] = random.choice(WORLDS[random.randrange(len(WORLDS))][0].splitlines(keepends=True))
        if not lines:
            return text
    return "".join(lines)


def find_new(text: str, target: Target, unsafe: bool) -> tuple[int, set[Mark]]:
    """How many fixes a run makes of a text, and what is said afterwards that was neither said nor named before."""
    inventory = read_example(text)
    request = LintRequest(target, RULES)
    before = lint(inventory.files, request, built=inventory.built)
    prover = Prover(request, build_example, find_moved).begin(inventory)
    done = autofix.fix(inventory.files, request, unsafe=unsafe, report=before, prove=prover)
    if not done.applied:
        return 0, set()
    known, now = count_said(before), count_said(done.report)
    objects = {name for _, name in known}
    new = {mark for mark, count in now.items() if count > known[mark] and mark[1] in objects}
    return len(done.applied), new - prover.following


def try_runs(first: int, last: int) -> tuple[int, int, list[str]]:
    """Try runs with seeds: how many made a fix, how many fixes, and each that does not hold."""
    made = fixes = 0
    broken: list[str] = []
    for seed in range(first, last):
        random = Random(seed)
        text, target = random.choice(WORLDS)
        count, new = find_new(mutated(text, random), target, unsafe=bool(seed % 2))
        made += bool(count)
        fixes += count
        broken += [f"{seed}: {sorted(new)}"] if new else []
    return made, fixes, broken


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_run_of_fixes_makes_nothing_new(first: int) -> None:
    assert try_runs(first, first + 10)[2] == []


if __name__ == "__main__":
    made, fixes, broken = try_runs(0, int(sys.argv[1]))
    print(f"{made} runs made {fixes} fixes, {len(broken)} do not hold")
    print(*broken, sep="\n")
