"""Escape text for the Markdown of an editor."""

from __future__ import annotations


def code(text: str) -> str:
    """Return a text as Markdown code; backticks become apostrophes."""
    flat = " ".join(text.split()).replace("`", "'")
    return f"`{flat}`" if flat else '`""`'


def escape_markdown(text: str) -> str:
    """Return a text with Markdown characters escaped."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!" else char for char in " ".join(text.split()))
