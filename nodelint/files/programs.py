"""Where the programs are that nodelint starts."""

from __future__ import annotations

import os
import shutil


def program(name: str) -> str | None:
    """Return the path of a program on PATH, or None. Relative entries, which may lie in the repository, do not count.

    Windows looks into the current folder first for a bare name; a path from here is whole.
    """
    for folder in os.get_exec_path():
        if os.path.isabs(folder) and (found := shutil.which(os.path.join(folder, name))):
            return found
    return None
