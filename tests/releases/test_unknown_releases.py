"""Releases that cannot be worked out, that are assumed, older than 1.0, or a sibling's: what is said and fixed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {name: default}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
"""
POOL_V1 = (
    POOL.replace("v1beta1", "v1").replace(
        "{name: default}\n      req", "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n      req"
    )
    + "  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1m}\n"
)
CLASS = """\
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2
  role: node
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
"""


def terraform(version: str, more: str = "") -> str:
    given = '  name = "karpenter"\n  repository = "oci://public.ecr.aws/karpenter"\n  chart = "karpenter"\n'
    return f'{more}resource "helm_release" "karpenter" {{\n{given}  version = {version}\n}}\n'


def flux(version: str) -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\n"
        f'spec:\n  chart: {{spec: {{chart: karpenter, version: "{version}"}}}}\n'
    )


def argo(version: str) -> str:
    source = f'{{repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: "{version}"}}'
    return f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: k}}\nspec:\n  source: {source}\n"


HELM = "helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version"
LIST = 'locals {\n  all = yamldecode(file("${path.module}/all.yaml"))["releases"]\n}\n'
RELEASES = "releases:\n  - {id: keda, chart_version: 2.10.2}\n  - {id: karpenter, chart_version: v0.37.7}\n"
BY_INDEX = 'local.all[index(local.all.*.id, "karpenter")].chart_version'


def check(nodelint: Run, *flags: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(nodelint("check", "--format", "json", *flags).stdout)
    return report


UNCLEAR = {
    "data of Terraform": ("main.tf", terraform("data.external.karpenter.result.version"), 5),
    "variable of Terraform": ("main.tf", terraform("var.release", 'variable "release" {}\n'), 6),
    "unknown file": ("main.tf", terraform(BY_INDEX, LIST), 8),
    "variable of a script": ("install.sh", f'{HELM} "${{CHART}}" --wait\n', 1),
    "command of a script": ("install.sh", f"{HELM} $(cat VERSION)\n", 1),
    "variable of Flux": ("release.yaml", flux("${karpenter}"), 5),
    "parameter of an Application": ("app.yaml", argo("{{ .Values.karpenter }}"), 5),
}


@pytest.mark.parametrize("form", UNCLEAR)
def test_a_release_that_cannot_be_worked_out_is_not_known(nodelint: Run, tmp_path: Path, form: str) -> None:
    name, text, line = UNCLEAR[form]
    write_files(tmp_path, {"pool.yaml": POOL, name: text})
    report = check(nodelint)
    (target,) = report["summary"]["targets"]
    assert (target["notKnown"]["path"], target["notKnown"]["line"]) == (name, line)
    assert report["summary"]["errors"] == 0
    assert f"{name}:{line}" in nodelint("check").stdout
    nodelint("check", "--fix", "--unsafe-fixes")
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == POOL
    # A release that is named counts, and what no release takes stays an error.
    assert check(nodelint, "--karpenter-version", "1.14.1")["summary"]["errors"] == 1
    (tmp_path / "pool.yaml").write_text(POOL.replace("amd64", "x86"), encoding="utf-8")
    assert [f["rule"] for f in check(nodelint)["findings"] if f["severity"] == "error"] == ["unknown-value"]


KNOWN = {
    "list in YAML": ({"main.tf": terraform(BY_INDEX, LIST), "all.yaml": RELEASES}, "0.37.7"),
    "trigger": (
        {
            "main.tf": 'resource "null_resource" "karpenter" {\n  triggers = {\n    chart_version = "1.8.3"\n  }\n'
            '  provisioner "local-exec" {\n    command = <<EOF\n'
            f"{HELM} ${{self.triggers.chart_version}}\nEOF\n  }}\n}}\n"
        },
        "1.8.3",
    ),
    "variable of the script": ({"i.sh": f'V=1.6.2\n{HELM} "$V"\n'}, "1.6.2"),
    "argument of a module": (
        {
            "main.tf": 'module "a" {\n  source = "./karpenter"\n  chart = "1.8.1"\n}\n',
            "karpenter/main.tf": terraform("var.chart", 'variable "chart" {}\n'),
        },
        "1.8.1",
    ),
    "range": ({"release.yaml": flux(">=1.6.0 <1.8.0")}, "1.7.6"),
    "range with a caret": ({"app.yaml": argo(">=1.4.0, <=1.4")}, "1.4.4"),
}


@pytest.mark.parametrize("form", KNOWN)
def test_a_release_that_can_be_worked_out_counts(nodelint: Run, tmp_path: Path, form: str) -> None:
    files, release = KNOWN[form]
    write_files(tmp_path, {"pool.yaml": POOL_V1 if release >= "1" else POOL, **files})
    (target,) = check(nodelint)["summary"]["targets"]
    assert [item["version"] for item in target["evidence"]] == [release]


def test_a_conversion_needs_a_release_that_is_named(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pool.yaml": POOL})
    report = check(nodelint)
    assert report["summary"]["errors"] == 1
    assert report["summary"]["fixable"] == {"safe": 0, "unsafe": 1}
    nodelint("check", "--fix")
    assert (tmp_path / "pool.yaml").read_text(encoding="utf-8") == POOL
    nodelint("check", "--fix", "--karpenter-version", "1.14.1")
    assert "apiVersion: karpenter.sh/v1\n" in (tmp_path / "pool.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("release", "fixed"), [("v0.32.1", False), ("0.34.0", False), ("v0.35.0", True)])
def test_no_fix_writes_what_an_early_release_refuses(
    nodelint: Run, tmp_path: Path, release: str, fixed: bool
) -> None:
    write_files(tmp_path, {"class.yaml": CLASS, "app.yaml": argo(release)})
    assert "unsupported-alias" in {finding["rule"] for finding in check(nodelint)["findings"]}
    nodelint("check", "--fix", "--unsafe-fixes")
    assert ("AL2023" in (tmp_path / "class.yaml").read_text(encoding="utf-8")) == fixed


def test_a_finding_about_a_release_stands_where_it_is_stated(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pool.yaml": POOL_V1, "release.yaml": flux("1.6.2")})
    findings = check(nodelint, "--select", "out-of-support")["findings"]
    found = {(finding["rule"], finding["path"], finding["start"]["line"]) for finding in findings}
    assert found == {("out-of-support", "release.yaml", 5)}


def test_the_release_of_a_sibling_is_not_taken(nodelint: Run, tmp_path: Path) -> None:
    files = {"clusters/a/pool.yaml": POOL_V1, "clusters/a/release.yaml": flux("1.6.2")}
    write_files(tmp_path, {**files, "clusters/b/nodes.yaml": POOL_V1})
    targets = check(nodelint)["summary"]["targets"]
    assumed = {target["objects"][0]["path"]: target["assumed"] for target in targets}
    assert assumed == {"clusters/a/pool.yaml": False, "clusters/b/nodes.yaml": True}
    # What lies beside the pools and has none of its own states the release of them all.
    moved = {"apps/karpenter/release.yaml": flux("1.6.2"), "apps/pools/pool.yaml": POOL_V1}
    write_files(tmp_path / "one", moved)
    (target,) = check(nodelint, "one")["summary"]["targets"]
    assert [item["version"] for item in target["evidence"]] == ["1.6.2"]


def test_upgrade_names_its_own_flag(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pool.yaml": POOL_V1})
    assert "--from: Karpenter 0.30 is too old" in nodelint("upgrade", "--from", "0.30").stderr


def test_what_an_upgrade_heals_is_no_error_of_it(nodelint: Run, tmp_path: Path) -> None:
    cluster = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata:\n  name: x\n  version: '1.34'\n"
    write_files(tmp_path, {"pool.yaml": POOL_V1, "cluster.yaml": cluster})
    done = nodelint("upgrade", "--from", "1.5.0", "--to", "1.12.0", "--format", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["summary"]["error"], report["route"]["trouble"]) == (0, 0, [])
    assert "1.34" in report["route"]["healed"][0]
    assert nodelint("upgrade", "--from", "1.5.0", "--to", "1.5.1").returncode == 1


TEMPLATE = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  role: {{{{ .Values.role }}}}
  {code}
  amiSelectorTerms: [{{alias: al2023@latest}}]
  subnetSelectorTerms: [{{tags: {{a: b}}}}]
  securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
"""
IF = "{{- if .Values.%s }}\n  %s: {{ toYaml .Values.%s | nindent 4 }}\n  {{- end }}"
TERMS = "capacityReservationSelectorTerms"


@pytest.mark.parametrize(
    ("code", "gate", "found"),
    [
        (IF % (("tags",) * 3), "true", True),
        (IF % (("terms", TERMS, "terms")), "true", True),
        (f"{TERMS}: [{{id: cr-56fac701cc1951b03}}]", "true", False),
        (IF % (("tags",) * 3), "false", False),
    ],
    ids=["another field", "conditional terms", "terms", "gate off"],
)
def test_reservations_are_spoken_of_whatever_a_template_decides(
    nodelint: Run, tmp_path: Path, code: str, gate: str, found: bool
) -> None:
    release = f"{flux('1.5.0')}  values: {{settings: {{featureGates: {{reservedCapacity: {gate}}}}}}}\n"
    files = {"Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.1.0\n", "values.yaml": "role: node\n"}
    files |= {"templates/class.yaml": TEMPLATE.format(code=code), "apps/release.yaml": release}
    write_files(tmp_path, files)
    done = nodelint("upgrade", "--from", "1.5.0", "--to", "1.12.0", "--format", "json")
    assert ("open-reservations" in {change["id"] for change in json.loads(done.stdout)["changes"]}) == found


@pytest.mark.parametrize(("name", "code"), [("addons.j2.tf", 0), ("addons.tf", 2)])
def test_a_template_of_terraform_is_no_terraform(nodelint: Run, tmp_path: Path, name: str, code: int) -> None:
    jinja = '{% if a %}\nresource "aws_iam_role" "karpenter" {\n  name = "karpenter"\n}\n{% endif %}\n'
    write_files(tmp_path, {"pool.yaml": POOL_V1, name: jinja})
    done = nodelint("check")
    assert done.returncode == code and name in done.stdout + done.stderr


def test_an_id_of_documentation_in_a_heredoc(nodelint: Run, tmp_path: Path) -> None:
    node_class = CLASS.replace("v1beta1", "v1").replace("AL2", "AL2023\n  amiSelectorTerms: [{id: ami-example}]")
    body = "".join(f"    {line}\n" for line in node_class.replace("role: node", "role: ${var.role}").splitlines())
    text = f'resource "kubectl_manifest" "a" {{\n  yaml_body = <<-YAML\n{body}  YAML\n}}\n'
    write_files(tmp_path, {"main.tf": text})
    assert [finding["rule"] for finding in check(nodelint)["findings"]] == ["placeholder-left"]


@pytest.mark.parametrize("folder", ["modules/karpenter", "karpenter"])
@pytest.mark.parametrize("name", ["chart", "karpenter_version"])
def test_a_default_that_each_root_overrides_states_nothing(
    nodelint: Run, tmp_path: Path, folder: str, name: str
) -> None:
    call = f'module "k" {{\n  source = "../{folder}"\n  {name} = "1.%s.0"\n}}\n'
    roots = {f"{root}/main.tf": call % minor for root, minor in (("dev", 9), ("prod", 5))}
    module = terraform(f"var.{name}", f'variable "{name}" {{\n  default = "1.0.0"\n}}\n')
    files = {**roots, f"{folder}/main.tf": module, f"{folder}/pool.yaml": POOL_V1}
    write_files(tmp_path, files)
    (target,) = check(nodelint)["summary"]["targets"]
    assert sorted(item["version"] for item in target["evidence"]) == ["1.5.0", "1.9.0"]
    (tmp_path / "dev" / "main.tf").write_text(f'module "k" {{\n  source = "../{folder}"\n}}\n', encoding="utf-8")
    (target,) = check(nodelint)["summary"]["targets"]
    assert "1.0.0" in {item["version"] for item in target["evidence"]}
