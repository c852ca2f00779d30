"""Long inputs take work that grows with their length. Work is counted, not timed."""

from __future__ import annotations

import io
import json
import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from difflib import unified_diff
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodelint import edits
from nodelint.apiserver import Schemas
from nodelint.apiserver.cel.subset import compile_subset
from nodelint.commands._console import echo_json
from nodelint.drift import stored_form
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.facts import NOTHING
from nodelint.ec2.type_set import TypeSet
from nodelint.edits import line_diff
from nodelint.files.discover import discover
from nodelint.fit import tree as tree_module
from nodelint.fit import verdict
from nodelint.fit.attempt import PoolVerdict
from nodelint.fit.pods import Pod, pod_of
from nodelint.fit.tree import Tree
from nodelint.forms.terraform import filled_texts
from nodelint.inventory import Inventory, build, read_inventory
from nodelint.karpenter.resolve.node_size import NodeSizes
from nodelint.karpenter.resolve.offering_view import Supply
from nodelint.karpenter.resolve.pool_prices import PoolPrices
from nodelint.karpenter.value_spelling import ValueSpelling
from nodelint.lint import judging, suppression_filter
from nodelint.lint.autofix import fix
from nodelint.lint.broken_fixes import applicable
from nodelint.lint.engine import MAX_FINDINGS, LintRequest, Report, Selection, Target, lint
from nodelint.lint.incremental import ResultCaches
from nodelint.lint.judging import find_words
from nodelint.lint.older_release import older
from nodelint.model import quantities
from nodelint.model.cluster_objects import PATTERN, ClusterObject, Workload
from nodelint.model.documents import objects
from nodelint.model.finding import Edit, Finding
from nodelint.model.gap import Findings
from nodelint.model.manifest import EC2NodeClass, NodePool, Object
from nodelint.model.releases import NEWEST
from nodelint.plan import PlanOptions, Side, launch, make
from nodelint.report.fit import fit_text
from nodelint.report.fix_preview import fix_lines
from nodelint.report.grouping import entries
from nodelint.report.style import PLAIN
from nodelint.report.text import findings_text
from nodelint.rule.classification import PROFILES
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, rule
from nodelint.rule.suppressions import suppressions
from nodelint.text import Source
from nodelint.text.source_comments import template_of
from tests import in_process
from tests.conftest import ROOT
from tests.manifests import nodepool
from tests.repositories import write_files

TARGET = Target(NEWEST)
CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: c{n}}}
spec: {{role: nodes, amiSelectorTerms: [{{alias: al2023@v20250403}}]}}
"""


def pool(*lines: str, n: object = 0, more: str = "") -> str:
    return nodepool(*lines, name=f"p{n}", spec=more, inline=True)


def work(do: Callable[[], object]) -> int:
    """How many lines of Python run, each round of a loop on one line counted."""
    count = 0

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


def growth(make: Callable[[int], Callable[[], object]], size: int, times: int = 4) -> float:
    """By how much more work grows than its input does: 1 is linear; quadratic work comes near `times`."""
    make(4)()  # loads what is loaded once
    few, many = make(size), make(size * times)
    return work(many) / work(few) / times


@cache
def large_inputs() -> Any:
    """The module of the benchmarks that writes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return import_module("large_inputs")


def linted(text: str, rules: dict[str, Rule]) -> Report:
    return lint([Source.from_text("pool.yaml", text)], LintRequest(TARGET, rules))


def test_lines_that_exclude_values_of_one_key(rules: dict[str, Rule]) -> None:
    def make(size: int) -> Callable[[], object]:
        line = "key: node.kubernetes.io/instance-type, operator: NotIn, values: [m5.x{}]"
        source = Source.from_text("pool.yaml", pool(*(line.format(n) for n in range(size))))
        return lambda: lint([source], LintRequest(TARGET, rules))

    assert growth(make, 60) < 1.3


def test_words_that_stand_for_values_in_one_mapping(rules: dict[str, Rule]) -> None:
    def make(size: int) -> Callable[[], object]:
        labels = "        own: changeme\n" + "".join(f"        l{n}: some\n" for n in range(size))
        text = pool().replace("  template:\n", f"  template:\n    metadata:\n      labels:\n{labels}", 1)
        assert "changeme" in text
        source = Source.from_text("pool.yaml", text)
        chosen = Selection(frozenset(["placeholder-left"]))
        return lambda: lint([source], LintRequest(TARGET, rules, chosen))

    assert growth(make, 100) < 1


def test_a_change_of_terraform_is_tried_once_for_each_way(
    rules: dict[str, Rule], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings of one cause, one in each way in which a module is filled in, share what its fix comes to."""
    block = """variable "v" { default = "a" }
resource "kubernetes_manifest" "p" {
  manifest = { apiVersion = "karpenter.sh/v1", kind = "NodePool", metadata = { name = "p-${var.v}" }, spec = {
    template = { spec = { nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" },
    requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["x86_64"] }] } } } }
}
"""
    filled, fill = [0], filled_texts._fill

    def count(*arguments: Any) -> Any:
        filled[0] += 1
        return fill(*arguments)

    monkeypatch.setattr(filled_texts, "_fill", count)

    def fills(size: int) -> int:
        texts = {"main.tf": block, **{f"env{n}.tfvars": f'v = "{n}"\n' for n in range(size)}}
        write_files(tmp_path, {f"{size}/{path}": text for path, text in texts.items()})
        sources = [Source.from_text(str(tmp_path / str(size) / path), text) for path, text in texts.items()]
        filled[0] = 0
        built = build(sources).built
        assert len(built) == size + 1
        assert lint(sources, LintRequest(TARGET, rules), built=built).results
        return filled[0]

    assert fills(24) <= 4.4 * fills(6)


HELM_POOL = """{{{{- if .Values.a{n} }}}}
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {{{{ .Values.name }}}}
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: {{{{ .Values.name }}}}
      requirements: []
{{{{- end }}}}
"""
PLAIN_POOL = pool(n="@").replace(" []", "").replace("{", "{{").replace("}", "}}").replace("@", "{n}")
TERRAFORM_CLASS = CLASS.replace("role: nodes", 'role: "${{var.role}}"')


@pytest.mark.parametrize("shape", [PLAIN_POOL, HELM_POOL, TERRAFORM_CLASS, CLASS])
def test_objects_of_one_file(rules: dict[str, Rule], shape: str) -> None:
    """What is asked of the file's whole text is asked once, not for each object.

    A file of more than fifty pools is no cluster: its pools are not compared with each other.
    """

    def make(size: int) -> Callable[[], object]:
        text = "---\n".join(shape.format(n=n) for n in range(size))
        source = Source.from_text("templates/pool.yaml", text)
        return lambda: lint([source], LintRequest(TARGET, rules))

    assert growth(make, 52) < 1.1


def test_memory_for_lines_that_exclude_values_of_one_key(rules: dict[str, Rule]) -> None:
    only = {"no-instance-type": rules["no-instance-type"]}

    def peak(size: int) -> int:
        line = "key: node.kubernetes.io/instance-type, operator: NotIn, values: [m5.x{}]"
        source = Source.from_text("pool.yaml", pool(*(line.format(n) for n in range(size))))
        tracemalloc.start()
        lint([source], LintRequest(TARGET, only))
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken

    peak(4)
    assert peak(1600) < 6 * peak(400)


def test_long_json_is_printed_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"pools": [{"name": f"pool-{n}", "types": ["m5.large", "ä"]} for n in range(20_000)]}
    printed: list[int] = []

    class Nowhere(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            printed.append(len(memoryview(data)))
            return printed[-1]

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(Nowhere()), encoding="utf-8"))
    tracemalloc.start()
    echo_json(value)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(printed) == len(json.dumps(value, indent=2, ensure_ascii=False).encode()) + 1
    assert taken < sum(printed)


def test_values_that_there_are_none_of(rules: dict[str, Rule]) -> None:
    def make(size: int) -> Callable[[], object]:
        values = ", ".join(f"m5.{n}xlarg" for n in range(size))
        text = pool(f"key: node.kubernetes.io/instance-type, operator: In, values: [{values}]")
        return lambda: findings_text(linted(text, rules).results)

    # A row of values on one line, each with a fix.
    assert growth(make, 60) < 1.3


def test_what_a_value_was_meant_to_be_is_worked_out_once_for_all_rules(
    rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = Counter[str]()
    slip = ValueSpelling._slip
    monkeypatch.setattr(ValueSpelling, "_slip", lambda spelling, text: judged.update([text]) or slip(spelling, text))
    names = [f"m5.{n}xlarg" for n in range(3, 40)]
    linted(pool(f"key: node.kubernetes.io/instance-type, operator: In, values: [{', '.join(names)}]"), rules)
    assert judged == dict.fromkeys(names, 1)


def test_findings_of_one_line_are_told_together(rules: dict[str, Rule]) -> None:
    def make(size: int) -> Callable[[], object]:
        values = ", ".join(["M5.LARGE"] * size)
        text = pool(f"key: node.kubernetes.io/instance-type, operator: In, values: [{values}]")
        results = linted(text, {"unknown-value": rules["unknown-value"]}).results
        assert len(entries(results)[0].first_line) == size
        assert all(result.fixable for result in results)
        return lambda: entries(results)

    assert growth(make, 60) < 1.2


def test_one_value_costs_no_walk_over_all_instance_types(rules: dict[str, Rule]) -> None:
    only = {"unknown-value": rules["unknown-value"]}

    def make(size: int) -> Callable[[], object]:
        values = ", ".join(f"m5.{n}xlarg" for n in range(size))
        text = pool(f"key: node.kubernetes.io/instance-type, operator: In, values: [{values}]")
        return lambda: linted(text, only)

    make(4)()
    assert (work(make(40)) - work(make(20))) / 20 < 1_500


def test_one_limit_costs_no_walk_over_all_instance_types(rules: dict[str, Rule]) -> None:
    def make(size: int) -> Callable[[], object]:
        text = pool(more="  limits:\n" + "".join(f"    example.com/r{n}: 1\n" for n in range(size)))
        return lambda: linted(text, rules)

    make(4)()
    assert (work(make(40)) - work(make(20))) / 20 < 1_500


def test_one_fix_of_many_reads_no_more_than_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that loses a value is written in steps; what is compared and looked up is of its own document."""
    looked_at: list[int] = []
    known = edits.difference

    def compared(*given: Any) -> Edit:
        looked_at.append(len(given[2]) - sum(given[4]))
        return known(*given)

    monkeypatch.setattr(edits, "difference", compared)
    text = "---\n".join(pool("key: a, operator: In, values: [b, c, d]", n=n) for n in range(50))
    source = Source.from_text("pool.yaml", text)
    for document in source.documents:
        assert document.root is not None
        line = document.root.find("spec", "template", "spec", "requirements", 0, "values")
        assert line is not None
        [edit] = edits.set_values(line, ["b", "d"])
        assert edits.apply(source.text, [edit]).count("values: [b, d]") == 1
    assert len(looked_at) == 50
    assert max(looked_at) < 2 * len(text) / 50 + 1000


def test_a_value_of_many_documents_is_taken_out_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    apply = edits.apply
    monkeypatch.setattr(edits, "apply", lambda text, made: written.append(len(text)) or apply(text, made))
    text = "---\n".join(pool("key: a, operator: In, values: [b, c, d]", n=n) for n in range(80))
    source = Source.from_text("pool.yaml", text)
    for document in source.documents:
        assert document.root is not None
        line = document.root.find("spec", "template", "spec", "requirements", 0, "values")
        assert line is not None
        [edit] = edits.set_values(line, ["b", "d"])
        assert (edit.end - edit.start, edit.text) == (3, "")
    assert len(written) == 80
    assert max(written) < len(text) / 10


@pytest.mark.parametrize(
    ("edit", "values"),
    [
        (lambda line: edits.set_values(line, ["c", "x"]), "[c, x]"),
        (lambda line: edits.remove_all(line.items[1:]), "[b]"),
        (lambda line: edits.restructure(line.parent, {"key": "a", "operator": "Exists", "values": ["d"]}), "[d]"),
    ],
)
def test_edits_in_a_row_make_no_text_but_that_of_their_document(
    monkeypatch: pytest.MonkeyPatch, edit: Callable[[Any], list[Edit]], values: str
) -> None:
    written: list[int] = []
    apply = edits.apply
    monkeypatch.setattr(edits, "apply", lambda text, made: written.append(len(text)) or apply(text, made))
    texts = [pool("key: a, operator: In, values: [b, c, d]", n=n) for n in range(80)]
    source = Source.from_text("pool.yaml", "---\n".join(texts))
    root = source.documents[40].root
    assert root is not None
    made = edit(root.find("spec", "template", "spec", "requirements", 0, "values"))
    assert written
    assert max(written) < len(source.text) / 10
    after = apply(source.text, made).split("---\n")
    assert after[:40] == texts[:40]
    assert f"values: {values}" in after[40]
    assert after[41:] == texts[41:]


def test_a_rule_tells_so_many_findings_of_one_object_and_says_that_there_are_more(rules: dict[str, Rule]) -> None:
    values = ", ".join(["M5.LARGE"] * (MAX_FINDINGS + 5))
    report = linted(
        pool(f"key: node.kubernetes.io/instance-type, operator: In, values: [{values}]"),
        {"unknown-value": rules["unknown-value"]},
    )
    assert len(report.results) == MAX_FINDINGS
    assert [(s.rule, s.reason) for s in report.skipped] == [
        ("unknown-value", "only the first 1,000 findings of a rule in one object are reported")
    ]


@pytest.mark.parametrize("above", [False, True])
def test_comments_that_silence(above: bool) -> None:
    def make(size: int) -> Callable[[], object]:
        comment, field = "# nodelint: ignore[unknown-field]", "    example.com/r{}: 1"
        lines = [f"    {comment}\n{field}\n" if above else f"{field} {comment}\n" for _ in range(size)]
        more = "  limits:\n" + "".join(line.format(n) for n, line in enumerate(lines))
        source = Source.from_text("pool.yaml", pool(more=more))
        assert len(suppressions(source)) == size
        return lambda: suppressions(source)

    assert growth(make, 100) < 1.3


def test_what_rules_share_of_an_object_is_read_once(rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts of limits, and the comments of a file: no rule, and no second look, reads them again."""
    amounts, comments = Counter[str](), Counter[str]()

    def count(counter: Counter[str], read: Callable[[Any], Any], name: Callable[[Any], str]) -> Callable[[Any], Any]:
        def reading(what: Any) -> Any:
            counter[name(what)] += 1
            return read(what)

        return reading

    monkeypatch.setattr(quantities, "quantity_of", count(amounts, quantities.quantity_of, lambda node: node.text))
    monkeypatch.setattr(suppression_filter, "suppressions", count(comments, suppressions, lambda source: source.path))
    limits = "".join(f"    example.com/r{n}: {n}000 # nodelint: ignore[no-image]\n" for n in range(1, 9))
    source = Source.from_text(
        "pool.yaml", pool("key: kubernetes.io/arch, operator: Exists", more=f"  limits:\n{limits}")
    )
    request = LintRequest(TARGET, rules)
    older(lint([source], request), request, [source])
    assert {amounts[f"{n}000"] for n in range(1, 9)} == {1}
    assert comments == {"pool.yaml": 1}


@pytest.mark.parametrize(
    ("key", "own", "others"),
    [("kubernetes.io/arch", "amd64", "arm64"), ("karpenter.sh/capacity-type", "spot", "on-demand")],
)
def test_pools_whose_pods_may_use_each_other(key: str, own: str, others: str) -> None:
    """Which pools of a folder can launch what is asked of each pool once, not of all for each of them."""

    def make(size: int) -> Callable[[], object]:
        text = "---\n".join(pool(f"key: {key}, operator: In, values: [{own}]", n=n) for n in range(size))
        context = Context([*objects(Source.from_text("pool.yaml", text))], TARGET)
        pools = [obj for obj in context.objects if isinstance(obj, NodePool)]
        for entry in pools:
            context.resolution(entry)
        return lambda: [[*context.interchangeable_pools(pool, others)] for pool in pools]

    assert growth(make, 20) < 1.2


def test_lines_with_keys_that_there_are_none_of(rules: dict[str, Rule]) -> None:
    def make(size: int) -> Callable[[], object]:
        # What one key was meant to be is remembered.
        lines = (f"key: karpenter.k8s.aws/instance-x{size}-{n}, operator: Exists" for n in range(size))
        text = pool(*lines)
        return lambda: linted(text, rules)

    assert growth(make, 60) < 1.2


@pytest.mark.parametrize("code", ["", "        {{- if .Values.more }}\n        - {{key: a}}\n        {{- end }}\n"])
def test_many_items_that_can_go(code: str) -> None:
    def make(size: int) -> Callable[[], object]:
        source = Source.from_text("pool.yaml", pool(*(f"key: k{n}, operator: Exists" for n in range(size))) + code)
        root = source.documents[0].root
        found = root.find("spec", "template", "spec", "requirements") if root is not None else None
        assert found is not None
        items = found.items[:size]
        assert all(bool(edits.if_editable(edits.remove, item)) != bool(code) for item in items[:4])
        return lambda: [edits.if_editable(edits.remove, item) for item in items]

    assert growth(make, 60) < 1.2


def test_fields_that_there_are_none_of(rules: dict[str, Rule]) -> None:
    only = {"unknown-field": rules["unknown-field"]}

    def make(size: int) -> Callable[[], object]:
        text = pool("key: kubernetes.io/arch, operator: Exists", more="".join(f"  x{n}: 1\n" for n in range(size)))
        assert size == 4 or len(linted(text, only).results) == size
        return lambda: linted(text, only)

    assert growth(make, 60) < 1.25
    assert (work(make(80)) - work(make(40))) / 40 < 900


@pytest.mark.slow
def test_mappings_where_values_belong(rules: dict[str, Rule]) -> None:
    only = {"invalid-field": rules["invalid-field"]}

    def make(size: int) -> Callable[[], object]:
        limits = "".join(f"    r{n}:\n      a: 1\n" for n in range(size))
        text = pool("key: kubernetes.io/arch, operator: Exists", more=f"  limits:\n{limits}")
        assert size == 4 or len(linted(text, only).results) == size
        return lambda: linted(text, only)

    assert growth(make, 200) < 1.2


def test_a_list_that_a_rule_of_cel_writes_is_made_once() -> None:
    few, many = (compile_subset(f"self in {[str(n) for n in range(size)]}") for size in (2, 40))
    assert few("1") is many("39") is True
    assert few("x") is many("x") is False
    assert work(lambda: few("x")) == work(lambda: many("x"))


def test_what_changes_in_a_long_line_is_found_in_few_steps() -> None:
    def make(size: int) -> Callable[[], object]:
        values = ", ".join(["m5.large"] * size)
        source = Source.from_text("pool.yaml", f"# karpenter\nvalues: [{values}, m5.larg, {values}]\n")
        at = source.text.index("m5.larg,")
        edit = Edit(source, at, at + 7, "m5.large")
        shown = list(fix_lines([edit], source, PLAIN, "elsewhere"))
        assert size == 4 or (len(shown) == 2 and all("…" in line for line in shown))
        return lambda: list(fix_lines([edit], source, PLAIN, "elsewhere"))

    assert growth(make, 500) < 0.4, "far below linear: the characters are compared many at a time"


def test_a_long_object_is_not_judged_for_an_older_release_too(rules: dict[str, Rule]) -> None:
    only = {"unknown-field": rules["unknown-field"]}

    def tried(size: int) -> int:
        labels = "".join(f"    team/k{n}: v\n" for n in range(size))
        text = pool("key: kubernetes.io/arch, operator: Exists", more=f"  replicas: 2\n  labels:\n{labels}")
        report = linted(text, only)
        return work(lambda: older(report, LintRequest(report.target, only), [report.objects[0].source]))

    tried(4)
    assert tried(4) > 1_000 > tried(2_000)


def test_an_old_version_with_many_labels(rules: dict[str, Rule]) -> None:
    only = {"removed-api": rules["removed-api"]}

    def make(size: int) -> Callable[[], object]:
        labels = "".join(f"        team/k{n}: v\n" for n in range(size))
        text = (
            "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  template:\n"
            f"    metadata:\n      labels:\n{labels}    spec: {{nodeClassRef: {{name: default}}, requirements: []}}\n"
        )
        assert size == 4 or linted(text, only).results[0].fixable
        return lambda: linted(text, only)

    assert growth(make, 100) < 1.3


class Counting(str):
    """A text that counts the characters that are searched for something."""

    searched = 0

    def __contains__(self, part: object) -> bool:
        Counting.searched += len(self)
        return super().__contains__(part)  # type: ignore[operator]


def test_the_place_of_a_finding_is_found_without_a_search_of_the_whole_text() -> None:
    text = "---\n".join(["# Source: chart/templates/pool.yaml\n" + pool(n=n) for n in range(20)])
    source = Source.from_text("pool.yaml", text)
    source.text = Counting(text)
    assert {template_of(source, at) for at in range(len(text))} == {"chart/templates/pool.yaml"}
    assert Counting.searched <= len(text)


def test_a_document_within_another_has_the_origin_of_the_whole() -> None:
    inner = "".join(f"    {line}\n" for line in pool().splitlines())
    text = f"# Source: chart/templates/map.yaml\napiVersion: v1\nkind: ConfigMap\ndata:\n  p: |\n{inner}---\n{pool()}"
    source = Source.from_text("map.yaml", text)
    assert len(source.documents) == 3
    assert template_of(source, text.index("requirements")) == "chart/templates/map.yaml"
    assert template_of(source, text.rindex("requirements")) is None


def mending(bad: str = "") -> dict[str, Rule]:
    """A rule whose fix gives each class another role; it breaks the file for the class named `bad`."""

    def check(node_class: EC2NodeClass, context: Context) -> Findings:
        node = node_class.node.find("spec", "role")
        if node is not None and node.text != "changed":
            new = "changed" if node_class.name != bad else "[}"
            edits = [Edit(node.source, node.start, node.end, new)]
            yield Finding(at=node, message=f"`{node_class.name}` is old", edits=edits)

    made = rule(on=EC2NodeClass, group="correctness", fix="safe")(check)
    return {"mending": made._replace(name="mending", text=lambda: "A page.")}


def test_fixes_of_many_files() -> None:
    def make(size: int) -> Callable[[], object]:
        sources = [Source.from_text(f"c{n}.yaml", CLASS.format(n=n)) for n in range(size)]
        return lambda: fix(sources, LintRequest(TARGET, mending()))

    assert growth(make, 16) < 1.2


def test_fixes_of_one_file() -> None:
    def make(size: int) -> Callable[[], object]:
        sources = [Source.from_text("c.yaml", "---\n".join(CLASS.format(n=n) for n in range(size)))]
        return lambda: fix(sources, LintRequest(TARGET, mending()))

    assert growth(make, 16) < 1.2


def test_one_fix_of_many_that_breaks_its_file_is_found_in_few_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "---\n".join(CLASS.format(n=n) for n in range(64))
    sources = [Source.from_text("c.yaml", text), Source.from_text("d.yaml", CLASS.format(n="d"))]
    read: list[str] = []
    make = Source.from_text

    def counted(path: str, text: str, also: str | None = None) -> Source:
        read.append(path)
        return make(path, text, also)

    monkeypatch.setattr(Source, "from_text", counted)
    fixed = fix(sources, LintRequest(TARGET, mending("c40")))
    assert fixed.sources[0].text == text.replace("role: nodes", "role: changed").replace(
        "{name: c40}\nspec: {role: changed", "{name: c40}\nspec: {role: nodes"
    )
    assert "role: changed" in fixed.sources[1].text
    assert [(r.message, why) for r, why in fixed.refused] == [("`c40` is old", "the file would no longer parse")]
    assert len(fixed.applied) == 64
    assert read.count("c.yaml") < 20


def test_many_fixes_that_break_one_file() -> None:
    def make(size: int) -> Callable[[], object]:
        source = Source.from_text("c.yaml", "---\n".join(CLASS.format(n="bad") for _ in range(size)))
        report = lint([source], LintRequest(TARGET, mending("cbad")))
        assert len(report.results) == size
        assert not any(result.fixable for result in applicable([source], report).results)
        return lambda: applicable([source], report)

    assert growth(make, 16) < 1.3


def test_a_text_with_all_its_fixes_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["---\n".join(CLASS.format(n=n) for n in range(size)) for size in (1, 8)]
    sources = [Source.from_text(f"{n}.yaml", text) for n, text in enumerate(texts)]
    read: list[int] = []
    of_part = Source.read_part

    def counted(source: Source, begin: int, end: int) -> bool:
        read.append(begin)
        return of_part(source, begin, end)

    monkeypatch.setattr(Source, "read_part", counted)
    fixed = fix(sources, LintRequest(TARGET, mending()))
    assert [source.text for source in fixed.sources] == [text.replace("nodes", "changed") for text in texts]
    assert len(read) == 1 + 8


def test_needless_comments_that_go_are_not_tried(rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    limits = "".join(f"    r{n}: 1 # nodelint: ignore[no-image]\n" for n in range(9))
    source = Source.from_text("pool.yaml", pool(more=f"  limits:\n{limits}"))
    only = {name: rules[name] for name in ("unused-suppression", "no-image")}
    report = lint([source], LintRequest(TARGET, only))
    assert sum(result.fixable for result in report.results) == 9
    monkeypatch.setattr(Source, "read_part", None)
    assert applicable([source], report) is report


LARGE = {
    "findings": 12,
    "findings --diff": 12,
    "findings --fix": 12,
    "findings json": 12,
    "NotIn": 55,
    "v1beta1": 30,
    "v1beta1 --diff": 60,
    "types": 130,
    "comments": 30,
    "comments above": 30,
    "unknown fields": 30,
    "unknown labels": 20,
    "excludes": 20,
    "explain json": 6,
}


def test_every_large_input_is_held() -> None:
    """Fixes of many files are held above; `test_streams` counts the bytes that a stream takes."""
    assert large_inputs().CASES.keys() - LARGE == {"stream", "tree --fix"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "size"), LARGE.items())
def test_a_large_input_takes_work_that_grows_with_its_size(tmp_path: Path, name: str, size: int) -> None:
    case = large_inputs().CASES[name]

    def take(size: int) -> int:
        folder = tmp_path / f"{size}"
        folder.mkdir()
        case.make(folder, size)
        arguments = [case.command, ".", *case.arguments]
        Catalog.bundled().for_release(NEWEST)._notes.clear()  # what other runs have asked of it
        return work(lambda: in_process.run(arguments, folder, os.environ))

    take(3)  # loads what is loaded once
    few, more, many = (take(size * times) for times in (1, 2, 4))
    # What a run takes however small its input is goes out: 1 is linear, quadratic work comes near 2. What other tests
    # have asked of caches of a fixed size moves it by a fifth.
    # Up to 20 NodePools, each trial of a fix compares all of them with each other.
    assert (many - more) / (more - few) / 2 < (2 if name.startswith("findings") else 1.5)


def numbered(size: int, *, changed: int) -> tuple[list[str], list[str]]:
    old = [f"line {n}\n" for n in range(size)]
    return old, [f"new {n}\n" if n % changed == 0 else line for n, line in enumerate(old) if n % 17]


def test_long_texts_are_compared() -> None:
    def make(size: int) -> Callable[[], object]:
        old, new = numbered(size, changed=5)
        return lambda: list(line_diff.unified(old, new, ("a", "b")))

    assert growth(make, 400) < 1.2


def test_texts_without_a_line_of_their_own_are_compared() -> None:
    old, new = ["same\n"] * 60_000, ["same\n", "other\n"] * 30_000
    assert work(lambda: line_diff.opcodes(old, new)) < 300_000


lines = st.lists(st.sampled_from([*"abcdef", *(str(n) for n in range(40))]), max_size=40)


@pytest.mark.slow
@given(lines, lines, st.sampled_from([0, 9, 100]))
def test_steps_make_of_one_text_the_other(old: list[str], new: list[str], small: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "_SMALL", small)
        steps = line_diff.opcodes(old, new)
    made: list[str] = []
    i = j = 0
    for tag, a, b, c, d in steps:
        assert (a, c) == (i, j)
        assert tag != "equal" or old[a:b] == new[c:d]
        assert tag == {(False, True): "delete", (True, False): "insert"}.get((a == b, c == d), tag)
        made += new[c:d]
        i, j = b, d
    assert (i, j) == (len(old), len(new))
    assert made == new


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.integers(0, 4))
def test_a_long_diff_is_what_difflib_writes(gone: set[int], other: set[int], around: int) -> None:
    old = [f"{n}\n" for n in range(60)]
    new = [f"new {n}\n" if n in other else f"{n}\n" for n in range(60) if n not in gone]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "_SMALL", 0)
        mine = list(line_diff.unified(old, new, ("a", "b"), around))
    assert mine == list(unified_diff(old, new, "a", "b", n=around))


def test_a_run_can_be_given_up_between_two_objects(rules: dict[str, Rule]) -> None:
    text = "---\n".join(CLASS.format(n=n) for n in range(9))
    judged: list[None] = []

    def pause() -> None:
        judged.append(None)
        if len(judged) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lint([Source.from_text("c.yaml", text)], LintRequest(TARGET, rules), pause=pause)


def test_templates_of_one_chart_that_include_named_ones(tmp_path: Path) -> None:
    def make(size: int) -> Callable[[], object]:
        chart = tmp_path / str(size)
        templates = chart / "templates"
        templates.mkdir(parents=True)
        (chart / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 1.0.0\n")
        (chart / "values.yaml").write_text("name: x\n")
        for n in range(size):
            text = (
                f'{{{{- define "x.{n}" }}}}\n{HELM_POOL.format(n=n)}\n{{{{- end }}}}\n{{{{ include "x.{n}" . }}}}\n'
            )
            (templates / f"pool{n}.yaml").write_text(text)
        found = discover([str(chart)])
        return lambda: read_inventory(found)

    assert growth(make, 6) < 1.3


def test_pools_that_keep_the_same_types_share_what_is_asked_of_these(
    rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = Selection(groups=PROFILES["strict"])
    looked: list[TypeSet] = []
    select = TypeSet.select
    monkeypatch.setattr(TypeSet, "select", lambda types, column: looked.append(types) or select(types, column))

    def looks(size: int) -> int:
        looked.clear()
        text = "---\n".join(pool(n=n, more="  limits: {cpu: 1000}\n") for n in range(size))
        report = lint([Source.from_text("p.yaml", text)], LintRequest(TARGET, rules, strict))
        assert {"old-generations"} <= {result.rule.name for result in report.results}
        return len(looked)

    looks(1)
    assert looks(24) - looks(12) <= 12, "one look at the types of each further pool: the names of tiny ones"


def test_pools_that_ask_the_same_share_what_that_does_to_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    questions: list[object] = []
    keeping = Supply.keeping
    monkeypatch.setattr(Supply, "keeping", lambda self, wanted: questions.append(wanted) or keeping(self, wanted))
    line = "key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['%s']"
    texts = [pool(line % 777, n=n) for n in range(9)]
    (first, *others) = objects(Source.from_text("p.yaml", "---\n".join([*texts, pool(line % 778, n="other")])))
    context = Context([first, *others], TARGET)

    def count(obj: Object) -> int:
        assert isinstance(obj, NodePool)
        before = len(questions)
        context.resolution(obj)
        return len(questions) - before

    assert count(first) > 0
    assert sum(map(count, others[:-1])) == 0
    assert count(others[-1]) > 0, "one that asks for something else"


def test_an_edit_asks_no_other_object_for_its_words(rules: dict[str, Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [Source.from_text(f"p{n}.yaml", pool(n=n)) for n in range(9)]
    request, memory = LintRequest(TARGET, rules), ResultCaches()
    lint(sources, request, memory=memory)
    requested: list[object] = []
    monkeypatch.setattr(judging, "find_words", lambda obj, words: requested.append(obj) or find_words(obj, words))
    sources[4] = Source.from_text("p4.yaml", pool(n="other"))
    lint(sources, request, memory=memory)
    assert len(requested) == 1


def test_the_prices_of_a_pool_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    (its_pool,) = objects(Source.from_text("p.yaml", pool()))
    assert isinstance(its_pool, NodePool)
    resolution = Context([its_pool], TARGET).resolution(its_pool)
    twin = resolution.with_overlays((), {resolution.catalog.names_in(resolution.candidates)[0]: ("0.00001",)}, {}, ())
    requested = []
    in_region = PoolPrices.in_region
    monkeypatch.setattr(
        PoolPrices, "in_region", lambda self, name, region: requested.append(name) or in_region(self, name, region)
    )
    for _ in range(10):
        assert len(resolution.cheapest(5)) >= 5
        assert len(twin.cheapest(1)) == 1, "an overlay changes what is cheapest"
    assert len(requested) <= len(twin.catalog.names)
    prices = {name: price for price, name in twin.prices.list_prices(twin.candidates)}
    assert prices == {
        name: in_region(twin.prices, name, "us-east-1") for name in twin.catalog.names_in(twin.candidates)
    }


def test_the_cheapest_type_is_found_without_a_look_at_all_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    (its_pool,) = objects(Source.from_text("p.yaml", pool()))
    assert isinstance(its_pool, NodePool)
    resolution = Context([its_pool], TARGET).resolution(its_pool)
    names = resolution.catalog.names_in(resolution.candidates)
    twin = resolution.with_overlays((), dict.fromkeys(names[7:400:50], ("0.00001",)), {}, ())
    looks = 0
    meet = TypeSet.__and__

    def count(left: TypeSet, right: TypeSet) -> TypeSet:
        nonlocal looks
        looks += 1
        return meet(left, right)

    for entry in (resolution, twin, resolution):
        assert entry.prices.cheapest_type(entry.catalog.types_of([])) is None
        for start in range(0, len(names), 90):
            types = entry.catalog.types_of(names[start : start + 60])
            priced = [(price, name) for price, name in entry.prices.list_prices(types) if price is not None]
            looks = 0
            with monkeypatch.context() as patched:
                patched.setattr(TypeSet, "__and__", count)
                assert entry.prices.cheapest_type(types) == min(priced, default=None)
            assert looks < 90


def test_requests_are_not_held_against_each_type(monkeypatch: pytest.MonkeyPatch) -> None:
    (its_pool,) = objects(Source.from_text("p.yaml", pool()))
    assert isinstance(its_pool, NodePool)
    resolution = Context([its_pool], TARGET).resolution(its_pool)
    view, types = resolution.catalog, resolution.candidates
    sizes = NodeSizes(None, resolution.images, view)
    requests = [
        {}, {"cpu": 0, "absent": 0}, {"absent": 1}, {"cpu": 1 << 80},
        *({"cpu": n * 10**9, "memory": n * 2**31 * 10**9, "nvidia.com/gpu": n % 2 * 10**9} for n in range(40)),
    ]  # fmt: skip
    fewer = view.types_of(view.names_in(types)[::3])
    expected = [
        view.types_of(name for name in view.names_in(types) if sizes.of_type(name).holds(request))
        for request in requests
    ]
    assert len({len(found) for found in expected}) > 3
    assert [sizes.holding(request, fewer) for request in requests] == [found & fewer for found in expected]
    assert [sizes.holding(request, types) for request in requests] == expected
    monkeypatch.setattr(NodeSizes, "of_type", None)
    assert [sizes.holding(request, fewer) for request in requests] == [found & fewer for found in expected]


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: w{n}}}
spec:
  template:
    spec:
      containers: [{{name: a, image: b, resources: {{requests: {{cpu: {cpu}m, memory: {memory}Mi}}}}}}]
"""
DAEMONS = DEPLOYMENT.replace("Deployment", "DaemonSet").format(n="d", cpu=50, memory=64)


def fits(pools: int, workloads: int, step: int) -> tuple[Tree, list[Workload]]:
    """Pools with a daemon, and workloads that each ask for more than the one before."""
    texts = [pool(n=n, more=f"  limits: {{cpu: {100 + n}}}\n") for n in range(pools)]
    texts += [DEPLOYMENT.format(n=n, cpu=100 + n * step, memory=128 + n * step) for n in range(workloads)]
    contents = list(objects(Source.from_text("all.yaml", "---\n".join([*texts, DAEMONS]), PATTERN), more=True))
    context = Context([obj for obj in contents if isinstance(obj, NodePool)], TARGET)
    resolutions = [context.resolution(obj) for obj in contents if isinstance(obj, NodePool)]
    tree = Tree(resolutions, [obj for obj in contents if isinstance(obj, ClusterObject)])
    return tree, [workload for workload in tree.workloads if not workload.is_daemon]


def test_pods_that_find_room_on_the_same_types_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    judge = verdict.judge_pod

    def note(pod: Pod, *given: Any) -> PoolVerdict:
        judged.append(pod)
        return judge(pod, *given)

    monkeypatch.setattr(tree_module, "judge_pod", note)

    def count(workloads: int, step: int) -> int:
        tree, its_workloads = fits(4, workloads, step)
        judged.clear()
        found = [tree.fit(workload) for workload in its_workloads]
        calls = len(judged)
        for fit in found:
            pod = pod_of(fit.workload)
            assert pod is not None
            expected = [judge(pod, its_pool, tree.daemon_groups(its_pool, None)) for its_pool in tree.pools]
            assert [(v.pool, v.types, v.refusal) for v in fit.verdicts] == [
                (v.pool, v.types, v.refusal) for v in expected
            ]
        assert all(fit.possible for fit in found)
        return calls

    assert count(4, 4000) == 16, "each finds room on other types"
    assert count(40, 20) < 40
    assert count(80, 10) < 40, "as many amounts between the same steps"


def test_a_plan_works_out_once_what_objects_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored is read once for an object, and the cheapest type is looked for once for a set of types."""
    stored: list[Object] = []
    looked: list[TypeSet] = []
    read, find = stored_form._read_stored, launch._find_cheapest

    def note_stored(obj: Object, *given: Any) -> Any:
        stored.append(obj)
        return read(obj, *given)

    def note_types(catalog: Any, types: TypeSet, region: str) -> Any:
        looked.append(types)
        return find(catalog, types, region)

    monkeypatch.setattr(stored_form, "_read_stored", note_stored)
    monkeypatch.setattr(launch, "_find_cheapest", note_types)

    def compare(size: int, changed: int) -> None:
        stored.clear()
        looked.clear()
        texts = [pool(n=n) for n in range(size)]
        new = [text + ("  weight: 3\n" if n < changed else "") for n, text in enumerate(texts)]
        sides = [Side(Inventory([Source.from_text("all.yaml", "---\n".join(part))])) for part in (texts, new)]
        plan = make(*sides, PlanOptions(NEWEST, None, Schemas.bundled(), NOTHING, NOTHING))
        assert [p.change for p in plan.pools].count("changed") == changed

    compare(12, 3)
    assert len(stored) == len({id(obj) for obj in stored}) == 6
    assert len(looked) <= 2


def test_another_workload_costs_no_walk_over_pools_and_types() -> None:
    def make(pools: int, size: int) -> Callable[[], object]:
        tree, workloads = fits(pools, size, 1)
        return lambda: fit_text([tree.fit(workload) for workload in workloads])

    make(12, 4)()  # whether the API server accepts a pool is read once
    few, many = (work(make(pools, 40)) - work(make(pools, 20)) for pools in (2, 12))
    assert few < 20 * 1600
    assert (many - few) / 20 / 10 < 45, "lines for each pool more, beside each workload more"


ROOT_MODULE = """\
variable "types" {
  default = ["m5.xlarge", "m5.larg"]
}
module "cluster" {
  source = "../cluster"
}
resource "kubectl_manifest" "pool" {
  yaml_body = <<-EOT
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: p}
    spec:
      template:
        spec:
          nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
          requirements:
            - {key: node.kubernetes.io/instance-type, operator: In, values: ${jsonencode(var.types)}}
  EOT
}
"""


def test_root_modules_beside_each_other_with_an_edit_in_each(tmp_path: Path, rules: dict[str, Rule]) -> None:
    """To try an edit, no file is read again but the one that changes."""

    def make(size: int) -> Callable[[], object]:
        home = tmp_path / str(size)
        sources = []
        for name in ("cluster", *(f"m{number}" for number in range(size))):
            path = home / name / "main.tf"
            path.parent.mkdir(parents=True)
            path.write_text("# karpenter\n" if name == "cluster" else ROOT_MODULE, encoding="utf-8")
            sources.append(Source.from_text(str(path), path.read_text(encoding="utf-8")))
        (home / ".git").mkdir()

        def run() -> None:
            report = lint(sources, LintRequest(TARGET, rules), built=build(sources).built)
            fixed = [result for result in report.results if result.fixable and result.rule.name == "unknown-value"]
            assert len(fixed) == size

        return run

    assert growth(make, 6) < 1.25
