"""`nodelint migrate`: files that move between Karpenter and EKS Auto Mode, and what it says of the rest."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path

import jsonschema
import pytest

from nodelint.ec2.catalog import Catalog
from nodelint.karpenter.resolve import resolve
from nodelint.migrate import MovedFiles, migrate
from nodelint.migrate.labels import counterparts
from nodelint.migrate.steps import all_objects
from nodelint.model.manifest import NodePool
from nodelint.model.releases import NEWEST
from nodelint.report.migrate import migrate_text
from nodelint.report.style import TextStyle
from nodelint.text import Source
from tests.conftest import ROOT
from tests.repositories import write_files

POOL = """\
# our pools
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}  # the class
      expireAfter: 720h
      terminationGracePeriod: 24h
      requirements:
        # no t
        - {key: "karpenter.k8s.aws/instance-category", operator: In, values: [c, m]}
        - key: karpenter.k8s.aws/instance-generation
          operator: Gt
          values: ['5']
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: web
spec:
  # who the nodes are
  role: nodes
  amiSelectorTerms: [{alias: bottlerocket@1.43.0}]
  # room for images
  blockDeviceMappings:
    - deviceName: /dev/xvda
      ebs: {volumeSize: 4Gi, volumeType: gp3}
    - deviceName: /dev/xvdb
      ebs:
        volumeSize: '100Gi'  # enough
        volumeType: gp3
        encrypted: true
  # public
  associatePublicIPAddress: true
  userData: |
    [settings]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  tags: &tags {team: web}
"""
MOVED_CLASS = """\
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
metadata:
  name: web
spec:
  # who the nodes are
  role: nodes
  # room for images
  # enough
  ephemeralStorage:
    size: '100Gi'
  # public
  advancedNetworking:
    associatePublicIPAddress: true
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  tags: &tags {team: web}
"""
AUTO_CLASS = """\
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
metadata: {name: web}
spec:
  role: nodes
  ephemeralStorage: {size: 100Gi, iops: 4000}
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  advancedNetworking:
    associatePublicIPAddress: false
    httpsProxy: http://a
"""
AUTO_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: web}
      expireAfter: 336h
      terminationGracePeriod: 24h
      requirements:
        - {key: eks.amazonaws.com/instance-family, operator: In, values: [c7g, m5]}
"""


def move(text: str, target: str = "auto-mode", path: str = "a.yaml") -> tuple[str, MovedFiles]:
    made = migrate([Source.from_text(path, text, r"eks\.amazonaws\.com/")], target)
    return made.new[0].text, made


def notes(made: MovedFiles, kind: str) -> list[tuple[str, int]]:
    return [(note.field, note.line) for note in made.notes if note.kind == kind]


Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_pool_moves_with_its_comments_quotes_and_order() -> None:
    text, made = move(POOL)
    expected = POOL.replace("karpenter.k8s.aws/instance", "eks.amazonaws.com/instance").replace("720h", "336h")
    assert text == expected.replace(
        "group: karpenter.k8s.aws, kind: EC2NodeClass", "group: eks.amazonaws.com, kind: NodeClass"
    )
    assert notes(made, "differs") == [("spec.template.spec.expireAfter", 9)]
    assert made.is_whole


def test_a_class_moves_and_each_field_without_a_counterpart_is_named() -> None:
    text, made = move(CLASS)
    assert text == MOVED_CLASS
    assert notes(made, "dropped") == [
        ("spec.amiSelectorTerms", 8),
        ("spec.blockDeviceMappings[0]", 11),
        ("spec.userData", 20),
    ]
    assert all(note.message and note.value for note in made.notes if note.kind == "dropped")
    assert not made.is_whole


def test_a_class_of_auto_mode_becomes_one_that_means_the_same() -> None:
    text, made = move(AUTO_CLASS, "karpenter")
    assert "amiSelectorTerms:\n    - alias: bottlerocket@latest\n" in text
    assert "deviceName: /dev/xvdb" in text
    assert "volumeSize: 100Gi" in text
    assert "\n  associatePublicIPAddress: false\n" in text
    assert notes(made, "dropped") == [("spec.advancedNetworking.httpsProxy", 11)]
    back, _ = move(text, "auto-mode")
    assert "  ephemeralStorage:\n    size: 100Gi\n    iops: 4000\n" in back


@pytest.mark.parametrize(
    ("storage", "field"),
    [
        ("{volumeSize: 50Gi, iops: 20000, volumeType: gp3}", "iops"),
        ("{volumeSize: 50Gi, throughput: 2000}", "throughput"),
        ("{volumeSize: 50Gi, volumeType: io2}", "volumeType"),
        ("{volumeSize: 50Gi, encrypted: false}", "encrypted"),
    ],
)
def test_what_a_volume_says_otherwise_is_named(storage: str, field: str) -> None:
    text = CLASS[: CLASS.index("  # room")] + f"  blockDeviceMappings: [{{deviceName: /dev/xvdb, ebs: {storage}}}]\n"
    _, made = move(text)
    assert [path for path, _ in notes(made, "differs") if "ebs" in path] == [
        f"spec.blockDeviceMappings[0].ebs.{field}"
    ]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("instance-category", "instance-accelerator-name", "spec.template.spec.requirements[0]"),
        ("metadata: {name: web}", "metadata: {name: system}", "metadata.name"),
        ('"karpenter.k8s.aws/instance-category"', "kubernetes.io/os", None),
        ("[c, m]", "[windows]", None),
        ("terminationGracePeriod: 24h", "terminationGracePeriod: 600h", "spec.template.spec.expireAfter"),
        (
            "requirements:\n",
            "startupTaints: [{key: node.cilium.io/agent-not-ready, effect: NoExecute}]\n      requirements:\n",
            "spec.template.spec.startupTaints[0]",
        ),
    ],
)  # fmt: skip
def test_what_is_left_to_the_owner(old: str, new: str, field: str | None) -> None:
    _, made = move(POOL.replace(old, new))
    assert [path for path, _ in notes(made, "by-hand")] == ([field] if field else [])


def test_windows_stays_with_karpenter() -> None:
    lines = POOL.replace('"karpenter.k8s.aws/instance-category"', "kubernetes.io/os").replace("[c, m]", "[windows]")
    _, made = move(lines)
    assert [note.message for note in made.notes if note.kind == "by-hand"] == [
        "EKS Auto Mode has no Windows nodes: keep this pool with Karpenter"
    ]


def test_an_old_api_is_let_be() -> None:
    text = POOL.replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n")
    moved, made = move(text)
    assert moved == text
    assert notes(made, "by-hand") == [("apiVersion", 2)]


WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      nodeSelector:
        karpenter.k8s.aws/instance-cpu: "4"
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: karpenter.k8s.aws/instance-gpu-name, operator: DoesNotExist}
      topologySpreadConstraints:
        - {topologyKey: karpenter.k8s.aws/instance-family, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}
"""


def test_selectors_of_workloads_move_along() -> None:
    text, made = move(WORKLOAD)
    assert text == WORKLOAD.replace("karpenter.k8s.aws/", "eks.amazonaws.com/")
    assert made.is_whole
    assert move(text, "karpenter")[0] == WORKLOAD


@pytest.mark.parametrize("others", ["", '        eks.amazonaws.com/instance-cpu: "4"\n'])
def test_a_selector_of_all_nodes_of_auto_mode_goes(others: str) -> None:
    head = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n      containers: []\n"
    text, made = move(
        f"{head}      nodeSelector:\n        eks.amazonaws.com/compute-type: auto\n{others}", "karpenter"
    )
    selector = "      nodeSelector:\n" + others.replace("eks.amazonaws.com", "karpenter.k8s.aws") if others else ""
    assert text == head + selector
    assert [line for _, line in notes(made, "dropped")] == [7]


def test_patches_of_kustomize_name_the_other_kind() -> None:
    text = (
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [base]\npatches:\n"
        "  - target: {group: karpenter.k8s.aws, kind: EC2NodeClass}\n    patch: |-\n"
        "      - {op: replace, path: /spec/role, value: other}\n"
        "      - {op: add, path: /spec/userData, value: other}\n"
    )
    moved, made = move(text, path="kustomization.yaml")
    assert moved == text.replace("karpenter.k8s.aws", "eks.amazonaws.com").replace("EC2NodeClass", "NodeClass")
    assert [line for _, line in notes(made, "by-hand")] == [8]


def test_a_template_keeps_its_code() -> None:
    text = CLASS.replace("'100Gi'  # enough", "{{ .Values.size }}").replace("nodes\n", "{{ .Values.role }}\n")
    moved, _ = move(text, path="chart/templates/class.yaml")
    assert "  role: {{ .Values.role }}\n" in moved
    assert "  ephemeralStorage:\n    size: {{ .Values.size }}\n" in moved


def test_a_heredoc_and_an_object_of_terraform() -> None:
    body = "".join(f"    {line}\n" for line in POOL.splitlines())
    text = f'resource "kubectl_manifest" "a" {{\n  yaml_body = <<-EOT\n{body}  EOT\n}}\n'
    text += (
        'locals {\n  keys = ["karpenter.k8s.aws/instance-family"]\n}\n'
        'resource "kubernetes_manifest" "b" {\n  manifest = {\n    apiVersion = "karpenter.k8s.aws/v1"\n'
        '    kind       = "EC2NodeClass"\n    metadata   = { name = "web" }\n    spec = {\n      role = var.role\n'
        '      associatePublicIPAddress = var.public\n      userData = "x"\n    }\n  }\n}\n'
    )
    moved, made = move(text, path="main.tf")
    assert "karpenter.k8s.aws" not in moved
    assert "associatePublicIPAddress = var.public" in moved
    assert "advancedNetworking" in moved
    assert [field for field, _ in notes(made, "dropped")] == ["spec.userData"]


def test_a_name_that_no_edit_reaches_is_a_change_by_hand() -> None:
    text = 'locals {\n  kind = "EC2NodeClass"\n  karpenter = true\n}\n'
    moved, made = move(text, path="main.tf")
    assert moved == text
    assert notes(made, "by-hand") == [("", 2)]


def _types(source: Source) -> list[frozenset[str]]:
    catalog = Catalog.bundled()
    pools = [obj for obj in all_objects(source) if isinstance(obj, NodePool)]
    found = [resolve(pool, None, catalog, NEWEST).candidates for pool in pools]
    return [frozenset(catalog.for_release(NEWEST).names_in(types)) for types in found]


_LINES = {
    "instance-category": "operator: In, values: [c, m, g]",
    "instance-generation": "operator: Gt, values: ['4']",
    "instance-cpu": "operator: Lt, values: ['33']",
    "instance-local-nvme": "operator: Exists",
    "instance-hypervisor": "operator: NotIn, values: [xen]",
    "instance-gpu-count": "operator: DoesNotExist",
    "instance-cpu-manufacturer": "operator: In, values: [intel, aws]",
    "instance-family": "operator: NotIn, values: [m5, c7g]",
}


@pytest.mark.parametrize(("first", "second"), [pair for pair in product(_LINES, _LINES) if pair[0] < pair[1]])
def test_there_and_back_gives_the_same_instance_types(first: str, second: str) -> None:
    lines = "".join(f"        - {{key: karpenter.k8s.aws/{key}, {_LINES[key]}}}\n" for key in (first, second))
    text = POOL[: POOL.index("        # no t")] + lines
    there, made = move(text)
    back, _ = move(there, "karpenter")
    [before], [between], [after] = (_types(Source.from_text("a.yaml", part)) for part in (text, there, back))
    assert before
    assert before == after
    assert between <= before
    assert [note.kind for note in made.notes] == ["differs"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.yaml")), ids=lambda path: path.name)
def test_there_and_back_of_the_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    there, made = move(text)
    back, _ = move(there, "karpenter")
    assert _types(Source.from_text("a.yaml", text)) == _types(Source.from_text("a.yaml", back))
    assert [obj.kind for obj in all_objects(made.new[0])] == [
        {"EC2NodeClass": "NodeClass"}.get(obj.kind, obj.kind) if obj in made.moved else obj.kind
        for obj in all_objects(made.old[0])
    ]


def test_every_label_of_types_has_its_way_back() -> None:
    assert {new: old for old, new in counterparts("auto-mode").items()} == dict(counterparts("karpenter"))


class TestCommand:
    def test_a_diff_by_default_and_files_with_write(self, tmp_path: Path, nodelint: Run) -> None:
        file = tmp_path / "a.yaml"
        file.write_text(POOL, encoding="utf-8")
        shown = nodelint("migrate", "--to", "auto-mode", str(file))
        assert shown.returncode == 0
        assert shown.stdout.startswith("--- a/")
        assert "Would move 1 object to EKS Auto Mode in 1 file; nothing is lost." in shown.stderr
        assert file.read_text(encoding="utf-8") == POOL
        assert nodelint("migrate", "--to", "auto-mode", "--write", str(file)).returncode == 0
        assert file.read_text(encoding="utf-8") == move(POOL)[0]
        again = nodelint("migrate", "--to", "auto-mode", str(file))
        assert (again.returncode, again.stdout) == (0, "")
        assert "Nothing to move" in again.stderr

    def test_what_is_lost_ends_with_1(self, tmp_path: Path, nodelint: Run) -> None:
        (tmp_path / "a.yaml").write_text(f"{POOL}---\n{CLASS}", encoding="utf-8")
        result = nodelint("migrate", "--to", "auto-mode", "--format", "json", str(tmp_path))
        report = json.loads(result.stdout)
        jsonschema.validate(report, json.loads((ROOT / "schemas" / "migrate.schema.json").read_text()))
        assert result.returncode == 1
        assert [note["field"] for note in report["notes"] if note["kind"] == "dropped"][-1] == "spec.userData"
        [pool] = report["pools"]
        assert pool["before"] - pool["after"] == len(pool["lost"]) > 0

    def test_no_file_is_written_where_one_cannot_be(self, tmp_path: Path, nodelint: Run) -> None:
        for name in ("a", "b"):
            (tmp_path / f"{name}.yaml").write_text(POOL, encoding="utf-8")
        (tmp_path / "c.yaml").hardlink_to(tmp_path / "b.yaml")
        result = nodelint("migrate", "--to", "auto-mode", "--write", str(tmp_path))
        assert result.returncode == 2
        assert (tmp_path / "a.yaml").read_text(encoding="utf-8") == POOL

    def test_values_of_a_chart(self, tmp_path: Path, nodelint: Run) -> None:
        chart = tmp_path / "chart"
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 1.0.0\n")
        spec = "spec:\n  {{- toYaml .Values.class | nindent 2 }}\n"
        head = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: web}\n"
        (chart / "templates" / "class.yaml").write_text(head + spec)
        (chart / "values.yaml").write_text("# for karpenter\nclass:\n  role: a\n  detailedMonitoring: true\n")
        report = json.loads(nodelint("migrate", "--to", "auto-mode", "--format", "json", str(tmp_path)).stdout)
        by_hand = [(Path(note["path"]).name, note["line"]) for note in report["notes"] if note["kind"] == "by-hand"]
        assert by_hand == [("values.yaml", 4)]


CHART_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
spec:
  template:
    spec:
      expireAfter: 720h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values:
            {{- toYaml .Values.families | nindent 12 }}
"""


def test_a_chart_is_told_of_defaults_that_differ_once(nodelint: Run, tmp_path: Path) -> None:
    """Its template is no whole pool: what it leaves out is known once it is rendered."""
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "values-prod.yaml": "name: prod\n"}
    values = {"values.yaml": "name: web\nfamilies: [m7i]\n", "templates/pool.yaml": CHART_POOL}
    write_files(tmp_path, {**chart, **values})
    report = " ".join(nodelint("migrate", "--to", "auto-mode").stderr.split())
    unset = "templates/pool.yaml:2 NodePool spec.template.spec.terminationGracePeriod: not set: the default is 24h"
    assert report.count(unset) == 1, report
    assert "21 days (504h)" in report and "expireAfter becomes 336h, EKS Auto Mode's default" in report
    assert "Each NodePool can launch the same instance types as before." in report


SELECTING_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      nodeSelector: {karpenter.k8s.aws/instance-gpu-manufacturer: nvidia}
      containers: [{name: train, image: a}]
"""


def test_a_chart_beside_workloads_changes_nothing_of_them(nodelint: Run, tmp_path: Path) -> None:
    """A run with pools reads the workloads as objects too; a lifetime in values is left to the owner by its line."""
    pool = CHART_POOL.replace("expireAfter: 720h", "expireAfter: {{ .Values.lifetime }}")
    assert pool != CHART_POOL
    chart = {"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "templates/pool.yaml": pool}
    values = "name: web\nfamilies: [m7i]\nlifetime: 168h\n"
    long = {"values-prod.yaml": "# karpenter\nlifetime: 720h\n"}
    files = {f"charts/c/{name}": text for name, text in {**chart, **long, "values.yaml": values}.items()}
    write_files(tmp_path, {**files, "workloads/job.yaml": SELECTING_JOB})
    alone = nodelint("migrate", "--to", "auto-mode", "workloads")
    both = nodelint("migrate", "--to", "auto-mode", ".")
    assert "+      nodeSelector: {eks.amazonaws.com/instance-gpu-manufacturer: nvidia}" in alone.stdout
    assert alone.stdout in both.stdout
    assert "0 objects" not in alone.stderr and "Would change names in 1 file" in alone.stderr
    report = " ".join(both.stderr.split())
    assert "charts/c/values-prod.yaml:2 NodePool/web spec.template.spec.expireAfter: EKS Auto Mode allows" in report
    assert "To change by hand" in report and "job.yaml" not in report


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("amiSelectorTerms: [{alias: windows2022@latest}]", True),
        ("amiFamily: Windows2019", True),
        ("amiSelectorTerms: [{alias: al2023@v20250403}]", False),
    ],
)
def test_a_class_of_windows_stays_with_karpenter(line: str, stays: bool) -> None:
    head = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: win}\nspec:\n  role: nodes\n"
    _, made = move(f"{head}  {line}\n")
    found = [note for note in made.notes if note.kind == "by-hand" and "Windows" in note.message]
    assert [note.line for note in found] == ([6] if stays else [])


def test_notes_that_differ_only_in_their_place_are_one() -> None:
    head = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: web}\nspec:\n  role: nodes\n"
    _, made = move(head)
    (role,) = [note for note in made.notes if note.field == "spec.role"]
    other = role._replace(object="NodeClass/other")
    notes = (role, role._replace(path="dev.yaml", line=1), role._replace(path="prod.yaml", line=2), other)
    report = migrate_text(made._replace(notes=notes), "auto-mode", [], False, TextStyle(width=200))
    assert report.count("EKS access entry") == 2
    assert f"a.yaml:{role.line}, dev.yaml:1, prod.yaml:2 {role.object} spec.role: give the node role" in report
