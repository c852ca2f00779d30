"""One mistake in a pool, its class or a workload, in each form, which passes the wrong value on."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from tests.forms.test_rules_in_forms import Code, Manifests, document, flow, hcl
from tests.plain_yaml import load_all_yaml

Files = dict[str, str]
GOOD: Manifests = list(
    load_all_yaml("""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  limits: {cpu: "100"}
  weight: 10
  disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 5m, budgets: [{nodes: 10%}]}
  template:
    metadata: {labels: {team: web}}
    spec:
      expireAfter: 336h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}
      taints: [{key: soft, effect: PreferNoSchedule}]
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, m6i, m7i]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, us-east-1b, us-east-1c]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: web}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@v20260618}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: x}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: x}}]
  kubelet: {maxPods: 58}
  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: 100Gi, volumeType: gp3, encrypted: true}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: web}
      containers: [{name: a, image: a, resources: {requests: {cpu: "1", memory: 1Gi}}}]
""")
)
_TEMPLATE = ("spec", "template", "spec")
_LINES = (*_TEMPLATE, "requirements")
_SIZES = {
    "key": "karpenter.k8s.aws/instance-size",
    "operator": "In",
    "values": ["large", "2xlarge", "48xlarge"],
    "minValues": 3,
}
_FAMILY = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m5", "m6i", "m7i"]}


class Mistake(NamedTuple):
    """The number of a manifest, the path of a value in it, and the wrong value."""

    index: int
    path: tuple[Any, ...]
    bad: Any

    @property
    def good(self) -> Any:
        """Return the value that is right."""
        found: Any = GOOD[self.index]
        for part in self.path:
            found = found[part]
        return found

    def write(self, value: Any) -> Manifests:
        """Return the manifests with a value in the place."""
        made = deepcopy(GOOD)
        at: Any = made[self.index]
        for part in self.path[:-1]:
            at = at[part]
        at[self.path[-1]] = value
        return made


def _values(number: int, *values: str) -> Mistake:
    return Mistake(0, (*_LINES, number, "values"), list(values))


MISTAKES = {
    "two families of another architecture": _values(0, "m6g", "m7g"),
    "a GPU without a taint": _values(0, "g5"),
    "a pattern": _values(0, "m5.*"),
    "a type as a family": _values(0, "m5.large"),
    "a family that is none": _values(0, "m4x"),
    "a region as a zone": _values(2, "us-east-1"),
    "a misspelled zone": _values(2, "us-esat-1a"),
    "a zone above those of the region": _values(2, "us-east-1z"),
    "another name of an architecture": _values(1, "x86_64"),
    "a misspelled key": Mistake(0, (*_LINES, 0, "key"), "karpenter.k8s.aws/instance-famly"),
    "a misspelled operator": Mistake(0, (*_LINES, 0, "operator"), "in"),
    "more values than there are": Mistake(0, (*_LINES, 0), {**_FAMILY, "minValues": 5}),
    "limits of zero": Mistake(0, ("spec", "limits", "cpu"), "0"),
    "limits that are no quantity": Mistake(0, ("spec", "limits", "cpu"), "100 cores"),
    "a kind that is none": Mistake(0, (*_TEMPLATE, "nodeClassRef", "kind"), "EC2Nodeclass"),
    "a weight as a text": Mistake(0, ("spec", "weight"), "10"),
    "a taint": Mistake(0, (*_TEMPLATE, "taints"), [{"key": "a", "value": "b", "effect": "NoSchedule"}]),
    "days as a duration": Mistake(0, (*_TEMPLATE, "expireAfter"), "14d"),
    "an hour that is none": Mistake(
        0, ("spec", "disruption", "budgets"), [{"nodes": "10%", "schedule": "0 25 * * *", "duration": "1h"}]
    ),
    "an alias of no family": Mistake(1, ("spec", "amiSelectorTerms", 0, "alias"), "al2024@v20260618"),
    "an alias without a version": Mistake(1, ("spec", "amiSelectorTerms", 0, "alias"), "al2023"),
    "no room for pods": Mistake(1, ("spec", "kubelet", "maxPods"), 0),
    "a group by the id of a subnet": Mistake(
        1, ("spec", "securityGroupSelectorTerms"), [{"id": "subnet-0123456789abcdef0"}]
    ),
    "a pool that is not there": Mistake(2, (*_TEMPLATE, "nodeSelector"), {"karpenter.sh/nodepool": "wbe"}),
    "more than the largest type": Mistake(2, (*_TEMPLATE, "containers", 0, "resources", "requests", "cpu"), "500"),
    "a family of mac": _values(0, "mac1"),
    "more values than the limits leave": Mistake(0, (*_LINES, 0), _SIZES),
    "an expression that does not compile": Mistake(1, ("spec", "kubelet"), {"kubeReserved": {"cpu": "lots"}}),
    "a volume size as a number": Mistake(1, ("spec", "blockDeviceMappings", 0, "ebs", "volumeSize"), 100),
}

_CHART = "apiVersion: v2\nname: pools\nversion: 0.1.0\n"
_REPOSITORY = "https://example.com/x.git"
_APPLICATION = f"""\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: pools, namespace: argocd}}
spec:
  project: default
  destination: {{server: https://kubernetes.default.svc, namespace: karpenter}}
  source:
    repoURL: {_REPOSITORY}
    path: chart
    helm:
      valuesObject:
"""
_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: karpenter}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}
  valuesFrom: [{kind: ConfigMap, name: given}]
"""
_CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given, namespace: karpenter}\ndata:\n  values.yaml: |\n"
)
_OUTER = """\
apiVersion: v2
name: outer
version: 1.0.0
dependencies:
  - {name: pools, version: 0.1.0, alias: np, repository: "file://../chart"}
"""
_HELM_RELEASE = """\
resource "helm_release" "p" {
  name   = "p"
  chart  = "${path.module}/chart"
  values = [yamlencode({ v = local.v })]
}
"""


def _documents(manifests: Manifests) -> str:
    return "---\n".join(map(document, manifests))


def _chart(mistake: Mistake, default: Any) -> Files:
    made = mistake.write(Code("{{ .Values.v | toJson }}"))
    return {
        "chart/Chart.yaml": _CHART,
        "chart/templates/pools.yaml": _documents(made),
        "chart/values.yaml": f"v: {flow(default)}\n",
    }


def _installed(more: Callable[[Any], Files]) -> Callable[[Mistake, Any], Files]:
    """Return a form with a chart whose default is right, and what gives it another value."""
    return lambda mistake, value: {**_chart(mistake, mistake.good), **more(value)}


def _base(manifests: Manifests) -> Files:
    files = {f"base/m{n}.yaml": document(manifest) for n, manifest in enumerate(manifests)}
    return {**files, "base/kustomization.yaml": document({"resources": [f"m{n}.yaml" for n in range(len(files))]})}


def _overlay(mistake: Mistake, value: Any) -> Files:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in mistake.path)
    patch = [{"op": "replace", "path": "/" + "/".join(steps), "value": value}]
    target = {"kind": GOOD[mistake.index]["kind"], "name": GOOD[mistake.index]["metadata"]["name"]}
    patches = f"patches:\n  - target: {flow(target)}\n    patch: |-\n      {flow(patch)}\n"
    return {**_base(GOOD), "prod/kustomization.yaml": f"resources: [../base]\n{patches}"}


def _component(mistake: Mistake, value: Any) -> Files:
    files = _overlay(mistake, value)
    patches = files["prod/kustomization.yaml"].partition("\n")[2]
    component = f"apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n{patches}"
    return {
        **files,
        "prod/kustomization.yaml": "resources: [../base]\ncomponents: [../place]\n",
        "place/kustomization.yaml": component,
    }


def _encoded(manifests: Manifests) -> str:
    return "".join(
        f'resource "kubectl_manifest" "m{n}" {{\n  yaml_body = yamlencode({hcl(manifest)})\n}}\n'
        for n, manifest in enumerate(manifests)
    )


def _heredocs(manifests: Manifests) -> str:
    return "".join(
        f'resource "kubectl_manifest" "m{n}" {{\n  yaml_body = <<YAML\n{document(manifest)}YAML\n}}\n'
        for n, manifest in enumerate(manifests)
    )


def _module(mistake: Mistake, value: Any) -> Files:
    main = _encoded(mistake.write(Code("var.v"))) + 'variable "v" {}\n'
    return {"m/main.tf": main, "main.tf": f'module "m" {{\n  source = "./m"\n  v = {hcl(value)}\n}}\n'}


def _terragrunt(mistake: Mistake, value: Any) -> Files:
    unit = f'terraform {{\n  source = "../m"\n}}\ninputs = {{\n  v = {hcl(value)}\n}}\n'
    return {"m/main.tf": _module(mistake, value)["m/main.tf"], "live/terragrunt.hcl": unit}


FORMS: dict[str, Callable[[Mistake, Any], Files]] = {
    "List": lambda mistake, value: {
        "pools.yaml": "apiVersion: v1\nkind: List\nitems:\n"
        + "".join(f"- {flow(manifest)}\n" for manifest in mistake.write(value))
    },
    "values.yaml": _chart,
    "values-prod.yaml": _installed(lambda value: {"chart/values-prod.yaml": f"v: {flow(value)}\n"}),
    "helmfile": _installed(
        lambda value: {
            "helmfile.yaml": "releases:\n  - name: pools\n    namespace: karpenter\n    chart: ./chart\n"
            f"    values:\n      - v: {flow(value)}\n"
        }
    ),
    "Application": _installed(lambda value: {"app.yaml": f"{_APPLICATION}        v: {flow(value)}\n"}),
    "HelmRelease": _installed(
        lambda value: {"release.yaml": _RELEASE, "given.yaml": f"{_CONFIG_MAP}    v: {flow(value)}\n"}
    ),
    "outer chart": _installed(
        lambda value: {"outer/Chart.yaml": _OUTER, "outer/values.yaml": f"np:\n  v: {flow(value)}\n"}
    ),
    "helm_release": _installed(lambda value: {"main.tf": f"locals {{\n  v = {hcl(value)}\n}}\n{_HELM_RELEASE}"}),
    "patch": _overlay,
    "component": _component,
    "locals": lambda mistake, value: {
        "main.tf": _encoded(mistake.write(Code("local.v"))),
        "locals.tf": f"locals {{\n  v = {hcl(value)}\n}}\n",
    },
    "heredoc": lambda mistake, value: {
        "main.tf": _heredocs(mistake.write(Code("${jsonencode(local.v)}"))),
        "locals.tf": f"locals {{\n  v = {hcl(value)}\n}}\n",
    },
    "module": _module,
    "Terragrunt": _terragrunt,
    "JSON": lambda mistake, value: {
        f"m{n}.json": json.dumps(manifest, indent=2) for n, manifest in enumerate(mistake.write(value))
    },
}


def write_plain(mistake: Mistake, value: Any) -> Files:
    """Return the manifests as they are."""
    return {"pools.yaml": _documents(mistake.write(value))}
