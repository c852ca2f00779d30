"""What a repository's text makes nodelint work out has a budget: the value is not known, and that is said.

Each input here would take for ever, or all memory, if it were worked out; the rest of its tree is judged.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest

from nodelint.base import budget
from nodelint.drift.budgets import budgets
from nodelint.forms.kustomize import run as overlay_run
from nodelint.forms.terraform.hcl import Text
from nodelint.text.yaml.libyaml import Parser
from tests import in_process
from tests.manifests import nodeclass, nodepool
from tests.plain_yaml import load_yaml

_PATIENCE = 60
"""Seconds of this process's own time: what is broken takes for ever, and what is not takes a moment."""

WRONG = nodepool("key: kubernetes.io/arch, operator: In, values: [x86]", name="wrong", inline=True)


@pytest.fixture(autouse=True)
def _small_budget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A budget of which little is enough, and an end for what takes for ever in spite of it."""
    monkeypatch.setattr(budget, "MOST_STEPS", 5_000)
    monkeypatch.setattr(budget, "MOST_BYTES", 60_000)
    monkeypatch.setattr("nodelint.forms.lib.gotemplate.evaluate._MOST", 400_000)
    monkeypatch.setattr(overlay_run, "_MOST_STEPS", 20_000)

    def fail(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError("it does not end")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in {".git/HEAD": "ref: refs/heads/main\n", **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def check(folder: Path, files: dict[str, str], *arguments: str) -> str:
    """What `check` says of a tree; never a fault of its own."""
    write(folder, files)
    done = in_process.run(["check", *arguments, "."], folder, {**os.environ, "NODELINT_JOBS": "1"})
    output = done.stdout + done.stderr
    assert done.returncode in (1, 2), output
    assert "internal error" not in output
    assert "x86" in output, "the rest of the tree is judged"
    return output


# -- Terraform


def chain(first: str, step: str, depth: int = 60) -> str:
    """Locals of which each holds the one before it, which stands as `@` in a step."""
    rest = (f"  s{n} = {step.replace('@', f'local.s{n - 1}')}\n" for n in range(1, depth + 1))
    return f"locals {{\n  s0 = {first}\n{''.join(rest)}}}\n"


def terraform(value: str, more: str = "", arch: str = "x86") -> dict[str, str]:
    """A pool with a label of a value, and with an architecture that is none."""
    spec = (
        f'template = {{ metadata = {{ labels = {{ x = "${{{value}}}" }} }}, spec = {{ nodeClassRef = {{ '
        'group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" }, requirements = [{ '
        f'key = "kubernetes.io/arch", operator = "In", values = ["{arch}"] }}] }} }}'
    )
    return {
        "main.tf": more
        + 'resource "kubernetes_manifest" "p" {\n  manifest = { apiVersion = "karpenter.sh/v1", kind = "NodePool", '
        f'metadata = {{ name = "p" }}, spec = {{ {spec} }} }}\n}}\n'
    }


LISTS = chain('["a"]', "[@, @]")
MAPS = chain('{ a = "a" }', "{ a = @, b = @ }")
TEXTS = chain('"aaaaaaaaaa"', '"${@}${@}"')
OF_SHARED_LISTS = [
    "length(flatten(local.s60))",
    "contains([local.s60], 1)",
    "contains(local.s60, local.s59)",
    "length(tolist(local.s60))",
    "length(toset(local.s60))",
    "local.s60 == local.s60",
    "local.s60 != local.s59",
    "length(true ? local.s60 : [])",
    "length(false ? [] : local.s60)",
    "jsonencode(local.s60)",
    "yamlencode(local.s60)",
    "length(distinct(local.s60))",
    "length(distinct([local.s60, local.s60]))",
    "length(setunion(local.s60, local.s60))",
    "length(setintersection([local.s60], [local.s60]))",
    "length(setsubtract([local.s60], [local.s59]))",
    "length(setproduct(local.s60, local.s60))",
    "length(concat(local.s60, local.s60))",
    "length(compact(local.s60))",
    "index(local.s60, local.s59)",
    'format("%v", local.s60)',
    "length(chunklist([local.s60, local.s60], 1))",
    "length(coalescelist(local.s60, []))",
    'length(zipmap(["a", "b"], local.s60))',
    "length(matchkeys(local.s60, local.s60, local.s59))",
    "length([for x in [local.s60, local.s60] : x if x == local.s60])",
    "base64encode(jsonencode(local.s60))",
]
OF_SHARED_MAPS = [
    "jsonencode(local.s60)",
    "yamlencode(local.s60)",
    "local.s60 == local.s60",
    "length(merge(local.s60, local.s59))",
    "length(tomap(local.s60))",
    "length(values(local.s60) == keys(local.s60) ? [1] : [])",
    'length(lookup(local.s60, "a", local.s60))',
    "length(true ? local.s60 : {})",
]
GROWING = [
    ('"aaaaaaaaaa"', '"${@}${@}"', "local.s60"),
    ('"aaaaaaaaaa"', 'join("", [@, @])', "local.s60"),
    ('"aaaaaaaaaa"', 'format("%s%s", @, @)', "local.s60"),
    ('"aaaaaaaaaa"', 'replace(@, "a", "aaaaaaaaaaaaaaaaaaaa")', "local.s60"),
    ('"aaaaaaaaaa"', 'replace(@, "/a/", "aaaaaaaaaaaaaaaaaaaa")', "local.s60"),
    ('"aaaaaaaaaa"', "join(@, range(100))", "local.s60"),
    ('"aaaaaaaaaa"', "base64encode(@)", "local.s60"),
    ('"\\""', "jsonencode(@)", "local.s60"),
    ('"a\\n"', 'indent(200, "${@}${@}")', "local.s60"),
    ('["a"]', "concat(@, @)", "length(local.s60)"),
    ('["a"]', "[for x in concat(@, @) : x]", "length(local.s60)"),
    ('["a"]', 'formatlist("%s%s", @, "aaaaaaaaaa")', "join(local.s60[0], range(1000))"),
    ('["a", "b"]', 'split("a", join("aa", concat(@, @)))', "length(local.s60)"),
]


@pytest.mark.parametrize(
    ("locals_", "value"),
    [*((LISTS, value) for value in OF_SHARED_LISTS), *((MAPS, value) for value in OF_SHARED_MAPS)],
)
def test_a_value_that_holds_another_twice_counts_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locals_: str, value: str
) -> None:
    monkeypatch.setattr(budget, "MOST_STEPS", 1_000)
    monkeypatch.setattr(budget, "MOST_BYTES", 12_000)
    output = check(tmp_path, terraform(value, locals_))
    assert "main.tf: values are not filled in: its " in output


@pytest.mark.parametrize(("first", "step", "value"), GROWING)
def test_a_text_that_grows_counts_before_it_is_made(tmp_path: Path, first: str, step: str, value: str) -> None:
    output = check(tmp_path, terraform(value, chain(first, step)))
    assert "main.tf: values are not filled in: its " in output


@pytest.mark.parametrize(
    "value",
    [
        "length([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]])",
        "length(merge([for i in range(1000) : { for j in range(1000) : i => j }]...))",
        "length(setproduct(range(1000), range(1000), range(1000)))",
        'join("", formatlist("%999s", range(1000)))',
        'length(regexall("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"))',
        'replace("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "/(a|a)*c/", "x")',
        'templatefile("loop.tftpl", {})',
        'templatefile("self.tftpl", {})',
    ],
)
def test_loops_and_patterns_end(tmp_path: Path, value: str) -> None:
    loops = "%{ for a in range(1000) }%{ for b in range(1000) }x%{ endfor }%{ endfor }"
    templates = {"loop.tftpl": loops, "self.tftpl": '${templatefile("self.tftpl", {})}' * 2}
    check(tmp_path, {**terraform(value), **templates})


@pytest.mark.slow
def test_one_module_that_takes_too_much_leaves_the_others(tmp_path: Path) -> None:
    good = {f"{n}/main.tf": terraform('"a"', arch="arm65")["main.tf"] for n in "ac"}
    bad = {"b/main.tf": terraform("jsonencode(local.s60)", LISTS)["main.tf"]}
    output = check(tmp_path, {**good, **bad})
    assert "no instance type has arch `arm65` (in 2 objects of 2 files)" in output
    assert "b/main.tf: values are not filled in" in output
    assert "a/main.tf: values" not in output


def test_what_people_write_is_within_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    names = 'locals {\n  all = [for n in range(300) : { name = "n${n}", tags = { team = "t${n}" } }]\n}\n'
    value = 'length(distinct(flatten([for n in local.all : [n.name, jsonencode(merge(n.tags, { a = "b" }))]])))'
    output = check(tmp_path, terraform(value, names))
    assert "not filled in" not in output


# -- Helm


def chart(template: str, values: str = "a: 1\n") -> dict[str, str]:
    """A chart whose pool has a label that a named template prints, and an architecture that is none."""
    written = nodepool(
        "key: kubernetes.io/arch, operator: In, values: [x86]", labels='{x: {{ include "e" . | quote }}}'
    )
    return {
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "values.yaml": values,
        "templates/pool.yaml": written,
        "templates/_e.tpl": '{{ define "e" }}' + template + "{{ end }}",
    }


def grown(first: str, step: str, last: str) -> str:
    """A variable that becomes something else in each of sixty rounds."""
    return f"{{{{ $x := {first} }}}}{{{{ range until 60 }}}}{{{{ $x = {step} }}}}{{{{ end }}}}{{{{ {last} }}}}"


@pytest.mark.parametrize(
    "template",
    [
        grown('"a"', "cat $x $x", "len $x"),
        grown('"a"', 'printf "%s%s" $x $x', "len $x"),
        grown('"a"', "quote $x $x", "len $x"),
        grown('"\\""', "quote $x", "len $x"),
        grown('"a"', "b64enc $x", "len $x"),
        grown('"a"', 'replace "a" "aaaaaaaaaa" $x', "len $x"),
        grown('"a"', 'regexReplaceAll "a" $x "aaaaaaaaaa"', "len $x"),
        grown('"a"', "join $x (list 1 2 3)", "len $x"),
        grown('"a"', 'indent 100 (cat $x "\\n" $x)', "len $x"),
        grown('"a"', 'include "twice" $x', "len $x") + '{{ end }}{{ define "twice" }}{{ . }}{{ . }}',
        grown("list 1", "concat $x $x", "len $x"),
        grown("list 1", "list $x $x", "toJson $x"),
        grown("list 1", "list $x $x", "toYaml $x"),
        grown("list 1", "list $x $x", "has 5 $x"),
        grown("list 1", "list $x $x", "deepEqual $x $x"),
        grown("list 1", "list $x $x", "uniq $x | len"),
        grown("list 1", "list $x $x", "without $x 5 | len"),
        grown("list 1", "list $x $x", "join $x $x"),
        grown("list 1", "list $x $x | reverse", "toJson $x"),
        grown('dict "a" 1', 'dict "a" $x "b" $x', "deepCopy $x | len"),
        grown('dict "a" 1', 'dict "a" $x "b" $x', "toJson $x"),
        grown('dict "a" 1', 'dict "a" $x "b" $x', "merge $x $x | len"),
        grown('dict "a" 1', 'dict "a" $x "b" $x', "mergeOverwrite (dict) $x | toYaml"),
        grown('dict "a" 1', 'dict "a" $x "b" $x', "deepEqual $x $x"),
        "{{ range until 1000 }}{{ range until 1000 }}a{{ end }}{{ end }}",
        '{{ range until 1000 }}{{ repeat 1000 "aaaaaaaaaa" }}{{ end }}',
    ],
)
def test_a_template_that_makes_too_much_is_not_filled_in(tmp_path: Path, template: str) -> None:
    output = check(tmp_path, {**chart(template), "wrong.yaml": WRONG})
    assert "templates/pool.yaml: values are not filled in: its expressions" in output or "in full" in output


@pytest.mark.parametrize(
    "template",
    [
        '{{ $d := dict "a" "b" }}{{ $_ := set $d "d" $d }}{{ toYaml $d }}',
        '{{ $d := dict "a" "b" }}{{ $_ := set $d "d" (list $d) }}{{ toJson $d }}',
        '{{ $d := dict "a" "b" }}{{ $_ := set $d "d" $d }}{{ range $d }}a{{ end }}',
        '{{ $d := dict }}{{ range until 1000 }}{{ $d = dict "a" $d }}{{ end }}{{ toYaml $d }}',
        "{{ $d := list }}{{ range until 1000 }}{{ $d = list $d }}{{ end }}{{ deepEqual $d $d }}",
        '{{ include "e" . }}{{ include "e" . }}',
        '{{ tpl "{{ tpl .t . }}{{ tpl .t . }}" (dict "t" "{{ tpl .t . }}") }}',
        '{{ "a"' + " | quote" * 3000 + " }}",
        '{{ regexReplaceAll "(a|aa)+$" "' + "a" * 60 + 'b" "x" }}',
        '{{ nindent 1000000000 "a" }}',
    ],
)
def test_depth_is_limited(tmp_path: Path, template: str) -> None:
    check(tmp_path, chart(template))


def test_a_chart_is_given_up_once_however_many_values_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    draw = budget.RunBudget.draw
    monkeypatch.setattr(
        budget.RunBudget, "draw", lambda self, steps, size: (drawn.append(steps), draw(self, steps, size))
    )
    tree = chart(grown("list 1", "concat $x $x", "len $x"))
    check(tmp_path, tree)
    once = len(drawn)
    drawn.clear()
    check(tmp_path, {**tree, **{f"values-{n}.yaml": f"a: {n}\n" for n in range(10)}})
    assert len(drawn) <= 2 * once


# -- kustomize

_KUSTOMIZE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
_COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"


def diamond(depth: int) -> dict[str, str]:
    files = {"base/kustomization.yaml": _KUSTOMIZE + "resources: [pool.yaml]\n", "base/pool.yaml": nodepool()}
    for n in range(depth):
        below = f"../d{n + 1}" if n + 1 < depth else "../base"
        files[f"d{n}/kustomization.yaml"] = _KUSTOMIZE + f"resources: [../a{n}, ../b{n}]\n"
        for side in "ab":
            files[f"{side}{n}/kustomization.yaml"] = _KUSTOMIZE + f"namePrefix: {side}\nresources: [{below}]\n"
    return files


def doubled_components(depth: int) -> dict[str, str]:
    files = {
        "o/kustomization.yaml": _KUSTOMIZE + "resources: [pool.yaml]\ncomponents: [../c0]\n",
        "o/pool.yaml": nodepool(),
        f"c{depth}/kustomization.yaml": _COMPONENT + "nameSuffix: a\n",
    }
    for n in range(depth):
        files[f"c{n}/kustomization.yaml"] = _COMPONENT + f"components: [../c{n + 1}, ../c{n + 1}]\n"
    return files


def patched(patch: str) -> dict[str, str]:
    text = _KUSTOMIZE + "resources: [pool.yaml]\npatches:\n- {target: {kind: NodePool}, path: p.yaml}\n"
    return {"o/kustomization.yaml": text, "o/pool.yaml": nodepool(), "o/p.yaml": patch}


@pytest.mark.parametrize(
    "files",
    [
        diamond(20),
        doubled_components(30),
        patched("".join(f"- {{op: copy, from: /spec, path: /spec/x{n}}}\n" for n in range(60))),
        patched("".join(f"- {{op: add, path: {'/a' * n}, value: {{}}}}\n" for n in range(1, 500))),
        patched("".join(f"- {{op: add, path: /spec/x{n}, value: a}}\n" for n in range(600))),
    ],
    ids=["diamond", "components", "copies", "steps", "operations"],
)
def test_an_overlay_that_makes_too_much_is_not_built(tmp_path: Path, files: dict[str, str]) -> None:
    output = check(tmp_path, {**files, "wrong.yaml": WRONG})
    assert "is not built: " in output
    assert any(why in output for why in ("than nodelint goes", "is not followed", "the path has more than 100 parts"))


def test_what_overlays_of_usual_size_do_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    output = check(tmp_path, {**diamond(3), "wrong.yaml": WRONG})
    assert "is not built" not in output


# -- the deadline


def test_what_is_not_judged_in_time_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, *[1.0] * 12, *[1e9] * 10_000])
    monkeypatch.setattr(budget, "monotonic", lambda: next(now))
    write(tmp_path, {"a.yaml": WRONG, "b.yaml": WRONG.replace("wrong", "late") + "---\n" + nodeclass(inline=True)})
    done = in_process.run(["check", "--timeout", "5m", "."], tmp_path, {**os.environ, "NODELINT_JOBS": "1"})
    assert done.returncode == 1
    assert "the time that `--timeout 5m` gives was used up" in done.stdout
    assert "not everything was judged: the time that `--timeout 5m` gives was used up" in done.stderr


@pytest.mark.parametrize("command", ["check", "plan", "fit", "explain", "hash", "upgrade"])
def test_a_run_in_time_ends_as_without_a_deadline(tmp_path: Path, command: str) -> None:
    write(tmp_path, {"a.yaml": nodepool(inline=True) + "---\n" + nodeclass(inline=True)})
    old = ["--old", "."] if command == "plan" else []
    results = [
        in_process.run([command, *old, *given, "."], tmp_path, dict(os.environ))
        for given in ([], ["--timeout", "1h"])
    ]
    assert results[0].returncode == results[1].returncode
    assert results[0].stdout == results[1].stdout


@pytest.mark.parametrize("time", ["0", "x", "-5", "5d", "", "1.5", "99999999h"])
def test_a_time_that_is_none_is_refused(tmp_path: Path, time: str) -> None:
    done = in_process.run(["check", f"--timeout={time}", "."], tmp_path, dict(os.environ))
    assert done.returncode == 2
    assert "is not a time such as 90, 90s or 5m" in done.stderr


class _Clock:
    """A clock on which the deadline passes with the event of YAML, or the word of HCL, of a number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, late_at: int) -> None:
        self.read = 0
        self._late_at = late_at
        monkeypatch.setattr(budget, "monotonic", lambda: 1e9 if self.read >= late_at else 0.0)
        real_events, real_tokens = Parser.read_events, Text._tokens

        def events(parser: Parser, text: str) -> Callable[[], object]:
            step = real_events(parser, text)
            return lambda: self._count(step())

        def tokens(text: Text, at: int, end: int) -> Iterator[object]:
            return map(self._count, real_tokens(text, at, end))

        monkeypatch.setattr(Parser, "read_events", events)
        monkeypatch.setattr(Text, "_tokens", tokens)

    def _count(self, read: object) -> object:
        self.read += 1
        return read

    @property
    def behind(self) -> int:
        """What was read after the deadline."""
        return self.read - self._late_at


LONG = {
    "json": {
        "a.json": json.dumps(
            {
                "apiVersion": "v1",
                "kind": "List",
                "items": [load_yaml(nodepool(name=f"n{n}")) for n in range(300)],
            }
        )
    },
    "yaml": {"a.yaml": "---\n".join(nodepool(name=f"n{n}") for n in range(300))},
    "hcl": {"main.tf": "".join(terraform("1")["main.tf"].replace('"p"', f'"p{n}"') for n in range(300))},
}


@pytest.mark.parametrize("form", LONG)
@pytest.mark.parametrize("command", ["check", "plan", "fit", "explain", "hash", "upgrade"])
def test_nothing_is_read_on_after_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, form: str
) -> None:
    monkeypatch.undo()
    old = tmp_path / "old"
    write(tmp_path / "new", LONG[form])
    write(old, {"gone.yaml": nodepool(name="gone", inline=True), "class.yaml": nodeclass(inline=True)})
    clock = _Clock(monkeypatch, 3_000)
    flags = {"plan": ["--old", "../old"], "upgrade": ["--from", "1.0.0", "--to", "1.3.0"]}.get(command, [])
    done = in_process.run([command, *flags, "--timeout", "5m", "."], tmp_path / "new", dict(os.environ))
    output = done.stdout + done.stderr
    assert clock.behind < 1_100, "the rest is not read"
    assert done.returncode in ((1, 2) if command == "fit" else (1,)), output
    assert "not everything was judged: the time that `--timeout 5m` gives was used up" in output
    for claim in ("deleted with all", "No node is replaced", "All good", "No findings: ", "Nothing to"):
        assert claim not in output, "what was not read is neither gone nor right"


def test_a_schedule_draws_from_the_budget_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Minutes of a week for each of many budgets: the rules that ask give up, and all others judge."""
    entry = '    - {nodes: "1", schedule: "* * * * *", duration: 876000h}\n'
    pool = nodepool("key: kubernetes.io/arch, operator: In, values: [x86]", name="wrong")
    head, spec, rest = pool.partition("spec:\n")
    monkeypatch.setattr(budget, "_RUN_STEPS", 5_000)
    output = check(tmp_path, {"a.yaml": f"{head}{spec}  disruption:\n    budgets:\n{entry * 40}{rest}"})
    assert "the run has taken more steps than nodelint goes" in output


def test_a_schedule_that_never_hits_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    budget.RUN.begin()
    before = budget.RUN._steps
    entry = {"nodes": "0", "schedule": "0 0 30 2 *", "duration": "2500000h"}
    found = budgets({"spec": {"disruption": {"budgets": [entry]}}})
    assert list(found[0].windows(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 8, tzinfo=UTC))) == []
    assert before - budget.RUN._steps < 4_000, "days of nine years, not of 285"
