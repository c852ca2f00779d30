"""`nodelint plan` as a user runs it: folders, git revisions, formats, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from html import escape
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from nodelint.apiserver import Schemas
from nodelint.drift import hash_object
from nodelint.model.documents import objects
from nodelint.model.releases import Version
from nodelint.text import Source
from tests.conftest import ROOT
from tests.manifests import nodeclass, nodepool
from tests.plan.test_plan import BOTH, CLASS, POOL

Run = Callable[..., CompletedProcess[str]]
NOW = {"NODELINT_NOW": "2026-11-21T12:00:00Z"}


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose main branch holds a pool and its class, on a branch of its own."""
    folder = tmp_path / "repository"
    put(folder / "clusters" / "prod" / "pool.yaml", POOL)
    put(folder / "clusters" / "prod" / "class.yaml", CLASS)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    git(folder, "switch", "-qc", "change")
    return folder


def test_two_folders_are_compared(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    other = POOL.replace("name: web\n", "name: batch\n")
    new = BOTH.replace("[c, m]", "[m]").replace("v20250403", "v20250501")
    put(tmp_path / "new" / "a.yaml", f"{new}---\n{other}")
    done = nodelint("plan", "--old", "old", "new", env=NOW)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == snapshot


def test_the_json_is_what_its_schema_says(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    new = BOTH.replace("key: fast", "key: slow").replace("[c, m]", "[m5]").replace("role:", "rol:")
    put(tmp_path / "new" / "a.yaml", new)
    done = nodelint("plan", "--old", "old", "new", "--format", "json", "--karpenter-version", "1.6.0", env=NOW)
    report = json.loads(done.stdout)
    schema = json.loads((ROOT / "schemas" / "plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    report["nodePools"][0]["instanceTypes"].pop("lost")
    assert report == snapshot


def test_a_branch_is_compared_with_where_it_began(nodelint: Run, repository: Path) -> None:
    pool = repository / "clusters" / "prod" / "pool.yaml"
    put(pool, POOL.replace("key: fast", "key: slow"))
    git(repository, "commit", "-qam", "another taint")
    put(pool, POOL.replace("key: fast", "key: slower"))
    put(repository / "scratch.yaml", "a: b\n")
    before = git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD")
    done = nodelint("plan", "--format", "json", cwd=repository)
    (answer,) = json.loads(done.stdout)["nodePools"]
    assert (done.returncode, done.stderr) == (1, "")
    assert (answer["path"], answer["change"], answer["replaced"]) == ("clusters/prod/pool.yaml", "changed", "all")
    (reason,) = answer["reasons"]
    assert (reason["path"], reason["line"]) == ("clusters/prod/pool.yaml", 13)
    assert before == (git(repository, "status", "--porcelain"), git(repository, "rev-parse", "HEAD"))


def test_a_revision_is_named_and_the_class_is_found_beside_the_paths(nodelint: Run, repository: Path) -> None:
    put(repository / "clusters" / "prod" / "class.yaml", CLASS.replace("cost: web", "cost: app"))
    git(repository, "commit", "-qam", "a tag")
    here = repository / "clusters" / "prod"
    done = nodelint("plan", "pool.yaml", "--against", "HEAD~1", "--format", "json", cwd=here)
    (answer,) = json.loads(done.stdout)["nodePools"]
    assert [(r["reason"], r["path"]) for r in answer["reasons"]] == [("NodeClassDrift", "class.yaml")]
    assert nodelint("plan", "--against", "HEAD", cwd=here).returncode == 0


@pytest.mark.parametrize("name", ["nowhere", "--output=x", "-h", "HEAD:clusters", "a b", ""])
def test_what_is_no_revision_is_refused(nodelint: Run, repository: Path, name: str) -> None:
    done = nodelint("plan", f"--against={name}", cwd=repository)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a revision of this repository" in done.stderr
    listed = "`git branch --all` and `git tag` list the names, and `git fetch` brings those of the remote"
    assert (listed in done.stderr) == (not name.startswith("-"))
    assert not (repository / "x").exists()


def test_a_folder_without_git_is_told_of(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "pool.yaml", POOL)
    done = nodelint("plan", env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not in a git repository" in done.stderr


def test_names_of_files_are_no_options_and_links_stay_inside(nodelint: Run, repository: Path, tmp_path: Path) -> None:
    put(tmp_path / "outside.yaml", POOL.replace("name: web\n", "name: outside\n"))
    put(repository / "--upload-pack=x.yaml", POOL.replace("name: web\n", "name: dashes\n").replace("[c, m]", "[r]"))
    (repository / "leads-out.yaml").symlink_to(tmp_path / "outside.yaml")
    (repository / "leads-in.yaml").symlink_to("clusters/prod/pool.yaml")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "odd names")
    for value in ("leads-out.yaml", "leads-in.yaml"):
        (repository / value).unlink()
    done = nodelint("plan", "--against", "HEAD", "--format", "json", cwd=repository)
    answer = {(pool["name"], pool["change"]) for pool in json.loads(done.stdout)["nodePools"]}
    assert ("dashes", "unchanged") in answer
    assert "outside" not in {name for name, _ in answer}


@pytest.mark.parametrize(
    ("new", "codes"),
    [
        (BOTH, {"drift": 0, "launch": 0, "error": 0, "never": 0}),
        (BOTH.replace("key: fast", "key: slow"), {"drift": 1, "launch": 0, "error": 0, "never": 0}),
        (BOTH.replace("[c, m]", "[hpc]").replace("spot, on", "on"), {"drift": 1, "launch": 0, "error": 0}),
        (BOTH.replace("kind: EC2NodeClass, name", "kind: Other, name"), {"drift": 1, "error": 1, "never": 0}),
    ],
)
def test_the_gate_decides_on_the_exit_code(nodelint: Run, tmp_path: Path, new: str, codes: dict[str, int]) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    put(tmp_path / "new" / "a.yaml", new)
    found = {gate: nodelint("plan", "--old", "old", "new", "--fail-on", gate).returncode for gate in codes}
    assert found == codes


def test_wrong_usage_and_unreadable_files_are_told_of(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    put(tmp_path / "new" / "a.yaml", BOTH)
    put(tmp_path / "new" / "b.yaml", "apiVersion: karpenter.sh/v1\nkind: [\n")
    done = nodelint("plan", "--old", "old", "new")
    assert done.returncode == 1, "a new error"
    assert nodelint("plan", "--old", "old", "new", "--fail-on", "never").returncode == 2
    assert "new/b.yaml:3:1: " in done.stderr
    assert nodelint("plan", "--old", "nowhere", "new").returncode == 2
    assert "cannot be used together" in nodelint("plan", "--old", "old", "--against", "HEAD", "new").stderr


BUDGETS = """\
    budgets:
      - {nodes: 10%}
      - {nodes: "0", schedule: 0 9 * * mon-fri, duration: 8h, reasons: [Drifted]}
"""


def cluster(claims: int) -> str:
    """A cluster whose NodeClaims were made from `BOTH`: some of them of types that a narrower pool does not have."""
    (pool,) = objects(Source.from_text("pool.yaml", POOL))
    hashed = hash_object(pool, Version(1, 6, 0), Schemas.bundled())
    (made,) = objects(Source.from_text("class.yaml", CLASS))
    of_class = hash_object(made, Version(1, 6, 0), Schemas.bundled())
    noted = {
        "karpenter.sh/nodepool-hash": str(hashed.value),
        "karpenter.sh/nodepool-hash-version": hashed.version,
        "karpenter.k8s.aws/ec2nodeclass-hash": str(of_class.value),
        "karpenter.k8s.aws/ec2nodeclass-hash-version": of_class.version,
    }
    items = []
    for number in range(claims):
        labels = {
            "karpenter.sh/nodepool": "web",
            "karpenter.k8s.aws/instance-category": "c" if number % 3 else "m",
            "karpenter.sh/capacity-type": "spot",
            "topology.kubernetes.io/zone": "eu-west-1a",
            "example.com/tier": "gold",
        }
        meta = {"name": f"web-{number:02}", "labels": labels, "annotations": noted}
        conditions = [{"type": "Drifted", "status": "True", "reason": "AMIDrift"}] if number == 1 else []
        ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
        spec = {"nodeClassRef": ref}
        items.append({"kind": "NodeClaim", "metadata": meta, "spec": spec, "status": {"conditions": conditions}})
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_live_counts_nodes_and_tells_the_pace(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    both = BOTH.replace("    budgets: [{nodes: 10%}]\n", BUDGETS)
    put(tmp_path / "old" / "a.yaml", both)
    put(tmp_path / "new" / "a.yaml", both.replace("[c, m]", "[m]"))
    put(tmp_path / "cluster.json", cluster(40))
    arguments = ("plan", "--old", "old", "new", "--live", "cluster.json", "--karpenter-version", "1.6.0")
    done = nodelint(*arguments, env=NOW)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == snapshot
    (answer,) = json.loads(nodelint(*arguments, "--format", "json", env=NOW).stdout)["nodePools"]
    assert {key: answer["nodes"][key] for key in ("total", "replaced", "unknown", "drifted")} == {
        "total": 40,
        "replaced": 26,
        "unknown": 0,
        "drifted": 1,
    }
    assert {node["reason"] for node in answer["nodes"]["claims"] if node["fate"] == "replaced"} == {
        "RequirementsDrifted"
    }
    assert [(entry["from"][8:16], entry["allowed"]) for entry in answer["pace"]][:3] == [
        ("21T12:00", 4),
        ("23T09:00", 0),
        ("23T17:00", 4),
    ]


@pytest.mark.parametrize(("version", "replaced"), [("v3", 3), ("v2", 0)])
def test_a_hash_of_another_version_is_not_compared(
    nodelint: Run, tmp_path: Path, version: str, replaced: int
) -> None:
    """`areStaticFieldsDrifted` of core: the controller writes such a hash anew, and the node stays."""
    put(tmp_path / "old" / "a.yaml", BOTH)
    put(tmp_path / "new" / "a.yaml", BOTH.replace("{team: web}\n    spec", "{team: api}\n    spec"))
    noted = cluster(3).replace('nodepool-hash-version": "v3"', f'nodepool-hash-version": "{version}"')
    put(tmp_path / "cluster.json", noted)
    arguments = ("plan", "--old", "old", "new", "--live", "cluster.json", "--karpenter-version", "1.6.0")
    (answer,) = json.loads(nodelint(*arguments, "--format", "json", env=NOW).stdout)["nodePools"]
    assert answer["nodes"]["replaced"] == replaced


def test_live_counts_all_nodes_of_a_pool_that_goes(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    put(tmp_path / "new" / "a.yaml", CLASS)
    put(tmp_path / "cluster.json", cluster(3))
    done = nodelint("plan", "--old", "old", "new", "--live", "cluster.json", "--karpenter-version", "1.6.0", env=NOW)
    assert "3 of 3 nodes" in done.stdout
    assert "pace" not in done.stdout


def test_a_class_that_the_new_folder_lacks_is_gone(nodelint: Run, repository: Path) -> None:
    put(repository / "old" / "a.yaml", BOTH)
    put(repository / "new" / "a.yaml", POOL)
    done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=repository)
    (answer,) = json.loads(done.stdout)["nodePools"]
    assert (answer["change"], answer["replaced"], answer["instanceTypes"]["after"]) == ("unchanged", "none", 0)
    text = nodelint("plan", "--old", "old", "new", "--fail-on", "launch", cwd=repository)
    assert text.returncode == 1
    assert "can no longer launch nodes: its EC2NodeClass `default` is gone" in text.stdout


def hostile(text: str) -> str:
    return text.replace("name: web\n", "name: 'a<script>|`b'\n").replace("key: fast", "key: '</code><img src=x>|`'")


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_the_pages_for_readers(nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion, form: str) -> None:
    both = BOTH.replace("    budgets: [{nodes: 10%}]\n", BUDGETS)
    put(tmp_path / "old" / "a.yaml", both)
    put(tmp_path / "new" / "a.yaml", both.replace("[c, m]", "[m]").replace("cost: web", "cost: b"))
    done = nodelint("plan", "--old", "old", "new", f"--format={form}=plan.out", "--format=text", env=NOW)
    assert (done.returncode, done.stderr) == (1, "")
    written = (tmp_path / "plan.out").read_text(encoding="utf-8")
    if form == "html":
        assert "http" not in written.replace("http-equiv", "")  # nothing is fetched
        written = re.sub(
            r"<style>.*?</style>|<script>.*?</script>|<tr class=lost>.*</tr>", "", written, flags=re.DOTALL
        )
    assert written == snapshot


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_what_a_manifest_says_is_no_markup(nodelint: Run, tmp_path: Path, form: str) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    put(tmp_path / "new" / "a.yaml", hostile(BOTH) + "---\n" + hostile(CLASS))
    done = nodelint("plan", "--old", "old", "new", "--format", form, env=NOW)
    body = re.sub(r"<script>\nfor.*?</script>", "", done.stdout, flags=re.DOTALL)
    assert "<script>|" not in body
    assert "<img" not in body
    rows = [line for line in body.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows if "NodePool" in row or "`-`" in row)


def test_a_name_adds_no_line_to_a_comment(nodelint: Run, tmp_path: Path) -> None:
    name = 'metadata:\n  name: "w`` | `\\n\\n# No node is replaced\\n"\n'
    pool = re.sub(r"metadata:\n  name: .*\n", lambda _: name, POOL, count=1)
    assert pool != POOL
    put(tmp_path / "old" / "a.yaml", pool)
    put(tmp_path / "new" / "a.yaml", pool.replace("[c, m]", '["x\\n\\n# all good"]'))
    done = nodelint("plan", "--old", "old", "new", "--format", "markdown", env=NOW)
    heads = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert len(heads) == 1 and heads[0].startswith("### nodelint plan: 1 NodePool"), done.stdout


def test_an_overlay_is_compared_as_it_is_built(nodelint: Run, repository: Path) -> None:
    overlay = "resources: [pool.yaml, class.yaml]\npatches: [{path: label.yaml, target: {kind: NodePool}}]\n"
    patch = "- {op: replace, path: /spec/template/metadata/labels/team, value: %s}\n"
    put(repository / "clusters" / "prod" / "kustomization.yaml", overlay)
    put(repository / "clusters" / "prod" / "label.yaml", patch % "web")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "an overlay")
    put(repository / "clusters" / "prod" / "label.yaml", patch % "site")
    done = nodelint("plan", "--against", "HEAD", "--format", "json", cwd=repository)
    (answer,) = json.loads(done.stdout)["nodePools"]
    (reason,) = answer["reasons"]
    assert (answer["name"], answer["path"], answer["replaced"]) == ("web", "clusters/prod/pool.yaml", "all")
    assert (reason["reason"], reason["path"], reason["line"]) == ("NodePoolDrifted", "clusters/prod/label.yaml", 1)


def test_a_value_of_a_chart_is_the_line_that_replaces_nodes(nodelint: Run, repository: Path) -> None:
    chart = repository / "chart"
    put(chart / "Chart.yaml", "apiVersion: v2\nname: pools\nversion: 1.0.0\n")
    put(chart / "values.yaml", "team: web\n")
    put(chart / "templates" / "pool.yaml", POOL.replace("team: web", "team: {{ .Values.team }}"))
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "a chart")
    put(chart / "values.yaml", "# the team\nteam: site\n")
    done = nodelint("plan", "--against", "HEAD", "--format", "json", "chart", cwd=repository)
    (answer,) = json.loads(done.stdout)["nodePools"]
    (reason,) = answer["reasons"]
    assert (answer["name"], answer["replaced"]) == ("web", "all")
    assert (reason["reason"], reason["path"], reason["line"]) == ("NodePoolDrifted", "chart/values.yaml", 2)


@pytest.mark.parametrize(
    ("to", "absorbed"), [("1.11.2", []), ("1.12.1", [{"name": "web", "from": "1.11.1", "to": "1.12.1"}])]
)
def test_a_class_that_changes_with_the_hash_version(
    nodelint: Run, repository: Path, to: str, absorbed: list[dict[str, str]]
) -> None:
    """1.12 hashes classes in another way: its controller takes the changed class for the one that nodes have."""
    release = repository / "clusters" / "prod" / "Makefile"
    put(release, "KARPENTER_VERSION := 1.11.1\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "a release")
    put(release, f"KARPENTER_VERSION := {to}\n")
    put(repository / "clusters" / "prod" / "class.yaml", CLASS.replace("cost: web", "cost: site"))
    done = nodelint("plan", "--against", "HEAD", "--format", "json", cwd=repository)
    assert [{**value, "name": "web"} for value in json.loads(done.stdout)["absorbed"]] == absorbed
    text = nodelint("plan", "--against", "HEAD", cwd=repository).stdout
    assert ("may never reach the nodes that run" in " ".join(text.split())) == bool(absorbed)
    named = nodelint("plan", "--against", "HEAD", "--karpenter-version", to, cwd=repository).stdout
    assert "may never reach" not in named


def chart(release: str) -> str:
    return f"apiVersion: v2\nname: x\ndependencies:\n- {{name: karpenter, version: {release}}}\n"


def test_each_pool_is_planned_for_the_release_of_its_cluster(repository: Path, nodelint: Run) -> None:
    for name, release in (("prod", "1.14.1"), ("dev", "1.2.1")):
        put(repository / "clusters" / name / "pool.yaml", POOL)
        put(repository / "clusters" / name / "class.yaml", CLASS)
        put(repository / "clusters" / name / "Chart.yaml", chart(release))
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "clusters")
    for name in ("prod", "dev"):
        put(repository / "clusters" / name / "pool.yaml", POOL.replace("[c, m]", "[m]"))
    messages = {}
    for words in ((), ("--karpenter-version", "1.2.1"), ("--karpenter-version", "1.14.1")):
        done = nodelint("plan", "--against", "HEAD", "--format", "json", *words, cwd=repository, env=NOW)
        messages[words[1:]] = {pool["path"]: pool for pool in json.loads(done.stdout)["nodePools"]}
    own = messages[()]
    assert own == {
        "clusters/dev/pool.yaml": messages["1.2.1",]["clusters/dev/pool.yaml"],
        "clusters/prod/pool.yaml": messages["1.14.1",]["clusters/prod/pool.yaml"],
    }
    assert {entry["karpenter"] for entry in own.values()} == {"1.2.1", "1.14.1"}
    text = nodelint("plan", "--against", "HEAD", cwd=repository, env=NOW).stdout
    assert text.endswith("Karpenter 1.2.1 and 1.14.1, each pool for its own\n")


OLD_TEMPLATE = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: old
spec:
  template:
    metadata:
      labels: {team: web}
    spec:
      nodeClassRef: {name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [{{ .Values.zone }}]}
"""
"""Code in it keeps it from becoming an object of v1, which the newest release among the clusters serves alone."""


def test_a_pool_that_only_the_release_of_its_cluster_serves_is_planned(repository: Path, nodelint: Run) -> None:
    put(repository / "clusters" / "prod" / "pool.yaml", POOL)
    put(repository / "clusters" / "prod" / "Chart.yaml", chart("1.14.1"))
    dev = repository / "clusters" / "dev"
    put(dev / "Chart.yaml", chart("1.0.2"))
    put(dev / "templates" / "pool.yaml", OLD_TEMPLATE)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "clusters")
    text = nodelint("plan", "--against", "HEAD", cwd=repository).stdout
    assert "2 NodePools, none changed. No node is replaced." in text
    put(dev / "templates" / "pool.yaml", OLD_TEMPLATE.replace("team: web", "team: ops"))
    text = nodelint("plan", "--against", "HEAD", cwd=repository).stdout
    assert "~ NodePool old" in text and "NodePoolDrifted" in text and "does not serve" not in text
    put(dev / "templates" / "pool.yaml", OLD_TEMPLATE.replace(".Values.zone", ".Values.other"))
    text = nodelint("plan", "--against", "HEAD", cwd=repository).stdout
    assert "NodePool old" in text and "nodes of 1 may be replaced" in text
    assert ".Values.other" in text


def test_findings_of_each_side_are_those_for_its_own_release(repository: Path, nodelint: Run) -> None:
    put(repository / "clusters" / "prod" / "Chart.yaml", chart("1.2.1"))
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "release")
    put(repository / "clusters" / "prod" / "Chart.yaml", chart("1.8.1"))
    words = ("plan", "--against", "HEAD", "--format", "json")
    found = json.loads(nodelint(*words, cwd=repository, env=NOW).stdout)["findings"]
    assert "undiscovered-memory" in [finding["rule"] for finding in found["gone"]]
    named = json.loads(nodelint(*words, "--karpenter-version", "1.8.1", cwd=repository, env=NOW).stdout)["findings"]
    assert named["gone"] == []


def fleet() -> str:
    """Three nodes of `BOTH` with their pods: one pod is annotated, one is covered by a budget that allows nothing."""
    items = json.loads(cluster(3))["items"]
    for number, item in enumerate(items):
        item["status"]["nodeName"] = f"ip-{number}"
        item["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "m5.large"

    def running(name: str, node: str, **more: object) -> dict[str, object]:
        meta = {"namespace": "shop", "name": name, "labels": {"app": name}, **more}
        return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": node}, "status": {"phase": "Running"}}

    def limit(name: str, allowed: int, app: str) -> dict[str, object]:
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": [app]}]}
        meta = {"namespace": "shop", "name": name}
        status = {"disruptionsAllowed": allowed}
        return {"kind": "PodDisruptionBudget", "metadata": meta, "spec": {"selector": selector}, "status": status}

    items += [
        running("cart", "ip-0"),
        running("job", "ip-1", annotations={"karpenter.sh/do-not-disrupt": "true"}),
        running("else", "ip-9"),
        limit("cart", 0, "cart"),
        limit("job", 1, "job"),
        limit("else", 0, "else"),
        {"kind": "Node", "metadata": {"name": "ip-2", "annotations": {"karpenter.sh/do-not-disrupt": "true"}}},
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def rolled(
    nodelint: Run, folder: Path, new: str, live: str = "cluster.json", release: str = "1.6.0"
) -> dict[str, Any]:
    put(folder / "old" / "a.yaml", BOTH)
    put(folder / "new" / "a.yaml", new)
    arguments = ("plan", "--old", "old", "new", "--live", live, "--karpenter-version", release, "--format", "json")
    report = json.loads(nodelint(*arguments, env=NOW).stdout)
    schema = json.loads((ROOT / "schemas" / "plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    (message,) = report["nodePools"]
    found: dict[str, Any] = message["roll"]
    return found


def test_live_tells_the_steps_and_what_blocks_them(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "cluster.json", fleet())
    found = rolled(nodelint, tmp_path, BOTH.replace("key: fast, effect: Prefer", "key: slow, effect: "))
    assert (found["nodes"], found["atOnce"], found["steps"], found["hours"]) == (3, 1, 3, [0.2, 0.8])
    assert found["blockedBy"] == {
        "podDisruptionBudgets": ["shop/cart"],
        "doNotDisrupt": ["Node/ip-2", "Pod/shop/job"],
        "withoutToleration": ["Pod/shop/cart", "Pod/shop/job"],
    }
    before, after = found["dollarsPerMonth"]["before"], found["dollarsPerMonth"]["after"]
    assert before == pytest.approx(3 * 0.096 * 730, abs=0.01)
    assert 0 < after < before
    assert "first step: 1 of 3 nodes at once now; the whole: about 3 steps" in found["inWords"]


@pytest.mark.parametrize(
    ("value", "started", "release", "holds"),
    [
        ("true", "2026-11-01T00:00:00Z", "1.6.0", True),
        ("2h", "2026-11-21T10:00:01Z", "1.12.0", True),
        ("2h", "2026-11-21T10:00:00Z", "1.12.0", False),
        ("2h", None, "1.12.0", True),
        ("2h", "2026-11-21T10:00:01Z", "1.11.1", False),
        ("-2h", "2026-11-21T10:00:01Z", "1.12.0", False),
        ("a while", None, "1.12.0", False),
    ],
)
def test_a_pod_may_hold_its_node_for_a_time(
    nodelint: Run, tmp_path: Path, value: str, started: str | None, release: str, holds: bool
) -> None:
    """`IsDoNotDisruptActive` of pkg/utils/pod/scheduling.go of core: durations count from 1.12.0 on."""
    live = json.loads(fleet())
    [job] = [item for item in live["items"] if item["metadata"]["name"] == "job" and item["kind"] == "Pod"]
    job["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": value}
    if started is not None:
        job["status"]["startTime"] = started
    put(tmp_path / "cluster.json", json.dumps(live))
    new = BOTH.replace("key: fast, effect: Prefer", "key: slow, effect: ")
    found = rolled(nodelint, tmp_path, new, release=release)
    assert ("Pod/shop/job" in found["blockedBy"]["doNotDisrupt"]) is holds


@pytest.mark.parametrize(
    ("effect", "pods"),
    [
        ("NoSchedule", ["Pod/shop/cart", "Pod/shop/job"]),
        ("NoExecute", ["Pod/shop/cart", "Pod/shop/job"]),
        ("PreferNoSchedule", []),
    ],
)
def test_a_new_taint_keeps_pods_off_by_its_effect(
    nodelint: Run, tmp_path: Path, effect: str, pods: list[str]
) -> None:
    put(tmp_path / "cluster.json", fleet())
    new = BOTH.replace("key: fast, effect: PreferNoSchedule", f"key: slow, effect: {effect}")
    assert rolled(nodelint, tmp_path, new)["blockedBy"]["withoutToleration"] == pods


def test_an_annotation_that_says_false_and_a_pod_of_the_node_itself_hold_nothing(
    nodelint: Run, tmp_path: Path
) -> None:
    live = json.loads(
        fleet().replace('"karpenter.sh/do-not-disrupt": "true"', '"karpenter.sh/do-not-disrupt": "false"')
    )
    claims = [item for item in live["items"] if item["kind"] == "NodeClaim"]
    claims[0]["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = "false"
    claims[1]["metadata"]["annotations"] = {
        **claims[1]["metadata"]["annotations"],
        "karpenter.sh/do-not-disrupt": "true",
    }
    for item in live["items"]:
        if item["kind"] == "Pod" and item["metadata"]["name"] == "cart":
            item["metadata"]["ownerReferences"] = [{"kind": "Node", "name": "ip-0"}]
    put(tmp_path / "cluster.json", json.dumps(live))
    found = rolled(nodelint, tmp_path, BOTH.replace("key: fast, effect: Prefer", "key: slow, effect: "))
    assert found["blockedBy"] == {
        "podDisruptionBudgets": [],
        "doNotDisrupt": ["NodeClaim/web-01"],
        "withoutToleration": ["Pod/shop/job"],
    }


@pytest.mark.parametrize(
    ("expression", "covers"),
    [
        ({"key": "app", "operator": "In", "values": ["cart"]}, True),
        ({"key": "app", "operator": "NotIn", "values": ["cart", "job"]}, False),
        ({"key": "tier", "operator": "In", "values": ["x"]}, False),
        ({"key": "tier", "operator": "NotIn", "values": ["x"]}, True),
        ({"key": "app", "operator": "Exists"}, True),
        ({"key": "tier", "operator": "Exists"}, False),
        ({"key": "tier", "operator": "DoesNotExist"}, True),
        ({"key": "app", "operator": "DoesNotExist"}, False),
    ],
)
def test_a_budget_covers_pods_by_its_expressions(
    nodelint: Run, tmp_path: Path, expression: dict[str, Any], covers: bool
) -> None:
    """`LabelSelectorAsSelector` of apimachinery: a pod without the label is among those that `NotIn` selects."""
    live = json.loads(fleet())
    for item in live["items"]:
        if item["kind"] == "PodDisruptionBudget" and item["metadata"]["name"] == "cart":
            item["spec"]["selector"] = {"matchExpressions": [expression]}
    put(tmp_path / "cluster.json", json.dumps(live))
    found = rolled(nodelint, tmp_path, BOTH.replace("key: fast, effect: Prefer", "key: slow, effect: "))
    assert ("shop/cart" in found["blockedBy"]["podDisruptionBudgets"]) is covers


def test_budgets_are_of_all_nodes_of_the_pool_and_steps_of_those_that_go(nodelint: Run, tmp_path: Path) -> None:
    """10 % of 40 nodes are 4 at once, however many of them go."""
    put(tmp_path / "cluster.json", cluster(40))
    found = rolled(nodelint, tmp_path, BOTH.replace("[c, m]", "[m]"))
    assert (found["nodes"], found["atOnce"], found["steps"]) == (26, 4, 7)
    narrow = rolled(nodelint, tmp_path, BOTH.replace("[c, m]", "[c]"))
    assert (narrow["nodes"], narrow["atOnce"], narrow["steps"]) == (14, 4, 4)
    live = json.loads(cluster(40))
    live["items"][0]["metadata"]["deletionTimestamp"] = "2026-11-21T11:59:00Z"  # one that may stay
    put(tmp_path / "cluster.json", json.dumps(live))
    assert rolled(nodelint, tmp_path, BOTH.replace("[c, m]", "[m]"))["atOnce"] == 3


@pytest.mark.parametrize(("nodes", "words"), [(100, "8 hours to 25 hours at 5"), (200, "17 hours to 2 days at 5")])
def test_a_long_roll_is_told_in_hours_and_then_in_days(nodelint: Run, tmp_path: Path, nodes: int, words: str) -> None:
    put(tmp_path / "cluster.json", cluster(nodes))
    new = BOTH.replace("nodes: 10%", 'nodes: "1"').replace("key: fast, effect: Prefer", "key: slow, effect: ")
    found = rolled(nodelint, tmp_path, new)
    assert found["steps"] == nodes
    assert any(words in line for line in found["inWords"]), found["inWords"]


def test_a_node_that_goes_already_counts_against_the_budget(nodelint: Run, tmp_path: Path) -> None:
    live = json.loads(fleet())
    claims = [item for item in live["items"] if item["kind"] == "NodeClaim"]
    claims[0]["metadata"]["deletionTimestamp"] = "2026-11-21T11:59:00Z"
    put(tmp_path / "cluster.json", json.dumps(live))
    found = rolled(nodelint, tmp_path, BOTH.replace("key: fast, effect: Prefer", "key: slow, effect: "))
    assert (found["atOnce"], found["inWords"][0]) == (
        0,
        "first step: none of 3 nodes now, 1 at once later; the whole: about 3 steps",
    )


def test_live_takes_a_folder_and_says_what_it_lacks(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "live" / "claims.json", cluster(3))
    found = rolled(nodelint, tmp_path, BOTH.replace("key: fast", "key: slow"), "live")
    assert found["blockedBy"] == {"podDisruptionBudgets": None, "doNotDisrupt": [], "withoutToleration": None}
    assert found["dollarsPerMonth"] == {"before": None, "after": None}
    assert "which pods and PodDisruptionBudgets block is not known: --live has no pods" in found["inWords"]


def test_live_of_a_pool_that_goes_takes_all_nodes_at_once(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "cluster.json", fleet())
    found = rolled(nodelint, tmp_path, CLASS)
    assert (found["nodes"], found["atOnce"], found["steps"], found["hours"]) == (3, None, None, None)
    assert found["inWords"][0] == "all 3 nodes at once: no budget counts where a pool is deleted"
    assert found["blockedBy"]["podDisruptionBudgets"] == ["shop/cart"]


def test_the_page_says_how_the_nodes_go(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "cluster.json", fleet())
    found = rolled(nodelint, tmp_path, BOTH.replace("key: fast, effect: Prefer", "key: slow, effect: "))
    done = nodelint(
        "plan",
        "--old",
        "old",
        "new",
        "--live",
        "cluster.json",
        "--format",
        "html",
        "--karpenter-version",
        "1.6.0",
        env=NOW,
    )
    assert found["inWords"]
    for line in found["inWords"]:
        assert escape(line) in done.stdout


def test_without_live_there_is_no_roll(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "old" / "a.yaml", BOTH)
    put(tmp_path / "new" / "a.yaml", BOTH.replace("key: fast", "key: slow"))
    done = nodelint("plan", "--old", "old", "new", "--format", "json", env=NOW)
    assert "roll" not in json.loads(done.stdout)["nodePools"][0]


LINE = "        - {key: kubernetes.io/arch, operator: In, values: [amd64]}\n"
TEMPLATES = {
    "variable": (
        '{{- $arch := ternary "amd64" "s390x" .Release.IsInstall }}\n---\n',
        LINE.replace("amd64", "{{ $arch }}"),
    ),
    "loop": (
        '{{- range $arch := list "amd64" .Release.Name }}\n---\n',
        LINE.replace("amd64", "{{ $arch }}") + "{{- end }}\n",
    ),
    "set": ('{{- $_ := set .Values "arch" "amd64" }}\n', LINE.replace("amd64", "{{ .Values.arch }}")),
    "file": ("", '{{ .Files.Get "requirements.yaml" | indent 8 }}\n'),
    "file above": ('{{- $lines := .Files.Get "requirements.yaml" }}\n---\n', "{{ $lines | indent 8 }}\n"),
}
"""What stands above a pool, and in its requirements: values that are not known before Helm runs."""


def put_chart(folder: Path, above: str, requirements: str) -> None:
    pool = POOL[: POOL.index("      requirements:\n")] + "      requirements:\n"
    put(folder / "Chart.yaml", "apiVersion: v2\nname: pools\nversion: 1.0.0\n")
    put(folder / "values.yaml", "{}\n")
    put(folder / "templates" / "pool.yaml", above + pool + requirements)
    put(folder / "requirements.yaml", LINE.lstrip())


@pytest.mark.parametrize("name", TEMPLATES)
def test_what_a_template_takes_from_elsewhere_is_not_called_unchanged(
    nodelint: Run, tmp_path: Path, name: str
) -> None:
    for side in ("old", "new"):
        put_chart(tmp_path / side, *TEMPLATES[name])
    put(tmp_path / "new" / "Chart.yaml", "apiVersion: v2\nname: pools\nversion: 1.0.1\n")
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert done.returncode == 0 and "No node is replaced" in done.stdout
    for path in ("templates/pool.yaml", "requirements.yaml"):
        file = tmp_path / "new" / path
        file.write_text(file.read_text(encoding="utf-8").replace("amd64", "arm64"), encoding="utf-8")
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert done.returncode == 1 and "1 NodePool: its nodes may be replaced." in done.stdout
    assert re.search(
        r"template code (?:that makes this object changes|there)|a file of its\s+chart\s+changes",
        " ".join(done.stdout.split()),
    ), done.stdout


RELEASES = {
    "module.addons": """\
locals {
  values = { arch = "amd64" }
}
module "addons" {
  source  = "aws-ia/eks-blueprints-addons/aws"
  version = "1.16.3"
  helm_releases = {
    pools = { chart = "${path.module}/charts/pools", values = [yamlencode(local.values)] }
    other = { chart = "./charts/others", values = ["arch: none"] }
  }
}
""",
    "helm_release.pools": """\
resource "helm_release" "pools" {
  name    = "pools"
  version = "1.16.3"
  chart   = "./charts/pools"
  values  = [templatefile(var.template, { arch = "amd64" })]
}
resource "helm_release" "other" {
  chart  = "./charts/others"
  values = ["arch: none"]
}
""",
}
"""What Terraform installs a chart with, and nothing here reads; each with what has no part in it."""


@pytest.mark.parametrize("name", RELEASES)
def test_values_that_terraform_gives_and_nothing_reads_are_not_called_unchanged(
    nodelint: Run, tmp_path: Path, name: str
) -> None:
    def plan(text: str) -> str:
        put(tmp_path / "new" / "main.tf", text)
        done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
        assert done.returncode == ("Not compared" in done.stdout)
        return str(done.stdout)

    for side in ("old", "new"):
        put_chart(tmp_path / side / "charts" / "pools", "", LINE.replace("amd64", "{{ .Values.arch }}"))
        put(tmp_path / side / "charts" / "pools" / "values.yaml", "arch: amd64\n")
        put_chart(tmp_path / side / "charts" / "others", "", "")
        put(tmp_path / side / "main.tf", RELEASES[name])
    same = RELEASES[name].replace("1.16.3", "1.16.4").replace("arch: none", "arch: arm64")
    assert "No node is replaced." in plan(same)
    changed = plan(RELEASES[name].replace("amd64", "arm64"))
    assert f"~ {name}  new/main.tf:" in changed and "1 place, 1 of which changed" in changed
    assert f"~ {name}  old/main.tf:" in plan(""), "nothing says what the chart is installed with now"


APPLICATION = """\
resource "kubernetes_manifest" "pools" {
  manifest = {
    apiVersion = "argoproj.io/v1alpha1"
    kind       = "Application"
    metadata   = { name = "pools", version = "1.16.3", other = "arch: none" }
    spec       = { source = { path = "charts/pools", helm = { valuesObject = { arch = "amd64" } } } }
  }
}
"""


def test_an_application_in_terraform_gives_a_chart_known_values(nodelint: Run, tmp_path: Path) -> None:
    for side, arch in (("old", "amd64"), ("new", "arm64"), ("alike", "amd64")):
        put_chart(tmp_path / side / "charts" / "pools", "", LINE.replace("amd64", "{{ .Values.arch }}"))
        put(tmp_path / side / "charts" / "pools" / "values.yaml", "arch: amd64\n")
        put(tmp_path / side / "main.tf", APPLICATION.replace("amd64", arch))
    assert "1 NodePool: all its nodes are replaced." in nodelint("plan", "--old", "old", "new", cwd=tmp_path).stdout
    assert "No node is replaced." in nodelint("plan", "--old", "old", "alike", cwd=tmp_path).stdout


def test_markdown_names_fifty_findings_and_counts_the_others(tmp_path: Path, nodelint: Run) -> None:
    for side, unknown in (("old", 0), ("new", 52)):
        fields = "".join(f"  field{number}: 1\n" for number in range(unknown))
        put(tmp_path / side / "pool.yaml", f"{nodepool(spec=fields)}---\n{nodeclass()}")
    report = nodelint("plan", "--old", "old", "new", "--format", "markdown").stdout
    assert report.count("| new | ") == 50
    assert "… and 2 more findings." in report
