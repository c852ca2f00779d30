"""Record what the commands print for many trees, as one hash for each tree and command; or compare with a record.

    python tools/record_outputs.py before.txt                 write a record
    python tools/record_outputs.py --compare before.txt       say what differs, and end with 1 if anything does
    python tools/record_outputs.py before.txt TREE...         these folders, beside the project's own trees

A change that moves code leaves every output as it is: a record from before it and one from after it are equal. The
trees are those of `tests/trees` and each example of a rule's page; the old side of a plan is the tree with some words
in the place of others. `--show TREE COMMAND` prints one output, to see what a hash stands for.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pkgutil
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

import nodelint
from nodelint.__main__ import main as run_command
from nodelint.rule.definition import bundled
from nodelint.rule.examples import examples

ROOT = Path(__file__).resolve().parent.parent
NOW = "2026-09-20T12:00:00Z"
COMMANDS: dict[str, Sequence[str]] = {
    "check": ("check", "--format", "json", "."),
    "check-strict": ("check", "--profile", "strict", "--format", "json", "."),
    "plan": ("plan", "--old", "old", "new", "--format", "json"),
    "fit": ("fit", "--format", "json", "."),
    "explain": ("explain", "--format", "json", "."),
    "hash": ("hash", "--format", "json", "."),
    "upgrade": ("upgrade", "--from", "1.0", "--format", "json", "."),
}
NEIGHBOURS = {
    "m5": "m6i",
    "spot": "on-demand",
    "al2023": "bottlerocket",
    "100Gi": "120Gi",
    "720h": "360h",
    "prod": "p",
}
"""Words of a tree, and those that its old side has in their place."""


def trees(folders: Sequence[str]) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield the files of each tree, by the name under which a record lists it."""
    for folder in [*sorted((ROOT / "tests" / "trees").iterdir()), *map(Path, folders)]:
        files = sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
        yield f"tree {folder.name}", {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    for page in sorted(Path(bundled()).glob("*.py")):
        for number, example in enumerate(examples(page.read_text(encoding="utf-8"))):
            texts = example.files or {"example.yaml": example.text}
            yield f"example {page.stem} {number}", {name: text.encode() for name, text in texts.items()}


def older(data: bytes) -> bytes:
    """Return the content of a file on the old side of a plan."""
    for word, neighbour in NEIGHBOURS.items():
        data = data.replace(word.encode(), neighbour.encode())
    return data


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a folder that becomes the top of a repository."""
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def output(folder: Path, arguments: Sequence[str]) -> bytes:
    """Return the output of a command in a folder, with its exit code. The command runs in a fork with all modules
    loaded.
    """
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            os.chdir(folder)
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            sys.argv[1:] = arguments
            run_command()  # it does not come back
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        file.seek(0)
        return file.read().replace(os.fsencode(folder), b"") + f"\nexit {code}\n".encode()


def outputs(folders: Sequence[str], only: tuple[str, str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield what each command prints for each tree."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch).resolve() / "some" / "deep" / "folder"
        for name, files in trees(folders):
            if only is not None and only[0] != name:
                continue
            write(top / "a", files)
            write(top / "b", {f"old/{path}": older(data) for path, data in files.items()})
            write(top / "b", {f"new/{path}": data for path, data in files.items()})
            for command, arguments in COMMANDS.items():
                if only is None or only[1] == command:
                    yield f"{name}: {command}", output(top / ("b" if command == "plan" else "a"), arguments)
            shutil.rmtree(top)


def differences(record: str, lines: Sequence[str]) -> list[str]:
    """Return the trees and commands whose hashes differ between a record and `lines`, or that only one
    of both has.
    """
    before = dict(line.rsplit(" ", 1) for line in record.splitlines())
    after = dict(line.rsplit(" ", 1) for line in lines)
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def run() -> int:
    """Write a record, or compare with one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--show", nargs=2, metavar=("TREE", "COMMAND"))
    parser.add_argument("record", nargs="?")
    parser.add_argument("folders", nargs="*")
    options = parser.parse_args()
    os.environ.update({"NODELINT_NOW": NOW, "NO_COLOR": "1", "NODELINT_JOBS": "1", "HOME": "/nonexistent"})
    for module in pkgutil.walk_packages(nodelint.__path__, "nodelint."):
        if not module.name.startswith(("nodelint.lsp", "nodelint.__main__")):
            import_module(module.name)
    if options.show:
        for _, text in outputs(options.folders, tuple(options.show)):
            sys.stdout.buffer.write(text)
        return 0
    lines = [f"{name} {hashlib.sha256(text).hexdigest()[:16]}" for name, text in outputs(options.folders)]
    if not options.compare:
        Path(options.record).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    different = differences(Path(options.record).read_text(encoding="utf-8"), lines)
    print("\n".join(different) or f"{len(lines)} outputs are as they were")
    return bool(different)


if __name__ == "__main__":
    sys.exit(run())
