"""The one law of a plan in every form that a repository may have: what differs in a hashed field is never "none"."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodelint.apiserver import Schemas
from nodelint.config.session import Session
from nodelint.config.settings import Settings
from nodelint.files.discover import discover
from nodelint.model.releases import Version
from nodelint.plan import Plan, PlanOptions, Side, make
from nodelint.plan.read_side import applied, read_side
from nodelint.plan.values import ValueChange
from tests.plan.test_plan import BOTH, CLASS, POOL, edited
from tests.plan.test_plan_command import git, put

Run = Callable[..., CompletedProcess[str]]

FIELDS = {
    "role": ("/spec/role", ("role: nodes", "role: @")),
    "tag": ("/spec/tags/team", ("team: web, cost: web", "team: @, cost: web")),
    "user data": ("/spec/userData", ("  role: nodes", "  role: nodes\n  userData: @")),
    "volume": (
        "/spec/blockDeviceMappings/0/ebs/volumeSize",
        ("  role: nodes", "  role: nodes\n  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: @}}]"),
    ),
    "monitoring": ("/spec/detailedMonitoring", ("  role: nodes", "  role: nodes\n  detailedMonitoring: @")),
    "pods": ("/spec/kubelet/maxPods", ("  role: nodes", "  role: nodes\n  kubelet: {maxPods: @}")),
    "label": ("/spec/template/metadata/labels/team", ("labels: {team: web}", "labels: {team: @}")),
    "taint": ("/spec/template/spec/taints/0/value", ("{key: web, effect", "{key: web, value: @, effect")),
    "grace": (
        "/spec/template/spec/terminationGracePeriod",
        ("      taints:", "      terminationGracePeriod: @\n      taints:"),
    ),
}
"""A hashed field by its path, and how it comes into the manifest."""

VALUES: dict[str, list[object]] = {
    "volume": ["20Gi", "30Gi"],
    "monitoring": [True, False],
    "pods": [58, 59],
    "grace": ["1h", "2h"],
}
TEXTS: list[object] = ["a", "b", "ab", "yes", "1"]

Files = dict[str, str]


def manifest(field: str, value: str) -> str:
    return edited(BOTH, (FIELDS[field][1][0], FIELDS[field][1][1].replace("@", value)))


def chart(field: str, value: object) -> Files:
    return {
        "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "values.yaml": f"value: {json.dumps(value)}\n",
        "templates/pool.yaml": manifest(field, "{{ .Values.value | toJson }}"),
    }


def chart_of_maps(field: str, value: object) -> Files:
    """The whole of a map of the values is printed."""
    steps = FIELDS[field][0].split("/")[2:]
    files = chart(field, value)
    if any(step.isdigit() for step in steps) or len(steps) < 2:
        return files
    holder = f"{{{{ toJson .Values.{steps[-2]} }}}}"
    given = {"kubelet": "kubelet: {maxPods: @}", "tags": "tags: {team: @, cost: web}", "labels": "labels: {team: @}"}
    if steps[-2] not in given:
        return files
    whole = edited(manifest(field, "@"), (given[steps[-2]], f"{steps[-2]}: {holder}"))
    inner = given[steps[-2]].replace("@", json.dumps(value))
    return files | {"values.yaml": f"{inner}\n", "templates/pool.yaml": whole}


def chart_with_other_values(field: str, value: object) -> Files:
    return chart(field, VALUES.get(field, TEXTS)[0]) | {"values-prod.yaml": f"value: {json.dumps(value)}\n"}


def overlay(field: str, value: object) -> Files:
    kind = "NodePool" if field in ("label", "taint", "grace") else "EC2NodeClass"
    patch = [{"op": "replace", "path": FIELDS[field][0], "value": value}]
    return {
        "base/kustomization.yaml": "resources: [all.yaml]\n",
        "base/all.yaml": manifest(field, json.dumps(VALUES.get(field, TEXTS)[0])),
        "prod/kustomization.yaml": "resources: [../base]\n"
        f"patches: [{{target: {{kind: {kind}}}, path: patch.json}}]\n",
        "prod/patch.json": json.dumps(patch),
    }


def base_of_two(field: str, value: object) -> Files:
    return {
        "base/kustomization.yaml": "resources: [all.yaml]\n",
        "base/all.yaml": manifest(field, json.dumps(value)),
        "dev/kustomization.yaml": "resources: [../base]\n",
        "prod/kustomization.yaml": "resources: [../base]\n",
    }


def component(field: str, value: object) -> Files:
    files = overlay(field, value)
    part = files.pop("prod/kustomization.yaml").replace("resources: [../base]\n", "kind: Component\n")
    return files | {
        "part/kustomization.yaml": f"apiVersion: kustomize.config.k8s.io/v1alpha1\n{part}",
        "part/patch.json": files.pop("prod/patch.json"),
        "prod/kustomization.yaml": "resources: [../base]\ncomponents: [../part]\n",
    }


HEREDOC = 'resource "kubectl_manifest" "all" {{\n  yaml_body = <<-YAML\n{}  YAML\n}}\n'


def heredoc(text: str) -> str:
    return "".join(
        HEREDOC.format("".join(f"    {line}\n" for line in part.strip().splitlines())).replace(
            '"all"', f'"all{number}"'
        )
        for number, part in enumerate(text.split("---\n"))
    )


def terraform_variable(field: str, value: object) -> Files:
    text = manifest(field, "${jsonencode(var.value)}")
    return {"main.tf": f'variable "value" {{\n  default = {json.dumps(value)}\n}}\n{heredoc(text)}'}


def terraform_local(field: str, value: object) -> Files:
    text = manifest(field, "${jsonencode(local.value)}")
    return {"main.tf": f"locals {{\n  value = {json.dumps(value)}\n}}\n{heredoc(text)}"}


def terraform_tfvars(field: str, value: object) -> Files:
    text = manifest(field, "${jsonencode(var.value)}")
    return {
        "main.tf": f'variable "value" {{}}\n{heredoc(text)}',
        "terraform.tfvars": f"value = {json.dumps(value)}\n",
    }


def terraform_template(field: str, value: object) -> Files:
    text = manifest(field, "${jsonencode(value)}").split("---\n")
    call = (
        'resource "kubectl_manifest" "{0}" {{\n'
        '  yaml_body = templatefile("${{path.module}}/{0}.tftpl", {{ value = {1} }})\n}}\n'
    )
    return {
        "main.tf": "".join(call.format(name, json.dumps(value)) for name in ("pool", "class")),
        "pool.tftpl": text[0],
        "class.tftpl": text[1],
    }


FORMS = (
    *(chart, chart_of_maps, chart_with_other_values, overlay, base_of_two, component),
    *(terraform_variable, terraform_local, terraform_tfvars, terraform_template),
)


def planned_files(folder: Path, old: Files, new: Files) -> Plan:
    sides = []
    for name, files in (("old", old), ("new", new)):
        for path, text in files.items():
            put(folder / name / path, text)
        found, side = discover([str(folder / name)]), str(folder / name)
        sides.append(read_side(found, Session(Settings()), side, [side], whole=True))
    both = (Side(applied(mine, other), mine.beside, mine.root) for mine, other in (sides, sides[::-1]))
    return make(*both, PlanOptions(Version.parse("1.14.1"), None, Schemas.bundled()))


@pytest.mark.parametrize("form", FORMS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12, deadline=None)
@given(data=st.data())
def test_what_differs_in_a_hashed_field_is_never_none(
    form: Callable[[str, object], Files], tmp_path: Path, data: st.DataObject
) -> None:
    field = data.draw(st.sampled_from(sorted(FIELDS)))
    values = st.sampled_from(VALUES.get(field, TEXTS))
    old, new = data.draw(values), data.draw(values)
    plan = planned_files(tmp_path, form(field, old), form(field, new))
    verdicts = {pool.replaced for pool in plan.pools}
    assert verdicts, "the pool was not found"
    if old == new:
        assert verdicts == {"none"}
        assert not plan.uncompared
    elif form is chart_with_other_values:
        assert sorted(pool.replaced for pool in plan.pools) == ["all", "none"]
    else:
        assert verdicts == {"all"}, [pool.verdict for pool in plan.pools]


# -- which object is which


OVERLAYS = {
    "base/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "base/pool.yaml": POOL,
    "base/class.yaml": CLASS,
    **{f"{name}/kustomization.yaml": "resources: [../base]\n" for name in ("dev", "prod", "stage")},
}


@pytest.mark.parametrize("lost", ["dev", "prod", "stage"])
def test_a_revision_names_the_overlay_that_loses_its_pool(nodelint: Run, tmp_path: Path, lost: str) -> None:
    """The files of a revision stand in a folder of their own; its overlays are the same for all that."""
    folder = tmp_path / "r"
    for path, text in OVERLAYS.items():
        put(folder / path, text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    put(folder / lost / "kustomization.yaml", "resources: []\n")
    done = nodelint("plan", "r", "--against", "HEAD", "--format", "json")
    report = json.loads(done.stdout)
    found = {pool["with"]: pool["change"] for pool in report["nodePools"]}
    assert {name.rpartition("/")[2]: change for name, change in found.items()} == {
        name: "removed" if name == lost else "unchanged" for name in ("dev", "prod", "stage")
    }


CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: prod, region: eu-west-1, version: '1.29'}
"""
CONTROLLER = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.0.8}}
"""
OLD_POOL = edited(
    POOL.replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n").replace("group: karpenter.k8s.aws, ", ""),
    ("    consolidateAfter: 1m\n", "    consolidationPolicy: WhenUnderutilized\n"),
)
OLD_CLASS = edited(
    CLASS.replace("aws/v1\n", "aws/v1beta1\n"), ("amiSelectorTerms: [{alias: al2023@v20250403}]", "amiFamily: AL2023")
)


def test_old_apis_move_with_the_version_of_kubernetes(nodelint: Run, tmp_path: Path) -> None:
    files = {"c.yaml": CLUSTER, "k.yaml": CONTROLLER, "a.yaml": f"{OLD_POOL}---\n{OLD_CLASS}"}
    for path, text in files.items():
        put(tmp_path / "old" / path, text)
        put(tmp_path / "new" / path, text.replace("1.29", "1.30"))
    done = nodelint("plan", "--old", "old", "new")
    assert "Kubernetes 1.29 -> 1.30" in done.stdout
    assert "AMIDrift  new/a.yaml:" in done.stdout, done.stdout
    assert done.returncode == 1


FAMILY = (("  role: nodes", "  role: nodes\n  amiFamily: AL2023"),)


def test_an_alias_that_comes_with_the_version_is_one_cause(nodelint: Run, tmp_path: Path) -> None:
    for name, version, term in (("old", "1.29", "id: ami-1"), ("new", "1.30", "alias: al2023@latest")):
        put(tmp_path / name / "c.yaml", CLUSTER.replace("1.29", version))
        put(tmp_path / name / "a.yaml", edited(BOTH, ("alias: al2023@v20250403", term), *FAMILY))
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    (pool,) = json.loads(done.stdout)["nodePools"]
    assert [reason["reason"] for reason in pool["reasons"]] == ["AMIDrift"]


# -- what may be absent


@pytest.mark.parametrize("field", ["instanceProfile", "userData", "detailedMonitoring"])
def test_a_field_that_a_condition_prints_may_have_been_absent(field: str, tmp_path: Path) -> None:
    """The default values print nothing; those of a user may."""
    files = chart("role", "nodes") | {"values.yaml": f"value: nodes\n{field}: ''\n"}
    code = f"  {{{{- if .Values.{field} }}}}\n  {field}: {{{{ .Values.{field} }}}}\n  {{{{- end }}}}\n"
    with_it = files | {"templates/pool.yaml": files["templates/pool.yaml"] + code}
    (pool,) = planned_files(tmp_path, with_it, files).pools
    assert pool.replaced == "unknown"


TERMS = {"amiSelectorTerms": "ami-1", "subnetSelectorTerms": "subnet-1", "securityGroupSelectorTerms": "sg-1"}


@pytest.mark.parametrize("field", TERMS)
@pytest.mark.parametrize("new", ["${terms.b}", "[{id: @}]", "[{id: @}, '${term}']"])
def test_terms_that_are_filled_in_later_are_not_compared(field: str, new: str, tmp_path: Path) -> None:
    line = next(line for line in CLASS.splitlines() if field in line)
    old = edited(BOTH, (line, f"  {field}: ${{terms.a}}"), *FAMILY)
    after = edited(BOTH, (line, f"  {field}: {new.replace('@', TERMS[field])}"), *FAMILY)
    (pool,) = planned_files(tmp_path, {"a.yaml": old}, {"a.yaml": after}).pools
    assert pool.replaced == "unknown", pool.verdict
    (pool,) = planned_files(tmp_path / "same", {"a.yaml": old}, {"a.yaml": old}).pools
    assert pool.replaced == "none"


# -- what a clone has


def lose(folder: Path, revision: str, path: str) -> None:
    """Make of a repository one that lacks the content of a file at a revision."""
    blob = git(folder, "rev-parse", f"{revision}:{path}").strip()
    os.unlink(folder / ".git" / "objects" / blob[:2] / blob[2:])


@pytest.mark.parametrize("name", ["logo.png", "results.log", "notes.txt", "README.md"])
def test_a_clone_may_lack_what_is_no_manifest(nodelint: Run, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "r"
    put(folder / "a.yaml", BOTH)
    put(folder / name, "old")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    put(folder / "a.yaml", edited(BOTH, ("cost: web", "cost: app")))
    lose(folder, "HEAD", name)
    done = nodelint("plan", "r", "--against", "HEAD")
    assert (done.returncode, "NodeClassDrift" in done.stdout) == (1, True), done.stderr
    lose(folder, "HEAD", "a.yaml")
    done = nodelint("plan", "r", "--against", "HEAD")
    assert (done.returncode, done.stdout) == (2, "")
    assert "this clone does not have a.yaml as it was" in done.stderr


def test_a_partial_clone_is_compared_without_its_remote(nodelint: Run, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    for cost in ("web", "app"):
        put(whole / "a.yaml", edited(BOTH, ("cost: web", "cost: web")))
        put(whole / "logo.png", cost)
        if cost == "web":
            git(whole, "init", "-q", "-b", "main")
            git(whole, "config", "uploadpack.allowFilter", "true")
        git(whole, "add", ".")
        git(whole, "commit", "-qm", cost)
    subprocess.run(
        ["git", "clone", "-q", "--filter=blob:none", f"file://{whole}", str(part)], check=True, capture_output=True
    )
    put(part / "a.yaml", edited(BOTH, ("cost: web", "cost: app")))
    done = nodelint("plan", "part", "--against", "HEAD^")
    assert (done.returncode, "NodeClassDrift" in done.stdout) == (1, True), done.stderr


# -- what is said


def test_values_that_no_default_fills_are_told_apart_by_their_code(tmp_path: Path) -> None:
    """Both come to nothing with the chart's own values, and to something with a user's."""
    line = "values: [c, m]}"
    old = chart("role", "nodes") | {"values.yaml": "value: nodes\none: ''\nother: ''\n"}
    old["templates/pool.yaml"] = edited(old["templates/pool.yaml"], (line, "values: {{ toJson .Values.one }}}"))
    new = old | {"templates/pool.yaml": old["templates/pool.yaml"].replace(".Values.one", ".Values.other")}
    assert {pool.replaced for pool in planned_files(tmp_path, old, new).pools} == {"unknown"}
    assert {pool.replaced for pool in planned_files(tmp_path / "same", old, old).pools} == {"none"}


def test_what_the_cluster_cannot_hold_is_said(nodelint: Run, tmp_path: Path) -> None:
    old = edited(BOTH, ("group: karpenter.k8s.aws, ", ""))
    put(tmp_path / "old" / "a.yaml", old)
    put(tmp_path / "new" / "a.yaml", BOTH)
    done = nodelint("plan", "--old", "old", "new")
    assert "the API server refuses NodePool web as it was" in " ".join(done.stdout.split())
    (pool,) = json.loads(nodelint("plan", "--old", "old", "new", "--format", "json").stdout)["nodePools"]
    assert "group" in pool["neverStored"]


def test_words_that_both_values_begin_with_are_said_once() -> None:
    zones = "topology.kubernetes.io/zone In eu-west-1a eu-west-1b"
    assert str(ValueChange(zones, zones + " eu-west-1c")) == (
        "topology.kubernetes.io/zone In: eu-west-1a eu-west-1b -> eu-west-1a eu-west-1b eu-west-1c"
    )
    assert str(ValueChange("alias: a", "alias: b")) == "alias: a -> alias: b"
    assert str(ValueChange(None, "a b")) == "unset -> a b"


def test_a_pool_that_comes_to_an_api_that_is_served_is_not_new(tmp_path: Path) -> None:
    """The old one could not be converted: what its template code decides is not known."""
    code = "  {{- if .Values.nothing.there }}\n  weight: 1\n  {{- end }}\n"
    files = chart("role", "nodes")
    old = files | {"templates/pool.yaml": f"{OLD_POOL}{code}---\n{CLASS}"}
    new = files | {"templates/pool.yaml": BOTH}
    plan = planned_files(tmp_path, old, new)
    assert not any(pool.change == "added" for pool in plan.pools), plan.pools
    assert plan.endangers_nodes


# -- what no build of these files tells


ELSEWHERE = """\
nodePools:
  app:
    nodeClassName: app
    labels: {team: @}
    requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
"""


def test_values_that_no_chart_here_takes_are_not_compared(nodelint: Run, tmp_path: Path) -> None:
    for side, team in (("old", "a"), ("new", "b")):
        put(tmp_path / side / "a.yaml", BOTH)
        put(tmp_path / side / "tenants" / "values.yaml", ELSEWHERE.replace("@", team))
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    places = json.loads(done.stdout)["notCompared"]
    assert [(place["what"], place["changed"]) for place in places] == [("values.yaml", True)]
    assert done.returncode == 1


@pytest.mark.parametrize("side", ["old", "new"])
def test_values_of_one_side_alone_are_not_compared(nodelint: Run, tmp_path: Path, side: str) -> None:
    for folder in ("old", "new"):
        put(tmp_path / folder / "a.yaml", BOTH)
    put(tmp_path / side / "tenants" / "values.yaml", ELSEWHERE.replace("@", "a"))
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    assert [place["what"] for place in json.loads(done.stdout)["notCompared"]] == ["values.yaml"]


def test_values_that_move_are_no_change(nodelint: Run, tmp_path: Path) -> None:
    put(tmp_path / "old" / "values.yaml", ELSEWHERE.replace("@", "a"))
    put(tmp_path / "new" / "tenants" / "values.yaml", f"# why\n{ELSEWHERE.replace('@', 'a')}")
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["notCompared"]) == (0, [])


def test_a_role_that_is_filled_in_later_may_be_the_role_that_is_written(nodelint: Run, tmp_path: Path) -> None:
    """Before 1.7.0 the API server refuses another role, and nobody knows whether it is another."""
    put(tmp_path / "old" / "a.yaml", edited(BOTH, ("role: nodes", "role: ${ROLE}")))
    put(tmp_path / "new" / "a.yaml", BOTH)
    done = nodelint("plan", "--old", "old", "new", "--karpenter-version", "1.6.0", "--format", "json")
    (pool,) = json.loads(done.stdout)["nodePools"]
    assert (pool["refused"], pool["replaced"]) == ([], "unknown")


def test_a_pinned_alias_moves_whatever_else_of_the_class_is_unknown(nodelint: Run, tmp_path: Path) -> None:
    unknown = ("tags: {team: web, cost: web}", "tags: {'${KEY}': web}")
    for side, version in (("old", "v20250403"), ("new", "v20250501")):
        put(tmp_path / side / "a.yaml", edited(BOTH, ("v20250403", version), unknown))
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    (pool,) = json.loads(done.stdout)["nodePools"]
    assert pool["replaced"] == "all", pool
    assert [reason["reason"] for reason in pool["reasons"]] == ["AMIDrift"]


def test_a_pinned_alias_that_stays_is_no_reason(nodelint: Run, tmp_path: Path) -> None:
    for side, key in (("old", "'${KEY}'"), ("new", "'${OTHER}'")):
        text = edited(BOTH, ("tags: {team: web, cost: web}", f"tags: {{{key}: web}}"))
        put(tmp_path / side / "a.yaml", text)
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    (pool,) = json.loads(done.stdout)["nodePools"]
    assert "AMIDrift" not in [reason["reason"] for reason in pool["reasons"]], pool


@pytest.mark.parametrize("old", ["0.37.7", "1.0.6"])
def test_a_release_moves_below_objects_of_the_old_api(nodelint: Run, tmp_path: Path, old: str) -> None:
    release = 'resource "helm_release" "karpenter" {\n  chart   = "karpenter"\n  version = "@"\n}\n'
    for side, version in (("old", old), ("new", "1.5.0")):
        put(tmp_path / side / "main.tf", release.replace("@", version) + heredoc(f"{OLD_POOL}---\n{OLD_CLASS}"))
    done = nodelint("plan", "--old", "old", "new", "--format", "json")
    (move,) = json.loads(done.stdout)["releases"]
    assert (move["about"], move["from"], move["to"], move["line"]) == ("Karpenter", old, "1.5.0", 3)
