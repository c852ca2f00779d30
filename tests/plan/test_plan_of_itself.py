"""A plan of a tree against itself is empty, whatever is in it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shutil import copytree

import pytest

from nodelint.rule.definition import load_bundled
from nodelint.rule.examples import examples
from tests.commands.test_cli import Run
from tests.plan.test_plan_headline import BOTH, commit
from tests.repositories import write_files

TREES = sorted(Path(__file__).parents[1].joinpath("trees").iterdir())


def assert_empty(output: str) -> None:
    plan = json.loads(output)
    for pool in plan["nodePools"]:
        assert (pool["change"], pool["replaced"], pool["effects"], pool["refused"]) == ("unchanged", "none", [], [])
    assert not any(place["changed"] for place in plan["notCompared"])
    assert [plan[part] for part in ("nodeClasses", "workloads", "releases", "absorbed")] == [[], [], [], []]
    assert plan["findings"] == {"new": [], "gone": []}


def _commit(folder: Path) -> None:
    who = ("-c", "user.email=a@example.com", "-c", "user.name=a")
    for args in (("init", "-q"), ("add", "-A", "-f"), (*who, "commit", "-qm", "a")):
        subprocess.run(["git", *args], cwd=folder, check=True)


@pytest.mark.parametrize("tree", TREES, ids=[tree.name for tree in TREES])
def test_each_form(nodelint: Run, tmp_path: Path, tree: Path) -> None:
    copytree(tree, tmp_path / "tree")
    assert_empty(nodelint("plan", "--old", "tree", "tree", "--format", "json").stdout)
    _commit(tmp_path / "tree")
    assert_empty(nodelint("plan", "--against", "HEAD", "--format", "json", cwd=tmp_path / "tree").stdout)


def test_the_examples_of_all_rules(nodelint: Run, tmp_path: Path) -> None:
    pages = [(name, example) for name, rule in load_bundled().items() for example in examples(rule.page)]
    write_files(tmp_path, {f"all/{n}/{name}.yaml": page.text for n, (name, page) in enumerate(pages) if n % 7 == 0})
    assert_empty(nodelint("plan", "--old", "all", "all", "--format", "json").stdout)


def _pool(name: str, arch: str, where: str = "") -> str:
    return f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {name}
spec:
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {name}}}
      requirements:
        - {{key: kubernetes.io/arch, operator: In, values: [{arch}]}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: {name}
spec:
  role: nodes{where}
  amiSelectorTerms: [{{alias: al2023@v20260618}}]
  subnetSelectorTerms: [{{tags: {{a: b}}}}]
  securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
"""


def _workload(name: str, arch: str) -> str:
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeSelector: {{kubernetes.io/arch: {arch}}}
      containers: [{{name: a, image: a}}]
"""


ARCHES = {"a": "amd64", "b": "arm64", "c": "amd64"}
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 1.0.0\n",
    "README.md": "# Pools\n",
    "values.yaml": "name: general\narch: amd64\n",
    "values-arm.yaml": "arch: arm64\n",
    "values-other.yaml": "name: general\narch: amd64\n",
    "templates/pool.yaml": _pool("{{ .Values.name }}", "{{ .Values.arch }}", "-{{ .Files.Get .Values.file }}"),
}
CLUSTERS = {
    "in folders": {f"{cluster}/nodes.yaml": _pool("default", arch) for cluster, arch in ARCHES.items()},
    "in one file": {"nodes.yaml": "---\n".join(_pool("default", arch) for arch in ARCHES.values())},
    "in overlays": {
        "base/kustomization.yaml": "resources: [nodes.yaml]\n",
        "base/nodes.yaml": _pool("default", "amd64"),
        **{f"{name}/kustomization.yaml": "resources: [../base]\nnamePrefix: x-\n" for name in ARCHES},
    },
    "in a chart": {f"chart/{path}": text for path, text in CHART.items()},
}
WORKLOADS = {
    "beside": {"apps/a.yaml": _workload("api", "arm64"), "apps/b.yaml": _workload("web", "amd64")},
    "in each cluster": {
        f"{cluster}/app.yaml": _workload("api", other) for cluster in ARCHES for other in ("arm64", "amd64")
    },
}


@pytest.mark.parametrize("workloads", WORKLOADS)
@pytest.mark.parametrize("clusters", CLUSTERS)
def test_pools_and_workloads_of_one_name(nodelint: Run, tmp_path: Path, clusters: str, workloads: str) -> None:
    write_files(tmp_path / "tree", {**CLUSTERS[clusters], **WORKLOADS[workloads]})
    assert_empty(nodelint("plan", "--old", "tree", "tree", "--format", "json").stdout)
    _commit(tmp_path / "tree")
    assert_empty(nodelint("plan", "--against", "HEAD", "--format", "json", cwd=tmp_path / "tree").stdout)


def test_a_release_that_a_readme_states_is_that_of_both_sides(nodelint: Run, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=tmp_path, check=True)
    install = "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.0.0\n"
    commit(tmp_path, {"karpenter/README.md": f"```sh\n{install}```\n", "karpenter/nodes.yaml": BOTH})
    done = nodelint("plan", "--against", "HEAD", cwd=tmp_path)
    assert done.stdout == "1 NodePool, not changed. No node is replaced.\nKarpenter 1.0.0\n"


_BAD = _pool("dev", "x86_64").replace("role: nodes", "amiFamily: Custom\n  role: nodes")
SETTINGS_TREE = {
    "dev/nodes.yaml": _BAD,
    "prod/nodes.yaml": _pool("prod", "amd64"),
    "kept/nodes.yaml": _pool("kept", "arm64"),
    "docs/nodes.md": f"```yaml\n{_pool('docs', 'arm64')}```\n",
    "chart/Chart.yaml": CHART["Chart.yaml"],
    "chart/values.yaml": CHART["values.yaml"],
    "chart/templates/pool.yaml": CHART["templates/pool.yaml"],
    "apps/a.yaml": _workload("api", "arm64"),
    "flux/karpenter.yaml": "kind: HelmRelease\nspec: {chart: {spec: {chart: karpenter, version: 1.5.0}}}\n",
    ".gitignore": "kept\nmade\n",
}
SETTINGS = [
    {"exclude": ["dev"]},
    {"exclude": ["dev/*", "**/templates/**"]},
    {"exclude": ["./prod/nodes.yaml"]},
    {"exclude": ["flux"]},
    {"include": ["docs/*.md"]},
    {"include": ["docs"], "exclude": ["docs/nodes.md"]},
    {"per-path-ignores": {"dev/**": ["unknown-label", "unknown-value", "refused-combination"]}},
    {"per-path-ignores": {"*": ["all"]}, "profile": "strict"},
    {"per-path-versions": {"dev": {"karpenter-version": "1.0.0"}, "prod/*": {"kubernetes-version": "1.30"}}},
    {"karpenter-version": ">=1.13 <=1.14", "kubernetes-version": "1.33"},
    {"respect-gitignore": False},
    {"respect-gitignore": True, "ignore": ["unknown-value"], "select": ["all"], "preview": True},
    {"extend-select": ["practice"], "rules": {"no-pool-for-workload": {"pools": "complete"}}},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=[json.dumps(settings) for settings in SETTINGS])
def test_each_setting_is_about_both_sides(nodelint: Run, tmp_path: Path, settings: dict[str, object]) -> None:
    tree = tmp_path / "tree"
    write_files(tree, {**SETTINGS_TREE, "nodelint.yaml": json.dumps(settings)})
    _commit(tree)
    write_files(tree, {"made/nodes.yaml": _pool("made", "arm64")})
    for paths in ((), ("dev", "prod/nodes.yaml")):
        assert_empty(nodelint("plan", "--against", "HEAD", "--format", "json", *paths, cwd=tree).stdout)
    elsewhere = ("--config", "../nodelint.yaml")
    assert_empty(nodelint("plan", "--against", "HEAD", "--format", "json", *elsewhere, cwd=tree / "prod").stdout)
    copytree(tree, tmp_path / "old", ignore=lambda *_: [".git"])
    assert_empty(nodelint("plan", "--old", "../old", ".", "--format", "json", cwd=tree).stdout)


def test_what_git_ignores_for_the_user_is_there_at_a_revision(nodelint: Run, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write_files(tree, {"dev/nodes.yaml": _pool("dev", "amd64"), "nodes.yaml": _pool("prod", "amd64")})
    _commit(tree)
    write_files(tmp_path, {"home/git/ignore": "dev\n"})
    done = nodelint(
        "plan", "--against", "HEAD", "--format", "json", cwd=tree, env={"XDG_CONFIG_HOME": str(tmp_path / "home")}
    )
    assert [pool["name"] for pool in json.loads(done.stdout)["nodePools"]] == ["dev", "prod"]
    assert_empty(done.stdout)


def test_files_of_two_names_have_the_settings_of_the_new_one(nodelint: Run, tmp_path: Path) -> None:
    ignores = {"per-path-ignores": {"after.yaml": ["unknown-value", "refused-combination"]}}
    write_files(tmp_path, {"before.yaml": _BAD, "after.yaml": _BAD, "nodelint.yaml": json.dumps(ignores)})
    assert_empty(nodelint("plan", "--old", "before.yaml", "after.yaml", "--format", "json").stdout)


def test_a_finding_that_names_another_pool_is_the_same(nodelint: Run, tmp_path: Path) -> None:
    apps = {"apps/a.yaml": _workload("api", "s390x")}
    write_files(tmp_path / "old", {**apps, "nodes.yaml": _pool("first", "amd64")})
    write_files(tmp_path / "new", {**apps, "nodes.yaml": _pool("second", "amd64")})
    found = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)["findings"]
    assert found == {"new": [], "gone": []}
