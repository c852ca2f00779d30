"""What the language server shows of whole objects, and in texts that hold nothing yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from lsprotocol import types

from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.project import Project
from nodelint.lsp.summary import count_text
from nodelint.model.manifest import NodePool
from nodelint.model.releases import NEWEST
from nodelint.rule.definition import Rule, bundled, load
from nodelint.rule.examples import examples
from nodelint.text import Source
from tests.lsp.test_lsp import Editor, editor, repository
from tests.manifests import nodepool
from tests.plain_yaml import load_yaml

__all__ = ["editor", "repository"]

Nodelint = Callable[..., CompletedProcess[str]]

POOL = nodepool(
    "key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i, m7a]",
    name="web",
    spec="  limits: {cpu: 1000}\n",
)


def test_the_name_of_a_pool_explains_it_in_short(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL)
    shown = editor.hover(uri, "web")
    assert "**" in shown and " types, from $" in shown and "of 1,3" in shown
    assert "`karpenter.k8s.aws/instance-family In m7i, m7a`" in shown


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
        assert edit is not None and load_yaml(edit.new_text)["kind"] == name
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


def test_every_answer_is_for_the_release_that_the_repository_states(editor: Editor, repository: Path) -> None:
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: karpenter}\nspec:\n"
    chart = "{spec: {chart: karpenter, version: 1.5.0, sourceRef: {kind: HelmRepository, name: karpenter}}}"
    (repository / "release.yaml").write_text(f"{release}  chart: {chart}\n", encoding="utf-8")
    uri = editor.open(repository / "pool.yaml", POOL)
    assert "of 1,363" in editor.hover(uri, "web")
    assert "Karpenter 1.5.0" in editor.hover(uri, "karpenter.k8s.aws/instance-family")
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  template:\n    spec:\n      requirements:\n"
    offered = editor.offered(uri, text + "        - key: kubernetes.io/arch\n          operator: |\n")
    assert "In" in offered and "Gte" not in offered


@pytest.mark.slow
def test_the_lens_counts_as_explain_does(nodelint: Nodelint, tmp_path: Path, rules: Mapping[str, Rule]) -> None:
    """Over the examples of every rule: limits, room for a pod, minValues and images among them."""
    compared = 0
    for number, text in enumerate(example.text for rule in rules.values() for example in examples(rule.page)):
        if "kind: NodePool" in text and "karpenter.sh/v1\n" in text and number % 4 == 0:
            (tmp_path / str(number)).mkdir()
            (tmp_path / str(number) / "a.yaml").write_text(text, encoding="utf-8")
    for path in tmp_path.glob("*/a.yaml"):
        buffer = Buffer(path.as_uri(), 1, path.read_text(encoding="utf-8"), "utf-16")
        state = State({buffer.uri: buffer}, (str(path.parent),), 1)
        (view,) = Project(lambda: datetime(2026, 9, 20, tzinfo=UTC)).views(state)
        lines = nodelint("explain", path.name, cwd=path.parent).stdout.splitlines()
        names = [line.split()[1] for line in lines if line.startswith("NodePool ")]
        counts = [re.sub(r"^=> (?:at most )?([\w,]+) .*", r"\1", line) for line in lines if line.startswith("=> ")]
        messages = dict(zip(names, counts, strict=False)) if len(names) == len(counts) == len({*names}) else {}
        for pool in view.objects(buffer):
            count = count_text(view, pool) if isinstance(pool, NodePool) else None
            if count is not None and pool.name in messages:
                number = count.partition(" type")[0].replace("no instance", "none").removesuffix(" is launched")
                assert number == messages[str(pool.name)], text
                compared += 1
    assert compared > 20
