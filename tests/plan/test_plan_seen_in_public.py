"""What a plan said wrongly, or did not know for no reason, of changes that public repositories made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import ALIAS, POOL, class_of
from tests.repositories import write_files

CLASS = class_of()


def plan(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    write_files(folder / "old", old)
    write_files(folder / "new", new)
    found: dict[str, list[dict[str, object]]] = json.loads(
        nodelint("plan", "--old", "old", "new", "--format", "json", cwd=folder).stdout
    )
    return found


def test_a_class_that_cannot_be_read_is_not_gone(nodelint: Run, tmp_path: Path) -> None:
    broken = CLASS.replace("spec:\n", "spec:\n  userData: |\n   a\n  b\n")
    found = plan(nodelint, tmp_path, {"c.yaml": CLASS, "p.yaml": POOL}, {"c.yaml": broken, "p.yaml": POOL})
    assert "gone" not in json.dumps(found["nodePools"])
    assert any(place["changed"] for place in found["notCompared"])


def test_a_placeholder_as_a_key_hides_no_other_field(nodelint: Run, tmp_path: Path) -> None:
    old = CLASS.replace("- tags: {karpenter.sh/discovery: x}", '- tags: {"${key}": x}') + POOL.replace(
        "api", "---\napi", 1
    )
    found = plan(nodelint, tmp_path, {"a.yaml": old}, {"a.yaml": old.replace("role: nodes", "role: others")})
    (pool,) = found["nodePools"]
    assert pool["replaced"] == "all"


@pytest.mark.parametrize(("old", "new", "effects"), [(None, "0s", 0), (None, "5m", 1), ("1m", "0s", 1)])
def test_a_delay_that_is_not_set_is_none(
    nodelint: Run, tmp_path: Path, old: str | None, new: str, effects: int
) -> None:
    def pool(delay: str | None) -> str:
        after = f", consolidateAfter: {delay}" if delay else ""
        return f"{POOL}  disruption: {{consolidationPolicy: WhenEmptyOrUnderutilized{after}}}\n"

    files = [{"c.yaml": CLASS, "p.yaml": pool(delay)} for delay in (old, new)]
    (plan_of_pool,) = plan(nodelint, tmp_path, *files)["nodePools"]
    rows: list[dict[str, str]] = plan_of_pool["effects"]  # type: ignore[assignment]
    assert sum(not row["what"].startswith("replaces no node") for row in rows) == effects


def test_a_comment_in_a_known_module_makes_no_pools(nodelint: Run, tmp_path: Path) -> None:
    module = (
        'module "eks" {\n  source = "terraform-aws-modules/eks/aws"\n  version = "20.0.0"\n'
        '  # NodePools find the group by this tag\n  tags = { karpenter = "a" }\n}\n'
    )
    files = {"c.yaml": CLASS, "p.yaml": POOL, "main.tf": module}
    found = plan(nodelint, tmp_path, files, {**files, "main.tf": module.replace('"a"', '"b"')})
    assert found["notCompared"] == []


def test_an_overlay_that_is_not_built_is_compared_by_its_files(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "kustomization.yaml": "resources: [nodes.yaml, vars.yaml]\nconfigurations: [c.yaml]\n",
        "c.yaml": "varReference:\n  - {kind: EC2NodeClass, path: spec/tags/team}\n",
        "nodes.yaml": f"{CLASS}---\n{POOL}",
        "vars.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\ndata: {team: a}\n",
        "other.yaml": "a: 1\n",
    }
    found = plan(nodelint, tmp_path, files, {**files, "vars.yaml": files["vars.yaml"].replace("team: a", "team: b")})
    assert any("vars.yaml" in str(place["reason"]) for place in found["notCompared"] if place["changed"])
    same = plan(nodelint, tmp_path / "b", files, {**files, "other.yaml": "a: 2\n"})
    assert not any(place["changed"] for place in same["notCompared"])


def test_a_command_of_helm_gives_a_chart_values_that_are_compared(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "chart/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\n",
        "chart/values.yaml": f"alias: {ALIAS}\n",
        "chart/templates/all.yaml": f"{class_of('{{ .Values.alias }}')}---\n{POOL}",
        "deploy.sh": "helm upgrade --install nodes ./chart --set alias=al2023@v20260618\n",
    }
    newer = {**files, "deploy.sh": files["deploy.sh"].replace("v20260618", "v20260714")}
    found = plan(nodelint, tmp_path, files, newer)
    replaced = [pool for pool in found["nodePools"] if pool["replaced"] == "all"]
    assert [(pool["with"], pool["headline"]) for pool in replaced] == [
        ("../deploy.sh", "all nodes are replaced: AMIDrift")
    ]


def of_v1beta1(text: str) -> str:
    return (
        text.replace("/v1\n", "/v1beta1\n")
        .replace("group: karpenter.k8s.aws, kind: EC2NodeClass, ", "")
        .replace(f"  amiSelectorTerms:\n    - alias: {ALIAS}\n", "  amiFamily: AL2023\n")
    )


def test_a_removed_type_that_is_not_listed_may_run(nodelint: Run, tmp_path: Path) -> None:
    def pool(*types: str) -> dict[str, str]:
        line = f"- {{key: node.kubernetes.io/instance-type, operator: In, values: [{', '.join(types)}]}}"
        return {"c.yaml": CLASS, "p.yaml": f"{POOL}        {line}\n"}

    retired = plan(nodelint, tmp_path / "a", pool("m6i.large", "g3s.xlarge"), pool("m6i.large"))
    slip = plan(nodelint, tmp_path / "b", pool("m6i.large", "m6i.lrage"), pool("m6i.large"))
    assert [found["nodePools"][0]["replaced"] for found in (retired, slip)] == ["unknown", "none"]


def test_the_hop_limit_that_no_manifest_writes_stays(nodelint: Run, tmp_path: Path) -> None:
    latest = CLASS.replace(ALIAS, "al2023@latest")
    old = {"c.yaml": of_v1beta1(CLASS), "p.yaml": of_v1beta1(POOL)}
    same = plan(nodelint, tmp_path / "a", old, {"c.yaml": latest, "p.yaml": POOL})
    assert [pool["replaced"] for pool in same["nodePools"]] == ["none"]
    written = latest.replace("  role: nodes\n", "  role: nodes\n  metadataOptions: {httpPutResponseHopLimit: 1}\n")
    changed = plan(nodelint, tmp_path / "b", old, {"c.yaml": written, "p.yaml": POOL})
    assert [pool["replaced"] for pool in changed["nodePools"]] == ["all"]


def test_a_pool_that_v1beta1_refused_has_no_nodes(nodelint: Run, tmp_path: Path) -> None:
    refused = f"{of_v1beta1(POOL)}  disruption: {{consolidationPolicy: WhenUnderutilized, consolidateAfter: 30s}}\n"
    new = POOL.replace("spec:\n      nodeClassRef", "metadata: {labels: {a: b}}\n    spec:\n      nodeClassRef")
    (pool,) = plan(nodelint, tmp_path, {"c.yaml": CLASS, "p.yaml": refused}, {"c.yaml": CLASS, "p.yaml": new})[
        "nodePools"
    ]
    assert pool["replaced"] == "none"


def test_a_pool_takes_over_no_nodes_of_a_provisioner(nodelint: Run, tmp_path: Path) -> None:
    provisioner = (
        "apiVersion: karpenter.sh/v1beta1\nkind: Provisioner\nmetadata: {name: web}\nspec:\n"
        "  providerRef: {name: web}\n"
    )
    files = {"c.yaml": of_v1beta1(CLASS)}
    found = plan(nodelint, tmp_path, {**files, "o.yaml": provisioner}, {**files, "p.yaml": of_v1beta1(POOL)})
    assert [(pool["change"], pool["replaced"]) for pool in found["nodePools"]] == [("added", "none")]
    assert [place["what"] for place in found["notCompared"] if place["changed"]] == ["Provisioner web"]


MODULE = f"""\
module "eks" {{
  source = "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git?ref=v21.0.0"
  name   = var.name
  addons = {{}}
}}
module "karpenter" {{
  source       = "git::https://github.com/terraform-aws-modules/terraform-aws-eks.git//modules/karpenter?ref=v21.0.0"
  cluster_name = module.eks.cluster_name
  enable_spot_termination = false
}}
variable "name" {{ type = string }}
resource "kubectl_manifest" "class" {{
  yaml_body = <<-YAML
{CLASS.replace("role: nodes", "role: ${module.karpenter.node_iam_role_name}")}
  YAML
}}
"""


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("addons = {}", "addons = {coredns = {}}", False),
        ("enable_spot_termination = false", "enable_spot_termination = true", False),
        ("karpenter?ref=v21.0.0", "karpenter?ref=v22.0.0", True),
        ("= var.name", '= "${var.name}-b"', True),
    ],
)
def test_the_name_of_a_role_comes_of_names(nodelint: Run, tmp_path: Path, old: str, new: str, changes: bool) -> None:
    files = {"main.tf": MODULE, "p.yaml": POOL}
    found = plan(nodelint, tmp_path, files, {**files, "main.tf": MODULE.replace(old, new)})
    assert any(place["changed"] for place in found["notCompared"]) is changes


def call_of(name: str, argument: str) -> str:
    return f'module "{name}" {{\n  source = "./nodes"\n  name = {argument}\n}}\n'


CALL = call_of("a", "data.x.a.name")


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (CALL, CALL + call_of("b", "data.x.b.name"), False),
        (CALL + call_of("b", "data.x.b.name"), CALL, True),
        (CALL, "", True),
        (CALL, call_of("a", "data.x.c.name"), True),
        (CALL, call_of("b", "data.x.c.name"), True),
    ],
)
def test_one_more_call_of_a_module_changes_nothing_of_the_others(
    nodelint: Run, tmp_path: Path, old: str, new: str, changes: bool
) -> None:
    files = {"nodes/main.tf": MODULE, "nodes/p.yaml": POOL}
    found = plan(nodelint, tmp_path, {**files, "main.tf": old}, {**files, "main.tf": new})
    assert any(place["changed"] for place in found["notCompared"]) is changes


LOOP = (
    "{{- range $name, $pool := .Values.pools }}\n---\n"
    + CLASS.replace("name: web", "name: {{ $name }}").replace(
        "role: nodes", "role: {{ $pool.role | default $.Values.role }}"
    )
    + "---\n"
    + POOL.replace("name: web", "name: {{ $name }}").replace("[on-demand]", "{{ toJson $pool.kinds }}")
    + "{{- end }}\n"
)
POOLS = "role: ''\npools:\n  a: {kinds: [spot]}\n  b: {kinds: [spot]}\n"


@pytest.mark.parametrize(
    ("values", "changed"),
    [
        (f"{POOLS}  c: {{kinds: [spot]}}\n", set()),
        (POOLS.replace("a: {", "a: {role: x, "), {"a"}),
        (POOLS.replace("b: {kinds: [spot]", "b: {kinds: [spot, on-demand]"), set()),
        (POOLS.replace("role: ''", "role: z"), {"a", "b"}),
    ],
)
def test_an_object_of_a_loop_depends_on_its_own_item(
    nodelint: Run, tmp_path: Path, values: str, changed: set[str]
) -> None:
    files = {"Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 0.1.0\n", "templates/all.yaml": LOOP}
    found = plan(nodelint, tmp_path, {**files, "values.yaml": POOLS}, {**files, "values.yaml": values})
    assert {str(pool["name"]) for pool in found["nodePools"] if pool["replaced"] != "none"} == changed


def test_no_release_moves_where_another_line_counts(nodelint: Run, tmp_path: Path) -> None:
    manifest = (
        'resource "kubectl_manifest" "NAME" {\n  yaml_body = templatefile("${path.module}/PATH/NAME.yaml", {})\n}\n'
    )
    files = {
        "modules/eks/variables.tf": 'variable "cluster_version" {\n  default = "1.31"\n}\n',
        "modules/eks/main.tf": 'resource "aws_eks_cluster" "a" {\n  name = "a"\n  version = var.cluster_version\n}\n',
        "modules/eks/config/class.yaml": CLASS.replace(ALIAS, "al2023@latest"),
        "modules/eks/config/pool.yaml": POOL,
        "main/variables.tf": 'variable "kubernetes_version" {\n  default = "1.34"\n}\n',
    }
    call = 'module "eks" {\n  source = "../modules/eks"\n  cluster_version = var.kubernetes_version\n}\n'

    def main(path: str) -> dict[str, str]:
        made = "".join(manifest.replace("NAME", name).replace("PATH", path) for name in ("class", "pool"))
        return {**files, "main/main.tf": f"{call}{made}"}

    found = plan(nodelint, tmp_path, main("../../modules/eks/config"), main("../modules/eks/config"))
    assert not any("1.34" in str(pool) for pool in found["nodePools"])


def test_a_pool_without_nodes_is_not_unclear(nodelint: Run, tmp_path: Path) -> None:
    refused = POOL.replace("group: karpenter.k8s.aws, ", "")
    files = {"a/c.yaml": CLASS, "b/c.yaml": CLASS, "p.yaml": refused}
    found = plan(nodelint, tmp_path, files, {**files, "b/c.yaml": CLASS.replace("nodes", "x"), "p.yaml": POOL})
    assert [pool["replaced"] for pool in found["nodePools"]] == ["none"]


def test_what_generators_make_is_no_pool(nodelint: Run, tmp_path: Path) -> None:
    generated = (
        "resources: [nodes.yaml]\nconfigMapGenerator: [{name: vars, literals: [ROLE=ROLE]}]\n"
        "replacements:\n  - source: {kind: ConfigMap, name: vars, fieldPath: data.ROLE}\n"
        "    targets: [{select: {kind: EC2NodeClass}, fieldPaths: [spec.role]}]\n"
    )
    plain = {"kustomization.yaml": "resources: [nodes.yaml]\n", "nodes.yaml": f"{CLASS}---\n{POOL}"}

    def changes(folder: str, role: str) -> tuple[list[object], bool]:
        old = {**plain, "kustomization.yaml": generated.replace("=ROLE", f"={role}")}
        found = plan(nodelint, tmp_path / folder, old, plain)
        return [pool["replaced"] for pool in found["nodePools"]], any(p["changed"] for p in found["notCompared"])

    assert changes("a", "nodes") == (["none"], False)
    assert changes("b", "others")[0] == ["all"]
