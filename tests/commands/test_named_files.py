"""Files that the command line names: values files of a chart, and files of Terraform's variables."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files as write

Run = Callable[..., subprocess.CompletedProcess[str]]

TEMPLATE = """\
{{- range .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: {{ .name }}}
spec:
  template:
    metadata: {labels: {team: {{ .team | default "web" }}}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: {{ toJson .families }}}
        - {key: kubernetes.io/arch, operator: In, values: {{ toJson .arch }}}
{{- end }}
"""
DEFAULTS = "pools:\n  - name: web\n    families: [m7i, c7i]\n    arch: [amd64]\n"
WRONG = "pools:\n  - name: web\n    families: [m7g]\n    arch: [amd64]\n"
RIGHT = "pools:\n  - name: web\n    families: [m7g]\n    arch: [arm64]\n"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    files = {"Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n", "values.yaml": DEFAULTS}
    write(tmp_path / "pools", {**files, "templates/pools.yaml": TEMPLATE})
    return tmp_path


def list_findings(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    """The rules of the findings, each with the file at which it is reported."""
    return [(f["rule"], f["path"]) for f in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("arguments", [["pools", "envs/dev.yaml"], ["."], ["pools", "--values", "envs/dev.yaml"]])
def test_a_values_file_with_one_key_is_judged(nodelint: Run, chart: Path, arguments: list[str]) -> None:
    write(chart, {"envs/dev.yaml": WRONG})
    done = nodelint("check", "--format", "json", *arguments)
    assert [rule for rule, _ in list_findings(done)] == ["no-instance-type"], done.stdout
    assert "envs/dev.yaml" in done.stdout
    assert "All good" not in nodelint("check", *arguments).stdout


@pytest.mark.parametrize(
    ("order", "findings"),
    [(["wrong", "right"], 0), (["right", "wrong"], 1), (["right"], 0)],
)
def test_later_values_files_replace_earlier_ones(nodelint: Run, chart: Path, order: list[str], findings: int) -> None:
    """As `helm -f` has them, and no other file of values counts beside them."""
    write(chart, {"wrong.yaml": WRONG, "right.yaml": RIGHT, "pools/values-other.yaml": WRONG})
    flags = [part for name in order for part in ("-f", f"{name}.yaml")]
    assert len(list_findings(nodelint("check", "--format", "json", ".", *flags))) == findings


def test_defaults_that_values_replace_are_not_judged(nodelint: Run, chart: Path) -> None:
    write(chart, {"pools/values.yaml": WRONG, "right.yaml": RIGHT})
    assert nodelint("check", "pools").returncode == 1
    assert nodelint("check", "pools", "-f", "right.yaml").returncode == 0


def test_every_command_reads_the_named_values(nodelint: Run, chart: Path) -> None:
    write(chart, {"right.yaml": RIGHT + "    team: batch\n"})
    assert "m7g" in nodelint("explain", "pools", "-f", "right.yaml").stdout
    hashes = [nodelint("hash", "pools", *flags).stdout for flags in ([], ["--values", "right.yaml"])]
    assert "nodepool-hash" in hashes[1]
    assert hashes[0].split("hash")[1].split()[0] != hashes[1].split("hash")[1].split()[0]


def test_a_plan_compares_the_named_values(nodelint: Run, chart: Path) -> None:
    write(chart, {"prod.yaml": RIGHT, "dev.yaml": RIGHT})
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *arguments], cwd=chart, check=True)
    write(chart, {"prod.yaml": RIGHT + "    team: batch\n"})
    changed = nodelint("plan", "--against", "HEAD", "pools", "-f", "prod.yaml")
    assert "team" in changed.stdout
    assert changed.returncode == 1
    same = nodelint("plan", "--against", "HEAD", "pools", "-f", "dev.yaml")
    assert same.returncode == 0
    assert "team" not in same.stdout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["pools", "-f", "nosuch.yaml"], "--values nosuch.yaml: no such file"),
        (["pools", "-f", "pools"], "--values pools: is a folder: name its files"),
        (["right.yaml", "-f", "right.yaml"], "no Helm chart in right.yaml: name the folder with its Chart.yaml"),
        (["pools", "-f", "broken.yaml"], "--values broken.yaml: line 1"),
        (["pools", "-f", "list.yaml"], "not a values file: such a file holds one mapping, and no Kubernetes object"),
        ([".", "-f", "right.yaml"], "there are 2: name the folder of one (other, pools)"),
    ],
)
def test_values_that_cannot_be_used_end_the_run(
    nodelint: Run, chart: Path, arguments: list[str], reason: str
) -> None:
    write(chart, {"right.yaml": RIGHT, "broken.yaml": "a: [", "list.yaml": "- a\n"})
    write(chart, {"other/Chart.yaml": "apiVersion: v2\nname: other\nversion: 0.1.0\n"})
    done = nodelint("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def test_a_named_file_that_is_not_read_as_values_is_named(nodelint: Run, chart: Path) -> None:
    write(chart, {"dev.yaml": WRONG + "global: {}\n"})
    done = nodelint("check", "pools", "dev.yaml")
    assert "dev.yaml:1: not used as a values file: pools/values.yaml has no key `global`" in done.stdout
    assert "pass it with --values" in done.stdout


@pytest.mark.parametrize(
    ("text", "is_noted"),
    [
        (WRONG + "limit: 1\n" + "global: {}\n", True),
        ("image: {}\nreplicas: 1\nlimit: 1\n" + WRONG, False),
        ("global: {}\n", False),
    ],
    ids=["one key more", "another chart's", "no key"],
)
def test_a_file_that_is_nearly_a_values_file_is_not_judged_in_silence(
    nodelint: Run, chart: Path, text: str, is_noted: bool
) -> None:
    write(chart, {"pools/values.yaml": DEFAULTS + "limit: 1\nteam: a\n", "envs/prod.yaml": text})
    done = nodelint("check")
    reason = "envs/prod.yaml:1: not used as a values file: values.yaml of chart pools has no key `global`"
    assert (reason in done.stdout) == is_noted


def test_values_of_no_chart_of_the_repository_name_the_next_step(nodelint: Run, chart: Path) -> None:
    write(chart, {"prod.yaml": RIGHT})
    hint = "If prod.yaml is a values file, name its chart: nodelint check CHART --values prod.yaml."
    assert hint in nodelint("check", "prod.yaml").stdout


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ('["t3*"]', '["t3", "t3a"]'),
        ('["t3*", m5]  # small', '["t3", "t3a", m5]  # small'),
        ('\n  - m5\n  - "t3*"  # small', '\n  - m5\n  - "t3"  # small\n  - "t3a"'),
    ],
)
def test_a_pattern_in_a_values_file_becomes_several_values(
    nodelint: Run, tmp_path: Path, written: str, fixed: str
) -> None:
    """Though no word of such a file is Karpenter's, it is read again after each edit."""
    template = POOL_OF_BASE.replace("[m7i]", "{{ toJson .Values.families }}")
    files = {"Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n", "templates/pool.yaml": template}
    write(tmp_path, {**files, "values.yaml": f"cluster: a\nfamilies: {written}\nlimit: 1\n"})
    nodelint("check", "--fix", "values.yaml")
    assert (tmp_path / "values.yaml").read_text(encoding="utf-8") == f"cluster: a\nfamilies: {fixed}\nlimit: 1\n"


RELEASE = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: pools}\nspec:\n"
RELEASE += "  chart: {spec: {chart: pools, sourceRef: {kind: GitRepository, name: flux}}}\n  values:\n"


@pytest.mark.parametrize(
    ("named", "content", "place"),
    [
        ("pools/values-prod.yaml", WRONG, ""),
        ("pools/prod.yaml", WRONG, ""),
        ("pools/env/prod.yaml", WRONG, ""),
        ("envs/prod.yaml", WRONG, ""),
        ("pools/values.yaml", WRONG, ""),
        ("pools/Chart.yaml", "", "pools/values-prod.yaml"),
        ("pools/templates/pools.yaml", "", "pools/values-prod.yaml"),
        ("flux/pools.yaml", RELEASE + "    " + WRONG.replace("\n", "\n    ").rstrip() + "\n", ""),
    ],
)
def test_a_file_of_a_chart_alone_is_judged_with_the_chart(
    nodelint: Run, chart: Path, named: str, content: str, place: str
) -> None:
    """As a pre-commit hook names it. Of other values files nothing is said."""
    (chart / ".git").mkdir()
    write(chart, {"pools/values-dev.yaml": RIGHT, named: content} if content else {"pools/values-prod.yaml": WRONG})
    done = nodelint("check", "--format", "json", "--", named)
    assert [rule for rule, _ in list_findings(done)] == ["no-instance-type"], done.stdout + done.stderr
    assert (place or named) in done.stdout


POOL_OF_BASE = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}
"""
ADDED = "- {op: add, path: /spec/template/spec/requirements/-, value:"
ADDED += " {key: kubernetes.io/arch, operator: In, values: [arm46]}}\n"


@pytest.mark.parametrize("named", ["prod/patches/arch.yaml", "prod/kustomization.yaml", "prod/kustomization.yaml ."])
def test_a_patch_alone_is_judged_with_its_kustomization(nodelint: Run, tmp_path: Path, named: str) -> None:
    kustomization = "resources: [../base]\npatches:\n  - path: patches/arch.yaml\n    target: {kind: NodePool}\n"
    files = {"prod/kustomization.yaml": kustomization, "prod/patches/arch.yaml": ADDED}
    files |= {"base/kustomization.yaml": "resources: [pool.yaml]\n", "base/pool.yaml": POOL_OF_BASE}
    write(tmp_path, {".git/HEAD": "", **files})
    done = nodelint("check", "--format", "json", *named.split())
    assert ("unknown-value", "prod/patches/arch.yaml") in list_findings(done), done.stdout + done.stderr


BASE = {"base/kustomization.yaml": "resources: [pool.yaml]\n", "base/pool.yaml": POOL_OF_BASE}
OVERLAY = "resources: [%s]\npatches:\n  - {path: arch.yaml, target: {kind: NodePool}}\n"


@pytest.mark.parametrize("between", ["", "resources: [../base]\n"])
@pytest.mark.parametrize("named", ["base/pool.yaml", "base/kustomization.yaml"])
def test_a_base_alone_is_judged_with_the_overlays_that_take_it(
    nodelint: Run, tmp_path: Path, named: str, between: str
) -> None:
    """As a hook names it; an overlay that takes another base has no part in it, and a fix stays in what is named."""
    write(tmp_path, {".git/HEAD": "", **BASE})
    others = {name.replace("base", "other"): text.replace("name: web", "name: db") for name, text in BASE.items()}
    write(tmp_path, {**others, "db/kustomization.yaml": "resources: [../other]\nnamePrefix: x-\n"})
    if between:
        write(tmp_path, {"common/kustomization.yaml": between})
    patch = ADDED.replace("arm46", "x86_64")
    overlay = OVERLAY % ("../../common" if between else "../../base")
    write(tmp_path, {"envs/prod/kustomization.yaml": overlay, "envs/prod/arch.yaml": patch})
    done = nodelint("check", "--format", "json", "--fix", "--unsafe-fixes", "--", named)
    assert ("unknown-value", "envs/prod/arch.yaml") in list_findings(done), done.stdout + done.stderr
    assert (tmp_path / "envs/prod/arch.yaml").read_text(encoding="utf-8") == patch
    assert "db" not in nodelint("check", "--show-files", "--", named).stdout
    assert "1 fixable" in nodelint("check", named, "envs/prod/arch.yaml").stdout


def test_the_fix_of_a_template_does_not_edit_values_that_nobody_named(nodelint: Run, chart: Path) -> None:
    write(chart, {".git/HEAD": "", "pools/values-prod.yaml": DEFAULTS.replace("amd64", "x86_64")})
    before = (chart / "pools/values-prod.yaml").read_text(encoding="utf-8")
    named = "pools/templates/pools.yaml"
    reason = "it changes pools/values-prod.yaml, which was not named: name it as well"
    shown = " ".join(nodelint("check", named).stdout.split())
    assert f"fix withheld: {reason}" in shown
    assert "fixable" not in shown
    assert reason in nodelint("check", "--fix", named).stdout
    assert (chart / "pools/values-prod.yaml").read_text(encoding="utf-8") == before
    nodelint("check", "--fix", named, "pools/values-prod.yaml")
    assert "arch: [amd64]" in (chart / "pools/values-prod.yaml").read_text(encoding="utf-8")


POOL = TEMPLATE.split("---\n", 1)[1].rsplit("{{- end }}", 1)[0]
TEXT = (
    POOL.replace("{{ .name }}", "web")
    .replace('{{ .team | default "web" }}', "web")
    .replace("{{ toJson .families }}", "${jsonencode(families)}")
    .replace("{{ toJson .arch }}", '["${arch}"]')
)
MAIN = """\
variable "families" { type = list(string) }
variable "arch" { default = "amd64" }
resource "kubectl_manifest" "pool" {
  yaml_body = templatefile("${path.module}/templates/%s", { families = var.families, arch = var.arch })
}
"""


@pytest.mark.parametrize("name", ["pool.yaml.tftpl", "${var.arch}.yaml.tftpl"])
@pytest.mark.parametrize("paths", [["main.tf", "prod.tfvars"], ["prod.tfvars"], ["tf/main.tf", "tf/env/prod.tfvars"]])
def test_named_variables_are_judged_with_their_root_module(
    nodelint: Run, tmp_path: Path, paths: list[str], name: str
) -> None:
    """And no other file of variables counts; a template is read although only the module names it."""
    root = tmp_path / "tf" if "tf/main.tf" in paths else tmp_path
    file = name.replace("${var.arch}", "amd64")
    write(root, {"main.tf": MAIN % name, f"templates/{file}": TEXT})
    variables = {"prod.tfvars": 'families = ["m7i.*", "c7i"]\n', "dev.tfvars": 'families = ["c7g"]\n'}
    write(root / "env" if "tf/main.tf" in paths else root, variables)
    done = nodelint("check", "--format", "json", *paths)
    assert list_findings(done) == [("wildcard-value", paths[-1])]
    assert "Not known" not in nodelint("check", *paths).stdout
    assert "m7g" not in nodelint("explain", *paths).stdout


@pytest.mark.parametrize("named", ["variables.tf", "templates/pool.yaml.tftpl"])
def test_a_part_of_a_module_is_judged_with_the_module(nodelint: Run, tmp_path: Path, named: str) -> None:
    variables = 'variable "families" { default = ["m7i.*"] }\n'
    main = (MAIN % "pool.yaml.tftpl").split("\n", 1)[1]
    write(tmp_path, {"main.tf": main, "variables.tf": variables, "templates/pool.yaml.tftpl": TEXT})
    assert "wildcard-value" in nodelint("check", named).stdout


def test_a_named_module_is_judged_with_its_template(nodelint: Run, tmp_path: Path) -> None:
    write(tmp_path, {"main.tf": MAIN % "pool.yaml.tftpl", "templates/pool.yaml.tftpl": TEXT})
    assert "1 object" in nodelint("check", "main.tf").stdout


def test_a_fix_in_values_that_an_option_names_is_offered(nodelint: Run, chart: Path) -> None:
    """The option names the file, as a path does. A file that is only read with the chart is not changed."""
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: pools}\nspec:\n"
        '  source: {repoURL: "https://example.com/a.git", path: pools, helm: {valueFiles: [../values/mine.yaml]}}\n'
    )
    wrong = DEFAULTS.replace("[amd64]", "[x86_64]")
    write(chart, {".git/HEAD": "", "apps/pools.yaml": application, "values/mine.yaml": wrong})
    done = nodelint("check", "pools", "--fix")
    assert "it changes values/mine.yaml, which was not named" in done.stdout, done.stdout
    assert (chart / "values" / "mine.yaml").read_text(encoding="utf-8") == wrong
    done = nodelint("check", "pools", "--values", "values/mine.yaml", "--fix")
    assert "Fixed 1 finding" in done.stdout, done.stdout
    assert (chart / "values" / "mine.yaml").read_text(encoding="utf-8") == DEFAULTS
