"""A chart within another one: what installs the outer chart enables and disables it, whatever its templates use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.installers import INSTALLERS, NOT_TOLD_APART, application, application_set, flow, nested
from tests.plan.test_plan_inputs import ALIAS, NEWER, POOL, Run, class_of
from tests.repositories import write_files

Files = dict[str, str]

CHARTS = ("by its path", "by its path, under an alias", "in the folder of charts", "within two others")
SWITCHES = ("condition", "another condition", "tags")


def chart_yaml(name: str, dependency: str = "") -> str:
    head = f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n"
    return f"{head}dependencies:\n  - {{{dependency}}}\n" if dependency else head


def make_tree(where: str, switch: str, has_code: bool) -> tuple[Files, str, str, str]:
    """Return a chart in an outer one, the folder of the outermost chart, the path of what enables it, and the file
    with the image of its nodes.
    """
    vendored = where == "in the folder of charts"
    folder = "up/charts/nodes" if vendored else "chart"
    key = "prod" if "alias" in where else "nodes"
    item = f"name: nodes, version: 0.1.0{', alias: prod' if key == 'prod' else ''}"
    item += "" if vendored else ", repository: 'file://../chart'"
    path = {"condition": f"{key}.enabled", "another condition": "pools.live", "tags": "tags.pools"}[switch]
    item += ", tags: [pools]" if switch == "tags" else f", condition: {path}"
    values = f"{folder}/values.yaml"
    files = {
        f"{folder}/Chart.yaml": chart_yaml("nodes"),
        f"{folder}/templates/class.yaml": class_of("{{ .Values.alias }}") if has_code else class_of(),
        f"{folder}/templates/pool.yaml": POOL,
        "up/Chart.yaml": chart_yaml("up", item),
    }
    if has_code:
        files[values] = f"alias: {ALIAS}\n"
    outer = "up"
    if where == "within two others":
        outer = "top"
        files["top/Chart.yaml"] = chart_yaml("top", "name: up, version: 0.1.0, repository: 'file://../up'")
        path = path if switch == "tags" else f"up.{path}"
    return files, outer, path, values if has_code else f"{folder}/templates/class.yaml"


def plan(nodelint: Run, folder: Path, old: Files, new: Files) -> tuple[int, str]:
    write_files(folder / "old", old)
    write_files(folder / "new", new)
    done = nodelint("plan", "--old", "old", "new", cwd=folder)
    return done.returncode, done.stdout + done.stderr


CASES = [
    pytest.param(name, CHARTS[n % 4], SWITCHES[n % 3], n % 2 == 0, id=f"{name}, {CHARTS[n % 4]}")
    for n, name in enumerate([*INSTALLERS, *INSTALLERS])
    if n < len(INSTALLERS) or n % 3 == 0
]


@pytest.mark.parametrize(("name", "where", "switch", "has_code"), CASES)
def test_what_installs_an_outer_chart_switches_the_inner_one(
    nodelint: Run, tmp_path: Path, name: str, where: str, switch: str, has_code: bool
) -> None:
    files, outer, path, image = make_tree(where, switch, has_code)
    install = INSTALLERS[name]
    on, off = ({**files, **install(outer, path, value)} for value in ("true", "false"))
    code, shown = plan(nodelint, tmp_path / "off", on, off)
    assert code == 1, shown
    assert "No node is replaced." not in shown
    code, shown = plan(nodelint, tmp_path / "image", on, {**on, image: on[image].replace(*NEWER)})
    assert code == 1, shown
    others = ({**files, **install(outer, "other.live", value)} for value in ("true", "false"))
    code, shown = plan(nodelint, tmp_path / "twin", *others)
    assert code == (name in NOT_TOLD_APART), shown


def direct() -> Files:
    """A chart whose templates take one value."""
    files = make_tree("by its path", "condition", True)[0]
    return {path: text for path, text in files.items() if not path.startswith("up/")}


@pytest.mark.parametrize("name", INSTALLERS)
def test_a_value_that_an_installation_gives_reaches_the_chart(nodelint: Run, tmp_path: Path, name: str) -> None:
    install = INSTALLERS[name]
    files = direct()
    if name == "the chart's own values":
        files["chart/values.yaml"] = ""
    old, new = ({**files, **install("chart", "alias", value)} for value in (ALIAS, ALIAS.replace(*NEWER)))
    code, shown = plan(nodelint, tmp_path / "a", old, new)
    assert code == 1, shown
    assert "No node is replaced." not in shown
    others = [{**files, **install("chart", "other", value)} for value in ("a", "b")]
    code, shown = plan(nodelint, tmp_path / "twin", *others)
    assert code == (name in NOT_TOLD_APART), shown


@pytest.mark.parametrize("has_code", [True, False])
def test_each_release_of_an_outer_chart_counts(nodelint: Run, tmp_path: Path, has_code: bool) -> None:
    """One Application keeps the chart on; what another one, and the chart's folder alone, get of it is told apart."""
    files, outer, path, image = make_tree("by its path", "condition", has_code)
    first = application(outer, f"{{valuesObject: {flow(path, 'true')}}}")["apps/nodes.yaml"]
    second = first.replace("name: nodes", "name: more").replace("kubernetes.default", "other")
    both = {**files, "apps/a.yaml": first, "apps/b.yaml": second}
    off = {**both, "apps/b.yaml": second.replace("true", "false")}
    assert plan(nodelint, tmp_path / "off", both, off)[0] == 1
    assert plan(nodelint, tmp_path / "image", off, {**off, image: off[image].replace(*NEWER)})[0] == 1
    alone = {**off, "apps/a.yaml": first.replace("path: up", "path: chart")}
    assert plan(nodelint, tmp_path / "alone", alone, {**alone, image: off[image].replace(*NEWER)})[0] == 1


@pytest.mark.parametrize("where", CHARTS)
def test_a_cluster_may_enable_what_the_values_disable(nodelint: Run, tmp_path: Path, where: str) -> None:
    files, outer, path, image = make_tree(where, "condition", False)
    given = application_set(outer, "{valueFiles: ['$values/envs/{{.name}}.yaml']}", "[{clusters: {}}]")
    off = {**files, **given, f"{outer}/values.yaml": nested(path, "false"), "envs/prod.yaml": nested(path, "true")}
    for changed in (
        {image: off[image].replace(*NEWER)},
        {f"{outer}/values.yaml": nested(path, "true")},
        {"envs/prod.yaml": nested(path, "false")},
    ):
        assert plan(nodelint, tmp_path / str(len(str(changed))), off, {**off, **changed})[0] == 1
    assert plan(nodelint, tmp_path / "twin", off, {**off, "notes.yaml": "a: 1\n"})[0] == 0


@pytest.mark.parametrize("has_code", [True, False])
@pytest.mark.parametrize("user", ["a chart", "a kustomization"])
def test_what_no_longer_uses_a_chart_is_named(nodelint: Run, tmp_path: Path, user: str, has_code: bool) -> None:
    files, outer, path, _ = make_tree("by its path", "condition", has_code)
    if user == "a chart":
        old = {**files, **application(outer, f"{{valuesObject: {flow(path, 'true')}}}")}
        new = {**old, "up/Chart.yaml": chart_yaml("up")}
    else:
        spaces = {"ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"}
        old = {**files, **spaces, **INSTALLERS["kustomize inline"](outer, path, "true")}
        new = {**old, "kustomization.yaml": "resources: [ns.yaml]\n"}
        old["kustomization.yaml"] += "resources: [ns.yaml]\n"
    code, shown = plan(nodelint, tmp_path, old, new)
    assert code == 1, shown
    assert "No node is replaced." not in shown
