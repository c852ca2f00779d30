"""A fix of a value that something else reads, too, is not safe: `--fix` does not write it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plan.test_plan_missing_references import Run
from tests.repositories import write_files

Files = dict[str, str]
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [ARCH]}]
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: web}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20250807}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: acme}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: acme}}]
"""


def manifest(name: str, text: str) -> str:
    return f'resource "kubectl_manifest" "{name}" {{\n  yaml_body = <<-YAML\n{text}  YAML\n}}\n'


def pool_by(value: str) -> str:
    return manifest("pool", "".join(f"    {line}\n" for line in POOL.replace("ARCH", value).splitlines()))


def chart(name: str, template: str) -> Files:
    head = f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n"
    return {f"{name}/Chart.yaml": head, f"{name}/values.yaml": "{}\n", f"{name}/templates/x.yaml": template}


IMAGE = 'data "aws_ami" "ci" {\n  filter {\n    name   = "architecture"\n    values = [READ]\n  }\n}\n'
NODES = chart("nodes", POOL.replace("ARCH", "{{ .Values.arch }}"))
API = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: api}\ndata: {image: "acme/api:1-{{ .Values.READ }}"}\n'
HELMFILE = """\
releases:
  - {name: nodes, chart: ./nodes, values: [common.yaml]}
  - {name: api, chart: CHART, values: [common.yaml]}
"""
APPLICATIONS = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes, namespace: argocd}
spec:
  goTemplate: true
  generators: [{list: {elements: [{cluster: prod, arch: x86_64}]}}]
  template:
    metadata: {name: 'nodes-{{.READ}}'}
    spec:
      project: default
      source:
        repoURL: https://example.com/x.git
        path: nodes
        helm: {parameters: [{name: arch, value: '{{.arch}}'}]}
      destination: {name: '{{.cluster}}', namespace: karpenter}
"""
LOCAL = 'locals {\n  arch  = "x86_64"\n  other = "x"\n}\n'
VARIABLE = 'variable "arch" {}\nvariable "other" {}\n'
BUILDERS = {"builders/main.tf": f'variable "given" {{}}\n{IMAGE.replace("READ", "var.given")}'}
UNIT = (
    'include "common" {\n  path = find_in_parent_folders("common.hcl")\n}\nterraform {\n  source = "../../NAME"\n}\n'
)
UNITS = {
    "class.yaml": CLASS,
    "live/common.hcl": 'inputs = {\n  arch = "x86_64"\n}\n',
    "live/nodes/terragrunt.hcl": UNIT.replace("NAME", "nodes"),
    "nodes/main.tf": 'variable "arch" {}\n' + pool_by("${var.arch}"),
    "builders/main.tf": f'variable "arch" {{}}\n{IMAGE.replace("READ", "var.READ")}',
    "live/builders/terragrunt.hcl": UNIT.replace("NAME", "builders"),
}
OTHER_KIND = "    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: ${local.READ}}\n"
VALIDATION = (
    'variable "arch" {\n  validation {\n    condition     = contains(["x86_64"], var.READ)\n'
    '    error_message = "no"\n  }\n}\nvariable "other" {}\n'
)
HELM = 'resource "helm_release" "x" {\n  chart = "builder"\n  set = [{ name = "t", value = "gcc-${var.READ}" }]\n}\n'
TFVARS = {"class.yaml": CLASS, "terraform.tfvars": 'arch = "x86_64"\nother = "x"\n'}
VALUES = {"class.yaml": CLASS, **NODES, "nodes/values.yaml": "arch: x86_64\nother: x\n"}
GUARD = '{{- if not (has .Values.READ (list "x86_64" "x")) }}{{ fail "no" }}{{ end }}\n'
SCHEMA = '{"type": "object", "properties": {"READ": {"type": "string", "enum": ["x86_64", "x"]}}}\n'
SHARED: dict[str, tuple[Files, str, str, str]] = {
    # files with the word READ, the value of READ that makes a second reader, another one that does not, the reader
    "local in a data source": (
        {"class.yaml": CLASS, "main.tf": LOCAL + pool_by("${local.arch}") + IMAGE.replace("READ", "local.READ")},
        "arch",
        "other",
        "main.tf",
    ),
    "local in another file": (
        {
            "class.yaml": CLASS,
            "main.tf": LOCAL + pool_by("${local.arch}"),
            "ami.tf": IMAGE.replace("READ", "local.READ"),
        },
        "arch",
        "other",
        "ami.tf",
    ),
    "local of a local": (
        {
            "class.yaml": CLASS,
            "main.tf": LOCAL.replace("}\n", "  all = { a = local.READ }\n}\n") + pool_by("${local.arch}"),
            "ami.tf": IMAGE.replace("READ", "local.all.a"),
        },
        "arch",
        "other",
        "ami.tf",
    ),
    "manifest of another kind": (
        {"class.yaml": CLASS, "main.tf": LOCAL + pool_by("${local.arch}") + manifest("x", OTHER_KIND)},
        "arch",
        "other",
        "main.tf",
    ),
    "variable of a module": (
        {
            "class.yaml": CLASS,
            "terraform.tfvars": 'arch = "x86_64"\nother = "x"\n',
            "main.tf": VARIABLE
            + pool_by("${var.arch}")
            + 'module "b" {\n  source = "./builders"\n  given  = var.READ\n}\n',
            **BUILDERS,
        },
        "arch",
        "other",
        "builders/main.tf",
    ),
    "validation of a variable": (
        {**TFVARS, "main.tf": VALIDATION + pool_by("${var.arch}")},
        "arch",
        "other",
        "main.tf",
    ),
    "output": (
        {
            "class.yaml": CLASS,
            "main.tf": LOCAL + pool_by("${local.arch}") + 'output "a" {\n  value = local.READ\n}\n',
        },
        "arch",
        "other",
        "main.tf",
    ),
    "release of another chart": (
        {**TFVARS, "main.tf": VARIABLE + pool_by("${var.arch}") + HELM},
        "arch",
        "other",
        "main.tf",
    ),
    "another template of the chart": (
        {**VALUES, "nodes/templates/cm.yaml": API},
        "arch",
        "other",
        "nodes/templates/cm.yaml",
    ),
    "guard of the chart": ({**VALUES, "nodes/templates/c.yaml": GUARD}, "arch", "other", "nodes/templates/c.yaml"),
    "guard in a helper": (
        {
            **VALUES,
            "nodes/templates/_h.tpl": '{{- define "c" }}' + GUARD + "{{- end }}\n",
            "nodes/templates/x.yaml": '{{- include "c" . }}\n' + NODES["nodes/templates/x.yaml"],
        },
        "arch",
        "other",
        "nodes/templates/_h.tpl",
    ),
    "schema of the chart": (
        {**VALUES, "nodes/values.schema.json": SCHEMA},
        "arch",
        "other",
        "nodes/values.schema.json",
    ),
    "inputs of two units": (UNITS, "arch", "none", "builders/main.tf"),
    "values of two charts": (
        {"class.yaml": CLASS, "common.yaml": "arch: x86_64\n", **NODES, **chart("api", API)}
        | {"helmfile.yaml": HELMFILE.replace("CHART", "./api")},
        "arch",
        "tag",
        "helmfile.yaml",
    ),
    "name of an Application": (
        {"class.yaml": CLASS, **NODES, "set.yaml": APPLICATIONS},
        "arch",
        "cluster",
        "set.yaml",
    ),
}


def fixed(nodelint: Run, folder: Path, files: Files, word: str) -> tuple[dict[str, str], str, str]:
    """The files that `--fix` changes, the safety of the fix and what the report says of it."""
    there = {path: text.replace("READ", word) for path, text in files.items()}
    write_files(folder, there)
    report = json.loads(nodelint("check", ".", "--format", "json", cwd=folder).stdout)
    finding = next(found for found in report["findings"] if found["rule"] == "unknown-value")
    shown = nodelint("check", ".", cwd=folder).stdout
    nodelint("check", ".", "--fix", cwd=folder)
    changed = {path: (folder / path).read_text() for path in there if (folder / path).read_text() != there[path]}
    return changed, finding["fix"]["safety"], shown


@pytest.mark.parametrize("name", SHARED)
def test_a_value_with_another_reader_is_not_fixed_as_safe(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, word, _, reader = SHARED[name]
    changed, safety, shown = fixed(nodelint, tmp_path, files, word)
    assert changed == {} and safety == "unsafe" and f"unsafe: {reader}:" in " ".join(shown.split()), shown


@pytest.mark.parametrize("name", SHARED)
def test_a_value_that_nothing_else_reads_is_fixed(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, _, word, _ = SHARED[name]
    changed, safety, shown = fixed(nodelint, tmp_path, files, word)
    assert safety == "safe" and len(changed) == 1 and "amd64" in next(iter(changed.values())), shown


def test_a_folder_around_the_repository_is_no_chart(nodelint: Run, tmp_path: Path) -> None:
    """The repository is in a folder with the name of the other chart."""
    files, word, _, reader = SHARED["values of two charts"]
    (tmp_path / "api").mkdir(parents=True)
    changed, safety, shown = fixed(nodelint, tmp_path / "api", files, word)
    assert changed == {} and safety == "unsafe" and f"unsafe: {reader}:" in " ".join(shown.split()), shown


def test_a_remote_chart_may_read_each_value(nodelint: Run, tmp_path: Path) -> None:
    files = {"class.yaml": CLASS, "common.yaml": "arch: x86_64\n", **NODES}
    changed, safety, _ = fixed(
        nodelint, tmp_path, {**files, "helmfile.yaml": HELMFILE.replace("CHART", "acme/api")}, ""
    )
    assert (changed, safety) == ({}, "unsafe")
