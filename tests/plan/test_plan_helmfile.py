"""What a helmfile gives a chart: templates of values files, and files of environments that it does not declare."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.test_cli import Run
from tests.plan.test_plan_inputs import POOL, class_of
from tests.plan.test_plan_seen_in_public import plan

TEMPLATE = class_of(tags="team: {{ .Values.team }}").replace("role: nodes", "role: {{ .Values.role }}")
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: nodes\nversion: 1.0.0\n",
    "chart/values.yaml": "role: d\nteam: d\nother: d\n",
    "chart/templates/n.yaml": f"{TEMPLATE}---\n{POOL}",
}
RELEASE = "releases:\n  - name: n\n    chart: ./chart\n    values: [{}]\n"
CODE = 'role: {{ requiredEnv "ROLE" | default "r" }}\nteam: t\nother: x\n'


def changes(nodelint: Run, folder: Path, old: dict[str, str], new: dict[str, str]) -> bool:
    found = plan(nodelint, folder, {**CHART, **old}, {**CHART, **new})
    is_replaced = any(pool["replaced"] != "none" for pool in found["nodePools"])
    return is_replaced or any(place["changed"] for place in found["notCompared"])


@pytest.mark.parametrize(
    ("place", "old", "new", "is_change"),
    [
        ("v.yaml.gotmpl", '"r"', '"s"', True),
        ("v.yaml.gotmpl", "team: t", "team: s", True),
        ("v.yaml.gotmpl", "other: x", "other: y", False),
        ("ci.sh", "ROLE=a", "ROLE=b", True),
        ("ci.sh", "X=a", "X=b", False),
        ("chart/values.yaml", "role: d", "role: e", False),
        ("chart/values.yaml", "team: d", "team: e", False),
    ],
)
def test_a_template_of_values_overrides_defaults(
    nodelint: Run, tmp_path: Path, place: str, old: str, new: str, is_change: bool
) -> None:
    files = {
        **CHART,
        "helmfile.yaml": RELEASE.format("v.yaml.gotmpl"),
        "v.yaml.gotmpl": CODE,
        "ci.sh": "export ROLE=a\nX=a\nhelmfile apply\n",
    }
    assert changes(nodelint, tmp_path, files, {**files, place: files[place].replace(old, new)}) is is_change


@pytest.mark.parametrize("more", ["", "      - role: {{ .Values.role }}\n"])
def test_a_file_of_an_environment_that_is_not_declared_gives_nothing(
    nodelint: Run, tmp_path: Path, more: str
) -> None:
    helmfile = "releases:\n  - name: n\n    chart: ./chart\n    values:\n      - vals/{{ .Environment.Name }}.yaml\n"
    helmfile += f"{more}environments:\n  prod: {{}}\n"
    files = {"helmfile.yaml.gotmpl": helmfile, "vals/prod.yaml": "team: p\n", "vals/qa.yaml": "team: q\n"}
    assert not changes(nodelint, tmp_path, files, {**files, "vals/qa.yaml": "team: z\n"})
    assert changes(nodelint, tmp_path / "prod", files, {**files, "vals/prod.yaml": "team: z\n"})
    declared = {**files, "helmfile.yaml.gotmpl": f"{helmfile}  qa: {{}}\n"}
    assert changes(nodelint, tmp_path / "qa", declared, {**declared, "vals/qa.yaml": "team: z\n"})


TWO = """\
releases:
  - name: n
    chart: ./chart
    values:
      - v.yaml.gotmpl
  - name: other
    {chart}
    values:
      - o.yaml.gotmpl
{{{{ if eq .Environment.Name "prod" }}}}
  - name: third
    chart: ext/third
{{{{ end }}}}
"""


@pytest.mark.parametrize(
    ("chart", "is_change"),
    [
        ("chart: ext/other", False),
        ("chart: ./chart", True),
        ("chart: ./{{ .Values.chart }}", True),
        ("chart: ext/other\n    dependencies: [{chart: ./chart}]", True),
        ("chart: ext/other\n    dependencies:\n      - chart: ./chart", True),
        ("chart: ext/other\n    inherit: &shared [{template: t}]", True),
    ],
)
def test_values_of_a_release_of_another_chart(nodelint: Run, tmp_path: Path, chart: str, is_change: bool) -> None:
    text = TWO.replace("{chart}", chart).replace("{{{{", "{{").replace("}}}}", "}}")
    files = {**CHART, "helmfile.yaml": text, "v.yaml.gotmpl": CODE, "o.yaml.gotmpl": 'team: {{ env "T" }}\nx: 1\n'}
    new = {**files, "o.yaml.gotmpl": 'team: {{ env "T" }}\nx: 2\nrole: q\n'}
    assert changes(nodelint, tmp_path, files, new) is is_change


@pytest.mark.parametrize(("old", "new", "is_change"), [("role: a", "role: b", True), ("# c", "# d", False)])
def test_values_that_a_release_inherits_from_a_base(
    nodelint: Run, tmp_path: Path, old: str, new: str, is_change: bool
) -> None:
    base = "templates:\n  default:\n    values:\n      - {role: a}\n"
    main = "bases: [common.yaml]\n---\n" + RELEASE.format("{x: 1}").replace(
        "    values", "    inherit: [{template: default}]\n    values"
    )
    files = {**CHART, "helmfile.yaml": main, "common.yaml": base, "other.yaml": "a: 1 # c\n"}
    place = "common.yaml" if is_change else "other.yaml"
    assert changes(nodelint, tmp_path, files, {**files, place: files[place].replace(old, new)}) is is_change
