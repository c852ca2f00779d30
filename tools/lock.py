"""Write requirements/*.txt: the exact packages, with hashes, that CI, the action and the image install.

    python tools/lock.py              # after a change of dependencies in pyproject.toml
    python tools/lock.py --upgrade    # to take the newest versions
    python tools/lock.py --check      # exit code 1 where pyproject.toml has changed since

`requirements/nodelint.txt` is what nodelint runs with, policies in CEL included, `build.txt` what builds its wheel,
and `dev.txt` both and what develops and tests it, all in the same versions. Each holds for every platform and each
Python from 3.11. `uv` resolves (`pip install -e '.[supply]'` brings it); `pip install --require-hashes --no-deps -r
FILE` installs.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
LOCKS = ("dev.txt", "nodelint.txt", "build.txt")
"""The files. Later ones take the versions of the first, which holds all of them."""
EXTRAS = ("dev", "docs", "supply")
OLDEST_PYTHON = "3.11"


def declared(project: dict[str, Any], name: str) -> list[str]:
    """Return the requirements of pyproject.toml from which a lock is made. Those of extras are not resolved."""
    builders: list[str] = project["build-system"]["requires"]
    runs: list[str] = project["project"]["dependencies"]
    if name == "build.txt":
        return builders
    extras = project["project"]["optional-dependencies"]
    if name == "nodelint.txt":
        return [*runs, *extras["cel"]]
    return [*builders, *runs, *(requirement for extra in extras.values() for requirement in extra)]


def heading(project: dict[str, Any], name: str) -> str:
    """Return the first lines of a lock, with a digest of the requirements from which it was made."""
    parts = [project["project"]["requires-python"], *sorted(declared(project, name))]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return f"# Made by `python tools/lock.py` from pyproject.toml ({digest}): do not edit.\n"


def stale(project: dict[str, Any], folder: Path = FOLDER) -> list[str]:
    """Return the locks that are missing, or that were made from requirements that differ from those of
    pyproject.toml.
    """

    def agrees(path: Path) -> bool:
        return path.is_file() and path.read_text(encoding="utf-8").startswith(heading(project, path.name))

    return [name for name in LOCKS if not agrees(folder / name)]


def write(project: dict[str, Any], name: str, *, upgrade: bool) -> None:
    """Resolve one lock and write it. A version that still fits stays, unless `upgrade` is true."""
    path, first = FOLDER / name, FOLDER / LOCKS[0]
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
    command += ["--no-annotate", "--no-header"]
    command += ["--python-version", OLDEST_PYTHON, "--output-file", str(path), "-"]
    requirements = declared(project, name)
    if path == first:
        command += ["pyproject.toml", *(part for extra in EXTRAS for part in ("--extra", extra))]
        requirements = project["build-system"]["requires"]
    else:
        command += ["--constraint", str(first)]
    command += ["--upgrade"] if upgrade else []
    subprocess.run(command, cwd=ROOT, input="\n".join(requirements), text=True, check=True)
    path.write_text(heading(project, name) + path.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> int:
    """Check or write all locks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a lock is stale")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if options.check:
        old = stale(project)
        for name in old:
            print(f"requirements/{name} does not agree with pyproject.toml: run `python tools/lock.py`")
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name in LOCKS:
        write(project, name, upgrade=options.upgrade)
    return 0


if __name__ == "__main__":
    sys.exit(main())
