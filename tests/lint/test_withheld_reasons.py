"""A fix that is not offered says why: in the text, in JSON and in the editor; a tree for each reason."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from nodelint.config import settings
from nodelint.lsp.actions import actions
from nodelint.model.finding import _WITHHELD_TEXTS
from tests.inventory.test_gaps_everywhere import NUMBERS, open_texts, open_views
from tests.manifests import nodepool
from tests.repositories import write_files

Run = Callable[..., subprocess.CompletedProcess[str]]


def pool(weight: str, name: str = "general") -> str:
    return nodepool(name=name).replace("spec:\n", f"spec:\n  weight: {weight}\n", 1)


def capacity(value: str) -> str:
    """A pool of a capacity type, which a rule puts right where it is misspelt."""
    return nodepool(f"key: karpenter.sh/capacity-type, operator: In, values: [{value}]")


CHART = "apiVersion: v2\nname: a\nversion: 1.0.0\n"
HEREDOC = 'resource "kubectl_manifest" "pool" {{\n  yaml_body = <<-YAML\n{}  YAML\n}}\n'
FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: pools}
spec:
  path: ./pools
  postBuild:
    substitute: {a: spot}
  sourceRef: {kind: GitRepository, name: a}
"""
REPLACEMENT = """resources: [pool.yaml, config.yaml]
replacements:
- source: {kind: ConfigMap, name: a, fieldPath: data.a}
  targets: [{select: {kind: NodePool}, fieldPaths: [spec.template.spec.requirements.0.values.0]}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: spott} # karpenter\n"
MISSPELT = "key: karpenter.sh/capacity-type, operator: In, values: *v"

SHORT_BUDGET = "".join(
    f"---\n{nodepool(name=f'a{number}')}  disruption:\n    consolidateAfter: {number + 1}m\n"
    '    budgets: [{nodes: "20%", schedule: "@daily", duration: 1h}]\n'
    for number in range(26)
)

TREES: dict[str, tuple[dict[str, str], str, str]] = {
    "an expression of Terraform": (
        {
            "main.tf": 'variable "a" {\n  default = "SPOTT"\n}\n'
            + HEREDOC.format(indent(capacity("${lower(var.a)}"), "    ")),
        },
        "computed",
        "main.tf",
    ),
    "an expression of a template": (
        {
            "chart/Chart.yaml": CHART,
            "chart/values.yaml": "a: SPOTT\n",
            "chart/templates/pool.yaml": capacity("{{ lower .Values.a }}"),
        },
        "computed",
        "chart/templates/pool.yaml",
    ),
    "a part of a value that Flux fills in": (
        {
            "pools/pool.yaml": capacity("${a}t"),
            "pools/kustomization.yaml": "resources: [pool.yaml]\n",
            "clusters/pools.yaml": FLUX,
        },
        "computed",
        "pools/pool.yaml",
    ),
    "a value that another object is made of": (
        {
            "chart/Chart.yaml": CHART,
            "chart/values.yaml": "a: spott\n",
            "chart/templates/pools.yaml": f"{capacity('{{ .Values.a }}')}---\n"
            + pool("{{ len .Values.a }}", "other"),
        },
        "other-result",
        "chart/values.yaml",
    ),
    "a value that kustomize copies": (
        {"kustomization.yaml": REPLACEMENT, "pool.yaml": capacity("spot"), "config.yaml": CONFIG},
        "not-written-as-such",
        "config.yaml",
    ),
    "more fixes than are tried": ({"pools.yaml": SHORT_BUDGET}, "not-tried", "pools.yaml"),
    "an alias": (
        {"pool.yaml": nodepool(MISSPELT).replace("metadata:", "metadata:\n  finalizers: &v [spott]", 1)},
        "not-editable",
        "pool.yaml",
    ),
}


OWN_RULE = '''"""A pool of much weight takes the pods of all others."""

from nodelint.api import Context, Finding, Findings, NodePool, edits, rule


@rule(on=NodePool, group="correctness", fix="safe")
def check(pool: NodePool, context: Context) -> Findings:
    node = pool.node.find("spec", "weight")
    if node is not None and pool.weight > 20:
        yield Finding(node, "the weight is too large", edits=EDITS)
'''
BY_OWN_RULES = {
    "two edits of one value": ("[*edits.set_value(node, 1), *edits.set_value(node, 2)]", "two-edits-overlap"),
    "a fix that changes too little": ("edits.set_value(node, pool.weight - 1)", "finding-stays"),
}
"""Of a rule of one's own, what it takes for its fix, and why that is none."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TREES, *BY_OWN_RULES])
def test_why_a_fix_is_not_offered_is_said_everywhere(
    nodelint: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    flags: tuple[str, ...] = ()
    home = tmp_path / "repository"
    if name in TREES:
        files, reason, path = TREES[name]
    else:
        fix, reason = BY_OWN_RULES[name]
        files, path, flags = {"pool.yaml": pool("50")}, "pool.yaml", ("--rules", str(tmp_path / "team"))
        write_files(tmp_path / "team", {"heavy-pool.py": OWN_RULE.replace("EDITS", fix)})
        load = settings.load
        # An editor runs no rule because a repository says so: its user's own configuration names them.
        monkeypatch.setattr(
            settings, "load", lambda file, over, _=False: load(file, {"rules": [flags[1]], **over}, True)
        )
    write_files(home, files)
    found = json.loads(nodelint("check", ".", *flags, "--format", "json", cwd=home).stdout)["findings"]
    withheld = [finding["fixWithheld"] for finding in found if finding["fixWithheld"] is not None]
    assert reason in {why["reason"] for why in withheld} <= {reason, "new-finding"}
    assert all((home / why["place"]["path"]).is_file() for why in withheld if why["place"] is not None)
    [message] = {why["message"] for why in withheld if why["reason"] == reason}
    assert f"fix withheld: {message}" in " ".join(nodelint("check", ".", *flags, cwd=home).stdout.split())
    if reason in BY_TRIAL:  # an editor tries a fix when somebody asks for it
        assert message in "\n".join(_list_disabled(home, path))
    else:
        shown = open_texts(home, next(NUMBERS))
        assert any(f"fix withheld: {message}" in text for text in shown[path]), shown


BY_TRIAL = ("finding-stays", "not-tried")


def _list_disabled(home: Path, path: str) -> list[str]:
    """The reasons why fixes of an open text are not offered."""
    view, buffer = open_views(home, next(NUMBERS))[path]
    offered = actions(view, buffer, 0, len(buffer.text), None, versioned=True)
    return [action.disabled.reason for action in offered if action.disabled is not None]


def test_each_reason_has_a_tree() -> None:
    """Those that are not here: `shared` and `new-finding` stand beside the proof of fixes."""
    here = {reason for _, reason, _ in TREES.values()} | {reason for _, reason in BY_OWN_RULES.values()}
    assert here | {"shared", "new-finding"} == set(_WITHHELD_TEXTS)
