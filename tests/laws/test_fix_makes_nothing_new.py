"""Law: what a run of fixes leaves has no finding that was not there, unless the offer of a fix named it.

`python -m tests.laws.test_fix_makes_nothing_new 5000` tries as many texts: the examples of all rules and pairs of
pools and classes, with entries taken away, doubled, or moved to another place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from nodelint.lint import autofix, fix_trials
from nodelint.lint.engine import LintRequest, lint
from nodelint.lint.fix_trials import FindingKey, count_reported, name_of
from nodelint.lint.proven_fixes import Prover
from nodelint.model.documents import objects
from nodelint.model.releases import NEWEST
from nodelint.plan.fix_drift import find_moved
from nodelint.report.page import build_example, read_example
from nodelint.rule.target import Target
from tests.laws.test_fix_laws import CLASS, RULES, TERMS, worlds

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  limits: {{cpu: 1000}}
  template:
    metadata: {{labels: {{{labels}}}}}
    spec:
      expireAfter: 720h
      nodeClassRef: {{group: {group}, kind: {kind}, name: {ref}}}
      requirements:
        - {{key: {key}, operator: In, values: [{values}]}}
"""
ARCH = "kubernetes.io/arch"
REFERENCES = (
    ("karpenter.k8s.aws", "EC2NodeClass", "default"),
    ("karpenter.k8s.aws", "EC2NodeClass", "defalt"),
    ("karpenter.k8s.aws", "EC2Nodeclass", "default"),
    ("karpenter.k8s.aws", "AWSNodeTemplate", "default"),
    ("karpenter.k8s.io", "EC2NodeClass", "default"),
    ("karpenter.sh", "EC2NodeClass", "default"),
)
LINES = (
    ("karpenter.k8s.aws/instance-family", "g5, m5"),
    ("karpenter.k8s.aws/instance-famly", "g5"),
    ("node.kubernetes.io/instance-type", "g5.xlarge"),
    (ARCH, "amd64"),
    (ARCH, "x86_64"),
    ("topology.kubernetes.io/zones", "us-east-1a"),
)
LABELS = ("", "team: a", "karpenter.sh/capacty-type: spot")


def pairs() -> Iterator[tuple[str, Target]]:
    """Two pools each that refer to a class in a right or a wrong way: a fix lets rules compare the two."""
    random = Random(0)
    for first, second, (family, term) in product(REFERENCES, REFERENCES, TERMS[:4]):
        pools = [
            POOL.format(
                name=name, labels=random.choice(LABELS), group=group, kind=kind, ref=ref, key=key, values=values
            )
            for name, (group, kind, ref) in (("web", first), ("batch", second))
            for (key, values), label in [(random.choice(LINES), random.choice(LABELS))]
        ]
        yield "---\n".join([*pools, CLASS.format(family=family, term=term)]), Target(NEWEST)


PAIRS = len(list(pairs()))
WORLDS = [*worlds(), *pairs()]


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


def find_new(text: str, target: Target, unsafe: bool) -> tuple[int, set[FindingKey]]:
    """How many fixes a run makes of a text, and what is said afterwards that was neither said nor named before."""
    inventory = read_example(text)
    request = LintRequest(target, RULES)
    before = lint(inventory.files, request, built=inventory.built)
    prover = Prover(request, build_example, find_moved).begin(inventory)
    done = autofix.fix(inventory.files, request, unsafe=unsafe, report=before, prove=prover)
    if not done.applied:
        return 0, set()
    known, now = count_reported(before), count_reported(done.report)
    here = {name_of(obj) for source in inventory.sources for obj in objects(source, foreign=True, more=True)}
    new = {mark for mark, count in now.items() if count > known[mark] and mark[1] in here}
    return len(done.applied), new - prover.following


def try_runs(first: int, last: int) -> tuple[int, int, list[str]]:
    """Try runs with seeds: how many made a fix, how many fixes, and each that does not hold."""
    made = fixes = 0
    broken: list[str] = []
    for seed in range(first, last):
        random = Random(seed)
        text, target = WORLDS[-1 - random.randrange(PAIRS)] if seed % 3 == 0 else random.choice(WORLDS)
        count, new = find_new(mutated(text, random), target, unsafe=bool(seed % 2))
        made += bool(count)
        fixes += count
        broken += [f"{seed}: {sorted(new)}"] if new else []
    return made, fixes, broken


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_run_of_fixes_makes_nothing_new(first: int) -> None:
    assert try_runs(first, first + 10)[2] == []


def among(number: int) -> str:
    """A pool that launches nothing until its architecture is fixed, among others that have a taint or none."""
    rest = [
        POOL.format(
            name=f"p{n}", labels="", group=group, kind=kind, ref=ref, key="kubernetes.io/arch", values="amd64"
        )
        + (f"      taints: [{{key: team-{n}, effect: NoSchedule}}]\n" if n else "")
        for n in range(number)
        for group, kind, ref in REFERENCES[:1]
    ]
    wrong = rest[0].replace("p0", "web").replace("amd64", "x86_64")
    return "---\n".join([*rest, wrong, CLASS.format(family=TERMS[3][0], term=TERMS[3][1])])


@pytest.mark.parametrize("number", [1, 25])
def test_a_fix_names_what_it_makes_of_an_object_that_was_silent(number: int) -> None:
    text, target = among(number), Target(NEWEST)
    inventory = read_example(text)
    request = LintRequest(target, RULES)
    prover = Prover(request, build_example, find_moved).begin(inventory)
    report = prover.offered(inventory.files, lint(inventory.files, request, built=inventory.built))
    (fixed,) = [result.finding for result in report.results if result.fixable]
    assert fixed.safety == "unsafe"
    assert "once the fix is made, there is overlapping-pools: `web` and `p0`" in str(fixed.help)
    assert find_new(text, target, unsafe=True) == (1, set())


def test_a_run_takes_back_what_speaks_of_a_silent_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fix_trials, "_FEW_POOLS", 0)  # too many pools to compare before the fix is made
    assert find_new(among(4), Target(NEWEST), unsafe=True) == (0, set())


if __name__ == "__main__":
    made, fixes, broken = try_runs(*map(int, sys.argv[1].split("-")) if "-" in sys.argv[1] else (0, int(sys.argv[1])))
    print(f"{made} runs made {fixes} fixes, {len(broken)} do not hold")
    print(*broken, sep="\n")
