"""Move tests into folders that mirror the packages, and rewrite what names them.

    python tools/move_tests.py            move what still stands in `tests/` itself, and rewrite names
    python tools/move_tests.py --check    say which test files have no folder; ends with 1 if there are any

It may be run again at any time. Snapshots go with their tests; helpers and data stay in `tests/` itself.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FOLDERS = {
    "apiserver": "cel cel_subset refused_objects schema schema_against_crds vocabulary without_cel wrong_types",
    "base": "printable",
    "commands": "cli completion each_place environment every_command exit_codes hooks init newcomers options"
    " outputs screens workers writing",
    "config": "config definitions_elsewhere",
    "convert": "convert pairs",
    "data": "catalogue_claims facts_of_1_15 support versions",
    "drift": "budgets hash hashed_fields",
    "ec2": "aws aws_faults catalog derivation fact_age facts pipeline queries refresh refresh_catalog"
    " refresh_faults snapshot",
    "edits": "comments_kept edits edits_properties pending_edits",
    "files": "discover files gate gitignore reading revision streams",
    "fit": "fit fit_blocks fit_check fit_daemons fit_forms fit_lacks fit_properties fit_scheduler fit_unjudged"
    " fit_upstream",
    "forms": "breakdowns embedded rules_in_forms suggestions_of_forms",
    "forms/argocd": "application_sets argo_kustomizations",
    "forms/external": "render sandbox",
    "forms/flux": "flux_kustomizations",
    "forms/helm": "chart_defaults chart_values helm_functions helm_values included_pools remote_values",
    "forms/helmfile": "helmfile",
    "forms/kustomize": "broken_kustomizations jsonpatch kustomize",
    "forms/terraform": "empty_defaults hostile_terraform missing_values switched_off terraform_beside"
    " terraform_fixes terraform_json terraform_laws terraform_recorded terraform_releases terraform_shapes"
    " terraform_syntax terraform_values",
    "inventory": "built left_out run_budget unread unread_inputs",
    "karpenter": "after_requirements allocatable asked_nodes controller images images_facts kubelet limits"
    " network_rules node_size overlay_commands overlay_properties overlays places resolve scripts small_worlds"
    " user_data",
    "laws": "claims_and_twins fix_laws generated_input rules unknown_law",
    "lint": "baseline engine fingerprints fix_effects policies pool_relations proven_fixes suppress",
    "lsp": "lsp lsp_incremental lsp_overviews lsp_protocol lsp_sessions lsp_titles",
    "model": "folders karpenter_1_15 newer_releases next placeholder_names providers quantities requirement"
    " requirement_properties",
    "plan": "plan plan_answers plan_command plan_forms plan_headline plan_inputs plan_of_itself plan_repository"
    " plan_twins plan_unread plan_workloads plan_wrong_types",
    "project": "action api_docstrings architecture audit benchmarks ci_recipes doc_claims docs extension follow"
    " fuzz growth growth_of_commands imports in_process own_home patterns project_address project_files readme"
    " slips supply",
    "releases": "controller_forms controller_settings target unknown_releases",
    "report": "explain_report folding formats json_text organisation runner_text text",
    "rule": "examples rule_mentions rule_names rule_pages thresholds",
    "rules": "around_rules auto_mode boundaries class_rules disruption_rules expert_rules hostile_values"
    " image_rules image_rules_facts misleading posted_mistakes reference_rules region_and_volume_rules stories"
    " template_rules text_rules untolerated_taint value_rules volume_rules ways_out wild_practice wrong_on_purpose",
    "text": "broken_input line_breaks merges source",
    "triage": "triage triage_kubectl triage_reasons",
    "upgrade": "upgrade",
}
"""The tests of each folder, without `test_` before their names."""

HELPERS = {"files": "repositories"}
"""Helpers whose name a folder has now."""

PLACES = {f"test_{name}": folder for folder, names in FOLDERS.items() for name in names.split()}
TEXTS = (".py", ".md", ".toml", ".yml", ".yaml")


def git(*words: object) -> str:
    """What git prints."""
    done = subprocess.run(["git", *map(str, words)], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def move_files() -> list[Path]:
    """Have git move each test with its snapshots, and helpers whose name a folder takes; return the tests' places."""
    tests, moved = ROOT / "tests", []
    for old, new in HELPERS.items():
        if (tests / f"{old}.py").exists():
            git("mv", f"tests/{old}.py", f"tests/{new}.py")
    for name, folder in PLACES.items():
        for inner, suffix in (("", ".py"), ("__snapshots__/", ".ambr")):
            old_file = tests / f"{inner}{name}{suffix}"
            if old_file.exists():
                new_file = tests / folder / f"{inner}{name}{suffix}"
                new_file.parent.mkdir(parents=True, exist_ok=True)
                git("mv", old_file, new_file)
                moved.append(new_file)
        for part in (tests / folder, *(tests / folder).parents):
            if part.is_dir() and part.is_relative_to(tests) and not (part / "__init__.py").exists():
                (part / "__init__.py").touch()
                git("add", part / "__init__.py")
    return moved


def rewrite_imports(text: str) -> str:
    """A test's imports of helpers and of other tests."""

    def imported(match: re.Match[str]) -> str:
        name = HELPERS.get(match[2], match[2])
        home = f"tests.{PLACES[name].replace('/', '.')}.{name}" if name in PLACES else f"tests.{name}"
        return f"{match[1]}from {home} import"

    text = re.sub(r"(?m)^( *)from (?:tests)?\.(\w+) import", imported, text)
    return re.sub(r"(?m)^( *)from \. import", r"\1from tests import", text)


def rewrite_paths(path: Path, text: str) -> str:
    """The paths that a test, which has just been moved from `tests/` itself, works out from its own."""
    depth = len(path.relative_to(ROOT).parts) - 1
    text = re.sub(r"Path\(__file__\)\.parent(?:\.parent|s\[1\])", f"Path(__file__).parents[{depth}]", text)
    return re.sub(r"Path\(__file__\)\.parent\b", f"Path(__file__).parents[{depth - 1}]", text)


def rewrite_mentions(text: str) -> str:
    """`tests/test_rules.py` and `tests.files` wherever they stand."""

    def placed(match: re.Match[str]) -> str:
        return f"tests/{PLACES[match[1]]}/{match[1]}.py" if match[1] in PLACES else match[0]

    text = re.sub(r"\btests/(test_\w+)\.py\b", placed, text)
    for old, new in HELPERS.items():
        text = re.sub(rf"\btests/{old}\.py\b", f"tests/{new}.py", text)
        text = re.sub(rf"\bfrom tests\.{old} import\b", f"from tests.{new} import", text)
    return text


def written_files() -> Iterator[Path]:
    """All texts in which tests may be named."""
    for line in git("ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        if line.endswith(TEXTS) and line not in ("CHANGELOG.md", "tools/move_tests.py") and (ROOT / line).is_file():
            yield ROOT / line


def main() -> int:
    """Move and rewrite, or say what the table lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    missing = sorted(path.name for path in (ROOT / "tests").glob("test_*.py") if path.stem not in PLACES)
    print(*(f"{name} has no folder in the table" for name in missing), sep="\n", file=sys.stderr)
    if options.check:
        return bool(missing)
    moved = move_files()
    for path in written_files():
        text = path.read_bytes().decode("utf-8")
        new = rewrite_imports(text) if path.is_relative_to(ROOT / "tests") and path.suffix == ".py" else text
        new = rewrite_mentions(rewrite_paths(path, new) if path in moved else new)
        if new != text:
            path.write_bytes(new.encode())
    for words in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *words, "tests"], cwd=ROOT, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
