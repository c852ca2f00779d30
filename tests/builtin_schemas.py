"""Schemas of others' files, such as GitHub's workflows, that come with check-jsonschema."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner


def hold_to(schema: str, path: Path) -> None:
    """Have a file checked against a schema by its name; skips the test where check-jsonschema is not installed."""
    if find_spec("check_jsonschema") is None:
        pytest.skip("check-jsonschema is not installed")
    from check_jsonschema import main

    done = CliRunner().invoke(main, ["--builtin-schema", schema, str(path)])
    assert done.exit_code == 0, done.output
