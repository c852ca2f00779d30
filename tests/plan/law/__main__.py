"""Try the law of a plan on many trees: `python -m tests.plan.law --count 500 [--seed 1] [--form chart] [--git]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from tests import in_process
from tests.plan.law import FORMS, Run, find_breaks
from tests.repositories import write_files


def main() -> None:
    """Print each change that breaks the law, and how many were tried."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--form", choices=FORMS)
    parser.add_argument("--git", action="store_true", help="compare two commits")
    parser.add_argument("--keep", help="a folder for the trees of changes that break the law")
    arguments = parser.parse_args()
    tried, broken = Counter[str](), Counter[str]()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        form = arguments.form or list(FORMS)[seed % len(FORMS)]
        tree = FORMS[form](Random(seed))
        with tempfile.TemporaryDirectory() as folder:
            for found in find_breaks(_run(folder), Path(folder, "a"), tree, arguments.git, tried):
                broken[found.kind] += 1
                print(f"{seed} {found.kind} {tree.about}\n    {found.change}\n    {found.output}", flush=True)
                if arguments.keep:
                    for side, files in (("old", tree.files), ("new", found.files)):
                        write_files(Path(arguments.keep, f"{seed}-{broken.total()}", side), files)
    print(f"tried {dict(tried)}, broken {dict(broken)}")
    sys.exit(bool(broken))


def _run(folder: str) -> Run:
    """Return what runs the command in a home of its own."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NODELINT_"))}
    env |= {"NODELINT_CACHE_DIR": os.path.join(folder, ".cache"), "NODELINT_FAIL_ON_FAULT": "1"}
    return lambda *args, cwd: in_process.run(args, cwd, env)


main()
