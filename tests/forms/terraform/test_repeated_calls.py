"""Modules that call each other several times: the ways down to the last, each judged once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodelint.forms.terraform.values import Modules
from nodelint.text import Source

if TYPE_CHECKING:
    from pathlib import Path

TAKES = 'variable "v" {}\n'


def _modules(folder: Path, texts: dict[str, str]) -> Modules:
    (folder / ".git").mkdir()
    sources = []
    for name, text in texts.items():
        path = folder / name / "main.tf"
        path.parent.mkdir()
        path.write_text(text)
        sources.append(Source.from_text(str(path), text))
    return Modules(sources)


def test_ways_by_which_a_module_is_given_the_very_same_count_once(tmp_path: Path) -> None:
    calls = "".join(f'module "m{n}" {{\n source = "../NEXT"\n v = 1\n}}\n' for n in range(5))
    texts = {f"m{depth}": TAKES + calls.replace("NEXT", f"m{depth + 1}") for depth in range(3)}
    found = _modules(tmp_path, texts | {"m3": TAKES}).variants(str(tmp_path / "m3"))
    assert len(found) == 5  # one for each call as it is written, of 125 ways


def test_ways_that_give_other_values_are_kept(tmp_path: Path) -> None:
    root = 'module "a" {\n source = "../last"\n count = 3\n v = count.index\n}\n'
    found = _modules(tmp_path, {"root": root, "last": TAKES}).variants(str(tmp_path / "last"))
    assert [module.given["v"].value for module in found if module.given is not None] == [0, 1, 2]
