"""Read the content of a file, and check whether it concerns Karpenter."""

from __future__ import annotations

import os

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.kept_contents import file_contents
from nodelint.files.safe_read import error_reason
from nodelint.text.keywords import bytes_hold_keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nodelint.text import Source


# A snapshot file also has this name, in names of labels; a committed snapshot is not a manifest.
_SNAPSHOT = b'"nodelint-snapshot"'
_BEFORE_AN_OBJECT = b"\xef\xbb\xbf \t\r\n"
_REPORT_START = 1 << 12
"""The bytes at the beginning of a file that show whether it is a report of nodelint."""
_REPORT = (
    rb'"version":1,(?:"facts":.*?,)?"nodePools":\[\{"name":(?:null|"[^"]*"),"path":"[^"]*",(?:"with":"[^"]*",)?"nodeClass":'
    rb'|"version":1,"findings":\[|"version":1,"karpenter":"[^"]*","headline":"'
    rb'|"version":1,"objects":\[\{"kind":"[^"]*","name":(?:null|"[^"]*"),"path":'
    rb'|"version":1,"target":"[^"]*","written":|"version":1,"from":"[^"]*","to":"[^"]*","route":'
    rb'|"version":1,"log":\{"path":|"version":1,"time":"[^"]*","release":\{'
    rb'|"workloads":\[\{"kind":"[^"]*","name":(?:null|"[^"]*"),"namespace":(?:null|"[^"]*"),"path":'
    rb'|(?:"version":"[^"]*",)?"\$schema":"[^"]*sarif'
)
"""How a report of a command begins, in the order `explain`, `check`, `plan`, `hash`, `migrate`, `upgrade`, `triage`,
`why`, `fit`, SARIF.
"""

# Bytes. It protects against reading a device or a dump, and no repository reaches it.
_LARGEST = 64 << 20
_AT_MOST = "only files named `.yaml` or `.yml` are read at this size"
_CHUNK = 1 << 16
_GROUP = 1 << 14
"""The bytes of files that are searched together."""
_FOR_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)


_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip"}


def explain_unreadable(data: bytes) -> str | None:
    """Return why data is not a text, such as compressed data, as the end of a sentence. None if it may be a text."""
    how = next((how for magic, how in _PACKED.items() if data.startswith(magic)), None)
    if how is not None:
        return f"is compressed ({how}): unpack it first"
    return "is not a text: name a file with manifests" if _is_binary(data) else None


def _is_binary(data: bytes) -> bool:
    """Return whether data has zero bytes and is no text of UTF-16 or UTF-32."""
    if data.find(b"\0") < 0 or data.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")):
        return False
    try:
        data.replace(b"\0", b"").decode()
    except UnicodeDecodeError:
        return True
    return False


def display_path(file: str) -> str:
    """Return a path with forward slashes. A file named `-` is shown as `./-`, which is not standard input."""
    return file.replace(os.sep, "/") if file != "-" else "./-"


def read_content(path: str, unreadable: list[tuple[str, str]]) -> bytes | Source | None:
    """Return the content of a file, or the parsed documents of a long YAML stream.

    None if the file cannot be read: then the path and the reason are added to `unreadable`. None as well for a long
    stream that does not mention Karpenter.
    """
    if (before := file_contents.get(path)) is not None:
        return before
    # os.read avoids the setup of open(): a third of the time for ten thousand small files.
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
    """Return the content of a file that is longer than its first `chunks`, as `read_content` does."""
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


def join_contents(
    contents: Iterable[tuple[str, bytes | Source | None]], largest: int = _LARGEST
) -> Iterator[tuple[list[tuple[str, bytes]], bytes]]:
    """Yield groups of files with their contents, and the joined contents of each group, for searches of many files.

    Most words are in few files: a group without a word saves a search of each file. Larger files are left out.
    """
    group: list[tuple[str, bytes]] = []
    size = 0
    for path, data in contents:
        if data.__class__ is not bytes or len(data) > largest:
            continue
        group.append((path, data))
        size += len(data)
        if size >= _GROUP:
            yield group, b"\n".join([data for _, data in group])
            group, size = [], 0
    if group:
        yield group, b"\n".join([data for _, data in group])


def concerns_karpenter(data: bytes) -> bool:
    """Return whether content mentions Karpenter and is not a snapshot or a report written by nodelint."""
    # In UTF-16, there are zero bytes between the letters of the keyword.
    has_keyword = bytes_hold_keyword(data) or (data.find(b"\0") >= 0 and bytes_hold_keyword(data.replace(b"\0", b"")))
    return has_keyword and not is_own_output(data)


def is_own_output(data: bytes) -> bool:
    """Return whether content is a snapshot of nodelint, a report in its JSON, or one in SARIF of any tool.

    A report has the keys of NodePools, and would be read as the values of a chart.
    """
    if not data[:16].lstrip(_BEFORE_AN_OBJECT).startswith(b"{"):
        return False
    start = b"".join(data[:_REPORT_START].split()).removeprefix(b"\xef\xbb\xbf")[1:]
    if start.startswith(_SNAPSHOT):
        return True
    if not start.startswith((b'"version":', b'"workloads":', b'"$schema":')):
        return False
    import re

    return re.match(_REPORT, start) is not None
