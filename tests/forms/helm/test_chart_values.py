"""Charts are judged with what a repository installs them with: the chart around them, Argo CD, Flux."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.forms.helm.filled_charts import filled_charts
from nodelint.text import Source
from tests.plain_yaml import load_yaml
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.name }}
  labels: {team: {{ .Values.global.team }}}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - key: node.kubernetes.io/instance-type
          operator: In
          values: {{ .Values.types | toJson }}
        - key: kubernetes.io/arch
          operator: In
          values: [{{ .Values.arch }}]
"""
OWN = "name: batch\ntypes: [m5.large]\narch: amd64\nglobal: {team: a}\n"


def chart(folder: str, name: str = "pools", values: str = OWN) -> dict[str, str]:
    return {
        f"{folder}/Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n",
        f"{folder}/values.yaml": values,
        f"{folder}/templates/pool.yaml": POOL,
    }


def findings(nodelint: Run, folder: str = ".") -> set[tuple[str, int, str]]:
    done = nodelint("check", folder, "--format", "concise", "--select", "unknown-value,no-instance-type")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    lines = re.findall(r"(?m)^([^:\n]+):(\d+):\d+: (?:error|warning)\[[\w-]+\]: ([^\n]*)", done.stdout)
    return {(path, int(line), re.findall(r"`([^`]+)`", text)[0]) for path, line, text in lines}


def umbrella(more: str = "", dependencies: str = "") -> dict[str, str]:
    return {
        **chart("app/charts/pools"),
        "app/Chart.yaml": f"apiVersion: v2\nname: app\nversion: 0.1.0\n{dependencies}",
        "app/values.yaml": f"# karpenter\nglobal: {{team: b}}\npools:\n  types: [m5.xlrge, m5.large]\n{more}",
    }


def test_the_chart_around_gives_values_to_a_vendored_one(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, umbrella())
    assert findings(nodelint) == {("app/values.yaml", 4, "m5.xlrge")}
    write_files(tmp_path, {"app/values-prod.yaml": "# karpenter\npools:\n  arch: x86\n  types: [m5.large]\n"})
    assert findings(nodelint) == {("app/values.yaml", 4, "m5.xlrge"), ("app/values-prod.yaml", 3, "x86")}


def test_a_vendored_chart_that_is_called_otherwise(nodelint: Run, tmp_path: Path) -> None:
    dependencies = (
        "dependencies:\n  - {name: pools, version: 0.1.0, alias: batch}\n  - {name: pools, version: 0.1.0}\n"
    )
    write_files(tmp_path, umbrella("batch:\n  arch: x86\n", dependencies))
    assert findings(nodelint) == {("app/values.yaml", 4, "m5.xlrge"), ("app/values.yaml", 6, "x86")}


def test_a_vendored_chart_comes_to_what_helm_prints(tmp_path: Path) -> None:
    program = os.environ.get("NODELINT_TEST_HELM") or shutil.which("helm")
    if program is None:
        pytest.skip("no helm on the path, and NODELINT_TEST_HELM names none")
    write_files(tmp_path, umbrella("  name: other\n"))
    done = subprocess.run(
        [program, "template", "x", str(tmp_path / "app")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    path = tmp_path / "app/charts/pools/templates/pool.yaml"
    (made,) = filled_charts([Source.from_text(str(path), path.read_text(encoding="utf-8"))])
    assert load_yaml(made.source.text) == load_yaml(done.stdout)


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: karpenter-pools}
spec:
  source:
    repoURL: https://example.com/platform.git
    path: charts/pools
    helm:
"""


@pytest.mark.parametrize(
    ("helm", "found"),
    [
        ("      valuesObject:\n        types: [m5.xlrge, m5.large]\n", {("app.yaml", 10, "m5.xlrge")}),
        ("      values: |\n        types: [m5.xlrge, m5.large]\n", {("app.yaml", 10, "m5.xlrge")}),
        ("      parameters:\n        - {name: arch, value: x86}\n", {("app.yaml", 10, "x86")}),
        (
            "      values: |\n        arch: x86\n      valuesObject: {arch: amd64, types: [m5.xlrge, m5.large]}\n",
            {("app.yaml", 11, "m5.xlrge")},
        ),
        ("      values: |\n        arch: ${ARCH}\n", set()),
        ("      valuesObject: {arch: '{{ .arch }}'}\n", set()),
        ("      parameters:\n        - {name: 'types[0]', value: x}\n", set()),
        (
            "      values: |\n        arch: x86\n      fileParameters:\n        - {name: arch, path: arch.txt}\n",
            set(),
        ),
        ("      values: |\n        arch: [\n", set()),
    ],
)
def test_an_application_of_argo_cd_gives_values(
    nodelint: Run, tmp_path: Path, helm: str, found: set[tuple[str, int, str]]
) -> None:
    (tmp_path / ".git").mkdir()
    write_files(tmp_path, {**chart("charts/pools"), "app.yaml": APPLICATION + helm})
    assert findings(nodelint) == found


def test_files_of_values_that_an_application_names(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    helm = "      valueFiles: [values.yaml, ../../env/prod.yaml, $ref/env/more.yaml, https://example.com/v.yaml]\n"
    files = {"env/prod.yaml": "arch: x86\n", "env/more.yaml": "types: [m5.xlrge, m5.large]\n"}
    write_files(tmp_path, {**chart("charts/pools"), "app.yaml": APPLICATION + helm, **files})
    assert {finding[2] for finding in findings(nodelint)} == {"x86", "m5.xlrge"}


@pytest.mark.parametrize(
    ("path", "found"),
    [("./charts/pools", {("release.yaml", 10, "m5.xlrge")}), ("karpenter", set()), ("./charts/other", set())],
)
def test_a_helm_release_gives_values(
    nodelint: Run, tmp_path: Path, path: str, found: set[tuple[str, int, str]]
) -> None:
    (tmp_path / ".git").mkdir()
    release = f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: karpenter-pools}}
spec:
  chart:
    spec:
      chart: {path}
      sourceRef: {{kind: GitRepository, name: platform}}
  values:
    types: [m5.xlrge, m5.large]
"""
    write_files(tmp_path, {**chart("charts/pools"), "release.yaml": release})
    assert findings(nodelint) == found


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: karpenter-pools, namespace: flux}
spec:
  chart:
    spec:
      chart: charts/pools
      sourceRef: {kind: GitRepository, name: platform}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: karpenter-values}
data:
  values.yaml: |
    types: [m5.xlrge, m5.large]
  arch: x86
  type: m5.xlrge
"""
ARCH = "[{kind: ConfigMap, name: karpenter-values, valuesKey: arch, targetPath: arch}]"
FLUX = {
    # What a HelmRelease has besides its chart, the files around it, and what is found.
    "values from a ConfigMap": (
        "  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]\n",
        {"values.yaml": MAP},
        {("values.yaml", 6, "m5.xlrge")},
    ),
    "one value of a ConfigMap": (f"  valuesFrom: {ARCH}\n", {"values.yaml": MAP}, {("values.yaml", 7, "x86")}),
    "a list's item": (
        "  valuesFrom: [{kind: ConfigMap, name: karpenter-values, valuesKey: type, targetPath: 'types[0]'}]\n",
        {"values.yaml": MAP},
        {("values.yaml", 8, "m5.xlrge")},
    ),
    "inline values win": (
        "  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]\n  values: {types: [m5.large]}\n",
        {"values.yaml": MAP},
        set(),
    ),
    "the nearest ConfigMap": (
        "  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]\n",
        {"dev/values.yaml": MAP, "values.yaml": MAP.replace("m5.xlrge, ", "")},
        set(),
    ),
    "another namespace": (
        "  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]\n",
        {"values.yaml": MAP.replace("karpenter-values}", "karpenter-values, namespace: other}")},
        set(),
    ),
    "a Secret is not known": (
        "  valuesFrom: [{kind: Secret, name: karpenter-values}]\n",
        {"values.yaml": MAP},
        set(),
    ),
    "a generated ConfigMap": (
        "  valuesFrom: [{kind: ConfigMap, name: karpenter-values}]\n",
        {
            "kustomization.yaml": "resources: []\nconfigMapGenerator:\n"
            "  - {name: karpenter-values, files: [values.yaml=pools.yaml]}\n",
            "pools.yaml": "types: [m5.xlrge, m5.large]\n",
        },
        {("pools.yaml", 1, "m5.xlrge")},
    ),
}


@pytest.mark.parametrize("name", FLUX)
def test_values_that_a_helm_release_takes_from_elsewhere(nodelint: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    more, files, found = FLUX[name]
    write_files(tmp_path, {**chart("charts/pools"), "release.yaml": RELEASE + more, **files})
    assert findings(nodelint) == found


def test_files_of_values_in_the_place_of_the_defaults_of_a_chart(nodelint: Run, tmp_path: Path) -> None:
    """Flux packs a chart with these files alone: what only its values.yaml has is not there."""
    (tmp_path / ".git").mkdir()
    files = "      valuesFiles: [env/a.yaml, env/b.yaml]\n"
    env = {"env/a.yaml": "types: [m5.xlrge]\narch: x86\n", "env/b.yaml": "types: [m5.large]\n"}
    write_files(tmp_path, {**chart("charts/pools"), "release.yaml": RELEASE + files, **env})
    assert findings(nodelint) == {("env/a.yaml", 2, "x86")}
    write_files(tmp_path, {"release.yaml": RELEASE + files.replace("b.yaml", "missing.yaml")})
    written = {("env/a.yaml", 1, "m5.xlrge"), ("env/a.yaml", 2, "x86")}
    assert findings(nodelint) == written, "a file that is not there overrides nothing"


def test_a_chart_without_values_is_judged_with_those_of_its_releases(nodelint: Run, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    helm = "      valueFiles: [values/dev.yaml]\n"
    write_files(
        tmp_path,
        {
            **chart("charts/pools"),
            "app.yaml": APPLICATION + helm,
            "charts/pools/values/dev.yaml": OWN.replace("m5.large", "m5.lrge"),
        },
    )
    (tmp_path / "charts/pools/values.yaml").unlink()
    assert findings(nodelint) == {("charts/pools/values/dev.yaml", 2, "m5.lrge")}


@pytest.mark.parametrize(
    ("helm", "found"),
    [
        ("      parameters: [{name: 'types[1]', value: m5.xlrge}]\n", {"m5.xlrge"}),
        ("      parameters: [{name: 'types[0]', value: m5.xlarge}]\n", set()),
        ("      parameters: [{name: types, value: '{m5.large, m5.xlrge}'}]\n", {"m5.xlrge"}),
        ("      valueFiles: [/env/prod.yaml]\n", {"x86"}),
        ("      valueFiles: [../../../outside.yaml]\n", set()),
    ],
)
def test_parameters_of_lists_and_files_from_the_top(
    nodelint: Run, tmp_path: Path, helm: str, found: set[str]
) -> None:
    home = tmp_path / "home"
    write_files(home, {**chart("charts/pools"), "app.yaml": APPLICATION + helm, "env/prod.yaml": "arch: x86\n"})
    write_files(tmp_path, {"outside.yaml": "arch: x86\n", "home/.git/HEAD": "ref: refs/heads/main\n"})
    assert {finding[2] for finding in findings(nodelint, "home")} == found


PATCHED = {
    "a patch gives another value": (
        "patches:\n  - patch: |\n      - {op: replace, path: /spec/values/types, value: [m5.xlrge]}\n"
        "    target: {kind: HelmRelease}\n",
        "m5.large",
        {("prod/kustomization.yaml", 4, "m5.xlrge")},
    ),
    "a patch mends a value": (
        "patches:\n  - patch: |\n      - {op: replace, path: /spec/values/types, value: [m5.large]}\n"
        "    target: {kind: HelmRelease}\n",
        "m5.xlrge",
        set(),
    ),
    "a patch adds a value": (
        "patches:\n  - patch: |\n      apiVersion: helm.toolkit.fluxcd.io/v2\n      kind: HelmRelease\n"
        "      metadata: {name: karpenter-pools}\n      spec: {values: {arch: x86}}\n",
        "m5.large",
        {("prod/kustomization.yaml", 7, "x86")},
    ),
    "the value of the base": ("namePrefix: prod-\n", "m5.xlrge", {("base/release.yaml", 8, "m5.xlrge")}),
}


@pytest.mark.parametrize("shape", PATCHED)
def test_a_chart_gets_the_values_of_a_release_as_overlays_make_them(
    nodelint: Run, tmp_path: Path, shape: str
) -> None:
    patch, own, found = PATCHED[shape]
    (tmp_path / ".git").mkdir()
    release = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter-pools}\nspec:\n"
        "  chart:\n    spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: a}}\n"
        f"  values:\n    types: [{own}]\n"
    )
    files = {"base/release.yaml": release, "base/kustomization.yaml": "resources: [release.yaml]\n"}
    write_files(
        tmp_path, {**chart("charts/pools"), **files, "prod/kustomization.yaml": f"resources: [../base]\n{patch}"}
    )
    assert findings(nodelint) == found


PROD = "types: [m7g.large]\narch: amd64\n"


def test_values_elsewhere_need_not_name_karpenter(nodelint: Run, tmp_path: Path) -> None:
    """What they do to a requirement is found at its key, which the template has, with the value."""
    (tmp_path / ".git").mkdir()
    write_files(tmp_path, {**chart("charts/pools"), "environments/prod/values.yaml": PROD.replace("m7g", "m7gg")})
    assert findings(nodelint) == {("environments/prod/values.yaml", 1, "m7gg.large")}
    write_files(tmp_path, {"environments/prod/values.yaml": PROD})
    done = nodelint("check", ".", "--select", "no-instance-type")
    assert "environments/prod/values.yaml:2:7" in done.stdout
    assert "exclude each other" in done.stdout


@pytest.mark.parametrize(
    "files",
    [
        {"environments/prod/values.yaml": "types: [m7gg.large]\n"},
        {"environments/prod/values.yaml": "types: [m7gg.large]\nother: 1\n"},
        {
            "charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 0.1.0\n",
            "charts/app/values.yaml": "types: []\narch: any\n",
            "environments/prod/values.yaml": PROD.replace("m7g", "m7gg"),
        },
    ],
)
def test_values_that_may_be_of_another_chart_are_let_be(nodelint: Run, tmp_path: Path, files: dict[str, str]) -> None:
    (tmp_path / ".git").mkdir()
    write_files(tmp_path, {**chart("charts/pools"), **files})
    assert findings(nodelint) == set()


def test_a_mistake_that_values_make_with_the_template_names_their_file(nodelint: Run, tmp_path: Path) -> None:
    """The place shows none of the values that another file gives, and is wrong for these alone."""
    template = POOL.replace("spec:\n", "spec:\n  limits: {cpu: 4}\n", 1)
    files = {**chart("charts/pools"), "charts/pools/templates/pool.yaml": template}
    write_files(tmp_path, {**files, "charts/pools/values-prod.yaml": "types: [m5.4xlarge]\n"})
    done = nodelint("check", ".", "--select", "limit-too-small")
    assert done.returncode == 1
    assert "charts/pools/values-prod.yaml:1:1" in done.stdout and "with the values of this file" in done.stdout


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ("    valuesInline: {types: [m5.xlrge, m5.large]}\n", ("kustomization.yaml", 4, "m5.xlrge")),
        ("    valuesFile: prod.yaml\n    valuesInline: {arch: amd64}\n", ("prod.yaml", 1, "m5.xlrge")),
        ("    additionalValuesFiles: [prod.yaml]\n", ("prod.yaml", 1, "m5.xlrge")),
        ("    valuesFile: prod.yaml\n    valuesInline: {types: [m5.large]}\n", None),
        ("    valuesFile: prod.yaml\n    valuesInline: {types: [m5.large]}\n    valuesMerge: replace\n", None),
        (
            "    valuesFile: prod.yaml\n    valuesInline: {types: [m5.large]}\n    valuesMerge: merge\n",
            ("prod.yaml", 1, "m5.xlrge"),
        ),
    ],
)
def test_a_kustomization_gives_values_to_charts_beside_it(
    nodelint: Run, tmp_path: Path, fields: str, found: tuple[str, int, str] | None
) -> None:
    text = f"helmGlobals: {{chartHome: charts}}\nhelmCharts:\n  - name: pools\n{fields}"
    files = {"kustomization.yaml": text, "prod.yaml": "types: [m5.xlrge, m5.large]\n", ".git/HEAD": ""}
    write_files(tmp_path, {**chart("charts/pools"), **files})
    assert findings(nodelint) == ({found} if found is not None else set())


def test_the_chart_around_is_called_by_a_plain_path(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {path.removeprefix("app/"): text for path, text in umbrella().items()})
    assert "./values.yaml" not in nodelint("check", ".").stdout


PLAIN_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: pools}
spec:
  chart: {spec: {chart: ./charts/pools, sourceRef: {kind: GitRepository, name: flux-system}}}
  values:
    types: ['${type}', m5.large]
"""
APPLIED = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec:
  path: ./apps
"""
PATCH = "- {op: replace, path: /spec/values/types, value: [m5.xlrge, m5.large]}"
WAYS = {
    "a variable of Flux": ("  postBuild: {substitute: {type: m5.xlrge}}\n", {}, "clusters/apps.yaml", 6),
    "a variable of Flux, of an overlay": (
        "  postBuild: {substitute: {type: m5.xlrge}}\n",
        {"apps/kustomization.yaml": "resources: [release.yaml]\n"},
        "clusters/apps.yaml",
        6,
    ),
    "a patch of Flux": (
        f"  patches:\n    - target: {{kind: HelmRelease}}\n      patch: |\n        {PATCH}\n",
        {},
        "clusters/apps.yaml",
        9,
    ),
    "a patch of an overlay": (
        "",
        {
            "apps/kustomization.yaml": "resources: [release.yaml]\n",
            "prod/kustomization.yaml": "resources: [../apps]\npatches:\n  - target: {kind: HelmRelease}\n"
            f"    patch: |\n      {PATCH}\n",
        },
        "prod/kustomization.yaml",
        5,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_release_need_not_name_karpenter(nodelint: Run, tmp_path: Path, way: str) -> None:
    """What acts on a HelmRelease acts on the chart of pools that it installs, whatever words are in its file."""
    spec, more, path, line = WAYS[way]
    files = {"apps/release.yaml": PLAIN_RELEASE, "clusters/apps.yaml": APPLIED + spec, **more, ".git/HEAD": ""}
    assert not any("karpenter" in text for text in files.values())
    write_files(tmp_path, {**chart("charts/pools"), **files})
    assert findings(nodelint) == {(path, line, "m5.xlrge")}


@pytest.mark.parametrize(("count", "limited"), [(4, False), pytest.param(8, True, marks=pytest.mark.slow)])
def test_charts_that_depend_on_each_other_have_a_limit(
    nodelint: Run, tmp_path: Path, count: int, limited: bool
) -> None:
    names = [f"c{number}" for number in range(count)]
    for name in names:
        others = "".join(
            f'  - {{name: {other}, version: 0.1.0, repository: "file://../{other}"}}\n'
            for other in names
            if other != name
        )
        files = chart(name, name)
        files[f"{name}/Chart.yaml"] += f"dependencies:\n{others}"
        write_files(tmp_path, files)
    done = nodelint("check", ".")
    assert done.returncode == 0, done.stdout
    assert ("more than 1,000 releases of one chart" in done.stdout) is limited
