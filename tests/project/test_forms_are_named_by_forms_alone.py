"""Outside of `forms/`, no module names a form in code: it asks the registry. What users read or write may."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.code import nodes, syntax_tree
from tests.conftest import ROOT

PACKAGE = ROOT / "nodelint"
NAMES = {
    "terraform": r"terraform|terragrunt|(?<![\w/*])\.tf(?:vars|tpl)?\b|\.tofu\b",
    "helm": r"helm(?!file)|Chart\.yaml|Chart\.lock",
    "kustomize": r"kustomiz",
    "flux": r"flux|fluxcd",
    "argocd": r"argo ?cd|argoproj|_argo\b",
    "helmfile": r"helmfile",
}
"""How each form is named in identifiers and strings."""

ALLOWED = {
    "api.py": "rules are promised these names",
    "rule/context.py": "`Context.terraform` and `Context.template` are promised to rules",
    "rule/definition.py": "the title of a group of rules",
    "lint/recording_context.py": "`Context.template` is promised to rules",
    "commands/_flags.py": "the flags --helm and --kustomize",
    "commands/_fast_argv.py": "the flags --helm and --kustomize",
    "commands/_help.py": "the flags --helm and --kustomize",
    "commands/_lint_setup.py": "the flags --helm and --kustomize, and their help",
    "commands/_detect_setup.py": "words by which `init` tells how a repository writes its objects",
    "commands/init.py": "words by which `init` tells how a repository writes its objects",
    "commands/_check_run.py": "a word of a path: whether to look for overlays",
    "commands/_fit_run.py": "words of a message",
    "config/settings.py": "the settings `helm` and `kustomize`",
    "drift/stored_form.py": "words of a message",
    "files/file_keywords.py": "labels of charts and the key below which values stand, wherever they are installed",
    "karpenter/controller_settings.py": "what installs the controller, for rules that ask for its block",
    "karpenter/userdata/family_mismatch.py": "words of a message",
    "lsp/server.py": "patterns of files that an editor watches",
    "model/cluster_objects.py": "kinds of workloads of other APIs, and of resources that make pods",
    "releases/scripts.py": "commands of scripts",
    "releases/settings.py": "commands of scripts",
    "report/coverage.py": "words of a report",
    "report/run_setup.py": "words of a report",
    "report/skipped.py": "words of a report, and flags",
    "text/embedded_regions.py": "kinds of workloads of other APIs",
    "text/embedded.py": "endings of templates of any kind",
    "text/rereading.py": "the kind of text whose parts are read anew alone",
    # These ask a form's own modules, for what no other form has an answer to.
    "plan/changed_gaps.py": "inputs of modules elsewhere, and charts elsewhere",
    "plan/changed_inputs.py": "inputs of values that are not known",
    "plan/compare.py": "objects that a block makes none of",
    "plan/values_elsewhere.py": "values of charts that are not read",
    "lsp/around.py": "which files of modules are read beside an open one",
}
"""Modules that name a form, and why. None is added without a reason; one that names none any more is taken out."""


def code_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The identifiers and strings of a module with their lines; docstrings and comments are left out."""
    tree = syntax_tree(path)
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in nodes(path):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and id(node) not in docstrings:
            yield line, node.value if isinstance(node.value, str) else node.value.decode(errors="replace")
        for field in ("id", "attr", "arg", "name", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield line, value


def naming(form: str) -> set[str]:
    """The modules outside of `forms/` and `inventory/` that name a form."""
    pattern = re.compile(NAMES[form], re.IGNORECASE)
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("forms", "inventory")
        if any(pattern.search(text) for _, text in code_texts(path))
    }


@pytest.mark.slow
def test_no_module_names_a_form_without_a_reason() -> None:
    found = set().union(*map(naming, NAMES))
    assert sorted(found - ALLOWED.keys()) == [], "ask `forms.registry`, or say why the name has to stand there"
    assert sorted(ALLOWED.keys() - found) == [], "these name no form any more: take them off the list"
