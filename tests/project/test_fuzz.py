"""What the fuzzers hold each reader to, over their own seeds and over what is left of them when bytes go."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import bundled, load
from nodelint.text import Source
from tests.conftest import ROOT
from tests.plain_yaml import load_yaml
from tools.fuzz import TARGETS, seeds

FEW = {"fixer": 6}


def test_the_workflow_fuzzes_every_target() -> None:
    workflow = load_yaml((ROOT / ".github" / "workflows" / "fuzz.yml").read_text(encoding="utf-8"))
    assert set(workflow["jobs"]["fuzz"]["strategy"]["matrix"]["target"]) == set(TARGETS)


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_what_is_near_them_break_no_property(target: str) -> None:
    chance = random.Random(7)
    every = list(seeds(target))
    assert every
    for seed in chance.sample(every, min(len(every), FEW.get(target, 30))):
        TARGETS[target](seed)
        start = chance.randrange(len(seed) + 1)
        TARGETS[target](seed[:start] + seed[start + chance.randrange(1, 9) :])


def test_no_rule_breaks_on_the_bad_example_of_another() -> None:
    rules = load(bundled())
    every = Selection(frozenset(rules))
    for seed in seeds("fixer"):
        report = lint([Source.from_bytes("pool.yaml", seed)], LintRequest(Target(NEWEST), rules, every))
        assert not report.faults, (seed, report.faults)


INSIDE_CODE = """\
apiVersion: karpenter.sh/v1
kind: NodePool
spec:
  template:
      values: {{ toJson $c
---
      taints: [] }}
"""
"""The code ends in what looks like another document: what a fix puts behind the object stands in the code."""


OWN = '''"""A pool without a `disruption` block."""

from nodelint.api import Context, Finding, Findings, NodePool, edits, rule


@rule(on=NodePool, group="hazard", fix="safe")
def check(pool: NodePool, context: Context) -> Findings:
    block = edits.add_key(pool.node.get("spec"), "disruption", {"consolidateAfter": "5m"})
    yield Finding(at=pool.name_node, message="no `disruption` block", edits=block)
'''


def test_a_fix_that_would_stand_inside_template_code_is_left_out(tmp_path: Path) -> None:
    TARGETS["fixer"](INSIDE_CODE.encode())
    (tmp_path / "no-block.py").write_text(OWN, encoding="utf-8")
    rules = load(tmp_path)
    source = Source.from_text("pool.yaml", INSIDE_CODE)
    every = Selection(frozenset({"no-block"}))
    assert [result.fixable for result in lint([source], LintRequest(Target(NEWEST), rules, every)).results] == [True]
    fixed = fix([source], LintRequest(Target(NEWEST), rules, every), unsafe=True)
    assert (fixed.applied, fixed.sources[0].text) == ((), INSIDE_CODE)
    assert [why for _, why in fixed.refused] == ["it would stand inside the code of the template"]


MISPLACED = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
  subnetSelectorTerms:
  securityGroupSelectorTerms:
  userData: |
"""
"""What moves into `spec` together would not parse; once `spec` is there, more of it can follow."""


def test_what_cannot_be_fixed_at_first_is_tried_again_when_the_text_has_changed() -> None:
    TARGETS["fixer"](MISPLACED.encode())
    rules = load(bundled())
    every = Selection(frozenset(rules))
    fixed = fix([Source.from_text("class.yaml", MISPLACED)], LintRequest(Target(NEWEST), rules, every), unsafe=True)
    assert fixed.sources[0].text.endswith("spec:\n  role: KarpenterNodeRole-main\n  userData: |\n")
