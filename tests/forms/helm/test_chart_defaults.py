"""Charts are judged with their default values: what these do is told, and nothing that an installation gives."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from nodelint.base.budget import BudgetSpent
from nodelint.forms.lib.gotemplate.evaluate import fill
from nodelint.forms.lib.gotemplate.syntax import BadTemplate, parse
from nodelint.forms.lib.values import merged
from nodelint.inventory import build
from nodelint.lint.engine import LintRequest, Result, Selection, Target, lint
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule
from nodelint.text import Source
from nodelint.text.yaml.compose import compose
from tests.manifests import nodeclass

Run = Callable[..., subprocess.CompletedProcess[str]]

CHART = "apiVersion: v2\nname: pools\nversion: 0.1.0\n"
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ .Values.clusterName }}-pool
spec:
  template:
    metadata:
      labels:
        spot: {{ .Values.spot }}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: {{ .Values.className | default "default" }}}
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [{{ .Values.arch | quote }}]
        - key: node.kubernetes.io/instance-type
          operator: In
          values:
            {{- range .Values.types }}
            - {{ . }}
            {{- end }}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: {{ .Values.consolidateAfter }}
"""
VALUES = """\
clusterName: my-cluster
arch: amd64
spot: "true"   # a text
consolidateAfter: 30s
types:
  - m5.large
  - m5.xlrge   # a slip
"""
OTHERS = """\
{{- range $name, $pool := .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}
spec:
  {{- with $pool.weight }}
  weight: {{ . }}
  {{- end }}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        {{- toYaml $pool.requirements | nindent 8 }}
{{- end }}
"""
POOLS = """\
pools:
  general:
    weight: 200
    requirements:
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m]}
  old:
    requirements:
      - key: kubernetes.io/arch
        operator: In
        values: [x86_64]
"""


def chart(folder: Path, values: str, **templates: str) -> None:
    (folder / "chart/templates").mkdir(parents=True)
    (folder / "chart/Chart.yaml").write_text(CHART, encoding="utf-8")
    (folder / "chart/values.yaml").write_text(textwrap.dedent(values), encoding="utf-8")
    for name, text in templates.items():
        (folder / f"chart/templates/{name}.yaml").write_text(text, encoding="utf-8")


def finding_lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The findings, each without the path of the chart."""
    lines = (line for line in done.stdout.splitlines() if not line.startswith("Not known"))
    return [line.removeprefix("chart/") for line in lines if "[" in line.partition(" ")[2]]


def findings(nodelint: Run, *args: str) -> list[str]:
    return finding_lines(nodelint("check", "--format", "concise", *(args or ["chart"])))


def test_a_default_that_is_refused_is_told_where_it_stands_and_where_it_is_used(
    nodelint: Run, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    chart(tmp_path, VALUES + POOLS, pool=POOL, others=OTHERS)
    assert nodelint("check", "chart").stdout == snapshot


def test_a_fix_changes_the_values_where_they_are_wrong_and_the_template_where_it_lacks_quotes(
    nodelint: Run, tmp_path: Path
) -> None:
    chart(tmp_path, VALUES + POOLS, pool=POOL, others=OTHERS)
    nodelint("check", "--fix", "chart")
    values = (VALUES + POOLS).replace("m5.xlrge", "m5.xlarge").replace("x86_64", "amd64")
    assert (tmp_path / "chart/values.yaml").read_text(encoding="utf-8") == values
    assert (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8") == POOL.replace(
        "{{ .Values.spot }}", "{{ .Values.spot | quote }}"
    )
    assert (tmp_path / "chart/templates/others.yaml").read_text(encoding="utf-8") == OTHERS


def test_a_value_that_is_used_twice_is_changed_only_where_that_is_asked_for(nodelint: Run, tmp_path: Path) -> None:
    chart(tmp_path, "arch: x86_64\n", pool=POOL, other=POOL.replace("-pool", "-other"))
    found = nodelint("check", "--fix", "chart")
    assert "unsafe" in found.stdout
    assert (tmp_path / "chart/values.yaml").read_text(encoding="utf-8") == "arch: x86_64\n"
    nodelint("check", "--unsafe-fixes", "chart")
    assert (tmp_path / "chart/values.yaml").read_text(encoding="utf-8") == "arch: amd64\n"


def test_a_template_alone_is_told_of_the_values_that_were_not_asked_for(nodelint: Run, tmp_path: Path) -> None:
    chart(tmp_path, VALUES, pool=POOL)
    found = findings(nodelint, "chart/templates/pool.yaml")
    assert [line.partition(": ")[0] for line in found] == ["templates/pool.yaml:9:15", "templates/pool.yaml:20:15"]
    nodelint("check", "--fix", "chart/templates/pool.yaml")
    assert (tmp_path / "chart/values.yaml").read_text(encoding="utf-8") == VALUES


def test_defaults_are_held_to_every_rule_that_needs_no_account_but_not_to_names(
    nodelint: Run, tmp_path: Path
) -> None:
    capacity = """\
        - key: karpenter.sh/capacity-type
          operator: In
          values: {{ .Values.capacity | toJson }}
"""
    pool = POOL.replace(
        "      requirements:\n", f"      expireAfter: {{{{ .Values.expiry }}}}\n      requirements:\n{capacity}"
    )
    values = "capacity: [spot]\nexpiry: Never\nclassName: yours\ntypes: [m5.large, c5.large]\narch: amd64\n"
    chart(tmp_path, values, pool=pool, klass=nodeclass())
    found = [line.partition(": ")[2] for line in findings(nodelint, "--profile", "strict", "chart")]
    rules = {line.partition("[")[2].partition("]")[0] for line in found}
    assert {"narrow-spot", "never-expires"} <= rules
    assert "unknown-node-class" not in rules


SILENT = {
    "empty": "arch: ''\nspot: null\nclusterName:\ntypes: []\n",
    "missing": "unrelated: true\n",
    "a name": "clusterName: my-cluster\nclassName: your-class\n",
    "in an account": "arch: amd64\ntypes: [m5.large]\nspot: mostly\n",
    "a template of its own": "arch: '{{ .Release.Name }}'\n",
    "a placeholder": "arch: ${ARCH}\nspot: <spot>\n",
}


@pytest.mark.parametrize("values", SILENT.values(), ids=SILENT)
def test_what_is_to_be_replaced_is_no_finding(nodelint: Run, tmp_path: Path, values: str) -> None:
    chart(tmp_path, values, pool=POOL, klass=nodeclass())
    assert findings(nodelint) == []


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ('if eq .Values.pool.kind "arm"', "pool: {kind: amd, arch: x86_64}\n"),
        ("if not .Values.pool", "pool: {arch: x86_64}\n"),
        ("with (.Values.absent).deeper", "pool: {arch: x86_64}\n"),
        ("if and .Values.pool.arch .Values.pool.enabled", "pool: {arch: x86_64}\n"),
    ],
)
def test_what_the_defaults_leave_out_is_not_judged(
    nodelint: Run, tmp_path: Path, condition: str, values: str
) -> None:
    text = POOL.replace(".Values.arch", ".Values.pool.arch")
    chart(tmp_path, values, pool="{{- " + condition + " }}\n" + text.replace(" . }", " $ }") + "{{- end }}\n")
    assert findings(nodelint) == []


def test_a_field_under_a_condition_is_not_missing(nodelint: Run, tmp_path: Path) -> None:
    text = nodeclass().replace(
        "  role: KarpenterNodeRole-main\n", "{{- if .Values.role }}\n  role: {{ .Values.role }}\n{{- end }}\n"
    )
    text = text.replace("al2023@v20250403", "{{ .Values.alias }}")
    chart(tmp_path, "role: ''\nalias: al2023@v20250403\n", klass=text)
    assert findings(nodelint) == []


def test_the_branch_that_the_defaults_take_is_judged(nodelint: Run, tmp_path: Path) -> None:
    branches = '{{ if eq .Values.cpu "arm" }}arm64{{ else if .Values.cpu }}{{ .Values.cpu }}{{ else }}amd64{{ end }}'
    text = POOL.replace("{{ .Values.arch | quote }}", branches)
    chart(tmp_path, "cpu: arm\n", pool=text)
    assert findings(nodelint) == []
    (tmp_path / "chart/values.yaml").write_text("cpu: intel\n", encoding="utf-8")
    assert [line.partition(": ")[0] for line in findings(nodelint)] == ["values.yaml:1:6"]


def test_what_is_switched_off_is_judged_as_it_will_be(nodelint: Run, tmp_path: Path) -> None:
    text = "{{- if .Values.enabled }}\n" + POOL + "{{- end }}\n"
    chart(tmp_path, "enabled: false\narch: x86_64\n", pool=text)
    assert [line.partition(": ")[0] for line in findings(nodelint)] == ["values.yaml:2:7"]


def test_of_fields_that_are_left_out_none_is_taken_to_be_there_or_not(nodelint: Run, tmp_path: Path) -> None:
    first = "{{- with .Values.role }}\n  role: {{ . }}\n{{- end }}\n"
    text = nodeclass().replace("  role: KarpenterNodeRole-main\n", first + first.replace("role", "instanceProfile"))
    chart(tmp_path, "role: ''\ntags: a\n", klass=text.replace("main", "{{ .Values.tags }}"))
    assert findings(nodelint) == []


def test_what_an_outer_chart_may_replace_is_not_judged(nodelint: Run, tmp_path: Path) -> None:
    chart(tmp_path, VALUES, pool=POOL)
    (tmp_path / "outer/charts").mkdir(parents=True)
    (tmp_path / "outer/Chart.yaml").write_text(CHART, encoding="utf-8")
    (tmp_path / "chart").rename(tmp_path / "outer/charts/chart")
    assert findings(nodelint, "outer") == []


def test_a_comment_silences_a_finding_at_the_value_or_where_it_is_used(nodelint: Run, tmp_path: Path) -> None:
    chart(tmp_path, "arch: x86_64  # nodelint: ignore[unknown-value]\n", pool=POOL)
    assert findings(nodelint) == []
    (tmp_path / "chart/values.yaml").write_text("arch: x86_64\n", encoding="utf-8")
    text = POOL.replace("quote }}]", "quote }}]  # nodelint: ignore[unknown-value]")
    (tmp_path / "chart/templates/pool.yaml").write_text(text, encoding="utf-8")
    assert findings(nodelint) == []
    (tmp_path / "chart/values.yaml").write_text("arch: amd64\n", encoding="utf-8")
    assert [line.partition("[")[2].partition("]")[0] for line in findings(nodelint)] == ["unused-suppression"]


def test_what_the_template_says_itself_is_said_once(nodelint: Run, tmp_path: Path) -> None:
    text = POOL.replace("consolidationPolicy: WhenEmpty", "consolidationPolcy: WhenEmpty")
    chart(tmp_path, "arch: amd64\n", pool=text)
    assert [line.partition(": ")[0] for line in findings(nodelint)] == ["templates/pool.yaml:23:5"]


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("a: {{ .Values.a }}", "a: b", "a: b"),
        ("a: {{ .Values.a | quote }}", "a: 1", 'a: "1"'),
        (
            "a: {{- .Values.a | toYaml | nindent 2 }}\nb: c",
            "a: {x: [1, {q: z}]}",
            "a:\n  x:\n    - 1\n    - q: z\nb: c",
        ),
        ("a: {{ toJson .Values.a }}", "a: [b, 2, true]", 'a: ["b",2,true]'),
        ("{{- range $k, $v := .Values.a }}\n{{ $k }}: {{ $v }}\n{{- end }}", "a: {q: 2, p: 1}", "\np: 1\nq: 2"),
        ("{{ $x := .Values.a }}a: {{ $x.b }}", "a: {b: c}", "a: c"),
        ('a: {{ .Values.a | default "x" }}', "b: c\na: ''", "a: x"),
        ("a: {{ .Values.a }}", "a: ''", "a: ${unset}"),
        ("a: {{ .Release.Name }}-{{ .Values.a }}", "a: b", "a: {{ .Release.Name }}-b"),
        (
            "{{ if .Release.IsInstall }}\na: {{ .Values.a }}\n{{ end }}",
            "a: b",
            "{{ if .Release.IsInstall }}\na: b\n{{ end }}",
        ),
        ("x: y\n{{- if .Values.b }}\na: {{ .Values.a }}\n{{- end }}\n", "a: b", "x: y\na: ${unset}\n"),
        ("{{- with .Values.a }}\nb: {{ .b }}\n{{- end }}", "a: {b: 1.50}", "\nb: 1.5"),
        ("{{/* no {{ code }} */}}a: {{ .Values.a }}", "a: b", "a: b"),
        ('a: {{ printf "%s-x" .Values.a }}', "a: b", "a: b-x"),
        ('a: {{ if semverCompare ">=1.2" .Values.a }}b{{ else }}c{{ end }}', "a: 1.10.0", "a: b"),
        ('a: {{ dig "b" "c" "other" .Values.a }}', "a: {b: {}}", "a: other"),
        ("a: {{ if gt (len .Values.a) 1 }}b{{ end }}", "a: [1, 2]", "a: b"),
        ("a: {{ (index .Values.a 1).b }}", "a: [x, {b: c}]", "a: c"),
        ('a: {{ include "name" . }}{{ .Values.a }}', "a: b", 'a: {{ include "name" . }}b'),
    ],
)
def test_templates_are_filled_as_helm_fills_them(template: str, values: str, text: str) -> None:
    root = compose(Source("values.yaml", values), values, 0, masked=False)[0]
    assert fill(template, parse(template), root, "keys").text == text


SCALARS = (
    st.text(st.characters(exclude_categories=["C"], exclude_characters="\x85\u2028\u2029"), min_size=1, max_size=8)
    | st.integers(-99, 99)
    | st.booleans()
)
TREES = st.recursive(
    SCALARS,
    lambda below: (
        st.lists(below, min_size=1, max_size=3)
        | st.dictionaries(st.from_regex("[a-z]{1,4}", fullmatch=True), below, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@given(TREES)
def test_to_yaml_writes_what_reads_as_the_same(value: object) -> None:
    written = json.dumps({"v": value}, ensure_ascii=False)
    root = compose(Source("values.yaml", written), written, 0, masked=False)[0]
    template = "out:\n  {{- toYaml .Values.v | nindent 2 }}\n"
    text = fill(template, parse(template), root, "keys").text
    again = compose(Source("out.yaml", text), text, 0, masked=False)[0]
    assert root is not None
    assert again is not None
    assert again.find("out").plain() == root.find("v").plain()  # type: ignore[union-attr]


LIST = POOL.replace(
    "\n            {{- range .Values.types }}\n            - {{ . }}\n            {{- end }}", " {{ .Values.types }}"
)


@pytest.mark.parametrize(
    ("text", "values", "expected", "fixed"),
    [
        (LIST, "types: [m5.large, c5.large]\n", ["error"], "values: {{ .Values.types }}"),
        (LIST, "types: [m5.large]\n", ["warning"], "values: {{ .Values.types }}"),
        (LIST, "types: []\n", ["warning"], "values: {{ .Values.types }}"),
        (LIST, "types: '[m5.large, c5.large]'\n", [], "values: {{ .Values.types }}"),
        (LIST.replace("types }}", "types | toJson }}"), "types: [m5.large, c5.large]\n", [], "toJson }}"),
        (
            LIST.replace("values: {{ .Values.types }}", "values: [{{ .Values.types }}]"),
            "types: m5.large\n",
            [],
            "types }}]",
        ),
        (
            LIST.replace("values: {{ .Values.types }}", "values: [{{ .Values.types }}]"),
            "types: [m5.large]\n",
            ["error"],
            "values: [{{ .Values.types }}]",
        ),
        (POOL, "spot: {a: b}\ntypes: [m5.large]\n", ["warning"], "spot: {{ .Values.spot }}"),
        (POOL, "spot: []\ntypes: [m5.large]\n", [], "spot: {{ .Values.spot }}"),
        (POOL, "spot: {a: '', b: {c: ''}}\ntypes: [m5.large]\n", [], "spot: {{ .Values.spot }}"),
        (
            LIST + "  limits: {{ .Values.limits }}\n",
            "types: '[m5.large]'\nlimits: {cpu: 10}\n",
            ["error"],
            "limits: {{ .Values.limits | toJson }}",
        ),
    ],
)
def test_a_list_is_printed_as_yaml(
    nodelint: Run, tmp_path: Path, text: str, values: str, expected: list[str], fixed: str
) -> None:
    chart(tmp_path, "arch: amd64\n" + values, pool=text)
    done = findings(nodelint, "chart", "--select", "unquoted-value")
    assert [line.split("[")[0].rpartition(" ")[2] for line in done] == expected
    nodelint("check", "--fix", "--select", "unquoted-value", "chart")
    assert fixed in (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8")


def test_a_list_of_types_is_printed_as_yaml_where_unsafe_fixes_are_wanted(nodelint: Run, tmp_path: Path) -> None:
    """With other values the pool may have nodes: that none is replaced is not proven."""
    chart(tmp_path, "arch: amd64\ntypes: [m5.large, c5.large]\n", pool=LIST)
    nodelint("check", "--fix", "--unsafe-fixes", "--select", "unquoted-value", "chart")
    text = (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8")
    assert "values: {{ .Values.types | toJson }}" in text


@pytest.mark.parametrize(
    ("condition", "key", "value", "expected"),
    [
        (".startupTaints", "taints", "toYaml .taints | nindent 8", 1),
        (".taints", "taints", "toYaml .taints | nindent 8", 0),
        (".withTaints", "taints", "toYaml .taints | nindent 8", 0),
        (".startupTaints", "taints", "toYaml .other.taints | nindent 8", 0),
        (".startupTaints", "taints", ".startupTaints | toJson", 0),
        (".startupTaints", "expireAfter", 'default "720h" .expireAfter', 0),
    ],
)
def test_a_field_is_written_under_its_own_condition(
    nodelint: Run, tmp_path: Path, condition: str, key: str, value: str, expected: int
) -> None:
    lines = [
        "{{- with .Values.pool }}",
        "{{- if .startupTaints }}",
        "      startupTaints: {{ toYaml .startupTaints | nindent 8 }}",
        "{{- end }}",
        "{{- if " + condition + " }}",
        "      " + key + ": {{ " + value + " }}",
        "{{- end }}",
        "{{- end }}",
        "  disruption:",
    ]
    more = "\n".join(lines) + "\n"
    chart(tmp_path, "pool: {}\n", pool=POOL.replace("  disruption:\n", more))
    done = findings(nodelint, "chart", "--select", "value-never-printed")
    assert len(done) == expected


def test_a_value_of_a_list_is_removed_from_it(nodelint: Run, tmp_path: Path) -> None:
    values = """\
    pools:
      gpu:
        requirements:
          - {key: karpenter.k8s.aws/instance-family, operator: In, values: [g6, p5]}
          - key: kubernetes.io/arch
            operator: In
            values: [amd64, arm64]  # all that there is
    """
    chart(tmp_path, values, others=OTHERS)
    nodelint("check", "--unsafe-fixes", "--select", "unmatchable-value", "chart")
    fixed = (tmp_path / "chart/values.yaml").read_text(encoding="utf-8")
    assert fixed == textwrap.dedent(values).replace("[amd64, arm64]", "[amd64]")


VALUE = st.sampled_from(
    [
        None,
        "",
        "a",
        "x86_64",
        "m5.large",
        True,
        7,
        0,
        [],
        {},
        ["m5.large", "t9.big"],
        {"a": "b"},
        [{"key": "a"}],
        "${X}",
    ]
)
REQUIREMENT = st.fixed_dictionaries(
    {"operator": st.sampled_from(["In", "Gt", "", None])},
    optional={"key": st.sampled_from(["kubernetes.io/arch", "karpenter.k8s.aws/instance-cpu"]), "values": VALUE},
)
ANY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["clusterName", "arch", "spot", "consolidateAfter", "types", "className"], VALUE),
        "pools": VALUE
        | st.dictionaries(
            st.sampled_from(["a", "b"]),
            st.fixed_dictionaries(
                {}, optional={"weight": VALUE, "requirements": VALUE | st.lists(REQUIREMENT, max_size=3)}
            ),
            max_size=2,
        ),
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("any")
    chart(made, "{}", pool=POOL, others=OTHERS)
    return made / "chart"


def _place_and_message(result: Result) -> tuple[object, ...]:
    return result.rule.name, result.span, result.finding.message


@given(values=ANY)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_values_are_every_place_and_edit_is_in_a_file(
    values: dict[str, object], folder: Path, rules: dict[str, Rule]
) -> None:
    sources = [Source.from_text(f"{folder}/templates/{n}.yaml", t) for n, t in (("pool", POOL), ("others", OTHERS))]
    sources.append(Source.from_text(f"{folder}/values.yaml", json.dumps(values, indent=1)))
    target, selection = Target(NEWEST), Selection()
    plain = lint(sources, LintRequest(target, rules, selection))
    report = lint(sources, LintRequest(target, rules, selection), built=build(sources).built)
    assert not report.faults
    assert set(map(_place_and_message, plain.results)) <= set(map(_place_and_message, report.results))
    for result in report.results:
        spans = [
            result.span,
            *(also.span for also in result.finding.also),
            *(edit.span for edit in result.finding.edits),
        ]
        for span in spans:
            assert any(span.source is source for source in sources)
            assert 0 <= span.start <= span.end <= len(span.source.text)
        assert result.span.start < result.span.end


def test_loops_in_loops_take_no_longer_than_a_chart_is_worth() -> None:
    values = "a: [" + "1, " * 200 + "1]\n"
    root = compose(Source("values.yaml", values), values, 0, masked=False)[0]
    text = "{{ range $.Values.a }}" * 4 + "{{ $x := 1 }}" + "{{ end }}" * 4
    with pytest.raises(BudgetSpent):
        fill(text, parse(text), root, "keys")


LOOP = """\
  {{- range .Values.volumes }}
  blockDeviceMappings:
  - deviceName: {{ .device }}
    ebs: {volumeSize: 20Gi, encrypted: true}
  {{- end }}
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (LOOP, ["repeated-by-loop"]),
        (LOOP.replace("blockDeviceMappings:\n", "# volumes\n").replace("  {{- range", "  tags:\n  {{- range"), []),
        ("  tags:\n    {{- range .Values.tags }}\n    {{ .key }}: {{ .value }}\n    {{- end }}\n", []),
        (
            "  {{- if .Values.public }}\n  associatePublicIPAddress: {{ .Values.public }}\n  {{- end }}\n",
            ["value-never-printed"],
        ),
        ("  {{- if .Values.public }}\n  associatePublicIPAddress: true\n  {{- end }}\n", []),
        ("  {{- if .Values.public }}\n  detailedMonitoring: {{ .Values.public }}\n  {{- end }}\n", []),
        ('  {{- if hasKey .Values "p" }}\n  associatePublicIPAddress: {{ .Values.p }}\n  {{- end }}\n', []),
    ],
)
def test_conditions_and_loops_print_what_they_are_to(
    nodelint: Run, tmp_path: Path, lines: str, expected: list[str]
) -> None:
    chart(tmp_path, "role: a\n", klass=nodeclass().rstrip("\n") + "\n" + lines)
    done = findings(nodelint, "chart", "--select", "repeated-by-loop,value-never-printed")
    assert [line.partition("[")[2].partition("]")[0] for line in done] == expected


WORDS = [
    "{{",
    "}}",
    "-",
    " ",
    "\n",
    "if ",
    "end",
    "range ",
    "else",
    ".Values.a",
    "$x",
    ":=",
    '"',
    "`",
    "|",
    "(",
    ")",
    "a: ",
]


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_no_text_breaks_the_reader_of_templates(words: list[str]) -> None:
    text = "".join(words)
    try:
        parts = parse(text)
    except BadTemplate:
        return
    fill(text, parts, None, "keys")


# -- other files of values


PROD = "arch: amd64\ntypes: [m5.large, m5.larg]\nconsolidateAfter: 1m\n"


@pytest.mark.parametrize(
    "name", ["values-prod.yaml", "prod.values.yaml", "prod-values.yaml", "values/prod.yaml", "environments/prod.yml"]
)
def test_values_of_an_environment_are_judged_with_the_chart(nodelint: Run, tmp_path: Path, name: str) -> None:
    chart(tmp_path, VALUES.replace("m5.xlrge", "m5.xlarge"), pool=POOL)
    path = tmp_path / "chart" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(PROD, encoding="utf-8")
    found = findings(nodelint, "chart")
    assert [line.rpartition("/")[2] for line in found if "unknown-value" in line] == [
        f"{path.name}:2:19: warning[unknown-value]: no instance type has instance-type `m5.larg` "
        "(did you mean `m5.large`?) [fix]"
    ]
    others = {file: file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.*") if file.is_file()}
    nodelint("check", "--fix", "--select", "unknown-value", "chart")
    assert path.read_text(encoding="utf-8") == PROD.replace(", m5.larg]", "]")
    assert {file for file, text in others.items() if file.read_text(encoding="utf-8") != text} == {path}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (PROD, True),
        (PROD + "karpenter: {}\n", False),  # a key that the chart does not know
        (PROD + "settings: {logs: debug, other: 1}\n", True),  # a map that shares a key with the chart's
        (PROD + "settings: {other: 1}\n", False),
        (PROD + "settings: none\n", True),
        (PROD + "tags: {team: a}\n", True),  # the chart leaves it open what is in it
        (PROD + "clusterName: {a: b}\n", True),
        ("# one key may be anything's\ntypes: [m5.large, m5.larg]\n", False),
        ("apiVersion: v1\n" + PROD, False),
    ],
)
def test_values_elsewhere_are_those_of_the_chart_with_their_keys(
    nodelint: Run, tmp_path: Path, values: str, expected: bool
) -> None:
    chart(tmp_path, f"{VALUES}settings: {{logs: info}}\ntags: {{}}\n", pool=POOL)
    (tmp_path / "prod.yaml").write_text(f"# for karpenter\n{values}", encoding="utf-8")
    found = findings(nodelint, ".")
    assert any(line.startswith("prod.yaml:3:19: warning[unknown-value]") for line in found) is expected


def test_values_are_merged_as_helm_merges_them() -> None:
    base, over = (
        compose(source, source.text, 0, masked=False)[0]
        for source in (
            Source("values.yaml", "a: {b: 1, c: 2, d: {e: [1, 2]}}\nf: 5\n"),
            Source("values-prod.yaml", "a: {c: null, d: {e: [3]}, g: 4}\nf: 6\n"),
        )
    )
    assert base is not None and over is not None
    assert merged(base, over).plain() == {"a": {"b": 1, "d": {"e": [3]}, "g": 4}, "f": 6}
