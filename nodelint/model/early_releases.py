"""Check for fields, values and label keys of v1beta1 that releases before 1.0.0 do not have."""

from __future__ import annotations

import re

from nodelint.data import table
from nodelint.model.releases import Version


def lacks(release: Version, text: str) -> bool:
    """Return whether a text contains a word that a release before 1.0.0 refuses."""
    rows = table("support")["early_words"]
    return any(
        release < Version.parse(row["since"]) and re.search(rf"(?<![\w-]){row['word']}(?![\w-])", text)
        for row in rows
    )
