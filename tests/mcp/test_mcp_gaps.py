"""What cannot be judged is named to agents, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.inventory.test_gaps_everywhere import tree


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Kustomize, a base elsewhere", "Terraform, values that are not known"])
def test_every_tool_names_the_gap(tmp_path: Path, name: str) -> None:
    server = pytest.importorskip("nodelint.mcp.server", reason="needs the package `mcp`")
    path = tree(tmp_path, name)
    for tool in ("check", "fit", "hash"):
        answer = server.call(tool, {"paths": ["new"]}, str(tmp_path))
        assert not answer.is_error, answer.content
        assert f"new/{path}" in json.dumps(answer.structured_content), (tool, answer.structured_content)
