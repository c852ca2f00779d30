"""What a fix would change, as a unified diff that git and patch apply."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from nodelint.edits import line_diff
from nodelint.report.style import Style
from nodelint.text import Source


def unified(old: Source, new: Source) -> Iterator[str]:
    """The lines of the diff, each with its break; none where the texts are the same."""
    path = old.path.lstrip("/")
    names = _quoted(f"a/{path}"), _quoted(f"b/{path}")
    for line in line_diff.unified(_lines(old.text), _lines(new.text), names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def coloured(diff: str, style: Style) -> str:
    """A diff with the colours that git gives it."""
    lines = []
    for line in _lines(diff):
        shown = next((shown for mark, shown in _COLOURS if line.startswith(mark)), None)
        lines.append(line if shown is None else f"{style(line.removesuffix(chr(10)), **shown)}\n")
    return "".join(lines)


_COLOURS: tuple[tuple[str, dict[str, object]], ...] = (
    ("---", {"bold": True}),
    ("+++", {"bold": True}),
    ("@@", {"fg": "cyan"}),
    ("-", {"fg": "red"}),
    ("+", {"fg": "green"}),
)


def _quoted(path: str) -> str:
    """A path as git quotes it where it holds what is not printable: bytes in octal, within double quotes."""
    if path.isprintable():
        return path
    escaped = (
        {'"': '\\"', "\\": "\\\\"}.get(c, c)
        if c.isprintable()
        else "".join(f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogateescape"))
        for c in path
    )
    return f'"{"".join(escaped)}"'


def _lines(text: str) -> list[str]:
    # As git and patch count them: splitlines() breaks at six more characters.
    return list(StringIO(text, newline="\n"))
