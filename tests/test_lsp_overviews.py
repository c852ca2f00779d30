"""What the language server shows of whole objects, and in texts that hold nothing yet."""

from __future__ import annotations

from pathlib import Path

import yaml
from lsprotocol import types

from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.lint.rule import bundled, load
from nodelint.model.releases import NEWEST
from nodelint.source import Source

from .test_lsp import Editor, editor, repository

__all__ = ["editor", "repository"]

POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: web
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7a]}
  limits: {cpu: 1000}
"""


def test_the_name_of_a_pool_explains_it_in_short(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL)
    said = editor.hover(uri, "web")
    assert "**" in said and " types, from $" in said and "of 1,3" in said
    assert "`karpenter.k8s.aws/instance-family In m7i, m7a`" in said


def test_a_lens_and_a_symbol_say_what_a_pool_can_launch(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL)
    text = types.TextDocumentIdentifier(uri)
    ask = editor.client.text_document_code_lens_async(types.CodeLensParams(text))
    (lens,) = editor.runner.run(editor._ask(ask))
    assert lens.range.start.line == 1 and " types, from $" in lens.command.title
    ask = editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(text))
    (symbol,) = editor.runner.run(editor._ask(ask))
    assert (symbol.name, symbol.detail) == ("NodePool web", lens.command.title)
    assert symbol.selection_range.start == types.Position(3, 8)


def test_an_empty_text_offers_what_an_object_begins_with(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "new.yaml", "\n")
    assert {"NodePool", "EC2NodeClass", "apiVersion: karpenter.sh/v1"} <= set(editor.offered(uri, "|\n"))
    assert editor.offered(uri, "apiVersion: |\n") == ["karpenter.sh/v1", "karpenter.k8s.aws/v1"]
    assert editor.offered(uri, "apiVersion: karpenter.sh/v1\nkind: |\n") == ["NodePool"]
    assert editor.offered(uri, "apiVersion: karpenter.sh/v1\nki|\n") == ["kind"]
    assert "NodePool" in editor.offered(uri, f"{POOL}---\nNo|\n")
    assert editor.offered(uri, "a: b\nspec:\n  x|\n") == []


def test_the_skeletons_have_no_error(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "new.yaml", "\n")
    found = {item.label: item for item in editor.complete(uri, 0).items}
    texts = []
    for name in ("NodePool", "EC2NodeClass"):
        edit = found[name].text_edit
        assert edit is not None and yaml.safe_load(edit.new_text)["kind"] == name
        texts.append(edit.new_text)
    source = Source.from_text("new.yaml", "---\n".join(texts).replace("CLUSTER", "main"))
    assert [r.finding.message for r in lint([source], LintRequest(Target(NEWEST), load(bundled()))).results] == []


def test_a_configuration_that_cannot_be_used_silences_nothing(editor: Editor, repository: Path) -> None:
    (repository / "nodelint.yaml").write_text("kubernetes-version: [\n")
    uri = editor.open(repository / "pool.yaml", POOL.replace("m7i, m7a", "m7i, m7*"))
    assert "wildcard-value" in editor.codes(uri)


def test_aliases_are_offered_with_the_newest_version_known(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "class.yaml", "\n")
    text = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n  amiSelectorTerms:\n    - alias: |\n"
    assert editor.offered(uri, text)[0].startswith("al2023@v2026")
