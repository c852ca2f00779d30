"""The borders of ARCHITECTURE.md hold: import order, one module that knows AWS, no clock, a whole wheel."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

from nodelint.rule.classification import TAGS
from nodelint.rule.definition import load_bundled
from tests.code import code_texts, nodes, syntax_tree
from tests.conftest import ROOT

PACKAGE = ROOT / "nodelint"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST_FUNCTION = 50


@cache
def imports(path: Path, types: bool = False) -> frozenset[str]:
    """Modules that a module imports when it runs, wherever in it; also those for types only where `types` says so."""
    skipped: set[ast.AST] = set()
    if not types:
        conditions = (node for node in nodes(path) if isinstance(node, ast.If))
        for condition in conditions:
            if "TYPE_CHECKING" in ast.unparse(condition.test):
                skipped.update(ast.walk(condition))
    found = set()
    for node in nodes(path):
        if node in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return frozenset(found)


def order() -> list[str]:
    """Modules and packages in the order of ARCHITECTURE.md, which is the order in which data flows."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Modules, in the order in which they may import", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([\w/]+?)(?:\.py|/)`", row)]


@cache
def idea(path: Path) -> str:
    """The module, or the package whose inner room the module is; each form is a room of its own."""
    parts = path.relative_to(PACKAGE).parts
    if parts == ("forms", "registry.py"):
        return "forms/registry"  # a table that every room may read
    return "/".join(parts[: 2 if parts[0] == "forms" and len(parts) > 2 else 1]).removesuffix(".py")


@cache
def module_names() -> dict[str, Path]:
    """The modules of the package, by their names without `nodelint.`."""
    names = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in MODULES}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


@cache
def imported_modules() -> set[tuple[str, str]]:
    """Each import of one of our modules by another one when it runs, as a pair of names."""
    names = module_names()
    bare = {name for name, path in names.items() if len(syntax_tree(path).body) <= 1}  # a docstring: `forms.helm`
    return {
        (name, module)
        for name, path in names.items()
        for module in (found.removeprefix("nodelint.") for found in imports(path))
        if module in names and module not in bare and idea(path) in IDEAS
    }


def is_of_another_form(name: str, module: str) -> bool:
    """Whether a module of one form imports a module of another one."""
    own, other = (idea(module_names()[each_name]) for each_name in (name, module))
    return (
        own.startswith("forms/") and other.startswith("forms/") and other not in (own, "forms/lib", "forms/registry")
    )


IDEAS = sorted({idea(path) for path in MODULES} - {"__init__", "__main__"})


def test_every_module_has_its_place_in_the_papers() -> None:
    listed = order()
    assert len(listed) == len(set(listed))
    assert sorted(listed) == IDEAS


def test_every_module_is_on_the_page_of_modules() -> None:
    """`python tools/make_module_page.py` writes it."""
    page = (ROOT / "docs" / "modules.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"(?m)^(?:\| `|## )([\w/]+\.py)", page))
    assert listed == {path.relative_to(PACKAGE).as_posix() for path in MODULES if idea(path) in IDEAS}


def test_the_documentation_alone_has_the_text_for_contributors() -> None:
    """`python tools/make_module_page.py` writes it."""
    assert (ROOT / "docs" / "contributing.md").read_bytes() == (ROOT / "CONTRIBUTING.md").read_bytes()


@pytest.mark.parametrize(("name", "most"), [("README.md", 700), ("ARCHITECTURE.md", 1200), ("CONTRIBUTING.md", 600)])
def test_what_everybody_reads_first_is_read_in_ten_minutes(name: str, most: int) -> None:
    words = (ROOT / name).read_text(encoding="utf-8").split()
    assert len(words) <= most, f"{name} has {len(words)} words: what is not for everybody has a page in docs/"


@pytest.mark.slow
def test_imports_only_go_up_the_list_and_no_form_imports_another_one() -> None:
    rank = {name: place for place, name in enumerate(order())}
    names = module_names()
    wrong = {
        (name, module)
        for name, module in imported_modules()
        if rank[idea(names[name])] < rank[idea(names[module])] or is_of_another_form(name, module)
    }
    assert sorted(wrong) == [], "these imports are not allowed"


def test_no_modules_import_each_other() -> None:
    """Neither when they are loaded, nor later, nor for types."""
    names = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in MODULES}
    # `from nodelint.text import hcl` imports the inner module; that the package is loaded first is not a circle.
    graph = {}
    for name, path in names.items():
        found = imports(path, types=True) & names.keys()
        parents = {module.rpartition(".")[0] for module in found}
        graph[name] = {module for module in found if module not in parents or module in plain_imports(path, names)}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def plain_imports(path: Path, names: Collection[str]) -> set[str]:
    """Modules of which a module imports something that is not a module itself."""
    return {
        node.module
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module
        if any(f"{node.module}.{alias.name}" not in names for alias in node.names)
    }


def test_the_walks_are_true_of_the_code() -> None:
    text = (ROOT / "docs" / "walks.md").read_text(encoding="utf-8")
    steps = re.findall(r"`([\w/-]+\.py):(\w+)`", text)
    assert len(steps) > 20
    for file, name in steps:
        path = ROOT / file if file.startswith("rules/") else PACKAGE / file
        assert re.search(rf"(?m)^(?:def|class) {name}\b", path.read_text(encoding="utf-8")), f"{file} has no {name}"


def test_a_public_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in syntax_tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_functions_are_short() -> None:
    """ruff holds their complexity, and counts statements where a reader counts lines."""
    long = []
    for path in [*MODULES, *(ROOT / "tools").rglob("*.py"), *(ROOT / "rules").glob("*.py")]:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno}: `{node.name}` has {lines} lines")
    assert not long, f"more than {LONGEST_FUNCTION} lines: split it into steps: {long}"


def test_only_aws_knows_boto3() -> None:
    knowing = {p.parent for p in MODULES if any(m.startswith("boto") for m in imports(p))}
    assert knowing == {PACKAGE / "ec2" / "client"}


def clocks(path: Path) -> set[str]:
    """Where a module asks what time it is. What only runs on, as a time limit needs it, says nothing of the day."""
    found = imports(path) & {"time.time", "time.gmtime", "time.localtime"}
    banned = {"time.time", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
    last_words = {name.split(".")[1] for name in banned}
    suspects = (node for node in nodes(path) if isinstance(node, ast.Attribute) and node.attr in last_words)
    return found | {ast.unparse(node) for node in suspects} & banned


def test_no_module_but_the_commands_reads_a_clock() -> None:
    commands = PACKAGE / "commands"
    found = {path: clocks(path) for path in [*MODULES, *(ROOT / "rules").glob("*.py")]}
    assert {path: names for path, names in found.items() if names} == {
        commands / "__init__.py": {"time.time"},  # the day, without loading datetime
        commands / "_run_facts.py": {"datetime.now"},
    }


def test_rules_import_the_api_alone() -> None:
    for path in sorted((ROOT / "rules").glob("*.py")):
        ours = {module for module in imports(path) if module.split(".")[0] == "nodelint"}
        assert {module for module in ours if not module.startswith("nodelint.api")} == set(), path
        assert not imports(path) & {"json", "boto3"}, path


def test_the_api_is_what_it_says() -> None:
    """Every name is documented in the module's table, and can be imported; nothing else is promised."""
    import nodelint.api as api

    rows = [line.split("|")[1] for line in str(api.__doc__).splitlines() if line.startswith("| `")]
    documented = sorted(name for row in rows for name in re.findall(r"`(\w+)`", row))
    assert documented == sorted(api.__all__)
    for name in api.__all__:
        assert getattr(api, name) is not None
    assert api.overlays.decide is api.node_overlays.decide, "a former name means the module of today"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no `nonsense`"):
        _ = api.nonsense


def test_the_api_is_closed_and_typed() -> None:
    """A checker of types sees each promised name where it is made, and no `__getattr__` that takes any other."""
    import nodelint.api as api

    path = PACKAGE / "api.py"
    blocks = [node for node in syntax_tree(path).body if isinstance(node, ast.If)]
    assert [ast.unparse(block.test) for block in blocks] == ["TYPE_CHECKING", "not TYPE_CHECKING"]
    typed: dict[str, set[str]] = {}
    for node in blocks[0].body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        typed.setdefault(node.module, set()).update(alias.name for alias in node.names)
    assert typed == {home: set(names) for home, names in {**api._MODULES, **api._NAMES}.items()}
    assert not any(
        isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in syntax_tree(path).body
    )


def test_a_promised_module_is_used_by_a_rule_or_a_page() -> None:
    import nodelint.api as api

    used = {alias.name for path in (ROOT / "rules").glob("*.py") for node in nodes(path)
            if isinstance(node, ast.ImportFrom) for alias in node.names}  # fmt: skip
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    idle = [name for names in api._MODULES.values() for name in names if name not in used and name not in pages]
    assert not idle, "neither a rule nor a page needs it: take it off the API"


def test_a_field_that_three_rules_ask_for_has_an_accessor() -> None:
    asking: dict[str, set[Path]] = {}
    for path in (ROOT / "rules").glob("*.py"):
        for found in re.findall(r"\b(?:pool|node_class)\.node\.find\([^()*]*\)", path.read_text(encoding="utf-8")):
            asking.setdefault(found, set()).add(path)
    named = [found for found, paths in asking.items() if len(paths) >= 3]
    assert not named, "give NodePool or EC2NodeClass a `FieldNode` for it"


def test_nothing_is_imported_under_its_own_name_to_be_given_on() -> None:
    """What a module gives on it lists in `__all__`; all else is imported from where it is made."""
    again = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    ]
    assert not again


def test_what_is_slow_is_not_loaded_for_a_folder_without_manifests(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: ConfigMap\n", encoding="utf-8")
    code = (
        "import sys\nfrom nodelint.cli import cli\n"
        "try: cli(['check'])\nexcept SystemExit: pass\n"
        "slow = {'jsonschema', 'boto3', 'cel_expr_python', 'yaml', '_ruamel_yaml', 'nodelint.ec2.catalog'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_a_wheel_holds_every_rule_schema_and_table() -> None:
    """What pyproject.toml tells the builder covers the folders; .ci/run installs the wheel and lists its rules."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["nodelint"]
    folders = ("rules", "schemas", "docs/rules")
    assert wheel["force-include"] == {folder: f"nodelint/{folder}" for folder in folders}
    assert list((PACKAGE / "data").glob("*.json"))


def test_the_repository_speaks_of_the_project_alone() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    for name in files.split():
        path = ROOT / name
        if path.is_file() and path.name != "test_architecture.py":
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"(?<![\w.])/(?:work|root|home)/[a-z]|\.\./shared", text), name


def test_rules_give_findings_fields_that_there_are() -> None:
    """`hint` became `note` (what happens if it stays so) and `help` (what to do)."""
    from nodelint.model.finding import Finding

    for path in sorted((ROOT / "rules").glob("*.py")):
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                unknown = {keyword.arg for keyword in node.keywords} - {*Finding._fields, None}
                assert not unknown, f"{path.name}:{node.lineno}: Finding has no {unknown}: {Finding._fields}"


FUNCTION_WORDS = """
of at to in on by for from as is are be and or not no with without each one all any some other others more told said
asked kept held made meant named shown given seen found had has have written where what which who it its they them
that this these those there here how why when
"""

WRITTEN = [
    *MODULES,
    *(file for folder in ("tools", "rules", "tests", "benchmarks") for file in (ROOT / folder).rglob("*.py")),
]


def vague_names() -> set[str]:
    """Functions and classes that no word of their names tells apart, each with its file."""
    known, found = set(FUNCTION_WORDS.split()), set()
    for path in WRITTEN:
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                words = [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", node.name)]
                idiom = "tests" in path.parts and node.name in ("at", "has", "here", "on")
                idiom = idiom or (path.name == "gap.py" and node.name == "at")  # the field of all that has a place
                if not node.name.startswith("__") and known.issuperset(words) and not idiom:
                    found.add(f"{path.relative_to(ROOT).as_posix()}: {node.name}")
    return found


@pytest.mark.slow
def test_a_name_has_a_verb_or_a_noun() -> None:
    assert not vague_names(), "give it a verb and its object, or a noun"


VAGUE = frozenset({"each", "one", "some", "said", "told", "asked", "held", "kept", "beside"})


def vague_variables() -> set[str]:
    """Parameters and variables of functions that are named by no noun, each with its place."""
    found = set()
    for path in WRITTEN:
        for node in nodes(path):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if isinstance(node, ast.Name) and stored else getattr(node, "arg", None)
            if name in VAGUE and (stored or isinstance(node, ast.arg)):
                found.add(f"{path.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 0)}: {name}")
    # The fields of a class are read with the noun in front: `plan.kept`, `script.told`.
    return found - class_fields()


def class_fields() -> set[str]:
    """The fields that a class declares, as `vague_variables` names them."""
    return {
        f"{path.relative_to(ROOT).as_posix()}:{field.lineno}: {field.target.id}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
        for field in node.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }


def test_a_variable_is_named_by_a_noun() -> None:
    assert not vague_variables(), "name it by what it is: `pool`, `requirements`, `message`"


DEFECTS = frozenset({"undiscovered-memory"})
"""Defects of Karpenter in `data/versions.json` that bear the name of the rule about them."""


def test_the_engine_names_no_rule() -> None:
    """What it has to know of a rule is a tag: a rule of a team's own can have it, too."""
    names = {path.stem for path in (ROOT / "rules").glob("*.py") if "-" in path.stem} - DEFECTS
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {node.value}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    }
    assert found == set()


def test_each_tag_is_declared_and_has_a_rule() -> None:
    used = {tag for rule in load_bundled().values() for tag in rule.tags}
    assert used == set(TAGS)


READING = frozenset(
    {"gate", "open", "scandir", "walk", "listdir", "glob", "read_text", "read_bytes", "isfile", "isdir"}
)


DECIDING = ("apiserver", "convert", "drift", "ec2.catalog", "karpenter", "plan")
"""Rooms and modules that decide something about manifests."""

ASKED = {
    "_image_changes.py": ("plan.image_moves",),
    "_lint_setup.py": ("plan.fix_drift",),
    "_live.py": ("drift.cluster", "drift.cluster_pods"),
    "_plan_run.py": ("plan.compare", "plan.read_side"),
    "_refused.py": ("apiserver.find_faults",),
    "hash.py": ("drift.object_hashes",),
    "refresh.py": ("ec2.catalog",),
}
"""What commands ask of these: one question, whose answer they print."""


def test_reports_read_no_disk_and_commands_decide_nothing_about_manifests() -> None:
    """A report prints what it is given; the language server has to come to the same without a command."""
    for path in (PACKAGE / "report").glob("*.py"):
        used = {node.attr for node in nodes(path) if isinstance(node, ast.Attribute)}
        used |= {node.id for node in nodes(path) if isinstance(node, ast.Name)}
        assert not used & READING, path.name
    names = module_names()
    for path in (PACKAGE / "commands").glob("*.py"):
        questions = ASKED.get(path.name, ())
        modules = {module.removeprefix("nodelint.") for module in imports(path)}
        deciding = {module for module in modules if module.startswith(tuple(f"{room}." for room in DECIDING))}
        deciding |= modules & set(DECIDING) & {name for name in names if not names[name].name.startswith("__")}
        left = {module for module in deciding if not f"{module}.".startswith(tuple(f"{name}." for name in questions))}
        assert left == set(), path.name


CLEARS = (
    r"All good|No node is replaced|no pool takes it$|[Nn]othing to [a-z]+: no |nothing to check|^No failures"
    r"|nothing is lost|no node is needed|[Nn]o findings$"
)


def test_one_module_says_that_all_is_well() -> None:
    """It is given what could not be judged: a sentence elsewhere may be said of files that nobody read."""
    rooms = {"report", "commands", "fit", "lsp", "mcp", "migrate", "plan", "policy", "triage", "upgrade", "why"}
    saying = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] in rooms
        for _, text in code_texts(path)
        if re.search(CLEARS, text) and "Exit codes" not in text
    }
    assert saying == {"report/all_clear.py", "commands/clean.py"}, "`clean` reads no manifests"


def test_no_text_stands_alone() -> None:
    """A second line of a text without parentheses around both is a statement of its own, and the text is cut off."""
    cut_off = [
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}"
        for path in [*MODULES, *(ROOT / "tools").rglob("*.py"), *(ROOT / "rules").glob("*.py")]
        for lines in [path.read_text(encoding="utf-8").splitlines()]
        for node in nodes(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.JoinedStr)
        if not re.search(r'"""|\.\.\.', lines[node.lineno - 1])
    ]
    assert cut_off == []
