"""What a side cannot read is a gap: nothing of the other side is new, gone or the same for it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from nodelint.forms.terraform.hclcheck import find_hcl_problem
from tests.manifests import nodepool
from tests.plan.test_plan import BOTH, CLASS, POOL, edited
from tests.plan.test_plan_command import git
from tests.plan.test_plan_forms import FORMS, Files, base_of_two, manifest
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]


def one_file(field: str, value: object) -> Files:
    return {"all.yaml": manifest(field, json.dumps(value))}


def two_files(field: str, value: object) -> Files:
    pool, node_class = manifest(field, json.dumps(value)).split("---\n")
    return {"pool.yaml": pool, "class.yaml": node_class}


READ_FORMS = [one_file, two_files, *FORMS]
DAMAGE: dict[str, Callable[[str], bytes] | None] = {
    "an open list": lambda text: text.encode() + b"a: [\n",
    "an open template": lambda text: text.encode() + b"x: {{ if\n",
    "no UTF-8": lambda text: text.encode() + b"# caf\xe9\n",
    "a merge conflict": lambda text: b"<<<<<<< HEAD\n%b=======\n%b>>>>>>> branch\n" % (text.encode(), text.encode()),
    "half of it": lambda text: text.encode()[: len(text) // 2] + b"\n  '",
    "a link to nothing": None,
}


WORK = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      nodeSelector: {team: web}
      tolerations: [{operator: Exists}]
      containers: [{name: app, image: app:1, resources: {requests: {cpu: '1'}}}]
"""


def write(folder: Path, files: Files, damaged: str = "", damage: str = "") -> None:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        made = DAMAGE[damage] if path == damaged else str.encode
        if made is None:
            place.symlink_to("nowhere.yaml")
        else:
            place.write_bytes(made(text))


def planned(nodelint: Run, *args: str) -> tuple[int, dict[str, Any]]:
    done = nodelint("plan", "--old", "old", "new", "--format", "json", *args)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("form", READ_FORMS)
def test_nothing_is_known_of_what_a_side_cannot_read(
    nodelint: Run, tmp_path: Path, form: Callable[[str, object], Files], side: str
) -> None:
    """Each file of each form, each damaged in another way: the pools are not compared, or their classes are not.

    A class of its own file says nothing of a pool that is read; what else is built of another file stays compared.
    """
    files = form("tag", "a")
    other = {"old": "new", "new": "old"}[side]
    ways = islice(cycle(DAMAGE), READ_FORMS.index(form) + (3 if side == "new" else 0), None)
    for number, (path, damage) in enumerate(zip(files, ways, strict=False)):
        folder = tmp_path / str(number)
        write(folder / other, files)
        write(folder / side, files, path, damage)
        done = nodelint("plan", "--old", "old", "new", "--format", "json", cwd=folder)
        output = f"{path}: {damage}: {done.stdout}"
        assert done.returncode == 1, output
        report = json.loads(done.stdout)
        gaps = [place for place in report["notCompared"] if place["changed"]]
        assert gaps, output
        assert all(f"the {side} side cannot be read" in place["reason"] and place["line"] for place in gaps), output
        assert {pool["change"] for pool in report["nodePools"]} <= {"unchanged"}, output
        compared = [pool for pool in report["nodePools"] if pool["replaced"] == "none"]
        alone = (form is base_of_two and not path.startswith("base/")) or path == "values-prod.yaml"
        assert len(compared) == (1 if alone else 0), output
        assert not report["nodeClasses"], output
        assert {finding["rule"] for finding in report["findings"]["new"]} <= {"yaml-syntax", "terraform-syntax"}, (
            output
        )
        assert {finding["rule"] for finding in report["findings"]["gone"]} <= {"yaml-syntax", "terraform-syntax"}, (
            output
        )


def test_an_example_of_karpenters_with_an_open_list(nodelint: Run, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    write(folder, {"a.yaml": BOTH})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    with (folder / "a.yaml").open("a") as file:
        file.write("a: [\n")
    done = nodelint("plan", "r", "--against", "HEAD")
    assert done.returncode == 1
    line = BOTH.count("\n") + 2
    assert f"~ EC2NodeClass default  r/a.yaml:{line}" in done.stdout, done.stdout
    assert "NodePool web (may change)" in done.stdout and f"(r/a.yaml:{line})" in done.stdout, done.stdout
    assert "gone:" not in done.stdout
    assert "removed" not in done.stdout
    assert "No node is replaced" not in done.stdout


def test_the_old_side_is_named_as_in_the_repository(nodelint: Run, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    write(folder, {"a.yaml": BOTH}, "a.yaml", "half of it")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    write(folder, {"a.yaml": BOTH})
    done = nodelint("plan", "r", "--against", "HEAD", "--format", "json")
    report = json.loads(done.stdout)
    assert {place["path"] for place in report["notCompared"]} == {"r/a.yaml"}
    assert not report["nodePools"]


def test_a_pool_that_is_read_is_compared_beside_a_class_that_is_not(nodelint: Run, tmp_path: Path) -> None:
    write(tmp_path / "old", {"a.yaml": BOTH})
    write(tmp_path / "new", {"a.yaml": edited(BOTH, ("{team: web}", "{team: app}")) + "a: [\n"})
    _, report = planned(nodelint)
    (pool,) = report["nodePools"]
    assert [reason["reason"] for reason in pool["reasons"]] == ["NodePoolDrifted"]
    assert pool["replaced"] == "all"


def test_what_both_sides_cannot_read_in_two_ways_is_not_compared(nodelint: Run, tmp_path: Path) -> None:
    for side in ("old", "new"):
        write(tmp_path / side, {"pool.yaml": POOL, "class.yaml": f"{CLASS}a: [{side}\n"})
    code, report = planned(nodelint)
    (pool,) = report["nodePools"]
    assert (code, pool["replaced"]) == (1, "unknown")
    assert "class.yaml" in {Path(place["path"]).name for place in report["notCompared"]}


def test_what_both_sides_cannot_read_alike_is_no_change(nodelint: Run, tmp_path: Path) -> None:
    for side in ("old", "new"):
        write(tmp_path / side, {"a.yaml": BOTH, "b.yaml": f"{CLASS}a: [\n"})
    code, report = planned(nodelint)
    assert code == 2
    assert [pool["replaced"] for pool in report["nodePools"]] == ["none"]
    assert not any(place["changed"] for place in report["notCompared"])


@pytest.mark.parametrize("moved", [True, False])
def test_a_pool_may_have_moved_to_what_cannot_be_read(nodelint: Run, tmp_path: Path, moved: bool) -> None:
    """A file that does not name the pool does not hold it: then the pool is gone."""
    other = POOL.replace("name: web", "name: other")
    write(tmp_path / "old", {"a.yaml": BOTH, "b.yaml": other})
    write(tmp_path / "new", {"a.yaml": CLASS, "b.yaml": f"{POOL if moved else other}a: [\n"})
    _, report = planned(nodelint)
    changes = {pool["name"]: pool["change"] for pool in report["nodePools"]}
    assert changes == ({} if moved else {"web": "removed"})


def test_a_file_that_is_emptied_takes_its_objects_away(nodelint: Run, tmp_path: Path) -> None:
    write(tmp_path / "old", {"a.yaml": BOTH})
    write(tmp_path / "new", {"a.yaml": ""})
    _, report = planned(nodelint)
    assert [pool["change"] for pool in report["nodePools"]] == ["removed"]
    assert not report["notCompared"]


def test_workloads_lose_no_pool_that_cannot_be_read(nodelint: Run, tmp_path: Path) -> None:
    write(tmp_path / "old", {"a.yaml": BOTH, "work.yaml": WORK})
    write(tmp_path / "new", {"a.yaml": f"{POOL}a: [\n---\n{CLASS}", "work.yaml": WORK})
    _, report = planned(nodelint)
    assert report["workloads"] == []


def test_that_no_pool_takes_a_workload_is_not_said_where_one_cannot_be_read(nodelint: Run, tmp_path: Path) -> None:
    gpu = POOL.replace("name: web", "name: gpu").replace("team: web", "team: gpu")
    work = WORK.replace("team: web", "team: gpu")
    write(tmp_path, {"a.yaml": BOTH, "b.yaml": f"{gpu}a: [\n", "work.yaml": work})
    done = nodelint("fit", ".")
    assert done.returncode == 2
    assert "no pool that could be read takes it" in done.stdout
    assert "1 not decided" in done.stdout
    assert "no-pool-for-workload" not in nodelint("check", ".").stdout
    write(tmp_path, {"b.yaml": "a: 1\n"})
    assert "=> no pool takes it" in nodelint("fit", ".").stdout
    assert "no-pool-for-workload" in nodelint("check", ".").stdout


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [\n", 1),
        ("x = 1\n<<<<<<< HEAD\n", 2),
        ('a = "x\n', 1),
        ('resource "a" "b" {\n  x = [\n}\n', 3),
        ("x = <<E\nfoo\n", 1),
        ("x = {\n  a = 1\n<<<<<<< HEAD\n  b = 2\n=======\n}\n", 3),
        ("a =\n", 1),
        ('b "x" {\n', 1),
        ("a = 1 }\n", 1),
        ("a = (1\n", 1),
        ('\ufeffa = "${f("x")}"\nb { c = 1 }\n', None),
        ('a = [for x in y : x if x != ""]\nb = c ? d : e\nd = <<-EOT\n x\n EOT\ne = f[*].g\n', None),
        ("b {\n  c {\n  }\n  # {\n}\n", None),
    ],
)
def test_terraform_is_held_to_its_blocks_and_brackets(text: str, line: int | None) -> None:
    found = find_hcl_problem(text)
    assert (text.count("\n", 0, found[0]) + 1 if found is not None else None) == line


@pytest.mark.parametrize("paths", [(), ("pools",)], ids=["the repository", "the folder alone"])
def test_a_pool_in_a_folder_that_cannot_be_listed_is_not_deleted(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: tuple[str, ...]
) -> None:
    write(tmp_path, {"pools/pool.yaml": POOL, "pools/class.yaml": CLASS, "other.yaml": POOL.replace("web", "other")})
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "pools")
    list_folder = os.scandir

    def refuse(path: str | int) -> Any:
        if isinstance(path, str) and os.path.abspath(path) == str(tmp_path / "pools"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return list_folder(path)

    monkeypatch.setattr(os, "scandir", refuse)
    done = nodelint("plan", "--against", "HEAD", *paths)
    assert "deleted" not in done.stdout
    assert "NodePool web  pools:1" in done.stdout
    assert "the new side cannot be read here: permission denied" in done.stdout
    assert done.stderr == "nodelint: pools: permission denied\n"
    assert done.returncode == (2 if paths else 1)  # without a side there is no verdict


@pytest.mark.parametrize(
    ("old", "code"),
    [
        ("kind: NodePool\nmetadata: {name: other # karpenter\n", 2),
        ("kind: [ karpenter.sh/v1 NodePool", 2),
        ("kind: [ karpenter.sh/v1 NodePool", 1),
    ],
    ids=["of another name", "without a name", "in a folder"],
)
def test_nothing_is_new_beside_a_side_that_cannot_be_read(nodelint: Run, tmp_path: Path, old: str, code: int) -> None:
    write_files(tmp_path, {"old/broken.yaml": old, "new/pool.yaml": nodepool()})
    path = "old" if code == 1 else "old/broken.yaml"
    done = nodelint("plan", "--old", path, "new", cwd=tmp_path)
    assert "it has no nodes yet" not in done.stdout
    assert "~ NodePool default" in done.stdout
    assert "the old side cannot be read here" in done.stdout
    assert done.returncode == code, "a named file that cannot be read leaves no verdict"


def test_an_input_of_a_module_elsewhere_is_said_once(nodelint: Run, tmp_path: Path) -> None:
    for side, arch in (("old", "amd64"), ("new", "arm64")):
        line = f'{{key = "kubernetes.io/arch", operator = "In", values = ["{arch}"]}}'
        text = (
            'module "karpenter_pools" {\n  source = "git::https://example.com/karpenter-pools.git"\n'
            f"  node_pools = {{a = {{requirements = [{line}]}}}}\n}}\n"
        )
        write(tmp_path / side, {"main.tf": text})
    code, report = planned(nodelint)
    assert (code, len(report["notCompared"])) == (1, 1)


def test_a_file_of_an_overlay_that_is_not_built_on_either_side_is_added(nodelint: Run, tmp_path: Path) -> None:
    parts = {"kustomization.yaml": "resources: [pool.yaml, more.yaml, gone.yaml]\n", "pool.yaml": POOL}
    write(tmp_path / "old", parts)
    write(tmp_path / "new", {**parts, "more.yaml": POOL.replace("name: default", "name: more")})
    _, report = planned(nodelint)
    assert "more.yaml of it changes, and the overlay is not built" in json.dumps(report["notCompared"])
