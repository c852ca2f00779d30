"""A plan of a change to the Kubernetes version of a cluster, in each form that creates clusters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.plan.test_plan import BOTH
from tests.plan.test_plan_command import put

Run = Callable[..., CompletedProcess[str]]

_STACK = (
    "Parameters:\n  V: {{Type: String{}}}\nResources:\n  C:\n    Type: AWS::EKS::Cluster\n"
    "    Properties: {{Version: {}}}\n"
)
_ACK = "apiVersion: eks.services.k8s.aws/v1alpha1\nkind: Cluster\nmetadata: {{name: {}}}\nspec:\n  version: {}\n"

MOVES = {
    "CloudFormation": {"c.yaml": _STACK.format("", "'1.29'")},
    "default of a parameter": {"c.yaml": _STACK.format(", Default: '1.29'", "!Ref V")},
    "ACK": {"c.yaml": _ACK.format("x", "'1.29'")},
    "chart": {
        "c/Chart.yaml": "name: c\nversion: 1.0.0\n",
        "c/values.yaml": "k8s: '1.29'\n",
        "c/templates/c.yaml": _ACK.format("{{ .Values.name }}", "{{ .Values.k8s | quote }}"),
    },
    "command": {"up.sh": "aws eks update-cluster-version --name x \\\n  --kubernetes-version 1.29\n"},
}
UNKNOWN = {
    "parameter": {
        "c.yaml": _STACK.format("", "!Ref V"),
        "p.json": '[{"ParameterKey": "V",\n"ParameterValue": "1.29"}]',
    },
    "Flux": {"c.yaml": _ACK.format("x", "'${K8S}'"), "vars.yaml": "kind: ConfigMap\ndata:\n  K8S: '1.29'\n"},
    "variable": {"up.sh": ". ./v.env\neksctl upgrade cluster --name x --version $K\n", "v.env": "K=1.29\n"},
    "function": {
        "c.yaml": "Mappings: {E: {prod: {K: '1.29'}}}\n" + _STACK.format("", "!FindInMap [E, prod, K]"),
    },
}


def plan_move(nodelint: Run, folder: Path, files: dict[str, str], pools: str = BOTH) -> CompletedProcess[str]:
    for path, text in {"a.yaml": pools, **files}.items():
        put(folder / "old" / path, text)
        put(folder / "new" / path, text.replace("1.29", "1.30"))
    return nodelint("plan", "--old", "old", "new")


@pytest.mark.parametrize("form", MOVES)
def test_a_new_version_of_the_cluster_replaces_nodes_of_an_alias(form: str, nodelint: Run, tmp_path: Path) -> None:
    done = plan_move(nodelint, tmp_path, MOVES[form])
    assert done.stdout.startswith("Kubernetes 1.29 -> 1.30"), done.stdout
    assert "AMIDrift" in done.stdout
    assert "is not known" not in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("form", UNKNOWN)
def test_an_unknown_version_whose_input_changes_is_not_compared(form: str, nodelint: Run, tmp_path: Path) -> None:
    done = plan_move(nodelint, tmp_path, UNKNOWN[form])
    assert "the cluster's Kubernetes version is not known" in done.stdout, done.stdout
    assert done.returncode == 1
    other = {path: text.replace("1.29", "1.28") for path, text in UNKNOWN[form].items()}
    done = plan_move(nodelint, tmp_path, {**other, "note.yaml": "about: '1.29'\n"})
    assert "No node is replaced." in done.stdout, done.stdout
    assert done.returncode == 0


PROGRAMS = {
    "lib/stack.ts": "new eks.Cluster(this, 'c', {\n  version: eks.KubernetesVersion.V1_29,\n});\n",
    "index.ts": "const c = new eks.Cluster('c', {\n  version: '1.29',\n});\n",
    "main.py": "c = aws.eks.Cluster('c', version='1.29')\n",
}
TWINS = {
    "lib/addon.ts": "new eks.CfnAddon(this, 'c', {\n  addonVersion: 'v1.29.0-eksbuild.1',\n});\n",
    "db.ts": "new rds.Cluster('c', {\n  version: '1.29',\n});\n",
}


@pytest.mark.parametrize("place", [*PROGRAMS, *TWINS])
def test_a_program_that_changes_the_version_of_a_cluster_is_not_compared(
    place: str, nodelint: Run, tmp_path: Path
) -> None:
    text = {**PROGRAMS, **TWINS}[place]
    put(tmp_path / "old" / place, text)
    put(tmp_path / "new" / place, text.replace("1.29", "1.30").replace("V1_29", "V1_30"))
    done = plan_move(nodelint, tmp_path, {})
    assert ("it has a Kubernetes version, which is not read" in done.stdout) is (place in PROGRAMS), done.stdout
    assert done.returncode == (1 if place in PROGRAMS else 0)


def test_images_by_id_do_not_depend_on_an_unknown_version(nodelint: Run, tmp_path: Path) -> None:
    by_id = BOTH.replace("alias: al2023@v20250403", "id: ami-0a1b2c3d").replace(
        "  role:", "  amiFamily: AL2023\n  role:"
    )
    done = plan_move(nodelint, tmp_path, UNKNOWN["Flux"], by_id)
    assert "No node is replaced." in done.stdout, done.stdout
    assert done.returncode == 0
