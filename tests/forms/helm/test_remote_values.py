"""Values with pools and classes for charts whose templates are elsewhere: never "All good", nor nothing to check."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOLS = "nodePools:\n  default:\n    instanceTypes: [m5.large]\n    # karpenter\n"
JUDGED = (
    "nodePools:\n  default:\n    requirements:\n"
    "      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}\n"
)
CHART = "apiVersion: v2\nname: pools\nversion: 0.1.0\n"
TEMPLATE = """\
{{- range $name, $pool := .Values.nodePools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: {{ toJson $pool.instanceTypes }}
{{- end }}
"""


def indented(text: str, width: int) -> str:
    return "".join(" " * width + line + "\n" for line in text.splitlines())


def application(source: str, values: str = POOLS, kind: str = "Application") -> str:
    spec = f"source:\n  repoURL: https://example.com/charts\n{indented(source, 2)}  helm:\n    values: |\n"
    spec += indented(values, 6)
    if kind == "ApplicationSet":
        spec = "template:\n  spec:\n" + indented(spec, 4)
    return f"apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n{indented(spec, 2)}"


def release(chart: str, values: str = POOLS, more: str = "") -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: karpenter}\nspec:\n"
        f"  chart: {{spec: {{chart: {chart}, sourceRef: {{kind: GitRepository, name: a}}}}}}\n{more}"
        f"  values:\n{indented(values, 4)}"
    )


FORMS = {
    "an Application": ({"a.yaml": application("chart: karpenter-pools")}, "a.yaml", "karpenter-pools"),
    "an ApplicationSet": (
        {"a.yaml": application("path: 'charts/{{.name}}'", kind="ApplicationSet")},
        "a.yaml",
        "charts/{{.name}}",
    ),
    "a path that is not here": ({"a.yaml": application("path: elsewhere")}, "a.yaml", "elsewhere"),
    "a HelmRelease": ({"a.yaml": release("karpenter-pools")}, "a.yaml", "karpenter-pools"),
    "helmCharts of kustomize": (
        {
            "kustomization.yaml": "helmCharts:\n  - name: pools\n    repo: https://example.com\n    valuesInline:\n"
            + indented(POOLS, 6)
        },
        "kustomization.yaml",
        "pools",
    ),
    "a dependency": (
        {
            "c/Chart.yaml": CHART
            + "dependencies:\n  - {name: pools, version: 1.0.0, repository: https://example.com}\n",
            "c/values.yaml": "pools:\n" + indented(POOLS, 2),
        },
        "c/values.yaml",
        "",
    ),
    "a file of values": ({"values/prod.yaml": POOLS}, "values/prod.yaml", ""),
    "a class": ({"v.yaml": "karpenter:\n  ec2NodeClass:\n    amiFamily: AL2\n    role: a\n"}, "v.yaml", ""),
    "a list": ({"v.yaml": "karpenter:\n  node_pools:\n    - {name: a, capacityTypes: [spot]}\n"}, "v.yaml", ""),
}


def helm_release(values: str, chart: str = "karpenter-pools") -> str:
    return (
        f'resource "helm_release" "pools" {{\n  name = "karpenter"\n  chart = "{chart}"\n  values = [{values}]\n}}\n'
    )


MAP = 'nodePools = {\n      default = { instanceTypes = ["m5.large"] }\n    }'
MODULE = 'module "karpenter_pools" {{\n  source = "{}"\n  {}\n}}\n'
REGISTRY = "acme/karpenter-pools/aws"
FORMS |= {
    "yamlencode of a helm_release": (
        {"m.tf": helm_release(f"yamlencode({{\n    {MAP}\n  }})")},
        "m.tf",
        "karpenter-pools",
    ),
    "a merge of a helm_release": (
        {"m.tf": helm_release(f"jsonencode(merge(var.more, {{\n    {MAP}\n  }}))")},
        "m.tf",
        "karpenter-pools",
    ),
    "a local of a helm_release": (
        {"m.tf": helm_release("yamlencode({\n    nodePools = local.pools\n  })")},
        "m.tf",
        "karpenter-pools",
    ),
    "a heredoc of a helm_release": (
        {"m.tf": helm_release(f"<<-EOT\n{indented(POOLS, 4)}  EOT\n  ", "oci://example.com/pools")},
        "m.tf",
        "oci://example.com/pools",
    ),
    "a module of a registry": ({"m.tf": MODULE.format(REGISTRY, MAP)}, "m.tf", REGISTRY),
    "a module of git": (
        {"m.tf": MODULE.format("git::https://example.com/pools.git?ref=v1", "node_pools = var.pools")},
        "m.tf",
        "git::https://example.com/pools.git?ref=v1",
    ),
}


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    write_files(folder, files)


@pytest.mark.parametrize("form", FORMS)
def test_values_of_a_chart_that_is_elsewhere_are_named(nodelint: Run, tmp_path: Path, form: str) -> None:
    files, path, chart = FORMS[form]
    write(tmp_path, files)
    done = nodelint("check", "--format", "json", "--fail-on-unjudged", ".")
    report = json.loads(done.stdout)["coverage"]["notJudged"]
    line = 1 + next(
        number
        for number, text in enumerate(files[path].splitlines())
        if re.match(r"\s*(?:nodePools|ec2NodeClass|node_pools)(?::$| =)", text)
    )
    assert [(entry["path"], entry["line"]) for entry in report] == [(path, line)]
    assert chart in report[0]["reason"]
    assert done.returncode == 1
    first = nodelint("check", ".").stdout
    assert "All good" not in first and "Nothing to check" not in first
    assert report[0]["reason"] in nodelint("explain", ".").stderr


HERE = {"charts/pools/Chart.yaml": CHART, "charts/pools/templates/pools.yaml": TEMPLATE}
KNOWN = {
    "a chart of the repository": {**HERE, "charts/pools/values.yaml": POOLS},
    "an Application of it": {**HERE, "a.yaml": application("path: charts/pools")},
    "a HelmRelease of it": {**HERE, "a.yaml": release("./charts/pools")},
    "fields of Karpenter's": {"a.yaml": application("chart: pools", JUDGED)},
    "what is switched off": {"v.yaml": "karpenter:\n  nodePool:\n    enabled: false\n    capacityTypes: [spot]\n"},
    "a module of the repository": {"m.tf": MODULE.format("./pools", MAP)},
    "a chart of the repository by Terraform": {
        **HERE,
        "charts/pools/values.yaml": POOLS,
        "m.tf": helm_release(f"yamlencode({{\n    {MAP}\n  }})", "./charts/pools"),
    },
    "the roles of Karpenter": {
        "m.tf": MODULE.format("terraform-aws-modules/eks/aws//modules/karpenter", 'node_iam_role_name = "a"')
    },
    "Auto Mode": {
        "m.tf": MODULE.format(
            "terraform-aws-modules/eks/aws", 'compute_config = { node_pools = ["general-purpose"] }'
        )
    },
    "the pools of another cloud": {
        "m.tf": '# karpenter\nmodule "a" {\n  source = "acme/gke/google"\n'
        '  node_pools = [{ name = "a", zones = ["b"] }]\n}\n'
    },
    "the controller": {"v.yaml": "karpenter:\n  settings: {clusterName: a}\n  nodePool: {name: a}\n"},
}


@pytest.mark.parametrize("form", KNOWN)
def test_values_that_are_judged_or_make_nothing_are_not_named(nodelint: Run, tmp_path: Path, form: str) -> None:
    write(tmp_path, KNOWN[form])
    report = json.loads(nodelint("check", "--format", "json", ".").stdout)["coverage"]["notJudged"]
    assert not [entry for entry in report if re.search("values|goes to", entry["reason"])]


def test_values_in_a_secret_are_named(nodelint: Run, tmp_path: Path) -> None:
    more = "  valuesFrom:\n    - {kind: Secret, name: hidden}\n"
    write(tmp_path, {**HERE, "a.yaml": release("./charts/pools", more=more)})
    report = json.loads(nodelint("check", "--format", "json", ".").stdout)["coverage"]["notJudged"]
    assert [(entry["path"], entry["line"]) for entry in report] == [("a.yaml", 7)]
    assert "the values in the Secret `hidden` are not known" in report[0]["reason"]
