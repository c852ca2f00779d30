"""Write the files of the old revision of a change to a separate folder."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.safe_read import error_reason

if TYPE_CHECKING:
    from nodelint.files.globs import Globs


class UnreadRevision(Exception):
    """Raised with the reason if the files of a revision are not available."""


@contextmanager
def revision(name: str | None, paths: Sequence[str], include: Globs) -> Iterator[tuple[str, list[str], str]]:
    """Yield a folder with the files of a revision, the requested paths in it, and the top of the repository.

    If `name` is None, it is the commit at which the branch left the default branch. `include` are patterns of further
    files to read. Raise UnreadRevision if git fails.
    """
    from nodelint.files.file_kinds import is_unread_text, may_hold_objects
    from nodelint.files.git.git_revision import base, commit, list_changed, write_files
    from nodelint.files.git.repository import GitError, repository

    for path in paths:
        gate.admit(path)
    first = next((path for path in paths if os.path.exists(path)), os.curdir)
    folder = first if os.path.isdir(first) else os.path.dirname(first) or os.curdir
    with tempfile.TemporaryDirectory(prefix="nodelint-") as made:
        into = os.path.realpath(made)
        try:
            where = repository(folder)
            above = where.top
            at = base(where) if name is None else commit(where, name)
            os.mkdir(os.path.join(into, ".git"))  # the folder counts as a separate repository
            changed = list_changed(where, at)
            write_files(
                where,
                at,
                into,
                lambda path: may_hold_objects(os.path.join(where.top, path), include),
                lambda path: (
                    (is_unread_text(path) and (path in changed or _names_karpenter(where.top, path)))
                    or _ARCHIVE.search(path) is not None
                ),
            )
        except GitError as error:
            raise UnreadRevision(f"--against {name}: {error}" if name is not None else f"{error}") from error
        except OSError as error:
            raise UnreadRevision(f"{into}: {error_reason(error)}") from error
        moved = [os.path.join(into, os.path.relpath(os.path.realpath(path), above)) for path in paths]
        yield into, [os.path.normpath(path) for path in moved if os.path.exists(path)], above


def _names_karpenter(top: str, path: str) -> bool:
    """Return whether a file of the work tree names Karpenter: then it is compared with its old version."""
    try:
        return b"karpenter." in gate.read(os.path.join(top, path), _LARGEST, within=top)
    except OSError:
        return False


_LARGEST = 4 << 20
_ARCHIVE = re.compile(r"(?:^|/)charts/[^/]+\.tgz$")
"""A vendored chart that is packed."""
