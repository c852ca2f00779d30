"""nodelint in an editor: a language server over standard input and output, or a socket.

It offers findings while typing, fixes as code actions, hover on requirements, aliases and labels, and completion. It
needs pygls (`nodelint[lsp]`).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from datetime import datetime

from nodelint.base.printable import printable_lines

_FORMAT = "nodelint lsp: %(message)s"


class _Printable(logging.Formatter):
    """A log formatter that escapes control characters: an error may quote text of a client or a file."""

    def format(self, record: logging.LogRecord) -> str:
        return printable_lines(super().format(record))


def serve(now: Callable[[], datetime], address: tuple[str, int] | None = None) -> int:
    """Serve one client until it disconnects. Return the exit code that the protocol requires.

    `address` is the host and port to listen on; None for standard input and output. Logs go to standard error. Raise
    ImportError without pygls, and OSError if the address cannot be used.
    """
    from nodelint.lsp.handlers import make_server

    # pygls logs each fault with a traceback, and what every editor does; what matters is reported by the server.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format=_FORMAT)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Printable(_FORMAT))
    server = make_server(now)
    if address is not None:
        server.start_tcp(*address)
    else:
        # What anything prints goes to standard error: on standard output it would break the protocol.
        out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        server.start_io(stdout=out)
    server.finish()
    return 0 if server.ended_well else 1
