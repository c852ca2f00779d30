"""Files that are there whole or not at all."""

from __future__ import annotations

import os


def replace(path: str, data: bytes) -> None:
    """Put a file's new content in place at once: whoever looks sees the old or the new one, never a part.

    A link stays a link, and the file keeps its permissions. Raises OSError; the file is then as it was.
    """
    import tempfile

    real = os.path.realpath(path)
    if not os.access(real, os.W_OK):
        raise PermissionError(13, "permission denied")
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".nodelint-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, os.stat(real).st_mode & 0o7777)
        os.replace(temporary, real)
    except BaseException:
        os.unlink(temporary)
        raise
