"""Text that is safe to print: a manifest, a file name or an answer from AWS cannot send codes to a terminal.

What is printed as an escape: control characters (C0, DEL, C1), characters that reorder or hide text (bidirectional
formatting, zero width), and what is not UTF-8 in the name of a file. Reports escape each value with `printable`.
`screened` and `escaped_json` go over a whole output once more before it is written.
"""

from __future__ import annotations

_BIDI = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CODES = rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff{_BIDI}]|\r(?!\n)"
_COLOUR = r"\x1b\[[0-9;]*m"
_NOT_ASCII = r"[^\n -~]+"


def printable(text: str) -> str:
    r"""Return text in which every character that is not printable is a Python escape: `\x1b`, `\u202e`, `\n`."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_path(path: str) -> str:
    """Return a path that may begin a line: `./` stands before one that GitHub Actions would take for a command."""
    shown = without_commands(printable(path))
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def without_commands(text: str) -> str:
    r"""Return a text of one line in which a runner of GitHub finds no command of the older form: `##[` becomes
    `#\x23[`.

    It looks for that form anywhere in a line, as its source has it (ActionCommand.cs); `::` has to begin the line.
    """
    return text.replace("##[", "#\\x23[")


def printable_lines(text: str) -> str:
    """Return a text of several lines as `printable` does; its line feeds stay."""
    return "\n".join(map(printable, text.split("\n")))


def flat(line: str) -> str:
    """Return a line for an excerpt: one character stays one character, so that a mark below stands where it should.

    Tabs and other white space become spaces; control characters become their pictures (U+2400 ff.), all else that is
    not printable U+FFFD.
    """
    return line if line.isprintable() else "".join(map(_picture, line))


def screened(text: str, colours: bool = False, commands: bool = False) -> str:
    """Return a whole output without codes for a terminal; line ends and tabs stay, and with `colours` its own
    colours.

    Nor does a line of it begin with what a runner takes for a command, after white space or not: what a repository
    holds may do so wherever a line is broken. `commands` leaves them: in nodelint's own commands, or in a diff.
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
    """Return a pattern of hyperlinks (OSC 8) to the pages of rules: nowhere else, whatever a manifest says."""
    import re

    from nodelint.base import project

    pages = re.escape(project.page("docs/rules/") or "")
    return rf"\x1b\]8;;(?:{pages}[a-z0-9-]+\.md)?\x1b\\" if pages else r"(?!)"


def has_codes(text: str) -> bool:
    """Whether `screened` would change the text."""
    if text.replace("\n", "").isprintable():
        return False
    import re

    return re.search(_CODES, text) is not None


def escaped_json(text: str) -> str:
    r"""Return JSON in which every character that is not printable is an escape of JSON's: the same values, safe to
    print.
    """
    text = text.replace("##[", "#\\u0023[")
    if text.replace("\n", "").isprintable():
        return text
    import re

    return re.sub(_NOT_ASCII, lambda m: m[0] if m[0].isprintable() else "".join(map(_json_escaped, m[0])), text)


def writable(text: str) -> str:
    """Text that is UTF-8: what no reader could decode, as in the name of a file, becomes `\\ufffd`."""
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
