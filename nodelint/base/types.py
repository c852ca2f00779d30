"""`TYPE_CHECKING`, without `typing`: that takes as long to load as a check of a file that holds nothing.

To a type checker the name is true wherever it is from.
"""

from __future__ import annotations

TYPE_CHECKING = False
