"""Equal instances of a module: what an instance that is gone has made is deleted, and the others stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of, heredoc
from tests.plan.test_plan_seen_in_public import plan

MODULE = {
    "m/main.tf": heredoc("c", class_of()) + heredoc("p", POOL),
    "n/main.tf": 'module "m" {\n  source = "../m"\n}\n',
}


def call(name: str, source: str = "m", more: str = "") -> str:
    return f'module "{name}" {{\n  source = "./{source}"\n{more}}}\n'


def repeat_over(names: str) -> str:
    return f"  for_each = toset([{names}])\n"


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (call("a") + call("b"), call("b"), ["removed", "unchanged"]),
        (call("a") + call("b") + call("c"), call("b"), ["removed", "removed", "unchanged"]),
        (call("a", "n") + call("b", "n"), call("b", "n"), ["removed", "unchanged"]),
        (call("a", more=repeat_over('"s", "t"')), call("a", more=repeat_over('"s"')), ["removed", "unchanged"]),
        (call("a", more="  count = 2\n"), call("a", more="  count = 1\n"), ["removed", "unchanged"]),
        (call("a", more="  count = 1\n"), call("a", more="  count = 2\n"), ["unchanged"]),
        (call("a"), call("a") + call("b"), ["unchanged"]),
        (
            call("a") + call("b"),
            call("a") + call("c") + "moved {\n  from = module.b\n  to = module.c\n}\n",
            ["unchanged"],
        ),
    ],
)
def test_an_instance_that_is_gone_takes_its_pool_with_it(
    nodelint: Run, tmp_path: Path, old: str, new: str, changes: list[str]
) -> None:
    found = plan(nodelint, tmp_path, {**MODULE, "main.tf": old}, {**MODULE, "main.tf": new})
    assert [pool["change"] for pool in found["nodePools"]] == changes
    assert not any(place["changed"] for place in found["notCompared"])
