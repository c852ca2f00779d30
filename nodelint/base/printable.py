"""Make text safe to print: manifests, file names and answers from AWS cannot send codes to a terminal.

Printed as escapes are: control characters (C0, DEL, C1), characters that reorder or hide text (bidirectional
formatting, zero width), and bytes of a file name that are not UTF-8. Reports escape each value with `printable`.
`screened` and `escaped_json` check a whole output again before it is written.
"""

from __future__ import annotations

_BIDI = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CODES = rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff{_BIDI}]|\r(?!\n)"
_COLOUR = r"\x1b\[[0-9;]*m"
_NOT_ASCII = r"[^\n -~]+"


def printable(text: str) -> str:
    r"""Return the text with each character that is not printable as a Python escape: `\x1b`, `\u202e`, `\n`."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_path(path: str) -> str:
    """Return a path that is safe at the start of a line: with `./` if GitHub Actions would read it as a command."""
    shown = without_commands(printable(path))
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def without_commands(text: str) -> str:
    r"""Return a one-line text in which GitHub Actions finds no command of the old form: `##[` becomes `#\x23[`.

    GitHub looks for this form anywhere in a line, as its source shows (ActionCommand.cs). `::` must begin the line.
    """
    return text.replace("##[", "#\\x23[")


def printable_lines(text: str) -> str:
    """Return a text with each line escaped by `printable`. Line feeds stay."""
    return "\n".join(map(printable, text.split("\n")))


def flat(line: str) -> str:
    """Return a line for an excerpt with the same number of characters, so that marks below it are aligned.

    Tabs and other white space become spaces. Control characters become their pictures (U+2400 ff.). Other characters
    that are not printable become U+FFFD.
    """
    return line if line.isprintable() else "".join(map(_picture, line))


def screened(text: str, colours: bool = False, commands: bool = False) -> str:
    """Return a whole output without codes for a terminal. Line ends and tabs stay.

    No line begins with a command of GitHub Actions, even after white space. With `commands` they stay: in nodelint's
    own commands, and in a diff. With `colours`, nodelint's own colours stay.
    """
    if not commands and ("::" in text or "##[" in text):
        import re

        text = re.sub(rf"(?m)^((?:\s|{_COLOUR})*):(?=:)", r"\1\\x3a", without_commands(text))
    if text.replace("\n", "").isprintable():
        return text  # without the patterns, which take a millisecond to compile
    import re

    codes = f"{_COLOUR}|{_hyperlinks()}|{_CODES}" if colours else _CODES
    return re.sub(codes, lambda m: m[0] if len(m[0]) > 1 else _escaped(m[0]), text)


def _hyperlinks() -> str:
    """Return a pattern of hyperlinks (OSC 8) to pages of rules. Other hyperlinks are not allowed."""
    import re

    from nodelint.base import project

    pages = re.escape(project.page("docs/rules/") or "")
    return rf"\x1b\]8;;(?:{pages}[a-z0-9-]+\.md)?\x1b\\" if pages else r"(?!)"


def has_codes(text: str) -> bool:
    """Return whether `screened` would change the text."""
    if text.replace("\n", "").isprintable():
        return False
    import re

    return re.search(_CODES, text) is not None


def escaped_json(text: str) -> str:
    r"""Return JSON in which each character that is not printable is a JSON escape. The values do not change."""
    text = text.replace("##[", "#\\u0023[")
    # JSON has escapes for the control characters before the space: no other is ASCII and not printable.
    if (text.isascii() and "\x7f" not in text) or text.replace("\n", "").isprintable():
        return text
    import re

    return re.sub(_NOT_ASCII, lambda m: m[0] if m[0].isprintable() else "".join(map(_json_escaped, m[0])), text)


def writable(text: str) -> str:
    """Return the text as valid UTF-8. Characters that cannot be encoded, as in a file name, become `\\ufffd`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _json_escaped(character: str) -> str:
    if character.isprintable():
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


def _picture(character: str) -> str:
    if character.isprintable() or character == "\ufeff":
        return character.replace("\ufeff", " ")
    if character.isspace() and character not in "\x1c\x1d\x1e\x1f\x85\u2028\u2029":
        return " "
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
