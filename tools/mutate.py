"""Put slips into the code, one at a time, and say which of them no test notices.

    python tools/mutate.py --against origin/main            the lines that differ from a revision
    python tools/mutate.py nodelint/drift/hashes.py         whole files
    python tools/mutate.py --sample 60 --seed 3 nodelint rules

A slip is what a tired developer writes: `<` for `<=`, `and` for `or`, a number that is one too large, a condition
turned around. Each is tried in a copy of the checkout with the test files of the changed module and of its room; a
slip that lives through these is tried with the whole suite under `--whole`. `tools/accepted_mutants.txt` lists slips
that change nothing, each with its reason. Ends with 1 if any other slip lives.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ACCEPTED = ROOT / "tools" / "accepted_mutants.txt"
CODE = ("nodelint", "rules")
SECONDS = 300
MANY = 12
"""Test files above which a room is one that nearly every test uses: they say little about one of its modules."""
FEW = 5
"""Test files below which those of modules that import a module at second hand speak for it, too."""
_FARTHEST = 4
SLIPS = "test_slips.py"
RULE_LAWS = "tests/laws/test_rules.py"
REST = ("test_rules.py", "test_cli.py")
"""What goes through nearly everything, for a module of which no test file speaks."""
COMMON = 80
"""Test files above which a word, such as `json`, is not a command's or format's alone."""
_OUTPUT = ("text", "screens", "stories", "readme", "docs", "cli", "ways_out", "unread", "plan_answers")
_IMAGE_RULES = ("image_rules", "image_rules_facts", "stories", "posted_mistakes", "controller", "upgrade", "rules")
AFAR = {
    "nodelint.report": _OUTPUT,
    "nodelint.lsp": ("completion", "built"),
    "nodelint.karpenter.images": _IMAGE_RULES,
}
"""Rooms that tests reach through a command, an editor's session or rules, without naming them; with those tests."""

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "startswith": "endswith", "endswith": "startswith"}


class Mutant(NamedTuple):
    """A slip: the characters `start` to `end` of a file become `text`."""

    path: str
    line: int
    start: int
    end: int
    was: str
    text: str

    @property
    def key(self) -> str:
        """Return the text that names the slip in the list of accepted ones. It has no line number, which edits would
        change.
        """
        return f"{self.path}: {' '.join(self.was.split())} -> {' '.join(self.text.split())}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.was.split())} -> {' '.join(self.text.split())}"


def mutants_of(path: str, text: str) -> list[Mutant]:
    """Return every slip that is possible in a file."""
    made = _Slips(path, text)
    for node in ast.walk(ast.parse(text)):
        made.add(node)
    return made.found


class _Slips:
    """The slips of a file. Places are offsets in bytes, because columns of `ast` count bytes."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.raw = text.encode()
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line.encode()))
        self.found: list[Mutant] = []

    def add(self, node: ast.AST) -> None:
        """Add the slips that begin at a node of the tree."""
        if isinstance(node, ast.If | ast.IfExp):
            self._put(node.test, f"(not ({self._source(node.test)}))")
        elif isinstance(node, ast.Continue | ast.Break):
            self._put(node, "break" if isinstance(node, ast.Continue) else "continue")
        elif isinstance(node, ast.Call) and (name := _called(node.func)) in _CALLED:
            end = self._span(node.func)[1]
            self._put(node.func, _CALLED[name], start=end - len(name))
        elif isinstance(node, ast.expr):
            self._add_operator(node)

    def _add_operator(self, node: ast.expr) -> None:
        source = self._source
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            self._put(node, f"{source(node.left)} {_COMPARED[type(node.ops[0])]} {source(node.comparators[0])}")
        elif isinstance(node, ast.BoolOp):
            word = " or " if isinstance(node.op, ast.And) else " and "
            self._put(node, "(" + word.join(f"({source(value)})" for value in node.values) + ")")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._put(node, source(node.operand))
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            self._put(node, str(node.value + 1))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sign = "-" if isinstance(node.op, ast.Add) else "+"
            self._put(node, f"{source(node.left)} {sign} {source(node.right)}")

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.lines[node.lineno - 1] + node.col_offset, self.lines[node.end_lineno - 1] + node.end_col_offset

    def _source(self, node: ast.expr | ast.stmt) -> str:
        first, last = self._span(node)
        return self.raw[first:last].decode()

    def _put(self, node: ast.expr | ast.stmt, new: str, start: int | None = None) -> None:
        first, end = self._span(node)
        first = first if start is None else start
        self.found.append(Mutant(self.path, node.lineno, first, end, self.raw[first:end].decode(), new))


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def changed_lines(revision: str) -> dict[str, set[int]]:
    """Return the changed lines of the code since a revision, by file."""
    shown = subprocess.run(
        ["git", "diff", "--unified=0", "--no-ext-diff", revision, "--", *CODE],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines: dict[str, set[int]] = {}
    path = ""
    for line in shown.stdout.splitlines():
        if line.startswith("+++ b/"):
            path = line[6:]
        elif found := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(found[1]), int(found[2] or 1)
            lines.setdefault(path, set()).update(range(first, first + count))
    return lines


def tests_of(path: str, root: Path = ROOT) -> list[str]:
    """Return the test files of a module or a rule: first those that name it, then those of its package, then of its
    users.

    A test file belongs to a package if it imports from the package or is named after it. For a rule, the tests of
    all rules come first.
    """
    tests = sorted((root / "tests").rglob("test_*.py"), key=lambda file: file.name)
    places = {file.name: file.relative_to(root).as_posix() for file in tests}
    texts = {file.name: file.read_text(encoding="utf-8") for file in tests}
    if path.startswith("rules/"):
        return [RULE_LAWS, *(places[file] for file, text in texts.items() if Path(path).stem in text)]
    modules = {_module(file.relative_to(root)): file for file in sorted((root / "nodelint").rglob("*.py"))}
    code = {module: file.read_text(encoding="utf-8") for module, file in modules.items()}
    found: dict[str, None] = {}
    seen = {_module(Path(path))}
    pending = list(seen)
    for distance in range(_FARTHEST):
        if distance > 1 and len(found) >= FEW:
            break
        for module in pending:
            found |= dict.fromkeys(_tests_of_module(module, texts))
        if distance == 0:
            found |= dict.fromkeys(_tests_from_afar(_module(Path(path)), texts))
        pending = [other for other in code if other not in seen and any(_imports(code[other], m) for m in pending)]
        seen.update(pending)
    chosen_files = dict.fromkeys((*(found or REST), SLIPS))
    return [places[file] for file in chosen_files if file in texts]


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(text: str, module: str) -> bool:
    room, _, name = module.rpartition(".")
    return re.search(rf"from {re.escape(module)} import|from {re.escape(room)} import .*\b{name}\b", text) is not None


def _tests_of_module(module: str, texts: dict[str, str]) -> list[str]:
    room, _, name = module.rpartition(".")
    words = (module, f"from {room} import {name}", f"{name}.py")
    exact = [file for file, text in texts.items() if any(word in text for word in words)]
    near = [file for file, text in texts.items() if re.search(rf"(from|import) {re.escape(room)}\b(?!\.)", text)]
    titles = {room.rpartition(".")[2], name.replace("_", "")}
    titled = [file for file in texts if any(title in file.replace("_", "") for title in titles)]
    return [*exact, *titled, *(near if len(near) <= MANY else ())]


def _tests_from_afar(module: str, texts: dict[str, str]) -> list[str]:
    """Return the tests of a package that they reach only through others. Tests that use the command or format of the
    module come first.
    """
    room, _, name = module.rpartition(".")
    room = room if room in AFAR else module
    words = name.split("_") if room == "nodelint.report" else ()
    asking = [[file for file, text in texts.items() if f'"{word}"' in text] for word in words]
    chosen_by_word = [file for files in asking if len(files) <= COMMON for file in files]
    return [*chosen_by_word, *(f"test_{title}.py" for title in AFAR.get(room, ()))]


def lives(mutant: Mutant, copy: Path, whole: bool) -> bool:
    """Return whether no test fails with the slip in a copy of the checkout."""
    file = copy / mutant.path
    good = file.read_bytes()
    file.write_bytes(good[: mutant.start] + mutant.text.encode() + good[mutant.end :])
    try:
        runs = [tests_of(mutant.path, copy)]
        if mutant.path.startswith("rules/"):
            name = Path(mutant.path).stem
            runs = [
                [RULE_LAWS, "-k", name],
                [test_file for test_file in runs[0] if "test_rules" not in test_file],
            ]
        runs = [run for run in runs if run]
        if whole or not runs:
            runs.append([])
        return all(_passes(copy, run) for run in runs)
    finally:
        file.write_bytes(good)


def _passes(copy: Path, tests: Sequence[str]) -> bool:
    env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    # Exit code 5: none of the tests was chosen, so none has noticed.
    return done.returncode in (0, 5)


def accepted() -> set[str]:
    """Return the slips that change nothing, as the list has them: one line each, with the reason after `#`."""
    if not ACCEPTED.exists():
        return set()
    lines = ACCEPTED.read_text(encoding="utf-8").splitlines()
    return {line.split("  #")[0].strip() for line in lines if line.strip() and not line.startswith("#")}


def chosen(paths: Sequence[str], against: str | None) -> list[Mutant]:
    """Return the slips of some files, or of the lines that changed since a revision."""
    lines = changed_lines(against) if against else {}
    files = sorted(lines) if against else sorted(_files(paths or CODE))
    known = accepted()
    found = []
    for path in files:
        file = ROOT / path
        if file.suffix == ".py" and file.exists():
            made = mutants_of(path, file.read_text(encoding="utf-8"))
            found += [m for m in made if (not against or m.line in lines[path]) and m.key not in known]
    return found


def _files(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        at = ROOT / path
        for file in sorted(at.rglob("*.py")) if at.is_dir() else [at]:
            yield file.relative_to(ROOT).as_posix()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--against", metavar="REVISION")
    parser.add_argument("--sample", type=int, metavar="N", help="try only N of them, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--whole", action="store_true", help="try what lives with the whole suite, too")
    parser.add_argument("--list", action="store_true", help="print the slips and try none")
    options = parser.parse_args()
    mutants = chosen(options.paths, options.against)
    if options.sample is not None and options.sample < len(mutants):
        mutants = sorted(random.Random(options.seed).sample(mutants, options.sample))
    if options.list:
        print("\n".join(map(str, mutants)))
        return
    with tempfile.TemporaryDirectory() as folder:
        copies: Queue[Path] = Queue()
        for number in range(min(options.jobs, len(mutants))):
            copy = Path(folder) / str(number)
            skipped = shutil.ignore_patterns(".git", ".venv", "node_modules", "site", ".*_cache", "__pycache__")
            shutil.copytree(ROOT, copy, ignore=skipped, symlinks=True)
            (copy / ".git").mkdir()  # else the copy belongs to the repository around it
            copies.put(copy)

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return lives(mutant, copy, options.whole)
            finally:
                copies.put(copy)

        alive = []
        with ThreadPoolExecutor(max(1, copies.qsize())) as pool:
            for number, (mutant, living) in enumerate(zip(mutants, pool.map(tried, mutants), strict=True), 1):
                print(f"{number}/{len(mutants)} {'LIVES' if living else 'dies '} {mutant}", flush=True)
                if living:
                    alive.append(mutant)
    print(f"\n{len(mutants)} slips, {len(alive)} live")
    for mutant in alive:
        print(f"  {mutant}")
    sys.exit(1 if alive else 0)


if __name__ == "__main__":
    main()
