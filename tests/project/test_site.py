"""The site shows examples as a reader needs them: good ones can be copied, and output has its colours."""

from __future__ import annotations

import importlib.util
from types import ModuleType, SimpleNamespace

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "tools" / "site_hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_good_example_is_yaml_with_the_changed_lines_marked(hooks: ModuleType) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="rules/a.md"))
    text = "```diff good karpenter=1.3.0\n a: 1\n-b: 2\n+b: 3\n+c: 4\n```\n\n```yaml bad\na: 1\n```\n"
    assert hooks.on_page_markdown(text, page, None, None) == (
        '```yaml title="Good example 1, Karpenter 1.3.0" hl_lines="2 3"\na: 1\nb: 3\nc: 4\n```\n\n'
        '```yaml title="Bad example 1"\na: 1\n```\n'
    )


def test_no_example_of_a_rule_keeps_the_signs_of_a_diff(hooks: ModuleType) -> None:
    for path in sorted((ROOT / "docs" / "rules").glob("*.md")):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=f"rules/{path.name}"))
        shown = hooks.on_page_markdown(path.read_text(encoding="utf-8"), page, None, None)
        assert "```diff" not in shown and "```yaml bad" not in shown and "```yaml good" not in shown, path.name


def test_output_has_the_colours_of_a_terminal(hooks: ModuleType) -> None:
    lines = [
        "error[a-b]: no",
        "  --&gt; x.yaml:1:2",
        "   11 -   old",
        "   11 +   new",
        "  fix (unsafe: why):",
        "a - b",
    ]
    html = (
        '<div class="language-text highlight"><pre><span></span><code>' + "\n".join(lines) + "\n</code></pre></div>"
    )
    shown = hooks.on_page_content(html, None, None, None)
    for words, name in (
        ("error[a-b]", "error"),
        ("  --&gt; x.yaml:1:2", "place"),
        ("   11 -   old", "del"),
        ("   11 +   new", "ins"),
        ("  fix (unsafe: why):", "good"),
    ):
        assert f'<span class="nl-{name}">{words}</span>' in shown
    assert "\na - b\n" in shown
    other = html.replace("language-text", "language-yaml")
    assert hooks.on_page_content(other, None, None, None) == other


def test_the_navigation_names_each_page_once() -> None:
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2].partition("\n\n")[0].splitlines()
    pages = [line.split()[-1] for line in lines if line.endswith(".md")]
    assert len(pages) > 20
    assert sorted(pages) == sorted(set(pages))
