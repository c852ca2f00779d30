"""What the commands say of overlays, each at the place where it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.forms.kustomize.kustomizations import is_patch
from nodelint.inventory import build
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.project import Project
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CLASS_REF = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
POOL = f"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: general
spec:
  template:
    spec:
      {CLASS_REF}
      requirements:
        - {{key: kubernetes.io/arch, operator: In, values: [amd64]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}}
        - {{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}}
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{alias: al2023@v20250403}]
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
    - name: extra
"""
BASE = {
    "base/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "base/pool.yaml": POOL,
    "base/class.yaml": CLASS,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def patch(body: str, kind: str = "NodePool", name: str = "general") -> str:
    """A strategic merge patch."""
    version = "karpenter.sh/v1" if kind == "NodePool" else "karpenter.k8s.aws/v1"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{body}"


def overlay(text: str, name: str = "prod", **files: str) -> dict[str, str]:
    """The base and an overlay of it: what its kustomization says behind its resources, and its files."""
    made = {f"{name}/{path.replace('__', '/')}.yaml": content for path, content in files.items()}
    return {**BASE, f"{name}/kustomization.yaml": f"resources: [../base]\n{text}", **made}


def concise(nodelint: Run, *args: str) -> list[str]:
    lines = nodelint("check", "--format", "concise", *args).stdout.splitlines()
    return [line for line in lines if re.match(r"[^ ]+:\d+:\d+: ", line)]


def test_a_finding_about_a_name_stands_where_the_patch_has_it(nodelint: Run) -> None:
    write(
        overlay(
            "patches: [path: more.yaml]\n".replace("[path: more.yaml]", "[{path: more.yaml}]"),
            more=patch("  weigth: 3\n"),
        )
    )
    (line,) = concise(nodelint, "--select", "unknown-field")
    assert line.startswith("prod/more.yaml:5:3: ")


# -- lists that a patch replaces


def requirements(*keys: str) -> str:
    lines = "".join(
        f"        - {{key: {key}, operator: In, values: [{value}]}}\n" for key, value in map(str.split, keys)
    )
    return f"  template:\n    spec:\n      requirements:\n{lines}"


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            "NodePool",
            requirements("topology.kubernetes.io/zone us-east-1a"),
            "the patch drops `kubernetes.io/arch`, `karpenter.sh/capacity-type` and 1 more"
            " of the base's `requirements`",
        ),
        (
            "NodePool",
            requirements("kubernetes.io/arch arm64"),
            "the patch drops `karpenter.sh/capacity-type` and `karpenter.k8s.aws/instance-category`"
            " of the base's `requirements`",
        ),
        # Who repeats an entry knows that the list is replaced.
        ("NodePool", requirements("kubernetes.io/arch amd64"), None),
        # The tag of another cluster is another value, and terms are alternatives.
        ("EC2NodeClass", "  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]\n", None),
        ("EC2NodeClass", "  subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]\n", None),
        (
            "EC2NodeClass",
            "  securityGroupSelectorTerms: [{id: sg-0123456789abcdef0}]\n",
            "the patch drops `tags: {karpenter.sh/discovery: main}` and `extra`"
            " of the base's `securityGroupSelectorTerms`",
        ),
        ("EC2NodeClass", "  amiSelectorTerms: [{alias: al2023@v20250501}]\n", None),
    ],
)
def test_entries_that_a_patch_drops_are_named(nodelint: Run, kind: str, body: str, message: str | None) -> None:
    name = "general" if kind == "NodePool" else "default"
    write(overlay("patches: [{path: patches/own.yaml}]\n", patches__own=patch(body, kind, name)))
    found = [line for line in concise(nodelint) if "replaced-list" in line]
    assert len(found) == (message is not None)
    assert message is None or (message in found[0] and found[0].startswith("prod/patches/own.yaml:"))


def test_a_patch_that_overlays_share_is_spoken_of_once(nodelint: Run) -> None:
    shared = patch(requirements("topology.kubernetes.io/zone us-east-1a"))
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: zone.yaml}]\n"
    write({**BASE, "zone/kustomization.yaml": component, "zone/zone.yaml": shared})
    for name in ("dev", "test", "prod"):
        write({f"{name}/kustomization.yaml": "resources: [../base]\ncomponents: [../zone]\n"})
    (line,) = [line for line in concise(nodelint) if "replaced-list" in line]
    assert line.startswith("zone/zone.yaml:8:9: ")


def test_a_comment_silences_it(nodelint: Run) -> None:
    body = requirements("topology.kubernetes.io/zone us-east-1a").replace(
        "requirements:\n", "requirements:\n        # nodelint: ignore[replaced-list]\n"
    )
    write(overlay("patches: [{path: own.yaml}]\n", own=patch(body)))
    assert concise(nodelint) == []


# -- patches that meet nothing

OPERATION = "  patch: |-\n    - {op: add, path: /spec/weight, value: 3}\n"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "{kind: NodePool, name: generel}",
            "no object has kind `NodePool`, name `generel` (did you mean `general`?)",
        ),
        ("{kind: Nodepool}", "no object has kind `Nodepool`"),
        ("{name: nobody}", "no object has name `nobody`"),
        ("{kind: NodePool, labelSelector: a=b}", "no object has kind `NodePool`"),
        ("{kind: NodePool}", None),
        ("{kind: NodePool, name: gen.*}", None),
        ("{kind: Deployment, name: karpenter}", None),
    ],
)
def test_a_patch_that_meets_nothing_is_named(nodelint: Run, target: str, message: str | None) -> None:
    write(overlay(f"patches:\n- target: {target}\n{OPERATION}"))
    found = [line for line in concise(nodelint) if "unmatched-patch" in line]
    assert len(found) == (message is not None)
    assert message is None or (message in found[0] and found[0].startswith("prod/kustomization.yaml:3:"))


@pytest.mark.parametrize("meets", [True, False])
def test_a_patch_of_a_component_meets_an_object_in_one_of_the_overlays(nodelint: Run, meets: bool) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n"
    component += f"- target: {{kind: NodePool, name: gpu}}\n{OPERATION}"
    write({**BASE, "weights/kustomization.yaml": component, "gpu/pool.yaml": POOL.replace("general", "gpu")})
    write({"gpu/kustomization.yaml": f"resources: [../base{', pool.yaml' * meets}]\ncomponents: [../weights]\n"})
    write({"prod/kustomization.yaml": "resources: [../base]\ncomponents: [../weights]\n"})
    found = [line for line in concise(nodelint) if "unmatched-patch" in line]
    assert len(found) == (not meets)


# -- overlays that are not built, and those that are asked for alone


def test_an_overlay_that_is_refused_is_not_judged(nodelint: Run) -> None:
    write(overlay("patches: [{path: own.yaml}]\n", own=patch("  weight: 3\n", name="nobody")))
    done = nodelint("check")
    assert done.returncode == 2
    assert "Skipped: prod/own.yaml:3: the overlay prod is not built: the patch is for " in done.stdout
    assert "1 file not judged, 1 path not read; nothing found in the rest: 3 objects" in done.stdout
    assert "kustomize build" not in done.stdout + done.stderr
    assert "prod/own.yaml:3: not built: " in done.stderr
    (place,) = json.loads(nodelint("check", "--format", "json").stdout)["coverage"]["notJudged"]
    assert (place["path"], place["line"]) == ("prod/own.yaml", 3)


@pytest.mark.parametrize("message", [".", "prod"])
def test_an_overlay_that_only_kustomize_builds_is_not_judged(nodelint: Run, message: str) -> None:
    write(overlay("transformers: [own.yaml]\n"))
    done = nodelint("check", message)
    assert done.returncode == 0
    assert (
        "Skipped: prod/kustomization.yaml:2: the overlay prod is not built: `transformers` is not read" in done.stdout
    )
    assert "kustomize build FOLDER | nodelint check -" in done.stdout
    assert "1 file not judged" in done.stdout or "Nothing was judged: " in done.stdout
    assert nodelint("check", message, "--fail-on-unjudged").returncode == 1


def test_an_overlay_alone_is_judged_with_the_base_beside_it(nodelint: Run) -> None:
    write(overlay(f"patches:\n- target: {{kind: NodePool}}\n{OPERATION.replace('3', '300')}"))
    (line,) = concise(nodelint, "prod")
    assert line.startswith("prod/kustomization.yaml:5:") and "`weight` is 300" in line
    assert "All good" not in nodelint("check", "prod").stdout


def test_a_base_outside_of_what_was_named_is_a_gap(nodelint: Run) -> None:
    """Without a repository around it, nothing is read beside the folder of the command line."""
    Path(".git").rmdir()
    write(overlay(f"patches:\n- target: {{kind: NodePool}}\n{OPERATION}"))
    done = nodelint("check", "prod", "--fail-on-unjudged")
    assert "Skipped: prod/kustomization.yaml:1: `../base` is outside of the repository" in done.stdout
    assert done.returncode == 1 and "Nothing to check" not in done.stdout


def test_a_folder_of_kustomizations_of_others_is_nothing_to_check(nodelint: Run) -> None:
    write({"web/kustomization.yaml": "resources: [../app]\n", "app/kustomization.yaml": "resources: [web.yaml]\n"})
    write({"app/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"})
    assert nodelint("check").stdout.startswith("Nothing to check: ")
    assert nodelint("check", "web").stdout.startswith("Nothing to check: ")


# -- every command, over overlays of many shapes

HEAVY = patch("  weight: 300\n")
ADDED = "{op: add, path: /spec/weight, value: 300}"
COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
BY_NAME = "- target: {group: karpenter.sh, version: v1, kind: NodePool, name: general}\n"
SHAPES = {
    "a patch in a sub-folder": overlay("patches: [{path: patches/own.yaml}]\n", patches__own=HEAVY),
    "a component": {
        **overlay("components: [../heavy]\n"),
        "heavy/kustomization.yaml": f"{COMPONENT}patches: [{{path: own.yaml}}]\n",
        "heavy/own.yaml": HEAVY,
    },
    "no extension": {
        **BASE,
        "prod/Kustomization": "resources: [../base]\npatches: [{path: own}]\n",
        "prod/own": HEAVY,
    },
    "JSON6902 by kind": overlay("patches: [{target: {kind: NodePool}, path: own.yaml}]\n", own=f"- {ADDED}\n"),
    "JSON6902 by name": overlay(f"patchesJson6902:\n{BY_NAME}  path: own.yaml\n", own=f"- {ADDED}\n"),
    "JSON6902 inline": overlay(f"patches:\n{BY_NAME}  patch: |-\n    - {ADDED}\n"),
    "a prefix": overlay("namePrefix: prod-\npatches: [{path: own.yaml}]\n", own=HEAVY),
    "a prefix below": {
        **BASE,
        "team/kustomization.yaml": "resources: [../base]\nnamePrefix: team-\n",
        "prod/kustomization.yaml": "resources: [../team]\npatches: [{path: own.yaml}]\n",
        "prod/own.yaml": HEAVY.replace("general", "team-general"),
    },
    "images": overlay("images: [{name: nginx, newTag: '1'}]\npatches: [{path: own.yaml}]\n", own=HEAVY),
    "patchesStrategicMerge": overlay("patchesStrategicMerge: [own.yaml]\n", own=HEAVY),
    "an inline patch": overlay("patches:\n- patch: |-\n    " + HEAVY.rstrip().replace("\n", "\n    ") + "\n"),
    "what changes no object": overlay(
        "validators: [own-validator.yaml]\nbuildMetadata: [originAnnotations]\npatches: [{path: own.yaml}]\n",
        own=HEAVY,
    ),
    "three overlays of a base": {
        **BASE,
        "base/pool.yaml": POOL.replace("spec:\n  template", "spec:\n  weight: 300\n  template", 1),
        **{
            f"{name}/kustomization.yaml": f"resources: [../base]\nnamespace: {name}\ncommonLabels: {{env: {name}}}\n"
            for name in ("dev", "test", "prod")
        },
    },
}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> dict[str, str]:
    """The files of a shape, each with one mistake: a weight of 300."""
    files = SHAPES[request.param]
    write(files)
    return files


def mend(files: dict[str, str], folder: str = "") -> None:
    write({folder + name: text.replace("300", "30") for name, text in files.items()})


def find_mistake(files: dict[str, str]) -> tuple[str, int]:
    (found,) = [(name, text[: text.index("300")].count("\n") + 1) for name, text in files.items() if "300" in text]
    return found


def test_check_says_a_mistake_once_and_where_it_is_written(nodelint: Run, shape: dict[str, str]) -> None:
    (line,) = [line for line in concise(nodelint) if "unknown-node-class" not in line]
    path, number = find_mistake(shape)
    assert line.startswith(f"{path}:{number}:") and "`weight` is 300, the maximum is 100" in line
    mend(shape)
    assert not [line for line in concise(nodelint) if "unknown-node-class" not in line]


def test_an_editor_shows_the_mistake_where_it_is_written(shape: dict[str, str], tmp_path: Path) -> None:
    name, number = find_mistake(shape)
    buffer = Buffer((tmp_path / name).as_uri(), 1, shape[name], "utf-16")
    project = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC))
    found = project.view_of(State({buffer.uri: buffer}, (str(tmp_path),), 1, 1), buffer.uri)
    assert found is not None
    (result,) = [result for result in found[0].results(buffer) if result.rule.name == "invalid-field"]
    assert (buffer.source.position(result.span.start).line, "300" in result.message) == (number, True)


def test_other_commands_take_what_is_built(nodelint: Run, shape: dict[str, str], tmp_path: Path) -> None:
    mend(shape, "before/")
    mend({name: text.replace("[c, m, r]", "[c]") for name, text in shape.items()}, "after/")
    plan = json.loads(nodelint("plan", "--old", "before", "after", "--format", "json").stdout)
    assert {pool["change"] for pool in plan["nodePools"]} == {"changed"}
    explained = json.loads(nodelint("explain", "before", "--format", "json").stdout)["nodePools"]
    overlays = 3 if "dev/kustomization.yaml" in shape else 1
    assert len(explained) == len(plan["nodePools"]) == overlays
    assert all(pool["requirements"][-1]["values"] == ["c", "m", "r"] for pool in explained)
    rows = json.loads(nodelint("hash", "before", "--format", "json").stdout)["objects"]
    plain = json.loads(nodelint("hash", "-", "--format", "json", stdin=POOL).stdout)["objects"]
    assert {row["hash"] for row in rows if row["kind"] == "NodePool"} == {plain[0]["hash"]}


# -- what is a part, and what kustomize adds


def test_a_patch_that_no_kustomization_names_is_judged_as_a_part(nodelint: Run) -> None:
    write(overlay("", left=HEAVY))
    assert is_patch("prod/left.yaml") is None
    (line,) = concise(nodelint)
    assert line.startswith("prod/left.yaml:5:") and "300" in line
    write({"alone/left.yaml": HEAVY})
    assert is_patch("alone/left.yaml") is False
    assert any("template" in line for line in concise(nodelint, "alone"))


@pytest.mark.parametrize("written", [False, True])
def test_a_namespace_that_kustomize_adds_is_no_mistake(nodelint: Run, written: bool) -> None:
    write(overlay("" if written else "namespace: karpenter\n"))
    if written:
        write({"base/pool.yaml": POOL.replace("  name: general\n", "  name: general\n  namespace: karpenter\n")})
    assert any("cluster-scoped" in line for line in concise(nodelint, "--profile", "strict")) == written


@pytest.mark.parametrize("command", ["explain", "hash"])
def test_commands_say_which_overlay_they_could_not_build(nodelint: Run, command: str) -> None:
    write(overlay("patches: [{path: more.yaml}]\n", more=patch("  weight: 7\n")))
    write({"prod/kustomization.yaml": "resources: [../base, missing.yaml]\npatches: [{path: more.yaml}]\n"})
    write({".git/HEAD": "", ".gitignore": "missing.yaml\n"})
    done = nodelint(command)
    assert done.returncode == 0
    assert done.stderr == (
        "nodelint: prod/kustomization.yaml:1: the overlay prod is not built: `missing.yaml` is not on this disk\n"
    )
    if command == "hash":
        assert "no hash: it is a patch of an overlay, and a part of an object only" in done.stdout


def test_an_overlay_without_karpenter_is_none_of_its_business(nodelint: Run) -> None:
    """Its files may be read all the same: for workloads, and for the values of their chart."""
    write({**BASE, "other/kustomization.yaml": "resources: [values.yaml]\n", "other/values.yaml": "n: 3\n"})
    read = Source.from_text("other/values.yaml", "n: 3\n")
    assert not build([read], ["other/kustomization.yaml"]).unbuilt
    write({"other/values.yaml": "n: 3  # for karpenter\n"})
    assert "other/values.yaml:1: not built: an object without `kind`" in nodelint("check").stderr


def test_the_first_line_counts_what_is_written_and_coverage_what_clusters_get(nodelint: Run) -> None:
    other = {path.replace("prod/", "test/"): text for path, text in overlay("namePrefix: a-\n").items()}
    write({**overlay("namePrefix: a-\n"), **other})
    report = json.loads(nodelint("check", "--format", "json").stdout)
    assert report["coverage"]["objects"] == 2 * report["summary"]["objects"] > 0


@pytest.mark.parametrize(("command", "key"), [("explain", "nodePools"), ("hash", "objects")])
def test_json_names_the_file_of_an_object_and_its_overlay(nodelint: Run, command: str, key: str) -> None:
    write(overlay("namePrefix: prod-\n"))
    rows = json.loads(nodelint(command, ".", "--format", "json").stdout)[key]
    places = [(row["path"], row.get("with")) for row in rows if row["name"] == "prod-general"]
    assert places == [("base/pool.yaml", "prod")]


SHARED = {
    "base/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "base/pool.yaml": nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]"),
    "base/class.yaml": nodeclass(),
    "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: eu-\n",
}
STAGES = {
    "another name": ("resources: [../base]\nnameSuffix: -stage\n", False),
    "the same": ("resources: [../base]\nnamePrefix: eu-\n", True),
    "a name of its own": (
        "resources: [../base]\nnamePrefix: us-\npatches:\n  - target: {kind: NodePool}\n    patch: |-\n"
        "      - {op: replace, path: /spec/template/spec/nodeClassRef/name, value: us-default}\n",
        True,
    ),
}


@pytest.mark.parametrize("name", STAGES)
def test_a_fix_of_a_base_is_one_for_all_that_is_built_of_it(nodelint: Run, tmp_path: Path, name: str) -> None:
    """kustomize does not rename the class that a pool names: what one overlay needs may break another."""
    text, fixed = STAGES[name]
    write_files(tmp_path, SHARED | {"stage/kustomization.yaml": text})
    nodelint("check", ".", "--fix", "--unsafe-fixes", cwd=tmp_path)
    base = (tmp_path / "base/pool.yaml").read_text(encoding="utf-8")
    assert (base != SHARED["base/pool.yaml"]) is fixed
    assert ("name: eu-default" in base) is fixed


def test_the_name_of_a_patch_with_a_target_is_no_class(nodelint: Run, tmp_path: Path) -> None:
    patch = nodeclass().replace("name: default", "name: ignored").replace("\n", "\n      ")
    target = f"patches:\n  - target: {{kind: EC2NodeClass}}\n    patch: |-\n      {patch.rstrip()}\n"
    files = SHARED | {"stage/kustomization.yaml": "resources: [../base]\nnameSuffix: -stage\n"}
    files["prod/kustomization.yaml"] += target
    write_files(tmp_path, files)
    assert "ignored" not in nodelint("check", ".", cwd=tmp_path).stdout


def test_a_class_that_is_refused_is_shown_in_its_file(nodelint: Run, tmp_path: Path) -> None:
    patch = "patches:\n  - target: {kind: EC2NodeClass}\n    patch: |-\n"
    for side, alias in (("old", "al2023@v20250403"), ("new", "bottlerocket@v1.46.0")):
        operation = f"      - {{op: replace, path: /spec/amiSelectorTerms, value: [{{alias: {alias}}}]}}\n"
        files = {
            "base/kustomization.yaml": "resources: [class.yaml]\n",
            "base/class.yaml": nodeclass().replace("spec:\n", "spec:\n  amiFamily: AL2023\n", 1),
            "prod/kustomization.yaml": f"resources: [../base]\n{patch}{operation}",
        }
        write_files(tmp_path / side, files)
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert "it out (new/base/class.yaml:6)" in " ".join(done.stdout.split()), done.stdout


REPLACED = """\
resources: [class.yaml]
configMapGenerator:
  - name: image
    GENERATED
replacements:
  - source: {kind: ConfigMap, name: image, fieldPath: data.alias}
    targets: [{select: {kind: EC2NodeClass}, fieldPaths: [spec.amiSelectorTerms.0.alias]}]
"""


@pytest.mark.parametrize(
    ("generated", "files", "place"),
    [
        ("literals: [alias=al2023@lates]", {}, ("kustomization.yaml", 4)),
        ("envs: [image.env]", {"image.env": "# pinned\nalias=al2023@lates\nother=x\n"}, ("image.env", 2)),
        ("files: [alias]", {"alias": "al2023@lates"}, ("alias", 1)),
        ("files: [alias=image.txt]", {"image.txt": "al2023@lates"}, ("image.txt", 1)),
        ("literals: [alias=al2023@v20250403]", {}, None),
    ],
)
def test_replacements_take_values_of_generated_config_maps(
    nodelint: Run, tmp_path: Path, generated: str, files: dict[str, str], place: tuple[str, int] | None
) -> None:
    text = nodeclass().replace("al2023@v20250403", "WRITTEN_BY_KUSTOMIZE")
    kustomization = REPLACED.replace("GENERATED", generated)
    write_files(tmp_path, {"kustomization.yaml": kustomization, "class.yaml": text, **files})
    found = json.loads(nodelint("check", ".", "--format", "json", cwd=tmp_path).stdout)["findings"]
    assert [(f["path"], f["start"]["line"]) for f in found] == ([place] if place is not None else [])


def test_an_overlay_adds_to_what_its_base_generates(nodelint: Run, tmp_path: Path) -> None:
    overlay = REPLACED.replace("class.yaml", "../base").replace(
        "GENERATED", "behavior: merge\n    literals: [alias=al2023@lates]"
    )
    base = REPLACED.replace("GENERATED", "literals: [alias=al2023@v20250403, other=x]")
    write_files(
        tmp_path,
        {"base/kustomization.yaml": base, "base/class.yaml": nodeclass(), "prod/kustomization.yaml": overlay},
    )
    found = json.loads(nodelint("check", ".", "--format", "json", cwd=tmp_path).stdout)["findings"]
    assert [(f["path"], f["start"]["line"]) for f in found] == [("prod/kustomization.yaml", 5)]
