"""Overlays and charts are rendered, and what is wrong in the result is told of the files that it came from.

A stand-in for kustomize or helm, which prints a text that the test has written, tries our side of it everywhere;
the real tools are tried where they are on the path.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from nodelint.files.discover import discover
from nodelint.files.globs import Excluded
from nodelint.forms.external.render import Rendering, parts, render
from nodelint.forms.external.tools import ToolError, run
from nodelint.inventory import build
from nodelint.lint import engine
from nodelint.lint.engine import LintRequest, Report, Selection, Target
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source

KUSTOMIZE = "kustomize" if shutil.which("kustomize") else "kubectl"
real_kustomize = pytest.mark.skipif(
    shutil.which(KUSTOMIZE) is None, reason="neither kustomize nor kubectl is on the path: the real one is not tried"
)
real_helm = pytest.mark.skipif(
    shutil.which("helm") is None, reason="helm is not on the path: the real one is not tried"
)

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  weight: {weight}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
        - key: karpenter.sh/capacity-type
          operator: In
          values: [{capacity}]
"""

Lint = Callable[..., Report]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


@pytest.fixture
def judged(rules: dict[str, Rule]) -> Lint:
    def judge(*paths: str, kustomize: bool = True, helm: bool = True, select: str | None = None) -> Report:
        sources = discover(paths or ["."]).sources
        rendering = render(paths or ["."], kustomize=kustomize, helm=helm)
        assert not rendering.problems, rendering.problems
        chosen = Selection(frozenset([select])) if select else engine.DEFAULTS
        return engine.lint(sources, LintRequest(Target(NEWEST), rules, chosen), built=build(sources, rendering).built)

    return judge


def finding_places(report: Report) -> list[tuple[str, str, int]]:
    found = []
    for result in report.results:
        span = result.span
        found.append((result.rule.name, span.source.path, span.source.position(span.start).line))
    assert not report.faults
    return found


def printing(path: Path) -> str:
    return f"print(open({str(path)!r}).read())"


OVERLAY = {
    "base/kustomization.yaml": "resources: [pool.yaml]\n",
    "base/pool.yaml": POOL.format(weight=200, capacity="spott"),
    "prod/kustomization.yaml": """\
        resources: [../base]
        patches:
          - path: weight.yaml
        """,
    "prod/weight.yaml": """\
        apiVersion: karpenter.sh/v1
        kind: NodePool
        metadata: {name: default}
        spec: {weight: 10}
        """,
}


def test_a_value_of_the_base_is_told_there_and_what_a_patch_puts_right_is_not(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint, rules: dict[str, Rule]
) -> None:
    """The base's weight is above 100, and no cluster gets it."""
    write(here, OVERLAY)
    result = tmp_path / "result.yaml"
    result.write_text(POOL.format(weight=10, capacity="spott"), encoding="utf-8")
    calls = stand_in("kustomize", printing(result))
    alone = engine.lint(discover(["."]).sources, LintRequest(Target(NEWEST), rules, engine.DEFAULTS))
    assert ("base/pool.yaml", 6) in [(path, line) for _, path, line in finding_places(alone)]
    report = judged()
    assert [(path, line) for _, path, line in finding_places(report)] == [("base/pool.yaml", 16)]
    assert calls.read_text(encoding="utf-8") == "prod: build .\n"
    also = report.results[0].finding.also
    assert [(a.span.source.path, a.message) for a in also] == [
        ("prod/kustomization.yaml", "in what this overlay renders to")
    ]


def test_a_fix_lands_in_the_file_that_carries_the_value(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    """The result spells the list in another style than the base does."""
    write(here, OVERLAY)
    result = tmp_path / "result.yaml"
    text = POOL.format(weight=10, capacity="spott").replace("[spott]", '\n          - "spott"')
    result.write_text(text, encoding="utf-8")
    stand_in("kustomize", printing(result))
    (found,) = judged().results
    (edit,) = found.finding.edits
    assert edit.source.path == "base/pool.yaml"
    fixed = edit.source.text[: edit.start] + edit.text + edit.source.text[edit.end :]
    assert fixed == POOL.format(weight=200, capacity="spot")


def test_a_value_that_no_file_holds_is_told_of_the_overlay_without_a_fix(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    """A replacement or a generator made it."""
    write(here, OVERLAY)
    result = tmp_path / "result.yaml"
    made = POOL.format(weight=10, capacity="on-demand") + "  limitz: {cpu: 1000}\n"
    result.write_text(made, encoding="utf-8")
    stand_in("kustomize", printing(result))
    report = judged()
    assert [(rule, path) for rule, path, _ in finding_places(report)] == [
        ("unknown-field", "prod/kustomization.yaml")
    ]
    assert not report.results[0].finding.edits


def test_a_file_that_is_named_is_checked_within_the_overlays_it_is_a_part_of(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    """What is wrong in other files of the overlay was not asked for."""
    write(here, {**OVERLAY, "other/kustomization.yaml": "resources: [pool.yaml]\n", "other/pool.yaml": POOL})
    result = tmp_path / "result.yaml"
    result.write_text(POOL.format(weight=200, capacity="spott"), encoding="utf-8")
    calls = stand_in("kustomize", printing(result))
    assert finding_places(judged("prod/weight.yaml")) == []
    assert calls.read_text(encoding="utf-8") == "prod: build .\n"
    assert len(finding_places(judged("base/pool.yaml"))) == 2


def test_the_same_finding_of_two_overlays_is_told_once(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    write(here, {**OVERLAY, "test/kustomization.yaml": "resources: [../base]\n"})
    result = tmp_path / "result.yaml"
    result.write_text(POOL.format(weight=10, capacity="spott"), encoding="utf-8")
    calls = stand_in("kustomize", printing(result))
    assert [(path, line) for _, path, line in finding_places(judged())] == [("base/pool.yaml", 16)]
    assert calls.read_text(encoding="utf-8") == "prod: build .\ntest: build .\n"


def test_what_a_base_lacks_is_told_of_the_base_and_once(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    patch = """\
        apiVersion: karpenter.sh/v1
        kind: NodePool
        metadata: {name: default}
        spec:
          template:
            spec:
              expireAfter: 24h
        """
    reference = "      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}\n"
    base = POOL.format(weight=10, capacity="spot")
    assert reference in base
    base = base.replace(reference, "")
    overlay = "resources: [../base]\npatches: [{path: lifetime.yaml}]\n"
    files = {f"{name}/kustomization.yaml": overlay for name in ("dev", "prod", "test")}
    files |= {f"{name}/lifetime.yaml": patch for name in ("dev", "prod", "test")}
    write(here, {"base/kustomization.yaml": "resources: [pool.yaml]\n", "base/pool.yaml": base, **files})
    result = tmp_path / "result.yaml"
    result.write_text(base.replace("    spec:\n", "    spec:\n      expireAfter: 24h\n"), encoding="utf-8")
    stand_in("kustomize", printing(result))
    assert finding_places(judged()) == [("invalid-field", "base/pool.yaml", 8)]


def test_a_mistake_of_a_template_is_told_once_whatever_it_counts(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    pool = (
        POOL.format(weight=10, capacity="spot")
        + """\
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c]}
        - {key: karpenter.k8s.aws/instance-family, operator: Exists, minValues: 50}
"""
    )
    template = "{{- range .Values.categories }}\n---\n" + pool.replace("[c]", "[{{ . }}]") + "{{- end }}\n"
    write(
        here,
        {
            "chart/Chart.yaml": "name: pools\nversion: 0.1.0\n",
            "chart/values.yaml": "categories: [c, m]\n",
            "chart/templates/pools.yaml": template,
        },
    )
    result = tmp_path / "result.yaml"
    documents = [pool.replace("[c]", f"[{category}]") for category in "cm"]
    result.write_text("".join(f"---\n# Source: pools/templates/pools.yaml\n{d}" for d in documents), encoding="utf-8")
    stand_in("helm", printing(result))
    found = [place for place in finding_places(judged()) if place[0] == "too-few-values"]
    assert len(found) == 1


def test_a_comment_in_the_file_silences_a_finding_of_the_result(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    write(here, OVERLAY)
    result = tmp_path / "result.yaml"
    result.write_text(POOL.format(weight=10, capacity="spott"), encoding="utf-8")
    stand_in("kustomize", printing(result))
    (rule,) = {rule for rule, _, _ in finding_places(judged())}
    pool = here / "base" / "pool.yaml"
    text = pool.read_text(encoding="utf-8")
    pool.write_text(text.replace("[spott]", f"[spott]  # nodelint: ignore[{rule}] known"), encoding="utf-8")
    assert finding_places(judged()) == []


def test_what_could_not_be_judged_is_told_of_the_file_and_once(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    write(here, OVERLAY)
    result = tmp_path / "result.yaml"
    text = POOL.format(weight=10, capacity="spot").replace("[amd64]", "[amd64, arm64]")
    result.write_text(text, encoding="utf-8")
    stand_in("kustomize", printing(result))
    report = judged()
    messages = [(skip.path, skip.object and skip.object.source.path) for skip in report.skipped if not skip.fact]
    assert messages == [("base/pool.yaml", "base/pool.yaml")]
    assert {skip.path for skip in report.skipped if skip.fact} == {""}
    assert len(set(report.skipped)) == len(report.skipped)
    assert [obj.label for obj in report.objects] == ["NodePool/default"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.stderr.write('Error: accumulating resources: no such file\\nmore\\n'); sys.exit(1)", "no such file"),
        ("sys.stderr.write('W1121 10:00:00.1 1 x.go:1] old\\nerror: bad\\n'); sys.exit(1)", "kustomize: bad"),
        (
            "sys.stderr.write('E1121 10:00:00.1 1 x.go:1] \"failed\" err=<\\n\\tno such\\n >\\n'); sys.exit(1)",
            "no such",
        ),
        (
            "sys.stderr.write('Error: in ' + os.getcwd() + '/x.yaml: x'); sys.exit(1)",
            "kustomize: in prod/x.yaml: x",
        ),
        ("sys.exit(3)", "exit code 3"),
        ("sys.stdout.buffer.write(bytes([255, 254, 0]))", "not UTF-8"),
    ],
)
def test_what_a_tool_says_is_told_in_a_line(
    here: Path, stand_in: Callable[[str, str], Path], body: str, message: str
) -> None:
    write(here, OVERLAY)
    stand_in("kustomize", body)
    rendering = render(["."], kustomize=True, helm=False)
    ((path, why),) = rendering.problems
    assert path == "prod/kustomization.yaml"
    assert why.startswith("not rendered: ") and message in why and "\n" not in why
    assert rendering.builds == ()


def test_all_renderings_of_a_run_have_an_end_together(
    here: Path, stand_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(here, OVERLAY)
    calls = stand_in("kustomize", "sys.exit(3)")
    monkeypatch.setattr("nodelint.forms.external.tools.ALL_SECONDS", 0)
    rendering = render(["."], kustomize=True, helm=False)
    why = "not rendered: all renderings together took longer than 0 s"
    assert rendering.problems == (("prod/kustomization.yaml", why),)
    assert not calls.exists(), "no tool is started any more"


def test_a_tool_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    inner = "import time; time.sleep(60)"
    script = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {inner!r}]); time.sleep(60)"
    with pytest.raises(ToolError, match=r"took longer than 0\.5 s"):
        run([sys.executable, "-c", script], str(tmp_path), seconds=0.5)


def test_without_a_tool_it_is_said_once(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, {**OVERLAY, "test/kustomization.yaml": "resources: [../base]\n", **CHART})
    monkeypatch.setenv("PATH", str(tmp_path))
    messages = [why for _, why in render(["."], kustomize=True, helm=True).problems]
    assert sorted(messages) == [
        "not rendered: helm is not on the path",
        "not rendered: neither kustomize nor kubectl is on the path",
    ]


@pytest.mark.parametrize(
    ("field", "base"),
    [
        ("resources: [../base, '%s']", "https://example.org/base?ref=v1"),
        ("resources: [../base, '%s']", "github.com/example/base"),
        ("resources: [../base, '%s']", "../gone"),
        ("resources: [../base]\ncomponents: ['%s']", "git@example.org:team/component"),
        ("resources: [../base]\npatches: [{path: '%s'}]", "https://example.org/patch.yaml"),
        ("resources: [../base]\ntransformers: ['%s']", "https://example.org/t"),
        ("resources: [../base]\nconfigMapGenerator: [{name: x, files: ['a=%s']}]", "https://example.org/f"),
    ],
)
def test_what_is_not_there_is_named(here: Path, stand_in: Callable[[str, str], Path], field: str, base: str) -> None:
    write(here, {**OVERLAY, "prod/kustomization.yaml": field % base + "\n"})
    stand_in("kustomize", "sys.exit('Error: accumulating resources: lookup: network is unreachable')")
    assert render(["."], kustomize=True, helm=False).problems == (
        ("prod/kustomization.yaml", f"not rendered: `{base}` is not on this disk, and is not fetched"),
    )


def test_what_does_not_mention_karpenter_is_not_rendered(here: Path, stand_in: Callable[[str, str], Path]) -> None:
    write(here, {"web/kustomization.yaml": "resources: [web.yaml]\n", "web/web.yaml": "kind: Deployment\n"})
    calls = stand_in("kustomize", "print()")
    assert render(["."], kustomize=True, helm=True) == Rendering()
    assert not calls.exists()


# -- Helm

CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
    "chart/values.yaml": "capacity: on-demand\nweight: 1\n",
    "chart/values-prod.yaml": "capacity: spott\n",
    "chart/templates/pool.yaml": POOL.format(weight="{{ .Values.weight }}", capacity="{{ .Values.capacity }}"),
    "chart/templates/_helpers.tpl": "",
    "chart/templates/off.yaml": "{{- if .Values.off }}\n" + POOL.format(weight=300, capacity="spot") + "{{- end }}\n",
}


@pytest.fixture
def helm(tmp_path: Path, stand_in: Callable[[str, str], Path]) -> Path:
    for name, capacity in (("default", "on-demand"), ("prod", "spott")):
        text = "---\n# Source: pools/templates/pool.yaml\n" + POOL.format(weight=1, capacity=capacity)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    prod, default = str(tmp_path / "prod.yaml"), str(tmp_path / "default.yaml")
    return stand_in("helm", f"print(open({prod!r} if 'spott' in sys.stdin.read() else {default!r}).read())")


def test_what_is_wrong_with_a_template_itself_is_told_whatever_is_rendered(
    here: Path, helm: Path, judged: Lint
) -> None:
    never = "  {{- if .Values.market }}\n  marketOptions: {}\n  {{- end }}\n"
    pool = CHART["chart/templates/pool.yaml"]
    write(here, CHART | {"chart/templates/pool.yaml": pool + never})
    assert ("unknown-field", "chart/templates/pool.yaml", pool.count("\n") + 2) in finding_places(judged())


def test_a_value_handed_to_a_chart_is_told_in_the_file_of_values(here: Path, helm: Path, judged: Lint) -> None:
    write(here, CHART)
    report = judged()
    assert [(path, line) for _, path, line in finding_places(report)] == [
        ("chart/templates/off.yaml", 7),
        ("chart/values-prod.yaml", 1),
    ]
    assert report.results[1].finding.edits[0].source.path == "chart/values-prod.yaml"
    first, second = helm.read_text(encoding="utf-8").splitlines()
    assert first.startswith("chart: template --api-versions=karpenter.sh/v1 ") and first.endswith(
        " -- release-name ."
    )
    assert second == first.replace(" -- ", " --values=- -- ")


def test_files_that_do_not_mention_karpenter_are_there_to_be_fixed(here: Path, helm: Path) -> None:
    write(here, CHART)
    sources = discover(["."]).sources
    assert [source.path for source in sources] == ["chart/templates/off.yaml", "chart/templates/pool.yaml"]
    more = [source.path for source in parts(render(["."], kustomize=False, helm=True), sources)]
    assert more == ["chart/Chart.yaml", "chart/values.yaml", "chart/templates/_helpers.tpl", "chart/values-prod.yaml"]
    requested = ["chart/values-prod.yaml"]
    assert [source.path for source in parts(render(requested, kustomize=False, helm=True), [])] == requested


def test_what_is_excluded_is_not_rendered(here: Path, stand_in: Callable[[str, str], Path]) -> None:
    write(here, OVERLAY)
    calls = stand_in("kustomize", "print()")
    assert render(["."], Excluded(["prod"]), kustomize=True, helm=False).builds != ()
    assert calls.read_text(encoding="utf-8") == "base: build .\n"


def test_a_chart_that_needs_values_is_rendered_with_those_it_has(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    write(here, CHART)
    result = tmp_path / "prod.yaml"
    result.write_text(POOL.format(weight=1, capacity="spot"), encoding="utf-8")
    stand_in("helm", f"if '--values=-' not in sys.argv: sys.exit('Error: capacity is required')\n{printing(result)}")
    assert len(render(["."], kustomize=False, helm=True).builds) == 1
    assert judged().results is not None


def test_a_dependency_that_is_not_there_is_told(here: Path, stand_in: Callable[[str, str], Path]) -> None:
    write(here, CHART)
    said_by_helm = "found in Chart.yaml, but missing in charts/ directory: common"
    stand_in("helm", f"sys.exit('Error: {said_by_helm}')")
    assert render(["."], kustomize=False, helm=True).problems == (
        ("chart/values-prod.yaml", f"not rendered: helm: {said_by_helm}"),
        ("chart/Chart.yaml", f"not rendered: helm: {said_by_helm}"),
    )


def test_a_library_and_a_chart_within_a_chart_are_not_rendered_alone(
    here: Path, stand_in: Callable[[str, str], Path]
) -> None:
    inner = {name.replace("chart/", "chart/charts/inner/"): text for name, text in CHART.items()}
    library = {"lib/Chart.yaml": "name: lib\ntype: library\n# karpenter\n"}
    write(here, {**CHART, **inner, **library})
    calls = stand_in("helm", "print()")
    assert render(["."], kustomize=False, helm=True).problems == ()
    assert {line.split()[0] for line in calls.read_text(encoding="utf-8").splitlines()} == {"chart:"}


# -- the real tools


@real_kustomize
def test_an_overlay_with_patches_of_each_kind(here: Path, judged: Lint) -> None:
    write(
        here,
        {
            **OVERLAY,
            "prod/kustomization.yaml": """\
                namePrefix: prod-
                resources: [../base]
                patches:
                  - path: weight.yaml
                  - patch: |-
                      apiVersion: karpenter.sh/v1
                      kind: NodePool
                      metadata: {name: default}
                      spec:
                        limitz: {cpu: 100}
                  - target: {kind: NodePool}
                    patch: |-
                      - op: add
                        path: /spec/disruption
                        value:
                          consolidationPolicy: WhenEmptee
                          consolidateAfter: soon
                  - target: {kind: NodePool}
                    path: operations.json
                """,
            "prod/operations.json": (
                '[{"op": "add", "path": "/spec/template/spec/requirements/-",\n'
                '  "value": {"key": "kubernetes.io/os", "operator": "Inn", "values": ["linux"]}}]\n'
            ),
        },
    )
    places = [(path, line) for _, path, line in finding_places(judged())]
    assert sorted(places) == [
        ("base/pool.yaml", 16),
        ("prod/kustomization.yaml", 10),
        ("prod/kustomization.yaml", 16),
        ("prod/kustomization.yaml", 17),
        ("prod/operations.json", 2),
    ]


@real_kustomize
def test_the_real_tool_is_heard_out(here: Path) -> None:
    write(here, {**OVERLAY, "prod/weight.yaml": "kind: NodePool # karpenter\nspec: [\n"})
    ((path, why),) = render(["."], kustomize=True, helm=False).problems
    assert path == "prod/kustomization.yaml"
    assert why.startswith(("not rendered: kube", "not rendered: kustomize"))
    assert "\n" not in why and len(why) < 300


@real_helm
def test_the_real_helm_renders_with_each_file_of_values(here: Path, judged: Lint) -> None:
    write(here, CHART)
    assert ("chart/values-prod.yaml", 1) in [(path, line) for _, path, line in finding_places(judged())]


def test_nothing_changes_where_nothing_is_rendered(rules: dict[str, Rule]) -> None:
    source = Source.from_text("pool.yaml", POOL.format(weight=1, capacity="spott"))
    plain = engine.lint([source], LintRequest(Target(NEWEST), rules, engine.DEFAULTS))
    same = engine.lint(
        [source], LintRequest(Target(NEWEST), rules, engine.DEFAULTS), built=build([source], Rendering()).built
    )
    assert [r.finding.message for r in same.results] == [r.finding.message for r in plain.results] != []


TWO = """\
{{- range $name, $pool := .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}-a
spec:
  weight: 200
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        {{- toYaml $pool.requirements | nindent 8 }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}-b
spec:
  weight: 200
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        {{- toYaml $.Values.shared.requirements | nindent 8 }}
{{- end }}
"""


def test_a_chart_that_makes_pools_of_values(
    here: Path, tmp_path: Path, stand_in: Callable[[str, str], Path], judged: Lint
) -> None:
    """Two objects of one template whose names are filled in; what they require stands in the values."""
    line = "- {key: karpenter.sh/capacity-type, operator: In, values: [%s]}\n"
    values = "pools:\n  web:\n    requirements:\n      " + line % "spott"
    values += "shared:\n  requirements:\n    " + line % "on-demnd"
    write(
        here,
        {
            "chart/Chart.yaml": "name: pools\nversion: 0.1.0\n",
            "chart/values.yaml": values,
            "chart/templates/pools.yaml": TWO,
        },
    )
    documents = [
        POOL.format(weight=200, capacity=capacity).replace("name: default\nspec", f"name: web-{name}\nspec")
        for name, capacity in (("a", "spott"), ("b", "on-demnd"))
    ]
    result = tmp_path / "result.yaml"
    result.write_text("".join(f"---\n# Source: pools/templates/pools.yaml\n{d}" for d in documents), encoding="utf-8")
    stand_in("helm", printing(result))
    report = judged()
    places = {
        (path, line): bool(r.finding.edits)
        for (_, path, line), r in zip(finding_places(report), report.results, strict=True)
    }
    assert places == {
        ("chart/templates/pools.yaml", 8): False,  # 200 is too much, and there is no telling what was meant
        ("chart/templates/pools.yaml", 20): False,
        ("chart/values.yaml", 4): False,  # the one place where the text stands, by what way is not known
        ("chart/values.yaml", 7): True,  # `.Values.shared.requirements`, and nothing else
    }
