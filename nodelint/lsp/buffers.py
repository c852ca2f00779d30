"""The texts that are open in an editor, each in one version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from pygls.uris import to_fs_path

from nodelint.base.tuples import NamedTuple
from nodelint.forms.registry import TABLE
from nodelint.lsp.positions import LineIndex
from nodelint.text import Source


class Buffer:
    """One version of a text that is open in the editor."""

    def __init__(self, uri: str, version: int | None, text: str, encoding: str) -> None:
        self.uri = uri
        self.version = version
        self.text = text
        self.encoding = encoding
        self.path = _path(uri)

    @property
    def on_disk(self) -> bool:
        """Return whether the text is a file; False for an untitled text."""
        return self.path != self.uri

    @cached_property
    def source(self) -> Source:
        """Return the parsed text."""
        source = Source.from_text(self.path, self.text)
        if self.on_disk:
            source.part = TABLE.is_part(self.path)
        return source

    @property
    def source_read(self) -> Source | None:
        """Return the source of the buffer if it has been read already, else None."""
        return self.__dict__.get("source")

    def take(self, source: Source) -> None:
        """Set the source that was parsed from this text."""
        self.__dict__["source"] = source

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text, self.encoding)

    def take_lines(self, lines: LineIndex) -> None:
        """Set the line index of this text."""
        self.__dict__["lines"] = lines


def is_file_uri(uri: str) -> bool:
    """Return whether a URI is that of a file or of an unsaved text.

    False for the other side of a comparison, or a page of an extension.
    """
    return uri.startswith(("file:", "untitled:"))


def _path(uri: str) -> str:
    path = file_path(uri)
    return uri if path is None else os.path.normpath(path)


def file_path(uri: str) -> str | None:
    """Return the path of a file URI; None for any other URI and for an invalid path."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
    except ValueError:  # `file://[`: an address that is not one
        return None
    return None if path is None or "\0" in path else path


class State(NamedTuple):
    """The open texts and folders at one moment.

    `number` counts all changes, `disk` the changes on disk that the editor reported.
    """

    buffers: Mapping[str, Buffer] = {}
    folders: tuple[str, ...] = ()
    number: int = 0
    disk: int = 0
