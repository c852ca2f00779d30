"""The entry point of `nodelint` and `python -m nodelint`."""

from __future__ import annotations

import gc
import os
import sys
from io import TextIOWrapper
from marshal import loads

from nodelint.base.printable import printable
from nodelint.base.types import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any


def _make_finder(known: ModuleSpec) -> Any:
    """Return a finder for the modules of the package: Python's own finders and loader take half of the import time.

    `known` is the spec of the package. The bytecode of a module is used if it belongs to the same text by time and
    size; otherwise Python's own loader reads or compiles the module.
    """
    loader: Any = type(known.loader)
    own = sys.modules[loader.__module__]  # importlib's own part, which is always loaded
    magic = own.MAGIC_NUMBER + bytes(4)  # the last four bytes: the text is known by its time and size

    class Loader(loader):  # type: ignore[misc]
        def get_code(self, fullname: str) -> Any:
            """Return the code of the module."""
            try:
                with open(self.cached or "", "rb", buffering=0) as file:
                    data = file.read()
            except OSError:
                return super().get_code(fullname)
            written, size = int(self.stat.st_mtime) & 0xFFFFFFFF, self.stat.st_size & 0xFFFFFFFF
            if data[:16] != magic + written.to_bytes(4, "little") + size.to_bytes(4, "little"):
                return super().get_code(fullname)
            return loads(data[16:])

    class Finder:
        def find_spec(self, name: str, path: Sequence[str] | None = None, _: object = None) -> ModuleSpec | None:
            """Return the spec of a module of the package; None for other modules, which Python's own finders find."""
            if path is None or not name.startswith("nodelint."):
                return None
            folder = f"{path[0]}/{name.rpartition('.')[2]}"
            for place, is_package in ((f"{folder}.py", False), (f"{folder}/__init__.py", True)):
                try:
                    about = os.stat(place)
                except OSError:
                    continue
                found = Loader(name, place)
                spec: ModuleSpec = type(known)(name, found, origin=place, is_package=is_package)
                if spec.submodule_search_locations is not None:
                    spec.submodule_search_locations.append(folder)
                spec.has_location = True
                found.stat, found.cached = about, spec.cached
                return spec
            return None

    return Finder()


def main() -> None:
    """Run the command and end the process with its exit code; an internal error ends with code 3."""
    # A run ends in a moment and leaves few cycles: looking for them would cost more than it frees.
    gc.set_threshold(500_000, 20, 20)
    package = sys.modules["nodelint"].__spec__
    if package is not None and type(package.loader).__name__ == "SourceFileLoader":  # in no archive, say
        sys.meta_path.insert(0, _make_finder(package))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # None where it is closed
            stream.reconfigure(errors="backslashreplace")  # for file names that are no UTF-8
    _end(_run())


def _run() -> int:
    from nodelint.commands._console import FAULT, UNUSABLE

    try:
        _call()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except OSError as error:  # a full disk below standard output, say: no mistake of ours
        _say(_describe(error))
        return UNUSABLE
    except Exception as error:
        if os.environ.get("NODELINT_DEBUG"):
            raise
        from nodelint.model.validity import find_broken_table

        broken = find_broken_table()
        if broken is not None:
            _say(f"nodelint's own data cannot be used, install it again: {broken}")
            return UNUSABLE
        what = f"{type(error).__name__}: {error} (NODELINT_DEBUG=1 shows where)"
        _say(f"internal error, please report it: {what}")
        return FAULT
    return 0


def _call() -> None:
    from nodelint.commands._fast_argv import plain

    arguments = sys.argv[1:]
    # As the hook gives it; anywhere else, click reads it.
    timeout = arguments[2] if arguments[1:2] == ["--timeout"] and len(arguments) > 2 else None
    options = plain(arguments if timeout is None else [arguments[0], *arguments[3:]])
    if options is None:
        from nodelint.cli import cli
        from nodelint.commands._terminal import preferred

        cli(prog_name="nodelint", color=preferred())
    else:
        from nodelint.commands import ending

        with ending():
            if timeout is not None:
                from nodelint.commands._deadline import start_deadline

                start_deadline(timeout)
            _run_plain(arguments[0], options)


def _run_plain(command: str, options: dict[str, Any]) -> None:
    if command == "plan":
        from nodelint.commands._plan_run import plan_change

        plan_change(**options)
    elif command == "fit":
        from nodelint.commands._fit_run import fit_workloads

        fit_workloads(**options)
    else:
        from nodelint.commands._check_run import check

        check(**options)


def _end(code: int) -> None:
    """End the process at once: freeing the interpreter would take a sixth of a short run."""
    from nodelint.commands._console import UNUSABLE

    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            if code != UNUSABLE:  # else the reason is printed already
                _say(_describe(error))
            code = code or UNUSABLE
    os._exit(code)


def _describe(error: OSError) -> str:
    """Return the reason of an OSError, with the file name if it has one."""
    from nodelint.files.safe_read import error_reason

    reason = error_reason(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(message: str) -> None:
    try:
        print(f"nodelint: {printable(message)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return  # there is nobody left to tell


if __name__ == "__main__":
    main()
