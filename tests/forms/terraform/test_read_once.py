"""A text of HCL is parsed once in a run, and the units of Terragrunt are read once for each side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodelint.forms.terraform import hcl, parsed, values
from tests.manifests import nodepool
from tests.repositories import write_files

POOL = nodepool("key: karpenter.sh/capacity-type, operator: In, values: [spot]", name="${var.name}")
MODULE = f'variable "name" {{}}\nresource "kubectl_manifest" "a" {{\n  yaml_body = <<YAML\n{POOL}YAML\n}}\n'
ROOT = 'locals {\n  team = "a"\n}\ninputs = { team = local.team }\n'
UNIT = 'include "root" {\n  path = find_in_parent_folders("root.hcl")\n}\nterraform {\n  source = "../../pool"\n}\n'


def make_tree(units: int) -> dict[str, str]:
    """A module with so many units of Terragrunt."""
    given = {f"live/u{n}/terragrunt.hcl": f'{UNIT}inputs = {{ name = "pool-{n}" }}\n' for n in range(units)}
    return {"pool/main.tf": MODULE, "live/root.hcl": ROOT, **given}


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each whole text was parsed, and under "" how often the units were read."""
    counts: Counter[str] = Counter()
    make_words, make_parsed, read_units = hcl.Text.__init__, parsed.ParsedText.__init__, values.terragrunt_calls

    def count_words(self: hcl.Text, text: str, start: int, end: int, *more: Any, **options: Any) -> None:
        counts[f"words: {text}"] += start == 0 and end == len(text) and not (more or options)
        make_words(self, text, start, end, *more, **options)

    def count_parsed(self: parsed.ParsedText, text: str) -> None:
        counts[f"blocks: {text}"] += 1
        make_parsed(self, text)

    def count_units(*args: Any) -> Any:
        counts[""] += 1
        return read_units(*args)

    monkeypatch.setattr(hcl.Text, "__init__", count_words)
    monkeypatch.setattr(parsed.ParsedText, "__init__", count_parsed)
    monkeypatch.setattr(values, "terragrunt_calls", count_units)
    return counts


@pytest.mark.parametrize("command", ["check", "fit", "explain", "hash", "plan"])
def test_each_text_is_parsed_once(
    nodelint: Callable[..., Any], tmp_path: Path, count: Counter[str], command: str
) -> None:
    mark = f"# {command}\n"  # texts that no other test has had parsed
    new = {path: mark + text for path, text in make_tree(6).items()}
    write_files(tmp_path / "new", new)
    write_files(tmp_path / "old", {path: text.replace("spot", "on-demand") for path, text in new.items()})
    for side in ("old", "new"):
        (tmp_path / side / ".git").mkdir()
    words = ["plan", "--old", "old", "new"] if command == "plan" else [command, "new"]
    nodelint(*words, cwd=tmp_path)
    assert count.pop("") == (2 if command == "plan" else 1)
    assert {f"blocks: {text}" for text in new.values()} <= count.keys()
    assert set(count.values()) <= {0, 1}
