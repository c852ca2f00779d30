"""What applies files, and with which values, may change outside of them: each case has a change that counts, and one
that does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of, heredoc
from tests.repositories import write_files

BOTH = f"{class_of()}---\n{POOL}"
OTHER = BOTH.replace("role: nodes", "role: others")
TAGGED = class_of(tags="team: TEAM")
FOLDERS = {"n/a/n.yaml": BOTH, "n/b/n.yaml": OTHER, "n/c/n.yaml": BOTH}
BUILT = {f"n/{name}/kustomization.yaml": "resources: [n.yaml]\n" for name in "abc"}
MODULE = f"{heredoc('c', TAGGED.replace('TEAM', '${var.team}'))}{heredoc('p', POOL)}"
TERRAFORM = {"m.tf": f'{MODULE}variable "team" {{ default = "z" }}\n'}
PULUMI = (
    'new k8s.apiextensions.CustomResource("c", { apiVersion: "karpenter.k8s.aws/v1", kind: "EC2NodeClass", '
    'metadata: { name: "web" }, spec: { role: config.require("role") } });\n'
)


def application(source: str, name: str = "nodes") -> str:
    return (
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n"
        "spec:\n  project: p\n  destination: {server: https://a, namespace: k}\n"
        f"  source: {{repoURL: https://example.com/x.git, {source}}}\n"
    )


def application_set(generator: str, source: str) -> str:
    return (
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: nodes, namespace: argocd}\n"
        f"spec:\n  generators:\n    - {generator}\n  template:\n    metadata: {{name: nodes}}\n    spec:\n"
        "      project: p\n      destination: {server: https://a, namespace: k}\n"
        f"      source: {{repoURL: https://example.com/x.git, {source}}}\n"
    )


def flux(path: str, more: str = "") -> str:
    return (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: nodes}\nspec:\n"
        f"  interval: 1m\n  path: {path}\n  sourceRef: {{kind: GitRepository, name: r}}\n{more}"
    )


class Case(NamedTuple):
    """Files; a text of one file that is changed, what takes its place, and what takes it without a consequence."""

    files: dict[str, str]
    path: str
    text: str
    counts: str
    is_alike: str


CHART = {
    "ch/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 1.0.0\n",
    "ch/values.yaml": "team: z\nnote: z\n",
    "ch/templates/n.yaml": f"{TAGGED.replace('TEAM', '{{ .Values.team }}')}---\n{POOL}",
}
RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: nodes, namespace: k}\nspec:\n"
    "  chart: {spec: {chart: karpenter-nodes, version: 1.0.0, sourceRef: {kind: HelmRepository, name: r}}}\n"
    "  interval: 1m\n"
)
TERRAFORM_RELEASE = (
    'resource "helm_release" "n" {\n  name = "n"\n  repository = "https://a"\n  chart = "karpenter-nodes"\n'
    "  timeout = 1\n}\n"
)
HELMFILE = "releases:\n  - name: nodes\n    chart: ./ch\n    values:\n      - team: {{ .Values.team }}\n"
MERGE = "merge: {mergeKeys: [name], generators: [{list: {elements: [{name: a, team: x}]}}, {list: {elements: [%s]}}]}"
PARAMETERS = "path: ch, helm: {parameters: [{name: team, value: '{{team}}'}]}"
CASES = {
    "an Application": Case(
        {**FOLDERS, "app.yaml": application("path: n/a")}, "app.yaml", "path: n/a", "path: n/b", "path: n/c"
    ),
    "an Application of an overlay": Case(
        {**FOLDERS, **BUILT, "app.yaml": application("path: n/a")}, "app.yaml", "path: n/a", "path: n/b", "path: n/c"
    ),
    "a list of an ApplicationSet": Case(
        {**FOLDERS, "s.yaml": application_set("list: {elements: [{name: a, dir: a}]}", "path: 'n/{{dir}}'")},
        "s.yaml",
        "dir: a",
        "dir: b",
        "dir: c",
    ),
    "a merge of an ApplicationSet": Case(
        {**CHART, "s.yaml": application_set(MERGE % "{name: a, team: s}", PARAMETERS)},
        "s.yaml",
        "team: x}]}}, {list: {elements: [{name: a, team: s}",
        "team: x}]}}, {list: {elements: [{name: a, team: w}",
        "team: v}]}}, {list: {elements: [{name: a, team: s}",
    ),
    "a Kustomization of Flux": Case({**FOLDERS, "k.yaml": flux("./n/a")}, "k.yaml", "./n/a", "./n/b", "./n/c"),
    "a Kustomization of Flux that does not prune": Case(
        {**FOLDERS, "k.yaml": flux("./n/a", "  prune: false\n")}, "k.yaml", "./n/a", "./n/b", "./n/c"
    ),
    "a unit of Terragrunt": Case(
        {
            "live/terragrunt.hcl": 'terraform { source = "../a" }\n',
            **{f"{name}/m.tf": heredoc("c", class_of()) + heredoc("p", POOL) for name in "ac"},
            "b/m.tf": heredoc("c", OTHER.partition("---")[0]) + heredoc("p", POOL),
        },
        "live/terragrunt.hcl",
        "../a",
        "../b",
        "../c",
    ),
    "kubectl in a script": Case(
        {**FOLDERS, "apply.sh": "kubectl apply -f n/a/n.yaml\n"}, "apply.sh", "n/a", "n/b", "n/c"
    ),
    "kubectl in a workflow": Case(
        {**FOLDERS, ".github/workflows/d.yaml": "jobs:\n  d:\n    steps:\n      - run: kubectl apply -f n/a\n"},
        ".github/workflows/d.yaml",
        "n/a",
        "n/b",
        "n/c",
    ),
    "kustomize in a Makefile": Case(
        {**FOLDERS, **BUILT, "Makefile": "apply:\n\tkustomize build n/a | kubectl apply -f -\n"},
        "Makefile",
        "n/a",
        "n/b",
        "n/c",
    ),
    "a command that is gone deletes nothing": Case(
        {**FOLDERS, "apply.sh": "kubectl apply -f n/a\nkubectl apply -f n/c\n"},
        "apply.sh",
        "kubectl apply -f n/a\nkubectl apply -f n/c\n",
        "kubectl apply -f n/b\n",
        "kubectl apply -f n/c\n",
    ),
    "a variable file of a command": Case(
        {**TERRAFORM, "env/a.tfvars": 'team = "a"\n', "env/b.tfvars": 'team = "b"\n', "other/x.tfvars": 'x = "x"\n'}
        | {"d.sh": "terraform apply -var-file=env/a.tfvars\n"},
        "d.sh",
        "-var-file=env/a.tfvars",
        "-var-file=env/b.tfvars",
        "-var-file=env/a.tfvars -var-file=other/x.tfvars",
    ),
    "an option of a command": Case(
        {**TERRAFORM, "d.sh": "terraform apply -var 'team=a'\n"}, "d.sh", "team=a", "team=b", "team=a' -var 'x=b"
    ),
    "a variable of an environment": Case(
        {**TERRAFORM, ".github/workflows/d.yaml": "env: {TF_VAR_team: a, TF_VAR_x: a}\n"},
        ".github/workflows/d.yaml",
        "TF_VAR_team: a, TF_VAR_x: a",
        "TF_VAR_team: b, TF_VAR_x: a",
        "TF_VAR_team: a, TF_VAR_x: b",
    ),
    "an environment of a helmfile": Case(
        {**CHART, "helmfile.yaml": f"environments:\n  prod: {{values: [env/prod.yaml]}}\n---\n{HELMFILE}"}
        | {"env/prod.yaml": "team: a\nnote: a\n"},
        "env/prod.yaml",
        "team: a\nnote: a",
        "team: b\nnote: a",
        "team: a\nnote: b",
    ),
    "values for an inner helmfile": Case(
        {**CHART, "helmfile.yaml": "helmfiles:\n  - path: in/helmfile.yaml\n    values: [{team: a, note: a}]\n"}
        | {"in/helmfile.yaml": HELMFILE.replace("./ch", "../ch")},
        "helmfile.yaml",
        "team: a, note: a",
        "team: b, note: a",
        "team: a, note: b",
    ),
    "values of a file that a template renders": Case(
        {"ch/Chart.yaml": CHART["ch/Chart.yaml"], "ch/values.yaml": "team: a\nnote: a\n"}
        | {"ch/files/n.yaml": f"{TAGGED.replace('TEAM', '{{ .Values.team }}')}---\n{POOL}"}
        | {"ch/templates/n.yaml": '{{ tpl (.Files.Get "files/n.yaml") . }}\n'},
        "ch/values.yaml",
        "team: a\nnote: a",
        "team: b\nnote: a",
        "team: a\nnote: b",
    ),
    "a chart elsewhere of an Application": Case(
        {"a.yaml": application("chart: karpenter-nodes, targetRevision: 1.0.0"), "n.yaml": BOTH},
        "a.yaml",
        "project: p\n  destination: {server: https://a, namespace: k}\n  source: {repoURL: https://example.com/x.git",
        "project: p\n  destination: {server: https://a, namespace: k}\n  source: {repoURL: https://example.com/y.git",
        "project: q\n  destination: {server: https://a, namespace: k}\n  source: {repoURL: https://example.com/x.git",
    ),
    "a chart elsewhere of a HelmRelease": Case(
        {"hr.yaml": RELEASE, "n.yaml": BOTH}, "hr.yaml", "interval: 1m", "values: {a: b}", "interval: 5m"
    ),
    "a chart elsewhere of Terraform": Case(
        {"m.tf": TERRAFORM_RELEASE, "n.yaml": BOTH}, "m.tf", "timeout = 1", 'version = "1.0.0"', "timeout = 2"
    ),
    "the settings of Pulumi": Case(
        {"infra/index.ts": PULUMI, "infra/Pulumi.prod.yaml": "config: {role: a}\n", "c.yaml": BOTH},
        "infra/Pulumi.prod.yaml",
        "role: a",
        "role: b",
        "role: a",
    ),
    "the settings of the CDK": Case(
        {"lib/stack.ts": PULUMI, "cdk.json": '{"context": {"role": "a"}}\n'}, "cdk.json", '"a"', '"b"', '"a"'
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_applies_files_changes(nodelint: Run, tmp_path: Path, name: str) -> None:
    files, path, text, counts, is_alike = CASES[name]
    assert text in files[path]
    write_files(tmp_path / "old", files)
    for folder, other, code in (("new", counts, 1), ("alike", is_alike, 0)):
        write_files(tmp_path / folder, {**files, path: files[path].replace(text, other)})
        found = nodelint("plan", "--old", "old", folder, cwd=tmp_path)
        assert found.returncode == code, found.stdout


def test_an_application_names_both_folders(nodelint: Run, tmp_path: Path) -> None:
    files = {**FOLDERS, "app.yaml": application("path: n/a")}
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", {**files, "app.yaml": application("path: n/b")})
    text = " ".join(nodelint("plan", "--old", "old", "new", cwd=tmp_path).stdout.split())
    assert "~ Application nodes new/app.yaml:1 it applies `n/b` now, not `n/a`: what the cluster gets of" in text
    assert "NodePool" not in text[text.index("it applies") : text.index("is not compared")]
    # A folder that is only renamed is compared.
    moved = {f"m/{path}" if path.startswith("n/a") else path: text for path, text in files.items()}
    write_files(tmp_path / "moved", {**moved, "app.yaml": application("path: m/n/a")})
    found = nodelint("plan", "--old", "old", "moved", cwd=tmp_path)
    assert (found.returncode, "not compared" in found.stdout) == (0, False), found.stdout
