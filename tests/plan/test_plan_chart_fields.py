"""`.Chart` and `.Release` in hashed fields: Chart.yaml and what installs the chart are inputs, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plan.installers import application, helm_release, helmfile, inflated, terraform
from tests.plan.test_plan_inputs import POOL, Run, class_of
from tests.repositories import write_files

Files = dict[str, str]
CHART = "apiVersion: v2\nname: nodes\nversion: 0.1.0\nappVersion: '1.0'\ndescription: a\nannotations: {team: a}\n"
HELPER = '{{ define "stamp" }}{{ .Chart.Version }}-{{ .Release.Name }}-{{ .Release.Namespace }}{{ end }}\n'
OUTER = "apiVersion: v2\nname: up\nversion: 0.1.0\ndependencies:\n  - {name: nodes, version: '*', repository: 'file://../chart'}\n"
INSTALLED: dict[str, Files] = {
    "nothing": {},
    "argo": application("chart", "{valuesObject: {a: 1}}"),
    "flux": helm_release("chart", "  values: {a: 1}\n"),
    "helmfile": helmfile("chart", ""),
    "kustomize": inflated("chart", "    namespace: karpenter\n"),
    "terraform": terraform("chart", '  namespace = "karpenter"\n'),
    "script": {"deploy.sh": "helm upgrade --install nodes ./chart -n karpenter --set a=b\n"},
    "skaffold": {
        "skaffold.yaml": "apiVersion: skaffold/v4beta6\nkind: Config\ndeploy:\n  helm:\n    releases:\n"
        "      - {name: nodes, namespace: karpenter, chartPath: chart}\n"
    },
    "an outer chart": {"up/Chart.yaml": OUTER},
}
PLACES = ("a label", "a tag", "user data")
FIELDS = [
    ("{{ .Chart.Version }}", "version: 0.1.0", "version: 0.2.0"),
    ("{{ $.Chart.AppVersion | quote }}", "appVersion: '1.0'", "appVersion: '2.0'"),
    ('{{ index .Chart.Annotations "team" }}', "team: a", "team: b"),
    ("{{ with .Chart }}{{ .Name }}{{ end }}", "name: nodes", "name: others"),
    ('{{ printf "%s-%s" .Chart.Name .Chart.Version }}', "version: 0.1.0", "version: 0.2.0"),
]


def tree(code: str, place: str, more: Files) -> Files:
    pool, made = POOL, class_of()
    if place == "a label":
        pool = POOL.replace(
            "  template:\n    spec:", f"  template:\n    metadata: {{labels: {{v: {code}}}}}\n    spec:"
        )
    elif place == "a tag":
        made += f"  tags: {{v: {code}}}\n"
    else:
        made += f"  userData: |\n    #!/bin/bash\n    echo {code}\n"
    files = {"chart/Chart.yaml": CHART, "chart/templates/_stamp.tpl": HELPER}
    return {**files, "chart/templates/class.yaml": made, "chart/templates/pool.yaml": pool, **more}


@pytest.mark.parametrize("form", INSTALLED)
@pytest.mark.parametrize(("number", "place"), enumerate(PLACES))
def test_a_field_of_chart_yaml_is_known(nodelint: Run, tmp_path: Path, form: str, number: int, place: str) -> None:
    code, old, new = FIELDS[(number + len(form)) % len(FIELDS)]
    files = tree(code, place, INSTALLED[form])
    write_files(tmp_path / "old", files)
    write_files(tmp_path / "new", {**files, "chart/Chart.yaml": CHART.replace(old, new)})
    write_files(tmp_path / "twin", {**files, "chart/Chart.yaml": CHART.replace("description: a", "description: b")})
    for other, replaced in (("new", "all"), ("twin", "none")):
        done = nodelint("plan", "--old", "old", other, "--format", "json", cwd=tmp_path)
        found = json.loads(done.stdout)
        assert [pool["replaced"] for pool in found["nodePools"]] == [replaced], (code, done.stdout)
        assert done.returncode == (replaced == "all")


NAMES = {
    "argo": ("apps/nodes.yaml", "name: nodes, namespace", "name: others, namespace"),
    "flux": ("flux/nodes.yaml", "name: nodes, namespace", "name: others, namespace"),
    "helmfile": ("helmfile.yaml", "name: nodes", "name: others"),
    "kustomize": ("kustomization.yaml", "releaseName: nodes", "releaseName: others"),
    "terraform": ("main.tf", 'name = "n"', 'name = "m"'),
    "script": ("deploy.sh", "install nodes", "install others"),
    "skaffold": ("skaffold.yaml", "name: nodes", "name: others"),
}
CODES = (
    ("{{ .Release.CODE }}", "a label"),
    ('{{ include "stamp" . }}', "a tag"),
    ("{{ with $.Release }}{{ .CODE }}{{ end }}", "user data"),
)


@pytest.mark.parametrize(("code", "place"), CODES)
@pytest.mark.parametrize("form", NAMES)
def test_the_name_and_namespace_of_a_release_are_inputs(
    nodelint: Run, tmp_path: Path, form: str, code: str, place: str
) -> None:
    path, old, new = NAMES[form]
    more = INSTALLED[form]
    for word, changed in (
        ("Name", more[path].replace(old, new, 1)),
        ("Namespace", more[path].replace("karpenter", "other", 1)),
    ):
        folder = tmp_path / word
        files = tree(code.replace("CODE", word), place, more)
        write_files(folder / "old", files)
        write_files(folder / "new", {**files, path: changed})
        done = nodelint("plan", "--old", "old", "new", cwd=folder)
        assert done.returncode == 1, done.stdout
        assert "No node is replaced." not in done.stdout
    assert more[path] != changed
    write_files(folder / "twin", {**files, "chart/values.yaml": "other: 1\n"})
    assert nodelint("plan", "--old", "old", "twin", cwd=folder).returncode == 0
