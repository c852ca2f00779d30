"""Move modules into the packages that are named by input form, and rewrite their old names wherever they stand.

    python tools/move_modules.py                  move what still stands at its old place, and rewrite old names
    python tools/move_modules.py --imports-only   rewrite old names alone, in a branch that is merged later
    python tools/move_modules.py --check          say where old names are left; ends with 1 if there are any

It may be run again at any time. A module that this table does not know goes where the modules of its old folder went.
A branch from before the move is merged without conflicts if it takes in what was there right before the move, the
script runs in it, its result is committed, and the move is then merged with `git merge -s ours`.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = {
    "source.yaml": "text.yaml",
    "source.files": "files",
    "source.git": "files.git",
    "source.templates": "forms.lib.gotemplate",
    "source.terraform": "forms.terraform",
    "source": "text",
    "build.kustomize": "forms.kustomize",
    "build": "inventory",
    "release_evidence": "releases",
    "karpenter.convert": "convert",
}
"""Where the modules of a folder go that `MODULES` does not name, and what its `__init__` becomes."""

MODULES = {
    "tuples": "base.tuples",
    "caching": "base.caching",
    "printable": "base.printable",
    "project": "base.project",
    "programs": "files.programs",
    "source.text": "text.source",
    "source.files.kustomizations": "forms.kustomize.kustomizations",
    "source.templates.gotemplate": "forms.lib.gotemplate.syntax",
    "source.templates.expression_eval": "forms.lib.gotemplate.expressions",
    "source.templates.template_eval": "forms.lib.gotemplate.evaluate",
    "source.templates.charts": "forms.helm.charts",
    "source.templates.template_lint": "forms.helm.template_lint",
    "source.templates.template_scopes": "forms.helm.template_scopes",
    "source.terraform.hcl": "forms.terraform.hcl",
    "source.terraform.hclcheck": "forms.terraform.hclcheck",
    "source.terraform.hclexpr": "forms.terraform.hclexpr",
    "source.terraform.hclstrings": "forms.terraform.hclstrings",
    "source.terraform.hcltree": "forms.terraform.hcltree",
    "source.terraform.terragrunt": "forms.terraform.terragrunt",
    "source.terraform.hclworkloads": "forms.terraform.workloads",
    "source.terraform.tfaddresses": "forms.terraform.functions.addresses",
    "source.terraform.tfcollections": "forms.terraform.functions.collections",
    "source.terraform.tftexts": "forms.terraform.functions.text",
    "source.terraform.tffunctions": "forms.terraform.functions.table",
    "source.terraform.tfconstraints": "forms.terraform.constraints",
    "source.terraform.tfencode": "forms.terraform.encode",
    "source.terraform.tfeval": "forms.terraform.evaluate",
    "source.terraform.tffiles": "forms.terraform.files",
    "source.terraform.tffill": "forms.terraform.fill",
    "source.terraform.tfjson": "forms.terraform.json_syntax",
    "source.terraform.tfmodulefiles": "forms.terraform.modules",
    "source.terraform.tfnodes": "forms.terraform.nodes",
    "source.terraform.tfresources": "forms.terraform.resources",
    "source.terraform.tftemplate": "forms.terraform.template",
    "source.terraform.tftypes": "forms.terraform.types",
    "source.terraform.tfvalues": "forms.terraform.values",
    "source.terraform.tfvars": "forms.terraform.variables",
    "build.application_sets": "forms.argocd.application_sets",
    "build.argo_kustomizations": "forms.argocd.kustomizations",
    "build.git_generators": "forms.argocd.git_generators",
    "build.built": "forms.rendered",
    "build.map_edits": "forms.map_edits",
    "build.given_up": "forms.given_up",
    "build.input_text": "forms.input_text",
    "build.chart_inputs": "forms.helm.chart_inputs",
    "build.chart_releases": "forms.helm.chart_releases",
    "build.controller_charts": "inventory.controller_installs",
    "build.controller_scripts": "forms.helm.commands",
    "build.controller_terraform": "forms.terraform.controller",
    "build.controller_values": "forms.lib.controller_install",
    "build.terraform_inputs": "forms.terraform.inputs",
    "build.unread_values": "forms.helm.unread_values",
    "build.variable_inputs": "forms.lib.variable_inputs",
    "budget": "base.budget",
    "build.syntax_check": "forms.syntax_check",
    "build.chart_values": "forms.helm.chart_values",
    "build.filled_charts": "forms.helm.filled_charts",
    "build.including_templates": "forms.helm.including_templates",
    "build.overlay_releases": "forms.helm.overlay_releases",
    "build.remote_values": "forms.helm.remote_values",
    "build.values_files": "forms.helm.values_files",
    "build.vendored_values": "forms.helm.vendored_values",
    "build.filled_terraform": "forms.terraform.rendered",
    "build.remote_terraform": "forms.terraform.remote_modules",
    "build.unread_inputs": "inventory.unread_inputs",
    "build.switched_off": "forms.terraform.switched_off",
    "build.terraform": "forms.terraform.filled_texts",
    "build.terraform_releases": "forms.terraform.chart_releases",
    "build.unread_releases": "forms.terraform.unread_releases",
    "build.flux_kustomizations": "forms.flux.kustomizations",
    "build.kustomize": "forms.kustomize.build",
    "build.outside_files": "forms.terraform.outside_files",
    "build.overlays": "forms.kustomize.overlays",
    "build.rendered": "forms.external.render",
    "build.roots": "forms.external.roots",
    "build.sandbox": "forms.external.sandbox",
    "build.source_map": "forms.external.source_map",
    "build.tools": "forms.external.tools",
    "build.template_source_map": "forms.lib.text_map",
    "build.values": "forms.lib.values",
    "release_evidence.charts": "forms.helm.statements",
    "release_evidence.terraform": "forms.terraform.statements",
    "release_evidence.evidence": "model.evidence",
    "model.helm_values": "forms.helm.values_objects",
    "model.terraform_blocks": "forms.terraform.terraform_blocks",
    "edits.hcl": "forms.terraform.writer",
    "edits.dialect": "edits.writer",
    "lint.rule": "rule.definition",
    "lint.rule_options": "config.options",
    "lint.checks": "rule.checks",
    "lint.clusters": "rule.clusters",
    "lint.context": "rule.context",
    "lint.examples": "rule.examples",
    "lint.fixes": "rule.fixes",
    "lint.object_relations": "rule.object_relations",
    "lint.policies": "rule.policies",
    "lint.remedies": "rule.remedies",
    "lint.run_overlays": "rule.node_overlays",
    "lint.suppressions": "rule.suppressions",
    "lint.target": "rule.target",
    "lint.templates": "forms.helm.templates",
    "lint.built_objects": "lint.rendered",
    "lint.config": "config.settings",
    "lint.config_file": "config.file",
    "lint.release_selection": "config.release_selection",
    "session": "config.session",
    "rule_laws": "laws.rule_laws",
    "unknown_law": "laws.unknown_law",
}
"""Where each module goes, by its name without `nodelint.`."""

NAMES = {
    ("source.files.safe_read", "MARKS"): "text.marks",
    ("source.terraform.hclstrings", "template_end"): "text.placeholders",
    ("build.roots", "nodes_of"): "forms.lib.values",
    ("build.roots", "own_roots"): "forms.lib.values",
    ("build.roots", "read"): "forms.lib.values",
    ("build.values_files", "merged"): "forms.lib.values",
    ("build.values_files", "values_root"): "forms.lib.values",
    ("lint.results", "SpanIndex"): "model.span_index",
}
"""Names that stand in another module than the rest of the one that had them."""

ABOUT = {
    "base": "What every module may use: named tuples, kept values, printable text, the project's address.",
    "files": "Finding, reading and writing files.",
    "rule": "What a rule is, what it may ask, and what its author uses.",
    "config": "What a configuration and flags make of a run.",
    "laws": "The laws that every rule keeps, tried over the examples of its page.",
    "forms": "One package for each form in which repositories write manifests, and what they share.",
    "forms.lib": "What several forms share: texts with values filled in, and helpers over values.",
    "forms.lib.gotemplate": "Go templates with the functions of sprig.",
    "forms.helm": "Helm: charts, their values, and releases of them.",
    "forms.kustomize": "Kustomize: overlays, built as kustomize builds them.",
    "forms.terraform": "Terraform and other HCL: blocks, expressions, functions, variables and modules.",
    "forms.terraform.functions": "Functions of Terraform, by what they are about.",
    "forms.flux": "Flux: Kustomizations that apply folders.",
    "forms.argocd": "Argo CD: Applications and ApplicationSets.",
    "forms.external": "Overlays and charts rendered by kustomize and helm as programs, in a sandbox.",
}
"""The docstrings of packages that are new."""

LEFT_ALONE = ("CHANGELOG.md", "tools/move_modules.py", "docs/modules.md", "benchmarks/calls.json")
FOLDERS = ("nodelint", "rules", "tools", "tests", "benchmarks")
TEXTS = (".py", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ".cfg", ".ambr")


def path_of(module: str, *, package: bool = False) -> Path:
    """The file of a module; `package` asks for that of a folder's `__init__`."""
    path = Path("nodelint", *module.split("."))
    return path / "__init__.py" if package else path.with_suffix(".py")


@cache
def new_name(module: str) -> str | None:
    """The name that a module has now, without `nodelint.`; None if it keeps its name."""
    if module in MODULES:
        return MODULES[module]
    if module in PACKAGES:
        return PACKAGES[module]
    package, _, leaf = module.rpartition(".")
    while package:
        if package in PACKAGES:
            leaf = leaf.removeprefix("tf") if package == "source.terraform" else leaf
            return f"{PACKAGES[package]}.{leaf}"
        package, _, above = package.rpartition(".")
        leaf = f"{above}.{leaf}"
    return None


# -- files


def moves() -> Iterator[tuple[Path, Path]]:
    """The files that stand at an old place, each with its new one."""
    found = subprocess.run(["git", "ls-files", "nodelint/*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    for line in found.stdout.split():
        path = Path(line)
        is_package = path.name == "__init__.py"
        module = ".".join((path.parent if is_package else path.with_suffix("")).parts[1:])
        target = new_name(module) if module else None
        if target is None:
            continue
        # The code of a folder's `__init__` goes to a module where the new folder holds none.
        new = path_of(target, package=is_package and module not in MODULES)
        yield path, new


def move_files() -> None:
    """Have git move each file to its place; an `__init__` without code goes where another one stands already."""
    for old, new in moves():
        (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / new).exists():
            if len(ast.parse((ROOT / old).read_text(encoding="utf-8")).body) > 1:
                sys.exit(f"{old} and {new} are both there: put them together by hand")
            git("rm", "-q", "-f", old)
            continue
        if path_module(old) not in MODULES and old.parent.name in ("build", "terraform") and old.stem != "__init__":
            print(f"{old}: not in the table, goes to {new}", file=sys.stderr)
        git("mv", old, new)
    for package, docstring in ABOUT.items():
        path = ROOT / path_of(package, package=True)
        if path.parent.is_dir() and not path.exists():
            path.write_text(f'"""{docstring}"""\n', encoding="utf-8")
            git("add", path)


def path_module(path: Path) -> str:
    """The name of a module without `nodelint.`."""
    return ".".join(path.with_suffix("").parts[1:])


def git(*words: object) -> None:
    subprocess.run(["git", *map(str, words)], cwd=ROOT, check=True)


# -- imports


def import_lines(node: ast.ImportFrom, indent: str) -> list[str] | None:
    """An import from modules by their new names; None if it has none of an old name."""
    assert node.module is not None
    old = node.module.removeprefix("nodelint").lstrip(".")
    parts: dict[str, list[str]] = {}
    for alias in node.names:
        home, shown = new_place(old, alias.name)
        own = alias.asname or alias.name
        parts.setdefault(home, []).append(f"{shown} as {own}" if shown != own else shown)
    if set(parts) == {old} and all(alias.name in {p.split(" ")[0] for p in parts[old]} for alias in node.names):
        return None
    return [
        f"{indent}from {'.'.join(filter(None, ('nodelint', home)))} import ({', '.join(names)})"
        if len(names) > 1
        else f"{indent}from {'.'.join(filter(None, ('nodelint', home)))} import {names[0]}"
        for home, names in parts.items()
    ]


def new_place(module: str, name: str) -> tuple[str, str]:
    """The module from which a name is imported now, and the name: that of a module may have become another one."""
    inner = f"{module}.{name}" if module else name
    if inner in MODULES or inner in PACKAGES or is_module(inner):
        target = new_name(inner)
        if target is None:
            return module, name
        home, _, leaf = target.rpartition(".")
        return home, leaf
    if (module, name) in NAMES:
        return NAMES[module, name], name
    for (old, moved), home in NAMES.items():  # a name that has left a module which has moved
        if moved == name and new_name(old) == module:
            return home, name
    target = MODULES.get(module) or new_name(module)
    return target or module, name


@cache
def is_module(name: str) -> bool:
    """Whether there is a module of a name, at its old place or at its new one."""
    target = new_name(name) or name
    return any(
        (ROOT / path_of(known, package=package)).exists() for known in (name, target) for package in (False, True)
    )


def rewrite_imports(text: str) -> str:
    """A module with its imports by new names."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return text
    lines = text.split("\n")
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        if (node.module or "").split(".")[0] != "nodelint":
            continue
        indent = lines[node.lineno - 1][: node.col_offset]
        if indent.strip():
            continue  # behind a semicolon or a colon: the names of modules are rewritten as words
        new = import_lines(node, indent)
        if new is not None:
            end = node.end_lineno or node.lineno
            comment = re.search(r"  # .*$", lines[end - 1])
            new[-1] += comment[0] if comment else ""
            lines[node.lineno - 1 : end] = new
    return "\n".join(lines)


def rewrite_tables(text: str) -> str:
    """The modules that the API promises, listed by the packages where they are now."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_MODULES":
            old: dict[str, tuple[str, ...]] = ast.literal_eval(node.value)
            new: dict[str, list[str]] = {}
            for package, names in old.items():
                for name in names:
                    home, leaf = new_place(package.removeprefix("nodelint").lstrip("."), name)
                    new.setdefault(".".join(filter(None, ("nodelint", home))), []).append(leaf)
            table = "".join(
                f'    "{package}": ({"".join(f"{name!r}, " for name in sorted(new[package]))}),\n'
                for package in sorted(new)
            )
            lines = text.split("\n")
            lines[node.lineno - 1 : node.end_lineno] = f"_MODULES = {{\n{table}}}".split("\n")
            if {key: tuple(sorted(names)) for key, names in new.items()} != old:
                return "\n".join(lines)
    return text


# -- other mentions


def rewrite_dotted(text: str) -> str:
    """`nodelint.source.text.Source`: the longest part that was the name of a module."""

    def renamed(match: re.Match[str]) -> str:
        words = match[1].lstrip(".").split(".")
        for count in range(len(words), 0, -1):
            module, rest = ".".join(words[:count]), words[count:]
            if module in MODULES or module in PACKAGES or (is_module(module) and new_name(module) is not None):
                target = new_name(module)
                if rest and (module, rest[0]) in NAMES:
                    target = NAMES[module, rest[0]]
                return ".".join(("nodelint", str(target), *rest))
        return match[0]

    return re.sub(r"\bnodelint((?:\.[a-z_][a-z_0-9]*)+)(?![\w-])", renamed, text)


def rewrite_short(text: str) -> str:
    """`source.terraform.tffill` in quotes or backticks without `nodelint.` before it; names of two words at least."""

    def renamed(match: re.Match[str]) -> str:
        words = match[2].split(".")
        for count in range(len(words), 1, -1):
            module = ".".join(words[:count])
            if new_name(module) is not None and (module in MODULES or module in PACKAGES or is_module(module)):
                return match[1] + ".".join((str(new_name(module)), *words[count:]))
        return match[0]

    return re.sub(r"""(["'`])([a-z_]+(?:\.[a-z_A-Z0-9]+)+)(?=["'`(])""", renamed, text)


def rewrite_paths(text: str) -> str:
    """`source/terraform/tffill.py`, with `nodelint/` before it or without."""

    def renamed(match: re.Match[str]) -> str:
        module = match[2].replace("/", ".")
        is_package = module.endswith(".__init__")
        target = new_name(module.removesuffix(".__init__"))
        if target is None:
            return match[0]
        name = module.removesuffix(".__init__")
        suffix = "/__init__.py" if is_package and name not in MODULES else ".py"
        return f"{match[1] or ''}{target.replace('.', '/')}{suffix}"

    return re.sub(r"(?<![\w./-])((?:/tree/)?nodelint/)?((?:[a-z_]+/)*[a-z_0-9]+)\.py\b", renamed, text)


def rewrite_folders(text: str) -> str:
    """`source/yaml` in quotes or backticks."""
    folders = "|".join(package.replace(".", "/") for package in PACKAGES if "." in package)

    def renamed(match: re.Match[str]) -> str:
        return match[1] + PACKAGES[match[2].replace("/", ".")].replace(".", "/")

    return re.sub(rf"""(["'`](?:nodelint/)?)({folders})(?=/?["'`])""", renamed, text)


def written_files() -> Iterator[Path]:
    """All texts of the project in which names of modules may stand."""
    found = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for line in sorted(set(found.stdout.split("\n"))):
        is_data = not line.endswith(".py") and line.startswith(
            ("nodelint/data/", "schemas/", "tests/trees/", "examples/", "docs/rules/")
        )
        if line.endswith(TEXTS) and line not in LEFT_ALONE and not is_data and (ROOT / line).is_file():
            yield ROOT / line


def rewritten(path: Path, text: str) -> str:
    """A text with the new names."""
    if path.suffix == ".py":
        text = rewrite_imports(text)
    if path.name == "api.py":
        text = rewrite_tables(text)
    return rewrite_folders(rewrite_paths(rewrite_short(rewrite_dotted(text))))


def rewrite_names(check: bool) -> list[str]:
    """The files in which old names stood; they have the new ones now unless only a check is asked for."""
    changed = []
    for path in written_files():
        text = path.read_bytes().decode("utf-8")
        new = rewritten(path, text)
        if new != text:
            changed.append(path.relative_to(ROOT).as_posix())
            if not check:
                path.write_bytes(new.encode())
    return changed


def main() -> int:
    """Move and rewrite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imports-only", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check and not options.imports_only:
        move_files()
    is_module.cache_clear()
    changed = rewrite_names(options.check)
    print("\n".join(changed), file=sys.stderr)
    print(f"{len(changed)} files {'hold' if options.check else 'held'} old names", file=sys.stderr)
    if not options.check:
        for words in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
            subprocess.run([sys.executable, "-m", "ruff", *words, *FOLDERS], cwd=ROOT, check=False)
    return bool(options.check and changed)


if __name__ == "__main__":
    sys.exit(main())
