"""The files of a revision in a folder of their own: the old side of a change that git knows."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager

from nodelint.commands import stop
from nodelint.files.safe_read import error_reason

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nodelint.config.settings import Settings


@contextmanager
def revision(name: str | None, paths: Sequence[str], settings: Settings) -> Iterator[tuple[str, list[str], str]]:
    """A folder with the files of a revision, the paths in it, and the top of the repository.

    None stands for the place at which the branch left the default branch. Ends the run where git cannot tell.
    """
    from nodelint.files.discover import may_hold_objects
    from nodelint.files.git.git_revision import base, commit, write_files
    from nodelint.files.git.repository import GitError, repository
    from nodelint.files.globs import Globs

    first = next((path for path in paths if os.path.exists(path)), os.curdir)
    folder = first if os.path.isdir(first) else os.path.dirname(first) or os.curdir
    with tempfile.TemporaryDirectory(prefix="nodelint-") as made:
        into = os.path.realpath(made)
        try:
            where = repository(folder)
            above = where.top
            at = base(where) if name is None else commit(where, name)
            os.mkdir(os.path.join(into, ".git"))  # the folder counts as a repository of its own
            include = Globs(settings.include, settings.include_root)
            write_files(where, at, into, lambda path: may_hold_objects(os.path.join(where.top, path), include))
        except GitError as error:
            stop(f"--against {name}: {error}" if name is not None else f"{error}")
        except OSError as error:
            stop(f"{into}: {error_reason(error)}")
        moved = [os.path.join(into, os.path.relpath(os.path.realpath(path), above)) for path in paths]
        yield into, [os.path.normpath(path) for path in moved if os.path.exists(path)], above
