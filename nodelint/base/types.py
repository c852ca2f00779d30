"""`TYPE_CHECKING` without importing `typing`, which takes as long as a check of an empty file.

To a type checker the name is true wherever it is from.
"""

from __future__ import annotations

TYPE_CHECKING = False
