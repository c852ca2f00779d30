"""Modules that call each other several times: the ways down to the last, each judged once."""

from __future__ import annotations

from pathlib import Path

from nodelint.forms.terraform.values import Modules
from nodelint.text import Source

CALLS = 'variable "v" {}\n' + "".join(f'module "m{n}" {{\n source = "../next"\n v = 1\n}}\n' for n in range(5))


def test_ways_by_which_a_module_is_given_the_very_same_count_once(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    sources = []
    for depth in range(4):
        path = tmp_path / f"m{depth}" / "main.tf"
        path.parent.mkdir(exist_ok=True)
        text = CALLS.replace("../next", f"../m{depth + 1}") if depth < 3 else 'variable "v" {}
'
        path.write_text(text)
        sources.append(Source.from_text(str(path), text))
    found = Modules(sources).variants(str(tmp_path / "m3"))
    assert len(found) == 5  # one for each call as it is written, of 125 ways


def test_ways_that_give_other_values_are_kept(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    text = 'module "a" {\n source = "../last"\n count = 3\n v = count.index\n}\n'
    for name, content in (("root", text), ("last", 'variable "v" {}\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.tf").write_text(content)
    sources = [Source.from_text(str(p), p.read_text()) for p in sorted(tmp_path.glob("*/main.tf"))]
    found = Modules(sources).variants(str(tmp_path / "last"))
    assert [module.given["v"].value for module in found if module.given is not None] == [0, 1, 2]
