"""What is built of files is what every command speaks of, and the language server too."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodelint.files.discover import discover
from nodelint.inventory import read_inventory
from nodelint.lint.engine import LintRequest, Report, Selection, Target, lint
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.hover import hover
from nodelint.lsp.project import Project
from nodelint.model.finding import Span, written_place
from nodelint.model.releases import NEWEST
from nodelint.report.coverage import cover
from nodelint.rule.definition import Rule
from nodelint.text import Node
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

CHART = "apiVersion: v2\nname: pools\nversion: 0.1.0\n"
HEAD = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: general\nspec:\n"
CLASS_REF = "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n"
LIST = f"""\
{HEAD}  template:
    spec:
      {CLASS_REF}      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values:
"""
RANGE = LIST + "            {{- range .Values.types }}\n            - {{ . }}\n            {{- end }}\n"
WHOLE = LIST.rstrip("\n") + " {{ toJson .Values.types }}\n"
INDENT = LIST + "            {{- toYaml .Values.types | nindent 12 }}\n"
SPEC = HEAD + "  {{- toYaml .Values.spec | nindent 2 }}\n"
SPEC_VALUES = f"""\
spec:
  template:
    spec:
      {CLASS_REF}      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: [m5.large]
"""
VARIABLE = 'variable "types" {\n  default = ["m5.large"]\n}\n'
HEREDOC = (
    'resource "kubectl_manifest" "pool" {\n  yaml_body = <<-EOT\n'
    + "".join(f"    {line}\n" for line in (LIST.rstrip("\n") + " ${jsonencode(var.types)}").splitlines())
    + "  EOT\n}\n"
)
TEMPLATEFILE = """\
resource "kubectl_manifest" "p" {
  yaml_body = templatefile("${path.module}/pool.yaml", {types = var.types})
}
"""

MERGE = LIST.replace(f"      {CLASS_REF}", "").rstrip("\n") + " [m5.large]\n"
BASE = {
    "base/kustomization.yaml": "resources: [pool.yaml]\n",
    "base/pool.yaml": LIST.rstrip("\n") + " [c6a.large]\n",
}

SHAPES: dict[str, dict[str, str]] = {
    "a list of values, item by item": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "types:\n  - m5.large\n",
        "chart/templates/pool.yaml": RANGE,
    },
    "a list of values as JSON": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "types: [m5.large]\n",
        "chart/templates/pool.yaml": WHOLE,
    },
    "a list of values as YAML": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "types:\n- m5.large\n",
        "chart/templates/pool.yaml": INDENT,
    },
    "a whole spec of values": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": SPEC_VALUES,
        "chart/templates/pool.yaml": SPEC,
    },
    "a heredoc with a variable": {"main.tf": VARIABLE + HEREDOC},
    "a template file with a variable": {
        "main.tf": VARIABLE + TEMPLATEFILE,
        "pool.yaml": LIST.rstrip("\n") + " ${jsonencode(types)}\n",
    },
    "a base": {
        "base/kustomization.yaml": "resources: [pool.yaml]\n",
        "base/pool.yaml": LIST.rstrip("\n") + " [m5.large]\n",
        "prod/kustomization.yaml": "resources: [../base]\ncommonAnnotations: {a: b}\n",
    },
    "a strategic merge": {
        **BASE,
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: types.yaml}]\n",
        "prod/types.yaml": MERGE,
    },
    "an operation of a patch": {
        **BASE,
        "prod/kustomization.yaml": "resources: [../base]\npatches:\n- target: {kind: NodePool}\n  patch: |-\n"
        "    - op: replace\n      path: /spec/template/spec/requirements/0/values/0\n      value: m5.large\n",
    },
    "a named template": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "types: [m5.large]\n",
        "chart/templates/_helpers.tpl": '{{- define "pools.types" -}}\n{{ toYaml .Values.types }}\n{{- end }}\n',
        "chart/templates/pool.yaml": LIST + '            {{- include "pools.types" . | nindent 12 }}\n',
    },
    "a loop over pools": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "pools:\n  general:\n    types: [m5.large]\n",
        "chart/templates/pool.yaml": "{{- range $name, $pool := .Values.pools }}\n---\n"
        + LIST.replace("name: general", "name: {{ $name }}").rstrip("\n")
        + " {{ toJson $pool.types }}\n{{- end }}\n",
    },
    "a block of `with`": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "pool:\n  types:\n    - m5.large\n",
        "chart/templates/pool.yaml": "{{- with .Values.pool }}\n"
        + LIST
        + "            {{- toYaml .types | nindent 12 }}\n{{- end }}\n",
    },
    "a default of the template": {
        "chart/Chart.yaml": CHART,
        "chart/values.yaml": "types: []\nname: general\n",
        "chart/templates/pool.yaml": LIST.replace("name: general", "name: {{ .Values.name }}").rstrip("\n")
        + " [m5.large]\n",
    },
    "values of the chart around": {
        "app/Chart.yaml": CHART.replace("pools", "app"),
        "app/values.yaml": "pools:\n  types: [m5.large]\n",
        "app/charts/pools/Chart.yaml": CHART,
        "app/charts/pools/templates/pool.yaml": WHOLE,
    },
    "values of an Application": {
        "chart/Chart.yaml": CHART,
        "chart/templates/pool.yaml": WHOLE,
        "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: karpenter-pools}\n"
        "spec:\n  source:\n    path: chart\n    helm:\n      valuesObject: {types: [m5.large]}\n",
        ".git/HEAD": "ref: refs/heads/main\n",
    },
    "values of a ConfigMap": {
        "chart/Chart.yaml": CHART,
        "chart/templates/pool.yaml": WHOLE,
        "release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\n"
        "spec:\n  chart: {spec: {chart: chart}}\n  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]\n",
        "values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: karpenter-values}\n"
        "data:\n  values.yaml: |\n    types: [m5.large]\n",
        ".git/HEAD": "ref: refs/heads/main\n",
    },
    "operations in a file": {
        **BASE,
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{target: {kind: NodePool}, path: types.json}]\n",
        "prod/types.json": '[{"op": "replace", "path": "/spec/template/spec/requirements/0/values",\n'
        '  "value": ["m5.large"]}]\n',
    },
    "a component": {
        **BASE,
        "part/kustomization.yaml": "kind: Component\npatches: [{path: types.yaml}]\n",
        "part/types.yaml": MERGE,
        "prod/kustomization.yaml": "resources: [../base]\ncomponents: [../part]\n",
    },
    "a replacement": {
        **BASE,
        "prod/kustomization.yaml": "resources: [../base, map.yaml]\nreplacements:\n"
        "- source: {kind: ConfigMap, name: types, fieldPath: data.type}\n  targets:\n  - select: {kind: NodePool}\n"
        "    fieldPaths: [spec.template.spec.requirements.0.values.0]\n",
        "prod/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: types}\n"
        "data:\n  # for karpenter\n  type: m5.large\n",
    },
    "patches of old forms": {
        **BASE,
        "prod/kustomization.yaml": "resources: [../base]\npatchesStrategicMerge: [types.yaml]\n"
        "patchesJson6902:\n- target: {group: karpenter.sh, version: v1, kind: NodePool, name: general}\n"
        '  patch: \'[{"op": "add", "path": "/spec/weight", "value": 5}]\'\n',
        "prod/types.yaml": MERGE,
    },
    "an overlay of an overlay": {
        **BASE,
        "common/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\npatches: [{path: types.yaml}]\n",
        "common/types.yaml": MERGE,
        "prod/kustomization.yaml": "resources: [../common]\nnameSuffix: -b\nlabels: [{pairs: {team: a}}]\n",
    },
    "a plain file": {"pool.yaml": LIST.rstrip("\n") + " [m5.large]\n"},
}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The files of a shape, in the working folder; each comes to a pool of the one type `m5.large`."""
    monkeypatch.chdir(tmp_path)
    files = SHAPES[request.param]
    write_files(Path(), files)
    return files


def changed(files: dict[str, str], new: str) -> tuple[str, int]:
    """Write another type in the place of the one, and where that is."""
    for name, text in files.items():
        if "m5.large" in text:
            Path(name).write_text(text.replace("m5.large", new), encoding="utf-8")
            return name, text[: text.index("m5.large")].count("\n") + 1
    raise AssertionError("no file holds the value")


def test_explain_counts_what_the_values_leave(shape: dict[str, str], nodelint: Run) -> None:
    (pool,) = json.loads(nodelint("explain", "--format", "json").stdout)["nodePools"]
    assert [line["values"] for line in pool["requirements"]][-1] == ["m5.large"]
    assert "at most 1 of" in nodelint("explain").stdout


def test_check_finds_a_mistake_where_it_is_written(shape: dict[str, str], nodelint: Run) -> None:
    path, line = changed(shape, "m5.lrge")
    lines = [line for line in nodelint("check", "--format", "concise").stdout.splitlines() if "m5.lrge" in line]
    assert len(lines) == 1
    named = re.match(r"([^:]+):(\d+):", lines[0])
    assert named is not None
    # A variable of Terraform may be used in several texts: the finding stands where it is.
    assert path.endswith(".tf") or (named[1], int(named[2])) == (path, line)


def test_plan_sees_a_change_of_the_values(shape: dict[str, str], nodelint: Run) -> None:
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=e@e", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], check=True)
    assert json.loads(nodelint("plan", "--against", "HEAD", "--format", "json").stdout)["nodePools"][0]["change"] == (
        "unchanged"
    )
    changed(shape, "c5.large")
    (pool,) = json.loads(nodelint("plan", "--against", "HEAD", "--format", "json").stdout)["nodePools"]
    assert (pool["change"], pool["replaced"]) == ("changed", "all")
    assert pool["instanceTypes"]["gained"] == ["c5.large"]
    assert pool["instanceTypes"]["lost"] == ["m5.large"]


def test_hash_is_that_of_the_plain_file(shape: dict[str, str], nodelint: Run) -> None:
    (row,) = json.loads(nodelint("hash", "--format", "json").stdout)["objects"]
    plain = LIST.rstrip("\n") + " [m5.large]\n"
    (same,) = json.loads(nodelint("hash", "-", "--format", "json", stdin=plain).stdout)["objects"]
    assert row["hash"] == same["hash"] is not None


def test_an_editor_shows_what_the_command_finds(shape: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir(exist_ok=True)
    name, _ = changed(shape, "m5.lrge")
    path = tmp_path / name
    text = path.read_text(encoding="utf-8")
    buffer = Buffer(path.as_uri(), 1, text, "utf-16")
    project = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC))
    found = project.view_of(State({buffer.uri: buffer}, (str(tmp_path),), 1, 1), buffer.uri)
    assert found is not None
    view, _ = found
    assert any("m5.lrge" in result.message for result in view.results(buffer))


def test_an_editor_tells_of_a_value(shape: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir(exist_ok=True)
    name = next(name for name, text in shape.items() if "m5.large" in text)
    path = tmp_path / name
    text = path.read_text(encoding="utf-8")
    buffer = Buffer(path.as_uri(), 1, text, "utf-16")
    project = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC))
    found = project.view_of(State({buffer.uri: buffer}, (str(tmp_path),), 1, 1), buffer.uri)
    assert found is not None
    shown = hover(*found, text.index("m5.large") + 2)
    assert shown is not None and "m5.large" in shown.markdown


def judge(rules: dict[str, Rule]) -> Report:
    """What `check` says of the working folder."""
    found = discover(["."])
    inventory = read_inventory(found)
    return lint(found.sources, LintRequest(Target(NEWEST), rules, Selection()), built=inventory.built)


def planted(text: str, node: Node | Span) -> str:
    """A text with a mapping in the place of a value: no field of these objects that holds a scalar takes it."""
    return text[: node.start] + "{planted: {deep: [1]}}" + text[node.end :]


def test_a_mistake_planted_in_any_value_is_found_or_the_value_is_listed(
    shape: dict[str, str], rules: dict[str, Rule]
) -> None:
    places = []
    for obj in read_inventory(discover(["."])).objects():
        for node in (obj.node.get("spec") or obj.node).walk():
            is_key = node.parent is not None and any(entry.key is node for entry in node.parent.entries)
            at = written_place(node)
            if node.kind == "scalar" and not is_key and not at.source.path.endswith(".tf"):
                places.append((at, node.path))
    assert places or "main.tf" in shape
    for at, field in places:
        path = Path(at.source.path)
        text = path.read_text(encoding="utf-8")
        path.write_text(planted(text, at), encoding="utf-8")
        report = judge(rules)
        line = at.source.position(at.start).line
        seen = {
            (span.source.path, span.source.position(span.start).line)
            for result in report.results
            for span in (result.span, *(also.span for also in result.finding.also))
        }
        listed = any(field.startswith(unknown.subject) for unknown in cover(report).unknown)
        after = discover(["."])
        broken = any(source.problems for source in after.sources) or bool(read_inventory(after).unbuilt)
        assert broken or listed or (at.source.path, line) in seen, (
            f"{at.source.path}:{line}: {text[at.start : at.end]}"
        )
        path.write_text(text, encoding="utf-8")


def test_a_value_that_is_taken_away_makes_no_error(shape: dict[str, str], rules: dict[str, Rule]) -> None:
    before = {(r.rule.name, r.message) for r in judge(rules).results if r.severity == "error"}
    taken = {
        "chart/values.yaml": "{}\n",
        "main.tf": shape.get("main.tf", "").replace('  default = ["m5.large"]\n', ""),
    }
    for name, text in taken.items():
        if name in shape:
            Path(name).write_text(text, encoding="utf-8")
            after = {(r.rule.name, r.message) for r in judge(rules).results if r.severity == "error"}
            assert after <= before


def test_what_is_not_known_is_counted_and_listed(nodelint: Run, tmp_path: Path) -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: batch}\nspec: ${POOL}\n"
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    done = nodelint("check", "pool.yaml")
    assert "\nNo findings; 1 pool not judged in full: " in done.stdout
    assert "Not known: NodePool/batch: spec is `${POOL}` (pool.yaml:4)." in done.stdout
    coverage = json.loads(nodelint("check", "--format", "json", "pool.yaml").stdout)["coverage"]
    assert (coverage["objects"], coverage["judged"]) == (1, 0)
    assert [entry["field"] for entry in coverage["inPart"][0]["unknown"]] == ["spec"]
    assert nodelint("check", "pool.yaml").returncode == 0
    assert nodelint("check", "--fail-on-unjudged", "pool.yaml").returncode == 1
    (tmp_path / "pool.yaml").write_text(LIST + "          - m5.large\n", encoding="utf-8")
    assert nodelint("check", "--fail-on-unjudged", "pool.yaml").returncode == 0


@pytest.mark.parametrize("field", ["metadata.name", "spec.role", "spec.tags"])
def test_a_name_of_an_account_is_listed_and_decides_nothing(field: str, nodelint: Run, tmp_path: Path) -> None:
    values = {"metadata.name": "default", "spec.role": "nodes", "spec.tags": "{a: b}", field: "${X}"}
    (tmp_path / "class.yaml").write_text(
        f"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: '{values['metadata.name']}'}}\n"
        f"spec:\n  role: '{values['spec.role']}'\n  tags: {values['spec.tags']}\n"
        "  amiSelectorTerms: [{alias: al2023@v20250403}]\n  subnetSelectorTerms: [{tags: {a: b}}]\n"
        "  securityGroupSelectorTerms: [{tags: {a: b}}]\n",
        encoding="utf-8",
    )
    coverage = json.loads(nodelint("check", "--format", "json", "class.yaml").stdout)["coverage"]
    assert [entry["field"] for entry in coverage["unknown"]] == [field]
    assert coverage["inPart"] == []


@pytest.mark.parametrize(
    ("place", "found"),
    [("b", True), ("a", False), ("a/classes", False), (".", False)],
    ids=["another cluster", "the folder", "below", "above all"],
)
def test_a_class_without_a_name_stands_for_pools_of_its_own_cluster(
    place: str, found: bool, nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    node_class = (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: %s}\nspec:\n  role: nodes\n"
        "  amiSelectorTerms: [{alias: al2023@v20250403}]\n  subnetSelectorTerms: [{tags: {a: b}}]\n"
        "  securityGroupSelectorTerms: [{tags: {a: b}}]\n"
    )
    pool = LIST.rstrip("\n") + " [m5.large]\n"
    write_files(
        Path(),
        {
            "a/pool.yaml": pool.replace("name: default", "name: defult"),
            "a/class.yaml": node_class % "default",
            "b/pool.yaml": pool.replace("name: default", "name: ${NAME}"),
            f"{place}/open.yaml": node_class % "${NAME}",
        },
    )
    done = nodelint("check", "--format", "concise", "--select", "unknown-node-class")
    assert ("defult" in done.stdout) == found


BASE = LIST.rstrip("\n") + " [m5.large]\n"


def overlays(names: str, patch: str) -> dict[str, str]:
    """A base and overlays of it, each with the same patch."""
    files = {"base/kustomization.yaml": "resources: [pool.yaml]\n", "base/pool.yaml": BASE}
    for name in names.split():
        files[f"overlays/{name}/kustomization.yaml"] = f"resources: [../../base]\n{patch}"
    return files


def concise(nodelint: Run, *args: str) -> list[str]:
    lines = nodelint("check", "--format", "concise", *args).stdout.splitlines()
    return [line for line in lines if re.match(r"[^ ]+:\d+:\d+: ", line)]


def test_what_overlays_have_in_common_is_said_once(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(Path(), overlays("dev test prod", "commonLabels: {a: b}\n"))
    changed({"base/pool.yaml": BASE}, "m5.lrge")
    (line,) = [line for line in concise(nodelint) if "m5.lrge" in line]
    assert line.startswith("base/pool.yaml:12:")
    assert len(json.loads(nodelint("explain", "--format", "json").stdout)["nodePools"]) == 3


def test_a_mistake_of_one_overlay_stands_in_it(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value of capacity-type for arch: without the overlay built, nothing tells what the number stands for."""
    monkeypatch.chdir(tmp_path)
    operation = "patches:\n- target: {kind: NodePool}\n  patch: |-\n    - op: replace\n"
    operation += "      path: /spec/template/spec/requirements/0/values/0\n      value: on-demand\n"
    write_files(
        Path(), overlays("dev", "") | {"overlays/prod/kustomization.yaml": f"resources: [../../base]\n{operation}"}
    )
    (line,) = concise(nodelint)
    assert line.startswith("overlays/prod/kustomization.yaml:7:14: error[")


def test_a_base_is_judged_as_overlays_complete_it(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = overlays("prod", "patches: [{path: patches/class.yaml}]\n")
    files["overlays/prod/patches/class.yaml"] = f"{HEAD}  template: {{spec: {{{CLASS_REF.strip()}}}}}\n"
    files["base/pool.yaml"] = BASE.replace(f"      {CLASS_REF}", "")
    write_files(Path(), files)
    assert concise(nodelint) == concise(nodelint, "base/pool.yaml") == []
    Path("overlays/prod/kustomization.yaml").write_text("resources: [../../base]\n", encoding="utf-8")
    assert concise(nodelint) == concise(nodelint, "base/pool.yaml") != []
