"""Escape text for the Markdown of an editor."""

from __future__ import annotations


def code(text: str) -> str:
    """Return a text as Markdown code; backticks become apostrophes."""
    flat = " ".join(text.split()).replace("`", "'")
    return f"`{flat}`" if flat else '`""`'


def message_markdown(text: str) -> str:
    """Return a message of nodelint as Markdown: what stands between backticks is code, all else is escaped."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner belongs to a value
        return escape_markdown(text)
    return "".join((code(part) if part else "") if n % 2 else escape_markdown(part) for n, part in enumerate(parts))


def escape_markdown(text: str) -> str:
    """Return a text with Markdown characters escaped."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!" else char for char in " ".join(text.split()))
