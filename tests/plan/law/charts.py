"""Charts: a value of a chart's template from whatever gives values to it, by way of any expression."""
# ruff: noqa: E501  (a file that is written stands in one line)

from __future__ import annotations

from random import Random

from tests.plan.installers import INSTALLERS, NOT_TOLD_APART
from tests.plan.law.made import Maker, Tree, objects_with

EXPRESSIONS = (
    "{{ V }}",
    "{{ V | quote }}",
    '{{ V | default "none" }}',
    '{{ printf "%s-a" V }}',
    '{{ include "team" . }}',
    "{{ tpl V . }}",
    "{{ if V }}a-{{ V }}{{ else }}b{{ end }}",
    "{{ with V }}{{ . }}{{ else }}b{{ end }}",
    '{{ ternary V "z" (not (empty V)) }}',
    '{{ V }}-{{ (lookup "v1" "ConfigMap" "a" "b").data.c }}',
    '{{ printf "%s-%s" V .Capabilities.KubeVersion.Version }}',
    "{{ V | sha256sum | trunc 8 }}",
    '{{ required "no team" V }}',
    "{{ V }}-{{ .Release.Namespace }}",
    "{{ $team := V }}{{ $team }}",
    "{{ coalesce .Values.none V }}",
    "{{ V | upper | trunc 63 }}",
    '{{ get (dict "a" V) "a" }}',
    '{{ list V "b" | join "-" }}',
    "{{ V }}-{{ .Values.unset }}",
    '{{ .Files.Get "FILE" | trim }}',
    '{{ (.Files.Get "JSON" | fromJson).team }}',
    '{{ regexReplaceAll "[^a-z0-9]" V "-" }}',
    '{{ (index .Values "KEYS") }}',
)
GIVERS = (
    "own values",
    "a file beside",
    "an umbrella",
    "an umbrella by alias",
    "global values",
    "flux values",
    "flux config map",
    "flux secret",
    "flux values key",
    "argo valuesObject",
    "argo values",
    "argo parameters",
    "argo value files",
    "argo several sources",
    "argo file parameters",
    "set of a list",
    "set of git files",
    "set of git folders",
    "set of clusters",
    "set of a matrix",
    "helmfile values",
    "helmfile inline",
    "helmfile template",
    "helmfile environment",
    "helmfile set",
    "kustomize file",
    "kustomize inline",
    "script file",
    "script set",
    "terraform file",
    *["outer chart"] * 12,
    *["installer"] * 8,
)
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
  generators:
GENERATORS  template:
    metadata: {name: 'nodes-NAME'}
    spec:
      project: default
      destination: {name: 'NAME', namespace: karpenter}
      sources:
        - repoURL: https://example.com/x.git
          path: chart
          helm: HELM
        - {repoURL: https://example.com/x.git, ref: values}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nodes, namespace: karpenter}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}
"""
_WHOLE = ("flux secret", "helmfile template", "helmfile environment", "script set")
"""What gives values that are not read: all of them count."""
REPO = "https://example.com/x.git"


def make(random: Random) -> Tree:
    """Return a tree with a chart, and what gives it a value."""
    maker = Maker(random)
    giver = maker.pick(*GIVERS)
    key = maker.pick("team", "nodes.team", "node_tags.team")
    if giver == "global values":
        key = f"global.{key}"
    value = f".Values.{key}"
    expression = maker.pick(*EXPRESSIONS)
    keys = key.split(".")
    code = (
        expression.replace("V", "\0").replace("\0alues", "Values").replace("\0ersion", "Version").replace("\0", value)
    )
    if "KEYS" in code:
        code = code.replace('"KEYS"', " ".join(f'"{part}"' for part in keys))
    folder = "up/charts/nodes" if giver in ("an umbrella", "global values") else "chart"
    uses_file = "FILE" in code or "JSON" in code
    if uses_file:
        path = f"{folder}/files/team.txt"
        text = maker.input(path) if "FILE" in code else '{"team": "' + maker.input(path) + '"}'
        maker.add(path, text)
        maker.add(f"{folder}/files/other.txt", "a")
        code = code.replace("FILE", "files/team.txt").replace("JSON", "files/team.txt")
    _write_chart(maker, folder, code, value)
    own = f"{folder}/values.yaml"
    text = maker.input(own) if giver == "own values" and not uses_file else "none"
    maker.add(own, _nested(keys, text) + f"other: {maker.decoy(own)}\n")
    if giver in ("outer chart", "installer"):
        _install(maker, giver, keys, uses_file)
    else:
        _give(maker, giver, keys, uses_file)
    return maker.tree("chart")


def _write_chart(maker: Maker, folder: str, code: str, value: str) -> None:
    maker.add(f"{folder}/Chart.yaml", "apiVersion: v2\nname: nodes\nversion: 0.1.0\n")
    of_pool = maker.random.random() < 0.4
    helpers = f"{folder}/templates/_helpers.tpl"
    if "include" in code:
        maker.add(helpers, f'{{{{ define "team" }}}}{maker.input(helpers)}-{{{{ {value} }}}}{{{{ end }}}}\n')
    if "tpl" not in code:  # the text that is filled in may name any template
        maker.add(helpers, f'{{{{ define "unused" }}}}{maker.decoy(helpers)}{{{{ end }}}}\n')
    shape = maker.pick("plain", "range", "switch")
    text = objects_with(code, of_pool)
    if shape == "range":
        text = (
            '{{- range $name, $on := dict "web" true }}\n'
            + objects_with(
                code.replace(".Values", "$.Values")
                .replace(".Files", "$.Files")
                .replace(".Release", "$.Release")
                .replace(".Capabilities", "$.Capabilities")
                .replace(" . }}", " $ }}")
                .replace("{{ $ }}", "{{ . }}"),
                of_pool,
            )
            + "---\n{{- end }}\n"
        )
    elif shape == "switch":
        text = "{{- if not .Values.off }}\n" + text + "{{- end }}\n"
    maker.add(f"{folder}/templates/all.yaml", text)


def _nested(keys: list[str], text: str, indent: str = "") -> str:
    """Return values as YAML."""
    lines = [f"{indent}{'  ' * n}{key}:" for n, key in enumerate(keys)]
    return "\n".join(lines) + f" {text}\n"


def _flow(keys: list[str], text: str) -> str:
    """Return values as YAML in one line."""
    return "".join(f"{{{key}: " for key in keys) + text + "}" * len(keys)


def _install(maker: Maker, giver: str, keys: list[str], is_used: bool) -> None:
    """Write what installs the chart, or a chart around it, with a value: in any form."""
    name = maker.pick(*INSTALLERS)
    chart, path = "chart", ".".join(keys)
    if giver == "outer chart":
        chart, key = "up", maker.pick("nodes", "prod")
        path = path if keys[0] == "global" else f"{key}.{path}"
        alias = ", alias: prod" if key == "prod" else ""
        item = f"{{name: nodes, version: 0.1.0{alias}, repository: 'file://../chart'}}"
        maker.add("up/Chart.yaml", f"apiVersion: v2\nname: up\nversion: 0.1.0\ndependencies:\n  - {item}\n")
    elif name == "the chart's own values":
        return
    if is_used and name in NOT_TOLD_APART:
        return
    text = maker.name("t")
    for file, written in INSTALLERS[name](chart, path, text).items():
        maker.add(file, written)
        if text in written:
            (maker.outside if is_used else maker.inputs).append((file, text, text.replace("x", "y")))
    maker.add("README.md", f"A text: {maker.decoy('README.md')}\n")


def _give(maker: Maker, giver: str, keys: list[str], is_used: bool) -> None:
    """Write what gives the chart a value. Where the template takes a file instead, nothing depends on that."""
    if is_used and giver in _WHOLE:
        return
    take = maker.decoy if is_used else maker.input
    path = ".".join(keys)
    kind, _, way = giver.partition(" ")
    if giver == "a file beside":
        maker.add("chart/values-prod.yaml", _nested(keys, take("chart/values-prod.yaml")))
    elif kind == "an" or giver == "global values":
        _give_umbrella(maker, giver, keys, take)
    elif kind == "flux":
        _give_flux(maker, way, keys, take)
    elif kind == "argo":
        _give_argo(maker, way, keys, take)
    elif kind == "set":
        _give_set(maker, giver, keys, take)
    elif kind == "helmfile":
        _give_helmfile(maker, way, keys, take)
    elif kind == "kustomize":
        head = "helmGlobals: {chartHome: .}\nhelmCharts:\n  - name: chart\n    releaseName: nodes\n"
        if way == "file":
            maker.add("kustomization.yaml", head + "    valuesFile: prod.yaml\n")
            maker.add("prod.yaml", _nested(keys, take("prod.yaml")) + f"more: {maker.decoy('prod.yaml')}\n")
        else:
            maker.add("kustomization.yaml", f"{head}    valuesInline: {_flow(keys, take('kustomization.yaml'))}\n")
    elif giver == "script file":
        maker.add("deploy.sh", "helm upgrade --install nodes ./chart -f envs/nodes.yaml\n")
        maker.add(
            "envs/nodes.yaml", _nested(keys, take("envs/nodes.yaml")) + f"other: {maker.decoy('envs/nodes.yaml')}\n"
        )
    elif giver == "script set":
        maker.add("deploy.sh", f"helm upgrade --install nodes ./chart --set {path}={take('deploy.sh')}\n")
    elif giver == "terraform file":
        maker.add("main.tf", 'resource "helm_release" "n" {\n  name = "n"\n  chart = "${path.module}/chart"\n')
        maker.add("main.tf", '  values = [file("${path.module}/envs/nodes.yaml")]\n}\n')
        maker.add(
            "envs/nodes.yaml", _nested(keys, take("envs/nodes.yaml")) + f"other: {maker.decoy('envs/nodes.yaml')}\n"
        )


def _give_umbrella(maker: Maker, giver: str, keys: list[str], take) -> None:  # type: ignore[no-untyped-def]
    own = "up/values.yaml"
    chart = "apiVersion: v2\nname: up\nversion: 0.1.0\ndependencies:\n"
    if giver == "an umbrella by alias":
        chart += "  - {name: nodes, version: 0.1.0, alias: prod, repository: 'file://../chart'}\n"
        maker.add(own, "prod:\n" + _nested(keys, take(own), "  ") + f"more: {maker.decoy(own)}\n")
    elif giver == "an umbrella":
        chart += "  - {name: nodes, version: 0.1.0}\n"
        maker.add(own, "nodes:\n" + _nested(keys, take(own), "  ") + f"more: {maker.decoy(own)}\n")
    else:
        chart += "  - {name: nodes, version: 0.1.0}\n"
        maker.add(own, _nested(keys, take(own)) + f"more: {maker.decoy(own)}\n")
    maker.add("up/Chart.yaml", chart)


def _give_flux(maker: Maker, way: str, keys: list[str], take) -> None:  # type: ignore[no-untyped-def]
    path = "apps/release.yaml"
    if way == "values":
        maker.add(path, f"{RELEASE}  values:\n{_nested(keys, take(path), '    ')}    more: {maker.decoy(path)}\n")
        return
    kind = "Secret" if way == "secret" else "ConfigMap"
    holder = "apps/held.yaml"
    field = "stringData" if kind == "Secret" else "data"
    maker.add(holder, f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: held, namespace: karpenter}}\n{field}:\n")
    if way == "values key":
        maker.add(
            path,
            f"{RELEASE}  valuesFrom:\n    - {{kind: {kind}, name: held, valuesKey: team, targetPath: {'.'.join(keys)}}}\n",
        )
        maker.add(holder, f"  team: {take(holder)}\n  more: {maker.decoy(holder)}\n")
    else:
        maker.add(path, f"{RELEASE}  valuesFrom:\n    - {{kind: {kind}, name: held}}\n")
        maker.add(holder, f"  values.yaml: |\n{_nested(keys, take(holder), '    ')}  more: {maker.decoy(holder)}\n")
    maker.add(path, f"  interval: {maker.name('i')}\n")


def _give_argo(maker: Maker, way: str, keys: list[str], take) -> None:  # type: ignore[no-untyped-def]
    path = "apps/nodes.yaml"
    source = f"  source:\n    repoURL: {REPO}\n    path: chart\n    targetRevision: HEAD\n    helm:\n"
    if way == "valuesObject":
        maker.add(path, f"{APPLICATION}{source}      valuesObject:\n{_nested(keys, take(path), '        ')}")
        maker.add(path, f"        more: {maker.decoy(path)}\n")
    elif way == "values":
        maker.add(path, f"{APPLICATION}{source}      values: |\n{_nested(keys, take(path), '        ')}")
        maker.add(path, f"        more: {maker.decoy(path)}\n")
    elif way == "parameters":
        maker.add(
            path,
            f"{APPLICATION}{source}      parameters:\n        - {{name: {'.'.join(keys)}, value: {take(path)}}}\n",
        )
        maker.add(path, f"        - {{name: more, value: {maker.decoy(path)}}}\n")
    elif way == "file parameters":
        maker.add(
            path,
            f"{APPLICATION}{source}      fileParameters:\n        - {{name: {'.'.join(keys)}, path: files/t.txt}}\n",
        )
        maker.add("chart/files/t.txt", take("chart/files/t.txt"))
    elif way == "value files":
        maker.add(path, f"{APPLICATION}{source}      valueFiles: [../envs/prod.yaml]\n")
        maker.add(
            "envs/prod.yaml", _nested(keys, take("envs/prod.yaml")) + f"more: {maker.decoy('envs/prod.yaml')}\n"
        )
    else:
        maker.add(path, f"{APPLICATION}  sources:\n    - {{repoURL: {REPO}, ref: values}}\n    - repoURL: {REPO}\n")
        maker.add(path, "      path: chart\n      helm: {valueFiles: [$values/envs/prod.yaml]}\n")
        maker.add(
            "envs/prod.yaml", _nested(keys, take("envs/prod.yaml")) + f"more: {maker.decoy('envs/prod.yaml')}\n"
        )


def _give_set(maker: Maker, giver: str, keys: list[str], take) -> None:  # type: ignore[no-untyped-def]
    path = "apps/set.yaml"
    helm = f"{{valuesObject: {_flow(keys, chr(39) + '{{.team}}' + chr(39))}}}"
    name = "{{.cluster}}"
    if giver == "set of a list":
        made = f"    - list: {{elements: [{{cluster: dev, team: {take(path)}, more: {maker.decoy(path)}}}]}}\n"
    elif giver == "set of git files":
        holder = "clusters/prod/config.json"
        maker.add(holder, f'{{"cluster": "prod", "team": "{take(holder)}", "more": "{maker.decoy(holder)}"}}')
        made = f"    - git: {{repoURL: {REPO}, revision: HEAD, files: [{{path: 'clusters/*/config.json'}}]}}\n"
    elif giver == "set of git folders":
        holder = "clusters/prod/nodes.yaml"
        maker.add(holder, _nested(keys, take(holder)) + f"more: {maker.decoy(holder)}\n")
        made = f"    - git: {{repoURL: {REPO}, revision: HEAD, directories: [{{path: 'clusters/*'}}]}}\n"
        helm, name = "{valueFiles: ['$values/clusters/{{.path.basename}}/nodes.yaml']}", "{{.path.basename}}"
    elif giver == "set of clusters":
        holder = "clusters/prod.yaml"
        maker.add(holder, _nested(keys, take(holder)) + f"more: {maker.decoy(holder)}\n")
        made, name = "    - clusters: {}\n", "{{.name}}"
        helm = "{valueFiles: ['$values/clusters/{{.name}}.yaml']}"
    else:
        made = "    - matrix:\n        generators:\n          - clusters: {}\n"
        made += f"          - list: {{elements: [{{team: {take(path)}, more: {maker.decoy(path)}}}]}}\n"
        name = "{{.name}}"
    maker.add(path, SET.replace("GENERATORS", made).replace("NAME", name).replace("HELM", helm))


def _give_helmfile(maker: Maker, way: str, keys: list[str], take) -> None:  # type: ignore[no-untyped-def]
    path = "helmfile.yaml"
    head = "releases:\n  - name: nodes\n    namespace: karpenter\n    chart: ./chart\n"
    if way == "values":
        maker.add(path, f"{head}    values: [values/nodes.yaml]\n")
        maker.add(
            "values/nodes.yaml",
            _nested(keys, take("values/nodes.yaml")) + f"more: {maker.decoy('values/nodes.yaml')}\n",
        )
    elif way == "inline":
        maker.add(
            path, f"{head}    values:\n      - {_flow(keys, take(path))}\n      - {{more: {maker.decoy(path)}}}\n"
        )
    elif way == "set":
        maker.add(path, f"{head}    set:\n      - {{name: {'.'.join(keys)}, value: {take(path)}}}\n")
    elif way == "template":
        maker.add(
            path, f"environments:\n  prod: {{values: [envs/prod.yaml]}}\n---\n{head}    values: [nodes.yaml.gotmpl]\n"
        )
        maker.add("nodes.yaml.gotmpl", _nested(keys, "{{ .Values.ownTeam }}"))
        maker.add("envs/prod.yaml", f"ownTeam: {take('envs/prod.yaml')}\n")
    else:
        maker.add("helmfile.yaml.gotmpl", "environments:\n  prod:\n    values:\n")
        maker.add(
            "helmfile.yaml.gotmpl", f"      - ownTeam: {take('helmfile.yaml.gotmpl')}\n---\n{head}    values:\n"
        )
        maker.add("helmfile.yaml.gotmpl", f"      - {_flow(keys, '{{ .Values.ownTeam }}')}\n")
