"""Kustomize, Flux, and files of other tools: a value from a patch, a replacement, a variable, a remote base."""
# ruff: noqa: E501  (a file that is written stands in one line)

from __future__ import annotations

from random import Random

from tests.plan.law.made import CLASS, Maker, Tree, objects_with

WAYS = (
    "base",
    "strategic patch",
    "inline patch",
    "json patch",
    "json patch file",
    "component",
    "replacement of a config map",
    "replacement of a generated config map",
    "replacement file",
    "generated from a file",
    "generated from an env file",
    "remote base",
    "remote resource",
    "labels",
    "suffix",
    "flux substitute",
    "flux substituteFrom",
    "flux substituteFrom secret",
    "flux substitute default",
    "flux patches",
    "argo patches",
    "argo plugin env",
    "envsubst",
    "makefile",
    "jinja",
    "jinja set",
    "several bases",
    "vars",
    "crossplane",
    "workflow env",
    "patch transformer",
    "component of a component",
    "replacement in a component",
)


def make(random: Random) -> Tree:
    """Return a tree of one of these ways."""
    maker = Maker(random)
    way = maker.pick(*WAYS)
    made = _MAKERS.get(way)
    (made or _make_patched)(maker, way)
    return maker.tree("overlay")


def _write_base(maker: Maker, value: str, more: str = "") -> None:
    maker.add("base/kustomization.yaml", f"resources: [nodes.yaml]\n{more}")
    maker.add("base/nodes.yaml", objects_with(value, maker.random.random() < 0.4))
    maker.add("README.md", f"A text: {maker.decoy('README.md')}\n")


def _make_patched(maker: Maker, way: str) -> None:
    """A value of a class from a base, or from a patch of any kind."""
    base = "base/nodes.yaml"
    first = maker.input(base) if way in ("base", "several bases") else "none"
    maker.add("base/kustomization.yaml", "resources: [nodes.yaml]\n")
    maker.add(base, objects_with(first, False))
    top = "prod/kustomization.yaml"
    maker.add(top, "resources: [../base]\n" if way != "several bases" else "resources: [../middle]\n")
    target = "target: {kind: EC2NodeClass, name: web}"
    patch = (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: web}\nspec: {tags: {team: TEXT}}\n"
    )
    if way == "several bases":
        maker.add(
            "middle/kustomization.yaml",
            f"resources: [../base]\ncommonAnnotations: {{a: {maker.decoy('middle/kustomization.yaml')}}}\n",
        )
    elif way == "strategic patch":
        maker.add(top, "patches: [{path: patch.yaml}]\n")
        maker.add("prod/patch.yaml", patch.replace("TEXT", maker.input("prod/patch.yaml")))
    elif way == "inline patch":
        maker.add(
            top,
            "patches:\n  - patch: |\n"
            + "".join(f"      {line}\n" for line in patch.replace("TEXT", maker.input(top)).splitlines()),
        )
    elif way in ("json patch", "json patch file"):
        path = top if way == "json patch" else "prod/op.yaml"
        op = f'[{{"op": "replace", "path": "/spec/tags/team", "value": "{maker.input(path)}"}}]'
        maker.add(
            top, f"patches:\n  - {target}\n" + (f"    patch: '{op}'\n" if path == top else "    path: op.yaml\n")
        )
        if path != top:
            maker.add(path, op + "\n")
    elif way == "component":
        maker.add(top, "components: [../part]\n")
        maker.add(
            "part/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: p.yaml}]\n",
        )
        maker.add("part/p.yaml", patch.replace("TEXT", maker.input("part/p.yaml")))
    elif way == "component of a component":
        head = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        maker.add(top, "components: [../part]\n")
        maker.add("part/kustomization.yaml", f"{head}components: [../inner]\n")
        maker.add("inner/kustomization.yaml", f"{head}patches: [{{path: p.yaml}}]\n")
        maker.add("inner/p.yaml", patch.replace("TEXT", maker.input("inner/p.yaml")))
    elif way == "replacement in a component":
        head = (
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [vars.yaml]\nreplacements:\n"
        )
        maker.add(top, "components: [../part]\n")
        maker.add(
            "part/kustomization.yaml", f"{head}  - source: {{kind: ConfigMap, name: vars, fieldPath: data.team}}\n"
        )
        maker.add(
            "part/kustomization.yaml", "    targets: [{select: {kind: EC2NodeClass}, fieldPaths: [spec.tags.team]}]\n"
        )
        maker.add("part/vars.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars}\ndata:\n")
        maker.add(
            "part/vars.yaml", f"  team: {maker.input('part/vars.yaml')}\n  more: {maker.decoy('part/vars.yaml')}\n"
        )
    elif way == "patch transformer":
        maker.add(top, "transformers: [t.yaml]\n")
        maker.add("prod/t.yaml", "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\n")
        op = f'[{{"op": "replace", "path": "/spec/tags/team", "value": "{maker.input("prod/t.yaml")}"}}]'
        maker.add("prod/t.yaml", f"patch: '{op}'\n{target}\n")
        maker.outside.clear()  # a transformer is not applied: then the overlay counts as a whole
    elif way == "labels":
        maker.add(top, f"labels: [{{pairs: {{a: {maker.decoy(top)}}}}}]\n")
        maker.files[base] = objects_with(maker.input(base), False)
    elif way == "suffix":
        maker.add(top, f"nameSuffix: -{maker.input(top)}\n")
    mark = maker.decoy(top) if way != "patch transformer" else "a"
    maker.add(top, f"commonAnnotations: {{b: {mark}}}\n")


def _make_replaced(maker: Maker, way: str) -> None:
    """A value that a replacement takes from another object."""
    _write_base_class(maker)
    top = "prod/kustomization.yaml"
    source = "source: {kind: ConfigMap, name: vars, fieldPath: data.team}\n"
    entry = f"{source}TARGETS"
    targets = "targets:\n  - select: {kind: EC2NodeClass, name: web}\n    fieldPaths: [spec.tags.team]\n"
    entry = f"{source}{targets}"
    resources = "[../base, vars.yaml]" if "generated" not in way else "[../base]"
    maker.add(top, f"resources: {resources}\n")
    if way == "replacement file":
        maker.add(top, "replacements: [{path: r.yaml}]\n")
        maker.add(
            "prod/r.yaml",
            "\n".join(("- " if n == 0 else "  ") + line for n, line in enumerate(entry.splitlines())) + "\n",
        )
    else:
        maker.add(
            top,
            "replacements:\n"
            + "".join(("  - " if n == 0 else "    ") + line + "\n" for n, line in enumerate(entry.splitlines())),
        )
    if "generated" not in way:
        maker.add(
            "prod/vars.yaml",
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: vars}}\ndata:\n  team: {maker.input('prod/vars.yaml')}\n  more: {maker.decoy('prod/vars.yaml')}\n",
        )
        return
    head = "generatorOptions: {disableNameSuffixHash: true}\nconfigMapGenerator:\n  - name: vars\n"
    if way == "generated from a file":
        maker.add(top, f"{head}    files: [team=team.txt]\n")
        maker.add("prod/team.txt", maker.input("prod/team.txt"))
    elif way == "generated from an env file":
        maker.add(top, f"{head}    envs: [vars.env]\n")
        maker.add("prod/vars.env", f"team={maker.input('prod/vars.env')}\nmore={maker.decoy('prod/vars.env')}\n")
    else:
        maker.add(top, f"{head}    literals: [team={maker.input(top)}, more={maker.decoy(top)}]\n")


def _write_base_class(maker: Maker) -> None:
    maker.add("base/kustomization.yaml", "resources: [nodes.yaml]\n")
    maker.add("base/nodes.yaml", objects_with("none", False))


def _make_remote(maker: Maker, way: str) -> None:
    ref = maker.input("kustomization.yaml")
    address = (
        f"https://example.com/nodes//karpenter-nodes?ref={ref}"
        if way == "remote base"
        else f"https://example.com/{ref}/karpenter/nodes.yaml"
    )
    maker.add(
        "kustomization.yaml",
        "resources: [ns.yaml]\nnamespace: a\n# karpenter\n".replace("[ns.yaml]", f"\n  - {address}\n  - ns.yaml"),
    )
    maker.add("ns.yaml", f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {maker.decoy('ns.yaml')}}}\n")


def _make_flux(maker: Maker, way: str) -> None:
    """A Kustomization of Flux that fills in variables or patches."""
    value = "${team:=none}" if way == "flux substitute default" else "${team}"
    patched = way == "flux patches"
    maker.add(
        "nodes/all.yaml", objects_with("none" if patched else value, maker.random.random() < 0.4 and not patched)
    )
    if maker.random.random() < 0.5:
        maker.add("nodes/kustomization.yaml", "resources: [all.yaml]\n")
    path = "clusters/prod/nodes.yaml"
    maker.add(
        path,
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: nodes, namespace: flux-system}\n",
    )
    maker.add(path, "spec:\n  path: ./nodes\n  prune: true\n  sourceRef: {kind: GitRepository, name: flux-system}\n")
    if patched:
        maker.add(
            path,
            "  patches:\n    - target: {kind: EC2NodeClass}\n      patch: |\n        - op: replace\n          path: /spec/tags/team\n",
        )
        maker.add(path, f"          value: {maker.input(path)}\n")
    elif "From" in way:
        kind = "Secret" if "secret" in way else "ConfigMap"
        maker.add(path, f"  postBuild: {{substituteFrom: [{{kind: {kind}, name: vars}}]}}\n")
        holder = "clusters/prod/vars.yaml"
        maker.add(
            holder,
            f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: vars, namespace: flux-system}}\n{'stringData' if kind == 'Secret' else 'data'}:\n",
        )
        maker.add(holder, f"  team: {maker.input(holder)}\n  more: {maker.decoy(holder)}\n")
    else:
        maker.add(path, f"  postBuild: {{substitute: {{team: {maker.input(path)}, more: {maker.decoy(path)}}}}}\n")
    maker.add(path, f"  interval: {maker.name('i')}\n")


def _make_argo(maker: Maker, way: str) -> None:
    maker.add("nodes/kustomization.yaml", "resources: [all.yaml]\n")
    maker.add("nodes/all.yaml", objects_with("none" if way == "argo patches" else "${TEAM}", False))
    path = "apps/nodes.yaml"
    maker.add(
        path,
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: nodes, namespace: argocd}\nspec:\n  project: default\n",
    )
    maker.add(
        path,
        f"  destination: {{name: prod, namespace: {maker.decoy(path)}}}\n  source:\n    repoURL: https://example.com/x.git\n    path: nodes\n",
    )
    if way == "argo patches":
        maker.add(
            path,
            "    kustomize:\n      patches:\n        - target: {kind: EC2NodeClass}\n          patch: |-\n            - op: replace\n              path: /spec/tags/team\n",
        )
        maker.add(path, f"              value: {maker.input(path)}\n")
    else:
        maker.add(
            path,
            f"    plugin:\n      name: envsubst\n      env:\n        - name: TEAM\n          value: {maker.input(path)}\n",
        )


def _make_filled(maker: Maker, way: str) -> None:
    """Placeholders that another tool fills in."""
    if way.startswith("jinja"):
        if way == "jinja set":
            path = "roles/k/templates/nodes.yaml.j2"
            maker.add(path, f"{{% set team = '{maker.input(path)}' ~ env %}}\n" + objects_with("{{ team }}", False))
            return
        maker.add("roles/k/templates/nodes.yaml.j2", objects_with("{{ team }}", maker.random.random() < 0.4))
        path = maker.pick(
            "roles/k/defaults/main.yml",
            "group_vars/prod.yml",
            "group_vars/all/k.yaml",
            "host_vars/a.yml",
            "inventory/prod/group_vars/all.yml",
        )
        maker.add(path, f"team: {maker.input(path)}\nmore: {maker.decoy(path)}\n")
        return
    maker.add("nodes.yaml", objects_with("${TEAM}", maker.random.random() < 0.4))
    if way == "makefile":
        maker.add(
            "Makefile",
            f"TEAM ?= {maker.input('Makefile')}\nMORE ?= {maker.decoy('Makefile')}\napply:\n\tenvsubst < nodes.yaml | kubectl apply -f -\n",
        )
    elif way == "workflow env":
        path = ".github/workflows/deploy.yaml"
        maker.add(
            path,
            f"on: push\njobs:\n  a:\n    runs-on: x\n    env:\n      TEAM: {maker.input(path)}\n      MORE: {maker.decoy(path)}\n    steps:\n      - run: envsubst < nodes.yaml | kubectl apply -f -\n",
        )
    else:
        path = maker.pick("envs/prod.env", ".env.prod", "deploy.sh", "config/prod.env")
        maker.add(path, f"export TEAM={maker.input(path)}\nexport MORE={maker.decoy(path)}\n")


def _make_vars(maker: Maker, way: str) -> None:
    """The old `vars` of a kustomization."""
    maker.add("nodes.yaml", objects_with("$(TEAM)", False))
    maker.add(
        "vars.yaml",
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: vars}}\ndata: {{team: {maker.input('vars.yaml')}}}\n",
    )
    maker.add(
        "kustomization.yaml",
        "resources: [nodes.yaml, vars.yaml]\nvars:\n  - name: TEAM\n    objref: {kind: ConfigMap, name: vars, apiVersion: v1}\n    fieldref: {fieldpath: data.team}\nconfigurations: [c.yaml]\n",
    )
    maker.add("c.yaml", "varReference:\n  - {kind: EC2NodeClass, path: spec/tags/team}\n")


def _make_crossplane(maker: Maker, way: str) -> None:
    path = "object.yaml"
    body = "".join(f"      {line}\n" for line in f"{CLASS}  tags: {{team: {maker.input(path)}}}\n".splitlines())
    maker.add(path, "apiVersion: kubernetes.crossplane.io/v1alpha2\nkind: Object\nmetadata:\n  name: web\n")
    maker.add(path, f"  annotations: {{a: {maker.decoy(path)}}}\nspec:\n  forProvider:\n    manifest:\n{body}")


_MAKERS = {
    **dict.fromkeys([way for way in WAYS if way.startswith(("replacement", "generated"))], _make_replaced),
    **dict.fromkeys([way for way in WAYS if way.startswith("remote")], _make_remote),
    **dict.fromkeys([way for way in WAYS if way.startswith("flux")], _make_flux),
    **dict.fromkeys([way for way in WAYS if way.startswith("argo")], _make_argo),
    **dict.fromkeys(["envsubst", "makefile", "jinja", "jinja set", "workflow env"], _make_filled),
    "vars": _make_vars,
    "crossplane": _make_crossplane,
}
