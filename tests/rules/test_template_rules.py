"""Rules about the code of a chart's templates: what it drops, how it prints, and where it fails."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.forms.helm.test_chart_defaults import chart, findings
from tests.manifests import nodeclass

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
{{- range $name, $pool := .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        @taints
      requirements:
        {{- toYaml $pool.requirements | nindent 8 }}
  weight: {{ $pool.weight }}
{{- end }}
"""
VALUES = "pools:\n  a:\n    weight: 1\n    requirements: []\n    taints: [{key: a, effect: NoSchedule}]\n"
BY_HAND = """\
{{- range $pool.taints }}
        - key: {{ .key }}
          effect: {{ .effect }}
        {{- end }}"""


def pool(taints: str) -> str:
    return POOL.replace("@taints", taints)


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        (BY_HAND, True),
        (BY_HAND.replace("range $pool", "range $taint := $pool").replace(" .", " $taint."), True),
        (BY_HAND.replace("range", "range $n, $taint :=").replace(" .", " $taint."), True),
        (BY_HAND.replace("range $pool.taints", "with $pool }}\n        {{- range .taints") + "{{- end }}", True),
        (BY_HAND.replace("          effect", "          value: {{ .value }}\n          effect"), False),
        (BY_HAND.replace("          effect", '          value: "true"\n          effect'), False),
        (
            BY_HAND.replace("          effect", "          {{- if .value }}{{ .value }}{{ end }}\n          effect"),
            False,
        ),
        (
            BY_HAND.replace("          effect: {{ .effect }}", '          {{- omit . "key" | toYaml | nindent 10 }}'),
            False,
        ),
        (BY_HAND.replace("$pool.taints", "(concat $pool.taints $pool.more)"), False),
        ("{{- toYaml $pool.taints | nindent 8 }}", False),
    ],
)
def test_a_loop_prints_all_fields_of_a_taint(nodelint: Run, tmp_path: Path, taints: str, expected: bool) -> None:
    chart(tmp_path, VALUES, pool=pool(taints))
    assert len(findings(nodelint, "chart", "--select", "unprinted-field")) == expected


@pytest.mark.parametrize(
    ("values", "other", "expected"),
    [
        ("    expireAfter: 24h\n", "", ["expireAfter"]),
        ("    limits: {cpu: 10}\n    expireAfter: 24h\n", "", ["limits", "expireAfter"]),
        ("    expireAfter: ''\n    limits: {}\n", "", []),
        ("    owner: me\n", "", []),
        ("    expireAfter: 24h\n", "{{ .Values.pools.a.expireAfter }}", []),
        ("  b:\n    expireAfter: 24h\n", "", ["expireAfter"]),
    ],
)
def test_a_value_beside_others_is_printed_too(
    nodelint: Run, tmp_path: Path, values: str, other: str, expected: list[str]
) -> None:
    chart(tmp_path, VALUES + values, pool=pool("{{- toYaml $pool.taints | nindent 8 }}"), other=other)
    done = findings(nodelint, "chart", "--select", "unprinted-field")
    assert [line.partition("`")[2].partition("`")[0] for line in done] == expected


def test_a_template_that_writes_a_field_itself_ignores_another_value_only(nodelint: Run, tmp_path: Path) -> None:
    text = pool("{{- toYaml $pool.taints | nindent 8 }}").replace("  weight", "      expireAfter: 720h\n  weight")
    for value, expected in (("720h", 0), ("24h", 1)):
        folder = tmp_path / value
        folder.mkdir()
        chart(folder, VALUES + f"    expireAfter: {value}\n", pool=text, klass=nodeclass())
        assert len(findings(nodelint, f"{value}/chart", "--select", "unprinted-field")) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("{{ .after }}", True),
        ('{{ if hasKey . "after" }}{{ .after }}{{ end }}', True),
        ('{{ .after }}{{ get . "more" }}', True),
        ('{{ .after }}{{ index . "more" "most" }}', True),
        ('{{ .after }}{{ index . "expireAfter" }}', False),
        ('{{ .after }}{{ if hasKey . "expireAfter" }}{{ end }}', False),
        ("{{ toYaml . }}", False),
        ("{{ get . $name }}", False),
        ("{{ range $k, $v := . }}{{ $k }}: {{ $v }}{{ end }}{{ .after }}", False),
        ('{{ .after }}{{ include "more" . }}', False),
        ('{{ .after }}{{ "expireAfter" }}', False),
    ],
)
def test_a_value_of_another_file_that_the_template_reads_elsewhere(
    nodelint: Run, tmp_path: Path, code: str, expected: bool
) -> None:
    text = pool("{{- toYaml $pool.taints | nindent 8 }}").replace(
        "  weight",
        "      expireAfter: {{ $pool.expireAfter }}\n  disruption:\n    {{- with $pool.disruption }}\n"
        f"    consolidateAfter: {code}\n    {{{{- end }}}}\n  weight",
    )
    chart(tmp_path, VALUES, pool=text)
    (tmp_path / "chart/ci").mkdir()
    (tmp_path / "chart/ci/trial-values.yaml").write_text(
        "pools:\n  a:\n    disruption: {after: 1m, expireAfter: 24h}\n", encoding="utf-8"
    )
    done = findings(nodelint, "chart", "--select", "unprinted-field")
    assert [line.partition(":")[0].rpartition("/")[2] for line in done] == ["trial-values.yaml"] * expected


PLACES = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
spec:
  template:
    metadata:
      labels:
        {{- range $key, $value := .Values.labels }}
        {{ $key }}: {{ $value }}
        {{- end }}
        team: {{ .Values.team }}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      taints:
        {{- range .Values.taints }}
        - key: {{ .key }}
          value: {{ .value }}
          effect: {{ .effect }}
        {{- end }}
      requirements:
        - key: karpenter.k8s.aws/instance-cpu
          operator: In
          values:
            {{- range .Values.cpus }}
            - {{ . }}
            {{- end }}
        - key: topology.kubernetes.io/zone
          operator: In
          values:
            {{- range .Values.zones }}
            - {{ . }}
            {{- end }}
  disruption:
    consolidateAfter: {{ .Values.consolidateAfter }}
    budgets:
      - nodes: {{ .Values.nodes | default "10%" }}
  limits:
    cpu: {{ .Values.cpu }}
"""


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        ("a: b\n", [10, 18, 26, 37]),
        ("nodes: 10%\nlabels: {a: b}\n", [18, 26]),
        ("taints: [{key: a, value: 'yes', effect: NoSchedule}]\n", [10, 26, 37]),
    ],
)
def test_what_may_be_a_number_or_true_is_quoted(nodelint: Run, tmp_path: Path, values: str, lines: list[int]) -> None:
    chart(tmp_path, values, pool=PLACES)
    done = findings(nodelint, "chart", "--select", "unquoted-value")
    assert [int(line.split(":")[1]) for line in done] == lines
    nodelint("check", "chart", "--select", "unquoted-value", "--unsafe-fixes")
    assert findings(nodelint, "chart", "--select", "unquoted-value") == []
    fixed = (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8")
    assert (' | default "10%" | quote }}' in fixed) == (37 in lines)


LIMITS = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
  @limits
"""
EACH_POOL = "{{- range .Values.pools }}\n---\n" + LIMITS.replace("name: a", "name: {{ .name }}") + "{{- end }}\n"


@pytest.mark.parametrize(
    ("text", "limits", "values", "fixed"),
    [
        (LIMITS, "weight: {{ .Values.pool.weight }}", "name: a\n", "weight: {{ (.Values.pool).weight }}"),
        (LIMITS, "weight: {{ .Values.a.b.weight }}", "a: {c: 1}\n", "weight: {{ ((.Values.a).b).weight }}"),
        (LIMITS, "weight: {{ $.Values.a.b.weight }}", "a:\n", "weight: {{ (($.Values.a).b).weight }}"),
        (LIMITS, "{{- if .Values.a.b }}\n  weight: 1\n  {{- end }}", "b: 1\n", "{{- if (.Values.a).b }}"),
        (LIMITS, "{{- if .Values.a }}\n  weight: {{ .Values.a.b }}\n  {{- end }}", "b: 1\n", None),
        (LIMITS, "{{- with .Values.a }}\n  weight: {{ .b.c }}\n  {{- end }}", "a: {d: 1}\n", "weight: {{ (.b).c }}"),
        (LIMITS, "weight: {{ (.Values.a).b }}", "b: 1\n", None),
        (LIMITS, "weight: {{ .Values.a.b }}", "a: {}\n", None),
        (LIMITS, "{{- $a := .Values.a }}\n  weight: {{ $a.b.c }}", "b: 1\n", None),
        (LIMITS, "weight: {{ .Values.global.b }}", "b: 1\n", None),
        (LIMITS, "{{- if and .Values.a .Values.a.b }}\n  weight: 1\n  {{- end }}", "b: 1\n", None),
        (LIMITS, "{{- if eq .Release.Name .Values.c }}\n  weight: {{ .Values.a.b }}\n  {{- end }}", "b: 1\n", None),
        (LIMITS, "weight: {{ .Values.staging.weight }}", "b: 1\n", None),
        (EACH_POOL, "limits: {cpu: {{ .limits.cpu | default 1 }}}", "pools: []\n", "{{ (.limits).cpu | default 1 }}"),
        (EACH_POOL, "limits: {cpu: {{ .limits.cpu | default 1 }}}", "pools: [{limits: {cpu: 1}}]\n", None),
        (EACH_POOL, "limits: {cpu: {{ .limits.cpu }}}", "pools: []\n", None),
        (
            EACH_POOL,
            "limits: {cpu: {{ .limits.cpu | default 1 }}, pods: {{ .limits.pods }}}",
            "pools: []\n",
            None,
        ),
        (EACH_POOL, "{{ if .limits }}limits: {cpu: {{ .limits.cpu | default 1 }}}{{ end }}", "pools: []\n", None),
        (EACH_POOL, "limits: {cpu: {{ .limits.cpu }}}", "pools: [{name: a}]\n", "{{ (.limits).cpu }}"),
    ],
)
def test_helm_stops_at_a_field_of_nothing(
    nodelint: Run, tmp_path: Path, text: str, limits: str, values: str, fixed: str | None
) -> None:
    chart(tmp_path, values, pool=text.replace("@limits", limits))
    (tmp_path / "chart/values-staging.yaml").write_text("staging:\n  weight: 10\n", encoding="utf-8")
    messages = findings(nodelint, "chart", "--select", "nil-pointer")
    assert len(messages) == (fixed is not None)
    nodelint("check", "--fix", "chart", "--select", "nil-pointer")
    assert (fixed or limits) in (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("field", "expected"), [(".Values.a.b", True), (".Chart.Annotations.b", False), (".a.b.c", False)]
)
def test_what_is_no_value_has_what_helm_gives_it(nodelint: Run, tmp_path: Path, field: str, expected: bool) -> None:
    text = LIMITS.replace("@limits", f"weight: {{{{ {field} | default 1 }}}}")
    (tmp_path / "pool.yaml").write_text(text, encoding="utf-8")
    assert bool(findings(nodelint, "pool.yaml", "--select", "nil-pointer")) == expected


def test_a_name_of_a_loop_is_no_reference_of_terraform(nodelint: Run, tmp_path: Path) -> None:
    pool = LIMITS.replace("name: a", "name: ${each.name}").replace("@limits", "weight: 1")
    for name, loop in (("each", "each"), ("key", "each, pool"), ("other", "pool")):
        text = f"%{{ for {loop} in pools ~}}\n---\n{pool}%{{ endfor ~}}\n"
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    (expected,) = findings(nodelint, ".", "--select", "terraform-reference")
    assert "other.yaml:6:9" in expected


def test_a_name_that_templatefile_is_given_is_no_reference_whatever_it_comes_to(
    nodelint: Run, tmp_path: Path
) -> None:
    pool = LIMITS.replace("name: a", "name: ${name}").replace("@limits", "weight: ${weight}")
    (tmp_path / "pool.tpl.yaml").write_text(pool, encoding="utf-8")
    given = 'templatefile("${path.module}/pool.tpl.yaml", { name = "${var.project}-a", weight = var.weight })'
    (tmp_path / "main.tf").write_text(
        f'resource "kubectl_manifest" "a" {{\n  yaml_body = {given}\n}}\n', encoding="utf-8"
    )
    assert findings(nodelint, ".", "--select", "terraform-reference") == []
    (tmp_path / "pool.tpl.yaml").write_text(pool.replace("${weight}", "${var.weight}"), encoding="utf-8")
    assert len(findings(nodelint, ".", "--select", "terraform-reference")) == 1


DISRUPTION = """\
{{- range $name, $pool := .Values.pools }}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{ $name }}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
  {{- if $pool.disruption }}
  disruption:
    consolidationPolicy: {{ $pool.disruption.consolidationPolicy }}
    @after
  {{- end }}
{{- end }}
"""
GUARDED = """\
{{- if $pool.disruption.consolidateAfter }}
    consolidateAfter: {{ $pool.disruption.consolidateAfter }}
    {{- end }}"""
WITH_DEFAULT = GUARDED.replace("r }}\n    {{", "r | default `Never` }}\n    {{")
LACKING = "required-field-not-printed"


@pytest.mark.parametrize(
    ("after", "values", "expected"),
    [
        (GUARDED, "pools: {}", LACKING),
        (
            GUARDED.replace("{{- if", "{{- with").replace("{{ $pool.disruption.consolidateAfter", "{{ ."),
            "a: b",
            LACKING,
        ),
        (GUARDED, "pools: {a: {disruption: {consolidationPolicy: WhenEmpty}}}", LACKING),
        (GUARDED, "pools: {a: {disruption: {consolidateAfter: ''}}}", ""),
        (GUARDED, "pools: {a: {disruption: {consolidateAfter: 5m}}}", ""),
        (GUARDED.replace("{{- end", "{{- else }}\n    consolidateAfter: 5m\n    {{- end"), "pools: {}", ""),
        (GUARDED.replace("disruption.consolidateAfter }}\n ", "disruption }}\n "), "pools: {}", ""),
        (GUARDED.replace("Afte", "Whe"), "pools: {}", ""),
        (WITH_DEFAULT, "pools: {}", "default-never-printed"),
        (WITH_DEFAULT, "pools: {a: {disruption: {consolidateAfter: 5m}}}", "default-never-printed"),
        (WITH_DEFAULT.replace("if ", "if or .Values.x "), "pools: {}", LACKING),
        (WITH_DEFAULT.replace("if ", "if not "), "pools: {}", LACKING),
        (WITH_DEFAULT.replace("Afte", "Whe").replace("r }}", 'r | ne "0s" }}', 1), "pools: {}", ""),
        (WITH_DEFAULT.replace("r }}", 'r | ne "0s" }}', 1), "pools: {}", LACKING),
    ],
)
def test_what_is_required_is_printed_in_any_case(
    nodelint: Run, tmp_path: Path, after: str, values: str, expected: str
) -> None:
    chart(tmp_path, values + "\n", pool=DISRUPTION.replace("@after", after))
    flags = ("chart", "--select", "default-never-printed,required-field-not-printed", "--karpenter-version", "1.14.3")
    done = findings(nodelint, *flags)
    assert [line.partition("[")[2].partition("]")[0] for line in done] == ([expected] if expected else [])
    nodelint("check", *flags, "--unsafe-fixes")
    fixed = (tmp_path / "chart/templates/pool.yaml").read_text(encoding="utf-8")
    assert (fixed.count("{{- end") == 2) == (expected == "default-never-printed")


EITHER = """\
{{- if or $class.family $class.terms }}
  {{- if $class.family }}
  amiFamily: {{ $class.family }}
  {{- end }}
  {{- if $class.terms }}
  amiSelectorTerms:
    {{- toYaml $class.terms | nindent 4 }}
  {{- end }}
  {{- else }}
  amiSelectorTerms: [{alias: bottlerocket@v1.46.0}]
  {{- end }}"""
OF_EITHER = """\
{{- range $name, $class := .Values.classes }}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: {{ $name }}
spec:
  role: a
  @images
{{- end }}
"""
TERMS = "  {{- if $class.terms }}\n  amiSelectorTerms:\n    {{- toYaml $class.terms | nindent 4 }}\n  {{- end }}\n"


@pytest.mark.parametrize(
    ("images", "values", "expected"),
    [
        (EITHER, "classes: {}", True),
        (EITHER.replace("if $class.terms", "with $class.terms"), "classes: {}", True),
        (EITHER, "classes: {a: {terms: []}}", False),
        (EITHER.replace("or $", "and $"), "classes: {}", False),
        (EITHER.replace("{{- if or $class.family $class.terms", "{{- if $class.terms"), "classes: {}", False),
        (EITHER.replace(TERMS, TERMS.replace("  {{- end", "  {{- else }}\n  amiSelectorTerms: []\n  {{- end")),
         "classes: {}", False),
    ],
)  # fmt: skip
def test_what_is_required_is_printed_for_each_value_that_an_or_asks_for(
    nodelint: Run, tmp_path: Path, images: str, values: str, expected: bool
) -> None:
    chart(tmp_path, values + "\n", pool=OF_EITHER.replace("@images", images))
    done = findings(nodelint, "chart", "--select", LACKING)
    message = "`amiSelectorTerms` is required, but missing if only `family` is set"
    assert [message in line for line in done] == [True] * expected


CLASSES = """\
{{- range $name, $class := .Values.classes }}
---
{{- if $class.autoMode }}
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
{{- else }}
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
{{- end }}
metadata:
  name: {{ $name }}
{{- end }}
"""
REF = "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: {{ $pool.class }}}"


@pytest.mark.parametrize(
    ("ref", "classes", "expected"),
    [
        (REF, CLASSES, 1),
        (REF.replace("{{ $pool.class }}", "default"), CLASSES, 0),
        (REF.replace("EC2NodeClass", "{{ $pool.kind }}"), CLASSES, 0),
        (REF, CLASSES.replace("kind: NodeClass", "kind: Other"), 0),
        (REF, CLASSES.replace("{{- else }}", "{{- end }}\n---\n{{- if $class.own }}"), 0),
    ],
)
def test_a_pool_names_the_kind_of_class_that_the_chart_makes(
    nodelint: Run, tmp_path: Path, ref: str, classes: str, expected: int
) -> None:
    text = pool("{{- toYaml $pool.taints | nindent 8 }}")
    old = "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}"
    chart(tmp_path, VALUES, pool=text.replace(old, ref), classes=classes)
    assert len(findings(nodelint, "chart", "--select", "fixed-class-kind")) == expected
    text = text.replace("apiVersion", "{{- if not $pool.autoMode }}\napiVersion", 1) + "{{- end }}\n"
    (tmp_path / "chart/templates/pool.yaml").write_text(text.replace(old, ref), encoding="utf-8")
    assert findings(nodelint, "chart", "--select", "fixed-class-kind") == []


ROLE = nodeclass().replace("role: KarpenterNodeRole-main", "@role")


@pytest.mark.parametrize(
    ("role", "values", "expected"),
    [
        ("role: {{ .Values.role }}", "role: ''\n", 1),
        ('role: "{{ .Values.role }}"', "role:\n", 1),
        ("role: {{ .Values.role | quote }}", "role: ''\n", 1),
        ("instanceProfile: {{ .Values.role | quote }}", "role: ''\n", 1),
        ("role: {{ .Values.role }}", "role: main\n", 0),
        ("role: {{ .Values.role }}", "other: main\n", 0),
        ("role: {{ .Values.role | default .Values.other }}", "role: ''\n", 0),
        ('role: {{ required "set it" .Values.role }}', "role: ''\n", 0),
        ("{{- if .Values.role }}\n  role: {{ .Values.role }}\n  {{- end }}", "role: ''\n", 0),
        ("role: {{ .Values.staging }}", "staging: ''\n", 0),
        ("role: main\n  context: {{ .Values.context }}", "context: ''\n", 0),
    ],
)
def test_a_value_that_an_installation_has_to_give_is_told(
    nodelint: Run, tmp_path: Path, role: str, values: str, expected: int
) -> None:
    chart(tmp_path, values, klass=ROLE.replace("@role", role))
    (tmp_path / "chart/staging.yaml").write_text("staging: main\n", encoding="utf-8")
    done = findings(nodelint, "chart", "--select", "required-field-not-printed")
    assert len(done) == expected


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("main.tf", 'chart = "${path.module}/chart"\nvalues = [yamlencode({ role = var.r })]\n', 0),
        ("install.sh", "helm upgrade x ./chart --set role=$ROLE\n", 0),
        ("main.tf", 'chart = "${path.module}/chart"\nvalues = [yamlencode({ roles = var.r })]\n', 1),
        ("main.tf", 'chart = "${path.module}/other"\nvalues = [yamlencode({ role = var.r })]\n', 1),
    ],
)
def test_a_default_that_who_installs_the_chart_fills_is_meant_to_be_empty(
    nodelint: Run, tmp_path: Path, file: str, text: str, expected: int
) -> None:
    (tmp_path / ".git").mkdir()
    chart(tmp_path, "role: ''\n", klass=ROLE.replace("@role", "role: {{ .Values.role }}"))
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert len(findings(nodelint, "chart", "--select", "required-field-not-printed")) == expected


@pytest.mark.parametrize(("other", "expected"), [("role: main\n", 0), ("else: main\n", 1)])
def test_a_default_that_another_file_of_values_fills_is_meant_to_be_empty(
    nodelint: Run, tmp_path: Path, other: str, expected: int
) -> None:
    chart(tmp_path, "role: ''\n", klass=ROLE.replace("@role", "role: {{ .Values.role }}"))
    (tmp_path / "chart/values-prod.yaml").write_text(other, encoding="utf-8")
    assert len(findings(nodelint, "chart", "--select", "required-field-not-printed")) == expected


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ("", "", True),
        ("{{- if .on }}", "{{- end }}", True),
        ("---", "", False),
        ("# a pool\n---", "", False),
        ("", "---", False),
        ("{{- if .on }}\n---", "{{- end }}", False),
        ('{{ print "---" }}', "", False),
        ('{{- include "between" . }}', "", False),
    ],
)
def test_a_loop_over_documents_parts_them(
    nodelint: Run, tmp_path: Path, begin: str, end: str, expected: bool
) -> None:
    pool = POOL.replace("}}\n---\n", "}}\n" + begin + "\n", 1).replace("\n{{- end }}\n", f"\n{end}\n{{{{- end }}}}\n")
    chart(tmp_path, VALUES, pool=pool.replace("@taints", BY_HAND))
    done = findings(nodelint, "chart", "--select", "repeated-by-loop")
    assert ["no `---` between" in line for line in done] == [True] * expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("module.karpenter.node_iam_role_name", True),
        ("module.karpenter.roles[0]", True),
        ("var.cluster_name", True),
        ("local.tags.node_role", True),
        ('"each.value.role"', True),
        ("data.aws_iam_role.node.name", True),
        ("aws_iam_role.karpenter[0].name", True),
        ("${aws_iam_role.node.name}", True),
        ("${data.aws_iam_role.node.name}", True),
        ("local.example.com", False),
        ("variable.x", False),
        ("module.karpenter", False),
        ("example.aws_iam_role.x", False),
        ("var.", False),
        ("${cluster.name}", False),
        ("KarpenterNodeRole-var.x", False),
    ],
)
def test_an_expression_of_terraform_as_a_text_is_no_placeholder(
    nodelint: Run, tmp_path: Path, written: str, expected: bool
) -> None:
    text = nodeclass(role=written)
    (tmp_path / "class.yaml").write_text(text, encoding="utf-8")
    report = nodelint("check", "class.yaml", "--select", "terraform-reference", "--format", "json").stdout
    found = json.loads(report)["findings"]
    for finding in found:  # the mark is on what the quotes hold
        start, end = finding["start"]["column"] - 1, finding["end"]["column"] - 1
        assert text.splitlines()[finding["start"]["line"] - 1][start:end] == written.strip("'\"")
    assert bool(found) == expected
    heredoc = 'resource "x" "y" {\n  yaml_body = <<-EOT\n' + textwrap.indent(text, "    ") + "  EOT\n}\n"
    (tmp_path / "main.tf").write_text(heredoc, encoding="utf-8")
    assert bool(findings(nodelint, "main.tf", "--select", "terraform-reference")) == (
        expected and "${" not in written
    )
    manifest = YAML(typ="safe").load(text)
    resource = {"resource": {"kubernetes_manifest": {"class": {"manifest": manifest}}}}
    (tmp_path / "main.tf.json").write_text(json.dumps(resource, indent=2), encoding="utf-8")
    found = findings(nodelint, "main.tf.json", "--select", "terraform-reference")
    assert bool(found) == (expected and "${" not in written)
