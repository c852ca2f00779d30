"""What a plan answers where it is easy to say "none" too early: placeholders, classes alone, what acts at once."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from nodelint.apiserver import Schemas
from nodelint.cli import cli
from nodelint.drift.stored_form import Placeholder
from nodelint.drift.unknown_text import texts_differ
from nodelint.inventory import Inventory
from nodelint.model.releases import KubernetesVersion, Version
from nodelint.plan import PlanOptions, PoolPlan, Side, make
from nodelint.report.plan_words import tone_of
from nodelint.text import Source
from tests.plan.test_plan import BOTH, CLASS, POOL, edited, planned
from tests.repositories import write_files

ROLE = ("role: nodes", "role: {}")


def plan_pool(old: str, new: str, release: str = "1.14.1") -> PoolPlan:
    (pool,) = planned(old, new, release)
    return pool


def with_role(role: str) -> str:
    return edited(BOTH, ("role: nodes", f'role: "{role}"'))


# -- placeholders


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        ("Karpenter-${c}", "KarpenterNodeRole-${c}", "all"),
        ("${c}", "${c}", "none"),
        ("${c}", "${d}", "unknown"),
        ("nodes", "${c}", "unknown"),
        ("nodes", "prod-${c}", "all"),
        ("a-${c}-b", "a-${c}-c", "all"),
        ("${c}-a", "a-${c}", "unknown"),  # equal where c is "a-a", for example
        ("a-${c}", "b-${d}", "all"),
        ("${a}-x", "${b}-y", "all"),
        ("{{ .Values.role }}", "{{ .Values.role }}-b", "all"),
        ("{{ if .x }}a{{ end }}b", "{{ if .x }}c{{ end }}b", "unknown"),
        ("nodes", "nodes", "none"),
        ("ab", "abc-${c}", "all"),  # too short
    ],
)
def test_texts_around_placeholders_count(old: str, new: str, replaced: str) -> None:
    assert plan_pool(with_role(old), with_role(new)).replaced == replaced


FILLED = ("", "a", "b", "ab", "ba")
PARTS = st.lists(st.sampled_from(["${x}", "${y}", "a", "b", "ab"]), max_size=4).map("".join)


def fill(text: str, x: str, y: str) -> str:
    return text.replace("${x}", x).replace("${y}", y)


@given(PARTS, PARTS)
def test_texts_that_differ_for_certain_are_equal_for_no_value(old: str, new: str) -> None:
    def value(text: str) -> str | Placeholder:
        return Placeholder(text) if "$" in text else text

    if texts_differ(value(old), value(new)):
        assert not any(fill(old, x, y) == fill(new, x, y) for x, y in itertools.product(FILLED, FILLED))
    elif "$" not in old + new:
        assert old == new


HASHED = {
    "role": ("role: nodes", "role: {}"),
    "a tag": ("team: web, cost: web", "team: {}, cost: web"),
    "user data": ("  role: nodes", "  role: nodes\n  userData: {}"),
    "a label": ("labels: {team: web}", "labels: {{team: {}}}"),
    "a taint": ("{key: web, effect", "{{key: web, value: {}, effect"),
    "a volume": (
        "  role: nodes",
        "  role: nodes\n  blockDeviceMappings: [{{deviceName: {}, ebs: {{volumeSize: 20Gi}}}}]",
    ),
}
SCALARS = st.lists(st.sampled_from(["${x}", "${y}", "{{ .v }}", "a", "b", "-"]), min_size=1, max_size=3).map("".join)


@given(st.sampled_from(sorted(HASHED)), SCALARS, SCALARS)
@example("a taint", "${x}", "${y}")
def test_what_differs_in_a_hashed_field_is_never_none(field: str, old: str, new: str) -> None:
    before, after = HASHED[field]

    def text(value: str) -> str:
        return edited(BOTH, (before, after.format(f'"{value}"')))

    pool = plan_pool(text(old), text(new))
    if not pool.refused:  # a value that is no label is refused: the old one stays
        assert (pool.replaced == "none") is (old == new), pool.verdict


def test_one_certain_difference_is_enough_beside_an_unknown_one() -> None:
    old = edited(BOTH, ("team: web, cost: web", '"a": "${x}", cost: web'))
    new = edited(BOTH, ("team: web, cost: web", '"a": "${y}", cost: app'))
    pool = plan_pool(old, new)
    assert (pool.replaced, [reason.field for reason in pool.verdict.reasons]) == ("all", ["spec.tags.cost"])


def test_the_order_of_a_list_with_placeholders_does_not_count() -> None:
    lines = '        - {key: web, effect: NoSchedule}\n        - {key: "${x}", effect: NoExecute}\n'
    old = edited(
        BOTH,
        (
            "        - {key: web, effect: NoSchedule}\n        - {key: fast, effect: PreferNoSchedule}\n",
            lines,
        ),
    )
    new = edited(old, (lines, "".join(reversed(lines.splitlines(keepends=True)))))
    assert plan_pool(old, new).replaced == "none"
    assert plan_pool(old, edited(new, ("NoExecute", "PreferNoSchedule"))).replaced == "all"
    assert plan_pool(old, edited(new, ('"${x}"', '"${y}"'))).replaced == "unknown"


# -- all causes


def test_every_cause_is_there_and_says_whether_it_is_recorded() -> None:
    pool = plan_pool(BOTH, edited(BOTH, ("cost: web", "cost: app"), ("v20250403", "v20250501")))
    assert [(reason.reason, str(reason.change), reason.recorded) for reason in pool.verdict.reasons] == [
        ("NodeClassDrift", "web -> app", True),
        ("AMIDrift", "alias: al2023@v20250403 -> alias: al2023@v20250501", False),
    ]


def test_two_places_of_the_recorded_reason_are_both_recorded() -> None:
    pool = plan_pool(BOTH, edited(BOTH, ("team: web, cost: web", "team: app, cost: app")))
    assert [(reason.field, reason.recorded) for reason in pool.verdict.reasons] == [
        ("spec.tags.team", True),
        ("spec.tags.cost", True),
    ]


def test_nodes_from_before_their_image_ended_drift() -> None:
    """On Kubernetes 1.33 al2 has no image; nodes that were launched before it run all the same."""
    old = edited(BOTH, ("al2023@v20250403", "al2@latest"))
    assert plan_pool(old, edited(old, ("al2@latest", "al2023@latest"))).replaced == "all"


def test_a_class_without_an_image_replaces_nodes_by_its_hash_alone() -> None:
    """On Kubernetes 1.33 al2 has no image: the class is not ready, and Karpenter compares its hash, but no image."""
    old = edited(BOTH, ("al2023@v20250403", "al2023@latest"))
    new = edited(old, ("al2023@latest", "al2@latest"))
    found = []
    for minor in (32, 33):
        options = PlanOptions(Version(1, 14, 1), KubernetesVersion(1, minor), Schemas.bundled())
        (pool,) = make(*(Side(Inventory([Source.from_text("a.yaml", text)])) for text in (old, new)), options).pools
        found.append((pool.replaced, [reason.reason for reason in pool.verdict.reasons]))
    assert found == [("all", ["NodeClassDrift", "AMIDrift"]), ("all", ["NodeClassDrift"])]


# -- what acts at once


@pytest.mark.parametrize(
    ("edits", "effects"),
    [
        ([("limits: {cpu: 100}", "limits: {cpu: 99}")], {"spec.limits.cpu": "nothing is launched above it"}),
        ([("limits: {cpu: 100}", "limits: {cpu: '100'}")], {}),
        ([("limits: {cpu: 100}", "limits: {cpu: 100000m}")], {"spec.limits.cpu": "replaces no node"}),
        ([("limits: {cpu: 100}", "limits: {cpu: 101}")], {"spec.limits.cpu": "more can be launched"}),
        ([("limits: {cpu: 100}", "limits: {}")], {"spec.limits.cpu": "more can be launched"}),
        ([("{cpu: 100}", "{cpu: 100, memory: 1Gi}")], {"spec.limits.memory": "nothing is launched above it"}),
        ([("weight: 10", "weight: 11")], {"spec.weight": "the pool is tried earlier"}),
        ([("weight: 10", "weight: 9")], {"spec.weight": "the pool is tried later"}),
        ([("nodes: 10%", "nodes: 20%")], {"spec.disruption.budgets": "how many nodes may go"}),
        ([("[{nodes: 10%}]", "[{nodes: '10%'}]")], {}),
        (
            [("consolidateAfter: 1m", "consolidateAfter: 60s")],
            {"spec.disruption.consolidateAfter": "the same duration"},
        ),
        ([("consolidateAfter: 1m", "consolidateAfter: 59s")], {"spec.disruption.consolidateAfter": "sooner"}),
        ([("consolidateAfter: 1m", "consolidateAfter: 2m")], {"spec.disruption.consolidateAfter": "later"}),
        (
            [("consolidateAfter: 1m", "consolidateAfter: Never")],
            {"spec.disruption.consolidateAfter": "consolidation ends"},
        ),
        (
            [("consolidateAfter: 1m", "consolidateAfter: 1m\n    consolidationPolicy: WhenEmpty")],
            {"spec.disruption.consolidationPolicy": "only empty nodes are removed from now on"},
        ),
        ([("[c, m]", "[c, m, r]")], {"spec.template.spec.requirements[0]": "new nodes may differ"}),
    ],
)
def test_what_acts_at_once(edits: list[tuple[str, str]], effects: dict[str, str]) -> None:
    pool = plan_pool(BOTH, edited(BOTH, *edits))
    assert pool.replaced == "none"
    found = {effect.field: effect.what for effect in pool.effects}
    assert found.keys() == effects.keys()
    for field, what in effects.items():
        assert what in found[field]


def test_a_pool_without_a_weight_has_that_of_zero() -> None:
    old, new = edited(BOTH, ("  weight: 10\n", "")), edited(BOTH, ("weight: 10", "weight: 1"))
    for before, after, what in ((old, new, "earlier"), (new, old, "later")):
        assert [effect.what for effect in plan_pool(before, after).effects] == [
            f"the pool is tried {what} for new pods"
        ]


def test_consolidation_that_begins_comes_first_and_is_marked() -> None:
    old = edited(BOTH, ("consolidateAfter: 1m", "consolidateAfter: 1m\n    consolidationPolicy: WhenEmpty"))
    new = edited(BOTH, ("weight: 10", "weight: 11"))
    pool = plan_pool(old, new)
    assert [(effect.field, effect.removes) for effect in pool.effects] == [
        ("spec.disruption.consolidationPolicy", True),
        ("spec.weight", False),
    ]
    assert (pool.replaced, pool.grade, tone_of(pool)) == ("none", "none", "unknown")


@pytest.mark.parametrize(("policy", "moves"), [("WhenEmptyOrUnderutilized", True), ("WhenEmpty", False)])
def test_spot_beside_on_demand_moves_nodes_where_used_nodes_are_consolidated(policy: str, moves: bool) -> None:
    old = edited(
        BOTH,
        ("values: [spot, on-demand]", "values: [on-demand]"),
        ("consolidateAfter: 1m", f"consolidateAfter: 1m\n    consolidationPolicy: {policy}"),
    )
    new = edited(old, ("values: [on-demand]", "values: [on-demand, spot]"))
    (effect,) = plan_pool(old, new).effects
    assert (effect.removes, "spot" in effect.what) == (moves, moves)


@pytest.mark.parametrize(("before", "after", "what"), [(3, 5, "2 nodes are launched"), (3, 2, "1 node is deleted")])
def test_replicas_act_at_once(before: int, after: int, what: str) -> None:
    static = edited(BOTH, ("  weight: 10\n", f"  replicas: {before}\n"), ("limits: {cpu: 100}", "limits: {nodes: 9}"))
    pool = plan_pool(static, edited(static, (f"replicas: {before}", f"replicas: {after}")))
    assert [effect.what for effect in pool.effects if effect.field == "spec.replicas"] == [f"{what} at once"]


# -- from the command line


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NODELINT_NOW", "2026-01-05T09:00:00Z")
    return tmp_path


def run_plan(folders: Path, old: dict[str, str], new: dict[str, str], *options: str) -> tuple[int, str]:
    for side, files in (("old", old), ("new", new)):
        write_files(folders / side, files)
    done = CliRunner().invoke(cli, ["plan", "--old", "old", "new", *options])
    return done.exit_code, done.output


def test_a_class_without_a_pool_in_the_files(folders: Path) -> None:
    code, text = run_plan(folders, {"c.yaml": CLASS}, {"c.yaml": edited(CLASS, ("cost: web", "cost: app"))})
    assert code == 1
    assert "~ EC2NodeClass default" in text
    assert "for pools that do: all their nodes are replaced: NodeClassDrift" in " ".join(text.split())
    assert "spec.tags.cost: web -> app" in text


def test_a_class_that_two_files_are_equally_near_to(folders: Path) -> None:
    other = edited(CLASS, ("cost: web", "cost: app"))
    files = {"pools/p.yaml": POOL, "a/c.yaml": CLASS, "b/c.yaml": CLASS}
    code, text = run_plan(folders, files, files | {"b/c.yaml": other})
    assert code == 1
    assert "several classes are named `default`" in text
    assert "1 NodePool: its nodes may be replaced" in text
    assert run_plan(folders, files, files)[0] == 0


def test_a_class_that_a_placeholder_chooses(folders: Path) -> None:
    pool = edited(POOL, ("name: default}", 'name: "${CLASS}"}'))
    files = {"p.yaml": pool, "c.yaml": CLASS}
    code, text = run_plan(folders, files, files | {"c.yaml": edited(CLASS, ("cost: web", "cost: app"))})
    assert code == 1
    assert "its class is chosen by `${CLASS}`, which is filled in later" in text
    code, text = run_plan(folders, files, files | {"c.yaml": CLASS})
    assert code == 0
    assert "No node is replaced in what was compared. Not compared: 1 place, none of which changed." in text


def test_names_that_are_filled_in_later_are_compared_as_they_are_written(folders: Path) -> None:
    named = edited(POOL, ("name: web", 'name: "${ENV}-web"'))
    changed = edited(named, ("key: fast", "key: slow"))
    code, text = run_plan(folders, {"a.yaml": named + "---\n" + CLASS}, {"a.yaml": changed + "---\n" + CLASS})
    assert (code, "~ NodePool ${ENV}-web" in text, "NodePoolDrifted" in text) == (1, True, True)
    other = edited(named, ("${ENV}-web", "${NAME}-web"))
    code, text = run_plan(folders, {"a.yaml": named + "---\n" + CLASS}, {"a.yaml": other + "---\n" + CLASS})
    assert code == 1
    assert text.count("its name holds a placeholder") == 2
    assert "deleted" not in text


def test_pools_of_another_provider_are_named(folders: Path) -> None:
    auto = edited(POOL, ("group: karpenter.k8s.aws, kind: EC2NodeClass", "group: eks.amazonaws.com, kind: NodeClass"))
    changed = edited(auto, ("key: fast", "key: slow"))
    code, text = run_plan(folders, {"a.yaml": auto}, {"a.yaml": changed})
    assert code == 1
    assert "it is a pool of EKS Auto Mode, whose controller decides what is replaced" in text


def test_old_apis_on_both_sides_are_compared_as_what_they_become(folders: Path) -> None:
    old = POOL.replace("karpenter.sh/v1\n", "karpenter.sh/v1beta1\n").replace("group: karpenter.k8s.aws, ", "")
    old = edited(old, ("    consolidateAfter: 1m\n", "    consolidationPolicy: WhenUnderutilized\n"))
    changed = edited(old, ("key: fast", "key: slow"))
    for options in ((), ("--karpenter-version", "1.0.8")):
        code, text = run_plan(folders, {"a.yaml": old}, {"a.yaml": changed}, *options)
        assert (code, "NodePoolDrifted  new/a.yaml:1" in text) == (1, True), text
        assert run_plan(folders, {"a.yaml": old}, {"a.yaml": old}, *options)[0] == 0


def test_a_retired_object_is_not_compared(folders: Path) -> None:
    text = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {weight: 1}\n"
    code, output = run_plan(folders, {"a.yaml": text}, {"a.yaml": edited(text, ("weight: 1", "weight: 2"))})
    assert (code, "does not serve `karpenter.sh/v1alpha5`" in output) == (1, True), output


HELM_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.6.3}}
"""
CLUSTER = """\
apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: prod, region: eu-west-1, version: '1.32'}
"""


def test_another_version_of_kubernetes_moves_every_alias(folders: Path) -> None:
    pinned = "alias: al2023@v20260101"
    files = {"a.yaml": BOTH.replace("alias: al2023@v20250403", pinned), "karpenter.yaml": HELM_RELEASE}
    files["cluster.yaml"] = CLUSTER
    new = files | {"cluster.yaml": edited(CLUSTER, ("1.32", "1.33"))}
    code, text = run_plan(folders, files, new)
    assert code == 1
    assert "AMIDrift" in text
    assert text.startswith("Kubernetes 1.32 -> 1.33 (new/cluster.yaml:3)")
    by_id = {name: text.replace(pinned, "id: ami-1") for name, text in files.items()}
    code, text = run_plan(folders, by_id, by_id | {"cluster.yaml": new["cluster.yaml"]})
    assert "AMIDrift" not in text


def test_another_release_of_karpenter_is_named(folders: Path) -> None:
    files = {"a.yaml": BOTH, "karpenter.yaml": HELM_RELEASE}
    code, text = run_plan(folders, files, files | {"karpenter.yaml": edited(HELM_RELEASE, ("1.6.3", "1.8.0"))})
    assert code == 0
    assert "Karpenter 1.6.3 -> 1.8.0 (new/karpenter.yaml:5)" in text
    assert "nodelint upgrade --from 1.6.3 --to 1.8.0" in " ".join(text.split())  # a line may break anywhere


def test_budgets_of_zero_hold_what_drifts(folders: Path) -> None:
    contents = edited(BOTH, ("nodes: 10%", "nodes: '0'"))
    code, text = run_plan(folders, {"a.yaml": contents}, {"a.yaml": edited(contents, ("cost: web", "cost: app"))})
    text = " ".join(text.split())  # where a line breaks depends on the folder's length
    assert code == 1
    assert "all nodes drift (NodeClassDrift), but none is replaced: a budget lets none of them go" in text
    assert "1 NodePool: nodes drift, but none is replaced" in text


def test_the_gravest_comes_first_and_one_cause_is_one_block(folders: Path) -> None:
    names = [f"p{number}" for number in range(7)]
    old = "".join(edited(POOL, ("name: web", f"name: {name}")) + "---\n" for name in [*names, "gone"]) + CLASS
    added = edited(POOL, ("name: web", "name: added"), ("[c, m]", "[r]")) + "---\n"
    new = added + "".join(edited(POOL, ("name: web", f"name: {name}")) + "---\n" for name in names)
    code, text = run_plan(folders, {"a.yaml": old}, {"a.yaml": new + edited(CLASS, ("cost: web", "cost: app"))})
    assert code == 1
    titles = [
        line.strip().split("  ")[0]
        for line in text.splitlines()
        if line[:2] in ("+ ", "- ", "~ ", "  ") and "NodePool" in line
    ]
    assert titles[0] == "- NodePool gone"
    assert "7 NodePools" in titles[1]
    assert titles[2] == "+ NodePool added"
    assert text.count("NodeClassDrift  new") == 1
    assert "9 NodePools: 1 deleted with all nodes, all nodes of 7 are replaced, 1 new." in text


def test_nothing_changed_is_marked_for_the_job(folders: Path) -> None:
    _, quiet = run_plan(folders, {"a.yaml": BOTH}, {"a.yaml": BOTH}, "--format", "markdown")
    assert quiet.splitlines()[1] == "<!-- nodelint plan: nothing changed -->"
    _, loud = run_plan(
        folders, {"a.yaml": BOTH}, {"a.yaml": edited(BOTH, ("weight: 10", "weight: 1"))}, "--format", "markdown"
    )
    assert "nothing changed" not in loud


def test_places_of_the_comment_are_links(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODELINT_LINKS", "https://example.com/o/r/blob/abc/")
    new = {"a b.yaml": edited(BOTH, ("cost: web", "cost: app"))}
    _, text = run_plan(folders, {"a b.yaml": BOTH}, new, "--format", "markdown")
    assert "(https://example.com/o/r/blob/abc/new/a%20b.yaml#L" in text


# -- charts and Terraform

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "values.yaml": "image: al2023@v20250403\ncpu: 100\ncluster: ''\n",
    "values-prod.yaml": "cpu: 500\n",
    "templates/pool.yaml": edited(BOTH, ("{cpu: 100}", "{cpu: {{ .Values.cpu }}}"))
    .replace("role: nodes", 'role: "nodes-{{ .Values.cluster }}"')
    .replace("al2023@v20250403", "{{ .Values.image }}"),
}


@pytest.mark.parametrize(
    ("name", "edit", "replaced", "message"),
    [
        ("values.yaml", ("v20250403", "v20250501"), ["all", "all"], "AMIDrift"),
        ("values.yaml", ("cpu: 100", "cpu: 50"), ["none", "none"], "chart/values.yaml:2"),
        ("values-prod.yaml", ("cpu: 500", "cpu: 50"), ["none", "none"], "chart/values-prod.yaml:1"),
        ("values.yaml", ("cluster: ''", "cluster: ''\nunused: 1"), ["none", "none"], "none changed"),
        ("templates/pool.yaml", ('"nodes-{{', '"node-{{'), ["all", "all"], "NodeClassDrift"),
        ("templates/pool.yaml", (".Values.cluster }}", ".Values.name }}"), ["unknown", "unknown"], "filled in later"),
        ("templates/pool.yaml", ("[c, m]", "[c]"), ["some", "some"], "RequirementsDrifted"),
    ],
)
def test_a_chart_is_compared_as_its_values_make_it(
    folders: Path, name: str, edit: tuple[str, str], replaced: list[str], message: str
) -> None:
    old = {f"chart/{path}": text for path, text in CHART.items()}
    new = old | {f"chart/{name}": edited(CHART[name], edit)}
    _, text = run_plan(folders, old, new, "--format", "json")
    pools = json.loads(text)["nodePools"]
    assert [pool["replaced"] for pool in pools] == replaced
    code, text = run_plan(folders, old, new)
    assert message in " ".join(text.split())
    assert code == (1 if replaced[0] != "none" else 0)


TERRAFORM = """\
variable "image" {{
  default = "{image}"
}}
locals {{
  zones = {zones}
}}
resource "kubectl_manifest" "class" {{
  yaml_body = yamlencode({{
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = {{ name = "default" }}
    spec = {{
      role                       = "{role}"
      amiSelectorTerms           = [{{ alias = var.image }}]
      subnetSelectorTerms        = [{{ id = "subnet-1" }}]
      securityGroupSelectorTerms = [{{ id = "sg-1" }}]
    }}
  }})
}}
resource "kubectl_manifest" "pool" {{
  yaml_body = yamlencode({{
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = {{ name = "web" }}
    spec = {{ template = {{ spec = {{
      nodeClassRef = {{ group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }}
      requirements = [{{ key = "topology.kubernetes.io/zone", operator = "In", values = local.zones }}]
    }} }} }}
  }})
}}
"""
GIVEN = {"image": "al2023@v20250403", "zones": '["eu-west-1a", "eu-west-1b"]', "role": "nodes-${var.cluster}"}


@pytest.mark.parametrize(
    ("change", "replaced", "message"),
    [
        ({}, "none", "not changed"),
        ({"image": "al2023@v20250501"}, "all", "AMIDrift"),
        ({"zones": '["eu-west-1a"]'}, "some", "RequirementsDrifted"),
        ({"role": "node-${var.cluster}"}, "all", "NodeClassDrift"),
        ({"role": "nodes-${var.name}"}, "unknown", "filled in later"),
    ],
)
def test_terraform_is_compared_as_its_variables_make_it(
    folders: Path, change: dict[str, str], replaced: str, message: str
) -> None:
    old, new = TERRAFORM.format(**GIVEN), TERRAFORM.format(**(GIVEN | change))
    _, text = run_plan(folders, {"main.tf": old}, {"main.tf": new}, "--format", "json")
    (pool,) = json.loads(text)["nodePools"]
    assert pool["replaced"] == replaced
    shown = run_plan(folders, {"main.tf": old}, {"main.tf": new})[1]
    assert message in " ".join(shown.split())  # the lines break where the path of the folder leaves room


def test_a_document_that_cannot_be_judged_is_not_compared(folders: Path) -> None:
    """An object under a condition that nothing decides: its values are not known on either side."""
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: x}\nspec: {{ .Values.spec | toYaml }}\n"
    other = edited(text, (".Values.spec", ".Values.other"))
    code, output = run_plan(folders, {"a.yaml": text}, {"a.yaml": other})
    assert code == 1, output
    assert "No node is replaced." not in output


# -- overlays

ROLE_PATCH = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: default}}\nspec: {{role: {}}}\n"
OVERLAYS = {
    "base/kustomization.yaml": "resources: [pool.yaml, class.yaml]\n",
    "base/pool.yaml": POOL,
    "base/class.yaml": CLASS,
    **{
        f"{name}/kustomization.yaml": "resources: [../base]\npatches: [{path: role.yaml}]\n"
        for name in ("dev", "prod")
    },
    **{f"{name}/role.yaml": ROLE_PATCH.format(f"nodes-{name}") for name in ("dev", "prod")},
}


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, {"dev": "none", "prod": "none"}),
        ({"prod/role.yaml": ROLE_PATCH.format("other")}, {"dev": "none", "prod": "all"}),
        ({"base/class.yaml": edited(CLASS, ("cost: web", "cost: app"))}, {"dev": "all", "prod": "all"}),
        ({"base/class.yaml": edited(CLASS, ("role: nodes", "role: unused"))}, {"dev": "none", "prod": "none"}),
        ({"base/kustomization.yaml": "resources: [class.yaml]\n"}, {"dev": "removed", "prod": "removed"}),
        (
            {"prod/kustomization.yaml": f"{OVERLAYS['prod/kustomization.yaml']}nameSuffix: -v2\n"},
            {"dev": "none", "prod": "removed"},
        ),
    ],
)
def test_each_overlay_is_compared_as_it_is_built(
    folders: Path, change: dict[str, str], outcome: dict[str, str]
) -> None:
    _, text = run_plan(folders, OVERLAYS, OVERLAYS | change, "--format", "json")
    found = {}
    for pool in json.loads(text)["nodePools"]:
        gone = pool["change"] == "removed"
        found.setdefault(pool["with"].rpartition("/")[2], pool["change"] if gone else pool["replaced"])
    assert found == outcome


def test_a_pool_that_an_overlay_comes_to_list_is_new(folders: Path) -> None:
    unlisted = OVERLAYS | {"base/kustomization.yaml": "resources: [class.yaml]\n"}
    _, text = run_plan(folders, unlisted, OVERLAYS, "--format", "json")
    assert [pool["change"] for pool in json.loads(text)["nodePools"]] == ["added", "added"]


@pytest.mark.parametrize(
    ("code", "replaced"),
    [
        ("        team: TEAM\n        {{- toYaml .Values.labels | nindent 8 }}\n", "all"),
        ("        team: TEAM\n        ${indent(8, yamlencode(var.labels))}\n", "all"),
        ('        {{- if (lookup "v1" "Node" "" "") }}\n        team: TEAM\n        {{- end }}\n', "unknown"),
        ("        team: a\n        {{- toYaml .Values.TEAM | nindent 8 }}\n", "unknown"),
    ],
)
def test_an_entry_beside_code_is_compared(code: str, replaced: str) -> None:
    labels = f"      labels:\n        base: x\n{code}"
    old, new = (edited(BOTH, ("      labels: {team: web}\n", labels.replace("TEAM", team))) for team in ("a", "b"))
    assert plan_pool(old, new).replaced == replaced


@pytest.mark.parametrize("api_version", ["karpenter.sh/v2", "karpenter.k8s.aws/v1"])
def test_what_no_api_server_has_taken_has_no_nodes(
    api_version: str, nodelint: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    write_files(tmp_path / "old", {"a.yaml": BOTH.replace("karpenter.sh/v1\n", f"{api_version}\n")})
    write_files(tmp_path / "new", {"a.yaml": BOTH})
    done = nodelint("plan", "--old", "old", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert f"no release of Karpenter serves `{api_version}`" in " ".join(done.stdout.split())
