"""Which files are read, which are passed over, and what is said of those that cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nodelint.files import file_keywords
from nodelint.files.discover import context, discover
from nodelint.files.globs import Excluded

POOL = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "pool.yaml",
        "a/b/pool.yml",
        "a/pool.json",
        "a/notes.md",
        ".hidden/pool.yaml",
        "node_modules/x/pool.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(POOL, encoding="utf-8")
    (tmp_path / "a" / "other.yaml").write_text("kind: ConfigMap\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_is_read_with_all_below_it(tree: Path) -> None:
    found = discover(["."])
    assert [s.path for s in found.sources] == ["a/b/pool.yml", "a/pool.json", "pool.yaml"]
    assert found.files == 4, "a file without the word is counted, not kept"


@pytest.mark.parametrize("name", ["pool.yaml.template", "pool.yaml.tpl", ".github/workflows/deploy.yml"])
def test_templates_and_workflows_are_read(tree: Path, name: str) -> None:
    path = tree / "other" / name
    path.parent.mkdir(parents=True)
    path.write_text(POOL, encoding="utf-8")
    assert [s.path for s in discover(["other"]).sources] == [f"other/{name}"]


def test_a_class_is_found_where_a_template_fills_in_its_group(tree: Path) -> None:
    (tree / "class.yaml").write_text("apiVersion: {{ .Values.api }}\nkind: EC2NodeClass\n", encoding="utf-8")
    assert "class.yaml" in [s.path for s in discover(["."]).sources]


@pytest.mark.parametrize(
    ("head", "is_snapshot"), [("{\n", True), ("\ufeff{", True), ('{"kind": "NodePool", ', False)]
)
def test_a_snapshot_beside_the_manifests_is_none_of_them(tree: Path, head: str, is_snapshot: bool) -> None:
    (tree / "facts.json").write_text(f'{head}"nodelint-snapshot": 1, "a": "karpenter.sh"}}', encoding="utf-8")
    assert ("facts.json" in [source.path for source in discover(["."]).sources]) == (not is_snapshot)


def test_a_file_that_is_named_is_read_whatever_it_is_called(tree: Path) -> None:
    assert [s.path for s in discover(["a/notes.md", ".hidden"]).sources] == [
        "a/notes.md",
        ".hidden/pool.yaml",
    ]


def test_each_file_is_read_once(tree: Path) -> None:
    assert len(discover(["pool.yaml", "./pool.yaml", ".", "a"]).sources) == 3


def test_exclude_is_a_glob_over_the_path(tree: Path) -> None:
    assert [s.path for s in discover(["."], exclude=Excluded(["a/*"])).sources] == ["pool.yaml"]
    assert [s.path for s in discover(["."], exclude=Excluded(["a"])).sources] == ["pool.yaml"]


def test_standard_input(tree: Path) -> None:
    found = discover(["-"], stdin=lambda: POOL.encode())
    assert [s.path for s in found.sources] == ["-"]


def test_what_is_not_there_is_said_and_the_rest_is_read(tree: Path) -> None:
    found = discover(["nowhere.yaml", "pool.yaml"])
    assert found.unreadable == [("nowhere.yaml", "no such file or directory")]
    assert len(found.sources) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(tree: Path) -> None:
    (tree / "pool.yaml").chmod(0)
    assert discover(["."]).unreadable == [("pool.yaml", "permission denied")]


def test_a_loop_of_links_ends(tree: Path) -> None:
    (tree / "a" / "loop").symlink_to(tree)
    assert len(discover(["."]).sources) == 3


def test_context_is_the_rest_of_the_repository_that_a_file_stands_in(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = discover(["pool.yaml"])
    assert context(requested) == [], "outside of a repository nothing is read that was not named"
    (tree / ".git").mkdir()
    assert [s.path for s in context(requested)] == ["a/b/pool.yml", "a/pool.json"]
    monkeypatch.chdir(tree / "a")
    assert [s.path for s in context(discover(["pool.json"]))] == ["../a/b/pool.yml", "../pool.yaml"]
    assert context(discover([".."])) == [], "all of the repository was read"


def test_a_file_that_a_kustomization_names_as_a_patch_holds_parts(tree: Path) -> None:
    (tree / "a" / "kustomization.yaml").write_text(
        "resources: [pool.json]\n"
        "patches:\n"
        "  - path: b/pool.yml # the limits\n    target: {kind: NodePool}\n"
        "  - patch: |\n      kind: NodePool\n      metadata: {name: a}\n",
        encoding="utf-8",
    )
    parts = {source.path: source.part for source in discover(["."]).sources}
    assert parts == {"a/b/pool.yml": True, "a/pool.json": False, "pool.yaml": False}
    assert discover(["a/b/pool.yml"]).sources[0].part, "a hook names single files"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("patchesStrategicMerge:\n- ./b/pool.yml\n", True),
        ("patchesStrategicMerge: ['b/pool.yml']\n", True),
        ("patches:\n# - path: b/pool.yml\n- path: b/other.yml\n", None),
        ("resources:\n- b/pool.yml\npatches:\n- path: c/pool.yml\n", False),
        ("resources:\n- b/other.yml\n", False),
        ("helmCharts:\n- name: karpenter\ntransformers:\n- names.yaml\n", None),
    ],
)
def test_what_a_kustomization_says_of_a_file(tree: Path, text: str, part: bool | None) -> None:
    folder = tree / "k"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "pool.yml").write_text(POOL, encoding="utf-8")
    (folder / "kustomization.yml").write_text(text, encoding="utf-8")
    assert discover(["k"]).sources[0].part is part


def test_a_file_called_a_patch_may_be_one(tree: Path) -> None:
    for name in ("nodepool-patch.yaml", "patches/limits.yaml", "dispatch.yaml"):
        path = tree / "n" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(POOL, encoding="utf-8")
    assert [s.part for s in discover(["n"]).sources] == [False, None, None]


def test_what_marks_of_node_groups_have_in_common_is_in_each() -> None:
    for keyword in file_keywords.NODE_GROUPS:
        assert any(part in keyword for part in file_keywords.NODE_GROUP_PARTS)


def test_files_that_are_read_together_are_sorted_as_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "argo": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nhelm: {}\n",
        "buffer": "apiVersion: autoscaling.x-k8s.io/v1alpha1\nkind: CapacityBuffer\n",
        "cluster": "apiVersion: eksctl.io/v1alpha5\nmanagedNodeGroups: []\nfargateProfiles: []\n",
        "daemon": "kind: DaemonSet\n",
        "install": "chart: karpenter\nversion: 1.6.1\n",
        "none": "kind: ConfigMap\ngroup: [helm]\n",
        "pool": POOL,
        "release": "env: KARPENTER_VERSION\n",
        "values": "settings:\n  featureGates: {}\n",
        "wide": POOL,
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-16" if name == "wide" else "utf-8")
    (tmp_path / "deploy.sh").write_text("export KARPENTER_VERSION=1.6.1\n", encoding="utf-8")

    def sorted_in(paths: list[str]) -> list[list[str]]:
        found = discover(paths)
        of_sources = [[source.path for source in sources] for sources in (found.sources, found.stating)]
        return [*of_sources, found.workloads, found.buffers, found.installing, found.node_groups]

    names = sorted(os.listdir())
    alone = [sorted_in([name]) for name in names]
    together = [[path for paths in lists for path in paths] for lists in zip(*alone, strict=True)]
    assert sorted_in(names) == together
    assert all(together), "each list has its file"


def test_what_few_files_hold_is_not_searched_in_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(100):
        (tmp_path / f"{number}.yaml").write_text("kind: Deployment\n" * 20, encoding="utf-8")
    searches = []
    find = file_keywords.holds_any
    monkeypatch.setattr(
        file_keywords, "holds_any", lambda data, keywords: searches.append(data) or find(data, keywords)
    )
    assert len(discover([str(tmp_path)]).workloads) == 100
    assert len(searches) == 100, "for pods alone"
