"""Settings of the controller that a repository states, and what rules make of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from nodelint.inventory.controller_installs import find_installs
from nodelint.model.releases import NEWEST, Version
from nodelint.releases.settings import StatedSettings
from nodelint.text import Source
from tests.manifests import nodeclass, nodepool

Run = Callable[..., CompletedProcess[str]]

POOL = nodepool(
    "key: node.kubernetes.io/instance-type, operator: In, values: [c7i.large, m7i.large]",
    "key: karpenter.k8s.aws/instance-family, operator: Exists, minValues: 5",
    spec="  replicas: 2\n  limits: {nodes: 4}\n",
)
OVERLAY = """\
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: dearer}
spec: {requirements: [], priceAdjustment: "+45%"}
"""
EXPRESSION = nodeclass(
    "kubelet: {maxPods: 'min(110, max_pods)'}", role="nodes", ami="alias: al2023@v20260610", net="tags: {a: b}"
)


def helm_release(settings: str) -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\n"
        f"spec: {{chart: {{spec: {{chart: karpenter, version: {NEWEST}}}}}, values: {{settings: {settings}}}}}\n"
    )


ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: karpenter}}
spec:
  source: {{chart: karpenter, targetRevision: {release}, helm: {{valuesObject: {{settings: {settings}}}}}}}
"""
TERRAFORM = """\
resource "helm_release" "karpenter" {{
  chart   = "karpenter"
  version = "{release}"
  set {{
    name  = "settings.minValuesPolicy"
    value = "{policy}"
  }}
  set {{
    name  = "settings.featureGates.staticCapacity"
    value = {gate}
  }}
}}
"""


def write_json(policy: str, gate: str) -> str:
    """The same release of Helm in Terraform's JSON."""
    given = [
        {"name": "settings.minValuesPolicy", "value": policy},
        {"name": "settings.featureGates.staticCapacity", "value": gate},
    ]
    release = {"chart": "karpenter", "version": str(NEWEST), "set": given}
    return json.dumps({"resource": {"helm_release": {"karpenter": release}}})


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: karpenter}}
spec:
  template:
    spec:
      containers:
        - name: controller
          image: public.ecr.aws/karpenter/controller:{release}
          env:
            - {{name: MIN_VALUES_POLICY, value: {policy}}}
            - {{name: FEATURE_GATES, value: "StaticCapacity={gate},NodeOverlay=false"}}
"""


def settings_files(policy: str, gate: str) -> dict[str, tuple[str, str]]:
    """Each form in which a repository states a policy and a gate."""
    settings = f"{{clusterName: a, minValuesPolicy: {policy}, featureGates: {{staticCapacity: {gate}}}}}"
    stated = {"release": NEWEST, "policy": policy, "gate": gate, "settings": settings}
    return {
        "helmrelease": ("release.yaml", helm_release(settings)),
        "values": ("values.yaml", f"settings: {settings}\n"),
        "argo": ("app.yaml", ARGO.format(**stated)),
        "terraform": ("main.tf", TERRAFORM.format(**stated)),
        "terraform in JSON": ("main.tf.json", write_json(policy, gate)),
        "deployment": ("deployment.yaml", DEPLOYMENT.format(**stated)),
    }


def findings(nodelint: Run, *flags: str) -> dict[str, str]:
    done = nodelint("check", "--select", "too-few-values,feature-gate,kubelet-expression", "--format", "json", *flags)
    return {finding["rule"]: finding["severity"] for finding in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize("form", settings_files("", ""))
def test_what_a_repository_states_of_the_controller_counts(nodelint: Run, tmp_path: Path, form: str) -> None:
    (tmp_path / "pool.yaml").write_text(POOL, encoding="utf-8")
    assert findings(nodelint) == {"too-few-values": "error", "feature-gate": "info"}
    name, text = settings_files("BestEffort", "true")[form]
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert findings(nodelint) == {"too-few-values": "info"}
    assert findings(nodelint, "--karpenter-version", "1.5.0")["too-few-values"] == "error"  # it knows no such policy
    name, text = settings_files("Strict", "false")[form]
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert findings(nodelint) == {"too-few-values": "error", "feature-gate": "warning"}


def test_the_nearest_of_several_counts_and_none_where_they_disagree(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for cluster, policy in (("prod", "Strict"), ("dev", "BestEffort")):
        (tmp_path / cluster).mkdir()
        (tmp_path / cluster / "pool.yaml").write_text(POOL, encoding="utf-8")
        (tmp_path / cluster / "release.yaml").write_text(helm_release(f"{{minValuesPolicy: {policy}}}"))
    assert findings(nodelint, "prod")["too-few-values"] == "error"
    assert findings(nodelint, "dev")["too-few-values"] == "info"
    (tmp_path / "dev" / "other.yaml").write_text(helm_release("{minValuesPolicy: Strict}"))
    assert findings(nodelint, "dev")["too-few-values"] == "error"


@pytest.mark.parametrize(("gate", "found"), [("true", {}), ("false", {"feature-gate": "warning"})])
def test_the_gate_of_overlays(nodelint: Run, tmp_path: Path, gate: str, found: dict[str, str]) -> None:
    (tmp_path / "overlay.yaml").write_text(OVERLAY, encoding="utf-8")
    (tmp_path / "release.yaml").write_text(helm_release(f"{{featureGates: {{nodeOverlay: {gate}}}}}"))
    assert findings(nodelint) == found


@pytest.mark.parametrize("gate", [None, "true", "false"])
def test_the_gate_of_spot_nodes_that_replace_others(nodelint: Run, tmp_path: Path, gate: str | None) -> None:
    spot = "key: karpenter.sh/capacity-type, operator: In, values: [spot]"
    family = "key: karpenter.k8s.aws/instance-family, operator: In, values: [m6i, m7i]"
    size = "key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge, 2xlarge, 4xlarge]"
    (tmp_path / "pool.yaml").write_text(nodepool(spot, family, size), encoding="utf-8")
    stated = "{}" if gate is None else f"{{featureGates: {{spotToSpotConsolidation: {gate}}}}}"
    (tmp_path / "release.yaml").write_text(helm_release(stated))
    output = " ".join(nodelint("check", "--select", "few-spot-types").stdout.split())
    assert ("replaces no spot node" in output) == (gate == "true")
    assert ("8 instance types for spot" in output) == (gate != "true")


@pytest.mark.parametrize("gate", [None, "true", "false"])
def test_the_gate_of_expressions(nodelint: Run, tmp_path: Path, gate: str | None) -> None:
    (tmp_path / "class.yaml").write_text(EXPRESSION, encoding="utf-8")
    stated = "{}" if gate is None else f"{{awsFeatureGates: {{nodeClassCEL: {gate}}}}}"
    (tmp_path / "release.yaml").write_text(helm_release(stated))
    assert findings(nodelint) == ({"kubelet-expression": "error"} if gate == "false" else {})
    output = " ".join(nodelint("check", "--select", "kubelet-expression").stdout.split())
    assert ("does not know whether the feature gate NodeClassCEL is on" in output) == (gate is None)


def test_all_settings_can_be_asked() -> None:
    settings = "{reservedENIs: '1', vmMemoryOverheadPercent: 0.05, isolatedVPC: true, preferencePolicy: Ignore}"
    stated = StatedSettings(lambda: find_installs([Source.from_text("a/release.yaml", helm_release(settings))]))
    facts = stated.for_path("a/pool.yaml", NEWEST)
    requested = (
        "RESERVED_ENIS",
        "VM_MEMORY_OVERHEAD_PERCENT",
        "ISOLATED_VPC",
        "PREFERENCE_POLICY",
        "MIN_VALUES_POLICY",
    )
    assert [facts.setting(name) for name in requested] == ["1", "0.05", "true", "Ignore", None]
    assert facts.gate("StaticCapacity") is None
    assert stated.for_path("a/pool.yaml", Version(1, 3, 0)).setting("PREFERENCE_POLICY") is None
