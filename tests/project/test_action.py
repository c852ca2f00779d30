"""action.yml: what a runner would do, done by bash over a sample tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import builtin_schemas
from tests.conftest import ROOT
from tests.plain_yaml import load_yaml

ACTION: dict[str, Any] = load_yaml((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = [step for step in STEPS if "run" in step]

STAND_IN = """\
#!{python}
import os, pathlib, sys
here = pathlib.Path({here!r})
(here / "calls").open("a").write(repr(sys.argv[1:]) + "\\n")
for value in sys.argv:
    form, _, file = value.removeprefix("--format=").partition("=")
    if file and form in ("github", "markdown", "sarif"):
        pathlib.Path(file).write_text(os.environ.get("PLAN") or form + " was here\\n")
print("::error::not a command")
codes = os.environ["CODES"].split()
sys.exit(int(codes[min(len((here / "calls").read_text().splitlines()), len(codes)) - 1]))
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on the path: no step is run")


def step(name: str) -> dict[str, Any]:
    return next(step for step in STEPS if step.get("id") == name or step["name"] == name)


def environment(name: str, inputs: dict[str, str], more: dict[str, str]) -> dict[str, str]:
    """What a runner puts in the place of the expressions in a step's `env`."""
    given = {key: str(about.get("default", "")) for key, about in ACTION["inputs"].items()} | inputs
    values = {f"inputs.{key}": value for key, value in given.items()} | more
    filled = {}
    for key, text in step(name).get("env", {}).items():
        if key in more:
            continue
        expression = re.fullmatch(r"\$\{\{ ([\w.-]+)(?: \|\| '(\w+)')? \}\}", str(text))
        filled[key] = str(text) if expression is None else values[expression[1]] or expression[2] or ""
    return filled


class Ran:
    def __init__(self, done: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.done = done
        self.outputs = (folder / "output").read_text(encoding="utf-8")
        self.summary = (folder / "summary").read_text(encoding="utf-8")

    def output(self, name: str) -> str:
        match = re.search(rf"(?m)^{name}=(.*)$|^{name}<<(\w+)\n(.*)\n\2$", self.outputs)
        assert match is not None, self.outputs
        return match[1] or match[3] or ""


def run(name: str, folder: Path, cwd: Path, more: dict[str, str], **inputs: str) -> Ran:
    for item in ("output", "summary"):
        (folder / item).touch()
    runner = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "NODELINT_RETRY_SECONDS": "0",
        "CODES": "0",
        **{key: os.environ[key] for key in ("SYSTEMROOT",) if key in os.environ},
    }
    dashed = {key.replace("_", "-"): value for key, value in inputs.items()}
    env = {**runner, **{k: v for k, v in more.items() if k.isupper()}, **environment(name, dashed, more)}
    # as a runner calls `shell: bash`
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step(name)["run"]]
    return Ran(subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False), folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The runner's folder; `tree` in it is the checkout, with a space in its name."""
    (tmp_path / "the tree").mkdir()
    program = tmp_path / "nodelint"
    program.write_text(STAND_IN.format(python=sys.executable, here=str(tmp_path)), encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def check(folder: Path, codes: str = "0", **inputs: str) -> Ran:
    more = {"steps.install.outputs.nodelint": str(folder / "nodelint"), "CODES": codes}
    return run("check", folder, folder / "the tree", more, **inputs)


def calls(folder: Path) -> list[list[str]]:
    import ast

    return [ast.literal_eval(line) for line in (folder / "calls").read_text(encoding="utf-8").splitlines()]


def test_a_run_with_nothing_said(folder: Path) -> None:
    ran = check(folder)
    assert ran.done.returncode == 0, ran.done.stderr
    ((command, *args),) = calls(folder)
    assert command == "check"
    assert args[-2:] == ["--", "."]
    assert args[:3] == ["--timeout=5m", "--format", "text"]
    assert "--live" not in args and not any(arg.startswith("--karpenter") for arg in args)
    assert ran.output("exit-code") == "0"
    sarif = Path(ran.output("sarif"))
    assert sarif.name == "nodelint.sarif" and sarif.parent.parent == folder
    assert f"--format=sarif={sarif}" in args
    assert list((folder / "the tree").iterdir()) == []  # the checkout stays as it was
    assert ran.summary == "markdown was here\n"


def test_rules_of_the_checkout_run_where_the_workflow_says_so(folder: Path) -> None:
    check(folder, args="--rules=checks\n")
    plan(folder)
    check(folder, repository_rules="true")
    refused, planned, allowed = calls(folder)
    assert "--no-repository-rules" in refused and "--no-repository-rules" in planned
    assert "--repository-rules" in allowed and "--no-repository-rules" not in allowed


def test_annotations_are_commands_and_the_text_is_none(folder: Path) -> None:
    lines = check(folder, "1").done.stdout.splitlines()
    stop = next(line for line in lines if line.startswith("::stop-commands::"))
    end = lines.index(f"::{stop.rpartition('::')[2]}::")
    assert lines.index(stop) < lines.index("::error::not a command") < end < lines.index("github was here")


def test_every_input_arrives_as_it_is(folder: Path) -> None:
    evil = "a b; $(touch gone) `touch gone` ${IFS} 'x' \"y\""
    check(
        folder,
        paths=f"{evil}\n\n  two words \r\n--fix\n",
        karpenter_version="1.4",
        kubernetes_version="1.33",
        snapshot=evil,
        region="eu-central-1",
        baseline="known.json",
        config="c.yaml",
        fail_on="warning",
        live="true",
        require_facts="true",
        args="--exclude\nvendored/*\n",
    )
    ((_, *args),) = calls(folder)
    border = args.index("--")
    assert args[border + 1 :] == [evil, "  two words ", "--fix"]
    assert f"--snapshot={evil}" in args[:border]
    assert args[border - 2 : border] == ["--exclude", "vendored/*"]
    for message in (
        "--karpenter-version=1.4",
        "--kubernetes-version=1.33",
        "--region=eu-central-1",
        "--fail-on=warning",
    ):
        assert message in args[:border]
    assert {"--baseline=known.json", "--config=c.yaml", "--live", "--require-facts"} <= set(args[:border])
    assert not list(folder.rglob("gone"))


def test_no_output_that_was_not_asked_for(folder: Path) -> None:
    ran = check(folder, summary="false", annotations="false", sarif="")
    ((_, *args),) = calls(folder)
    assert [arg for arg in args if "=" in arg] == ["--timeout=5m"]
    assert ran.summary == ""
    assert "sarif" not in ran.outputs


def test_what_is_uploaded_is_written(folder: Path) -> None:
    assert check(folder, sarif="", upload_sarif="true").output("sarif").endswith("/nodelint.sarif")


@pytest.mark.parametrize(
    ("codes", "live", "tries", "end"),
    [
        ("4 4 0", "true", 3, "0"),
        ("4 1", "true", 2, "1"),
        ("4 4 4 0", "true", 3, "4"),
        ("4 0", "false", 1, "4"),
        ("5 0", "true", 1, "5"),
        ("2", "true", 1, "2"),
    ],
)
def test_what_may_pass_is_tried_again_and_the_code_is_kept(
    folder: Path, codes: str, live: str, tries: int, end: str
) -> None:
    ran = check(folder, codes, live=live)
    assert ran.done.returncode == 0, "the steps behind it have to run"
    assert len(calls(folder)) == tries
    assert ran.output("exit-code") == end
    more = {"steps.check.outputs.exit-code": end}
    assert run("End as nodelint did", folder, folder, more).done.returncode == int(end)


GH = """\
#!/bin/sh
printf '%s\\n' "$*" >>{here}/gh
case "$*" in *--jq*) cat {here}/known 2>/dev/null; exit 0;; esac
cp "${{*##*@}}" {here}/comment
[ ! -f {here}/refused ]
"""
BASE = {
    "github.event.pull_request.base.sha": "HEAD",
    "github.event.pull_request.number": "7",
    "github.repository": "a/b",
    "github.token": "t",
}


def plan(folder: Path, codes: str = "0", more: dict[str, str] | None = None, **inputs: str) -> Ran:
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "gh").write_text(GH.format(here=folder), encoding="utf-8")
    (folder / "bin" / "gh").chmod(0o755)
    tree = folder / "the tree"
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first")
    subprocess.run(["git", *commit], cwd=tree, check=True)
    given = {"steps.install.outputs.nodelint": str(folder / "nodelint"), "CODES": codes, **BASE}
    given["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    given |= {"FOLDER": ""} | (more or {})
    return run("plan", folder, tree, given, **inputs)


def test_a_plan_is_one_comment_that_is_kept_up_to_date(folder: Path) -> None:
    ran = plan(folder, "1", plan_fail_on="drift", plan_args="--quiet\n", paths="clusters\n--fix\n")
    assert ran.done.returncode == 0, ran.done.stderr
    ((command, *args),) = calls(folder)
    assert command == "plan"
    assert args[:2] == ["--against=HEAD", "--fail-on=drift"]
    assert args[-4:] == ["--quiet", "--", "clusters", "--fix"]
    assert (ran.output("exit-code"), ran.summary) == ("1", "markdown was here\n")
    _, posted = (folder / "gh").read_text(encoding="utf-8").splitlines()
    assert posted.startswith("api --silent --method POST repos/a/b/issues/7/comments --field body=@")
    (folder / "known").write_text("41\n42\n", encoding="utf-8")
    plan(folder)
    updated = (folder / "gh").read_text(encoding="utf-8").splitlines()[-1]
    assert updated.startswith("api --silent --method PATCH repos/a/b/issues/comments/41 --field body=@")


def test_a_plan_of_nothing_makes_no_comment_and_updates_one_that_is_there(folder: Path) -> None:
    quiet = {"PLAN": "<!-- nodelint plan -->\n<!-- nodelint plan: nothing changed -->\n### nothing\n"}
    plan(folder, more=quiet)
    assert all("--method" not in line for line in (folder / "gh").read_text(encoding="utf-8").splitlines())
    (folder / "known").write_text("41\n", encoding="utf-8")
    plan(folder, more=quiet)
    assert "--method PATCH" in (folder / "gh").read_text(encoding="utf-8").splitlines()[-1]


def test_each_working_directory_has_a_comment_of_its_own(folder: Path) -> None:
    found = {"PLAN": "<!-- nodelint plan -->\n### 1 NodePool: all its nodes are replaced.\n"}
    plan(folder, more=found)
    assert (folder / "comment").read_text(encoding="utf-8").splitlines()[0] == "<!-- nodelint plan -->"
    plan(folder, more=found | {"FOLDER": "clusters/a|b&c"})
    lines = (folder / "comment").read_text(encoding="utf-8").splitlines()
    assert lines == ["<!-- nodelint plan of clusters/a|b&c -->", "### 1 NodePool: all its nodes are replaced."]


def test_a_comment_that_may_not_be_written_is_a_warning(folder: Path) -> None:
    (folder / "refused").touch()
    ran = plan(folder)
    assert ran.done.returncode == 0
    assert ran.done.stdout.splitlines()[-1].startswith("::warning::the plan is in the job's summary alone")
    end = run("End as the plan did", folder, folder, {"steps.plan.outputs.exit-code": "1"})
    assert end.done.returncode == 1


@pytest.mark.parametrize("has_checkout", [True, False])
def test_a_base_that_cannot_be_fetched_says_what_to_set(folder: Path, has_checkout: bool) -> None:
    base = {"github.event.pull_request.base.sha": "0" * 40}
    if has_checkout:
        ran = plan(folder, more=base)
    else:
        given = {**BASE, **base, "steps.install.outputs.nodelint": "none", "FOLDER": ""}
        ran = run("plan", folder, folder / "the tree", given)
    assert ran.done.returncode == 0  # the steps after it still run, and the last of them fails
    assert ran.output("exit-code") == "2" and not (folder / "calls").exists()
    [error] = [line for line in ran.done.stdout.splitlines() if line.startswith("::error")]
    words = ("fetch-depth: 0", "token", "persist-credentials: false") if has_checkout else ("actions/checkout",)
    assert all(word in error for word in words)


def test_python_is_found_where_it_is_new_enough(folder: Path) -> None:
    bin_of = folder / "bin"
    bin_of.mkdir()
    old, new = bin_of / "python3", bin_of / "python"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    new.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    for item in (old, new):
        item.chmod(0o755)
    assert run("python", folder, folder, {"PATH": f"{bin_of}:{os.environ['PATH']}"}).output("name") == "python"
    (folder / "output").unlink()
    new.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert run("python", folder, folder, {"PATH": f"{bin_of}:{os.environ['PATH']}"}).output("name") == ""


def test_a_version_is_installed_from_the_actions_own_repository(folder: Path) -> None:
    """Not from a name that is written here: nobody knows who will own it."""
    more = {"steps.python.outputs.name": sys.executable, "github.action_path": str(ROOT), "github.server_url": "S"}
    ran = run("install", folder, folder, {**more, "github.action_repository": ""}, version="v9.9.9")
    assert ran.done.returncode == 2 and ran.done.stdout.startswith(
        "::error::version: the action is used from a folder"
    )
    (folder / "nodelint-venv" / "bin").mkdir(parents=True)
    (folder / "nodelint-venv" / "bin" / "python").write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    (folder / "nodelint-venv" / "bin" / "python").chmod(0o755)
    more["steps.python.outputs.name"] = "true"
    ran = run("install", folder, folder, {**more, "github.action_repository": "o/r"}, version="v9.9.9")
    assert "install --quiet nodelint @ S/o/r/archive/v9.9.9.tar.gz" in ran.done.stdout


def test_packages_are_kept_by_their_locks(folder: Path) -> None:
    shutil.copytree(ROOT / "requirements", folder / "action" / "requirements")
    more = {"steps.python.outputs.name": sys.executable, "github.action_path": str(folder / "action")}

    def key() -> str:
        (folder / "output").unlink(missing_ok=True)
        ran = run("packages", folder, folder / "the tree", more)
        assert ran.done.returncode == 0, ran.done.stderr
        return ran.output("key")

    first = key()
    assert re.fullmatch(r"nodelint-\w+-\w+-py3\.\d+-[0-9a-f]{16}", first)
    assert key() == first
    with (folder / "action" / "requirements" / "nodelint.txt").open("a", encoding="utf-8") as file:
        file.write("# another\n")
    assert key() != first
    cache = step("Keep the packages")
    assert cache["with"]["path"].replace("${{ runner.temp }}", "$RUNNER_TEMP") in step("install")["run"]


def test_what_the_checkout_holds_is_not_run(folder: Path) -> None:
    """Python looks for modules in the working folder first, which is what somebody wants to have merged."""
    tree = folder / "the tree"
    for module in ("venv", "ensurepip", "pip"):
        (tree / f"{module}.py").write_text(f"open({str(folder / 'gone')!r}, 'w')\n", encoding="utf-8")
    run("python", folder, tree, {})
    assert not (folder / "gone").exists()
    calls_of_python = re.findall(r'"\$(?:name|PYTHON|programs/python)" (-\S+)', "".join(s["run"] for s in SCRIPTS))
    assert calls_of_python == ["-I"] * 8


def test_a_report_that_the_checkout_holds_is_not_uploaded(folder: Path) -> None:
    (folder / "nodelint").write_text("#!/bin/sh\nexit 2\n", encoding="utf-8")
    report = folder / "the tree" / "nodelint.sarif"
    report.write_text("{}", encoding="utf-8")
    ran = check(folder, sarif=str(report))
    assert ran.output("exit-code") == "2"
    assert "sarif" not in ran.outputs


def test_the_tool_itself_takes_what_the_action_hands_it(folder: Path) -> None:
    """The real command behind the same step, over a shipped example with a mistake in it."""
    (folder / "nodelint").write_text(f'#!/bin/sh\nexec {sys.executable} -m nodelint "$@"\n', encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "bad", folder / "the tree" / "clusters")
    ran = check(folder, paths="clusters/custom-image.yaml", karpenter_version="1.14")
    assert ran.output("exit-code") == "1", ran.done.stderr
    assert "image-arch-mismatch" in ran.done.stdout
    assert "::error file=clusters/custom-image.yaml,line=13" in ran.done.stdout
    assert "image-arch-mismatch" in ran.summary
    assert '"version": "2.1.0"' in Path(ran.output("sarif")).read_text(encoding="utf-8")


def test_places_in_a_folder_of_the_repository_are_the_repositorys(folder: Path) -> None:
    """GitHub knows files by their path in the repository, wherever the step ran."""
    tree = folder / "the tree"
    (folder / "nodelint").write_text(f'#!/bin/sh\nexec {sys.executable} -m nodelint "$@"\n', encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "bad", tree / "clusters")
    (tree / ".git").mkdir()
    more = {"steps.install.outputs.nodelint": str(folder / "nodelint")}
    ran = run("check", folder, tree / "clusters", more, paths="custom-image.yaml", karpenter_version="1.14")
    assert "::error file=clusters/custom-image.yaml,line=13" in ran.done.stdout, ran.done.stderr
    sarif = Path(ran.output("sarif"))
    assert '"uri": "clusters/custom-image.yaml"' in sarif.read_text(encoding="utf-8")


def test_other_actions_are_pinned_by_commit() -> None:
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used and all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", value) for value in used), used


def test_no_script_holds_an_expression() -> None:
    """What a pull request can choose (a branch's name, a title) must not become part of a program."""
    assert [script["name"] for script in SCRIPTS if "${{" in script["run"]] == []


def test_every_input_is_used_and_told_of() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, about in ACTION["inputs"].items():
        assert about["description"].endswith("."), name
        assert f"inputs.{name}" in text, name


def test_it_is_an_action() -> None:
    assert ACTION["runs"]["using"] == "composite"
    for entry in STEPS:
        assert ("run" in entry) != ("uses" in entry)
        assert "run" not in entry or entry["shell"] == "bash"
    builtin_schemas.hold_to("vendor.github-actions", ROOT / "action.yml")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not on the path")
@pytest.mark.parametrize("item", SCRIPTS, ids=lambda s: s["name"])
def test_the_scripts_are_sound(item: dict[str, Any]) -> None:
    command = ["shellcheck", "--shell=bash", "--enable=all", "--exclude=SC2153,SC2154,SC2250,SC2292,SC2312", "-"]
    done = subprocess.run(command, input=item["run"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
