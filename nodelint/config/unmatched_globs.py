"""Find globs that match no path, because a folder that they name does not exist, and paths that globs exclude."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from nodelint.base.types import TYPE_CHECKING
from nodelint.files.gate import gate
from nodelint.files.globs import Globs
from nodelint.model.messages import did_you_mean

if TYPE_CHECKING:
    from nodelint.config.settings import Settings

_WILD = frozenset("*?[")


def list_unmatched(settings: Settings) -> Iterator[str]:
    """Yield a message for each glob of the configuration file that matches no path.

    A folder that `exclude` names may be one that a build makes: such a glob is reported only if the name is similar
    to that of a folder that exists.
    """
    globs = (
        ("per-path-ignores", settings.per_path),
        ("per-path-versions", settings.per_path_versions),
        ("include", settings.include if settings.include_root == settings.root else ()),
        ("exclude", settings.exclude if settings.exclude_root == settings.root else ()),
    )
    for key, patterns in globs:
        for pattern in patterns:
            missing = _find_missing(pattern, settings.root) if pattern in settings.places else None
            if missing is None:
                continue
            folder, name = os.path.split(missing)
            hint = did_you_mean(name, gate.names(os.path.join(settings.root, folder) or os.curdir))
            if hint or key != "exclude":
                text = f"`{key}` names `{pattern}`, but there is no `{missing}`{hint}: the pattern matches nothing"
                yield settings.placed(pattern, text)


def _find_missing(pattern: str, root: str) -> str | None:
    """Return the first folder or file of a pattern that does not exist. None if all exist or are wildcards."""
    steps = pattern.removeprefix("./").rstrip("/").split("/")
    if pattern.startswith("/") or pattern == "-":
        return None
    path = ""
    for step in steps:
        if not _WILD.isdisjoint(step):
            return None
        path = f"{path}/{step}" if path else step
        if not os.path.lexists(os.path.join(root, path)):
            return path
    return None


def list_excluded(paths: Sequence[str], settings: Settings) -> Iterator[str]:
    """Yield a message for each path of the command line that the globs of `exclude` leave out."""
    for path in paths if settings.exclude else ():
        below = os.path.join(path, "file") if os.path.isdir(path) else path
        for pattern in settings.exclude if path != "-" and os.path.lexists(path) else ():
            globs = Globs([pattern], settings.exclude_root, settings.seen_as)
            if globs.match(path) or globs.match(below):
                by_file = settings.exclude_root == settings.root and pattern in settings.places
                where = settings.places[pattern] if by_file else "--exclude"
                way = "to read it, add `--exclude ''`" if by_file else "leave out the option to read it"
                yield f"{path} is not read: `{pattern}` ({where}) excludes it; {way}"
                break
