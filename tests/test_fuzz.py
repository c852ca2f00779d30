"""What the fuzzers hold each reader to, over their own seeds and over what is left of them when bytes go."""

from __future__ import annotations

import random

import pytest

from tools.fuzz import TARGETS, seeds

FEW = {"fixer": 6}


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_what_is_near_them_break_no_property(target: str) -> None:
    chance = random.Random(7)
    every = list(seeds(target))
    assert every
    for seed in chance.sample(every, min(len(every), FEW.get(target, 30))):
        TARGETS[target](seed)
        start = chance.randrange(len(seed) + 1)
        TARGETS[target](seed[:start] + seed[start + chance.randrange(1, 9) :])
