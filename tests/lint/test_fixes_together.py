"""Fixes beside each other: what a check shows as safe is what a run of fixes keeps, and one cause is tried once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from nodelint.lint import broken_fixes, fix_trials
from nodelint.lint.engine import LintRequest, lint
from nodelint.lint.incremental import ResultCaches
from nodelint.lint.rule_reach import name_words, reads_other_objects
from nodelint.model.finding import Edit
from nodelint.report.page import read_example, target_of
from nodelint.rule.definition import load_check
from nodelint.text import Source
from tests.lint.test_proven_fixes import CLASS, EXAMPLES, POOL, RULES
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

X86 = POOL.format(name="{name}", arch="[x86_64]", types="m5.large, m5.xlarge").replace("{{", "{").replace("}}", "}")


def pools(number: int) -> str:
    """Pools that launch nothing until their architecture is fixed, and are the same then."""
    return "---\n".join([*(X86.replace("{name}", f"p{n}") for n in range(number)), CLASS])


TWICE = (
    POOL.format(name="a", arch="[amd64]", types="m5.large")
    .replace("kubernetes.io/arch", "karpenter.k8s.aws/instance-famly")
    .replace("[amd64]", "[g5]")
    .replace("node.kubernetes.io/instance-type", "karpenter.k8s.aws/instance-famly")
    .replace("[m5.large]", "[g5]")
    + "---\n"
    + CLASS.replace("alias: al2023@v20250807", "name: amazon-eks-node-al2023-arm64-standard-1.31-v20250403")
)
NEEDED = {
    "all.yaml": POOL.format(name="a", arch="[amd64]", types="m5.large")
    .replace("kind: EC2NodeClass", "kind: AWSNodeTemplate")
    .replace("group: karpenter.k8s.aws", "group: replaced")
    .replace("  template:\n", "  template:\n    metadata: {labels: {karpenter.sh/capacty-type: spot}}\n")
    + "---\n"
    + CLASS,
    "given.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {group: karpenter.k8s.aws}\n",
    "kustomization.yaml": "resources: [all.yaml, given.yaml]\nreplacements:\n"
    "- source: {kind: ConfigMap, name: given, fieldPath: data.group}\n"
    "  targets: [{select: {kind: NodePool}, fieldPaths: [spec.template.spec.nodeClassRef.group]}]\n",
}


def count_safe(nodelint: Run, *flags: str) -> int:
    """The places whose fixes a check shows as safe."""
    found = json.loads(nodelint("check", ".", "--format", "json", *flags).stdout)["findings"]
    return sum(finding["fix"] is not None and finding["fix"]["safety"] == "safe" for finding in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "safe"),
    [
        pytest.param({"all.yaml": pools(1)}, 1, id="alone"),
        pytest.param({"all.yaml": pools(4)}, 1, id="pools that overlap once all are fixed"),
        pytest.param({"all.yaml": pools(22)}, 1, id="many such pools"),
        pytest.param({"all.yaml": pools(55)}, 55, id="more pools than are compared"),
        pytest.param({"all.yaml": TWICE}, 1, id="two labels of one pool"),
        pytest.param(NEEDED, 0, id="a fix that is refused without another one"),
    ],
)
def test_what_a_check_shows_as_safe_is_what_a_run_keeps(
    files: dict[str, str], safe: int, nodelint: Run, tmp_path: Path
) -> None:
    write_files(tmp_path, files)
    assert count_safe(nodelint) == safe
    diff = nodelint("check", ".", "--diff")
    assert f"Would fix {safe} finding" in diff.stderr
    fixed = nodelint("check", ".", "--fix").stdout
    assert (f"Fixed {safe} finding" in fixed) == bool(safe)
    assert count_safe(nodelint) == 0


def test_the_help_says_what_a_fix_makes_beside_the_others(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"all.yaml": pools(2)})
    found = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    helps = [finding["help"] for finding in found if finding["fix"]["safety"] == "unsafe"]
    assert [
        "once the other fixes are made as well, there is overlapping-pools: `p1` and `p0`" in h for h in helps
    ] == [True]
    nodelint("check", ".", "--unsafe-fixes")
    (left,) = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    assert left["rule"] == "overlapping-pools"


def count_trials(nodelint: Run, monkeypatch: pytest.MonkeyPatch, *flags: str) -> int:
    """How often a run tries edits."""
    trials = []
    real = fix_trials.Trials.run

    def run(self: fix_trials.Trials, *given: object) -> fix_trials.Tried:
        trials.append(given)
        return real(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(fix_trials.Trials, "run", run)
    nodelint("check", ".", *flags)
    return len(trials)


@pytest.mark.parametrize("number", [10, 20])
def test_fixes_of_one_cause_share_a_trial(
    number: int, nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of pools that are alike one is tried, whatever they are called: `spot` is a word that a rule looks for."""
    texts = [
        POOL.format(name=name, arch="[x86_64]", types="m5.large").replace("default}", f"{name}}}")
        + f"      taints: [{{key: team, value: a, effect: NoSchedule}}]\n---\n{CLASS.replace('default', name)}"
        for name in ("spot", *(f"team-{chr(97 + n)}" for n in range(number)))
    ]
    write_files(tmp_path, {f"{n}/all.yaml": text for n, text in enumerate(texts)})
    assert count_trials(nodelint, monkeypatch) <= 4
    assert count_safe(nodelint) == number + 1


def test_fixes_of_one_cause_are_tried_for_breaking_their_file_once(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = [
        POOL.format(name=f"team-{chr(97 + n)}", arch="[x86_64]", types="m5.large")
        + "      taints: [{key: team, value: a, effect: NoSchedule}]\n"
        for n in range(20)
    ]
    write_files(tmp_path, {"all.yaml": "---\n".join([*pools, CLASS])})
    counts: list[int] = []
    read = broken_fixes.reread_edited

    def note(source: Source, changes: Sequence[Edit]) -> Source:
        counts.append(len(changes))
        return read(source, changes)

    monkeypatch.setattr(broken_fixes, "reread_edited", note)
    nodelint("check", ".")
    assert counts[0] <= 6  # some letters are words that rules look for in names
    assert sum(counts) < 50


def test_rules_that_ask_of_others_are_known() -> None:
    """What a rule asks is noted in a run of an editor: none asks of others without being known to."""
    own = {"node_class", "_why_no_class", "_facts_of", "settings", "may_be_named_so", "conversion", "_completing"}
    own |= {"templates", "_overlaid"}
    asking = {}
    for _, example in Random(3).sample(EXAMPLES, 60):
        inventory = read_example(example.text)
        memory = ResultCaches()
        lint(inventory.files, LintRequest(target_of(example), RULES), built=inventory.built, memory=memory)
        for cache in memory._kept.values():
            for known_results in cache._said.values():
                for (name, _, _), (_, _, rules) in known_results.dependencies.items():
                    if name not in own:
                        asking.update(dict.fromkeys(rules, name))
    assert asking
    assert {rule: name for rule, name in asking.items() if not reads_other_objects(RULES[rule])} == {}


def test_words_that_rules_look_for_in_names_are_known() -> None:
    rules = [RULES["misleading-name"], RULES["burstable-only"]]
    assert all(map(load_check, rules))
    words = name_words(rules)
    assert {"spot", "graviton", "gpu"} <= words
    assert "payments" not in words
