"""What a plan said wrongly of commits of public repositories that were judged before the run; each with a twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of, heredoc
from tests.plan.test_plan_seen_in_public import plan
from tests.repositories import write_files

CLASS = class_of()
OTHER_ROLE = CLASS.replace("role: nodes", "role: others")
IMAGES = "  amiSelectorTerms:\n    - alias: al2023@v20260618\n"
BETA = [text.replace("/v1\n", "/v1beta1\n").replace(IMAGES, "  amiFamily: AL2023\n") for text in (CLASS, POOL)]
RELEASE = 'resource "helm_release" "k" {{\n  name = "karpenter"\n  chart = "karpenter"\n  version = "{}"\n}}\n'


def text_of_plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str], code: int) -> str:
    write_files(folder / "old", old)
    write_files(folder / "new", new)
    found = nodelint("plan", "--old", "old", "new", "--fail-on", "drift", cwd=folder)
    assert found.returncode == code, found.stdout
    return " ".join(found.stdout.split())


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("count = 0", 0),
        ("for_each = {}", 0),
        ("for_each = toset([])", 0),
        ("count = 1", 1),
        # A variable may have another value than its default when the files are applied.
        ("count = var.on ? 1 : 0", 1),
    ],
)
@pytest.mark.parametrize("of_module", [False, True])
def test_a_literal_count_of_zero_creates_nothing(
    nodelint: Run, tmp_path: Path, more: str, code: int, of_module: bool
) -> None:
    def files(node_class: str) -> dict[str, str]:
        variable = 'variable "on" { default = false }\n'
        if not of_module:
            return {"c.tf": heredoc("c", node_class, f"  {more}\n") + variable, "p.tf": heredoc("p", POOL)}
        call = f'module "n" {{\n  source = "./m"\n  {more}\n}}\n{variable}'
        return {"main.tf": call, "m/c.tf": heredoc("c", node_class), "p.tf": heredoc("p", POOL)}

    text = text_of_plan(nodelint, tmp_path, files(CLASS), files(OTHER_ROLE), code)
    assert ("Terraform does not create it: `" in text) == (code == 0)


def test_a_literal_count_that_becomes_zero_deletes(nodelint: Run, tmp_path: Path) -> None:
    files = {"c.tf": heredoc("c", CLASS), "p.tf": heredoc("p", POOL, "  count = 1\n")}
    gone = {**files, "p.tf": files["p.tf"].replace("count = 1", "count = 0")}
    assert "deleted" in text_of_plan(nodelint, tmp_path, files, gone, 1)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("name: web\n", "name: web\n  labels: {a: b}\n", 0), ("role: nodes", "role: others", 1)],
)
def test_a_label_of_an_object_in_an_old_api_replaces_nothing(
    nodelint: Run, tmp_path: Path, old: str, new: str, code: int
) -> None:
    files = {"c.yaml": BETA[0], "p.yaml": BETA[1], "k.tf": RELEASE.format("1.5.0")}
    changed = {**files, "c.yaml": BETA[0].replace(old, new)}
    text_of_plan(nodelint, tmp_path, files, changed, code)


def test_an_old_pool_uses_the_class_of_its_own_environment(nodelint: Run, tmp_path: Path) -> None:
    module = heredoc("c", f"{BETA[0]}  tags: {{team: '${{var.team}}'}}\n") + heredoc("p", BETA[1])
    files = {
        "m/m.tf": f'{module}variable "team" {{}}\n{RELEASE.format("1.0.8")}',
        "main.tf": 'module "n" {\n  source = "./m"\n  team = var.team\n}\nvariable "team" {}\n',
        "dev.tfvars": 'team = "dev"\n',
        "prod.tfvars": 'team = "prod"\n',
    }
    changed = {**files, "prod.tfvars": 'team = "other"\n'}
    found = plan(nodelint, tmp_path, files, changed)
    assert sorted(str(pool["replaced"]) for pool in found["nodePools"]) == ["all", "none"]
    assert found["notCompared"] == []


WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: api}
spec: {template: {spec: {containers: [{name: api, image: api, resources: {requests: {cpu: '1'}}}]}}}
"""


def test_a_class_whose_update_is_refused_changes_nothing(nodelint: Run, tmp_path: Path) -> None:
    template = CLASS.replace("role: nodes", "role: ${role}")
    call = (
        'resource "kubectl_manifest" "c" {\n  yaml_body = templatefile("${path.module}/c.tpl", { role = var.r })\n}\n'
    )
    files = {"c.tpl": template, "c.tf": call + 'variable "r" {}\n', "p.yaml": POOL, "w.yaml": WORKLOAD}
    refused = {**files, "c.tpl": template.replace(IMAGES, "  amiFamily: AL2\n")}
    text = text_of_plan(nodelint, tmp_path, files, refused, 1)
    assert "1 NodePool: the update is refused. EC2NodeClasses: 1 changed. No node is replaced." in text
    assert "may be replaced" not in text and "Deployment/api" not in text
    accepted = {**files, "c.tf": files["c.tf"].replace("var.r ", "var.s ").replace('"r"', '"s"')}
    assert "its nodes may be replaced" in text_of_plan(nodelint, tmp_path / "twin", files, accepted, 1)


@pytest.mark.parametrize(("old", "new", "moves"), [("0.37.0", "1.8.1", True), ("0.36.0", "0.37.0", False)])
def test_a_release_that_does_not_serve_the_objects_moves(
    nodelint: Run, tmp_path: Path, old: str, new: str, moves: bool
) -> None:
    files = {"c.yaml": CLASS, "p.yaml": POOL, "k.tf": RELEASE.format(old)}
    text = text_of_plan(nodelint, tmp_path, files, {**files, "k.tf": RELEASE.format(new)}, 0)
    assert text.startswith(f"Karpenter {old} -> {new} (new/k.tf:4)") == moves


def test_a_pool_whose_outcome_is_not_known_is_named_once(nodelint: Run, tmp_path: Path) -> None:
    template = f"{CLASS}---\n{POOL}".replace("name: web\n", "name: {{ .Values.name }}\n")
    files = {
        "Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 1.0.0\n",
        "templates/n.yaml": template.replace("values: [on-demand]", "values: [{{ .Values.kind }}]"),
    }
    changed = {**files, "templates/n.yaml": files["templates/n.yaml"].replace(".Values.kind", ".Values.sort")}
    text = text_of_plan(nodelint, tmp_path, files, changed, 1)
    assert text.count("NodePool ${unset}") == 1


def test_a_path_is_one_of_the_repository(nodelint: Run, tmp_path: Path) -> None:
    files = {"kustomization.yaml": "resources: [p.yaml, gone.yaml]\n", "p.yaml": POOL, "c.yaml": CLASS}
    files |= {"scripts/a.sh": f"kubectl apply -f - <<E\n{POOL}E\n"}
    changed = {**files, "p.yaml": POOL.replace("on-demand", "spot"), "scripts/a.sh": f"{files['scripts/a.sh']}#\n"}
    text = text_of_plan(nodelint, tmp_path, files, changed, 1)
    assert str(tmp_path) not in text
    assert "scripts/a.sh" in text


def test_a_bound_and_lines_of_a_text_are_shown_as_they_change(nodelint: Run, tmp_path: Path) -> None:
    data = "  userData: |\n    #!/bin/bash\n    echo a\n"
    bound = POOL.replace(
        "        - {",
        "        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ['5']}\n        - {",
    )
    files = {"c.yaml": CLASS + data, "p.yaml": bound}
    changed = {"c.yaml": f"{CLASS}{data}\n\n    echo b\n", "p.yaml": bound.replace("'5'", "'6'")}
    text = text_of_plan(nodelint, tmp_path, files, changed, 1)
    assert "karpenter.k8s.aws/instance-generation Gt: 5 -> 6" in text
    assert "spec.userData: + echo b " in text


def test_the_headline_begins_with_what_stops(nodelint: Run, tmp_path: Path) -> None:
    def pool(name: str, *edits: tuple[str, str]) -> str:
        text = POOL.replace("metadata:\n  name: web", f"metadata:\n  name: {name}")
        text = f"{text}  limits: {{cpu: 100}}\n  disruption: {{consolidateAfter: 5m}}\n"
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        return text

    label = ("  template:\n", "  template:\n    metadata: {labels: {a: b}}\n")
    edits = {
        "same": (),
        "open": (label, ("a: b", 'a: "${x}"')),
        "acts": (("5m", "1m"),),
        "drifts": (label,),
        "stops": (("cpu: 100", "cpu: 0"),),
    }
    old = {f"{name}.yaml": pool(name) for name in edits}
    new = {f"{name}.yaml": pool(name, *own) for name, own in edits.items()}
    text = text_of_plan(nodelint, tmp_path, {"c.yaml": CLASS, **old}, {"c.yaml": CLASS, **new}, 1)
    headline = "5 NodePools: 1 can no longer launch nodes, all nodes of 1 are replaced, 1 changed without drift, "
    assert f"{headline}nodes of 1 may be replaced, 1 unchanged." in text
    rows = [text.index(f"NodePool {name} ") for name in ("stops", "drifts", "acts", "open")]
    assert rows == sorted(rows)


def test_files_that_are_not_read_are_counted(nodelint: Run, tmp_path: Path) -> None:
    files = {"c.yaml": CLASS, "p.yaml": POOL} | {f"s{n}.sh": f"cat <<E\n{POOL}E\n" for n in range(9)}
    write_files(tmp_path / "old", files)
    found = nodelint("plan", "--old", "old", "old", cwd=tmp_path)
    (line,) = found.stderr.splitlines()
    assert "old/s0.sh" in line and "and 4 more: the script holds" in line
