"""What installs a chart with one value, in each form: the files, for a chart's folder, a path in its values, a text."""
# ruff: noqa: E501  (a file that is written stands in one line)

from __future__ import annotations

from collections.abc import Callable

Installer = Callable[[str, str, str], dict[str, str]]

REPO = "https://example.com/x.git"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: nodes, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: karpenter}
"""
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: nodes, namespace: argocd}
spec:
  goTemplate: true
  generators: GENERATORS
  template:
    metadata: {name: 'nodes-{{.name}}'}
    spec:
      project: default
      destination: {name: '{{.name}}', namespace: karpenter}
      sources:
        - {repoURL: URL, path: CHART, helm: HELM}
        - {repoURL: URL, ref: values}
""".replace("URL", REPO)
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes, namespace: karpenter}
spec:
  interval: 5m
  chart: {spec: {chart: ./CHART, sourceRef: {kind: GitRepository, name: flux-system}}}
"""
GIT_FILES = f"[{{git: {{repoURL: {REPO}, revision: HEAD, files: [{{path: 'clusters/*.json'}}]}}}}]"
PATCH = """\
resources: [../flux]
patches:
  - target: {kind: HelmRelease}
    patch: |
      - op: replace
        path: /spec/values
        value: VALUES
"""


def nested(path: str, value: str, indent: str = "") -> str:
    """Return values as YAML."""
    keys = path.split(".")
    return "\n".join(f"{indent}{'  ' * n}{key}:" for n, key in enumerate(keys)) + f" {value}\n"


def flow(path: str, value: str) -> str:
    """Return values as YAML in one line."""
    keys = path.split(".")
    return "".join(f"{{{key}: " for key in keys) + value + "}" * len(keys)


def application(chart: str, helm: str) -> dict[str, str]:
    source = f"  source:\n    repoURL: {REPO}\n    path: {chart}\n    helm: {helm}\n"
    return {"apps/nodes.yaml": APPLICATION + source}


def application_set(chart: str, helm: str, generators: str) -> dict[str, str]:
    text = SET.replace("GENERATORS", generators).replace("CHART", chart).replace("HELM", helm)
    return {"apps/set.yaml": text}


def helm_release(chart: str, more: str = "") -> dict[str, str]:
    return {"flux/nodes.yaml": RELEASE.replace("CHART", chart) + more}


def terraform(chart: str, more: str) -> dict[str, str]:
    return {"main.tf": f'resource "helm_release" "n" {{\n  name = "n"\n  chart = "./{chart}"\n{more}}}\n'}


def _hcl(value: str) -> str:
    return value if value in ("true", "false") else f'"{value}"'


def helmfile(chart: str, more: str) -> dict[str, str]:
    return {"helmfile.yaml": f"releases:\n  - name: nodes\n    namespace: karpenter\n    chart: ./{chart}\n{more}"}


def inflated(chart: str, more: str) -> dict[str, str]:
    head = f"helmGlobals: {{chartHome: .}}\nhelmCharts:\n  - name: {chart}\n    releaseName: nodes\n"
    return {"kustomization.yaml": head + more}


def _app_of_apps(chart: str, path: str, value: str) -> dict[str, str]:
    helm = f"{{parameters: [{{name: {path}, value: '{{{{ .Values.given }}}}'}}]}}"
    return {
        "root/Chart.yaml": "apiVersion: v2\nname: root\nversion: 0.1.0\n",
        "root/values.yaml": f"given: {value}\nother: a\n",
        "root/templates/nodes.yaml": application(chart, helm)["apps/nodes.yaml"],
    }


HELD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, namespace: karpenter}\ndata:\n"
GENERATED = "resources: [nodes.yaml]\nnamespace: karpenter\nconfigMapGenerator:\n  - {name: held, files: [values.yaml=held.yaml]}\n"
REFERENCE = "  valuesFrom: [{kind: ConfigMap, name: held}]\n"
PROD = "envs/prod.yaml"

INSTALLERS: dict[str, Installer] = {
    "the chart's own values": lambda c, p, v: {f"{c}/values.yaml": nested(p, v)},
    "a file beside": lambda c, p, v: {f"{c}/values-prod.yaml": nested(p, v)},
    "argo parameters": lambda c, p, v: application(c, f"{{parameters: [{{name: {p}, value: '{v}'}}]}}"),
    "argo values": lambda c, p, v: application(c, "\n      values: |\n" + nested(p, v, "        ")),
    "argo valuesObject": lambda c, p, v: application(c, f"{{valuesObject: {flow(p, v)}}}"),
    "argo value files": lambda c, p, v: {**application(c, f"{{valueFiles: [../{PROD}]}}"), PROD: nested(p, v)},
    "argo several sources": lambda c, p, v: {
        "apps/nodes.yaml": f"{APPLICATION}  sources:\n    - {{repoURL: {REPO}, ref: values}}\n    - {{repoURL: {REPO}, path: {c}, helm: {{valueFiles: [$values/{PROD}]}}}}\n",
        PROD: nested(p, v),
    },
    "set of a list": lambda c, p, v: application_set(
        c,
        f"{{parameters: [{{name: {p}, value: '{{{{.given}}}}'}}]}}",
        f"[{{list: {{elements: [{{name: a, given: '{v}'}}]}}}}]",
    ),
    "set of git files": lambda c, p, v: {
        **application_set(c, "{valueFiles: ['$values/envs/{{.name}}.yaml']}", GIT_FILES),
        "clusters/a.json": '{"name": "prod"}',
        PROD: nested(p, v),
    },
    "set of clusters": lambda c, p, v: {
        **application_set(c, "{valueFiles: ['$values/envs/{{.name}}.yaml']}", "[{clusters: {}}]"),
        PROD: nested(p, v),
    },
    "app of apps": _app_of_apps,
    "flux values": lambda c, p, v: helm_release(c, "  values:\n" + nested(p, v, "    ")),
    "flux config map": lambda c, p, v: {
        **helm_release(c, REFERENCE),
        "flux/held.yaml": f"{HELD}  values.yaml: |\n{nested(p, v, '    ')}",
    },
    "flux target path": lambda c, p, v: {
        **helm_release(c, f"  valuesFrom: [{{kind: ConfigMap, name: held, valuesKey: a, targetPath: {p}}}]\n"),
        "flux/held.yaml": f"{HELD}  a: '{v}'\n",
    },
    "flux generated config map": lambda c, p, v: {
        **helm_release(c, REFERENCE),
        "flux/kustomization.yaml": GENERATED,
        "flux/held.yaml": nested(p, v),
    },
    "flux patched": lambda c, p, v: {
        **helm_release(c, "  values: {a: 1}\n"),
        "prod/kustomization.yaml": PATCH.replace("VALUES", flow(p, v)),
        "flux/kustomization.yaml": "resources: [nodes.yaml]\n",
    },
    "helmfile values": lambda c, p, v: {**helmfile(c, f"    values: [{PROD}]\n"), PROD: nested(p, v)},
    "helmfile inline": lambda c, p, v: helmfile(c, f"    values:\n      - {flow(p, v)}\n"),
    "helmfile set": lambda c, p, v: helmfile(c, f"    set:\n      - {{name: {p}, value: {v}}}\n"),
    "helmfile environment": lambda c, p, v: {
        "helmfile.yaml": "environments:\n  prod: {}\n---\n"
        + helmfile(c, "    values: ['envs/{{ .Environment.Name }}.yaml']\n")["helmfile.yaml"],
        PROD: nested(p, v),
    },
    "helmfile template": lambda c, p, v: {
        "helmfile.yaml": "environments:\n  prod: {values: [prod.yaml]}\n---\n"
        + helmfile(c, "    values: [nodes.yaml.gotmpl]\n")["helmfile.yaml"],
        "nodes.yaml.gotmpl": nested(p, "{{ .Values.given }}"),
        "prod.yaml": f"given: {v}\n",
    },
    "terraform values": lambda c, p, v: {
        **terraform(c, f'  values = [file("${{path.module}}/{PROD}")]\n'),
        PROD: nested(p, v),
    },
    "terraform set": lambda c, p, v: terraform(c, f'  set {{\n    name = "{p}"\n    value = "{v}"\n  }}\n'),
    "terraform object": lambda c, p, v: terraform(
        c,
        "  values = [yamlencode({ "
        + "{ ".join(f"{key} = " for key in p.split("."))
        + _hcl(v)
        + " }" * len(p.split("."))
        + ")]\n",
    ),
    "terraform variable": lambda c, p, v: {
        "main.tf": 'variable "given" {}\n'
        + terraform(c, f'  set {{\n    name = "{p}"\n    value = var.given\n  }}\n')["main.tf"],
        "terraform.tfvars": f'given = "{v}"\n',
    },
    "script values": lambda c, p, v: {
        "deploy.sh": f"helm upgrade --install nodes ./{c} -f {PROD}\n",
        PROD: nested(p, v),
    },
    "script set": lambda c, p, v: {"deploy.sh": f"helm upgrade --install nodes ./{c} --set {p}={v}\n"},
    "workflow set": lambda c, p, v: {
        ".github/workflows/d.yaml": f"on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: helm upgrade --install nodes ./{c} --set {p}={v}\n"
    },
    "kustomize inline": lambda c, p, v: inflated(c, f"    valuesInline: {flow(p, v)}\n"),
    "kustomize file": lambda c, p, v: {**inflated(c, "    valuesFile: prod.yaml\n"), "prod.yaml": nested(p, v)},
    "skaffold": lambda c, p, v: {
        "skaffold.yaml": f"apiVersion: skaffold/v4beta6\nkind: Config\ndeploy:\n  helm:\n    releases:\n      - {{name: nodes, chartPath: {c}, setValues: {{{p}: {v}}}}}\n"
    },
    "skaffold files": lambda c, p, v: {
        "skaffold.yaml": f"apiVersion: skaffold/v4beta6\nkind: Config\nmanifests:\n  helm:\n    releases:\n      - {{name: nodes, chartPath: {c}, valuesFiles: [{PROD}]}}\n",
        PROD: nested(p, v),
    },
    "ansible": lambda c, p, v: {
        "play.yml": f"- hosts: all\n  tasks:\n    - kubernetes.core.helm:\n        name: nodes\n        chart_ref: ./{c}\n        release_namespace: karpenter\n        values: {flow(p, v)}\n"
    },
    "fleet": lambda c, p, v: {"fleet.yaml": f"helm:\n  chart: ./{c}\n  values:\n{nested(p, v, '    ')}"},
    "fleet in the chart": lambda c, p, v: {f"{c}/fleet.yaml": f"helm:\n  values:\n{nested(p, v, '    ')}"},
    "pulumi": lambda c, p, v: {
        "Pulumi.yaml": f"name: x\nruntime: yaml\nresources:\n  n:\n    type: kubernetes:helm.sh/v3:Release\n    properties: {{chart: ./{c}, values: {flow(p, v)}}}\n"
    },
    "helmsman": lambda c, p, v: {
        "helmsman.yaml": f"apps:\n  nodes: {{enabled: true, chart: ./{c}, version: 0.1.0, set: {{{p}: '{v}'}}}}\n"
    },
}
NOT_TOLD_APART = ("helmfile template", "app of apps")
"""What gives texts that are compared as they are written, whichever value of the chart they are for."""
