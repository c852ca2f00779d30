"""What `fit` and `check` say where no pool takes a workload: the resource that lacks, the conditions that clash."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

from nodelint.lint.undemanding_pods import add_amounts, requests_little
from tests.conftest import ROOT
from tests.fit.test_fit import pod
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
RULE = "no-pool-for-workload"
M7I = "key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]"
AMD = "key: kubernetes.io/arch, operator: In, values: [amd64]"
TEAM = "nodeSelector: {team: x}\n"
ASKS = "containers: [{name: a, image: a, resources: {requests: {%s}}}]"


def tree(
    path: Path, workload: str, *lines: str, spec: str = "", labels: str = "{team: x}", of_class: str = "", **more: str
) -> None:
    pool = nodepool(*(lines or (M7I, AMD)), labels=labels, spec=spec)
    files = {".git/HEAD": "", "pool.yaml": f"{pool}---\n{nodeclass(of_class)}", "web.yaml": workload}
    write_files(path, files | {name.replace("_", "/") + ".yaml": text for name, text in more.items()})


def fit_json(nodelint: Run, *args: str) -> dict[str, Any]:
    report = json.loads(nodelint("fit", ".", "--format", "json", *args).stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "fit.schema.json").read_text()))
    found: dict[str, Any] = report["workloads"][-1]
    return found


def findings(nodelint: Run, *args: str) -> list[dict[str, Any]]:
    report = json.loads(nodelint("check", ".", "--format", "json", *args).stdout)
    return [finding for finding in report["findings"] if finding["rule"] == RULE]


def test_the_cheapest_type_is_shown_with_its_size(tmp_path: Path, nodelint: Run) -> None:
    tree(tmp_path, pod(TEAM + ASKS % "cpu: '1'"))
    (pool,) = fit_json(nodelint)["pools"]
    cheapest = {name: str(pool["cheapest"][name]) for name in ("instanceType", "cpu", "memoryMiB")}
    assert cheapest == {"instanceType": "m7i.large", "cpu": "2", "memoryMiB": "8192"}


@pytest.mark.parametrize(
    ("requested", "resource", "offered", "instance_type"),
    [
        ("cpu: '2', memory: 1Gi", "cpu", "1930m", "m7i.large"),
        ("cpu: '1', memory: 9Gi", "memory", "6903Mi", "m7i.large"),
        ("cpu: 1930m, memory: 9Gi", "memory", "6903Mi", "m7i.large"),
        ("cpu: '1', ephemeral-storage: 50Gi", "ephemeral-storage", "17Gi", "m7i.large"),
        ("cpu: '1', nvidia.com/gpu: '1'", "nvidia.com/gpu", "0", None),
        ("cpu: '1', hugepages-2Mi: 1Gi", "hugepages-2Mi", "0", None),
    ],
)
def test_the_one_resource_that_lacks_is_named_with_what_the_largest_type_offers(
    tmp_path: Path, nodelint: Run, requested: str, resource: str, offered: str, instance_type: str | None
) -> None:
    tree(tmp_path, pod(TEAM + ASKS % requested))
    (pool,) = fit_json(nodelint)["pools"]
    (lack,) = pool["lacking"]
    assert (lack["resource"], lack["offered"], lack["instanceType"]) == (resource, offered, instance_type)
    text = nodelint("fit", ".").stdout
    assert resource in text and (offered in text or "no type left has any" in text)
    (finding,) = findings(nodelint)
    assert resource in finding["message"] and "…" not in finding["message"]


def test_what_no_type_has_at_once_is_told_of_the_nearest_type(tmp_path: Path, nodelint: Run) -> None:
    types = "key: node.kubernetes.io/instance-type, operator: In, values: [c7i.4xlarge, r7i.2xlarge]"
    tree(tmp_path, pod(TEAM + ASKS % "cpu: '10', memory: 40Gi"), types)
    (pool,) = fit_json(nodelint)["pools"]
    assert pool["lacking"] == []
    assert pool["explanation"].startswith(
        "no allowed type has all of it at once: r7i.2xlarge comes nearest, with 7910m of 10 cpu"
    )


DAEMON = """apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds%d}
spec:
  selector: {matchLabels: {a: d}}
  template:
    metadata: {labels: {a: d}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: c, resources: {requests: {cpu: 10m}}}]
"""


@pytest.mark.parametrize("requested", [(), ("--select", RULE), ("--profile", "strict")])
@pytest.mark.parametrize(("count", "has_match"), [(8, True), (3, False)])
def test_daemon_sets_count_whatever_rules_are_selected(
    tmp_path: Path, nodelint: Run, requested: tuple[str, ...], count: int, has_match: bool
) -> None:
    small = "key: node.kubernetes.io/instance-type, operator: In, values: [t3a.small]"
    tree(tmp_path, pod(ASKS % "cpu: 100m"), small, daemons="---\n".join(DAEMON % number for number in range(count)))
    found = findings(nodelint, *requested)
    assert bool(found) == has_match == (fit_json(nodelint)["possible"] is False)
    assert all("pods 9 with DaemonSets, t3a.small offers 8" in finding["message"] for finding in found)


def test_daemons_are_taken_off_the_types_on_which_they_run(tmp_path: Path, nodelint: Run) -> None:
    """The type with the most room beside its own daemons is named, not the largest one."""
    types = "key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, m7i.xlarge]"
    daemons = [
        DAEMON.replace(
            "{operator: Exists}]", "{operator: Exists}]\n      nodeSelector: {node.kubernetes.io/instance-type: %s}"
        )
        % (number, name)
        for number, name in enumerate(("m7i.large", "m7i.xlarge"))
    ]
    daemons[1] = daemons[1].replace("cpu: 10m", "cpu: '3'")
    tree(tmp_path, pod(TEAM + ASKS % "cpu: '2'"), types, daemons="---\n".join(daemons))
    (pool,) = fit_json(nodelint)["pools"]
    (lack,) = pool["lacking"]
    assert (lack["instanceType"], lack["offered"]) == ("m7i.large", "1930m")


ROOMY = (
    "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]",
    "key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ['4']",
    AMD,
)
SMALL = "containers: [{name: a, image: a, resources: {requests: {cpu: 100m, memory: 64Mi}}}]"
VALUES = "nodeSelector: {}\naffinity: {}\nresources: {requests: {cpu: 100m}}\n"
TEMPLATE = "{{- with .Values.nodeSelector }}\nnodeSelector: {{ toJson . }}\n{{- end }}\n" + SMALL
DEMANDING = [
    "nodeSelector: {other: label}",
    "nodeSelector:\n  kubernetes.io/arch: arm64",
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]}}}",
    ASKS % "cpu: '900'",
    ASKS % "memory: 90Ti",
    ASKS % "example.com/card: 1",
    ASKS % "ephemeral-storage: 500Gi",
    ASKS % "hugepages-2Mi: 1Gi",
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]",
]


@pytest.mark.parametrize("requested", DEMANDING)
@pytest.mark.parametrize("form", ["manifest", "chart"])
def test_what_fit_calls_impossible_is_found_beside_a_pool_that_takes_most(
    tmp_path: Path, nodelint: Run, requested: str, form: str
) -> None:
    """Files that ask for little are passed over; none of those that ask for more is."""
    if form == "manifest":
        tree(tmp_path, pod(requested), *ROOMY, labels="{}", calm=pod(SMALL, name="calm"))
    else:
        chart = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "values.yaml": VALUES}
        tree(tmp_path, pod(SMALL), *ROOMY, labels="{}")
        write_files(tmp_path / "chart", chart | {"templates/web.yaml": pod(requested, name="web")})
    possible = [fit["possible"] for fit in json.loads(nodelint("fit", ".", "--format", "json").stdout)["workloads"]]
    assert len(findings(nodelint)) == possible.count(False) == 1


def test_files_that_ask_for_little_are_not_read_beside_a_pool_that_takes_them(tmp_path: Path, nodelint: Run) -> None:
    tree(tmp_path, pod(SMALL), *ROOMY, labels="{}", chart_values=VALUES, chart_templates_web=pod(TEMPLATE))
    assert "web.yaml" not in nodelint("check", ".", "--show-files").stdout
    assert not findings(nodelint)


@pytest.mark.parametrize("spec", ["  limits: {cpu: '2'}\n", "  replicas: 2\n", "  limits: {memory: 4Gi}\n"])
def test_a_pool_with_small_limits_or_of_static_nodes_does_not_take_most(
    tmp_path: Path, nodelint: Run, spec: str
) -> None:
    tree(tmp_path, pod(ASKS % "cpu: '3', memory: 7Gi"), *ROOMY, spec=spec, labels="{}")
    assert bool(findings(nodelint)) == (not fit_json(nodelint)["possible"])


@pytest.mark.parametrize(("weight", "first"), [("", "zeta"), ("  weight: 1\n", "alpha")])
def test_a_pool_of_any_weight_comes_before_those_without(
    tmp_path: Path, nodelint: Run, weight: str, first: str
) -> None:
    """`OrderByWeight` of core; of pools that weigh as much the last of the alphabet comes first."""
    pools = (nodepool(M7I, AMD, name=name, spec=spec) for name, spec in (("alpha", weight), ("zeta", "")))
    tree(tmp_path, pod(SMALL))
    write_files(tmp_path, {"pool.yaml": "---\n".join((*pools, nodeclass()))})
    assert fit_json(nodelint)["pools"][0]["name"] == first


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("workload", "workload-class"),
        ("workload-clas", "workload-class"),
        ("node.kubernetes.io/instance-family", "karpenter.k8s.aws/instance-family"),
        ("zone", "topology.kubernetes.io/zone"),
        ("entirely.example.com/other", None),
    ],
)
def test_karpenters_own_hint_for_a_label_that_no_pool_has(
    tmp_path: Path, nodelint: Run, key: str, meant: str | None
) -> None:
    """`labelHint` of pkg/scheduling/requirements.go."""
    tree(tmp_path, pod(f"nodeSelector: {{{key}: general}}"), labels="{workload-class: general}")
    (pool,) = fit_json(nodelint)["pools"]
    hint = f' (typo of "{meant}"?)' if meant else ""
    assert pool["message"] == f'incompatible requirements, label "{key}" does not have known values{hint}'
    (finding,) = findings(nodelint)
    assert key in finding["message"] and (meant is None or meant in str(finding))


ZONES = "key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a, eu-west-1b]"
VOLUME = """apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {volumeName: disk}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1a]}]
"""
CLAIMS = (
    "nodeSelector: {topology.kubernetes.io/zone: %s}\nvolumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"
)
TWICE = """nodeSelector: {topology.kubernetes.io/zone: eu-west-1a}
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms:
  [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [eu-west-1b]}]}]}}}"""


@pytest.mark.parametrize(
    ("requested", "brief"),
    [
        (CLAIMS % "eu-west-1b", "it asks for zone eu-west-1b, its volume is in eu-west-1a"),
        (CLAIMS % "eu-west-1a", None),
        (TWICE, "it asks for zone eu-west-1a and zone eu-west-1b at once"),
        ("nodeSelector: {kubernetes.io/arch: arm64}", "the pods ask for arch arm64, the pool has [amd64]"),
        ("nodeSelector: {karpenter.k8s.aws/instance-gpu-count: '1'}", "none of its types has instance-gpu-count 1"),
    ],
)
def test_the_two_conditions_that_clash_are_named_with_their_lines(
    tmp_path: Path, nodelint: Run, requested: str, brief: str | None
) -> None:
    tree(tmp_path, pod(requested), M7I, AMD, ZONES, volume=VOLUME)
    assert [finding["message"].partition("`: ")[2] for finding in findings(nodelint)] == ([brief] if brief else [])
    if brief is not None:
        (pool,) = fit_json(nodelint)["pools"]
        text = nodelint("fit", ".").stdout
        assert pool["explanation"] and "web.yaml:" in text
        assert ("volume.yaml:" in text) == ("volume" in brief) and len(brief) < 80


@pytest.mark.parametrize(
    ("requested", "lines", "way_out"),
    [
        (ASKS % "cpu: '2'", (M7I, AMD), "add a type that holds it, such as `m7i.xlarge`, to `node.kubernetes.io/"),
        (ASKS % "ephemeral-storage: 50Gi", (M7I,), "map a volume of 57Gi or more in `blockDeviceMappings`"),
        (
            "nodeSelector: {kubernetes.io/arch: arm64}",
            (AMD,),
            "add `arm64` to `kubernetes.io/arch` of pool `default`",
        ),
        ("nodeSelector: {topology.kubernetes.io/zone: eu-west-1c}", (M7I, ZONES), "add `eu-west-1c` to `topology."),
        ("nodeSelector: {tier: front}", (M7I,), "add `tier: front` to the labels of the template of pool `default`"),
    ],
)
def test_the_smallest_change_is_offered(
    tmp_path: Path, nodelint: Run, requested: str, lines: tuple[str, ...], way_out: str
) -> None:
    tree(tmp_path, pod(requested), *lines)
    messages = [way["message"] for way in fit_json(nodelint)["suggestions"]]
    assert any(message.startswith(way_out) for message in messages), messages


def test_a_pool_that_launches_nothing_says_which_requirements_exclude_each_other(
    tmp_path: Path, nodelint: Run
) -> None:
    arm = AMD.replace("amd64", "arm64")
    tree(tmp_path, pod(ASKS % "cpu: '1'"), "key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]", arm)
    text = " ".join(nodelint("fit", ".").stdout.split())
    assert "launches nothing for any pod: no type meets both `karpenter.k8s.aws/instance-family In [m5]` and" in text
    assert "help: add `m6g` to `karpenter.k8s.aws/instance-family` of pool `default`" in text


def test_disks_of_the_types_are_offered_where_they_are_large_enough(tmp_path: Path, nodelint: Run) -> None:
    disks = "key: node.kubernetes.io/instance-type, operator: In, values: [i3en.large, i3en.2xlarge, m5.large]"
    tree(tmp_path, pod(ASKS % "cpu: '4', ephemeral-storage: 1Ti"), disks)
    first, second = (way["message"] for way in fit_json(nodelint)["suggestions"])
    assert "RAID0" in first and "i3en.2xlarge" in first and "1139Gi" in second
    tree(tmp_path, pod(ASKS % "cpu: '4', ephemeral-storage: 1Ti"), disks, of_class="instanceStorePolicy: RAID0")
    assert fit_json(nodelint)["possible"]


@pytest.mark.parametrize(
    ("types", "verdict"),
    [
        ("m4.large, r4.large", "no"),
        ("m5d.4xlarge", "yes"),
        ("d2.xlarge", "not known"),
        ("d2.xlarge, m5d.4xlarge", "yes"),
    ],
)
def test_a_storage_that_is_not_known_decides_nothing(tmp_path: Path, nodelint: Run, types: str, verdict: str) -> None:
    """m4 and r4 have no disks of their own; of d2 no label tells the size."""
    lines = f"key: node.kubernetes.io/instance-type, operator: In, values: [{types}]"
    tree(tmp_path, pod(ASKS % "ephemeral-storage: 100Gi"), lines, of_class="instanceStorePolicy: RAID0")
    report = json.loads(nodelint("fit", ".", "--format", "json").stdout)
    found = [("no", "yes")[fit["possible"]] for fit in report["workloads"]] or ["not known"]
    assert found == [verdict]
    assert ("ephemeral-storage pods can use is not known of d2.xlarge" in str(report["skipped"])) == (
        verdict == "not known"
    )


def test_amounts_that_are_not_known_are_null_and_said(tmp_path: Path, nodelint: Run) -> None:
    efa = "networkInterfaces: [{networkCardIndex: 0, deviceIndex: 0, interfaceType: interface}, "
    efa += "{networkCardIndex: 0, deviceIndex: 1, interfaceType: efa-only}]\n  instanceStorePolicy: RAID0"
    lines = "key: node.kubernetes.io/instance-type, operator: In, values: [d2.xlarge, i3.xlarge, m8gn.metal-24xl]"
    tree(tmp_path, "", lines, of_class=efa)
    report = json.loads(nodelint("explain", ".", "--format", "json").stdout)
    jsonschema.validate(report, json.loads((ROOT / "schemas" / "explain.schema.json").read_text()))
    left = {row["name"]: row["allocatable"] for row in report["nodePools"][0]["instanceTypes"]}
    unknown = {name: sorted(r for r, amount in amounts.items() if amount is None) for name, amounts in left.items()}
    assert unknown["m8gn.metal-24xl"] == ["memory", "pods"]
    assert all(len(str(amount)) < 13 for amounts in left.values() for amount in amounts.values())
    assert "not known" in nodelint("explain", ".", "--types").stdout


def test_a_static_pool_launches_nothing_for_pending_pods(tmp_path: Path, nodelint: Run) -> None:
    tree(tmp_path, pod(TEAM + ASKS % "cpu: '1'"), spec="  replicas: 2\n")
    found = fit_json(nodelint)
    (pool,) = found["pools"]
    assert (pool["fits"], pool["instanceTypes"], pool["reason"]) == (False, 0, "static")
    assert found["possible"] and not findings(nodelint)
    assert "launches no node for pending pods" in " ".join(nodelint("fit", ".").stdout.split())
    tree(tmp_path, pod(TEAM + ASKS % "cpu: '9'"), spec="  replicas: 2\n")
    assert not fit_json(nodelint)["possible"]


SPREAD = """topologySpreadConstraints:
  - {maxSkew: 1, minDomains: %s, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule,
     labelSelector: {matchLabels: {app: web}}}"""


@pytest.mark.parametrize(
    ("least", "replicas", "crowded"), [(3, 3, True), (2, 3, False), (3, 2, False), (3, "'{{ n }}'", False)]
)
def test_min_domains_beyond_the_zones_of_the_pools(
    tmp_path: Path, nodelint: Run, least: int, replicas: object, crowded: bool
) -> None:
    workload = pod(SPREAD % least).replace("template:\n", f"replicas: {replicas}\n  template:\n", 1)
    workload = workload.replace("    spec:\n", "    metadata: {labels: {app: web}}\n    spec:\n", 1)
    tree(tmp_path, workload, M7I, ZONES)
    done = nodelint("fit", ".")
    assert ("for 2 of its 3 pods" in done.stdout) == crowded == bool(done.returncode)
    assert bool(findings(nodelint)) == crowded


CLAIM = "resourceClaims: [{name: gpu, resourceClaimName: gpu}]"


@pytest.mark.parametrize(
    ("values", "release", "state"),
    [
        ("", "1.15.1", "ignored"),
        ("", "1.6.0", "open"),
        ("settings: {clusterName: a, ignoreDRARequests: false}\n", "1.14.1", "open"),
        ("settings: {clusterName: a, ignoreDRARequests: true}\n", "1.14.1", "ignored"),
        ("settings: {clusterName: a, enableDRA: true}\n", "1.15.1", "open"),
    ],
)
def test_pods_with_resource_claims_are_left_alone_by_default(
    tmp_path: Path, nodelint: Run, values: str, release: str, state: str
) -> None:
    tree(tmp_path, pod(CLAIM), values=values)
    report = json.loads(nodelint("fit", ".", "--format", "json", "--karpenter-version", release).stdout)
    if state == "open":
        assert "resource claims" in str(report["skipped"])
    else:
        assert report["workloads"][0]["pools"][0]["message"].startswith("pod has Dynamic Resource Allocation")


def test_pools_of_one_name_are_told_apart_by_their_places(tmp_path: Path, nodelint: Run) -> None:
    text = f"{nodepool(M7I)}---\n{nodeclass()}"
    write_files(tmp_path, {"a/pool.yaml": text, "b/pool.yaml": text, "web.yaml": pod(SMALL)})
    assert [pool["path"] for pool in fit_json(nodelint)["pools"]] == ["a/pool.yaml", "b/pool.yaml"]
    shown = nodelint("fit", ".").stdout
    assert "=> `default` (a/pool.yaml:4), `default` (b/pool.yaml:4)" in shown


@pytest.mark.parametrize(
    "key", ["karpenter.sh/registered", "karpenter.sh/initialized", "karpenter.k8s.aws/ec2nodeclass"]
)
def test_a_label_of_the_node_itself_is_named_with_the_one_to_use(tmp_path: Path, nodelint: Run, key: str) -> None:
    tree(tmp_path, pod(f"nodeSelector: {{{key}: 'true'}}"))
    (finding,) = findings(nodelint)
    assert finding["message"].endswith(f"`{key}` may not be selected")
    assert "use karpenter.sh/nodepool" in finding["note"]


@pytest.mark.parametrize(("policy", "launched"), [("BestEffort", True), ("Strict", False)])
def test_explain_knows_the_policy_of_min_values(tmp_path: Path, nodelint: Run, policy: str, launched: bool) -> None:
    category = "key: karpenter.k8s.aws/instance-category, operator: Exists, minValues: 50"
    tree(tmp_path, "", category, values=f"settings: {{clusterName: a, minValuesPolicy: {policy}}}\n")
    shown = nodelint("explain", ".").stdout
    assert ("none is launched" not in shown) == ("BestEffort" in shown) == launched


def test_explain_tells_what_removed_the_types_of_an_image_and_the_order_of_a_launch(
    tmp_path: Path, nodelint: Run
) -> None:
    tree(tmp_path, "", "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, p]", AMD)
    shown = " ".join(nodelint("explain", ".").stdout.split())
    assert "arm64 standard 0 types none: `kubernetes.io/arch In amd64` removed the last" in shown
    order = json.loads(nodelint("explain", ".", "--format", "json").stdout)["nodePools"][0]["launchOrder"]
    prices = [row["pricePerHour"] for row in order]
    assert prices == sorted(prices) and len(order) == 60 and not any(row["name"].startswith("p") for row in order)


@pytest.mark.parametrize(
    ("release", "instance_type", "fits"),
    [("1.8.3", "c8i.large", False), ("1.8.4", "c8i.large", True), ("1.8.3", "m5.large", True)],
)
def test_pod_enis_are_those_that_the_release_knows_of_a_type(
    tmp_path: Path, nodelint: Run, monkeypatch: pytest.MonkeyPatch, release: str, instance_type: str, fits: bool
) -> None:
    """A pod with its own security group asks for a branch interface, which the controller's own table counts."""
    monkeypatch.chdir(tmp_path)
    workload = pod(ASKS % 'vpc.amazonaws.com/pod-eni: "1"')
    tree(tmp_path, workload, M7I.replace("m7i.large", instance_type), AMD)
    found = fit_json(nodelint, "--karpenter-version", release)
    assert found["pools"][0]["fits"] is fits


LIMITED = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {team: x}
      containers: [{name: a, image: a, resources: {requests: {cpu: %s}}}]
"""


def as_terraform(text: str) -> str:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return f'resource "kubectl_manifest" "nodes" {{\n  yaml_body = <<-YAML\n{body}  YAML\n}}\n'


@pytest.mark.parametrize("form", ["yaml", "chart", "terraform"])
@pytest.mark.parametrize(
    ("replicas", "cpu", "limits", "room"),
    [
        ("2", "1500m", '{cpu: "2"}', 1),
        ("2", "1500m", '{cpu: "3"}', 1),
        ("2", "1500m", '{cpu: "4"}', None),
        ("1", "1500m", '{cpu: "2"}', None),
        ("4", "900m", '{cpu: "2"}', 2),
        ("2", "1500m", "{memory: 8Gi}", None),
        ("2", "1500m, memory: 6Gi", "{memory: 8Gi}", None),
        ("2", "1500m", '{nodes: "1"}', None),
        ('"${REPLICAS}"', "1500m", '{cpu: "2"}', None),
    ],
)
def test_replicas_for_which_the_limits_leave_no_room(
    tmp_path: Path, nodelint: Run, form: str, replicas: str, cpu: str, limits: str, room: int | None
) -> None:
    pool = nodepool(M7I, AMD, labels="{team: x}", spec=f"  limits: {limits}\n")
    text = f"{pool}---\n{nodeclass('')}"
    workload = LIMITED % (replicas, cpu)
    files = {".git/HEAD": "", "web.yaml": workload, "pool.yaml": text}
    if form == "chart":
        files["chart/Chart.yaml"] = "apiVersion: v2\nname: nodes\nversion: 0.1.0\n"
        files["chart/values.yaml"] = "team: x\n"
        files["chart/templates/pool.yaml"] = files.pop("pool.yaml").replace(
            "{team: x}", "{team: '{{ .Values.team }}'}"
        )
    elif form == "terraform":
        files["main.tf"] = as_terraform(files.pop("pool.yaml"))
    write_files(tmp_path, files)
    shown = nodelint("check", "--output-format", "concise", "--select", RULE, str(tmp_path)).stdout
    assert shown.count(f"[{RULE}]") == (room is not None)
    assert f"leave room for {room} of its {replicas} pods" in shown or room is None


@pytest.mark.parametrize(("replicas", "count"), [("40", 1), ("30", 0)])
def test_many_small_replicas_beyond_the_limits_of_a_roomy_pool(
    tmp_path: Path, nodelint: Run, replicas: str, count: int
) -> None:
    """The words of a file show that its pods are small; how many of them there are counts too."""
    pool = nodepool(AMD, CATEGORIES, spec='  limits: {cpu: "32"}\n')
    workload = (LIMITED % (replicas, "1")).replace("      nodeSelector: {team: x}\n", "")
    nodes = f"{pool}---\n{nodeclass('').replace('al2023@v20250403', 'al2023@latest')}"
    write_files(tmp_path, {".git/HEAD": "", "web.yaml": workload, "pool.yaml": nodes})
    shown = nodelint("check", "--output-format", "concise", "--select", RULE, str(tmp_path)).stdout
    assert shown.count(f"[{RULE}]") == count


CATEGORIES = "key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]"


@pytest.mark.parametrize(
    ("line", "little"),
    [
        ("image: registry.example/app:1", True),
        ('image: "ghcr.io/app:1.2"', True),
        ("resources: {limits: {nvidia.com/gpu: 1}}", False),
        ('{"resources":{"limits":{"nvidia.com/gpu":"1"}}}', False),
        ('limits = { "nvidia.com/gpu" = 1 }', False),
        ("resources: {requests: {cpu: 9}}", False),
        ("replicaCount: 20\nresources: {requests: {cpu: 1}}", False),
    ],
)
def test_words_of_a_file_that_tell_whether_its_pods_ask_for_little(line: str, little: bool) -> None:
    assert requests_little(line, {"cpu": 0, "memory": 0}) is little


@pytest.mark.parametrize(
    ("daemons", "little"),
    [("cpu: 1, memory: 1Gi", True), ("cpu: 2, memory: 1Gi", False), ("cpu: 1, memory: 2Gi", False)],
)
def test_daemons_count_with_what_pods_ask_for(daemons: str, little: bool) -> None:
    pods = "resources: {requests: {cpu: 7, memory: 15Gi}}"
    assert requests_little(pods, add_amounts(daemons)) is little
