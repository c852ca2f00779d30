"""Texts as Markdown that an editor shows."""

from __future__ import annotations


def code(text: str) -> str:
    """Return a text as Markdown code, whatever it holds."""
    flat = " ".join(text.split()).replace("`", "'")
    return f"`{flat}`" if flat else '`""`'


def escape_markdown(text: str) -> str:
    """Return a text escaped so that Markdown shows it as it is."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!" else char for char in " ".join(text.split()))
