"""The parts of user data: those of a MIME archive as Karpenter reads it in Go, or one text of the kind of its AMI
family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.tuples import NamedTuple
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal

    PartKind = Literal["nodeconfig", "shell", "cloud-config", "toml", "powershell", "plain", "other"]
else:
    PartKind = str


_TYPES: dict[str, PartKind] = {
    "application/node.eks.aws": "nodeconfig",
    "text/x-shellscript": "shell",
    "text/cloud-config": "cloud-config",
    "text/plain": "plain",
    "": "plain",
}
_HEADER = r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*+(.*)"
_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"


class Part(NamedTuple):
    """A part of user data: its `kind`, and the characters `start` to `end`."""

    kind: PartKind
    start: int
    end: int


class UserDataProblem(NamedTuple):
    """A problem in a range of user data: `message`, its consequence (`note`), the correct text (`new`), and what to
    do (`help`).

    `choices` are texts that may have been meant. `joins` is true if only this part is lost: Karpenter's own part
    runs, and the node joins. `lenient` is true if cloud-init, which is Python, can still read it: Karpenter and
    nodeadm, in Go, cannot.
    """

    start: int
    end: int
    message: str
    note: str | None = None
    new: str | None = None
    help: str | None = None
    lenient: bool = False
    choices: tuple[str, ...] = ()
    joins: bool = False


class Archive(NamedTuple):
    """The parts of a MIME archive and its problems. After a problem, the further parts are missing."""

    parts: tuple[Part, ...]
    troubles: tuple[UserDataProblem, ...]


class _Line(NamedTuple):
    start: int
    end: int
    text: str


_NO_LAUNCH = "Karpenter cannot read the userData and launches nothing with this class"


def is_mime(text: str) -> bool:
    """Return whether Karpenter reads user data as a MIME archive."""
    return text.strip().startswith(("MIME-Version:", "Content-Type:"))


def archive(text: str) -> Archive:
    """Return the parts of a MIME archive, and its problems."""
    blank = len(text) - len(text.lstrip())
    if blank:
        message = "the MIME header must begin in the first line: a blank line ends it"
        return Archive((), (UserDataProblem(0, blank, message, _NO_LAUNCH, ""),))
    lines = list(_lines(text))
    headers, body, trouble = _headers(lines, 0)
    if trouble is not None:
        return Archive((), (trouble,))
    found = _boundary(text, headers)
    if isinstance(found, UserDataProblem):
        return Archive((), (found,))
    return _parts(text, lines, body, found)


def _parts(text: str, lines: list[_Line], body: int, boundary: str) -> Archive:
    dash = f"--{boundary}"
    at = body
    while at < len(lines) and not _delimits(lines[at].text, dash):
        at += 1
    if at == len(lines):
        start, end = lines[0].start, lines[0].end
        message = f"no line `{dash[:40]}` begins a part: the node gets nothing of the userData"
        return Archive((), (UserDataProblem(start, end, message),))
    parts: list[Part] = []
    while lines[at].text.rstrip(" \t") != dash + "--":
        headers, begin, trouble = _headers(lines, at + 1)
        if trouble is not None:
            return Archive(tuple(parts), (trouble,))
        # Go takes the end of the text before the content of a part for the end of the archive.
        if begin >= len(lines):
            return Archive(tuple(parts), ())
        at = begin
        while at < len(lines) and not _delimits(lines[at].text, dash):
            at += 1
        if at == len(lines):
            last = lines[-1] if lines[-1].text or len(lines) == 1 else lines[-2]
            closing = f"{dash}--"
            message = f"the archive has no end: the last line must be `{closing[:40]}`"
            fault = UserDataProblem(last.end, last.end, message, _NO_LAUNCH, f"\n{closing}", lenient=True)
            return Archive(tuple(parts), (fault,))
        start = lines[begin].start if begin < len(lines) else len(text)
        content_type = headers.get("content-type", (0, 0, ""))[2]
        kind = _TYPES.get(content_type.partition(";")[0].strip().lower(), "other")
        parts.append(Part(kind, start, max(start, lines[at].start - 1)))
    return Archive(tuple(parts), ())


def _lines(text: str) -> Iterator[_Line]:
    at = 0
    for line in text.split("\n"):
        yield _Line(at, at + len(line), line)
        at += len(line) + 1


def _delimits(line: str, dash: str) -> bool:
    return line.startswith(dash) and line[len(dash) :].rstrip(" \t") in ("", "--")


def _headers(lines: list[_Line], at: int) -> tuple[dict[str, tuple[int, int, str]], int, UserDataProblem | None]:
    """Return the headers from a line on by their names in lower case, the index of the first line after the blank
    line, and a problem (else None).
    """
    found: dict[str, tuple[int, int, str]] = {}
    last = ""
    while at < len(lines) and lines[at].text:
        line = lines[at]
        match = re.fullmatch(_HEADER, line.text)
        if match is not None:
            last = match[1].lower()
            found.setdefault(last, (line.start + match.start(2), line.end, match[2].strip()))
        elif line.text[0] in " \t" and last:
            start, end, value = found[last]
            found[last] = (start, end, f"{value} {line.text.strip()}")
        else:
            message = "a MIME header ends with a blank line: one is missing before this line"
            return found, at, UserDataProblem(line.start, line.end, message, _NO_LAUNCH, lenient=True)
        at += 1
    return found, at + 1, None


def _boundary(text: str, headers: dict[str, tuple[int, int, str]]) -> str | UserDataProblem:
    start, end, value = headers.get("content-type", (0, len(text.partition("\n")[0]), ""))
    media = value.partition(";")[0].strip().lower()
    if not media.startswith("multipart/"):
        message = f"the MIME header says `{media[:30]}`: only `multipart/mixed` with a boundary is supported"
        words = message if media else "the MIME header has no `Content-Type`"
        return UserDataProblem(start, end, words, _NO_LAUNCH, lenient=True)
    found = re.search(r";\s*boundary\s*=\s*(?:\"([^\"]*)\"|([^;\s]+))", value, re.IGNORECASE)
    if found is None:
        written = text[start:end].rstrip().rstrip(";")
        dash = next((line.text for line in _lines(text[end:]) if re.fullmatch(r"--[\w.=+-]{1,70}", line.text)), None)
        # If the next line is indented, the header has several lines, and added text would become a part of it.
        whole = "\n" not in written and not text[end + 1 :].startswith((" ", "\t"))
        new = f'{written}; boundary="{dash[2:]}"' if dash is not None and whole else None
        return UserDataProblem(start, end, "the MIME header names no boundary", _NO_LAUNCH, new)
    bare = found[2]
    if bare is not None and re.fullmatch(_TOKEN, bare) is None:
        at = text.find(bare, start, end)
        message = f"the boundary `{bare[:40]}` must be in quotes"
        return (
            UserDataProblem(at, at + len(bare), message, _NO_LAUNCH, f'"{bare}"', lenient=True)
            if at >= 0
            else UserDataProblem(start, end, message, lenient=True)
        )
    return found[1] if bare is None else str(bare)
