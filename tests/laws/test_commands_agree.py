"""Law: what one command says of a mistake no other denies, in whatever form the mistake is written.

The plain manifests say what is true. In each form `check` has their findings, `explain` their number of types, `fit`
their answer, and `plan` their effect. A pool that `check` calls refused takes no pods and launches nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import pytest

from tests.laws.mistake_forms import FORMS, MISTAKES, Files, Mistake, write_plain
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
_EACH = 3
"""Forms that a mistake is tried in: each form has some mistakes, each mistake some forms."""
CELLS = [
    (mistake, list(FORMS)[(number + 4 * turn) % len(FORMS)])
    for number, mistake in enumerate(MISTAKES)
    for turn in range(_EACH)
]
_REFUSED = (
    "a misspelled key",
    "a misspelled operator",
    "limits that are no quantity",
    "a weight as a text",
    "a volume size as a number",
)
_SAFE = (
    "a misspelled zone",
    "a misspelled operator",
    "a pattern",
    "an alias without a version",
    "a type as a family",
)


class Answers(NamedTuple):
    """What the commands say of a tree: `plan` of the change from the tree without the mistake."""

    rules: set[tuple[str, str]]
    explained: set[tuple[int, bool]]
    taken: set[bool]
    planned: set[tuple[str, bool, bool, bool]]


def ask(nodelint: Run, folder: Path, good: Files, bad: Files) -> Answers:
    """Return what the commands say of the bad tree."""
    for name, files in (("good", good), ("bad", bad)):
        write_files(folder / name, files)
        (folder / name / ".git").mkdir(exist_ok=True)
        (folder / name / ".git" / "config").write_text('[remote "origin"]\n\turl = https://example.com/x.git\n')
    checked, explained, fitted = (
        json.loads(nodelint(command, ".", "--format", "json", cwd=folder / "bad").stdout)
        for command in ("check", "explain", "fit")
    )
    planned = json.loads(nodelint("plan", "--old", "good", "bad", "--format", "json", cwd=folder).stdout)
    keys = ("replaced", "launchesNothing", "refused", "held")
    return Answers(
        {(finding["rule"], finding["severity"]) for finding in checked["findings"]},
        {(len(pool["instanceTypes"]), "notLaunched" in pool) for pool in explained["nodePools"]},
        {workload["possible"] for workload in fitted["workloads"]},
        {(pool["replaced"], *(bool(pool[key]) for key in keys[1:])) for pool in planned["nodePools"]},
    )


def ask_plain(nodelint: Run, folder: Path, name: str) -> Answers:
    mistake = MISTAKES[name]
    return ask(nodelint, folder, *(write_plain(mistake, value) for value in (mistake.good, mistake.bad)))


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_each_command_says_of_a_form_what_it_says_of_plain_manifests(
    nodelint: Run, tmp_path: Path, name: str, form: str
) -> None:
    mistake = MISTAKES[name]
    plain = ask_plain(nodelint, tmp_path / "plain", name)
    trees = (FORMS[form](mistake, value) for value in (mistake.good, mistake.bad))
    made = ask(nodelint, tmp_path / "form", *trees)
    assert plain.rules - made.rules == set()
    assert plain.explained <= made.explained
    assert plain.taken <= made.taken
    assert plain.planned <= made.planned  # beside the pool of the default values


@pytest.mark.parametrize("name", MISTAKES)
def test_no_command_denies_what_another_says(nodelint: Run, tmp_path: Path, name: str) -> None:
    found = ask_plain(nodelint, tmp_path, name)
    ((types, is_blocked),), (is_taken,), ((replaced, is_stopped, is_refused, _),) = found[1:]
    assert not (is_taken and (is_blocked or not types))
    assert not (is_refused and (is_taken or replaced != "none"))
    assert is_refused or is_stopped is not is_taken or name in ("a taint", *_OF_THE_WORKLOAD)
    assert is_taken or any(severity in ("error", "warning") for _, severity in found.rules)
    assert name not in _REFUSED or (is_blocked and is_refused and not is_taken)


_OF_THE_WORKLOAD = ("a pool that is not there", "more than the largest type")


@pytest.mark.parametrize("name", _SAFE)
def test_a_fix_that_check_calls_safe_replaces_no_node(nodelint: Run, tmp_path: Path, name: str) -> None:
    mistake = MISTAKES[name]
    files = write_plain(mistake, mistake.bad)
    for folder in ("old", "new"):
        write_files(tmp_path / folder, files)
    nodelint("check", "new", "--fix")
    assert (tmp_path / "new" / "pools.yaml").read_text() != files["pools.yaml"]
    assert json.loads(nodelint("check", "new", "--format", "json").stdout)["findings"] == []
    done = nodelint("plan", "--old", "old", "new")
    assert (done.returncode, "No node is replaced" in done.stdout) == (0, True)


def test_a_fix_whose_update_is_refused_says_so(nodelint: Run, tmp_path: Path) -> None:
    for name, words in (("a kind that is none", True), ("a region as a zone", False)):
        mistake = MISTAKES[name]
        for folder in ("old", "new"):
            write_files(tmp_path / folder, write_plain(mistake, mistake.bad))
        offered = nodelint("check", "new").stdout
        assert ("the API server refuses the update: `nodeClassRef.kind` cannot be changed" in offered) is words
        nodelint("check", "new", "--unsafe-fixes")
        planned = nodelint("plan", "--old", "old", "new").stdout
        assert ("the update is refused" in planned) is words


@pytest.mark.parametrize("is_repository", [True, False])
@pytest.mark.parametrize("form", ["helmfile", "Application", "HelmRelease"])
def test_what_an_installation_gives_counts_outside_of_a_repository(
    nodelint: Run, tmp_path: Path, form: str, is_repository: bool
) -> None:
    mistake = MISTAKES["limits of zero"]
    for value, is_taken in ((mistake.bad, False), (mistake.good, True)):
        folder = tmp_path / str(is_taken)
        write_files(folder, FORMS[form](mistake, value))
        if is_repository:
            (folder / ".git").mkdir()
        checked = nodelint("check", ".", cwd=folder).stdout
        assert ("no-pool-for-workload" in checked) is not is_taken
        assert ("=> no pool" in nodelint("fit", ".", cwd=folder).stdout) is not is_taken


def test_a_script_that_sets_the_variable_of_its_own_manifest(nodelint: Run, tmp_path: Path) -> None:
    """`check` calls the value unknown, so `plan` must not say that no node is replaced if the variable changes."""
    manifest = write_plain(MISTAKES["an alias of no family"], "${ALIAS}")["pools.yaml"]
    script = "export ALIAS=%s\nOTHER=%s\nkubectl apply -f - <<EOF\n%sEOF\n"
    for name, words in (("old", ("a", "x")), ("new", ("b", "x")), ("other", ("a", "y"))):
        write_files(tmp_path, {f"{name}/apply.sh": script % (*words, manifest)})
    include = ("--include", "*.sh")
    assert "Not known: EC2NodeClass/web" in nodelint("check", "new", *include).stdout
    changed = nodelint("plan", "--old", "old", "new", *include)
    assert (changed.returncode, "may change with `ALIAS`" in changed.stdout) == (1, True)
    same = nodelint("plan", "--old", "old", "other", *include)
    assert (same.returncode, "No node is replaced" in same.stdout) == (0, True)


def test_names_that_an_installation_gives_are_judged_and_those_of_defaults_are_not(
    nodelint: Run, tmp_path: Path
) -> None:
    mistake = Mistake(0, ("spec", "template", "spec", "nodeClassRef", "name"), "wbe")
    for form in ("helmfile", "values.yaml"):
        write_files(tmp_path / form, FORMS[form](mistake, mistake.bad))
        found = nodelint("check", ".", cwd=tmp_path / form).stdout
        assert ("there is no EC2NodeClass `wbe`" in found) is (form == "helmfile")


def test_a_plan_counts_workloads_without_a_pool(nodelint: Run, tmp_path: Path) -> None:
    mistake = MISTAKES["a pool that is not there"]
    for name, value in (("old", mistake.good), ("new", mistake.bad)):
        write_files(tmp_path / name, write_plain(mistake, value))
    words = "No NodePool accepts the pods of 1 workload any more"
    assert words in nodelint("plan", "--old", "old", "new").stdout
    assert words not in nodelint("plan", "--old", "new", "old").stdout


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a misspelled zone", "write `us-east-1a` in `topology.kubernetes.io/zone` of pool `web`"),
        ("a type as a family", "require `m5.large` of `node.kubernetes.io/instance-type`, not of"),
        ("a pattern", "write `m5` in `karpenter.k8s.aws/instance-family` of pool `web`"),
        ("no room for pods", "raise `maxPods` in `kubelet` of class `web`: maxPods 0 allows no pod"),
        ("a family that is none", "add `m4` to `karpenter.k8s.aws/instance-family` of pool `web`"),
    ],
)
def test_fit_advises_what_check_fixes(nodelint: Run, tmp_path: Path, name: str, advice: str) -> None:
    mistake = MISTAKES[name]
    write_files(tmp_path, write_plain(mistake, mistake.bad))
    (workload,) = json.loads(nodelint("fit", ".", "--format", "json").stdout)["workloads"]
    assert [suggestion["message"].startswith(advice) for suggestion in workload["suggestions"]] == [True]


def test_a_refused_volume_size_does_not_count_as_a_size(nodelint: Run, tmp_path: Path) -> None:
    mistake = MISTAKES["a volume size as a number"]
    for name, value in (("good", mistake.good), ("bad", mistake.bad)):
        write_files(tmp_path / name, write_plain(mistake, value))
    good = json.loads(nodelint("explain", "good", "--format", "json").stdout)["nodePools"][0]
    assert f"without this, {len(good['instanceTypes'])} of " in nodelint("explain", "bad").stdout
    assert "nothing is launched with EC2NodeClass/web" in " ".join(nodelint("fit", "bad").stdout.split())
