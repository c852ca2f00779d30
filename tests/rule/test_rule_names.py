"""Names that rules had before go on working everywhere, and options of rules are settable, with clear errors."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.lint.engine import LintRequest, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule, former_names, source_link
from nodelint.text import Source
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool

Run = Callable[..., subprocess.CompletedProcess[str]]

OLD, NEW = "odd-taint", "misused-taint"
POOL = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]").replace(
    "      requirements:",
    "      taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]\n      requirements:",
)
TAINTED = "      taints:"


def rule_messages(text: str, rules: dict[str, Rule]) -> list[tuple[str, str]]:
    report = lint([Source.from_text("a.yaml", text)], LintRequest(Target(NEWEST), rules))
    return [(r.rule.name, r.finding.message) for r in report.results if r.rule.name in (NEW, "unused-suppression")]


def test_no_name_is_that_of_two_rules(rules: dict[str, Rule]) -> None:
    former = [old for rule in rules.values() for old in rule.renamed]
    assert len(set(former)) == len(former)
    assert not set(former) & set(rules)
    assert former_names(rules)[OLD] == NEW


def test_a_comment_with_the_old_name_silences_the_rule_and_is_told_the_new_one(rules: dict[str, Rule]) -> None:
    assert [name for name, _ in rule_messages(POOL, rules)] == [NEW]
    commented = POOL.replace(TAINTED, f"      # nodelint: ignore[{OLD}] on purpose\n{TAINTED}")
    message = f"the rule `{OLD}` has the new name `{NEW}`; the old name still works"
    assert rule_messages(commented, rules) == [("unused-suppression", message)]
    idle = nodepool().replace("  template:", f"  template: # nodelint: ignore[{OLD}]")
    assert [message for _, message in rule_messages(idle, rules)] == [
        message,
        f"this comment suppresses nothing: `{OLD}` reports nothing at this place",
    ]


@pytest.mark.parametrize("flag", ["--select", "--ignore"])
def test_flags_take_the_old_name_and_say_the_new_one(nodelint: Run, here: Path, flag: str) -> None:
    (here / "pool.yaml").write_text(POOL, encoding="utf-8")
    done = nodelint("check", flag, OLD, "--format", "json", cwd=here)
    names = {finding["rule"] for finding in json.loads(done.stdout)["findings"]}
    assert (NEW in names) == (flag == "--select")
    assert f"the rule `{OLD}` has the new name `{NEW}`" in done.stderr


def test_a_configuration_takes_the_old_name(nodelint: Run, here: Path) -> None:
    (here / "pool.yaml").write_text(POOL, encoding="utf-8")
    (here / "nodelint.yaml").write_text(f"per-path-ignores: {{pool.yaml: [{OLD}]}}\n", encoding="utf-8")
    done = nodelint("check", "--format", "json", cwd=here)
    assert NEW not in {finding["rule"] for finding in json.loads(done.stdout)["findings"]}
    assert f"has the new name `{NEW}`" in done.stderr


def test_a_baseline_of_the_old_name_knows_the_finding(nodelint: Run, here: Path, rules: dict[str, Rule]) -> None:
    from nodelint.lint.baseline import read, split, write

    report = lint([Source.from_text("a.yaml", POOL)], LintRequest(Target(NEWEST), rules))
    before = tuple(
        r._replace(rule=r.rule._replace(name=r.rule.renamed[0])) if r.rule.renamed else r for r in report.results
    )
    text = write(report._replace(results=before))
    assert f'"rule": "{OLD}"' in text
    parts = split(report, read(text, "baseline.json"), rules=[*rules, OLD])
    assert (parts.new.results, parts.gone, len(parts.known)) == ((), (), len(report.results))
    fixed = lint(
        [Source.from_text("a.yaml", nodepool(POOL and "key: kubernetes.io/arch, operator: In, values: [amd64]"))],
        LintRequest(Target(NEWEST), rules),
    )
    assert OLD in {entry.rule for entry in split(fixed, read(text, "baseline.json"), rules=[*rules, OLD]).gone}


def test_the_page_of_an_old_name_is_the_new_ones(nodelint: Run) -> None:
    done = nodelint("rule", OLD)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, NEW)
    assert f"the rule `{OLD}` has the new name `{NEW}`" in done.stderr


OWN = '''"""A pool with more requirements than wanted.

```yaml bad
```
"""

from nodelint.api import Context, Finding, Findings, NodePool, rule


@rule(on=NodePool, group="hazard", options={"most": "requirements of a pool"})
def check(pool: NodePool, context: Context, *, most: int = 0) -> Findings:
    if len(pool.requirements) > most:
        yield Finding(at=pool.name_node, message=f"more than {most} requirements")
'''


@pytest.mark.parametrize(
    "options, outcome",
    [
        ("{most: 0}", "more than 0 requirements"),
        ("{most: 1}", None),
        ("{}", "more than 0 requirements"),
        ("{other: 1}", "nodelint.yaml:3:10: rules: `many` has no option `other`; its options: most"),
        ("{mots: 1}", "nodelint.yaml:3:10: rules: `many` has no option `mots` (did you mean `most`?)"),
        ("{most: many}", "rules: `many`: `most` must be a whole number of 0 or more, not `many`"),
        ("{most: -1}", "rules: `many`: `most` must be a whole number of 0 or more, not `-1`"),
        ("{most: true}", "rules: `many`: `most` must be a whole number of 0 or more, not `True`"),
        ("3", "nodelint.yaml:3:9: `many` must be a mapping, not `3`"),
    ],
)
def test_an_option_of_a_rule_is_set_in_the_configuration(
    nodelint: Run, here: Path, options: str, outcome: str | None
) -> None:
    (here / "own").mkdir()
    (here / "own" / "many.py").write_text(OWN, encoding="utf-8")
    (here / "pool.yaml").write_text(POOL, encoding="utf-8")
    config = f"rules:\n  folders: [own]\n  many: {options}\n"
    (here / "nodelint.yaml").write_text(config, encoding="utf-8")
    done = nodelint("check", "--config", "nodelint.yaml", "--rules", "own", "--select", "many", "pool.yaml", cwd=here)
    assert "Traceback" not in done.stderr
    if outcome is None:
        assert "requirements" not in done.stdout and done.returncode == 0
    else:
        assert outcome in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ("ignore: [narrow-spot, narrow-spo]\n", "1:23"),
        ("fail-on: error\nselect:\n  - narrow-spo\n", "3:5"),
        ('per-path-ignores:\n  "*.yaml": "narrow-spot, narrow-spo"\n', "2:13"),
        ("rules:\n  narrow-spo: {}\n", "2:3"),
    ],
)
def test_a_name_that_no_rule_has_is_named_with_its_place(nodelint: Run, here: Path, config: str, place: str) -> None:
    (here / "pool.yaml").write_text(POOL, encoding="utf-8")
    (here / "nodelint.yaml").write_text(config, encoding="utf-8")
    done = nodelint("check", ".", cwd=here)
    expected = f"nodelint.yaml:{place}: there is no rule `narrow-spo` (did you mean `narrow-spot`?)"
    assert (done.returncode, expected in done.stderr) == (2, True), done.stderr
    if config.startswith("ignore"):  # a flag has no place
        assert "nodelint: there is no rule" in nodelint("check", ".", "--ignore", "narrow-spo", cwd=here).stderr


def test_options_of_a_rule_that_is_not_there_are_refused(nodelint: Run, here: Path) -> None:
    (here / "pool.yaml").write_text(POOL, encoding="utf-8")
    (here / "nodelint.yaml").write_text("rules: {small-volum: {gib: 30}}\n", encoding="utf-8")
    done = nodelint("check", ".", cwd=here)
    assert done.returncode == 2
    assert "there is no rule `small-volum` (did you mean `small-volume`?)" in done.stderr


def test_a_source_is_an_address_or_a_line_of_karpenters_code() -> None:
    words, link = source_link("core:pkg/apis/v1/nodepool.go@v1.9.1:12")
    assert words == "kubernetes-sigs/karpenter pkg/apis/v1/nodepool.go@v1.9.1:12"
    assert link == "https://github.com/kubernetes-sigs/karpenter/blob/v1.9.1/pkg/apis/v1/nodepool.go#L12"
    assert source_link("https://karpenter.sh/docs/")[1] == "https://karpenter.sh/docs/"
    for other in ("karpenter.sh", "core:a.go", "core:a.go@main:1", "http://a"):
        with pytest.raises(ValueError, match="neither"):
            source_link(other)


def test_the_schema_of_the_configuration_names_each_option(rules: dict[str, Rule]) -> None:
    schema = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))
    named = schema["properties"]["rules"]["oneOf"][1]["properties"]
    stated = {name: value["properties"] for name, value in named.items() if name != "folders"}
    assert stated == {
        rule.name: {o.name: {"type": o.type, "default": o.default, "description": o.text} for o in rule.options}
        for rule in rules.values()
        if rule.options
    }


@pytest.mark.parametrize(("gib", "has_match"), [(19, False), (20, True), (21, True)])
def test_a_threshold_of_a_rule_that_comes_with_nodelint(nodelint: Run, here: Path, gib: int, has_match: bool) -> None:
    mapped = "{deviceName: /dev/xvda, ebs: {volumeSize: 20Gi, encrypted: true}}"
    (here / "class.yaml").write_text(nodeclass(f"blockDeviceMappings: [{mapped}]"), encoding="utf-8")
    (here / "nodelint.yaml").write_text(f"rules: {{default-volume-of-gpus: {{gib: {gib}}}}}\n", encoding="utf-8")
    done = nodelint("check", "--select", "small-volume", cwd=here)
    assert ("is soon full" in done.stdout) is has_match
    assert "the rule `default-volume-of-gpus` has the new name `small-volume`" in done.stderr


def test_a_reminder_is_one_line_for_all_pools(rules: dict[str, Rule]) -> None:
    def reminders(*names: str) -> list[tuple[str, str, int]]:
        sources = [Source.from_text(f"{name}.yaml", nodepool(name=name)) for name in names]
        report = lint(sources, LintRequest(Target(NEWEST), rules, Selection(frozenset({"default-disruption"}))))
        return [(r.rule.name, r.finding.message[-23:], len(r.finding.also)) for r in report.results]

    assert [(name, also) for name, _, also in reminders("a")] == [("default-disruption", 0)]
    assert reminders("a", "b", "c") == [("default-disruption", " (and 2 more NodePools)", 2)]


def test_the_fix_of_a_reminder_mends_all_pools(rules: dict[str, Rule]) -> None:
    from nodelint.lint.autofix import fix

    texts = {name: nodepool(name=name).replace("metadata:\n", "metadata:\n  namespace: a\n") for name in "abcd"}
    sources = [Source.from_text(f"{name}.yaml", text) for name, text in texts.items()]
    done = fix(sources, LintRequest(Target(NEWEST), rules, Selection(frozenset({"cluster-scoped-namespace"}))))
    assert not any("namespace" in source.text for source in done.sources)


def test_a_word_lists_the_rules_about_it(nodelint: Run) -> None:
    """By the name, the subject or the sentence of a rule, as a whole word."""
    listed = {rule["name"]: rule for rule in json.loads(nodelint("rule", "gpu", "--format", "json").stdout)}
    assert {"gpu-image-gap", "accelerator-by-accident", "small-volume"} <= listed.keys()
    assert not {"spot-only", "wildcard-value"} & listed.keys()
    assert nodelint("rule", "GPUs").stdout.startswith("GPUs: ")
    named = nodelint("rule", "arm64").stdout
    assert named.index("amd64-only") < named.index("Pages of other rules that name `arm64`: ")
    assert "image-arch-mismatch" in named[named.index("Pages of other rules") :]
    done = nodelint("rule", "gp")
    assert (done.returncode, done.stdout) == (2, "") and "there is no rule `gp`" in done.stderr
