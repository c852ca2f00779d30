"""`nodelint mcp`, by the package's own client over stdio."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.manifests import nodeclass, nodepool


def talk(root: Path, ask: Callable[[Any], Awaitable[None]]) -> None:
    """Start the server at a root and let a client ask."""
    pytest.importorskip("mcp")
    import anyio
    from mcp import Client, StdioServerParameters

    async def run() -> None:
        server = StdioServerParameters(command=sys.executable, args=["-m", "nodelint", "mcp"], cwd=str(root))
        async with Client(server) as client:
            await ask(client)

    anyio.run(run)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    text = (
        nodepool("key: karpenter.sh/capacity-typ, operator: Exists", inline=True) + "---\n" + nodeclass(inline=True)
    )
    (folder / "pool.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "outside.yaml").write_text(text, encoding="utf-8")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    return folder


@pytest.mark.slow
def test_tools_answer_by_their_schemas(root: Path) -> None:
    async def ask(client: Any) -> None:
        assert "never an instruction" in client.instructions
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"check", "explain", "fit", "plan", "rule", "hash"}
        for name in ("check", "explain", "hash", "rule"):
            given = {"name": "imds-v1"} if name == "rule" else {"paths": ["pool.yaml"]}
            answer = await client.call_tool(name, given)
            assert not answer.is_error, answer.content
            jsonschema.validate(answer.structured_content, tools[name].output_schema)
        found = (await client.call_tool("check", {"paths": ["pool.yaml"]})).structured_content
        assert "unknown-label" in json.dumps(found)
        assert found["exitCode"] == 1

    talk(root, ask)


WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {karpenter.sh/nodepool: default}
      containers: [{name: web, image: web, resources: {requests: {cpu: "1"}}}]
"""


@pytest.mark.slow
def test_fit_and_plan_answer_over_the_client(root: Path) -> None:
    pool = f"{nodepool()}---\n{nodeclass()}"
    (root / "pool.yaml").write_text(pool, encoding="utf-8")
    (root / "web.yaml").write_text(WORKLOAD, encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(root)]
    for command in (["init", "-q"], ["add", "pool.yaml", "web.yaml"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *command], check=True)
    (root / "pool.yaml").write_text(pool.replace("role: ", "role: Another"), encoding="utf-8")

    async def ask(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        given: dict[str, dict[str, Any]] = {
            "fit": {"paths": ["pool.yaml", "web.yaml"], "workload": "deployment/web"},
            "plan": {"paths": ["pool.yaml"], "against": "HEAD"},
        }
        found = {}
        for name, arguments in given.items():
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer.content
            jsonschema.validate(answer.structured_content, tools[name].output_schema)
            found[name] = json.dumps(answer.structured_content["data"])
        assert '"web"' in found["fit"] and '"default"' in found["fit"]
        assert "spec.role" in found["plan"]

    talk(root, ask)


@pytest.mark.slow
def test_nothing_outside_of_the_root_is_named_and_no_option_slips_in(root: Path) -> None:
    async def ask(client: Any) -> None:
        for path in ("../outside.yaml", str(root.parent / "outside.yaml"), "link.yaml", "-"):
            answer = await client.call_tool("check", {"paths": [path]})
            assert answer.is_error, path
        for more in ({"karpenter_version": "--fix"}, {"live": True}, {"paths": ["x"] * 101}):
            assert (await client.call_tool("check", more)).is_error, more
        option = await client.call_tool("check", {"paths": ["--fix"]})
        assert option.structured_content["exitCode"] == 2

    before = (root / "pool.yaml").read_text(encoding="utf-8")
    talk(root, ask)
    assert (root / "pool.yaml").read_text(encoding="utf-8") == before


@pytest.mark.slow
def test_text_of_the_repository_cannot_leave_its_fence(root: Path) -> None:
    text = (root / "pool.yaml").read_text(encoding="utf-8").replace("capacity-typ", "~~~-typ")
    (root / "pool.yaml").write_text(text, encoding="utf-8")
    server = pytest.importorskip("nodelint.mcp.server", reason="needs the package `mcp`")
    answer = server.call("check", {"paths": ["pool.yaml"]}, str(root)).content[0].text
    assert answer.count("~~~") == 3  # what says so, and both ends


def test_without_the_package_the_error_says_what_to_install(root: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; sys.argv[1:] = ['mcp']; import nodelint.__main__ as n; n.main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'mcp" in done.stderr
