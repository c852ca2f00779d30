"""A preview rule reports only with `--preview`, whatever else names it, and says since when it is what."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.lint.engine import LintRequest, Selection, lint
from nodelint.report.page import markdown, read_example, target_of
from nodelint.rule.classification import PROFILES
from nodelint.rule.definition import Rule, bundled, load, rule
from nodelint.rule.examples import examples
from nodelint.rule.suppressions import Suppression
from tests.manifests import nodeclass, nodepool
from tests.tables import try_each

Run = Callable[..., subprocess.CompletedProcess[str]]

RULES = load(bundled())
EVERY = frozenset(PROFILES["strict"])

OWN = '''"""Each pool is found.

It is.
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="hazard", subject="pools", preview=True)
def check(pool: NodePool, context: Context) -> Findings:
    """Find each."""
    yield Finding(at=pool.node, message="a pool")
'''


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / "pool.yaml").write_text(f"{nodepool()}---\n{nodeclass()}", encoding="utf-8")
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "each-pool.py").write_text(OWN, encoding="utf-8")
    return folder


def test_no_selection_lets_a_preview_report_without_the_switch() -> None:
    """The law, over what every rule would find were it a preview."""
    rules = (rule for rule in RULES.values() if rule.on is not Suppression)
    try_each(rules, hold_back_as_preview, lambda rule: rule.name)


def hold_back_as_preview(rule: Rule) -> None:
    """Check the law for one rule, over the first bad example of its page."""
    example = next(example for example in examples(rule.page) if not example.good)
    sources = read_example(example.text).files
    new = {rule.name: rule._replace(preview=True)}

    def count(selection: Selection) -> int:
        return len(lint(sources, LintRequest(target_of(example), new, selection)).results)

    named = frozenset(new)
    for selection in (Selection(select=named), Selection(extra=named), Selection(groups=EVERY)):
        assert count(selection) == 0
    if not any(source.path.endswith(("kustomization.yaml", "Chart.yaml")) for source in sources):
        before = lint(sources, LintRequest(target_of(example), {rule.name: rule}, Selection(select=named)))
        assert count(Selection(select=named, preview=True)) == len(before.results)


def find_rules(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {finding["rule"] for finding in json.loads(done.stdout)["findings"]}


def test_the_flag_and_the_configuration_switch_it_on(nodelint: Run, team: Path) -> None:
    check = ("check", "--format", "json", "--rules", "team")
    for more in ((), ("--select", "all"), ("--profile", "strict"), ("--extend-select", "pools")):
        assert "each-pool" not in find_rules(nodelint(*check, *more)), more
    for more in (("--preview",), ("--preview", "--select", "each-pool")):
        assert "each-pool" in find_rules(nodelint(*check, *more)), more
    (team.parent / "nodelint.yaml").write_text("preview: true\n", encoding="utf-8")
    assert "each-pool" in find_rules(nodelint(*check))
    assert "preview: yes" in nodelint("check", "--show-settings", "--rules", "team").stdout
    (team.parent / "nodelint.yaml").write_text("preview: soon\n", encoding="utf-8")
    assert nodelint(*check).returncode == 2


@pytest.mark.parametrize("flag", ["--select", "--extend-select"])
def test_a_preview_that_is_named_without_the_switch_is_an_error(nodelint: Run, team: Path, flag: str) -> None:
    done = nodelint("check", "--rules", "team", flag, "each-pool")
    assert done.returncode == 2
    assert "the rule `each-pool` is a preview: it reports only with --preview" in done.stderr


def test_page_and_data_say_since_when(nodelint: Run, team: Path) -> None:
    done = nodelint("rule", "each-pool", "--json", "--rules", "team")
    stated = json.loads(done.stdout)
    assert (stated["since"], stated["stableSince"], stated["preview"]) == ("0.1.0", None, True)
    assert "preview: only with --preview" in nodelint("rule", "--rules", "team").stdout
    stable = json.loads(nodelint("rule", "no-limits", "--json").stdout)
    assert (stable["since"], stable["stableSince"], stable["preview"]) == ("0.1.0", "0.1.0", False)
    younger = RULES["no-limits"]._replace(since="0.2.0", stable_since="0.3.0")
    assert "Since nodelint 0.2.0. Stable since nodelint 0.3.0." in markdown(younger, RULES)
    preview = markdown(younger._replace(stable_since="", preview=True), RULES)
    assert "preview: runs with --preview only" in preview and "as a preview" in preview


def test_a_rule_is_a_preview_or_stable() -> None:
    with pytest.raises(ValueError, match="not both"):
        rule(on=Suppression, group="practice", preview=True, stable_since="0.3.0")


def test_the_index_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nodelint.rule import definition

    text = OWN.replace("preview=True", 'preview=True, since="0.2.0"')
    (tmp_path / "each-pool.py").write_text(text, encoding="utf-8")
    index = definition.index(load(str(tmp_path)), str(tmp_path))
    monkeypatch.setattr(definition, "bundled", lambda: str(tmp_path))
    monkeypatch.setattr(definition, "table", lambda name: {"rules": index})
    (declared,) = definition.load_bundled.__wrapped__().values()
    assert (declared.since, declared.preview, declared.stable_version) == ("0.2.0", True, None)
    assert isinstance(declared.check, definition._LazyCheck)
