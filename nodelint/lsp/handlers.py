"""The handlers of the client's requests and notifications."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from lsprotocol import types

from nodelint.base.types import TYPE_CHECKING
from nodelint.config.settings import FILES
from nodelint.lsp.actions import FIX_ALL, actions
from nodelint.lsp.completion import complete
from nodelint.lsp.diagnostics import location
from nodelint.lsp.hover import definition, hover
from nodelint.lsp.server import Server
from nodelint.lsp.summary import lenses, symbols

if TYPE_CHECKING:
    from nodelint.lsp.buffers import Buffer
    from nodelint.lsp.view import View


def make_server(now: Callable[[], datetime]) -> Server:
    """Return a server that handles all requests and notifications of a client. `now` returns the time in UTC."""
    server = Server(now)
    _register_run(server)
    _register_texts(server)
    _register_reading(server)
    _register_overviews(server)
    _register_writing(server)
    return server


def _register_run(server: Server) -> None:
    """Add the handlers of the start, the end, and changes besides texts."""

    @server.feature(types.INITIALIZED)
    def initialized(_: types.InitializedParams) -> None:
        server.begin()

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.ended_well = True
        server.finish()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        names = (*FILES, "pyproject.toml")
        if any(c.uri not in server.state.buffers or c.uri.endswith(names) for c in params.changes):
            server.disk_changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.folders_changed()


def _register_texts(server: Server) -> None:
    """Add the handlers of texts that are opened, changed, saved and closed."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.opened(document.uri, document.version, document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def edited(params: types.DidChangeTextDocumentParams) -> None:
        server.edited(params)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.saved(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _register_reading(server: Server) -> None:
    """Add the handlers of requests about a place in a text."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        def answer(view: View, buffer: Buffer) -> types.Hover | None:
            found = hover(view, buffer, buffer.lines.offset(params.position))
            if found is None:
                return None
            text = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
            return types.Hover(text, buffer.lines.range(found.span.start, found.span.end))

        return await server.ask(params.text_document.uri, answer)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: types.DefinitionParams) -> types.Location | None:
        def answer(view: View, buffer: Buffer) -> types.Location | None:
            found = definition(view, buffer, buffer.lines.offset(params.position))
            return None if found is None else location(view, buffer.encoding, found)

        return await server.ask(params.text_document.uri, answer)


def _register_overviews(server: Server) -> None:
    """Add the handlers of requests about a text as a whole."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lensed(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        return await server.ask(params.text_document.uri, lambda view, buffer: list(lenses(view, buffer)))

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def listed(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | None:
        return await server.ask(params.text_document.uri, lambda view, buffer: list(symbols(view, buffer)))


def _register_writing(server: Server) -> None:
    """Add the handlers of requests that return text to write."""

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=[" ", '"', "'", "[", "@", "/", "."]),
    )
    async def completed(params: types.CompletionParams) -> types.CompletionList | None:
        def answer(view: View, buffer: Buffer) -> types.CompletionList:
            return complete(view, buffer, buffer.lines.offset(params.position))

        return await server.ask(params.text_document.uri, answer)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
    )
    async def acted(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        def answer(view: View, buffer: Buffer) -> list[types.CodeAction]:
            start, end = buffer.lines.offset(params.range.start), buffer.lines.offset(params.range.end)
            only = None if params.context.only is None else [str(_value(kind)) for kind in params.context.only]
            return list(actions(view, buffer, start, end, only, server.versioned))

        return await server.ask(params.text_document.uri, answer)


def _value(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind
