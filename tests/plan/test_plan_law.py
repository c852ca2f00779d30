"""The law of a plan on a few trees that are made at random; `python -m tests.plan.law` tries as many as asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.plan.law import FORMS, Run, find_breaks


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("seed", "by_git"),
    [(3, True), (17, False), (24, False)],
    ids=["3, two commits", "17, two folders", "24, two folders"],
)
def test_a_changed_input_is_never_all_clear_and_nothing_else_alarms(
    nodelint: Run, tmp_path: Path, form: str, seed: int, by_git: bool
) -> None:
    tried = Counter[str]()
    found = list(find_breaks(nodelint, tmp_path, FORMS[form](Random(seed)), by_git, tried))
    assert tried.total() and not found, [broken[:3] for broken in found]
