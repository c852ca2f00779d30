"""Corrections of pygls to JSON-RPC: each request gets a reply, an error if it is not valid.

The errors are those of
https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol. pygls only
logs a message that it cannot parse, and any message after `shutdown`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol.language_server import LanguageServerProtocol, lsp_method

_MOST = 3
"""The most errors of a message that are named."""


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, with a reply to each request, and texts as the client sent them.

    pygls breaks lines where the protocol does not (U+2028, U+0085), and changes positions.
    """

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Iterator[object]:
        """Pass a client's changes on unchanged."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the object unchanged: pygls also calls this for each object within a message."""
        return data

    def handle_message(self, message: Any) -> None:
        """Handle one message of the client. Reply with an error to a request that is not valid; log other faults."""
        try:
            super().handle_message(self._structured(message))
        except JsonRpcException as error:
            if not isinstance(message, dict) or ("id" in message and not _is_response(message)):
                self._refuse(_id_of(message), error)
            elif isinstance(error, JsonRpcInvalidParams):
                self._server.report_server_error(error, JsonRpcException)

    def unreadable(self) -> None:
        """Reply to a message that is not JSON."""
        self._refuse(None, JsonRpcParseError("the message is not JSON"))

    def publish(self, params: types.PublishDiagnosticsParams) -> None:
        """Send the diagnostics of a text.

        pygls would check the type of each value, which takes ten times as long as writing them.
        """
        content: dict[str, Any] = {
            "uri": params.uri,
            "diagnostics": [_diagnostic_json(shown) for shown in params.diagnostics],
        }
        if params.version is not None:
            content["version"] = params.version
        self._send_data(
            {"jsonrpc": self.VERSION, "method": types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, "params": content}
        )

    def _refuse(self, id: int | str | None, error: JsonRpcException) -> None:
        # Not as pygls' own type: that leaves out an id that is null.
        error_object = {"code": error.code, "message": error.message}
        self._send_data({"jsonrpc": self.VERSION, "id": id, "error": error_object})

    def _structured(self, message: Any) -> Any:
        """Return the message as a request, a notification or a response. Raise JsonRpcException if it is
        not valid.
        """
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest("the message is not an object of JSON-RPC 2.0")
        if "id" in message and _id_of(message) is None and not _is_response(message):
            raise JsonRpcInvalidRequest("`id` is neither a number nor a string")
        if "method" in message:
            self._check_method(message["method"])
        elif not _is_response(message):
            raise JsonRpcInvalidRequest("the message has no `method`")
        try:
            return super().structure_message(message)
        except JsonRpcException as error:
            faults = transform_error(error.__cause__) if isinstance(error.__cause__, BaseException) else []
            # The faults are named by lsprotocol's attributes: text_document is textDocument.
            name = re.sub(r"_([a-z])", lambda m: m[1].upper(), "; ".join(faults[:_MOST]))
            raise JsonRpcInvalidParams(f"{message.get('method', 'a response')}: {name}") from error

    def _check_method(self, method: Any) -> None:
        """Raise JsonRpcException for a method that does not exist, or that cannot be called now."""
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("`method` is not a string")
        if method == types.EXIT:
            return
        if self._shutdown:
            raise JsonRpcInvalidRequest(f"{method}: the server has been shut down")
        if self._workspace is None and method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized(f"{method}: the server has not been initialized")
        if self._workspace is not None and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest(f"{method}: the server has been initialized already")
        if method != types.CANCEL_REQUEST and method not in {**self.fm.builtin_features, **self.fm.features}:
            raise JsonRpcMethodNotFound.of(method)


def _diagnostic_json(shown: types.Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as JSON values, with the fields that nodelint uses."""
    made: dict[str, Any] = {"range": _range_json(shown.range), "message": shown.message}
    if shown.severity is not None:
        made["severity"] = shown.severity.value
    if shown.code is not None:
        made["code"] = shown.code
    if shown.code_description is not None:
        made["codeDescription"] = {"href": shown.code_description.href}
    if shown.source is not None:
        made["source"] = shown.source
    if shown.related_information is not None:
        made["relatedInformation"] = [
            {
                "location": {"uri": also.location.uri, "range": _range_json(also.location.range)},
                "message": also.message,
            }
            for also in shown.related_information
        ]
    if shown.data is not None:
        made["data"] = shown.data
    return made


def _range_json(place: types.Range) -> dict[str, dict[str, int]]:
    start, end = place.start, place.end
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }


def _is_response(message: dict[str, Any]) -> bool:
    return "method" not in message and "id" in message and ("result" in message or "error" in message)


def _id_of(message: Any) -> Any:
    """Return the id of a request; None if it has no valid id."""
    given = message.get("id") if isinstance(message, dict) else None
    return given if isinstance(given, int | str) and not isinstance(given, bool) else None
