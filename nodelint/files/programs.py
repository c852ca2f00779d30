"""Find the programs that nodelint starts."""

from __future__ import annotations

import os
import shutil


def program(name: str) -> str | None:
    """Return the path of a program on PATH. None if there is none.

    Relative entries of PATH are ignored: they may be in the repository. The result is an absolute path, because
    Windows searches a bare name in the current folder first.
    """
    for folder in os.get_exec_path():
        if os.path.isabs(folder) and (found := shutil.which(os.path.join(folder, name))):
            return found
    return None
