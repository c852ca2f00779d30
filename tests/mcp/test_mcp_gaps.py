"""What cannot be judged is named to agents, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.inventory.test_gaps_everywhere import tree
from tests.mcp.test_mcp import talk


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Kustomize, a base elsewhere", "Terraform, values that are not known"])
def test_every_tool_names_the_gap(tmp_path: Path, name: str) -> None:
    path = tree(tmp_path, name)

    async def ask(client: Any) -> None:
        for tool in ("check", "fit", "hash"):
            answer = await client.call_tool(tool, {"paths": ["new"]})
            assert not answer.is_error, answer.content
            assert f"new/{path}" in json.dumps(answer.structured_content), (tool, answer.structured_content)

    talk(tmp_path, ask)
