"""Outside of `forms/`, no module names a form in code: it asks the registry. What users read or write may."""

from __future__ import annotations

import re

from tests.code import code_texts
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

_FLAGS = "the flags `--helm` and `--kustomize` of other tools, for which a wrong use names the way"
_VALUES = "the flag `--values` is about charts, and its help says so"
_WORDS = "words of a report or a message"
_PROMISED = "rules are promised these names"
_ROLLOUTS = "Argo Rollouts, which is no form, has its group in common with Argo CD"
ALLOWED = {
    "api.py": _PROMISED,
    "rule/context.py": _PROMISED,
    "rule/run_files.py": _PROMISED,
    "karpenter/controller_settings.py": _PROMISED,
    "rule/cluster_regions.py": "it asks which region the provider and the subnets of Terraform state",
    "rule/controller_permissions.py": "it asks which blocks of Terraform grant the controller something",
    "rule/classification.py": _WORDS,
    "commands/_fit_run.py": _WORDS,
    "drift/stored_form.py": _WORDS,
    "plan/compare.py": _WORDS,
    "plan/gone_appliers.py": _WORDS,
    "plan/kept_objects.py": _WORDS,
    "plan/recreated_objects.py": _WORDS,
    "plan/suspended.py": _WORDS,
    "plan/values_elsewhere.py": "words of a message, and the file by which helm leaves out files of a chart",
    "plan/sides.py": "the endings of files with values, by which an environment is known on both sides",
    "releases/deployers.py": "words in the names of folders that are for several clusters",
    "releases/settings.py": _PROMISED,
    "karpenter/dummy_values.py": "the endings of files that are templates",
    "karpenter/userdata/family_mismatch.py": _WORDS,
    "lsp/hcl_outline.py": "it reads incomplete HCL while somebody writes it, and the form reads complete files",
    "lint/engine.py": "rules about root modules read further files of these",
    "releases/scripts.py": f"{_WORDS}, and names of variables",
    "report/coverage.py": _WORDS,
    "report/run_setup.py": _WORDS,
    "report/skipped.py": _WORDS,
    "commands/_help.py": _FLAGS,
    "commands/__init__.py": _VALUES,
    "commands/_values.py": _VALUES,
    "model/cluster_objects.py": _ROLLOUTS,
    "model/iam_statements.py": "IAM policies are written in files of Terraform, and in files that these name",
    "plan/changed_gaps.py": "a unit names its module in a block `terraform`",
    "text/embedded_regions.py": _ROLLOUTS,
}
"""Modules that name a form, and why. None is added without a reason; one that names none any more is taken out."""


def naming() -> set[str]:
    """The modules outside of `forms/` and `inventory/` that name a form."""
    pattern = re.compile("|".join(f"(?:{name})" for name in NAMES.values()), re.IGNORECASE)
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("forms", "inventory")
        if pattern.search("\n".join(text for _, text in code_texts(path)))
    }


def test_no_module_names_a_form_without_a_reason() -> None:
    found = naming()
    assert sorted(found - ALLOWED.keys()) == [], "ask `forms.registry`, or say why the name has to stand there"
    assert sorted(ALLOWED.keys() - found) == [], "these name no form any more: take them off the list"
