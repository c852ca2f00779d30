"""Run git in an untrusted repository, which may contain other repositories.

A pull request can add a folder with `HEAD`, `config`, `objects` and `refs`. If git searches for the repository
itself, it accepts such a folder as a bare repository, and its `config` names programs to run. So nodelint finds the
repository: the nearest `.git` upwards, a name that git never writes into a work tree. git gets its path.

Every setting with which a repository or the environment names a program is overridden, and every transport is
refused: git neither fetches missing objects of a partial clone nor starts a program of a remote.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from nodelint.base.tuples import NamedTuple
from nodelint.files import programs, safe_read

_SECONDS = 120
FOUND_NOTHING = "git found nothing"

_SETTINGS = (
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.sshCommand=false",
    "core.gitProxy=none",
    "core.askPass=",
    "core.pager=cat",
    "core.editor=false",
    "credential.helper=",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
)

# Programs need these to start. git gets no other variables.
_KEPT = ("PATH", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATHEXT", "TEMP", "TMP", "TMPDIR")

_FIXED = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "",  # stronger than the repository's protocol.<name>.allow
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}

# The user configures which owners of repositories git trusts (safe.directory). These are kept for that check.
_OF_THE_USER = ("HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "XDG_CONFIG_HOME", "SUDO_UID")
_CONFIGURED = ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT")


class GitError(Exception):
    """Raised with git's own message if git fails."""


class Repository(NamedTuple):
    """A git repository.

    - `top`: the top folder of its work tree.
    - `data`: the folder of git's data.

    Both are absolute paths without links.
    """

    top: str
    data: str


def repository(folder: str) -> Repository:
    """Return the repository around a folder. Raise GitError if there is none, or if git does not trust its owner."""
    top = safe_read.repository(os.path.realpath(folder))
    if top is None:
        return _named_by_environment(folder)
    found = Repository(top, _data(os.path.join(top, ".git")))
    if _is_among_files(found):
        raise GitError(f"{top}: `.git` names a folder among the repository's own files")
    # From the top, git finds this `.git` first. It checks whether the user trusts the owner.
    seen = _run(["-C", top], ["rev-parse", "--absolute-git-dir"], b"", _make_environment(top)).decode(
        "utf-8", "surrogateescape"
    )
    if os.path.realpath(seen.rstrip("\n")) != found.data:
        raise GitError(f"{os.path.join(top, '.git')} is no repository")
    return found


def ask(where: Repository, *arguments: str) -> str:
    """Return the output of git. If it fails, raise GitError with its first line."""
    return os.fsdecode(send(where, arguments, b""))


def send(where: Repository, arguments: Sequence[str], sent: bytes) -> bytes:
    """Return the output of git for the given standard input. If it fails, raise GitError with its first line."""
    return _run([f"--git-dir={where.data}", f"--work-tree={where.top}"], arguments, sent, _environment())


def _named_by_environment(folder: str) -> Repository:
    """Return the repository that GIT_DIR and GIT_WORK_TREE name, as in a hook of a bare repository.

    Raise GitError if the folder is not in that work tree.
    """
    data = os.environ.get("GIT_DIR")
    if not data:
        raise GitError(f"{folder} is not in a git repository; to compare two folders, name one with --old")
    top = os.path.realpath(os.environ.get("GIT_WORK_TREE") or os.curdir)
    found = Repository(top, os.path.realpath(data))
    if _is_among_files(found) or not safe_read.is_inside(folder, top):
        raise GitError("the folder is not in the work tree of the repository that GIT_DIR names")
    return found


def _data(path: str) -> str:
    """Return the folder with git's data: the `.git` folder, or the folder that a `.git` file names."""
    if os.path.isdir(path):
        return os.path.realpath(path)
    try:
        first = os.fsdecode(safe_read.read(path, 1 << 16)).rstrip("\r\n")
    except OSError as error:
        raise GitError(f"{path}: {safe_read.error_reason(error)}") from None
    if not first.startswith("gitdir: "):
        raise GitError(f"{path} does not name a repository")
    return os.path.realpath(os.path.join(os.path.dirname(path), first.removeprefix("gitdir: ")))


def _is_among_files(found: Repository) -> bool:
    """Return whether git's data is among the files of the work tree, not below a folder named `.git`."""
    if not safe_read.is_inside(found.data, found.top):
        return False
    return ".git" not in os.path.relpath(found.data, found.top).split(os.sep)


def _environment() -> dict[str, str]:
    return {name: value for name in _KEPT if (value := os.environ.get(name))} | _FIXED


def _make_environment(top: str) -> dict[str, str]:
    """Return the environment of the git call that checks the owner of a folder.

    The user's own git configuration says which owners to trust.
    """
    fixed = {name: value for name, value in _environment().items() if name not in _CONFIGURED}
    names = (*_OF_THE_USER, *_CONFIGURED)
    begins = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
    of_the_user = {name: value for name, value in os.environ.items() if name in names or name.startswith(begins)}
    return {**fixed, **of_the_user, "GIT_CEILING_DIRECTORIES": os.path.dirname(top)}


def _run(where: Sequence[str], arguments: Sequence[str], sent: bytes, env: dict[str, str]) -> bytes:
    path = programs.program("git")
    if path is None:
        raise GitError("there is no git on the PATH")
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    try:
        done = subprocess.run(
            [path, "--no-pager", "--no-replace-objects", *settings, *where, *arguments],
            input=sent,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env=env,
        )
    except OSError as error:
        raise GitError(f"git: {safe_read.error_reason(error)}") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git gave no answer within {_SECONDS} seconds") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(f"git: {lines[0].removeprefix('fatal: ')}" if lines else FOUND_NOTHING)
    return done.stdout
