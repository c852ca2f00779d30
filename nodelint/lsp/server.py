"""The language server: messages of the client become states, and requests are answered from their views.

Texts are kept on the thread of the event loop. Judging runs on one other thread, one task at a time, so that the
server always reacts to the client. A run over an outdated state is stopped between two objects.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from json import JSONDecodeError
from threading import Event
from time import thread_time
from typing import TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from nodelint import __version__
from nodelint.config.settings import FILES
from nodelint.files.file_keywords import may_state
from nodelint.files.file_kinds import GENERATOR_INPUTS, TEMPLATES, YAML_ENDINGS
from nodelint.forms.registry import TABLE
from nodelint.lsp.buffers import Buffer, State, file_path, is_file_uri
from nodelint.lsp.diagnostics import diagnostics, of_trouble, uri_of
from nodelint.lsp.positions import changed
from nodelint.lsp.project import Project
from nodelint.lsp.protocol import Protocol
from nodelint.lsp.view import View
from nodelint.model.gap import Gap

_LONGEST_QUIET = 0.1
"""The longest time, in seconds, without a change before slow texts are judged. Fast texts wait less."""

_AT_ONCE = 0.08
"""Seconds of work that judging may take for each key to be followed by it at once: few people type faster.

The work of the thread counts, not the time of a clock: a machine that is busy elsewhere makes an answer late enough.
"""

_ENDINGS = tuple(
    dict.fromkeys(
        ending
        for ending in (
            *(*YAML_ENDINGS, *TEMPLATES, *TABLE.module_files, *TABLE.glanced, *TABLE.templates, *GENERATOR_INPUTS),
            ".toml",
        )
        if ending.startswith(".")
    )
)
_WATCHED = (
    f"**/*.{{{','.join(ending[1:] for ending in _ENDINGS)}}}",
    *(f"**/{name}" for name in TABLE.names if not name.endswith(_ENDINGS)),
)
_log = logging.getLogger("nodelint.lsp")
_T = TypeVar("_T")


class Superseded(Exception):
    """Raised to stop work on a text that has changed since."""


def _modified() -> JsonRpcException:
    code = types.LSPErrorCodes.ContentModified.value
    return JsonRpcException("the text has changed since", code)


class Server(LanguageServer):
    """The language server of nodelint. `now` returns the time in UTC."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__("nodelint", __version__, protocol_cls=Protocol)
        assert isinstance(self.protocol, Protocol)
        self._protocol = self.protocol
        self.state = State()
        self.ended_well = False
        self._project = Project(now, self._pause)
        self._at_work = 0
        self._took = 0.0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="nodelint")
        self._judging: asyncio.Task[None] | None = None
        self._published: dict[str, types.PublishDiagnosticsParams] = {}
        self._shown_messages: set[str] = set()
        self._faults: set[str] = set()
        self._stating: set[str] = set()
        self._watches = False

    @property
    def encoding(self) -> str:
        """Return the unit in which the client counts positions in a line."""
        return types.PositionEncodingKind(self.workspace.position_encoding or "utf-16").value

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log a message that could not be handled; the server continues with the next one."""
        if isinstance(error, JSONDecodeError | UnicodeDecodeError | RecursionError) and source is JsonRpcException:
            self._protocol.unreadable()
        if getattr(error, "code", None) != types.LSPErrorCodes.ContentModified.value:  # that is no fault
            _log.error("%s", error)

    def start_tcp(self, host: str, port: int) -> None:
        """Listen on an address for one client, until it disconnects."""
        stop = self._stop_event = Event()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.protocol.set_writer(writer)
            try:
                await run_async(stop, reader, self.protocol, error_handler=self.report_server_error)
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            finally:
                self.shutdown()  # type: ignore[no-untyped-call]

        async def listen() -> None:
            self._server = await asyncio.start_server(connected, host, port)
            async with self._server:
                await self._server.serve_forever()

        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(listen())

    # What changes

    def opened(self, uri: str, version: int | None, text: str) -> None:
        """Add an open text. If the client does not watch the disk, other files are read again."""
        if is_file_uri(uri):
            self._published.pop(uri, None)
            self._changed(self._with_buffer(uri, version, text), disk=not self._watches)

    def edited(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply the changes of an open text."""
        uri = params.text_document.uri
        before = self.state.buffers.get(uri)
        if before is not None:
            lines = changed(before.lines, params.content_changes, self.encoding)
            buffers = self._with_buffer(uri, params.text_document.version, lines.text)
            buffers[uri].take_lines(lines)
            self._changed(buffers)

    def saved(self, uri: str) -> None:
        """Handle a saved text.

        Other files are read again if it is a configuration or kustomization, or states a release.

        Saving any other manifest changes nothing.
        """
        name, buffer = uri.rpartition("/")[2], self.state.buffers.get(uri)
        states = buffer is not None and may_state(buffer.path, buffer.text.encode(errors="replace"), True)
        if states or uri in self._stating or name in (*FILES, "pyproject.toml") or name in TABLE.names:
            self.disk_changed()
        (self._stating.add if states else self._stating.discard)(uri)

    def closed(self, uri: str) -> None:
        """Remove a text that was closed; the file on disk is used again."""
        buffers = {other: buffer for other, buffer in self.state.buffers.items() if other != uri}
        if len(buffers) < len(self.state.buffers):
            # The disk may hold another text than the one that was given up.
            self._changed(buffers, disk=True)

    def disk_changed(self) -> None:
        """Handle a change of files that are not open, or of the configuration."""
        self._changed(self.state.buffers, disk=True)

    def folders_changed(self) -> None:
        """Update the folders that the client has opened."""
        folders = [file_path(folder.uri) for folder in self.workspace.folders.values()]
        if not folders and self.workspace.root_uri:
            folders = [file_path(self.workspace.root_uri)]
        self.state = self.state._replace(folders=tuple(folder for folder in folders if folder))
        self._changed(self.state.buffers)

    def _with_buffer(self, uri: str, version: int | None, text: str) -> dict[str, Buffer]:
        return {**self.state.buffers, uri: Buffer(uri, version, text, self.encoding)}

    def _changed(self, buffers: Mapping[str, Buffer], disk: bool = False) -> None:
        state = self.state
        if disk:  # what a kustomization says of an open file may be another thing now
            buffers = {uri: Buffer(uri, b.version, b.text, b.encoding) for uri, b in buffers.items()}
        self.state = state._replace(buffers=buffers, number=state.number + 1, disk=state.disk + disk)
        if self._judging is not None:
            self._judging.cancel()
        # The first look at a text is not put off: nobody is typing yet.
        known = self.state.buffers.keys() <= self._published.keys()
        quiet = min(self._took, _LONGEST_QUIET) if known and self._took > _AT_ONCE else 0.0
        self._judging = asyncio.ensure_future(self._judge(self.state.number, quiet))

    # What is answered

    async def run(self, work: Callable[[], _T]) -> _T:
        """Run a function on the judging thread and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def ask(self, uri: str, work: Callable[[View, Buffer], _T]) -> _T | None:
        """Return the result of `work` for an open text; None if the text is not judged, or if `work` fails.

        Raise JsonRpcException if the text changes before the result is known, because the client no longer needs it.
        """
        buffer = self.state.buffers.get(uri)
        # What waits for its turn keeps no text that nobody else has.
        about = None if buffer is None else weakref.ref(buffer)
        del buffer

        def answer() -> _T | None:
            state = self._begin()
            if about is not None and about() is not state.buffers.get(uri):
                raise Superseded
            found = self._project.view_of(state, uri)
            return None if found is None else work(*found)

        try:
            return await self.run(answer)
        except Superseded:
            raise _modified() from None
        except Exception:
            # If a failed request ended the server, every open text would lose it: log the error and go on.
            _log.exception("internal error, please report it")
            return None

    def _begin(self) -> State:
        """Return the newest state and mark it as the state of the judging thread."""
        state = self.state
        self._at_work = state.number
        return state

    def _pause(self) -> None:
        """Raise Superseded if the judged state is not the newest; called on the judging thread."""
        if self._at_work not in (0, self.state.number):
            raise Superseded

    async def _judge(self, number: int, quiet: float) -> None:
        await asyncio.sleep(quiet)

        def judge() -> tuple[list[types.PublishDiagnosticsParams], list[Gap], list[str]]:
            state = self._begin()
            if state.number != number:
                raise Superseded
            began = thread_time()
            reports: list[types.PublishDiagnosticsParams] = []
            faults: list[str] = []
            for view in self._project.views(state):
                try:
                    reports += [
                        types.PublishDiagnosticsParams(buffer.uri, diagnostics(view, buffer), buffer.version)
                        for buffer in view.buffers
                    ]
                    faults += view.report.faults
                except Superseded:
                    raise
                except Exception:
                    # The texts of other folders are judged anyway; of these stays what was published.
                    _log.exception("internal error, please report it")
                    reports += [self._published[b.uri] for b in view.buffers if b.uri in self._published]
            self._took = thread_time() - began
            return reports, list(self._project.troubles), faults

        try:
            reports, troubles, faults = await self.run(judge)
        except Superseded:
            return  # the newer state is judged in its turn
        except Exception:
            # What was published stays, and the next change is judged anew.
            _log.exception("internal error, please report it")
            return
        if number != self.state.number:
            return
        for fault in dict.fromkeys(faults):
            if fault not in self._faults:
                _log.error("%s", fault)
        self._faults.update(faults)
        self._publish(reports, troubles)

    def _publish(self, reports: list[types.PublishDiagnosticsParams], troubles: list[Gap]) -> None:
        messages = set()
        for trouble in troubles:
            if trouble.path:
                uri = uri_of(trouble.path)
                opened = self.state.buffers.get(uri)
                reports = [report for report in reports if report.uri != uri]
                version = opened.version if opened is not None else None
                reports.append(types.PublishDiagnosticsParams(uri, [of_trouble(trouble)], version))
            message = f"nodelint: {trouble.path}: {trouble.reason}" if trouble.path else f"nodelint: {trouble.reason}"
            messages.add(message)
            if message not in self._shown_messages:
                self.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))
        self._shown_messages = messages
        now = {report.uri: report for report in reports}
        for uri, params in now.items():
            before = self._published.get(uri)
            if before is None or params.version != before.version or params != before:
                self._protocol.publish(params)
        for uri in self._published.keys() - now.keys():
            self._protocol.publish(types.PublishDiagnosticsParams(uri, []))
        self._published = now

    def begin(self) -> None:
        """Ask the client to report changed files, if it can, and load the modules that the first text needs."""
        workspace = self.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(glob_pattern=glob) for glob in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("nodelint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.client_register_capability(types.RegistrationParams([registration]))
            self._watches = True
        self.folders_changed()
        self._worker.submit(self._project.warm)

    @property
    def versioned(self) -> bool:
        """Return whether the client accepts edits for a version of a text."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return edit is not None and edit.document_changes is True

    def finish(self) -> None:
        """Cancel pending work."""
        if self._judging is not None:
            self._judging.cancel()
        self._worker.shutdown(wait=False, cancel_futures=True)
