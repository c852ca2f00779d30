"""Find out why a text cannot be read."""

from __future__ import annotations

from nodelint.text import Node, Source
from nodelint.text.syntax_errors import SyntaxProblem


def find_undecodable(source: Source, data: bytes) -> SyntaxProblem | None:
    """Return a syntax error for the first byte of a file that is not UTF-8. None if there is none.

    A source records it only for a text that mentions Karpenter.
    """
    if "\ufffd" in source.text and source.encoding == "utf-8":
        try:
            data.decode()
        except UnicodeDecodeError as error:
            message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
            return SyntaxProblem(len(data[: error.start].decode()), message)
    return None


def is_mapping(root: Node) -> bool:
    return root.kind == "mapping" or (root.kind == "scalar" and root.value is None)
