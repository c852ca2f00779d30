"""A static pool without room for a spare node: the gate TerminateFirstDrift decides, wherever it is stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_headline import STATIC, edited
from tests.repositories import write_files

FULL = edited(STATIC, ("nodes: 12", "nodes: 10"))
CHANGED = edited(FULL, ("{team: web}", "{team: api}"))
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter}
spec:
  chart: {spec: {chart: karpenter, version: 1.15.0}}
  values: {settings: {featureGates: {terminateFirstDrift: GATE}}}
"""
ARGO_CD = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter}
spec:
  source:
    repoURL: public.ecr.aws/karpenter
    chart: karpenter
    targetRevision: 1.15.0
    helm: {parameters: [{name: settings.featureGates.terminateFirstDrift, value: "GATE"}]}
  destination: {server: https://kubernetes.default.svc, namespace: karpenter}
"""
TERRAFORM = """\
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.15.0"
  values     = [yamlencode({ settings = { featureGates = { terminateFirstDrift = GATE } } })]
}
"""
CHART = """\
apiVersion: v2
name: install
version: 1.0.0
dependencies: [{name: karpenter, version: 1.15.0, repository: oci://public.ecr.aws/karpenter}]
"""
FORMS = {
    "flux": {"k.yaml": FLUX},
    "argocd": {"k.yaml": ARGO_CD},
    "terraform": {"k.tf": TERRAFORM},
    "chart": {
        "install/Chart.yaml": CHART,
        "install/values.yaml": "karpenter: {settings: {featureGates: {terminateFirstDrift: GATE}}}\n",
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("gate", "says"), (("true", "all its nodes are replaced"), ("false", "none is replaced.")))
def test_the_gate_is_read_from_files(tmp_path: Path, nodelint: Run, form: str, gate: str, says: str) -> None:
    install = {path: text.replace("GATE", gate) for path, text in FORMS[form].items()}
    write_files(tmp_path / "old", {"a.yaml": FULL, **install})
    write_files(tmp_path / "new", {"a.yaml": CHANGED, **install})
    text = nodelint("plan", "--old", str(tmp_path / "old"), str(tmp_path / "new")).stdout
    assert says in text
    assert "unless" not in text


def test_nobody_states_the_gate(tmp_path: Path, nodelint: Run) -> None:
    install = {"k.yaml": FLUX.replace("  values: {settings: {featureGates: {terminateFirstDrift: GATE}}}\n", "")}
    write_files(tmp_path / "old", {"a.yaml": FULL, **install})
    write_files(tmp_path / "new", {"a.yaml": CHANGED, **install})
    text = " ".join(nodelint("plan", "--old", str(tmp_path / "old"), str(tmp_path / "new")).stdout.split())
    assert "none is replaced." in text
    assert "unless the feature gate TerminateFirstDrift is on" in text
