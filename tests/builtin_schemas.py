"""Schemas of others' files, such as GitHub's workflows, that come with check-jsonschema."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT


def hold_to(schema: str, path: Path) -> None:
    """Have a file checked against a schema by its name; skips the test where check-jsonschema is not installed.

    In a process of its own: it needs all of the parser, of which nodelint loads a part.
    """
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed")
    program = "import tests, check_jsonschema; check_jsonschema.main()"
    command = [sys.executable, "-c", program, "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
