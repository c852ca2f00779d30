"""Variables that Flux fills in (`postBuild`): values are judged as the cluster gets them, where they are written."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CLUSTER = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: infra, namespace: flux-system}
spec:
  path: PATH
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild:
    substitute:
      capacity: CAPACITY
    substituteFrom:
      - {kind: ConfigMap, name: cluster-settings}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: cluster-settings, namespace: flux-system}
data:
  family: FAMILY
  capacity: overridden by the Kustomization
"""
POOL = nodepool(
    'key: karpenter.k8s.aws/instance-family, operator: In, values: ["${family}"]',
    "key: karpenter.sh/capacity-type, operator: In, values: [X]",
).replace("[X]", '["${capacity}"]')
OVERLAY = "resources: [pool.yaml]\nnamePrefix: my-\n"


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / ".git").mkdir(exist_ok=True, parents=True)
    write_files(folder, files)


def repository(family: str = "m5", capacity: str = "spot", path: str = "./infra") -> dict[str, str]:
    return {
        "clusters/prod/infra.yaml": CLUSTER.replace("CAPACITY", capacity).replace("PATH", path),
        "clusters/prod/settings.yaml": SETTINGS.replace("FAMILY", family),
        "infra/karpenter/pool.yaml": POOL,
    }


def findings(nodelint: Run, *args: str) -> list[tuple[str, str, int]]:
    found = json.loads(nodelint("check", ".", "--format", "json", *args).stdout)["findings"]
    return [(finding["rule"], finding["path"], finding["start"]["line"]) for finding in found]


def test_a_config_map_in_a_yml_file_fills_variables(tmp_path: Path, nodelint: Run) -> None:
    files = repository("m55")
    files["clusters/prod/settings.yml"] = files.pop("clusters/prod/settings.yaml")
    write(tmp_path, files)
    found = findings(nodelint, "--select", "unknown-value")
    assert found == [("unknown-value", "clusters/prod/settings.yml", 5)]


@pytest.mark.parametrize("overlay", [False, True])
@pytest.mark.parametrize("path", ["./infra", "/infra", "./infra/karpenter"])
def test_a_mistake_in_a_variable_is_found_where_it_is_written(
    tmp_path: Path, nodelint: Run, overlay: bool, path: str
) -> None:
    write(tmp_path, repository("m55", "ondemand", path))
    if overlay:
        write(tmp_path, {"infra/karpenter/kustomization.yaml": OVERLAY})
    assert set(findings(nodelint)) == {
        ("unknown-value", "clusters/prod/settings.yaml", 5),
        ("unknown-value", "clusters/prod/infra.yaml", 9),
    }
    done = nodelint("check", ".", "--fix", "--unsafe-fixes")
    assert (done.returncode, "`m55` is not known to EC2 or Karpenter" in done.stdout) == (0, True)
    assert "capacity: on-demand\n" in (tmp_path / "clusters/prod/infra.yaml").read_text()
    assert (tmp_path / "infra/karpenter/pool.yaml").read_text() == POOL


@pytest.mark.parametrize("overlay", [False, True])
@pytest.mark.parametrize("git", [False, True])
def test_a_change_of_a_variable_is_a_change_of_the_pool(
    tmp_path: Path, nodelint: Run, overlay: bool, git: bool
) -> None:
    more = {"infra/karpenter/kustomization.yaml": OVERLAY} if overlay else {}
    write(tmp_path / "old", repository("m5") | more)
    write(tmp_path / "new", repository("c5") | more)
    if not git:
        for side in ("old", "new"):
            (tmp_path / side / ".git").rmdir()
    plan = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)
    (pool,) = plan["nodePools"]
    assert (pool["change"], pool["replaced"]) == ("changed", "all")
    assert "c5.large" in pool["instanceTypes"]["gained"]


def test_a_number_is_corrected_as_the_text_of_the_variable(tmp_path: Path, nodelint: Run) -> None:
    files = repository()
    files["infra/karpenter/pool.yaml"] = POOL.replace("spec:\n", "spec:\n  weight: ${weight}\n", 1)
    files["clusters/prod/settings.yaml"] = SETTINGS.replace("FAMILY", 'm5\n  weight: "101"')
    write(tmp_path, files)
    assert findings(nodelint) == [("invalid-field", "infra/karpenter/pool.yaml", 6)]
    found = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"][0]
    (way,) = found["suggestions"]
    assert [(edit["path"], edit["text"]) for edit in way["edits"]] == [("clusters/prod/settings.yaml", '"100"')]


def test_two_clusters_have_their_own_values(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, repository("m5"))
    write(
        tmp_path,
        {
            "clusters/stage/infra.yaml": CLUSTER.replace("CAPACITY", "spot").replace("PATH", "./infra"),
            "clusters/stage/settings.yaml": SETTINGS.replace("FAMILY", "m55"),
        },
    )
    assert findings(nodelint, "--select", "unknown-value") == [("unknown-value", "clusters/stage/settings.yaml", 5)]
    pools = json.loads(nodelint("explain", ".", "--format", "json").stdout)["nodePools"]
    assert [bool(pool["instanceTypes"]) for pool in pools] == [True, False]


def read_family(nodelint: Run) -> list[str]:
    (pool,) = json.loads(nodelint("explain", ".", "--format", "json").stdout)["nodePools"]
    (line,) = (line for line in pool["requirements"] if line["key"].endswith("instance-family"))
    values: list[str] = line["values"]
    return values


@pytest.mark.parametrize(
    ("old", "new", "values"),
    [
        ("", "", ["m5"]),
        ("${family}", "${other:=c5}", ["c5"]),
        ("${family}", "${other:-c5}", ["c5"]),
        ("${family}", "${family:=c5}", ["m5"]),
        ("${family}", "${other}", ["${other}"]),
        ("${family}", "$${family}", ["$${family}"]),
        ('["${family}"]', "[c5, '${family}']", ["c5", "m5"]),
        ("${family}", "m${digit}", ["m5"]),
    ],
)
def test_what_a_variable_comes_to(tmp_path: Path, nodelint: Run, old: str, new: str, values: list[str]) -> None:
    files = repository()
    files["infra/karpenter/pool.yaml"] = POOL.replace(old, new, 1) if old else POOL
    files["clusters/prod/settings.yaml"] += '  digit: "5"\n'
    write(tmp_path, files)
    assert read_family(nodelint) == values


SECRET = "      - {kind: Secret, name: keys}\n"
DISABLED = "kind: NodePool\nmetadata:\n  annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}\n"


@pytest.mark.parametrize(
    "change",
    [
        {"clusters/prod/settings.yaml": SETTINGS.replace("cluster-settings", "other")},
        {
            "clusters/stage/settings.yaml": SETTINGS,
            "clusters/prod/settings.yaml": "{}\n",
            "clusters/x/s.yaml": SETTINGS,
        },
        {"infra/karpenter/pool.yaml": POOL.replace("kind: NodePool\nmetadata:\n", DISABLED)},
        {"clusters/prod/settings.yaml": SETTINGS.replace("FAMILY", "${another}")},
        {"clusters/prod/infra.yaml": CLUSTER.replace("PATH", "./elsewhere")},
        {"clusters/prod/infra.yaml": CLUSTER.partition("  postBuild")[0].replace("PATH", "./infra")},
    ],
)
def test_what_is_not_known_stays_a_variable(tmp_path: Path, nodelint: Run, change: dict[str, str]) -> None:
    write(tmp_path, repository() | change)
    assert read_family(nodelint) == ["${family}"]


def test_a_default_is_not_known_where_a_secret_may_have_the_variable(tmp_path: Path, nodelint: Run) -> None:
    files = repository()
    files["infra/karpenter/pool.yaml"] = POOL.replace("${family}", "${other:=c5}")
    files["clusters/prod/infra.yaml"] += SECRET
    write(tmp_path, files)
    assert read_family(nodelint) == ["${other:=c5}"]


def test_nothing_is_filled_in_without_variables(tmp_path: Path, nodelint: Run) -> None:
    files = repository()
    files["infra/karpenter/pool.yaml"] = POOL.replace("${family}", "${other:=c5}")
    files["clusters/prod/infra.yaml"] = CLUSTER.partition("  postBuild")[0].replace("PATH", "./infra")
    write(tmp_path, files)
    assert read_family(nodelint) == ["${other:=c5}"]


def test_kustomize_prints_a_variable_without_its_quotes(tmp_path: Path, nodelint: Run) -> None:
    files: dict[str, Any] = repository("m5")
    files["infra/karpenter/pool.yaml"] = POOL.replace("instance-family", "instance-cpu")
    files["clusters/prod/settings.yaml"] = SETTINGS.replace("FAMILY", '"4"')
    write(tmp_path, files)
    assert ("invalid-field", "infra/karpenter/pool.yaml") in {finding[:2] for finding in findings(nodelint)}


def test_a_file_without_variables_belongs_to_what_is_filled_in(tmp_path: Path, nodelint: Run) -> None:
    write(tmp_path, repository() | {"infra/karpenter/class.yaml": nodeclass()})
    assert read_family(nodelint) == ["m5"]
    assert not findings(nodelint)


PATCHED = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: infra, namespace: flux-system}
spec:
  path: ./infra
  sourceRef: {kind: GitRepository, name: flux-system}
"""
STRATEGIC = """\
patches:
  - target: {kind: NodePool}
    patch: |
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: any}
      spec: {template: {spec: {expireAfter: 360h}}}
"""
OPERATION = """\
patches:
  - target: {kind: NodePool, name: default}
    patch: |
      - {op: add, path: /spec/template/metadata, value: {labels: {team: a}}}
"""
COMPONENT = """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {kind: NodePool}
    patch: "- {op: add, path: /spec/template/spec/expireAfter, value: 24h}"
"""
CHANGES = {
    "a strategic merge": (STRATEGIC, STRATEGIC),
    "an operation": (OPERATION, OPERATION),
    "a prefix": ("namePrefix: my-\n", "namePrefix: my-\n"),
    "labels and annotations": (
        "commonMetadata: {labels: {a: b}, annotations: {c: d}}\n",
        "labels: [{pairs: {a: b}}]\ncommonAnnotations: {c: d}\n",
    ),
    "a namespace": ("targetNamespace: x\n", "namespace: x\n"),
    "a component": ("components: [../part]\n", "components: [../part]\n"),
}


def read_hashes(nodelint: Run) -> set[tuple[str, str]]:
    rows = json.loads(nodelint("hash", ".", "--format", "json").stdout)["objects"]
    return {(row["name"], row["hash"]) for row in rows}


@pytest.mark.parametrize("title", CHANGES)
@pytest.mark.parametrize("folder", ["a kustomization", "files"])
def test_what_flux_changes_is_what_kustomize_changes(tmp_path: Path, nodelint: Run, title: str, folder: str) -> None:
    of_flux, of_kustomize = CHANGES[title]
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")
    files = {"infra/pool.yaml": pool, "infra/class.yaml": nodeclass(), "part/kustomization.yaml": COMPONENT}
    write(tmp_path, files | {"infra/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n"})
    plain = read_hashes(nodelint)
    write(tmp_path, {"overlay/kustomization.yaml": f"resources: [../infra]\n{of_kustomize}"})
    expected = read_hashes(nodelint)
    (tmp_path / "overlay/kustomization.yaml").unlink()
    if folder == "files":
        (tmp_path / "infra/kustomization.yaml").unlink()
    write(tmp_path, {"clusters/prod/infra.yaml": PATCHED + textwrap.indent(of_flux, "  ")})
    assert read_hashes(nodelint) == expected
    assert (expected == plain) is (title in ("labels and annotations", "a namespace"))


@pytest.mark.parametrize(("field", "found"), [("annotations", True), ("labels", False)])
def test_annotations_that_flux_adds_are_judged_as_annotations(
    tmp_path: Path, nodelint: Run, field: str, found: bool
) -> None:
    added = f'commonMetadata: {{{field}: {{karpenter.sh/do-not-disrupt: "true"}}}}\n'
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")
    write(tmp_path, {"infra/pool.yaml": pool, "clusters/infra.yaml": PATCHED + textwrap.indent(added, "  ")})
    assert ("[misplaced-annotation]" in nodelint("check", ".").stdout) is found


def test_variables_are_filled_in_after_the_patches(tmp_path: Path, nodelint: Run) -> None:
    patched = STRATEGIC.replace("360h", "'${lifetime}'") + "postBuild: {substitute: {lifetime: 12h, family: m5}}\n"
    write(
        tmp_path,
        {"infra/pool.yaml": POOL, "clusters/infra.yaml": PATCHED + textwrap.indent(patched, "  ")},
    )
    found = json.loads(nodelint("check", ".", "--profile", "strict", "--format", "json").stdout)
    assert read_family(nodelint) == ["m5"]
    (part,) = found["coverage"]["inPart"]
    assert [value["field"] for value in part["unknown"]] == ["spec.template.spec.requirements[1].values[0]"]


@pytest.mark.parametrize("change", ["patchesStrategicMerge: []\npatches: []\n", "path: ./missing\n"])
def test_what_is_not_built_leaves_the_objects_as_they_are_written(tmp_path: Path, nodelint: Run, change: str) -> None:
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]")
    write(tmp_path, {"infra/pool.yaml": pool, "clusters/infra.yaml": "{}\n"})
    before = read_hashes(nodelint)
    text = PATCHED.replace("  path: ./infra\n", "") if change.startswith("path") else PATCHED
    write(tmp_path, {"clusters/infra.yaml": text + textwrap.indent(change + "namePrefix: my-\n", "  ")})
    assert read_hashes(nodelint) == before


def test_an_overlay_beside_a_kustomization_that_changes_nothing_is_built(tmp_path: Path, nodelint: Run) -> None:
    plain = CLUSTER.partition("  postBuild:")[0].replace("PATH", "./infra")
    pool = POOL.replace('"${family}"', "m5").replace('"${capacity}"', "spot")
    patch = "resources: [pool.yaml]\npatches:\n  - target: {kind: NodePool}\n    patch: |-\n      "
    patch += "- {op: add, path: /spec/weight, value: 300}\n"
    write(tmp_path, {"clusters/prod/infra.yaml": plain, "infra/pool.yaml": pool})
    write(tmp_path, {"infra/kustomization.yaml": patch})
    assert ("invalid-field", "infra/kustomization.yaml", 5) in findings(nodelint), findings(nodelint)


def test_objects_beside_those_that_name_karpenter_are_read(tmp_path: Path, nodelint: Run) -> None:
    """A file of several objects, of which one alone has the word in it."""
    files = repository("m55", "spot")
    release = "apiVersion: v1\nkind: Namespace\nmetadata: {name: karpenter}\n"
    text = "---\n".join([files.pop("clusters/prod/infra.yaml"), release, files.pop("clusters/prod/settings.yaml")])
    write(tmp_path, files | {"clusters/prod/all.yaml": text})
    line = text.splitlines().index("  family: m55") + 1
    assert findings(nodelint) == [("unknown-value", "clusters/prod/all.yaml", line)]


@pytest.mark.parametrize("value", ["${families}", '"${families}"'])
def test_a_variable_may_be_a_list(tmp_path: Path, nodelint: Run, value: str) -> None:
    """Kustomize prints a text without its quotes: what Flux then fills in is read as YAML."""
    files = repository() | {"infra/karpenter/pool.yaml": POOL.replace('["${family}"]', value)}
    files["clusters/prod/settings.yaml"] = SETTINGS.replace("family: FAMILY", """families: '["m5", "m55"]'""")
    write(tmp_path, files | {"infra/karpenter/kustomization.yaml": OVERLAY})
    assert [rule for rule, _, _ in findings(nodelint)] == ["unknown-value"]


def test_variables_that_make_no_yaml_are_named(tmp_path: Path, nodelint: Run) -> None:
    files = repository() | {"infra/karpenter/pool.yaml": POOL.replace('["${family}"]', "${family}")}
    files["clusters/prod/settings.yaml"] = SETTINGS.replace("family: FAMILY", """family: '["m5"'""")
    write(tmp_path, files)
    result = nodelint("check")
    assert "clusters/prod/infra.yaml:8: the overlay infra is not built: what its variables make" in result.stdout
    assert "All good" not in result.stdout


def test_a_patch_that_is_not_built_is_named(tmp_path: Path, nodelint: Run) -> None:
    files = repository()
    files["clusters/prod/infra.yaml"] += "  components: ['https://example.com/part']\n"
    write(tmp_path, files)
    assert "`https://example.com/part`" in nodelint("check").stdout
