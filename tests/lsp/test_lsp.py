"""`nodelint lsp` as an editor sees it: a real client, and the server as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from nodelint.data import table
from nodelint.ec2.catalog import Catalog
from nodelint.ec2.fake_account import FakeAccount
from nodelint.ec2.snapshot import snapshot_text
from nodelint.inventory import build
from nodelint.lint.autofix import fix
from nodelint.lint.engine import LintRequest, Target, lint
from nodelint.lint.proven_fixes import Prover
from nodelint.lsp.actions import actions
from nodelint.lsp.buffers import Buffer, State
from nodelint.lsp.completion import complete
from nodelint.lsp.diagnostics import MOST
from nodelint.lsp.hover import hover, label
from nodelint.lsp.outline import spot
from nodelint.lsp.positions import LineIndex, changed
from nodelint.lsp.project import Project
from nodelint.model.documents import objects
from nodelint.model.manifest import EC2NodeClass, NodePool
from nodelint.model.releases import NEWEST, Version
from nodelint.plan.fix_drift import find_moved
from nodelint.rule.context import Context
from nodelint.rule.definition import Rule, bundled, load
from nodelint.text import Source
from tests.conftest import ROOT
from tests.inventory.test_missing_sources import CHART
from tests.inventory.test_missing_sources import HELM_RELEASE as FLUX_RELEASE
from tests.manifests import nodepool
from tests.plain_yaml import load_yaml
from tests.repositories import write_files

PATIENCE = 120
"""Seconds until a test gives up waiting for the server."""

CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: main}
spec:
  role: KarpenterNodeRole-main
  amiSelectorTerms:
    - alias: al2023@v20250403
  subnetSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
  securityGroupSelectorTerms:
    - tags: {karpenter.sh/discovery: main}
"""
POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: main}
      requirements:
        - key: karpenter.k8s.aws/instance-family
          operator: In
          values: [g5g]
"""
TAINT = "      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n"
POOL += TAINT


class Editor:
    """A client that keeps texts as an editor does; what it does with them is its own, not nodelint's."""

    def __init__(
        self, home: Path, encoding: str | None = None, watches: bool = True, args: Sequence[str] = ("--stdio",)
    ) -> None:
        self.home = home
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self.messages: list[str] = []
        self.watched: list[str] = []
        self.runner = asyncio.Runner()
        self.client = self.runner.run(self._start(encoding, watches, args))

    async def _start(self, encoding: str | None, watches: bool, args: Sequence[str]) -> LanguageClient:
        client = LanguageClient("editor", "1")

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.setdefault(params.uri, []).append(params)

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def note_message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            self.watched += [registration.method for registration in params.registrations]

        env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "NODELINT_"))}
        env["NODELINT_CACHE_DIR"] = str(self.home / ".cache")
        await client.start_io(sys.executable, "-m", "nodelint", "lsp", *args, cwd=self.home, env=env)
        general = types.GeneralClientCapabilities(position_encodings=[encoding]) if encoding else None
        workspace = types.WorkspaceClientCapabilities(
            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=watches),
        )
        capabilities = types.ClientCapabilities(general=general, workspace=workspace)
        done = await client.initialize_async(
            types.InitializeParams(capabilities=capabilities, root_uri=self.home.as_uri())
        )
        self.encoding = types.PositionEncodingKind(done.capabilities.position_encoding).value
        client.initialized(types.InitializedParams())
        return client

    # Positions, counted in this client's own way

    def position(self, text: str, offset: int) -> types.Position:
        before = re.split(r"\r\n|\r|\n", text[:offset])
        return types.Position(len(before) - 1, self._width(before[-1]))

    def offset(self, text: str, position: types.Position) -> int:
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n|$)", text)
        start = sum(map(len, lines[: position.line]))
        line = lines[position.line]
        return start + next(n for n in range(len(line) + 1) if self._width(line[:n]) >= position.character)

    def _width(self, text: str) -> int:
        return (
            len(text.encode(f"{self.encoding}-le" if self.encoding != "utf-8" else "utf-8"))
            // {
                "utf-8": 1,
                "utf-16": 2,
                "utf-32": 4,
            }[self.encoding]
        )

    def at(self, uri: str, range: types.Range) -> str:
        """The characters of a range."""
        text = self.texts[uri]
        return text[self.offset(text, range.start) : self.offset(text, range.end)]

    # What a user does

    def open(self, path: Path, text: str | None = None) -> str:
        uri = path.as_uri()
        self.texts[uri] = path.read_bytes().decode() if text is None else text
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, "yaml", 1, self.texts[uri])
        self._do(lambda: self.client.text_document_did_open(types.DidOpenTextDocumentParams(item)))
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Type something in place of a text that stands there once."""
        text = self.texts[uri]
        assert text.count(old) == 1, old
        self.edit(uri, text.index(old), text.index(old) + len(old), new)

    def edit(self, uri: str, start: int, end: int, new: str) -> None:
        text = self.texts[uri]
        range = types.Range(self.position(text, start), self.position(text, end))
        self.texts[uri] = text[:start] + new + text[end:]
        self.versions[uri] += 1
        named = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        change = types.TextDocumentContentChangePartial(range, new)
        self._do(lambda: self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change])))

    def close(self, uri: str) -> None:
        params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        self._do(lambda: self.client.text_document_did_close(params))

    def changed_on_disk(self, path: Path) -> None:
        event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        params = types.DidChangeWatchedFilesParams([event])
        self._do(lambda: self.client.workspace_did_change_watched_files(params))

    def apply(self, action: types.CodeAction) -> None:
        """Make the edits of an action, each text's the last first, as the protocol has it."""
        assert action.edit is not None and action.edit.document_changes is not None
        for change in action.edit.document_changes:
            assert isinstance(change, types.TextDocumentEdit)
            uri = change.text_document.uri
            assert change.text_document.version == self.versions[uri]
            text = self.texts[uri]
            places = [(self.offset(text, e.range.start), self.offset(text, e.range.end), e) for e in change.edits]
            for start, end, entry in sorted(places, key=lambda place: place[0], reverse=True):
                assert isinstance(entry, types.TextEdit)
                self.edit(uri, start, end, entry.new_text)

    # What the server says

    def diagnostics(self, uri: str) -> list[types.Diagnostic]:
        """What it says of the newest version of a text, once it has said it."""
        version = self.versions[uri]
        reports = self.published.setdefault(uri, [])
        self.wait(lambda: bool(reports) and reports[-1].version == version)
        return list(reports[-1].diagnostics)

    def codes(self, uri: str) -> list[str]:
        return [str(diagnostic.code) for diagnostic in self.diagnostics(uri)]

    def hover(self, uri: str, mark: str) -> str:
        """The Markdown over the first character of a text."""
        params = types.HoverParams(types.TextDocumentIdentifier(uri), self._position_of(uri, mark))
        found = self.runner.run(self._ask(self.client.text_document_hover_async(params)))
        return found.contents.value if found is not None else ""

    def definition(self, uri: str, mark: str) -> types.Location | None:
        params = types.DefinitionParams(types.TextDocumentIdentifier(uri), self._position_of(uri, mark))
        found: types.Location | None = self.runner.run(self._ask(self.client.text_document_definition_async(params)))
        return found

    def complete(self, uri: str, offset: int) -> types.CompletionList:
        position = self.position(self.texts[uri], offset)
        params = types.CompletionParams(types.TextDocumentIdentifier(uri), position)
        found: types.CompletionList = self.runner.run(self._ask(self.client.text_document_completion_async(params)))
        return found

    def offered(self, uri: str, text: str) -> list[str]:
        """What can be written at the `|` of a text, which becomes the document's."""
        self.edit(uri, 0, len(self.texts[uri]), text.replace("|", ""))
        return [item.label for item in self.complete(uri, text.index("|")).items]

    def actions(self, uri: str, mark: str = "", only: list[Any] | None = None) -> list[types.CodeAction]:
        """What can be done at a text; without one in the whole document."""
        text = self.texts[uri]
        start, end = (text.index(mark), text.index(mark) + 1) if mark else (0, len(text))
        range = types.Range(self.position(text, start), self.position(text, end))
        context = types.CodeActionContext(diagnostics=[], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), range, context)
        return list(self.runner.run(self._ask(self.client.text_document_code_action_async(params))))

    def _position_of(self, uri: str, mark: str) -> types.Position:
        return self.position(self.texts[uri], self.texts[uri].index(mark))

    async def _ask(self, answer: Any) -> Any:
        return await asyncio.wait_for(answer, PATIENCE)

    def wait(self, until: Any) -> None:
        async def look() -> None:
            end = time.monotonic() + PATIENCE
            while not until():
                assert time.monotonic() < end, (self.messages, _brief(self.published))
                await asyncio.sleep(0.005)

        self.runner.run(look())

    def _do(self, act: Any) -> None:
        async def step() -> None:
            act()
            await asyncio.sleep(0)

        self.runner.run(step())

    def leave(self) -> tuple[int, str]:
        """The exit code of a server that is told to go, and what it said on standard error."""

        async def end() -> tuple[int, str]:
            await self.client.shutdown_async(None)
            self.client.exit(None)
            server = self.client._server
            assert server is not None and server.stderr is not None
            output = (await server.stderr.read()).decode()
            await server.wait()
            await self.client.stop()
            return server.returncode or 0, output

        try:
            return self.runner.run(self._ask(end()))
        finally:
            self.runner.close()


def _brief(published: dict[str, list[types.PublishDiagnosticsParams]]) -> dict[str, list[str]]:
    """What was said last of each text."""
    return {
        uri[-30:]: [f"{d.code}: {d.message}" for d in reports[-1].diagnostics]
        for uri, reports in published.items()
        if reports
    }


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One server for all tests; each works in a repository of its own."""
    editor = Editor(tmp_path_factory.mktemp("home"))
    yield editor
    assert editor.leave() == (0, "")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_of_very_many_findings_the_gravest_are_shown(editor: Editor, repository: Path) -> None:
    path = repository / "pool.yaml"
    fields = "".join(f"  notAField{n}: 1\n" for n in range(MOST - 10))
    many = POOL.replace("spec:\n", f"spec:\n{fields}", 1)
    path.write_text("---\n".join([many, many, CLASS]), encoding="utf-8")
    uri = editor.open(path)
    *shown, last = editor.diagnostics(uri)
    assert [diagnostic.code for diagnostic in shown] == ["unknown-field"] * MOST
    assert last.code is None and last.severity == types.DiagnosticSeverity.Information
    # One of these is that the name is there twice: a warning, and above most of the errors.
    more = 2 * (MOST - 10) + 1 - MOST
    assert last.message == f"{more} more findings are not shown; `nodelint check` lists them all"
    assert editor.at(uri, last.range) == "general}"
    editor.edit(uri, 0, len(editor.texts[uri]), editor.texts[uri].replace(fields, ""))
    assert editor.codes(uri) == ["duplicate-name"]


def test_a_reminder_stands_in_each_text_that_is_open(editor: Editor, repository: Path) -> None:
    (repository / "nodelint.yaml").write_text("profile: strict\n", encoding="utf-8")
    uris = []
    for name in ("a", "b"):
        (repository / f"{name}.yaml").write_text(POOL.replace("general", name), encoding="utf-8")
        uris.append(editor.open(repository / f"{name}.yaml"))
    assert all("no-limits" in editor.codes(uri) for uri in uris)


def test_a_template_is_judged_with_the_values_of_its_chart(editor: Editor, repository: Path) -> None:
    (repository / "templates").mkdir()
    (repository / "Chart.yaml").write_text("apiVersion: v2\nname: pools\nversion: 1.0.0\n", encoding="utf-8")
    values = repository / "values.yaml"
    values.write_text("families: [g5.g]\n", encoding="utf-8")
    path = repository / "templates" / "pool.yaml"
    path.write_text(POOL.replace("[g5g]", "{{ toJson .Values.families }}"), encoding="utf-8")
    uri = editor.open(path)
    (found,) = editor.diagnostics(uri)
    assert (found.code, editor.at(uri, found.range)) == ("unknown-value", "{{ toJson .Values.families }}")
    assert [finding.message for finding in found.related_information or ()] == ["the chart's default"]
    # Where the values are open as well, the mistake is told there, and its fix is theirs.
    other = editor.open(values)
    (found,) = editor.diagnostics(other)
    assert editor.at(other, found.range) == "g5.g"
    assert editor.codes(uri) == []
    editor.replace(other, "g5.g", "g5g")
    assert editor.codes(other) == editor.codes(uri) == []
    editor.close(uri)
    editor.close(other)


def test_a_values_file_that_is_no_yaml_is_told_where_it_is_open(editor: Editor, repository: Path) -> None:
    write_files(
        repository,
        {**CHART, "hr.yaml": FLUX_RELEASE.replace("name: c,", "name: karpenter,"), "envs/prod.yaml": "cpu: [1"},
    )
    uri = editor.open(repository / "envs/prod.yaml")
    assert editor.codes(uri)[0] == "yaml-syntax"
    editor.replace(uri, "[1", '"1"')
    assert "yaml-syntax" not in editor.codes(uri)
    editor.close(uri)


def test_a_finding_comes_as_one_types_and_goes_with_its_fix(editor: Editor, repository: Path) -> None:
    path = repository / "pool.yaml"
    path.write_text(POOL + "---\n" + CLASS, encoding="utf-8")
    uri = editor.open(path)
    assert editor.codes(uri) == []
    editor.replace(uri, "operator: In", "operater: In")
    found = next(diagnostic for diagnostic in editor.diagnostics(uri) if diagnostic.code == "unknown-field")
    assert editor.at(uri, found.range) == "operater"
    assert found.severity == types.DiagnosticSeverity.Error and found.source == "nodelint"
    assert found.code_description is not None and found.code_description.href.startswith("file:")
    assert found.code_description.href.endswith("/docs/rules/unknown-field.md")
    assert isinstance(found.data, dict) and found.data["fix"] == "safe"
    assert re.fullmatch("[0-9a-f]{32}", found.data["fingerprint"])
    action = next(action for action in editor.actions(uri, "operater") if action.title.startswith("Rename"))
    assert action.title == "Rename `operater` to `operator` (safe: running nodes stay)"
    assert action.kind == types.CodeActionKind.QuickFix and action.is_preferred
    assert [diagnostic.code for diagnostic in action.diagnostics or ()] == ["unknown-field"]
    editor.apply(action)
    assert editor.codes(uri) == []
    assert editor.texts[uri] == path.read_text(encoding="utf-8")


def test_a_suggestion_is_an_action_by_its_name_and_no_preferred_one(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL + "---\n" + CLASS)
    begin = editor.texts[uri].index("requirements:")
    editor.edit(
        uri,
        begin,
        begin + len("requirements:"),
        'requirements:\n        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c7i-flex, "*"]}',
    )
    assert "flex-preference" in editor.codes(uri)
    action = next(
        action for action in editor.actions(uri, "c7i-flex") if action.title.startswith("Allow every value")
    )
    assert not action.is_preferred and [diagnostic.code for diagnostic in action.diagnostics or ()] == [
        "flex-preference"
    ]
    editor.apply(action)
    assert "instance-family, operator: Exists}" in editor.texts[uri]
    assert "flex-preference" not in editor.codes(uri)


def test_only_the_newest_version_is_spoken_of(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL + "---\n" + CLASS)
    for letter in "abcdefghijkl":
        editor.replace(uri, "  requirements:", f"  x{letter}: 1\n      requirements:")
    assert editor.codes(uri) == ["unknown-field"] * 12
    versions = [report.version for report in editor.published[uri] if report.version is not None]
    assert versions == sorted(versions)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8"])
def test_positions_count_what_the_client_counts(encoding: str, repository: Path) -> None:
    odd = '{name: general, annotations: {a: "ä🦊\u2028\x85"}, lables: {b: c}}'
    text = "\ufeff# 🦊\n" + POOL.replace("{name: general}", odd) + "---\n" + CLASS
    text = text.replace("\n", "\r\n")
    editor = Editor(repository, encoding)
    assert editor.encoding == encoding
    uri = editor.open(repository / "pool.yaml", text)
    found = next(diagnostic for diagnostic in editor.diagnostics(uri) if "lables" in diagnostic.message)
    assert editor.at(uri, found.range) == "lables"
    # typed behind the odd characters, one letter at a time
    at = text.index("lables") + len("lables")
    for letter in "🦊x":
        editor.edit(uri, at, at, letter)
        at += 1
    found = next(diagnostic for diagnostic in editor.diagnostics(uri) if diagnostic.code == "unknown-field")
    assert editor.at(uri, found.range) == "lables🦊x"
    editor.replace(uri, "lables🦊x", "lables")
    editor.apply(next(action for action in editor.actions(uri, "lables") if action.is_preferred))
    assert editor.texts[uri] == text.replace("lables", "labels")
    assert editor.codes(uri) == []
    assert editor.leave() == (0, "")


def test_a_class_in_another_buffer_counts_as_it_is_there(editor: Editor, repository: Path) -> None:
    (repository / "classes").mkdir()
    path = repository / "classes" / "main.yaml"
    path.write_text(CLASS, encoding="utf-8")
    pool = editor.open(repository / "pool.yaml", POOL)
    assert editor.codes(pool) == []
    node_class = editor.open(path)
    assert editor.codes(node_class) == []
    before = len(editor.published[pool])
    editor.replace(node_class, "al2023@v20250403", "al2@v20240807")
    editor.wait(lambda: len(editor.published[pool]) > before)
    (found,) = [diagnostic for diagnostic in editor.diagnostics(pool) if diagnostic.code == "gpu-image-gap"]
    (related,) = found.related_information or ()
    assert related.location.uri == node_class
    assert editor.at(node_class, related.location.range) == "al2@v20240807"
    editor.close(node_class)
    editor.wait(lambda: not editor.published[pool][-1].diagnostics)
    editor.wait(lambda: not editor.published[node_class][-1].diagnostics)
    # and as it is on disk, once that has changed
    path.write_text("# moved\n" + CLASS.replace("al2023@v20250403", "al2@v20240807"), encoding="utf-8")
    editor.changed_on_disk(path)
    editor.wait(
        lambda: [diagnostic.code for diagnostic in editor.published[pool][-1].diagnostics] == ["gpu-image-gap"]
    )


def test_the_configuration_is_read_again_when_it_changes(editor: Editor, repository: Path) -> None:
    editor.wait(lambda: "workspace/didChangeWatchedFiles" in editor.watched)
    text = POOL.replace("instance-family", "instance-tenancy").replace("g5g", "default") + "---\n" + CLASS
    uri = editor.open(repository / "pool.yaml", text)
    assert editor.codes(uri) == []
    path = repository / "nodelint.yaml"

    def configure(text: str) -> None:
        path.write_text(text, encoding="utf-8")
        editor.changed_on_disk(path)

    configure('karpenter-version: "1.8"\n')
    editor.wait(
        lambda: (
            [diagnostic.code for diagnostic in editor.published[uri][-1].diagnostics] == ["field-of-another-release"]
        )
    )
    configure("ignore: [field-of-another-release]\nkarpenter-versoin: x\n")
    config = path.as_uri()
    editor.wait(lambda: bool(editor.published.get(config)))
    (trouble,) = editor.published[config][-1].diagnostics
    assert trouble.range.start == types.Position(1, 0) and "did you mean `karpenter-version`" in trouble.message
    assert [diagnostic.code for diagnostic in editor.published[uri][-1].diagnostics] == [
        "field-of-another-release"
    ]  # as it was said last
    messages = [message for message in editor.messages if str(path) in message]
    assert len(messages) == 1
    editor.replace(uri, "default", "dedicated")
    assert editor.codes(uri) == ["field-of-another-release"]
    assert [message for message in editor.messages if str(path) in message] == messages
    configure('ignore: [field-of-another-release]\nkarpenter-version: "1.8"\n')
    editor.wait(lambda: not editor.published[uri][-1].diagnostics and not editor.published[config][-1].diagnostics)
    configure("select: [no-such-rule]\n")
    editor.wait(lambda: any("no rule `no-such-rule`" in message for message in editor.messages))
    configure("exclude: [pool.yaml]\n")
    editor.wait(lambda: editor.published[uri][-1].version is None)
    assert not editor.published[uri][-1].diagnostics
    assert editor.hover(uri, "requirements") == ""


FOUND_IN = [
    *sorted((ROOT / "examples" / "bad").glob("*.yaml")),
    *sorted(path for path in (ROOT / "tests" / "trees").rglob("*") if path.suffix in (".tf", ".sh", ".md", ".tftpl")),
]


@pytest.mark.parametrize("path", FOUND_IN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixes_are_those_of_the_command(path: Path, editor: Editor, repository: Path, rules: dict[str, Rule]) -> None:
    text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
    source = Source.from_text(str(repository / path.name), text)
    uri = editor.open(repository / path.name, text)
    assert [(diagnostic.code, diagnostic.message.partition("\n")[0]) for diagnostic in editor.diagnostics(uri)] == [
        (result.rule.name, result.finding.message)
        for result in lint([source], LintRequest(Target(NEWEST), rules)).results
    ]
    request = LintRequest(Target(NEWEST), rules)
    prover = Prover(request, build, find_moved)
    results = prover([source], lint([source], request)).results
    # one by one: the text of each edit where the engine has it
    wanted = {
        tuple((edit.start, edit.end, edit.text) for edit in result.finding.edits)
        for result in results
        if result.fixable
    }
    choices = {choice.name[0].upper() + choice.name[1:] for r in results for choice in r.finding.suggestions}
    offered = [action for action in editor.actions(uri) if action.kind == types.CodeActionKind.QuickFix]
    withheld = {result.finding.withheld.text for result in results if result.finding.withheld is not None}
    assert {action.disabled.reason for action in offered if action.disabled is not None} <= withheld
    offered = [action for action in offered if action.disabled is None]
    named = {choice: [a.title for a in offered if a.title.startswith(choice)] for choice in choices}
    assert all(named.values()), named
    given = set()
    for action in offered:
        assert action.edit is not None and action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        if not action.title.startswith(("Ignore", *choices)):
            assert re.search(r"\((safe|unsafe): ", action.title)
            given.add(
                tuple(
                    (editor.offset(text, e.range.start), editor.offset(text, e.range.end), e.new_text)
                    for e in change.edits
                    if isinstance(e, types.TextEdit)
                )
            )
    assert given == wanted
    # No file states the release: a conversion is not safe.
    assumed = request._replace(target=Target(NEWEST, assumed=True))
    (fixed,) = fix([source], assumed, prove=Prover(assumed, build, find_moved)).sources
    every = editor.actions(uri, only=["source.fixAll"])
    assert [action.kind for action in every] == ["source.fixAll.nodelint"] * (fixed.text != text)
    for action in every:
        editor.apply(action)
    assert editor.texts[uri] == fixed.text


def test_a_comment_silences_the_rule_where_it_stands(editor: Editor, repository: Path) -> None:
    text = POOL.replace("operator: In", "operater: In  # why not") + "---\n" + CLASS
    uri = editor.open(repository / "pool.yaml", text)
    while codes := editor.codes(uri):
        ignore = [action for action in editor.actions(uri) if action.title == f"Ignore {codes[0]} here"]
        editor.apply(ignore[0])
        assert len(editor.codes(uri)) < len(codes)
    assert "operater: In  # why not  # nodelint: ignore[unknown-field]\n" in editor.texts[uri]


def test_a_comment_in_a_file_of_values_silences_the_rule(editor: Editor, repository: Path) -> None:
    (repository / "templates").mkdir()
    (repository / "Chart.yaml").write_text("apiVersion: v2\nname: pools\nversion: 1.0.0\n", encoding="utf-8")
    pool = POOL.replace("[g5g]", "{{ toJson .Values.families }}")
    (repository / "templates" / "pool.yaml").write_text(pool, encoding="utf-8")
    uri = editor.open(repository / "values.yaml", "families: [g5.g]\n")
    assert editor.codes(uri) == ["unknown-value"]
    (ignore,) = (action for action in editor.actions(uri) if action.title == "Ignore unknown-value here")
    editor.apply(ignore)
    assert editor.codes(uri) == []
    assert editor.texts[uri] == "families: [g5.g]  # nodelint: ignore[unknown-value]\n"


def test_a_comment_at_a_variable_of_terraform_silences_the_rule(editor: Editor, repository: Path) -> None:
    text = 'variable "arch" {\n  default = "amd46"\n}\n' + TERRAFORM_POOL
    uri = editor.open(repository / "main.tf", text)
    assert editor.codes(uri) == ["unknown-value"]
    (ignore,) = (action for action in editor.actions(uri) if action.title == "Ignore unknown-value here")
    editor.apply(ignore)
    assert editor.codes(uri) == []
    assert '  default = "amd46"  # nodelint: ignore[unknown-value]\n' in editor.texts[uri]


HELM_RELEASE = """resource "helm_release" "karpenter" {
  name       = "karpenter"
  repository = "oci://public.ecr.aws/karpenter"
  chart      = "karpenter"
  version    = "1.14.1"
  values = [yamlencode({
    settings       = { clusterName = "main", interruptionQueue = "main" }
    serviceAccount = { annotations = { "eks.amazonaws.com/role-arn" = var.role_arn } }
  })]
}
variable "role_arn" {}
"""


def test_the_comment_of_the_editor_in_a_file_of_variables_silences_the_command(
    editor: Editor, repository: Path
) -> None:
    (repository / "main.tf").write_text(HELM_RELEASE, encoding="utf-8")
    variables = repository / "prod.tfvars"
    text = 'role_arn = "arn:aws:iam::111122223333:role/karpenter"\n'
    variables.write_text(text, encoding="utf-8")
    check = [sys.executable, "-m", "nodelint", "check", "--format", "concise", "."]
    before = subprocess.run(check, cwd=repository, capture_output=True, text=True).stdout
    assert "prod.tfvars:1:12: warning[placeholder-in-values]" in before
    uri = editor.open(variables, text)
    assert editor.codes(uri) == ["placeholder-in-values"]
    (ignore,) = (action for action in editor.actions(uri) if action.title == "Ignore placeholder-in-values here")
    editor.apply(ignore)
    assert editor.codes(uri) == []
    assert editor.texts[uri] == f"{text[:-1]}  # nodelint: ignore[placeholder-in-values]\n"
    variables.write_text(editor.texts[uri], encoding="utf-8")
    after = subprocess.run(check, cwd=repository, capture_output=True, text=True).stdout
    assert "placeholder-in-values" not in after and "unused-suppression" not in after


TERRAFORM_POOL = """resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "a" }
    spec = { template = { spec = {
      nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
      requirements = [{ key = "kubernetes.io/arch", operator = "In", values = [var.arch] }]
    } } }
  })
}
"""


@pytest.mark.parametrize(
    ("name", "text", "offered", "not_offered"),
    [
        ("values.yaml", "arch: am|\nfamilies: [g5g]\npolicy: WhenEmpty\n", ["amd64", "arm64"], ["g5g"]),
        ("values.yaml", "arch: amd64\nfamilies: [g5|]\npolicy: WhenEmpty\n", ["g5g", "m7g"], ["amd64"]),
        ("values.yaml", "arch: amd64\nfamilies: [g5g, |]\npolicy: WhenEmpty\n", ["m7g"], ["g5g", "amd64"]),
        ("values.yaml", "arch: amd64\npolicy: WhenEmpty\nfamilies:\n  - g5g\n  - |\n", ["m7g"], ["g5g"]),
        ("values.yaml", "arch: amd64\nfamilies: [g5g]\npolicy: 'When|'\n", ["WhenEmpty"], ["arm64"]),
        ("main.tf", 'variable "arch" {\n  default = "am|"\n}\n' + TERRAFORM_POOL, ["amd64", "arm64"], ["spot"]),
    ],
    ids=["one", "list", "next of a list", "next line of a list", "of the schema", "variable of Terraform"],
)
def test_a_value_elsewhere_is_completed_by_the_field_that_it_reaches(
    editor: Editor, repository: Path, name: str, text: str, offered: list[str], not_offered: list[str]
) -> None:
    (repository / "templates").mkdir()
    (repository / "Chart.yaml").write_text("apiVersion: v2\nname: pools\nversion: 1.0.0\n", encoding="utf-8")
    line = "        - {key: kubernetes.io/arch, operator: In, values: [{{ .Values.arch }}]}\n      taints"
    pool = POOL.replace("[g5g]", "{{ toJson .Values.families }}").replace("      taints", line)
    pool += "  disruption: {consolidateAfter: 5m, consolidationPolicy: {{ .Values.policy }}}\n"
    (repository / "templates" / "pool.yaml").write_text(pool, encoding="utf-8")
    uri = editor.open(repository / name, text.replace("|", ""))
    labels = editor.offered(uri, text)
    assert set(offered) <= set(labels)
    assert not set(not_offered) & set(labels)
    editor.close(uri)


def test_json_has_no_comments_to_offer(editor: Editor, repository: Path) -> None:
    pool = load_yaml(POOL)
    pool["spec"]["wieght"] = 10
    uri = editor.open(repository / "pool.json", json.dumps(pool, indent=2))
    assert editor.codes(uri) == ["unknown-field"]
    assert [action.title.partition(" (")[0] for action in editor.actions(uri) if action.kind == "quickfix"] == [
        "Rename `wieght` to `weight`"
    ]


def test_hover_says_that_nothing_is_launched(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL.replace("[g5g]", '[g5g, "g6.*"]'))
    page = editor.hover(uri, "karpenter.k8s.aws/instance-family")
    assert "nothing is launched with NodePool/" in page and "once that is corrected, the pool can launch" in page


def test_a_values_file_has_the_finding_of_its_value(editor: Editor, repository: Path) -> None:
    """It is right with the defaults, so the file alone is wrong."""
    family = "key: karpenter.k8s.aws/instance-family, operator: In, values: [m7i]"
    template = nodepool("key: kubernetes.io/arch, operator: In, values: [amd64]", family, name="web")
    template = template.replace("[amd64]", "{{ toJson .Values.arch }}").replace(
        "[m7i]", "{{ toJson .Values.families }}"
    )
    (repository / "Chart.yaml").write_text("apiVersion: v2\nname: pools\nversion: 1.0.0\n", encoding="utf-8")
    (repository / "templates").mkdir()
    (repository / "templates" / "pool.yaml").write_text(template, encoding="utf-8")
    (repository / "values.yaml").write_text("arch: [amd64]\nfamilies: [m7i]\n", encoding="utf-8")
    values = repository / "values-prod.yaml"
    values.write_text("arch: [amd64]\nfamilies: [m7i]\n", encoding="utf-8")
    uri = editor.open(values, "arch: [arm64]\nfamilies: [m7i]\n")
    assert editor.codes(uri) == ["no-instance-type"]


def test_hover_says_what_a_requirement_does(editor: Editor, repository: Path) -> None:
    (repository / "class.yaml").write_text(CLASS, encoding="utf-8")
    text = (
        POOL.removesuffix(TAINT).replace("[g5g]", "[g5g, m7i]")
        + """\
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: node.kubernetes.io/instance-type, operator: NotIn, values: [m7i.large]}
        - {key: example.com/team, operator: Exists}
        - {key: "topology.kubernetes.io/${X}", operator: Exists}
        - {key: karpenter.sh/capacity-typ, operator: Exists}
"""
    )
    uri = editor.open(repository / "pool.yaml", text)
    sources = [Source.from_text("pool.yaml", text), Source.from_text("class.yaml", CLASS)]
    found = [obj for source in sources for obj in objects(source)]
    context = Context(found, Target(NEWEST))
    pool = next(obj for obj in found if isinstance(obj, NodePool))
    resolution = context.resolution(pool)
    line = resolution.lines[1]
    page = editor.hover(uri, "operator: In, values: [amd64]")
    assert page.startswith("**kubernetes.io/arch** In `amd64`")
    assert editor.hover(uri, "\n        - {key: node.kubernetes.io/instance-type") == page, (
        "behind its last character"
    )
    assert f"alone it leaves **{len(line.kept):,}** of {len(resolution.catalog):,}" in page
    assert f"{len(line.before):,} → {len(line.after):,} ({line.removed:,} removed)" in page
    assert f"without this line, {line.removed_alone:,} more" in page
    assert f"at most **{len(resolution.launchable):,}**" in page  # a placeholder leaves it open
    assert "holds a placeholder" in page and str(NEWEST) in page
    assert "The processor's architecture." in editor.hover(uri, "kubernetes.io/arch")
    assert (
        editor.hover(uri, "m7i.large")
        == "**m7i.large**: 2 vCPU, 8 GiB, amd64, 0.1008 USD an hour on demand in us-east-1"
    )
    assert "one of your own" in editor.hover(uri, 'operator: Exists}\n        - {key: "topo')
    page = editor.hover(uri, "karpenter.sh/capacity-typ")  # as unknown-label has it
    assert "has no such label, and refuses it" in page and "your own" not in page and "bear it" not in page
    assert "keeps it from being judged" in editor.hover(uri, "topology.kubernetes.io")
    assert "all of them hold together" in editor.hover(uri, "requirements")
    assert editor.hover(uri, "apiVersion: karp") != ""
    page = editor.hover(uri, "main}")
    assert page.startswith("**EC2NodeClass main** in `class.yaml:3`") and "`al2023@v20250403`" in page
    where = editor.definition(uri, "main}")
    assert where is not None and where.uri == (repository / "class.yaml").as_uri()
    assert where.range.start == types.Position(2, 17)
    node_class = editor.open(repository / "class.yaml")
    page = editor.hover(node_class, "al2023@")
    assert page.startswith("**Amazon Linux 2023**") and "types of `general`" in page
    nothing = editor.hover(node_class, "KarpenterNodeRole")
    assert nothing == ""


def head(text: str) -> str:
    """A pool down to its requirements, with something in place of them."""
    return POOL[: POOL.index("        - key")] + text


@pytest.mark.parametrize(
    ("text", "names", "none"),
    [
        (
            "        - key: kub|\n",
            ["kubernetes.io/arch", "karpenter.k8s.aws/instance-family"],
            ["karpenter.sh/nodepool"],
        ),
        ("        - {key: |\n", ["kubernetes.io/arch"], ["In"]),
        ("        - key: kubernetes.io/arch\n          operator: |\n", ["In", "Gte"], ["kubernetes.io/arch"]),
        ("        - key: kubernetes.io/arch\n          values: [amd64, |\n", ["arm64"], ["amd64", "spot"]),
        (
            "        - key: kubernetes.io/arch\n          values:\n          - amd64\n          - |\n",
            ["arm64"],
            ["amd64"],
        ),
        ("        - key: kubernetes.io/arch\n          values:\n            - 'a|'\n", ["arm64", "amd64"], []),
        ("        - values: [|]\n          key: karpenter.sh/capacity-type\n", ["spot", "reserved"], ["amd64"]),
        ('        - {"key": "karpenter.k8s.aws/instance-category", "values": ["c", "|', ["m"], ["c"]),
        ("        - key: karpenter.k8s.aws/instance-family\n          values: [m7|\n", ["m7g", "m7i-flex"], []),
        ("        - key: node.kubernetes.io/instance-type\n          values: [m7g.|\n", ["m7g.large"], ["m7i.large"]),
        ("        - key: kubernetes.io/arch\n          |\n", ["operator", "values", "minValues"], ["key"]),
        ("        - |\n", ["key", "operator"], ["nodeClassRef"]),
        ("      ex|\n", ["expireAfter", "taints"], ["requirements", "role"]),
        ("      taints:\n        - effect: |\n", ["NoSchedule"], []),
        ("  disruption:\n    consolidationPolicy: |\n", ["WhenEmpty", "Balanced"], []),
        ("        - key: kubernetes.io/arch # |\n", [], ["In", "key"]),
    ],
)
def test_completion_in_what_is_half_written(
    text: str, names: list[str], none: list[str], editor: Editor, repository: Path
) -> None:
    uri = editor.open(repository / "pool.yaml", "")
    offered = editor.offered(uri, head(text))
    assert set(names) <= set(offered) and not set(none) & set(offered), offered
    assert not names or len(offered) == len(set(offered))


@pytest.mark.parametrize(
    ("key", "begun"), [("kubernetes.io/arch", False), ("node.kubernetes.io/instance-type", True)]
)
def test_a_list_that_is_cut_is_asked_for_again_as_one_types(
    key: str, begun: bool, editor: Editor, repository: Path
) -> None:
    uri = editor.open(repository / "pool.yaml", "")
    text = head(f"        - key: {key}\n          operator: In\n          values: [|\n")
    assert editor.offered(uri, text)
    assert editor.complete(uri, text.index("|")).is_incomplete is begun


def test_completion_knows_release_classes_aliases_and_facts(editor: Editor, repository: Path) -> None:
    account = FakeAccount(
        "subnets: [{id: subnet-1, zone: us-east-1a, zoneId: use1-az1, tags: {karpenter.sh/discovery: main}}]\n"
        "images: [{id: ami-1, name: amazon-eks-node-al2023-x86_64-standard-1.33-v20250999, owner: amazon}]\n"
    )
    classes = [obj for obj in objects(Source.from_text("a.yaml", CLASS)) if isinstance(obj, EC2NodeClass)]
    known = account.facts(classes, NEWEST, None)
    assert known.snapshot is not None
    (repository / "facts.json").write_text(snapshot_text(known.snapshot), encoding="utf-8")
    (repository / "class.yaml").write_text(CLASS, encoding="utf-8")
    (repository / "nodelint.yaml").write_text('karpenter-version: "1.8"\nsnapshot: facts.json\n', encoding="utf-8")
    uri = editor.open(repository / "pool.yaml", "")
    keys = editor.offered(uri, head("        - key: |\n"))
    assert keys[:3] == ["karpenter.sh/capacity-type", "kubernetes.io/arch", "node.kubernetes.io/instance-type"]
    assert "karpenter.k8s.aws/instance-capability-flex" in keys and "karpenter.k8s.aws/instance-tenancy" not in keys
    assert "Gte" not in editor.offered(uri, head("        - operator: |\n"))
    zones = editor.offered(uri, head("        - key: topology.kubernetes.io/zone\n          values: [|\n"))
    assert "us-east-1a" in zones
    assert "Balanced" not in editor.offered(uri, head("  disruption:\n    consolidationPolicy: |\n"))
    assert editor.offered(uri, POOL.replace("name: main}", "name: |}")) == ["main"]
    aliases = editor.offered(uri, CLASS.replace("al2023@v20250403", "al2|"))
    assert "al2023@latest" in aliases and "bottlerocket@latest" in aliases
    assert not any(alias.startswith("windows2025") for alias in aliases)
    labels = POOL.replace("    spec:\n", "    metadata:\n      labels:\n        kubernetes.io/arch: |\n    spec:\n")
    assert editor.offered(uri, labels) == ["amd64", "arm64"]
    (repository / "nodelint.yaml").write_text('karpenter-version: "1.9.0"\n', encoding="utf-8")
    editor.changed_on_disk(repository / "nodelint.yaml")
    assert "Gte" in editor.offered(uri, head("        - operator: |\n"))


def test_a_completion_replaces_the_word_that_is_begun(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", "")
    for text, word, wanted in (
        ("        - key: karpenter.k8s.aws/inst|\n", "kubernetes.io/arch", "        - key: kubernetes.io/arch\n"),
        ('        - {key: "kubernetes.io/|"}\n', "kubernetes.io/arch", '        - {key: "kubernetes.io/arch"}\n'),
        ("        - k|\n", "key", "        - key: \n"),
        ("        - k|: x\n", "key", "        - key: x\n"),
        (
            "        - key: kubernetes.io/arch\n          values: |\n",
            "arm64",
            "        - key: kubernetes.io/arch\n          values: [arm64]\n",
        ),
        (
            "        - key: kubernetes.io/arch\n          values:\n            |\n",
            "arm64",
            "        - key: kubernetes.io/arch\n          values:\n            - arm64\n",
        ),
        (
            "        - key: karpenter.k8s.aws/instance-cpu\n          values: [|]\n",
            "4",
            '        - key: karpenter.k8s.aws/instance-cpu\n          values: ["4"]\n',
        ),
        ("        - key: a\n  dis|\n", "disruption", "        - key: a\n  disruption:\n    \n"),
        ("  dis|\n  weight: 1\n", "disruption", "  disruption:\n    \n  weight: 1\n"),
        ("  dis|: {}\n", "disruption", "  disruption: {}\n"),
        ("  dis| # soon\n", "disruption", "  disruption:  # soon\n"),
        ("  limits|\r\n", "limits", "  limits:\n    \r\n"),
        ("  disruption:\n    bud|\n", "budgets", "  disruption:\n    budgets:\n      - \n"),
        (
            "  disruption:\n    budgets:\n    - nodes: 10%\n  template:\n    spec:\n      ta|",
            "taints",
            "  disruption:\n    budgets:\n    - nodes: 10%\n  template:\n    spec:\n      taints:\n      - ",
        ),
        ("  disruption: {bud|}\n", "budgets", "  disruption: {budgets: }\n"),
    ):
        whole = head(text)
        editor.edit(uri, 0, len(editor.texts[uri]), whole.replace("|", ""))
        item = next(item for item in editor.complete(uri, whole.index("|")).items if item.label == word)
        assert isinstance(item.text_edit, types.TextEdit)
        now = editor.texts[uri]
        start, end = (editor.offset(now, value) for value in (item.text_edit.range.start, item.text_edit.range.end))
        editor.edit(uri, start, end, item.text_edit.new_text)
        assert editor.texts[uri] == head(wanted)


def test_a_completion_is_written_as_its_type_and_file_want_it(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "class.yaml", CLASS + "  associatePublicIPAddress: \n")
    (item,) = [item for item in editor.complete(uri, len(editor.texts[uri]) - 1).items if item.label == "true"]
    assert isinstance(item.text_edit, types.TextEdit) and item.text_edit.new_text == "true"
    head = '{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": {"template": {"spec": '
    text = head + '{"requirements": [{"key": '
    uri = editor.open(repository / "pool.json", text)
    item = next(item for item in editor.complete(uri, len(text)).items if item.label == "kubernetes.io/arch")
    assert isinstance(item.text_edit, types.TextEdit) and item.text_edit.new_text == '"kubernetes.io/arch"'


HCL = """\
resource "kubectl_manifest" "pool" {
  yaml_body = yamlencode({
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool" # of all teams
    metadata   = { name = each.key }
    spec = {
      WHERE
    }
  })
}
"""
REQUIREMENT = 'template = { spec = { requirements = [{ key = "kubernetes.io/arch", '


@pytest.mark.parametrize(
    ("text", "names", "none"),
    [
        ("|", ["template", "disruption", "limits"], ["consolidationPolicy", "role"]),
        ("weight = 1\n      dis|\n      limits = {}", ["disruption"], ["weight", "limits"]),
        ('disruption = { consolidationPolicy = "|" }', ["WhenEmpty", "Balanced"], ["spot"]),
        ("disruption = {\n        con|\n      }", ["consolidateAfter", "consolidationPolicy"], ["template"]),
        (f'{REQUIREMENT}operator = "|"', ["In", "Gt"], ["amd64"]),
        (f'{REQUIREMENT}values = ["amd64", "|"] }}] }} }}', ["arm64"], ["amd64"]),
        (f"{REQUIREMENT}|", ["operator", "values"], ["key"]),
        ("template = { spec = { requirements = [{ key = |", ["karpenter.sh/capacity-type"], ["spot"]),
        ('disruption = { consolidationPolicy = "WhenEmpty" } # |', [], ["template"]),
        ("  })\n}\nresource {\n  |", [], ["template"]),
    ],
)
def test_completion_in_an_object_of_terraform(
    text: str, names: list[str], none: list[str], editor: Editor, repository: Path
) -> None:
    uri = editor.open(repository / "main.tf", "")
    offered = editor.offered(uri, HCL.replace("WHERE", text))
    assert set(names) <= set(offered) and not set(none) & set(offered), offered


@pytest.mark.parametrize(
    ("text", "word", "wanted"),
    [
        ("dis|", "disruption", "disruption = "),
        ("dis| = {}", "disruption", "disruption = {}"),
        (
            "disruption = { consolidationPolicy = | }",
            "WhenEmpty",
            'disruption = { consolidationPolicy = "WhenEmpty" }',
        ),
        (f"{REQUIREMENT}values = |", "arm64", f'{REQUIREMENT}values = ["arm64"]'),
        ('template = { metadata = { labels = { "kub|" } } }', "kubernetes.io/arch", ""),
        (
            "template = { metadata = { labels = { | } } }",
            "kubernetes.io/arch",
            'template = { metadata = { labels = { "kubernetes.io/arch" =  } } }',
        ),
    ],
)
def test_a_completion_is_written_in_hcl(text: str, word: str, wanted: str, editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "main.tf", HCL.replace("WHERE", text.replace("|", "")))
    item = next(i for i in editor.complete(uri, HCL.replace("WHERE", text).index("|")).items if i.label == word)
    assert isinstance(item.text_edit, types.TextEdit)
    now = editor.texts[uri]
    start, end = (editor.offset(now, value) for value in (item.text_edit.range.start, item.text_edit.range.end))
    new = f"{now[:start]}{item.text_edit.new_text}{now[end:]}"
    assert new == HCL.replace("WHERE", wanted or text.replace("kub|", word))


def test_hover_in_an_object_of_terraform_says_what_a_field_is_for(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "main.tf", HCL.replace("WHERE", 'template = { spec = { expireAfter = "720h" } }'))
    assert editor.hover(uri, "expireAfter").startswith("**expireAfter** *string*")
    assert editor.hover(uri, "spec = { exp").startswith("**spec** *object*")


def test_other_sides_of_a_comparison_and_texts_without_a_name(editor: Editor, repository: Path) -> None:
    text = POOL.replace("operator", "operater") + "---\n" + CLASS
    editor.texts["git:/pool.yaml"] = text
    item = types.TextDocumentItem("git:/pool.yaml", "yaml", 1, text)
    editor._do(lambda: editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item)))
    assert editor.hover("git:/pool.yaml", "requirements") == ""
    item = types.TextDocumentItem("untitled:Untitled-1", "yaml", 1, text)
    editor.versions[item.uri], editor.texts[item.uri] = 1, text
    editor._do(lambda: editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item)))
    assert "unknown-field" in editor.codes(item.uri)
    editor.close(item.uri)
    assert "git:/pool.yaml" not in editor.published


def test_what_the_baseline_knows_is_not_told(editor: Editor, repository: Path) -> None:
    text = POOL.replace("operator", "operater") + "---\n" + CLASS
    path = repository / "pool.yaml"
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "nodelint", "baseline", "pool.yaml"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (written,) = repository.glob("*baseline*.json")
    (repository / "nodelint.yaml").write_text(f"baseline: {written.name}\n", encoding="utf-8")
    uri = editor.open(path)
    assert editor.codes(uri) == []
    editor.replace(uri, "  requirements:", "  expireAftr: Never\n      requirements:")
    assert editor.codes(uri) == ["unknown-field"]
    written.write_text("{", encoding="utf-8")
    editor.changed_on_disk(written)
    editor.wait(lambda: any(written.name in message and "is not JSON" in message for message in editor.messages))


def test_a_kustomization_that_changes_makes_a_part_of_a_whole(editor: Editor, repository: Path) -> None:
    text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: general}\nspec: {weight: 3}\n"
    kustomization = repository / "kustomization.yaml"
    kustomization.write_text("resources: [pool.yaml]\n", encoding="utf-8")
    uri = editor.open(repository / "pool.yaml", text)
    assert editor.codes(uri) == ["invalid-field"]
    kustomization.write_text("patches: [{path: pool.yaml}]\n", encoding="utf-8")
    editor.changed_on_disk(kustomization)
    editor.wait(lambda: not editor.published[uri][-1].diagnostics)


def test_a_client_that_watches_nothing_and_counts_no_versions(repository: Path) -> None:
    editor = Editor(repository, watches=False)
    assert editor.watched == []
    uri = editor.open(repository / "pool.yaml", POOL.replace("In", "in") + "---\n" + CLASS)
    assert editor.codes(uri) == ["invalid-field"]
    config = repository / "nodelint.yaml"
    config.write_text("ignore: [invalid-field]\n", encoding="utf-8")
    saved = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(config.as_uri()))
    editor._do(lambda: editor.client.text_document_did_save(saved))
    editor.wait(lambda: "invalid-field" not in [str(d.code) for d in editor.published[uri][-1].diagnostics])
    # what came to the disk meanwhile is seen when the next text is opened
    (repository / "class.yaml").write_text(CLASS.replace("main}", "other}", 1), encoding="utf-8")
    pool = editor.open(
        repository / "other.yaml", POOL.replace("name: main", "name: other").replace("name: general", "name: more")
    )
    assert editor.codes(pool) == []
    assert editor.leave() == (0, "")


def test_what_is_asked_can_be_taken_back(editor: Editor, repository: Path) -> None:
    uri = editor.open(repository / "pool.yaml", POOL)

    async def take_back() -> None:
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))
        requested = [asyncio.ensure_future(editor.client.text_document_hover_async(params)) for _ in range(20)]
        await asyncio.sleep(0)
        for id in list(editor.client.protocol._request_futures):
            editor.client.protocol.notify("$/cancelRequest", types.CancelParams(id))
        await asyncio.gather(*requested, return_exceptions=True)

    editor.runner.run(take_back())
    assert "all of them hold together" in editor.hover(uri, "requirements")


def test_every_label_that_karpenter_knows_is_explained() -> None:
    keys = set(table("labels")["well_known"])
    assert set(table("label_words")["meanings"]) == keys
    for version in (Version(1, 0, 0), NEWEST):
        catalog = Catalog.bundled().for_release(version)
        for key in keys:
            assert label(key, catalog)[0].startswith(f"`{key}`: ")


SNIPPETS = st.sampled_from(
    [
        "\n",
        "\r\n",
        "\r",
        "\u2028",
        "🦊",
        "\t",
        "- ",
        ": ",
        "[",
        "{",
        "}",
        '"',
        "'",
        "|",
        "#",
        "---\n",
        "*a",
        "{{ x }}",
    ]
)


PROJECT = Project(lambda: datetime(2026, 11, 20, tzinfo=UTC))
NUMBERS = count()


@given(st.lists(st.tuples(st.integers(0, 700), st.integers(0, 12), SNIPPETS), max_size=6), st.integers(0, 700))
def test_whatever_a_text_holds_there_is_an_answer(edits: list[tuple[int, int, str]], at: int) -> None:
    text = POOL + "---\n" + CLASS
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    buffer = Buffer("file:///nowhere/pool.yaml", 1, text, "utf-16")
    found = PROJECT.view_of(State({buffer.uri: buffer}, (), next(NUMBERS)), buffer.uri)
    assert found is not None
    view, _ = found
    assert not view.report.faults
    at = buffer.lines.offset(buffer.lines.position(at))
    for item in complete(view, buffer, at).items:
        assert isinstance(item.text_edit, types.TextEdit)
        begun, end = (buffer.lines.offset(value) for value in (item.text_edit.range.start, item.text_edit.range.end))
        assert begun <= at <= end and "\n" not in text[begun:end]
    page = hover(view, buffer, at)
    assert page is None or page.span.start <= at <= page.span.end
    for action in actions(view, buffer, 0, len(text), None, True):
        assert action.edit is not None and action.edit.document_changes


@pytest.mark.slow
@settings(max_examples=8)  # each starts a server
@given(data=st.data())
def test_any_text_is_borne_and_nothing_is_lost(data: st.DataObject, editor: Editor) -> None:
    """After any edits the server still has the client's text: it says of it what the engine says."""
    path = editor.home / f"any-{len(editor.texts)}" / "pool.yaml"  # an example that is given up leaves its text open
    (path.parent / ".git").mkdir(parents=True)
    uri = editor.open(path, data.draw(st.sampled_from([POOL + "---\n" + CLASS, "", "{[", POOL])))
    for _ in range(data.draw(st.integers(1, 6))):
        length = len(editor.texts[uri])
        start = data.draw(st.integers(0, length))
        end = min(length, start + data.draw(st.integers(0, 12)))
        if editor.texts[uri][start - 1 : start + 1] == "\r\n" or editor.texts[uri][end - 1 : end + 1] == "\r\n":
            continue  # no editor goes between the two
        editor.edit(uri, start, end, data.draw(SNIPPETS | st.text(max_size=4).filter(_sane)))
        at = data.draw(st.integers(0, len(editor.texts[uri])))
        editor.complete(uri, at)
        position = editor.position(editor.texts[uri], at)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), position)
        editor.runner.run(editor._ask(editor.client.text_document_hover_async(params)))
    editor.actions(uri)
    source = Source.from_text(str(path), editor.texts[uri])
    report = lint([source], LintRequest(Target(NEWEST), load(bundled())))
    wanted = [(result.rule.name, result.finding.message) for result in report.results]
    assert [
        (diagnostic.code, diagnostic.message.partition("\n")[0]) for diagnostic in editor.diagnostics(uri)
    ] == wanted
    editor.close(uri)


def _sane(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


@example(0, 29, "", 134)  # the kind of the object is gone, that of its class is not
@given(
    st.integers(0, len(POOL)), st.integers(0, len(POOL)), st.text("[]{}:-#'\"|\n ab", max_size=8), st.integers(0, 500)
)
def test_the_place_of_a_cursor_can_be_asked_in_any_text(a: int, b: int, noise: str, at: int) -> None:
    text = POOL[: min(a, b)] + noise + POOL[max(a, b) :]
    found = spot(text, min(at, len(text)))
    assert found is None or (found.start <= min(at, len(text)) <= found.end and found.kind == "NodePool")


@pytest.mark.parametrize("comment", ["# a: [b", "# a: [bc", "# 'x", "#", "#a: {"])
def test_a_comment_in_a_flow_mapping_opens_nothing(comment: str) -> None:
    text = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  disruption: {\n"
        f"    consolidateAfter: 1m, {comment}\n    budgets: []\n  }}\n"
    )
    found = spot(text, text.index("budgets") + 3)
    assert found is not None
    assert (found.path, found.place, text[found.start : found.end]) == (("spec", "disruption"), "key", "budgets")


@given(st.text("ä🦊a\n\r\u2028", max_size=20), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_offsets_and_positions_are_each_others_inverse(text: str, encoding: str) -> None:
    lines = LineIndex(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n" or not offset:
            assert lines.offset(lines.position(offset)) == offset
    whole = types.TextDocumentContentChangeWholeDocument("new")
    assert changed(lines, [whole], encoding).text == "new"
    far = types.Range(types.Position(0, 0), types.Position(99, 99))
    assert changed(lines, [types.TextDocumentContentChangePartial(far, "x")], encoding).text == "x"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize(("text", "end"), [("ab\ncd", 2), ("ab\r\ncd", 2), ("ä🦊\r\ncd", 2), ("ab", 2)])
def test_a_position_behind_the_end_of_its_line_is_that_end(text: str, end: int, encoding: str) -> None:
    assert LineIndex(text, encoding).offset(types.Position(0, 99)) == end


_broken_lines = st.text("ab\n\r🦊", max_size=20)


@given(_broken_lines, st.integers(0, 20), st.integers(0, 20), _broken_lines)
def test_lines_after_an_edit_are_those_of_the_new_text(text: str, a: int, b: int, new: str) -> None:
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    lines = LineIndex(text, "utf-16").replaced(start, end, new)
    fresh = LineIndex(text[:start] + new + text[end:], "utf-16")
    assert lines.text == fresh.text
    every = range(len(fresh.text) + 1)
    assert [lines.position(at) for at in every] == [fresh.position(at) for at in every]
    assert [lines.end_of_line_at(at) for at in every] == [fresh.end_of_line_at(at) for at in every]


def _server(*args: str, env: dict[str, str] | None = None, **rest: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "nodelint", "lsp", *args]
    whole = {**os.environ, **(env or {})}
    return subprocess.run(command, env=whole, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False, **rest)


@pytest.mark.slow
def test_it_ends_as_the_protocol_asks() -> None:
    note = b'{"jsonrpc":"2.0","method":"exit"}'
    gone = _server(input=b"Content-Length: %d\r\n\r\n%s" % (len(note), note))
    assert gone.returncode == 1  # without a shutdown before it
    lost = _server(input=b"")
    assert lost.returncode == 1 and lost.stdout == b""
    garbage = _server(input=b"Content-Length: 5\r\n\r\n{oops")
    assert garbage.returncode == 1


def test_without_pygls_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "pygls.py").write_text("raise ModuleNotFoundError('no', name='pygls')\n", encoding="utf-8")
    done = _server(env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})
    assert done.returncode == 2
    assert (
        done.stderr.decode()
        == "nodelint: the language server needs pygls: pip install pygls, or nodelint with its extra `lsp`\n"
    )


@pytest.mark.parametrize("args", [("--tcp", "nowhere"), ("--tcp", "127.0.0.1:99999"), ("--stdio", "--tcp", ":1")])
def test_an_address_that_is_none_is_refused(args: tuple[str, ...]) -> None:
    assert _server(*args).returncode == 2


def test_over_a_socket(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "nodelint", "lsp", "--tcp", f"127.0.0.1:{port}"], cwd=tmp_path)

    async def talk() -> None:
        client = LanguageClient("editor", "1")
        end = time.monotonic() + PATIENCE
        while True:
            try:
                await client.start_tcp("127.0.0.1", port)
                break
            except OSError:
                assert time.monotonic() < end
                await asyncio.sleep(0.25)
        done = await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
        assert done.capabilities.hover_provider
        await client.shutdown_async(None)
        client.exit(None)

    try:
        asyncio.run(asyncio.wait_for(talk(), PATIENCE))
        assert server.wait(PATIENCE) == 0
    finally:
        server.kill()
