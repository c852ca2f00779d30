"""`check` on workloads: what cannot be, of workloads that are meant for the pools, over whole trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.fit.test_fit import NODE_GROUPS, pod
from tests.manifests import nodeclass, nodepool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
RULE = "no-pool-for-workload"
POOL = nodepool(
    "key: karpenter.k8s.aws/instance-family, operator: In, values: [m5]", "key: team, operator: In, values: [batch]"
)
SPREAD = "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: {}, whenUnsatisfiable: DoNotSchedule}}]"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pools.yaml").write_text(f"{POOL}---\n{nodeclass()}")
    return tmp_path


def findings_of(nodelint: Run, *args: str) -> list[dict[str, Any]]:
    output = nodelint("check", *(args or (".",)), "--select", RULE, "--format", "json").stdout
    return [finding for finding in json.loads(output)["findings"] if finding["rule"] == RULE]


@pytest.mark.parametrize(
    ("expected", "has_match"),
    [
        ("nodeSelector: {team: web}", True),
        ("nodeSelector: {team: batch}", False),
        ("nodeSelector: {karpenter.sh/nodepool: none}", True),
        ("nodeSelector: {karpenter.sh/capacity-type: spot}", False),
        ("nodeSelector: {karpenter.k8s.aws/instance-family: r5}", True),
        ("nodeSelector: {other: label}", True),
        ("containers: [{name: a, resources: {requests: {cpu: 1000}}}]", True),
        ("containers: [{name: a, resources: {requests: {cpu: 1}}}]", False),
        ("nodeSelector: {kubernetes.io/arch: arm64}", True),
        ("nodeSelector: {team: batch}\ncontainers: [{name: a, resources: {requests: {cpu: 1000}}}]", True),
        ("nodeSelector: {team: batch}\ncontainers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]", True),
        ("nodeSelector: {team: '{{ team }}'}", False),
        (f"nodeSelector: {{team: batch}}\n{SPREAD.format('rack')}", True),
        (f"nodeSelector: {{team: batch}}\n{SPREAD.format('karpenter.sh/nodepool')}", True),
        ("nodeSelector: {team: '{{ team }}', karpenter.sh/nodepool: none}", True),
    ],
)
def test_what_cannot_be_is_told_and_nothing_else(here: Path, nodelint: Run, expected: str, has_match: bool) -> None:
    (here / "web.yaml").write_text(pod(expected))
    assert bool(findings_of(nodelint)) == has_match


@pytest.mark.parametrize(
    ("expected", "severity"),
    [
        ("nodeSelector: {team: web}", "info"),
        ("nodeSelector: {other: label}", "info"),
        ("nodeSelector: {kubernetes.io/arch: arm64}", "info"),
        ("containers: [{name: a, resources: {requests: {cpu: 1000}}}]", "info"),
        (f"nodeSelector: {{team: batch}}\n{SPREAD.format('karpenter.sh/nodepool')}", "info"),
        ("nodeSelector: {team: bach}", "warning"),
        ("nodeSelector: {team: batch, tier: front}", "warning"),
        ("nodeSelector: {karpenter.sh/nodepool: none}", "warning"),
        ("nodeSelector: {team: batch}\ncontainers: [{name: a, resources: {requests: {cpu: 1000}}}]", "warning"),
    ],
)
def test_what_may_be_for_nodes_of_others_is_only_mentioned(
    here: Path, nodelint: Run, expected: str, severity: str
) -> None:
    (here / "web.yaml").write_text(pod(expected))
    (finding,) = findings_of(nodelint)
    assert finding["severity"] == severity
    assert ("unless nodes outside of Karpenter" in finding["note"]) == (severity == "info")


@pytest.mark.parametrize(
    ("expected", "meant"),
    [
        ("karpenter.sh/provisioner-name: default", "karpenter.sh/nodepool: default"),
        ("karpenter.sh/nodepool: defualt", "karpenter.sh/nodepool: default"),
        ("karpenter.k8s.aws/instance-cpus: '4'", "karpenter.k8s.aws/instance-cpu: '4'"),
        ("karpenter.sh/capacity-type: Spot", "karpenter.sh/capacity-type: spot"),
        ("karpenter.sh/capacity-type: ondemand", "karpenter.sh/capacity-type: on-demand"),
        ("karpenter.k8s.aws/instance-size: xlarg", "karpenter.k8s.aws/instance-size: xlarge"),
        ("teem: batch", "team: batch"),
        ("team: bach", "team: batch"),
    ],
)
def test_a_label_or_value_that_no_node_has_is_taken_for_the_one_meant(
    here: Path, nodelint: Run, expected: str, meant: str | None
) -> None:
    (here / "web.yaml").write_text(pod(f"nodeSelector:\n  {expected}"))
    findings = findings_of(nodelint)
    if meant is None:
        assert not findings
        return
    ((way,),) = (finding["suggestions"] for finding in findings)
    text = (here / "web.yaml").read_text()
    for edit in sorted(way["edits"], key=lambda edit: -edit["start"]["offset"]):
        text = text[: edit["start"]["offset"]] + edit["text"] + text[edit["end"]["offset"] :]
    assert text == pod(f"nodeSelector:\n  {meant}")


def test_complete_pools_make_each_workload_theirs(here: Path, nodelint: Run) -> None:
    (here / "web.yaml").write_text(pod("nodeSelector: {other: label}"))
    (here / "nodelint.yaml").write_text(f"rules:\n  {RULE}: {{pools: complete}}\n")
    (finding,) = findings_of(nodelint)
    assert finding["severity"] == "error"
    assert nodelint("check", ".").returncode == 1


def test_less_than_the_repository_may_lack_the_pool(here: Path, nodelint: Run) -> None:
    (here / "web.yaml").write_text(pod("nodeSelector: {team: web}"))
    assert not findings_of(nodelint, "pools.yaml", "web.yaml")
    assert findings_of(nodelint, ".")


def test_a_node_group_that_names_the_label_may_take_it(here: Path, nodelint: Run) -> None:
    (here / "web.yaml").write_text(pod("nodeSelector: {team: web}"))
    (here / "cluster.yaml").write_text(NODE_GROUPS.replace("tier: front", "team: web"))
    assert not findings_of(nodelint)


BLOCK = """resource "kubernetes_deployment" "web" {
  metadata { name = "web" }
  spec {
    template {
      spec {
        node_selector = { team = local.team }
        container { name = "a" }
      }
    }
  }
}
locals { team = "web" }
"""
BUILT = {
    "Terraform": {"main.tf": BLOCK},
    "a chart": {
        "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "chart/values.yaml": "team: web\n",
        "chart/templates/web.yaml": pod("nodeSelector: {team: '{{ .Values.team }}'}"),
    },
}


@pytest.mark.parametrize("form", BUILT)
def test_a_node_group_may_take_what_is_built(here: Path, nodelint: Run, form: str) -> None:
    write_files(here, BUILT[form])
    assert findings_of(nodelint)
    (here / "cluster.yaml").write_text(NODE_GROUPS.replace("tier: front", "team: web"))
    assert not findings_of(nodelint)


def test_a_pool_of_which_a_part_is_known_keeps_the_rule_silent(here: Path, nodelint: Run) -> None:
    (here / "web.yaml").write_text(pod("nodeSelector: {team: web}"))
    part = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: other}\n$patch: merge\nspec: {weight: 1}\n"
    (here / "patch.yaml").write_text(part)
    assert not findings_of(nodelint)


def test_a_comment_in_the_file_of_the_workload_silences_it(here: Path, nodelint: Run) -> None:
    requested = f"nodeSelector: {{team: web}} # nodelint: ignore[{RULE}] another repository has the pool"
    (here / "web.yaml").write_text(pod(requested))
    assert not findings_of(nodelint)


def test_a_workload_is_no_object_that_is_counted(here: Path, nodelint: Run) -> None:
    before = nodelint("check", ".").stdout
    (here / "web.yaml").write_text(pod("nodeSelector: {team: batch}"))
    assert nodelint("check", ".").stdout == before.replace("in 1 file", "in 2 files")


ANNOTATED = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {%s}
spec:
  template:
    metadata:
      annotations: {%s}
    spec:
      containers: [{name: a}]
"""
KEY = "karpenter.sh/do-not-disrupt"


@pytest.mark.parametrize(
    ("own", "of_pod", "expected"),
    [
        ("", f"{KEY}: 'true'", []),
        ("", f"{KEY}: 'false'", []),
        ("", f"{KEY}: 1h30m", []),
        ("", f"{KEY}: 1d", ["warning"]),
        ("", f"{KEY}: '-5m'", ["warning"]),
        ("", f"{KEY}: 'Yes'", ["warning"]),
        ("", f"{KEY}: true", ["error"]),
        ("", "karpenter.sh/do-not-evict: 'true'", ["warning"]),
        (f"{KEY}: 'true'", "", ["warning"]),
        (f"{KEY}: 'true'", f"{KEY}: 'true'", []),
        ("", f"{KEY}: '{{{{ x }}}}'", []),
    ],
)
def test_annotations_of_pods_that_karpenter_does_not_read(
    here: Path, nodelint: Run, own: str, of_pod: str, expected: list[str]
) -> None:
    (here / "web.yaml").write_text(ANNOTATED % (own, of_pod))
    output = nodelint("check", ".", "--select", "ignored-pod-annotation", "--format", "json").stdout
    assert [finding["severity"] for finding in json.loads(output)["findings"]] == expected


def test_durations_are_read_from_1_12_on(here: Path, nodelint: Run) -> None:
    (here / "web.yaml").write_text(ANNOTATED % ("", f"{KEY}: 30m"))
    for release, count in (("1.11.2", 1), ("1.12.0", 0)):
        reported = nodelint("check", ".", "--select", "ignored-pod-annotation", "--karpenter-version", release)
        assert reported.stdout.count("durations from 1.12.0") == count


def test_a_label_that_no_pool_has_is_named_and_no_pool_blamed(here: Path, nodelint: Run) -> None:
    (here / "web.yaml").write_text(pod("nodeSelector: {team: batch, tier: front}"))
    (finding,) = findings_of(nodelint)
    assert finding["message"] == "no NodePool accepts its pods; none has the label `tier`"


BUFFER = """apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: web}
spec:
  replicas: 2
  podTemplateRef: {name: spare}
"""
TEMPLATE = """---
apiVersion: v1
kind: PodTemplate
metadata: {name: spare, namespace: web}
template:
  spec:
    nodeSelector: {team: batch}
    containers: [{name: a, image: a, resources: {requests: {cpu: "1"}}}]
"""
REF = "podTemplateRef: {name: spare}"


@pytest.mark.parametrize(
    ("old", "new", "gate", "expected"),
    [
        ("", "", "true", []),
        ("batch}", "web}", "true", ["no NodePool accepts the pods of `PodTemplate/spare`"]),
        ("batch}", "web}", "false", []),
        ("  replicas: 2\n", "", "false", ["the buffer has `podTemplateRef` but neither `replicas` nor `limits`"]),
        (REF, f"{REF}\n  scalableRef: {{kind: Deployment, name: web}}", "false", ["both `podTemplateRef` and"]),
        (REF, f"{REF}\n  percentage: 20", "true", ["`percentage` has no effect with `podTemplateRef`"]),
        (f"  {REF}\n", "", "true", ["the buffer has neither `podTemplateRef` nor `scalableRef`"]),
        (f"  {REF}\n", "", "false", []),
        (REF, "scalableRef: {kind: Rollout, name: web}", "true", ["no `scalableRef` of kind `Rollout`"]),
        (REF, "scalableRef: {kind: Deployment, name: web, apiGroup: batch}", "true", ["of group `batch`"]),
        (f"replicas: 2\n  {REF}", "scalableRef: {kind: Deployment, name: web}", "true", ["the buffer is empty"]),
        ("v1beta1", "v1alpha1", "true", ["serves only v1beta1"]),
        ("v1beta1", "v1alpha1", "false", []),
    ],
)
def test_capacity_buffers_that_make_no_room(
    here: Path, nodelint: Run, old: str, new: str, gate: str, expected: list[str]
) -> None:
    (here / "values.yaml").write_text(
        f"settings:\n  clusterName: main\n  featureGates:\n    capacityBuffer: {gate}\n"
    )
    (here / "buffer.yaml").write_text((BUFFER + TEMPLATE).replace(old, new, 1))
    done = nodelint("check", ".", "--select", "idle-capacity-buffer", "--format", "json")
    messages = [finding["message"] for finding in json.loads(done.stdout)["findings"]]
    assert len(messages) == len(expected)
    assert all(part in message for part, message in zip(expected, messages, strict=True)), messages


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", None),
        ("replicas", "replica", "`replica` is not a known field (did you mean `replicas`?)"),
        ("replicas: 2", 'replicas: "2"', "`replicas` must be an integer, but is the string `2`"),
        ("{name: spare}", "{}", "required field `name` is missing"),
    ],
)
@pytest.mark.parametrize("given", ["file", "folder", "standard input"])
def test_a_buffer_alone_is_judged_by_its_schema(
    here: Path, nodelint: Run, old: str, new: str, expected: str | None, given: str
) -> None:
    (here / "pools.yaml").unlink()
    text = BUFFER.replace(f"podTemplateRef: {old}", f"podTemplateRef: {new}") if old.startswith("{") else BUFFER
    text = text if old.startswith("{") else text.replace(old, new, 1)
    (here / "buffer.yaml").write_text(text)
    path = {"file": "buffer.yaml", "folder": ".", "standard input": "-"}[given]
    done = nodelint("check", path, "--format", "json", stdin=text if path == "-" else None)
    report = json.loads(done.stdout)
    messages = [finding["message"] for finding in report["findings"]]
    assert (done.returncode, report["summary"]["objects"]) == (1 if expected else 0, 1)
    assert (
        [message.startswith(expected or "") for message in messages]
        == [True] * len(messages)
        == [True] * bool(expected)
    )


def test_a_misspelt_field_of_a_buffer_is_mended(here: Path, nodelint: Run) -> None:
    (here / "pools.yaml").unlink()
    (here / "buffer.yaml").write_text(BUFFER.replace("replicas", "replica").replace("Ref: {name", "Ref: {nam"))
    assert nodelint("check", ".", "--fix").returncode == 0
    assert (here / "buffer.yaml").read_text() == BUFFER


def test_a_file_is_read_for_what_its_pods_select_and_not_for_its_labels(here: Path, nodelint: Run) -> None:
    """Labels of pods often have the keys of those of nodes: such files are passed over unparsed."""
    text = pod("nodeSelector: {other: label}").replace("nodeSelector", "selector").replace("name: web", "name: 'team")
    (here / "web.yaml").write_text(text)
    assert "web.yaml" not in nodelint("check", ".", "--show-files").stdout
    done = nodelint("check", ".")
    assert done.returncode == 0 and "web.yaml" not in done.stdout + done.stderr


GPU_POOL = (
    "key: kubernetes.io/arch, operator: In, values: [amd64]",
    "key: karpenter.k8s.aws/instance-category, operator: In, values: [m, g]",
)
STANDARD = "{name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250715, owner: amazon}"
SELECTS = "nodeSelector: {karpenter.k8s.aws/instance-category: g}"
ASKS = f"{SELECTS}\ncontainers: [{{name: a, image: a, resources: {{limits: {{%s: 1}}}}}}]"


@pytest.mark.parametrize(
    ("expected", "image", "other", "has_match"),
    [
        ("nvidia.com/gpu", STANDARD, False, True),
        ("cpu", STANDARD, False, False),
        ("nvidia.com/gpu", STANDARD.replace("standard", "nvidia"), False, False),
        ("nvidia.com/gpu", "{alias: al2023@v20250715}", False, False),
        ("nvidia.com/gpu", "{id: ami-0123456789abcdef0}", False, False),
        ("nvidia.com/gpu", STANDARD, True, False),
    ],
)
def test_a_workload_that_only_nodes_without_its_driver_take_is_told_at_the_pool(
    tmp_path: Path, nodelint: Run, expected: str, image: str, other: bool, has_match: bool
) -> None:
    """`RequestedResourcesRegistered` of core's pkg/controllers/nodeclaim/lifecycle/initialization.go@v1.14.1:132."""
    (tmp_path / ".git").mkdir()
    node_class = nodeclass("amiFamily: AL2023").replace("{alias: al2023@v20250403}", image)
    (tmp_path / "pools.yaml").write_text(f"{nodepool(*GPU_POOL)}---\n{node_class}")
    if other:
        second = nodepool(*GPU_POOL, name="other", node_class="other")
        (tmp_path / "other.yaml").write_text(f"{second}---\n{nodeclass(name='other')}")
    (tmp_path / "web.yaml").write_text(pod(ASKS % expected))
    report = json.loads(nodelint("check", ".", "--format", "json").stdout)
    found = [finding for finding in report["findings"] if finding["rule"] == "gpu-image-gap"]
    assert [finding["related"][1]["message"] for finding in found] == [
        "asks for GPUs, and no pool with a driver accepts it"
    ] * has_match


SEVERAL = "---\n".join(
    [
        nodepool("key: team, operator: In, values: [batch]", name="web"),
        nodepool(
            "key: karpenter.k8s.aws/instance-family, operator: In, values: [g6]",
            name="gpu",
            template="      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n",
        ),
        nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", name="plain"),
    ]
)
NEAREST = {
    "web": "nodeSelector: {team: batch}\ncontainers: [{name: a, resources: {requests: {cpu: 5000}}}]",
    "gpu": "nodeSelector: {karpenter.sh/nodepool: gpu}\ntolerations: [{key: nvidia.com/gpus, operator: Exists}]",
    "plain": "nodeSelector: {karpenter.sh/nodepool: plain, kubernetes.io/arch: arm64}",
}


@pytest.mark.parametrize("pool", NEAREST)
def test_the_pool_that_the_workload_is_written_for_is_named(here: Path, nodelint: Run, pool: str) -> None:
    (here / "pools.yaml").write_text(f"{SEVERAL}---\n{nodeclass()}")
    (here / "web.yaml").write_text(pod(NEAREST[pool]))
    (finding,) = findings_of(nodelint)
    assert finding["message"].startswith(f"no NodePool accepts its pods; `{pool}`: ")
    assert finding["help"].endswith("shows why")
    assert not any("resources=" in place["message"] for place in finding.get("also", []))


def test_the_finding_is_about_the_pool_that_an_edit_opens(nodelint: Run, tmp_path: Path) -> None:
    """The pool that an edit of the workload opens is named first, and each pool once."""
    family = "key: karpenter.k8s.aws/instance-family, operator: In, values: "
    taint = "      taints: [{key: dedicated, value: gpu, effect: NoSchedule}]\n"
    pools = [nodepool(f"{family}[m7i]", name="web"), nodepool(f"{family}[g5]", name="gpu", template=taint)]
    job = "spec: {template: {spec: {nodeSelector: {karpenter.k8s.aws/instance-gpu-manufacturer: nvidia}, "
    job += 'containers: [{name: a, image: a, resources: {limits: {nvidia.com/gpu: "1"}}}]}}}\n'
    text = "---\n".join([*pools, f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: train}}\n{job}"])
    write_files(tmp_path, {".git/HEAD": "", "all.yaml": f"{text}---\n{nodeclass()}"})
    shown = nodelint("check", "--select", "no-pool-for-workload", ".").stdout
    assert "no NodePool accepts its pods; `gpu`: the taint dedicated=gpu:NoSchedule is not tolerated" in shown, shown
    assert "tolerate `dedicated=gpu:NoSchedule`, and pool `gpu` takes it" in shown
    assert shown.count("`web` cannot take the pods") == shown.count("`gpu` cannot take the pods") == 1
