"""Decide by words which files a Terraform text may render or read as manifests, before it is evaluated."""

from __future__ import annotations

import re

_MADE_NAME = r"\btemplatefile\(\s*+(?:\"[^\"\n]*\$\{(?!path\.)|(?!\"))"
"""A call of `templatefile` with a computed file name."""


def may_name(text: str, name: str) -> bool:
    """Return whether a Terraform text may render the file called `name` as a template.

    It names the file, matches files by a pattern, or builds a file name from values.
    """
    if "templat" in text and (name in text or "fileset" in text or re.search(_MADE_NAME, text) is not None):
        return True
    return "kubectl_path_documents" in text
