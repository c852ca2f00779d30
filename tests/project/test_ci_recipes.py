"""What docs/ci tells users to copy is what works: the GitLab job, workflows, the hooks, the image."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from nodelint import __version__
from tests import builtin_schemas
from tests.conftest import ROOT
from tests.plain_yaml import load_yaml

CI = ROOT / "docs" / "ci"
PAGES = sorted(CI.glob("*.md"))
WORKFLOWS = [
    text
    for page in PAGES
    for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if "\njobs:" in text
]


def parsed(text: str) -> Any:
    return load_yaml(text)


def test_the_gitlab_job_leaves_its_reports(tmp_path: Path) -> None:
    """The job's script as a runner would call it, over a shipped example with a mistake in it."""
    job = parsed((CI / "gitlab-ci.yml").read_text(encoding="utf-8"))["nodelint"]
    program = tmp_path / "bin" / "nodelint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    shutil.copytree(ROOT / "examples" / "bad", tmp_path / "clusters")
    variables = {key: str(value) for key, value in job["variables"].items()} | {"NODELINT_PATHS": "clusters"}
    env = {**os.environ, **variables, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(job["script"])],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    reports = job["artifacts"]["reports"]
    quality = json.loads((tmp_path / reports["codequality"]).read_text(encoding="utf-8"))
    assert {issue["location"]["path"] for issue in quality} >= {"clusters/custom-image.yaml"}
    assert "<testsuite" in (tmp_path / reports["junit"]).read_text(encoding="utf-8")
    assert job["artifacts"]["when"] == "always"
    assert job["retry"] == {"max": 2, "exit_codes": [4]}


@pytest.mark.slow
def test_the_gitlab_plan_writes_one_note_and_updates_it(tmp_path: Path) -> None:
    """Both scripts of the job as a runner would call them, over a repository, with GitLab's notes behind HTTP.

    A change that touches no pool has no note; a note that is there is corrected.
    """
    job = parsed((CI / "gitlab-ci.yml").read_text(encoding="utf-8"))["nodelint-plan"]
    requested: list[tuple[str, str, str]] = []
    notes: list[dict[str, Any]] = [{"id": 3, "author": {"id": 9}, "body": "<!-- nodelint plan -->\nof somebody else"}]

    class Notes(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            last = self.path.endswith("page=2")
            self.answer({"id": 8} if self.path.endswith("/user") else [] if last else notes)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            requested.append((self.command, self.path, self.headers["PRIVATE-TOKEN"]))
            notes.append({"id": 4, "author": {"id": 8}, "body": body})
            self.answer(notes[-1])

        do_PUT = do_POST

        def answer(self, value: object) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Notes)
    Thread(target=server.serve_forever, daemon=True).start()
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "examples" / "good", tree)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], cwd=tree, check=True)
    program = tmp_path / "bin" / "nodelint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {
        **os.environ,
        **{key: str(value) for key, value in job["variables"].items()},
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": "HEAD",
        "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_IID": "2",
        "NODELINT_TOKEN": "secret",
    }
    after = "\n".join(job["after_script"]).replace("/opt/nodelint/bin/python", sys.executable)
    pool = next(path for path in sorted(tree.rglob("*.yaml")) if "consolidateAfter:" in path.read_text("utf-8"))
    text = pool.read_text("utf-8")
    for after_change in (text, text.replace("consolidateAfter:", "consolidateAfter: 47m #"), text):
        pool.write_text(after_change, encoding="utf-8")
        for script in ("\n".join(job["script"]), after):
            done = subprocess.run(
                ["bash", "-e", "-c", script], cwd=tree, env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
    server.shutdown()
    place = "/projects/1/merge_requests/2/notes"
    assert requested == [("POST", place, "secret"), ("PUT", f"{place}/4", "secret")]
    marks = "<!-- nodelint plan -->\n<!-- nodelint plan: nothing changed -->\n"
    assert notes[1]["body"].startswith("<!-- nodelint plan -->\n### nodelint plan: ")
    assert notes[2]["body"].startswith(f"{marks}### nodelint plan: ")
    assert (tree / job["artifacts"]["paths"][0]).read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.slow
def test_the_bitbucket_steps_leave_their_reports(tmp_path: Path) -> None:
    """The steps' commands, less those that install, over a repository whose branch adds a mistake."""
    builtin_schemas.hold_to("vendor.bitbucket-pipelines", CI / "bitbucket-pipelines.yml")
    steps = parsed((CI / "bitbucket-pipelines.yml").read_text(encoding="utf-8"))["definitions"]["steps"]
    check, plan = (
        [line for line in step["step"]["script"] if not re.search(r"venv|pip install|apt-get", line)]
        for step in steps
    )
    program = f'nodelint() {{ {sys.executable} -m nodelint "$@"; }}\n'

    def run(lines: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        script = program + "\n".join(lines).replace("/opt/nodelint/bin/nodelint", "nodelint")
        command, env = ["bash", "-e", "-c", script], {**os.environ, **variables}
        return subprocess.run(command, cwd=tmp_path / "clone", env=env, capture_output=True, text=True, check=False)

    origin = tmp_path / "origin"
    shutil.copytree(ROOT / "examples" / "change" / "before", origin)
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "before")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    shutil.copytree(ROOT / "examples" / "change" / "after", tmp_path / "clone", dirs_exist_ok=True)
    done = run(plan, BITBUCKET_PR_DESTINATION_BRANCH="main")
    assert (done.returncode, done.stderr) == (0, "")
    assert "AMIDrift" in (tmp_path / "clone" / steps[1]["step"]["artifacts"][0]).read_text(encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "bad", tmp_path / "clone" / "bad")
    assert run(check).returncode == 1
    assert "<failure" in (tmp_path / "clone/test-results/nodelint.xml").read_text(encoding="utf-8")


def _jenkins_scripts() -> list[str]:
    """The shell scripts of the pipeline, in their order."""
    return re.findall(r"sh '''\n(.*?)'''", (CI / "Jenkinsfile").read_text(encoding="utf-8"), re.DOTALL)


def test_the_jenkins_pipeline_leaves_its_reports(tmp_path: Path) -> None:
    """Its scripts, less the one that installs, over a repository whose branch adds a mistake."""
    _, check, plan = _jenkins_scripts()
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    shutil.copytree(ROOT / "examples" / "change" / "before", origin)
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "before")
    git(tmp_path, "clone", "-q", str(origin), "clone")
    shutil.copytree(ROOT / "examples" / "change" / "after", clone, dirs_exist_ok=True)
    program = tmp_path / "nodelint" / "bin" / "nodelint"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nodelint "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {**os.environ, "WORKSPACE_TMP": str(tmp_path), "CHANGE_TARGET": "main"}
    run = partial(subprocess.run, cwd=clone, env=env, capture_output=True, text=True, check=False)
    assert run(["sh", "-e", "-c", plan]).returncode == 0
    assert "AMIDrift" in (clone / "nodelint-plan.html").read_text(encoding="utf-8")
    shutil.copytree(ROOT / "examples" / "bad", clone / "bad")
    assert run(["sh", "-e", "-c", check]).returncode == 1
    assert "<failure" in (clone / "nodelint.xml").read_text(encoding="utf-8")
    assert "<article class=error>" in (clone / "nodelint.html").read_text(encoding="utf-8")


def test_the_tekton_task_leaves_its_reports(tmp_path: Path) -> None:
    """Its script, less the lines that install, with the paths as Tekton hands them on."""
    task = parsed((CI / "tekton-task.yaml").read_text(encoding="utf-8"))
    (step,) = task["spec"]["steps"]
    assert step["args"] == ["$(params.paths[*])"]
    shutil.copytree(ROOT / "examples" / "bad", tmp_path / "clusters a")
    commands = [line for line in step["script"].splitlines() if not re.search(r"venv|pip", line)]
    script = "\n".join(commands).replace("/opt/nodelint/bin/nodelint", f"{sys.executable} -m nodelint")
    done = subprocess.run(
        ["sh", "-c", script, "sh", "clusters a"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "<failure" in (tmp_path / "nodelint.xml").read_text(encoding="utf-8")


def test_the_job_that_refreshes_facts_commits_what_is_new_or_differs(tmp_path: Path) -> None:
    """Its last step after three runs: the first snapshot, the same one again, and another."""
    (job,) = (parsed(text) for text in WORKFLOWS if parsed(text)["name"] == "facts")
    script = job["jobs"]["refresh"]["steps"][-1]["run"].replace("gh pr create", "echo opened")
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin")
    git(tmp_path, "clone", "-q", "origin", "clone")
    clone = tmp_path / "clone"
    git(clone, "commit", "-q", "--allow-empty", "-m", "first")
    git(clone, "push", "-q", "origin", "HEAD:main")

    def run(snapshot: str) -> str:
        git(clone, "checkout", "-q", "-B", "main", "origin/main")
        subprocess.run(["git", "branch", "-D", "facts"], cwd=clone, check=False, capture_output=True)
        (clone / "nodelint.snapshot.json").write_text(snapshot, encoding="utf-8")
        done = subprocess.run(["bash", "-e", "-c", script], cwd=clone, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "opened --fill --head facts" in run("{}")
    git(clone, "push", "-q", "origin", "origin/facts:main")
    assert "opened" not in run("{}")
    assert "opened" in run('{"a": 1}')
    show = ["git", "show", "facts:nodelint.snapshot.json"]
    assert subprocess.run(show, cwd=tmp_path / "origin", check=True, capture_output=True).stdout == b'{"a": 1}'


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_gitlab_job_is_one() -> None:
    builtin_schemas.hold_to("vendor.gitlab-ci", CI / "gitlab-ci.yml")


@pytest.mark.parametrize("text", WORKFLOWS, ids=lambda text: parsed(text)["name"])
def test_each_workflow_is_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "workflow.yml").write_text(text, encoding="utf-8")
    builtin_schemas.hold_to("vendor.github-workflows", tmp_path / "workflow.yml")


def test_recipes_pin_the_actions_of_others_as_our_own_workflows_do() -> None:
    shipped = "".join(path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml"))
    pins = dict(re.findall(r"uses: ([\w./-]+)@(\S+ # v\S+)", shipped))
    used = re.findall(r"uses: ([\w./-]+)@(.*)", "".join(page.read_text(encoding="utf-8") for page in PAGES))
    assert used
    for name, pin in used:
        assert re.fullmatch(r"[0-9a-f]{40} # v[\d.]+", pin), name
        assert pins.get(name, pin) == pin, name


def test_the_action_is_told_of_as_it_is() -> None:
    inputs = parsed((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    table = (CI / "github.md").read_text(encoding="utf-8").split("| input |", 1)[1].split("\n\n", 1)[0]
    found = {name for row in table.splitlines()[2:] for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    assert found == set(inputs)
    for text in WORKFLOWS:
        for step in (step for job in parsed(text)["jobs"].values() for step in job.get("steps", ())):
            if step.get("uses", "").startswith("<owner>/nodelint@"):
                assert set(step.get("with", {})) <= set(inputs)


@pytest.mark.parametrize(
    "page",
    [
        *PAGES,
        *(CI / name for name in ("gitlab-ci.yml", "bitbucket-pipelines.yml", "Jenkinsfile", "tekton-task.yaml")),
    ],
    ids=lambda page: page.name,
)
def test_pages_name_the_release_that_they_come_with(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"nodelint(?:@|/(?:archive/)?)v(\d[\w.]*\d)|(?:rev|NODELINT_REF): v(\d[\w.]*\d)", text)
    assert {first or other for first, other in named} <= {__version__}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_named_is_one(page: Path, nodelint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    for name, rest in re.findall(
        r"nodelint (check|refresh|baseline|init)((?: [^\n|`)]+)?)", page.read_text(encoding="utf-8")
    ):
        shown = nodelint(name, "--help").stdout
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in shown, f"{name} {option}"


def test_the_image_is_built_from_what_is_let_in() -> None:
    """.dockerignore shuts out all but what the build copies, and pyproject.toml packs."""
    let_in = set(re.findall(r"(?m)^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8")))
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {word for line in re.findall(r"(?m)^COPY (.+)$", text) for word in line.split()[:-1]}
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)
    assert 'ENTRYPOINT ["nodelint"]' in text and "WORKDIR /src" in text
    assert re.search(r"(?m)^USER [1-9]\d+$", text), "a number, so that a cluster can see that it is not root"


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="hadolint is not on the path")
def test_the_image_is_sound() -> None:
    done = subprocess.run(["hadolint", str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
