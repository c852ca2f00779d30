"""`fit --cost`: nodes, dollars and what is not known, and the pages of `fit` and `explain`, from the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

from nodelint.ec2.catalog import Catalog
from tests.conftest import ROOT
from tests.manifests import nodeclass

Run = Callable[..., CompletedProcess[str]]

POOL = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: {name}}}
spec:
  {more}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [{kinds}]}}
"""
SCALER = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {scaleTargetRef: {kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 12}
"""
KEDA = """---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, maxReplicaCount: 5}
"""


def pool(name: str = "default", kinds: str = "on-demand", more: str = "weight: 1") -> str:
    return POOL.format(name=name, kinds=kinds, more=more)


def workload(name: str = "web", replicas: object = 3, cpu: str = "1", kind: str = "Deployment") -> str:
    field = "parallelism" if kind == "Job" else "replicas"
    group = "batch/v1" if kind == "Job" else "apps/v1"
    return f"""---
apiVersion: {group}
kind: {kind}
metadata: {{name: {name}}}
spec:
  {field}: {replicas}
  template:
    spec: {{containers: [{{name: a, resources: {{requests: {{cpu: {cpu}, memory: 4Gi}}}}}}]}}
"""


def cost_of(nodelint: Run, here: Path, *manifests: str) -> dict[str, Any]:
    (here / "all.yaml").write_text("".join([nodeclass(), *manifests]))
    done = nodelint("fit", ".", "--cost", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "schemas" / "fit.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(found)
    cost: dict[str, Any] = found["cost"]
    return cost


def price(name: str) -> float:
    found = Catalog.bundled().prices.on_demand(name)
    assert found is not None
    return found


def test_nodes_have_the_price_of_the_cheapest_type_and_pods_share_it(nodelint: Run, tmp_path: Path) -> None:
    cost = cost_of(nodelint, tmp_path, pool(), workload(), workload("other", 1, "500m"))
    bill = cost["most"]
    assert bill == cost["least"] and cost["complete"]
    assert [(n["instanceType"], n["nodes"]) for n in bill["byPoolAndType"]] == [("m7i.xlarge", 1)] or bill[
        "nodes"
    ] == 1
    assert bill["pricePerHour"] == pytest.approx(price(bill["byPoolAndType"][0]["instanceType"]))
    assert bill["pricePerMonth"] == pytest.approx(bill["pricePerHour"] * 730, abs=0.01)
    shares = {w["name"]: w["pricePerHour"]["most"] for w in cost["workloads"]}
    assert sum(shares.values()) == pytest.approx(bill["pricePerHour"], abs=1e-5)
    assert shares["web"] > shares["other"] > 0


@pytest.mark.parametrize(
    ("more", "least", "most", "why"),
    [
        (SCALER, 2, 12, "HorizontalPodAutoscaler/web"),
        (KEDA, 0, 5, "ScaledObject/web"),
        ("", 3, 3, None),
        # A second scaler of it: one of them decides, and nobody knows which.
        (
            SCALER
            + SCALER.replace("{name: web}\n", "{name: b}\n").replace("2, maxReplicas: 12", "1, maxReplicas: 4"),
            1,
            12,
            "HorizontalPodAutoscaler/web",
        ),
    ],
)
def test_what_scales_a_workload_gives_bounds(
    nodelint: Run, tmp_path: Path, more: str, least: int, most: int, why: str | None
) -> None:
    cost = cost_of(nodelint, tmp_path, pool(), workload(), more)
    pods = cost["workloads"][0]["pods"]
    assert (pods["least"], pods["most"]) == (least, most)
    assert (why or "") in (pods["why"] or "")
    assert (cost["least"]["pods"], cost["most"]["pods"]) == (least, most)
    assert cost["least"]["pricePerHour"] <= cost["most"]["pricePerHour"]


def test_a_job_may_run_or_not(nodelint: Run, tmp_path: Path) -> None:
    cost = cost_of(nodelint, tmp_path, pool(), workload(kind="Job"))
    assert (cost["least"]["nodes"], cost["most"]["pods"]) == (0, 3)


def test_a_cron_job_runs_the_pods_of_its_job(nodelint: Run, tmp_path: Path) -> None:
    job = "{parallelism: 4, template: {spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}}}"
    manifest = (
        "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web}\n"
        f"spec: {{schedule: '@daily', jobTemplate: {{spec: {job}}}}}\n"
    )
    cost = cost_of(nodelint, tmp_path, pool(), manifest)
    assert (cost["least"]["pods"], cost["most"]["pods"]) == (0, 4)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (workload(replicas="${COUNT}"), "`replicas` is not known"),
        (workload(cpu="${CPU}"), "cpu is not known"),
        (workload(cpu="4000"), "no NodePool certainly accepts the pods"),
        (workload() + SCALER.replace("maxReplicas: 12", "maxReplicas: '{{ max }}'"), "bounds of Horizontal"),
        (workload(replicas=60_000), "more than 50,000"),
    ],
)
def test_what_is_not_known_is_never_counted_as_nothing(
    nodelint: Run, tmp_path: Path, manifest: str, words: str
) -> None:
    cost = cost_of(nodelint, tmp_path, pool(), manifest)
    assert not cost["complete"]
    assert any(words in reason for reason in cost["notCounted"]), cost["notCounted"]
    text = nodelint("fit", ".", "--cost").stdout
    assert "Not counted: " in text and ("at least" in text or "as far as" in text or "pools: not known" in text)


@pytest.mark.parametrize(("selected", "is_packed"), [("web", True), ("other", False)])
def test_only_a_spread_of_the_workloads_own_pods_is_packed(
    nodelint: Run, tmp_path: Path, selected: str, is_packed: bool
) -> None:
    spread = (
        "topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule,"
        f" topologyKey: topology.kubernetes.io/zone, labelSelector: {{matchLabels: {{app: {selected}}}}}}}]"
    )
    manifest = workload().replace("spec: {con", f"metadata: {{labels: {{app: web}}}}\n    spec: {{{spread}, con")
    zone = "{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}"
    pools = pool().replace("        - {key: karpenter.sh/cap", f"        - {zone}\n        - {{key: karpenter.sh/cap")
    cost = cost_of(nodelint, tmp_path, pools, manifest)
    assert cost["most"]["pods"] == 3
    assert any("a spread or affinity over" in reason for reason in cost["notCounted"]) is not is_packed


def test_a_static_pool_keeps_its_nodes_and_spot_is_said_to_be_unknown(nodelint: Run, tmp_path: Path) -> None:
    cost = cost_of(
        nodelint, tmp_path, pool("kept", more="replicas: 2"), pool("cheap", kinds="spot, on-demand"), workload()
    )
    static = [node for node in cost["most"]["byPoolAndType"] if node["static"]]
    assert [(node["nodePool"], node["nodes"]) for node in static] == [("kept", 2)]
    assert any("spot prices are not known" in note and "cheap" in note for note in cost["notes"])


def test_limits_leave_pods_without_a_node(nodelint: Run, tmp_path: Path) -> None:
    cost = cost_of(nodelint, tmp_path, pool(more='limits: {cpu: "2"}'), workload(replicas=5))
    assert cost["workloads"][0]["podsWithoutNode"] == 4
    assert not cost["complete"]


def test_markdown_and_text_have_the_cost_only_if_it_is_asked_for(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("".join([nodeclass(), pool(), workload()]))
    for form, words in (("markdown", "#### Cost"), ("text", "Cost of all pods")):
        assert words in nodelint("fit", ".", "--cost", "--format", form).stdout
        assert words not in nodelint("fit", ".", "--format", form).stdout


def test_the_pages_are_whole_and_escape_what_manifests_say(nodelint: Run, tmp_path: Path) -> None:
    evil = "x<script>alert(1)</script>"
    manifests = [nodeclass(), pool(), pool(f'"{evil}"'), workload(cpu="4000"), workload("web2")]
    (tmp_path / "all.yaml").write_text("".join(manifests))
    assert nodelint("fit", ".", "--cost", "--format", "text", "--format", "html=fit.html").returncode == 1
    assert nodelint("explain", ".", "--format", "html=explain.html").returncode == 0
    for name in ("fit.html", "explain.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
        assert "<script" not in page and "x&lt;script&gt;" in page
        assert not re.search(r"""(?:src|href)=["']?(?!#)\w""", page)
        assert "default-src 'none'" in page and 'class="amd64"' in page and "Allowed types after each line" in page
    fit = (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "no pool" in fit and "all.yaml:" in fit and "<h2>Cost</h2>" in fit and "<h2>Overlap</h2>" in fit


def test_a_plan_says_what_a_change_costs(nodelint: Run, tmp_path: Path) -> None:
    for side, family in (("old", "m7i"), ("new", "m7a")):
        (tmp_path / side).mkdir()
        manifests = "".join([nodeclass(), pool(), workload(replicas=4)])
        (tmp_path / side / "all.yaml").write_text(manifests.replace("m7i", family))
    done = nodelint("plan", "new", "--old", "old", "--format", "json", "--fail-on", "never")
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "schemas" / "plan.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(found)
    cost = found["cost"]
    by_side = [cost[side]["most"]["pricePerHour"] for side in ("before", "after")]
    assert cost["differencePerHour"]["mostPods"] == pytest.approx(by_side[1] - by_side[0], abs=1e-5)
    assert cost["nodePools"][0]["before"]["least"] == pytest.approx(price("m7i.large"))
    comment = nodelint("plan", "new", "--old", "old", "--format", "markdown", "--fail-on", "never").stdout
    assert "| cost |" in comment and "not known: savings plans" in comment
    (tmp_path / "new" / "all.yaml").write_text((tmp_path / "old" / "all.yaml").read_text())
    assert "cost" not in json.loads(nodelint("plan", "new", "--old", "old", "--format", "json").stdout)


@pytest.mark.parametrize("replicas", ["-1", "'2'", "1.5", "true", "x", "[2]"])
def test_what_is_no_number_of_nodes_is_not_reckoned_with(replicas: str, nodelint: Run, tmp_path: Path) -> None:
    cost = cost_of(nodelint, tmp_path, pool(), pool("kept", more=f"replicas: {replicas}"), workload())
    assert not cost["complete"]
    assert [node["nodePool"] for node in cost["least"]["byPoolAndType"] if node["static"]] == []
    assert "the number of nodes of static pool kept" in cost["notCounted"]


def test_nodes_of_a_static_pool_may_have_room_for_all_pods(nodelint: Run, tmp_path: Path) -> None:
    cost = cost_of(nodelint, tmp_path, pool(), pool("kept", more="replicas: 2"), workload())
    static = 2 * price("m7i.large")
    assert cost["least"]["pricePerHour"] == pytest.approx(static)
    assert cost["most"]["pricePerHour"] == pytest.approx(static + price("m7i.xlarge"))
    assert "1 workload with bounds for the number of pods (nodes of a static pool may take its pods)" in cost["notes"]


def test_a_requirement_that_is_not_known_leaves_no_sum_that_is(nodelint: Run, tmp_path: Path) -> None:
    unknown = "        - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['${cpus}']}\n"
    cost = cost_of(nodelint, tmp_path, pool() + unknown, workload())
    assert not cost["complete"]
    assert any("which of the types of default are left" in reason for reason in cost["notCounted"])
    text = nodelint("fit", ".", "--cost").stdout
    assert "empty pools: at least 1 node" in text


def test_the_fee_of_auto_mode_is_in_the_price_of_a_node(nodelint: Run, tmp_path: Path) -> None:
    auto = pool().replace("karpenter.k8s.aws", "eks.amazonaws.com").replace("EC2NodeClass", "NodeClass")
    node_class = """---
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
metadata: {name: default}
spec:
  role: r
  subnetSelectorTerms: [{id: subnet-12345678}]
  securityGroupSelectorTerms: [{id: sg-12345678}]
"""
    (node,) = cost_of(nodelint, tmp_path, node_class, auto, workload())["least"]["byPoolAndType"]
    assert node["pricePerHour"] == pytest.approx(1.12 * price(node["instanceType"]))
