"""Find manifests in quoted texts, and in texts that CloudFormation joins, such as those that `cdk synth` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nodelint.base.types import TYPE_CHECKING
from nodelint.text.embedded_regions import EmbeddedYaml, Reading, may_hold_object
from nodelint.text.nodes import Node, SourceText
from nodelint.text.placeholders import MASK
from nodelint.text.unknown_value import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    Read = Callable[[SourceText, EmbeddedYaml], Iterator[Reading]]
    """What yields the manifests of a region of a text."""

_QUOTED = ("single", "double")
_TEXT_TAGS = (None, "tag:yaml.org,2002:str", "!Sub")
"""Tags of the parts of a joined text that are texts. `!Ref x` is a reference."""
_FOLD = r"(?<![ \t])[ \t]*+(?:\r?\n[ \t]*+)++"
_TOKEN = {
    "double": rf"\\(?:u[0-9A-Fa-f]{{4}}|U[0-9A-Fa-f]{{8}}|x[0-9A-Fa-f]{{2}}|\r?\n[ \t]*|[^\r\n])|{_FOLD}",
    "single": rf"''|{_FOLD}",
}
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
}


class _Decoded:
    """A text without the quotes and escapes of the file, and the range in the file of each of its characters."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def add(self, text: str, start: int, end: int) -> None:
        """Add characters that the range `start` to `end` of the file makes as a whole."""
        self.parts.append(text)
        self.starts += [start] * len(text)
        self.ends += [end] * len(text)

    def add_plain(self, text: str, start: int) -> None:
        """Add characters that the file has from `start` on."""
        self.parts.append(text)
        self.starts += range(start, start + len(text))
        self.ends += range(start + 1, start + len(text) + 1)

    def add_quoted(self, text: str, start: int, style: str) -> None:
        """Add the characters of a text with the escapes of a style. `start` is its place in the file."""
        at = 0
        for match in re.finditer(_TOKEN[style], text):
            self.add_plain(text[at : match.start()], start + at)
            self.add(_unescape(match[0]), start + match.start(), start + match.end())
            at = match.end()
        self.add_plain(text[at:], start + at)

    def place_of(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the file of a range of the text."""
        if start < end:
            return self.starts[start], self.ends[end - 1]
        at = self.starts[start] if start < len(self.starts) else self.ends[-1]
        return at, at


def _unescape(written: str) -> str:
    if written[0] != "\\":
        breaks = written.count("\n")
        return written[0] if not breaks else " " if breaks == 1 else "\n" * (breaks - 1)
    sign = written[1]
    if sign in "uUx" and len(written) > 2:
        return chr(int(written[2:], 16))
    return "" if sign in "\r\n" else _ESCAPES.get(sign, sign)


def find_joined(node: Node) -> list[Node]:
    """Return the delimiter and the parts of a node that joins texts. Empty if the node joins nothing."""
    join = node.get("Fn::Join") if node.kind == "mapping" else node if node.tag == "!Join" else None
    if join is None or len(join.items) != 2 or not isinstance(join.items[0].value, str):
        return []
    return [join.items[0], *join.items[1].items]


def read_joined(source: SourceText, joined: list[Node], read: Read) -> Iterator[Reading]:
    """Yield the manifests of a joined text, with the delimiter and the parts that `find_joined` returns.

    The values of references are unknown. No edit changes the nodes of the manifests.
    """
    delimiter, *parts = joined
    texts = [part for part in parts if _is_text(part)]
    if not texts or not _may_hold_object(source, texts):
        return
    decoded = _decode_joined(delimiter, parts)
    if decoded is None:
        yield _leave_out(texts[0], "a manifest in a text that is joined in a way that is not read")
    else:
        yield from _read(source, decoded, read)


def join_text(node: Node) -> str | None:
    """Return the text that a node joins, with `MASK` for each reference. None if the node joins no text."""
    joined = find_joined(node)
    decoded = _decode_joined(joined[0], joined[1:]) if joined else None
    return None if decoded is None else decoded.text


def _decode_joined(delimiter: Node, parts: list[Node]) -> _Decoded | None:
    decoded = _Decoded()
    for part in parts:
        if decoded.parts:
            decoded.add(str(delimiter.value), part.start, part.start)
        if not _is_text(part):
            decoded.add(MASK, part.start, part.end)
        elif not _add_scalar(decoded, part):
            return None
    return decoded


def read_scalar(source: SourceText, node: Node, read: Read) -> Iterator[Reading]:
    """Yield the manifests of a quoted text. No edit changes their nodes."""
    if _may_hold_object(source, [node]):
        decoded = _Decoded()
        if _add_scalar(decoded, node):
            yield from _read(source, decoded, read)
        else:
            yield _leave_out(node, "a manifest in a quoted text that is not read")


def read_quoted(source: SourceText, start: int, end: int, value: object, read: Read) -> Iterator[Reading]:
    """Yield the manifests of a text in double quotes of another language. No edit changes their nodes.

    `value` is the text without escapes.
    """
    if not isinstance(value, str) or not may_hold_object(source, value, 0, len(value)):
        return
    decoded = _Decoded()
    decoded.add_quoted(source.text[start + 1 : end - 1], start + 1, "double")
    yield from _read(source, decoded, read, lenient=False)


def _is_text(part: Node) -> bool:
    return part.kind == "scalar" and part.tag in _TEXT_TAGS and not (part.alias or part.shared)


def _may_hold_object(source: SourceText, texts: list[Node]) -> bool:
    # The value of a text with `${}` is unknown, so its characters are searched.
    whole = "".join(source.text[text.start : text.end] for text in texts)
    if "apiVersion" not in whole:
        return False
    whole = re.sub(r"(?<!\\)\\++[nrt]", "\n", whole).replace("\\", "")
    return may_hold_object(source, whole, 0, len(whole))


def _add_scalar(decoded: _Decoded, node: Node) -> bool:
    """Add the characters of a scalar. Return False if they do not make its value."""
    before = len(decoded.parts)
    if node.style in _QUOTED:
        decoded.add_quoted(node.text[1:-1], node.start + 1, node.style)
    elif node.style == "plain":
        decoded.add_plain(node.text, node.start)
    else:
        return False
    return not isinstance(node.value, str) or node.value == "".join(decoded.parts[before:])


def _read(source: SourceText, decoded: _Decoded, read: Read, lenient: bool = True) -> Iterator[Reading]:
    """Yield the manifests of a decoded text, with positions in the file."""
    inner = SourceText(source.path, decoded.text)
    inner.also = source.also
    region = EmbeddedYaml(0, len(inner.text), "quoted", lenient=lenient)
    for reading in list(read(inner, region)):  # all are read before the first one gets its place in the file
        yield _placed(reading, source, decoded)


def _placed(reading: Reading, source: SourceText, decoded: _Decoded) -> Reading:
    """Return a reading of a decoded text with the positions of the file."""
    start, end = decoded.place_of(reading.start, reading.end)
    at, _ = decoded.place_of(reading.at, reading.at)
    region = reading.region._replace(start=start, end=end)
    if reading.root is not None:
        _place_nodes(reading.root, source, decoded.place_of)
    return reading._replace(start=start, end=end, at=at, region=region)


def _place_nodes(root: Node, source: SourceText, place_of: Callable[[int, int], tuple[int, int]]) -> None:
    alternatives = [entry.value for node in root.walk() for entry in node.merges]
    for node in {id(node): node for node in (*root.walk(), *alternatives)}.values():
        node.raw, _ = place_of(node.raw, node.raw)
        if node.value is UNKNOWN and node.style in _QUOTED:  # a report shows the code without the quotes
            node.style, node.start, node.end = "plain", node.start + 1, node.end - 1
        node.start, node.end = place_of(node.start, node.end)
        node.source = source
        node.encoded = True


def _leave_out(node: Node, reason: str) -> Reading:
    region = EmbeddedYaml(node.start, node.end, "quoted")
    advice = f"{reason}: move it into a file, or a heredoc"
    return Reading(None, node.start, node.end, region, False, "", advice, node.start, True)
