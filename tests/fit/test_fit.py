"""`nodelint fit`: workloads against six pools, each verdict with the place in Karpenter's code that gives it.

Files are those of kubernetes-sigs/karpenter v1.14.1, under pkg/ (scheduling/ stands for
pkg/controllers/provisioning/scheduling/), unless they begin with `aws:`.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import jsonschema
import pytest

from tests.conftest import ROOT
from tests.manifests import nodeclass
from tests.plain_yaml import dump_all_yaml, load_yaml
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]

CLASSES = "---\n".join(
    [
        nodeclass("kubelet: {maxPods: 20}"),
        nodeclass(name="windows", ami="alias: windows2022@v1.0.0"),
        nodeclass(name="arm"),
    ]
)
POOLS = """
    general: {values: [m5, m6i], limits: {cpu: "16"}}
    gpu:
      values: [g5]
      weight: 10
      taints: [{key: nvidia.com/gpu, value: "true", effect: NoSchedule}]
      labels: {team: ml}
    soft: {values: [c6i], taints: [{key: slow, effect: PreferNoSchedule}]}
    zone: {values: [r5], zone: [us-east-1a]}
    small: {values: [m5], limits: {cpu: "1"}, taints: [{key: never, effect: NoExecute}]}
    varied: {values: [c5, c5a, c5n], least: 3}
"""


def pools() -> str:

    found = []
    for name, facts in load_yaml(textwrap.dedent(POOLS)).items():
        family: dict[str, Any] = {
            "key": "karpenter.k8s.aws/instance-family",
            "operator": "In",
            "values": facts["values"],
        }
        if "least" in facts:
            family["minValues"] = facts["least"]
        requested = [family]
        if "zone" in facts:
            requested.append({"key": "topology.kubernetes.io/zone", "operator": "In", "values": facts["zone"]})
        spec: dict[str, Any] = {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": requested,
            "taints": facts.get("taints", []),
            "startupTaints": [{"key": "starting", "effect": "NoSchedule"}],
        }
        template = {"metadata": {"labels": facts.get("labels", {})}, "spec": spec}
        pool: dict[str, Any] = {"template": template}
        pool |= {key: facts[key] for key in ("limits", "weight") if key in facts}
        found.append({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": pool})
    return dump_all_yaml(found)


def pod(text: str, kind: str = "Deployment", name: str = "web") -> str:
    spec = textwrap.dedent(text).strip("\n") or "containers: [{name: a}]"
    if "containers:" not in spec.replace("initContainers:", ""):
        spec += "\ncontainers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}]"
    group = {"Job": "batch/v1", "CronJob": "batch/v1", "Pod": "v1", "Rollout": "argoproj.io/v1alpha1"}
    head = f"apiVersion: {group.get(kind, 'apps/v1')}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"
    if kind == "Pod":
        return head + textwrap.indent(spec, "  ")
    if kind == "CronJob":
        return f"{head}  jobTemplate:\n    spec:\n      template:\n        spec:\n" + textwrap.indent(spec, " " * 10)
    return f"{head}  template:\n    spec:\n" + textwrap.indent(spec, " " * 6)


TAINT, REQUIREMENTS, RESOURCES, LIMITS, MIN = "taint", "requirements", "resources", "limits", "minValues"
ORDER = ["gpu", "zone", "varied", "soft", "small", "general"]
"""By weight, then the name that is later in the alphabet first: utils/nodepool/nodepool.go OrderByWeight."""

TREE = {
    "nothing asked: scheduling/taints.go Tolerates; scheduler.go filterByRemainingResources comes first": (
        "",
        {"gpu": TAINT, "small": LIMITS},
    ),
    "tolerated by key and Exists: k8s.io/api ToleratesTaint": (
        "tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
        {"small": LIMITS},
    ),
    "tolerated with another value": (
        'tolerations: [{key: nvidia.com/gpu, value: "false"}]',
        {"gpu": TAINT, "small": LIMITS},
    ),
    "a label of one pool's template: nodeclaimtemplate.go NewNodeClaimTemplate; requirements.go Compatible": (
        "nodeSelector: {team: ml}\ntolerations: [{operator: Exists}]",
        {
            "zone": REQUIREMENTS,
            "varied": REQUIREMENTS,
            "soft": REQUIREMENTS,
            "small": LIMITS,
            "general": REQUIREMENTS,
        },
    ),
    "a well-known label that no pool names is allowed: requirements.go AllowUndefinedWellKnownLabels": (
        "nodeSelector: {karpenter.sh/capacity-type: spot}",
        {"gpu": TAINT, "small": LIMITS},
    ),
    "a zone that one pool excludes": (
        "nodeSelector: {topology.kubernetes.io/zone: us-east-1b}",
        {"gpu": TAINT, "zone": REQUIREMENTS, "small": LIMITS},
    ),
    "an alias of a label: labels.go NormalizedLabels": (
        "nodeSelector: {failure-domain.beta.kubernetes.io/zone: us-east-1b}",
        {"gpu": TAINT, "zone": REQUIREMENTS, "small": LIMITS},
    ),
    "no type of the pool has the architecture: nodeclaim.go InstanceTypeFilterError": (
        "nodeSelector: {kubernetes.io/arch: arm64}",
        dict.fromkeys(ORDER, REQUIREMENTS) | {"gpu": TAINT, "small": LIMITS},
    ),
    "terms are ORed, first to last: preferences.go removeRequiredNodeAffinityTerm": (
        """
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions: [{key: team, operator: In, values: [web]}]
                - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [r5]}]
        """,
        dict.fromkeys(ORDER, REQUIREMENTS) | {"gpu": TAINT, "zone": None, "small": LIMITS},
    ),
    "required terms go before preferences, so that A without P is never tried: preferences.go Relax": (
        """
        affinity:
          nodeAffinity:
            preferredDuringSchedulingIgnoredDuringExecution:
              - weight: 1
                preference: {matchExpressions: [{key: nowhere, operator: Exists}]}
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [r5]}]
                - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}]
        """,
        dict.fromkeys(ORDER, REQUIREMENTS) | {"gpu": TAINT, "small": LIMITS, "general": None},
    ),
    "a preference is given up: preferences.go removePreferredNodeAffinityTerm": (
        """
        affinity:
          nodeAffinity:
            preferredDuringSchedulingIgnoredDuringExecution:
              - weight: 1
                preference: {matchExpressions: [{key: nowhere, operator: Exists}]}
        """,
        {"gpu": TAINT, "small": LIMITS},
    ),
    "NotIn on a label that no pool has": (
        """
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions: [{key: team, operator: NotIn, values: [ml]}]
        """,
        {"gpu": TAINT, "small": LIMITS},
    ),
    "more memory than 16 CPUs of general and of c5, c5a, c5n come with: utils/resources Fits": (
        "containers: [{name: a, resources: {requests: {memory: 100Gi}}}]",
        {"gpu": TAINT, "varied": None, "small": LIMITS, "general": RESOURCES},
    ),
    "init containers and sidecars: component-helpers PodRequests": (
        """
        initContainers:
          - {name: s, restartPolicy: Always, resources: {requests: {cpu: 8}}}
          - {name: i, resources: {requests: {cpu: 8}}}
        containers: [{name: a, resources: {requests: {cpu: 7}}}]
        """,
        {"gpu": TAINT, "small": LIMITS, "general": RESOURCES},
    ),
    "limits stand in for requests: pkg/apis/core/v1/defaults.go of Kubernetes": (
        "containers: [{name: a, resources: {limits: {cpu: 16}}}]",
        {"gpu": TAINT, "small": LIMITS, "general": RESOURCES},
    ),
    "a GPU: aws: providers/instancetype/types.go computeCapacity": (
        "tolerations: [{operator: Exists}]\ncontainers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]",
        dict.fromkeys(ORDER, RESOURCES) | {"gpu": None, "small": LIMITS},
    ),
    "a resource that only a device plugin brings": (
        "containers: [{name: a, resources: {limits: {example.com/fpga: 1}}}]",
        dict.fromkeys(ORDER, RESOURCES) | {"gpu": TAINT, "small": LIMITS},
    ),
    "fewer families than minValues are left: cloudprovider/types.go SatisfiesMinValues": (
        'nodeSelector: {karpenter.k8s.aws/instance-local-nvme: "3600"}',
        dict.fromkeys(ORDER, REQUIREMENTS) | {"gpu": TAINT, "small": LIMITS, "zone": REQUIREMENTS},
    ),
    "two of three families left": (
        """
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
                - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: NotIn, values: [c5n]}]
        """,
        {"gpu": TAINT, "varied": MIN, "small": LIMITS},
    ),
    "labels of Karpenter's domain that it does not know: nodeclaim_validation.go ValidateRequirement": (
        'nodeSelector: {karpenter.sh/registered: "true"}\ntolerations: [{operator: Exists}]',
        dict.fromkeys(ORDER, REQUIREMENTS),
    ),
}


SELECTS = """
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions: [{key: karpenter.k8s.aws/instance-%s, operator: %s, values: %s}]
"""


@pytest.mark.parametrize(("count", "shown"), [(5, "[a b c d e]"), (6, "[a b c d e and 1 others]")])
def test_a_requirement_is_shown_with_at_most_five_values(here: Path, nodelint: Run, count: int, shown: str) -> None:
    write(here, pod(SELECTS % ("family", "In", f"[{', '.join('abcdef'[:count])}]")))
    (found,) = fit_json(nodelint)["workloads"]
    (message,) = [pool["message"] for pool in found["pools"] if pool["name"] == "zone"]
    assert f" In {shown} not in " in message


@pytest.mark.parametrize(("bound", "refused"), [("0", False), ("1", False), ("-1", True), ("x", True)])
def test_a_bound_is_no_negative_number(here: Path, nodelint: Run, bound: str, refused: bool) -> None:
    write(here, pod(SELECTS % ("cpu", "Gt", f'["{bound}"]')))
    (found,) = fit_json(nodelint)["workloads"]
    assert found["possible"] is not refused
    messages = {"-1": "invalid value -1", "x": "must have a single positive integer"}.get(bound, "")
    assert any(messages != "" and messages in str(pool["message"]) for pool in found["pools"]) is refused


def write(here: Path, workloads: str) -> None:
    (here / "pools.yaml").write_text(f"{pools()}---\n{CLASSES}")
    (here / "workloads.yaml").write_text(workloads)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The folder in which commands run."""
    return tmp_path


def fit_json(nodelint: Run, *args: str, code: int | None = None) -> dict[str, Any]:
    done = nodelint("fit", ".", "--format", "json", *args)
    assert done.returncode in ((0, 1) if code is None else (code,)), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("title", TREE)
def test_each_pool_of_the_tree_says_what_karpenter_says(here: Path, nodelint: Run, title: str) -> None:
    text, expected = TREE[title]
    write(here, pod(text))
    (found,) = fit_json(nodelint)["workloads"]
    assert [pool["name"] for pool in found["pools"]] == ORDER
    messages = {pool["name"]: pool["reason"] for pool in found["pools"]}
    assert messages == {name: expected.get(name) for name in ORDER}, found["pools"]
    assert all(pool["fits"] == (pool["reason"] is None) == bool(pool["instanceTypes"]) for pool in found["pools"])
    assert found["possible"] == any(pool["fits"] for pool in found["pools"])


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod", "Rollout"])
def test_every_kind_that_makes_pods_is_read(here: Path, nodelint: Run, kind: str) -> None:
    write(here, pod("nodeSelector: {team: ml}\ntolerations: [{key: nvidia.com/gpu, operator: Exists}]", kind, "x"))
    (found,) = fit_json(nodelint, "--workload", f"{kind.lower()}/x", code=0)["workloads"]
    assert (found["kind"], found["name"], found["line"]) == (kind, "x", 3)
    assert [pool["name"] for pool in found["pools"] if pool["fits"]] == ["gpu"]


def test_a_list_and_standard_input(here: Path, nodelint: Run) -> None:
    write(here, "")
    item = textwrap.indent(pod("nodeSelector: {team: web}"), "    ")[4:]
    done = nodelint("fit", "-", "pools.yaml", stdin=f"apiVersion: v1\nkind: List\nitems:\n  - {item}\n")
    assert done.returncode == 1
    assert "=> no pool takes it" in done.stdout
    assert 'label "team" does not have known' in done.stdout
    assert "pools.yaml:" in done.stdout


DAEMON = """apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent}}
spec:
  template:
    spec:
{}
      containers: [{{name: a, resources: {{requests: {{cpu: "{}"}}}}, ports: [{{containerPort: 1, hostPort: 9}}]}}]
"""


def test_daemons_take_room_from_the_types_on_which_they_run(here: Path, nodelint: Run) -> None:
    web = pod("containers: [{name: a, resources: {requests: {cpu: 15}}}]")
    write(here, web)
    assert "general" in taking(fit_json(nodelint))
    write(here, web + "\n---\n" + DAEMON.format("", 1))
    assert "general" not in taking(fit_json(nodelint))
    elsewhere = "      nodeSelector: {karpenter.k8s.aws/instance-family: c6i}"
    write(here, web + "\n---\n" + DAEMON.format(elsewhere, 1))
    assert "general" in taking(fit_json(nodelint))
    only_some = "      nodeSelector: {karpenter.k8s.aws/instance-family: m5}"
    write(here, web + "\n---\n" + DAEMON.format(only_some, 1))
    by_type, together = (fit_json(nodelint, "--karpenter-version", value) for value in ("1.14.0", "1.13.0"))
    assert "general" in taking(by_type)
    assert "general" not in taking(together)


@pytest.mark.parametrize("cpus", [("1", "100m"), ("100m", "1"), ("100m", "0"), ("1", "1")])
def test_of_daemons_with_one_name_as_near_the_smallest_counts(
    here: Path, nodelint: Run, cpus: tuple[str, str]
) -> None:
    web = pod("containers: [{name: a, resources: {requests: {cpu: 15}}}]")
    write(here, "\n---\n".join([web, *(DAEMON.format("", cpu) for cpu in cpus)]))
    (found,) = [workload for workload in fit_json(nodelint)["workloads"] if workload["kind"] == "Deployment"]
    assert any(pool["fits"] for pool in found["pools"] if pool["name"] == "general") is (cpus != ("1", "1"))


def test_a_daemon_is_judged_beside_the_others_and_without_min_values(here: Path, nodelint: Run) -> None:
    other = DAEMON.format("", 1).replace("agent", "other")
    write(here, DAEMON.format("      nodeSelector: {node.kubernetes.io/instance-type: c5.large}", 1))
    (found,) = fit_json(nodelint)["workloads"]
    assert [pool["name"] for pool in found["pools"] if pool["fits"]] == ["varied"]
    write(
        here, DAEMON.format("      nodeSelector: {node.kubernetes.io/instance-type: c5.large}", 1) + "---\n" + other
    )
    agent = next(workload for workload in fit_json(nodelint)["workloads"] if workload["name"] == "agent")
    assert {pool["name"]: pool["reason"] for pool in agent["pools"]}["varied"] == "resources"


def test_host_ports_that_a_daemon_has_taken(here: Path, nodelint: Run) -> None:
    ports = "hostNetwork: true\ncontainers: [{name: a, ports: [{containerPort: 9}]}]"
    write(here, pod(ports) + "\n---\n" + DAEMON.format("", "10m"))
    web = next(workload for workload in fit_json(nodelint)["workloads"] if workload["name"] == "web")
    assert not web["possible"]


def taking(found: dict[str, Any]) -> list[str]:
    web = next(workload for workload in found["workloads"] if workload["name"] == "web")
    return [pool["name"] for pool in web["pools"] if pool["fits"]]


STORAGE = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: local}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
allowedTopologies:
  - matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [us-east-1c]}]
  - matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [%s]}]
---
"""


def test_the_zones_of_a_storage_class(here: Path, nodelint: Run) -> None:
    volumes = "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"
    write(here, STORAGE % "us-east-1d" + pod(volumes))
    assert taking(fit_json(nodelint)) == ["varied", "soft", "general"]
    write(here, STORAGE % "us-east-1a" + pod(volumes))
    assert taking(fit_json(nodelint)) == ["zone", "varied", "soft", "general"]
    assert taking(fit_json(nodelint, "--karpenter-version", "1.13.0")) == ["zone", "varied", "soft", "general"]
    assert taking(fit_json(nodelint, "--karpenter-version", "1.12.0")) == ["varied", "soft", "general"]


VOLUME = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {volumeName: disk}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  %s
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [ip-1]}]
---
"""


@pytest.mark.parametrize(
    ("kind", "is_possible"),
    [("local: {path: /a}", True), ("hostPath: {path: /a}", True), ("csi: {driver: a}", False)],
)
def test_the_name_of_a_node_does_not_count_where_a_volume_is_a_disk_of_it(
    here: Path, nodelint: Run, kind: str, is_possible: bool
) -> None:
    """`getPersistentVolumeRequirements` of volumetopology.go: the volume is lost with its node."""
    write(here, VOLUME % kind + pod("volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"))
    assert bool(taking(fit_json(nodelint))) is is_possible


@pytest.mark.parametrize(
    "unknown",
    [
        "nodeSelector: {team: '{{ .Values.team }}'}",
        "containers: [{name: a, resources: {requests: {cpu: '${CPU}'}}}]",
        "tolerations: ['{{ x }}']",
        "affinity: '{{ x }}'",
    ],
)
def test_what_a_placeholder_stands_for_is_skipped_with_its_reason(here: Path, nodelint: Run, unknown: str) -> None:
    write(here, pod(unknown))
    found = fit_json(nodelint, code=0)
    assert not found["workloads"]
    assert found["skipped"][0]["reasons"]


def test_what_is_impossible_whatever_a_placeholder_stands_for_is_said(here: Path, nodelint: Run) -> None:
    write(here, pod("nodeSelector: {team: '{{ x }}', tier: none}\ntolerations: [{operator: Exists}]"))
    (found,) = fit_json(nodelint, code=1)["workloads"]
    assert not found["possible"]


def test_a_pod_that_is_to_stay_off_karpenters_nodes_is_no_fault(here: Path, nodelint: Run) -> None:
    write(
        here,
        pod(
            """
            affinity:
              nodeAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                  nodeSelectorTerms:
                    - matchExpressions: [{key: karpenter.sh/nodepool, operator: DoesNotExist}]
            """
        ),
    )
    done = nodelint("fit", ".")
    assert done.returncode == 0
    assert "no pool, on purpose: configured to not run on a Karpenter provisioned node" in done.stdout


def test_a_pod_for_a_node_group_is_no_fault(here: Path, nodelint: Run) -> None:
    write(here, pod("nodeSelector: {eks.amazonaws.com/nodegroup: system}"))
    done = nodelint("fit", ".")
    assert done.returncode == 0
    assert "no pool, on purpose: written for the nodes of a node group" in done.stdout


def test_suggestions_name_the_way_out_and_its_place(here: Path, nodelint: Run) -> None:
    write(here, pod("nodeSelector: {karpenter.sh/capacity_type: spot, team: ml}"))
    (found,) = fit_json(nodelint)["workloads"]
    messages = [suggestion["message"] for suggestion in found["suggestions"]]
    assert any("`karpenter.sh/capacity-type`" in value for value in messages), messages
    write(here, pod("nodeSelector: {team: ml}"))
    (found,) = fit_json(nodelint)["workloads"]
    assert [suggestion["message"] for suggestion in found["suggestions"]] == [
        "tolerate `nvidia.com/gpu=true:NoSchedule`, and pool `gpu` takes it"
    ] or found["suggestions"]


def test_without_a_pool_or_a_workload_of_that_name_the_run_ends(here: Path, nodelint: Run) -> None:
    write(here, pod(""))
    assert nodelint("fit", "workloads.yaml").returncode == 2
    done = nodelint("fit", ".", "--workload", "job/web")
    assert done.returncode == 2
    assert "Deployment/web" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("karpenter.sh/v1", "karpenter.sh/v1beta1", "serves: NodePool/open is karpenter.sh/v1beta1"),
        ("metadata:", "$patch: merge\nmetadata:", "NodePool/open is a part of one"),
    ],
)
def test_a_pool_that_is_not_looked_at_is_named(here: Path, nodelint: Run, old: str, new: str, reason: str) -> None:
    (here / "pool.yaml").write_text((OPEN_POOL % "a: b").replace(old, new, 1))
    (here / "web.yaml").write_text(pod(""))
    done = nodelint("fit", ".")
    assert done.returncode == 2
    assert reason in done.stderr


def test_words_that_a_script_replaces_make_nothing_impossible(here: Path, nodelint: Run) -> None:
    requested = "nodeSelector: {kubernetes.io/arch: ARCH}"
    write(here, pod(requested, "Job", name="bench-run"))
    assert not fit_json(nodelint, code=1)["workloads"][0]["possible"]
    write(here, pod(requested, "Job", name="bench-RUN_NUMBER"))
    assert not fit_json(nodelint, code=0)["workloads"]


def test_markdown_is_a_table_with_what_has_no_pool_first(here: Path, nodelint: Run) -> None:
    write(here, pod("") + "\n---\n" + pod("nodeSelector: {a: b}", name="lost"))
    rows = nodelint("fit", ".", "--format", "markdown").stdout.splitlines()
    assert rows[0] == "### nodelint fit: 1 workload with a pool, 1 without."
    assert "Deployment/lost" in rows[4]
    assert "Deployment/web" in rows[5]


CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "values.yaml": "nodeSelector: {team: web}\ncpu: 500m\n",
    "templates/web.yaml": """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers: [{name: web, resources: {requests: {cpu: {{ .Values.cpu }}}}}]
      nodeSelector:
        {{- toYaml .Values.nodeSelector | nindent 8 }}
""",
}


def test_a_chart_is_read_with_its_values(here: Path, nodelint: Run) -> None:
    write(here, "")
    write_files(here / "chart", CHART)
    (found,) = fit_json(nodelint)["workloads"]
    assert not found["possible"]
    (here / "chart/values.yaml").write_text("nodeSelector: {kubernetes.io/os: linux}\ncpu: 500m\n")
    (found,) = fit_json(nodelint)["workloads"]
    assert [pool["name"] for pool in found["pools"] if pool["fits"]] == ["zone", "varied", "soft", "general"]


OPEN_POOL = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: open}
spec:
  template:
    metadata:
      labels:
        %s
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
"""


@pytest.mark.parametrize("label", ["tier: '{{ tier }}'", "'{{ key }}': x", "'${KEY}': x"])
def test_a_label_of_a_pool_that_is_a_placeholder_may_be_what_a_pod_selects(
    here: Path, nodelint: Run, label: str
) -> None:
    write(here, pod("nodeSelector: {tier: front}"))
    assert not taking(fit_json(nodelint))
    with (here / "pools.yaml").open("a") as file:
        file.write(OPEN_POOL % label)
    assert taking(fit_json(nodelint)) == ["open"]


def test_a_resource_that_an_overlay_brings_is_not_impossible(here: Path, nodelint: Run) -> None:
    write(here, pod("containers: [{name: a, resources: {limits: {example.com/fpga: 1}}}]"))
    assert not taking(fit_json(nodelint))
    overlay = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: fpga}\n"
    overlay += "spec: {requirements: [], capacity: {example.com/fpga: 4}}\n"
    (here / "overlay.yaml").write_text(overlay)
    found = fit_json(nodelint, code=0)
    assert not found["workloads"]
    assert "example.com/fpga" in found["skipped"][0]["reasons"][0]


NODE_GROUPS = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: main, region: us-east-1}
managedNodeGroups:
  - name: system
    labels: {tier: front}
"""


def test_a_pod_that_a_node_group_may_take_is_not_impossible(here: Path, nodelint: Run) -> None:
    write(here, pod("nodeSelector: {tier: front}"))
    (found,) = fit_json(nodelint, code=1)["workloads"]
    assert not found["possible"]
    (here / "cluster.yaml").write_text(NODE_GROUPS)
    (found,) = fit_json(nodelint, code=0)["workloads"]
    assert found["possible"]
    assert not any(pool["fits"] for pool in found["pools"])
    write(here, pod("nodeSelector: {tier: front, karpenter.sh/nodepool: none}"))
    assert not fit_json(nodelint, code=1)["workloads"][0]["possible"]


def test_the_json_is_what_its_schema_says(here: Path, nodelint: Run) -> None:
    schema = json.loads((ROOT / "schemas" / "fit.schema.json").read_text(encoding="utf-8"))
    for text in ("", "nodeSelector: {team: ml}", "nodeSelector: {team: '{{ x }}'}", "nodeSelector: {tem: ml}"):
        write(here, pod(text))
        jsonschema.Draft202012Validator(schema).validate(fit_json(nodelint))


def fpga(**more: Any) -> str:
    spec = {
        "requirements": [{"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6i"]}],
        **more,
    }
    return json.dumps(
        {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": "fpga"}, "spec": spec}
    )


GATE = "settings:\n  clusterName: main\n  featureGates:\n    nodeOverlay: %s\n"


def test_overlays_bring_resources_and_prices_where_their_gate_is_on(here: Path, nodelint: Run) -> None:
    write(here, pod("containers: [{name: a, resources: {limits: {example.com/fpga: 2}}}]"))
    (here / "overlay.yaml").write_text(fpga(capacity={"example.com/fpga": "2"}, price="0.001"))
    (here / "values.yaml").write_text(GATE % "true")
    (found,) = fit_json(nodelint, code=0)["workloads"]
    assert [pool["name"] for pool in found["pools"] if pool["fits"]] == ["general"]
    cheapest = next(pool["cheapest"] for pool in found["pools"] if pool["fits"])
    assert (cheapest["pricePerHour"], cheapest["allocatable"]["example.com/fpga"]) == (0.001, "2")
    # Too few for the pod, gate off, and not known.
    (here / "overlay.yaml").write_text(fpga(capacity={"example.com/fpga": "1"}))
    assert not fit_json(nodelint, code=1)["workloads"][0]["possible"]
    (here / "overlay.yaml").write_text(fpga(capacity={"example.com/fpga": "2"}))
    (here / "values.yaml").write_text(GATE % "false")
    assert not fit_json(nodelint, code=1)["workloads"][0]["possible"]
    (here / "values.yaml").unlink()
    assert fit_json(nodelint, code=0)["skipped"]


def test_huge_pages_of_an_overlay_are_taken_off_the_memory(here: Path, nodelint: Run) -> None:
    write(
        here,
        pod(
            "nodeSelector: {node.kubernetes.io/instance-type: m6i.large}\n"
            "containers: [{name: a, resources: {requests: {memory: 6Gi}}}]"
        ),
    )
    (here / "values.yaml").write_text(GATE % "true")
    assert "general" in taking(fit_json(nodelint))
    (here / "overlay.yaml").write_text(fpga(capacity={"hugepages-2Mi": "1Gi"}))
    assert "general" not in taking(fit_json(nodelint))


@pytest.mark.parametrize(
    ("setting", "takes"), [("minValuesPolicy: BestEffort", True), ("minValuesPolicy: Strict", False)]
)
def test_the_stated_policy_about_min_values_counts(here: Path, nodelint: Run, setting: str, takes: bool) -> None:
    write(here, pod("nodeSelector: {karpenter.k8s.aws/instance-family: c5}"))
    (here / "values.yaml").write_text(f"settings:\n  clusterName: main\n  {setting}\n")
    assert ("varied" in taking(fit_json(nodelint, code=None))) is takes


def test_min_values_may_be_relaxed_where_values_of_the_controller_are_not_read(here: Path, nodelint: Run) -> None:
    """A Secret may state `BestEffort`: that the pool takes no such pod is not certain."""
    write(here, pod("nodeSelector: {karpenter.k8s.aws/instance-family: c5}"))
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec:\n"
        "  chart: {spec: {chart: karpenter, version: 1.14.1}}\n  values: {settings: {clusterName: main}}\n"
    )
    (here / "release.yaml").write_text(release)
    assert "varied" not in taking(fit_json(nodelint, code=None))
    (here / "release.yaml").write_text(release + "  valuesFrom: [{kind: Secret, name: settings}]\n")
    assert "varied" in taking(fit_json(nodelint, code=None))


def test_preferences_do_not_count_where_the_controller_ignores_them(here: Path, nodelint: Run) -> None:
    # Karpenter relaxes required terms before preferences: the first term is gone when the preference goes.
    write(
        here,
        pod(
            """
            affinity:
              nodeAffinity:
                requiredDuringSchedulingIgnoredDuringExecution:
                  nodeSelectorTerms:
                    - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]}]
                    - matchExpressions: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [nothing]}]
                preferredDuringSchedulingIgnoredDuringExecution:
                  - weight: 1
                    preference:
                      matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]
            """
        ),
    )
    assert not taking(fit_json(nodelint))
    (here / "values.yaml").write_text("settings:\n  clusterName: main\n  preferencePolicy: Ignore\n")
    assert taking(fit_json(nodelint)) == ["general"]


def test_what_is_asked_once_for_alike_pods_is_what_each_is_told() -> None:
    from nodelint.fit.tree import Tree
    from nodelint.model.cluster_objects import PATTERN, ClusterObject
    from nodelint.model.documents import objects
    from nodelint.model.manifest import NodePool
    from nodelint.model.releases import NEWEST
    from nodelint.rule.context import Context
    from nodelint.rule.target import Target
    from nodelint.text import Source

    texts = [pod(text, name=f"w{n}") for n, (text, _) in enumerate(TREE.values())]
    source = Source.from_text("all.yaml", "\n---\n".join([pools(), CLASSES, *texts, *texts]), PATTERN)
    contents = list(objects(source))
    context = Context(contents, Target(NEWEST))
    resolutions = [context.resolution(obj) for obj in contents if isinstance(obj, NodePool)]
    others = [obj for obj in objects(source, more=True) if isinstance(obj, ClusterObject)]
    quick, slow = Tree(resolutions, others), Tree(resolutions, others)
    messages = [(quick.is_possible(workload), slow.fit(workload).possible) for workload in quick.workloads]
    assert len(messages) == 2 * len(TREE)
    assert all(a == b for a, b in messages)
    assert len(set(messages)) == 2
