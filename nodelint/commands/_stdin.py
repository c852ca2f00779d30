"""Manifests on standard input: the messages if the command before the pipe failed."""

from __future__ import annotations

import re

from nodelint.base.types import TYPE_CHECKING
from nodelint.commands._console import echo_file, say, stop

if TYPE_CHECKING:
    from nodelint.files.folders import Discovery
    from nodelint.text import Source


def take_stdin(found: Discovery, named: str | None, filtering: bool) -> Discovery:
    """Return a discovery that has the text of standard input.

    End the run if it is empty: the command before the pipe failed.

    An editor names the file whose text it pipes; such a text may be empty.
    """
    if named is not None:
        from nodelint.files.discover import name_stdin

        name_stdin(found, named)
        return found
    assert found.stdin is not None
    if not found.stdin.strip():
        stop("standard input is empty: run the command in front of the pipe alone to see why it prints nothing")
    piped = next((source for source in found.sources if source.path == "-"), None)
    reason = _explain_failed_pipe(found.stdin, piped)
    if reason is not None:
        if filtering:
            echo_file(found.stdin)
        stop(reason)
    from nodelint.text.joined_files import find_joined_line

    line = find_joined_line(piped) if piped is not None else None
    if line is not None:
        where = f"a second file begins in line {line} of standard input, without a line `---` in front of it"
        say(f"{where}: put one there, or name the files in place of the pipe")
    return found


def _explain_failed_pipe(data: bytes, piped: Source | None) -> str | None:
    """Return why standard input contains no Kubernetes object, or not all, such as an error of kubectl.

    None if nothing is wrong.
    """
    from nodelint.model.kubectl_errors import explain_failure, explain_missing_objects, explain_status

    if re.search(rb"apiVersion\\?[\"']?\s*[:=]", data.replace(b"\0", b"")) is None:
        text = data.decode("utf-8", "replace").removeprefix("\ufeff")
        return f"standard input holds no Kubernetes object: {explain_missing_objects(text)}"
    status = explain_status(data.decode("utf-8", "replace")) if b"Failure" in data else None
    if status is not None:
        return f"standard input holds an error in place of objects: {status}"
    failure = explain_failure(piped.text) if piped is not None and piped.problems else None
    return None if failure is None else f"not all objects are on standard input: {failure}"
