"""The content of a file, as far as a run reads it."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.kept_contents import file_contents
from nodelint.files.safe_read import error_reason
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from nodelint.text import Source


# A snapshot holds it too, in the names of labels; one that is committed beside the manifests is not one of them.
_SNAPSHOT = b'"nodelint-snapshot"'
_BEFORE_A_KEY = b"\xef\xbb\xbf{ \t\r\n"

# Bytes. A guard against reading a device or a dump whole, not a limit that a repository meets.
_LARGEST = 64 << 20
_AT_MOST = "only files named `.yaml` or `.yml` are read at this size"
_CHUNK = 1 << 16
_FOR_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)


def display_path(file: str) -> str:
    """Return a path with forward slashes. A file named `-` is shown as `./-`, which is not standard input."""
    return file.replace(os.sep, "/") if file != "-" else "./-"


def read_content(path: str, unreadable: list[tuple[str, str]]) -> bytes | Source | None:
    """Return the content of a file, or what a long stream of YAML holds; None if it is neither."""
    if (before := file_contents.get(path)) is not None:
        return before
    # os.read spares what open() sets up: over ten thousand small files that is a third of the time.
    try:
        handle = os.open(path, _FOR_READING)
        try:
            data = os.read(handle, _CHUNK)
            if more := os.read(handle, _CHUNK):
                return _read_on(path, handle, [data, more], unreadable)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        unreadable.append((path, error_reason(error)))
        return None
    file_contents.keep(path, data)
    return data


def _read_on(path: str, handle: int, chunks: list[bytes], unreadable: list[tuple[str, str]]) -> bytes | Source | None:
    """Return the content of a file that is longer than its first chunks, as `read_content` does."""
    size = sum(map(len, chunks))
    while size <= _LARGEST and (chunk := os.read(handle, _CHUNK)):
        chunks.append(chunk)
        size += len(chunk)
        if len(chunks) == 16 and path.endswith((".yaml", ".yml")) and os.fstat(handle).st_size > _LARGEST:
            from nodelint.text.yaml import yaml_stream

            os.lseek(handle, 0, os.SEEK_SET)
            return yaml_stream.read(display_path(path), handle)
    data = b"".join(chunks)
    if size > _LARGEST and bytes_hold_keyword(data):
        unreadable.append((path, f"larger than {_LARGEST >> 20} MiB: {_AT_MOST}"))
        return None
    if size <= _LARGEST:
        file_contents.keep(path, data)
    return data


def concerns_karpenter(data: bytes) -> bool:
    """Whether content names Karpenter and is no snapshot of nodelint's own."""
    # A file in UTF-16 has the letters of the keyword with zeros between them.
    has_keyword = bytes_hold_keyword(data) or (data.find(b"\0") >= 0 and bytes_hold_keyword(data.replace(b"\0", b"")))
    return has_keyword and not data.lstrip(_BEFORE_A_KEY).startswith(_SNAPSHOT)
