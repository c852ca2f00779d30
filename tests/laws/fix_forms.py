"""Manifests written in every form: values in them, or elsewhere, where several objects may read them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.forms.test_rules_in_forms import Code, Manifests, document, flow, hcl

Files = dict[str, str]
CHART = "apiVersion: v2\nname: pools\nversion: 0.1.0\n"
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: pools, namespace: argocd}
spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: karpenter}
  source:
    repoURL: https://example.com/x.git
    path: chart
    targetRevision: HEAD
    helm:
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools, namespace: karpenter}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system}}}
"""


class Moved:
    """Values that are taken out of manifests, by the names that stand in their place; equal ones may share a name."""

    def __init__(self, random: Random, code: Callable[[str, Any], str], whole: float = 0.1) -> None:
        self.values: dict[str, Any] = {}
        self._random = random
        self._code = code
        self._whole = whole
        self._names: dict[str, str] = {}

    def move_out(self, value: Any) -> Any:
        """A manifest's part with code in the place of some values."""
        if isinstance(value, dict | list) and value:
            if self._random.random() < self._whole:
                return self.take(value)
            if isinstance(value, dict):
                return {key: self.move_out(item) for key, item in value.items()}
            return [self.move_out(item) for item in value]
        return self.take(value) if value is not None and self._random.random() < 0.3 else value

    def take(self, value: Any) -> Code:
        text = json.dumps(value)
        name = self._names.get(text)
        if name is None or self._random.random() < 0.3:
            name = f"value{len(self.values)}"
            self.values[name] = value
            self._names[text] = name
        return Code(self._code(name, value))

    def move_out_specs(self, manifests: Manifests) -> Manifests:
        """Manifests with code in their specs."""
        return [{**m, "spec": self.move_out(m["spec"])} if m.get("spec") else m for m in manifests]


def plain(manifests: Manifests, random: Random) -> Files:
    texts = [document(manifest) for manifest in manifests]
    if random.random() < 0.5:
        return {"pools.yaml": "---\n".join(texts)}
    return {f"m{n}.yaml": text for n, text in enumerate(texts)}


def anchors(manifests: Manifests, random: Random) -> Files:
    """One document of several objects: what is written once is read elsewhere by an alias."""
    seen: set[str] = set()

    def code(name: str, value: Any) -> str:
        if name in seen:
            return f"*{name}"
        seen.add(name)
        return f"&{name} {flow(value)}"

    made = Moved(random, code, 0.2).move_out_specs(manifests)
    return {"pools.yaml": "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {flow(m)}\n" for m in made)}


def _chart(manifests: Manifests, random: Random) -> tuple[Files, dict[str, Any]]:
    ways = ("{{{{ .Values.{} | toJson }}}}", "{{{{ toJson .Values.{} }}}}", "{{{{ $.Values.{} | toJson }}}}")
    way = random.choice(ways)
    moved = Moved(random, lambda name, _: way.format(name))
    made = moved.move_out_specs(manifests)
    files = {"chart/Chart.yaml": CHART, "chart/templates/pools.yaml": "---\n".join(map(document, made))}
    return files, moved.values


def _lines(values: dict[str, Any], indent: str = "") -> str:
    return "".join(f"{indent}{name}: {flow(value)}\n" for name, value in values.items())


def _pick_values(values: dict[str, Any], random: Random) -> dict[str, Any]:
    """Some of the values, for another file that gives them."""
    return {name: value for name, value in values.items() if random.random() < 0.5}


def chart(manifests: Manifests, random: Random) -> Files:
    files, values = _chart(manifests, random)
    files["chart/values.yaml"] = _lines(values) or "{}\n"
    if random.random() < 0.5:
        files["chart/values-prod.yaml"] = _lines(_pick_values(values, random)) or "{}\n"
    return files


def looped_chart(manifests: Manifests, random: Random) -> Files:
    """A template that makes an object of each entry of a list of values."""
    kinds: dict[tuple[str, str], Manifests] = {}
    for manifest in manifests:
        kinds.setdefault((str(manifest.get("apiVersion")), str(manifest.get("kind"))), []).append(manifest)
    texts, values = [], {}
    for number, ((version, kind), group) in enumerate(kinds.items()):
        values[f"objects{number}"] = [{"name": m["metadata"]["name"], "spec": m.get("spec") or {}} for m in group]
        texts.append(
            f"{{{{- range .Values.objects{number} }}}}\n---\napiVersion: {version}\nkind: {kind}\nmetadata:\n"
            "  name: {{ .name }}\nspec: {{- toYaml .spec | nindent 2 }}\n{{- end }}\n"
        )
    return {
        "chart/Chart.yaml": CHART,
        "chart/templates/pools.yaml": "".join(texts),
        "chart/values.yaml": _lines(values),
    }


def argo(manifests: Manifests, random: Random) -> Files:
    files, values = _chart(manifests, random)
    files["chart/values.yaml"] = _lines(values) or "{}\n"
    given = _pick_values(values, random)
    way = random.randrange(4)
    if way == 0:
        helm = f"      valuesObject:\n{_lines(given, ' ' * 8)}" if given else "      valuesObject: {}\n"
    elif way == 1:
        helm = f"      values: |\n{_lines(given, ' ' * 8)}" if given else "      values: ''\n"
    elif way == 2:
        flat = [{"name": n, "value": str(v)} for n, v in given.items() if isinstance(v, str | int)]
        helm = f"      parameters: {flow(flat)}\n"
    else:
        files["envs/prod.yaml"] = _lines(given) or "{}\n"
        helm = "      valueFiles: [../envs/prod.yaml]\n"
    return {**files, "apps/pools.yaml": APPLICATION + helm}


def flux_release(manifests: Manifests, random: Random) -> Files:
    files, values = _chart(manifests, random)
    files["chart/values.yaml"] = _lines(values) or "{}\n"
    given = _pick_values(values, random)
    release = f"{RELEASE}  values:\n{_lines(given, '    ')}" if given else RELEASE
    return {**files, "apps/pools.yaml": release}


def helmfile(manifests: Manifests, random: Random) -> Files:
    files, values = _chart(manifests, random)
    files["chart/values.yaml"] = _lines(values) or "{}\n"
    given = _pick_values(values, random)
    head = "releases:\n  - name: pools\n    namespace: karpenter\n    chart: ./chart\n"
    if random.random() < 0.5:
        files["values/prod.yaml"] = _lines(given) or "{}\n"
        return {**files, "helmfile.yaml": f"{head}    values: [values/prod.yaml]\n"}
    return {**files, "helmfile.yaml": f"{head}    values:\n      - {flow(given)}\n"}


def helm_release(manifests: Manifests, random: Random) -> Files:
    """A chart that Terraform installs."""
    files, values = _chart(manifests, random)
    files["chart/values.yaml"] = _lines(values) or "{}\n"
    given = _pick_values(values, random)
    moved = Moved(random, lambda name, _: f"local.{name}")
    made = f"values = [yamlencode({hcl({name: moved.move_out(value) for name, value in given.items()})})]"
    files["main.tf"] = (
        f'resource "helm_release" "pools" {{\n  name = "pools"\n  chart = "${{path.module}}/chart"\n  {made}\n}}\n'
        f"{_locals(moved.values)}"
    )
    return files


def overlays(manifests: Manifests, random: Random) -> Files:
    """A base and two overlays, of which each takes some fields from patches of its own."""
    files: Files = {}
    base: Manifests = []
    patches: list[list[dict[str, Any]]] = [[], []]
    for manifest in manifests:
        spec = manifest.get("spec") or {}
        apart = [key for key in spec if random.random() < 0.35] if isinstance(spec, dict) else []
        left = (
            {**manifest, "spec": {key: value for key, value in spec.items() if key not in apart}}
            if apart
            else manifest
        )
        base.append(left)
        target = {"kind": manifest["kind"], "name": manifest["metadata"]["name"]}
        for own in patches:
            for key in apart:
                if random.random() < 0.5:
                    patch = json.dumps([{"op": "add", "path": f"/spec/{key}", "value": spec[key]}])
                    own.append({"target": target, "patch": patch})
                else:
                    head = {name: manifest.get(name) for name in ("apiVersion", "kind", "metadata")}
                    own.append({"patch": document({**head, "spec": {key: spec[key]}})})
    files |= {f"base/m{n}.yaml": document(manifest) for n, manifest in enumerate(base)}
    files["base/kustomization.yaml"] = document({"resources": [f"m{n}.yaml" for n in range(len(base))]})
    for name, own in zip(("dev", "prod"), patches, strict=True):
        if name == "dev" and random.random() < 0.4:
            continue
        files[f"{name}/kustomization.yaml"] = (
            f"resources: [../base]\npatches:\n{_block_list(own)}" if own else ("resources: [../base]\n")
        )
    return files


def _block_list(patches: list[dict[str, Any]]) -> str:
    lines = []
    for patch in patches:
        lines.append(
            "  - " + (f"target: {flow(patch['target'])}\n    patch: |-\n" if "target" in patch else "patch: |-\n")
        )
        lines += [f"      {line}\n" for line in patch["patch"].splitlines()]
    return "".join(lines)


def replacements(manifests: Manifests, random: Random) -> Files:
    """Fields of the spec of which a ConfigMap holds the value, brought in by replacements."""
    data: dict[str, str] = {}
    made, rows = [], []
    for manifest in manifests:
        spec = manifest.get("spec") or {}
        own = deepcopy(manifest)
        for path in _text_paths(spec):
            if random.random() < 0.3:
                key = f"value{len(data)}"
                data[key] = _value_at(spec, path)
                _set_value(own["spec"], path, "replaced")
                target = {
                    "select": {"kind": manifest["kind"], "name": manifest["metadata"]["name"]},
                    "fieldPaths": [".".join(["spec", *map(str, path)])],
                }
                source = {"kind": "ConfigMap", "name": "given", "fieldPath": f"data.{key}"}
                rows.append({"source": source, "targets": [target]})
        made.append(own)
    given = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "given"}, "data": data}
    rest = {"resources": ["pools.yaml", "given.yaml"], "replacements": rows}
    return {
        "pools.yaml": "---\n".join(map(document, made)),
        "given.yaml": document(given),
        "kustomization.yaml": document(rest),
    }


def _text_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        if isinstance(item, str) and not any("." in str(part) for part in (*path, key)):
            yield (*path, key)
        yield from _text_paths(item, (*path, key))


def _value_at(value: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        value = value[part]
    return value


def _set_value(value: Any, path: tuple[Any, ...], new: Any) -> None:
    _value_at(value, path[:-1])[path[-1]] = new


def flux_variables(manifests: Manifests, random: Random) -> Files:
    """A folder of manifests with variables that a Kustomization of Flux fills in, for one cluster or two."""
    given: dict[str, str] = {}
    made = []
    for manifest in manifests:
        own = deepcopy(manifest)
        for path in _text_paths(manifest.get("spec") or {}):
            text = _value_at(manifest["spec"], path)
            if random.random() < 0.3 and text and "$" not in text:
                known = [name for name, value in given.items() if value == text]
                name = known[0] if known and random.random() < 0.7 else f"value{len(given)}"
                given[name] = text
                _set_value(own["spec"], path, f"${{{name}}}")
        made.append(own)
    files = {"pools/pools.yaml": "---\n".join(map(document, made))}
    for cluster in ("dev", "prod")[: random.randrange(1, 3)]:
        spec = {"path": "./pools", "postBuild": {"substitute": given}}
        head = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "pools"},
        }
        files[f"clusters/{cluster}/pools.yaml"] = document({**head, "spec": spec})
    return files


def _locals(values: dict[str, Any]) -> str:
    return "locals {\n" + "".join(f"  {name} = {hcl(value)}\n" for name, value in values.items()) + "}\n"


def _variables(values: dict[str, Any]) -> str:
    return "".join(f'variable "{name}" {{\n  default = {hcl(value)}\n}}\n' for name, value in values.items())


def _resources(manifests: Manifests, random: Random, more: str = "") -> str:
    way = random.randrange(2)
    texts = []
    for n, manifest in enumerate(manifests):
        if way:
            texts.append(
                f'resource "kubectl_manifest" "m{n}" {{\n{more}  yaml_body = yamlencode({hcl(manifest)})\n}}\n'
            )
        else:
            texts.append(f'resource "kubernetes_manifest" "m{n}" {{\n{more}  manifest = {hcl(manifest)}\n}}\n')
    return "".join(texts)


def _heredocs(manifests: Manifests) -> str:
    return "".join(
        f'resource "kubectl_manifest" "m{n}" {{\n  yaml_body = <<YAML\n{document(manifest)}YAML\n}}\n'
        for n, manifest in enumerate(manifests)
    )


def _write_root(manifests: Manifests, random: Random, kind: str) -> tuple[str, dict[str, Any]]:
    """Resources whose values are locals or variables, and these."""
    if random.random() < 0.4:
        moved = Moved(random, lambda name, _: f"${{jsonencode({kind}.{name})}}")
        return _heredocs(moved.move_out_specs(_escaped(manifests))), moved.values
    moved = Moved(random, lambda name, _: f"{kind}.{name}")
    return _resources(moved.move_out_specs(manifests), random), moved.values


def _escaped(value: Any) -> Any:
    """Texts in which Terraform fills in nothing."""
    if isinstance(value, dict):
        return {key: _escaped(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return value.replace("${", "$${").replace("%{", "%%{") if isinstance(value, str) else value


def terraform_locals(manifests: Manifests, random: Random) -> Files:
    main, values = _write_root(manifests, random, "local")
    return {"main.tf": main, "locals.tf": _locals(values)}


def terraform_variables(manifests: Manifests, random: Random) -> Files:
    main, values = _write_root(manifests, random, "var")
    files = {"main.tf": main, "variables.tf": _variables(values)}
    if random.random() < 0.5:
        name = random.choice(("terraform.tfvars", "envs/prod.tfvars"))
        files[name] = "".join(f"{name} = {hcl(value)}\n" for name, value in _pick_values(values, random).items())
    return files


def template_file(manifests: Manifests, random: Random) -> Files:
    moved = Moved(random, lambda name, _: f"${{jsonencode({name})}}")
    made = moved.move_out_specs(_escaped(manifests))
    given = ", ".join(f"{name} = local.{name}" for name in moved.values)
    files = {f"m{n}.yaml.tpl": document(manifest) for n, manifest in enumerate(made)}
    files["main.tf"] = _locals(moved.values) + "".join(
        f'resource "kubectl_manifest" "m{n}" {{\n'
        f'  yaml_body = templatefile("${{path.module}}/m{n}.yaml.tpl", {{ {given} }})\n}}\n'
        for n in range(len(made))
    )
    return files


def repeated(manifests: Manifests, random: Random) -> Files:
    """Each pool is made for several names, by `for_each` or `count`."""
    moved = Moved(random, lambda name, _: f"local.{name}")
    made = moved.move_out_specs(manifests)
    texts = []
    for n, manifest in enumerate(made):
        more = ""
        if manifest["kind"] == "NodePool" and random.random() < 0.6:
            by_key = random.random() < 0.5
            more = '  for_each = toset(["a", "b"])\n' if by_key else "  count = 2\n"
            name = "${each.key}" if by_key else "${count.index}"
            manifest = {**manifest, "metadata": {"name": Code(f'"{manifest["metadata"]["name"]}-{name}"')}}
        texts.append(f'resource "kubectl_manifest" "m{n}" {{\n{more}  yaml_body = yamlencode({hcl(manifest)})\n}}\n')
    return {"main.tf": "".join(texts), "locals.tf": _locals(moved.values)}


def module(manifests: Manifests, random: Random) -> Files:
    """A module with defaults, and two callers that replace some of them."""
    main, values = _write_root(manifests, random, "var")
    files = {"m/main.tf": main, "m/variables.tf": _variables(values)}
    calls = []
    for name in ("one", "two")[: random.randrange(1, 3)]:
        given = "".join(f"  {name} = {hcl(value)}\n" for name, value in _pick_values(values, random).items())
        calls.append(f'module "{name}" {{\n  source = "./m"\n{given}}}\n')
    return {**files, "main.tf": "".join(calls)}


def terragrunt(manifests: Manifests, random: Random) -> Files:
    main, values = _write_root(manifests, random, "var")
    files = {"modules/k/main.tf": main, "modules/k/variables.tf": _variables(values)}
    for name in ("dev", "prod")[: random.randrange(1, 3)]:
        given = "".join(f"  {name} = {hcl(value)}\n" for name, value in _pick_values(values, random).items())
        files[f"live/{name}/terragrunt.hcl"] = (
            f'terraform {{\n  source = "../../modules/k"\n}}\ninputs = {{\n{given}}}\n'
        )
    return files


FORMS: dict[str, Callable[[Manifests, Random], Files]] = {
    form.__name__: form
    for form in (
        plain,
        anchors,
        chart,
        looped_chart,
        argo,
        flux_release,
        helmfile,
        helm_release,
        overlays,
        replacements,
        flux_variables,
        terraform_locals,
        terraform_variables,
        template_file,
        repeated,
        module,
        terragrunt,
    )
}


def mixed(worlds: list[Manifests], random: Random) -> Manifests:
    """The manifests of an example, with fields of others, a pool beside theirs, entries taken away or doubled."""
    made = deepcopy(random.choice(worlds))
    for _ in range(random.randrange(1, 5)):
        other = [m for m in random.choice(worlds) if m.get("kind") in [own.get("kind") for own in made]]
        for theirs in other[:1]:
            own = next(m for m in made if m.get("kind") == theirs.get("kind"))
            mine, given = own.get("spec"), theirs.get("spec")
            if isinstance(mine, dict) and isinstance(given, dict) and given:
                key = random.choice(sorted(given))
                mine[key] = deepcopy(given[key])
    pools = [m for m in made if m.get("kind") == "NodePool"]
    if pools and random.random() < 0.6:
        twin = deepcopy(random.choice(pools))
        twin["metadata"]["name"] = f"{twin['metadata']['name']}-b"
        _change_list(twin, random)
        if not any(m["metadata"]["name"] == twin["metadata"]["name"] for m in made):
            made.append(twin)
    if random.random() < 0.4:
        _change_list(random.choice(made), random)
    return made


def _change_list(manifest: dict[str, Any], random: Random) -> None:
    """Take an entry out of one of a manifest's lists, or double it."""
    lists = [entry for entry in _lists(manifest.get("spec")) if entry]
    if lists:
        chosen = random.choice(lists)
        at = random.randrange(len(chosen))
        if random.random() < 0.5:
            del chosen[at]
        else:
            chosen.insert(at, deepcopy(chosen[at]))


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _lists(item)
