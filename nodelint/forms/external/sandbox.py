"""What a tool gets that runs on files nobody has reviewed: no network, no credentials, no git, bounded memory.

Nothing here predicts what a tool would do with a file; it cannot be done rather than is not asked for.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from contextlib import suppress

LARGEST = 64 << 20
"""Bytes that a tool may write to any one file, its output among them; no cluster takes manifests as large."""

MEMORY = 4 << 30
"""Bytes of memory that a tool may fill."""

ISOLATES = sys.platform == "linux"
"""Whether `enter` takes the network away. Elsewhere there are only the proxies of `environment`."""

# Windows programs do not start without these.
_KEPT = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PATHEXT", "LANG", "LC_ALL")

# The discard port, on which nothing answers. Programs in Go ask no proxy for addresses of the loopback.
_NOWHERE = "http://127.0.0.1:9"

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 22, 38, 2
_ENETUNREACH = 101
# By machine: what the kernel calls the architecture (linux/audit.h), and the number of socket(2) there.
_SOCKET_OF = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}


def environment(folder: str) -> dict[str, str]:
    """The variables of a tool whose home is an empty folder: no credential, no configuration, no other program.

    A value may get into what is rendered: Kustomize fills an `env` file's bare names from the environment.
    """
    variables = {name: value for name in _KEPT if (value := os.environ.get(name))}
    homes = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP"), folder)
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    proxies = dict.fromkeys((*names, *map(str.lower, names)), _NOWHERE)
    return {**variables, **homes, **proxies, "PATH": os.path.join(folder, "no-programs")}


def enter() -> None:
    """Limit this process, before it becomes the tool. What the system refuses is left out.

    On Linux two means, for containers refuse the one and some kernels the other: a network namespace of its
    own, which holds no interface that is up, and a filter of system calls that makes socket(2) fail.
    """
    if sys.platform == "win32":
        return
    import resource

    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, LARGEST), (resource.RLIMIT_DATA, MEMORY)]
    for kind, most in limits:
        with suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (least, least))
    if _LIBC is not None:
        _leave_network(_LIBC)
        _refuse_sockets(_LIBC)


def _leave_network(libc: ctypes.CDLL) -> None:
    """A process with the right to do so keeps its user, for a user of a new namespace is root over nothing."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNET) == 0 or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return
    # Without a mapping the tool could make no file.
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with suppress(OSError), open(f"/proc/self/{name}", "wb", buffering=0) as file:
            file.write(text.encode())


def _refuse_sockets(libc: ctypes.CDLL) -> None:
    """Those of the file system too, through which a resolver, an agent of keys or a daemon would be asked."""
    if _FILTER is None or libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return
    libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(_FILTER))


class _Program(ctypes.Structure):
    """`struct sock_fprog` of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _filter() -> _Program | None:
    """socket(2) ends with "network is unreachable", every other call is as it was; None on other machines."""
    known = _SOCKET_OF.get(os.uname().machine)
    if known is None:
        return None
    architecture, number = known
    load, equal, end = 0x20, 0x15, 0x06
    code = [
        (load, 0, 0, 4),
        (equal, 0, 3, architecture),
        (load, 0, 0, 0),
        (equal, 0, 1, number),
        (end, 0, 0, 0x00050000 | _ENETUNREACH),
        (end, 0, 0, 0x7FFF0000),
    ]
    return _Program(len(code), b"".join(struct.pack("=HBBI", *line) for line in code))


# Made before a process forks: what happens between fork and exec has to be little.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_FILTER = _filter() if sys.platform == "linux" else None
