"""Overlays are built as kustomize builds them, and each value leads back to where it is written.

`overlays.json` holds what kustomize 5.7.1 (kubectl 1.34) makes of overlays at random; where kubectl is on the path,
further ones are compared with it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodelint.forms.kustomize.build import BuiltOverlay, Outcome, build_overlays
from nodelint.forms.kustomize.merge import Merge
from nodelint.forms.kustomize.values import read_json, read_object
from nodelint.text import UNKNOWN, Node, Source
from nodelint.text.reading import nodes_of
from tests.manifests import nodepool
from tests.overlay_corners import write_corners
from tests.overlays import FILE, RECORDED, digest, read_plain, read_results, run_kustomize, write_overlay
from tests.repositories import write_files

KUBECTL = shutil.which("kubectl")
RELEASE = "v5.7."


def has_release() -> bool:
    """Whether kubectl is there with the kustomize that this is held to: others differ in odd corners."""
    if KUBECTL is None:
        return False
    done = subprocess.run([KUBECTL, "version", "--client"], capture_output=True, text=True, check=False)
    return f"Kustomize Version: {RELEASE}" in done.stdout


def build_folder(overlay: Path) -> Outcome | None:
    outcomes = build_overlays([str(overlay / "kustomization.yaml")])
    return outcomes[0] if outcomes else None


def is_decided(outcome: Outcome | None) -> bool:
    """Whether it concerns Karpenter, and is known to nodelint."""
    return outcome is not None and (isinstance(outcome, BuiltOverlay) or outcome.fails)


def read_built(outcome: Outcome | None) -> dict[str, object] | None:
    """None where kustomize is said to refuse."""
    if not isinstance(outcome, BuiltOverlay):
        return None
    return read_results(outcome.built.source.text)


def write(folder: Path, files: dict[str, str]) -> Path:
    write_files(folder, files)
    return folder


# -- beside kustomize


@pytest.mark.slow
def test_overlays_are_what_kustomize_makes_of_them(tmp_path: Path) -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert len(recorded) == RECORDED
    tried = dict([*recorded.items()][::2])
    assert sum(result != "fails" for result in tried.values()) > 60
    wrong, unknown = [], []
    for seed, result in tried.items():
        outcome = build_folder(write_overlay(tmp_path / seed, int(seed)))
        if not is_decided(outcome):
            unknown.append(seed)
        elif digest(read_built(outcome)) != result:
            wrong.append(seed)
    assert not wrong
    assert len(unknown) < 5


@pytest.mark.slow
def test_odd_corners_are_as_kustomize_has_them(tmp_path: Path) -> None:
    """`overlay_corners.json` holds what kustomize 5.7.1 makes of overlays of `overlay_corners`, by their seed."""
    recorded = json.loads((Path(__file__).parents[2] / "overlay_corners.json").read_text(encoding="utf-8"))
    wrong, unknown = [], []
    tried = dict([*recorded.items()][::2])
    for seed, result in tried.items():
        outcome = build_folder(write_corners(tmp_path / seed, int(seed)))
        if not is_decided(outcome):
            unknown.append(seed)
        elif digest(read_built(outcome)) != result:
            wrong.append(seed)
    assert not wrong
    assert len(unknown) <= len(tried) // 5
    assert sum(result != "fails" for result in tried.values()) > 40


@pytest.mark.skipif(not has_release(), reason=f"no kubectl with kustomize {RELEASE}x is on the path")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(min_value=RECORDED, max_value=1 << 30))
def test_further_overlays_are_what_kubectl_makes_of_them(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        overlay = write_overlay(Path(folder), seed)
        outcome = build_folder(overlay)
        if is_decided(outcome):
            command = [str(KUBECTL), "kustomize", "--load-restrictor", "LoadRestrictionsNone"]
            assert read_built(outcome) == run_kustomize(command, overlay)


# -- where values are written


def scalars(outcome: BuiltOverlay) -> Iterator[tuple[str, Node]]:
    for document in outcome.built.source.documents:
        assert document.root is not None
        spec = document.root.get("spec")
        kind, name = document.root.get("kind"), document.root.find("metadata", "name")
        for node in spec.walk() if spec is not None else ():
            is_key = node.parent is not None and any(entry.key is node for entry in node.parent.entries)
            if node.kind == "scalar" and not is_key:
                assert kind is not None and name is not None
                yield f"{kind.value} {name.value} {node.path}", node


def test_an_exact_origin_holds_the_value(tmp_path: Path) -> None:
    compared = 0
    for seed in range(40):
        outcome = build_folder(write_overlay(tmp_path / str(seed), seed))
        for _, node in scalars(outcome) if isinstance(outcome, BuiltOverlay) else ():
            origin = outcome.built.find_origin(node)  # type: ignore[union-attr]
            assert origin is not None
            if origin.exact:
                assert isinstance(origin.at, Node)
                written = {str(read_object(origin.at).value), str(read_json(origin.at).value)}
                assert node.value is UNKNOWN or {str(node.value), str(node.plain())} & written
                compared += 1
    assert compared > 500


@pytest.mark.slow
def test_an_edit_of_an_exact_origin_changes_what_comes_from_there_and_nothing_else(tmp_path: Path) -> None:
    tried = 0
    for seed in range(24):
        overlay = write_overlay(tmp_path / str(seed), seed)
        outcome = build_folder(overlay)
        if not isinstance(outcome, BuiltOverlay):
            continue
        before = dict(scalars(outcome))
        places = {path: outcome.built.find_origin(node) for path, node in before.items()}
        for path in list(before)[:: max(1, len(before) // 4)]:
            origin = places[path]
            assert origin is not None
            if not origin.exact or not isinstance(origin.at, Node) or origin.at.style not in ("plain", "double"):
                continue
            source, text = origin.at.source, '"edited"'
            changed = source.text[: origin.at.start] + text + source.text[origin.at.end :]
            Path(source.path).write_text(changed, encoding="utf-8")
            again = build_folder(overlay)
            Path(source.path).write_text(source.text, encoding="utf-8")
            if not isinstance(again, BuiltOverlay):
                continue  # a patch tested for the value
            after = dict(scalars(again))
            if path not in after:
                continue  # it is the name of another object
            assert after[path].value == "edited", (seed, path)
            for other, node in before.items():
                place = places[other]
                if other in after and read_plain(node) != read_plain(after[other]):
                    assert place is not None and place.at is origin.at, (seed, path, other)
            tried += 1
    assert tried > 30


# -- what patches did


POOL = nodepool(
    "key: kubernetes.io/arch, operator: In, values: [amd64]",
    "key: karpenter.sh/capacity-type, operator: In, values: [spot]",
    spec="  weight: 10\n",
)
ADDED = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}
"""


def build_files(folder: Path, kustomization: str, files: dict[str, str]) -> Outcome:
    write(folder, {"base/pool.yaml": POOL, "base/kustomization.yaml": "resources: [pool.yaml]\n", **files})
    write(folder, {"dev/kustomization.yaml": "resources: [../base]\n" + kustomization})
    outcome = build_folder(folder / "dev")
    assert outcome is not None
    return outcome


@pytest.mark.parametrize(
    ("kustomization", "path"),
    [
        ("patches: [{path: patches/p.yaml}]\n", "dev/patches/p.yaml"),
        ("patches: [{path: extra, target: {kind: NodePool}}]\n", "dev/extra"),
        ("patchesStrategicMerge: [p.yaml]\n", "dev/p.yaml"),
        ("components: [../zones]\n", "zones/p.yaml"),
    ],
)
def test_a_patch_that_gives_a_list_anew_says_what_it_took_away(tmp_path: Path, kustomization: str, path: str) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n"
    outcome = build_files(tmp_path, kustomization, {path: ADDED, "zones/kustomization.yaml": component})
    assert isinstance(outcome, BuiltOverlay)
    (lost,) = outcome.built.lost
    assert (lost.kind, lost.name, ".".join(lost.path)) == ("NodePool", "default", "spec.template.spec.requirements")
    assert [item.get("key").value for item in lost.items] == ["kubernetes.io/arch", "karpenter.sh/capacity-type"]  # type: ignore[union-attr]
    assert lost.items[0].source.path.endswith("base/pool.yaml")
    assert lost.new.source.path.endswith(path)


def test_an_operation_that_adds_to_a_list_takes_nothing_away(tmp_path: Path) -> None:
    patch = "[{op: add, path: /spec/template/spec/requirements/-, value: {key: a, operator: Exists}}]"
    text = f"patches:\n  - target: {{kind: NodePool}}\n    patch: |\n      - {patch[2:-2].join('{}')}\n"
    outcome = build_files(tmp_path, text, {})
    assert isinstance(outcome, BuiltOverlay)
    assert not outcome.built.lost
    assert outcome.built.source.text.count("operator") == 3


@pytest.mark.parametrize(
    ("options", "name"), [("", "default"), ("{allowKindChange: true}", "default"), ("{allowNameChange: true}", "gpu")]
)
def test_a_patch_with_a_target_renames_where_its_options_allow_it(tmp_path: Path, options: str, name: str) -> None:
    """`allowNameChange` and `allowKindChange` of kustomize's patches: neither stands for the other."""
    patch = "  - target: {kind: NodePool}\n    path: p.yaml\n" + (f"    options: {options}\n" if options else "")
    other = ADDED.replace("name: default", "name: gpu")
    outcome = build_files(tmp_path, f"patches:\n{patch}", {"dev/p.yaml": other})
    assert isinstance(outcome, BuiltOverlay)
    assert f"name: {name}\n" in outcome.built.source.text.partition("spec:")[0]


def test_operations_may_rename_what_a_later_patch_calls_by_its_first_name(tmp_path: Path) -> None:
    rename = "- {op: replace, path: /metadata/name, value: gpu}\n"
    text = "patches:\n  - {path: r.yaml, target: {kind: NodePool}}\n  - path: p.yaml\n"
    outcome = build_files(tmp_path, text, {"dev/r.yaml": rename, "dev/p.yaml": ADDED})
    assert isinstance(outcome, BuiltOverlay)
    assert "name: gpu\n" in outcome.built.source.text and "eu-west-1a" in outcome.built.source.text


def test_a_patch_with_a_target_holds_one_object(tmp_path: Path) -> None:
    text = "patches: [{path: p.yaml, target: {kind: NodePool}}]\n"
    stopped = build_files(tmp_path, text, {"dev/p.yaml": f"{ADDED}---\n{ADDED}"})
    assert not isinstance(stopped, BuiltOverlay)
    assert (stopped.fails, stopped.reason) == (True, "a patch with a `target` holds one object")


def test_a_patch_without_its_object_stops_the_overlay_or_does_nothing(tmp_path: Path) -> None:
    other = ADDED.replace("name: default", "name: gpu")
    stopped = build_files(tmp_path / "a", "patches: [{path: p.yaml}]\n", {"dev/p.yaml": other})
    assert not isinstance(stopped, BuiltOverlay)
    assert stopped.fails
    assert stopped.reason == ("the patch is for karpenter.sh/v1 NodePool `gpu`, and the overlay has none")
    assert (stopped.path.rpartition("/")[2], stopped.line) == ("p.yaml", 4)
    text = "patches: [{path: p.yaml, target: {kind: NodePool, name: gpu}}]\n"
    idle = build_files(tmp_path / "b", text, {"dev/p.yaml": other})
    assert isinstance(idle, BuiltOverlay)
    (unmatched,) = idle.built.unmatched
    assert (unmatched.wanted, unmatched.fails) == ("kind `NodePool`, name `gpu`", False)


@pytest.mark.parametrize(
    ("kustomization", "reason"),
    [
        ("transformers: [t.yaml]\n", "`transformers` is not read: transformers may change any object"),
        ("resources: [../base, ../../../../outside]\n", "is outside of the repository"),
        ("components: [../dev]\n", "takes this kustomization in again"),
        ("namePrefix: 1\n", "`namePrefix` must be a text"),
        ("patches: [{path: gone.yaml}]\n", "there is no file `gone.yaml`"),
        ("patches: [{target: {kind: NodePool}}]\n", "a patch has one of `patch` and `path`"),
    ],
)
def test_what_is_not_built_is_named_with_its_line(tmp_path: Path, kustomization: str, reason: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "outside").mkdir()
    write(tmp_path, {"base/pool.yaml": POOL, "base/kustomization.yaml": "resources: [pool.yaml]\n"})
    base = "" if kustomization.startswith("resources") else "resources: [../base]\n"
    write(tmp_path, {"dev/kustomization.yaml": base + kustomization})
    outcome = build_folder(tmp_path / "dev")
    assert outcome is not None
    assert not isinstance(outcome, BuiltOverlay)
    assert reason in outcome.reason
    assert outcome.line == (2 if base else 1)


def test_remote_bases_and_generators_are_named_and_the_rest_is_built(tmp_path: Path) -> None:
    text = "configMapGenerator: [{name: c, literals: [a=b]}]\nhelmCharts: [{name: karpenter}]\n"
    outcome = build_files(tmp_path, text, {})
    assert isinstance(outcome, BuiltOverlay)
    assert [(p.line, p.reason) for p in outcome.built.problems] == [
        (3, "built without its Helm charts"),
        (2, "built without its generated ConfigMaps (they are no NodePools)"),
    ]


@pytest.mark.parametrize(
    ("operations", "shown"),
    [
        (
            [
                "{op: add, path: /metadata/annotations, value: {}}",
                "{op: add, path: /metadata/annotations/a~1b~01c, value: x}",
            ],
            '"a/b~1c": x',
        ),
        (["{op: add, path: /spec/template/spec/requirements/2, value: {key: z, operator: Exists}}"], "key: z"),
    ],
    ids=["a slash and a tilde", "the place behind the last"],
)
def test_an_operation_finds_its_place(tmp_path: Path, operations: list[str], shown: str) -> None:
    patch = "".join(f"      - {operation}\n" for operation in operations)
    outcome = build_files(tmp_path, f"patches:\n  - target: {{kind: NodePool}}\n    patch: |\n{patch}", {})
    assert isinstance(outcome, BuiltOverlay), outcome
    assert shown in outcome.built.source.text


def test_a_replacement_without_paths_is_of_the_name(tmp_path: Path) -> None:
    text = "replacements:\n  - sourceValue: gpu\n    targets: [{select: {kind: NodePool}}]\n"
    outcome = build_files(tmp_path, text, {})
    assert isinstance(outcome, BuiltOverlay), outcome
    assert "name: gpu\n" in outcome.built.source.text.partition("spec:")[0]


def test_items_with_names_are_merged_and_new_ones_come_first() -> None:
    """As kustomize merges containers of a Deployment."""
    old, new = (
        read_object(root)
        for text in ("a: [{name: x, v: 1}, {name: y, v: 2}]", "a: [{name: z, v: 3}, {name: y, v: 4}]")
        for root in nodes_of(Source("a.yaml", text))
    )
    merged = Merge(keyed=True).apply(old, new)
    assert merged is not None
    assert merged.plain() == {"a": [{"name": "z", "v": 3}, {"name": "x", "v": 1}, {"name": "y", "v": 4}]}


def test_the_source_of_a_replacement_that_stands_in_no_namespace_is_found_with_any(tmp_path: Path) -> None:
    """`ResId.EffectiveNamespace` of kustomize: a kind of the whole cluster has the same one, whatever is written."""
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: spare}\n"
    select = "group: rbac.authorization.k8s.io, kind: ClusterRole, name: spare, namespace: apps"
    text = (
        f"replacements:\n  - source: {{{select}}}\n"
        "    targets: [{select: {kind: NodePool}, fieldPaths: [metadata.name]}]\n"
    )
    base = {"base/role.yaml": role, "base/kustomization.yaml": "resources: [pool.yaml, role.yaml]\n"}
    outcome = build_files(tmp_path, text, base)
    assert isinstance(outcome, BuiltOverlay)
    assert "kind: NodePool\nmetadata:\n  name: spare\n" in outcome.built.source.text
