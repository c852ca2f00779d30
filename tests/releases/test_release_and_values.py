"""The release and the values of one cluster are judged together, in each form.

`prod` has an old release, `dev` a new one. A field that only the new release has is right in the values of `dev`, and
an error in those of `prod`. The finding names `prod` alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from textwrap import indent

import pytest

from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
Files = dict[str, str]

RULE = "field-of-another-release"
OLD, NEW = "1.2.0", "1.14.1"
FIELD = "capacityReservationSelectorTerms"
REPOSITORY = "https://git.example.com/g.git"


def _class(more: str = "", alias: str = "al2023@v20260618") -> str:
    return f"""\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms: [{{alias: {alias}}}]
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: main}}}}]
{indent(more, "  ")}"""


TERMS = f"{FIELD}: [{{tags: {{team: x}}}}]\n"
CHART = {
    "charts/pools/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "charts/pools/values.yaml": "reservations: []\n",
    "charts/pools/templates/class.yaml": _class(
        f"{{{{- with .Values.reservations }}}}\n{FIELD}: {{{{ toJson . }}}}\n{{{{- end }}}}\n"
    ),
}
GIT = {".git/config": f'[remote "origin"]\n\turl = {REPOSITORY}\n'}


def _values(has_field: bool) -> str:
    return "reservations: [{tags: {team: x}}]\n" if has_field else "team: x\n"


def _set(name: str, generator: str, source: str, cluster: str) -> str:
    return f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: {name}, namespace: argocd}}
spec:
  goTemplate: true
  generators:
{indent(generator, "    ")}
  template:
    metadata: {{name: '{name}-{cluster}'}}
    spec:
      project: x
      source: {{{source}}}
      destination: {{name: '{cluster}', namespace: kube-system}}
"""


def _sets(generator: str, cluster: str, version: str, values: str) -> Files:
    karpenter = f"repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: '{version}'"
    pools = f"repoURL: '{REPOSITORY}', targetRevision: HEAD, path: charts/pools, helm: {{{values}}}"
    return {
        "argocd/karpenter.yaml": _set("karpenter", generator, karpenter, cluster),
        "argocd/pools.yaml": _set("pools", generator, pools, cluster),
    }


def set_by_list(fields: Mapping[str, bool]) -> Files:
    generator = f"- list: {{elements: [{{name: prod, version: {OLD}}}, {{name: dev, version: {NEW}}}]}}\n"
    return {
        **_sets(generator, "{{ .name }}", "{{ .version }}", "valueFiles: ['/clusters/{{ .name }}/pools.yaml']"),
        **{f"clusters/{name}/pools.yaml": _values(field) for name, field in fields.items()},
    }


def set_by_git_files(fields: Mapping[str, bool]) -> Files:
    generator = f"- git: {{repoURL: '{REPOSITORY}', revision: HEAD, files: [{{path: 'clusters/*/cluster.yaml'}}]}}\n"
    return {
        **_sets(generator, "{{ .name }}", "{{ .version }}", "valueFiles: ['/clusters/{{ .name }}/pools.yaml']"),
        **{f"clusters/{name}/pools.yaml": _values(field) for name, field in fields.items()},
        "clusters/prod/cluster.yaml": f"name: prod\nversion: {OLD}\n",
        "clusters/dev/cluster.yaml": f"name: dev\nversion: {NEW}\n",
    }


def set_by_parameters(fields: Mapping[str, bool]) -> Files:
    """The values stand in the generator's files."""
    generator = f"- git: {{repoURL: '{REPOSITORY}', revision: HEAD, files: [{{path: 'clusters/*/cluster.yaml'}}]}}\n"
    values = "values: 'reservations: {{ .reservations | toJson }}'"
    return {
        **_sets(generator, "{{ .name }}", "{{ .version }}", values),
        **{
            f"clusters/{name}/cluster.yaml": f"name: {name}\nversion: {version}\n"
            f"reservations: {'[{tags: {team: x}}]' if fields[name] else '[]'}\n"
            for name, version in (("prod", OLD), ("dev", NEW))
        },
    }


def set_by_git_directories(fields: Mapping[str, bool]) -> Files:
    generator = f"- git: {{repoURL: '{REPOSITORY}', revision: HEAD, directories: [{{path: 'clusters/*'}}]}}\n"
    values = "valueFiles: ['/{{ .path.path }}/pools.yaml']"
    made = _sets(generator, "{{ .path.basename }}", "", values)
    umbrella = f"repoURL: '{REPOSITORY}', targetRevision: HEAD, path: '{{{{ .path.path }}}}/karpenter'"
    made["argocd/karpenter.yaml"] = _set("karpenter", generator, umbrella, "{{ .path.basename }}")
    return {
        **made,
        **{f"clusters/{name}/pools.yaml": _values(field) for name, field in fields.items()},
        **{
            f"clusters/{name}/karpenter/Chart.yaml": "apiVersion: v2\nname: karpenter-umbrella\nversion: 0.1.0\n"
            f"dependencies:\n  - {{name: karpenter, version: {version}, repository: oci://public.ecr.aws/karpenter}}\n"
            for name, version in (("prod", OLD), ("dev", NEW))
        },
    }


def set_by_clusters(fields: Mapping[str, bool]) -> Files:
    generator = "".join(
        f"- clusters: {{selector: {{matchLabels: {{env: {name}}}}}, values: {{env: {name}, version: {version}}}}}\n"
        for name, version in (("prod", OLD), ("dev", NEW))
    )
    values = "valueFiles: ['/clusters/{{ .values.env }}/pools.yaml']"
    return {
        **_sets(generator, "{{ .name }}", "{{ .values.version }}", values),
        **{f"clusters/{name}/pools.yaml": _values(field) for name, field in fields.items()},
    }


def one_set_with_two_sources(fields: Mapping[str, bool]) -> Files:
    made = set_by_git_files(fields)
    del made["argocd/karpenter.yaml"]
    made["argocd/pools.yaml"] = made["argocd/pools.yaml"].replace(
        "      source: {",
        "      sources:\n        - {repoURL: public.ecr.aws/karpenter, chart: karpenter, "
        "targetRevision: '{{ .version }}'}\n        - {",
    )
    return made


def applications(fields: Mapping[str, bool]) -> Files:
    made: Files = {}
    for name, version in (("prod", OLD), ("dev", NEW)):
        sources = {
            "karpenter": f"repoURL: public.ecr.aws/karpenter, chart: karpenter, targetRevision: {version}",
            "pools": f"repoURL: '{REPOSITORY}', path: charts/pools, "
            f"helm: {{valueFiles: [/clusters/{name}/values.yaml]}}",
        }
        for kind, source in sources.items():
            made[f"clusters/{name}/{kind}.yaml"] = (
                "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"
                f"metadata: {{name: {kind}-{name}, namespace: argocd}}\nspec:\n  source: {{{source}}}\n"
                f"  destination: {{name: {name}, namespace: kube-system}}\n"
            )
        made[f"clusters/{name}/values.yaml"] = _values(fields[name])
    return made


def helmfile(fields: Mapping[str, bool]) -> Files:
    return {
        "helmfile.yaml": "environments:\n  prod: {values: [env/prod.yaml]}\n  dev: {values: [env/dev.yaml]}\n---\n"
        "repositories: [{name: karpenter, url: public.ecr.aws/karpenter, oci: true}]\n"
        "releases:\n"
        "  - {name: karpenter, chart: karpenter/karpenter, version: '{{ .Values.version }}'}\n"
        "  - {name: pools, chart: ./charts/pools, values: ['env/{{ .Environment.Name }}-pools.yaml']}\n",
        "env/prod.yaml": f"version: {OLD}\n",
        "env/dev.yaml": f"version: {NEW}\n",
        **{f"env/{name}-pools.yaml": _values(field) for name, field in fields.items()},
    }


def helmfile_with_state_values(fields: Mapping[str, bool]) -> Files:
    made = helmfile(fields)
    made["helmfile.yaml"] = made["helmfile.yaml"].replace(
        "values: ['env/{{ .Environment.Name }}-pools.yaml']",
        "values: [{reservations: {{ .Values.reservations | toJson }}}]",
    )
    for name, version in (("prod", OLD), ("dev", NEW)):
        del made[f"env/{name}-pools.yaml"]
        terms = "[{tags: {team: x}}]" if fields[name] else "[]"
        made[f"env/{name}.yaml"] = f"version: {version}\nreservations: {terms}\n"
    return made


SOURCE = f"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: g, namespace: flux-system}}
spec: {{url: "{REPOSITORY}"}}
---
"""


def _helm_release(name: str, chart: str, values: str = "") -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        f"metadata: {{name: {name}, namespace: flux-system}}\nspec:\n  chart:\n    spec: {{{chart}}}\n"
        + (f"  values:\n{indent(values, '    ')}" if values else "")
    )


def _flux_karpenter(version: str) -> str:
    return _helm_release(
        "karpenter", f"chart: karpenter, version: {version}, sourceRef: {{kind: HelmRepository, name: karpenter}}"
    )


def flux(fields: Mapping[str, bool]) -> Files:
    made: Files = {"sources/git.yaml": SOURCE}
    for name, version in (("prod", OLD), ("dev", NEW)):
        made[f"clusters/{name}/karpenter.yaml"] = _flux_karpenter(version)
        made[f"clusters/{name}/pools.yaml"] = _helm_release(
            "pools", "chart: ./charts/pools, sourceRef: {kind: GitRepository, name: g}", _values(fields[name])
        )
    return made


def flux_with_a_config_map(fields: Mapping[str, bool]) -> Files:
    made = flux(fields)
    for name, field in fields.items():
        made[f"clusters/{name}/pools.yaml"] = (
            _helm_release("pools", "chart: ./charts/pools, sourceRef: {kind: GitRepository, name: g}")
            + "  valuesFrom: [{kind: ConfigMap, name: pools}]\n"
        )
        made[f"clusters/{name}/values.yaml"] = (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pools, namespace: flux-system}\ndata:\n"
            f"  values.yaml: |\n{indent(_values(field), '    ')}"
        )
    return made


def flux_with_an_overlay(fields: Mapping[str, bool]) -> Files:
    """The release is a variable of the cluster's Kustomization."""
    made: Files = {"sources/git.yaml": SOURCE, "apps/karpenter/karpenter.yaml": _flux_karpenter("${karpenter}")}
    made["apps/karpenter/kustomization.yaml"] = "resources: [karpenter.yaml, class.yaml]\n"
    made["apps/karpenter/class.yaml"] = _class()
    for name, version in (("prod", OLD), ("dev", NEW)):
        patch = f"- {{op: add, path: /spec/{FIELD}, value: [{{tags: {{team: x}}}}]}}"
        patches = f"  patches: [{{target: {{kind: EC2NodeClass}}, patch: '{patch}'}}]\n" if fields[name] else ""
        made[f"clusters/{name}/apps.yaml"] = (
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: apps, namespace: flux-system}\nspec:\n  path: ./apps/karpenter\n"
            "  sourceRef: {kind: GitRepository, name: g}\n"
            f"  postBuild: {{substitute: {{karpenter: {version}}}}}\n{patches}"
        )
    return made


def _helm_charts(version: str) -> str:
    chart = f"name: karpenter, repo: 'oci://public.ecr.aws/karpenter', version: {version}, releaseName: k"
    return f"helmCharts: [{{{chart}}}]\n"


def kustomize(fields: Mapping[str, bool]) -> Files:
    made = {"base/kustomization.yaml": "resources: [class.yaml]\n", "base/class.yaml": _class()}
    for name, version in (("prod", OLD), ("dev", NEW)):
        patches = "patches: [{path: patch.yaml}]\n" if fields[name] else ""
        made[f"overlays/{name}/kustomization.yaml"] = f"resources: [../../base]\n{_helm_charts(version)}{patches}"
        if fields[name]:
            made[f"overlays/{name}/patch.yaml"] = (
                f"apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {{name: default}}\nspec:\n  {TERMS}"
            )
    return made


def kustomize_with_a_component(fields: Mapping[str, bool]) -> Files:
    made = {"base/kustomization.yaml": "resources: [class.yaml]\n", "base/class.yaml": _class()}
    made["components/reserved/kustomization.yaml"] = (
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
        "patches:\n  - target: {kind: EC2NodeClass}\n    patch: |\n"
        f"      - {{op: add, path: /spec/{FIELD}, value: [{{tags: {{team: x}}}}]}}\n"
    )
    for name, version in (("prod", OLD), ("dev", NEW)):
        more = "components: [../../components/reserved]\n" if fields[name] else ""
        made[f"overlays/{name}/kustomization.yaml"] = f"resources: [../../base]\n{_helm_charts(version)}{more}"
    return made


TF_KARPENTER = """\
resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = %s
}
"""
TF_POOLS = (
    'terraform {\n  required_providers {\n    kubectl = { source = "alekc/kubectl" }\n  }\n}\n\n'
    'variable "reservations" {\n  type    = any\n  default = []\n}\n\n'
    'resource "kubectl_manifest" "class" {\n  yaml_body = yamlencode({\n'
    '    apiVersion = "karpenter.k8s.aws/v1"\n    kind       = "EC2NodeClass"\n'
    '    metadata   = { name = "default" }\n    spec = merge({\n      role = "KarpenterNodeRole-main"\n'
    '      amiSelectorTerms = [{ alias = "al2023@v20260618" }]\n'
    '      subnetSelectorTerms = [{ tags = { "karpenter.sh/discovery" = "main" } }]\n'
    '      securityGroupSelectorTerms = [{ tags = { "karpenter.sh/discovery" = "main" } }]\n'
    f"    }}, length(var.reservations) > 0 ? {{ {FIELD} = var.reservations }} : {{}})\n  }})\n}}\n"
)
TF_TERMS = 'reservations = [{ tags = { team = "x" } }]\n'


def terraform(fields: Mapping[str, bool]) -> Files:
    made = {"modules/pools/main.tf": TF_POOLS}
    for name, version in (("prod", OLD), ("dev", NEW)):
        call = f'module "pools" {{\n  source = "../../modules/pools"\n  {TF_TERMS if fields[name] else ""}}}\n'
        made[f"envs/{name}/main.tf"] = TF_KARPENTER % f'"{version}"' + call
    return made


def terraform_with_tfvars(fields: Mapping[str, bool]) -> Files:
    made = {"main.tf": 'variable "karpenter_version" {}\n' + TF_KARPENTER % "var.karpenter_version" + TF_POOLS}
    for name, version in (("prod", OLD), ("dev", NEW)):
        terms = TF_TERMS if fields[name] else ""
        made[f"env/{name}.tfvars"] = f'karpenter_version = "{version}"\n{terms}'
    return made


def terragrunt(fields: Mapping[str, bool]) -> Files:
    made = {
        "modules/karpenter/main.tf": 'variable "karpenter_version" {}\n'
        + TF_KARPENTER % "var.karpenter_version"
        + TF_POOLS
    }
    for name, version in (("prod", OLD), ("dev", NEW)):
        terms = TF_TERMS if fields[name] else ""
        made[f"live/{name}/karpenter/terragrunt.hcl"] = (
            'terraform {\n  source = "../../../modules/karpenter"\n}\n\n'
            f'inputs = {{\n  karpenter_version = "{version}"\n  {terms}}}\n'
        )
    return made


def terragrunt_with_locals(fields: Mapping[str, bool]) -> Files:
    made = terragrunt(fields)
    for name, version in (("prod", OLD), ("dev", NEW)):
        terms = '[{ tags = { team = "x" } }]' if fields[name] else "[]"
        made[f"live/{name}/env.hcl"] = f'locals {{\n  version = "{version}"\n  reservations = {terms}\n}}\n'
        made[f"live/{name}/karpenter/terragrunt.hcl"] = (
            'locals {\n  env = read_terragrunt_config(find_in_parent_folders("env.hcl")).locals\n}\n'
            'terraform {\n  source = "../../../modules/karpenter"\n}\n\n'
            "inputs = {\n  karpenter_version = local.env.version\n  reservations = local.env.reservations\n}\n"
        )
    return made


def plain(fields: Mapping[str, bool]) -> Files:
    made: Files = {}
    for name, version in (("prod", OLD), ("dev", NEW)):
        made[f"clusters/{name}/karpenter.yaml"] = _flux_karpenter(version)
        made[f"clusters/{name}/class.yaml"] = _class(TERMS if fields[name] else "")
    return made


def script(fields: Mapping[str, bool]) -> Files:
    made: Files = {}
    for name, version in (("prod", OLD), ("dev", NEW)):
        made[f"clusters/{name}/install.sh"] = (
            "#!/bin/sh\nhelm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter "
            f"--version {version}\nhelm upgrade --install pools ../../charts/pools -f pools.yaml\n"
        )
        made[f"clusters/{name}/pools.yaml"] = _values(fields[name])
    return made


FORMS: dict[str, Callable[[Mapping[str, bool]], Files]] = {
    "an ApplicationSet by list": set_by_list,
    "an ApplicationSet by files": set_by_git_files,
    "an ApplicationSet with values of its generator": set_by_parameters,
    "an ApplicationSet by folders": set_by_git_directories,
    "an ApplicationSet with two sources": one_set_with_two_sources,
    "Applications": applications,
    "HelmReleases": flux,
    "ConfigMaps of HelmReleases": flux_with_a_config_map,
    "overlays": kustomize,
    "a component": kustomize_with_a_component,
    "roots of Terraform": terraform,
    "tfvars": terraform_with_tfvars,
    "units of Terragrunt": terragrunt,
    "env.hcl of Terragrunt": terragrunt_with_locals,
    "plain folders": plain,
    "scripts": script,
}
NOT_KNOWN = {
    "an ApplicationSet by clusters": set_by_clusters,
    "helmfile": helmfile,
    "values of helmfile's environments": helmfile_with_state_values,
    "Flux Kustomizations": flux_with_an_overlay,
}


def _list_errors(nodelint: Run) -> list[str]:
    report = json.loads(nodelint("check", ".", "--format", "json").stdout)
    return [json.dumps(finding) for finding in report["findings"] if finding["severity"] == "error"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("prod", "dev"), [(False, True), (True, True), (True, False), (False, False)])
def test_a_field_is_judged_for_the_cluster_that_has_it(
    nodelint: Run, tmp_path: Path, form: str, prod: bool, dev: bool
) -> None:
    files = FORMS[form]({"prod": prod, "dev": dev})
    if not prod and not dev:
        files = {
            path: text for path, text in files.items() if not path.startswith("components/")
        }  # no cluster has it
    chart = CHART if any("charts/pools" in text for text in files.values()) else {}
    write_files(tmp_path, {**chart, **GIT, **files})
    errors = _list_errors(nodelint)
    assert len(errors) == prod, errors
    assert all(RULE in error and "prod" in error and "/dev" not in error for error in errors)


@pytest.mark.parametrize("form", NOT_KNOWN)
def test_what_is_not_known_of_a_cluster_is_named(nodelint: Run, tmp_path: Path, form: str) -> None:
    write_files(tmp_path, {**CHART, **GIT, **NOT_KNOWN[form]({"prod": True, "dev": True})})
    assert not _list_errors(nodelint)
    shown = " ".join(nodelint("check").stdout.split())
    assert "not known" in shown.lower()


ON, OFF = "reservations: [{tags: {team: x}}]\n", "reservations: []\n"
DEFAULTS = {
    "on, off, none": (ON, OFF, None, False),
    "on, none, off": (ON, None, OFF, True),
    "off, none, on": (OFF, None, ON, False),
    "off, on, none": (OFF, ON, None, True),
    "off, none, none": (OFF, None, None, False),
    "on, none, none": (ON, None, None, True),
    "on, other, other": (ON, "team: x\n", "team: y\n", True),
    "on, off, other": (ON, OFF, "team: y\n", False),
}


def _drop_values(files: Files, values: Mapping[str, str | None]) -> Files:
    """Return Applications that pass other values, or none, to the chart."""
    made = dict(files)
    for name, text in values.items():
        if text is None:
            del made[f"clusters/{name}/values.yaml"]
            app = made[f"clusters/{name}/pools.yaml"]
            made[f"clusters/{name}/pools.yaml"] = app.replace(
                f", helm: {{valueFiles: [/clusters/{name}/values.yaml]}}", ""
            )
        else:
            made[f"clusters/{name}/values.yaml"] = text
    return made


def _by_helm(values: Mapping[str, str | None]) -> Files:
    made: Files = {}
    for name, version in (("prod", OLD), ("dev", NEW)):
        text = values[name]
        made[f"clusters/{name}/install.sh"] = (
            "#!/bin/sh\nhelm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter "
            f"--version {version}\nhelm upgrade --install pools ../../charts/pools{' -f p.yaml' if text else ''}\n"
        )
        made |= {f"clusters/{name}/p.yaml": text} if text else {}
    return made


@pytest.mark.parametrize("case", DEFAULTS)
@pytest.mark.parametrize("form", ["Applications", "scripts"])
def test_default_values_are_judged_for_the_clusters_that_get_them(
    nodelint: Run, tmp_path: Path, case: str, form: str
) -> None:
    defaults, prod, dev, is_error = DEFAULTS[case]
    values = {"prod": prod, "dev": dev}
    of_apps = _drop_values(applications({"prod": True, "dev": True}), values)
    files = of_apps if form == "Applications" else _by_helm(values)
    write_files(tmp_path, {**CHART, **GIT, **files, "charts/pools/values.yaml": defaults})
    errors = _list_errors(nodelint)
    assert [RULE in error for error in errors] == [True] * is_error, errors


@pytest.mark.parametrize("case", ["on, off, none", "on, none, off", "on, off, other"])
def test_a_values_file_is_of_the_cluster_that_its_name_says(nodelint: Run, tmp_path: Path, case: str) -> None:
    defaults, prod, dev, is_error = DEFAULTS[case]
    files = {f"clusters/{name}/karpenter.yaml": _flux_karpenter(v) for name, v in (("prod", OLD), ("dev", NEW))}
    files |= {f"charts/pools/values-{name}.yaml": text for name, text in (("prod", prod), ("dev", dev)) if text}
    write_files(tmp_path, {**CHART, **GIT, **files, "charts/pools/values.yaml": defaults})
    assert len(_list_errors(nodelint)) == is_error


@pytest.mark.parametrize("is_locked", [False, True])
@pytest.mark.parametrize(("prod", "dev"), [(False, True), (True, False)])
def test_the_values_of_an_outer_chart_are_of_its_own_karpenter(
    nodelint: Run, tmp_path: Path, is_locked: bool, prod: bool, dev: bool
) -> None:
    files: Files = {}
    for name, version, has_field in (("prod", OLD, prod), ("dev", NEW, dev)):
        written = "^1.0.0" if is_locked else version
        charts = f"{{name: karpenter, version: {written}, repository: oci://public.ecr.aws/karpenter}}"
        own = "{name: pools, version: 0.1.0, repository: 'file://../../charts/pools'}"
        files[f"clusters/{name}/Chart.yaml"] = (
            f"apiVersion: v2\nname: all-{name}\nversion: 0.1.0\ndependencies:\n  - {charts}\n  - {own}\n"
        )
        files[f"clusters/{name}/values.yaml"] = "karpenter: {}\npools:\n  " + _values(has_field)
        if is_locked:
            files[f"clusters/{name}/Chart.lock"] = (
                f"dependencies:\n- name: karpenter\n  repository: oci://public.ecr.aws/karpenter\n"
                f"  version: {version}\n- name: pools\n  repository: file://../../charts/pools\n  version: 0.1.0\n"
            )
    write_files(tmp_path, {**CHART, **GIT, **files})
    errors = _list_errors(nodelint)
    assert len(errors) == prod, errors
    assert all("clusters/prod" in error for error in errors)


def test_the_summary_says_that_each_cluster_has_its_own_release(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {**CHART, **GIT, **set_by_list({"prod": False, "dev": True})})
    shown = nodelint("check").stdout
    assert "each cluster's values are judged for the release of this cluster" in shown
    assert "each of these releases may run" not in shown
    assert "Not known" not in shown and "not read as values" not in shown


REQUESTED = {
    "an ApplicationSet by list": "clusters/prod/pools.yaml",
    "an ApplicationSet by files": "clusters/prod/pools.yaml",
    "an ApplicationSet with values of its generator": "clusters/prod/cluster.yaml",
    "an ApplicationSet by folders": "clusters/prod/pools.yaml",
    "Applications": "clusters/prod/values.yaml",
    "ConfigMaps of HelmReleases": "clusters/prod/values.yaml",
    "overlays": "overlays/prod/patch.yaml",
    "a component": "components/reserved/kustomization.yaml",
    "tfvars": "env/prod.tfvars",
    "env.hcl of Terragrunt": "live/prod/env.hcl",
    "scripts": "clusters/prod/pools.yaml",
}


@pytest.mark.parametrize("form", REQUESTED)
def test_a_requested_folder_of_values_is_judged_as_its_file(nodelint: Run, tmp_path: Path, form: str) -> None:
    files = FORMS[form]({"prod": True, "dev": False})
    chart = CHART if any("charts/pools" in text for text in files.values()) else {}
    write_files(tmp_path, {**chart, **GIT, **files})
    path = REQUESTED[form]
    for requested in (path, str(Path(path).parent), path.partition("/")[0]):
        done = nodelint("check", requested)
        assert (done.returncode, done.stdout.count(f"error[{RULE}]")) == (1, 1), (requested, done.stdout)


@pytest.mark.parametrize(("field", "code"), [("reservations: [{tags: {team: x}}]", 1), ("team: x", 0)])
def test_values_with_a_key_that_the_chart_does_not_set_are_judged(
    nodelint: Run, tmp_path: Path, field: str, code: int
) -> None:
    files = {**CHART, **GIT, **set_by_list({"prod": False, "dev": False})}
    files |= {"charts/pools/values.yaml": "role: a\n", "clusters/prod/pools.yaml": f"{field}\n"}
    write_files(tmp_path, files)
    for requested in ("clusters/prod/pools.yaml", "clusters/prod", "clusters", "."):
        done = nodelint("check", requested)
        assert done.returncode == code, (requested, done.stdout)
        assert "Nothing to check" not in done.stdout and "not read as values" not in done.stdout
