"""A fix is offered once its result was judged: no new finding, no other reader broken, and safe moves no node."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from subprocess import CompletedProcess
from typing import Any

import pytest
from click.testing import CliRunner

from nodelint.apiserver import Schemas
from nodelint.cli import cli
from nodelint.inventory import Inventory
from nodelint.lint import autofix, broken_fixes
from nodelint.lint.broken_fixes import EditedTexts
from nodelint.lint.engine import LintRequest, Report, lint
from nodelint.lint.fix_trials import Trials, Tried, count_reported
from nodelint.lint.proven_fixes import Prover
from nodelint.model.finding import Edit, Finding
from nodelint.plan import PlanOptions, Side, make
from nodelint.plan.fix_drift import find_moved
from nodelint.plan.refusals import why_never_stored
from nodelint.report.page import build_example, judge_example, read_example, target_of
from nodelint.rule.definition import bundled, load
from nodelint.rule.examples import Example, examples
from nodelint.text import Source
from tests.manifests import nodepool
from tests.manifests import pool as make_pool
from tests.repositories import write_files

Run = Callable[..., CompletedProcess[str]]
RULES = load(bundled())

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: {name}
spec:
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 1m}}
  template:
    spec:
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: kubernetes.io/arch, operator: In, values: {arch}}}
        - {{key: node.kubernetes.io/instance-type, operator: In, values: [{types}]}}
"""
GRAVITON, AMD = "c6g.large, c6g.xlarge", "c6a.large, c6a.xlarge"
BLOCK = """\
resource "kubectl_manifest" "{name}" {{
  yaml_body = yamlencode({{
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = {{ name = "{name}" }}
    spec = {{
      template = {{ spec = {{
        nodeClassRef = {{ group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }}
        requirements = [
          {{ key = "kubernetes.io/arch", operator = "In", values = {arch} }},
          {{ key = "node.kubernetes.io/instance-type", operator = "In", values = {types} }},
        ]
      }} }}
      disruption = {{ consolidationPolicy = "WhenEmpty", consolidateAfter = "1m" }}
    }}
  }})
}}
"""
TYPES = {"graviton": '["c6g.large", "c6g.xlarge"]', "amd": '["c6a.large", "c6a.xlarge"]'}
SHARED = {
    "chart": {
        "Chart.yaml": "apiVersion: v2\nname: pools\nversion: 0.1.0\n",
        "values.yaml": "arch: [amd64, arm64]\n",
        "templates/graviton.yaml": POOL.format(name="graviton", arch="{{ .Values.arch | toJson }}", types=GRAVITON),
        "templates/amd.yaml": POOL.format(name="amd", arch="{{ .Values.arch | toJson }}", types=AMD),
    },
    "local": {
        "main.tf": 'locals {\n  arch = ["amd64", "arm64"]\n}\n'
        + "".join(BLOCK.format(name=name, arch="local.arch", types=types) for name, types in TYPES.items())
    },
    "default": {
        "main.tf": "".join(
            f'module "{name}" {{\n  source = "./m"\n  name = "{name}"\n  types = {types}\n}}\n'
            for name, types in TYPES.items()
        ),
        "m/main.tf": 'variable "name" { type = string }\nvariable "types" { type = list(string) }\n'
        'variable "arch" {\n  type = list(string)\n  default = ["amd64", "arm64"]\n}\n'
        + BLOCK.format(name="pool", arch="var.arch", types="var.types").replace('name = "pool"', "name = var.name"),
    },
}


@pytest.mark.parametrize("form", SHARED)
def test_a_value_that_another_object_reads_is_not_edited_where_that_breaks_it(
    form: str, nodelint: Run, tmp_path: Path
) -> None:
    write_files(tmp_path, SHARED[form])
    found = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    withheld = [finding["fixWithheld"] for finding in found if finding["rule"] == "unmatchable-value"]
    assert all(finding["fix"] is None for finding in found if finding["rule"] == "unmatchable-value")
    assert {finding["reason"] for finding in withheld} == {"shared"}
    messages = [finding["message"] for finding in withheld]
    assert all(any(f"NodePool `{name}` " in message for message in messages) for name in TYPES)
    assert "fix withheld: NodePool `" in nodelint("check", ".").stdout
    before = {path: (tmp_path / path).read_text() for path in SHARED[form]}
    nodelint("check", ".", "--unsafe-fixes")
    assert {path: (tmp_path / path).read_text() for path in SHARED[form]} == before


ANCHORED = (
    "apiVersion: v1\nkind: List\nitems:\n- "
    + POOL.format(name="graviton", arch="&both [amd64, arm64]", types=GRAVITON).replace("\n", "\n  ").rstrip()
    + "\n- "
    + POOL.format(name="amd", arch="*both", types=AMD).replace("\n", "\n  ").rstrip()
    + "\n"
)


def test_an_anchor_stays_what_it_is_for_the_others(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"pools.yaml": ANCHORED})
    nodelint("check", ".", "--unsafe-fixes")
    # The reader gets a list of its own first: then nobody else reads the anchor.
    wanted = ANCHORED.replace("*both", "[amd64]").replace("&both [amd64, arm64]", "&both [arm64]")
    assert (tmp_path / "pools.yaml").read_text() == wanted


def test_a_value_of_a_base_is_edited_in_no_overlay_that_it_breaks(nodelint: Run, tmp_path: Path) -> None:
    files = {
        "base/kustomization.yaml": "resources: [pool.yaml]\n",
        "base/pool.yaml": POOL.format(name="a", arch="[amd64, arm64]", types=GRAVITON),
    }
    op = "- op: replace\n  path: /spec/template/spec/requirements/1/values\n  value: [{}]\n"
    for name, types in (("one", GRAVITON), ("two", AMD)):
        files[f"{name}/kustomization.yaml"] = (
            "resources: [../base]\npatches:\n  - target: {kind: NodePool}\n    path: p.yaml\n"
        )
        files[f"{name}/p.yaml"] = op.format(types)
    write_files(tmp_path, files)
    nodelint("check", ".", "--unsafe-fixes")
    assert (tmp_path / "base/pool.yaml").read_text() == files["base/pool.yaml"]


def test_a_budget_that_would_stand_above_the_users_own_is_not_added(nodelint: Run, tmp_path: Path) -> None:
    text = POOL.format(name="a", arch="[amd64]", types="m5.large").replace(
        "consolidateAfter: 1m}", 'consolidateAfter: 1m, budgets: [{nodes: "20%", schedule: "@daily", duration: 1h}]}'
    )
    write_files(tmp_path, {"pool.yaml": text})
    rules = "budget-gap,budget-without-effect"
    (found,) = json.loads(nodelint("check", ".", "--select", rules, "--format", "json").stdout)["findings"]
    assert (found["rule"], found["fix"], found["fixWithheld"]["reason"]) == ("budget-gap", None, "new-finding")
    assert "budget-without-effect" in found["fixWithheld"]["message"]


CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: default
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@v20250807}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: a}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: a}}]
"""


@pytest.mark.parametrize(
    ("files", "flags", "rule"),
    [
        pytest.param(
            {"class.yaml": CLASS.replace("al2023@v20250807", "al2@latest")},
            ("--kubernetes-version", "1.33"),
            "unsupported-alias",
            id="al2 on 1.33",
        ),
    ],
)
def test_a_fix_that_replaces_nodes_is_not_safe(
    files: dict[str, str], flags: tuple[str, ...], rule: str, nodelint: Run, tmp_path: Path
) -> None:
    write_files(tmp_path, files)
    found = json.loads(nodelint("check", ".", *flags, "--format", "json").stdout)["findings"]
    (own,) = [finding for finding in found if finding["rule"] == rule]
    assert own["fix"]["safety"] == "unsafe"
    nodelint("check", ".", *flags, "--fix")
    assert {path: (tmp_path / path).read_text() for path in files} == files


REQUIREMENT = "node.kubernetes.io/instance-type, operator: In, values: [m5.large]"


@pytest.mark.parametrize(
    "requirement",
    [
        'karpenter.k8s.aws/instance-family, operator: In, values: ["c7i-flex", "*"]',
        'karpenter.k8s.aws/instance-family, operator: In, values: ["m5.*"]',
        "karpenter.sh/capacity-type, operator: In, values: [Spot]",
    ],
)
def test_what_launches_nothing_has_no_nodes_and_its_fix_is_safe(
    requirement: str, nodelint: Run, tmp_path: Path
) -> None:
    """`plan` says the same of what the fix does."""
    pool = POOL.format(name="a", arch="[amd64]", types="m5.large").replace(REQUIREMENT, requirement)
    write_files(tmp_path, {"old/pool.yaml": pool, "new/pool.yaml": pool})
    nodelint("check", "new", "--fix")
    assert (tmp_path / "new/pool.yaml").read_text() != pool
    assert "No node is replaced" in nodelint("plan", "--old", "old", "new").stdout


def test_a_fix_of_an_error_that_leaves_information_is_offered_with_what_follows(
    nodelint: Run, tmp_path: Path
) -> None:
    texts = [POOL.format(name=name, arch="[amd64]", types="m5.large") for name in ("a", "b")]
    star = texts[0].replace(REQUIREMENT, 'karpenter.k8s.aws/instance-family, operator: In, values: ["*"]')
    write_files(tmp_path, {"a.yaml": star, "b.yaml": texts[1]})
    (found,) = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    assert (found["severity"], found["fix"]["safety"]) == ("error", "unsafe")
    assert "once the fix is made, there is overlapping-pools" in found["help"]
    nodelint("check", ".", "--fix")
    assert (tmp_path / "a.yaml").read_text() == star
    nodelint("check", ".", "--fix", "--unsafe-fixes")
    (left,) = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    assert (left["severity"], left["rule"]) == ("info", "overlapping-pools")


@pytest.mark.parametrize("size", ["100Gi", "100"])
def test_a_dot_ends_the_name_of_a_family(size: str, nodelint: Run, tmp_path: Path) -> None:
    pool = POOL.format(name="a", arch="[amd64]", types="x").replace(
        "node.kubernetes.io/instance-type, operator: In, values: [x]",
        'karpenter.k8s.aws/instance-family, operator: In, values: ["m5.*"]',
    )
    node_class = CLASS + "  blockDeviceMappings: [{deviceName: /dev/xvda, ebs: {volumeSize: %s}}]\n"
    write_files(tmp_path, {"all.yaml": f"{pool}---\n{node_class % size}"})
    found = json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"]
    (own,) = [finding for finding in found if finding["rule"] == "wildcard-value"]
    assert own["fix"]["safety"] == "safe" and own["help"] is None
    nodelint("check", ".", "--fix")
    assert 'values: ["m5"]' in (tmp_path / "all.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("us-east1-a, us-east-1b", "us-east-1a, us-east-1b", "no node drifts"),
        ("us-east1-a, us-east-1b", "us-east-1b", "no node drifts"),
        ("us-east-1a, us-east-1b", "us-east-1b", "some nodes are replaced"),
    ],
)
def test_no_node_is_in_a_zone_that_is_none(old: str, new: str, verdict: str, nodelint: Run, tmp_path: Path) -> None:
    for side, zones in (("old", old), ("new", new)):
        pool = POOL.format(name="a", arch="[amd64]", types="x").replace(
            "node.kubernetes.io/instance-type, operator: In, values: [x]",
            f"topology.kubernetes.io/zone, operator: In, values: [{zones}]",
        )
        write_files(tmp_path / side, {"all.yaml": f"{pool}---\n{CLASS}"})
    assert verdict in nodelint("plan", "--old", "old", "new").stdout


def test_a_pool_whose_class_is_named_by_reference_keeps_the_labels_of_auto_mode(
    nodelint: Run, tmp_path: Path
) -> None:
    label = '{ key = "eks.amazonaws.com/instance-category", operator = "In", values = ["c", "m"] }'
    text = BLOCK.format(name="apps", arch='["amd64"]', types='["c6a.large"]').replace(
        '{ key = "node.kubernetes.io/instance-type", operator = "In", values = ["c6a.large"] }', label
    )
    text = text.replace('"karpenter.k8s.aws"', 'split("/", kubernetes_manifest.c.manifest.apiVersion)[0]').replace(
        '"EC2NodeClass"', "kubernetes_manifest.c.manifest.kind"
    )
    write_files(tmp_path, {"main.tf": text})
    assert json.loads(nodelint("check", ".", "--format", "json").stdout)["findings"] == []


HCL = """\
resource "kubernetes_manifest" "pool" {
  manifest = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "default" }
    spec = {
      template = {
        spec = {
          nodeClassRef = {
            group = "karpenter.k8s.aws"
            kind  = "EC2NodeClass"
            name  = "default"
          }
          requirements = []
        }
      }
      disruption = {
        consolidationPolicy = "WhenEmpty"
        consolidateAfter    = "1m"
        // every 30 days
        # (newest image)
        expireAfter = "720h" # a month
      }
    }
  }
}
"""


def test_comments_of_hcl_move_with_their_field(nodelint: Run, tmp_path: Path) -> None:
    write_files(tmp_path, {"main.tf": HCL})
    nodelint("check", ".", "--unsafe-fixes", "--select", "unknown-field")
    text = (tmp_path / "main.tf").read_text()
    moved = '          // every 30 days\n          # (newest image)\n          expireAfter  = "720h" # a month\n'
    assert moved in text and text.count("every 30 days") == 1 and "unknown-field" not in nodelint("check", ".").stdout


def test_rules_that_answer_each_other_write_nothing_and_say_so() -> None:
    source = Source.from_text("pool.yaml", POOL.format(name="a", arch="[amd64]", types="m5.large"))
    rules = [rule for name, rule in RULES.items() if name in ("unknown-label", "auto-mode-label")]

    def judge(sources: list[Source], request: LintRequest) -> Report:
        (now,) = sources
        words = ("amd64", "arm64") if "amd64" in now.text else ("arm64", "amd64")
        at = now.text.index(words[0])
        edit = Edit(now, at, at + 5, words[1])
        found = Finding(edit.span, f"{words[0]} is wrong", edits=[edit], safety="safe")
        report = lint([now], request)
        first = report.objects[0]
        return report._replace(results=(autofix.Result(rules[words[0] == "arm64"], found, first),))

    done = autofix.fix([source], LintRequest(target_of(EXAMPLES[0][1]), RULES), judge=judge)  # type: ignore[arg-type]
    assert done.sources[0].text == source.text and not done.applied
    assert {why for _, why in done.refused} == {
        "the fix of auto-mode-label takes it back",
        "the fix of unknown-label takes it back",
    }


EXAMPLES = [(name, example) for name, rule in RULES.items() for example in examples(rule.page) if not example.good]
SAMPLE = Random(7).sample(EXAMPLES, 40)


def each_alone(report: Report) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    for result in report.places:
        if result.fixable:
            yield result.rule.name, tuple(result.finding.edits)
        for suggestion in result.finding.suggestions:
            yield result.rule.name, tuple(suggestion.edits)


@pytest.mark.parametrize(("name", "example"), SAMPLE, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_offered_makes_no_finding(name: str, example: Example) -> None:
    inventory = read_example(example.text)
    request = LintRequest(target_of(example), RULES)
    prover = Prover(request, build_example, find_moved).begin(inventory)
    report = prover(inventory.files, lint(inventory.files, request, built=inventory.built))
    known = count_reported(report)
    for rule, edits in each_alone(report):
        groups = {id(edit.source): edit.source for edit in edits}
        new = [
            Source.from_text(s.path, autofix.apply(s.text, [e for e in edits if e.source is s]))
            if id(s) in groups
            else s
            for s in inventory.files
        ]
        now = count_reported(judge_example(new, request))
        names = {mark[1] for mark in known}
        more = {mark: count for mark, count in now.items() if count > known[mark] and mark[1] in names}
        assert not more, (rule, more)


@pytest.mark.parametrize(("name", "example"), SAMPLE[:20], ids=lambda value: value if isinstance(value, str) else "")
def test_plan_says_that_safe_fixes_replace_no_node(
    name: str, example: Example, nodelint: Run, tmp_path: Path
) -> None:
    inventory = read_example(example.text)
    request = LintRequest(target_of(example), RULES)
    prover = Prover(request, build_example, find_moved)
    done = autofix.fix(list(inventory.files), request, judge=judge_example, prove=prover)
    changed = Trials(
        inventory.files, request, inventory, lambda again, _: build_example(again), EditedTexts()
    ).compare(build_example(done.sources))
    assert bool(changed) <= bool(done.applied)
    was, now = Side(Inventory(inventory.sources)), Side(Inventory(build_example(done.sources).sources))
    target = request.target
    options = PlanOptions(target.karpenter, target.kubernetes, Schemas.bundled(), target.facts, target.facts)
    plan = make(was, now, options)
    for pool in plan.pools:
        refused = why_never_stored(pool.pair.old, options.release, options.schemas) if pool.pair.old else "new"
        assert pool.replaced == "none" or pool.never_stored or refused
    assert all(class_plan.never_stored for class_plan in plan.class_plans)


def test_a_finding_that_was_there_before_makes_no_fix_unsafe(nodelint: Run, tmp_path: Path) -> None:
    pool = """\
variable "families" { default = ["m7i", "m7g"] }
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "web" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "web" }
      requirements = [{ key = "karpenter.k8s.aws/instance-family", operator = "In", values = var.families }]
      expireAfter  = "720h"
    } } }
  })
}
resource "helm_release" "karpenter" {
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.8.1"
}
"""
    write_files(tmp_path, {"main.tf": pool, "prod.tfvars": 'families = ["m5.*", "c7i"]\n'})
    lines = nodelint("check", "--format", "concise", ".", cwd=tmp_path).stdout.splitlines()
    assert any("out-of-support" in line for line in lines)
    assert [line for line in lines if "wildcard-value" in line and line.endswith("[fix]")]


@pytest.mark.slow
def test_texts_of_former_trials_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten mistakes in each of four files are tried in ten rounds: the texts of one round are kept."""
    files, mistakes = 4, 10
    for number in range(files):
        families = (f"karpenter.k8s.aws/instance-family In [z{number}x{n}]" for n in range(mistakes))
        (tmp_path / f"{number}.yaml").write_text(make_pool(*families, name=f"p{number}"), encoding="utf-8")
    text_counts: list[int] = []
    read = broken_fixes.EditedTexts.read

    def count_kept(texts: broken_fixes.EditedTexts, *given: Any) -> Source:
        source = read(texts, *given)
        text_counts.append(len(texts.list_keys()))
        return source

    monkeypatch.setattr(broken_fixes.EditedTexts, "read", count_kept)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(cli, ["check", "--format", "json", "."], catch_exceptions=False)
    assert len(text_counts) > files * 6, "there are rounds"
    assert max(text_counts) <= files * 3


def test_only_suggestions_that_are_shown_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text shows the suggestion of the first place of a cause, and JSON those of all places."""
    for n in range(3):
        cpus = f"key: karpenter.k8s.aws/instance-cpu, operator: In, values: ['{4 + 4 * n}']"
        pool = nodepool(cpus, "key: karpenter.k8s.aws/instance-family, operator: In, values: [zz]", name=f"p{n}")
        (tmp_path / f"{n}.yaml").write_text(pool, encoding="utf-8")
    tried: list[int] = []
    real = Trials.run

    def run(trials: Trials, edits: Sequence[Edit], others_only: bool = False) -> Tried:
        tried.append(len(edits))
        return real(trials, edits, others_only)

    monkeypatch.setattr(Trials, "run", run)
    monkeypatch.chdir(tmp_path)
    counts = {}
    for form in ("text", "concise", "json"):
        tried.clear()
        words = ["check", "--select", "unknown-value", "--format", form, "."]
        shown = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert ("remove the requirement" in shown.output) == (form != "concise")
        counts[form] = sum(tried)
    assert counts == {"text": counts["text"], "concise": 0, "json": 3 * counts["text"]}
    assert counts["text"] > 0
