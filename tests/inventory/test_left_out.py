"""A limit that leaves inputs out is a gap: said with its place, counted as not judged, and no verdict hides it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.code import nodes, syntax_tree
from tests.conftest import ROOT
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: "NAME"}
spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: web}, \
requirements: [{key: kubernetes.io/arch, operator: In, values: ["ARCH"]}]}}}
"""


def _pool(name: str, arch: str) -> str:
    return POOL.replace("NAME", name).replace("ARCH", arch)


def _resource(head: str, name: str, arch: str) -> str:
    return f'resource "kubectl_manifest" "p" {{\n{head}  yaml_body = <<EOF\n{_pool(name, arch)}EOF\n}}\n'


MODULE = 'variable "n" {}\nvariable "a" {}\n' + _resource("", "${var.n}", "${var.a}")
CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "c/values.yaml": "a: amd64\nb: 1\n",
    "c/templates/p.yaml": _pool("p", "{{ .Values.a }}"),
}
ARGO = "apiVersion: argoproj.io/v1alpha1\nmetadata: {name: a}\n"


def _repeat_text(arches: list[str], text: str) -> str:
    return "".join(text.replace("N", str(n)).replace("ARCH", arch) for n, arch in enumerate(arches))


def _files(arches: list[str], path: str, text: str) -> dict[str, str]:
    return {
        path.replace("N", f"{n:03}"): _repeat_text([arch], text.replace("N", str(n))) for n, arch in enumerate(arches)
    }


_CALL = 'module "mN" {\n  source = "SOURCE"\n  n = "pN"\n  a = "ARCH"\n}\n'
_APPLICATION = ARGO + (
    "kind: Application\nspec:\n  source:\n    repoURL: https://example.com/y\n    path: c\n"
    "    helm: {values: 'VALUES'}\n"
)
FORMS: dict[str, tuple[str, Callable[[list[str]], dict[str, str]]]] = {
    "callers": (
        "forms.terraform.values:_MOST_CALLS",
        lambda a: {
            "modules/m/main.tf": MODULE,
            **_files(a, "envs/eN/main.tf", _CALL.replace("SOURCE", "../../modules/m")),
        },
    ),
    "calls in one file": (
        "forms.terraform.values:_MOST_CALLS",
        lambda a: {"m/main.tf": MODULE, "main.tf": _repeat_text(a, _CALL.replace("SOURCE", "./m"))},
    ),
    "calls of a template": (
        "forms.terraform.values:_MOST_CALLS",
        lambda a: {
            "p.yaml.tftpl": _pool("${n}", "${a}"),
            "main.tf": _repeat_text(
                a,
                'resource "kubectl_manifest" "pN" {\n  yaml_body = templatefile("${path.module}/p.yaml.tftpl", '
                '{ n = "pN", a = "ARCH" })\n}\n',
            ),
        },
    ),
    "tfvars": (
        "forms.terraform.variables:_MOST_FILES",
        lambda a: {"main.tf": MODULE, **_files(a, "env/eN.tfvars", 'n = "pN"\na = "ARCH"\n')},
    ),
    "count": (
        "forms.terraform.block_instances:MOST_INSTANCES",
        lambda a: {
            "main.tf": _resource(f"  count = {len(a)}\n", "p${count.index}", f"${{{json.dumps(a)}[count.index]}}")
        },
    ),
    "for_each": (
        "forms.terraform.block_instances:MOST_INSTANCES",
        lambda a: {
            "main.tf": _resource(
                f'  for_each = {{ for i, a in {json.dumps(a)} : "p${{i}}" => a }}\n', "${each.key}", "${each.value}"
            )
        },
    ),
    "Terragrunt": (
        "forms.terraform.terragrunt:_MOST_CALLS",
        lambda a: {
            "modules/m/main.tf": MODULE,
            **_files(
                a,
                "live/eN/terragrunt.hcl",
                'terraform {\n  source = "../../modules/m"\n}\ninputs = {\n  n = "pN"\n  a = "ARCH"\n}\n',
            ),
        },
    ),
    "values files": (
        "forms.helm.values_files:MOST",
        lambda a: {**CHART, **_files(a, "c/values-N.yaml", "a: ARCH\nb: N\n")},
    ),
    "values elsewhere": (
        "forms.helm.values_files:MOST",
        lambda a: {**CHART, **_files(a, "environments/eN/k.yaml", "a: ARCH\nb: N\n")},
    ),
    "Applications": (
        "forms.helm.chart_values:MOST_RELEASES",
        lambda a: {**CHART, **_files(a, "apps/eN.yaml", _APPLICATION.replace("VALUES", "{a: ARCH, b: N}"))},
    ),
    "helmfile": (
        "forms.helm.chart_values:MOST_RELEASES",
        lambda a: {
            **CHART,
            "helmfile.yaml": "releases:\n" + _repeat_text(a, "- {name: rN, chart: ./c, values: [{a: ARCH, b: N}]}\n"),
        },
    ),
    "ApplicationSet": (
        "forms.argocd.application_sets:MOST_APPLICATIONS",
        lambda a: {
            **CHART,
            "apps.yaml": ARGO
            + "kind: ApplicationSet\nspec:\n  generators:\n  - list:\n      elements:\n"
            + _repeat_text(a, "      - {name: eN, arch: ARCH}\n")
            + "  template:\n    spec:\n      source:\n        repoURL: https://example.com/y\n        path: c\n"
            + '        helm: {parameters: [{name: a, value: "{{arch}}"}]}\n',
        },
    ),
    "helm_release": (
        "forms.terraform.chart_releases:MOST_RELEASES",
        lambda a: {
            **CHART,
            "main.tf": _repeat_text(
                a,
                'resource "helm_release" "rN" {\n  name = "rN"\n  chart = "${path.module}/c"\n'
                '  values = [yamlencode({ a = "ARCH", b = N })]\n}\n',
            ),
        },
    ),
}
"""For each form the limit, and the files in which each of some values stands once."""


def _write(folder: Path, form: str, arches: list[str]) -> None:
    write_files(folder, FORMS[form][1](arches))
    (folder / ".git").mkdir()


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_value_among_many_is_found(nodelint: Run, tmp_path: Path, form: str) -> None:
    _write(tmp_path / "new", form, [*["amd64"] * 58, "x86", "amd64"])
    report = json.loads(nodelint("check", "--format", "json", cwd=tmp_path / "new").stdout)
    assert any("`x86`" in finding["message"] for finding in report["findings"])
    assert report["coverage"]["notJudged"] == []


@pytest.mark.parametrize("form", FORMS)
def test_what_is_behind_a_limit_is_said(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    module, name = FORMS[form][0].split(":")
    monkeypatch.setattr(import_module(f"nodelint.{module}"), name, 3)
    _write(tmp_path / "old", form, ["amd64"] * 6)
    _write(tmp_path / "new", form, [*["amd64"] * 4, "x86", "amd64"])
    report = json.loads(nodelint("check", "--format", "json", cwd=tmp_path / "new").stdout)
    gaps = report["coverage"]["notJudged"]
    assert gaps and all(
        re.search(r"3 of 6 .* are not judged: 3 are the most|more than 3 ", g["reason"]) for g in gaps
    )
    done = nodelint("check", "--fail-on-unjudged", cwd=tmp_path / "new")
    assert done.returncode == 1 and "not everything was judged" in done.stderr
    assert "All good" not in done.stdout and gaps[0]["reason"] in done.stdout
    planned = nodelint("plan", "--old", "old", "new")
    assert planned.returncode == 1
    assert "No node is replaced" not in planned.stdout and gaps[0]["reason"][:40] in planned.stdout
    same = nodelint("plan", "--old", "new", "new")
    assert same.returncode == 0 and "none of which changed" in same.stdout


GAP, ERROR, UNKNOWN, SIZE = "gap", "error", "unknown", "size"
SHOWN, FACT, GUESS, KEPT, REST = "shown", "fact", "guess", "kept", "rest"
LIMITS = {
    # what is behind it is noted as a gap, by its module or by whoever reads the constant
    GAP: """
        forms/argocd/application_sets.py:MOST_APPLICATIONS forms/lib/chart_values.py:MOST_RELEASES
        forms/argocd/git_generators.py:_MOST_FOLDERS forms/helm/including_templates.py:_MOST_FILES
        forms/helm/kindless_templates.py:_MOST_FILES forms/lib/variable_inputs.py:_MOST_FOLDERS
        forms/kustomize/build.py:_MOST_FOLDERS forms/kustomize/applied_folder.py:_MOST_FILES
        forms/helm/unread_inputs.py:_MOST_FILES
        forms/terraform/unread_inputs.py:_MOST_FILES forms/helm/values_files.py:MOST
        forms/helm/charts.py:_MOST_FILES forms/helm/charts.py:_MOST_VALUES
        forms/terraform/terragrunt.py:_MOST_FOLDERS forms/terraform/terragrunt.py:_MOST_CALLS
        forms/terraform/terragrunt.py:_DEEPEST forms/lib/file_patterns.py:_MOST_ENTRIES
        forms/lib/file_patterns.py:_MOST_CHOICES forms/terraform/block_instances.py:MOST_INSTANCES
        forms/terraform/modules.py:_MOST_FILES forms/terraform/modules.py:_MOST_FOLDERS
        forms/terraform/values.py:_MOST_CALLS forms/terraform/values.py:_DEEPEST
        forms/terraform/variables.py:_MOST_FILES forms/terraform/variables.py:_MOST_ENTRIES
    """,
    # an error or a remark of its own says so: `larger than`, `nested more than`, `not built`, `skipped`
    ERROR: """
        apiserver/cel/__init__.py:_MOST_GROWTH apiserver/cel/__init__.py:_MOST_JOINS
        apiserver/cel/subset.py:_DEEPEST apiserver/cel/subset.py:_MOST_LINKS apiserver/cel/text.py:_MOST_TRIES
        text/yaml/held_yaml.py:_DEEPEST
        commands/_dumps.py:_LARGEST mcp/server.py:MOST forms/terraform/rendered.py:_MOST_READ_ANEW
        apiserver/crds.py:_MOST_FILES apiserver/crds.py:_MOST_SCHEMAS
        forms/kustomize/files.py:_LARGEST forms/kustomize/files.py:MOST_FILES forms/kustomize/overlay.py:_DEEPEST
        forms/kustomize/replacements.py:_DEEPEST forms/kustomize/resources.py:_DEEPEST_PATTERN
        inventory/unread_inputs.py:_LARGEST plan/unread_files.py:_LARGEST
        inventory/unread_forms.py:_MOST_HIDDEN config/file.py:_LARGEST lint/judging.py:MAX_FINDINGS
        lint/template_branches.py:_MOST lint/template_branches.py:_MOST_PARTS model/validity.py:_LARGEST
        model/validity.py:_MOST files/contents.py:_LARGEST files/safe_read.py:LARGEST
        text/source.py:LARGEST_DOCUMENT text/yaml/aliases.py:MOST_COPIES text/yaml/compose.py:DEEPEST
        text/yaml/lenient_yaml.py:_MOST_REPAIRS text/yaml/yaml_stream.py:LONGEST
        text/yaml/yaml_stream.py:_LONGEST_DOCUMENT triage/__init__.py:_MOST_WHOLE triage/__init__.py:_MOST_TEXT
        triage/groups.py:_MOST_NAMES triage/groups.py:_MOST_SHAPES triage/groups.py:_MOST_STREAMS
        triage/launches.py:_MOST triage/logs.py:_MOST_PIECES triage/logs.py:_MOST_STREAMS
        triage/logs.py:_MOST_HELD triage/exported_lines.py:_MOST_BROKEN triage/streams.py:LONGEST_LINE
        triage/kubectl_text.py:_MOST_BARE upgrade/findings.py:_MOST_TRIED
        forms/kustomize/json6902.py:_DEEPEST forms/kustomize/run.py:_MOST_STEPS forms/lib/values.py:_LARGEST
        forms/terraform/nodes.py:_DEEPEST forms/helm/deploy_tools.py:_DEEPEST
        base/budget.py:MOST_STEPS base/budget.py:MOST_BYTES
        edits/__init__.py:_MOST_AT_ONCE lint/trial_budget.py:_MOST_ALONE lint/trial_budget.py:_MOST_BUILT
        lint/fix_offers.py:_MOST_APART lint/fixes_together.py:_MOST lint/fixes_together.py:_MOST_ALIKE
        lint/trial_budget.py:_LARGEST_BUILT
        lint/trial_budget.py:_MOST_STEPS lint/trial_budget.py:_MOST_JUDGED plan/gone_appliers.py:_MOST_NAMED
        forms/kustomize/resources.py:_MOST_TRIES karpenter/userdata/reading.py:LONGEST
        forms/argocd/application_sets.py:_MOST_STEPS
        report/summary.py:MOST_FIXES files/standard_input.py:_LARGEST files/related.py:_MOST_OUTSIDE
    """,
    # a value is not known, and is shown as one that is not
    UNKNOWN: """
        why/multi_node.py:_MOST_PODS forms/terraform/tagging.py:_MOST
        fit/cost.py:MOST_PODS why/placing.py:MOST_WAITING
        forms/lib/chart_values.py:_DEEPEST forms/terraform/statements.py:_DEEPEST
        text/embedded_text.py:_LONGEST_EXPANSION text/goregex.py:_LONGEST text/goregex.py:_MOST_REPEATS
        forms/lib/gotemplate/syntax.py:_DEEPEST forms/lib/gotemplate/syntax.py:_MOST_PIPES
        forms/lib/gotemplate/syntax.py:_MOST_UNCLOSED forms/lib/gotemplate/sprig_collections.py:_MOST_ITEMS
        forms/lib/gotemplate/sprig_texts.py:_MOST
        forms/lib/gotemplate/evaluate.py:_MOST
        forms/lib/gotemplate/evaluate.py:_DEEPEST forms/terraform/hcl.py:DEEPEST
        forms/terraform/hclexpr.py:DEEPEST
        forms/terraform/evaluate.py:_DEEPEST
        forms/terraform/functions/table.py:_MOST_ROWS forms/terraform/template.py:_DEEPEST
        text/source.py:_MOST_TEXTS
        forms/lib/gotemplate/sprig_values.py:DEEPEST
        forms/lib/script_variables.py:_MOST_VALUES forms/lib/script_variables.py:_DEEPEST
    """,
    # a larger file is passed over by what looks for more about objects; that it exists is not said
    SIZE: """
        inventory/__init__.py:_LARGEST forms/helm/filled_charts.py:_LARGEST forms/flux/kustomizations.py:_LARGEST
        forms/helm/command_releases.py:_LARGEST forms/helm/value_readers.py:_LARGEST plan/edited_manifests.py:_LARGEST
        forms/helm/including_templates.py:_LARGEST forms/helm/kindless_templates.py:_LARGEST
        forms/helm/values_of_workloads.py:_LARGEST
        forms/kustomize/overlays.py:_LARGEST
        commands/_detect_setup.py:_LARGEST inventory/unread_forms.py:_LARGEST
        forms/terraform/statements.py:_LARGEST files/git_index.py:_LARGEST files/gitignore.py:_LARGEST
        forms/helm/charts.py:_LARGEST forms/terraform/modules.py:_LARGEST
        forms/terraform/named_files.py:_LARGEST
        forms/lib/unread_inputs.py:_LARGEST forms/interface.py:_LARGEST forms/kustomize/unread_inputs.py:_LARGEST
    forms/terraform/unread_inputs.py:_LARGEST forms/lib/variable_inputs.py:_LARGEST plan/changed_gaps.py:_LARGEST
        model/kubectl_errors.py:_LONGEST_STATUS forms/helm/named_files.py:_LARGEST files/discover.py:_LARGEST
        forms/terraform/controller_releases.py:_LARGEST model/iam_statements.py:_LARGEST
        files/git/old_revision.py:_LARGEST plan/releases.py:_LARGEST releases/siblings.py:_LARGEST
        files/related.py:_LARGEST forms/lib/missing_sources.py:_LARGEST forms/helm/program_releases.py:_LARGEST
        plan/changed_archives.py:_LARGEST
        plan/changed_programs.py:_LARGEST plan/changed_hidden.py:_LARGEST plan/imported_files.py:_LARGEST
    """,
    # a report shows fewer than there are, and counts the rest
    SHOWN: """
        report/cost.py:_MOST_WORKLOADS report/migrate.py:_MOST_FAMILIES report/migrate.py:_MOST_PLACES
        report/plan_cost.py:_MOST_POOLS
        report/pools_html.py:_MOST_IN_MATRIX report/pools_html.py:_MOST_MATRICES report/pools_html.py:_MOST_TYPES
        report/pools_html.py:_MOST_WORKLOADS
        report/why_html.py:_MOST_NODES report/why_markdown.py:_MOST_NODES report/why_text.py:_MOST_NODES
        migrate/__init__.py:_MOST_LEFT migrate/steps.py:_LONGEST
        forms/lib/gotemplate/mistakes.py:_SHOWN
        report/html.py:_PLACES mcp/server.py:_MOST_NOTES commands/_values.py:_SHOWN model/finding.py:_LONGEST_CODE
        apiserver/scalars.py:MOST_OFFERED forms/lib/chart_places.py:_LONGEST
        commands/_refused.py:_MOST rule/remedies.py:MOST_OFFERED rule/remedies.py:MOST_TRIED
        rule/remedies.py:MOST_COMPARED lsp/completion.py:_MOST lsp/diagnostics.py:MOST lsp/hover.py:_SHOWN
        commands/_gaps.py:_MOST_PLACES rule/pool_suggestions.py:MOST_VALUES lsp/hcl_outline.py:_LONGEST
        lsp/protocol.py:_MOST lsp/summary.py:_MOST lsp/titles.py:_NAMED model/messages.py:LONGEST_MESSAGE
        plan/values.py:LONGEST report/coverage.py:_MOST_LINES report/coverage.py:_MOST_FIELDS
        report/coverage.py:_MOST_LETTERS report/explain.py:_MOST_LINES
        report/fix_preview.py:LINES report/fix_preview.py:FILES report/github.py:_SHOWN
        report/json_text.py:_MOST_ROWS report/markdown.py:MOST report/markdown.py:_LINES
        report/markdown.py:_LONGEST_NOTE report/markdown.py:_FILES report/markdown.py:_LINES_OF_FILE
        report/plan_text.py:_PLACES report/sarif.py:_LONGEST report/skipped.py:_MOST report/snapshot.py:_SHOWN
        report/text.py:_PLACES report/text.py:_PARTS report/upgrade.py:_PLACES triage/groups.py:_MOST_EXAMPLE
        apiserver/rules.py:_LONGEST lint/older_release.py:_MOST
        lint/fix_effects.py:_MOST_EFFECTS plan/values.py:MOST_ENTRIES model/evidence.py:_LONGEST_TEXT
        fit/lacking.py:_LONGEST_BRIEF plan/gone_appliers.py:_LONGEST_SHOWN report/html.py:_MOST_NAMES
        report/fit.py:_NAMED report/decisions.py:_MOST report/triage.py:_MOST_NODES triage/disruptions.py:MOST
    """,
    # what is behind it counts as one input of a value that is not known: a change anywhere in it is one of the value
    REST: """
        forms/terraform/inputs.py:_MOST forms/terraform/inputs.py:_MOST_NAMED forms/lib/unread_inputs.py:_MOST_NAMED
        forms/lib/variable_inputs.py:_MOST_FILES
        forms/helm/program_releases.py:_LONGEST forms/helm/program_releases.py:_MOST_NAMES
    """,
    # a fact of AWS, Kubernetes, Go or YAML, and no limit of nodelint's
    FACT: """
        apiserver/cel/subset.py:_MOST_DIGITS why/multi_node.py:_MOST_CANDIDATES
        apiserver/cel/values.py:LARGEST forms/kustomize/values.py:_LARGEST_PLAIN drift/go_values.py:_LONGEST
        karpenter/controller/expressions.py:_MOST_PODS karpenter/controller/launching.py:_LONGEST_ROLE
        karpenter/controller/launching.py:_LONGEST_PROFILE karpenter/controller/syntax.py:LONGEST
        karpenter/resolve/node_size.py:_ENOUGH model/requirement.py:MAX_INT text/yaml/scalars.py:LARGEST_INTEGER
    """,
    # where something is looked for, or what counts as one cluster: no input that is named is left out
    GUESS: """
        forms/lib/missing_sources.py:_MOST_FILES
        lsp/reached_fields.py:_MOST forms/kustomize/kustomizations.py:_MOST_WALKED
        forms/terraform/module_folder.py:_MOST_REPEATED forms/terraform/helm_provider.py:_MOST_FOLDERS
        forms/terraform/karpenter_roots.py:_MOST_FOLDERS
        forms/terraform/module_instances.py:_MOST forms/terraform/module_instances.py:_DEEPEST
        forms/helm/subchart_releases.py:_DEEPEST forms/lib/chart_dependencies.py:_MOST_AROUND
        forms/terraform/addresses.py:_MOST forms/terraform/addresses.py:_DEEPEST plan/recreated_objects.py:_MOST_MOVES
        inventory/switched_off.py:_LEVELS
        forms/terraform/missing_sources.py:_DEEPEST forms/terraform/missing_sources.py:_MOST_MODULES
        plan/changed_programs.py:_MOST_FILES plan/changed_hidden.py:_MOST_FILES plan/imported_files.py:_MOST_FILES
        plan/imported_files.py:_MOST_DATA plan/changed_places.py:_MOST plan/changed_archives.py:_MOST_UNPACKED
        plan/changed_inputs.py:_MOST_OF_MODULES
        forms/flux/kustomizations.py:_MOST_LEVELS edits/__init__.py:_MOST_REMOVED edits/restructuring.py:_MOST_STEPS
        rule/clusters.py:_MOST rule/clusters.py:_MOST_VERSIONS lint/older_release.py:_LONGEST
        lsp/around.py:_MOST_OVERLAYS model/evidence.py:_FURTHER
        forms/kustomize/kustomizations.py:_HIGHEST forms/kustomize/kustomizations.py:_MOST_FOLDERS
        forms/terraform/modules.py:_LEVELS forms/terraform/modules.py:_LEVELS_BELOW
        forms/terraform/terraform_trace.py:_LEVELS_ABOVE
        forms/terraform/variables.py:_DEEPEST forms/flux/charts.py:_MOST_BESIDE
        forms/terraform/named_files.py:_DEEPEST forms/terraform/named_files.py:_MOST
        forms/helm/named_files.py:_DEEPEST forms/helm/named_files.py:_MOST_FOLDERS
        forms/kustomize/kustomizations.py:_DEEPEST files/discover.py:_HIGHEST
        files/related.py:_MOST_BASES
        commands/_values.py:_MOST_CHARACTERS
        fit/several_changes.py:_MOST_CHANGES
        releases/siblings.py:_MOST_FILES
    """,
    # how much is kept, or judged at once: what is beyond is worked out anew
    KEPT: """
        ec2/api_names.py:_LONGEST
        files/kept_contents.py:_MOST files/kept_contents.py:_LARGEST lint/broken_fixes.py:_MOST_DROPPED
        forms/terraform/values.py:_MOST_PARTS forms/terraform/values.py:_MOST_COMPARED
        forms/terraform/rendered.py:_MOST_KEPT why/kubectl_yaml.py:_DEEPEST
        apiserver/schema_node.py:LONGEST_KEPT apiserver/schema_node.py:_LONGEST_TEXT
        apiserver/schema_node.py:_MOST_KEPT karpenter/resolve/node_size.py:_MOST_SHARED lint/incremental.py:_FEW
        lint/judging.py:_FEW lint/workers.py:_FIRST lint/workers.py:_MOST lsp/server.py:_LONGEST_QUIET
        model/manifest.py:_MOST_KNOWN base/kept.py:_MOST plan/same_workloads.py:_MOST_FILES
        karpenter/resolve/allocatable.py:_MOST_SHARED lint/fix_trials.py:_FEW_POOLS files/related.py:_FEW
    """,
}
"""Every limit of the code, by how it says what it leaves out."""

_WORDS = (
    "MOST|LARGEST|LONGEST|DEEPEST|LIMIT|MAX|HIGHEST|FURTHER|ENOUGH|LEVELS"
    "|FIRST|FEW|SHOWN|NAMED|PLACES|PARTS|LINES|FILES"
)
_ENDS = {
    "apiserver/rules.py:_BRANCHES",
    "files/contents.py:_REPORT_START",
    "lint/fingerprints.py:_QUOTES",
    "model/quantities.py:_DIGITS",
    "report/explain.py:_PASSED",
    "report/markdown.py:_REASONS",
    "report/markdown.py:_WIDTH",
    "report/plan_markdown.py:_CAUSES",
    "text/yaml/yaml_stream.py:_OVERLAP",
    "triage/kubectl_objects.py:MOST",
}
"""What else a slice ends at: places in a text, and names that a line shows before it counts the rest."""


def _constants(path: Path) -> Iterator[str]:
    for statement in syntax_tree(path).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in targets:
            named = isinstance(target, ast.Name) and re.fullmatch(rf"_?(?:{_WORDS})(?:_[A-Z]+)*", target.id)
            if named and _is_number(getattr(statement, "value", None)):
                yield target.id


def _is_number(value: ast.expr | None) -> bool:
    parts = list(ast.walk(value)) if value is not None else []
    return bool(parts) and all(
        isinstance(part, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        or (isinstance(part, ast.Constant) and type(part.value) in (int, float))
        for part in parts
    )


def _slices(path: Path) -> Iterator[str]:
    for node in nodes(path):
        end = node.upper if isinstance(node, ast.Slice) and node.lower is None else None
        if isinstance(end, ast.Name) and end.id.isupper():
            yield end.id


@pytest.mark.slow
def test_every_limit_says_what_it_leaves_out() -> None:
    listed = {how: set(names.split()) for how, names in LIMITS.items()}
    every = set().union(*listed.values())
    assert sum(map(len, listed.values())) == len(every)
    paths = sorted((ROOT / "nodelint").rglob("*.py"))
    package = ROOT / "nodelint"
    found = {f"{p.relative_to(package).as_posix()}:{name}" for p in paths for name in _constants(p)}
    assert found == every, "a limit is listed with how it says what it leaves out"
    ends = {f"{p.relative_to(package).as_posix()}:{name}" for p in paths for name in _slices(p)}
    assert ends - every == _ENDS
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    for name in listed[GAP]:  # noted by its own module, or by one that takes the constant from there
        home, constant = name.split(":")
        users = [package / home, *(path for path, text in texts.items() if f"import {constant}" in text)]
        users += [path for path, text in texts.items() if re.search(rf"(?m)^    {constant},$", text)]
        assert any(re.search(r"\bnote_(?:more|limit|left_out)\(", texts[path]) for path in users), name


@pytest.mark.parametrize("changes", [True, False])
def test_a_file_behind_the_limit_of_inputs_may_change_an_unknown_value(
    nodelint: Run, tmp_path: Path, changes: bool
) -> None:
    read = 'amiSelectorTerms: [{id: "${yamldecode(file("${path.module}/a/${var.env}.yaml")).ami}"}]\n'
    head = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: web}\nspec:\n  role: r\n"
    block = f'resource "kubectl_manifest" "c" {{\n  yaml_body = <<EOF\n{head}  {read}EOF\n}}\n'
    for side in ("old", "new"):
        files = {f"a/{n:03}.yaml": "ami: ami-1\n" for n in range(60)} | {"c.tf": 'variable "env" {}\n' + block}
        if side == "new" and changes:
            files["a/058.yaml"] = "ami: ami-2\n"
        write_files(tmp_path / side, files)
    done = nodelint("plan", "--old", "old", "new", "--fail-on", "drift")
    assert done.returncode == changes
    assert ("may change with `one of many files`" in " ".join(done.stdout.split())) == changes
